//! JSON-LD contexts from the web: fetched once, politely, and never worth more than the blocks that name them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::time::Duration;

use support::{crawl, crawl_within, stderr, stdout_of, webloom};
use webloom_testkit::{Answer, ServerOptions, StaticWeb, WebServer};

/// A page with a block in a context, and a link.
fn page(context: &str, name: &str, link: &str) -> String {
    format!(
        r#"<title>{name}</title><a href="{link}">next</a><script type="application/ld+json">
           {{"@context": "{context}", "@id": "http://a.example/#{name}", "label": "{name}"}}</script>"#
    )
}

const CONTEXT: &str = r#"{"@context": {"label": "http://vocabulary.example/label"}}"#;

fn labels(data: &std::path::Path) -> Vec<String> {
    let query = "SELECT DISTINCT ?label { ?x <http://vocabulary.example/label> ?label } ORDER BY ?label";
    let csv = stdout_of(webloom().args(["query", query, "--results", "csv", "--data"]).arg(data));
    csv.lines().skip(1).map(|line| line.trim().to_owned()).collect()
}

fn start(web: StaticWeb) -> WebServer {
    WebServer::start_blocking(web, ServerOptions::default()).unwrap()
}

#[test]
fn a_context_is_fetched_once_and_in_its_hosts_turn() {
    // The context is on the host of the pages, so that both have to share its turns; what it refers to is elsewhere.
    let web = StaticWeb::new()
        .html("http://a.example/", page("http://a.example/context", "one", "/two"))
        .html("http://a.example/two", page("http://a.example/context", "two", "/three"))
        .html("http://a.example/three", page("/context", "three", "/four"))
        .html("http://a.example/four", page("http://c.example/", "four", "/"))
        .page("http://a.example/context", "application/ld+json", r#"{"@context": "http://b.example/moved"}"#)
        .redirect("http://b.example/moved", "/context")
        .page("http://b.example/context", "application/json", CONTEXT)
        .answer(
            "http://c.example/",
            Answer::html("<title>About the context</title>")
                .with_header("link", "</c.jsonld>; rel=alternate; type=\"application/ld+json\""),
        )
        .page("http://c.example/c.jsonld", "application/ld+json", CONTEXT);
    let server = start(web);
    let data = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(60);
    stdout_of(&mut crawl_within("hosts", &server, "http://a.example/", data.path(), "60ms"));

    assert_eq!(labels(data.path()), ["four", "one", "three", "two"]);
    let log = server.log();
    assert_eq!(log.fetched_more_than_once(), []);
    for url in ["http://a.example/context", "http://b.example/context", "http://c.example/c.jsonld"] {
        assert_eq!(log.count(url), 1, "{url}");
    }
    let offences: Vec<String> = log
        .hurried(delay, delay, Duration::from_millis(2))
        .into_iter()
        .chain(log.overlapping())
        .chain(log.robots_violations())
        .map(|violation| violation.to_string())
        .collect();
    assert!(offences.is_empty(), "{offences:#?}");
}

#[test]
fn a_resumed_crawl_has_its_contexts() {
    let web = |link: &str| {
        StaticWeb::new()
            .html("http://a.example/", page("http://c.example/c", "one", link))
            .html("http://a.example/two", page("http://c.example/c", "two", "/"))
            .page("http://c.example/c", "application/ld+json", CONTEXT)
    };
    let data = tempfile::tempdir().unwrap();
    let first = start(web("/two"));
    stdout_of(crawl(&first, "http://a.example/", data.path(), "1ms").args(["--max-pages", "1"]));
    assert_eq!(labels(data.path()), ["one"]);
    let second = start(web("/two"));
    stdout_of(crawl(&second, "http://a.example/", data.path(), "1ms").args(["--max-pages", "2"]));
    assert_eq!(labels(data.path()), ["one", "two"]);
    assert_eq!(second.log().count("http://c.example/c"), 0);
}

#[test]
fn contexts_that_cannot_be_had_cost_only_their_blocks() {
    let mut web = StaticWeb::new()
        .answer("http://busy.example/c", Answer::status(500))
        .answer("http://huge.example/c", Answer::endless("application/ld+json", " ", 10 << 20))
        .page("http://broken.example/c", "application/ld+json", "{\"@context\": {")
        .html("http://page.example/c", "<title>No context</title>")
        .page("http://forbidden.example/c", "application/ld+json", CONTEXT)
        .robots("http://forbidden.example", "User-agent: *\nDisallow: /")
        .redirect("http://circle.example/c", "/d")
        .redirect("http://circle.example/d", "/c")
        .answer("http://gone.example/c", Answer::hang_up())
        .page("http://self.example/c", "application/ld+json", r#"{"@context": "http://self.example/c"}"#);
    let kinds = ["busy", "huge", "broken", "page", "forbidden", "circle", "gone", "self", "nowhere"];
    for (number, kind) in kinds.iter().enumerate() {
        let blocks = format!(
            "{}<a href=\"/again{number}\">again</a><script type=\"application/ld+json\">{{\"@id\": \"http://a.example/#{kind}\", \"http://vocabulary.example/label\": \"{kind}\"}}</script>",
            page(&format!("http://{kind}.example/c"), "lost", &format!("/{}", number + 1))
        );
        let url =
            if number == 0 { "http://a.example/".to_owned() } else { format!("http://a.example/{number}") };
        web = web.html(&url, blocks.clone()).html(&format!("http://a.example/again{number}"), blocks);
    }
    let server = start(web);
    let data = tempfile::tempdir().unwrap();
    stdout_of(crawl_within("hosts", &server, "http://a.example/", data.path(), "1ms").args([
        "--set",
        "politeness.retry_pause=10ms",
        "--set",
        "fetch.attempts_max=2",
    ]));
    let mut expected = kinds.map(str::to_owned);
    expected.sort();
    assert_eq!(labels(data.path()), expected);
    let log = server.log();
    assert_eq!(log.count("http://forbidden.example/c"), 0);
    assert_eq!(log.count("http://busy.example/c"), 1);
    assert_eq!(log.count("http://self.example/c"), 1);
    let query =
        "PREFIX wl: <urn:webloom:ns#> SELECT (COUNT(?d) AS ?n) { GRAPH ?g { ?d wl:code 'json-ld-context' } }";
    let csv = stdout_of(webloom().args(["query", query, "--results", "csv", "--data"]).arg(data.path()));
    assert_eq!(csv.lines().nth(1).map(str::trim), Some((kinds.len() * 2).to_string().as_str()));
}

#[test]
fn fetching_contexts_can_be_switched_off() {
    let web = StaticWeb::new().html("http://a.example/", page("http://c.example/c", "one", "/")).page(
        "http://c.example/c",
        "application/ld+json",
        CONTEXT,
    );
    let server = start(web);
    let data = tempfile::tempdir().unwrap();
    stdout_of(
        crawl(&server, "http://a.example/", data.path(), "1ms")
            .args(["--set", "transform.fetch_contexts=false"]),
    );
    assert!(labels(data.path()).is_empty());
    assert_eq!(server.log().count("http://c.example/c"), 0);
}

#[test]
fn extract_fetches_contexts_of_pages_from_the_web_and_of_files_when_told() {
    let web = StaticWeb::new()
        .html("http://a.example/", page("http://c.example/c", "one", "/"))
        .page("http://c.example/c", "application/ld+json", CONTEXT)
        .page("http://d.example/c", "application/ld+json", CONTEXT);
    let server = start(web);
    let quad = "<http://a.example/#one> <http://vocabulary.example/label> \"one\" .\n";
    let extract = |input: &str, more: &[&str]| {
        let mut command = webloom();
        command.args([
            "extract",
            input,
            "--only",
            "jsonld",
            "--allow-private",
            "--resolve",
            &server.resolve_rule(),
        ]);
        command.args(more).output().unwrap()
    };
    let output = extract("http://a.example/", &[]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), quad, "{}", stderr(&output));
    assert_eq!(server.log().count("http://c.example/c"), 1);

    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("page.html");
    std::fs::write(&file, page("http://d.example/c", "one", "/")).unwrap();
    let file = file.to_str().unwrap();
    let output = extract(file, &["--base", "http://a.example/"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert!(stderr(&output).contains("json-ld-context"), "{}", stderr(&output));
    assert_eq!(server.log().count("http://d.example/c"), 0);
    let output = extract(file, &["--base", "http://a.example/", "--fetch-contexts"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), quad, "{}", stderr(&output));
    assert_eq!(server.log().count("http://d.example/c"), 1);

    // A directory comes first.
    std::fs::write(directory.path().join("c"), CONTEXT).unwrap();
    let map = format!("http://d.example/={}", directory.path().display());
    let output = extract(file, &["--base", "http://a.example/", "--fetch-contexts", "--map", &map]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), quad, "{}", stderr(&output));
    assert_eq!(server.log().count("http://d.example/c"), 1);
}
