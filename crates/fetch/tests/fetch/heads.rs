//! Requests as they are sent, and what the heads of answers mean.

use std::time::Duration;

use webloom_model::{FetchError, FetchOutcome, PageUrl};

use crate::site::{Site, Step, answer, fetch, fetch_hinted, fetch_page, lease, ok, pause, send, summary};

#[tokio::test]
async fn a_request_says_who_asks_and_what_is_liked() {
    let site = Site::answering(ok("", b"hi")).await;
    let fetcher = site.fetcher_with(|config| {
        config.contact = Some("https://crawler.example/about".to_owned());
        config.accept_language = Some("de, en;q=0.5".to_owned());
    });
    fetch(&fetcher, "http://example.org:8080/a%20b?c=d").await;
    let request = site.requests.lock().remove(0).to_lowercase();
    for line in [
        "get /a%20b?c=d http/1.1\r\n",
        "host: example.org:8080\r\n",
        &format!("user-agent: webloom/{} (+https://crawler.example/about)\r\n", env!("CARGO_PKG_VERSION")),
        "accept-encoding: gzip, br, zstd, deflate\r\n",
        "accept-language: de, en;q=0.5\r\n",
        "accept: text/turtle, application/n-triples, application/n-quads, application/trig, application/rdf+xml, text/html;q=0.9,",
    ] {
        assert!(request.contains(line), "{line} is not in {request}");
    }

    let fetcher = site.fetcher_with(|config| config.accept_language = None);
    fetch(&fetcher, "http://example.org/").await;
    let request = site.requests.lock().remove(0).to_lowercase();
    assert!(request.contains(&format!("user-agent: webloom/{}\r\n", env!("CARGO_PKG_VERSION"))), "{request}");
    assert!(request.contains("host: example.org\r\n"), "{request}");
    assert!(!request.contains("accept-language"), "{request}");
}

#[tokio::test]
async fn a_page_is_all_that_came() {
    let site = Site::answering(ok("Content-Type: text/html\nX-A: 1\nX-a: caf\u{e9}\nX-B:  2 ", b"<p>")).await;
    let page = fetch_page(&site.fetcher(), "http://example.org/page").await;
    assert_eq!(page.url.as_str(), "http://example.org/page");
    assert_eq!((page.status, page.http_version, page.wire_bytes), (200, "HTTP/1.1", 3));
    assert_eq!(page.remote, Some(site.address.ip()));
    assert_eq!(page.header("content-type"), Some("text/html"));
    assert_eq!(page.header_all("x-a").collect::<Vec<_>>(), ["1", "caf\u{e9}"]);
    assert_eq!(page.header("x-b"), Some("2"));
    assert_eq!(&page.body[..], b"<p>");
}

#[tokio::test]
async fn statuses_mean_what_they_mean() {
    for (status, headers, expected) in [
        ("200 OK", "", r#"200 "body" []"#),
        ("203 Non-Authoritative", "", r#"203 "body" []"#),
        ("206 Partial Content", "", r#"206 "body" ["body-ended-early"]"#),
        ("299 Whatever", "", r#"299 "body" []"#),
        ("300 Multiple Choices", "Location: /x", "not fetched: answered 300"),
        ("304 Not Modified", "", "not fetched: answered 304"),
        ("305 Use Proxy", "Location: /x", "not fetched: answered 305"),
        ("400 Bad Request", "", "not fetched: answered 400"),
        ("401 Unauthorized", "", "not fetched: answered 401"),
        ("403 Forbidden", "", "not fetched: answered 403"),
        ("404 Not Found", "", "not fetched: answered 404"),
        ("410 Gone", "", "not fetched: answered 410"),
        ("451 Unavailable", "", "not fetched: answered 451"),
        ("501 Not Implemented", "", "not fetched: answered 501"),
        ("599 Strange", "", "not fetched: answered 599"),
        ("408 Request Timeout", "", "failed: answered 408, to be tried again"),
        ("425 Too Early", "", "failed: answered 425, to be tried again"),
        ("429 Too Many Requests", "", "failed: answered 429, to be tried again"),
        ("407 Proxy Authentication Required", "", "failed: answered 407, to be tried again"),
        ("500 Oops", "", "failed: answered 500, to be tried again"),
        ("502 Bad Gateway", "", "failed: answered 502, to be tried again"),
        ("503 Unavailable", "", "failed: answered 503, to be tried again"),
        ("504 Timeout", "", "failed: answered 504, to be tried again"),
    ] {
        let site = Site::answering(answer(status, headers, b"body")).await;
        assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, expected, "{status}");
    }
}

#[tokio::test]
async fn answers_without_a_body_are_empty_pages() {
    for head in ["HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 205 Reset\r\nContent-Length: 0\r\n\r\n"] {
        let site = Site::answering(head).await;
        let expected = format!(r#"{} "" []"#, &head[9..12]);
        assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, expected);
    }
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let site = Site::doing(vec![
        send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"),
        pause(20),
        send(ok("", b"page")),
    ])
    .await;
    assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, r#"200 "page" []"#);
}

#[tokio::test]
async fn old_and_sloppy_heads_are_read() {
    for (head, expected) in [
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", r#"200 "hi" []"#),
        ("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", r#"200 "hi" []"#),
        ("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", r#"200 "hi" []"#),
        ("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi", r#"200 "hi" []"#),
        ("HTTP/1.1 200 OK\r\nno colon here\r\nContent-Length: 2\r\n\r\nhi", r#"200 "hi" []"#),
        ("HTTP/1.1 200 OK\r\nX: a\r\n  folded\r\nContent-Length: 2\r\n\r\nhi", r#"200 "hi" []"#),
    ] {
        let site = Site::answering(head).await;
        assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, expected, "{head:?}");
    }
}

#[tokio::test]
async fn what_is_not_http_is_a_broken_answer() {
    for bytes in [
        &b"<html>HTTP/0.9 says hello</html>"[..],
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\x15\x03\x01\x00\x02\x02\x50",
        b"HTTP/1.1 2xx OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        b"",
    ] {
        let site = Site::doing(vec![send(bytes), Step::Close]).await;
        let (outcome, hint) = fetch_hinted(&site.fetcher(), "http://example.org/").await;
        assert!(outcome.starts_with("failed: broken answer: "), "{outcome} for {bytes:?}");
        assert!(!hint.untouched);
        assert_eq!(site.connections(), 1, "a fresh connection is not tried twice");
    }
}

#[tokio::test]
async fn floods_of_headers_are_refused() {
    let site =
        Site::doing(vec![send("HTTP/1.1 200 OK\r\n"), Step::Endless(b"X-Flood: yes\r\n".repeat(100))]).await;
    let outcome = fetch(&site.fetcher(), "http://example.org/").await;
    assert!(outcome.starts_with("failed: broken answer: "), "{outcome}");

    let site = Site::doing(vec![send("HTTP/1.1 200 OK\r\nX-Flood: "), Step::Endless(vec![b'a'; 1000])]).await;
    let outcome = fetch(&site.fetcher(), "http://example.org/").await;
    assert!(outcome.starts_with("failed: broken answer: "), "{outcome}");

    let many = (0..60).map(|number| format!("X-{number}: y\n")).collect::<String>();
    let site = Site::answering(ok(&many, b"")).await;
    let strict = site.fetcher_with(|config| config.header_count_max = 50);
    assert!(fetch(&strict, "http://example.org/").await.starts_with("failed: broken answer: "));
    assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, r#"200 "" []"#);

    let long = format!("X: {}", "y".repeat(20_000));
    let site = Site::answering(ok(&long, b"")).await;
    let strict = site.fetcher_with(|config| config.header_bytes_max = 10_000);
    assert!(fetch(&strict, "http://example.org/").await.starts_with("failed: broken answer: "));
    assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, r#"200 "" []"#);
}

#[tokio::test]
async fn slow_heads_are_not_waited_for() {
    let drip: Vec<Step> = "HTTP/1.1 200 OK\r\n".bytes().flat_map(|byte| [send([byte]), pause(30)]).collect();
    let site = Site::doing(drip).await;
    let fetcher = site.fetcher_with(|config| config.headers_timeout = Duration::from_millis(100));
    let (outcome, hint) = fetch_hinted(&fetcher, "http://example.org/").await;
    assert_eq!(outcome, "failed: headers took longer than 100ms");
    assert!(!hint.untouched);
}

#[tokio::test]
async fn busy_hosts_say_when_to_come_again() {
    for (status, value, expected) in [
        ("429 Slow Down", "Retry-After: 7", Some(7)),
        ("503 Later", "Retry-After: 3600", Some(3600)),
        ("503 Later", "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
        ("503 Later", "Retry-After: tomorrow", None),
        ("503 Later", "", None),
    ] {
        let expected = expected.map(Duration::from_secs);
        let site = Site::answering(answer(status, value, b"")).await;
        let (outcome, hint) = site.fetcher().fetch(&lease("http://example.org/")).await;
        let FetchOutcome::Failed(FetchError::Busy { retry_after, .. }) = outcome else {
            panic!("{}", summary(&outcome));
        };
        assert_eq!((retry_after, hint.retry_after), (expected, expected), "{value}");
    }
}

#[tokio::test]
async fn redirects_are_told_not_followed() {
    for (status, location, expected) in [
        ("301 Moved", "Location: /next", "301 -> http://example.org/next"),
        ("302 Found", "Location: other?x#y", "302 -> http://example.org/dir/other?x"),
        ("303 See", "location: //b.example", "303 -> http://b.example/"),
        ("307 Temporary", "Location: https://example.org/dir/page", "307 -> https://example.org/dir/page"),
        ("308 Permanent", "Location: /caf\u{e9} bar", "308 -> http://example.org/caf%C3%A9%20bar"),
        ("302 Found", "", "not fetched: redirect not followed: there is no Location"),
        ("302 Found", "Location: #top", "not fetched: redirect not followed: it points to itself"),
        ("302 Found", "Location:", "not fetched: redirect not followed: it points to itself"),
        (
            "302 Found",
            "Location: ftp://example.org/",
            "not fetched: redirect not followed: `ftp://example.org/` cannot be crawled: \
             the scheme is `ftp`, not http or https",
        ),
    ] {
        let site = Site::answering(answer(status, location, b"moved")).await;
        assert_eq!(fetch(&site.fetcher(), "http://example.org/dir/page").await, expected, "{location}");
        assert_eq!(site.paths(), ["/dir/page"]);
    }
}

#[tokio::test]
async fn chains_of_redirects_end() {
    let site = Site::answering(answer("302 Found", "Location: /next", b"")).await;
    let fetcher = site.fetcher_with(|config| config.redirects_max = 3);
    let chain = |paths: &[&str]| {
        let mut lease = lease("http://example.org/here");
        lease.candidate.redirects =
            paths.iter().map(|path| PageUrl::parse(&format!("http://example.org{path}")).unwrap()).collect();
        lease
    };
    for (before, expected) in [
        (&["/a", "/b"][..], "302 -> http://example.org/next"),
        (&["/a", "/b", "/c"], "not fetched: redirect not followed: there were 3 before it"),
        (
            &["/next"],
            "not fetched: redirect not followed: it goes round in a circle, back to <http://example.org/next>",
        ),
    ] {
        assert_eq!(summary(&fetcher.fetch(&chain(before)).await.0), expected);
    }
}
