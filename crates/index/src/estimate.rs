//! How many quads match a pattern, and how many different values they have, without reading them.
//!
//! In: a pattern of ids. Out: numbers for whoever orders joins. A pattern is a prefix of one of the six orders, so
//! counting its rows is two searches per segment. Different values are estimated from a few rows taken at even distances: each
//! is asked how many others share its value. Superseded graphs are counted as if they were current. What was inferred
//! and kept may be most of an index, so what is not asked about it does not count it ([`View::unseen_inferred`]).

use crate::entail::Rules;
use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, Order, PREDICATE, SUBJECT};
use crate::overlay::IdQuad;
use crate::scan::IdPattern;
use crate::term::TermId;
use crate::view::{SegmentView, View};

/// Rows that are asked how many share their value.
const SAMPLES: u64 = 16;
/// Rows of unseen graphs that are passed over to come to one that can be asked.
const PASSED_OVER_MAX: u64 = 32;

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

    /// The graphs of inferred statements that there are and that are no part of the default graph.
    pub(crate) fn unseen_inferred(&self) -> Vec<TermId> {
        Rules::ALL
            .map(|rules| self.hasher.iri(rules.graph_name().as_str()))
            .into_iter()
            .filter(|id| {
                let parts = || self.segments.iter();
                let is_shown =
                    parts().any(|part| part.shown.is_some() && part.shown == part.segment.find(*id));
                let is_there =
                    self.overlay.is_some() || parts().any(|part| part.segment.find_graph(*id).is_some());
                is_there && !is_shown
            })
            .collect()
    }

    /// [`View::count`] without some graphs, unless the pattern names its graph.
    pub(crate) fn count_without(&self, pattern: IdPattern, unseen: &[TermId]) -> Result<u64, IndexError> {
        let mut count = self.count(pattern)?;
        if pattern[GRAPH].is_none() {
            for graph in unseen {
                let mut inside = pattern;
                inside[GRAPH] = Some(*graph);
                count = count.saturating_sub(self.count(inside)?);
            }
        }
        Ok(count)
    }

    /// About how many different values the matching quads outside of some graphs have at a place that the pattern
    /// leaves open.
    pub(crate) fn count_distinct(
        &self,
        pattern: IdPattern,
        place: usize,
        unseen: &[TermId],
    ) -> Result<f64, IndexError> {
        let total = self.count_without(pattern, unseen)? as f64;
        let mut shares = 0.0;
        let mut asked = 0.0;
        for quad in self.sample(pattern, unseen)? {
            let mut narrowed = pattern;
            narrowed[place] = Some(quad[place]);
            shares += 1.0 / (self.count_without(narrowed, unseen)? as f64).max(1.0);
            asked += 1.0;
        }
        if asked == 0.0 {
            return Ok(total);
        }
        Ok((total * shares / asked).clamp(1.0_f64.min(total), total))
    }

    /// A few matching quads outside of some graphs, at even distances, from the segment that has most of them.
    fn sample(&self, pattern: IdPattern, unseen: &[TermId]) -> Result<Vec<IdQuad>, IndexError> {
        let order = order_of(pattern);
        let mut most: Option<(&SegmentView, std::ops::Range<u64>)> = None;
        let mut most_seen = 0;
        for view in &self.segments {
            let Some(prefix) = local_prefix(view, order, pattern) else {
                continue;
            };
            let rows = view.segment.rows_with_prefix(order, &prefix)?;
            let mut seen = rows.end - rows.start;
            for graph in unseen.iter().filter(|_| pattern[GRAPH].is_none()) {
                let mut inside = pattern;
                inside[GRAPH] = Some(*graph);
                let order = order_of(inside);
                if let Some(prefix) = local_prefix(view, order, inside) {
                    let unseen = view.segment.rows_with_prefix(order, &prefix)?;
                    seen = seen.saturating_sub(unseen.end - unseen.start);
                }
            }
            if seen > most_seen {
                most_seen = seen;
                most = Some((view, rows));
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
            for number in number..rows.end.min(number + PASSED_OVER_MAX) {
                let Some(row) = view.segment.row_at(order, number)? else {
                    break;
                };
                let mut quad = [TermId::DEFAULT_GRAPH; 4];
                for (column, part) in order.columns().into_iter().enumerate() {
                    quad[part] = view
                        .segment
                        .term_id(row[column])
                        .ok_or_else(|| view.segment.damaged("a row names a term that does not exist"))?;
                }
                if !unseen.contains(&quad[GRAPH]) {
                    quads.push(quad);
                    break;
                }
            }
        }
        Ok(quads)
    }
}
