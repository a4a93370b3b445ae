//! What crashes, damage and strangers do to an index: nothing that is not noticed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use oxrdf::{Literal, NamedNode, Triple};
use webloom_index::{
    Batch, GraphPattern, GraphWrite, Index, IndexConfig, IndexError, IndexReader, backup, check,
};
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
    IndexConfig {
        merge_factor: 3,
        small_segment_quads: 30,
        // Several segments for an import, and merges of both kinds.
        import_segment_bytes: 5000,
        merge_memory_bytes: 5000,
        ..IndexConfig::default()
    }
}

const CHILD: &str = "WEBLOOM_INDEX_TEST_CHILD";

/// Quads of one import, enough for several segments.
const IMPORTED_QUADS: u64 = 300;

fn import_name(number: u64) -> NamedNode {
    iri(&format!("import{number}"))
}

/// Not a test by itself: what the killed process runs. Commits pages for ever, imports, merges and copies in between, and says
/// the number of each that is safe.
#[test]
fn child_that_commits_until_it_is_killed() {
    let Ok(directory) = std::env::var(CHILD) else {
        return;
    };
    let directory = Path::new(&directory);
    let index = Index::open(directory, config()).unwrap();
    // Most children do not live long; each begins with something else.
    let generation = index.snapshot().generation();
    let mut number = generation * 1000 + generation % 10 * 2;
    loop {
        match number % 20 {
            4 => {
                let mut import = index.begin_import().unwrap();
                for line in 0..IMPORTED_QUADS {
                    let triple = Triple::new(import_name(number), iri("line"), Literal::from(line));
                    import.add(triple.in_graph(import_name(number))).unwrap();
                }
                import.finish().unwrap();
                eprintln!("imported {number}");
            }
            10 => index.compact().unwrap(),
            16 => {
                backup(directory, &backup_path(directory, number)).unwrap();
                eprintln!("copied {number}");
            }
            _ => {}
        }
        // Two pages in each batch: both are there or neither is.
        let batch = Batch::from(vec![page(number), page(number + 1)]);
        index.commit(&batch).unwrap();
        eprintln!("committed {number}");
        number += 2;
    }
}

fn backup_path(directory: &Path, number: u64) -> PathBuf {
    directory.with_extension(format!("backup{number}"))
}

/// How often the writer is killed: `WEBLOOM_KILLS`, or a few times.
fn kills() -> u64 {
    std::env::var("WEBLOOM_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(15)
}

#[test]
fn a_killed_writer_loses_nothing_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("index");
    let directory = directory.as_path();
    let (mut imports, mut copies) = (Vec::new(), 0);
    // What each page's newest acknowledged version is.
    let mut acknowledged = vec![None::<u64>; PAGES as usize];
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut commits = 0;
    for round in 0..kills() {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_commits_until_it_is_killed", "--nocapture", "--test-threads=1"])
            .env(CHILD, directory)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (sender, receiver) = std::sync::mpsc::channel();
        let listener = std::thread::spawn(move || {
            let (mut imported, mut copied) = (Vec::new(), Vec::new());
            for line in lines.map_while(Result::ok) {
                let Some((what, number)) = line.split_once(' ') else {
                    continue;
                };
                match (what, number.parse::<u64>()) {
                    ("committed", Ok(number)) => drop(sender.send(number)),
                    ("imported", Ok(number)) => imported.push(number),
                    ("copied", Ok(number)) => copied.push(number),
                    _ => {}
                }
            }
            (imported, copied)
        });
        // The first commit shows that the child is under way; the end comes at a moment it cannot foresee.
        let mut last = receiver.recv_timeout(Duration::from_secs(60)).ok();
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        std::thread::sleep(Duration::from_millis(state % 500));
        child.kill().unwrap();
        child.wait().unwrap();
        let (imported, copied) = listener.join().unwrap();
        imports.extend(imported);
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

        let report = check(directory).unwrap();
        assert!(report.is_clean(), "round {round}: {:?}", report.problems);
        let snapshot = IndexReader::open(directory).unwrap().snapshot().unwrap();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let Some(number) =
                path.extension().and_then(|text| text.to_str()?.strip_prefix("backup")?.parse::<u64>().ok())
            else {
                continue;
            };
            // A copy that was not finished is no index, one that was is whole.
            match check(&path) {
                Ok(report) => assert!(report.is_clean(), "round {round}: {:?}", report.problems),
                Err(IndexError::Missing { .. }) => {
                    assert!(!copied.contains(&number), "round {round}: copy {number}");
                }
                Err(error) => panic!("round {round}: copy {number}: {error}"),
            }
            copies += 1;
            fs::remove_dir_all(&path).unwrap();
        }
        let mut imported_quads = 0;
        for name in snapshot.graph_names() {
            let name = name.unwrap().to_string();
            let Some(number) =
                name.strip_prefix("<http://example.org/import").map(|rest| rest.trim_end_matches('>'))
            else {
                continue;
            };
            let graph = import_name(number.parse().unwrap());
            let quads = snapshot
                .quads_for_pattern(None, None, None, GraphPattern::One(graph.as_ref().into()))
                .unwrap()
                .count() as u64;
            assert_eq!(quads, IMPORTED_QUADS, "round {round}: import {number} is there in part");
            imported_quads += quads;
        }
        for number in &imports {
            let graph = import_name(*number);
            assert!(snapshot.contains_graph(graph.as_ref().into()), "round {round}: import {number} is lost");
        }
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
        let quads = pages_seen * QUADS_PER_PAGE + imported_quads;
        assert_eq!(snapshot.quad_count().unwrap(), quads, "round {round}");
    }
    eprintln!("{} kills, {commits} commits, {} imports and {copies} copies survived", kills(), imports.len());
    assert!(commits >= 15, "every round commits at least once, not {commits} times in all");

    // Opening for writing sweeps up what the crashes left.
    let index = Index::open(directory, config()).unwrap();
    index.wait_for_merges();
    index.compact().unwrap();
    assert_eq!(index.snapshot().stats().unwrap().segments, 1);
    assert_eq!(fs::read_dir(directory.join("segments")).unwrap().count(), 1);
    assert!(check(directory).unwrap().is_clean());
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

#[test]
fn an_import_is_seen_as_a_whole_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let index = Index::open(directory.path(), config()).unwrap();
    index.commit(&Batch::from(vec![page(1)])).unwrap();
    let quads = |number: u64| {
        (0..IMPORTED_QUADS).map(move |line| {
            let text = Literal::new_simple_literal(format!("imported{number} line{line}"));
            Triple::new(iri(&format!("thing{line}")), iri("line"), text).in_graph(import_name(number))
        })
    };
    let reader = IndexReader::open(directory.path()).unwrap();
    for (number, finished) in [(1, false), (2, true)] {
        let mut import = index.begin_import().unwrap();
        for quad in quads(number) {
            import.add(quad).unwrap();
        }
        assert_eq!(reader.snapshot().unwrap().quad_count().unwrap(), QUADS_PER_PAGE, "seen too early");
        if finished {
            let receipt = import.finish().unwrap();
            assert_eq!(receipt.quads, IMPORTED_QUADS);
        } else {
            drop(import);
        }
    }
    for snapshot in [index.snapshot(), reader.snapshot().unwrap()] {
        assert_eq!(snapshot.quad_count().unwrap(), QUADS_PER_PAGE + IMPORTED_QUADS);
        assert!(snapshot.search("imported1", 5).unwrap().is_empty());
        assert_eq!(snapshot.search("imported2 line77", 5).unwrap().len(), 1);
        assert_eq!(snapshot.search("version1", 5).unwrap().len(), 1);
    }
    index.wait_for_merges();
    let report = check(directory.path()).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    let files = fs::read_dir(directory.path().join("segments")).unwrap().count() as u64;
    assert_eq!(files, report.segments, "the import that was given up left files");
    index.commit(&Batch::from(vec![page(2)])).unwrap();
    // An empty import changes nothing.
    let before = index.snapshot().generation();
    assert_eq!(index.begin_import().unwrap().finish().unwrap().generation, before);
}

#[test]
fn a_backup_is_whole_although_somebody_writes() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("index");
    let index = Index::open(&directory, config()).unwrap();
    index.commit(&Batch::from((0..PAGES).map(page).collect::<Vec<_>>())).unwrap();
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for number in PAGES..PAGES + 60 {
                index.commit(&Batch::from(vec![page(number)])).unwrap();
            }
        });
        let mut copies = 0;
        while !writing.is_finished() || copies < 2 {
            let target = folder.path().join(format!("copy{copies}"));
            let receipt = backup(&directory, &target).unwrap();
            assert!(receipt.files > 0 && receipt.bytes > 0);
            assert!(matches!(backup(&directory, &target), Err(IndexError::Exists { .. })));
            let report = check(&target).unwrap();
            assert!(report.is_clean(), "{:?}", report.problems);
            assert_eq!(report.generation, receipt.generation);
            let snapshot = IndexReader::open(&target).unwrap().snapshot().unwrap();
            assert_eq!(snapshot.quad_count().unwrap(), PAGES * QUADS_PER_PAGE);
            // A copy is an index of its own: writing it does not touch the original, whose files it shares.
            let copy = Index::open(&target, config()).unwrap();
            copy.commit(&Batch::from(vec![GraphWrite::delete(page_name(0))])).unwrap();
            copy.compact().unwrap();
            assert_eq!(copy.snapshot().quad_count().unwrap(), (PAGES - 1) * QUADS_PER_PAGE);
            copies += 1;
        }
    });
    assert_eq!(index.snapshot().quad_count().unwrap(), PAGES * QUADS_PER_PAGE);
    assert!(check(&directory).unwrap().is_clean());
    assert!(matches!(backup(folder.path(), &folder.path().join("copy")), Err(IndexError::Missing { .. })));
}

#[test]
fn statistics_are_exact_in_one_clean_segment() {
    let directory = tempfile::tempdir().unwrap();
    let index = Index::open(directory.path(), config()).unwrap();
    let typed = |subject: &str, class: &str| {
        Triple::new(iri(subject), oxrdf::vocab::rdf::TYPE.into_owned(), iri(class))
    };
    let line = |subject: &str, number: u32| Triple::new(iri(subject), iri("line"), Literal::from(number));
    index
        .commit(&Batch::from(vec![
            GraphWrite::replace(
                iri("one"),
                vec![typed("a", "C"), typed("b", "C"), line("a", 1), line("a", 2), line("b", 1)],
            ),
            GraphWrite::replace(iri("two"), vec![typed("a", "C"), typed("a", "D"), line("a", 1)]),
        ]))
        .unwrap();
    index.commit(&Batch::from(vec![GraphWrite::replace(iri("three"), vec![line("c", 9)])])).unwrap();
    index.commit(&Batch::from(vec![GraphWrite::delete(iri("three"))])).unwrap();
    for compacted in [false, true] {
        if compacted {
            index.compact().unwrap();
        }
        let snapshot = index.snapshot();
        let of = |name: &NamedNode| {
            let id = snapshot.term_id(name.as_ref().into());
            let statistics = snapshot.predicate_statistics();
            statistics.iter().find(|statistics| statistics.predicate == id).copied().unwrap()
        };
        let (line, is_a) = (of(&iri("line")), of(&oxrdf::vocab::rdf::TYPE.into_owned()));
        assert_eq!((line.quads, line.subjects, line.objects), (4, 2, 2));
        assert_eq!((is_a.quads, is_a.subjects, is_a.objects), (4, 2, 2));
        let classes: Vec<(String, u64)> = snapshot
            .class_statistics()
            .unwrap()
            .iter()
            .map(|class| (snapshot.term(class.class).unwrap().unwrap().to_string(), class.quads))
            .collect();
        assert_eq!(
            classes,
            [("<http://example.org/C>".to_owned(), 3), ("<http://example.org/D>".to_owned(), 1)]
        );
    }
}

#[test]
fn text_that_does_not_belong_is_reported() {
    // The text of another state of the same index, as a writer with an error in it could leave it.
    let directory = tempfile::tempdir().unwrap();
    let index = Index::open(directory.path(), config()).unwrap();
    index.commit(&Batch::from(vec![page(0), page(1)])).unwrap();
    index.wait_for_merges();
    let manifest = |directory: &Path| fs::read_to_string(directory.join("MANIFEST")).unwrap();
    let value = |text: &str, key: &str| {
        let start = text.find(&format!("\"{key}\": ")).unwrap();
        let end = start + text[start..].find('\n').unwrap();
        text[start..end].to_owned()
    };
    let old = value(&manifest(directory.path()), "text_meta");
    let copy = directory.path().join("copy");
    backup(directory.path(), &copy).unwrap();
    index.commit(&Batch::from(vec![GraphWrite::delete(page_name(0))])).unwrap();
    let text = manifest(directory.path());
    let body = text.split_once('\n').unwrap().1.replace(&value(&text, "text_meta"), &old);
    // The old files are gone where the writer is, and are in the copy.
    let segments = copy.join("segments");
    fs::remove_dir_all(&segments).unwrap();
    fs::create_dir(&segments).unwrap();
    for entry in fs::read_dir(directory.path().join("segments")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), segments.join(entry.file_name())).unwrap();
    }
    fs::write(copy.join("MANIFEST"), format!("webloom-index 2 crc32:{:08x}\n{body}", crc32(body.as_bytes())))
        .unwrap();
    let report = check(&copy).unwrap();
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert!(
        report.problems[0].contains("4 documents of <http://example.org/page0>"),
        "{:?}",
        report.problems
    );
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    })
}
