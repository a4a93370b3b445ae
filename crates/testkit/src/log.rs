//! Who asked for what and when, and whether they behaved.
//!
//! In: every request, written down by the server as it begins and ends. Out: answers to the questions a crawl
//! is judged by: was a host hurried, were two requests at one host at once, was robots.txt asked first and
//! obeyed, was anything fetched twice. [`RequestLog::mark`] cuts the log into sections, so that a test can
//! tell the runs before and after a kill apart.
//!
//! A request is timed from when the server has read it to when the server has handed over the last byte,
//! so its span lies within what the crawler saw. Gaps are therefore measured a little too long, never too
//! short: a violation that is reported happened.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use parking_lot::{Condvar, Mutex, MutexGuard};
use webloom_model::url::pay_level_domain;

use crate::robots::RobotsRules;
use crate::site::{Body, Reply, url_text};
use crate::{Answer, Request};

/// How much the log remembers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogDetail {
    /// Every request: some 200 bytes each. All questions can be answered.
    #[default]
    Everything,
    /// How often each URL was asked for: some 20 bytes per URL.
    Counts,
    /// Sums only, in constant memory.
    Totals,
}

/// The log of a server. Clones are the same log.
#[derive(Debug, Clone)]
pub struct RequestLog {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    detail: LogDetail,
    hasher: RandomState,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    records: Vec<LoggedRequest>,
    counts: HashMap<u64, u32>,
    totals: LogTotals,
    marks: Vec<(String, usize)>,
    robots: RobotsHistory,
    /// Host names and user agents, each once.
    names: HashSet<Arc<str>>,
}

impl State {
    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let fresh: Arc<str> = Arc::from(name);
        self.names.insert(fresh.clone());
        fresh
    }
}

/// By origin, the rules that were served and when their answer ended, oldest first.
type RobotsHistory = HashMap<String, Vec<(Instant, Arc<RobotsRules>)>>;

/// Sums over all requests of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogTotals {
    /// Requests begun, robots.txt included.
    pub requests: u64,
    /// Of these, for robots.txt.
    pub robots_requests: u64,
    /// Answers ended.
    pub answers: u64,
    /// Different URLs, robots.txt included. Zero with [`LogDetail::Totals`].
    pub urls: u64,
    /// URLs other than robots.txt that were asked for more than once. Zero with [`LogDetail::Totals`].
    pub repeated_urls: u64,
    /// Bytes of body sent.
    pub body_bytes: u64,
    /// Answers by status; those that were not HTTP are not among them.
    pub by_status: BTreeMap<u16, u64>,
}

/// One request and what became of it.
#[derive(Debug, Clone)]
pub struct LoggedRequest {
    /// Its place in the order in which requests came, from zero.
    pub number: u64,
    /// Came over TLS.
    pub https: bool,
    /// Host, lower case, without port.
    pub host: Arc<str>,
    /// Port of the URL.
    pub port: u16,
    /// As in the request line.
    pub path_and_query: Box<str>,
    /// `GET`, mostly.
    pub method: Method,
    /// `User-Agent` as sent; empty when it was not.
    pub user_agent: Arc<str>,
    /// When the request had been read.
    pub started: Instant,
    /// When the last byte had been handed over, or the client was gone. Nothing while it goes on.
    pub ended: Option<Instant>,
    /// The status sent, where the answer was HTTP.
    pub status: Option<u16>,
    /// Bytes of body sent.
    pub body_bytes: u64,
    /// True when all of the body was sent.
    pub complete: bool,
}

impl LoggedRequest {
    /// The URL that was asked for.
    pub fn url(&self) -> String {
        url_text(self.https, &self.host, self.port, &self.path_and_query)
    }

    /// How long it took, once it has ended.
    pub fn duration(&self) -> Option<Duration> {
        Some(self.ended?.saturating_duration_since(self.started))
    }

    /// True for the file that a crawler has to read first.
    pub fn is_robots(&self) -> bool {
        &*self.path_and_query == "/robots.txt"
    }

    fn origin(&self) -> String {
        url_text(self.https, &self.host, self.port, "")
    }
}

/// Something a polite crawler does not do. `Display` gives a sentence.
#[derive(Debug, Clone)]
pub enum Violation {
    /// The next request came too soon after the end of another at the same host.
    HostHurried(Hurry),
    /// The next request came too soon after the end of another at the same pay-level domain.
    DomainHurried(Hurry),
    /// Two requests at one host at once.
    Overlapping {
        /// Began first.
        earlier: LoggedRequest,
        /// Began before the other had ended.
        later: LoggedRequest,
    },
    /// A page was asked for before that origin's robots.txt had been answered.
    BeforeRobots(LoggedRequest),
    /// A page was asked for that robots.txt, as served before, forbids.
    Forbidden(LoggedRequest),
}

/// Two requests that are too close.
#[derive(Debug, Clone)]
pub struct Hurry {
    /// Ended first.
    pub earlier: LoggedRequest,
    /// Began too soon after.
    pub later: LoggedRequest,
    /// From the end of the earlier to the beginning of the later.
    pub gap: Duration,
    /// What the gap should have been.
    pub wanted: Duration,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hurried = |what: &str, hurry: &Hurry| {
            write!(
                f,
                "{what} hurried: {} came {:?} after {} had ended, not {:?}",
                hurry.later.url(),
                hurry.gap,
                hurry.earlier.url(),
                hurry.wanted,
            )
        };
        match self {
            Self::HostHurried(hurry) => hurried("host", hurry),
            Self::DomainHurried(hurry) => hurried("domain", hurry),
            Self::Overlapping { earlier, later } => {
                write!(f, "two at once: {} came before {} had ended", later.url(), earlier.url())
            }
            Self::BeforeRobots(request) => write!(f, "{} was asked for before robots.txt", request.url()),
            Self::Forbidden(request) => write!(f, "robots.txt forbids {}", request.url()),
        }
    }
}

impl RequestLog {
    pub(crate) fn new(detail: LogDetail) -> Self {
        let inner = Inner {
            detail,
            hasher: RandomState::new(),
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// How much it remembers.
    pub fn detail(&self) -> LogDetail {
        self.inner.detail
    }

    /// Begins a section. It ends where the next begins, and may be asked for by [`Self::section`].
    pub fn mark(&self, name: impl Into<String>) {
        let mut state = self.inner.state.lock();
        let at = state.records.len();
        state.marks.push((name.into(), at));
    }

    /// The requests so far.
    ///
    /// # Panics
    /// When the log keeps less than [`LogDetail::Everything`]: a log that cannot know must not say "all is well".
    pub fn requests(&self) -> Requests {
        let state = self.whole();
        Requests { requests: state.records.clone(), robots: state.robots.clone() }
    }

    /// The requests since the mark of that name, up to the next mark; none when there is no such mark.
    /// A robots.txt served earlier still counts as served; gaps are measured within the section only.
    ///
    /// # Panics
    /// When the log keeps less than [`LogDetail::Everything`].
    pub fn section(&self, name: &str) -> Requests {
        let state = self.whole();
        let Some(position) = state.marks.iter().position(|(mark, _)| mark == name) else {
            return Requests { requests: Vec::new(), robots: RobotsHistory::new() };
        };
        let start = state.marks[position].1;
        let end = state.marks.get(position + 1).map_or(state.records.len(), |(_, at)| *at);
        Requests { requests: state.records[start..end].to_vec(), robots: state.robots.clone() }
    }

    fn whole(&self) -> MutexGuard<'_, State> {
        assert_eq!(
            self.inner.detail,
            LogDetail::Everything,
            "this log does not keep single requests; start the server with LogDetail::Everything"
        );
        self.inner.state.lock()
    }

    /// The sums.
    pub fn totals(&self) -> LogTotals {
        let state = self.inner.state.lock();
        LogTotals { urls: state.counts.len() as u64, ..state.totals.clone() }
    }

    /// How often a URL was asked for.
    ///
    /// # Panics
    /// When the log keeps [`LogDetail::Totals`] only.
    pub fn count(&self, url: &str) -> u64 {
        assert_ne!(self.inner.detail, LogDetail::Totals, "this log does not count URLs");
        let hash = self.inner.hasher.hash_one(url);
        self.inner.state.lock().counts.get(&hash).copied().unwrap_or(0).into()
    }

    /// Waits until so many requests have come, robots.txt included. False when they have not in time.
    /// Blocks the thread.
    pub fn wait_for_requests(&self, count: u64, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.inner.state.lock();
        while state.totals.requests < count {
            if self.inner.changed.wait_until(&mut state, deadline).timed_out() {
                return state.totals.requests >= count;
            }
        }
        true
    }

    /// See [`Requests::hurried`].
    pub fn hurried(
        &self,
        host_delay: Duration,
        domain_delay: Duration,
        tolerance: Duration,
    ) -> Vec<Violation> {
        self.requests().hurried(host_delay, domain_delay, tolerance)
    }

    /// See [`Requests::overlapping`].
    pub fn overlapping(&self) -> Vec<Violation> {
        self.requests().overlapping()
    }

    /// See [`Requests::robots_violations`].
    pub fn robots_violations(&self) -> Vec<Violation> {
        self.requests().robots_violations()
    }

    /// See [`Requests::fetched_more_than_once`].
    pub fn fetched_more_than_once(&self) -> Vec<(String, u64)> {
        self.requests().fetched_more_than_once()
    }

    /// Writes a request down. Its end is written when the ticket is dropped.
    pub(crate) fn begin(&self, request: &mut Request) -> Ticket {
        let started = Instant::now();
        let is_robots = request.path_and_query == "/robots.txt";
        let hash = (self.inner.detail != LogDetail::Totals)
            .then(|| self.inner.hasher.hash_one(request.url().as_str()));
        let mut state = self.inner.state.lock();
        let number = state.totals.requests;
        state.totals.requests += 1;
        state.totals.robots_requests += u64::from(is_robots);
        if let Some(hash) = hash {
            let count = state.counts.entry(hash).or_insert(0);
            request.number = u64::from(*count);
            *count = count.saturating_add(1);
            let repeated = *count == 2 && !is_robots;
            state.totals.repeated_urls += u64::from(repeated);
        }
        let keeps_all = self.inner.detail == LogDetail::Everything;
        if keeps_all {
            let agent = request.header("user-agent").unwrap_or_default();
            let user_agent = state.shared(agent);
            let host = state.shared(&request.host);
            state.records.push(LoggedRequest {
                number,
                https: request.https,
                host,
                port: request.port,
                path_and_query: Box::from(request.path_and_query.as_str()),
                method: request.method.clone(),
                user_agent,
                started,
                ended: None,
                status: None,
                body_bytes: 0,
                complete: false,
            });
        }
        drop(state);
        self.inner.changed.notify_all();
        Ticket {
            log: self.clone(),
            number,
            robots_origin: (keeps_all && is_robots)
                .then(|| url_text(request.https, &request.host, request.port, "")),
            robots: None,
            status: None,
            body_bytes: 0,
            complete: false,
        }
    }
}

/// A request under way. Dropping it is its end.
#[derive(Debug)]
pub(crate) struct Ticket {
    log: RequestLog,
    number: u64,
    robots_origin: Option<String>,
    robots: Option<RobotsRules>,
    status: Option<u16>,
    pub(crate) body_bytes: u64,
    pub(crate) complete: bool,
}

impl Ticket {
    /// Takes note of what the site is about to say.
    pub(crate) fn answered(&mut self, answer: &Answer) {
        self.status = answer.status_code();
        if self.robots_origin.is_some() {
            self.robots = Some(rules_of(answer));
        }
    }
}

fn rules_of(answer: &Answer) -> RobotsRules {
    let Reply::Http(reply) = &answer.reply else { return RobotsRules::forbid_all() };
    let body = match &reply.body {
        Body::Whole(bytes) if answer.header("content-encoding") == Some("gzip") => {
            // Broken streams give what came before the break, as a crawler would see it.
            let mut text = Vec::new();
            let _ = flate2::bufread::GzDecoder::new(&bytes[..]).take(1 << 20).read_to_end(&mut text);
            Bytes::from(text)
        }
        Body::Whole(bytes) => bytes.clone(),
        Body::Repeated { pattern, .. } => pattern.clone(),
    };
    RobotsRules::from_answer(reply.status.as_u16(), &body)
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let ended = Instant::now();
        let mut state = self.log.inner.state.lock();
        state.totals.answers += 1;
        state.totals.body_bytes += self.body_bytes;
        if let Some(status) = self.status {
            *state.totals.by_status.entry(status).or_insert(0) += 1;
        }
        if self.log.inner.detail == LogDetail::Everything
            && let Some(record) = usize::try_from(self.number).ok().and_then(|at| state.records.get_mut(at))
        {
            record.ended = Some(ended);
            record.status = self.status;
            record.body_bytes = self.body_bytes;
            record.complete = self.complete;
        }
        if let (Some(origin), Some(rules)) = (self.robots_origin.take(), self.robots.take()) {
            state.robots.entry(origin).or_default().push((ended, Arc::new(rules)));
        }
    }
}

/// A part of the log at one moment, and the questions it can be asked.
#[derive(Debug, Clone)]
pub struct Requests {
    requests: Vec<LoggedRequest>,
    robots: RobotsHistory,
}

impl Requests {
    /// The requests in the order in which they came.
    pub fn all(&self) -> &[LoggedRequest] {
        &self.requests
    }

    /// How many there are, robots.txt included.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// True when nothing was asked for.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// How often a URL was asked for.
    pub fn count(&self, url: &str) -> u64 {
        self.requests.iter().filter(|request| request.url() == url).count() as u64
    }

    /// The URLs asked for, without robots.txt, each once.
    pub fn urls(&self) -> HashSet<String> {
        self.requests.iter().filter(|request| !request.is_robots()).map(LoggedRequest::url).collect()
    }

    /// URLs other than robots.txt that were asked for more than once, and how often.
    pub fn fetched_more_than_once(&self) -> Vec<(String, u64)> {
        let mut counts = BTreeMap::new();
        for request in self.requests.iter().filter(|request| !request.is_robots()) {
            *counts.entry(request.url()).or_insert(0) += 1;
        }
        counts.into_iter().filter(|(_, count)| *count > 1).collect()
    }

    /// Requests that came sooner after the end of the last one at the same host, or the same pay-level
    /// domain, than they should; `tolerance` is forgiven. robots.txt is a request like any other.
    pub fn hurried(
        &self,
        host_delay: Duration,
        domain_delay: Duration,
        tolerance: Duration,
    ) -> Vec<Violation> {
        let mut found = Vec::new();
        self.each_gap(
            |request| &request.host,
            |earlier, later, gap| {
                found.extend(hurry(earlier, later, gap, host_delay, tolerance).map(Violation::HostHurried));
            },
        );
        self.each_gap(
            |request| pay_level_domain(&request.host),
            |earlier, later, gap| {
                found.extend(
                    hurry(earlier, later, gap, domain_delay, tolerance).map(Violation::DomainHurried),
                );
            },
        );
        found
    }

    /// Requests that came sooner after the last one at the same host than the `Crawl-delay` of its
    /// robots.txt, as served before, asks for; not more than `cap` is asked.
    pub fn hurried_against_crawl_delay(&self, cap: Duration, tolerance: Duration) -> Vec<Violation> {
        let mut found = Vec::new();
        self.each_gap(
            |request| &request.host,
            |earlier, later, gap| {
                let wanted = self
                    .rules_before(later)
                    .and_then(|rules| rules.crawl_delay(&later.user_agent))
                    .map_or(Duration::ZERO, |delay| delay.min(cap));
                found.extend(hurry(earlier, later, gap, wanted, tolerance).map(Violation::HostHurried));
            },
        );
        found
    }

    /// Requests that came while another at the same host was under way.
    pub fn overlapping(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        self.each_gap(
            |request| &request.host,
            |earlier, later, _| {
                if earlier.ended.is_none_or(|ended| later.started < ended) {
                    found.push(Violation::Overlapping { earlier: earlier.clone(), later: later.clone() });
                }
            },
        );
        found
    }

    /// The shortest time from the end of a request to the beginning of the next at the same host; nothing where no host was
    /// asked twice.
    pub fn smallest_gap(&self) -> Option<Duration> {
        let mut smallest = None;
        self.each_gap(
            |request| &request.host,
            |_, _, gap| smallest = Some(smallest.map_or(gap, |least: Duration| least.min(gap))),
        );
        smallest
    }

    /// Calls `visit` with every request but the first of each group, the one of its forerunners that ended
    /// last, and the gap between them.
    fn each_gap<'a>(
        &'a self,
        group: impl Fn(&'a LoggedRequest) -> &'a str,
        mut visit: impl FnMut(&'a LoggedRequest, &'a LoggedRequest, Duration),
    ) {
        let mut last: HashMap<&str, &LoggedRequest> = HashMap::new();
        for later in &self.requests {
            let Some(latest) = last.get_mut(group(later)) else {
                last.insert(group(later), later);
                continue;
            };
            let earlier = *latest;
            // One that has not ended is still under way, so there is no gap at all.
            let gap =
                earlier.ended.map_or(Duration::ZERO, |ended| later.started.saturating_duration_since(ended));
            visit(earlier, later, gap);
            if later.ended.is_none() || (earlier.ended.is_some() && later.ended > earlier.ended) {
                *latest = later;
            }
        }
    }

    /// Pages asked for before their origin's robots.txt, or against it, by the file as it was served last
    /// before the request.
    pub fn robots_violations(&self) -> Vec<Violation> {
        self.requests
            .iter()
            .filter(|request| !request.is_robots())
            .filter_map(|request| match self.rules_before(request) {
                None => Some(Violation::BeforeRobots(request.clone())),
                Some(rules) if !rules.allows(&request.user_agent, &request.path_and_query) => {
                    Some(Violation::Forbidden(request.clone()))
                }
                Some(_) => None,
            })
            .collect()
    }

    fn rules_before(&self, request: &LoggedRequest) -> Option<&RobotsRules> {
        let served = self.robots.get(&request.origin())?;
        served.iter().rev().find(|(ended, _)| *ended <= request.started).map(|(_, rules)| &**rules)
    }
}

fn hurry(
    earlier: &LoggedRequest,
    later: &LoggedRequest,
    gap: Duration,
    wanted: Duration,
    tolerance: Duration,
) -> Option<Hurry> {
    (gap + tolerance < wanted).then(|| Hurry { earlier: earlier.clone(), later: later.clone(), gap, wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log in which each line is `start..end url`, in milliseconds.
    fn requests(lines: &[(u64, u64, &str)]) -> Requests {
        let log = RequestLog::new(LogDetail::Everything);
        let zero = Instant::now();
        for (start, end, url) in lines {
            let mut request = Request::get(url);
            let mut ticket = log.begin(&mut request);
            ticket.answered(&Answer::text("User-agent: *\nDisallow: /private/\nCrawl-delay: 0.3"));
            drop(ticket);
            let mut state = log.inner.state.lock();
            let ended = zero + Duration::from_millis(*end);
            for (at, _) in state.robots.get_mut(&url[..url.len() - "/robots.txt".len()]).into_iter().flatten()
            {
                *at = ended;
            }
            if let Some(record) = state.records.last_mut() {
                record.started = zero + Duration::from_millis(*start);
                record.ended = Some(ended);
            }
        }
        log.requests()
    }

    fn sentences(violations: &[Violation]) -> String {
        violations.iter().map(|violation| format!("{violation}\n")).collect()
    }

    #[test]
    fn hurry_is_seen_by_host_and_by_domain() {
        let requests = requests(&[
            (0, 10, "http://a.one.example/1"),
            (20, 30, "http://two.example/1"),
            (90, 95, "http://b.one.example/1"),
            (110, 120, "http://a.one.example/2"),
            (200, 210, "http://a.one.example/3"),
        ]);
        let delay = Duration::from_millis;
        expect_test::expect![[r#"
            host hurried: http://a.one.example/3 came 80ms after http://a.one.example/2 had ended, not 100ms
            domain hurried: http://a.one.example/2 came 15ms after http://b.one.example/1 had ended, not 50ms
        "#]]
        .assert_eq(&sentences(&requests.hurried(delay(100), delay(50), Duration::ZERO)));
        assert_eq!(requests.hurried(delay(100), delay(50), delay(20)).len(), 1, "20 ms are forgiven");
        assert_eq!(requests.hurried(delay(80), delay(15), Duration::ZERO).len(), 0);
    }

    #[test]
    fn the_smallest_gap_is_within_a_host() {
        let requests = requests(&[
            (0, 10, "http://one.example/1"),
            (11, 20, "http://two.example/1"),
            (60, 70, "http://one.example/2"),
            (200, 210, "http://one.example/3"),
        ]);
        assert_eq!(requests.smallest_gap(), Some(Duration::from_millis(50)));
    }

    #[test]
    fn overlap_is_measured_against_whatever_ends_last() {
        let requests = requests(&[
            (0, 100, "http://a.example/long"),
            (10, 20, "http://a.example/short"),
            (50, 60, "http://a.example/third"),
            (60, 70, "http://b.example/other"),
            (100, 110, "http://a.example/fine"),
        ]);
        expect_test::expect![[r#"
            two at once: http://a.example/short came before http://a.example/long had ended
            two at once: http://a.example/third came before http://a.example/long had ended
        "#]]
        .assert_eq(&sentences(&requests.overlapping()));
    }

    #[test]
    fn robots_must_be_asked_first_and_obeyed() {
        let requests = requests(&[
            (0, 10, "http://a.example/early"),
            (20, 30, "http://a.example/robots.txt"),
            (25, 40, "http://a.example/too-early-still"),
            (50, 60, "http://a.example/fine"),
            (70, 80, "http://a.example/private/1"),
            (90, 95, "https://a.example/another-origin"),
        ]);
        expect_test::expect![[r#"
            http://a.example/early was asked for before robots.txt
            http://a.example/too-early-still was asked for before robots.txt
            robots.txt forbids http://a.example/private/1
            https://a.example/another-origin was asked for before robots.txt
        "#]]
        .assert_eq(&sentences(&requests.robots_violations()));
    }

    #[test]
    fn crawl_delay_counts_once_it_was_served() {
        let requests = requests(&[
            (0, 10, "http://a.example/1"),
            (20, 30, "http://a.example/robots.txt"),
            (330, 340, "http://a.example/2"),
            (500, 510, "http://a.example/3"),
        ]);
        let hurried = requests.hurried_against_crawl_delay(Duration::from_secs(5), Duration::ZERO);
        assert_eq!(hurried.len(), 1, "{}", sentences(&hurried));
        let capped = requests.hurried_against_crawl_delay(Duration::from_millis(100), Duration::ZERO);
        assert!(capped.is_empty(), "{}", sentences(&capped));
    }

    #[test]
    fn sections_and_counts() {
        let log = RequestLog::new(LogDetail::Everything);
        let ask = |url: &str| {
            let mut request = Request::get(url);
            drop(log.begin(&mut request));
            request.number
        };
        assert_eq!(ask("http://a.example/robots.txt"), 0);
        log.mark("first run");
        assert_eq!(ask("http://a.example/1"), 0);
        assert_eq!(ask("http://a.example/2"), 0);
        log.mark("second run");
        assert_eq!(ask("http://a.example/robots.txt"), 1);
        assert_eq!(ask("http://a.example/2"), 1);
        assert_eq!(log.section("first run").len(), 2);
        assert_eq!(log.section("second run").len(), 2);
        assert!(log.section("third run").is_empty());
        assert_eq!(log.count("http://a.example/2"), 2);
        assert_eq!(log.section("second run").count("http://a.example/2"), 1);
        assert_eq!(log.fetched_more_than_once(), [("http://a.example/2".to_owned(), 2)]);
        let totals = log.totals();
        assert_eq!(
            (totals.requests, totals.urls, totals.repeated_urls, totals.robots_requests),
            (5, 3, 1, 2)
        );
        assert!(log.wait_for_requests(5, Duration::ZERO));
        assert!(!log.wait_for_requests(6, Duration::from_millis(5)));
    }

    #[test]
    fn counts_are_kept_without_the_requests() {
        let log = RequestLog::new(LogDetail::Counts);
        for _ in 0..3 {
            drop(log.begin(&mut Request::get("http://a.example/")));
        }
        assert_eq!(log.count("http://a.example/"), 3);
        assert_eq!(log.totals().repeated_urls, 1);
        assert_eq!(log.inner.state.lock().records.capacity(), 0);
    }

    #[test]
    #[should_panic(expected = "does not keep single requests")]
    fn a_log_that_cannot_know_does_not_say_all_is_well() {
        RequestLog::new(LogDetail::Totals).robots_violations();
    }
}
