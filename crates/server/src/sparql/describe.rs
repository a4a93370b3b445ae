//! The service description: what the endpoint can do, in RDF.

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term, Triple};
use oxrdfio::RdfSerializer;
use webloom_index::DefaultGraph;

use super::negotiate;
use super::protocol::with_charset;
use crate::app::Shared;
use crate::error::ApiError;

const SD: &str = "http://www.w3.org/ns/sparql-service-description#";
const FORMATS: &str = "http://www.w3.org/ns/formats/";

/// Describes the endpoint at `address`.
pub fn service(app: &Shared, headers: &HeaderMap, address: &str) -> Result<Response, ApiError> {
    let (media_type, format) = negotiate::graphs(headers, &[])?;
    let endpoint = NamedNode::new(address.trim_end_matches('/'))
        .map_err(|_| ApiError::bad_request("the Host field cannot be part of an IRI"))?;
    let mut serializer = RdfSerializer::from_format(format)
        .with_prefix("sd", SD)
        .map_err(|error| ApiError::internal(error.to_string()))?
        .for_writer(Vec::new());
    for triple in triples(endpoint, app.checked.config.default_graph) {
        serializer.serialize_triple(&triple)?;
    }
    let body = serializer.finish()?;
    Ok(([(header::CONTENT_TYPE, with_charset(media_type))], body).into_response())
}

fn triples(endpoint: NamedNode, default_graph: DefaultGraph) -> Vec<Triple> {
    let sd = |name: &str| NamedNode::new_unchecked(format!("{SD}{name}"));
    let is_a = oxrdf::vocab::rdf::TYPE;
    let service: NamedOrBlankNode = BlankNode::default().into();
    let dataset: NamedOrBlankNode = BlankNode::default().into();
    let graph: NamedOrBlankNode = BlankNode::default().into();
    let mut triples = vec![
        Triple::new(service.clone(), is_a, sd("Service")),
        Triple::new(service.clone(), sd("endpoint"), endpoint),
        Triple::new(service.clone(), sd("supportedLanguage"), sd("SPARQL11Query")),
        Triple::new(service.clone(), sd("supportedLanguage"), sd("SPARQL11Update")),
        Triple::new(service.clone(), sd("defaultDataset"), Term::from(dataset.clone())),
        Triple::new(dataset.clone(), is_a, sd("Dataset")),
        Triple::new(dataset, sd("defaultGraph"), Term::from(graph.clone())),
        Triple::new(graph.clone(), is_a, sd("Graph")),
        Triple::new(
            graph,
            oxrdf::vocab::rdfs::COMMENT,
            Literal::new_simple_literal(match default_graph {
                DefaultGraph::Union => "the union of all pages, each triple once, without crawl metadata",
                DefaultGraph::Unnamed => "the graph without a name",
            }),
        ),
    ];
    if default_graph == DefaultGraph::Union {
        triples.push(Triple::new(service.clone(), sd("feature"), sd("UnionDefaultGraph")));
    }
    let formats = [
        "SPARQL_Results_JSON",
        "SPARQL_Results_XML",
        "SPARQL_Results_CSV",
        "SPARQL_Results_TSV",
        "Turtle",
        "N-Triples",
        "RDF_XML",
        "JSON-LD",
        "N-Quads",
        "TriG",
    ];
    for name in formats {
        let format = NamedNode::new_unchecked(format!("{FORMATS}{name}"));
        triples.push(Triple::new(service.clone(), sd("resultFormat"), format));
    }
    for name in ["Turtle", "N-Triples", "RDF_XML", "JSON-LD", "N-Quads", "TriG"] {
        let format = NamedNode::new_unchecked(format!("{FORMATS}{name}"));
        triples.push(Triple::new(service.clone(), sd("inputFormat"), format));
    }
    triples
}
