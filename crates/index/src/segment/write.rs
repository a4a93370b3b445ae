//! From a batch of quads to a segment file.
//!
//! In: quads, graph by graph, through [`SegmentBuilder::begin_graph`] and [`SegmentBuilder::triple`]. Out:
//! a finished file. Terms are hashed, numbered as they come, and renumbered by rank of their id at the end,
//! so that local order is global order. The building blocks ([`TermTextWriter`], [`OrderWriter`],
//! [`write_graphs`]) are shared with merging. Nothing here knows of manifests or of other segments.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;

use oxrdf::{GraphNameRef, TermRef, TripleRef};

use super::format::{REPLACES, Section, SegmentFile, TERMS_PER_BLOCK};
use super::pack::{BLOCK_ROWS, PADDING, Packer, Row};
use super::read::GraphEntry;
use crate::error::IndexError;
use crate::order::{GRAPH, Order};
use crate::term::{self, TermHasher, TermId};

/// Gathers the quads of one segment.
pub(crate) struct SegmentBuilder<'a> {
    hasher: &'a TermHasher,
    numbers: HashMap<TermId, u32, IdHashState>,
    terms: Vec<(TermId, Option<TermRef<'a>>)>,
    /// Subject, predicate, object, graph; numbers of arrival.
    rows: Vec<Row>,
    graphs: Vec<GraphEntry>,
    graph: (TermId, GraphNameRef<'a>),
    graph_number: Option<u32>,
}

impl<'a> SegmentBuilder<'a> {
    pub(crate) fn new(hasher: &'a TermHasher) -> Self {
        let numbers = HashMap::with_hasher(IdHashState::new(hasher.key()));
        let graph = (TermId::DEFAULT_GRAPH, GraphNameRef::DefaultGraph);
        Self {
            hasher,
            numbers,
            terms: Vec::new(),
            rows: Vec::new(),
            graphs: Vec::new(),
            graph,
            graph_number: None,
        }
    }

    /// The triples that follow are in this graph. Each graph is begun once.
    pub(crate) fn begin_graph(&mut self, graph: GraphNameRef<'a>, replaces: bool) {
        let id = self.hasher.graph(graph);
        self.graphs.push(GraphEntry { id, replaces, quads: 0 });
        self.graph = (id, graph);
        self.graph_number = None;
    }

    /// One more triple of the graph begun last.
    pub(crate) fn triple(&mut self, triple: TripleRef<'a>) {
        let subject = self.number(self.hasher.subject(triple.subject), Some(triple.subject.into()));
        let predicate =
            self.number(self.hasher.iri(triple.predicate.as_str()), Some(triple.predicate.into()));
        let object = self.number(self.hasher.term(triple.object), Some(triple.object));
        let graph = match self.graph_number {
            Some(number) => number,
            None => {
                let term = match self.graph.1 {
                    GraphNameRef::NamedNode(node) => Some(node.into()),
                    GraphNameRef::BlankNode(node) => Some(node.into()),
                    GraphNameRef::DefaultGraph => None,
                };
                let number = self.number(self.graph.0, term);
                self.graph_number = Some(number);
                number
            }
        };
        self.rows.push([subject, predicate, object, graph]);
    }

    fn number(&mut self, id: TermId, term: Option<TermRef<'a>>) -> u32 {
        let next = self.terms.len() as u32;
        let number = *self.numbers.entry(id).or_insert(next);
        if number == next {
            self.terms.push((id, term));
        }
        number
    }

    /// True when nothing would be in the segment, not even the news that a graph is gone.
    pub(crate) fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// Writes the segment. Returns how many quads it holds.
    pub(crate) fn write(mut self, path: &Path) -> Result<u64, IndexError> {
        if self.terms.len() as u64 >= u64::from(u32::MAX) {
            return Err(IndexError::TooManyTerms { terms: self.terms.len() as u64 });
        }
        self.numbers = HashMap::with_hasher(IdHashState::new(self.hasher.key()));
        let mut by_id: Vec<u32> = (0..self.terms.len() as u32).collect();
        by_id.sort_unstable_by_key(|&number| self.terms[number as usize].0);
        let mut ranks = vec![0u32; self.terms.len()];
        for (rank, &number) in by_id.iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }

        let mut file = SegmentFile::create(path)?;
        file.begin(Section::TermIds)?;
        for &number in &by_id {
            file.write(&self.terms[number as usize].0.to_bits().to_le_bytes())?;
        }
        let mut texts = TermTextWriter::begin(&mut file)?;
        let mut text = Vec::new();
        for &number in &by_id {
            let (id, term) = self.terms[number as usize];
            text.clear();
            if let Some(term) = term
                && !id.is_inline()
            {
                term::encode_text(term, &mut text);
            }
            texts.push(&mut file, &text)?;
        }
        texts.finish(&mut file)?;

        // Four numbers of 32 bits sort fastest as one of 128.
        let mut keys: Vec<u128> = Vec::with_capacity(self.rows.len());
        let quads: Vec<Row> = self.rows.iter().map(|row| row.map(|number| ranks[number as usize])).collect();
        drop(std::mem::take(&mut self.rows));
        let mut written = 0;
        let mut counts: HashMap<u32, u64, IdHashState> =
            HashMap::with_hasher(IdHashState::new(self.hasher.key()));
        for order in Order::ALL {
            keys.clear();
            keys.extend(quads.iter().map(|&quad| pack_key(order.permute(quad))));
            keys.sort_unstable();
            keys.dedup();
            let mut rows = OrderWriter::begin(&mut file, order)?;
            for &key in &keys {
                rows.push(&mut file, unpack_key(key))?;
            }
            written = rows.finish(&mut file)?;
            if order == Order::Cspo {
                for &key in &keys {
                    *counts.entry(unpack_key(key)[order.graph_column()]).or_default() += 1;
                }
            }
        }
        self.graphs.sort_unstable_by_key(|graph| graph.id);
        for graph in &mut self.graphs {
            let rank = by_id.binary_search_by_key(&graph.id, |&number| self.terms[number as usize].0);
            if let Ok(rank) = rank {
                graph.quads = counts.get(&(rank as u32)).copied().unwrap_or_default();
            }
        }
        write_graphs(&mut file, self.graphs.iter().copied())?;
        debug_assert_eq!(self.graphs.iter().map(|graph| graph.quads).sum::<u64>(), written, "{GRAPH}");
        file.finish(written, by_id.len() as u64)?;
        Ok(written)
    }
}

/// A row as one number that compares like it.
pub(crate) fn pack_key(row: Row) -> u128 {
    row.into_iter().fold(0, |key, number| (key << 32) | u128::from(number))
}

/// The row of a key.
pub(crate) fn unpack_key(key: u128) -> Row {
    [(key >> 96) as u32, (key >> 64) as u32, (key >> 32) as u32, key as u32]
}

/// Writes the texts of terms in blocks, in order of local number, and then where the blocks are.
pub(crate) struct TermTextWriter {
    block: Vec<u8>,
    packed: Vec<u8>,
    terms: usize,
    position: u64,
    offsets: Vec<u8>,
}

impl TermTextWriter {
    pub(crate) fn begin(file: &mut SegmentFile) -> Result<Self, IndexError> {
        file.begin(Section::TermTexts)?;
        Ok(Self { block: Vec::new(), packed: Vec::new(), terms: 0, position: 0, offsets: Vec::new() })
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
        self.packed.resize(lz4_flex::block::get_maximum_output_size(self.block.len()), 0);
        let packed = match lz4_flex::block::compress_into(&self.block, &mut self.packed) {
            Ok(packed) if packed < self.block.len() => &self.packed[..packed],
            // What does not shrink is kept as it is; equal lengths say so.
            _ => &self.block[..],
        };
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
    rows: Vec<Row>,
    packer: Packer,
    bytes: Vec<u8>,
    position: u64,
    blocks: Vec<u8>,
    written: u64,
}

impl OrderWriter {
    pub(crate) fn begin(file: &mut SegmentFile, order: Order) -> Result<Self, IndexError> {
        file.begin(Section::Rows(order))?;
        Ok(Self {
            order,
            rows: Vec::with_capacity(BLOCK_ROWS),
            packer: Packer::new(),
            bytes: Vec::new(),
            position: 0,
            blocks: Vec::new(),
            written: 0,
        })
    }

    pub(crate) fn push(&mut self, file: &mut SegmentFile, row: Row) -> Result<(), IndexError> {
        self.rows.push(row);
        if self.rows.len() == BLOCK_ROWS { self.flush(file) } else { Ok(()) }
    }

    fn flush(&mut self, file: &mut SegmentFile) -> Result<(), IndexError> {
        for number in self.rows[0] {
            self.blocks.extend_from_slice(&number.to_le_bytes());
        }
        self.blocks.extend_from_slice(&self.position.to_le_bytes());
        self.bytes.clear();
        self.packer.pack(&self.rows, &mut self.bytes);
        file.write(&self.bytes)?;
        self.position += self.bytes.len() as u64;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }

    /// Returns how many rows were written.
    pub(crate) fn finish(mut self, file: &mut SegmentFile) -> Result<u64, IndexError> {
        if !self.rows.is_empty() {
            self.flush(file)?;
        }
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
        let flag = if graph.replaces { REPLACES } else { 0 };
        file.write(&(graph.quads | flag).to_le_bytes())?;
    }
    Ok(())
}

/// Hashes ids, which are hashes already, by one multiplication. The store's key takes part, because inline ids
/// are whatever a page's author wrote.
#[derive(Clone, Copy)]
struct IdHashState {
    keys: [u64; 2],
}

impl IdHashState {
    fn new(key: [u8; 16]) -> Self {
        let key = u128::from_le_bytes(key);
        Self { keys: [key as u64, (key >> 64) as u64] }
    }
}

impl BuildHasher for IdHashState {
    type Hasher = IdHash;

    fn build_hasher(&self) -> IdHash {
        IdHash { keys: self.keys, state: 0 }
    }
}

struct IdHash {
    keys: [u64; 2],
    state: u64,
}

impl IdHash {
    fn fold(&mut self, low: u64, high: u64) {
        let product = u128::from(low ^ self.keys[0]) * u128::from(high ^ self.keys[1]);
        self.state = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for IdHash {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.fold(self.state, u64::from(byte));
        }
    }

    fn write_u128(&mut self, value: u128) {
        self.fold(value as u64, (value >> 64) as u64);
    }

    fn write_u32(&mut self, value: u32) {
        self.fold(u64::from(value), 0);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}
