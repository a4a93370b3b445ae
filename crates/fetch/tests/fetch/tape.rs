//! What crosses the wire is written down as it was, when somebody wants it.

use webloom_fetch::Tape;
use webloom_model::{Exchange, Purpose, Truncated};

use crate::site::{Site, answer, lease, ok, send};

fn shown(fields: &[(String, Vec<u8>)]) -> Vec<String> {
    fields.iter().map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value))).collect()
}

async fn exchanges(
    site: &Site,
    change: impl FnOnce(&mut webloom_fetch::FetchConfig),
    path: &str,
) -> Vec<Exchange> {
    let fetcher = site.fetcher_with(|config| {
        config.record = true;
        change(config);
    });
    let mut tape = Tape::on();
    fetcher.fetch_taped(&lease(&format!("http://example.org{path}")), &mut tape).await;
    tape.into_exchanges()
}

#[tokio::test]
async fn heads_and_bodies_are_as_they_came() {
    // "hi" in gzip, sent in chunks, after a hint.
    let gzip = [31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 203, 200, 4, 0, 172, 42, 147, 216, 2, 0, 0, 0];
    let mut bytes = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".to_vec();
    bytes.extend(b"HTTP/1.1 200 Fine, thanks\r\nX-Odd-CASE:  1 \r\ncontent-encoding: gzip\r\nTransfer-Encoding: chunked\r\nX-Odd-CASE: 2\r\n\r\n");
    bytes.extend(format!("{:x}\r\n", gzip.len()).into_bytes());
    bytes.extend(gzip);
    bytes.extend(b"\r\n0\r\n\r\n");
    let site = Site::answering(bytes).await;
    let auth = |config: &mut webloom_fetch::FetchConfig| {
        config.auth = vec!["example.org=user:password".parse().unwrap()];
        config.headers = vec!["*=X-Key: secret".parse().unwrap()];
    };
    let [exchange] = &exchanges(&site, auth, "/page").await[..] else { panic!("one request") };
    assert_eq!((exchange.status, exchange.reason.as_str()), (200, "Fine, thanks"));
    assert_eq!(
        shown(&exchange.headers),
        ["X-Odd-CASE: 1", "content-encoding: gzip", "Transfer-Encoding: chunked", "X-Odd-CASE: 2"]
    );
    assert_eq!(exchange.body, &gzip[..]);
    assert_eq!((exchange.purpose, exchange.truncated), (Purpose::Page, None));
    assert_eq!((exchange.remote, exchange.tls), (Some(site.address.ip()), None));
    let asked = shown(&exchange.request).join("\n").to_lowercase();
    assert!(asked.contains("host: example.org") && asked.contains("user-agent: webloom"), "{asked}");
    assert!(!asked.contains("authorization") && !asked.contains("secret"), "{asked}");
    // It was sent all the same.
    assert!(site.requests.lock()[0].to_lowercase().contains("x-key: secret"));
}

#[tokio::test]
async fn every_answer_is_written_down_and_robots_too() {
    let site = Site::serve(|request| {
        vec![send(match request.path {
            "/robots.txt" => ok("", b"User-agent: *\nAllow: /\n"),
            "/moved" => answer("302 Found", "Location: /x", b"see there"),
            "/video" => ok("Content-Type: video/mp4", b"not wanted"),
            _ => answer("404 Not Found", "", b"nothing here"),
        })]
    })
    .await;
    let obey = |config: &mut webloom_fetch::FetchConfig| config.obey_robots = true;
    let [robots] = &exchanges(&site, obey, "/x").await[..] else { panic!("one request") };
    assert_eq!((robots.purpose, &robots.body[..]), (Purpose::Robots, &b"User-agent: *\nAllow: /\n"[..]));
    for (path, status, body) in [("/moved", 302, &b"see there"[..]), ("/none", 404, b"nothing here")] {
        let [exchange] = &exchanges(&site, |_| {}, path).await[..] else { panic!("one request") };
        assert_eq!((exchange.status, &exchange.body[..], exchange.truncated), (status, body, None));
    }
    let unwanted = |config: &mut webloom_fetch::FetchConfig| {
        config.unwanted_types = vec!["video/*".parse().unwrap()];
    };
    let [video] = &exchanges(&site, unwanted, "/video").await[..] else { panic!("one request") };
    assert_eq!((&video.body[..], video.truncated), (&b""[..], Some(Truncated::Unspecified)));
}

#[tokio::test]
async fn what_is_cut_says_why() {
    let long = Site::answering(ok("", &[b'x'; 5000])).await;
    let limit = |config: &mut webloom_fetch::FetchConfig| config.body_wire_bytes_max = 1000;
    let [exchange] = &exchanges(&long, limit, "/").await[..] else { panic!("one request") };
    assert_eq!((exchange.body.len(), exchange.truncated), (1000, Some(Truncated::Length)));
    let short = Site::doing(vec![
        send(&b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"[..]),
        crate::site::Step::Close,
    ])
    .await;
    let [exchange] = &exchanges(&short, |_| {}, "/").await[..] else { panic!("one request") };
    assert_eq!((&exchange.body[..], exchange.truncated), (&b"half"[..], Some(Truncated::Disconnect)));
}

#[tokio::test]
async fn without_a_tape_nothing_is_kept() {
    let site = Site::answering(ok("", b"hi")).await;
    let mut tape = Tape::off();
    site.fetcher().fetch_taped(&lease("http://example.org/"), &mut tape).await;
    assert!(tape.into_exchanges().is_empty());
}
