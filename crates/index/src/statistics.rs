//! Statistics kept at ingest: how often each predicate and each class is used.
//!
//! In: the lists of predicates that every segment carries, and its orders. Out: numbers for whoever orders joins or wants to know
//! what is in an index. Each segment counts exactly; sums over several count a subject once for each segment it is in,
//! and superseded graphs in proportion, so the numbers are exact for an index of one clean segment and a little high for others.

use std::collections::BTreeMap;

use oxrdf::vocab::rdf;
use serde::Serialize;

use crate::error::IndexError;
use crate::order::Order;
use crate::segment::read::Unpacked;
use crate::snapshot::Snapshot;
use crate::term::TermId;
use crate::view::SegmentView;

/// How a predicate is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PredicateStatistics {
    /// The predicate; [`Snapshot::term`] has its IRI.
    #[serde(skip)]
    pub predicate: TermId,
    /// Quads that have it.
    pub quads: u64,
    /// Distinct subjects of those.
    pub subjects: u64,
    /// Distinct objects of those.
    pub objects: u64,
}

/// How a class is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClassStatistics {
    /// The class; [`Snapshot::term`] has its IRI.
    #[serde(skip)]
    pub class: TermId,
    /// Quads that say of something that it is of this class.
    pub quads: u64,
}

/// What is left of a count when superseded graphs have their share taken out.
fn live_share(view: &SegmentView, count: u64) -> u64 {
    let (live, all) = (view.live_quads(), view.segment.quad_count());
    if live == all || all == 0 {
        return count;
    }
    (u128::from(count) * u128::from(live)).div_ceil(u128::from(all)) as u64
}

impl Snapshot {
    /// Every predicate in use, in order of id. Reads a few bytes per predicate and segment, no quads.
    pub fn predicate_statistics(&self) -> Vec<PredicateStatistics> {
        let mut all: BTreeMap<TermId, PredicateStatistics> = BTreeMap::new();
        for view in &self.view.segments {
            for entry in view.segment.predicate_entries() {
                let Some(predicate) = view.segment.term_id(entry.local) else {
                    continue;
                };
                let sum = all.entry(predicate).or_insert(PredicateStatistics {
                    predicate,
                    quads: 0,
                    subjects: 0,
                    objects: 0,
                });
                sum.quads += live_share(view, entry.quads);
                sum.subjects += live_share(view, u64::from(entry.subjects));
                sum.objects += live_share(view, u64::from(entry.objects));
            }
        }
        all.into_values().filter(|statistics| statistics.quads > 0).collect()
    }

    /// Unpacks every row of one order, superseded ones included, and says how many there are. This is what a scan costs before
    /// anything is done with its rows.
    pub fn read_through(&self, order: Order) -> Result<u64, IndexError> {
        let mut unpacked = Unpacked::default();
        let (mut rows, mut sum) = (0, 0u32);
        for view in &self.view.segments {
            let mut block = 0;
            while view.segment.unpack_block(order, block, &mut unpacked)? {
                block += 1;
                rows += unpacked.rows as u64;
                for column in &unpacked.columns {
                    sum = column[..unpacked.rows].iter().fold(sum, |sum, number| sum.wrapping_add(*number));
                }
            }
        }
        // Nobody wants the sum, but what nobody wants is not computed.
        std::hint::black_box(sum);
        Ok(rows)
    }

    /// Every object of `rdf:type`, most used first. Looks once per class and segment.
    pub fn class_statistics(&self) -> Result<Vec<ClassStatistics>, IndexError> {
        let is_a = self.view.hasher.iri(rdf::TYPE.as_str());
        let mut all: BTreeMap<TermId, u64> = BTreeMap::new();
        for view in &self.view.segments {
            let segment = &view.segment;
            let Some(is_a) = segment.find(is_a) else {
                continue;
            };
            let rows = segment.rows_with_prefix(Order::Posc, &[is_a])?;
            let mut at = rows.start;
            while at < rows.end {
                let Some([_, class, _, _]) = segment.row_at(Order::Posc, at)? else {
                    break;
                };
                let end = segment.rows_with_prefix(Order::Posc, &[is_a, class])?.end;
                let id = segment.term_id(class).ok_or_else(|| segment.damaged("a class is no term"))?;
                *all.entry(id).or_default() += live_share(view, end.saturating_sub(at));
                at = end.max(at + 1);
            }
        }
        let mut classes: Vec<ClassStatistics> =
            all.into_iter().map(|(class, quads)| ClassStatistics { class, quads }).collect();
        classes.sort_by_key(|class| std::cmp::Reverse(class.quads));
        Ok(classes)
    }
}
