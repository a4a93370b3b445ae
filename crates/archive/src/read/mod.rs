//! Reads WARC and ARC files, whole or damaged, in bounded memory.
//!
//! In: a file, plain, in gzip members or in zstd frames. Out: one [`Record`] after the other, its head parsed, its
//! block to be read in pieces. What is wrong with the file does not end the reading: the reader goes on at the next
//! record it can find, and [`Reader::take_problems`] says what it passed over. What the bytes of a page mean is left to
//! the phases. Start at [`Reader::next_record`].

mod arc;
mod source;

use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use memchr::memmem;

pub use self::source::Packing;
pub(crate) use self::source::{DICTIONARY_BYTES_MAX, DICTIONARY_FRAME, dictionary_by, unpack_dictionary};
use self::source::{Damage, More, Source};
use crate::elsewhere::Body;
use crate::fields::{head_length, text};
use crate::http::HttpHead;
use crate::record::{Format, RecordHead, RecordKind};

/// Longest head of a record.
pub const HEAD_BYTES_MAX: usize = 1 << 20;
/// Longest HTTP head inside a record.
pub const HTTP_HEAD_BYTES_MAX: usize = 1 << 20;
/// Problems of one file that are told apart; a file with more of them is given up.
pub const PROBLEMS_MAX: u64 = 10_000;
/// How often a plain file may be read again in search of records that a wrong length has hidden, in file lengths.
const SEARCHES_MAX: u64 = 8;

/// Something wrong with a file that reading went on after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where in the file: of the record or member concerned.
    pub offset: u64,
    /// What it is.
    pub message: String,
}

/// Reading could not go on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be opened.
    #[error("cannot open `{path}`: {source}")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file cannot be read.
    #[error("cannot read the archive: {0}")]
    Io(#[from] io::Error),
    /// It holds no record at all.
    #[error("is no WARC or ARC file: {reason}")]
    NotAnArchive {
        /// What was found instead.
        reason: String,
    },
    /// More is wrong than right.
    #[error("is too damaged to go on: {problems} problems by offset {offset}")]
    TooDamaged {
        /// How many.
        problems: u64,
        /// Where reading ended.
        offset: u64,
    },
}

impl From<Damage> for ReadError {
    fn from(damage: Damage) -> Self {
        match damage {
            Damage::Io(error) => Self::Io(error),
            Damage::Broken(reason) => Self::NotAnArchive { reason },
        }
    }
}

/// A reader of one file.
pub struct Reader<R> {
    source: Source<R>,
    head: RecordHead,
    http: Option<HttpHead>,
    /// Bytes of the current block that were not read yet.
    left: u64,
    in_record: bool,
    /// Where the current block began; in plain files only, where one can go back to it.
    block_start: u64,
    /// Records begun in the current member.
    records_in_member: u64,
    records: u64,
    /// What the file's records are.
    format: Option<Format>,
    arc_fields: usize,
    /// The compressed data broke off within the record.
    broken: bool,
    /// A block reached beyond the end of the plain file: it may have hidden records.
    overran: bool,
    problems: Vec<Problem>,
    problems_count: u64,
    searched_bytes: u64,
    told_crowded: bool,
    spanned: bool,
}

impl Reader<Body> {
    /// Opens a file, also one that has gone to an object store.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_at(path, 0)
    }

    /// Opens a file at the record that begins at `offset`.
    pub fn open_at(path: &Path, offset: u64) -> Result<Self, ReadError> {
        let file = Body::open(path).map_err(|source| ReadError::Open { path: path.to_owned(), source })?;
        Self::new_at(file, offset)
    }
}

/// What came of looking for a record.
enum Begun {
    Record,
    End,
    Damaged(String),
}

impl<R: Read + Seek> Reader<R> {
    /// Reads from anything that can be read.
    pub fn new(file: R) -> Result<Self, ReadError> {
        Self::new_at(file, 0)
    }

    /// The same from the record that begins at `offset`.
    pub fn new_at(file: R, offset: u64) -> Result<Self, ReadError> {
        Ok(Self::of(Source::open(file, offset)?, offset))
    }

    /// Reads a part of a file, whose dictionary was found elsewhere.
    pub(crate) fn with_dictionary(part: R, dictionary: Option<Vec<u8>>) -> Result<Self, ReadError> {
        Ok(Self::of(Source::open_with(part, 0, dictionary)?, 0))
    }

    fn of(source: Source<R>, offset: u64) -> Self {
        Self {
            source,
            head: RecordHead::default(),
            http: None,
            left: 0,
            in_record: false,
            block_start: offset,
            records_in_member: 0,
            records: 0,
            format: None,
            arc_fields: arc::FIELDS_V1,
            broken: false,
            overran: false,
            problems: Vec::new(),
            problems_count: 0,
            searched_bytes: 0,
            told_crowded: false,
            spanned: false,
        }
    }

    /// How the file is packed.
    pub fn packing(&self) -> Packing {
        self.source.packing()
    }

    /// Goes to the next record; what was not read of the one before is skipped. Nothing at the end of the file.
    pub fn next_record(&mut self) -> Result<Option<Record<'_, R>>, ReadError> {
        self.finish_record()?;
        loop {
            match self.begin_record()? {
                Begun::Record => return Ok(Some(Record { reader: self })),
                Begun::End if self.overran => {
                    self.overran = false;
                    let place = self.block_start;
                    if !self.search_plain(place)? {
                        return Ok(None);
                    }
                }
                Begun::End => return self.end(),
                Begun::Damaged(what) => {
                    if !self.recover(what)? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The end of the file: fine, unless there was something and none of it was a record.
    fn end(&mut self) -> Result<Option<Record<'_, R>>, ReadError> {
        match self.problems.first() {
            Some(problem) if self.records == 0 => {
                Err(ReadError::NotAnArchive { reason: problem.message.clone() })
            }
            _ => Ok(None),
        }
    }

    /// What was wrong with the file since the last call.
    pub fn take_problems(&mut self) -> Vec<Problem> {
        std::mem::take(&mut self.problems)
    }

    /// False when a compressed member held several records, or a part of one: then offsets do not lead to records.
    pub fn members_fit(&self) -> bool {
        !self.told_crowded && !self.spanned
    }

    /// Records begun so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// How far reading has come in the file.
    pub fn position(&self) -> u64 {
        self.source.position()
    }

    /// Skips what is left of the current record and gives the place in the file behind it.
    pub fn finish_record(&mut self) -> Result<u64, ReadError> {
        if !self.in_record {
            return Ok(self.source.position());
        }
        loop {
            let ready = self.fill_block()?;
            if ready == 0 {
                break;
            }
            self.consume_block(ready);
        }
        self.in_record = false;
        if !self.broken {
            self.skip_line_ends()?;
        }
        self.note_remark();
        Ok(self.source.position())
    }

    /// Passes the empty lines behind a record, up to the end of its member.
    fn skip_line_ends(&mut self) -> Result<(), ReadError> {
        loop {
            let bytes = self.source.available();
            let ends = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let more_follows = ends < bytes.len();
            self.source.consume(ends);
            if more_follows {
                return Ok(());
            }
            match self.source.more() {
                Ok(More::Bytes) => {}
                Ok(More::MemberEnd) => return Ok(()),
                Err(Damage::Io(error)) => return Err(error.into()),
                Err(Damage::Broken(what)) => {
                    let offset = self.source.member_start();
                    self.problem(offset, what)?;
                    self.broken = true;
                    return Ok(());
                }
            }
        }
    }

    fn begin_record(&mut self) -> Result<Begun, ReadError> {
        if self.broken {
            return Ok(Begun::Damaged(String::new()));
        }
        // To the first byte of a record, over empty lines and ends of members.
        loop {
            self.skip_line_ends()?;
            if self.broken {
                return Ok(Begun::Damaged(String::new()));
            }
            self.note_remark();
            if !self.source.available().is_empty() {
                break;
            }
            match self.source.begin_member() {
                Ok(true) => self.records_in_member = 0,
                Ok(false) => return Ok(Begun::End),
                Err(Damage::Io(error)) => return Err(error.into()),
                Err(Damage::Broken(what)) => {
                    self.broken = true;
                    return Ok(Begun::Damaged(what));
                }
            }
        }
        let is_packed = self.source.packing() != Packing::Plain;
        self.head.offset = if is_packed { self.source.member_start() } else { self.source.position() };
        self.head.addressable = !is_packed || self.records_in_member == 0;
        self.need(5)?;
        let begun = if self.source.available().starts_with(b"WARC/") {
            self.begin_warc()?
        } else if self.format != Some(Format::Warc) {
            self.begin_arc()?
        } else {
            Begun::Damaged(self.nothing_here())
        };
        if let Begun::Record = begun {
            self.records += 1;
            self.records_in_member += 1;
            self.http = None;
            self.in_record = true;
            self.block_start = self.source.position();
            if !self.head.addressable && !self.told_crowded {
                self.told_crowded = true;
                let what =
                    "several records are in one compressed member, so that they cannot be reached by offset";
                self.problem(self.head.offset, what.to_owned())?;
            }
        }
        Ok(begun)
    }

    fn begin_warc(&mut self) -> Result<Begun, ReadError> {
        let Some(length) = self.need_head(HEAD_BYTES_MAX)? else {
            return Ok(Begun::Damaged("the head of the record has no end".to_owned()));
        };
        let bytes = &self.source.available()[..length];
        let line_end = memchr::memchr(b'\n', bytes).unwrap_or(length - 1);
        self.head.version.clear();
        self.head.version.push_str(&text(bytes[..line_end].trim_ascii()));
        self.head.fields.parse_again(&bytes[line_end + 1..]);
        self.source.consume(length);
        self.format = Some(Format::Warc);
        self.head.format = Format::Warc;
        self.head.kind = match self.head.fields.get("WARC-Type") {
            Some(name) => RecordKind::from_name(&name),
            None => RecordKind::Unnamed,
        };
        let said = self.head.fields.get("Content-Length").map(|value| value.trim().parse::<u64>());
        let offset = self.head.offset;
        self.head.content_length = match said {
            Some(Ok(length)) => length,
            wrong => {
                let what = if wrong.is_some() {
                    "Content-Length is no number"
                } else {
                    "there is no Content-Length"
                };
                self.problem(offset, what.to_owned())?;
                0
            }
        };
        self.left = self.head.content_length;
        Ok(Begun::Record)
    }

    fn begin_arc(&mut self) -> Result<Begun, ReadError> {
        let Some(line) = self.need_line()? else { return Ok(Begun::Damaged(self.nothing_here())) };
        let bytes = &self.source.available()[..line];
        let Some(parsed) = arc::parse_line(&text(bytes), self.arc_fields) else {
            return Ok(Begun::Damaged(self.nothing_here()));
        };
        self.source.consume(line);
        let mut inner = 0;
        if parsed.is_file_head {
            // The version and the names of the fields are two lines of the block.
            for number in 0..2 {
                let Some(line) = self.need_line()? else { break };
                if number == 1 {
                    self.arc_fields = arc::count_fields(&text(&self.source.available()[..line]));
                }
                self.source.consume(line);
                inner += line as u64;
            }
        }
        self.format = Some(Format::Arc);
        self.head.format = Format::Arc;
        self.head.version = "ARC".to_owned();
        self.head.kind = if parsed.is_file_head { RecordKind::ArcHeader } else { RecordKind::Response };
        self.head.fields = parsed.fields;
        let offset = self.head.offset;
        self.head.content_length = match parsed.length {
            Some(length) => length.saturating_sub(inner),
            None => {
                self.problem(offset, "the length in the record's line is no number".to_owned())?;
                0
            }
        };
        self.left = self.head.content_length;
        Ok(Begun::Record)
    }

    /// What is where a record should be.
    fn nothing_here(&self) -> String {
        let bytes = self.source.available();
        let start = text(&bytes[..bytes.len().min(40)]).escape_debug().to_string();
        format!("no record begins here, but `{start}`")
    }

    /// Tries to have so many unpacked bytes of this member at hand.
    fn need(&mut self, count: usize) -> Result<bool, ReadError> {
        while self.source.available().len() < count {
            if !self.more()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Unpacks more; false at the end of the member or where it is damaged, which is told.
    fn more(&mut self) -> Result<bool, ReadError> {
        match self.source.more() {
            Ok(More::Bytes) => Ok(true),
            Ok(More::MemberEnd) => Ok(false),
            Err(Damage::Io(error)) => Err(error.into()),
            Err(Damage::Broken(what)) => {
                let offset = self.source.member_start();
                self.problem(offset, what)?;
                self.broken = true;
                Ok(false)
            }
        }
    }

    /// Has a whole head at hand, and tells its length.
    fn need_head(&mut self, bytes_max: usize) -> Result<Option<usize>, ReadError> {
        let mut searched = 0;
        loop {
            let bytes = self.source.available();
            if let Some(length) = head_length(bytes, searched) {
                return Ok(Some(length));
            }
            searched = bytes.len().saturating_sub(3);
            if bytes.len() > bytes_max || !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Has a whole line at hand, and tells its length with the line end.
    fn need_line(&mut self) -> Result<Option<usize>, ReadError> {
        loop {
            let bytes = self.source.available();
            if let Some(end) = memchr::memchr(b'\n', bytes) {
                return Ok(Some(end + 1));
            }
            if bytes.len() > arc::LINE_BYTES_MAX || !self.more()? {
                return Ok(None);
            }
        }
    }

    // --- the block ---

    /// Has bytes of the block at hand: how many. Zero at its end.
    fn fill_block(&mut self) -> Result<usize, ReadError> {
        loop {
            if self.left == 0 {
                return Ok(0);
            }
            let available = self.source.available().len();
            if available > 0 {
                return Ok(usize::try_from(self.left).unwrap_or(usize::MAX).min(available));
            }
            if self.more()? {
                continue;
            }
            if self.broken {
                self.left = 0;
            } else {
                self.member_ended_early()?;
            }
        }
    }

    fn consume_block(&mut self, amount: usize) {
        self.source.consume(amount);
        self.left = self.left.saturating_sub(amount as u64);
    }

    /// The member, or the plain file, ends before the block does. The rest may be in the next member; more often the
    /// length was wrong.
    fn member_ended_early(&mut self) -> Result<(), ReadError> {
        let offset = self.head.offset;
        let left = self.left;
        let is_plain = self.source.packing() == Packing::Plain;
        self.note_remark();
        let begun = if is_plain { Ok(false) } else { self.source.begin_member() };
        match begun {
            Ok(true) => {
                self.need(5)?;
                if self.broken || looks_like_record(self.source.available()) {
                    self.records_in_member = 0;
                    self.left = 0;
                    return self.problem(offset, format!("the record ends {left} bytes before it says"));
                }
                self.spanned = true;
                self.problem(offset, "the record goes on in the next compressed member".to_owned())
            }
            Ok(false) => {
                self.left = 0;
                self.overran = is_plain;
                self.problem(offset, format!("the file ends {left} bytes before the record does"))
            }
            Err(Damage::Io(error)) => Err(error.into()),
            Err(Damage::Broken(what)) => {
                self.left = 0;
                self.broken = true;
                self.problem(offset, format!("the record ends {left} bytes before it says: {what}"))
            }
        }
    }

    /// Has the HTTP head of the block at hand, and tells its length: zero when there is none.
    fn http_head_length(&mut self) -> Result<usize, ReadError> {
        if !self.head.holds_http() {
            return Ok(0);
        }
        let mut searched = 0;
        loop {
            let available = self.source.available();
            let is_whole = available.len() as u64 >= self.left;
            let bytes = &available[..usize::try_from(self.left).unwrap_or(usize::MAX).min(available.len())];
            match bytes {
                // A head without anything in it.
                [b'\n', ..] => return Ok(1),
                [b'\r', b'\n', ..] => return Ok(2),
                _ => {}
            }
            if let Some(length) = head_length(bytes, searched) {
                return Ok(length);
            }
            searched = bytes.len().saturating_sub(3);
            if is_whole {
                // A message that is all head: what it lacks is the empty line.
                return Ok(if HttpHead::parse(bytes).is_some() { bytes.len() } else { 0 });
            }
            if available.len() > HTTP_HEAD_BYTES_MAX || !self.more()? {
                return Ok(0);
            }
        }
    }

    // --- damage ---

    fn problem(&mut self, offset: u64, message: String) -> Result<(), ReadError> {
        self.problems_count += 1;
        if self.problems_count > PROBLEMS_MAX {
            return Err(ReadError::TooDamaged { problems: self.problems_count - 1, offset });
        }
        self.problems.push(Problem { offset, message });
        Ok(())
    }

    fn note_remark(&mut self) {
        if let Some(message) = self.source.remark.take() {
            // One a member, and members are counted by what is in them.
            self.problems.push(Problem { offset: self.source.member_start(), message });
        }
    }

    /// Goes on behind damage. False when there is nothing left to go on with.
    fn recover(&mut self, what: String) -> Result<bool, ReadError> {
        let is_first = self.records == 0;
        let place = if self.source.packing() == Packing::Plain {
            self.source.position()
        } else {
            self.source.member_start()
        };
        if !what.is_empty() {
            self.problem(place, what.clone())?;
        }
        let found = if self.broken {
            self.broken = false;
            self.left = 0;
            let from = self.source.member_start() + 1;
            self.source.find_member(from, looks_like_record)?
        } else if self.source.packing() == Packing::Plain {
            // The length of the record before may have been too long as well as too short.
            let from = if is_first { place } else { self.block_start };
            self.search_plain(from)?
        } else {
            self.search_member()?
        };
        if !found && is_first && self.records == 0 {
            let reason = self.problems.first().map_or(what, |problem| problem.message.clone());
            return Err(ReadError::NotAnArchive { reason });
        }
        Ok(found)
    }

    /// Searches a plain file for the next record after a place.
    fn search_plain(&mut self, from: u64) -> Result<bool, ReadError> {
        let behind = self.source.position();
        let length = self.source.length()?;
        self.searched_bytes += behind.saturating_sub(from) + 1;
        if self.searched_bytes > length.saturating_mul(SEARCHES_MAX).saturating_add(1 << 20) {
            return Err(ReadError::TooDamaged { problems: self.problems_count, offset: behind });
        }
        self.source.seek(from)?;
        if self.source.begin_member()? { self.search_member() } else { Ok(false) }
    }

    /// Searches what is left of the member for a line that begins a record. True also when the member ends without
    /// one and another follows.
    fn search_member(&mut self) -> Result<bool, ReadError> {
        let is_arc = self.format == Some(Format::Arc);
        // The place where we are is no record's; the search begins at the next line.
        loop {
            let bytes = self.source.available();
            let found = if is_arc { find_arc(bytes, self.arc_fields) } else { find_warc(bytes) };
            if let Some(at) = found {
                self.source.consume(at);
                return Ok(true);
            }
            // What may be the start of a record is kept for the next look.
            let keep = bytes.len().min(SEARCH_KEEP_BYTES);
            let pass = bytes.len() - keep;
            self.source.consume(pass);
            if !self.more()? {
                if self.broken {
                    return Ok(true);
                }
                let rest = self.source.available().len();
                self.source.consume(rest);
                return Ok(self.source.packing() != Packing::Plain);
            }
        }
    }
}

/// Longest start of a record that is looked at when searching.
const SEARCH_KEEP_BYTES: usize = 4096;

/// A line `WARC/1.x`, followed by a field as WARC has them.
fn find_warc(bytes: &[u8]) -> Option<usize> {
    memmem::find_iter(bytes, b"\nWARC/").map(|at| at + 1).find(|&at| {
        let Some(end) = memchr::memchr(b'\n', &bytes[at..bytes.len().min(at + 16)]) else { return false };
        let field = &bytes[at + end + 1..];
        field.starts_with(b"WARC-") || field.starts_with(b"Content-")
    })
}

/// A line that can only be the head of an ARC record.
fn find_arc(bytes: &[u8], fields: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).find(|&at| {
        let line = &bytes[at..];
        memchr::memchr(b'\n', line).is_some_and(|end| {
            arc::looks_like_line(line)
                && arc::parse_line(&text(&line[..end]), fields).is_some_and(|line| line.length.is_some())
        })
    })
}

/// True for the first bytes of a record, WARC or ARC.
fn looks_like_record(bytes: &[u8]) -> bool {
    bytes.starts_with(b"WARC/") || arc::looks_like_line(bytes)
}

/// One record; reading its block moves the reader on.
pub struct Record<'r, R> {
    reader: &'r mut Reader<R>,
}

/// A payload, read up to a cap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The bytes behind the HTTP head, or the whole block. Transfer and content codings are still there.
    pub bytes: Vec<u8>,
    /// True when the cap cut it.
    pub is_cut: bool,
}

impl<R: Read + Seek> Record<'_, R> {
    /// The head.
    pub fn head(&self) -> &RecordHead {
        &self.reader.head
    }

    /// Reads the HTTP head at the start of the block, if there is one. To be asked before any of the block is read.
    pub fn http(&mut self) -> Result<Option<&HttpHead>, ReadError> {
        if self.reader.http.is_none() && self.reader.left == self.reader.head.content_length {
            let length = self.reader.http_head_length()?;
            if length > 0 {
                let parsed = HttpHead::parse(&self.reader.source.available()[..length]);
                self.reader.consume_block(length);
                self.reader.http = Some(parsed.unwrap_or_default());
            }
        }
        Ok(self.reader.http.as_ref())
    }

    /// The HTTP head as bytes, without reading past it.
    pub fn http_bytes(&mut self) -> Result<&[u8], ReadError> {
        let length = self.reader.http_head_length()?;
        Ok(&self.reader.source.available()[..length])
    }

    /// The next piece of the block, empty at its end. The same piece comes again until it is consumed.
    pub fn piece(&mut self) -> Result<&[u8], ReadError> {
        let ready = self.reader.fill_block()?;
        Ok(&self.reader.source.available()[..ready])
    }

    /// Passes bytes of the last piece.
    pub fn consume(&mut self, amount: usize) {
        self.reader.consume_block(amount);
    }

    /// Bytes of the block that were not read.
    pub fn left(&self) -> u64 {
        self.reader.left
    }

    /// Reads what is left of the block, or what follows the HTTP head, up to a cap.
    pub fn payload(&mut self, bytes_max: u64) -> Result<Payload, ReadError> {
        self.http()?;
        let expected = self.reader.left.min(bytes_max).min(1 << 20);
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
        loop {
            let room = bytes_max.saturating_sub(bytes.len() as u64);
            let piece = self.piece()?;
            if piece.is_empty() {
                return Ok(Payload { bytes, is_cut: false });
            }
            if room == 0 {
                return Ok(Payload { bytes, is_cut: true });
            }
            let amount = piece.len().min(usize::try_from(room).unwrap_or(usize::MAX));
            bytes.extend_from_slice(&piece[..amount]);
            self.consume(amount);
        }
    }

    /// Head and HTTP head for keeping.
    pub fn heads(&mut self) -> Result<(RecordHead, Option<HttpHead>), ReadError> {
        let http = self.http()?.cloned();
        Ok((self.reader.head.clone(), http))
    }

    /// Skips what is left and gives the place in the file behind the record.
    pub fn finish(self) -> Result<u64, ReadError> {
        self.reader.finish_record()
    }
}
