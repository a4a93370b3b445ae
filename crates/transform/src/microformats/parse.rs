//! The walk: which elements are items, which are properties of which item.
//!
//! Items that are open are on a stack; when one closes, what it leaves unsaid is implied and it goes to the item
//! around it, as a property if its element is one, as a child if not. Nothing recurses, and items nested deeper than
//! [`DEPTH_MAX`] are taken for part of the one around them.

use std::sync::Arc;

use html5ever::{local_name, ns};

use super::backcompat::{self, Kinds, Relation};
use super::classes::{Class, Prefix, classify, is_height};
use super::model::{Item, Microformats, RelUrl, Value};
use super::properties::Reader;
use super::text::{Images, absolute, words};
use crate::dom::{Dom, Edge, Element, NodeId};
use crate::html::ParsedPage;
use crate::maps::{HashMap, HashSet};

/// Items in items. JSON of this depth can be read back by parsers that allow 128 levels.
pub(super) const DEPTH_MAX: usize = 40;

/// What the caller needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All the specification gives.
    Everything,
    /// Items that are meant as such: no `rel` tables, and no classes that only set a height.
    Meant,
}

/// Reads one page.
pub(super) struct Parser<'a> {
    reader: Reader<'a>,
    wanted: Wanted,
    open: Vec<Open<'a>>,
    rels: Rels,
    pub(super) found: Microformats,
    /// Where an item was nested too deep.
    pub(super) flattened_line: Option<u32>,
}

/// An item that is open.
struct Open<'a> {
    node: NodeId,
    element: &'a Element,
    item: Item,
    /// Places of properties in the item.
    places: HashMap<&'a str, usize>,
    /// What its old class names are; none for an item of microformats2.
    kinds: Kinds,
    implies: bool,
    /// What it is to the item around it.
    roles: Vec<(Prefix, &'a str)>,
    has_words: bool,
    has_url: bool,
    has_item: bool,
    /// The last date of a property, which a time without one belongs to.
    date: Option<String>,
}

impl<'a> Open<'a> {
    fn add(&mut self, name: &'a str, value: Value) {
        self.item.bytes += name.len() + value.bytes();
        let properties = &mut self.item.properties;
        let place = *self.places.entry(name).or_insert_with(|| {
            properties.push((name.to_owned(), Vec::new()));
            properties.len() - 1
        });
        properties[place].1.push(value);
    }

    fn note(&mut self, prefix: Prefix) {
        match prefix {
            Prefix::Plain | Prefix::Embedded => self.has_words = true,
            Prefix::Url => self.has_url = true,
            Prefix::Date => {}
        }
    }
}

/// What the classes of an element make of it.
#[derive(Default)]
struct Found<'a> {
    /// Types in microformats2.
    roots: Vec<&'a str>,
    /// Old roots.
    old_roots: Kinds,
    /// Old roots that a property implies.
    implied: Kinds,
    properties: Vec<(Prefix, &'a str)>,
    /// A category that is the end of a link's path.
    category: Option<String>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(page: &'a ParsedPage<'a>, wanted: Wanted, bytes_max: usize) -> Self {
        Self {
            reader: Reader::new(page, bytes_max),
            wanted,
            open: Vec::new(),
            rels: Rels::default(),
            found: Microformats::default(),
            flattened_line: None,
        }
    }

    /// True when the page has more than may be copied.
    pub(super) fn was_cut(&self) -> bool {
        self.reader.budget.is_spent()
    }

    /// Walks the page.
    pub(super) fn run(&mut self) {
        let page = self.reader.page;
        let dom = &page.dom;
        let mut edges = dom.traverse(Dom::ROOT);
        while let Some(edge) = edges.next() {
            match edge {
                Edge::Open(id) => {
                    let Some(element) = dom.element(id) else { continue };
                    if element.is_html(&local_name!("template")) {
                        edges.skip_children(id);
                        continue;
                    }
                    self.enter(id, element);
                }
                Edge::Close(id) => {
                    if self.open.last().is_some_and(|open| open.node == id) {
                        self.close();
                    }
                }
            }
            if self.was_cut() {
                break;
            }
        }
        while !self.open.is_empty() {
            self.close();
        }
    }

    fn enter(&mut self, id: NodeId, element: &'a Element) {
        let kinds = self.open.last().map(|open| open.kinds);
        let old = kinds.filter(|kinds| !kinds.is_empty());
        let class = element.attribute(&local_name!("class"));
        let rel = if self.wanted == Wanted::Everything || old.is_some() {
            element.attribute(&local_name!("rel"))
        } else {
            None
        };
        if class.is_none() && rel.is_none() {
            return;
        }
        let href = rel.and_then(|_| link_target(element));
        if self.wanted == Wanted::Everything
            && let (Some(rel), Some(href)) = (rel, href)
        {
            self.rels.add(&mut self.reader, &mut self.found, id, element, rel, href);
        }
        let mut found = self.classes(class.unwrap_or_default(), kinds);
        if let (Some(rel), Some(href), Some(kinds)) = (rel, href, old) {
            self.relations(rel, href, kinds, &mut found);
        }
        if found.properties.len() > 1 {
            let mut seen = HashSet::default();
            found.properties.retain(|property| seen.insert(*property));
        }
        let is_root = !found.roots.is_empty() || !found.old_roots.is_empty() || !found.implied.is_empty();
        if is_root && self.open.len() < DEPTH_MAX {
            self.begin(id, element, found);
            return;
        }
        if is_root && self.flattened_line.is_none() {
            self.flattened_line = Some(self.reader.page.dom.node(id).line);
        }
        self.add_properties(id, element, found);
    }

    fn classes(&self, class: &'a str, kinds: Option<Kinds>) -> Found<'a> {
        let mut found = Found::default();
        for token in class.split_ascii_whitespace() {
            match classify(token) {
                Some(Class::Root(root)) => {
                    if self.wanted == Wanted::Everything || !is_height(root) {
                        found.roots.push(root);
                    }
                }
                Some(Class::Property(prefix, name)) => {
                    // Inside an old root only old names count.
                    if kinds.is_some_and(Kinds::is_empty) {
                        found.properties.push((prefix, name));
                    }
                }
                None => {
                    if let Some(kind) = backcompat::root(token) {
                        found.old_roots.insert(kind);
                    }
                    if let Some(kinds) = kinds.filter(|kinds| !kinds.is_empty()) {
                        for (prefix, name, implied) in backcompat::properties(kinds, token) {
                            found.properties.push((prefix, name));
                            found.implied.insert(implied);
                        }
                    }
                }
            }
        }
        found
    }

    fn relations(&self, rel: &str, href: &str, kinds: Kinds, found: &mut Found<'a>) {
        for relation in backcompat::relations(kinds, rel) {
            match relation {
                Relation::Url => found.properties.push((Prefix::Url, "url")),
                // What the class says is what the author shows.
                Relation::Category if !found.properties.contains(&(Prefix::Plain, "category")) => {
                    found.category = tag_of(&absolute(self.reader.page, href));
                }
                Relation::Category => {}
            }
        }
    }

    fn begin(&mut self, node: NodeId, element: &'a Element, found: Found<'a>) {
        let (mut types, kinds, implies) = if !found.roots.is_empty() {
            (found.roots.iter().map(|&root| root.to_owned()).collect(), Kinds::NONE, true)
        } else if !found.old_roots.is_empty() {
            (found.old_roots.types(), found.old_roots, false)
        } else {
            (found.implied.types(), found.implied, true)
        };
        types.sort();
        types.dedup();
        let id = element.attribute(&local_name!("id")).filter(|id| !id.is_empty()).map(str::to_owned);
        let bytes = types.iter().map(String::len).sum::<usize>() + id.as_ref().map_or(0, String::len);
        self.reader.budget.pay(bytes + size_of::<Open<'_>>());
        self.open.push(Open {
            node,
            element,
            item: Item { types, id, bytes, ..Item::default() },
            places: HashMap::default(),
            kinds,
            implies,
            roles: found.properties,
            has_words: false,
            has_url: false,
            has_item: false,
            date: None,
        });
    }

    fn add_properties(&mut self, node: NodeId, element: &Element, found: Found<'a>) {
        let Some(open) = self.open.last_mut() else { return };
        if let Some(category) = found.category {
            self.reader.budget.pay(category.len());
            open.item.explicit = true;
            open.add("category", Value::Text(category, None));
            open.note(Prefix::Plain);
        }
        let properties = found.properties;
        let mut known: Vec<(Prefix, Value)> = Vec::new();
        for (index, &(prefix, name)) in properties.iter().enumerate() {
            let value = match known.iter().find(|(known, _)| *known == prefix) {
                Some((_, value)) => {
                    self.reader.budget.pay(value.bytes() + size_of::<Value>());
                    value.clone()
                }
                None => {
                    let value = self.reader.value(prefix, node, element, &mut open.date);
                    if properties[index + 1..].iter().any(|(later, _)| *later == prefix) {
                        known.push((prefix, value.clone()));
                    }
                    value
                }
            };
            if self.reader.budget.is_spent() {
                return;
            }
            open.note(prefix);
            open.item.explicit = true;
            open.add(name, value);
        }
    }

    /// Finishes the innermost item and gives it to the one around it.
    fn close(&mut self) {
        let Some(mut open) = self.open.pop() else { return };
        if open.implies && !self.reader.budget.is_spent() && !open.has_item {
            self.imply(&mut open);
        }
        let Open { node, element, item, roles, .. } = open;
        let item = Arc::new(item);
        let Some(around) = self.open.last_mut() else {
            self.found.items.push(item);
            return;
        };
        around.has_item = true;
        if roles.is_empty() {
            around.item.bytes += item.bytes;
            around.item.children.push(item);
            return;
        }
        around.item.explicit = true;
        for (count, (prefix, name)) in roles.into_iter().enumerate() {
            // The first is there; each further one is a copy for who writes it out.
            if count > 0 && !self.reader.budget.pay(item.bytes) {
                return;
            }
            let said = match prefix {
                Prefix::Plain => item.property("name"),
                Prefix::Url => item.property("url"),
                Prefix::Date | Prefix::Embedded => None,
            };
            let plain = match said.and_then(<[Value]>::first).map(Value::as_str) {
                Some(said) => {
                    self.reader.budget.pay(said.len());
                    match prefix {
                        Prefix::Url => Value::Url(said.to_owned()),
                        _ => Value::Text(said.to_owned(), self.reader.language(node)),
                    }
                }
                None => self.reader.value(prefix, node, element, &mut around.date),
            };
            around.add(name, Value::Item(item.clone(), Box::new(plain)));
        }
    }

    fn imply(&mut self, open: &mut Open<'a>) {
        let (node, element) = (open.node, open.element);
        if !open.has_words && !open.places.contains_key("name") {
            let name = self.reader.implied_name(node, element);
            open.add("name", name);
        }
        if open.has_url {
            return;
        }
        for (name, value) in [
            ("photo", self.reader.implied_photo(node, element)),
            ("url", self.reader.implied_url(node, element)),
        ] {
            if let Some(value) = value
                && !open.places.contains_key(name)
            {
                self.reader.budget.pay(value.bytes());
                open.add(name, value);
            }
        }
    }
}

/// The target of a link.
fn link_target(element: &Element) -> Option<&str> {
    let is_link = matches!(element.name.local, local_name!("a") | local_name!("area") | local_name!("link"))
        && element.name.ns == ns!(html);
    element.attribute(&local_name!("href")).filter(|_| is_link)
}

/// The tag a URL stands for: the last part of its path.
fn tag_of(url: &str) -> Option<String> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let tag = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(tag.len());
    let mut rest = tag.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = (byte == b'%')
            .then(|| after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok()))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(hex.unwrap_or(byte));
        rest = if hex.is_some() { &after[2..] } else { after };
    }
    Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|tag| !tag.is_empty())
}

/// Keeps the tables of `rel` without looking through them.
#[derive(Default)]
struct Rels {
    rels: HashMap<String, usize>,
    urls: HashMap<String, usize>,
    pairs: HashSet<(usize, usize)>,
}

impl Rels {
    fn add(
        &mut self,
        reader: &mut Reader<'_>,
        found: &mut Microformats,
        node: NodeId,
        element: &Element,
        rel: &str,
        href: &str,
    ) {
        if rel.trim_ascii().is_empty() {
            return;
        }
        let url = absolute(reader.page, href);
        let url_place = match self.urls.get(&url) {
            Some(&place) => place,
            None => {
                let text = words(reader.page, node, Images::Nothing, &mut reader.budget);
                reader.budget.pay(2 * url.len());
                self.urls.insert(url.clone(), found.rel_urls.len());
                found.rel_urls.push((url.clone(), RelUrl { text, ..RelUrl::default() }));
                found.rel_urls.len() - 1
            }
        };
        let about = &mut found.rel_urls[url_place].1;
        for name in ["hreflang", "media", "title", "type"] {
            if let Some(value) = element.attribute_named(name)
                && about.attributes.iter().all(|(known, _)| *known != name)
            {
                reader.budget.pay(value.len());
                about.attributes.push((name, value.to_owned()));
            }
        }
        for token in rel.split_ascii_whitespace() {
            let place = match self.rels.get(token) {
                Some(&place) => place,
                None => {
                    self.rels.insert(token.to_owned(), found.rels.len());
                    found.rels.push((token.to_owned(), Vec::new()));
                    found.rels.len() - 1
                }
            };
            if self.pairs.insert((place, url_place)) {
                if !reader.budget.pay(3 * token.len() + url.len()) {
                    return;
                }
                found.rels[place].1.push(url.clone());
                about.rels.push(token.to_owned());
            }
        }
    }
}
