//! `webloom bench`: measurements anybody can repeat.

mod bare;
mod extract;

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use webloom_pipeline::{DataDir, RawSpec};
use webloom_testkit::{
    Fault, FaultRule, Faulty, GeneratedWeb, LogDetail, ServerOptions, Site, WebServer, WebShape,
};

use super::crawl::{Show, crawl};
use crate::output::wrong_usage;

/// Measure this machine.
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Crawl(BenchCrawl),
    Extract(extract::BenchExtract),
    Web(BenchWeb),
}

impl Bench {
    pub fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Crawl(bench) => bench.run(),
            What::Extract(bench) => bench.run(),
            What::Web(bench) => bench.run(),
        }
    }
}

/// The web that is crawled: the same for the same numbers.
#[derive(Debug, Clone, Args)]
struct WebArguments {
    /// Pages.
    #[arg(long, default_value_t = 50_000)]
    pages: u64,
    /// Hosts they are spread over.
    #[arg(long, default_value_t = 500)]
    hosts: u32,
    /// Seed of the generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One host answers this slowly, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    slow_host: u64,
}

impl WebArguments {
    fn web(&self) -> GeneratedWeb {
        GeneratedWeb::new(WebShape {
            seed: self.seed,
            hosts: self.hosts,
            pages: self.pages,
            ..WebShape::default()
        })
    }

    fn site(&self) -> Arc<dyn Site> {
        let web = self.web();
        if self.slow_host == 0 {
            return Arc::new(web);
        }
        let slow = FaultRule::host(&web.host_name(1), Fault::Slow(Duration::from_secs(self.slow_host)));
        Arc::new(Faulty::new(web).rule(slow))
    }
}

/// Crawl a generated web, served by a process of its own, with the whole pipeline.
#[derive(Debug, Args)]
struct BenchCrawl {
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
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl BenchCrawl {
    fn run(self) -> anyhow::Result<()> {
        let server = ServerProcess::start(&self.web)?;
        let web = self.web.web();
        let data = match &self.data {
            Some(data) if data.join("index").exists() => {
                return Err(wrong_usage(format!("`{}` already holds a crawl", data.display())));
            }
            Some(data) => data.clone(),
            None => std::env::temp_dir().join(format!("webloom-bench-{}", std::process::id())),
        };
        let mut raw = RawSpec::default();
        raw.set("seeds", vec![web.seed_url()]);
        raw.set("scope.within", "anywhere");
        raw.set("politeness.delay", self.delay.as_str());
        raw.set("politeness.crawl_delay_max", self.delay.as_str());
        raw.set("fetch.allow_private", true);
        raw.set("fetch.resolve", vec![server.resolve_rule.clone()]);
        if let Some(seconds) = self.seconds {
            // An interrupt of our own: the pages under way are finished, as for a person's.
            let own = std::process::id().to_string();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_secs(seconds));
                let _ = Command::new("kill").args(["-INT", &own]).status();
            });
        }
        let report = crawl(&DataDir::new(&data), raw.check()?, Show::for_stderr())?;
        let usage = Usage::now();
        let expected = web.expected();
        if self.json {
            let mut json = report.to_json();
            json["peak_rss_bytes"] = usage.peak_rss_bytes.into();
            json["cpu_seconds"] = usage.cpu_seconds.into();
            json["expected_pages"] = expected.pages.into();
            json["web"] = serde_json::json!({
                "pages": self.web.pages, "hosts": self.web.hosts, "seed": self.web.seed, "slow_host": self.web.slow_host,
            });
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
        }
        if self.data.is_none() {
            std::fs::remove_dir_all(&data).with_context(|| format!("cannot remove `{}`", data.display()))?;
        }
        Ok(())
    }
}

/// Serve the generated web until standard input closes.
#[derive(Debug, Args)]
struct BenchWeb {
    #[command(flatten)]
    web: WebArguments,
}

impl BenchWeb {
    fn run(self) -> anyhow::Result<()> {
        let web = self.web.web();
        let options = ServerOptions { log: LogDetail::Totals, ..ServerOptions::default() };
        let server = WebServer::start_blocking(self.web.site(), options)?;
        let mut out = std::io::stdout();
        writeln!(out, "{}", server.resolve_rule())?;
        out.flush()?;
        eprintln!(
            "serving {} from {}; ends when standard input closes",
            web.seed_url(),
            server.resolve_rule()
        );
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
        Ok(())
    }
}

/// The web, in a process of its own so that its memory and time are not counted as the crawler's.
struct ServerProcess {
    child: Child,
    resolve_rule: String,
}

impl ServerProcess {
    fn start(web: &WebArguments) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "web"])
            .args(["--pages", &web.pages.to_string(), "--hosts", &web.hosts.to_string()])
            .args(["--seed", &web.seed.to_string(), "--slow-host", &web.slow_host.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the web server")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if line.is_empty() {
            bail!("the web server did not start");
        }
        Ok(Self { child, resolve_rule: line.trim().to_owned() })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Its standard input closes, which ends it; the kill is for one that hangs.
        drop(self.child.stdin.take());
        std::thread::sleep(Duration::from_millis(100));
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What this process has used so far, by the kernel's books.
struct Usage {
    peak_rss_bytes: u64,
    cpu_seconds: f64,
}

impl Usage {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let peak_kib: u64 = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
            .unwrap_or(0);
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // Fields 14 and 15, counted behind the command name, which may hold spaces.
        let ticks: u64 = stat
            .rsplit_once(')')
            .map(|(_, rest)| {
                rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
            })
            .unwrap_or(0);
        Self { peak_rss_bytes: peak_kib << 10, cpu_seconds: ticks as f64 / 100.0 }
    }
}
