//! SPARQL Update: a request is evaluated on what is there and what its own operations have done so far, and
//! committed as one batch, or not at all.
//!
//! In: an update request and [`UpdateOptions`]. Out: an [`UpdateReceipt`]. What an operation inserts outside of
//! `GRAPH` goes to the graph without a name; what it deletes there is deleted there, whatever the default graph of its
//! `WHERE` is. A graph that has no quads does not exist here, so `CREATE` changes nothing. `LOAD` asks the caller
//! for the quads and is refused when there is nobody to ask. Start at [`Index::update`].

use std::collections::{HashMap, HashSet};

use oxrdf::{BlankNode, GraphName, NamedNode, NamedOrBlankNode, Quad, Term};
use spareval::DeleteInsertQuad;
use spargebra::algebra::{GraphPattern, GraphTarget, QueryDataset};
use spargebra::term::{
    GraphName as SparqlGraphName, GraphNamePattern, GroundQuadPattern, GroundTerm, NamedNodePattern,
    QuadPattern,
};
use spargebra::{GraphUpdateOperation, Update};

use super::budget::Budget;
use super::complexity::{OperationWord, operation_words};
use super::dataset::SnapshotDataset;
use super::{DefaultGraph, QueryOptions, lift, parse_update};
use crate::error::IndexError;
use crate::order::GRAPH;
use crate::overlay::Pending;
use crate::scan::{GraphFilter, IdPattern, Scan};
use crate::snapshot::Resolver;
use crate::term::TermId;
use crate::writer::Index;

/// Bytes of memory that one changed quad counts for.
const CHANGE_BYTES: u64 = 600;

/// Reads the document that a `LOAD` names.
pub type LoadDocument = dyn Fn(&NamedNode) -> Result<Vec<Quad>, Box<dyn std::error::Error + Send + Sync>>;

/// How an update is to be run.
pub struct UpdateOptions {
    /// How its `WHERE` clauses are evaluated. The limits are for the whole request. By default a pattern outside of
    /// `GRAPH` is about the graph without a name, the one that is changed outside of `GRAPH`.
    pub query: QueryOptions,
    /// What `LOAD` asks; without it `LOAD` is refused.
    pub load: Option<Box<LoadDocument>>,
    /// Removing a quad writes its graph anew; this many quads may be written so.
    pub rewritten_quads_max: u64,
}

impl Default for UpdateOptions {
    fn default() -> Self {
        let query = QueryOptions { default_graph: DefaultGraph::Unnamed, ..QueryOptions::default() };
        Self { query, load: None, rewritten_quads_max: 10_000_000 }
    }
}

impl std::fmt::Debug for UpdateOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpdateOptions")
            .field("query", &self.query)
            .field("load", &self.load.is_some())
            .field("rewritten_quads_max", &self.rewritten_quads_max)
            .finish()
    }
}

/// What an update did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UpdateReceipt {
    /// The first generation that sees it.
    pub generation: u64,
    /// Quads added, those that were there already included.
    pub added: u64,
    /// Quads removed one by one; graphs that were cleared are not counted in quads.
    pub removed: u64,
    /// Graphs that were cleared or dropped.
    pub cleared: u64,
}

impl Index {
    /// Evaluates an update request and commits it. On an error nothing has changed. Other commits wait meanwhile.
    pub fn update(&self, update: &str, options: &UpdateOptions) -> Result<UpdateReceipt, IndexError> {
        let parsed = parse_update(update, options.query.base_iri.as_deref())?;
        let operations = operations(&parsed, &operation_words(update));
        let (receipt, mut done) = self.commit_prepared(|snapshot| {
            let mut request = Request {
                options,
                base_iri: parsed.base_iri.clone(),
                budget: options.query.budget(),
                pending: Pending::new(snapshot),
                created: HashSet::new(),
                cleared: 0,
            };
            for operation in &operations {
                request.apply(operation)?;
            }
            let done = UpdateReceipt {
                generation: 0,
                added: request.pending.added_count(),
                removed: request.pending.removed_count(),
                cleared: request.cleared,
            };
            Ok((request.pending.into_batch(options.rewritten_quads_max)?, done))
        })?;
        done.generation = receipt.generation;
        Ok(done)
    }
}

/// An operation as it was written.
enum Operation<'a> {
    Plain(&'a GraphUpdateOperation),
    /// `ADD`, `COPY` or `MOVE`.
    Transfer {
        from: GraphName,
        to: GraphName,
        clear_target: bool,
        drop_source: bool,
        silent: bool,
    },
}

/// Puts together again what the parser took apart: it rewrites `COPY` into `DROP` and `INSERT … WHERE`, after which
/// nobody can tell that copying a graph that does not exist is to leave the target alone.
fn operations<'a>(update: &'a Update, words: &[OperationWord]) -> Vec<Operation<'a>> {
    let mut rest = update.operations.as_slice();
    let mut operations = Vec::new();
    for OperationWord { word, silent } in words {
        let (clear_target, drop_source) = match word.as_str() {
            "ADD" => (false, false),
            "COPY" => (true, false),
            "MOVE" => (true, true),
            _ => {
                if let [first, others @ ..] = rest {
                    operations.push(Operation::Plain(first));
                    rest = others;
                }
                continue;
            }
        };
        let copy_at = usize::from(clear_target);
        // Of a graph onto itself nothing is left.
        let Some((from, to)) = rest.get(copy_at).and_then(copied) else {
            continue;
        };
        if clear_target && !matches!(rest.first(), Some(GraphUpdateOperation::Drop { .. })) {
            continue;
        }
        operations.push(Operation::Transfer { from, to, clear_target, drop_source, silent: *silent });
        rest = rest.get(copy_at + 1 + usize::from(drop_source)..).unwrap_or_default();
    }
    operations.extend(rest.iter().map(Operation::Plain));
    operations
}

/// Source and target of the operation that the parser makes to copy a graph.
fn copied(operation: &GraphUpdateOperation) -> Option<(GraphName, GraphName)> {
    let GraphUpdateOperation::DeleteInsert { delete, insert, using: None, pattern } = operation else {
        return None;
    };
    let ([], [template]) = (delete.as_slice(), insert.as_slice()) else {
        return None;
    };
    let from = match &**pattern {
        GraphPattern::Bgp { .. } => GraphName::DefaultGraph,
        GraphPattern::Graph { name: NamedNodePattern::NamedNode(name), .. } => name.clone().into(),
        _ => return None,
    };
    let to = match &template.graph_name {
        GraphNamePattern::DefaultGraph => GraphName::DefaultGraph,
        GraphNamePattern::NamedNode(name) => name.clone().into(),
        GraphNamePattern::Variable(_) => return None,
    };
    Some((from, to))
}

/// A request that is being evaluated.
struct Request<'a> {
    options: &'a UpdateOptions,
    base_iri: Option<oxiri::Iri<String>>,
    budget: Budget,
    pending: Pending,
    /// Graphs made with `CREATE`, empty until something is inserted.
    created: HashSet<NamedNode>,
    cleared: u64,
}

impl Request<'_> {
    fn apply(&mut self, operation: &Operation<'_>) -> Result<(), IndexError> {
        self.budget.run(|| ())?;
        match operation {
            Operation::Transfer { from, to, clear_target, drop_source, silent } => {
                if !self.exists(from)? {
                    return self.complain(*silent, format!("there is no graph {from}"));
                }
                if *clear_target {
                    self.clear(to.clone());
                }
                self.copy(from, to)?;
                if *drop_source {
                    self.clear(from.clone());
                }
                Ok(())
            }
            Operation::Plain(operation) => self.apply_plain(operation),
        }
    }

    fn apply_plain(&mut self, operation: &GraphUpdateOperation) -> Result<(), IndexError> {
        match operation {
            GraphUpdateOperation::InsertData { data } => {
                let mut fresh = FreshNodes::default();
                for quad in data {
                    self.insert(fresh.quad(Quad::new(
                        quad.subject.clone(),
                        quad.predicate.clone(),
                        quad.object.clone(),
                        graph_name(&quad.graph_name),
                    )))?;
                }
                Ok(())
            }
            GraphUpdateOperation::DeleteData { data } => {
                for quad in data {
                    let object = match &quad.object {
                        GroundTerm::NamedNode(node) => Term::from(node.clone()),
                        GroundTerm::Literal(literal) => literal.clone().into(),
                    };
                    self.remove(Quad::new(
                        quad.subject.clone(),
                        quad.predicate.clone(),
                        object,
                        graph_name(&quad.graph_name),
                    ))?;
                }
                Ok(())
            }
            GraphUpdateOperation::DeleteInsert { delete, insert, using, pattern } => {
                self.delete_insert(delete, insert, using.as_ref(), pattern)
            }
            GraphUpdateOperation::Load { silent, source, destination } => {
                let Some(load) = &self.options.load else {
                    return self.complain(*silent, format!("LOAD {source} is not allowed here"));
                };
                match load(source) {
                    Ok(quads) => {
                        let mut fresh = FreshNodes::default();
                        for mut quad in quads {
                            quad.graph_name = graph_name(destination);
                            self.insert(fresh.quad(quad))?;
                        }
                        Ok(())
                    }
                    Err(error) => self.complain(*silent, format!("cannot load {source}: {error}")),
                }
            }
            // A graph without quads is the same as none, so clearing one that is not there is no mistake.
            GraphUpdateOperation::Clear { silent: _, graph } => self.clear_target(graph),
            GraphUpdateOperation::Create { silent, graph } => {
                if self.exists(&graph.clone().into())? || !self.created.insert(graph.clone()) {
                    return self.complain(*silent, format!("the graph {graph} is there already"));
                }
                Ok(())
            }
            GraphUpdateOperation::Drop { silent, graph } => {
                if let GraphTarget::NamedNode(name) = graph
                    && !self.created.remove(name)
                    && !self.exists(&name.clone().into())?
                {
                    return self.complain(*silent, format!("there is no graph {name}"));
                }
                self.clear_target(graph)
            }
        }
    }

    /// A failure, unless the operation is to be silent about it.
    fn complain(&self, silent: bool, reason: String) -> Result<(), IndexError> {
        if silent { Ok(()) } else { Err(IndexError::Update { reason }) }
    }

    /// The graph without a name is always there.
    fn exists(&mut self, graph: &GraphName) -> Result<bool, IndexError> {
        match graph {
            GraphName::DefaultGraph => return Ok(true),
            GraphName::NamedNode(name) if self.created.contains(name) => return Ok(true),
            _ => {}
        }
        let snapshot = self.pending.snapshot();
        snapshot.view.has_graph(snapshot.graph_id(graph.as_ref()))
    }

    fn insert(&mut self, quad: Quad) -> Result<(), IndexError> {
        self.pending.insert(quad);
        self.check_size()
    }

    fn remove(&mut self, quad: Quad) -> Result<(), IndexError> {
        self.pending.remove(quad)?;
        self.check_size()
    }

    fn check_size(&self) -> Result<(), IndexError> {
        match self.options.query.memory_limit_bytes {
            Some(limit_bytes) if self.pending.len() as u64 * CHANGE_BYTES > limit_bytes => {
                Err(IndexError::MemoryLimit { limit_bytes })
            }
            _ => Ok(()),
        }
    }

    fn clear(&mut self, graph: GraphName) {
        self.cleared += 1;
        self.pending.clear(graph);
    }

    fn clear_target(&mut self, target: &GraphTarget) -> Result<(), IndexError> {
        let snapshot = self.pending.snapshot();
        match target {
            GraphTarget::NamedNode(name) => self.clear(name.clone().into()),
            GraphTarget::DefaultGraph => self.clear(GraphName::DefaultGraph),
            GraphTarget::NamedGraphs | GraphTarget::AllGraphs => {
                let resolver = Resolver::new(snapshot.view.clone());
                for id in snapshot.view.graph_ids()? {
                    if id != TermId::DEFAULT_GRAPH || *target == GraphTarget::AllGraphs {
                        self.clear(resolver.graph_name(id)?);
                        self.check_size()?;
                    }
                }
            }
        }
        Ok(())
    }

    fn copy(&mut self, from: &GraphName, to: &GraphName) -> Result<(), IndexError> {
        let snapshot = self.pending.snapshot();
        let resolver = Resolver::new(snapshot.view.clone());
        let mut pattern: IdPattern = [None; 4];
        pattern[GRAPH] = Some(snapshot.graph_id(from.as_ref()));
        let scan = Scan::new(&snapshot.view, pattern, GraphFilter::All)?;
        for ids in scan.with_deadline(self.budget.deadline()) {
            let quad = resolver.quad(ids?)?;
            self.insert(Quad { graph_name: to.clone(), ..quad })?;
        }
        Ok(())
    }

    fn delete_insert(
        &mut self,
        delete: &[GroundQuadPattern],
        insert: &[QuadPattern],
        using: Option<&QueryDataset>,
        pattern: &GraphPattern,
    ) -> Result<(), IndexError> {
        let options = &self.options.query;
        let snapshot = self.pending.snapshot();
        let evaluator = options.evaluator(&snapshot);
        let default_graph = options.settle_dataset(
            evaluator
                .prepare_delete_insert(Vec::new(), Vec::new(), None, using.cloned(), pattern)
                .dataset_mut(),
            &snapshot,
        );
        let mut planned = pattern.clone();
        snapshot.prepare(&mut planned, &default_graph, options.join_order, &self.budget)?;
        let mut prepared = evaluator.prepare_delete_insert(
            delete.to_vec(),
            insert.to_vec(),
            self.base_iri.clone(),
            using.cloned(),
            &planned,
        );
        options.settle_dataset(prepared.dataset_mut(), &snapshot);
        let dataset = SnapshotDataset::new(&snapshot.view, default_graph, self.budget.deadline());
        let changes = self.budget.run(|| prepared.execute(dataset))?.map_err(lift)?;
        // All matches are found before anything changes, and all is deleted before anything is inserted.
        let mut inserted = Vec::new();
        let mut deleted = Vec::new();
        for change in self.budget.clone().limit(changes) {
            match change.map_err(lift)? {
                DeleteInsertQuad::Delete(quad) => deleted.push(quad),
                DeleteInsertQuad::Insert(quad) => inserted.push(quad),
            }
            if let Some(limit_bytes) = options.memory_limit_bytes
                && (inserted.len() + deleted.len()) as u64 * CHANGE_BYTES > limit_bytes
            {
                return Err(IndexError::MemoryLimit { limit_bytes });
            }
        }
        for quad in deleted {
            self.remove(quad)?;
        }
        for quad in inserted {
            self.insert(quad)?;
        }
        Ok(())
    }
}

fn graph_name(name: &SparqlGraphName) -> GraphName {
    match name {
        SparqlGraphName::NamedNode(node) => node.clone().into(),
        SparqlGraphName::DefaultGraph => GraphName::DefaultGraph,
    }
}

/// Gives blank nodes names that nothing in the index has: a label in a request means a new node.
#[derive(Default)]
struct FreshNodes(HashMap<BlankNode, BlankNode>);

impl FreshNodes {
    fn quad(&mut self, mut quad: Quad) -> Quad {
        if let NamedOrBlankNode::BlankNode(node) = &mut quad.subject {
            *node = self.0.entry(node.clone()).or_default().clone();
        }
        if let Term::BlankNode(node) = &mut quad.object {
            *node = self.0.entry(node.clone()).or_default().clone();
        }
        quad
    }
}
