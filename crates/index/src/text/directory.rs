//! The file system as tantivy is shown it, so that its commits become current with ours.
//!
//! Tantivy makes a state current by replacing `meta.json`, at every commit and whenever a merge of its own
//! ends, and then deletes files that state no longer needs. Here `meta.json` is a value in memory: the index
//! puts it into its manifest, and one rename makes quads and text current together. Deletions wait until a manifest
//! that does not need the files is in place ([`CommitDirectory::take_state`]). The list of managed files is not
//! kept at all: when a writer opens the directory the list is what lies there, so tantivy's own
//! garbage collection removes what a crash left behind.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

const META: &str = "meta.json";
const MANAGED: &str = ".managed.json";

/// Tantivy's directory, with its metadata in memory.
#[derive(Clone)]
pub(crate) struct CommitDirectory {
    files: MmapDirectory,
    root: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    meta: Option<Vec<u8>>,
    /// Files that `meta` does not need, but an older one may.
    retired: Vec<PathBuf>,
    /// Readers change nothing.
    read_only: bool,
}

impl fmt::Debug for CommitDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitDirectory({})", self.root.display())
    }
}

impl CommitDirectory {
    /// A directory whose `meta.json` is this text, or that has none yet.
    pub(crate) fn open(root: &Path, meta: Option<&str>, read_only: bool) -> tantivy::Result<Self> {
        let state = State { meta: meta.map(|meta| meta.as_bytes().to_vec()), retired: Vec::new(), read_only };
        Ok(Self {
            files: MmapDirectory::open(root)?,
            root: root.to_owned(),
            state: Arc::new(Mutex::new(state)),
        })
    }

    /// The current `meta.json`, and the files that may go once it is in the manifest.
    pub(crate) fn take_state(&self) -> (String, Vec<PathBuf>) {
        let mut state = self.state.lock();
        let meta = state.meta.as_deref().unwrap_or_default();
        (String::from_utf8_lossy(meta).into_owned(), std::mem::take(&mut state.retired))
    }

    /// The current `meta.json`.
    pub(crate) fn meta(&self) -> Option<Vec<u8>> {
        self.state.lock().meta.clone()
    }

    /// Makes an older `meta.json` current again, one since which nothing was taken with [`CommitDirectory::take_state`].
    pub(crate) fn restore(&self, meta: Vec<u8>) {
        let mut state = self.state.lock();
        state.meta = Some(meta);
        // It may need what was to go. What it does not need goes when the index is next opened.
        state.retired.clear();
    }

    /// Removes files that [`CommitDirectory::take_state`] gave.
    pub(crate) fn remove(&self, retired: &[PathBuf]) {
        for path in retired {
            // What cannot be removed now is found again when the index is next opened.
            if let Err(error) = self.files.delete(path) {
                tracing::debug!(path = %path.display(), %error, "file of the text index stays");
            }
        }
    }

    fn list_files(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in self.root.read_dir()? {
            if let Ok(name) = entry?.file_name().into_string()
                && !name.starts_with('.')
            {
                names.push(name);
            }
        }
        Ok(names)
    }
}

impl Directory for CommitDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.files.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let mut state = self.state.lock();
        if !state.read_only {
            state.retired.push(path.to_owned());
        }
        Ok(())
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        if path == Path::new(META) {
            return Ok(self.state.lock().meta.is_some());
        }
        self.files.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        if self.state.lock().read_only {
            return Err(OpenWriteError::wrap_io_error(
                io::ErrorKind::PermissionDenied.into(),
                path.to_owned(),
            ));
        }
        self.files.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        if path == Path::new(META) {
            let meta = self.state.lock().meta.clone();
            return meta.ok_or_else(|| OpenReadError::FileDoesNotExist(path.to_owned()));
        }
        if path == Path::new(MANAGED) {
            return self
                .list_files()
                .and_then(|files| Ok(serde_json::to_vec(&files)?))
                .map_err(|error| OpenReadError::wrap_io_error(error, path.to_owned()));
        }
        self.files.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.read_only {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        if path == Path::new(META) {
            state.meta = Some(data.to_vec());
            return Ok(());
        }
        if path == Path::new(MANAGED) {
            return Ok(());
        }
        drop(state);
        self.files.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        if self.state.lock().read_only { Ok(()) } else { self.files.sync_directory() }
    }

    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        // The index has a lock of its own for writers, and readers try again when a file is gone.
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
