//! The loop around the phases: lease while there is room, end when nothing is left or somebody says stop.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::error;
use webloom_archive::WriteError;
use webloom_fetch::FetchSetupError;
use webloom_index::IndexError;
use webloom_model::{FrontierCounts, FrontierError, LeaseAnswer};

use crate::control::CrawlState;
use crate::counters::Gauge;
use crate::process::process_page;
use crate::sources;
use crate::wiring::Crawl;

/// Leases asked for at once.
const LEASES_MAX: usize = 128;

/// Pages between lease and settlement, per connection: those in a request, on the CPU pool, and in a commit.
const IN_FLIGHT_PER_CONNECTION: usize = 4;

/// Shortest time between two looks at the frontier, unless the last one found as much as was asked for: hosts that become free one by
/// one are asked for together.
const LOOK_GAP: Duration = Duration::from_millis(2);

/// Longest time between two looks at the frontier.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Seeds that are looked up together.
pub(crate) const SEEDS_AT_ONCE: usize = 10_000;

/// How a crawl is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stop {
    /// Not at all.
    #[default]
    No,
    /// Pages under way are finished, no new ones are begun.
    Gracefully,
    /// At once: as safe as a kill.
    Now,
}

/// Why a crawl could not go on.
#[derive(Debug, thiserror::Error)]
pub enum CrawlError {
    /// The index failed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The frontier failed.
    #[error(transparent)]
    Frontier(#[from] FrontierError),
    /// The fetcher cannot be set up.
    #[error(transparent)]
    Fetch(#[from] FetchSetupError),
    /// The data directory cannot be made.
    #[error("cannot create `{path}`: {source}")]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What is known of the sources cannot be read or written.
    #[error("cannot use `{path}`: {source}")]
    Sources {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The site that a seed leads to cannot be noted.
    #[error("cannot write `{path}`: {source}")]
    Joined {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The dictionary for the archive cannot be read.
    #[error("cannot use `{path}` as archive.dictionary: {source}")]
    Dictionary {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The store for archive files cannot be used.
    #[error("cannot use {url} as archive.store: {source}")]
    Store {
        /// Its URL.
        url: String,
        /// Why.
        source: std::io::Error,
    },
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] WriteError),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The crawl is ending; the reason was given elsewhere.
    #[error("the crawl is ending")]
    Stopped,
}

/// How a crawl ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrawlSummary {
    /// Why it ended.
    pub end: CrawlEnd,
    /// Where the frontier stands.
    pub counts: FrontierCounts,
}

/// Why a crawl ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrawlEnd {
    /// Nothing is left to fetch.
    Complete,
    /// The page budget is spent; URLs are left.
    BudgetSpent,
    /// It was asked to stop; it can be resumed.
    Stopped,
}

impl Crawl {
    /// Runs until nothing is left, the budget is spent, or `stop` says so.
    pub async fn run(self: Arc<Self>, stop: watch::Receiver<Stop>) -> Result<CrawlSummary, CrawlError> {
        self.control.begin();
        let ended = match self.clone().run_phases(stop).await {
            Err(CrawlError::Stopped) => Err(self.committer.take_failure().unwrap_or(CrawlError::Stopped)),
            ended => ended,
        };
        self.control.end(match &ended {
            Ok(summary) => CrawlState::Ended(summary.end),
            Err(_) => CrawlState::Failed,
        });
        ended
    }

    async fn run_phases(
        self: Arc<Self>,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<CrawlSummary, CrawlError> {
        let in_flight_max = self.spec().work.connections * IN_FLIGHT_PER_CONNECTION;
        let mut tasks: JoinSet<Result<(), CrawlError>> = JoinSet::new();
        let mut orders_at = Instant::now();
        tokio::task::block_in_place(|| self.try_seeds_again())?;
        if self.sources.is_busy() {
            tasks.spawn(sources::run(self.clone()));
        }
        let end = loop {
            reap(&mut tasks)?;
            if Instant::now() >= orders_at {
                tokio::task::block_in_place(|| self.serve_orders())?;
                self.fetcher.set_bandwidth(self.spec().fetch.bandwidth);
                orders_at = Instant::now() + LOOK_AGAIN;
            }
            // Subscribed before the orders are looked at, so that none is missed in between.
            let ordered = self.control.orders();
            if (*stop.borrow()).max(self.control.stopping()) != Stop::No {
                break CrawlEnd::Stopped;
            }
            if self.control.paused() {
                // Who asks about a URL, or adds one, is answered all the same.
                tokio::select! {
                    () = tokio::time::sleep_until(orders_at.into()) => {}
                    () = ordered => {}
                    () = self.host_freed.notified() => {}
                    () = changed(&mut stop) => {}
                }
                continue;
            }
            // Pages that a service keeps are not what the crawl is busy with, or a slow one would stop it; nor are those that only wait.
            let outside = self.counters.outside.load(Relaxed) + self.counters.resting.load(Relaxed);
            let outside = usize::try_from(outside).unwrap_or(0);
            let room = (in_flight_max + outside).saturating_sub(tasks.len()).min(LEASES_MAX);
            let looked = Instant::now();
            let answer = if room == 0 {
                LeaseAnswer::Busy
            } else {
                tokio::task::block_in_place(|| self.frontier.lease(room))?
            };
            let look_again = match answer {
                LeaseAnswer::Leased(leases) => {
                    let is_all = leases.len() < room;
                    for lease in leases {
                        let crawl = self.clone();
                        // Boxed: a task is moved when it starts and when it ends, and this one is big.
                        tasks.spawn(Box::pin(async move {
                            let in_flight = Gauge::new(&crawl.counters.in_flight);
                            let result = process_page(&crawl, lease).await;
                            drop(in_flight);
                            crawl.host_freed.notify_one();
                            result
                        }));
                    }
                    if !is_all {
                        continue;
                    }
                    looked
                }
                // Sources may still bring seeds.
                LeaseAnswer::Finished { .. } if self.sources.is_busy() => Instant::now() + LOOK_AGAIN,
                LeaseAnswer::Finished { budget_spent } => {
                    // Somebody may have ordered more a moment ago.
                    if tokio::task::block_in_place(|| self.serve_orders())? > 0 {
                        continue;
                    }
                    break if budget_spent { CrawlEnd::BudgetSpent } else { CrawlEnd::Complete };
                }
                LeaseAnswer::Busy => Instant::now() + LOOK_AGAIN,
                LeaseAnswer::Wait(at) => at.min(Instant::now() + LOOK_AGAIN),
            };
            tokio::select! {
                () = tokio::time::sleep_until(look_again.into()) => {}
                () = self.host_freed.notified() => {}
                () = ordered => {}
                () = changed(&mut stop) => {}
            }
            tokio::time::sleep_until((looked + LOOK_GAP).into()).await;
        };
        self.sources.halt();
        self.drain(tasks, stop).await?;
        debug_assert_eq!(self.counters.in_flight.load(Relaxed), 0);
        Ok(CrawlSummary { end, counts: self.frontier.counts() })
    }

    /// Whoever runs a crawl names its seeds: those that failed in an earlier run are tried again.
    fn try_seeds_again(&self) -> Result<(), CrawlError> {
        if self.frontier.counts().no_page == 0 {
            return Ok(());
        }
        let mut again = 0;
        for seeds in self.spec().seeds.chunks(SEEDS_AT_ONCE) {
            let seeds: Vec<_> = seeds.iter().map(|seed| (seed.clone(), None)).collect();
            again += self.past().try_again(&seeds)?;
        }
        match again {
            0 => {}
            1 => self.counters.notices.add("1 seed failed before and is tried again".to_owned()),
            count => {
                self.counters.notices.add(format!("{count} seeds failed before and are tried again"));
            }
        }
        Ok(())
    }

    /// Waits for the pages under way, unless told to drop them.
    async fn drain(
        &self,
        mut tasks: JoinSet<Result<(), CrawlError>>,
        mut stop: watch::Receiver<Stop>,
    ) -> Result<(), CrawlError> {
        let mut serve_at = tokio::time::Instant::now() + LOOK_AGAIN;
        while !tasks.is_empty() {
            let ordered = self.control.orders();
            if (*stop.borrow()).max(self.control.stopping()) == Stop::Now {
                tasks.shutdown().await;
                break;
            }
            tokio::select! {
                joined = tasks.join_next() => settle_join(joined)?,
                () = tokio::time::sleep_until(serve_at) => {
                    tokio::task::block_in_place(|| self.serve_orders())?;
                    serve_at = tokio::time::Instant::now() + LOOK_AGAIN;
                }
                () = ordered => {}
                () = changed(&mut stop) => {}
            }
        }
        Ok(())
    }

    /// Carries out what other processes ordered. Gives how many orders that were. While the crawl runs it does this itself; who has
    /// it open and does not run it should do so now and then, for nobody else can.
    pub fn serve_orders(&self) -> Result<usize, CrawlError> {
        let _one_at_a_time = self.serving.lock();
        self.spool.serve(&self.past())
    }
}

/// Waits for the next word of whoever may stop the crawl; for ever when they are gone.
async fn changed(stop: &mut watch::Receiver<Stop>) {
    if stop.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Takes the results of finished tasks without waiting.
fn reap(tasks: &mut JoinSet<Result<(), CrawlError>>) -> Result<(), CrawlError> {
    while let Some(joined) = tasks.try_join_next() {
        settle_join(Some(joined))?;
    }
    Ok(())
}

fn settle_join(
    joined: Option<Result<Result<(), CrawlError>, tokio::task::JoinError>>,
) -> Result<(), CrawlError> {
    match joined {
        Some(Ok(result)) => result,
        // A bug of ours, in one page. Its lease comes back after its deadline; the crawl goes on.
        Some(Err(panic)) => {
            error!(%panic, "a page's task panicked");
            Ok(())
        }
        None => Ok(()),
    }
}
