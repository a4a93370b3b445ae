//! From several segments, adjacent in age, to one.
//!
//! In: the segments of a run, oldest first, each with the graphs that newer segments superseded. Out: one
//! file with the quads that are left, each once, and the terms they use. Rows that fit in memory are gathered and sorted,
//! which is cheaper than merging six orders; others stream, and then what is kept in memory is a table of new numbers per
//! input (four bytes a term), where each term comes from (eight bytes a term), and the list of graphs. The caller picks the run and swings the manifest; graphs superseded while the merge ran
//! stay superseded, because the result takes the run's place in the order of ages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::build::write_orders;
use super::format::{NO_LOCAL, Section, SegmentFile, TERMS_PER_BLOCK};
use super::pack::{BLOCK_ROWS, Row};
use super::read::{GraphEntry, PredicateEntry, Segment, TextBlock, Unpacked};
use super::write::{OrderWriter, TermTextWriter, write_graphs, write_predicates};
use crate::error::IndexError;
use crate::order::{GRAPH, Order, PREDICATE};
use crate::view::DeadGraphs;

/// One segment of the run, and which of its graphs are no longer current.
#[derive(Debug, Clone)]
pub(crate) struct MergeInput {
    pub(crate) segment: Arc<Segment>,
    pub(crate) dead: Option<Arc<DeadGraphs>>,
}

/// Marks a term that no surviving quad uses, a predicate or a graph that is gone.
const UNUSED: u32 = u32::MAX;

/// How often a merge asks whether it may go on, in rows.
const ROWS_PER_LOOK: usize = 1 << 16;

/// How to merge a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeSettings {
    /// Nothing older exists that a mark could still supersede, so the marks of replaced and deleted graphs go.
    pub(crate) oldest: bool,
    /// Whether texts are compressed; those that will be merged again soon need not be.
    pub(crate) compress: bool,
    /// Up to this many rows are sorted in memory.
    pub(crate) sorted_rows_max: u64,
}

/// Merges the run into a file at `path`. `go_on` is asked every now and then, and may take its time to answer;
/// when it says no, an unfinished file is left, and false returned.
pub(crate) fn merge(
    path: &Path,
    inputs: &[MergeInput],
    settings: MergeSettings,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<bool, IndexError> {
    let MergeSettings { oldest, compress, .. } = settings;
    let mut file = SegmentFile::create(path)?;
    let mut terms = inputs.iter().map(mark_used_terms).collect::<Result<Vec<_>, _>>()?;
    let sources = merge_term_ids(&mut file, inputs, &mut terms)?;
    if !merge_texts(&mut file, inputs, &sources, compress, go_on)? {
        return Ok(false);
    }
    let term_count = sources.len() as u64;
    drop(sources);

    let (mut graphs, graph_maps) = merge_graphs(inputs, &terms, oldest);
    let (mut predicates, predicate_maps) = merge_predicates(inputs, &terms);
    let maps: Vec<Renumbering<'_>> = (0..inputs.len())
        .map(|input| Renumbering {
            terms: &terms[input],
            predicates: &predicate_maps[input],
            graphs: &graph_maps[input],
        })
        .collect();

    let rows: u64 = inputs.iter().map(|input| input.segment.quad_count()).sum();
    let quads = if rows <= settings.sorted_rows_max {
        let rows = gather(inputs, &maps, rows as usize)?;
        if !go_on() {
            return Ok(false);
        }
        let sizes = [term_count as usize, predicates.len(), term_count as usize, graphs.len()];
        let (quads, counts) = write_orders(&mut file, rows, sizes, &mut predicates)?;
        for (graph, count) in graphs.iter_mut().zip(counts) {
            graph.quads = u64::from(count);
        }
        Some(quads)
    } else {
        stream(&mut file, inputs, &maps, &mut predicates, &mut graphs, go_on)?
    };
    let Some(quads) = quads else {
        return Ok(false);
    };
    write_graphs(&mut file, graphs.into_iter())?;
    write_predicates(&mut file, &predicates)?;
    file.finish(quads, term_count)?;
    Ok(true)
}

/// All live rows as subject, predicate, object, graph, in no particular order.
fn gather(inputs: &[MergeInput], maps: &[Renumbering<'_>], most: usize) -> Result<Vec<Row>, IndexError> {
    let mut rows = Vec::with_capacity(most);
    for (input, map) in inputs.iter().zip(maps) {
        let mut source = RowSource::new(input, map, Order::Spoc);
        while source.fill()? {
            rows.extend(source.keys.iter().map(|key| unpack_key(*key)));
            source.at = source.keys.len();
        }
    }
    Ok(rows)
}

/// Merges the rows order by order. Returns how many there are; nothing when it was told to stop.
fn stream(
    file: &mut SegmentFile,
    inputs: &[MergeInput],
    maps: &[Renumbering<'_>],
    predicates: &mut [PredicateEntry],
    graphs: &mut [GraphEntry],
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<u64>, IndexError> {
    let mut quads = 0;
    for order in Order::ALL {
        let mut merged = MergedRows::new(inputs, maps, order)?;
        let mut writer = OrderWriter::begin(file, order)?;
        let mut until_look = ROWS_PER_LOOK;
        let mut rows: Vec<Row> = Vec::with_capacity(BLOCK_ROWS);
        let mut last_pair = None;
        while merged.next_rows(&mut rows)? {
            match order {
                Order::Spoc => {
                    for &[subject, predicate, _, graph] in &rows {
                        let entry = &mut predicates[predicate as usize];
                        entry.quads += 1;
                        entry.subjects += u32::from(last_pair != Some([subject, predicate]));
                        last_pair = Some([subject, predicate]);
                        graphs[graph as usize].quads += 1;
                    }
                }
                Order::Posc => {
                    for &[predicate, object, _, _] in &rows {
                        predicates[predicate as usize].objects +=
                            u32::from(last_pair != Some([predicate, object]));
                        last_pair = Some([predicate, object]);
                    }
                }
                _ => {}
            }
            writer.write_block(file, &rows)?;
            until_look = until_look.saturating_sub(rows.len());
            if until_look == 0 {
                until_look = ROWS_PER_LOOK;
                if !go_on() {
                    return Ok(None);
                }
            }
        }
        quads = writer.finish(file)?;
    }
    Ok(Some(quads))
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

/// Writes the ids of all used terms, each once, fills in their new numbers, and says where each can be found: input and
/// local number.
fn merge_term_ids(
    file: &mut SegmentFile,
    inputs: &[MergeInput],
    terms: &mut [Vec<u32>],
) -> Result<Vec<(u32, u32)>, IndexError> {
    file.begin(Section::TermIds)?;
    let head = |terms: &[Vec<u32>], input: usize, from: u32| {
        let local = next_used(&terms[input], from)?;
        Some(Reverse((inputs[input].segment.term_id(local)?, input, local)))
    };
    let mut heap: BinaryHeap<_> = (0..inputs.len()).filter_map(|input| head(terms, input, 0)).collect();
    let mut sources = Vec::new();
    let mut last = None;
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((id, input, local)) = *top;
        if last != Some(id) {
            file.write(&id.to_bits().to_le_bytes())?;
            last = Some(id);
            sources.push((input as u32, local));
            if sources.len() >= UNUSED as usize {
                return Err(IndexError::TooManyTerms { terms: sources.len() as u64 });
            }
        }
        terms[input][local as usize] = (sources.len() - 1) as u32;
        match head(terms, input, local + 1) {
            Some(next) => *top = next,
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
    }
    Ok(sources)
}

fn next_used(terms: &[u32], from: u32) -> Option<u32> {
    let offset = terms.get(from as usize..)?.iter().position(|&number| number != UNUSED)?;
    Some(from + offset as u32)
}

/// Writes the texts of all used terms in the order of their new numbers.
fn merge_texts(
    file: &mut SegmentFile,
    inputs: &[MergeInput],
    sources: &[(u32, u32)],
    compress: bool,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<bool, IndexError> {
    let mut streams: Vec<TextStream<'_>> =
        inputs.iter().map(|input| TextStream::new(&input.segment)).collect();
    let mut writer = TermTextWriter::begin(file, compress)?;
    for chunk in sources.chunks(ROWS_PER_LOOK) {
        for &(input, local) in chunk {
            writer.push(file, streams[input as usize].text(local)?)?;
        }
        if !go_on() {
            return Ok(false);
        }
    }
    writer.finish(file)?;
    Ok(true)
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

/// The new numbers of one input.
#[derive(Clone, Copy)]
struct Renumbering<'a> {
    terms: &'a [u32],
    predicates: &'a [u32],
    graphs: &'a [u32],
}

impl<'a> Renumbering<'a> {
    fn of_part(&self, part: usize) -> &'a [u32] {
        match part {
            PREDICATE => self.predicates,
            GRAPH => self.graphs,
            _ => self.terms,
        }
    }
}

/// The live rows of all inputs in one order, with new numbers, sorted, each once.
struct MergedRows<'a> {
    sources: Vec<RowSource<'a>>,
    /// The next row of every source but the current one, as a key.
    heap: BinaryHeap<Reverse<(u128, usize)>>,
    current: Option<usize>,
    /// The row handed out last; at first one that cannot be.
    last: u128,
}

impl<'a> MergedRows<'a> {
    fn new(inputs: &'a [MergeInput], maps: &[Renumbering<'a>], order: Order) -> Result<Self, IndexError> {
        let mut sources: Vec<RowSource<'a>> =
            inputs.iter().zip(maps).map(|(input, map)| RowSource::new(input, map, order)).collect();
        let mut heap = BinaryHeap::new();
        for (index, source) in sources.iter_mut().enumerate() {
            if let Some(key) = source.head()? {
                heap.push(Reverse((key, index)));
            }
        }
        let current = heap.pop().map(|Reverse((_, index))| index);
        Ok(Self { sources, heap, current, last: u128::MAX })
    }

    /// Replaces `rows` by the next block of them; false when there are none left.
    ///
    /// The source with the smallest row stays current for as long as its rows are smaller than those of all others, which is
    /// the whole page where the graph comes first; only then are the others looked at again.
    fn next_rows(&mut self, rows: &mut Vec<Row>) -> Result<bool, IndexError> {
        rows.clear();
        while rows.len() < BLOCK_ROWS {
            let Some(current) = self.current else {
                return Ok(!rows.is_empty());
            };
            let source = &mut self.sources[current];
            let Some(head) = source.head()? else {
                self.current = self.heap.pop().map(|Reverse((_, index))| index);
                continue;
            };
            let bound = match self.heap.peek_mut() {
                Some(mut top) if top.0.0 < head => {
                    let next = top.0.1;
                    *top = Reverse((head, current));
                    self.current = Some(next);
                    continue;
                }
                Some(top) => top.0.0,
                None => u128::MAX,
            };
            let room = BLOCK_ROWS - rows.len();
            let mut taken = 0;
            for &key in source.keys[source.at..].iter().take(room) {
                if key > bound {
                    break;
                }
                taken += 1;
                if self.last != key {
                    self.last = key;
                    rows.push(unpack_key(key));
                }
            }
            source.at += taken;
        }
        Ok(true)
    }
}

/// The live rows of one input, as keys of new numbers.
struct RowSource<'a> {
    segment: &'a Segment,
    order: Order,
    /// New numbers of each column.
    maps: [&'a [u32]; 4],
    block_index: usize,
    unpacked: Box<Unpacked>,
    keys: Vec<u128>,
    at: usize,
}

impl<'a> RowSource<'a> {
    fn new(input: &'a MergeInput, map: &Renumbering<'a>, order: Order) -> Self {
        Self {
            segment: &input.segment,
            order,
            maps: order.columns().map(|part| map.of_part(part)),
            block_index: 0,
            unpacked: Box::default(),
            keys: Vec::with_capacity(BLOCK_ROWS),
            at: 0,
        }
    }

    fn head(&mut self) -> Result<Option<u128>, IndexError> {
        self.fill()?;
        Ok(self.keys.get(self.at).copied())
    }

    /// Makes sure that there is a next key; false at the end.
    fn fill(&mut self) -> Result<bool, IndexError> {
        while self.at == self.keys.len() {
            self.keys.clear();
            self.at = 0;
            if !self.segment.unpack_block(self.order, self.block_index, &mut self.unpacked)? {
                return Ok(false);
            }
            self.block_index += 1;
            let graphs = self.order.graph_column();
            let [first, second, third, fourth] = &self.unpacked.columns;
            for row in 0..self.unpacked.rows.min(BLOCK_ROWS) {
                let key = [first[row], second[row], third[row], fourth[row]];
                let mut new = [UNUSED; 4];
                for ((new, old), map) in new.iter_mut().zip(key).zip(self.maps) {
                    *new = map.get(old as usize).copied().ok_or_else(|| bad_row(self.segment))?;
                }
                // A graph may be gone, and then so is what its rows use.
                if new[graphs] == UNUSED {
                    continue;
                }
                if new.contains(&UNUSED) {
                    return Err(bad_row(self.segment));
                }
                self.keys.push(pack_key(new));
            }
        }
        Ok(true)
    }
}

/// A row as one number that compares like it.
fn pack_key(row: Row) -> u128 {
    let [first, second, third, fourth] = row.map(u64::from);
    u128::from(first << 32 | second) << 64 | u128::from(third << 32 | fourth)
}

/// The row of a key.
fn unpack_key(key: u128) -> Row {
    [(key >> 96) as u32, (key >> 64) as u32, (key >> 32) as u32, key as u32]
}

/// The graphs of the merged segment, sorted by id, not yet counted, and for each input the new places of its own.
fn merge_graphs(inputs: &[MergeInput], terms: &[Vec<u32>], oldest: bool) -> (Vec<GraphEntry>, Vec<Vec<u32>>) {
    let mut heads: Vec<_> = inputs.iter().map(|input| input.segment.graphs().peekable()).collect();
    let mut maps: Vec<Vec<u32>> =
        inputs.iter().map(|input| Vec::with_capacity(input.segment.graph_count())).collect();
    let mut merged: Vec<GraphEntry> = Vec::new();
    while let Some(id) = heads.iter_mut().filter_map(|head| head.peek().map(|graph| graph.id)).min() {
        let mut entry = GraphEntry { id, replaces: false, has_text: false, quads: 0, local: NO_LOCAL };
        let mut is_left = false;
        for (input, (head, map)) in heads.iter_mut().zip(&mut maps).enumerate() {
            let Some(graph) = head.next_if(|graph| graph.id == id) else {
                continue;
            };
            if graph.replaces {
                // What older inputs had as text is gone as well.
                entry.has_text = false;
                entry.replaces = true;
            }
            entry.has_text |= graph.has_text;
            let is_dead = graph.quads == 0
                || inputs[input].dead.as_ref().is_some_and(|dead| dead.contains(graph.local));
            if is_dead {
                map.push(UNUSED);
            } else {
                map.push(merged.len() as u32);
                is_left = true;
                entry.local = terms[input].get(graph.local as usize).copied().unwrap_or(NO_LOCAL);
            }
        }
        entry.replaces &= !oldest;
        if is_left || entry.replaces || entry.has_text {
            merged.push(entry);
        }
    }
    (merged, maps)
}

/// The predicates of the merged segment, sorted, not yet counted, and for each input the new places of its own.
fn merge_predicates(inputs: &[MergeInput], terms: &[Vec<u32>]) -> (Vec<PredicateEntry>, Vec<Vec<u32>>) {
    let renumbered: Vec<Vec<u32>> = inputs
        .iter()
        .zip(terms)
        .map(|(input, terms)| {
            let new = |local: u32| terms.get(local as usize).copied().unwrap_or(UNUSED);
            input.segment.predicate_entries().map(|predicate| new(predicate.local)).collect()
        })
        .collect();
    let mut all: Vec<u32> = renumbered.iter().flatten().copied().filter(|local| *local != UNUSED).collect();
    all.sort_unstable();
    all.dedup();
    let place = |local: &u32| all.binary_search(local).map_or(UNUSED, |place| place as u32);
    let maps = renumbered.iter().map(|locals| locals.iter().map(place).collect()).collect();
    // A term can live on as something else than a predicate; then this is a predicate of no quads.
    (all.iter().map(|local| PredicateEntry::new(*local)).collect(), maps)
}
