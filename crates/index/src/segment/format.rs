//! How a segment file is laid out, and the writer that keeps to it.
//!
//! All numbers are little-endian. A header of fixed size: magic, format version, number of sections,
//! quads, terms, length of the file, the table of sections (id, checksum, offset, length), and a checksum
//! of all that. Then the sections, each starting at a multiple of eight. The header is written last, so
//! a file that was not finished has no magic.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::IndexError;
use crate::order::Order;

pub(crate) const MAGIC: [u8; 8] = *b"WLOOMSEG";

/// Raised whenever a reader of the old layout could misread the new one.
pub(crate) const FORMAT_VERSION: u32 = 2;

/// Terms that are compressed together. Fewer make reading one term cheaper, more make the file smaller.
pub(crate) const TERMS_PER_BLOCK: usize = 32;

/// Bytes of one entry in the sparse index of an order: the block's first row and where it starts.
pub(crate) const BLOCK_ENTRY_BYTES: usize = 24;

/// Bytes of one entry in the list of graphs: id, the quad count with [`REPLACES`] and [`HAS_TEXT`] as its top bits, the
/// local number of the name (or [`NO_LOCAL`]), and four that are zero.
pub(crate) const GRAPH_ENTRY_BYTES: usize = 32;

/// Set when the segment's version of a graph supersedes older ones.
pub(crate) const REPLACES: u64 = 1 << 63;

/// Set when the text index has documents of the segment's version of a graph.
pub(crate) const HAS_TEXT: u64 = 1 << 62;

/// The local number of a graph without quads, whose name is no term of the segment.
pub(crate) const NO_LOCAL: u32 = u32::MAX;

/// Bytes of one entry in the list of predicates: local number, distinct subjects, distinct objects, zero (each four bytes),
/// and the quad count.
pub(crate) const PREDICATE_ENTRY_BYTES: usize = 24;

/// The parts of a segment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    /// Sorted term ids; a term's local number is its place here.
    TermIds,
    /// Compressed blocks of term texts.
    TermTexts,
    /// Where each block of texts starts, and where the last one ends.
    TermOffsets,
    /// Packed rows of one order. Predicates and graphs are numbered by their places in their lists, which takes fewer bits
    /// than local numbers do; subjects and objects by local number.
    Rows(Order),
    /// First row and start of each block of one order.
    Blocks(Order),
    /// Names of graphs, sorted, with flags and counts.
    Graphs,
    /// The predicates, sorted, with statistics.
    Predicates,
}

pub(crate) const SECTION_COUNT: usize = 17;
const FIXED_BYTES: usize = 40;
const TABLE_ENTRY_BYTES: usize = 24;
pub(crate) const HEADER_BYTES: usize = FIXED_BYTES + SECTION_COUNT * TABLE_ENTRY_BYTES + 8;

impl Section {
    /// Every section, in the order of their ids.
    pub(crate) const ALL: [Self; SECTION_COUNT] = [
        Self::TermIds,
        Self::TermTexts,
        Self::TermOffsets,
        Self::Rows(Order::Spoc),
        Self::Rows(Order::Posc),
        Self::Rows(Order::Ospc),
        Self::Rows(Order::Cspo),
        Self::Rows(Order::Cpos),
        Self::Rows(Order::Cosp),
        Self::Blocks(Order::Spoc),
        Self::Blocks(Order::Posc),
        Self::Blocks(Order::Ospc),
        Self::Blocks(Order::Cspo),
        Self::Blocks(Order::Cpos),
        Self::Blocks(Order::Cosp),
        Self::Graphs,
        Self::Predicates,
    ];

    pub(crate) fn index(self) -> usize {
        match self {
            Self::TermIds => 0,
            Self::TermTexts => 1,
            Self::TermOffsets => 2,
            Self::Rows(order) => 3 + order as usize,
            Self::Blocks(order) => 9 + order as usize,
            Self::Graphs => 15,
            Self::Predicates => 16,
        }
    }
}

/// Where a section is and what its bytes must add up to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SectionEntry {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) checksum: u32,
}

impl SectionEntry {
    pub(crate) fn range(&self) -> Range<usize> {
        self.offset as usize..(self.offset + self.length) as usize
    }
}

/// What the header says.
#[derive(Debug, Clone)]
pub(crate) struct Header {
    pub(crate) quads: u64,
    pub(crate) terms: u64,
    pub(crate) file_bytes: u64,
    pub(crate) sections: [SectionEntry; SECTION_COUNT],
}

impl Header {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&(SECTION_COUNT as u32).to_le_bytes());
        bytes.extend_from_slice(&self.quads.to_le_bytes());
        bytes.extend_from_slice(&self.terms.to_le_bytes());
        bytes.extend_from_slice(&self.file_bytes.to_le_bytes());
        for (id, section) in self.sections.iter().enumerate() {
            bytes.extend_from_slice(&(id as u32).to_le_bytes());
            bytes.extend_from_slice(&section.checksum.to_le_bytes());
            bytes.extend_from_slice(&section.offset.to_le_bytes());
            bytes.extend_from_slice(&section.length.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&u64::from(checksum).to_le_bytes());
        bytes
    }

    /// Reads and checks the header of the file at `path`, whose bytes these are.
    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, IndexError> {
        let damaged = |reason: &str| IndexError::damaged(path, reason);
        if bytes.get(..8) != Some(&MAGIC[..]) {
            return Err(damaged("it does not begin like a segment"));
        }
        let u32_at =
            |at: usize| -> Option<u32> { Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)) };
        let u64_at =
            |at: usize| -> Option<u64> { Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?)) };
        let found = u32_at(8).ok_or_else(|| damaged("the header is cut off"))?;
        if found != FORMAT_VERSION {
            return Err(IndexError::UnknownVersion { path: path.to_owned(), found, known: FORMAT_VERSION });
        }
        let parse = || -> Option<(Self, bool)> {
            let body = bytes.get(..HEADER_BYTES - 8)?;
            let intact = u64_at(HEADER_BYTES - 8)? == u64::from(crc32fast::hash(body));
            let mut sections = [SectionEntry::default(); SECTION_COUNT];
            for (index, section) in sections.iter_mut().enumerate() {
                let at = FIXED_BYTES + index * TABLE_ENTRY_BYTES;
                *section = SectionEntry {
                    checksum: u32_at(at + 4)?,
                    offset: u64_at(at + 8)?,
                    length: u64_at(at + 16)?,
                };
            }
            let header = Self { quads: u64_at(16)?, terms: u64_at(24)?, file_bytes: u64_at(32)?, sections };
            Some((header, intact && u32_at(12)? as usize == SECTION_COUNT))
        };
        let (header, intact) = parse().ok_or_else(|| damaged("the header is cut off"))?;
        if !intact {
            return Err(damaged("the checksum of the header is wrong"));
        }
        if header.file_bytes != bytes.len() as u64 {
            return Err(IndexError::damaged(
                path,
                format!("it has {} bytes and should have {}", bytes.len(), header.file_bytes),
            ));
        }
        let inside = |section: &SectionEntry| {
            section.offset.checked_add(section.length).is_some_and(|end| end <= header.file_bytes)
        };
        if !header.sections.iter().all(inside) {
            return Err(damaged("a section lies outside the file"));
        }
        Ok(header)
    }
}

/// Bytes that are gathered before they are written and added to the checksum.
const BUFFER_BYTES: usize = 1 << 17;

/// Writes the sections of one segment file, one after the other.
pub(crate) struct SegmentFile {
    path: PathBuf,
    file: File,
    /// Not written yet.
    buffer: Vec<u8>,
    /// How much of the buffer is in the checksum of the open section.
    hashed: usize,
    /// Where the buffer begins in the file.
    position: u64,
    sections: [SectionEntry; SECTION_COUNT],
    open: Option<(Section, u64, crc32fast::Hasher)>,
}

impl SegmentFile {
    /// Starts the file; an unfinished one of the same name is overwritten.
    pub(crate) fn create(path: &Path) -> Result<Self, IndexError> {
        let file = File::create(path).map_err(IndexError::io("create", path))?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES + (BUFFER_BYTES >> 2));
        buffer.resize(HEADER_BYTES, 0);
        Ok(Self {
            path: path.to_owned(),
            file,
            hashed: buffer.len(),
            buffer,
            position: 0,
            sections: [SectionEntry::default(); SECTION_COUNT],
            open: None,
        })
    }

    fn end_of_file(&self) -> u64 {
        self.position + self.buffer.len() as u64
    }

    /// Brings the checksum of the open section up to date.
    fn hash(&mut self) {
        if let Some((_, _, hasher)) = &mut self.open {
            hasher.update(&self.buffer[self.hashed..]);
        }
        self.hashed = self.buffer.len();
    }

    fn flush(&mut self) -> Result<(), IndexError> {
        self.hash();
        self.file.write_all(&self.buffer).map_err(IndexError::io("write", &self.path))?;
        self.position += self.buffer.len() as u64;
        self.buffer.clear();
        self.hashed = 0;
        Ok(())
    }

    /// Starts a section; the one before is finished by it.
    pub(crate) fn begin(&mut self, section: Section) -> Result<(), IndexError> {
        self.end();
        let misaligned = (self.end_of_file() % 8) as usize;
        if misaligned > 0 {
            self.buffer.extend_from_slice(&[0; 8][misaligned..]);
        }
        self.hashed = self.buffer.len();
        self.open = Some((section, self.end_of_file(), crc32fast::Hasher::new()));
        Ok(())
    }

    /// Appends to the section begun last.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), IndexError> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    fn end(&mut self) {
        self.hash();
        if let Some((section, offset, hasher)) = self.open.take() {
            self.sections[section.index()] =
                SectionEntry { offset, length: self.end_of_file() - offset, checksum: hasher.finalize() };
        }
    }

    /// Writes the header and makes the file durable (the directory entry is the caller's). Returns its length.
    pub(crate) fn finish(mut self, quads: u64, terms: u64) -> Result<u64, IndexError> {
        self.end();
        let header = Header { quads, terms, file_bytes: self.end_of_file(), sections: self.sections };
        self.flush()?;
        let bytes = header.to_bytes();
        let finish = |file: &mut File| -> io::Result<()> {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        finish(&mut self.file).map_err(IndexError::io("write", &self.path))?;
        Ok(header.file_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_where_their_ids_say() {
        for (index, section) in Section::ALL.into_iter().enumerate() {
            assert_eq!(section.index(), index, "{section:?}");
        }
    }
}
