//! What each phase has done so far: pages in, pages out, time busy. Cheap enough to count always.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use webloom_model::StepRecord;

use crate::journal::Journal;
use crate::notices::Notices;
use crate::services::ServiceNumbers;

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
    /// Pages that wait for a service or are with one.
    pub outside: AtomicU64,
    /// Pages that wait for their hosts, whose robots.txt was read.
    pub resting: AtomicU64,
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
    /// Links that were not followed because their pages say nothing new.
    pub stale_links: AtomicU64,
    /// Commits made.
    pub commits: AtomicU64,
    /// Failures, and answers of 400 and above.
    pub errors: AtomicU64,
    /// Pages that had not changed since they were last fetched.
    pub not_modified: AtomicU64,
    /// URLs that robots.txt forbids.
    pub robots_denied: AtomicU64,
    /// Sites that joined the scope because seeds led there.
    pub joined: AtomicU64,
    /// Records written to the archive.
    pub archive_records: AtomicU64,
    /// Bytes they take there.
    pub archive_bytes: AtomicU64,
    /// True while the crawl waits for room on the disk.
    pub archive_waits: AtomicBool,
    /// How long answers took.
    pub latency: Latency,
    /// The last pages, one by one.
    pub journal: Journal,
    /// What there is to say to whoever runs the crawl.
    pub notices: Notices,
    statuses: [AtomicU64; 6],
    not_pages: Mutex<BTreeMap<String, u64>>,
    steps: Mutex<BTreeMap<(String, String), StepNumbers>>,
    services: Mutex<Vec<Arc<ServiceNumbers>>>,
}

/// Numbers of one step of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepNumbers {
    /// Pages it was run on.
    pub pages: u64,
    /// Pages it gave nothing for.
    pub failed: u64,
    /// Time it took.
    pub busy: Duration,
    /// Bytes it gave.
    pub bytes: u64,
}

impl Default for Counters {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            phases: Default::default(),
            fetching: AtomicU64::new(0),
            working: AtomicU64::new(0),
            committing: AtomicU64::new(0),
            outside: AtomicU64::new(0),
            resting: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            indexed: AtomicU64::new(0),
            quads: AtomicU64::new(0),
            wire_bytes: AtomicU64::new(0),
            links: AtomicU64::new(0),
            stale_links: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            not_modified: AtomicU64::new(0),
            robots_denied: AtomicU64::new(0),
            joined: AtomicU64::new(0),
            archive_records: AtomicU64::new(0),
            archive_bytes: AtomicU64::new(0),
            archive_waits: AtomicBool::new(false),
            latency: Latency::default(),
            journal: Journal::default(),
            notices: Notices::default(),
            statuses: Default::default(),
            not_pages: Mutex::new(BTreeMap::new()),
            steps: Mutex::default(),
            services: Mutex::default(),
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

    /// Counts an answer by its status; nothing where no answer came.
    pub fn answered(&self, status: Option<u16>) {
        let class = status.map_or(0, |status| usize::from(status / 100));
        self.statuses[if class < self.statuses.len() { class } else { 0 }].fetch_add(1, Relaxed);
    }

    /// Answers by the first digit of their status, from 0 (no answer) to 5.
    pub fn statuses(&self) -> [u64; 6] {
        std::array::from_fn(|class| self.statuses[class].load(Relaxed))
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

    /// Counts what the steps of rules did for one page.
    pub fn add_steps(&self, records: &[StepRecord]) {
        if records.is_empty() {
            return;
        }
        let mut steps = self.steps.lock();
        for record in records {
            let numbers = steps.entry((record.rule.clone(), record.step.clone())).or_default();
            numbers.pages += 1;
            numbers.failed += u64::from(record.failed);
            numbers.busy += record.elapsed;
            numbers.bytes += record.bytes;
        }
    }

    /// The steps of rules, by rule and step.
    pub fn steps(&self) -> BTreeMap<(String, String), StepNumbers> {
        self.steps.lock().clone()
    }

    /// Shows these services among the numbers.
    pub fn show_services(&self, services: Vec<Arc<ServiceNumbers>>) {
        *self.services.lock() = services;
    }

    /// The services that are asked.
    pub fn services(&self) -> Vec<Arc<ServiceNumbers>> {
        self.services.lock().clone()
    }

    /// Since the crawl began in this process.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

/// How long something took, as counts in classes that double: cheap to add to, good enough for percentiles.
#[derive(Debug, Default)]
pub struct Latency {
    /// Class `n` counts what took less than `2^n` milliseconds, and not less than half of it.
    classes: [AtomicU64; Self::CLASSES],
    total_us: AtomicU64,
}

impl Latency {
    /// Classes, the last of which holds all that took longer.
    pub const CLASSES: usize = 20;

    /// Counts one that took `elapsed`.
    pub fn add(&self, elapsed: Duration) {
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        let class = (u64::BITS - milliseconds.leading_zeros()) as usize;
        self.classes[class.min(Self::CLASSES - 1)].fetch_add(1, Relaxed);
        self.total_us.fetch_add(u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// How many there are in each class.
    pub fn classes(&self) -> [u64; Self::CLASSES] {
        std::array::from_fn(|class| self.classes[class].load(Relaxed))
    }

    /// All of them together, in seconds.
    pub fn total_seconds(&self) -> f64 {
        self.total_us.load(Relaxed) as f64 / 1e6
    }

    /// About how many milliseconds a share of them (0.5, 0.99) took at most, by a straight line within its class. Nothing when
    /// there are none.
    pub fn percentile_ms(&self, share: f64) -> Option<f64> {
        let classes = self.classes();
        let total: u64 = classes.iter().sum();
        let wanted = share * total as f64;
        let mut below = 0.0;
        for (class, count) in classes.iter().enumerate() {
            let count = *count as f64;
            if count > 0.0 && below + count >= wanted {
                let upper = (1_u64 << class) as f64;
                let lower = if class == 0 { 0.0 } else { upper / 2.0 };
                return Some(lower + (upper - lower) * ((wanted - below) / count).clamp(0.0, 1.0));
            }
            below += count;
        }
        None
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_in_the_class_of_what_was_counted() {
        let latency = Latency::default();
        assert_eq!(latency.percentile_ms(0.5), None);
        for _ in 0..98 {
            latency.add(Duration::from_millis(20));
        }
        latency.add(Duration::from_millis(700));
        latency.add(Duration::from_secs(1 << 40));
        let median = latency.percentile_ms(0.5).unwrap();
        assert!((16.0..=32.0).contains(&median), "{median}");
        let p99 = latency.percentile_ms(0.99).unwrap();
        assert!((512.0..=1024.0).contains(&p99), "{p99}");
        assert_eq!(latency.percentile_ms(1.0), Some((1_u64 << 19) as f64));
    }

    #[test]
    fn answers_are_counted_by_class() {
        let counters = Counters::default();
        for status in [Some(200), Some(299), Some(404), None, Some(999)] {
            counters.answered(status);
        }
        assert_eq!(counters.statuses(), [2, 0, 2, 0, 1, 0]);
    }
}
