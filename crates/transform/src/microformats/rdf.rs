//! Items as triples, in the vocabularies of `vocabulary`.
//!
//! An item is a blank node, or the page's fragment where its element has an id. A `u-*` value is a resource, a `dt-*`
//! value has a datatype where it is written as one, everything else is words in their language, white space collapsed.
//! Markup is left out: literals are never HTML.

use std::sync::Arc;

use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term};
use webloom_model::vocab::rdf;

use super::dates;
use super::model::{Item, Value};
use super::vocabulary::{self, BLOG_POST, MICROFORMATS, ORGANIZATION, Target};
use crate::Sink;
use crate::html::ParsedPage;
use crate::maps::{HashMap, HashSet};
use crate::microdata::language::tagged;

/// Writes items and all that is in them.
pub(super) fn write(items: &[Arc<Item>], page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
    let mut writer =
        Writer { page, subjects: HashMap::default(), ids: HashSet::default(), open: Vec::new(), nodes: 0 };
    for item in items {
        writer.subject(item);
        while let Some(item) = writer.open.pop() {
            if !writer.write_item(item, sink) {
                return;
            }
        }
    }
}

struct Writer<'i> {
    page: &'i ParsedPage<'i>,
    /// Items that have a name, by their address: one that is two properties is written once.
    subjects: HashMap<*const Item, NamedOrBlankNode>,
    ids: HashSet<&'i str>,
    open: Vec<&'i Item>,
    nodes: usize,
}

impl<'i> Writer<'i> {
    /// The node of an item, which is written later.
    fn subject(&mut self, item: &'i Arc<Item>) -> NamedOrBlankNode {
        let address = Arc::as_ptr(item);
        if let Some(subject) = self.subjects.get(&address) {
            return subject.clone();
        }
        // An id names one thing; who uses it again gets no name.
        let named = item
            .id
            .as_deref()
            .filter(|id| self.ids.insert(id))
            .and_then(|id| NamedNode::new(format!("{}#{id}", self.page.page.url)).ok());
        let subject: NamedOrBlankNode = match named {
            Some(named) => named.into(),
            None => self.blank().into(),
        };
        self.subjects.insert(address, subject.clone());
        self.open.push(item);
        subject
    }

    fn blank(&mut self) -> BlankNode {
        self.nodes += 1;
        BlankNode::new_unchecked(format!("m{}", self.nodes))
    }

    /// Writes one item; false when the page has had enough.
    fn write_item(&mut self, item: &'i Item, sink: &mut Sink<'_>) -> bool {
        let Some(subject) = self.subjects.get(&std::ptr::from_ref(item)).cloned() else { return true };
        if is_bare(item) {
            // What is in it stands for itself.
            let before = self.open.len();
            item.children.iter().for_each(|child| drop(self.subject(child)));
            self.open[before..].reverse();
            return true;
        }
        let roots: Vec<_> = item.types.iter().filter_map(|name| vocabulary::root(name)).collect();
        for name in &item.types {
            let class = match vocabulary::root(name) {
                Some(_) if name == "h-card" && is_organization(item) => ORGANIZATION.to_owned(),
                Some(root) => root.class.to_owned(),
                None => format!("{MICROFORMATS}{name}"),
            };
            // Names are letters, digits and hyphens.
            if !sink.push_triple(subject.clone(), rdf::TYPE, NamedNode::new_unchecked(class)) {
                return false;
            }
        }
        // Nested items go on the stack behind those that are there; reversed at the end they come in order.
        let before = self.open.len();
        let mut inside: HashMap<&'static str, BlankNode> = HashMap::default();
        for (name, values) in &item.properties {
            let target = roots.iter().find_map(|root| {
                root.properties.iter().find(|(known, _)| known == name).map(|(_, target)| *target)
            });
            for value in values {
                let Some(object) = self.object(name, value) else { continue };
                if !self.write_value(&subject, name, target, object, &mut inside, sink) {
                    return false;
                }
            }
        }
        for child in &item.children {
            let object = self.subject(child);
            if is_bare(child) {
                continue;
            }
            let is_post = item.types.iter().any(|name| name == "h-feed")
                && child.types.iter().any(|name| name == "h-entry");
            let predicate = if is_post { BLOG_POST.to_owned() } else { format!("{MICROFORMATS}child") };
            if !sink.push_triple(subject.clone(), NamedNode::new_unchecked(predicate), object) {
                return false;
            }
        }
        self.open[before..].reverse();
        true
    }

    fn write_value(
        &mut self,
        subject: &NamedOrBlankNode,
        name: &str,
        target: Option<Target>,
        object: Term,
        inside: &mut HashMap<&'static str, BlankNode>,
        sink: &mut Sink<'_>,
    ) -> bool {
        let predicate = match target {
            Some(Target::Property(property)) => property.to_owned(),
            Some(Target::Either(resource, words)) => {
                if object.is_literal() { words } else { resource }.to_owned()
            }
            // What is an item already needs no node around it.
            Some(Target::Inside(link, ..)) if !object.is_literal() => link.to_owned(),
            Some(Target::Inside(link, class, property)) => {
                let link = NamedNode::new_unchecked(link);
                let node = match inside.get(link.as_str()) {
                    Some(node) => node.clone(),
                    None => {
                        let node = self.blank();
                        if let Some(Target::Inside(link, ..)) = target {
                            inside.insert(link, node.clone());
                        }
                        let class = NamedNode::new_unchecked(class);
                        if !sink.push_triple(subject.clone(), link, node.clone())
                            || !sink.push_triple(node.clone(), rdf::TYPE, class)
                        {
                            return false;
                        }
                        node
                    }
                };
                return sink.push_triple(node, NamedNode::new_unchecked(property), object);
            }
            None => format!("{MICROFORMATS}{name}"),
        };
        sink.push_triple(subject.clone(), NamedNode::new_unchecked(predicate), object)
    }

    /// A value as an object; none where it is empty.
    fn object(&mut self, name: &str, value: &'i Value) -> Option<Term> {
        let literal = |text: &str, language: Option<&str>| -> Option<Term> {
            let text = collapse(text);
            // Numbers are in no language.
            let language = language.filter(|_| text.contains(char::is_alphabetic));
            (!text.is_empty()).then(|| tagged(text, language).into())
        };
        match value {
            Value::Item(item, plain) if is_bare(item) => {
                self.subject(item);
                self.object(name, plain)
            }
            Value::Item(item, _) => Some(self.subject(item).into()),
            Value::Text(text, _) if name == "email" && is_mailbox(text) => {
                NamedNode::new(format!("mailto:{}", text.trim())).map(Term::from).ok()
            }
            Value::Text(text, language) | Value::Html { text, language, .. } => {
                literal(text, language.as_deref())
            }
            Value::Url(url) | Value::Image { url, .. } => match NamedNode::new(url.as_str()) {
                Ok(node) => Some(node.into()),
                Err(_) => match self.page.base.as_url().join(url).map(|url| NamedNode::new(url.as_str())) {
                    Ok(Ok(node)) => Some(node.into()),
                    _ => literal(url, None),
                },
            },
            Value::Date(date) => match dates::typed(date) {
                Some((date, datatype)) => Some(Literal::new_typed_literal(date, datatype).into()),
                None => literal(date, None),
            },
        }
    }
}

/// Nothing is said of it but what it is, or not even that: a root nobody knows, with nothing but what it implies, is
/// the class of a style sheet more often than not.
fn is_bare(item: &Item) -> bool {
    if item.properties.is_empty() {
        return item.children.is_empty() || item.types.iter().all(|name| vocabulary::root(name).is_none());
    }
    !item.explicit && item.types.iter().all(|name| vocabulary::root(name).is_none())
}

/// By hCard's rule, a card of an organisation has the same name twice.
fn is_organization(item: &Item) -> bool {
    let first = |name| item.property(name).and_then(<[Value]>::first).map(|value| collapse(value.as_str()));
    first("name").is_some_and(|name| Some(name) == first("org"))
}

fn is_mailbox(text: &str) -> bool {
    text.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && !host.is_empty()
            && !text.trim().contains(char::is_whitespace)
            && !text.contains(':')
    })
}

fn collapse(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !collapsed.is_empty() {
            collapsed.push(' ');
        }
        collapsed.push_str(word);
    }
    collapsed
}
