//! How fast a server answers while a crawl runs, and what that costs the crawl.
//!
//! The same generated web is crawled twice by `webloom crawl --serve` in a process of its own, for the same time: once left alone, once
//! asked by clients for a point query, a search and a scrape of the metrics in turn. Told are requests per second and how
//! long they took, by kind, and how many pages per second the crawl lost. Web, crawl and clients share this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use super::{ServerProcess, WebArguments};

/// Ask a server while it crawls: requests per second, how long they take, what the crawl loses.
#[derive(Debug, Args)]
pub(super) struct BenchServe {
    #[command(flatten)]
    web: WebArguments,
    /// Seconds for each of the two crawls.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Clients that ask at once, each one request after the other.
    #[arg(long, default_value_t = 2)]
    clients: usize,
    /// Requests per second of all clients together; 0 for as many as they can. Clients, crawl and web share the cores, so
    /// without end they take what the crawl would have.
    #[arg(long, default_value_t = 300)]
    rate: u32,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What is asked for, in turn.
const REQUESTS: [(&str, &str); 3] = [
    (
        "point query",
        "/sparql?query=SELECT%20%2A%20%7B%20%3Chttp%3A%2F%2Fa.example%2F%3E%20%3Fp%20%3Fo%20%7D%20LIMIT%2010",
    ),
    ("search", "/api/search?q=page&limit=10"),
    ("metrics", "/metrics"),
];

impl BenchServe {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let alone = self.crawl(&folder.path().join("alone"), 0)?;
        let asked = self.crawl(&folder.path().join("asked"), self.clients)?;
        let loss = 100.0 * (1.0 - asked.pages_per_second / alone.pages_per_second.max(1e-9));
        let mut out = std::io::stdout().lock();
        if self.json {
            let kinds: Vec<Value> = asked.kinds.iter().map(Kind::to_json).collect();
            let json = json!({
                "seconds": self.seconds, "clients": self.clients, "rate": self.rate, "requests": kinds, "errors": asked.errors,
                "pages_per_second_alone": alone.pages_per_second, "pages_per_second_asked": asked.pages_per_second,
                "crawl_loss_percent": loss,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
            return Ok(());
        }
        writeln!(
            out,
            "{:<12} {:>12} {:>10} {:>10} {:>10}",
            "request", "per second", "p50 ms", "p99 ms", "most ms"
        )?;
        for kind in &asked.kinds {
            writeln!(
                out,
                "{:<12} {:>12.0} {:>10.2} {:>10.2} {:>10.2}",
                kind.name,
                kind.per_second,
                kind.share(0.5),
                kind.share(0.99),
                kind.share(1.0)
            )?;
        }
        writeln!(
            out,
            "crawl alone {:.0} pages/s, asked by {} clients {:.0} pages/s: {loss:.0} % lost; {} requests failed",
            alone.pages_per_second, self.clients, asked.pages_per_second, asked.errors
        )?;
        Ok(())
    }

    fn crawl(&self, data: &Path, clients: usize) -> anyhow::Result<Measured> {
        let web = ServerProcess::start(&self.web)?;
        let crawl = CrawlProcess::start(&self.web.web().seed_url(), &web.resolve_rule, data)?;
        // The first pages are few; what is measured begins when the crawl is under way.
        let warm = Instant::now();
        while crawl.pages()?.0 < 100 && warm.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(100));
        }
        let (pages_before, _) = crawl.pages()?;
        let start = Instant::now();
        let stop = AtomicBool::new(false);
        let pause = match self.rate {
            0 => Duration::ZERO,
            rate => Duration::from_secs(1) * u32::try_from(clients).unwrap_or(1) / rate,
        };
        let asked: Vec<(Vec<Vec<f64>>, u64)> = std::thread::scope(|scope| {
            let (authority, stop) = (&crawl.authority, &stop);
            let handles: Vec<_> =
                (0..clients).map(|number| scope.spawn(move || ask(authority, number, pause, stop))).collect();
            std::thread::sleep(Duration::from_secs(self.seconds));
            stop.store(true, Relaxed);
            handles.into_iter().map(|handle| handle.join().unwrap_or_default()).collect()
        });
        let seconds = start.elapsed().as_secs_f64();
        let (pages, state) = crawl.pages()?;
        if state != "running" {
            bail!("the crawl ended before the time did; use more --pages");
        }
        let mut kinds: Vec<Kind> = REQUESTS
            .iter()
            .map(|(name, _)| Kind { name, per_second: 0.0, milliseconds: Vec::new() })
            .collect();
        let mut errors = 0;
        for (times, failed) in asked {
            errors += failed;
            for (kind, mut times) in kinds.iter_mut().zip(times) {
                kind.milliseconds.append(&mut times);
            }
        }
        for kind in &mut kinds {
            kind.milliseconds.sort_by(f64::total_cmp);
            kind.per_second = kind.milliseconds.len() as f64 / seconds;
        }
        let pages_per_second = pages.saturating_sub(pages_before) as f64 / seconds;
        Ok(Measured { pages_per_second, kinds, errors })
    }
}

struct Measured {
    pages_per_second: f64,
    kinds: Vec<Kind>,
    errors: u64,
}

struct Kind {
    name: &'static str,
    per_second: f64,
    /// Sorted.
    milliseconds: Vec<f64>,
}

impl Kind {
    fn share(&self, share: f64) -> f64 {
        let last = self.milliseconds.len().saturating_sub(1);
        self.milliseconds.get((last as f64 * share).round() as usize).copied().unwrap_or(0.0)
    }

    fn to_json(&self) -> Value {
        json!({
            "request": self.name, "per_second": self.per_second,
            "p50_ms": self.share(0.5), "p99_ms": self.share(0.99), "max_ms": self.share(1.0),
        })
    }
}

/// Asks one request after the other until told to stop, no two closer than `pause`; gives the milliseconds of each kind, and
/// how many failed.
fn ask(authority: &str, first: usize, pause: Duration, stop: &AtomicBool) -> (Vec<Vec<f64>>, u64) {
    let mut times = vec![Vec::new(); REQUESTS.len()];
    let mut failed = 0;
    let mut connection: Option<BufReader<TcpStream>> = None;
    for turn in (0..REQUESTS.len()).cycle().skip(first) {
        if stop.load(Relaxed) {
            break;
        }
        let start = Instant::now();
        let answer = get(&mut connection, authority, REQUESTS[turn].1);
        let took = start.elapsed();
        match answer {
            Ok((200, _)) => times[turn].push(took.as_secs_f64() * 1e3),
            _ => {
                failed += 1;
                connection = None;
            }
        }
        std::thread::sleep(pause.saturating_sub(took));
    }
    (times, failed)
}

/// One request over a connection that is kept.
fn get(
    connection: &mut Option<BufReader<TcpStream>>,
    authority: &str,
    path: &str,
) -> anyhow::Result<(u16, Vec<u8>)> {
    let stream = match connection.take() {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect(authority)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            BufReader::new(stream)
        }
    };
    let mut stream = stream;
    write!(stream.get_mut(), "GET {path} HTTP/1.1\r\nHost: {authority}\r\n\r\n")?;
    let (mut line, mut status, mut length, mut chunked) = (String::new(), 0, 0, false);
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let text = line.trim_end().to_ascii_lowercase();
        if text.is_empty() {
            break;
        }
        if text.starts_with("http/") {
            status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        } else if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        } else if text == "transfer-encoding: chunked" {
            chunked = true;
        }
    }
    let mut body = Vec::new();
    loop {
        if chunked {
            line.clear();
            stream.read_line(&mut line)?;
            length = u64::from_str_radix(line.trim(), 16)?;
        }
        stream.by_ref().take(length).read_to_end(&mut body)?;
        if !chunked {
            break;
        }
        line.clear();
        stream.read_line(&mut line)?;
        if length == 0 {
            break;
        }
    }
    *connection = Some(stream);
    Ok((status, body))
}

/// A crawl that is served, in a process of its own.
struct CrawlProcess {
    child: Child,
    authority: String,
}

impl CrawlProcess {
    fn start(seed: &str, resolve: &str, data: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["crawl", seed, "--within", "anywhere", "--delay", "0s", "--allow-private", "--quiet"])
            .args(["--set", "politeness.crawl_delay_max=0s", "--resolve", resolve])
            .args(["--serve", "--listen", "127.0.0.1:0", "--requests-per-second", "1000000", "--data"])
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start the crawl")?;
        let mut lines = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            line.strip_prefix("serving on http://").map(|rest| rest.trim_end_matches('/').to_owned())
        });
        // Whoever writes to a pipe that nobody reads is ended by it.
        std::thread::spawn(move || lines.for_each(drop));
        match address {
            Some(authority) => Ok(Self { child, authority }),
            None => bail!("the crawl did not start"),
        }
    }

    /// Pages so far, and the crawl's state.
    fn pages(&self) -> anyhow::Result<(u64, String)> {
        let (_, body) = get(&mut None, &self.authority, "/api/crawls/main")?;
        let json: Value = serde_json::from_slice(&body)?;
        let state = json["state"].as_str().unwrap_or_default().to_owned();
        Ok((json["totals"]["pages"].as_u64().unwrap_or(0), state))
    }
}

impl Drop for CrawlProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
