//! The SPARQL Protocol and the Graph Store Protocol against a real server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use support::{Answer, TestServer};
use webloom_index::DefaultGraph;

const DATA: &str = "INSERT DATA { <urn:a> <urn:p> 1 . GRAPH <urn:g1> { <urn:a> <urn:p> 2 } GRAPH <urn:g2> { <urn:b> <urn:p> \"zwei\"@de } }";

fn server(folder: &tempfile::TempDir) -> TestServer {
    let server = TestServer::start(folder.path());
    assert_eq!(update(&server, DATA).status, 200);
    server
}

fn update(server: &TestServer, text: &str) -> Answer {
    let token = format!("Bearer {}", server.token);
    let fields = [("Content-Type", "application/sparql-update"), ("Authorization", token.as_str())];
    server.ask("POST", "/sparql", &fields, text.as_bytes())
}

fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn rows(server: &TestServer, parameters: &str, query: &str) -> usize {
    let json = server.json(&format!("/sparql?query={}{parameters}", encode(query)));
    json["results"]["bindings"].as_array().unwrap().len()
}

#[test]
fn queries_come_in_three_ways_and_answers_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let select = "SELECT * { ?s ?p ?o } ORDER BY ?o";
    let path = format!("/sparql?query={}", encode(select));
    for (accept, content_type, piece) in [
        ("application/sparql-results+json", "application/sparql-results+json", "\"bindings\""),
        ("application/sparql-results+xml", "application/sparql-results+xml", "<sparql"),
        ("text/csv", "text/csv; charset=utf-8", "s,p,o"),
        ("text/tab-separated-values", "text/tab-separated-values; charset=utf-8", "?s\t?p\t?o"),
        ("*/*", "application/sparql-results+json", "\"bindings\""),
    ] {
        let answer = server.ask("GET", &path, &[("Accept", accept)], b"");
        assert_eq!((answer.status, answer.header("content-type")), (200, content_type), "{accept}");
        assert!(answer.text().contains(piece), "{accept}: {}", answer.text());
        assert_eq!(answer.header("access-control-allow-origin"), "*");
    }
    assert_eq!(server.ask("GET", &path, &[("Accept", "image/png")], b"").status, 406);
    let construct = format!("/sparql?query={}", encode("CONSTRUCT WHERE { ?s ?p ?o }"));
    for (accept, piece) in [
        ("text/turtle", "<urn:a>"),
        ("application/n-triples", "<urn:a> <urn:p>"),
        ("application/rdf+xml", "rdf:RDF"),
        ("application/ld+json", "@id"),
    ] {
        let answer = server.ask("GET", &construct, &[("Accept", accept)], b"");
        assert!(answer.status == 200 && answer.text().contains(piece), "{accept}: {}", answer.text());
        assert!(answer.header("content-type").starts_with(accept));
    }
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let posted = server.ask("POST", "/sparql", &form, format!("query={}", encode("ASK {}")).as_bytes());
    assert_eq!(posted.value()["boolean"], true);
    let direct = [("Content-Type", "application/sparql-query; charset=utf-8")];
    assert_eq!(server.ask("POST", "/sparql/", &direct, b"ASK { <urn:a> ?p 1 }").value()["boolean"], true);
    assert_eq!(server.ask("HEAD", &path, &[], b"").status, 200);
}

#[test]
fn the_dataset_is_the_union_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let all = "SELECT * { ?s ?p ?o }";
    assert_eq!(rows(&server, "", all), 3);
    assert_eq!(rows(&server, "&default-graph-uri=urn%3Ag1", all), 1);
    assert_eq!(rows(&server, "&default-graph-uri=urn%3Ag1&default-graph-uri=urn%3Ag2", all), 2);
    assert_eq!(rows(&server, "&named-graph-uri=urn%3Ag2", "SELECT * { GRAPH ?g { ?s ?p ?o } }"), 1);
    assert_eq!(rows(&server, "&named-graph-uri=urn%3Ag2", all), 0);
    assert_eq!(server.get("/sparql?query=ASK%7B%7D&default-graph-uri=x").status, 400);
    drop(server);
    let unnamed =
        TestServer::start_with(folder.path(), |config| config.default_graph = DefaultGraph::Unnamed);
    assert_eq!(rows(&unnamed, "", all), 1);
}

#[test]
fn updates_need_the_token_and_are_seen_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(&folder);
    let direct = ("Content-Type", "application/sparql-update");
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    for (fields, body) in [
        (vec![direct], "CLEAR ALL".to_owned()),
        (vec![form], format!("update={}", encode("CLEAR ALL"))),
        (vec![direct, ("Authorization", "Bearer wrongwrongwrongwrong")], "CLEAR ALL".to_owned()),
        (vec![direct, ("Authorization", "Basic Og==")], "CLEAR ALL".to_owned()),
        (vec![direct, ("Cookie", "webloom-token=wrong")], "CLEAR ALL".to_owned()),
    ] {
        let answer = server.ask("POST", "/sparql", &fields, body.as_bytes());
        assert_eq!((answer.status, answer.code().as_str()), (401, "token-needed"), "{fields:?}");
        assert!(answer.header("www-authenticate").starts_with("Bearer"));
    }
    assert_eq!(server.get("/sparql?update=CLEAR%20ALL").status, 400);
    let token = format!("Bearer {}", server.token);
    let body = format!("update={}", encode("DELETE WHERE { <urn:a> ?p ?o }"));
    let answer = server.ask("POST", "/sparql", &[form, ("Authorization", &token)], body.as_bytes());
    assert_eq!((answer.status, &answer.value()["removed"]), (200, &1.into()), "{}", answer.text());
    assert_eq!(rows(&server, "", "SELECT * { ?s ?p ?o }"), 2);
    // A page of another site cannot use a token it got hold of.
    let foreign = [direct, ("Authorization", &token), ("Origin", "http://evil.example")];
    assert_eq!(server.ask("POST", "/sparql", &foreign, b"CLEAR ALL").code(), "foreign-origin");
    assert_eq!(update(&server, "LOAD <file:///etc/passwd>").status, 409);
    assert_eq!(update(&server, "CLEAR XYZ").code(), "syntax");
}

#[test]
fn limits_are_told_in_the_one_shape() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start_with(folder.path(), |config| config.limits.query_rows = 2);
    update(&server, DATA);
    let path = format!("/sparql?query={}", encode("SELECT * { ?s ?p ?o }"));
    let answer = server.get(&path);
    assert_eq!((answer.status, answer.code().as_str()), (413, "row-limit"), "{}", answer.text());
    let slow = encode(
        "SELECT (COUNT(*) AS ?n) { { SELECT * { VALUES ?a { 1 2 3 4 5 6 7 8 9 } VALUES ?b { 1 2 3 4 5 6 7 8 9 } } }
           VALUES ?c { 1 2 3 4 5 6 7 8 9 } VALUES ?d { 1 2 3 4 5 6 7 8 9 } VALUES ?e { 1 2 3 4 5 6 7 8 9 }
           VALUES ?f { 1 2 3 4 5 6 7 8 9 } VALUES ?g { 1 2 3 4 5 6 7 8 9 } VALUES ?h { 1 2 3 4 5 6 7 8 9 }
           VALUES ?i { 1 2 3 4 5 6 7 8 9 } VALUES ?j { 1 2 3 4 5 6 7 8 9 } }",
    );
    let answer = server.ask("GET", &format!("/sparql?query={slow}"), &[("Webloom-Timeout", "0.2")], b"");
    assert_eq!((answer.status, answer.code().as_str()), (503, "time-limit"), "{}", answer.text());
    assert_eq!(server.get("/sparql?query=SELECT").code(), "syntax");
    assert_eq!(server.get("/sparql?query=ASK%7B%7D&query=ASK%7B%7D").status, 400);
    assert_eq!(server.ask("PUT", "/sparql?query=ASK%7B%7D", &[], b"").status, 405);
    let deep = format!("/sparql?query={}", encode(&format!("ASK {}{}", "{".repeat(5000), "}".repeat(5000))));
    assert_eq!(server.get(&deep).status, 400);
}

#[test]
fn a_query_ends_when_its_client_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start_with(folder.path(), |config| {
        config.limits.queries_at_once = 1;
        config.limits.queue_time = Duration::from_secs(15);
    });
    let rows: String = (0..300).map(|number| format!("<urn:s{number}> <urn:p> {number} .")).collect();
    update(&server, &format!("INSERT DATA {{ {rows} }}"));
    let endless = encode(
        "SELECT (COUNT(*) AS ?n) { ?a ?p ?x . ?b ?q ?y . ?c ?r ?z . ?d ?s ?w FILTER(?x + ?y + ?z + ?w < 0) }",
    );
    let mut stream = server.connect();
    write!(stream, "GET /sparql?query={endless} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).unwrap();
    std::thread::sleep(Duration::from_millis(400));
    drop(stream);
    // The only place for queries is free again long before the query would have ended.
    let start = Instant::now();
    assert_eq!(server.get("/sparql?query=ASK%7B%7D").value()["boolean"], true);
    assert!(start.elapsed() < Duration::from_secs(14));
}

#[test]
fn large_answers_stream() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let rows: String = (0..20_000).map(|number| format!("<urn:s{number}> <urn:p> \"{number}\" .")).collect();
    assert_eq!(update(&server, &format!("INSERT DATA {{ {rows} }}")).status, 200);
    let path = format!("/sparql?format=csv&query={}", encode("SELECT * { ?s ?p ?o }"));
    let answer = server.get(&path);
    assert_eq!(answer.header("transfer-encoding"), "chunked");
    assert_eq!(answer.text().lines().count(), 20_001);
    // A client that reads slowly gets all of it, too.
    let mut stream = server.connect();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", server.address).unwrap();
    let mut first = [0; 100];
    stream.read_exact(&mut first).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 400_000);
    let dump = server.get("/api/dump?format=nquads");
    assert_eq!(dump.text().lines().count(), 20_000);
    assert!(dump.header("content-disposition").contains("webloom-main.nq"));
}

#[test]
fn without_a_query_the_service_describes_itself() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let answer = server.ask("GET", "/sparql", &[("Accept", "text/turtle")], b"");
    assert_eq!(answer.header("content-type"), "text/turtle; charset=utf-8");
    let text = answer.text();
    assert!(
        text.contains("sd:endpoint") && text.contains(&format!("<http://{}/sparql>", server.address)),
        "{text}"
    );
}

#[test]
fn graphs_are_put_got_extended_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let token = format!("Bearer {}", server.token);
    let turtle = [("Content-Type", "text/turtle"), ("Authorization", token.as_str())];
    let path = "/store?graph=http%3A%2F%2Fa.example%2Fg";
    assert_eq!(server.ask("PUT", path, &turtle[..1], b"<urn:a> <urn:p> 1 .").status, 401);
    assert_eq!(server.get(path).status, 404);
    assert_eq!(server.ask("PUT", path, &turtle, b"<> <urn:p> [ <urn:q> 1 ] .").status, 201);
    assert_eq!(server.ask("PUT", path, &turtle, b"<> <urn:p> [ <urn:q> 2 ] .").status, 204);
    let got = server.ask("GET", path, &[("Accept", "application/n-triples")], b"").text();
    assert!(got.lines().count() == 2 && got.contains("<http://a.example/g> <urn:p> _:"), "{got}");
    // The same label in two documents is two nodes.
    assert_eq!(server.ask("POST", path, &turtle, b"_:x <urn:q> 3 .").status, 204);
    assert_eq!(server.ask("POST", path, &turtle, b"_:x <urn:q> 3 .").status, 204);
    assert_eq!(
        server.ask("GET", path, &[("Accept", "application/n-triples")], b"").text().lines().count(),
        4
    );
    assert_eq!(server.ask("HEAD", path, &[], b"").status, 200);
    assert_eq!(server.ask("HEAD", "/store?graph=urn:none", &[], b"").status, 404);
    let made = server.ask("POST", "/store", &turtle, b"<urn:a> <urn:p> 1 .");
    assert_eq!(made.status, 201);
    let place = made.header("location").replace(&format!("http://{}", server.address), "");
    assert_eq!(server.get(&place).status, 200, "{place}");
    assert_eq!(server.ask("PUT", "/store/person/1.ttl", &turtle, b"<> a <urn:P> .").status, 201);
    assert!(server.get("/store/person/1.ttl").text().contains("/store/person/1.ttl>"));
    let form = format!("multipart/form-data; boundary={}", "xyz");
    let fields = [("Content-Type", form.as_str()), ("Authorization", token.as_str())];
    let body = "--xyz\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a.ttl\"\r\nContent-Type: text/turtle\r\n\r\n<urn:m> <urn:p> 1 .\r\n--xyz--\r\n";
    assert_eq!(server.ask("POST", path, &fields, body.as_bytes()).status, 204);
    assert!(server.get(path).text().contains("urn:m"));
    let delete = &turtle[1..];
    assert_eq!(server.ask("DELETE", path, delete, b"").status, 204);
    assert_eq!(server.ask("DELETE", path, delete, b"").status, 404);
    for (fields, body, status) in [
        (vec![("Content-Type", "application/pdf")], "x", 415),
        (vec![("Content-Type", "text/turtle")], "<urn:a> <urn:p>", 400),
    ] {
        let mut fields = fields;
        fields.push(("Authorization", token.as_str()));
        assert_eq!(server.ask("PUT", path, &fields, body.as_bytes()).status, status);
    }
    assert_eq!(server.get("/store").status, 400);
    assert_eq!(server.get("/store?graph=x").status, 400);
    assert_eq!(server.get("/store?default").status, 200);
    assert_eq!(server.ask("PATCH", path, delete, b"").status, 405);
}
