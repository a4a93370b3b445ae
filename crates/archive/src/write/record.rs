//! Records on their way out: built, digested, and packed into one member each.

use std::cell::RefCell;
use std::io;

use bytes::Bytes;
use flate2::Crc;
use jiff::Timestamp;
use rand::Rng;

use crate::digest::{Digest, DigestKind};
use crate::fields::{Fields, write_field};
use crate::read::Packing;
use crate::record::RecordKind;
use crate::write::deflate::Deflate;
use crate::write::dictionary::{self, Dictionary};

/// The version that is written.
pub(crate) const VERSION: &str = "WARC/1.1";

/// Room for the fields of a record.
const RECORD_HEAD_BYTES: usize = 640;

/// A record before it is packed.
#[derive(Debug, Clone)]
pub struct NewRecord {
    /// What it is.
    pub kind: RecordKind,
    /// Its name, a `urn:uuid:` in brackets.
    pub id: String,
    /// When what it holds was had.
    pub date: Timestamp,
    /// Fields beside those that every record has.
    pub fields: Fields,
    /// `Content-Type` of the block.
    pub content_type: &'static str,
    /// The first part of the block: an HTTP head, or all of it.
    pub head: Vec<u8>,
    /// The second part: a payload.
    pub body: Bytes,
}

impl NewRecord {
    /// A record without a block.
    pub fn new(kind: RecordKind, date: Timestamp, content_type: &'static str) -> Self {
        Self {
            kind,
            id: new_id(),
            date,
            fields: Fields::new(),
            content_type,
            head: Vec::new(),
            body: Bytes::new(),
        }
    }

    /// The record as it is written, before it is packed.
    pub fn to_bytes(&self, digest: DigestKind) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(digest, &mut bytes);
        bytes
    }

    /// The same into room that is there already.
    pub(crate) fn write_to(&self, digest: DigestKind, out: &mut Vec<u8>) {
        out.reserve(RECORD_HEAD_BYTES + self.head.len() + self.body.len());
        out.extend_from_slice(VERSION.as_bytes());
        out.extend_from_slice(b"\r\n");
        let mut field = |name: &[u8], value: &[u8]| write_field(out, name, value);
        field(b"WARC-Type", self.kind.as_str().as_bytes());
        field(b"WARC-Record-ID", self.id.as_bytes());
        field(b"WARC-Date", warc_date(self.date).as_bytes());
        self.fields.iter().for_each(|(name, value)| field(name, value));
        field(b"WARC-Block-Digest", self.block_digest(digest).to_string().as_bytes());
        field(b"Content-Type", self.content_type.as_bytes());
        field(b"Content-Length", (self.head.len() + self.body.len()).to_string().as_bytes());
        for part in [b"\r\n", &self.head[..], &self.body, b"\r\n\r\n"] {
            out.extend_from_slice(part);
        }
    }

    fn block_digest(&self, kind: DigestKind) -> Digest {
        let mut hasher = crate::digest::Hasher::new(kind);
        hasher.update(&self.head);
        hasher.update(&self.body);
        hasher.finish()
    }
}

/// Packs a record as one member, or leaves it plain. Only zstd has dictionaries.
pub(crate) fn pack(record: &[u8], packing: Packing, dictionary: Option<&Dictionary>) -> io::Result<Vec<u8>> {
    match packing {
        Packing::Plain => Ok(record.to_vec()),
        Packing::Gzip => Ok(gzip(record)),
        Packing::Zstd => dictionary::pack(record, dictionary),
    }
}

/// Deflate, no flags, no time, no extra flags, written on a system that is not named.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

thread_local! {
    // Its tables are large beside a record, so they are kept.
    static DEFLATE: RefCell<Deflate> = RefCell::new(Deflate::default());
}

/// One gzip member.
fn gzip(record: &[u8]) -> Vec<u8> {
    let mut member = Vec::with_capacity(record.len() / 2 + 64);
    member.extend_from_slice(&GZIP_HEAD);
    DEFLATE.with_borrow_mut(|deflate| deflate.member(record, &mut member));
    let mut crc = Crc::new();
    crc.update(record);
    member.extend_from_slice(&crc.sum().to_le_bytes());
    member.extend_from_slice(&crc.amount().to_le_bytes());
    member
}

/// A date as it is written: to the millisecond.
pub(crate) fn warc_date(date: Timestamp) -> String {
    format!("{date:.3}")
}

/// A random (version 4) UUID in a URN.
pub(crate) fn new_id() -> String {
    let mut bytes = rand::rng().random::<[u8; 16]>();
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = data_encoding::HEXLOWER.encode(&bytes);
    format!("<urn:uuid:{}-{}-{}-{}-{}>", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(record: &[u8]) {
        let member = gzip(record);
        let mut unpacked = Vec::new();
        let mut decoder = flate2::bufread::GzDecoder::new(&member[..]);
        decoder.read_to_end(&mut unpacked).expect("what was packed can be unpacked");
        assert!(unpacked == record, "{} bytes came back as {}", record.len(), unpacked.len());
        assert!(decoder.into_inner().is_empty(), "the member is all there is");
    }

    #[test]
    fn members_come_back_one_after_the_other() {
        let noise: Vec<u8> = (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for record in [&b""[..], b"a", &[b'x'; 1_000_000], &noise, b"again"] {
            check(record);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_back(record in proptest::collection::vec(any::<u8>(), 0..2000)) {
            check(&record);
        }
    }
}
