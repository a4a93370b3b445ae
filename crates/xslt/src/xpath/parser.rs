//! Parses expressions and patterns.
//!
//! Chains of one operator become one node, so that a long `or` is not a deep one; what can nest is capped at
//! [`DEPTH_MAX`].

use std::sync::Arc;

use super::ast::{
    Axis, Comparison, Expr, Extension, Function, NameTest, NamespaceTest, NodeTest, Operator, Path,
    Predicate, Start, StaticScope, Step, Type, Variable,
};
use super::lexer::{Token, tokens, wrong};
use super::library;
use crate::error::Res;
use crate::tree::{Atom, NameId};

/// Parentheses, predicates and arguments inside of each other.
pub(crate) const DEPTH_MAX: u32 = 120;

/// What an expression may refer to.
pub(crate) trait Scope {
    /// The namespace of a prefix.
    fn namespace(&self, prefix: &str) -> Option<Arc<str>>;
    /// The variable with this name.
    fn variable(&mut self, namespace: &str, local: &str) -> Option<Variable>;
    /// The number of an expanded name.
    fn name(&mut self, namespace: &str, local: &str) -> NameId;
    /// The number of a string among the names.
    fn atom(&mut self, text: &str) -> Atom;
    /// The number of a function that the stylesheet defines.
    fn function(&self, namespace: &str, local: &str) -> Option<u32>;
    /// What calls that depend on their place have to know.
    fn statics(&self) -> Arc<StaticScope>;
    /// Whether a function must not be called here.
    fn forbids(&self, _function: Function) -> bool {
        false
    }
    /// Whether variables may be used here.
    fn allows_variables(&self) -> bool {
        true
    }
}

/// Parses a whole expression.
pub(crate) fn parse(source: &str, scope: &mut dyn Scope) -> Res<Expr> {
    let mut parser = Parser::new(source, scope)?;
    let expr = parser.expr()?;
    parser.finish()?;
    Ok(expr)
}

pub(super) struct Parser<'s, 'c> {
    source: &'s str,
    tokens: Vec<Token<'s>>,
    at: usize,
    depth: u32,
    scope: &'c mut dyn Scope,
}

/// The operators with two operands, weakest first.
const LEVELS: &[&[&str]] =
    &[&["or"], &["and"], &["=", "!="], &["<", "<=", ">", ">="], &["+", "-"], &["*", "div", "mod"]];

impl<'s, 'c> Parser<'s, 'c> {
    pub(super) fn new(source: &'s str, scope: &'c mut dyn Scope) -> Res<Self> {
        Ok(Self { source, tokens: tokens(source)?, at: 0, depth: 0, scope })
    }

    pub(super) fn finish(&self) -> Res<()> {
        if self.at == self.tokens.len() { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn unexpected(&self) -> Box<crate::XsltError> {
        let what = match self.tokens.get(self.at) {
            None => "it ends too early".to_owned(),
            Some(Token::Number(number)) => format!("`{number}` is not expected"),
            Some(Token::Literal(text)) => format!("`'{text}'` is not expected"),
            Some(Token::Variable(name)) => format!("`${name}` is not expected"),
            Some(Token::Name(name) | Token::Function(name) | Token::NodeType(name) | Token::Axis(name)) => {
                format!("`{name}` is not expected")
            }
            Some(Token::Symbol(symbol)) => format!("`{symbol}` is not expected"),
        };
        wrong(format!("cannot read the expression `{}`: {what}", self.source))
    }

    pub(super) fn peek(&self) -> Option<Token<'s>> {
        self.tokens.get(self.at).copied()
    }

    fn peek_symbol(&self) -> &'static str {
        match self.peek() {
            Some(Token::Symbol(symbol)) => symbol,
            _ => "",
        }
    }

    pub(super) fn eat(&mut self, symbol: &str) -> bool {
        let found = self.peek_symbol() == symbol && !symbol.is_empty();
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn expect(&mut self, symbol: &str) -> Res<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.unexpected()) }
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Whether only this token is left.
    pub(super) fn at_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    pub(super) fn expr(&mut self) -> Res<Expr> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(wrong(format!("an expression nests more than {DEPTH_MAX} deep")));
        }
        let expr = self.level(0)?;
        self.depth -= 1;
        Ok(expr)
    }

    fn level(&mut self, level: usize) -> Res<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let first = self.level(level + 1)?;
        let mut symbol = self.peek_symbol();
        if !operators.contains(&symbol) {
            return Ok(first);
        }
        if level < 2 {
            let mut parts = vec![first];
            while self.eat(operators[0]) {
                parts.push(self.level(level + 1)?);
            }
            return Ok(if level == 0 { Expr::Or(parts) } else { Expr::And(parts) });
        }
        if level >= 4 {
            let mut rest = Vec::new();
            while operators.contains(&symbol) {
                self.at += 1;
                let operator = match symbol {
                    "+" => Operator::Add,
                    "-" => Operator::Subtract,
                    "*" => Operator::Multiply,
                    "div" => Operator::Divide,
                    _ => Operator::Modulo,
                };
                rest.push((operator, self.level(level + 1)?));
                symbol = self.peek_symbol();
            }
            return Ok(Expr::Arithmetic(Box::new(first), rest));
        }
        let mut expr = first;
        let mut chained = 0;
        while operators.contains(&symbol) {
            chained += 1;
            if chained > DEPTH_MAX {
                return Err(wrong(format!("more than {DEPTH_MAX} comparisons in a row")));
            }
            self.at += 1;
            let comparison = match symbol {
                "=" => Comparison::Equal,
                "!=" => Comparison::NotEqual,
                "<" => Comparison::Less,
                "<=" => Comparison::LessOrEqual,
                ">" => Comparison::Greater,
                _ => Comparison::GreaterOrEqual,
            };
            let right = self.level(level + 1)?;
            expr = Expr::Compare(comparison, Box::new(expr), Box::new(right));
            symbol = self.peek_symbol();
        }
        Ok(expr)
    }

    fn unary(&mut self) -> Res<Expr> {
        let mut minuses = 0;
        while self.eat("-") {
            minuses += 1;
        }
        let operand = self.union()?;
        Ok(match (minuses, operand) {
            (0, operand) => operand,
            (odd, operand) if odd % 2 == 1 => Expr::Negate(Box::new(operand)),
            (_, operand) => Expr::Call(Function::Number, vec![operand]),
        })
    }

    fn union(&mut self) -> Res<Expr> {
        let first = self.path()?;
        if self.peek_symbol() != "|" {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.eat("|") {
            parts.push(self.path()?);
        }
        Ok(Expr::Union(parts))
    }

    fn path(&mut self) -> Res<Expr> {
        let mut steps = Vec::new();
        let start = match self.peek() {
            Some(Token::Symbol("/")) => {
                self.at += 1;
                if !self.starts_step() {
                    return Ok(Expr::Path(Box::new(Path { start: Start::Root, steps })));
                }
                Start::Root
            }
            Some(Token::Symbol("//")) => {
                self.at += 1;
                steps.push(any_descendant());
                Start::Root
            }
            Some(
                Token::Literal(_)
                | Token::Number(_)
                | Token::Variable(_)
                | Token::Function(_)
                | Token::Symbol("("),
            ) => {
                let primary = self.primary()?;
                let predicates = self.predicates()?;
                let filtered =
                    if predicates.is_empty() { primary } else { Expr::Filter(Box::new(primary), predicates) };
                match self.peek_symbol() {
                    "/" => self.at += 1,
                    "//" => {
                        self.at += 1;
                        steps.push(any_descendant());
                    }
                    _ => return Ok(filtered),
                }
                Start::Expr(filtered)
            }
            _ => Start::Context,
        };
        loop {
            steps.push(self.step()?);
            if self.eat("//") {
                steps.push(any_descendant());
            } else if !self.eat("/") {
                break;
            }
        }
        Ok(Expr::Path(Box::new(Path { start, steps: simplify(steps) })))
    }

    fn starts_step(&self) -> bool {
        matches!(
            self.peek(),
            Some(Token::Name(_) | Token::NodeType(_) | Token::Axis(_) | Token::Symbol("." | ".." | "@"))
        )
    }

    fn step(&mut self) -> Res<Step> {
        let abbreviated = |axis| Step { axis, test: NodeTest::Any, predicates: Vec::new() };
        if self.eat(".") {
            return Ok(abbreviated(Axis::SelfNode));
        }
        if self.eat("..") {
            return Ok(abbreviated(Axis::Parent));
        }
        let axis = self.axis()?;
        let test = self.node_test()?;
        let predicates = self.predicates()?;
        Ok(Step { axis, test, predicates })
    }

    pub(super) fn axis(&mut self) -> Res<Axis> {
        if self.eat("@") {
            return Ok(Axis::Attribute);
        }
        if let Some(Token::Axis(name)) = self.peek() {
            self.at += 1;
            self.expect("::")?;
            return Axis::named(name)
                .ok_or_else(|| wrong(format!("there is no axis `{name}` (in `{}`)", self.source)));
        }
        Ok(Axis::Child)
    }

    pub(super) fn node_test(&mut self) -> Res<NodeTest> {
        let token = self.peek();
        match token {
            Some(Token::Name("*")) => {
                self.at += 1;
                Ok(NodeTest::Principal)
            }
            Some(Token::Name(name)) => {
                self.at += 1;
                if let Some(prefix) = name.strip_suffix(":*") {
                    let namespace = self.namespace(prefix)?;
                    let atom = self.scope.atom(&namespace);
                    return Ok(NodeTest::Namespace(NamespaceTest { atom, namespace }));
                }
                Ok(NodeTest::Name(self.name_test(name)?))
            }
            Some(Token::NodeType(kind)) => {
                self.at += 1;
                self.expect("(")?;
                let mut test = match kind {
                    "text" => NodeTest::Text,
                    "comment" => NodeTest::Comment,
                    "node" => NodeTest::Any,
                    _ => NodeTest::Instruction(None),
                };
                if let (NodeTest::Instruction(_), Some(Token::Literal(target))) = (&test, self.peek()) {
                    self.at += 1;
                    let name = self.scope.name("", target);
                    test = NodeTest::Instruction(Some(NameTest {
                        name,
                        namespace: Arc::from(""),
                        local: Arc::from(target),
                    }));
                }
                self.expect(")")?;
                Ok(test)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn namespace(&self, prefix: &str) -> Res<Arc<str>> {
        self.scope
            .namespace(prefix)
            .ok_or_else(|| wrong(format!("the prefix `{prefix}` is not declared (in `{}`)", self.source)))
    }

    fn expanded(&self, name: &'s str) -> Res<(Arc<str>, &'s str)> {
        match name.split_once(':') {
            Some((prefix, local)) => Ok((self.namespace(prefix)?, local)),
            None => Ok((Arc::from(""), name)),
        }
    }

    fn name_test(&mut self, name: &'s str) -> Res<NameTest> {
        let (namespace, local) = self.expanded(name)?;
        let number = self.scope.name(&namespace, local);
        Ok(NameTest { name: number, namespace, local: Arc::from(local) })
    }

    pub(super) fn predicates(&mut self) -> Res<Vec<Predicate>> {
        let mut predicates = Vec::new();
        while self.eat("[") {
            let expr = self.expr()?;
            self.expect("]")?;
            predicates.push(predicate(expr));
        }
        Ok(predicates)
    }

    fn primary(&mut self) -> Res<Expr> {
        let token = self.peek();
        self.at += 1;
        match token {
            Some(Token::Number(number)) => Ok(Expr::Number(number)),
            Some(Token::Literal(text)) => Ok(Expr::Literal(Arc::from(text))),
            Some(Token::Symbol("(")) => {
                let expr = self.expr()?;
                self.expect(")")?;
                Ok(expr)
            }
            Some(Token::Variable(name)) => {
                if !self.scope.allows_variables() {
                    return Err(wrong(format!("`${name}` must not be used here (in `{}`)", self.source)));
                }
                let (namespace, local) = self.expanded(name)?;
                self.scope.variable(&namespace, local).map(Expr::Variable).ok_or_else(|| {
                    wrong(format!("there is no variable `${name}` here (in `{}`)", self.source))
                })
            }
            Some(Token::Function(name)) => self.call(name),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    /// Reads a call, after the name.
    pub(super) fn call(&mut self, name: &'s str) -> Res<Expr> {
        let (namespace, local) = self.expanded(name)?;
        self.expect("(")?;
        let mut arguments = Vec::new();
        if !self.eat(")") {
            loop {
                arguments.push(self.expr()?);
                if self.eat(")") {
                    break;
                }
                self.expect(",")?;
            }
        }
        if let Some(number) = self.scope.function(&namespace, local) {
            return Ok(Expr::Call(Function::User(number), arguments));
        }
        let Some((function, least, most)) = library::find(&namespace, local) else {
            return Ok(Expr::Unknown(Arc::from(format!("there is no function `{name}()`"))));
        };
        if arguments.len() < least || arguments.len() > most {
            return Err(wrong(format!(
                "`{name}()` does not take {} arguments (in `{}`)",
                arguments.len(),
                self.source
            )));
        }
        if self.scope.forbids(function) {
            return Err(wrong(format!("`{name}()` must not be called here (in `{}`)", self.source)));
        }
        let scoped = match function {
            Function::Key
            | Function::Document
            | Function::SystemProperty
            | Function::ElementAvailable
            | Function::FunctionAvailable
            | Function::Extension(Extension::Evaluate) => true,
            Function::FormatNumber => arguments.len() == 3,
            _ => false,
        };
        if scoped {
            return Ok(Expr::ScopedCall(function, arguments, self.scope.statics()));
        }
        Ok(Expr::Call(function, arguments))
    }
}

fn any_descendant() -> Step {
    Step { axis: Axis::DescendantOrSelf, test: NodeTest::Any, predicates: Vec::new() }
}

/// Sorts a predicate by what it needs to know.
fn predicate(expr: Expr) -> Predicate {
    match expr {
        Expr::Number(number) => {
            if number.fract() == 0.0 && (1.0..4e9).contains(&number) {
                Predicate::Position(number as usize)
            } else {
                Predicate::Condition(Expr::Call(Function::False, Vec::new()))
            }
        }
        Expr::Call(Function::Last, _) => Predicate::Last,
        // `[position() = 3]`
        Expr::Compare(Comparison::Equal, left, right)
            if matches!(*left, Expr::Call(Function::Position, _))
                && matches!(*right, Expr::Number(_) | Expr::Call(Function::Last, _)) =>
        {
            predicate(*right)
        }
        expr => match expr.type_of() {
            Type::Number | Type::Unknown => Predicate::Other(expr),
            _ if expr.needs_position() => Predicate::Other(expr),
            _ => Predicate::Condition(expr),
        },
    }
}

/// `a//b` walks all descendants of `a` only to ask for their children; `a/descendant::b` gives the same nodes.
fn simplify(steps: Vec<Step>) -> Vec<Step> {
    let mut simple: Vec<Step> = Vec::with_capacity(steps.len());
    for mut step in steps {
        let position_matters =
            step.predicates.iter().any(|predicate| !matches!(predicate, Predicate::Condition(_)));
        let after_descendants = simple.last().is_some_and(|last| {
            last.axis == Axis::DescendantOrSelf
                && matches!(last.test, NodeTest::Any)
                && last.predicates.is_empty()
        });
        if after_descendants && !position_matters {
            match step.axis {
                Axis::Child | Axis::Descendant => {
                    step.axis = Axis::Descendant;
                    simple.pop();
                }
                Axis::SelfNode | Axis::DescendantOrSelf => {
                    step.axis = Axis::DescendantOrSelf;
                    simple.pop();
                }
                _ => {}
            }
        }
        // `./a` is `a`.
        let idle = simple.last().is_some_and(|last| {
            last.axis == Axis::SelfNode && matches!(last.test, NodeTest::Any) && last.predicates.is_empty()
        });
        if idle {
            simple.pop();
        }
        simple.push(step);
    }
    simple
}
