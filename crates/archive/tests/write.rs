//! What is written is read back: by place, by URL, from the index, after a kill, on a full disk.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use proptest::prelude::*;
use support::{exchange, files, listed, packed};
use webloom_archive::check::check_file;
use webloom_archive::digest::DigestKind;
use webloom_archive::store::{OpenBody, StoredFile};
use webloom_archive::{
    Archive, ArchiveSettings, ArchiveWriter, BodyStore, LocalStore, Packing, Reader, RecordKind, WriteError,
    cdxj,
};
use webloom_model::Truncated;

const PACKINGS: [Packing; 3] = [Packing::Gzip, Packing::Zstd, Packing::Plain];

#[test]
fn every_packing_is_whole_and_read_back_by_place_and_by_url() {
    for packing in PACKINGS {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArchiveWriter::open(folder.path(), packed(packing)).unwrap();
        let maker = writer.maker();
        let captures: Vec<_> = (0..20)
            .map(|number| {
                let url = format!("http://example.org/{number}");
                maker
                    .capture(&exchange(&url, url.repeat(100).as_bytes()), &vec![("depth", "1".to_owned())])
                    .unwrap()
            })
            .collect();
        let places = writer.append(&captures).unwrap();
        // It can be found while the file is still being written, and after.
        for _ in 0..2 {
            let archive = Archive::open(folder.path());
            for (number, place) in places.iter().enumerate() {
                let url = format!("http://example.org/{number}");
                let capture = archive.find(&url).unwrap().unwrap();
                assert_eq!(Some(capture.offset), place.as_ref().map(|place| place.offset));
                let answer = archive.read(&capture, 1 << 20).unwrap();
                assert_eq!(answer.body, url.repeat(100).into_bytes());
                assert_eq!(answer.head.id().as_deref(), place.as_ref().map(|place| place.id.as_str()));
                assert_eq!(answer.at(), Some("2026-11-16T05:06:07.089Z".parse().unwrap()));
            }
            assert!(archive.find("http://example.org/none").unwrap().is_none());
            writer.complete().unwrap();
        }
        let [file] = &files(folder.path())[..] else { panic!("not one file") };
        let report = check_file(file).unwrap();
        assert_eq!(report.problems, []);
        assert_eq!((report.records, report.digests), (61, 81));
        // The index that was written is the one that is read out of the file.
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let (entries, _) = cdxj::index_file(file, &name).unwrap();
        let mut lines: Vec<String> = entries.iter().map(cdxj::CdxEntry::line).collect();
        lines.sort();
        let stem = name.split(".warc").next().unwrap();
        let written = std::fs::read_to_string(folder.path().join(format!("{stem}.cdxj"))).unwrap();
        assert_eq!(written.lines().collect::<Vec<_>>(), lines);
    }
}

#[test]
fn an_equal_payload_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let body = "the same words again. ".repeat(100);
    for run in 0..2 {
        let mut writer = ArchiveWriter::open(folder.path(), ArchiveSettings::default()).unwrap();
        let maker = writer.maker();
        for number in 0..2 {
            let mut exchange = exchange(&format!("http://example.org/{run}-{number}"), body.as_bytes());
            exchange.at = format!("2026-11-16T05:06:0{}Z", run * 2 + number).parse().unwrap();
            let capture = maker.capture(&exchange, &Vec::new()).unwrap();
            writer.append(&[capture]).unwrap();
        }
    }
    let kinds: Vec<String> =
        files(folder.path()).iter().flat_map(|file| listed(file).0).map(|(kind, ..)| kind).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "response").count(), 1);
    assert_eq!(kinds.iter().filter(|kind| *kind == "revisit").count(), 3);
    let archive = Archive::open(folder.path());
    for url in [
        "http://example.org/0-0",
        "http://example.org/0-1",
        "http://example.org/1-0",
        "http://example.org/1-1",
    ] {
        let answer = archive.read(&archive.find(url).unwrap().unwrap(), 1 << 20).unwrap();
        assert_eq!(answer.body, body.as_bytes(), "{url}");
        assert_eq!(answer.head.target_uri().unwrap(), url);
    }
    for file in files(folder.path()) {
        assert_eq!(check_file(&file).unwrap().problems, []);
    }
}

#[test]
fn the_transfer_is_told_honestly() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = ArchiveWriter::open(
        folder.path(),
        ArchiveSettings { digest: DigestKind::Sha256, ..Default::default() },
    )
    .unwrap();
    let maker = writer.maker();
    let mut http2 = exchange("http://example.org/2", b"body");
    http2.http_version = "HTTP/2.0";
    http2.headers.push(("content-length".into(), b"4".to_vec()));
    let mut chunked = exchange("http://example.org/chunked", b"body");
    chunked.headers.push(("transfer-encoding".into(), b"chunked".to_vec()));
    let mut cut = exchange("http://example.org/cut", b"bo");
    cut.headers.push(("content-length".into(), b"4".to_vec()));
    cut.truncated = Some(Truncated::Length);
    let mut unchanged = exchange("http://example.org/304", b"");
    unchanged.status = 304;
    let mut evil = exchange("http://example.org/evil", b"body");
    evil.headers.push(("x-evil".into(), b"1\r\n\r\nWARC/1.1\r\nWARC-Type: response".to_vec()));
    let exchanges = [http2, chunked, cut, unchanged, evil];
    let captures: Vec<_> =
        exchanges.iter().map(|exchange| maker.capture(exchange, &Vec::new()).unwrap()).collect();
    writer.append(&captures).unwrap();
    writer.complete().unwrap();
    let file = &files(folder.path())[0];
    assert_eq!(check_file(file).unwrap().problems, []);
    let mut reader = Reader::open(file).unwrap();
    let mut told = Vec::new();
    while let Some(mut record) = reader.next_record().unwrap() {
        if !matches!(record.head().kind, RecordKind::Response | RecordKind::Revisit) {
            continue;
        }
        let (head, http) = record.heads().unwrap();
        let http = http.unwrap();
        let field = |name: &str| head.fields.get(name).unwrap_or_default().into_owned();
        let of_http = |name: &str| http.get(name).unwrap_or_default().into_owned();
        told.push([
            head.kind.to_string(),
            field("WARC-Protocol"),
            field("WARC-Truncated"),
            http.start_line.clone(),
            of_http("content-length"),
            of_http("x-crawler-content-length"),
            of_http("x-crawler-transfer-encoding"),
            of_http("transfer-encoding"),
        ]);
    }
    let told: Vec<String> = told.iter().map(|fields| fields.join("|")).collect();
    assert_eq!(
        told,
        [
            "response|h2||HTTP/1.1 200 OK|4|||",
            "response|http/1.1||HTTP/1.1 200 OK|4||chunked|",
            "response|http/1.1|length|HTTP/1.1 200 OK|2|4||",
            "revisit|http/1.1||HTTP/1.1 304 OK||||",
            "response|http/1.1||HTTP/1.1 200 OK|4|||",
        ]
    );
}

#[test]
fn files_are_rotated_by_size() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        ArchiveSettings { file_bytes_max: 3000, packing: Packing::Plain, ..ArchiveSettings::default() };
    let mut writer = ArchiveWriter::open(folder.path(), settings).unwrap();
    let maker = writer.maker();
    for number in 0..10 {
        let capture =
            maker.capture(&exchange(&format!("http://example.org/{number}"), &[b'a'; 500]), &Vec::new());
        writer.append(&[capture.unwrap()]).unwrap();
    }
    drop(writer);
    let written = files(folder.path());
    assert!(written.len() > 3, "{written:?}");
    for file in &written {
        assert_eq!(listed(file).0[0].0, "warcinfo");
        assert_eq!(check_file(file).unwrap().problems, []);
    }
    let archive = Archive::open(folder.path());
    assert!((0..10).all(|number| archive.find(&format!("http://example.org/{number}")).unwrap().is_some()));
    assert!(
        !std::fs::read_dir(folder.path()).unwrap().any(|entry| entry
            .unwrap()
            .path()
            .extension()
            .is_some_and(|e| e == "open"))
    );
}

#[test]
fn a_file_cut_anywhere_is_made_whole_again() {
    for packing in PACKINGS {
        let made = tempfile::tempdir().unwrap();
        let mut writer = ArchiveWriter::open(made.path(), packed(packing)).unwrap();
        let maker = writer.maker();
        let mut ends = Vec::new();
        for number in 0..3 {
            let url = format!("http://example.org/{number}");
            let capture = maker.capture(&exchange(&url, url.repeat(9).as_bytes()), &Vec::new()).unwrap();
            let place = writer.append(&[capture]).unwrap()[0].clone().unwrap();
            ends.push((place.offset + place.length, url));
        }
        drop(writer);
        let file = &files(made.path())[0];
        let bytes = std::fs::read(file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        for cut in (0..bytes.len()).step_by(41).chain([bytes.len()]) {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join(format!("{name}.open")), &bytes[..cut]).unwrap();
            drop(ArchiveWriter::open(folder.path(), packed(packing)).unwrap());
            let archive = Archive::open(folder.path());
            for (end, url) in &ends {
                let found = archive.find(url).unwrap();
                assert_eq!(found.is_some(), *end <= cut as u64, "{packing:?} cut at {cut}: {url}");
                if let Some(capture) = found {
                    assert_eq!(archive.read(&capture, 1 << 20).unwrap().body, url.repeat(9).into_bytes());
                }
            }
            for file in files(folder.path()) {
                assert_eq!(check_file(&file).unwrap().problems, [], "{packing:?} cut at {cut}");
            }
            assert!(!folder.path().join(format!("{name}.open")).exists());
        }
    }
}

#[test]
fn an_index_that_was_begun_without_its_file_is_swept_away() {
    let folder = tempfile::tempdir().unwrap();
    for left in ["lost.cdxj.open", "lost.cdxj.new", "kept.cdxj"] {
        std::fs::write(folder.path().join(left), "").unwrap();
    }
    drop(ArchiveWriter::open(folder.path(), packed(Packing::Gzip)).unwrap());
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["kept.cdxj"]);
}

/// A disk with so much room.
struct SmallDisk {
    inner: LocalStore,
    room: Arc<AtomicU64>,
}

struct SmallBody {
    inner: Box<dyn OpenBody>,
    room: Arc<AtomicU64>,
}

impl OpenBody for SmallBody {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.room.load(Relaxed);
        let fits = (bytes.len() as u64).min(room);
        // A disk takes what it can before it says that it is full.
        self.inner.append(&bytes[..usize::try_from(fits).unwrap()])?;
        self.room.fetch_sub(fits, Relaxed);
        if fits < bytes.len() as u64 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
    fn sync(&mut self) -> io::Result<()> {
        self.inner.sync()
    }
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.inner.truncate(length)
    }
}

impl BodyStore for SmallDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn OpenBody>> {
        Ok(Box::new(SmallBody { inner: self.inner.create(name)?, room: self.room.clone() }))
    }
    fn complete(&self, name: &str) -> io::Result<()> {
        self.inner.complete(name)
    }
    fn list(&self) -> io::Result<Vec<StoredFile>> {
        self.inner.list()
    }
    fn read(&self, name: &str, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        self.inner.read(name, offset, length)
    }
    fn local(&self, name: &str) -> io::Result<PathBuf> {
        self.inner.local(name)
    }
    fn free_bytes(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.room.load(Relaxed)))
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_written_and_can_be_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let room = Arc::new(AtomicU64::new(3000));
    let store = Arc::new(SmallDisk { inner: LocalStore::new(folder.path()), room: room.clone() });
    let mut writer = ArchiveWriter::open_with(folder.path(), store, packed(Packing::Plain)).unwrap();
    let maker = writer.maker();
    let (mut written, mut refused) = (0, 0);
    for number in 0..12 {
        let url = format!("http://example.org/{number}");
        let capture = maker.capture(&exchange(&url, url.repeat(20).as_bytes()), &Vec::new()).unwrap();
        let captures = [capture];
        match writer.append(&captures) {
            Ok(_) => written += 1,
            Err(error) => {
                assert!(matches!(error, WriteError::Full { .. }), "{error}");
                refused += 1;
                // Room again: the same captures are written as if nothing had been.
                room.store(3000, Relaxed);
                writer.append(&captures).unwrap();
            }
        }
    }
    drop(writer);
    assert!(written > 3 && refused > 1, "{written} {refused}");
    let archive = Archive::open(folder.path());
    for number in 0..12 {
        let url = format!("http://example.org/{number}");
        let answer = archive.read(&archive.find(&url).unwrap().unwrap(), 1 << 20).unwrap();
        assert_eq!(answer.body, url.repeat(20).into_bytes());
    }
    let records: usize = files(folder.path()).iter().map(|file| listed(file).0.len()).sum();
    assert_eq!(records, 24 + files(folder.path()).len());
    for file in files(folder.path()) {
        assert_eq!(check_file(&file).unwrap().problems, []);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn any_body_and_any_field_comes_back(
        bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 1..6),
        value in "[ -~]{0,40}",
        packing in prop::sample::select(PACKINGS.to_vec()),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = ArchiveWriter::open(folder.path(), packed(packing)).unwrap();
        let maker = writer.maker();
        let captures: Vec<_> = bodies.iter().enumerate().map(|(number, body)| {
            let mut exchange = exchange(&format!("http://example.org/{number}"), body);
            exchange.headers.push(("x-any".into(), value.as_bytes().to_vec()));
            maker.capture(&exchange, &Vec::new()).unwrap()
        }).collect();
        writer.append(&captures).unwrap();
        drop(writer);
        let archive = Archive::open(folder.path());
        for (number, body) in bodies.iter().enumerate() {
            let capture = archive.find(&format!("http://example.org/{number}")).unwrap().unwrap();
            let answer = archive.read(&capture, 1 << 20).unwrap();
            prop_assert_eq!(&answer.body, body);
            let found = answer.http.get("X-Any").unwrap();
            prop_assert_eq!(found.as_ref(), value.trim());
        }
        prop_assert_eq!(check_file(&files(folder.path())[0]).unwrap().problems, vec![]);
    }
}
