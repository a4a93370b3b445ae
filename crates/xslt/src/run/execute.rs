//! The instructions.

use super::{Machine, Passed};
use crate::compile::program::{
    Avt, AvtPart, Binding, Body, Computed, ComputedName, Instruction, LiteralAttribute, LiteralElement, Name,
    Operation, Parameter,
};
use crate::error::{Res, run_error};
use crate::tree::NodeId;
use crate::xml::characters::is_ncname;
use crate::xpath::ast::{Expr, Function};
use crate::xpath::eval::Context;
use crate::xpath::value::{Object, Text};

/// Computed names that are remembered, and how long they may be.
const COMPUTED_MAX: usize = 128;
const COMPUTED_BYTES_MAX: usize = 128;

/// Where a computed name is remembered.
fn computed_slot(name: &ComputedName, qualified: &str) -> usize {
    let bytes = qualified.as_bytes();
    let byte = |at: usize| bytes.get(at).map_or(0, |byte| usize::from(*byte));
    let (middle, last) = (byte(bytes.len() / 2), byte(bytes.len().wrapping_sub(1)));
    let address = std::ptr::from_ref(name) as usize;
    (address / 16 + bytes.len() * 37 + middle * 11 + last * 5) % COMPUTED_MAX
}

/// A string with room for more bytes than this is not kept.
const SCRATCH_KEPT_MAX: usize = 4096;

/// What is to be done after some instructions.
#[derive(Debug)]
pub(crate) enum Flow<'t> {
    /// The next instruction.
    Next,
    /// The template is over, and another is to be run in its place.
    TailCall(Box<TailCall<'t>>),
    /// The function is over.
    Result(Box<Object<'t>>),
}

/// A template that is run in the place of another.
#[derive(Debug)]
pub(crate) struct TailCall<'t> {
    pub(super) template: u32,
    pub(super) passed: Passed<'t>,
}

impl<'t> Machine<'t> {
    /// Runs instructions in order.
    pub(super) fn body(&mut self, body: &'t [Instruction], context: &Context) -> Res<Flow<'t>> {
        for instruction in body {
            let done = self.budget.spend(1).and_then(|()| self.instruction(instruction, context));
            match done {
                Ok(Flow::Next) => {}
                Ok(other) => return Ok(other),
                Err(error) => return Err(self.located(error, instruction.module, instruction.line)),
            }
            if self.writer.held > self.writer.accounted {
                let more = self.writer.held - self.writer.accounted;
                self.writer.accounted = self.writer.held;
                self.budget.hold(more)?;
            }
        }
        Ok(Flow::Next)
    }

    fn nested(&mut self, body: &'t [Instruction], context: &Context) -> Res<Flow<'t>> {
        if body.is_empty() {
            return Ok(Flow::Next);
        }
        self.deeper(|machine| machine.body(body, context))
    }

    /// Runs instructions that must not end the template.
    pub(super) fn inner(&mut self, body: &'t [Instruction], context: &Context) -> Res<Flow<'t>> {
        let flow = self.nested(body, context)?;
        Ok(flow)
    }

    pub(super) fn write(&mut self, text: &str, raw: bool) -> Res<()> {
        self.budget.spend_bytes(text.len())?;
        self.writer.write_text(text, raw, &mut self.names)
    }

    fn instruction(&mut self, instruction: &'t Instruction, context: &Context) -> Res<Flow<'t>> {
        match &instruction.operation {
            Operation::Text { text, raw } => self.write(text, *raw)?,
            Operation::ValueOf { select: Expr::Call(Function::Concat, parts), raw } => {
                self.budget.spend(1)?;
                let mut joined = std::mem::take(&mut self.scratch);
                for part in parts {
                    self.append(part, context, &mut joined)?;
                }
                self.write(&joined, *raw)?;
                if joined.capacity() <= SCRATCH_KEPT_MAX {
                    joined.clear();
                    self.scratch = joined;
                }
            }
            Operation::ValueOf { select, raw } => {
                let text = self.string(select, context)?;
                self.write(&text, *raw)?;
            }
            Operation::LiteralElement(element) => return self.literal_element(element, context),
            Operation::If { test, body } => {
                if self.boolean(test, context)? {
                    return self.nested(body, context);
                }
            }
            Operation::Choose { whens, otherwise } => {
                let chosen = self.chosen(whens, otherwise, context)?;
                return self.nested(chosen, context);
            }
            Operation::ForEach { select, sorts, body } => {
                let mut nodes = self.list(select, context)?;
                if !sorts.is_empty() {
                    self.sort(&mut nodes, sorts, context)?;
                }
                let rule = self.rule.take();
                let flow = self.deeper(|machine| {
                    let size = nodes.len();
                    for (number, node) in nodes.iter().enumerate() {
                        let inner = Context { node: *node, position: number + 1, size, current: *node };
                        match machine.body(body, &inner)? {
                            Flow::Next => {}
                            other => return Ok(other),
                        }
                    }
                    Ok(Flow::Next)
                });
                self.rule = rule;
                self.recycle(nodes);
                return flow;
            }
            Operation::ApplyTemplates { select, mode, sorts, parameters } => {
                let mut nodes = match select {
                    Some(select) => self.list(select, context)?,
                    None => self.children(context.node)?,
                };
                if !sorts.is_empty() {
                    self.sort(&mut nodes, sorts, context)?;
                }
                let passed = self.passed_parameters(parameters, context)?;
                let size = nodes.len();
                for (number, node) in nodes.iter().enumerate() {
                    self.apply_to(*node, *mode, number + 1, size, passed.clone())?;
                }
                self.recycle(nodes);
            }
            Operation::ApplyImports(parameters) => {
                let passed = self.passed_parameters(parameters, context)?;
                self.apply_imports(context, passed)?;
            }
            Operation::CallTemplate { template, parameters, tail } => {
                let passed = self.passed_parameters(parameters, context)?;
                if *tail {
                    return Ok(Flow::TailCall(Box::new(TailCall { template: *template, passed })));
                }
                self.invoke(*template, context, passed, self.rule)?;
            }
            Operation::Variable { slot, value } => {
                let value = self.binding(value, context)?;
                self.set_local(*slot, value)?;
            }
            Operation::Param { slot, name, value } => {
                // A template has each of its parameters once, so that what was passed can be taken.
                let given = self
                    .passed
                    .iter_mut()
                    .flatten()
                    .find(|(known, _)| known == name)
                    .map(|(_, value)| std::mem::replace(value, Object::Boolean(false)));
                let value = match given {
                    Some(value) => value,
                    None => self.binding(value, context)?,
                };
                self.set_local(*slot, value)?;
            }
            Operation::Element { name, sets, body } => {
                return self.computed_element(name, sets, body, context);
            }
            Operation::Attribute { name, body } => self.computed_attribute(name, body, context)?,
            Operation::Comment(body) => {
                let mut text = self.text_of(body, context)?.into_string();
                while text.contains("--") {
                    text = text.replace("--", "- -");
                }
                if text.ends_with('-') {
                    text.push(' ');
                }
                self.writer.comment(&text, &mut self.names)?;
            }
            Operation::ProcessingInstruction { name, body } => {
                let name = self.avt(name, context)?;
                let text = self.text_of(body, context)?.replace("?>", "? >");
                let name = name.trim();
                if is_ncname(name) && !name.eq_ignore_ascii_case("xml") {
                    let content = text.trim_start_matches([' ', '\t', '\n', '\r']);
                    self.writer.instruction(name, content, &mut self.names)?;
                }
            }
            Operation::Copy { sets, body } => return self.copy(sets, body, context),
            Operation::CopyOf(select) => {
                let object = self.eval(select, context)?;
                self.copy_of(object)?;
            }
            Operation::Number(number) => {
                let text = self.numbered(number, context)?;
                self.write(&text, false)?;
            }
            Operation::Message { body, terminate } => {
                let fragment = self.fragment(body, context)?;
                let text = super::copy::fragment_text(&fragment, self.world.limits)?;
                self.message(text, instruction.module, instruction.line, *terminate)?;
            }
            Operation::Unknown { name, fallback } => match fallback {
                Some(body) => return self.nested(body, context),
                None => {
                    return Err(run_error(format!(
                        "the instruction `{name}` is not known and has no fallback"
                    )));
                }
            },
            Operation::FunctionResult(value) => {
                return Ok(Flow::Result(Box::new(self.binding(value, context)?)));
            }
        }
        Ok(Flow::Next)
    }

    /// What `xsl:choose` goes on with.
    pub(super) fn chosen(
        &mut self,
        whens: &'t [(Expr, Body)],
        otherwise: &'t Body,
        context: &Context,
    ) -> Res<&'t Body> {
        for (test, body) in whens {
            if self.boolean(test, context)? {
                return Ok(body);
            }
        }
        Ok(otherwise)
    }

    fn children(&mut self, node: NodeId) -> Res<Vec<NodeId>> {
        let mut children = self.spare_list();
        if node.sub() == 0 {
            let tree = &self.world.trees.get(node.document()).tree;
            children.extend(tree.children(node.index()).map(|at| NodeId::new(node.document(), at)));
            self.budget.spend(children.len() as u64)?;
        }
        Ok(children)
    }

    pub(super) fn passed_parameters(
        &mut self,
        parameters: &'t [Parameter],
        context: &Context,
    ) -> Res<Passed<'t>> {
        if parameters.is_empty() {
            return Ok(None);
        }
        let mut passed = Vec::with_capacity(parameters.len());
        for parameter in parameters {
            let value = match &parameter.value {
                Binding::Expr(expr) => self.eval(expr, context)?,
                other => self.binding(other, context)?,
            };
            let value = match value {
                Object::Text(text) => Object::Text(text.shared()),
                other => other,
            };
            passed.push((parameter.name, value));
        }
        Ok(Some(passed.into_boxed_slice()))
    }

    /// The value of an attribute value template.
    pub(super) fn avt(&mut self, avt: &'t Avt, context: &Context) -> Res<Text<'t>> {
        match avt {
            Avt::Constant(text) => Ok(Text::Borrowed(text)),
            Avt::Parts(parts) => {
                if let [AvtPart::Expr(expr)] = parts.as_slice() {
                    return self.string(expr, context);
                }
                let mut joined = String::new();
                for part in parts {
                    match part {
                        AvtPart::Text(text) => joined.push_str(text),
                        AvtPart::Expr(expr) => self.append(expr, context, &mut joined)?,
                    }
                }
                self.budget.spend_bytes(joined.len())?;
                Ok(Text::Owned(joined))
            }
        }
    }

    fn literal_element(&mut self, element: &'t LiteralElement, context: &Context) -> Res<Flow<'t>> {
        if element.at_once && self.writer.start_at_once(element, &mut self.names)? {
            for LiteralAttribute { value, written, .. } in &element.attributes {
                match value {
                    Avt::Constant(_) => self.writer.attribute_at_once(written, None),
                    Avt::Parts(_) => {
                        let value = self.avt(value, context)?;
                        self.writer.attribute_at_once(written, Some(&value));
                    }
                }
            }
            let flow = self.nested(&element.body, context)?;
            self.writer.end_element(&mut self.names)?;
            return Ok(flow);
        }
        self.writer.start_literal(element, &mut self.names)?;
        if !element.sets.is_empty() {
            self.use_sets(&element.sets, context)?;
        }
        for LiteralAttribute { name, value, .. } in &element.attributes {
            let value = self.avt(value, context)?;
            self.writer.literal_attribute(name, value);
        }
        let flow = self.nested(&element.body, context)?;
        self.writer.end_element(&mut self.names)?;
        Ok(flow)
    }

    /// The name that an instruction computes.
    fn computed_name(
        &mut self,
        name: &'t ComputedName,
        element: bool,
        context: &Context,
    ) -> Res<Computed<'t>> {
        if let Some(fixed) = &name.fixed {
            return Ok(Computed::Name(Name::Written(fixed)));
        }
        let qualified = self.avt(&name.name, context)?;
        let namespace = match &name.namespace {
            Some(namespace) => Some(self.avt(namespace, context)?),
            None => None,
        };
        let slot = computed_slot(name, &qualified);
        if namespace.is_none()
            && let Some(Some((of, written, known))) = self.computed.get(slot)
            && std::ptr::eq(*of, name)
            && **written == *qualified
        {
            return Ok(Computed::Name(known.clone()));
        }
        let computed = name.resolve(&qualified, namespace.as_deref(), element);
        match &computed {
            Computed::PrefixNotDeclared if element => {
                let qualified = qualified.trim();
                return Err(run_error(format!("the prefix of the element `{qualified}` is not declared")));
            }
            Computed::Name(made) if namespace.is_none() && qualified.len() <= COMPUTED_BYTES_MAX => {
                if self.computed.is_empty() {
                    self.computed.resize(COMPUTED_MAX, None);
                }
                self.computed[slot] = Some((name, Box::from(&*qualified), made.clone()));
            }
            _ => {}
        }
        Ok(computed)
    }

    fn computed_element(
        &mut self,
        name: &'t ComputedName,
        sets: &'t [u32],
        body: &'t [Instruction],
        context: &Context,
    ) -> Res<Flow<'t>> {
        let Computed::Name(name) = self.computed_name(name, true, context)? else {
            // The Recommendation lets us go on without the element.
            self.writer.flush(&mut self.names)?;
            return self.nested(body, context);
        };
        self.writer.start_element(name, &mut self.names)?;
        if !sets.is_empty() {
            self.use_sets(sets, context)?;
        }
        let flow = self.nested(body, context)?;
        self.writer.end_element(&mut self.names)?;
        Ok(flow)
    }

    fn computed_attribute(&mut self, name: &'t ComputedName, body: &'t Body, context: &Context) -> Res<()> {
        let name = self.computed_name(name, false, context)?;
        let value = self.text_of(body, context)?;
        if let Computed::Name(name) = name {
            // Without an element to take it, the attribute is left out, as the Recommendation allows.
            self.writer.attribute(name, value);
            self.budget.spend(self.writer.attribute_count() as u64 / 2)?;
        }
        Ok(())
    }
}
