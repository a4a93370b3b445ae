//! What the text index keeps of a graph: its documents.
//!
//! In: the triples of a graph and the words of its page. Out: a document for each subject that has literals, one for the page
//! itself, and one for all its plain links together: a page has few things and many links, and a document each for
//! the two words of a link would cost more than everything else on the page. Which link a search meant is found out when one is
//! found. Words are indexed and not kept: the quads have them. What quads do not have, the visible text of a page, is kept for
//! snippets.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use oxrdf::{GraphNameRef, NamedOrBlankNodeRef, TermRef, TripleRef};
use webloom_model::PageText;
use webloom_model::vocab::{is_derived_graph, rdf};

use super::floor_boundary;
use super::shape::{Shape, namespace, primary_language};

/// Most bytes of text indexed for one subject of one page.
pub(super) const BODY_BYTES_MAX: usize = 32 * 1024;
/// Most bytes of a label.
pub(super) const LABEL_BYTES_MAX: usize = 512;
/// Most links in one document. A page with more has several.
const LINKS_MAX: usize = 64;
pub(crate) const RDFS_LABEL: &str = "http://www.w3.org/2000/01/rdf-schema#label";

/// What names a thing, best first.
pub(crate) const LABEL_PREDICATES: [&str; 14] = [
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "https://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
    "http://purl.org/rss/1.0/title",
    "http://ogp.me/ns#title",
    "http://schema.org/headline",
    "https://schema.org/headline",
    "http://www.w3.org/2006/vcard/ns#fn",
    "http://usefulinc.com/ns/doap#name",
];

/// One document of a graph.
#[derive(Debug)]
pub(super) enum Document<'a> {
    /// A subject and what is said of it.
    Subject(SubjectText<'a>),
    /// The words of links, each with its target.
    Links(Vec<(&'a str, Texts<'a>)>),
}

/// Texts that are indexed one after the other, as if they were one with a space in between.
#[derive(Debug, Clone, Default)]
pub(super) struct Texts<'a> {
    texts: Vec<&'a str>,
    /// Of all, and of what is between them.
    bytes: usize,
}

impl<'a> Texts<'a> {
    /// One more text, or as much of it as there is room for.
    fn push(&mut self, text: &'a str) {
        if self.bytes >= BODY_BYTES_MAX || text.is_empty() {
            return;
        }
        self.bytes += usize::from(!self.texts.is_empty());
        let end = floor_boundary(text, BODY_BYTES_MAX - self.bytes);
        self.bytes += end;
        self.texts.push(&text[..end]);
    }

    fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a str> {
        self.texts.iter().copied()
    }
}

/// One subject of one graph, in words. The label is not repeated in the body: both are searched.
#[derive(Debug)]
pub(super) struct SubjectText<'a> {
    pub(super) subject: NamedOrBlankNodeRef<'a>,
    pub(super) label: Option<(usize, &'a str)>,
    pub(super) body: Texts<'a>,
    pub(super) shape: Shape<'a>,
    /// Nothing is said of it but `rdfs:label`s.
    only_named: bool,
    /// It is the page: its words include the text that the page shows.
    pub(super) is_page: bool,
}

impl<'a> SubjectText<'a> {
    fn new(subject: NamedOrBlankNodeRef<'a>) -> Self {
        Self {
            subject,
            label: None,
            body: Texts::default(),
            shape: Shape::default(),
            only_named: true,
            is_page: false,
        }
    }
}

/// False when a graph has no documents; true when it may have some.
pub(crate) fn may_have_documents<'a>(
    graph: GraphNameRef<'_>,
    mut triples: impl Iterator<Item = TripleRef<'a>>,
    page: Option<&PageText>,
) -> bool {
    !is_left_out(graph)
        && (page.is_some() || triples.any(|triple| matches!(triple.object, TermRef::Literal(_))))
}

/// True for graphs that no page wrote.
pub(super) fn is_left_out(graph: GraphNameRef<'_>) -> bool {
    matches!(graph, GraphNameRef::NamedNode(node) if is_derived_graph(node.as_str()))
}

/// The documents of a graph: subjects in order of appearance, then links.
pub(super) fn documents<'a>(
    graph: GraphNameRef<'a>,
    triples: impl Iterator<Item = TripleRef<'a>>,
    page: Option<&'a PageText>,
) -> Vec<Document<'a>> {
    let page_subject = match graph {
        GraphNameRef::NamedNode(node) => Some(NamedOrBlankNodeRef::from(node)),
        GraphNameRef::BlankNode(node) => Some(node.into()),
        GraphNameRef::DefaultGraph => None,
    };
    let mut subjects: Vec<SubjectText<'a>> = Vec::new();
    let mut places: HashMap<NamedOrBlankNodeRef<'a>, usize, RandomState> = HashMap::default();
    let mut last: Option<(NamedOrBlankNodeRef<'a>, usize)> = None;
    let mut at = |subjects: &mut Vec<SubjectText<'a>>, subject| {
        if let Some((known, place)) = last
            && known == subject
        {
            return place;
        }
        let place = *places.entry(subject).or_insert_with(|| {
            subjects.push(SubjectText::new(subject));
            subjects.len() - 1
        });
        last = Some((subject, place));
        place
    };
    let mut linked: HashSet<&'a str, RandomState> = HashSet::default();
    for triple in triples {
        let place = at(&mut subjects, triple.subject);
        let text = &mut subjects[place];
        let predicate = triple.predicate.as_str();
        match triple.object {
            TermRef::Literal(literal) => {
                let rank = LABEL_PREDICATES.iter().position(|label| *label == predicate);
                if let Some(rank) = rank
                    && text.label.is_none_or(|(best, _)| rank < best)
                {
                    // A name that turns out not to be the best is text like any other.
                    if let Some((_, second)) = text.label.replace((rank, literal.value())) {
                        text.body.push(second);
                    }
                }
                text.only_named &= predicate == RDFS_LABEL;
                if text.label.is_none_or(|(_, label)| label != literal.value()) {
                    text.body.push(literal.value());
                }
                if let Some(language) = literal.language().and_then(primary_language) {
                    text.shape.add_language(language);
                }
                text.shape.add_vocabulary(namespace(predicate));
            }
            TermRef::NamedNode(object) => {
                if triple.predicate == rdf::TYPE {
                    text.shape.add_type(object.as_str());
                } else {
                    text.shape.add_vocabulary(namespace(predicate));
                    if Some(triple.subject) == page_subject {
                        linked.insert(object.as_str());
                    }
                }
            }
            TermRef::BlankNode(_) => text.shape.add_vocabulary(namespace(predicate)),
        }
    }
    if let (Some(page), Some(subject)) = (page, page_subject)
        && (page.title.is_some() || !page.body.is_empty())
    {
        let place = at(&mut subjects, subject);
        let text = &mut subjects[place];
        text.only_named = false;
        text.is_page = true;
        if let Some(title) = &page.title {
            if text.label.is_none() {
                text.label = Some((LABEL_PREDICATES.len(), title));
            } else if text.label.is_some_and(|(_, label)| label != title)
                && !text.body.iter().any(|text| text.contains(title.as_str()))
            {
                text.body.push(title);
            }
        }
        text.body.push(&page.body);
    }
    let mut documents = Vec::new();
    let language = page.and_then(|page| page.language.as_deref()).and_then(primary_language);
    let mut links: Vec<(&'a str, Texts<'a>)> = Vec::new();
    for mut subject in subjects {
        if subject.body.is_empty() && subject.label.is_none_or(|(_, label)| label.is_empty()) {
            continue;
        }
        match subject.subject {
            NamedOrBlankNodeRef::NamedNode(node) if subject.is_link(node.as_str(), &linked) => {
                links.push((node.as_str(), subject.words()));
            }
            _ => {
                if let Some(language) = language {
                    subject.shape.assume_language(language);
                }
                documents.push(Document::Subject(subject));
            }
        }
    }
    while !links.is_empty() {
        let rest = links.split_off(links.len().min(LINKS_MAX));
        documents.push(Document::Links(std::mem::replace(&mut links, rest)));
    }
    documents
}

impl<'a> SubjectText<'a> {
    /// All its words.
    fn words(&self) -> Texts<'a> {
        let mut words = Texts::default();
        for text in self.label.iter().map(|(_, label)| *label).chain(self.body.iter()) {
            words.push(text);
        }
        words
    }

    /// True when the page links to this and says nothing else of it than the words of the link.
    fn is_link(&self, iri: &str, linked: &HashSet<&str, RandomState>) -> bool {
        self.only_named
            && !self.shape.has_types()
            && self.label.map_or(0, |(_, label)| label.len()) + self.body.bytes <= LABEL_BYTES_MAX
            && linked.contains(iri)
    }
}

#[cfg(test)]
mod tests {
    use oxrdf::NamedNode;

    use super::*;

    #[test]
    fn links_share_a_document() {
        let node = |local: &str| NamedNode::new_unchecked(format!("http://example.org/{local}"));
        let graph = node("");
        let label = |subject: &NamedNode, words: &str| {
            let literal = oxrdf::Literal::new_simple_literal(words);
            oxrdf::Triple::new(subject.clone(), oxrdf::vocab::rdfs::LABEL.into_owned(), literal)
        };
        let mut triples: Vec<oxrdf::Triple> = (0..70)
            .map(|number| oxrdf::Triple::new(graph.clone(), node("to"), node(&number.to_string())))
            .collect();
        triples.extend((0..70).map(|number| label(&node(&number.to_string()), &format!("to {number}"))));
        // Not linked, and more than a link.
        triples.push(label(&node("other"), "other"));
        triples.push(oxrdf::Triple::new(node("1"), node("p"), oxrdf::Literal::from(1)));
        let found = documents(graph.as_ref().into(), triples.iter().map(oxrdf::Triple::as_ref), None);
        let sizes: Vec<usize> = found
            .iter()
            .map(|document| match document {
                Document::Subject(_) => 0,
                Document::Links(links) => links.len(),
            })
            .collect();
        assert_eq!(sizes, [0, 0, LINKS_MAX, 69 - LINKS_MAX]);
        let Document::Links(links) = &found[2] else { panic!("{found:?}") };
        assert_eq!(links[1].0, "http://example.org/2");
        assert_eq!(links[1].1.texts, ["to 2"]);
    }

    #[test]
    fn the_best_name_wins() {
        let subject = NamedNode::new_unchecked("http://example.org/#it");
        let graph = NamedNode::new_unchecked("http://example.org/");
        let literal = |text: &str| oxrdf::Literal::new_simple_literal(text);
        let triples = [
            oxrdf::Triple::new(
                subject.clone(),
                NamedNode::new_unchecked("http://xmlns.com/foaf/0.1/name"),
                literal("second"),
            ),
            oxrdf::Triple::new(subject.clone(), oxrdf::vocab::rdfs::LABEL.into_owned(), literal("first")),
            oxrdf::Triple::new(
                subject.clone(),
                NamedNode::new_unchecked("http://purl.org/dc/terms/title"),
                literal("third"),
            ),
        ];
        let page = PageText { title: Some("The page".to_owned()), body: "Words".to_owned(), language: None };
        let found = documents(graph.as_ref().into(), triples.iter().map(oxrdf::Triple::as_ref), Some(&page));
        let [Document::Subject(thing), Document::Subject(page)] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(thing.label, Some((0, "first")));
        assert_eq!(thing.body.texts, ["second", "third"]);
        assert_eq!(page.label.map(|(_, label)| label), Some("The page"));
        assert_eq!(page.body.texts, ["Words"]);
    }
    #[test]
    fn a_long_text_is_cut() {
        let long = "é".repeat(BODY_BYTES_MAX);
        let mut texts = Texts::default();
        for text in ["", "abc", &long, "more"] {
            texts.push(text);
        }
        assert_eq!(texts.texts[0], "abc");
        assert_eq!(texts.texts[1].len(), BODY_BYTES_MAX - 4);
        assert_eq!(texts.texts.len(), 2);
    }
}
