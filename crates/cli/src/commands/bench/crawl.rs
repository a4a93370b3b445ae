//! `webloom bench crawl`: the whole pipeline over a generated web; with `--compare`, beside its parts and beside a bare download.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use serde_json::json;
use webloom_pipeline::{CrawlSpec, DataDir};

use super::super::crawl::{CrawlReport, Show, crawl};
use super::{ServerProcess, Usage, WebArguments, crawl_spec, download, links, pause_of};
use crate::output::wrong_usage;

/// Crawl a generated web, served by a process of its own, with the whole pipeline.
#[derive(Debug, Args)]
pub struct BenchCrawl {
    #[command(flatten)]
    web: WebArguments,
    /// Where to keep the crawl; a temporary directory otherwise.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Pause between two requests to one host.
    #[arg(long, value_name = "DURATION", default_value = "0s")]
    delay: String,
    /// Pause between two requests to one pay-level domain; that of a host unless told.
    #[arg(long, value_name = "DURATION")]
    domain_delay: Option<String>,
    /// End after this many seconds, and report what was done by then.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Also crawl without transforms and index (fetch, links, seen, politeness), and without an archive, and download the same URLs with a
    /// bare client before and behind each, one after the other in this run.
    #[arg(long)]
    compare: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl BenchCrawl {
    pub fn run(self) -> anyhow::Result<()> {
        // A bare download has no manners to look at.
        let is_polite = !self.compare && !pause_of(&self.delay)?.is_zero();
        let server = match is_polite {
            true => ServerProcess::start_for_pause(&self.web, &self.delay)?,
            false => ServerProcess::start(&self.web)?,
        };
        let web = self.web.web();
        let data = match &self.data {
            Some(data) if data.join("index").exists() => {
                return Err(wrong_usage(format!("`{}` already holds a crawl", data.display())));
            }
            Some(data) => data.clone(),
            None => std::env::temp_dir().join(format!("webloom-bench-{}", std::process::id())),
        };
        let mut compared = self.compare.then(|| self.compare(&server)).transpose()?;
        if let Some(seconds) = self.seconds {
            // An interrupt of our own: the pages under way are finished, as for a person's.
            let own = std::process::id().to_string();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(seconds));
                let _ = Command::new("kill").args(["-INT", &own]).status();
            });
        }
        let start = Start::now();
        let report = crawl(&DataDir::new(&data), self.spec(&server, true)?, Show::for_stderr())?;
        let rate = start.rate_of(&report);
        let usage = Usage::now();
        if let Some(compared) = &mut compared {
            compared.add("whole", rate, self.bare(&server)?);
        }
        let manners = is_polite.then(|| server.manners()).transpose()?;
        let expected = web.expected();
        if self.json {
            let mut json = report.to_json();
            if let Some(manners) = manners {
                json["manners"] = manners;
            }
            if let Some(compared) = &compared {
                json["compared"] = compared.to_json();
            }
            json["peak_rss_bytes"] = usage.peak_rss_bytes.into();
            json["cpu_seconds"] = usage.cpu_seconds.into();
            json["expected_pages"] = expected.pages.into();
            json["web"] = self.web.to_json();
            writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&json)?)?;
        } else {
            let mut out = std::io::stdout().lock();
            write!(out, "{}", report.to_text(&data))?;
            writeln!(
                out,
                "peak resident memory {:.0} MiB, {:.1} CPU-seconds, {} of {} expected pages",
                usage.peak_rss_bytes as f64 / f64::from(1 << 20),
                usage.cpu_seconds,
                report.summary.counts.indexed,
                expected.pages,
            )?;
            if let Some(compared) = &compared {
                writeln!(out, "{}", compared.to_text())?;
            }
            if let Some(manners) = manners {
                writeln!(out, "as the hosts saw it: {manners}")?;
            }
        }
        if self.data.is_none() {
            std::fs::remove_dir_all(&data).with_context(|| format!("cannot remove `{}`", data.display()))?;
        }
        Ok(())
    }

    fn spec(&self, server: &ServerProcess, archive: bool) -> anyhow::Result<CrawlSpec> {
        let mut spec = crawl_spec(&self.web, server, &self.delay, archive)?;
        if let Some(delay) = &self.domain_delay {
            spec.frontier.domain_delay = pause_of(delay)?;
        }
        Ok(spec)
    }

    /// Runs the other contenders.
    fn compare(&self, server: &ServerProcess) -> anyhow::Result<Compared> {
        let mut compared = Compared { bare: vec![self.bare(server)?], crawls: Vec::new() };
        let folder = tempfile::tempdir()?;
        let runtime = runtime()?;
        let start = Start::now();
        let pages = runtime.block_on(links::crawl(self.spec(server, false)?, folder.path()))?;
        let rate = start.rate(pages);
        runtime.shutdown_timeout(SHUTDOWN_TIME);
        eprintln!("fetch, links, seen, politeness: {rate}");
        compared.add("links", rate, self.bare(server)?);

        let folder = tempfile::tempdir()?;
        let start = Start::now();
        let report = crawl(&DataDir::new(folder.path()), self.spec(server, false)?, Show::for_stderr())?;
        let rate = start.rate_of(&report);
        eprintln!("whole pipeline, no archive: {rate}");
        compared.add("unarchived", rate, self.bare(server)?);
        Ok(compared)
    }

    fn bare(&self, server: &ServerProcess) -> anyhow::Result<Rate> {
        let connections = self.spec(server, false)?.work.connections;
        let urls: Vec<String> = self.web.web().expected_urls().collect();
        let runtime = runtime()?;
        let start = Start::now();
        let (pages, bytes) =
            runtime.block_on(download::all(&urls, server.address, &server.ca_pem, connections))?;
        let rate = start.rate(pages);
        runtime.shutdown_timeout(SHUTDOWN_TIME);
        eprintln!("bare download: {rate}, {bytes} bytes");
        Ok(rate)
    }
}

const SHUTDOWN_TIME: Duration = Duration::from_millis(200);

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()
}

/// What the contenders did. Machines grow faster and slower within minutes, so each crawl is compared with the two downloads around it.
struct Compared {
    /// One before each crawl, and one behind the last.
    bare: Vec<Rate>,
    crawls: Vec<(&'static str, Rate)>,
}

struct Rate {
    pages: u64,
    seconds: f64,
    cpu_seconds: f64,
}

/// When a contender began, by the wall and by what this process had used.
struct Start {
    at: Instant,
    cpu_seconds: f64,
}

impl Start {
    fn now() -> Self {
        Self { at: Instant::now(), cpu_seconds: Usage::now().cpu_seconds }
    }

    /// Of a whole crawl, by its own clock: setting up and closing down do not count.
    fn rate_of(&self, report: &CrawlReport) -> Rate {
        let seconds = report.counters.elapsed().as_secs_f64();
        Rate { seconds, ..self.rate(report.summary.counts.indexed) }
    }

    fn rate(&self, pages: u64) -> Rate {
        Rate {
            pages,
            seconds: self.at.elapsed().as_secs_f64(),
            cpu_seconds: Usage::now().cpu_seconds - self.cpu_seconds,
        }
    }
}

impl Rate {
    fn per_second(&self) -> f64 {
        self.pages as f64 / self.seconds.max(1e-3)
    }

    /// Microseconds of a core that a page takes, the server's own not counted.
    fn cpu_us(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.pages.max(1) as f64
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pages, seconds, .. } = self;
        write!(
            f,
            "{pages} pages in {seconds:.1} s ({:.0}/s, {:.0} CPU-us each)",
            self.per_second(),
            self.cpu_us()
        )
    }
}

impl Compared {
    fn add(&mut self, name: &'static str, crawl: Rate, bare_behind: Rate) {
        self.crawls.push((name, crawl));
        self.bare.push(bare_behind);
    }

    /// How much of the pages a second of the downloads before and behind it each crawl has.
    fn of_bare(&self) -> impl Iterator<Item = (&'static str, &Rate, f64)> {
        self.crawls.iter().zip(self.bare.windows(2)).map(|((name, crawl), around)| {
            let pages: u64 = around.iter().map(|bare| bare.pages).sum();
            let seconds: f64 = around.iter().map(|bare| bare.seconds).sum();
            (*name, crawl, crawl.per_second() / (pages as f64 / seconds.max(1e-3)))
        })
    }

    fn to_json(&self) -> serde_json::Value {
        let mut json = json!({
            "bare_pages_per_second": self.bare.iter().map(Rate::per_second).collect::<Vec<_>>(),
            "bare_cpu_us_per_page": self.bare.iter().map(Rate::cpu_us).collect::<Vec<_>>(),
        });
        for (name, crawl, of_bare) in self.of_bare() {
            json[format!("{name}_pages_per_second")] = crawl.per_second().into();
            json[format!("{name}_cpu_us_per_page")] = crawl.cpu_us().into();
            json[format!("{name}_of_bare")] = of_bare.into();
        }
        json
    }

    fn to_text(&self) -> String {
        let mut lines = vec!["beside a bare download (the ratio is to those before and behind):".to_owned()];
        let mut bare = self.bare.iter().map(|bare| format!("  bare        {bare}"));
        for (name, crawl, of_bare) in self.of_bare() {
            lines.extend(bare.next());
            lines.push(format!("  {name:<11} {crawl}: {of_bare:.2}"));
        }
        lines.extend(bare);
        lines.join("\n")
    }
}
