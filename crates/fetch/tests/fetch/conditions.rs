//! Pages that were fetched before: asked for on condition that they have changed.

use std::time::Duration;

use webloom_fetch::Preference;
use webloom_model::{FetchOutcome, Validators};

use crate::site::{Site, answer, fetch_hinted, lease, ok, send, summary};

const DATE: &str = "Sun, 15 Nov 2026 12:00:00 GMT";

fn validators(etag: Option<&str>, last_modified: Option<&str>) -> Validators {
    Validators {
        etag: etag.map(str::to_owned),
        last_modified: last_modified.map(str::to_owned),
        digest: Some([7; 32]),
    }
}

#[tokio::test]
async fn a_page_that_has_not_changed_is_not_sent() {
    let site = Site::serve(|_| vec![send("HTTP/1.1 304 Not Modified\r\nETag: \"new\"\r\n\r\n")]).await;
    let fetcher = site.fetcher();
    for (kept, expected, conditions) in [
        (
            validators(Some("\"old\""), None),
            "unchanged Some(\"\\\"new\\\"\")",
            &["if-none-match: \"old\""][..],
        ),
        (
            validators(Some("W/\"w\""), Some(DATE)),
            "unchanged Some(\"\\\"new\\\"\")",
            &["if-none-match: W/\"w\"", "if-modified-since: Sun, 15 Nov 2026 12:00:00 GMT"],
        ),
        // A 304 that nobody asked for is no page.
        (validators(None, None), "not fetched: answered 304", &[]),
        (validators(None, Some("yesterday")), "not fetched: answered 304", &[]),
        (validators(Some("\"a\r\nx: y\""), None), "not fetched: answered 304", &[]),
    ] {
        let mut lease = lease("http://example.org/");
        lease.validators = Some(kept.clone());
        let outcome = fetcher.fetch(&lease).await.0;
        assert_eq!(summary(&outcome), expected, "{kept:?}");
        if let FetchOutcome::Unchanged(unchanged) = outcome {
            assert_eq!(unchanged.validators.last_modified, kept.last_modified);
            assert_eq!(unchanged.validators.digest, Some([7; 32]));
        }
        let request = site.requests.lock().last().unwrap().clone();
        let sent: Vec<&str> = request.lines().filter(|line| line.starts_with("if-")).collect();
        assert_eq!(sent, conditions, "{kept:?}");
    }
    assert_eq!(site.connections(), 1);
}

#[tokio::test]
async fn what_is_asked_of_robots_is_told_with_a_304() {
    let head = "HTTP/1.1 304 Not Modified\r\nX-Robots-Tag: noindex\r\nx-robots-tag: a: b, c\r\n\r\n";
    let site = Site::serve(move |_| vec![send(head)]).await;
    let mut lease = lease("http://example.org/");
    lease.validators = Some(validators(Some("\"1\""), None));
    let FetchOutcome::Unchanged(unchanged) = site.fetcher().fetch(&lease).await.0 else { panic!("a 304") };
    assert_eq!(unchanged.robots, ["noindex", "a: b, c"]);
}

#[tokio::test]
async fn a_page_that_has_changed_comes_whole() {
    let site = Site::answering(ok("ETag: \"2\"", b"page")).await;
    let mut lease = lease("http://example.org/");
    lease.validators = Some(validators(Some("\"1\""), None));
    assert_eq!(summary(&site.fetcher().fetch(&lease).await.0), r#"200 "page" []"#);
}

#[tokio::test]
async fn hints_name_the_address_and_the_time() {
    let site = Site::serve(|request| match request.path {
        "/slow" => vec![crate::site::pause(60), send(ok("", b"page"))],
        _ => vec![send(answer("404 Not Found", "", b""))],
    })
    .await;
    let fetcher = site.fetcher();
    let (_, hint) = fetch_hinted(&fetcher, "http://example.org/slow").await;
    assert_eq!(hint.remote, Some(site.address.ip()));
    assert!(hint.took.unwrap() >= Duration::from_millis(60));
    let (_, hint) = fetch_hinted(&fetcher, "http://example.org/gone").await;
    assert_eq!((hint.remote, hint.took.is_some()), (Some(site.address.ip()), true));
    let (_, hint) =
        fetch_hinted(&site.fetcher_with(|config| config.allow_private = false), "http://x.example/").await;
    assert_eq!((hint.remote, hint.took, hint.untouched), (None, None, true));
}

#[tokio::test]
async fn what_is_preferred_is_a_setting() {
    let site = Site::answering(ok("", b"")).await;
    for (prefer, expected) in
        [(Preference::Data, "accept: text/turtle,"), (Preference::Pages, "accept: text/html,")]
    {
        fetch_hinted(&site.fetcher_with(|config| config.prefer = prefer), "http://example.org/").await;
        let request = site.requests.lock().last().unwrap().clone();
        assert!(request.contains(expected), "{request}");
    }
}
