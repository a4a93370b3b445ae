//! `webloom crawl --from-warc` and `webloom reindex`: archived pages through the phases, without the network.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use webloom_archive::{ArchiveSettings, ArchiveWriter};
use webloom_index::{Index, IndexConfig};
use webloom_pipeline::replay::Progress;
use webloom_pipeline::replay::files::{Positions, list};
use webloom_pipeline::{Counters, CrawlSpec, DataDir, Phase, RawSpec, Replay, ReplaySummary};

use super::crawl::Show;
use crate::output::{bytes, say, with_commas, wrong_usage};
use crate::signals::{Signals, Terminal};

/// Run the phases again over what a data directory has archived, after an improvement of a transform.
///
/// Every page is woven anew from the bytes that were received; nothing is fetched. What was read from other archives
/// with `crawl --from-warc` is read from there again.
#[derive(Debug, Args)]
pub struct Reindex {
    /// The data directory.
    #[arg(long, value_name = "DIR", default_value = "webloom-data")]
    data: PathBuf,
    /// Any field of the specification, such as store.links='"none"'. Texts may go without quotes.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print the summary as JSON on stdout.
    #[arg(long)]
    json: bool,
    /// Show nothing while it runs.
    #[arg(short, long)]
    quiet: bool,
}

impl Reindex {
    pub fn run(self) -> anyhow::Result<()> {
        let data = DataDir::new(&self.data);
        if !data.has_index() {
            return Err(wrong_usage(format!("there is no index in `{}`", self.data.display())));
        }
        let mut raw = match std::fs::read_to_string(data.spec()) {
            Ok(text) => RawSpec::parse(&text).map_err(|problems| wrong_usage(problems.to_string()))?,
            Err(_) => RawSpec::default(),
        };
        for setting in &self.set {
            raw.set_from_text(setting)
                .map_err(|message| wrong_usage(format!("--set {setting}: {message}")))?;
        }
        let spec = raw.check().map_err(|problems| wrong_usage(problems.to_string()))?;
        let files = self.files(&data)?;
        if files.is_empty() {
            bail!("nothing is archived in `{}`, so there is nothing to read again", self.data.display());
        }
        // A reindex that was interrupted goes on; one that ended begins anew.
        let positions = self.data.join("reindex.json");
        let reading = Reading { show: Show::of(self.quiet), json: self.json };
        let summary = reading.run(&data, spec, files, positions.clone())?;
        if !summary.stopped {
            std::fs::remove_file(&positions).context("cannot remove what was kept for a resumption")?;
        }
        Ok(())
    }

    fn files(&self, data: &DataDir) -> anyhow::Result<Vec<PathBuf>> {
        if data.archive().is_dir() {
            // A crawl that runs has the index, and its open file is not ours to touch.
            drop(Index::open(&data.index(), IndexConfig::default())?);
            // A file that a kill has left open is made whole first.
            drop(ArchiveWriter::open(&data.archive(), ArchiveSettings::default())?);
            let files = list(&[data.archive()])?.files;
            if !files.is_empty() {
                return Ok(files);
            }
        }
        Ok(Positions::open(data.replayed())?.paths().map(PathBuf::from).collect())
    }
}

/// How archives are read.
pub struct Reading {
    /// How it is shown.
    pub show: Show,
    /// Whether the summary is JSON.
    pub json: bool,
}

impl Reading {
    /// Reads the archives that are named into the directory.
    pub fn archives(&self, data: &DataDir, spec: CrawlSpec, paths: &[PathBuf]) -> anyhow::Result<()> {
        let listed = list(paths).map_err(|error| wrong_usage(error.to_string()))?;
        for note in &listed.notes {
            eprintln!("{note}");
        }
        if listed.files.is_empty() {
            return Err(wrong_usage("there is no WARC or ARC file among what --from-warc names"));
        }
        let summary = self.run(data, spec, listed.files, data.replayed())?;
        if summary.files == 0 && summary.failed > 0 {
            bail!("none of the files could be read");
        }
        Ok(())
    }

    fn run(
        &self,
        data: &DataDir,
        spec: CrawlSpec,
        files: Vec<PathBuf>,
        positions: PathBuf,
    ) -> anyhow::Result<ReplaySummary> {
        let replay = Replay::open(data, spec, files, positions)?;
        let (progress, counters) = (replay.progress(), replay.counters());
        let stop = interrupt()?;
        let start = Instant::now();
        let over = AtomicBool::new(false);
        let summary = std::thread::scope(|scope| {
            scope.spawn(|| watch(self.show, &progress, &counters, start, &over));
            let summary = replay.run(&stop);
            over.store(true, Relaxed);
            summary
        })?;
        progress.take_notes().iter().for_each(|note| say(&format!("{note}\n")));
        let seconds = start.elapsed().as_secs_f64().max(1e-3);
        if self.json {
            let json = to_json(&summary, &progress, &counters, seconds);
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&json)?)?;
        } else if self.show != Show::Nothing {
            say(&to_text(&summary, &progress, &counters, seconds));
        }
        Ok(summary)
    }
}

/// Set by the first signal that asks to end; a second one ends the process, which loses nothing.
fn interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("webloom-signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            let mut signals = match Signals::listen(Terminal::Matters) {
                Ok(signals) => signals,
                Err(error) => return say(&format!("cannot listen for signals: {error}\n")),
            };
            loop {
                signals.next().await;
                if asked.swap(true, Relaxed) {
                    std::process::exit(130);
                }
                say("\nfinishing the pages under way; the same command goes on where it was\n");
            }
        });
    })?;
    Ok(stop)
}

fn watch(show: Show, progress: &Progress, counters: &Counters, start: Instant, over: &AtomicBool) {
    let bar = (show == Show::Live).then(|| ProgressBar::new(progress.bytes_total.load(Relaxed)));
    if let Some(bar) = &bar
        && let Ok(style) = ProgressStyle::with_template("{bar:30} {msg}")
    {
        bar.set_style(style);
    }
    let mut told = Instant::now();
    while !over.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
        for note in progress.take_notes() {
            match &bar {
                Some(bar) => bar.suspend(|| say(&format!("{note}\n"))),
                None => say(&format!("{note}\n")),
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        if let Some(bar) = &bar {
            bar.set_position(progress.bytes.load(Relaxed));
            bar.set_message(line(progress, counters, seconds));
        } else if show == Show::Lines && told.elapsed() >= Duration::from_secs(5) {
            told = Instant::now();
            say(&format!("{}\n", line(progress, counters, seconds)));
        }
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
}

fn line(progress: &Progress, counters: &Counters, seconds: f64) -> String {
    let pages = counters.indexed.load(Relaxed);
    format!(
        "{} of {}, {} records, {} pages ({:.0}/s), {} quads",
        bytes(progress.bytes.load(Relaxed)),
        bytes(progress.bytes_total.load(Relaxed)),
        with_commas(progress.records.load(Relaxed)),
        with_commas(pages),
        pages as f64 / seconds.max(1e-3),
        with_commas(counters.quads.load(Relaxed)),
    )
}

fn to_text(summary: &ReplaySummary, progress: &Progress, counters: &Counters, seconds: f64) -> String {
    let end = if summary.stopped { "stopped" } else { "complete" };
    let mut text = format!("{end}: {}\n", line(progress, counters, seconds));
    for phase in Phase::ALL {
        let numbers = counters.phase(phase);
        let name = if phase == Phase::Fetch { "read" } else { phase.as_str() };
        text.push_str(&format!(
            "  {name:<10} {:>7} pages {:>8.2} s busy {:>9.0} pages per busy second\n",
            numbers.pages,
            numbers.busy.as_secs_f64(),
            numbers.pages_per_busy_second(),
        ));
    }
    let skipped: Vec<String> =
        progress.skipped().iter().map(|(why, count)| format!("{why} {}", with_commas(*count))).collect();
    if !skipped.is_empty() {
        text.push_str(&format!("no pages: {}\n", skipped.join(", ")));
    }
    for (count, words) in [
        (
            progress.older.load(Relaxed),
            "captures are older than the page that is kept; they are in its history",
        ),
        (progress.problems.load(Relaxed), "damaged places were passed over"),
        (summary.failed as u64, "files could not be read"),
    ] {
        if count > 0 {
            text.push_str(&format!("{} {words}\n", with_commas(count)));
        }
    }
    text
}

fn to_json(
    summary: &ReplaySummary,
    progress: &Progress,
    counters: &Counters,
    seconds: f64,
) -> serde_json::Value {
    let phases: serde_json::Map<String, serde_json::Value> = Phase::ALL
        .iter()
        .map(|phase| {
            let numbers = counters.phase(*phase);
            let value =
                serde_json::json!({"pages": numbers.pages, "busy_seconds": numbers.busy.as_secs_f64()});
            (phase.as_str().to_owned(), value)
        })
        .collect();
    serde_json::json!({
        "end": if summary.stopped { "stopped" } else { "complete" },
        "files": summary.files,
        "files_failed": summary.failed,
        "seconds": seconds,
        "bytes": progress.bytes.load(Relaxed),
        "records": progress.records.load(Relaxed),
        "answers": progress.answers.load(Relaxed),
        "older": progress.older.load(Relaxed),
        "problems": progress.problems.load(Relaxed),
        "pages": counters.indexed.load(Relaxed),
        "quads": counters.quads.load(Relaxed),
        "links": counters.links.load(Relaxed),
        "skipped": progress.skipped(),
        "phases": phases,
    })
}
