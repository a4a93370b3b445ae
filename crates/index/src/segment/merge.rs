//! From several segments, adjacent in age, to one.
//!
//! In: the segments of a run, oldest first, each with the graphs that newer segments superseded. Out: one
//! file with the quads that are left, each once, and the terms they use. Everything streams: what is kept
//! in memory is a table of new numbers per input (four bytes a term) and the list of graphs. The caller
//! picks the run and swings the manifest; graphs superseded while the merge ran stay superseded, because
//! the result takes the run's place in the order of ages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::format::{Section, SegmentFile, TERMS_PER_BLOCK};
use super::pack::Row;
use super::read::{GraphEntry, Position, Segment, TextBlock};
use super::write::{OrderWriter, TermTextWriter, pack_key, unpack_key, write_graphs};
use crate::error::IndexError;
use crate::order::Order;
use crate::term::TermId;
use crate::view::DeadGraphs;

/// One segment of the run, and which of its graphs are no longer current.
#[derive(Debug, Clone)]
pub(crate) struct MergeInput {
    pub(crate) segment: Arc<Segment>,
    pub(crate) dead: Option<Arc<DeadGraphs>>,
}

/// Marks a term that no surviving quad uses.
const UNUSED: u32 = u32::MAX;

/// How often a merge looks whether it should stop, in rows.
const ROWS_PER_LOOK: u32 = 1 << 16;

/// Merges the run into a file at `path`. With `oldest`, nothing older exists that a mark could still supersede,
/// so the marks of replaced and deleted graphs go. Returns false, leaving an unfinished file, when `stop` was set.
pub(crate) fn merge(
    path: &Path,
    inputs: &[MergeInput],
    oldest: bool,
    stop: &AtomicBool,
) -> Result<bool, IndexError> {
    let mut file = SegmentFile::create(path)?;
    let mut remaps = inputs.iter().map(mark_used_terms).collect::<Result<Vec<_>, _>>()?;
    let terms = merge_term_ids(&mut file, inputs, &mut remaps)?;
    merge_texts(&mut file, inputs, &remaps)?;

    let mut counts: Vec<(TermId, u64)> = Vec::new();
    let mut quads = 0;
    for order in Order::ALL {
        let mut rows = MergedRows::new(inputs, &remaps, order)?;
        let mut writer = OrderWriter::begin(&mut file, order)?;
        let mut graph = None;
        let mut until_look = ROWS_PER_LOOK;
        while let Some((row, input)) = rows.next()? {
            writer.push(&mut file, row)?;
            until_look -= 1;
            if until_look == 0 {
                until_look = ROWS_PER_LOOK;
                if stop.load(Ordering::Relaxed) {
                    return Ok(false);
                }
            }
            if order == Order::Cspo {
                if graph != Some(row[0]) {
                    graph = Some(row[0]);
                    let id = inputs[input].segment.term_id(rows.original[input][0]);
                    counts.push((id.ok_or_else(|| bad_row(&inputs[input].segment))?, 0));
                }
                if let Some((_, count)) = counts.last_mut() {
                    *count += 1;
                }
            }
        }
        quads = writer.finish(&mut file)?;
    }
    write_graphs(&mut file, merge_graphs(inputs, &counts, oldest))?;
    file.finish(quads, terms)?;
    Ok(true)
}

fn bad_row(segment: &Segment) -> IndexError {
    segment.damaged("a row names a term that does not exist")
}

/// A table that will hold the new number of every term; for now it only tells which are used.
fn mark_used_terms(input: &MergeInput) -> Result<Vec<u32>, IndexError> {
    let segment = &input.segment;
    let terms = segment.term_count() as usize;
    let Some(dead) = &input.dead else {
        return Ok(vec![0; terms]);
    };
    let mut used = vec![UNUSED; terms];
    let mut position = segment.seek(Order::Cspo, &[])?;
    while let Some(row) = segment.next_row(Order::Cspo, &mut position)? {
        if !dead.contains(row[0]) {
            for number in row {
                *used.get_mut(number as usize).ok_or_else(|| bad_row(segment))? = 0;
            }
        }
    }
    Ok(used)
}

/// Writes the ids of all used terms, each once, and fills in their new numbers.
fn merge_term_ids(
    file: &mut SegmentFile,
    inputs: &[MergeInput],
    remaps: &mut [Vec<u32>],
) -> Result<u64, IndexError> {
    file.begin(Section::TermIds)?;
    let mut heap = BinaryHeap::new();
    let head = |remaps: &[Vec<u32>], input: usize, from: u32| {
        let local = next_used(&remaps[input], from)?;
        Some(Reverse((inputs[input].segment.term_id(local)?, input, local)))
    };
    heap.extend((0..inputs.len()).filter_map(|input| head(remaps, input, 0)));
    let mut written = 0u64;
    let mut last = None;
    while let Some(Reverse((id, input, local))) = heap.pop() {
        if last != Some(id) {
            file.write(&id.to_bits().to_le_bytes())?;
            last = Some(id);
            written += 1;
            if written >= u64::from(UNUSED) {
                return Err(IndexError::TooManyTerms { terms: written });
            }
        }
        remaps[input][local as usize] = (written - 1) as u32;
        heap.extend(head(remaps, input, local + 1));
    }
    Ok(written)
}

fn next_used(remap: &[u32], from: u32) -> Option<u32> {
    let offset = remap.get(from as usize..)?.iter().position(|&number| number != UNUSED)?;
    Some(from + offset as u32)
}

/// Writes the texts of all used terms in the order of their new numbers.
fn merge_texts(file: &mut SegmentFile, inputs: &[MergeInput], remaps: &[Vec<u32>]) -> Result<(), IndexError> {
    let mut streams: Vec<TextStream<'_>> =
        inputs.iter().map(|input| TextStream::new(&input.segment)).collect();
    let mut heap = BinaryHeap::new();
    let head = |input: usize, from: u32| {
        let local = next_used(&remaps[input], from)?;
        Some(Reverse((remaps[input][local as usize], input, local)))
    };
    heap.extend((0..inputs.len()).filter_map(|input| head(input, 0)));
    let mut writer = TermTextWriter::begin(file)?;
    let mut last = None;
    while let Some(Reverse((number, input, local))) = heap.pop() {
        if last != Some(number) {
            last = Some(number);
            writer.push(file, streams[input].text(local)?)?;
        }
        heap.extend(head(input, local + 1));
    }
    writer.finish(file)
}

/// Reads texts by ascending local number, each block once.
struct TextStream<'a> {
    segment: &'a Segment,
    block: Option<usize>,
    buffer: Vec<u8>,
    texts: Vec<Range<usize>>,
}

impl<'a> TextStream<'a> {
    fn new(segment: &'a Segment) -> Self {
        Self { segment, block: None, buffer: Vec::new(), texts: Vec::new() }
    }

    fn text(&mut self, local: u32) -> Result<&[u8], IndexError> {
        let block = local as usize / TERMS_PER_BLOCK;
        if self.block != Some(block) {
            self.segment.text_block(block, &mut self.buffer)?;
            self.block = Some(block);
            self.texts.clear();
            let start = self.buffer.as_ptr() as usize;
            for text in TextBlock::new(&self.buffer) {
                let at = text.as_ptr() as usize - start;
                self.texts.push(at..at + text.len());
            }
        }
        self.texts
            .get(local as usize % TERMS_PER_BLOCK)
            .and_then(|range| self.buffer.get(range.clone()))
            .ok_or_else(|| self.segment.damaged("the text of a term cannot be read"))
    }
}

/// The live rows of all inputs in one order, with new numbers, sorted, each once.
struct MergedRows<'a> {
    inputs: &'a [MergeInput],
    remaps: &'a [Vec<u32>],
    order: Order,
    positions: Vec<Position>,
    /// The row each input gave last, with its own numbers.
    original: Vec<Row>,
    /// The next row of each input, as a key.
    heap: BinaryHeap<Reverse<(u128, usize)>>,
    last: Option<u128>,
}

impl<'a> MergedRows<'a> {
    fn new(inputs: &'a [MergeInput], remaps: &'a [Vec<u32>], order: Order) -> Result<Self, IndexError> {
        let positions =
            inputs.iter().map(|input| input.segment.seek(order, &[])).collect::<Result<Vec<_>, _>>()?;
        let original = vec![[0; 4]; inputs.len()];
        let mut rows =
            Self { inputs, remaps, order, positions, original, heap: BinaryHeap::new(), last: None };
        for input in 0..inputs.len() {
            if let Some(row) = rows.advance(input)? {
                rows.heap.push(Reverse((pack_key(row), input)));
            }
        }
        Ok(rows)
    }

    fn advance(&mut self, input: usize) -> Result<Option<Row>, IndexError> {
        let MergeInput { segment, dead } = &self.inputs[input];
        while let Some(row) = segment.next_row(self.order, &mut self.positions[input])? {
            if dead.as_ref().is_some_and(|dead| dead.contains(row[self.order.graph_column()])) {
                continue;
            }
            let mut renumbered = [0; 4];
            for (new, old) in renumbered.iter_mut().zip(row) {
                *new = match self.remaps[input].get(old as usize) {
                    Some(&number) if number != UNUSED => number,
                    _ => return Err(bad_row(segment)),
                };
            }
            self.original[input] = row;
            return Ok(Some(renumbered));
        }
        Ok(None)
    }

    /// The next row and the input it came from. `original` of that input is the same row in its own numbers.
    fn next(&mut self) -> Result<Option<(Row, usize)>, IndexError> {
        while let Some(&Reverse((key, input))) = self.heap.peek() {
            if self.last != Some(key) {
                self.last = Some(key);
                return Ok(Some((unpack_key(key), input)));
            }
            // The input of the row handed out last is advanced only now, so that the caller could look at its
            // original. Copies in other inputs end up here too.
            match self.advance(input)? {
                Some(row) => {
                    if let Some(mut head) = self.heap.peek_mut() {
                        *head = Reverse((pack_key(row), input));
                    }
                }
                None => {
                    self.heap.pop();
                }
            }
        }
        Ok(None)
    }
}

/// The graphs of the merged segment, sorted by id. `counts` are the quads left of each, sorted by id too.
fn merge_graphs(
    inputs: &[MergeInput],
    counts: &[(TermId, u64)],
    oldest: bool,
) -> impl Iterator<Item = GraphEntry> {
    let mut heads: Vec<_> = inputs.iter().map(|input| input.segment.graphs().peekable()).collect();
    let mut counts = counts.iter().peekable();
    std::iter::from_fn(move || {
        loop {
            let id = heads.iter_mut().filter_map(|head| head.peek().map(|graph| graph.id)).min()?;
            let mut replaces = false;
            for head in &mut heads {
                if let Some(graph) = head.next_if(|graph| graph.id == id) {
                    replaces |= graph.replaces;
                }
            }
            let quads = counts.next_if(|(graph, _)| *graph == id).map_or(0, |(_, count)| *count);
            replaces &= !oldest;
            if replaces || quads > 0 {
                return Some(GraphEntry { id, replaces, quads });
            }
        }
    })
}
