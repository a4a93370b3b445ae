//! What a caller can choose: which syntaxes are read, where contexts come from, and every limit.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use webloom_model::PageUrl;

use crate::compiled::Compiled;
use crate::rules::Rules;

/// A syntax that can be read or left alone. The names are those of the command line's `--only`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Syntax {
    /// The triples plain HTML gives.
    Html,
    /// RDFa 1.1, in HTML and in XML.
    Rdfa,
    /// Microdata.
    Microdata,
    /// JSON-LD, in HTML or alone.
    JsonLd,
    /// Microformats, both versions.
    Microformats,
    /// Open Graph, Twitter cards, Dublin Core, and HTTP's `Link`.
    Meta,
    /// RSS, Atom, JSON Feed, OPML, sitemaps.
    Feed,
    /// Turtle, TriG, N-Triples, N-Quads, RDF/XML.
    Rdf,
    /// What transformations that a page names make of it. Code from strangers, so only on request.
    Grddl,
    /// What the rules of the specification make of it: stylesheets, services, commands. There are none unless somebody writes one.
    Xslt,
    /// Other files: vCard, iCalendar, CSV, SVG, WSDL, images.
    File,
}

impl Syntax {
    /// Every syntax.
    pub const ALL: [Self; 11] = [
        Self::Html,
        Self::Rdfa,
        Self::Microdata,
        Self::JsonLd,
        Self::Microformats,
        Self::Meta,
        Self::Feed,
        Self::Rdf,
        Self::Grddl,
        Self::Xslt,
        Self::File,
    ];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Rdfa => "rdfa",
            Self::Microdata => "microdata",
            Self::JsonLd => "jsonld",
            Self::Microformats => "microformats",
            Self::Meta => "meta",
            Self::Feed => "feed",
            Self::Rdf => "rdf",
            Self::Grddl => "grddl",
            Self::Xslt => "xslt",
            Self::File => "file",
        }
    }
}

impl fmt::Display for Syntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSyntax(pub String);

impl fmt::Display for UnknownSyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no syntax; known are", self.0)?;
        for (index, syntax) in Syntax::ALL.iter().enumerate() {
            write!(f, "{} {syntax}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownSyntax {}

impl FromStr for Syntax {
    type Err = UnknownSyntax;

    fn from_str(name: &str) -> Result<Self, UnknownSyntax> {
        Self::ALL
            .into_iter()
            .find(|syntax| syntax.as_str().eq_ignore_ascii_case(name))
            .ok_or_else(|| UnknownSyntax(name.to_owned()))
    }
}

/// Where JSON-LD contexts and RDFa vocabularies come from.
///
/// `transform` never opens a socket: whoever wants contexts from the web fetches them first and answers
/// here from a cache. schema.org's context is built in and is not asked for.
pub trait ContextSource: Send + Sync + fmt::Debug {
    /// The context document (JSON with an `@context` in it) at an absolute IRI, or nothing.
    fn context(&self, iri: &str) -> Option<Arc<str>>;

    /// The vocabulary at an absolute IRI without fragment, in Turtle, RDF/XML or HTML with RDFa, or nothing. Asked for
    /// when `vocab_expansion` is set.
    fn vocabulary(&self, iri: &str) -> Option<Arc<str>> {
        self.context(iri)
    }

    /// The document at an absolute IRI, for GRDDL: a transformation or what it imports, a profile, a namespace. Nothing
    /// unless somebody decided that it may be read.
    fn document(&self, _iri: &str) -> Option<Arc<str>> {
        None
    }

    /// What a transformation that a page names may have by `document()`.
    fn readable(&self, iri: &str) -> Option<Arc<str>> {
        self.document(iri)
    }
}

/// Knows no context but the built-in one.
#[derive(Debug, Clone, Copy, Default)]
pub struct BundledContexts;

impl ContextSource for BundledContexts {
    fn context(&self, _iri: &str) -> Option<Arc<str>> {
        None
    }

    fn vocabulary(&self, iri: &str) -> Option<Arc<str>> {
        let text = match iri.trim_end_matches(['#', '/']) {
            "http://xmlns.com/foaf/0.1" => include_str!("vocabularies/foaf.ttl"),
            "http://purl.org/dc/terms" => include_str!("vocabularies/dcterms.ttl"),
            "http://rdfa.info/vocabs/rdfa-test" => include_str!("vocabularies/rdfa-test.ttl"),
            _ => return None,
        };
        Some(text.into())
    }
}

/// What no page may exceed. Whatever is cut is named in a diagnostic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Time for one page, after which readers stop where they are.
    pub time_max: Duration,
    /// Quads of one page.
    pub quads_max: usize,
    /// Bytes of the terms that one syntax may make of a page before they are quads.
    pub term_bytes_max: usize,
    /// Bytes those quads take in memory, about.
    pub graph_bytes_max: usize,
    /// Diagnostics of one page; the rest is counted.
    pub diagnostics_max: usize,
    /// Open elements in HTML. Deeper ones are flattened, as browsers do.
    pub html_depth_max: usize,
    /// Nodes of an HTML document.
    pub html_nodes_max: usize,
    /// Attributes of an HTML element.
    pub html_attributes_max: usize,
    /// Steps of the HTML tree builder. Counted, so that a cut falls at the same place every time.
    pub html_steps_max: u64,
    /// Distinct plain links of a page.
    pub links_max: usize,
    /// Addresses in a sitemap. The protocol allows as many.
    pub sitemap_links_max: usize,
    /// Characters of a link's text.
    pub anchor_chars_max: usize,
    /// Bytes of visible text kept for search.
    pub text_bytes_max: usize,
    /// Bytes of one JSON-LD block or document.
    pub json_bytes_max: usize,
    /// Nesting of JSON.
    pub json_depth_max: usize,
    /// Bytes that entities may add to an RDF/XML document.
    pub entity_bytes_max: usize,
    /// Nodes looked at for Microdata, counted again each time `itemref` or a nested property reaches them again.
    pub microdata_nodes_max: usize,
    /// Bytes of text and markup that microformats copy from the page; a node looked at counts for a few.
    pub microformats_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time_max: Duration::from_millis(1500),
            quads_max: 1_000_000,
            term_bytes_max: 64 << 20,
            graph_bytes_max: 256 << 20,
            diagnostics_max: 20,
            html_depth_max: 512,
            html_nodes_max: 1_000_000,
            html_attributes_max: 256,
            html_steps_max: 100_000_000,
            links_max: 20_000,
            sitemap_links_max: 50_000,
            anchor_chars_max: 200,
            text_bytes_max: 256 << 10,
            json_bytes_max: 8 << 20,
            json_depth_max: 100,
            entity_bytes_max: 8 << 20,
            microdata_nodes_max: 10_000_000,
            microformats_bytes_max: 16 << 20,
        }
    }
}

/// How pages are transformed.
#[derive(Debug, Clone)]
pub struct TransformConfig {
    /// Read these syntaxes; all of them when nothing is said.
    pub only: Option<BTreeSet<Syntax>>,
    /// Where JSON-LD contexts come from.
    pub contexts: Arc<dyn ContextSource>,
    /// The name by which pages may address us in `<meta name=…>` and `X-Robots-Tag`, in lower case.
    pub robots_agent: String,
    /// Give the processor graph of RDFa too: its warnings and errors, as triples.
    pub processor_graph: bool,
    /// Expand the vocabularies RDFa names: what their definitions say of properties and classes is added.
    pub vocab_expansion: bool,
    /// Whose pages may name transformations by GRDDL.
    pub grddl: GrddlSites,
    /// Transformations that pages have named, compiled.
    pub compiled: Arc<Compiled>,
    /// Stylesheets, services and commands for the pages that they fit.
    pub rules: Arc<Rules>,
    /// What no page may exceed.
    pub limits: Limits,
}

impl Default for TransformConfig {
    fn default() -> Self {
        Self {
            only: None,
            contexts: Arc::new(BundledContexts),
            robots_agent: "webloom".to_owned(),
            processor_graph: false,
            vocab_expansion: false,
            grddl: GrddlSites::None,
            compiled: Arc::default(),
            rules: Arc::default(),
            limits: Limits::default(),
        }
    }
}

impl TransformConfig {
    /// True when that syntax is to be read.
    pub fn wants(&self, syntax: Syntax) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(&syntax))
    }

    /// True when the transformations that the page at `url` names are to be run: its site is allowed to, or it was asked for
    /// by name.
    pub fn wants_grddl(&self, url: &PageUrl) -> bool {
        match &self.only {
            Some(only) => only.contains(&Syntax::Grddl),
            None => self.grddl.contains(url),
        }
    }
}

/// Whose pages may name transformations. They are code from strangers, so nobody's unless somebody says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum GrddlSites {
    /// Nobody's.
    #[default]
    None,
    /// Everybody's.
    All,
    /// Those of these hosts and their subdomains.
    Sites(Vec<String>),
}

impl GrddlSites {
    /// True when the page at `url` is of an allowed site.
    pub fn contains(&self, url: &PageUrl) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Sites(sites) => {
                let host = url.host();
                sites.iter().any(|site| {
                    host.strip_suffix(site.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_a_host_and_its_subdomains() {
        let url = |text| PageUrl::parse(text).unwrap();
        let sites = GrddlSites::Sites(vec!["a.example".to_owned()]);
        assert!(sites.contains(&url("http://a.example/")) && sites.contains(&url("http://www.a.example/x")));
        assert!(!sites.contains(&url("http://ba.example/")) && !sites.contains(&url("http://example/")));
        assert!(GrddlSites::All.contains(&url("http://b.example/")));
        assert!(!GrddlSites::default().contains(&url("http://b.example/")));
    }
}
