//! Checking an index from end to end: is every byte what was written, and does everything agree?
//!
//! In: a directory. Out: a [`CheckReport`] with everything that is wrong, each said in a sentence. Reads all of the
//! index, changes none of it, and may be run while somebody writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::error::IndexError;
use crate::order::Order;
use crate::reader::IndexReader;
use crate::segment::Segment;
use crate::segment::read::{GraphEntry, PredicateEntry};
use crate::term::{TermHasher, TermId};
use crate::view::View;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// The state that was checked.
    pub generation: u64,
    /// Segments looked at.
    pub segments: u64,
    /// Quads in them, superseded ones included.
    pub quads: u64,
    /// Documents of the text index.
    pub text_documents: u64,
    /// Everything that is wrong; empty when nothing is. When there is very much of one kind, the first of it.
    pub problems: Vec<String>,
}

impl CheckReport {
    /// True when nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Most problems of one kind that are named.
const PROBLEMS_MAX: usize = 20;

/// Checks the index in `directory`: all checksums, the order of terms and that each has its id, the agreement of the six orders, their
/// indexes, the counts of graphs and predicates, the text index's files, and that it has documents for just the graphs
/// that should have some. An error means that the index could not even be opened.
pub fn check(directory: &Path) -> Result<CheckReport, IndexError> {
    let snapshot = IndexReader::open(directory)?.snapshot()?;
    let view = &snapshot.view;
    let mut report = CheckReport { generation: view.generation, ..CheckReport::default() };
    for part in &view.segments {
        report.segments += 1;
        report.quads += part.segment.quad_count();
        if let Err(error) = check_segment(&part.segment, &view.hasher, &mut report.problems) {
            report.problems.push(error.to_string());
        }
    }
    match view.text.damaged_files() {
        Ok(damaged) => report
            .problems
            .extend(damaged.iter().map(|path| format!("text index file `{}` is damaged", path.display()))),
        Err(error) => report.problems.push(error.to_string()),
    }
    // A damaged file says nothing reliable about what is in it.
    if report.is_clean() {
        report.text_documents = view.text.document_count();
        check_text(view, &mut report.problems)?;
    }
    Ok(report)
}

/// The text index must have documents of a graph when the newest version of the graph says so, and no others.
fn check_text(view: &Arc<View>, problems: &mut Vec<String>) -> Result<(), IndexError> {
    let mut expected: BTreeMap<TermId, bool> = BTreeMap::new();
    for part in &view.segments {
        for graph in part.segment.graphs() {
            let has_text = expected.entry(graph.id).or_default();
            *has_text = graph.has_text || (*has_text && !graph.replaces);
        }
    }
    let mut documents = 0;
    let mut named = 0;
    for (&graph, &has_text) in &expected {
        let found = view.text.documents_of_graph(graph)? as u64;
        documents += found;
        if has_text != (found > 0) && named < PROBLEMS_MAX {
            named += 1;
            let name = match view.term(graph, &mut Vec::new())? {
                Some(term) => term.to_string(),
                None if graph == TermId::DEFAULT_GRAPH => "the default graph".to_owned(),
                None => format!("{graph:?}"),
            };
            problems.push(if has_text {
                format!("the text index has nothing of {name}")
            } else {
                format!("the text index has {found} documents of {name} and should have none")
            });
        }
    }
    let all = view.text.document_count();
    if documents != all {
        problems.push(format!("the text index has {} documents of no graph", all.abs_diff(documents)));
    }
    Ok(())
}

fn check_segment(
    segment: &Segment,
    hasher: &TermHasher,
    problems: &mut Vec<String>,
) -> Result<(), IndexError> {
    segment.verify()?;
    let most = problems.len() + PROBLEMS_MAX;
    let mut complain = |problem: String| {
        if problems.len() < most {
            problems.push(format!("`{}`: {problem}", segment.path().display()));
        }
    };

    let mut last = None;
    let mut buffer = Vec::new();
    for local in 0..segment.term_count() {
        let id = segment.term_id(local);
        if last >= id && last.is_some() {
            complain(format!("term {local} is out of order"));
        }
        if id != Some(TermId::DEFAULT_GRAPH) {
            let term = segment.term(local, &mut buffer)?;
            if id != Some(hasher.term(term.as_ref())) {
                complain(format!("term {local} is {term} and has the id of another"));
            }
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
    let mut predicates: BTreeMap<u32, PredicateEntry> = BTreeMap::new();
    for order in Order::ALL {
        if let Some(block) = segment.misplaced_block(order)? {
            complain(format!("block {block} of order {order:?} is not where its index says"));
        }
        let mut position = segment.seek(order, &[])?;
        let (mut rows, mut sum, mut last) = (0u64, 0u64, None);
        while let Some(row) = segment.next_row(order, &mut position)? {
            if last >= Some(row) {
                complain(format!("row {rows} of order {order:?} is out of order"));
            }
            let before: Option<[u32; 4]> = last.replace(row);
            rows += 1;
            let [first, second, _, _] = row;
            let is_new = before.is_none_or(|before| before[..2] != row[..2]);
            match order {
                Order::Spoc => {
                    let entry = predicates.entry(second).or_insert(PredicateEntry::new(second));
                    entry.quads += 1;
                    entry.subjects += u32::from(is_new);
                }
                Order::Posc => {
                    let entry = predicates.entry(first).or_insert(PredicateEntry::new(first));
                    entry.objects += u32::from(is_new);
                }
                _ => {}
            }
            let mut quad = [0; 4];
            for (number, part) in row.into_iter().zip(order.columns()) {
                quad[part] = number;
            }
            sum = sum.wrapping_add(hash_row(quad));
            if order == Order::Cspo {
                let id = segment.term_id(row[0]).unwrap_or(TermId::DEFAULT_GRAPH);
                match counts.last_mut() {
                    Some(count) if count.id == id => count.quads += 1,
                    _ => counts.push(GraphEntry {
                        id,
                        replaces: false,
                        has_text: false,
                        quads: 1,
                        local: row[0],
                    }),
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

    // A merge may leave a predicate in the list whose last quad is gone.
    let used = segment.predicate_entries().filter(|predicate| predicate.quads > 0);
    if !used.eq(predicates.into_values()) {
        complain("the statistics of the predicates are wrong".to_owned());
    }

    let listed: Vec<GraphEntry> = segment.graphs().collect();
    if !listed.is_sorted_by(|left, right| left.id < right.id) {
        complain("the graphs are out of order".to_owned());
    }
    let with_quads = listed.iter().filter(|graph| graph.quads > 0);
    let summary = |graph: &GraphEntry| (graph.id, graph.quads, graph.local);
    if !with_quads.map(summary).eq(counts.iter().map(summary)) {
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
