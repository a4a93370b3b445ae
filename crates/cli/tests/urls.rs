//! `webloom urls` and `webloom why`: before, during and after a crawl.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use support::{crawl, stderr, stdout_of, until, webloom};
use webloom_testkit::{Answer, ServerOptions, StaticWeb, WebServer};

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

fn why(data: &std::path::Path, url: &str) -> serde_json::Value {
    json(&stdout_of(webloom().args(["why", "--json", url, "--data"]).arg(data)))
}

/// Runs `webloom urls …` with a list on standard input.
fn urls(data: &std::path::Path, what: &str, list: &str) -> std::process::Output {
    let mut child = webloom()
        .args(["urls", what, "--json", "--data"])
        .arg(data)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn site() -> StaticWeb {
    StaticWeb::new()
        .html(
            "http://a.example/",
            r#"<title>Start</title><a href="/good">A good page</a> <a href="/gone">gone</a> <a href="/bad">bad</a>
               <a href="/logo.png">logo</a> <a href="/moved?utm_source=x">moved</a>"#,
        )
        .html("http://a.example/good", "<title>Good</title>")
        .html("http://a.example/bad", "<title>Bad</title>")
        .redirect("http://a.example/moved", "/good")
        .html("http://b.example/", "<title>Other</title>")
}

#[test]
fn the_life_of_a_url_is_told() {
    let server = WebServer::start_blocking(site(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    stdout_of(&mut crawl(&server, "http://a.example/", data.path(), "1ms"));
    let good = why(data.path(), "HTTP://A.example/good#part");
    assert_eq!(good["url"], "http://a.example/good");
    assert_eq!(good["life"]["stage"]["name"], "indexed");
    assert_eq!(good["life"]["found_on"], "http://a.example/");
    assert_eq!(good["life"]["anchor"], "A good page");
    assert_eq!(good["life"]["depth"], 1);
    assert_eq!(good["life"]["fetches"][0]["kind"], "indexed");
    assert_eq!(good["life"]["fetches"][0]["status"], 200);
    assert_eq!(good["life"]["queue"]["host"], "a.example");
    assert!(good["extracted"]["quads"]["http://a.example/good"].as_u64().unwrap() > 0);
    assert_eq!(good["extracted"]["metadata"]["outcome"], "indexed");
    // The site has no robots.txt; of others nobody asked.
    assert_eq!(good["robots"]["allowed"], true, "{good}");
    assert!(why(data.path(), "http://nobody.example/")["robots"].is_null());
    let gone = why(data.path(), "http://a.example/gone");
    assert_eq!(gone["life"]["stage"]["name"], "no-page");
    assert_eq!(gone["life"]["fetches"][0]["status"], 404);
    assert_eq!(why(data.path(), "http://a.example/moved")["extracted"]["metadata"]["outcome"], "redirect");
    let logo = why(data.path(), "http://a.example/logo.png");
    assert_eq!((&logo["known"], &logo["refusal"]), (&false.into(), &"extension".into()));
    assert_eq!(why(data.path(), "http://a.example/x/x/x/x/")["refusal"], "circles");

    let text = stdout_of(webloom().args(["why", "http://a.example/gone", "--data"]).arg(data.path()));
    assert!(text.contains("there is no page here"), "{text}");
    assert!(text.contains("on http://a.example/, one link from a seed"), "{text}");
    let text = stdout_of(webloom().args(["why", "http://nobody.example/", "--data"]).arg(data.path()));
    assert!(text.contains("never queued: nobody added it"), "{text}");
    let output = webloom().args(["why", "nonsense", "--data"]).arg(data.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let output = webloom().args(["why", "http://a.example/", "--data", "/nonexistent"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn urls_are_added_scored_and_banned_between_two_runs() {
    let server = WebServer::start_blocking(site(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    stdout_of(crawl(&server, "http://a.example/", data.path(), "1ms").args(["--max-pages", "1"]));
    let output = urls(data.path(), "ban", "http://a.example/bad\nads.example\n");
    assert_eq!(json(&String::from_utf8(output.stdout).unwrap())["banned"], 1);
    let output = urls(data.path(), "score", "http://a.example/good 0.9\nhttp://unknown.example/ 1\n");
    let report = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((&report["rescored"], &report["unknown"]), (&1.into(), &1.into()));
    let list =
        r#"[{"url": "http://b.example/", "score": 0.3}, {"url": "http://c.example/", "blacklisted": true}]"#;
    let report = json(&String::from_utf8(urls(data.path(), "add", list).stdout).unwrap());
    assert_eq!((&report["queued"], &report["banned"]), (&1.into(), &1.into()));
    for (what, list, code) in [
        ("add", "no url at all", 1),
        ("score", "http://a.example/good", 1),
        ("add", "[7]", 1),
        ("add", "[{\"url\": \"http://a.example/\"}", 2),
    ] {
        assert_eq!(urls(data.path(), what, list).status.code(), Some(code), "{what} {list}");
    }
    stdout_of(crawl(&server, "http://a.example/", data.path(), "1ms").args(["--max-pages", "100"]));
    let fetched = server.log().requests().urls();
    assert!(fetched.contains("http://b.example/") && fetched.contains("http://a.example/good"));
    assert!(!fetched.contains("http://a.example/bad"), "{fetched:?}");
    assert_eq!(why(data.path(), "http://a.example/bad")["life"]["stage"]["name"], "banned");
}

#[test]
fn a_running_crawl_takes_orders_and_answers() {
    // One page is slow, so that the crawl is still there when it is told.
    let web = site()
        .answer("http://a.example/gone", Answer::html("<title>Slow</title>").after(Duration::from_secs(4)));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut child = crawl(&server, "http://a.example/", data.path(), "300ms").spawn().unwrap();
    let log = server.log();
    until(Duration::from_secs(20), "the first page", || (log.count("http://a.example/") > 0).then_some(()));
    let report = urls(data.path(), "add", "http://b.example/ 1\n");
    assert!(report.status.success(), "{}", stderr(&report));
    assert_eq!(json(&String::from_utf8(report.stdout).unwrap())["queued"], 1);
    let life = why(data.path(), "http://b.example/");
    assert_eq!(life["known"], true, "{life}");
    assert!(child.wait().unwrap().success());
    assert_eq!(server.log().count("http://b.example/"), 1);
    assert_eq!(why(data.path(), "http://b.example/")["life"]["stage"]["name"], "indexed");
}

#[test]
fn of_a_list_what_is_right_is_taken_and_what_is_wrong_is_told() {
    let server = WebServer::start_blocking(site(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    stdout_of(crawl(&server, "http://a.example/", data.path(), "1ms").args(["--max-pages", "1"]));
    let known = |url: &str| why(data.path(), url)["known"] == true;

    let list = r#"[{"url": "http://new.example/1"}, {"url": "ftp://new.example/2"}, 3,
        {"url": "http://new.example/4", "score": 7}, {"score": 0.5}, {"url": "http://new.example/6", "score": 0.5}]"#;
    let output = urls(data.path(), "add", list);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&String::from_utf8(output.stdout.clone()).unwrap());
    assert_eq!((&report["queued"], &report["wrong"]), (&2.into(), &4.into()), "{report}");
    let numbers: Vec<_> =
        report["wrong_entries"].as_array().unwrap().iter().map(|one| &one["number"]).collect();
    assert_eq!(numbers, [2, 3, 4, 5]);
    let said = stderr(&output);
    assert!(said.contains("entry 2: ") && said.contains("cannot be crawled"), "{said}");
    assert!(said.contains("4 of 6 entries refused; the others were taken"), "{said}");
    assert!(known("http://new.example/1") && known("http://new.example/6"));

    // Of many only the first are told.
    let mut lines = String::from("http://new.example/7\nname.without.scheme\n");
    (0..20).for_each(|number| lines.push_str(&format!("nonsense/{number}\n")));
    lines.push_str("http://new.example/8 0.5\n");
    let output = urls(data.path(), "add", &lines);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("line 2: `name.without.scheme` is not a URL; write https://name.without.scheme/"),
        "{said}"
    );
    assert!(said.contains("line 11: ") && !said.contains("line 12: "), "{said}");
    assert!(said.contains("… and 11 more\n") && said.contains("21 of 23 lines refused"), "{said}");
    assert!(known("http://new.example/7") && known("http://new.example/8"));

    // What is no JSON changes nothing.
    let output = urls(data.path(), "add", "[{\"url\": \"http://new.example/9\"},\n  {\"url\": }]");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("line 2 column 11"), "{}", stderr(&output));
    assert!(!known("http://new.example/9"));
}
