//! A server that sends exactly the bytes it is told to, and the small things every test needs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use webloom_fetch::{FetchConfig, Fetcher, MemoryRobotsStore, SystemResolver};
use webloom_model::{
    Clock, FetchOutcome, FetchedPage, HostHint, Lease, LeaseId, LinkCandidate, PageUrl, SystemClock,
};

/// One thing a server does while it answers.
#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    /// Waits until the test says go.
    Await(Arc<Notify>),
    /// Sends this again and again until the client has had enough.
    Endless(Vec<u8>),
    Close,
}

/// What a server sees of a request.
pub struct Request<'a> {
    pub path: &'a str,
    pub host: &'a str,
    /// Which connection it came over, from 0.
    pub connection: usize,
    /// Which request it is on that connection, from 0.
    pub nth: usize,
}

type Script = dyn Fn(&Request<'_>) -> Vec<Step> + Send + Sync;

pub struct Site {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    pub requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// Serves what `script` says for each request.
    pub async fn serve(script: impl Fn(&Request<'_>) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let script: Arc<Script> = Arc::new(script);
        let (connections, requests) = (Arc::clone(&site.connections), Arc::clone(&site.requests));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(converse(stream, connection, Arc::clone(&script), Arc::clone(&requests)));
            }
        });
        site
    }

    /// Serves the same answer to every request.
    pub async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::serve(move |_| vec![Step::Send(answer.clone())]).await
    }

    /// Serves the same steps to every request.
    pub async fn doing(steps: Vec<Step>) -> Self {
        Self::serve(move |_| steps.clone()).await
    }

    /// Paths asked for so far.
    pub fn paths(&self) -> Vec<String> {
        let requests = self.requests.lock();
        requests.iter().map(|head| head.split(' ').nth(1).unwrap_or_default().to_owned()).collect()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A fetcher that finds every host here, and does not ask for robots.txt.
    pub fn fetcher(&self) -> Fetcher {
        self.fetcher_with(|_| {})
    }

    pub fn fetcher_with(&self, change: impl FnOnce(&mut FetchConfig)) -> Fetcher {
        self.fetcher_at(Arc::new(SystemClock), change)
    }

    pub fn fetcher_at(&self, clock: Arc<dyn Clock>, change: impl FnOnce(&mut FetchConfig)) -> Fetcher {
        let mut config = quick_config(self.address);
        change(&mut config);
        Fetcher::new(
            config,
            Arc::new(SystemResolver::new().unwrap()),
            Arc::new(MemoryRobotsStore::default()),
            clock,
        )
        .unwrap()
    }
}

pub fn quick_config(address: SocketAddr) -> FetchConfig {
    FetchConfig {
        allow_private: true,
        obey_robots: false,
        system_roots: false,
        resolve: vec![format!("*={address}").parse().unwrap()],
        robots_hop_delay: Duration::ZERO,
        follow_delay: Duration::from_millis(1),
        ..FetchConfig::default()
    }
}

async fn converse(
    mut stream: TcpStream,
    connection: usize,
    script: Arc<Script>,
    requests: Arc<Mutex<Vec<String>>>,
) {
    let mut received = Vec::new();
    for nth in 0.. {
        let end = loop {
            if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            match stream.read_buf(&mut received).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        };
        let head = String::from_utf8(received.drain(..end).collect()).unwrap();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let host =
            head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned));
        requests.lock().push(head);
        for step in script(&Request { path: &path, host: &host.unwrap_or_default(), connection, nth }) {
            let sent = match step {
                Step::Send(bytes) => stream.write_all(&bytes).await,
                Step::Pause(duration) => {
                    tokio::time::sleep(duration).await;
                    Ok(())
                }
                Step::Await(notify) => {
                    notify.notified().await;
                    Ok(())
                }
                Step::Endless(bytes) => loop {
                    if let Err(error) = stream.write_all(&bytes).await {
                        break Err(error);
                    }
                },
                Step::Close => {
                    let _ = stream.shutdown().await;
                    return;
                }
            };
            if sent.is_err() {
                return;
            }
        }
    }
}

/// `HTTP/1.1 200 OK` with the given header lines and body, and the body's length.
pub fn ok(headers: &str, body: &[u8]) -> Vec<u8> {
    answer("200 OK", headers, body)
}

pub fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let headers = headers.trim().replace('\n', "\r\n");
    let gap = if headers.is_empty() { "" } else { "\r\n" };
    let mut bytes =
        format!("HTTP/1.1 {status}\r\n{headers}{gap}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    bytes.extend(body);
    bytes
}

pub fn send(bytes: impl Into<Vec<u8>>) -> Step {
    Step::Send(bytes.into())
}

pub fn pause(milliseconds: u64) -> Step {
    Step::Pause(Duration::from_millis(milliseconds))
}

pub fn lease(url: &str) -> Lease {
    Lease {
        id: LeaseId(1),
        candidate: LinkCandidate::seed(PageUrl::parse(url).unwrap()),
        attempt: 0,
        validators: None,
    }
}

/// The outcome in one line, for tables.
pub fn summary(outcome: &FetchOutcome) -> String {
    match outcome {
        FetchOutcome::Fetched(page) => {
            let codes: Vec<_> = page.diagnostics.iter().map(|diagnostic| diagnostic.code.as_ref()).collect();
            format!("{} {:?} {codes:?}", page.status, String::from_utf8_lossy(&page.body))
        }
        FetchOutcome::Unchanged(unchanged) => format!("unchanged {:?}", unchanged.validators.etag),
        FetchOutcome::Redirected(redirect) => format!("{} -> {}", redirect.status, redirect.target),
        FetchOutcome::NotFetched(reason) => format!("not fetched: {reason}"),
        FetchOutcome::Failed(error) => format!("failed: {error}"),
        FetchOutcome::RobotsFirst => "robots first".to_owned(),
    }
}

pub async fn fetch(fetcher: &Fetcher, url: &str) -> String {
    summary(&fetcher.fetch(&lease(url)).await.0)
}

pub async fn fetch_hinted(fetcher: &Fetcher, url: &str) -> (String, HostHint) {
    let (outcome, hint) = fetcher.fetch(&lease(url)).await;
    (summary(&outcome), hint)
}

pub async fn fetch_page(fetcher: &Fetcher, url: &str) -> FetchedPage {
    match fetcher.fetch(&lease(url)).await.0 {
        FetchOutcome::Fetched(page) => *page,
        other => panic!("{}", summary(&other)),
    }
}

pub fn codes(page: &FetchedPage) -> Vec<&str> {
    page.diagnostics.iter().map(|diagnostic| diagnostic.code.as_ref()).collect()
}

/// A clock whose time of day is set by hand.
#[derive(Debug)]
pub struct HandClock(Mutex<Timestamp>);

impl HandClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new("2026-11-15T12:00:00Z".parse().unwrap())))
    }

    pub fn advance(&self, seconds: i64) {
        let mut now = self.0.lock();
        *now += jiff::SignedDuration::from_secs(seconds);
    }
}

impl Clock for HandClock {
    fn now(&self) -> std::time::Instant {
        std::time::Instant::now()
    }

    fn wall(&self) -> Timestamp {
        *self.0.lock()
    }
}
