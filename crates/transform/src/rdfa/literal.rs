//! Markup as literals: the contents of an element as XML, in a canonical form, or as HTML.
//!
//! XML literals stand alone: every outermost element declares the prefixes that were in scope, attributes are sorted,
//! nothing is abbreviated. Both forms stop at a given size, so that nested literals cannot multiply.

use html5ever::{local_name, ns};

use crate::dom::{Dom, Edge, Element, NodeData, NodeId};

/// The contents of an element as XML; nothing when they exceed `bytes_max`.
///
/// `declared` are the prefixes in scope, sorted; `default` is the namespace that needs no declaration.
pub(super) fn xml(
    dom: &Dom,
    top: NodeId,
    declared: &[(&str, &str)],
    default: &str,
    bytes_max: usize,
) -> Option<String> {
    let mut out = String::new();
    // The default namespace where the walk is, one entry for every open element.
    let mut defaults: Vec<&str> = vec![default];
    for edge in dom.traverse(top) {
        if out.len() > bytes_max {
            return None;
        }
        match (edge, edge_data(dom, edge)) {
            (Edge::Open(id) | Edge::Close(id), _) if id == top => {}
            (Edge::Open(id), NodeData::Element(element)) => {
                let outermost = dom.parent(id) == Some(top);
                let outer = defaults.last().copied().unwrap_or_default();
                let given = if outermost { declared } else { &[] };
                defaults.push(open_xml(element, given, outer, &mut out));
            }
            (Edge::Close(_), NodeData::Element(element)) => {
                defaults.pop();
                out.push_str("</");
                push_name(element, &mut out);
                out.push('>');
            }
            (Edge::Open(_), NodeData::Text(text)) => escape(text, false, &mut out),
            (Edge::Open(_), NodeData::Comment(text)) => {
                out.push_str("<!--");
                out.push_str(text);
                out.push_str("-->");
            }
            _ => {}
        }
    }
    (out.len() <= bytes_max).then_some(out)
}

/// The contents of an element as HTML; nothing when they exceed `bytes_max`.
pub(super) fn html(dom: &Dom, top: NodeId, bytes_max: usize) -> Option<String> {
    let mut out = String::new();
    for edge in dom.traverse(top) {
        if out.len() > bytes_max {
            return None;
        }
        match (edge, edge_data(dom, edge)) {
            (Edge::Open(id) | Edge::Close(id), _) if id == top => {}
            (Edge::Open(_), NodeData::Element(element)) => {
                out.push('<');
                push_name(element, &mut out);
                for attribute in &element.attributes {
                    out.push(' ');
                    if let Some(prefix) = &attribute.name.prefix {
                        out.push_str(prefix);
                        out.push(':');
                    }
                    out.push_str(&attribute.name.local);
                    out.push_str("=\"");
                    escape_html(&attribute.value, true, &mut out);
                    out.push('"');
                }
                out.push('>');
            }
            (Edge::Close(_), NodeData::Element(element)) if element.is_void() => {}
            (Edge::Close(_), NodeData::Element(element)) => {
                out.push_str("</");
                push_name(element, &mut out);
                out.push('>');
            }
            (Edge::Open(id), NodeData::Text(text)) => {
                let parent = dom.parent(id).and_then(|parent| dom.element(parent));
                if parent.is_some_and(is_raw) {
                    out.push_str(text);
                } else {
                    escape_html(text, false, &mut out);
                }
            }
            (Edge::Open(_), NodeData::Comment(text)) => {
                out.push_str("<!--");
                out.push_str(text);
                out.push_str("-->");
            }
            _ => {}
        }
    }
    (out.len() <= bytes_max).then_some(out)
}

fn edge_data(dom: &Dom, edge: Edge) -> &NodeData {
    let (Edge::Open(id) | Edge::Close(id)) = edge;
    &dom.node(id).data
}

/// Writes a start tag and answers the default namespace within.
fn open_xml<'a>(
    element: &'a Element,
    declared: &[(&str, &str)],
    outer: &'a str,
    out: &mut String,
) -> &'a str {
    let mut attributes: Vec<(String, &str)> = Vec::with_capacity(element.attributes.len() + declared.len());
    let mut within = outer;
    let mut says_default = false;
    for attribute in &element.attributes {
        let mut name = String::new();
        if let Some(prefix) = &attribute.name.prefix {
            name.push_str(prefix);
            name.push(':');
        }
        name.push_str(&attribute.name.local);
        if name == "xmlns" {
            (within, says_default) = (&attribute.value, true);
        }
        attributes.push((name, &attribute.value));
    }
    // A name without prefix is in the default namespace, which the markup around may have set.
    if element.name.prefix.is_none() && !says_default && *element.name.ns != *outer {
        within = &element.name.ns;
        attributes.push(("xmlns".to_owned(), within));
    }
    let own = attributes.len();
    for (prefix, namespace) in declared {
        let name = format!("xmlns:{prefix}");
        if !attributes[..own].iter().any(|(known, _)| known.eq_ignore_ascii_case(&name)) {
            attributes.push((name, namespace));
        }
    }
    attributes.sort_unstable();
    out.push('<');
    push_name(element, out);
    for (name, value) in attributes {
        out.push(' ');
        out.push_str(&name);
        out.push_str("=\"");
        escape(value, true, out);
        out.push('"');
    }
    out.push('>');
    within
}

fn push_name(element: &Element, out: &mut String) {
    if let Some(prefix) = &element.name.prefix {
        out.push_str(prefix);
        out.push(':');
    }
    out.push_str(&element.name.local);
}

/// Escapes as canonical XML does.
fn escape(text: &str, in_attribute: bool, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' if !in_attribute => out.push_str("&gt;"),
            '"' if in_attribute => out.push_str("&quot;"),
            '\t' if in_attribute => out.push_str("&#x9;"),
            '\n' if in_attribute => out.push_str("&#xA;"),
            '\r' => out.push_str("&#xD;"),
            _ => out.push(character),
        }
    }
}

/// Escapes as HTML's serialisation does.
fn escape_html(text: &str, in_attribute: bool, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '\u{a0}' => out.push_str("&nbsp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if in_attribute => out.push_str("&quot;"),
            _ => out.push(character),
        }
    }
}

fn is_raw(element: &Element) -> bool {
    element.name.ns == ns!(html)
        && matches!(
            element.name.local,
            local_name!("style")
                | local_name!("script")
                | local_name!("xmp")
                | local_name!("iframe")
                | local_name!("noembed")
                | local_name!("noframes")
                | local_name!("plaintext")
        )
}
