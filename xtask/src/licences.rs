//! Holds every dependency to the licences that `deny.toml` allows, without the network and without installing anything.
//! `cargo deny` says the same and more where it is installed.

use std::path::Path;

use anyhow::{Context, bail};
use serde_json::Value;

use crate::tidy::metadata;

/// Checks the licence of every package in the lock file.
pub fn check(root: &Path) -> anyhow::Result<()> {
    let deny = std::fs::read_to_string(root.join("deny.toml")).context("cannot read deny.toml")?;
    let allowed = allowed_licences(&deny);
    if allowed.is_empty() {
        bail!("deny.toml allows no licence at all; is `allow = [` still in it?");
    }
    let metadata = metadata(root, &[])?;
    let mut refused = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let excepted: Vec<String> = exceptions(&deny, name).chain(allowed.iter().cloned()).collect();
        match package["license"].as_str() {
            Some(expression) if permits(expression, &excepted) => {}
            Some(expression) => refused.push(format!("{name}: {expression}")),
            None if package["source"] == Value::Null => {}
            None => refused.push(format!("{name}: no licence named")),
        }
    }
    if !refused.is_empty() {
        bail!("licences that deny.toml does not allow:\n  {}", refused.join("\n  "));
    }
    Ok(())
}

/// What `exceptions` allows to one crate alone: lines of the form `{ crate = "…", allow = ["…"] }`.
fn exceptions(deny: &str, name: &str) -> impl Iterator<Item = String> {
    let opening = format!("{{ crate = \"{name}\", allow = [");
    deny.lines()
        .filter_map(move |line| line.trim().strip_prefix(&opening)?.split(']').next().map(str::to_owned))
        .flat_map(|list| {
            list.split(',').map(|word| word.trim().trim_matches('"').to_owned()).collect::<Vec<_>>()
        })
}

/// The quoted words of the `allow = […]` list.
fn allowed_licences(deny: &str) -> Vec<String> {
    let list = deny
        .split_once("\nallow = [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("", |(list, _)| list);
    list.lines()
        .filter_map(|line| line.split('#').next())
        .flat_map(|line| line.split(','))
        .map(|word| word.trim().trim_matches('"').to_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// True when the SPDX expression can be satisfied with allowed licences.
fn permits(expression: &str, allowed: &[String]) -> bool {
    // The old slash means OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut position = 0;
    let satisfied = any(&words, &mut position, allowed);
    satisfied && position == words.len()
}

fn any(words: &[&str], position: &mut usize, allowed: &[String]) -> bool {
    let mut satisfied = all(words, position, allowed);
    while words.get(*position) == Some(&"OR") {
        *position += 1;
        satisfied |= all(words, position, allowed);
    }
    satisfied
}

fn all(words: &[&str], position: &mut usize, allowed: &[String]) -> bool {
    let mut satisfied = one(words, position, allowed);
    while words.get(*position) == Some(&"AND") {
        *position += 1;
        satisfied &= one(words, position, allowed);
    }
    satisfied
}

fn one(words: &[&str], position: &mut usize, allowed: &[String]) -> bool {
    let Some(word) = words.get(*position) else { return false };
    *position += 1;
    if *word == "(" {
        let satisfied = any(words, position, allowed);
        // Past the closing parenthesis.
        *position += 1;
        return satisfied;
    }
    let mut licence = (*word).to_owned();
    if words.get(*position) == Some(&"WITH") {
        licence = format!("{word} WITH {}", words.get(*position + 1).unwrap_or(&""));
        *position += 2;
    }
    allowed.contains(&licence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed: Vec<String> = ["MIT", "Apache-2.0", "BSD-3-Clause"].map(str::to_owned).to_vec();
        for (expression, expected) in [
            ("MIT", true),
            ("MIT OR Apache-2.0", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0", false),
            ("GPL-3.0 OR MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(Apache-2.0 OR MIT) AND BSD-3-Clause", true),
            ("(GPL-3.0 OR LGPL-3.0) AND MIT", false),
            ("Apache-2.0 WITH LLVM-exception", false),
            ("Apache-2.0 WITH LLVM-exception OR MIT", true),
            ("", false),
        ] {
            assert_eq!(permits(expression, &allowed), expected, "{expression}");
        }
    }

    #[test]
    fn the_list_is_read_with_its_comments() {
        let deny = "[licenses]\nallow = [\n  \"MIT\", # plain\n  \"ISC\",\n]\nexceptions = [\n  { crate = \"a\", allow = [\"BSL-1.0\"] },\n]\n";
        assert_eq!(allowed_licences(deny), ["MIT", "ISC"]);
        assert_eq!(exceptions(deny, "a").collect::<Vec<_>>(), ["BSL-1.0"]);
        assert_eq!(exceptions(deny, "b").count(), 0);
    }
}
