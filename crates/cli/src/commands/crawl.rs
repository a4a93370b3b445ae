//! `webloom crawl`: runs a crawl, shows how it goes, sums up.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::oneshot;
use webloom_model::{Frontier, FrontierCounts};
use webloom_pipeline::crawl::CrawlEnd;
use webloom_pipeline::spec::default_toml;
use webloom_pipeline::{Counters, Crawl, CrawlSpec, CrawlSummary, DataDir, Phase, RawSpec, SeedEnd};
use webloom_server::{Example, LiveCrawl, ServerConfig};

use super::replay::Reading;
use super::rules;
use super::serve::{self, ListenArguments};
use crate::output::{bytes, one_line, say, with_commas, wrong_usage};
use crate::signals::{self, Signals, Terminal};

/// Seeds that the summary of an empty crawl tells of.
const SEEDS_TOLD_MAX: usize = 10;

/// Crawl from seeds, or resume what the data directory already holds.
///
/// An interrupt (Ctrl-C), SIGTERM or the end of its terminal (SIGHUP) finishes the pages under way and stops; a second one
/// stops at once. Either way, and after a crash or a kill, the same command goes on where it was. Seeds that failed in an
/// earlier run are tried again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom crawl https://example.org/ --max-pages 500
  webloom crawl https://example.org/ --within anywhere --max-depth 2 --contact https://me.example/crawler
  webloom crawl --spec museums.toml --data museums       everything in a file; see --print-spec
  webloom crawl --data museums                           resume
  webloom crawl --from-warc CC-MAIN-1.warc.gz archive/    archived pages, without the network
  webloom crawl --source sparql=https://example.org/sparql --source void=https://example.org/
  webloom crawl http://localhost:8000/ --allow-private --delay 0s --set politeness.obey_robots=false")]
pub struct CrawlCommand {
    /// URLs to start from.
    #[arg(value_name = "SEED")]
    seeds: Vec<String>,
    /// Linked Data that does not come page by page: dump=URL, void=URL, sparql=URL or ckan=URL.
    #[arg(long, value_name = "KIND=URL")]
    source: Vec<String>,
    /// Read archived pages instead of fetching any: WARC or ARC files, plain, gzip or zstd, or directories of them.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["seeds", "source", "serve"])]
    from_warc: Vec<PathBuf>,
    /// A crawl specification (TOML). Flags override it.
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Directory for everything the crawl keeps. What it already holds is resumed.
    #[arg(long, value_name = "DIR", default_value = "webloom-data")]
    data: PathBuf,
    /// Stop after this many pages.
    #[arg(long, value_name = "N")]
    max_pages: Option<u32>,
    /// Follow at most this many links from a seed. When it is more than before, pages are visited again whose links were too deep.
    #[arg(long, value_name = "N")]
    max_depth: Option<u32>,
    /// Pause between two requests to one host, such as 500ms or 2s.
    #[arg(long, value_name = "DURATION")]
    delay: Option<String>,
    /// How far links are followed: domains (of the seeds), hosts (of the seeds) or anywhere.
    #[arg(long, value_name = "WHERE")]
    within: Option<String>,
    /// Follow only URLs that match one of these regular expressions.
    #[arg(long, value_name = "REGEX")]
    include: Vec<String>,
    /// Do not follow URLs that match one of these regular expressions.
    #[arg(long, value_name = "REGEX")]
    exclude: Vec<String>,
    /// Whom a webmaster can ask: a URL or a mail address, sent in the User-Agent.
    #[arg(long, value_name = "URL|MAIL")]
    contact: Option<String>,
    /// Fetch from private and loopback addresses too.
    #[arg(long)]
    allow_private: bool,
    /// Where hosts are, instead of asking DNS: HOST=ADDRESS[:PORT], *.SUFFIX=ADDRESS[:PORT].
    #[arg(long, value_name = "RULE")]
    resolve: Vec<String>,
    /// Requests under way at once.
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Any other field of the specification, such as store.links='"none"'. Texts may go without quotes.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Print every field of a specification with its default, and stop.
    #[arg(long)]
    print_spec: bool,
    /// Print the summary as JSON on stdout.
    #[arg(long)]
    json: bool,
    /// Show nothing while crawling.
    #[arg(short, long)]
    quiet: bool,
    /// Serve the web interface, SPARQL, search and control while the crawl runs; see `webloom serve --help`.
    #[arg(long)]
    serve: bool,
    #[command(flatten)]
    listen: ListenArguments,
}

/// True for what somebody gave as a seed and meant as `--spec`.
fn is_specification(seed: &str) -> bool {
    !seed.contains("://") && seed.ends_with(".toml") && Path::new(seed).is_file()
}

impl CrawlCommand {
    pub fn run(self) -> anyhow::Result<()> {
        if self.print_spec {
            std::io::stdout().write_all(default_toml().as_bytes())?;
            return Ok(());
        }
        if let Some(file) = self.seeds.iter().find(|seed| is_specification(seed)) {
            return Err(wrong_usage(format!(
                "`{file}` is a file, not a URL to start from; for a crawl specification write `--spec {file}`"
            )));
        }
        let data = DataDir::new(&self.data);
        let spec = self.specification(&data)?;
        if !self.from_warc.is_empty() {
            let reading = Reading { show: Show::of(self.quiet), json: self.json };
            return reading.archives(&data, spec, &self.from_warc);
        }
        if spec.seeds.is_empty() && spec.sources.is_empty() {
            return Err(wrong_usage(
                "nowhere to start: name a seed (`webloom crawl https://example.org/`), a --spec, or the --data directory of a crawl to resume",
            ));
        }
        let show = Show::of(self.quiet);
        let serve = if self.serve { Some(Serving::new(self.listen.config()?)) } else { None };
        let report = crawl_and_serve(&data, spec, show, serve)?;
        if self.json {
            let text = serde_json::to_string_pretty(&report.to_json())?;
            writeln!(std::io::stdout(), "{text}")?;
        } else if !self.quiet {
            say(&report.to_text(data.path()));
        }
        Ok(())
    }

    /// The file given, or the one the directory was started with, with the flags laid over it.
    fn specification(&self, data: &DataDir) -> anyhow::Result<CrawlSpec> {
        let kept = Some(data.spec()).filter(|kept| kept.is_file());
        let resumes = self.spec.is_none() && kept.is_some();
        let file = self.spec.clone().or(kept);
        let mut raw = match &file {
            Some(file) => read_spec(file)?,
            None => RawSpec::default(),
        };
        if resumes {
            // Further seeds of a crawl join the first: its scope must not lose them.
            raw.extend("seeds", &self.seeds);
            raw.extend("sources", &self.source);
        } else {
            for (key, values) in [("seeds", &self.seeds), ("sources", &self.source)] {
                if !values.is_empty() {
                    raw.set(key, values.clone());
                }
            }
        }
        if !self.from_warc.is_empty() && !resumes {
            // Archived pages are of any site; there are no seeds to stay near to.
            raw.set("scope.within", "anywhere");
        }
        self.lay_flags_over(&mut raw)?;
        raw.check().map_err(|problems| {
            let place = file.map(|file| format!(" ({} and the flags)", file.display())).unwrap_or_default();
            wrong_usage(format!("the crawl specification has problems{place}:\n{problems}"))
        })
    }

    fn lay_flags_over(&self, raw: &mut RawSpec) -> anyhow::Result<()> {
        for (key, value) in [
            ("scope.max_pages", self.max_pages),
            ("scope.max_depth", self.max_depth),
            ("work.connections", self.connections),
        ] {
            if let Some(value) = value {
                raw.set(key, i64::from(value));
            }
        }
        for (key, value) in [
            ("politeness.delay", &self.delay),
            ("scope.within", &self.within),
            ("politeness.contact", &self.contact),
        ] {
            if let Some(value) = value {
                raw.set(key, value.as_str());
            }
        }
        for (key, values) in [
            ("scope.include", &self.include),
            ("scope.exclude", &self.exclude),
            ("fetch.resolve", &self.resolve),
        ] {
            if !values.is_empty() {
                raw.set(key, values.clone());
            }
        }
        if self.allow_private {
            raw.set("fetch.allow_private", true);
        }
        for setting in &self.set {
            raw.set_from_text(setting)
                .map_err(|message| wrong_usage(format!("--set {setting}: {message}")))?;
        }
        Ok(())
    }
}

/// Reads a specification from a file. Paths in it are relative to the file's folder.
pub fn read_spec(file: &Path) -> anyhow::Result<RawSpec> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| wrong_usage(format!("cannot read `{}`: {error}", file.display())))?;
    let mut raw =
        RawSpec::parse(&text).map_err(|problems| wrong_usage(format!("{}:\n{problems}", file.display())))?;
    let absolute = std::path::absolute(file).with_context(|| format!("cannot find `{}`", file.display()))?;
    raw.resolve_paths(absolute.parent().unwrap_or(Path::new("/")));
    Ok(raw)
}

/// How a running crawl is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// A live picture, for a terminal.
    Live,
    /// A line now and then, for a log.
    Lines,
    /// Nothing.
    Nothing,
}

impl Show {
    /// What fits where stderr goes, or nothing.
    pub fn of(quiet: bool) -> Self {
        if quiet { Self::Nothing } else { Self::for_stderr() }
    }

    /// What fits where stderr goes.
    pub fn for_stderr() -> Self {
        if std::io::stderr().is_terminal() { Self::Live } else { Self::Lines }
    }
}

/// What is done with the report of a crawl that has ended.
pub type AtEnd = Box<dyn FnOnce(&CrawlReport) -> anyhow::Result<()>>;

/// How a crawl is served while it runs.
pub struct Serving {
    config: ServerConfig,
    /// Queries that the interface offers.
    pub examples: Vec<Example>,
    /// Whether to go on serving once the crawl has ended.
    pub stay: bool,
    /// Done once the crawl has ended and before serving goes on.
    pub at_end: Option<AtEnd>,
}

impl Serving {
    /// Serves as long as the crawl runs.
    pub fn new(config: ServerConfig) -> Self {
        Self { config, examples: Vec::new(), stay: false, at_end: None }
    }
}

/// Runs a crawl to its end, or until interrupted.
pub fn crawl(data: &DataDir, spec: CrawlSpec, show: Show) -> anyhow::Result<CrawlReport> {
    crawl_and_serve(data, spec, show, None)
}

/// The same, and serves it meanwhile.
pub fn crawl_and_serve(
    data: &DataDir,
    spec: CrawlSpec,
    show: Show,
    serving: Option<Serving>,
) -> anyhow::Result<CrawlReport> {
    let runtime = serve::runtime()?;
    let written = spec.written();
    let crawl = Arc::new(Crawl::open(data, spec)?);
    std::fs::write(data.spec(), written)
        .with_context(|| format!("cannot write `{}`", data.spec().display()))?;
    let report = runtime.block_on(run(data, crawl, show, serving))?;
    // A request that hangs must not hold the process once its page is settled or dropped.
    runtime.shutdown_timeout(Duration::from_millis(200));
    Ok(report)
}

async fn run(
    data: &DataDir,
    crawl: Arc<Crawl>,
    show: Show,
    serving: Option<Serving>,
) -> anyhow::Result<CrawlReport> {
    let counters = crawl.counters();
    let frontier = crawl.frontier();
    let live = Arc::new(LiveCrawl::new(crawl.clone()));
    let (end_server, server_ends) = oneshot::channel::<()>();
    let mut served = None;
    let mut stay = false;
    let mut at_end = None;
    if let Some(serving) = serving {
        let registry = serve::registry_of(data.path())?;
        registry.default_slot().map_err(|error| anyhow::anyhow!(error.message))?.adopt(live.clone());
        let server = serve::bind(serving.config, registry, serving.examples).await?;
        served = Some(tokio::spawn(server.run(async move {
            let _ = server_ends.await;
        })));
        stay = serving.stay;
        at_end = serving.at_end;
    }
    let (stop, signals) = signals::stops().context("cannot listen for signals")?;
    let shown = tokio::spawn(watch_progress(show, counters.clone(), frontier.clone()));
    let summary = live.run(stop).await;
    shown.abort();
    let _ = shown.await;
    if show != Show::Nothing {
        counters.notices.take().iter().for_each(|line| say(&format!("{line}\n")));
    }
    let summary = summary?;
    let elapsed = counters.elapsed();
    let mut report = CrawlReport { summary, elapsed, counters, seeds: Vec::new(), more_seeds: 0 };
    (report.seeds, report.more_seeds) = crawl.seeds_without_page(SEEDS_TOLD_MAX)?;
    if let Some(at_end) = at_end {
        at_end(&report)?;
    }
    if stay && report.summary.end != CrawlEnd::Stopped {
        signals.abort();
        let mut signals = Signals::listen(Terminal::Matters).context("cannot listen for signals")?;
        say("the crawl has ended; interrupt (Ctrl-C) to end the server too\n");
        signals.next().await;
    }
    let _ = end_server.send(());
    if let Some(served) = served {
        let _ = served.await;
    }
    Ok(report)
}

/// Shows how the crawl goes until the task is aborted.
async fn watch_progress(show: Show, counters: Arc<Counters>, frontier: Arc<dyn Frontier>) {
    match show {
        Show::Nothing => {}
        Show::Live => {
            let bar = ProgressBar::new_spinner();
            // The template is a constant and known to parse; without it the bar would only look plainer.
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                bar.set_style(style);
            }
            let bar = ClearOnDrop(bar);
            let mut meter = Meter::new(&counters);
            let mut ticks = tokio::time::interval(Duration::from_millis(250));
            loop {
                tokio::select! {
                    _ = ticks.tick() => {
                        bar.0.set_message(meter.picture(&counters, &frontier.counts()));
                        bar.0.tick();
                    }
                    lines = counters.notices.next() => lines.into_iter().for_each(|line| bar.0.println(line)),
                }
            }
        }
        Show::Lines => {
            let mut meter = Meter::new(&counters);
            let mut ticks = tokio::time::interval(Duration::from_secs(5));
            ticks.tick().await;
            loop {
                tokio::select! {
                    _ = ticks.tick() => say(&format!("{}\n", meter.line(&counters, &frontier.counts()))),
                    lines = counters.notices.next() => {
                        lines.iter().for_each(|line| say(&format!("{line}\n")));
                    }
                }
            }
        }
    }
}

struct ClearOnDrop(ProgressBar);

impl Drop for ClearOnDrop {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Turns counters into rates since the last look.
struct Meter {
    looked: Instant,
    pages: [u64; 5],
}

impl Meter {
    fn new(counters: &Counters) -> Self {
        Self { looked: Instant::now(), pages: Phase::ALL.map(|phase| counters.phase(phase).pages) }
    }

    /// Pages per second of each phase since the last look, which is kept at least a second apart.
    fn rates(&mut self, counters: &Counters) -> [f64; 5] {
        let seconds = self.looked.elapsed().as_secs_f64().max(1e-3);
        let pages = Phase::ALL.map(|phase| counters.phase(phase).pages);
        let rates = std::array::from_fn(|phase| (pages[phase] - self.pages[phase]) as f64 / seconds);
        if seconds >= 3.0 {
            *self = Self { looked: Instant::now(), pages };
        }
        rates
    }

    fn picture(&mut self, counters: &Counters, counts: &FrontierCounts) -> String {
        let rates = self.rates(counters);
        let phases: Vec<String> = Phase::ALL
            .iter()
            .zip(rates)
            .map(|(phase, rate)| format!("{} {rate:.0}/s", phase.as_str()))
            .collect();
        format!(
            "{} pages, {} quads, {}  [{}]\n  {}\n  queue {} on {} hosts; fetching {}, reading {}, committing {}; no page: {}{}",
            with_commas(counts.indexed),
            with_commas(counters.quads.load(Relaxed)),
            bytes(counters.wire_bytes.load(Relaxed)),
            clock(counters.elapsed()),
            phases.join(" → "),
            with_commas(counts.queued),
            with_commas(counts.hosts),
            counters.fetching.load(Relaxed),
            counters.working.load(Relaxed),
            counters.committing.load(Relaxed),
            not_pages(counters),
            waiting(counters),
        )
    }

    fn line(&mut self, counters: &Counters, counts: &FrontierCounts) -> String {
        let rates = self.rates(counters);
        let phases: Vec<String> = Phase::ALL
            .iter()
            .zip(rates)
            .map(|(phase, rate)| format!("{}={rate:.0}/s", phase.as_str()))
            .collect();
        format!(
            "{} pages={} queued={} hosts={} {} quads={} no-page: {}{}",
            clock(counters.elapsed()),
            counts.indexed,
            counts.queued,
            counts.hosts,
            phases.join(" "),
            counters.quads.load(Relaxed),
            not_pages(counters),
            waiting(counters),
        )
    }
}

fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

fn not_pages(counters: &Counters) -> String {
    let reasons: Vec<String> =
        counters.not_pages().iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") }
}

/// Why nothing happens, if nothing does.
fn waiting(counters: &Counters) -> &'static str {
    if counters.archive_waits.load(Relaxed) { "; waiting for room on the disk" } else { "" }
}

/// What a crawl did in this process, and where it stands.
pub struct CrawlReport {
    /// How it ended.
    pub summary: CrawlSummary,
    /// How long it took. Whoever prints this may have done other things since.
    pub elapsed: Duration,
    /// What was counted.
    pub counters: Arc<Counters>,
    /// Why there is no page of a seed, of the first such seeds.
    pub seeds: Vec<SeedEnd>,
    /// Seeds beyond those.
    pub more_seeds: usize,
}

impl CrawlReport {
    fn end(&self) -> &'static str {
        match self.summary.end {
            CrawlEnd::Complete => "complete",
            CrawlEnd::BudgetSpent => "budget spent",
            CrawlEnd::Stopped => "stopped",
        }
    }

    /// For people.
    pub fn to_text(&self, data: &Path) -> String {
        let CrawlSummary { counts, .. } = &self.summary;
        let counters = &self.counters;
        let seconds = self.elapsed.as_secs_f64().max(1e-3);
        let indexed = counters.indexed.load(Relaxed);
        let mut text = format!(
            "{}: {} pages, {} URLs without a page, {} still queued\n\
             this run: {} pages in {:.1} s ({:.1}/s), {} quads, {} received, {} links found\n",
            self.end(),
            with_commas(counts.indexed),
            with_commas(counts.no_page),
            with_commas(counts.queued),
            with_commas(indexed),
            seconds,
            indexed as f64 / seconds,
            with_commas(counters.quads.load(Relaxed)),
            bytes(counters.wire_bytes.load(Relaxed)),
            with_commas(counters.links.load(Relaxed)),
        );
        text.push_str("  phase       pages   pages/s   busy s   pages per busy second\n");
        for phase in Phase::ALL {
            let numbers = counters.phase(phase);
            text.push_str(&format!(
                "  {:<10} {:>6} {:>9.1} {:>8.2} {:>12.0}\n",
                phase.as_str(),
                numbers.pages,
                numbers.pages as f64 / seconds,
                numbers.busy.as_secs_f64(),
                numbers.pages_per_busy_second(),
            ));
        }
        text.push_str(&rules::to_text(counters));
        text.push_str(&format!("no page: {}\n", not_pages(counters)));
        let archived = counters.archive_records.load(Relaxed);
        if archived > 0 {
            let size = bytes(counters.archive_bytes.load(Relaxed));
            text.push_str(&format!("archived: {} records, {size}\n", with_commas(archived)));
        }
        if !self.seeds.is_empty() {
            let which = if counts.indexed == 0 { "the seeds" } else { "these seeds" };
            text.push_str(&format!("no page came of {which}:\n"));
        }
        for SeedEnd { seed, reason } in &self.seeds {
            text.push_str(&format!("  {}: {}\n", one_line(seed.as_str()), one_line(reason)));
        }
        if self.more_seeds > 0 {
            text.push_str(&format!("  … and {} more\n", with_commas(self.more_seeds as u64)));
        }
        if self.summary.end != CrawlEnd::Complete {
            text.push_str(&format!("resume with: webloom crawl --data {}\n", data.display()));
        }
        text
    }

    /// For programs.
    pub fn to_json(&self) -> serde_json::Value {
        let CrawlSummary { counts, .. } = &self.summary;
        let counters = &self.counters;
        let phases: serde_json::Map<String, serde_json::Value> = Phase::ALL
            .iter()
            .map(|phase| {
                let numbers = counters.phase(*phase);
                let value =
                    serde_json::json!({"pages": numbers.pages, "busy_seconds": numbers.busy.as_secs_f64()});
                (phase.as_str().to_owned(), value)
            })
            .collect();
        let seeds: Vec<_> = self
            .seeds
            .iter()
            .map(|SeedEnd { seed, reason }| serde_json::json!({"seed": seed.as_str(), "reason": reason}))
            .collect();
        serde_json::json!({
            "end": self.end(),
            "pages": counts.indexed,
            "no_page": counts.no_page,
            "queued": counts.queued,
            "known": counts.known,
            "seeds_without_page": seeds,
            "run": {
                "seconds": self.elapsed.as_secs_f64(),
                "pages": counters.indexed.load(Relaxed),
                "quads": counters.quads.load(Relaxed),
                "wire_bytes": counters.wire_bytes.load(Relaxed),
                "links": counters.links.load(Relaxed),
                "commits": counters.commits.load(Relaxed),
                "archive_records": counters.archive_records.load(Relaxed),
                "archive_bytes": counters.archive_bytes.load(Relaxed),
                "phases": phases,
                "no_page": counters.not_pages(),
                "rules": rules::steps_to_json(counters),
                "services": rules::services_to_json(counters),
            },
        })
    }
}
