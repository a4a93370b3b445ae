//! `kill -9` at random moments: what was acknowledged is there, what was settled does not come back.
//!
//! The test runs itself again as a child process that crawls an endless imaginary web and prints a line
//! for everything a call has returned from. The parent kills it, opens the directory, and compares.

#![expect(clippy::unwrap_used, reason = "a test may stop where something is wrong")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use webloom_frontier::{FjallFrontier, FrontierConfig, UrlStatus};
use webloom_model::{
    Frontier, Lease, LeaseAnswer, LinkCandidate, PageUrl, Settlement, SettlementKind, SystemClock,
};

const DIRECTORY: &str = "WEBLOOM_FRONTIER_KILL_DIRECTORY";
const KILLS: u64 = 15;
const HOSTS: u64 = 7;
const RETRY: Duration = Duration::from_millis(20);

/// What was acknowledged about a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Acknowledged {
    Offered,
    Retried,
    NoPage,
    Indexed,
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_settled_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeMap::new();
    let mut dice = 0x5eed_u64;
    for kill in 0..KILLS {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Moments are counted in lines, so that a slow machine sees the same mix of early and late kills,
        // and then in microseconds, so that they also fall into the middle of a write.
        let lines = (dice >> 33) % 900;
        let pause = Duration::from_micros((dice >> 20) % 3000);
        run_and_kill(directory.path(), lines as usize, pause, &mut acknowledged);
        verify(directory.path(), &acknowledged, kill);
    }
    let settled = acknowledged.values().filter(|state| **state >= Acknowledged::NoPage).count();
    assert!(settled > 100, "only {settled} pages were settled: this tried nothing");
    drain(directory.path(), &acknowledged);
}

fn run_and_kill(
    directory: &Path,
    lines: usize,
    pause: Duration,
    acknowledged: &mut BTreeMap<u64, Acknowledged>,
) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_crawls_until_it_is_killed", "--nocapture", "--test-threads=1"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut seen: Vec<String> = output.by_ref().take(lines).collect();
    std::thread::sleep(pause);
    child.kill().unwrap();
    // What it printed before it died, it had been told.
    seen.extend(output);
    child.wait().unwrap();
    for line in seen {
        let words: Vec<&str> = line.split(' ').collect();
        let ["frontier:", what, number] = words[..] else { continue };
        // The last line may have been cut.
        let Some(number) = number.strip_suffix(';') else { continue };
        let number: u64 = number.parse().unwrap();
        let state = acknowledged.get(&number).copied();
        let new = match what {
            "leased" => {
                assert!(state < Some(Acknowledged::NoPage), "page {number} was {state:?} and leased again");
                continue;
            }
            "offered" => Acknowledged::Offered,
            "retried" => Acknowledged::Retried,
            "no-page" => Acknowledged::NoPage,
            "indexed" => Acknowledged::Indexed,
            _ => panic!("unexpected line {line:?}"),
        };
        acknowledged.insert(number, state.map_or(new, |old| old.max(new)));
    }
}

/// Compares every page with what was acknowledged, and the counts with the pages.
fn verify(directory: &Path, acknowledged: &BTreeMap<u64, Acknowledged>, kill: u64) {
    let frontier = open(directory);
    for (&number, &state) in acknowledged {
        let found = frontier.lookup(&url(number)).unwrap();
        let found = found.unwrap_or_else(|| panic!("kill {kill}: page {number}, {state:?}, was lost"));
        let kept = match state {
            Acknowledged::Offered => true,
            Acknowledged::Retried => found.attempts == 1,
            Acknowledged::NoPage => matches!(found.status, UrlStatus::NoPage { .. }),
            Acknowledged::Indexed => matches!(found.status, UrlStatus::Indexed { .. }),
        };
        assert!(kept, "kill {kill}: page {number} was {state:?}, now it is {found:?}");
    }
    let counts = frontier.counts();
    let (mut known, mut queued, mut indexed, mut no_page) = (0, 0, 0, 0);
    // Links point to twice the number and a little, and a call that was not acknowledged may have run.
    let highest = acknowledged.last_key_value().map_or(0, |(number, _)| *number);
    for number in 0..4 * highest + 2000 {
        let Some(found) = frontier.lookup(&url(number)).unwrap() else { continue };
        known += 1;
        match found.status {
            UrlStatus::Queued | UrlStatus::Waiting { .. } => queued += 1,
            UrlStatus::Indexed { .. } => indexed += 1,
            UrlStatus::NoPage { .. } => no_page += 1,
            UrlStatus::Leased => panic!("kill {kill}: page {number} is leased after opening"),
        }
    }
    assert_eq!(
        (known, queued, indexed, no_page, 0),
        (counts.known, counts.queued, counts.indexed, counts.no_page, counts.leased),
        "kill {kill}"
    );
}

/// Crawls what is left to its end: exactly what is queued comes, each URL once.
fn drain(directory: &Path, acknowledged: &BTreeMap<u64, Acknowledged>) {
    let frontier = open(directory);
    let before = frontier.counts();
    let mut leased = 0;
    loop {
        match frontier.lease(500).unwrap() {
            LeaseAnswer::Leased(leases) => {
                leased += leases.len() as u64;
                for lease in &leases {
                    let state = acknowledged.get(&page_number(lease)).copied();
                    assert!(state < Some(Acknowledged::NoPage), "{} comes back", lease.url());
                }
                let end = |lease: &Lease| Settlement {
                    lease: lease.id,
                    kind: SettlementKind::Indexed,
                    links: Vec::new(),
                    validators: None,
                };
                frontier.settle(leases.iter().map(end).collect()).unwrap();
            }
            LeaseAnswer::Wait(_) | LeaseAnswer::Busy => std::thread::sleep(Duration::from_millis(5)),
            LeaseAnswer::Finished { budget_spent } => break assert!(!budget_spent),
        }
    }
    assert_eq!(leased, before.queued);
    assert_eq!(frontier.counts().indexed, before.indexed + before.queued);
}

/// Does nothing, unless it is started by the test above.
#[test]
fn child_crawls_until_it_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let frontier = open(Path::new(&directory));
    let say = |what: &str, number: u64| {
        // One write each, so that a line is there or is not.
        let line = format!("frontier: {what} {number};\n");
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        std::io::stdout().flush().unwrap();
    };
    if frontier.offer(&[candidate(0, 0)]).unwrap().new == 1 {
        say("offered", 0);
    }
    let mut turn = 0_usize;
    loop {
        turn += 1;
        let leases = match frontier.lease(1 + turn % 5).unwrap() {
            LeaseAnswer::Leased(leases) => leases,
            LeaseAnswer::Wait(_) | LeaseAnswer::Busy => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            LeaseAnswer::Finished { .. } => panic!("the web has no end"),
        };
        let mut settlements = Vec::new();
        let mut news = Vec::new();
        for lease in &leases {
            let number = page_number(lease);
            say("leased", number);
            let (what, kind) = match number % 11 {
                3 if lease.attempt == 0 => ("retried", SettlementKind::Retry(Some(RETRY))),
                4 => ("no-page", SettlementKind::NoPage),
                _ => ("indexed", SettlementKind::Indexed),
            };
            news.push((what, number));
            let mut links = Vec::new();
            if kind == SettlementKind::Indexed {
                for target in 2 * number + 1..=2 * number + 3 {
                    links.push(candidate(target, lease.candidate.depth + 1));
                    news.push(("offered", target));
                }
            }
            settlements.push(Settlement { lease: lease.id, kind, links, validators: None });
        }
        frontier.settle(settlements).unwrap();
        news.into_iter().for_each(|(what, number)| say(what, number));
    }
}

fn open(directory: &Path) -> FjallFrontier {
    let config = FrontierConfig {
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        heads_per_host: 4,
        ..FrontierConfig::default()
    };
    FjallFrontier::open(directory, config, Arc::new(SystemClock)).expect("opens after a kill")
}

fn url(number: u64) -> PageUrl {
    PageUrl::parse(&format!("http://h{}.example/{number}", number % HOSTS)).expect("a URL")
}

fn candidate(number: u64, depth: u32) -> LinkCandidate {
    LinkCandidate { depth, ..LinkCandidate::seed(url(number)) }
}

fn page_number(lease: &Lease) -> u64 {
    lease.url().path_and_query()[1..].parse().expect("a number")
}
