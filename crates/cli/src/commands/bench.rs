//! `webloom bench`: measurements anybody can repeat.

mod bare;
mod crawl;
mod download;
mod extract;
mod frontier;
mod guard;
mod links;
mod phases;
mod serve;
mod transform;
mod warc;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use webloom_pipeline::{CrawlSpec, RawSpec};
use webloom_testkit::{
    Fault, FaultRule, Faulty, GeneratedWeb, HostSizes, LogDetail, ServerOptions, Site, WebServer, WebShape,
};

/// Measure this machine.
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Crawl(crawl::BenchCrawl),
    Extract(extract::BenchExtract),
    Serve(serve::BenchServe),
    Frontier(frontier::BenchFrontier),
    Transform(transform::BenchTransform),
    Phases(phases::BenchPhases),
    Guard(guard::BenchGuard),
    Warc(warc::BenchWarc),
    Web(BenchWeb),
}

impl Bench {
    pub fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Crawl(bench) => bench.run(),
            What::Extract(bench) => bench.run(),
            What::Serve(bench) => bench.run(),
            What::Frontier(bench) => bench.run(),
            What::Transform(bench) => bench.run(),
            What::Phases(bench) => bench.run(),
            What::Guard(bench) => bench.run(),
            What::Warc(bench) => bench.run(),
            What::Web(bench) => bench.run(),
        }
    }
}

/// The web that is crawled: the same for the same numbers.
#[derive(Debug, Clone, Args)]
pub(super) struct WebArguments {
    /// Pages.
    #[arg(long, default_value_t = 50_000)]
    pub(super) pages: u64,
    /// Hosts they are spread over.
    #[arg(long, default_value_t = 500)]
    hosts: u32,
    /// Seed of the generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// One host answers this slowly, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    slow_host: u64,
    /// All pages by https.
    #[arg(long)]
    https: bool,
    /// Size of a page in the middle of all, in bytes; one in a hundred is over ten times that.
    #[arg(long, value_name = "BYTES", default_value_t = 4_000)]
    page_bytes: u32,
    /// Hosts as on the real web: few with very many pages, many with a page or two.
    #[arg(long)]
    skewed: bool,
    /// How long a host takes for an answer, in the middle of all hosts, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 0)]
    latency: u64,
}

impl WebArguments {
    pub(super) fn web(&self) -> GeneratedWeb {
        GeneratedWeb::new(WebShape {
            seed: self.seed,
            hosts: self.hosts,
            pages: self.pages,
            https: self.https,
            page_bytes: self.page_bytes,
            host_sizes: if self.skewed { HostSizes::PowerLaw } else { HostSizes::Even },
            latency: (self.latency > 0).then(|| Duration::from_millis(self.latency)),
            ..WebShape::default()
        })
    }

    /// A web whose hosts differ in size as the real web's do.
    pub(super) fn skewed(pages: u64, hosts: u32) -> Self {
        Self {
            pages,
            hosts,
            seed: 1,
            slow_host: 0,
            https: false,
            page_bytes: 4_000,
            skewed: true,
            latency: 0,
        }
    }

    /// For results.
    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "pages": self.pages, "hosts": self.hosts, "seed": self.seed, "slow_host": self.slow_host, "https": self.https,
            "page_bytes": self.page_bytes, "skewed": self.skewed, "latency_ms": self.latency,
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

/// The specification by which a served web is crawled: all of it, with this pause between two requests to a host.
pub(super) fn crawl_spec(
    web: &WebArguments,
    server: &ServerProcess,
    delay: &str,
    archive: bool,
) -> anyhow::Result<CrawlSpec> {
    let mut raw = RawSpec::default();
    raw.set("archive.keep", if archive { "all" } else { "none" });
    raw.set("seeds", vec![web.web().seed_url()]);
    raw.set("scope.within", "anywhere");
    raw.set("politeness.delay", delay);
    raw.set("politeness.crawl_delay_max", delay);
    raw.set("fetch.allow_private", true);
    raw.set("fetch.resolve", vec![server.resolve_rule.clone()]);
    let mut spec = raw.check()?;
    spec.fetch.extra_roots_pem = vec![server.ca_pem.clone().into_bytes()];
    Ok(spec)
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
        // The certificate on one line, for whoever reads lines.
        writeln!(out, "{}", server.ca_pem().unwrap_or_default().replace('\n', "|"))?;
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
pub(super) struct ServerProcess {
    child: Child,
    resolve_rule: String,
    /// Where it listens.
    address: SocketAddr,
    /// Who vouches for it.
    ca_pem: String,
}

impl ServerProcess {
    pub(super) fn start(web: &WebArguments) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "web"])
            .args(["--pages", &web.pages.to_string(), "--hosts", &web.hosts.to_string()])
            .args(["--seed", &web.seed.to_string(), "--slow-host", &web.slow_host.to_string()])
            .args(["--page-bytes", &web.page_bytes.to_string(), "--latency", &web.latency.to_string()])
            .args(web.https.then_some("--https"))
            .args(web.skewed.then_some("--skewed"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the web server")?;
        let (mut line, mut ca_pem) = (String::new(), String::new());
        if let Some(stdout) = child.stdout.take() {
            let mut lines = BufReader::new(stdout);
            lines.read_line(&mut line)?;
            lines.read_line(&mut ca_pem)?;
        }
        let Some(address) = line.trim().split_once('=').and_then(|(_, address)| address.parse().ok()) else {
            bail!("the web server did not start");
        };
        Ok(Self {
            child,
            resolve_rule: line.trim().to_owned(),
            address,
            ca_pem: ca_pem.trim().replace('|', "\n"),
        })
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
    rss_bytes: u64,
    peak_rss_bytes: u64,
    cpu_seconds: f64,
}

impl Usage {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib: Option<u64> =
                line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok());
            kib.unwrap_or(0) << 10
        };
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // Fields 14 and 15, counted behind the command name, which may hold spaces.
        let ticks: u64 = stat
            .rsplit_once(')')
            .map(|(_, rest)| {
                rest.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
            })
            .unwrap_or(0);
        Self {
            rss_bytes: bytes("VmRSS:"),
            peak_rss_bytes: bytes("VmHWM:"),
            cpu_seconds: ticks as f64 / 100.0,
        }
    }
}
