//! Loads a stylesheet and all it imports and includes, and puts the declarations in order.

use std::sync::Arc;

use super::{Compiler, XSLT, wrong};
use crate::error::{ErrorKind, Limit, Res, XsltError, limit_error};
use crate::loader::{Purpose, resolve, split_fragment};
use crate::tree::{NodeKind, Tree};

/// A top-level element and what it is worth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Declaration {
    pub(super) module: u32,
    pub(super) element: u32,
    pub(super) precedence: u32,
    pub(super) precedence_first: u32,
    /// The element is itself a literal result element that is a whole stylesheet.
    pub(super) simplified: bool,
}

/// A file while it is compiled.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) tree: Arc<Tree>,
    pub(super) uri: Arc<str>,
    /// Without white space that means nothing.
    pub(super) stripped: Arc<Tree>,
}

/// An `xsl:import` that is still to be followed.
struct Import {
    module: u32,
    element: u32,
}

/// Modules that import or include each other in a row.
const CHAIN_MAX: usize = 60;

impl Compiler<'_> {
    /// Loads the main module and everything it needs; gives all declarations in the order in which later ones win.
    pub(super) fn load_all(&mut self, tree: Arc<Tree>, element: Option<u32>) -> Res<Vec<Declaration>> {
        let uri: Arc<str> = Arc::from(tree.uri.as_str());
        let mut declarations = Vec::new();
        let mut next = 0;
        self.load_module(tree, &uri, element, &mut vec![uri.to_string()], &mut next, &mut declarations)?;
        Ok(declarations)
    }

    fn load_module(
        &mut self,
        tree: Arc<Tree>,
        uri: &Arc<str>,
        element: Option<u32>,
        chain: &mut Vec<String>,
        next_precedence: &mut u32,
        declarations: &mut Vec<Declaration>,
    ) -> Res<()> {
        let mut imports = Vec::new();
        let mut own = Vec::new();
        self.gather(tree, uri, element, chain, &mut imports, &mut own)?;
        let precedence_first = *next_precedence;
        for import in imports {
            let (tree, element) = self.fetch(import.module, import.element, Purpose::Import, chain)?;
            let uri: Arc<str> = Arc::from(tree.uri.as_str());
            chain.push(uri.to_string());
            self.load_module(tree, &uri, element, chain, next_precedence, declarations)?;
            chain.pop();
        }
        let precedence = *next_precedence;
        *next_precedence += 1;
        declarations.extend(own.into_iter().map(|declaration| Declaration {
            precedence,
            precedence_first,
            ..declaration
        }));
        Ok(())
    }

    /// Collects the declarations of a file and of those it includes.
    fn gather(
        &mut self,
        tree: Arc<Tree>,
        uri: &Arc<str>,
        element: Option<u32>,
        chain: &mut Vec<String>,
        imports: &mut Vec<Import>,
        declarations: &mut Vec<Declaration>,
    ) -> Res<()> {
        if self.sources.len() >= self.limits.documents_max {
            return Err(limit_error(
                Limit::Documents,
                format!(
                    "the stylesheet has more than {} modules (limit documents_max)",
                    self.limits.documents_max
                ),
            ));
        }
        let module = self.sources.len() as u32;
        let element_name = element.map(|element| (tree.node(element).line, tree.local(element).clone()));
        let stripped = Arc::new(tree.stripped(|tree, element| {
            !(**tree.local(element) == *"text" && **tree.namespace(element) == *XSLT)
        }));
        // Elements keep their order: the same one is found by counting.
        let element = match (element, element_name) {
            (Some(element), Some(_)) => {
                let number = tree.nodes[..element as usize]
                    .iter()
                    .filter(|node| node.kind == NodeKind::Element)
                    .count();
                let found = stripped
                    .nodes
                    .iter()
                    .enumerate()
                    .filter(|(_, node)| node.kind == NodeKind::Element)
                    .nth(number);
                found.map(|(index, _)| index as u32)
            }
            _ => stripped.document_element(),
        };
        let Some(root) = element else {
            return Err(wrong("the stylesheet has no element").at(uri, 0));
        };
        self.sources.push(Source { tree, uri: Arc::clone(uri), stripped: Arc::clone(&stripped) });
        let tree = stripped;
        let is_stylesheet =
            **tree.namespace(root) == *XSLT && matches!(&**tree.local(root), "stylesheet" | "transform");
        if !is_stylesheet {
            if tree.attribute(root, XSLT, "version").is_none() {
                return Err(wrong(format!(
                    "`{}` is not a stylesheet: it is neither xsl:stylesheet nor has it xsl:version",
                    tree.qualified_name(root)
                ))
                .at(uri, tree.node(root).line));
            }
            declarations.push(Declaration {
                module,
                element: root,
                precedence: 0,
                precedence_first: 0,
                simplified: true,
            });
            return Ok(());
        }
        if tree.attribute(root, "", "version").is_none() {
            return Err(wrong("xsl:stylesheet has no version").at(uri, tree.node(root).line));
        }
        let here = super::Here { tree: Arc::clone(&tree), module, element: root };
        for attribute in ["exclude-result-prefixes", "extension-element-prefixes"] {
            self.check_prefixes(&here, here.attribute(attribute).unwrap_or(""))?;
        }
        let mut only_imports = true;
        let mut child = tree.first_child(root);
        while let Some(at) = child {
            child = tree.next_sibling(at);
            let node = tree.node(at);
            match node.kind {
                NodeKind::Element => {}
                NodeKind::Text => {
                    return Err(wrong("there is text between the declarations").at(uri, node.line));
                }
                _ => continue,
            }
            let name = tree.local(at);
            let is_xslt = **tree.namespace(at) == *XSLT;
            if is_xslt && &**name == "import" {
                if !only_imports {
                    return Err(
                        wrong("xsl:import must come before all other declarations").at(uri, node.line)
                    );
                }
                imports.push(Import { module, element: at });
                continue;
            }
            only_imports = false;
            if is_xslt && &**name == "include" {
                let (included, element) = self.fetch(module, at, Purpose::Include, chain)?;
                let included_uri: Arc<str> = Arc::from(included.uri.as_str());
                chain.push(included_uri.to_string());
                self.gather(included, &included_uri, element, chain, imports, declarations)?;
                chain.pop();
                continue;
            }
            declarations.push(Declaration {
                module,
                element: at,
                precedence: 0,
                precedence_first: 0,
                simplified: false,
            });
        }
        Ok(())
    }

    /// Loads what an `xsl:import` or `xsl:include` names.
    fn fetch(
        &mut self,
        module: u32,
        element: u32,
        purpose: Purpose,
        chain: &[String],
    ) -> Res<(Arc<Tree>, Option<u32>)> {
        let source = &self.sources[module as usize];
        let tree = Arc::clone(&source.stripped);
        let (from, line) = (Arc::clone(&source.uri), tree.node(element).line);
        let Some(href) = tree.attribute(element, "", "href") else {
            return Err(wrong(format!("`{}` has no href", tree.qualified_name(element))).at(&from, line));
        };
        let address = resolve(&tree.base_uri(element), href);
        let (address, fragment) = split_fragment(&address);
        if fragment.is_none() && chain.iter().any(|known| known == address) {
            return Err(
                wrong(format!("the stylesheet <{address}> imports or includes itself")).at(&from, line)
            );
        }
        if chain.len() >= CHAIN_MAX {
            return Err(limit_error(
                Limit::Documents,
                format!("more than {CHAIN_MAX} modules import each other in a row"),
            )
            .at(&from, line));
        }
        let loaded = self.loader.load(address, purpose).map_err(|reason| {
            XsltError::new(ErrorKind::Load, format!("cannot load the stylesheet <{address}>: {reason}"))
                .at(&from, line)
        })?;
        if chain.contains(&loaded.uri) && fragment.is_none() {
            return Err(
                wrong(format!("the stylesheet <{address}> imports or includes itself")).at(&from, line)
            );
        }
        let tree = crate::xml::parse(&loaded.bytes, &loaded.uri, self.limits)?;
        let element = match fragment {
            Some(id) if !id.is_empty() => Some(find_by_id(&tree, id).ok_or_else(|| {
                wrong(format!("there is no element with the id `{id}` in <{address}>")).at(&from, line)
            })?),
            _ => None,
        };
        Ok((Arc::new(tree), element))
    }
}

/// The element that a fragment names: by an attribute of type ID, or else by one called `id`.
pub(crate) fn find_by_id(tree: &Tree, id: &str) -> Option<u32> {
    tree.ids.get(id).copied().or_else(|| {
        (0..tree.nodes.len() as u32).find(|index| {
            tree.node(*index).kind == NodeKind::Element && tree.attribute(*index, "", "id") == Some(id)
        })
    })
}
