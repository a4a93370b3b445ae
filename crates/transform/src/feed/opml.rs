//! OPML: outlines, which on the web are lists of feeds.
//!
//! The tree is kept: an outline has its parts, in order of appearance. A feed in it is an RSS 1.0 channel under the address
//! of the feed, so that the list and the feed itself meet. Feeds, their sites and other addresses are links to follow.

use std::collections::HashSet;

use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term};
use webloom_model::vocab::{foaf, rdf, rdfs};
use webloom_model::{Diagnostic, PageUrl};

use super::iri;
use super::model::{Text, trim};
use super::names::local_name;
use super::read::{language_tag, non_empty, read_date};
use super::terms::*;
use super::write::{date_literal, literal};
use crate::Sink;
use crate::dom::{Dom, Edge, Element, NodeId};
use crate::html::plain::Collapsed;

/// Reads an outline.
pub(super) fn read(page: &PageUrl, dom: &Dom, root: NodeId, sink: &mut Sink<'_>) {
    sink.begin_block();
    let subject = page.graph_name();
    sink.push_triple(subject.clone(), rdf::TYPE, WL_OUTLINE);
    let words = Collapsed::new(sink.limits().text_bytes_max);
    let mut outline = Outline { page, subject, sink, words, links: HashSet::new(), nodes: 0, cut: false };
    for child in dom.children(root) {
        match dom.element(child).map(local_name).as_deref() {
            Some("head") => outline.head(dom, child),
            Some("body") => outline.body(dom, child),
            _ => {}
        }
    }
    let Outline { words, sink, .. } = outline;
    sink.graph.text.body = words.text;
}

struct Outline<'p, 's, 'c> {
    page: &'p PageUrl,
    subject: NamedNode,
    sink: &'s mut Sink<'c>,
    words: Collapsed,
    links: HashSet<String>,
    nodes: usize,
    cut: bool,
}

impl Outline<'_, '_, '_> {
    fn head(&mut self, dom: &Dom, head: NodeId) {
        let mut owner = (None, None, None);
        for child in dom.children(head) {
            let Some(element) = dom.element(child) else { continue };
            let Some(text) = non_empty(&dom.text(child)) else { continue };
            let line = u64::from(dom.node(child).line);
            match &*local_name(element) {
                "title" => {
                    let title = Text::guessed(&text);
                    self.sink.graph.text.title = Some(title.words());
                    self.sink.push_triple(self.subject.clone(), RSS_TITLE, literal(&title));
                }
                "datecreated" => self.date(DCTERMS_CREATED, &text, line),
                "datemodified" => self.date(DCTERMS_MODIFIED, &text, line),
                "ownername" => owner.0 = Some(text),
                "owneremail" => owner.1 = Some(text),
                "ownerid" => owner.2 = iri::resolve(self.page, &text),
                "docs" => {
                    if let Some(docs) = iri::resolve(self.page, &text) {
                        self.sink.push_triple(self.subject.clone(), DCTERMS_CONFORMS_TO, docs);
                    }
                }
                _ => {}
            }
        }
        let (name, email, page) = owner;
        if name.is_none() && email.is_none() && page.is_none() {
            return;
        }
        let node = self.blank();
        if let Some(name) = name.as_ref().or(email.as_ref()) {
            self.sink.push_triple(self.subject.clone(), DC_CREATOR, Literal::new_simple_literal(name));
        }
        self.sink.push_triple(self.subject.clone(), DCTERMS_CREATOR, Term::from(node.clone()));
        self.sink.push_triple(node.clone(), rdf::TYPE, FOAF_AGENT);
        if let Some(name) = name {
            self.sink.push_triple(node.clone(), foaf::NAME, Literal::new_simple_literal(name));
        }
        if let Some(mailbox) = email.and_then(|email| NamedNode::new(format!("mailto:{email}")).ok()) {
            self.sink.push_triple(node.clone(), foaf::MBOX, mailbox);
        }
        if let Some(page) = page {
            self.sink.push_triple(node, FOAF_HOMEPAGE, page);
        }
    }

    fn date(&mut self, property: oxrdf::NamedNodeRef<'_>, text: &str, line: u64) {
        if let Some(date) = read_date(text, Some(line), self.sink) {
            self.sink.push_triple(self.subject.clone(), property, date_literal(&date));
        }
    }

    fn body(&mut self, dom: &Dom, body: NodeId) {
        // The nodes of the outlines that are open.
        let mut open: Vec<(NodeId, NamedOrBlankNode)> = Vec::new();
        for edge in dom.traverse(body) {
            match edge {
                Edge::Open(id) => {
                    let Some(element) = dom.element(id).filter(|it| &*local_name(it) == "outline") else {
                        continue;
                    };
                    let parent =
                        open.last().map_or_else(|| self.subject.clone().into(), |(_, node)| node.clone());
                    let node = self.outline(element, u64::from(dom.node(id).line), &parent);
                    if !self.sink.has_room() {
                        return;
                    }
                    open.push((id, node));
                }
                Edge::Close(id) => {
                    if open.last().is_some_and(|(opened, _)| *opened == id) {
                        open.pop();
                    }
                }
            }
        }
    }

    /// Writes one outline as part of `parent`; answers its node.
    fn outline(&mut self, element: &Element, line: u64, parent: &NamedOrBlankNode) -> NamedOrBlankNode {
        let get = |name: &str| {
            let found = element
                .attributes
                .iter()
                .find(|attribute| (*attribute.name.local).eq_ignore_ascii_case(name));
            found.and_then(|attribute| non_empty(&attribute.value))
        };
        let reference = |name: &str| get(name).and_then(|written| iri::resolve(self.page, &written));
        let (feed, site, address) = (reference("xmlUrl"), reference("htmlUrl"), reference("url"));
        let node = match feed.as_ref().or(address.as_ref()) {
            Some(iri) => NamedOrBlankNode::from(iri.clone()),
            None => self.blank(),
        };
        self.sink.push_triple(parent.clone(), DCTERMS_HAS_PART, Term::from(node.clone()));
        let title = get("text").or_else(|| get("title")).map(|title| Text::guessed(&title));
        if feed.is_some() {
            self.sink.push_triple(node.clone(), rdf::TYPE, RSS_CHANNEL);
        }
        if let Some(title) = &title {
            // A link has its label as every link does.
            if feed.is_some() {
                self.sink.push_triple(node.clone(), RSS_TITLE, literal(title));
            } else if address.is_none() {
                self.sink.push_triple(node.clone(), rdfs::LABEL, literal(title));
            }
            title.add_words(&mut self.words);
        }
        if let Some(description) = get("description").map(|text| Text::guessed(&text)) {
            self.sink.push_triple(node.clone(), RSS_DESCRIPTION, literal(&description));
            description.add_words(&mut self.words);
        }
        if let Some(site) = &site {
            self.sink.push_triple(node.clone(), RSS_LINK, site.clone());
        }
        if let Some(language) = get("language").as_deref().and_then(language_tag) {
            self.sink.push_triple(node.clone(), DC_LANGUAGE, Literal::new_simple_literal(language));
        }
        let categories = get("category").unwrap_or_default();
        for category in categories.split(',').map(trim).filter(|word| !word.is_empty()).take(100) {
            self.sink.push_triple(node.clone(), DC_SUBJECT, Literal::new_simple_literal(category));
        }
        if let Some(date) = get("created").and_then(|date| read_date(&date, Some(line), self.sink)) {
            self.sink.push_triple(node.clone(), DCTERMS_CREATED, date_literal(&date));
        }
        for target in [feed, site, address].into_iter().flatten() {
            self.link(target, title.as_ref());
        }
        node
    }

    /// A link to follow, with the outline's text as its words.
    fn link(&mut self, target: NamedNode, title: Option<&Text>) {
        if !iri::is_page(&target) || self.links.contains(target.as_str()) {
            return;
        }
        let links_max = self.sink.limits().links_max;
        if self.links.len() >= links_max {
            if !self.cut {
                let message =
                    format!("the outline has more than {links_max} distinct links; the rest was left out");
                self.sink.diagnose(Diagnostic::warning("opml-links-cut", message));
            }
            self.cut = true;
            return;
        }
        self.links.insert(target.as_str().to_owned());
        self.sink.graph.plain_links.insert(target.as_str().to_owned());
        self.sink.push_triple(self.subject.clone(), rdfs::SEE_ALSO, target.clone());
        if let Some(title) = title {
            let words: String = title.words().chars().take(self.sink.limits().anchor_chars_max).collect();
            self.sink.push_triple(target, rdfs::LABEL, Literal::new_simple_literal(words));
        }
    }

    fn blank(&mut self) -> NamedOrBlankNode {
        self.nodes += 1;
        BlankNode::new_unchecked(format!("o{}", self.nodes)).into()
    }
}
