//! How far each source has come, in memory and in `sources.json`.
//!
//! In: the sources of the specification and what their steps say. Out: which of them to work on, and their state. The file is
//! written anew after every step, beside the old one and then in its place; it says nothing that the index does not hold
//! already, so a kill between the two repeats a step, which leaves the same graphs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use webloom_model::PageUrl;

use super::sparql::Reading;
use super::{SourceKind, SourceSpec, Step};
use crate::crawl::CrawlError;

/// Sources of one crawl, those that others name included.
const SOURCES_MAX: usize = 10_000;
/// The least that is asked for at once.
const PAGE_SIZE_MIN: u64 = 50;

/// One source, and how far it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SourceState {
    pub kind: SourceKind,
    pub url: PageUrl,
    /// The source that named it.
    #[serde(default)]
    pub found_in: Option<PageUrl>,
    pub status: Status,
    /// Rows or entries read so far; of an endpoint, of the part of it that is being read.
    #[serde(default)]
    pub offset: u64,
    /// Which part of an endpoint that is. Endpoints of earlier versions, which were read row by row, have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// Rows to ask for next; zero before the first step.
    #[serde(default)]
    pub page_size: u64,
    /// Triples stored so far.
    #[serde(default)]
    pub triples: u64,
    /// Steps that failed in a row.
    #[serde(default)]
    pub attempts: u32,
    /// Why the last one failed.
    #[serde(default)]
    pub reason: Option<String>,
}

/// Where a source stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Status {
    Waiting,
    Done,
    GivenUp,
}

impl SourceState {
    fn new(spec: SourceSpec, found_in: Option<PageUrl>) -> Self {
        Self {
            kind: spec.kind,
            url: spec.url,
            found_in,
            status: Status::Waiting,
            offset: 0,
            reading: None,
            page_size: 0,
            triples: 0,
            attempts: 0,
            reason: None,
        }
    }

    fn is(&self, spec: &SourceSpec) -> bool {
        self.kind == spec.kind && self.url == spec.url
    }

    /// Whether less can be asked for at once.
    pub fn can_shrink(&self) -> bool {
        self.kind == SourceKind::Sparql && self.page_size > PAGE_SIZE_MIN
    }
}

/// All sources of a crawl.
#[derive(Debug)]
pub(crate) struct Sources {
    file: PathBuf,
    table: Mutex<Table>,
    halted: AtomicBool,
    busy: AtomicBool,
}

#[derive(Debug, Default)]
struct Table {
    states: Vec<SourceState>,
    /// Those that somebody works on in this run, or has.
    taken: Vec<bool>,
}

impl Sources {
    /// What the file says, and the sources of the specification that are not in it.
    pub fn open(file: &Path, specs: &[SourceSpec]) -> Result<Self, CrawlError> {
        let damaged = |source: io::Error| CrawlError::Sources { path: file.to_owned(), source };
        let states: Vec<SourceState> = match std::fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| damaged(error.into()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(damaged(error)),
        };
        let taken = vec![false; states.len()];
        let mut table = Table { states, taken };
        table.add(specs, None);
        table.revive(specs);
        let busy = table.states.iter().any(|state| state.status == Status::Waiting);
        let sources = Self {
            file: file.to_owned(),
            table: Mutex::new(table),
            halted: AtomicBool::new(false),
            busy: AtomicBool::new(busy),
        };
        if busy {
            sources.save()?;
        }
        Ok(sources)
    }

    /// True until [`super::run`] has nothing left to do.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Relaxed)
    }

    /// Says that there is nothing left to do.
    pub(super) fn rest(&self) {
        self.busy.store(false, Relaxed);
    }

    /// Asks that no further step is begun.
    pub fn halt(&self) {
        self.halted.store(true, Relaxed);
    }

    pub(super) fn is_halted(&self) -> bool {
        self.halted.load(Relaxed)
    }

    /// A source that waits, for whoever asks.
    pub(super) fn take_waiting(&self) -> Option<usize> {
        if self.is_halted() {
            return None;
        }
        let mut table = self.table.lock();
        let mut numbers = 0..table.states.len();
        let number =
            numbers.find(|&number| !table.taken[number] && table.states[number].status == Status::Waiting)?;
        table.taken[number] = true;
        Some(number)
    }

    pub(super) fn state(&self, number: usize) -> SourceState {
        self.table.lock().states[number].clone()
    }

    /// Notes a step.
    pub(super) fn advance(&self, number: usize, found_in: &PageUrl, step: Step) -> Result<(), CrawlError> {
        self.change(number, |table, number| {
            let state = &mut table.states[number];
            state.offset = step.offset;
            state.reading = step.reading;
            state.page_size = step.page_size;
            state.triples += step.triples;
            state.attempts = 0;
            state.reason = step.remark;
            if step.done {
                state.status = Status::Done;
            }
            table.add(&step.sources, Some(found_in));
        })
    }

    /// Notes a step that failed. Who is overloaded is asked for half as much.
    pub(super) fn failed(&self, number: usize, reason: String, overloaded: bool) -> Result<(), CrawlError> {
        self.change(number, |table, number| {
            let state = &mut table.states[number];
            match overloaded && state.can_shrink() {
                true => state.page_size = (state.page_size / 2).max(PAGE_SIZE_MIN),
                false => state.attempts += 1,
            }
            state.reason = Some(reason);
        })
    }

    pub(super) fn give_up(&self, number: usize, reason: String) -> Result<(), CrawlError> {
        self.change(number, |table, number| {
            table.states[number].status = Status::GivenUp;
            table.states[number].reason = Some(reason);
        })
    }

    fn change(&self, number: usize, change: impl FnOnce(&mut Table, usize)) -> Result<(), CrawlError> {
        change(&mut self.table.lock(), number);
        self.save()
    }

    fn save(&self) -> Result<(), CrawlError> {
        // Written under the lock, so that an older state never replaces a newer one.
        let table = self.table.lock();
        let write = || {
            let beside = self.file.with_extension("json.new");
            let mut file = std::fs::File::create(&beside)?;
            file.write_all(&serde_json::to_vec_pretty(&table.states)?)?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.file)
        };
        write().map_err(|source| CrawlError::Sources { path: self.file.clone(), source })
    }
}

impl Table {
    /// Whoever names a source that was given up wants it tried again.
    fn revive(&mut self, specs: &[SourceSpec]) {
        let given_up = self.states.iter_mut().filter(|state| state.status == Status::GivenUp);
        for state in given_up.filter(|state| specs.iter().any(|spec| state.is(spec))) {
            state.status = Status::Waiting;
            state.attempts = 0;
        }
    }

    fn add(&mut self, specs: &[SourceSpec], found_in: Option<&PageUrl>) {
        for spec in specs {
            let is_known = self.states.iter().any(|state| state.is(spec));
            if !is_known && self.states.len() < SOURCES_MAX {
                self.states.push(SourceState::new(spec.clone(), found_in.cloned()));
                self.taken.push(false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_survive() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sources.json");
        let specs: Vec<SourceSpec> = ["sparql=http://a.example/sparql", "void=http://a.example/void"]
            .map(|text| text.parse().unwrap())
            .into();
        let sources = Sources::open(&file, &specs).unwrap();
        assert!(sources.is_busy());
        let number = sources.take_waiting().unwrap();
        let step = Step { offset: 100, page_size: 100, triples: 90, ..Step::default() };
        sources.advance(number, &specs[0].url, step).unwrap();
        sources.failed(number, "busy".to_owned(), true).unwrap();
        let other = sources.take_waiting().unwrap();
        let found = vec!["dump=http://b.example/d.nt".parse().unwrap(), specs[0].clone()];
        let step = Step { done: true, sources: found, ..Step::default() };
        sources.advance(other, &specs[1].url, step).unwrap();

        let again = Sources::open(&file, &specs).unwrap();
        let state = again.state(0);
        assert_eq!((state.offset, state.page_size, state.triples, state.attempts), (100, 50, 90, 0));
        assert_eq!(again.state(1).status, Status::Done);
        assert_eq!(again.state(2).found_in.as_ref(), Some(&specs[1].url));
        assert_eq!(
            [again.take_waiting(), again.take_waiting(), again.take_waiting()],
            [Some(0), Some(2), None]
        );
        again.halt();
        assert!(Sources::open(&file, &[]).unwrap().is_busy());
        // What was given up is tried again by those who name it.
        again.give_up(0, "away".to_owned()).unwrap();
        assert_eq!(Sources::open(&file, &[]).unwrap().state(0).status, Status::GivenUp);
        let state = Sources::open(&file, &specs).unwrap().state(0);
        assert_eq!((state.status, state.offset), (Status::Waiting, 100));

        std::fs::write(&file, "{").unwrap();
        assert!(Sources::open(&file, &specs).unwrap_err().to_string().contains("sources.json"));
    }
}
