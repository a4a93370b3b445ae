//! SPARQL over a snapshot: Oxigraph's parser, optimiser and evaluator on top of our scans.
//!
//! In: a query and [`QueryOptions`]. Out: results that stream. The default graph of a query is the union of all
//! graphs but metadata, each triple once; `GRAPH ?g` ranges over every named graph, metadata included; `FROM`
//! and `FROM NAMED` name the graphs instead. Other endpoints are never asked. Updates are in [`update`], what a query may
//! use in [`budget`], what the evaluator sees in [`dataset`]. Start at [`Snapshot::query`].

mod budget;
mod complexity;
mod counting;
mod dataset;
mod explain;
mod plan;
mod rewrite;
mod text;
mod update;

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxrdf::{GraphName, NamedNode};
use spareval::{
    CancellationToken, DefaultServiceHandler, QueryDatasetSpecification, QueryEvaluationError,
    QueryEvaluator, QueryResults, QuerySolutionIter, QueryTripleIter,
};
use spargebra::algebra::GraphPattern;
use spargebra::{GraphUpdateOperation, Query, SparqlParser, Update};

use self::budget::Budget;
use self::complexity::refuse_too_complex;
use self::dataset::{DefaultGraphIds, SnapshotDataset};
use crate::error::IndexError;
use crate::snapshot::Snapshot;
use crate::term::TermId;

pub use self::explain::{ExplainedStep, Explanation, PlanNode};
pub use self::update::{LoadDocument, UpdateOptions, UpdateReceipt};

/// Answers `SERVICE <name> { pattern }` for somebody else's endpoint.
pub type AskService = dyn Fn(
        &NamedNode,
        &GraphPattern,
    ) -> Result<QuerySolutionIter<'static>, Box<dyn std::error::Error + Send + Sync>>
    + Send
    + Sync;

/// What a pattern outside of `GRAPH` is about, when the query has no `FROM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultGraph {
    /// The union of all graphs but metadata, each triple once.
    #[default]
    Union,
    /// The graph without a name alone: where a load puts triples of files that name no graph, and an update what it
    /// inserts outside of `GRAPH`.
    Unnamed,
}

/// Who orders the joins of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JoinOrder {
    /// The index, by how many quads match each pattern.
    #[default]
    Statistics,
    /// The evaluator's optimiser, by the shape of the patterns alone. For comparison.
    Shape,
}

/// How a query is to be run.
#[derive(Clone, Default)]
pub struct QueryOptions {
    /// What relative IRIs in the query are relative to.
    pub base_iri: Option<String>,
    /// How long evaluation may take, reading the results included.
    pub time_limit: Option<Duration>,
    /// How many bytes of intermediate results (tables of joins, groups and sorting, texts made by expressions) it may
    /// hold at a time.
    pub memory_limit_bytes: Option<u64>,
    /// How many results it may have.
    pub row_limit: Option<u64>,
    /// Stops the query from another thread.
    pub cancellation: Option<CancellationToken>,
    /// What the default graph is, unless the query or the next field names it.
    pub default_graph: DefaultGraph,
    /// Who orders the joins.
    pub join_order: JoinOrder,
    /// Graphs to use as the default graph in place of the query's own `FROM` (the protocol's `default-graph-uri`).
    pub default_graphs: Option<Vec<GraphName>>,
    /// Graphs that `GRAPH` may see in place of the query's own `FROM NAMED` (the protocol's `named-graph-uri`).
    pub named_graphs: Option<Vec<oxrdf::NamedOrBlankNode>>,
    /// What asks other endpoints; without it a `SERVICE` is refused.
    pub services: Option<Arc<AskService>>,
}

impl std::fmt::Debug for QueryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryOptions")
            .field("base_iri", &self.base_iri)
            .field("time_limit", &self.time_limit)
            .field("memory_limit_bytes", &self.memory_limit_bytes)
            .field("row_limit", &self.row_limit)
            .field("default_graph", &self.default_graph)
            .field("default_graphs", &self.default_graphs)
            .field("named_graphs", &self.named_graphs)
            .finish_non_exhaustive()
    }
}

impl QueryOptions {
    fn budget(&self) -> Budget {
        Budget::new(self.time_limit, self.cancellation.clone(), self.memory_limit_bytes, self.row_limit)
    }

    fn evaluator(&self, snapshot: &Snapshot) -> QueryEvaluator {
        let text = text::TextService(Arc::clone(&snapshot.view));
        let mut evaluator = QueryEvaluator::new().with_service_handler(text::service_name(), text);
        if let Some(token) = &self.cancellation {
            evaluator = evaluator.with_cancellation_token(token.clone());
        }
        if let Some(ask) = &self.services {
            evaluator = evaluator.with_default_service_handler(OtherEndpoints(Arc::clone(ask)));
        }
        evaluator
    }

    /// Settles which graphs a query is about. The evaluator is told of one default graph, because it would chain
    /// several one after the other and count a triple once for each; the union is made by our scans.
    fn settle_dataset(
        &self,
        specification: &mut QueryDatasetSpecification,
        snapshot: &Snapshot,
    ) -> DefaultGraphIds {
        if let Some(named) = &self.named_graphs {
            specification.set_available_named_graphs(named.clone());
            if self.default_graphs.is_none() {
                specification.set_default_graph(Vec::new());
            }
        }
        if let Some(graphs) = &self.default_graphs {
            specification.set_default_graph(graphs.clone());
            if self.named_graphs.is_none() {
                specification.set_available_named_graphs(Vec::new());
            }
        }
        let default_graph = match specification.default_graph_graphs() {
            Some([GraphName::DefaultGraph]) | None => match self.default_graph {
                DefaultGraph::Union => DefaultGraphIds::Union,
                DefaultGraph::Unnamed => DefaultGraphIds::Unnamed,
            },
            Some(graphs) => {
                let hasher = &snapshot.view.hasher;
                let mut graphs: Vec<TermId> =
                    graphs.iter().map(|graph| hasher.graph(graph.as_ref())).collect();
                graphs.sort_unstable();
                graphs.dedup();
                DefaultGraphIds::Graphs(graphs)
            }
        };
        specification.set_default_graph(vec![GraphName::DefaultGraph]);
        default_graph
    }
}

struct OtherEndpoints(Arc<AskService>);

impl DefaultServiceHandler for OtherEndpoints {
    type Error = QueryEvaluationError;

    fn handle(
        &self,
        service_name: &NamedNode,
        pattern: &GraphPattern,
        _base_iri: Option<&oxiri::Iri<String>>,
    ) -> Result<QuerySolutionIter<'static>, QueryEvaluationError> {
        (self.0)(service_name, pattern).map_err(QueryEvaluationError::Service)
    }
}

impl Snapshot {
    /// Parses and evaluates a query. The results read from this snapshot, whatever is committed meanwhile.
    pub fn query(&self, query: &str, options: &QueryOptions) -> Result<QueryResults<'static>, IndexError> {
        let query = parse_query(query, options.base_iri.as_deref())?;
        self.evaluate(&query, options)
    }

    /// Evaluates a query that was parsed before.
    pub fn evaluate(
        &self,
        query: &Query,
        options: &QueryOptions,
    ) -> Result<QueryResults<'static>, IndexError> {
        let budget = options.budget();
        let evaluator = options.evaluator(self);
        // Which graphs the query is about is known before it is planned, and said again to the evaluator after.
        let default_graph = options.settle_dataset(evaluator.prepare(query).dataset_mut(), self);
        let mut planned = query.clone();
        self.prepare(pattern_of(&mut planned), &default_graph, options.join_order, &budget)?;
        let mut prepared = evaluator.prepare(&planned);
        options.settle_dataset(prepared.dataset_mut(), self);
        let dataset = SnapshotDataset::new(&self.view, default_graph, budget.deadline());
        let results = budget.run(|| prepared.execute(dataset))?.map_err(lift)?;
        Ok(limit(results, budget))
    }

    /// Runs a query to its end and tells what happened in it.
    pub fn explain(&self, query: &str, options: &QueryOptions) -> Result<Explanation, IndexError> {
        let started = Instant::now();
        let mut query = parse_query(query, options.base_iri.as_deref())?;
        let budget = options.budget();
        let evaluator = options.evaluator(self).compute_statistics();
        let default_graph = options.settle_dataset(evaluator.prepare(&query).dataset_mut(), self);
        let steps = self.prepare(pattern_of(&mut query), &default_graph, options.join_order, &budget)?;
        let mut prepared = evaluator.prepare(&query);
        options.settle_dataset(prepared.dataset_mut(), self);
        let dataset = SnapshotDataset::new(&self.view, default_graph, budget.deadline());
        let (results, explanation) = budget.run(|| prepared.explain(dataset))?;
        let mut count = 0;
        match limit(results.map_err(lift)?, budget) {
            QueryResults::Boolean(_) => count = 1,
            QueryResults::Solutions(solutions) => {
                for solution in solutions {
                    solution.map_err(lift)?;
                    count += 1;
                }
            }
            QueryResults::Graph(triples) => {
                for triple in triples {
                    triple.map_err(lift)?;
                    count += 1;
                }
            }
        }
        Ok(Explanation::new(&explanation, steps, count, started.elapsed().as_secs_f64()))
    }

    /// Makes a pattern ready for the evaluator: as the specification has it, with the joins in a good order, and with what the
    /// orders can count already counted.
    fn prepare(
        &self,
        pattern: &mut GraphPattern,
        default_graph: &DefaultGraphIds,
        join_order: JoinOrder,
        budget: &Budget,
    ) -> Result<Vec<Vec<plan::PlannedStep>>, IndexError> {
        rewrite::rewrite(pattern);
        if join_order == JoinOrder::Shape {
            return Ok(Vec::new());
        }
        let check = || budget.check();
        counting::Counter { view: &self.view, default_graph, check: &check }.answer(pattern)?;
        let planner = plan::Planner::new(&self.view, default_graph);
        planner.plan(pattern);
        Ok(planner.into_steps())
    }
}

fn pattern_of(query: &mut Query) -> &mut GraphPattern {
    match query {
        Query::Select { pattern, .. }
        | Query::Construct { pattern, .. }
        | Query::Describe { pattern, .. }
        | Query::Ask { pattern, .. } => pattern,
    }
}

/// Parses a query. Queries so deep or so long that recursion over them could overflow the stack are refused.
pub fn parse_query(query: &str, base_iri: Option<&str>) -> Result<Query, IndexError> {
    refuse_too_complex(query)?;
    let mut parsed = parser(base_iri)?.parse_query(query)?;
    rewrite::refuse_growth(pattern_of(&mut parsed))?;
    if complexity::selects_all(query) {
        order_as_written(pattern_of(&mut parsed), &complexity::variables(query));
    }
    Ok(parsed)
}

/// Parses an update. What is too complex is refused as in [`parse_query`].
pub fn parse_update(update: &str, base_iri: Option<&str>) -> Result<Update, IndexError> {
    refuse_too_complex(update)?;
    let mut parsed = parser(base_iri)?.parse_update(update)?;
    for operation in &mut parsed.operations {
        if let GraphUpdateOperation::DeleteInsert { pattern, .. } = operation {
            rewrite::refuse_growth(pattern)?;
        }
    }
    Ok(parsed)
}

/// `SELECT *` gives the variables in the order they are written in, as people expect in a table.
fn order_as_written(pattern: &mut GraphPattern, written: &[&str]) {
    match pattern {
        GraphPattern::Project { variables, .. } => {
            variables.sort_by_key(|variable| written.iter().position(|name| *name == variable.as_str()));
        }
        GraphPattern::Slice { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => order_as_written(inner, written),
        _ => {}
    }
}

fn parser(base_iri: Option<&str>) -> Result<SparqlParser, IndexError> {
    let parser = SparqlParser::new();
    let Some(base) = base_iri else {
        return Ok(parser);
    };
    parser
        .with_base_iri(base)
        .map_err(|error| IndexError::BaseIri { base: base.to_owned(), reason: error.to_string() })
}

/// Our own errors come back from the evaluator in a box.
fn lift(error: QueryEvaluationError) -> IndexError {
    match error {
        QueryEvaluationError::Dataset(inner) => match inner.downcast::<IndexError>() {
            Ok(error) => *error,
            Err(inner) => IndexError::Evaluation(QueryEvaluationError::Dataset(inner)),
        },
        QueryEvaluationError::UnsupportedService(name) => {
            IndexError::Federation { service: name.into_string() }
        }
        other => IndexError::Evaluation(other),
    }
}

/// The same with our own words, for errors that show while results are read.
fn reworded(error: QueryEvaluationError) -> QueryEvaluationError {
    match error {
        QueryEvaluationError::UnsupportedService(_) => QueryEvaluationError::Dataset(Box::new(lift(error))),
        other => other,
    }
}

/// Results that stay within the budget while they are read.
fn limit(results: QueryResults<'static>, budget: Budget) -> QueryResults<'static> {
    match results {
        QueryResults::Solutions(solutions) => {
            let variables = solutions.variables().into();
            let solutions = solutions.map(|solution| solution.map_err(reworded));
            QueryResults::Solutions(QuerySolutionIter::new(variables, budget.limit(solutions)))
        }
        QueryResults::Graph(triples) => {
            let triples = triples.map(|triple| triple.map_err(reworded));
            QueryResults::Graph(QueryTripleIter::new(budget.limit(triples)))
        }
        QueryResults::Boolean(answer) => QueryResults::Boolean(answer),
    }
}
