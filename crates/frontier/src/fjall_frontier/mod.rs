//! The durable frontier: the scheduling core over a log, a URL store and a log-structured store.
//!
//! On disk:
//! * `log/`: each URL once, with how it was found; its position there is its id ([`crate::log`]);
//! * `seen/`: sorted runs that tell the position of a URL, made from the log ([`crate::seen`]);
//! * `queue/`: sorted runs of the queues' entries ([`crate::queue`]): a lease leaves its entry there until it is settled, so after a
//!   kill it is simply still queued;
//! * the store, keyspace by keyspace (key → value):
//!   `changes` (number → what happened to the queues), until it is in a run; `later` (due time, position → retry or revisit), moved to its queue when due; `lives` (hash of the URL → what
//!   became of it); `hosts` (name → lengths of its queues, pages done, manners); `rota` (number → host with something queued, in the
//!   order they take turns when there are more than fit in memory); `exhausted` (hosts whose budget is spent);
//!   `meta` (format, secret, settings, counters); `robots`, `contexts` (bodies, for whoever fetches them).
//!
//! Every call that changes something appends to the log, then writes one batch that also says how much of the log counts, so
//! a kill leaves all of it or nothing. Two locks: `writer` is held across a write and its fsync, `core` only for work
//! in memory and the reading of a queue's next entries, so that leasing and the ends of requests do not wait for the disk's
//! arm. Whoever takes both takes `writer` first. Start at [`FjallFrontier::open`].

mod absent;
mod change;
mod control;
mod rota;
mod store;

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use change::{Change, HostChange, Room, Wish};
use fjall::PersistMode;
use parking_lot::{Mutex, RwLock};
use rota::Rota;
pub use store::Blob;
use store::{COUNTERS_KEY, Store, blob_key, insert, read, setting_key, store_error};
use webloom_model::{
    Ban, Clock, Frontier, FrontierCounts, FrontierError, FrontierLimits, HostHint, Injection,
    InjectionReport, Lease, LeaseAnswer, LeaseId, LinkCandidate, OfferSummary, PageUrl, QueueQuery,
    QueueView, Settlement, SettlementKind, UrlLife, UrlStage,
};

use crate::FrontierConfig;
use crate::log::{LogReader, Near, UrlLog};
use crate::numbers::NumberMap;
use crate::queue::{Entry, QueueStore};
use crate::record::{
    Anchor, CountersRecord, DomainRecord, HostRecord, LaterRecord, StageRecord, damaged, decode, encode,
    later_due, later_key, later_position,
};
use crate::schedule::{Picks, Place, Scheduler, Totals, after, domain_of};
use crate::seen::{BuildAlready, SeenLimits, SeenStore, Spot, UrlKey};

/// Retries that are queued again in one write.
const RETRIES_PER_WRITE: usize = 1000;
/// When to look again for hosts that wait on disk and could not be taken up.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// Keys that are read from the log at once, when runs are made anew.
const KEYS_PER_INSERT: usize = 64 * 1024;
/// The filters before records of the store have this part of the memory of the one before the known URLs.
const ABSENT_PART: usize = 8;
/// Records of hosts that are kept at hand.
const HOSTS_CACHED_MAX: usize = 256 * 1024;

/// Keeps all URLs of a crawl in a directory. See [`Frontier`] for what it promises.
///
/// An error of [`offer`](Frontier::offer) or [`settle`](Frontier::settle) leaves the directory as it was
/// before the call. The crawl should end then: the leases of that call are neither settled nor free.
pub struct FjallFrontier {
    path: PathBuf,
    config: RwLock<Arc<FrontierConfig>>,
    clock: Arc<dyn Clock>,
    anchor: Anchor,
    opened: Instant,
    store: Store,
    queue: QueueStore,
    log: LogReader,
    writer: Mutex<Writer>,
    core: Mutex<Core>,
    /// What is out with workers, with its key.
    held: Mutex<NumberMap<LeaseId, (PageUrl, UrlKey)>>,
    /// What lies in the log around leased URLs.
    near: Mutex<Near>,
}

/// What belongs to whoever writes.
struct Writer {
    log: UrlLog,
    seen: SeenStore,
    counters: CountersRecord,
    /// The number the next new host gets.
    host_next: u32,
    /// The number of the oldest change of the queues that is written down, and the one the next gets.
    change_first: u64,
    change_next: u64,
    /// Records of hosts by the keys of their names.
    hosts: HashMap<UrlKey, HostRecord, BuildAlready>,
    /// Of the last change, for the next one.
    room: Room,
    /// True while something was appended that no batch vouches for. It stays so when a write fails: the log must not be
    /// written on then, or what was never queued would pass for seen.
    unfinished: bool,
}

struct Core {
    scheduler: Scheduler,
    /// Entries at this position or a higher one may be on disk already, but the scheduler has not heard
    /// of them yet and must not find them there by itself.
    published: u64,
    rota: Rota,
    /// Hosts with a lower number are known from before.
    host_first: u32,
    /// True when a domain may have got a larger budget since exhausted hosts were last looked at.
    budgets_grew: bool,
}

impl Writer {
    fn find(&mut self, keys: &[UrlKey]) -> Result<Vec<Option<Spot>>, FrontierError> {
        let found = self.seen.find(keys).map_err(|error| seen_error(&error))?;
        Ok(found.into_iter().map(|number| number.map(Spot::from_number)).collect())
    }

    fn are_known(&mut self, keys: &[UrlKey]) -> Result<Vec<bool>, FrontierError> {
        self.seen.contains(keys).map_err(|error| seen_error(&error))
    }

    /// What is stored of a host; nothing when it is new.
    fn host(&mut self, store: &Store, name: &str) -> Result<Option<HostRecord>, FrontierError> {
        self.host_by_key(store, name, store.secret.name_key(name))
    }

    /// The same for who has the key of its name.
    fn host_by_key(
        &mut self,
        store: &Store,
        name: &str,
        key: UrlKey,
    ) -> Result<Option<HostRecord>, FrontierError> {
        if let Some(record) = self.hosts.get(&key) {
            return Ok(Some(*record));
        }
        if !store.hosts_absent.may_have(key) {
            return Ok(None);
        }
        let record = read(&store.hosts, name.as_bytes())?;
        let record = record.map(|value| decode(name.as_bytes(), &value)).transpose()?;
        if let Some(record) = record {
            self.remember_host(key, record);
        }
        Ok(record)
    }

    fn remember_host(&mut self, key: UrlKey, record: HostRecord) {
        if self.hosts.len() >= HOSTS_CACHED_MAX && !self.hosts.contains_key(&key) {
            // Whatever goes can be read again. Half of them at once, so that this is rare.
            let mut keep = false;
            self.hosts.retain(|_, _| {
                keep = !keep;
                keep
            });
        }
        self.hosts.insert(key, record);
    }
}

impl FjallFrontier {
    /// Opens the frontier in `path`, or creates it. One process at a time can have it open.
    ///
    /// All hosts known from before owe their full delay from now on.
    pub fn open(path: &Path, config: FrontierConfig, clock: Arc<dyn Clock>) -> Result<Self, FrontierError> {
        let store = Store::open(path, config.seen_filter_bytes / ABSENT_PART)?;
        let anchor = Anchor::new(&*clock);
        let counters = match read(&store.meta, COUNTERS_KEY.as_bytes())? {
            Some(value) => decode::<CountersRecord>(COUNTERS_KEY.as_bytes(), &value)?,
            None => CountersRecord { rota_next: 1, ..CountersRecord::default() },
        };
        let log = UrlLog::open(&path.join("log"), counters.log_end)?;
        let limits = SeenLimits {
            table_keys: config.seen_table_keys.max(1),
            filter_bytes_max: config.seen_filter_bytes,
        };
        let (mut seen, covered) = SeenStore::open(&path.join("seen"), limits, counters.log_end)
            .map_err(|error| seen_error(&error))?;
        let mut keys = Vec::new();
        log.reader().scan(covered, counters.log_end, |url, position, depth| {
            if keys.len() == KEYS_PER_INSERT {
                seen.insert(&keys, position).map_err(|error| seen_error(&error))?;
                keys.clear();
            }
            keys.push((store.secret.key(url), Spot { position, depth }.to_number()));
            Ok(())
        })?;
        seen.insert(&keys, counters.log_end).map_err(|error| seen_error(&error))?;
        let (queue, change_first, change_next) = open_queue(path, &store, &config)?;
        let mut scheduler = Scheduler::new(config.clone());
        scheduler.set_totals(totals(&counters));
        if counters.host_next > 0 {
            scheduler.reopened(clock.now());
        }
        let frontier = Self {
            path: path.to_owned(),
            config: RwLock::new(Arc::new(config)),
            opened: clock.now(),
            clock,
            anchor,
            log: log.reader(),
            core: Mutex::new(Core {
                scheduler,
                published: log.end(),
                rota: Rota::new(counters.rota_next),
                host_first: counters.host_next,
                budgets_grew: false,
            }),
            writer: Mutex::new(Writer {
                log,
                seen,
                counters,
                host_next: counters.host_next,
                change_first,
                change_next,
                hosts: HashMap::default(),
                room: Room::default(),
                unfinished: false,
            }),
            held: Mutex::default(),
            near: Mutex::default(),
            queue,
            store,
        };
        frontier.pardon_exhausted()?;
        let waiting_next = frontier.waiting_next()?;
        frontier.core.lock().scheduler.set_waiting_next(waiting_next);
        let counts = frontier.counts();
        tracing::debug!(path = %frontier.path.display(), ?counts, "frontier opened");
        Ok(frontier)
    }

    /// What was last put under that key.
    pub fn get_blob(&self, space: Blob, key: &str) -> Result<Option<Vec<u8>>, FrontierError> {
        read(self.store.blobs(space), &blob_key(key)?)
    }

    /// Keeps bytes under a key. They survive a kill of the process, though perhaps not a power cut.
    pub fn put_blob(&self, space: Blob, key: &str, value: &[u8]) -> Result<(), FrontierError> {
        insert(self.store.blobs(space), &blob_key(key)?, value)
    }

    /// What was last put under that name.
    pub fn get_setting(&self, name: &str) -> Result<Option<String>, FrontierError> {
        let key = setting_key(name)?;
        read(&self.store.meta, &key)?
            .map(|value| String::from_utf8(value).map_err(|error| damaged(&key, error.to_string())))
            .transpose()
    }

    /// Keeps a text about the crawl as a whole. It survives a kill of the process, though perhaps not a
    /// power cut.
    pub fn put_setting(&self, name: &str, value: &str) -> Result<(), FrontierError> {
        insert(&self.store.meta, &setting_key(name)?, value.as_bytes())
    }

    /// Sorted runs of known URLs on disk, and known URLs: for measuring.
    pub fn url_store_size(&self) -> (usize, u64) {
        let writer = self.writer.lock();
        (writer.seen.runs(), writer.seen.len())
    }

    /// Which of these URLs are known: for measuring.
    pub fn are_known(&self, urls: &[PageUrl]) -> Result<Vec<bool>, FrontierError> {
        let keys = self.store.secret.keys(urls.iter().map(PageUrl::as_str));
        self.writer.lock().are_known(&keys)
    }

    fn config(&self) -> Arc<FrontierConfig> {
        self.config.read().clone()
    }

    fn change<'a>(
        &'a self,
        writer: &'a mut Writer,
        config: &'a FrontierConfig,
    ) -> Result<Change<'a>, FrontierError> {
        if writer.unfinished {
            return Err(FrontierError::Store("an earlier write failed; open the directory again".to_owned()));
        }
        Ok(Change::new(&self.store, writer, config, self.anchor, self.clock.now()))
    }

    /// Puts the retries and visits whose time has come back into their hosts' queues.
    fn queue_due(&self, now: Instant) -> Result<(), FrontierError> {
        let config = self.config();
        let writer = &mut *self.writer.lock();
        // Somebody else may have done it while we waited for the lock.
        if !self.core.lock().scheduler.retry_due(now) {
            return Ok(());
        }
        let due = later_key(self.anchor.to_wall_floor(now), u64::MAX);
        let mut change = self.change(writer, &config)?;
        let mut told = Vec::new();
        for record in self.store.later.range(..=due).take(RETRIES_PER_WRITE) {
            let (key, value) = record.into_inner().map_err(|error| store_error(&error))?;
            let LaterRecord { attempt, revisit } = decode(&key, &value)?;
            let (due_ms, position) = (later_due(&key)?, later_position(&key)?);
            change.batch.remove(&self.store.later, key.to_vec());
            let candidate = self.log.read(position)?.candidate;
            let url_key = self.store.secret.key(candidate.url.as_str());
            let Some(mut life) = change.life(url_key)? else { continue };
            let host = candidate.url.host();
            let mut is_told = true;
            // A visit that was planned before somebody wished for an earlier one is none any more.
            let is_planned = revisit && life.next_visit_ms == Some(due_ms);
            match life.stage {
                StageRecord::Waiting { .. } if !revisit => {
                    let record = &mut change.changed_host(host)?.record;
                    record.waiting = record.waiting.saturating_sub(1);
                }
                StageRecord::Indexed { .. } if is_planned => change.unindex(&candidate.url)?,
                // It is no page of the index, so nobody need be told that it is none for now.
                StageRecord::NoPage { .. } if is_planned => {
                    change.no_page -= 1;
                    is_told = false;
                }
                // Something else became of it meanwhile.
                _ => continue,
            }
            life.stage = StageRecord::Queued;
            life.next_visit_ms = None;
            change.put_life(url_key, &life)?;
            let place = Place::new(life.score, candidate.depth, position);
            change.enqueue(host, place, attempt)?.fresh.push((place, attempt));
            if is_told {
                told.push((candidate.url, revisit));
            }
        }
        // From here to the scheduler's hearing of it nobody may read the queues.
        let core = &mut *self.core.lock();
        for (url, revisit) in told {
            if revisit {
                core.scheduler.unindex(url.host(), now);
            } else {
                core.scheduler.waits_no_more(url.host(), now);
            }
        }
        // Were this write lost, the retries would still be due, so it need not reach the disk now.
        self.commit(change, PersistMode::Buffer, Some(core))?;
        let waiting_next = self.waiting_next()?;
        core.scheduler.set_waiting_next(waiting_next);
        Ok(())
    }

    /// When the first retry is due.
    fn waiting_next(&self) -> Result<Option<Instant>, FrontierError> {
        let Some(first) = self.store.later.first_key_value() else { return Ok(None) };
        let due_ms = later_due(&first.key().map_err(|error| store_error(&error))?)?;
        Ok(Some(self.anchor.to_instant(due_ms)))
    }

    /// Writes a change, and tells the scheduler once it is on disk. `held` is the core when the caller has it locked.
    fn commit(
        &self,
        mut change: Change<'_>,
        mode: PersistMode,
        mut held: Option<&mut Core>,
    ) -> Result<OfferSummary, FrontierError> {
        match held.as_deref_mut() {
            Some(core) => prepare(&mut change, core)?,
            None => prepare(&mut change, &mut self.core.lock())?,
        }
        // Waking the disk for links that were all seen before would be a waste.
        if !change.batch.is_empty() {
            change.writer.unfinished = true;
            change.forget_changes(self.queue.covered());
            write(&mut change, mode)?;
            let row = std::mem::take(&mut change.row);
            if !row.is_empty() {
                self.queue.apply(row, change.writer.change_next).map_err(|error| queue_error(&error))?;
                change.writer.change_next += 1;
            }
            change.writer.unfinished = false;
        }
        match held {
            Some(core) => self.publish(change, core),
            None => self.publish(change, &mut self.core.lock()),
        }
    }

    /// Tells the scheduler what is on disk now.
    fn publish(&self, mut change: Change<'_>, core: &mut Core) -> Result<OfferSummary, FrontierError> {
        let Change { now, writer, summary, hosts, domains, endings, revisit_at, config, .. } = &mut change;
        let (now, summary) = (*now, *summary);
        let scheduler = &mut core.scheduler;
        for (ending, kind, retry_at) in endings.iter() {
            scheduler.end_settle(ending, *kind, *retry_at, now);
        }
        if let Some(due) = *revisit_at {
            scheduler.due_by(due);
        }
        scheduler.set_totals(totals(&writer.counters));
        core.published = writer.log.end();
        let in_turn = !core.rota.has_parked();
        core.rota.next = writer.counters.rota_next;
        for (name, record) in domains.iter() {
            let budget = config.domain_budget.map(|budget| budget.pages(record.linkers.count()));
            core.scheduler.set_domain_budget(name, record.indexed, budget, now);
            core.budgets_grew = true;
        }
        let mut new_hosts: Vec<(u64, &HostChange)> = Vec::new();
        for host in hosts.iter() {
            if core.scheduler.insert(&host.name, host.record.number, &host.fresh, now) {
                continue;
            }
            let Some(number) = host.record.rota else { continue };
            if in_turn && number > core.rota.cursor {
                new_hosts.push((number, host));
            } else {
                core.rota.call(number, host);
            }
        }
        // The hosts that are new take their turns at once, unless others wait for theirs on disk.
        new_hosts.sort_unstable_by_key(|(number, _)| *number);
        let mut all = in_turn;
        for (number, host) in new_hosts {
            if !all || core.scheduler.active() >= core.scheduler.config().hosts_active_max {
                all = false;
                core.rota.call(number, host);
                continue;
            }
            // What is new is handed over entry by entry, so that it is known how urgent it is.
            let fresh = host.fresh.len() as u64;
            let record = HostRecord { queued: host.record.queued.saturating_sub(fresh), ..host.record };
            self.take_up(core, &host.name, &record, now);
            core.scheduler.insert(&host.name, record.number, &host.fresh, now);
            core.rota.cursor = number;
        }
        if all {
            core.rota.cursor = core.rota.next - 1;
        }
        change.leave_room();
        Ok(summary)
    }

    /// Takes a host up with what is stored of it.
    fn take_up(&self, core: &mut Core, name: &str, record: &HostRecord, now: Instant) {
        let owes_since = (record.number < core.host_first).then_some(self.opened);
        let not_before = record.not_before_ms.map(|moment| self.anchor.to_instant(moment));
        let facts = record.facts(&self.anchor);
        core.scheduler.take_up(name, record.number, &facts, owes_since, not_before, now);
        if let Some(budget) = core.scheduler.config().domain_budget {
            let domain_name = domain_of(name);
            let domain = change::domain(&self.store, domain_name).unwrap_or_else(|error| {
                tracing::warn!(domain = domain_name, %error, "what is counted for a domain cannot be read");
                DomainRecord::default()
            });
            let pages = budget.pages(domain.linkers.count());
            core.scheduler.set_domain_budget(domain_name, domain.indexed, Some(pages), now);
        }
    }

    /// What the scheduler picked, as leases.
    fn lease_out(&self, picks: Picks, expired: &[LeaseId]) -> Result<LeaseAnswer, FrontierError> {
        {
            let mut held = self.held.lock();
            expired.iter().for_each(|lease| drop(held.remove(lease)));
        }
        let picks = match picks {
            Picks::Picked(picks) => picks,
            Picks::Wait(moment) => return Ok(LeaseAnswer::Wait(moment)),
            Picks::Busy => return Ok(LeaseAnswer::Busy),
            Picks::Finished { budget_spent } => return Ok(LeaseAnswer::Finished { budget_spent }),
        };
        let mut leases = Vec::with_capacity(picks.len());
        let mut held = Vec::with_capacity(picks.len());
        let mut banned = Vec::new();
        let mut candidates = Vec::with_capacity(picks.len());
        let mut near = self.near.lock();
        near.look_at(picks.iter().map(|pick| (pick.place.position, pick.host)));
        for pick in &picks {
            // What has a score of its own stands between others, but its neighbours in the log do not come next.
            let alone = pick.place.has_score();
            candidates.push(self.log.read_near(pick.place.position, pick.host, alone, &mut near)?.candidate);
        }
        drop(near);
        let keys = self.store.secret.keys(candidates.iter().map(|candidate| candidate.url.as_str()));
        // Only a page that was fetched before has something to be recognised by.
        let lives = change::lives(&self.store, &keys, &self.store.told_absent)?;
        for (((pick, candidate), key), life) in picks.into_iter().zip(candidates).zip(keys).zip(lives) {
            if life.as_ref().is_some_and(|life| life.banned) {
                banned.push(Settlement {
                    lease: pick.lease,
                    kind: SettlementKind::NoPage,
                    links: Vec::new(),
                    validators: None,
                });
                continue;
            }
            let validators = life.and_then(|life| life.validators);
            held.push((pick.lease, (candidate.url.clone(), key)));
            leases.push(Lease { id: pick.lease, candidate, attempt: pick.attempt, validators });
        }
        self.held.lock().extend(held);
        if !banned.is_empty() {
            self.settle(banned)?;
        }
        Ok(LeaseAnswer::Leased(leases))
    }

    fn pick(&self, max: usize, now: Instant) -> Result<(Picks, Vec<LeaseId>), FrontierError> {
        let Core { scheduler, published, .. } = &mut *self.core.lock();
        let picks = scheduler.lease(max, now, &mut |host, from, count, wanted| {
            let wanted = |place: Place| place.position < *published && wanted(place);
            self.queue.read(host, from, count, &wanted).map_err(|error| queue_error(&error))
        })?;
        Ok((picks, scheduler.take_expired()))
    }
}

/// Opens the queues and tells them what no run of theirs covers. Gives the numbers of the first change that is written down and of
/// the next one.
fn open_queue(
    path: &Path,
    store: &Store,
    config: &FrontierConfig,
) -> Result<(QueueStore, u64, u64), FrontierError> {
    let database = store.database.clone();
    let sync = move || database.persist(PersistMode::SyncData).map_err(std::io::Error::other);
    let queue = QueueStore::open(&path.join("queue"), config.queue_table_entries, Box::new(sync))
        .map_err(|error| queue_error(&error))?;
    let covered = queue.covered();
    let (mut first, mut next) = (None, covered);
    for record in store.changes.iter() {
        let (key, value) = record.into_inner().map_err(|error| store_error(&error))?;
        let number = <[u8; 8]>::try_from(&*key).map(u64::from_be_bytes);
        let number = number.map_err(|_| damaged(&key, "not the number of a change".to_owned()))?;
        first.get_or_insert(number);
        if number < covered {
            continue;
        }
        if number != next || value.len() % Entry::BYTES != 0 {
            return Err(damaged(&key, "not the change that comes next".to_owned()));
        }
        next += 1;
        queue.apply(Entry::parse_all(&value).collect(), number).map_err(|error| queue_error(&error))?;
    }
    Ok((queue, first.unwrap_or(covered), next))
}

fn queue_error(error: &std::io::Error) -> FrontierError {
    FrontierError::Store(format!("queues: {error}"))
}

fn seen_error(error: &std::io::Error) -> FrontierError {
    FrontierError::Store(format!("URL store: {error}"))
}

fn totals(counters: &CountersRecord) -> Totals {
    let CountersRecord { known, indexed, no_page, hosts, .. } = *counters;
    Totals { known, indexed, no_page, hosts }
}

/// Puts what follows from a change into its batch: records of hosts, the rota, counters.
fn prepare(change: &mut Change<'_>, core: &mut Core) -> Result<(), FrontierError> {
    change.batch_entries();
    let Change { store, writer, anchor, batch, hosts, .. } = change;
    let mut counters = writer.counters;
    store.hosts_absent.add(hosts.iter().filter(|host| host.new).map(|host| host.key));
    for host in hosts.iter_mut() {
        let (name, key) = (&host.name, host.key);
        let unsaved = core.scheduler.save_manners(name);
        if unsaved.is_none() && !host.changed {
            continue;
        }
        let record = &mut host.record;
        if let Some(manners) = unsaved {
            record.set_manners(&manners, anchor);
        }
        let takes_turns = record.queued > 0 && !record.exhausted && !record.blocked;
        match record.rota {
            None if takes_turns => {
                record.rota = Some(counters.rota_next);
                batch.insert(&store.rota, counters.rota_next.to_be_bytes(), name.as_bytes());
                counters.rota_next += 1;
            }
            Some(number) if !takes_turns => {
                record.rota = None;
                batch.remove(&store.rota, number.to_be_bytes());
            }
            _ => {}
        }
        // What came and went in equal numbers leaves a host as it was.
        if writer.hosts.get(&key) == Some(record) {
            continue;
        }
        if record.counts() != host.counted {
            counters.hosts = counters.hosts.saturating_add_signed(if host.counted { -1 } else { 1 });
        }
        batch.insert(&store.hosts, name.as_bytes(), encode(record)?);
        writer.remember_host(key, *record);
    }
    for (name, record) in &change.domains {
        change.batch.insert(&change.store.domains, name.as_bytes(), encode(record)?);
    }
    counters.known += change.known;
    counters.indexed = counters.indexed.saturating_add_signed(change.indexed);
    counters.no_page = counters.no_page.saturating_add_signed(change.no_page);
    counters.host_next = change.writer.host_next;
    counters.log_end = change.writer.log.end();
    if counters != change.writer.counters {
        change.batch.insert(&change.store.meta, COUNTERS_KEY, encode(&counters)?);
        change.writer.counters = counters;
    }
    Ok(())
}

/// Makes a change durable: what the log holds first, then the batch that vouches for it.
fn write(change: &mut Change<'_>, mode: PersistMode) -> Result<(), FrontierError> {
    if !change.fresh.is_empty() {
        change.writer.log.flush(mode != PersistMode::Buffer)?;
    }
    let batch = std::mem::replace(&mut change.batch, change.store.database.batch());
    batch.durability(Some(mode)).commit().map_err(|error| store_error(&error))?;
    let end = change.writer.log.end();
    change.writer.seen.insert(&change.fresh, end).map_err(|error| seen_error(&error))
}

impl Frontier for FjallFrontier {
    fn offer(&self, candidates: &[LinkCandidate]) -> Result<OfferSummary, FrontierError> {
        let writer = &mut *self.writer.lock();
        // Once a larger depth is in force, nothing is refused by a smaller one any more.
        let config = self.config();
        let mut change = self.change(writer, &config)?;
        let wishes: Vec<Wish<'_>> =
            candidates.iter().map(|candidate| Wish { candidate, score: None }).collect();
        change.offer(&wishes)?;
        self.commit(change, PersistMode::SyncData, None)
    }

    fn lease(&self, max: usize) -> Result<LeaseAnswer, FrontierError> {
        let now = self.clock.now();
        let (due, parked) = {
            let core = self.core.lock();
            (core.scheduler.retry_due(now), core.rota.has_parked())
        };
        if due {
            self.queue_due(now)?;
        }
        // Hosts that wait on disk can wait a little longer, if somebody writes just now.
        if parked && let Some(mut writer) = self.writer.try_lock() {
            self.rotate(&mut writer, now)?;
        }
        let (mut picks, mut expired) = self.pick(max, now)?;
        if !matches!(picks, Picks::Picked(_)) {
            if std::mem::take(&mut self.core.lock().budgets_grew) {
                self.pardon_exhausted()?;
            }
            // Once through all who wait on disk, until somebody is ready.
            let last = self.core.lock().rota.next;
            loop {
                let (progress, cursor, parked) = {
                    let rota = &self.core.lock().rota;
                    (rota.progress(), rota.cursor, rota.has_parked())
                };
                if !parked || cursor >= last {
                    break;
                }
                self.rotate(&mut self.writer.lock(), now)?;
                let (again, more) = self.pick(max, now)?;
                picks = again;
                expired.extend(more);
                if matches!(picks, Picks::Picked(_)) || self.core.lock().rota.progress() == progress {
                    break;
                }
            }
            let core = self.core.lock();
            let more = core.rota.has_parked() && !core.scheduler.page_budget_spent();
            if matches!(picks, Picks::Finished { .. }) && more {
                picks = Picks::Wait(after(now, LOOK_AGAIN));
            }
        }
        match self.lease_out(picks, &expired)? {
            // All of them were banned meanwhile, and are settled now.
            LeaseAnswer::Leased(leases) if leases.is_empty() => self.lease(max),
            answer => Ok(answer),
        }
    }

    fn request_finished(&self, lease: LeaseId, hint: HostHint) {
        let now = self.clock.now();
        self.core.lock().scheduler.request_finished(lease, hint, now);
    }

    fn reserve(&self, host: &str) -> Option<Instant> {
        let now = self.clock.now();
        {
            let mut core = self.core.lock();
            if core.scheduler.is_active(host) {
                return core.scheduler.reserve(host, now);
            }
        }
        // While nobody writes, what is stored of a host is what there is.
        let mut writer = self.writer.lock();
        let record = writer.host(&self.store, host).unwrap_or_else(|error| {
            tracing::warn!(host, %error, "what is known of a host cannot be read");
            None
        });
        let mut core = self.core.lock();
        // One that is new has no queue; it gets its number when something is queued.
        let unknown = HostRecord { number: u32::MAX, ..HostRecord::default() };
        self.take_up(&mut core, host, &record.unwrap_or(unknown), now);
        core.scheduler.reserve(host, now)
    }

    fn release(&self, host: &str, hint: HostHint) {
        let now = self.clock.now();
        self.core.lock().scheduler.release(host, hint, now);
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Result<OfferSummary, FrontierError> {
        let writer = &mut *self.writer.lock();
        // As in `offer`.
        let config = self.config();
        let mut change = self.change(writer, &config)?;
        let now = change.now;
        let endings: Vec<_> = {
            let scheduler = &mut self.core.lock().scheduler;
            scheduler.look_at_leases(settlements.iter().map(|settlement| settlement.lease));
            settlements.iter().map(|settlement| scheduler.begin_settle(settlement.lease, now)).collect()
        };
        let mut wishes = Vec::new();
        for (settlement, ending) in settlements.iter().zip(endings) {
            let held = self.held.lock().remove(&settlement.lease);
            if let Some(ending) = ending {
                let (url, key) = match held {
                    Some(held) => held,
                    None => {
                        let url = self.log.read(ending.place.position)?.candidate.url;
                        let key = self.store.secret.key(url.as_str());
                        (url, key)
                    }
                };
                change.settle(ending, settlement.kind, (&url, key), settlement.validators.as_ref())?;
            }
            // The links of a lease that is unknown by now are links all the same.
            wishes.extend(settlement.links.iter().map(|candidate| Wish { candidate, score: None }));
        }
        change.offer(&wishes)?;
        self.commit(change, PersistMode::SyncData, None)
    }

    fn counts(&self) -> FrontierCounts {
        self.core.lock().scheduler.counts()
    }

    fn resolved(&self, host: &str, address: IpAddr) -> bool {
        let now = self.clock.now();
        self.core.lock().scheduler.resolved(host, address, now)
    }

    fn inject(&self, injections: &[Injection]) -> Result<InjectionReport, FrontierError> {
        self.inject_all(injections)
    }

    fn rescore(&self, scores: &[(PageUrl, f32)]) -> Result<InjectionReport, FrontierError> {
        self.rescore_all(scores)
    }

    fn ban(&self, bans: &[Ban]) -> Result<InjectionReport, FrontierError> {
        self.ban_all(bans)
    }

    fn recrawl_now(&self, url: &PageUrl) -> Result<bool, FrontierError> {
        self.queue_again(url)
    }

    fn try_again(&self, urls: &[(PageUrl, Option<f32>)]) -> Result<Vec<bool>, FrontierError> {
        self.queue_failed_again(urls)
    }

    fn stages(&self, urls: &[PageUrl]) -> Result<Vec<Option<UrlStage>>, FrontierError> {
        self.stages_of(urls)
    }

    fn inspect(&self, url: &PageUrl) -> Result<Option<UrlLife>, FrontierError> {
        self.life_of(url)
    }

    fn kept_robots(&self, origin: &str) -> Result<Option<Vec<u8>>, FrontierError> {
        self.get_blob(Blob::Robots, origin)
    }

    fn forget_robots(&self, origin: &str) -> Result<(), FrontierError> {
        // What cannot be read is asked for again.
        self.put_blob(Blob::Robots, origin, &[])
    }

    fn queues(&self, query: &QueueQuery) -> Result<Vec<QueueView>, FrontierError> {
        self.look_at_queues(query)
    }

    fn limits(&self) -> FrontierLimits {
        self.config().limits()
    }

    fn set_limits(&self, limits: &FrontierLimits) -> Result<(), FrontierError> {
        self.change_limits(limits)
    }
}

impl fmt::Debug for FjallFrontier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallFrontier")
            .field("path", &self.path)
            .field("config", &self.config())
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
