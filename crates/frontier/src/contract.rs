//! What every frontier promises, as checks that any implementation can be held to.
//!
//! In: a function that opens an empty frontier with the given configuration and clock. Out: nothing, or
//! a panic that names the broken promise. [`check`] is for all frontiers, [`check_durable`] for those
//! that survive being closed; being killed is tried elsewhere, because it takes a process.
//! Time is turned by hand, so nothing here waits.

mod control;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use webloom_model::{
    Clock, Frontier, FrontierCounts, HostHint, Lease, LeaseAnswer, LeaseId, LinkCandidate, OfferSummary,
    PageUrl, Settlement, SettlementKind,
};

use crate::FrontierConfig;

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// A clock that stands still until it is turned.
#[derive(Debug)]
pub struct ManualClock {
    start: Instant,
    passed: Mutex<Duration>,
}

impl ManualClock {
    /// A clock that shows 2026-01-01, midnight.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { start: Instant::now(), passed: Mutex::new(Duration::ZERO) })
    }

    /// Turns both hands forward.
    pub fn advance(&self, by: Duration) {
        *self.passed.lock() += by;
    }

    /// Turns both hands to a moment, unless it has passed.
    pub fn advance_to(&self, moment: Instant) {
        let mut passed = self.passed.lock();
        *passed = (*passed).max(moment.saturating_duration_since(self.start));
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.start + *self.passed.lock()
    }

    fn wall(&self) -> Timestamp {
        let midnight = Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_767_225_600);
        midnight + SignedDuration::try_from(*self.passed.lock()).unwrap_or(SignedDuration::MAX)
    }
}

/// Holds a frontier to all promises but those about being closed. `open` must give an empty one.
pub fn check<F: Frontier>(open: impl Fn(FrontierConfig, Arc<dyn Clock>) -> F) {
    let open = &open;
    a_url_is_queued_once(open);
    too_deep_is_counted_and_not_queued(open);
    a_host_has_one_unfinished_request_and_then_its_delay(open);
    the_delay_counts_from_the_end_of_the_request(open);
    a_settlement_ends_an_unfinished_request(open);
    robots_delays_are_kept_up_to_the_cap(open);
    retry_after_holds_the_host_up_to_the_cap(open);
    an_untouched_host_is_owed_nothing(open);
    a_reserved_host_is_not_leased_and_owes_its_delay(open);
    hosts_of_a_domain_share_its_delay(open);
    without_a_domain_delay_hosts_are_independent(open);
    breadth_first_within_a_host(open);
    long_queues_keep_their_order(open);
    hosts_take_turns(open);
    an_expired_lease_is_available_again(open);
    late_and_double_settlements_do_no_harm(open);
    retries_wait_and_do_not_block(open);
    retry_pauses_double(open);
    a_returned_url_comes_first(open);
    the_page_budget_is_exact(open);
    the_page_budget_of_a_host_is_exact(open);
    answers_when_nothing_can_be_leased(open);
    links_of_settlements_are_offered(open);
    counts_add_up(open);
    control::check(open);
}

/// Holds a frontier to the promises about being closed and opened again. `open` opens the one in the
/// directory, or creates it; `directory` must be empty.
pub fn check_durable<F: Frontier>(
    directory: &Path,
    open: impl Fn(&Path, FrontierConfig, Arc<dyn Clock>) -> F,
) {
    let open = &open;
    what_was_settled_stays_settled(&directory.join("settled"), open);
    an_unsettled_lease_is_queued_again(&directory.join("unsettled"), open);
    hosts_owe_their_delay_after_reopening(&directory.join("delays"), open);
    retries_survive(&directory.join("retries"), open);
    order_survives(&directory.join("order"), open);
    budgets_survive(&directory.join("budgets"), open);
    control::check_durable(&directory.join("control"), open);
}

trait Open<F>: Fn(FrontierConfig, Arc<dyn Clock>) -> F {}
impl<F, T: Fn(FrontierConfig, Arc<dyn Clock>) -> F> Open<F> for T {}

trait Reopen<F>: Fn(&Path, FrontierConfig, Arc<dyn Clock>) -> F {}
impl<F, T: Fn(&Path, FrontierConfig, Arc<dyn Clock>) -> F> Reopen<F> for T {}

/// A frontier under test with its clock.
struct Bench<F> {
    clock: Arc<ManualClock>,
    frontier: F,
}

impl<F: Frontier> Bench<F> {
    fn new(open: &impl Open<F>, config: FrontierConfig) -> Self {
        let clock = ManualClock::new();
        Self { frontier: open(config, clock.clone()), clock }
    }

    fn offer(&self, urls: &[&str]) -> OfferSummary {
        self.offer_at(0, urls)
    }

    fn offer_at(&self, depth: u32, urls: &[&str]) -> OfferSummary {
        let candidates: Vec<_> = urls.iter().map(|url| candidate(url, depth)).collect();
        self.frontier.offer(&candidates).expect("offer")
    }

    /// The answer to a request for `max` leases.
    fn ask(&self, max: usize) -> LeaseAnswer {
        self.frontier.lease(max).expect("lease")
    }

    fn lease(&self, max: usize) -> Vec<Lease> {
        match self.ask(max) {
            LeaseAnswer::Leased(leases) => leases,
            _ => Vec::new(),
        }
    }

    /// The one URL that may be fetched now.
    #[track_caller]
    fn lease_one(&self) -> Lease {
        let mut leases = self.lease(usize::MAX);
        assert_eq!(leases.len(), 1, "one URL should be ready, not {leases:?}");
        leases.remove(0)
    }

    /// Asserts that nothing may be fetched before `pause` has passed, and turns the clock there.
    #[track_caller]
    fn expect_pause(&self, pause: Duration) {
        let due = self.clock.now() + pause;
        match self.ask(usize::MAX) {
            LeaseAnswer::Wait(moment) => {
                assert!(moment <= due, "told to wait {:?} too long", moment.duration_since(due));
            }
            other => panic!("{pause:?} should have to pass first, not {other:?}"),
        }
        self.clock.advance(pause.saturating_sub(MILLISECOND));
        let early = self.ask(usize::MAX);
        assert!(matches!(early, LeaseAnswer::Wait(_)), "leased before {pause:?} had passed: {early:?}");
        self.clock.advance(MILLISECOND);
    }

    fn finish(&self, lease: &Lease) {
        self.finish_with(lease, HostHint::default());
    }

    fn finish_with(&self, lease: &Lease, hint: HostHint) {
        self.frontier.request_finished(lease.id, hint);
    }

    fn settle(&self, lease: &Lease, kind: SettlementKind) -> OfferSummary {
        settle(&self.frontier, lease.id, kind, &[])
    }

    /// Leases and settles as pages until nothing is queued, waiting as told. Returns the URLs in order.
    fn run_to_the_end(&self) -> Vec<String> {
        let mut urls = Vec::new();
        loop {
            match self.ask(1) {
                LeaseAnswer::Leased(leases) => {
                    for lease in leases {
                        urls.push(lease.url().to_string());
                        self.settle(&lease, SettlementKind::Indexed);
                    }
                }
                LeaseAnswer::Wait(moment) => {
                    assert!(moment > self.clock.now(), "told to wait for the past");
                    self.clock.advance_to(moment);
                }
                LeaseAnswer::Busy => {
                    assert_ne!(self.frontier.counts().leased, 0, "busy, though nothing is out");
                    return urls;
                }
                LeaseAnswer::Finished { .. } => return urls,
            }
        }
    }
}

fn settle(
    frontier: &impl Frontier,
    lease: LeaseId,
    kind: SettlementKind,
    links: &[LinkCandidate],
) -> OfferSummary {
    frontier
        .settle(vec![Settlement { lease, kind, links: links.to_vec(), validators: None }])
        .expect("settle")
}

fn candidate(url: &str, depth: u32) -> LinkCandidate {
    LinkCandidate { depth, ..LinkCandidate::seed(PageUrl::parse(url).expect("a URL")) }
}

fn a_url_is_queued_once<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    let summary = bench.offer(&["http://a.example/x", "http://a.example/y", "http://a.example/x#part"]);
    assert_eq!(
        summary,
        OfferSummary { new: 2, seen: 1, ..OfferSummary::default() },
        "doubles within one offer"
    );
    let again = bench.offer_at(3, &["http://a.example/x", "http://a.example/z"]);
    assert_eq!(
        again,
        OfferSummary { new: 1, seen: 1, ..OfferSummary::default() },
        "doubles of an earlier offer"
    );
    let lease = bench.lease_one();
    assert_eq!(bench.offer(&[lease.url().as_str()]).seen, 1, "a leased URL is seen");
    bench.settle(&lease, SettlementKind::Indexed);
    assert_eq!(bench.offer(&[lease.url().as_str()]).seen, 1, "a settled URL is seen");
    assert_eq!(bench.run_to_the_end(), ["http://a.example/y", "http://a.example/z"]);
}

fn too_deep_is_counted_and_not_queued<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { depth_max: Some(1), ..FrontierConfig::default() });
    assert_eq!(bench.offer_at(1, &["http://a.example/1"]).new, 1);
    let deep = bench.offer_at(2, &["http://a.example/2"]);
    assert_eq!(deep, OfferSummary { too_deep: 1, ..OfferSummary::default() });
    assert_eq!(bench.offer_at(1, &["http://a.example/2"]).new, 1, "not seen, because never queued");
    assert_eq!(bench.frontier.counts().known, 2);
}

fn a_host_has_one_unfinished_request_and_then_its_delay<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/1", "http://a.example/2", "https://a.example:8443/3"]);
    let first = bench.lease_one();
    bench.clock.advance(SECOND * 100);
    assert!(bench.lease(9).is_empty(), "a second lease before the first request has finished");
    bench.finish(&first);
    bench.expect_pause(SECOND);
    let second = bench.lease_one();
    assert_ne!(first.url(), second.url());
    // The first lease is still not settled, and that holds up nobody.
    bench.finish(&second);
    bench.expect_pause(SECOND);
    assert_eq!(bench.lease_one().url().port(), 8443, "ports and schemes of a host share its delay");
}

fn the_delay_counts_from_the_end_of_the_request<F: Frontier>(open: &impl Open<F>) {
    let config = FrontierConfig { host_delay: SECOND * 5, ..FrontierConfig::default() };
    let bench = Bench::new(open, config);
    bench.offer(&["http://a.example/1", "http://a.example/2"]);
    let lease = bench.lease_one();
    bench.clock.advance(SECOND * 20);
    bench.finish(&lease);
    bench.clock.advance(SECOND * 2);
    // Only the first end counts.
    bench.finish(&lease);
    bench.settle(&lease, SettlementKind::Indexed);
    bench.expect_pause(SECOND * 3);
    bench.lease_one();
}

fn a_settlement_ends_an_unfinished_request<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/1", "http://a.example/2"]);
    bench.settle(&bench.lease_one(), SettlementKind::NoPage);
    bench.expect_pause(SECOND);
    bench.lease_one();
}

fn robots_delays_are_kept_up_to_the_cap<F: Frontier>(open: &impl Open<F>) {
    for (wish, expected) in [(0, 1), (7, 7), (100_000, 30)] {
        let bench = Bench::new(open, FrontierConfig::default());
        bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3"]);
        let hint = HostHint { crawl_delay: Some(SECOND * wish), ..HostHint::default() };
        bench.finish_with(&bench.lease_one(), hint);
        bench.expect_pause(SECOND * expected);
        // The host is taken at its word until it says something else.
        bench.finish(&bench.lease_one());
        bench.expect_pause(SECOND * expected);
    }
}

fn retry_after_holds_the_host_up_to_the_cap<F: Frontier>(open: &impl Open<F>) {
    for (wish, expected) in [(0, 1), (90, 90), (u64::MAX, 3600)] {
        let bench = Bench::new(open, FrontierConfig::default());
        bench.offer(&["http://a.example/1", "http://a.example/2", "http://b.example/"]);
        let leases = bench.lease(9);
        assert_eq!(leases.len(), 2, "two hosts are ready");
        let hint = HostHint { retry_after: Some(Duration::from_secs(wish)), ..HostHint::default() };
        bench.finish_with(&leases[0], hint);
        bench.settle(&leases[0], SettlementKind::Indexed);
        bench.settle(&leases[1], SettlementKind::Indexed);
        bench.expect_pause(SECOND * expected);
        bench.finish(&bench.lease_one());
    }
}

fn an_untouched_host_is_owed_nothing<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3"]);
    let untouched = HostHint { untouched: true, ..HostHint::default() };
    bench.finish_with(&bench.lease_one(), untouched);
    let touched = bench.lease_one();
    bench.finish(&touched);
    // An answer without a request does not shorten the pause that is owed already.
    bench.expect_pause(SECOND);
    bench.finish_with(&bench.lease_one(), untouched);
}

fn a_reserved_host_is_not_leased_and_owes_its_delay<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/1", "http://a.example/2"]);
    let first = bench.lease_one();
    assert_eq!(bench.frontier.reserve("a.example"), None, "its request is under way");
    bench.finish(&first);
    let free = bench.clock.now() + SECOND;
    assert_eq!(bench.frontier.reserve("a.example"), Some(free), "it owes its delay");
    assert_eq!(bench.frontier.reserve("a.example"), None, "it is reserved");
    bench.clock.advance(SECOND * 2);
    assert!(bench.lease(9).is_empty(), "it is reserved, and it is its turn");
    bench.frontier.release("a.example", HostHint::default());
    bench.expect_pause(SECOND);
    bench.lease_one();
    // A host nobody queued anything for can be asked at once, and then not again.
    assert_eq!(bench.frontier.reserve("b.example"), Some(bench.clock.now()));
    bench.frontier.release("b.example", HostHint::default());
    assert_eq!(bench.frontier.reserve("b.example"), Some(bench.clock.now() + SECOND));
}

fn hosts_of_a_domain_share_its_delay<F: Frontier>(open: &impl Open<F>) {
    let config = FrontierConfig { domain_delay: SECOND * 2, ..FrontierConfig::default() };
    let bench = Bench::new(open, config);
    bench.offer(&["http://a.shop.example/", "http://b.shop.example/", "http://c.shop.example/"]);
    let first = bench.lease_one();
    bench.finish(&first);
    bench.expect_pause(SECOND * 2);
    let second = bench.lease_one();
    assert_ne!(first.url().host(), second.url().host());
    bench.clock.advance(SECOND * 10);
    assert!(bench.lease(9).is_empty(), "a domain has one unfinished request");
    bench.finish(&second);
    bench.expect_pause(SECOND * 2);
    bench.lease_one();
    // Addresses are not names with a suffix: these two are strangers.
    bench.offer(&["http://127.0.0.1/", "http://127.0.1.1/", "http://[::1]/"]);
    assert_eq!(bench.lease(9).len(), 3);
}

fn without_a_domain_delay_hosts_are_independent<F: Frontier>(open: &impl Open<F>) {
    let config = FrontierConfig { domain_delay: Duration::ZERO, ..FrontierConfig::default() };
    let bench = Bench::new(open, config);
    bench.offer(&["http://a.shop.example/", "http://b.shop.example/", "http://b.shop.example/2"]);
    assert_eq!(bench.lease(9).len(), 2);
}

fn breadth_first_within_a_host<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer_at(2, &["http://a.example/c1", "http://a.example/c2"]);
    bench.offer_at(1, &["http://a.example/b1"]);
    bench.offer_at(0, &["http://a.example/a1", "http://a.example/a0"]);
    bench.offer_at(1, &["http://a.example/b0"]);
    let order = bench.run_to_the_end().join(" ").replace("http://a.example/", "");
    assert_eq!(order, "a1 a0 b1 b0 c1 c2");
}

fn long_queues_keep_their_order<F: Frontier>(open: &impl Open<F>) {
    let config =
        FrontierConfig { heads_per_host: 3, host_delay: Duration::ZERO, ..FrontierConfig::default() };
    let bench = Bench::new(open, FrontierConfig { domain_delay: Duration::ZERO, ..config });
    let urls: Vec<String> = (0..40).map(|number| format!("http://a.example/{number}")).collect();
    // Neither the depths nor the offers come in order, and leases are taken in between.
    let mut expected: Vec<(u32, usize)> = Vec::new();
    let mut leased: Vec<(u32, usize)> = Vec::new();
    for (number, url) in urls.iter().enumerate() {
        let depth = (number as u32 * 7) % 5;
        bench.offer_at(depth, &[url]);
        expected.push((depth, number));
        if number % 4 == 3 {
            expected.sort_unstable();
            leased.push(expected.remove(0));
            let lease = bench.lease_one();
            assert_eq!(lease.url().as_str(), urls[leased[leased.len() - 1].1]);
            bench.finish(&lease);
            if number % 8 == 3 {
                bench.settle(&lease, SettlementKind::Indexed);
            }
        }
    }
    expected.sort_unstable();
    let expected: Vec<&str> = expected.iter().map(|&(_, number)| urls[number].as_str()).collect();
    assert_eq!(bench.run_to_the_end(), expected);
}

fn hosts_take_turns<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    let many: Vec<String> = (0..20).map(|number| format!("http://many.example/{number}")).collect();
    bench.offer(&many.iter().map(String::as_str).collect::<Vec<_>>());
    bench.offer(&["http://few.example/1", "http://few.example/2", "http://one.example/"]);
    let order = bench.run_to_the_end();
    let position = |url: &str| order.iter().position(|found| found == url).expect("crawled");
    assert!(position("http://one.example/") < 3, "{order:?}");
    assert!(position("http://few.example/2") < 6, "{order:?}");

    // Not even a host that never has to rest may keep the others waiting.
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://quick.example/1", "http://quick.example/2", "http://quick.example/3"]);
    bench.offer(&["http://other.example/"]);
    let first = bench.lease(1);
    bench.finish_with(&first[0], HostHint { untouched: true, ..HostHint::default() });
    bench.settle(&first[0], SettlementKind::NoPage);
    assert_eq!(bench.lease(1)[0].url().host(), "other.example");
}

fn an_expired_lease_is_available_again<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { lease_ttl: SECOND * 60, ..FrontierConfig::default() });
    bench.offer(&["http://a.example/1", "http://a.example/2"]);
    let lost = bench.lease_one();
    // The host is free when the lease has run out, plus the delay that its request is owed.
    bench.expect_pause(SECOND * 61);
    let again = bench.lease_one();
    assert_eq!(again.url(), lost.url());
    assert_ne!(again.id, lost.id);
    bench.finish(&again);
    bench.settle(&again, SettlementKind::Indexed);
    assert_eq!(bench.run_to_the_end(), ["http://a.example/2"]);
    assert_eq!(bench.frontier.counts().indexed, 2);
}

fn late_and_double_settlements_do_no_harm<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { lease_ttl: SECOND * 60, ..FrontierConfig::default() });
    bench.offer(&["http://a.example/1"]);
    let lost = bench.lease_one();
    bench.clock.advance(SECOND * 61);
    let again = bench.lease_one();
    bench.finish(&lost);
    let links = [candidate("http://b.example/", 1)];
    settle(&bench.frontier, lost.id, SettlementKind::NoPage, &links);
    let counts = bench.frontier.counts();
    assert_eq!((counts.leased, counts.no_page), (1, 0), "a lease that was lost settles nothing");
    let twice = |kind| Settlement { lease: again.id, kind, links: Vec::new(), validators: None };
    bench
        .frontier
        .settle(vec![twice(SettlementKind::Indexed), twice(SettlementKind::Retry(None))])
        .expect("settle");
    bench.settle(&again, SettlementKind::NoPage);
    settle(&bench.frontier, LeaseId(u64::MAX), SettlementKind::Indexed, &[]);
    bench.finish(&again);
    let counts = bench.frontier.counts();
    assert_eq!((counts.indexed, counts.no_page, counts.leased), (1, 0, 0), "the first settlement counts");
    assert!(bench.run_to_the_end().len() <= 1);
}

fn retries_wait_and_do_not_block<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/1", "http://a.example/2"]);
    let first = bench.lease_one();
    assert_eq!(first.attempt, 0);
    bench.finish(&first);
    bench.settle(&first, SettlementKind::Retry(Some(SECOND * 20)));
    assert_eq!(bench.frontier.counts().queued, 2, "retries are queued");
    bench.expect_pause(SECOND);
    let second = bench.lease_one();
    assert_eq!(second.url().as_str(), "http://a.example/2");
    bench.settle(&second, SettlementKind::Indexed);
    assert_eq!(bench.frontier.counts().hosts, 1, "a host with a retry has something queued");
    bench.expect_pause(SECOND * 19);
    let again = bench.lease_one();
    assert_eq!((again.url(), again.attempt), (first.url(), 1));
    assert_eq!(again.candidate, first.candidate, "a retry is the same candidate");
    bench.settle(&again, SettlementKind::Indexed);
    assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: false });
}

fn retry_pauses_double<F: Frontier>(open: &impl Open<F>) {
    let config = FrontierConfig {
        retry_base: SECOND * 10,
        retry_after_max: SECOND * 100,
        ..FrontierConfig::default()
    };
    let bench = Bench::new(open, config);
    bench.offer(&["http://a.example/1"]);
    for (attempt, base) in [10, 20, 40, 80, 100, 100].into_iter().enumerate() {
        let lease = bench.lease_one();
        assert_eq!(lease.attempt as usize, attempt);
        bench.settle(&lease, SettlementKind::Retry(None));
        let failed = bench.clock.now();
        let LeaseAnswer::Wait(moment) = bench.ask(1) else { panic!("a retry has to wait") };
        let pause = moment - failed;
        assert!(pause >= SECOND * base && pause <= SECOND * base * 5 / 4, "attempt {attempt}: {pause:?}");
        bench.clock.advance_to(moment);
    }
}

fn a_returned_url_comes_first<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { heads_per_host: 1, ..FrontierConfig::default() });
    bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3"]);
    let first = bench.lease_one();
    bench.finish(&first);
    bench.settle(&first, SettlementKind::Returned);
    assert_eq!(bench.frontier.counts().queued, 3);
    bench.expect_pause(SECOND);
    let again = bench.lease_one();
    assert_eq!((again.url(), again.attempt), (first.url(), 0));
    bench.settle(&again, SettlementKind::Indexed);
    assert_eq!(bench.run_to_the_end(), ["http://a.example/2", "http://a.example/3"]);
}

fn the_page_budget_is_exact<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { pages_max: Some(2), ..FrontierConfig::default() });
    bench.offer(&["http://a.example/", "http://b.example/", "http://c.example/", "http://d.example/"]);
    let leases = bench.lease(9);
    assert_eq!(leases.len(), 2, "leases that are out count as pages to come");
    bench.settle(&leases[0], SettlementKind::Indexed);
    assert!(matches!(bench.ask(9), LeaseAnswer::Wait(_)), "the last page may still fail");
    bench.settle(&leases[1], SettlementKind::NoPage);
    let third = bench.lease_one();
    bench.settle(&third, SettlementKind::Retry(None));
    let fourth = bench.lease_one();
    bench.settle(&fourth, SettlementKind::Indexed);
    assert_eq!(bench.ask(9), LeaseAnswer::Finished { budget_spent: true });
    assert_eq!(bench.frontier.counts().indexed, 2);

    let bench = Bench::new(open, FrontierConfig { pages_max: Some(1), ..FrontierConfig::default() });
    bench.offer(&["http://a.example/"]);
    bench.settle(&bench.lease_one(), SettlementKind::Indexed);
    assert_eq!(bench.ask(9), LeaseAnswer::Finished { budget_spent: false }, "nothing was left out");
}

fn the_page_budget_of_a_host_is_exact<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { pages_per_host_max: Some(1), ..FrontierConfig::default() });
    bench.offer(&["http://a.example/1", "http://a.example/2", "http://a.example/3", "http://b.example/"]);
    let leases = bench.lease(9);
    assert_eq!(leases.len(), 2);
    bench.finish(&leases[0]);
    bench.settle(&leases[1], SettlementKind::Indexed);
    bench.clock.advance(SECOND * 5);
    assert!(bench.lease(9).is_empty(), "the lease that is out may become the page");
    bench.settle(&leases[0], SettlementKind::NoPage);
    let second = bench.lease_one();
    bench.settle(&second, SettlementKind::Indexed);
    bench.clock.advance(SECOND * 5);
    assert_eq!(bench.ask(9), LeaseAnswer::Finished { budget_spent: true });
    assert_eq!(bench.frontier.counts().queued, 1);
}

fn answers_when_nothing_can_be_leased<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: false }, "nothing was ever offered");
    bench.offer(&["http://a.example/"]);
    let lease = bench.lease_one();
    assert_eq!(bench.ask(1), LeaseAnswer::Busy);
    bench.finish(&lease);
    assert_eq!(bench.ask(1), LeaseAnswer::Busy, "its page may still bring links");
    bench.settle(&lease, SettlementKind::NoPage);
    assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: false });
    bench.offer(&["http://b.example/"]);
    bench.lease_one();
}

fn links_of_settlements_are_offered<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig { depth_max: Some(1), ..FrontierConfig::default() });
    bench.offer(&["http://a.example/", "http://b.example/"]);
    let leases = bench.lease(9);
    let page = |lease: &Lease, links| Settlement {
        lease: lease.id,
        kind: SettlementKind::Indexed,
        links,
        validators: None,
    };
    let shared = candidate("http://c.example/", 1);
    let summary = bench.frontier.settle(vec![
        page(&leases[0], vec![shared.clone(), candidate("http://a.example/", 1)]),
        page(&leases[1], vec![shared, candidate("http://d.example/", 2)]),
    ]);
    assert_eq!(summary.expect("settle"), OfferSummary { new: 1, seen: 2, too_deep: 1, refused: 0 });
    assert_eq!(bench.run_to_the_end(), ["http://c.example/"]);
}

fn counts_add_up<F: Frontier>(open: &impl Open<F>) {
    let bench = Bench::new(open, FrontierConfig::default());
    bench.offer(&["http://a.example/", "http://b.example/", "http://c.example/", "http://c.example/2"]);
    let expect = |counts: FrontierCounts| assert_eq!(bench.frontier.counts(), counts);
    expect(FrontierCounts { known: 4, queued: 4, hosts: 3, ..FrontierCounts::default() });
    let leases = bench.lease(9);
    expect(FrontierCounts { known: 4, queued: 1, leased: 3, hosts: 1, ..FrontierCounts::default() });
    bench.settle(&leases[0], SettlementKind::Indexed);
    bench.settle(&leases[1], SettlementKind::NoPage);
    bench.settle(&leases[2], SettlementKind::Retry(None));
    expect(FrontierCounts { known: 4, queued: 2, leased: 0, indexed: 1, no_page: 1, hosts: 1 });
}

fn what_was_settled_stays_settled<F: Frontier>(directory: &Path, open: &impl Reopen<F>) {
    let clock = ManualClock::new();
    let urls = ["http://a.example/", "http://b.example/", "http://c.example/"];
    let candidates = urls.map(|url| candidate(url, 0));
    let before = {
        let frontier = open(directory, FrontierConfig::default(), clock.clone());
        frontier.offer(&candidates).expect("offer");
        let LeaseAnswer::Leased(leases) = frontier.lease(2).expect("lease") else { panic!("no lease") };
        settle(&frontier, leases[0].id, SettlementKind::Indexed, &[candidate("http://d.example/", 1)]);
        settle(&frontier, leases[1].id, SettlementKind::NoPage, &[]);
        frontier.counts()
    };
    let bench = Bench { frontier: open(directory, FrontierConfig::default(), clock.clone()), clock };
    assert_eq!(bench.frontier.counts(), before);
    assert_eq!(bench.offer(&urls).seen, 3);
    assert_eq!(bench.run_to_the_end(), ["http://c.example/", "http://d.example/"]);
}

fn an_unsettled_lease_is_queued_again<F: Frontier>(directory: &Path, open: &impl Reopen<F>) {
    let clock = ManualClock::new();
    let first = {
        let bench = Bench {
            frontier: open(directory, FrontierConfig::default(), clock.clone()),
            clock: clock.clone(),
        };
        bench.offer(&["http://a.example/1", "http://a.example/2"]);
        bench.lease_one()
    };
    let bench = Bench { frontier: open(directory, FrontierConfig::default(), clock.clone()), clock };
    let counts = bench.frontier.counts();
    assert_eq!((counts.queued, counts.leased), (2, 0));
    assert_eq!(bench.run_to_the_end(), [first.url().as_str(), "http://a.example/2"]);
}

fn hosts_owe_their_delay_after_reopening<F: Frontier>(directory: &Path, open: &impl Reopen<F>) {
    let clock = ManualClock::new();
    {
        let bench = Bench {
            frontier: open(directory, FrontierConfig::default(), clock.clone()),
            clock: clock.clone(),
        };
        bench.offer(&["http://slow.example/1", "http://slow.example/2"]);
        bench.offer(&["http://held.example/1", "http://held.example/2"]);
        bench.offer(&["http://plain.example/1", "http://plain.example/2"]);
        let leases = bench.lease(9);
        let hints = [
            HostHint { crawl_delay: Some(SECOND * 8), ..HostHint::default() },
            HostHint { retry_after: Some(SECOND * 600), ..HostHint::default() },
            HostHint::default(),
        ];
        for (lease, hint) in leases.iter().zip(hints) {
            bench.finish_with(lease, hint);
            // What a host said must not be lost when its URL only goes back.
            bench.settle(lease, SettlementKind::Returned);
        }
    }
    clock.advance(SECOND * 100);
    let bench = Bench { frontier: open(directory, FrontierConfig::default(), clock.clone()), clock };
    // Nobody knows which domains were asked a moment ago, so a new host waits for its domain's delay like the others.
    bench.offer(&["http://new.example/"]);
    bench.expect_pause(SECOND);
    let leases = bench.lease(9);
    let mut urls: Vec<&str> = leases.iter().map(|lease| lease.url().as_str()).collect();
    urls.sort_unstable();
    assert_eq!(urls, ["http://new.example/", "http://plain.example/1"]);
    bench.expect_pause(SECOND * 7);
    assert_eq!(bench.lease_one().url().as_str(), "http://slow.example/1");
    // 100 of the 600 seconds passed while it was closed, 8 since.
    bench.clock.advance(SECOND * 491);
    assert!(bench.lease(9).is_empty());
    bench.clock.advance(SECOND);
    assert_eq!(bench.lease(1)[0].url().as_str(), "http://held.example/1");
}

fn retries_survive<F: Frontier>(directory: &Path, open: &impl Reopen<F>) {
    let clock = ManualClock::new();
    let bench = || Bench {
        frontier: open(directory, FrontierConfig::default(), clock.clone()),
        clock: clock.clone(),
    };
    {
        let bench = bench();
        bench.offer(&["http://a.example/"]);
        bench.settle(&bench.lease_one(), SettlementKind::Retry(Some(SECOND * 100)));
    }
    clock.advance(SECOND * 40);
    {
        let bench = bench();
        assert_eq!((bench.frontier.counts().queued, bench.frontier.counts().hosts), (1, 1));
        bench.expect_pause(SECOND * 60);
        let lease = bench.lease_one();
        assert_eq!(lease.attempt, 1);
        bench.settle(&lease, SettlementKind::Retry(Some(SECOND * 100)));
    }
    clock.advance(SECOND * 1000);
    let bench = bench();
    bench.expect_pause(SECOND);
    assert_eq!(bench.lease_one().attempt, 2, "attempts are counted across runs");
}

fn order_survives<F: Frontier>(directory: &Path, open: &impl Reopen<F>) {
    let clock = ManualClock::new();
    let config = FrontierConfig { heads_per_host: 2, ..FrontierConfig::default() };
    let bench = || Bench { frontier: open(directory, config.clone(), clock.clone()), clock: clock.clone() };
    {
        let bench = bench();
        bench.offer_at(1, &["http://a.example/b1", "http://a.example/b2"]);
        bench.offer_at(0, &["http://a.example/a1", "http://a.example/a2", "http://a.example/a3"]);
    }
    let bench = bench();
    bench.offer_at(0, &["http://a.example/a4"]);
    bench.offer_at(1, &["http://a.example/b3"]);
    let order = bench.run_to_the_end().join(" ").replace("http://a.example/", "");
    assert_eq!(order, "a1 a2 a3 a4 b1 b2 b3");
}

fn budgets_survive<F: Frontier>(directory: &Path, open: &impl Reopen<F>) {
    let clock = ManualClock::new();
    let bench = |pages_max, pages_per_host_max| Bench {
        frontier: open(
            directory,
            FrontierConfig { pages_max, pages_per_host_max, ..FrontierConfig::default() },
            clock.clone(),
        ),
        clock: clock.clone(),
    };
    {
        let bench = bench(Some(1), None);
        bench.offer(&["http://a.example/1", "http://a.example/2"]);
        assert_eq!(bench.run_to_the_end().len(), 1);
    }
    {
        let bench = bench(Some(1), None);
        assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: true });
    }
    {
        let bench = bench(None, Some(1));
        assert_eq!(bench.ask(1), LeaseAnswer::Finished { budget_spent: true });
    }
    assert_eq!(bench(Some(2), None).run_to_the_end().len(), 1, "a larger budget goes on");
}
