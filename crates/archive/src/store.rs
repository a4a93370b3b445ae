//! Where complete archive files are kept: a directory, or an object store.
//!
//! A file that is being written is always local and appended to; a store takes over when it is complete. That is what
//! object stores can do, and a directory can do it too, by a rename. Reading is by ranges: a record, never a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

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
}

/// Keeps archive files.
///
/// `tests/store.rs` holds every implementation to this:
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
    /// A path to the whole file, fetched first if it is elsewhere.
    fn local(&self, name: &str) -> io::Result<PathBuf>;
    /// Bytes that can still be written, where that can be told.
    fn free_bytes(&self) -> io::Result<Option<u64>>;
}

/// True for the names of archive files.
pub fn is_archive_name(name: &str) -> bool {
    const ENDINGS: [&str; 6] = [".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz", ".arc.zst"];
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// A directory.
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
        // A name from an index must not lead out of the directory.
        if name.is_empty() || name.contains(['/', '\\']) || name.contains("..") {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("`{name}` is no name of an archive file"),
            ));
        }
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
            let (name, is_open) = match name.strip_suffix(OPEN_SUFFIX) {
                Some(inner) => (inner.to_owned(), true),
                None => (name, false),
            };
            // A file that is renamed while we look has another name by now.
            let Ok(metadata) = entry.metadata() else { continue };
            if is_archive_name(&name) && metadata.is_file() {
                files.push(StoredFile { name, length: metadata.len(), is_open });
            }
        }
        files.sort_unstable();
        Ok(files)
    }

    fn read(&self, name: &str, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut file = File::open(self.existing(name)?)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
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
