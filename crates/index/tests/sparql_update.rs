//! SPARQL Update through the front door: what each operation does, and that a request is one change.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;

use oxrdf::{GraphName, NamedNode, Quad, Triple};
use webloom_index::{
    Batch, DefaultGraph, GraphWrite, Index, IndexConfig, IndexError, IndexReader, QueryOptions, UpdateOptions,
};

fn iri(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{local}"))
}

fn link(subject: &str, object: &str) -> Triple {
    Triple::new(iri(subject), iri("p"), iri(object))
}

/// Two pages that share a triple, in two segments, and the graph without a name.
fn example(directory: &Path) -> Index {
    let config = IndexConfig { merge_in_background: false, ..IndexConfig::default() };
    let index = Index::open(directory, config).unwrap();
    for writes in [
        vec![
            GraphWrite::replace(iri("g1"), vec![link("a", "b"), link("b", "c")]),
            GraphWrite::add(GraphName::DefaultGraph, vec![link("x", "y")]),
        ],
        vec![GraphWrite::replace(iri("g2"), vec![link("a", "b"), link("c", "d")])],
    ] {
        index.commit(&Batch::from(writes)).unwrap();
    }
    index
}

fn options() -> UpdateOptions {
    let query = QueryOptions { base_iri: Some("http://example.org/".to_owned()), ..QueryOptions::default() };
    UpdateOptions { query, ..UpdateOptions::default() }
}

/// All quads as sorted lines: subject, object, graph.
fn dump(index: &Index) -> Vec<String> {
    let line = |quad: Quad| {
        quad.to_string()
            .replace("http://example.org/", "")
            .replace(['<', '>'], "")
            .replace(" p ", " ")
            .trim()
            .to_owned()
    };
    let mut lines: Vec<String> = index.snapshot().quads().unwrap().map(|quad| line(quad.unwrap())).collect();
    lines.sort();
    lines
}

const BEFORE: [&str; 5] = ["a b g1", "a b g2", "b c g1", "c d g2", "x y"];

#[test]
fn every_operation() {
    for (update, expected) in [
        (
            "INSERT DATA { <n> <p> <m> . GRAPH <g3> { <n> <p> <m> } }",
            &["a b g1", "a b g2", "b c g1", "c d g2", "n m", "n m g3", "x y"][..],
        ),
        ("DELETE DATA { GRAPH <g1> { <a> <p> <b> } }", &["a b g2", "b c g1", "c d g2", "x y"]),
        // What is not there is not missed, and other graphs are not touched.
        ("DELETE DATA { <a> <p> <b> . GRAPH <nowhere> { <a> <p> <b> } }", &BEFORE),
        ("DELETE WHERE { GRAPH ?g { <a> ?p ?o } }", &["b c g1", "c d g2", "x y"]),
        (
            "DELETE { GRAPH ?g { ?s <p> ?o } } INSERT { GRAPH ?g { ?o <p> ?s } } WHERE { GRAPH ?g { ?s <p> ?o } }",
            &["b a g1", "b a g2", "c b g1", "d c g2", "x y"],
        ),
        (
            "WITH <g1> DELETE { ?s <p> ?o } INSERT { ?s <p> <z> } WHERE { ?s <p> ?o }",
            &["a b g2", "a z g1", "b z g1", "c d g2", "x y"],
        ),
        (
            "INSERT { <n> <p> ?o } USING <g2> WHERE { ?s <p> ?o }",
            &["a b g1", "a b g2", "b c g1", "c d g2", "n b", "n d", "x y"],
        ),
        // The default graph of WHERE is the union; what is inserted goes to the graph without a name.
        (
            "INSERT { ?s <p> <all> } WHERE { ?s <p> ?o }",
            &["a all", "a b g1", "a b g2", "b all", "b c g1", "c all", "c d g2", "x all", "x y"],
        ),
        ("CLEAR GRAPH <g1>", &["a b g2", "c d g2", "x y"]),
        ("CLEAR DEFAULT", &["a b g1", "a b g2", "b c g1", "c d g2"]),
        ("DROP NAMED", &["x y"]),
        ("CLEAR ALL", &[]),
        ("CREATE GRAPH <new>", &BEFORE),
        ("ADD DEFAULT TO <g1>", &["a b g1", "a b g2", "b c g1", "c d g2", "x y", "x y g1"]),
        ("COPY <g1> TO <g2>", &["a b g1", "a b g2", "b c g1", "b c g2", "x y"]),
        ("COPY <g1> TO <g1>", &BEFORE),
        ("MOVE <g1> TO DEFAULT", &["a b", "a b g2", "b c", "c d g2"]),
        ("COPY SILENT <nowhere> TO <g2>", &BEFORE),
        ("DROP SILENT GRAPH <nowhere>", &BEFORE),
        ("LOAD SILENT <file:///nowhere>", &BEFORE),
        // Operations see what those before them did.
        (
            "INSERT DATA { GRAPH <g3> { <n> <p> <m> } } ; COPY <g3> TO <g1> ; DROP GRAPH <g3>",
            &["a b g2", "c d g2", "n m g1", "x y"],
        ),
        (
            "DELETE WHERE { GRAPH <g1> { ?s ?p ?o } } ; INSERT { GRAPH <g1> { <was> <p> <empty> } } WHERE { FILTER NOT EXISTS { GRAPH <g1> { ?s ?p ?o } } }",
            &["a b g2", "c d g2", "was empty g1", "x y"],
        ),
        ("CLEAR ALL ; INSERT { <seen> <p> ?s } WHERE { ?s ?p ?o } ; INSERT DATA { <n> <p> <m> }", &["n m"]),
        // Undone is undone, also for a triple that two graphs have.
        (
            "DELETE DATA { GRAPH <g1> { <a> <p> <b> } } ; INSERT { <still> <p> ?o } WHERE { <a> <p> ?o } ; INSERT DATA { GRAPH <g1> { <a> <p> <b> } }",
            &["a b g1", "a b g2", "b c g1", "c d g2", "still b", "x y"],
        ),
        ("INSERT DATA { <n> <p> <m> } ; DELETE DATA { <n> <p> <m> }", &BEFORE),
        ("CREATE GRAPH <new> ; DROP GRAPH <new>", &BEFORE),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let index = example(directory.path());
        index.update(update, &options()).unwrap_or_else(|error| panic!("{update}: {error}"));
        assert_eq!(dump(&index), expected, "{update}");
        drop(index);
        // Durable, and seen by others.
        let reader = IndexReader::open(directory.path()).unwrap().snapshot().unwrap();
        assert_eq!(reader.quad_count().unwrap(), expected.len() as u64, "{update}");
        index_is_sound(directory.path());
    }
}

fn index_is_sound(directory: &Path) {
    let report = webloom_index::check(directory).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[test]
fn a_request_that_fails_changes_nothing() {
    for (update, reason) in [
        ("INSERT DATA { <n> <p> <m> } ; DROP GRAPH <nowhere>", "there is no graph"),
        ("CLEAR ALL ; COPY <g1> TO <g2>", "there is no graph"),
        ("CLEAR ALL ; LOAD <file:///etc/passwd>", "not allowed"),
        ("DROP GRAPH <g1> ; CREATE GRAPH <g2>", "there already"),
        (
            "CLEAR ALL ; INSERT { ?s ?p ?o } WHERE { SERVICE <http://example.org/sparql> { ?s ?p ?o } }",
            "not asked",
        ),
        ("CLEAR ALL ; INSERT", "not a SPARQL query"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let index = example(directory.path());
        let generation = index.snapshot().generation();
        let error = index.update(update, &options()).unwrap_err().to_string();
        assert!(error.contains(reason), "{update}: {error}");
        assert_eq!(dump(&index), BEFORE, "{update}");
        assert_eq!(index.snapshot().generation(), generation);
    }
}

#[test]
fn the_default_graph_can_be_the_one_without_a_name() {
    let directory = tempfile::tempdir().unwrap();
    let index = example(directory.path());
    let mut options = options();
    options.query.default_graph = DefaultGraph::Unnamed;
    index.update("DELETE { ?s ?p ?o } INSERT { ?o ?p ?s } WHERE { ?s ?p ?o }", &options).unwrap();
    assert_eq!(dump(&index), ["a b g1", "a b g2", "b c g1", "c d g2", "y x"]);
}

#[test]
fn loaded_documents_go_where_they_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let index = example(directory.path());
    let load = |source: &NamedNode| {
        if source.as_str() != "http://example.org/doc" {
            return Err("no such document".into());
        }
        let node = oxrdf::BlankNode::new_unchecked("b0");
        Ok(vec![Quad::new(node.clone(), iri("p"), node, GraphName::DefaultGraph)])
    };
    let options = UpdateOptions { load: Some(Box::new(load)), ..options() };
    index.update("LOAD <doc> INTO GRAPH <g9> ; LOAD <doc>", &options).unwrap();
    let snapshot = index.snapshot();
    assert_eq!(snapshot.quad_count().unwrap(), 7);
    let count = "SELECT DISTINCT ?s { { ?s <http://example.org/p> ?s } UNION { GRAPH <http://example.org/g9> { ?s ?p ?s } } }";
    let webloom_index::QueryResults::Solutions(solutions) =
        snapshot.query(count, &QueryOptions::default()).unwrap()
    else {
        panic!("not a SELECT")
    };
    // Loaded twice, its node is two nodes.
    assert_eq!(solutions.count(), 2);
    let error = index.update("LOAD <other>", &options).unwrap_err().to_string();
    assert!(error.contains("no such document"), "{error}");
}

#[test]
fn limits_hold_for_updates() {
    let directory = tempfile::tempdir().unwrap();
    let index = example(directory.path());
    let mut small = options();
    small.query.memory_limit_bytes = Some(10_000);
    let many: String = (0..100).map(|number| format!("<s{number}> <p> <o> .")).collect();
    let error = index.update(&format!("INSERT DATA {{ {many} }}"), &small).unwrap_err();
    assert!(matches!(error, IndexError::MemoryLimit { .. }), "{error}");
    let narrow = UpdateOptions { rewritten_quads_max: 0, ..options() };
    let error = index.update("DELETE DATA { GRAPH <g1> { <a> <p> <b> } }", &narrow).unwrap_err();
    assert!(matches!(error, IndexError::RewriteLimit { .. }), "{error}");
    assert_eq!(dump(&index), BEFORE);
}

#[test]
fn updates_of_many_threads_do_not_lose_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let index = example(directory.path());
    index.update("CLEAR ALL ; INSERT DATA { GRAPH <c> { <counter> <is> 0 } }", &options()).unwrap();
    let increment = "DELETE { GRAPH <c> { <counter> <is> ?n } } INSERT { GRAPH <c> { <counter> <is> ?m } } \
                     WHERE { GRAPH <c> { <counter> <is> ?n } BIND(?n + 1 AS ?m) }";
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    index.update(increment, &options()).unwrap();
                }
            });
        }
    });
    let [only] = dump(&index).try_into().unwrap();
    assert!(only.contains("\"20\""), "{only}");
}
