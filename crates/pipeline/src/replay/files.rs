//! Which archive files there are to read, and how far each was read before.
//!
//! In: files and directories as people name them. Out: a list of archive files in the order of their names, with notes on
//! what was left out; and [`Positions`], a small JSON file in the data directory that is replaced after every commit. A
//! position never runs ahead of what is committed, and reading a record twice leaves the same index as once.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use webloom_archive::Body;
use webloom_archive::elsewhere::STORED_SUFFIX;
use webloom_archive::store::is_archive_name;

use super::ReplayError;

/// Archive files that were named or found, and what was passed over.
#[derive(Debug, Default)]
pub struct Listed {
    /// The files.
    pub files: Vec<PathBuf>,
    /// What people should know.
    pub notes: Vec<String>,
}

/// Finds the archive files among `paths`; directories are searched, with what is in them. A file that is named is taken
/// whatever it is called.
pub fn list(paths: &[PathBuf]) -> Result<Listed, ReplayError> {
    let mut listed = Listed::default();
    for path in paths {
        let failed = |source| ReplayError::Io { path: path.clone(), source };
        if path.is_dir() {
            search(path, &mut listed).map_err(failed)?;
        } else {
            Body::length(path).map_err(failed)?;
            add(path.clone(), true, &mut listed);
        }
    }
    Ok(listed)
}

fn search(folder: &Path, listed: &mut Listed) -> io::Result<()> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        entries.push(entry?.path());
    }
    entries.sort_unstable();
    for path in entries {
        if path.is_dir() && !path.is_symlink() {
            search(&path, listed)?;
        } else {
            add(path, false, listed);
        }
    }
    Ok(())
}

fn add(path: PathBuf, was_named: bool, listed: &mut Listed) {
    // A file that has gone to an object store is read from there; its note stands for it.
    let path = match path.to_str().and_then(|path| path.strip_suffix(STORED_SUFFIX)) {
        Some(gone) if Path::new(gone).exists() => return,
        Some(gone) => PathBuf::from(gone),
        None => path,
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stem = [".gz", ".zst"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    for (ending, what) in [(".wat", "metadata of pages"), (".wet", "the text of pages")] {
        if stem.ends_with(ending) {
            let note = format!("{} is left out: it holds {what}, not pages", path.display());
            return listed.notes.push(note);
        }
    }
    if was_named || is_archive_name(&name) {
        listed.files.push(path);
    }
}

/// A file to read.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it is called in metadata.
    pub name: String,
    /// How long it is.
    pub bytes: u64,
    /// Where reading begins.
    pub begin_at: u64,
    /// It was read to its end before.
    pub is_done: bool,
    key: String,
}

impl SourceFile {
    /// A file, with what is known of it from an earlier run.
    pub fn new(path: PathBuf, positions: &Positions) -> Result<Self, ReplayError> {
        let failed = |source| ReplayError::Io { path: path.clone(), source };
        let bytes = Body::length(&path).map_err(failed)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let key = absolute(&path).map_err(failed)?.to_string_lossy().into_owned();
        let before = positions.files.get(&key).filter(|before| before.bytes == bytes);
        let (begin_at, is_done) = before.map_or((0, false), |before| (before.position, before.is_done));
        Ok(Self { path, name, bytes, begin_at: if is_done { bytes } else { begin_at }, is_done, key })
    }
}

/// The path from the root, links followed, also of a file that is not here.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = std::fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
            Ok(folder.join(path.file_name().unwrap_or_default()))
        }
        absolute => absolute,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    bytes: u64,
    position: u64,
    #[serde(rename = "done")]
    is_done: bool,
}

/// How far files were read.
#[derive(Debug)]
pub struct Positions {
    path: PathBuf,
    files: BTreeMap<String, Position>,
}

impl Positions {
    /// What was kept, or nothing yet.
    pub fn open(path: PathBuf) -> Result<Self, ReplayError> {
        let files = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map_err(|error| ReplayError::Io { path: path.clone(), source: error.into() })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(source) => return Err(ReplayError::Io { path, source }),
        };
        Ok(Self { path, files })
    }

    /// The files that were read, wholly or in part.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.keys().map(Path::new)
    }

    /// Notes how far a file was read.
    pub(crate) fn set(&mut self, file: &SourceFile, position: u64, is_done: bool) {
        self.files.insert(file.key.clone(), Position { bytes: file.bytes, position, is_done });
    }

    /// Replaces the file.
    pub(crate) fn store(&self) -> Result<(), ReplayError> {
        let failed = |source| ReplayError::Io { path: self.path.clone(), source };
        let bytes = serde_json::to_vec_pretty(&self.files).map_err(|error| failed(error.into()))?;
        let fresh = self.path.with_extension("json.new");
        std::fs::write(&fresh, bytes).and_then(|()| std::fs::rename(&fresh, &self.path)).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_found_and_others_left_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in
            ["b.warc.gz", "a.warc", "x.warc.wet.gz", "x.warc.wat.gz", "notes.txt", "in/c.arc.gz", "d.cdxj"]
        {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let listed = list(&[folder.path().to_owned(), folder.path().join("notes.txt")]).unwrap();
        let names: Vec<_> = listed
            .files
            .iter()
            .map(|path| path.strip_prefix(folder.path()).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(names, ["a.warc", "b.warc.gz", "in/c.arc.gz", "notes.txt"]);
        assert_eq!(listed.notes.len(), 2, "{:?}", listed.notes);
        assert!(list(&[folder.path().join("none")]).is_err());
    }

    #[test]
    fn positions_are_kept_for_the_same_file_only() {
        let folder = tempfile::tempdir().unwrap();
        let (file, kept) = (folder.path().join("a.warc"), folder.path().join("read.json"));
        std::fs::write(&file, "0123456789").unwrap();
        let mut positions = Positions::open(kept.clone()).unwrap();
        let source = SourceFile::new(file.clone(), &positions).unwrap();
        assert_eq!((source.begin_at, source.is_done), (0, false));
        positions.set(&source, 7, false);
        positions.store().unwrap();
        let source = SourceFile::new(file.clone(), &Positions::open(kept.clone()).unwrap()).unwrap();
        assert_eq!((source.begin_at, source.is_done), (7, false));
        std::fs::write(&file, "another file").unwrap();
        let source = SourceFile::new(file, &Positions::open(kept).unwrap()).unwrap();
        assert_eq!((source.begin_at, source.is_done), (0, false));
    }
}
