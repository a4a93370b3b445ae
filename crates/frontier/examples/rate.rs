//! How fast the durable frontier is here: `cargo run --release -p webloom-frontier --example rate [URLS]`.
//!
//! Offers URLs of many hosts in batches as big as a page batch's links, offers them all again, crawls
//! some of them without waiting for anyone, and opens the directory once more.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use webloom_frontier::{FjallFrontier, FrontierConfig};
use webloom_model::{Frontier, LeaseAnswer, LinkCandidate, PageUrl, Settlement, SettlementKind, SystemClock};

const HOSTS: usize = 5_000;
const OFFER_BATCH: usize = 5_000;
const SETTLE_BATCH: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let urls: usize = std::env::args().nth(1).map_or(Ok(500_000), |text| text.parse())?;
    let directory = tempfile::tempdir()?;
    // Nobody is asked anything here, so nobody is owed a pause.
    let config = FrontierConfig {
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        ..FrontierConfig::default()
    };
    let begin = Instant::now();
    let frontier = FjallFrontier::open(directory.path(), config.clone(), Arc::new(SystemClock))?;
    println!("create: {:?}", begin.elapsed());

    let found_on = PageUrl::parse("https://www.directory.example/sites/page-17.html")?;
    // Links come in no particular order: a stride that shares no factor with the number visits them all.
    let candidate = |number: usize| -> Result<LinkCandidate, webloom_model::UrlProblem> {
        let number = number * 611_953 % urls;
        let host = number % HOSTS;
        Ok(LinkCandidate {
            depth: (number % 4) as u32,
            found_on: Some(found_on.clone()),
            anchor: Some("Read more about it".to_owned()),
            ..LinkCandidate::seed(PageUrl::parse(&format!(
                "https://www.site-{host}.example/articles/2026/{number}/index.html"
            ))?)
        })
    };
    for name in ["offers (new)", "offers (seen)"] {
        let mut spent = Spent::default();
        for batch in 0..urls.div_ceil(OFFER_BATCH) {
            let numbers = batch * OFFER_BATCH..((batch + 1) * OFFER_BATCH).min(urls);
            let candidates = numbers.map(candidate).collect::<Result<Vec<_>, _>>()?;
            let watch = Watch::start();
            frontier.offer(&candidates)?;
            spent.add(&watch);
        }
        spent.report(name, urls);
    }

    let watch = Watch::start();
    let mut settled = 0;
    while settled < urls / 5 {
        let LeaseAnswer::Leased(leases) = frontier.lease(SETTLE_BATCH)? else { break };
        settled += leases.len();
        let end = |lease: &webloom_model::Lease| Settlement {
            lease: lease.id,
            kind: SettlementKind::Indexed,
            links: Vec::new(),
            validators: None,
        };
        frontier.settle(leases.iter().map(end).collect())?;
    }
    let mut spent = Spent::default();
    spent.add(&watch);
    spent.report("lease and settle", settled);
    println!("{:?}", frontier.counts());

    let begin = Instant::now();
    drop(frontier);
    println!("close: {:?}", begin.elapsed());
    let begin = Instant::now();
    let frontier = FjallFrontier::open(directory.path(), config, Arc::new(SystemClock))?;
    println!("open: {:?}, {:?}", begin.elapsed(), frontier.counts());
    Ok(())
}

/// Time by the wall, and time this thread was really running: on a busy machine only that one tells.
struct Watch {
    wall: Instant,
    running: Duration,
}

#[derive(Default)]
struct Spent {
    wall: Duration,
    running: Duration,
}

impl Watch {
    fn start() -> Self {
        Self { wall: Instant::now(), running: running() }
    }
}

impl Spent {
    fn add(&mut self, watch: &Watch) {
        self.wall += watch.wall.elapsed();
        self.running += running().saturating_sub(watch.running);
    }

    fn report(&self, name: &str, count: usize) {
        let rate = |spent: Duration| count as f64 / spent.as_secs_f64();
        let Self { wall, running } = *self;
        print!("{name}: {count} in {wall:.2?}, {:.0}/s", rate(wall));
        // Only Linux tells.
        if !running.is_zero() {
            print!("; running {running:.2?}, {:.0}/s", rate(running));
        }
        println!();
    }
}

fn running() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = stat.split(' ').next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}
