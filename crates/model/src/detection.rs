//! What a body is, once somebody has looked.

use std::fmt;

use bytes::Bytes;
use serde::Serialize;

use crate::FetchedPage;

/// The kinds of document that have a reader of their own. Everything else is `Unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentKind {
    /// HTML, read by the HTML parser however broken.
    Html,
    /// XHTML served or written as XML. Still read by the HTML parser, which is what browsers' users get.
    Xhtml,
    /// Well-formed or nearly so, of a vocabulary without a reader.
    Xml,
    /// RSS 0.9x and 2.0 (RSS 1.0 is RDF/XML).
    Rss,
    /// Atom.
    Atom,
    /// RDF/XML.
    RdfXml,
    /// Turtle.
    Turtle,
    /// TriG.
    TriG,
    /// N-Triples.
    NTriples,
    /// N-Quads.
    NQuads,
    /// JSON-LD.
    JsonLd,
    /// JSON Feed.
    JsonFeed,
    /// OPML: an outline, mostly a list of feeds.
    Opml,
    /// A sitemap or an index of sitemaps.
    Sitemap,
    /// SVG.
    Svg,
    /// A WSDL description of a web service.
    Wsdl,
    /// vCard.
    VCard,
    /// iCalendar.
    ICalendar,
    /// Comma- or tab-separated values.
    Csv,
    /// A raster image: JPEG, PNG, GIF, WebP, TIFF.
    Image,
    /// Whatever else; its media type is all that is known.
    Unknown,
}

impl DocumentKind {
    /// Every kind, for tables and tests.
    pub const ALL: [Self; 21] = [
        Self::Html,
        Self::Xhtml,
        Self::Xml,
        Self::Rss,
        Self::Atom,
        Self::RdfXml,
        Self::Turtle,
        Self::TriG,
        Self::NTriples,
        Self::NQuads,
        Self::JsonLd,
        Self::JsonFeed,
        Self::Opml,
        Self::Sitemap,
        Self::Svg,
        Self::Wsdl,
        Self::VCard,
        Self::ICalendar,
        Self::Csv,
        Self::Image,
        Self::Unknown,
    ];

    /// The word used in output and in the graph.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Xhtml => "xhtml",
            Self::Xml => "xml",
            Self::Rss => "rss",
            Self::Atom => "atom",
            Self::RdfXml => "rdf-xml",
            Self::Turtle => "turtle",
            Self::TriG => "trig",
            Self::NTriples => "n-triples",
            Self::NQuads => "n-quads",
            Self::JsonLd => "json-ld",
            Self::JsonFeed => "json-feed",
            Self::Opml => "opml",
            Self::Sitemap => "sitemap",
            Self::Svg => "svg",
            Self::Wsdl => "wsdl",
            Self::VCard => "vcard",
            Self::ICalendar => "icalendar",
            Self::Csv => "csv",
            Self::Image => "image",
            Self::Unknown => "unknown",
        }
    }

    /// The registered media type of the kind, where there is one.
    pub fn media_type(self) -> Option<&'static str> {
        Some(match self {
            Self::Html => "text/html",
            Self::Xhtml => "application/xhtml+xml",
            Self::Xml => "application/xml",
            Self::Rss => "application/rss+xml",
            Self::Atom => "application/atom+xml",
            Self::RdfXml => "application/rdf+xml",
            Self::Turtle => "text/turtle",
            Self::TriG => "application/trig",
            Self::NTriples => "application/n-triples",
            Self::NQuads => "application/n-quads",
            Self::JsonLd => "application/ld+json",
            Self::JsonFeed => "application/feed+json",
            Self::Opml => "text/x-opml",
            Self::Sitemap => "application/xml",
            Self::Svg => "image/svg+xml",
            Self::Wsdl => "application/wsdl+xml",
            Self::VCard => "text/vcard",
            Self::ICalendar => "text/calendar",
            Self::Csv => "text/csv",
            // Which image it is, only its bytes tell.
            Self::Image | Self::Unknown => return None,
        })
    }
}

impl fmt::Display for DocumentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Namespace and local name of an XML root element.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct XmlName {
    /// Namespace IRI; empty when the element has none.
    pub namespace: String,
    /// Local name.
    pub local: String,
}

/// What detection found out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detection {
    /// Which reader is for it.
    pub kind: DocumentKind,
    /// Media type, lower case, without parameters: the kind's own, or what the server said of the unknown.
    pub media_type: String,
    /// WHATWG name of the character encoding, for text: `UTF-8`, `windows-1252`.
    pub charset: Option<&'static str>,
    /// The root element, for XML.
    pub xml_root: Option<XmlName>,
    /// Names of the RDF-bearing syntaxes the bytes seem to carry, such as `json-ld` inside HTML. A hint for people.
    pub syntaxes: Vec<&'static str>,
}

/// A page and what it is.
#[derive(Debug, Clone)]
pub struct DetectedPage {
    /// As fetched.
    pub page: FetchedPage,
    /// What it is.
    pub detection: Detection,
    /// What was in the body, where the body is a compressed file such as `sitemap.xml.gz`.
    pub unpacked: Option<Bytes>,
}

impl DetectedPage {
    /// The bytes that detection speaks of: the body, or what was packed in it.
    pub fn content(&self) -> &Bytes {
        self.unpacked.as_ref().unwrap_or(&self.page.body)
    }
}
