//! From an exchange to the records that keep it: the answer, the request, and what is known about both.
//!
//! In: an [`Exchange`] as it crossed the wire, and notes of the crawl's. Out: a [`PackedCapture`], compressed and
//! digested, ready to be appended. This is where the computing is, so it can be done on any thread; the writer only
//! appends. What HTTP/2 and a decoded transfer leave no trace of in the bytes is said in fields.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use webloom_model::Exchange;

use crate::cdxj::{CdxEntry, media_type};
use crate::digest::{Digest, DigestKind};
use crate::fields::{Fields, extend_flat};
use crate::read::Packing;
use crate::record::{RecordKind, cdx_date};
use crate::surt::surt;
use crate::write::dictionary::{Dictionaries, Dictionary, DictionarySource};
use crate::write::record::{NewRecord, new_id, pack, warc_date};

/// A payload shorter than this is written again rather than referred to: the reference would be as long.
const REVISIT_BYTES_MIN: usize = 512;
/// Payloads remembered, twice this at most.
const REMEMBERED_MAX: usize = 50_000;

/// Room that is kept for records on their way to being packed.
const UNPACKED_BYTES_MAX: usize = 1 << 20;

thread_local! {
    static UNPACKED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

const PROFILE_IDENTICAL: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
const PROFILE_NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

/// What the records of an exchange say beside it, as names and values of a metadata record.
pub type Notes = Vec<(&'static str, String)>;

/// Records that belong together, packed.
#[derive(Debug, Clone, Default)]
pub struct PackedCapture {
    pub(crate) records: Vec<PackedRecord>,
}

#[derive(Debug, Clone)]
pub(crate) struct PackedRecord {
    pub(crate) id: String,
    pub(crate) bytes: Vec<u8>,
    /// What it was packed with.
    pub(crate) dictionary: Option<Arc<Dictionary>>,
    /// For the index, still without a place.
    pub(crate) entry: Option<CdxEntry>,
    /// A payload that later records may refer to.
    pub(crate) original: Option<(Digest, Original)>,
}

impl PackedCapture {
    /// Bytes it will take.
    pub fn length(&self) -> u64 {
        self.records.iter().map(|record| record.bytes.len() as u64).sum()
    }

    /// How many records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True when there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds the records of another capture, which are then written together with these.
    pub fn append(&mut self, mut other: Self) {
        self.records.append(&mut other.records);
    }

    /// Puts another capture's records before these.
    pub fn prepend(&mut self, mut other: Self) {
        other.records.append(&mut self.records);
        *self = other;
    }
}

/// Where a payload was first written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Original {
    pub(crate) url: String,
    pub(crate) date: String,
    pub(crate) id: Option<String>,
}

/// The payloads written lately, so that the same one is not written again. Two generations: when the young one is
/// full, the old one is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Payloads {
    generations: Mutex<(HashMap<Digest, Original>, HashMap<Digest, Original>)>,
}

impl Payloads {
    pub(crate) fn get(&self, digest: &Digest) -> Option<Original> {
        let generations = self.generations.lock();
        generations.0.get(digest).or_else(|| generations.1.get(digest)).cloned()
    }

    pub(crate) fn insert(&self, digest: Digest, original: Original) {
        let mut generations = self.generations.lock();
        if generations.0.len() >= REMEMBERED_MAX {
            generations.1 = std::mem::take(&mut generations.0);
        }
        generations.0.entry(digest).or_insert(original);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.generations.lock().0.len() >= REMEMBERED_MAX
    }
}

/// Turns exchanges into records.
#[derive(Debug)]
pub struct CaptureMaker {
    packing: Packing,
    digest: DigestKind,
    payloads: Payloads,
    dictionaries: Dictionaries,
}

impl CaptureMaker {
    pub(crate) fn new(packing: Packing, digest: DigestKind, dictionary: &DictionarySource) -> Self {
        // Other packings have no dictionaries.
        let dictionaries = match packing {
            Packing::Zstd => Dictionaries::of(dictionary),
            Packing::Gzip | Packing::Plain => Dictionaries::default(),
        };
        Self { packing, digest, payloads: Payloads::default(), dictionaries }
    }

    /// The dictionary of records that are packed from now on.
    pub(crate) fn dictionary(&self) -> Option<Arc<Dictionary>> {
        self.dictionaries.current()
    }

    pub(crate) fn payloads(&self) -> &Payloads {
        &self.payloads
    }

    /// The records of an exchange: the answer (or a reference to an equal one), the request, the notes.
    pub fn capture(&self, exchange: &Exchange, notes: &Notes) -> io::Result<PackedCapture> {
        let mut records = Vec::with_capacity(3);
        let answer = self.answer(exchange)?;
        let concurrent = answer.id.clone();
        records.push(answer);
        records.push(self.request(exchange, &concurrent)?);
        if !notes.is_empty() {
            records.push(self.notes(exchange.url.as_str(), exchange.at, notes, Some(&concurrent))?);
        }
        Ok(PackedCapture { records })
    }

    /// The record of a URL that gave no answer: notes alone.
    pub fn without_answer(&self, url: &str, at: Timestamp, notes: &Notes) -> io::Result<PackedCapture> {
        Ok(PackedCapture { records: vec![self.notes(url, at, notes, None)?] })
    }

    /// A resource that no protocol brought: a generated file, a screenshot.
    pub fn resource(
        &self,
        url: &str,
        at: Timestamp,
        content_type: &'static str,
        body: Bytes,
    ) -> io::Result<PackedCapture> {
        self.bare(RecordKind::Resource, url, at, content_type, body, None)
    }

    /// Another form of what a record holds: the text of a page, a rendered tree. `refers_to` is that record's name.
    pub fn conversion(
        &self,
        url: &str,
        at: Timestamp,
        content_type: &'static str,
        body: Bytes,
        refers_to: &str,
    ) -> io::Result<PackedCapture> {
        self.bare(RecordKind::Conversion, url, at, content_type, body, Some(refers_to))
    }

    fn bare(
        &self,
        kind: RecordKind,
        url: &str,
        at: Timestamp,
        content_type: &'static str,
        body: Bytes,
        refers_to: Option<&str>,
    ) -> io::Result<PackedCapture> {
        let digest = self.digest.of(&body);
        let entry = (kind == RecordKind::Resource).then(|| CdxEntry {
            mime: Some(media_type(content_type)),
            digest: Some(digest.to_string()),
            ..entry(url, at)
        });
        let mut record = NewRecord::new(kind, at, content_type);
        record.fields.push("WARC-Target-URI", url);
        if let Some(refers_to) = refers_to {
            record.fields.push("WARC-Refers-To", refers_to);
        }
        record.fields.push("WARC-Payload-Digest", &digest.to_string());
        record.body = body;
        Ok(PackedCapture { records: vec![self.pack(record, entry, None)?] })
    }

    fn pack(
        &self,
        record: NewRecord,
        entry: Option<CdxEntry>,
        original: Option<(Digest, Original)>,
    ) -> io::Result<PackedRecord> {
        let (bytes, dictionary) = UNPACKED.with_borrow_mut(|unpacked| {
            record.write_to(self.digest, unpacked);
            self.dictionaries.sample(unpacked);
            let dictionary = self.dictionary();
            let bytes = pack(unpacked, self.packing, dictionary.as_deref());
            unpacked.clear();
            // What a very long record took is not kept.
            unpacked.shrink_to(UNPACKED_BYTES_MAX);
            bytes.map(|bytes| (bytes, dictionary))
        })?;
        Ok(PackedRecord { id: record.id, bytes, dictionary, entry, original })
    }

    /// A response, or a revisit of one.
    fn answer(&self, exchange: &Exchange) -> io::Result<PackedRecord> {
        let url = exchange.url.as_str();
        let digest = self.digest.of(&exchange.body);
        let mut record =
            NewRecord::new(RecordKind::Response, exchange.at, "application/http;msgtype=response");
        record.fields.push("WARC-Target-URI", url);
        if let Some(remote) = exchange.remote {
            record.fields.push("WARC-IP-Address", &remote.to_string());
        }
        record.fields.push("WARC-Protocol", protocol(exchange.http_version));
        if let Some(tls) = exchange.tls {
            record.fields.push("WARC-Protocol", tls);
        }
        if let Some(truncated) = exchange.truncated {
            record.fields.push("WARC-Truncated", truncated.as_str());
        }
        record.head = response_head(exchange);
        let before = if exchange.body.len() >= REVISIT_BYTES_MIN { self.payloads.get(&digest) } else { None };
        let content_type =
            exchange.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let mut entry = CdxEntry {
            mime: content_type.map(|(_, value)| media_type(&crate::fields::text(value.trim_ascii()))),
            status: Some(exchange.status.to_string()),
            ..entry(url, exchange.at)
        };
        let mut original = None;
        if exchange.status == 304 {
            record.kind = RecordKind::Revisit;
            record.fields.push("WARC-Profile", PROFILE_NOT_MODIFIED);
            record.fields.push("WARC-Refers-To-Target-URI", url);
        } else if let Some(before) = before.filter(|_| exchange.truncated.is_none()) {
            record.kind = RecordKind::Revisit;
            record.fields.push("WARC-Profile", PROFILE_IDENTICAL);
            record.fields.push("WARC-Payload-Digest", &digest.to_string());
            if let Some(id) = &before.id {
                record.fields.push("WARC-Refers-To", id);
            }
            record.fields.push("WARC-Refers-To-Target-URI", &before.url);
            record.fields.push("WARC-Refers-To-Date", &before.date);
            entry.digest = Some(digest.to_string());
        } else {
            record.fields.push("WARC-Payload-Digest", &digest.to_string());
            record.body = exchange.body.clone();
            entry.digest = Some(digest.to_string());
            if exchange.truncated.is_none() && exchange.body.len() >= REVISIT_BYTES_MIN {
                let place = Original {
                    url: url.to_owned(),
                    date: warc_date(exchange.at),
                    id: Some(record.id.clone()),
                };
                original = Some((digest, place));
            }
        }
        if record.kind == RecordKind::Revisit {
            entry.mime = Some("warc/revisit".to_owned());
        }
        self.pack(record, Some(entry), original)
    }

    fn request(&self, exchange: &Exchange, concurrent: &str) -> io::Result<PackedRecord> {
        let mut record = NewRecord::new(RecordKind::Request, exchange.at, "application/http;msgtype=request");
        record.fields.push("WARC-Target-URI", exchange.url.as_str());
        record.fields.push("WARC-Concurrent-To", concurrent);
        record.fields.push("WARC-Protocol", protocol(exchange.http_version));
        let version = written_version(exchange.http_version);
        let mut head = format!("GET {} {version}\r\n", exchange.url.path_and_query()).into_bytes();
        push_fields(&mut head, exchange.request.iter().map(|(name, value)| (name.as_str(), &value[..])));
        head.extend_from_slice(b"\r\n");
        record.head = head;
        self.pack(record, None, None)
    }

    fn notes(
        &self,
        url: &str,
        at: Timestamp,
        notes: &Notes,
        concurrent: Option<&str>,
    ) -> io::Result<PackedRecord> {
        let mut record = NewRecord::new(RecordKind::Metadata, at, "application/warc-fields");
        record.fields.push("WARC-Target-URI", url);
        if let Some(concurrent) = concurrent {
            record.fields.push("WARC-Concurrent-To", concurrent);
        }
        let mut fields = Fields::new();
        for (name, value) in notes {
            fields.push(name, value);
        }
        fields.write_to(&mut record.head);
        self.pack(record, None, None)
    }

    /// What begins a file: its dictionary, if it has one, and the record that says who wrote it, and how.
    pub(crate) fn file_head(
        &self,
        filename: &str,
        at: Timestamp,
        info: &[(String, String)],
        dictionary: Option<&Dictionary>,
    ) -> io::Result<Vec<u8>> {
        let mut record = NewRecord::new(RecordKind::Warcinfo, at, "application/warc-fields");
        record.id = new_id();
        record.fields.push("WARC-Filename", filename);
        let mut fields = Fields::new();
        fields.push("software", concat!("webloom/", env!("CARGO_PKG_VERSION")));
        fields.push("format", "WARC File Format 1.1");
        fields.push(
            "conformsTo",
            "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        );
        for (name, value) in info {
            fields.push(name, value);
        }
        fields.write_to(&mut record.head);
        let mut head = dictionary.map_or(Ok(Vec::new()), Dictionary::frame)?;
        head.extend(pack(&record.to_bytes(self.digest), self.packing, dictionary)?);
        Ok(head)
    }
}

fn entry(url: &str, at: Timestamp) -> CdxEntry {
    CdxEntry {
        key: surt(url),
        timestamp: cdx_date(at),
        url: url.to_owned(),
        mime: None,
        status: None,
        digest: None,
        length: 0,
        offset: 0,
        filename: String::new(),
    }
}

/// The protocol by its registered name, which the written status line cannot always tell.
fn protocol(http_version: &str) -> &'static str {
    match http_version {
        "HTTP/2.0" => "h2",
        "HTTP/3.0" => "h3",
        "HTTP/1.0" => "http/1.0",
        "HTTP/0.9" => "http/0.9",
        _ => "http/1.1",
    }
}

/// The version in the first line. HTTP/2 has no such line; it is written as 1.1, which every reader knows.
fn written_version(http_version: &str) -> &str {
    match http_version {
        "HTTP/1.0" => "HTTP/1.0",
        _ => "HTTP/1.1",
    }
}

/// The head of the answer. The transfer coding was undone, and a cut body has another length: the fields that would
/// mislead a reader are kept under other names, as other crawlers do.
fn response_head(exchange: &Exchange) -> Vec<u8> {
    let version = written_version(exchange.http_version);
    let mut head = format!("{version} {}", exchange.status).into_bytes();
    head.push(b' ');
    extend_flat(&mut head, exchange.reason.as_bytes());
    head.extend_from_slice(b"\r\n");
    let mut has_length = false;
    for (name, value) in &exchange.headers {
        let name = if name.eq_ignore_ascii_case("transfer-encoding") {
            "X-Crawler-Transfer-Encoding"
        } else if name.eq_ignore_ascii_case("content-length") {
            let is_true =
                std::str::from_utf8(value).is_ok_and(|text| text.trim().parse() == Ok(exchange.body.len()));
            // A revisit or an answer to HEAD has no body and keeps the length of the one it speaks of.
            if is_true || exchange.status == 304 {
                has_length = true;
                name
            } else {
                "X-Crawler-Content-Length"
            }
        } else {
            name
        };
        push_fields(&mut head, std::iter::once((name, &value[..])));
    }
    if !has_length && exchange.status != 304 && exchange.status != 204 {
        head.extend_from_slice(format!("Content-Length: {}\r\n", exchange.body.len()).as_bytes());
    }
    head.extend_from_slice(b"\r\n");
    head
}

fn push_fields<'a>(out: &mut Vec<u8>, fields: impl Iterator<Item = (&'a str, &'a [u8])>) {
    for (name, value) in fields {
        extend_flat(out, name.as_bytes());
        out.extend_from_slice(b": ");
        extend_flat(out, value);
        out.extend_from_slice(b"\r\n");
    }
}
