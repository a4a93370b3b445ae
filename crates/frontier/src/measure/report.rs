//! A measurement as it is printed and kept.

use serde::Serialize;

use super::{MeasureOptions, Measured, Part, Tenth};

/// All of a measurement, in plain numbers.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    urls: u64,
    hosts: u64,
    known_percent: u32,
    seconds: f64,
    cpu_seconds: f64,
    reopened_in_seconds: f64,
    worst_call_ms: f64,
    last_tenth_to_first: Ratios,
    last_tenth_to_first_per_cpu_second: Ratios,
    /// Memory of its own in the last tenth to that in the second one, which is the first in which all parts have their full size.
    anonymous_last_to_second: f64,
    /// The furthest that memory of its own was from the middle of the least and the most, from the second tenth on, as a part of that middle.
    anonymous_spread: f64,
    /// The same as the first with what the system has at hand of mapped files, and can have back at any time.
    resident_last_to_second: f64,
    resident_last_to_first: f64,
    tenths: Vec<TenthReport>,
}

#[derive(Debug, Clone, Serialize)]
struct Ratios {
    checks: f64,
    checks_anywhere: f64,
    /// Pages with their links, leased and settled.
    crawl: f64,
    links: f64,
    fill: f64,
    leases: f64,
    pages: f64,
    scores: f64,
    /// The machine itself.
    yardstick: f64,
}

#[derive(Debug, Clone, Serialize)]
struct TenthReport {
    urls: u64,
    checks: PartReport,
    checks_anywhere: PartReport,
    /// Pages with their links, leased and settled.
    crawl: PartReport,
    links: PartReport,
    fill: PartReport,
    leases: PartReport,
    pages: PartReport,
    scores: PartReport,
    yardstick: PartReport,
    seconds: f64,
    cpu_seconds: f64,
    resident_bytes: u64,
    resident_anonymous_bytes: u64,
    resident_most_bytes: u64,
    disk_bytes_per_url: f64,
    written_bytes_per_url: f64,
    runs: usize,
}

#[derive(Debug, Clone, Serialize)]
struct PartReport {
    per_second: f64,
    per_cpu_second: f64,
    worst_call_ms: f64,
}

impl Report {
    /// The report of a measurement.
    pub fn new(options: &MeasureOptions, measured: &Measured) -> Self {
        let tenths = &measured.tenths;
        let (first, last) =
            (tenths.first().copied().unwrap_or_default(), tenths.last().copied().unwrap_or_default());
        let worst = tenths.iter().map(Tenth::worst_call).max().unwrap_or_default();
        Self {
            urls: options.urls,
            hosts: options.hosts,
            known_percent: options.known_percent,
            seconds: tenths.iter().map(|tenth| tenth.wall.as_secs_f64()).sum(),
            cpu_seconds: tenths.iter().map(|tenth| tenth.cpu.as_secs_f64()).sum(),
            reopened_in_seconds: measured.reopened.as_secs_f64(),
            worst_call_ms: worst.as_secs_f64() * 1e3,
            last_tenth_to_first: Ratios::new(&first, &last, Part::per_second),
            last_tenth_to_first_per_cpu_second: Ratios::new(&first, &last, Part::per_cpu_second),
            anonymous_last_to_second: last.anonymous as f64
                / tenths.get(1).map_or(1, |tenth| tenth.anonymous).max(1) as f64,
            anonymous_spread: spread(tenths.iter().skip(1).map(|tenth| tenth.anonymous)),
            resident_last_to_second: last.resident as f64
                / tenths.get(1).map_or(1, |tenth| tenth.resident).max(1) as f64,
            resident_last_to_first: last.resident as f64 / first.resident.max(1) as f64,
            tenths: tenths.iter().map(TenthReport::new).collect(),
        }
    }

    /// How the last tenth compares with the first, in words.
    pub fn ratios(&self) -> String {
        let words = |ratios: &Ratios| {
            let Ratios { checks, checks_anywhere, crawl, links, fill, leases, pages, scores, yardstick } =
                ratios;
            format!(
                "checks {checks:.2} (of any URLs {checks_anywhere:.2}), leasing and settling pages with their links {crawl:.2}; of which \
                 leases {leases:.2}, links {links:.2}, new links {fill:.2}; pages without links {pages:.2}, scores {scores:.2}, \
                 the machine itself {yardstick:.2}"
            )
        };
        format!(
            "by the wall: {}\nby the processor: {}\nmemory of its own, last tenth to second: {:.2}, from the second on within {:.1} % of its middle; \
             with mapped files: {:.2}",
            words(&self.last_tenth_to_first),
            words(&self.last_tenth_to_first_per_cpu_second),
            self.anonymous_last_to_second,
            self.anonymous_spread * 100.0,
            self.resident_last_to_second
        )
    }
}

/// How far the least and the most of some numbers are from the middle between them, as a part of it.
fn spread(numbers: impl Iterator<Item = u64> + Clone) -> f64 {
    let (least, most) = (numbers.clone().min().unwrap_or(0) as f64, numbers.max().unwrap_or(0) as f64);
    if most > 0.0 { (most - least) / (most + least) } else { 0.0 }
}

impl Ratios {
    fn new(first: &Tenth, last: &Tenth, rate: fn(&Part) -> f64) -> Self {
        let ratio = |part: fn(&Tenth) -> Part| rate(&part(last)) / rate(&part(first)).max(1e-9);
        Self {
            checks: ratio(|tenth| tenth.checks),
            checks_anywhere: ratio(|tenth| tenth.checks_anywhere),
            crawl: ratio(Tenth::crawl),
            links: ratio(|tenth| tenth.links),
            fill: ratio(|tenth| tenth.fill),
            leases: ratio(|tenth| tenth.leases),
            pages: ratio(|tenth| tenth.pages),
            scores: ratio(|tenth| tenth.scores),
            yardstick: ratio(|tenth| tenth.yardstick),
        }
    }
}

impl TenthReport {
    fn new(tenth: &Tenth) -> Self {
        let urls = tenth.urls.max(1) as f64;
        Self {
            urls: tenth.urls,
            checks: PartReport::new(&tenth.checks),
            checks_anywhere: PartReport::new(&tenth.checks_anywhere),
            crawl: PartReport::new(&tenth.crawl()),
            links: PartReport::new(&tenth.links),
            fill: PartReport::new(&tenth.fill),
            leases: PartReport::new(&tenth.leases),
            pages: PartReport::new(&tenth.pages),
            scores: PartReport::new(&tenth.scores),
            yardstick: PartReport::new(&tenth.yardstick),
            seconds: tenth.wall.as_secs_f64(),
            cpu_seconds: tenth.cpu.as_secs_f64(),
            resident_bytes: tenth.resident,
            resident_anonymous_bytes: tenth.anonymous,
            resident_most_bytes: tenth.resident_most,
            disk_bytes_per_url: tenth.disk as f64 / urls,
            written_bytes_per_url: tenth.written as f64 / urls,
            runs: tenth.runs,
        }
    }
}

impl PartReport {
    fn new(part: &Part) -> Self {
        Self {
            per_second: part.per_second().round(),
            per_cpu_second: part.per_cpu_second().round(),
            worst_call_ms: part.worst.as_secs_f64() * 1e3,
        }
    }
}
