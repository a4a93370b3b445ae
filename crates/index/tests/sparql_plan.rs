//! Join order, explanations, limits inside joins, words inside queries, and what the specification says about corners.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::path::Path;
use std::time::{Duration, Instant};

use oxrdf::{GraphName, Literal, NamedNode, Term, Triple};
use proptest::prelude::*;
use webloom_index::{
    Batch, CancellationToken, GraphWrite, Index, IndexConfig, IndexError, JoinOrder, QueryOptions,
    QueryResults, Snapshot,
};

fn iri(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{local}"))
}

fn triple(subject: &str, predicate: &str, object: impl Into<Term>) -> Triple {
    Triple::new(iri(subject), iri(predicate), object)
}

fn index_of(directory: &Path, writes: Vec<GraphWrite>) -> Index {
    let config = IndexConfig { merge_in_background: false, ..IndexConfig::default() };
    let index = Index::open(directory, config).unwrap();
    // Two segments, so that nothing is seen by one alone.
    let half = writes.len() / 2;
    index.commit(&Batch::from(writes[half..].to_vec())).unwrap();
    index.commit(&Batch::from(writes[..half].to_vec())).unwrap();
    index
}

/// A thousand things with a kind, ten of them rare, each with five links and on its own page.
fn things(directory: &Path) -> Index {
    let writes = (0..1000).map(|number| {
        let name = format!("thing{number}");
        let kind = if number % 100 == 0 { "Rare" } else { "Common" };
        let links = (0..5)
            .map(|link| triple(&name, "link", iri(&format!("thing{}", (number * 3 + link * 101) % 1000))));
        let mut triples = vec![
            triple(&name, "type", iri(kind)),
            triple(&name, "next", iri(&format!("thing{}", (number + 1) % 1000))),
            triple(&name, "label", Literal::from(format!("thing number {number}").as_str())),
        ];
        triples.extend(links);
        GraphWrite::replace(iri(&format!("page{number}")), triples)
    });
    index_of(directory, writes.collect())
}

fn options() -> QueryOptions {
    QueryOptions { base_iri: Some("http://example.org/".to_owned()), ..QueryOptions::default() }
}

fn select_with(snapshot: &Snapshot, query: &str, options: &QueryOptions) -> Result<Vec<String>, String> {
    let results = snapshot.query(query, options).map_err(|error| error.to_string())?;
    let QueryResults::Solutions(solutions) = results else { panic!("not a SELECT: {query}") };
    let variables = solutions.variables().to_vec();
    let mut lines = Vec::new();
    for solution in solutions {
        let solution = solution.map_err(|error| error.to_string())?;
        let value = |term: Option<&Term>| term.map_or("-".to_owned(), ToString::to_string);
        let line: Vec<String> = variables.iter().map(|variable| value(solution.get(variable))).collect();
        lines.push(line.join(" ").replace("http://example.org/", ""));
    }
    lines.sort();
    Ok(lines)
}

fn select(snapshot: &Snapshot, query: &str) -> Vec<String> {
    select_with(snapshot, query, &options()).unwrap()
}

#[test]
fn the_selective_pattern_comes_first() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = things(directory.path()).snapshot();
    let query = "SELECT ?l { ?x <label> ?l . ?x <next> ?y . ?y <type> <Rare> . ?x <type> <Common> }";
    let explanation = snapshot.explain(query, &options()).unwrap();
    assert_eq!(explanation.results, 10);
    let order: Vec<&str> = explanation.joins[0].iter().map(|step| step.pattern.as_str()).collect();
    assert!(order[0].contains("Rare") && order[1].contains("next"), "{order:?}");
    assert!((5.0..20.0).contains(&explanation.joins[0][3].estimated_rows), "{:?}", explanation.joins);
    // Nobody read more than the rare things need.
    assert!(most_rows(&explanation.plan) <= 20, "{explanation}");
    let text = explanation.to_string();
    assert!(
        text.contains("join order 1") && text.contains("QuadPattern") && text.contains("10 results"),
        "{text}"
    );
    let json = serde_json::to_value(&explanation).unwrap();
    assert_eq!(json["plan"]["rows"], 10);
}

fn most_rows(node: &webloom_index::PlanNode) -> u64 {
    node.children.iter().map(most_rows).chain([node.rows]).max().unwrap_or(0)
}

#[test]
fn large_joins_read_each_side_once() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = things(directory.path()).snapshot();
    let query = "SELECT ?a ?b { ?x <label> ?a . ?x <link> ?y . ?y <label> ?b }";
    let explanation = snapshot.explain(query, &options()).unwrap();
    assert_eq!(explanation.results, 5000);
    assert!(explanation.joins[0].iter().any(|step| step.join == "hash"), "{explanation}");
}

#[test]
fn estimates_are_close() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = things(directory.path()).snapshot();
    let id = |local: &str| Some(snapshot.term_id(iri(local).as_ref().into()));
    for (pattern, expected) in [
        ([None, None, None, None], 8000),
        ([None, id("type"), None, None], 1000),
        ([None, id("type"), id("Rare"), None], 10),
        ([id("thing5"), None, None, None], 8),
        ([None, None, id("thing5"), None], 6),
        ([None, None, None, id("page7")], 8),
        ([id("thing7"), id("type"), None, id("page7")], 1),
        ([None, id("nothing"), None, None], 0),
    ] {
        let [subject, predicate, object, graph] = pattern;
        assert_eq!(snapshot.estimate(subject, predicate, object, graph).unwrap(), expected, "{pattern:?}");
    }
}

#[test]
fn corners_of_the_specification() {
    let directory = tempfile::tempdir().unwrap();
    let writes = vec![
        GraphWrite::replace(iri("g1"), vec![triple("a", "p", iri("b")), triple("a", "n", Literal::from(1))]),
        GraphWrite::replace(iri("g2"), vec![triple("c", "p", iri("d"))]),
        GraphWrite::add(GraphName::DefaultGraph, vec![triple("x", "p", iri("y"))]),
    ];
    let snapshot = index_of(directory.path(), writes).snapshot();
    let integer = "^^<http://www.w3.org/2001/XMLSchema#integer>";
    for (query, expected) in [
        // Inside GRAPH ?g everything is about one graph at a time.
        (
            "SELECT ?g ?t { GRAPH ?g { VALUES ?t { 'x' } } }",
            vec!["<g1> \"x\"".to_owned(), "<g2> \"x\"".to_owned()],
        ),
        (
            "SELECT ?g ?s { GRAPH ?g { VALUES ?s { <a> <c> } ?s <p> ?o } }",
            vec!["<g1> <a>".to_owned(), "<g2> <c>".to_owned()],
        ),
        (
            "SELECT ?g ?c { GRAPH ?g { SELECT (COUNT(*) AS ?c) { ?s <n> ?o } } }",
            vec![format!("<g1> \"1\"{integer}"), format!("<g2> \"0\"{integer}")],
        ),
        (
            "SELECT ?g ?c { GRAPH ?g { SELECT ?p (COUNT(*) AS ?c) { ?s ?p ?o } GROUP BY ?p } FILTER(?g = <g2>) }",
            vec![format!("<g2> \"1\"{integer}")],
        ),
        (
            "SELECT ?s { GRAPH ?g { ?s <p> ?o MINUS { ?other <p> ?any } } }",
            vec!["<a>".to_owned(), "<c>".to_owned()],
        ),
        ("SELECT ?s { GRAPH ?g { ?s <p> ?o MINUS { ?s <n> ?any } } }", vec!["<c>".to_owned()]),
        (
            "SELECT ?g ?s { GRAPH ?g { SELECT ?s { ?s ?p ?o } LIMIT 1 } }",
            vec!["<g1> <a>".to_owned(), "<g2> <c>".to_owned()],
        ),
        // A subquery's own ?g is another one.
        (
            "SELECT ?g ?s { GRAPH ?g { SELECT ?s { ?s <p> ?g } } }",
            vec!["<g1> <a>".to_owned(), "<g2> <c>".to_owned()],
        ),
        (
            "SELECT ?g ?s { GRAPH ?g { ?s <p> ?o { SELECT ?s { ?s <p> ?g } } } }",
            vec!["<g1> <a>".to_owned(), "<g2> <c>".to_owned()],
        ),
        // A path of length zero needs no graph.
        ("SELECT ?s { ?s <p>* <nowhere> }", vec!["<nowhere>".to_owned()]),
        ("SELECT ?o { <nowhere> <p>? ?o }", vec!["<nowhere>".to_owned()]),
        ("SELECT ?s { ?s <p>* <b> }", vec!["<a>".to_owned(), "<b>".to_owned()]),
        ("SELECT (COUNT(*) AS ?n) { <nowhere> <p>* <nowhere> }", vec![format!("\"1\"{integer}")]),
        // Numbers that a query computes are written canonically.
        (
            "SELECT ?n { VALUES ?x { 1.5 } BIND(?x * 2 AS ?n) }",
            vec!["\"3.0\"^^<http://www.w3.org/2001/XMLSchema#decimal>".to_owned()],
        ),
        ("SELECT (GROUP_CONCAT(?o) AS ?g) { VALUES ?o { 'a'@en } }", vec!["\"a\"".to_owned()]),
        // Blank nodes in patterns are variables.
        ("SELECT ?s { ?s <p> [] . ?s <n> [] }", vec!["<a>".to_owned()]),
        (
            "SELECT ?s ?o { ?s <p> _:b . OPTIONAL { ?s <n> ?o } }",
            vec![format!("<a> \"1\"{integer}"), "<c> -".to_owned(), "<x> -".to_owned()],
        ),
        ("SELECT * { ?s <n> ?o }", vec![format!("<a> \"1\"{integer}")]),
    ] {
        assert_eq!(select(&snapshot, query), expected, "{query}");
    }
    let error =
        select_with(&snapshot, "SELECT * { SERVICE <http://e.org/> { ?s ?p ?o } }", &options()).unwrap_err();
    assert!(error.contains("http://e.org/") && error.contains("not asked"), "{error}");
    assert_eq!(select(&snapshot, "SELECT ?x { SERVICE SILENT <http://e.org/> { ?x ?p ?o } }"), ["-"]);
}

#[test]
fn limits_hold_inside_joins() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = things(directory.path()).snapshot();
    // A product in memory, in which the evaluator asks the dataset nothing.
    let product = "SELECT ?a { { SELECT ?a { ?a <next> ?b } } { SELECT ?c { ?c <next> ?d } } \
                   { SELECT ?e { ?e <next> ?f } } { SELECT ?g { ?g <next> ?h } } } ORDER BY ?a";
    let run = |options: QueryOptions| {
        let started = Instant::now();
        let error = select_with(&snapshot, product, &options).unwrap_err();
        assert!(started.elapsed() < Duration::from_secs(20), "{error} after {:?}", started.elapsed());
        error
    };
    let error = run(QueryOptions { memory_limit_bytes: Some(20_000_000), ..options() });
    assert!(error.contains("more than 20000000 bytes of memory"), "{error}");
    let error = run(QueryOptions {
        time_limit: Some(Duration::from_millis(100)),
        memory_limit_bytes: Some(1 << 30),
        ..options()
    });
    assert!(error.contains("longer than") || error.contains("memory"), "{error}");
    let token = CancellationToken::new();
    token.cancel();
    let error = run(QueryOptions { cancellation: Some(token), ..options() });
    assert!(error.contains("cancelled"), "{error}");

    let few = QueryOptions { row_limit: Some(10), ..options() };
    let error = select_with(&snapshot, "SELECT ?x { ?x <next> ?y }", &few).unwrap_err();
    assert!(error.contains("more than 10 results"), "{error}");
    assert_eq!(select_with(&snapshot, "SELECT ?x { ?x <type> <Rare> }", &few).unwrap().len(), 10);
    // A text that doubles with every step.
    let mut doubling = "SELECT * { BIND('0123456789abcdef' AS ?x0)".to_owned();
    for step in 0..30 {
        doubling += &format!(" BIND(CONCAT(?x{step}, ?x{step}) AS ?x{})", step + 1);
    }
    let error = select_with(
        &snapshot,
        &(doubling + "}"),
        &QueryOptions { memory_limit_bytes: Some(1 << 28), ..options() },
    );
    assert!(error.is_err(), "30 doublings fit");
    let mut nested = "?x".to_owned();
    for _ in 0..8 {
        nested = format!("CONCAT({nested}, {nested})");
    }
    let error =
        select_with(&snapshot, &format!("SELECT ?y {{ ?s <label> ?x BIND({nested} AS ?y) }}"), &options());
    assert!(error.unwrap_err().contains("too complex"));
    select(
        &snapshot,
        "SELECT ?y { ?s <label> ?x BIND(CONCAT('a', ?x, ' ', REPLACE(?x, 'thing', 'THING')) AS ?y) }",
    );
    // And afterwards everything is as before.
    assert_eq!(select(&snapshot, "SELECT ?x { ?x <type> <Rare> }").len(), 10);
}

#[test]
fn words_inside_a_query() {
    let directory = tempfile::tempdir().unwrap();
    let writes = vec![
        GraphWrite::replace(
            iri("page1"),
            vec![
                triple("boat", "label", Literal::from("silver river boat")),
                triple("boat", "price", Literal::from(30)),
                triple("car", "label", Literal::from("a silver car")),
                triple("car", "price", Literal::from(90)),
            ],
        ),
        GraphWrite::replace(
            iri("page2"),
            vec![triple("boat", "note", Literal::from("the boat on the river"))],
        ),
    ];
    let snapshot = index_of(directory.path(), writes).snapshot();
    let ask = |inside: &str, rest: &str| {
        let query = format!(
            "PREFIX wl: <urn:webloom:ns#> SELECT * {{ {rest} SERVICE <urn:webloom:text> {{ [] {inside} }} }}"
        );
        select_with(&snapshot, &query, &options())
    };
    assert_eq!(ask("wl:query 'silver' ; wl:subject ?s", "").unwrap(), ["<boat>", "<car>"]);
    assert_eq!(ask("wl:query '\"river boat\"' ; wl:subject ?s", "").unwrap(), ["<boat>"]);
    let joined = ask("wl:query 'silver' ; wl:subject ?s", "?s <price> ?p FILTER(?p > 50)").unwrap();
    assert_eq!(joined.len(), 1);
    assert!(joined[0].starts_with("<car>"), "{joined:?}");
    assert_eq!(ask("wl:query 'river' ; wl:subject ?s ; wl:graph ?g", "").unwrap().len(), 2);
    assert_eq!(ask("wl:query 'silver' ; wl:subject ?s ; wl:limit 1", "").unwrap().len(), 1);
    let scored = ask("wl:query 'boat' ; wl:subject ?s ; wl:score ?score ; wl:snippet ?t", "").unwrap();
    assert!(scored[0].contains("XMLSchema#double") && scored[0].contains("boat"), "{scored:?}");
    assert_eq!(ask("wl:query 'nothing' ; wl:subject ?s", "").unwrap(), Vec::<String>::new());
    for (inside, reason) in [
        ("wl:subject ?s", "wl:query is missing"),
        ("wl:query ?w ; wl:subject ?s", "takes a string"),
        ("wl:query 'x' ; wl:colour ?s", "is not one of"),
        ("wl:query 'x' ; wl:limit 'many'", "takes a number"),
        ("wl:query 'x' ; wl:score 3", "takes a variable"),
        ("wl:query 'x' ; wl:type 'Boat'", "takes an IRI"),
        ("wl:query 'x' ; wl:predicate ?p", "takes an IRI"),
        ("wl:query 'x' ; wl:subject ?s . VALUES ?other { <a> }", "VALUES inside"),
    ] {
        let error = ask(inside, "").unwrap_err();
        assert!(error.contains(reason), "{inside}: {error}");
    }
}

#[test]
fn searches_inside_a_query_can_be_narrowed() {
    let directory = tempfile::tempdir().unwrap();
    let is_a = |subject: &str, class: &str| {
        Triple::new(iri(subject), oxrdf::vocab::rdf::TYPE.into_owned(), iri(class))
    };
    let tagged = |text: &str, tag: &str| Literal::new_language_tagged_literal_unchecked(text, tag);
    let writes = vec![
        GraphWrite::replace(
            iri("page1"),
            vec![
                is_a("boat", "Boat"),
                triple("boat", "label", Literal::from("silver river boat")),
                triple("boat", "note", Literal::from("has a golden mast")),
                triple("car", "label", Literal::from("a golden car")),
                triple("house", "label", tagged("Zwei alte Häuser", "de")),
                triple("hauser", "label", tagged("Mister Hauser", "en")),
            ],
        ),
        // The type is said on another page than the words.
        GraphWrite::replace(iri("page2"), vec![is_a("car", "Car"), triple("car", "owner", iri("ann"))]),
    ];
    let snapshot = index_of(directory.path(), writes).snapshot();
    let ask = |inside: &str, rest: &str| {
        let query = format!(
            "PREFIX wl: <urn:webloom:ns#> SELECT * {{ {rest} SERVICE <urn:webloom:text> {{ [] {inside} }} }}"
        );
        select_with(&snapshot, &query, &options()).unwrap()
    };
    for (inside, expected) in [
        ("wl:query 'golden' ; wl:subject ?s", &["<boat>", "<car>"][..]),
        ("wl:query 'golden' ; wl:subject ?s ; wl:type <Car>", &["<car>"]),
        ("wl:query 'golden' ; wl:subject ?s ; wl:type <Car> ; wl:type <Boat>", &["<boat>", "<car>"]),
        ("wl:query 'golden' ; wl:subject ?s ; wl:predicate <label>", &["<car>"]),
        (
            "wl:query 'golden' ; wl:subject ?s ; wl:predicate <label> ; wl:predicate <note>",
            &["<boat>", "<car>"],
        ),
        ("wl:query 'golden silver' ; wl:subject ?s ; wl:predicate <note>", &[]),
        ("wl:query 'golden silver' ; wl:subject ?s", &["<boat>"]),
        // Nothing has both, and nobody asked for either.
        ("wl:query 'silver car' ; wl:subject ?s", &[]),
        ("wl:query 'silver OR car' ; wl:subject ?s", &["<boat>", "<car>"]),
        ("wl:query 'goldne~1' ; wl:subject ?s", &["<boat>", "<car>"]),
        ("wl:query 'gold*' ; wl:subject ?s", &["<boat>", "<car>"]),
        ("wl:query 'Haus'@de ; wl:subject ?s", &["<hauser>", "<house>"]),
        ("wl:query 'Haus'@ru ; wl:subject ?s", &[]),
        ("wl:query 'boats'@en ; wl:subject ?s", &["<boat>"]),
        ("wl:query 'golden' ; wl:subject ?s . VALUES ?s { <car> <nobody> }", &["<car>"]),
        ("wl:query 'golden' ; wl:graph <page1> ; wl:subject ?s", &["<boat>", "<car>"]),
        ("wl:query 'golden' ; wl:graph <page2> ; wl:subject ?s", &[]),
        ("wl:query 'golden' ; wl:subject <car> ; wl:literal ?l", &["\"a golden car\""]),
        ("wl:query 'mast' ; wl:literal ?l", &["\"has a golden mast\""]),
    ] {
        assert_eq!(ask(inside, ""), expected, "{inside}");
    }
    // What else is said of the subject restricts the search, and never what is found.
    assert_eq!(ask("wl:query 'golden' ; wl:subject ?s", "?s <owner> ?o"), ["<car> <ann>"]);
    assert_eq!(ask("wl:query 'golden' ; wl:subject ?s", "VALUES ?s { <boat> <house> }"), ["<boat>"]);
    let explained = snapshot
        .explain(
            "PREFIX wl: <urn:webloom:ns#> SELECT * { ?s <owner> ?o SERVICE <urn:webloom:text> { [] wl:query 'golden' ; wl:subject ?s } }",
            &options(),
        )
        .unwrap();
    assert!(format!("{explained:?}").contains("among 1 subjects"), "{explained:?}");
}

#[test]
fn counts_are_what_evaluation_counts() {
    let directory = tempfile::tempdir().unwrap();
    let index = dense(directory.path());
    let count = |snapshot: &Snapshot, query: &str, join_order: JoinOrder| {
        let options = QueryOptions { join_order, time_limit: Some(Duration::from_secs(5)), ..options() };
        select_with(snapshot, query, &options)
    };
    let two_segments = index.snapshot();
    index.compact().unwrap();
    let one_segment = index.snapshot();
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let patterns = prop::collection::vec(pattern(), 1..4).prop_map(|patterns| patterns.join(" "));
    runner
        .run(&patterns, |body| {
            for query in [
                format!("SELECT (COUNT(*) AS ?n) {{ {body} }}"),
                format!("SELECT ?v0 (COUNT(*) AS ?n) (COUNT(DISTINCT ?v1) AS ?m) {{ {body} }} GROUP BY ?v0"),
                format!("SELECT ?v0 ?v1 (COUNT(?v2) AS ?n) {{ {body} }} GROUP BY ?v0 ?v1"),
                format!("SELECT (COUNT(DISTINCT ?v2) AS ?n) {{ {body} }}"),
            ] {
                let Ok(plain) = count(&two_segments, &query, JoinOrder::Shape) else {
                    continue;
                };
                for snapshot in [&two_segments, &one_segment] {
                    if let Ok(counted) = count(snapshot, &query, JoinOrder::Statistics) {
                        prop_assert_eq!(&counted, &plain, "{}", query);
                    }
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn numbers_are_compared_while_counting() {
    let directory = tempfile::tempdir().unwrap();
    let prices = |number: u32| triple(&format!("thing{number}"), "price", Literal::from(number));
    let writes = vec![
        GraphWrite::replace(iri("page1"), (0..50).map(prices).collect()),
        GraphWrite::replace(iri("page2"), (25..100).map(prices).collect()),
        GraphWrite::replace(iri("page3"), vec![triple("odd", "price", iri("unknown"))]),
    ];
    let snapshot = index_of(directory.path(), writes).snapshot();
    for (filter, expected) in [
        ("?p > 90", 9),
        ("?p >= 90", 10),
        ("90 < ?p", 9),
        ("?p < 10 && ?p > 4", 5),
        ("?p = 30", 1),
        ("?p <= -1", 0),
        // These are left to the evaluator.
        ("?p > 90.5", 9),
        ("?p > 90 || ?p < 5", 14),
    ] {
        let found =
            select(&snapshot, &format!("SELECT (COUNT(*) AS ?n) {{ ?x <price> ?p FILTER({filter}) }}"));
        assert_eq!(
            found,
            [format!("\"{expected}\"^^<http://www.w3.org/2001/XMLSchema#integer>")],
            "{filter}"
        );
    }
}

/// A small dense graph, so that joins have many ways to go wrong.
fn dense(directory: &Path) -> Index {
    let writes = (0..4).map(|page| {
        let triples = (0..12).map(|number: u32| {
            let (subject, object) =
                (format!("n{}", (number * 7 + page) % 6), format!("n{}", (number * 5 + page) % 6));
            triple(&subject, ["p", "q"][(number % 2) as usize], iri(&object))
        });
        GraphWrite::replace(iri(&format!("n{page}")), triples.collect())
    });
    index_of(directory, writes.collect())
}

fn pattern() -> impl Strategy<Value = String> {
    let node = prop_oneof![4 => (0..4u8).prop_map(|v| format!("?v{v}")), 1 => (0..6u8).prop_map(|n| format!("<n{n}>"))];
    let predicate = prop_oneof![
        4 => Just("<p>".to_owned()),
        2 => Just("<q>".to_owned()),
        1 => (0..4u8).prop_map(|v| format!("?v{v}")),
        1 => Just("<p>/<q>".to_owned()),
        1 => Just("<p>+".to_owned()),
        1 => Just("<p>*".to_owned()),
    ];
    (node.clone(), predicate, node)
        .prop_map(|(subject, predicate, object)| format!("{subject} {predicate} {object} ."))
}

fn group(depth: u32) -> BoxedStrategy<String> {
    let triples = prop::collection::vec(pattern(), 1..4).prop_map(|patterns| patterns.join(" ")).boxed();
    if depth == 0 {
        return triples;
    }
    let inner = group(depth - 1);
    prop_oneof![
        4 => triples.clone(),
        1 => (triples.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} OPTIONAL {{ {b} }}")),
        1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a} }} UNION {{ {b} }}")),
        1 => (triples.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} MINUS {{ {b} }}")),
        1 => (triples.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} FILTER NOT EXISTS {{ {b} }}")),
        1 => (triples.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} GRAPH ?v0 {{ {b} }}")),
        1 => (triples.clone(), inner.clone()).prop_map(|(a, b)| format!("VALUES ?v1 {{ <n1> <n2> }} {a} {{ {b} }}")),
        1 => (triples, inner).prop_map(|(a, b)| format!("{a} {{ SELECT DISTINCT ?v0 ?v1 {{ {b} }} }}")),
    ]
    .boxed()
}

#[test]
fn the_order_of_joins_does_not_change_the_answer() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = dense(directory.path()).snapshot();
    let count = |body: &str, join_order: JoinOrder| -> Result<Vec<String>, String> {
        let query = format!("SELECT ?v0 ?v1 ?v2 ?v3 {{ {body} }}");
        let options = QueryOptions {
            join_order,
            time_limit: Some(Duration::from_secs(5)),
            memory_limit_bytes: Some(200_000_000),
            row_limit: Some(20_000),
            ..options()
        };
        select_with(&snapshot, &query, &options)
    };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(&group(1), |body| {
            // What is too large to be finished in either order is not compared.
            if let (Ok(planned), Ok(plain)) =
                (count(&body, JoinOrder::Statistics), count(&body, JoinOrder::Shape))
            {
                prop_assert_eq!(planned, plain, "{}", body);
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn errors_have_names() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = things(directory.path()).snapshot();
    let tiny = QueryOptions { memory_limit_bytes: Some(1000), ..options() };
    let asked = snapshot.query("ASK { { SELECT DISTINCT ?x { ?x <next> ?y } ORDER BY ?x } }", &tiny);
    assert!(matches!(asked, Err(IndexError::MemoryLimit { limit_bytes: 1000 })), "{:?}", asked.err());
}
