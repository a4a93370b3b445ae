//! WSDL 1.1 and 2.0: the services of a description, by the terms of the W3C's "WSDL 2.0: RDF Mapping".
//!
//! Both versions come out alike: a port type is an interface, a port an endpoint. Messages and types are left to the description itself.

use html5ever::LocalName;
use oxrdf::{Literal, NamedNode};
use webloom_model::vocab::{rdf, rdfs};

use crate::Sink;
use crate::dom::{Dom, Element, NodeId};
use crate::html::ParsedPage;

const NAMESPACE: &str = "http://www.w3.org/ns/wsdl-rdf#";

fn term(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{NAMESPACE}{local}"))
}

/// Reads a description.
pub(super) fn read(page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
    let dom = &page.dom;
    let Some(root) = dom.children(Dom::ROOT).find(|id| dom.element(*id).is_some()) else { return };
    let description = page.page.url.graph_name();
    sink.push_triple(description.clone(), rdf::TYPE, term("Description"));
    document(dom, root, &description, sink);
    for (id, element) in elements(dom, root) {
        let (property, class, part) = match &*element.name.local {
            "service" => ("service", "Service", "service"),
            "portType" | "interface" => ("interface", "Interface", "interface"),
            "binding" => ("binding", "Binding", "binding"),
            "import" | "include" => {
                let target = get(element, "location").and_then(|location| page.base.join(location).ok());
                if let Some(target) = target {
                    sink.push_triple(description.clone(), rdfs::SEE_ALSO, target.graph_name());
                }
                continue;
            }
            _ => continue,
        };
        let Some(name) = get(element, "name") else { continue };
        let Some(node) = component(&description, part, name) else { continue };
        let fits = sink.push_triple(description.clone(), term(property), node.clone())
            && sink.push_triple(node.clone(), rdf::TYPE, term(class))
            && sink.push_triple(node.clone(), rdfs::LABEL, Literal::new_simple_literal(name));
        if !fits {
            return;
        }
        document(dom, id, &node, sink);
        for (id, element) in elements(dom, id) {
            let Some(inner_name) = get(element, "name") else { continue };
            match &*element.name.local {
                "operation" if class == "Interface" => {
                    let Some(operation) =
                        component(&description, "interfaceOperation", &format!("{name}/{inner_name}"))
                    else {
                        continue;
                    };
                    sink.push_triple(node.clone(), term("interfaceOperation"), operation.clone());
                    sink.push_triple(operation.clone(), rdf::TYPE, term("InterfaceOperation"));
                    sink.push_triple(operation.clone(), rdfs::LABEL, Literal::new_simple_literal(inner_name));
                    document(dom, id, &operation, sink);
                }
                "port" | "endpoint" => {
                    let Some(endpoint) = component(&description, "endpoint", &format!("{name}/{inner_name}"))
                    else {
                        continue;
                    };
                    sink.push_triple(node.clone(), term("endpoint"), endpoint.clone());
                    sink.push_triple(endpoint.clone(), rdf::TYPE, term("Endpoint"));
                    sink.push_triple(endpoint.clone(), rdfs::LABEL, Literal::new_simple_literal(inner_name));
                    // Version 2.0 has the address on the endpoint, 1.1 in an extension within.
                    let address = get(element, "address").or_else(|| {
                        elements(dom, id)
                            .find(|(_, inner)| &*inner.name.local == "address")
                            .and_then(|(_, inner)| get(inner, "location"))
                    });
                    if let Some(address) = address.and_then(|address| page.base.join(address).ok()) {
                        sink.push_triple(endpoint.clone(), term("address"), address.graph_name());
                    }
                    let binding = get(element, "binding")
                        .map(local)
                        .and_then(|name| component(&description, "binding", name));
                    if let Some(binding) = binding {
                        sink.push_triple(endpoint, term("usesBinding"), binding);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Writes what `documentation` says.
fn document(dom: &Dom, parent: NodeId, subject: &NamedNode, sink: &mut Sink<'_>) {
    for (id, element) in elements(dom, parent) {
        if &*element.name.local == "documentation" {
            let words = dom.text(id).split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            if !words.is_empty() {
                sink.push_triple(subject.clone(), rdfs::COMMENT, Literal::new_simple_literal(words));
            }
        }
    }
}

/// The name of a component: the description's URL and a fragment as WSDL 2.0 forms it.
fn component(description: &NamedNode, part: &str, name: &str) -> Option<NamedNode> {
    let name = name.trim().replace(' ', "%20");
    NamedNode::new(format!("{}#wsdl.{part}({name})", description.as_str())).ok()
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn elements(dom: &Dom, parent: NodeId) -> impl Iterator<Item = (NodeId, &Element)> {
    dom.children(parent).filter_map(|id| dom.element(id).map(|element| (id, element)))
}

fn get<'a>(element: &'a Element, name: &str) -> Option<&'a str> {
    element.attribute(&LocalName::from(name)).map(str::trim).filter(|value| !value.is_empty())
}
