//! Sitemaps and indexes of sitemaps, of versions 0.84 and 0.9, in XML or one address per line.
//!
//! A sitemap is there to be followed: each address is an `rdfs:seeAlso` of the sitemap, with its date and whatever the
//! extensions for pictures, films, news and languages say of it. There is a limit of its own for it.

use std::collections::HashSet;

use html5ever::Namespace;
use oxrdf::{Literal, NamedNode, NamedOrBlankNode};
use webloom_model::vocab::{dcterms, foaf, rdf, rdfs};
use webloom_model::{Diagnostic, PageUrl};

use super::iri;
use super::model::{Media, Text, trim};
use super::names::local_name;
use super::read::{attribute, non_empty, read_date};
use super::terms::*;
use super::write::{Writer, date_literal, decimal};
use crate::Sink;
use crate::dom::{Dom, Element, NodeId};

/// How often a page changes, by the protocol.
const FREQUENCIES: [&str; 7] = ["always", "hourly", "daily", "weekly", "monthly", "yearly", "never"];
/// Pictures, films or translations of one page.
const EXTENSIONS_MAX: usize = 1000;

/// Reads a sitemap in XML.
pub(super) fn read(page: &PageUrl, dom: &Dom, root: NodeId, sink: &mut Sink<'_>) {
    let is_index = dom.element(root).is_some_and(|root| &*local_name(root) == "sitemapindex");
    let mut sitemap = Sitemap::new(page, is_index, sink);
    for entry in dom.children(root) {
        let Some(element) = dom.element(entry) else { continue };
        if matches!(&*local_name(element), "url" | "sitemap") && !sitemap.entry(dom, entry) {
            break;
        }
    }
    sitemap.finish();
}

/// Reads a sitemap that is a list of addresses, one per line.
pub(super) fn read_text(page: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    let mut sitemap = Sitemap::new(page, false, sink);
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // In a list, what is not absolute is no address but prose.
        if iri::absolute(line).is_none() {
            sitemap.bad += 1;
        } else if sitemap.address(line, None).is_none() && sitemap.full {
            break;
        }
    }
    sitemap.finish();
}

struct Sitemap<'s, 'c> {
    page: PageUrl,
    subject: NamedNode,
    writer: Writer<'s, 'c>,
    seen: HashSet<String>,
    bad: usize,
    full: bool,
}

impl<'s, 'c> Sitemap<'s, 'c> {
    fn new(page: &PageUrl, is_index: bool, sink: &'s mut Sink<'c>) -> Self {
        let subject = page.graph_name();
        sink.graph.lists_links = true;
        let class = if is_index { WL_SITEMAP_INDEX } else { WL_SITEMAP };
        sink.push_triple(subject.clone(), rdf::TYPE, class);
        let writer = Writer::new(page, sink);
        Self { page: page.clone(), subject, writer, seen: HashSet::new(), bad: 0, full: false }
    }

    fn finish(mut self) {
        if self.bad > 0 {
            let message = format!("addresses in the sitemap that cannot be used: {}", self.bad);
            self.writer.sink().diagnose(Diagnostic::note("sitemap-bad-address", message));
        }
    }

    /// Takes an address as a link; answers it when it is new and there is room.
    fn address(&mut self, written: &str, line: Option<u32>) -> Option<NamedNode> {
        let sink = self.writer.sink();
        let Some(address) = iri::resolve(&self.page, written).filter(iri::is_page) else {
            self.bad += 1;
            return None;
        };
        if self.seen.contains(address.as_str()) {
            return None;
        }
        let links_max = sink.limits().sitemap_links_max;
        if self.seen.len() >= links_max {
            self.full = true;
            let message = format!("the sitemap has more than {links_max} addresses; the rest was left out");
            let diagnostic = Diagnostic::warning("sitemap-links-cut", message);
            sink.diagnose(match line {
                Some(line) => diagnostic.at_line(u64::from(line)),
                None => diagnostic,
            });
            return None;
        }
        self.seen.insert(address.as_str().to_owned());
        if !sink.push_triple(self.subject.clone(), rdfs::SEE_ALSO, address.clone()) {
            self.full = true;
            return None;
        }
        sink.graph.plain_links.insert(address.as_str().to_owned());
        Some(address)
    }

    /// Reads an entry; false when there is no room for more.
    fn entry(&mut self, dom: &Dom, entry: NodeId) -> bool {
        // The sitemap's own namespace, whatever it is called; extensions have others.
        let namespace = dom.element(entry).map(|entry| entry.name.ns.clone()).unwrap_or_default();
        let own =
            |element: &Element, name: &str| element.name.ns == namespace && &*local_name(element) == name;
        let location = dom.children(entry).find(|child| dom.element(*child).is_some_and(|it| own(it, "loc")));
        let Some(location) = location else { return true };
        let line = dom.node(location).line;
        let Some(address) = self.address(trim(&dom.text(location)), Some(line)) else { return !self.full };
        let address = NamedOrBlankNode::from(address);
        for child in dom.children(entry).take(EXTENSIONS_MAX) {
            let Some(element) = dom.element(child) else { continue };
            let line = u64::from(dom.node(child).line);
            if element.name.ns == namespace {
                self.property(&address, &local_name(element), trim(&dom.text(child)), line);
            } else {
                self.extension(dom, child, element, &address, line);
            }
        }
        self.writer.sink().has_room()
    }

    fn property(&mut self, address: &NamedOrBlankNode, name: &str, value: &str, line: u64) {
        let sink = self.writer.sink();
        match name {
            "lastmod" => {
                if let Some(date) = read_date(value, Some(line), sink) {
                    sink.push_triple(address.clone(), DCTERMS_MODIFIED, date_literal(&date));
                }
            }
            "priority" => {
                if let Some(priority) = decimal(value) {
                    sink.push_triple(address.clone(), WL_PRIORITY, priority);
                }
            }
            "changefreq" => {
                if let Some(known) = FREQUENCIES.into_iter().find(|known| known.eq_ignore_ascii_case(value)) {
                    sink.push_triple(
                        address.clone(),
                        WL_CHANGE_FREQUENCY,
                        Literal::new_simple_literal(known),
                    );
                }
            }
            _ => {}
        }
    }

    /// The extensions: `image:image`, `video:video`, `news:news`, `xhtml:link`.
    fn extension(&mut self, dom: &Dom, id: NodeId, element: &Element, address: &NamedOrBlankNode, line: u64) {
        match &*local_name(element) {
            "image" => self.image(dom, id, address),
            "video" => self.video(dom, id, address, line),
            "news" => self.news(dom, id, address, line),
            "link" if attribute(element, "rel").is_some_and(|rel| rel.trim() == "alternate") => {
                let target = attribute(element, "href").and_then(|href| iri::resolve(&self.page, href));
                let Some(target) = target else { return };
                let sink = self.writer.sink();
                sink.push_triple(address.clone(), XHV_ALTERNATE, target.clone());
                if let Some(language) = attribute(element, "hreflang").and_then(non_empty) {
                    sink.push_triple(target, dcterms::LANGUAGE, Literal::new_simple_literal(language));
                }
            }
            _ => {}
        }
    }

    fn image(&mut self, dom: &Dom, id: NodeId, address: &NamedOrBlankNode) {
        let get = |name: &str| child_text(dom, id, name);
        let Some(image) = get("loc").and_then(|location| iri::resolve(&self.page, &location)) else { return };
        let license = get("license").and_then(|license| iri::resolve(&self.page, &license));
        let sink = self.writer.sink();
        sink.push_triple(address.clone(), foaf::DEPICTION, image.clone());
        for (name, property) in [("title", dcterms::TITLE), ("caption", dcterms::DESCRIPTION)] {
            if let Some(text) = get(name) {
                sink.push_triple(image.clone(), property, Literal::new_simple_literal(text));
            }
        }
        if let Some(license) = license {
            sink.push_triple(image, DCTERMS_LICENSE, license);
        }
    }

    fn video(&mut self, dom: &Dom, id: NodeId, address: &NamedOrBlankNode, line: u64) {
        let get = |name: &str| child_text(dom, id, name);
        let url = |name: &str| get(name).and_then(|location| iri::resolve(&self.page, &location));
        let player = url("player_loc");
        let Some(location) = url("content_loc").or_else(|| player.clone()) else { return };
        let uploaded = get("publication_date");
        let media = Media {
            medium: Some("video".to_owned()),
            title: get("title").map(|title| Text::plain(&title)),
            description: get("description").map(|description| Text::plain(&description)),
            duration: get("duration"),
            thumbnails: url("thumbnail_loc").into_iter().collect(),
            player,
            uploaded: uploaded.and_then(|date| read_date(&date, Some(line), self.writer.sink())),
            ..Media::new(location.clone())
        };
        self.writer.sink().push_triple(address.clone(), SCHEMA_ASSOCIATED_MEDIA, location);
        self.writer.media_object(&media);
    }

    fn news(&mut self, dom: &Dom, id: NodeId, address: &NamedOrBlankNode, line: u64) {
        let sink = self.writer.sink();
        if let Some(title) = child_text(dom, id, "title") {
            sink.push_triple(address.clone(), dcterms::TITLE, Literal::new_simple_literal(title));
        }
        if let Some(date) =
            child_text(dom, id, "publication_date").and_then(|date| read_date(&date, Some(line), sink))
        {
            sink.push_triple(address.clone(), DCTERMS_ISSUED, date_literal(&date));
        }
        let publication = dom
            .children(id)
            .find(|child| dom.element(*child).is_some_and(|it| &*local_name(it) == "publication"));
        if let Some(publication) = publication {
            for (name, property) in [("name", DC_PUBLISHER), ("language", DC_LANGUAGE)] {
                if let Some(text) = child_text(dom, publication, name) {
                    sink.push_triple(address.clone(), property, Literal::new_simple_literal(text));
                }
            }
        }
        let keywords = child_text(dom, id, "keywords").unwrap_or_default();
        for keyword in keywords.split(',').map(trim).filter(|word| !word.is_empty()).take(EXTENSIONS_MAX) {
            sink.push_triple(address.clone(), DC_SUBJECT, Literal::new_simple_literal(keyword));
        }
    }
}

/// The text of the first child of that name.
fn child_text(dom: &Dom, id: NodeId, name: &str) -> Option<String> {
    let child =
        dom.children(id).find(|child| dom.element(*child).is_some_and(|it| &*local_name(it) == name))?;
    non_empty(&dom.text(child))
}

/// True for a namespace of the protocol, or none.
pub(super) fn is_namespace(namespace: &Namespace) -> bool {
    namespace.is_empty() || namespace.contains("sitemap")
}
