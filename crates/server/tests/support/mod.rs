//! What the tests of the server share: a real server on loopback, and a client that can be as rude as need be.

#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::oneshot;
use webloom_server::{Registry, Server, ServerConfig};

/// A server that ends when it is dropped.
pub struct TestServer {
    pub address: SocketAddr,
    pub token: String,
    pub registry: Arc<Registry>,
    end: Option<oneshot::Sender<()>>,
    runtime: Option<tokio::runtime::Runtime>,
    served: Option<tokio::task::JoinHandle<()>>,
}

impl TestServer {
    pub fn start(data: &Path) -> Self {
        Self::start_with(data, |_| {})
    }

    pub fn start_with(data: &Path, change: impl FnOnce(&mut ServerConfig)) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let registry = Arc::new(Registry::of_one(data).unwrap());
        let mut config =
            ServerConfig { listen: SocketAddr::from(([127, 0, 0, 1], 0)), ..ServerConfig::default() };
        change(&mut config);
        let server = runtime.block_on(Server::bind(config, registry.clone(), Vec::new())).unwrap();
        let (address, token) = (server.address(), server.token().to_owned());
        let (end, ended) = oneshot::channel::<()>();
        let served = runtime.spawn(server.run(async move {
            let _ = ended.await;
        }));
        Self { address, token, registry, end: Some(end), runtime: Some(runtime), served: Some(served) }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], b"")
    }

    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// With the token.
    pub fn control(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let token = format!("Bearer {}", self.token);
        let bytes = body.map(ToString::to_string).unwrap_or_default();
        self.ask(
            method,
            path,
            &[("Authorization", &token), ("Content-Type", "application/json")],
            bytes.as_bytes(),
        )
    }

    pub fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.send(&bytes)
    }

    /// Sends these very bytes and reads what comes back.
    pub fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        Answer::parse(&answer)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    pub fn query(&self, query: &str) -> Value {
        let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        self.json(&format!("/sparql?query={query}"))
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.end.take());
        if let (Some(runtime), Some(served)) = (self.runtime.take(), self.served.take()) {
            let _ = runtime.block_on(served);
            runtime.shutdown_timeout(Duration::from_secs(2));
        }
    }
}

/// What came back.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// 0 when the server closed without a word.
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Self {
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
            return Self::default();
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status =
            lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|status| status.parse().ok());
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let body = bytes[end + 4..].to_vec();
        let chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
        let body = if chunked { unchunk(&body) } else { body };
        Self { status: status.unwrap_or(0), headers, body }
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn code(&self) -> String {
        self.value()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(String::from_utf8_lossy(&bytes[..end]).trim(), 16).unwrap_or(0);
        if size == 0 || bytes.len() < end + 2 + size {
            break;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = bytes.get(end + 4 + size..).unwrap_or_default();
    }
    body
}

/// Asks until `done` is satisfied with the answer, or fails the test.
#[track_caller]
pub fn until<T>(patience: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < patience, "{what} did not happen within {patience:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
