//! A file in an object store, read like one on disk: in pieces, from any place.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use super::Objects;

/// Bytes asked for at once, when reading goes on and on.
const AHEAD_BYTES: u64 = 4 << 20;
/// Bytes asked for first: who looks at one record needs no more.
const FIRST_BYTES: u64 = 256 << 10;

/// The file.
#[derive(Debug)]
pub struct ObjectBody {
    objects: Arc<Objects>,
    name: String,
    length: u64,
    /// What was asked for last, and where it begins.
    piece: Vec<u8>,
    piece_at: u64,
    position: u64,
    ask_next: u64,
}

impl ObjectBody {
    /// A file of that length; nothing is asked yet.
    pub fn new(objects: Arc<Objects>, name: &str, length: u64) -> Self {
        let name = name.to_owned();
        Self { objects, name, length, piece: Vec::new(), piece_at: 0, position: 0, ask_next: FIRST_BYTES }
    }

    /// Bytes from a place on, asked for in one request; fewer at the end.
    pub fn read_range(&self, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let length = length.min(self.length.saturating_sub(offset));
        if length == 0 { Ok(Vec::new()) } else { self.objects.read(&self.name, offset, length) }
    }

    /// What is at hand from the position on.
    fn at_hand(&self) -> &[u8] {
        let within = self.position.checked_sub(self.piece_at).and_then(|at| usize::try_from(at).ok());
        within.and_then(|at| self.piece.get(at..)).unwrap_or_default()
    }
}

impl Read for ObjectBody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.length || buffer.is_empty() {
            return Ok(0);
        }
        if self.at_hand().is_empty() {
            let goes_on = self.position == self.piece_at + self.piece.len() as u64;
            self.ask_next = if goes_on { (self.ask_next * 2).min(AHEAD_BYTES) } else { FIRST_BYTES };
            let wanted = self.ask_next.min(self.length - self.position);
            self.piece = self.objects.read(&self.name, self.position, wanted)?;
            self.piece_at = self.position;
            if self.piece.is_empty() {
                let what = format!("`{}` ends before its {} bytes do", self.name, self.length);
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
        }
        let at_hand = self.at_hand();
        let count = at_hand.len().min(buffer.len());
        buffer[..count].copy_from_slice(&at_hand[..count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for ObjectBody {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        self.position =
            target.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a place before the file"))?;
        Ok(self.position)
    }
}
