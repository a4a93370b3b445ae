//! A frontier that forgets everything when it is dropped: for tests, and to compare others with.
//!
//! It puts plain maps around the scheduling core and nothing else, so that what a frontier has to do
//! can be read on one page. Start at its implementation of [`Frontier`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use parking_lot::Mutex;
use webloom_model::{
    Clock, Frontier, FrontierCounts, FrontierError, HostHint, LeaseAnswer, LeaseId, LinkCandidate,
    OfferSummary, PageUrl, Settlement, SettlementKind,
};

use crate::record::{Anchor, timestamp};
use crate::schedule::{Entry, Place, Scheduler, after};
use crate::{FrontierConfig, UrlState, UrlStatus};

/// Keeps all URLs in memory. See [`Frontier`] for what it promises; surviving a kill is not part of it.
#[derive(Debug)]
pub struct MemoryFrontier {
    config: FrontierConfig,
    clock: Arc<dyn Clock>,
    anchor: Anchor,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    scheduler: Scheduler,
    seq_next: u64,
    urls: HashMap<PageUrl, Known>,
    later: BTreeMap<(Instant, u64), Entry>,
}

#[derive(Debug)]
struct Known {
    stage: Stage,
    depth: u32,
    found_on: Option<PageUrl>,
    attempts: u32,
}

#[derive(Debug)]
enum Stage {
    Queued(Place),
    Waiting(Instant),
    Indexed(Timestamp),
    NoPage(Timestamp),
}

impl MemoryFrontier {
    /// An empty frontier.
    pub fn new(config: FrontierConfig, clock: Arc<dyn Clock>) -> Self {
        let scheduler = Scheduler::new(FrontierConfig { heads_per_host: usize::MAX, ..config.clone() });
        let inner = Inner { scheduler, seq_next: 1, urls: HashMap::new(), later: BTreeMap::new() };
        Self { anchor: Anchor::new(&*clock), config, clock, inner: Mutex::new(inner) }
    }

    /// The life of a URL so far; nothing when it was never queued.
    pub fn lookup(&self, url: &PageUrl) -> Result<Option<UrlState>, FrontierError> {
        let inner = self.inner.lock();
        Ok(inner.urls.get(url).map(|known| UrlState {
            status: match known.stage {
                Stage::Queued(place) if inner.scheduler.is_out(url.host(), place) => UrlStatus::Leased,
                Stage::Queued(_) => UrlStatus::Queued,
                Stage::Waiting(due) => UrlStatus::Waiting { until: timestamp(self.anchor.to_wall(due)) },
                Stage::Indexed(at) => UrlStatus::Indexed { at },
                Stage::NoPage(at) => UrlStatus::NoPage { at },
            },
            depth: known.depth,
            found_on: known.found_on.clone(),
            attempts: known.attempts,
        }))
    }
}

impl Frontier for MemoryFrontier {
    fn offer(&self, candidates: &[LinkCandidate]) -> Result<OfferSummary, FrontierError> {
        Ok(self.inner.lock().offer(candidates, &self.config, self.clock.now()))
    }

    fn lease(&self, max: usize) -> Result<LeaseAnswer, FrontierError> {
        let now = self.clock.now();
        let mut inner = self.inner.lock();
        inner.queue_due_retries(now);
        // All of every queue is in the scheduler, so it never asks for more.
        inner.scheduler.lease(max, now, &mut |_, _, _, _| Ok(Vec::new()))
    }

    fn request_finished(&self, lease: LeaseId, hint: HostHint) {
        self.inner.lock().scheduler.request_finished(lease, hint, self.clock.now());
    }

    fn reserve(&self, host: &str) -> Option<Instant> {
        let now = self.clock.now();
        self.inner.lock().scheduler.reserve(host, now)
    }

    fn release(&self, host: &str, hint: HostHint) {
        let now = self.clock.now();
        self.inner.lock().scheduler.release(host, hint, now);
    }

    fn settle(&self, settlements: Vec<Settlement>) -> Result<OfferSummary, FrontierError> {
        let now = self.clock.now();
        let mut summary = OfferSummary::default();
        let inner = &mut *self.inner.lock();
        for settlement in settlements {
            if let Some(ending) = inner.scheduler.begin_settle(settlement.lease, now) {
                let url = &ending.entry.candidate.url;
                let mut retry_at = None;
                if let Some(known) = inner.urls.get_mut(url) {
                    match settlement.kind {
                        SettlementKind::Indexed => known.stage = Stage::Indexed(self.clock.wall()),
                        SettlementKind::NoPage => known.stage = Stage::NoPage(self.clock.wall()),
                        SettlementKind::Returned => {}
                        SettlementKind::Retry(wish) => {
                            let pause = self.config.retry_pause(url.as_str(), ending.entry.attempt, wish);
                            let due = after(now, pause);
                            known.stage = Stage::Waiting(due);
                            known.attempts += 1;
                            let attempt = known.attempts;
                            let entry = Entry { attempt, ..(*ending.entry).clone() };
                            inner.later.insert((due, ending.place.seq), entry);
                            retry_at = Some(due);
                        }
                    }
                }
                inner.scheduler.end_settle(ending, settlement.kind, retry_at, now);
            }
            summary += inner.offer(&settlement.links, &self.config, now);
        }
        Ok(summary)
    }

    fn counts(&self) -> FrontierCounts {
        self.inner.lock().scheduler.counts()
    }
}

impl Inner {
    fn offer(&mut self, candidates: &[LinkCandidate], config: &FrontierConfig, now: Instant) -> OfferSummary {
        let mut summary = OfferSummary::default();
        for candidate in candidates {
            if config.depth_max.is_some_and(|depth| candidate.depth > depth) {
                summary.too_deep += 1;
            } else if self.urls.contains_key(&candidate.url) {
                summary.seen += 1;
            } else {
                let place = self.next_place(candidate.depth);
                let known = Known {
                    stage: Stage::Queued(place),
                    depth: candidate.depth,
                    found_on: candidate.found_on.clone(),
                    attempts: 0,
                };
                self.urls.insert(candidate.url.clone(), known);
                self.scheduler.insert(place, candidate, 0, now);
                summary.new += 1;
            }
        }
        self.scheduler.add_known(summary.new);
        summary
    }

    fn queue_due_retries(&mut self, now: Instant) {
        while let Some(first) = self.later.first_entry() {
            if first.key().0 > now {
                break;
            }
            let entry = first.remove();
            let place = self.next_place(entry.candidate.depth);
            if let Some(known) = self.urls.get_mut(&entry.candidate.url) {
                known.stage = Stage::Queued(place);
            }
            self.scheduler.retry_queued(place, &entry, now);
        }
        self.scheduler.set_waiting_next(self.later.first_key_value().map(|(&(due, _), _)| due));
    }

    fn next_place(&mut self, depth: u32) -> Place {
        let seq = self.seq_next;
        self.seq_next += 1;
        Place { depth, seq }
    }
}
