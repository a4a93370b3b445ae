//! Reading one segment: terms by number and by id, graphs, and positions in the six orders.
//!
//! In: a file that [`write`](super::write) or [`merge`](super::merge) made. Out: answers, straight from
//! the mapped file; opening reads the header and the small sections and verifies their checksums, and
//! the large ones are verified by [`Segment::verify`]. A damaged file gives an error or a wrong answer
//! that the caller can notice, never a panic. Start at [`Segment::open`].

use std::cmp::Ordering;
use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use oxrdf::Term;

use super::format::{
    BLOCK_ENTRY_BYTES, GRAPH_ENTRY_BYTES, Header, REPLACES, SECTION_COUNT, Section, SectionEntry,
    TERMS_PER_BLOCK,
};
use super::pack::{BLOCK_ROWS, Block, Row};
use crate::error::IndexError;
use crate::order::Order;
use crate::term::{self, TermId, TermKind};

/// Sections up to this size have their checksum verified when the segment is opened.
const VERIFY_ON_OPEN_BYTES_MAX: u64 = 1 << 16;

/// Largest block of term texts that is believed. A literal can be as large as a page may be.
const TEXT_BLOCK_BYTES_MAX: usize = 1 << 31;

/// A graph as one segment knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GraphEntry {
    pub(crate) id: TermId,
    /// Supersedes the graph in older segments.
    pub(crate) replaces: bool,
    pub(crate) quads: u64,
}

/// One segment file, mapped.
#[derive(Debug)]
pub(crate) struct Segment {
    number: u64,
    path: PathBuf,
    map: Mmap,
    header: Header,
    /// Local numbers at which each kind of term begins; the last entry is the number of terms.
    tag_starts: [u32; 17],
}

impl Segment {
    /// Maps and checks the segment.
    #[expect(
        unsafe_code,
        reason = "mapping a file is unsafe because another process could change it; nobody changes a segment after its manifest names it"
    )]
    pub(crate) fn open(directory: &Path, number: u64) -> Result<Self, IndexError> {
        let path = segment_path(directory, number);
        let file = File::open(&path).map_err(IndexError::io("open", &path))?;
        // SAFETY: segment files are written once, under a name that is not used again, and only ever
        // removed, which leaves the mapping intact.
        let map = unsafe { Mmap::map(&file) }.map_err(IndexError::io("map", &path))?;
        let header = Header::parse(&path, &map)?;
        let mut segment = Self { number, path, map, header, tag_starts: [0; 17] };
        segment.check_shape()?;
        for section in Section::ALL {
            if segment.entry(section).length <= VERIFY_ON_OPEN_BYTES_MAX {
                segment.verify_section(section)?;
            }
        }
        for tag in 0..=16u8 {
            segment.tag_starts[usize::from(tag)] = if tag == 16 {
                segment.term_count()
            } else {
                segment.lower_bound(0, segment.term_count(), TermId::first_of_tag(tag))
            };
        }
        Ok(segment)
    }

    /// Makes sure that the sizes of the sections fit the counts in the header.
    fn check_shape(&self) -> Result<(), IndexError> {
        let Header { quads, terms, .. } = self.header;
        let blocks = quads.div_ceil(BLOCK_ROWS as u64);
        let text_blocks = terms.div_ceil(TERMS_PER_BLOCK as u64);
        let mut fits = terms < u64::from(u32::MAX)
            && self.entry(Section::TermIds).length == terms * 16
            && self.entry(Section::TermOffsets).length == (text_blocks + 1) * 8
            && self.entry(Section::Graphs).length.is_multiple_of(GRAPH_ENTRY_BYTES as u64);
        for order in Order::ALL {
            fits &= self.entry(Section::Blocks(order)).length == blocks * BLOCK_ENTRY_BYTES as u64;
        }
        if fits { Ok(()) } else { Err(self.damaged("its counts do not fit its sections")) }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn quad_count(&self) -> u64 {
        self.header.quads
    }

    pub(crate) fn term_count(&self) -> u32 {
        // `check_shape` refused more than fit.
        self.header.terms as u32
    }

    pub(crate) fn file_bytes(&self) -> u64 {
        self.header.file_bytes
    }

    pub(crate) fn section_bytes(&self, section: Section) -> u64 {
        self.entry(section).length
    }

    pub(crate) fn damaged(&self, reason: &str) -> IndexError {
        IndexError::damaged(&self.path, reason)
    }

    fn entry(&self, section: Section) -> &SectionEntry {
        &self.header.sections[section.index()]
    }

    fn section(&self, section: Section) -> &[u8] {
        // `Header::parse` made sure that it is inside the file.
        self.map.get(self.entry(section).range()).unwrap_or_default()
    }

    fn verify_section(&self, section: Section) -> Result<(), IndexError> {
        if crc32fast::hash(self.section(section)) == self.entry(section).checksum {
            Ok(())
        } else {
            Err(IndexError::damaged(&self.path, format!("the checksum of section {section:?} is wrong")))
        }
    }

    /// Verifies the checksum of every section.
    pub(crate) fn verify(&self) -> Result<(), IndexError> {
        debug_assert_eq!(Section::ALL.len(), SECTION_COUNT, "no section is left out");
        Section::ALL.into_iter().try_for_each(|section| self.verify_section(section))
    }

    /// The id of a local number.
    pub(crate) fn term_id(&self, local: u32) -> Option<TermId> {
        let at = local as usize * 16;
        let bytes = self.section(Section::TermIds).get(at..at + 16)?;
        Some(TermId::from_bits(u128::from_le_bytes(bytes.try_into().ok()?)))
    }

    fn term_id_or_max(&self, local: u32) -> TermId {
        self.term_id(local).unwrap_or(TermId::from_bits(u128::MAX))
    }

    /// The first local number in `low..high` whose id is not smaller.
    fn lower_bound(&self, mut low: u32, mut high: u32, id: TermId) -> u32 {
        while low < high {
            let middle = low + (high - low) / 2;
            if self.term_id_or_max(middle) < id {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The local number of an id, if the segment knows the term.
    ///
    /// Hashes are spread evenly, so the place of one can be guessed to within a few entries; a plain
    /// binary search would touch a page of the file per step.
    pub(crate) fn find(&self, id: TermId) -> Option<u32> {
        let tag = usize::from(id.tag());
        let (low, high) = (self.tag_starts[tag], self.tag_starts[tag + 1]);
        let found = if id.is_inline() || high.wrapping_sub(low) < 64 {
            self.lower_bound(low, high, id)
        } else {
            let span = u128::from(high - low);
            let guess = low + (((id.payload() >> 64) * span) >> 60) as u32;
            let mut step = 16;
            if self.term_id_or_max(guess) < id {
                let mut from = guess;
                loop {
                    let to = from.saturating_add(step).min(high);
                    if to == high || self.term_id_or_max(to) >= id {
                        break self.lower_bound(from, to, id);
                    }
                    from = to;
                    step = step.saturating_mul(4);
                }
            } else {
                let mut to = guess;
                loop {
                    let from = to.saturating_sub(step).max(low);
                    if from == low || self.term_id_or_max(from) < id {
                        break self.lower_bound(from, to, id);
                    }
                    to = from;
                    step = step.saturating_mul(4);
                }
            }
        };
        (found < high && self.term_id(found) == Some(id)).then_some(found)
    }

    /// Local numbers of the names of metadata graphs.
    pub(crate) fn metadata_range(&self) -> Range<u32> {
        let tag = TermKind::MetaIri as usize;
        self.tag_starts[tag]..self.tag_starts[tag + 1]
    }

    /// The text block that holds a local number, decompressed into `buffer`, which it replaces.
    pub(crate) fn text_block(&self, block: usize, buffer: &mut Vec<u8>) -> Result<(), IndexError> {
        let mut read = || -> Option<()> {
            let offsets = self.section(Section::TermOffsets);
            let offset = |index: usize| -> Option<usize> {
                let bytes = offsets.get(index * 8..index * 8 + 8)?;
                usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
            };
            let packed = self.section(Section::TermTexts).get(offset(block)?..offset(block + 1)?)?;
            let (length, packed) = packed.split_first_chunk::<4>()?;
            let length = u32::from_le_bytes(*length) as usize;
            buffer.clear();
            if length == packed.len() {
                buffer.extend_from_slice(packed);
                return Some(());
            }
            // A block of lz4 grows by at most 255 times; a length beyond that is a lie.
            if length > TEXT_BLOCK_BYTES_MAX || length / 256 > packed.len() {
                return None;
            }
            buffer.resize(length, 0);
            (lz4_flex::block::decompress_into(packed, buffer).ok()? == length).then_some(())
        };
        read().ok_or_else(|| self.damaged("a block of term texts cannot be read"))
    }

    /// The term of a local number.
    pub(crate) fn term(&self, local: u32, buffer: &mut Vec<u8>) -> Result<Term, IndexError> {
        let id = self.term_id(local).ok_or_else(|| self.damaged("a row names a term that does not exist"))?;
        if let Some(literal) = term::inline_literal(id) {
            return Ok(literal.into());
        }
        self.text_block(local as usize / TERMS_PER_BLOCK, buffer)?;
        TextBlock::new(buffer)
            .nth(local as usize % TERMS_PER_BLOCK)
            .and_then(|bytes| term::decode(id, bytes))
            .ok_or_else(|| self.damaged("the text of a term cannot be read"))
    }

    /// Number of graphs the segment mentions.
    pub(crate) fn graph_count(&self) -> usize {
        self.section(Section::Graphs).len() / GRAPH_ENTRY_BYTES
    }

    /// The graph at a place in the sorted list.
    pub(crate) fn graph(&self, index: usize) -> Option<GraphEntry> {
        let at = index * GRAPH_ENTRY_BYTES;
        let bytes = self.section(Section::Graphs).get(at..at + GRAPH_ENTRY_BYTES)?;
        let (id, count) = bytes.split_first_chunk::<16>()?;
        let count = u64::from_le_bytes(count.try_into().ok()?);
        Some(GraphEntry {
            id: TermId::from_bits(u128::from_le_bytes(*id)),
            replaces: count & REPLACES != 0,
            quads: count & !REPLACES,
        })
    }

    /// All graphs, sorted by id.
    pub(crate) fn graphs(&self) -> impl Iterator<Item = GraphEntry> + '_ {
        (0..self.graph_count()).filter_map(|index| self.graph(index))
    }

    /// The graph of that name, if the segment mentions it.
    pub(crate) fn find_graph(&self, id: TermId) -> Option<GraphEntry> {
        let (mut low, mut high) = (0, self.graph_count());
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.graph(middle)?;
            match entry.id.cmp(&id) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(entry),
            }
        }
        None
    }

    fn block_count(&self, order: Order) -> usize {
        self.section(Section::Blocks(order)).len() / BLOCK_ENTRY_BYTES
    }

    fn block_entry(&self, order: Order, block: usize) -> Option<(Row, usize)> {
        let at = block * BLOCK_ENTRY_BYTES;
        let bytes = self.section(Section::Blocks(order)).get(at..at + BLOCK_ENTRY_BYTES)?;
        let number =
            |at: usize| -> Option<u32> { Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?)) };
        let start = u64::from_le_bytes(bytes.get(16..24)?.try_into().ok()?);
        Some(([number(0)?, number(4)?, number(8)?, number(12)?], usize::try_from(start).ok()?))
    }

    fn open_block(&self, order: Order, block: usize) -> Result<Block, IndexError> {
        let rows = (self.header.quads - (block * BLOCK_ROWS) as u64).min(BLOCK_ROWS as u64) as usize;
        self.block_entry(order, block)
            .and_then(|(_, start)| Block::parse(self.section(Section::Rows(order)), start, rows))
            .ok_or_else(|| {
                IndexError::damaged(&self.path, format!("a block of order {order:?} cannot be read"))
            })
    }

    /// The position of the first row that is not smaller than the prefix.
    pub(crate) fn seek(&self, order: Order, prefix: &[u32]) -> Result<Position, IndexError> {
        let blocks = self.block_count(order);
        if prefix.is_empty() || blocks == 0 {
            return Ok(Position { block_index: 0, row: 0, block: None });
        }
        // The last block that begins before the prefix may hold its first row; if not, the next one does.
        let (mut low, mut high) = (0, blocks);
        while low < high {
            let middle = low + (high - low) / 2;
            let (first, _) = self
                .block_entry(order, middle)
                .ok_or_else(|| self.damaged("the index of an order is cut off"))?;
            if first[..prefix.len()] < *prefix {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(block_index) = low.checked_sub(1) else {
            return Ok(Position { block_index: 0, row: 0, block: None });
        };
        let block = self.open_block(order, block_index)?;
        let bytes = self.section(Section::Rows(order));
        let (mut low, mut high) = (0, block.rows());
        while low < high {
            let middle = low + (high - low) / 2;
            if block.compare(bytes, middle, prefix) == Ordering::Less {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(Position { block_index, row: low, block: Some(block) })
    }

    /// The row at the position, which moves on; nothing at the end.
    pub(crate) fn next_row(&self, order: Order, position: &mut Position) -> Result<Option<Row>, IndexError> {
        let block = match position.block {
            Some(block) if position.row < block.rows() => block,
            current => {
                if current.is_some() {
                    position.block_index += 1;
                    position.row = 0;
                }
                if position.block_index >= self.block_count(order) {
                    position.block = None;
                    return Ok(None);
                }
                let block = self.open_block(order, position.block_index)?;
                position.block = Some(block);
                block
            }
        };
        let row = block.row(self.section(Section::Rows(order)), position.row);
        position.row += 1;
        Ok(Some(row))
    }
}

impl Segment {
    /// The numbers of the rows that begin with the prefix. Two searches; no row is read through.
    pub(crate) fn rows_with_prefix(&self, order: Order, prefix: &[u32]) -> Result<Range<u64>, IndexError> {
        let start = self.seek(order, prefix)?.row_number();
        let mut after = prefix.to_vec();
        let end = match after.last_mut().and_then(|last| last.checked_add(1).map(|next| *last = next)) {
            Some(()) => self.seek(order, &after)?.row_number(),
            None => self.header.quads,
        };
        Ok(start..end.max(start))
    }

    /// The row of a number.
    pub(crate) fn row_at(&self, order: Order, number: u64) -> Result<Option<Row>, IndexError> {
        if number >= self.header.quads {
            return Ok(None);
        }
        let (block, row) = ((number / BLOCK_ROWS as u64) as usize, (number % BLOCK_ROWS as u64) as usize);
        let block = self.open_block(order, block)?;
        Ok(Some(block.row(self.section(Section::Rows(order)), row)))
    }
}

impl Position {
    /// How many rows are before it.
    fn row_number(&self) -> u64 {
        (self.block_index * BLOCK_ROWS + self.row) as u64
    }
}

/// A place between two rows of an order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position {
    block_index: usize,
    row: usize,
    block: Option<Block>,
}

/// The texts in one decompressed block, in order of local number. Inline terms have an empty one.
pub(crate) struct TextBlock<'a> {
    rest: &'a [u8],
}

impl<'a> TextBlock<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl<'a> Iterator for TextBlock<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut length = 0usize;
        let mut shift = 0;
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            length |= usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
            shift += 7;
            if shift > 35 {
                return None;
            }
        }
        let (text, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(text)
    }
}

/// Where the segment of a number is kept.
pub(crate) fn segment_path(directory: &Path, number: u64) -> PathBuf {
    directory.join("segments").join(format!("{number:08}.seg"))
}
