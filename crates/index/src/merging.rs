//! Merging behind the writer: which segments, when, and how hard.
//!
//! In: the segments of the current view. Out: fewer of them, by [`merge`], put in the place of the run they came from. The thread
//! that does this takes a bounded share of one core ([`IndexConfig::merge_cpu_percent`]) unless somebody waits for it or segments
//! pile up, and starts nothing that the disk has no room for. Start at [`Shared::merge_until_stopped`].

use std::fs;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::IndexError;
use crate::segment::Segment;
use crate::segment::merge::{MergeInput, MergeSettings, merge};
use crate::segment::pack::Row;
use crate::segment::read::segment_path;
use crate::view::{SegmentView, View};
use crate::writer::{IndexConfig, Shared};

impl Shared {
    pub(crate) fn merge_until_stopped(&self) {
        loop {
            {
                let mut state = self.merge_state.lock();
                state.running = false;
                self.merge_changed.notify_all();
                while !state.pending && !self.stop.load(Ordering::Relaxed) {
                    self.merge_changed.wait(&mut state);
                }
                state.pending = false;
                if self.stop.load(Ordering::Relaxed) {
                    self.merge_changed.notify_all();
                    return;
                }
                state.running = true;
            }
            loop {
                let _merging = self.merging.lock();
                let view = Arc::clone(&self.current.read());
                let Some(run) = pick_run(&view, &self.config) else {
                    break;
                };
                if let Err(error) = self.merge_run(&view, run) {
                    // Reading and writing go on with more segments than there should be; the next commit is the next
                    // occasion to try.
                    tracing::error!(%error, "segments could not be merged");
                    break;
                }
                if self.stop.load(Ordering::Relaxed) {
                    break;
                }
                // Whoever waits because there are too many segments may find them fewer now.
                drop(self.merge_state.lock());
                self.merge_changed.notify_all();
            }
        }
    }

    /// Merges segments that are adjacent in age into one that takes their place. The caller holds `merging`.
    pub(crate) fn merge_run(&self, view: &View, run: Range<usize>) -> Result<(), IndexError> {
        let inputs: Vec<MergeInput> = view.segments[run.clone()]
            .iter()
            .map(|view| MergeInput { segment: Arc::clone(&view.segment), dead: view.dead.clone() })
            .collect();
        self.make_sure_of_room(inputs.iter().map(|input| input.segment.file_bytes()).sum())?;
        let number = {
            let mut writer = self.writer.lock();
            writer.manifest.next_segment += 1;
            writer.manifest.next_segment - 1
        };
        let path = segment_path(&self.directory, number);
        let quads: u64 = view.segments[run.clone()].iter().map(SegmentView::live_quads).sum();
        let mut pace = Pace::new(self.config.merge_cpu_percent);
        let mut go_on = || {
            if !self.is_hurried() {
                pace.rest(&self.stop);
            }
            !self.stop.load(Ordering::Relaxed)
        };
        let settings = MergeSettings {
            oldest: run.start == 0,
            compress: quads > self.config.small_segment_quads,
            // Two copies of each row are kept while they are sorted.
            sorted_rows_max: (self.config.merge_memory_bytes / (2 * size_of::<Row>())) as u64,
        };
        let merged = merge(&path, &inputs, settings, &mut go_on).and_then(|finished| {
            if finished { Segment::open(&self.directory, number).map(Some) } else { Ok(None) }
        });
        let merged = match merged {
            Ok(Some(segment)) => Arc::new(segment),
            stopped_or_failed => {
                let _ = fs::remove_file(&path);
                return stopped_or_failed.map(|_| ());
            }
        };
        {
            let mut writer = self.writer.lock();
            // Meanwhile commits may have added segments at the end; the run is still where it was.
            let mut segments: Vec<Arc<Segment>> =
                self.current.read().segments.iter().map(|view| Arc::clone(&view.segment)).collect();
            let is_nothing = merged.quad_count() == 0 && merged.graph_count() == 0;
            segments.splice(run.clone(), (!is_nothing).then(|| Arc::clone(&merged)));
            if let Err(error) = self.swing(&mut writer, &segments) {
                writer.text = None;
                return Err(error);
            }
            if is_nothing {
                let _ = fs::remove_file(&path);
            }
        }
        for input in &inputs {
            // Whoever has the file mapped keeps it; what cannot be removed goes when the index is next opened.
            if let Err(error) = fs::remove_file(input.segment.path()) {
                tracing::warn!(path = %input.segment.path().display(), %error, "merged segment file stays");
            }
        }
        tracing::debug!(segments = inputs.len(), quads = merged.quad_count(), "segments merged");
        Ok(())
    }

    /// The inputs of a merge stay until its result is in place, so for a while both need room. A full disk would stop
    /// commits; segments that are not merged only make reading slower.
    fn make_sure_of_room(&self, needed: u64) -> Result<(), IndexError> {
        // A file system that does not say how much room it has is taken to have some.
        let available = fs4::available_space(&self.directory).unwrap_or(u64::MAX);
        if available < needed.saturating_add(self.config.disk_reserve_bytes) {
            return Err(IndexError::NoRoom { path: self.directory.clone(), needed, available });
        }
        Ok(())
    }

    /// True when merging should take all the CPU it can get: somebody waits for it, or segments pile up.
    fn is_hurried(&self) -> bool {
        self.hurried.load(Ordering::Relaxed) > 0
            || self.current.read().segments.len() >= self.config.segments_max / 2
    }
}

/// Keeps a thread to a share of a core by resting in between.
struct Pace {
    percent: u32,
    since: Instant,
}

/// Longest rest at a time, so that stopping does not take long.
const REST_MAX: Duration = Duration::from_millis(200);

impl Pace {
    fn new(percent: u8) -> Self {
        Self { percent: u32::from(percent.clamp(1, 100)), since: Instant::now() }
    }

    /// Rests for as long as the work since the last rest calls for.
    fn rest(&mut self, stop: &AtomicBool) {
        let rest = self.since.elapsed() * (100 - self.percent) / self.percent;
        if !stop.load(Ordering::Relaxed) && rest > Duration::ZERO {
            std::thread::sleep(rest.min(REST_MAX));
        }
        self.since = Instant::now();
    }
}

/// The run of segments to merge next, if any.
///
/// Segments fall into levels by size, each [`IndexConfig::merge_factor`] times the one below. As soon as that many of one
/// level lie side by side (smaller ones in between come along), they become one of the next. So a quad is
/// rewritten once per level, and there are never more than a few segments of each. A segment most of which is
/// superseded is rewritten alone.
fn pick_run(view: &View, config: &IndexConfig) -> Option<Range<usize>> {
    let factor = config.merge_factor.max(2);
    let levels: Vec<u32> = view
        .segments
        .iter()
        .map(|segment| level(segment.live_quads(), config.small_segment_quads, factor as u64))
        .collect();
    let terms = |run: &Range<usize>| -> u64 {
        view.segments[run.clone()].iter().map(|view| u64::from(view.segment.term_count())).sum()
    };
    for wanted in 0..=levels.iter().copied().max()? {
        let mut end = levels.len();
        while end > 0 {
            let start = levels[..end].iter().rposition(|level| *level > wanted).map_or(0, |at| at + 1);
            let run = start..end;
            let alike = levels[run.clone()].iter().filter(|level| **level == wanted).count();
            // A segment numbers its terms with 32 bits; what would not fit stays apart.
            if alike >= factor && terms(&run) < u64::from(u32::MAX) {
                return Some(run);
            }
            end = start.saturating_sub(1);
        }
    }
    view.segments
        .iter()
        .position(|segment| {
            segment.segment.quad_count() > config.small_segment_quads
                && segment.live_quads() < segment.segment.quad_count() / 2
        })
        .map(|index| index..index + 1)
}

fn level(quads: u64, small: u64, factor: u64) -> u32 {
    let mut level = 0;
    let mut bound = small.max(1);
    while quads > bound {
        bound = bound.saturating_mul(factor);
        level += 1;
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_at_half_speed_rests_as_long_as_it_works() {
        let stop = AtomicBool::new(false);
        let mut pace = Pace::new(50);
        std::thread::sleep(Duration::from_millis(20));
        let resting = Instant::now();
        pace.rest(&stop);
        assert!(resting.elapsed() >= Duration::from_millis(20));
        for (percent, stopped) in [(100, false), (1, true)] {
            let mut pace = Pace::new(percent);
            std::thread::sleep(Duration::from_millis(20));
            let resting = Instant::now();
            pace.rest(&AtomicBool::new(stopped));
            assert!(resting.elapsed() < Duration::from_millis(15), "{percent}");
        }
    }

    #[test]
    fn levels_grow_by_the_factor() {
        for (quads, expected) in [(0, 0), (10, 0), (11, 1), (40, 1), (41, 2), (160, 2), (u64::MAX, 31)] {
            assert_eq!(level(quads, 10, 4), expected, "{quads}");
        }
    }
}
