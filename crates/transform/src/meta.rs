//! What pages say of themselves in `<meta>` and `<link>`, beside what plain HTML and RDFa already see.
//!
//! In: a parsed page. Out: triples about the page from Open Graph and Twitter cards ([`open_graph`]), Dublin Core
//! ([`dublin_core`]), scholarly tags ([`citation`]) and the names everybody uses (author, keywords, dates, position). Values that
//! are written in two vocabularies are said in both. Links with a relation are plain HTML's and [`crate::relation`]'s. Every mapping is
//! listed in `docs/meta.md`. Start at [`read`].

mod citation;
mod dates;
mod dublin_core;
mod open_graph;

use std::collections::HashMap;

use html5ever::local_name;
use oxrdf::{BlankNode, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Term};
use webloom_model::vocab::{dcterms, geo, rdf, rdfs, wl, xsd};
use webloom_model::{Diagnostic, UrlProblem};

use crate::Sink;
use crate::dom::Element;
use crate::html::ParsedPage;
use crate::html::parsed::language_tag;
use crate::html::plain::{DESCRIPTION_CHARS_MAX, non_empty};

/// Elements that are read.
const ELEMENTS_MAX: usize = 2000;
/// Members of one list of keywords.
const SUBJECTS_MAX: usize = 100;

/// Reads the `<meta>` and `<link>` vocabularies of a page.
pub(crate) fn read(page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
    if page.head.is_empty() {
        return;
    }
    sink.begin_block();
    if page.head.len() > ELEMENTS_MAX {
        let message =
            format!("the page has more than {ELEMENTS_MAX} meta and link elements; the rest was left out");
        sink.diagnose(Diagnostic::warning("meta-cut", message));
    }
    let mut reader = MetaReader {
        page,
        subject: page.page.url.graph_name().into(),
        sink,
        schemas: Vec::new(),
        structures: HashMap::new(),
        author: None,
        authors: 0,
        described: false,
        place: Place::default(),
    };
    let elements = || page.head.iter().take(ELEMENTS_MAX).filter_map(|id| page.dom.element(*id));
    // A declaration may stand behind what it is for.
    for element in elements().filter(|element| element.name.local == local_name!("link")) {
        if let (Some(rel), Some(href)) = link_of(element) {
            dublin_core::declare(&mut reader, rel.trim(), href);
        }
    }
    for element in elements() {
        match element.name.local {
            local_name!("meta") => reader.meta(element),
            local_name!("link") => {
                if let (Some(rel), Some(href)) = link_of(element) {
                    for token in rel.split_ascii_whitespace().take(16).filter(|token| token.contains('.')) {
                        dublin_core::read_link(&mut reader, token, href);
                    }
                }
            }
            // `<time pubdate>`, which HTML had for a while and blogs still have.
            _ => {
                if let Some(date) = element.attribute(&local_name!("datetime")) {
                    reader.push(reader.subject.clone(), dcterms::ISSUED.into_owned(), dates::literal(date));
                }
            }
        }
    }
    reader.place();
}

fn link_of(element: &Element) -> (Option<&str>, Option<&str>) {
    (element.attribute(&local_name!("rel")), element.attribute(&local_name!("href")))
}

/// How the value of a plain name is written.
#[derive(Clone, Copy)]
enum Value {
    Text,
    /// A name or a code, which is the same in every language.
    Code,
    Date,
    /// A list, with commas or semicolons.
    Subjects,
    /// A reference where it is one, else text.
    Reference,
}

/// Names without a vocabulary of their own, in lower case.
const NAMES: &[(&str, NamedNodeRef<'_>, Value)] = &[
    ("author", dcterms::CREATOR, Value::Code),
    ("parsely-author", dcterms::CREATOR, Value::Code),
    ("sailthru.author", dcterms::CREATOR, Value::Code),
    ("creator", dcterms::CREATOR, Value::Code),
    ("publisher", dcterms::PUBLISHER, Value::Code),
    ("copyright", dcterms::RIGHTS, Value::Text),
    ("rights", dcterms::RIGHTS, Value::Text),
    ("license", dcterms::LICENSE, Value::Reference),
    ("abstract", dcterms::ABSTRACT, Value::Text),
    ("subject", dcterms::SUBJECT, Value::Text),
    ("keywords", dcterms::SUBJECT, Value::Subjects),
    ("news_keywords", dcterms::SUBJECT, Value::Subjects),
    ("parsely-tags", dcterms::SUBJECT, Value::Subjects),
    ("sailthru.tags", dcterms::SUBJECT, Value::Subjects),
    ("date", dcterms::DATE, Value::Date),
    ("created", dcterms::CREATED, Value::Date),
    ("pubdate", dcterms::ISSUED, Value::Date),
    ("publish-date", dcterms::ISSUED, Value::Date),
    ("publish_date", dcterms::ISSUED, Value::Date),
    ("publication_date", dcterms::ISSUED, Value::Date),
    ("parsely-pub-date", dcterms::ISSUED, Value::Date),
    ("sailthru.date", dcterms::ISSUED, Value::Date),
    ("last-modified", dcterms::MODIFIED, Value::Date),
    ("lastmod", dcterms::MODIFIED, Value::Date),
    ("modified", dcterms::MODIFIED, Value::Date),
    ("revised", dcterms::MODIFIED, Value::Date),
    ("generator", wl::GENERATOR, Value::Code),
    ("application-name", wl::APPLICATION_NAME, Value::Code),
];

/// Where a page says it is.
#[derive(Default)]
struct Place {
    position: Option<(String, String)>,
    name: Option<String>,
    region: Option<String>,
}

/// What is known while the elements are read.
struct MetaReader<'r, 'p, 's> {
    page: &'r ParsedPage<'p>,
    subject: NamedOrBlankNode,
    sink: &'r mut Sink<'s>,
    /// Prefixes and namespaces that the page declares.
    schemas: Vec<(String, String)>,
    /// Nodes that details are said of, by prefix and root of their name.
    structures: HashMap<(&'static str, String), NamedOrBlankNode>,
    author: Option<citation::Author>,
    authors: usize,
    described: bool,
    place: Place,
}

impl MetaReader<'_, '_, '_> {
    fn meta(&mut self, element: &Element) {
        let Some(content) = element.attribute(&local_name!("content")).map(str::trim) else { return };
        if content.is_empty() {
            return;
        }
        let name = element.attribute(&local_name!("name")).map(str::trim).unwrap_or_default();
        let property = element.attribute_named("property").map(str::trim).unwrap_or_default();
        for token in property.split_ascii_whitespace().take(16) {
            open_graph::read(self, token, content);
        }
        if !name.is_empty() && name != property {
            let _ = open_graph::read(self, name, content)
                || citation::read(self, name, content)
                || dublin_core::read_meta(self, element, name, content)
                || self.plain_name(element, name, content);
        } else if name.is_empty()
            && let Some(pragma) = element.attribute(&local_name!("http-equiv"))
            && pragma.trim().eq_ignore_ascii_case("last-modified")
        {
            self.push(self.subject.clone(), dcterms::MODIFIED.into_owned(), dates::literal(content));
        }
    }

    /// Reads a name that is in no vocabulary; false when it is unknown.
    fn plain_name(&mut self, element: &Element, name: &str, content: &str) -> bool {
        let page = self.subject.clone();
        if name.eq_ignore_ascii_case("description") {
            // The first one counts, for plain HTML too.
            if !std::mem::replace(&mut self.described, true)
                && let Some(description) = non_empty(content, DESCRIPTION_CHARS_MAX)
            {
                self.push(page, dcterms::DESCRIPTION.into_owned(), self.page.literal(&description));
            }
            return true;
        }
        if let Some((_, predicate, value)) =
            NAMES.iter().find(|(known, _, _)| known.eq_ignore_ascii_case(name))
        {
            let predicate = predicate.into_owned();
            match value {
                Value::Text => self.push(page, predicate, self.text_of(element, content)),
                Value::Code => self.push(page, predicate, Literal::new_simple_literal(content)),
                Value::Date => self.push(page, predicate, dates::literal(content)),
                Value::Subjects => {
                    for subject in subjects(content) {
                        self.push(page.clone(), predicate.clone(), self.text_of(element, subject));
                    }
                }
                Value::Reference => match self.resolve(content).filter(|_| content.contains(':')) {
                    Some(node) => self.push(page, predicate, node),
                    None => self.push(page, predicate, self.text_of(element, content)),
                },
            }
            return true;
        }
        if name.eq_ignore_ascii_case("geo.position") || name.eq_ignore_ascii_case("icbm") {
            let position = content.split_once(';').or_else(|| content.split_once(',')).and_then(coordinates);
            self.place.position = self.place.position.take().or(position);
        } else if name.eq_ignore_ascii_case("geo.placename") {
            self.place.name.get_or_insert_with(|| content.to_owned());
        } else if name.eq_ignore_ascii_case("geo.region") {
            self.place.region.get_or_insert_with(|| content.to_owned());
        } else {
            return false;
        }
        true
    }

    /// Writes where the page says it is.
    fn place(&mut self) {
        let place = std::mem::take(&mut self.place);
        if place.position.is_none() && place.name.is_none() && place.region.is_none() {
            return;
        }
        let node = BlankNode::new_unchecked("place");
        self.push(self.subject.clone(), dcterms::SPATIAL.into_owned(), node.clone());
        if let Some((latitude, longitude)) = place.position {
            self.push(node.clone(), rdf::TYPE.into_owned(), geo::POINT.into_owned());
            let decimal = |text: String| Literal::new_typed_literal(text, xsd::DECIMAL);
            self.push(node.clone(), geo::LAT.into_owned(), decimal(latitude));
            self.push(node.clone(), geo::LONG.into_owned(), decimal(longitude));
        }
        if let Some(name) = place.name {
            self.push(node.clone(), rdfs::LABEL.into_owned(), self.page.literal(&name));
        }
        if let Some(region) = place.region {
            self.push(node, dcterms::IDENTIFIER.into_owned(), Literal::new_simple_literal(region));
        }
    }

    fn push(&mut self, subject: impl Into<NamedOrBlankNode>, predicate: NamedNode, object: impl Into<Term>) {
        self.sink.push_triple(subject, predicate, object);
    }

    /// Text in the page's language.
    fn text(&self, content: &str) -> Literal {
        self.page.literal(content)
    }

    /// Text in the element's language, or the page's.
    fn text_of(&self, element: &Element, content: &str) -> Literal {
        let own = element.attribute(&local_name!("lang")).or_else(|| element.attribute_named("xml:lang"));
        match own.and_then(language_tag) {
            Some(tag) => Literal::new_language_tagged_literal(content, tag)
                .unwrap_or_else(|_| Literal::new_simple_literal(content)),
            None => self.page.literal(content),
        }
    }

    /// What a reference leads to, if it leads anywhere.
    fn resolve(&self, reference: &str) -> Option<NamedOrBlankNode> {
        match self.page.base.join(reference) {
            Ok(url) => Some(url.graph_name().into()),
            Err(UrlProblem::Scheme { scheme, .. }) if scheme != "javascript" && scheme != "data" => {
                NamedNode::new(reference).ok().map(Into::into)
            }
            Err(_) => None,
        }
    }
}

/// The members of a list of keywords.
fn subjects(content: &str) -> impl Iterator<Item = &str> {
    content
        .split([',', ';', '\u{3001}', '\u{ff0c}'])
        .map(str::trim)
        .filter(|member| !member.is_empty())
        .take(SUBJECTS_MAX)
}

/// Latitude and longitude as decimals, if they are on this planet.
fn coordinates((latitude, longitude): (&str, &str)) -> Option<(String, String)> {
    let decimal = |text: &str, limit: f64| {
        let text = text.trim();
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
        let number: f64 = text.parse().ok().filter(|_| is_plain)?;
        (number.abs() <= limit).then(|| text.to_owned())
    };
    Some((decimal(latitude, 90.0)?, decimal(longitude, 180.0)?))
}
