//! robots.txt: first of all, believed for a while, and never gone without.

use std::sync::Arc;
use std::time::Duration;

use webloom_fetch::{FetchConfig, Fetcher, MemoryRobotsStore, RobotsStore, SystemResolver};
use webloom_model::{FetchOutcome, PageUrl};

use crate::site::{
    HandClock, Request, Site, Step, answer, fetch, fetch_hinted, lease, ok, pause, quick_config, send,
    summary,
};

fn obey(config: &mut FetchConfig) {
    config.obey_robots = true;
}

/// A site with this robots answer, and a page everywhere else.
async fn site_with_robots(robots: impl Into<Vec<u8>>) -> Site {
    let robots = robots.into();
    Site::serve(move |request| match request.path {
        "/robots.txt" => vec![send(robots.clone())],
        _ => vec![send(ok("", b"page"))],
    })
    .await
}

#[tokio::test]
async fn robots_come_before_pages() {
    let site = site_with_robots(ok("", b"User-agent: *\nDisallow: /secret\nCrawl-delay: 2")).await;
    let fetcher = site.fetcher_with(obey);
    let (outcome, hint) = fetch_hinted(&fetcher, "http://example.org/a").await;
    assert_eq!(outcome, "robots first");
    assert_eq!((hint.crawl_delay, hint.untouched), (Some(Duration::from_secs(2)), false));
    assert_eq!(site.paths(), ["/robots.txt"]);

    let (outcome, hint) = fetch_hinted(&fetcher, "http://example.org/a").await;
    assert_eq!(outcome, r#"200 "page" []"#);
    assert_eq!((hint.crawl_delay, hint.untouched), (Some(Duration::from_secs(2)), false));

    let (outcome, hint) = fetch_hinted(&fetcher, "http://example.org/secret/x").await;
    assert_eq!(outcome, "not fetched: robots.txt forbids it");
    assert_eq!((hint.crawl_delay, hint.untouched), (Some(Duration::from_secs(2)), true));
    assert_eq!(site.paths(), ["/robots.txt", "/a"]);

    // Each origin has its own.
    assert_eq!(fetch(&fetcher, "http://example.org:8080/a").await, "robots first");
    assert_eq!(fetch(&fetcher, "http://www.example.org/a").await, "robots first");
    assert_eq!(fetcher.stats().robots_requests, 3);
}

#[tokio::test]
async fn what_a_robots_answer_allows() {
    let forbids = b"User-agent: webloom\nDisallow: /";
    let mut padded = b"User-agent: *\nDisallow: /a\n".to_vec();
    padded.resize(2 << 20, b'#');
    for (name, robots, expected) in [
        ("found", ok("", b"User-agent: *\nDisallow:"), r#"200 "page" []"#),
        ("forbids", ok("", forbids), "not fetched: robots.txt forbids it"),
        ("empty", ok("", b""), r#"200 "page" []"#),
        ("204", b"HTTP/1.1 204 No\r\n\r\n".to_vec(), r#"200 "page" []"#),
        ("404", answer("404 Not Found", "", forbids), r#"200 "page" []"#),
        ("403", answer("403 Forbidden", "", forbids), r#"200 "page" []"#),
        ("401", answer("401 Unauthorized", "", forbids), r#"200 "page" []"#),
        ("302 to nowhere", answer("302 Found", "", forbids), r#"200 "page" []"#),
        ("302 to mail", answer("302 Found", "Location: mailto:a@b.example", b""), r#"200 "page" []"#),
        ("302 to itself", answer("302 Found", "Location: /robots.txt", b""), r#"200 "page" []"#),
        ("huge", ok("", &padded), "not fetched: robots.txt forbids it"),
        ("BOM", ok("", b"\xef\xbb\xbfUser-agent: *\nDisallow: /a"), "not fetched: robots.txt forbids it"),
        ("Latin-1", ok("", b"# \xe9\nUser-agent: *\nDisallow: /a"), "not fetched: robots.txt forbids it"),
        ("HTML", ok("Content-Type: text/html", b"<!doctype html><p>Hello"), r#"200 "page" []"#),
    ] {
        let site = site_with_robots(robots).await;
        let fetcher = site.fetcher_with(obey);
        assert_eq!(fetch(&fetcher, "http://example.org/a").await, "robots first", "{name}");
        assert_eq!(fetch(&fetcher, "http://example.org/a").await, expected, "{name}");
    }
}

#[tokio::test]
async fn an_endless_robots_file_is_read_up_to_the_limit() {
    let site = Site::serve(|request| match request.path {
        "/robots.txt" => vec![
            send("HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /a\n"),
            Step::Endless(b"# and so on\n".repeat(100)),
        ],
        _ => vec![send(ok("", b"page"))],
    })
    .await;
    let fetcher = site.fetcher_with(obey);
    assert_eq!(fetch(&fetcher, "http://example.org/a").await, "robots first");
    assert_eq!(fetch(&fetcher, "http://example.org/a").await, "not fetched: robots.txt forbids it");
    assert_eq!(fetch(&fetcher, "http://example.org/b").await, r#"200 "page" []"#);
}

#[tokio::test]
async fn without_robots_nothing_is_fetched() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n";
    for (name, robots, expected) in [
        ("500", vec![send(answer("500 Oops", "", b""))], "answered 500, to be tried again"),
        ("501", vec![send(answer("501 What", "", b""))], "answered 501, to be tried again"),
        ("503", vec![send(answer("503 Busy", "Retry-After: 9", b""))], "answered 503, to be tried again"),
        ("429", vec![send(answer("429 Slow", "", b""))], "answered 429, to be tried again"),
        ("407", vec![send(answer("407 Who", "", b""))], "answered 407, to be tried again"),
        ("closed", vec![Step::Close], "broken answer: "),
        ("slow", vec![pause(60_000)], "headers took longer than 100ms"),
        (
            "cut",
            vec![send(head), send("User-agent: *\nAllow: /"), Step::Close],
            "broken answer: robots.txt breaks off",
        ),
    ] {
        let robots = robots.clone();
        let site = Site::serve(move |request| match request.path {
            "/robots.txt" => robots.clone(),
            _ => vec![send(ok("", b"page"))],
        })
        .await;
        let clock = HandClock::new();
        let fetcher = site.fetcher_at(clock.clone(), |config| {
            obey(config);
            config.headers_timeout = Duration::from_millis(100);
        });
        let (outcome, hint) = fetch_hinted(&fetcher, "http://example.org/a").await;
        assert!(outcome.starts_with(&format!("failed: {expected}")), "{name}: {outcome}");
        assert_eq!(hint.retry_after, (name == "503").then_some(Duration::from_secs(9)), "{name}");
        assert!(!hint.untouched, "{name}");

        // It is not asked for again at once, but it is soon.
        let (outcome, hint) = fetch_hinted(&fetcher, "http://example.org/b").await;
        assert!(outcome.starts_with("failed: "), "{name}: {outcome}");
        assert!(hint.untouched, "{name}");
        assert_eq!(site.paths(), ["/robots.txt"], "{name}");
        clock.advance(30);
        let mut last = lease("http://example.org/a");
        last.attempt = 2;
        let outcome = summary(&fetcher.fetch(&last).await.0);
        assert!(
            outcome.starts_with(&format!("not fetched: robots.txt is unreachable: {expected}")),
            "{name}: {outcome}"
        );
        assert_eq!(site.paths(), ["/robots.txt", "/robots.txt"], "{name}");
    }
}

#[tokio::test]
async fn a_host_that_is_not_there_has_unreachable_robots() {
    // A port that was free a moment ago.
    let address = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let mut config = quick_config(address);
    obey(&mut config);
    let fetcher = Fetcher::new(
        config,
        Arc::new(SystemResolver::new().unwrap()),
        Arc::new(MemoryRobotsStore::default()),
        HandClock::new(),
    )
    .unwrap();
    for untouched in [false, true] {
        let (outcome, hint) = fetch_hinted(&fetcher, "http://example.org/").await;
        assert!(outcome.starts_with("failed: cannot connect to `example.org`: "), "{outcome}");
        assert_eq!(hint.untouched, untouched);
    }
}

#[tokio::test]
async fn robots_redirects_are_followed() {
    let script = |request: &Request<'_>| {
        let to = |target: &str| vec![send(answer("301 Moved", &format!("Location: {target}"), b""))];
        match request.path {
            "/robots.txt" => to("http://www.example.org/r/5"),
            "/r/5" => to("4"),
            "/r/4" => to("3"),
            "/r/3" => to("2"),
            "/r/2" => to("/r/last"),
            "/r/last" => vec![send(ok("", b"User-agent: *\nDisallow: /a"))],
            _ => vec![send(ok("", b"page"))],
        }
    };
    let site = Site::serve(script).await;
    let fetcher = site.fetcher_with(obey);
    assert_eq!(fetch(&fetcher, "http://example.org/a").await, "robots first");
    assert_eq!(fetch(&fetcher, "http://example.org/a").await, "not fetched: robots.txt forbids it");
    assert_eq!(site.paths(), ["/robots.txt", "/r/5", "/r/4", "/r/3", "/r/2", "/r/last"]);

    // One more is one too many, and counts as none.
    let fetcher = site.fetcher_with(|config| {
        obey(config);
        config.robots_redirects_max = 4;
    });
    assert_eq!(fetch(&fetcher, "http://example.org/a").await, "robots first");
    assert_eq!(fetch(&fetcher, "http://example.org/a").await, r#"200 "page" []"#);
}

/// Many hosts of a provider redirect to one robots.txt: it is asked for once, and by one at a time.
#[tokio::test]
async fn a_robots_txt_that_many_hosts_lead_to_is_asked_for_once() {
    for (last, expected) in [
        (ok("", b"User-agent: *\nDisallow: /a"), "not fetched: robots.txt forbids it"),
        (answer("404 Not Found", "", b""), r#"200 "page" []"#),
    ] {
        let script = move |request: &Request<'_>| match (request.host, request.path) {
            ("shared.example", "/robots.txt") => {
                vec![Step::Pause(Duration::from_millis(50)), send(last.clone())]
            }
            (_, "/robots.txt") => {
                vec![send(answer("301 Moved", "Location: http://shared.example/robots.txt", b""))]
            }
            _ => vec![send(ok("", b"page"))],
        };
        let site = Site::serve(script).await;
        let fetcher = site.fetcher_with(obey);
        let urls: Vec<String> = (0..12).map(|host| format!("http://h{host}.example/a")).collect();
        let asked = urls.iter().map(|url| fetch(&fetcher, url));
        assert_eq!(futures_util::future::join_all(asked).await, ["robots first"; 12]);
        assert_eq!(site.paths().len(), 13, "{:?}", site.paths());
        assert_eq!(fetch(&fetcher, &urls[7]).await, expected);
        // What the host said is known for its own pages, too.
        assert_eq!(fetch(&fetcher, "http://shared.example/a").await, expected);
    }
}

#[tokio::test]
async fn a_robots_redirect_to_nowhere_leaves_robots_unreachable() {
    #[derive(Debug)]
    struct Nowhere;
    impl webloom_fetch::Resolve for Nowhere {
        fn resolve<'a>(
            &'a self,
            host: &'a str,
            _: u16,
        ) -> futures_util::future::BoxFuture<'a, Result<Vec<std::net::SocketAddr>, webloom_fetch::ResolveError>>
        {
            let reason = format!("nothing is known of {host}");
            Box::pin(std::future::ready(Err(webloom_fetch::ResolveError { reason })))
        }
    }
    let site = site_with_robots(answer("302 Found", "Location: http://gone.example/robots.txt", b"")).await;
    let mut config = quick_config(site.address);
    obey(&mut config);
    config.resolve = vec![format!("example.org={}", site.address).parse().unwrap()];
    let store = Arc::new(MemoryRobotsStore::default());
    let fetcher = Fetcher::new(config, Arc::new(Nowhere), store, HandClock::new()).unwrap();
    let (outcome, hint) = fetch_hinted(&fetcher, "http://example.org/a").await;
    assert!(outcome.starts_with("failed: cannot resolve host `gone.example`"), "{outcome}");
    assert!(!hint.untouched, "example.org was asked");
    assert!(fetch(&fetcher, "http://example.org/a").await.starts_with("failed: "));
}

#[tokio::test]
async fn robots_are_believed_for_a_day_and_over_restarts() {
    let site = site_with_robots(ok("", b"User-agent: *\nDisallow: /secret")).await;
    let clock = HandClock::new();
    let store: Arc<dyn RobotsStore> = Arc::new(MemoryRobotsStore::default());
    let start = || {
        let mut config = quick_config(site.address);
        obey(&mut config);
        let resolver = Arc::new(SystemResolver::new().unwrap());
        Fetcher::new(config, resolver, Arc::clone(&store), clock.clone()).unwrap()
    };
    let fetcher = start();
    assert_eq!(fetch(&fetcher, "http://example.org/").await, "robots first");
    clock.advance(24 * 60 * 60 - 1);
    assert_eq!(fetch(&fetcher, "http://example.org/").await, r#"200 "page" []"#);
    let fetcher = start();
    assert_eq!(fetch(&fetcher, "http://example.org/secret").await, "not fetched: robots.txt forbids it");
    clock.advance(2);
    assert_eq!(fetch(&fetcher, "http://example.org/").await, "robots first");
    assert_eq!(site.paths(), ["/robots.txt", "/", "/robots.txt"]);

    // A damaged record is no record.
    store.put("http://example.org", b"\x01garbage");
    assert_eq!(fetch(&start(), "http://example.org/").await, "robots first");
}

#[tokio::test]
async fn one_url_is_followed_to_its_page() {
    let site = Site::serve(|request| {
        let to = |target: &str| vec![send(answer("302 Found", &format!("Location: {target}"), b""))];
        match request.path {
            "/robots.txt" => vec![send(ok("", b"User-agent: *\nDisallow: /secret"))],
            "/a" => to("/b"),
            "/b" => to("http://other.example/c"),
            "/round" => to("/trip"),
            "/trip" => to("/round"),
            "/to-secret" => to("/secret"),
            _ => vec![send(ok("", b"page"))],
        }
    })
    .await;
    let fetcher = site.fetcher_with(obey);
    let follow = async |path: &str| {
        let url = PageUrl::parse(&format!("http://example.org{path}")).unwrap();
        fetcher.fetch_once(&url).await
    };
    let followed = follow("/a").await;
    let FetchOutcome::Fetched(page) = &followed.outcome else { panic!("{}", summary(&followed.outcome)) };
    assert_eq!(page.url.as_str(), "http://other.example/c");
    assert_eq!(followed.url, page.url);
    let redirects: Vec<_> = followed.redirects.iter().map(PageUrl::as_str).collect();
    assert_eq!(redirects, ["http://example.org/a", "http://example.org/b"]);
    assert_eq!(site.paths(), ["/robots.txt", "/a", "/b", "/robots.txt", "/c"]);

    assert!(summary(&follow("/round").await.outcome).contains("goes round in a circle"));
    let followed = follow("/to-secret").await;
    assert_eq!(summary(&followed.outcome), "not fetched: robots.txt forbids it");
    assert_eq!(followed.url.as_str(), "http://example.org/secret");
}

#[tokio::test]
async fn sitemaps_are_known_once_robots_are() {
    let site = site_with_robots(ok(
        "",
        b"Sitemap: http://example.org/a.xml\nSitemap: /path.xml\nSitemap: no map\nUser-agent: *\nDisallow: /\nSitemap: https://cdn.example/b.xml.gz",
    ))
    .await;
    let fetcher = site.fetcher_with(obey);
    let page = PageUrl::parse("http://example.org/x").unwrap();
    assert_eq!(fetcher.sitemaps(&page), []);
    assert_eq!(fetch(&fetcher, page.as_str()).await, "robots first");
    let sitemaps: Vec<String> = fetcher.sitemaps(&page).into_iter().map(String::from).collect();
    assert_eq!(
        sitemaps,
        ["http://example.org/a.xml", "http://example.org/path.xml", "https://cdn.example/b.xml.gz"]
    );
    // Another origin has robots of its own.
    assert_eq!(fetcher.sitemaps(&PageUrl::parse("https://example.org/x").unwrap()), []);
}
