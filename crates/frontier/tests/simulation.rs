//! Random crawls of a random web by hand-turned clocks, watched by an oracle that remembers every promise.
//!
//! The oracle is a second, naive account of the contract: it knows the end of every request, every
//! queue and every lease, and at each step says exactly which hosts may be asked. Too early is a host
//! hurried, too late is a host forgotten. A failing case prints its seed.

#![expect(clippy::unwrap_used, reason = "a test may stop where something is wrong")]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use webloom_frontier::contract::ManualClock;
use webloom_frontier::{FjallFrontier, FrontierConfig, MemoryFrontier};
use webloom_model::{
    Clock, Frontier, HostHint, Lease, LeaseAnswer, LeaseId, LinkCandidate, PageUrl, Settlement,
    SettlementKind,
};

const SECOND: Duration = Duration::from_secs(1);

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_keeps_every_promise(seed in any::<u64>()) {
        let mut world = World::from_seed(seed, false, false, MemoryFrontier::new);
        world.run(400);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fjall_keeps_every_promise(seed in any::<u64>()) {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::from_seed(seed, false, false, |config, clock| {
            FjallFrontier::open(directory.path(), config, clock).unwrap()
        });
        world.run(250);
    }

    // More hosts than may be in memory: none is hurried, and in the end all were crawled.
    #[test]
    fn fjall_keeps_every_promise_when_crowded(seed in any::<u64>(), reopens in any::<bool>()) {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::from_seed(seed, reopens, true, |config, clock| {
            FjallFrontier::open(directory.path(), config, clock).unwrap()
        });
        world.run(250);
    }

    #[test]
    fn fjall_keeps_every_promise_when_reopened_at_any_moment(seed in any::<u64>()) {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::from_seed(seed, true, false, |config, clock| {
            FjallFrontier::open(directory.path(), config, clock).unwrap()
        });
        world.run(250);
    }
}

/// After reopening, a host that is new may be of a domain that was asked a moment ago.
#[test]
fn a_new_host_waits_for_its_domain_after_reopening() {
    for seed in [4_907_139_367_762_972_670, 1, 2, 3, 4, 5, 6, 7] {
        let directory = tempfile::tempdir().unwrap();
        let mut world = World::from_seed(seed, true, false, |config, clock| {
            FjallFrontier::open(directory.path(), config, clock).unwrap()
        });
        world.run(250);
    }
}

/// A million requests of random webs, with random delays wished by robots files, slow and failing servers, shared
/// addresses. Takes a minute or two: `cargo nextest run -p webloom-frontier --run-ignored all a_million`.
#[test]
#[ignore = "long; part of no quick run"]
fn a_million_requests_without_a_violation() {
    let mut requests = 0;
    for seed in 0.. {
        let mut world = World::from_seed(seed, false, false, MemoryFrontier::new);
        world.pages = 400;
        world.run(3000);
        requests += world.requests;
        if requests >= 1_000_000 {
            break;
        }
    }
    assert!(requests >= 1_000_000);
}

/// Sebastiano Vigna's splitmix64: a few lines are enough to be random here.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len() as u64) as usize]
    }
}

struct World<F, O> {
    dice: Dice,
    config: FrontierConfig,
    clock: Arc<ManualClock>,
    open: O,
    frontier: Option<F>,
    reopens: bool,
    oracle: Oracle,
    /// Leases whose workers are alive, and whether their requests have finished.
    working: Vec<(Lease, bool)>,
    /// Leases that ran out while somebody still held them.
    lost: Vec<Lease>,
    hosts: u64,
    pages: u64,
    /// True when there are more hosts than may be in memory.
    crowded: bool,
    /// Leases so far.
    requests: u64,
}

impl<F: Frontier, O: Fn(FrontierConfig, Arc<dyn Clock>) -> F> World<F, O> {
    fn from_seed(seed: u64, reopens: bool, crowded: bool, open: O) -> Self {
        let mut dice = Dice(seed);
        let config = FrontierConfig {
            host_delay: SECOND * dice.pick(&[0, 1, 1, 4]),
            domain_delay: SECOND * dice.pick(&[0, 1, 1, 3]),
            crawl_delay_max: SECOND * 6,
            retry_after_max: SECOND * 500,
            retry_base: SECOND * 10,
            lease_ttl: SECOND * dice.pick(&[20, 60, 600]),
            depth_max: dice.pick(&[None, None, Some(3)]),
            pages_max: dice.pick(&[None, None, Some(30)]),
            pages_per_host_max: dice.pick(&[None, None, Some(6)]),
            heads_per_host: dice.pick(&[1, 2, 5, 64]),
            ip_delay: SECOND * dice.pick(&[0, 0, 1, 2]),
            slow_factor: dice.pick(&[0, 2, 3]) as u32,
            slow_delay_max: SECOND * 20,
            hosts_active_max: if crowded { 1 + dice.roll(3) as usize } else { 1000 },
            turns_max: dice.pick(&[1, 2, 64]),
            seen_table_keys: 1 + dice.roll(50) as usize,
            ..FrontierConfig::default()
        };
        let clock = ManualClock::new();
        let frontier = Some(open(config.clone(), clock.clone()));
        let oracle = Oracle::new(config.clone());
        let hosts = 1 + dice.roll(12);
        let pages = hosts * (1 + dice.roll(20));
        let (working, lost) = (Vec::new(), Vec::new());
        Self {
            dice,
            config,
            clock,
            open,
            frontier,
            reopens,
            oracle,
            working,
            lost,
            hosts,
            pages,
            crowded,
            requests: 0,
        }
    }

    fn run(&mut self, steps: u32) {
        self.offer(3);
        for _ in 0..steps {
            match self.dice.roll(100) {
                0..=34 => {
                    let max = self.dice.pick(&[1, 2, 5, 100]);
                    self.lease(max);
                }
                35..=54 => self.finish_one(),
                55..=74 => self.settle_some(),
                75..=89 => {
                    let pause = self.dice.pick(&[1, 100, 500, 999, 1000, 3000, 11_000]);
                    self.clock.advance(Duration::from_millis(pause));
                }
                90..=94 => self.offer(2),
                // A worker dies, now and then.
                95..=96 if !self.working.is_empty() => {
                    let index = self.dice.roll(self.working.len() as u64) as usize;
                    self.working.remove(index);
                }
                97 => self.settle_lost(),
                98 if self.reopens => self.reopen(),
                _ => {}
            }
            self.assert_counts();
        }
        self.drain();
    }

    /// Works everything off without accidents, and looks whether anything was forgotten.
    fn drain(&mut self) {
        for _ in 0..100_000 {
            while !self.working.is_empty() {
                self.settle_some();
            }
            match self.lease(100) {
                LeaseAnswer::Leased(_) => {}
                LeaseAnswer::Wait(moment) => {
                    assert!(moment > self.clock.now(), "told to wait for the past");
                    self.clock.advance_to(moment);
                }
                // Dead workers' leases have to run out.
                LeaseAnswer::Busy => self.clock.advance(SECOND),
                LeaseAnswer::Finished { budget_spent } => {
                    let queued = self.oracle.queued();
                    assert_eq!(budget_spent, queued > 0);
                    assert!(self.oracle.leases.is_empty(), "finished with leases out");
                    assert!(!self.oracle.anything_within_budget(), "finished with {queued} URLs queued");
                    self.assert_counts();
                    return;
                }
            }
        }
        panic!("the crawl does not end");
    }

    fn frontier(&self) -> &F {
        self.frontier.as_ref().unwrap()
    }

    fn some_candidate(&mut self, depth: u32) -> LinkCandidate {
        let page = self.dice.roll(self.pages);
        let host = page % self.hosts;
        // Three hosts each to a domain.
        let url = format!("http://h{host}.d{}.example/{page}", host / 3);
        LinkCandidate { depth, ..LinkCandidate::seed(PageUrl::parse(&url).unwrap()) }
    }

    fn some_candidates(&mut self, depth: u32, count: u64) -> Vec<LinkCandidate> {
        (0..count).map(|_| self.some_candidate(depth)).collect()
    }

    fn offer(&mut self, count: u64) {
        let depth = self.dice.roll(3) as u32;
        let candidates = self.some_candidates(depth, count);
        let summary = self.frontier().offer(&candidates).unwrap();
        assert_eq!(summary.new, self.oracle.offer(&candidates));
    }

    fn lease(&mut self, max: usize) -> LeaseAnswer {
        let now = self.clock.now();
        let answer = self.frontier().lease(max).unwrap();
        for expired in self.oracle.expire(now) {
            self.working.retain(|(lease, _)| {
                if lease.id == expired {
                    self.lost.push(lease.clone());
                }
                lease.id != expired
            });
        }
        let mut count = 0;
        if let LeaseAnswer::Leased(leases) = &answer {
            assert!(!leases.is_empty() && leases.len() <= max);
            count = leases.len();
            self.requests += leases.len() as u64;
            for lease in leases {
                self.oracle.lease(lease, now);
                self.working.push((lease.clone(), false));
            }
            for lease in leases {
                // Some addresses are known before the answer, some with it; what is not stored is lost in a reopening.
                if !self.reopens && self.dice.roll(3) == 0 {
                    let address = self.address_of(lease.url().host());
                    self.frontier().resolved(lease.url().host(), address);
                    self.oracle.resolved(lease.id, address);
                }
            }
        }
        if count < max && !self.crowded {
            let forgotten = self.oracle.hosts_that_may_be_asked(now);
            assert!(forgotten.is_empty(), "{answer:?}, though these may be asked: {forgotten:?}");
        }
        answer
    }

    /// Three hosts share an address.
    fn address_of(&self, host: &str) -> IpAddr {
        let number: u32 = host.bytes().map(u32::from).sum::<u32>() % 3;
        IpAddr::V4(Ipv4Addr::from(0xc000_0200 + number))
    }

    fn finish_one(&mut self) {
        let unfinished: Vec<usize> =
            (0..self.working.len()).filter(|&index| !self.working[index].1).collect();
        if unfinished.is_empty() {
            return;
        }
        let index = self.dice.pick(&unfinished);
        self.working[index].1 = true;
        let lease = self.working[index].0.clone();
        let mut hint = HostHint { untouched: self.dice.roll(4) == 0, ..HostHint::default() };
        // What a host says is stored with the next settlement only, so before reopening it may be lost.
        if !self.reopens {
            hint.crawl_delay = self.dice.pick(&[None, None, Some(SECOND * 2), Some(SECOND * 50)]);
            hint.retry_after = self.dice.pick(&[None, None, None, Some(SECOND * 40)]);
            hint.took =
                self.dice.pick(&[None, None, Some(SECOND / 10), Some(SECOND * 3), Some(SECOND * 100)]);
            hint.trouble = self.dice.roll(4) == 0;
            hint.remote = (self.dice.roll(2) == 0).then(|| self.address_of(lease.url().host()));
        }
        self.frontier().request_finished(lease.id, hint);
        self.oracle.finish(lease.id, hint, self.clock.now());
    }

    fn settle_some(&mut self) {
        let mut settlements = Vec::new();
        let count = 1 + self.dice.roll(4);
        for _ in 0..count {
            if self.working.is_empty() {
                break;
            }
            let index = self.dice.roll(self.working.len() as u64) as usize;
            let (lease, _) = self.working.remove(index);
            settlements.push(self.settlement(&lease));
        }
        self.settle(&settlements);
    }

    fn settle_lost(&mut self) {
        if let Some(lease) = self.lost.pop() {
            let settlement = self.settlement(&lease);
            self.settle(&[settlement]);
        }
    }

    fn settlement(&mut self, lease: &Lease) -> Settlement {
        let kind = match self.dice.roll(20) {
            0..=11 => SettlementKind::Indexed,
            12..=14 => SettlementKind::NoPage,
            15 if lease.attempt < 4 => SettlementKind::Retry(None),
            16..=17 if lease.attempt < 4 => {
                SettlementKind::Retry(Some(Duration::from_millis(self.dice.pick(&[0, 700, 25_000]))))
            }
            18 => SettlementKind::Returned,
            _ => SettlementKind::Indexed,
        };
        let links = match kind {
            SettlementKind::Indexed => self.some_candidates(lease.candidate.depth + 1, 4),
            _ => Vec::new(),
        };
        Settlement { lease: lease.id, kind, links, validators: None }
    }

    fn settle(&mut self, settlements: &[Settlement]) {
        let now = self.clock.now();
        let summary = self.frontier().settle(settlements.to_vec()).unwrap();
        // Links are numbered after all ends, whichever page they are from.
        for settlement in settlements {
            self.oracle.settle(settlement, now);
        }
        let new: u64 = settlements.iter().map(|settlement| self.oracle.offer(&settlement.links)).sum();
        assert_eq!(summary.new, new);
    }

    fn reopen(&mut self) {
        self.frontier = None;
        self.frontier = Some((self.open)(self.config.clone(), self.clock.clone()));
        self.working.clear();
        self.lost.clear();
        self.oracle.reopen(self.clock.now());
    }

    fn assert_counts(&self) {
        let counts = self.frontier().counts();
        let oracle = &self.oracle;
        assert_eq!(counts.known as usize, oracle.known.len());
        assert_eq!(counts.leased as usize, oracle.leases.len());
        assert_eq!(counts.indexed, oracle.hosts.values().map(|host| host.indexed).sum::<u64>());
        assert_eq!(counts.known, counts.queued + counts.leased + counts.indexed + counts.no_page);
        assert_eq!(counts.queued as usize, oracle.queued());
        let hosts = oracle.hosts.values().filter(|host| !host.queue.is_empty() || !host.waiting.is_empty());
        assert_eq!(counts.hosts as usize, hosts.count());
        if let Some(pages_max) = self.config.pages_max {
            assert!(counts.indexed + counts.leased <= pages_max, "over the page budget: {counts:?}");
        }
    }
}

/// A second opinion.
struct Oracle {
    config: FrontierConfig,
    known: BTreeSet<PageUrl>,
    settled: BTreeSet<PageUrl>,
    hosts: BTreeMap<String, OracleHost>,
    /// Earliest next request, and requests under way.
    domains: HashMap<String, (Option<Instant>, u32)>,
    /// When it was last opened with something in it: from then on every domain owes its delay, new ones too.
    reopened: Option<Instant>,
    /// The same for addresses.
    addresses: HashMap<IpAddr, (Option<Instant>, u32)>,
    leases: BTreeMap<LeaseId, OracleLease>,
    order: u64,
}

#[derive(Default)]
struct OracleHost {
    domain: String,
    /// By depth, then order of offering.
    queue: BTreeMap<(u32, u64), (PageUrl, u32)>,
    /// Retries: URL, attempts, earliest and latest moment they are due, depth.
    waiting: Vec<(PageUrl, u32, Instant, Instant, u32)>,
    crawl_delay: Duration,
    took: Duration,
    trouble: u32,
    address: Option<IpAddr>,
    not_before: Option<Instant>,
    asking: Option<LeaseId>,
    leased: u64,
    indexed: u64,
}

struct OracleLease {
    host: String,
    url: PageUrl,
    place: (u32, u64),
    attempt: u32,
    deadline: Instant,
    finished: bool,
    /// The address whose clock it runs on.
    address: Option<IpAddr>,
}

impl Oracle {
    fn new(config: FrontierConfig) -> Self {
        Self {
            config,
            known: BTreeSet::new(),
            settled: BTreeSet::new(),
            hosts: BTreeMap::new(),
            domains: HashMap::new(),
            reopened: None,
            addresses: HashMap::new(),
            leases: BTreeMap::new(),
            order: 0,
        }
    }

    fn offer(&mut self, candidates: &[LinkCandidate]) -> u64 {
        let mut new = 0;
        for candidate in candidates {
            let deep = self.config.depth_max.is_some_and(|depth| candidate.depth > depth);
            if !deep && self.known.insert(candidate.url.clone()) {
                self.order += 1;
                let host = self.hosts.entry(candidate.url.host().to_owned()).or_default();
                host.domain = candidate.url.pay_level_domain().to_owned();
                let owed = self.reopened.map(|moment| moment + self.config.domain_delay);
                self.domains.entry(host.domain.clone()).or_insert((owed, 0));
                host.queue.insert((candidate.depth, self.order), (candidate.url.clone(), 0));
                new += 1;
            }
        }
        new
    }

    fn lease(&mut self, lease: &Lease, now: Instant) {
        let url = lease.url();
        assert!(!self.settled.contains(url), "{url} was settled already");
        assert!(self.leases.values().all(|other| other.url != *url), "{url} is leased twice");
        self.queue_due_retries(url, now);
        let problem = self.why_not(url.host(), now);
        assert!(problem.is_none(), "{url} leased, though {}", problem.unwrap_or_default());
        let host = self.hosts.get_mut(url.host()).expect("a host that was offered");
        let (&place, (_, attempt)) =
            host.queue.iter().find(|(_, (queued, _))| queued == url).expect("a URL that is queued");
        let attempt = *attempt;
        assert_eq!(lease.attempt, attempt, "{url}");
        // Where exactly a retry comes among its depth is not promised.
        let fresh = host.queue.iter().find(|(_, (_, attempt))| *attempt == 0).map(|(place, _)| *place);
        match (fresh, attempt) {
            (Some(first), 0) => assert_eq!(place, first, "{url} is out of order"),
            (Some(first), _) => assert!(place.0 <= first.0, "{url} is deeper than what is queued"),
            (None, _) => {}
        }
        host.queue.remove(&place);
        host.asking = Some(lease.id);
        host.leased += 1;
        self.domains.entry(host.domain.clone()).or_default().1 += 1;
        self.leases.insert(
            lease.id,
            OracleLease {
                host: url.host().to_owned(),
                url: url.clone(),
                place,
                attempt,
                deadline: now + self.config.lease_ttl,
                finished: false,
                address: host.address,
            },
        );
        if let Some(address) = host.address {
            self.addresses.entry(address).or_default().1 += 1;
        }
    }

    fn resolved(&mut self, id: LeaseId, address: IpAddr) {
        let Some(lease) = self.leases.get_mut(&id) else { return };
        self.hosts.get_mut(&lease.host).expect("known").address = Some(address);
        if lease.address.is_none() {
            lease.address = Some(address);
            self.addresses.entry(address).or_default().1 += 1;
        }
    }

    /// Puts a retry back into the queue if its time may have come.
    fn queue_due_retries(&mut self, url: &PageUrl, now: Instant) {
        let host = self.hosts.get_mut(url.host()).expect("a host that was offered");
        if let Some(index) = host.waiting.iter().position(|(waiting, ..)| waiting == url) {
            let (url, attempt, earliest, _, depth) = host.waiting.remove(index);
            assert!(earliest <= now, "{url} retried {:?} too early", earliest - now);
            self.order += 1;
            host.queue.insert((depth, self.order), (url, attempt));
        }
    }

    /// Why a host may not be asked now.
    fn why_not(&self, name: &str, now: Instant) -> Option<String> {
        let host = &self.hosts[name];
        if host.asking.is_some() {
            return Some("the host has an unfinished request".to_owned());
        }
        if let Some(moment) = host.not_before.filter(|moment| *moment > now) {
            return Some(format!("the host is owed {:?} more", moment - now));
        }
        if !self.config.domain_delay.is_zero()
            && let Some(&(not_before, asking)) = self.domains.get(&host.domain)
        {
            if asking > 0 {
                return Some("the domain has an unfinished request".to_owned());
            }
            if let Some(moment) = not_before.filter(|moment| *moment > now) {
                return Some(format!("the domain is owed {:?} more", moment - now));
            }
        }
        if !self.config.ip_delay.is_zero()
            && let Some(&(not_before, asking)) = host.address.and_then(|address| self.addresses.get(&address))
        {
            if asking > 0 {
                return Some("the address has an unfinished request".to_owned());
            }
            if let Some(moment) = not_before.filter(|moment| *moment > now) {
                return Some(format!("the address is owed {:?} more", moment - now));
            }
        }
        if self.config.pages_per_host_max.is_some_and(|pages| host.indexed + host.leased >= pages) {
            return Some("the host's budget is spent".to_owned());
        }
        let indexed: u64 = self.hosts.values().map(|host| host.indexed).sum();
        if self.config.pages_max.is_some_and(|pages| indexed + self.leases.len() as u64 >= pages) {
            return Some("the budget is spent".to_owned());
        }
        None
    }

    fn hosts_that_may_be_asked(&self, now: Instant) -> Vec<&str> {
        let due = |host: &OracleHost| {
            !host.queue.is_empty() || host.waiting.iter().any(|(_, _, _, latest, _)| *latest <= now)
        };
        self.hosts
            .iter()
            .filter(|(name, host)| due(host) && self.why_not(name, now).is_none())
            .map(|(name, _)| name.as_str())
            .collect()
    }

    fn anything_within_budget(&self) -> bool {
        let indexed: u64 = self.hosts.values().map(|host| host.indexed).sum();
        let left = |host: &OracleHost| {
            (!host.queue.is_empty() || !host.waiting.is_empty())
                && self.config.pages_per_host_max.is_none_or(|pages| host.indexed < pages)
        };
        self.config.pages_max.is_none_or(|pages| indexed < pages) && self.hosts.values().any(left)
    }

    fn finish(&mut self, id: LeaseId, hint: HostHint, at: Instant) {
        let Some(lease) = self.leases.get_mut(&id) else { return };
        if std::mem::replace(&mut lease.finished, true) {
            return;
        }
        if let Some(address) = hint.remote {
            self.resolved(id, address);
        }
        let Some(lease) = self.leases.get(&id) else { return };
        if let Some(clock) = lease.address.and_then(|address| self.addresses.get_mut(&address)) {
            clock.1 -= 1;
            clock.0 =
                clock.0.max(Some(at + if hint.untouched { Duration::ZERO } else { self.config.ip_delay }));
        }
        let host = self.hosts.get_mut(&lease.host).expect("known");
        host.asking = None;
        let domain = self.domains.entry(host.domain.clone()).or_default();
        domain.1 -= 1;
        if let Some(delay) = hint.crawl_delay {
            host.crawl_delay = delay.min(self.config.crawl_delay_max);
        }
        if !hint.untouched {
            host.took = hint.took.unwrap_or(host.took);
            host.trouble =
                if hint.trouble { (host.trouble + 1).min(8) } else { host.trouble.saturating_sub(1) };
            let asked = host.crawl_delay.max(self.config.host_delay);
            let mut delay = asked;
            if !self.config.host_delay.is_zero() {
                let longest = self.config.slow_delay_max;
                delay = delay.max((host.took * self.config.slow_factor).min(longest));
                delay = delay.max((asked * (1 << host.trouble)).min(longest));
            }
            host.not_before = host.not_before.max(Some(at + delay));
            domain.0 = domain.0.max(Some(at + self.config.domain_delay));
        }
        if let Some(pause) = hint.retry_after {
            host.not_before = host.not_before.max(Some(at + pause.min(self.config.retry_after_max)));
        }
    }

    fn settle(&mut self, settlement: &Settlement, now: Instant) {
        self.finish(settlement.lease, HostHint::default(), now);
        let Some(lease) = self.leases.remove(&settlement.lease) else { return };
        let host = self.hosts.get_mut(&lease.host).expect("known");
        host.leased -= 1;
        match settlement.kind {
            SettlementKind::Indexed => {
                host.indexed += 1;
                self.settled.insert(lease.url);
            }
            SettlementKind::Unchanged | SettlementKind::NoPage => {
                self.settled.insert(lease.url);
            }
            SettlementKind::Retry(pause) => {
                let base = self.config.retry_base * (1 << lease.attempt);
                let earliest = now + pause.unwrap_or(base);
                let latest = now + pause.unwrap_or(base * 5 / 4) + Duration::from_millis(1);
                host.waiting.push((lease.url, lease.attempt + 1, earliest, latest, lease.place.0));
            }
            SettlementKind::Returned => {
                host.queue.insert(lease.place, (lease.url, lease.attempt));
            }
        }
    }

    fn expire(&mut self, now: Instant) -> Vec<LeaseId> {
        let expired = self.leases.iter().filter(|(_, lease)| lease.deadline <= now);
        let expired: Vec<LeaseId> = expired.map(|(id, _)| *id).collect();
        for &id in &expired {
            self.finish(id, HostHint::default(), self.leases[&id].deadline);
            self.take_back(id);
        }
        expired
    }

    fn take_back(&mut self, id: LeaseId) {
        let Some(lease) = self.leases.remove(&id) else { return };
        let host = self.hosts.get_mut(&lease.host).expect("known");
        host.leased -= 1;
        host.queue.insert(lease.place, (lease.url, lease.attempt));
    }

    fn reopen(&mut self, now: Instant) {
        let ids: Vec<LeaseId> = self.leases.keys().copied().collect();
        for id in ids {
            self.take_back(id);
        }
        self.domains.clear();
        self.addresses.clear();
        self.reopened = (!self.hosts.is_empty()).then_some(now);
        for host in self.hosts.values_mut() {
            host.asking = None;
            host.not_before = Some(now + self.config.host_delay);
            self.domains.insert(host.domain.clone(), (Some(now + self.config.domain_delay), 0));
        }
    }

    fn queued(&self) -> usize {
        self.hosts.values().map(|host| host.queue.len() + host.waiting.len()).sum()
    }
}
