//! `webloom serve`, `crawl --serve`, `demo` and `top` as people and other people's programs use them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::{crawl, send, stderr, stdout_of, until, webloom};
use webloom_testkit::{Answer, StaticWeb, WebServer, demo};

/// A command that serves; ended when dropped.
struct Serving {
    child: Child,
    url: String,
    token: String,
}

impl Serving {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let link = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("to control crawls, open ").map(str::to_owned))
            .expect("the command says where it serves");
        // Whoever writes to a pipe that nobody reads is ended by it.
        std::thread::spawn(move || lines.for_each(drop));
        let (url, token) = link.split_once("/#token=").unwrap();
        Self { child, url: url.to_owned(), token: token.to_owned() }
    }

    fn of(data: &Path, more: &[&str]) -> Self {
        Self::start(webloom().args(["serve", "--listen", "127.0.0.1:0"]).args(more).arg("--data").arg(data))
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path)
    }

    /// With the token.
    fn ask(&self, method: &str, path: &str) -> (u16, String) {
        let authority = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(authority).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let token = &self.token;
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nHost: {authority}\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn python() -> Option<PathBuf> {
    let python = std::env::var_os("WEBLOOM_PYTHON").map(PathBuf::from);
    if python.is_none() {
        eprintln!("WEBLOOM_PYTHON is not set; `cargo xtask test` sets it");
    }
    python
}

fn run_python(python: &Path, script: &str, arguments: &[&str]) {
    let output = Command::new(python).arg("-c").arg(script).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn an_empty_directory_can_be_served_and_an_interrupt_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("new");
    let mut serving = Serving::of(&data, &[]);
    let (status, body) = serving.get("/api/status");
    assert!(status == 200 && body.contains("\"pages\":0"), "{body}");
    assert_eq!(serving.get("/").0, 200);
    assert_eq!(serving.token.len(), 40);
    send(serving.child.id(), "INT");
    let ended = until(Duration::from_secs(20), "the end", || serving.child.try_wait().unwrap());
    assert!(ended.success());
}

#[test]
fn a_server_that_is_asked_to_end_lets_its_crawl_finish_the_pages_under_way() {
    let slow = |pause| {
        let answer = Answer::html(r#"<title>Slow</title><a href="/next">next</a>"#);
        StaticWeb::new()
            .answer("http://a.example/", answer.after(pause))
            .html("http://a.example/next", "<title>Next</title>")
    };
    for (pause, signals, pages) in
        [(2, &["TERM"][..], 1), (60, &["TERM", "INT"], 0), (60, &["INT", "TERM"], 0)]
    {
        let web = WebServer::start_blocking(slow(Duration::from_secs(pause)), Default::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let spec = format!(
            "seeds = [\"http://a.example/\"]\n[politeness]\ndelay = \"1ms\"\n\
             [fetch]\nallow_private = true\nresolve = [{:?}]\n",
            web.resolve_rule()
        );
        std::fs::write(folder.path().join("crawl.toml"), spec).unwrap();
        let mut serving = Serving::of(folder.path(), &["--start"]);
        assert!(web.log().wait_for_requests(2, Duration::from_secs(20)));
        for signal in signals {
            assert!(serving.child.try_wait().unwrap().is_none(), "{signals:?}");
            send(serving.child.id(), signal);
            std::thread::sleep(Duration::from_millis(300));
        }
        let ended = until(Duration::from_secs(10), "the end", || serving.child.try_wait().unwrap());
        assert_eq!(ended.code(), Some(0), "{signals:?}");
        let stats = stdout_of(webloom().args(["stats", "--json", "--data"]).arg(folder.path()));
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        assert_eq!(stats["graphs"], pages, "{signals:?}: {stats}");
        assert_eq!(web.log().count("http://a.example/next"), 0);
    }
}

#[test]
fn what_is_not_safe_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (&["--listen", "0.0.0.0:0"][..], "needs a token"),
        (&["--listen", "127.0.0.1:0", "--token", "short"], "at least 16 characters"),
        (&["--listen", "nonsense"], "invalid value"),
        (&["--listen", "127.0.0.1:0", "--token-file", "/nowhere/at/all"], "cannot read"),
    ] {
        let refused = webloom()
            .env_remove("WEBLOOM_TOKEN")
            .arg("serve")
            .args(arguments)
            .arg("--data")
            .arg(folder.path())
            .output();
        let refused = refused.unwrap();
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&refused).contains(words), "{}", stderr(&refused));
    }
}

#[test]
fn a_crawl_is_served_while_it_runs_and_top_shows_it() {
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(&web, demo::demo_seeds()[0], folder.path(), "200ms");
    command.args(["--serve", "--listen", "127.0.0.1:0"]);
    let mut serving = Serving::start(&mut command);
    until(Duration::from_secs(30), "a page in the index", || {
        let (_, body) = serving.get("/sparql?query=ASK%7B%3Fs%20%3Fp%20%3Fo%7D&format=json");
        body.contains("true").then_some(())
    });
    let picture = stdout_of(webloom().args(["top", "--once", &serving.url]));
    assert!(picture.contains("transform") && picture.contains("last pages"), "{picture}");
    // It belongs to the crawl's process; another server reads along.
    let beside = Serving::of(folder.path(), &[]);
    until(Duration::from_secs(20), "the other server to notice", || {
        beside.get("/api/status").1.contains("\"read_only\":true").then_some(())
    });
    assert!(beside.get("/sparql?query=ASK%7B%3Fs%20%3Fp%20%3Fo%7D").1.contains("true"));
    let ended = until(Duration::from_secs(60), "the crawl's end", || serving.child.try_wait().unwrap());
    assert!(ended.success());
}

#[test]
fn a_crawl_that_is_paused_takes_orders_and_answers() {
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = crawl(&web, demo::demo_seeds()[0], folder.path(), "100ms");
    command.args(["--serve", "--listen", "127.0.0.1:0"]);
    let mut serving = Serving::start(&mut command);
    until(Duration::from_secs(30), "a request", || (web.log().totals().requests > 2).then_some(()));
    let (status, body) = serving.ask("POST", "/api/crawls/main/pause");
    assert_eq!(status, 202, "{body}");
    let resting = until(Duration::from_secs(20), "rest", || {
        let before = web.log().totals().requests;
        std::thread::sleep(Duration::from_millis(700));
        (web.log().totals().requests == before).then_some(before)
    });
    // Asked for long after the last page was settled: nothing else wakes the crawl.
    let asked = std::time::Instant::now();
    let seed = demo::demo_seeds()[0];
    let life = stdout_of(webloom().args(["why", "--json", seed, "--data"]).arg(folder.path()));
    assert!(life.contains("\"known\": true"), "{life}");
    let list = folder.path().join("list");
    std::fs::write(&list, "http://added.example/\n").unwrap();
    let added = stdout_of(webloom().args(["urls", "add"]).arg(&list).arg("--data").arg(folder.path()));
    assert_eq!(added, "1 queued\n");
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
    assert_eq!(web.log().totals().requests, resting, "it is paused");
    assert_eq!(serving.ask("POST", "/api/crawls/main/resume").0, 202);
    let ended = until(Duration::from_secs(60), "the crawl's end", || serving.child.try_wait().unwrap());
    assert!(ended.success());
    assert_eq!(web.log().count("http://added.example/"), 1);
}

#[test]
fn other_peoples_clients_query_and_update() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::of(folder.path(), &["--default-graph", "unnamed"]);
    let script = r#"
import sys
url, token = sys.argv[1:]
from rdflib import Graph, URIRef, Literal, Dataset
from rdflib.plugins.stores.sparqlstore import SPARQLUpdateStore, SPARQLStore
store = SPARQLUpdateStore(url + "/sparql", url + "/sparql", headers={"Authorization": "Bearer " + token})
graph = Graph(store, identifier=URIRef("http://a.example/g"))
painter = URIRef("http://a.example/painter")
name = URIRef("http://xmlns.com/foaf/0.1/name")
graph.add((painter, name, Literal("Käthe \"K\" Kollwitz", lang="de")))
graph.add((painter, name, Literal("other")))
store.commit()
assert len(graph) == 2, len(graph)
graph.remove((painter, name, Literal("other")))
store.commit()
assert list(graph.objects(painter, name)) == [Literal("Käthe \"K\" Kollwitz", lang="de")]
readonly = Graph(SPARQLStore(url + "/sparql"))
rows = list(readonly.query("SELECT ?n { GRAPH ?g { ?s ?p ?n } }"))
assert len(rows) == 1 and rows[0][0].language == "de", rows
try:
    bad = SPARQLUpdateStore(url + "/sparql", url + "/sparql")
    bad.update("CLEAR ALL")
    raise SystemExit("an update without the token went through")
except Exception as error:
    assert "401" in str(error) or "HTTPError" in type(error).__name__, error

from SPARQLWrapper import SPARQLWrapper, JSON, XML, CSV, TSV, TURTLE, N3, RDFXML, JSONLD, POST
for kind in (JSON, XML, CSV, TSV):
    client = SPARQLWrapper(url + "/sparql")
    client.setQuery("SELECT * { GRAPH ?g { ?s ?p ?o } }")
    client.setReturnFormat(kind)
    answer = client.query().convert()
    text = str(answer if not hasattr(answer, "toxml") else answer.toxml())
    assert "Kollwitz" in text or b"Kollwitz" in answer, text
for kind in (TURTLE, N3, RDFXML, JSONLD):
    client = SPARQLWrapper(url + "/sparql")
    client.setQuery("CONSTRUCT { ?s ?p ?o } { GRAPH ?g { ?s ?p ?o } }")
    client.setReturnFormat(kind)
    answer = client.query().convert()
    assert len(answer) >= 1
client = SPARQLWrapper(url + "/sparql")
client.setMethod(POST)
client.addCustomHttpHeader("Authorization", "Bearer " + token)
client.setQuery("INSERT DATA { <urn:a> <urn:p> 1 }")
client.query()
client = SPARQLWrapper(url + "/sparql")
client.setQuery("ASK { <urn:a> <urn:p> 1 }")
client.setReturnFormat(JSON)
assert client.query().convert()["boolean"] is True
client.addDefaultGraph("http://a.example/g")
assert client.query().convert()["boolean"] is False
client.setQuery("ASK {")
try:
    client.query()
    raise SystemExit("nonsense was taken for a query")
except Exception as error:
    assert "QueryBadFormed" in type(error).__name__, error
"#;
    run_python(&python, script, &[&serving.url, &serving.token]);
}

#[test]
fn nothing_that_fits_the_description_breaks_the_server() {
    let Some(python) = python() else { return };
    let tool = python.with_file_name("schemathesis");
    if !tool.is_file() {
        eprintln!("schemathesis is not installed beside {}", python.display());
        return;
    }
    let web = WebServer::start_blocking(demo::demo_web(), Default::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    stdout_of(&mut crawl(&web, demo::demo_seeds()[0], folder.path(), "1ms"));
    let serving = Serving::of(folder.path(), &["--query-seconds", "5"]);
    let output = Command::new(tool)
        .args(["run", &format!("{}/api/openapi.json", serving.url)])
        .args(["--header", &format!("Authorization: Bearer {}", serving.token)])
        .args(["--checks", "not_a_server_error,response_schema_conformance,status_code_conformance"])
        // The stream of events has no end; starting crawls of whatever comes to mind is for people.
        .args(["--exclude-path", "/api/events", "--exclude-path", "/api/crawls/{id}/start"])
        .args(["--phases", "examples,coverage,fuzzing", "--max-examples", "15", "--seed", "7", "--no-color"])
        .args(["--generation-database", "none"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}\n{}", stderr(&output));
    assert_eq!(serving.get("/api/status").0, 200);
}
