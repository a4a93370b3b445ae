//! A copy of an index, consistent although somebody writes it.
//!
//! In: the directory of an index, and where the copy goes. Out: an index of its own in the state of one manifest. Files of an
//! index are written once and never changed, so where the file system allows it the copy shares them by hard links, and takes
//! neither time nor room. The manifest comes last: a copy that was not finished is no index. No lock is taken; when a file that
//! the manifest names is gone, a newer manifest exists, and copying starts over with that one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::IndexError;
use crate::manifest::{self, Manifest};
use crate::reader::{IndexReader, text_directory};
use crate::segment::read::segment_path;
use crate::text::TextSearcher;

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BackupReceipt {
    /// The state the copy is of.
    pub generation: u64,
    /// Files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Files that are shared with the original.
    pub linked: u64,
}

/// How often copying starts over. Each time a whole commit or merge has happened.
const ATTEMPTS_MAX: usize = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Copies the index in `from` to `to`, where there must be none. Both can be read and written independently afterwards.
pub fn backup(from: &Path, to: &Path) -> Result<BackupReceipt, IndexError> {
    if manifest::read(to)?.is_some() {
        return Err(IndexError::Exists { path: to.to_owned() });
    }
    for path in [to.join("segments"), text_directory(to)] {
        fs::create_dir_all(&path).map_err(IndexError::io("create", &path))?;
    }
    let mut attempt = 1;
    loop {
        match copy_once(from, to) {
            Err(error) if error.is_vanished_file() && attempt < ATTEMPTS_MAX => {
                attempt += 1;
                std::thread::sleep(PAUSE);
            }
            done => return done,
        }
    }
}

fn copy_once(from: &Path, to: &Path) -> Result<BackupReceipt, IndexError> {
    let bytes = manifest::read(from)?.ok_or_else(|| IndexError::Missing { path: from.to_owned() })?;
    let manifest = Manifest::parse(from, &bytes)?;
    // Opening the text holds its files open, but names are what is copied; a name that is gone is noticed below.
    let text = TextSearcher::open(&text_directory(from), &manifest.text_meta)?;
    let mut files: Vec<(PathBuf, PathBuf)> = manifest
        .segments
        .iter()
        .map(|record| (segment_path(from, record.number), segment_path(to, record.number)))
        .collect();
    for name in text.file_names(&text_directory(from))? {
        files.push((text_directory(from).join(&name), text_directory(to).join(&name)));
    }
    let mut receipt = BackupReceipt { generation: manifest.generation, ..BackupReceipt::default() };
    for (source, target) in &files {
        let (bytes, linked) = copy_file(source, target)?;
        receipt.files += 1;
        receipt.bytes += bytes;
        receipt.linked += u64::from(linked);
    }
    for directory in [to.join("segments"), text_directory(to)] {
        remove_others(&directory, &files)?;
        manifest::sync_directory(&directory)?;
    }
    // What was copied must be whole before it is called a copy. The text is asked by the names it had; a file of it that vanished
    // between listing and copying shows here.
    TextSearcher::open(&text_directory(to), &manifest.text_meta)?;
    manifest.store(to)?;
    IndexReader::open(to)?;
    Ok(receipt)
}

/// Links the file, or copies it durably where it cannot be linked. A file that is there from an earlier attempt stays.
fn copy_file(source: &Path, target: &Path) -> Result<(u64, bool), IndexError> {
    let length = fs::metadata(source).map_err(IndexError::io("read", source))?.len();
    if fs::metadata(target).is_ok_and(|there| there.len() == length) {
        return Ok((length, false));
    }
    match fs::hard_link(source, target) {
        Ok(()) => return Ok((length, true)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(IndexError::io("link", source)(error));
        }
        // Another file system, or one without links.
        Err(_) => {}
    }
    let copy = || -> io::Result<u64> {
        let mut input = File::open(source)?;
        let mut output = File::create(target)?;
        let bytes = io::copy(&mut input, &mut output)?;
        output.sync_all()?;
        Ok(bytes)
    };
    let bytes = copy().map_err(IndexError::io("copy", source))?;
    Ok((bytes, false))
}

/// Removes what earlier attempts left.
fn remove_others(directory: &Path, files: &[(PathBuf, PathBuf)]) -> Result<(), IndexError> {
    for entry in fs::read_dir(directory).map_err(IndexError::io("list", directory))? {
        let path = entry.map_err(IndexError::io("list", directory))?.path();
        if !files.iter().any(|(_, target)| *target == path) {
            fs::remove_file(&path).map_err(IndexError::io("remove", &path))?;
        }
    }
    Ok(())
}
