//! One host as the scheduler sees it: the head of its queue, its clock, its manners.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::{DomainId, HostId, Place, Turn, after};
use crate::FrontierConfig;

/// Failures in a row after which the delay of a host is not doubled again.
const TROUBLE_MAX: u8 = 8;

/// What is remembered of a host beyond its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct HostFacts {
    /// Entries in its queue, leased ones included.
    pub queued: u64,
    /// Retries that wait for their time.
    pub waiting: u64,
    /// Pages in the index.
    pub indexed: u64,
    /// What it taught us.
    pub manners: Manners,
    /// Banned.
    pub blocked: bool,
}

/// What a host taught us about how it wants to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Manners {
    /// The delay its robots.txt asks for, capped.
    pub crawl_delay: Option<Duration>,
    /// Until when it wishes to be left alone.
    pub held_until: Option<Instant>,
    /// How long its last answer took.
    pub elapsed: Duration,
    /// How often its delay is doubled because it fails.
    pub trouble: u8,
    /// Failures in all.
    pub errors: u64,
    /// Its address.
    pub address: Option<IpAddr>,
}

impl Manners {
    /// The pause between two requests.
    pub fn delay(&self, config: &FrontierConfig) -> Duration {
        let asked = self.crawl_delay.unwrap_or_default().max(config.host_delay);
        // Who sets no delay crawls a server of his own, and means it.
        if config.host_delay.is_zero() {
            return asked;
        }
        let slow = self.elapsed.saturating_mul(config.slow_factor).min(config.slow_delay_max);
        let doubled = asked.saturating_mul(1 << self.trouble.min(TROUBLE_MAX)).min(config.slow_delay_max);
        asked.max(slow).max(doubled)
    }

    /// Takes in how a request went.
    pub fn learn(&mut self, elapsed: Option<Duration>, trouble: bool) {
        if let Some(elapsed) = elapsed {
            self.elapsed = elapsed;
        }
        if trouble {
            self.trouble = (self.trouble + 1).min(TROUBLE_MAX);
            self.errors += 1;
        } else {
            self.trouble = self.trouble.saturating_sub(1);
        }
    }
}

/// Entries in order, some tens of them: side by side, so that taking the first is one look at the memory.
#[derive(Debug, Default)]
pub(super) struct Heads(VecDeque<Head>);

/// An entry in 16 bytes: rank, position, and how often it failed, each where it decides in order.
#[derive(Debug, Clone, Copy)]
struct Head(u128);

/// Bits for how often an entry failed, as in the queue on disk.
const ATTEMPT_BITS: u32 = 16;

impl Head {
    fn new(place: Place, attempt: u32) -> Self {
        let attempt = u128::from(attempt.min((1 << ATTEMPT_BITS) - 1));
        Self(Self::spot_of(place) << ATTEMPT_BITS | attempt)
    }

    fn spot_of(place: Place) -> u128 {
        u128::from(place.rank) << 64 | u128::from(place.position)
    }

    fn spot(self) -> u128 {
        self.0 >> ATTEMPT_BITS
    }

    fn entry(self) -> (Place, u32) {
        let spot = self.spot();
        let place = Place { rank: (spot >> 64) as u32, position: spot as u64 };
        (place, self.0 as u32 & ((1 << ATTEMPT_BITS) - 1))
    }
}

impl Heads {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn first(&self) -> Option<(Place, u32)> {
        self.0.front().map(|head| head.entry())
    }

    pub fn last(&self) -> Option<(Place, u32)> {
        self.0.back().map(|head| head.entry())
    }

    pub fn pop_first(&mut self) -> Option<(Place, u32)> {
        self.0.pop_front().map(Head::entry)
    }

    pub fn pop_last(&mut self) -> Option<(Place, u32)> {
        self.0.pop_back().map(Head::entry)
    }

    /// Of two words on a place the later one counts.
    pub fn insert(&mut self, place: Place, attempt: u32) {
        match self.find(place) {
            Ok(at) => self.0[at] = Head::new(place, attempt),
            Err(at) => self.0.insert(at, Head::new(place, attempt)),
        }
    }

    /// True when there was one at that place.
    pub fn remove(&mut self, place: Place) -> bool {
        self.find(place).is_ok_and(|at| self.0.remove(at).is_some())
    }

    /// Takes entries that come in order.
    pub fn set(&mut self, entries: &[(Place, u32)]) {
        self.0.clear();
        self.0.extend(entries.iter().map(|&(place, attempt)| Head::new(place, attempt)));
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn find(&self, place: Place) -> Result<usize, usize> {
        self.0.binary_search_by_key(&Head::spot_of(place), |head| head.spot())
    }
}

#[derive(Debug)]
pub(super) struct Host {
    pub name: Box<str>,
    /// Its number in the keys of the queue.
    pub number: u32,
    pub domain: DomainId,
    /// The first entries of the queue with how often they failed. All of them stand before `tail_from`.
    pub heads: Heads,
    /// How many entries more there are, all at `tail_from` or behind it, and none of them leased.
    pub tail: u64,
    pub tail_from: Place,
    /// Places of the leased entries.
    pub out: Vec<Place>,
    /// True while a request has not finished.
    pub asking: bool,
    /// The address whose clock the request under way runs on.
    pub asking_address: Option<IpAddr>,
    /// True while it stands in the row of its address.
    pub in_row: bool,
    pub waiting: u64,
    pub indexed: u64,
    pub blocked: bool,
    pub not_before: Option<Instant>,
    /// Until when the connection of its last request may be there for the next one.
    pub warm_until: Option<Instant>,
    pub manners: Manners,
    /// True when the manners changed since they were last handed out to be stored.
    pub unsaved: bool,
    /// Leases since it was taken up, and some more to begin with: what is shared out there is made different.
    pub served: u32,
    /// Its turn within the domain, while there is something to lease.
    pub turn: Option<Turn>,
    /// The moment under which it is listed as idle.
    pub idle_from: Option<Instant>,
    /// Whether it counts as one that has nothing but leases.
    pub all_out: bool,
    /// True while it is listed as tired.
    pub listed_tired: bool,
}

impl Host {
    pub fn new(name: &str, number: u32, domain: DomainId, facts: &HostFacts) -> Self {
        Self {
            name: name.into(),
            number,
            domain,
            heads: Heads::default(),
            tail: facts.queued,
            tail_from: Place::FIRST,
            out: Vec::new(),
            asking: false,
            asking_address: None,
            in_row: false,
            waiting: facts.waiting,
            indexed: facts.indexed,
            blocked: facts.blocked,
            not_before: None,
            warm_until: None,
            manners: facts.manners,
            unsaved: false,
            served: 0,
            turn: None,
            idle_from: None,
            all_out: false,
            listed_tired: false,
        }
    }

    pub fn facts(&self) -> HostFacts {
        HostFacts {
            queued: self.heads.len() as u64 + self.tail + self.out.len() as u64,
            waiting: self.waiting,
            indexed: self.indexed,
            manners: self.manners,
            blocked: self.blocked,
        }
    }

    /// Touches what a lease is going to need; the number means nothing.
    pub fn look(&self) -> u64 {
        let head = self.heads.first().map_or(0, |(place, _)| place.position);
        let turn = self.turn.map_or(0, |(_, number)| number);
        [head, turn, self.tail, self.indexed, self.out.len() as u64, u64::from(self.served)]
            .into_iter()
            .fold(u64::from(self.asking), u64::wrapping_add)
    }

    pub fn has_entries(&self) -> bool {
        !self.heads.is_empty() || self.tail > 0
    }

    /// True when nothing of it need be in memory.
    pub fn is_idle(&self) -> bool {
        !self.has_entries() && self.out.is_empty() && !self.asking
    }

    /// How urgent its next entry is, in a few classes: 0 is the most urgent.
    pub fn class(&self) -> usize {
        // Until its heads were read, it passes for an ordinary one.
        self.heads.first().map_or(Place::CLASS_ORDINARY, |(place, _)| place.class())
    }

    /// Whether an entry at that place would be held in memory.
    fn holds(&self, place: Place, heads_max: usize) -> bool {
        (self.tail == 0 || place < self.tail_from)
            && (self.heads.len() < heads_max || self.heads.last().is_some_and(|(last, _)| place < last))
    }

    /// Adds an entry, in memory or, when it stands too far behind, only in number.
    pub fn put(&mut self, place: Place, attempt: u32, heads_max: usize) {
        if !self.holds(place, heads_max) {
            return self.put_on_tail(place);
        }
        // The last one goes first: room for one more would be room for twice as many.
        if self.heads.len() >= heads_max
            && let Some((last, _)) = self.heads.pop_last()
        {
            self.put_on_tail(last);
        }
        self.heads.insert(place, attempt);
    }

    fn put_on_tail(&mut self, place: Place) {
        self.tail_from = if self.tail == 0 { place } else { self.tail_from.min(place) };
        self.tail += 1;
    }

    /// Takes an entry away that is on disk and not leased.
    pub fn take_away(&mut self, place: Place) {
        if !self.heads.remove(place) {
            self.tail = self.tail.saturating_sub(1);
        }
    }

    /// When the delay of a request that ends now is over.
    pub fn rested(&self, config: &FrontierConfig, now: Instant) -> Instant {
        after(now, self.manners.delay(config))
    }
}

/// A pay-level domain with hosts in memory.
#[derive(Debug)]
pub(super) struct Domain {
    pub name: Box<str>,
    /// Hosts in memory.
    pub members: u32,
    /// Pages in the index, and leases that may become some, while there is a budget.
    pub indexed: u64,
    pub leased: u64,
    /// Pages it may have.
    pub budget: Option<u64>,
    pub not_before: Option<Instant>,
    pub asking: u32,
    pub hosts: Turns,
    /// The number it got when it was last served: it stands behind those that were not.
    pub served: u64,
    /// Pages it had in a row, while its connection was warm.
    pub visit: u8,
    /// The row it stands in, and its turn there.
    pub turn: Option<(usize, Turn)>,
}

impl Domain {
    pub fn budget_left(&self) -> bool {
        self.budget.is_none_or(|pages| self.indexed + self.leased < pages)
    }

    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            members: 0,
            indexed: 0,
            leased: 0,
            budget: None,
            not_before: None,
            asking: 0,
            hosts: Turns::default(),
            served: 0,
            visit: 0,
            turn: None,
        }
    }
}

/// Hosts of a domain that have a turn, in order. Most domains have one host: the first is at hand, and takes no memory of its own.
#[derive(Debug, Default)]
pub(super) struct Turns {
    first: Option<(Turn, HostId)>,
    /// All behind the first.
    rest: BTreeSet<(Turn, HostId)>,
}

impl Turns {
    pub fn first(&self) -> Option<(Turn, HostId)> {
        self.first
    }

    pub fn insert(&mut self, host: (Turn, HostId)) {
        match self.first {
            None => self.first = Some(host),
            Some(first) if host < first => {
                self.rest.insert(first);
                self.first = Some(host);
            }
            Some(first) if host > first => drop(self.rest.insert(host)),
            Some(_) => {}
        }
    }

    pub fn remove(&mut self, host: (Turn, HostId)) {
        if self.first == Some(host) {
            self.first = self.rest.pop_first();
        } else {
            self.rest.remove(&host);
        }
    }
}

/// The clock of an address.
#[derive(Debug, Default)]
pub(super) struct Address {
    pub not_before: Option<Instant>,
    pub asking: u32,
    /// Hosts whose turn came while another one of the address was asked.
    pub row: Vec<HostId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_a_set_in_order() {
        let begin = Instant::now();
        let host =
            |number: u64| ((after(begin, Duration::from_millis(number * 7 % 50)), number % 9), HostId(0));
        let (mut turns, mut set) = (Turns::default(), BTreeSet::new());
        for number in 0..500 {
            let one = host(number * number % 61);
            if number % 5 < 2 {
                turns.remove(one);
                set.remove(&one);
            } else {
                turns.insert(one);
                set.insert(one);
            }
            assert_eq!(turns.first(), set.first().copied());
        }
    }
}
