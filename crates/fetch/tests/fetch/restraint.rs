//! What is not downloaded, not so fast, not into memory; and what some hosts are sent and others are not.

use std::time::{Duration, Instant};

use webloom_fetch::{FetchConfig, Wanted};
use webloom_model::FetchOutcome;

use crate::site::{Site, Step, answer, fetch, fetch_page, lease, ok, send, summary};

fn no_videos(config: &mut FetchConfig) {
    config.unwanted_types = vec!["video/*".parse().unwrap()];
}

#[tokio::test]
async fn unwanted_bodies_are_broken_off() {
    let site = Site::serve(|request| match request.path {
        "/declared" => vec![
            send("HTTP/1.1 200 OK\r\nContent-Type: Video/MP4\r\nContent-Length: 999999999\r\n\r\n"),
            Step::Endless(vec![0; 8000]),
        ],
        "/shown" => vec![
            send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n\0\0\0\x20ftyp"),
            Step::Pause(Duration::from_millis(10)),
            send("isom\0\0\0\0"),
            Step::Endless(vec![0; 8000]),
        ],
        "/short" => vec![send(ok("", b"\x1a\x45\xdf\xa3"))],
        _ => vec![send(ok("", b"<p>a page that is longer than what is looked at"))],
    })
    .await;
    let fetcher = site.fetcher_with(no_videos);
    let unwanted = "not fetched: it is of the unwanted type video/mp4";
    assert_eq!(fetch(&fetcher, "http://example.org/declared").await, unwanted);
    assert_eq!(fetch(&fetcher, "http://example.org/shown").await, unwanted);
    assert!(fetch(&fetcher, "http://example.org/page").await.starts_with("200 "));
    // What is too short to be a film is kept.
    assert!(fetch(&fetcher, "http://example.org/short").await.starts_with("200 "));
    // Whoever asks for something special gets it, whatever it is.
    let wanted = Wanted { accept: "*/*", bytes_max: 100, timeout: None };
    let outcome = fetcher.fetch_as(&lease("http://example.org/declared"), &wanted).await.0;
    assert!(summary(&outcome).contains("body-cut"), "{}", summary(&outcome));
    assert!(site.requests.lock().last().unwrap().contains("accept: */*\r\n"));
}

#[tokio::test]
async fn bytes_come_no_faster_than_they_may() {
    let site = Site::answering(ok("", &vec![b'x'; 60_000])).await;
    let capped: [fn(&mut FetchConfig); 2] = [
        |config| {
            config.bandwidth = Some(100_000);
        },
        |config| {
            config.host_bandwidth = Some(100_000);
        },
    ];
    for change in capped {
        let fetcher = site.fetcher_with(|config| {
            change(config);
            // Waiting that we cause ourselves is not held against the sender.
            config.body_timeout = Duration::from_millis(200);
        });
        let start = Instant::now();
        for _ in 0..2 {
            assert_eq!(fetch_page(&fetcher, "http://example.org/").await.body.len(), 60_000);
        }
        // A quarter of a second's worth is free; the last frame is waited for by whoever comes next.
        assert!(start.elapsed() >= Duration::from_millis(300), "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn long_bodies_wait_on_disk() {
    let body: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
    let sent = ok("", &body);
    let site = Site::serve(move |_| vec![send(sent.clone())]).await;
    let fetcher = site.fetcher_with(|config| config.spill_body_bytes = 100_000);
    assert!(fetch_page(&fetcher, "http://example.org/").await.body == body);
    // Caps stay.
    let fetcher = site.fetcher_with(|config| {
        config.spill_body_bytes = 100_000;
        config.body_bytes_max = 2_345_678;
    });
    let page = fetch_page(&fetcher, "http://example.org/").await;
    assert!(page.body == body[..2_345_678]);
    assert_eq!(crate::site::codes(&page), ["body-cut"]);
    // More than a page may have, for who asks for it.
    let fetcher = site.fetcher_with(|config| config.body_bytes_max = 1000);
    let wanted = Wanted { accept: "*/*", bytes_max: 1 << 30, timeout: None };
    let FetchOutcome::Fetched(page) = fetcher.fetch_as(&lease("http://example.org/"), &wanted).await.0 else {
        panic!("no page")
    };
    assert!(page.body == body);
}

#[tokio::test]
async fn secrets_go_to_their_hosts_only() {
    let site = Site::serve(|request| match request.path {
        "/away" => vec![send(answer("302 Found", "Location: http://other.example/", b""))],
        _ => vec![send(ok("", b"page"))],
    })
    .await;
    let fetcher = site.fetcher_with(|config| {
        config.auth = vec!["example.org=me:secret".parse().unwrap()];
        config.headers = vec!["*.example.org=X-Key: 1".parse().unwrap(), "*=X-Everyone: 2".parse().unwrap()];
    });
    for (url, fields) in [
        ("http://example.org/away", &["authorization: Basic bWU6c2VjcmV0", "x-everyone: 2"][..]),
        ("http://www.example.org/", &["x-everyone: 2", "x-key: 1"]),
        ("http://other.example/", &["x-everyone: 2"]),
    ] {
        fetch(&fetcher, url).await;
        let request = site.requests.lock().last().unwrap().clone();
        let mut sent: Vec<&str> =
            request.lines().filter(|line| line.starts_with("x-") || line.starts_with("auth")).collect();
        sent.sort_unstable();
        assert_eq!(sent, fields, "{url}");
    }
}

#[tokio::test]
async fn cookies_are_sent_back_only_when_they_are_wanted() {
    let site = Site::answering(ok("Set-Cookie: seen=1; Path=/", b"<p>hello")).await;
    for (wanted, expected) in [(false, false), (true, true)] {
        let fetcher = site.fetcher_with(|config| config.cookies = wanted);
        for path in ["one", "two"] {
            fetch_page(&fetcher, &format!("http://example.org/{path}")).await;
        }
        let last = site.requests.lock().last().unwrap().to_ascii_lowercase();
        assert_eq!(last.contains("cookie: seen=1\r\n"), expected, "{last}");
        fetch_page(&fetcher, "http://other.example/").await;
        assert!(!site.requests.lock().last().unwrap().to_ascii_lowercase().contains("cookie"));
    }
}
