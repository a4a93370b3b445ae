//! What each phase has done so far: pages in, pages out, time busy. Cheap enough to count always.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The five phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Bytes from the network.
    Fetch,
    /// What the bytes are.
    Detect,
    /// Quads from the bytes.
    Transform,
    /// Quads on disk.
    Index,
    /// Links from the quads.
    Extract,
}

impl Phase {
    /// All of them, in the order a page meets them.
    pub const ALL: [Self; 5] = [Self::Fetch, Self::Detect, Self::Transform, Self::Index, Self::Extract];

    /// The word used in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fetch => "fetch",
            Self::Detect => "detect",
            Self::Transform => "transform",
            Self::Index => "index",
            Self::Extract => "extract",
        }
    }
}

/// Numbers of one phase.
#[derive(Debug, Default)]
struct PhaseCounter {
    pages: AtomicU64,
    busy_ns: AtomicU64,
}

/// A reading of one phase's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PhaseNumbers {
    /// Pages that went through.
    pub pages: u64,
    /// Time spent on them, over all threads; for fetch, time under way.
    pub busy: Duration,
}

impl PhaseNumbers {
    /// Pages per second of busy time: what the phase could do if it were all one thread did.
    pub fn pages_per_busy_second(&self) -> f64 {
        if self.busy.is_zero() { 0.0 } else { self.pages as f64 / self.busy.as_secs_f64() }
    }
}

/// All numbers of a running crawl.
#[derive(Debug)]
pub struct Counters {
    started: Instant,
    phases: [PhaseCounter; 5],
    /// Requests under way.
    pub fetching: AtomicU64,
    /// Pages waiting for or on the CPU pool.
    pub working: AtomicU64,
    /// Pages waiting for or in a commit.
    pub committing: AtomicU64,
    /// Leases out.
    pub in_flight: AtomicU64,
    /// Pages indexed.
    pub indexed: AtomicU64,
    /// Quads stored, metadata included.
    pub quads: AtomicU64,
    /// Body bytes received.
    pub wire_bytes: AtomicU64,
    /// Links found, before scope and seen-check.
    pub links: AtomicU64,
    /// Commits made.
    pub commits: AtomicU64,
    not_pages: Mutex<BTreeMap<String, u64>>,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            phases: Default::default(),
            fetching: AtomicU64::new(0),
            working: AtomicU64::new(0),
            committing: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            indexed: AtomicU64::new(0),
            quads: AtomicU64::new(0),
            wire_bytes: AtomicU64::new(0),
            links: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            not_pages: Mutex::new(BTreeMap::new()),
        }
    }
}

impl Counters {
    /// Counts `pages` that took `busy` in `phase`.
    pub fn add(&self, phase: Phase, pages: u64, busy: Duration) {
        let counter = &self.phases[phase as usize];
        counter.pages.fetch_add(pages, Relaxed);
        counter.busy_ns.fetch_add(u64::try_from(busy.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Runs `work` as so many pages of `phase`: one, or none when it was counted before.
    pub fn time<T>(&self, phase: Phase, pages: u64, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(phase, pages, start.elapsed());
        result
    }

    /// Counts a URL that gave no page, by reason.
    pub fn not_a_page(&self, reason: impl Into<String>) {
        *self.not_pages.lock().entry(reason.into()).or_default() += 1;
    }

    /// The numbers of a phase.
    pub fn phase(&self, phase: Phase) -> PhaseNumbers {
        let counter = &self.phases[phase as usize];
        PhaseNumbers {
            pages: counter.pages.load(Relaxed),
            busy: Duration::from_nanos(counter.busy_ns.load(Relaxed)),
        }
    }

    /// URLs that gave no page, by reason.
    pub fn not_pages(&self) -> BTreeMap<String, u64> {
        self.not_pages.lock().clone()
    }

    /// Since the crawl began in this process.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Counts something as long as it lives, however it ends.
#[derive(Debug)]
pub(crate) struct Gauge<'a>(&'a AtomicU64);

impl<'a> Gauge<'a> {
    pub(crate) fn new(counter: &'a AtomicU64) -> Self {
        counter.fetch_add(1, Relaxed);
        Self(counter)
    }
}

impl Drop for Gauge<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
