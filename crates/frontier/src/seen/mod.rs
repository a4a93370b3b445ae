//! "Seen before?" for any number of URLs, exactly, within a budget of memory.
//!
//! In: keys of URLs with their positions in the log. Out: for each key asked for, its position or nothing. The newest keys are in a
//! table in memory; a full table becomes a sorted [run](run) on disk; runs of a size are merged, so that their number stays
//! logarithmic. A [filter](filter) of fixed size keeps most questions about new keys away from the disk. Flushing and merging
//! are done by two threads of their own, and neither asking nor adding waits for them.
//!
//! **Nothing here is the truth.** The log is: runs are made from it, a run that is missing or broken is made anew from it, and
//! what is not in a run yet is read from it at opening. So this can neither lose a URL nor invent one.
//!
//! Start at [`SeenStore::find`] and [`SeenStore::insert`]; what the threads do is in [`background`].

mod background;
mod filter;
mod key;
mod run;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use background::{Background, Shared};
use filter::Filter;
pub(crate) use key::{BuildAlready, Secret, UrlKey};
use run::{BLOCK_BYTES, Run};
pub(crate) use run::{read_exact_at, sync_directory};

/// Memory that the store may take, in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeenLimits {
    /// Keys in the table before it is written out.
    pub table_keys: usize,
    /// The filter at its largest.
    pub filter_bytes_max: usize,
}

/// A filter begins with this many bytes and grows eightfold, by being made anew, until its budget is used.
const FILTER_BYTES_FIRST: usize = 256 * 1024;
const FILTER_GROWTH: usize = 8;
/// Keys that were asked for lately and are kept at hand: a site's menu is on each of its pages.
const RECENT: usize = 1 << 16;

/// A table of keys in memory: the last part of the log.
pub(crate) struct Table {
    keys: HashMap<UrlKey, u64, BuildAlready>,
    from: u64,
    to: u64,
}

impl Table {
    fn new(from: u64) -> Self {
        Self { keys: HashMap::default(), from, to: from }
    }
}

/// See the module's own words.
pub(crate) struct SeenStore {
    limits: SeenLimits,
    table: Table,
    shared: Arc<Shared>,
    /// Nothing while it is being made after opening; then every question goes to the runs.
    filter: Option<Filter>,
    /// Keys added since the filter that is being made was begun; nothing when none is.
    filter_news: Option<Vec<UrlKey>>,
    keys: u64,
    recent: Vec<(UrlKey, u64)>,
    background: Background,
}

impl SeenStore {
    /// Opens the runs in a directory. What the log holds from the returned position on is to be inserted again.
    pub fn open(directory: &Path, limits: SeenLimits, log_end: u64) -> io::Result<(Self, u64)> {
        std::fs::create_dir_all(directory)?;
        let runs = open_runs(directory, log_end)?;
        let covered = runs.last().map_or(0, |run| run.to);
        let keys: u64 = runs.iter().map(|run| run.count).sum();
        let shared = Arc::new(Shared::new(directory, runs));
        let background = Background::start(&shared)?;
        let mut store = Self {
            limits,
            table: Table::new(covered),
            shared,
            filter: Some(Filter::with_bytes(FILTER_BYTES_FIRST.min(limits.filter_bytes_max))),
            filter_news: None,
            keys,
            recent: vec![(UrlKey { high: 0, low: 0 }, NOWHERE); RECENT],
            background,
        };
        if keys > 0 {
            store.filter = None;
            store.begin_filter();
        }
        Ok((store, covered))
    }

    /// The positions of keys; nothing for those that were never inserted.
    pub fn find(&mut self, keys: &[UrlKey]) -> io::Result<Vec<Option<u64>>> {
        self.take_filter();
        let (frozen, mut runs) = self.shared.look()?;
        // Most keys are in the largest run.
        runs.sort_by_key(|run| std::cmp::Reverse(run.count));
        let mut block = [0; BLOCK_BYTES];
        let mut found = vec![None; keys.len()];
        for (answer, &key) in found.iter_mut().zip(keys) {
            if self.filter.as_ref().is_some_and(|filter| !filter.may_contain(key)) {
                continue;
            }
            let recent = key.low as usize % RECENT;
            if self.recent[recent].0 == key && self.recent[recent].1 != NOWHERE {
                *answer = Some(self.recent[recent].1);
                continue;
            }
            *answer = self.table.keys.get(&key).copied();
            if answer.is_none() {
                *answer = frozen.iter().rev().find_map(|table| table.keys.get(&key).copied());
            }
            for run in &runs {
                if answer.is_some() {
                    break;
                }
                *answer = run.find(key, &mut block)?;
            }
            if let Some(position) = *answer {
                self.recent[recent] = (key, position);
            }
        }
        Ok(found)
    }

    /// Adds keys that are not there yet. `to` is the end of the log behind them.
    pub fn insert(&mut self, keys: &[(UrlKey, u64)], to: u64) -> io::Result<()> {
        for &(key, position) in keys {
            self.table.keys.insert(key, position);
            if let Some(filter) = &mut self.filter {
                filter.insert(key);
            }
        }
        if let Some(news) = &mut self.filter_news {
            news.extend(keys.iter().map(|(key, _)| *key));
        }
        self.table.to = to;
        self.keys += keys.len() as u64;
        if self.table.keys.len() >= self.limits.table_keys {
            self.freeze()?;
        }
        self.take_filter();
        if self.filter_news.is_none()
            && let Some(filter) = &self.filter
            && self.keys > filter.capacity()
            && filter.bytes() < self.limits.filter_bytes_max
        {
            self.freeze()?;
            self.begin_filter();
        }
        Ok(())
    }

    /// Keys in all.
    pub fn len(&self) -> u64 {
        self.keys
    }

    /// Runs on disk.
    pub fn runs(&self) -> usize {
        self.shared.runs()
    }

    /// Hands the table over to be written out.
    fn freeze(&mut self) -> io::Result<()> {
        if self.table.keys.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(self.table.to);
        // The next one will be as full, and should not grow its way there.
        table.keys.reserve(self.table.keys.len());
        self.shared.freeze(std::mem::replace(&mut self.table, table))
    }

    /// Has a filter made from all that is in runs and full tables; the table in use must be empty or remembered.
    fn begin_filter(&mut self) {
        let mut bytes = FILTER_BYTES_FIRST;
        while (bytes as u64) * 8 / 16 < self.keys && bytes < self.limits.filter_bytes_max {
            bytes = bytes.saturating_mul(FILTER_GROWTH);
        }
        self.filter_news = Some(self.table.keys.keys().copied().collect());
        self.shared.ask_for_filter(bytes.min(self.limits.filter_bytes_max));
    }

    /// Puts the filter that was made into use, if there is one.
    fn take_filter(&mut self) {
        if self.filter_news.is_some()
            && let Some(mut filter) = self.shared.take_filter()
        {
            self.filter_news.take().unwrap_or_default().into_iter().for_each(|key| filter.insert(key));
            self.filter = Some(filter);
        }
    }
}

impl Drop for SeenStore {
    fn drop(&mut self) {
        self.background.stop(&self.shared);
    }
}

/// No position of the log.
const NOWHERE: u64 = u64::MAX;

/// Opens the runs that cover the log from its beginning without a gap, and removes all others: those that were merged into a
/// larger one, those that are not whole, and those behind the end of the log.
fn open_runs(directory: &Path, log_end: u64) -> io::Result<Vec<Arc<Run>>> {
    let mut ranges = Vec::new();
    let mut leftovers = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        match entry.file_name().to_str().and_then(Run::parse_name) {
            Some((from, to)) if from < to && to <= log_end => ranges.push((from, to, entry.path())),
            _ => leftovers.push(entry.path()),
        }
    }
    // Of those that begin together the longest is the merged one.
    ranges.sort_by_key(|(from, to, _)| (*from, std::cmp::Reverse(*to)));
    let mut runs: Vec<Arc<Run>> = Vec::new();
    for (from, _, path) in ranges {
        let end = runs.last().map_or(0, |run| run.to);
        if from != end {
            leftovers.push(path);
            continue;
        }
        match Run::open(&path) {
            Ok(run) => runs.push(Arc::new(run)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a run is made anew from the log");
                leftovers.push(path);
            }
        }
    }
    for path in leftovers {
        std::fs::remove_file(path)?;
    }
    Ok(runs)
}

#[cfg(test)]
mod tests;
