//! The front door: a [`Stylesheet`] is compiled once and run often.

use std::sync::Arc;

use crate::compile::{self, find_by_id, program::Program, wrong};
use crate::error::{ErrorKind, XsltError};
use crate::limits::Limits;
use crate::loader::{Loader, Purpose, resolve, split_fragment};
use crate::run::{self, Output};
use crate::tree::{Document, NodeKind, Tree};
use crate::xpath::value::Value;

/// A compiled stylesheet. It can be shared between threads and run any number of times.
#[derive(Debug, Clone)]
pub struct Stylesheet {
    program: Arc<Program>,
}

impl Stylesheet {
    /// Compiles a stylesheet. `base` is its address: what it imports and includes is named relative to it and asked of
    /// the loader.
    ///
    /// # Errors
    ///
    /// When the stylesheet, or one it needs, is missing or wrong; the error names file and line.
    pub fn compile(
        source: &[u8],
        base: &str,
        loader: &dyn Loader,
        limits: &Limits,
    ) -> Result<Self, XsltError> {
        let (base, fragment) = split_fragment(base);
        let tree = crate::xml::parse(source, base, limits)?;
        let element = match fragment {
            Some(id) if !id.is_empty() => Some(find_by_id(&tree, id).ok_or_else(|| {
                wrong(format!("there is no element with the id `{id}` in <{base}>")).at(base, 0)
            })?),
            _ => None,
        };
        Self::of_tree(tree, element, loader, limits)
    }

    /// Compiles the stylesheet that a document names in its `xml-stylesheet` instruction: in another file, or with
    /// `href="#id"` in the document itself.
    ///
    /// # Errors
    ///
    /// When the document names none, or when it is missing or wrong.
    pub fn compile_associated(
        document: &[u8],
        base: &str,
        loader: &dyn Loader,
        limits: &Limits,
    ) -> Result<Self, XsltError> {
        let tree = crate::xml::parse(document, base, limits)?;
        let Some(href) = associated(&tree) else {
            return Err(*wrong(
                "the document has no xml-stylesheet instruction that names an XSLT stylesheet",
            )
            .at(base, 0));
        };
        if let Some(id) = href.strip_prefix('#') {
            let element = find_by_id(&tree, id)
                .ok_or_else(|| wrong(format!("there is no element with the id `{id}`")).at(base, 0))?;
            return Self::of_tree(tree, Some(element), loader, limits);
        }
        let address = resolve(base, &href);
        let (address, fragment) = split_fragment(&address);
        let loaded = loader.load(address, Purpose::Associated).map_err(|reason| {
            *XsltError::new(ErrorKind::Load, format!("cannot load the stylesheet <{address}>: {reason}"))
                .at(base, 0)
        })?;
        let uri = match fragment {
            Some(fragment) => format!("{}#{fragment}", loaded.uri),
            None => loaded.uri,
        };
        Self::compile(&loaded.bytes, &uri, loader, limits)
    }

    fn of_tree(
        tree: Tree,
        element: Option<u32>,
        loader: &dyn Loader,
        limits: &Limits,
    ) -> Result<Self, XsltError> {
        let program = compile::compile(Arc::new(tree), element, loader, limits)?;
        Ok(Self { program: Arc::new(program) })
    }

    /// Transforms a document. Parameters are named as `{namespace}local`, or by their local name alone; those that the
    /// stylesheet does not declare are ignored.
    ///
    /// # Errors
    ///
    /// When the stylesheet fails or ends itself, or when a limit is reached; the error names stylesheet, line and
    /// template.
    pub fn transform(
        &self,
        document: &Document,
        parameters: &[(String, Value)],
        loader: &dyn Loader,
        limits: &Limits,
    ) -> Result<Output, XsltError> {
        let parameters: Vec<_> = parameters
            .iter()
            .filter_map(|(name, value)| {
                let (namespace, local) = match name.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
                    Some((namespace, local)) => (namespace, local),
                    None => ("", name.as_str()),
                };
                Some((self.program.names.find(namespace, local)?, value.to_object()))
            })
            .collect();
        Ok(run::transform(&self.program, document, &parameters, loader, limits)?)
    }
}

/// The address in the first `xml-stylesheet` instruction of an XSLT stylesheet.
fn associated(tree: &Tree) -> Option<String> {
    let mut child = tree.first_child(0);
    while let Some(at) = child {
        child = tree.next_sibling(at);
        let node = tree.node(at);
        if node.kind != NodeKind::Instruction || &**tree.local(at) != "xml-stylesheet" {
            continue;
        }
        let content = tree.value(at);
        let kind = pseudo_attribute(content, "type").unwrap_or_default();
        let alternate = pseudo_attribute(content, "alternate").is_some_and(|value| value == "yes");
        let is_xslt = matches!(
            kind.split(';').next().unwrap_or("").trim(),
            "text/xsl" | "text/xml" | "application/xml" | "application/xslt+xml" | "text/xslt"
        );
        if is_xslt && !alternate {
            return pseudo_attribute(content, "href");
        }
    }
    None
}

/// A value in the content of an `xml-stylesheet` instruction.
fn pseudo_attribute(content: &str, name: &str) -> Option<String> {
    let mut rest = content;
    loop {
        rest = rest.trim_start();
        let (found, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
        let (value, remaining) = after[1..].split_once(quote)?;
        if found.trim() == name {
            let value = value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
            return Some(value.replace("&apos;", "'").replace("&amp;", "&"));
        }
        rest = remaining;
    }
}
