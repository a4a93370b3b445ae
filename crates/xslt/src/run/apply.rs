//! Choosing templates and running them.

use super::execute::Flow;
use super::{CurrentRule, Machine, Passed};
use crate::error::{Res, run_error};
use crate::tree::{NodeId, NodeKind};
use crate::xpath::eval::Context;

impl<'t> Machine<'t> {
    /// Runs the template that fits a node best, or what is built in.
    pub(super) fn apply_to(
        &mut self,
        node: NodeId,
        mode: u32,
        position: usize,
        size: usize,
        passed: Passed<'t>,
    ) -> Res<()> {
        self.budget.spend(1)?;
        let context = Context { node, position, size, current: node };
        match self.rule_for(node, mode)? {
            Some(template) => self.invoke(template, &context, passed, Some(CurrentRule { template, mode })),
            None => self.built_in(&context, mode),
        }
    }

    /// What happens to nodes that no template fits.
    fn built_in(&mut self, context: &Context, mode: u32) -> Res<()> {
        match self.kind(context.node) {
            NodeKind::Root | NodeKind::Element => {
                let depth = self.enter()?;
                let node = context.node;
                let done = self.deeper(|machine| {
                    let tree = &machine.world.trees.get(node.document()).tree;
                    let size = tree.children(node.index()).count();
                    machine.budget.spend(size as u64)?;
                    for (number, at) in tree.children(node.index()).enumerate() {
                        machine.apply_to(NodeId::new(node.document(), at), mode, number + 1, size, None)?;
                    }
                    Ok(())
                });
                self.depth = depth;
                done
            }
            NodeKind::Text | NodeKind::Attribute => {
                let text = self.string_of(context.node);
                self.write(&text, false)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn apply_imports(&mut self, context: &Context, passed: Passed<'t>) -> Res<()> {
        let Some(rule) = self.rule else {
            return Err(run_error("xsl:apply-imports needs a current template, and there is none here"));
        };
        let template = &self.world.program.templates[rule.template as usize];
        let range = template.precedence_first..template.precedence;
        match self.find_rule(context.node, rule.mode, Some(range), &mut false)? {
            Some(template) => {
                self.invoke(template, context, passed, Some(CurrentRule { template, mode: rule.mode }))
            }
            None => self.built_in(context, rule.mode),
        }
    }

    /// Runs a template, and those that it ends with in its place.
    pub(super) fn invoke(
        &mut self,
        template: u32,
        context: &Context,
        passed: Passed<'t>,
        rule: Option<CurrentRule>,
    ) -> Res<()> {
        let depth = self.enter()?;
        let saved = (std::mem::replace(&mut self.rule, rule), self.running);
        let outer = std::mem::replace(&mut self.passed, passed);
        let result = self.deeper(|machine| {
            let program = machine.world.program;
            let mut template = template;
            loop {
                let target = &program.templates[template as usize];
                machine.running = Some(&target.label);
                let flow = machine.with_frame(target.slots, |machine| machine.body(&target.body, context))?;
                match flow {
                    Flow::Next => return Ok(()),
                    Flow::TailCall(call) => {
                        template = call.template;
                        machine.passed = call.passed;
                    }
                    Flow::Result(_) => return Err(run_error("func:result must be in a function")),
                }
            }
        });
        self.passed = outer;
        self.depth = depth;
        if result.is_ok() {
            (self.rule, self.running) = saved;
        }
        result
    }
}
