//! Files packed with a zstd dictionary: trained on the way, given, read alone, by place, cut, and recovered.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::sync::Arc;

use support::{exchange, files, listed};
use webloom_archive::check::check_file;
use webloom_archive::{
    Archive, ArchiveSettings, ArchiveWriter, Dictionary, DictionarySource, Packing, Reader, cdxj,
};

const DICTIONARY_FRAME: [u8; 4] = 0x184D_2A5D_u32.to_le_bytes();

fn settings(dictionary: DictionarySource) -> ArchiveSettings {
    ArchiveSettings { packing: Packing::Zstd, dictionary, ..ArchiveSettings::default() }
}

fn url(number: usize) -> String {
    format!("http://example.org/things/{number}")
}

/// Pages of one site: alike, and none like the other.
fn page(number: usize) -> Vec<u8> {
    let items: String = (0..60)
        .map(|item| {
            format!(
                "<li class=\"item item-{item}\"><a href=\"/things/{}\">thing {}</a>",
                number * 7 + item,
                number ^ item
            )
        })
        .collect();
    format!("<!DOCTYPE html><html lang=en><title>thing {number}</title><nav>home, news, about</nav><ul>{items}</ul>").into_bytes()
}

fn write(folder: &Path, settings: ArchiveSettings, pages: std::ops::Range<usize>) {
    let mut writer = ArchiveWriter::open(folder, settings).unwrap();
    let maker = writer.maker();
    // Many are packed before any is written, as in a crawl, where packing is done on other threads.
    let captures: Vec<_> = pages
        .map(|number| {
            maker.capture(&exchange(&url(number), &page(number)), &vec![("depth", "1".to_owned())]).unwrap()
        })
        .collect();
    for some in captures.chunks(100) {
        writer.append(some).unwrap();
    }
}

/// A dictionary, trained on pages like those above.
fn trained() -> Arc<Dictionary> {
    let samples: Vec<Vec<u8>> = (10_000..11_000).map(page).collect();
    Arc::new(Dictionary::train(&samples).unwrap())
}

#[track_caller]
fn assert_all_there(folder: &Path, pages: std::ops::Range<usize>) {
    let archive = Archive::open(folder);
    for number in pages {
        let capture = archive.find(&url(number)).unwrap().unwrap();
        assert_eq!(archive.read(&capture, 1 << 20).unwrap().body, page(number));
        // By its place alone, as people do with an offset from an index.
        let mut reader = Reader::open_at(&folder.join(&capture.filename), capture.offset).unwrap();
        let record = reader.next_record().unwrap().unwrap();
        assert_eq!(record.head().target_uri().as_deref(), Some(url(number).as_str()));
    }
    for file in files(folder) {
        assert_eq!(check_file(&file).unwrap().problems, [], "{}", file.display());
    }
}

fn length(folder: &Path) -> u64 {
    files(folder).iter().map(|file| file.metadata().unwrap().len()).sum()
}

#[test]
fn a_given_dictionary_begins_every_file() {
    let folder = tempfile::tempdir().unwrap();
    let given = DictionarySource::Given(trained());
    write(folder.path(), ArchiveSettings { file_bytes_max: 200 << 10, ..settings(given) }, 0..500);
    assert_all_there(folder.path(), 0..500);
    assert!(files(folder.path()).len() > 1);
    for file in files(folder.path()) {
        assert!(std::fs::read(&file).unwrap().starts_with(&DICTIONARY_FRAME));
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let (entries, problems) = cdxj::index_file(&file, &name).unwrap();
        assert_eq!(problems, []);
        let mut lines: Vec<String> = entries.iter().map(cdxj::CdxEntry::line).collect();
        lines.sort();
        let index = std::fs::read_to_string(file.with_extension("").with_extension("cdxj")).unwrap();
        assert_eq!(index.lines().collect::<Vec<_>>(), lines);
    }
}

#[test]
fn a_dictionary_is_trained_on_the_first_records_and_kept_for_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    // Records of some 5 KB: enough for a dictionary, and for records packed before it was there.
    write(folder.path(), settings(DictionarySource::Train), 0..2500);
    let begins_with_it = |file: &Path| std::fs::read(file).unwrap().starts_with(&DICTIONARY_FRAME);
    let first = files(folder.path());
    assert_eq!(first.iter().filter(|file| begins_with_it(file)).count(), 1, "{first:?}");
    for some in [0..50, 1200..1250, 2450..2500] {
        assert_all_there(folder.path(), some);
    }
    let kept = Dictionary::read(&folder.path().join("zstd.dictionary")).unwrap();
    write(folder.path(), settings(DictionarySource::Train), 2500..2510);
    let last = files(folder.path()).pop().unwrap();
    assert!(!first.contains(&last) && begins_with_it(&last));
    assert_eq!(kept.bytes(), Dictionary::read(&folder.path().join("zstd.dictionary")).unwrap().bytes());
    assert_all_there(folder.path(), 2500..2510);
    // Other pages, with it and without.
    let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(with.path(), settings(DictionarySource::Given(Arc::new(kept))), 3000..5000);
    write(without.path(), settings(DictionarySource::None), 3000..5000);
    let (with, without) = (length(with.path()), length(without.path()));
    assert!(with * 10 < without * 8, "{with} bytes with a dictionary, {without} without");
}

#[test]
fn a_file_with_its_dictionary_plain_is_read_like_one_with_it_packed() {
    let (made, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let dictionary = trained();
    write(made.path(), settings(DictionarySource::Given(dictionary.clone())), 0..20);
    let file = &files(made.path())[0];
    let bytes = std::fs::read(file).unwrap();
    let packed = u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    assert!(packed < dictionary.bytes().len());
    let plain = [
        &DICTIONARY_FRAME[..],
        &u32::try_from(dictionary.bytes().len()).unwrap().to_le_bytes(),
        dictionary.bytes(),
        &bytes[8 + packed..],
    ]
    .concat();
    let other = folder.path().join("plain.warc.zst");
    std::fs::write(&other, plain).unwrap();
    assert_eq!(listed(file), listed(&other));
    let mut lines: Vec<String> =
        cdxj::index_file(&other, "plain.warc.zst").unwrap().0.iter().map(cdxj::CdxEntry::line).collect();
    lines.sort();
    std::fs::write(folder.path().join("plain.cdxj"), lines.join("\n") + "\n").unwrap();
    assert_all_there(folder.path(), 0..20);
}

#[test]
fn a_file_cut_or_damaged_in_the_middle_gives_the_records_around() {
    let made = tempfile::tempdir().unwrap();
    write(made.path(), settings(DictionarySource::Given(trained())), 0..200);
    let file = &files(made.path())[0];
    let bytes = std::fs::read(file).unwrap();
    let all = listed(file).0.len();
    let cut = made.path().join("cut.zst");
    let dictionary = 8 + u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let middle = dictionary + (bytes.len() - dictionary) / 2;
    std::fs::write(&cut, &bytes[..middle]).unwrap();
    let (records, problems) = listed(&cut);
    assert!(records.len() > all / 3 && records.len() < all, "{} of {all}", records.len());
    assert!(problems.len() == 1 && problems[0].contains("ends within"), "{problems:?}");
    let mut torn = bytes.clone();
    torn[middle..middle + 100].fill(0);
    std::fs::write(&cut, torn).unwrap();
    let (records, problems) = listed(&cut);
    assert!(records.len() > all * 9 / 10 && !problems.is_empty(), "{} of {all}, {problems:?}", records.len());
    // Without its dictionary a file says so.
    std::fs::write(&cut, &bytes[..dictionary / 2]).unwrap();
    let error = Reader::open(&cut).err().unwrap().to_string();
    assert!(error.contains("ends within its zstd dictionary"), "{error}");
}

#[test]
fn an_open_file_with_a_dictionary_is_made_whole_after_a_kill() {
    let made = tempfile::tempdir().unwrap();
    let given = || settings(DictionarySource::Given(trained()));
    write(made.path(), given(), 0..3);
    let file = &files(made.path())[0];
    let bytes = std::fs::read(file).unwrap();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let archive = Archive::open(made.path());
    let ends: Vec<u64> = (0..3)
        .map(|number| {
            archive.find(&url(number)).unwrap().map(|capture| capture.offset + capture.length).unwrap()
        })
        .collect();
    let dictionary = 8 + u32::from_le_bytes(bytes[4..8].try_into().unwrap()) as usize;
    let cuts = [0, 5, 8, dictionary / 2, dictionary, dictionary + 1];
    for cut in (dictionary..bytes.len()).step_by(37).chain(cuts).chain([bytes.len()]) {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join(format!("{name}.open"));
        std::fs::write(&open, &bytes[..cut]).unwrap();
        drop(ArchiveWriter::open(folder.path(), ArchiveSettings::default()).unwrap());
        let whole = ends.iter().take_while(|end| **end <= cut as u64).count();
        assert_all_there(folder.path(), 0..whole);
        assert_eq!(Archive::open(folder.path()).find(&url(whole)).unwrap(), None, "cut at {cut}");
        assert!(!open.exists());
    }
}

#[test]
fn what_is_no_dictionary_is_refused() {
    for bytes in [&b""[..], b"words", b"\x28\xb5\x2f\xfd damaged"] {
        assert!(Dictionary::new(bytes).is_err(), "{bytes:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(Dictionary::read(&folder.path().join("none")).is_err());
    let packed = zstd::encode_all(trained().bytes(), 3).unwrap();
    std::fs::write(folder.path().join("packed"), packed).unwrap();
    assert_eq!(Dictionary::read(&folder.path().join("packed")).unwrap().bytes(), trained().bytes());
}
