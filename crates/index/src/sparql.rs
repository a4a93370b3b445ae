//! SPARQL over a snapshot: Oxigraph's parser, optimiser and evaluator on top of our scans.
//!
//! In: a query and [`QueryOptions`]. Out: results that stream. The default graph of a query is the union of all
//! graphs but metadata, each triple once; `GRAPH ?g` ranges over every named graph, metadata included; `FROM`
//! and `FROM NAMED` name the graphs instead. Terms that a query makes itself travel with their text, so that they
//! can be shown although no segment knows them. Start at [`Snapshot::query`].

use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxrdf::{GraphName, Term};
use spareval::{
    CancellationToken, ExpressionTerm, InternalQuad, QueryEvaluationError, QueryEvaluator, QueryResults,
    QuerySolutionIter, QueryTripleIter, QueryableDataset,
};
use spargebra::{Query, SparqlParser};

use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, PREDICATE, SUBJECT};
use crate::scan::{Deadline, GraphFilter, IdPattern, QuadIds, Scan};
use crate::snapshot::{Resolver, Snapshot};
use crate::term::TermId;
use crate::view::View;

/// How a query is to be run.
#[derive(Clone, Default)]
pub struct QueryOptions {
    /// What relative IRIs in the query are relative to.
    pub base_iri: Option<String>,
    /// How long evaluation may take, reading the results included.
    pub time_limit: Option<Duration>,
    /// Stops the query from another thread.
    pub cancellation: Option<CancellationToken>,
    /// Graphs to use as the default graph in place of the query's own `FROM` (the protocol's `default-graph-uri`).
    pub default_graphs: Option<Vec<GraphName>>,
    /// Graphs that `GRAPH` may see in place of the query's own `FROM NAMED` (the protocol's `named-graph-uri`).
    pub named_graphs: Option<Vec<oxrdf::NamedOrBlankNode>>,
}

impl std::fmt::Debug for QueryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryOptions")
            .field("base_iri", &self.base_iri)
            .field("time_limit", &self.time_limit)
            .field("default_graphs", &self.default_graphs)
            .field("named_graphs", &self.named_graphs)
            .finish_non_exhaustive()
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
        let deadline = options.time_limit.map(|limit| Deadline { at: Instant::now() + limit, limit });
        let mut evaluator = QueryEvaluator::new();
        if let Some(token) = &options.cancellation {
            evaluator = evaluator.with_cancellation_token(token.clone());
        }
        let mut prepared = evaluator.prepare(query);
        let specification = prepared.dataset_mut();
        if let Some(named) = &options.named_graphs {
            specification.set_available_named_graphs(named.clone());
            if options.default_graphs.is_none() {
                specification.set_default_graph(Vec::new());
            }
        }
        if let Some(graphs) = &options.default_graphs {
            specification.set_default_graph(graphs.clone());
            if options.named_graphs.is_none() {
                specification.set_available_named_graphs(Vec::new());
            }
        }
        // The evaluator would chain several graphs one after the other and count a triple once for each. The
        // union is made here instead: for the evaluator there is one default graph.
        let default_graph = match specification.default_graph_graphs() {
            Some([GraphName::DefaultGraph]) | None => DefaultGraph::Union,
            Some(graphs) => {
                let hasher = &self.view.hasher;
                let mut graphs: Vec<TermId> =
                    graphs.iter().map(|graph| hasher.graph(graph.as_ref())).collect();
                graphs.sort_unstable();
                graphs.dedup();
                DefaultGraph::Graphs(graphs)
            }
        };
        specification.set_default_graph(vec![GraphName::DefaultGraph]);
        let dataset = SnapshotDataset {
            view: Arc::clone(&self.view),
            resolver: Resolver::new(Arc::clone(&self.view)),
            default_graph,
            deadline,
        };
        let results = prepared.execute(dataset).map_err(lift)?;
        Ok(limit_time(results, deadline))
    }
}

/// Parses a query. Queries so deep or so long that recursion over them could overflow the stack are refused.
pub fn parse_query(query: &str, base_iri: Option<&str>) -> Result<Query, IndexError> {
    refuse_too_complex(query)?;
    let mut parser = SparqlParser::new();
    if let Some(base) = base_iri {
        parser = parser
            .with_base_iri(base)
            .map_err(|error| IndexError::BaseIri { base: base.to_owned(), reason: error.to_string() })?;
    }
    Ok(parser.parse_query(query)?)
}

/// Deepest nesting of brackets and signs in a query.
const NESTING_MAX: usize = 64;
/// Most operators in a query.
const OPERATORS_MAX: usize = 1000;
/// Most patterns in a query. The optimiser's time grows with the fourth power of their number, and it cannot be
/// interrupted: 240 of them keep it busy for ten seconds.
const PATTERNS_MAX: usize = 128;
/// Words that join the pattern that came before with the one that follows.
const LINKING_WORDS: [&str; 9] =
    ["UNION", "OPTIONAL", "MINUS", "FILTER", "BIND", "GRAPH", "LATERAL", "SERVICE", "VALUES"];

/// The parser recurses over brackets and signs, and chains (`a || b || c`, `. `, `UNION`) become trees as deep as they are
/// long. An overflow of the stack cannot be caught, so both are counted before anything else looks at the query.
fn refuse_too_complex(query: &str) -> Result<(), IndexError> {
    let bytes = query.as_bytes();
    let (mut depth, mut deepest, mut signs) = (0usize, 0, 0usize);
    let (mut operators, mut patterns) = (0usize, 0usize);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        let is_sign = matches!(byte, b'!' | b'-' | b'+' | b'^');
        match byte {
            b'"' | b'\'' => at = skip_string(bytes, at - 1),
            b'#' => at += count_while(&bytes[at..], |byte| !matches!(byte, b'\n' | b'\r')),
            // An IRI, unless it is the operator: IRIs have no spaces.
            b'<' => {
                let length = count_while(&bytes[at..], |byte| {
                    !matches!(byte, b'>' | b'<' | b'"' | b'{' | b'}' | 0..=b' ')
                });
                if bytes.get(at + length) == Some(&b'>') {
                    at += length + 1;
                } else {
                    operators += 1;
                }
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'|' | b'&' | b'*' | b'=' | b'>' | b'!' | b'-' | b'+' | b'^' => operators += 1,
            // A dot inside a number or a name separates nothing.
            b'.' if bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) => operators += 1,
            b'/' | b';' | b'.' => patterns += 1,
            // Lists of arguments are flat; lists of objects are not, and are not in brackets of their own.
            b',' if depth < 2 => patterns += 1,
            b'a'..=b'z' | b'A'..=b'Z' => {
                let length = count_while(&bytes[at..], |byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let word = &query[at - 1..at + length];
                at += length;
                patterns +=
                    usize::from(LINKING_WORDS.iter().any(|linking| word.eq_ignore_ascii_case(linking)));
            }
            _ => {}
        }
        if is_sign {
            signs += 1;
        } else if !byte.is_ascii_whitespace() {
            signs = 0;
        }
        deepest = deepest.max(depth + signs);
    }
    if deepest > NESTING_MAX {
        return Err(IndexError::TooComplex { what: format!("it is nested more than {NESTING_MAX} deep") });
    }
    if operators > OPERATORS_MAX {
        return Err(IndexError::TooComplex { what: format!("it has more than {OPERATORS_MAX} operators") });
    }
    if patterns > PATTERNS_MAX {
        return Err(IndexError::TooComplex { what: format!("it has more than {PATTERNS_MAX} patterns") });
    }
    Ok(())
}

fn count_while(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| wanted(**byte)).count()
}

/// The place after the string literal that begins at `start`.
fn skip_string(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote && !long => return at + 1,
            _ if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            // A short string ends with its line; what follows is the parser's to complain about.
            b'\n' if !long => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Our own errors come back from the evaluator in a box.
fn lift(error: QueryEvaluationError) -> IndexError {
    match error {
        QueryEvaluationError::Dataset(inner) => match inner.downcast::<IndexError>() {
            Ok(error) => *error,
            Err(inner) => IndexError::Evaluation(QueryEvaluationError::Dataset(inner)),
        },
        other => IndexError::Evaluation(other),
    }
}

/// Scans look at the clock by themselves; a join that goes on in memory is stopped between results.
fn limit_time(results: QueryResults<'static>, deadline: Option<Deadline>) -> QueryResults<'static> {
    let Some(deadline) = deadline else {
        return results;
    };
    let check = move || deadline.check().map_err(|error| QueryEvaluationError::Dataset(Box::new(error)));
    match results {
        QueryResults::Solutions(solutions) => {
            let variables = solutions.variables().into();
            let checked = solutions.map(move |solution| check().and(solution));
            QueryResults::Solutions(QuerySolutionIter::new(variables, checked))
        }
        QueryResults::Graph(triples) => {
            QueryResults::Graph(QueryTripleIter::new(triples.map(move |triple| check().and(triple))))
        }
        QueryResults::Boolean(answer) => QueryResults::Boolean(answer),
    }
}

/// A term inside a running query: its id, and its text if the query made it. Two are equal when their ids are.
#[derive(Clone)]
struct QueryTerm {
    // In halves: a `u128` would be aligned to 16 bytes, and tuples are full of these.
    high: u64,
    low: u64,
    made: Option<Rc<Term>>,
}

impl QueryTerm {
    fn stored(id: TermId) -> Self {
        let bits = id.to_bits();
        Self { high: (bits >> 64) as u64, low: bits as u64, made: None }
    }

    fn id(&self) -> TermId {
        TermId::from_bits(u128::from(self.high) << 64 | u128::from(self.low))
    }
}

impl PartialEq for QueryTerm {
    fn eq(&self, other: &Self) -> bool {
        self.high == other.high && self.low == other.low
    }
}

impl Eq for QueryTerm {}

impl Hash for QueryTerm {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.high);
        state.write_u64(self.low);
    }
}

enum DefaultGraph {
    /// Everything but metadata.
    Union,
    /// What the query names.
    Graphs(Vec<TermId>),
}

/// A snapshot as the evaluator sees it.
struct SnapshotDataset {
    view: Arc<View>,
    resolver: Resolver,
    default_graph: DefaultGraph,
    deadline: Option<Deadline>,
}

impl SnapshotDataset {
    fn scan(&self, pattern: IdPattern, graph: Option<Option<TermId>>) -> Result<Scan, IndexError> {
        match graph {
            Some(Some(graph)) => {
                let mut pattern = pattern;
                pattern[GRAPH] = Some(graph);
                Scan::new(&self.view, pattern, GraphFilter::All)
            }
            Some(None) => match &self.default_graph {
                DefaultGraph::Union => Scan::new(&self.view, pattern, GraphFilter::UnionWithoutMetadata),
                DefaultGraph::Graphs(graphs) => Scan::union_of(&self.view, pattern, graphs),
            },
            None => Scan::new(&self.view, pattern, GraphFilter::Named),
        }
    }
}

impl QueryableDataset<'static> for SnapshotDataset {
    type InternalTerm = QueryTerm;
    type Error = IndexError;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&QueryTerm>,
        predicate: Option<&QueryTerm>,
        object: Option<&QueryTerm>,
        graph_name: Option<Option<&QueryTerm>>,
    ) -> impl Iterator<Item = Result<InternalQuad<QueryTerm>, IndexError>> + use<> {
        let mut pattern: IdPattern = [None; 4];
        pattern[SUBJECT] = subject.map(QueryTerm::id);
        pattern[PREDICATE] = predicate.map(QueryTerm::id);
        pattern[OBJECT] = object.map(QueryTerm::id);
        let in_default_graph = graph_name == Some(None);
        let graph = graph_name.map(|graph| graph.map(QueryTerm::id));
        let (scan, failure) = match self.scan(pattern, graph) {
            Ok(scan) => (Some(scan.with_deadline(self.deadline)), None),
            Err(error) => (None, Some(Err(error))),
        };
        let quads = scan.into_iter().flatten().map(move |quad| {
            let QuadIds { subject, predicate, object, graph } = quad?;
            Ok(InternalQuad {
                subject: QueryTerm::stored(subject),
                predicate: QueryTerm::stored(predicate),
                object: QueryTerm::stored(object),
                graph_name: (!in_default_graph).then(|| QueryTerm::stored(graph)),
            })
        });
        failure.into_iter().chain(quads)
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<QueryTerm, IndexError>> + use<> {
        self.view
            .live_graphs()
            .filter(|(id, _, _)| *id != TermId::DEFAULT_GRAPH)
            .map(|(id, _, _)| Ok(QueryTerm::stored(id)))
    }

    fn contains_internal_graph_name(&self, graph_name: &QueryTerm) -> Result<bool, IndexError> {
        Ok(self.view.contains_graph(graph_name.id()))
    }

    fn internalize_term(&self, term: Term) -> Result<QueryTerm, IndexError> {
        let mut internal = QueryTerm::stored(self.view.hasher.term(term.as_ref()));
        if !internal.id().is_inline() {
            internal.made = Some(Rc::new(term));
        }
        Ok(internal)
    }

    fn externalize_term(&self, term: QueryTerm) -> Result<Term, IndexError> {
        match term.made {
            Some(made) => Ok(Rc::unwrap_or_clone(made)),
            None => self.resolver.term(term.id()),
        }
    }

    fn externalize_expression_term(&self, term: QueryTerm) -> Result<ExpressionTerm, IndexError> {
        let id = term.id();
        if let Some(number) = id.as_integer() {
            return Ok(ExpressionTerm::IntegerLiteral(number.into()));
        }
        if let Some(truth) = id.as_boolean() {
            return Ok(ExpressionTerm::BooleanLiteral(truth.into()));
        }
        Ok(self.externalize_term(term)?.into())
    }
}
