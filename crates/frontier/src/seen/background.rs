//! The threads behind the store: one writes full tables out as runs, two merge runs and make filters.
//!
//! They share lists of tables and runs with the store behind a lock that is held for a moment only. Runs lie in the order of the
//! log. Each is kept [`RATIO`] times as large as all newer ones together, so there are few, most keys are in the first that is looked
//! at, and a key is rewritten a logarithmic number of times. While a large merge goes on, the other thread merges what is newer. Adding keys
//! waits in one case only: when the disk is so slow that [`TABLES_MAX`] full tables lie in memory.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

use super::filter::Filter;
use super::key::UrlKey;
use super::run::{Run, RunRecords, RunWriter};
use super::{Keys, Table};
use crate::threads::Threads;

/// How many times a run is as large as all newer ones, at least, when all merges are done.
const RATIO: u64 = 4;
/// Full tables in memory, at most.
const TABLES_MAX: usize = 3;
/// Keys that are merged between two looks at whether to stop.
const KEYS_BETWEEN_LOOKS: u64 = 1 << 16;

type Tables = Vec<Arc<Table>>;
type Runs = Vec<Arc<Run>>;

/// What the store and its threads have in common.
pub(super) struct Shared {
    directory: PathBuf,
    state: Mutex<State>,
    /// Rung when there is work, when work is done, and at the end.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Full tables, oldest first.
    frozen: Vec<Arc<Table>>,
    /// The table that was written out last. Links mostly lead to what was found lately, so it is looked at until its room is wanted for the
    /// next one: memory that is used again need not be cleared, and what a crawl takes stays the same.
    written: Option<Arc<Table>>,
    /// In the order of the log.
    runs: Vec<Arc<Run>>,
    /// Where the runs begin that are being merged.
    merging: HashSet<u64>,
    /// Bytes of the filter that is wished for.
    filter_wish: Option<usize>,
    filter_made: Option<Filter>,
    /// Why a thread gave up.
    failure: Option<String>,
    stop: bool,
}

impl Shared {
    pub fn new(directory: &Path, runs: Vec<Arc<Run>>) -> Self {
        let state = State { runs, ..State::default() };
        Self { directory: directory.to_owned(), state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The tables that are at hand and the runs, as they are now.
    pub fn look(&self) -> io::Result<(Tables, Runs)> {
        let state = self.state.lock();
        state.check()?;
        let tables = state.frozen.iter().chain(&state.written).cloned().collect();
        Ok((tables, state.runs.clone()))
    }

    pub fn runs(&self) -> usize {
        self.state.lock().runs.len()
    }

    /// Takes a full table.
    pub fn freeze(&self, table: Table) -> io::Result<()> {
        let mut state = self.state.lock();
        while state.frozen.len() >= TABLES_MAX && state.failure.is_none() {
            self.changed.wait(&mut state);
        }
        state.check()?;
        state.frozen.push(Arc::new(table));
        self.changed.notify_all();
        Ok(())
    }

    /// An empty table's keys, with the room of the one that was written out last if nobody looks at it just now.
    pub fn take_spare(&self) -> Keys {
        let written = self.state.lock().written.take();
        let mut keys = written.and_then(Arc::into_inner).map(|table| table.keys).unwrap_or_default();
        keys.clear();
        keys
    }

    pub fn ask_for_filter(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.filter_made = None;
        state.filter_wish = Some(bytes);
        self.changed.notify_all();
    }

    pub fn take_filter(&self) -> Option<Filter> {
        self.state.lock().filter_made.take()
    }

    fn fail(&self, what: &str, error: &io::Error) {
        tracing::error!(%error, "{what} failed");
        self.state.lock().failure = Some(format!("{what}: {error}"));
        self.changed.notify_all();
    }
}

impl State {
    /// Runs to be merged next, marked as being merged: of those that are newer than all that are.
    fn next_merge(&mut self) -> Option<Vec<Arc<Run>>> {
        let busy = self.runs.iter().rposition(|run| self.merging.contains(&run.from));
        let free = &self.runs[busy.map_or(0, |busy| busy + 1)..];
        let counts: Vec<u64> = free.iter().map(|run| run.count).collect();
        let runs = free[mergeable(&counts)?..].to_vec();
        self.merging.extend(runs.iter().map(|run| run.from));
        Some(runs)
    }

    fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some(failure) => Err(io::Error::other(failure.clone())),
            None => Ok(()),
        }
    }
}

/// From which run on all runs are to be merged into one, by their sizes, oldest first: from the oldest that is less than [`RATIO`] times as
/// large as all that are newer.
fn mergeable(counts: &[u64]) -> Option<usize> {
    let mut newer = 0;
    let mut from = None;
    for (number, &count) in counts.iter().enumerate().rev() {
        if count < newer * RATIO {
            from = Some(number);
        }
        newer += count;
    }
    from
}

/// Starts the threads.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<Threads> {
    // While one merges much, the other merges what is newer.
    let works = [
        ("webloom-seen-flush", flush as fn(&Shared)),
        ("webloom-seen-merge", merge),
        ("webloom-seen-merge", merge),
    ];
    Threads::start("URL store", shared, &works)
}

/// Ends the threads; work that was begun is dropped, for the log holds all of it.
pub(super) fn stop(threads: &mut Threads, shared: &Shared) {
    shared.state.lock().stop = true;
    shared.changed.notify_all();
    threads.join();
}

/// Writes full tables out, oldest first.
fn flush(shared: &Shared) {
    let mut sorted = Vec::new();
    loop {
        let table = {
            let mut state = shared.state.lock();
            loop {
                if state.stop || state.failure.is_some() {
                    return;
                }
                match state.frozen.first() {
                    Some(table) => break table.clone(),
                    None => shared.changed.wait(&mut state),
                }
            }
        };
        match write_table(&shared.directory, &table, &mut sorted) {
            Ok(run) => {
                let mut state = shared.state.lock();
                state.runs.push(Arc::new(run));
                state.frozen.remove(0);
                let before = state.written.replace(table);
                drop(state);
                shared.changed.notify_all();
                drop(before);
            }
            Err(error) => return shared.fail("writing known URLs out", &error),
        }
    }
}

/// Writes a table out as a run; `sorted` is room to sort it in.
fn write_table(directory: &Path, table: &Table, sorted: &mut Vec<(UrlKey, u64)>) -> io::Result<Run> {
    sorted.clear();
    sorted.extend(table.keys.iter().map(|(key, position)| (*key, *position)));
    sorted.sort_unstable();
    let mut writer = RunWriter::new(directory, table.from, table.to, sorted.len() as u64)?;
    for &(key, position) in &*sorted {
        writer.push(key, position)?;
    }
    writer.finish()
}

enum Work {
    Merge(Vec<Arc<Run>>),
    Filter(usize, Vec<Arc<Table>>, Vec<Arc<Run>>),
}

/// Makes filters, which are waited for, and merges runs, which can wait.
fn merge(shared: &Shared) {
    loop {
        let work = {
            let mut state = shared.state.lock();
            loop {
                if state.stop || state.failure.is_some() {
                    return;
                }
                if let Some(bytes) = state.filter_wish.take() {
                    break Work::Filter(bytes, state.frozen.clone(), state.runs.clone());
                }
                match state.next_merge() {
                    Some(runs) => break Work::Merge(runs),
                    None => shared.changed.wait(&mut state),
                }
            }
        };
        let done = match work {
            Work::Filter(bytes, tables, runs) => make_filter(shared, bytes, &tables, &runs),
            Work::Merge(runs) => merge_runs(shared, &runs),
        };
        if let Err(error) = done {
            return shared.fail("merging known URLs", &error);
        }
    }
}

fn make_filter(shared: &Shared, bytes: usize, tables: &[Arc<Table>], runs: &[Arc<Run>]) -> io::Result<()> {
    let mut filter = Filter::with_bytes(bytes);
    for table in tables {
        table.keys.keys().for_each(|key| filter.insert(*key));
    }
    let mut keys = 0_u64;
    for run in runs {
        run.each_key(|key| {
            filter.insert(key);
            keys += 1;
            !keys.is_multiple_of(KEYS_BETWEEN_LOOKS) || !shared.state.lock().stop
        })?;
        if shared.state.lock().stop {
            return Ok(());
        }
    }
    shared.state.lock().filter_made = Some(filter);
    Ok(())
}

/// Merges neighbours into one run, and puts it in their place.
fn merge_runs(shared: &Shared, runs: &[Arc<Run>]) -> io::Result<()> {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(()) };
    let count = runs.iter().map(|run| run.count).sum();
    let mut writer = RunWriter::new(&shared.directory, first.from, last.to, count)?;
    let mut sources: Vec<(RunRecords, (UrlKey, u64))> = Vec::with_capacity(runs.len());
    for run in runs {
        let mut records = run.records()?;
        if let Some(head) = records.next()? {
            sources.push((records, head));
        }
    }
    let mut written = 0_u64;
    // There are few sources: looking at all heads is quicker than keeping them in order.
    while let Some(least) = (0..sources.len()).min_by_key(|&source| sources[source].1.0) {
        let (records, head) = &mut sources[least];
        writer.push(head.0, head.1)?;
        match records.next()? {
            Some(next) => *head = next,
            None => drop(sources.swap_remove(least)),
        }
        written += 1;
        if written.is_multiple_of(KEYS_BETWEEN_LOOKS) && shared.state.lock().stop {
            return Ok(());
        }
    }
    let merged = Arc::new(writer.finish()?);
    {
        let mut state = shared.state.lock();
        // Nobody else touches runs that are being merged, so they are still there, side by side.
        if let Some(at) = state.runs.iter().position(|run| run.from == first.from) {
            state.runs.splice(at..at + runs.len(), [merged]);
        }
        for run in runs {
            state.merging.remove(&run.from);
        }
    }
    shared.changed.notify_all();
    runs.iter().for_each(|run| run.remove());
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // Tables come one by one or in bursts; merging keeps up or falls behind.
        #[test]
        fn runs_stay_few_and_keys_are_seldom_rewritten(bursts in prop::collection::vec(1_usize..40, 1..60)) {
            let mut runs: Vec<u64> = Vec::new();
            let (mut tables, mut rewritten) = (0_u64, 0_u64);
            for burst in bursts {
                runs.extend(std::iter::repeat_n(1000, burst));
                tables += burst as u64;
                while let Some(from) = mergeable(&runs) {
                    let merged: u64 = runs.drain(from..).sum();
                    rewritten += merged;
                    runs.push(merged);
                }
            }
            // Each run is a fifth of what it and all newer ones come to, or less.
            let levels = u64::from(tables.ilog(RATIO + 1)) + 1;
            prop_assert!(runs.len() as u64 <= levels, "{} runs of {tables} tables: {runs:?}", runs.len());
            prop_assert!(rewritten <= tables * 1000 * levels * (RATIO + 1), "{rewritten} rewritten of {tables} tables");
        }
    }
}
