//! By way of a proxy, and to whichever address answers first.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use webloom_fetch::{Fetcher, MemoryRobotsStore, Resolve, ResolveError, SystemResolver};
use webloom_model::SystemClock;

use crate::site::{Site, answer, fetch, fetch_hinted, ok, quick_config, send};

/// A proxy that leads everybody to `target`, whatever they ask for, and notes what that was.
async fn tunnel(
    target: SocketAddr,
    speak: fn(TcpStream, SocketAddr) -> BoxFuture<'static, Option<String>>,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let notes = Arc::clone(&notes);
            tokio::spawn(async move {
                if let Some(note) = speak(stream, target).await {
                    notes.lock().push(note);
                }
            });
        }
    });
    (address, asked)
}

fn fetcher(proxy: &str, site: &Site, change: impl FnOnce(&mut webloom_fetch::FetchConfig)) -> Fetcher {
    site.fetcher_with(|config| {
        config.proxy = Some(proxy.parse().unwrap());
        config.resolve.clear();
        change(config);
    })
}

#[tokio::test]
async fn plain_requests_name_their_whole_url() {
    let site = Site::answering(ok("", b"by proxy")).await;
    let fetcher = fetcher(&format!("http://me:secret@{}", site.address), &site, |_| {});
    let (outcome, hint) = fetch_hinted(&fetcher, "http://far.example/a?b").await;
    assert_eq!(outcome, r#"200 "by proxy" []"#);
    // The proxy's address is not the host's.
    assert_eq!(hint.remote, None);
    let request = site.requests.lock().last().unwrap().clone();
    assert!(request.starts_with("GET http://far.example/a?b HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("proxy-authorization: Basic bWU6c2VjcmV0\r\n"), "{request}");
    assert!(request.contains("host: far.example\r\n"), "{request}");
}

#[tokio::test]
async fn literal_private_addresses_stay_refused() {
    let site = Site::answering(ok("", b"secret")).await;
    let fetcher = fetcher(&format!("http://{}", site.address), &site, |config| config.allow_private = false);
    let outcome = fetch(&fetcher, "http://169.254.169.254/").await;
    assert!(outcome.starts_with("not fetched: 169.254.169.254 is a private address"), "{outcome}");
    assert_eq!(fetch(&fetcher, "http://far.example/").await, r#"200 "secret" []"#);
}

/// Reads a CONNECT, answers it, and leads on.
fn connect(mut stream: TcpStream, target: SocketAddr) -> BoxFuture<'static, Option<String>> {
    Box::pin(async move {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.ok()?);
        }
        let line = String::from_utf8(head).ok()?.lines().next()?.to_owned();
        if line.contains("forbidden") {
            stream.write_all(b"HTTP/1.1 403 No\r\n\r\n").await.ok()?;
            return Some(line);
        }
        stream.write_all(b"HTTP/1.1 200 Connected\r\nX: y\r\n\r\n").await.ok()?;
        let mut onward = TcpStream::connect(target).await.ok()?;
        tokio::spawn(async move { copy_bidirectional(&mut stream, &mut onward).await });
        Some(line)
    })
}

#[tokio::test]
async fn secure_requests_go_through_a_tunnel() {
    // What is at the end of the tunnel is no TLS, which is found out behind the proxy: that far the way is right.
    let site = Site::answering(ok("", b"")).await;
    let (proxy, asked) = tunnel(site.address, connect).await;
    let fetcher =
        fetcher(&format!("http://{proxy}"), &site, |config| config.tls_timeout = Duration::from_millis(500));
    let outcome = fetch(&fetcher, "https://far.example/").await;
    assert!(outcome.starts_with("failed: "), "{outcome}");
    let outcome = fetch(&fetcher, "https://forbidden.example:8443/").await;
    assert!(outcome.contains("the proxy answered `HTTP/1.1 403 No`"), "{outcome}");
    let asked = asked.lock().clone();
    assert_eq!(asked, ["CONNECT far.example:443 HTTP/1.1", "CONNECT forbidden.example:8443 HTTP/1.1"]);
}

/// A SOCKS 5 proxy that wants a password.
fn socks(mut stream: TcpStream, target: SocketAddr) -> BoxFuture<'static, Option<String>> {
    Box::pin(async move {
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting).await.ok()?;
        assert_eq!(greeting, [5, 2, 0, 2]);
        stream.write_all(&[5, 2]).await.ok()?;
        let mut user = [0; 1 + 1 + 2 + 1 + 6];
        stream.read_exact(&mut user).await.ok()?;
        assert_eq!(&user, b"\x01\x02me\x06secret");
        stream.write_all(&[1, 0]).await.ok()?;
        let mut request = [0; 5];
        stream.read_exact(&mut request).await.ok()?;
        let mut name = vec![0; usize::from(request[4]) + 2];
        stream.read_exact(&mut name).await.ok()?;
        let port = u16::from_be_bytes([name[name.len() - 2], name[name.len() - 1]]);
        name.truncate(name.len() - 2);
        let asked = format!("{}:{port}", String::from_utf8(name).ok()?);
        if asked.starts_with("unreachable") {
            stream.write_all(&[5, 4, 0, 1, 0, 0, 0, 0, 0, 0]).await.ok()?;
            return Some(asked);
        }
        stream.write_all(&[5, 0, 0, 3, 1, b'x', 0, 0]).await.ok()?;
        let mut onward = TcpStream::connect(target).await.ok()?;
        tokio::spawn(async move { copy_bidirectional(&mut stream, &mut onward).await });
        Some(asked)
    })
}

#[tokio::test]
async fn socks_leads_anywhere() {
    let site = Site::serve(|_| vec![send(answer("200 OK", "", b"by socks"))]).await;
    let (proxy, asked) = tunnel(site.address, socks).await;
    let fetcher = fetcher(&format!("socks5://me:secret@{proxy}"), &site, |_| {});
    assert_eq!(fetch(&fetcher, "http://far.example/a").await, r#"200 "by socks" []"#);
    let outcome = fetch(&fetcher, "http://unreachable.example:81/").await;
    assert!(outcome.contains("the SOCKS proxy says that the host cannot be reached"), "{outcome}");
    assert_eq!(*asked.lock(), ["far.example:80", "unreachable.example:81"]);
    assert!(site.requests.lock()[0].starts_with("GET /a HTTP/1.1\r\n"));
}

#[tokio::test]
async fn silent_proxies_are_not_waited_for() {
    let site = Site::doing(vec![crate::site::pause(60_000)]).await;
    let fetcher = fetcher(&format!("socks5://{}", site.address), &site, |config| {
        config.connect_timeout = Duration::from_millis(100);
    });
    assert_eq!(fetch(&fetcher, "http://far.example/").await, "failed: proxy took longer than 100ms");
}

#[derive(Debug)]
struct Everywhere(Vec<SocketAddr>);

impl Resolve for Everywhere {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> BoxFuture<'a, Result<Vec<SocketAddr>, ResolveError>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

#[tokio::test]
async fn the_address_that_answers_is_used() {
    let site = Site::answering(ok("", b"page")).await;
    // A port that nobody listens on, and an address that packets do not come back from.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let silent: SocketAddr = "192.0.2.1:9".parse().unwrap();
    for addresses in
        [vec![closed, site.address], vec![silent, site.address], vec![closed, silent, site.address]]
    {
        let mut config = quick_config(site.address);
        config.resolve.clear();
        let store = Arc::new(MemoryRobotsStore::default());
        let fetcher =
            Fetcher::new(config, Arc::new(Everywhere(addresses)), store, Arc::new(SystemClock)).unwrap();
        let start = Instant::now();
        assert_eq!(fetch(&fetcher, "http://example.org/").await, r#"200 "page" []"#);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn ipv6_is_spoken() {
    let Ok(listener) = TcpListener::bind("[::1]:0").await else {
        eprintln!("this machine has no IPv6");
        return;
    };
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut head = vec![0; 4096];
            let _ = stream.read(&mut head).await;
            let _ = stream.write_all(&ok("", b"six")).await;
        }
    });
    let mut config = quick_config(address);
    config.resolve.clear();
    let store = Arc::new(MemoryRobotsStore::default());
    let resolver = Arc::new(SystemResolver::new().unwrap());
    let fetcher = Fetcher::new(config, resolver, store, Arc::new(SystemClock)).unwrap();
    let (outcome, hint) = fetch_hinted(&fetcher, &format!("http://[::1]:{}/", address.port())).await;
    assert_eq!(outcome, r#"200 "six" []"#);
    assert_eq!(hint.remote, Some(address.ip()));
}
