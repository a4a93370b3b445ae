//! The directory of a durable frontier: who may open it, what it tells, what else it keeps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use webloom_frontier::contract::ManualClock;
use webloom_frontier::{Blob, FjallFrontier, FrontierConfig, MemoryFrontier, Recrawl, UrlState, UrlStatus};
use webloom_model::{
    Clock, Frontier, FrontierError, Injection, LeaseAnswer, LeaseId, LinkCandidate, PageUrl, Settlement,
    SettlementKind,
};

fn open(path: &Path, clock: &Arc<ManualClock>) -> Result<FjallFrontier, FrontierError> {
    FjallFrontier::open(path, FrontierConfig::default(), clock.clone())
}

fn url(text: &str) -> PageUrl {
    PageUrl::parse(text).expect("a URL")
}

fn end(lease: LeaseId, kind: SettlementKind) -> Settlement {
    Settlement { lease, kind, links: Vec::new(), validators: None }
}

#[test]
fn one_process_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let first = open(directory.path(), &clock).unwrap();
    let error = open(directory.path(), &clock).unwrap_err();
    assert!(
        matches!(&error, FrontierError::Locked { path } if Path::new(path) == directory.path()),
        "{error}"
    );
    drop(first);
    open(directory.path(), &clock).unwrap();
}

#[test]
fn another_format_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    drop(open(directory.path(), &clock).unwrap());
    {
        let database = fjall::Database::builder(directory.path().join("store")).open().unwrap();
        let meta = database.keyspace("meta", fjall::KeyspaceCreateOptions::default).unwrap();
        meta.insert("format", 77_u32.to_be_bytes()).unwrap();
    }
    let error = open(directory.path(), &clock).unwrap_err();
    assert!(matches!(error, FrontierError::Format { found: 77, known: 3, .. }), "{error}");
}

#[test]
fn a_damaged_record_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    {
        let frontier = open(directory.path(), &clock).unwrap();
        frontier.offer(&[LinkCandidate::seed(url("http://a.example/"))]).unwrap();
    }
    {
        let database = fjall::Database::builder(directory.path().join("store")).open().unwrap();
        let hosts = database.keyspace("hosts", fjall::KeyspaceCreateOptions::default).unwrap();
        hosts.insert("a.example", [1, 0xff]).unwrap();
    }
    let error = open(directory.path(), &clock).unwrap().lease(1).unwrap_err();
    assert!(matches!(&error, FrontierError::Damaged { key, .. } if key == "a.example"), "{error}");
}

#[test]
fn blobs_and_settings_survive_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let body = vec![7_u8; 600_000];
    {
        let frontier = open(directory.path(), &clock).unwrap();
        assert_eq!(frontier.get_blob(Blob::Robots, "http://a.example").unwrap(), None);
        assert_eq!(frontier.get_setting("crawl").unwrap(), None);
        frontier.put_blob(Blob::Robots, "http://a.example", &body).unwrap();
        frontier.put_blob(Blob::Robots, "", b"").unwrap();
        frontier.put_setting("crawl", "first").unwrap();
        frontier.put_setting("crawl", "zweiter – ½").unwrap();
        // Names are the caller's: none of them can touch what is ours.
        frontier.put_setting("format", "x").unwrap();
        assert!(frontier.put_setting(&"x".repeat(70_000), "").is_err());
    }
    let frontier = open(directory.path(), &clock).unwrap();
    assert_eq!(frontier.get_blob(Blob::Robots, "http://a.example").unwrap(), Some(body));
    assert_eq!(frontier.get_blob(Blob::Robots, "").unwrap(), Some(Vec::new()));
    assert_eq!(frontier.get_setting("crawl").unwrap().as_deref(), Some("zweiter – ½"));
}

#[test]
fn lookup_tells_the_life_of_a_url() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let durable = open(directory.path(), &clock).unwrap();
    tell_a_life(&durable, &clock, |url| durable.lookup(url).unwrap());
    let memory = MemoryFrontier::new(FrontierConfig::default(), clock.clone());
    tell_a_life(&memory, &clock, |url| memory.lookup(url).unwrap());
}

fn tell_a_life(frontier: &impl Frontier, clock: &ManualClock, lookup: impl Fn(&PageUrl) -> Option<UrlState>) {
    let page = url("http://a.example/x");
    assert_eq!(lookup(&page), None);
    let found_on = Some(url("http://b.example/"));
    let candidate =
        LinkCandidate { depth: 2, found_on: found_on.clone(), ..LinkCandidate::seed(page.clone()) };
    let state = |status, attempts| Some(UrlState { status, depth: 2, found_on: found_on.clone(), attempts });
    let lease = || match frontier.lease(1) {
        Ok(LeaseAnswer::Leased(leases)) => leases[0].id,
        other => panic!("no lease: {other:?}"),
    };
    let settle = |lease, kind| {
        frontier.settle(vec![end(lease, kind)]).expect("settles");
    };
    frontier.offer(&[candidate]).expect("offers");
    assert_eq!(lookup(&page), state(UrlStatus::Queued, 0));
    let first = lease();
    assert_eq!(lookup(&page), state(UrlStatus::Leased, 0));
    settle(first, SettlementKind::Retry(Some(Duration::from_secs(60))));
    let until = clock.wall() + Duration::from_secs(60);
    assert_eq!(lookup(&page), state(UrlStatus::Waiting { until }, 1));
    clock.advance(Duration::from_secs(60));
    let second = lease();
    assert_eq!(lookup(&page), state(UrlStatus::Leased, 1));
    settle(second, SettlementKind::Returned);
    assert_eq!(lookup(&page), state(UrlStatus::Queued, 1));
    clock.advance(Duration::from_secs(1));
    settle(lease(), SettlementKind::NoPage);
    assert_eq!(lookup(&page), state(UrlStatus::NoPage { at: clock.wall() }, 1));
}

#[test]
fn threads_may_share_a_frontier() {
    let directory = tempfile::tempdir().unwrap();
    let config = FrontierConfig {
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        heads_per_host: 2,
        ..FrontierConfig::default()
    };
    let frontier = FjallFrontier::open(directory.path(), config, ManualClock::new()).unwrap();
    let seeds: Vec<_> = (0..10).map(|host| format!("http://h{host}.example/")).collect();
    let seeds: Vec<_> = seeds.iter().map(|text| LinkCandidate::seed(url(text))).collect();
    frontier.offer(&seeds).unwrap();
    // Every page links to four of the next depth on its host, many of them the same: 40 per host in all.
    let crawl = || {
        let mut leased = Vec::new();
        loop {
            match frontier.lease(3).unwrap() {
                LeaseAnswer::Leased(leases) => {
                    for lease in leases {
                        leased.push(lease.url().clone());
                        let depth = lease.candidate.depth + 1;
                        let links = (0..4).map(|number| {
                            let target = url(&format!("http://{}/{depth}-{number}", lease.url().host()));
                            LinkCandidate { depth, ..LinkCandidate::seed(target) }
                        });
                        let links = if depth <= 10 { links.collect() } else { Vec::new() };
                        let end = Settlement {
                            lease: lease.id,
                            kind: SettlementKind::Indexed,
                            links,
                            validators: None,
                        };
                        frontier.settle(vec![end]).unwrap();
                    }
                }
                LeaseAnswer::Finished { .. } => return leased,
                LeaseAnswer::Busy | LeaseAnswer::Wait(_) => std::thread::yield_now(),
            }
        }
    };
    let mut leased: Vec<PageUrl> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(crawl)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    leased.sort();
    let all = leased.len();
    leased.dedup();
    assert_eq!(leased.len(), all, "a URL was leased twice");
    assert_eq!(all, 10 * 41);
    assert_eq!(frontier.counts().indexed, 410);
}

#[test]
fn a_page_that_is_wanted_now_brings_its_host_from_the_disk() {
    const HOSTS: usize = 200;
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let config = FrontierConfig {
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        hosts_active_max: 8,
        turns_max: 2,
        ..FrontierConfig::default()
    };
    let frontier = FjallFrontier::open(directory.path(), config, clock.clone()).unwrap();
    let urls = |host: usize| (0..8).map(move |page| url(&format!("http://h{host}.example/{page}")));
    let seeds: Vec<LinkCandidate> = (0..HOSTS).flat_map(urls).map(LinkCandidate::seed).collect();
    frontier.offer(&seeds).unwrap();
    // One that waits on disk, and one that nobody has heard of.
    let wanted = [url(&format!("http://h{}.example/5", HOSTS - 1)), url("http://new.example/")];
    assert_eq!(frontier.rescore(&[(wanted[0].clone(), 0.9)]).unwrap().rescored, 1);
    let injection = Injection { url: wanted[1].clone(), score: Some(0.9), blacklisted: false };
    assert_eq!(frontier.inject(&[injection]).unwrap().queued, 1);
    let mut order: Vec<PageUrl> = Vec::new();
    while order.len() < seeds.len() + 1 {
        let LeaseAnswer::Leased(leases) = frontier.lease(1).unwrap() else { panic!("something is queued") };
        for lease in leases {
            order.push(lease.url().clone());
            frontier.settle(vec![end(lease.id, SettlementKind::Indexed)]).unwrap();
        }
    }
    for wanted in wanted {
        let turn = order.iter().position(|url| *url == wanted).unwrap();
        assert!(turn < 40, "<{wanted}> was leased after {turn} others");
    }
    // The other hosts were not kept waiting for it, and nothing was leased twice.
    let first_of =
        |host: usize| order.iter().position(|url| url.host() == format!("h{host}.example")).unwrap();
    assert!(first_of(20) < 100, "{}", first_of(20));
    order.sort();
    order.dedup();
    assert_eq!(order.len(), seeds.len() + 1);
}

#[test]
fn a_page_that_is_gone_for_a_while_is_visited_again() {
    const INTERVAL: Duration = Duration::from_secs(60);
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let config = || FrontierConfig { recrawl: Recrawl::Every(INTERVAL), ..FrontierConfig::default() };
    let mut frontier = FjallFrontier::open(directory.path(), config(), clock.clone()).unwrap();
    frontier
        .offer(&["http://a.example/", "http://b.example/"].map(|text| LinkCandidate::seed(url(text))))
        .unwrap();
    let visit = |frontier: &FjallFrontier, kind| {
        let LeaseAnswer::Leased(leases) = frontier.lease(10).unwrap() else { panic!("a visit is due") };
        let ends = leases.iter().map(|lease| match lease.url().host() {
            "a.example" => end(lease.id, kind),
            _ => end(lease.id, SettlementKind::NoPage),
        });
        frontier.settle(ends.collect()).unwrap();
        let counts = frontier.counts();
        (leases.len(), counts.indexed, counts.no_page, counts.queued)
    };
    assert_eq!(visit(&frontier, SettlementKind::Indexed), (2, 1, 1, 0));
    // What never was a page is not asked for again.
    for (kind, indexed) in
        [(SettlementKind::NoPage, 0), (SettlementKind::NoPage, 0), (SettlementKind::Indexed, 1)]
    {
        clock.advance(INTERVAL);
        assert_eq!(visit(&frontier, kind), (1, indexed, 2 - indexed, 0), "{kind:?}");
        drop(frontier);
        frontier = FjallFrontier::open(directory.path(), config(), clock.clone()).unwrap();
    }
    clock.advance(INTERVAL);
    assert_eq!(visit(&frontier, SettlementKind::Unchanged), (1, 1, 1, 0));
}
