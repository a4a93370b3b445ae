//! Bodies: encoded, broken, slow, endless.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_compression::tokio::bufread;
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use webloom_model::FetchOutcome;

use crate::site::{Site, Step, codes, fetch, fetch_page, lease, ok, pause, send, summary};

async fn encode(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    match name {
        "gzip" => bufread::GzipEncoder::new(bytes).read_to_end(&mut encoded).await,
        "zlib" => bufread::ZlibEncoder::new(bytes).read_to_end(&mut encoded).await,
        "raw" => bufread::DeflateEncoder::new(bytes).read_to_end(&mut encoded).await,
        "br" => bufread::BrotliEncoder::new(bytes).read_to_end(&mut encoded).await,
        "zstd" => bufread::ZstdEncoder::new(bytes).read_to_end(&mut encoded).await,
        other => unreachable!("{other}"),
    }
    .unwrap();
    encoded
}

/// Something that does not compress away.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[tokio::test]
async fn encodings_are_undone_in_the_stream() {
    let text = "Ein Text, der sich wiederholt. ".repeat(10_000);
    for (header, encoders) in [
        ("gzip", &["gzip"][..]),
        ("x-gzip", &["gzip"]),
        ("deflate", &["zlib"]),
        ("deflate", &["raw"]),
        ("br", &["br"]),
        ("zstd", &["zstd"]),
        ("gzip, br", &["gzip", "br"]),
        ("zstd, gzip, deflate", &["zstd", "gzip", "raw"]),
    ] {
        let mut body = text.as_bytes().to_vec();
        for name in encoders {
            body = encode(name, &body).await;
        }
        // One byte at a time at first, so that no decoder may count on whole headers.
        let mut steps = vec![send(format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: {header}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        ))];
        let drip = body.len().min(6);
        steps.extend(body[..drip].iter().flat_map(|byte| [send([*byte]), pause(1)]));
        steps.push(send(&body[drip..]));
        let site = Site::doing(steps).await;
        let page = fetch_page(&site.fetcher(), "http://example.org/").await;
        assert_eq!(page.body, text, "{header}");
        assert_eq!(page.diagnostics, [], "{header}");
        assert_eq!(page.wire_bytes, body.len() as u64);
        assert_eq!(page.header("content-encoding"), Some(header));
    }
    // The list may be spread over several fields.
    let body = encode("br", &encode("gzip", b"twice").await).await;
    let site = Site::answering(ok("Content-Encoding: gzip\nContent-Encoding: br", &body)).await;
    assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, r#"200 "twice" []"#);
}

#[tokio::test]
async fn broken_and_unknown_encodings_keep_what_there_is() {
    let text: String = (0..50_000).map(|number| format!("{number} ")).collect();
    let whole = encode("gzip", text.as_bytes()).await;
    let site = Site::answering(ok("Content-Encoding: gzip", &whole[..whole.len() / 2])).await;
    let page = fetch_page(&site.fetcher(), "http://example.org/").await;
    assert!(page.body.len() > 50_000 && text.as_bytes().starts_with(&page.body), "{}", page.body.len());
    assert_eq!(codes(&page), ["broken-compression"]);

    let mut wrong = whole.clone();
    let last = wrong.len() - 6;
    wrong[last] ^= 0xff;
    let site = Site::answering(ok("Content-Encoding: gzip", &wrong)).await;
    let page = fetch_page(&site.fetcher(), "http://example.org/").await;
    assert_eq!(page.body, text);
    assert_eq!(codes(&page), ["broken-compression"]);

    for (header, code) in [("compress", "unknown-encoding"), ("gzip", "not-compressed")] {
        let site = Site::answering(ok(&format!("Content-Encoding: {header}"), b"plain")).await;
        let expected = format!(r#"200 "plain" ["{code}"]"#);
        assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, expected);
    }
    let site = Site::answering(ok("Content-Encoding: gzip", b"")).await;
    assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, r#"200 "" []"#);
}

#[tokio::test]
async fn bombs_fizzle() {
    // A gigabyte of zeros, in a megabyte of gzip, in a few kilobytes of gzip.
    let gigabyte = encode("gzip", &vec![0; 16 << 20]).await.repeat(64);
    assert!(gigabyte.len() < 2 << 20, "{}", gigabyte.len());
    let twice = encode("gzip", &gigabyte).await;
    for (header, bomb) in [("gzip", &gigabyte), ("gzip, gzip", &twice)] {
        let site = Site::answering(ok(&format!("Content-Encoding: {header}"), bomb)).await;
        let page = fetch_page(&site.fetcher(), "http://example.org/").await;
        assert_eq!(codes(&page), ["compression-ratio"], "{header}");
        assert!(page.body.len() < 17 << 20);

        let patient = site.fetcher_with(|config| config.compression_ratio_max = u64::MAX);
        let page = fetch_page(&patient, "http://example.org/").await;
        assert_eq!(codes(&page), ["body-cut"], "{header}");
        assert_eq!(page.body.len(), 16 << 20);
    }
}

#[tokio::test]
async fn members_of_nothing_cost_little() {
    let nothing = encode("gzip", b"").await.repeat(100_000);
    let site = Site::answering(ok("Content-Encoding: gzip", &nothing)).await;
    let started = Instant::now();
    assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, r#"200 "" []"#);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[tokio::test]
async fn long_bodies_are_cut() {
    let body = noise(100_000);
    let site = Site::answering(ok("", &body)).await;
    for (wire_max, bytes_max, kept) in [(30_000, 50_000, 30_000), (50_000, 30_000, 30_000)] {
        let fetcher = site.fetcher_with(|config| {
            config.body_wire_bytes_max = wire_max;
            config.body_bytes_max = bytes_max;
        });
        let page = fetch_page(&fetcher, "http://example.org/").await;
        assert_eq!(page.body, body[..kept]);
        assert_eq!(codes(&page), ["body-cut"]);
        assert_eq!(fetcher.stats().body_bytes, kept as u64);
    }
    // A body as long as the cap is not cut.
    let fetcher = site.fetcher_with(|config| {
        config.body_wire_bytes_max = 100_000;
        config.body_bytes_max = 100_000;
    });
    let page = fetch_page(&fetcher, "http://example.org/").await;
    assert_eq!((page.body.len(), codes(&page)), (100_000, vec![]));

    // Compressed bodies are cut on the wire, too.
    let zipped = encode("gzip", &body).await;
    let site = Site::answering(ok("Content-Encoding: gzip", &zipped)).await;
    let fetcher = site.fetcher_with(|config| config.body_wire_bytes_max = 50_000);
    let page = fetch_page(&fetcher, "http://example.org/").await;
    assert!(body.starts_with(&page.body) && page.body.len() > 30_000, "{}", page.body.len());
    assert_eq!(codes(&page), ["body-cut"]);
}

#[tokio::test]
async fn endless_bodies_are_cut_and_their_connection_closed() {
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"] {
        let chunk = if head.contains("chunked") { b"4\r\nmore\r\n".repeat(100) } else { b"more".repeat(100) };
        let site = Site::doing(vec![send(head), Step::Endless(chunk)]).await;
        let fetcher = site.fetcher_with(|config| config.body_bytes_max = 1 << 20);
        let page = fetch_page(&fetcher, "http://example.org/").await;
        assert_eq!((page.body.len(), codes(&page)), (1 << 20, vec!["body-cut"]));
        let closed = async {
            while fetcher.stats().connections_open > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), closed).await.expect("the connection stays open");
    }
}

#[tokio::test]
async fn bodies_that_end_early_keep_what_came() {
    for (head, body) in [
        ("Content-Length: 100", "half"),
        ("Transfer-Encoding: chunked", "4\r\nhalf\r\n"),
        ("Transfer-Encoding: chunked", "4\r\nhalf\r\n50\r\n"),
    ] {
        let site =
            Site::doing(vec![send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}")), Step::Close]).await;
        let outcome = fetch(&site.fetcher(), "http://example.org/").await;
        assert_eq!(outcome, r#"200 "half" ["body-ended-early"]"#, "{head} {body}");
    }
    for (range, expected) in [
        ("bytes 0-3/100", r#"206 "half" ["body-ended-early"]"#),
        ("bytes 4-7/8", r#"206 "half" ["body-ended-early"]"#),
        ("bytes 0-3/*", r#"206 "half" ["body-ended-early"]"#),
        ("half of it", r#"206 "half" ["body-ended-early"]"#),
        ("bytes 0-3/4", r#"206 "half" []"#),
    ] {
        let head =
            format!("HTTP/1.1 206 Partial Content\r\nContent-Range: {range}\r\nContent-Length: 4\r\n\r\n");
        let site = Site::doing(vec![send(head + "half"), Step::Close]).await;
        assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, expected, "{range}");
    }
    let zipped = encode("gzip", &noise(50_000)).await;
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", zipped.len());
    let site = Site::doing(vec![send(head), send(&zipped[..40_000]), Step::Close]).await;
    let page = fetch_page(&site.fetcher(), "http://example.org/").await;
    assert!(page.body.len() > 20_000);
    assert_eq!(codes(&page), ["body-ended-early"]);

    // Nothing at all is no page.
    for head in ["Content-Length: 100", "Transfer-Encoding: chunked"] {
        let site = Site::doing(vec![send(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n")), Step::Close]).await;
        let outcome = fetch(&site.fetcher(), "http://example.org/").await;
        assert!(outcome.starts_with("failed: broken answer: the body breaks off"), "{outcome}");
    }
    // Without a length, the end of the connection is the end of the body.
    let site = Site::doing(vec![send("HTTP/1.1 200 OK\r\n\r\nall of it"), Step::Close]).await;
    assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, r#"200 "all of it" []"#);
}

#[tokio::test]
async fn slow_bodies_are_given_up() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin";
    let site = Site::doing(vec![send(head), pause(60_000)]).await;
    let fetcher = site.fetcher_with(|config| config.body_idle_timeout = Duration::from_millis(80));
    assert_eq!(fetch(&fetcher, "http://example.org/").await, "failed: body took longer than 80ms");

    let drip = std::iter::repeat_n([send("."), pause(20)], 1000).flatten();
    let site = Site::doing(std::iter::once(send(head)).chain(drip.clone()).collect()).await;
    let fetcher = site.fetcher_with(|config| config.body_timeout = Duration::from_millis(150));
    assert_eq!(fetch(&fetcher, "http://example.org/").await, "failed: body took longer than 150ms");

    // The same through a decoder that has nothing to give yet.
    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n\x1f";
    let site = Site::doing(std::iter::once(send(head)).chain(drip).collect()).await;
    let fetcher = site.fetcher_with(|config| config.body_timeout = Duration::from_millis(150));
    assert_eq!(fetch(&fetcher, "http://example.org/").await, "failed: body took longer than 150ms");
}

#[tokio::test]
async fn large_bodies_queue_and_small_ones_pass() {
    let go = Arc::new(Notify::new());
    let large = noise(100_000);
    let half = large[..50_000].to_vec();
    let rest = large[50_000..].to_vec();
    let wait = Step::Await(Arc::clone(&go));
    let site = Site::serve(move |request| match request.path {
        "/stalls" => vec![
            send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
            send(half.clone()),
            wait.clone(),
            send(rest.clone()),
        ],
        "/large" => vec![send(ok("", &[half.clone(), rest.clone()].concat()))],
        _ => vec![send(ok("", b"small"))],
    })
    .await;
    let fetcher = Arc::new(site.fetcher_with(|config| {
        config.large_body_bytes = 20_000;
        config.large_bodies_max = 1;
        config.body_timeout = Duration::from_secs(10);
    }));
    let start = |path: &'static str, tasks: &mut JoinSet<FetchOutcome>| {
        let fetcher = Arc::clone(&fetcher);
        tasks.spawn(async move { fetcher.fetch(&lease(&format!("http://example.org{path}"))).await.0 });
    };
    let mut tasks = JoinSet::new();
    start("/stalls", &mut tasks);
    while fetcher.stats().requests < 1 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    (0..8).for_each(|_| start("/large", &mut tasks));
    let mut small = JoinSet::new();
    start("/small", &mut small);
    assert_eq!(summary(&small.join_next().await.unwrap().unwrap()), r#"200 "small" []"#);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(tasks.try_join_next().is_none(), "large bodies did not wait");
    go.notify_one();
    let mut fetched = 0;
    while let Some(joined) = tasks.join_next().await {
        let FetchOutcome::Fetched(page) = joined.unwrap() else { panic!("not fetched") };
        assert_eq!(page.body, large);
        assert_eq!(page.diagnostics, []);
        if fetched == 0 {
            // As long as somebody keeps the page, its place is taken.
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(tasks.try_join_next().is_none(), "a place was taken twice");
        }
        fetched += 1;
    }
    assert_eq!(fetched, 9);
}

#[tokio::test]
async fn what_follows_a_finished_body_does_not_count() {
    // A zlib stream knows its end; everything after it is somebody's mistake, however much it is.
    let mut body = encode("zlib", b"page").await;
    body.extend(noise(200_000));
    let site = Site::answering(ok("Content-Encoding: deflate", &body)).await;
    assert_eq!(fetch(&site.fetcher(), "http://example.org/").await, r#"200 "page" []"#);
}

#[tokio::test]
async fn an_abandoned_fetch_closes_its_connection() {
    let site =
        Site::doing(vec![send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), pause(60_000)]).await;
    let fetcher = site.fetcher();
    let lease = lease("http://example.org/");
    let abandoned = tokio::time::timeout(Duration::from_millis(50), fetcher.fetch(&lease)).await;
    assert!(abandoned.is_err());
    let closed = async {
        while fetcher.stats().connections_open > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), closed).await.expect("the connection stays open");
}

/// Flips, drops and doubles bytes of a good answer: whatever comes, there is an outcome, and soon.
#[tokio::test]
async fn damaged_answers_have_an_outcome() {
    let zipped = encode("gzip", "A page, more or less. ".repeat(50).as_bytes()).await;
    let mut good =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for chunk in zipped.chunks(40) {
        good.extend(format!("{:x}\r\n", chunk.len()).bytes());
        good.extend(chunk);
        good.extend(b"\r\n");
    }
    good.extend(b"0\r\n\r\n");
    let damage = noise(4000);
    let cases: Vec<Vec<u8>> = damage
        .chunks(10)
        .map(|random| {
            let mut bytes = good.clone();
            for change in random.chunks(3) {
                let [place, how, value] = *change else { continue };
                let place = (usize::from(place) * 256 + usize::from(how)) % bytes.len();
                match how % 3 {
                    0 => bytes[place] = value,
                    1 => drop(bytes.remove(place)),
                    _ => bytes.insert(place, value),
                }
            }
            bytes
        })
        .collect();
    let count = cases.len();
    let site = Site::serve(move |request| {
        let number: usize = request.path[1..].parse().unwrap();
        vec![send(cases[number].clone()), Step::Close]
    })
    .await;
    let fetcher = site.fetcher_with(|config| config.pool_idle = Duration::ZERO);
    for number in 0..count {
        let outcome = fetch(&fetcher, &format!("http://example.org/{number}")).await;
        assert!(!outcome.contains("took longer"), "{number}: {outcome}");
    }
}
