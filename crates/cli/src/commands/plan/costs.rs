//! What a page costs in each phase, read from what `webloom bench phases --json` printed.

use anyhow::Context;
use serde_json::Value;

/// The phases, in their order.
pub(super) const PHASES: [&str; 5] = ["fetch", "detect", "transform", "index", "extract"];

/// Measured for this version; see bench/README.md for how.
const RECORDED: &str = include_str!("recorded.json");

/// What a page costs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Costs {
    /// Seconds of a core per page, by phase.
    pub(super) cpu_seconds: [f64; 5],
    /// Seconds of a core per page of the whole crawl: what the phases cost together, with all that is between them.
    pub(super) whole: f64,
    /// Bytes of a page that was measured.
    pub(super) page_bytes: f64,
    /// Bytes of the index per page.
    pub(super) index_bytes: f64,
    /// URLs that are seen for the first time, per page: 41 billion for 6.4 billion pages in IRLbot's crawl.
    pub(super) urls_per_page: f64,
    /// Bytes of the frontier on disk per URL.
    pub(super) frontier_bytes_per_url: f64,
    /// Bytes of the frontier in memory per host that has URLs left.
    pub(super) frontier_bytes_per_host: f64,
    /// Bytes of an archive per byte of a page: gzip's five to one.
    pub(super) archive_share: f64,
}

impl Costs {
    /// As measured for this version.
    pub(super) fn recorded() -> anyhow::Result<Self> {
        Self::parse(RECORDED)
    }

    /// As printed by the benchmark.
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let json: Value = serde_json::from_str(text)?;
        let number = |path: &str| {
            json.pointer(path)
                .and_then(Value::as_f64)
                .with_context(|| format!("the number `{path}` is missing"))
        };
        let mut cpu_seconds = [0.0; 5];
        for (cost, phase) in cpu_seconds.iter_mut().zip(PHASES) {
            *cost = number(&format!("/phases/{phase}/cpu_seconds_per_1000_pages"))? / 1e3;
        }
        Ok(Self {
            cpu_seconds,
            whole: number("/phases/whole/cpu_seconds_per_1000_pages")? / 1e3,
            page_bytes: number("/phases/fetch/bytes")? / number("/phases/fetch/pages")?.max(1.0),
            index_bytes: number("/disk_bytes_per_page")?,
            urls_per_page: 6.4,
            frontier_bytes_per_url: 80.0,
            frontier_bytes_per_host: 400.0,
            archive_share: 0.2,
        })
    }

    /// The cost of a page of another size. What phases cost follows the bytes, but for a share of each page alone.
    pub(super) fn of_page(&self, bytes: f64) -> Self {
        const BY_BYTES: [f64; 5] = [0.3, 1.0, 1.0, 1.0, 1.0];
        let stretch = bytes / self.page_bytes.max(1.0);
        let mut other = self.clone();
        for (cost, share) in other.cpu_seconds.iter_mut().zip(BY_BYTES) {
            *cost *= 1.0 - share + share * stretch;
        }
        let sum = |costs: &[f64; 5]| costs.iter().sum::<f64>();
        other.whole *= sum(&other.cpu_seconds) / sum(&self.cpu_seconds).max(1e-12);
        other.page_bytes = bytes;
        other.index_bytes *= stretch;
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_can_be_read() {
        let costs = Costs::recorded().unwrap();
        assert!(costs.cpu_seconds.iter().all(|cost| *cost > 0.0));
        assert!(costs.whole > 0.0 && costs.page_bytes > 0.0 && costs.index_bytes > 0.0);
    }

    #[test]
    fn larger_pages_cost_more() {
        let costs = Costs::recorded().unwrap();
        let twice = costs.of_page(costs.page_bytes * 2.0);
        assert!((twice.cpu_seconds[2] / costs.cpu_seconds[2] - 2.0).abs() < 1e-9);
        assert!(twice.cpu_seconds[0] < costs.cpu_seconds[0] * 2.0);
        assert_eq!(costs.of_page(costs.page_bytes), costs);
    }

    #[test]
    fn something_else_is_refused_by_name() {
        let error = Costs::parse("{\"phases\": {}}").unwrap_err().to_string();
        assert!(error.contains("/phases/fetch"), "{error}");
    }
}
