//! A frontier that forgets everything when it is dropped: for tests, and to compare others with.
//!
//! It puts plain maps around the scheduling core and nothing else, so that what a frontier has to do
//! can be read on one page. Start at its implementation of [`Frontier`].

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use parking_lot::Mutex;
use webloom_model::{
    Ban, Clock, Frontier, FrontierCounts, FrontierError, FrontierLimits, HostHint, Injection,
    InjectionReport, Lease, LeaseAnswer, LeaseId, LinkCandidate, OfferSummary, PageUrl, Settlement,
    SettlementKind, UrlLife, UrlStage, Validators,
};

use crate::record::{Anchor, timestamp};
use crate::schedule::{HostFacts, Picks, Place, Scheduler, Totals, after};
use crate::{FrontierConfig, UrlState, UrlStatus};

/// Keeps all URLs in memory. See [`Frontier`] for what it promises; surviving a kill is not part of it.
#[derive(Debug)]
pub struct MemoryFrontier {
    clock: Arc<dyn Clock>,
    anchor: Anchor,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: FrontierConfig,
    scheduler: Scheduler,
    totals: Totals,
    /// By position, the first at 1.
    urls: Vec<Known>,
    positions: HashMap<PageUrl, usize>,
    hosts: HashMap<String, HostFacts>,
    later: BTreeMap<(Instant, usize), u32>,
    leased: HashMap<LeaseId, usize>,
}

#[derive(Debug)]
struct Known {
    candidate: LinkCandidate,
    found_at: Timestamp,
    stage: Stage,
    attempts: u32,
    score: Option<f32>,
    banned: bool,
    validators: Option<Validators>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Queued,
    Waiting(Instant),
    Indexed(Timestamp),
    NoPage(Timestamp),
    Banned(Timestamp),
}

impl MemoryFrontier {
    /// An empty frontier.
    pub fn new(config: FrontierConfig, clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            scheduler: Scheduler::new(FrontierConfig { heads_per_host: usize::MAX, ..config.clone() }),
            config,
            totals: Totals::default(),
            urls: Vec::new(),
            positions: HashMap::new(),
            hosts: HashMap::new(),
            later: BTreeMap::new(),
            leased: HashMap::new(),
        };
        Self { anchor: Anchor::new(&*clock), clock, inner: Mutex::new(inner) }
    }

    /// The life of a URL so far, in short; nothing when it was never queued.
    pub fn lookup(&self, url: &PageUrl) -> Result<Option<UrlState>, FrontierError> {
        Ok(self.inspect(url)?.map(|life| UrlState {
            status: match life.stage {
                UrlStage::Queued => UrlStatus::Queued,
                UrlStage::Leased => UrlStatus::Leased,
                UrlStage::Waiting { until } => UrlStatus::Waiting { until },
                UrlStage::Indexed { at } => UrlStatus::Indexed { at },
                UrlStage::NoPage { at } | UrlStage::Banned { at } => UrlStatus::NoPage { at },
            },
            depth: life.depth,
            found_on: life.found_on,
            attempts: life.attempts,
        }))
    }
}

impl Frontier for MemoryFrontier {
    fn offer(&self, candidates: &[LinkCandidate]) -> Result<OfferSummary, FrontierError> {
        let mut inner = self.inner.lock();
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let mut summary = OfferSummary::default();
        candidates.iter().for_each(|candidate| inner.offer(candidate, None, &mut summary, now, wall));
        Ok(summary)
    }

    fn lease(&self, max: usize) -> Result<LeaseAnswer, FrontierError> {
        let now = self.clock.now();
        let inner = &mut *self.inner.lock();
        inner.queue_due_retries(now);
        // All of every queue is in the scheduler, so it never asks for more.
        let picks = match inner.scheduler.lease(max, now, &mut |_, _, _, _| Ok(Vec::new()))? {
            Picks::Picked(picks) => picks,
            Picks::Wait(moment) => return Ok(LeaseAnswer::Wait(moment)),
            Picks::Busy => return Ok(LeaseAnswer::Busy),
            Picks::Finished { budget_spent } => return Ok(LeaseAnswer::Finished { budget_spent }),
        };
        let lease = |pick: crate::schedule::Pick| {
            inner.leased.insert(pick.lease, pick.place.position as usize);
            let known = &inner.urls[pick.place.position as usize - 1];
            Lease {
                id: pick.lease,
                candidate: known.candidate.clone(),
                attempt: pick.attempt,
                validators: known.validators.clone(),
            }
        };
        Ok(LeaseAnswer::Leased(picks.into_iter().map(lease).collect()))
    }

    fn request_finished(&self, lease: LeaseId, hint: HostHint) {
        self.inner.lock().scheduler.request_finished(lease, hint, self.clock.now());
    }

    fn reserve(&self, host: &str) -> Option<Instant> {
        let now = self.clock.now();
        let mut inner = self.inner.lock();
        inner.take_up(host, now);
        inner.scheduler.reserve(host, now)
    }

    fn release(&self, host: &str, hint: HostHint) {
        let now = self.clock.now();
        self.inner.lock().scheduler.release(host, hint, now);
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Result<OfferSummary, FrontierError> {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let mut summary = OfferSummary::default();
        let inner = &mut *self.inner.lock();
        for settlement in &settlements {
            inner.settle(settlement, now, wall);
        }
        for link in settlements.iter().flat_map(|settlement| &settlement.links) {
            inner.offer(link, None, &mut summary, now, wall);
        }
        Ok(summary)
    }

    fn counts(&self) -> FrontierCounts {
        self.inner.lock().scheduler.counts()
    }

    fn resolved(&self, host: &str, address: IpAddr) -> bool {
        let now = self.clock.now();
        self.inner.lock().scheduler.resolved(host, address, now)
    }

    fn inject(&self, injections: &[Injection]) -> Result<InjectionReport, FrontierError> {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let mut report = InjectionReport::default();
        for Injection { url, score, blacklisted } in injections {
            if *blacklisted {
                report += self.ban(&[Ban::Url(url.clone())])?;
                continue;
            }
            let mut summary = OfferSummary::default();
            self.inner.lock().offer(&LinkCandidate::seed(url.clone()), *score, &mut summary, now, wall);
            report.queued += summary.new;
            report.refused += summary.refused + summary.too_deep;
            match score {
                Some(score) if summary.seen > 0 => report += self.rescore(&[(url.clone(), *score)])?,
                _ => report.known += summary.seen,
            }
        }
        Ok(report)
    }

    fn rescore(&self, scores: &[(PageUrl, f32)]) -> Result<InjectionReport, FrontierError> {
        let now = self.clock.now();
        let inner = &mut *self.inner.lock();
        let mut report = InjectionReport::default();
        for (url, score) in scores {
            let Some(&position) = inner.positions.get(url) else {
                report.unknown += 1;
                continue;
            };
            let before = inner.place(position);
            let known = &mut inner.urls[position - 1];
            let out = inner.scheduler.is_out(url.host(), before);
            if out || !matches!(known.stage, Stage::Queued | Stage::Waiting(_)) {
                report.known += 1;
                continue;
            }
            known.score = Some(*score);
            report.rescored += 1;
            if known.stage == Stage::Queued {
                let attempts = known.attempts;
                let place = inner.place(position);
                inner.scheduler.take_away(url.host(), before, now);
                inner.scheduler.insert(url.host(), 0, &[(place, attempts)], now);
            }
        }
        Ok(report)
    }

    fn ban(&self, bans: &[Ban]) -> Result<InjectionReport, FrontierError> {
        let (now, wall) = (self.clock.now(), self.clock.wall());
        let inner = &mut *self.inner.lock();
        let mut report = InjectionReport::default();
        for ban in bans {
            match ban {
                Ban::Url(url) if inner.ban(url, now, wall) => report.banned += 1,
                Ban::Url(_) => report.known += 1,
                Ban::Host(host) => {
                    inner.take_up(host, now);
                    inner.hosts.entry(host.clone()).or_default().blocked = true;
                    inner.scheduler.set_blocked(host, true, now);
                    let urls: Vec<PageUrl> =
                        inner.positions.keys().filter(|url| url.host() == host).cloned().collect();
                    let waiting = |url: &&PageUrl| {
                        let known = &inner.urls[inner.positions[*url] - 1];
                        matches!(known.stage, Stage::Queued | Stage::Waiting(_))
                    };
                    let urls: Vec<PageUrl> = urls.iter().filter(waiting).cloned().collect();
                    report.banned += urls.iter().filter(|url| inner.ban(url, now, wall)).count() as u64;
                }
            }
        }
        Ok(report)
    }

    fn recrawl_now(&self, url: &PageUrl) -> Result<bool, FrontierError> {
        Ok(self.inner.lock().requeue(url, Some(1.0), self.clock.now()))
    }

    fn try_again(&self, urls: &[(PageUrl, Option<f32>)]) -> Result<Vec<bool>, FrontierError> {
        let now = self.clock.now();
        let inner = &mut *self.inner.lock();
        let again = |(url, score): &(PageUrl, Option<f32>)| {
            let stage = inner.positions.get(url).map(|&position| inner.urls[position - 1].stage);
            matches!(stage, Some(Stage::NoPage(_))) && inner.requeue(url, *score, now)
        };
        Ok(urls.iter().map(again).collect())
    }

    fn inspect(&self, url: &PageUrl) -> Result<Option<UrlLife>, FrontierError> {
        let inner = self.inner.lock();
        let Some(&position) = inner.positions.get(url) else { return Ok(None) };
        let known = &inner.urls[position - 1];
        let stage = match known.stage {
            Stage::Queued if inner.scheduler.is_out(url.host(), inner.place(position)) => UrlStage::Leased,
            Stage::Queued => UrlStage::Queued,
            Stage::Waiting(due) => UrlStage::Waiting { until: timestamp(self.anchor.to_wall(due)) },
            Stage::Indexed(at) => UrlStage::Indexed { at },
            Stage::NoPage(at) => UrlStage::NoPage { at },
            Stage::Banned(at) => UrlStage::Banned { at },
        };
        let LinkCandidate { url, depth, found_on, anchor, redirects } = known.candidate.clone();
        Ok(Some(UrlLife {
            url,
            stage,
            depth,
            found_on,
            found_at: Some(known.found_at),
            anchor,
            redirects,
            score: known.score,
            attempts: known.attempts,
            fetches: Vec::new(),
            visits: 0,
            changes: 0,
            next_visit: None,
            queue: None,
        }))
    }

    fn limits(&self) -> FrontierLimits {
        self.inner.lock().config.limits()
    }

    fn set_limits(&self, limits: &FrontierLimits) -> Result<(), FrontierError> {
        let now = self.clock.now();
        let inner = &mut *self.inner.lock();
        inner.config = inner.config.with_limits(limits);
        inner.scheduler.set_config(inner.config.clone(), now);
        Ok(())
    }
}

impl Inner {
    fn offer(
        &mut self,
        candidate: &LinkCandidate,
        score: Option<f32>,
        summary: &mut OfferSummary,
        now: Instant,
        wall: Timestamp,
    ) {
        if self.config.depth_max.is_some_and(|depth| candidate.depth > depth) {
            summary.too_deep += 1;
        } else if self.positions.contains_key(&candidate.url) {
            summary.seen += 1;
        } else if self.hosts.get(candidate.url.host()).is_some_and(|host| host.blocked) {
            summary.refused += 1;
        } else {
            self.learn(candidate.clone(), score, Stage::Queued, wall);
            self.queue(self.urls.len(), 0, now);
            summary.new += 1;
        }
    }

    fn learn(&mut self, candidate: LinkCandidate, score: Option<f32>, stage: Stage, found_at: Timestamp) {
        self.positions.insert(candidate.url.clone(), self.urls.len() + 1);
        self.urls.push(Known {
            candidate,
            found_at,
            stage,
            attempts: 0,
            score,
            banned: false,
            validators: None,
        });
        self.totals.known += 1;
    }

    /// Queues a URL that was settled once more. False when it was not, or its host is banned.
    fn requeue(&mut self, url: &PageUrl, score: Option<f32>, now: Instant) -> bool {
        let Some(&position) = self.positions.get(url) else { return false };
        if self.hosts.get(url.host()).is_some_and(|host| host.blocked) {
            return false;
        }
        match self.urls[position - 1].stage {
            Stage::Indexed(_) => {
                self.totals.indexed -= 1;
                self.take_up(url.host(), now);
                self.scheduler.unindex(url.host(), now);
                self.hosts.entry(url.host().to_owned()).or_default().indexed -= 1;
            }
            Stage::NoPage(_) => self.totals.no_page -= 1,
            _ => return false,
        }
        let known = &mut self.urls[position - 1];
        known.stage = Stage::Queued;
        known.attempts = 0;
        known.score = score;
        self.queue(position, 0, now);
        true
    }

    fn place(&self, position: usize) -> Place {
        let known = &self.urls[position - 1];
        Place::new(known.score, known.candidate.depth, position as u64)
    }

    /// Hands an entry to the scheduler.
    fn queue(&mut self, position: usize, attempt: u32, now: Instant) {
        let host = self.urls[position - 1].candidate.url.host().to_owned();
        self.take_up(&host, now);
        let place = self.place(position);
        self.scheduler.insert(&host, 0, &[(place, attempt)], now);
        self.count(&host, |facts| facts.queued += 1);
    }

    /// Changes what is known of a host, and the sums with it.
    fn count(&mut self, host: &str, change: impl FnOnce(&mut HostFacts)) {
        let facts = self.hosts.entry(host.to_owned()).or_default();
        let before = facts.queued + facts.waiting > 0;
        change(facts);
        let after = facts.queued + facts.waiting > 0;
        self.totals.hosts = self.totals.hosts + u64::from(after) - u64::from(before);
        self.scheduler.set_totals(self.totals);
    }

    /// Makes sure that a host is in the scheduler, which forgets those that have nothing to do.
    fn take_up(&mut self, host: &str, now: Instant) {
        for dropped in self.scheduler.take_dropped() {
            self.hosts.entry(dropped.name.into_string()).or_default().manners = dropped.facts.manners;
        }
        if !self.scheduler.is_active(host) {
            let facts = self.hosts.entry(host.to_owned()).or_default();
            // All that is queued is handed over entry by entry.
            let facts = HostFacts { queued: 0, ..*facts };
            self.scheduler.take_up(host, 0, &facts, None, None, now);
        }
    }

    fn settle(&mut self, settlement: &Settlement, now: Instant, wall: Timestamp) {
        let Some(ending) = self.scheduler.begin_settle(settlement.lease, now) else { return };
        let position = ending.place.position as usize;
        let known = &mut self.urls[position - 1];
        let kind = if known.banned { SettlementKind::NoPage } else { settlement.kind };
        if let Some(validators) = &settlement.validators {
            known.validators = Some(validators.clone());
        }
        let host = known.candidate.url.host().to_owned();
        let mut retry_at = None;
        match kind {
            SettlementKind::Indexed | SettlementKind::Unchanged => {
                known.stage = Stage::Indexed(wall);
                self.totals.indexed += 1;
            }
            SettlementKind::NoPage => {
                known.stage = if known.banned { Stage::Banned(wall) } else { Stage::NoPage(wall) };
                self.totals.no_page += 1;
            }
            SettlementKind::Returned => {}
            SettlementKind::Retry(wish) => {
                let pause = self.config.retry_pause(known.candidate.url.as_str(), ending.attempt, wish);
                let due = after(now, pause);
                known.stage = Stage::Waiting(due);
                known.attempts = ending.attempt + 1;
                self.later.insert((due, position), known.attempts);
                retry_at = Some(due);
            }
        }
        self.scheduler.end_settle(&ending, kind, retry_at, now);
        self.count(&host, |facts| {
            facts.queued -= u64::from(kind != SettlementKind::Returned);
            facts.waiting += u64::from(retry_at.is_some());
            facts.indexed += u64::from(matches!(kind, SettlementKind::Indexed | SettlementKind::Unchanged));
        });
    }

    fn queue_due_retries(&mut self, now: Instant) {
        while let Some((&(due, position), &attempt)) = self.later.first_key_value() {
            if due > now {
                break;
            }
            self.later.remove(&(due, position));
            self.urls[position - 1].stage = Stage::Queued;
            let host = self.urls[position - 1].candidate.url.host().to_owned();
            self.take_up(&host, now);
            self.scheduler.waits_no_more(&host, now);
            self.count(&host, |facts| facts.waiting -= 1);
            self.queue(position, attempt, now);
        }
        self.scheduler.set_waiting_next(self.later.first_key_value().map(|(&(due, _), _)| due));
    }

    fn ban(&mut self, url: &PageUrl, now: Instant, wall: Timestamp) -> bool {
        let Some(&position) = self.positions.get(url) else {
            self.learn(LinkCandidate::seed(url.clone()), None, Stage::Banned(wall), wall);
            self.totals.no_page += 1;
            self.scheduler.set_totals(self.totals);
            return true;
        };
        let host = url.host();
        let place = self.place(position);
        let out = self.scheduler.is_out(host, place);
        let known = &mut self.urls[position - 1];
        match known.stage {
            Stage::Banned(_) => return false,
            Stage::Queued if out => return !std::mem::replace(&mut known.banned, true),
            Stage::Queued => {
                self.scheduler.take_away(host, place, now);
                self.count(host, |facts| facts.queued -= 1);
            }
            Stage::Waiting(due) => {
                self.later.remove(&(due, position));
                self.scheduler.waits_no_more(host, now);
                self.count(host, |facts| facts.waiting -= 1);
            }
            Stage::Indexed(_) => {
                self.totals.indexed -= 1;
                self.scheduler.unindex(host, now);
                self.count(host, |facts| facts.indexed -= 1);
            }
            Stage::NoPage(_) => self.totals.no_page -= 1,
        }
        self.urls[position - 1].stage = Stage::Banned(wall);
        self.totals.no_page += 1;
        self.scheduler.set_totals(self.totals);
        true
    }
}
