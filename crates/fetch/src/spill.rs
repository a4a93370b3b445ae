//! Large bodies on disk instead of in memory.
//!
//! In: the bytes of a body as they come, more than fit the threshold. Out: one [`Bytes`] over all of them, backed by a
//! temporary file without a name that is gone with the last of its readers. What is not being looked at can leave memory, so
//! that a few bodies of hundreds of megabytes cost little more than the pages of them in use. Caps are the caller's.

use std::fs::File;
use std::io::{self, Write};

use bytes::Bytes;
use memmap2::Mmap;

/// Bytes gathered before a write.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// A body on its way to disk.
#[derive(Debug)]
pub(crate) struct Spill {
    file: File,
    length: u64,
}

impl Spill {
    /// Opens a file nobody else can see, in the directory for temporary files.
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, length: 0 })
    }

    /// Writes what has been gathered and empties it. Blocks for as long as the disk takes.
    pub async fn append(mut self, mut bytes: Vec<u8>) -> io::Result<(Self, Vec<u8>)> {
        let written = tokio::task::spawn_blocking(move || {
            self.file.write_all(&bytes)?;
            self.length += bytes.len() as u64;
            bytes.clear();
            Ok((self, bytes))
        });
        written.await.map_err(io::Error::other)?
    }

    /// Bytes written so far.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// The whole body, cut to a length.
    #[expect(
        unsafe_code,
        reason = "mapping a file is unsafe because another process could change it; this one has no name and one owner"
    )]
    pub fn into_bytes(self, length_max: u64) -> io::Result<Bytes> {
        if self.length > length_max {
            self.file.set_len(length_max)?;
        }
        if self.length.min(length_max) == 0 {
            return Ok(Bytes::new());
        }
        // SAFETY: the file was made without a name, is written by us alone, and not any more after this.
        let map = unsafe { Mmap::map(&self.file) }?;
        Ok(Bytes::from_owner(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_written_is_read() {
        for (pieces, length_max, expected) in [
            (&["ab", "", "cde"][..], 10, "abcde"),
            (&["ab", "cde"], 3, "abc"),
            (&[], 10, ""),
            (&["a"], 0, ""),
        ] {
            let mut spill = Spill::new().unwrap();
            for piece in pieces {
                spill = spill.append(piece.as_bytes().to_vec()).await.unwrap().0;
            }
            assert_eq!(spill.len(), pieces.concat().len() as u64);
            assert_eq!(spill.into_bytes(length_max).unwrap(), expected.as_bytes());
        }
    }
}
