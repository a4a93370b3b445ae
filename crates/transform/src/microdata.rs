//! Microdata, as RDF, by the W3C note "Microdata to RDF", second edition.
//!
//! In: a parsed page. Out: the triples of its items. Which elements are an item's properties is found in `crawl`, what a
//! property's value is in `values`, which vocabulary an item speaks in `registry`.
//!
//! An item is written once for each vocabulary it is read in, without recursion. An item that is, through `itemref`, a
//! property of itself is refused with everything that contains it. Start at [`read`].

mod crawl;
pub(crate) mod language;
pub(crate) mod lexical;
mod registry;
mod values;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use html5ever::{LocalName, local_name};
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term};
use webloom_model::Diagnostic;
use webloom_model::vocab::rdf;

use crate::Sink;
use crate::dom::{Element, NodeId};
use crate::html::ParsedPage;
use crawl::Items;
use values::Values;

/// Reads the Microdata of a page.
pub(crate) fn read(page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
    let Some(items) = Items::find(&page.dom, sink.limits().microdata_nodes_max) else { return };
    sink.begin_block();
    let mut reader = Reader {
        page,
        values: Values::new(page),
        items,
        subjects: HashMap::new(),
        written: HashSet::new(),
        bad_names: Bad::default(),
        bad_reverse: Bad::default(),
    };
    reader.refuse_recursion(sink);
    reader.write_all(sink);
    reader.diagnose(sink);
}

/// The vocabulary that names without a colon belong to, as a prefix of IRIs.
type Vocabulary = Option<Rc<str>>;

struct Reader<'a> {
    page: &'a ParsedPage<'a>,
    items: Items<'a>,
    values: Values<'a>,
    subjects: HashMap<NodeId, NamedOrBlankNode>,
    /// Items that were written, with the vocabulary they were read in.
    written: HashSet<(NodeId, Vocabulary)>,
    bad_names: Bad,
    bad_reverse: Bad,
}

impl Reader<'_> {
    /// The note's memory lets an item contain itself; Microdata does not.
    fn refuse_recursion(&mut self, sink: &mut Sink<'_>) {
        let refused = self.items.refuse_recursive();
        if let Some(&first) = refused.first() {
            let others = match refused.len() - 1 {
                0 => String::new(),
                others => format!("; {others} more items were refused for the same reason"),
            };
            let message = format!("itemref recursion: an item is, or contains, a property of itself{others}");
            let line = u64::from(self.page.dom.node(first).line);
            sink.diagnose(Diagnostic::error("microdata-recursion", message).at_line(line));
        }
    }

    fn write_all(&mut self, sink: &mut Sink<'_>) {
        // A stack, so that an item's triples come before those of its properties, in document order.
        let mut open: Vec<(NodeId, Vocabulary)> =
            self.items.top.iter().rev().map(|&item| (item, None)).collect();
        while let Some((item, inherited)) = open.pop() {
            let Some(nested) = self.write_item(item, inherited, sink) else { return };
            open.extend(nested.into_iter().rev());
        }
    }

    /// Writes one item; answers the items that are its properties, or nothing when the page has had enough.
    fn write_item(
        &mut self,
        item: NodeId,
        inherited: Vocabulary,
        sink: &mut Sink<'_>,
    ) -> Option<Vec<(NodeId, Vocabulary)>> {
        let page = self.page;
        let Some(element) = page.dom.element(item).filter(|_| !self.items.is_refused(item)) else {
            return Some(Vec::new());
        };
        let types: Vec<NamedNode> = tokens(element, &local_name!("itemtype")).filter_map(absolute).collect();
        let vocabulary = match types.first() {
            Some(first) => Some(Rc::from(registry::vocabulary(first.as_str()))),
            None => inherited,
        };
        let subject = self.subject(item);
        if !self.written.insert((item, vocabulary.clone())) {
            return Some(Vec::new());
        }
        for class in types {
            if !sink.push_triple(subject.clone(), rdf::TYPE, class) {
                return None;
            }
        }
        let mut nested = Vec::new();
        for property in self.items.properties(item) {
            let Some(element) = page.dom.element(property) else { continue };
            let value: Term = if is_item(element) {
                if self.items.is_refused(property) {
                    continue;
                }
                nested.push((property, vocabulary.clone()));
                self.subject(property).into()
            } else {
                self.values.of(property, element, &mut self.items.nodes_left)
            };
            let forward = names(element, &local_name!("itemprop"));
            for predicate in self.predicates(forward, &vocabulary, property) {
                for &broader in registry::expansions(&predicate) {
                    // Only a resource can be a type.
                    if broader != rdf::TYPE || !value.is_literal() {
                        sink.push_triple(subject.clone(), broader, value.clone());
                    }
                }
                if !sink.push_triple(subject.clone(), predicate, value.clone()) {
                    return None;
                }
            }
            let reverse = names(element, &reverse_attribute());
            if reverse.is_empty() {
                continue;
            }
            let other: NamedOrBlankNode = match value {
                Term::NamedNode(node) => node.into(),
                Term::BlankNode(node) => node.into(),
                _ => {
                    self.bad_reverse.note(reverse[0], page.dom.node(property).line);
                    continue;
                }
            };
            for predicate in self.predicates(reverse, &vocabulary, property) {
                if !sink.push_triple(other.clone(), predicate, subject.clone()) {
                    return None;
                }
            }
        }
        Some(nested)
    }

    fn subject(&mut self, item: NodeId) -> NamedOrBlankNode {
        if let Some(subject) = self.subjects.get(&item) {
            return subject.clone();
        }
        let subject: NamedOrBlankNode = self
            .page
            .dom
            .element(item)
            .and_then(|element| element.attribute(&local_name!("itemid")))
            .filter(|id| !id.trim().is_empty())
            .and_then(|id| self.values.resolve(id))
            .map_or_else(|| BlankNode::new_unchecked(format!("i{}", item.index())).into(), Into::into);
        self.subjects.insert(item, subject.clone());
        subject
    }

    /// The IRIs of property names; names that make none are noted and left out.
    fn predicates(&mut self, names: Vec<&str>, vocabulary: &Vocabulary, node: NodeId) -> Vec<NamedNode> {
        names
            .into_iter()
            .filter_map(|name| {
                let predicate = if name.contains(':') {
                    absolute(name)
                } else if let Some(vocabulary) = vocabulary {
                    absolute(&registry::property(vocabulary, name))
                } else {
                    absolute(&format!("{}#{name}", self.page.base))
                };
                if predicate.is_none() {
                    self.bad_names.note(name, self.page.dom.node(node).line);
                }
                predicate
            })
            .collect()
    }

    fn diagnose(self, sink: &mut Sink<'_>) {
        if self.items.nodes_left == 0 {
            let limit = sink.limits().microdata_nodes_max;
            let message = format!("items look at more than {limit} nodes; the rest was left out");
            sink.diagnose(Diagnostic::warning("microdata-cut", message));
        }
        if let Some((name, line)) = self.bad_names.first {
            let message = format!("`{name}` names no property{}", others(self.bad_names.count));
            sink.diagnose(Diagnostic::warning("microdata-bad-name", message).at_line(line));
        }
        if let Some((name, line)) = self.bad_reverse.first {
            let message = format!(
                "`{name}` is reversed on a text, not on a resource{}",
                others(self.bad_reverse.count)
            );
            sink.diagnose(Diagnostic::warning("microdata-bad-reverse", message).at_line(line));
        }
    }
}

/// Findings of one kind, of which the first is told.
#[derive(Default)]
struct Bad {
    count: usize,
    first: Option<(String, u64)>,
}

impl Bad {
    fn note(&mut self, name: &str, line: u32) {
        self.count += 1;
        if self.first.is_none() {
            self.first = Some((name.chars().take(80).collect(), u64::from(line)));
        }
    }
}

fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        count => format!(", nor are {} others right", count - 1),
    }
}

fn is_item(element: &Element) -> bool {
    element.attribute(&local_name!("itemscope")).is_some()
}

/// Proposed by the note, unknown to HTML.
fn reverse_attribute() -> LocalName {
    thread_local!(static REVERSE: LocalName = LocalName::from("itemprop-reverse"));
    REVERSE.with(Clone::clone)
}

fn tokens<'e>(element: &'e Element, name: &LocalName) -> impl Iterator<Item = &'e str> {
    element.attribute(name).unwrap_or_default().split_ascii_whitespace()
}

/// The tokens of an attribute, each once.
fn names<'e>(element: &'e Element, name: &LocalName) -> Vec<&'e str> {
    let mut names: Vec<&str> = tokens(element, name).collect();
    if names.len() > 1 {
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(*name));
    }
    names
}

fn absolute(iri: &str) -> Option<NamedNode> {
    NamedNode::new(iri).ok()
}
