//! From a batch of quads to a segment file.
//!
//! In: quads, through [`SegmentBuilder::begin_graph`] and [`SegmentBuilder::triple`]; nothing of them is kept but their terms,
//! each once. Out: a finished file. Terms are hashed, numbered as they come, and renumbered by rank of their id at the end,
//! so that local order is global order. How sections are written is in [`write`](super::write). Nothing here knows
//! of manifests or of other segments.

use std::collections::HashMap;
use std::path::Path;

use oxrdf::{GraphNameRef, NamedOrBlankNodeRef, TermRef, TripleRef};

use super::format::{NO_LOCAL, Section, SegmentFile};
use super::pack::Row;
use super::read::{GraphEntry, PredicateEntry};
use super::write::{OrderWriter, TermTextWriter, write_graphs, write_predicates};
use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, Order, PREDICATE, SUBJECT};
use crate::term::{self, TermHasher, TermId, TermKind};

/// Gathers the quads of one segment.
pub(crate) struct SegmentBuilder<'a> {
    hasher: &'a TermHasher,
    terms: TermTable,
    /// Subject and object by number of arrival, predicate and graph by their places below.
    rows: Vec<Row>,
    /// Numbers of arrival.
    predicates: Vec<u32>,
    predicate_places: HashMap<u32, u32>,
    graphs: Vec<GraphEntry>,
    graph_places: HashMap<TermId, u32>,
    graph: u32,
    recent_predicates: Vec<Recent>,
    recent_subject: Option<Recent>,
    recent_object: Option<Recent>,
}

/// A term that was met a moment ago. Pages say one thing after the other of the same subject, with few
/// predicates; comparing a text is much cheaper than hashing it.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    is_blank: bool,
    start: usize,
    end: usize,
    number: u32,
}

const RECENT_PREDICATES: usize = 64;

impl<'a> SegmentBuilder<'a> {
    pub(crate) fn new(hasher: &'a TermHasher) -> Self {
        Self {
            hasher,
            terms: TermTable::new(hasher.key()),
            rows: Vec::new(),
            predicates: Vec::new(),
            predicate_places: HashMap::new(),
            graphs: Vec::new(),
            graph_places: HashMap::new(),
            graph: 0,
            recent_predicates: vec![Recent::default(); RECENT_PREDICATES],
            recent_subject: None,
            recent_object: None,
        }
    }

    /// The triples that follow are in this graph.
    pub(crate) fn begin_graph(&mut self, graph: GraphNameRef<'_>, replaces: bool, has_text: bool) {
        let id = self.hasher.graph(graph);
        let next = self.graphs.len() as u32;
        self.graph = *self.graph_places.entry(id).or_insert(next);
        if self.graph == next {
            self.graphs.push(GraphEntry { id, replaces: false, has_text: false, quads: 0, local: NO_LOCAL });
        }
        let entry = &mut self.graphs[self.graph as usize];
        entry.replaces |= replaces;
        entry.has_text |= has_text;
    }

    /// One more triple of the graph begun last, whose name this is.
    pub(crate) fn triple(&mut self, triple: TripleRef<'_>, graph: GraphNameRef<'_>) {
        let subject = self.subject(triple.subject);
        let predicate = self.predicate(triple.predicate.as_str());
        let object = self.object(triple.object);
        if self.graphs[self.graph as usize].local == NO_LOCAL {
            let number = match graph {
                GraphNameRef::NamedNode(node) => self.iri(node.as_str()),
                GraphNameRef::BlankNode(node) => self.blank(node.as_str()),
                GraphNameRef::DefaultGraph => self.terms.intern_inline(TermId::DEFAULT_GRAPH),
            };
            self.graphs[self.graph as usize].local = number.number;
        }
        self.rows.push([subject, predicate, object, self.graph]);
    }

    fn is_recent(&self, recent: Option<Recent>, text: &str, is_blank: bool) -> Option<Recent> {
        recent.filter(|recent| {
            recent.is_blank == is_blank && self.terms.texts[recent.start..recent.end] == *text.as_bytes()
        })
    }

    fn subject(&mut self, subject: NamedOrBlankNodeRef<'_>) -> u32 {
        let (text, is_blank) = match subject {
            NamedOrBlankNodeRef::NamedNode(node) => (node.as_str(), false),
            NamedOrBlankNodeRef::BlankNode(node) => (node.as_str(), true),
        };
        // A link and the words of the link follow each other, so the object of the last triple is a candidate too.
        let recent = self
            .is_recent(self.recent_subject, text, is_blank)
            .or_else(|| self.is_recent(self.recent_object, text, is_blank));
        let found = match recent {
            Some(recent) => recent,
            None if is_blank => self.blank(text),
            None => self.iri(text),
        };
        self.recent_subject = Some(found);
        found.number
    }

    /// The place of the predicate in the list of predicates.
    fn predicate(&mut self, iri: &str) -> u32 {
        let bytes = iri.as_bytes();
        let spread =
            bytes.iter().rev().take(6).fold(bytes.len(), |hash, byte| hash * 31 + usize::from(*byte));
        let slot = spread % RECENT_PREDICATES;
        let recent = self.recent_predicates[slot];
        if recent.end > recent.start && self.terms.texts[recent.start..recent.end] == *bytes {
            return recent.number;
        }
        let found = self.iri(iri);
        let next = self.predicates.len() as u32;
        let place = *self.predicate_places.entry(found.number).or_insert(next);
        if place == next {
            self.predicates.push(found.number);
        }
        self.recent_predicates[slot] = Recent { number: place, ..found };
        place
    }

    fn object(&mut self, object: TermRef<'_>) -> u32 {
        let found = match object {
            TermRef::NamedNode(node) => self.iri(node.as_str()),
            TermRef::BlankNode(node) => self.blank(node.as_str()),
            TermRef::Literal(literal) => {
                self.recent_object = None;
                return match term::inline(literal) {
                    Some(id) => self.terms.intern_inline(id).number,
                    None => {
                        let start = self.terms.texts.len();
                        term::encode_text(object, &mut self.terms.texts);
                        self.intern(TermKind::Literal, start).number
                    }
                };
            }
        };
        self.recent_object = Some(found);
        found.number
    }

    fn iri(&mut self, iri: &str) -> Recent {
        let start = self.terms.texts.len();
        self.terms.texts.extend_from_slice(iri.as_bytes());
        self.intern(term::kind_of_iri(iri), start)
    }

    fn blank(&mut self, label: &str) -> Recent {
        let start = self.terms.texts.len();
        self.terms.texts.extend_from_slice(label.as_bytes());
        self.intern(TermKind::BlankNode, start)
    }

    /// The number of the term whose text was appended from `start` on.
    fn intern(&mut self, kind: TermKind, start: usize) -> Recent {
        let id = self.hasher.of_text(kind, &self.terms.texts[start..]);
        Recent { is_blank: kind == TermKind::BlankNode, ..self.terms.intern(id, start) }
    }

    /// True when nothing would be in the segment, not even the news that a graph is gone.
    pub(crate) fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// Graphs gathered.
    pub(crate) fn graphs(&self) -> usize {
        self.graphs.len()
    }

    /// Rows gathered, copies included.
    pub(crate) fn rows(&self) -> usize {
        self.rows.len()
    }

    /// About how much memory this takes, and will take while it is written.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.terms.texts.len() + self.terms.ids.len() * 60 + self.rows.len() * 48 + self.graphs.len() * 100
    }

    /// Writes the segment; returns how many quads it holds. Texts that are to be merged soon need not be compressed.
    pub(crate) fn write(mut self, path: &Path, compress: bool) -> Result<u64, IndexError> {
        let count = self.terms.ids.len() as u64;
        if count >= u64::from(u32::MAX) || self.rows.len() as u64 >= u64::from(u32::MAX) {
            return Err(IndexError::TooManyTerms { terms: count.max(self.rows.len() as u64) });
        }
        let by_id = self.terms.by_id();
        let mut ranks = vec![0u32; by_id.len()];
        for (rank, &(_, _, number)) in by_id.iter().enumerate() {
            ranks[number as usize] = rank as u32;
        }
        let mut file = SegmentFile::create(path)?;
        self.write_terms(&mut file, &by_id, compress)?;
        drop(by_id);

        let (predicates, predicate_ranks) = sorted_by(&self.predicates, |number| ranks[*number as usize]);
        let (mut graphs, graph_ranks) = sorted_by(&self.graphs, |graph| graph.id);
        for graph in graphs.iter_mut().filter(|graph| graph.local != NO_LOCAL) {
            graph.local = ranks[graph.local as usize];
        }
        for row in &mut self.rows {
            *row = [
                ranks[row[SUBJECT] as usize],
                predicate_ranks[row[PREDICATE] as usize],
                ranks[row[OBJECT] as usize],
                graph_ranks[row[GRAPH] as usize],
            ];
        }
        let sizes = [ranks.len(), predicates.len(), ranks.len(), graphs.len()];
        let mut statistics: Vec<PredicateEntry> =
            predicates.iter().map(|number| PredicateEntry::new(ranks[*number as usize])).collect();
        let rows = std::mem::take(&mut self.rows);
        let (quads, graph_counts) = write_orders(&mut file, rows, sizes, &mut statistics)?;
        for (graph, count) in graphs.iter_mut().zip(graph_counts) {
            graph.quads = u64::from(count);
        }
        write_graphs(&mut file, graphs.into_iter())?;
        write_predicates(&mut file, &statistics)?;
        file.finish(quads, count)?;
        Ok(quads)
    }

    fn write_terms(
        &self,
        file: &mut SegmentFile,
        by_id: &[(u64, u64, u32)],
        compress: bool,
    ) -> Result<(), IndexError> {
        file.begin(Section::TermIds)?;
        for &(high, low, _) in by_id {
            file.write(&(u128::from(high) << 64 | u128::from(low)).to_le_bytes())?;
        }
        let mut texts = TermTextWriter::begin(file, compress)?;
        for &(_, _, number) in by_id {
            texts.push(file, self.terms.text(number))?;
        }
        texts.finish(file)
    }
}

/// The items in order of their key, and for each item its place in that order.
fn sorted_by<T: Clone, K: Ord>(items: &[T], key: impl Fn(&T) -> K) -> (Vec<T>, Vec<u32>) {
    let mut order: Vec<u32> = (0..items.len() as u32).collect();
    order.sort_unstable_by_key(|place| key(&items[*place as usize]));
    let mut ranks = vec![0; items.len()];
    for (rank, place) in order.iter().enumerate() {
        ranks[*place as usize] = rank as u32;
    }
    (order.iter().map(|place| items[*place as usize].clone()).collect(), ranks)
}

/// Sorts the rows in all six orders and writes them. Returns how many are distinct, and how many each graph has.
///
/// Numbers are dense, so rows are sorted by counting, column by column. One order leads to the next: rows sorted by SPOC and then
/// by their object alone, without disturbing equals, are sorted by OSPC; those by their predicate, POSC; and each of
/// the three, by its graph, becomes its sibling with the graph first.
pub(crate) fn write_orders(
    file: &mut SegmentFile,
    mut rows: Vec<Row>,
    sizes: [usize; 4],
    statistics: &mut [PredicateEntry],
) -> Result<(u64, Vec<u32>), IndexError> {
    let mut spare = vec![[0; 4]; rows.len()];
    let mut starts = Starts::of(&rows, sizes);
    for part in [GRAPH, OBJECT, PREDICATE, SUBJECT] {
        starts.scatter(&rows, &mut spare, part);
        std::mem::swap(&mut rows, &mut spare);
    }
    let before = rows.len();
    rows.dedup();
    spare.truncate(rows.len());
    if rows.len() < before {
        starts = Starts::of(&rows, sizes);
    }
    let mut last = None;
    for row in &rows {
        let entry = &mut statistics[row[PREDICATE] as usize];
        entry.quads += 1;
        entry.subjects += u32::from(last != Some([row[SUBJECT], row[PREDICATE]]));
        last = Some([row[SUBJECT], row[PREDICATE]]);
    }
    for (order, sibling, next) in [
        (Order::Spoc, Order::Cspo, Some(OBJECT)),
        (Order::Ospc, Order::Cosp, Some(PREDICATE)),
        (Order::Posc, Order::Cpos, None),
    ] {
        OrderWriter::write_all(file, order, &rows)?;
        starts.scatter(&rows, &mut spare, GRAPH);
        OrderWriter::write_all(file, sibling, &spare)?;
        if let Some(part) = next {
            starts.scatter(&rows, &mut spare, part);
            std::mem::swap(&mut rows, &mut spare);
        }
    }
    let mut last = None;
    for row in &rows {
        let pair = Some([row[PREDICATE], row[OBJECT]]);
        statistics[row[PREDICATE] as usize].objects += u32::from(last != pair);
        last = pair;
    }
    Ok((rows.len() as u64, std::mem::take(&mut starts.counts[GRAPH])))
}

/// How often each number occurs in each column.
struct Starts {
    counts: [Vec<u32>; 4],
    next: Vec<u32>,
}

impl Starts {
    fn of(rows: &[Row], sizes: [usize; 4]) -> Self {
        let mut counts = sizes.map(|size| vec![0u32; size]);
        for row in rows {
            for (counts, number) in counts.iter_mut().zip(row) {
                counts[*number as usize] += 1;
            }
        }
        Self { counts, next: Vec::new() }
    }

    /// Puts the rows in order of one column; rows with the same number there stay in the order they are in.
    fn scatter(&mut self, from: &[Row], to: &mut [Row], part: usize) {
        self.next.clear();
        self.next.extend(self.counts[part].iter().scan(0, |sum, count| {
            let start = *sum;
            *sum += count;
            Some(start)
        }));
        for row in from {
            let next = &mut self.next[row[part] as usize];
            to[*next as usize] = *row;
            *next += 1;
        }
    }
}

/// Terms by id, with their texts, numbered as they come.
struct TermTable {
    ids: Vec<TermId>,
    /// Where each text ends; it starts where the one before ends.
    ends: Vec<usize>,
    texts: Vec<u8>,
    /// Half of a hash, and the number plus one; zero is empty. Never more than half full.
    slots: Vec<u64>,
    keys: [u64; 2],
}

impl TermTable {
    fn new(key: [u8; 16]) -> Self {
        let key = u128::from_le_bytes(key);
        Self {
            ids: Vec::new(),
            ends: Vec::new(),
            texts: Vec::new(),
            slots: vec![0; 1 << 10],
            // Odd, so that a multiplication loses nothing.
            keys: [key as u64, (key >> 64) as u64 | 1],
        }
    }

    fn text(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.texts[start..self.ends[number]]
    }

    /// Most ids are hashes already; one multiplication does for a table. The store's key takes part, because inline ids
    /// are whatever a page's author wrote.
    fn spread(&self, id: TermId) -> u64 {
        let bits = id.to_bits();
        let product = u128::from((bits >> 64) as u64 ^ bits as u64 ^ self.keys[0]) * u128::from(self.keys[1]);
        product as u64 ^ (product >> 64) as u64
    }

    fn intern_inline(&mut self, id: TermId) -> Recent {
        let start = self.texts.len();
        self.intern(id, start)
    }

    /// The number of an id. If it is new the text from `start` on is kept as its own, otherwise it is dropped.
    fn intern(&mut self, id: TermId, start: usize) -> Recent {
        let spread = self.spread(id);
        let mask = self.slots.len() - 1;
        let mut slot = spread as usize & mask;
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                break;
            }
            if entry >> 32 == spread >> 32 {
                let number = (entry as u32).wrapping_sub(1);
                if self.ids[number as usize] == id {
                    self.texts.truncate(start);
                    let end = self.ends[number as usize];
                    let start = if number == 0 { 0 } else { self.ends[number as usize - 1] };
                    return Recent { is_blank: false, start, end, number };
                }
            }
            slot = (slot + 1) & mask;
        }
        let number = self.ids.len() as u32;
        self.ids.push(id);
        self.ends.push(self.texts.len());
        self.slots[slot] = spread >> 32 << 32 | u64::from(number.wrapping_add(1));
        if self.ids.len() * 2 > self.slots.len() {
            self.grow();
        }
        Recent { is_blank: false, start, end: self.texts.len(), number }
    }

    fn grow(&mut self) {
        let mut slots = vec![0; self.slots.len() * 4];
        let mask = slots.len() - 1;
        for (number, id) in self.ids.iter().enumerate() {
            let spread = self.spread(*id);
            let mut slot = spread as usize & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = spread >> 32 << 32 | (number as u64 + 1);
        }
        self.slots = slots;
    }

    /// The two halves of each id with its number, in order of id. The table for lookups goes.
    fn by_id(&mut self) -> Vec<(u64, u64, u32)> {
        self.slots = Vec::new();
        let halves = |(number, id): (usize, &TermId)| {
            let bits = id.to_bits();
            ((bits >> 64) as u64, bits as u64, number as u32)
        };
        let mut by_id: Vec<_> = self.ids.iter().enumerate().map(halves).collect();
        by_id.sort_unstable();
        self.ids = Vec::new();
        by_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_has_the_id_that_queries_give_it() {
        let hasher = TermHasher::new(*b"0123456789abcdef");
        let terms: [oxrdf::Term; 7] = [
            oxrdf::NamedNode::new_unchecked("http://example.org/").into(),
            oxrdf::NamedNode::new_unchecked("urn:webloom:meta:http://example.org/").into(),
            oxrdf::BlankNode::new_unchecked("b0").into(),
            oxrdf::Literal::new_simple_literal("text").into(),
            oxrdf::Literal::new_language_tagged_literal_unchecked("text", "en").into(),
            oxrdf::Literal::new_typed_literal("1.5", oxrdf::vocab::xsd::DECIMAL).into(),
            oxrdf::Literal::from(15).into(),
        ];
        let mut builder = SegmentBuilder::new(&hasher);
        for (number, term) in terms.iter().enumerate() {
            assert_eq!(builder.object(term.as_ref()) as usize, number);
            assert_eq!(builder.object(term.as_ref()) as usize, number, "met again");
            assert_eq!(builder.terms.ids[number], hasher.term(term.as_ref()), "{term}");
        }
    }

    #[test]
    fn a_blank_node_is_no_iri_of_the_same_text() {
        let hasher = TermHasher::new([3; 16]);
        let mut builder = SegmentBuilder::new(&hasher);
        let iri = oxrdf::NamedNode::new_unchecked("x");
        let blank = oxrdf::BlankNode::new_unchecked("x");
        let first = builder.subject(iri.as_ref().into());
        assert_ne!(builder.subject(blank.as_ref().into()), first);
        assert_eq!(builder.subject(iri.as_ref().into()), first);
    }
}
