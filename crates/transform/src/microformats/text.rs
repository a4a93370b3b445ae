//! Words and markup copied out of the tree, within a budget.
//!
//! A property may stand in a property, so the same words can be copied once for every level they are nested. All that
//! is copied is paid for; when the budget is spent, reading stops.

use html5ever::{LocalName, local_name, ns};

use crate::dom::{Dom, Edge, Element, NodeData, NodeId};
use crate::html::ParsedPage;

/// What looking at a node costs, in bytes.
const NODE_BYTES: usize = 8;

/// Bytes that may still be copied.
#[derive(Debug)]
pub(super) struct Budget {
    left: usize,
    spent: bool,
}

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self { left: bytes, spent: false }
    }

    /// Pays; false when it cannot.
    pub(super) fn pay(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) if !self.spent => self.left = left,
            _ => self.spent = true,
        }
        !self.spent
    }

    /// True when something could not be paid.
    pub(super) fn is_spent(&self) -> bool {
        self.spent
    }
}

/// What stands for an image among words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Images {
    /// Its text alternative, or where it is.
    AlternativeOrSource,
    /// Its text alternative.
    Alternative,
    /// Nothing.
    Nothing,
}

/// The words of an element, without scripts and styles.
pub(super) fn words(page: &ParsedPage<'_>, top: NodeId, images: Images, budget: &mut Budget) -> String {
    let mut words = String::new();
    let mut edges = page.dom.traverse(top);
    while let Some(edge) = edges.next() {
        let Edge::Open(id) = edge else { continue };
        if !budget.pay(NODE_BYTES) {
            break;
        }
        match &page.dom.node(id).data {
            NodeData::Text(text) => {
                if !budget.pay(text.len()) {
                    break;
                }
                words.push_str(text);
            }
            NodeData::Element(element) => match element.name.local {
                local_name!("script") | local_name!("style") | local_name!("template") if id != top => {
                    edges.skip_children(id);
                }
                local_name!("img") if images != Images::Nothing => {
                    if let Some(alternative) = element.attribute(&local_name!("alt")) {
                        budget.pay(alternative.len());
                        words.push_str(alternative);
                    } else if images == Images::AlternativeOrSource
                        && let Some(source) = element.attribute(&local_name!("src"))
                    {
                        let source = absolute(page, source);
                        budget.pay(source.len());
                        words.push(' ');
                        words.push_str(&source);
                        words.push(' ');
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }
    let trimmed = words.trim();
    if trimmed.len() == words.len() { words } else { trimmed.to_owned() }
}

/// A reference made absolute; one with a scheme is left as it was written.
pub(super) fn absolute(page: &ParsedPage<'_>, reference: &str) -> String {
    let reference = reference.trim();
    if has_scheme(reference) {
        return reference.to_owned();
    }
    if let Some(url) = page.resolve_encoded(reference) {
        return url;
    }
    page.base.as_url().join(reference).map_or_else(|_| reference.to_owned(), String::from)
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

/// The markup inside an element, as HTML serialises it, with absolute URLs.
pub(super) fn markup(page: &ParsedPage<'_>, top: NodeId, budget: &mut Budget) -> String {
    let dom = &page.dom;
    let mut html = String::new();
    for edge in dom.traverse(top) {
        let before = html.len();
        match edge {
            Edge::Open(id) | Edge::Close(id) if id == top => {}
            Edge::Open(id) => match &dom.node(id).data {
                NodeData::Element(element) => open_tag(page, element, &mut html),
                NodeData::Text(text) if is_raw_inside(dom, id) => html.push_str(text),
                NodeData::Text(text) => escape(text, false, &mut html),
                NodeData::Comment(text) => {
                    html.push_str("<!--");
                    html.push_str(text);
                    html.push_str("-->");
                }
                NodeData::Root | NodeData::Other => {}
            },
            Edge::Close(id) => {
                if let Some(element) = dom.element(id)
                    && !element.is_void()
                {
                    html.push_str("</");
                    html.push_str(&element.name.local);
                    html.push('>');
                }
            }
        }
        if !budget.pay(NODE_BYTES + html.len() - before) {
            break;
        }
    }
    html.trim().to_owned()
}

fn open_tag(page: &ParsedPage<'_>, element: &Element, html: &mut String) {
    html.push('<');
    html.push_str(&element.name.local);
    for attribute in &element.attributes {
        html.push(' ');
        if let Some(prefix) = &attribute.name.prefix {
            html.push_str(prefix);
            html.push(':');
        }
        html.push_str(&attribute.name.local);
        html.push_str("=\"");
        if attribute.name.ns == ns!() && is_reference(&attribute.name.local) {
            escape(&absolute(page, &attribute.value), true, html);
        } else {
            escape(&attribute.value, true, html);
        }
        html.push('"');
    }
    html.push('>');
}

fn is_reference(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("href")
            | local_name!("src")
            | local_name!("cite")
            | local_name!("data")
            | local_name!("poster")
    )
}

/// True for text that HTML reads to the end tag without looking at it.
fn is_raw_inside(dom: &Dom, text: NodeId) -> bool {
    dom.parent(text).and_then(|parent| dom.element(parent)).is_some_and(|parent| {
        parent.name.ns == ns!(html)
            && matches!(
                parent.name.local,
                local_name!("style")
                    | local_name!("script")
                    | local_name!("xmp")
                    | local_name!("iframe")
                    | local_name!("noembed")
                    | local_name!("noframes")
                    | local_name!("plaintext")
            )
    })
}

fn escape(text: &str, in_attribute: bool, html: &mut String) {
    let mut rest = text;
    while let Some(index) = rest.find(['&', '\u{a0}', '"', '<', '>']) {
        html.push_str(&rest[..index]);
        let found = rest[index..].chars().next().unwrap_or_default();
        html.push_str(match found {
            '&' => "&amp;",
            '\u{a0}' => "&nbsp;",
            '"' if in_attribute => "&quot;",
            '<' if !in_attribute => "&lt;",
            '>' if !in_attribute => "&gt;",
            '"' => "\"",
            '<' => "<",
            _ => ">",
        });
        rest = &rest[index + found.len_utf8()..];
    }
    html.push_str(rest);
}
