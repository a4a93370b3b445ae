//! WARC and ARC files, whole and broken: the records in them, what they say, and the digests of their payloads.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;
use webloom_archive::digest::DigestKind;
use webloom_archive::http::dechunk;
use webloom_archive::read::{Problem, ReadError, Reader};
use webloom_archive::record::RecordHead;
use webloom_fetch::decode_capped;

use crate::Outcome;

/// Longest payload that is decoded.
const PAYLOAD_BYTES_MAX: u64 = 64 << 20;

/// Runs the folder `warc`: one case for each file, and one for each record in the whole ones.
pub fn run(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = folder.join("warc");
    let cases = std::fs::read_to_string(folder.join("cases.jsonl")).context("warc/cases.jsonl")?;
    let mut outcomes = Vec::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line)?;
        let name = case["file"].as_str().unwrap_or_default();
        let read = read(&folder.join(name));
        let is_broken = case.get("warcio_error").is_some();
        outcomes.push(Outcome {
            group: if is_broken { "warc broken files" } else { "warc files" }.to_owned(),
            id: name.to_owned(),
            result: if is_broken { check_broken(&case, &read) } else { check_file(&case, &read) },
        });
        let Ok(read) = read else { continue };
        let expected = case["records"].as_array().into_iter().flatten();
        for (number, (expected, found)) in expected.zip(&read.records).enumerate() {
            outcomes.push(Outcome {
                group: "warc records".to_owned(),
                id: format!("{name} {number}"),
                // What another reader lost of a broken record is not lost here.
                result: check_record(expected, found, is_broken),
            });
        }
    }
    Ok(outcomes)
}

struct ReadFile {
    records: Vec<Value>,
    problems: Vec<Problem>,
}

fn read(path: &Path) -> Result<ReadFile, ReadError> {
    let mut reader = Reader::open(path)?;
    let mut records = Vec::new();
    while let Some(mut record) = reader.next_record()? {
        let (head, http) = record.heads()?;
        let payload = record.payload(PAYLOAD_BYTES_MAX)?;
        let mut bytes = payload.bytes;
        if let Some(http) = &http {
            if http.is_chunked() {
                bytes = dechunk(&bytes).into_owned();
            }
            if let Some(encoding) = http.content_encoding() {
                bytes = decode_capped(&encoding, &bytes, PAYLOAD_BYTES_MAX).bytes;
            }
        }
        let status =
            http.as_ref().and_then(webloom_archive::http::HttpHead::status).map(|status| status.to_string());
        let content_type = http.as_ref().and_then(|http| Some(http.get("content-type")?.into_owned()));
        records.push(describe(&head, status, content_type, &bytes));
    }
    Ok(ReadFile { records, problems: reader.take_problems() })
}

fn describe(
    head: &RecordHead,
    status: Option<String>,
    content_type: Option<String>,
    payload: &[u8],
) -> Value {
    serde_json::json!({
        "type": head.kind.as_str(),
        "uri": head.target_uri(),
        "id": head.id(),
        "date": head.date(),
        "format": head.format.as_str(),
        "http_status": status,
        "http_content_type": content_type,
        "payload_digest": head.payload_digest(),
        "decoded_payload_len": payload.len(),
        "decoded_payload_sha1": DigestKind::Sha1.of(payload).hex(),
    })
}

fn check_file(case: &Value, read: &Result<ReadFile, ReadError>) -> Result<(), String> {
    let read = read.as_ref().map_err(ToString::to_string)?;
    let mut by_type: BTreeMap<&str, u64> = BTreeMap::new();
    for record in &read.records {
        *by_type.entry(record["type"].as_str().unwrap_or_default()).or_default() += 1;
    }
    let by_type = serde_json::json!(by_type);
    if by_type != case["by_type"] {
        return Err(format!("expected {}, got {by_type}", case["by_type"]));
    }
    Ok(())
}

/// A broken file must be told to be one, and what comes before the damage must be there.
fn check_broken(case: &Value, read: &Result<ReadFile, ReadError>) -> Result<(), String> {
    let Ok(read) = read else { return Ok(()) };
    if read.problems.is_empty() {
        return Err("nothing is said to be wrong".to_owned());
    }
    let expected = case["record_count"].as_u64().unwrap_or_default();
    if (read.records.len() as u64) < expected {
        return Err(format!("expected at least {expected} records, got {}", read.records.len()));
    }
    Ok(())
}

fn check_record(expected: &Value, found: &Value, is_broken: bool) -> Result<(), String> {
    for (name, value) in expected.as_object().into_iter().flatten() {
        if is_broken && name.starts_with("decoded_payload") {
            continue;
        }
        // A status line without a status has an empty one there and none here.
        let is_same = found[name] == *value || value == "" && found[name].is_null();
        if !is_same {
            return Err(format!("{name}: expected {value}, got {}", found[name]));
        }
    }
    Ok(())
}
