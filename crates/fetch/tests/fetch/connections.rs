//! Who is connected to, and how often.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use webloom_fetch::{
    FetchConfig, FetchSetupError, Fetcher, MemoryRobotsStore, Resolve, ResolveError, SystemResolver,
};
use webloom_model::SystemClock;

use crate::site::{Site, Step, answer, fetch, fetch_hinted, ok, quick_config, send};

/// Knows a few names.
#[derive(Debug)]
struct Names(Vec<(&'static str, Vec<SocketAddr>)>);

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str, _: u16) -> BoxFuture<'a, Result<Vec<SocketAddr>, ResolveError>> {
        Box::pin(async move {
            match (host, self.0.iter().find(|(name, _)| *name == host)) {
                ("slow.example", _) => std::future::pending().await,
                (_, Some((_, addresses))) => Ok(addresses.clone()),
                (_, None) => Err(ResolveError { reason: "no such name".to_owned() }),
            }
        })
    }
}

fn fetcher(config: FetchConfig, names: Vec<(&'static str, Vec<SocketAddr>)>) -> Fetcher {
    let store = Arc::new(MemoryRobotsStore::default());
    Fetcher::new(config, Arc::new(Names(names)), store, Arc::new(SystemClock)).unwrap()
}

#[tokio::test]
async fn private_addresses_are_not_connected_to() {
    let site = Site::answering(ok("", b"secret")).await;
    let port = site.address.port();
    for obey_robots in [false, true] {
        let config = FetchConfig {
            allow_private: false,
            obey_robots,
            resolve: vec![format!("ruled.example={}", site.address).parse().unwrap()],
            ..quick_config(site.address)
        };
        let guarded = fetcher(config, vec![("named.example", vec![site.address])]);
        for (host, address) in [
            ("ruled.example", "127.0.0.1"),
            ("named.example", "127.0.0.1"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.1", "127.0.0.1"),
            ("0x7f000001", "127.0.0.1"),
            ("2130706433", "127.0.0.1"),
            ("[::1]", "::1"),
            ("[::ffff:127.0.0.1]", "::ffff:127.0.0.1"),
            ("[64:ff9b::7f00:1]", "64:ff9b::7f00:1"),
            ("0.0.0.0", "0.0.0.0"),
            ("169.254.169.254", "169.254.169.254"),
        ] {
            let (outcome, hint) = fetch_hinted(&guarded, &format!("http://{host}:{port}/")).await;
            let expected =
                format!("not fetched: {address} is a private address (allow it with --allow-private)");
            assert_eq!(outcome, expected, "{host}");
            assert!(hint.untouched, "{host}");
        }
    }
    assert_eq!(site.connections(), 0);
}

#[tokio::test]
async fn names_without_addresses_leave_the_host_alone() {
    let site = Site::answering(ok("", b"")).await;
    for obey_robots in [false, true] {
        let config = FetchConfig {
            obey_robots,
            resolve: Vec::new(),
            resolve_timeout: Duration::from_millis(50),
            ..quick_config(site.address)
        };
        let fetcher = fetcher(config, vec![("empty.example", vec![])]);
        for (host, expected) in [
            ("unknown.example", "failed: cannot resolve host `unknown.example`: no such name"),
            ("empty.example", "failed: cannot resolve host `empty.example`: the name has no address"),
            ("slow.example", "failed: resolve took longer than 50ms"),
        ] {
            let (outcome, hint) = fetch_hinted(&fetcher, &format!("http://{host}/")).await;
            assert_eq!(outcome, expected);
            assert!(hint.untouched, "{host}");
        }
    }
}

#[tokio::test]
async fn the_next_address_is_tried() {
    let site = Site::answering(ok("", b"here")).await;
    let dead = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let config = FetchConfig { resolve: Vec::new(), ..quick_config(site.address) };
    let names = vec![("both.example", vec![dead, site.address]), ("dead.example", vec![dead])];
    let fetcher = fetcher(config, names);
    assert_eq!(fetch(&fetcher, "http://both.example/").await, r#"200 "here" []"#);
    let (outcome, hint) = fetch_hinted(&fetcher, "http://dead.example/").await;
    assert_eq!(outcome, format!("failed: cannot connect to `dead.example`: {dead}: connection refused"));
    assert!(!hint.untouched);
}

#[tokio::test]
async fn rules_come_in_order() {
    let one = Site::answering(ok("", b"one")).await;
    let two = Site::answering(ok("", b"two")).await;
    let config = FetchConfig {
        resolve: vec![
            format!("www.example.org={}", one.address).parse().unwrap(),
            format!("*.example.org={}", two.address).parse().unwrap(),
        ],
        ..quick_config(one.address)
    };
    let fetcher = fetcher(config, vec![]);
    assert_eq!(fetch(&fetcher, "http://www.example.org/").await, r#"200 "one" []"#);
    assert_eq!(fetch(&fetcher, "http://a.b.example.org:81/").await, r#"200 "two" []"#);
    assert!(fetch(&fetcher, "http://example.org/").await.starts_with("failed: cannot resolve"));
    // The rule says where to connect, not what to ask for.
    assert!(two.requests.lock()[0].to_lowercase().contains("host: a.b.example.org:81\r\n"));
}

#[tokio::test]
async fn localhost_works_when_allowed() {
    let site = Site::answering(ok("", b"home")).await;
    let config = FetchConfig { resolve: Vec::new(), ..quick_config(site.address) };
    let fetcher = Fetcher::new(
        config,
        Arc::new(SystemResolver::new().unwrap()),
        Arc::new(MemoryRobotsStore::default()),
        Arc::new(SystemClock),
    )
    .unwrap();
    let url = format!("http://localhost:{}/", site.address.port());
    assert_eq!(fetch(&fetcher, &url).await, r#"200 "home" []"#);
    let url = format!("http://127.0.0.1:{}/", site.address.port());
    assert_eq!(fetch(&fetcher, &url).await, r#"200 "home" []"#);
}

#[tokio::test]
async fn connections_are_used_again() {
    let site = Site::serve(|request| match request.path {
        "/moved" => vec![send(answer("302 Found", "Location: /", &[b'x'; 1000]))],
        "/gone" => vec![send(answer("410 Gone", "", b"gone"))],
        "/chunked" => vec![send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n")],
        "/close" => vec![send(ok("Connection: close", b"bye")), Step::Close],
        _ => vec![send(ok("", b"page"))],
    })
    .await;
    let fetcher = site.fetcher();
    for path in ["/", "/moved", "/gone", "/chunked", "/close"] {
        fetch(&fetcher, &format!("http://example.org{path}")).await;
    }
    assert_eq!(site.connections(), 1);
    let stats = fetcher.stats();
    assert_eq!((stats.requests, stats.connections_made, stats.connections_reused), (5, 1, 4));
    // The last answer closed it, and another origin has its own.
    fetch(&fetcher, "http://example.org/").await;
    assert_eq!(site.connections(), 2);
    fetch(&fetcher, "http://www.example.org/").await;
    assert_eq!(site.connections(), 3);
    assert_eq!(fetcher.stats().connections_dead, 0);
}

#[tokio::test]
async fn when_the_pool_is_full_the_oldest_connection_makes_room() {
    let site = Site::answering(ok("", b"<p>hello")).await;
    let fetcher = site.fetcher_with(|config| {
        config.pool_connections_max = 2;
        config.obey_robots = false;
    });
    for host in ["a", "b", "c", "c", "b", "a"] {
        fetch(&fetcher, &format!("http://{host}.example/")).await;
    }
    // Three were made; the last of them and the one before were used again, the first one had made room.
    assert_eq!(fetcher.stats().connections_reused, 2);
    assert_eq!(site.connections(), 4);
}

#[tokio::test]
async fn unused_connections_are_closed() {
    let site = Site::answering(ok("", b"page")).await;
    let fetcher = site.fetcher_with(|config| config.pool_idle = Duration::from_millis(50));
    fetch(&fetcher, "http://example.org/").await;
    assert_eq!(fetcher.stats().connections_open, 1);
    let closed = async {
        while fetcher.stats().connections_open > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), closed).await.expect("the connection stays open");
    fetch(&fetcher, "http://example.org/").await;
    assert_eq!(site.connections(), 2);

    let fetcher = site.fetcher_with(|config| config.pool_idle = Duration::ZERO);
    fetch(&fetcher, "http://example.org/").await;
    fetch(&fetcher, "http://example.org/").await;
    assert_eq!(site.connections(), 4);
}

#[tokio::test]
async fn a_dead_connection_is_replaced_once() {
    // Closes when it is asked a second time over one connection, without a word.
    let site = Site::serve(|request| match request.nth {
        0 => vec![send(ok("", b"page"))],
        _ => vec![Step::Close],
    })
    .await;
    let fetcher = site.fetcher();
    for _ in 0..3 {
        assert_eq!(fetch(&fetcher, "http://example.org/").await, r#"200 "page" []"#);
    }
    assert_eq!(site.connections(), 3);
    assert_eq!(fetcher.stats().connections_dead, 2);

    // If the new one is no better, that is that.
    let site = Site::serve(|request| match (request.connection, request.nth) {
        (0, 0) => vec![send(ok("", b"page"))],
        _ => vec![Step::Close],
    })
    .await;
    let fetcher = site.fetcher();
    assert_eq!(fetch(&fetcher, "http://example.org/").await, r#"200 "page" []"#);
    assert!(fetch(&fetcher, "http://example.org/").await.starts_with("failed: broken answer: "));
    assert_eq!(site.connections(), 2);

    // Garbage is an answer, not a dead connection.
    let site = Site::serve(|request| match request.nth {
        0 => vec![send(ok("", b"page"))],
        _ => vec![send("garbage\r\n\r\n"), Step::Close],
    })
    .await;
    let fetcher = site.fetcher();
    assert_eq!(fetch(&fetcher, "http://example.org/").await, r#"200 "page" []"#);
    assert!(fetch(&fetcher, "http://example.org/").await.starts_with("failed: broken answer: "));
    assert_eq!(site.connections(), 1);
}

#[tokio::test]
async fn a_pooled_connection_is_left_when_the_name_moves() {
    #[derive(Debug)]
    struct Moving(parking_lot::Mutex<SocketAddr>);
    impl Resolve for Moving {
        fn resolve<'a>(&'a self, _: &'a str, _: u16) -> BoxFuture<'a, Result<Vec<SocketAddr>, ResolveError>> {
            Box::pin(std::future::ready(Ok(vec![*self.0.lock()])))
        }
    }
    let old = Site::answering(ok("", b"old")).await;
    let new = Site::answering(ok("", b"new")).await;
    let names = Arc::new(Moving(parking_lot::Mutex::new(old.address)));
    let config = FetchConfig { resolve: Vec::new(), ..quick_config(old.address) };
    let store = Arc::new(MemoryRobotsStore::default());
    let fetcher = Fetcher::new(config, names.clone(), store, Arc::new(SystemClock)).unwrap();
    assert_eq!(fetch(&fetcher, "http://example.org/").await, r#"200 "old" []"#);
    *names.0.lock() = new.address;
    assert_eq!(fetch(&fetcher, "http://example.org/").await, r#"200 "new" []"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_share_one_fetcher() {
    let site = Site::answering(ok("", b"page")).await;
    let fetcher = Arc::new(site.fetcher_with(|config| config.pool_connections_max = 20));
    let tasks: Vec<_> = (0..200)
        .map(|number| {
            let fetcher = Arc::clone(&fetcher);
            tokio::spawn(async move { fetch(&fetcher, &format!("http://{number}.example/")).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), r#"200 "page" []"#);
    }
    assert_eq!(fetcher.stats().requests, 200);
}

#[test]
fn settings_that_cannot_work_are_named() {
    let problem = |change: fn(&mut FetchConfig)| {
        let mut config = FetchConfig { system_roots: false, ..FetchConfig::default() };
        change(&mut config);
        let result: Result<Fetcher, FetchSetupError> = Fetcher::new(
            config,
            Arc::new(Names(vec![])),
            Arc::new(MemoryRobotsStore::default()),
            Arc::new(SystemClock),
        );
        result.unwrap_err().to_string()
    };
    assert_eq!(
        problem(|config| config.contact = Some("a\r\nX: b".to_owned())),
        format!(
            "`contact` cannot be sent in a header: \"webloom/{} (+a\\r\\nX: b)\"",
            env!("CARGO_PKG_VERSION")
        )
    );
    assert_eq!(problem(|config| config.large_bodies_max = 0), "`large_bodies_max` must not be 0");
    assert_eq!(
        problem(|config| config.robots_fresh = Duration::ZERO),
        "`robots_fresh` must not be less than a minute"
    );
    assert_eq!(problem(|config| config.robots_agent.clear()), "`robots_agent` must not be empty");
    assert_eq!(
        problem(|config| config.extra_roots_pem = vec![b"hello".to_vec()]),
        "file 1 of `fetch.ca_files` cannot be used: there is no certificate in it"
    );
}
