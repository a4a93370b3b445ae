//! The tree that XPath walks: one array of nodes in document order.
//!
//! A node is its index. An element is followed by its attributes, then by its children; all it contains lies between
//! the element and its `end`. So document order is integer order, and a descendant axis is a range. Text of all text
//! nodes lies in one string in document order: the string value of an element is a slice of it. Namespace nodes are
//! not stored but counted off from the declarations in scope (see [`NodeId::sub`]).
//!
//! [`Document`] is what the outside sees; [`TreeBuilder`] fills one without any XML text.

mod arena;
mod builder;
mod names;

use std::sync::{Arc, OnceLock};

pub(crate) use arena::{Entry, TreeArena};
pub use builder::TreeBuilder;
pub(crate) use names::{Atom, EMPTY, NONE, NameId, Names};

use crate::error::XsltError;
use crate::hash::Table;
use crate::limits::Limits;

/// The namespace of the prefix `xml`.
pub(crate) const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

/// A parsed or built document, ready to be transformed. Cheap to clone, and shared between threads.
#[derive(Debug, Clone)]
pub struct Document {
    pub(crate) tree: Arc<Tree>,
}

impl Document {
    /// Parses XML. `uri` is the address of the document, the base of relative addresses in it.
    ///
    /// # Errors
    ///
    /// When the bytes are not well-formed XML with namespaces, or a limit is reached; the error names address and line.
    pub fn parse(bytes: &[u8], uri: &str, limits: &Limits) -> Result<Self, XsltError> {
        Ok(Self { tree: Arc::new(crate::xml::parse_data(bytes, uri, limits)?) })
    }

    /// Starts a document that is filled by calls instead of parsed.
    pub fn builder(uri: &str, limits: &Limits) -> TreeBuilder {
        TreeBuilder::new(uri, limits.nodes_max)
    }

    /// The address given when the document was made.
    pub fn uri(&self) -> &str {
        &self.tree.uri
    }

    /// How many nodes the document has, namespace nodes aside.
    pub fn node_count(&self) -> usize {
        self.tree.nodes.len()
    }
}

/// The seven kinds of nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum NodeKind {
    Root,
    Element,
    Attribute,
    Text,
    Comment,
    Instruction,
    Namespace,
}

/// What is known of one node.
#[derive(Debug, Clone)]
pub(crate) struct NodeData {
    pub(crate) kind: NodeKind,
    /// Whether this element declares namespaces.
    pub(crate) declares: bool,
    /// The prefix as written, in [`Tree::prefixes`].
    pub(crate) prefix: u16,
    pub(crate) name: NameId,
    pub(crate) parent: u32,
    /// One past the last node inside of this one.
    pub(crate) end: u32,
    /// The value, in [`Tree::text`] for roots, elements and text, else in [`Tree::data`].
    pub(crate) start: u32,
    pub(crate) length: u32,
    pub(crate) line: u32,
}

/// One namespace declaration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declaration {
    pub(crate) element: u32,
    pub(crate) prefix: u16,
    pub(crate) uri: Atom,
}

/// A whole tree. Node 0 is the root.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<NodeData>,
    pub(crate) text: String,
    pub(crate) data: String,
    pub(crate) names: Arc<Names>,
    pub(crate) prefixes: Vec<Arc<str>>,
    /// In the order of their elements.
    pub(crate) declarations: Vec<Declaration>,
    /// Elements by the value of their attributes of type ID.
    pub(crate) ids: Table<String, u32>,
    /// Names of unparsed entities and their addresses.
    pub(crate) unparsed_entities: Table<String, String>,
    pub(crate) uri: String,
    /// Whether any attribute is `xml:base`.
    pub(crate) has_bases: bool,
    /// See [`Tree::by_name`].
    by_name: OnceLock<(Vec<u32>, Vec<u32>)>,
}

impl Tree {
    #[inline]
    pub(crate) fn node(&self, index: u32) -> &NodeData {
        &self.nodes[index as usize]
    }

    /// The string value of a stored node.
    #[inline]
    pub(crate) fn value(&self, index: u32) -> &str {
        let node = self.node(index);
        let range = node.start as usize..(node.start + node.length) as usize;
        match node.kind {
            NodeKind::Root | NodeKind::Element | NodeKind::Text => &self.text[range],
            _ => &self.data[range],
        }
    }

    #[inline]
    pub(crate) fn first_child(&self, index: u32) -> Option<u32> {
        let node = self.node(index);
        if !matches!(node.kind, NodeKind::Root | NodeKind::Element) {
            return None;
        }
        let mut child = index + 1;
        while child < node.end && self.node(child).kind == NodeKind::Attribute {
            child += 1;
        }
        (child < node.end).then_some(child)
    }

    /// The children of a node.
    #[inline]
    pub(crate) fn children(&self, index: u32) -> Children<'_> {
        let end = self.node(index).end;
        Children { nodes: &self.nodes[..end as usize], at: index as usize + 1 }
    }

    #[inline]
    pub(crate) fn next_sibling(&self, index: u32) -> Option<u32> {
        let node = self.node(index);
        if index == 0 || node.kind == NodeKind::Attribute {
            return None;
        }
        (node.end < self.node(node.parent).end).then_some(node.end)
    }

    pub(crate) fn previous_sibling(&self, index: u32) -> Option<u32> {
        let node = self.node(index);
        if index == 0 || node.kind == NodeKind::Attribute {
            return None;
        }
        let mut before = index - 1;
        loop {
            if before == node.parent {
                return None;
            }
            let candidate = self.node(before);
            if candidate.parent == node.parent {
                return (candidate.kind != NodeKind::Attribute).then_some(before);
            }
            before = candidate.parent;
        }
    }

    /// The attributes of an element.
    #[inline]
    pub(crate) fn attributes(&self, index: u32) -> std::ops::Range<u32> {
        if self.node(index).kind != NodeKind::Element {
            return 0..0;
        }
        let mut end = index + 1;
        while (end as usize) < self.nodes.len() && {
            let node = self.node(end);
            node.kind == NodeKind::Attribute && node.parent == index
        } {
            end += 1;
        }
        index + 1..end
    }

    /// The value of the attribute with this expanded name.
    pub(crate) fn attribute(&self, index: u32, namespace: &str, local: &str) -> Option<&str> {
        let name = self.names.find(namespace, local)?;
        self.attributes(index)
            .find(|attribute| self.node(*attribute).name == name)
            .map(|found| self.value(found))
    }

    pub(crate) fn local(&self, index: u32) -> &Arc<str> {
        self.names.local(self.node(index).name)
    }

    pub(crate) fn namespace(&self, index: u32) -> &Arc<str> {
        self.names.namespace(self.node(index).name)
    }

    pub(crate) fn prefix(&self, index: u32) -> &Arc<str> {
        &self.prefixes[self.node(index).prefix as usize]
    }

    /// The name as written.
    pub(crate) fn qualified_name(&self, index: u32) -> String {
        qualified(self.prefix(index), self.local(index))
    }

    /// The declarations that an element itself carries.
    pub(crate) fn own_declarations(&self, element: u32) -> &[Declaration] {
        if !self.node(element).declares {
            return &[];
        }
        let start = self.declarations.partition_point(|declaration| declaration.element < element);
        let end = self.declarations.partition_point(|declaration| declaration.element <= element);
        &self.declarations[start..end]
    }

    /// The namespaces in scope of an element as prefix and address, `xml` aside: its own first, then outwards.
    pub(crate) fn in_scope(&self, element: u32) -> Vec<(Arc<str>, Arc<str>)> {
        if self.declarations.is_empty() {
            return Vec::new();
        }
        let mut seen = vec![false; self.prefixes.len()];
        let mut scope = Vec::new();
        let mut at = element;
        while self.node(at).kind == NodeKind::Element {
            for declaration in self.own_declarations(at) {
                let first = !std::mem::replace(&mut seen[declaration.prefix as usize], true);
                if first && declaration.uri != EMPTY {
                    scope.push((
                        Arc::clone(&self.prefixes[declaration.prefix as usize]),
                        Arc::clone(self.names.text(declaration.uri)),
                    ));
                }
            }
            at = self.node(at).parent;
        }
        scope
    }

    /// The namespace a prefix stands for at an element.
    pub(crate) fn namespace_of_prefix(&self, element: u32, prefix: &str) -> Option<Arc<str>> {
        if prefix == "xml" {
            return Some(Arc::from(XML_NAMESPACE));
        }
        let mut at = element;
        while self.node(at).kind == NodeKind::Element {
            for declaration in self.own_declarations(at) {
                if *self.prefixes[declaration.prefix as usize] == *prefix {
                    return (declaration.uri != EMPTY).then(|| Arc::clone(self.names.text(declaration.uri)));
                }
            }
            at = self.node(at).parent;
        }
        None
    }

    /// The namespace nodes of an element; `sub` of a [`NodeId`] counts them from one.
    pub(crate) fn namespace_nodes(&self, element: u32) -> Vec<(Arc<str>, Arc<str>)> {
        let mut nodes = self.in_scope(element);
        nodes.push((Arc::from("xml"), Arc::from(XML_NAMESPACE)));
        nodes
    }

    /// The elements of a name, in document order; sorted when first asked for.
    pub(crate) fn by_name(&self, name: NameId) -> &[u32] {
        let (starts, elements) = self.by_name.get_or_init(|| self.sort_by_name());
        match (starts.get(name as usize), starts.get(name as usize + 1)) {
            (Some(start), Some(end)) => &elements[*start as usize..*end as usize],
            _ => &[],
        }
    }

    /// The elements by name, and where those of each name start.
    fn sort_by_name(&self) -> (Vec<u32>, Vec<u32>) {
        let elements = || self.nodes.iter().enumerate().filter(|(_, node)| node.kind == NodeKind::Element);
        let mut starts = vec![0; self.names.len() as usize + 1];
        for (_, node) in elements() {
            starts[node.name as usize + 1] += 1;
        }
        for name in 1..starts.len() {
            starts[name] += starts[name - 1];
        }
        let mut next = starts.clone();
        let mut sorted = vec![0; starts.last().map_or(0, |count| *count as usize)];
        for (number, node) in elements() {
            let place = &mut next[node.name as usize];
            sorted[*place as usize] = number as u32;
            *place += 1;
        }
        (starts, sorted)
    }

    /// The address that relative addresses in a node are resolved against.
    pub(crate) fn base_uri(&self, index: u32) -> String {
        if !self.has_bases {
            return self.uri.clone();
        }
        let mut bases = Vec::new();
        let mut at = index;
        while at != 0 {
            if let Some(base) = self.attribute(at, XML_NAMESPACE, "base") {
                bases.push(base);
            }
            at = self.node(at).parent;
        }
        let mut base = self.uri.clone();
        for reference in bases.into_iter().rev() {
            base = crate::loader::resolve(&base, reference);
        }
        base
    }

    /// The document element.
    pub(crate) fn document_element(&self) -> Option<u32> {
        let mut child = self.first_child(0);
        while let Some(index) = child {
            if self.node(index).kind == NodeKind::Element {
                return Some(index);
            }
            child = self.next_sibling(index);
        }
        None
    }

    /// Roughly how many bytes the tree takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.nodes.len() * size_of::<NodeData>() + self.text.len() + self.data.len() + 256
    }

    /// A copy without the text nodes of only white space in elements for which `strips` says so. `xml:space` wins.
    pub(crate) fn stripped(&self, mut strips: impl FnMut(&Tree, u32) -> bool) -> Tree {
        // What holds in the elements that are open: their end, whether they strip, whether they preserve.
        let mut open: Vec<(u32, bool, bool)> = Vec::new();
        let space = self.names.find(XML_NAMESPACE, "space");
        let mut nodes: Vec<NodeData> = Vec::with_capacity(self.nodes.len());
        let mut text = String::with_capacity(self.text.len());
        let mut new_index: Vec<u32> = Vec::with_capacity(self.nodes.len() + 1);
        let mut ends: Vec<(u32, u32)> = Vec::new();
        let close = |nodes: &mut Vec<NodeData>, text: &String, ends: &mut Vec<(u32, u32)>, until: u32| {
            while let Some((end, index)) = ends.last().copied() {
                if end > until {
                    break;
                }
                let count = nodes.len() as u32;
                let node = &mut nodes[index as usize];
                node.end = count;
                node.length = text.len() as u32 - node.start;
                ends.pop();
            }
        };
        for (number, node) in self.nodes.iter().enumerate() {
            let number = number as u32;
            close(&mut nodes, &text, &mut ends, number);
            while open.last().is_some_and(|(end, ..)| *end <= number) {
                open.pop();
            }
            new_index.push(nodes.len() as u32);
            let mut copy = node.clone();
            copy.parent = new_index[node.parent as usize];
            match node.kind {
                NodeKind::Root | NodeKind::Element => {
                    copy.start = text.len() as u32;
                    ends.push((node.end, nodes.len() as u32));
                    if node.kind == NodeKind::Element {
                        let preserve = space
                            .and_then(|space| {
                                self.attributes(number)
                                    .find(|attribute| self.node(*attribute).name == space)
                                    .map(|attribute| self.value(attribute))
                            })
                            .and_then(|value| match value {
                                "preserve" => Some(true),
                                "default" => Some(false),
                                _ => None,
                            })
                            .unwrap_or_else(|| open.last().is_some_and(|(_, _, preserve)| *preserve));
                        open.push((node.end, strips(self, number), preserve));
                    }
                }
                NodeKind::Text => {
                    let value = self.value(number);
                    if open.last().is_some_and(|(_, strip, preserve)| *strip && !*preserve)
                        && value.bytes().all(is_space)
                    {
                        continue;
                    }
                    copy.start = text.len() as u32;
                    text.push_str(value);
                    copy.end = nodes.len() as u32 + 1;
                }
                _ => copy.end = nodes.len() as u32 + 1,
            }
            nodes.push(copy);
        }
        close(&mut nodes, &text, &mut ends, u32::MAX);
        let declarations = self
            .declarations
            .iter()
            .map(|declaration| Declaration {
                element: new_index[declaration.element as usize],
                ..*declaration
            })
            .collect();
        Tree {
            nodes,
            text,
            data: self.data.clone(),
            names: Arc::clone(&self.names),
            prefixes: self.prefixes.clone(),
            declarations,
            ids: self.ids.iter().map(|(id, element)| (id.clone(), new_index[*element as usize])).collect(),
            unparsed_entities: self.unparsed_entities.clone(),
            uri: self.uri.clone(),
            has_bases: self.has_bases,
            by_name: OnceLock::new(),
        }
    }
}

/// The children of a node, one after the other.
pub(crate) struct Children<'n> {
    /// The nodes up to the end of the parent.
    nodes: &'n [NodeData],
    at: usize,
}

impl Iterator for Children<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            let at = self.at;
            let node = self.nodes.get(at)?;
            self.at = node.end as usize;
            // Attributes come before the children.
            if node.kind != NodeKind::Attribute {
                return Some(at as u32);
            }
        }
    }
}

/// A name as written, of its prefix and local part.
pub(crate) fn qualified(prefix: &str, local: &str) -> String {
    if prefix.is_empty() { local.to_owned() } else { format!("{prefix}:{local}") }
}

/// White space as XML has it.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Any node of any document of a transformation. The order of the numbers is document order.
///
/// The upper 20 bits say the document, the next 32 the node, the lowest 12 are 0 or count the namespace nodes of the
/// element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(u64);

/// Documents a transformation can tell apart.
pub(crate) const DOCUMENTS_MAX: usize = 1 << 20;
/// Namespaces that one element may have in scope.
pub(crate) const NAMESPACES_MAX: usize = 1000;

impl NodeId {
    #[inline]
    pub(crate) fn new(document: u32, index: u32) -> Self {
        Self((u64::from(document) << 44) | (u64::from(index) << 12))
    }

    /// A namespace node of this element, counted from one.
    pub(crate) fn with_sub(self, sub: usize) -> Self {
        Self(self.0 | (sub.min(NAMESPACES_MAX + 1) as u64))
    }

    #[inline]
    pub(crate) fn document(self) -> u32 {
        (self.0 >> 44) as u32
    }

    #[inline]
    pub(crate) fn index(self) -> u32 {
        ((self.0 >> 12) & 0xffff_ffff) as u32
    }

    /// 0 for stored nodes; the number of a namespace node of the element.
    #[inline]
    pub(crate) fn sub(self) -> usize {
        (self.0 & 0xfff) as usize
    }

    /// The number itself, for `generate-id()`.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}
