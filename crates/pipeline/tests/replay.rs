//! Archives through the phases: interrupted anywhere, the result is that of one run.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use webloom_archive::{ArchiveSettings, ArchiveWriter, Packing};
use webloom_index::IndexReader;
use webloom_pipeline::replay::find_copy;
use webloom_pipeline::{CrawlSpec, DataDir, Replay};

const PAGES: usize = 1500;

/// A file of resources, one a page.
fn archive(folder: &Path, packing: Packing) -> PathBuf {
    let settings = ArchiveSettings { packing, ..ArchiveSettings::default() };
    let mut writer = ArchiveWriter::open(folder, settings).unwrap();
    let maker = writer.maker();
    let captures: Vec<_> = (0..PAGES)
        .map(|number| {
            let page = format!("<title>page {number}</title><a href='/{}'>next</a>", number + 1);
            let at = "2026-11-16T12:00:00Z".parse().unwrap();
            let url = format!("http://a.example/{number}");
            maker.resource(&url, at, "text/html", Bytes::from(page)).unwrap()
        })
        .collect();
    let name = writer.append(&captures).unwrap()[0].clone().unwrap().file;
    writer.complete().unwrap();
    folder.join(name)
}

fn open(data: &DataDir, file: &Path) -> Replay {
    let spec = CrawlSpec::from_toml("[work]\ncommit_quads_max = 400").unwrap();
    Replay::open(data, spec, vec![file.to_owned()], data.replayed()).unwrap()
}

#[test]
fn a_run_that_is_stopped_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for packing in [Packing::Gzip, Packing::Zstd, Packing::Plain] {
        let folder = folder.path().join(format!("{packing:?}"));
        let file = archive(&folder, packing);
        let data = DataDir::new(folder.join("data"));
        let (mut read, mut runs) = (0, 0);
        loop {
            let replay = open(&data, &file);
            let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
            let progress = replay.progress();
            let summary = std::thread::scope(|scope| {
                scope.spawn(|| {
                    while progress.records.load(Relaxed) < 200 && !over.load(Relaxed) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    stop.store(true, Relaxed);
                });
                let summary = replay.run(&stop).unwrap();
                over.store(true, Relaxed);
                summary
            });
            read += progress.records.load(Relaxed);
            runs += 1;
            assert_eq!(summary.failed, 0);
            // Told to stop too late, a run has come to the end.
            if progress.bytes.load(Relaxed) >= progress.bytes_total.load(Relaxed) && !summary.stopped
                || progress.records.load(Relaxed) == 0
            {
                break;
            }
            assert!(runs < 100, "it never ends");
        }
        assert!(read < 2 * PAGES as u64 + 100 * runs, "{read} records were read in {runs} runs");
        let snapshot = IndexReader::open(&data.index()).unwrap().snapshot().unwrap();
        let graphs = snapshot.graph_names().count();
        assert_eq!(graphs, 2 * PAGES, "{packing:?}");
        // Nothing is left to read, and the copies are found where they are.
        let again = open(&data, &file);
        again.run(&AtomicBool::new(false)).unwrap();
        assert_eq!(again.progress().records.load(Relaxed), 0);
    }
}

/// An answer, or, without a title, the word that nothing has changed since.
fn capture(url: &str, at: u32, number: usize, title: Option<&str>) -> String {
    let http = match title {
        Some(title) => format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>{title}</title>"),
        None => "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned(),
    };
    record(if title.is_some() { "response" } else { "revisit" }, url, at, number, &http)
}

fn record(kind: &str, url: &str, at: u32, number: usize, http: &str) -> String {
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {at}-01-01T00:00:00Z\r\n\
         WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
        http.len()
    )
}

#[test]
fn a_page_that_asks_with_a_304_not_to_be_kept_is_not() {
    for (tags, is_kept) in [
        ("", true),
        ("X-Robots-Tag: noindex\r\n", false),
        ("x-robots-tag: otherbot: noindex\r\n", true),
        ("X-Robots-Tag: all\r\nX-Robots-Tag: webloom: none\r\n", false),
    ] {
        // With an index by which the page is found as it was, and without.
        for is_found in [true, false] {
            let http = format!("HTTP/1.1 304 Not Modified\r\n{tags}\r\n");
            let records = capture(PAGE, 2000, 1, Some("The page")) + &record("revisit", PAGE, 2001, 2, &http);
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("a.warc");
            std::fs::write(&file, records).unwrap();
            if is_found {
                let (entries, _) = webloom_archive::cdxj::index_file(&file, "a.warc").unwrap();
                let lines: String = entries.iter().map(|entry| entry.line() + "\n").collect();
                std::fs::write(file.with_extension("cdxj"), lines).unwrap();
            }
            let data = DataDir::new(file.with_extension("data"));
            let spec = CrawlSpec::from_toml("").unwrap();
            let replay = Replay::open(&data, spec, vec![file], data.replayed()).unwrap();
            replay.run(&AtomicBool::new(false)).unwrap();
            assert_eq!(replay.progress().records.load(Relaxed), 2);
            drop(replay);
            let snapshot = IndexReader::open(&data.index()).unwrap().snapshot().unwrap();
            let quads: Vec<String> =
                snapshot.quads().unwrap().map(|quad| quad.unwrap().to_string()).collect();
            let says = |what: &str| quads.iter().any(|quad| quad.contains(what));
            let found = (says("\"The page\""), says("\"noindex\""), says("statusCodeNumber> \"304\""));
            let expected = (is_kept, !is_kept, !is_kept && !is_found);
            assert_eq!(found, expected, "{tags:?} {is_found}: {quads:#?}");
        }
    }
}

const PAGE: &str = "http://a.example/";

#[test]
fn files_that_are_read_at_the_same_time_give_what_they_give_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    // The same URLs in every file, years crosswise, some at the same moment, some unchanged.
    let files: Vec<PathBuf> = (0..6)
        .map(|file| {
            let records = (0..200).map(|page| {
                let at = 2000 + ((file * 7 + page * 5) % 4) as u32;
                let title = format!("page {page} of file {file}");
                let is_unchanged = (file + page) % 5 == 0;
                let url = format!("http://a.example/{page}");
                capture(&url, at, file * 1000 + page, (!is_unchanged).then_some(title.as_str()))
            });
            let path = folder.path().join(format!("{file}.warc"));
            std::fs::write(&path, records.collect::<String>()).unwrap();
            path
        })
        .collect();
    let dump = |name: &str, workers: usize, files: Vec<PathBuf>| {
        let data = DataDir::new(folder.path().join(name));
        let spec =
            CrawlSpec::from_toml(&format!("[work]\nworkers = {workers}\ncommit_quads_max = 400")).unwrap();
        let replay = Replay::open(&data, spec, files.clone(), data.replayed()).unwrap();
        let summary = replay.run(&AtomicBool::new(false)).unwrap();
        assert_eq!((summary.files, summary.failed, summary.stopped), (files.len(), 0, false));
        assert_eq!(replay.progress().records.load(Relaxed), 1200);
        drop(replay);
        let snapshot = IndexReader::open(&data.index()).unwrap().snapshot().unwrap();
        let mut quads: Vec<String> =
            snapshot.quads().unwrap().map(|quad| quad.unwrap().to_string()).collect();
        quads.sort_unstable();
        quads
    };
    let one_after_the_other = dump("one", 1, files.clone());
    assert!(one_after_the_other.iter().any(|quad| quad.contains("ns#capture>")));
    for number in 0..4 {
        let mut files = files.clone();
        files.rotate_left(number);
        assert_eq!(dump(&format!("many-{number}"), 4, files), one_after_the_other, "{number}");
    }
}

#[test]
fn copies_are_found_in_the_archives_they_came_from() {
    let folder = tempfile::tempdir().unwrap();
    let data = DataDir::new(folder.path().join("data"));
    let record = |status: &str, path: &str, body: &str| {
        let http = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n\r\n{body}");
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example{path}\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
             WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-00000000000{}>\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            path.len(),
            http.len()
        )
    };
    let file = folder.path().join("theirs.warc");
    let text = record("200 OK", "/", "<title>one</title>")
        + &record("404 Not Found", "/x", "no")
        + &record("200 OK", "/yz", "<title>three");
    std::fs::write(&file, text).unwrap();
    open(&data, &file).run(&AtomicBool::new(false)).unwrap();
    let snapshot = IndexReader::open(&data.index()).unwrap().snapshot().unwrap();
    for (path, body) in [("/", "<title>one</title>"), ("/x", "no"), ("/yz", "<title>three")] {
        let url = webloom_model::PageUrl::parse(&format!("http://a.example{path}")).unwrap();
        let copy = find_copy(&data, Some(&snapshot), &url, None, 1 << 20).unwrap().unwrap();
        assert_eq!((copy.file.as_str(), copy.body(1 << 20)), ("theirs.warc", body.as_bytes().to_vec()));
    }
    let unknown = webloom_model::PageUrl::parse("http://a.example/unknown").unwrap();
    assert!(find_copy(&data, Some(&snapshot), &unknown, None, 1 << 20).unwrap().is_none());
}
