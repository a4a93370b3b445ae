//! Writes WARC 1.1 files: one member for each record, files of a bounded size, an index beside each.
//!
//! In: [`PackedCapture`]s, made by the [`CaptureMaker`] on whatever thread has time. Out: where each of them is, once it
//! is on disk to stay. A file is named with `.open` until it is complete. After a kill [`ArchiveWriter::open`] cuts an
//! open file behind its last whole record and completes it. Start at [`ArchiveWriter::append`].
//!
//! **Invariant:** a place is given only for bytes that are synced. What failed half-way is taken back.

mod capture;
mod deflate;
mod dictionary;
mod record;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rand::Rng;
use tracing::{info, warn};

use self::capture::Original;
use self::capture::PackedRecord;
pub use self::capture::{CaptureMaker, Notes, PackedCapture};
pub use self::dictionary::{Dictionary, DictionarySource};
pub use self::record::NewRecord;
use crate::cdxj::{self, CdxEntry};
use crate::digest::{Digest, DigestKind};
use crate::read::{Packing, ReadError, Reader};
use crate::record::{cdx_date, parse_date};
use crate::store::{BodyStore, LocalStore, OpenBody, StoredFile, sync_folder};

/// Bytes gathered for one write.
const WRITE_BYTES: usize = 1 << 20;
/// Where a trained dictionary is kept, for the files to come.
const DICTIONARY_NAME: &str = "zstd.dictionary";

/// How an archive is written.
#[derive(Debug, Clone)]
pub struct ArchiveSettings {
    /// gzip, zstd or plain.
    pub packing: Packing,
    /// Where the dictionary of zstd files comes from, if they are to have one.
    pub dictionary: DictionarySource,
    /// Which digests records carry.
    pub digest: DigestKind,
    /// A file that is longer than this is completed and another begun.
    pub file_bytes_max: u64,
    /// What names of files begin with.
    pub prefix: String,
    /// Names and values for the record that begins each file.
    pub info: Vec<(String, String)>,
}

impl Default for ArchiveSettings {
    fn default() -> Self {
        Self {
            packing: Packing::Gzip,
            dictionary: DictionarySource::None,
            digest: DigestKind::Sha1,
            file_bytes_max: 1 << 30,
            prefix: "webloom".to_owned(),
            info: Vec::new(),
        }
    }
}

/// Where a record is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the file.
    pub file: String,
    /// Where in it.
    pub offset: u64,
    /// Bytes it takes there.
    pub length: u64,
    /// Name of the record, with its brackets.
    pub id: String,
}

/// Writing failed. Nothing of what was to be written is referred to.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// There is no room. To be tried again when there is.
    #[error("there is no room left for the archive in `{folder}`")]
    Full {
        /// Where.
        folder: PathBuf,
    },
    /// Another reason.
    #[error("cannot write to the archive in `{folder}`: {source}")]
    Io {
        /// Where.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that was left open by a crash cannot be made whole.
    #[error("cannot recover `{path}`: {source}")]
    Recover {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ReadError,
    },
}

impl WriteError {
    /// True when waiting may help.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }
}

/// True for the errors of a disk without room.
pub fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// Appends to an archive. One writer at a time.
pub struct ArchiveWriter {
    folder: PathBuf,
    store: Arc<dyn BodyStore>,
    settings: ArchiveSettings,
    maker: Arc<CaptureMaker>,
    open: Option<OpenFile>,
    sequence: u32,
}

struct OpenFile {
    name: String,
    body: Box<dyn OpenBody>,
    length: u64,
    index: File,
    /// What its records are packed with, all of them.
    dictionary: Option<Arc<Dictionary>>,
}

impl ArchiveWriter {
    /// Opens the archive in a directory, and makes whole what a crash has left.
    pub fn open(folder: &Path, settings: ArchiveSettings) -> Result<Self, WriteError> {
        Self::open_with(folder, Arc::new(LocalStore::new(folder)), settings)
    }

    /// The same with a store for complete files. Indexes are kept in the directory in any case.
    pub fn open_with(
        folder: &Path,
        store: Arc<dyn BodyStore>,
        settings: ArchiveSettings,
    ) -> Result<Self, WriteError> {
        let dictionary = match &settings.dictionary {
            DictionarySource::Train => trained_before(folder),
            source => source.clone(),
        };
        let maker = Arc::new(CaptureMaker::new(settings.packing, settings.digest, &dictionary));
        let writer = Self { folder: folder.to_owned(), store, settings, maker, open: None, sequence: 0 };
        std::fs::create_dir_all(folder).map_err(|source| writer.failed(source))?;
        let files = writer.store.list().map_err(|source| writer.failed(source))?;
        for file in files.iter().filter(|file| file.is_open) {
            writer.recover(file)?;
        }
        writer.sweep().map_err(|source| writer.failed(source))?;
        writer.remember_payloads(&files);
        Ok(writer)
    }

    /// What makes captures for this archive, on any thread.
    pub fn maker(&self) -> Arc<CaptureMaker> {
        self.maker.clone()
    }

    /// Room that is left, where that can be told.
    pub fn free_bytes(&self) -> Option<u64> {
        self.store.free_bytes().ok().flatten()
    }

    /// Appends captures. When it returns they are on disk to stay, and their places, those of the first records, are as
    /// many. When it fails, none of them was written.
    pub fn append(&mut self, captures: &[PackedCapture]) -> Result<Vec<Option<Place>>, WriteError> {
        if captures.iter().all(PackedCapture::is_empty) {
            return Ok(captures.iter().map(|_| None).collect());
        }
        if self.open.as_ref().is_some_and(|open| self.has_had_its_time(open)) {
            self.complete()?;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin().map_err(|source| self.failed(source))?,
        };
        let before = open.length;
        let result = open.write(captures);
        if result.is_err()
            && let Err(error) = open.body.truncate(before)
        {
            warn!(%error, file = open.name, "what was half written cannot be taken back; the file is left to recovery");
            let source = result.err().unwrap_or(error);
            return Err(self.failed(source));
        }
        if result.is_err() {
            open.length = before;
        }
        self.open = Some(open);
        let (places, entries) = result.map_err(|source| self.failed(source))?;
        self.note(captures, &entries);
        Ok(places)
    }

    /// Completes the open file, if there is one: its index is sorted, its name loses the suffix.
    pub fn complete(&mut self) -> Result<(), WriteError> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let name = open.name;
        drop((open.body, open.index));
        sort_index(&self.index_path(&name, true), &self.index_path(&name, false))
            .and_then(|()| self.store.complete(&name))
            .map_err(|source| self.failed(source))
    }

    /// True for a file that is long enough, and for the first one when the dictionary was trained on it.
    fn has_had_its_time(&self, open: &OpenFile) -> bool {
        open.length >= self.settings.file_bytes_max
            || (open.dictionary.is_none() && self.maker.dictionary().is_some())
    }

    fn failed(&self, source: io::Error) -> WriteError {
        let folder = self.folder.clone();
        if is_full(&source) { WriteError::Full { folder } } else { WriteError::Io { folder, source } }
    }

    fn index_path(&self, name: &str, is_open: bool) -> PathBuf {
        self.folder.join(index_name(name, is_open))
    }

    fn begin(&mut self) -> io::Result<OpenFile> {
        let now = Timestamp::now();
        self.sequence += 1;
        let ending = match self.settings.packing {
            Packing::Plain => "warc",
            Packing::Gzip => "warc.gz",
            Packing::Zstd => "warc.zst",
        };
        let name = format!(
            "{}-{}{:03}-{:05}-{:08x}.{ending}",
            self.settings.prefix,
            cdx_date(now),
            now.subsec_millisecond(),
            self.sequence,
            rand::rng().random::<u32>()
        );
        let dictionary = self.maker.dictionary();
        if let (Some(dictionary), DictionarySource::Train) = (&dictionary, &self.settings.dictionary) {
            keep_dictionary(&self.folder, dictionary);
        }
        let head = self.maker.file_head(&name, now, &self.settings.info, dictionary.as_deref())?;
        // The file comes before its index: what a kill leaves between the two is an open file, which is recovered.
        let mut body = self.store.create(&name)?;
        let index = File::create(self.index_path(&name, true))?;
        body.append(&head)?;
        Ok(OpenFile { name, body, length: head.len() as u64, index, dictionary })
    }

    /// Lets later captures refer to these payloads, and finds them in the index.
    fn note(&mut self, captures: &[PackedCapture], entries: &[CdxEntry]) {
        for record in captures.iter().flat_map(|capture| &capture.records) {
            if let Some((digest, original)) = &record.original {
                self.maker.payloads().insert(digest.clone(), original.clone());
            }
        }
        if let Some(open) = &mut self.open {
            let lines: String = entries.iter().map(|entry| entry.line() + "\n").collect();
            // The index of an open file is a help, not a promise: it is made again from the file itself after a crash.
            if let Err(error) = open.index.write_all(lines.as_bytes()) {
                warn!(%error, file = open.name, "the index of an archive file is incomplete until the file is");
            }
        }
    }

    /// Cuts an open file behind its last whole record and completes it.
    fn recover(&self, file: &StoredFile) -> Result<(), WriteError> {
        let name = &file.name;
        let path = self.store.local(name).map_err(|source| self.failed(source))?;
        let recover = |source| WriteError::Recover { path: path.clone(), source };
        let good = whole_length(&path).map_err(recover)?;
        let io_failed = |source| self.failed(source);
        let _ = std::fs::remove_file(self.index_path(name, true));
        if good == 0 {
            info!(file = name, "an archive file without a whole record is removed");
            return std::fs::remove_file(&path).map_err(io_failed);
        }
        if good < file.length {
            info!(
                file = name,
                cut = file.length - good,
                "an archive file was cut behind its last whole record"
            );
            let cut = File::options().write(true).open(&path).and_then(|file| {
                file.set_len(good)?;
                file.sync_all()
            });
            cut.map_err(io_failed)?;
        }
        let (mut entries, _) = cdxj::index_file(&path, name).map_err(recover)?;
        write_index(&mut entries, &self.index_path(name, false)).map_err(io_failed)?;
        self.store.complete(name).map_err(io_failed)
    }

    /// Removes indexes that were being written. Once every open file is recovered, none belongs to anything.
    fn sweep(&self) -> io::Result<()> {
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".cdxj.open") || name.ends_with(".cdxj.new") {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Learns the payloads of the latest files from their indexes.
    fn remember_payloads(&self, files: &[StoredFile]) {
        for file in files.iter().rev() {
            if self.maker.payloads().is_full() {
                return;
            }
            let Ok(text) = std::fs::read_to_string(self.index_path(&file.name, false)) else { continue };
            for entry in text.lines().filter_map(CdxEntry::parse) {
                let is_original = entry.mime.as_deref() != Some("warc/revisit");
                let digest = entry.digest.as_deref().and_then(Digest::parse);
                let date = parse_date(&entry.timestamp).map(|date| format!("{date:.0}"));
                if let (true, Some(digest), Some(date)) = (is_original, digest, date) {
                    self.maker.payloads().insert(digest, Original { url: entry.url, date, id: None });
                }
            }
        }
    }
}

impl Drop for ArchiveWriter {
    fn drop(&mut self) {
        if let Err(error) = self.complete() {
            warn!(%error, "the last archive file is left open; it is completed when the archive is opened again");
        }
    }
}

impl OpenFile {
    /// Writes and syncs; gives the places of first records and the entries of all.
    fn write(&mut self, captures: &[PackedCapture]) -> io::Result<(Vec<Option<Place>>, Vec<CdxEntry>)> {
        let mut places = Vec::with_capacity(captures.len());
        let mut entries = Vec::new();
        let mut gathered = Vec::with_capacity(WRITE_BYTES);
        for capture in captures {
            let mut place = None;
            for record in &capture.records {
                let bytes = self.fitting(record)?;
                let (offset, length) = (self.length, bytes.len() as u64);
                place.get_or_insert_with(|| Place {
                    file: self.name.clone(),
                    offset,
                    length,
                    id: record.id.clone(),
                });
                if let Some(entry) = &record.entry {
                    entries.push(CdxEntry { offset, length, filename: self.name.clone(), ..entry.clone() });
                }
                if gathered.len() + bytes.len() > WRITE_BYTES && !gathered.is_empty() {
                    self.body.append(&gathered)?;
                    gathered.clear();
                }
                gathered.extend_from_slice(&bytes);
                self.length += length;
            }
            places.push(place);
        }
        self.body.append(&gathered)?;
        self.body.sync()?;
        Ok((places, entries))
    }

    /// The record as this file has it: those that were packed before there was a dictionary are packed anew.
    fn fitting<'r>(&self, record: &'r PackedRecord) -> io::Result<Cow<'r, [u8]>> {
        let (from, to) = (record.dictionary.as_ref(), self.dictionary.as_ref());
        if dictionary::is_same(from, to) {
            return Ok(Cow::Borrowed(&record.bytes));
        }
        dictionary::repack(&record.bytes, from.map(AsRef::as_ref), to.map(AsRef::as_ref)).map(Cow::Owned)
    }
}

/// The dictionary that an earlier run trained, or one to be trained.
fn trained_before(folder: &Path) -> DictionarySource {
    match Dictionary::read(&folder.join(DICTIONARY_NAME)) {
        Ok(dictionary) => DictionarySource::Given(Arc::new(dictionary)),
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                warn!(%error, "the kept dictionary of the archive cannot be used; another is trained");
            }
            DictionarySource::Train
        }
    }
}

/// Keeps a trained dictionary. Every file has it too, so that nothing is lost when this fails.
fn keep_dictionary(folder: &Path, dictionary: &Dictionary) {
    let path = folder.join(DICTIONARY_NAME);
    if path.exists() {
        return;
    }
    let beside = folder.join(format!("{DICTIONARY_NAME}.new"));
    let kept = std::fs::write(&beside, dictionary.bytes()).and_then(|()| std::fs::rename(&beside, &path));
    if let Err(error) = kept {
        warn!(%error, "the dictionary of the archive cannot be kept; the next run trains another");
    }
}

/// The name of an archive file's index.
pub(crate) fn index_name(name: &str, is_open: bool) -> String {
    let stem = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let stem = stem.strip_suffix(".warc").or_else(|| stem.strip_suffix(".arc")).unwrap_or(stem);
    format!("{stem}.cdxj{}", if is_open { crate::store::OPEN_SUFFIX } else { "" })
}

/// How much of a file is whole records.
fn whole_length(path: &Path) -> Result<u64, ReadError> {
    let mut reader = match Reader::open(path) {
        Err(ReadError::NotAnArchive { .. }) => return Ok(0),
        reader => reader?,
    };
    let mut good = 0;
    loop {
        match reader.next_record() {
            Ok(Some(record)) => {
                let end = record.finish()?;
                if !reader.take_problems().is_empty() {
                    return Ok(good);
                }
                good = end;
            }
            Ok(None) | Err(ReadError::NotAnArchive { .. } | ReadError::TooDamaged { .. }) => return Ok(good),
            Err(error) => return Err(error),
        }
    }
}

/// Writes an index in order, beside its place first.
fn write_index(entries: &mut [CdxEntry], path: &Path) -> io::Result<()> {
    let mut lines: Vec<String> = entries.iter().map(CdxEntry::line).collect();
    write_sorted(&mut lines, path)
}

fn sort_index(from: &Path, to: &Path) -> io::Result<()> {
    let text = std::fs::read_to_string(from)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    write_sorted(&mut lines, to)?;
    std::fs::remove_file(from)
}

fn write_sorted(lines: &mut [String], path: &Path) -> io::Result<()> {
    lines.sort_unstable();
    let beside = path.with_extension("cdxj.new");
    let mut file = BufWriter::new(File::create(&beside)?);
    for line in lines {
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")?;
    }
    file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    std::fs::rename(&beside, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}
