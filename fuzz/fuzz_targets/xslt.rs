//! A fuzz target: a stylesheet and a document in one input, split at the first line that is `=====`.
#![no_main]
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use webloom_xslt::{Document, Limits, NoLoader, Stylesheet};

fuzz_target!(|data: &[u8]| {
    let marker = b"\n=====\n";
    let (stylesheet, document) = match data.windows(marker.len()).position(|window| window == marker) {
        Some(at) => (&data[..at], &data[at + marker.len()..]),
        None => (data, &b"<doc/>"[..]),
    };
    let limits = Limits {
        steps_max: 200_000,
        memory_bytes_max: 8 << 20,
        output_bytes_max: 1 << 20,
        time_max: Duration::from_secs(5),
        ..Limits::untrusted()
    };
    let parsed = Document::parse(document, "https://example.org/in.xml", &limits);
    let Ok(compiled) = Stylesheet::compile(stylesheet, "https://example.org/a.xsl", &NoLoader, &limits) else { return };
    let Ok(parsed) = parsed else { return };
    // The same twice: a transformation depends on nothing but what goes in.
    let first = compiled.transform(&parsed, &[], &NoLoader, &limits);
    let second = compiled.transform(&parsed, &[], &NoLoader, &limits);
    match (first, second) {
        (Ok(first), Ok(second)) => assert_eq!(first.bytes, second.bytes),
        (Err(first), Err(second)) => assert_eq!(first.kind, second.kind),
        (first, second) => panic!("{:?} {:?}", first.is_ok(), second.is_ok()),
    }
});
