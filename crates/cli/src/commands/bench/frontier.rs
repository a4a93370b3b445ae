//! `webloom bench frontier`: does the frontier stay as quick and as small as it was, up to a hundred million URLs?
//!
//! The measuring is done by [`webloom_frontier::measure`]; here are its knobs and its table.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use webloom_frontier::measure::{MeasureOptions, Report, Tenth, measure};

use crate::output::{bytes, with_commas, wrong_usage};

/// Fill a frontier with URLs, and measure it at each tenth.
#[derive(Debug, Args)]
pub struct BenchFrontier {
    /// URLs.
    #[arg(long, default_value_t = 10_000_000)]
    urls: u64,
    /// Hosts they are spread over.
    #[arg(long, default_value_t = 100_000)]
    hosts: u64,
    /// Links of a crawl's pages that are known already, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 85, value_parser = clap::value_parser!(u32).range(0..100))]
    known: u32,
    /// Links of such pages that are settled, in each tenth.
    #[arg(long, default_value_t = 2_000_000)]
    links: u64,
    /// Pages without links that are leased and settled, in each tenth.
    #[arg(long, default_value_t = 100_000)]
    pages: u64,
    /// Questions "seen before?", in each tenth.
    #[arg(long, default_value_t = 1_000_000)]
    questions: u64,
    /// Scores of queued URLs that are changed, in each tenth.
    #[arg(long, default_value_t = 200_000)]
    scores: u64,
    /// Where to keep the frontier; a temporary directory otherwise.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl BenchFrontier {
    pub fn run(self) -> anyhow::Result<()> {
        if self.urls < 100_000 || self.hosts == 0 {
            return Err(wrong_usage("at least 100000 URLs on one host are needed to measure anything"));
        }
        let data = match &self.data {
            Some(data) if data.join("store").exists() => {
                return Err(wrong_usage(format!("`{}` already holds a frontier", data.display())));
            }
            Some(data) => data.clone(),
            None => std::env::temp_dir().join(format!("webloom-bench-frontier-{}", std::process::id())),
        };
        let options = MeasureOptions {
            data: data.clone(),
            urls: self.urls,
            hosts: self.hosts,
            known_percent: self.known,
            links: self.links,
            pages: self.pages,
            questions: self.questions,
            scores: self.scores,
        };
        let measured = measure(&options, |tenth| eprintln!("{}", line(tenth)))?;
        if self.data.is_none() {
            std::fs::remove_dir_all(&data).with_context(|| format!("cannot remove `{}`", data.display()))?;
        }
        let report = Report::new(&options, &measured);
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
            return Ok(());
        }
        for tenth in &measured.tenths {
            writeln!(out, "{}", line(tenth))?;
        }
        writeln!(out, "last tenth to first\n{}", report.ratios())?;
        writeln!(out, "reopened in {:.2} s", measured.reopened.as_secs_f64())?;
        Ok(())
    }
}

/// A tenth in one line: rates by the wall.
fn line(tenth: &Tenth) -> String {
    let rate = |per_second: f64| with_commas(per_second as u64);
    format!(
        "{} URLs: {} checks/s ({} of any URLs), {} pages/s with their links ({} leases/s, {} links/s, {} new links/s), \
         {} pages/s without, {} scores/s, longest call {:.0} ms, {} of memory and {} of mapped files, {:.0} bytes a URL on disk, {:.1} s, {:.1} CPU-s",
        with_commas(tenth.urls),
        rate(tenth.checks.per_second()),
        rate(tenth.checks_anywhere.per_second()),
        rate(tenth.crawl().per_second()),
        rate(tenth.leases.per_second()),
        rate(tenth.links.per_second()),
        rate(tenth.fill.per_second()),
        rate(tenth.pages.per_second()),
        rate(tenth.scores.per_second()),
        tenth.worst_call().as_secs_f64() * 1e3,
        bytes(tenth.anonymous),
        bytes(tenth.resident.saturating_sub(tenth.anonymous)),
        tenth.disk as f64 / tenth.urls.max(1) as f64,
        tenth.wall.as_secs_f64(),
        tenth.cpu.as_secs_f64(),
    )
}
