//! Writing the sections of a segment.
//!
//! In: terms by rank, rows in order, graphs and predicates. Out: bytes in a [`SegmentFile`]. Both ways to make a segment use
//! this: [`build`](super::build) from quads, [`merge`](super::merge) from segments.

use lz4_flex::block::CompressTable;

use super::format::{HAS_TEXT, REPLACES, Section, SegmentFile, TERMS_PER_BLOCK};
use super::pack::{BLOCK_ROWS, PADDING, Packer, Row};
use super::read::{GraphEntry, PredicateEntry};
use crate::error::IndexError;
use crate::order::Order;

/// Writes the texts of terms in blocks, in order of local number, and then where the blocks are.
pub(crate) struct TermTextWriter {
    compress: bool,
    table: CompressTable,
    block: Vec<u8>,
    packed: Vec<u8>,
    terms: usize,
    position: u64,
    offsets: Vec<u8>,
}

impl TermTextWriter {
    pub(crate) fn begin(file: &mut SegmentFile, compress: bool) -> Result<Self, IndexError> {
        file.begin(Section::TermTexts)?;
        Ok(Self {
            compress,
            table: CompressTable::default(),
            block: Vec::new(),
            packed: Vec::new(),
            terms: 0,
            position: 0,
            offsets: Vec::new(),
        })
    }

    pub(crate) fn push(&mut self, file: &mut SegmentFile, text: &[u8]) -> Result<(), IndexError> {
        let mut length = text.len();
        while length >= 0x80 {
            self.block.push(length as u8 | 0x80);
            length >>= 7;
        }
        self.block.push(length as u8);
        self.block.extend_from_slice(text);
        self.terms += 1;
        if self.terms == TERMS_PER_BLOCK { self.flush(file) } else { Ok(()) }
    }

    fn flush(&mut self, file: &mut SegmentFile) -> Result<(), IndexError> {
        self.offsets.extend_from_slice(&self.position.to_le_bytes());
        let length = self.block.len() as u32;
        file.write(&length.to_le_bytes())?;
        let mut packed = &self.block[..];
        if self.compress {
            let room = lz4_flex::block::get_maximum_output_size(self.block.len());
            if self.packed.len() < room {
                self.packed.resize(room, 0);
            }
            let made =
                lz4_flex::block::compress_into_with_table(&self.block, &mut self.packed, &mut self.table);
            // What does not shrink is kept as it is; equal lengths say so.
            if let Ok(made) = made
                && made < self.block.len()
            {
                packed = &self.packed[..made];
            }
            if matches!(self.table, CompressTable::Large(_)) {
                // One long literal is no reason to clear a large table for every block that follows.
                self.table = CompressTable::default();
            }
        }
        file.write(packed)?;
        self.position += 4 + packed.len() as u64;
        self.block.clear();
        self.terms = 0;
        Ok(())
    }

    pub(crate) fn finish(mut self, file: &mut SegmentFile) -> Result<(), IndexError> {
        if self.terms > 0 {
            self.flush(file)?;
        }
        self.offsets.extend_from_slice(&self.position.to_le_bytes());
        file.begin(Section::TermOffsets)?;
        file.write(&self.offsets)
    }
}

/// Writes the rows of one order, sorted and distinct, and then the index of their blocks.
pub(crate) struct OrderWriter {
    order: Order,
    /// Which part of a row each column of the order is.
    columns: [usize; 4],
    packer: Packer,
    bytes: Vec<u8>,
    position: u64,
    blocks: Vec<u8>,
    written: u64,
}

impl OrderWriter {
    /// Starts an order whose rows come with their columns in key order.
    pub(crate) fn begin(file: &mut SegmentFile, order: Order) -> Result<Self, IndexError> {
        file.begin(Section::Rows(order))?;
        Ok(Self {
            order,
            columns: [0, 1, 2, 3],
            packer: Packer::new(),
            bytes: Vec::new(),
            position: 0,
            blocks: Vec::new(),
            written: 0,
        })
    }

    /// Writes a whole order of rows that come as subject, predicate, object, graph.
    pub(crate) fn write_all(file: &mut SegmentFile, order: Order, rows: &[Row]) -> Result<(), IndexError> {
        let mut writer = Self::begin(file, order)?;
        writer.columns = order.columns();
        for block in rows.chunks(BLOCK_ROWS) {
            writer.write_block(file, block)?;
        }
        writer.finish(file)?;
        Ok(())
    }

    /// Writes rows that make up a block: [`BLOCK_ROWS`] of them, unless they are the last.
    pub(crate) fn write_block(&mut self, file: &mut SegmentFile, rows: &[Row]) -> Result<(), IndexError> {
        for part in self.columns {
            self.blocks.extend_from_slice(&rows[0][part].to_le_bytes());
        }
        self.blocks.extend_from_slice(&self.position.to_le_bytes());
        self.bytes.clear();
        self.packer.pack(rows, self.columns, &mut self.bytes);
        file.write(&self.bytes)?;
        self.position += self.bytes.len() as u64;
        self.written += rows.len() as u64;
        Ok(())
    }

    /// Returns how many rows were written.
    pub(crate) fn finish(self, file: &mut SegmentFile) -> Result<u64, IndexError> {
        file.write(&[0; PADDING])?;
        file.begin(Section::Blocks(self.order))?;
        file.write(&self.blocks)?;
        Ok(self.written)
    }
}

/// Writes the list of graphs, which must come sorted by id.
pub(crate) fn write_graphs(
    file: &mut SegmentFile,
    graphs: impl Iterator<Item = GraphEntry>,
) -> Result<(), IndexError> {
    file.begin(Section::Graphs)?;
    for graph in graphs {
        file.write(&graph.id.to_bits().to_le_bytes())?;
        let replaces = if graph.replaces { REPLACES } else { 0 };
        let has_text = if graph.has_text { HAS_TEXT } else { 0 };
        file.write(&(graph.quads | replaces | has_text).to_le_bytes())?;
        file.write(&u64::from(graph.local).to_le_bytes())?;
    }
    Ok(())
}

/// Writes the list of predicates, which must come sorted by local number.
pub(crate) fn write_predicates(
    file: &mut SegmentFile,
    predicates: &[PredicateEntry],
) -> Result<(), IndexError> {
    file.begin(Section::Predicates)?;
    for predicate in predicates {
        for number in [predicate.local, predicate.subjects, predicate.objects, 0] {
            file.write(&number.to_le_bytes())?;
        }
        file.write(&predicate.quads.to_le_bytes())?;
    }
    Ok(())
}
