//! `query` through the command: updates, explanations, limits, and which graph is asked.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::process::Command;

use support::{stderr, stdout_of, webloom};

fn query(data: &Path, arguments: &[&str]) -> Command {
    let mut command = webloom();
    command.arg("query").args(arguments).arg("--data").arg(data);
    command
}

/// The lines of the answer in CSV, sorted, without the header.
fn ask(data: &Path, arguments: &[&str]) -> Vec<String> {
    let text = stdout_of(query(data, arguments).args(["--results", "csv"]));
    let mut lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn updates_change_the_store_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let insert = "PREFIX : <http://a.example/> INSERT DATA { :s :p 1 . GRAPH :g { :s :p 2 } }";
    let said = query(&data, &["--update", insert]).output().unwrap();
    assert!(said.status.success() && stderr(&said).contains("2 quads added"), "{}", stderr(&said));
    assert_eq!(ask(&data, &["SELECT ?o { ?s ?p ?o }"]), ["1", "2"]);
    assert_eq!(ask(&data, &["SELECT ?o { ?s ?p ?o }", "--default-graph", "unnamed"]), ["1"]);
    assert_eq!(ask(&data, &["SELECT ?o { GRAPH ?g { ?s ?p ?o } }"]), ["2"]);

    // From a file, with its own folder as the base, and a document beside it.
    std::fs::write(folder.path().join("more.ttl"), "<http://a.example/s> <http://a.example/p> 3 .").unwrap();
    let request = folder.path().join("change.ru");
    std::fs::write(&request, "LOAD <more.ttl> INTO GRAPH <#new> ; CLEAR DEFAULT").unwrap();
    stdout_of(&mut query(&data, &["--update", request.to_str().unwrap()]));
    assert_eq!(ask(&data, &["SELECT ?o { ?s ?p ?o }"]), ["2", "3"]);

    let failed =
        query(&data, &["--update", "CLEAR ALL ; DROP GRAPH <http://a.example/nowhere>"]).output().unwrap();
    assert_eq!(failed.status.code(), Some(1));
    assert!(stderr(&failed).contains("there is no graph"), "{}", stderr(&failed));
    assert_eq!(ask(&data, &["SELECT ?o { ?s ?p ?o }"]), ["2", "3"]);

    let forgotten = query(&data, &["CLEAR ALL"]).output().unwrap();
    assert_eq!(forgotten.status.code(), Some(2));
    assert!(stderr(&forgotten).contains("--update"), "{}", stderr(&forgotten));
}

#[test]
fn plans_limits_and_graphs_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("in.ttl");
    std::fs::write(&file, "@prefix : <http://a.example/> . :a :knows :b . :b :knows :c ; :name \"B\" .")
        .unwrap();
    stdout_of(webloom().arg("load").arg(&file).arg("--data").arg(&data));

    let join = "SELECT ?z { ?x <http://a.example/knows> ?y . ?y <http://a.example/knows> ?z }";
    let plan = stdout_of(&mut query(&data, &["--explain", join]));
    assert!(plan.contains("join order 1") && plan.contains("1 results"), "{plan}");
    let json: serde_json::Value =
        serde_json::from_str(&stdout_of(&mut query(&data, &["--explain", "--results", "json", join])))
            .unwrap();
    assert_eq!(json["results"], 1);

    let turtle = stdout_of(&mut query(&data, &["--format", "turtle", "CONSTRUCT WHERE { ?s ?p ?o }"]));
    assert!(turtle.contains(" ;"), "{turtle}");

    let many = query(&data, &["--max-rows", "1", "SELECT * { ?s ?p ?o }"]).output().unwrap();
    assert_eq!(many.status.code(), Some(1));
    assert!(stderr(&many).contains("more than 1 results"), "{}", stderr(&many));
    let elsewhere =
        query(&data, &["SELECT * { SERVICE <http://a.example/> { ?s ?p ?o } }"]).output().unwrap();
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(stderr(&elsewhere).contains("not asked"), "{}", stderr(&elsewhere));

    let text = "PREFIX wl: <urn:webloom:ns#> SELECT ?s { SERVICE <urn:webloom:text> { [] wl:query 'b' ; wl:subject ?s } }";
    assert_eq!(ask(&data, &[text]), ["http://a.example/b"]);
    // Columns come in the order they are written in.
    let all = stdout_of(&mut query(&data, &["SELECT * { ?s ?p ?o }", "--results", "tsv"]));
    assert!(all.starts_with("?s\t?p\t?o"), "{all}");
}
