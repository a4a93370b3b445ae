//! The directory of a durable frontier: who may open it, what it tells, what else it keeps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use webloom_frontier::contract::ManualClock;
use webloom_frontier::{
    Blob, DomainBudget, FjallFrontier, FrontierConfig, MemoryFrontier, Recrawl, UrlState, UrlStatus,
};
use webloom_model::{
    Ban, Clock, Frontier, FrontierError, Injection, Lease, LeaseAnswer, LeaseId, LinkCandidate, PageUrl,
    Settlement, SettlementKind, Validators,
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

/// Directories that were begun when keys did not tell sites have a shorter secret, and are gone on with as they are.
#[test]
fn a_directory_with_the_older_keys_is_read_on() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    drop(open(directory.path(), &clock).unwrap());
    let secret = |cut: bool| {
        let database = fjall::Database::builder(directory.path().join("store")).open().unwrap();
        let meta = database.keyspace("meta", fjall::KeyspaceCreateOptions::default).unwrap();
        let secret = meta.get("secret").unwrap().unwrap().to_vec();
        if cut {
            meta.insert("secret", &secret[..16]).unwrap();
        }
        secret
    };
    assert_eq!(secret(true).len(), 17);
    let urls: Vec<PageUrl> =
        (0..3000).map(|number| url(&format!("http://{}.example/{number}", number % 50))).collect();
    let config = FrontierConfig { seen_table_keys: 100, ..FrontierConfig::default() };
    let open = || FjallFrontier::open(directory.path(), config.clone(), clock.clone()).unwrap();
    for some in urls.chunks(500) {
        let frontier = open();
        let seeds: Vec<LinkCandidate> = some.iter().cloned().map(LinkCandidate::seed).collect();
        assert_eq!(frontier.offer(&seeds).unwrap().new, 500);
        assert_eq!(frontier.offer(&seeds).unwrap().seen, 500);
    }
    assert!(open().are_known(&urls).unwrap().iter().all(|known| *known));
    assert_eq!(secret(false).len(), 16);
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

/// Visits again and bans leave a domain the pages that it may have.
#[test]
fn visits_use_up_no_budget_and_come_once() {
    const INTERVAL: Duration = Duration::from_secs(60);
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let config = FrontierConfig {
        recrawl: Recrawl::Every(INTERVAL),
        domain_budget: Some(DomainBudget { base: 2, per_linking_domain: 0 }),
        ..FrontierConfig::default()
    };
    let frontier = FjallFrontier::open(directory.path(), config, clock.clone()).unwrap();
    let visit = || {
        let mut visited = Vec::new();
        while let LeaseAnswer::Leased(leases) = frontier.lease(10).unwrap() {
            visited.extend(leases.iter().map(|lease| lease.url().as_str().to_owned()));
            frontier
                .settle(leases.iter().map(|lease| end(lease.id, SettlementKind::Indexed)).collect())
                .unwrap();
            clock.advance(Duration::from_secs(1));
        }
        visited.sort();
        visited
    };
    let [a, b, c] = ["http://a.example/1", "http://a.example/2", "http://a.example/3"];
    frontier.offer(&[a, b, c].map(|text| LinkCandidate::seed(url(text)))).unwrap();
    assert_eq!(visit(), [a, b], "that is all that the domain may have");
    for _ in 0..3 {
        clock.advance(INTERVAL);
        assert_eq!(visit(), [a, b]);
    }
    // A page that somebody wishes to see now is not due any more when it would have been.
    clock.advance(INTERVAL / 2);
    assert!(frontier.recrawl_now(&url(a)).unwrap());
    assert_eq!(visit(), [a]);
    clock.advance(INTERVAL / 2);
    assert_eq!(visit(), [b], "the other has been visited half an interval ago");
    clock.advance(INTERVAL / 2);
    assert_eq!(visit(), [a]);
    frontier.ban(&[Ban::Url(url(b))]).unwrap();
    assert_eq!(visit(), [c], "there is room for it now");
}

#[test]
fn pages_at_a_depth_are_visited_again_to_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let frontier = open(directory.path(), &clock).unwrap();
    let at = |depth: u32, name: &str| LinkCandidate {
        depth,
        ..LinkCandidate::seed(url(&format!("http://{name}{depth}.example/")))
    };
    let names = ["page", "none", "banned", "queued"];
    let candidates: Vec<_> = (0..4).flat_map(|depth| names.map(|name| at(depth, name))).collect();
    frontier.offer(&candidates).unwrap();
    let validators =
        Validators { etag: Some("\"1\"".to_owned()), digest: Some([7; 32]), ..Validators::default() };
    let LeaseAnswer::Leased(leases) = frontier.lease(100).unwrap() else { panic!("all are ready") };
    let settle = |frontier: &FjallFrontier, lease: &Lease| {
        let host = lease.url().host();
        let kind = match &host[..host.len() - "0.example".len()] {
            "page" | "banned" => SettlementKind::Indexed,
            "none" => SettlementKind::NoPage,
            _ => SettlementKind::Returned,
        };
        let validators = (kind == SettlementKind::Indexed).then(|| validators.clone());
        frontier.settle(vec![Settlement { lease: lease.id, kind, links: Vec::new(), validators }]).unwrap();
    };
    leases.iter().for_each(|lease| settle(&frontier, lease));
    let hosts = (0..4).map(|depth| Ban::Host(format!("banned{depth}.example")));
    frontier.ban(&hosts.collect::<Vec<_>>()).unwrap();
    let before = frontier.counts();
    assert_eq!(frontier.visit_again(1..3).unwrap(), 2);
    assert_eq!(frontier.visit_again(1..3).unwrap(), 0, "they wait");
    assert_eq!(frontier.counts().indexed, before.indexed - 2);
    // They still wait when the directory is opened again, and come without anything to ask with.
    drop(frontier);
    let frontier = open(directory.path(), &clock).unwrap();
    clock.advance(Duration::from_secs(2));
    let LeaseAnswer::Leased(leases) = frontier.lease(100).unwrap() else { panic!("they are ready") };
    let again: Vec<_> = leases.iter().filter(|lease| lease.url().host().starts_with("page")).collect();
    assert_eq!(
        again.iter().map(|lease| lease.url().host()).collect::<Vec<_>>(),
        ["page1.example", "page2.example"]
    );
    assert!(again.iter().all(|lease| lease.is_for_links() && lease.validators != Some(validators.clone())));
    leases.iter().for_each(|lease| settle(&frontier, lease));
    assert_eq!(frontier.counts().indexed, before.indexed);
    let life = frontier.inspect(&url("http://page1.example/")).unwrap().unwrap();
    assert_eq!((life.visits, life.changes), (2, 0), "it was read twice and has not changed for it");
}

#[test]
fn a_page_that_is_due_for_a_visit_is_read_when_its_links_are_wanted() {
    const INTERVAL: Duration = Duration::from_secs(60);
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let config = FrontierConfig { recrawl: Recrawl::Every(INTERVAL), ..FrontierConfig::default() };
    let frontier = FjallFrontier::open(directory.path(), config, clock.clone()).unwrap();
    frontier.offer(&[LinkCandidate::seed(url("http://a.example/"))]).unwrap();
    let validators = Validators { etag: Some("\"1\"".to_owned()), ..Validators::default() };
    let lease = || match frontier.lease(1).unwrap() {
        LeaseAnswer::Leased(mut leases) => leases.remove(0),
        other => panic!("no lease: {other:?}"),
    };
    let settle = |lease: &Lease, kind| {
        let validators = Some(validators.clone());
        frontier.settle(vec![Settlement { lease: lease.id, kind, links: Vec::new(), validators }]).unwrap();
    };
    settle(&lease(), SettlementKind::Indexed);
    clock.advance(INTERVAL);
    // It is out, with something to ask on condition with, when its links are wanted.
    let out = lease();
    assert_eq!(out.validators.as_ref(), Some(&validators));
    assert_eq!(frontier.visit_again(0..1).unwrap(), 0);
    settle(&out, SettlementKind::Unchanged);
    clock.advance(INTERVAL);
    let next = lease();
    assert!(next.is_for_links(), "{next:?}");
    settle(&next, SettlementKind::Indexed);
    clock.advance(INTERVAL);
    assert_eq!(lease().validators.as_ref(), Some(&validators));
}

#[test]
fn what_is_visited_again_is_not_counted_twice_for_its_domain() {
    let directory = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let budget = DomainBudget { base: 2, per_linking_domain: 0 };
    let config = FrontierConfig { domain_budget: Some(budget), ..FrontierConfig::default() };
    let frontier = FjallFrontier::open(directory.path(), config, clock.clone()).unwrap();
    let offer = |name: &str| {
        frontier.offer(&[LinkCandidate::seed(url(&format!("http://a.example/{name}")))]).unwrap()
    };
    let fetch = || match frontier.lease(1).unwrap() {
        LeaseAnswer::Leased(leases) => {
            frontier.settle(vec![end(leases[0].id, SettlementKind::Indexed)]).unwrap();
            clock.advance(Duration::from_secs(1));
            true
        }
        _ => false,
    };
    offer("1");
    assert!(fetch());
    assert_eq!(frontier.visit_again(0..1).unwrap(), 1);
    assert!(fetch());
    offer("2");
    assert!(fetch(), "one page was read twice; there is room for another");
    offer("3");
    assert!(!fetch(), "but not for a third");
}
