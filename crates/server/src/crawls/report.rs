//! What is told of a crawl: the same numbers for the API, the events and the metrics.
//!
//! In: a [`Slot`] and what its crawl has counted. Out: [`CrawlBrief`] and [`CrawlReport`], as the interface shows them. Rates are
//! over the last five seconds; they come from the [`Meter`], which is read once a second.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde::Serialize;
use webloom_model::frontier::{QueueQuery, QueueState};
use webloom_pipeline::crawl::CrawlEnd;
use webloom_pipeline::{Counters, CrawlSpec, CrawlState, Phase};

use super::series::Sample;
use super::slot::{LiveCrawl, Slot};
use crate::machine::Machine;

/// Over how long rates are taken.
const WINDOW: Duration = Duration::from_secs(5);

/// Readings that are kept: the window, and one that begins it.
const READINGS_MAX: usize = 8;

/// A phase that is busy less than this does not hold up the others.
const BOTTLENECK_SHARE: f64 = 0.7;

/// The short view of a crawl.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlBrief {
    /// Its short name.
    pub id: String,
    /// `running`, `paused`, `stopping`, `stopped`, `finished` or `failed`.
    pub state: &'static str,
    /// When it began to run in this process.
    pub started_at: Option<String>,
    /// What there is to say about its state.
    pub message: Option<String>,
    /// Pages it has.
    pub pages: u64,
    /// Quads it has.
    pub quads: u64,
    /// Errors it met in this run.
    pub errors: u64,
    /// URLs that wait.
    pub queued: u64,
}

/// All that is told of a crawl.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrawlReport {
    /// The short view.
    #[serde(flatten)]
    pub brief: CrawlBrief,
    /// Its specification, as TOML.
    pub specification: String,
    /// How long it has been running.
    pub elapsed_seconds: f64,
    /// The phases, in the order a page meets them.
    pub phases: Vec<PhaseReport>,
    /// The phase that holds up the others, if one does.
    pub bottleneck: Option<&'static str>,
    /// Per second.
    pub rates: Rates,
    /// In this run.
    pub totals: Totals,
    /// Where URLs wait.
    pub queues: Queues,
    /// Answers by the first digit of their status.
    pub status_classes: BTreeMap<&'static str, u64>,
    /// How long answers took.
    pub latency_ms: LatencyReport,
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseReport {
    /// Its name.
    pub name: &'static str,
    /// Pages that went through in this run.
    pub pages: u64,
    /// Pages per second.
    pub rate: f64,
    /// How much of its workers' time it takes, 0 to 1.
    pub busy_share: f64,
    /// Pages in it or before it.
    pub queue: u64,
    /// How many there can be.
    pub queue_max: u64,
    /// Time it takes for a page.
    pub microseconds_per_page: f64,
}

/// Numbers per second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Rates {
    /// Pages indexed.
    pub pages: f64,
    /// Bytes received.
    pub bytes: f64,
    /// Quads stored.
    pub quads: f64,
    /// Errors met.
    pub errors: f64,
}

/// Numbers of this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Pages indexed.
    pub pages: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Quads stored.
    pub quads: u64,
    /// Errors met.
    pub errors: u64,
    /// Pages that had not changed.
    pub not_modified: u64,
    /// URLs that robots.txt forbids.
    pub robots_denied: u64,
}

/// Where URLs wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Queues {
    /// URLs that wait.
    pub queued: u64,
    /// URLs under way.
    pub leased: u64,
    /// Hosts that may be asked now.
    pub ready_hosts: u64,
    /// Hosts whose turn is later.
    pub waiting_hosts: u64,
    /// Hosts with something queued.
    pub hosts: u64,
    /// Hosts that are asked no more.
    pub retired_hosts: u64,
}

/// How long answers took, in milliseconds; nothing before the first.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct LatencyReport {
    /// Half of them at most this.
    pub p50: Option<f64>,
    /// Nine of ten.
    pub p90: Option<f64>,
    /// Ninety-nine of a hundred.
    pub p99: Option<f64>,
}

/// What was counted at one moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    at: Instant,
    totals: Totals,
    phases: [(u64, Duration); 5],
}

impl Reading {
    fn of(counters: &Counters) -> Self {
        Self {
            at: Instant::now(),
            totals: totals(counters),
            phases: Phase::ALL.map(|phase| {
                let numbers = counters.phase(phase);
                (numbers.pages, numbers.busy)
            }),
        }
    }
}

/// Readings of the last seconds.
#[derive(Debug, Default)]
pub struct Meter(VecDeque<Reading>);

impl Meter {
    fn read(&mut self, counters: &Counters) {
        let reading = Reading::of(counters);
        // The crawl was opened anew, and counts from nothing.
        if self.0.back().is_some_and(|last| last.totals.bytes > reading.totals.bytes) {
            self.0.clear();
        }
        self.0.push_back(reading);
        while self.0.len() > 2 && self.0.get(1).is_some_and(|second| second.at.elapsed() >= WINDOW)
            || self.0.len() > READINGS_MAX
        {
            self.0.pop_front();
        }
    }

    /// Seconds between the first and the last reading, and both.
    fn window(&self) -> Option<(f64, &Reading, &Reading)> {
        let (first, last) = (self.0.front()?, self.0.back()?);
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        (seconds > 0.2).then_some((seconds, first, last))
    }

    fn rates(&self) -> Rates {
        let Some((seconds, first, last)) = self.window() else { return Rates::default() };
        let rate = |from: u64, to: u64| round(to.saturating_sub(from) as f64 / seconds);
        Rates {
            pages: rate(first.totals.pages, last.totals.pages),
            bytes: rate(first.totals.bytes, last.totals.bytes),
            quads: rate(first.totals.quads, last.totals.quads),
            errors: rate(first.totals.errors, last.totals.errors),
        }
    }

    /// Pages per second of a phase, and the share of its workers' time.
    fn phase(&self, phase: Phase, workers: u64) -> (f64, f64) {
        let Some((seconds, first, last)) = self.window() else { return (0.0, 0.0) };
        let ((pages_before, busy_before), (pages, busy)) =
            (first.phases[phase as usize], last.phases[phase as usize]);
        let busy = busy.saturating_sub(busy_before).as_secs_f64();
        let share = busy / (seconds * workers.max(1) as f64);
        (round(pages.saturating_sub(pages_before) as f64 / seconds), round(share.clamp(0.0, 1.0)))
    }
}

impl Slot {
    /// Takes a reading, and the sample of this second for the series. Once a second.
    pub fn tick(&self, machine: &Machine) {
        let Some(live) = self.live() else {
            *self.meter.lock() = Meter::default();
            return;
        };
        self.hosts.lock().look(&live);
        let rates = {
            let mut meter = self.meter.lock();
            meter.read(&live.counters);
            meter.rates()
        };
        let sample: Sample = [
            rates.pages as f32,
            rates.bytes as f32,
            rates.quads as f32,
            rates.errors as f32,
            live.frontier.counts().queued as f32,
            machine.cpu_percent as f32,
            machine.memory_bytes as f32,
        ];
        let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
        self.series.lock().record(now, &sample);
    }

    /// The short view.
    pub fn brief(&self) -> CrawlBrief {
        let store = self.store();
        let Some(live) = self.live() else {
            let (state, message) = if self.is_elsewhere() {
                ("running", Some("another process crawls here; this server reads along".to_owned()))
            } else {
                ("stopped", None)
            };
            return CrawlBrief {
                id: self.id.clone(),
                state,
                started_at: None,
                message,
                pages: store.pages,
                quads: store.quads,
                errors: 0,
                queued: 0,
            };
        };
        let counts = live.frontier.counts();
        CrawlBrief {
            id: self.id.clone(),
            state: state_word(&live),
            started_at: live.started_at().map(|at| format!("{at:.3}")),
            message: live.message(),
            pages: counts.indexed,
            quads: store.quads,
            errors: live.counters.errors.load(Relaxed),
            queued: counts.queued,
        }
    }

    /// The long view.
    pub fn report(&self) -> CrawlReport {
        let brief = self.brief();
        let specification = self.specification().unwrap_or_default();
        let Some(live) = self.live() else {
            let nothing = Counters::default();
            let phases = Phase::ALL.map(|phase| phase_report(phase, &nothing, None, &Meter::default()));
            return CrawlReport {
                specification,
                elapsed_seconds: 0.0,
                phases: phases.into(),
                bottleneck: None,
                rates: Rates::default(),
                totals: Totals { pages: brief.pages, quads: brief.quads, ..Totals::default() },
                queues: Queues::default(),
                status_classes: status_classes(&nothing),
                latency_ms: LatencyReport::default(),
                brief,
            };
        };
        let meter = self.meter.lock();
        let spec = live.control.spec();
        let phases: Vec<PhaseReport> = Phase::ALL
            .iter()
            .map(|phase| phase_report(*phase, &live.counters, Some(&spec), &meter))
            .collect();
        CrawlReport {
            specification,
            elapsed_seconds: round(live.elapsed().as_secs_f64()),
            bottleneck: (brief.state == "running").then(|| bottleneck(&phases)).flatten(),
            phases,
            rates: meter.rates(),
            totals: totals(&live.counters),
            queues: queues(&live, &self.hosts.lock()),
            status_classes: status_classes(&live.counters),
            latency_ms: LatencyReport {
                p50: live.counters.latency.percentile_ms(0.5).map(round),
                p90: live.counters.latency.percentile_ms(0.9).map(round),
                p99: live.counters.latency.percentile_ms(0.99).map(round),
            },
            brief,
        }
    }
}

fn state_word(live: &LiveCrawl) -> &'static str {
    match live.control.state() {
        CrawlState::Running => "running",
        CrawlState::Paused => "paused",
        CrawlState::Stopping => "stopping",
        CrawlState::Idle | CrawlState::Ended(CrawlEnd::Stopped) => "stopped",
        CrawlState::Ended(CrawlEnd::Complete | CrawlEnd::BudgetSpent) => "finished",
        CrawlState::Failed => "failed",
    }
}

fn totals(counters: &Counters) -> Totals {
    Totals {
        pages: counters.indexed.load(Relaxed),
        bytes: counters.wire_bytes.load(Relaxed),
        quads: counters.quads.load(Relaxed),
        errors: counters.errors.load(Relaxed),
        not_modified: counters.not_modified.load(Relaxed),
        robots_denied: counters.robots_denied.load(Relaxed),
    }
}

fn phase_report(phase: Phase, counters: &Counters, spec: Option<&CrawlSpec>, meter: &Meter) -> PhaseReport {
    let numbers = counters.phase(phase);
    let (connections, cpus, commit) = spec.map_or((0, 0, 0), |spec| {
        (spec.work.connections as u64, spec.work.workers as u64, spec.work.commit_pages_max as u64 * 2)
    });
    // Detect, transform and extract are one trip to the same threads; who waits there waits for all three.
    let (workers, queue, queue_max) = match phase {
        Phase::Fetch => (connections, counters.fetching.load(Relaxed), connections),
        Phase::Transform => (cpus, counters.working.load(Relaxed), connections),
        Phase::Detect | Phase::Extract => (cpus, 0, 0),
        Phase::Index => (1, counters.committing.load(Relaxed), commit),
    };
    let (rate, busy_share) = meter.phase(phase, workers);
    let microseconds_per_page =
        if numbers.pages == 0 { 0.0 } else { round(numbers.busy.as_secs_f64() * 1e6 / numbers.pages as f64) };
    PhaseReport {
        name: phase.as_str(),
        pages: numbers.pages,
        rate,
        busy_share,
        queue,
        queue_max,
        microseconds_per_page,
    }
}

/// The phase whose workers have the least time left, when that is little. The CPU phases share their threads.
fn bottleneck(phases: &[PhaseReport]) -> Option<&'static str> {
    let share =
        |name: &str| phases.iter().find(|phase| phase.name == name).map_or(0.0, |phase| phase.busy_share);
    let cpu = share("detect") + share("transform") + share("extract");
    let shares = [("fetch", share("fetch")), ("transform", cpu), ("index", share("index"))];
    let (name, most) = shares.into_iter().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (most >= BOTTLENECK_SHARE).then_some(name)
}

/// Hosts that are counted by state.
const HOSTS_MAX: usize = 1_000_000;

/// Hosts by what their queues do, as of the last look.
#[derive(Debug, Default)]
pub struct HostStates {
    ready: u64,
    waiting: u64,
    retired: u64,
    looked: Option<Instant>,
    took: Duration,
}

impl HostStates {
    /// Looks again, unless that was dear and not long ago: looking may take a twentieth of the time.
    fn look(&mut self, live: &LiveCrawl) {
        if self.looked.is_some_and(|looked| looked.elapsed() < self.took * 20) {
            return;
        }
        let start = Instant::now();
        let query = QueueQuery { max: HOSTS_MAX, ..QueueQuery::default() };
        // A frontier that cannot tell has no hosts to show.
        let views = live.frontier.queues(&query).unwrap_or_default();
        let count =
            |states: &[QueueState]| views.iter().filter(|view| states.contains(&view.state)).count() as u64;
        *self = Self {
            ready: count(&[QueueState::Ready]),
            waiting: count(&[QueueState::Waiting, QueueState::Snoozed]),
            retired: count(&[QueueState::Retired, QueueState::Exhausted, QueueState::Blocked]),
            looked: Some(Instant::now()),
            took: start.elapsed(),
        };
    }
}

fn queues(live: &LiveCrawl, hosts: &HostStates) -> Queues {
    let counts = live.frontier.counts();
    Queues {
        queued: counts.queued,
        leased: counts.leased,
        ready_hosts: hosts.ready,
        waiting_hosts: hosts.waiting,
        hosts: counts.hosts,
        retired_hosts: hosts.retired,
    }
}

fn status_classes(counters: &Counters) -> BTreeMap<&'static str, u64> {
    let statuses = counters.statuses();
    [("none", 0), ("2xx", 2), ("3xx", 3), ("4xx", 4), ("5xx", 5)]
        .into_iter()
        .map(|(name, class)| (name, statuses[class] + if class == 0 { statuses[1] } else { 0 }))
        .collect()
}

/// Three digits behind the point are enough for anybody.
pub(crate) fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_phases_hold_up_together() {
        let phase = |name, busy_share| PhaseReport {
            name,
            pages: 1,
            rate: 1.0,
            busy_share,
            queue: 0,
            queue_max: 0,
            microseconds_per_page: 1.0,
        };
        let phases = |fetch, detect, transform, index, extract| {
            vec![
                phase("fetch", fetch),
                phase("detect", detect),
                phase("transform", transform),
                phase("index", index),
                phase("extract", extract),
            ]
        };
        assert_eq!(bottleneck(&phases(0.1, 0.1, 0.5, 0.3, 0.2)), Some("transform"));
        assert_eq!(bottleneck(&phases(0.1, 0.1, 0.2, 0.9, 0.1)), Some("index"));
        assert_eq!(bottleneck(&phases(0.5, 0.1, 0.1, 0.1, 0.1)), None);
    }

    #[test]
    fn rates_need_two_readings() {
        let counters = Counters::default();
        let mut meter = Meter::default();
        meter.read(&counters);
        assert_eq!(meter.rates(), Rates::default());
        counters.indexed.fetch_add(100, Relaxed);
        std::thread::sleep(Duration::from_millis(250));
        meter.read(&counters);
        assert!(meter.rates().pages > 10.0);
    }
}
