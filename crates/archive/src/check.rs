//! Is a file what it says? Structure, lengths, and every digest that a record carries.
//!
//! In: a file. Out: a [`Report`] with what was checked and everything that is wrong, each with its place.

use std::path::Path;

use crate::digest::{Digest, DigestKind, Hasher};
use crate::http::{HttpHead, dechunk};
use crate::read::{Problem, ReadError, Reader, Record};
use crate::record::{Format, RecordKind};

/// A payload in chunks is digested by some tools with, by others without them; up to this size both are tried.
const DECHUNK_BYTES_MAX: usize = 64 << 20;

/// What a check came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Records read.
    pub records: u64,
    /// Digests that were compared.
    pub digests: u64,
    /// What is wrong, in the order of the file.
    pub problems: Vec<Problem>,
}

/// Checks a file.
pub fn check_file(path: &Path) -> Result<Report, ReadError> {
    let mut reader = Reader::open(path)?;
    let mut report = Report::default();
    while let Some(mut record) = reader.next_record()? {
        report.records += 1;
        check_record(&mut record, &mut report)?;
        record.finish()?;
        report.problems.append(&mut reader.take_problems());
    }
    report.problems.append(&mut reader.take_problems());
    Ok(report)
}

fn check_record<R: std::io::Read + std::io::Seek>(
    record: &mut Record<'_, R>,
    report: &mut Report,
) -> Result<(), ReadError> {
    let head = record.head().clone();
    let mut wrong = |message: String| report.problems.push(Problem { offset: head.offset, message });
    if head.format == Format::Warc {
        for (name, is_there) in [
            ("WARC-Type", head.kind != RecordKind::Unnamed),
            ("WARC-Record-ID", head.id().is_some()),
            ("WARC-Date", head.timestamp().is_some()),
        ] {
            if !is_there {
                wrong(format!("{name} is missing or cannot be understood"));
            }
        }
    }
    let expected = |name: &str| head.fields.get(name).and_then(|text| Digest::parse(&text));
    let block_digest = expected("WARC-Block-Digest");
    // What a revisit record digests is elsewhere, and a segment has only a part.
    let is_part = head.kind == RecordKind::Revisit
        || head.kind == RecordKind::Continuation
        || head.fields.get("WARC-Segment-Number").is_some();
    let payload_digest = if is_part { None } else { expected("WARC-Payload-Digest") };
    if block_digest.is_none() && payload_digest.is_none() {
        return Ok(());
    }
    let http_length = record.http_bytes()?.len();
    let http = HttpHead::parse(record.http_bytes()?);
    let keep_chunks = payload_digest.is_some() && http.is_some_and(|http| http.is_chunked());
    let mut block = block_digest.as_ref().map(|digest| Hasher::new(digest.kind()));
    let mut payload = payload_digest.as_ref().map(|digest| Hasher::new(digest.kind()));
    let mut chunks = Vec::new();
    let mut to_payload = http_length;
    loop {
        let piece = record.piece()?;
        if piece.is_empty() {
            break;
        }
        if let Some(hasher) = &mut block {
            hasher.update(piece);
        }
        let of_payload = &piece[to_payload.min(piece.len())..];
        to_payload -= to_payload.min(piece.len());
        if let Some(hasher) = &mut payload {
            hasher.update(of_payload);
        }
        if keep_chunks && chunks.len() <= DECHUNK_BYTES_MAX {
            chunks.extend_from_slice(of_payload);
        }
        let length = piece.len();
        record.consume(length);
    }
    let compare = |name: &str, expected: Option<Digest>, found: Option<Hasher>, kind: Option<DigestKind>| {
        let (Some(expected), Some(found)) = (expected, found) else { return None };
        let found = found.finish();
        let is_same = found == expected
            || kind.is_some_and(|kind| {
                chunks.len() <= DECHUNK_BYTES_MAX && kind.of(&dechunk(&chunks)) == expected
            });
        Some(if is_same { Ok(()) } else { Err(format!("{name} is {expected}, the data's is {found}")) })
    };
    let dechunked = payload_digest.as_ref().filter(|_| keep_chunks).map(Digest::kind);
    for result in [
        compare("WARC-Block-Digest", block_digest, block, None),
        compare("WARC-Payload-Digest", payload_digest, payload, dechunked),
    ]
    .into_iter()
    .flatten()
    {
        report.digests += 1;
        if let Err(message) = result {
            report.problems.push(Problem { offset: head.offset, message });
        }
    }
    Ok(())
}
