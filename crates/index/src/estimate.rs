//! How many quads match a pattern, and how many different values they have, without reading them.
//!
//! In: a pattern of ids. Out: numbers for whoever orders joins. A pattern is a prefix of one of the six orders, so
//! counting its rows is two searches per segment. Different values are estimated from a few rows taken at even distances: each
//! is asked how many others share its value. Superseded graphs are counted as if they were current.

use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, Order, PREDICATE, SUBJECT};
use crate::overlay::IdQuad;
use crate::scan::IdPattern;
use crate::term::TermId;
use crate::view::{SegmentView, View};

/// Rows that are asked how many share their value.
const SAMPLES: u64 = 16;

fn order_of(pattern: IdPattern) -> Order {
    let bound = pattern.map(|id| id.is_some());
    Order::for_bound(bound[SUBJECT], bound[PREDICATE], bound[OBJECT], bound[GRAPH])
}

/// The local numbers of what is bound, in key order; nothing when the segment does not know one of the terms.
fn local_prefix(view: &SegmentView, order: Order, pattern: IdPattern) -> Option<Vec<u32>> {
    order.permute(pattern).into_iter().map_while(|id| id).map(|id| view.segment.find(id)).collect()
}

impl View {
    /// The number of quads that match: exact, but for superseded graphs, and copies of one quad in several segments.
    pub(crate) fn count(&self, pattern: IdPattern) -> Result<u64, IndexError> {
        let order = order_of(pattern);
        let mut count = 0;
        for view in &self.segments {
            if let Some(prefix) = local_prefix(view, order, pattern) {
                let rows = view.segment.rows_with_prefix(order, &prefix)?;
                count += rows.end - rows.start;
            }
        }
        if let Some(overlay) = &self.overlay {
            let prefix: Vec<TermId> = order.permute(pattern).into_iter().map_while(|id| id).collect();
            let keys = overlay.added(order);
            let start = keys.partition_point(|key| key[..prefix.len()] < *prefix);
            count += keys[start..].partition_point(|key| key[..prefix.len()] == *prefix) as u64;
        }
        Ok(count)
    }

    /// About how many different values the matching quads have at a place that the pattern leaves open.
    pub(crate) fn count_distinct(&self, pattern: IdPattern, place: usize) -> Result<f64, IndexError> {
        let total = self.count(pattern)? as f64;
        let mut shares = 0.0;
        let mut asked = 0.0;
        for quad in self.sample(pattern)? {
            let mut narrowed = pattern;
            narrowed[place] = Some(quad[place]);
            shares += 1.0 / (self.count(narrowed)? as f64).max(1.0);
            asked += 1.0;
        }
        if asked == 0.0 {
            return Ok(total);
        }
        Ok((total * shares / asked).clamp(1.0_f64.min(total), total))
    }

    /// A few matching quads, at even distances, from the segment that has most of them.
    fn sample(&self, pattern: IdPattern) -> Result<Vec<IdQuad>, IndexError> {
        let order = order_of(pattern);
        let mut most: Option<(&SegmentView, std::ops::Range<u64>)> = None;
        for view in &self.segments {
            if let Some(prefix) = local_prefix(view, order, pattern) {
                let rows = view.segment.rows_with_prefix(order, &prefix)?;
                let length = rows.end - rows.start;
                if length > most.as_ref().map_or(0, |(_, rows)| rows.end - rows.start) {
                    most = Some((view, rows));
                }
            }
        }
        let Some((view, rows)) = most else {
            return Ok(Vec::new());
        };
        let length = rows.end - rows.start;
        let samples = length.min(SAMPLES);
        let mut quads = Vec::with_capacity(samples as usize);
        for sample in 0..samples {
            let number = rows.start + (2 * sample + 1) * length / (2 * samples);
            let Some(row) = view.segment.row_at(order, number)? else {
                continue;
            };
            let mut quad = [TermId::DEFAULT_GRAPH; 4];
            for (column, part) in order.columns().into_iter().enumerate() {
                quad[part] = view
                    .segment
                    .term_id(row[column])
                    .ok_or_else(|| view.segment.damaged("a row names a term that does not exist"))?;
            }
            quads.push(quad);
        }
        Ok(quads)
    }
}
