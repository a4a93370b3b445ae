//! The functions that XSLT adds to XPath, and those a stylesheet defines itself.

use std::sync::Arc;

use super::Machine;
use super::execute::{Flow, TailCall};
use crate::compile::XSLT;
use crate::error::{Res, run_error};
use crate::tree::{Atom, NONE, NameId};
use crate::xpath::ast::{Expr, Extension, Function, StaticScope, Variable};
use crate::xpath::eval::Context;
use crate::xpath::library;
use crate::xpath::parser::{self, Scope};
use crate::xpath::value::{Object, Text};

impl<'t> Machine<'t> {
    /// Calls a function that has to know where in the stylesheet it stands.
    pub(crate) fn scoped_call(
        &mut self,
        function: Function,
        arguments: &[Expr],
        scope: &Arc<StaticScope>,
        context: &Context,
    ) -> Res<Object<'t>> {
        self.budget.spend(1)?;
        Ok(match function {
            Function::Key => Object::Nodes(self.key(&arguments[0], &arguments[1], scope, context)?),
            Function::Document => Object::Nodes(self.document(arguments, scope, context)?),
            Function::FormatNumber => self.format_number(arguments, Some(scope), context)?,
            Function::SystemProperty => {
                let name = self.string(&arguments[0], context)?;
                match scope.expand(&name, "") {
                    Some((namespace, "version")) if *namespace == *XSLT => Object::Number(1.0),
                    Some((namespace, "vendor")) if *namespace == *XSLT => Object::text("Webloom"),
                    Some((namespace, "vendor-url")) if *namespace == *XSLT => Object::text("urn:webloom"),
                    Some(_) => Object::text(""),
                    None => {
                        return Err(run_error(format!(
                            "the prefix of the property `{}` is not declared",
                            &*name
                        )));
                    }
                }
            }
            Function::ElementAvailable => {
                let name = self.string(&arguments[0], context)?;
                let Some((namespace, local)) = scope.expand(&name, scope.default_namespace()) else {
                    return Err(run_error(format!("the prefix of the element `{}` is not declared", &*name)));
                };
                Object::Boolean(match &*namespace {
                    XSLT => INSTRUCTIONS.contains(&local),
                    "http://exslt.org/functions" => matches!(local, "function" | "result"),
                    _ => false,
                })
            }
            Function::FunctionAvailable => {
                let name = self.string(&arguments[0], context)?;
                let Some((namespace, local)) = scope.expand(&name, "") else {
                    return Err(run_error(format!(
                        "the prefix of the function `{}` is not declared",
                        &*name
                    )));
                };
                let own = self
                    .world
                    .program
                    .function_names
                    .contains_key(&(Arc::clone(&namespace), Arc::from(local)));
                Object::Boolean(own || library::find(&namespace, local).is_some())
            }
            Function::Extension(Extension::Evaluate) => self.evaluate(&arguments[0], scope, context)?,
            _ => return Err(run_error("this function cannot be called here")),
        })
    }

    /// Evaluates a string as an expression; of variables it sees the global ones.
    fn evaluate(&mut self, argument: &Expr, scope: &Arc<StaticScope>, context: &Context) -> Res<Object<'t>> {
        let source = self.string(argument, context)?;
        self.budget.spend(source.len() as u64 + 16)?;
        let mut runtime = RuntimeScope { machine: self, scope };
        // EXSLT: what is no expression is an empty set.
        let Ok(expr) = parser::parse(&source, &mut runtime) else {
            return Ok(Object::Nodes(crate::xpath::value::NodeSet::empty()));
        };
        let depth = self.enter()?;
        let result = self.deeper(|machine| machine.eval(&expr, context));
        self.depth = depth;
        result
    }

    /// Calls a function that the stylesheet defines.
    pub(crate) fn call_function(
        &mut self,
        number: u32,
        arguments: &[Expr],
        context: &Context,
    ) -> Res<Object<'t>> {
        let program = self.world.program;
        let function = &program.functions[number as usize];
        if arguments.len() > function.parameters.len() {
            return Err(run_error(format!(
                "{} takes {} arguments, not {}",
                function.label,
                function.parameters.len(),
                arguments.len()
            )));
        }
        let mut passed = Vec::with_capacity(arguments.len());
        for (name, argument) in function.parameters.iter().zip(arguments) {
            let value = match self.eval(argument, context)? {
                Object::Text(text) => Object::Text(text.shared()),
                other => other,
            };
            passed.push((*name, value));
        }
        let depth = self.enter()?;
        let (rule, running) = (self.rule.take(), self.running.replace(&function.label));
        let outer = self.passed.replace(passed.into_boxed_slice());
        // A function must not write but through its result.
        let aside = super::ResultWriter::fragment(self.world.limits);
        let writer = std::mem::replace(&mut self.writer, aside);
        let inner = Context { current: context.node, ..*context };
        let flow = self.deeper(|machine| {
            machine.with_frame(function.slots, |machine| machine.body(&function.body, &inner))
        });
        let written = std::mem::replace(&mut self.writer, writer);
        self.budget.release(written.accounted);
        self.passed = outer;
        self.depth = depth;
        let flow = flow?;
        if written.held > 0 {
            return Err(run_error(format!("{} writes something outside of func:result", function.label)));
        }
        (self.rule, self.running) = (rule, running);
        match flow {
            Flow::Result(value) => Ok(*value),
            Flow::Next => Ok(Object::Text(Text::Borrowed(""))),
            Flow::TailCall(call) => {
                let TailCall { template, passed } = *call;
                self.invoke(template, context, passed, None)?;
                Ok(Object::Text(Text::Borrowed("")))
            }
        }
    }
}

/// The instructions there are.
const INSTRUCTIONS: &[&str] = &[
    "apply-imports",
    "apply-templates",
    "attribute",
    "call-template",
    "choose",
    "comment",
    "copy",
    "copy-of",
    "element",
    "fallback",
    "for-each",
    "if",
    "message",
    "number",
    "processing-instruction",
    "text",
    "value-of",
    "variable",
];

/// What an expression may refer to that is made while the stylesheet runs.
struct RuntimeScope<'m, 't> {
    machine: &'m Machine<'t>,
    scope: &'m Arc<StaticScope>,
}

impl Scope for RuntimeScope<'_, '_> {
    fn namespace(&self, prefix: &str) -> Option<Arc<str>> {
        if prefix == "xml" {
            return Some(Arc::from(crate::tree::XML_NAMESPACE));
        }
        self.scope.namespaces.iter().find(|(known, _)| **known == *prefix).map(|(_, uri)| Arc::clone(uri))
    }

    fn variable(&mut self, namespace: &str, local: &str) -> Option<Variable> {
        let program = self.machine.world.program;
        let name = program.names.find(namespace, local)?;
        let number = program.globals.iter().position(|global| global.name == name)?;
        Some(Variable::Global(number as u32))
    }

    fn name(&mut self, namespace: &str, local: &str) -> NameId {
        self.machine.world.program.names.find(namespace, local).unwrap_or(NONE)
    }

    fn atom(&mut self, text: &str) -> Atom {
        self.machine.world.program.names.find_atom(text).unwrap_or(NONE)
    }

    fn function(&self, namespace: &str, local: &str) -> Option<u32> {
        let names = &self.machine.world.program.function_names;
        names.get(&(Arc::from(namespace), Arc::from(local))).copied()
    }

    fn statics(&self) -> Arc<StaticScope> {
        Arc::clone(self.scope)
    }
}
