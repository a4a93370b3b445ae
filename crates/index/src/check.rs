//! Checking an index from end to end: is every byte what was written, and does everything agree?
//!
//! In: a directory. Out: a [`CheckReport`] with everything that is wrong, each said in a sentence. Reads all of the
//! index, changes none of it.

use std::path::Path;

use crate::error::IndexError;
use crate::order::Order;
use crate::reader::IndexReader;
use crate::segment::Segment;
use crate::segment::read::GraphEntry;
use crate::term::TermId;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// The state that was checked.
    pub generation: u64,
    /// Segments looked at.
    pub segments: u64,
    /// Quads in them, superseded ones included.
    pub quads: u64,
    /// Everything that is wrong; empty when nothing is.
    pub problems: Vec<String>,
}

impl CheckReport {
    /// True when nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Checks the index in `directory`: all checksums, the order of terms, the agreement of the six orders, the counts
/// of graphs, and the text index's files. An error means that the index could not even be opened.
pub fn check(directory: &Path) -> Result<CheckReport, IndexError> {
    let snapshot = IndexReader::open(directory)?.snapshot()?;
    let view = &snapshot.view;
    let mut report = CheckReport { generation: view.generation, ..CheckReport::default() };
    for part in &view.segments {
        report.segments += 1;
        report.quads += part.segment.quad_count();
        if let Err(error) = check_segment(&part.segment, &mut report.problems) {
            report.problems.push(error.to_string());
        }
    }
    match view.text.damaged_files() {
        Ok(damaged) => report
            .problems
            .extend(damaged.iter().map(|path| format!("text index file `{}` is damaged", path.display()))),
        Err(error) => report.problems.push(error.to_string()),
    }
    Ok(report)
}

fn check_segment(segment: &Segment, problems: &mut Vec<String>) -> Result<(), IndexError> {
    segment.verify()?;
    let mut complain = |problem: String| problems.push(format!("`{}`: {problem}", segment.path().display()));

    let mut last = None;
    let mut buffer = Vec::new();
    for local in 0..segment.term_count() {
        let id = segment.term_id(local);
        if last >= id && last.is_some() {
            complain(format!("term {local} is out of order"));
        }
        if id != Some(TermId::DEFAULT_GRAPH) {
            segment.term(local, &mut buffer)?;
        }
        if id.and_then(|id| segment.find(id)) != Some(local) {
            complain(format!("term {local} is not found by its id"));
        }
        last = id;
    }

    // The orders agree when they have the same number of rows, each sorted and distinct, and the same sum of a
    // hash of their quads, which does not depend on the order they come in.
    let mut sums = Vec::new();
    let mut counts: Vec<GraphEntry> = Vec::new();
    for order in Order::ALL {
        let mut position = segment.seek(order, &[])?;
        let (mut rows, mut sum, mut last) = (0u64, 0u64, None);
        while let Some(row) = segment.next_row(order, &mut position)? {
            if last >= Some(row) {
                complain(format!("row {rows} of order {order:?} is out of order"));
            }
            last = Some(row);
            rows += 1;
            let mut quad = [0; 4];
            for (number, part) in row.into_iter().zip(order.columns()) {
                quad[part] = number;
            }
            sum = sum.wrapping_add(hash_row(quad));
            if order == Order::Cspo {
                let id = segment.term_id(row[0]).unwrap_or(TermId::DEFAULT_GRAPH);
                match counts.last_mut() {
                    Some(count) if count.id == id => count.quads += 1,
                    _ => counts.push(GraphEntry { id, replaces: false, has_text: false, quads: 1, local: row[0] }),
                }
            }
        }
        if rows != segment.quad_count() {
            complain(format!("order {order:?} has {rows} rows, not {}", segment.quad_count()));
        }
        sums.push(sum);
    }
    if sums.iter().any(|sum| *sum != sums[0]) {
        complain("the six orders do not hold the same quads".to_owned());
    }

    let listed: Vec<GraphEntry> = segment.graphs().collect();
    if !listed.is_sorted_by(|left, right| left.id < right.id) {
        complain("the graphs are out of order".to_owned());
    }
    let with_quads = listed.iter().filter(|graph| graph.quads > 0);
    if !with_quads.map(|graph| (graph.id, graph.quads)).eq(counts.iter().map(|graph| (graph.id, graph.quads)))
    {
        complain("the counts of the graphs are wrong".to_owned());
    }
    Ok(())
}

fn hash_row(quad: [u32; 4]) -> u64 {
    quad.into_iter().fold(0x9E37_79B9_7F4A_7C15, |hash: u64, number| {
        let mixed = (hash ^ u64::from(number)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        mixed ^ (mixed >> 32)
    })
}
