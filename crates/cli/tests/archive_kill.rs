//! A crawl that is killed while it writes its archive never refers to a record that is not there, or not whole.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use support::{Dice, crawl, stdout_of, webloom};
use webloom_archive::check::check_file;
use webloom_archive::{Reader, RecordKind};
use webloom_testkit::{GeneratedWeb, ServerOptions, WebServer, WebShape};

const KILLS: usize = 100;
/// The same with a dictionary at the start of each file.
const KILLS_WITH_DICTIONARY: usize = 20;

/// How long a crawl may take to begin a file.
const BEGIN_MAX: Duration = Duration::from_secs(10);

/// The open files of the archive. A crawl that goes on completes what it finds and begins others.
fn archive_files(data: &Path) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(data.join("archive")).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().ends_with(".open")).collect()
}

/// Looks at every record that the index refers to; gives how many.
fn check_references(data: &Path) -> usize {
    if !data.join("index/MANIFEST").exists() {
        return 0;
    }
    let query =
        "SELECT ?page ?file ?offset ?record ?bytes { GRAPH ?g { ?page <urn:webloom:ns#warcFile> ?file ;
        <urn:webloom:ns#warcOffset> ?offset ; <urn:webloom:ns#warcRecord> ?record } }";
    let csv = stdout_of(webloom().args(["query", query, "--results", "csv", "--data"]).arg(data));
    for line in csv.lines().skip(1) {
        let [page, file, offset, record, _] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let mut path = data.join("archive").join(file);
        if !path.exists() {
            path = data.join("archive").join(format!("{file}.open"));
        }
        let mut reader = Reader::open_at(&path, offset.parse().unwrap()).unwrap();
        let mut found = reader.next_record().unwrap().unwrap();
        assert!(matches!(found.head().kind, RecordKind::Response | RecordKind::Revisit), "{line}");
        assert_eq!(found.head().target_uri().as_deref(), Some(page));
        assert_eq!(found.head().id().as_deref(), Some(format!("<{record}>").as_str()));
        let is_revisit = found.head().kind == RecordKind::Revisit;
        let digest = found.head().payload_digest_parsed();
        let payload = found.payload(u64::MAX).unwrap();
        found.finish().unwrap();
        assert_eq!(reader.take_problems(), [], "{line}");
        if let Some(digest) = digest.filter(|_| !is_revisit) {
            assert_eq!(digest.kind().of(&payload.bytes), digest, "{line}");
        }
    }
    csv.lines().count() - 1
}

#[test]
fn a_crawl_killed_100_times_refers_to_whole_records_only() {
    kill(KILLS, "gz", &["archive.rotate=256 KiB"]);
}

#[test]
fn so_does_one_that_packs_with_a_dictionary() {
    let folder = tempfile::tempdir().unwrap();
    let samples: Vec<String> = (0..2000)
        .map(|number| {
            format!(
                "WARC/1.1\r\nWARC-Type: response\r\nContent-Length: {number}\r\n\r\n<p>page {}</p>",
                number * 7
            )
        })
        .collect();
    let path = folder.path().join("dictionary");
    std::fs::write(&path, webloom_archive::Dictionary::train(&samples).unwrap().bytes()).unwrap();
    let dictionary = format!("archive.dictionary={}", path.display());
    kill(KILLS_WITH_DICTIONARY, "zst", &["archive.rotate=64 KiB", "archive.compression=zstd", &dictionary]);
}

fn kill(kills: usize, ending: &str, settings: &[&str]) {
    let web = GeneratedWeb::new(WebShape { seed: 7, hosts: 60, pages: 6000, ..WebShape::default() });
    let seed = web.seed_url();
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut dice = Dice(100);
    let (mut round, mut references) = (0, 0);
    let mut data = folder.path().join("0");
    for kill in 1..=kills {
        let mut command = crawl(&server, &seed, &data, "1ms");
        command.args(["--set", "work.commit_age_max=20ms"]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let before = archive_files(&data);
        let mut child = command.spawn().unwrap();
        // Now and then it is killed before it writes, mostly while it does, however busy the machine is.
        if kill % 5 > 0 {
            let start = Instant::now();
            while start.elapsed() < BEGIN_MAX
                && archive_files(&data).is_subset(&before)
                && child.try_wait().unwrap().is_none()
            {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        std::thread::sleep(Duration::from_millis(dice.roll(250)));
        let ended = child.try_wait().unwrap().is_some();
        let _ = child.kill();
        child.wait().unwrap();
        if kill % 10 == 0 || ended {
            references = check_references(&data).max(references);
        }
        if ended {
            // The web is crawled; the next one begins anew.
            round += 1;
            data = folder.path().join(round.to_string());
        }
    }
    assert!(references > kills / 2, "only {references} records were referred to");
    // Opened once more, everything is complete and in order.
    stdout_of(crawl(&server, &seed, &data, "1ms").args(["--max-pages", "1"]));
    let mut complete = 0;
    for entry in std::fs::read_dir(data.join("archive")).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.extension().is_some_and(|ending| ending != "open"), "{}", path.display());
        if path.extension().is_some_and(|found| found == ending) {
            assert_eq!(check_file(&path).unwrap().problems, [], "{}", path.display());
            complete += 1;
        }
    }
    assert!(complete > kills / 20, "only {complete} files");
    check_references(&data);
}
