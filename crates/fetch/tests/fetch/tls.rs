//! TLS and HTTP/2, with certificates made on the spot.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use webloom_fetch::{FetchConfig, Fetcher, MemoryRobotsStore, SystemResolver};
use webloom_model::SystemClock;

use crate::site::{codes, fetch, fetch_hinted, fetch_page, quick_config};

struct SecureSite {
    address: SocketAddr,
    certificate_pem: Vec<u8>,
    connections: Arc<AtomicUsize>,
}

/// A body that never ends.
struct Endless;

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'x'; 8000])))))
    }
}

async fn respond(request: Request<Incoming>) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let text = |text: String| Full::new(Bytes::from(text)).boxed();
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    Ok(match request.uri().path() {
        "/endless" => Response::new(Endless.boxed()),
        "/flood" => {
            let mut response = Response::new(text(String::new()));
            for number in 0..200 {
                let name: http::HeaderName = format!("x-flood-{number}").parse().unwrap();
                response.headers_mut().insert(name, "y".repeat(1000).parse().unwrap());
            }
            response
        }
        "/moved" => {
            Response::builder().status(301).header("location", "/").body(text("moved".into())).unwrap()
        }
        _ => {
            let authority = request.uri().authority().map(ToString::to_string).or(header("host"));
            Response::new(text(format!("{} {}", authority.unwrap(), header("user-agent").unwrap())))
        }
    })
}

/// Takes TLS connections with a certificate of its own, which is given too.
fn acceptor(name: &str, protocols: &[&[u8]]) -> (TlsAcceptor, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let made = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
    (acceptor_showing(&made, &key, protocols), made.pem().into_bytes())
}

/// Takes TLS connections with that certificate, whether the key is its own or not.
fn acceptor_showing(certificate: &Certificate, key: &KeyPair, protocols: &[&[u8]]) -> TlsAcceptor {
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let shown = CertifiedKey::new(vec![certificate.der().clone()], key);
    let mut config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

impl SecureSite {
    async fn start(name: &str, protocols: &[&[u8]]) -> Self {
        let (acceptor, certificate_pem) = acceptor(name, protocols);
        Self::serve(acceptor, certificate_pem).await
    }

    async fn serve(acceptor: TlsAcceptor, certificate_pem: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let site =
            Self { address: listener.local_addr().unwrap(), certificate_pem, connections: Arc::default() };
        let connections = Arc::clone(&site.connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                    let (io, service) = (TokioIo::new(stream), service_fn(respond));
                    if is_http2 {
                        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(io, service).await;
                    } else {
                        let _ =
                            hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
                    }
                });
            }
        });
        site
    }

    fn fetcher(&self, change: impl FnOnce(&mut FetchConfig)) -> Fetcher {
        let mut config = quick_config(self.address);
        config.extra_roots_pem = vec![self.certificate_pem.clone()];
        change(&mut config);
        Fetcher::new(
            config,
            Arc::new(SystemResolver::new().unwrap()),
            Arc::new(MemoryRobotsStore::default()),
            Arc::new(SystemClock),
        )
        .unwrap()
    }
}

const BOTH: &[&[u8]] = &[b"h2", b"http/1.1"];

#[tokio::test]
async fn http2_is_spoken_and_shared() {
    let site = SecureSite::start("secure.example", BOTH).await;
    let fetcher = site.fetcher(|_| {});
    let page = fetch_page(&fetcher, "https://secure.example/").await;
    assert_eq!(page.http_version, "HTTP/2.0");
    let expected = format!("secure.example webloom/{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(page.body, expected);
    assert_eq!(page.remote, Some(site.address.ip()));
    assert_eq!(fetch(&fetcher, "https://secure.example/moved").await, "301 -> https://secure.example/");
    // Several at once go over the one connection.
    let urls = ["https://secure.example/1", "https://secure.example/2", "https://secure.example/3"];
    let pages = futures_util::future::join_all(urls.map(|url| fetch_page(&fetcher, url))).await;
    assert!(pages.iter().all(|page| page.status == 200));
    assert_eq!(site.connections.load(Ordering::SeqCst), 1);
    assert_eq!(fetcher.stats().connections_reused, 4);
    // The port of the URL is part of the authority, although the connection goes elsewhere.
    let page = fetch_page(&fetcher, "https://secure.example:8443/").await;
    assert!(page.body.starts_with(b"secure.example:8443 "), "{:?}", page.body);
}

#[tokio::test]
async fn sessions_are_taken_up_again() {
    let site = SecureSite::start("secure.example", BOTH).await;
    // No connection is kept, so each request needs one of its own.
    let fetcher = site.fetcher(|config| config.pool_idle = Duration::ZERO);
    for _ in 0..3 {
        assert_eq!(fetch_page(&fetcher, "https://secure.example/").await.status, 200);
    }
    let stats = fetcher.stats();
    assert_eq!(stats.connections_made, 3);
    assert_eq!(stats.tls_resumed, 2);
}

#[tokio::test]
async fn connections_take_their_leave() {
    let (acceptor, certificate_pem) = acceptor("secure.example", &[b"http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let site =
        SecureSite { address: listener.local_addr().unwrap(), certificate_pem, connections: Arc::default() };
    for idle in [Duration::ZERO, Duration::from_secs(60)] {
        let fetcher = site.fetcher(|config| {
            config.pool_idle = idle;
            config.obey_robots = false;
        });
        let server = async {
            let mut stream = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
            stream.flush().await.unwrap();
            stream.read(&mut request).await
        };
        let client = async {
            assert_eq!(fetch_page(&fetcher, "https://secure.example/").await.body, "ok");
            drop(fetcher);
        };
        let (end, ()) = tokio::join!(server, client);
        assert_eq!(end.expect("TLS is told that there is no more to come"), 0);
    }
}

#[tokio::test]
async fn http1_is_spoken_where_http2_is_not() {
    for protocols in [&[&b"http/1.1"[..]][..], &[]] {
        let site = SecureSite::start("secure.example", protocols).await;
        let page = fetch_page(&site.fetcher(|_| {}), "https://secure.example/").await;
        assert_eq!(page.http_version, "HTTP/1.1");
        assert!(page.body.starts_with(b"secure.example webloom/"));
    }
}

#[tokio::test]
async fn caps_hold_over_http2() {
    let site = SecureSite::start("secure.example", BOTH).await;
    let fetcher = site.fetcher(|config| config.body_bytes_max = 1 << 20);
    let page = fetch_page(&fetcher, "https://secure.example/endless").await;
    assert_eq!((page.body.len(), codes(&page)), (1 << 20, vec!["body-cut"]));
    let outcome = fetch(&fetcher, "https://secure.example/flood").await;
    assert!(outcome.starts_with("failed: broken answer: "), "{outcome}");
    // Neither spoils the host for what comes next.
    assert_eq!(fetch_page(&fetcher, "https://secure.example/").await.status, 200);
}

/// What comes of asking `https://secure.example/` for a page where a server shows a certificate and has a key, and others are trusted.
async fn asked(certificate: &Certificate, key: &KeyPair, trusted: &[&Certificate]) -> String {
    let site = SecureSite::serve(acceptor_showing(certificate, key, BOTH), Vec::new()).await;
    let fetcher = site.fetcher(|config| {
        config.extra_roots_pem = trusted.iter().map(|certificate| certificate.pem().into_bytes()).collect();
    });
    fetch(&fetcher, "https://secure.example/").await
}

fn params(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// That calls itself an authority, as those do that `openssl req -x509` makes.
fn authority(names: &[&str]) -> CertificateParams {
    let mut params = params(names);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn valid(mut params: CertificateParams, from: i32, until: i32) -> CertificateParams {
    (params.not_before, params.not_after) = (date_time_ymd(from, 2, 28), date_time_ymd(until, 12, 31));
    params
}

#[tokio::test]
async fn a_certificate_that_is_trusted_may_be_the_servers_own() {
    let key = KeyPair::generate().unwrap();
    let elder_key = KeyPair::generate().unwrap();
    let elder = Issuer::new(authority(&[]), elder_key);
    let alike = authority(&["secure.example"]).self_signed(&KeyPair::generate().unwrap()).unwrap();
    for (name, shown) in [
        ("of its own", params(&["secure.example"]).self_signed(&key).unwrap()),
        ("of an authority", authority(&["secure.example"]).self_signed(&key).unwrap()),
        (
            "of an authority, for other hosts too",
            authority(&["a.example", "secure.example"]).self_signed(&key).unwrap(),
        ),
        ("without a name", params(&[]).self_signed(&key).unwrap()),
        ("of an authority without a name", authority(&[]).self_signed(&key).unwrap()),
        ("signed by somebody unknown", params(&["secure.example"]).signed_by(&key, &elder).unwrap()),
        ("without an end", valid(authority(&["secure.example"]), 2020, 9999).self_signed(&key).unwrap()),
    ] {
        let outcome = asked(&shown, &key, &[&alike, &shown]).await;
        assert!(outcome.starts_with("200 "), "{name}: {outcome}");
        // Neither one that is only like it is trusted, nor one that is shown by somebody without its key.
        let outcome = asked(&shown, &key, &[&alike]).await;
        assert!(
            outcome.starts_with("failed: cannot connect to `secure.example`: its certificate"),
            "{name}: {outcome}"
        );
        let outcome = asked(&shown, &KeyPair::generate().unwrap(), &[&shown]).await;
        let unsigned = "failed: cannot connect to `secure.example`: its certificate, or the handshake, is not signed by whom it says";
        assert_eq!(outcome, unsigned, "{name}");
    }
    // An authority vouches for others as before.
    let root = authority(&[]);
    let root_key = KeyPair::generate().unwrap();
    let trusted = root.self_signed(&root_key).unwrap();
    let leaf = params(&["secure.example"]).signed_by(&key, &Issuer::new(root, root_key)).unwrap();
    let outcome = asked(&leaf, &key, &[&trusted]).await;
    assert!(outcome.starts_with("200 "), "{outcome}");
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_told() {
    let key = KeyPair::generate().unwrap();
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let expired = format!("expired on 2020-12-31, and today is {today}");
    let early = format!("is valid from 2090-02-28 on, and today is {today}");
    let many: Vec<String> = (1..9).map(|number| format!("h{number}.example")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let host = ["secure.example"];
    for (shown, is_trusted, expected) in [
        (
            params(&host),
            false,
            "is signed by nobody who is trusted; if you trust it, name a PEM file with it, or with the authority that signed it, in `fetch.ca_files`",
        ),
        (
            authority(&host),
            false,
            "is that of an authority, which vouches for others only; if you trust it, name a PEM file with it in `fetch.ca_files`",
        ),
        (valid(params(&host), 2019, 2020), true, &expired),
        (valid(authority(&host), 2019, 2020), true, &expired),
        (valid(params(&host), 2019, 2020), false, &expired),
        (valid(params(&host), 2090, 2099), true, &early),
        (valid(authority(&host), 2090, 2099), true, &early),
        (params(&["other.example"]), true, "is for `other.example`, not for `secure.example`"),
        (
            authority(&["other.example", "127.0.0.1"]),
            true,
            "is for `other.example` and `127.0.0.1`, not for `secure.example`",
        ),
        (
            params(&many),
            true,
            "is for `h1.example`, `h2.example`, `h3.example`, `h4.example`, `h5.example` and 3 more, not for `secure.example`",
        ),
    ] {
        let shown = shown.self_signed(&key).unwrap();
        let trusted: &[&Certificate] = if is_trusted { &[&shown] } else { &[] };
        let outcome = asked(&shown, &key, trusted).await;
        assert_eq!(
            outcome,
            format!("failed: cannot connect to `secure.example`: its certificate {expected}")
        );
    }
    // One that somebody vouches for has to be for servers, and for this one.
    let (root, root_key) = (authority(&[]), KeyPair::generate().unwrap());
    let trusted = root.self_signed(&root_key).unwrap();
    let issuer = Issuer::new(root, root_key);
    let mut client = params(&host);
    client.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    for (shown, expected) in
        [(client, "is not for servers"), (params(&[]), "is for no host at all, not for `secure.example`")]
    {
        let shown = shown.signed_by(&key, &issuer).unwrap();
        let outcome = asked(&shown, &key, &[&trusted]).await;
        assert_eq!(
            outcome,
            format!("failed: cannot connect to `secure.example`: its certificate {expected}")
        );
    }
}

#[tokio::test]
async fn certificates_are_checked() {
    let site = SecureSite::start("secure.example", BOTH).await;
    for (name, url, change) in [
        (
            "unknown",
            "https://secure.example/",
            (|config| config.extra_roots_pem.clear()) as fn(&mut FetchConfig),
        ),
        ("of another name", "https://other.example/", |_| {}),
        ("of no address", "https://127.0.0.1/", |_| {}),
    ] {
        let (outcome, hint) = fetch_hinted(&site.fetcher(change), url).await;
        assert!(outcome.starts_with("failed: cannot connect to `"), "{name}: {outcome}");
        assert!(outcome.contains("certificate"), "{name}: {outcome}");
        assert!(!hint.untouched);
    }
}

#[tokio::test]
async fn a_silent_handshake_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = quick_config(listener.local_addr().unwrap());
    config.tls_timeout = Duration::from_millis(50);
    let fetcher = Fetcher::new(
        config,
        Arc::new(SystemResolver::new().unwrap()),
        Arc::new(MemoryRobotsStore::default()),
        Arc::new(SystemClock),
    )
    .unwrap();
    assert_eq!(fetch(&fetcher, "https://secure.example/").await, "failed: tls took longer than 50ms");
    drop(listener);
}

#[tokio::test]
async fn plain_http_on_a_secure_port_fails_quickly() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            let _ = stream.read_buf(&mut Vec::new()).await;
        }
    });
    let fetcher = Fetcher::new(
        quick_config(address),
        Arc::new(SystemResolver::new().unwrap()),
        Arc::new(MemoryRobotsStore::default()),
        Arc::new(SystemClock),
    )
    .unwrap();
    let outcome = fetch(&fetcher, "https://secure.example/").await;
    assert_eq!(outcome, "failed: cannot connect to `secure.example`: what it says is not TLS");
}

#[tokio::test]
async fn a_handshake_that_breaks_off_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // What is not read would turn the goodbye into a reset.
            let _ = stream.read(&mut [0; 4096]).await;
        }
    });
    let fetcher = Fetcher::new(
        quick_config(address),
        Arc::new(SystemResolver::new().unwrap()),
        Arc::new(MemoryRobotsStore::default()),
        Arc::new(SystemClock),
    )
    .unwrap();
    let outcome = fetch(&fetcher, "https://secure.example/").await;
    assert_eq!(
        outcome,
        "failed: cannot connect to `secure.example`: it hung up in the middle of the TLS handshake"
    );
}

#[tokio::test]
async fn http2_is_written_down_as_it_was_understood() {
    for (protocols, version) in [(BOTH, "HTTP/2.0"), (&[&b"http/1.1"[..]][..], "HTTP/1.1")] {
        let site = SecureSite::start("secure.example", protocols).await;
        let fetcher = site.fetcher(|config| config.record = true);
        let mut tape = webloom_fetch::Tape::on();
        fetcher.fetch_taped(&crate::site::lease("https://secure.example/"), &mut tape).await;
        let [exchange] = &tape.into_exchanges()[..] else { panic!("one request") };
        assert_eq!((exchange.http_version, exchange.status), (version, 200));
        assert_eq!(exchange.tls, Some("tls/1.3"));
        assert!(exchange.body.starts_with(b"secure.example webloom/"));
        assert!(exchange.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length")));
        assert!(exchange.request.iter().any(|(name, _)| name == "user-agent"));
    }
}
