//! Expressions after parsing: names are numbers, variables are slots, functions are known.

use std::sync::Arc;

use crate::tree::{Atom, NameId};

/// An expression.
#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Number(f64),
    Literal(Arc<str>),
    Or(Vec<Expr>),
    And(Vec<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// The first operand, then the operators and operands after it.
    Arithmetic(Box<Expr>, Vec<(Operator, Expr)>),
    Negate(Box<Expr>),
    Union(Vec<Expr>),
    Path(Box<Path>),
    /// An expression other than a path, with predicates.
    Filter(Box<Expr>, Vec<Predicate>),
    Variable(Variable),
    Call(Function, Vec<Expr>),
    /// A call that has to know where in the stylesheet it stands.
    ScopedCall(Function, Vec<Expr>, Arc<StaticScope>),
    /// What cannot be evaluated, and why: an error only when it is reached.
    Unknown(Arc<str>),
}

/// What is in force at a place of a stylesheet.
#[derive(Debug, Clone, Default)]
pub(crate) struct StaticScope {
    /// Prefixes and namespaces.
    pub(crate) namespaces: Vec<(Arc<str>, Arc<str>)>,
    /// What relative addresses are resolved against.
    pub(crate) base: Arc<str>,
}

impl StaticScope {
    /// Splits a name with an optional prefix into namespace and local part.
    pub(crate) fn expand<'n>(&self, name: &'n str, default: &str) -> Option<(Arc<str>, &'n str)> {
        match name.split_once(':') {
            Some(("xml", local)) => Some((Arc::from(crate::tree::XML_NAMESPACE), local)),
            Some((prefix, local)) => self
                .namespaces
                .iter()
                .find(|(known, _)| **known == *prefix)
                .map(|(_, namespace)| (Arc::clone(namespace), local)),
            None => Some((Arc::from(default), name)),
        }
    }

    /// The namespace of the empty prefix.
    pub(crate) fn default_namespace(&self) -> &str {
        self.namespaces.iter().find(|(prefix, _)| prefix.is_empty()).map_or("", |(_, namespace)| namespace)
    }
}

/// Where a variable is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variable {
    Local(u32),
    Global(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison with its sides changed.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A location path.
#[derive(Debug, Clone)]
pub(crate) struct Path {
    pub(crate) start: Start,
    pub(crate) steps: Vec<Step>,
}

impl Path {
    /// The name, if this is `@name`.
    pub(crate) fn only_attribute(&self) -> Option<&NameTest> {
        match (&self.start, self.steps.as_slice()) {
            (Start::Context, [Step { axis: Axis::Attribute, test: NodeTest::Name(name), predicates }])
                if predicates.is_empty() =>
            {
                Some(name)
            }
            _ => None,
        }
    }
}

/// Where a path starts.
#[derive(Debug, Clone)]
pub(crate) enum Start {
    Root,
    Context,
    Expr(Expr),
}

/// One step of a path.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) axis: Axis,
    pub(crate) test: NodeTest,
    pub(crate) predicates: Vec<Predicate>,
}

impl Step {
    /// Whether this is `.`.
    pub(crate) fn is_self(&self) -> bool {
        self.axis == Axis::SelfNode && matches!(self.test, NodeTest::Any) && self.predicates.is_empty()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Axis {
    Ancestor,
    AncestorOrSelf,
    Attribute,
    Child,
    Descendant,
    DescendantOrSelf,
    Following,
    FollowingSibling,
    Namespace,
    Parent,
    Preceding,
    PrecedingSibling,
    SelfNode,
}

impl Axis {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ancestor" => Self::Ancestor,
            "ancestor-or-self" => Self::AncestorOrSelf,
            "attribute" => Self::Attribute,
            "child" => Self::Child,
            "descendant" => Self::Descendant,
            "descendant-or-self" => Self::DescendantOrSelf,
            "following" => Self::Following,
            "following-sibling" => Self::FollowingSibling,
            "namespace" => Self::Namespace,
            "parent" => Self::Parent,
            "preceding" => Self::Preceding,
            "preceding-sibling" => Self::PrecedingSibling,
            "self" => Self::SelfNode,
            _ => return None,
        })
    }

    /// Whether positions on this axis count against document order.
    pub(crate) fn is_reverse(self) -> bool {
        matches!(self, Self::Ancestor | Self::AncestorOrSelf | Self::Preceding | Self::PrecedingSibling)
    }
}

/// What a node must be.
#[derive(Debug, Clone)]
pub(crate) enum NodeTest {
    /// `node()`
    Any,
    /// `*`: any node of the axis' principal kind.
    Principal,
    /// A name.
    Name(NameTest),
    /// `prefix:*`
    Namespace(NamespaceTest),
    Text,
    Comment,
    /// `processing-instruction()`, with a target or without.
    Instruction(Option<NameTest>),
}

/// A name that is looked for: its number among the stylesheet's names, and its parts for trees that do not know it.
#[derive(Debug, Clone)]
pub(crate) struct NameTest {
    pub(crate) name: NameId,
    pub(crate) namespace: Arc<str>,
    pub(crate) local: Arc<str>,
}

/// A namespace that is looked for: its number among the stylesheet's strings, and itself for trees that do not know it.
#[derive(Debug, Clone)]
pub(crate) struct NamespaceTest {
    pub(crate) atom: Atom,
    pub(crate) namespace: Arc<str>,
}

/// A predicate, sorted by what it needs to know.
#[derive(Debug, Clone)]
pub(crate) enum Predicate {
    /// `[3]`
    Position(usize),
    /// `[last()]`
    Last,
    /// A condition that does not depend on the position.
    Condition(Expr),
    /// Anything else: a number means a position.
    Other(Expr),
}

/// What an expression gives, as far as it can be told without running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Nodes,
    Number,
    Text,
    Boolean,
    Unknown,
}

impl Expr {
    /// What the expression gives.
    pub(crate) fn type_of(&self) -> Type {
        match self {
            Self::Number(_) | Self::Arithmetic(..) | Self::Negate(_) => Type::Number,
            Self::Literal(_) => Type::Text,
            Self::Or(_) | Self::And(_) | Self::Compare(..) => Type::Boolean,
            Self::Union(_) | Self::Path(_) => Type::Nodes,
            Self::Filter(..) => Type::Nodes,
            Self::Variable(_) | Self::Unknown(_) => Type::Unknown,
            Self::Call(function, _) | Self::ScopedCall(function, ..) => function.type_of(),
        }
    }

    /// Whether the expression asks for `position()` or `last()` of its own context.
    pub(crate) fn needs_position(&self) -> bool {
        match self {
            Self::Number(_) | Self::Literal(_) | Self::Variable(_) | Self::Unknown(_) => false,
            Self::Or(parts) | Self::And(parts) | Self::Union(parts) => parts.iter().any(Self::needs_position),
            Self::Compare(_, left, right) => left.needs_position() || right.needs_position(),
            Self::Arithmetic(first, rest) => {
                first.needs_position() || rest.iter().any(|(_, operand)| operand.needs_position())
            }
            Self::Negate(inner) | Self::Filter(inner, _) => inner.needs_position(),
            Self::Path(path) => matches!(&path.start, Start::Expr(start) if start.needs_position()),
            Self::Call(Function::Position | Function::Last, _) => true,
            // What is evaluated there is not known here.
            Self::ScopedCall(Function::Extension(Extension::Evaluate), ..) => true,
            Self::Call(_, arguments) | Self::ScopedCall(_, arguments, _) => {
                arguments.iter().any(Self::needs_position)
            }
        }
    }
}

/// The functions of XPath and XSLT.
#[expect(clippy::enum_variant_names, reason = "function-available() is called so")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Last,
    Position,
    Count,
    Id,
    LocalName,
    NamespaceUri,
    Name,
    String,
    Concat,
    StartsWith,
    Contains,
    SubstringBefore,
    SubstringAfter,
    Substring,
    StringLength,
    NormalizeSpace,
    Translate,
    Boolean,
    Not,
    True,
    False,
    Lang,
    Number,
    Sum,
    Floor,
    Ceiling,
    Round,
    Document,
    Key,
    FormatNumber,
    Current,
    UnparsedEntityUri,
    GenerateId,
    SystemProperty,
    ElementAvailable,
    FunctionAvailable,
    Extension(Extension),
    /// A `func:function` of the stylesheet.
    User(u32),
}

/// The functions of EXSLT, and the same under other names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extension {
    NodeSet,
    ObjectType,
    Tokenize,
    Split,
    Replace,
    Padding,
    Align,
    ConcatNodes,
    EncodeUri,
    DecodeUri,
    Minimum,
    Maximum,
    Highest,
    Lowest,
    Absolute,
    SquareRoot,
    Power,
    Constant,
    Logarithm,
    Exponential,
    Sine,
    Cosine,
    Tangent,
    ArcSine,
    ArcCosine,
    ArcTangent,
    ArcTangent2,
    Random,
    Difference,
    Intersection,
    Distinct,
    HasSameNode,
    Leading,
    Trailing,
    RegexTest,
    RegexMatch,
    RegexReplace,
    Evaluate,
    Date(DateFunction),
}

/// The functions of EXSLT's dates and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DateFunction {
    DateTime,
    Date,
    Time,
    Year,
    LeapYear,
    MonthInYear,
    MonthName,
    MonthAbbreviation,
    WeekInYear,
    WeekInMonth,
    DayInYear,
    DayInMonth,
    DayOfWeekInMonth,
    DayInWeek,
    DayName,
    DayAbbreviation,
    HourInDay,
    MinuteInHour,
    SecondInMinute,
    Seconds,
    Add,
    AddDuration,
    Difference,
    Duration,
    Sum,
    FormatDate,
}
