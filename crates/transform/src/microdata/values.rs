//! What a property's element stands for: a resource, a number, a date, or words in a language.

use html5ever::{local_name, ns};
use oxiri::Iri;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term};

use super::language::Languages;
use super::lexical;
use crate::dom::{Dom, Element, NodeData, NodeId};
use crate::html::ParsedPage;

/// Reads values on one page.
pub(super) struct Values<'a> {
    page: &'a ParsedPage<'a>,
    languages: Languages<'a>,
    base: Option<Iri<&'a str>>,
}

impl<'a> Values<'a> {
    pub(super) fn new(page: &'a ParsedPage<'a>) -> Self {
        Self { page, languages: Languages::new(page), base: Iri::parse(page.base.as_str()).ok() }
    }

    /// The value of a property that is no item.
    pub(super) fn of(&mut self, node: NodeId, element: &Element, nodes_left: &mut usize) -> Term {
        let dom = &self.page.dom;
        let html = element.name.ns == ns!(html);
        let get = |name| element.attribute(&name).filter(|_| html);
        let reference = match element.name.local {
            local_name!("a") | local_name!("area") | local_name!("link") => get(local_name!("href")),
            local_name!("audio")
            | local_name!("embed")
            | local_name!("iframe")
            | local_name!("img")
            | local_name!("source")
            | local_name!("track")
            | local_name!("video") => get(local_name!("src")),
            local_name!("object") => get(local_name!("data")),
            _ => None,
        };
        if let Some(reference) = reference {
            return match self.resolve(reference) {
                Some(node) => node.into(),
                None => Literal::new_simple_literal(reference).into(),
            };
        }
        // Where the attribute that counts is missing, HTML's answer is the empty string. Authors mean the words:
        // `<a itemprop=name>` without a link, `<time>` without `datetime`.
        let content = get(local_name!("content"));
        let mut words = || text(dom, node, nodes_left);
        let kind = if html { &element.name.local } else { &local_name!("") };
        let literal = match *kind {
            local_name!("data") | local_name!("meter") => {
                let value = content.or_else(|| get(local_name!("value"))).map_or_else(words, str::to_owned);
                if lexical::is_integer(&value) {
                    Literal::new_typed_literal(value, xsd::INTEGER)
                } else if lexical::is_double(&value) {
                    Literal::new_typed_literal(value, xsd::DOUBLE)
                } else {
                    Literal::new_simple_literal(value)
                }
            }
            local_name!("time") => {
                let value =
                    content.or_else(|| get(local_name!("datetime"))).map_or_else(words, str::to_owned);
                match lexical::temporal(&value) {
                    Some(datatype) => Literal::new_typed_literal(value, datatype),
                    None => self.languages.literal(node, value),
                }
            }
            local_name!("meta") => self.languages.literal(node, content.unwrap_or_default().to_owned()),
            _ => {
                let value = content.map_or_else(&mut words, str::to_owned);
                self.languages.literal(node, value)
            }
        };
        literal.into()
    }

    /// A reference as an IRI, by the rules of IRIs; what they refuse is read as browsers would, and so are queries that are not in UTF-8.
    pub(super) fn resolve(&self, reference: &str) -> Option<NamedNode> {
        let reference = reference.trim();
        if let Some(url) = self.page.resolve_encoded(reference) {
            return NamedNode::new(url).ok();
        }
        if let Some(base) = &self.base
            && let Ok(iri) = base.resolve(reference)
        {
            return Some(NamedNode::new_unchecked(iri.into_inner()));
        }
        let url = self.page.base.as_url().join(reference).ok()?;
        NamedNode::new(url.as_str()).ok()
    }
}

/// All characters below a node, while nodes may be looked at.
fn text(dom: &Dom, top: NodeId, nodes_left: &mut usize) -> String {
    let mut text = String::new();
    for id in dom.descendants(top) {
        if *nodes_left == 0 {
            break;
        }
        *nodes_left -= 1;
        if let NodeData::Text(piece) = &dom.node(id).data {
            text.push_str(piece);
        }
    }
    text
}
