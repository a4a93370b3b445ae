//! `key()`: an index per key and document, built when first asked for.

use std::borrow::Cow;
use std::sync::Arc;

use super::Machine;
use crate::error::{Res, run_error};
use crate::hash::Table;
use crate::tree::{NodeId, NodeKind};
use crate::xpath::ast::{Expr, NodeTest, StaticScope};
use crate::xpath::eval::Context;
use crate::xpath::value::{NodeSet, Object, Text};

/// The nodes of one document by the values of one key.
pub(crate) type KeyIndex<'t> = Table<Cow<'t, str>, Members>;

/// The nodes that have a value: gathered in a list, then made a set.
#[derive(Debug)]
pub(crate) struct Members {
    list: Vec<NodeId>,
    set: NodeSet,
}

impl<'t> Machine<'t> {
    pub(super) fn key(
        &mut self,
        name: &Expr,
        value: &Expr,
        scope: &StaticScope,
        context: &Context,
    ) -> Res<NodeSet> {
        let name = self.string_near(name, context)?;
        let keys = &self.world.program.keys;
        let number = if name.contains(':') {
            scope.expand(&name, "").and_then(|(namespace, local)| {
                keys.iter().position(|key| *key.local == *local && key.namespace == namespace)
            })
        } else {
            keys.iter().position(|key| *key.local == *name && key.namespace.is_empty())
        };
        // A key that is not declared has no members.
        let Some(number) = number else { return Ok(NodeSet::empty()) };
        let value = self.eval(value, context)?;
        let index = self.key_index(number as u32, context.node.document())?;
        let members = |value: &str| index.get(value).map_or(NodeSet::Empty, |members| members.set.clone());
        let nodes = match value {
            Object::Nodes(NodeSet::One(node)) => return Ok(members(&self.string_of(node))),
            Object::Nodes(nodes) => nodes,
            other => return Ok(members(&self.to_text(other))),
        };
        let mut all = Vec::new();
        for node in &*nodes {
            if let Some(found) = index.get(&*self.string_of(*node)) {
                all.extend_from_slice(&found.set);
            }
        }
        self.budget.spend((nodes.len() + all.len()) as u64)?;
        Ok(NodeSet::unsorted(all))
    }

    fn key_index(&mut self, key: u32, document: u32) -> Res<Arc<KeyIndex<'t>>> {
        if let Some((last, index)) = &self.last_key_index
            && *last == (key, document)
        {
            return Ok(Arc::clone(index));
        }
        let index = self.known_or_new_key_index(key, document)?;
        self.last_key_index = Some(((key, document), Arc::clone(&index)));
        Ok(index)
    }

    fn known_or_new_key_index(&mut self, key: u32, document: u32) -> Res<Arc<KeyIndex<'t>>> {
        match self.key_indexes.get(&(key, document)) {
            Some(Some(index)) => return Ok(Arc::clone(index)),
            Some(None) => {
                let key = &self.world.program.keys[key as usize];
                return Err(run_error(format!("the key `{}` depends on itself", key.local)));
            }
            None => {}
        }
        self.key_indexes.insert((key, document), None);
        let world = self.world;
        let entry = world.trees.get(document);
        let tree = &*entry.tree;
        let definition = &world.program.keys[key as usize];
        let mut index: KeyIndex<'t> = Table::default();
        for definition in &definition.definitions {
            // Most keys ask for a name: only nodes of that name are looked at.
            let named: Option<Vec<u32>> = match definition.patterns.as_slice() {
                [pattern] => match pattern.last() {
                    Some((crate::xpath::ast::Axis::Child, NodeTest::Name(name))) => {
                        Some(tree.by_name(name.in_tree(entry)).to_vec())
                    }
                    _ => None,
                },
                _ => None,
            };
            // Nothing but the name is asked for.
            let matches_by_name = named.is_some()
                && definition.patterns[0]
                    .only_names()
                    .is_some_and(|names| names.parents.is_empty() && !names.conditions);
            let count = tree.nodes.len() as u32;
            let mut visit = |machine: &mut Self, at: u32| -> Res<()> {
                let node = NodeId::new(document, at);
                machine.budget.spend(1)?;
                if !matches_by_name && !machine.matches_any(&definition.patterns, node)? {
                    return Ok(());
                }
                let mut add = |machine: &mut Self, value: Text<'t>| -> Res<()> {
                    machine.budget.hold(48 + value.len())?;
                    let value = match value {
                        Text::Borrowed(text) => Cow::Borrowed(text),
                        other => Cow::Owned(other.into_string()),
                    };
                    let members = index.entry(value);
                    let nodes =
                        &mut members.or_insert(Members { list: Vec::new(), set: NodeSet::Empty }).list;
                    if nodes.last() != Some(&node) {
                        nodes.push(node);
                    }
                    Ok(())
                };
                match machine.eval(&definition.value, &Context::at(node))? {
                    Object::Nodes(nodes) => {
                        for value in &*nodes {
                            let value = machine.string_of(*value);
                            add(machine, value)?;
                        }
                    }
                    other => {
                        let value = machine.to_text(other);
                        add(machine, value)?;
                    }
                }
                Ok(())
            };
            let done = match named {
                Some(named) => named.into_iter().try_for_each(|at| visit(self, at)),
                None => (0..count)
                    .filter(|at| tree.node(*at).kind != NodeKind::Namespace)
                    .try_for_each(|at| visit(self, at)),
            };
            done.map_err(|error| self.located(error, definition.module, definition.line))?;
        }
        for members in index.values_mut() {
            members.set = NodeSet::unsorted(std::mem::take(&mut members.list));
        }
        let index = Arc::new(index);
        self.key_indexes.insert((key, document), Some(Arc::clone(&index)));
        Ok(index)
    }
}
