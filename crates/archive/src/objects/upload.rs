//! Copies complete files to an object store while the crawl goes on.
//!
//! In: a folder where files are completed. Out: the same files in the store, each with its index, and in the folder a note of where it
//! is instead of the file. A store that cannot be reached costs nothing: files stay in the folder and are tried again, now and
//! whenever the archive is opened.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use tracing::{error, info};

use super::Objects;
use crate::elsewhere::Stored;
use crate::store::{BodyStore, LocalStore};
use crate::write::index_name;

/// The pause before a store that failed is tried again; doubles each time.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// The longest such pause.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(5 * 60);

/// What was left in the folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Left {
    /// How many files.
    pub files: usize,
    /// Why the first of them could not be copied.
    pub reason: Option<String>,
}

/// Copies files on a thread of its own.
#[derive(Debug)]
pub struct Uploader {
    work: Arc<Work>,
    /// Rung when a file was completed; hung up at the end.
    bell: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Work {
    folder: PathBuf,
    objects: Arc<Objects>,
}

impl Uploader {
    /// Begins with what is in the folder already.
    pub fn start(folder: &Path, objects: Arc<Objects>) -> io::Result<Self> {
        let work = Arc::new(Work { folder: folder.to_owned(), objects });
        let (bell, rung) = channel();
        let thread = std::thread::Builder::new().name("webloom-upload".to_owned()).spawn({
            let work = work.clone();
            move || work.run(&rung)
        })?;
        Ok(Self { work, bell: Some(bell), thread: Some(thread) })
    }

    /// Says that a file was completed.
    pub fn ring(&self) {
        if let Some(bell) = &self.bell {
            // The thread ends only when the bell is gone.
            let _ = bell.send(());
        }
    }

    /// Copies all that is complete in a folder, and waits for it.
    pub fn run_once(folder: &Path, objects: Arc<Objects>) -> io::Result<Left> {
        Work { folder: folder.to_owned(), objects }.pass()
    }
}

impl Drop for Uploader {
    /// Tries what is left once more, and tells what could not be copied.
    fn drop(&mut self) {
        self.bell = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let left =
            self.work.pass().unwrap_or_else(|error| Left { files: 0, reason: Some(error.to_string()) });
        if left != Left::default() {
            error!(
                "{} archive files could not be copied to {} ({}); they stay in `{}`, nothing is lost: \
                 `webloom warc upload`, or the next crawl into this directory, tries again",
                left.files,
                self.work.objects.url(),
                left.reason.unwrap_or_default(),
                self.work.folder.display(),
            );
        }
    }
}

impl Work {
    fn run(&self, rung: &Receiver<()>) {
        let mut pause = RETRY_PAUSE;
        loop {
            let failed = match self.pass() {
                Ok(Left { files: 0, .. }) => None,
                Ok(left) => left.reason,
                Err(error) => Some(error.to_string()),
            };
            let ended = match failed {
                Some(reason) => {
                    error!(
                        "archive files cannot be copied to {}: {reason}; they stay in `{}` and are tried again in {} s",
                        self.objects.url(),
                        self.folder.display(),
                        pause.as_secs(),
                    );
                    let ended = self.sleep(rung, pause);
                    pause = (pause * 2).min(RETRY_PAUSE_MAX);
                    ended
                }
                None => {
                    if pause > RETRY_PAUSE {
                        error!("archive files are copied to {} again", self.objects.url());
                    }
                    pause = RETRY_PAUSE;
                    rung.recv().is_err()
                }
            };
            if ended {
                return;
            }
        }
    }

    /// Waits, however often somebody rings. True when there is nobody any more who could.
    fn sleep(&self, rung: &Receiver<()>, pause: Duration) -> bool {
        let until = std::time::Instant::now() + pause;
        loop {
            let left = until.saturating_duration_since(std::time::Instant::now());
            match rung.recv_timeout(left) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    /// Copies what is complete, one file after the other. After a failure the others are only counted.
    fn pass(&self) -> io::Result<Left> {
        let local = LocalStore::new(&self.folder);
        let mut left = Left::default();
        for file in local.list()?.into_iter().filter(|file| !file.is_open && !file.is_elsewhere) {
            if left.reason.is_none() {
                match self.upload(&local, &file.name, file.length) {
                    Ok(()) => continue,
                    Err(error) => left.reason = Some(format!("{}: {error}", file.name)),
                }
            }
            left.files += 1;
        }
        Ok(left)
    }

    fn upload(&self, local: &LocalStore, name: &str, length: u64) -> io::Result<()> {
        let path = local.path(name);
        self.objects.put_file(name, &path)?;
        let index = index_name(name, false);
        let index_path = self.folder.join(&index);
        if index_path.is_file() {
            self.objects.put_file(&index, &index_path)?;
        }
        // The index stays here too: looking for a page asks nobody.
        Stored { store: self.objects.url().to_owned(), bytes: length }.write(&path)?;
        std::fs::remove_file(&path)?;
        info!(
            file = name,
            bytes = length,
            store = self.objects.url(),
            "an archive file was copied to its store"
        );
        Ok(())
    }
}
