//! A parsed page with what every embedded syntax needs to know of it: its tree, base and language.

use html5ever::{LocalName, local_name, ns};
use oxrdf::Literal;
use webloom_model::{DetectedPage, FetchedPage, PageUrl, UrlProblem};

use super::build::build;
use super::encoding::{self, QueryEncoding};
use crate::Sink;
use crate::dom::{Dom, NodeId};
use crate::xml::XmlDocument;

/// Names of a `<meta>` that says the page's language.
const LANGUAGE_NAMES: &[&str] = &["language", "dc.language", "dcterms.language"];

/// The language a page is written in, which decides some rules of the syntaxes embedded in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// HTML, by the HTML parser.
    Html,
    /// XHTML, by the XML parser.
    Xhtml,
    /// SVG.
    Svg,
    /// Any other XML.
    Xml,
}

/// A page, parsed once for all syntaxes.
#[derive(Debug)]
pub struct ParsedPage<'a> {
    /// As fetched: URL, headers.
    pub page: &'a FetchedPage,
    /// What it is written in.
    pub host: Host,
    /// The public identifier of its DOCTYPE.
    pub public_id: Option<String>,
    /// The tree.
    pub dom: Dom,
    /// What references are resolved against: `<base href>`, or the page's own URL.
    pub base: PageUrl,
    /// What the queries of its links are encoded in, where that is not UTF-8.
    pub encoding: Option<QueryEncoding>,
    /// The `lang` of `<html>`, where it is a language tag. Literals of the page carry it.
    pub tag: Option<String>,
    /// The language of the page: its `lang`, or what a `<meta>` or the server says.
    pub language: Option<String>,
    /// Where it speaks of itself: `<meta>`, `<link>` and `<time pubdate>`, in document order.
    pub(crate) head: Vec<NodeId>,
}

impl<'a> ParsedPage<'a> {
    /// Parses the text of a page.
    pub(crate) fn parse(page: &'a DetectedPage, text: &str, sink: &mut Sink<'_>) -> Self {
        let built = build(text, sink.limits(), sink.deadline());
        built.diagnostics.into_iter().for_each(|diagnostic| sink.diagnose(diagnostic));
        Self::new(page, built.dom, Host::Html, built.public_id)
    }

    /// Takes a document that was parsed as XML.
    pub(crate) fn from_xml(page: &'a DetectedPage, document: XmlDocument, sink: &mut Sink<'_>) -> Self {
        let host = document.root().map_or(Host::Xml, |(_, root)| match &*root.name.local {
            "html" if root.name.ns == ns!(html) => Host::Xhtml,
            "svg" if root.name.ns == ns!(svg) => Host::Svg,
            _ => Host::Xml,
        });
        document.diagnostics.into_iter().for_each(|diagnostic| sink.diagnose(diagnostic));
        Self::new(page, document.dom, host, document.public_id)
    }

    fn new(page: &'a DetectedPage, dom: Dom, host: Host, public_id: Option<String>) -> Self {
        let encoding = QueryEncoding::of(page);
        let page = &page.page;
        let mut base = None;
        let mut tag = None;
        let mut pragma = None;
        let mut named = None;
        let mut head = Vec::new();
        for (id, element) in dom.elements(Dom::ROOT) {
            if element.name.ns != ns!(html) {
                continue;
            }
            match element.name.local {
                local_name!("html") if tag.is_none() => {
                    tag = element
                        .attribute(&local_name!("lang"))
                        .or_else(|| element.attribute_named("xml:lang"))
                        .and_then(language_tag);
                }
                // The first base that has a reference counts, even if it can only be ignored.
                local_name!("base") if base.is_none() => {
                    base = element.attribute(&local_name!("href")).map(|href| {
                        encoding::resolve(&page.url, href, encoding).unwrap_or_else(|_| page.url.clone())
                    });
                }
                local_name!("meta") => {
                    head.push(id);
                    let is = |attribute: &LocalName, names: &[&str]| {
                        element.attribute(attribute).is_some_and(|name| {
                            names.iter().any(|known| known.eq_ignore_ascii_case(name.trim()))
                        })
                    };
                    let said = || element.attribute(&local_name!("content")).and_then(only_language_tag);
                    if pragma.is_none() && is(&local_name!("http-equiv"), &["content-language"]) {
                        pragma = said();
                    } else if named.is_none() && is(&local_name!("name"), LANGUAGE_NAMES) {
                        named = said();
                    }
                }
                local_name!("link") => head.push(id),
                local_name!("time") if element.attribute_named("pubdate").is_some() => head.push(id),
                _ => {}
            }
        }
        let language = tag
            .clone()
            .or(pragma)
            .or_else(|| page.header("content-language").and_then(only_language_tag))
            .or(named);
        Self {
            page,
            host,
            public_id,
            base: base.unwrap_or_else(|| page.url.clone()),
            encoding,
            dom,
            tag,
            language,
            head,
        }
    }

    /// Where a reference in HTML leads.
    pub fn resolve(&self, reference: &str) -> Result<PageUrl, UrlProblem> {
        encoding::resolve(&self.base, reference, self.encoding)
    }

    /// The same with its fragment, if the page's encoding matters to it.
    pub(crate) fn resolve_encoded(&self, reference: &str) -> Option<String> {
        self.encoding.filter(|encoding| encoding.matters_to(reference))?;
        let (document, fragment) = reference.split_at(reference.find('#').unwrap_or(reference.len()));
        Some(format!("{}{fragment}", self.resolve(document).ok()?))
    }

    /// A literal in the page's language.
    pub fn literal(&self, value: &str) -> Literal {
        self.tag
            .as_ref()
            .and_then(|tag| Literal::new_language_tagged_literal(value, tag).ok())
            .unwrap_or_else(|| Literal::new_simple_literal(value))
    }
}

/// A list of languages with one member names the page's; with more it names its audience's.
fn only_language_tag(list: &str) -> Option<String> {
    let mut tags = list.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    match (tags.next(), tags.next()) {
        (Some(tag), None) => language_tag(tag),
        _ => None,
    }
}

/// The text as a well-formed BCP 47 tag.
pub(crate) fn language_tag(text: &str) -> Option<String> {
    // `en_US` is a locale's name, and common.
    let tag = text.trim().replace('_', "-");
    if tag.is_empty() || tag.len() > 35 {
        return None;
    }
    Literal::new_language_tagged_literal("", &tag).ok().map(|_| tag)
}
