//! Search for people: one result per thing, filters and facets, ranking, paging, and what happens to typing mistakes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use oxrdf::{GraphName, Literal, NamedNode, Triple};
use webloom_index::{
    Batch, EntityQuery, EntityResults, FacetValue, GraphWrite, Index, IndexConfig, Snapshot,
};
use webloom_model::PageText;

const SCHEMA: &str = "http://schema.org/";

fn node(iri: &str) -> NamedNode {
    NamedNode::new_unchecked(iri)
}

fn schema(local: &str) -> NamedNode {
    node(&format!("{SCHEMA}{local}"))
}

/// Statements of a thing: `a` gives a type, everything else a literal, with a language behind `@`.
fn thing(subject: &str, said: &[(&str, &str)]) -> Vec<Triple> {
    said.iter()
        .map(|(predicate, value)| {
            if *predicate == "a" {
                return Triple::new(node(subject), oxrdf::vocab::rdf::TYPE.into_owned(), schema(value));
            }
            let literal = match value.rsplit_once('@') {
                Some((text, language)) => Literal::new_language_tagged_literal_unchecked(text, language),
                None => Literal::new_simple_literal(*value),
            };
            let predicate = if predicate.contains("://") { node(predicate) } else { schema(predicate) };
            Triple::new(node(subject), predicate, literal)
        })
        .collect()
}

fn index(writes: Vec<GraphWrite>) -> (tempfile::TempDir, Snapshot) {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig { merge_in_background: false, ..IndexConfig::default() };
    let index = Index::open(directory.path(), config).unwrap();
    for write in writes {
        // A commit each, so that every search goes over several segments.
        index.commit(&Batch::from(vec![write])).unwrap();
    }
    let snapshot = index.snapshot();
    (directory, snapshot)
}

/// Things on three sites.
fn harbour() -> Vec<GraphWrite> {
    let page = |url: &str, triples: Vec<Triple>| GraphWrite::replace(node(url), triples);
    vec![
        page(
            "http://www.a.example/1",
            [
                thing(
                    "http://a.example/#cafe",
                    &[
                        ("a", "Cafe"),
                        ("name", "Blue Harbour"),
                        ("description", "A café at the old harbour, run by two painters.@en"),
                    ],
                ),
                thing(
                    "http://a.example/#ann",
                    &[("a", "Person"), ("name", "Ann Harbour"), ("jobTitle", "painter")],
                ),
            ]
            .concat(),
        )
        .with_text(PageText {
            title: Some("The harbour of Tideswell".to_owned()),
            body: "Ferries leave every hour from the pontoon.".to_owned(),
            language: Some("en".to_owned()),
        }),
        page(
            "http://shop.b.example/1",
            thing(
                "http://a.example/#cafe",
                &[
                    ("a", "Restaurant"),
                    ("name", "Harbour, Blue"),
                    ("description", "Ein Café am Hafen mit schönen Häusern@de"),
                ],
            ),
        ),
        page(
            "http://c.example/x",
            thing(
                "http://c.example/#boat",
                &[
                    ("a", "Product"),
                    ("name", "Boat for the harbour"),
                    ("http://purl.org/dc/terms/description", "blue paint, seats four"),
                ],
            ),
        ),
        GraphWrite::add(GraphName::DefaultGraph, thing("http://d.example/#loose", &[("name", "Loose end")])),
    ]
}

fn search(snapshot: &Snapshot, query: EntityQuery) -> EntityResults {
    snapshot.search_entities(&query).unwrap()
}

fn labels(results: &EntityResults) -> Vec<&str> {
    results.results.iter().map(|entity| entity.label.as_deref().unwrap_or("")).collect()
}

fn counts(values: &[FacetValue]) -> Vec<(&str, u64)> {
    values.iter().map(|value| (value.label.as_str(), value.count)).collect()
}

#[test]
fn a_thing_is_found_once_with_all_its_pages() {
    let (_directory, snapshot) = index(harbour());
    let found = search(&snapshot, EntityQuery::new("blue harbour"));
    assert_eq!(found.total, 2, "{found:#?}");
    assert!(found.total_is_exact);
    let cafe = &found.results[0];
    assert_eq!(cafe.iri, "http://a.example/#cafe");
    // It is called just that, and two sites speak of it.
    assert_eq!(cafe.label.as_deref(), Some("Blue Harbour"));
    assert_eq!(cafe.sites, 2);
    assert_eq!(cafe.pages_total, 2);
    let mut types: Vec<&str> = cafe.types.iter().map(|class| class.label.as_str()).collect();
    types.sort_unstable();
    assert_eq!(types, ["Cafe", "Restaurant"]);
    let mut pages: Vec<&str> = cafe.pages.iter().map(|page| page.url.as_str()).collect();
    pages.sort_unstable();
    assert_eq!(pages, ["http://shop.b.example/1", "http://www.a.example/1"]);
    assert_eq!(found.results[1].label.as_deref(), Some("Boat for the harbour"));
}

#[test]
fn facets_count_things_and_filters_narrow() {
    let (_directory, snapshot) = index(harbour());
    let all = search(&snapshot, EntityQuery::new("harbour"));
    assert_eq!(all.total, 4, "{all:#?}");
    let mut types = counts(&all.facets.types);
    types.sort_unstable();
    assert_eq!(types, [("Cafe", 1), ("Person", 1), ("Product", 1), ("Restaurant", 1)]);
    assert_eq!(counts(&all.facets.sites), [("a.example", 3), ("b.example", 1), ("c.example", 1)]);
    assert_eq!(counts(&all.facets.vocabularies), [("schema", 3), ("dcterms", 1)]);
    assert_eq!(counts(&all.facets.languages), [("en", 3), ("de", 1)]);
    let with = |change: fn(&mut EntityQuery)| {
        let mut query = EntityQuery::new("harbour");
        change(&mut query);
        search(&snapshot, query)
    };
    for (case, change, expected) in [
        (
            "name of a type",
            (|query| query.types = vec!["person".into()]) as fn(&mut EntityQuery),
            &["Ann Harbour"][..],
        ),
        (
            "IRI of a type",
            |query| query.types = vec!["http://schema.org/Product".into()],
            &["Boat for the harbour"],
        ),
        ("prefixed type", |query| query.types = vec!["schema:Product".into()], &["Boat for the harbour"]),
        (
            "either type",
            |query| query.types = vec!["Person".into(), "Product".into()],
            &["Ann Harbour", "Boat for the harbour"],
        ),
        ("site", |query| query.sites = vec!["b.example".into()], &["Harbour, Blue"]),
        ("vocabulary", |query| query.vocabularies = vec!["dcterms".into()], &["Boat for the harbour"]),
        ("language", |query| query.languages = vec!["de".into()], &["Harbour, Blue"]),
        (
            "two kinds",
            |query| {
                query.types = vec!["Cafe".into()];
                query.sites = vec!["c.example".into()];
            },
            &[],
        ),
        ("unknown", |query| query.sites = vec!["nowhere.example".into()], &[]),
    ] {
        let found = with(change);
        let mut names = labels(&found);
        names.sort_unstable();
        if case == "language" {
            assert_eq!(found.results.len(), 1, "{case}: {names:?}");
        } else {
            assert_eq!(names, expected, "{case}");
        }
        assert_eq!(found.total, found.results.len() as u64, "{case}");
    }
    // A facet shows what else there would be without its own filter, and respects the others'.
    let narrowed = with(|query| query.sites = vec!["c.example".into()]);
    assert_eq!(counts(&narrowed.facets.sites), counts(&all.facets.sites));
    assert_eq!(counts(&narrowed.facets.types), [("Product", 1)]);
}

#[test]
fn filters_alone_browse() {
    let (_directory, snapshot) = index(harbour());
    let browse = |change: fn(&mut EntityQuery)| {
        let mut query = EntityQuery::new(" ");
        change(&mut query);
        search(&snapshot, query)
    };
    let people = browse(|query| query.types = vec!["Person".into()]);
    assert_eq!(labels(&people), ["Ann Harbour"]);
    assert_eq!((people.total, people.total_is_exact), (1, true));
    let site = browse(|query| query.sites = vec!["c.example".into()]);
    assert_eq!(labels(&site), ["Boat for the harbour"]);
    assert_eq!(browse(|_| ()).total, 0, "without filters there is nothing to go by");
}

#[test]
fn snippets_mark_the_words_and_say_where_they_are_from() {
    let (_directory, snapshot) = index(harbour());
    let found = search(&snapshot, EntityQuery::new("two painters"));
    let snippet = &found.results[0].snippet;
    let marked: Vec<&str> =
        snippet.text.matches.iter().map(|place| &snippet.text.text[place.clone()]).collect();
    assert_eq!(marked, ["two", "painters"]);
    assert_eq!(snippet.predicate.as_deref(), Some("http://schema.org/description"));
    assert_eq!(snippet.language.as_deref(), Some("en"));
    let json = serde_json::to_value(&found).unwrap();
    let place = &json["results"][0]["snippet"]["highlights"][1];
    // In UTF-16, in which `é` is one.
    let start = "A café at the old harbour, run by two ".encode_utf16().count();
    assert_eq!(place, &serde_json::json!([start, start + 8]));

    // The text of a page is in no literal, and comes from the page.
    let page = search(&snapshot, EntityQuery::new("pontoon"));
    assert_eq!(page.results[0].iri, "http://www.a.example/1");
    assert_eq!(page.results[0].label.as_deref(), Some("The harbour of Tideswell"));
    assert!(page.results[0].snippet.text.text.contains("pontoon"));
}

#[test]
fn forms_of_words_are_found_in_the_languages_of_the_index() {
    let (_directory, snapshot) = index(harbour());
    for (words, expected) in [
        // English.
        ("painter", &["Ann Harbour", "Blue Harbour"][..]),
        ("painters", &["Ann Harbour", "Blue Harbour"]),
        // German, by the tag of the literal.
        ("haus", &["Harbour, Blue"]),
        ("häuser", &["Harbour, Blue"]),
    ] {
        let found = search(&snapshot, EntityQuery::new(words));
        let names = labels(&found);
        // Another language may have more forms.
        assert!(expected.iter().all(|name| names.contains(name)), "{words}: {names:?}");
        assert_eq!(found.suggestion, None, "{words}");
    }
    // Asked in one language, the forms are of that language.
    let query = EntityQuery { languages: vec!["en".to_owned()], ..EntityQuery::new("painter") };
    let found = search(&snapshot, query);
    let mut names = labels(&found);
    names.sort_unstable();
    assert_eq!(names, ["Ann Harbour", "Blue Harbour"]);
}

#[test]
fn mistakes_are_forgiven_when_nothing_is_found() {
    let (_directory, snapshot) = index(harbour());
    let found = search(&snapshot, EntityQuery::new("blue harbuor"));
    assert_eq!(found.suggestion.as_deref(), Some("blue harbour"));
    assert_eq!(found.results[0].iri, "http://a.example/#cafe");
    // Not when the words are known, even if nothing has them all.
    let either = search(&snapshot, EntityQuery::new("seats jobless painter"));
    assert_eq!(either.suggestion, None);
    assert!(!either.results.is_empty());
    let nothing = search(&snapshot, EntityQuery::new("xylophone"));
    assert_eq!((nothing.total, nothing.suggestion), (0, None));
}

#[test]
fn operators() {
    let (_directory, snapshot) = index(harbour());
    for (words, expected) in [
        ("harb*", 4),
        ("harbor~1", 4),
        ("harbour -cafe", 3),
        ("\"old harbour\"", 1),
        ("\"harbour old\"", 0),
        ("\"blue paint\"", 1),
        ("label:harbour", 4),
        ("label:painter", 0),
        ("seats OR pontoon", 2),
        ("loose", 1),
    ] {
        assert_eq!(search(&snapshot, EntityQuery::new(words)).total, expected, "{words}");
    }
    let typing = search(&snapshot, EntityQuery { as_you_type: true, ..EntityQuery::new("blue harb") });
    assert_eq!(typing.results[0].iri, "http://a.example/#cafe");
    let suggestions = snapshot.suggest("blu", 5).unwrap();
    assert_eq!(suggestions[0].text, "Blue Harbour");
    assert_eq!(suggestions[0].iri.as_deref(), Some("http://a.example/#cafe"));
    assert!(snapshot.suggest("", 5).unwrap().is_empty());
}

#[test]
fn pages_of_results_fit_together() {
    let writes = (0..40)
        .map(|number| {
            let url = format!("http://site{}.example/{number}", number % 7);
            GraphWrite::replace(
                node(&url),
                thing(&format!("{url}#it"), &[("name", &format!("lamp number {number}"))]),
            )
        })
        .collect();
    let (_directory, snapshot) = index(writes);
    let all = search(&snapshot, EntityQuery { limit: 100, ..EntityQuery::new("lamp") });
    assert_eq!((all.total, all.results.len()), (40, 40));
    let mut paged = Vec::new();
    for offset in (0..50).step_by(7) {
        let found = search(&snapshot, EntityQuery { limit: 7, offset, ..EntityQuery::new("lamp") });
        assert_eq!(found.total, 40);
        paged.extend(found.results.into_iter().map(|entity| entity.iri));
    }
    let whole: Vec<String> = all.results.into_iter().map(|entity| entity.iri).collect();
    assert_eq!(paged, whole);
    assert!(search(&snapshot, EntityQuery { limit: 0, ..EntityQuery::new("lamp") }).results.is_empty());
}

#[test]
fn links_are_things_too() {
    let page = node("http://a.example/");
    let see_also = oxrdf::vocab::rdfs::SEE_ALSO.into_owned();
    let label = oxrdf::vocab::rdfs::LABEL.into_owned();
    let mut triples = Vec::new();
    for (target, words) in [("http://b.example/", "red lanterns"), ("http://c.example/", "green lanterns")] {
        triples.push(Triple::new(page.clone(), see_also.clone(), node(target)));
        triples.push(Triple::new(node(target), label.clone(), Literal::new_simple_literal(words)));
    }
    let (_directory, snapshot) = index(vec![GraphWrite::replace(page, triples)]);
    let found = search(&snapshot, EntityQuery::new("red lanterns"));
    assert_eq!(labels(&found), ["red lanterns"]);
    assert_eq!(found.results[0].iri, "http://b.example/");
    assert_eq!(found.results[0].pages[0].url, "http://a.example/");
    assert_eq!(search(&snapshot, EntityQuery::new("lanterns")).total, 2);
}

#[test]
fn things_that_are_said_to_be_the_same_are_shown_and_not_merged() {
    let same_as = node("http://www.w3.org/2002/07/owl#sameAs");
    let mut triples = thing("http://a.example/#ada", &[("name", "Ada Lovelace")]);
    triples.extend(thing("http://b.example/#ada", &[("name", "Ada King Lovelace")]));
    triples.push(Triple::new(node("http://a.example/#ada"), same_as, node("http://b.example/#ada")));
    let (_directory, snapshot) = index(vec![GraphWrite::replace(node("http://a.example/"), triples)]);
    let found = search(&snapshot, EntityQuery::new("lovelace"));
    assert_eq!(found.total, 2);
    for entity in &found.results {
        assert_eq!(entity.same.len(), 1, "{}", entity.iri);
        assert_ne!(entity.same[0].iri, entity.iri);
    }
}

#[test]
fn a_pasted_iri_finds_its_thing() {
    let (_directory, snapshot) = index(harbour());
    let found = search(&snapshot, EntityQuery::new("http://c.example/#boat"));
    assert_eq!(found.results[0].label.as_deref(), Some("Boat for the harbour"));
    assert_eq!(found.results[0].pages[0].url, "http://c.example/x");
}

#[test]
fn literals_one_by_one() {
    let (_directory, snapshot) = index(harbour());
    let hits = snapshot.search_literals("two painters", 10).unwrap();
    assert_eq!(hits[0].predicate.as_str(), "http://schema.org/description");
    assert_eq!(hits[0].subject.to_string(), "<http://a.example/#cafe>");
    assert_eq!(hits[0].graph.as_ref().unwrap().to_string(), "<http://www.a.example/1>");
    assert_eq!(snapshot.search_literals("harbour", 2).unwrap().len(), 2);
}

#[test]
fn replaced_pages_are_forgotten() {
    let mut writes = harbour();
    writes.push(GraphWrite::replace(
        node("http://c.example/x"),
        thing("http://c.example/#boat", &[("name", "Sold")]),
    ));
    writes.push(GraphWrite::delete(node("http://shop.b.example/1")));
    let (_directory, snapshot) = index(writes);
    assert_eq!(search(&snapshot, EntityQuery::new("seats")).total, 0);
    assert_eq!(search(&snapshot, EntityQuery::new("sold")).total, 1);
    let cafe = search(&snapshot, EntityQuery::new("blue harbour"));
    assert_eq!((cafe.results[0].sites, cafe.results[0].pages_total), (1, 1));
}
