//! `document()`.

use std::sync::Arc;

use super::{Machine, Message};
use crate::compile::find_by_id;
use crate::error::{Limit, Res, limit_error};
use crate::loader::{Purpose, resolve, split_fragment};
use crate::tree::NodeId;
use crate::xpath::ast::{Expr, StaticScope};
use crate::xpath::eval::Context;
use crate::xpath::value::{NodeSet, Object};

impl<'t> Machine<'t> {
    pub(super) fn document(
        &mut self,
        arguments: &[Expr],
        scope: &StaticScope,
        context: &Context,
    ) -> Res<NodeSet> {
        let wanted = self.eval(&arguments[0], context)?;
        let base = match arguments.get(1) {
            Some(argument) => {
                let nodes = self.nodes(argument, context)?;
                // A base that is asked for but missing leaves relative addresses as they are.
                Some(nodes.first().map_or(String::new(), |node| self.base_of(*node)))
            }
            None => None,
        };
        match wanted {
            Object::Nodes(nodes) => {
                let mut found = Vec::new();
                for node in &*nodes {
                    let reference = self.string_of(*node);
                    let base = base.clone().unwrap_or_else(|| self.base_of(*node));
                    found.extend(self.load(&base, &reference)?);
                }
                Ok(NodeSet::unsorted(found))
            }
            other => {
                let reference = self.to_text(other);
                let base = base.unwrap_or_else(|| scope.base.to_string());
                Ok(match self.load(&base, &reference)? {
                    Some(node) => NodeSet::One(node),
                    None => NodeSet::empty(),
                })
            }
        }
    }

    fn base_of(&self, node: NodeId) -> String {
        self.world.trees.get(node.document()).tree.base_uri(node.index())
    }

    /// The document, or the element in it, that an address names. What cannot be loaded is nothing, with a message.
    fn load(&mut self, base: &str, reference: &str) -> Res<Option<NodeId>> {
        let address = resolve(base, reference.trim());
        let (address, fragment) = split_fragment(&address);
        let number = match self.documents.get(address) {
            Some(known) => *known,
            None => {
                let number = self.load_document(address)?;
                self.documents.insert(address.to_owned(), number);
                number
            }
        };
        let Some(number) = number else { return Ok(None) };
        match fragment {
            Some(id) if !id.is_empty() => {
                let tree = &self.world.trees.get(number).tree;
                self.budget.spend(tree.nodes.len() as u64 / 8)?;
                Ok(find_by_id(tree, id).map(|element| NodeId::new(number, element)))
            }
            _ => Ok(Some(NodeId::new(number, 0))),
        }
    }

    fn load_document(&mut self, address: &str) -> Res<Option<u32>> {
        let program = self.world.program;
        if self.documents.len() > self.world.limits.documents_max {
            return Err(limit_error(
                Limit::Documents,
                format!(
                    "document() loads more than {} documents (limit documents_max)",
                    self.world.limits.documents_max
                ),
            ));
        }
        let module = program.modules.iter().find(|module| *module.uri == *address);
        let tree = match module {
            Some(module) => Arc::clone(&module.tree),
            None => match self.world.loader.load(address, Purpose::Document) {
                Ok(loaded) => match crate::xml::parse(&loaded.bytes, &loaded.uri, self.world.limits) {
                    Ok(tree) => Arc::new(tree),
                    Err(error) if matches!(error.kind, crate::error::ErrorKind::Limit(_)) => {
                        return Err(error);
                    }
                    Err(error) => {
                        self.warn(format!("document() cannot read <{address}>: {error}"))?;
                        return Ok(None);
                    }
                },
                Err(reason) => {
                    self.warn(format!("document() cannot load <{address}>: {reason}"))?;
                    return Ok(None);
                }
            },
        };
        let tree = if program.space_rules.iter().any(|rule| rule.strip) {
            Arc::new(tree.stripped(|tree, element| program.strips(tree, element)))
        } else {
            tree
        };
        self.budget.spend(tree.nodes.len() as u64)?;
        self.budget.hold(tree.memory_bytes())?;
        self.world.trees.push(tree, &program.names).map(Some)
    }

    fn warn(&mut self, text: String) -> Res<()> {
        self.message_bytes += text.len() + 64;
        if self.message_bytes > self.world.limits.output_bytes_max {
            return Err(limit_error(
                Limit::OutputBytes,
                "there are too many messages (limit output_bytes_max)",
            ));
        }
        let stylesheet =
            self.world.program.modules.first().map_or(String::new(), |module| module.uri.to_string());
        self.messages.push(Message { text, stylesheet, line: 0 });
        Ok(())
    }
}
