//! One sorted, immutable file of queue entries.
//!
//! ```text
//! entries   16 bytes each, little-endian, sorted by place; 256 of them are a block
//! sums      4 bytes a block: its checksum
//! fences    16 bytes a block: its first entry
//! trailer   magic, version, from, to, count, checksum of sums, fences and trailer
//! ```
//!
//! Sums and fences are held in memory while the run is open: twenty bytes for 256 entries. A host's entries lie side by side, so its next
//! ones are one read. A run holds what changes `from` up to but not including `to` said; both are in its name too. A file is complete
//! once it has its final name.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::entry::Entry;
use crate::seen::{read_exact_at, sync_directory};

/// Entries that are read at once when a host's next ones are wanted.
const BLOCK_ENTRIES: usize = 256;
const BLOCK_BYTES: usize = BLOCK_ENTRIES * Entry::BYTES;
const TRAILER_BYTES: usize = 40;
/// Sum and fence of a block.
const TABLE_BYTES: usize = 4 + Entry::BYTES;
const MAGIC: [u8; 4] = *b"wlqr";
const VERSION: u32 = 1;
/// Blocks that are read at once when a run is gone through from end to end.
const STREAM_BLOCKS: usize = 32;
/// Bytes after which what was written is sent to the disk, so that nobody else's write waits behind gigabytes of ours.
const SYNC_BYTES: usize = 16 << 20;

/// An open run.
#[derive(Debug)]
pub(super) struct Run {
    path: PathBuf,
    file: File,
    sums: Vec<u32>,
    fences: Vec<Entry>,
    pub count: u64,
    /// Holds what changes from this one on said,
    pub from: u64,
    /// up to but not including this one.
    pub to: u64,
}

impl Run {
    pub fn file_name(from: u64, to: u64) -> String {
        format!("{from:016x}-{to:016x}.queue")
    }

    /// What a file name says it covers.
    pub fn parse_name(name: &str) -> Option<(u64, u64)> {
        let (from, to) = name.strip_suffix(".queue")?.split_once('-')?;
        Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
    }

    /// Opens a finished run, and checks that it is whole.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let broken = |what: &str| damaged(path, what);
        let length = file.metadata()?.len();
        let trailer_at = length.checked_sub(TRAILER_BYTES as u64).ok_or_else(|| broken("it is too short"))?;
        let mut trailer = [0; TRAILER_BYTES];
        read_exact_at(&file, &mut trailer, trailer_at)?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| trailer[at + byte]));
        if trailer[..4] != MAGIC || trailer[4..8] != VERSION.to_le_bytes() {
            return Err(broken("its end is missing, or of another version"));
        }
        let (from, to, count) = (number(8), number(16), number(24));
        let blocks = count.div_ceil(BLOCK_ENTRIES as u64);
        let tables_at = count.checked_mul(Entry::BYTES as u64).ok_or_else(|| broken("its count"))?;
        if tables_at.checked_add(blocks * TABLE_BYTES as u64) != Some(trailer_at) {
            return Err(broken("its length does not fit its count"));
        }
        let mut tables = vec![0; usize::try_from(trailer_at - tables_at).map_err(|_| broken("its length"))?];
        read_exact_at(&file, &mut tables, tables_at)?;
        if number(32) != u64::from(checksum(&[&tables, &trailer[..32]])) {
            return Err(broken("its checksum"));
        }
        let (sums, fences) = tables.split_at(tables.len() / TABLE_BYTES * 4);
        Ok(Self {
            sums: sums.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(),
            fences: Entry::parse_all(fences).collect(),
            path: path.to_owned(),
            file,
            count,
            from,
            to,
        })
    }

    /// Entries from one on, read in small pieces.
    pub fn entries_from(&self, first: Entry) -> io::Result<RunEntries<'_>> {
        // The last block that does not begin behind it.
        let block = self.fences.partition_point(|fence| *fence <= first).saturating_sub(1);
        let mut entries = RunEntries { run: self, bytes: Vec::new(), at: 0, block, blocks: 1 };
        loop {
            entries.next_chunk()?;
            entries.skip_to(first);
            if entries.head().is_some() || entries.bytes.is_empty() {
                return Ok(entries);
            }
        }
    }

    /// All entries, read in large pieces.
    pub fn entries(&self) -> io::Result<RunEntries<'_>> {
        let mut entries = RunEntries { run: self, bytes: Vec::new(), at: 0, block: 0, blocks: STREAM_BLOCKS };
        entries.next_chunk()?;
        Ok(entries)
    }

    /// Removes the file. Who has it open reads on.
    pub fn remove(&self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a run that was merged cannot be removed");
        }
    }
}

/// Entries of a run, in order, each block checked.
pub(super) struct RunEntries<'a> {
    run: &'a Run,
    /// What was read last, and the next entry in it.
    bytes: Vec<u8>,
    at: usize,
    /// The next block to be read, and how many at once.
    block: usize,
    blocks: usize,
}

impl RunEntries<'_> {
    pub fn head(&self) -> Option<Entry> {
        Entry::parse_at(&self.bytes, self.at)
    }

    pub fn advance(&mut self) -> io::Result<()> {
        self.at += 1;
        if self.at * Entry::BYTES < self.bytes.len() { Ok(()) } else { self.next_chunk() }
    }

    /// Goes to the first entry of what was read that is not before this one.
    fn skip_to(&mut self, first: Entry) {
        let (mut low, mut high) = (self.at, self.bytes.len() / Entry::BYTES);
        while low < high {
            let middle = usize::midpoint(low, high);
            if Entry::parse_at(&self.bytes, middle).is_some_and(|entry| entry < first) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.at = low;
    }

    fn next_chunk(&mut self) -> io::Result<()> {
        self.bytes.clear();
        self.at = 0;
        let begin = (self.block * BLOCK_ENTRIES) as u64;
        let left = self.run.count.saturating_sub(begin).min((self.blocks * BLOCK_ENTRIES) as u64) as usize;
        if left == 0 {
            return Ok(());
        }
        self.bytes.resize(left * Entry::BYTES, 0);
        read_exact_at(&self.run.file, &mut self.bytes, begin * Entry::BYTES as u64)?;
        for block in self.bytes.chunks(BLOCK_BYTES) {
            if self.run.sums.get(self.block) != Some(&checksum(&[block])) {
                return Err(damaged(&self.run.path, "the checksum of a block is wrong"));
            }
            self.block += 1;
        }
        Ok(())
    }
}

/// Writes a run under a temporary name, then gives it its own.
pub(super) struct RunWriter {
    file: BufWriter<File>,
    directory: PathBuf,
    temporary: PathBuf,
    block: Vec<u8>,
    sums: Vec<u32>,
    fences: Vec<Entry>,
    count: u64,
    unsynced: usize,
    from: u64,
    to: u64,
}

impl RunWriter {
    /// Begins a run of at most so many entries.
    pub fn new(directory: &Path, from: u64, to: u64, count_max: u64) -> io::Result<Self> {
        let blocks = usize::try_from(count_max.div_ceil(BLOCK_ENTRIES as u64)).unwrap_or(0);
        let temporary = directory.join(format!("{}.tmp", Run::file_name(from, to)));
        let file = BufWriter::with_capacity(BLOCK_BYTES * STREAM_BLOCKS, File::create(&temporary)?);
        Ok(Self {
            file,
            directory: directory.to_owned(),
            temporary,
            block: Vec::with_capacity(BLOCK_BYTES),
            // As many as there can be: growing would take thrice the room for a while.
            sums: Vec::with_capacity(blocks),
            fences: Vec::with_capacity(blocks),
            count: 0,
            unsynced: 0,
            from,
            to,
        })
    }

    /// Adds an entry; they must come in order, each place once.
    pub fn push(&mut self, entry: Entry) -> io::Result<()> {
        if self.block.is_empty() {
            self.fences.push(entry);
        }
        self.block.extend_from_slice(&entry.to_bytes());
        self.count += 1;
        if self.block.len() == BLOCK_BYTES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.sums.push(checksum(&[&self.block]));
        self.file.write_all(&self.block)?;
        self.unsynced += self.block.len();
        self.block.clear();
        if self.unsynced >= SYNC_BYTES {
            self.unsynced = 0;
            self.file.get_ref().sync_data()?;
        }
        Ok(())
    }

    /// Makes the run durable and opens it.
    pub fn finish(mut self) -> io::Result<Run> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let mut tables_sum = crc32fast::Hasher::new();
        for sum in &self.sums {
            tables_sum.update(&sum.to_le_bytes());
            self.file.write_all(&sum.to_le_bytes())?;
        }
        for fence in &self.fences {
            tables_sum.update(&fence.to_bytes());
            self.file.write_all(&fence.to_bytes())?;
        }
        let mut trailer = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
        for number in [self.from, self.to, self.count] {
            trailer.extend_from_slice(&number.to_le_bytes());
        }
        tables_sum.update(&trailer);
        trailer.extend_from_slice(&u64::from(tables_sum.finalize()).to_le_bytes());
        self.file.write_all(&trailer)?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        let path = self.directory.join(Run::file_name(self.from, self.to));
        std::fs::rename(&self.temporary, &path)?;
        sync_directory(&self.directory)?;
        let file = File::open(&path)?;
        self.sums.shrink_to_fit();
        self.fences.shrink_to_fit();
        let Self { sums, fences, count, from, to, .. } = self;
        Ok(Run { path, file, sums, fences, count, from, to })
    }
}

fn checksum(parts: &[&[u8]]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finalize()
}

fn damaged(path: &Path, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is damaged: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Place;

    fn entry(number: u64) -> Entry {
        let place = Place { rank: (number % 50 / 7) as u32, position: number };
        Entry::queued((number / 50) as u32, place, 0)
    }

    #[test]
    fn what_was_written_is_found_from_anywhere() {
        let directory = tempfile::tempdir().unwrap();
        for count in [0, 1, 255, 256, 257, 5000] {
            let mut writer = RunWriter::new(directory.path(), 3, 9, count).unwrap();
            (0..count).for_each(|number| writer.push(entry(number)).unwrap());
            writer.finish().unwrap();
            let run = Run::open(&directory.path().join(Run::file_name(3, 9))).unwrap();
            assert_eq!((run.from, run.to, run.count), (3, 9, count));
            let read = |mut entries: RunEntries<'_>| {
                let mut read = Vec::new();
                while let Some(entry) = entries.head() {
                    read.push(entry);
                    entries.advance().unwrap();
                }
                read
            };
            let all: Vec<Entry> = (0..count).map(entry).collect();
            assert_eq!(read(run.entries().unwrap()), all);
            for from in (0..count).step_by(61) {
                assert_eq!(read(run.entries_from(entry(from)).unwrap()), all[from as usize..]);
            }
            assert_eq!(run.entries_from(entry(count + 100)).unwrap().head(), None);
        }
    }

    #[test]
    fn damage_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::new(directory.path(), 0, 1, 1000).unwrap();
        (0..1000).for_each(|number| writer.push(entry(number)).unwrap());
        writer.finish().unwrap();
        let path = directory.path().join(Run::file_name(0, 1));
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 10, 4096, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(Run::open(&path).is_err(), "cut at {cut}");
        }
        let mut bent = whole.clone();
        bent[whole.len() - TRAILER_BYTES - 2] ^= 1;
        std::fs::write(&path, bent).unwrap();
        assert!(Run::open(&path).is_err());
        let mut bent = whole;
        bent[5000] ^= 1;
        std::fs::write(&path, bent).unwrap();
        assert!(Run::open(&path).unwrap().entries().is_err());
    }
}
