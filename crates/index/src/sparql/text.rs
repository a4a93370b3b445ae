//! Words inside SPARQL: `SERVICE <urn:webloom:text>` searches the text index and gives bindings to join.
//!
//! In: triple patterns about one node: `wl:query "words"`, and what is wanted of the hits: `wl:subject`, `wl:score`, `wl:graph`,
//! `wl:label`, `wl:snippet`; `wl:limit` says how many subjects. Out: a row per subject, best first; with `wl:graph` a row
//! per subject and page. The words are what `webloom search` takes. No other endpoint is asked.

use std::sync::Arc;

use oxrdf::{Literal, NamedNode, NamedNodeRef, Term, Variable};
use spareval::{QueryEvaluationError, QuerySolutionIter, ServiceHandler};
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use webloom_model::vocab::wl;

use crate::error::IndexError;
use crate::text::Hit;
use crate::view::View;

/// The name of the service.
pub(super) const SERVICE: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:webloom:text");
/// Subjects that are found when the query says no limit.
const LIMIT_DEFAULT: usize = 100;
/// Most subjects that are found.
const LIMIT_MAX: usize = 10_000;

/// Answers the service from one state of the text index.
pub(super) struct TextService(pub(super) Arc<View>);

impl ServiceHandler for TextService {
    type Error = QueryEvaluationError;

    fn handle(
        &self,
        pattern: &GraphPattern,
        _base_iri: Option<&oxiri::Iri<String>>,
    ) -> Result<QuerySolutionIter<'static>, QueryEvaluationError> {
        let boxed = |error: IndexError| QueryEvaluationError::Dataset(Box::new(error));
        let request = Request::read(pattern).map_err(boxed)?;
        let hits = self.0.text.search(&request.words, request.limit).map_err(boxed)?;
        let rows: Vec<Vec<Option<Term>>> = hits.iter().flat_map(|hit| request.rows(hit)).collect();
        let variables: Vec<Variable> = request.wanted.into_iter().map(|(_, variable)| variable).collect();
        Ok(QuerySolutionIter::from_tuples(variables.into(), rows.into_iter().map(Ok)))
    }
}

/// How many subjects a search may find; nothing when the service is another one.
pub(super) fn limit_of(name: &NamedNodePattern, inner: &GraphPattern) -> Option<f64> {
    let NamedNodePattern::NamedNode(name) = name else {
        return None;
    };
    (name.as_ref() == SERVICE)
        .then(|| Request::read(inner).map_or(LIMIT_DEFAULT as f64, |request| request.limit as f64))
}

/// What can be asked of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Subject,
    Score,
    Graph,
    Label,
    Snippet,
}

struct Request {
    words: String,
    limit: usize,
    wanted: Vec<(Part, Variable)>,
}

impl Request {
    fn read(pattern: &GraphPattern) -> Result<Self, IndexError> {
        let wrong = |reason: String| IndexError::TextSearch { reason };
        let mut triples = Vec::new();
        if !collect(pattern, &mut triples) {
            return Err(wrong("only triple patterns can be inside".to_owned()));
        }
        let mut request = Self { words: String::new(), limit: LIMIT_DEFAULT, wanted: Vec::new() };
        let mut node: Option<&TermPattern> = None;
        for triple in triples {
            if node.is_some_and(|node| *node != triple.subject) {
                return Err(wrong("all patterns inside must have the same subject".to_owned()));
            }
            node = Some(&triple.subject);
            let local = match &triple.predicate {
                NamedNodePattern::NamedNode(predicate) => predicate.as_str().strip_prefix(wl::NAMESPACE),
                NamedNodePattern::Variable(_) => None,
            };
            let part = match local {
                Some("query") => {
                    let TermPattern::Literal(words) = &triple.object else {
                        return Err(wrong("wl:query takes a string".to_owned()));
                    };
                    request.words = words.value().to_owned();
                    continue;
                }
                Some("limit") => {
                    let limit = match &triple.object {
                        TermPattern::Literal(limit) => limit.value().parse::<usize>().ok(),
                        _ => None,
                    };
                    request.limit =
                        limit.ok_or_else(|| wrong("wl:limit takes a number".to_owned()))?.min(LIMIT_MAX);
                    continue;
                }
                Some("subject") => Part::Subject,
                Some("score") => Part::Score,
                Some("graph") => Part::Graph,
                Some("label") => Part::Label,
                Some("snippet") => Part::Snippet,
                _ => {
                    return Err(wrong(format!(
                        "{} is not one of wl:query, wl:limit, wl:subject, wl:score, wl:graph, wl:label and wl:snippet of <{}>",
                        triple.predicate,
                        wl::NAMESPACE
                    )));
                }
            };
            let TermPattern::Variable(variable) = &triple.object else {
                return Err(wrong(format!("{} takes a variable", triple.predicate)));
            };
            request.wanted.push((part, variable.clone()));
        }
        if request.words.is_empty() {
            return Err(wrong("wl:query is missing".to_owned()));
        }
        Ok(request)
    }

    /// The rows of one hit.
    fn rows(&self, hit: &Hit) -> Vec<Vec<Option<Term>>> {
        let row = |graph: Option<Term>| {
            let value = |part: Part| match part {
                Part::Subject => Some(hit.subject.clone().into()),
                Part::Score => Some(Literal::from(f64::from(hit.score)).into()),
                Part::Graph => graph.clone(),
                Part::Label => hit.label.as_deref().map(|label| Literal::from(label).into()),
                Part::Snippet => Some(Literal::from(hit.snippet.text.as_str()).into()),
            };
            self.wanted.iter().map(|(part, _)| value(*part)).collect()
        };
        if hit.pages.is_empty() || !self.wanted.iter().any(|(part, _)| *part == Part::Graph) {
            return vec![row(None)];
        }
        hit.pages.iter().map(|page| row(Some(page.clone().into()))).collect()
    }
}

/// The triple patterns of a pattern; false when there is anything else in it.
fn collect<'a>(pattern: &'a GraphPattern, triples: &mut Vec<&'a TriplePattern>) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => {
            triples.extend(patterns);
            true
        }
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            collect(left, triples) && collect(right, triples)
        }
        GraphPattern::Graph { inner, .. } => collect(inner, triples),
        _ => false,
    }
}

/// The service's name, to be registered with the evaluator.
pub(super) fn service_name() -> NamedNode {
    SERVICE.into_owned()
}
