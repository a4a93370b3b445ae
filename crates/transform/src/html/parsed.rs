//! A parsed page with what every embedded syntax needs to know of it: its tree, base and language.

use html5ever::{local_name, ns};
use oxrdf::Literal;
use webloom_model::{FetchedPage, PageUrl};

use super::build::build;
use crate::Sink;
use crate::dom::Dom;
use crate::xml::XmlDocument;

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
    /// The `lang` of `<html>`, where it is a language tag. Literals of the page carry it.
    pub tag: Option<String>,
    /// The language of the page: its `lang`, or what a `<meta>` or the server says.
    pub language: Option<String>,
}

impl<'a> ParsedPage<'a> {
    /// Parses the text of a page.
    pub(crate) fn parse(page: &'a FetchedPage, text: &str, sink: &mut Sink<'_>) -> Self {
        let built = build(text, sink.limits(), sink.deadline());
        built.diagnostics.into_iter().for_each(|diagnostic| sink.diagnose(diagnostic));
        Self::new(page, built.dom, Host::Html, built.public_id)
    }

    /// Takes a document that was parsed as XML.
    pub(crate) fn from_xml(page: &'a FetchedPage, document: XmlDocument, sink: &mut Sink<'_>) -> Self {
        let host = document.root().map_or(Host::Xml, |(_, root)| match &*root.name.local {
            "html" if root.name.ns == ns!(html) => Host::Xhtml,
            "svg" if root.name.ns == ns!(svg) => Host::Svg,
            _ => Host::Xml,
        });
        document.diagnostics.into_iter().for_each(|diagnostic| sink.diagnose(diagnostic));
        Self::new(page, document.dom, host, document.public_id)
    }

    fn new(page: &'a FetchedPage, dom: Dom, host: Host, public_id: Option<String>) -> Self {
        let mut base = None;
        let mut tag = None;
        let mut said_in_meta = None;
        for (_, element) in dom.elements(Dom::ROOT) {
            if element.is_html(&local_name!("html")) && tag.is_none() {
                tag = element
                    .attribute(&local_name!("lang"))
                    .or_else(|| element.attribute_named("xml:lang"))
                    .and_then(language_tag);
            } else if element.is_html(&local_name!("base")) && base.is_none() {
                // The first base that has a reference counts, even if it can only be ignored.
                base = element
                    .attribute(&local_name!("href"))
                    .map(|href| page.url.join(href).unwrap_or_else(|_| page.url.clone()));
            } else if element.is_html(&local_name!("meta"))
                && said_in_meta.is_none()
                && element
                    .attribute(&local_name!("http-equiv"))
                    .is_some_and(|name| name.eq_ignore_ascii_case("content-language"))
            {
                said_in_meta = element.attribute(&local_name!("content")).and_then(first_language_tag);
            }
        }
        let language = tag
            .clone()
            .or(said_in_meta)
            .or_else(|| page.header("content-language").and_then(first_language_tag));
        Self { page, host, public_id, base: base.unwrap_or_else(|| page.url.clone()), dom, tag, language }
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
fn first_language_tag(list: &str) -> Option<String> {
    let mut tags = list.split(',').map(str::trim).filter(|tag| !tag.is_empty());
    match (tags.next(), tags.next()) {
        (Some(tag), None) => language_tag(tag),
        _ => None,
    }
}

/// The text as a well-formed BCP 47 tag.
fn language_tag(text: &str) -> Option<String> {
    // `en_US` is a locale's name, and common.
    let tag = text.trim().replace('_', "-");
    if tag.is_empty() || tag.len() > 35 {
        return None;
    }
    Literal::new_language_tagged_literal("", &tag).ok().map(|_| tag)
}
