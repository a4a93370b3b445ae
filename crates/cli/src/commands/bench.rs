//! `webloom bench`: measurements anybody can repeat.

mod bare;
mod crawl;
mod download;
mod extract;
mod frontier;
mod links;
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
use webloom_testkit::{
    Fault, FaultRule, Faulty, GeneratedWeb, LogDetail, ServerOptions, Site, WebServer, WebShape,
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
            What::Warc(bench) => bench.run(),
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
    /// All pages by https.
    #[arg(long)]
    https: bool,
}

impl WebArguments {
    fn web(&self) -> GeneratedWeb {
        GeneratedWeb::new(WebShape {
            seed: self.seed,
            hosts: self.hosts,
            pages: self.pages,
            https: self.https,
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
struct ServerProcess {
    child: Child,
    resolve_rule: String,
    /// Where it listens.
    address: SocketAddr,
    /// Who vouches for it.
    ca_pem: String,
}

impl ServerProcess {
    fn start(web: &WebArguments) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "web"])
            .args(["--pages", &web.pages.to_string(), "--hosts", &web.hosts.to_string()])
            .args(["--seed", &web.seed.to_string(), "--slow-host", &web.slow_host.to_string()])
            .args(web.https.then_some("--https"))
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
