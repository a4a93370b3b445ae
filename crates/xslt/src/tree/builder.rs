//! Builds a tree by calls, in document order.

use std::sync::{Arc, OnceLock};

use super::{
    Atom, Declaration, Document, NAMESPACES_MAX, NONE, NameId, Names, NodeData, NodeKind, Tree, XML_NAMESPACE,
};
use crate::error::{Limit, Res, XsltError, limit_error, run_error};
use crate::hash::Table;

/// Fills a [`Document`] from a tree that somebody else parsed: elements, attributes and text in document order.
///
/// ```
/// # use webloom_xslt::{Document, Limits};
/// # fn main() -> Result<(), webloom_xslt::XsltError> {
/// let mut builder = Document::builder("https://example.org/", &Limits::default());
/// builder.start_element("", "p", "http://www.w3.org/1999/xhtml")?;
/// builder.attribute("", "class", "", "intro")?;
/// builder.text("Hello")?;
/// builder.end_element();
/// let document = builder.finish();
/// assert_eq!(document.node_count(), 4);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TreeBuilder {
    nodes: Vec<NodeData>,
    text: String,
    data: String,
    pub(crate) names: Arc<Names>,
    prefixes: Vec<Arc<str>>,
    prefix_ids: Table<Arc<str>, u16>,
    declarations: Vec<Declaration>,
    open: Vec<u32>,
    uri: String,
    has_bases: bool,
    nodes_max: usize,
    line: u32,
    pub(crate) ids: Table<String, u32>,
    pub(crate) unparsed_entities: Table<String, String>,
}

impl TreeBuilder {
    pub(crate) fn new(uri: &str, nodes_max: usize) -> Self {
        Self::with_names(uri, nodes_max, Arc::new(Names::new()))
    }

    /// A builder whose names continue a table.
    pub(crate) fn with_names(uri: &str, nodes_max: usize, names: Arc<Names>) -> Self {
        let mut builder = Self {
            nodes: Vec::new(),
            text: String::new(),
            data: String::new(),
            names,
            prefixes: vec![Arc::from("")],
            prefix_ids: Table::default(),
            declarations: Vec::new(),
            open: vec![0],
            uri: uri.to_owned(),
            has_bases: false,
            nodes_max: nodes_max.min(u32::MAX as usize - 1),
            line: 0,
            ids: Table::default(),
            unparsed_entities: Table::default(),
        };
        builder.nodes.push(NodeData {
            kind: NodeKind::Root,
            declares: false,
            prefix: 0,
            name: NONE,
            parent: 0,
            end: 1,
            start: 0,
            length: 0,
            line: 1,
        });
        builder
    }

    /// Says the line that the next nodes were found on.
    pub fn set_line(&mut self, line: u32) {
        self.line = line;
    }

    /// Makes room for a document of about this many bytes.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.nodes.reserve(bytes / 20);
        self.text.reserve(bytes / 4 * 3);
        self.data.reserve(bytes / 8);
    }

    #[inline]
    fn parent(&self) -> u32 {
        self.open.last().copied().unwrap_or(0)
    }

    #[cold]
    fn too_many_nodes(&self) -> Box<XsltError> {
        limit_error(Limit::Nodes, format!("a tree has more than {} nodes (limit nodes_max)", self.nodes_max))
    }

    #[cold]
    fn too_much_text() -> Box<XsltError> {
        limit_error(Limit::InputBytes, "a tree has more than 4 GB of text")
    }

    /// Adds what nodes other than text have for a value; gives its place.
    #[inline]
    fn add_data(&mut self, value: &str) -> Res<usize> {
        let start = self.data.len();
        if start + value.len() > u32::MAX as usize {
            return Err(Self::too_much_text());
        }
        self.data.push_str(value);
        Ok(start)
    }

    #[inline]
    fn push(&mut self, kind: NodeKind, prefix: u16, name: NameId, start: usize, length: usize) -> Res<u32> {
        let index = self.nodes.len();
        if index >= self.nodes_max {
            return Err(self.too_many_nodes());
        }
        let parent = self.parent();
        self.nodes.push(NodeData {
            kind,
            declares: false,
            prefix,
            name,
            parent,
            end: index as u32 + 1,
            start: start as u32,
            length: length as u32,
            line: self.line,
        });
        Ok(index as u32)
    }

    pub(crate) fn atom(&mut self, text: &str) -> Atom {
        match self.names.find_atom(text) {
            Some(known) => known,
            None => Arc::make_mut(&mut self.names).atom(text),
        }
    }

    pub(crate) fn name(&mut self, namespace: &str, local: &str) -> NameId {
        match self.names.find(namespace, local) {
            Some(known) => known,
            None => Arc::make_mut(&mut self.names).name(namespace, local),
        }
    }

    pub(crate) fn name_of_atoms(&mut self, namespace: Atom, local: Atom) -> NameId {
        Arc::make_mut(&mut self.names).name_of_atoms(namespace, local)
    }

    pub(crate) fn prefix(&mut self, prefix: &str) -> Res<u16> {
        if prefix.is_empty() {
            return Ok(0);
        }
        if let Some(known) = self.prefix_ids.get(prefix) {
            return Ok(*known);
        }
        let Ok(number) = u16::try_from(self.prefixes.len()) else {
            return Err(limit_error(Limit::Nodes, "a tree has more than 65,535 different prefixes"));
        };
        let prefix: Arc<str> = Arc::from(prefix);
        self.prefixes.push(Arc::clone(&prefix));
        self.prefix_ids.insert(prefix, number);
        Ok(number)
    }

    /// Opens an element. Its namespace need not be declared by [`namespace`](Self::namespace); that is only for
    /// declarations a stylesheet should see.
    ///
    /// # Errors
    ///
    /// When the tree has as many nodes as the limits allow.
    pub fn start_element(&mut self, prefix: &str, local: &str, namespace: &str) -> Result<(), XsltError> {
        let name = self.name(namespace, local);
        let prefix = self.prefix(prefix)?;
        Ok(self.start(prefix, name).map(|_| ())?)
    }

    pub(crate) fn start(&mut self, prefix: u16, name: NameId) -> Res<u32> {
        let index = self.push(NodeKind::Element, prefix, name, self.text.len(), 0)?;
        self.open.push(index);
        Ok(index)
    }

    /// Declares a namespace on the element just opened.
    ///
    /// # Errors
    ///
    /// When an element carries thousands of declarations, or none is open.
    pub fn namespace(&mut self, prefix: &str, uri: &str) -> Result<(), XsltError> {
        let prefix = self.prefix(prefix)?;
        let uri = self.atom(uri);
        Ok(self.declare(prefix, uri)?)
    }

    pub(crate) fn declare(&mut self, prefix: u16, uri: Atom) -> Res<()> {
        let element = self.parent();
        if element == 0 {
            return Err(run_error("a namespace is declared outside of any element"));
        }
        let carried = self.declarations.iter().rev().take_while(|known| known.element == element).count();
        if carried >= NAMESPACES_MAX {
            return Err(limit_error(
                Limit::Nodes,
                format!("an element declares more than {NAMESPACES_MAX} namespaces"),
            ));
        }
        self.nodes[element as usize].declares = true;
        self.declarations.push(Declaration { element, prefix, uri });
        Ok(())
    }

    /// Adds an attribute to the element just opened, before any of its children.
    ///
    /// # Errors
    ///
    /// When children were added already, or the tree has as many nodes as the limits allow.
    pub fn attribute(
        &mut self,
        prefix: &str,
        local: &str,
        namespace: &str,
        value: &str,
    ) -> Result<(), XsltError> {
        let name = self.name(namespace, local);
        let prefix = self.prefix(prefix)?;
        if namespace == XML_NAMESPACE && local == "base" {
            self.has_bases = true;
        }
        Ok(self.add_attribute(prefix, name, value).map(|_| ())?)
    }

    pub(crate) fn add_attribute(&mut self, prefix: u16, name: NameId, value: &str) -> Res<u32> {
        let parent = self.parent();
        let last = self.nodes.len() as u32 - 1;
        let in_place = parent != 0
            && (last == parent || {
                let node = &self.nodes[last as usize];
                node.kind == NodeKind::Attribute && node.parent == parent
            });
        if !in_place {
            return Err(run_error("an attribute comes after the children of its element"));
        }
        let start = self.add_data(value)?;
        self.push(NodeKind::Attribute, prefix, name, start, value.len())
    }

    /// Notes that the tree has `xml:base` somewhere.
    pub(crate) fn set_has_bases(&mut self) {
        self.has_bases = true;
    }

    /// Adds text; next to other text it becomes one node with it.
    ///
    /// # Errors
    ///
    /// When the tree has as many nodes as the limits allow.
    pub fn text(&mut self, text: &str) -> Result<(), XsltError> {
        Ok(self.add_text(text)?)
    }

    pub(crate) fn add_text(&mut self, text: &str) -> Res<()> {
        if text.is_empty() {
            return Ok(());
        }
        let parent = self.parent();
        let start = self.text.len();
        if start + text.len() > u32::MAX as usize {
            return Err(Self::too_much_text());
        }
        self.text.push_str(text);
        if let Some(last) = self.nodes.last_mut()
            && last.kind == NodeKind::Text
            && last.parent == parent
        {
            last.length += text.len() as u32;
            return Ok(());
        }
        self.push(NodeKind::Text, 0, NONE, start, text.len())?;
        Ok(())
    }

    /// Adds a comment.
    ///
    /// # Errors
    ///
    /// When the tree has as many nodes as the limits allow.
    pub fn comment(&mut self, text: &str) -> Result<(), XsltError> {
        let start = self.add_data(text)?;
        self.push(NodeKind::Comment, 0, NONE, start, text.len())?;
        Ok(())
    }

    /// Adds a processing instruction.
    ///
    /// # Errors
    ///
    /// When the tree has as many nodes as the limits allow.
    pub fn processing_instruction(&mut self, target: &str, content: &str) -> Result<(), XsltError> {
        let name = self.name("", target);
        let start = self.add_data(content)?;
        self.push(NodeKind::Instruction, 0, name, start, content.len())?;
        Ok(())
    }

    /// Closes the innermost open element.
    pub fn end_element(&mut self) {
        if self.open.len() > 1
            && let Some(index) = self.open.pop()
        {
            self.close(index);
        }
    }

    fn close(&mut self, index: u32) {
        let (end, text_end) = (self.nodes.len() as u32, self.text.len() as u32);
        let node = &mut self.nodes[index as usize];
        node.end = end;
        node.length = text_end - node.start;
    }

    /// How many nodes there are so far.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Says that the attribute just added identifies its element.
    pub(crate) fn set_id(&mut self, value: &str) {
        let element = self.parent();
        self.ids.entry(value.to_owned()).or_insert(element);
    }

    /// The finished document; elements still open are closed.
    pub fn finish(self) -> Document {
        Document { tree: Arc::new(self.into_tree()) }
    }

    pub(crate) fn into_tree(mut self) -> Tree {
        while let Some(index) = self.open.pop() {
            self.close(index);
        }
        Tree {
            nodes: self.nodes,
            text: self.text,
            data: self.data,
            names: self.names,
            prefixes: self.prefixes,
            declarations: self.declarations,
            ids: self.ids,
            unparsed_entities: self.unparsed_entities,
            uri: self.uri,
            has_bases: self.has_bases,
            by_name: OnceLock::new(),
        }
    }
}
