//! What must hold for any bytes a page may have: the properties that the fuzz targets check.
//!
//! `cargo +nightly fuzz run html` (or any other of `fuzz_targets/`) looks for bytes for which they do not.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use oxttl::NQuadsParser;
use webloom_detect::{detect, detect_bytes};
use webloom_model::{DetectedPage, Detection, DocumentKind, FetchedPage, PageGraph, PageUrl};
use webloom_transform::html::links::links;
use webloom_transform::{Syntax, TransformConfig, transform};

/// Twice the time a page may take, for slow machines and sanitizers.
const SECONDS_MAX: u64 = 10;

/// Reads a page of a given kind with some syntaxes (all, when there is none) and checks what came of it.
pub fn check(kind: DocumentKind, only: &[Syntax], body: &[u8]) {
    let config = TransformConfig {
        only: (!only.is_empty()).then(|| BTreeSet::from_iter(only.iter().copied())),
        processor_graph: true,
        ..TransformConfig::default()
    };
    let page = page(kind, body);
    let start = Instant::now();
    let graph = transform(&page, &config);
    assert!(start.elapsed() < Duration::from_secs(SECONDS_MAX), "took {:?}", start.elapsed());
    valid(&graph);
    let again = transform(&page, &config);
    assert_eq!(graph.quads, again.quads, "the same page gives the same quads");
}

/// The page repeated many times costs many times as much, not more: nothing is quadratic enough to hurt.
pub fn check_repeated(kind: DocumentKind, only: &[Syntax], body: &[u8]) {
    if !body.is_empty() {
        check(kind, only, &body.repeat((100_000 / body.len()).clamp(1, 1000)));
    }
}

/// Where a page leads is told by its tags alone, in time and within the limits.
pub fn check_links(body: &[u8]) {
    let (page, config) = (page(DocumentKind::Html, body), TransformConfig::default());
    let start = Instant::now();
    let links = links(&page, &config).expect("a page of HTML");
    assert!(start.elapsed() < Duration::from_secs(SECONDS_MAX), "took {:?}", start.elapsed());
    assert!(links.links.len() <= config.limits.links_max);
}

/// Chooses one of the kinds by the first byte.
pub fn check_one_of(kinds: &[DocumentKind], only: &[Syntax], data: &[u8]) {
    if let [choice, body @ ..] = data {
        check(kinds[usize::from(*choice) % kinds.len()], only, body);
    }
}

/// Detection ends, says the same of the same bytes, and what it says can be read.
pub fn check_detection(data: &[u8]) {
    let detection = detect_bytes(Some("http://example.org/a"), None, data);
    assert_eq!(detection, detect_bytes(Some("http://example.org/a"), None, data));
    let url = PageUrl::parse("http://example.org/a").expect("a URL");
    valid(&transform(&detect(FetchedPage::local(url, None, Bytes::copy_from_slice(data))), &TransformConfig::default()));
}

/// A `Link` header of any bytes.
pub fn check_link_header(data: &[u8]) {
    let mut page = page(DocumentKind::Unknown, b"");
    page.page.headers.push(("link".to_owned(), String::from_utf8_lossy(data).into_owned()));
    valid(&transform(&page, &TransformConfig::default()));
}

fn page(kind: DocumentKind, body: &[u8]) -> DetectedPage {
    let url = PageUrl::parse("http://example.org/a/b?c").expect("a URL");
    DetectedPage {
        page: FetchedPage::local(url, None, Bytes::copy_from_slice(body)),
        detection: Detection {
            kind,
            media_type: kind.media_type().unwrap_or("application/octet-stream").to_owned(),
            charset: Some("UTF-8"),
            xml_root: None,
            syntaxes: Vec::new(),
        },
        unpacked: None,
    }
}

/// Every quad is one: printed and read again by a strict parser, it is the same.
fn valid(graph: &PageGraph) {
    for quad in &graph.quads {
        let line = format!("{quad} .\n");
        let read = NQuadsParser::new().for_slice(&line).next();
        assert_eq!(read.and_then(Result::ok).as_ref(), Some(quad), "{line}");
    }
}
