//! "Seen before?" for any number of URLs, exactly, within a budget of memory.
//!
//! In: keys of URLs with their positions in the log. Out: for each key asked for, whether it is known, and its position if wished. The
//! newest keys are in a table in memory; a full table becomes a sorted [run](run) on disk; small runs are merged into larger ones, so that
//! there is one that holds most keys and few others. A [filter](filter) of fixed size keeps most questions about new keys away from the
//! disk. Questions come in batches and are put to each run in the order of their keys. Flushing and merging are done by threads
//! of their own, and neither asking nor adding waits for them.
//!
//! **Nothing here is the truth.** The log is: runs are made from it, a run that is missing or broken is made anew from it, and
//! what is not in a run yet is read from it at opening. So this can neither lose a URL nor invent one.
//!
//! Start at [`SeenStore::contains`] and [`SeenStore::insert`]; what the threads do is in [`background`].

mod background;
mod filter;
mod key;
mod run;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::threads::Threads;
use background::Shared;
pub(crate) use filter::Filter;
pub(crate) use key::{BuildAlready, Secret, Spot, UrlKey};
use run::Run;
pub(crate) use run::{read_at, read_exact_at, sync_directory};

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
const RECENT: usize = 1 << 18;
/// Keys that are looked at ahead of being asked for.
const LOOK_AHEAD: usize = 64;

/// Keys with their spots.
type Keys = HashMap<UrlKey, u64, BuildAlready>;

/// A table of keys in memory: the last part of the log.
pub(crate) struct Table {
    keys: Keys,
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
    threads: Threads,
}

impl SeenStore {
    /// Opens the runs in a directory. What the log holds from the returned position on is to be inserted again.
    pub fn open(directory: &Path, limits: SeenLimits, log_end: u64) -> io::Result<(Self, u64)> {
        std::fs::create_dir_all(directory)?;
        let runs = open_runs(directory, log_end)?;
        let covered = runs.last().map_or(0, |run| run.to);
        let keys: u64 = runs.iter().map(|run| run.count).sum();
        let shared = Arc::new(Shared::new(directory, runs));
        let threads = background::start(&shared)?;
        let mut store = Self {
            limits,
            table: Table::new(covered),
            shared,
            filter: Some(Filter::with_bytes(FILTER_BYTES_FIRST.min(limits.filter_bytes_max))),
            filter_news: None,
            keys,
            recent: vec![(UrlKey { high: 0, low: 0 }, NOWHERE); RECENT],
            threads,
        };
        if keys > 0 {
            store.filter = None;
            store.begin_filter();
        }
        Ok((store, covered))
    }

    /// Which of these keys were inserted before.
    pub fn contains(&mut self, keys: &[UrlKey]) -> io::Result<Vec<bool>> {
        Ok(self.look_up(keys, false)?.into_iter().map(|position| position != NOWHERE).collect())
    }

    /// The positions of keys; nothing for those that were never inserted.
    pub fn find(&mut self, keys: &[UrlKey]) -> io::Result<Vec<Option<u64>>> {
        let found = self.look_up(keys, true)?;
        Ok(found.into_iter().map(|position| (position != NOWHERE).then_some(position)).collect())
    }

    /// The positions of keys, or [`NOWHERE`]. When nobody wants `positions`, those on disk are told as [`SOMEWHERE`].
    fn look_up(&mut self, keys: &[UrlKey], positions: bool) -> io::Result<Vec<u64>> {
        self.take_filter();
        let mut found = vec![NOWHERE; keys.len()];
        let (frozen, runs) = self.shared.look()?;
        let mut open = Vec::with_capacity(keys.len());
        for (keys, first) in keys.chunks(LOOK_AHEAD).zip((0_u32..).step_by(LOOK_AHEAD)) {
            self.look_at(keys);
            for (&key, number) in keys.iter().zip(first..) {
                if self.filter.as_ref().is_some_and(|filter| !filter.may_contain(key)) {
                    continue;
                }
                match self.in_memory(key, &frozen, positions) {
                    Some(position) => found[number as usize] = position,
                    None => open.push((key, number)),
                }
            }
        }
        // Neighbours in a run are neighbours on disk. The oldest run comes first, for it has most.
        open.sort_unstable_by_key(|(key, _)| *key);
        let recent = &mut self.recent;
        for run in &runs {
            let mut missing = Vec::with_capacity(open.len());
            run.find_all(&open, &mut missing, |(key, number), at| {
                let position = if positions { run.position(at)? } else { SOMEWHERE };
                found[number as usize] = position;
                recent[key.low as usize % RECENT] = (key, position);
                Ok(())
            })?;
            open = missing;
        }
        Ok(found)
    }

    /// Looks where the answers for some keys begin, and changes nothing. Filter and recent keys do not stay near the processor: looked at
    /// together they come from memory side by side, where each key would wait for its own.
    fn look_at(&self, keys: &[UrlKey]) {
        let filter = |key: UrlKey| self.filter.as_ref().map_or(0, |filter| filter.look(key));
        let look = |key: &UrlKey| filter(*key).wrapping_add(self.recent[key.low as usize % RECENT].1);
        std::hint::black_box(keys.iter().map(look).fold(0, u64::wrapping_add));
    }

    /// What is known of a key without a look at the disk.
    fn in_memory(&self, key: UrlKey, frozen: &[Arc<Table>], positions: bool) -> Option<u64> {
        let (recent, position) = self.recent[key.low as usize % RECENT];
        if recent == key && position != NOWHERE && !(positions && position == SOMEWHERE) {
            return Some(position);
        }
        let mut tables = std::iter::once(&self.table).chain(frozen.iter().map(|table| &**table));
        tables.find_map(|table| table.keys.get(&key).copied())
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
        let mut keys = self.shared.take_spare();
        // The next one will be as full, and should not grow its way there.
        keys.reserve(self.table.keys.len());
        let table = Table { keys, ..Table::new(self.table.to) };
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
        background::stop(&mut self.threads, &self.shared);
    }
}

/// No position of the log.
const NOWHERE: u64 = u64::MAX;
/// A position that nobody asked for.
const SOMEWHERE: u64 = u64::MAX - 1;

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
