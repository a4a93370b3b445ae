//! From numbers to what people read: names, types, pages, snippets, pictures.
//!
//! In: things that pass the filters. Out: [`Entity`]s, for those on the page that is shown. Everything is read from the quads, a few
//! lookups for each.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use oxrdf::{Literal, NamedOrBlankNode, Term};

use crate::error::IndexError;
use crate::order::{OBJECT, PREDICATE, SUBJECT};
use crate::scan::{GraphFilter, Scan};
use crate::snapshot::Resolver;
use crate::term::{TermId, TermKind};
use crate::text::collect::{Collected, Match};
use crate::text::literals::{Quotes, snippet};
use crate::text::matching::Look;
use crate::text::node;
use crate::text::shape::Shape;
use crate::text::things::Things;
use crate::view::View;

use super::facets::{LANGUAGE, Passed, Survey, TYPE, VOCABULARY};
use super::{Entity, EntityPage, EntityQuery, EntitySnippet, FacetValue, Facets, Named, rank};

/// Things whose names are read to be ranked by them.
const CANDIDATES: usize = 100;
/// Pages shown with a thing, and pages looked at for its types.
const PAGES_SHOWN: usize = 5;
const PAGES_LOOKED_AT: usize = 50;
/// Values shown of a facet.
const VALUES_SHOWN: usize = 20;
/// Types shown with a thing, and things shown as the same.
const TYPES_SHOWN: usize = 8;
const SAME_SHOWN: usize = 5;
/// Labels looked at to find a good one of a class.
const LABELS_LOOKED_AT: usize = 20;

/// What leads to a picture.
const IMAGES: [&str; 9] = [
    "http://schema.org/image",
    "https://schema.org/image",
    "http://xmlns.com/foaf/0.1/depiction",
    "http://xmlns.com/foaf/0.1/img",
    "http://ogp.me/ns#image",
    "http://schema.org/thumbnailUrl",
    "https://schema.org/thumbnailUrl",
    "http://schema.org/logo",
    "https://schema.org/logo",
];
const SAME_AS: &str = "http://www.w3.org/2002/07/owl#sameAs";
const RDFS_LABEL: &str = "http://www.w3.org/2000/01/rdf-schema#label";

/// What people call vocabularies.
const PREFIXES: [(&str, &str); 20] = [
    ("schema", "http://schema.org/"),
    ("schema", "https://schema.org/"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("dcterms", "http://purl.org/dc/terms/"),
    ("dc", "http://purl.org/dc/elements/1.1/"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
    ("skos", "http://www.w3.org/2004/02/skos/core#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
    ("og", "http://ogp.me/ns#"),
    ("sioc", "http://rdfs.org/sioc/ns#"),
    ("vcard", "http://www.w3.org/2006/vcard/ns#"),
    ("doap", "http://usefulinc.com/ns/doap#"),
    ("gr", "http://purl.org/goodrelations/v1#"),
    ("geo", "http://www.w3.org/2003/01/geo/wgs84_pos#"),
    ("dcat", "http://www.w3.org/ns/dcat#"),
    ("prov", "http://www.w3.org/ns/prov#"),
    ("ical", "http://www.w3.org/2002/12/cal/ical#"),
    ("rss", "http://purl.org/rss/1.0/"),
    ("xhv", "http://www.w3.org/1999/xhtml/vocab#"),
];

/// The namespace of a usual prefix; what is none stays as it is.
pub(super) fn namespace_of(name: &str) -> String {
    let bare = name.strip_suffix(':').unwrap_or(name);
    let known = PREFIXES.iter().find(|(prefix, _)| prefix.eq_ignore_ascii_case(bare));
    known.map_or_else(|| name.to_owned(), |(_, namespace)| (*namespace).to_owned())
}

/// The IRI of `prefix:name`; nothing when the prefix is unknown.
pub(super) fn expand_prefix(name: &str) -> Option<String> {
    let (prefix, local) = name.split_once(':')?;
    let (_, namespace) = PREFIXES.iter().find(|(known, _)| *known == prefix)?;
    Some(format!("{namespace}{local}"))
}

/// The last part of an IRI.
pub(super) fn last_part(iri: &str) -> &str {
    let trimmed = iri.trim_end_matches(['/', '#']);
    trimmed.rsplit(['#', '/', ':']).next().filter(|part| !part.is_empty()).unwrap_or(iri)
}

/// Shows things.
pub(super) struct Show<'a> {
    view: &'a Arc<View>,
    query: &'a EntityQuery,
    quotes: Quotes,
    images: Vec<TermId>,
    class_labels: HashMap<String, String>,
}

/// A thing on its way to be shown.
struct Candidate {
    thing: Passed,
    score: f32,
    subject: Option<TermId>,
    label: Option<Literal>,
}

impl<'a> Show<'a> {
    pub(super) fn new(view: &'a Arc<View>, query: &'a EntityQuery) -> Self {
        Self {
            view,
            query,
            quotes: Quotes::new(view),
            images: IMAGES.iter().map(|image| view.hasher.iri(image)).collect(),
            class_labels: HashMap::new(),
        }
    }

    pub(super) fn facets(&mut self, survey: &Survey, collected: &Collected) -> Result<Facets, IndexError> {
        let mut facets = Facets::default();
        for (value, count) in survey.counts(TYPE).into_iter().take(VALUES_SHOWN) {
            let label = self.class_label(value)?;
            facets.types.push(FacetValue { value: value.to_owned(), label, count });
        }
        for (value, count) in survey.counts(VOCABULARY).into_iter().take(VALUES_SHOWN) {
            let known = PREFIXES.iter().find(|(_, namespace)| *namespace == value);
            let label = known.map_or(value, |(prefix, _)| prefix).to_owned();
            facets.vocabularies.push(FacetValue { value: value.to_owned(), label, count });
        }
        for (value, count) in survey.counts(LANGUAGE).into_iter().take(VALUES_SHOWN) {
            facets.languages.push(FacetValue { value: value.to_owned(), label: value.to_owned(), count });
        }
        for (value, count) in survey.site_counts(collected).into_iter().take(VALUES_SHOWN) {
            facets.sites.push(FacetValue { label: value.clone(), value, count });
        }
        Ok(facets)
    }

    /// The things of one page.
    pub(super) fn results(
        &mut self,
        mut things: Things,
        mut survey: Survey,
        limit: usize,
        offset: usize,
    ) -> Result<Vec<Entity>, IndexError> {
        let mut candidates: Vec<Candidate> = std::mem::take(&mut survey.passed)
            .into_iter()
            .map(|thing| Candidate { thing, score: rank::before_names(&thing), subject: None, label: None })
            .collect();
        let best_first = |one: &Candidate, other: &Candidate| -> Ordering {
            let by_score = other.score.total_cmp(&one.score);
            by_score.then_with(|| one.thing.group.subject.cmp(&other.thing.group.subject))
        };
        let wanted = (offset + limit).max(CANDIDATES);
        if candidates.len() > wanted {
            candidates.select_nth_unstable_by(wanted - 1, best_first);
            candidates.truncate(wanted);
        }
        candidates.sort_by(best_first);
        let typed = things.plain_words.clone().unwrap_or_default();
        for candidate in candidates.iter_mut().take(CANDIDATES) {
            self.name(candidate, &typed, &things, &survey)?;
            if let Some(label) = &candidate.label {
                candidate.score *= rank::for_name(label.value(), &typed);
            }
        }
        // Those behind have no name to move them, and stay behind.
        let named = candidates.len().min(CANDIDATES);
        candidates[..named].sort_by(best_first);
        let mut entities = Vec::new();
        for mut candidate in candidates.into_iter().skip(offset).take(limit) {
            if candidate.subject.is_none() {
                self.name(&mut candidate, &typed, &things, &survey)?;
            }
            entities.extend(self.entity(candidate, &mut things, &survey)?);
        }
        Ok(entities)
    }

    /// The documents of a thing, best first, those of sites that are asked for before others.
    fn documents(&self, thing: &Passed, things: &Things, survey: &Survey) -> Vec<Match> {
        let mut matches: Vec<Match> = things.collected.matches(&thing.group).copied().collect();
        matches.sort_by(|one, other| {
            let asked = |found: &Match| survey.is_asked_for(found.segment, found.site);
            asked(other).cmp(&asked(one)).then_with(|| other.score.total_cmp(&one.score))
        });
        matches
    }

    fn graph(&self, found: &Match, things: &Things) -> Option<TermId> {
        things.collected.graph(found).and_then(|number| self.quotes.id(number))
    }

    /// Finds out what a thing is called, by its best documents.
    fn name(
        &self,
        candidate: &mut Candidate,
        typed: &[String],
        things: &Things,
        survey: &Survey,
    ) -> Result<(), IndexError> {
        candidate.subject = self.quotes.id(candidate.thing.group.subject);
        let Some(subject) = candidate.subject else {
            return Ok(());
        };
        // Pages may call it by different names; the one that is most like what was typed is shown.
        let mut best = 0.0;
        for found in self.documents(&candidate.thing, things, survey).iter().take(PAGES_SHOWN) {
            let Some(graph) = self.graph(found, things) else {
                continue;
            };
            let mut label = self.quotes.label(graph, subject, &self.query.languages)?;
            if label.is_none()
                && graph == subject
                && let (Some(title), _) = self.view.text.page_text(found)?
            {
                label = Some(Literal::new_simple_literal(title));
            }
            let Some(label) = label else {
                continue;
            };
            let likeness = rank::for_name(label.value(), typed);
            if likeness > best {
                best = likeness;
                candidate.label = Some(label);
            }
        }
        Ok(())
    }

    fn entity(
        &mut self,
        candidate: Candidate,
        things: &mut Things,
        survey: &Survey,
    ) -> Result<Option<Entity>, IndexError> {
        let Some(subject) = candidate.subject else {
            return Ok(None);
        };
        let Some(name) = node(self.quotes.resolver.graph_name(subject)?) else {
            return Ok(None);
        };
        let documents = self.documents(&candidate.thing, things, survey);
        let mut entity = Entity {
            iri: iri_of(&name),
            label: None,
            label_language: None,
            types: Vec::new(),
            snippet: EntitySnippet::default(),
            score: candidate.score,
            sites: u64::from(candidate.thing.sites),
            pages: Vec::new(),
            pages_total: u64::from(candidate.thing.group.documents),
            image: None,
            same: self.same(subject)?,
        };
        let mut types: Vec<(String, usize)> = Vec::new();
        let mut pages: Vec<TermId> = Vec::new();
        for (place, found) in documents.iter().take(PAGES_LOOKED_AT).enumerate() {
            let key = things.collected.shape(found.segment, found.shape).unwrap_or_default();
            for class in Shape::of_key(&key).types() {
                match types.iter_mut().find(|(known, _)| known == class) {
                    Some((_, count)) => *count += 1,
                    None => types.push(((*class).to_owned(), 1)),
                }
            }
            if pages.len() >= PAGES_SHOWN {
                continue;
            }
            let Some(graph) = self.graph(found, things).filter(|graph| !pages.contains(graph)) else {
                continue;
            };
            pages.push(graph);
            if place == 0 {
                entity.snippet = self.snippet(graph, subject, found, things)?;
            }
            if entity.image.is_none() {
                let image = self.quotes.linked(graph, subject, &self.images)?;
                entity.image = image.map(oxrdf::NamedNode::into_string);
            }
            if let Some(page) = node(self.quotes.resolver.graph_name(graph)?) {
                let title = self.quotes.label(graph, graph, &[])?.map(|title| title.value().to_owned());
                entity.pages.push(EntityPage { url: iri_of(&page), title });
            }
        }
        types.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        for (class, _) in types.into_iter().take(TYPES_SHOWN) {
            let label = self.class_label(&class)?;
            entity.types.push(Named { iri: class, label });
        }
        if let Some(label) = candidate.label {
            entity.label_language = label.language().map(str::to_owned);
            entity.label = Some(label.value().to_owned());
        }
        if entity.pages.is_empty() {
            entity.pages_total = 0;
        }
        Ok(Some(entity))
    }

    fn snippet(
        &self,
        graph: TermId,
        subject: TermId,
        found: &Match,
        things: &mut Things,
    ) -> Result<EntitySnippet, IndexError> {
        let best = self.quotes.best_said(graph, subject, &mut things.matcher)?;
        let has_all = best.as_ref().is_some_and(|(_, look)| look.found == things.matcher.wanted());
        // A page's own text is in no literal.
        if graph == subject
            && !has_all
            && let (_, Some(body)) = self.view.text.page_text(found)?
        {
            let look = things.matcher.look(&body);
            if best.as_ref().is_none_or(|(_, known)| look.found > known.found) {
                return Ok(EntitySnippet { text: snippet(&body, &look), predicate: None, language: None });
            }
        }
        Ok(best.map_or_else(EntitySnippet::default, |(said, look)| EntitySnippet {
            text: snippet(said.literal.value(), &look),
            predicate: Some(said.predicate.into_string()),
            language: said.literal.language().map(str::to_owned),
        }))
    }

    /// Things that are said to be the same, in either direction.
    fn same(&mut self, subject: TermId) -> Result<Vec<Named>, IndexError> {
        let same_as = self.view.hasher.iri(SAME_AS);
        let mut others: Vec<TermId> = Vec::new();
        for (here, there) in [(SUBJECT, OBJECT), (OBJECT, SUBJECT)] {
            let mut pattern = [None; 4];
            pattern[here] = Some(subject);
            pattern[PREDICATE] = Some(same_as);
            for quad in Scan::new(self.view, pattern, GraphFilter::UnionWithoutMetadata)?.take(SAME_SHOWN) {
                let quad = quad?;
                let other = if there == OBJECT { quad.object } else { quad.subject };
                if other != subject && !others.contains(&other) && other.kind() == Some(TermKind::Iri) {
                    others.push(other);
                }
            }
        }
        others.truncate(SAME_SHOWN);
        let mut same = Vec::new();
        for other in others {
            if let Term::NamedNode(node) = self.quotes.resolver.term(other)? {
                let label = any_label(self.view, &self.quotes.resolver, other)?;
                let label = label.unwrap_or_else(|| last_part(node.as_str()).to_owned());
                same.push(Named { iri: node.into_string(), label });
            }
        }
        Ok(same)
    }

    /// What people call a class.
    fn class_label(&mut self, class: &str) -> Result<String, IndexError> {
        if let Some(label) = self.class_labels.get(class) {
            return Ok(label.clone());
        }
        let id = self.view.hasher.iri(class);
        let label = any_label(self.view, &self.quotes.resolver, id)?;
        let label = label.unwrap_or_else(|| last_part(class).to_owned());
        self.class_labels.insert(class.to_owned(), label.clone());
        Ok(label)
    }

    /// The thing of an IRI that somebody pasted.
    pub(super) fn pasted(&mut self, iri: &str) -> Result<Option<Entity>, IndexError> {
        let Some(hit) = crate::text::describe(self.view, iri)? else {
            return Ok(None);
        };
        let subject = self.view.hasher.iri(iri);
        let sites: std::collections::BTreeSet<String> = hit
            .pages
            .iter()
            .filter_map(|page| crate::text::shape::site_of(&iri_of(page)).map(str::to_owned))
            .collect();
        let mut types = Vec::new();
        for class in hit.types.into_iter().take(TYPES_SHOWN) {
            let label = self.class_label(class.as_str())?;
            types.push(Named { iri: class.into_string(), label });
        }
        let mut pages = Vec::new();
        let mut image = None;
        for page in hit.pages.iter().take(PAGES_SHOWN) {
            let graph = self.view.hasher.subject(page.as_ref());
            let title = self.quotes.label(graph, graph, &[])?.map(|title| title.value().to_owned());
            pages.push(EntityPage { url: iri_of(page), title });
            if image.is_none() {
                image = self.quotes.linked(graph, subject, &self.images)?.map(oxrdf::NamedNode::into_string);
            }
        }
        Ok(Some(Entity {
            iri: iri.to_owned(),
            label: hit.label,
            label_language: None,
            types,
            snippet: EntitySnippet {
                text: snippet(&hit.snippet.text, &Look::default()),
                ..EntitySnippet::default()
            },
            score: hit.score,
            sites: sites.len() as u64,
            pages,
            pages_total: hit.pages.len() as u64,
            image,
            same: self.same(subject)?,
        }))
    }
}

/// A label that any page gives something: in English or in no language if there is one.
fn any_label(view: &View, resolver: &Resolver, subject: TermId) -> Result<Option<String>, IndexError> {
    let mut pattern = [None; 4];
    pattern[SUBJECT] = Some(subject);
    pattern[PREDICATE] = Some(view.hasher.iri(RDFS_LABEL));
    let mut first = None;
    for quad in Scan::new(view, pattern, GraphFilter::UnionWithoutMetadata)?.take(LABELS_LOOKED_AT) {
        if let Term::Literal(literal) = resolver.term(quad?.object)? {
            if literal.language().is_none_or(|language| language.starts_with("en")) {
                return Ok(Some(literal.value().to_owned()));
            }
            first = first.or_else(|| Some(literal.value().to_owned()));
        }
    }
    Ok(first)
}

/// An IRI without brackets, or a blank node.
fn iri_of(node: &NamedOrBlankNode) -> String {
    match node {
        NamedOrBlankNode::NamedNode(node) => node.as_str().to_owned(),
        NamedOrBlankNode::BlankNode(node) => node.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_parts() {
        for (iri, expected) in [
            ("http://schema.org/Person", "Person"),
            ("http://example.org/ns#Thing", "Thing"),
            ("http://example.org/a/", "a"),
            ("urn:x:y", "y"),
            ("", ""),
            ("#", "#"),
        ] {
            assert_eq!(last_part(iri), expected, "{iri}");
        }
    }

    #[test]
    fn prefixes_are_known() {
        assert_eq!(namespace_of("schema"), "http://schema.org/");
        assert_eq!(namespace_of("FOAF:"), "http://xmlns.com/foaf/0.1/");
        assert_eq!(namespace_of("http://example.org/"), "http://example.org/");
        assert_eq!(expand_prefix("foaf:Person").as_deref(), Some("http://xmlns.com/foaf/0.1/Person"));
        assert_eq!(expand_prefix("nope:Person"), None);
    }
}
