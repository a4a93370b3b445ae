//! A compiled stylesheet: what the machine runs.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use crate::output::OutputSpec;
use crate::run::format_number::DecimalFormat;
use crate::tree::{NONE, NameId, Names, Tree, XML_NAMESPACE};
use crate::xml::characters::is_qname;
use crate::xpath::ast::{Expr, StaticScope};
use crate::xpath::pattern::{OnlyNames, Pattern};

/// Everything there is to run.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) names: Arc<Names>,
    pub(crate) modules: Vec<Module>,
    pub(crate) templates: Vec<Template>,
    /// The rules of each mode; the first mode is the one without name.
    pub(crate) modes: Vec<Mode>,
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<UserFunction>,
    pub(crate) function_names: HashMap<(Arc<str>, Arc<str>), u32>,
    pub(crate) keys: Vec<Key>,
    pub(crate) attribute_sets: Vec<AttributeSet>,
    pub(crate) decimal_formats: HashMap<(Arc<str>, Arc<str>), DecimalFormat>,
    /// The one without a name.
    pub(crate) default_format: DecimalFormat,
    pub(crate) output: OutputSpec,
    /// How many literal result elements there are.
    pub(crate) literals: u32,
    /// The best rule first.
    pub(crate) space_rules: Vec<SpaceRule>,
}

/// One file of a stylesheet.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) uri: Arc<str>,
    /// As it was parsed, for `document('')`.
    pub(crate) tree: Arc<Tree>,
}

pub(crate) type Body = Box<[Instruction]>;

/// An instruction and where it was written.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) operation: Operation,
    pub(crate) line: u32,
    pub(crate) module: u32,
}

/// A name in the result.
#[derive(Debug, Clone)]
pub(crate) struct OutName {
    pub(crate) prefix: Arc<str>,
    pub(crate) local: Arc<str>,
    pub(crate) namespace: Arc<str>,
    /// Prefix and local part as they are written, in a start tag and an end tag: `<a:b></a:b>`.
    tags: Arc<str>,
    /// Its number in the names of the stylesheet, or [`NONE`].
    pub(crate) name: NameId,
}

impl OutName {
    pub(crate) fn new(prefix: Arc<str>, local: Arc<str>, namespace: Arc<str>, name: NameId) -> Self {
        let mut tags = String::with_capacity(2 * (prefix.len() + local.len()) + 7);
        for (start, end) in [("<", ">"), ("</", ">")] {
            tags.push_str(start);
            if !prefix.is_empty() {
                tags.push_str(&prefix);
                tags.push(':');
            }
            tags.push_str(&local);
            tags.push_str(end);
        }
        let tags = Arc::from(tags);
        Self { prefix, local, namespace, tags, name }
    }

    /// Prefix and local part as they are written.
    #[inline]
    pub(crate) fn qualified(&self) -> &str {
        &self.tags[1..self.start_length()]
    }

    /// The start tag, up to where attributes may follow.
    #[inline]
    pub(crate) fn start_tag(&self) -> &str {
        &self.tags[..self.start_length()]
    }

    /// The end tag.
    #[inline]
    pub(crate) fn end_tag(&self) -> &str {
        &self.tags[self.start_length() + 1..]
    }

    #[inline]
    fn start_length(&self) -> usize {
        self.tags.len() / 2 - 1
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        self.local == other.local && self.namespace == other.namespace
    }
}

/// A name on its way to the result: one the stylesheet has, or one made while it runs.
#[derive(Debug, Clone)]
pub(crate) enum Name<'t> {
    Written(&'t OutName),
    Made(Arc<OutName>),
}

impl Deref for Name<'_> {
    type Target = OutName;

    #[inline]
    fn deref(&self) -> &OutName {
        match self {
            Self::Written(name) => name,
            Self::Made(name) => name,
        }
    }
}

impl From<OutName> for Name<'_> {
    fn from(name: OutName) -> Self {
        Self::Made(Arc::new(name))
    }
}

impl Name<'_> {
    /// The same name with another prefix.
    pub(crate) fn with_prefix(&self, prefix: Arc<str>) -> Self {
        let OutName { local, namespace, name, .. } = OutName::clone(self);
        Self::from(OutName::new(prefix, local, namespace, name))
    }
}

#[derive(Debug)]
pub(crate) enum Operation {
    Text {
        text: Arc<str>,
        raw: bool,
    },
    ValueOf {
        select: Expr,
        raw: bool,
    },
    LiteralElement(Box<LiteralElement>),
    Element {
        name: ComputedName,
        sets: Vec<u32>,
        body: Body,
    },
    Attribute {
        name: ComputedName,
        body: Body,
    },
    Comment(Body),
    ProcessingInstruction {
        name: Avt,
        body: Body,
    },
    Copy {
        sets: Vec<u32>,
        body: Body,
    },
    CopyOf(Expr),
    ApplyTemplates {
        select: Option<Expr>,
        mode: u32,
        sorts: Vec<Sort>,
        parameters: Vec<Parameter>,
    },
    ApplyImports(Vec<Parameter>),
    CallTemplate {
        template: u32,
        parameters: Vec<Parameter>,
        tail: bool,
    },
    ForEach {
        select: Expr,
        sorts: Vec<Sort>,
        body: Body,
    },
    If {
        test: Expr,
        body: Body,
    },
    Choose {
        whens: Vec<(Expr, Body)>,
        otherwise: Body,
    },
    Variable {
        slot: u32,
        value: Binding,
    },
    Param {
        slot: u32,
        name: NameId,
        value: Binding,
    },
    Number(Box<NumberInstruction>),
    Message {
        body: Body,
        terminate: bool,
    },
    /// An instruction that is not known: what to do instead, or the name to complain about.
    Unknown {
        name: Arc<str>,
        fallback: Option<Body>,
    },
    FunctionResult(Binding),
}

/// The name of `xsl:element` or `xsl:attribute`.
#[derive(Debug)]
pub(crate) struct ComputedName {
    pub(crate) name: Avt,
    pub(crate) namespace: Option<Avt>,
    pub(crate) scope: Arc<StaticScope>,
    /// What it always is, where nothing of it is computed and nothing is wrong with it.
    pub(crate) fixed: Option<OutName>,
}

/// What became of a computed name.
#[derive(Debug)]
pub(crate) enum Computed<'t> {
    Name(Name<'t>),
    /// It has not the form of a name, or is one that attributes cannot have.
    NotAName,
    PrefixNotDeclared,
}

impl ComputedName {
    pub(crate) fn new(
        name: Avt,
        namespace: Option<Avt>,
        scope: StaticScope,
        element: bool,
        names: &mut Names,
    ) -> Self {
        let mut computed = Self { name, namespace, scope: Arc::new(scope), fixed: None };
        let namespace = match &computed.namespace {
            None => Some(None),
            Some(Avt::Constant(namespace)) => Some(Some(&**namespace)),
            Some(_) => None,
        };
        if let (Avt::Constant(name), Some(namespace)) = (&computed.name, namespace)
            && let Computed::Name(Name::Made(fixed)) = computed.resolve(name, namespace, element)
        {
            let mut fixed = Arc::unwrap_or_clone(fixed);
            fixed.name = names.name(&fixed.namespace, &fixed.local);
            computed.fixed = Some(fixed);
        }
        computed
    }

    /// The name that is written as `qualified`, in the namespace that the instruction states, if it does.
    pub(crate) fn resolve(
        &self,
        qualified: &str,
        namespace: Option<&str>,
        element: bool,
    ) -> Computed<'static> {
        let qualified = qualified.trim();
        if !is_qname(qualified) || (!element && qualified == "xmlns" && namespace.is_none()) {
            return Computed::NotAName;
        }
        let (prefix, local) = qualified.split_once(':').unwrap_or(("", qualified));
        let namespace: Arc<str> = match namespace {
            Some(namespace) => Arc::from(namespace),
            None if prefix == "xml" => Arc::from(XML_NAMESPACE),
            None if prefix.is_empty() => Arc::from(if element { self.scope.default_namespace() } else { "" }),
            None => match self.scope.expand(qualified, "") {
                Some((namespace, _)) => namespace,
                None => return Computed::PrefixNotDeclared,
            },
        };
        let prefix = if namespace.is_empty() || prefix == "xmlns" { "" } else { prefix };
        let name = OutName::new(Arc::from(prefix), Arc::from(local), namespace, NONE);
        Computed::Name(Name::from(name))
    }
}

#[derive(Debug)]
pub(crate) struct LiteralElement {
    /// Counted through the whole stylesheet.
    pub(crate) number: u32,
    pub(crate) name: OutName,
    pub(crate) namespaces: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) attributes: Vec<LiteralAttribute>,
    pub(crate) sets: Vec<u32>,
    pub(crate) body: Body,
    /// Nothing adds to its attributes, so that its tag can be written as soon as it is reached.
    pub(crate) at_once: bool,
}

impl LiteralElement {
    pub(crate) fn new(
        number: u32,
        name: OutName,
        namespaces: Vec<(Arc<str>, Arc<str>)>,
        attributes: Vec<LiteralAttribute>,
        sets: Vec<u32>,
        body: Body,
    ) -> Self {
        let is_space = |name: &OutName| &*name.local == "space" && *name.namespace == *XML_NAMESPACE;
        let apart = attributes.iter().enumerate().all(|(number, LiteralAttribute { name, .. })| {
            !is_space(name) && attributes[..number].iter().all(|other| !other.name.same(name))
        });
        let at_once = sets.is_empty() && apart && !adds_attributes(&body);
        Self { number, name, namespaces, attributes, sets, body, at_once }
    }
}

/// An attribute of a literal result element.
#[derive(Debug)]
pub(crate) struct LiteralAttribute {
    pub(crate) name: OutName,
    pub(crate) value: Avt,
    /// What is known of it before the stylesheet runs: ` name="value"`, or ` name="` when the value is computed.
    pub(crate) written: Box<str>,
}

impl LiteralAttribute {
    pub(crate) fn new(name: OutName, value: Avt) -> Self {
        let constant = match &value {
            Avt::Constant(text) => Some(&**text),
            Avt::Parts(_) => None,
        };
        let written = crate::output::attribute_start(name.qualified(), constant).into();
        Self { name, value, written }
    }
}

/// Whether instructions may add attributes to the element that they stand in.
fn adds_attributes(body: &[Instruction]) -> bool {
    for instruction in body {
        let adds = match &instruction.operation {
            // Attributes come too late after these.
            Operation::Text { text, .. } if !text.is_empty() => return false,
            Operation::LiteralElement(_) => return false,
            Operation::Text { .. }
            | Operation::ValueOf { .. }
            | Operation::Comment(_)
            | Operation::ProcessingInstruction { .. }
            | Operation::Variable { .. }
            | Operation::Param { .. }
            | Operation::Number(_)
            | Operation::Message { .. } => false,
            Operation::If { body, .. } | Operation::ForEach { body, .. } => adds_attributes(body),
            Operation::Choose { whens, otherwise } => {
                whens.iter().any(|(_, body)| adds_attributes(body)) || adds_attributes(otherwise)
            }
            _ => true,
        };
        if adds {
            return true;
        }
    }
    false
}

/// What a variable or parameter is bound to.
#[derive(Debug)]
pub(crate) enum Binding {
    Expr(Expr),
    Body(Body),
    /// Instructions that write nothing but text.
    Text(Body),
    Empty,
}

impl Binding {
    pub(crate) fn of_body(body: Body) -> Self {
        if writes_text(&body) { Self::Text(body) } else { Self::Body(body) }
    }
}

/// Whether instructions write text and nothing else.
fn writes_text(body: &[Instruction]) -> bool {
    body.iter().all(|instruction| match &instruction.operation {
        Operation::Text { .. } | Operation::ValueOf { .. } => true,
        Operation::If { body, .. } => writes_text(body),
        Operation::Choose { whens, otherwise } => {
            whens.iter().all(|(_, body)| writes_text(body)) && writes_text(otherwise)
        }
        _ => false,
    })
}

/// `xsl:with-param`
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: NameId,
    pub(crate) value: Binding,
}

/// An attribute value template.
#[derive(Debug, Clone)]
pub(crate) enum Avt {
    Constant(Arc<str>),
    Parts(Vec<AvtPart>),
}

#[derive(Debug, Clone)]
pub(crate) enum AvtPart {
    Text(Arc<str>),
    Expr(Expr),
}

#[derive(Debug)]
pub(crate) struct Sort {
    pub(crate) select: Expr,
    pub(crate) lang: Option<Avt>,
    pub(crate) data_type: Option<Avt>,
    pub(crate) order: Option<Avt>,
    pub(crate) case_order: Option<Avt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Single,
    Multiple,
    Any,
}

#[derive(Debug)]
pub(crate) struct NumberInstruction {
    pub(crate) value: Option<Expr>,
    pub(crate) level: Level,
    pub(crate) count: Option<Vec<Pattern>>,
    pub(crate) from: Option<Vec<Pattern>>,
    pub(crate) format: Avt,
    pub(crate) letter_value: Option<Avt>,
    pub(crate) grouping_separator: Option<Avt>,
    pub(crate) grouping_size: Option<Avt>,
}

#[derive(Debug)]
pub(crate) struct Template {
    /// What messages call it.
    pub(crate) label: String,
    pub(crate) body: Body,
    /// Variables it needs room for.
    pub(crate) slots: u32,
    /// The parameters that `xsl:param` declares.
    pub(crate) precedence: u32,
    /// The lowest precedence of what its module imports.
    pub(crate) precedence_first: u32,
}

/// Numbers of rules by a name of the stylesheet.
#[derive(Debug, Default)]
pub(crate) struct ByName(Vec<Option<Vec<u32>>>);

impl ByName {
    /// The rules of a name; nothing where no rule asks for it.
    #[inline]
    pub(crate) fn get(&self, name: NameId) -> Option<&Vec<u32>> {
        self.0.get(name as usize)?.as_ref()
    }

    /// The rules of a name, to be added to.
    pub(crate) fn entry(&mut self, name: NameId) -> &mut Vec<u32> {
        let at = name as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at].get_or_insert_default()
    }

    /// All names that rules ask for, and their rules.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (NameId, &mut Vec<u32>)> {
        let named = self.0.iter_mut().enumerate();
        named.filter_map(|(name, rules)| Some((name as NameId, rules.as_mut()?)))
    }
}

/// The template rules of one mode.
#[derive(Debug, Default)]
pub(crate) struct Mode {
    /// All, the best first.
    pub(crate) rules: Vec<Rule>,
    /// Numbers of the rules that elements of a name can match, the best first.
    pub(crate) by_element: ByName,
    pub(crate) other_elements: Vec<u32>,
    pub(crate) by_attribute: ByName,
    pub(crate) other_attributes: Vec<u32>,
    pub(crate) roots: Vec<u32>,
    pub(crate) texts: Vec<u32>,
    pub(crate) comments: Vec<u32>,
    pub(crate) instructions: Vec<u32>,
}

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) pattern: Pattern,
    /// What is left to ask where the pattern asks for names alone.
    pub(crate) only_names: Option<OnlyNames>,
    pub(crate) template: u32,
    pub(crate) precedence: u32,
    pub(crate) priority: f64,
    /// Later ones win.
    pub(crate) order: u32,
}

#[derive(Debug)]
pub(crate) struct Global {
    pub(crate) name: NameId,
    pub(crate) is_parameter: bool,
    pub(crate) value: Binding,
    pub(crate) slots: u32,
    pub(crate) line: u32,
    pub(crate) module: u32,
    pub(crate) label: String,
}

/// `func:function`
#[derive(Debug)]
pub(crate) struct UserFunction {
    pub(crate) label: String,
    pub(crate) body: Body,
    pub(crate) slots: u32,
    /// The names of its parameters in order.
    pub(crate) parameters: Vec<NameId>,
}

/// All `xsl:key` of one name.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) namespace: Arc<str>,
    pub(crate) local: Arc<str>,
    pub(crate) definitions: Vec<KeyDefinition>,
}

#[derive(Debug)]
pub(crate) struct KeyDefinition {
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) value: Expr,
    pub(crate) line: u32,
    pub(crate) module: u32,
}

/// All `xsl:attribute-set` of one name, the least important first.
#[derive(Debug, Default)]
pub(crate) struct AttributeSet {
    pub(crate) label: String,
    pub(crate) parts: Vec<AttributeSetPart>,
}

#[derive(Debug)]
pub(crate) struct AttributeSetPart {
    pub(crate) sets: Vec<u32>,
    pub(crate) body: Body,
    pub(crate) slots: u32,
}

/// Whether white space is stripped in elements of some names.
#[derive(Debug)]
pub(crate) struct SpaceRule {
    pub(crate) strip: bool,
    pub(crate) namespace: Option<Arc<str>>,
    pub(crate) local: Option<Arc<str>>,
    pub(crate) precedence: u32,
    pub(crate) priority: i32,
    pub(crate) order: u32,
}

impl Program {
    /// Whether white space alone is stripped in an element.
    pub(crate) fn strips(&self, tree: &Tree, element: u32) -> bool {
        self.space_rules
            .iter()
            .find(|rule| {
                rule.local.as_ref().is_none_or(|local| local == tree.local(element))
                    && rule.namespace.as_ref().is_none_or(|namespace| namespace == tree.namespace(element))
            })
            .is_some_and(|rule| rule.strip)
    }
}
