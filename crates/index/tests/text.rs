//! Searching by words: what is found, how it is shown, and that text and quads change together.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use oxrdf::{GraphName, Literal, NamedNode, NamedOrBlankNode, Triple};
use webloom_index::{Batch, GraphWrite, Hit, Index, IndexConfig, IndexReader, Snapshot};
use webloom_model::PageText;

fn iri(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("http://example.org/{local}"))
}

const NAME: &str = "http://xmlns.com/foaf/0.1/name";

fn named(subject: &str, name: &str) -> Triple {
    Triple::new(iri(subject), NamedNode::new_unchecked(NAME), Literal::new_simple_literal(name))
}

fn typed(subject: &str, class: &str) -> Triple {
    Triple::new(iri(subject), oxrdf::vocab::rdf::TYPE.into_owned(), iri(class))
}

fn note(subject: &str, text: &str) -> Triple {
    Triple::new(iri(subject), iri("note"), Literal::new_language_tagged_literal_unchecked(text, "en"))
}

fn page_text(title: &str, body: &str) -> PageText {
    PageText { title: Some(title.to_owned()), body: body.to_owned(), language: None }
}

fn open(directory: &std::path::Path) -> Index {
    Index::open(directory, IndexConfig { merge_in_background: false, ..IndexConfig::default() }).unwrap()
}

fn subjects(snapshot: &Snapshot, words: &str) -> Vec<String> {
    let mut found: Vec<String> = snapshot
        .search(words, 10)
        .unwrap()
        .iter()
        .map(|hit| hit.subject.to_string().replace("http://example.org/", ""))
        .collect();
    found.sort();
    found
}

fn pages(hit: &Hit) -> Vec<NamedOrBlankNode> {
    let mut pages = hit.pages.clone();
    pages.sort_by_key(ToString::to_string);
    pages
}

#[test]
fn things_are_found_by_their_words() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index
        .commit(&Batch::from(vec![
            GraphWrite::replace(
                iri("one"),
                vec![
                    named("turing", "Alan Turing"),
                    typed("turing", "Person"),
                    note("turing", "broke the Enigma cipher"),
                ],
            )
            .with_text(page_text(
                "Codebreakers",
                "At Bletchley Park many people worked. Some were at the café.",
            )),
            GraphWrite::replace(
                iri("two"),
                vec![named("turing", "A. M. Turing"), typed("turing", "Mathematician")],
            ),
            GraphWrite::replace(
                iri("three"),
                vec![named("lovelace", "Ada Lovelace"), note("lovelace", "wrote programs")],
            ),
            GraphWrite::add(GraphName::DefaultGraph, vec![note("loose", "in no page at all")]),
            GraphWrite::replace(
                NamedNode::new_unchecked("urn:webloom:meta:http://example.org/one"),
                vec![note("one", "diary entry")],
            ),
        ]))
        .unwrap();
    for snapshot in [index.snapshot(), IndexReader::open(directory.path()).unwrap().snapshot().unwrap()] {
        for (words, expected) in [
            ("turing", &["<turing>"][..]),
            ("TURING enigma", &["<turing>"]),
            ("\"alan turing\"", &["<turing>"]),
            ("bletchley", &["<one>"]),
            ("codebreakers", &["<one>"]),
            ("cafe", &["<one>"]),
            // No thing has both words, so things with either are shown.
            ("turing lovelace", &["<lovelace>", "<turing>"]),
            ("page", &["<loose>"]),
            ("http://example.org/lovelace", &["<lovelace>"]),
            ("label:ada", &["<lovelace>"]),
            // Metadata is not searched.
            ("diary", &[]),
            ("nothing", &[]),
            ("", &[]),
            ("   ", &[]),
        ] {
            assert_eq!(subjects(&snapshot, words), expected, "{words}");
        }
        let hits = snapshot.search("turing", 10).unwrap();
        assert_eq!(hits.len(), 1);
        assert_eq!(pages(&hits[0]), [iri("one").into(), iri("two").into()]);
        let mut types = hits[0].types.clone();
        types.sort();
        assert_eq!(types, [iri("Mathematician"), iri("Person")]);
        assert!(hits[0].label.as_deref().is_some_and(|label| label.contains("Turing")));
        assert!(hits[0].score > 0.0);

        let hit = &snapshot.search("enigma", 10).unwrap()[0];
        let marked: Vec<&str> =
            hit.snippet.matches.iter().map(|range| &hit.snippet.text[range.clone()]).collect();
        assert_eq!(marked, ["Enigma"]);
        assert!(snapshot.search("turing", 0).unwrap().is_empty());
    }
}

#[test]
fn whatever_people_type_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    index.commit(&Batch::from(vec![GraphWrite::replace(iri("one"), vec![named("it", "word")])])).unwrap();
    let snapshot = index.snapshot();
    let long = "word ".repeat(10_000);
    let deep = "(".repeat(5000);
    let mixed = format!("{}word{}", "(".repeat(30), ")".repeat(30));
    for words in [
        "\"",
        "\"unclosed",
        "(",
        ")",
        "((",
        "a AND",
        "AND",
        "OR OR",
        "NOT word",
        "-word",
        "+",
        "field:",
        "nofield:word",
        ":",
        "[a TO",
        "[* TO *]",
        "{",
        "word~",
        "word^",
        "word^x",
        "*",
        "**",
        "/re/",
        "/(/",
        "label:[a TO b]",
        "\\",
        "'",
        "é",
        "\u{0}",
        "http://",
        "http://[",
        "type:x",
        "graph:*",
        "body:\"",
        "IN [",
        "body: IN [a b",
        "a:b:c",
        &long,
        &deep,
        &mixed,
    ] {
        let answer = snapshot.search(words, 5);
        assert!(answer.is_ok(), "{words}: {answer:?}");
    }
}

#[test]
fn text_follows_its_graph() {
    let directory = tempfile::tempdir().unwrap();
    let index = open(directory.path());
    let reader = IndexReader::open(directory.path()).unwrap();
    let page = |word: &str| GraphWrite::replace(iri("page"), vec![named("thing", word)]);
    let default = GraphName::DefaultGraph;

    index
        .commit(&Batch::from(vec![
            page("first"),
            GraphWrite::replace(default.clone(), vec![named("loose", "loose")]),
        ]))
        .unwrap();
    assert_eq!(subjects(&reader.snapshot().unwrap(), "first"), ["<thing>"]);
    let old = reader.snapshot().unwrap();

    index
        .commit(&Batch::from(vec![page("overwritten"), page("second"), GraphWrite::delete(default)]))
        .unwrap();
    for snapshot in [index.snapshot(), reader.snapshot().unwrap()] {
        assert_eq!(subjects(&snapshot, "second"), ["<thing>"]);
        for gone in ["first", "overwritten", "loose"] {
            assert!(subjects(&snapshot, gone).is_empty(), "{gone}");
        }
    }
    // Who opened the state before still sees it, quads and words.
    assert_eq!(subjects(&old, "first"), ["<thing>"]);

    index.commit(&Batch::from(vec![GraphWrite::add(iri("page"), vec![named("other", "third")])])).unwrap();
    assert_eq!(subjects(&reader.snapshot().unwrap(), "second"), ["<thing>"]);
    assert_eq!(subjects(&reader.snapshot().unwrap(), "third"), ["<other>"]);

    index.commit(&Batch::from(vec![GraphWrite::delete(iri("page"))])).unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert!(subjects(&snapshot, "second third").is_empty());
    assert_eq!(snapshot.stats().unwrap().text_documents, 0);
    assert_eq!(snapshot.quad_count().unwrap(), 0);
}

#[test]
fn many_commits_leave_few_files() {
    // Enough commits for tantivy to merge its own segments, at moments of its own choosing.
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig { merge_factor: 3, small_segment_quads: 20, ..IndexConfig::default() };
    let index = Index::open(directory.path(), config).unwrap();
    let reader = IndexReader::open(directory.path()).unwrap();
    for number in 0..30 {
        let name = format!("page{}", number % 20);
        let write =
            GraphWrite::replace(iri(&name), vec![named(&format!("thing{number}"), &format!("word{number}"))]);
        index.commit(&Batch::from(vec![write])).unwrap();
        let snapshot = reader.snapshot().unwrap();
        assert_eq!(subjects(&snapshot, &format!("word{number}")), [format!("<thing{number}>")]);
        assert_eq!(snapshot.stats().unwrap().text_documents, snapshot.quad_count().unwrap());
    }
    index.wait_for_merges();
    index.close().unwrap();
    let index = Index::open(directory.path(), config).unwrap();
    for number in 0..30 {
        let expected = if number < 10 { vec![] } else { vec![format!("<thing{number}>")] };
        assert_eq!(subjects(&index.snapshot(), &format!("word{number}")), expected, "word{number}");
    }
    let files = std::fs::read_dir(directory.path().join("text")).unwrap().count();
    assert!(files < 120, "{files} files");
    assert!(webloom_index::check(directory.path()).unwrap().is_clean());
}
