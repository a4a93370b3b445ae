//! Things that were found, as [`Hit`]s: for programs that want a list and nothing around it.
//!
//! In: a [`Search`]. Out: hits, best first, with every page that matched. What people see is in [`entity`](crate::entity).

use std::sync::Arc;

use oxrdf::{GraphName, Literal, NamedNode, NamedOrBlankNode};

use super::Hit;
use super::literals::{Quotes, snippet};
use super::shape::Shape;
use super::things::{Search, Things, find};
use crate::error::IndexError;
use crate::term::TermId;
use crate::view::View;

/// Most pages that a hit names.
const PAGES_MAX: usize = 1_000;

/// The best `limit` subjects.
pub(crate) fn hits(view: &Arc<View>, search: &Search<'_>, limit: usize) -> Result<Vec<Hit>, IndexError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let things = find(view, search)?;
    hits_of(view, things, limit, Detail { texts: true, pages: true }, None)
}

/// What is wanted of hits beside their subjects: reading costs more than finding.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detail {
    /// Label, snippet and literal.
    pub(crate) texts: bool,
    /// Pages and types.
    pub(crate) pages: bool,
}

/// Decides whether a page counts for a subject.
pub(crate) type Keep<'a> =
    &'a mut dyn FnMut(&Quotes, &mut super::matching::Matcher, TermId, TermId) -> Result<bool, IndexError>;

/// The best `limit` subjects of those that were found and that `keep` keeps, which is asked with a page that matches.
pub(crate) fn hits_of(
    view: &Arc<View>,
    mut things: Things,
    limit: usize,
    detail: Detail,
    mut keep: Option<Keep<'_>>,
) -> Result<Vec<Hit>, IndexError> {
    let quotes = Quotes::new(view);
    let mut groups = things.collected.groups.clone();
    groups.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut hits = Vec::new();
    for group in groups {
        if hits.len() == limit {
            break;
        }
        let Some(subject) = quotes.id(group.subject) else {
            continue;
        };
        let is_enough = !detail.texts && !detail.pages;
        if is_enough && keep.is_none() {
            if let Some(subject) = node(quotes.resolver.graph_name(subject)?) {
                hits.push(Hit::of(subject, group.score));
            }
            continue;
        }
        let mut matches: Vec<_> = things.collected.matches(&group).copied().collect();
        matches.sort_by(|one, other| other.score.total_cmp(&one.score));
        let Some(name) = node(quotes.resolver.graph_name(subject)?) else {
            continue;
        };
        let mut hit = Hit::of(name, group.score);
        let mut kept = false;
        for found in matches.iter().take(PAGES_MAX) {
            let Some(graph) = things.collected.graph(found).and_then(|number| quotes.id(number)) else {
                continue;
            };
            if let Some(keep) = &mut keep
                && !keep(&quotes, &mut things.matcher, graph, subject)?
            {
                continue;
            }
            let is_first = !std::mem::replace(&mut kept, true);
            if is_enough {
                break;
            }
            if is_first && detail.texts {
                let best = quotes.best_said(graph, subject, &mut things.matcher)?;
                hit.label = quotes.label(graph, subject, &[])?.map(|label| label.value().to_owned());
                let found_all = best.as_ref().is_some_and(|(_, look)| look.found > 0);
                if let Some((said, look)) = best {
                    hit.snippet = snippet(said.literal.value(), &look);
                    hit.literal = (look.found > 0).then_some(said.literal);
                }
                if graph == subject && (!found_all || hit.label.is_none()) {
                    let (title, body) = view.text.page_text(found)?;
                    hit.label = hit.label.or(title);
                    if let Some(body) = body.filter(|_| !found_all) {
                        let look = things.matcher.look(&body);
                        if look.found > 0 || hit.snippet.text.is_empty() {
                            hit.snippet = snippet(&body, &look);
                        }
                    }
                }
            }
            if !detail.pages {
                break;
            }
            if let Some(page) = node(quotes.resolver.graph_name(graph)?)
                && !hit.pages.contains(&page)
            {
                hit.pages.push(page);
            }
            let key = things.collected.shape(found.segment, found.shape).unwrap_or_default();
            for class in Shape::of_key(&key).types() {
                if !hit.types.iter().any(|known| known.as_str() == *class) {
                    hit.types.push(NamedNode::new_unchecked(*class));
                }
            }
        }
        if kept {
            hits.push(hit);
        }
    }
    Ok(hits)
}

/// A literal that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct LiteralHit {
    /// What it is said of.
    pub subject: NamedOrBlankNode,
    /// What is said.
    pub predicate: NamedNode,
    /// The literal.
    pub literal: Literal,
    /// Where; nothing for the default graph.
    pub graph: Option<NamedOrBlankNode>,
}

/// Literals with the words: those of the best things first, each with all the words that any literal of its thing has.
pub(crate) fn literal_hits(
    view: &Arc<View>,
    search: &Search<'_>,
    limit: usize,
) -> Result<Vec<LiteralHit>, IndexError> {
    let mut things = find(view, search)?;
    let quotes = Quotes::new(view);
    let mut groups = things.collected.groups.clone();
    groups.sort_by(|one, other| other.score.total_cmp(&one.score));
    let mut hits = Vec::new();
    'groups: for group in groups {
        let Some(subject) = quotes.id(group.subject) else {
            continue;
        };
        let matches: Vec<_> = things.collected.matches(&group).copied().collect();
        for found in matches.iter().take(PAGES_MAX) {
            if hits.len() >= limit {
                break 'groups;
            }
            let Some(graph) = things.collected.graph(found).and_then(|number| quotes.id(number)) else {
                continue;
            };
            let said = quotes.said(graph, subject)?;
            let looks: Vec<usize> =
                said.iter().map(|said| things.matcher.look(said.literal.value()).found).collect();
            let most = looks.iter().copied().max().unwrap_or_default().max(1);
            let Some(name) = node(quotes.resolver.graph_name(subject)?) else {
                continue;
            };
            let graph = node(quotes.resolver.graph_name(graph)?);
            for (said, _) in said.into_iter().zip(looks).filter(|(_, found)| *found == most) {
                hits.push(LiteralHit {
                    subject: name.clone(),
                    predicate: said.predicate,
                    literal: said.literal,
                    graph: graph.clone(),
                });
            }
        }
    }
    hits.truncate(limit);
    Ok(hits)
}

/// The name of a graph, or a subject, as a node; nothing for the default graph.
pub(crate) fn node(name: GraphName) -> Option<NamedOrBlankNode> {
    match name {
        GraphName::NamedNode(node) => Some(node.into()),
        GraphName::BlankNode(node) => Some(node.into()),
        GraphName::DefaultGraph => None,
    }
}
