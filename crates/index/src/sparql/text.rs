//! Words inside SPARQL: `SERVICE <urn:webloom:text>` searches the text index and gives bindings to join.
//!
//! In: triple patterns about one node: `wl:query "words"`, restrictions (`wl:predicate`, `wl:type`, `wl:language`, `wl:limit`), and what is
//! wanted of the hits: `wl:subject`, `wl:score`, `wl:graph`, `wl:label`, `wl:literal`, `wl:snippet`. Out: a row per subject, best
//! first; with `wl:graph` a row per subject and page. `VALUES` for the subject's variable restricts the search to these, which
//! is also how the planner passes on what other patterns say of it ([`restrict`]). No other endpoint is asked.

use std::sync::Arc;

use oxrdf::vocab::rdf;
use oxrdf::{Literal, NamedNode, NamedNodeRef, Term, Variable};
use spareval::{QueryEvaluationError, QuerySolutionIter, ServiceHandler};
use spargebra::algebra::GraphPattern;
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};
use webloom_model::vocab::wl;

use crate::error::IndexError;
use crate::order::{OBJECT, PREDICATE, SUBJECT};
use crate::scan::{GraphFilter, Scan};
use crate::term::TermId;
use crate::text::collect::Numbers;
use crate::text::literals::Quotes;
use crate::text::matching::Matcher;
use crate::text::things::{Search, find};
use crate::text::{Detail, Hit, hits_of};
use crate::view::View;

/// The name of the service.
pub(super) const SERVICE: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("urn:webloom:text");
/// Subjects that a search without a limit is taken to find, when joins are ordered.
const LIMIT_GUESS: f64 = 100.0;
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
        let hits = request.hits(&self.0).map_err(boxed)?;
        let rows: Vec<Vec<Option<Term>>> = hits.iter().flat_map(|hit| request.rows(hit)).collect();
        let variables: Vec<Variable> = request.wanted.into_iter().map(|(_, variable)| variable).collect();
        Ok(QuerySolutionIter::from_tuples(variables.into(), rows.into_iter().map(Ok)))
    }
}

/// How many subjects a search may find; nothing when the service is another one.
pub(super) fn limit_of(name: &NamedNodePattern, inner: &GraphPattern) -> Option<f64> {
    is_text(name).then(|| {
        let limit = Request::read(inner).ok().and_then(|request| request.limit);
        limit.map_or(LIMIT_GUESS, |limit| limit as f64)
    })
}

/// The variable of the subject, when other patterns may restrict it: with a limit, the best of all are wanted, and not the best
/// of some.
pub(super) fn open_subject(name: &NamedNodePattern, inner: &GraphPattern) -> Option<Variable> {
    let request = is_text(name).then(|| Request::read(inner).ok()).flatten()?;
    if request.limit.is_some() || request.among.is_some() {
        return None;
    }
    request.wanted.into_iter().find(|(part, _)| *part == Part::Subject).map(|(_, variable)| variable)
}

/// Restricts a search to some subjects.
pub(super) fn restrict(inner: &mut GraphPattern, variable: &Variable, subjects: Vec<NamedNode>) {
    let bindings = subjects.into_iter().map(|subject| vec![Some(GroundTerm::NamedNode(subject))]).collect();
    let values = GraphPattern::Values { variables: vec![variable.clone()], bindings };
    let search = std::mem::take(inner);
    *inner = GraphPattern::Join { left: Box::new(search), right: Box::new(values) };
}

fn is_text(name: &NamedNodePattern) -> bool {
    matches!(name, NamedNodePattern::NamedNode(name) if name.as_ref() == SERVICE)
}

/// What can be asked of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Subject,
    Score,
    Graph,
    Label,
    Literal,
    Snippet,
}

#[derive(Default)]
struct Request {
    words: String,
    /// Languages whose forms of words count.
    languages: Vec<String>,
    predicates: Vec<NamedNode>,
    types: Vec<NamedNode>,
    /// The only graph that counts.
    graph: Option<NamedNode>,
    /// The only subjects that count.
    among: Option<Vec<NamedNode>>,
    limit: Option<usize>,
    wanted: Vec<(Part, Variable)>,
}

impl Request {
    fn read(pattern: &GraphPattern) -> Result<Self, IndexError> {
        let wrong = |reason: String| IndexError::TextSearch { reason };
        let (mut triples, mut values) = (Vec::new(), Vec::new());
        if !collect(pattern, &mut triples, &mut values) {
            return Err(wrong("only triple patterns and VALUES can be inside".to_owned()));
        }
        let mut request = Self::default();
        let mut node: Option<&TermPattern> = None;
        for triple in triples {
            if node.is_some_and(|node| *node != triple.subject) {
                return Err(wrong("all patterns inside must have the same subject".to_owned()));
            }
            node = Some(&triple.subject);
            request.read_triple(triple)?;
        }
        if request.words.is_empty() {
            return Err(wrong("wl:query is missing".to_owned()));
        }
        for (variables, bindings) in values {
            let subject = request.wanted.iter().find(|(part, _)| *part == Part::Subject);
            let ([variable], Some((_, subject))) = (variables, subject) else {
                return Err(wrong("VALUES inside must be for the variable of wl:subject".to_owned()));
            };
            if variable != subject {
                return Err(wrong("VALUES inside must be for the variable of wl:subject".to_owned()));
            }
            let nodes = bindings.iter().filter_map(|row| match row.as_slice() {
                [Some(GroundTerm::NamedNode(node))] => Some(node.clone()),
                _ => None,
            });
            request.keep_among(nodes.collect());
        }
        Ok(request)
    }

    fn keep_among(&mut self, nodes: Vec<NamedNode>) {
        self.among = Some(match self.among.take() {
            Some(known) => known.into_iter().filter(|node| nodes.contains(node)).collect(),
            None => nodes,
        });
    }

    fn read_triple(&mut self, triple: &TriplePattern) -> Result<(), IndexError> {
        let wrong = |reason: &str| IndexError::TextSearch { reason: reason.to_owned() };
        let local = match &triple.predicate {
            NamedNodePattern::NamedNode(predicate) => predicate.as_str().strip_prefix(wl::NAMESPACE),
            NamedNodePattern::Variable(_) => None,
        };
        let part = match (local, &triple.object) {
            (Some("query"), TermPattern::Literal(words)) => {
                self.words = words.value().to_owned();
                self.languages.extend(words.language().map(str::to_owned));
                return Ok(());
            }
            (Some("query"), _) => return Err(wrong("wl:query takes a string")),
            (Some("limit"), object) => {
                let limit = match object {
                    TermPattern::Literal(limit) => limit.value().parse::<usize>().ok(),
                    _ => None,
                };
                self.limit = Some(limit.ok_or_else(|| wrong("wl:limit takes a number"))?.min(LIMIT_MAX));
                return Ok(());
            }
            (Some("language"), TermPattern::Literal(tag)) => {
                self.languages.push(tag.value().to_owned());
                return Ok(());
            }
            (Some("language"), _) => return Err(wrong("wl:language takes a string like \"de\"")),
            (Some("predicate"), TermPattern::NamedNode(predicate)) => {
                self.predicates.push(predicate.clone());
                return Ok(());
            }
            (Some("predicate"), _) => return Err(wrong("wl:predicate takes an IRI")),
            (Some("type"), TermPattern::NamedNode(class)) => {
                self.types.push(class.clone());
                return Ok(());
            }
            (Some("type"), _) => return Err(wrong("wl:type takes an IRI")),
            (Some("subject"), TermPattern::NamedNode(subject)) => {
                self.keep_among(vec![subject.clone()]);
                return Ok(());
            }
            (Some("graph"), TermPattern::NamedNode(graph)) => {
                self.graph = Some(graph.clone());
                return Ok(());
            }
            (Some("subject"), _) => Part::Subject,
            (Some("score"), _) => Part::Score,
            (Some("graph"), _) => Part::Graph,
            (Some("label"), _) => Part::Label,
            (Some("literal"), _) => Part::Literal,
            (Some("snippet"), _) => Part::Snippet,
            _ => {
                return Err(wrong(&format!(
                    "{} is not one of wl:query, wl:predicate, wl:type, wl:language, wl:limit, wl:subject, wl:score, wl:graph, wl:label, wl:literal and wl:snippet of <{}>",
                    triple.predicate,
                    wl::NAMESPACE
                )));
            }
        };
        let TermPattern::Variable(variable) = &triple.object else {
            return Err(wrong(&format!("{} takes a variable", triple.predicate)));
        };
        self.wanted.push((part, variable.clone()));
        Ok(())
    }

    fn hits(&self, view: &Arc<View>) -> Result<Vec<Hit>, IndexError> {
        let ids = |nodes: &[NamedNode]| -> Vec<TermId> {
            nodes.iter().map(|node| view.hasher.iri(node.as_str())).collect()
        };
        let among: Option<Numbers> =
            self.among.as_ref().map(|nodes| ids(nodes).into_iter().map(TermId::number).collect());
        let (predicates, types) = (ids(&self.predicates), ids(&self.types));
        let graph = self.graph.as_ref().map(|graph| view.hasher.iri(graph.as_str()));
        let search = Search {
            words: &self.words,
            languages: &self.languages,
            among: among.as_ref(),
            ..Search::default()
        };
        let things = find(view, &search)?;
        let limit = self.limit.unwrap_or(LIMIT_MAX);
        let is_a = view.hasher.iri(rdf::TYPE.as_str());
        let mut last_type: Option<(TermId, bool)> = None;
        let wants = |parts: &[Part]| self.wanted.iter().any(|(part, _)| parts.contains(part));
        let detail = Detail {
            texts: wants(&[Part::Label, Part::Literal, Part::Snippet]),
            pages: wants(&[Part::Graph]),
        };
        let mut keep = |quotes: &Quotes, matcher: &mut Matcher, page: TermId, subject: TermId| {
            if graph.is_some_and(|graph| graph != page) {
                return Ok(false);
            }
            if !types.is_empty() {
                // Asked once for each page of a subject, and the same for all of them.
                let has_type = match last_type {
                    Some((known, has_type)) if known == subject => has_type,
                    _ => has_any_type(view, subject, is_a, &types)?,
                };
                last_type = Some((subject, has_type));
                if !has_type {
                    return Ok(false);
                }
            }
            Ok(predicates.is_empty() || quotes.says_with(page, subject, &predicates, matcher)?)
        };
        let is_open = graph.is_none() && types.is_empty() && predicates.is_empty();
        hits_of(view, things, limit, detail, if is_open { None } else { Some(&mut keep) })
    }

    /// The rows of one hit.
    fn rows(&self, hit: &Hit) -> Vec<Vec<Option<Term>>> {
        let row = |graph: Option<Term>| {
            let value = |part: Part| match part {
                Part::Subject => Some(hit.subject.clone().into()),
                Part::Score => Some(Literal::from(f64::from(hit.score)).into()),
                Part::Graph => graph.clone(),
                Part::Label => hit.label.as_deref().map(|label| Literal::from(label).into()),
                Part::Literal => hit.literal.clone().map(Term::from),
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

fn has_any_type(
    view: &Arc<View>,
    subject: TermId,
    is_a: TermId,
    types: &[TermId],
) -> Result<bool, IndexError> {
    for class in types {
        let mut pattern = [None; 4];
        pattern[SUBJECT] = Some(subject);
        pattern[PREDICATE] = Some(is_a);
        pattern[OBJECT] = Some(*class);
        if Scan::new(view, pattern, GraphFilter::UnionWithoutMetadata)?.next().transpose()?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The rows of a `VALUES`, and its variables.
type Values<'a> = (&'a [Variable], &'a [Vec<Option<GroundTerm>>]);

/// The triple patterns and `VALUES` of a pattern; false when there is anything else in it.
fn collect<'a>(
    pattern: &'a GraphPattern,
    triples: &mut Vec<&'a TriplePattern>,
    values: &mut Vec<Values<'a>>,
) -> bool {
    match pattern {
        GraphPattern::Bgp { patterns } => {
            triples.extend(patterns);
            true
        }
        GraphPattern::Values { variables, bindings } => {
            values.push((variables, bindings));
            true
        }
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            collect(left, triples, values) && collect(right, triples, values)
        }
        GraphPattern::Graph { inner, .. } => collect(inner, triples, values),
        _ => false,
    }
}

/// The service's name, to be registered with the evaluator.
pub(super) fn service_name() -> NamedNode {
    SERVICE.into_owned()
}
