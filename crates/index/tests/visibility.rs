//! A page that is committed can be asked for and found at once, also while others write as fast as they can.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxrdf::{Literal, NamedNode, Triple};
use webloom_index::{
    Batch, EntityQuery, GraphWrite, Index, IndexConfig, IndexReader, QueryOptions, QueryResults,
};

/// What is promised is a second. A machine that does other things at the same time gets more before it fails.
const BOUND: Duration = Duration::from_secs(20);
const PROBES: u64 = 8;

fn node(text: String) -> NamedNode {
    NamedNode::new_unchecked(text)
}

fn page(url: &str, word: &str, things: u64) -> GraphWrite {
    let name = node("http://schema.org/name".to_owned());
    let triples = (0..things)
        .map(|thing| {
            let literal = Literal::new_simple_literal(format!("{word} number {thing} of many"));
            Triple::new(node(format!("{url}#{thing}")), name.clone(), literal)
        })
        .collect();
    GraphWrite::replace(node(url.to_owned()), triples)
}

#[test]
fn a_committed_page_is_answered_under_load() {
    let directory = tempfile::tempdir().unwrap();
    let index = Index::open(directory.path(), IndexConfig::default()).unwrap();
    let reader = IndexReader::open(directory.path()).unwrap();
    let stop = AtomicBool::new(false);
    let written = AtomicU64::new(0);
    let mut slowest = Duration::ZERO;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) {
                let writes: Vec<GraphWrite> = (number..number + 100)
                    .map(|page_number| page(&format!("http://load.example/{page_number}"), "freight", 20))
                    .collect();
                number += 100;
                let receipt = index.commit(&Batch::from(writes)).unwrap();
                written.fetch_add(receipt.quads, Ordering::Relaxed);
            }
        });
        for probe in 0..PROBES {
            let (url, word) = (format!("http://probe.example/{probe}"), format!("probe{probe}"));
            let started = Instant::now();
            index.commit(&Batch::from(vec![page(&url, &word, 1)])).unwrap();
            // Another process would do the same.
            let snapshot = reader.snapshot().unwrap();
            let query = format!("SELECT ?name {{ GRAPH <{url}> {{ ?s <http://schema.org/name> ?name }} }}");
            let results = snapshot.query(&query, &QueryOptions::default()).unwrap();
            let QueryResults::Solutions(solutions) = results else { panic!("it is a SELECT") };
            assert_eq!(solutions.count(), 1, "{url} is not answered");
            let found = snapshot.search_entities(&EntityQuery::new(&word)).unwrap();
            assert_eq!(found.total, 1, "{word} is not found");
            slowest = slowest.max(started.elapsed());
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!(
        "from the beginning of a commit to both answers: {slowest:?} at most, while {} quads were written",
        written.load(Ordering::Relaxed)
    );
    assert!(slowest < BOUND, "{slowest:?}");
}
