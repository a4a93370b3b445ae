//! The queues of all hosts, on disk, with the newest changes in memory.
//!
//! In: changes, each a sorted row of entries that come and go. Out: the next entries of a host, in order. Changes are gathered in memory;
//! when there are enough of them they become a sorted [run](run) on disk, and eight runs of a size become one of the next size, so that an
//! entry is rewritten two or three times in its life however many there are. All of a host's entries lie side by side in
//! each run: its next ones are a read or two from each, and tens of leases are served from them. Writing and merging are done by threads
//! of their own.
//!
//! **A change is safe before it comes here**: the frontier writes it down under its number, in the batch that it belongs to. At opening,
//! what no run covers is told again; once a run covers a change, the frontier may forget it ([`QueueStore::covered`]).
//! Start at [`QueueStore::apply`] and [`QueueStore::read`].

mod background;
mod entry;
mod merge;
mod run;

use std::io;
use std::path::Path;
use std::sync::Arc;

use background::Shared;
pub(crate) use entry::{Entry, in_order};
use merge::{Merge, Source, merge_two};
use run::Run;

use crate::schedule::Place;
use crate::threads::Threads;

/// Entries of a read for which room is made beforehand.
const ENTRIES_EXPECTED_MAX: usize = 64;

/// Gathered changes: sorted rows, oldest first, each at least twice as long as the next.
#[derive(Debug, Default)]
struct Table {
    rows: Vec<Vec<Entry>>,
    from: u64,
    to: u64,
    spares: Spares,
}

/// Room of rows that became others, to be used again: memory that is used again need not be cleared, and what a crawl takes stays
/// the same.
#[derive(Debug, Default)]
struct Spares {
    /// The least room comes first.
    rows: Vec<Vec<Entry>>,
}

impl Spares {
    /// Entries of all spares together.
    const ENTRIES_MAX: usize = 3 << 19;
    /// Rows with room for fewer are left to the allocator, and room is given out in steps of this.
    const STEP: usize = 1 << 15;

    /// An empty row with room for so many entries, and not for very many more.
    fn take(&mut self, entries: usize) -> Vec<Entry> {
        let at = self.rows.partition_point(|row| row.capacity() < entries);
        if self.rows.get(at).is_some_and(|row| row.capacity() <= 2 * entries.max(Self::STEP)) {
            return self.rows.remove(at);
        }
        Vec::with_capacity(if entries < Self::STEP { entries } else { entries.next_multiple_of(Self::STEP) })
    }

    fn give(&mut self, mut row: Vec<Entry>) {
        if row.capacity() < Self::STEP {
            return;
        }
        row.clear();
        let at = self.rows.partition_point(|other| other.capacity() < row.capacity());
        self.rows.insert(at, row);
        while self.rows.iter().map(Vec::capacity).sum::<usize>() > Self::ENTRIES_MAX {
            self.rows.pop();
        }
    }
}

impl Table {
    fn new(from: u64) -> Self {
        Self { rows: Vec::new(), from, to: from, spares: Spares::default() }
    }

    fn len(&self) -> usize {
        self.rows.iter().map(Vec::len).sum()
    }

    /// Adds a change. Rows of about a size become one, so there are few, and an entry moves a logarithmic number of times.
    fn add(&mut self, mut row: Vec<Entry>, number: u64) {
        while let Some(last) = self.rows.pop_if(|last| last.len() < 2 * row.len()) {
            let mut merged = self.spares.take(last.len() + row.len());
            merge_two(&last, &row, &mut merged);
            self.spares.give(last);
            self.spares.give(std::mem::replace(&mut row, merged));
        }
        self.rows.push(row);
        self.to = number + 1;
    }
}

/// Makes everything that was written so far safe from a power cut.
pub(crate) type Sync = Box<dyn Fn() -> io::Result<()> + Send + std::marker::Sync>;

/// See the module's own words.
pub(crate) struct QueueStore {
    shared: Arc<Shared>,
    table_entries: usize,
    threads: Threads,
}

impl QueueStore {
    /// Opens the runs in a directory. All changes from number [`Self::covered`] on are to be applied again. `sync` is called before
    /// changes become a run.
    pub fn open(directory: &Path, table_entries: usize, sync: Sync) -> io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        let runs = open_runs(directory)?;
        let shared = Arc::new(Shared::new(directory, runs, sync));
        let threads = background::start(&shared)?;
        Ok(Self { shared, table_entries: table_entries.max(1), threads })
    }

    /// Changes with a lower number are in runs.
    pub fn covered(&self) -> u64 {
        self.shared.state.lock().covered()
    }

    /// Takes in the change of that number: a row as [`in_order`] makes it.
    pub fn apply(&self, row: Vec<Entry>, number: u64) -> io::Result<()> {
        let mut state = self.shared.state.lock();
        state.table.add(row, number);
        if state.table.len() < self.table_entries {
            return state.check();
        }
        self.shared.freeze(&mut state)
    }

    /// Up to so many entries of a host from a place on, in order, those that are wanted.
    pub fn read(
        &self,
        host: u32,
        from: Place,
        count: usize,
        wanted: &dyn Fn(Place) -> bool,
    ) -> io::Result<Vec<(Place, u32)>> {
        let first = Entry::first_at(host, from);
        let end = host.checked_add(1).map(|next| Entry::first_at(next, Place::FIRST));
        let state = self.shared.state.lock();
        state.check()?;
        let tables = std::iter::once(&state.table).chain(state.frozen.iter().rev().map(|table| &**table));
        let mut sources: Vec<Source<'_>> = tables
            .flat_map(|table| table.rows.iter().rev())
            .map(|row| Source::from_memory(row, first))
            .collect();
        for run in state.runs.iter().rev() {
            sources.push(Source::Disk(run.entries_from(first)?));
        }
        let mut merge = Merge::new(sources, end);
        let mut entries = Vec::with_capacity(count.min(ENTRIES_EXPECTED_MAX));
        while entries.len() < count
            && let Some(entry) = merge.next()?
            && end.is_none_or(|end| entry < end)
        {
            if !entry.is_removed() && wanted(entry.place()) {
                entries.push((entry.place(), entry.attempt()));
            }
        }
        Ok(entries)
    }
}

impl Drop for QueueStore {
    fn drop(&mut self) {
        background::stop(&mut self.threads, &self.shared);
    }
}

/// Opens the runs that cover all changes up to some number, and removes those that were merged into larger ones or are not whole. One
/// that is damaged or missing is an error: what it said is nowhere else.
fn open_runs(directory: &Path) -> io::Result<Vec<Arc<Run>>> {
    let mut ranges = Vec::new();
    let mut leftovers = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_name().to_str().and_then(Run::parse_name) {
            Some((from, to)) if from < to => ranges.push((from, to, entry.path())),
            _ => leftovers.push(entry.path()),
        }
    }
    // Of those that begin together the longest is the merged one.
    ranges.sort_by_key(|(from, to, _)| (*from, std::cmp::Reverse(*to)));
    let mut runs: Vec<Arc<Run>> = Vec::new();
    for (from, to, path) in ranges {
        let end = runs.last().map_or(0, |run| run.to);
        if from == end {
            runs.push(Arc::new(Run::open(&path)?));
        } else if to <= end {
            leftovers.push(path);
        } else {
            let what = format!("`{}` is missing what comes before it", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
    }
    for path in leftovers {
        std::fs::remove_file(path)?;
    }
    Ok(runs)
}

#[cfg(test)]
mod tests;
