//! Changes on top of a view that no file holds yet.
//!
//! In: quads that an update adds and removes, graphs that it clears. Out: an [`Overlay`], immutable, that scans merge with the
//! segments below it, so that the operations of one request see what those before them did. Nothing of it is
//! durable or visible to others; what is committed in the end is a batch ([`Pending::into_batch`]).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use oxrdf::{GraphName, Quad, Term, Triple};

use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, Order, PREDICATE, SUBJECT};
use crate::scan::{GraphFilter, IdPattern, Scan};
use crate::snapshot::{Resolver, Snapshot};
use crate::term::{TermHasher, TermId};
use crate::view::View;
use crate::writer::{Batch, GraphWrite};

/// Subject, predicate, object and graph.
pub(crate) type IdQuad = [TermId; 4];

/// What is different from the segments.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    /// Graphs of which no segment counts any more.
    cleared: HashSet<TermId>,
    removed: HashSet<IdQuad>,
    /// Graphs that lost some quads.
    losing: HashSet<TermId>,
    /// Added quads, in each of the six orders, sorted.
    added: [Vec<IdQuad>; 6],
    terms: HashMap<TermId, Term>,
}

impl Overlay {
    /// True when a quad of a segment no longer counts.
    pub(crate) fn hides(&self, quad: &IdQuad) -> bool {
        self.cleared.contains(&quad[GRAPH]) || self.removed.contains(quad)
    }

    /// True when a graph may have lost quads, so that only a scan can tell whether it has any.
    pub(crate) fn takes_from(&self, graph: TermId) -> bool {
        self.cleared.contains(&graph) || self.losing.contains(&graph)
    }

    /// Added quads as keys of an order, sorted.
    pub(crate) fn added(&self, order: Order) -> &[IdQuad] {
        &self.added[order as usize]
    }

    /// The graphs that quads are added to, sorted.
    pub(crate) fn graphs(&self) -> Vec<TermId> {
        let mut graphs: Vec<TermId> = self.added(Order::Cspo).iter().map(|key| key[0]).collect();
        graphs.dedup();
        graphs
    }

    pub(crate) fn term(&self, id: TermId) -> Option<&Term> {
        self.terms.get(&id)
    }
}

/// Changes that are being collected.
pub(crate) struct Pending {
    base: Snapshot,
    names: BTreeMap<TermId, GraphName>,
    cleared: HashSet<TermId>,
    removed: HashSet<IdQuad>,
    added: HashSet<IdQuad>,
    terms: HashMap<TermId, Term>,
    /// What scans see; made anew when something changed since.
    frozen: Option<Snapshot>,
}

impl Pending {
    pub(crate) fn new(base: Snapshot) -> Self {
        Self {
            base,
            names: BTreeMap::new(),
            cleared: HashSet::new(),
            removed: HashSet::new(),
            added: HashSet::new(),
            terms: HashMap::new(),
            frozen: None,
        }
    }

    fn hasher(&self) -> &TermHasher {
        &self.base.view.hasher
    }

    /// Quads held in memory.
    pub(crate) fn len(&self) -> usize {
        self.added.len() + self.removed.len() + self.cleared.len()
    }

    pub(crate) fn added_count(&self) -> u64 {
        self.added.len() as u64
    }

    pub(crate) fn removed_count(&self) -> u64 {
        self.removed.len() as u64
    }

    fn ids(&self, quad: &Quad) -> IdQuad {
        let hasher = self.hasher();
        [
            hasher.subject(quad.subject.as_ref()),
            hasher.iri(quad.predicate.as_str()),
            hasher.term(quad.object.as_ref()),
            hasher.graph(quad.graph_name.as_ref()),
        ]
    }

    fn in_segments(&self, ids: &IdQuad) -> Result<bool, IndexError> {
        let scan = Scan::new(&self.base.view, ids.map(Some), GraphFilter::All)?.next();
        Ok(scan.transpose()?.is_some())
    }

    pub(crate) fn insert(&mut self, quad: Quad) {
        let ids = self.ids(&quad);
        self.frozen = None;
        if self.removed.remove(&ids) || !self.added.insert(ids) {
            return;
        }
        self.names.entry(ids[GRAPH]).or_insert(quad.graph_name);
        let terms = [(ids[SUBJECT], Term::from(quad.subject)), (ids[PREDICATE], quad.predicate.into())];
        for (id, term) in terms.into_iter().chain([(ids[OBJECT], quad.object)]) {
            if !id.is_inline() {
                self.terms.entry(id).or_insert(term);
            }
        }
        let graph = match self.names.get(&ids[GRAPH]) {
            Some(GraphName::NamedNode(node)) => Term::from(node.clone()),
            Some(GraphName::BlankNode(node)) => Term::from(node.clone()),
            _ => return,
        };
        self.terms.entry(ids[GRAPH]).or_insert(graph);
    }

    pub(crate) fn remove(&mut self, quad: Quad) -> Result<(), IndexError> {
        let ids = self.ids(&quad);
        self.frozen = None;
        self.added.remove(&ids);
        if !self.cleared.contains(&ids[GRAPH]) && !self.removed.contains(&ids) && self.in_segments(&ids)? {
            self.removed.insert(ids);
            self.names.entry(ids[GRAPH]).or_insert(quad.graph_name);
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self, graph: GraphName) {
        let id = self.hasher().graph(graph.as_ref());
        self.frozen = None;
        self.added.retain(|quad| quad[GRAPH] != id);
        self.removed.retain(|quad| quad[GRAPH] != id);
        if self.base.view.contains_graph(id) {
            self.cleared.insert(id);
            self.names.insert(id, graph);
        }
    }

    fn losing(&self) -> HashSet<TermId> {
        self.removed.iter().map(|quad| quad[GRAPH]).collect()
    }

    /// What there is now, changes included.
    pub(crate) fn snapshot(&mut self) -> Snapshot {
        if self.cleared.is_empty() && self.removed.is_empty() && self.added.is_empty() {
            return self.base.clone();
        }
        if let Some(frozen) = &self.frozen {
            return frozen.clone();
        }
        let mut added: [Vec<IdQuad>; 6] = Default::default();
        for order in Order::ALL {
            let mut keys: Vec<IdQuad> = self.added.iter().map(|quad| order.permute(*quad)).collect();
            keys.sort_unstable();
            added[order as usize] = keys;
        }
        let overlay = Overlay {
            cleared: self.cleared.clone(),
            removed: self.removed.clone(),
            losing: self.losing(),
            added,
            terms: self.terms.clone(),
        };
        let frozen = Snapshot { view: Arc::new(self.base.view.with_overlay(overlay)) };
        self.frozen = Some(frozen.clone());
        frozen
    }

    /// The changes as writes. A graph that only grows is added to; one that loses quads is written anew, which
    /// `rewritten_quads_max` bounds.
    pub(crate) fn into_batch(mut self, rewritten_quads_max: u64) -> Result<Batch, IndexError> {
        let snapshot = self.snapshot();
        let resolver = Resolver::new(Arc::clone(&snapshot.view));
        let losing = self.losing();
        let mut by_graph: HashMap<TermId, Vec<IdQuad>> = HashMap::new();
        for quad in &self.added {
            by_graph.entry(quad[GRAPH]).or_default().push(*quad);
        }
        let mut batch = Batch::new();
        let mut rewritten = 0;
        for (id, name) in std::mem::take(&mut self.names) {
            let triple = |quad: Quad| Triple::new(quad.subject, quad.predicate, quad.object);
            if losing.contains(&id) {
                let mut pattern: IdPattern = [None; 4];
                pattern[GRAPH] = Some(id);
                let mut triples = Vec::new();
                for quad in Scan::new(&snapshot.view, pattern, GraphFilter::All)? {
                    rewritten += 1;
                    if rewritten > rewritten_quads_max {
                        return Err(IndexError::RewriteLimit {
                            graph: name.to_string(),
                            limit: rewritten_quads_max,
                        });
                    }
                    triples.push(triple(resolver.quad(quad?)?));
                }
                batch.push(GraphWrite::replace(name, triples));
                continue;
            }
            let mut added = by_graph.remove(&id).unwrap_or_default();
            added.sort_unstable();
            let mut triples = Vec::with_capacity(added.len());
            for [subject, predicate, object, graph] in added {
                let ids = crate::scan::QuadIds { subject, predicate, object, graph };
                triples.push(triple(resolver.quad(ids)?));
            }
            if self.cleared.contains(&id) {
                batch.push(GraphWrite::replace(name, triples));
            } else if !triples.is_empty() {
                batch.push(GraphWrite::add(name, triples));
            }
        }
        Ok(batch)
    }
}

impl View {
    /// The same view with changes on top.
    pub(crate) fn with_overlay(&self, overlay: Overlay) -> Self {
        Self {
            generation: self.generation,
            hasher: Arc::clone(&self.hasher),
            segments: self.segments.clone(),
            text: self.text.clone(),
            overlay: Some(Arc::new(overlay)),
            quad_count: OnceLock::new(),
        }
    }

    /// The ids of all graphs that have quads, the default graph included.
    pub(crate) fn graph_ids(self: &Arc<Self>) -> Result<Box<dyn Iterator<Item = TermId>>, IndexError> {
        let in_segments = self.live_graphs().map(|(id, _, _)| id);
        let Some(overlay) = &self.overlay else {
            return Ok(Box::new(in_segments));
        };
        let mut ids: Vec<TermId> = in_segments.chain(overlay.graphs()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut current = Vec::with_capacity(ids.len());
        for id in ids {
            if !overlay.takes_from(id) || self.has_graph(id)? {
                current.push(id);
            }
        }
        Ok(Box::new(current.into_iter()))
    }

    /// True when the graph has quads, changes included.
    pub(crate) fn has_graph(&self, graph: TermId) -> Result<bool, IndexError> {
        if self.overlay.is_none() {
            return Ok(self.contains_graph(graph));
        }
        let mut pattern: IdPattern = [None; 4];
        pattern[GRAPH] = Some(graph);
        let first = Scan::new(self, pattern, GraphFilter::All)?.next();
        Ok(first.transpose()?.is_some())
    }
}
