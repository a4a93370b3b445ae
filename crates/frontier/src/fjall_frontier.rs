//! The durable frontier: the scheduling core over a log-structured store.
//!
//! On disk (keyspace: key → value):
//! * `urls`: URL → what became of it; being here is being seen;
//! * `queue`: host, depth, number → candidate; a lease leaves its entry here until it is settled, so
//!   after a kill it is simply still queued;
//! * `later`: due time, number → candidate to be tried again; moved to `queue` when due;
//! * `hosts`: host → lengths of its queues, pages done, delays learnt;
//! * `meta`: format, settings, counters; `robots`, `contexts`: bodies of robots.txt and JSON-LD contexts, for
//!   whoever fetches them.
//!
//! Every call that changes something is one batch, so a kill leaves all of it or nothing. Two locks:
//! `writer` is held across a write and its fsync, `core` only for work in memory and the reading of a
//! queue's next entries, so that leasing and the ends of requests do not wait for the disk's arm.
//! Whoever takes both takes `writer` first. Start at [`FjallFrontier::open`].

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use fjall::{Database, Keyspace, KeyspaceCreateOptions, OwnedWriteBatch, PersistMode};
use parking_lot::Mutex;
use webloom_model::{
    Clock, Frontier, FrontierCounts, FrontierError, HostHint, LeaseAnswer, LeaseId, LinkCandidate,
    OfferSummary, PageUrl, Settlement, SettlementKind,
};

use crate::record::{
    Anchor, CountersRecord, HostRecord, SettledRecord, UrlRecord, damaged, decode, decode_entry, encode,
    encode_entry, later_due, later_key, queue_key, queue_place, timestamp,
};
use crate::schedule::{Ending, Entry, Place, Scheduler, Totals, after};
use crate::{FrontierConfig, UrlState, UrlStatus};

/// The layout of the keyspaces. A directory with another number is refused.
const FORMAT: u32 = 1;
const FORMAT_KEY: &str = "format";
const SETTING_PREFIX: &str = "setting:";
const COUNTERS_KEY: &str = "counters";
/// Retries that are queued again in one write.
const RETRIES_PER_WRITE: usize = 1000;
/// Blocks of the store kept in memory.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;
/// Longest key the store takes, less our prefix.
const KEY_BYTES_MAX: usize = 60_000;

/// Keeps all URLs of a crawl in a directory. See [`Frontier`] for what it promises.
///
/// An error of [`offer`](Frontier::offer) or [`settle`](Frontier::settle) leaves the directory as it was
/// before the call. The crawl should end then: the leases of that call are neither settled nor free.
pub struct FjallFrontier {
    path: PathBuf,
    config: FrontierConfig,
    clock: Arc<dyn Clock>,
    anchor: Anchor,
    store: Store,
    writer: Mutex<Writer>,
    core: Mutex<Core>,
}

/// A kind of thing that is kept beside the URLs, each under a key of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blob {
    /// robots.txt files, by origin.
    Robots,
    /// JSON-LD contexts, by IRI.
    Contexts,
}

struct Store {
    database: Database,
    urls: Keyspace,
    queue: Keyspace,
    later: Keyspace,
    hosts: Keyspace,
    meta: Keyspace,
    robots: Keyspace,
    contexts: Keyspace,
}

/// What belongs to whoever writes.
struct Writer {
    /// The number the next entry gets.
    seq_next: u64,
}

struct Core {
    scheduler: Scheduler,
    /// Entries with this number or a higher one may be on disk already, but the scheduler has not heard
    /// of them yet and must not find them there by itself.
    seq_published: u64,
}

impl FjallFrontier {
    /// Opens the frontier in `path`, or creates it. One process at a time can have it open.
    ///
    /// All hosts known from before owe their full delay from now on.
    pub fn open(path: &Path, config: FrontierConfig, clock: Arc<dyn Clock>) -> Result<Self, FrontierError> {
        let store = Store::open(path)?;
        let anchor = Anchor::new(&*clock);
        let now = clock.now();
        let mut scheduler = Scheduler::new(config.clone());
        let counters = match store.meta.get(COUNTERS_KEY).map_err(store_error)? {
            Some(value) => decode::<CountersRecord>(COUNTERS_KEY.as_bytes(), &value)?,
            None => CountersRecord { seq_next: 1, ..CountersRecord::default() },
        };
        scheduler.set_totals(Totals {
            known: counters.known,
            indexed: counters.indexed,
            no_page: counters.no_page,
        });
        for host in store.hosts.iter() {
            let (key, value) = host.into_inner().map_err(store_error)?;
            let name = std::str::from_utf8(&key).map_err(|error| damaged(&key, error.to_string()))?;
            let record: HostRecord = decode(&key, &value)?;
            scheduler.reopen_host(name, &record.facts(&anchor), now);
        }
        let frontier = Self {
            path: path.to_owned(),
            config,
            clock,
            anchor,
            store,
            writer: Mutex::new(Writer { seq_next: counters.seq_next }),
            core: Mutex::new(Core { scheduler, seq_published: counters.seq_next }),
        };
        let waiting_next = frontier.waiting_next()?;
        frontier.core.lock().scheduler.set_waiting_next(waiting_next);
        let counts = frontier.counts();
        tracing::debug!(path = %frontier.path.display(), ?counts, "frontier opened");
        Ok(frontier)
    }

    /// The life of a URL so far; nothing when it was never queued.
    pub fn lookup(&self, url: &PageUrl) -> Result<Option<UrlState>, FrontierError> {
        // While the writer's lock is held, what a record points to is where it says.
        let _writer = self.writer.lock();
        let key = url.as_str();
        let Some(value) = self.store.urls.get(key).map_err(store_error)? else { return Ok(None) };
        let settled = |status, record: SettledRecord| UrlState {
            status,
            depth: record.depth,
            found_on: record.found_on,
            attempts: record.attempts,
        };
        let unsettled = |status, entry: Entry| UrlState {
            status,
            depth: entry.candidate.depth,
            found_on: entry.candidate.found_on,
            attempts: entry.attempt,
        };
        Ok(Some(match decode(key.as_bytes(), &value)? {
            UrlRecord::Queued { depth, seq } => {
                let place = Place { depth, seq };
                let out = self.core.lock().scheduler.is_out(url.host(), place);
                let entry = read_entry(&self.store.queue, &queue_key(url.host(), place))?;
                unsettled(if out { UrlStatus::Leased } else { UrlStatus::Queued }, entry)
            }
            UrlRecord::Waiting { due_ms, seq } => {
                let entry = read_entry(&self.store.later, &later_key(due_ms, seq))?;
                unsettled(UrlStatus::Waiting { until: timestamp(due_ms) }, entry)
            }
            UrlRecord::Indexed(record) => settled(UrlStatus::Indexed { at: timestamp(record.at_ms) }, record),
            UrlRecord::NoPage(record) => settled(UrlStatus::NoPage { at: timestamp(record.at_ms) }, record),
        }))
    }

    /// What was last put under that key.
    pub fn get_blob(&self, space: Blob, key: &str) -> Result<Option<Vec<u8>>, FrontierError> {
        get(self.store.blobs(space), &blob_key(key)?)
    }

    /// Keeps bytes under a key. They survive a kill of the process, though perhaps not a power cut.
    pub fn put_blob(&self, space: Blob, key: &str, value: &[u8]) -> Result<(), FrontierError> {
        self.store.blobs(space).insert(blob_key(key)?, value).map_err(store_error)
    }

    /// What was last put under that name.
    pub fn get_setting(&self, name: &str) -> Result<Option<String>, FrontierError> {
        let key = setting_key(name)?;
        get(&self.store.meta, &key)?
            .map(|value| String::from_utf8(value).map_err(|error| damaged(&key, error.to_string())))
            .transpose()
    }

    /// Keeps a text about the crawl as a whole. It survives a kill of the process, though perhaps not a
    /// power cut.
    pub fn put_setting(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        self.store.meta.insert(setting_key(name)?, value).map_err(store_error)
    }

    /// Puts the retries whose time has come back into their hosts' queues.
    fn queue_due_retries(&self, now: Instant) -> Result<(), FrontierError> {
        let writer = &mut *self.writer.lock();
        // Somebody else may have done it while we waited for the lock.
        if !self.core.lock().scheduler.retry_due(now) {
            return Ok(());
        }
        let due = later_key(self.anchor.to_wall_floor(now), u64::MAX);
        let mut change = Change::new(&self.store, writer);
        for record in self.store.later.range(..=due).take(RETRIES_PER_WRITE) {
            let (key, value) = record.into_inner().map_err(store_error)?;
            let entry = decode_entry(&key, &value)?;
            change.queue_retry(&self.store, &key, &value, entry)?;
        }
        // Were this write lost, the retries would still be due, so it need not reach the disk now.
        self.commit(change, writer, PersistMode::Buffer, now)?;
        let waiting_next = self.waiting_next()?;
        self.core.lock().scheduler.set_waiting_next(waiting_next);
        Ok(())
    }

    /// When the first retry is due.
    fn waiting_next(&self) -> Result<Option<Instant>, FrontierError> {
        let Some(first) = self.store.later.first_key_value() else { return Ok(None) };
        let due_ms = later_due(&first.key().map_err(store_error)?)?;
        Ok(Some(self.anchor.to_instant(due_ms)))
    }

    /// Writes a change, and tells the scheduler once it is on disk.
    fn commit(
        &self,
        mut change: Change<'_>,
        writer: &mut Writer,
        mode: PersistMode,
        now: Instant,
    ) -> Result<OfferSummary, FrontierError> {
        {
            let scheduler = &mut self.core.lock().scheduler;
            // Waking the disk for links that were all seen before would be a waste.
            let hosts = change
                .hosts
                .iter()
                .filter(|(name, shift)| **shift != HostShift::default() || scheduler.host_unsaved(name));
            let hosts: Vec<_> = hosts.map(|(name, shift)| (name.as_str(), *shift)).collect();
            for (name, shift) in hosts {
                let mut facts = scheduler.save_host(name);
                facts.queued = facts.queued.saturating_add_signed(shift.queued);
                facts.waiting = facts.waiting.saturating_add_signed(shift.waiting);
                facts.indexed += shift.indexed;
                change.batch.insert(&self.store.hosts, name, encode(&HostRecord::new(&facts, &self.anchor))?);
            }
            let totals = scheduler.totals();
            if !change.batch.is_empty() {
                let counters = CountersRecord {
                    known: totals.known + change.summary.new,
                    indexed: totals.indexed + change.indexed,
                    no_page: totals.no_page + change.no_page,
                    seq_next: change.seq_next,
                };
                change.batch.insert(&self.store.meta, COUNTERS_KEY, encode(&counters)?);
            }
        }
        change.batch.durability(Some(mode)).commit().map_err(store_error)?;
        writer.seq_next = change.seq_next;
        let core = &mut *self.core.lock();
        let scheduler = &mut core.scheduler;
        for (ending, kind, retry_at) in change.endings {
            scheduler.end_settle(ending, kind, retry_at, now);
        }
        for (place, candidate) in change.fresh {
            scheduler.insert(place, candidate, 0, now);
        }
        for (place, entry) in change.retries {
            scheduler.retry_queued(place, &entry, now);
        }
        scheduler.add_known(change.summary.new);
        core.seq_published = change.seq_next;
        Ok(change.summary)
    }
}

impl Frontier for FjallFrontier {
    fn offer(&self, candidates: &[LinkCandidate]) -> Result<OfferSummary, FrontierError> {
        let now = self.clock.now();
        let writer = &mut *self.writer.lock();
        let mut change = Change::new(&self.store, writer);
        change.offer(&self.store, &self.config, candidates.iter())?;
        self.commit(change, writer, PersistMode::SyncData, now)
    }

    fn lease(&self, max: usize) -> Result<LeaseAnswer, FrontierError> {
        let now = self.clock.now();
        let due = self.core.lock().scheduler.retry_due(now);
        if due {
            self.queue_due_retries(now)?;
        }
        let Core { scheduler, seq_published } = &mut *self.core.lock();
        scheduler.lease(max, now, &mut |host, from, count, wanted| {
            let mut entries = Vec::with_capacity(count.min(64));
            let range = queue_key(host, from)..=queue_key(host, Place::LAST);
            for record in self.store.queue.range(range) {
                let (key, value) = record.into_inner().map_err(store_error)?;
                let place = queue_place(&key)?;
                if place.seq < *seq_published && wanted(place) {
                    entries.push((place, decode_entry(&key, &value)?));
                    if entries.len() == count {
                        break;
                    }
                }
            }
            Ok(entries)
        })
    }

    fn request_finished(&self, lease: LeaseId, hint: HostHint) {
        let now = self.clock.now();
        self.core.lock().scheduler.request_finished(lease, hint, now);
    }

    fn reserve(&self, host: &str) -> Option<Instant> {
        let now = self.clock.now();
        self.core.lock().scheduler.reserve(host, now)
    }

    fn release(&self, host: &str, hint: HostHint) {
        let now = self.clock.now();
        self.core.lock().scheduler.release(host, hint, now);
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Result<OfferSummary, FrontierError> {
        let now = self.clock.now();
        let writer = &mut *self.writer.lock();
        let mut change = Change::new(&self.store, writer);
        let endings: Vec<(Ending, SettlementKind)> = {
            let scheduler = &mut self.core.lock().scheduler;
            let begin = |settlement: &Settlement| {
                scheduler.begin_settle(settlement.lease, now).map(|ending| (ending, settlement.kind))
            };
            settlements.iter().filter_map(begin).collect()
        };
        for (ending, kind) in endings {
            change.settle(&self.store, &self.config, self.anchor, ending, kind, now)?;
        }
        // The links of a lease that is unknown by now are links all the same.
        let links = settlements.iter().flat_map(|settlement| &settlement.links);
        change.offer(&self.store, &self.config, links)?;
        self.commit(change, writer, PersistMode::SyncData, now)
    }

    fn counts(&self) -> FrontierCounts {
        self.core.lock().scheduler.counts()
    }
}

impl fmt::Debug for FjallFrontier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallFrontier")
            .field("path", &self.path)
            .field("config", &self.config)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

/// One write in the making: the batch for the disk, and what the scheduler hears once it is there.
struct Change<'a> {
    batch: OwnedWriteBatch,
    seq_next: u64,
    summary: OfferSummary,
    indexed: u64,
    no_page: u64,
    hosts: HashMap<String, HostShift>,
    fresh: Vec<(Place, &'a LinkCandidate)>,
    endings: Vec<(Ending, SettlementKind, Option<Instant>)>,
    retries: Vec<(Place, Entry)>,
}

/// By how much the numbers of a host change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct HostShift {
    queued: i64,
    waiting: i64,
    indexed: u64,
}

impl<'a> Change<'a> {
    fn new(store: &Store, writer: &Writer) -> Self {
        Self {
            batch: store.database.batch(),
            seq_next: writer.seq_next,
            summary: OfferSummary::default(),
            indexed: 0,
            no_page: 0,
            hosts: HashMap::new(),
            fresh: Vec::new(),
            endings: Vec::new(),
            retries: Vec::new(),
        }
    }

    /// Queues what is new among the candidates, numbered in the order they come.
    fn offer(
        &mut self,
        store: &Store,
        config: &FrontierConfig,
        candidates: impl Iterator<Item = &'a LinkCandidate>,
    ) -> Result<(), FrontierError> {
        let mut offered = Vec::new();
        for candidate in candidates {
            if config.depth_max.is_some_and(|depth| candidate.depth > depth) {
                self.summary.too_deep += 1;
            } else {
                offered.push((candidate, None));
            }
        }
        // The store is asked and written in the order of its keys: neighbours share the way to their
        // place, which is most of the cost. It also brings doubles together, the first in front.
        let mut by_url: Vec<usize> = (0..offered.len()).collect();
        by_url.sort_by_key(|&index| offered[index].0.url.as_str());
        let mut before = None;
        by_url.retain(|&index| {
            let url = offered[index].0.url.as_str();
            before.replace(url) != Some(url)
        });
        let mut seen = Ok(());
        by_url.retain(|&index| match store.urls.contains_key(offered[index].0.url.as_str()) {
            Ok(known) => !known,
            Err(error) => {
                seen = Err(store_error(error));
                false
            }
        });
        seen?;
        let mut new: Vec<usize> = by_url.clone();
        new.sort_unstable();
        for index in new {
            let place = self.next_place(offered[index].0.depth);
            offered[index].1 = Some(place);
            self.fresh.push((place, offered[index].0));
        }
        for index in by_url {
            let (candidate, Some(place)) = offered[index] else { continue };
            let host = candidate.url.host();
            self.insert_queued(store, candidate.url.as_str(), host, place, encode_entry(candidate, 0)?)?;
            self.shift_host(host, |shift| shift.queued += 1);
        }
        let new = self.fresh.len() as u64;
        self.summary.new += new;
        self.summary.seen += offered.len() as u64 - new;
        Ok(())
    }

    fn settle(
        &mut self,
        store: &Store,
        config: &FrontierConfig,
        anchor: Anchor,
        ending: Ending,
        kind: SettlementKind,
        now: Instant,
    ) -> Result<(), FrontierError> {
        let Entry { candidate, attempt } = &*ending.entry;
        let url = candidate.url.as_str();
        let host = candidate.url.host();
        let settled = || SettledRecord {
            depth: candidate.depth,
            found_on: candidate.found_on.clone(),
            attempts: *attempt,
            at_ms: anchor.to_wall_floor(now),
        };
        let mut retry_at = None;
        let mut shift = HostShift { queued: -1, ..HostShift::default() };
        let record = match kind {
            SettlementKind::Returned => {
                shift.queued = 0;
                None
            }
            SettlementKind::Indexed => {
                shift.indexed = 1;
                self.indexed += 1;
                Some(UrlRecord::Indexed(settled()))
            }
            SettlementKind::NoPage => {
                self.no_page += 1;
                Some(UrlRecord::NoPage(settled()))
            }
            SettlementKind::Retry(wish) => {
                shift.waiting = 1;
                let due_ms = anchor.to_wall(after(now, config.retry_pause(url, *attempt, wish)));
                retry_at = Some(anchor.to_instant(due_ms));
                let seq = ending.place.seq;
                let entry = encode_entry(candidate, attempt.saturating_add(1))?;
                self.batch.insert(&store.later, later_key(due_ms, seq), entry);
                Some(UrlRecord::Waiting { due_ms, seq })
            }
        };
        if let Some(record) = record {
            self.batch.remove(&store.queue, queue_key(host, ending.place));
            self.batch.insert(&store.urls, url, encode(&record)?);
        }
        self.shift_host(host, |sum| {
            sum.queued += shift.queued;
            sum.waiting += shift.waiting;
            sum.indexed += shift.indexed;
        });
        self.endings.push((ending, kind, retry_at));
        Ok(())
    }

    /// Moves a retry to the queue, behind what is there at its depth.
    fn queue_retry(
        &mut self,
        store: &Store,
        key: &[u8],
        value: &[u8],
        entry: Entry,
    ) -> Result<(), FrontierError> {
        let url = entry.candidate.url.as_str();
        let host = entry.candidate.url.host();
        let place = self.next_place(entry.candidate.depth);
        self.batch.remove(&store.later, key);
        self.insert_queued(store, url, host, place, value.to_vec())?;
        self.shift_host(host, |shift| {
            shift.queued += 1;
            shift.waiting -= 1;
        });
        self.retries.push((place, entry));
        Ok(())
    }

    fn insert_queued(
        &mut self,
        store: &Store,
        url: &str,
        host: &str,
        place: Place,
        entry: Vec<u8>,
    ) -> Result<(), FrontierError> {
        let Place { depth, seq } = place;
        self.batch.insert(&store.urls, url, encode(&UrlRecord::Queued { depth, seq })?);
        self.batch.insert(&store.queue, queue_key(host, place), entry);
        Ok(())
    }

    fn shift_host(&mut self, name: &str, shift: impl FnOnce(&mut HostShift)) {
        match self.hosts.get_mut(name) {
            Some(known) => shift(known),
            None => shift(self.hosts.entry(name.to_owned()).or_default()),
        }
    }

    fn next_place(&mut self, depth: u32) -> Place {
        let seq = self.seq_next;
        self.seq_next += 1;
        Place { depth, seq }
    }
}

impl Store {
    fn open(path: &Path) -> Result<Self, FrontierError> {
        let database =
            Database::builder(path).cache_size(CACHE_BYTES).open().map_err(|error| match error {
                fjall::Error::Locked => FrontierError::Locked { path: path.display().to_string() },
                other => store_error(other),
            })?;
        let keyspace =
            |name: &str| database.keyspace(name, KeyspaceCreateOptions::default).map_err(store_error);
        // Nothing else is looked at, nor created, before the format is known.
        let meta = keyspace("meta")?;
        match meta.get(FORMAT_KEY).map_err(store_error)? {
            None => meta.insert(FORMAT_KEY, FORMAT.to_be_bytes()).map_err(store_error)?,
            Some(value) => {
                let bytes = <[u8; 4]>::try_from(&*value)
                    .map_err(|_| damaged(FORMAT_KEY.as_bytes(), "not a number".to_owned()))?;
                let found = u32::from_be_bytes(bytes);
                if found != FORMAT {
                    let path = path.display().to_string();
                    return Err(FrontierError::Format { path, found, known: FORMAT });
                }
            }
        }
        Ok(Self {
            urls: keyspace("urls")?,
            queue: keyspace("queue")?,
            later: keyspace("later")?,
            hosts: keyspace("hosts")?,
            robots: keyspace("robots")?,
            contexts: keyspace("contexts")?,
            meta,
            database,
        })
    }

    fn blobs(&self, space: Blob) -> &Keyspace {
        match space {
            Blob::Robots => &self.robots,
            Blob::Contexts => &self.contexts,
        }
    }
}

fn read_entry(keyspace: &Keyspace, key: &[u8]) -> Result<Entry, FrontierError> {
    match keyspace.get(key).map_err(store_error)? {
        Some(value) => decode_entry(key, &value),
        None => Err(damaged(key, "missing".to_owned())),
    }
}

fn get(keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, FrontierError> {
    Ok(keyspace.get(key).map_err(store_error)?.map(|value| value.to_vec()))
}

fn setting_key(name: &str) -> Result<Vec<u8>, FrontierError> {
    prefixed_key(SETTING_PREFIX, name)
}

/// The store has no empty keys, so all of them get a prefix.
fn blob_key(key: &str) -> Result<Vec<u8>, FrontierError> {
    prefixed_key("=", key)
}

fn prefixed_key(prefix: &str, key: &str) -> Result<Vec<u8>, FrontierError> {
    if key.len() > KEY_BYTES_MAX {
        return Err(FrontierError::Store(format!("a key of {} bytes is too long", key.len())));
    }
    Ok([prefix, key].concat().into_bytes())
}

fn store_error(error: fjall::Error) -> FrontierError {
    FrontierError::Store(error.to_string())
}
