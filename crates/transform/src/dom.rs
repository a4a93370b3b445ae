//! A document as a tree in one vector: nodes are numbers, links between them are numbers.
//!
//! Built by the HTML or the XML parser, never changed afterwards. Nothing here recurses, so no document is too deep. Walk
//! it with [`Dom::traverse`] (opening and closing edges, in document order) or [`Dom::descendants`].

use std::cell::Cell;

use crate::room;
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, LocalName, Namespace, QualName, local_name, ns};

/// Names a node of one document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// No node. Keeps a link at four bytes.
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

/// An element.
#[derive(Debug)]
pub struct Element {
    /// Namespace, prefix, local name.
    pub name: QualName,
    /// Attributes in the order written, without duplicates.
    pub attributes: Vec<Attribute>,
    /// The contents of a `<template>`, which are not among the document's descendants.
    pub template: Option<NodeId>,
}

impl Element {
    /// The value of an attribute without namespace.
    pub fn attribute(&self, name: &LocalName) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| attribute.name.local == *name && attribute.name.ns == ns!())
            .map(|attribute| &*attribute.value)
    }

    /// The value of an attribute by its name as written, such as `xml:lang`.
    pub fn attribute_named(&self, name: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|attribute| match (&attribute.name.prefix, name.split_once(':')) {
                (Some(prefix), Some((wanted, local))) => {
                    **prefix == *wanted && *attribute.name.local == *local
                }
                (Some(_), None) => false,
                (None, _) => *attribute.name.local == *name,
            })
            .map(|attribute| &*attribute.value)
    }

    /// True for an HTML element of that name.
    pub fn is_html(&self, name: &LocalName) -> bool {
        self.name.local == *name && self.name.ns == ns!(html)
    }

    /// True for an HTML element without content and end tag.
    pub fn is_void(&self) -> bool {
        self.name.ns == ns!(html) && is_void(&self.name.local)
    }

    /// The namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.name.ns
    }
}

/// True for the names of HTML's elements that have no content and no end tag.
pub(crate) fn is_void(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("area")
            | local_name!("base")
            | local_name!("br")
            | local_name!("col")
            | local_name!("embed")
            | local_name!("hr")
            | local_name!("img")
            | local_name!("input")
            | local_name!("link")
            | local_name!("meta")
            | local_name!("param")
            | local_name!("source")
            | local_name!("track")
            | local_name!("wbr")
    )
}

/// What a node is.
#[derive(Debug)]
pub enum NodeData {
    /// The document, or the contents of a template.
    Root,
    /// An element.
    Element(Element),
    /// Characters.
    Text(StrTendril),
    /// A comment: kept in XML, where literals may contain it; in HTML for its place only.
    Comment(StrTendril),
    /// DOCTYPE, processing instruction, a comment of HTML: kept for its place only.
    Other,
}

/// A node and its links.
#[derive(Debug)]
pub struct Node {
    /// What it is.
    pub data: NodeData,
    /// The line its tag is on, from 1.
    pub line: u32,
    pub(crate) parent: NodeId,
    pub(crate) previous: NodeId,
    pub(crate) next: NodeId,
    pub(crate) first_child: NodeId,
    pub(crate) last_child: NodeId,
    /// The tree builder has taken it off the stack of open elements.
    pub(crate) closed: bool,
    /// When the tree builder's state was last counted with this node in it.
    pub(crate) counted: u32,
}

/// A document.
#[derive(Debug)]
pub struct Dom {
    pub(crate) nodes: Vec<Node>,
    /// About how many nodes there may be.
    nodes_max: usize,
}

/// Bytes of markup and text for each node, on pages with many of them.
const TEXT_BYTES_PER_NODE: usize = 32;

/// Nodes whose room a thread keeps for its next document: some hundred kilobytes.
const SPARE_NODES_MAX: usize = 4096;

thread_local! {
    static SPARE: Cell<Vec<Node>> = const { Cell::new(Vec::new()) };
}

impl Drop for Dom {
    fn drop(&mut self) {
        let mut nodes = std::mem::take(&mut self.nodes);
        if nodes.capacity() <= SPARE_NODES_MAX {
            nodes.clear();
            // A thread that ends has nothing to keep.
            let _ = SPARE.try_with(|spare| spare.set(nodes));
        }
    }
}

/// A step of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// Into a node.
    Open(NodeId),
    /// Out of it, after all its children.
    Close(NodeId),
}

impl Dom {
    /// The document's node.
    pub const ROOT: NodeId = NodeId(0);

    /// A document of nothing but its root, with room for what a text of so many bytes usually has.
    pub(crate) fn new(nodes_max: usize, text_bytes: usize) -> Self {
        let nodes = (text_bytes / TEXT_BYTES_PER_NODE).min(nodes_max);
        let mut spare = SPARE.take();
        spare.reserve(nodes);
        let mut dom = Self { nodes: spare, nodes_max };
        dom.create(NodeData::Root, 1);
        dom
    }

    /// Number of nodes, those cut off included.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True for a document of nothing, which cannot be: the root is always there.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The element at a node, if it is one.
    pub fn element(&self, id: NodeId) -> Option<&Element> {
        match &self.node(id).data {
            NodeData::Element(element) => Some(element),
            _ => None,
        }
    }

    /// The node above.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.node(id).parent.some()
    }

    /// The nodes directly below, in order.
    pub fn children(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.node(id).first_child.some(), move |child| self.node(*child).next.some())
    }

    /// Walks a subtree in document order, its top included.
    pub fn traverse(&self, top: NodeId) -> Traverse<'_> {
        Traverse { dom: self, top, next: Some(Edge::Open(top)) }
    }

    /// The nodes of a subtree in document order, its top not included.
    pub fn descendants(&self, top: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.traverse(top).skip(1).filter_map(|edge| match edge {
            Edge::Open(id) => Some(id),
            Edge::Close(_) => None,
        })
    }

    /// The elements of a subtree in document order.
    pub fn elements(&self, top: NodeId) -> impl Iterator<Item = (NodeId, &Element)> + '_ {
        self.descendants(top).filter_map(|id| self.element(id).map(|element| (id, element)))
    }

    /// All characters below a node.
    pub fn text(&self, top: NodeId) -> String {
        let mut text = String::new();
        for id in self.descendants(top) {
            if let NodeData::Text(piece) = &self.node(id).data {
                text.push_str(piece);
            }
        }
        text
    }

    pub(crate) fn create(&mut self, data: NodeData, line: u32) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX - 1));
        let node = Node {
            data,
            line,
            parent: NodeId::NONE,
            previous: NodeId::NONE,
            next: NodeId::NONE,
            first_child: NodeId::NONE,
            last_child: NodeId::NONE,
            closed: false,
            counted: 0,
        };
        room::push(&mut self.nodes, node, self.nodes_max);
        id
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    pub(crate) fn append(&mut self, parent: NodeId, child: NodeId) {
        self.detach(child);
        let last = self.node(parent).last_child;
        let node = self.node_mut(child);
        node.parent = parent;
        node.previous = last;
        match last.some() {
            Some(last) => self.node_mut(last).next = child,
            None => self.node_mut(parent).first_child = child,
        }
        self.node_mut(parent).last_child = child;
    }

    pub(crate) fn insert_before(&mut self, sibling: NodeId, child: NodeId) {
        self.detach(child);
        let (parent, previous) = (self.node(sibling).parent, self.node(sibling).previous);
        if parent == NodeId::NONE {
            return;
        }
        let node = self.node_mut(child);
        node.parent = parent;
        node.previous = previous;
        node.next = sibling;
        self.node_mut(sibling).previous = child;
        match previous.some() {
            Some(previous) => self.node_mut(previous).next = child,
            None => self.node_mut(parent).first_child = child,
        }
    }

    pub(crate) fn detach(&mut self, id: NodeId) {
        let (parent, previous, next) = {
            let node = self.node_mut(id);
            let links = (node.parent, node.previous, node.next);
            (node.parent, node.previous, node.next) = (NodeId::NONE, NodeId::NONE, NodeId::NONE);
            links
        };
        if parent == NodeId::NONE {
            return;
        }
        match previous.some() {
            Some(previous) => self.node_mut(previous).next = next,
            None => self.node_mut(parent).first_child = next,
        }
        match next.some() {
            Some(next) => self.node_mut(next).previous = previous,
            None => self.node_mut(parent).last_child = previous,
        }
    }

    /// Appends text, to the text before it where there is one.
    pub(crate) fn append_text(&mut self, parent: NodeId, text: &StrTendril, line: u32) {
        if let Some(last) = self.node(parent).last_child.some()
            && let NodeData::Text(before) = &mut self.node_mut(last).data
        {
            before.push_tendril(text);
            return;
        }
        let id = self.create(NodeData::Text(text.clone()), line);
        self.append(parent, id);
    }

    /// Inserts text before a node, into the text already there where there is one.
    pub(crate) fn insert_text_before(&mut self, sibling: NodeId, text: &StrTendril, line: u32) {
        if let Some(previous) = self.node(sibling).previous.some()
            && let NodeData::Text(before) = &mut self.node_mut(previous).data
        {
            before.push_tendril(text);
            return;
        }
        let id = self.create(NodeData::Text(text.clone()), line);
        self.insert_before(sibling, id);
    }

    /// Moves all children; answers how many.
    pub(crate) fn move_children(&mut self, from: NodeId, to: NodeId) -> u64 {
        let mut count = 0;
        while let Some(child) = self.node(from).first_child.some() {
            self.append(to, child);
            count += 1;
        }
        count
    }
}

/// See [`Dom::traverse`].
#[derive(Debug)]
pub struct Traverse<'a> {
    dom: &'a Dom,
    top: NodeId,
    next: Option<Edge>,
}

impl Traverse<'_> {
    /// Leaves out what is below a node: the one whose opening was the last step.
    pub fn skip_children(&mut self, opened: NodeId) {
        self.next = Some(Edge::Close(opened));
    }
}

impl Iterator for Traverse<'_> {
    type Item = Edge;

    fn next(&mut self) -> Option<Edge> {
        let edge = self.next?;
        self.next = match edge {
            Edge::Open(id) => Some(self.dom.node(id).first_child.some().map_or(Edge::Close(id), Edge::Open)),
            Edge::Close(id) if id == self.top => None,
            Edge::Close(id) => {
                let node = self.dom.node(id);
                node.next.some().map(Edge::Open).or_else(|| node.parent.some().map(Edge::Close))
            }
        };
        Some(edge)
    }
}
