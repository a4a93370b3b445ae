//! A snapshot as the evaluator sees it.
//!
//! In: patterns of [`QueryTerm`]s. Out: quads of them. A term inside a query is its id, so joins compare numbers
//! and no text is read; only what filters look at and what results show is decoded. Terms that a query makes
//! itself travel with their text, so that they can be shown although no segment knows them.

use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef, Term};
use spareval::{ExpressionTerm, InternalQuad, QueryableDataset};

use super::budget::Weight;
use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, PREDICATE, SUBJECT};
use crate::scan::{Deadline, GraphFilter, IdPattern, QuadIds, Scan};
use crate::snapshot::Resolver;
use crate::term::TermId;
use crate::view::View;

/// Bytes a term takes in a table of the evaluator, with its part of the row around it.
const TERM_BYTES: u32 = 40;
/// Most bytes of one term that a query makes.
const MADE_BYTES_MAX: usize = 16 << 20;

/// A term inside a running query: its id, and its text if the query made it. Two are equal when their ids are.
#[derive(Clone)]
pub(super) struct QueryTerm {
    // In halves: a `u128` would be aligned to 16 bytes, and tuples are full of these.
    high: u64,
    low: u64,
    made: Option<Rc<Made>>,
    _weight: Weight,
}

/// A term that came from the query, or that one of its expressions made.
struct Made {
    term: Term,
    _weight: Weight,
}

impl QueryTerm {
    fn stored(id: TermId) -> Self {
        let bits = id.to_bits();
        Self { high: (bits >> 64) as u64, low: bits as u64, made: None, _weight: Weight::new(TERM_BYTES) }
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

/// What a pattern outside of `GRAPH` is about.
pub(super) enum DefaultGraphIds {
    /// Everything but metadata.
    Union,
    /// The graph without a name.
    Unnamed,
    /// What the query names.
    Graphs(Vec<TermId>),
}

pub(super) struct SnapshotDataset {
    view: Arc<View>,
    resolver: Resolver,
    default_graph: DefaultGraphIds,
    deadline: Option<Deadline>,
}

impl SnapshotDataset {
    pub(super) fn new(view: &Arc<View>, default_graph: DefaultGraphIds, deadline: Option<Deadline>) -> Self {
        Self { view: Arc::clone(view), resolver: Resolver::new(Arc::clone(view)), default_graph, deadline }
    }

    fn scan(&self, mut pattern: IdPattern, graph: Option<Option<TermId>>) -> Result<Scan, IndexError> {
        match graph {
            Some(Some(graph)) => {
                pattern[GRAPH] = Some(graph);
                Scan::new(&self.view, pattern, GraphFilter::All)
            }
            Some(None) => match &self.default_graph {
                DefaultGraphIds::Union => Scan::new(&self.view, pattern, GraphFilter::UnionWithoutMetadata),
                DefaultGraphIds::Unnamed => {
                    pattern[GRAPH] = Some(TermId::DEFAULT_GRAPH);
                    Scan::new(&self.view, pattern, GraphFilter::All)
                }
                DefaultGraphIds::Graphs(graphs) => Scan::union_of(&self.view, pattern, graphs),
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
        let (graphs, failure) = match self.view.graph_ids() {
            Ok(graphs) => (Some(graphs), None),
            Err(error) => (None, Some(Err(error))),
        };
        let named = graphs.into_iter().flatten().filter(|id| *id != TermId::DEFAULT_GRAPH);
        failure.into_iter().chain(named.map(|id| Ok(QueryTerm::stored(id))))
    }

    fn contains_internal_graph_name(&self, graph_name: &QueryTerm) -> Result<bool, IndexError> {
        self.view.has_graph(graph_name.id())
    }

    fn internalize_term(&self, term: Term) -> Result<QueryTerm, IndexError> {
        let mut internal = QueryTerm::stored(self.view.hasher.term(term.as_ref()));
        if !internal.id().is_inline() {
            let bytes = text_bytes(&term);
            if bytes > MADE_BYTES_MAX {
                return Err(IndexError::TermLimit { limit_bytes: MADE_BYTES_MAX as u64 });
            }
            let weight = Weight::new(bytes as u32 + TERM_BYTES);
            internal.made = Some(Rc::new(Made { term, _weight: weight }));
        }
        Ok(internal)
    }

    fn internalize_expression_term(&self, term: ExpressionTerm) -> Result<QueryTerm, IndexError> {
        let term = match term {
            ExpressionTerm::DecimalLiteral(value) => number(decimal(value.to_string()), xsd::DECIMAL),
            ExpressionTerm::DoubleLiteral(value) => number(scientific(value.into()), xsd::DOUBLE),
            ExpressionTerm::FloatLiteral(value) => number(scientific_float(value.into()), xsd::FLOAT),
            other => other.into(),
        };
        self.internalize_term(term)
    }

    fn externalize_term(&self, term: QueryTerm) -> Result<Term, IndexError> {
        match &term.made {
            Some(made) => Ok(made.term.clone()),
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

fn text_bytes(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::BlankNode(node) => node.as_str().len(),
        Term::Literal(literal) => literal.value().len(),
    }
}

fn number(text: String, datatype: NamedNodeRef<'_>) -> Term {
    Literal::new_typed_literal(text, datatype).into()
}

/// The canonical form of XML Schema, which is also how Turtle and SPARQL write decimals: with a point.
fn decimal(mut text: String) -> String {
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}

fn scientific(value: f64) -> String {
    special(value).unwrap_or_else(|| canonical(format!("{value:E}")))
}

// Digits differ: the shortest text of a float is not that of the double with its value.
fn scientific_float(value: f32) -> String {
    special(f64::from(value)).unwrap_or_else(|| canonical(format!("{value:E}")))
}

fn special(value: f64) -> Option<String> {
    match value {
        f64::INFINITY => Some("INF".to_owned()),
        f64::NEG_INFINITY => Some("-INF".to_owned()),
        value if value.is_nan() => Some("NaN".to_owned()),
        _ => None,
    }
}

/// One digit before the point and at least one after it.
fn canonical(text: String) -> String {
    match text.split_once('E') {
        Some((mantissa, exponent)) => format!("{}E{exponent}", decimal(mantissa.to_owned())),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_canonical() {
        for (value, expected) in [
            (0.0, "0.0E0"),
            (-0.0, "-0.0E0"),
            (1.0, "1.0E0"),
            (32_100.0, "3.21E4"),
            (0.2, "2.0E-1"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::INFINITY, "INF"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(scientific(value), expected);
        }
        assert_eq!(scientific_float(0.1), "1.0E-1");
        assert_eq!(decimal("3".to_owned()), "3.0");
        assert_eq!(decimal("3.25".to_owned()), "3.25");
    }
}
