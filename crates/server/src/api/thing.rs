//! One thing: all that is said of it, grouped by the page that says it; what points to it; its neighbourhood.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Quad, Term};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfSerializer};
use serde_json::{Value, json};
use webloom_index::{GraphPattern, Snapshot};
use webloom_model::vocab::{owl, prov, rdf};

use super::data;
use crate::app::Shared;
use crate::error::ApiError;
use crate::request::Parameters;
use crate::survey::local_name;

/// Statements about a thing that are shown.
const STATEMENTS_MAX: usize = 2_000;

/// Statements that point to it that are shown, and that are counted.
const INCOMING_MAX: usize = 100;
const INCOMING_COUNTED_MAX: usize = 10_000;

/// Values whose names are looked up.
const LABELS_MAX: usize = 300;

/// Nodes of a neighbourhood.
const NODES_MAX: usize = 80;

/// Links followed from one node of it.
const LINKS_PER_NODE_MAX: usize = 25;

/// What says that two names mean one thing.
const SAME: [&str; 4] = [
    "http://www.w3.org/2002/07/owl#sameAs",
    "http://schema.org/sameAs",
    "https://schema.org/sameAs",
    "http://www.w3.org/2004/02/skos/core#exactMatch",
];

/// Looks names up, each once, as long as there are not too many.
struct Names<'a> {
    snapshot: &'a Snapshot,
    known: HashMap<NamedOrBlankNode, Option<String>>,
}

impl<'a> Names<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, known: HashMap::new() }
    }

    fn of(&mut self, node: &NamedOrBlankNode) -> Result<Option<String>, ApiError> {
        if let Some(known) = self.known.get(node) {
            return Ok(known.clone());
        }
        if self.known.len() >= LABELS_MAX {
            return Ok(None);
        }
        let label = data::label_of(self.snapshot, node.as_ref())?.map(|label| label.text);
        self.known.insert(node.clone(), label.clone());
        Ok(label)
    }

    fn term(&mut self, term: &Term) -> Result<Value, ApiError> {
        let label = match node_of(term) {
            Some(node) => self.of(&node)?,
            None => None,
        };
        Ok(data::term(term, label))
    }
}

fn node_of(term: &Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(node) => Some(node.clone().into()),
        Term::BlankNode(node) => Some(node.clone().into()),
        Term::Literal(_) => None,
    }
}

/// What pages say of a thing, metadata left out.
fn statements_about(
    snapshot: &Snapshot,
    subject: &NamedOrBlankNode,
    max: usize,
) -> Result<Vec<Quad>, ApiError> {
    let quads = snapshot.quads_for_pattern(Some(subject.as_ref()), None, None, GraphPattern::All)?;
    let mut said = Vec::new();
    for quad in quads {
        let quad = quad?;
        if data::is_said(&quad.graph_name) {
            said.push(quad);
            if said.len() == max {
                break;
            }
        }
    }
    Ok(said)
}

/// `GET /api/thing`.
pub async fn thing(State(app): State<Shared>, parameters: Parameters) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    let subject = data::subject(parameters.required("iri")?)?;
    let limit = parameters.number("limit", STATEMENTS_MAX, STATEMENTS_MAX)?;
    app.read(move || tell(&slot.snapshot()?, &subject, limit).map(Json)).await
}

fn tell(snapshot: &Snapshot, subject: &NamedOrBlankNode, limit: usize) -> Result<Value, ApiError> {
    let quads = statements_about(snapshot, subject, limit.max(1))?;
    let (incoming, incoming_total) = incoming(snapshot, subject)?;
    let iri = data::node_name(subject.as_ref());
    if quads.is_empty() && incoming_total == 0 {
        return Err(ApiError::not_found(format!("nothing is said of <{iri}>")));
    }
    let mut names = Names::new(snapshot);
    let label = data::best_label(quads.iter());
    let mut types: Vec<&str> = Vec::new();
    for quad in &quads {
        if let (true, Term::NamedNode(class)) = (quad.predicate == rdf::TYPE, &quad.object)
            && !types.contains(&class.as_str())
        {
            types.push(class.as_str());
        }
    }
    let mut by_page: Vec<(GraphName, Vec<&Quad>)> = Vec::new();
    for quad in &quads {
        match by_page.iter_mut().find(|(graph, _)| *graph == quad.graph_name) {
            Some((_, said)) => said.push(quad),
            None => by_page.push((quad.graph_name.clone(), vec![quad])),
        }
    }
    let mut statements = Vec::new();
    for (graph, said) in &by_page {
        statements.push(said_by(snapshot, graph, said, &mut names)?);
    }
    let mut links = Vec::new();
    for quad in &incoming {
        links.push(json!({
            "subject": names.term(&Term::from(quad.subject.clone()))?,
            "predicate": quad.predicate.as_str(),
            "predicate_label": local_name(quad.predicate.as_str()),
            "page": data::graph_name(&quad.graph_name),
        }));
    }
    let label_text = label.as_ref().map(|label| label.text.clone());
    let same = same_as(snapshot, subject, &quads, &incoming, label_text.as_deref(), &types, &mut names)?;
    Ok(json!({
        "label": label_text.unwrap_or_else(|| local_name(&iri).to_owned()),
        "label_language": label.and_then(|label| label.language),
        "iri": iri,
        "types": types.iter().map(|class| data::short(class)).collect::<Vec<_>>(),
        "statements": statements,
        "incoming": links,
        "incoming_total": incoming_total,
        "same": same,
        "pages_total": by_page.len(),
        "cut": quads.len() >= limit.max(1),
    }))
}

/// What one page says of the thing.
fn said_by(
    snapshot: &Snapshot,
    graph: &GraphName,
    said: &[&Quad],
    names: &mut Names<'_>,
) -> Result<Value, ApiError> {
    let page = data::graph_name(graph);
    let mut properties: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for quad in said {
        properties.entry(quad.predicate.as_str()).or_default().push(names.term(&quad.object)?);
    }
    let properties: Vec<Value> = properties
        .into_iter()
        .map(|(predicate, values)| {
            json!({"predicate": predicate, "predicate_label": local_name(predicate), "values": values})
        })
        .collect();
    let fetched_at = match (NamedNode::new(page.as_str()), data::meta_of(&page)) {
        (Ok(node), Some(meta)) => data::literal(snapshot, &node, prov::GENERATED_AT_TIME, meta.as_ref())?,
        _ => None,
    };
    Ok(json!({
        "page_title": data::title(snapshot, &page)?,
        "syntaxes": data::syntaxes(snapshot, &page)?,
        "page": page,
        "fetched_at": fetched_at,
        "properties": properties,
    }))
}

/// What points to the thing: some of it, and how much there is.
fn incoming(snapshot: &Snapshot, subject: &NamedOrBlankNode) -> Result<(Vec<Quad>, usize), ApiError> {
    let object = Term::from(subject.clone());
    let quads = snapshot.quads_for_pattern(None, None, Some(object.as_ref()), GraphPattern::All)?;
    let (mut some, mut total) = (Vec::new(), 0);
    for quad in quads.take(INCOMING_COUNTED_MAX) {
        let quad = quad?;
        if data::is_said(&quad.graph_name) {
            total += 1;
            if some.len() < INCOMING_MAX {
                some.push(quad);
            }
        }
    }
    Ok((some, total))
}

/// Other names that may mean the same.
fn same_as(
    snapshot: &Snapshot,
    subject: &NamedOrBlankNode,
    quads: &[Quad],
    incoming: &[Quad],
    label: Option<&str>,
    types: &[&str],
    names: &mut Names<'_>,
) -> Result<Vec<Value>, ApiError> {
    let mut same: Vec<(NamedOrBlankNode, String)> = Vec::new();
    let mut add = |node: Option<NamedOrBlankNode>, reason: String| {
        if let Some(node) = node
            && node != *subject
            && !same.iter().any(|(known, _)| *known == node)
            && same.len() < 50
        {
            same.push((node, reason));
        }
    };
    let reason = |predicate: &str| {
        if predicate == owl::SAME_AS.as_str() { "owl:sameAs" } else { local_name(predicate) }.to_owned()
    };
    for quad in quads.iter().filter(|quad| SAME.contains(&quad.predicate.as_str())) {
        add(node_of(&quad.object), reason(quad.predicate.as_str()));
    }
    for quad in incoming.iter().filter(|quad| SAME.contains(&quad.predicate.as_str())) {
        add(Some(quad.subject.clone()), reason(quad.predicate.as_str()));
    }
    if let Some(label) = label {
        for hit in snapshot.search(&format!("\"{}\"", label.replace('"', " ")), 20)? {
            let one_type = hit.types.iter().any(|class| types.contains(&class.as_str()));
            if one_type && hit.label.as_deref() == Some(label) {
                add(Some(hit.subject), "same label and type".to_owned());
            }
        }
    }
    let mut told = Vec::new();
    for (node, reason) in same {
        let iri = data::node_name(node.as_ref());
        let label = names.of(&node)?.unwrap_or_else(|| local_name(&iri).to_owned());
        told.push(json!({"iri": iri, "label": label, "reason": reason}));
    }
    Ok(told)
}

/// `GET /api/thing/graph`.
pub async fn graph(State(app): State<Shared>, parameters: Parameters) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    let subject = data::subject(parameters.required("iri")?)?;
    let depth = parameters.number("depth", 1, 2)?;
    app.read(move || neighbourhood(&slot.snapshot()?, subject, depth).map(Json)).await
}

fn neighbourhood(snapshot: &Snapshot, start: NamedOrBlankNode, depth: usize) -> Result<Value, ApiError> {
    let mut names = Names::new(snapshot);
    let mut nodes = vec![start];
    let mut links: BTreeSet<(usize, usize, String)> = BTreeSet::new();
    let mut cut = false;
    let mut from = 0;
    for _ in 0..depth {
        let until = nodes.len();
        for number in from..until {
            let node = nodes[number].clone();
            let out = statements_about(snapshot, &node, STATEMENTS_MAX)?;
            let (into, _) = incoming(snapshot, &node)?;
            let neighbours = out
                .iter()
                .filter(|quad| quad.predicate != rdf::TYPE)
                .filter_map(|quad| Some((node_of(&quad.object)?, &quad.predicate, true)))
                .chain(into.iter().map(|quad| (quad.subject.clone(), &quad.predicate, false)));
            let mut followed = 0;
            for (other, predicate, outgoing) in neighbours {
                let place = match nodes.iter().position(|known| *known == other) {
                    Some(place) => place,
                    None if nodes.len() < NODES_MAX && followed < LINKS_PER_NODE_MAX => {
                        followed += 1;
                        nodes.push(other);
                        nodes.len() - 1
                    }
                    None => {
                        cut = true;
                        continue;
                    }
                };
                let ends = if outgoing { (number, place) } else { (place, number) };
                links.insert((ends.0, ends.1, predicate.as_str().to_owned()));
            }
        }
        from = until;
    }
    let iris: Vec<String> = nodes.iter().map(|node| data::node_name(node.as_ref())).collect();
    let mut told = Vec::new();
    for (node, iri) in nodes.iter().zip(&iris) {
        let label = names.of(node)?.unwrap_or_else(|| local_name(iri).to_owned());
        let kind = if iri.starts_with("_:") { "blank" } else { "iri" };
        told.push(json!({"iri": iri, "label": label, "kind": kind}));
    }
    let links: Vec<Value> = links
        .iter()
        .map(|(from, to, predicate)| {
            json!({
                "from": iris[*from],
                "to": iris[*to],
                "predicate": predicate,
                "label": local_name(predicate),
            })
        })
        .collect();
    Ok(json!({"nodes": told, "links": links, "cut": cut}))
}

/// `GET /api/thing/raw`.
pub async fn raw(State(app): State<Shared>, parameters: Parameters) -> Result<Response, ApiError> {
    let slot = app.slot(&parameters)?;
    let subject = data::subject(parameters.required("iri")?)?;
    let (format, media_type) = match parameters.choice("format", &["turtle", "jsonld", "nquads"])? {
        "jsonld" => (RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() }, "application/ld+json"),
        "nquads" => (RdfFormat::NQuads, "application/n-quads"),
        _ => (RdfFormat::Turtle, "text/turtle; charset=utf-8"),
    };
    app.read(move || {
        let quads = statements_about(&slot.snapshot()?, &subject, STATEMENTS_MAX * 5)?;
        let mut serializer = RdfSerializer::from_format(format);
        for (prefix, namespace) in crate::survey::PREFIXES {
            serializer = serializer
                .with_prefix(*prefix, *namespace)
                .map_err(|error| ApiError::internal(error.to_string()))?;
        }
        let mut serializer = serializer.for_writer(Vec::new());
        let mut seen = std::collections::HashSet::new();
        for quad in &quads {
            // Formats without graphs tell a statement once, however many pages make it.
            if format == RdfFormat::NQuads {
                serializer.serialize_quad(quad)?;
            } else {
                let triple = oxrdf::Triple::from(quad.clone());
                if seen.insert(triple.clone()) {
                    serializer.serialize_triple(&triple)?;
                }
            }
        }
        let bytes = serializer.finish()?;
        Ok(([(header::CONTENT_TYPE, media_type)], bytes).into_response())
    })
    .await
}
