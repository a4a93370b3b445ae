//! `webloom search`: finds things by words.

use std::io::Write;

use clap::Args;

use oxrdf::{NamedNode, NamedOrBlankNode};

use crate::output::{DataArgument, one_line};

/// Find things by words in what is said of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom search painter
  webloom search --json --limit 3 'blue harbour'")]
pub struct Search {
    /// Words to look for.
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    #[command(flatten)]
    data: DataArgument,
    /// How many things to show.
    #[arg(long, value_name = "N", default_value_t = 10)]
    limit: usize,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Search {
    pub fn run(self) -> anyhow::Result<()> {
        let hits = self.data.snapshot()?.search(&self.words.join(" "), self.limit)?;
        let mut out = std::io::stdout().lock();
        if self.json {
            let hits: Vec<_> = hits
                .iter()
                .map(|hit| {
                    serde_json::json!({
                        "subject": name(&hit.subject),
                        "label": hit.label,
                        "types": hit.types.iter().map(NamedNode::as_str).collect::<Vec<_>>(),
                        "snippet": hit.snippet.text,
                        "pages": hit.pages.iter().map(name).collect::<Vec<_>>(),
                        "score": hit.score,
                    })
                })
                .collect();
            writeln!(out, "{}", serde_json::to_string_pretty(&hits)?)?;
            return Ok(());
        }
        if hits.is_empty() {
            eprintln!("nothing found");
        }
        for hit in hits {
            writeln!(out, "{}", one_line(hit.label.as_deref().unwrap_or("(no label)")))?;
            writeln!(out, "  {}", name(&hit.subject))?;
            if !hit.types.is_empty() {
                writeln!(
                    out,
                    "  a {}",
                    hit.types.iter().map(NamedNode::as_str).collect::<Vec<_>>().join(", ")
                )?;
            }
            if !hit.snippet.text.is_empty() {
                writeln!(out, "  {}", one_line(&hit.snippet.text))?;
            }
            for page in &hit.pages {
                writeln!(out, "  on {}", name(page))?;
            }
        }
        Ok(())
    }
}

/// An IRI without brackets, or a blank node.
fn name(node: &NamedOrBlankNode) -> String {
    match node {
        NamedOrBlankNode::NamedNode(node) => node.as_str().to_owned(),
        NamedOrBlankNode::BlankNode(node) => node.to_string(),
    }
}
