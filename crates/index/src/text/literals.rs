//! What the quads say of a thing that was found: its names, its literals, the piece of text around the words.
//!
//! In: the numbers that the text index has of subjects and graphs. Out: terms. The text index keeps no text of its own, so
//! everything that is shown comes from here, for the few things that are shown. Start at [`Quotes`].

use std::sync::Arc;

use oxrdf::{Literal, NamedNode, Term};

use super::documents::{LABEL_PREDICATES, RDFS_LABEL};
use super::matching::{Look, Matcher};
use super::{Snippet, floor_boundary};
use crate::error::IndexError;
use crate::order::{GRAPH, PREDICATE, SUBJECT};
use crate::scan::{GraphFilter, Scan};
use crate::snapshot::Resolver;
use crate::term::{TermId, TermKind};
use crate::view::View;

/// Most quads of one thing on one page that are looked at.
const QUADS_MAX: usize = 300;
/// Most links of one page that are looked at.
const LINKS_MAX: usize = 1_000;
/// How long a snippet is, about, and how much of it comes before the first word.
const SNIPPET_BYTES: usize = 220;
const SNIPPET_BEFORE_BYTES: usize = 60;

/// A literal that something has.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) predicate: NamedNode,
    pub(crate) literal: Literal,
}

/// Reads from the quads what is said of things.
pub(crate) struct Quotes {
    view: Arc<View>,
    pub(crate) resolver: Resolver,
    labels: Vec<TermId>,
    rdfs_label: TermId,
}

impl Quotes {
    pub(crate) fn new(view: &Arc<View>) -> Self {
        Self {
            view: Arc::clone(view),
            resolver: Resolver::new(Arc::clone(view)),
            labels: LABEL_PREDICATES.iter().map(|label| view.hasher.iri(label)).collect(),
            rdfs_label: view.hasher.iri(RDFS_LABEL),
        }
    }

    /// The id of a subject or of a graph's name. Two with one number would be a collision of 64 bits of a keyed hash; then
    /// the wrong one is taken for the right one, and says nothing.
    pub(crate) fn id(&self, number: u64) -> Option<TermId> {
        if number == TermId::DEFAULT_GRAPH.number() {
            return Some(TermId::DEFAULT_GRAPH);
        }
        for part in &self.view.segments {
            for kind in [TermKind::Iri, TermKind::BlankNode, TermKind::MetaIri] {
                let place = part.segment.place(TermId::first_of_number(kind, number));
                let id = part.segment.term_id(place);
                if let Some(id) = id.filter(|id| id.kind() == Some(kind) && id.number() == number) {
                    return Some(id);
                }
            }
        }
        None
    }

    /// The first quads of a subject in a graph.
    fn quads(
        &self,
        graph: TermId,
        subject: TermId,
    ) -> Result<impl Iterator<Item = Result<(TermId, TermId), IndexError>>, IndexError> {
        let mut pattern = [None; 4];
        pattern[SUBJECT] = Some(subject);
        pattern[GRAPH] = Some(graph);
        let scan = Scan::new(&self.view, pattern, GraphFilter::All)?;
        Ok(scan.take(QUADS_MAX).map(|quad| quad.map(|quad| (quad.predicate, quad.object))))
    }

    fn literal(&self, id: TermId) -> Result<Option<Literal>, IndexError> {
        Ok(match self.resolver.term(id)? {
            Term::Literal(literal) => Some(literal),
            Term::NamedNode(_) | Term::BlankNode(_) => None,
        })
    }

    fn node(&self, id: TermId) -> Result<Option<NamedNode>, IndexError> {
        Ok(match self.resolver.term(id)? {
            Term::NamedNode(node) => Some(node),
            Term::Literal(_) | Term::BlankNode(_) => None,
        })
    }

    /// The best name that a graph gives a subject, in one of the languages if there is one.
    pub(crate) fn label(
        &self,
        graph: TermId,
        subject: TermId,
        languages: &[String],
    ) -> Result<Option<Literal>, IndexError> {
        let mut candidates: Vec<(usize, TermId)> = Vec::new();
        for quad in self.quads(graph, subject)? {
            let (predicate, object) = quad?;
            if let Some(rank) = self.labels.iter().position(|label| *label == predicate)
                && matches!(object.kind(), Some(TermKind::Literal))
            {
                candidates.push((rank, object));
            }
        }
        candidates.sort_by_key(|(rank, _)| *rank);
        let mut first = None;
        for (_, object) in candidates {
            let Some(literal) = self.literal(object)? else {
                continue;
            };
            let speaks = |wanted: &String| {
                literal
                    .language()
                    .and_then(super::shape::primary_language)
                    .is_some_and(|language| language.eq_ignore_ascii_case(wanted))
            };
            if literal.value().trim().is_empty() {
                continue;
            }
            if languages.is_empty() || languages.iter().any(speaks) {
                return Ok(Some(literal));
            }
            first = first.or(Some(literal));
        }
        Ok(first)
    }

    /// What a graph says of a subject in literals.
    pub(crate) fn said(&self, graph: TermId, subject: TermId) -> Result<Vec<Said>, IndexError> {
        let mut said = Vec::new();
        for quad in self.quads(graph, subject)? {
            let (predicate, object) = quad?;
            if object.kind() != Some(TermKind::Literal) {
                continue;
            }
            if let (Some(predicate), Some(literal)) = (self.node(predicate)?, self.literal(object)?) {
                said.push(Said { predicate, literal });
            }
        }
        Ok(said)
    }

    /// True when a graph says with a predicate, in one literal, everything that is looked for.
    pub(crate) fn says_with(
        &self,
        graph: TermId,
        subject: TermId,
        predicates: &[TermId],
        matcher: &mut Matcher,
    ) -> Result<bool, IndexError> {
        for &predicate in predicates {
            let mut pattern = [None; 4];
            pattern[SUBJECT] = Some(subject);
            pattern[GRAPH] = Some(graph);
            pattern[PREDICATE] = Some(predicate);
            for quad in Scan::new(&self.view, pattern, GraphFilter::All)?.take(QUADS_MAX) {
                let Some(literal) = self.literal(quad?.object)? else {
                    continue;
                };
                let look = matcher.look(literal.value());
                if look.found == matcher.wanted() && !look.unwanted {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The first IRI that a graph gives for one of some predicates of a subject.
    pub(crate) fn linked(
        &self,
        graph: TermId,
        subject: TermId,
        predicates: &[TermId],
    ) -> Result<Option<NamedNode>, IndexError> {
        for quad in self.quads(graph, subject)? {
            let (predicate, object) = quad?;
            if predicates.contains(&predicate) && object.kind() == Some(TermKind::Iri) {
                return self.node(object);
            }
        }
        Ok(None)
    }

    /// The links of a page whose own words have everything that is looked for.
    pub(crate) fn matching_links(
        &self,
        page: TermId,
        matcher: &mut Matcher,
    ) -> Result<Vec<TermId>, IndexError> {
        let mut pattern = [None; 4];
        pattern[PREDICATE] = Some(self.rdfs_label);
        pattern[GRAPH] = Some(page);
        let mut targets = Vec::new();
        for quad in Scan::new(&self.view, pattern, GraphFilter::All)?.take(LINKS_MAX) {
            let quad = quad?;
            let Some(literal) = self.literal(quad.object)? else {
                continue;
            };
            let look = matcher.look(literal.value());
            if look.found == matcher.wanted() && !look.unwanted {
                targets.push(quad.subject);
            }
        }
        targets.sort_unstable();
        targets.dedup();
        Ok(targets)
    }

    /// The literal that has most of what is looked for; of two alike, the one that is no name, and then the longer one.
    pub(crate) fn best_said(
        &self,
        graph: TermId,
        subject: TermId,
        matcher: &mut Matcher,
    ) -> Result<Option<(Said, Look)>, IndexError> {
        let mut best: Option<((usize, bool, usize), Said, Look)> = None;
        for said in self.said(graph, subject)? {
            let look = matcher.look(said.literal.value());
            let is_name = LABEL_PREDICATES.contains(&said.predicate.as_str());
            let rank = (look.found, !is_name, said.literal.value().len());
            if best.as_ref().is_none_or(|(known, _, _)| rank > *known) {
                best = Some((rank, said, look));
            }
        }
        Ok(best.map(|(_, said, look)| (said, look)))
    }
}

/// The piece of a text around the first of its marked places that has most of them after it.
pub(crate) fn snippet(text: &str, look: &Look) -> Snippet {
    let best = look
        .places
        .iter()
        .max_by_key(|first| {
            let within = look.places.iter().filter(|place| {
                place.start >= first.start && place.end <= first.start + SNIPPET_BYTES - SNIPPET_BEFORE_BYTES
            });
            (within.count(), std::cmp::Reverse(first.start))
        })
        .map_or(0, |place| place.start);
    let mut start = 0;
    if text.len() > SNIPPET_BYTES && best > SNIPPET_BEFORE_BYTES {
        start = floor_boundary(text, best - SNIPPET_BEFORE_BYTES);
        // A word is not cut if a space is near.
        if let Some(space) = text[start..best].find(char::is_whitespace) {
            start += space;
            start += text[start..].len() - text[start..].trim_start().len();
        }
    }
    let mut end = start + floor_boundary(&text[start..], SNIPPET_BYTES);
    if end < text.len()
        && let Some(space) = text[start..end].rfind(char::is_whitespace)
        && space > SNIPPET_BYTES / 2
    {
        end = start + space;
    }
    let matches = look
        .places
        .iter()
        .filter(|place| place.start >= start && place.end <= end)
        .map(|place| place.start - start..place.end - start)
        .collect();
    Snippet { text: text[start..end].to_owned(), matches }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_snippet_is_where_the_words_are() {
        let text = format!("{} the silver river boat {}", "before ".repeat(60), "after ".repeat(60));
        let at = text.find("silver").unwrap();
        let look = Look { found: 1, unwanted: false, places: vec![at..at + 6, at + 7..at + 12] };
        let snippet = snippet(&text, &look);
        let marked: Vec<&str> = snippet.matches.iter().map(|range| &snippet.text[range.clone()]).collect();
        assert_eq!(marked, ["silver", "river"]);
        assert!(snippet.text.starts_with("before"), "{}", snippet.text);
        assert!(snippet.text.len() <= SNIPPET_BYTES);
    }

    proptest! {
        #[test]
        fn places_stay_inside(text in "\\PC{0,400}", at in 0usize..500, length in 1usize..20) {
            let start = floor_boundary(&text, at);
            let end = floor_boundary(&text, start + length);
            let look = Look { found: 1, unwanted: false, places: std::iter::once(start..end).collect() };
            let snippet = snippet(&text, &look);
            for place in snippet.matches {
                prop_assert!(snippet.text.get(place).is_some());
            }
        }
    }
}
