//! Numbers over time: an hour, a day and a week, in rings of fixed size that survive a restart.
//!
//! In: a sample a second. Out: means per step, nothing where nothing was recorded. Kept in one small file beside the crawl's data,
//! written whole and put in place by rename; a file that cannot be understood is a series that begins now.

use std::path::Path;

use serde_json::{Value, json};

/// What is recorded. The first four are rates per second, the others levels.
pub const METRICS: [&str; 7] = ["pages", "bytes", "quads", "errors", "queued", "cpu_percent", "memory_bytes"];

/// One value for each of [`METRICS`].
pub type Sample = [f32; METRICS.len()];

const NOTHING: Sample = [f32::NAN; METRICS.len()];

const MAGIC: &[u8] = b"webloom series 1\n";

/// How far back a ring goes, and how fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Ten seconds a step.
    Hour,
    /// Four minutes a step.
    Day,
    /// Half an hour a step.
    Week,
}

impl Span {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    /// The word used in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    fn step_seconds(self) -> u64 {
        match self {
            Self::Hour => 10,
            Self::Day => 240,
            Self::Week => 1_800,
        }
    }

    fn steps(self) -> usize {
        match self {
            Self::Hour | Self::Day => 360,
            Self::Week => 336,
        }
    }
}

/// Steps of one length, the newest of which is being filled.
#[derive(Debug, Clone)]
struct Ring {
    span: Span,
    /// Number of the newest step since 1970.
    newest: u64,
    /// Oldest first.
    steps: Vec<Sample>,
    /// Samples in the newest step.
    samples: u32,
}

impl Ring {
    fn new(span: Span) -> Self {
        Self { span, newest: 0, steps: vec![NOTHING; span.steps()], samples: 0 }
    }

    /// Makes `step` the newest, with nothing recorded in between.
    fn turn(&mut self, step: u64) {
        let passed = usize::try_from(step.saturating_sub(self.newest)).unwrap_or(usize::MAX);
        if passed == 0 {
            return;
        }
        let passed = passed.min(self.steps.len());
        self.steps.rotate_left(passed);
        let kept = self.steps.len() - passed;
        self.steps[kept..].fill(NOTHING);
        self.newest = step;
        self.samples = 0;
    }

    fn record(&mut self, second: u64, sample: &Sample) {
        let step = second / self.span.step_seconds();
        // A clock that was set back fills the newest step until time has caught up.
        self.turn(step);
        let Some(newest) = self.steps.last_mut() else { return };
        let weight = 1.0 / (self.samples + 1) as f32;
        for (mean, value) in newest.iter_mut().zip(sample) {
            *mean = if mean.is_nan() { *value } else { *mean + (*value - *mean) * weight };
        }
        self.samples = self.samples.saturating_add(1);
    }
}

/// All rings of one crawl.
#[derive(Debug, Clone)]
pub struct Series([Ring; 3]);

impl Default for Series {
    fn default() -> Self {
        Self(Span::ALL.map(Ring::new))
    }
}

impl Series {
    /// Adds the sample of a second, counted since 1970.
    pub fn record(&mut self, second: u64, sample: &Sample) {
        for ring in &mut self.0 {
            ring.record(second, sample);
        }
    }

    /// The steps of a span up to `now`, as JSON.
    pub fn to_json(&self, span: Span, now: u64) -> Value {
        let step_seconds = span.step_seconds();
        let mut ring = self.0[span as usize].clone();
        ring.turn(now / step_seconds);
        let first = (ring.newest + 1).saturating_sub(ring.steps.len() as u64) * step_seconds;
        let from = i64::try_from(first).ok().and_then(|first| jiff::Timestamp::from_second(first).ok());
        let points: serde_json::Map<String, Value> = METRICS
            .iter()
            .enumerate()
            .map(|(metric, name)| {
                let values = ring.steps.iter().map(|step| number(step[metric])).collect();
                ((*name).to_owned(), Value::Array(values))
            })
            .collect();
        json!({
            "span": span.as_str(),
            "step_seconds": step_seconds,
            "from": from.unwrap_or_default().to_string(),
            "points": points,
        })
    }

    /// What was kept in `file`, or an empty series.
    pub fn load(file: &Path) -> Self {
        std::fs::read(file).ok().and_then(|bytes| Self::decode(&bytes)).unwrap_or_default()
    }

    /// Keeps the series in `file`.
    pub fn save(&self, file: &Path) -> std::io::Result<()> {
        let fresh = file.with_extension("new");
        std::fs::write(&fresh, self.encode())?;
        std::fs::rename(&fresh, file)
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for ring in &self.0 {
            bytes.extend(ring.newest.to_le_bytes());
            bytes.extend(ring.samples.to_le_bytes());
            for value in ring.steps.iter().flatten() {
                bytes.extend(value.to_le_bytes());
            }
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut series = Self::default();
        for ring in &mut series.0 {
            let (newest, tail) = rest.split_first_chunk::<8>()?;
            let (samples, tail) = tail.split_first_chunk::<4>()?;
            ring.newest = u64::from_le_bytes(*newest);
            ring.samples = u32::from_le_bytes(*samples);
            rest = tail;
            for value in ring.steps.iter_mut().flatten() {
                let (number, tail) = rest.split_first_chunk::<4>()?;
                *value = f32::from_le_bytes(*number);
                rest = tail;
            }
        }
        rest.is_empty().then_some(series)
    }
}

/// A number with as many digits as it is good for; nothing for what was not recorded.
fn number(value: f32) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let value = f64::from(value);
    json!(if value.abs() < 1e6 { (value * 100.0).round() / 100.0 } else { value.round() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(value: f32) -> Sample {
        [value; METRICS.len()]
    }

    fn values(series: &Series, span: Span, now: u64) -> Vec<Option<f64>> {
        let json = series.to_json(span, now);
        json["points"]["pages"].as_array().unwrap().iter().map(Value::as_f64).collect()
    }

    #[test]
    fn a_step_is_the_mean_of_its_samples_and_gaps_stay_empty() {
        let mut series = Series::default();
        let start = 1_000_000_000;
        for second in 0..10 {
            series.record(start + second, &sample(second as f32));
        }
        series.record(start + 30, &sample(7.0));
        let hour = values(&series, Span::Hour, start + 30);
        assert_eq!(hour.len(), 360);
        assert_eq!(hour[356..], [Some(4.5), None, None, Some(7.0)]);
        // Later nothing was recorded, and that shows.
        assert_eq!(values(&series, Span::Hour, start + 50)[355..], [None, None, Some(7.0), None, None]);
        assert!(values(&series, Span::Hour, start + 100_000).iter().all(Option::is_none));
        assert_eq!(values(&series, Span::Day, start + 30).iter().flatten().count(), 1);
    }

    #[test]
    fn a_series_survives_a_restart_and_a_broken_file_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("series");
        let mut series = Series::default();
        series.record(1_000_000_000, &sample(3.0));
        series.save(&file).unwrap();
        let again = Series::load(&file);
        for span in Span::ALL {
            assert_eq!(again.to_json(span, 1_000_000_000), series.to_json(span, 1_000_000_000));
        }
        std::fs::write(&file, &std::fs::read(&file).unwrap()[..100]).unwrap();
        assert!(values(&Series::load(&file), Span::Hour, 1_000_000_000).iter().all(Option::is_none));
    }

    #[test]
    fn a_clock_set_back_loses_nothing() {
        let mut series = Series::default();
        series.record(1_000_000_000, &sample(3.0));
        series.record(999_999_000, &sample(5.0));
        assert_eq!(values(&series, Span::Hour, 1_000_000_000).last(), Some(&Some(4.0)));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes: Vec<u8>) {
            let _ = Series::decode(&bytes);
        }
    }
}
