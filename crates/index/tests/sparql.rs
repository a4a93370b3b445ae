//! SPARQL over pages: what is the default graph, what `GRAPH` sees, and that limits hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;
use std::time::Duration;

use oxrdf::{GraphName, Literal, NamedNode, Triple};
use webloom_index::{
    Batch, CancellationToken, GraphWrite, Index, IndexConfig, IndexError, QueryOptions, QueryResults,
    Snapshot, WriteMode,
};

fn iri(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{local}"))
}

fn link(subject: &str, predicate: &str, object: &str) -> Triple {
    Triple::new(iri(subject), iri(predicate), iri(object))
}

fn number(subject: &str, predicate: &str, object: i64) -> Triple {
    Triple::new(iri(subject), iri(predicate), Literal::from(object))
}

/// Two pages that share a triple, their metadata, and something in the default graph, over several segments.
fn example(directory: &Path) -> Index {
    let config = IndexConfig { merge_in_background: false, ..IndexConfig::default() };
    let index = Index::open(directory, config).unwrap();
    let meta = |page: &str| NamedNode::new_unchecked(format!("urn:webloom:meta:http://example.org/{page}"));
    let batches = [
        vec![GraphWrite::replace(iri("a"), vec![link("stale", "knows", "stale")])],
        vec![
            GraphWrite::replace(
                iri("a"),
                vec![link("ann", "knows", "bob"), number("ann", "age", 30), link("shared", "is", "here")],
            ),
            GraphWrite::replace(meta("a"), vec![number("a", "status", 200)]),
        ],
        vec![
            GraphWrite::replace(
                iri("b"),
                vec![link("bob", "knows", "cid"), number("bob", "age", 41), link("shared", "is", "here")],
            ),
            GraphWrite::replace(meta("b"), vec![number("b", "status", 404)]),
            GraphWrite {
                graph: GraphName::DefaultGraph,
                mode: WriteMode::Add,
                triples: vec![link("cid", "knows", "dan")],
                text: None,
            },
        ],
    ];
    for batch in batches {
        index.commit(&batch.into()).unwrap();
    }
    index
}

/// Solutions as sorted lines, values separated by spaces, IRIs without their prefix.
fn select(snapshot: &Snapshot, query: &str) -> Vec<String> {
    select_with(snapshot, query, &QueryOptions::default())
}

fn select_with(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> Vec<String> {
    let QueryResults::Solutions(solutions) = snapshot.query(query, options).unwrap() else {
        panic!("not a SELECT: {query}");
    };
    let variables = solutions.variables().to_vec();
    let mut lines: Vec<String> = solutions
        .map(|solution| {
            let solution = solution.unwrap();
            let values = variables.iter().map(|variable| match solution.get(variable) {
                Some(term) => term
                    .to_string()
                    .replace("http://example.org/", "")
                    .replace("^^<http://www.w3.org/2001/XMLSchema#integer>", ""),
                None => "-".to_owned(),
            });
            values.collect::<Vec<_>>().join(" ")
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn queries() {
    let directory = tempfile::tempdir().unwrap();
    let index = example(directory.path());
    for merged in [false, true] {
        if merged {
            index.compact().unwrap();
        }
        let snapshot = index.snapshot();
        for (query, expected) in [
            // Joins reach across pages and into the default graph.
            ("SELECT ?x ?z { ?x <knows> ?y . ?y <knows> ?z }", &["<ann> <cid>", "<bob> <dan>"][..]),
            // A triple on two pages is one triple.
            ("SELECT ?s { ?s <is> <here> }", &["<shared>"]),
            ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", &["\"6\""]),
            // Metadata is not what pages say.
            ("SELECT ?s { ?s <status> ?o }", &[]),
            (
                "SELECT ?s ?o { GRAPH <urn:webloom:meta:http://example.org/b> { ?s <status> ?o } }",
                &["<b> \"404\""],
            ),
            ("SELECT ?g { GRAPH ?g { ?s <status> 200 } }", &["<urn:webloom:meta:a>"]),
            // `GRAPH ?g` ranges over everything that has a name.
            (
                "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }",
                &["<a>", "<b>", "<urn:webloom:meta:a>", "<urn:webloom:meta:b>"],
            ),
            ("SELECT ?g { GRAPH ?g {} }", &["<a>", "<b>", "<urn:webloom:meta:a>", "<urn:webloom:meta:b>"]),
            ("SELECT ?g { GRAPH ?g { <shared> <is> <here> } }", &["<a>", "<b>"]),
            ("SELECT ?s { GRAPH <a> { ?s <knows> ?o } }", &["<ann>"]),
            ("SELECT ?s { GRAPH <nowhere> { ?s ?p ?o } }", &[]),
            // What the query names is the dataset.
            ("SELECT ?s FROM <b> { ?s <knows> ?o }", &["<bob>"]),
            ("SELECT ?s FROM <a> FROM <b> { ?s <is> ?o }", &["<shared>"]),
            ("SELECT ?s FROM <a> FROM <b> { ?s <knows> ?o }", &["<ann>", "<bob>"]),
            ("SELECT ?s FROM <urn:webloom:meta:http://example.org/a> { ?s ?p ?o }", &["<a>"]),
            ("SELECT ?g FROM NAMED <a> { GRAPH ?g { ?s <knows> ?o } }", &["<a>"]),
            ("SELECT ?s FROM NAMED <a> { ?s ?p ?o }", &[]),
            // Numbers.
            ("SELECT ?s { ?s <age> ?age FILTER(?age > 35) }", &["<bob>"]),
            (
                "SELECT (SUM(?age) AS ?sum) (AVG(?age) AS ?avg) { ?s <age> ?age }",
                &["\"71\" \"35.5\"^^<http://www.w3.org/2001/XMLSchema#decimal>"],
            ),
            ("SELECT ?s { ?s <age> 030 }", &[]),
            // What the query makes itself can be seen and joined.
            (
                "SELECT ?made { ?s <knows> ?o BIND(CONCAT('about ', REPLACE(STR(?o), '.*/', '')) AS ?made) }",
                &["\"about bob\"", "\"about cid\"", "\"about dan\""],
            ),
            (
                "SELECT ?z { VALUES ?x { <ann> <nobody> } ?x <knows> ?y BIND(IRI(STR(?y)) AS ?w) ?w <knows> ?z }",
                &["<cid>"],
            ),
            ("SELECT ?x { BIND('x' AS ?x) }", &["\"x\""]),
            ("SELECT ?x { <ann> <knows>+ ?x }", &["<bob>", "<cid>", "<dan>"]),
            (
                "SELECT ?s (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?s HAVING (COUNT(?o) > 1)",
                &["<ann> \"2\"", "<bob> \"2\""],
            ),
            ("SELECT ?s { ?s <knows> ?o MINUS { ?s <age> ?age } }", &["<cid>"]),
            (
                "SELECT ?s ?age { ?s <knows> ?o OPTIONAL { ?s <age> ?age } }",
                &["<ann> \"30\"", "<bob> \"41\"", "<cid> -"],
            ),
        ] {
            let options =
                QueryOptions { base_iri: Some("http://example.org/".to_owned()), ..QueryOptions::default() };
            assert_eq!(select_with(&snapshot, query, &options), expected, "{query} (merged: {merged})");
        }
    }
}

#[test]
fn ask_and_construct() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = example(directory.path()).snapshot();
    let options =
        QueryOptions { base_iri: Some("http://example.org/".to_owned()), ..QueryOptions::default() };
    for (query, expected) in [("ASK { <ann> <knows> <bob> }", true), ("ASK { <stale> ?p ?o }", false)] {
        let QueryResults::Boolean(answer) = snapshot.query(query, &options).unwrap() else {
            panic!("not an ASK")
        };
        assert_eq!(answer, expected, "{query}");
    }
    let query = "CONSTRUCT { ?o <knownBy> ?s } { ?s <knows> ?o }";
    let QueryResults::Graph(triples) = snapshot.query(query, &options).unwrap() else {
        panic!("not a CONSTRUCT")
    };
    let mut lines: Vec<String> = triples.map(|triple| triple.unwrap().to_string()).collect();
    lines.sort();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], "<http://example.org/bob> <http://example.org/knownBy> <http://example.org/ann>");
}

#[test]
fn one_graph_gives_all_its_triples() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexConfig::default()).unwrap();
    // One segment, and more rows of a subject and predicate than are read one by one.
    let triples: Vec<Triple> = (0..40).map(|n| link("s", "p", &format!("o{n}"))).collect();
    let graphs = ["a", "b"].map(|graph| GraphWrite::replace(iri(graph), triples.clone()));
    index.commit(&Batch::from(graphs.to_vec())).unwrap();
    let snapshot = index.snapshot();
    for (query, rows) in [
        ("SELECT ?o FROM <a> { ?s <p> ?o }", 40),
        ("SELECT ?o FROM <a> { <s> ?p ?o }", 40),
        ("SELECT ?o FROM <a> FROM <b> { <s> <p> ?o }", 40),
        ("SELECT ?o { ?s <p> ?o }", 40),
        ("SELECT ?o { GRAPH ?g { ?s <p> ?o } }", 80),
        ("SELECT ?o { GRAPH <b> { ?s <p> ?o } }", 40),
    ] {
        let query = format!("BASE <http://example.org/> {query}");
        assert_eq!(select(&snapshot, &query).len(), rows, "{query}");
    }
}

#[test]
fn the_protocol_can_name_the_dataset() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = example(directory.path()).snapshot();
    let options = QueryOptions {
        default_graphs: Some(vec![iri("a").into(), iri("b").into()]),
        named_graphs: Some(vec![iri("b").into()]),
        ..QueryOptions::default()
    };
    assert_eq!(select_with(&snapshot, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", &options), ["\"5\""]);
    assert_eq!(select_with(&snapshot, "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }", &options), ["<b>"]);
}

#[test]
fn a_snapshot_does_not_change_under_a_query() {
    let directory = tempfile::tempdir().unwrap();
    let index = example(directory.path());
    let snapshot = index.snapshot();
    let results = snapshot.query("SELECT * { ?s ?p ?o }", &QueryOptions::default()).unwrap();
    index.commit(&Batch::from(vec![GraphWrite::delete(iri("a")), GraphWrite::delete(iri("b"))])).unwrap();
    index.compact().unwrap();
    let QueryResults::Solutions(solutions) = results else { panic!("not a SELECT") };
    assert_eq!(solutions.map(Result::unwrap).count(), 6);
    assert_eq!(select(&index.snapshot(), "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"), ["\"1\""]);
}

#[test]
fn wrong_queries_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = example(directory.path()).snapshot();
    let options = QueryOptions::default();
    assert!(matches!(snapshot.query("SELECT * WHERE {", &options), Err(IndexError::Syntax(_))));
    let options = QueryOptions { base_iri: Some("not an iri".to_owned()), ..QueryOptions::default() };
    assert!(matches!(snapshot.query("SELECT * {}", &options), Err(IndexError::BaseIri { .. })));
}

#[test]
fn a_query_can_be_stopped() {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig { merge_in_background: false, ..IndexConfig::default() };
    let index = Index::open(directory.path(), config).unwrap();
    let triples = (0..100).map(|value| number(&format!("s{value}"), "p", value)).collect();
    index.commit(&Batch::from(vec![GraphWrite::replace(iri("big"), triples)])).unwrap();
    let endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";
    let limit = Duration::from_millis(50);
    let options = QueryOptions { time_limit: Some(limit), ..QueryOptions::default() };
    let started = std::time::Instant::now();
    let error = match index.snapshot().query(endless, &options) {
        Err(error) => error.to_string(),
        Ok(QueryResults::Solutions(mut solutions)) => solutions.next().unwrap().unwrap_err().to_string(),
        Ok(_) => panic!("not a SELECT"),
    };
    assert!(error.contains("took longer than"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(20));

    let token = CancellationToken::new();
    let options = QueryOptions { cancellation: Some(token.clone()), ..QueryOptions::default() };
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        token.cancel();
    });
    let error = match index.snapshot().query(endless, &options) {
        Err(error) => error.to_string(),
        Ok(QueryResults::Solutions(mut solutions)) => solutions.next().unwrap().unwrap_err().to_string(),
        Ok(_) => panic!("not a SELECT"),
    };
    canceller.join().unwrap();
    assert!(error.contains("cancelled"), "{error}");
}

#[test]
fn deep_and_long_queries_do_not_overflow_the_stack() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = example(directory.path()).snapshot();
    let run = |query: &str| match snapshot.query(query, &QueryOptions::default()) {
        Ok(QueryResults::Solutions(solutions)) => {
            for solution in solutions {
                solution?;
            }
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    let deep: [fn(usize) -> String; 6] = [
        |depth| format!("SELECT * {{ {}{} }}", "{".repeat(depth), "}".repeat(depth)),
        |depth| format!("SELECT * {{ ?s ?p ?o FILTER({}1{}) }}", "(".repeat(depth), ")".repeat(depth)),
        |depth| format!("SELECT * {{ ?s ?p {}1{} }}", "[ <p:p> ".repeat(depth), " ]".repeat(depth)),
        |depth| format!("SELECT * {{ ?s ?p ?o FILTER({}1) }}", "!".repeat(depth)),
        |depth| format!("SELECT * {{ ?s ?p ?o FILTER({}1) }}", "- ".repeat(depth)),
        |depth| format!("SELECT * {{ ?s {}<p:p> ?o }}", "^".repeat(depth)),
    ];
    let long: [fn(usize) -> String; 10] = [
        |length| format!("SELECT * {{ ?s ?p ?o FILTER(1{}) }}", " + 1".repeat(length)),
        |length| format!("SELECT * {{ ?s ?p ?o FILTER(1{}) }}", " && 1".repeat(length / 2)),
        |length| format!("SELECT * {{ ?s ?p ?o FILTER(?o = 1{}) }}", " || ?o = 1".repeat(length / 3)),
        |length| format!("SELECT * {{ ?s <p:p>{} ?o }}", "/<p:p>".repeat(length)),
        |length| format!("SELECT * {{ ?s <p:p>{} ?o }}", "|<p:p>".repeat(length)),
        |length| format!("SELECT * {{ {{}} {} }}", "UNION {}".repeat(length)),
        |length| format!("SELECT * {{ ?s <p:p> ?o {} }}", "OPTIONAL { ?s <p:q> ?o }".repeat(length)),
        |length| format!("SELECT * {{ ?s <p:p> 0 {} }}", "; <p:p> 1".repeat(length)),
        |length| format!("SELECT * {{ ?s <p:p> 0 {} }}", ", 1".repeat(length)),
        |length| format!("SELECT * {{ {} }}", "FILTER(?x)".repeat(length)),
    ];
    for (number, query) in deep.iter().enumerate() {
        // Just inside the limit it is answered or refused, far outside always refused.
        let _ = run(&query(60));
        let refused = run(&query(20_000));
        assert!(matches!(refused, Err(IndexError::TooComplex { .. })), "deep {number}: {refused:?}");
    }
    for (number, query) in long.iter().enumerate() {
        let _ = run(&query(120));
        let _ = run(&query(950));
        let refused = run(&query(100_000));
        assert!(matches!(refused, Err(IndexError::TooComplex { .. })), "long {number}: {refused:?}");
    }
    // What only looks complex is not.
    let brackets = "(((((".repeat(50);
    let signs = "'\n+-".repeat(500);
    run(&format!("SELECT * {{ ?s ?p ?o FILTER(?o = \"{brackets}\" || ?o = '''{signs}''') }}")).unwrap();
    let list: Vec<String> =
        (0..5000).map(|number| format!("<http://example.org/a.b/c-d/{number}>")).collect();
    let (values, arguments) = (list.join(" "), list.join(", "));
    run(&format!("SELECT * {{ VALUES ?s {{ {values} }} ?s ?p ?o FILTER(?s IN ({arguments})) }} # (((("))
        .unwrap();
}
