//! RDFa 1.1: a page, a SPARQL ASK over its triples, and the whole graph for comparison.
//!
//! The ASK decides whether a case passes. The graph is judged as a case of its own, `… graph`, where the suite has one
//! that can be met: not for processor graphs, which are another implementation's log, nor where graph and ASK disagree.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use oxrdfio::RdfFormat;
use serde_json::Value;
use webloom_transform::{Syntax, TransformConfig};

use crate::Outcome;
use crate::graphs::{ask, difference, extract, isomorphic, read};

const MERGED: &str = "a page of all other cases strung together; the graph is what one processor made of it: empty tags \
                      of XML closed in HTML, `datetime` read and inner `xml:base` unread in every host, a new list at every `about`";

/// All of them graphs; their ASK queries are answered as expected.
pub const KNOWN_FAILURES: &[(&str, &str)] = &[
    ("rdfa1.1/html4/0295 graph", MERGED),
    ("rdfa1.1/html5-invalid/0295 graph", MERGED),
    ("rdfa1.1/svg/0295 graph", MERGED),
    ("rdfa1.1/xhtml1/0295 graph", MERGED),
    ("rdfa1.1/xhtml5-invalid/0295 graph", MERGED),
    ("rdfa1.1/xml/0295 graph", MERGED),
    (
        "rdfa1.1/xml/0180 graph",
        "a `base` element outside of the XHTML namespace is not HTML's and sets no base",
    ),
];

/// Runs all cases.
pub fn run(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = folder.join("rdfa");
    let cases = fs::read_to_string(folder.join("cases.jsonl")).context("cannot read rdfa/cases.jsonl")?;
    let disagreeing = fs::read_to_string(folder.join("ttl_disagrees_with_ask.txt"))?;
    let disagreeing: BTreeSet<&str> =
        disagreeing.lines().filter_map(|line| line.split_ascii_whitespace().next()).collect();
    let mut outcomes = Vec::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line)?;
        let text = |key: &str| case[key].as_str().with_context(|| format!("a case without {key}"));
        let (id, host, option) = (text("id")?, text("host")?, case["option"].as_str().unwrap_or_default());
        let config = TransformConfig {
            only: Some(BTreeSet::from([Syntax::Rdfa])),
            processor_graph: option == "rdfagraph=processor",
            vocab_expansion: option == "vocab_expansion=true",
            ..TransformConfig::default()
        };
        let (base, content_type) = (text("base")?, text("content_type")?);
        let page = fs::read(folder.join(text("input")?))?;
        let got = extract(base, Some(content_type), page, &config)?.quads;
        let expected_answer = case["ask_expected"].as_bool().unwrap_or(true);
        let answer = ask(&fs::read_to_string(folder.join(text("ask")?))?, base, &got)?;
        let result = if answer == expected_answer {
            Ok(())
        } else {
            Err(format!("ASK answers {answer}\n  {}", difference(&[], &got)))
        };
        outcomes.push(Outcome { group: format!("rdfa {host}"), id: id.to_owned(), result });
        if config.processor_graph || disagreeing.contains(id) {
            continue;
        }
        let graph = fs::read(folder.join(text("graph")?))?;
        let result = match read(RdfFormat::Turtle, base, &graph) {
            Ok(expected) if isomorphic(&expected, &got) => Ok(()),
            Ok(expected) => Err(difference(&expected, &got)),
            Err(error) => Err(format!("the expected graph cannot be read: {error}")),
        };
        outcomes.push(Outcome { group: format!("rdfa {host} graph"), id: format!("{id} graph"), result });
    }
    Ok(outcomes)
}
