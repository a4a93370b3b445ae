//! `webloom search`: finds things by words.

use std::io::Write;

use clap::Args;

use crate::output::DataArgument;

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
                        "subject": hit.subject.to_string(),
                        "label": hit.label,
                        "types": hit.types,
                        "snippet": hit.snippet,
                        "pages": hit.pages,
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
            writeln!(out, "{}", hit.label.as_deref().unwrap_or("(no label)"))?;
            writeln!(out, "  {}", hit.subject)?;
            if !hit.types.is_empty() {
                writeln!(out, "  a {}", hit.types.join(", "))?;
            }
            if !hit.snippet.is_empty() {
                writeln!(out, "  {}", hit.snippet)?;
            }
            for page in &hit.pages {
                writeln!(out, "  on {page}")?;
            }
        }
        Ok(())
    }
}
