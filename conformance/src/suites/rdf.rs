//! The RDF 1.1 syntaxes: Turtle, TriG, N-Triples, N-Quads, RDF/XML.
//!
//! Every case is run as served with its media type and again without, where only the name of the file tells the
//! syntax. What must be read gives the expected graph and no complaint; what must be refused gives a complaint.

use std::path::Path;

use anyhow::Context;
use oxrdfio::RdfFormat;
use webloom_model::Severity;
use webloom_transform::TransformConfig;

use crate::{Outcome, graphs};

const BASE: &str = "https://w3c.github.io/rdf-tests/";

/// Folder, name in the counts, media type.
const SYNTAXES: &[(&str, &str, &str)] = &[
    ("rdf-turtle", "rdf turtle", "text/turtle"),
    ("rdf-trig", "rdf trig", "application/trig"),
    ("rdf-n-triples", "rdf n-triples", "application/n-triples"),
    ("rdf-n-quads", "rdf n-quads", "application/n-quads"),
    ("rdf-xml", "rdf rdf-xml", "application/rdf+xml"),
];

/// Runs every case of the folder `rdf-tests` that is about a syntax of RDF.
pub fn run(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = folder.join("rdf-tests");
    let cases = std::fs::read_to_string(folder.join("cases.jsonl")).context("rdf-tests/cases.jsonl")?;
    let mut outcomes = Vec::new();
    for line in cases.lines() {
        let case: serde_json::Value = serde_json::from_str(line)?;
        let text = |name: &str| case[name].as_str().unwrap_or_default();
        let Some((_, group, media_type)) = text("dir")
            .strip_prefix("rdf/rdf11/")
            .and_then(|dir| SYNTAXES.iter().find(|(known, _, _)| *known == dir))
        else {
            continue;
        };
        let mut result = Ok(());
        for content_type in [Some(*media_type), None] {
            let checked = check(&folder, text("type"), text("action"), text("result"), content_type)?;
            result = result.and(checked.map_err(|problem| format!("as {content_type:?}: {problem}")));
        }
        outcomes.push(Outcome { group: (*group).to_owned(), id: text("id").to_owned(), result });
    }
    Ok(outcomes)
}

fn check(
    folder: &Path,
    test_type: &str,
    action: &str,
    result: &str,
    content_type: Option<&str>,
) -> anyhow::Result<Result<(), String>> {
    let body = std::fs::read(folder.join(action)).with_context(|| action.to_owned())?;
    let base = format!("{BASE}{action}");
    let graph = graphs::extract(&base, content_type, body, &TransformConfig::default())?;
    let complaint = graph.diagnostics.iter().find(|diagnostic| diagnostic.severity > Severity::Note);
    if test_type.contains("Negative") {
        return Ok(complaint.map(drop).ok_or_else(|| "no complaint about what is wrong".to_owned()));
    }
    if let Some(complaint) = complaint {
        return Ok(Err(complaint.to_string()));
    }
    if test_type.ends_with("Eval") {
        let format = if result.ends_with(".nq") { RdfFormat::NQuads } else { RdfFormat::NTriples };
        let expected = std::fs::read(folder.join(result)).with_context(|| result.to_owned())?;
        let expected = graphs::read(format, &base, &expected)?;
        if !graphs::isomorphic(&expected, &graph.quads) {
            return Ok(Err(graphs::difference(&expected, &graph.quads)));
        }
    }
    Ok(Ok(()))
}
