//! A crawl without transforms and index: fetch, plain links, seen-check, politeness. What is between a download and the product.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use webloom_detect::detect;
use webloom_extract::{extract_links, follow_links};
use webloom_fetch::{Fetcher, MemoryRobotsStore, SystemResolver};
use webloom_frontier::FjallFrontier;
use webloom_model::{
    FetchOutcome, FetchedPage, Frontier, Lease, LeaseAnswer, LinkCandidate, Settlement, SettlementKind,
    SystemClock,
};
use webloom_pipeline::CrawlSpec;
use webloom_transform::html::links::links;
use webloom_transform::{Syntax, transform};

/// Shortest time between two looks at the frontier, as in a crawl.
const LOOK_GAP: Duration = Duration::from_millis(2);

/// Time between two looks for settlements.
const SETTLE_NAP: Duration = Duration::from_millis(2);

struct Parts {
    spec: CrawlSpec,
    frontier: FjallFrontier,
    fetcher: Fetcher,
    freed: Notify,
    pages: AtomicU64,
    /// Leased and not yet settled.
    in_flight: AtomicUsize,
}

/// Crawls to the end; answers how many pages there were.
pub(super) async fn crawl(mut spec: CrawlSpec, folder: &Path) -> anyhow::Result<u64> {
    spec.transform.only = Some([Syntax::Html].into());
    let clock = Arc::new(SystemClock);
    let frontier = FjallFrontier::open(folder, spec.frontier.clone(), clock.clone())?;
    let seeds: Vec<LinkCandidate> = spec.seeds.iter().cloned().map(LinkCandidate::seed).collect();
    frontier.offer(&seeds)?;
    let resolver = Arc::new(SystemResolver::new()?);
    let fetcher = Fetcher::new(spec.fetch.clone(), resolver, Arc::new(MemoryRobotsStore::default()), clock)?;
    let in_flight_max = spec.work.connections * 4;
    let parts = Arc::new(Parts {
        spec,
        frontier,
        fetcher,
        freed: Notify::new(),
        pages: AtomicU64::new(0),
        in_flight: AtomicUsize::new(0),
    });
    let (settled, settlements) = mpsc::channel(in_flight_max);
    let settler = tokio::task::spawn_blocking({
        let parts = parts.clone();
        move || settle_all(&parts, settlements)
    });
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        let room = in_flight_max.saturating_sub(tasks.len()).min(128);
        let looked = Instant::now();
        let answer = match room {
            0 => LeaseAnswer::Busy,
            _ => tokio::task::block_in_place(|| parts.frontier.lease(room))?,
        };
        let until = match answer {
            LeaseAnswer::Leased(leases) => {
                let is_all = leases.len() < room;
                parts.in_flight.fetch_add(leases.len(), Relaxed);
                for lease in leases {
                    let (parts, settled) = (parts.clone(), settled.clone());
                    // Boxed, as in a crawl.
                    tasks.spawn(Box::pin(async move {
                        let settlement = page(&parts, lease).await;
                        // The settler ends after all of us.
                        let _ = settled.send(settlement).await;
                    }));
                }
                if !is_all {
                    continue;
                }
                looked
            }
            LeaseAnswer::Finished { .. } => break,
            LeaseAnswer::Busy => Instant::now() + Duration::from_millis(100),
            LeaseAnswer::Wait(at) => at.min(Instant::now() + Duration::from_millis(100)),
        };
        tokio::select! {
            () = tokio::time::sleep_until(until.into()) => {}
            () = parts.freed.notified() => {}
        }
        tokio::time::sleep_until((looked + LOOK_GAP).into()).await;
    }
    drop(settled);
    settler.await??;
    Ok(parts.pages.load(Relaxed))
}

async fn page(parts: &Arc<Parts>, lease: Lease) -> Settlement {
    let (mut outcome, hint) = parts.fetcher.fetch(&lease).await;
    parts.frontier.request_finished(lease.id, hint);
    // As in a crawl, the page follows its robots.txt.
    if matches!(outcome, FetchOutcome::RobotsFirst)
        && let Some(moment) = parts.frontier.reserve(lease.url().host())
    {
        tokio::time::sleep_until(moment.into()).await;
        let (page, hint) = parts.fetcher.fetch(&lease).await;
        parts.frontier.release(lease.url().host(), hint);
        outcome = page;
    }
    parts.freed.notify_one();
    let settlement = |kind, links| Settlement { lease: lease.id, kind, links, validators: None };
    match outcome {
        FetchOutcome::Fetched(page) => {
            parts.pages.fetch_add(1, Relaxed);
            // A page takes less time than handing it over to another thread would be worth.
            settlement(SettlementKind::Indexed, links_of(&parts.spec, lease.candidate.depth, *page))
        }
        FetchOutcome::Redirected(redirect) => {
            settlement(SettlementKind::NoPage, vec![lease.redirected(redirect.target)])
        }
        FetchOutcome::RobotsFirst => settlement(SettlementKind::Returned, Vec::new()),
        FetchOutcome::Unchanged(_) | FetchOutcome::NotFetched(_) | FetchOutcome::Failed(_) => {
            settlement(SettlementKind::NoPage, Vec::new())
        }
    }
}

/// Where a page leads: by its tags where it is HTML, by what it says otherwise.
fn links_of(spec: &CrawlSpec, depth: u32, page: FetchedPage) -> Vec<LinkCandidate> {
    let detected = detect(page);
    let url = &detected.page.url;
    match links(&detected, &spec.transform) {
        Some(links) => follow_links(url, depth, links, &spec.links).links,
        None => extract_links(url, depth, &transform(&detected, &spec.transform), &spec.links).links,
    }
}

/// Settles what comes, gathered as a crawl gathers what it commits.
fn settle_all(parts: &Parts, mut settlements: mpsc::Receiver<Settlement>) -> anyhow::Result<()> {
    let work = &parts.spec.work;
    while let Some(first) = settlements.blocking_recv() {
        let due = Instant::now() + work.commit_age_max;
        let mut batch = vec![first];
        while batch.len() < work.commit_pages_max {
            match settlements.try_recv() {
                Ok(next) => batch.push(next),
                Err(TryRecvError::Empty) => {
                    let everything_is_here = batch.len() >= parts.in_flight.load(Relaxed);
                    if everything_is_here || Instant::now() >= due {
                        break;
                    }
                    std::thread::sleep(SETTLE_NAP);
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
        parts.in_flight.fetch_sub(batch.len(), Relaxed);
        parts.frontier.settle(batch)?;
        parts.freed.notify_one();
    }
    Ok(())
}
