//! XSLT stylesheets over pages: the page as a tree for the engine, the result as quads.
//!
//! In: a page and a compiled [`Stylesheet`]. Out: quads in a [`Sink`], or one diagnostic that names stylesheet and line. The engine
//! opens nothing by itself; what a stylesheet imports or asks for with `document()` comes through [`SourceLoader`], from the
//! caller's [`ContextSource`]. HTML is handed over as the XHTML that its parse gives. Which stylesheet a page gets is decided
//! by [`grddl`](crate::grddl).

use std::time::Instant;

use encoding_rs::{Encoding, UTF_8};
use webloom_model::{DetectedPage, Diagnostic, DocumentKind, PageUrl};
use webloom_xslt::{Document, Limits, Loaded, Loader, Output, Purpose, Stylesheet, Value, XsltError};

use crate::config::ContextSource;
use crate::dom::{Dom, Edge, NodeData};
use crate::{Sink, html, rdf};

/// Gives stylesheets what the context source knows, and nothing else: no file, no socket.
pub(crate) struct SourceLoader<'a>(pub(crate) &'a dyn ContextSource);

impl Loader for SourceLoader<'_> {
    fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        match self.0.document(uri) {
            Some(text) => Ok(Loaded { bytes: text.as_bytes().to_vec(), uri: uri.to_owned() }),
            None => Err("it is not among the documents that may be read".to_owned()),
        }
    }
}

/// What one stylesheet may use up on one page: the time that is left for the page, and no more than a stranger's.
pub(crate) fn limits(sink: &Sink<'_>) -> Limits {
    let left = sink.deadline().saturating_duration_since(Instant::now());
    let untrusted = Limits::untrusted();
    Limits { time_max: untrusted.time_max.min(left), ..untrusted }
}

/// True for pages that are markup, which is what a stylesheet can read.
pub(crate) fn is_markup(kind: DocumentKind) -> bool {
    matches!(
        kind,
        DocumentKind::Html
            | DocumentKind::Xhtml
            | DocumentKind::Xml
            | DocumentKind::Svg
            | DocumentKind::Wsdl
            | DocumentKind::RdfXml
            | DocumentKind::Rss
            | DocumentKind::Atom
            | DocumentKind::Opml
            | DocumentKind::Sitemap
    )
}

/// The page as the engine's tree. XML that is well-formed is parsed by the engine itself, which keeps what DTDs and processing
/// instructions say; anything else is what our own, more patient parsers made of it.
pub(crate) fn document_of(page: &DetectedPage, text: &str, sink: &Sink<'_>) -> Result<Document, XsltError> {
    let url = page.page.url.as_str();
    let limits = limits(sink);
    if page.detection.kind != DocumentKind::Html
        && let Ok(document) = Document::parse(text.as_bytes(), url, &limits)
    {
        return Ok(document);
    }
    let mut quiet = Sink::new(&page.page.url, sink.config());
    let parsed = match page.detection.kind {
        DocumentKind::Html | DocumentKind::Xhtml => html::parse(page, text, &mut quiet).dom,
        _ => crate::xml::parse(text, sink.limits(), sink.deadline()).dom,
    };
    fill(&parsed, url, &limits)
}

/// Copies one of our trees into one of the engine's.
fn fill(dom: &Dom, url: &str, limits: &Limits) -> Result<Document, XsltError> {
    let mut builder = Document::builder(url, limits);
    for edge in dom.traverse(Dom::ROOT) {
        match edge {
            Edge::Open(id) => match &dom.node(id).data {
                NodeData::Element(element) => {
                    builder.set_line(dom.node(id).line);
                    let prefix = element.name.prefix.as_deref().unwrap_or_default();
                    builder.start_element(prefix, &element.name.local, &element.name.ns)?;
                    for attribute in &element.attributes {
                        // Of declarations only the names they gave are left; the HTML parser has them as plain attributes.
                        let local: &str = &attribute.name.local;
                        let prefix = attribute.name.prefix.as_deref().unwrap_or_default();
                        if local == "xmlns" || prefix == "xmlns" || local.contains(':') {
                            continue;
                        }
                        builder.attribute(prefix, local, &attribute.name.ns, &attribute.value)?;
                    }
                }
                NodeData::Text(text) => builder.text(text)?,
                NodeData::Comment(text) => builder.comment(text)?,
                NodeData::Root | NodeData::Other => {}
            },
            Edge::Close(id) => {
                if matches!(dom.node(id).data, NodeData::Element(_)) {
                    builder.end_element();
                }
            }
        }
    }
    Ok(builder.finish())
}

/// Runs a stylesheet on a document and reads what it writes. `name` is what diagnostics call it.
pub(crate) fn run(
    stylesheet: &Stylesheet,
    name: &str,
    document: &Document,
    url: &PageUrl,
    parameters: &[(String, Value)],
    sink: &mut Sink<'_>,
) {
    let contexts = sink.config().contexts.clone();
    let loader = SourceLoader(&*contexts);
    match stylesheet.transform(document, parameters, &loader, &limits(sink)) {
        Ok(output) => read_output(&output, name, url, sink),
        Err(error) => {
            sink.diagnose(Diagnostic::warning("xslt", format!("the stylesheet <{name}> failed: {error}")));
        }
    }
}

/// Reads a stylesheet's result, in the syntax that it says or seems to be.
fn read_output(output: &Output, name: &str, url: &PageUrl, sink: &mut Sink<'_>) {
    let encoding = Encoding::for_label(output.encoding.as_bytes()).unwrap_or(UTF_8);
    let (text, _, _) = encoding.decode(&output.bytes);
    let media_type = output.media_type.as_deref().unwrap_or_default().split(';').next().unwrap_or_default();
    let begins_as_markup = text.trim_ascii_start().starts_with('<');
    match media_type.trim() {
        "text/turtle" | "text/n3" | "text/rdf+n3" | "application/x-turtle" | "application/n-triples" => {
            rdf::read_turtle(url, &text, sink);
        }
        "application/trig" => rdf::read_trig(url, &text, sink),
        "application/n-quads" => rdf::read_n_quads(&text, sink),
        _ if text.trim_ascii().is_empty() => {
            let message = format!("the stylesheet <{name}> wrote nothing");
            sink.diagnose(Diagnostic::note("xslt-empty", message));
        }
        // An IRI in angle brackets begins a line of Turtle too; only markup has a name, a mark or a letter without colon there.
        _ if begins_as_markup
            && (text.contains("rdf-syntax-ns#") || text.trim_ascii_start().starts_with("<?")) =>
        {
            rdf::read_rdf_xml(url, &text, sink);
        }
        _ => rdf::read_turtle(url, &text, sink),
    }
}
