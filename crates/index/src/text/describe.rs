//! A thing by its IRI: what the quads say of it, as a [`Hit`].
//!
//! In: an IRI that somebody pasted. Out: the same kind of answer that words give, without asking the text index, which knows
//! subjects by their words alone.

use std::sync::Arc;

use oxrdf::{GraphName, NamedNode, Term};
use webloom_model::vocab::rdf;

use super::documents::LABEL_PREDICATES;
use super::{Hit, floor_boundary};
use crate::error::IndexError;
use crate::order::SUBJECT;
use crate::scan::{GraphFilter, Scan};
use crate::snapshot::Resolver;
use crate::term;
use crate::view::View;

/// Most quads that are looked at.
const QUADS_MAX: usize = 500;
const SNIPPET_BYTES: usize = 200;

/// The thing of that name; nothing when no page says anything of it in words or types.
pub(crate) fn describe(view: &Arc<View>, iri: &str) -> Result<Option<Hit>, IndexError> {
    let subject = NamedNode::new_unchecked(iri);
    let mut pattern = [None; 4];
    pattern[SUBJECT] = Some(view.hasher.iri(iri));
    let resolver = Resolver::new(Arc::clone(view));
    let mut hit = Hit::of(subject.into(), f32::MAX);
    let mut best = LABEL_PREDICATES.len();
    let mut says_something = false;
    for quad in Scan::new(view, pattern, GraphFilter::All)?.take(QUADS_MAX) {
        let quad = quad?;
        if quad.graph.is_metadata() {
            continue;
        }
        let Term::NamedNode(predicate) = resolver.term(quad.predicate)? else {
            continue;
        };
        let object = resolver.term(quad.object)?;
        match &object {
            Term::Literal(literal) => {
                let rank = LABEL_PREDICATES.iter().position(|label| *label == predicate.as_str());
                if let Some(rank) = rank.filter(|rank| *rank < best) {
                    best = rank;
                    hit.label = Some(literal.value().to_owned());
                }
                let text = &mut hit.snippet.text;
                if text.len() < SNIPPET_BYTES && !text.contains(literal.value()) {
                    if !text.is_empty() {
                        text.push('\n');
                    }
                    text.push_str(&literal.value()[..floor_boundary(literal.value(), SNIPPET_BYTES)]);
                }
            }
            Term::NamedNode(class) if predicate.as_ref() == rdf::TYPE => {
                if !hit.types.contains(class) {
                    hit.types.push(class.clone());
                }
            }
            _ => continue,
        }
        says_something = true;
        let graph = if quad.graph == term::TermId::DEFAULT_GRAPH {
            GraphName::DefaultGraph
        } else {
            term::into_graph_name(resolver.term(quad.graph)?).unwrap_or(GraphName::DefaultGraph)
        };
        let page = match graph {
            GraphName::NamedNode(node) => node.into(),
            GraphName::BlankNode(node) => node.into(),
            GraphName::DefaultGraph => continue,
        };
        if !hit.pages.contains(&page) {
            hit.pages.push(page);
        }
    }
    Ok(says_something.then_some(hit))
}
