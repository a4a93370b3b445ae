//! Match patterns: parsing, and the priority a template has by its pattern alone.
//!
//! How a node is matched is in `run/matching.rs`.

use std::sync::Arc;

use super::ast::{Axis, Expr, Function, NodeTest, Predicate};
use super::lexer::{Token, wrong};
use super::parser::{Parser, Scope};
use crate::error::Res;
use crate::tree::{Atom, NONE, NameId};

/// One alternative of a pattern; `a|b` are two.
#[derive(Debug, Clone)]
pub(crate) struct Pattern {
    pub(crate) head: Head,
    /// From left to right.
    pub(crate) steps: Vec<PatternStep>,
}

/// What a pattern starts with.
#[derive(Debug, Clone)]
pub(crate) enum Head {
    /// Any node.
    Anywhere,
    /// `/`
    Root,
    /// `id('…')` or `key('…', '…')`
    Nodes(Expr),
}

#[derive(Debug, Clone)]
pub(crate) struct PatternStep {
    /// Whether any ancestor may match what stands before (`//`), not only the parent (`/`).
    pub(crate) any_ancestor: bool,
    /// Child or attribute.
    pub(crate) axis: Axis,
    pub(crate) test: NodeTest,
    pub(crate) predicates: Vec<Predicate>,
}

/// What a pattern of names asks for, beside the name of the node itself.
#[derive(Debug)]
pub(crate) struct OnlyNames {
    /// The namespace that the node must have, as a string of the stylesheet's names.
    pub(crate) namespace: Option<Atom>,
    /// The names of the parent, its parent and so on.
    pub(crate) parents: Vec<NameId>,
    /// Whether there are conditions, those of the last step.
    pub(crate) conditions: bool,
}

/// Parses all alternatives of a pattern.
pub(crate) fn parse(source: &str, scope: &mut dyn Scope) -> Res<Vec<Pattern>> {
    let mut parser = Parser::new(source, scope)?;
    let mut alternatives = vec![alternative(&mut parser, source)?];
    while parser.eat("|") {
        alternatives.push(alternative(&mut parser, source)?);
    }
    parser.finish()?;
    Ok(alternatives)
}

fn alternative(parser: &mut Parser<'_, '_>, source: &str) -> Res<Pattern> {
    let mut steps = Vec::new();
    let mut any_ancestor = false;
    let head = match parser.peek() {
        Some(Token::Symbol("/")) => {
            parser.advance();
            if parser.at_end() || parser.peek() == Some(Token::Symbol("|")) {
                return Ok(Pattern { head: Head::Root, steps });
            }
            Head::Root
        }
        Some(Token::Symbol("//")) => {
            parser.advance();
            any_ancestor = true;
            Head::Root
        }
        Some(Token::Function(name @ ("id" | "key"))) => {
            parser.advance();
            let call = parser.call(name)?;
            let literal = matches!(&call,
                Expr::Call(Function::Id, arguments) | Expr::ScopedCall(Function::Key, arguments, _)
                    if arguments.iter().all(|argument| matches!(argument, Expr::Literal(_) | Expr::Variable(_))));
            if !literal {
                return Err(wrong(format!("`{name}()` takes only strings in the pattern `{source}`")));
            }
            if parser.eat("//") {
                any_ancestor = true;
            } else if !parser.eat("/") {
                return Ok(Pattern { head: Head::Nodes(call), steps });
            }
            Head::Nodes(call)
        }
        _ => Head::Anywhere,
    };
    loop {
        let axis = parser.axis()?;
        if !matches!(axis, Axis::Child | Axis::Attribute) {
            return Err(wrong(format!("only the axes child and attribute may be in the pattern `{source}`")));
        }
        let test = parser.node_test()?;
        let predicates = parser.predicates()?;
        steps.push(PatternStep { any_ancestor, axis, test, predicates });
        if parser.eat("//") {
            any_ancestor = true;
        } else if parser.eat("/") {
            any_ancestor = false;
        } else {
            return Ok(Pattern { head, steps });
        }
    }
}

impl Pattern {
    /// The priority of a template that does not state one.
    pub(crate) fn default_priority(&self) -> f64 {
        let (Head::Anywhere, [step]) = (&self.head, self.steps.as_slice()) else { return 0.5 };
        if !step.predicates.is_empty() {
            return 0.5;
        }
        match step.test {
            NodeTest::Name(_) | NodeTest::Instruction(Some(_)) => 0.0,
            NodeTest::Namespace(_) => -0.25,
            _ => -0.5,
        }
    }

    /// What the pattern asks for beside the name of the node itself, if it asks for names and what holds for the node,
    /// as in `a/b/c[d]`. The node must have a name or may be any, as in `a/*` and `a/p:*`.
    pub(crate) fn only_names(&self) -> Option<OnlyNames> {
        let (Head::Anywhere, Some((last, parents))) = (&self.head, self.steps.split_last()) else {
            return None;
        };
        let plain = |step: &PatternStep| step.predicates.is_empty() && !step.any_ancestor;
        let namespace = match &last.test {
            NodeTest::Name(_) | NodeTest::Principal => None,
            NodeTest::Namespace(test) if test.atom != NONE => Some(test.atom),
            _ => return None,
        };
        let free = last.predicates.iter().all(|predicate| matches!(predicate, Predicate::Condition(_)));
        if !free || last.any_ancestor {
            return None;
        }
        let name = |step: &PatternStep| match &step.test {
            NodeTest::Name(name) if plain(step) && step.axis == Axis::Child && name.name != NONE => {
                Some(name.name)
            }
            _ => None,
        };
        let parents: Option<Vec<NameId>> = parents.iter().rev().map(name).collect();
        Some(OnlyNames { namespace, parents: parents?, conditions: !last.predicates.is_empty() })
    }

    /// The step that the node itself must match, if there is one.
    pub(crate) fn last(&self) -> Option<(Axis, &NodeTest)> {
        self.steps.last().map(|step| (step.axis, &step.test))
    }

    /// The predicates of the last step.
    pub(crate) fn last_predicates(&self) -> &[Predicate] {
        self.steps.last().map_or(&[], |step| &step.predicates)
    }

    /// The namespace that the last step asks for, if it is `prefix:*`.
    pub(crate) fn wants_namespace(&self) -> Option<&Arc<str>> {
        match self.last() {
            Some((_, NodeTest::Namespace(test))) => Some(&test.namespace),
            _ => None,
        }
    }
}
