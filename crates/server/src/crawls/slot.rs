//! One crawl's directory, and whatever this process has open of it.
//!
//! In: a directory. Out: snapshots for reading, whoever writes; the index for updates; the crawl itself for control. Three
//! states: nothing is open (others may crawl here); the index is open for updates, for some seconds after the last one; the
//! crawl is open, running or not. The crawl has the index too, so only one of them is open at a time, under one lock.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use tokio::sync::watch;
use webloom_index::{Index, IndexConfig, IndexError, IndexReader, Snapshot};
use webloom_model::{Frontier, FrontierLimits, Injection, InjectionReport};
use webloom_pipeline::crawl::CrawlEnd;
use webloom_pipeline::{
    Counters, Crawl, CrawlControl, CrawlError, CrawlSpec, CrawlState, CrawlSummary, DataDir, SeedEnd, Stop,
};

use super::report::{HostStates, Meter};
use super::series::Series;
use crate::error::ApiError;
use crate::machine;

/// How long the index stays open after an update.
const WRITER_IDLE: Duration = Duration::from_secs(5);

/// How long a crawl that does not run stays open after it was last looked into.
const CRAWL_IDLE: Duration = Duration::from_secs(60);

/// Seeds that are told of when a crawl ends without a page.
const SEEDS_TOLD_MAX: usize = 3;

/// How long to wait for a directory that is being closed.
const REOPEN_PATIENCE: Duration = Duration::from_secs(5);

/// How much the index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct StoreNumbers {
    /// Pages: graphs that are no metadata.
    pub pages: u64,
    /// All graphs.
    pub graphs: u64,
    /// Distinct quads.
    pub quads: u64,
    /// Distinct terms.
    pub terms: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Segment files.
    pub segments: u64,
    /// Grows with every change.
    pub generation: u64,
}

/// A crawl that is open in this process.
pub struct LiveCrawl {
    crawl: Arc<Crawl>,
    /// What steers it.
    pub control: CrawlControl,
    /// What it counts.
    pub counters: Arc<Counters>,
    /// Its queues.
    pub frontier: Arc<dyn Frontier>,
    /// Its index.
    pub index: Arc<Index>,
    /// True when it ran in this process: then it stays open for whoever wants to look.
    ran: AtomicBool,
    /// When it began to run.
    started: Mutex<Option<(Timestamp, Instant)>>,
    /// How long it ran, once it has ended.
    ran_for: Mutex<Option<Duration>>,
    /// What there is to say about its end.
    message: Mutex<Option<String>>,
    looked: Mutex<Instant>,
}

impl std::fmt::Debug for LiveCrawl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveCrawl").field("state", &self.control.state()).finish_non_exhaustive()
    }
}

impl LiveCrawl {
    /// Of a crawl that was opened, here or by the command line.
    pub fn new(crawl: Arc<Crawl>) -> Self {
        Self {
            control: crawl.control(),
            counters: crawl.counters(),
            frontier: crawl.frontier(),
            index: crawl.index(),
            crawl,
            ran: AtomicBool::new(false),
            started: Mutex::new(None),
            ran_for: Mutex::new(None),
            message: Mutex::new(None),
            looked: Mutex::new(Instant::now()),
        }
    }

    /// True between start and end.
    pub fn is_under_way(&self) -> bool {
        matches!(self.control.state(), CrawlState::Running | CrawlState::Paused | CrawlState::Stopping)
    }

    /// When it began to run in this process.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.started.lock().map(|(at, _)| at)
    }

    /// How long it has been running, or ran.
    pub fn elapsed(&self) -> Duration {
        let since = self.started.lock().map_or(Duration::ZERO, |(_, since)| since.elapsed());
        self.ran_for.lock().unwrap_or(since)
    }

    /// What there is to say about its end.
    pub fn message(&self) -> Option<String> {
        self.message.lock().clone()
    }

    /// Takes URLs from outside: new ones and those that failed before are queued, the blacklisted banned.
    pub fn inject(&self, injections: &[Injection]) -> Result<InjectionReport, CrawlError> {
        self.crawl.inject(injections)
    }

    /// Puts other delays and budgets in force, at once.
    pub fn set_limits(&self, limits: &FrontierLimits) -> Result<(), CrawlError> {
        self.crawl.set_limits(limits)
    }

    /// What is known of a host's robots.txt: `fine`, `none`, `unreachable`, or nothing.
    pub fn robots_of(&self, host: &str) -> Option<&'static str> {
        self.crawl.robots_of(host)
    }

    /// Notes that it runs now.
    pub fn begin(&self) {
        self.ran.store(true, Relaxed);
        *self.started.lock() = Some((Timestamp::now(), Instant::now()));
        *self.ran_for.lock() = None;
        *self.message.lock() = None;
    }

    /// Notes how it ended.
    pub fn end(&self, ended: &Result<CrawlSummary, CrawlError>) {
        let elapsed = self.elapsed();
        *self.ran_for.lock() = Some(elapsed);
        *self.message.lock() = Some(match ended {
            Ok(summary) => match summary.end {
                CrawlEnd::Complete if summary.counts.indexed == 0 => self.without_page(),
                CrawlEnd::Complete => "nothing is left to fetch".to_owned(),
                CrawlEnd::BudgetSpent => "the page budget is spent".to_owned(),
                CrawlEnd::Stopped => "stopped; it can be started again".to_owned(),
            },
            Err(error) => error.to_string(),
        });
    }

    /// What there is to say when nothing is left to fetch and there is no page.
    fn without_page(&self) -> String {
        let (ends, _) = self.crawl.seeds_without_page(SEEDS_TOLD_MAX).unwrap_or_else(|error| {
            tracing::warn!(%error, "what became of the seeds cannot be told");
            Default::default()
        });
        let ends: Vec<String> =
            ends.iter().map(|SeedEnd { seed, reason }| format!("; {seed}: {reason}")).collect();
        format!("nothing is left to fetch, and there is no page{}", ends.concat())
    }

    /// Runs it to its end.
    pub async fn run(self: Arc<Self>, stop: watch::Receiver<Stop>) -> Result<CrawlSummary, CrawlError> {
        self.begin();
        let ended = self.crawl.clone().run(stop).await;
        self.end(&ended);
        ended
    }
}

#[derive(Debug, Default)]
struct Writer {
    index: Option<Index>,
    used: Option<Instant>,
}

#[derive(Debug, Default)]
struct StoreLook {
    numbers: StoreNumbers,
    looked: Option<Instant>,
    took: Duration,
}

/// One crawl's directory.
#[derive(Debug)]
pub struct Slot {
    /// Its short name.
    pub id: String,
    /// Where it is.
    pub data: DataDir,
    reader: IndexReader,
    live: RwLock<Option<Arc<LiveCrawl>>>,
    writer: Mutex<Writer>,
    store: Mutex<StoreLook>,
    looking: AtomicBool,
    locked_elsewhere: AtomicBool,
    /// Rates of the last seconds.
    pub(super) meter: Mutex<Meter>,
    /// Hosts by what their queues do.
    pub(super) hosts: Mutex<HostStates>,
    /// Rates of the last week.
    pub series: Mutex<Series>,
}

impl Slot {
    /// Opens a directory for reading; makes an empty index when there is none.
    pub fn open(id: &str, data: DataDir) -> Result<Self, ApiError> {
        let reader = match IndexReader::open(&data.index()) {
            Err(IndexError::Missing { .. } | IndexError::Io { .. }) => {
                std::fs::create_dir_all(data.path()).map_err(|error| {
                    ApiError::internal(format!("cannot create `{}`: {error}", data.path().display()))
                })?;
                drop(Index::open(&data.index(), IndexConfig::default())?);
                IndexReader::open(&data.index())?
            }
            opened => opened?,
        };
        let slot = Self {
            id: id.to_owned(),
            reader,
            live: RwLock::new(None),
            writer: Mutex::default(),
            store: Mutex::default(),
            looking: AtomicBool::new(false),
            locked_elsewhere: AtomicBool::new(false),
            meter: Mutex::default(),
            hosts: Mutex::default(),
            series: Mutex::new(Series::load(&series_file(&data))),
            data,
        };
        slot.look_at_store();
        Ok(slot)
    }

    /// Takes a crawl that the caller has opened and will run.
    pub fn adopt(&self, live: Arc<LiveCrawl>) {
        *self.live.write() = Some(live);
    }

    /// The newest state of the index.
    pub fn snapshot(&self) -> Result<Snapshot, ApiError> {
        match self.live() {
            Some(live) => Ok(live.index.snapshot()),
            None => Ok(self.reader.snapshot()?),
        }
    }

    /// The crawl, when it is open.
    pub fn live(&self) -> Option<Arc<LiveCrawl>> {
        self.live.read().clone()
    }

    /// The specification as written, when there is one.
    pub fn specification(&self) -> Option<String> {
        match self.live() {
            Some(live) => Some(live.control.spec().written()),
            None => std::fs::read_to_string(self.data.spec()).ok(),
        }
    }

    /// The crawl, opened if need be. Blocks.
    pub fn load(&self) -> Result<Arc<LiveCrawl>, ApiError> {
        // The writer's lock is the one under which things are opened and closed.
        let mut writer = self.writer.lock();
        if let Some(live) = self.live() {
            *live.looked.lock() = Instant::now();
            return Ok(live);
        }
        let text = std::fs::read_to_string(self.data.spec()).map_err(|_| {
            ApiError::new(
                http::StatusCode::CONFLICT,
                "no-crawl",
                format!("`{}` holds data but no crawl", self.id),
            )
            .hint("POST /api/crawls makes a crawl from a specification")
        })?;
        let spec = CrawlSpec::from_toml(&text)?;
        writer.index = None;
        let patience = Instant::now() + REOPEN_PATIENCE;
        let crawl = loop {
            match Crawl::open(&self.data, spec.clone()) {
                Err(
                    CrawlError::Index(IndexError::Locked { .. })
                    | CrawlError::Frontier(webloom_model::FrontierError::Locked { .. }),
                ) if !self.locked_elsewhere.load(Relaxed) && Instant::now() < patience => {
                    // What we closed a moment ago is let go of when the last reader is done with it.
                    std::thread::sleep(Duration::from_millis(50));
                }
                opened => break opened?,
            }
        };
        let live = Arc::new(LiveCrawl::new(Arc::new(crawl)));
        *self.live.write() = Some(live.clone());
        Ok(live)
    }

    /// Starts the crawl. Blocks while it is opened.
    pub fn start(self: &Arc<Self>, runtime: &tokio::runtime::Handle) -> Result<Arc<LiveCrawl>, ApiError> {
        let live = self.load()?;
        let live = if live.control.state() == CrawlState::Failed {
            drop(live);
            self.unload();
            self.load()?
        } else {
            live
        };
        {
            // Two starts at once must not both run it.
            let _one = self.writer.lock();
            if live.is_under_way() {
                return Err(ApiError::conflict(format!("the crawl `{}` is running", self.id)));
            }
            live.control.resume();
            let (keep, stop) = watch::channel(Stop::No);
            let states = live.control.states();
            let running = live.clone();
            let id = self.id.clone();
            runtime.spawn(async move {
                if let Err(error) = running.run(stop).await {
                    tracing::error!(crawl = id, %error, "a crawl failed");
                }
                drop(keep);
            });
            // The task has only to be polled for the state to change.
            let deadline = Instant::now() + Duration::from_secs(2);
            while !states.has_changed().unwrap_or(true) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        Ok(live)
    }

    /// Closes the crawl, which must not be running. Blocks.
    pub fn unload(&self) {
        let _writer = self.writer.lock();
        let live = self.live.write().take();
        drop(live);
    }

    /// Does something with the index as its writer. Blocks.
    pub fn write<T>(&self, work: impl FnOnce(&Index) -> Result<T, IndexError>) -> Result<T, ApiError> {
        if let Some(live) = self.live() {
            return Ok(work(&live.index)?);
        }
        let mut writer = self.writer.lock();
        if let Some(live) = self.live() {
            return Ok(work(&live.index)?);
        }
        let index = match writer.index.take() {
            Some(index) => index,
            None => Index::open(&self.data.index(), IndexConfig::default())?,
        };
        let done = work(&index);
        writer.index = Some(index);
        writer.used = Some(Instant::now());
        Ok(done?)
    }

    /// True when another process has the crawl.
    pub fn is_elsewhere(&self) -> bool {
        self.locked_elsewhere.load(Relaxed)
    }

    /// How much the index holds, as of the last look.
    pub fn store(&self) -> StoreNumbers {
        self.store.lock().numbers
    }

    /// Closes what nobody uses. Blocks a moment.
    pub fn close_idle(&self) {
        let Some(mut writer) = self.writer.try_lock() else { return };
        if writer.used.is_some_and(|used| used.elapsed() > WRITER_IDLE) {
            *writer = Writer::default();
        }
        let idle = self.live().is_some_and(|live| {
            !live.ran.load(Relaxed) && !live.is_under_way() && live.looked.lock().elapsed() > CRAWL_IDLE
        });
        if idle {
            let live = self.live.write().take();
            drop(live);
        }
        let ours = writer.index.is_some() || self.live().is_some();
        let locked = !ours && machine::is_locked(&self.data.index().join("LOCK"));
        self.locked_elsewhere.store(locked, Relaxed);
    }

    /// Carries out what other processes ordered of a crawl that is open here and does not run. Blocks.
    pub fn serve_orders(&self) {
        let Some(live) = self.live().filter(|live| !live.is_under_way()) else { return };
        if let Err(error) = live.crawl.serve_orders() {
            tracing::warn!(crawl = self.id, %error, "orders cannot be carried out");
        }
    }

    /// Counts what the index holds, when it has changed and the last count was not too dear. Blocks.
    pub fn look_at_store(&self) {
        if self.looking.swap(true, Relaxed) {
            return;
        }
        self.count_store();
        self.looking.store(false, Relaxed);
    }

    fn count_store(&self) {
        let (generation, due) = {
            let store = self.store.lock();
            // Counting may take a twentieth of the time.
            let due = store.looked.is_none_or(|looked| looked.elapsed() > store.took * 20);
            (store.looked.map(|_| store.numbers.generation), due)
        };
        let Ok(snapshot) = self.snapshot() else { return };
        if !due || generation == Some(snapshot.generation()) {
            return;
        }
        let start = Instant::now();
        match snapshot.stats() {
            Ok(stats) => {
                let numbers = StoreNumbers {
                    pages: stats.graphs,
                    graphs: stats.graphs + stats.metadata_graphs,
                    quads: stats.quads,
                    terms: stats.terms,
                    bytes: stats.bytes.total,
                    segments: stats.segments,
                    generation: stats.generation,
                };
                *self.store.lock() =
                    StoreLook { numbers, looked: Some(Instant::now()), took: start.elapsed() };
            }
            Err(error) => tracing::warn!(crawl = self.id, %error, "the index cannot be counted"),
        }
    }

    /// Keeps the series, if this process is the one to write here.
    pub fn save_series(&self) {
        if self.live().is_none() {
            return;
        }
        let series = self.series.lock().clone();
        if let Err(error) = series.save(&series_file(&self.data)) {
            tracing::warn!(crawl = self.id, %error, "the series cannot be kept");
        }
    }
}

fn series_file(data: &DataDir) -> PathBuf {
    data.path().join("series.bin")
}
