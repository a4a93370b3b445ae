//! Reads archive files record by record, in order, and puts together what belongs together.
//!
//! In: a file. Out: [`Archived`] items: an answer with the notes that a crawler left on it, a resource, or a note on a URL that
//! gave no answer. What is no page is counted and passed. Bodies come as they were archived, transfer coding undone; the
//! rest is computing and left to `weave`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use crossbeam_channel::Sender;
use jiff::Timestamp;
use webloom_archive::fields::Fields;
use webloom_archive::http::HttpHead;
use webloom_archive::{Body, ReadError, Reader, Record, RecordHead, RecordKind, read_answer};
use webloom_model::PageUrl;

use super::budget::Budget;
use super::files::SourceFile;
use super::{Progress, Replay};
use crate::archive::note;
use crate::counters::Phase;

/// Bytes of a record of notes.
const NOTES_BYTES_MAX: u64 = 64 << 10;

/// Something to weave, or the end of a file.
pub(crate) struct Archived {
    /// Which of its file, counted without gaps.
    pub(crate) number: u64,
    /// Which file.
    pub(crate) file: usize,
    /// Where reading goes on behind it.
    pub(crate) next: u64,
    /// Nothing at the end of a file.
    pub(crate) item: Option<Box<Item>>,
}

/// What a record holds of a URL.
pub(crate) struct Item {
    pub(crate) file_name: Arc<str>,
    pub(crate) folder: Arc<std::path::Path>,
    pub(crate) head: RecordHead,
    pub(crate) url: PageUrl,
    pub(crate) at: Timestamp,
    pub(crate) content: Content,
    pub(crate) notes: Fields,
}

/// The kinds of records that matter.
pub(crate) enum Content {
    /// An answer, with its body.
    Answer { http: HttpHead, body: Vec<u8>, is_cut: bool },
    /// An answer whose body is in another record.
    Revisit { http: Option<HttpHead> },
    /// A body without an answer around it.
    Resource { body: Vec<u8>, is_cut: bool },
    /// No answer, only notes.
    Told,
}

impl Item {
    /// Bytes of body it holds.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.content {
            Content::Answer { body, .. } | Content::Resource { body, .. } => body.len() as u64,
            Content::Revisit { .. } | Content::Told => 0,
        }
    }

    fn is_note_on(&self, head: &RecordHead) -> bool {
        let about = head.fields.get("WARC-Concurrent-To").or_else(|| head.fields.get("WARC-Refers-To"));
        about.is_some() && about == self.head.id()
    }
}

/// How reading a file ended.
pub(crate) enum Ended {
    /// At its end.
    Whole,
    /// Because somebody asked, or nobody takes items any more.
    Stopped,
}

/// Reads one file after the other.
pub(crate) struct Reading<'a> {
    replay: &'a Replay,
    jobs: &'a Sender<Archived>,
    budget: &'a Budget,
    stop: &'a AtomicBool,
    number: u64,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(
        replay: &'a Replay,
        jobs: &'a Sender<Archived>,
        budget: &'a Budget,
        stop: &'a AtomicBool,
    ) -> Self {
        Self { replay, jobs, budget, stop, number: 0 }
    }

    /// Reads a file from where it was left.
    pub(crate) fn file(&mut self, number: usize, file: &SourceFile) -> Result<Ended, ReadError> {
        self.number = 0;
        let mut reader = Reader::open_at(&file.path, file.begin_at)?;
        let result = self.records(number, file, &mut reader);
        self.tell_problems(file, &mut reader);
        result
    }

    fn records(
        &mut self,
        number: usize,
        file: &SourceFile,
        reader: &mut Reader<Body>,
    ) -> Result<Ended, ReadError> {
        let progress = self.replay.progress.clone();
        let file_name: Arc<str> = Arc::from(file.name.as_str());
        let folder: Arc<std::path::Path> = Arc::from(file.path.parent().unwrap_or(&file.path));
        let body_bytes_max = self.replay.spec.fetch.body_wire_bytes_max;
        // A record waits for the notes that may follow it.
        let mut waiting: Option<Box<Item>> = None;
        let mut position = file.begin_at;
        let mut next = file.begin_at;
        loop {
            let started = Instant::now();
            let mut record = match reader.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => break,
                Err(error) => {
                    self.send(number, next, waiting.take());
                    return Err(error);
                }
            };
            progress.records.fetch_add(1, Relaxed);
            let (offset, is_addressable) = (record.head().offset, record.head().addressable);
            if record.head().kind == RecordKind::Metadata
                && let Some(item) = waiting.as_mut().filter(|item| item.is_note_on(record.head()))
            {
                item.notes = Fields::parse(&record.payload(NOTES_BYTES_MAX)?.bytes);
            } else if let Some(found) = found(&mut record, body_bytes_max, &progress)? {
                let (head, url, content, notes) = found;
                let at = head.timestamp().unwrap_or(Timestamp::UNIX_EPOCH);
                let (file_name, folder) = (file_name.clone(), folder.clone());
                let item = Box::new(Item { file_name, folder, head, url, at, content, notes });
                self.replay.counters.add(Phase::Fetch, 1, started.elapsed());
                progress.answers.fetch_add(1, Relaxed);
                if is_addressable {
                    next = offset;
                }
                let before = waiting.replace(item);
                if !self.send(number, next, before) {
                    return Ok(Ended::Stopped);
                }
            }
            let now_at = reader.position();
            progress.bytes.fetch_add(now_at.saturating_sub(position), Relaxed);
            position = position.max(now_at);
            self.tell_problems(file, reader);
        }
        progress.bytes.fetch_add(file.bytes.saturating_sub(position), Relaxed);
        let went_on = self.send(number, file.bytes, waiting) && self.deliver(number, file.bytes, None);
        Ok(if went_on { Ended::Whole } else { Ended::Stopped })
    }

    /// Hands an item on, if there is one and it is of a page. False when reading should end.
    fn send(&mut self, file: usize, next: u64, item: Option<Box<Item>>) -> bool {
        if self.stop.load(Relaxed) {
            return false;
        }
        let Some(item) = item else { return true };
        if let Some(why) = no_page(&item) {
            self.replay.progress.skip(why);
            return true;
        }
        self.deliver(file, next, Some(item))
    }

    fn deliver(&mut self, file: usize, next: u64, item: Option<Box<Item>>) -> bool {
        let number = self.number;
        self.number += 1;
        self.budget.take(item.as_ref().map_or(0, |item| item.bytes()))
            && self.jobs.send(Archived { number, file, next, item }).is_ok()
    }

    fn tell_problems(&self, file: &SourceFile, reader: &mut Reader<Body>) {
        for problem in reader.take_problems() {
            self.replay.progress.problems.fetch_add(1, Relaxed);
            self.replay.progress.note(format!(
                "{}: offset {}: {}",
                file.path.display(),
                problem.offset,
                problem.message
            ));
        }
    }
}

/// Requests that were made beside the pages.
fn no_page(item: &Item) -> Option<&'static str> {
    match item.notes.get(note::PURPOSE).as_deref() {
        Some("robots") => return Some("robots.txt"),
        Some("context") => return Some("contexts"),
        Some("source") => return Some("sources"),
        _ => {}
    }
    // Crawlers that leave no notes fetch robots.txt all the same.
    (item.notes.is_empty() && item.url.path_and_query() == "/robots.txt").then_some("robots.txt")
}

type Found = (RecordHead, PageUrl, Content, Fields);

/// What a record holds, unless it is of no use here.
fn found<R: std::io::Read + std::io::Seek>(
    record: &mut Record<'_, R>,
    body_bytes_max: u64,
    progress: &Progress,
) -> Result<Option<Found>, ReadError> {
    let kind = record.head().kind.clone();
    let why_not = match kind {
        RecordKind::Response | RecordKind::Revisit | RecordKind::Resource | RecordKind::Metadata => None,
        RecordKind::Warcinfo | RecordKind::ArcHeader | RecordKind::Request => return Ok(None),
        RecordKind::Conversion => Some("conversions (WET)"),
        _ => Some("of other kinds"),
    };
    if let Some(why_not) = why_not {
        progress.skip(why_not);
        return Ok(None);
    }
    let url = record.head().target_uri().and_then(|uri| PageUrl::parse(&uri).ok());
    let Some(url) = url else {
        progress.skip("not of the web");
        return Ok(None);
    };
    let none = Fields::new();
    Ok(match kind {
        RecordKind::Response => match read_answer(record, body_bytes_max)? {
            Some(answer) => {
                let content = Content::Answer { http: answer.http, body: answer.body, is_cut: answer.is_cut };
                Some((answer.head, url, content, none))
            }
            None => {
                progress.skip("without an HTTP answer");
                None
            }
        },
        RecordKind::Revisit => {
            let (head, http) = record.heads()?;
            Some((head, url, Content::Revisit { http }, none))
        }
        RecordKind::Resource => {
            let head = record.head().clone();
            let payload = record.payload(body_bytes_max)?;
            let content = Content::Resource { body: payload.bytes, is_cut: payload.is_cut };
            Some((head, url, content, none))
        }
        _ => {
            let is_notes = record.head().content_type().as_deref() == Some("application/warc-fields");
            let head = record.head().clone();
            let notes = Fields::parse(&record.payload(NOTES_BYTES_MAX)?.bytes);
            // Only our own notes say what came of a URL; those of others are about a record (or WAT).
            let is_told = is_notes && notes.get(note::OUTCOME).is_some();
            if !is_told {
                progress.skip("metadata");
            }
            is_told.then_some((head, url, Content::Told, notes))
        }
    })
}
