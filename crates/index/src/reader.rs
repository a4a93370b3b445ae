//! Reading an index that another process may be writing.
//!
//! In: a directory. Out: [`Snapshot`]s, always of the newest manifest. No lock is taken: when a file that
//! the manifest names is gone, a newer manifest exists, and the reader starts over with that one.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::error::IndexError;
use crate::manifest::{self, Manifest};
use crate::segment::Segment;
use crate::snapshot::Snapshot;
use crate::term::TermHasher;
use crate::text::TextSearcher;
use crate::view::View;

/// How often a reader starts over because files vanished under it. Each time a whole commit or merge has happened.
const ATTEMPTS_MAX: usize = 50;
const PAUSE: Duration = Duration::from_millis(10);

/// Opens snapshots of an index, in any number of processes, while one other writes.
#[derive(Debug)]
pub struct IndexReader {
    directory: PathBuf,
    newest: Mutex<Option<Opened>>,
}

#[derive(Debug)]
struct Opened {
    manifest_bytes: Vec<u8>,
    text_meta: String,
    view: Arc<View>,
}

impl IndexReader {
    /// Opens the index in `directory`, which must exist.
    pub fn open(directory: &Path) -> Result<Self, IndexError> {
        let reader = Self { directory: directory.to_owned(), newest: Mutex::new(None) };
        reader.snapshot()?;
        Ok(reader)
    }

    /// The newest state. When nothing was committed since the last call, this reads one small file.
    pub fn snapshot(&self) -> Result<Snapshot, IndexError> {
        let mut newest = self.newest.lock();
        for attempt in 1.. {
            let bytes = manifest::read(&self.directory)?
                .ok_or_else(|| IndexError::Missing { path: self.directory.clone() })?;
            if let Some(opened) = &*newest
                && opened.manifest_bytes == bytes
            {
                return Ok(Snapshot { view: Arc::clone(&opened.view) });
            }
            match open(&self.directory, bytes, newest.as_ref()) {
                Ok(opened) => {
                    let view = Arc::clone(&opened.view);
                    *newest = Some(opened);
                    return Ok(Snapshot { view });
                }
                Err(error) if error.is_vanished_file() && attempt < ATTEMPTS_MAX => std::thread::sleep(PAUSE),
                Err(error) => return Err(error),
            }
        }
        Err(IndexError::Stopped)
    }
}

fn open(directory: &Path, manifest_bytes: Vec<u8>, before: Option<&Opened>) -> Result<Opened, IndexError> {
    let manifest = Manifest::parse(directory, &manifest_bytes)?;
    let key = manifest.key(directory)?;
    // Another key is another store, put where the old one was; its segments have the old one's numbers.
    let before = before.filter(|before| before.view.hasher.key() == key);
    let hasher = match before {
        Some(before) => Arc::clone(&before.view.hasher),
        None => Arc::new(TermHasher::new(key)),
    };
    let text = match before {
        Some(before) if before.text_meta == manifest.text_meta => before.view.text.clone(),
        _ => TextSearcher::open(&text_directory(directory), &manifest.text_meta)?,
    };
    let segments = open_segments(directory, &manifest, before.map(|before| &*before.view))?;
    let view = View::new(manifest.generation, hasher, &segments, text, before.map(|before| &*before.view));
    Ok(Opened { manifest_bytes, text_meta: manifest.text_meta, view: Arc::new(view) })
}

/// The segments a manifest names, those of an earlier view reused.
pub(crate) fn open_segments(
    directory: &Path,
    manifest: &Manifest,
    before: Option<&View>,
) -> Result<Vec<Arc<Segment>>, IndexError> {
    let known = |number: u64| {
        before?.segments.iter().map(|view| &view.segment).find(|segment| segment.number() == number).cloned()
    };
    let open = |number: u64| match known(number) {
        Some(segment) => Ok(segment),
        None => Segment::open(directory, number).map(Arc::new),
    };
    manifest.segments.iter().map(|record| open(record.number)).collect()
}

/// Where the text index of an index is.
pub(crate) fn text_directory(directory: &Path) -> PathBuf {
    directory.join("text")
}
