//! How costs grow: the same work in larger and larger portions, and the power of the size that the cost follows.

use bytes::Bytes;
use serde_json::{Value, json};
use webloom_detect::detect;
use webloom_extract::extract_links;
use webloom_model::{FetchedPage, PageUrl};
use webloom_pipeline::RawSpec;
use webloom_testkit::realistic_page;
use webloom_transform::{TransformConfig, transform};

use super::meter::measure;
use super::run::{index_all, writes};

/// A power up to this is called linear: a logarithm over three decades looks like 1.1.
const LINEAR_MAX: f64 = 1.15;

/// A portion is worked on until this much time of the processor is spent, so that the kernel's hundredths of a second tell something.
const SECONDS_MIN: f64 = 0.3;

/// The cost of one kind of work by size.
#[derive(Debug, Clone)]
pub(super) struct Growth {
    pub(super) phase: &'static str,
    /// What sizes are counted in.
    pub(super) unit: &'static str,
    /// Sizes, and seconds of the processor.
    pub(super) points: Vec<(f64, f64)>,
}

impl Growth {
    /// The power of the size that the cost follows: the slope of the line of least squares through the logarithms.
    pub(super) fn power(&self) -> f64 {
        let logs: Vec<(f64, f64)> =
            self.points.iter().map(|(size, seconds)| (size.ln(), seconds.max(1e-9).ln())).collect();
        let count = logs.len().max(1) as f64;
        let (mean_x, mean_y) = (
            logs.iter().map(|(x, _)| x).sum::<f64>() / count,
            logs.iter().map(|(_, y)| y).sum::<f64>() / count,
        );
        let covariance: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let variance: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
        if variance > 0.0 { covariance / variance } else { f64::NAN }
    }

    fn verdict(&self) -> &'static str {
        if self.power() <= LINEAR_MAX { "linear" } else { "more than linear" }
    }

    pub(super) fn to_text(&self) -> String {
        let points: Vec<String> = self
            .points
            .iter()
            .map(|(size, seconds)| format!("{size:.0}: {:.3} µs each", seconds / size * 1e6))
            .collect();
        format!(
            "{} by {}: {}; cost grows with the power {:.2}, {}.\n",
            self.phase,
            self.unit,
            points.join(", "),
            self.power(),
            self.verdict()
        )
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "phase": self.phase,
            "unit": self.unit,
            "points": self.points.iter().map(|(size, seconds)| json!({"size": size, "cpu_seconds": seconds})).collect::<Vec<_>>(),
            "power": self.power(),
            "verdict": self.verdict(),
        })
    }
}

/// All that is grown.
pub(super) fn all(seed: u64, quads_max: u64) -> anyhow::Result<Vec<Growth>> {
    let mut growths = pages_of_size(seed)?;
    growths.push(index(seed, quads_max)?);
    Ok(growths)
}

/// Detect, transform and extract over single pages from 10 KB to 10 MB.
fn pages_of_size(seed: u64) -> anyhow::Result<Vec<Growth>> {
    let growth = |phase| Growth { phase, unit: "bytes of a page", points: Vec::new() };
    let mut growths = [growth("detect"), growth("transform"), growth("extract")];
    let url = PageUrl::parse("https://www.example.org/long")?;
    let mut raw = RawSpec::default();
    raw.set("seeds", vec![url.as_str().to_owned()]);
    raw.set("scope.within", "anywhere");
    let spec = raw.check()?;
    let (config, links) = (spec.transform, spec.links);
    for size in [10_000_usize, 100_000, 1_000_000, 10_000_000] {
        let body = Bytes::from(page_of(seed, size));
        let bytes = body.len() as f64;
        let page = FetchedPage::local(url.clone(), Some("text/html; charset=utf-8"), body);
        growths[0].points.push((bytes, seconds_of(|| drop(std::hint::black_box(detect(page.clone()))))?));
        let detected = detect(page);
        growths[1]
            .points
            .push((bytes, seconds_of(|| drop(std::hint::black_box(transform(&detected, &config))))?));
        let graph = transform(&detected, &config);
        growths[2].points.push((
            bytes,
            seconds_of(|| drop(std::hint::black_box(extract_links(&url, 1, &graph, &links))))?,
        ));
    }
    Ok(growths.into())
}

/// Paragraphs, links and data, about so long.
fn page_of(seed: u64, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes * 2);
    let mut number = 0;
    while text.len() < bytes {
        text.push_str(&realistic_page(seed, number));
        number += 1;
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

/// Indexes of more and more quads: 10,000, 100,000 and so on.
fn index(seed: u64, quads_max: u64) -> anyhow::Result<Growth> {
    let mut growth = Growth { phase: "index", unit: "quads", points: Vec::new() };
    let mut size = 10_000;
    while size <= quads_max.max(10_000) {
        let portion = pages_with(seed, size)?;
        let folder = tempfile::tempdir()?;
        let (cost, (quads, _)) = measure(0, 0, || index_all(folder.path(), portion))?;
        growth.points.push((quads as f64, cost.cpu_seconds.max(0.01)));
        size *= 10;
    }
    Ok(growth)
}

/// Pages with so many quads between them.
fn pages_with(seed: u64, quads: u64) -> anyhow::Result<Vec<Vec<webloom_index::GraphWrite>>> {
    let config = TransformConfig::default();
    let (mut pages, mut count, mut number) = (Vec::new(), 0_u64, 0_u64);
    while count < quads {
        let url = PageUrl::parse(&format!("https://site{}.example/articles/{number}", number % 997))?;
        let text = Bytes::from(realistic_page(seed, number));
        let detected = detect(FetchedPage::local(url, Some("text/html; charset=utf-8"), text));
        let graph = transform(&detected, &config);
        let writes = writes(&detected, graph);
        count += writes.iter().map(|write| write.triples.len() as u64).sum::<u64>();
        pages.push(writes);
        number += 1;
    }
    Ok(pages)
}

/// What doing it once costs, from doing it often enough.
fn seconds_of(mut work: impl FnMut()) -> anyhow::Result<f64> {
    let start = super::super::extract::thread_seconds()?;
    let mut rounds = 0_u32;
    loop {
        work();
        rounds += 1;
        let spent = super::super::extract::thread_seconds()? - start;
        if spent >= SECONDS_MIN {
            return Ok(spent / f64::from(rounds));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_power_is_found() {
        for (power, verdict) in [(1.0, "linear"), (0.5, "linear"), (2.0, "more than linear")] {
            let points = [10_f64, 100.0, 1_000.0].map(|size| (size, 0.003 * size.powf(power))).to_vec();
            let growth = Growth { phase: "test", unit: "things", points };
            assert!((growth.power() - power).abs() < 1e-9, "{power}");
            assert_eq!(growth.verdict(), verdict);
        }
    }
}
