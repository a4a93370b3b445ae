//! HTML: parsed once, read by every syntax that can be embedded in it.
//!
//! In: the decoded text of a page. Out: quads, words, robots' directives, in a [`Sink`]. The parse is
//! [`parsed`], the tree [`crate::dom`], the parser's guard against hostile markup `build`. Start at `read`.

pub(crate) mod build;
mod encoding;
mod language;
pub mod links;
pub mod parsed;
pub(crate) mod plain;
mod tokenize;

use webloom_model::{DetectedPage, Diagnostic, DocumentKind};

use crate::sink::HtmlTree;
use crate::{Sink, Syntax, file, jsonld, meta, microdata, microformats, rdfa, xml};
pub use encoding::QueryEncoding;
pub use parsed::{Host, ParsedPage};

/// A syntax embedded in HTML.
type Reader = fn(&ParsedPage<'_>, &mut Sink<'_>);

/// The syntaxes embedded in HTML, in the order their quads are written.
const READERS: &[(Syntax, Reader)] = &[
    (Syntax::Meta, meta::read),
    (Syntax::Rdfa, rdfa::read),
    (Syntax::Microdata, microdata::read),
    (Syntax::JsonLd, jsonld::read_html),
    (Syntax::Microformats, microformats::read),
];

/// Parses an HTML or XHTML page.
///
/// XHTML is read as XML while it is well-formed, and as what browsers make of it when it is not.
pub(crate) fn parse<'a>(page: &'a DetectedPage, text: &str, sink: &mut Sink<'_>) -> ParsedPage<'a> {
    let as_xml = (page.detection.kind == DocumentKind::Xhtml)
        .then(|| xml::parse(text, sink.limits(), sink.deadline()));
    match as_xml {
        Some(document) if document.well_formed => ParsedPage::from_xml(page, document, sink),
        Some(document) => {
            if let Some(mistake) = document.diagnostics.into_iter().next() {
                let message = format!("XHTML that is not well-formed was read as HTML: {}", mistake.message);
                sink.diagnose(Diagnostic { code: "xhtml-syntax".into(), message, ..mistake });
            }
            ParsedPage::parse(page, text, sink)
        }
        None => ParsedPage::parse(page, text, sink),
    }
}

/// Reads an HTML or XHTML page.
pub(crate) fn read(page: &DetectedPage, text: &str, sink: &mut Sink<'_>) {
    let parsed = parse(page, text, sink);
    // Plain HTML is always read: it has the page's words. Whether it gives quads is decided there.
    plain::read(&parsed, sink);
    for (syntax, reader) in READERS {
        if sink.config().wants(*syntax) {
            reader(&parsed, sink);
        }
    }
    sink.keep_tree(page, HtmlTree { dom: parsed.dom, base: parsed.base });
}

/// Reads any other XML: what is embedded in it, and what files of its kind say.
pub(crate) fn read_xml(page: &DetectedPage, text: &str, sink: &mut Sink<'_>) {
    let document = xml::parse(text, sink.limits(), sink.deadline());
    let parsed = ParsedPage::from_xml(page, document, sink);
    if sink.config().wants(Syntax::File) {
        file::read_xml(page, &parsed, text, sink);
    }
    if sink.config().wants(Syntax::Rdfa) {
        rdfa::read(&parsed, sink);
    }
}
