//! What crashes, damage and strangers do to an index: nothing that is not noticed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use oxrdf::{Literal, NamedNode, Triple};
use webloom_index::{Batch, GraphPattern, GraphWrite, Index, IndexConfig, IndexError, IndexReader, check};
use webloom_model::PageText;

fn iri(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{local}"))
}

/// The page that commit `number` writes. Pages come again, so most commits replace one.
fn page_name(number: u64) -> NamedNode {
    iri(&format!("page{}", number % PAGES))
}

const PAGES: u64 = 7;
const QUADS_PER_PAGE: u64 = 12;

fn page(number: u64) -> GraphWrite {
    let name = page_name(number);
    let triples = (0..QUADS_PER_PAGE)
        .map(|line| {
            let subject = iri(&format!("page{}#{}", number % PAGES, line % 3));
            Triple::new(subject, iri(&format!("p{line}")), Literal::from(number * 100 + line))
        })
        .collect();
    let text = PageText { title: Some(format!("version{number}")), body: "words".to_owned(), language: None };
    GraphWrite::replace(name, triples).with_text(text)
}

fn config() -> IndexConfig {
    IndexConfig { merge_factor: 3, small_segment_quads: 30, ..IndexConfig::default() }
}

const CHILD: &str = "WEBLOOM_INDEX_TEST_CHILD";

/// Not a test by itself: what the killed process runs. Commits pages for ever and says the number of each that is safe.
#[test]
fn child_that_commits_until_it_is_killed() {
    let Ok(directory) = std::env::var(CHILD) else {
        return;
    };
    let index = Index::open(Path::new(&directory), config()).unwrap();
    let mut number = index.snapshot().generation() * 1000;
    loop {
        // Two pages in each batch: both are there or neither is.
        let batch = Batch::from(vec![page(number), page(number + 1)]);
        index.commit(&batch).unwrap();
        eprintln!("committed {number}");
        number += 2;
    }
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    // What each page's newest acknowledged version is.
    let mut acknowledged = vec![None::<u64>; PAGES as usize];
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut commits = 0;
    for round in 0..15 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_commits_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .env(CHILD, directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, receiver) = std::sync::mpsc::channel();
        let listener = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                if let Some(number) =
                    line.strip_prefix("committed ").and_then(|number| number.parse::<u64>().ok())
                {
                    let _ = sender.send(number);
                }
            }
        });
        // The first commit shows that the child is under way; the end comes at a moment it cannot foresee.
        let mut last = receiver.recv_timeout(Duration::from_secs(60)).ok();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::thread::sleep(Duration::from_millis(state % 300));
        child.kill().unwrap();
        child.wait().unwrap();
        listener.join().unwrap();
        assert!(last.is_some(), "round {round}: the child committed nothing");
        let mut newest = Vec::new();
        while let Some(number) = last {
            newest.extend([number, number + 1]);
            commits += 1;
            last = receiver.try_recv().ok();
        }
        for number in newest {
            acknowledged[(number % PAGES) as usize] = Some(number);
        }

        let report = check(directory.path()).unwrap();
        assert!(report.is_clean(), "round {round}: {:?}", report.problems);
        let snapshot = IndexReader::open(directory.path()).unwrap().snapshot().unwrap();
        let mut pages_seen = 0;
        for (place, expected) in acknowledged.iter().enumerate() {
            let name = iri(&format!("page{place}"));
            let quads: Vec<_> = snapshot
                .quads_for_pattern(None, None, None, GraphPattern::One(name.as_ref().into()))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            if quads.is_empty() {
                assert!(expected.is_none(), "round {round}: {name} is lost");
                continue;
            }
            pages_seen += 1;
            assert_eq!(quads.len() as u64, QUADS_PER_PAGE, "round {round}: {name} is there in part");
            let version = |quad: &oxrdf::Quad| match &quad.object {
                oxrdf::Term::Literal(literal) => literal.value().parse::<u64>().unwrap() / 100,
                other => panic!("{other} was never written"),
            };
            let found = version(&quads[0]);
            assert!(
                quads.iter().all(|quad| version(quad) == found),
                "round {round}: {name} is of two versions"
            );
            // A commit that was not yet acknowledged may be there too, as a whole.
            if let Some(expected) = expected {
                assert!(
                    found >= *expected,
                    "round {round}: {name} is {found}, and {expected} was acknowledged"
                );
            }
            // Three subjects with literals and the page itself; one is the title's.
            let hits = snapshot.search(&format!("version{found}"), 5).unwrap();
            assert_eq!(hits.len(), 1, "round {round}: text of {name} is not of version {found}");
            assert_eq!(hits[0].subject, name.clone().into(), "round {round}");
            assert_eq!(snapshot.text_documents(name.as_ref().into()).unwrap(), 4, "round {round}");
        }
        assert_eq!(snapshot.quad_count().unwrap(), pages_seen * QUADS_PER_PAGE, "round {round}");
    }
    assert!(commits >= 15, "every round commits at least once, not {commits} times in all");

    // Opening for writing sweeps up what the crashes left.
    let index = Index::open(directory.path(), config()).unwrap();
    index.wait_for_merges();
    index.compact().unwrap();
    assert_eq!(index.snapshot().stats().unwrap().segments, 1);
    assert_eq!(fs::read_dir(directory.path().join("segments")).unwrap().count(), 1);
    assert!(check(directory.path()).unwrap().is_clean());
}

fn small_index(directory: &Path) -> PathBuf {
    let config = IndexConfig { merge_in_background: false, ..IndexConfig::default() };
    let index = Index::open(directory, config).unwrap();
    let writes = (0..60).map(|number| {
        let triples = (0..20)
            .map(|line| {
                Triple::new(
                    iri(&format!("{number}#{line}")),
                    iri(&format!("p{}", line % 5)),
                    Literal::new_simple_literal(format!("text {number} {line}")),
                )
            })
            .collect();
        GraphWrite::replace(iri(&number.to_string()), triples)
    });
    index.commit(&writes.collect::<Vec<_>>().into()).unwrap();
    index.close().unwrap();
    directory.join("segments").join("00000001.seg")
}

/// Reads everything there is; what comes of it does not matter, as long as something does.
fn read_everything(directory: &Path) -> Result<usize, IndexError> {
    let snapshot = IndexReader::open(directory)?.snapshot()?;
    let mut quads = 0;
    for quad in snapshot.quads()? {
        quad?;
        quads += 1;
    }
    for graph in snapshot.graph_names() {
        graph?;
    }
    for line in 0..5 {
        for quad in snapshot.quads_for_pattern(
            None,
            Some(iri(&format!("p{line}")).as_ref()),
            None,
            GraphPattern::All,
        )? {
            quad?;
        }
    }
    snapshot.quad_count()?;
    Ok(quads)
}

#[test]
fn a_changed_byte_is_noticed_wherever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let segment = small_index(directory.path());
    assert!(check(directory.path()).unwrap().is_clean());
    let intact = fs::read(&segment).unwrap();
    let mut noticed = 0;
    let mut tried = 0;
    // A step that is prime to all sizes, so that every kind of byte has its turn.
    for at in (0..intact.len()).step_by((intact.len() / 150) | 1) {
        let mut damaged = intact.clone();
        damaged[at] ^= 0x55;
        fs::write(&segment, &damaged).unwrap();
        tried += 1;
        // Reading may or may not stumble over it; it must not panic.
        let _ = read_everything(directory.path());
        match check(directory.path()) {
            Ok(report) if report.is_clean() => {
                // Only the padding between sections is nobody's.
                assert_eq!(intact[at], 0, "byte {at} can be changed unnoticed");
            }
            Ok(report) => {
                assert!(report.problems[0].contains("00000001.seg"), "{:?}", report.problems);
                noticed += 1;
            }
            Err(IndexError::Damaged { path, .. } | IndexError::UnknownVersion { path, .. }) => {
                assert_eq!(path, segment);
                noticed += 1;
            }
            Err(error) => panic!("byte {at}: {error}"),
        }
    }
    assert!(noticed > tried * 9 / 10, "{noticed} of {tried}");
}

#[test]
fn a_cut_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let segment = small_index(directory.path());
    let intact = fs::read(&segment).unwrap();
    for length in [0, 1, 7, 8, 11, 40, 200, intact.len() / 2, intact.len() - 1] {
        fs::write(&segment, &intact[..length]).unwrap();
        match IndexReader::open(directory.path()) {
            Err(IndexError::Damaged { path, .. }) => assert_eq!(path, segment),
            // An empty file cannot be mapped on every system.
            Err(IndexError::Io { path, .. }) => assert_eq!((path, length), (segment.clone(), 0)),
            other => panic!("{length} bytes: {other:?}"),
        }
    }
    fs::remove_file(&segment).unwrap();
    assert!(matches!(IndexReader::open(directory.path()), Err(IndexError::Io { action: "open", .. })));
}

#[test]
fn versions_from_the_future_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let segment = small_index(directory.path());
    let intact = fs::read(&segment).unwrap();
    let mut newer = intact.clone();
    newer[8] = 9;
    fs::write(&segment, newer).unwrap();
    match IndexReader::open(directory.path()) {
        Err(IndexError::UnknownVersion { path, found: 9, .. }) => assert_eq!(path, segment),
        other => panic!("{other:?}"),
    }
    fs::write(&segment, intact).unwrap();

    let manifest = directory.path().join("MANIFEST");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("webloom-index 2 ", "webloom-index 7 ", 1)).unwrap();
    for error in [
        IndexReader::open(directory.path()).unwrap_err(),
        Index::open(directory.path(), IndexConfig::default()).unwrap_err(),
    ] {
        assert!(matches!(error, IndexError::UnknownVersion { found: 7, .. }), "{error}");
        assert!(error.to_string().contains("MANIFEST` has format version 7"), "{error}");
    }
    for (from, to) in
        [("generation", "generatiom"), ("webloom-index", "something"), ("crc32:", "crc32;"), ("{", "")]
    {
        fs::write(&manifest, text.replacen(from, to, 1)).unwrap();
        assert!(matches!(IndexReader::open(directory.path()), Err(IndexError::Damaged { .. })), "{from}");
    }
    fs::write(&manifest, [0xff, 0xfe]).unwrap();
    assert!(matches!(IndexReader::open(directory.path()), Err(IndexError::Damaged { .. })));
    fs::write(&manifest, text).unwrap();
    assert_eq!(read_everything(directory.path()).unwrap(), 1200);
}

#[test]
fn damaged_text_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    small_index(directory.path());
    let store = fs::read_dir(directory.path().join("text"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "store"))
        .unwrap();
    let mut bytes = fs::read(&store).unwrap();
    bytes[10] ^= 1;
    fs::write(&store, bytes).unwrap();
    let report = check(directory.path()).unwrap();
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert!(report.problems[0].contains("text index file"), "{:?}", report.problems);
}

#[test]
fn there_is_one_writer() {
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(IndexReader::open(directory.path()), Err(IndexError::Missing { .. })));
    let index = Index::open(directory.path(), config()).unwrap();
    assert!(matches!(Index::open(directory.path(), config()), Err(IndexError::Locked { .. })));
    index.commit(&Batch::from(vec![page(1)])).unwrap();
    drop(index);
    let index = Index::open(directory.path(), config()).unwrap();
    assert_eq!(index.snapshot().quad_count().unwrap(), QUADS_PER_PAGE);
}

#[test]
fn what_crashes_leave_is_swept_up() {
    let directory = tempfile::tempdir().unwrap();
    small_index(directory.path());
    let segments = directory.path().join("segments");
    fs::write(segments.join("00000042.seg"), b"half a segment").unwrap();
    fs::write(segments.join("notes.txt"), b"not ours").unwrap();
    fs::write(directory.path().join("MANIFEST.new"), b"half a manifest").unwrap();
    fs::write(directory.path().join("text").join("0123456789abcdef0123456789abcdef.store"), b"half").unwrap();
    let index = Index::open(directory.path(), config()).unwrap();
    assert!(!segments.join("00000042.seg").exists());
    assert!(segments.join("notes.txt").exists());
    assert!(!directory.path().join("text").join("0123456789abcdef0123456789abcdef.store").exists());
    index.commit(&Batch::from(vec![page(1)])).unwrap();
    assert_eq!(read_everything(directory.path()).unwrap() as u64, 1200 + QUADS_PER_PAGE);
}

#[test]
fn readers_keep_up_with_a_busy_writer() {
    let directory = tempfile::tempdir().unwrap();
    let index = Index::open(directory.path(), config()).unwrap();
    index.commit(&Batch::from((0..PAGES).map(page).collect::<Vec<_>>())).unwrap();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let reader = IndexReader::open(directory.path()).unwrap();
                    let (mut looks, mut last) = (0, 0);
                    while !done.load(std::sync::atomic::Ordering::Relaxed) || looks == 0 {
                        let snapshot = reader.snapshot().unwrap();
                        assert!(snapshot.generation() >= last, "time went backwards");
                        last = snapshot.generation();
                        assert_eq!(snapshot.quad_count().unwrap(), PAGES * QUADS_PER_PAGE);
                        assert_eq!(
                            snapshot.quads().unwrap().map(Result::unwrap).count() as u64,
                            PAGES * QUADS_PER_PAGE
                        );
                        assert_eq!(snapshot.stats().unwrap().text_documents, PAGES * 4);
                        looks += 1;
                    }
                    looks
                })
            })
            .collect();
        for number in PAGES..PAGES + 60 {
            index.commit(&Batch::from(vec![page(number)])).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
}
