//! Files that were moved to an object store: what is left of them in the folder, and how they are read all the same.
//!
//! In: the path of an archive file. Out: its bytes ([`Body`]), from the file or from where [`Stored`], the note beside it, says that
//! it is.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::objects::{ObjectBody, Objects};
use crate::store::sync_folder;

/// What is appended to the name of a file that is elsewhere.
pub const STORED_SUFFIX: &str = ".stored";

/// Where a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The URL of the store; the object has the file's name there.
    pub store: String,
    /// How long the file is.
    pub bytes: u64,
}

impl Stored {
    fn path(file: &Path) -> PathBuf {
        let mut path = OsString::from(file);
        path.push(STORED_SUFFIX);
        path.into()
    }

    /// Reads the note beside a file. [`io::ErrorKind::NotFound`] when there is none.
    pub fn read(file: &Path) -> io::Result<Self> {
        let note: Value = serde_json::from_slice(&std::fs::read(Self::path(file))?)?;
        match (note["store"].as_str(), note["bytes"].as_u64()) {
            (Some(store), Some(bytes)) => Ok(Self { store: store.to_owned(), bytes }),
            _ => {
                let what = format!("`{}` does not say where the file is", Self::path(file).display());
                Err(io::Error::new(io::ErrorKind::InvalidData, what))
            }
        }
    }

    /// Writes the note, to stay.
    pub fn write(&self, file: &Path) -> io::Result<()> {
        let path = Self::path(file);
        let beside = path.with_extension("stored.new");
        let note = json!({"store": self.store, "bytes": self.bytes});
        let mut fresh = File::create(&beside)?;
        fresh.write_all(format!("{note}\n").as_bytes())?;
        fresh.sync_all()?;
        std::fs::rename(&beside, &path)?;
        path.parent().map_or(Ok(()), sync_folder)
    }

    /// The file, to be read by ranges.
    fn open(&self, name: &str) -> io::Result<Body> {
        Ok(Body::Object(ObjectBody::new(Objects::open(&self.store)?, name, self.bytes)))
    }
}

/// An archive file, wherever it is.
#[derive(Debug)]
pub enum Body {
    /// On disk.
    File(File),
    /// In an object store.
    Object(ObjectBody),
}

impl Body {
    /// Opens a file, or the one that a note stands for.
    pub fn open(path: &Path) -> io::Result<Self> {
        let missing = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => error,
            file => return file.map(Self::File),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match Stored::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing),
            stored => stored?.open(&name),
        }
    }

    /// How long a file is.
    pub fn length(path: &Path) -> io::Result<u64> {
        match std::fs::metadata(path) {
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => {
                Stored::read(path).map(|stored| stored.bytes).map_err(|_| missing)
            }
            metadata => Ok(metadata?.len()),
        }
    }
}

impl Read for Body {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object(object) => object.read(buffer),
        }
    }
}

impl Seek for Body {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Object(object) => object.seek(to),
        }
    }
}
