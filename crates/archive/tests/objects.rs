//! Complete files in an object store: copied, read by range, and left where they are while the store cannot be reached.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use support::{exchange, files, listed, packed};
use webloom_archive::objects::{Objects, Uploader};
use webloom_archive::store::{BodyStore, LocalStore};
use webloom_archive::{
    Archive, ArchiveSettings, ArchiveWriter, Body, Dictionary, DictionarySource, Packing, Stored,
};

fn url(number: usize) -> String {
    format!("http://example.org/{number}")
}

/// Files with a few pages each; the last one is complete too.
fn write(folder: &Path, settings: ArchiveSettings, pages: std::ops::Range<usize>) {
    let mut writer =
        ArchiveWriter::open(folder, ArchiveSettings { file_bytes_max: 4096, ..settings }).unwrap();
    let maker = writer.maker();
    for number in pages {
        let body = format!("page {number} {}", "words ".repeat(number));
        let capture = maker.capture(&exchange(&url(number), body.as_bytes()), &Vec::new()).unwrap();
        writer.append(&[capture]).unwrap();
    }
}

#[track_caller]
fn assert_all_there(folder: &Path, pages: std::ops::Range<usize>) {
    let archive = Archive::open(folder);
    for number in pages {
        let capture = archive.find(&url(number)).unwrap().unwrap();
        let body = archive.read(&capture, 1 << 20).unwrap().body;
        assert!(body.starts_with(format!("page {number} ").as_bytes()), "{number}");
    }
}

/// Stores that need no server: one that lasts as long as this process, and a folder.
fn stores(folder: &Path) -> [String; 2] {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    [format!("memory:///{name}"), format!("file://{}", folder.join("bucket").display())]
}

#[test]
fn files_go_to_the_store_and_are_read_from_there() {
    let folder = tempfile::tempdir().unwrap();
    for (number, store) in stores(folder.path()).into_iter().enumerate() {
        let here = folder.path().join(number.to_string());
        write(&here, packed(Packing::Gzip), 0..60);
        let before: Vec<_> = files(&here).iter().map(|file| (file.clone(), listed(file))).collect();
        let names = |is_elsewhere: bool| {
            let mut listed = LocalStore::new(&here).list().unwrap();
            listed.retain(|file| file.is_elsewhere == is_elsewhere);
            listed.into_iter().map(|file| (file.name, file.length)).collect::<Vec<_>>()
        };
        let (complete, objects) = (names(false), Objects::open(&store).unwrap());
        assert!(complete.len() > 3, "{complete:?}");
        assert_eq!(Uploader::run_once(&here, objects.clone()).unwrap().files, 0);
        assert_eq!((names(false), names(true)), (Vec::new(), complete));
        assert!(files(&here).is_empty());
        assert_all_there(&here, 0..60);
        for (file, records) in before {
            // By its old path, by the note that is there now, and the index beside it.
            assert_eq!(listed(&file), records);
            assert_eq!(Stored::read(&file).unwrap().store, store);
            let index = format!(
                "{}.cdxj",
                file.file_name().unwrap().to_string_lossy().split(".warc").next().unwrap()
            );
            let kept = std::fs::read(here.join(&index)).unwrap();
            assert_eq!(objects.read(&index, 0, 1 << 20).unwrap(), kept);
        }
        // What comes later goes on in the same directory, and refers to what is elsewhere.
        write(&here, packed(Packing::Gzip), 60..70);
        assert_all_there(&here, 0..70);
    }
}

#[test]
fn records_with_a_dictionary_are_read_from_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let samples: Vec<String> =
        (0..3000).map(|number| format!("page {number} {}", "words ".repeat(number % 90))).collect();
    let dictionary = DictionarySource::Given(Arc::new(Dictionary::train(&samples).unwrap()));
    write(folder.path(), ArchiveSettings { dictionary, ..packed(Packing::Zstd) }, 0..20);
    Uploader::run_once(folder.path(), Objects::open("memory:///dictionary").unwrap()).unwrap();
    assert!(files(folder.path()).is_empty());
    assert_all_there(folder.path(), 0..20);
}

#[test]
fn a_long_file_goes_in_parts_and_is_read_from_any_place() {
    let folder = tempfile::tempdir().unwrap();
    for store in stores(folder.path()) {
        let path = folder.path().join("long.warc");
        let bytes: Vec<u8> =
            (0..20_000_003_u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(Uploader::run_once(folder.path(), Objects::open(&store).unwrap()).unwrap().files, 0);
        assert!(!path.exists());
        assert_eq!(Body::length(&path).unwrap(), bytes.len() as u64);
        let mut body = Body::open(&path).unwrap();
        for offset in [19_999_990, 0, 12_345_678, 8 << 20] {
            body.seek(SeekFrom::Start(offset)).unwrap();
            let mut read = Vec::new();
            (&mut body).take(100).read_to_end(&mut read).unwrap();
            let from = usize::try_from(offset).unwrap();
            assert_eq!(read, bytes[from..(from + 100).min(bytes.len())]);
        }
        body.seek(SeekFrom::Start(0)).unwrap();
        let mut whole = Vec::new();
        body.read_to_end(&mut whole).unwrap();
        assert!(whole == bytes);
    }
}

#[test]
fn a_store_that_cannot_be_reached_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("archive");
    let bucket = folder.path().join("bucket");
    let store = format!("file://{}", bucket.display());
    let objects = Objects::open(&store).unwrap();
    // Where the folder was is a file now: nothing can be written there.
    std::fs::remove_dir(&bucket).unwrap();
    std::fs::write(&bucket, "in the way").unwrap();
    write(&here, packed(Packing::Gzip), 0..30);
    let complete = files(&here).len();
    let left = Uploader::run_once(&here, objects.clone()).unwrap();
    assert!(left.files == complete && left.reason.is_some(), "{left:?}");
    assert_eq!(files(&here).len(), complete);
    assert_all_there(&here, 0..30);
    // The thread says so and goes on; when it ends, it tries once more.
    let uploader = Uploader::start(&here, objects).unwrap();
    uploader.ring();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(files(&here).len(), complete);
    std::fs::remove_file(&bucket).unwrap();
    std::fs::create_dir(&bucket).unwrap();
    drop(uploader);
    assert!(files(&here).is_empty());
    assert_all_there(&here, 0..30);
}

#[test]
fn files_are_copied_while_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let uploader = Uploader::start(folder.path(), Objects::open("memory:///while").unwrap()).unwrap();
    write(folder.path(), packed(Packing::Gzip), 0..30);
    uploader.ring();
    let start = Instant::now();
    while !files(folder.path()).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing was copied");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_all_there(folder.path(), 0..30);
}

#[test]
fn urls_of_stores() {
    for url in ["s3://bucket/prefix", "s3://bucket", "file:///tmp/x", "memory:///x"] {
        Objects::parse(url).unwrap();
    }
    for url in ["", "bucket", "http://example.org/", "s3:///x", "file://host/x", "/tmp/x"] {
        assert!(Objects::parse(url).is_err(), "{url}");
    }
}
