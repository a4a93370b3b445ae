//! `webloom check`: is every byte of the index what was written, and does everything agree?

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use clap::Args;
use webloom_index::CheckReport;
use webloom_pipeline::DataDir;

use crate::output::{DataArgument, with_commas, wrong_usage};

/// Read the whole index and say what is wrong with it, if anything.
///
/// Checks all checksums, the six orders of every segment against each other, terms against their ids, counts and statistics, and the
/// text index against the quads. May be run while a crawl writes. Exits with 1 when something is wrong.
#[derive(Debug, Args)]
pub struct Check {
    #[command(flatten)]
    data: DataArgument,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub fn run(self) -> anyhow::Result<()> {
        let data = DataDir::new(&self.data.data);
        if !data.has_index() {
            return Err(wrong_usage(format!("`{}` holds no index", self.data.data.display())));
        }
        let report = webloom_index::check(&data.index())?;
        let mut out = std::io::stdout().lock();
        if self.json {
            let json = serde_json::json!({
                "generation": report.generation,
                "segments": report.segments,
                "quads": report.quads,
                "text_documents": report.text_documents,
                "problems": report.problems,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        } else {
            for problem in &report.problems {
                writeln!(out, "{problem}")?;
            }
        }
        conclude(&report)
    }
}

fn conclude(report: &CheckReport) -> anyhow::Result<()> {
    if !report.is_clean() {
        bail!("{} problems in generation {}", report.problems.len(), report.generation);
    }
    eprintln!(
        "generation {} is whole: {} quads in {} segments, {} text documents",
        report.generation,
        with_commas(report.quads),
        with_commas(report.segments),
        with_commas(report.text_documents)
    );
    Ok(())
}

/// Fails, naming the first problem, when the index is not whole.
pub fn must_be_clean(index: &Path) -> anyhow::Result<()> {
    let report = webloom_index::check(index)?;
    match report.problems.first() {
        Some(problem) => bail!("{problem}"),
        None => Ok(()),
    }
}
