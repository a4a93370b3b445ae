//! HTML: parsed once, read by every syntax that can be embedded in it.
//!
//! In: the decoded text of a page. Out: quads, words, robots' directives, in a [`Sink`]. The parse is
//! [`parsed`], the tree [`dom`], the parser's guard against hostile markup `build`. Start at `read`.

pub(crate) mod build;
pub mod dom;
pub mod parsed;
pub(crate) mod plain;

use webloom_model::DetectedPage;

use crate::{Sink, Syntax, jsonld};
pub use parsed::ParsedPage;

/// A syntax embedded in HTML.
type Reader = fn(&ParsedPage<'_>, &mut Sink<'_>);

/// The syntaxes embedded in HTML, in the order their quads are written. RDFa, Microdata, microformats and
/// `meta` vocabularies each get a line here.
const READERS: &[(Syntax, Reader)] = &[(Syntax::JsonLd, jsonld::read_html)];

/// Reads an HTML or XHTML page.
pub(crate) fn read(page: &DetectedPage, text: &str, sink: &mut Sink<'_>) {
    let parsed = ParsedPage::parse(&page.page, text, sink);
    // Plain HTML is always read: it has the page's words. Whether it gives quads is decided there.
    plain::read(&parsed, sink);
    for (syntax, reader) in READERS {
        if sink.config().wants(*syntax) {
            reader(&parsed, sink);
        }
    }
}
