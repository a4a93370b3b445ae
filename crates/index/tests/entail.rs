//! Views: what follows, what does not, whom to believe, and that hostile schemas cost little.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Term, Triple};
use proptest::prelude::*;
use tempfile::TempDir;
use webloom_index::{
    Batch, DefaultGraph, Entailment, GraphWrite, Index, IndexConfig, IndexError, QueryOptions, QueryResults,
    Rules, Snapshot, Trust, UpdateOptions,
};

/// `a:`, `b:` and so on are sites; the vocabularies have their usual short names.
fn expand(word: &str) -> String {
    let known = [
        ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
        ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
        ("owl", "http://www.w3.org/2002/07/owl#"),
    ];
    let (prefix, local) = word.split_once(':').unwrap();
    match known.iter().find(|(known, _)| *known == prefix) {
        Some((_, namespace)) => format!("{namespace}{local}"),
        None => format!("http://{prefix}.example/{local}"),
    }
}

fn shorten(text: &str) -> String {
    let mut text = text
        .replace("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "a")
        .replace("http://www.w3.org/2000/01/rdf-schema#", "rdfs:")
        .replace("http://www.w3.org/2002/07/owl#", "owl:")
        .replace(['<', '>'], "");
    for site in ["a", "b", "c", "v", "w"] {
        text = text.replace(&format!("http://{site}.example/"), &format!("{site}:"));
    }
    text
}

fn term(word: &str) -> Term {
    if let Some(text) = word.strip_prefix('\'') {
        return oxrdf::Literal::from(text).into();
    }
    if let Some(label) = word.strip_prefix("_:") {
        return oxrdf::BlankNode::new_unchecked(label).into();
    }
    NamedNode::new_unchecked(expand(word)).into()
}

fn triple(line: &str) -> Triple {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [subject, predicate, object] = words[..] else { panic!("{line}") };
    let subject: NamedOrBlankNode = match term(subject) {
        Term::NamedNode(node) => node.into(),
        Term::BlankNode(node) => node.into(),
        Term::Literal(_) => panic!("{line}"),
    };
    let predicate = if predicate == "a" { "rdf:type" } else { predicate };
    Triple::new(subject, NamedNode::new_unchecked(expand(predicate)), term(object))
}

/// An index with pages: each a name (`-` for the default graph) and lines of triples.
fn index(pages: &[(&str, &str)]) -> (TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let config = IndexConfig { merge_in_background: false, ..IndexConfig::default() };
    let index = Index::open(folder.path(), config).unwrap();
    for (page, lines) in pages {
        let graph = match *page {
            "-" => GraphName::DefaultGraph,
            page => NamedNode::new_unchecked(expand(page)).into(),
        };
        let triples = lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(triple).collect();
        index.commit(&Batch::from(vec![GraphWrite::add(graph, triples)])).unwrap();
    }
    (folder, index)
}

fn infer(snapshot: &Snapshot, rules: Rules, trust: Trust) -> BTreeSet<String> {
    let inferred = snapshot.inferred(&Entailment { trust, ..Entailment::new(rules) }).unwrap();
    assert_eq!(inferred.set_aside(), [""; 0]);
    let lines: Vec<String> = inferred.triples().map(|triple| shorten(&triple.unwrap().to_string())).collect();
    let set: BTreeSet<String> = lines.iter().cloned().collect();
    assert_eq!(set.len(), lines.len(), "a statement twice");
    set
}

/// Everything that follows from one page of the vocabulary's own site, line by line.
#[track_caller]
fn check(rules: Rules, lines: &str, expected: &[&str]) {
    let (_folder, index) = index(&[("v:page", lines)]);
    let found = infer(&index.snapshot(), rules, Trust::Authoritative);
    let expected: BTreeSet<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    assert_eq!(found, expected);
}

#[test]
fn classes_are_inherited() {
    check(
        Rules::RDFS,
        "v:x a v:Dog
         v:Dog rdfs:subClassOf v:Mammal
         v:Mammal rdfs:subClassOf v:Animal",
        &["v:Dog rdfs:subClassOf v:Animal", "v:x a v:Animal", "v:x a v:Mammal"],
    );
}

#[test]
fn properties_domains_and_ranges_are_inherited_together() {
    check(
        Rules::RDFS,
        "v:x v:father v:y
         v:x v:nick 'Xx
         v:father rdfs:subPropertyOf v:parent
         v:parent rdfs:domain v:Child
         v:parent rdfs:range v:Parent
         v:nick rdfs:range v:Name
         v:Child rdfs:subClassOf v:Person",
        &["v:x a v:Child", "v:x a v:Person", "v:x v:parent v:y", "v:y a v:Parent"],
    );
}

#[test]
fn what_is_above_a_type_property_types() {
    check(
        Rules::RDFS,
        "v:isA rdfs:subPropertyOf rdf:type
         v:x v:isA v:Dog
         v:Dog rdfs:subClassOf v:Animal",
        &["v:x a v:Animal", "v:x a v:Dog"],
    );
}

#[test]
fn owl_properties() {
    check(
        Rules::OWL,
        "v:knows a owl:SymmetricProperty
         v:x v:knows v:y",
        &["v:y v:knows v:x"],
    );
    check(
        Rules::OWL,
        "v:child owl:inverseOf v:parent
         v:x v:child v:y
         v:z v:parent v:w",
        &["v:w v:child v:z", "v:y v:parent v:x"],
    );
    check(
        Rules::OWL,
        "v:in a owl:TransitiveProperty
         v:within owl:equivalentProperty v:in
         v:x v:in v:y
         v:y v:within v:z",
        &[
            "v:in rdfs:subPropertyOf v:within",
            "v:within rdfs:subPropertyOf v:in",
            "v:x v:in v:z",
            "v:x v:within v:y",
            "v:x v:within v:z",
            "v:y v:in v:z",
        ],
    );
    check(
        Rules::OWL,
        "v:A owl:equivalentClass v:B
         v:x a v:A
         v:y a v:B",
        &["v:A rdfs:subClassOf v:B", "v:B rdfs:subClassOf v:A", "v:x a v:B", "v:y a v:A"],
    );
}

#[test]
fn transitive_properties_give_to_each_other() {
    // part is below within; both are transitive, contains is the inverse of within.
    let lines = "v:part a owl:TransitiveProperty
         v:within a owl:TransitiveProperty
         v:part rdfs:subPropertyOf v:within
         v:within owl:inverseOf v:contains
         v:w0 v:part v:w1
         v:w1 v:part v:w2
         v:w2 v:within v:w3";
    let (_folder, index) = index(&[("v:page", lines)]);
    let found = infer(&index.snapshot(), Rules::OWL, Trust::Authoritative);
    for expected in ["v:w0 v:part v:w2", "v:w0 v:within v:w3", "v:w3 v:contains v:w0"] {
        assert!(found.contains(expected), "{expected} in {found:?}");
    }
    assert!(!found.contains("v:w0 v:part v:w3"));
    // 6 pairs of within, of which one is stated; its 6 inverses; one of part; one sub-property stated.
    assert_eq!(found.len(), 5 + 6 + 1);
}

#[test]
fn things_that_are_the_same_speak_with_one_name() {
    check(
        Rules::SAME_AS,
        "v:b owl:sameAs v:a
         v:b owl:sameAs v:c
         v:b v:p 'B
         v:x v:knows v:c",
        &[
            "v:a owl:sameAs v:a",
            "v:a owl:sameAs v:b",
            "v:a owl:sameAs v:c",
            "v:a v:p \"B\"",
            "v:c owl:sameAs v:a",
            "v:x v:knows v:a",
        ],
    );
}

#[test]
fn an_iri_stands_for_a_blank_node() {
    check(
        Rules::SAME_AS,
        "_:a owl:sameAs v:z
         _:a v:p 'A",
        &["v:z owl:sameAs _:a", "v:z owl:sameAs v:z", "v:z v:p \"A\""],
    );
}

#[test]
fn keys_identify() {
    let lines = "v:mbox a owl:InverseFunctionalProperty
         v:mother a owl:FunctionalProperty
         v:work rdfs:subPropertyOf v:mbox
         v:a v:mbox v:box
         v:b v:work v:box
         v:a v:mother v:m1
         v:b v:mother v:m2
         v:n1 v:mbox v:box2
         v:e1 v:mbox '
         v:e2 v:mbox '";
    let (_folder, index) = index(&[("v:page", lines)]);
    let found = infer(&index.snapshot(), Rules::OWL, Trust::Authoritative);
    for expected in ["v:b owl:sameAs v:a", "v:m2 owl:sameAs v:m1", "v:a v:work v:box"] {
        assert!(found.contains(expected), "{expected} in {found:?}");
    }
    assert!(!found.iter().any(|line| line.contains("v:e1") || line.contains("v:n1")), "{found:?}");
}

#[test]
fn only_the_owner_of_a_term_says_what_it_means() {
    let facts =
        ("a:page", "a:x a v:Person\na:x v:knows a:y\na:Local rdfs:subClassOf v:Person\na:z a a:Local");
    let hijack = (
        "b:page",
        "v:Person rdfs:subClassOf b:Customer
         v:knows rdfs:subPropertyOf b:likes
         v:knows rdfs:domain b:Customer
         b:Customer owl:equivalentClass v:Person
         b:likes owl:inverseOf v:knows
         v:knows a owl:SymmetricProperty
         rdf:type rdfs:subPropertyOf b:likes
         owl:sameAs a owl:SymmetricProperty
         a:x owl:sameAs a:y",
    );
    let (_folder, index) = index(&[facts, hijack]);
    let snapshot = index.snapshot();
    let found = infer(&snapshot, Rules::OWL, Trust::Authoritative);
    // b may say that its own customers are persons, which gives nobody here anything, and a that its locals are.
    let expected = ["a:z a v:Person", "b:Customer rdfs:subClassOf v:Person"];
    assert_eq!(found, expected.map(str::to_owned).into());

    let everything = infer(&snapshot, Rules::OWL, Trust::All);
    for line in ["a:x a b:Customer", "a:x b:likes a:x", "a:y owl:sameAs a:x"] {
        assert!(everything.contains(line), "{line} in {everything:?}");
    }
    assert!(!everything.iter().any(|line| line.contains("b:likes v:Person")), "rdf:type was redefined");
}

#[test]
fn people_and_the_document_behind_a_redirect_are_believed() {
    let (_folder, index) = index(&[
        ("a:page", "a:x a v:Cat\na:x a w:Dog\na:x a c:Cow"),
        ("-", "v:Cat rdfs:subClassOf v:Animal"),
        ("b:terms", "w:Dog rdfs:subClassOf w:Animal\nc:Cow rdfs:subClassOf c:Animal"),
    ]);
    let hop = |from: &str, to: &str| {
        let graph = NamedNode::new_unchecked(format!("urn:webloom:meta:{from}"));
        let redirects = NamedNode::new_unchecked("urn:webloom:ns#redirectsTo");
        let triple = Triple::new(NamedNode::new_unchecked(from), redirects, NamedNode::new_unchecked(to));
        index.commit(&Batch::from(vec![GraphWrite::replace(graph, vec![triple])])).unwrap();
    };
    hop("http://w.example/Dog", "http://c.example/hop");
    hop("http://c.example/hop", "http://b.example/terms");
    // A circle ends.
    hop("http://c.example/Cow", "http://c.example/Cow2");
    hop("http://c.example/Cow2", "http://c.example/Cow");
    let found = infer(&index.snapshot(), Rules::RDFS, Trust::Authoritative);
    assert_eq!(found, ["a:x a v:Animal", "a:x a w:Animal"].map(str::to_owned).into());
}

#[test]
fn a_host_that_only_looks_alike_is_another_host() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::open(folder.path(), IndexConfig::default()).unwrap();
    let statement = triple("v:Person rdfs:subClassOf b:Customer");
    for name in [
        "http://v.example@b.example/",
        "http://b.example/?http://v.example/",
        "http://v.example.b.example/",
        "http://v.example:8080/",
        "urn:v.example",
        "http://b.example/v.example/",
    ] {
        let graph = NamedNode::new_unchecked(name);
        index.commit(&Batch::from(vec![GraphWrite::replace(graph, vec![statement.clone()])])).unwrap();
    }
    let facts =
        GraphWrite::replace(NamedNode::new_unchecked("http://a.example/"), vec![triple("a:x a v:Person")]);
    index.commit(&Batch::from(vec![facts])).unwrap();
    assert!(infer(&index.snapshot(), Rules::RDFS, Trust::Authoritative).is_empty());
    let own = GraphWrite::replace(NamedNode::new_unchecked("HTTPS://V.EXAMPLE/ns"), vec![statement]);
    index.commit(&Batch::from(vec![own])).unwrap();
    assert_eq!(infer(&index.snapshot(), Rules::RDFS, Trust::Authoritative).len(), 1);
}

fn count(snapshot: &Snapshot, query: &str) -> usize {
    match snapshot.query(query, &QueryOptions::default()).unwrap() {
        QueryResults::Solutions(solutions) => solutions.map(Result::unwrap).count(),
        _ => panic!("not a SELECT"),
    }
}

#[test]
fn views_and_materialised_graphs_never_mix_with_pages() {
    let (_folder, index) = index(&[(
        "v:page",
        "v:x a v:Dog
         v:Dog rdfs:subClassOf v:Animal",
    )]);
    let animals = "SELECT * { ?x a <http://v.example/Animal> }";
    let on_the_page = "SELECT * { GRAPH <http://v.example/page> { ?s ?p ?o } }";
    let named = "SELECT * { GRAPH <urn:webloom:inferred:rdfs> { ?s ?p ?o } }";
    let any_graph = "SELECT * { GRAPH ?g { ?x a <http://v.example/Animal> } }";
    let before = index.snapshot();
    assert_eq!([animals, on_the_page, named].map(|query| count(&before, query)), [0, 2, 0]);
    let inferred = before.inferred(&Entailment::new(Rules::RDFS)).unwrap();
    let view = before.with_inferred(&inferred).unwrap();
    assert_eq!([animals, on_the_page, named, any_graph].map(|query| count(&view, query)), [1, 2, 1, 1]);
    assert_eq!(count(&before, animals), 0, "the snapshot itself changed");
    // Inferring again from a view gives the same: what was inferred is no premise.
    assert_eq!(view.inferred(&Entailment::new(Rules::RDFS)).unwrap().len(), 1);

    assert!(before.with_materialized(Rules::RDFS).is_none());
    for _ in 0..2 {
        let inferred = index.snapshot().inferred(&Entailment::new(Rules::RDFS)).unwrap();
        assert_eq!(index.materialize(&inferred).unwrap().quads, 1);
        let after = index.snapshot();
        assert_eq!([animals, on_the_page, named].map(|query| count(&after, query)), [0, 2, 1]);
        let shown = after.with_materialized(Rules::RDFS).unwrap();
        assert_eq!([animals, on_the_page, named].map(|query| count(&shown, query)), [1, 2, 1]);
        assert_eq!(count(&shown, "SELECT * { ?s ?p ?o }"), 3);
        assert!(after.with_materialized(Rules::OWL).is_none());
    }
    // What no longer follows is gone after the next run, also when nothing follows any more.
    index
        .commit(&Batch::from(vec![GraphWrite::replace(
            NamedNode::new_unchecked(expand("v:page")),
            vec![triple("v:x a v:Dog")],
        )]))
        .unwrap();
    let inferred = index.snapshot().inferred(&Entailment::new(Rules::RDFS)).unwrap();
    assert!(inferred.is_empty());
    index.materialize(&inferred).unwrap();
    assert_eq!(count(&index.snapshot(), named), 0);
    assert!(index.snapshot().with_materialized(Rules::RDFS).is_some());
    index.forget_materialized(Rules::RDFS).unwrap();
    index.compact().unwrap();
    assert!(index.snapshot().with_materialized(Rules::RDFS).is_none());
    assert_eq!(index.snapshot().quad_count().unwrap(), 1);
}

/// An update whose patterns outside of `GRAPH` are about the union; says how many quads it added.
fn update(index: &Index, text: &str) -> u64 {
    let query = QueryOptions { default_graph: DefaultGraph::Union, ..QueryOptions::default() };
    index.update(text, &UpdateOptions { query, ..UpdateOptions::default() }).unwrap().added
}

#[test]
fn what_is_kept_is_not_planned_with() {
    let dogs = (0..40).map(|dog| format!("v:x{dog} a v:Dog\nv:x{dog} v:owner v:y{}", dog % 5));
    let schema = (0..6).map(|class| format!("v:C{class} rdfs:subClassOf v:C{}", class + 1));
    let lines: Vec<String> = dogs.chain(schema).chain(["v:Dog rdfs:subClassOf v:C0".to_owned()]).collect();
    let (_folder, index) = index(&[("v:page", &lines.join("\n"))]);
    // Rows of each step, alone and joined; the names of variables in paths are new each time.
    let rows = |snapshot: &Snapshot, query: &str| -> Vec<(f64, f64)> {
        let joins = snapshot.explain(query, &QueryOptions::default()).unwrap().joins;
        joins.iter().flatten().map(|step| (step.pattern_rows, step.estimated_rows.round())).collect()
    };
    let largest =
        |snapshot: &Snapshot, query: &str| rows(snapshot, query).iter().map(|row| row.0).fold(0.0, f64::max);
    let asked = "SELECT * { ?dog a ?class ; <http://v.example/owner> ?owner }";
    let types = "SELECT * { ?dog a ?class }";
    let path = "SELECT * { ?dog <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>/<http://www.w3.org/2000/01/rdf-schema#subClassOf>+ ?class }";
    let before = index.snapshot();
    let inferred = before.inferred(&Entailment::new(Rules::RDFS)).unwrap();
    assert!(inferred.len() > 280, "much more follows than is said");
    index.materialize(&inferred).unwrap();
    for _ in 0..2 {
        let after = index.snapshot();
        for query in [asked, path] {
            assert!(!rows(&after, query).is_empty(), "{query}");
            assert_eq!(rows(&after, query), rows(&before, query), "{query}");
        }
        // Whoever asks for it, by either way, gets it into the estimates as well.
        let shown = after.with_materialized(Rules::RDFS).unwrap();
        let view = before.with_inferred(&inferred).unwrap();
        for snapshot in [&shown, &view] {
            assert_eq!(largest(snapshot, asked), 320.0);
            assert_eq!(count(snapshot, types), 320);
        }
        assert_eq!(
            largest(&after, &asked.replace("{ ?dog", "{ GRAPH ?graph { ?dog").replace(" }", " } }")),
            320.0
        );
        index.compact().unwrap();
    }
    // A term that only inferred statements are left of is a term the default graph does not have: a path of length zero
    // leads from it to itself all the same.
    index.commit(&Batch::from(vec![GraphWrite::delete(NamedNode::new_unchecked(expand("v:page")))])).unwrap();
    index.compact().unwrap();
    assert_eq!(count(&index.snapshot(), "SELECT * { <http://v.example/C3> <http://v.example/p>* ?x }"), 1);
}

#[test]
fn updates_do_not_see_what_is_kept() {
    let (_folder, index) = index(&[("v:page", "v:x a v:Dog\nv:Dog rdfs:subClassOf v:Animal")]);
    index.materialize(&index.snapshot().inferred(&Entailment::new(Rules::RDFS)).unwrap()).unwrap();
    let kept = Rules::RDFS.graph_name();
    let animals = "?s a <http://v.example/Animal>";
    let copy = format!("INSERT {{ GRAPH <http://v.example/out> {{ {animals} }} }} WHERE {{ {animals} }}");
    assert_eq!(update(&index, &copy), 0);
    // Nor what the same request put there before.
    let by_hand =
        format!("INSERT DATA {{ GRAPH {kept} {{ <http://v.example/y> a <http://v.example/Animal> }} }}");
    assert_eq!(update(&index, &format!("{by_hand} ; {copy}")), 1);
    assert_eq!(count(&index.snapshot(), &format!("SELECT * {{ {animals} }}")), 0);
    assert_eq!(count(&index.snapshot(), &format!("SELECT * {{ GRAPH {kept} {{ {animals} }} }}")), 2);
    // By its name it is a graph like others.
    assert_eq!(update(&index, &copy.replace("WHERE", &format!("USING {kept} WHERE"))), 2);
    assert_eq!(count(&index.snapshot(), &format!("SELECT * {{ {animals} }}")), 2);
    update(&index, "DROP ALL");
    assert!(index.snapshot().with_materialized(Rules::RDFS).is_none());
    assert_eq!(index.snapshot().quad_count().unwrap(), 0);
}

/// A graph of the vocabulary's own site with generated statements.
fn generated(triples: impl Iterator<Item = String>) -> (TempDir, Index) {
    let folder = tempfile::tempdir().unwrap();
    let config = IndexConfig { merge_in_background: false, index_text: false, ..IndexConfig::default() };
    let index = Index::open(folder.path(), config).unwrap();
    let graph = NamedNode::new_unchecked(expand("v:page"));
    let triples = triples.map(|line| triple(&line)).collect();
    index.commit(&Batch::from(vec![GraphWrite::replace(graph, triples)])).unwrap();
    (folder, index)
}

#[test]
fn everything_below_everything_is_set_aside() {
    // Below the limit: 300 classes all below each other, an instance of one is of all.
    let clique = |size: usize| {
        (0..size)
            .flat_map(move |one| (0..size).map(move |other| format!("v:C{one} rdfs:subClassOf v:C{other}")))
            .chain([
                "v:x a v:C0".to_owned(),
                "v:y a v:Fine".to_owned(),
                "v:Fine rdfs:subClassOf v:Good".to_owned(),
            ])
    };
    let (_folder, index) = generated(clique(300));
    let snapshot = index.snapshot();
    let started = Instant::now();
    let inferred = snapshot.inferred(&Entailment::new(Rules::RDFS)).unwrap();
    assert_eq!(inferred.len(), 299 + 1);
    // Beyond it: set aside and told, the rest goes on.
    let mut entailment = Entailment::new(Rules::RDFS);
    entailment.limits.super_terms_max = 200;
    let inferred = snapshot.inferred(&entailment).unwrap();
    assert_eq!(inferred.len(), 1, "y is good");
    assert_eq!(inferred.set_aside().len(), 101, "a hundred named, and how many more");
    assert!(inferred.set_aside()[0].contains("super_terms_max"), "{}", inferred.set_aside()[0]);
    assert_eq!(inferred.set_aside()[100], "and 200 more");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_long_chain_of_the_same_costs_its_length() {
    let length = 100_000;
    let (_folder, index) = generated(
        (0..length)
            .map(|number| format!("v:n{number} owl:sameAs v:n{}", number + 1))
            .chain([format!("v:n{length} v:p 'end")]),
    );
    let inferred = index.snapshot().inferred(&Entailment::new(Rules::SAME_AS)).unwrap();
    assert_eq!(inferred.merged_things(), length);
    // Each name but the first, both ways, and the first with itself; n1 is stated from n0; the end's one property.
    assert_eq!(inferred.len() as u64, 2 * length + 1 - 1 + 1);
}

#[test]
fn a_long_chain_of_a_transitive_property_is_set_aside() {
    let (_folder, index) = generated(
        (0..50_000)
            .map(|number| format!("v:n{number} v:before v:n{}", number + 1))
            .chain([
                "v:before a owl:TransitiveProperty".to_owned(),
                "v:in a owl:TransitiveProperty".to_owned(),
            ])
            .chain(["v:x v:in v:y".to_owned(), "v:y v:in v:z".to_owned()]),
    );
    let inferred = index.snapshot().inferred(&Entailment::new(Rules::OWL)).unwrap();
    assert_eq!(inferred.len(), 1);
    assert_eq!(inferred.set_aside().len(), 1);
    assert!(inferred.set_aside()[0].contains("http://v.example/before"), "{:?}", inferred.set_aside());
}

#[test]
fn a_value_that_everybody_has_identifies_nobody() {
    let (_folder, index) = generated(
        (0..2_000)
            .map(|number| format!("v:n{number} v:page v:default"))
            .chain(["v:page a owl:InverseFunctionalProperty".to_owned()]),
    );
    let inferred = index.snapshot().inferred(&Entailment::new(Rules::OWL)).unwrap();
    assert_eq!(inferred.len(), 0);
    assert!(inferred.set_aside()[0].contains("sharers_max"), "{:?}", inferred.set_aside());
}

#[test]
fn limits_of_the_whole_are_errors_that_name_themselves() {
    let lines = "v:x a v:A
         v:A rdfs:subClassOf v:B
         v:B rdfs:subClassOf v:C
         v:s owl:sameAs v:t
         v:t owl:sameAs v:u";
    let (_folder, index) = index(&[("v:page", lines)]);
    let snapshot = index.snapshot();
    let failure = |change: fn(&mut Entailment)| {
        let mut entailment = Entailment::new(Rules::OWL);
        change(&mut entailment);
        snapshot.inferred(&entailment).unwrap_err().to_string()
    };
    for (said, setting) in [
        (failure(|entailment| entailment.limits.schema_statements_max = 1), "schema_statements_max"),
        (failure(|entailment| entailment.limits.held_statements_max = 1), "held_statements_max"),
        (failure(|entailment| entailment.limits.triples_max = 1), "triples_max"),
    ] {
        assert!(said.contains(setting), "{said}");
    }
    let late = Entailment { time_limit: Some(Duration::ZERO), ..Entailment::new(Rules::RDFS) };
    assert!(matches!(snapshot.inferred(&late), Err(IndexError::TimeLimit { .. })));
}

#[test]
fn rules_have_names() {
    for (text, name) in [
        ("rdfs", "rdfs"),
        ("sameas", "sameas"),
        ("sameAs, rdfs", "rdfs,sameas"),
        ("owl", "owl"),
        ("rdfs,owl", "owl"),
    ] {
        let rules: Rules = text.parse().unwrap();
        assert_eq!(rules.to_string(), name);
        assert_eq!(rules.graph_name().as_str(), format!("urn:webloom:inferred:{name}"));
        assert_eq!(name.parse(), Ok(rules));
    }
    for text in ["", "rdf", "rdfs,", "rdfs,owl2"] {
        assert!(text.parse::<Rules>().is_err(), "{text}");
    }
}

/// The rules by the book: applied to a set of triples until nothing new comes. Slow, and easy to believe.
fn by_the_book(facts: &BTreeSet<[String; 3]>) -> BTreeSet<[String; 3]> {
    let mut all = facts.clone();
    let word = |text: &str| text.to_owned();
    loop {
        let mut new = BTreeSet::new();
        let of = |predicate: &str| -> Vec<(String, String)> {
            all.iter().filter(|[_, p, _]| p == predicate).map(|[s, _, o]| (s.clone(), o.clone())).collect()
        };
        let types: HashMap<String, Vec<String>> = {
            let mut types: HashMap<String, Vec<String>> = HashMap::new();
            for (subject, class) in of("a") {
                types.entry(class).or_default().push(subject);
            }
            types
        };
        let members = |class: &str| types.get(class).cloned().unwrap_or_default();
        for (below, above) in of("rdfs:subClassOf") {
            for member in members(&below) {
                new.insert([member, word("a"), above.clone()]);
            }
            for (class, higher) in of("rdfs:subClassOf") {
                if class == above && higher != below {
                    new.insert([below.clone(), word("rdfs:subClassOf"), higher]);
                }
            }
        }
        for (below, above) in of("rdfs:subPropertyOf") {
            for (subject, object) in of(&below) {
                new.insert([subject, above.clone(), object]);
            }
            for (property, higher) in of("rdfs:subPropertyOf") {
                if property == above && higher != below {
                    new.insert([below.clone(), word("rdfs:subPropertyOf"), higher]);
                }
            }
        }
        for (property, class) in of("rdfs:domain") {
            for (subject, _) in of(&property) {
                new.insert([subject, word("a"), class.clone()]);
            }
        }
        for (property, class) in of("rdfs:range") {
            for (_, object) in of(&property) {
                new.insert([object, word("a"), class.clone()]);
            }
        }
        for (one, other) in of("owl:inverseOf") {
            for (from, to) in [(&one, &other), (&other, &one)] {
                for (subject, object) in of(from) {
                    new.insert([object, to.clone(), subject]);
                }
            }
        }
        for property in members("owl:SymmetricProperty") {
            for (subject, object) in of(&property) {
                new.insert([object, property.clone(), subject]);
            }
        }
        for property in members("owl:TransitiveProperty") {
            let links = of(&property);
            for (subject, middle) in &links {
                for (other, object) in &links {
                    if middle == other {
                        new.insert([subject.clone(), property.clone(), object.clone()]);
                    }
                }
            }
        }
        let before = all.len();
        all.extend(new);
        if all.len() == before {
            break;
        }
    }
    all.difference(facts).cloned().collect()
}

fn statement() -> impl Strategy<Value = [String; 3]> {
    let class = || (0..4u8).prop_map(|number| format!("v:C{number}"));
    let property = || (0..4u8).prop_map(|number| format!("v:p{number}"));
    let thing = || (0..5u8).prop_map(|number| format!("v:n{number}"));
    let of = |predicate: &'static str| Just(predicate.to_owned());
    prop_oneof![
        3 => (thing(), of("a"), class()).prop_map(<[String; 3]>::from),
        4 => (thing(), property(), thing()).prop_map(<[String; 3]>::from),
        1 => (class(), of("rdfs:subClassOf"), class()).prop_map(<[String; 3]>::from),
        1 => (property(), of("rdfs:subPropertyOf"), property()).prop_map(<[String; 3]>::from),
        1 => (property(), of("rdfs:domain"), class()).prop_map(<[String; 3]>::from),
        1 => (property(), of("rdfs:range"), class()).prop_map(<[String; 3]>::from),
        1 => (property(), of("owl:inverseOf"), property()).prop_map(<[String; 3]>::from),
        1 => (property(), of("a"), of("owl:SymmetricProperty")).prop_map(<[String; 3]>::from),
        1 => (property(), of("a"), of("owl:TransitiveProperty")).prop_map(<[String; 3]>::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn what_follows_is_what_the_rules_say(facts in prop::collection::btree_set(statement(), 1..25)) {
        let lines: Vec<String> = facts.iter().map(|triple| triple.join(" ")).collect();
        let (_folder, index) = index(&[("v:page", &lines.join("\n"))]);
        let found = infer(&index.snapshot(), Rules::OWL, Trust::Authoritative);
        // Inverses of an inverse give sub-properties that the book's rules do not name; what they do is compared.
        let named = |line: &String| !line.contains("rdfs:subPropertyOf");
        let expected: BTreeSet<String> =
            by_the_book(&facts).iter().map(|triple| triple.join(" ")).filter(named).collect();
        prop_assert_eq!(found.into_iter().filter(named).collect::<BTreeSet<_>>(), expected);
    }
}
