//! The log of URLs: each one once, in the order they were first heard of, with how they were found.
//!
//! In: candidates. Out: a position for each, by which it can be read again. Positions grow and never change; they are the ids of
//! URLs. The log is a row of files of [`SEGMENT_BYTES`]; a record is its length, its checksum, and the candidate in postcard.
//! Appending fills a buffer, [`UrlLog::flush`] puts it on disk. What was flushed but not yet vouched for by the store's
//! counters is cut off at opening. Reading takes no lock.

mod near;

use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use near::Near;
use near::{View, Window};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use webloom_model::{FrontierError, LinkCandidate, PageUrl};

use crate::seen::{read_at, read_exact_at, sync_directory};

/// Size of a file of the log. No record crosses from one to the next.
const SEGMENT_BYTES: u64 = 1 << 30;
/// The first bytes of every file: no record begins at position 0.
const MAGIC: [u8; 16] = *b"webloom urls v1\n";
const HEADER_BYTES: usize = 8;
/// Longest record: a URL with as many redirects and as long an anchor as the limits elsewhere let through.
const RECORD_BYTES_MAX: usize = 1 << 20;
/// A record names the page it was found on, unless one that lies no more bytes before it does.
const BESIDE_BYTES: usize = 512;
/// Read from a record on, in the hope that it is not longer.
const READ_BYTES: usize = 256;

/// How a URL was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Source<'a> {
    Nowhere,
    /// On the page whose own record is there. Not written any more: it has to be read from far away.
    At(u64),
    Text(&'a str),
    /// On the page that is named by the record so many bytes before this one.
    Beside(u64),
}

/// A record as it is written.
#[derive(Debug, Serialize, Deserialize)]
struct Record<'a> {
    url: &'a str,
    depth: u32,
    found_at_ms: u64,
    #[serde(borrow)]
    found_on: Source<'a>,
    anchor: Option<&'a str>,
    redirects: Vec<&'a str>,
}

/// A record as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Logged {
    pub candidate: LinkCandidate,
    pub found_at_ms: u64,
}

/// The files, shared with whoever only reads.
#[derive(Debug, Clone)]
pub(crate) struct LogReader {
    segments: Arc<RwLock<Vec<Arc<File>>>>,
}

/// The log, for the one who writes.
#[derive(Debug)]
pub(crate) struct UrlLog {
    directory: PathBuf,
    reader: LogReader,
    /// Where the buffer will begin on disk.
    flushed: u64,
    buffer: Vec<u8>,
    /// Where the next record would begin if it fits.
    end: u64,
    /// The page that was named last, and where.
    named: Option<(PageUrl, u64)>,
}

impl UrlLog {
    /// Opens the log of a directory and cuts it at `end`, the last position that was vouched for.
    pub fn open(directory: &Path, end: u64) -> Result<Self, FrontierError> {
        let open = || -> io::Result<Self> {
            std::fs::create_dir_all(directory)?;
            let mut segments = Vec::new();
            let last = end.saturating_sub(1) / SEGMENT_BYTES;
            for number in 0..=last {
                let path = segment_path(directory, number);
                let file =
                    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
                let wanted = if number == last { end - number * SEGMENT_BYTES } else { 0 };
                if file.metadata()?.len() < wanted {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        format!("file {number} is shorter than the {wanted} bytes that were written"),
                    ));
                }
                if number == last {
                    file.set_len(wanted)?;
                }
                segments.push(Arc::new(file));
            }
            let mut number = last + 1;
            while let Ok(()) = std::fs::remove_file(segment_path(directory, number)) {
                number += 1;
            }
            let reader = LogReader { segments: Arc::new(RwLock::new(segments)) };
            let directory = directory.to_owned();
            let mut log = Self { directory, reader, flushed: end, buffer: Vec::new(), end, named: None };
            if end == 0 {
                log.buffer.extend_from_slice(&MAGIC);
                log.end = MAGIC.len() as u64;
                log.flush_to_segment()?.sync_data()?;
            }
            Ok(log)
        };
        open().map_err(|error| log_error(&error))
    }

    /// For reading what was flushed.
    pub fn reader(&self) -> LogReader {
        self.reader.clone()
    }

    /// Where the next record will not begin before.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Adds a record.
    pub fn append(&mut self, candidate: &LinkCandidate, found_at_ms: u64) -> Result<u64, FrontierError> {
        let beside = candidate.found_on.as_ref().and_then(|page| self.beside(page));
        let start = self.buffer.len();
        let mut length = self.encode(candidate, beside, found_at_ms)?;
        if self.end % SEGMENT_BYTES + length as u64 > SEGMENT_BYTES {
            // A record that would cross into the next file begins there, and so must say itself where it was found.
            self.buffer.truncate(start);
            self.flush_to_segment().map_err(|error| log_error(&error))?;
            self.flushed = (self.end / SEGMENT_BYTES + 1) * SEGMENT_BYTES;
            self.buffer.extend_from_slice(&MAGIC);
            self.end = self.flushed + MAGIC.len() as u64;
            self.named = None;
            length = self.encode(candidate, None, found_at_ms)?;
        }
        let position = self.end;
        self.end += length as u64;
        if beside.is_none() || self.named.is_none() {
            self.named = candidate.found_on.clone().map(|page| (page, position));
        }
        Ok(position)
    }

    /// How many bytes before the next record one lies that names this page, if that is near.
    fn beside(&self, page: &PageUrl) -> Option<u64> {
        let (named, position) = self.named.as_ref()?;
        let bytes = self.end - position;
        (bytes <= BESIDE_BYTES as u64 && named == page).then_some(bytes)
    }

    /// Puts a record into the buffer, and tells its length.
    fn encode(
        &mut self,
        candidate: &LinkCandidate,
        beside: Option<u64>,
        found_at_ms: u64,
    ) -> Result<usize, FrontierError> {
        let record = Record {
            url: candidate.url.as_str(),
            depth: candidate.depth,
            found_at_ms,
            found_on: match (&candidate.found_on, beside) {
                (None, _) => Source::Nowhere,
                (Some(_), Some(bytes)) => Source::Beside(bytes),
                (Some(page), None) => Source::Text(page.as_str()),
            },
            anchor: candidate.anchor.as_deref(),
            redirects: candidate.redirects.iter().map(PageUrl::as_str).collect(),
        };
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; HEADER_BYTES]);
        let buffer = std::mem::take(&mut self.buffer);
        self.buffer =
            postcard::to_extend(&record, buffer).map_err(|error| FrontierError::Store(error.to_string()))?;
        let length = self.buffer.len() - start;
        if length > RECORD_BYTES_MAX {
            self.buffer.truncate(start);
            return Err(FrontierError::Store(format!("<{}> comes with {length} bytes", candidate.url)));
        }
        let payload = &self.buffer[start + HEADER_BYTES..];
        let header = [(payload.len() as u32).to_le_bytes(), crc32fast::hash(payload).to_le_bytes()].concat();
        self.buffer[start..start + HEADER_BYTES].copy_from_slice(&header);
        Ok(length)
    }

    /// Puts all that was appended on disk, for good when `sync`.
    pub fn flush(&mut self, sync: bool) -> Result<(), FrontierError> {
        let flush = |log: &mut Self| -> io::Result<()> {
            let segment = log.flush_to_segment()?;
            if sync { segment.sync_data() } else { Ok(()) }
        };
        flush(self).map_err(|error| log_error(&error))
    }

    fn flush_to_segment(&mut self) -> io::Result<Arc<File>> {
        let number = self.flushed.saturating_sub(u64::from(self.buffer.is_empty())) / SEGMENT_BYTES;
        let known = self.reader.segments.read().get(number as usize).cloned();
        let segment = match known {
            Some(segment) => segment,
            None => {
                // What came before must not be cut off by a crash once this file counts.
                if let Some(before) = self.reader.segments.read().last() {
                    before.sync_data()?;
                }
                let path = segment_path(&self.directory, number);
                let file =
                    OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
                sync_directory(&self.directory)?;
                let file = Arc::new(file);
                self.reader.segments.write().push(file.clone());
                file
            }
        };
        let mut file = &*segment;
        file.seek(SeekFrom::Start(self.flushed % SEGMENT_BYTES))?;
        file.write_all(&self.buffer)?;
        self.flushed += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(segment)
    }
}

impl LogReader {
    /// The record at a position.
    pub fn read(&self, position: u64) -> Result<Logged, FrontierError> {
        let mut window = Window::default();
        self.look(position, READ_BYTES, &mut window)?;
        self.logged(position, &mut window)
    }

    /// The same for `viewer`, who reads many that lie near each other. `alone`: this one does not, so what is at hand stays.
    pub fn read_near(
        &self,
        position: u64,
        viewer: u32,
        alone: bool,
        near: &mut Near,
    ) -> Result<Logged, FrontierError> {
        let window = near.window(viewer);
        if window.view.record(position).is_some() {
            return self.logged(position, window);
        }
        let (window, ahead) =
            if alone { (&mut near.alone, READ_BYTES) } else { (near.window(viewer), Window::AHEAD_BYTES) };
        self.look(position, ahead, window)?;
        self.logged(position, window)
    }

    /// What the record at a position says, with the page it was found on; both are looked for in the window first.
    fn logged(&self, position: u64, window: &mut Window) -> Result<Logged, FrontierError> {
        let Window { view, page } = window;
        let mut room = Vec::new();
        let record = decode(self.record(position, view, &mut room)?, position)?;
        let url = |text: &str| parse(text, position);
        let found_on = match record.found_on {
            Source::Nowhere => None,
            Source::Text(text) => {
                let found_on = url(text)?;
                *page = Some((position, found_on.clone()));
                Some(found_on)
            }
            Source::At(at) => {
                let mut room = Vec::new();
                Some(parse(decode(self.record(at, view, &mut room)?, at)?.url, at)?)
            }
            Source::Beside(bytes) => {
                let at = position
                    .checked_sub(bytes)
                    .ok_or_else(|| damaged(position, format!("{bytes} bytes before it")))?;
                Some(match page {
                    Some((named_at, named)) if *named_at == at => named.clone(),
                    _ => {
                        let mut room = Vec::new();
                        let Source::Text(text) = decode(self.record(at, view, &mut room)?, at)?.found_on
                        else {
                            return Err(damaged(at, "it does not say where it was found".to_owned()));
                        };
                        let found_on = parse(text, at)?;
                        *page = Some((at, found_on.clone()));
                        found_on
                    }
                })
            }
        };
        Ok(Logged {
            candidate: LinkCandidate {
                url: url(record.url)?,
                depth: record.depth,
                found_on,
                anchor: record.anchor.map(str::to_owned),
                redirects: record.redirects.iter().map(|text| url(text)).collect::<Result<_, _>>()?,
            },
            found_at_ms: record.found_at_ms,
        })
    }

    /// Goes through the URLs from a position to the end, and tells each with its position and its depth.
    pub fn scan(
        &self,
        from: u64,
        end: u64,
        mut tell: impl FnMut(&str, u64, u32) -> Result<(), FrontierError>,
    ) -> Result<(), FrontierError> {
        const CHUNK: usize = 4 << 20;
        let mut at = from.max(MAGIC.len() as u64);
        let mut chunk = Vec::new();
        while at < end {
            let segment_end = (at / SEGMENT_BYTES + 1) * SEGMENT_BYTES;
            let next_segment = segment_end + MAGIC.len() as u64;
            let segment = self.segment(at)?;
            let length = segment.metadata().map_err(|error| log_error(&error))?.len();
            let limit = (segment_end - SEGMENT_BYTES + length).min(end);
            if at >= limit {
                at = next_segment;
                continue;
            }
            let size = usize::try_from(limit - at).unwrap_or(CHUNK).min(CHUNK);
            chunk.resize(size, 0);
            read_exact_at(&segment, &mut chunk, at % SEGMENT_BYTES).map_err(|error| log_error(&error))?;
            let mut offset = 0;
            while let Some(header) = chunk.get(offset..offset + HEADER_BYTES) {
                let payload = payload_bytes(at + offset as u64, header)?;
                let Some(record) = chunk.get(offset..offset + HEADER_BYTES + payload) else { break };
                let position = at + offset as u64;
                let Record { url, depth, .. } = decode(checked(position, record)?, position)?;
                tell(url, position, depth)?;
                offset += record.len();
            }
            if offset == 0 {
                // Longer than the chunk, or the end of what was written.
                let mut room = Vec::new();
                let payload = self.payload(at, &mut room)?;
                let Record { url, depth, .. } = decode(payload, at)?;
                tell(url, at, depth)?;
                offset = HEADER_BYTES + payload.len();
            }
            at += offset as u64;
        }
        Ok(())
    }

    /// Reads what lies around a position: so many bytes from there on, and as much before it as it may refer to.
    fn look(&self, position: u64, ahead: usize, window: &mut Window) -> Result<(), FrontierError> {
        let segment = self.segment(position)?;
        let offset = position % SEGMENT_BYTES;
        let before = offset.min(BESIDE_BYTES as u64);
        window.view.fill(position - before, before as usize + ahead, |bytes| {
            read_at(&segment, bytes, offset - before).map_err(|error| log_error(&error))
        })
    }

    fn segment(&self, position: u64) -> Result<Arc<File>, FrontierError> {
        let number = position / SEGMENT_BYTES;
        let segments = self.segments.read();
        usize::try_from(number)
            .ok()
            .and_then(|number| segments.get(number).cloned())
            .ok_or_else(|| damaged(position, "behind the end of the log".to_owned()))
    }

    /// The payload of the record at a position, from what is in view if it is there.
    fn record<'r>(
        &self,
        position: u64,
        view: &'r View,
        room: &'r mut Vec<u8>,
    ) -> Result<&'r [u8], FrontierError> {
        match view.record(position) {
            Some(payload) => Ok(payload),
            // Longer than the view, elsewhere, or damaged.
            None => self.payload(position, room),
        }
    }

    /// The payload of the record at a position, read by itself.
    fn payload<'r>(&self, position: u64, room: &'r mut Vec<u8>) -> Result<&'r [u8], FrontierError> {
        let segment = self.segment(position)?;
        let offset = position % SEGMENT_BYTES;
        let read = |room: &mut Vec<u8>, length: usize| {
            room.resize(length, 0);
            read_exact_at(&segment, room, offset).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => damaged(position, "behind the end of the log".to_owned()),
                _ => log_error(&error),
            })
        };
        read(room, HEADER_BYTES)?;
        let payload = payload_bytes(position, room)?;
        read(room, HEADER_BYTES + payload)?;
        checked(position, room)
    }
}

fn payload_bytes(position: u64, header: &[u8]) -> Result<usize, FrontierError> {
    let length = u32::from_le_bytes(std::array::from_fn(|byte| header[byte])) as usize;
    if length > RECORD_BYTES_MAX {
        return Err(damaged(position, format!("a length of {length}")));
    }
    Ok(length)
}

/// The payload of a record, if it is what was written.
fn checked(position: u64, record: &[u8]) -> Result<&[u8], FrontierError> {
    payload_of(record).ok_or_else(|| damaged(position, "its checksum is wrong".to_owned()))
}

fn payload_of(record: &[u8]) -> Option<&[u8]> {
    let (header, payload) = record.split_at_checked(HEADER_BYTES)?;
    let sum = u32::from_le_bytes(header.get(4..)?.try_into().ok()?);
    (sum == crc32fast::hash(payload)).then_some(payload)
}

fn decode(payload: &[u8], position: u64) -> Result<Record<'_>, FrontierError> {
    postcard::from_bytes(payload).map_err(|error| damaged(position, error.to_string()))
}

fn parse(text: &str, position: u64) -> Result<PageUrl, FrontierError> {
    PageUrl::parse_again(text).map_err(|problem| damaged(position, problem.to_string()))
}

fn segment_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("urls-{number:06}.log"))
}

fn damaged(position: u64, reason: String) -> FrontierError {
    FrontierError::Damaged { key: format!("log {position}"), reason }
}

fn log_error(error: &io::Error) -> FrontierError {
    FrontierError::Store(format!("log of URLs: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(number: usize, found_on: Option<&str>) -> LinkCandidate {
        LinkCandidate {
            url: PageUrl::parse(&format!("http://a.example/{number}/{}", "x".repeat(number % 700))).unwrap(),
            depth: number as u32,
            found_on: found_on.map(|text| PageUrl::parse(text).unwrap()),
            anchor: number.is_multiple_of(3).then(|| format!("link – {number}")),
            redirects: Vec::new(),
        }
    }

    /// Where a link was found: some pages in a row, each with a few links; in between links from nowhere.
    fn page_of(number: usize) -> Option<String> {
        (!number.is_multiple_of(11)).then(|| format!("http://b.example/{}", number / 17 % 3))
    }

    #[test]
    fn what_was_appended_is_read_again_and_what_was_not_vouched_for_is_cut() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = UrlLog::open(directory.path(), 0).unwrap();
        let mut written = Vec::new();
        for number in 0..200 {
            let candidate = candidate(number, page_of(number).as_deref());
            let position = log.append(&candidate, 7).unwrap();
            written.push((position, number));
        }
        log.flush(true).unwrap();
        let end = log.end();
        for number in 200..210 {
            log.append(&candidate(number, Some("http://b.example/")), 7).unwrap();
        }
        log.flush(false).unwrap();
        drop(log);
        let mut log = UrlLog::open(directory.path(), end).unwrap();
        assert_eq!(log.end(), end);
        // The page that was named last was cut off with the record that named it.
        let position = log.append(&candidate(200, Some("http://b.example/")), 7).unwrap();
        log.flush(true).unwrap();
        let read = log.reader().read(position).unwrap();
        assert_eq!(read.candidate, candidate(200, Some("http://b.example/")));
        let reader = log.reader();
        let mut near = Near::default();
        for &(position, number) in &written {
            let read = reader.read(position).unwrap();
            assert_eq!(
                reader.read_near(position, (number % 3) as u32, number % 7 == 0, &mut near).unwrap(),
                read
            );
            assert_eq!(read.candidate, candidate(number, page_of(number).as_deref()));
        }
        let mut scanned = Vec::new();
        reader
            .scan(0, end, |_, position, _| {
                scanned.push(position);
                Ok(())
            })
            .unwrap();
        assert_eq!(scanned, written.iter().map(|(position, _)| *position).collect::<Vec<_>>());
        let mut later = Vec::new();
        reader
            .scan(written[150].0, end, |_, position, _| {
                later.push(position);
                Ok(())
            })
            .unwrap();
        assert_eq!(later.len(), 50);
    }

    #[test]
    fn what_was_written_since_is_found_through_an_old_window() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = UrlLog::open(directory.path(), 0).unwrap();
        let reader = log.reader();
        let mut near = Near::default();
        let mut written = Vec::new();
        for number in 0..300 {
            written.push(log.append(&candidate(number, page_of(number).as_deref()), 7).unwrap());
            log.flush(false).unwrap();
            // Each read leaves a window that ends with the log, or lies far before its end.
            for at in [number / 2, number] {
                let read = reader.read_near(written[at], 5, at % 7 == 0, &mut near).unwrap();
                assert_eq!(read.candidate, candidate(at, page_of(at).as_deref()));
            }
        }
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic() {
        let directory = tempfile::tempdir().unwrap();
        let mut log = UrlLog::open(directory.path(), 0).unwrap();
        let position = log.append(&candidate(3, None), 7).unwrap();
        log.flush(true).unwrap();
        for at in [0, 1, position + 1, position + 8, log.end() - 1, log.end(), SEGMENT_BYTES, u64::MAX] {
            assert!(log.reader().read(at).is_err(), "{at}");
            assert!(log.reader().read_near(at, 0, false, &mut Near::default()).is_err(), "{at}");
        }
        assert!(UrlLog::open(directory.path(), log.end() + 1000).is_err());
    }
}
