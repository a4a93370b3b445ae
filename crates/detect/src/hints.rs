//! What others say of a body: the `Content-Type` header and the extension in the URL.
//!
//! In: texts from the network. Out: a [`MediaType`] to ask questions of, and small tables. Nothing here
//! looks at the body.

use encoding_rs::Encoding;
use webloom_model::DocumentKind;

use crate::mime::MimeType;

/// A `Content-Type`, taken apart. Broken ones are empty.
#[derive(Debug, Default)]
pub(crate) struct MediaType {
    /// `type/subtype` in lower case, or empty.
    pub essence: String,
    /// The `charset` parameter, where it names an encoding there is.
    pub charset: Option<&'static Encoding>,
}

impl MediaType {
    pub(crate) fn parse(content_type: Option<&str>) -> Self {
        match content_type.and_then(MimeType::extract) {
            Some(mime) => Self { essence: mime.essence().to_owned(), charset: mime.encoding() },
            None => Self::default(),
        }
    }

    pub(crate) fn essence_or<'a>(&'a self, otherwise: &'a str) -> &'a str {
        if self.essence.is_empty() { otherwise } else { &self.essence }
    }

    /// The reader the server asks for, where we have it.
    pub(crate) fn kind(&self) -> Option<DocumentKind> {
        Some(match self.essence.as_str() {
            "text/html" => DocumentKind::Html,
            "application/xhtml+xml" | "application/vnd.wap.xhtml+xml" => DocumentKind::Xhtml,
            "application/rss+xml" | "application/x-rss+xml" | "text/rss+xml" => DocumentKind::Rss,
            "application/atom+xml" => DocumentKind::Atom,
            "application/rdf+xml" | "text/rdf+xml" | "application/owl+xml" | "text/rdf" => {
                DocumentKind::RdfXml
            }
            "text/turtle" | "application/turtle" | "application/x-turtle" | "text/n3" | "text/rdf+n3" => {
                DocumentKind::Turtle
            }
            "application/trig" | "application/x-trig" => DocumentKind::TriG,
            "application/n-triples" | "text/n-triples" | "text/ntriples" => DocumentKind::NTriples,
            "application/n-quads" | "text/n-quads" | "text/x-nquads" | "text/nquads" => DocumentKind::NQuads,
            "application/ld+json" | "application/x-ld+json" => DocumentKind::JsonLd,
            "application/feed+json" => DocumentKind::JsonFeed,
            "text/x-opml" | "application/x-opml" | "application/opml+xml" | "text/x-opml+xml" => {
                DocumentKind::Opml
            }
            "image/svg+xml" | "image/svg" => DocumentKind::Svg,
            "application/wsdl+xml" => DocumentKind::Wsdl,
            "text/vcard" | "text/x-vcard" | "text/directory" | "application/vcard" => DocumentKind::VCard,
            "text/calendar" | "text/x-vcalendar" | "application/ics" => DocumentKind::ICalendar,
            "text/csv" | "application/csv" | "text/x-csv" | "text/tab-separated-values" => DocumentKind::Csv,
            _ if self.is_xml() => DocumentKind::Xml,
            _ => return None,
        })
    }

    /// `text/xml`, `application/xml` and every `+xml`.
    pub(crate) fn is_xml(&self) -> bool {
        matches!(self.essence.as_str(), "text/xml" | "application/xml") || self.essence.ends_with("+xml")
    }

    /// HTML, or XML of any sort.
    pub(crate) fn is_html_or_xml(&self) -> bool {
        self.is_xml() || self.essence == "text/html"
    }

    /// Nothing was said, or nothing that means anything: what servers send for files they do not know.
    pub(crate) fn is_vague(&self) -> bool {
        matches!(
            self.essence.as_str(),
            "" | "text/plain"
                | "application/octet-stream"
                | "binary/octet-stream"
                | "application/x-download"
                | "application/force-download"
                | "application/download"
                | "application/unknown"
                | "unknown/unknown"
                | "application/x-unknown"
                | "*/*"
        )
    }

    /// Text of some sort, ours to read or not.
    pub(crate) fn is_text(&self) -> bool {
        self.essence.starts_with("text/") || self.kind().is_some() || self.essence.ends_with("json")
    }

    /// Text in a language of its own, which only markup at the very start can contradict.
    pub(crate) fn is_specific_text(&self) -> bool {
        matches!(
            self.essence.as_str(),
            "text/css"
                | "text/javascript"
                | "application/javascript"
                | "application/x-javascript"
                | "text/csv"
                | "text/markdown"
                | "text/calendar"
                | "text/vcard"
                | "text/tab-separated-values"
                | "application/sparql-query"
                | "application/sql"
        )
    }

    /// Pictures, sound, fonts, archives: not text, and not ours.
    pub(crate) fn is_opaque(&self) -> bool {
        if self.is_xml() || self.kind().is_some() {
            return false;
        }
        self.essence.starts_with("image/")
            || self.essence.starts_with("audio/")
            || self.essence.starts_with("video/")
            || self.essence.starts_with("font/")
            || matches!(
                self.essence.as_str(),
                "application/pdf"
                    | "application/zip"
                    | "application/gzip"
                    | "application/x-gzip"
                    | "application/wasm"
            )
    }
}

/// The extension of the last path segment, in lower case.
pub(crate) fn extension(url: &str) -> Option<&str> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    // A host is not a file: `http://example.org` has no extension.
    let path =
        path.split_once("://").map_or(path, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
    let name = path.rsplit('/').next().unwrap_or_default();
    let (stem, extension) = name.rsplit_once('.')?;
    // Compared with lower-case tables; the few servers with `.TTL` are matched in `kind_of_extension`.
    (!stem.is_empty() && !extension.is_empty() && extension.len() <= 10).then_some(extension)
}

/// The name of what is inside a compressed file: `data.nt` of `data.nt.gz`, `map.svg` of `map.svgz`.
pub(crate) fn inner_name(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    for (suffix, kept) in [(".gz", 0), (".gzip", 0), (".svgz", 4)] {
        if let Some(start) = path.len().checked_sub(suffix.len())
            && path.as_bytes()[start..].eq_ignore_ascii_case(suffix.as_bytes())
        {
            return &path[..start + kept];
        }
    }
    path
}

const EXTENSIONS: &[(&str, DocumentKind)] = &[
    ("html", DocumentKind::Html),
    ("htm", DocumentKind::Html),
    ("xhtml", DocumentKind::Xhtml),
    ("xht", DocumentKind::Xhtml),
    ("rss", DocumentKind::Rss),
    ("atom", DocumentKind::Atom),
    ("rdf", DocumentKind::RdfXml),
    ("rdfs", DocumentKind::RdfXml),
    ("owl", DocumentKind::RdfXml),
    ("ttl", DocumentKind::Turtle),
    ("n3", DocumentKind::Turtle),
    ("trig", DocumentKind::TriG),
    ("nt", DocumentKind::NTriples),
    ("nq", DocumentKind::NQuads),
    ("jsonld", DocumentKind::JsonLd),
    ("opml", DocumentKind::Opml),
    ("svg", DocumentKind::Svg),
    ("wsdl", DocumentKind::Wsdl),
    ("vcf", DocumentKind::VCard),
    ("vcard", DocumentKind::VCard),
    ("ics", DocumentKind::ICalendar),
    ("ical", DocumentKind::ICalendar),
    ("csv", DocumentKind::Csv),
    ("tsv", DocumentKind::Csv),
    ("xml", DocumentKind::Xml),
    ("xsd", DocumentKind::Xml),
    ("xsl", DocumentKind::Xml),
];

/// The reader for files of that name.
pub(crate) fn kind_of_extension(extension: &str) -> Option<DocumentKind> {
    EXTENSIONS.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension)).map(|&(_, kind)| kind)
}

const OTHER_EXTENSIONS: &[(&str, &str)] = &[
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("json", "application/json"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("md", "text/markdown"),
    ("txt", "text/plain"),
    ("ics", "text/calendar"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("ico", "image/x-icon"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
];

/// The media type of files of that name, where their reader's own would be too general or there is no reader.
pub(crate) fn media_type_of_extension(extension: &str) -> Option<&'static str> {
    OTHER_EXTENSIONS
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(extension))
        .map(|&(_, media_type)| media_type)
}

/// True for a media type with a reader, or with a name in the tables here.
pub(crate) fn is_known(essence: &str) -> bool {
    OTHER_EXTENSIONS.iter().any(|(_, known)| *known == essence)
        || MediaType { essence: essence.to_owned(), charset: None }.kind().is_some()
}
