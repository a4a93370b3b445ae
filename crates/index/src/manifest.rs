//! The manifest: the one small file that says what an index consists of.
//!
//! In and out: a [`Manifest`]. On disk it is a line with the format version and a checksum, and then
//! JSON that a person can read. It is replaced by writing beside it, syncing, renaming and syncing the
//! directory, so whoever reads it sees the old one or the new one. The metadata of the text index is a part
//! of it: quads and text become current by one and the same rename.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::IndexError;
use crate::segment::format::FORMAT_VERSION;

const NAME: &str = "MANIFEST";
const MAGIC: &str = "webloom-index";

/// What an index consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Grows by one with every change.
    pub(crate) generation: u64,
    /// The secret of this store's term ids, in hexadecimal.
    pub(crate) hash_key: String,
    /// The number the next segment file gets. Numbers are not used twice.
    pub(crate) next_segment: u64,
    /// Oldest first.
    pub(crate) segments: Vec<SegmentRecord>,
    /// What the text index would keep in its `meta.json`.
    pub(crate) text_meta: String,
}

/// One segment of an index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SegmentRecord {
    /// Names its file.
    pub(crate) number: u64,
    /// For people; the file knows better.
    pub(crate) quads: u64,
}

/// Where the manifest of an index is.
pub(crate) fn path(directory: &Path) -> PathBuf {
    directory.join(NAME)
}

/// The bytes of the manifest; nothing when there is none.
pub(crate) fn read(directory: &Path) -> Result<Option<Vec<u8>>, IndexError> {
    let path = path(directory);
    match fs::read(&path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(IndexError::io("read", &path)(error)),
    }
}

impl Manifest {
    /// Reads what [`Manifest::store`] wrote.
    pub(crate) fn parse(directory: &Path, bytes: &[u8]) -> Result<Self, IndexError> {
        let path = path(directory);
        let damaged = |reason: String| IndexError::damaged(&path, reason);
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("it is not text".to_owned()))?;
        let (first, body) =
            text.split_once('\n').ok_or_else(|| damaged("it has no first line".to_owned()))?;
        let mut words = first.split(' ');
        if words.next() != Some(MAGIC) {
            return Err(damaged("it does not begin like a manifest".to_owned()));
        }
        let found = words
            .next()
            .and_then(|word| word.parse().ok())
            .ok_or_else(|| damaged("it names no format version".to_owned()))?;
        if found != FORMAT_VERSION {
            return Err(IndexError::UnknownVersion { path: path.clone(), found, known: FORMAT_VERSION });
        }
        if words.next() != Some(&checksum(body)) {
            return Err(damaged("its checksum is wrong".to_owned()));
        }
        serde_json::from_str(body).map_err(|error| damaged(error.to_string()))
    }

    /// Makes this the manifest of the index, durably and at once.
    pub(crate) fn store(&self, directory: &Path) -> Result<(), IndexError> {
        let path = path(directory);
        let temporary = directory.join(format!("{NAME}.new"));
        let mut body = serde_json::to_string_pretty(self)
            .map_err(|error| IndexError::damaged(&path, error.to_string()))?;
        body.push('\n');
        let write = || -> io::Result<()> {
            let mut file = File::create(&temporary)?;
            write!(file, "{MAGIC} {FORMAT_VERSION} {}\n{body}", checksum(&body))?;
            file.sync_all()
        };
        write().map_err(IndexError::io("write", &temporary))?;
        fs::rename(&temporary, &path).map_err(IndexError::io("replace", &path))?;
        sync_directory(directory)
    }

    /// The key of the store's term ids.
    pub(crate) fn key(&self, directory: &Path) -> Result<[u8; 16], IndexError> {
        u128::from_str_radix(&self.hash_key, 16)
            .map(u128::to_be_bytes)
            .map_err(|_| IndexError::damaged(&path(directory), "its hash key is not a number"))
    }
}

fn checksum(body: &str) -> String {
    format!("crc32:{:08x}", crc32fast::hash(body.as_bytes()))
}

/// Makes renames, new files and removals in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), IndexError> {
    // Elsewhere directories cannot be opened, and entries are durable without.
    #[cfg(unix)]
    File::open(directory).and_then(|file| file.sync_all()).map_err(IndexError::io("sync", directory))?;
    #[cfg(not(unix))]
    let _ = directory;
    Ok(())
}
