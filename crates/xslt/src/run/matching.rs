//! Whether a node matches a pattern, and which template fits it best.

use std::ops::{ControlFlow, Range};

use super::Machine;
use crate::error::Res;
use crate::tree::{Atom, Entry, NONE, NameId, NodeId, NodeKind};
use crate::xpath::ast::{Axis, Predicate};
use crate::xpath::axes::{TreeTest, walk};
use crate::xpath::eval::Context;
use crate::xpath::pattern::{Head, OnlyNames, Pattern, PatternStep};

/// Whether the parent of a node, its parent and so on have these names.
fn has_parents(entry: &Entry, index: u32, parents: &[NameId]) -> bool {
    let mut at = index;
    parents.iter().all(|name| {
        at = entry.tree.node(at).parent;
        entry.sheet_name(entry.tree.node(at).name) == *name
    })
}

/// Whether a node has the namespace that the stylesheet has under this number.
fn has_namespace(entry: &Entry, index: u32, namespace: Atom) -> bool {
    entry.tree.names.parts(entry.tree.node(index).name).0 == entry.tree_atom(namespace)
}

/// How many of the templates found last are remembered.
pub(super) const FOUND_RULES: usize = 64;

/// The template that was found for an element where nothing but its name and that of its parent was asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct FoundRule {
    document: u32,
    mode: u32,
    name: NameId,
    parent: NameId,
    template: Option<u32>,
}

impl Default for FoundRule {
    fn default() -> Self {
        Self { document: NONE, mode: NONE, name: NONE, parent: NONE, template: None }
    }
}

impl<'t> Machine<'t> {
    /// The template of the best rule for a node of a mode.
    pub(super) fn rule_for(&mut self, node: NodeId, mode: u32) -> Res<Option<u32>> {
        let tree = &*self.world.trees.get(node.document()).tree;
        let data = tree.node(node.index());
        if data.kind != NodeKind::Element || node.sub() != 0 {
            return self.find_rule(node, mode, None, &mut false);
        }
        let (document, name, parent) = (node.document(), data.name, tree.node(data.parent).name);
        let slot = (name ^ parent.wrapping_mul(7) ^ mode.wrapping_mul(31)) as usize % FOUND_RULES;
        let found = self.found_rules[slot];
        if found.name == name && found.parent == parent && found.mode == mode && found.document == document {
            self.budget.spend(1)?;
            return Ok(found.template);
        }
        let mut by_names = true;
        let template = self.find_rule(node, mode, None, &mut by_names)?;
        if by_names {
            self.found_rules[slot] = FoundRule { document, mode, name, parent, template };
        }
        Ok(template)
    }

    /// The template of the best rule for a node; with `precedences`, only of rules of these import precedences.
    /// `by_names` becomes false when something else was asked than the names of the node and its parent.
    pub(super) fn find_rule(
        &mut self,
        node: NodeId,
        mode: u32,
        precedences: Option<Range<u32>>,
        by_names: &mut bool,
    ) -> Res<Option<u32>> {
        let world = self.world;
        let rules = &world.program.modes[mode as usize];
        let entry = world.trees.get(node.document());
        let candidates = match self.kind(node) {
            NodeKind::Root => &rules.roots,
            NodeKind::Text => &rules.texts,
            NodeKind::Comment => &rules.comments,
            NodeKind::Instruction => &rules.instructions,
            NodeKind::Namespace => return Ok(None),
            kind => {
                let name = entry.sheet_name(entry.tree.node(node.index()).name);
                let (named, others) = if kind == NodeKind::Element {
                    (&rules.by_element, &rules.other_elements)
                } else {
                    (&rules.by_attribute, &rules.other_attributes)
                };
                named.get(name).unwrap_or(others)
            }
        };
        for number in candidates {
            let rule = &rules.rules[*number as usize];
            if precedences.as_ref().is_some_and(|allowed| !allowed.contains(&rule.precedence)) {
                continue;
            }
            let matches = match &rule.only_names {
                Some(OnlyNames { namespace, parents, conditions }) => {
                    self.budget.spend(1 + parents.len() as u64)?;
                    *by_names &= parents.len() <= 1 && !conditions;
                    namespace.is_none_or(|namespace| has_namespace(entry, node.index(), namespace))
                        && has_parents(entry, node.index(), parents)
                        && (!conditions || self.meets_conditions(rule.pattern.last_predicates(), node)?)
                }
                None => {
                    *by_names = false;
                    self.matches(&rule.pattern, node)?
                }
            };
            if matches {
                return Ok(Some(rule.template));
            }
        }
        Ok(None)
    }

    /// Whether all conditions hold for a node.
    fn meets_conditions(&mut self, predicates: &[Predicate], node: NodeId) -> Res<bool> {
        for predicate in predicates {
            if let Predicate::Condition(expr) = predicate
                && !self.boolean(expr, &Context::at(node))?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a node matches one of several patterns.
    pub(crate) fn matches_any(&mut self, patterns: &[Pattern], node: NodeId) -> Res<bool> {
        for pattern in patterns {
            if self.matches(pattern, node)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a node matches a pattern.
    ///
    /// The steps between two `//` must match a row of ancestors. The last row starts at the node itself; the others are
    /// looked for upwards, and the nearest place is as good as any further one.
    pub(crate) fn matches(&mut self, pattern: &Pattern, node: NodeId) -> Res<bool> {
        if node.sub() != 0 {
            return Ok(false);
        }
        let steps = pattern.steps.as_slice();
        if steps.is_empty() {
            return match &pattern.head {
                Head::Root => Ok(node.index() == 0),
                Head::Nodes(expr) => Ok(self.nodes(expr, &Context::at(node))?.contains(&node)),
                Head::Anywhere => Ok(false),
            };
        }
        let mut last = steps.len();
        let mut at = node;
        let mut fixed = true;
        loop {
            let first = steps[..last].iter().rposition(|step| step.any_ancestor).unwrap_or(0);
            let top = loop {
                if let Some(top) = self.matches_row(&steps[first..last], at)?
                    && (first > 0 || self.head_fits(pattern, top, node)?)
                {
                    break top;
                }
                match self.parent(at) {
                    Some(parent) if !fixed => at = parent,
                    _ => return Ok(false),
                }
            };
            if first == 0 {
                return Ok(true);
            }
            match self.parent(top) {
                Some(parent) => at = parent,
                None => return Ok(false),
            }
            last = first;
            fixed = false;
        }
    }

    /// Whether what stands before the first step allows it to match at `top`.
    fn head_fits(&mut self, pattern: &Pattern, top: NodeId, node: NodeId) -> Res<bool> {
        let any_ancestor = pattern.steps[0].any_ancestor;
        match &pattern.head {
            Head::Anywhere => Ok(true),
            Head::Root => Ok(any_ancestor || self.parent(top).is_some_and(|parent| parent.index() == 0)),
            Head::Nodes(expr) => {
                let nodes = self.nodes(expr, &Context::at(node))?;
                let mut above = self.parent(top);
                while let Some(at) = above {
                    if nodes.contains(&at) {
                        return Ok(true);
                    }
                    above = if any_ancestor { self.parent(at) } else { None };
                }
                Ok(false)
            }
        }
    }

    /// Matches steps that are parents of each other, the last at `node`; gives the node of the first.
    fn matches_row(&mut self, steps: &[PatternStep], node: NodeId) -> Res<Option<NodeId>> {
        let mut at = node;
        for (number, step) in steps.iter().enumerate().rev() {
            self.budget.spend(1)?;
            if !self.matches_step(step, at)? {
                return Ok(None);
            }
            if number > 0 {
                match self.parent(at) {
                    Some(parent) => at = parent,
                    None => return Ok(None),
                }
            }
        }
        Ok(Some(at))
    }

    pub(crate) fn parent(&self, node: NodeId) -> Option<NodeId> {
        if node.sub() != 0 {
            return Some(NodeId::new(node.document(), node.index()));
        }
        if node.index() == 0 {
            return None;
        }
        let tree = &self.world.trees.get(node.document()).tree;
        Some(NodeId::new(node.document(), tree.node(node.index()).parent))
    }

    fn matches_step(&mut self, step: &PatternStep, node: NodeId) -> Res<bool> {
        let document = node.document();
        let entry = self.world.trees.get(document);
        let tree = &*entry.tree;
        let kind = tree.node(node.index()).kind;
        let right_kind = match step.axis {
            Axis::Attribute => kind == NodeKind::Attribute,
            _ => !matches!(kind, NodeKind::Attribute | NodeKind::Root),
        };
        if !right_kind {
            return Ok(false);
        }
        let test = TreeTest::new(&step.test, step.axis, entry);
        if !test.passes(tree, node.index()) {
            return Ok(false);
        }
        let Some((first, rest)) = step.predicates.split_first() else { return Ok(true) };
        // Conditions alone need no siblings.
        if step.predicates.iter().all(|predicate| matches!(predicate, Predicate::Condition(_))) {
            return self.meets_conditions(&step.predicates, node);
        }
        if rest.is_empty() && step.axis == Axis::Child {
            match first {
                Predicate::Position(position) => {
                    let mut before = 0;
                    let looked = walk(tree, node.index(), false, Axis::PrecedingSibling, test, &mut |_| {
                        before += 1;
                        if before >= *position { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                    });
                    self.budget.spend(looked as u64)?;
                    return Ok(before + 1 == *position);
                }
                Predicate::Last => {
                    let mut another = false;
                    let looked = walk(tree, node.index(), false, Axis::FollowingSibling, test, &mut |_| {
                        another = true;
                        ControlFlow::Break(())
                    });
                    self.budget.spend(looked as u64)?;
                    return Ok(!another);
                }
                _ => {}
            }
        }
        let parent = tree.node(node.index()).parent;
        let mut siblings = Vec::new();
        let looked = walk(tree, parent, false, step.axis, test, &mut |at| {
            siblings.push(NodeId::new(document, at));
            ControlFlow::Continue(())
        });
        self.budget.spend(looked as u64)?;
        let context = Context::at(node);
        self.filter(&mut siblings, &step.predicates, &context)?;
        Ok(siblings.contains(&node))
    }
}
