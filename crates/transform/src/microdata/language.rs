//! The language an element is written in: its own `lang`, else that of what it stands in, else the page's.

use std::sync::Arc;

use html5ever::local_name;
use oxrdf::Literal;

use crate::dom::NodeId;
use crate::html::ParsedPage;
use crate::maps::HashMap;

/// Remembers languages, so that asking for every element of a page costs no more than the page is long.
pub(crate) struct Languages<'a> {
    page: &'a ParsedPage<'a>,
    otherwise: Option<Arc<str>>,
    known: HashMap<NodeId, Option<Arc<str>>>,
}

impl<'a> Languages<'a> {
    /// Knows nothing yet.
    pub(crate) fn new(page: &'a ParsedPage<'a>) -> Self {
        Self { page, otherwise: page.language.as_deref().map(Arc::from), known: HashMap::default() }
    }

    /// The language of a node, if anybody says.
    pub(crate) fn of(&mut self, node: NodeId) -> Option<Arc<str>> {
        let mut passed = Vec::new();
        let mut current = Some(node);
        let language = loop {
            let Some(id) = current else { break self.otherwise.clone() };
            if let Some(known) = self.known.get(&id) {
                break known.clone();
            }
            passed.push(id);
            if let Some(element) = self.page.dom.element(id)
                && let Some(tag) =
                    element.attribute_named("xml:lang").or_else(|| element.attribute(&local_name!("lang")))
            {
                // An empty language says that nobody knows, whatever is said further out.
                break Some(tag.trim()).filter(|tag| !tag.is_empty()).map(Arc::from);
            }
            current = self.page.dom.parent(id);
        };
        for id in passed {
            self.known.insert(id, language.clone());
        }
        language
    }

    /// Text as a literal in the language of a node.
    pub(crate) fn literal(&mut self, node: NodeId, text: String) -> Literal {
        tagged(text, self.of(node).as_deref())
    }
}

/// Text as a literal in a language, if that is the name of one.
pub(crate) fn tagged(text: String, language: Option<&str>) -> Literal {
    match language {
        Some(language) => match Literal::new_language_tagged_literal(text.as_str(), language) {
            Ok(literal) => literal,
            Err(_) => Literal::new_simple_literal(text),
        },
        None => Literal::new_simple_literal(text),
    }
}
