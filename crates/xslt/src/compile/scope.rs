//! What expressions in a stylesheet may refer to, and how attributes of its elements are read.

use std::sync::Arc;

use super::program::{Avt, AvtPart};
use super::{Compiler, wrong};
use crate::error::{Res, XsltError};
use crate::tree::{Atom, NameId, Tree};
use crate::xml::characters::is_qname;
use crate::xpath::ast::{Expr, Function, StaticScope, Variable};
use crate::xpath::parser::Scope;
use crate::xpath::pattern::Pattern;
use crate::xpath::{parser, pattern};

/// An element of the stylesheet that is being compiled.
#[derive(Debug, Clone)]
pub(super) struct Here {
    pub(super) tree: Arc<Tree>,
    pub(super) module: u32,
    pub(super) element: u32,
}

impl Here {
    pub(super) fn line(&self) -> u32 {
        self.tree.node(self.element).line
    }

    /// The value of an attribute without namespace.
    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.tree.attribute(self.element, "", name)
    }

    pub(super) fn name(&self) -> String {
        self.tree.qualified_name(self.element)
    }

    pub(super) fn at(&self, element: u32) -> Self {
        Self { tree: Arc::clone(&self.tree), module: self.module, element }
    }

    /// The children of the element.
    pub(super) fn children(&self) -> Vec<u32> {
        let mut children = Vec::new();
        let mut child = self.tree.first_child(self.element);
        while let Some(at) = child {
            children.push(at);
            child = self.tree.next_sibling(at);
        }
        children
    }
}

/// An expression at an element.
struct ExprScope<'a, 'l> {
    compiler: &'a mut Compiler<'l>,
    here: &'a Here,
    variables: bool,
    forbidden: &'a [Function],
}

impl Scope for ExprScope<'_, '_> {
    fn namespace(&self, prefix: &str) -> Option<Arc<str>> {
        self.here.tree.namespace_of_prefix(self.here.element, prefix)
    }

    fn variable(&mut self, namespace: &str, local: &str) -> Option<Variable> {
        let name = self.compiler.names.name(namespace, local);
        self.compiler.find_variable(name)
    }

    fn name(&mut self, namespace: &str, local: &str) -> NameId {
        self.compiler.names.name(namespace, local)
    }

    fn atom(&mut self, text: &str) -> Atom {
        self.compiler.names.atom(text)
    }

    fn function(&self, namespace: &str, local: &str) -> Option<u32> {
        if namespace.is_empty() {
            return None;
        }
        self.compiler.function_names.get(&(Arc::from(namespace), Arc::from(local))).copied()
    }

    fn statics(&self) -> Arc<StaticScope> {
        Arc::new(self.compiler.static_scope(self.here))
    }

    fn allows_variables(&self) -> bool {
        self.variables
    }

    fn forbids(&self, function: Function) -> bool {
        self.forbidden.contains(&function)
    }
}

impl Compiler<'_> {
    pub(super) fn find_variable(&self, name: NameId) -> Option<Variable> {
        if let Some((_, slot)) = self.locals.iter().rev().find(|(known, _)| *known == name) {
            return Some(Variable::Local(*slot));
        }
        self.global_names.get(&name).map(|number| Variable::Global(*number))
    }

    /// The namespaces and the base at an element.
    pub(super) fn static_scope(&self, here: &Here) -> StaticScope {
        StaticScope {
            namespaces: here.tree.in_scope(here.element),
            base: Arc::from(here.tree.base_uri(here.element)),
        }
    }

    /// Adds the place to an error.
    pub(super) fn place(&self, here: &Here, error: Box<XsltError>) -> Box<XsltError> {
        error.at(&self.sources[here.module as usize].uri, here.line())
    }

    pub(super) fn fail<T>(&self, here: &Here, message: impl Into<String>) -> Res<T> {
        Err(self.place(here, wrong(message)))
    }

    pub(super) fn expr(&mut self, here: &Here, source: &str) -> Res<Expr> {
        let mut scope = ExprScope { compiler: self, here, variables: true, forbidden: &[] };
        let parsed = parser::parse(source, &mut scope);
        match parsed {
            // What a later version allows is wrong only where it is reached.
            Err(error) if self.forwards => Ok(Expr::Unknown(Arc::from(error.message))),
            other => other.map_err(|error| self.place(here, error)),
        }
    }

    /// The expression of a key: neither variables nor keys may be in it.
    pub(super) fn key_expr(&mut self, here: &Here, source: &str) -> Res<Expr> {
        let variables = self.forwards;
        let mut scope = ExprScope { compiler: self, here, variables, forbidden: &[Function::Key] };
        let parsed = parser::parse(source, &mut scope);
        parsed.map_err(|error| self.place(here, error))
    }

    /// A pattern: `current()` must not be in it, and depending on its place neither variables nor others.
    pub(super) fn pattern(
        &mut self,
        here: &Here,
        source: &str,
        variables: bool,
        forbidden: &[Function],
    ) -> Res<Vec<Pattern>> {
        let variables = variables || self.forwards;
        let parsed = pattern::parse(source, &mut ExprScope { compiler: self, here, variables, forbidden });
        parsed.map_err(|error| self.place(here, error))
    }

    /// The expression of an attribute that must be there.
    pub(super) fn required_expr(&mut self, here: &Here, attribute: &str) -> Res<Expr> {
        let source = self.required(here, attribute)?;
        self.expr(here, &source)
    }

    pub(super) fn required(&self, here: &Here, attribute: &str) -> Res<String> {
        match here.attribute(attribute) {
            Some(value) => Ok(value.to_owned()),
            None => self.fail(here, format!("`{}` has no {attribute}", here.name())),
        }
    }

    /// A value that must be `yes` or `no`.
    pub(super) fn yes_or_no(&self, here: &Here, attribute: &str) -> Res<Option<bool>> {
        match here.attribute(attribute).map(str::trim) {
            None => Ok(None),
            Some("yes") => Ok(Some(true)),
            Some("no") => Ok(Some(false)),
            Some(_) if self.forwards => Ok(None),
            Some(other) => {
                self.fail(here, format!("{attribute}=\"{other}\" of `{}` is neither yes nor no", here.name()))
            }
        }
    }

    /// Splits a name with an optional prefix; without one it has no namespace.
    pub(super) fn expand(&self, here: &Here, name: &str) -> Res<(Arc<str>, Arc<str>)> {
        let name = name.trim();
        if !is_qname(name) {
            return self.fail(here, format!("`{name}` is not a name (in `{}`)", here.name()));
        }
        match name.split_once(':') {
            None => Ok((Arc::from(""), Arc::from(name))),
            Some((prefix, local)) => match here.tree.namespace_of_prefix(here.element, prefix) {
                Some(namespace) => Ok((namespace, Arc::from(local))),
                None => {
                    self.fail(here, format!("the prefix `{prefix}` is not declared (in `{}`)", here.name()))
                }
            },
        }
    }

    /// The number of the name that an attribute gives.
    pub(super) fn name_attribute(&mut self, here: &Here, attribute: &str) -> Res<NameId> {
        let source = self.required(here, attribute)?;
        let (namespace, local) = self.expand(here, &source)?;
        Ok(self.names.name(&namespace, &local))
    }

    /// An attribute value template that may be missing.
    pub(super) fn optional_avt(&mut self, here: &Here, attribute: &str) -> Res<Option<Avt>> {
        let Some(source) = here.attribute(attribute).map(str::to_owned) else { return Ok(None) };
        self.avt(here, &source).map(Some)
    }

    pub(super) fn required_avt(&mut self, here: &Here, attribute: &str) -> Res<Avt> {
        let source = self.required(here, attribute)?;
        self.avt(here, &source)
    }

    /// Parses an attribute value template.
    pub(super) fn avt(&mut self, here: &Here, source: &str) -> Res<Avt> {
        if !source.contains(['{', '}']) {
            return Ok(Avt::Constant(Arc::from(source)));
        }
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut rest = source;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let brace = rest.as_bytes()[at];
            if rest.as_bytes().get(at + 1) == Some(&brace) {
                text.push(char::from(brace));
                rest = &rest[at + 2..];
                continue;
            }
            if brace == b'}' {
                if self.forwards {
                    text.push('}');
                    rest = &rest[at + 1..];
                    continue;
                }
                return self.fail(here, format!("`}}` stands alone in \"{source}\""));
            }
            let inner = &rest[at + 1..];
            let Some(end) = end_of_expression(inner) else {
                return self.fail(here, format!("`{{` is not closed in \"{source}\""));
            };
            if !text.is_empty() {
                parts.push(AvtPart::Text(Arc::from(std::mem::take(&mut text))));
            }
            parts.push(AvtPart::Expr(self.expr(here, &inner[..end])?));
            rest = &inner[end + 1..];
        }
        text.push_str(rest);
        if !text.is_empty() {
            parts.push(AvtPart::Text(Arc::from(text)));
        }
        Ok(match parts.as_slice() {
            [] => Avt::Constant(Arc::from("")),
            [AvtPart::Text(text)] => Avt::Constant(Arc::clone(text)),
            _ => Avt::Parts(parts),
        })
    }
}

/// Where the expression of an attribute value template ends; braces in strings do not count.
fn end_of_expression(source: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in source.bytes().enumerate() {
        match (quote, byte) {
            (None, b'}') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}
