//! The threads behind the queues: one writes gathered changes out as runs, one merges runs.
//!
//! They share lists of tables and runs with the store behind a lock that they hold for a moment only. Runs lie in the order of the changes,
//! and neighbours of about a size are merged when there are [`FANOUT`] of them. Applying a change waits in one case only: when
//! the disk is so slow that [`TABLES_MAX`] full tables lie in memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::merge::{Merge, Source};
use super::run::{Run, RunWriter};
use super::{Sync, Table};
use crate::threads::Threads;

/// Runs of a size that become one.
const FANOUT: usize = 8;
/// Full tables in memory, at most.
const TABLES_MAX: usize = 3;
/// Entries that are merged between two looks at whether to stop.
const ENTRIES_BETWEEN_LOOKS: u64 = 1 << 16;

/// What the store and its threads have in common.
pub(super) struct Shared {
    directory: PathBuf,
    sync: Sync,
    pub state: Mutex<State>,
    /// Rung when there is work, when work is done, and at the end.
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    /// What is being gathered.
    pub table: Table,
    /// Full tables, oldest first.
    pub frozen: Vec<Arc<Table>>,
    /// In the order of the changes.
    pub runs: Vec<Arc<Run>>,
    /// Why a thread gave up.
    failure: Option<String>,
    stop: bool,
}

impl State {
    pub fn check(&self) -> io::Result<()> {
        match &self.failure {
            Some(failure) => Err(io::Error::other(failure.clone())),
            None => Ok(()),
        }
    }

    /// Changes with a lower number are in runs.
    pub fn covered(&self) -> u64 {
        self.runs.last().map_or(0, |run| run.to)
    }
}

impl Shared {
    pub fn new(directory: &Path, runs: Vec<Arc<Run>>, sync: Sync) -> Self {
        let mut state = State { runs, ..State::default() };
        state.table = Table::new(state.covered());
        Self { directory: directory.to_owned(), sync, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Hands the table over to be written out.
    pub fn freeze(&self, state: &mut MutexGuard<'_, State>) -> io::Result<()> {
        while state.frozen.len() >= TABLES_MAX && state.failure.is_none() {
            self.changed.wait(state);
        }
        state.check()?;
        let mut next = Table::new(state.table.to);
        next.spares = std::mem::take(&mut state.table.spares);
        let full = std::mem::replace(&mut state.table, next);
        state.frozen.push(Arc::new(full));
        self.changed.notify_all();
        Ok(())
    }

    fn fail(&self, what: &str, error: &io::Error) {
        tracing::error!(%error, "{what} failed");
        self.state.lock().failure = Some(format!("{what}: {error}"));
        self.changed.notify_all();
    }

    fn stopped(&self) -> bool {
        self.state.lock().stop
    }

    /// Waits until there is something to do; nothing at the end.
    fn wait_for<T>(&self, mut look: impl FnMut(&State) -> Option<T>) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if state.stop || state.failure.is_some() {
                return None;
            }
            match look(&state) {
                Some(work) => return Some(work),
                None => self.changed.wait(&mut state),
            }
        }
    }
}

/// Starts the threads.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<Threads> {
    Threads::start("queues", shared, &[("webloom-q-flush", flush), ("webloom-q-merge", merge)])
}

/// Ends the threads; work that was begun is dropped, for nothing depends on it.
pub(super) fn stop(threads: &mut Threads, shared: &Shared) {
    shared.state.lock().stop = true;
    shared.changed.notify_all();
    threads.join();
}

/// Writes full tables out, oldest first.
fn flush(shared: &Shared) {
    while let Some(table) = shared.wait_for(|state| state.frozen.first().cloned()) {
        let rows = table.rows.iter().rev().map(|row| Source::Memory(row));
        // A run must not know of what the rest of the directory could still lose.
        let written = (shared.sync)().and_then(|()| {
            let covers = Covers { from: table.from, to: table.to, count_max: table.len() as u64 };
            write(shared, Merge::new(rows, None), covers, false)
        });
        match written {
            Ok(Some(run)) => {
                let mut state = shared.state.lock();
                state.runs.push(Arc::new(run));
                state.frozen.remove(0);
                // Readers look at tables under the lock only, so this is the last one to have it.
                if let Ok(table) = Arc::try_unwrap(table) {
                    table.rows.into_iter().for_each(|row| state.table.spares.give(row));
                }
                drop(state);
                shared.changed.notify_all();
            }
            Ok(None) => return,
            Err(error) => return shared.fail("writing queues out", &error),
        }
    }
}

/// Merges neighbours into one run, and puts it in their place.
fn merge(shared: &Shared) {
    while let Some(runs) = shared.wait_for(|state| {
        let counts: Vec<u64> = state.runs.iter().map(|run| run.count).collect();
        mergeable(&counts).map(|range| state.runs[range].to_vec())
    }) {
        match merge_runs(shared, &runs) {
            Ok(Some(merged)) => {
                let mut state = shared.state.lock();
                // Others only add runs at the end.
                if let Some(at) = state.runs.iter().position(|run| run.from == merged.from) {
                    state.runs.splice(at..at + runs.len(), [Arc::new(merged)]);
                }
                drop(state);
                shared.changed.notify_all();
                runs.iter().for_each(|run| run.remove());
            }
            Ok(None) => return,
            Err(error) => return shared.fail("merging queues", &error),
        }
    }
}

fn merge_runs(shared: &Shared, runs: &[Arc<Run>]) -> io::Result<Option<Run>> {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(None) };
    let sources: Vec<Source<'_>> =
        runs.iter().rev().map(|run| run.entries().map(Source::Disk)).collect::<io::Result<_>>()?;
    // Before the oldest run there is nothing that could still be taken out.
    let count_max = runs.iter().map(|run| run.count).sum();
    let covers = Covers { from: first.from, to: last.to, count_max };
    write(shared, Merge::new(sources, None), covers, first.from == 0)
}

/// What a run that is to be written will cover: changes from one up to another, and how many entries it has at most.
#[derive(Clone, Copy)]
struct Covers {
    from: u64,
    to: u64,
    count_max: u64,
}

/// Writes a run; nothing when the store is closed meanwhile. `oldest`: what was taken out need not be remembered.
fn write(shared: &Shared, mut merge: Merge<'_>, covers: Covers, oldest: bool) -> io::Result<Option<Run>> {
    let mut writer = RunWriter::new(&shared.directory, covers.from, covers.to, covers.count_max)?;
    let mut seen = 0_u64;
    while let Some(entry) = merge.next()? {
        if !(oldest && entry.is_removed()) {
            writer.push(entry)?;
        }
        seen += 1;
        if seen.is_multiple_of(ENTRIES_BETWEEN_LOOKS) && shared.stopped() {
            return Ok(None);
        }
    }
    writer.finish().map(Some)
}

/// Which neighbours are to be merged, by their sizes, oldest first: the first [`FANOUT`] or more of which none is that many times as
/// large as another.
fn mergeable(counts: &[u64]) -> Option<std::ops::Range<usize>> {
    let fanout = FANOUT as u64;
    let mut from = 0;
    while from + FANOUT <= counts.len() {
        let (mut least, mut most) = (u64::MAX, 0);
        let alike = counts[from..].iter().take_while(|&&count| {
            (least, most) = (least.min(count.max(1)), most.max(count));
            most < least.saturating_mul(fanout)
        });
        let alike = alike.count();
        if alike >= FANOUT {
            return Some(from..from + alike);
        }
        from += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_seldom_rewritten_and_runs_stay_few() {
        let mut runs: Vec<u64> = Vec::new();
        let (mut rewritten, mut most) = (0, 0);
        const TABLES: u64 = 4000;
        for table in 0..TABLES {
            runs.push(1000 + table % 7);
            while let Some(range) = mergeable(&runs) {
                let merged: u64 = runs[range.clone()].iter().sum();
                rewritten += merged;
                runs.splice(range, [merged]);
            }
            most = most.max(runs.len());
        }
        assert!(most <= 32, "{most} runs");
        assert!(rewritten <= TABLES * 1007 * 4, "{rewritten} rewritten of {TABLES} tables");
    }
}
