//! Finds and reads what an archive holds of a URL.
//!
//! In: a URL. Out: its [`Capture`]s in the order of time, and the answer that one of them is, payloads that were only
//! referred to included. Nothing is kept in memory: indexes are searched on disk, records read by their place, also
//! while a crawl writes. Start at [`Archive::find`].

use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;

use crate::cdxj::{self, CdxEntry};
use crate::digest::Digest;
use crate::http::{HttpHead, dechunk};
use crate::read::{ReadError, Reader, dictionary_by};
use crate::record::{RecordHead, RecordKind, parse_date};
use crate::store::{BodyStore, LocalStore};
use crate::surt::surt;
use crate::write::index_name;

/// Packed bytes of one record that are read.
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// One capture of a URL: an entry of an index.
pub type Capture = CdxEntry;

/// An archive to read from.
#[derive(Clone)]
pub struct Archive {
    folder: PathBuf,
    store: Arc<dyn BodyStore>,
    /// The file that was read last, and its dictionary.
    dictionary: Arc<Mutex<Option<KnownDictionary>>>,
}

/// The name of a file, and its dictionary if it has one.
type KnownDictionary = (String, Option<Vec<u8>>);

/// An answer as it was archived.
#[derive(Debug, Clone)]
pub struct StoredAnswer {
    /// Head of the record.
    pub head: RecordHead,
    /// Head of the answer.
    pub http: HttpHead,
    /// The body: transfer coding undone, content coding kept.
    pub body: Vec<u8>,
    /// The body is longer than what was read.
    pub is_cut: bool,
}

impl StoredAnswer {
    /// When it was had.
    pub fn at(&self) -> Option<Timestamp> {
        self.head.timestamp()
    }
}

/// Why an archived answer cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The archive cannot be read.
    #[error("cannot read the archive in `{folder}`: {source}")]
    Io {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The record cannot be.
    #[error("`{file}` at offset {offset}: {source}")]
    Record {
        /// The file.
        file: String,
        /// Where in it.
        offset: u64,
        /// Why.
        source: ReadError,
    },
    /// What is at that place is no answer.
    #[error("`{file}` at offset {offset}: {what}")]
    NoAnswer {
        /// The file.
        file: String,
        /// Where in it.
        offset: u64,
        /// What is there instead.
        what: String,
    },
}

impl Archive {
    /// The archive in a directory, which need not exist: then it holds nothing.
    pub fn open(folder: &Path) -> Self {
        Self::open_with(folder, Arc::new(LocalStore::new(folder)))
    }

    /// The same with files in another store, and their indexes in the directory.
    pub fn open_with(folder: &Path, store: Arc<dyn BodyStore>) -> Self {
        Self { folder: folder.to_owned(), store, dictionary: Arc::default() }
    }

    /// The latest capture of a URL that is a page, or the latest of any kind.
    pub fn find(&self, url: &str) -> Result<Option<Capture>, FindError> {
        let mut captures = self.history(url)?;
        let page = captures
            .iter()
            .rposition(|capture| capture.status.as_deref().is_some_and(|status| status.starts_with('2')));
        Ok(match page {
            Some(at) => Some(captures.swap_remove(at)),
            None => captures.pop(),
        })
    }

    /// All captures of a URL, oldest first.
    pub fn history(&self, url: &str) -> Result<Vec<Capture>, FindError> {
        let key = surt(url);
        let mut captures = Vec::new();
        for file in self.store.list().map_err(|source| self.failed(source))? {
            captures.extend(self.entries(&file.name, &key)?);
        }
        captures.retain(|capture| capture.url == url);
        captures.sort_by(|one, other| one.timestamp.cmp(&other.timestamp));
        Ok(captures)
    }

    /// The index entries of a key in one file.
    fn entries(&self, name: &str, key: &str) -> Result<Vec<Capture>, FindError> {
        let sorted = cdxj::find(&self.folder.join(index_name(name, false)), key);
        let found = match sorted {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                cdxj::find_unsorted(&self.folder.join(index_name(name, true)), key)
            }
            found => found,
        };
        match found {
            // Without an index the file is not searched; `webloom warc index` makes one.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            found => found.map_err(|source| self.failed(source)),
        }
    }

    /// Reads the answer of a capture, at most so many bytes of its body.
    pub fn read(&self, capture: &Capture, body_bytes_max: u64) -> Result<StoredAnswer, FindError> {
        let answer = self.read_at(&capture.filename, capture.offset, capture.length, body_bytes_max)?;
        if answer.head.kind != RecordKind::Revisit {
            return Ok(answer);
        }
        match self.payload_of(&answer.head, body_bytes_max)? {
            Some(payload) => Ok(StoredAnswer { body: payload.body, is_cut: payload.is_cut, ..answer }),
            None => Err(FindError::NoAnswer {
                file: capture.filename.clone(),
                offset: capture.offset,
                what: "it refers to a payload that is not in this archive".to_owned(),
            }),
        }
    }

    /// The answer whose payload a revisit record refers to, if it is in this archive.
    pub fn payload_of(
        &self,
        revisit: &RecordHead,
        body_bytes_max: u64,
    ) -> Result<Option<StoredAnswer>, FindError> {
        let Some(original) = self.original_of(revisit)? else { return Ok(None) };
        self.read_at(&original.filename, original.offset, original.length, body_bytes_max).map(Some)
    }

    /// The capture whose payload a revisit record refers to.
    fn original_of(&self, head: &RecordHead) -> Result<Option<Capture>, FindError> {
        let Some(url) = head.fields.get("WARC-Refers-To-Target-URI").or_else(|| head.target_uri()) else {
            return Ok(None);
        };
        let digest = head.payload_digest_parsed();
        let before = head.timestamp();
        let mut captures = self.history(&url)?;
        captures.retain(|capture| {
            let is_original = capture.mime.as_deref() != Some("warc/revisit");
            let is_same = match &digest {
                Some(digest) => capture.digest.as_deref().and_then(Digest::parse).as_ref() == Some(digest),
                // "Not modified" means the page as it was then.
                None => capture.status.as_deref().is_some_and(|status| status.starts_with('2')),
            };
            is_original && is_same && parse_date(&capture.timestamp) <= before
        });
        Ok(captures.pop())
    }

    fn read_at(
        &self,
        file: &str,
        offset: u64,
        length: u64,
        body_bytes_max: u64,
    ) -> Result<StoredAnswer, FindError> {
        let bytes = self
            .store
            .read(file, offset, length.min(RECORD_BYTES_MAX))
            .map_err(|source| self.failed(source))?;
        let named = |source| FindError::Record { file: file.to_owned(), offset, source };
        let dictionary = self.dictionary_of(file).map_err(named)?;
        let mut reader = Reader::with_dictionary(Cursor::new(bytes), dictionary).map_err(named)?;
        let record = reader.next_record().map_err(named)?;
        let missing =
            |what: &str| FindError::NoAnswer { file: file.to_owned(), offset, what: what.to_owned() };
        let mut record = record.ok_or_else(|| missing("there is no record"))?;
        let answer = read_answer(&mut record, body_bytes_max).map_err(named)?;
        answer.ok_or_else(|| missing("the record holds no HTTP answer"))
    }

    /// The dictionary of a zstd file, remembered for the next record of it.
    fn dictionary_of(&self, file: &str) -> Result<Option<Vec<u8>>, ReadError> {
        if !file.ends_with(".zst") {
            return Ok(None);
        }
        if let Some((_, known)) = self.dictionary.lock().as_ref().filter(|(name, _)| name == file) {
            return Ok(known.clone());
        }
        let found = dictionary_by(|offset, length| self.store.read(file, offset, length))?;
        *self.dictionary.lock() = Some((file.to_owned(), found.clone()));
        Ok(found)
    }

    fn failed(&self, source: io::Error) -> FindError {
        FindError::Io { folder: self.folder.clone(), source }
    }
}

/// Reads the answer that a record holds. Nothing when it holds none.
pub fn read_answer<R: io::Read + io::Seek>(
    record: &mut crate::read::Record<'_, R>,
    body_bytes_max: u64,
) -> Result<Option<StoredAnswer>, ReadError> {
    if !matches!(record.head().kind, RecordKind::Response | RecordKind::Revisit) {
        return Ok(None);
    }
    let (head, http) = record.heads()?;
    let Some(http) = http else { return Ok(None) };
    let payload = record.payload(body_bytes_max)?;
    let body = if http.is_chunked() { dechunk(&payload.bytes).into_owned() } else { payload.bytes };
    Ok(Some(StoredAnswer { head, http, body, is_cut: payload.is_cut }))
}
