//! A crawl that visits its pages again: what is in the index follows what the pages wish.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use support::{crawl, stdout_of, until, webloom};
use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

const PATIENCE: Duration = Duration::from_secs(30);

/// A crawl that goes on until the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A page that never changes. Whether it wishes to be in the index is told by a header, also of answers that say that nothing has changed.
#[derive(Default)]
struct Wishes {
    noindex: AtomicBool,
    not_modified: AtomicUsize,
}

impl Wishes {
    fn answer(&self, request: &Request) -> Answer {
        if request.path() != "/" {
            return Answer::not_found();
        }
        let is_known = request.header("if-none-match") == Some("\"1\"");
        let answer = if is_known {
            self.not_modified.fetch_add(1, SeqCst);
            Answer::status(304)
        } else {
            Answer::html("<title>The only page</title>")
        };
        let answer = answer.with_header("etag", "\"1\"");
        if self.noindex.load(SeqCst) { answer.with_header("x-robots-tag", "noindex") } else { answer }
    }
}

#[test]
fn a_wish_that_comes_with_a_304_is_heard() {
    let wishes = Arc::new(Wishes::default());
    let site = wishes.clone();
    let server =
        WebServer::start_blocking(move |request: &Request| site.answer(request), ServerOptions::default())
            .unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut command = crawl(&server, "http://a.example/", data.path(), "1ms");
    command.args(["--set", "recrawl.policy=\"fixed\"", "--set", "recrawl.interval=\"50ms\""]);
    let _running = Running(command.stdout(Stdio::null()).spawn().unwrap());
    let asked = |query: &str| {
        let query = format!("ASK {{ {query} }}");
        let mut command = webloom();
        let output = command.args(["query", &query, "--data"]).arg(data.path()).output().unwrap();
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("true")
    };
    let is_indexed = || asked("?page <http://purl.org/dc/terms/title> ?title");
    let is_told = |outcome: &str| {
        asked(&format!(
            "GRAPH <urn:webloom:meta:http://a.example/> {{ ?page <urn:webloom:ns#outcome> \"{outcome}\" }}"
        ))
    };
    let until = |what: &str, done: &dyn Fn() -> bool| until(PATIENCE, what, || done().then_some(()));
    until("the page", &is_indexed);
    for _ in 0..2 {
        let before = wishes.not_modified.load(SeqCst);
        until("an answer that nothing has changed", &|| wishes.not_modified.load(SeqCst) > before);
        assert!(is_indexed() && is_told("indexed"));
        wishes.noindex.store(true, SeqCst);
        until("the page's leaving", &|| !is_indexed() && is_told("noindex"));
        // It stays away as long as it wishes, and comes back when it does not.
        std::thread::sleep(Duration::from_millis(300));
        assert!(!is_indexed() && is_told("noindex"));
        wishes.noindex.store(false, SeqCst);
        until("the page's coming back", &|| is_indexed() && is_told("indexed"));
    }
    let why = stdout_of(webloom().args(["why", "http://a.example/", "--data"]).arg(data.path()));
    assert!(why.contains("304"), "{why}");
}
