//! `xsl:copy` and `xsl:copy-of`.

use super::Machine;
use super::execute::Flow;
use super::result::{ResultNames, ResultWriter, Target};
use crate::compile::program::Instruction;
use crate::error::Res;
use crate::limits::Limits;
use crate::output::{OutputSpec, Serializer};
use crate::tree::{NodeId, NodeKind, Tree};
use crate::xpath::eval::Context;
use crate::xpath::value::{Fragment, Object, Text};

impl<'t> Machine<'t> {
    pub(super) fn copy(
        &mut self,
        sets: &'t [u32],
        body: &'t [Instruction],
        context: &Context,
    ) -> Res<Flow<'t>> {
        let node = context.node;
        let world = self.world;
        let tree = &world.trees.get(node.document()).tree;
        match self.kind(node) {
            NodeKind::Root => self.inner(body, context),
            NodeKind::Element => {
                let name = self.names.copied(u64::from(node.document()), tree, node.index());
                self.writer.start_element(name, &mut self.names)?;
                if !tree.declarations.is_empty() {
                    for (prefix, uri) in tree.in_scope(node.index()) {
                        self.writer.namespace(&prefix, &uri);
                    }
                }
                if !sets.is_empty() {
                    self.use_sets(sets, context)?;
                }
                let flow = self.inner(body, context)?;
                self.writer.end_element(&mut self.names)?;
                Ok(flow)
            }
            _ => {
                self.copy_node(node)?;
                Ok(Flow::Next)
            }
        }
    }

    pub(super) fn copy_of(&mut self, object: Object<'t>) -> Res<()> {
        match object {
            Object::Nodes(nodes) => {
                for node in &*nodes {
                    self.copy_node(*node)?;
                }
                Ok(())
            }
            Object::Fragment(fragment) => match &fragment {
                Fragment::Text(text) => self.write(text, false),
                Fragment::Tree(tree) => {
                    self.budget.spend(tree.nodes.len() as u64)?;
                    let key = self.names.new_key();
                    copy_tree(&mut self.writer, &mut self.names, tree, key, 0)
                }
            },
            other => {
                let text = self.to_text(other);
                self.write(&text, false)
            }
        }
    }

    /// Copies a node with all it contains.
    fn copy_node(&mut self, node: NodeId) -> Res<()> {
        let world = self.world;
        let tree = &world.trees.get(node.document()).tree;
        if node.sub() != 0 {
            let namespaces = tree.namespace_nodes(node.index());
            if let Some((prefix, uri)) = namespaces.get(node.sub() - 1) {
                self.writer.namespace(prefix, uri);
            }
            return Ok(());
        }
        let data = tree.node(node.index());
        self.budget.spend(self.writer.attribute_count() as u64 / 2)?;
        self.budget.spend(u64::from(data.end - node.index()))?;
        self.budget.spend_bytes(tree.value(node.index()).len())?;
        copy_tree(&mut self.writer, &mut self.names, tree, u64::from(node.document()), node.index())
    }
}

/// Copies a subtree; of a root, what it contains. `key` is what [`ResultNames::copied`] knows the tree by.
fn copy_tree(
    writer: &mut ResultWriter<'_>,
    names: &mut ResultNames,
    tree: &Tree,
    key: u64,
    top: u32,
) -> Res<()> {
    // Where the open elements end.
    let mut open: Vec<u32> = Vec::new();
    let mut at = top;
    let end = tree.node(top).end;
    while at < end {
        while open.last().is_some_and(|end| *end <= at) {
            open.pop();
            writer.end_element(names)?;
        }
        let node = tree.node(at);
        match node.kind {
            NodeKind::Root | NodeKind::Namespace => {}
            NodeKind::Element => {
                let name = names.copied(key, tree, at);
                writer.start_element(name, names)?;
                if at == top {
                    if !tree.declarations.is_empty() {
                        for (prefix, uri) in tree.in_scope(at) {
                            writer.namespace(&prefix, &uri);
                        }
                    }
                } else if node.declares {
                    for declaration in tree.own_declarations(at) {
                        writer.namespace(
                            &tree.prefixes[declaration.prefix as usize],
                            tree.names.text(declaration.uri),
                        );
                    }
                }
                open.push(node.end);
            }
            NodeKind::Attribute => {
                let (name, value) = (names.copied(key, tree, at), Text::Owned(tree.value(at).to_owned()));
                if at == top {
                    writer.attribute(name, value);
                } else {
                    writer.new_attribute(name, value);
                }
            }
            NodeKind::Text => writer.write_text(tree.value(at), false, names)?,
            NodeKind::Comment => writer.comment(tree.value(at), names)?,
            NodeKind::Instruction => writer.instruction(tree.local(at), tree.value(at), names)?,
        }
        at += 1;
    }
    for _ in open {
        writer.end_element(names)?;
    }
    Ok(())
}

/// A fragment as a message: its text, or XML where it has elements.
pub(super) fn fragment_text(fragment: &Fragment, limits: &Limits) -> Res<String> {
    let tree = match fragment {
        Fragment::Text(text) => return Ok(text.to_string()),
        Fragment::Tree(tree) => tree,
    };
    let mut spec = OutputSpec::default();
    spec.omit_declaration.set(true, 0);
    spec.method.set(crate::output::Method::Xml, 0);
    let serializer = Serializer::new(&spec, limits.output_bytes_max, 0);
    let mut writer = ResultWriter::new(Target::Serializer(Box::new(serializer)));
    let mut names = ResultNames::of_tree(tree);
    copy_tree(&mut writer, &mut names, tree, 0, 0)?;
    writer.flush(&mut names)?;
    match writer.into_target() {
        Target::Serializer(serializer) => {
            let (bytes, ..) = serializer.finish()?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        _ => Ok(String::new()),
    }
}
