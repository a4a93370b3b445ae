//! Names of blank nodes: scoped to their page or file, the same every time it is read.
//!
//! Parsers keep the labels a page writes, or invent random ones. Both are replaced here by a hash of
//! the scope's name and the order of first appearance. A label is known within one block (one document,
//! one `<script>`), because two blocks that both say `_:a` mean two nodes.

use std::collections::HashMap;
use std::hash::Hasher;

use oxrdf::{BlankNode, GraphName, NamedOrBlankNode, Quad, Term};
use siphasher::sip::SipHasher13;

/// Arbitrary, and never to be changed: names of nodes in stored graphs depend on it.
const KEY: (u64, u64) = (0x5765_626c_6f6f_6d20, 0x626c_616e_6b20_6e6f);

/// Names the blank nodes of one page or file.
#[derive(Debug)]
pub struct BlankScope {
    scope: u64,
    count: u64,
    block: HashMap<String, BlankNode>,
}

impl BlankScope {
    /// A scope by its name: the page's URL, the file's path.
    pub fn new(name: &str) -> Self {
        let mut hasher = SipHasher13::new_with_keys(KEY.0, KEY.1);
        hasher.write(name.as_bytes());
        Self { scope: hasher.finish(), count: 0, block: HashMap::new() }
    }

    /// From here on labels mean new nodes.
    pub fn begin_block(&mut self) {
        self.block.clear();
    }

    /// A node that nothing else in the scope is.
    pub fn fresh(&mut self) -> BlankNode {
        let name = BlankNode::new_unchecked(format!("b{:016x}n{}", self.scope, self.count));
        self.count += 1;
        name
    }

    /// The scope's name for a node.
    pub fn rename(&mut self, node: &BlankNode) -> BlankNode {
        if let Some(name) = self.block.get(node.as_str()) {
            return name.clone();
        }
        let name = self.fresh();
        self.block.insert(node.as_str().to_owned(), name.clone());
        name
    }

    /// The scope's name for a node whose label means the same wherever it appears in the scope. Needs no memory of it, so this is
    /// for files with more nodes than memory; a scope uses either this or [`rename`](Self::rename).
    pub fn named(&self, label: &str) -> BlankNode {
        BlankNode::new_unchecked(format!("b{:016x}l{label}", self.scope))
    }

    /// The quad with its blank nodes renamed.
    pub fn rename_quad(&mut self, mut quad: Quad) -> Quad {
        if let NamedOrBlankNode::BlankNode(node) = &quad.subject {
            quad.subject = self.rename(node).into();
        }
        if let Term::BlankNode(node) = &quad.object {
            quad.object = self.rename(node).into();
        }
        if let GraphName::BlankNode(node) = &quad.graph_name {
            quad.graph_name = self.rename(node).into();
        }
        quad
    }
}
