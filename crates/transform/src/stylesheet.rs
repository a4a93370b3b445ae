//! XSLT stylesheets over pages: the page as a tree for the engine, the result as quads.
//!
//! In: a page and a compiled [`Stylesheet`]. Out: what it writes, or an error that names stylesheet and line. The engine opens
//! nothing by itself; what a page's own transformation imports or asks for with `document()` comes through [`SourceLoader`], from
//! the caller's [`ContextSource`]. HTML is handed over as the XHTML that its parse gives. Which stylesheet a page gets is
//! decided by [`grddl`](crate::grddl) and [`rules`](crate::rules); what it wrote is read by [`result`](crate::result).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use webloom_model::{DetectedPage, Diagnostic, DocumentKind};
use webloom_xslt::{Document, Limits, Loaded, Loader, Purpose, XsltError};

use crate::config::ContextSource;
use crate::dom::{Dom, Edge, NodeData};
use crate::{Sink, html};

/// Documents that a stylesheet did not get and that are told.
const REFUSED_MAX: usize = 4;

/// Gives stylesheets what the context source knows, and nothing else: no file, no socket.
pub(crate) struct SourceLoader<'a> {
    source: &'a dyn ContextSource,
    /// Modules that were asked for: what they are, or nothing.
    modules: Mutex<Vec<(String, Option<Arc<str>>)>>,
}

impl<'a> SourceLoader<'a> {
    pub(crate) fn new(source: &'a dyn ContextSource) -> Self {
        Self { source, modules: Mutex::default() }
    }

    /// Modules of stylesheets that were given, and those that were asked for and are not known.
    pub(crate) fn modules(self) -> (Vec<(String, Arc<str>)>, Vec<String>) {
        let (mut given, mut missed) = (Vec::new(), Vec::new());
        for (uri, text) in self.modules.into_inner().unwrap_or_else(PoisonError::into_inner) {
            match text {
                Some(text) => given.push((uri, text)),
                None => missed.push(uri),
            }
        }
        (given, missed)
    }
}

impl Loader for SourceLoader<'_> {
    fn load(&self, uri: &str, purpose: Purpose) -> Result<Loaded, String> {
        let is_module = matches!(purpose, Purpose::Import | Purpose::Include);
        let found = if is_module { self.source.document(uri) } else { self.source.readable(uri) };
        if is_module {
            let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
            modules.push((uri.to_owned(), found.clone()));
        }
        match found {
            Some(text) => Ok(Loaded { bytes: text.as_bytes().to_vec(), uri: uri.to_owned() }),
            None => Err("it is not among the documents that may be read".to_owned()),
        }
    }
}

/// Passes on what a stylesheet asks for, and takes note of what it did not get.
pub(crate) struct Noted<'a> {
    loader: &'a dyn Loader,
    refused: Mutex<Vec<(String, String)>>,
}

impl<'a> Noted<'a> {
    pub(crate) fn new(loader: &'a dyn Loader) -> Self {
        Self { loader, refused: Mutex::default() }
    }

    /// Tells what was not given to the stylesheet called `name`. XSLT lets it go on without.
    pub(crate) fn tell(self, name: &str, sink: &mut Sink<'_>) {
        let refused = self.refused.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (uri, reason) in refused {
            let message = format!("{name} asks for <{uri}> and does not get it: {reason}");
            sink.diagnose(Diagnostic::warning("xslt-document", message));
        }
    }
}

impl Loader for Noted<'_> {
    fn load(&self, uri: &str, purpose: Purpose) -> Result<Loaded, String> {
        let loaded = self.loader.load(uri, purpose);
        if let Err(reason) = &loaded {
            let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
            if refused.len() < REFUSED_MAX && !refused.iter().any(|(known, _)| known == uri) {
                refused.push((uri.to_owned(), reason.clone()));
            }
        }
        loaded
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
///
/// `dom` is the page's tree, where it was parsed as HTML before.
pub(crate) fn document_of(
    page: &DetectedPage,
    text: &str,
    dom: Option<&Dom>,
    sink: &Sink<'_>,
) -> Result<Document, XsltError> {
    let url = page.page.url.as_str();
    let limits = limits(sink);
    if page.detection.kind != DocumentKind::Html
        && let Ok(document) = Document::parse(text.as_bytes(), url, &limits)
    {
        return Ok(document);
    }
    if let Some(dom) = dom {
        return fill(dom, url, &limits);
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
