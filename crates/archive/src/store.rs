//! Where archive files are kept: a directory, from which complete ones may have gone to an object store.
//!
//! A file that is being written is always local and appended to; it is complete when it is renamed, and then the
//! [`Uploader`](crate::objects::Uploader) may take it. Reading is by ranges: a record, never a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::elsewhere::{Body, STORED_SUFFIX, Stored};

/// What is appended to the name of a file that is not complete.
pub const OPEN_SUFFIX: &str = ".open";

/// A file that is being written.
pub trait OpenBody: Send {
    /// Appends all of the bytes, or fails.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns when everything appended survives a loss of power.
    fn sync(&mut self) -> io::Result<()>;
    /// Takes back what was appended beyond a length.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// A complete file, or one being written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredFile {
    /// Its name, without the suffix of open files.
    pub name: String,
    /// Bytes.
    pub length: u64,
    /// True while it is being written.
    pub is_open: bool,
    /// True when it is in an object store, and only a note of that here.
    pub is_elsewhere: bool,
}

/// Keeps archive files.
///
/// Every implementation is held to this:
/// * what was appended and synced is read back, before and after the file is complete;
/// * a complete file has its name, and no other; an open one is listed as open;
/// * `truncate` takes back exactly what was appended beyond the length;
/// * a range beyond the end gives what there is.
pub trait BodyStore: Send + Sync {
    /// Begins a file.
    fn create(&self, name: &str) -> io::Result<Box<dyn OpenBody>>;
    /// Declares a file complete. It is not appended to any more.
    fn complete(&self, name: &str) -> io::Result<()>;
    /// All archive files.
    fn list(&self) -> io::Result<Vec<StoredFile>>;
    /// Bytes of a file from a place on; fewer at its end.
    fn read(&self, name: &str, offset: u64, length: u64) -> io::Result<Vec<u8>>;
    /// The path of a file that is here.
    fn local(&self, name: &str) -> io::Result<PathBuf>;
    /// Bytes that can still be written, where that can be told.
    fn free_bytes(&self) -> io::Result<Option<u64>>;
}

/// True for the names of archive files.
pub fn is_archive_name(name: &str) -> bool {
    const ENDINGS: [&str; 6] = [".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz", ".arc.zst"];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// A directory. Files that have gone to an object store are read from there.
#[derive(Debug, Clone)]
pub struct LocalStore {
    folder: PathBuf,
}

impl LocalStore {
    /// Names a directory, which is made when something is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a complete file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The path of a file that is being written.
    pub fn open_path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{OPEN_SUFFIX}"))
    }

    /// The file, complete or not.
    fn existing(&self, name: &str) -> io::Result<PathBuf> {
        check_name(name)?;
        let complete = self.path(name);
        if complete.is_file() {
            return Ok(complete);
        }
        let open = self.open_path(name);
        if open.is_file() {
            return Ok(open);
        }
        // It may have been completed between the two looks.
        if complete.is_file() {
            return Ok(complete);
        }
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!("there is no `{name}` in `{}`", self.folder.display()),
        ))
    }
}

/// A name from an index must not lead out of the directory.
fn check_name(name: &str) -> io::Result<()> {
    if name.is_empty() || name.contains(['/', '\\']) || name.contains("..") {
        let what = format!("`{name}` is no name of an archive file");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(())
}

/// Bytes of a file from a place on; fewer at its end.
fn read_range(mut file: impl Read + Seek, offset: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

struct LocalBody(File);

impl OpenBody for LocalBody {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)?;
        self.0.seek(SeekFrom::Start(length)).map(drop)
    }
}

impl BodyStore for LocalStore {
    fn create(&self, name: &str) -> io::Result<Box<dyn OpenBody>> {
        std::fs::create_dir_all(&self.folder)?;
        let file = OpenOptions::new().write(true).create_new(true).open(self.open_path(name))?;
        sync_folder(&self.folder)?;
        Ok(Box::new(LocalBody(file)))
    }

    fn complete(&self, name: &str) -> io::Result<()> {
        std::fs::rename(self.open_path(name), self.path(name))?;
        sync_folder(&self.folder)
    }

    fn list(&self) -> io::Result<Vec<StoredFile>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut files = Vec::new();
        for entry in entries {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if let Some(name) = name.strip_suffix(STORED_SUFFIX).filter(|name| is_archive_name(name)) {
                let length = Stored::read(&self.path(name))?.bytes;
                files.push(StoredFile { name: name.to_owned(), length, is_open: false, is_elsewhere: true });
                continue;
            }
            let (name, is_open) = match name.strip_suffix(OPEN_SUFFIX) {
                Some(inner) => (inner.to_owned(), true),
                None => (name, false),
            };
            // A file that is renamed while we look has another name by now.
            let Ok(metadata) = entry.metadata() else { continue };
            if is_archive_name(&name) && metadata.is_file() {
                files.push(StoredFile { name, length: metadata.len(), is_open, is_elsewhere: false });
            }
        }
        files.sort_unstable();
        // Between the note that a file has arrived and its removal it is in both places; the one here counts.
        files.dedup_by(|other, one| other.name == one.name && other.is_elsewhere);
        Ok(files)
    }

    fn read(&self, name: &str, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        check_name(name)?;
        for path in [self.path(name), self.open_path(name), self.path(name)] {
            match Body::open(&path) {
                // It may have been completed, or moved, between two looks.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(Body::Object(object)) => return object.read_range(offset, length),
                file => return read_range(file?, offset, length),
            }
        }
        let what = format!("there is no `{name}` in `{}`", self.folder.display());
        Err(io::Error::new(io::ErrorKind::NotFound, what))
    }

    fn local(&self, name: &str) -> io::Result<PathBuf> {
        self.existing(name)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        let mut folder = self.folder.as_path();
        while !folder.is_dir() {
            match folder.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => folder = parent,
                _ => folder = Path::new("."),
            }
        }
        fs4::available_space(folder).map(Some)
    }
}

/// Makes the names in a directory survive a loss of power.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
