//! SVG: what a drawing says of itself in `title`, `desc`, its size, and the RDF in its `metadata`.

use html5ever::{Attribute, LocalName, ns};
use oxrdf::Literal;
use webloom_model::vocab::{dcterms, rdf};

use crate::dom::{Dom, Element, NodeId};
use crate::html::ParsedPage;
use crate::rdf::read_rdf_xml;
use crate::{Sink, Syntax};

/// Reads a drawing; `text` is its source, for the RDF within.
pub(super) fn read(page: &ParsedPage<'_>, text: &str, sink: &mut Sink<'_>) {
    let dom = &page.dom;
    let Some((root, svg)) =
        dom.children(Dom::ROOT).find_map(|id| dom.element(id).map(|element| (id, element)))
    else {
        return;
    };
    let subject = page.page.url.graph_name();
    super::describe_image(&subject, "image/svg+xml", size(svg), sink);
    for (name, property) in [("title", dcterms::TITLE), ("desc", dcterms::DESCRIPTION)] {
        let Some(words) = child(dom, root, name).map(|id| dom.text(id)) else { continue };
        let words = words.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if !words.is_empty() {
            sink.push_triple(subject.clone(), property, Literal::new_simple_literal(&words));
            if name == "title" {
                sink.graph.text.title = Some(words);
            }
        }
    }
    if sink.config().wants(Syntax::Rdf) {
        embedded_rdf(page, text, sink);
    }
}

/// Width and height in pixels: as said, or as the view box has it.
fn size(svg: &Element) -> Option<(u32, u32)> {
    let pixels = |name: &str| {
        let value = svg.attribute(&LocalName::from(name))?.trim();
        let value = value.strip_suffix("px").unwrap_or(value).trim();
        value.parse::<f64>().ok().and_then(whole)
    };
    if let (Some(width), Some(height)) = (pixels("width"), pixels("height")) {
        return Some((width, height));
    }
    let view = svg.attribute(&LocalName::from("viewBox"))?;
    let mut numbers = view.split([' ', ',']).filter(|part| !part.is_empty()).skip(2);
    let mut next = || numbers.next().and_then(|number| number.parse::<f64>().ok()).and_then(whole);
    Some((next()?, next()?))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked the line before")]
fn whole(pixels: f64) -> Option<u32> {
    (pixels.is_finite() && (0.5..1e9).contains(&pixels)).then(|| pixels.round() as u32)
}

fn child(dom: &Dom, parent: NodeId, name: &str) -> Option<NodeId> {
    dom.children(parent).find(|id| {
        dom.element(*id).is_some_and(|element| element.name.ns == ns!(svg) && *element.name.local == *name)
    })
}

/// Reads the first `rdf:RDF` as a document of its own, with the prefixes declared above it.
fn embedded_rdf(page: &ParsedPage<'_>, text: &str, sink: &mut Sink<'_>) {
    let dom = &page.dom;
    let Some((id, element)) = dom
        .elements(Dom::ROOT)
        .find(|(_, element)| &*element.name.local == "RDF" && *element.name.ns == *rdf::NAMESPACE)
    else {
        return;
    };
    let name = match &element.name.prefix {
        Some(prefix) => format!("{prefix}:RDF"),
        None => "RDF".to_owned(),
    };
    let Some(start) = text.find(&format!("<{name}")) else { return };
    let close = format!("</{name}");
    let Some(length) = text[start..].find(&close) else { return };
    let inner_start = start + 1 + name.len();
    let mut document = format!("<{name}");
    let mut declared: Vec<String> = own_declarations(element);
    let mut above = dom.parent(id);
    while let Some(ancestor) = above {
        if let Some(element) = dom.element(ancestor) {
            for attribute in element.attributes.iter().filter(|attribute| attribute.name.ns == ns!(xmlns)) {
                let written = written(attribute);
                if !declared.contains(&written) {
                    let value =
                        attribute.value.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
                    document.push_str(&format!(" {written}=\"{value}\""));
                    declared.push(written);
                }
            }
        }
        above = dom.parent(ancestor);
    }
    document.push_str(&text[inner_start..start + length]);
    document.push_str(&close);
    document.push('>');
    read_rdf_xml(&page.page.url, &document, sink);
}

fn own_declarations(element: &Element) -> Vec<String> {
    element.attributes.iter().filter(|attribute| attribute.name.ns == ns!(xmlns)).map(written).collect()
}

/// A namespace declaration's name as it is written.
fn written(declaration: &Attribute) -> String {
    match &declaration.name.prefix {
        Some(_) => format!("xmlns:{}", declaration.name.local),
        None => "xmlns".to_owned(),
    }
}
