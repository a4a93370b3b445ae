//! Feeds: RSS 0.90 to 2.0, Atom 0.3 and 1.0, JSON Feed; and what lists feeds and pages: OPML, sitemaps.
//!
//! In: a detected page and its text. Out: quads in RSS 1.0's vocabulary (`docs/feeds.md` has the table), the words of titles
//! and descriptions, and links to follow: those of items, of outlines, of sitemaps. XML is read by [`crate::xml`], which
//! forgives; [`read`] makes a [`model::Described`] of each part, [`write`] writes it. RSS 1.0 is RDF already and is read as
//! such by [`crate::rdf`] unless it is broken: see [`read_rdf`]. Start at [`read`].

mod date;
mod iri;
mod json_feed;
mod markup;
mod model;
mod modules;
mod names;
mod opml;
mod read;
mod sitemap;
mod terms;
mod text;
mod write;

use oxrdf::Term;
use webloom_model::{DetectedPage, DocumentKind, PageUrl};

use self::model::{Described, Text};
use self::names::local_name;
use self::read::{Reader, Role, attribute};
use self::terms::{CONTENT_ENCODED, RDF_HTML, RSS_CHANNEL, RSS_DESCRIPTION, RSS_TITLE};
use self::write::Writer;
use crate::dom::Element;
use crate::html::plain::Collapsed;
use crate::xml::{self, XmlDocument};
use crate::{Sink, Syntax, rdf};

/// RSS 1.0's namespace, and that of 0.90, which looks like RDF and is not meant to be read as such.
const RSS_10: &str = "http://purl.org/rss/1.0/";
const RSS_090: &str = "http://my.netscape.com/rdf/simple/0.9/";

/// Reads a feed, an outline or a sitemap.
pub(crate) fn read(page: &DetectedPage, text: &str, sink: &mut Sink<'_>) {
    if !sink.config().wants(Syntax::Feed) {
        return;
    }
    let url = &page.page.url;
    match page.detection.kind {
        DocumentKind::JsonFeed => return json_feed::read(url, text, sink),
        // A sitemap may be a mere list.
        DocumentKind::Sitemap if !text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => {
            return sitemap::read_text(url, text, sink);
        }
        _ => {}
    }
    let mut document = xml::parse(text, sink.limits(), sink.deadline());
    for diagnostic in std::mem::take(&mut document.diagnostics) {
        sink.diagnose(diagnostic);
    }
    // What the root says outranks what the server said.
    let Some((root, element)) = document.root() else { return };
    match &*local_name(element) {
        "opml" => opml::read(url, &document.dom, root, sink),
        "urlset" | "sitemapindex" if sitemap::is_namespace(&element.name.ns) => {
            sitemap::read(url, &document.dom, root, sink);
        }
        _ => read_xml(url, &document, sink),
    }
}

/// Reads RDF/XML, of which RSS 1.0 is a kind: as RDF when it is, as a feed when it is broken or of version 0.90.
pub(crate) fn read_rdf(page: &DetectedPage, text: &str, sink: &mut Sink<'_>) {
    let url = &page.page.url;
    let has = |namespace: &str| memchr::memmem::find(text.as_bytes(), namespace.as_bytes()).is_some();
    if !has(RSS_10) && !has(RSS_090) {
        if sink.config().wants(Syntax::Rdf) {
            rdf::read_rdf_xml(url, text, sink);
        }
        return;
    }
    let (quads, diagnostics) = (sink.graph.quads.len(), sink.graph.diagnostics.len());
    if has(RSS_10) && !is_version_090(text, sink) {
        rdf::read_rdf_xml(url, text, sink);
        let broken = sink.graph.diagnostics[diagnostics..].iter().any(|it| it.code.starts_with("rdf-xml"));
        if !broken || !sink.config().wants(Syntax::Feed) {
            return words_of_rss_10(quads, sink);
        }
        // The diagnostics stay: they say why the feed was read in another way.
        sink.graph.quads.truncate(quads);
    }
    let mut document = xml::parse(text, sink.limits(), sink.deadline());
    document.diagnostics.drain(..).for_each(|diagnostic| sink.diagnose(diagnostic));
    read_xml(url, &document, sink);
}

/// True when the feed's elements are those of version 0.90, whatever other namespaces it declares.
fn is_version_090(text: &str, sink: &Sink<'_>) -> bool {
    if memchr::memmem::find(text.as_bytes(), RSS_090.as_bytes()).is_none() {
        return false;
    }
    has_elements_of(&xml::parse(text, sink.limits(), sink.deadline()), RSS_090)
}

/// True when some child of the root is in that namespace.
fn has_elements_of(document: &XmlDocument, namespace: &str) -> bool {
    let Some((root, _)) = document.root() else { return false };
    let mut children = document.dom.children(root).filter_map(|child| document.dom.element(child));
    children.any(|child| *child.name.ns == *namespace)
}

/// Takes title and words from the quads of an RSS 1.0 document.
fn words_of_rss_10(from: usize, sink: &mut Sink<'_>) {
    let mut words = Collapsed::new(sink.limits().text_bytes_max);
    let quads = &sink.graph.quads[from..];
    let channel = quads
        .iter()
        .find(|quad| matches!(&quad.object, Term::NamedNode(class) if class.as_ref() == RSS_CHANNEL))
        .map(|quad| quad.subject.clone());
    let mut title = None;
    for quad in quads {
        let Term::Literal(literal) = &quad.object else { continue };
        let text = || {
            let html = literal.datatype() == RDF_HTML;
            if html { Text::html(literal.value()) } else { Text::guessed(literal.value()) }
        };
        if quad.predicate == RSS_TITLE && title.is_none() && Some(&quad.subject) == channel.as_ref() {
            title = Some(text().words()).filter(|title| !title.is_empty());
        } else if quad.predicate == RSS_TITLE || quad.predicate == RSS_DESCRIPTION {
            text().add_words(&mut words);
        }
    }
    // A feed of contents without descriptions.
    if words.text.is_empty() {
        for quad in quads.iter().filter(|quad| quad.predicate == CONTENT_ENCODED) {
            if let Term::Literal(literal) = &quad.object {
                markup::words(literal.value(), &mut words);
                words.space();
            }
        }
    }
    sink.graph.text.title = title;
    sink.graph.text.body = words.text;
}

/// Reads RSS or Atom.
fn read_xml(url: &PageUrl, document: &XmlDocument, sink: &mut Sink<'_>) {
    let Some((root, element)) = document.root() else { return };
    let standard = standard(document, element);
    let mut reader = Reader::new(&document.dom, root, element, sink);
    let parts = reader.feed(url);
    let mut channel = Described::default();
    for (node, context) in &parts.channels {
        if channel.language.is_none() {
            channel.language = context.language.as_deref().map(str::to_owned);
        }
        reader.describe(*node, context, Role::Channel, &mut channel);
    }
    let (root_namespace, untyped) = (reader.root_namespace.clone(), reader.untyped);
    let mut writer = Writer::new(url, sink);
    writer.channel(&channel, standard);
    drop(channel);
    for (node, context) in &parts.items {
        let mut item = Described::default();
        let mut reader = Reader {
            dom: &document.dom,
            root,
            root_namespace: root_namespace.clone(),
            untyped,
            sink: writer.sink(),
        };
        reader.describe(*node, context, Role::Item, &mut item);
        if !writer.item(&item) {
            break;
        }
    }
    writer.finish();
}

/// The specification a feed follows, by its root element.
fn standard(document: &XmlDocument, root: &Element) -> Option<&'static str> {
    let public_id = document.public_id.as_deref();
    let version = attribute(root, "version").unwrap_or_default().trim();
    Some(match &*local_name(root) {
        "rss" => match version {
            // Two specifications have this number; Netscape's had a DTD.
            "0.91" if public_id.is_some_and(|id| id.contains("Netscape")) => {
                "http://my.netscape.com/publish/formats/rss-0.91.dtd"
            }
            "0.91" => "http://backend.userland.com/rss091",
            "0.92" => "http://backend.userland.com/rss092",
            "0.93" => "http://backend.userland.com/rss093",
            "0.94" => "http://backend.userland.com/rss094",
            version if version.starts_with("2.") => "https://www.rssboard.org/rss-specification",
            _ => return None,
        },
        // Broken RSS 1.0 is read here too.
        "rdf" if has_elements_of(document, RSS_10) => RSS_10,
        "rdf" => RSS_090,
        "feed" | "entry" => match &*root.name.ns {
            "http://www.w3.org/2005/Atom" => "http://www.w3.org/2005/Atom",
            _ if version == "0.3" || root.name.ns.starts_with("http://purl.org/atom") => {
                "http://purl.org/atom/ns#"
            }
            _ => return None,
        },
        _ => return None,
    })
}
