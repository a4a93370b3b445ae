//! A crawl made, steered and watched over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use serde_json::{Value, json};
use support::{TestServer, until};
use webloom_testkit::{WebServer, demo};

const PATIENCE: Duration = Duration::from_secs(60);

fn specification(web: &WebServer, delay: &str) -> String {
    let seeds: Vec<String> = demo::demo_seeds().iter().map(|seed| format!("{seed:?}")).collect();
    format!(
        "seeds = [{}]\n[scope]\nwithin = \"anywhere\"\n[politeness]\ndelay = \"{delay}\"\nretry_pause = \"200ms\"\n\
         crawl_delay_max = \"100ms\"\n[fetch]\nallow_private = true\nresolve = [{:?}]\n",
        seeds.join(", "),
        web.resolve_rule()
    )
}

fn state(server: &TestServer, id: &str) -> String {
    server.json(&format!("/api/crawls/{id}"))["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_crawl_is_made_paused_re_ruled_resumed_and_finishes() {
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let spec = specification(&web, "30ms");
    let wrong = server.control("POST", "/api/crawls", Some(&json!({"specification": "sedes = 1"})));
    assert_eq!((wrong.status, &wrong.value()["problems"][0]["key"]), (422, &"sedes".into()));
    // Who may crawl may not start programs.
    let program = "seeds = [\"http://a.example/\"]\n[[transform.rules]]\nname = \"shell\"\nalways = true\ncommand = [\"sh\"]\n";
    let refused = server.control("POST", "/api/crawls", Some(&json!({"specification": program})));
    assert_eq!((refused.status, &refused.value()["problems"][0]["key"]), (422, &"transform.rules".into()));
    let made = server.control(
        "POST",
        "/api/crawls",
        Some(&json!({"id": "demo", "specification": spec, "start": true})),
    );
    assert_eq!(made.status, 201, "{}", made.text());
    assert_eq!(
        server.control("POST", "/api/crawls", Some(&json!({"id": "demo", "specification": spec}))).status,
        409
    );
    until(PATIENCE, "the first page", || {
        server.json("/api/crawls/demo")["pages"].as_u64().filter(|n| *n > 0)
    });

    let paused = server.control("POST", "/api/crawls/demo/pause", None);
    assert_eq!((paused.status, &paused.value()["state"]), (202, &"paused".into()), "{}", paused.text());
    // Pages under way are finished, then nothing is asked for.
    let resting = until(PATIENCE, "rest", || {
        let before = web.log().requests().len();
        std::thread::sleep(Duration::from_millis(400));
        (web.log().requests().len() == before).then_some(before)
    });
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(web.log().requests().len(), resting);

    let filters = json!({"include": [], "exclude": ["/nowhere/"]});
    assert_eq!(server.control("PUT", "/api/crawls/demo/filters", Some(&filters)).value(), filters);
    assert_eq!(server.json("/api/crawls/demo/filters"), filters);
    let bad = server.control("PUT", "/api/crawls/demo/filters", Some(&json!({"exclude": ["("]})));
    assert_eq!((bad.status, &bad.value()["problems"][0]["key"]), (422, &"scope.exclude".into()));
    assert_eq!(server.json("/api/crawls/demo/filters"), filters);

    let seed = demo::demo_seeds()[0].trim_end_matches('/');
    let list = json!([
        {"url": format!("{seed}/injected"), "score": 0.9},
        {"url": format!("{seed}/banned"), "blacklisted": true},
        {"url": "nonsense"},
        7,
        {"uri": "http://a.example/"},
        {"url": format!("{seed}/injected too"), "score": "high"},
    ]);
    let report = server.control("POST", "/api/crawls/demo/urls", Some(&list)).value();
    assert_eq!((&report["added"], &report["banned"]), (&1.into(), &1.into()), "{report}");
    assert_eq!(
        (&report["refused"][0]["url"], &report["refused"][0]["number"]),
        (&"nonsense".into(), &3.into())
    );
    let numbers: Vec<_> = report["refused"].as_array().unwrap().iter().map(|one| &one["number"]).collect();
    assert_eq!(numbers, [3, 4, 5, 6], "{report}");
    assert_eq!(report["refused"][2]["reason"], "missing field `url`", "{report}");
    assert_eq!(report["refused_total"], 4, "{report}");
    let broken = server.ask(
        "POST",
        "/api/crawls/demo/urls",
        &[("Authorization", &format!("Bearer {}", server.token)), ("Content-Type", "application/json")],
        b"[{\"url\": \"http://a.example/\"},\n{\"url\": ]",
    );
    assert_eq!(broken.status, 422);
    assert!(broken.text().contains("line 2 column 9"), "{}", broken.text());
    let limits =
        server.control("PUT", "/api/crawls/demo/limits", Some(&json!({"delay_ms": 20, "max_pages": 500})));
    assert_eq!((&limits.value()["delay_ms"], &limits.value()["max_pages"]), (&20.into(), &500.into()));
    assert_eq!(server.json("/api/crawls/demo/limits"), limits.value());
    for bandwidth in [json!(5_000_000), json!(null)] {
        let sent = json!({ "bandwidth_bytes_per_second": bandwidth });
        let limits = server.control("PUT", "/api/crawls/demo/limits", Some(&sent));
        assert_eq!(limits.value()["bandwidth_bytes_per_second"], bandwidth);
    }

    assert_eq!(server.control("POST", "/api/crawls/demo/resume", None).status, 202);
    until(PATIENCE, "the end", || (state(&server, "demo") == "finished").then_some(()));
    let crawl = server.json("/api/crawls/demo");
    assert!(crawl["pages"].as_u64().unwrap() >= 10, "{crawl}");
    assert!(crawl["status_classes"]["2xx"].as_u64().unwrap() >= 10, "{crawl}");
    assert!(crawl["latency_ms"]["p50"].as_f64().is_some(), "{crawl}");
    assert_eq!(server.control("POST", "/api/crawls/demo/pause", None).status, 409);

    assert!(web.log().requests().urls().contains(&format!("{seed}/injected")));
    assert!(!web.log().requests().urls().contains(&format!("{seed}/banned")));
    let hosts = server.json("/api/crawls/demo/hosts?sort=fetched");
    assert!(hosts["hosts"][0]["fetched"].as_u64().unwrap() > 0, "{hosts}");
    assert_eq!(hosts["total"].as_u64().unwrap() as usize, hosts["hosts"].as_array().unwrap().len());
    let recent = server.json("/api/crawls/demo/recent?limit=5");
    assert_eq!(recent["pages"].as_array().unwrap().len(), 5);
    let errors = server.json("/api/crawls/demo/errors");
    assert!(!errors["kinds"].as_array().unwrap().is_empty(), "{errors}");
    read_everything(&server, "demo");

    assert_eq!(server.control("DELETE", "/api/crawls/demo?data=true", None).status, 204);
    assert_eq!(server.get("/api/crawls/demo").status, 404);
    assert!(!folder.path().join("crawls/demo").exists());
    assert_eq!(server.control("DELETE", "/api/crawls/main", None).status, 409);
}

/// Everything that can be read of a crawl's results.
fn read_everything(server: &TestServer, id: &str) {
    let found = server.json(&format!("/api/search?crawl={id}&q=harbour"));
    assert!(found["total"].as_u64().unwrap() > 0, "{found}");
    let iri: String = url::form_urlencoded::byte_serialize(
        found["results"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|hit| hit["iri"].as_str().filter(|iri| iri.starts_with("http")))
            .unwrap()
            .as_bytes(),
    )
    .collect();
    let thing = server.json(&format!("/api/thing?crawl={id}&iri={iri}"));
    assert!(
        thing["pages_total"].as_u64().unwrap() > 0 || thing["incoming_total"].as_u64().unwrap() > 0,
        "{thing}"
    );
    let graph = server.json(&format!("/api/thing/graph?crawl={id}&iri={iri}"));
    assert!(!graph["nodes"].as_array().unwrap().is_empty());
    for format in ["turtle", "jsonld", "nquads"] {
        assert_eq!(server.get(&format!("/api/thing/raw?crawl={id}&iri={iri}&format={format}")).status, 200);
    }
    let pages = server.json(&format!("/api/pages?crawl={id}&limit=3"));
    assert_eq!(pages["pages"].as_array().unwrap().len(), 3);
    let url = pages["pages"][0]["url"].as_str().unwrap();
    let encoded: String = url::form_urlencoded::byte_serialize(url.as_bytes()).collect();
    let page = server.json(&format!("/api/page?crawl={id}&url={encoded}"));
    assert!(page["statements_total"].as_u64().unwrap() > 0 && page["metadata"]["status"] == 200, "{page}");
    let life = server.json(&format!("/api/url?crawl={id}&url={encoded}"));
    assert_eq!(life["state"], "indexed", "{life}");
    let sites = server.json(&format!("/api/sites?crawl={id}"));
    assert!(
        sites["total"].as_u64().unwrap() > 1 && sites["sites"][0]["pages"].as_u64().unwrap() > 0,
        "{sites}"
    );
    let vocabulary = server.json(&format!("/api/vocabulary?crawl={id}"));
    assert!(!vocabulary["predicates"].as_array().unwrap().is_empty());
    assert!(
        !server.json(&format!("/api/suggest?crawl={id}&q=harbour"))["suggestions"]
            .as_array()
            .unwrap()
            .is_empty()
    );
    let explained = server.ask(
        "POST",
        &format!("/api/explain?crawl={id}"),
        &[("Content-Type", "application/json")],
        br#"{"query": "SELECT * { ?s a ?type ; ?p ?o }"}"#,
    );
    assert!(explained.value()["plan"]["operator"].is_string(), "{}", explained.text());
    let html = server.get(&format!("/search?crawl={id}&q=harbour"));
    assert!(
        html.header("content-type").starts_with("text/html") && html.text().contains("<ol"),
        "{}",
        html.text()
    );
    let json =
        server.ask("GET", &format!("/search?crawl={id}&q=harbour"), &[("Accept", "application/json")], b"");
    assert_eq!(json.value()["total"], found["total"]);
    for example in server.json("/api/examples")["examples"].as_array().unwrap() {
        let query: String =
            url::form_urlencoded::byte_serialize(example["query"].as_str().unwrap().as_bytes()).collect();
        let answer = server.get(&format!("/sparql?crawl={id}&query={query}"));
        assert_eq!(answer.status, 200, "{example}: {}", answer.text());
    }
    assert!(server.get("/opensearch.xml").text().contains("OpenSearchDescription"));
}

#[test]
fn metrics_status_and_events_tell_the_same_numbers() {
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let made = server.control(
        "POST",
        "/api/crawls",
        Some(&json!({"id": "main", "specification": specification(&web, "5ms"), "start": true})),
    );
    assert_eq!(made.status, 201, "{}", made.text());
    until(PATIENCE, "the end", || (state(&server, "main") == "finished").then_some(()));
    // The store is counted a moment later; then nothing changes any more.
    let stats = folder.path().join("index");
    let quads = webloom_index::IndexReader::open(&stats).unwrap().snapshot().unwrap().quad_count().unwrap();
    until(PATIENCE, "the count", || (server.json("/api/status")["store"]["quads"] == quads).then_some(()));
    let status = server.json("/api/status");
    let crawl = server.json("/api/crawls/main");
    let metrics = server.get("/metrics").text();
    let metric = |name: &str| -> f64 {
        let line =
            metrics.lines().find(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')));
        line.unwrap_or_else(|| panic!("{name} is not there:\n{metrics}"))
            .rsplit(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    for name in ["pages", "graphs", "quads", "terms", "bytes", "segments", "generation"] {
        assert_eq!(
            Some(metric(&format!("webloom_store_{name}{{crawl=\"main\"}}"))),
            status["store"][name].as_f64(),
            "{name}"
        );
    }
    for (name, value) in [
        ("webloom_crawl_pages{crawl=\"main\"}", &status["crawls"][0]["pages"]),
        ("webloom_crawl_errors_total{crawl=\"main\"}", &status["crawls"][0]["errors"]),
        ("webloom_crawl_queued{crawl=\"main\"}", &status["crawls"][0]["queued"]),
        ("webloom_crawl_pages_total{crawl=\"main\"}", &crawl["totals"]["pages"]),
        ("webloom_crawl_quads_total{crawl=\"main\"}", &crawl["totals"]["quads"]),
        ("webloom_crawl_received_bytes_total{crawl=\"main\"}", &crawl["totals"]["bytes"]),
        ("webloom_crawl_robots_denied_total{crawl=\"main\"}", &crawl["totals"]["robots_denied"]),
        ("webloom_crawl_answers_total{crawl=\"main\",class=\"2xx\"}", &crawl["status_classes"]["2xx"]),
        ("webloom_crawl_answers_total{crawl=\"main\",class=\"4xx\"}", &crawl["status_classes"]["4xx"]),
        ("webloom_crawl_state{crawl=\"main\",state=\"finished\"}", &json!(1)),
    ] {
        assert_eq!(Some(metric(name)), value.as_f64(), "{name}");
    }
    for phase in crawl["phases"].as_array().unwrap() {
        let name = format!("webloom_phase_pages_total{{crawl=\"main\",phase={}}}", phase["name"]);
        assert_eq!(Some(metric(&name)), phase["pages"].as_f64());
    }
    let answered: u64 = crawl["status_classes"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
    assert!(answered > 0 && metric("webloom_answer_seconds_count{crawl=\"main\"}") > 0.0);

    // The events tell the same crawl.
    let mut stream = server.connect();
    write!(stream, "GET /api/events HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).unwrap();
    let mut names = Vec::new();
    let mut lines = BufReader::new(stream).lines();
    while !(names.contains(&"status".to_owned()) && names.contains(&"machine".to_owned())) {
        let line = lines.next().unwrap().unwrap();
        if let Some(name) = line.strip_prefix("event: ") {
            names.push(name.to_owned());
            let data = lines.next().unwrap().unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            if name == "status" {
                assert_eq!((&data["pages"], &data["totals"]), (&crawl["pages"], &crawl["totals"]));
            }
        }
    }
    assert_eq!(names[0], "state");
    let series = server.json("/api/crawls/main/series?span=hour");
    assert_eq!(series["points"]["pages"].as_array().unwrap().len(), 360);
    assert!(series["points"]["pages"].as_array().unwrap().iter().any(Value::is_number), "{series}");
}

#[test]
fn a_crawl_that_has_ended_and_is_still_open_takes_orders_and_answers() {
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let body = json!({"id": "main", "specification": specification(&web, "1ms"), "start": true});
    assert_eq!(server.control("POST", "/api/crawls", Some(&body)).status, 201);
    until(PATIENCE, "the end", || (state(&server, "main") == "finished").then_some(()));
    let spool = webloom_pipeline::Spool::new(webloom_pipeline::DataDir::new(folder.path()).spool());
    let seed = webloom_model::PageUrl::parse(demo::demo_seeds()[0]).unwrap();
    let order = spool.submit(&webloom_pipeline::Order::Why(seed)).unwrap();
    let life = spool.answer(&order).unwrap().expect("an answer");
    assert_eq!(life["stage"]["name"], "indexed", "{life}");
}

#[test]
fn a_larger_depth_holds_for_pages_that_were_read_before() {
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let spec = specification(&web, "1ms").replace("[scope]\n", "[scope]\nmax_depth = 0\n");
    let body = json!({"id": "main", "specification": spec, "start": true});
    assert_eq!(server.control("POST", "/api/crawls", Some(&body)).status, 201);
    let pages = || {
        until(PATIENCE, "the end", || (state(&server, "main") == "finished").then_some(()));
        server.json("/api/crawls/main")["pages"].as_u64().unwrap()
    };
    let near = pages();
    let limits = server.control("PUT", "/api/crawls/main/limits", Some(&json!({"max_depth": 1})));
    assert_eq!(limits.value()["max_depth"], 1, "{}", limits.text());
    assert_eq!(server.control("POST", "/api/crawls/main/start", None).status, 202);
    let far = pages();
    assert!(near > 0 && far > near, "{near} pages, then {far}");
}

#[test]
fn the_series_survives_a_restart() {
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let recorded = |server: &TestServer| {
        let series = server.json("/api/crawls/main/series?span=day");
        series["points"]["pages"].as_array().unwrap().iter().filter(|value| value.is_number()).count()
    };
    let server = TestServer::start(folder.path());
    let body = json!({"id": "main", "specification": specification(&web, "5ms"), "start": true});
    assert_eq!(server.control("POST", "/api/crawls", Some(&body)).status, 201);
    until(PATIENCE, "a sample", || (recorded(&server) > 0).then_some(()));
    until(PATIENCE, "the end", || (state(&server, "main") == "finished").then_some(()));
    drop(server);
    let server = TestServer::start(folder.path());
    assert!(recorded(&server) > 0);
    // What is closed can be read all the same, and be started again.
    assert_eq!(state(&server, "main"), "stopped");
    assert!(server.json("/api/crawls/main")["pages"].as_u64().unwrap() > 0);
    assert!(!server.json("/api/crawls/main/recent")["pages"].as_array().unwrap().is_empty());
    assert_eq!(server.control("POST", "/api/crawls/main/start", None).status, 202);
    until(PATIENCE, "the end", || (state(&server, "main") == "finished").then_some(()));
}

#[test]
fn a_store_that_another_process_writes_is_read_along() {
    let folder = tempfile::tempdir().unwrap();
    // A lock of another process looks like one of this process that the server does not know of.
    let other = webloom_index::Index::open(&folder.path().join("index"), Default::default()).unwrap();
    let server = TestServer::start(folder.path());
    until(PATIENCE, "the lock to be seen", || {
        (server.json("/api/status")["read_only"] == true).then_some(())
    });
    let token = format!("Bearer {}", server.token);
    let fields = [("Content-Type", "application/sparql-update"), ("Authorization", token.as_str())];
    let refused = server.ask("POST", "/sparql", &fields, b"INSERT DATA { <urn:a> <urn:p> 1 }");
    assert_eq!((refused.status, refused.code().as_str()), (409, "in-use"), "{}", refused.text());
    other.update("INSERT DATA { <urn:a> <urn:p> 1 }", &Default::default()).unwrap();
    assert_eq!(server.query("SELECT * { ?s ?p ?o }")["results"]["bindings"].as_array().unwrap().len(), 1);
}

#[test]
fn the_copy_of_a_page_is_shown_as_it_was_received() {
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = TestServer::start(folder.path());
    let spec = specification(&web, "1ms");
    let body = json!({"id": "demo", "specification": spec, "start": true});
    assert_eq!(server.control("POST", "/api/crawls", Some(&body)).status, 201);
    until(PATIENCE, "the end", || (state(&server, "demo") == "finished").then_some(()));
    let seed = demo::demo_seeds()[0];
    let url = seed.replace(':', "%3A").replace('/', "%2F");
    // The file is still open; its copy can be seen all the same.
    let page = server.json(&format!("/api/page?crawl=demo&url={url}"));
    assert_eq!(page["archived"], true, "{page}");
    assert!(page["metadata"]["warc_file"].as_str().unwrap().ends_with(".warc.gz"), "{page}");
    assert_eq!(page["history"].as_array().unwrap().len(), 1, "{page}");
    for time in ["", "&time=19991231235959", "&time=2050-01-01T00:00:00Z"] {
        let copy = server.get(&format!("/archive?crawl=demo&url={url}{time}"));
        assert_eq!(copy.status, 200, "{}", copy.text());
        assert!(copy.text().contains("<title>"), "{}", copy.text());
        assert!(copy.header("content-type").starts_with("text/html"));
        assert!(copy.header("content-security-policy").starts_with("sandbox; default-src 'none'"));
        assert!(copy.header("memento-datetime").ends_with(" GMT"));
    }
    let head = server.get(&format!("/archive?crawl=demo&url={url}&view=head"));
    assert!(head.header("content-type").starts_with("text/plain"));
    let text = head.text();
    assert!(text.contains(&format!("WARC-Target-URI: {seed}")) && text.contains("HTTP/1.1 200"), "{text}");
    assert_eq!(server.get(&format!("/archive?crawl=demo&url={url}&time=soon")).status, 400);
    let metrics = server.get("/metrics").text();
    assert!(metrics.contains("webloom_archive_records_total{crawl=\"demo\"}"), "{metrics}");
}
