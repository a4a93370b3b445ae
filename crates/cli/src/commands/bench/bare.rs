//! The least that parsing HTML costs: html5ever with a tree of numbers, and nothing read from it.
//!
//! The measure for what the syntaxes add. It shares no code with the product's own parse, whose guards would
//! otherwise be part of the measure.

use std::borrow::Cow;
use std::cell::RefCell;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ParseOpts, QualName, local_name, ns, parse_document};

/// Parses a document; answers how many nodes it has.
pub(super) fn parse(text: &str) -> usize {
    let tree = parse_document(Tree::default(), ParseOpts::default()).one(text);
    tree.nodes.borrow().len()
}

#[derive(Default)]
struct Node {
    parent: Option<usize>,
    children: Vec<usize>,
    text: Option<StrTendril>,
    template: Option<usize>,
    _attributes: Vec<Attribute>,
}

/// A node with its name, which the tree builder asks for all the time.
#[derive(Clone)]
struct Handle {
    id: usize,
    name: std::rc::Rc<QualName>,
}

struct Tree {
    nodes: RefCell<Vec<Node>>,
    no_name: std::rc::Rc<QualName>,
}

impl Default for Tree {
    fn default() -> Self {
        Self {
            nodes: RefCell::new(vec![Node::default()]),
            no_name: std::rc::Rc::new(QualName::new(None, ns!(), local_name!(""))),
        }
    }
}

impl Tree {
    fn create(&self, node: Node) -> usize {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(node);
        nodes.len() - 1
    }

    fn nameless(&self, node: Node) -> Handle {
        Handle { id: self.create(node), name: self.no_name.clone() }
    }

    fn detach(&self, id: usize) {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(parent) = nodes[id].parent.take() {
            nodes[parent].children.retain(|child| *child != id);
        }
    }

    fn insert(&self, parent: usize, position: usize, child: NodeOrText<Handle>) {
        match child {
            NodeOrText::AppendNode(node) => {
                self.detach(node.id);
                let mut nodes = self.nodes.borrow_mut();
                nodes[node.id].parent = Some(parent);
                let position = position.min(nodes[parent].children.len());
                nodes[parent].children.insert(position, node.id);
            }
            NodeOrText::AppendText(text) => {
                let before = position
                    .checked_sub(1)
                    .and_then(|at| self.nodes.borrow()[parent].children.get(at).copied());
                if let Some(before) = before
                    && let Some(known) = &mut self.nodes.borrow_mut()[before].text
                {
                    known.push_tendril(&text);
                    return;
                }
                let id = self.create(Node { parent: Some(parent), text: Some(text), ..Node::default() });
                self.nodes.borrow_mut()[parent].children.insert(position, id);
            }
        }
    }
}

impl TreeSink for Tree {
    type Handle = Handle;
    type Output = Self;
    type ElemName<'a> = html5ever::ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { id: 0, name: self.no_name.clone() }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> html5ever::ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Handle {
        let template = flags.template.then(|| self.create(Node::default()));
        let id = self.create(Node { template, _attributes: attributes, ..Node::default() });
        Handle { id, name: std::rc::Rc::new(name) }
    }

    fn create_comment(&self, _text: StrTendril) -> Handle {
        self.nameless(Node::default())
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Handle {
        self.nameless(Node::default())
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        let end = self.nodes.borrow()[parent.id].children.len();
        self.insert(parent.id, end, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        if self.nodes.borrow()[element.id].parent.is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _name: StrTendril, _public: StrTendril, _system: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        let id = self.nodes.borrow()[target.id].template.unwrap_or(target.id);
        Handle { id, name: self.no_name.clone() }
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.id == other.id
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let Some(parent) = self.nodes.borrow()[sibling.id].parent else { return };
        let position = self.nodes.borrow()[parent].children.iter().position(|id| *id == sibling.id);
        self.insert(parent, position.unwrap_or(0), child);
    }

    fn add_attrs_if_missing(&self, _target: &Handle, _attributes: Vec<Attribute>) {}

    fn remove_from_parent(&self, target: &Handle) {
        self.detach(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let children = std::mem::take(&mut self.nodes.borrow_mut()[node.id].children);
        let mut nodes = self.nodes.borrow_mut();
        for child in children {
            nodes[child].parent = Some(new_parent.id);
            nodes[new_parent.id].children.push(child);
        }
    }
}
