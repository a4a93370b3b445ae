//! Microdata to RDF, the W3C's suite: the graph of each page, by isomorphism; one page that must be refused.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use oxrdfio::RdfFormat;
use serde_json::Value;
use webloom_model::Severity;
use webloom_transform::{Syntax, TransformConfig};

use crate::Outcome;
use crate::graphs::{difference, extract, isomorphic, read};

/// Runs the suite.
pub fn run(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = folder.join("microdata-rdf");
    let cases = std::fs::read_to_string(folder.join("cases.jsonl"))
        .context("cannot read microdata-rdf/cases.jsonl")?;
    cases
        .lines()
        .map(|line| {
            let case: Value = serde_json::from_str(line)?;
            let id = case["id"].as_str().unwrap_or_default().to_owned();
            let result = check(&folder, &case).unwrap_or_else(|error| Err(format!("{error:#}")));
            Ok(Outcome { group: "microdata".to_owned(), id, result })
        })
        .collect()
}

fn check(folder: &Path, case: &Value) -> anyhow::Result<Result<(), String>> {
    let text = |key: &str| case[key].as_str().with_context(|| format!("no `{key}`"));
    let config =
        TransformConfig { only: Some(BTreeSet::from([Syntax::Microdata])), ..TransformConfig::default() };
    let base = text("base")?;
    let graph = extract(base, Some("text/html"), std::fs::read(folder.join(text("input")?))?, &config)?;
    if text("type")? == "TestMicrodataNegativeSyntax" {
        let refused = graph.quads.is_empty()
            && graph.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        return Ok(if refused { Ok(()) } else { Err("was not refused".to_owned()) });
    }
    let expected = read(RdfFormat::Turtle, base, &std::fs::read(folder.join(text("result")?))?)?;
    Ok(if isomorphic(&expected, &graph.quads) { Ok(()) } else { Err(difference(&expected, &graph.quads)) })
}
