//! A web of Linked Data of five kinds, two hundred nodes of it: dereferenceable resources, dumps behind VoID, RDFa, SPARQL endpoints
//! and CKAN portals, each with a robots.txt. Everything that may be had must be had, and nothing else be asked for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use oxrdf::Term;
use oxrdfio::{RdfFormat, RdfParser};
use support::Endpoint;
use tokio::sync::watch;
use webloom_archive::Archive;
use webloom_pipeline::crawl::CrawlEnd;
use webloom_pipeline::{Crawl, CrawlSpec, DataDir, Stop};
use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

/// Nodes of each kind.
const NODES: usize = 40;
/// Resources of a dereferenceable node.
const RESOURCES: usize = 3;
/// Triples behind an endpoint, and how many it gives at once, whatever it is asked for.
const ROWS: usize = 25;
const ROWS_AT_ONCE: usize = 10;
const VALUE: &str = "http://orca.example/value";
const DELAY: Duration = Duration::from_millis(30);

fn triple(host: &str, name: &str) -> String {
    format!("<http://{host}/id/{name}> <{VALUE}> \"{host} {name}\" .\n")
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The whole web. A host's first letter says what it is.
fn web(request: &Request) -> Answer {
    let (host, path) = (request.host.as_str(), request.path());
    if path == "/robots.txt" {
        return Answer::text("User-agent: *\nDisallow: /private\n");
    }
    assert!(!path.starts_with("/private"), "{} was asked for", request.url());
    match host.as_bytes()[0] {
        b'd' => dereferenceable(request, host, path),
        b'u' => described(host, path),
        b'r' => with_rdfa(host, path),
        b's' => endpoint(request, host, path),
        b'c' => portal(request, host, path),
        _ => Answer::not_found(),
    }
}

/// `/id/N` is a thing, described in Turtle or in HTML elsewhere.
fn dereferenceable(request: &Request, host: &str, path: &str) -> Answer {
    let accept = request.header("accept").unwrap_or_default();
    if let Some(number) = path.strip_prefix("/id/") {
        let to = if accept.contains("text/turtle, ") { "data" } else { "page" };
        return Answer::redirect(303, &format!("/{to}/{number}"));
    }
    let Some(number) = path.strip_prefix("/data/") else { return Answer::not_found() };
    let mut turtle = triple(host, number);
    let see_also = "http://www.w3.org/2000/01/rdf-schema#seeAlso";
    let mut link = |target: String| turtle.push_str(&format!("<> <{see_also}> <{target}> .\n"));
    link(format!("http://{host}/private/{number}"));
    if host == "d0.example" && number == "0" {
        for node in 0..NODES {
            link(format!("http://r{node}.example/"));
            link(format!("http://d{node}.example/id/0"));
        }
    }
    (1..RESOURCES).for_each(|other| link(format!("http://{host}/id/{other}")));
    Answer::new("text/turtle", turtle)
}

/// A page with data in it, which names other documents that say more: one in a header, one in an element.
fn with_rdfa(host: &str, path: &str) -> Answer {
    match path {
        "/" => Answer::html(format!(
            "<link rel=alternate type=\"application/ld+json\" href=\"/alternate\">\
             <link rel=alternate hreflang=de href=\"/private/de\"><a href=\"/private/x\">x</a>\
             <p about=\"/id/page\" property=\"{VALUE}\">{host} page</p>"
        ))
        .with_header("Link", "</about#this>; rel=describedby; type=\"text/turtle\""),
        "/about" => Answer::new("text/turtle", triple(host, "about")),
        "/alternate" => {
            let body = serde_json::json!({"@id": "/id/alternate", VALUE: format!("{host} alternate")});
            Answer::new("application/ld+json", body.to_string())
        }
        _ => panic!("http://{host}{path} was asked for"),
    }
}

/// A description in the usual place, a dump, and one that may not be fetched.
fn described(host: &str, path: &str) -> Answer {
    match path {
        "/.well-known/void" => Answer::redirect(302, "/void.ttl"),
        "/void.ttl" => Answer::new(
            "text/turtle",
            format!(
                "@prefix void: <http://rdfs.org/ns/void#> .\n<#set> a void:Dataset ; \
                 void:dataDump </dump.nt.gz>, </private/dump.nt> ; void:exampleResource </id/example> .\n{}",
                triple(host, "void")
            ),
        ),
        "/dump.nt.gz" => Answer::new(
            "application/gzip",
            gzip(&(0..ROWS).map(|row| triple(host, &row.to_string())).collect::<String>()),
        ),
        "/id/example" => Answer::new("text/turtle", triple(host, "example")),
        _ => Answer::not_found(),
    }
}

/// An endpoint that gives a few rows at once and fails once.
fn endpoint(request: &Request, host: &str, path: &str) -> Answer {
    if path != "/sparql" {
        return Answer::not_found();
    }
    if host == "s0.example" && request.number == 0 {
        return Answer::busy(Some(Duration::ZERO));
    }
    let rows: String = (0..ROWS).map(|row| triple(host, &row.to_string())).collect();
    let parser = RdfParser::from_format(RdfFormat::NTriples);
    let dataset = parser.for_slice(&rows).map(Result::unwrap).collect();
    Endpoint { rows_max: ROWS_AT_ONCE, ..Endpoint::new(dataset) }.answer(request)
}

/// A catalogue with one file of RDF, one that is none, and one that may not be fetched.
fn portal(request: &Request, host: &str, path: &str) -> Answer {
    match path {
        "/api/3/action/package_search" => {
            let results = match request.path_and_query.contains("start=0") {
                true => serde_json::json!([{"resources": [
                    {"url": format!("http://{host}/files/data"), "format": "TTL"},
                    {"url": format!("http://{host}/files/table.csv"), "format": "CSV"},
                    {"url": format!("http://{host}/private/data"), "format": "RDF"},
                ]}]),
                false => serde_json::json!([]),
            };
            let answer = serde_json::json!({"success": true, "result": {"count": 1, "results": results}});
            Answer::new("application/json", answer.to_string())
        }
        "/files/data" => Answer::new("text/turtle", triple(host, "file")),
        _ => panic!("{} was asked for", request.url()),
    }
}

/// All values that are to be had.
fn expected() -> BTreeSet<String> {
    let mut values = BTreeSet::new();
    for node in 0..NODES {
        values.extend((0..RESOURCES).map(|number| format!("d{node}.example {number}")));
        values.extend((0..ROWS).map(|row| format!("u{node}.example {row}")));
        values.extend(["void", "example"].map(|name| format!("u{node}.example {name}")));
        values.extend((0..ROWS).map(|row| format!("s{node}.example {row}")));
        values.extend(["page", "about", "alternate"].map(|name| format!("r{node}.example {name}")));
        values.insert(format!("c{node}.example file"));
    }
    values
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_that_may_be_had_is_had() {
    let server = WebServer::start(web, ServerOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let sources: Vec<String> = (0..NODES)
        .flat_map(|node| {
            [
                format!("\"void=http://u{node}.example/\""),
                format!("\"sparql=http://s{node}.example/sparql\""),
                format!("{{ kind = \"ckan\", url = \"http://c{node}.example/\" }}"),
            ]
        })
        .collect();
    let text = format!(
        "seeds = [\"http://d0.example/id/0\"]\nsources = [{}]\n[scope]\nwithin = \"anywhere\"\n\
         [politeness]\ndelay = \"{}ms\"\nretry_pause = \"50ms\"\n[fetch]\nallow_private = true\nresolve = [\"{}\"]\n",
        sources.join(", "),
        DELAY.as_millis(),
        server.resolve_rule(),
    );
    let spec = CrawlSpec::from_toml(&text).unwrap();
    let data = DataDir::new(folder.path());
    let crawl = Arc::new(Crawl::open(&data, spec.clone()).unwrap());
    let (_stop, stopped) = watch::channel(Stop::No);
    let summary = crawl.clone().run(stopped.clone()).await.unwrap();
    assert_eq!(summary.end, CrawlEnd::Complete);

    let found: BTreeSet<String> = crawl
        .index()
        .snapshot()
        .quads()
        .unwrap()
        .map(Result::unwrap)
        .filter(|quad| quad.predicate.as_str() == VALUE)
        .filter_map(|quad| match quad.object {
            Term::Literal(literal) => Some(literal.value().to_owned()),
            _ => None,
        })
        .collect();
    let expected = expected();
    let missing: Vec<_> = expected.difference(&found).collect();
    assert!(missing.is_empty(), "{} of {} are missing: {missing:?}", missing.len(), expected.len());
    assert_eq!(found.len(), expected.len());

    // No disallowed fetch (the web itself asserts that, too), no host hurried, none asked twice at once.
    let log = server.log();
    let hurried = log.hurried(DELAY, DELAY, Duration::from_millis(5)).into_iter();
    let violations: Vec<_> = hurried.chain(log.overlapping()).chain(log.robots_violations()).collect();
    assert!(violations.is_empty(), "{violations:?}");

    // What sources answered is archived like pages, each request of it.
    drop(crawl);
    let archive = Archive::open(&data.archive());
    for request in log.requests().all() {
        let url = format!("http://{}{}", request.host, request.path_and_query);
        assert!(!archive.history(&url).unwrap().is_empty(), "{url} is not archived");
    }

    // A source that is done is done for the next run too.
    let requests = log.requests().len();
    let again = Arc::new(Crawl::open(&data, spec).unwrap());
    assert_eq!(again.run(stopped).await.unwrap().end, CrawlEnd::Complete);
    assert_eq!(log.requests().len(), requests);
}
