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
