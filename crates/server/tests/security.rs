//! Requests nobody well-meaning sends.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use support::TestServer;
use webloom_server::{Registry, Server, ServerConfig, Token};

#[test]
fn only_our_own_names_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        TestServer::start_with(folder.path(), |config| config.host_names = vec!["Crawl.Example".into()]);
    for (host, status) in [
        ("127.0.0.1", 200),
        ("localhost:1234", 200),
        ("[::1]", 200),
        ("crawl.example", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("", 421),
    ] {
        assert_eq!(server.ask("GET", "/api/status", &[("Host", host)], b"").status, status, "{host}");
    }
    assert_eq!(server.send(b"GET /api/status HTTP/1.0\r\n\r\n").status, 421);
    let twice =
        b"GET /api/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(server.send(twice).status, 400);
}

#[test]
fn every_answer_ties_the_browsers_hands() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    for path in ["/", "/api/status", "/search?q=x", "/nothing", "/api/nothing", "/sparql?query=ASK%7B%7D"] {
        let answer = server.get(path);
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'"), "{path}");
        assert!(answer.header("content-security-policy").contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
    }
    assert_eq!(server.get("/api/status").header("access-control-allow-origin"), "");
    assert_eq!(server.get("/api/status").header("cross-origin-resource-policy"), "same-origin");
    let preflight = [("Origin", "http://a.example"), ("Access-Control-Request-Method", "POST")];
    assert_eq!(server.ask("OPTIONS", "/sparql", &preflight, b"").status, 204);
    assert_eq!(
        server.ask("OPTIONS", "/api/crawls", &preflight, b"").header("access-control-allow-origin"),
        ""
    );
}

#[test]
fn control_needs_the_token_and_our_own_page() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let json = ("Content-Type", "application/json");
    let token = format!("Bearer {}", server.token);
    let cookie = format!("a=b; webloom-token={}", server.token);
    let own = format!("http://{}", server.address);
    let body = br#"{"specification": ""}"#;
    for (fields, status) in [
        (vec![json], 401),
        (vec![json, ("Authorization", "Bearer x")], 401),
        (vec![json, ("Authorization", token.as_str())], 422),
        (vec![json, ("Authorization", token.as_str()), ("Origin", own.as_str())], 422),
        (vec![json, ("Authorization", token.as_str()), ("Origin", "http://evil.example")], 403),
        (vec![json, ("Authorization", token.as_str()), ("Origin", "null")], 403),
        (vec![json, ("Authorization", token.as_str()), ("Sec-Fetch-Site", "cross-site")], 403),
        (vec![json, ("Cookie", cookie.as_str())], 401),
        (vec![json, ("Cookie", cookie.as_str()), ("X-Webloom", "1")], 422),
        (vec![json, ("Cookie", cookie.as_str()), ("X-Webloom", "1"), ("Origin", "http://evil.example")], 403),
        (vec![("Content-Type", "text/plain"), ("Authorization", token.as_str())], 415),
    ] {
        let answer = server.ask("POST", "/api/crawls", &fields, body);
        assert_eq!(answer.status, status, "{fields:?}: {}", answer.text());
    }
    let session = server.ask("POST", "/api/session", &[("Authorization", &token)], b"");
    let set = session.header("set-cookie").to_owned();
    assert!(session.status == 204 && set.contains("SameSite=Strict") && set.contains("HttpOnly"), "{set}");
    assert_eq!(server.ask("POST", "/api/session", &[], b"").status, 401);
}

#[test]
fn other_machines_need_a_token_even_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let registry = std::sync::Arc::new(Registry::of_one(folder.path()).unwrap());
    let config = ServerConfig { listen: everywhere, ..ServerConfig::default() };
    let refused = runtime.block_on(Server::bind(config, registry, Vec::new())).unwrap_err();
    assert!(refused.to_string().contains("needs a token"), "{refused}");
    let server = TestServer::start_with(folder.path(), |config| {
        config.listen = everywhere;
        config.token = Some(Token::new("correct-horse-battery").unwrap());
    });
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, server.address.port()));
    let get = |path: &str, fields: &str| {
        let mut stream = std::net::TcpStream::connect(local).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {local}\r\nConnection: close\r\n{fields}\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    };
    let ask = |fields: &str| get("/api/status", fields);
    // The interface has to be there before anybody can type the token into it; nothing else is.
    assert!(get("/", "").contains(" 200 "));
    for path in ["/search?q=x", "/metrics", "/sparql", "/assets/none.js", "/api/openapi.json", "//"] {
        assert!(get(path, "").contains(" 401 "), "{path}");
    }
    assert!(ask("").contains(" 401 "));
    assert!(ask("Authorization: Bearer correct-horse-batterx\r\n").contains(" 401 "));
    let good = ask("Authorization: Bearer correct-horse-battery\r\n");
    assert!(good.contains(" 200 ") && good.contains("\"token_required\":true"), "{good}");
    assert!(ask("Cookie: webloom-token=correct-horse-battery\r\n").contains(" 200 "));
}

#[test]
fn bodies_and_headers_have_their_limits() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start_with(folder.path(), |config| {
        config.limits.body_bytes_max = 10_000;
        config.limits.upload_bytes_max = 50_000;
    });
    let query = ("Content-Type", "application/sparql-query");
    let big = "#".repeat(20_000);
    let answer = server.ask("POST", "/sparql", &[query], big.as_bytes());
    assert_eq!((answer.status, answer.code().as_str()), (413, "body-too-large"));
    let token = format!("Bearer {}", server.token);
    let update = [("Content-Type", "application/sparql-update"), ("Authorization", token.as_str())];
    assert_eq!(server.ask("POST", "/sparql", &update, "#".repeat(60_000).as_bytes()).status, 413);
    let json = [("Content-Type", "application/json"), ("Authorization", token.as_str())];
    assert_eq!(server.ask("POST", "/api/crawls", &json, "[".repeat(60_000).as_bytes()).status, 413);
    assert_eq!(server.ask("POST", "/api/crawls", &json, "[".repeat(40_000).as_bytes()).status, 422);
    // Ten thousand bytes of a field are odd, not forbidden; ten times as many are.
    let long = "x".repeat(10_000);
    assert_eq!(server.ask("GET", "/api/status", &[("X-Long", &long)], b"").status, 200);
    let longer = "x".repeat(100_000);
    assert_eq!(server.ask("GET", "/api/status", &[("X-Long", &longer)], b"").status, 431);
    let many: Vec<(&str, &str)> = (0..500).map(|_| ("X-Many", "x")).collect();
    assert_eq!(server.ask("GET", "/api/status", &many, b"").status, 431);
    assert_eq!(server.json("/api/status")["read_only"], false);
}

#[test]
fn slow_clients_are_cut_off_and_hold_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start_with(folder.path(), |config| {
        config.limits.header_time = Duration::from_millis(500);
        config.limits.body_time = Duration::from_millis(500);
    });
    let mut slow: Vec<_> = (0..50)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET /api/status HTTP/1.1\r\nHo").unwrap();
            stream
        })
        .collect();
    let start = Instant::now();
    server.json("/api/status");
    let mut rest = Vec::new();
    for stream in &mut slow {
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(start.elapsed() < Duration::from_secs(15));
    let mut stream = server.connect();
    let head = format!(
        "POST /sparql HTTP/1.1\r\nHost: {}\r\nContent-Type: application/sparql-query\r\nContent-Length: 100\r\nConnection: close\r\n\r\nASK",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.contains(" 408 "), "{answer}");
}

#[test]
fn no_path_leads_out_of_the_interface() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    for path in [
        "/../../../../etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/assets/../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/\\..\\..\\etc\\passwd",
        "/api/crawls/..%2f..%2fetc",
        "/api/crawls/%00",
        "/api/crawls/..",
        "/api/dump?graph=file:///etc/passwd&format=../../x",
        "/api/page?url=file:///etc/passwd",
        "/archive?url=file:///etc/passwd",
    ] {
        let answer = server.get(path);
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.text().contains("root:"), "{path}");
    }
}

#[test]
fn nonsense_is_answered_with_a_client_error() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /sparql HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"\r\n\r\n\r\n\r\n",
    ] {
        let status = server.send(bytes).status;
        assert!(status == 0 || (400..500).contains(&status), "{status}");
    }
    for path in [
        "/api/search?limit=-1",
        "/api/search?limit=99999999999999999999",
        "/api/search?q=%FF",
        "/api/thing",
        "/api/thing?iri=",
        "/api/thing?iri=%20",
        "/api/url?url=javascript:alert(1)",
        "/api/crawls/none",
        "/api/crawls/main/series?span=year",
        "/api/crawls/main/hosts?sort=x",
        "/sparql?query=%00",
        "/sparql?query=ASK%7B%7D&timeout=nan",
    ] {
        let answer = server.get(path);
        assert!((400..500).contains(&answer.status), "{path}: {} {}", answer.status, answer.text());
        assert!(!answer.code().is_empty(), "{path}: {}", answer.text());
    }
    assert_eq!(server.ask("PATCH", "/api/status", &[], b"").status, 405);
    assert_eq!(server.ask("POST", "/", &[], b"").status, 405);
}

#[test]
fn what_is_archived_is_shown_in_a_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let answer = server.get("/archive?url=http%3A%2F%2Fa.example%2F%3Cscript%3E");
    assert_eq!(answer.status, 400);
    let answer = server.get("/archive?url=http%3A%2F%2Fa.example%2F%26x");
    assert!(answer.status == 404 && answer.text().contains("http://a.example/&amp;x"), "{}", answer.text());
    assert!(answer.header("content-security-policy").starts_with("sandbox; default-src 'none'"));
    assert_eq!(answer.header("x-frame-options"), "SAMEORIGIN");
}

#[test]
fn an_address_that_asks_too_often_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start_with(folder.path(), |config| {
        config.limits.requests_per_second = 1.0;
        config.limits.requests_burst = 5.0;
    });
    let statuses: Vec<u16> = (0..10).map(|_| server.get("/api/settings").status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&429), "{statuses:?}");
}
