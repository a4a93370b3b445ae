//! The scheduling core: which URL may be fetched now, and when to ask again if none may.
//!
//! In: places in queues, the ends of requests, the ends of leases. Out: leases. It holds the hosts that are being crawled with
//! the heads of their queues, the politeness clocks of hosts, domains and addresses, and the leases that are out. What
//! a URL is, it does not know: an entry is a place and how often it failed. It does no I/O and reads no clock: moments are
//! handed in, and the rest of a host's queue is asked for through a closure. Making things durable, and taking up and
//! laying down hosts when there are too many for the memory, is left to the frontier around it.
//! Start at [`Scheduler::lease`]; the order among hosts is made in [`Scheduler::refresh`].

mod host;
mod place;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use host::{Address, Domain, Host};
pub(crate) use host::{HostFacts, Manners};
pub(crate) use place::Place;
use webloom_model::{
    FrontierCounts, FrontierError, HostHint, LeaseId, QueueState, SettlementKind, url::pay_level_domain,
};

use crate::FrontierConfig;
use crate::numbers::NumberMap;

/// Sums over the whole crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    pub known: u64,
    pub indexed: u64,
    pub no_page: u64,
    /// Hosts with something queued, leased or waiting.
    pub hosts: u64,
}

/// What may be fetched now, or why nothing may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Picks {
    Picked(Vec<Pick>),
    Wait(Instant),
    Busy,
    Finished { budget_spent: bool },
}

/// One entry whose turn has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pick {
    pub lease: LeaseId,
    pub place: Place,
    pub attempt: u32,
    /// The number of its host among those in memory; another one has it when this one is gone.
    pub host: u32,
}

/// A lease on its way to being settled: taken out by [`Scheduler::begin_settle`], ended by
/// [`Scheduler::end_settle`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub lease: LeaseId,
    pub place: Place,
    pub attempt: u32,
    /// What the request told.
    pub hint: HostHint,
}

/// Fetches up to so many entries of the queue of the host with that number from a place on, in order, leaving out those for
/// which the predicate says no.
pub(crate) type Refill<'a> =
    dyn FnMut(u32, Place, usize, &dyn Fn(Place) -> bool) -> Result<Vec<(Place, u32)>, FrontierError> + 'a;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct HostId(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct DomainId(u32);

/// When something became ready, and its number among all that ever did: together a first-in-first-out order.
type Turn = (Instant, u64);

/// Pages that a domain may have one after the other, before others that wait, while its connection is warm.
const VISIT_PAGES: u8 = 4;

/// A row of those that are ready: even numbers are for those whose connection is warm.
fn row(class: usize, warm: bool) -> usize {
    class * 2 + usize::from(!warm)
}

#[derive(Debug)]
struct Out {
    host: HostId,
    place: Place,
    attempt: u32,
    deadline: Instant,
    asking: bool,
    settling: bool,
    hint: HostHint,
}

/// A host that is laid down, for the frontier to store.
#[derive(Debug)]
pub(crate) struct LaidDown {
    pub name: Box<str>,
    pub facts: HostFacts,
    /// When it may be asked again.
    pub not_before: Option<Instant>,
    /// True when its budget is spent.
    pub exhausted: bool,
}

/// See the module's own words.
#[derive(Debug)]
pub(crate) struct Scheduler {
    config: FrontierConfig,
    hosts: Vec<Option<Host>>,
    hosts_free: Vec<HostId>,
    host_ids: HashMap<Box<str>, HostId>,
    domains: Vec<Option<Domain>>,
    domains_free: Vec<DomainId>,
    domain_ids: HashMap<Box<str>, DomainId>,
    addresses: HashMap<IpAddr, Address>,
    /// When an earlier run's work was taken up. Whom that run asked last is not known, so everybody may have been asked until then.
    reopened: Option<Instant>,
    /// Two rows per class of urgency: first those whose connection is still warm, then the others.
    ready: [BTreeSet<(Turn, DomainId)>; Place::CLASSES * 2],
    turns: u64,
    leases: NumberMap<LeaseId, Out>,
    deadlines: BTreeSet<(Instant, LeaseId)>,
    lease_next: u64,
    totals: Totals,
    /// Hosts that have nothing but leases.
    hosts_all_out: u64,
    waiting_next: Option<Instant>,
    /// Hosts that have nothing to do, by the moment from which they owe nobody a pause.
    idle: BTreeSet<(Instant, HostId)>,
    /// Leases that ran out since they were last asked for.
    expired: Vec<LeaseId>,
    /// Hosts that had their share of turns, or cannot be asked for long, in the order they came to it. Some may be so no more, or gone.
    tired: VecDeque<HostId>,
    /// Idle hosts with manners that are not stored.
    dropped: Vec<LaidDown>,
}

impl Scheduler {
    pub fn new(mut config: FrontierConfig) -> Self {
        // A host without a single head could never be leased from.
        config.heads_per_host = config.heads_per_host.max(1);
        Self {
            config,
            hosts: Vec::new(),
            hosts_free: Vec::new(),
            host_ids: HashMap::new(),
            domains: Vec::new(),
            domains_free: Vec::new(),
            domain_ids: HashMap::new(),
            addresses: HashMap::new(),
            reopened: None,
            ready: Default::default(),
            turns: 0,
            leases: NumberMap::default(),
            deadlines: BTreeSet::new(),
            lease_next: 1,
            totals: Totals::default(),
            hosts_all_out: 0,
            waiting_next: None,
            idle: BTreeSet::new(),
            expired: Vec::new(),
            tired: VecDeque::new(),
            dropped: Vec::new(),
        }
    }

    /// Says that an earlier run asked hosts until now, nobody knows which. Domains and addresses that come into memory owe
    /// their pause from now on.
    pub fn reopened(&mut self, now: Instant) {
        self.reopened = Some(now);
    }

    /// The configuration in force.
    pub fn config(&self) -> &FrontierConfig {
        &self.config
    }

    /// Puts another configuration in force.
    pub fn set_config(&mut self, config: FrontierConfig, now: Instant) {
        let heads_per_host = self.config.heads_per_host;
        self.config = FrontierConfig { heads_per_host, ..config };
        let (domain_delay, ip_delay) = (self.config.domain_delay, self.config.ip_delay);
        // What was put off for longer than it would be now comes earlier.
        for domain in self.domains.iter_mut().flatten() {
            domain.not_before = domain.not_before.min(Some(after(now, domain_delay)));
        }
        for address in self.addresses.values_mut() {
            address.not_before = address.not_before.min(Some(after(now, ip_delay)));
        }
        let ids: Vec<HostId> = self.host_ids.values().copied().collect();
        for id in ids {
            self.shorten_pause(id, now);
            self.refresh(id, now);
        }
    }

    /// Has a host wait no longer than if it had been asked now, or than it wishes itself.
    fn shorten_pause(&mut self, id: HostId, now: Instant) {
        let Self { config, hosts, domains, .. } = self;
        let Some(host) = hosts[id.0 as usize].as_mut() else { return };
        let latest =
            Some(after(now, host.manners.delay(config).max(config.ip_delay))).max(host.manners.held_until);
        if host.not_before <= latest {
            return;
        }
        host.not_before = latest;
        if let Some(turn) = host.turn.take()
            && let Some(domain) = domains[host.domain.0 as usize].as_mut()
        {
            domain.hosts.remove((turn, id));
        }
    }

    pub fn set_totals(&mut self, totals: Totals) {
        self.totals = totals;
    }

    /// True when the crawl has all the pages it may have.
    pub fn page_budget_spent(&self) -> bool {
        self.config.pages_max.is_some_and(|pages| self.totals.indexed >= pages)
    }

    /// Hosts in memory that have something to do. Those that only wait until they owe nobody a pause do not count.
    pub fn active(&self) -> usize {
        self.host_ids.len() - self.idle.len()
    }

    pub fn is_active(&self, host: &str) -> bool {
        self.host_ids.contains_key(host)
    }

    /// Takes up a host with what is known of it. `owes_since`: it owes its full delay from that moment, because nobody
    /// knows when it was last asked. `not_before`: it may be asked again then.
    pub fn take_up(
        &mut self,
        name: &str,
        number: u32,
        facts: &HostFacts,
        owes_since: Option<Instant>,
        not_before: Option<Instant>,
        now: Instant,
    ) {
        if self.is_active(name) {
            return;
        }
        let domain = self.domain_id(domain_of(name));
        let mut host = Host::new(name, number, domain, facts);
        // Those that are taken up together are to be laid down one after the other.
        host.served = spread(number, self.config.turns_max as usize) as u32;
        host.manners.crawl_delay =
            host.manners.crawl_delay.map(|delay| delay.min(self.config.crawl_delay_max));
        // A clock that was set back must not hold a host for years.
        let latest = after(now, self.config.retry_after_max.max(self.config.slow_delay_max));
        host.manners.held_until = host.manners.held_until.map(|until| until.min(latest));
        host.not_before = not_before.map(|moment| moment.min(latest)).max(host.manners.held_until);
        if let Some(since) = owes_since {
            host.not_before = host.not_before.max(Some(host.rested(&self.config, since)));
            let owed = after(since, self.config.domain_delay);
            let domain = self.domain_mut(domain);
            domain.not_before = domain.not_before.max(Some(owed));
        }
        if let (Some(ip), Some(since)) = (host.manners.address, self.reopened) {
            let owed = after(since, self.config.ip_delay);
            let address = self.addresses.entry(ip).or_default();
            address.not_before = address.not_before.max(Some(owed));
        }
        let id = match self.hosts_free.pop() {
            Some(id) => {
                self.hosts[id.0 as usize] = Some(host);
                id
            }
            None => {
                self.hosts.push(Some(host));
                HostId(self.hosts.len() as u32 - 1)
            }
        };
        self.host_ids.insert(name.into(), id);
        self.domain_mut(domain).members += 1;
        self.refresh(id, now);
    }

    /// Queues entries of a host that is in memory, and tells the number that it has in the keys of the queue. False when it is not
    /// in memory.
    pub fn insert(&mut self, name: &str, number: u32, entries: &[(Place, u32)], now: Instant) -> bool {
        let Some(&id) = self.host_ids.get(name) else { return false };
        let heads_max = self.config.heads_per_host;
        let host = self.host_mut(id);
        host.number = number;
        if !entries.is_empty() {
            entries.iter().for_each(|&(place, attempt)| host.put(place, attempt, heads_max));
            self.refresh(id, now);
        }
        true
    }

    /// Tells how many pages a domain with hosts in memory has, and may have.
    pub fn set_domain_budget(&mut self, name: &str, indexed: u64, budget: Option<u64>, now: Instant) {
        let Some(&id) = self.domain_ids.get(name) else { return };
        let domain = self.domain_mut(id);
        domain.indexed = indexed;
        domain.budget = budget;
        self.refresh_domain(id, now);
    }

    /// Brings all hosts of a domain into line with its budget.
    fn refresh_domain(&mut self, id: DomainId, now: Instant) {
        if self.domain(id).budget.is_none() {
            return;
        }
        let members = |host: &&HostId| self.host(**host).domain == id;
        let members: Vec<HostId> = self.host_ids.values().filter(members).copied().collect();
        for host in members {
            self.refresh(host, now);
        }
    }

    /// Takes an entry out of the queue of a host that is in memory. It must be there and not be leased.
    pub fn take_away(&mut self, name: &str, place: Place, now: Instant) {
        let Some(&id) = self.host_ids.get(name) else { return };
        self.host_mut(id).take_away(place);
        self.refresh(id, now);
    }

    /// Bans or pardons a host that is in memory.
    pub fn set_blocked(&mut self, name: &str, blocked: bool, now: Instant) {
        let Some(&id) = self.host_ids.get(name) else { return };
        self.host_mut(id).blocked = blocked;
        self.refresh(id, now);
    }

    /// Up to `max` entries whose turn it is, or why there are none.
    pub fn lease(
        &mut self,
        max: usize,
        now: Instant,
        refill: &mut Refill<'_>,
    ) -> Result<Picks, FrontierError> {
        self.expire(now);
        self.drop_idle(now);
        let room = self.config.pages_max.map_or(u64::MAX, |pages| {
            pages.saturating_sub(self.totals.indexed).saturating_sub(self.leases.len() as u64)
        });
        let max = max.min(usize::try_from(room).unwrap_or(usize::MAX));
        self.look_ahead(max, now);
        let mut picked = Vec::new();
        while picked.len() < max {
            let Some(id) = self.first_ready(now) else { break };
            if self.stands_in_row(id, now) {
                continue;
            }
            if let Some((place, attempt)) = self.take_head(id, refill)? {
                picked.push(self.lease_out(id, place, attempt, now));
            }
            self.refresh(id, now);
        }
        Ok(if picked.is_empty() { self.why_none(room) } else { Picks::Picked(picked) })
    }

    /// Looks at up to so many hosts whose turn comes next, and changes nothing. There are more of them than a processor keeps near: looked
    /// at together they come from memory side by side, where each lease would wait for its own.
    fn look_ahead(&self, max: usize, now: Instant) {
        let ready = self.ready.iter().flat_map(|row| row.iter().take_while(|((ready, _), _)| *ready <= now));
        let first = |domain: DomainId| self.domains[domain.0 as usize].as_ref()?.hosts.first();
        let hosts: Vec<HostId> =
            ready.take(max).filter_map(|&(_, domain)| first(domain)).map(|(_, id)| id).collect();
        self.look_at(hosts.into_iter());
    }

    /// The same for the hosts of leases that are to be settled.
    pub fn look_at_leases(&self, leases: impl Iterator<Item = LeaseId>) {
        self.look_at(leases.filter_map(|lease| self.leases.get(&lease)).map(|out| out.host));
    }

    fn look_at(&self, ids: impl Iterator<Item = HostId>) {
        let hosts = ids.filter_map(|id| self.hosts[id.0 as usize].as_ref());
        std::hint::black_box(hosts.map(Host::look).fold(0, u64::wrapping_add));
    }

    /// The host whose turn it is: of the most urgent class that has one, and there of those whose connection is warm if there are any, the
    /// one that waits longest.
    fn first_ready(&self, now: Instant) -> Option<HostId> {
        self.ready.iter().find_map(|row| {
            let &((ready, _), domain) = row.first()?;
            if ready > now {
                return None;
            }
            self.domain(domain).hosts.first().map(|(_, id)| id)
        })
    }

    /// Whether a host must wait because of its address; if so, it is sent where it waits.
    fn stands_in_row(&mut self, id: HostId, now: Instant) -> bool {
        if self.config.ip_delay.is_zero() {
            return false;
        }
        let Some(ip) = self.host(id).manners.address else { return false };
        let Some(address) = self.addresses.get_mut(&ip) else { return false };
        if address.asking > 0 {
            address.row.push(id);
            self.host_mut(id).in_row = true;
        } else if address.not_before > Some(now) {
            let not_before = address.not_before;
            let host = self.host_mut(id);
            host.not_before = host.not_before.max(not_before);
        } else {
            return false;
        }
        self.refresh(id, now);
        true
    }

    /// Ends the request of a lease; the delays count from now.
    pub fn request_finished(&mut self, lease: LeaseId, hint: HostHint, now: Instant) {
        let Some(out) = self.leases.get_mut(&lease) else { return };
        // The first end counts: a second call must not free a host that meanwhile asks for another URL.
        if !std::mem::take(&mut out.asking) {
            return;
        }
        out.hint = hint;
        let id = out.host;
        self.request_ended(id, hint, now);
    }

    /// Takes a host that is in memory for a request that is no page. Gives the moment from which it may be made; nothing
    /// while another request to the host, its domain or its address is under way.
    pub fn reserve(&mut self, name: &str, now: Instant) -> Option<Instant> {
        self.expire(now);
        let &id = self.host_ids.get(name)?;
        let host = self.host(id);
        let domain = self.domain(host.domain);
        let address = host.manners.address.filter(|_| !self.config.ip_delay.is_zero());
        let address = address.and_then(|ip| self.addresses.get(&ip));
        if host.asking
            || (domain.asking > 0 && !self.config.domain_delay.is_zero())
            || address.is_some_and(|address| address.asking > 0)
        {
            return None;
        }
        let mut moment = host.not_before.max(address.and_then(|address| address.not_before));
        if !self.config.domain_delay.is_zero() {
            moment = moment.max(domain.not_before);
        }
        // Taken from here on, not only from the moment: with many pages queued its turn would never come.
        self.begin_request(id);
        self.refresh(id, now);
        Some(moment.map_or(now, |moment| moment.max(now)))
    }

    /// Ends the request of a reserved host; the delays count from now.
    pub fn release(&mut self, name: &str, hint: HostHint, now: Instant) {
        if let Some(&id) = self.host_ids.get(name) {
            self.request_ended(id, hint, now);
        }
    }

    /// Learns the address of a host that is in memory. False when a request under way to the host has no turn there.
    pub fn resolved(&mut self, name: &str, ip: IpAddr, now: Instant) -> bool {
        let Some(&id) = self.host_ids.get(name) else { return true };
        let host = self.host_mut(id);
        if host.manners.address != Some(ip) {
            host.manners.address = Some(ip);
            host.unsaved = true;
        }
        if !host.asking || host.asking_address.is_some() {
            return true;
        }
        // A request that is under way without a clock of its address gets one.
        host.asking_address = Some(ip);
        let delayed = !self.config.ip_delay.is_zero();
        let address = self.addresses.entry(ip).or_default();
        address.asking += 1;
        !delayed || address.asking == 1 && address.not_before <= Some(now)
    }

    fn begin_request(&mut self, id: HostId) {
        let host = self.host_mut(id);
        host.asking = true;
        host.asking_address = host.manners.address;
        let (domain, address) = (host.domain, host.asking_address);
        self.domain_mut(domain).asking += 1;
        if let Some(ip) = address {
            self.addresses.entry(ip).or_default().asking += 1;
        }
    }

    fn request_ended(&mut self, id: HostId, hint: HostHint, now: Instant) {
        if !self.host(id).asking {
            return;
        }
        if let Some(ip) = hint.remote {
            let name = self.host(id).name.clone();
            self.resolved(&name, ip, now);
        }
        let Self { config, hosts, .. } = self;
        let Some(host) = hosts[id.0 as usize].as_mut() else { return };
        host.asking = false;
        let address = host.asking_address.take();
        if let Some(wish) = hint.crawl_delay {
            let delay = Some(wish.min(config.crawl_delay_max));
            host.unsaved |= host.manners.crawl_delay != delay;
            host.manners.crawl_delay = delay;
        }
        let mut owed = (Duration::ZERO, Duration::ZERO);
        if !hint.untouched {
            let before = host.manners;
            host.manners.learn(hint.took, hint.trouble);
            host.unsaved |= host.manners != before;
            owed = (host.manners.delay(config), config.domain_delay);
            host.warm_until = Some(after(now, config.warm));
        }
        // Even a host that owes nothing goes behind those that are ready already, in its row.
        host.not_before = host.not_before.max(Some(after(now, owed.0)));
        if let Some(wish) = hint.retry_after {
            let until = after(now, wish.min(config.retry_after_max));
            host.not_before = host.not_before.max(Some(until));
            host.manners.held_until = host.manners.held_until.max(Some(until));
            host.unsaved = true;
        }
        let (domain, ip_delay) = (host.domain, config.ip_delay);
        let domain = self.domain_mut(domain);
        domain.asking = domain.asking.saturating_sub(1);
        domain.not_before = domain.not_before.max(Some(after(now, owed.1)));
        if let Some(ip) = address {
            self.address_freed(ip, if hint.untouched { Duration::ZERO } else { ip_delay }, now);
        }
        self.refresh(id, now);
    }

    /// A request to an address has ended: those who stood in its row are ready again when its delay is over.
    fn address_freed(&mut self, ip: IpAddr, delay: Duration, now: Instant) {
        let Some(address) = self.addresses.get_mut(&ip) else { return };
        address.asking = address.asking.saturating_sub(1);
        address.not_before = address.not_before.max(Some(after(now, delay)));
        if address.asking > 0 {
            return;
        }
        let not_before = address.not_before;
        for id in std::mem::take(&mut address.row) {
            let host = self.host_mut(id);
            host.in_row = false;
            host.not_before = host.not_before.max(not_before);
            self.refresh(id, now);
        }
    }

    /// Takes a lease out to be settled: from here on it does not expire. Nothing when it is unknown,
    /// because it was settled before or has expired.
    pub fn begin_settle(&mut self, lease: LeaseId, now: Instant) -> Option<Ending> {
        if self.leases.get(&lease)?.settling {
            return None;
        }
        self.request_finished(lease, HostHint::default(), now);
        let out = self.leases.get_mut(&lease)?;
        self.deadlines.remove(&(out.deadline, lease));
        out.settling = true;
        Some(Ending { lease, place: out.place, attempt: out.attempt, hint: out.hint })
    }

    /// Ends a lease for good. `retry_at` is the moment the retry is stored for, when it is one.
    pub fn end_settle(
        &mut self,
        ending: &Ending,
        kind: SettlementKind,
        retry_at: Option<Instant>,
        now: Instant,
    ) {
        let Some(out) = self.leases.remove(&ending.lease) else { return };
        let heads_max = self.config.heads_per_host;
        let host = self.host_mut(out.host);
        host.out.retain(|place| *place != out.place);
        match kind {
            SettlementKind::Indexed | SettlementKind::Unchanged => {
                host.indexed += 1;
            }
            SettlementKind::NoPage => {}
            SettlementKind::Retry(_) => {
                host.waiting += 1;
                if let Some(due) = retry_at {
                    self.due_by(due);
                }
            }
            SettlementKind::Returned => host.put(ending.place, ending.attempt, heads_max),
        }
        let page = matches!(kind, SettlementKind::Indexed | SettlementKind::Unchanged);
        self.lease_ended(out.host, page, now);
        self.refresh(out.host, now);
    }

    /// Counts the end of a lease for the host's domain.
    fn lease_ended(&mut self, id: HostId, page: bool, now: Instant) {
        let domain_id = self.host(id).domain;
        let domain = self.domain_mut(domain_id);
        let left = domain.budget_left();
        domain.leased = domain.leased.saturating_sub(1);
        domain.indexed += u64::from(page);
        if domain.budget_left() && !left {
            self.refresh_domain(domain_id, now);
        }
    }

    /// True when a retry's time has come, so that [`Self::retry_queued`] should be called.
    pub fn retry_due(&self, now: Instant) -> bool {
        self.waiting_next.is_some_and(|due| due <= now)
    }

    /// A retry of a host that is in memory waits no more: its time has come, or it was banned.
    pub fn waits_no_more(&mut self, name: &str, now: Instant) {
        let Some(&id) = self.host_ids.get(name) else { return };
        let host = self.host_mut(id);
        host.waiting = host.waiting.saturating_sub(1);
        self.refresh(id, now);
    }

    /// When the next retry is due.
    pub fn set_waiting_next(&mut self, due: Option<Instant>) {
        self.waiting_next = due;
    }

    /// Something more is due by that moment.
    pub fn due_by(&mut self, due: Instant) {
        self.waiting_next = Some(self.waiting_next.map_or(due, |before| before.min(due)));
    }

    /// A page that was indexed is to be fetched again, so it is no page of the index for now.
    pub fn unindex(&mut self, name: &str, now: Instant) {
        let Some(&id) = self.host_ids.get(name) else { return };
        let host = self.host_mut(id);
        host.indexed = host.indexed.saturating_sub(1);
        self.refresh(id, now);
    }

    /// What is to be stored of what a host taught us since it was last stored, and marks it stored. Nothing when that is nothing, or the
    /// host is not in memory.
    pub fn save_manners(&mut self, name: &str) -> Option<Manners> {
        let &id = self.host_ids.get(name)?;
        let host = self.host_mut(id);
        std::mem::take(&mut host.unsaved).then_some(host.manners)
    }

    /// True when the entry at that place is leased.
    pub fn is_out(&self, host: &str, place: Place) -> bool {
        self.host_ids.get(host).is_some_and(|&id| self.host(id).out.contains(&place))
    }

    /// Leases that ran out since the last call.
    pub fn take_expired(&mut self) -> Vec<LeaseId> {
        std::mem::take(&mut self.expired)
    }

    /// Hosts that were dropped with manners to be stored, since the last call.
    pub fn take_dropped(&mut self) -> Vec<LaidDown> {
        std::mem::take(&mut self.dropped)
    }

    /// Lays down up to so many hosts that had their share of turns, or cannot be asked for long, so that others get a turn.
    pub fn lay_down(&mut self, max: usize, now: Instant) -> Vec<LaidDown> {
        let mut laid_down = Vec::new();
        while laid_down.len() < max
            && let Some(id) = self.tired.pop_front()
        {
            let Some(Some(host)) = self.hosts.get_mut(id.0 as usize) else { continue };
            // One that is busy is listed again with what happens to it next.
            host.listed_tired = false;
            let busy = host.asking || !host.out.is_empty();
            if !busy && self.is_tired(self.host(id), now) {
                laid_down.extend(self.remove_host(id, now));
            }
        }
        laid_down
    }

    fn is_tired(&self, host: &Host, now: Instant) -> bool {
        host.served >= self.config.turns_max
            || host.not_before > Some(after(now, self.config.long_pause))
            || (host.has_entries() && !self.budget_left(host))
            || host.blocked
    }

    /// Lists a host that something happened to, if it is tired.
    fn list_tired(&mut self, id: HostId, now: Instant) {
        let host = self.host(id);
        if host.listed_tired || !self.is_tired(host, now) {
            return;
        }
        // While there is room for all, nobody asks for them.
        if self.tired.len() > 2 * self.host_ids.len() + 1024 {
            let Self { tired, hosts, .. } = self;
            tired.retain(|id| {
                hosts[id.0 as usize].as_mut().is_some_and(|host| std::mem::take(&mut host.listed_tired))
            });
            for id in &*tired {
                hosts[id.0 as usize].iter_mut().for_each(|host| host.listed_tired = true);
            }
        }
        self.host_mut(id).listed_tired = true;
        self.tired.push_back(id);
    }

    pub fn counts(&self) -> FrontierCounts {
        let Totals { known, indexed, no_page, hosts } = self.totals;
        let leased = self.leases.len() as u64;
        FrontierCounts {
            known,
            queued: known.saturating_sub(indexed).saturating_sub(no_page).saturating_sub(leased),
            leased,
            indexed,
            no_page,
            hosts: hosts.saturating_sub(self.hosts_all_out),
        }
    }

    /// What a host in memory does: its state, its leases, when it may be asked, its delay, and its facts.
    pub fn view(&self, name: &str, now: Instant) -> Option<HostView> {
        let host = self.host(*self.host_ids.get(name)?);
        let address = host.manners.address.filter(|_| !self.config.ip_delay.is_zero());
        let mut next_at = host.not_before.max(address.and_then(|ip| self.addresses.get(&ip)?.not_before));
        if !self.config.domain_delay.is_zero() {
            next_at = next_at.max(self.domain(host.domain).not_before);
        }
        let next_at = next_at.filter(|moment| *moment > now);
        let state = if host.blocked {
            QueueState::Blocked
        } else if !host.has_entries() && host.out.is_empty() {
            if host.waiting > 0 { QueueState::Snoozed } else { QueueState::Retired }
        } else if !self.budget_left(host) && host.has_entries() {
            QueueState::Exhausted
        } else if host.manners.held_until.is_some_and(|until| until > now) {
            QueueState::Snoozed
        } else if host.asking || host.in_row || next_at.is_some() || !host.has_entries() {
            QueueState::Waiting
        } else {
            QueueState::Ready
        };
        Some(HostView {
            state,
            leased: host.out.len() as u64,
            next_at,
            delay: host.manners.delay(&self.config),
            facts: host.facts(),
        })
    }

    /// Why nothing can be leased now, and when that may change by itself.
    fn why_none(&self, room: u64) -> Picks {
        let counts = self.counts();
        let out = !self.leases.is_empty();
        if counts.queued == 0
            && room > 0
            && let Some(moment) = self.waiting_next
        {
            // Only pages to be visited again are left.
            return Picks::Wait(self.deadlines.first().map_or(moment, |&(deadline, _)| deadline.min(moment)));
        }
        if !out && (counts.queued == 0 || room == 0) {
            return Picks::Finished { budget_spent: counts.queued > 0 };
        }
        if counts.queued == 0 {
            return Picks::Busy;
        }
        let deadline = self.deadlines.first().map(|&(deadline, _)| deadline);
        let next = if room == 0 {
            // Only a lease that ends without a page, or not at all, makes room.
            deadline
        } else {
            let ready = self.ready.iter().filter_map(|row| row.first()).map(|&((ready, _), _)| ready);
            [ready.min(), self.waiting_next, deadline].into_iter().flatten().min()
        };
        match next {
            Some(moment) => Picks::Wait(moment),
            // All that is out is being settled at this moment.
            None if out => Picks::Busy,
            // All that is queued belongs to hosts whose budget is spent.
            None => Picks::Finished { budget_spent: true },
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
            let Some(out) = self.leases.remove(&lease) else { continue };
            self.expired.push(lease);
            let heads_max = self.config.heads_per_host;
            let host = self.host_mut(out.host);
            host.out.retain(|place| *place != out.place);
            host.put(out.place, out.attempt, heads_max);
            self.lease_ended(out.host, false, now);
            self.refresh(out.host, now);
        }
    }

    /// Forgets hosts that have nothing to do and owe nobody a pause.
    fn drop_idle(&mut self, now: Instant) {
        while let Some(&(moment, id)) = self.idle.first() {
            if moment > now {
                break;
            }
            let laid_down = self.remove_host(id, now);
            self.dropped.extend(laid_down);
        }
        // Domains and addresses outlive their hosts only as long as their clocks matter.
        if self.domain_ids.len() > 2 * self.host_ids.len() + 1024 {
            let over = |domain: &Domain| domain.members == 0 && domain.not_before <= Some(now);
            let ids: Vec<DomainId> = self.domain_ids.values().copied().collect();
            for id in ids.into_iter().filter(|id| over(self.domain(*id))).collect::<Vec<_>>() {
                if let Some(domain) = self.domains[id.0 as usize].take() {
                    self.domain_ids.remove(&domain.name);
                    self.domains_free.push(id);
                }
            }
        }
        if self.addresses.len() > 2 * self.host_ids.len() + 1024 {
            self.addresses.retain(|_, address| {
                address.asking > 0 || !address.row.is_empty() || address.not_before > Some(now)
            });
        }
    }

    /// Takes a host out of memory. Nothing when nothing about it need be stored.
    fn remove_host(&mut self, id: HostId, now: Instant) -> Option<LaidDown> {
        let exhausted = {
            let host = self.host(id);
            host.has_entries() && !self.budget_left(host)
        };
        // Without entries it has no turn, no row and no place among the idle.
        let host = self.host_mut(id);
        let facts = host.facts();
        let unsaved = host.unsaved;
        host.heads.clear();
        host.tail = 0;
        host.waiting = 0;
        host.in_row = false;
        self.refresh(id, now);
        let host = self.hosts.get_mut(id.0 as usize)?.take()?;
        if let Some(moment) = host.idle_from {
            self.idle.remove(&(moment, id));
        }
        if let Some(ip) = host.manners.address
            && let Some(address) = self.addresses.get_mut(&ip)
        {
            address.row.retain(|other| *other != id);
        }
        self.host_ids.remove(&host.name);
        self.hosts_free.push(id);
        let domain = self.domain_mut(host.domain);
        domain.members = domain.members.saturating_sub(1);
        let store = unsaved || facts.queued > 0 || host.not_before > Some(now);
        store.then_some(LaidDown { name: host.name, facts, not_before: host.not_before, exhausted })
    }

    fn take_head(
        &mut self,
        id: HostId,
        refill: &mut Refill<'_>,
    ) -> Result<Option<(Place, u32)>, FrontierError> {
        let heads_max = self.config.heads_per_host;
        let host = self.host_mut(id);
        if host.heads.is_empty() && host.tail > 0 {
            // Those that take turns together are not to read all at once.
            let count = if host.tail_from == Place::FIRST {
                heads_max - spread(host.number, heads_max)
            } else {
                heads_max
            };
            let out = &host.out;
            let entries = refill(host.number, host.tail_from, count, &|place| !out.contains(&place))?;
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
            host.heads.set(&entries);
        }
        Ok(host.heads.pop_first())
    }

    fn lease_out(&mut self, id: HostId, place: Place, attempt: u32, now: Instant) -> Pick {
        let lease = LeaseId(self.lease_next);
        self.lease_next += 1;
        self.begin_request(id);
        self.turns += 1;
        let turns = self.turns;
        let host = self.host_mut(id);
        host.out.push(place);
        host.served = host.served.saturating_add(1);
        let domain = host.domain;
        // A domain that was served stands behind all others that are ready, even if nobody owes anybody a pause.
        let domain = self.domain_mut(domain);
        domain.served = turns;
        let on_visit = domain.turn.is_some_and(|(row, _)| row % 2 == 0);
        domain.visit = if on_visit { domain.visit + 1 } else { 1 };
        domain.leased += 1;
        let last = domain.budget.is_some() && !domain.budget_left();
        let domain_id = self.host(id).domain;
        let domain = self.domain_mut(domain_id);
        domain.not_before = domain.not_before.max(Some(now));
        let deadline = after(now, self.config.lease_ttl);
        self.deadlines.insert((deadline, lease));
        let hint = HostHint::default();
        let out = Out { host: id, place, attempt, deadline, asking: true, settling: false, hint };
        self.leases.insert(lease, out);
        if last {
            // The other hosts of the domain have nothing left either.
            self.refresh_domain(domain_id, now);
        }
        Pick { lease, place, attempt, host: id.0 }
    }

    fn domain_id(&mut self, name: &str) -> DomainId {
        if let Some(&id) = self.domain_ids.get(name) {
            return id;
        }
        let mut domain = Domain::new(name);
        domain.not_before = self.reopened.map(|since| after(since, self.config.domain_delay));
        let id = match self.domains_free.pop() {
            Some(id) => {
                self.domains[id.0 as usize] = Some(domain);
                id
            }
            None => {
                self.domains.push(Some(domain));
                DomainId(self.domains.len() as u32 - 1)
            }
        };
        self.domain_ids.insert(name.into(), id);
        id
    }

    fn host(&self, id: HostId) -> &Host {
        self.hosts[id.0 as usize].as_ref().expect("ids of hosts are forgotten with them")
    }

    fn host_mut(&mut self, id: HostId) -> &mut Host {
        self.hosts[id.0 as usize].as_mut().expect("ids of hosts are forgotten with them")
    }

    fn domain(&self, id: DomainId) -> &Domain {
        self.domains[id.0 as usize].as_ref().expect("a domain outlives its hosts")
    }

    fn domain_mut(&mut self, id: DomainId) -> &mut Domain {
        self.domains[id.0 as usize].as_mut().expect("a domain outlives its hosts")
    }

    fn budget_left(&self, host: &Host) -> bool {
        self.config.pages_per_host_max.is_none_or(|pages| host.indexed + (host.out.len() as u64) < pages)
            && self.domain(host.domain).budget_left()
    }

    /// Brings the order of turns and the sums into line with a host that has changed.
    fn refresh(&mut self, id: HostId, now: Instant) {
        let eligible = {
            let host = self.host(id);
            host.has_entries() && !host.asking && !host.blocked && !host.in_row && self.budget_left(host)
        };
        let domain_delay = self.config.domain_delay;
        let Some(host) = self.hosts[id.0 as usize].as_mut() else { return };
        let Some(domain) = self.domains[host.domain.0 as usize].as_mut() else { return };
        let overtaken = host.turn.is_some_and(|(ready, _)| host.not_before > Some(ready));
        if (!eligible || overtaken)
            && let Some(turn) = host.turn.take()
        {
            domain.hosts.remove((turn, id));
        }
        if eligible && host.turn.is_none() {
            self.turns += 1;
            let turn = (host.not_before.map_or(now, |moment| moment.max(now)), self.turns);
            host.turn = Some(turn);
            domain.hosts.insert((turn, id));
        }
        let idle_from = host.is_idle().then(|| host.not_before.map_or(now, |moment| moment.max(now)));
        if host.idle_from != idle_from {
            if let Some(moment) = host.idle_from {
                self.idle.remove(&(moment, id));
            }
            if let Some(moment) = idle_from {
                self.idle.insert((moment, id));
            }
            host.idle_from = idle_from;
        }
        let all_out = !host.has_entries() && host.waiting == 0 && !host.out.is_empty();
        if all_out != host.all_out {
            host.all_out = all_out;
            if all_out {
                self.hosts_all_out += 1;
            } else {
                self.hosts_all_out -= 1;
            }
        }
        let domain_id = host.domain;
        let first = domain.hosts.first();
        let turn = match first {
            Some(((ready, number), first)) if domain.asking == 0 || domain_delay.is_zero() => {
                let ready = domain.not_before.map_or(ready, |moment| moment.max(ready));
                let host = self.hosts[first.0 as usize].as_ref();
                let class = host.map_or(Place::CLASS_ORDINARY, Host::class);
                let warm =
                    host.is_some_and(|host| host.warm_until > Some(ready)) && domain.visit < VISIT_PAGES;
                Some((row(class, warm), (ready, number.max(domain.served))))
            }
            _ => None,
        };
        if domain.turn != turn {
            if let Some((row, old)) = domain.turn {
                self.ready[row].remove(&(old, domain_id));
            }
            if let Some((row, new)) = turn {
                self.ready[row].insert((new, domain_id));
            }
            domain.turn = turn;
        }
        self.list_tired(id, now);
    }
}

/// What a host in memory does.
#[derive(Debug)]
pub(crate) struct HostView {
    pub state: QueueState,
    pub leased: u64,
    pub next_at: Option<Instant>,
    pub delay: Duration,
    pub facts: HostFacts,
}

/// A share of up to half of so many, different for hosts of different numbers.
fn spread(number: u32, whole: usize) -> usize {
    // Neighbours by number get shares far from each other.
    ((u64::from(number.wrapping_mul(0x9e37_79b1)) * (whole / 2) as u64) >> 32) as usize
}

/// `moment + pause`, or as far as the machine can count.
pub(crate) fn after(moment: Instant, pause: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    moment.checked_add(pause.min(CENTURY)).unwrap_or(moment)
}

/// The pay-level domain of a host as `PageUrl::host` gives it: addresses stand for themselves.
pub(crate) fn domain_of(host: &str) -> &str {
    let address = host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok();
    if address { host } else { pay_level_domain(host) }
}
