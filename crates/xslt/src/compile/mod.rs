//! From a stylesheet to a [`Program`].
//!
//! [`modules`] loads all files and puts their declarations in order, [`declarations`] compiles what stands at the top,
//! [`instructions`] what stands in templates. Names, variables and functions are resolved here, once; what is wrong
//! with a stylesheet is said here where it can be. Start at [`compile`].

mod declarations;
mod instructions;
mod modules;
pub(crate) mod program;
mod scope;

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) use modules::find_by_id;
use modules::{Declaration, Source};
use program::{AttributeSet, Global, Key, Module, Program, Template, UserFunction};
use scope::Here;

use crate::error::{ErrorKind, Res, XsltError};
use crate::limits::Limits;
use crate::loader::Loader;
use crate::output::OutputSpec;
use crate::run::format_number::DecimalFormat;
use crate::tree::{NameId, Names, Tree};

/// The namespace of XSLT.
pub(crate) const XSLT: &str = "http://www.w3.org/1999/XSL/Transform";
/// The namespace of EXSLT's functions written in XSLT.
const FUNCTIONS: &str = "http://exslt.org/functions";

pub(crate) fn wrong(message: impl Into<String>) -> Box<XsltError> {
    XsltError::new(ErrorKind::Stylesheet, message)
}

/// Compiles the stylesheet at `element` of a document, or the whole document.
pub(crate) fn compile(
    tree: Arc<Tree>,
    element: Option<u32>,
    loader: &dyn Loader,
    limits: &Limits,
) -> Res<Program> {
    let mut compiler = Compiler {
        loader,
        limits,
        sources: Vec::new(),
        names: Names::new(),
        locals: Vec::new(),
        slots: 0,
        forwards: false,
        depth: 0,
        in_function: false,
        inherited: None,
        global_names: HashMap::new(),
        function_names: HashMap::new(),
        set_names: HashMap::new(),
        mode_names: HashMap::new(),
        template_names: HashMap::new(),
        aliases: Vec::new(),
        templates: Vec::new(),
        rules: Vec::new(),
        globals: Vec::new(),
        functions: Vec::new(),
        keys: Vec::new(),
        attribute_sets: Vec::new(),
        decimal_formats: HashMap::new(),
        output: OutputSpec::default(),
        literals: 0,
        space_rules: Vec::new(),
    };
    compiler.mode_names.insert(None, 0);
    let declarations = compiler.load_all(tree, element)?;
    compiler.declare(&declarations)?;
    compiler.define(&declarations)?;
    Ok(compiler.finish())
}

/// The state of a compilation.
struct Compiler<'l> {
    loader: &'l dyn Loader,
    limits: &'l Limits,
    sources: Vec<Source>,
    names: Names,
    /// Local variables in scope: name and slot.
    locals: Vec<(NameId, u32)>,
    /// Slots used so far by what is being compiled.
    slots: u32,
    /// Whether the version in force is not 1.0.
    forwards: bool,
    depth: u32,
    in_function: bool,
    /// The namespaces that the literal result element around this one has written already.
    inherited: Option<Vec<(Arc<str>, Arc<str>)>>,
    global_names: HashMap<NameId, u32>,
    function_names: HashMap<(Arc<str>, Arc<str>), u32>,
    set_names: HashMap<NameId, u32>,
    mode_names: HashMap<Option<NameId>, u32>,
    /// Named templates: number and precedence.
    template_names: HashMap<NameId, (u32, u32)>,
    /// `xsl:namespace-alias`: from which namespace to which prefix and namespace, the most important last.
    aliases: Vec<(Arc<str>, Arc<str>, Arc<str>)>,
    templates: Vec<Option<Template>>,
    rules: Vec<(u32, program::Rule)>,
    globals: Vec<Option<Global>>,
    functions: Vec<Option<UserFunction>>,
    keys: Vec<Key>,
    attribute_sets: Vec<AttributeSet>,
    /// With their precedence.
    decimal_formats: HashMap<(Arc<str>, Arc<str>), (DecimalFormat, u32)>,
    output: OutputSpec,
    literals: u32,
    space_rules: Vec<program::SpaceRule>,
}

impl Compiler<'_> {
    fn here(&self, declaration: &Declaration) -> Here {
        Here {
            tree: Arc::clone(&self.sources[declaration.module as usize].stripped),
            module: declaration.module,
            element: declaration.element,
        }
    }

    fn finish(mut self) -> Program {
        self.space_rules.sort_by(|left, right| {
            (right.precedence, right.priority, right.order).cmp(&(left.precedence, left.priority, left.order))
        });
        let mode_count = self.mode_names.len();
        let modes = declarations::modes(mode_count, self.rules, &self.names);
        let decimal_formats: HashMap<_, _> =
            self.decimal_formats.into_iter().map(|(name, (format, _))| (name, format)).collect();
        Program {
            names: Arc::new(self.names),
            modules: self
                .sources
                .into_iter()
                .map(|source| Module { uri: source.uri, tree: source.tree })
                .collect(),
            templates: self.templates.into_iter().flatten().collect(),
            modes,
            globals: self.globals.into_iter().flatten().collect(),
            functions: self.functions.into_iter().flatten().collect(),
            function_names: self.function_names,
            keys: self.keys,
            attribute_sets: self.attribute_sets,
            default_format: decimal_formats.get(&(Arc::from(""), Arc::from(""))).cloned().unwrap_or_default(),
            decimal_formats,
            output: self.output,
            literals: self.literals,
            space_rules: self.space_rules,
        }
    }
}
