//! robots.txt: may this crawler fetch this URL? Graded are the reference parser's own cases, and those of another parser's
//! on which the parsers of the suite's makers agree; the rest differ by taste and are left out.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;
use webloom_fetch::RobotsRules;
use webloom_fetch::robots::path_of_url;

use crate::Outcome;

/// Runs the folder `robots`.
pub fn run(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = folder.join("robots");
    let text = std::fs::read_to_string(folder.join("cases.jsonl")).context("cases.jsonl")?;
    let mut outcomes = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line)?;
        let field = |name: &str| case[name].as_str().unwrap_or_default();
        let is_reference = field("source").starts_with("google/");
        if !is_reference && case["consensus"] != true {
            continue;
        }
        let rules = RobotsRules::parse(field("robots").as_bytes(), field("agent"));
        let found = rules.decide(field("url")).allowed;
        let result = match Some(found) == case["allowed"].as_bool() {
            true => Ok(()),
            false => Err(format!(
                "{}: {} for {} is {found}, in {:?}",
                field("test"),
                field("url"),
                field("agent"),
                field("robots")
            )),
        };
        let group = if is_reference { "robots reference" } else { "robots consensus" };
        outcomes.push(Outcome { group: group.to_owned(), id: field("id").to_owned(), result });
    }
    outcomes.extend(facts(&folder)?);
    Ok(outcomes)
}

/// How the reference parser takes URLs apart, and which sitemaps it finds.
fn facts(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let text = std::fs::read_to_string(folder.join("google_parse_facts.json")).context("facts")?;
    let facts: Value = serde_json::from_str(&text)?;
    let outcome = |id: String, expected: &Value, found: Value| Outcome {
        group: "robots parsing".to_owned(),
        id,
        result: if *expected == found { Ok(()) } else { Err(format!("expected {expected}, got {found}")) },
    };
    let mut outcomes = Vec::new();
    for fact in facts["path_of_url"].as_array().into_iter().flatten() {
        let url = fact[0].as_str().unwrap_or_default();
        outcomes.push(outcome(format!("path of `{url}`"), &fact[1], path_of_url(url).into()));
    }
    for fact in facts["sitemaps"].as_array().into_iter().flatten() {
        let robots = fact["robots"].as_str().unwrap_or_default();
        let rules = RobotsRules::parse(robots.as_bytes(), "webloom");
        let found: Vec<&str> = rules.sitemaps().collect();
        outcomes.push(outcome(format!("sitemaps of {robots:?}"), &fact["sitemaps"], found.into()));
    }
    Ok(outcomes)
}
