//! One write in the making: the batch for the disk, and what the scheduler hears once it is there.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use fjall::OwnedWriteBatch;
use webloom_model::{
    FetchKind, FetchNote, FrontierError, HostHint, InjectionReport, LinkCandidate, OfferSummary, PageUrl,
    SettlementKind, Validators,
};

use super::Writer;
use super::absent::Absent;
use super::store::{Store, read};
use crate::FrontierConfig;
use crate::queue::{Entry, in_order};
use crate::record::{
    Anchor, DomainRecord, HostRecord, LaterRecord, LifeRecord, StageRecord, decode, encode, later_key,
};
use crate::schedule::{Ending, Place, after};
use crate::seen::{BuildAlready, Spot, UrlKey};

/// Earlier changes that are forgotten in one write, at most.
const CHANGES_FORGOTTEN_MAX: u64 = 4096;

/// See the module's own words. Used by whoever holds the writer's lock.
pub(super) struct Change<'a> {
    pub store: &'a Store,
    pub writer: &'a mut Writer,
    pub config: &'a FrontierConfig,
    pub anchor: Anchor,
    pub now: Instant,
    pub batch: OwnedWriteBatch,
    /// Entries of the queues that come and go; the last word on a place counts.
    queue: Vec<Entry>,
    /// They go into the batch in the order of their keys: that is kinder to the store's memory.
    lives: Vec<(UrlKey, Vec<u8>)>,
    /// Those of them that tell more than a score.
    told: Vec<UrlKey>,
    /// What happens to the queues, sorted, once it is in the batch.
    pub row: Vec<Entry>,
    pub summary: OfferSummary,
    pub indexed: i64,
    pub no_page: i64,
    pub known: u64,
    /// In the order they came up: those that are new take turns in this order.
    pub hosts: Vec<HostChange>,
    /// Their places by the keys of their names, and the place that was asked for last: links of a page mostly stay on a host.
    host_places: HashMap<UrlKey, usize, BuildAlready>,
    host_last: usize,
    /// Domains whose counts change, while there is a budget for them.
    pub domains: HashMap<Box<str>, DomainRecord>,
    /// Keys that are new, with their spots.
    pub fresh: Vec<(UrlKey, u64)>,
    pub endings: Vec<(Ending, SettlementKind, Option<Instant>)>,
    /// The earliest visit that was put off.
    pub revisit_at: Option<Instant>,
}

/// Room that a change leaves to the next one: empty, but allocated.
#[derive(Default)]
pub(super) struct Room {
    hosts: Vec<HostChange>,
    host_places: HashMap<UrlKey, usize, BuildAlready>,
    lives: Vec<(UrlKey, Vec<u8>)>,
    told: Vec<UrlKey>,
    fresh: Vec<(UrlKey, u64)>,
}

impl Room {
    /// Hosts of one change beyond which their room is given back: a list of seeds is not what comes next.
    const HOSTS_MAX: usize = 1 << 14;
}

/// What happens to a host.
pub(super) struct HostChange {
    pub name: Box<str>,
    pub key: UrlKey,
    pub record: HostRecord,
    /// True when nothing is stored of it yet.
    pub new: bool,
    /// Whether it counted as a host with something queued.
    pub counted: bool,
    /// True when something on disk changes.
    pub changed: bool,
    /// New entries.
    pub fresh: Vec<(Place, u32)>,
}

/// Something to be queued, if it is new.
#[derive(Clone, Copy)]
pub(super) struct Wish<'c> {
    pub candidate: &'c LinkCandidate,
    pub score: Option<f32>,
}

impl<'a> Change<'a> {
    pub fn new(
        store: &'a Store,
        writer: &'a mut Writer,
        config: &'a FrontierConfig,
        anchor: Anchor,
        now: Instant,
    ) -> Self {
        let Room { hosts, host_places, lives, told, fresh } = std::mem::take(&mut writer.room);
        Self {
            batch: store.database.batch(),
            queue: Vec::new(),
            lives,
            told,
            row: Vec::new(),
            store,
            writer,
            config,
            anchor,
            now,
            summary: OfferSummary::default(),
            indexed: 0,
            no_page: 0,
            known: 0,
            hosts,
            host_places,
            host_last: 0,
            domains: HashMap::new(),
            fresh,
            endings: Vec::new(),
            revisit_at: None,
        }
    }

    /// Queues what is new among the candidates, in the order they come. Tells which were known.
    pub fn offer(&mut self, wishes: &[Wish<'_>]) -> Result<Vec<bool>, FrontierError> {
        let keys = self.store.secret.keys(wishes.iter().map(|wish| wish.candidate.url.as_str()));
        let known = self.writer.are_known(&keys)?;
        let new = known.iter().filter(|known| !**known).count();
        self.fresh.reserve(new);
        self.queue.reserve(new);
        let mut in_batch: HashSet<UrlKey, BuildAlready> =
            HashSet::with_capacity_and_hasher(new, BuildAlready);
        let found_at_ms = self.anchor.to_wall_floor(self.now);
        for ((wish, key), &known) in wishes.iter().zip(keys).zip(&known) {
            if self.config.domain_budget.is_some() {
                self.count_linker(wish.candidate)?;
            }
            if self.config.depth_max.is_some_and(|depth| wish.candidate.depth > depth) {
                self.summary.too_deep += 1;
            } else if known || in_batch.contains(&key) {
                self.summary.seen += 1;
            } else if self.host(wish.candidate.url.host())?.record.blocked {
                self.summary.refused += 1;
            } else {
                in_batch.insert(key);
                self.queue_new(wish, key, found_at_ms)?;
            }
        }
        Ok(known)
    }

    fn queue_new(&mut self, wish: &Wish<'_>, key: UrlKey, found_at_ms: u64) -> Result<(), FrontierError> {
        self.writer.unfinished = true;
        let position = self.writer.log.append(wish.candidate, found_at_ms)?;
        let place = Place::new(wish.score, wish.candidate.depth, position);
        if wish.score.is_some() {
            let life = LifeRecord { score: wish.score, ..LifeRecord::new(position) };
            self.put_life(key, &life)?;
        }
        self.fresh.push((key, Spot { position, depth: wish.candidate.depth }.to_number()));
        self.enqueue(wish.candidate.url.host(), place, 0)?.fresh.push((place, 0));
        self.summary.new += 1;
        self.known += 1;
        Ok(())
    }

    /// Counts the domain of a link's page among those that link to its target's.
    fn count_linker(&mut self, candidate: &LinkCandidate) -> Result<(), FrontierError> {
        let Some(page) = &candidate.found_on else { return Ok(()) };
        let (from, to) = (page.pay_level_domain(), candidate.url.pay_level_domain());
        if from != to {
            let hash = self.store.secret.name_key(from).high;
            let mut record = self.domain(to)?;
            if record.linkers.add(hash) {
                self.domains.insert(to.into(), record);
            }
        }
        Ok(())
    }

    /// Takes a page out of the counts of its host and its domain.
    pub fn unindex(&mut self, url: &PageUrl) -> Result<(), FrontierError> {
        let record = &mut self.changed_host(url.host())?.record;
        record.indexed = record.indexed.saturating_sub(1);
        self.indexed -= 1;
        if self.config.domain_budget.is_some() {
            let name = url.pay_level_domain();
            let mut record = self.domain(name)?;
            record.indexed = record.indexed.saturating_sub(1);
            self.domains.insert(name.into(), record);
        }
        Ok(())
    }

    /// What is counted for a domain, as it will be after this change.
    fn domain(&self, name: &str) -> Result<DomainRecord, FrontierError> {
        match self.domains.get(name) {
            Some(record) => Ok(record.clone()),
            None => domain(self.store, name),
        }
    }

    /// Puts an entry into the queue of a host, on disk.
    pub fn enqueue(
        &mut self,
        host: &str,
        place: Place,
        attempt: u32,
    ) -> Result<&mut HostChange, FrontierError> {
        let at = self.host_place(host)?;
        let host = &mut self.hosts[at];
        self.queue.push(Entry::queued(host.record.number, place, attempt));
        host.changed = true;
        host.record.queued += 1;
        Ok(host)
    }

    /// Takes an entry out of the queue of a host, on disk.
    pub fn dequeue(&mut self, host: &str, place: Place) -> Result<(), FrontierError> {
        let host = self.changed_host(host)?;
        host.record.queued = host.record.queued.saturating_sub(1);
        let number = host.record.number;
        self.queue.push(Entry::removed(number, place));
        Ok(())
    }

    /// Ends the lease of a URL with that key.
    pub fn settle(
        &mut self,
        ending: Ending,
        kind: SettlementKind,
        (url, key): (&PageUrl, UrlKey),
        validators: Option<&Validators>,
    ) -> Result<(), FrontierError> {
        let mut retry_at = None;
        // What the host wished for is worth keeping even when its URL only goes back; how long it took can wait for the next write.
        let HostHint { crawl_delay, retry_after, trouble, .. } = ending.hint;
        if crawl_delay.is_some() || retry_after.is_some() || trouble {
            self.host(url.host())?;
        }
        // Nothing is left of a score once its page was seen, so a life that says no more need not be read. A retry keeps it.
        let life = if self.store.told_absent.may_have(key) || matches!(kind, SettlementKind::Retry(_)) {
            self.life(key)?
        } else {
            None
        };
        let mut life = life.unwrap_or_else(|| LifeRecord::new(ending.place.position));
        let kind = if life.banned { SettlementKind::NoPage } else { kind };
        if kind != SettlementKind::Returned {
            let at_ms = self.anchor.to_wall_floor(self.now);
            self.dequeue(url.host(), ending.place)?;
            life.note(FetchNote {
                at_ms,
                kind: match kind {
                    SettlementKind::Indexed => FetchKind::Indexed,
                    SettlementKind::Unchanged => FetchKind::Unchanged,
                    SettlementKind::NoPage => FetchKind::NoPage,
                    SettlementKind::Retry(_) | SettlementKind::Returned => FetchKind::Failed,
                },
                status: ending.hint.status,
                elapsed_ms: ending.hint.took.map(|took| u32::try_from(took.as_millis()).unwrap_or(u32::MAX)),
            });
            // A page that was only read again for its links has not changed for it. One that was out when this was wished for, and has not
            // been read, still is to be.
            let for_links = life.validators.as_ref().is_some_and(Validators::are_of_whatever_comes);
            if let Some(validators) = validators
                && !(for_links && kind == SettlementKind::Unchanged)
            {
                life.validators = Some(validators.clone());
            }
            match kind {
                SettlementKind::Indexed | SettlementKind::Unchanged => {
                    self.indexed += 1;
                    self.changed_host(url.host())?.record.indexed += 1;
                    if self.config.domain_budget.is_some() {
                        let name = url.pay_level_domain();
                        let mut record = self.domain(name)?;
                        record.indexed += 1;
                        self.domains.insert(name.into(), record);
                    }
                    life.stage = StageRecord::Indexed { at_ms };
                    life.visited(kind == SettlementKind::Indexed && !for_links, at_ms);
                    self.plan_visit(ending.place.position, &mut life, at_ms)?;
                }
                SettlementKind::NoPage | SettlementKind::Returned => {
                    self.no_page += 1;
                    life.stage = if life.banned {
                        StageRecord::Banned { at_ms }
                    } else {
                        StageRecord::NoPage { at_ms }
                    };
                    life.next_visit_ms = None;
                    // What was a page once may be one again: a server that is down for a moment must not end that.
                    if life.visits > 0 && !life.banned {
                        self.plan_visit(ending.place.position, &mut life, at_ms)?;
                    }
                }
                SettlementKind::Retry(wish) => {
                    let pause = self.config.retry_pause(url.as_str(), ending.attempt, wish);
                    let due_ms = self.anchor.to_wall(after(self.now, pause));
                    retry_at = Some(self.anchor.to_instant(due_ms));
                    life.stage = StageRecord::Waiting { due_ms };
                    life.attempts = ending.attempt.saturating_add(1);
                    self.put_later(
                        due_ms,
                        ending.place.position,
                        LaterRecord { attempt: life.attempts, revisit: false },
                    )?;
                    self.changed_host(url.host())?.record.waiting += 1;
                }
            }
            // A wish to see a page now is fulfilled by seeing it.
            if !matches!(kind, SettlementKind::Retry(_)) {
                life.score = None;
                life.attempts = ending.attempt;
            }
            self.put_life(key, &life)?;
        }
        self.endings.push((ending, kind, retry_at));
        Ok(())
    }

    /// Writes down when a page is to be visited again.
    fn plan_visit(&mut self, position: u64, life: &mut LifeRecord, at_ms: u64) -> Result<(), FrontierError> {
        let age = Duration::from_millis(at_ms.saturating_sub(life.first_visit_ms));
        let pause = self.config.recrawl.pause(life.visits.saturating_sub(1), life.changes, age);
        life.next_visit_ms = pause.map(|pause| self.anchor.to_wall(after(self.now, pause)));
        if let Some(due_ms) = life.next_visit_ms {
            self.put_later(due_ms, position, LaterRecord { attempt: 0, revisit: true })?;
            let due = self.anchor.to_instant(due_ms);
            self.revisit_at = Some(self.revisit_at.map_or(due, |before| before.min(due)));
        }
        Ok(())
    }

    fn put_later(&mut self, due_ms: u64, position: u64, record: LaterRecord) -> Result<(), FrontierError> {
        self.batch.insert(&self.store.later, later_key(due_ms, position), encode(&record)?);
        Ok(())
    }

    /// What became of a URL; nothing while it only waits.
    pub fn life(&self, key: UrlKey) -> Result<Option<LifeRecord>, FrontierError> {
        life(self.store, key)
    }

    pub fn put_life(&mut self, key: UrlKey, life: &LifeRecord) -> Result<(), FrontierError> {
        self.lives.push((key, encode(life)?));
        if life.tells_more_than_a_score() {
            self.told.push(key);
        }
        Ok(())
    }

    /// Bans a URL that nobody has heard of, so that nobody will.
    pub fn ban_unheard(&mut self, url: &PageUrl, key: UrlKey) -> Result<(), FrontierError> {
        let at_ms = self.anchor.to_wall_floor(self.now);
        self.writer.unfinished = true;
        let position = self.writer.log.append(&LinkCandidate::seed(url.clone()), at_ms)?;
        self.put_life(
            key,
            &LifeRecord { stage: StageRecord::Banned { at_ms }, ..LifeRecord::new(position) },
        )?;
        self.fresh.push((key, Spot { position, depth: 0 }.to_number()));
        self.known += 1;
        self.no_page += 1;
        Ok(())
    }

    /// Puts lives and what happens to the queues into the batch: the latter as one value, under the number of the change.
    pub fn batch_entries(&mut self) {
        self.lives.sort_by_key(|(key, _)| *key);
        self.store.lives_absent.add(self.lives.iter().map(|(key, _)| *key));
        self.store.told_absent.add(self.told.drain(..));
        for (key, life) in self.lives.drain(..) {
            self.batch.insert(&self.store.lives, key.to_bytes(), life);
        }
        self.row = in_order(std::mem::take(&mut self.queue));
        if !self.row.is_empty() {
            let mut bytes = Vec::with_capacity(self.row.len() * Entry::BYTES);
            self.row.iter().for_each(|entry| bytes.extend_from_slice(&entry.to_bytes()));
            self.batch.insert(&self.store.changes, self.writer.change_next.to_be_bytes(), bytes);
        }
    }

    /// Has earlier changes of the queues forgotten that are in the queues' own files by now.
    pub fn forget_changes(&mut self, covered: u64) {
        let until = covered.min(self.writer.change_first + CHANGES_FORGOTTEN_MAX);
        for number in self.writer.change_first..until {
            self.batch.remove(&self.store.changes, number.to_be_bytes());
        }
        self.writer.change_first = self.writer.change_first.max(until);
    }

    /// Leaves its room to the next change, once everybody heard of it.
    pub fn leave_room(self) {
        let Self { writer, mut hosts, mut host_places, mut lives, mut told, mut fresh, .. } = self;
        if hosts.len() > Room::HOSTS_MAX {
            return;
        }
        hosts.clear();
        host_places.clear();
        lives.clear();
        told.clear();
        fresh.clear();
        writer.room = Room { hosts, host_places, lives, told, fresh };
    }

    /// A host, as it will be after this change.
    pub fn host(&mut self, name: &str) -> Result<&mut HostChange, FrontierError> {
        let at = self.host_place(name)?;
        Ok(&mut self.hosts[at])
    }

    /// Where a host is among those of this change.
    fn host_place(&mut self, name: &str) -> Result<usize, FrontierError> {
        if self.hosts.get(self.host_last).is_some_and(|host| *host.name == *name) {
            return Ok(self.host_last);
        }
        let key = self.store.secret.name_key(name);
        self.host_last = match self.host_places.get(&key) {
            Some(&at) => at,
            None => {
                let stored = self.writer.host_by_key(self.store, name, key)?;
                let new = stored.is_none();
                let record = stored.unwrap_or_else(|| {
                    let number = self.writer.host_next;
                    self.writer.host_next += 1;
                    HostRecord { number, ..HostRecord::default() }
                });
                self.hosts.push(HostChange {
                    name: name.into(),
                    key,
                    new,
                    counted: record.counts(),
                    record,
                    changed: false,
                    fresh: Vec::new(),
                });
                self.host_places.insert(key, self.hosts.len() - 1);
                self.hosts.len() - 1
            }
        };
        Ok(self.host_last)
    }

    /// The same, marked as changed.
    pub fn changed_host(&mut self, name: &str) -> Result<&mut HostChange, FrontierError> {
        let host = self.host(name)?;
        host.changed = true;
        Ok(host)
    }
}

/// What is counted for a domain.
pub(super) fn domain(store: &Store, name: &str) -> Result<DomainRecord, FrontierError> {
    let found = read(&store.domains, name.as_bytes())?;
    found.map_or_else(|| Ok(DomainRecord::default()), |value| decode(name.as_bytes(), &value))
}

/// What became of a URL; nothing while it only waits.
pub(super) fn life(store: &Store, key: UrlKey) -> Result<Option<LifeRecord>, FrontierError> {
    if !store.lives_absent.may_have(key) {
        return Ok(None);
    }
    let key = key.to_bytes();
    read(&store.lives, &key)?.map(|value| decode(&key, &value)).transpose()
}

/// The same for many, each in its turn; nothing also for those of which `absent` says so. They are looked up in the order of their keys:
/// neighbours in the store are then near each other in memory, too.
pub(super) fn lives(
    store: &Store,
    keys: &[UrlKey],
    absent: &Absent,
) -> Result<Vec<Option<LifeRecord>>, FrontierError> {
    let mut order: Vec<usize> = (0..keys.len()).filter(|&number| absent.may_have(keys[number])).collect();
    order.sort_unstable_by_key(|&number| keys[number]);
    let mut lives: Vec<Option<LifeRecord>> = vec![None; keys.len()];
    for number in order {
        lives[number] = life(store, keys[number])?;
    }
    Ok(lives)
}

/// The part of an injection's report that an offer knows.
pub(super) fn report_of(summary: OfferSummary) -> InjectionReport {
    InjectionReport {
        queued: summary.new,
        known: summary.seen,
        refused: summary.too_deep + summary.refused,
        ..InjectionReport::default()
    }
}
