//! robots.txt as the fetcher sees to it: known and fresh, or asked for before anything else.
//!
//! In: the URL of a page. Out: what its origin's robots.txt says, from memory or from the store, or the outcome of asking for it.
//! What a robots.txt means is in `robots/`.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use tokio::time::sleep;
use webloom_model::{FetchError, FetchOutcome, HostHint, Lease, NotFetched, PageUrl, Purpose};

use super::request::{Answer, Failure};
use super::{Fetcher, SITEMAPS_MAX};
use crate::body::BodyLimits;
use crate::headers;
use crate::robots::{KnownRobots, ROBOTS_BYTES_MAX, RobotsClass, RobotsRecord};
use crate::stats::count;
use crate::tape::Tape;

const ROBOTS_PATH: &str = "/robots.txt";

/// How a robots.txt was come by.
enum Asked {
    /// It was asked for.
    Now,
    /// Redirects led to one that is known.
    Known,
}

impl Fetcher {
    /// What is known of the origin's robots.txt, if it is known and fresh.
    pub(super) fn known_robots(&self, origin: &str) -> Option<Arc<KnownRobots>> {
        let known = self.robots_cache.get(origin).or_else(|| {
            let record = RobotsRecord::from_bytes(&self.robots_store.get(origin)?)?;
            let known = Arc::new(KnownRobots::new(&record, &self.config.robots_agent));
            self.robots_cache.put(origin, Arc::clone(&known));
            Some(known)
        })?;
        self.robots_fresh_for(&known).map(|_| known)
    }

    /// The sitemaps that the robots.txt of the URL's origin names, if it was read.
    pub fn sitemaps(&self, url: &PageUrl) -> Vec<PageUrl> {
        let Some(robots) = self.known_robots(&url.origin()) else { return Vec::new() };
        // They ought to be absolute; a path is understood, anything else would be a guess.
        let sitemaps = robots.rules.sitemaps().filter_map(|sitemap| match sitemap.starts_with('/') {
            true => url.join(sitemap).ok(),
            false => PageUrl::parse(sitemap).ok(),
        });
        sitemaps.take(SITEMAPS_MAX).collect()
    }

    /// Has the robots.txt of the URL's origin asked for again before the next page, however fresh it is.
    pub fn forget_robots(&self, url: &PageUrl) {
        let origin = url.origin();
        self.robots_store.put(&origin, &[]);
        self.robots_cache.forget(&origin);
    }

    /// How long the record may still be believed; nothing when it is stale.
    pub(super) fn robots_fresh_for(&self, known: &KnownRobots) -> Option<Duration> {
        self.fresh_for(known.class, known.fetched_at)
    }

    fn fresh_for(&self, class: RobotsClass, fetched_at: Timestamp) -> Option<Duration> {
        let fresh = match class {
            RobotsClass::Found => self.config.robots_fresh,
            RobotsClass::Missing => self.config.robots_missing_fresh,
            RobotsClass::Unreachable => self.config.robots_unreachable_fresh,
        };
        // A record from the future is one written before somebody set the clock back.
        let age = Duration::try_from(self.clock.wall().duration_since(fetched_at)).unwrap_or_default();
        fresh.checked_sub(age).filter(|left| !left.is_zero())
    }

    /// Asks for robots.txt, which is all the host is asked this time.
    pub(super) async fn fetch_robots(
        &self,
        lease: &Lease,
        origin: &str,
        tape: &mut Tape,
    ) -> (FetchOutcome, HostHint) {
        let mut hint = HostHint::default();
        let mut record = self.no_robots();
        let asked = self.ask_for_robots(lease.url(), &mut record, &mut hint, tape).await;
        // The record is as old as the answer, not as the question.
        if !matches!(asked, Ok(Asked::Known)) {
            record.fetched_at = self.clock.wall();
        }
        let outcome = match asked {
            Ok(_) => FetchOutcome::RobotsFirst,
            Err(Failure { outcome, untouched: true }) => {
                // Nobody was asked, so there is nothing to remember about the host's robots.txt.
                hint.untouched = true;
                return (outcome, hint);
            }
            Err(Failure { outcome: FetchOutcome::Failed(error), .. }) => {
                record.class = RobotsClass::Unreachable;
                record.reason = error.to_string();
                record.body = Bytes::new();
                self.without_robots(lease, error)
            }
            Err(Failure { outcome, .. }) => outcome,
        };
        let known = Arc::new(KnownRobots::new(&record, &self.config.robots_agent));
        hint.crawl_delay = known.rules.crawl_delay();
        self.robots_store.put(origin, &record.to_bytes());
        self.robots_cache.put(origin, known);
        (outcome, hint)
    }

    /// Asks for the robots.txt of a URL's origin, whatever is known of it, for somebody who wants to read it. Nothing is
    /// remembered of that origin.
    pub async fn fetch_robots_of(&self, url: &PageUrl) -> Result<RobotsRecord, String> {
        let mut record = self.no_robots();
        match self.ask_for_robots(url, &mut record, &mut HostHint::default(), &mut Tape::off()).await {
            Ok(_) => Ok(record),
            Err(failure) => Err(match failure.outcome {
                FetchOutcome::Failed(error) => error.to_string(),
                FetchOutcome::NotFetched(reason) => reason.to_string(),
                _ => "there was no answer".to_owned(),
            }),
        }
    }

    fn no_robots(&self) -> RobotsRecord {
        RobotsRecord {
            class: RobotsClass::Missing,
            status: 0,
            fetched_at: self.clock.wall(),
            reason: String::new(),
            body: Bytes::new(),
        }
    }

    /// Follows robots.txt to where it is, and fills in the record.
    async fn ask_for_robots(
        &self,
        url: &PageUrl,
        record: &mut RobotsRecord,
        hint: &mut HostHint,
        tape: &mut Tape,
    ) -> Result<Asked, Failure> {
        let unreachable = |reason: String| Failure::touched(FetchError::Protocol { reason });
        let host = url.host();
        let mut url = url.join(ROBOTS_PATH).map_err(|problem| unreachable(problem.to_string()))?;
        let mut turn = None;
        for hop in 0..=self.config.robots_redirects_max {
            if hop > 0 {
                // Whoever waits for one host must not hold another.
                drop(turn.take());
                if url.host() != host {
                    turn = Some(self.hop_turns.take(url.host()).await);
                    if let Some(known) = self.robots_at(&url) {
                        *record = known;
                        return Ok(Asked::Known);
                    }
                }
                sleep(self.config.robots_hop_delay).await;
            }
            count(&self.counters.robots_requests, 1);
            let answer =
                match self.request(&url, self.robots_headers.clone(), tape.purpose(Purpose::Robots)).await {
                    // The host itself answered; that it points to nowhere is a fault of its robots.txt.
                    Err(failure) if hop > 0 => {
                        return Err(match failure.outcome {
                            FetchOutcome::NotFetched(reason) => unreachable(reason.to_string()),
                            outcome => Failure { outcome, untouched: false },
                        });
                    }
                    answer => answer?,
                };
            record.status = answer.status.as_u16();
            match record.status {
                200..=299 => {
                    let bytes_max = ROBOTS_BYTES_MAX as u64 + 1;
                    let limits = BodyLimits { keep: tape.is_on(), ..self.body_limits(bytes_max, bytes_max) };
                    let Answer { headers, body, connection, exchange, started, .. } = answer;
                    let read = self.read_body(&url, &headers, body, connection, &limits, None).await;
                    self.note(tape, exchange, started, read.as_ref());
                    let read = read?;
                    // The part that is missing may be the part that forbids.
                    if read.ended_early {
                        return Err(unreachable("robots.txt breaks off".to_owned()));
                    }
                    record.class = RobotsClass::Found;
                    record.body = read.bytes;
                    if turn.is_some() {
                        self.keep_for_others(&url, record);
                    }
                    return Ok(Asked::Now);
                }
                301 | 302 | 303 | 307 | 308 => {
                    let target = headers::redirect_target(&url, &answer.headers);
                    self.discard(&url, answer, tape).await;
                    match target {
                        Ok(target) => url = target,
                        Err(_) => return Ok(Asked::Now),
                    }
                }
                // 429 is a 4xx by number only: the host has a robots.txt and is busy. 407 is the word of a proxy.
                status @ (407 | 408 | 425 | 429 | 500..) => {
                    let retry_after = headers::retry_after(&answer.headers, self.clock.wall());
                    hint.retry_after = retry_after;
                    self.discard(&url, answer, tape).await;
                    return Err(Failure::touched(FetchError::Busy { status, retry_after }));
                }
                _ => {
                    self.discard(&url, answer, tape).await;
                    if turn.is_some() {
                        self.keep_for_others(&url, record);
                    }
                    return Ok(Asked::Now);
                }
            }
        }
        // Redirects without end: RFC 9309 lets this count as missing.
        Ok(Asked::Now)
    }

    /// What is known of the robots.txt at this very place, if it was answered and is fresh.
    fn robots_at(&self, url: &PageUrl) -> Option<RobotsRecord> {
        if url.path_and_query() != ROBOTS_PATH {
            return None;
        }
        let record = RobotsRecord::from_bytes(&self.robots_store.get(&url.origin())?)?;
        let answered = record.class != RobotsClass::Unreachable;
        (answered && self.fresh_for(record.class, record.fetched_at).is_some()).then_some(record)
    }

    /// Remembers what a host answered for its own robots.txt when others led there.
    fn keep_for_others(&self, url: &PageUrl, record: &RobotsRecord) {
        if url.path_and_query() == ROBOTS_PATH {
            let record = RobotsRecord { fetched_at: self.clock.wall(), ..record.clone() };
            self.robots_store.put(&url.origin(), &record.to_bytes());
            let known = KnownRobots::new(&record, &self.config.robots_agent);
            self.robots_cache.put(&url.origin(), Arc::new(known));
        }
    }

    /// What to answer while robots.txt cannot be had: to be tried again, or given up.
    pub(super) fn without_robots(&self, lease: &Lease, error: FetchError) -> FetchOutcome {
        if lease.attempt.saturating_add(1) >= self.config.attempts_max {
            FetchOutcome::NotFetched(NotFetched::RobotsUnreachable { reason: error.to_string() })
        } else {
            FetchOutcome::Failed(error)
        }
    }

    pub(super) fn still_unreachable(&self, url: &PageUrl, robots: &KnownRobots) -> FetchError {
        if robots.status == 0 || robots.status < 400 {
            let reason = format!("a moment ago: {}", robots.reason);
            FetchError::Connect { host: url.host().to_owned(), reason }
        } else {
            FetchError::Busy { status: robots.status, retry_after: self.robots_fresh_for(robots) }
        }
    }
}
