//! The server as a client sees it: what the answers promise is what goes over the wire.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use webloom_testkit::{Answer, LogDetail, Request, RequestLog, ServerOptions, StaticWeb, WebServer};

const HOST: &str = "a.example";

fn serve(answer: Answer) -> WebServer {
    let site = move |request: &Request| {
        if request.path() == "/robots.txt" { Answer::not_found() } else { answer.clone() }
    };
    WebServer::start_blocking(site, ServerOptions::default()).unwrap()
}

fn send(address: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// All that comes back from one request, and whether the connection ended in peace.
fn exchange(server: &WebServer) -> (String, bool) {
    let mut stream =
        send(server.addresses()[0], &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n"));
    let mut bytes = Vec::new();
    let peaceful = stream.read_to_end(&mut bytes).is_ok();
    (String::from_utf8_lossy(&bytes).into_owned(), peaceful)
}

/// The body and the length that the header claims.
fn body_of(answer: &str) -> (&str, Option<u64>) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    (body, length)
}

#[test]
fn a_plain_answer() {
    let server = serve(Answer::html("<p>hello").with_header("x-test", "yes"));
    let (answer, peaceful) = exchange(&server);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("content-type: text/html; charset=utf-8\r\n"), "{answer}");
    assert!(answer.contains("x-test: yes\r\n"), "{answer}");
    assert_eq!(body_of(&answer), ("<p>hello", Some(8)));
    assert!(peaceful);
    let requests = server.log().requests();
    let request = &requests.all()[0];
    assert_eq!(
        (request.url().as_str(), request.status, request.body_bytes),
        ("http://a.example/", Some(200), 8)
    );
    assert!(request.complete && request.duration().is_some());
}

#[test]
fn hosts_are_told_apart_on_every_address_and_the_connection_is_kept() {
    let web = StaticWeb::new().html("http://a.example/", "AAA").html("http://b.example:8080/", "BBB");
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    for address in server.addresses() {
        assert_eq!(address.port(), server.port());
        let mut stream = send(
            *address,
            "GET / HTTP/1.1\r\nHost: A.example\r\n\r\n\
             GET / HTTP/1.1\r\nHost: b.example:8080\r\n\r\n\
             GET http://a.example/ HTTP/1.1\r\nHost: ignored.example\r\n\r\n\
             GET / HTTP/1.1\r\nHost: c.example\r\nConnection: close\r\n\r\n",
        );
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        let parts: Vec<&str> = all.split("HTTP/1.1 ").skip(1).collect();
        assert_eq!(parts.len(), 4, "{all}");
        assert!(parts[0].ends_with("AAA") && parts[1].ends_with("BBB") && parts[2].ends_with("AAA"), "{all}");
        assert!(parts[3].starts_with("404"), "{all}");
    }
    assert_eq!(server.log().count("http://a.example/"), 2 * server.addresses().len() as u64);
    assert_eq!(server.resolve_rule(), format!("*=127.0.0.1:{}", server.port()));
    assert_eq!(
        server.resolve_rule_for("a.example", server.addresses().len()),
        format!("a.example=127.0.0.1:{}", server.port())
    );
}

#[test]
fn delay_comes_before_the_header() {
    let server = serve(Answer::html("late").after(Duration::from_millis(80)));
    let start = Instant::now();
    let (answer, _) = exchange(&server);
    assert!(start.elapsed() >= Duration::from_millis(80));
    assert_eq!(body_of(&answer).0, "late");
    assert!(server.log().requests().all()[0].duration() >= Some(Duration::from_millis(80)));
}

#[test]
fn trickle_takes_its_time() {
    let server = serve(Answer::html("0123456789").trickle(3, Duration::from_millis(20)));
    let start = Instant::now();
    let (answer, peaceful) = exchange(&server);
    assert!(start.elapsed() >= Duration::from_millis(60), "{:?}", start.elapsed());
    assert_eq!(body_of(&answer), ("0123456789", Some(10)));
    assert!(peaceful);
}

#[test]
fn cut_breaks_off_after_the_promised_bytes() {
    for cut in [0, 1, 7] {
        let server = serve(Answer::html("0123456789").cut_after(cut));
        let (answer, _) = exchange(&server);
        let (body, length) = body_of(&answer);
        assert_eq!((body.len() as u64, length), (cut, Some(10)), "{answer}");
        assert!(!server.log().requests().all()[0].complete);
    }
}

#[test]
fn hang_up_and_reset_say_nothing() {
    let (answer, peaceful) = exchange(&serve(Answer::hang_up()));
    assert_eq!((answer.as_str(), peaceful), ("", true));
    let (answer, peaceful) = exchange(&serve(Answer::reset()));
    assert_eq!((answer.as_str(), peaceful), ("", false));
}

#[test]
fn raw_bytes_are_sent_as_they_are() {
    let (answer, _) = exchange(&serve(Answer::raw("220 mail.example ESMTP\r\n")));
    assert_eq!(answer, "220 mail.example ESMTP\r\n");
}

#[test]
fn a_wrong_length_is_claimed_and_the_body_sent() {
    for claimed in [4, 10, 1000] {
        let (answer, _) = exchange(&serve(Answer::html("0123456789").claiming_length(claimed)));
        assert_eq!(body_of(&answer), ("0123456789", Some(claimed)), "{answer}");
    }
}

#[test]
fn redirects_point_where_they_were_told() {
    let (answer, _) = exchange(&serve(Answer::redirect(308, "http://b.example/x")));
    assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
    assert!(answer.contains("location: http://b.example/x\r\n"), "{answer}");
}

#[test]
fn truncated_gzip_is_sound_http() {
    let (answer, peaceful) = exchange(&serve(Answer::html("text ".repeat(1000)).gzip_keeping(15)));
    assert!(answer.contains("content-encoding: gzip\r\n") && answer.contains("content-length: 15\r\n"));
    assert!(peaceful);
}

#[test]
fn endless_bodies_stream_without_memory() {
    const LENGTH: u64 = 200 * 1024 * 1024;
    let server = serve(Answer::endless("text/html", "<p>on and on ", LENGTH).claiming_length(LENGTH));
    let before = resident_kilobytes();
    let mut stream =
        send(server.addresses()[0], "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
    let mut buffer = vec![0; 1 << 16];
    let mut total = 0;
    loop {
        let read = stream.read(&mut buffer).unwrap();
        if read == 0 {
            break;
        }
        total += read as u64;
    }
    assert!((LENGTH..LENGTH + 500).contains(&total), "{total}");
    if let (Some(before), Some(after)) = (before, resident_kilobytes()) {
        assert!(after.saturating_sub(before) < 50_000, "{before} kB before, {after} kB after");
    }
}

#[test]
fn two_gigabytes_may_be_left_unread() {
    let server = serve(Answer::endless("text/html", "x", 2 << 30));
    let mut stream = send(server.addresses()[0], "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    let mut start = [0; 4096];
    stream.read_exact(&mut start).unwrap();
    assert!(String::from_utf8_lossy(&start).contains("transfer-encoding: chunked"));
    drop(stream);
    wait_for_an_answer(server.log());
    assert!(!server.log().requests().all()[0].complete);
}

/// The end of a request may be written down a moment after the client has seen it.
fn wait_for_an_answer(log: &RequestLog) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while log.totals().answers == 0 {
        assert!(Instant::now() < deadline, "the end of the request was not noticed");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn resident_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?.trim().parse().ok())
}

#[test]
fn a_dropped_server_is_gone_at_once_and_its_port_is_free() {
    let server = serve(Answer::html("x").after(Duration::from_secs(60)));
    let (address, port) = (server.addresses()[0], server.port());
    let mut waiting = send(address, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
    assert!(server.log().wait_for_requests(1, Duration::from_secs(5)));
    let start = Instant::now();
    drop(server);
    assert!(start.elapsed() < Duration::from_secs(2));
    let mut rest = Vec::new();
    let _ = waiting.read_to_end(&mut rest);
    assert!(rest.is_empty());
    assert!(TcpStream::connect(address).is_err());
    let options = ServerOptions { port, ..ServerOptions::default() };
    let again = WebServer::start_blocking(StaticWeb::new(), options).unwrap();
    assert_eq!(again.port(), port);
    let taken = ServerOptions { port, ..ServerOptions::default() };
    let refused = WebServer::start_blocking(StaticWeb::new(), taken).unwrap_err();
    assert_eq!(refused.to_string(), format!("cannot listen on 127.0.0.1:{port}"));
}

#[tokio::test]
async fn a_dropped_server_on_a_shared_runtime_is_gone_too() {
    let site = |_: &Request| Answer::html("x").after(Duration::from_secs(60));
    let server = WebServer::start(site, ServerOptions::default()).await.unwrap();
    let (address, log) = (server.addresses()[0], server.log().clone());
    let client = tokio::task::spawn_blocking(move || {
        let mut rest = Vec::new();
        let _ = send(address, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n").read_to_end(&mut rest);
        rest
    });
    let waiting = log.clone();
    assert!(
        tokio::task::spawn_blocking(move || waiting.wait_for_requests(1, Duration::from_secs(5)))
            .await
            .unwrap()
    );
    drop(server);
    assert!(client.await.unwrap().is_empty(), "the client was let go without an answer");
    wait_for_an_answer(&log);
}

#[tokio::test]
async fn a_graceful_end_lets_the_answer_finish() {
    let site = |_: &Request| Answer::html("done").after(Duration::from_millis(150));
    let server = WebServer::start(site, ServerOptions::default()).await.unwrap();
    let (address, log) = (server.addresses()[0], server.log().clone());
    let client = tokio::task::spawn_blocking(move || {
        let mut stream = send(address, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    });
    assert!(
        tokio::task::spawn_blocking(move || log.wait_for_requests(1, Duration::from_secs(5))).await.unwrap()
    );
    server.shut_down(Duration::from_secs(5)).await;
    assert!(client.await.unwrap().unwrap().ends_with("done"));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn number_counts_how_often_a_url_was_asked_for() {
    let site = |request: &Request| Answer::text(request.number.to_string());
    for (log, expected) in [(LogDetail::Everything, "2"), (LogDetail::Counts, "2"), (LogDetail::Totals, "0")]
    {
        let server =
            WebServer::start_blocking(site, ServerOptions { log, ..ServerOptions::default() }).unwrap();
        exchange(&server);
        exchange(&server);
        let (answer, _) = exchange(&server);
        assert_eq!(body_of(&answer).0, expected, "{log:?}");
        assert_eq!(server.log().totals().requests, 3);
    }
}

#[test]
fn an_impolite_client_is_caught() {
    let web = StaticWeb::new()
        .robots("http://a.example", "User-agent: *\nDisallow: /private/\nCrawl-delay: 0.2")
        .answer("http://a.example/slow", Answer::html("slow").after(Duration::from_millis(400)))
        .html("http://a.example/private/1", "secret")
        .html("http://www.a.example/", "another host of the same domain");
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let address = server.addresses()[0];
    let get = |host: &str, path: &str| {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: brute/1\r\nConnection: close\r\n\r\n"
        );
        send(address, &request).read_to_end(&mut Vec::new()).unwrap();
    };
    let log = server.log();
    let sentences = |violations: Vec<webloom_testkit::Violation>| -> Vec<String> {
        violations.iter().map(ToString::to_string).collect()
    };

    log.mark("polite");
    get("a.example", "/robots.txt");
    std::thread::sleep(Duration::from_millis(210));
    get("a.example", "/slow");
    std::thread::sleep(Duration::from_millis(210));
    let polite = log.section("polite");
    assert!(
        polite.hurried(Duration::from_millis(200), Duration::from_millis(100), Duration::ZERO).is_empty()
    );
    assert!(polite.hurried_against_crawl_delay(Duration::from_secs(1), Duration::ZERO).is_empty());
    assert!(polite.overlapping().is_empty() && polite.robots_violations().is_empty());

    log.mark("brutish");
    std::thread::scope(|scope| {
        scope.spawn(|| get("a.example", "/slow"));
        assert!(log.wait_for_requests(3, Duration::from_secs(5)));
        get("a.example", "/private/1");
    });
    get("www.a.example", "/");
    let brutish = log.section("brutish");
    assert_eq!(
        sentences(brutish.overlapping()),
        ["two at once: http://a.example/private/1 came before http://a.example/slow had ended"]
    );
    assert_eq!(
        sentences(brutish.robots_violations()),
        [
            "robots.txt forbids http://a.example/private/1",
            "http://www.a.example/ was asked for before robots.txt"
        ]
    );
    let hurried = sentences(brutish.hurried(Duration::from_secs(5), Duration::from_secs(5), Duration::ZERO));
    assert_eq!(hurried.iter().filter(|sentence| sentence.starts_with("host")).count(), 1, "{hurried:?}");
    assert_eq!(hurried.iter().filter(|sentence| sentence.starts_with("domain")).count(), 2, "{hurried:?}");
    assert_eq!(brutish.hurried_against_crawl_delay(Duration::from_secs(1), Duration::ZERO).len(), 1);
    assert_eq!(log.fetched_more_than_once(), [("http://a.example/slow".to_owned(), 2)]);
}

mod tls {
    use http_body_util::{BodyExt, Empty};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use rustls::{ClientConfig, RootCertStore};
    use rustls_pki_types::pem::PemObject;
    use rustls_pki_types::{CertificateDer, ServerName};
    use tokio_rustls::TlsConnector;

    use super::*;

    async fn connect(
        server: &WebServer,
        name: &'static str,
        alpn: &[&[u8]],
    ) -> tokio_rustls::client::TlsStream<tokio::net::TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(server.ca_pem().unwrap().as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
        let stream = tokio::net::TcpStream::connect(server.addresses()[0]).await.unwrap();
        let name = ServerName::try_from(name).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    async fn site() -> WebServer {
        let site = |request: &Request| match request.path() {
            "/broken" => Answer::hang_up(),
            "/cut" => Answer::html("0123456789").cut_after(3),
            _ => Answer::text(request.url()),
        };
        WebServer::start(site, ServerOptions::default()).await.unwrap()
    }

    #[tokio::test]
    async fn every_name_has_a_certificate_and_http2_is_spoken() {
        let server = site().await;
        for name in ["a.example", "deep.under.b.example"] {
            let stream = connect(&server, name, &[b"h2", b"http/1.1"]).await;
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
            let (mut sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
                    .await
                    .unwrap();
            tokio::spawn(connection);
            let get = |path: &str| {
                hyper::Request::get(format!("https://{name}{path}"))
                    .body(Empty::<bytes::Bytes>::new())
                    .unwrap()
            };
            let answer = sender.send_request(get("/x?y")).await.unwrap();
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(body, format!("https://{name}/x?y"));
            assert!(sender.send_request(get("/broken")).await.is_err());
            let cut = sender.send_request(get("/cut")).await.unwrap();
            assert!(cut.into_body().collect().await.is_err());
            // One broken stream leaves the connection to the others.
            assert!(sender.send_request(get("/again")).await.is_ok());
        }
        assert_eq!(server.log().count("https://a.example/x?y"), 1);
    }

    #[tokio::test]
    async fn http1_is_spoken_to_those_who_want_it() {
        let server = site().await;
        let stream = connect(&server, "a.example", &[b"http/1.1"]).await;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let get = |path: &str| {
            let request = hyper::Request::get(path).header("host", "a.example");
            request.body(Empty::<bytes::Bytes>::new()).unwrap()
        };
        let answer = sender.send_request(get("/1")).await.unwrap();
        assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), "https://a.example/1");
        assert!(sender.send_request(get("/broken")).await.is_err());
    }
}
