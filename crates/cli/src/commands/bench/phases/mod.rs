//! `webloom bench phases`: what each of the five phases costs, alone and together, over the same pages.
//!
//! The pages are those of the generated web, fetched once over loopback; what one phase makes of them is what the next one
//! gets. Times are the processor's, so that a busy machine changes them little. Then single phases are given more and more, to see whether
//! their cost stays in proportion ([`growth`]). The table stands beside MultiCrawler's of 2006, which began with this idea.

mod growth;
mod meter;
mod plot;
mod run;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use self::growth::Growth;
use self::meter::Cost;
pub(super) use self::run::writes;
use super::WebArguments;

/// Measure each phase alone, and the whole, over the same generated pages.
#[derive(Debug, Args)]
pub(super) struct BenchPhases {
    #[command(flatten)]
    web: WebArguments,
    /// How many quads the largest index of the growth table gets.
    #[arg(long, value_name = "QUADS", default_value_t = 1_000_000)]
    grow_to: u64,
    /// Leave out how costs grow.
    #[arg(long)]
    no_growth: bool,
    /// Draw the table into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A phase and what MultiCrawler's prototype reached in it, in pages per second on one machine of 2006.
const MULTICRAWLER: [(&str, f64); 5] =
    [("fetch", 38.0), ("detect", 460.0), ("transform", 5.0), ("index", 92.0), ("extract", 260.0)];

/// What was measured.
struct Table {
    /// The five phases and `whole`, by name.
    costs: Vec<(&'static str, Cost)>,
    /// Bytes on disk per page after merging.
    disk_bytes_per_page: f64,
    /// Quads per page, metadata included.
    quads_per_page: f64,
    /// Links per page that were worth offering to the frontier.
    links_per_page: f64,
    growth: Vec<Growth>,
}

impl BenchPhases {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let mut table = run::all(&self.web)?;
        if !self.no_growth {
            table.growth = growth::all(self.web.seed, self.grow_to)?;
        }
        if let Some(file) = &self.svg {
            std::fs::write(file, plot::draw(&table))
                .with_context(|| format!("cannot write `{}`", file.display()))?;
        }
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&table.to_json(&self.web))?)?;
        } else {
            write!(out, "{}", table.to_text())?;
        }
        Ok(())
    }
}

impl Table {
    fn to_text(&self) -> String {
        let mut text = format!(
            "{:<10} {:>10} {:>9} {:>12} {:>10} {:>13} {:>9}\n",
            "phase", "pages/s", "MB/s", "CPU-s/1000", "peak MB", "MultiCrawler", "ratio"
        );
        for (name, cost) in &self.costs {
            let then = MULTICRAWLER.iter().find(|(phase, _)| phase == name).map(|(_, rate)| *rate);
            let (then, ratio) = match then {
                Some(then) => (format!("{then:.0}"), format!("{:.0}x", cost.pages_per_cpu_second() / then)),
                None => Default::default(),
            };
            text.push_str(&format!(
                "{name:<10} {:>10.0} {:>9.1} {:>12.3} {:>10.1} {then:>13} {ratio:>9}\n",
                cost.pages_per_cpu_second(),
                cost.megabytes_per_cpu_second(),
                cost.cpu_seconds_per_thousand(),
                cost.peak_bytes as f64 / 1e6,
            ));
        }
        text.push_str(&format!(
            "Rates are per second of one core. A page makes {:.1} quads, {:.0} bytes on disk and {:.1} links.\n",
            self.quads_per_page, self.disk_bytes_per_page, self.links_per_page
        ));
        for growth in &self.growth {
            text.push_str(&growth.to_text());
        }
        text
    }

    fn to_json(&self, web: &WebArguments) -> Value {
        let costs: serde_json::Map<String, Value> =
            self.costs.iter().map(|(name, cost)| ((*name).to_owned(), cost.to_json())).collect();
        json!({
            "phases": costs,
            "multicrawler_pages_per_second": MULTICRAWLER.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
            "disk_bytes_per_page": self.disk_bytes_per_page,
            "quads_per_page": self.quads_per_page,
            "links_per_page": self.links_per_page,
            "growth": self.growth.iter().map(Growth::to_json).collect::<Vec<_>>(),
            "web": web.to_json(),
        })
    }
}
