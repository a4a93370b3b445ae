//! What a page costs where hosts are many and small.
//!
//! A crawl without a network, by a clock of its own. Each host has one seed and is asked for its robots.txt first, for which its lease is
//! handed back. A page brings four links, three of them new. Leases are asked for a few at a time and settled some hundred at
//! a time, as a crawl does at two thousand pages a second. It ends after three pages for two hosts.

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use webloom_model::{
    Clock, Frontier, FrontierError, HostHint, Lease, LeaseAnswer, LinkCandidate, PageUrl, Settlement,
    SettlementKind,
};

use super::books::{Part, Watch, process_cpu, thread_cpu};
use super::web::Dice;
use crate::{FjallFrontier, FrontierConfig};

/// Milliseconds from one look at the work to the next.
const STEP_MS: u64 = 10;
/// How long an answer takes.
const ANSWER_MS: u64 = 80;
/// Leases that are out at once, at most.
const OUT_MAX: usize = 512;
/// Leases that are asked for at once.
const LEASES: usize = 20;
/// Ends of requests after which leases are asked for again.
const ENDS_PER_LEASE: usize = 4;
/// Steps from one settling to the next.
const STEPS_PER_SETTLE: u64 = 5;
/// Links of a page, all but the first of them new.
const LINKS: u64 = 4;
const SEEDS_PER_OFFER: usize = 1000;

/// What it cost.
#[derive(Debug, Default, Clone, Copy)]
pub struct SmallHosts {
    /// Pages that were leased and settled.
    pub pages: u64,
    /// Seeds offered.
    pub offers: Part,
    /// Leases given out: about two for each page.
    pub leases: Part,
    /// Leases settled, with links or handed back.
    pub settlements: Part,
    /// Processor time of the whole process for the pages, threads in the background included; made-up links, too.
    pub cpu: Duration,
    /// Of it, what this thread spent outside of leasing and settling: making up links, and telling that requests ended.
    pub cpu_beside: Duration,
}

impl SmallHosts {
    /// Microseconds of something for each page.
    pub fn each_us(&self, time: Duration) -> f64 {
        time.as_secs_f64() * 1e6 / self.pages.max(1) as f64
    }
}

/// Crawls so many hosts of one seed each in a directory where nothing is yet.
pub fn small_hosts(data: &Path, hosts: u64) -> Result<SmallHosts, FrontierError> {
    let clock = Arc::new(Steps { begun: Instant::now(), passed_ms: AtomicU64::new(0) });
    let frontier = FjallFrontier::open(data, FrontierConfig::default(), clock.clone())?;
    let mut measured = SmallHosts::default();
    let seeds: Vec<LinkCandidate> = (0..hosts)
        .map(|host| Ok(LinkCandidate::seed(url(host, 0)?)))
        .collect::<Result<_, FrontierError>>()?;
    for some in seeds.chunks(SEEDS_PER_OFFER) {
        let watch = Watch::start();
        frontier.offer(some)?;
        measured.offers.add(some.len() as u64, &watch);
    }
    let begun = (process_cpu(), thread_cpu());
    let mut crawl = Crawl { frontier, hosts, robots: HashSet::new(), dice: Dice(1), pages: 0, fresh: 0 };
    // Leases that are out, with the moment of their answer.
    let mut out: VecDeque<(u64, Lease)> = VecDeque::new();
    let mut settlements = Vec::new();
    let mut step = 0_u64;
    while crawl.pages < hosts * 3 / 2 {
        step += 1;
        let now = clock.step();
        let mut ends = 0;
        loop {
            let answered = out.pop_front_if(|(due, _)| *due <= now);
            let more = answered.is_some();
            if let Some((_, lease)) = answered {
                settlements.push(crawl.end(&lease)?);
                ends += 1;
            }
            let room = OUT_MAX.saturating_sub(out.len()).min(LEASES);
            if room > 0 && (ends == ENDS_PER_LEASE || !more) {
                ends = 0;
                let watch = Watch::start();
                let answer = crawl.frontier.lease(room)?;
                let leases = if let LeaseAnswer::Leased(leases) = answer { leases } else { Vec::new() };
                measured.leases.add(leases.len() as u64, &watch);
                out.extend(leases.into_iter().map(|lease| (now + ANSWER_MS, lease)));
            }
            if !more {
                break;
            }
        }
        if step.is_multiple_of(STEPS_PER_SETTLE) {
            let settlements = std::mem::take(&mut settlements);
            let count = settlements.len() as u64;
            let watch = Watch::start();
            crawl.frontier.settle(settlements)?;
            measured.settlements.add(count, &watch);
        }
    }
    measured.pages = crawl.pages;
    measured.cpu = process_cpu().saturating_sub(begun.0);
    let calls = measured.leases.cpu + measured.settlements.cpu;
    measured.cpu_beside = thread_cpu().saturating_sub(begun.1).saturating_sub(calls);
    Ok(measured)
}

/// The crawl's own memory.
struct Crawl {
    frontier: FjallFrontier,
    hosts: u64,
    /// Hosts whose robots.txt was fetched.
    robots: HashSet<String>,
    dice: Dice,
    pages: u64,
    /// New links so far.
    fresh: u64,
}

impl Crawl {
    /// A request ends: the first one of a host was for its robots.txt, the others bring pages.
    fn end(&mut self, lease: &Lease) -> Result<Settlement, FrontierError> {
        let took = Some(Duration::from_millis(ANSWER_MS));
        self.frontier.request_finished(lease.id, HostHint { took, ..HostHint::default() });
        let mut settlement = Settlement {
            lease: lease.id,
            kind: SettlementKind::Returned,
            links: Vec::new(),
            validators: None,
        };
        if self.robots.insert(lease.url().host().to_owned()) {
            return Ok(settlement);
        }
        self.pages += 1;
        settlement.kind = SettlementKind::Indexed;
        for link in 0..LINKS {
            let host = self.dice.below(self.hosts);
            self.fresh += u64::from(link > 0);
            settlement.links.push(LinkCandidate {
                depth: lease.candidate.depth + 1,
                found_on: Some(lease.url().clone()),
                ..LinkCandidate::seed(url(host, if link > 0 { self.fresh } else { 0 })?)
            });
        }
        Ok(settlement)
    }
}

fn url(host: u64, page: u64) -> Result<PageUrl, FrontierError> {
    let text = match page {
        0 => format!("https://www.small-{host}.example/"),
        _ => format!("https://www.small-{host}.example/pages/{page}.html"),
    };
    PageUrl::parse(&text).map_err(|problem| FrontierError::Store(problem.to_string()))
}

/// A clock that goes when it is told to.
#[derive(Debug)]
struct Steps {
    begun: Instant,
    passed_ms: AtomicU64,
}

impl Steps {
    /// Goes on; gives the milliseconds that have passed.
    fn step(&self) -> u64 {
        self.passed_ms.fetch_add(STEP_MS, Relaxed) + STEP_MS
    }
}

impl Clock for Steps {
    fn now(&self) -> Instant {
        self.begun + Duration::from_millis(self.passed_ms.load(Relaxed))
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_millis(self.passed_ms.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_hosts_are_crawled_to_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let measured = small_hosts(directory.path(), 200).unwrap();
        assert!(measured.pages >= 300 && measured.offers.count == 200, "{measured:?}");
        assert!(measured.settlements.count >= measured.pages && measured.leases.count > measured.pages);
    }
}
