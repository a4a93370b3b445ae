//! `webloom search`: finds things by words.
//!
//! In: words and filters. Out: things, best first, each once, with what to narrow the search by; or JSON, the same as the HTTP interface
//! gives. `--literals` shows what was said, word for word, instead of what it was said of.

use std::io::{IsTerminal, Write};

use clap::Args;
use oxrdf::NamedOrBlankNode;
use webloom_index::{Entity, EntityQuery, EntityResults, FacetValue, Snapshot, Snippet};

use crate::output::{DataArgument, one_line, with_commas};

/// Values of a facet that are shown to people.
const FACET_VALUES_SHOWN: usize = 8;

/// Find things by words in what is said of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Words may be \"phrases in quotes\", begin*, almost~1, -without, one OR other, label:word.

Examples:
  webloom search painter
  webloom search 'blue harbour' --type Person --site example.org
  webloom search --vocabulary schema --language de Hafen
  webloom search --json --limit 3 'blue harbour'")]
pub struct Search {
    /// Words to look for, or the IRI of a thing.
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    data: DataArgument,
    /// Only things of this type: an IRI, `prefix:Name`, or just the name. May be repeated.
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Only things described with this vocabulary: a namespace, or its usual prefix. May be repeated.
    #[arg(long = "vocabulary", value_name = "NAMESPACE")]
    vocabularies: Vec<String>,
    /// Only things that this site speaks of: a domain like `example.org`. May be repeated.
    #[arg(long = "site", value_name = "DOMAIN")]
    sites: Vec<String>,
    /// Only things described in this language: a tag like `de`. May be repeated.
    #[arg(long = "language", value_name = "TAG")]
    languages: Vec<String>,
    /// How many things to show.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// How many things to leave out at the beginning.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// The last word is only the beginning of one.
    #[arg(long)]
    prefix: bool,
    /// Show the literals that have the words, one by one.
    #[arg(long, conflicts_with_all = ["types", "vocabularies", "sites", "languages", "offset", "prefix"])]
    literals: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Search {
    pub fn run(self) -> anyhow::Result<()> {
        let snapshot = self.data.snapshot()?;
        let words = self.words.join(" ");
        if self.literals {
            return self.show_literals(&snapshot, &words);
        }
        let query = EntityQuery {
            words,
            types: self.types,
            vocabularies: self.vocabularies,
            sites: self.sites,
            languages: self.languages,
            limit: self.limit,
            offset: self.offset,
            as_you_type: self.prefix,
        };
        let found = snapshot.search_entities(&query)?;
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&found)?)?;
            return Ok(());
        }
        let marks = if out.is_terminal() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
        show(&mut out, &found, query.offset, marks)
    }

    fn show_literals(&self, snapshot: &Snapshot, words: &str) -> anyhow::Result<()> {
        let found = snapshot.search_literals(words, self.limit)?;
        let mut out = std::io::stdout().lock();
        if self.json {
            let found: Vec<_> = found
                .iter()
                .map(|hit| {
                    serde_json::json!({
                        "subject": name(&hit.subject),
                        "predicate": hit.predicate.as_str(),
                        "value": hit.literal.value(),
                        "language": hit.literal.language(),
                        "datatype": hit.literal.datatype().as_str(),
                        "graph": hit.graph.as_ref().map(name),
                    })
                })
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&found)?)?;
            return Ok(());
        }
        if found.is_empty() {
            eprintln!("nothing found");
        }
        for hit in found {
            writeln!(out, "{}", one_line(hit.literal.value()))?;
            writeln!(out, "  {} of {}", hit.predicate.as_str(), one_line(&name(&hit.subject)))?;
            if let Some(graph) = &hit.graph {
                writeln!(out, "  on {}", one_line(&name(graph)))?;
            }
        }
        Ok(())
    }
}

fn show(
    out: &mut impl Write,
    found: &EntityResults,
    offset: usize,
    marks: (&str, &str),
) -> anyhow::Result<()> {
    if found.results.is_empty() {
        eprintln!(
            "{}",
            if found.total == 0 { "nothing found" } else { "there are no more; use a smaller --offset" }
        );
        return Ok(());
    }
    if let Some(suggestion) = &found.suggestion {
        eprintln!("nothing found for these words; showing {suggestion:?}");
    }
    for entity in &found.results {
        show_entity(out, entity, marks)?;
    }
    let more = if found.total_is_exact { "" } else { "more than " };
    writeln!(
        out,
        "{} to {} of {more}{} things ({} ms)",
        offset + 1,
        offset + found.results.len(),
        with_commas(found.total),
        found.milliseconds
    )?;
    let facets = [
        ("type", &found.facets.types),
        ("vocabulary", &found.facets.vocabularies),
        ("site", &found.facets.sites),
        ("language", &found.facets.languages),
    ];
    for (option, values) in facets {
        show_facet(out, option, values)?;
    }
    Ok(())
}

fn show_entity(out: &mut impl Write, entity: &Entity, (begin, end): (&str, &str)) -> anyhow::Result<()> {
    let label = one_line(entity.label.as_deref().unwrap_or("(no name)"));
    let types: Vec<String> = entity.types.iter().map(|class| one_line(&class.label)).collect();
    let types = if types.is_empty() { String::new() } else { format!("  ({})", types.join(", ")) };
    writeln!(out, "{begin}{label}{end}{types}")?;
    writeln!(out, "  {}", one_line(&entity.iri))?;
    if !entity.snippet.text.text.is_empty()
        && entity.snippet.text.text != *entity.label.as_deref().unwrap_or_default()
    {
        writeln!(out, "  {}", marked(&entity.snippet.text, begin, end))?;
    }
    for page in &entity.pages {
        let title = page.title.as_deref().map(one_line).filter(|title| !title.is_empty() && *title != label);
        let title = title.map_or_else(String::new, |title| format!("  {title}"));
        writeln!(out, "  on {}{title}", one_line(&page.url))?;
    }
    let more = entity.pages_total.saturating_sub(entity.pages.len() as u64);
    if more > 0 {
        writeln!(out, "  and {} more pages, {} sites in all", with_commas(more), with_commas(entity.sites))?;
    }
    for same in &entity.same {
        writeln!(out, "  perhaps the same as {} {}", one_line(&same.label), one_line(&same.iri))?;
    }
    writeln!(out)?;
    Ok(())
}

fn show_facet(out: &mut impl Write, option: &str, values: &[FacetValue]) -> anyhow::Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> = values
        .iter()
        .take(FACET_VALUES_SHOWN)
        .map(|value| format!("{} {}", one_line(&value.label), with_commas(value.count)))
        .collect();
    let more = if values.len() > FACET_VALUES_SHOWN { ", …" } else { "" };
    writeln!(out, "--{option:<10} {}{more}", shown.join(", "))?;
    Ok(())
}

/// A snippet on one line, with its words marked.
fn marked(snippet: &Snippet, begin: &str, end: &str) -> String {
    let mut text = String::new();
    let mut at = 0;
    for place in &snippet.matches {
        let (Some(before), Some(word)) = (snippet.text.get(at..place.start), snippet.text.get(place.clone()))
        else {
            continue;
        };
        text.push_str(&clean(before));
        text.push_str(begin);
        text.push_str(&clean(word));
        text.push_str(end);
        at = place.end;
    }
    text.push_str(&clean(snippet.text.get(at..).unwrap_or_default()));
    text
}

/// Without control characters, which must not reach a terminal; spaces stay where they are.
fn clean(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_whitespace() { ' ' } else { character })
        .filter(|character| !character.is_control())
        .collect()
}

/// An IRI without brackets, or a blank node.
fn name(node: &NamedOrBlankNode) -> String {
    match node {
        NamedOrBlankNode::NamedNode(node) => node.as_str().to_owned(),
        NamedOrBlankNode::BlankNode(node) => node.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_and_terminals_are_safe() {
        let snippet =
            Snippet { text: "a \u{1b}[31mred\nboat".to_owned(), matches: std::iter::once(11..15).collect() };
        assert_eq!(marked(&snippet, "<", ">"), "a [31mred <boat>");
        assert_eq!(marked(&Snippet::default(), "<", ">"), "");
    }
}
