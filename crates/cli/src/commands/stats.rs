//! `webloom stats`: how much there is.

use std::io::Write;

use clap::Args;

use crate::output::{DataArgument, bytes, with_commas};

/// Say how much the index holds: pages, quads, terms, bytes by part.
#[derive(Debug, Args)]
pub struct Stats {
    #[command(flatten)]
    data: DataArgument,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Stats {
    pub fn run(self) -> anyhow::Result<()> {
        let snapshot = self.data.snapshot()?;
        let stats = snapshot.stats()?;
        let total = stats.bytes.total;
        let parts = [
            ("term ids", stats.bytes.term_ids),
            ("term texts", stats.bytes.term_texts),
            ("orders", stats.bytes.orders),
            ("full text", stats.bytes.text),
            ("other", stats.bytes.other),
        ];
        // Words are another kind of thing than quads; a figure per quad that counts them says little.
        let per_quad =
            if stats.quads == 0 { 0.0 } else { (total - stats.bytes.text) as f64 / stats.quads as f64 };
        let mut out = std::io::stdout().lock();
        if self.json {
            let parts: serde_json::Map<String, serde_json::Value> =
                parts.iter().map(|(part, bytes)| (part.replace(' ', "_"), (*bytes).into())).collect();
            let json = serde_json::json!({
                "generation": snapshot.generation(),
                "graphs": stats.graphs,
                "metadata_graphs": stats.metadata_graphs,
                "quads": stats.quads,
                "terms": stats.terms,
                "segments": stats.segments,
                "bytes": parts,
                "bytes_total": total,
                "bytes_per_quad": per_quad,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
            return Ok(());
        }
        writeln!(out, "pages      {:>14}", with_commas(stats.graphs))?;
        writeln!(out, "metadata   {:>14}", with_commas(stats.metadata_graphs))?;
        writeln!(out, "quads      {:>14}", with_commas(stats.quads))?;
        writeln!(out, "terms      {:>14}", with_commas(stats.terms))?;
        writeln!(out, "segments   {:>14}", with_commas(stats.segments))?;
        for (part, size) in parts {
            writeln!(out, "{part:<10} {:>14}", bytes(size))?;
        }
        writeln!(
            out,
            "{:<10} {:>14}  ({per_quad:.1} bytes a quad without full text)",
            "in all",
            bytes(total)
        )?;
        Ok(())
    }
}
