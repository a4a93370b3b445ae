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

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use webloom_pipeline::{CrawlSpec, RawSpec};
use webloom_testkit::{
    Fault, FaultRule, Faulty, GeneratedWeb, HostSizes, LogDetail, LoggedRequest, Requests, ServerOptions,
    Site, WebServer, WebShape,
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
    /// Take down every request and, at the end, print as JSON what was asked for and whether this pause was kept.
    #[arg(long, value_name = "DURATION")]
    pause: Option<String>,
}

impl BenchWeb {
    fn run(self) -> anyhow::Result<()> {
        let web = self.web.web();
        let pause = self.pause.as_deref().map(pause_of).transpose()?;
        let log = if pause.is_some() { LogDetail::Everything } else { LogDetail::Totals };
        let options = ServerOptions { log, ..ServerOptions::default() };
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
        if let Some(pause) = pause {
            writeln!(out, "{}", manners(&server.log().requests(), pause))?;
        }
        Ok(())
    }
}

/// A pause, written as in a specification.
fn pause_of(text: &str) -> anyhow::Result<Duration> {
    let mut raw = RawSpec::default();
    raw.set("politeness.delay", text);
    Ok(raw.check()?.frontier.host_delay)
}

/// How somebody crawled, as the server saw it. A pause that is a tenth too short is forgiven, because some count it from the beginning of
/// a request and others from its end.
fn manners(requests: &Requests, pause: Duration) -> serde_json::Value {
    let all = requests.all();
    let pages: HashSet<String> = all
        .iter()
        .filter(|request| request.status == Some(200) && !request.is_robots())
        .map(LoggedRequest::url)
        .collect();
    let mut by_host: HashMap<&str, u32> = HashMap::new();
    all.iter().for_each(|request| *by_host.entry(&request.host).or_default() += 1);
    let span =
        all.first().map(|first| first.started).zip(all.iter().filter_map(|request| request.ended).max());
    serde_json::json!({
        "requests": all.len(),
        "hosts": by_host.len(),
        "pages": pages.len(),
        "seconds": span.map(|(first, last)| last.saturating_duration_since(first).as_secs_f64()),
        // The host with the most requests takes this long, whatever is done about the others.
        "seconds_min": (pause * by_host.values().max().map_or(0, |most| most - 1)).as_secs_f64(),
        "hurried": requests.hurried(pause, Duration::ZERO, pause / 10).len(),
        "at_once": requests.overlapping().len(),
        "against_robots": requests.robots_violations().len(),
        "smallest_gap_ms": requests.smallest_gap().map(|gap| gap.as_secs_f64() * 1e3),
    })
}

/// The web, in a process of its own so that its memory and time are not counted as the crawler's.
pub(super) struct ServerProcess {
    child: Child,
    resolve_rule: String,
    /// Where it listens.
    address: SocketAddr,
    /// Who vouches for it.
    ca_pem: String,
    /// What else it says.
    said: BufReader<ChildStdout>,
}

impl ServerProcess {
    pub(super) fn start(web: &WebArguments) -> anyhow::Result<Self> {
        Self::start_with(web, &[])
    }

    /// One that looks at whether this pause is kept, for [`Self::manners`].
    fn start_for_pause(web: &WebArguments, pause: &str) -> anyhow::Result<Self> {
        Self::start_with(web, &["--pause", pause])
    }

    fn start_with(web: &WebArguments, further: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "web"])
            .args(["--pages", &web.pages.to_string(), "--hosts", &web.hosts.to_string()])
            .args(["--seed", &web.seed.to_string(), "--slow-host", &web.slow_host.to_string()])
            .args(["--page-bytes", &web.page_bytes.to_string(), "--latency", &web.latency.to_string()])
            .args(web.https.then_some("--https"))
            .args(web.skewed.then_some("--skewed"))
            .args(further)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the web server")?;
        let (mut line, mut ca_pem) = (String::new(), String::new());
        let mut said = BufReader::new(child.stdout.take().context("the web server cannot be heard")?);
        said.read_line(&mut line)?;
        said.read_line(&mut ca_pem)?;
        let Some(address) = line.trim().split_once('=').and_then(|(_, address)| address.parse().ok()) else {
            bail!("the web server did not start");
        };
        Ok(Self {
            child,
            resolve_rule: line.trim().to_owned(),
            address,
            ca_pem: ca_pem.trim().replace('|', "\n"),
            said,
        })
    }

    /// Ends it, and gives what it took down.
    fn manners(mut self) -> anyhow::Result<serde_json::Value> {
        drop(self.child.stdin.take());
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        serde_json::from_str(&line).context("the web server did not say how it was asked")
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

#[cfg(test)]
mod tests {
    use webloom_testkit::{Answer, Request};

    use super::*;

    #[test]
    fn manners_are_what_the_hosts_saw() {
        let site = |_: &Request| Answer::text("User-agent: *\nDisallow: /private\n");
        let server = WebServer::start_blocking(site, ServerOptions::default()).unwrap();
        let ask = |host: &str, path: &str| {
            let mut stream = std::net::TcpStream::connect(server.addresses()[0]).unwrap();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
            std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        };
        for (host, path) in [("a.example", "/robots.txt"), ("a.example", "/1"), ("b.example", "/1")] {
            ask(host, path);
        }
        std::thread::sleep(Duration::from_millis(60));
        ask("a.example", "/private");
        let seen = manners(&server.log().requests(), Duration::from_millis(50));
        assert_eq!((&seen["requests"], &seen["hosts"], &seen["pages"]), (&4.into(), &2.into(), &3.into()));
        // The second came at once; the third did wait, but for what it may not have, as did the one that did not ask.
        assert_eq!(
            (&seen["hurried"], &seen["at_once"], &seen["against_robots"]),
            (&1.into(), &0.into(), &2.into())
        );
        assert_eq!(seen["seconds_min"], 0.1);
        assert!(
            seen["smallest_gap_ms"].as_f64().unwrap() < 50.0 && seen["seconds"].as_f64().unwrap() > 0.05,
            "{seen}"
        );
        assert!(pause_of("soon").is_err());
    }
}
