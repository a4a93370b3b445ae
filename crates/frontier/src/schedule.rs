//! The scheduling core: which URL may be fetched now, and when to ask again if none may.
//!
//! In: queue entries, the ends of requests, the ends of leases. Out: leases. It holds the hosts with
//! the heads of their queues, the politeness clocks of hosts and domains, and the leases that are out.
//! It does no I/O and reads no clock: moments are handed in, and the rest of a host's queue is asked
//! for through a closure. Making things durable is left to the frontier around it.
//! Start at [`Scheduler::lease`]; the order among hosts is made in [`Scheduler::refresh`].

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use webloom_model::{
    FrontierCounts, FrontierError, HostHint, Lease, LeaseAnswer, LeaseId, LinkCandidate, SettlementKind,
    url::pay_level_domain,
};

use crate::FrontierConfig;

/// Where an entry stands in its host's queue: breadth first, then in the order of offering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub depth: u32,
    pub seq: u64,
}

impl Place {
    /// Before every entry.
    pub const FIRST: Self = Self { depth: 0, seq: 0 };
    /// Behind every entry.
    pub const LAST: Self = Self { depth: u32::MAX, seq: u64::MAX };

    /// The place right behind this one.
    fn next(self) -> Self {
        Self { seq: self.seq + 1, ..self }
    }
}

/// A queued URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub candidate: LinkCandidate,
    pub attempt: u32,
}

/// What is remembered of a host beyond its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HostFacts {
    /// Entries in its queue, leased ones included.
    pub queued: u64,
    /// Retries that wait for their time.
    pub waiting: u64,
    /// Pages in the index.
    pub indexed: u64,
    /// The delay its robots.txt asks for, capped.
    pub crawl_delay: Option<Duration>,
    /// Until when it wishes to be left alone.
    pub held_until: Option<Instant>,
}

/// Sums over the whole crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub known: u64,
    pub indexed: u64,
    pub no_page: u64,
}

/// A lease on its way to being settled: taken out by [`Scheduler::begin_settle`], ended by
/// [`Scheduler::end_settle`].
#[derive(Debug)]
pub(crate) struct Ending {
    pub lease: LeaseId,
    pub place: Place,
    pub entry: Box<Entry>,
}

/// Fetches up to so many entries of a host's queue from a place on, in order, leaving out those for
/// which the predicate says no.
pub(crate) type Refill<'a> =
    dyn FnMut(&str, Place, usize, &dyn Fn(Place) -> bool) -> Result<Vec<(Place, Entry)>, FrontierError> + 'a;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct HostId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DomainId(u32);

/// When something became ready, and its number among all that ever did: together a first-in-first-out order.
type Turn = (Instant, u64);

#[derive(Debug)]
struct Host {
    name: Box<str>,
    domain: DomainId,
    /// The first entries of the queue. All of them stand before `tail_from`.
    heads: BTreeMap<Place, Box<Entry>>,
    /// How many entries more there are, all at `tail_from` or behind it, and none of them leased.
    tail: u64,
    tail_from: Place,
    /// Places of the leased entries.
    out: Vec<Place>,
    /// True while a request has not finished.
    asking: bool,
    waiting: u64,
    indexed: u64,
    not_before: Option<Instant>,
    crawl_delay: Option<Duration>,
    held_until: Option<Instant>,
    /// True when `crawl_delay` or `held_until` changed since they were last handed out to be stored.
    unsaved: bool,
    /// Its turn within the domain, while there is something to lease.
    turn: Option<Turn>,
    /// Whether it counts as a host with something queued.
    counted: bool,
}

#[derive(Debug, Default)]
struct Domain {
    not_before: Option<Instant>,
    asking: bool,
    hosts: BTreeSet<(Turn, HostId)>,
    /// Its turn among the domains.
    turn: Option<Turn>,
}

#[derive(Debug)]
struct Out {
    host: HostId,
    place: Place,
    /// Nothing while the lease is being settled.
    entry: Option<Box<Entry>>,
    deadline: Instant,
    asking: bool,
}

/// See the module's own words.
#[derive(Debug)]
pub(crate) struct Scheduler {
    config: FrontierConfig,
    hosts: Vec<Host>,
    host_ids: HashMap<Box<str>, HostId>,
    domains: Vec<Domain>,
    domain_ids: HashMap<Box<str>, DomainId>,
    ready: BTreeSet<(Turn, DomainId)>,
    turns: u64,
    leases: HashMap<LeaseId, Out>,
    deadlines: BTreeSet<(Instant, LeaseId)>,
    lease_next: u64,
    totals: Totals,
    hosts_queued: u64,
    waiting: u64,
    waiting_next: Option<Instant>,
}

impl Scheduler {
    pub fn new(mut config: FrontierConfig) -> Self {
        // A host without a single head could never be leased from.
        config.heads_per_host = config.heads_per_host.max(1);
        Self {
            config,
            hosts: Vec::new(),
            host_ids: HashMap::new(),
            domains: Vec::new(),
            domain_ids: HashMap::new(),
            ready: BTreeSet::new(),
            turns: 0,
            leases: HashMap::new(),
            deadlines: BTreeSet::new(),
            lease_next: 1,
            totals: Totals::default(),
            hosts_queued: 0,
            waiting: 0,
            waiting_next: None,
        }
    }

    /// Takes up a host of an earlier run. It owes its full delay from now on, because nobody knows when
    /// it was last asked.
    pub fn reopen_host(&mut self, name: &str, facts: &HostFacts, now: Instant) {
        let id = self.host_id(name);
        let host = &mut self.hosts[id.0 as usize];
        host.tail = facts.queued;
        host.tail_from = Place::FIRST;
        host.waiting = facts.waiting;
        host.indexed = facts.indexed;
        host.crawl_delay = facts.crawl_delay.map(|delay| delay.min(self.config.crawl_delay_max));
        // A clock that was set back must not hold a host for years.
        let latest = after(now, self.config.retry_after_max);
        host.held_until = facts.held_until.map(|until| until.min(latest));
        let owed = after(now, host.delay(&self.config));
        host.not_before = Some(host.held_until.map_or(owed, |until| until.max(owed)));
        let domain = host.domain;
        self.waiting += facts.waiting;
        self.domains[domain.0 as usize].not_before = Some(after(now, self.config.domain_delay));
        self.refresh(id, now);
    }

    pub fn set_totals(&mut self, totals: Totals) {
        self.totals = totals;
    }

    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Queues an entry. The candidate is copied only when it is near enough to its turn to be held.
    pub fn insert(&mut self, place: Place, candidate: &LinkCandidate, attempt: u32, now: Instant) {
        let id = self.host_id(candidate.url.host());
        let host = &mut self.hosts[id.0 as usize];
        if host.holds(place, self.config.heads_per_host) {
            let entry = Box::new(Entry { candidate: candidate.clone(), attempt });
            host.put(place, entry, self.config.heads_per_host);
        } else {
            host.put_on_tail(place);
        }
        self.refresh(id, now);
    }

    /// Up to `max` leases, or why there are none.
    pub fn lease(
        &mut self,
        max: usize,
        now: Instant,
        refill: &mut Refill<'_>,
    ) -> Result<LeaseAnswer, FrontierError> {
        self.expire(now);
        let room = self.config.pages_max.map_or(u64::MAX, |pages| {
            pages.saturating_sub(self.totals.indexed).saturating_sub(self.leases.len() as u64)
        });
        let max = max.min(usize::try_from(room).unwrap_or(usize::MAX));
        let mut leased = Vec::new();
        while leased.len() < max {
            let Some(&((ready, _), domain)) = self.ready.first() else { break };
            if ready > now {
                break;
            }
            let Some(&(_, id)) = self.domains[domain.0 as usize].hosts.first() else { break };
            if let Some((place, entry)) = self.take_head(id, refill)? {
                leased.push(self.lease_out(id, place, entry, now));
            }
            self.refresh(id, now);
        }
        Ok(if leased.is_empty() { self.why_none(room) } else { LeaseAnswer::Leased(leased) })
    }

    /// Ends the request of a lease; the delays count from now.
    pub fn request_finished(&mut self, lease: LeaseId, hint: HostHint, now: Instant) {
        let Some(out) = self.leases.get_mut(&lease) else { return };
        // The first end counts: a second call must not free a host that meanwhile asks for another URL.
        if !std::mem::take(&mut out.asking) {
            return;
        }
        let id = out.host;
        self.request_ended(id, hint, now);
    }

    /// Takes a host for a request that is no page. Gives the moment from which it may be made; nothing while another
    /// request to the host or its domain is under way.
    pub fn reserve(&mut self, name: &str, now: Instant) -> Option<Instant> {
        self.expire(now);
        let id = self.host_id(name);
        let host = &mut self.hosts[id.0 as usize];
        let domain = &mut self.domains[host.domain.0 as usize];
        if host.asking || domain.asking {
            return None;
        }
        // Taken from here on, not only from the moment: with many pages queued its turn would never come.
        host.asking = true;
        domain.asking = true;
        let moment = host.not_before.max(domain.not_before).map_or(now, |moment| moment.max(now));
        self.refresh(id, now);
        Some(moment)
    }

    /// Ends the request of a reserved host; the delays count from now.
    pub fn release(&mut self, name: &str, hint: HostHint, now: Instant) {
        if let Some(&id) = self.host_ids.get(name) {
            self.request_ended(id, hint, now);
        }
    }

    fn request_ended(&mut self, id: HostId, hint: HostHint, now: Instant) {
        let host = &mut self.hosts[id.0 as usize];
        host.asking = false;
        if let Some(wish) = hint.crawl_delay {
            let delay = Some(wish.min(self.config.crawl_delay_max));
            host.unsaved |= host.crawl_delay != delay;
            host.crawl_delay = delay;
        }
        let (host_owes, domain_owes) = if hint.untouched {
            (Duration::ZERO, Duration::ZERO)
        } else {
            (host.delay(&self.config), self.config.domain_delay)
        };
        // Even a host that owes nothing goes behind those that are ready already.
        host.not_before = host.not_before.max(Some(after(now, host_owes)));
        if let Some(wish) = hint.retry_after {
            let until = after(now, wish.min(self.config.retry_after_max));
            host.not_before = host.not_before.max(Some(until));
            host.held_until = host.held_until.max(Some(until));
            host.unsaved = true;
        }
        let domain = &mut self.domains[host.domain.0 as usize];
        domain.asking = false;
        domain.not_before = domain.not_before.max(Some(after(now, domain_owes)));
        self.refresh(id, now);
    }

    /// Takes a lease out to be settled: from here on it does not expire. Nothing when it is unknown,
    /// because it was settled before or has expired.
    pub fn begin_settle(&mut self, lease: LeaseId, now: Instant) -> Option<Ending> {
        self.leases.get(&lease)?.entry.as_ref()?;
        self.request_finished(lease, HostHint::default(), now);
        let out = self.leases.get_mut(&lease)?;
        self.deadlines.remove(&(out.deadline, lease));
        let entry = out.entry.take()?;
        Some(Ending { lease, place: out.place, entry })
    }

    /// Ends a lease for good. `retry_at` is the moment the retry is stored for, when it is one.
    pub fn end_settle(
        &mut self,
        ending: Ending,
        kind: SettlementKind,
        retry_at: Option<Instant>,
        now: Instant,
    ) {
        let Some(out) = self.leases.remove(&ending.lease) else { return };
        let host = &mut self.hosts[out.host.0 as usize];
        host.out.retain(|place| *place != out.place);
        match kind {
            SettlementKind::Indexed => {
                host.indexed += 1;
                self.totals.indexed += 1;
            }
            SettlementKind::NoPage => self.totals.no_page += 1,
            SettlementKind::Retry(_) => {
                host.waiting += 1;
                self.waiting += 1;
                self.waiting_next = match (self.waiting_next, retry_at) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            }
            SettlementKind::Returned => host.put(ending.place, ending.entry, self.config.heads_per_host),
        }
        self.refresh(out.host, now);
    }

    /// True when a retry's time has come, so that [`Self::retry_queued`] should be called.
    pub fn retry_due(&self, now: Instant) -> bool {
        self.waiting_next.is_some_and(|due| due <= now)
    }

    /// A retry's time has come: it is queued again, at a new place.
    pub fn retry_queued(&mut self, place: Place, entry: &Entry, now: Instant) {
        let id = self.host_id(entry.candidate.url.host());
        let host = &mut self.hosts[id.0 as usize];
        host.waiting = host.waiting.saturating_sub(1);
        self.waiting = self.waiting.saturating_sub(1);
        self.insert(place, &entry.candidate, entry.attempt, now);
    }

    /// When the next retry is due.
    pub fn set_waiting_next(&mut self, due: Option<Instant>) {
        self.waiting_next = due;
    }

    /// Counts newly known URLs.
    pub fn add_known(&mut self, new: u64) {
        self.totals.known += new;
    }

    /// What is to be stored of a host, and marks it stored.
    pub fn save_host(&mut self, name: &str) -> HostFacts {
        let Some(id) = self.host_ids.get(name) else { return HostFacts::default() };
        let host = &mut self.hosts[id.0 as usize];
        host.unsaved = false;
        HostFacts {
            queued: host.heads.len() as u64 + host.tail + host.out.len() as u64,
            waiting: host.waiting,
            indexed: host.indexed,
            crawl_delay: host.crawl_delay,
            held_until: host.held_until,
        }
    }

    /// True when the host said something about its delays that is not stored yet.
    pub fn host_unsaved(&self, name: &str) -> bool {
        self.host_ids.get(name).is_some_and(|id| self.hosts[id.0 as usize].unsaved)
    }

    /// True when the entry at that place is leased.
    pub fn is_out(&self, host: &str, place: Place) -> bool {
        self.host_ids.get(host).is_some_and(|id| self.hosts[id.0 as usize].out.contains(&place))
    }

    pub fn counts(&self) -> FrontierCounts {
        let Totals { known, indexed, no_page } = self.totals;
        let leased = self.leases.len() as u64;
        FrontierCounts {
            known,
            queued: known.saturating_sub(indexed).saturating_sub(no_page).saturating_sub(leased),
            leased,
            indexed,
            no_page,
            hosts: self.hosts_queued,
        }
    }

    /// Why nothing can be leased now, and when that may change by itself.
    fn why_none(&self, room: u64) -> LeaseAnswer {
        let counts = self.counts();
        let out = !self.leases.is_empty();
        if !out && (counts.queued == 0 || room == 0) {
            return LeaseAnswer::Finished { budget_spent: counts.queued > 0 };
        }
        if counts.queued == 0 {
            return LeaseAnswer::Busy;
        }
        let deadline = self.deadlines.first().map(|&(deadline, _)| deadline);
        let next = if room == 0 {
            // Only a lease that ends without a page, or not at all, makes room.
            deadline
        } else {
            let ready = self.ready.first().map(|&((ready, _), _)| ready);
            [ready, self.waiting_next, deadline].into_iter().flatten().min()
        };
        match next {
            Some(moment) => LeaseAnswer::Wait(moment),
            // All that is out is being settled at this moment.
            None if out => LeaseAnswer::Busy,
            // All that is queued belongs to hosts whose budget is spent.
            None => LeaseAnswer::Finished { budget_spent: true },
        }
    }

    /// Queues what was leased for too long again, and frees its hosts.
    fn expire(&mut self, now: Instant) {
        while let Some(&(deadline, lease)) = self.deadlines.first() {
            if deadline > now {
                break;
            }
            // Whatever the lost worker did, it has stopped by its deadline.
            self.request_finished(lease, HostHint::default(), deadline);
            self.deadlines.pop_first();
            let Some(mut out) = self.leases.remove(&lease) else { continue };
            let host = &mut self.hosts[out.host.0 as usize];
            host.out.retain(|place| *place != out.place);
            if let Some(entry) = out.entry.take() {
                host.put(out.place, entry, self.config.heads_per_host);
            }
            self.refresh(out.host, now);
        }
    }

    fn take_head(
        &mut self,
        id: HostId,
        refill: &mut Refill<'_>,
    ) -> Result<Option<(Place, Box<Entry>)>, FrontierError> {
        let host = &mut self.hosts[id.0 as usize];
        if host.heads.is_empty() && host.tail > 0 {
            let count = self.config.heads_per_host;
            let out = &host.out;
            let entries = refill(&host.name, host.tail_from, count, &|place| !out.contains(&place))?;
            host.tail = if entries.len() < count {
                if entries.len() as u64 != host.tail {
                    tracing::warn!(
                        host = %host.name,
                        counted = host.tail,
                        found = entries.len(),
                        "the queue of a host is not as long as it was counted"
                    );
                }
                0
            } else {
                host.tail.saturating_sub(entries.len() as u64)
            };
            if let Some((last, _)) = entries.last() {
                host.tail_from = last.next();
            }
            host.heads.extend(entries.into_iter().map(|(place, entry)| (place, Box::new(entry))));
        }
        Ok(host.heads.pop_first())
    }

    fn lease_out(&mut self, id: HostId, place: Place, entry: Box<Entry>, now: Instant) -> Lease {
        let lease_id = LeaseId(self.lease_next);
        self.lease_next += 1;
        let host = &mut self.hosts[id.0 as usize];
        host.asking = true;
        host.out.push(place);
        self.domains[host.domain.0 as usize].asking = true;
        let lease = Lease { id: lease_id, candidate: entry.candidate.clone(), attempt: entry.attempt };
        let deadline = after(now, self.config.lease_ttl);
        self.deadlines.insert((deadline, lease_id));
        self.leases.insert(lease_id, Out { host: id, place, entry: Some(entry), deadline, asking: true });
        lease
    }

    fn host_id(&mut self, name: &str) -> HostId {
        if let Some(&id) = self.host_ids.get(name) {
            return id;
        }
        // Without a domain delay every host is a domain of its own, and none waits for another.
        let domain_name = if self.config.domain_delay.is_zero() { name } else { domain_of(name) };
        let domain = match self.domain_ids.get(domain_name) {
            Some(&domain) => domain,
            None => {
                let domain = DomainId(self.domains.len() as u32);
                self.domains.push(Domain::default());
                self.domain_ids.insert(domain_name.into(), domain);
                domain
            }
        };
        let id = HostId(self.hosts.len() as u32);
        self.hosts.push(Host::new(name, domain));
        self.host_ids.insert(name.into(), id);
        id
    }

    /// Brings the order of turns and the sums into line with a host that has changed.
    fn refresh(&mut self, id: HostId, now: Instant) {
        let host = &mut self.hosts[id.0 as usize];
        let domain = &mut self.domains[host.domain.0 as usize];
        let budget_left =
            self.config.pages_per_host_max.is_none_or(|pages| host.indexed + (host.out.len() as u64) < pages);
        let eligible = host.has_entries() && !host.asking && budget_left;
        let overtaken = host.turn.is_some_and(|(ready, _)| host.not_before > Some(ready));
        if (!eligible || overtaken)
            && let Some(turn) = host.turn.take()
        {
            domain.hosts.remove(&(turn, id));
        }
        if eligible && host.turn.is_none() {
            self.turns += 1;
            let turn = (host.not_before.map_or(now, |moment| moment.max(now)), self.turns);
            host.turn = Some(turn);
            domain.hosts.insert((turn, id));
        }
        let turn = match domain.hosts.first() {
            Some(&((ready, number), _)) if !domain.asking => {
                Some((domain.not_before.map_or(ready, |moment| moment.max(ready)), number))
            }
            _ => None,
        };
        if domain.turn != turn {
            if let Some(old) = domain.turn {
                self.ready.remove(&(old, host.domain));
            }
            if let Some(new) = turn {
                self.ready.insert((new, host.domain));
            }
            domain.turn = turn;
        }
        let counted = host.has_entries() || host.waiting > 0;
        if counted != host.counted {
            host.counted = counted;
            if counted {
                self.hosts_queued += 1;
            } else {
                self.hosts_queued -= 1;
            }
        }
    }
}

impl Host {
    fn new(name: &str, domain: DomainId) -> Self {
        Self {
            name: name.into(),
            domain,
            heads: BTreeMap::new(),
            tail: 0,
            tail_from: Place::FIRST,
            out: Vec::new(),
            asking: false,
            waiting: 0,
            indexed: 0,
            not_before: None,
            crawl_delay: None,
            held_until: None,
            unsaved: false,
            turn: None,
            counted: false,
        }
    }

    fn has_entries(&self) -> bool {
        !self.heads.is_empty() || self.tail > 0
    }

    fn delay(&self, config: &FrontierConfig) -> Duration {
        self.crawl_delay.map_or(config.host_delay, |delay| delay.max(config.host_delay))
    }

    /// Whether an entry at that place would be held in memory.
    fn holds(&self, place: Place, heads_max: usize) -> bool {
        (self.tail == 0 || place < self.tail_from)
            && (self.heads.len() < heads_max
                || self.heads.last_key_value().is_some_and(|(last, _)| place < *last))
    }

    /// Adds an entry, in memory or, when it stands too far behind, only in number.
    fn put(&mut self, place: Place, entry: Box<Entry>, heads_max: usize) {
        if !self.holds(place, heads_max) {
            return self.put_on_tail(place);
        }
        self.heads.insert(place, entry);
        if self.heads.len() > heads_max
            && let Some((last, _)) = self.heads.pop_last()
        {
            self.put_on_tail(last);
        }
    }

    fn put_on_tail(&mut self, place: Place) {
        self.tail_from = if self.tail == 0 { place } else { self.tail_from.min(place) };
        self.tail += 1;
    }
}

/// `moment + pause`, or as far as the machine can count.
pub(crate) fn after(moment: Instant, pause: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    moment.checked_add(pause.min(CENTURY)).unwrap_or(moment)
}

/// The pay-level domain of a host as `PageUrl::host` gives it: addresses stand for themselves.
fn domain_of(host: &str) -> &str {
    let address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if address { host } else { pay_level_domain(host) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use webloom_model::PageUrl;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn candidate(url: &str, depth: u32) -> LinkCandidate {
        LinkCandidate { depth, ..LinkCandidate::seed(PageUrl::parse(url).expect("a URL")) }
    }

    /// A scheduler that knows one URL.
    fn scheduler(now: Instant) -> Scheduler {
        let mut scheduler = Scheduler::new(FrontierConfig::default());
        scheduler.insert(Place { depth: 0, seq: 1 }, &candidate("http://a.example/", 0), 0, now);
        scheduler.add_known(1);
        scheduler
    }

    /// A lease from a scheduler that holds all there is.
    fn lease(scheduler: &mut Scheduler, now: Instant) -> LeaseAnswer {
        scheduler.lease(9, now, &mut |_, _, _, _| Ok(Vec::new())).expect("no disk, no error")
    }

    fn lease_id(scheduler: &mut Scheduler, now: Instant) -> LeaseId {
        match lease(scheduler, now) {
            LeaseAnswer::Leased(leases) => leases[0].id,
            other => panic!("a host should be ready: {other:?}"),
        }
    }

    #[test]
    fn addresses_are_domains_of_their_own() {
        for (host, expected) in [
            ("www.example.co.uk", "example.co.uk"),
            ("127.0.0.1", "127.0.0.1"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("localhost", "localhost"),
        ] {
            assert_eq!(domain_of(host), expected);
        }
    }

    #[test]
    fn the_far_future_is_not_too_far() {
        let now = Instant::now();
        assert!(after(now, Duration::MAX) > now + SECOND);
    }

    #[test]
    fn a_lease_that_is_being_settled_neither_expires_nor_settles_twice() {
        let now = Instant::now();
        let mut scheduler = scheduler(now);
        let id = lease_id(&mut scheduler, now);
        let ending = scheduler.begin_settle(id, now).unwrap();
        assert!(scheduler.begin_settle(id, now).is_none());
        let late = now + SECOND * 100_000;
        assert_eq!(lease(&mut scheduler, late), LeaseAnswer::Busy);
        scheduler.end_settle(ending, SettlementKind::NoPage, None, late);
        assert_eq!(lease(&mut scheduler, late), LeaseAnswer::Finished { budget_spent: false });
    }

    #[test]
    fn a_queue_that_is_shorter_than_counted_does_not_stop_the_others() {
        let now = Instant::now();
        let mut scheduler = scheduler(now);
        let facts = HostFacts { queued: 3, ..HostFacts::default() };
        scheduler.reopen_host("gone.example", &facts, now);
        let answer = lease(&mut scheduler, now + SECOND);
        assert!(matches!(answer, LeaseAnswer::Leased(leases) if leases.len() == 1));
    }

    #[test]
    fn what_a_host_said_is_to_be_saved_once() {
        let now = Instant::now();
        let mut scheduler = scheduler(now);
        let id = lease_id(&mut scheduler, now);
        assert!(!scheduler.host_unsaved("a.example"));
        let hint = HostHint { crawl_delay: Some(SECOND * 5), ..HostHint::default() };
        scheduler.request_finished(id, hint, now);
        assert!(scheduler.host_unsaved("a.example"));
        assert_eq!(scheduler.save_host("a.example").crawl_delay, Some(SECOND * 5));
        assert!(!scheduler.host_unsaved("a.example"));
    }

    #[test]
    fn a_clock_set_back_does_not_hold_a_host_for_years() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(FrontierConfig::default());
        let held_until = Some(now + SECOND * 100_000_000);
        scheduler.reopen_host("a.example", &HostFacts { held_until, ..HostFacts::default() }, now);
        let url = candidate("http://a.example/", 0);
        scheduler.insert(Place { depth: 0, seq: 1 }, &url, 0, now);
        scheduler.add_known(1);
        let latest = now + FrontierConfig::default().retry_after_max;
        assert_eq!(lease(&mut scheduler, now), LeaseAnswer::Wait(latest));
    }

    #[test]
    fn a_refill_leaves_out_what_is_leased() {
        let now = Instant::now();
        let mut scheduler = Scheduler::new(FrontierConfig {
            heads_per_host: 2,
            host_delay: Duration::ZERO,
            domain_delay: Duration::ZERO,
            ..FrontierConfig::default()
        });
        // The first is leased and not settled; then come others that stand before it, too many to hold.
        let places = [(1, 1), (0, 2), (0, 3), (0, 4)].map(|(depth, seq)| Place { depth, seq });
        let entry = |place: Place| Entry {
            candidate: candidate(&format!("http://a.example/{}", place.seq), place.depth),
            attempt: 0,
        };
        let mut leased = Vec::new();
        for place in places {
            scheduler.insert(place, &entry(place).candidate, 0, now);
            scheduler.add_known(1);
            if place.seq == 1 {
                let id = lease_id(&mut scheduler, now);
                scheduler.request_finished(id, HostHint::default(), now);
            }
        }
        let mut disk = places;
        disk.sort_unstable();
        loop {
            let answer = scheduler.lease(1, now, &mut |_, from, count, wanted| {
                let places = disk.iter().filter(|place| **place >= from && wanted(**place));
                Ok(places.take(count).map(|place| (*place, entry(*place))).collect())
            });
            let Ok(LeaseAnswer::Leased(leases)) = answer else { break };
            leased.push(leases[0].url().path_and_query().to_owned());
            scheduler.request_finished(leases[0].id, HostHint::default(), now);
        }
        assert_eq!(leased, ["/2", "/3", "/4"]);
    }

    proptest! {
        /// However few heads are held, entries come in the order of their places, and the count is right.
        #[test]
        fn heads_and_tail_are_one_queue(
            depths in prop::collection::vec(0_u32..4, 1..40),
            takes in prop::collection::vec(any::<bool>(), 40),
            heads_per_host in 1_usize..5,
        ) {
            let config = FrontierConfig {
                heads_per_host,
                host_delay: Duration::ZERO,
                domain_delay: Duration::ZERO,
                ..FrontierConfig::default()
            };
            let now = Instant::now();
            let mut scheduler = Scheduler::new(config);
            let mut disk: BTreeMap<Place, Entry> = BTreeMap::new();
            let take = |scheduler: &mut Scheduler, disk: &mut BTreeMap<Place, Entry>| {
                let answer = scheduler.lease(1, now, &mut |_, from, count, wanted| {
                    let entries = disk.range(from..).filter(|(place, _)| wanted(**place));
                    Ok(entries.take(count).map(|(place, entry)| (*place, entry.clone())).collect())
                });
                let Ok(LeaseAnswer::Leased(leases)) = answer else { panic!("nothing to lease") };
                let ending = scheduler.begin_settle(leases[0].id, now).expect("leased just now");
                assert_eq!(disk.pop_first().map(|(place, _)| place), Some(ending.place));
                scheduler.end_settle(ending, SettlementKind::NoPage, None, now);
            };
            for (seq, (depth, take_one)) in depths.iter().zip(takes).enumerate() {
                let place = Place { depth: *depth, seq: seq as u64 };
                let candidate = candidate(&format!("http://a.example/{seq}"), *depth);
                disk.insert(place, Entry { candidate: candidate.clone(), attempt: 0 });
                scheduler.insert(place, &candidate, 0, now);
                scheduler.add_known(1);
                if take_one {
                    take(&mut scheduler, &mut disk);
                }
                prop_assert_eq!(scheduler.save_host("a.example").queued, disk.len() as u64);
            }
            while !disk.is_empty() {
                take(&mut scheduler, &mut disk);
            }
            prop_assert_eq!(scheduler.counts().queued, 0);
        }
    }
}
