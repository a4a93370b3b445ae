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
    BLOCK_ENTRY_BYTES, GRAPH_ENTRY_BYTES, HAS_TEXT, Header, NO_LOCAL, PREDICATE_ENTRY_BYTES, REPLACES,
    SECTION_COUNT, Section, SectionEntry, TERMS_PER_BLOCK,
};
use super::pack::{BLOCK_ROWS, Block, ColumnValues, Row};
use crate::error::IndexError;
use crate::order::{GRAPH, Order, PREDICATE};
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
    /// The text index has documents of this version of the graph.
    pub(crate) has_text: bool,
    pub(crate) quads: u64,
    /// The local number of its name; [`NO_LOCAL`] when it has no quads.
    pub(crate) local: u32,
}

/// A predicate as one segment knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PredicateEntry {
    pub(crate) local: u32,
    /// Distinct subjects.
    pub(crate) subjects: u32,
    /// Distinct objects.
    pub(crate) objects: u32,
    pub(crate) quads: u64,
}

impl PredicateEntry {
    pub(crate) fn new(local: u32) -> Self {
        Self { local, subjects: 0, objects: 0, quads: 0 }
    }
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
    /// The same for places in the list of graphs.
    graph_tag_starts: [usize; 17],
    /// Local numbers of the predicates, in order.
    predicates: Vec<u32>,
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
        let mut segment = Self {
            number,
            path,
            map,
            header,
            tag_starts: [0; 17],
            graph_tag_starts: [0; 17],
            predicates: Vec::new(),
        };
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
            segment.graph_tag_starts[usize::from(tag)] = if tag == 16 {
                segment.graph_count()
            } else {
                segment.graph_lower_bound(0, segment.graph_count(), TermId::first_of_tag(tag))
            };
        }
        segment.predicates = segment.predicate_entries().map(|predicate| predicate.local).collect();
        if !segment.predicates.is_sorted_by(|left, right| left < right) {
            return Err(segment.damaged("its predicates are out of order"));
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
            && self.entry(Section::Graphs).length.is_multiple_of(GRAPH_ENTRY_BYTES as u64)
            && self.entry(Section::Predicates).length.is_multiple_of(PREDICATE_ENTRY_BYTES as u64);
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

    /// The id of a local number that a row names.
    pub(crate) fn existing_term_id(&self, local: u32) -> Result<TermId, IndexError> {
        self.term_id(local).ok_or_else(|| self.damaged("a row names a term that does not exist"))
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
        let found = self.place(id);
        (self.term_id(found) == Some(id)).then_some(found)
    }

    /// The first local number whose id is not smaller, as [`Segment::find`] finds it; at most the one behind the last of its
    /// kind.
    pub(crate) fn place(&self, id: TermId) -> u32 {
        let tag = usize::from(id.tag());
        let (low, high) = (self.tag_starts[tag], self.tag_starts[tag + 1]);
        if id.is_inline() || high.wrapping_sub(low) < 64 {
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
        }
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
        let id = self.existing_term_id(local)?;
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
        let (id, rest) = bytes.split_first_chunk::<16>()?;
        let (count, rest) = rest.split_first_chunk::<8>()?;
        let count = u64::from_le_bytes(*count);
        Some(GraphEntry {
            id: TermId::from_bits(u128::from_le_bytes(*id)),
            replaces: count & REPLACES != 0,
            has_text: count & HAS_TEXT != 0,
            quads: count & !(REPLACES | HAS_TEXT),
            local: u32::from_le_bytes(*rest.first_chunk()?),
        })
    }

    fn graph_id(&self, index: usize) -> TermId {
        let at = index * GRAPH_ENTRY_BYTES;
        let id = self.section(Section::Graphs).get(at..).and_then(|bytes| bytes.first_chunk());
        TermId::from_bits(id.map_or(u128::MAX, |id| u128::from_le_bytes(*id)))
    }

    /// The local number of the name of the graph at a place; one that no term has when there is no such graph.
    fn graph_local(&self, index: u32) -> u32 {
        let at = index as usize * GRAPH_ENTRY_BYTES + 24;
        let local = self.section(Section::Graphs).get(at..).and_then(|bytes| bytes.first_chunk());
        local.map_or(NO_LOCAL, |local| u32::from_le_bytes(*local))
    }

    /// All graphs, sorted by id.
    pub(crate) fn graphs(&self) -> impl Iterator<Item = GraphEntry> + '_ {
        (0..self.graph_count()).filter_map(|index| self.graph(index))
    }

    fn graph_lower_bound(&self, mut low: usize, mut high: usize, id: TermId) -> usize {
        while low < high {
            let middle = low + (high - low) / 2;
            if self.graph_id(middle) < id {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The place of the first graph whose id is not smaller.
    fn graph_place(&self, id: TermId) -> usize {
        let tag = usize::from(id.tag());
        let (low, high) = (self.graph_tag_starts[tag], self.graph_tag_starts[tag + 1]);
        // As with terms, an id says about where it is.
        let guess = low + (((id.payload() >> 64) * (high - low) as u128) >> 60) as usize;
        let reach = 4 + (high - low).isqrt();
        let (from, to) = (guess.saturating_sub(reach).max(low), (guess + reach).min(high));
        let place = self.graph_lower_bound(from, to, id);
        let is_right = (place > from || from == low) && (place < to || to == high);
        if is_right { place } else { self.graph_lower_bound(low, high, id) }
    }

    /// The graph of that name, if the segment mentions it.
    pub(crate) fn find_graph(&self, id: TermId) -> Option<GraphEntry> {
        self.graph(self.graph_place(id)).filter(|graph| graph.id == id)
    }

    /// The predicates with what is known of them, sorted by local number.
    pub(crate) fn predicate_entries(&self) -> impl Iterator<Item = PredicateEntry> + '_ {
        self.section(Section::Predicates).chunks_exact(PREDICATE_ENTRY_BYTES).map(|bytes| {
            let number = |at: usize| {
                bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |n| u32::from_le_bytes(*n))
            };
            PredicateEntry {
                local: number(0),
                subjects: number(4),
                objects: number(8),
                quads: u64::from(number(16)) | u64::from(number(20)) << 32,
            }
        })
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

    /// The prefix as the rows of an order have it, and how much of it counts: behind a number that does not occur, the rest
    /// says nothing about where the first larger row is.
    fn stored_prefix(&self, order: Order, prefix: &[u32]) -> (Row, usize) {
        let mut stored = [0; 4];
        for (place, (&local, part)) in prefix.iter().zip(order.columns()).enumerate() {
            let (number, exact) = match part {
                PREDICATE => {
                    let at = self.predicates.partition_point(|predicate| *predicate < local);
                    (at, self.predicates.get(at) == Some(&local))
                }
                GRAPH => match self.term_id(local) {
                    Some(id) => {
                        let at = self.graph_place(id);
                        (at, self.graph_id(at) == id)
                    }
                    None => (self.graph_count(), false),
                },
                _ => (local as usize, true),
            };
            stored[place] = number as u32;
            if !exact {
                return (stored, place + 1);
            }
        }
        (stored, prefix.len())
    }

    /// The position of the first row that is not smaller than the prefix, which is made of local numbers.
    pub(crate) fn seek(&self, order: Order, prefix: &[u32]) -> Result<Position, IndexError> {
        let blocks = self.block_count(order);
        if prefix.is_empty() || blocks == 0 {
            return Ok(Position::at(0, 0, None));
        }
        let (stored, length) = self.stored_prefix(order, prefix);
        let prefix = &stored[..length];
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
        let block_index = low.saturating_sub(1);
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
        Ok(Position::at(block_index, low, Some(block)))
    }

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

    /// The row of a number, as local numbers.
    pub(crate) fn row_at(&self, order: Order, number: u64) -> Result<Option<Row>, IndexError> {
        if number >= self.header.quads {
            return Ok(None);
        }
        let (block, row) = ((number / BLOCK_ROWS as u64) as usize, (number % BLOCK_ROWS as u64) as usize);
        let block = self.open_block(order, block)?;
        let mut row = block.row(self.section(Section::Rows(order)), row);
        for (number, part) in row.iter_mut().zip(order.columns()) {
            *number = self.local_of(part, *number);
        }
        Ok(Some(row))
    }

    /// The first block that does not begin with the row that the index of the order says; nothing when all do.
    pub(crate) fn misplaced_block(&self, order: Order) -> Result<Option<usize>, IndexError> {
        for index in 0..self.block_count(order) {
            let block = self.open_block(order, index)?;
            let first = block.row(self.section(Section::Rows(order)), 0);
            if self.block_entry(order, index).is_none_or(|(row, _)| row != first) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Unpacks a block: its rows, with predicates and graphs as places in their lists. False behind the last.
    pub(crate) fn unpack_block(
        &self,
        order: Order,
        block_index: usize,
        unpacked: &mut Unpacked,
    ) -> Result<bool, IndexError> {
        unpacked.rows = 0;
        if block_index >= self.block_count(order) {
            return Ok(false);
        }
        let block = self.open_block(order, block_index)?;
        self.unpack(order, &block, unpacked);
        Ok(true)
    }

    fn unpack(&self, order: Order, block: &Block, unpacked: &mut Unpacked) {
        let bytes = self.section(Section::Rows(order));
        for (column, values) in unpacked.columns.iter_mut().enumerate() {
            block.column(bytes, column, values);
        }
        unpacked.rows = block.rows();
    }

    /// The local number of a number in a column.
    fn local_of(&self, part: usize, number: u32) -> u32 {
        match part {
            PREDICATE => self.predicates.get(number as usize).copied().unwrap_or(NO_LOCAL),
            GRAPH => self.graph_local(number),
            _ => number,
        }
    }

    /// The row at the position as local numbers; the position moves on. Nothing at the end.
    #[inline]
    pub(crate) fn next_row(&self, order: Order, position: &mut Position) -> Result<Option<Row>, IndexError> {
        match position.next_unpacked(BLOCK_ROWS) {
            Some(row) => Ok(Some(row)),
            None => self.next_row_slowly(order, position),
        }
    }

    /// The ids of many rows: see [`Ids`].
    #[inline]
    pub(crate) fn ids(&self) -> Ids<'_> {
        Ids { segment: self, table: self.section(Section::TermIds).as_chunks().0, all_exist: true }
    }

    /// At the end of an unpacked block, and for the first rows behind a seek: whoever looks a thing up seldom wants more.
    fn next_row_slowly(&self, order: Order, position: &mut Position) -> Result<Option<Row>, IndexError> {
        let is_new = match &position.block {
            Some(block) if position.row < block.rows() => false,
            current => {
                if current.is_some() {
                    position.block_index += 1;
                    position.row = 0;
                }
                if position.block_index >= self.block_count(order) {
                    position.block = None;
                    position.unpacked = None;
                    return Ok(None);
                }
                position.block = Some(self.open_block(order, position.block_index)?);
                true
            }
        };
        let Some(block) = position.block else {
            return Ok(None);
        };
        position.single_rows += 1;
        if position.single_rows <= SINGLE_ROWS_MAX {
            let mut row = block.row(self.section(Section::Rows(order)), position.row);
            for (number, part) in row.iter_mut().zip(order.columns()) {
                *number = self.local_of(part, *number);
            }
            position.row += 1;
            return Ok(Some(row));
        }
        let unpacked = position.unpacked.get_or_insert_default();
        debug_assert!(is_new || unpacked.rows == 0, "an unpacked block is not unpacked again");
        self.unpack(order, &block, unpacked);
        for (part, values) in order.columns().into_iter().zip(unpacked.columns.iter_mut()) {
            if part == PREDICATE || part == GRAPH {
                let mut last = (u32::MAX, NO_LOCAL);
                for value in &mut values[..unpacked.rows] {
                    if last.0 != *value {
                        last = (*value, self.local_of(part, *value));
                    }
                    *value = last.1;
                }
            }
        }
        let row = [0, 1, 2, 3].map(|column: usize| unpacked.columns[column][position.row % BLOCK_ROWS]);
        position.row += 1;
        Ok(Some(row))
    }
}

/// Rows that are read one by one before a whole block is unpacked.
const SINGLE_ROWS_MAX: u32 = 6;

/// A place between two rows of an order.
#[derive(Debug, Clone)]
pub(crate) struct Position {
    block_index: usize,
    row: usize,
    block: Option<Block>,
    /// Rows read one by one so far.
    single_rows: u32,
    /// The block, as local numbers, once it is read as a whole.
    unpacked: Option<Box<Unpacked>>,
}

impl Position {
    fn at(block_index: usize, row: usize, block: Option<Block>) -> Self {
        Self { block_index, row, block, single_rows: 0, unpacked: None }
    }

    /// The row at the position, if it is unpacked already and before `until`; the position moves on.
    #[inline]
    pub(crate) fn next_unpacked(&mut self, until: usize) -> Option<Row> {
        let unpacked = self.unpacked.as_ref()?;
        if self.row >= unpacked.rows.min(until) {
            return None;
        }
        let row = [0, 1, 2, 3].map(|column: usize| unpacked.columns[column][self.row % BLOCK_ROWS]);
        self.row += 1;
        Some(row)
    }

    /// Where the rows of the unpacked block end that begin with the prefix, as the one that was given last does.
    pub(crate) fn rows_with_prefix_until(&self, prefix: &[u32]) -> usize {
        let Some(unpacked) = &self.unpacked else {
            return 0;
        };
        let begins = |row: usize| {
            prefix.iter().zip(&unpacked.columns).all(|(wanted, values)| values[row % BLOCK_ROWS] == *wanted)
        };
        let (mut low, mut high) = (self.row, unpacked.rows);
        if high > low && begins(high - 1) {
            return high;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if begins(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// How many rows are before it.
    fn row_number(&self) -> u64 {
        (self.block_index * BLOCK_ROWS + self.row) as u64
    }
}

/// The rows of one block, column by column, in the order of the key.
#[derive(Debug, Clone)]
pub(crate) struct Unpacked {
    pub(crate) rows: usize,
    pub(crate) columns: [ColumnValues; 4],
}

impl Default for Unpacked {
    fn default() -> Self {
        Self { rows: 0, columns: [[0; BLOCK_ROWS]; 4] }
    }
}

/// The ids of the terms of a segment. Whether the terms asked for exist is looked at in the end.
pub(crate) struct Ids<'a> {
    segment: &'a Segment,
    table: &'a [[u8; 16]],
    all_exist: bool,
}

impl Ids<'_> {
    /// The ids of some columns of a row.
    #[inline]
    pub(crate) fn key(&mut self, row: Row, columns: [usize; 4]) -> [TermId; 4] {
        columns.map(|column| {
            let bytes = self.table.get(row[column % 4] as usize);
            self.all_exist &= bytes.is_some();
            TermId::from_bits(bytes.map_or(0, |bytes| u128::from_le_bytes(*bytes)))
        })
    }

    /// An error if a row named a term that does not exist.
    pub(crate) fn check(&self) -> Result<(), IndexError> {
        if self.all_exist {
            Ok(())
        } else {
            Err(self.segment.damaged("a row names a term that does not exist"))
        }
    }
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
