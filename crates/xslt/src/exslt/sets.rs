//! `set:*`

use std::collections::HashSet;

use crate::error::Res;
use crate::run::Machine;
use crate::tree::NodeId;
use crate::xpath::ast::{Expr, Extension};
use crate::xpath::eval::Context;
use crate::xpath::value::{NodeSet, Object};

impl<'t> Machine<'t> {
    pub(super) fn set_extension(
        &mut self,
        extension: Extension,
        arguments: &[Expr],
        context: &Context,
    ) -> Res<Object<'t>> {
        let left = self.nodes(&arguments[0], context)?;
        self.budget.spend(left.len() as u64)?;
        if extension == Extension::Distinct {
            let mut seen = HashSet::new();
            let distinct: Vec<NodeId> = left
                .iter()
                .filter(|node| seen.insert(self.string_of(**node).into_string()))
                .copied()
                .collect();
            return Ok(Object::Nodes(NodeSet::sorted(distinct)));
        }
        let right = self.nodes(&arguments[1], context)?;
        self.budget.spend(right.len() as u64)?;
        // Both are in document order, so a search by halves finds whether a node is there.
        let contains = |nodes: &[NodeId], node: &NodeId| nodes.binary_search(node).is_ok();
        let kept: Vec<NodeId> = match extension {
            Extension::Difference => left.iter().filter(|node| !contains(&right, node)).copied().collect(),
            Extension::Intersection => left.iter().filter(|node| contains(&right, node)).copied().collect(),
            Extension::HasSameNode => {
                return Ok(Object::Boolean(left.iter().any(|node| contains(&right, node))));
            }
            _ => match right.first() {
                None => left.to_vec(),
                Some(first) if !contains(&left, first) => Vec::new(),
                Some(first) if extension == Extension::Leading => {
                    left.iter().filter(|node| *node < first).copied().collect()
                }
                Some(first) => left.iter().filter(|node| *node > first).copied().collect(),
            },
        };
        Ok(Object::Nodes(NodeSet::sorted(kept)))
    }
}
