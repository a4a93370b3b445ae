//! CDXJ: one line for each capture, sorted by SURT key and date, with where it is in which file.
//!
//! In: records as they are read, or written. Out: lines as `cdxj-indexer` prints them, byte for byte, so that replay
//! tools can use ours and we theirs. Looking something up needs no memory: a sorted file is searched by halves. Start
//! at [`index_file`] and [`find`].

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use crate::digest::{DigestKind, Hasher};
use crate::read::{Problem, ReadError, Reader, Record};
use crate::record::{RecordKind, cdx_date, parse_date};
use crate::surt::surt;

/// Longest line that is read; those beyond are passed over.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// One line of an index: a capture, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CdxEntry {
    /// SURT key.
    pub key: String,
    /// Fourteen digits.
    pub timestamp: String,
    /// The URL.
    pub url: String,
    /// Media type without parameters; `warc/revisit` when the payload is elsewhere.
    pub mime: Option<String>,
    /// HTTP status.
    pub status: Option<String>,
    /// Digest of the payload.
    pub digest: Option<String>,
    /// Bytes in the file.
    pub length: u64,
    /// Where in the file.
    pub offset: u64,
    /// Name of the file.
    pub filename: String,
}

impl CdxEntry {
    /// The line, without its end.
    pub fn line(&self) -> String {
        let mut line = format!("{} {} {{\"url\": ", self.key, self.timestamp);
        push_json_text(&mut line, &self.url);
        for (name, value) in [("mime", &self.mime), ("status", &self.status), ("digest", &self.digest)] {
            if let Some(value) = value {
                line.push_str(&format!(", \"{name}\": "));
                push_json_text(&mut line, value);
            }
        }
        line.push_str(&format!(
            ", \"length\": \"{}\", \"offset\": \"{}\", \"filename\": ",
            self.length, self.offset
        ));
        push_json_text(&mut line, &self.filename);
        line.push('}');
        line
    }

    /// Reads a line of this kind. Nothing for another.
    pub fn parse(line: &str) -> Option<Self> {
        let (key, rest) = line.split_once(' ')?;
        let (timestamp, json) = rest.split_once(' ')?;
        let json: serde_json::Value = serde_json::from_str(json).ok()?;
        let text = |name: &str| json.get(name)?.as_str().map(str::to_owned);
        let number = |name: &str| {
            let value = json.get(name)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        };
        Some(Self {
            key: key.to_owned(),
            timestamp: timestamp.to_owned(),
            url: text("url")?,
            mime: text("mime"),
            status: text("status"),
            digest: text("digest"),
            length: number("length")?,
            offset: number("offset")?,
            filename: text("filename")?,
        })
    }
}

/// Appends a JSON string in ASCII, the way Python prints it.
fn push_json_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='\u{7f}' => out.push(character),
            other => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

/// The media type of a `Content-Type`.
pub(crate) fn media_type(content_type: &str) -> String {
    content_type.split(|c: char| c == ';' || c.is_whitespace()).next().unwrap_or_default().to_owned()
}

/// Indexes a file. Gives the entries in the file's order, and what was wrong with it.
pub fn index_file(path: &Path, filename: &str) -> Result<(Vec<CdxEntry>, Vec<Problem>), ReadError> {
    let mut entries = Vec::new();
    let indexed = index_each(path, filename, |entry| entries.push(entry))?;
    Ok((entries, indexed.problems))
}

/// What was noticed about a file that was indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// What was wrong with it.
    pub problems: Vec<Problem>,
    /// Every record has a compressed member of its own, so that the offsets lead to them.
    pub members_fit: bool,
}

/// The same, entry by entry.
pub fn index_each(path: &Path, filename: &str, mut each: impl FnMut(CdxEntry)) -> Result<Indexed, ReadError> {
    let mut reader = Reader::open(path)?;
    while let Some(mut record) = reader.next_record()? {
        let Some(mut entry) = entry_of(&mut record)? else { continue };
        filename.clone_into(&mut entry.filename);
        entry.offset = record.head().offset;
        entry.length = record.finish()?.saturating_sub(entry.offset);
        each(entry);
    }
    Ok(Indexed { problems: reader.take_problems(), members_fit: reader.members_fit() })
}

/// The entry of a record, as far as it can be told before the record's end. Nothing for records that are not indexed.
pub fn entry_of<R: Read + Seek>(record: &mut Record<'_, R>) -> Result<Option<CdxEntry>, ReadError> {
    let (head, http) = record.heads()?;
    let is_fields = head.content_type().is_some_and(|kind| kind == "application/warc-fields");
    let content_type = match &head.kind {
        RecordKind::Revisit => Some("warc/revisit".to_owned()),
        RecordKind::Response => http.as_ref().and_then(|http| Some(http.get("content-type")?.into_owned())),
        RecordKind::Resource | RecordKind::Metadata if !is_fields => {
            head.content_type().map(std::borrow::Cow::into_owned)
        }
        _ => return Ok(None),
    };
    let Some(url) = head.target_uri() else { return Ok(None) };
    let status = http
        .as_ref()
        .filter(|_| matches!(head.kind, RecordKind::Response | RecordKind::Revisit))
        .and_then(|http| http.start_line.split_ascii_whitespace().nth(1).map(str::to_owned));
    let digest = match head.payload_digest() {
        Some(digest) => Some(digest.into_owned()),
        None if head.kind == RecordKind::Revisit => None,
        None => {
            let mut hasher = Hasher::new(DigestKind::Sha1);
            loop {
                let piece = record.piece()?;
                if piece.is_empty() {
                    break;
                }
                hasher.update(piece);
                let length = piece.len();
                record.consume(length);
            }
            Some(hasher.finish().to_string())
        }
    };
    Ok(Some(CdxEntry {
        key: surt(&url),
        timestamp: head.date().and_then(|date| parse_date(&date)).map(cdx_date).unwrap_or_default(),
        url: url.into_owned(),
        mime: content_type.map(|content_type| media_type(&content_type)),
        status,
        digest,
        length: 0,
        offset: 0,
        filename: String::new(),
    }))
}

/// All entries of a key in a sorted file, oldest first.
pub fn find(path: &Path, key: &str) -> io::Result<Vec<CdxEntry>> {
    let mut file = BufReader::new(File::open(path)?);
    let prefix = format!("{key} ");
    let start = lower_bound(&mut file, prefix.as_bytes())?;
    file.seek(SeekFrom::Start(start))?;
    let mut entries = Vec::new();
    let mut line = Vec::new();
    while read_line(&mut file, &mut line)? {
        if !line.starts_with(prefix.as_bytes()) {
            break;
        }
        entries.extend(CdxEntry::parse(&String::from_utf8_lossy(&line)));
    }
    Ok(entries)
}

/// All entries of a key in a file that is not sorted, in its order.
pub fn find_unsorted(path: &Path, key: &str) -> io::Result<Vec<CdxEntry>> {
    let mut file = BufReader::new(File::open(path)?);
    let prefix = format!("{key} ");
    let mut entries = Vec::new();
    let mut line = Vec::new();
    while read_line(&mut file, &mut line)? {
        if line.starts_with(prefix.as_bytes()) {
            entries.extend(CdxEntry::parse(&String::from_utf8_lossy(&line)));
        }
    }
    Ok(entries)
}

/// The start of the first line that is not less than `wanted`.
fn lower_bound(file: &mut BufReader<File>, wanted: &[u8]) -> io::Result<u64> {
    let (mut low, mut high) = (0, file.seek(SeekFrom::End(0))?);
    let mut line = Vec::new();
    // Every line that begins before `low` is less; no line that begins at or after `high` is.
    while low < high {
        let middle = low + (high - low) / 2;
        let start = line_start_after(file, middle, low)?;
        if start >= high {
            high = middle;
            continue;
        }
        file.seek(SeekFrom::Start(start))?;
        read_line(file, &mut line)?;
        if line.as_slice() < wanted {
            low = file.stream_position()?;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The first start of a line at or after `place`, which is `low` when that is the place.
fn line_start_after(file: &mut BufReader<File>, place: u64, low: u64) -> io::Result<u64> {
    if place == low {
        return Ok(low);
    }
    file.seek(SeekFrom::Start(place - 1))?;
    file.skip_until(b'\n')?;
    file.stream_position()
}

/// Reads one line without its end; false at the end of the file. What is beyond the cap of a line is passed over.
fn read_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let count = file.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', line)?;
    if count as u64 == LINE_BYTES_MAX && !line.ends_with(b"\n") {
        file.skip_until(b'\n')?;
    }
    if line.ends_with(b"\n") {
        line.pop();
    }
    Ok(count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(url: &str, timestamp: &str) -> CdxEntry {
        CdxEntry {
            key: surt(url),
            timestamp: timestamp.to_owned(),
            url: url.to_owned(),
            mime: Some("text/html".to_owned()),
            status: Some("200".to_owned()),
            digest: None,
            length: 10,
            offset: 20,
            filename: "a.warc.gz".to_owned(),
        }
    }

    #[test]
    fn lines_go_out_and_come_back() {
        let entry = entry("http://example.org/\u{e9}\"\u{1f600}", "20200101000000");
        let line = entry.line();
        assert_eq!(
            line,
            "org,example)/%c3%a9\"%f0%9f%98%80 20200101000000 {\"url\": \"http://example.org/\\u00e9\\\"\\ud83d\\ude00\", \
             \"mime\": \"text/html\", \"status\": \"200\", \"length\": \"10\", \"offset\": \"20\", \"filename\": \"a.warc.gz\"}"
        );
        assert_eq!(CdxEntry::parse(&line), Some(entry));
    }

    #[test]
    fn every_key_of_a_sorted_file_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.cdxj");
        let mut lines: Vec<String> = (0..200)
            .flat_map(|page| (0..page % 4).map(move |time| (page, time)))
            .map(|(page, time)| {
                entry(&format!("http://example.org/{page}"), &format!("2020010100000{time}")).line()
            })
            .collect();
        lines.sort_unstable();
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        for page in 0..200 {
            let key = surt(&format!("http://example.org/{page}"));
            let found = find(&path, &key).unwrap();
            assert_eq!(found.len(), page % 4, "{key}");
            assert!(found.iter().all(|entry| entry.key == key));
            assert_eq!(find_unsorted(&path, &key).unwrap(), found);
        }
        assert_eq!(find(&path, "zz").unwrap(), []);
        assert_eq!(find(&path, "").unwrap(), []);
    }
}
