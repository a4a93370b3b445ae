//! Seeds that fail, and seeds that lead elsewhere: what a crawl makes of them, and what it says.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use support::{stderr, stdout_of, until, webloom};
use webloom_testkit::{Answer, Fault, FaultRule, Faulty, Request, ServerOptions, StaticWeb, WebServer};

/// A crawl that says what happens, within the domains of its seeds unless told otherwise.
fn crawl(server: &WebServer, seeds: &[&str], data: &Path) -> Command {
    let mut command = webloom();
    command
        .arg("crawl")
        .args(seeds)
        .args(["--allow-private", "--delay", "1ms", "--resolve", &server.resolve_rule()])
        .args(["--set", "politeness.retry_pause=10ms", "--set", "fetch.attempts_max=2"])
        .arg("--data")
        .arg(data);
    command
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?} failed:\n{}", stderr(&output));
    output
}

fn why(data: &Path, url: &str) -> serde_json::Value {
    let text = stdout_of(webloom().args(["why", "--json", url, "--data"]).arg(data));
    serde_json::from_str(&text).unwrap()
}

fn stage(data: &Path, url: &str) -> String {
    why(data, url)["life"]["stage"]["name"].as_str().unwrap_or("unknown").to_owned()
}

const FAILING: [&str; 6] = [
    "http://gone.example/",
    "http://broken.example/",
    "http://closed.example/",
    "http://silent.example/",
    "http://round.example/",
    "http://moved.example/",
];
const FINE: [&str; 2] = ["http://fine.example/", "http://redirected.example/"];

/// A web where much goes wrong at first and nothing later.
fn mended_web() -> impl Fn(&Request) -> Answer + Send + Sync + 'static {
    |request: &Request| {
        let first = request.number == 0;
        match request.url().as_str() {
            "http://gone.example/" if first => Answer::not_found(),
            // A request over a connection that breaks is made once more.
            "http://broken.example/" if request.number < 4 => Answer::hang_up(),
            "http://closed.example/robots.txt" if first => Answer::text("User-agent: *\nDisallow: /\n"),
            "http://silent.example/robots.txt" if first => Answer::status(503),
            "http://round.example/" => Answer::redirect(302, "/there"),
            "http://round.example/there" if first => Answer::redirect(302, "/"),
            "http://moved.example/" => Answer::redirect(301, "/new"),
            "http://moved.example/new" if first => Answer::status(410),
            "http://redirected.example/" => Answer::redirect(301, "/home"),
            url if url.ends_with("/robots.txt") => Answer::not_found(),
            url => Answer::html(format!("<title>{url}</title>")),
        }
    }
}

#[test]
fn seeds_that_failed_are_tried_again_when_they_are_named_again() {
    let server = WebServer::start_blocking(mended_web(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let seeds: Vec<&str> = FAILING.into_iter().chain(FINE).collect();
    let first = stderr(&run(&mut crawl(&server, &seeds, data.path())));
    assert!(first.starts_with("complete: 2 pages"), "{first}");
    assert!(!first.contains("failed before"), "{first}");
    for seed in FAILING {
        assert_eq!(stage(data.path(), seed), "no-page", "{seed}");
    }

    server.log().mark("again");
    let again = stderr(&run(&mut crawl(&server, &seeds, data.path())));
    assert!(again.contains("6 seeds failed before and are tried again\n"), "{again}");
    assert!(again.contains("complete: 8 pages"), "{again}");
    let asked = server.log().section("again").urls();
    for page in FINE.iter().chain(&["http://redirected.example/home"]) {
        assert!(!asked.contains(*page), "{page} was fine: {asked:?}");
    }
    for page in ["http://gone.example/", "http://round.example/there", "http://moved.example/new"] {
        assert_eq!(stage(data.path(), page), "indexed", "{page}");
    }

    // All is well now, so the same command has nothing to do.
    let requests = server.log().totals().requests;
    let third = stderr(&run(&mut crawl(&server, &seeds, data.path())));
    assert!(!third.contains("failed before"), "{third}");
    assert_eq!(server.log().totals().requests, requests);
}

#[test]
fn a_seed_that_fails_is_tried_once_in_a_run_and_never_when_it_is_banned() {
    let server = WebServer::start_blocking(StaticWeb::new(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let (seed, other) = ("http://a.example/", "http://b.example/");
    run(&mut crawl(&server, &[seed, other], data.path()));
    // The specification that was kept names it, too.
    let said = stderr(&run(&mut crawl(&server, &[], data.path())));
    assert!(said.contains("2 seeds failed before and are tried again\n"), "{said}");
    assert_eq!((server.log().count(seed), server.log().count(other)), (2, 2));
    let list = data.path().join("list");
    std::fs::write(&list, "http://a.example/\nb.example\n").unwrap();
    stdout_of(webloom().args(["urls", "ban"]).arg(&list).arg("--data").arg(data.path()));
    let said = stderr(&run(&mut crawl(&server, &[seed, other], data.path())));
    assert!(!said.contains("tried again"), "{said}");
    assert_eq!((server.log().count(seed), server.log().count(other)), (2, 2));
}

#[test]
fn what_failed_is_tried_again_when_it_is_added_again() {
    let web = StaticWeb::new()
        .html("http://a.example/", "<a href=/late>late</a> <a href=/moved>moved</a>")
        .html("http://a.example/late", "<title>Late</title>")
        .redirect("http://a.example/moved", "/target")
        .html("http://a.example/target", "<title>Target</title>");
    let web = Faulty::new(web)
        .rule(FaultRule::url("http://a.example/late", Fault::Status(404)).first(1))
        .rule(FaultRule::url("http://a.example/target", Fault::Status(404)).first(1));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    run(&mut crawl(&server, &["http://a.example/"], data.path()));
    let list = data.path().join("list");
    std::fs::write(&list, "http://a.example/\nhttp://a.example/late 0.5\nhttp://a.example/moved\n").unwrap();
    let add = || stdout_of(webloom().args(["urls", "add"]).arg(&list).arg("--data").arg(data.path()));
    assert_eq!(add(), "1 known, 2 tried again\n");
    assert_eq!(add(), "2 known, 1 rescored\n");
    run(&mut crawl(&server, &[], data.path()));
    assert_eq!(stage(data.path(), "http://a.example/late"), "indexed");
    assert_eq!(stage(data.path(), "http://a.example/target"), "indexed");
    assert_eq!(server.log().count("http://a.example/"), 1);
    assert_eq!(add(), "3 known\n");
}

const OLD: &str = "http://old.example/";
const NEW: &str = "http://www.new.example/";
const LEADS: &str = "seed http://old.example/ leads to http://www.new.example/: ";

/// A site that has moved, by way of a third one.
fn moved_web() -> StaticWeb {
    StaticWeb::new()
        .redirect(OLD, "http://hop.example/")
        .redirect("http://hop.example/", NEW)
        .html("http://hop.example/more", "<title>More</title>")
        .robots("http://www.new.example", "Sitemap: http://www.new.example/map.xml")
        .page(
            "http://www.new.example/map.xml",
            "application/xml",
            "<urlset><url><loc>http://www.new.example/listed</loc></url></urlset>",
        )
        .html("http://www.new.example/listed", "<title>Listed</title>")
        .html(
            NEW,
            r#"<title>New</title><a href="/a">a</a> <a href="http://docs.new.example/b">b</a>
               <a href="http://other.example/">other</a> <a href="http://hop.example/more">more</a>"#,
        )
        .html("http://www.new.example/a", r#"<title>A</title><a href="/c">c</a>"#)
        .html("http://www.new.example/c", "<title>C</title>")
        .html("http://docs.new.example/b", "<title>B</title>")
        .html("http://other.example/", "<title>Other</title>")
}

/// What was asked for in the part of the log that the name marks, robots files left out.
fn asked(server: &WebServer, section: &str) -> BTreeSet<String> {
    server.log().section(section).urls().into_iter().filter(|url| !url.ends_with("/robots.txt")).collect()
}

fn set(urls: &[&str]) -> BTreeSet<String> {
    urls.iter().map(|url| (*url).to_owned()).collect()
}

#[test]
fn a_seed_that_leads_to_another_site_takes_the_crawl_there() {
    let server = WebServer::start_blocking(moved_web(), ServerOptions::default()).unwrap();
    let site = [
        OLD,
        "http://hop.example/",
        NEW,
        "http://www.new.example/a",
        "http://www.new.example/c",
        "http://www.new.example/listed",
        "http://www.new.example/map.xml",
    ];
    for (within, name) in [("domains", "new.example"), ("hosts", "www.new.example")] {
        server.log().mark(within);
        let data = tempfile::tempdir().unwrap();
        let output = run(crawl(&server, &[OLD], data.path()).args(["--within", within]));
        let mut expected = set(&site);
        if within == "domains" {
            expected.insert("http://docs.new.example/b".to_owned());
        }
        assert_eq!(asked(&server, within), expected, "{within}");
        let said = stderr(&output);
        assert_eq!(said.matches(&format!("{LEADS}{name} is crawled, too\n")).count(), 1, "{said}");
        // It is known afterwards, too, and not said again.
        let life = why(data.path(), "http://www.new.example/a");
        assert_eq!((&life["refusal"], &life["joined"]["seed"]), (&().into(), &OLD.into()), "{life}");
        assert_eq!(life["joined"]["target"], NEW, "{life}");
        let other = why(data.path(), "http://other.example/");
        assert_eq!(other["refusal"], within.trim_end_matches('s'), "{other}");
        let text = stdout_of(webloom().args(["why", NEW, "--data"]).arg(data.path()));
        assert!(text.contains("links here are followed: seed http://old.example/ leads to"), "{text}");
        let again = stderr(&run(&mut crawl(&server, &[], data.path())));
        assert!(!again.contains("leads to") && !again.contains("failed before"), "{again}");
    }
}

#[test]
fn where_a_seed_leads_for_now_only_the_page_is_fetched() {
    for (status, hop) in [(302, OLD), (303, OLD), (307, "http://hop.example/")] {
        let next = if hop == OLD { "http://hop.example/" } else { NEW };
        let web = moved_web().answer(hop, Answer::redirect(status, next));
        let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
        let data = tempfile::tempdir().unwrap();
        let said = stderr(&run(&mut crawl(&server, &[OLD], data.path())));
        let expected = format!(
            "seed {OLD} leads to {NEW}, but not for good ({status} at {hop}): only that page is fetched; \
             name it as a seed to crawl new.example\n"
        );
        assert!(said.contains(&expected), "{said}");
        assert_eq!(stage(data.path(), NEW), "indexed");
        server.log().mark("again");
        // Its sitemaps are as little of the crawl as its links.
        for url in ["http://www.new.example/a", "http://www.new.example/map.xml"] {
            assert_eq!(server.log().count(url), 0, "{url}");
        }
        run(&mut crawl(&server, &[], data.path()));
        assert_eq!(asked(&server, "again"), set(&[]));
        run(&mut crawl(&server, &[NEW], data.path()));
        assert_eq!(
            server.log().count("http://www.new.example/a"),
            1,
            "named as a seed, its links are followed"
        );
    }
}

#[test]
fn a_seed_that_was_redirected_is_judged_by_the_rules_of_today() {
    let web = moved_web().answer(NEW, Answer::status(503));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    run(&mut crawl(&server, &[OLD], data.path()));
    assert_eq!(stage(data.path(), NEW), "no-page");
    let asked_before = server.log().count(NEW);
    run(crawl(&server, &[OLD], data.path()).args(["--exclude", "new\\.example"]));
    assert_eq!(server.log().count(NEW), asked_before);
}

#[test]
fn a_site_that_joined_is_crawled_on_after_a_kill() {
    let web = moved_web().answer(
        "http://www.new.example/a",
        Answer::html(r#"<title>A</title><a href="/c">c</a>"#).after(Duration::from_secs(2)),
    );
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut child = crawl(&server, &[OLD], data.path()).stderr(Stdio::null()).spawn().unwrap();
    until(Duration::from_secs(20), "the page that is slow", || {
        (server.log().count("http://www.new.example/a") > 0).then_some(())
    });
    // What came before the slow page is durable.
    std::thread::sleep(Duration::from_millis(800));
    child.kill().unwrap();
    child.wait().unwrap();
    server.log().mark("resumed");
    let said = stderr(&run(&mut crawl(&server, &[], data.path())));
    assert!(!said.contains("leads to"), "{said}");
    assert!(asked(&server, "resumed").contains("http://www.new.example/c"), "{said}");
    assert_eq!(stage(data.path(), "http://www.new.example/c"), "indexed");
    assert_eq!(server.log().count("http://other.example/"), 0);
}

#[test]
fn where_a_seed_leads_is_refused_by_filters_and_by_a_setting_and_the_reason_is_told() {
    let server = WebServer::start_blocking(moved_web(), ServerOptions::default()).unwrap();
    for (arguments, reason) in [
        (
            &["--set", "scope.follow_seed_redirects=false"][..],
            "redirects to http://hop.example/, which is out of scope: domain",
        ),
        (
            &["--exclude", "new\\.example"],
            "redirects to http://www.new.example/, which is out of scope: excluded",
        ),
    ] {
        server.log().mark(reason);
        let data = tempfile::tempdir().unwrap();
        let output = run(crawl(&server, &[OLD], data.path()).args(arguments));
        let said = stderr(&output);
        assert!(said.contains(&format!("  {OLD}: {reason}\n")), "{said}");
        assert!(!said.contains("is crawled, too"), "{said}");
        assert!(!asked(&server, reason).contains(NEW), "{arguments:?}");
    }
}

#[test]
fn a_page_that_refreshes_to_another_site_counts_as_a_redirect_of_its_seed() {
    let refresh =
        r#"<meta http-equiv="refresh" content="0; url=http://www.new.example/"><title>We have moved</title>"#;
    let web = moved_web().html(OLD, refresh);
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let said = stderr(&run(&mut crawl(&server, &[OLD], data.path())));
    assert!(said.contains(&format!("{LEADS}new.example is crawled, too\n")), "{said}");
    assert_eq!(stage(data.path(), "http://docs.new.example/b"), "indexed");
    let life = why(data.path(), NEW);
    assert_eq!((&life["life"]["depth"], &life["life"]["redirects"][0]), (&0.into(), &OLD.into()), "{life}");
}

#[test]
fn a_crawl_without_a_page_says_why_for_each_seed() {
    let web = StaticWeb::new()
        .html("http://fine.example/", "<title>Fine</title>")
        .robots("http://closed.example", "User-agent: *\nDisallow: /")
        .redirect("http://moved.example/", "/gone")
        .answer("http://moved.example/gone", Answer::status(410))
        .redirect("http://round.example/", "/a")
        .redirect("http://round.example/a", "/");
    let web = Faulty::new(web).rule(FaultRule::url("http://busy.example/", Fault::Status(503)));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut seeds = vec![
        "http://gone.example/",
        "http://closed.example/",
        "http://moved.example/",
        "http://round.example/",
        "http://busy.example/",
        "http://dead.example/",
    ];
    let mut command = crawl(&server, &seeds, data.path());
    // Nobody listens there.
    let rules = format!("fetch.resolve=[\"dead.example=127.0.0.1:1\", {:?}]", server.resolve_rule());
    command.args(["--set", &rules]);
    let said = stderr(&run(&mut command));
    let expected = [
        "http://gone.example/: answered 404\n",
        "http://closed.example/: robots.txt forbids it\n",
        "http://moved.example/: redirects to http://moved.example/gone, and there: answered 410\n",
        "http://round.example/: redirects to http://round.example/a, and there: redirect not followed: it goes round",
        "http://busy.example/: given up: answered 503\n",
        "http://dead.example/: robots.txt is unreachable: cannot connect to `dead.example`",
    ];
    for line in expected {
        assert!(said.contains(&format!("  {line}")), "{line} is not in:\n{said}");
    }
    // Of many seeds only the first are told.
    let more: Vec<String> = (0..20).map(|number| format!("http://gone.example/{number}")).collect();
    seeds.extend(more.iter().map(String::as_str));
    let output = run(crawl(&server, &seeds, data.path()).args(["--json", "--quiet"]));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["seeds_without_page"][0]["seed"], "http://gone.example/", "{report}");
    assert_eq!(report["seeds_without_page"][0]["reason"], "answered 404", "{report}");
    assert_eq!(report["seeds_without_page"].as_array().unwrap().len(), 10, "{report}");
    let said = stderr(&run(&mut crawl(&server, &[], data.path())));
    assert!(said.contains("  … and 16 more\n"), "{said}");
    // With pages, it is told of the others all the same.
    let data = tempfile::tempdir().unwrap();
    let said =
        stderr(&run(&mut crawl(&server, &["http://fine.example/", "http://gone.example/"], data.path())));
    assert!(
        said.contains("complete: 1 pages") && said.contains("no page came of these seeds:\n  http://gone"),
        "{said}"
    );
}
