//! What an item says without saying it: its name, photo and URL, where they can only be one thing.
//!
//! Rules of the specification's "parsing for implied properties". Each looks at the item's element, then at its only
//! child of a kind, then at the only child of its only child.

use html5ever::{LocalName, local_name};

use super::classes::{Class, classify};
use super::model::Value;
use super::properties::Reader;
use super::text::{Images, absolute, words};
use crate::dom::{Element, NodeId};
use crate::html::ParsedPage;

impl Reader<'_> {
    /// The implied `name`.
    pub(super) fn implied_name(&mut self, node: NodeId, element: &Element) -> Value {
        let said = name_of(element).or_else(|| {
            let (child, child_element) = only_child(self.page, node)?;
            if is_root(child_element) {
                return None;
            }
            name_of(child_element).or_else(|| {
                let (_, grandchild) = only_child(self.page, child)?;
                name_of(grandchild).filter(|_| !is_root(grandchild))
            })
        });
        match said {
            Some(name) => Value::Text(name.trim().to_owned(), self.language(node)),
            None => {
                let text = words(self.page, node, Images::Alternative, &mut self.budget);
                Value::Text(text, self.language(node))
            }
        }
    }

    /// The implied `photo`.
    pub(super) fn implied_photo(&self, node: NodeId, element: &Element) -> Option<Value> {
        self.find(node, element, |element| match element.name.local {
            local_name!("img") => self.image(element),
            local_name!("object") => self.reference(element, &local_name!("data")),
            _ => None,
        })
    }

    /// The implied `url`.
    pub(super) fn implied_url(&self, node: NodeId, element: &Element) -> Option<Value> {
        self.find(node, element, |element| match element.name.local {
            local_name!("a") | local_name!("area") => self.reference(element, &local_name!("href")),
            _ => None,
        })
    }

    fn reference(&self, element: &Element, name: &LocalName) -> Option<Value> {
        Some(Value::Url(absolute(self.page, element.attribute(name)?)))
    }

    /// The element's own value, else its only child's of a kind, else that of its only child's only child of a kind.
    fn find(
        &self,
        node: NodeId,
        element: &Element,
        value: impl Fn(&Element) -> Option<Value>,
    ) -> Option<Value> {
        value(element).or_else(|| self.find_child(node, &value)).or_else(|| {
            let (child, child_element) = only_child(self.page, node)?;
            if is_root(child_element) { None } else { self.find_child(child, &value) }
        })
    }

    fn find_child(&self, node: NodeId, value: &impl Fn(&Element) -> Option<Value>) -> Option<Value> {
        // The first kind named in the rules comes first: `img` before `object`, `a` before `area`.
        [local_name!("img"), local_name!("object"), local_name!("a"), local_name!("area")].iter().find_map(
            |name| {
                let mut of_kind = elements(self.page, node).filter(|(_, child)| child.name.local == *name);
                let (_, child) = of_kind.next()?;
                if of_kind.next().is_some() || is_root(child) { None } else { value(child) }
            },
        )
    }
}

/// A name that is written in an attribute.
fn name_of(element: &Element) -> Option<&str> {
    match element.name.local {
        local_name!("img") | local_name!("area") => element.attribute(&local_name!("alt")),
        local_name!("abbr") => element.attribute(&local_name!("title")),
        _ => None,
    }
    .filter(|name| !name.is_empty())
}

fn elements<'a>(page: &'a ParsedPage<'_>, node: NodeId) -> impl Iterator<Item = (NodeId, &'a Element)> {
    page.dom
        .children(node)
        .filter_map(|child| Some((child, page.dom.element(child)?)))
        .filter(|(_, child)| child.name.local != local_name!("template"))
}

fn only_child<'a>(page: &'a ParsedPage<'_>, node: NodeId) -> Option<(NodeId, &'a Element)> {
    let mut children = elements(page, node);
    let only = children.next()?;
    children.next().is_none().then_some(only)
}

fn is_root(element: &Element) -> bool {
    let class = element.attribute(&local_name!("class")).unwrap_or_default();
    class.split_ascii_whitespace().any(|token| matches!(classify(token), Some(Class::Root(_))))
}
