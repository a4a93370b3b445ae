//! What is current: a list of segments and, for each, the graphs that newer ones superseded.
//!
//! In: segments, oldest first. Out: a [`View`], immutable and shared by every snapshot of one generation.
//! A new view is made from the one before it, so that a commit compares its own graphs with the older
//! segments and nothing else. Scans over a view are in [`scan`](crate::scan); what people see is
//! [`Snapshot`](crate::Snapshot).

use std::sync::{Arc, OnceLock};

use crate::error::IndexError;
use crate::order::GRAPH;
use crate::overlay::Overlay;
use crate::scan::{GraphFilter, Scan};
use crate::segment::Segment;
use crate::term::{TermHasher, TermId};
use crate::text::TextSearcher;

/// The graphs of one segment that are no longer current: a bit per local term number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeadGraphs {
    bits: Vec<u64>,
    quads: u64,
}

impl DeadGraphs {
    fn new(segment: &Segment) -> Self {
        Self { bits: vec![0; segment.term_count() as usize / 64 + 1], quads: 0 }
    }

    /// True when the graph with this local number is superseded.
    pub(crate) fn contains(&self, local: u32) -> bool {
        self.bits.get(local as usize / 64).is_some_and(|word| word >> (local % 64) & 1 == 1)
    }

    fn insert(&mut self, local: u32, quads: u64) {
        if !self.contains(local)
            && let Some(word) = self.bits.get_mut(local as usize / 64)
        {
            *word |= 1 << (local % 64);
            self.quads += quads;
        }
    }

    /// Quads in superseded graphs.
    pub(crate) fn quads(&self) -> u64 {
        self.quads
    }
}

/// A segment as one generation sees it.
#[derive(Debug, Clone)]
pub(crate) struct SegmentView {
    pub(crate) segment: Arc<Segment>,
    /// Nothing when every graph is current.
    pub(crate) dead: Option<Arc<DeadGraphs>>,
    /// Local number of a graph of inferred statements that counts as part of the default graph, when asked for.
    pub(crate) shown: Option<u32>,
}

impl SegmentView {
    /// Quads in current graphs.
    pub(crate) fn live_quads(&self) -> u64 {
        self.segment.quad_count() - self.dead.as_ref().map_or(0, |dead| dead.quads())
    }

    fn is_live(&self, graph: TermId) -> bool {
        self.segment
            .find(graph)
            .is_some_and(|local| !self.dead.as_ref().is_some_and(|dead| dead.contains(local)))
    }
}

/// One generation of an index.
#[derive(Debug)]
pub(crate) struct View {
    pub(crate) generation: u64,
    pub(crate) hasher: Arc<TermHasher>,
    /// Oldest first.
    pub(crate) segments: Vec<SegmentView>,
    pub(crate) text: TextSearcher,
    /// Changes that an update collects; nothing in every view that others see.
    pub(crate) overlay: Option<Arc<Overlay>>,
    pub(crate) quad_count: OnceLock<u64>,
}

impl View {
    /// The view of these segments. What `previous` already worked out about pairs of them is taken over.
    pub(crate) fn new(
        generation: u64,
        hasher: Arc<TermHasher>,
        segments: &[Arc<Segment>],
        text: TextSearcher,
        previous: Option<&Self>,
    ) -> Self {
        let known = |segment: &Segment| {
            previous?.segments.iter().find(|view| view.segment.number() == segment.number())
        };
        let segments_seen = segments
            .iter()
            .enumerate()
            .map(|(index, segment)| {
                let before = known(segment);
                let mut dead = before.and_then(|view| view.dead.clone());
                for newer in &segments[index + 1..] {
                    if before.is_none() || known(newer).is_none() {
                        supersede(segment, newer, &mut dead);
                    }
                }
                SegmentView { segment: Arc::clone(segment), dead, shown: None }
            })
            .collect();
        Self { generation, hasher, segments: segments_seen, text, overlay: None, quad_count: OnceLock::new() }
    }

    /// The same, with one more segment that is newer than all others, and with `shown`, a graph that is hidden
    /// otherwise, as part of the default graph.
    pub(crate) fn with_shown(&self, shown: TermId, newest: Option<Arc<Segment>>) -> Self {
        let segments: Vec<Arc<Segment>> =
            self.segments.iter().map(|view| Arc::clone(&view.segment)).chain(newest).collect();
        let hasher = Arc::clone(&self.hasher);
        let mut view = Self::new(self.generation, hasher, &segments, self.text.clone(), Some(self));
        for part in &mut view.segments {
            part.shown = part.segment.find(shown);
        }
        view.overlay.clone_from(&self.overlay);
        view
    }

    /// Distinct quads.
    ///
    /// Segments know how many quads each of their graphs has; only graphs that were added to in several
    /// segments can hold one quad twice, and only those are counted one by one.
    pub(crate) fn quad_count(self: &Arc<Self>) -> Result<u64, IndexError> {
        if let Some(count) = self.quad_count.get() {
            return Ok(*count);
        }
        let mut total = 0;
        for (graph, quads, copies) in self.live_graphs() {
            if copies == 1 {
                total += quads;
            } else {
                let mut pattern = [None; 4];
                pattern[GRAPH] = Some(graph);
                for quad in Scan::new(self, pattern, GraphFilter::All)? {
                    quad?;
                    total += 1;
                }
            }
        }
        Ok(*self.quad_count.get_or_init(|| total))
    }

    /// Every current graph that has quads, in order of id: name, quads (copies included), segments it is in.
    pub(crate) fn live_graphs(self: &Arc<Self>) -> impl Iterator<Item = (TermId, u64, usize)> + use<> {
        let view = Arc::clone(self);
        let mut heads = vec![0usize; view.segments.len()];
        std::iter::from_fn(move || {
            loop {
                let peek = |index: usize| view.segments[index].segment.graph(heads[index]);
                let id = (0..heads.len()).filter_map(|index| peek(index).map(|graph| graph.id)).min()?;
                let (mut quads, mut copies) = (0, 0);
                for (segment, head) in view.segments.iter().zip(&mut heads) {
                    let Some(graph) = segment.segment.graph(*head).filter(|graph| graph.id == id) else {
                        continue;
                    };
                    *head += 1;
                    if graph.quads > 0 && segment.is_live(id) {
                        quads += graph.quads;
                        copies += 1;
                    }
                }
                if copies > 0 {
                    return Some((id, quads, copies));
                }
            }
        })
    }

    /// True when the graph has quads.
    pub(crate) fn contains_graph(&self, graph: TermId) -> bool {
        self.segments.iter().any(|view| {
            view.segment.find_graph(graph).is_some_and(|entry| entry.quads > 0) && view.is_live(graph)
        })
    }
}

/// Marks the graphs of `older` that `newer` replaces.
fn supersede(older: &Segment, newer: &Segment, dead: &mut Option<Arc<DeadGraphs>>) {
    let mut kill = |graph: TermId, quads: u64| {
        if quads > 0
            && let Some(local) = older.find(graph)
        {
            let dead = dead.get_or_insert_with(|| Arc::new(DeadGraphs::new(older)));
            // Bits are copied only when there is something new to mark.
            if !dead.contains(local) {
                Arc::make_mut(dead).insert(local, quads);
            }
        }
    };
    // Both lists are sorted. The shorter one is walked and the longer one searched: a batch of a hundred
    // pages does not read the names of ten million.
    if newer.graph_count() <= older.graph_count() {
        for graph in newer.graphs().filter(|graph| graph.replaces) {
            if let Some(found) = older.find_graph(graph.id) {
                kill(graph.id, found.quads);
            }
        }
    } else {
        for graph in older.graphs() {
            if newer.find_graph(graph.id).is_some_and(|found| found.replaces) {
                kill(graph.id, graph.quads);
            }
        }
    }
}
