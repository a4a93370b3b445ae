//! `webloom bench crawl`: the whole pipeline over a generated web; with `--compare`, beside its parts and beside a bare download.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use serde_json::json;
use webloom_pipeline::DataDir;

use super::super::crawl::{Show, crawl};
use super::{ServerProcess, Usage, WebArguments, crawl_spec, download, links};
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
    /// End after this many seconds, and report what was done by then.
    #[arg(long, value_name = "SECONDS")]
    seconds: Option<u64>,
    /// Also crawl without transforms and index (fetch, links, seen, politeness), and download the same URLs with a bare client,
    /// one after the other in this run.
    #[arg(long)]
    compare: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl BenchCrawl {
    pub fn run(self) -> anyhow::Result<()> {
        let server = ServerProcess::start(&self.web)?;
        let web = self.web.web();
        let data = match &self.data {
            Some(data) if data.join("index").exists() => {
                return Err(wrong_usage(format!("`{}` already holds a crawl", data.display())));
            }
            Some(data) => data.clone(),
            None => std::env::temp_dir().join(format!("webloom-bench-{}", std::process::id())),
        };
        let compared = self.compare.then(|| self.compare(&server)).transpose()?;
        if let Some(seconds) = self.seconds {
            // An interrupt of our own: the pages under way are finished, as for a person's.
            let own = std::process::id().to_string();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(seconds));
                let _ = Command::new("kill").args(["-INT", &own]).status();
            });
        }
        let start = Start::now();
        let report =
            crawl(&DataDir::new(&data), crawl_spec(&self.web, &server, &self.delay)?, Show::for_stderr())?;
        let rate = Rate {
            seconds: report.counters.elapsed().as_secs_f64(),
            ..start.rate(report.summary.counts.indexed)
        };
        let usage = Usage::now();
        let expected = web.expected();
        if self.json {
            let mut json = report.to_json();
            if let Some(compared) = &compared {
                json["compared"] = compared.to_json(&rate);
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
                writeln!(out, "{}", compared.to_text(&rate))?;
            }
        }
        if self.data.is_none() {
            std::fs::remove_dir_all(&data).with_context(|| format!("cannot remove `{}`", data.display()))?;
        }
        Ok(())
    }

    /// Runs the other contenders.
    fn compare(&self, server: &ServerProcess) -> anyhow::Result<Compared> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let spec = crawl_spec(&self.web, server, &self.delay)?;
        let connections = spec.work.connections;
        let urls: Vec<String> = self.web.web().expected_urls().collect();
        let start = Start::now();
        let (pages, bytes) =
            runtime.block_on(download::all(&urls, server.address, &server.ca_pem, connections))?;
        let bare = start.rate(pages);
        eprintln!("bare download: {bare}, {bytes} bytes");
        let folder = tempfile::tempdir()?;
        let start = Start::now();
        let pages = runtime.block_on(links::crawl(spec, folder.path()))?;
        let links = start.rate(pages);
        eprintln!("fetch, links, seen, politeness: {links}");
        runtime.shutdown_timeout(Duration::from_millis(200));
        Ok(Compared { bare, links })
    }
}

/// What the other contenders did.
struct Compared {
    bare: Rate,
    links: Rate,
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
    fn to_json(&self, whole: &Rate) -> serde_json::Value {
        let bare = self.bare.per_second();
        json!({
            "bare_pages_per_second": bare,
            "links_pages_per_second": self.links.per_second(),
            "whole_pages_per_second": whole.per_second(),
            "links_of_bare": self.links.per_second() / bare,
            "whole_of_bare": whole.per_second() / bare,
            "bare_cpu_us_per_page": self.bare.cpu_us(),
            "links_cpu_us_per_page": self.links.cpu_us(),
            "whole_cpu_us_per_page": whole.cpu_us(),
        })
    }

    fn to_text(&self, whole: &Rate) -> String {
        let bare = self.bare.per_second();
        format!(
            "pages/s: bare download {bare:.0}; fetch, links, seen, politeness {:.0} ({:.2} of bare); whole pipeline {:.0} ({:.2} of bare)\n\
             CPU-us a page, without the server: {:.0}, {:.0}, {:.0}",
            self.links.per_second(),
            self.links.per_second() / bare,
            whole.per_second(),
            whole.per_second() / bare,
            self.bare.cpu_us(),
            self.links.cpu_us(),
            whole.cpu_us(),
        )
    }
}
