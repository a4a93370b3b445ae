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
        let report =
            crawl(&DataDir::new(&data), crawl_spec(&self.web, &server, &self.delay)?, Show::for_stderr())?;
        let usage = Usage::now();
        let expected = web.expected();
        let rate = report.summary.counts.indexed as f64 / report.counters.elapsed().as_secs_f64().max(1e-3);
        if self.json {
            let mut json = report.to_json();
            if let Some(compared) = &compared {
                json["compared"] = compared.to_json(rate);
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
                writeln!(out, "{}", compared.to_text(rate))?;
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
        let started = Instant::now();
        let (pages, bytes) =
            runtime.block_on(download::all(&urls, server.address, &server.ca_pem, connections))?;
        let bare = Rate { pages, seconds: started.elapsed().as_secs_f64() };
        eprintln!("bare download: {bare}, {bytes} bytes");
        let folder = tempfile::tempdir()?;
        let started = Instant::now();
        let pages = runtime.block_on(links::crawl(spec, folder.path()))?;
        let links = Rate { pages, seconds: started.elapsed().as_secs_f64() };
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
}

impl Rate {
    fn per_second(&self) -> f64 {
        self.pages as f64 / self.seconds.max(1e-3)
    }
}

impl std::fmt::Display for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} pages in {:.1} s ({:.0}/s)", self.pages, self.seconds, self.per_second())
    }
}

impl Compared {
    fn to_json(&self, whole: f64) -> serde_json::Value {
        json!({
            "bare_pages_per_second": self.bare.per_second(),
            "links_pages_per_second": self.links.per_second(),
            "whole_pages_per_second": whole,
            "links_of_bare": self.links.per_second() / self.bare.per_second(),
            "whole_of_bare": whole / self.bare.per_second(),
        })
    }

    fn to_text(&self, whole: f64) -> String {
        let bare = self.bare.per_second();
        format!(
            "pages/s: bare download {bare:.0}; fetch, links, seen, politeness {:.0} ({:.2} of bare); whole pipeline {whole:.0} ({:.2} of bare)",
            self.links.per_second(),
            self.links.per_second() / bare,
            whole / bare,
        )
    }
}
