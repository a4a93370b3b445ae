//! What the tests of the archive share.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use webloom_archive::{ArchiveSettings, Packing, Reader};
use webloom_model::{Exchange, PageUrl, Purpose};

/// An answer of 200 with a body.
pub fn exchange(url: &str, body: &[u8]) -> Exchange {
    Exchange {
        url: PageUrl::parse(url).unwrap(),
        purpose: Purpose::Page,
        request: vec![("host".into(), b"example.org".to_vec()), ("accept".into(), b"*/*".to_vec())],
        http_version: "HTTP/1.1",
        status: 200,
        reason: "OK".to_owned(),
        headers: vec![("content-type".into(), b"text/html; charset=utf-8".to_vec())],
        body: Bytes::copy_from_slice(body),
        truncated: None,
        tls: None,
        remote: Some([127, 0, 0, 1].into()),
        at: "2026-11-16T05:06:07.089Z".parse::<Timestamp>().unwrap(),
        elapsed: Duration::from_millis(5),
    }
}

/// Settings with a packing.
pub fn packed(packing: Packing) -> ArchiveSettings {
    ArchiveSettings { packing, ..ArchiveSettings::default() }
}

/// Type, URI, payload length of every record, and the problems.
pub fn listed(path: &Path) -> (Vec<(String, String, usize)>, Vec<String>) {
    let mut reader = Reader::open(path).unwrap();
    let mut records = Vec::new();
    while let Some(mut record) = reader.next_record().unwrap() {
        let (head, _) = record.heads().unwrap();
        let payload = record.payload(1 << 24).unwrap();
        let uri = head.target_uri().unwrap_or_default().into_owned();
        records.push((head.kind.to_string(), uri, payload.bytes.len()));
    }
    (records, reader.take_problems().into_iter().map(|problem| problem.message).collect())
}

/// The archive files of a folder, complete ones.
pub fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| webloom_archive::store::is_archive_name(&path.to_string_lossy()))
        .collect();
    files.sort();
    files
}
