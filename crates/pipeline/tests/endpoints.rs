//! SPARQL endpoints with every manner that they are known for, and a real engine behind each. Whatever they do, what is stored at
//! the end is what they hold, each triple once.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use oxrdf::graph::CanonicalizationAlgorithm;
use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, Dataset, Graph, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple};
use support::Endpoint;
use tokio::sync::watch;
use webloom_pipeline::crawl::CrawlEnd;
use webloom_pipeline::{Crawl, CrawlSpec, DataDir, Stop};
use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

const ENDPOINT: &str = "http://s.example/sparql";

fn iri(name: &str) -> NamedNode {
    NamedNode::new(format!("http://s.example/{name}")).unwrap()
}

fn dataset(triples: impl IntoIterator<Item = Triple>) -> Dataset {
    triples.into_iter().map(|triple| triple.in_graph(GraphName::DefaultGraph)).collect()
}

/// So many rows of one subject.
fn rows(subject: impl Into<NamedOrBlankNode>, count: usize) -> impl Iterator<Item = Triple> {
    let subject = subject.into();
    (0..count).map(move |row| {
        let predicate = iri(&format!("p{}", row % 3));
        Triple::new(subject.clone(), predicate, Literal::from(i64::try_from(row).unwrap()))
    })
}

/// Subjects of one row to five.
fn subjects(count: usize) -> impl Iterator<Item = Triple> {
    (0..count).flat_map(|number| rows(iri(&format!("subject/{number}")), number % 5 + 1))
}

/// Blank nodes that things point to and that point to each other.
fn nodes(count: usize) -> Vec<Triple> {
    let node = |number: usize| BlankNode::new(format!("node{number}")).unwrap();
    (0..count)
        .flat_map(|number| {
            [
                Triple::new(iri(&format!("subject/{number}")), iri("part"), node(number)),
                Triple::new(node(number), iri("number"), Literal::from(i64::try_from(number).unwrap())),
                Triple::new(node(number), iri("next"), node((number + 1) % count)),
            ]
        })
        .collect()
}

/// The number behind a word of a query; zero when it is not there.
fn number_behind(query: &str, word: &str) -> u64 {
    let Some((_, rest)) = query.rsplit_once(word) else { return 0 };
    rest.trim_start().chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

/// Refuses as Virtuoso does, but far earlier: 22023, SR353.
fn refuse_to_sort(query: &str) -> Option<u16> {
    (query.contains("ORDER BY") && number_behind(query, "LIMIT") + number_behind(query, "OFFSET") > 20)
        .then_some(400)
}

/// An endpoint on the web, and a place for what is crawled from it.
struct World {
    server: WebServer,
    folder: tempfile::TempDir,
    dataset: Dataset,
}

impl World {
    async fn new(endpoint: Endpoint) -> Self {
        let dataset = endpoint.dataset.clone();
        let web = move |request: &Request| match request.path() {
            // Slowly, for those who want to be in between.
            "/sparql" => endpoint.answer(request).after(Duration::from_millis(2)),
            _ => Answer::not_found(),
        };
        let server = WebServer::start(web, ServerOptions::default()).await.unwrap();
        Self { server, folder: tempfile::tempdir().unwrap(), dataset }
    }

    fn open(&self) -> Arc<Crawl> {
        let text = format!(
            "sources = [\"sparql={ENDPOINT}\"]\n[politeness]\ndelay = \"0ms\"\nretry_pause = \"1ms\"\n\
             [fetch]\nallow_private = true\nresolve = [\"{}\"]\n",
            self.server.resolve_rule(),
        );
        Arc::new(
            Crawl::open(&DataDir::new(self.folder.path()), CrawlSpec::from_toml(&text).unwrap()).unwrap(),
        )
    }

    fn kept(&self) -> std::path::PathBuf {
        self.folder.path().join("sources.json")
    }

    /// Crawls to the end, and gives what is stored of the endpoint, by request.
    async fn crawled(&self) -> Vec<Quad> {
        let crawl = self.open();
        let (_stop, stopped) = watch::channel(Stop::No);
        assert_eq!(crawl.clone().run(stopped).await.unwrap().end, CrawlEnd::Complete);
        let kept = std::fs::read_to_string(self.kept()).unwrap();
        assert!(kept.contains("\"status\": \"done\""), "{kept}");
        let quads = crawl.index().snapshot().quads().unwrap().map(Result::unwrap);
        quads.filter(|quad| matches!(&quad.graph_name, GraphName::NamedNode(name) if name.as_str().starts_with(ENDPOINT))).collect()
    }

    /// Crawls, is stopped after so many requests, and forgets the last step, as a kill before it was written down would.
    async fn killed_after(&self, requests: u64) {
        let crawl = self.open();
        let (stop, stopped) = watch::channel(Stop::No);
        let already = self.server.log().totals().requests;
        let running = tokio::spawn(crawl.clone().run(stopped));
        let mut before = std::fs::read(self.kept()).unwrap();
        while self.server.log().totals().requests < already + requests && !running.is_finished() {
            before = std::fs::read(self.kept()).unwrap_or(before);
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        // Nobody hears it when it was too late, which is looked at below.
        stop.send_replace(Stop::Now);
        running.await.unwrap().unwrap();
        drop(crawl);
        assert!(
            !std::fs::read_to_string(self.kept()).unwrap().contains("\"status\": \"done\""),
            "it was too late"
        );
        std::fs::write(self.kept(), before).unwrap();
    }

    /// Everything is there, and once.
    async fn is_read_completely(&self) {
        let quads = self.crawled().await;
        let triples: Graph = quads.iter().map(|quad| Triple::from(quad.clone())).collect();
        same(&triples, &self.dataset);
        assert_eq!(quads.len(), triples.len(), "there are triples in more than one graph");
    }
}

/// Asserts that a graph is a dataset's, whatever its blank nodes are called.
#[track_caller]
fn same(found: &Graph, dataset: &Dataset) {
    let mut expected: Graph = dataset.iter().map(|quad| Triple::from(quad.into_owned())).collect();
    let mut found = found.clone();
    found.canonicalize(CanonicalizationAlgorithm::Unstable);
    expected.canonicalize(CanonicalizationAlgorithm::Unstable);
    let lines = |graph: &Graph| graph.iter().map(|triple| triple.to_string()).collect::<BTreeSet<_>>();
    let (found, expected) = (lines(&found), lines(&expected));
    let missing: Vec<_> = expected.difference(&found).collect();
    let invented: Vec<_> = found.difference(&expected).collect();
    assert!(
        missing.is_empty() && invented.is_empty(),
        "of {} are missing {missing:?}, invented {invented:?}",
        expected.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_read_in_pages_that_grow() {
    let world = World::new(Endpoint::new(dataset(subjects(1_500)))).await;
    world.is_read_completely().await;
    let asked: Vec<String> = world
        .server
        .log()
        .requests()
        .all()
        .iter()
        .map(|request| request.path_and_query.to_string())
        .collect();
    // 4,500 rows: robots.txt, 1,000, 2,000, 4,000 and their ends; never one that is passed over.
    assert!(asked.len() < 12, "{asked:#?}");
    assert!(
        asked
            .iter()
            .all(|url| !url.contains("OFFSET+") || url.contains("subject%2F") || url.contains("isBlank"))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_gives_seven_rows_at_once_is_read_completely() {
    let endpoint = Endpoint { rows_max: 7, ..Endpoint::new(dataset(subjects(60))) };
    World::new(endpoint).await.is_read_completely().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_gives_one_row_at_once_is_read_completely() {
    let endpoint = Endpoint { rows_max: 1, ..Endpoint::new(dataset(subjects(9).chain(nodes(3)))) };
    World::new(endpoint).await.is_read_completely().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subject_of_more_rows_than_an_answer_has_is_read_completely() {
    let large = rows(iri("subject/2/large"), 100);
    let endpoint = Endpoint { rows_max: 7, ..Endpoint::new(dataset(subjects(12).chain(large))) };
    World::new(endpoint).await.is_read_completely().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_skips_no_more_than_twenty_rows_is_read_completely() {
    let refuses =
        |query: &str| (number_behind(query, "LIMIT") + number_behind(query, "OFFSET") > 20).then_some(400);
    let endpoint = Endpoint { refuses, ..Endpoint::new(dataset(subjects(60))) };
    World::new(endpoint).await.is_read_completely().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_sorts_no_more_than_twenty_rows_is_read_completely() {
    let all = || dataset(subjects(20).chain(rows(iri("subject/2/large"), 100)).chain(nodes(30)));
    let world = World::new(Endpoint { refuses: refuse_to_sort, ..Endpoint::new(all()) }).await;
    // Rows that were sorted until that was refused are there a second time, as they come without.
    let found: Graph = world.crawled().await.into_iter().map(Triple::from).collect();
    same(&found, &world.dataset);

    // Some say 500, which is what they say when they are down, too.
    let refuses = |query: &str| refuse_to_sort(query).map(|_| 500);
    let world =
        World::new(Endpoint { refuses, rows_max: 7, ..Endpoint::new(dataset(rows(iri("subject"), 50))) })
            .await;
    let found: Graph = world.crawled().await.into_iter().map(Triple::from).collect();
    same(&found, &world.dataset);
}

#[tokio::test(flavor = "multi_thread")]
async fn blank_nodes_stay_one_where_the_endpoint_keeps_their_labels() {
    for rows_max in [usize::MAX, 7] {
        let endpoint = Endpoint { rows_max, ..Endpoint::new(dataset(subjects(10).chain(nodes(40)))) };
        World::new(endpoint).await.is_read_completely().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blank_nodes_are_not_confused_where_each_answer_numbers_them() {
    let endpoint = Endpoint {
        rows_max: 7,
        numbers_blank_nodes: true,
        ..Endpoint::new(dataset(subjects(10).chain(nodes(40))))
    };
    let world = World::new(endpoint).await;
    let quads = world.crawled().await;
    assert_eq!(quads.len(), world.dataset.len());
    // Nodes fall apart, but none has what belongs to two.
    let numbers: Vec<_> =
        quads.iter().filter(|quad| quad.predicate == iri("number")).map(|quad| &quad.subject).collect();
    assert_eq!((numbers.len(), numbers.iter().collect::<std::collections::HashSet<_>>().len()), (40, 40));
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_names_and_texts_are_read_completely() {
    let names = [
        "http://s.example/it's",
        "http://s.example/?q=\u{e4}&r=%22#f+g",
        "http://s.example/(a,b);c",
        "urn:x:\u{1f980}",
        "urn:x:\u{ff5e}",
        "HTTP://S.example/A",
        "http://s.example/a",
        "http://s.example/B",
        "mailto:a@s.example",
        "urn:x:$?p",
        "http://s.example/\u{65e5}\u{672c}",
    ];
    let long = ["1", "2", "3", "33"].map(|end| format!("urn:long:{}{end}", "\u{e4}".repeat(1_000)));
    let texts = ["", "\"", "\\", "a\nb\r\tc", "'''", "\u{1f980}", "?s", "} LIMIT 0 #"];
    let values = |row: usize| -> Vec<Term> {
        let text = texts[row % texts.len()];
        vec![
            Literal::from(text).into(),
            Literal::new_language_tagged_literal(text, "en").unwrap().into(),
            Literal::new_typed_literal("01", xsd::INTEGER).into(),
            Literal::new_typed_literal("1", xsd::INTEGER).into(),
            Literal::new_typed_literal("many", xsd::INTEGER).into(),
            Literal::from("x".repeat(5_000)).into(),
            NamedNode::new(names[row % names.len()]).unwrap().into(),
        ]
    };
    let subjects = names.into_iter().map(str::to_owned).chain(long);
    let triples = subjects.enumerate().flat_map(|(row, subject)| {
        let subject = NamedNode::new(subject).unwrap();
        values(row).into_iter().map(move |value| Triple::new(subject.clone(), iri("p"), value))
    });
    let all = dataset(triples);
    for rows_max in [usize::MAX, 20, 7, 3] {
        World::new(Endpoint { rows_max, ..Endpoint::new(all.clone()) }).await.is_read_completely().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_does_not_compare_names_is_read_row_by_row() {
    for (refuses, nodes) in [
        ((|query| query.contains("isIRI").then_some(400)) as fn(&str) -> Option<u16>, nodes(5)),
        // Whether these would keep labels cannot be asked.
        (|query| query.contains("FILTER").then_some(500), Vec::new()),
        (|query| query.contains("FILTER").then_some(501), Vec::new()),
    ] {
        let all = dataset(subjects(20).chain(nodes));
        World::new(Endpoint { refuses, rows_max: 30, ..Endpoint::new(all) }).await.is_read_completely().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_refuses_everything_is_given_up() {
    let world = World::new(Endpoint { refuses: |_| Some(400), ..Endpoint::new(Dataset::new()) }).await;
    let crawl = world.open();
    let (_stop, stopped) = watch::channel(Stop::No);
    assert_eq!(crawl.run(stopped).await.unwrap().end, CrawlEnd::Complete);
    let kept = std::fs::read_to_string(world.kept()).unwrap();
    assert!(kept.contains("given-up") && kept.contains("answered 400"), "{kept}");
    assert!(world.server.log().totals().requests < 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_endpoint_is_done() {
    let world = World::new(Endpoint::new(Dataset::new())).await;
    assert!(world.crawled().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_was_killed_ends_as_if_it_had_not_been() {
    let all = dataset(subjects(60).chain(rows(iri("subject/2/large"), 40)).chain(nodes(15)));
    let world = World::new(Endpoint { rows_max: 7, ..Endpoint::new(all) }).await;
    for requests in [3, 4, 9, 11, 13] {
        world.killed_after(requests).await;
    }
    world.is_read_completely().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_begun_by_an_earlier_version_is_read_to_its_end() {
    let world = World::new(Endpoint { rows_max: 10, ..Endpoint::new(dataset(subjects(20))) }).await;
    write_old(&world.kept());
    let quads = world.crawled().await;
    assert_eq!(quads.len(), world.dataset.len() - 20);
}

/// What an earlier version would have kept after twenty rows.
fn write_old(file: &Path) {
    let state = serde_json::json!([{
        "kind": "sparql", "url": ENDPOINT, "found_in": null, "status": "waiting", "offset": 20, "page_size": 1000, "triples": 20,
        "attempts": 0, "reason": null,
    }]);
    std::fs::write(file, state.to_string()).unwrap();
}
