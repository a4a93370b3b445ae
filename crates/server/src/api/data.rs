//! Small questions to a snapshot that several handlers ask: labels, metadata of a page, terms as JSON.

use oxrdf::{
    GraphName, GraphNameRef, NamedNode, NamedNodeRef, NamedOrBlankNode, NamedOrBlankNodeRef, Quad, Term,
};
use serde_json::{Value, json};
use webloom_index::{GraphPattern, Snapshot};
use webloom_model::vocab::{META_PREFIX, dcterms, http as http_vocab, is_derived_graph, prov, wl};

use crate::error::ApiError;
use crate::request::Parameters;
use crate::survey::local_name;

/// Statements of one thing that are looked at for its label.
const LOOKED_AT_MAX: usize = 400;

/// Statements of a graph that are counted one by one.
pub const STATEMENTS_COUNTED_MAX: usize = 1_000_000;

/// How far into a list one can go.
pub const OFFSET_MAX: usize = 100_000;

/// What things are called by, the best first.
pub const LABELS: [&str; 12] = [
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
    "http://schema.org/headline",
    "https://schema.org/headline",
    "http://www.w3.org/2006/vcard/ns#fn",
    "http://ogp.me/ns#title",
    "http://purl.org/rss/1.0/title",
];

/// `limit` and `offset` of a request.
pub fn paging(parameters: &Parameters, default: usize, most: usize) -> Result<(usize, usize), ApiError> {
    Ok((parameters.number("limit", default, most)?, parameters.number("offset", 0, OFFSET_MAX)?))
}

/// A subject as people name it: an IRI, or `_:` and a blank node's name.
pub fn subject(text: &str) -> Result<NamedOrBlankNode, ApiError> {
    let bad = |error: &dyn std::fmt::Display| {
        let text: String = text.chars().take(200).collect();
        ApiError::bad_request(format!("`{text}` is neither an IRI nor a blank node: {error}"))
    };
    match text.strip_prefix("_:") {
        Some(name) => oxrdf::BlankNode::new(name).map(Into::into).map_err(|error| bad(&error)),
        None => NamedNode::new(text).map(Into::into).map_err(|error| bad(&error)),
    }
}

/// The name of a node, as [`subject`] reads it.
pub fn node_name(node: NamedOrBlankNodeRef<'_>) -> String {
    match node {
        NamedOrBlankNodeRef::NamedNode(node) => node.as_str().to_owned(),
        NamedOrBlankNodeRef::BlankNode(node) => node.to_string(),
    }
}

/// The name of a graph; empty for the one without.
pub fn graph_name(graph: &GraphName) -> String {
    match graph {
        GraphName::NamedNode(node) => node.as_str().to_owned(),
        GraphName::BlankNode(node) => node.to_string(),
        GraphName::DefaultGraph => String::new(),
    }
}

/// True for what a page or a person said, not the crawl.
pub fn is_said(graph: &GraphName) -> bool {
    !matches!(graph, GraphName::NamedNode(name) if is_derived_graph(name.as_str()))
}

/// The first object.
fn object(
    snapshot: &Snapshot,
    subject: &NamedNode,
    predicate: NamedNodeRef<'_>,
    graph: GraphNameRef<'_>,
) -> Result<Option<Term>, ApiError> {
    let mut quads = snapshot.quads_for_pattern(
        Some(subject.as_ref().into()),
        Some(predicate),
        None,
        GraphPattern::One(graph),
    )?;
    Ok(quads.next().transpose()?.map(|quad| quad.object))
}

/// The first literal.
pub fn literal(
    snapshot: &Snapshot,
    subject: &NamedNode,
    predicate: NamedNodeRef<'_>,
    graph: GraphNameRef<'_>,
) -> Result<Option<String>, ApiError> {
    Ok(match object(snapshot, subject, predicate, graph)? {
        Some(Term::Literal(literal)) => Some(literal.value().to_owned()),
        _ => None,
    })
}

/// The first IRI.
pub fn iri(
    snapshot: &Snapshot,
    subject: &NamedNode,
    predicate: NamedNodeRef<'_>,
    graph: GraphNameRef<'_>,
) -> Result<Option<String>, ApiError> {
    Ok(match object(snapshot, subject, predicate, graph)? {
        Some(Term::NamedNode(node)) => Some(node.into_string()),
        _ => None,
    })
}

/// The metadata graph of a page.
pub fn meta_of(page: &str) -> Option<GraphName> {
    NamedNode::new(format!("{META_PREFIX}{page}")).ok().map(GraphName::from)
}

/// A title, and its language.
pub fn title(snapshot: &Snapshot, page: &str) -> Result<Option<String>, ApiError> {
    let Ok(page) = NamedNode::new(page) else { return Ok(None) };
    literal(snapshot, &page, dcterms::TITLE, page.as_ref().into())
}

/// What is known of a page in a line.
pub fn page_line(snapshot: &Snapshot, page: &str) -> Result<Value, ApiError> {
    let (Ok(node), Some(meta)) = (NamedNode::new(page), meta_of(page)) else {
        return Ok(json!({"url": page}));
    };
    let about = |predicate| literal(snapshot, &node, predicate, meta.as_ref());
    let number = |text: Option<String>| text.and_then(|text| text.parse::<u64>().ok());
    let graph_id = snapshot.graph_id(node.as_ref().into());
    Ok(json!({
        "url": page,
        "at": about(prov::GENERATED_AT_TIME)?,
        "outcome": about(wl::OUTCOME)?,
        "message": about(wl::REASON)?,
        "status": number(about(http_vocab::STATUS_CODE)?),
        "type": about(dcterms::FORMAT)?,
        "bytes": number(about(dcterms::EXTENT)?),
        "quads": snapshot.estimate(None, None, None, Some(graph_id))?,
        "syntaxes": syntaxes(snapshot, page)?,
        "milliseconds": null,
        "diagnostics": diagnostics_of(snapshot, &node, &meta)?,
    }))
}

fn diagnostics_of(snapshot: &Snapshot, page: &NamedNode, meta: &GraphName) -> Result<u64, ApiError> {
    let quads = snapshot.quads_for_pattern(
        Some(page.as_ref().into()),
        Some(wl::DIAGNOSTIC),
        None,
        GraphPattern::One(meta.as_ref()),
    )?;
    Ok(quads.count() as u64)
}

/// The syntaxes that were found on a page.
pub fn syntaxes(snapshot: &Snapshot, page: &str) -> Result<Vec<String>, ApiError> {
    let (Ok(node), Some(meta)) = (NamedNode::new(page), meta_of(page)) else { return Ok(Vec::new()) };
    let quads = snapshot.quads_for_pattern(
        Some(node.as_ref().into()),
        Some(wl::SYNTAX),
        None,
        GraphPattern::One(meta.as_ref()),
    )?;
    let mut names = Vec::new();
    for quad in quads {
        if let Term::Literal(name) = quad?.object {
            names.push(name.value().to_owned());
        }
    }
    Ok(names)
}

/// A name for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The text.
    pub text: String,
    /// Its language, when it says.
    pub language: Option<String>,
}

/// The best name among statements about one thing.
pub fn best_label<'a>(quads: impl Iterator<Item = &'a Quad>) -> Option<Label> {
    let mut best: Option<(usize, Label)> = None;
    for quad in quads {
        let Term::Literal(literal) = &quad.object else { continue };
        let Some(rank) = LABELS.iter().position(|label| *label == quad.predicate.as_str()) else { continue };
        // English before other languages, for labels of the same kind; what comes first before what comes later.
        let rank = rank * 2 + usize::from(literal.language().is_some_and(|tag| !tag.starts_with("en")));
        if !literal.value().trim().is_empty() && best.as_ref().is_none_or(|(known, _)| rank < *known) {
            let text = literal.value().trim().to_owned();
            best = Some((rank, Label { text, language: literal.language().map(str::to_owned) }));
        }
    }
    best.map(|(_, label)| label)
}

/// The name of a thing, as the pages call it.
pub fn label_of(snapshot: &Snapshot, subject: NamedOrBlankNodeRef<'_>) -> Result<Option<Label>, ApiError> {
    let quads = snapshot.quads_for_pattern(Some(subject), None, None, GraphPattern::Union)?;
    let quads: Vec<Quad> = quads.take(LOOKED_AT_MAX).collect::<Result<_, _>>()?;
    Ok(best_label(quads.iter()))
}

/// The name of a class or property: its local part.
pub fn short(iri: &str) -> Value {
    json!({"iri": iri, "label": local_name(iri)})
}

/// A term as JSON, with a label when one is known.
pub fn term(term: &Term, label: Option<String>) -> Value {
    let mut json = match term {
        Term::NamedNode(node) => json!({"kind": "iri", "value": node.as_str()}),
        Term::BlankNode(node) => json!({"kind": "blank", "value": node.to_string()}),
        Term::Literal(literal) => {
            let mut json = json!({"kind": "literal", "value": literal.value()});
            match literal.language() {
                Some(language) => json["language"] = language.into(),
                None => json["datatype"] = literal.datatype().as_str().into(),
            }
            json
        }
    };
    if let Some(label) = label {
        json["label"] = label.into();
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Literal;

    #[test]
    fn the_best_label_wins() {
        let quad = |predicate: &str, object: Literal| {
            Quad::new(
                NamedNode::new_unchecked("http://a.example/x"),
                NamedNode::new_unchecked(predicate),
                object,
                GraphName::DefaultGraph,
            )
        };
        let quads = [
            quad("http://purl.org/dc/terms/title", Literal::from("title")),
            quad(
                "http://www.w3.org/2000/01/rdf-schema#label",
                Literal::new_language_tagged_literal_unchecked("Name", "de"),
            ),
            quad(
                "http://www.w3.org/2000/01/rdf-schema#label",
                Literal::new_language_tagged_literal_unchecked("name", "en"),
            ),
            quad("http://a.example/other", Literal::from("zzz")),
        ];
        assert_eq!(best_label(quads.iter()).unwrap().text, "name");
        assert_eq!(best_label(quads[..1].iter()).unwrap().text, "title");
        assert_eq!(best_label(quads[3..].iter()), None);
    }

    #[test]
    fn subjects_are_iris_or_blank_nodes() {
        assert_eq!(node_name(subject("_:b1").unwrap().as_ref()), "_:b1");
        assert_eq!(node_name(subject("urn:x").unwrap().as_ref()), "urn:x");
        for bad in ["", "x", "_:", "_: x", "http://a b/"] {
            assert!(subject(bad).is_err(), "{bad}");
        }
    }
}
