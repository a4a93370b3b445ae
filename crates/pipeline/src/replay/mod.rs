//! Archived pages through the phases, without the network.
//!
//! In: WARC and ARC files, whoever wrote them. Out: the same index that a crawl would have made of the answers in them: page graphs,
//! text, metadata. As many files as there are cores are read at a time, each by a thread that goes from record to record
//! ([`read`]); as many threads as there are cores detect, transform and extract ([`weave`]); and the caller's thread commits,
//! the captures of each file in their order ([`keep`]), so that how far a file was read is one number and a killed run goes on there
//! ([`files`]). Where several captures of a URL meet, the latest is the page and the others are its history, whichever came first.
//! Links are stored as in a crawl; nothing is fetched. Start at [`Replay::run`].

mod budget;
mod contexts;
pub mod files;
mod find;
mod keep;
mod read;
mod syntaxes;
mod weave;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::Mutex;
use webloom_index::{Index, IndexConfig, IndexError};

use self::budget::Budget;
use self::contexts::ArchivedContexts;
use self::files::{Positions, SourceFile};
pub use self::find::{ArchivedCopy, FindCopyError, find_copy};
use self::keep::Keeper;
use self::read::Archived;
pub use self::syntaxes::by_syntax;
use self::weave::Rewoven;
use crate::counters::Counters;
use crate::cpu::STACK_BYTES;
use crate::spec::CrawlSpec;
use crate::wiring::DataDir;
pub use webloom_archive::record::parse_date as parse_time;

/// Jobs that wait for a core, per core.
const JOBS_PER_WORKER: usize = 8;

/// Why archives could not be read into an index.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The index failed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A file or directory cannot be used.
    #[error("cannot use `{path}`: {source}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
}

/// What was read so far; grows while it is looked at.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of all files that are to be read.
    pub bytes_total: AtomicU64,
    /// Bytes read, those of an earlier run included.
    pub bytes: AtomicU64,
    /// Records read in this run.
    pub records: AtomicU64,
    /// Of these, answers and resources.
    pub answers: AtomicU64,
    /// Captures that were not the latest of their URL.
    pub older: AtomicU64,
    /// Places where files are damaged.
    pub problems: AtomicU64,
    skipped: Mutex<BTreeMap<&'static str, u64>>,
    notes: Mutex<Vec<String>>,
}

/// Things told of one run at most; a file damaged in a thousand places is told by the first few.
const NOTES_MAX: usize = 100;

impl Progress {
    pub(crate) fn skip(&self, why: &'static str) {
        *self.skipped.lock().entry(why).or_default() += 1;
    }

    pub(crate) fn note(&self, note: String) {
        let mut notes = self.notes.lock();
        if notes.len() < NOTES_MAX {
            notes.push(note);
        }
    }

    /// What people should know, since the last call.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.notes.lock())
    }

    /// Records that are no pages, by kind.
    pub fn skipped(&self) -> BTreeMap<&'static str, u64> {
        self.skipped.lock().clone()
    }
}

/// The files of a run: which is to be read next, and how many could not be.
#[derive(Debug, Default)]
struct Queue {
    next: AtomicUsize,
    failed: AtomicUsize,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplaySummary {
    /// Files that were read to their end, now or before.
    pub files: usize,
    /// Files that could not be read at all.
    pub failed: usize,
    /// True when it was asked to stop.
    pub stopped: bool,
}

/// Archive files on their way into an index.
pub struct Replay {
    index: Index,
    spec: Arc<CrawlSpec>,
    files: Vec<SourceFile>,
    positions: Mutex<Positions>,
    counters: Arc<Counters>,
    progress: Arc<Progress>,
}

impl Replay {
    /// Opens the index of `data`. `positions` is the file that remembers how far each archive file was read.
    pub fn open(
        data: &DataDir,
        mut spec: CrawlSpec,
        files: Vec<PathBuf>,
        positions: PathBuf,
    ) -> Result<Self, ReplayError> {
        std::fs::create_dir_all(data.path())
            .map_err(|source| ReplayError::Io { path: data.path().to_owned(), source })?;
        let index = Index::open(&data.index(), IndexConfig::default())?;
        let positions = Positions::open(positions)?;
        let files: Vec<SourceFile> =
            files.into_iter().map(|path| SourceFile::new(path, &positions)).collect::<Result<_, _>>()?;
        let progress = Arc::new(Progress::default());
        for file in &files {
            progress.bytes_total.fetch_add(file.bytes, Relaxed);
            progress.bytes.fetch_add(file.begin_at.min(file.bytes), Relaxed);
        }
        let contexts = ArchivedContexts::new(&files, spec.transform.contexts.clone());
        spec.transform.contexts = Arc::new(contexts);
        let counters = Arc::default();
        Ok(Self { index, spec: Arc::new(spec), files, positions: Mutex::new(positions), counters, progress })
    }

    /// How far it is.
    pub fn progress(&self) -> Arc<Progress> {
        self.progress.clone()
    }

    /// What the phases did.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// Reads everything that was not read yet, or until `stop` is set; then the same call goes on where it was.
    pub fn run(&self, stop: &AtomicBool) -> Result<ReplaySummary, ReplayError> {
        let workers = self.spec.work.workers;
        let (jobs, waiting) = bounded::<Archived>(workers * JOBS_PER_WORKER);
        let (done, woven) = bounded::<Rewoven>(workers * JOBS_PER_WORKER);
        let budget = Budget::default();
        let queue = Queue::default();
        let mut keeper = Keeper::new(self, &budget);
        let kept = std::thread::scope(|scope| {
            let threads = || -> std::io::Result<()> {
                let builder = || std::thread::Builder::new().stack_size(STACK_BYTES);
                for number in 0..workers {
                    let (waiting, done) = (waiting.clone(), done.clone());
                    let name = format!("webloom-replay-{number}");
                    builder().name(name).spawn_scoped(scope, move || self.weave_all(&waiting, &done))?;
                }
                for number in 0..self.readers() {
                    let (jobs, budget, queue) = (jobs.clone(), &budget, &queue);
                    let name = format!("webloom-replay-read-{number}");
                    builder()
                        .name(name)
                        .spawn_scoped(scope, move || self.read_all(&jobs, budget, queue, stop))?;
                }
                Ok(())
            };
            let started = threads();
            // The queues end when the threads that feed them do.
            drop((jobs, waiting, done));
            let kept = started.map_err(ReplayError::Thread).and_then(|()| keeper.run(&woven));
            // After a failure nobody empties the queue; closing it ends the threads.
            budget.close();
            drop(woven);
            kept
        });
        kept?;
        let failed = queue.failed.load(Relaxed);
        Ok(ReplaySummary { files: self.files.len() - failed, failed, stopped: stop.load(Relaxed) })
    }

    /// Files that are read at a time. One reader unpacks what some twenty cores weave; more of them are for machines that have more,
    /// and for files that are slow to come.
    fn readers(&self) -> usize {
        let waiting = self.files.iter().filter(|file| !file.is_done).count();
        waiting.clamp(1, self.spec.work.workers)
    }

    /// Reads one file after the other, those that no other reader has taken.
    fn read_all(&self, jobs: &Sender<Archived>, budget: &Budget, queue: &Queue, stop: &AtomicBool) {
        let mut reading = read::Reading::new(self, jobs, budget, stop);
        loop {
            let number = queue.next.fetch_add(1, Relaxed);
            let Some(file) = self.files.get(number) else { return };
            if file.is_done {
                continue;
            }
            match reading.file(number, file) {
                Ok(read::Ended::Whole) => {}
                Ok(read::Ended::Stopped) => return,
                Err(error) => {
                    queue.failed.fetch_add(1, Relaxed);
                    self.progress.note(format!("{}: {error}", file.path.display()));
                }
            }
        }
    }

    fn weave_all(&self, waiting: &Receiver<Archived>, done: &Sender<Rewoven>) {
        for archived in waiting {
            if done.send(weave::weave(&self.spec, &self.counters, &self.progress, archived)).is_err() {
                return;
            }
        }
    }
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay").field("files", &self.files.len()).finish_non_exhaustive()
    }
}
