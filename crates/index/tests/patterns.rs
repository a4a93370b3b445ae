//! Every access pattern over several segments gives what a filter over a plain list of quads gives.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::{BTreeMap, BTreeSet};

use oxrdf::{GraphName, GraphNameRef, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple};
use proptest::prelude::*;
use webloom_index::{
    Batch, GraphPattern, GraphWrite, Index, IndexConfig, IndexReader, Snapshot, WriteMode, check,
};

fn node(kind: &str, number: u8) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{kind}{number}"))
}

fn graph(number: u8) -> GraphName {
    match number {
        0 => GraphName::DefaultGraph,
        1 => NamedNode::new_unchecked("urn:webloom:meta:http://example.org/g2").into(),
        2 => oxrdf::BlankNode::new_unchecked("graph").into(),
        number => node("g", number).into(),
    }
}

fn subject(number: u8) -> NamedOrBlankNode {
    if number == 0 { oxrdf::BlankNode::new_unchecked("s").into() } else { node("s", number).into() }
}

fn object(number: u8) -> Term {
    match number {
        0 => Literal::from(i64::from(number) - 5).into(),
        1 => Literal::new_simple_literal("one").into(),
        2 => Literal::new_language_tagged_literal_unchecked("one", "en").into(),
        3 => node("s", 1).into(),
        number => Literal::new_typed_literal(format!("0{number}"), oxrdf::vocab::xsd::INTEGER).into(),
    }
}

const SUBJECTS: u8 = 4;
const PREDICATES: u8 = 3;
const OBJECTS: u8 = 5;
const GRAPHS: u8 = 6;

#[derive(Debug, Clone)]
struct Write {
    graph: u8,
    mode: WriteMode,
    triples: Vec<(u8, u8, u8)>,
}

fn any_write() -> impl Strategy<Value = Write> {
    let mode = prop_oneof![Just(WriteMode::Replace), Just(WriteMode::Replace), Just(WriteMode::Add)];
    let triples = proptest::collection::vec((0..SUBJECTS, 0..PREDICATES, 0..OBJECTS), 0..8);
    (0..GRAPHS, mode, triples).prop_map(|(graph, mode, triples)| Write { graph, mode, triples })
}

/// What the index should hold: a plain set of triples per graph.
#[derive(Default)]
struct Model {
    graphs: BTreeMap<String, (GraphName, BTreeSet<String>, Vec<Quad>)>,
}

impl Model {
    fn apply(&mut self, write: &GraphWrite) {
        let entry = self
            .graphs
            .entry(write.graph.to_string())
            .or_insert_with(|| (write.graph.clone(), BTreeSet::new(), Vec::new()));
        if write.mode == WriteMode::Replace {
            entry.1.clear();
            entry.2.clear();
        }
        for triple in &write.triples {
            if entry.1.insert(triple.to_string()) {
                entry.2.push(triple.clone().in_graph(write.graph.clone()));
            }
        }
    }

    fn quads(&self) -> Vec<Quad> {
        self.graphs.values().flat_map(|(_, _, quads)| quads.clone()).collect()
    }
}

fn sorted(quads: impl IntoIterator<Item = Quad>) -> Vec<String> {
    let mut lines: Vec<String> = quads.into_iter().map(|quad| quad.to_string()).collect();
    lines.sort();
    lines
}

fn found(
    snapshot: &Snapshot,
    pattern: (Option<u8>, Option<u8>, Option<u8>),
    graph: GraphPattern<'_>,
) -> Vec<Quad> {
    let (s, p, o) = (pattern.0.map(subject), pattern.1.map(|p| node("p", p)), pattern.2.map(object));
    snapshot
        .quads_for_pattern(
            s.as_ref().map(NamedOrBlankNode::as_ref),
            p.as_ref().map(NamedNode::as_ref),
            o.as_ref().map(Term::as_ref),
            graph,
        )
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

/// All 16 patterns, every value in each bound place, against a filter; and each kind of graph pattern.
fn check_all_patterns(snapshot: &Snapshot, model: &Model) {
    let all = model.quads();
    assert_eq!(snapshot.quad_count().unwrap(), all.len() as u64);
    assert_eq!(sorted(snapshot.quads().unwrap().map(Result::unwrap)), sorted(all.clone()));
    let with_none = |count: u8| std::iter::once(None).chain((0..count).map(Some)).collect::<Vec<_>>();
    for s in with_none(SUBJECTS) {
        for p in with_none(PREDICATES) {
            for o in with_none(OBJECTS) {
                let matching: Vec<Quad> = all
                    .iter()
                    .filter(|quad| {
                        s.is_none_or(|s| quad.subject == subject(s))
                            && p.is_none_or(|p| quad.predicate == node("p", p))
                            && o.is_none_or(|o| quad.object == object(o))
                    })
                    .cloned()
                    .collect();
                let pattern = (s, p, o);
                assert_eq!(
                    sorted(found(snapshot, pattern, GraphPattern::All)),
                    sorted(matching.clone()),
                    "{pattern:?}"
                );
                for number in 0..=GRAPHS {
                    let name = graph(number);
                    let expected = matching.iter().filter(|quad| quad.graph_name == name).cloned();
                    assert_eq!(
                        sorted(found(snapshot, pattern, GraphPattern::One(name.as_ref()))),
                        sorted(expected),
                        "{pattern:?} in {name}"
                    );
                }
                let named = matching.iter().filter(|quad| !quad.graph_name.is_default_graph()).cloned();
                assert_eq!(
                    sorted(found(snapshot, pattern, GraphPattern::Named)),
                    sorted(named),
                    "{pattern:?} named"
                );
                let union: BTreeSet<String> = matching
                    .iter()
                    .filter(|quad| !is_metadata(quad.graph_name.as_ref()))
                    .map(|quad| {
                        Triple::new(quad.subject.clone(), quad.predicate.clone(), quad.object.clone())
                            .to_string()
                    })
                    .collect();
                let found_union: Vec<String> = found(snapshot, pattern, GraphPattern::Union)
                    .into_iter()
                    .map(|quad| Triple::new(quad.subject, quad.predicate, quad.object).to_string())
                    .collect();
                assert_eq!(found_union.len(), union.len(), "{pattern:?} union has copies");
                assert_eq!(found_union.into_iter().collect::<BTreeSet<_>>(), union, "{pattern:?} union");
            }
        }
    }
    let names: BTreeSet<String> = model
        .graphs
        .values()
        .filter(|entry| !entry.2.is_empty() && entry.0 != GraphName::DefaultGraph)
        .map(|entry| entry.0.to_string())
        .collect();
    let found_names: Vec<String> = snapshot.graph_names().map(|name| name.unwrap().to_string()).collect();
    assert_eq!(found_names.len(), names.len());
    assert_eq!(found_names.into_iter().collect::<BTreeSet<_>>(), names);
}

fn is_metadata(name: GraphNameRef<'_>) -> bool {
    matches!(name, GraphNameRef::NamedNode(node) if node.as_str().starts_with("urn:webloom:meta:"))
}

fn to_graph_write(write: &Write) -> GraphWrite {
    let triples =
        write.triples.iter().map(|&(s, p, o)| Triple::new(subject(s), node("p", p), object(o))).collect();
    GraphWrite { graph: graph(write.graph), mode: write.mode, triples, text: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, max_shrink_iters: 40, ..ProptestConfig::default() })]

    #[test]
    fn patterns_agree_with_a_plain_filter(
        batches in proptest::collection::vec(proptest::collection::vec(any_write(), 1..5), 1..7),
        sorted in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().unwrap();
        // Merges that sort in memory and merges that stream must come to the same.
        let merge_memory_bytes = if sorted { 1 << 20 } else { 0 };
        let config = IndexConfig { merge_in_background: false, merge_memory_bytes, ..IndexConfig::default() };
        let index = Index::open(directory.path(), config).unwrap();
        let reader = IndexReader::open(directory.path()).unwrap();
        let mut model = Model::default();
        for (number, batch) in batches.iter().enumerate() {
            let batch: Batch = batch.iter().map(to_graph_write).collect::<Vec<_>>().into();
            batch.writes.iter().for_each(|write| model.apply(write));
            index.commit(&batch).unwrap();
            let seen = reader.snapshot().unwrap();
            prop_assert_eq!(seen.generation(), index.snapshot().generation());
            prop_assert_eq!(seen.quad_count().unwrap(), model.quads().len() as u64);
            // Merging in the middle makes segments of every history.
            if number == 2 {
                index.compact().unwrap();
            }
        }
        check_all_patterns(&index.snapshot(), &model);
        check_all_patterns(&reader.snapshot().unwrap(), &model);
        let before = reader.snapshot().unwrap();
        index.compact().unwrap();
        check_all_patterns(&index.snapshot(), &model);
        let after = reader.snapshot().unwrap();
        prop_assert!(after.stats().unwrap().segments <= 1);
        prop_assert_eq!(after.stats().unwrap().dead_quads, 0);
        // The files of the old state are gone; whoever had it open still reads it.
        check_all_patterns(&before, &model);
        let report = check(directory.path()).unwrap();
        prop_assert!(report.is_clean(), "{:?}", report.problems);
        index.close().unwrap();
        let index = Index::open(directory.path(), config).unwrap();
        check_all_patterns(&index.snapshot(), &model);
    }
}

#[test]
fn background_merges_change_nothing_but_the_number_of_segments() {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig { merge_factor: 3, small_segment_quads: 8, ..IndexConfig::default() };
    let index = Index::open(directory.path(), config).unwrap();
    let mut model = Model::default();
    let mut state = 12345u32;
    let mut random = move |bound: u8| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((state >> 16) % u32::from(bound)) as u8
    };
    for round in 0..40 {
        let mut batch = Batch::new();
        for _ in 0..3 {
            let triples =
                (0..random(9)).map(|_| (random(SUBJECTS), random(PREDICATES), random(OBJECTS))).collect();
            let mode = if random(3) == 0 { WriteMode::Add } else { WriteMode::Replace };
            batch.push(to_graph_write(&Write { graph: random(GRAPHS), mode, triples }));
        }
        batch.writes.iter().for_each(|write| model.apply(write));
        index.commit(&batch).unwrap();
        if round % 10 == 9 {
            assert_eq!(sorted(index.snapshot().quads().unwrap().map(Result::unwrap)), sorted(model.quads()));
        }
    }
    index.wait_for_merges();
    check_all_patterns(&index.snapshot(), &model);
    let stats = index.snapshot().stats().unwrap();
    assert!(stats.segments < 12, "{} segments are left of 40", stats.segments);
    let report = check(directory.path()).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
    let files = std::fs::read_dir(directory.path().join("segments")).unwrap().count() as u64;
    assert_eq!(files, stats.segments, "merged files are deleted");
}

#[test]
fn segments_of_many_blocks() {
    for merge_memory_bytes in [0, 1 << 20] {
        many_blocks(IndexConfig { merge_in_background: false, merge_memory_bytes, ..IndexConfig::default() });
    }
}

/// More rows than a block holds, more terms than fit a linear search, in more than one segment.
fn many_blocks(config: IndexConfig) {
    let directory = tempfile::tempdir().unwrap();
    let index = Index::open(directory.path(), config).unwrap();
    let quad = |page: u32, number: u32| {
        Triple::new(
            NamedNode::new_unchecked(format!("http://example.org/{page}#{}", number / 7)),
            node("p", (number % 7) as u8),
            Term::from(Literal::from(number * page)),
        )
    };
    let mut model = Model::default();
    for batch_number in 0..3 {
        let mut batch = Batch::new();
        for page in 0..20u32 {
            let name = NamedNode::new_unchecked(format!("http://example.org/{}", page + batch_number * 15));
            let triples =
                (0..100).map(|number| quad(page + batch_number * 15, number + batch_number)).collect();
            batch.push(GraphWrite::replace(name, triples));
        }
        batch.writes.iter().for_each(|write| model.apply(write));
        index.commit(&batch).unwrap();
    }
    for merged in [false, true] {
        if merged {
            index.compact().unwrap();
        }
        let snapshot = index.snapshot();
        assert_eq!(sorted(snapshot.quads().unwrap().map(Result::unwrap)), sorted(model.quads()));
        for quad in model.quads() {
            assert!(snapshot.contains(&quad).unwrap(), "{quad}");
        }
        let p3 = node("p", 3);
        let expected = model.quads().into_iter().filter(|quad| quad.predicate == p3);
        let by_predicate =
            snapshot.quads_for_pattern(None, Some(p3.as_ref()), None, GraphPattern::All).unwrap();
        assert_eq!(sorted(by_predicate.map(Result::unwrap)), sorted(expected));
        let report = check(directory.path()).unwrap();
        assert!(report.is_clean(), "{:?}", report.problems);
    }
}
