//! Where inferred statements live: beside a snapshot for one query, or in a graph of their own.
//!
//! In: [`Inferred`]. Out: a [`Snapshot`] whose default graph has them too, or a commit that replaces the graph
//! `urn:webloom:inferred:…`. That graph is hidden from the default graph like metadata is; a query sees it by name, or
//! as part of the default graph of [`Snapshot::with_materialized`].

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use oxrdf::{
    GraphNameRef, Literal, NamedNode, NamedNodeRef, NamedOrBlankNodeRef, Term, TermRef, Triple, TripleRef,
};
use webloom_model::vocab::{META_PREFIX, wl, xsd};

use super::{Inferred, Rules, Terms};
use crate::error::IndexError;
use crate::segment::Segment;
use crate::segment::build::SegmentBuilder;
use crate::segment::read::segment_path;
use crate::snapshot::Snapshot;
use crate::term::TermId;
use crate::writer::{Batch, CommitReceipt, GraphWrite, Index};

/// Inferred statements in one commit.
const COMMIT_TRIPLES: usize = 1_000_000;
/// A number no segment of an index has.
const SEGMENT_NUMBER: u64 = u64::MAX;

impl Snapshot {
    /// The same snapshot with inferred statements as part of its default graph, and alone in the graph
    /// [`Rules::graph_name`]. Pages' graphs are as they were.
    pub fn with_inferred(&self, inferred: &Inferred) -> Result<Self, IndexError> {
        let name = inferred.rules.graph_name();
        let segment = write_segment(self, inferred, &name)?;
        let id = self.graph_id(name.as_ref().into());
        Ok(Self { view: Arc::new(self.view.with_shown(id, Some(Arc::new(segment)))) })
    }

    /// The same snapshot with what was last materialised by these rules as part of its default graph; nothing when that
    /// was never done.
    pub fn with_materialized(&self, rules: Rules) -> Option<Self> {
        let name = rules.graph_name();
        let id = self.graph_id(name.as_ref().into());
        // The note, because rules from which nothing follows leave an empty graph.
        let note = self.graph_id(GraphNameRef::from(note_name(&name).as_ref()));
        self.view.contains_graph(note).then(|| Self { view: Arc::new(self.view.with_shown(id, None)) })
    }
}

impl Index {
    /// Makes the statements the graph of their rules, in place of what was inferred before.
    ///
    /// Up to a million are one commit. More are several; until the last one the graph's metadata, which says how many
    /// statements belong to it, is missing, and [`Snapshot::with_materialized`] does not find it.
    pub fn materialize(&self, inferred: &Inferred) -> Result<CommitReceipt, IndexError> {
        let graph = inferred.rules.graph_name();
        let terms = Terms::new(&inferred.snapshot);
        let mut quads = 0;
        let mut chunks = inferred.triples.chunks(COMMIT_TRIPLES).peekable();
        let mut write = GraphWrite::replace(graph.clone(), Vec::new());
        loop {
            for triple in chunks.next().unwrap_or_default() {
                write.triples.push(terms.triple(*triple)?);
            }
            let is_last = chunks.peek().is_none();
            let note = if is_last { note(&graph, inferred) } else { Vec::new() };
            let note_count = note.len() as u64;
            let batch = Batch::from(vec![write, GraphWrite::replace(note_name(&graph), note)]);
            let receipt = self.commit(&batch)?;
            quads += receipt.quads - note_count;
            if is_last {
                return Ok(CommitReceipt { quads, graphs: 1, ..receipt });
            }
            write = GraphWrite::add(graph.clone(), Vec::new());
        }
    }

    /// Removes what was materialised by these rules.
    pub fn forget_materialized(&self, rules: Rules) -> Result<CommitReceipt, IndexError> {
        let graph = rules.graph_name();
        let note = GraphWrite::delete(note_name(&graph));
        self.commit(&Batch::from(vec![GraphWrite::delete(graph), note]))
    }
}

fn note_name(graph: &NamedNode) -> NamedNode {
    NamedNode::new_unchecked(format!("{META_PREFIX}{}", graph.as_str()))
}

/// What the metadata says of an inferred graph: from which state, and how much.
fn note(graph: &NamedNode, inferred: &Inferred) -> Vec<Triple> {
    let number = |value: u64| Literal::new_typed_literal(value.to_string(), xsd::INTEGER);
    vec![
        Triple::new(graph.clone(), wl::INFERRED_FROM, number(inferred.snapshot.generation())),
        Triple::new(graph.clone(), wl::STATEMENTS, number(inferred.len() as u64)),
    ]
}

/// Writes the statements as a segment that is gone as soon as nobody looks at it.
fn write_segment(snapshot: &Snapshot, inferred: &Inferred, name: &NamedNode) -> Result<Segment, IndexError> {
    let resolver = Terms::new(snapshot);
    let mut terms: HashMap<TermId, Term> = HashMap::new();
    for id in inferred.triples.iter().flatten() {
        if !terms.contains_key(id) {
            terms.insert(*id, resolver.term(*id)?);
        }
    }
    let mut builder = SegmentBuilder::new(&snapshot.view.hasher);
    let graph = GraphNameRef::from(name.as_ref());
    builder.begin_graph(graph, true, false);
    for [subject, predicate, object] in &inferred.triples {
        let triple = (|| {
            let subject: NamedOrBlankNodeRef<'_> = match terms.get(subject)?.as_ref() {
                TermRef::NamedNode(node) => node.into(),
                TermRef::BlankNode(node) => node.into(),
                TermRef::Literal(_) => return None,
            };
            let TermRef::NamedNode(predicate) = terms.get(predicate)?.as_ref() else {
                return None;
            };
            let predicate: NamedNodeRef<'_> = predicate;
            Some(TripleRef { subject, predicate, object: terms.get(object)?.as_ref() })
        })();
        builder.triple(triple.ok_or_else(|| resolver.resolver.damaged())?, graph);
    }
    let temporary = std::env::temp_dir();
    let directory = tempfile::Builder::new()
        .prefix("webloom-view-")
        .tempdir()
        .map_err(IndexError::io("create a directory in", &temporary))?;
    let path = segment_path(directory.path(), SEGMENT_NUMBER);
    let folder = directory.path().join("segments");
    fs::create_dir_all(&folder).map_err(IndexError::io("create", &folder))?;
    // Read once or twice and then gone: packing its texts would cost more than it saves.
    builder.write(&path, false)?;
    // The directory goes when this returns; the file stays readable for as long as it is mapped.
    Segment::open(directory.path(), SEGMENT_NUMBER)
}
