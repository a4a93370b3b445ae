//! Runs a compiled stylesheet.
//!
//! [`World`] is what does not change while a stylesheet runs, or only grows: the program, the trees, the loader.
//! [`Machine`] is what does: variables, output, indexes and the account of what was used. Templates call each other on
//! the native stack; when that gets deep, the machine moves on to a thread with a large one ([`Machine::deeper`]).
//! Start at [`transform`].

mod apply;
mod attributes;
mod copy;
mod documents;
mod execute;
pub(crate) mod format_number;
mod functions;
mod keys;
mod matching;
mod number;
mod result;
mod sort;

use std::collections::HashMap;
use std::sync::Arc;

use result::{ResultNames, ResultWriter, Target};

use crate::compile::program::{Binding, Body, ComputedName, Name, Program};
use crate::error::{ErrorKind, Limit, Res, XsltError, limit_error, run_error};
use crate::limits::{Budget, Limits};
use crate::loader::Loader;
use crate::output::{Method, Serializer};
use crate::tree::{Document, NameId, Names, NodeId, TreeArena};
use crate::xpath::ast::Variable;
use crate::xpath::eval::Context;
use crate::xpath::functions::Translation;
use crate::xpath::value::{Fragment, NodeSet, Object, Text, Value};

/// What a transformation gives.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Output {
    /// The result, in its encoding.
    pub bytes: Vec<u8>,
    /// The media type that the stylesheet states.
    pub media_type: Option<String>,
    /// How the result was written.
    pub method: Method,
    /// The name of the encoding.
    pub encoding: String,
    /// What `xsl:message` said.
    pub messages: Vec<Message>,
}

/// What one `xsl:message` said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The text; elements in it are written as XML.
    pub text: String,
    /// The stylesheet it is in.
    pub stylesheet: String,
    /// The line there.
    pub line: u32,
}

/// What only grows while a stylesheet runs.
pub(crate) struct World<'w> {
    pub(crate) program: &'w Program,
    pub(crate) trees: TreeArena,
    pub(crate) loader: &'w dyn Loader,
    pub(crate) limits: &'w Limits,
}

/// A global variable.
#[derive(Debug, Clone)]
enum GlobalState<'t> {
    Unknown,
    InProgress,
    Known(Object<'t>),
}

/// Units of native stack after which the machine moves to a thread with a larger one.
const STACK_UNITS_SMALL: u32 = 60;
/// Units of native stack that the large one has room for.
const STACK_UNITS_MAX: u32 = 40_000;
const STACK_BYTES: usize = 512 << 20;

/// The rule that is being run, for `xsl:apply-imports`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CurrentRule {
    pub(crate) template: u32,
    pub(crate) mode: u32,
}

/// Parameters on their way to a template, if there are any.
pub(crate) type Passed<'t> = Option<Box<[(NameId, Object<'t>)]>>;

/// A stylesheet while it runs.
pub(crate) struct Machine<'t> {
    pub(crate) world: &'t World<'t>,
    pub(crate) budget: Budget,
    /// The variables of all templates that are running; those of the innermost start at `base`.
    variables: Vec<Option<Object<'t>>>,
    base: usize,
    passed: Passed<'t>,
    globals: Vec<GlobalState<'t>>,
    pub(crate) parameters: &'t [(NameId, Object<'static>)],
    pub(crate) writer: ResultWriter<'t>,
    /// Templates and functions inside of each other.
    depth: u32,
    /// How much native stack is used, in calls that take much of it.
    units: u32,
    on_large_stack: bool,
    rule: Option<CurrentRule>,
    /// What is running, for messages.
    pub(crate) running: Option<&'t str>,
    names: ResultNames,
    key_indexes: HashMap<(u32, u32), Option<Arc<keys::KeyIndex<'t>>>>,
    /// The one that was asked last.
    last_key_index: Option<((u32, u32), Arc<keys::KeyIndex<'t>>)>,
    documents: HashMap<String, Option<u32>>,
    fragments: HashMap<usize, (Fragment, u32)>,
    messages: Vec<Message>,
    message_bytes: usize,
    active_sets: Vec<u32>,
    /// Templates that were found for elements of a name, in a parent of a name.
    found_rules: Vec<matching::FoundRule>,
    /// A string that was used and is empty again.
    scratch: String,
    /// Tables of translate() by what is replaced with what.
    pub(crate) translations: Vec<(Box<str>, Box<str>, Arc<Translation>)>,
    /// Pictures of format-number() without a named format, as written and as they are.
    pictures: Vec<(Box<str>, Arc<format_number::Pictures>)>,
    /// Lists that were used and are empty again.
    pub(crate) lists: Vec<Vec<NodeId>>,
    pub(crate) random: u64,
    pub(crate) regexes: HashMap<(String, bool), Arc<regex::Regex>>,
    numbered: HashMap<usize, number::Counter>,
    /// Names that instructions computed, as written and as they are: most are computed again and again.
    computed: Vec<Option<(&'t ComputedName, Box<str>, Name<'t>)>>,
}

/// Runs a stylesheet over a document.
pub(crate) fn transform(
    program: &Program,
    document: &Document,
    parameters: &[(NameId, Object<'static>)],
    loader: &dyn Loader,
    limits: &Limits,
) -> Res<Output> {
    let tree = if program.space_rules.iter().any(|rule| rule.strip) {
        Arc::new(document.tree.stripped(|tree, element| program.strips(tree, element)))
    } else {
        Arc::clone(&document.tree)
    };
    let trees = TreeArena::new(tree, &program.names);
    let world = World { program, trees, loader, limits };
    // Results are mostly about as large as the document: its text, and a tag or two for each node.
    let bytes_expected = document.tree.text.len() + document.tree.nodes.len() * 32 + 512;
    let mut machine = Machine::new(&world, parameters, bytes_expected);
    machine.documents.insert(document.tree.uri.clone(), Some(0));
    let run = |machine: &mut Machine<'_>| -> Res<()> {
        let root = NodeId::new(0, 0);
        machine.apply_to(root, 0, 1, 1, None)?;
        machine.writer.flush(&mut machine.names)
    };
    if let Err(mut error) = run(&mut machine) {
        error.messages = machine.messages;
        return Err(error);
    }
    let Target::Serializer(serializer) =
        std::mem::replace(&mut machine.writer, ResultWriter::text()).into_target()
    else {
        return Err(run_error("the result was lost"));
    };
    let (bytes, method, encoding) = serializer.finish()?;
    Ok(Output {
        bytes,
        media_type: program.output.media_type.value.clone(),
        method,
        encoding,
        messages: machine.messages,
    })
}

impl<'t> Machine<'t> {
    fn new(world: &'t World<'t>, parameters: &'t [(NameId, Object<'static>)], bytes_expected: usize) -> Self {
        let serializer =
            Serializer::new(&world.program.output, world.limits.output_bytes_max, bytes_expected);
        Self {
            world,
            budget: Budget::new(world.limits),
            variables: Vec::new(),
            base: 0,
            passed: None,
            globals: vec![GlobalState::Unknown; world.program.globals.len()],
            parameters,
            writer: ResultWriter::new(Target::Serializer(Box::new(serializer))),
            depth: 0,
            units: 0,
            on_large_stack: false,
            rule: None,
            running: None,
            names: ResultNames::new(world.program),
            key_indexes: HashMap::new(),
            last_key_index: None,
            documents: HashMap::new(),
            fragments: HashMap::new(),
            messages: Vec::new(),
            message_bytes: 0,
            active_sets: Vec::new(),
            found_rules: vec![matching::FoundRule::default(); matching::FOUND_RULES],
            scratch: String::new(),
            translations: Vec::new(),
            pictures: Vec::new(),
            lists: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15,
            regexes: HashMap::new(),
            numbered: HashMap::new(),
            computed: Vec::new(),
        }
    }

    /// Goes one level deeper on the native stack: an error where there is no more, a larger stack where this one ends.
    pub(crate) fn deeper<T: Send>(&mut self, work: impl FnOnce(&mut Self) -> Res<T> + Send) -> Res<T> {
        self.units += 1;
        if self.units >= STACK_UNITS_SMALL && !self.on_large_stack {
            self.on_large_stack = true;
            let result = std::thread::scope(|scope| {
                let builder = std::thread::Builder::new().name("xslt".to_owned()).stack_size(STACK_BYTES);
                match builder.spawn_scoped(scope, || work(self)) {
                    Ok(handle) => handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    Err(error) => {
                        Err(run_error(format!("cannot start a thread with a large stack: {error}")))
                    }
                }
            });
            self.on_large_stack = false;
            self.units -= 1;
            return result;
        }
        if self.units > STACK_UNITS_MAX {
            self.units -= 1;
            return Err(self.too_deep());
        }
        let result = work(self);
        self.units -= 1;
        result
    }

    fn too_deep(&self) -> Box<XsltError> {
        limit_error(
            Limit::Depth,
            format!(
                "templates call each other more than {} deep (limit depth_max)",
                self.depth.min(self.world.limits.depth_max)
            ),
        )
    }

    /// Runs something with fresh variables; they go away afterwards.
    fn with_frame<T>(&mut self, slots: u32, work: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let (base, top) = (self.base, self.variables.len());
        self.base = top;
        if slots > 0 {
            self.variables.resize_with(top + slots as usize, || None);
        }
        let result = work(self);
        if self.variables.len() > top {
            self.drop_variables(top);
        }
        self.base = base;
        result
    }

    fn drop_variables(&mut self, top: usize) {
        while self.variables.len() > top {
            if let Some(Some(variable)) = self.variables.pop() {
                self.budget.release(variable.memory_bytes());
            }
        }
    }

    pub(crate) fn local(&mut self, slot: u32) -> Res<Object<'t>> {
        match self.variables.get(self.base + slot as usize) {
            Some(Some(value)) => Ok(value.clone()),
            _ => Err(run_error("a variable is used before it has a value")),
        }
    }

    /// The value of a variable that has one.
    pub(crate) fn known_variable(&self, variable: Variable) -> Option<&Object<'t>> {
        match variable {
            Variable::Local(slot) => self.variables.get(self.base + slot as usize)?.as_ref(),
            Variable::Global(number) => match &self.globals[number as usize] {
                GlobalState::Known(value) => Some(value),
                _ => None,
            },
        }
    }

    fn set_local(&mut self, slot: u32, value: Object<'t>) -> Res<()> {
        let value = match value {
            Object::Text(text) => Object::Text(text.shared()),
            other => other,
        };
        self.budget.hold(value.memory_bytes())?;
        let at = self.base + slot as usize;
        if let Some(old) = self.variables[at].replace(value) {
            self.budget.release(old.memory_bytes());
        }
        Ok(())
    }

    /// The value of a global variable, computed when first asked for.
    pub(crate) fn global(&mut self, number: u32) -> Res<Object<'t>> {
        match &self.globals[number as usize] {
            GlobalState::Known(value) => return Ok(value.clone()),
            GlobalState::InProgress => {
                let program = self.world.program;
                let global = &program.globals[number as usize];
                return Err(run_error(format!("{} depends on itself", global.label))
                    .at(&program.modules[global.module as usize].uri, global.line));
            }
            GlobalState::Unknown => {}
        }
        let program = self.world.program;
        let global = &program.globals[number as usize];
        self.globals[number as usize] = GlobalState::InProgress;
        let given = self
            .parameters
            .iter()
            .find(|(name, _)| global.is_parameter && *name == global.name)
            .map(|(_, value)| value.clone());
        let value = match given {
            Some(value) => value,
            None => {
                let (rule, running) = (self.rule.take(), self.running.replace(&global.label));
                let passed = std::mem::take(&mut self.passed);
                let depth = self.enter()?;
                let context = Context::at(NodeId::new(0, 0));
                let value = self.deeper(|machine| {
                    machine.with_frame(global.slots, |machine| machine.binding(&global.value, &context))
                });
                self.depth = depth;
                self.passed = passed;
                let value = value.map_err(|error| self.located(error, global.module, global.line))?;
                (self.rule, self.running) = (rule, running);
                value
            }
        };
        let value = match value {
            Object::Text(text) => Object::Text(text.shared()),
            other => other,
        };
        self.budget.hold(value.memory_bytes())?;
        self.globals[number as usize] = GlobalState::Known(value.clone());
        Ok(value)
    }

    /// Counts a template or function that is entered; gives the depth to go back to.
    fn enter(&mut self) -> Res<u32> {
        let before = self.depth;
        self.depth += 1;
        if self.depth > self.world.limits.depth_max {
            return Err(self.too_deep());
        }
        Ok(before)
    }

    /// Adds to an error where it happened.
    fn located(&self, error: Box<XsltError>, module: u32, line: u32) -> Box<XsltError> {
        let mut error = error.at(&self.world.program.modules[module as usize].uri, line);
        if error.template.is_none() {
            error.template = self.running.map(str::to_owned);
        }
        error
    }

    /// The value that a variable or parameter is bound to.
    fn binding(&mut self, binding: &'t Binding, context: &Context) -> Res<Object<'t>> {
        match binding {
            Binding::Expr(expr) => self.eval(expr, context),
            Binding::Body(body) => Ok(Object::Fragment(self.fragment(body, context)?)),
            Binding::Text(body) => {
                let text = self.text_of(body, context)?.into_string();
                Ok(Object::Fragment(Fragment::Text(Arc::new(text))))
            }
            Binding::Empty => Ok(Object::Text(Text::Borrowed(""))),
        }
    }

    /// Runs instructions into a fragment.
    fn fragment(&mut self, body: &'t Body, context: &Context) -> Res<Fragment> {
        let outer = std::mem::replace(&mut self.writer, ResultWriter::fragment(self.world.limits));
        let done = self.deeper(|machine| machine.body(body, context));
        let flushed = if done.is_ok() { self.writer.flush(&mut self.names) } else { Ok(()) };
        let inner = std::mem::replace(&mut self.writer, outer);
        self.budget.release(inner.accounted);
        self.no_tail_call(done?)?;
        flushed?;
        let fragment = inner.into_fragment();
        if let Fragment::Tree(tree) = &fragment
            && tree.names.own_len() < 4096
        {
            // Later fragments will mostly need the same names.
            self.names.table = Arc::clone(&tree.names);
        }
        Ok(fragment)
    }

    /// Runs instructions into a string; what is not text is left out.
    fn text_of(&mut self, body: &'t Body, context: &Context) -> Res<Text<'t>> {
        use crate::compile::program::Operation;
        if body.is_empty() {
            return Ok(Text::Borrowed(""));
        }
        if let [only] = &**body {
            match &only.operation {
                Operation::Text { text, .. } => return Ok(Text::Borrowed(text)),
                Operation::ValueOf { select, .. } => {
                    self.budget.spend(1)?;
                    let text = self.string(select, context);
                    return text.map_err(|error| self.located(error, only.module, only.line));
                }
                Operation::Choose { whens, otherwise } => {
                    self.budget.spend(1)?;
                    let chosen = self.chosen(whens, otherwise, context);
                    let chosen = chosen.map_err(|error| self.located(error, only.module, only.line))?;
                    return self.deeper(|machine| machine.text_of(chosen, context));
                }
                _ => {}
            }
        }
        let outer = std::mem::replace(&mut self.writer, ResultWriter::text());
        let done = self.deeper(|machine| machine.body(body, context));
        let inner = std::mem::replace(&mut self.writer, outer);
        self.budget.release(inner.accounted);
        self.no_tail_call(done?)?;
        let text = inner.into_text();
        self.budget.spend_bytes(text.len())?;
        Ok(Text::Owned(text))
    }

    fn no_tail_call(&self, flow: execute::Flow<'t>) -> Res<()> {
        match flow {
            execute::Flow::Next => Ok(()),
            _ => Err(run_error("func:result must be in a function, outside of any variable")),
        }
    }

    /// The root of a fragment as a set of one node.
    pub(crate) fn fragment_nodes(&mut self, fragment: &Fragment) -> Res<NodeSet> {
        let address = fragment.address();
        if let Some((_, number)) = self.fragments.get(&address) {
            return Ok(NodeSet::One(NodeId::new(*number, 0)));
        }
        let tree = match fragment {
            Fragment::Tree(tree) => Arc::clone(tree),
            Fragment::Text(text) => {
                let names = Arc::new(Names::above(Arc::clone(&self.world.program.names)));
                let mut builder = crate::tree::TreeBuilder::with_names("", 10, names);
                builder.add_text(text)?;
                Arc::new(builder.into_tree())
            }
        };
        self.budget.hold(tree.memory_bytes())?;
        let number = self.world.trees.push(tree, &self.world.program.names)?;
        // The fragment is kept, so that its address stays its own.
        self.fragments.insert(address, (fragment.clone(), number));
        Ok(NodeSet::One(NodeId::new(number, 0)))
    }

    fn message(&mut self, text: String, module: u32, line: u32, terminate: bool) -> Res<()> {
        self.message_bytes += text.len() + 64;
        if self.message_bytes > self.world.limits.output_bytes_max {
            return Err(limit_error(
                Limit::OutputBytes,
                format!(
                    "messages are larger than {} bytes (limit output_bytes_max)",
                    self.world.limits.output_bytes_max
                ),
            ));
        }
        let stylesheet = self.world.program.modules[module as usize].uri.to_string();
        if terminate {
            return Err(XsltError::new(
                ErrorKind::Terminated,
                format!("the stylesheet ended with the message: {text}"),
            ));
        }
        self.messages.push(Message { text, stylesheet, line });
        Ok(())
    }
}

impl Value {
    /// The value as the machine has it.
    pub(crate) fn to_object(&self) -> Object<'static> {
        match self {
            Self::String(text) => Object::Text(Text::Shared(Arc::from(text.as_str()))),
            Self::Number(number) => Object::Number(*number),
            Self::Boolean(value) => Object::Boolean(*value),
        }
    }
}
