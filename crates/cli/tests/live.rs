//! While a crawl runs, other processes ask its graph and get right answers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::time::{Duration, Instant};

use support::{crawl, stdout_of, until, webloom};
use webloom_testkit::{Answer, Fault, FaultRule, Faulty, ServerOptions, StaticWeb, WebServer};

#[test]
fn query_and_search_answer_from_other_processes_while_the_crawl_runs() {
    // Two people on two hosts who know each other, and a page that keeps the crawl busy for a while.
    let web = StaticWeb::new()
        .html("http://hub.example/", r#"<title>Hub</title><a href="http://ada.example/card.ttl">Ada</a> <a href="http://slow.example/">slow</a>"#)
        .page(
            "http://ada.example/card.ttl",
            "text/turtle",
            "@prefix foaf: <http://xmlns.com/foaf/0.1/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
             <#me> foaf:name \"Ada Quillfeather\" ; foaf:knows <http://ben.example/card.ttl#me> ; rdfs:seeAlso <http://ben.example/card.ttl> .",
        )
        .page(
            "http://ben.example/card.ttl",
            "text/turtle",
            "@prefix foaf: <http://xmlns.com/foaf/0.1/> . <#me> foaf:name \"Ben Tideswell\" ; foaf:based_near \"Saltmarsh\" .",
        )
        .html("http://slow.example/", "<title>Slow</title>");
    let web =
        Faulty::new(web).rule(FaultRule::url("http://slow.example/", Fault::Slow(Duration::from_secs(12))));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut child = crawl(&server, "http://hub.example/", data.path(), "50ms").spawn().unwrap();

    // A join of three patterns over two pages.
    let query = "PREFIX foaf: <http://xmlns.com/foaf/0.1/>
        SELECT ?name ?near { ?ada foaf:knows ?ben . ?ben foaf:name ?name . ?ben foaf:based_near ?near }";
    let ask = || {
        let output =
            webloom().args(["query", query, "--results", "csv", "--data"]).arg(data.path()).output().unwrap();
        // Before the first commit there is nothing to read yet; that is said, not answered wrongly.
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    let answer = until(Duration::from_secs(10), "the join has an answer", || {
        ask().filter(|csv| csv.lines().count() > 1)
    });
    assert_eq!(answer.replace('\r', ""), "name,near\nBen Tideswell,Saltmarsh\n");

    let found = stdout_of(webloom().args(["search", "Tideswell", "--json", "--data"]).arg(data.path()));
    assert!(found.contains("http://ben.example/card.ttl#me"), "{found}");
    assert!(child.try_wait().unwrap().is_none(), "the crawl was over before it could be asked");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_page_is_visible_within_about_a_second() {
    let web = StaticWeb::new()
        .html(
            "http://a.example/",
            r#"<title>First</title><a href="/2">next</a> <a href="http://slow.example/">slow</a>"#,
        )
        .html("http://a.example/2", "<title>Second</title>")
        .answer("http://slow.example/", Answer::html("<title>Slow</title>").after(Duration::from_secs(8)));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut child = crawl(&server, "http://a.example/", data.path(), "20ms").spawn().unwrap();
    until(Duration::from_secs(10), "the second page is asked for", || {
        (server.log().count("http://a.example/2") > 0).then_some(())
    });
    let asked = Instant::now();
    until(Duration::from_secs(5), "the second page is visible", || {
        let query = "ASK { GRAPH <http://a.example/2> { ?page <http://purl.org/dc/terms/title> ?title } }";
        let output = webloom().args(["query", query, "--data"]).arg(data.path()).output().unwrap();
        (output.stdout == b"true\n").then_some(())
    });
    // A second for the crawl, and the same again for starting processes on a loaded machine.
    assert!(asked.elapsed() < Duration::from_secs(2), "visible only after {:?}", asked.elapsed());
    assert!(child.try_wait().unwrap().is_none(), "the crawl was over before it could be asked");
    child.kill().unwrap();
    child.wait().unwrap();
}
