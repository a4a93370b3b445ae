//! `webloom robots`: verdicts of a file, of standard input and of a site, a line each.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::Write;

use support::{stderr, stdout_of, webloom};
use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

const ROBOTS: &str =
    "User-agent: *\nDisallow: /private\nAllow: /private/open\n\nUser-agent: rude\nDisallow: /\n";

#[test]
fn a_file_is_judged_line_by_line() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(ROBOTS.as_bytes()).unwrap();
    let path = file.path().to_str().unwrap();
    let urls =
        ["--url", "https://a.example/private/x", "--url", "https://a.example/private/open", "--url", ""];
    let printed =
        "disallowed\thttps://a.example/private/x\nallowed\thttps://a.example/private/open\nallowed\t\n";
    let before = [&["robots", path, "--agent", "webloom"][..], &urls].concat();
    assert_eq!(stdout_of(webloom().args(before)), printed);
    // In other orders and shorter.
    assert_eq!(
        stdout_of(webloom().args([&["robots", "--agent", "webloom"][..], &urls, &[path]].concat())),
        printed
    );
    let explained = ["robots", path, "--agent", "RUDE", "--explain", "--url", "/", "/private/open"];
    assert_eq!(stdout_of(webloom().args(explained)), "disallowed\t/\t6\ndisallowed\t/private/open\t6\n");
    let json = ["robots", path, "--agent", "", "--json", "--url", "/private"];
    assert_eq!(stdout_of(webloom().args(json)), "{\"allowed\":false,\"line\":2,\"url\":\"/private\"}\n");
}

#[test]
fn a_site_is_asked_and_its_redirects_followed() {
    let site = |request: &Request| match (request.host.as_str(), request.path()) {
        ("moved.example", "/robots.txt") => Answer::redirect(301, "http://a.example/robots.txt"),
        ("a.example", "/robots.txt") => Answer::text(ROBOTS),
        ("busy.example", "/robots.txt") => Answer::busy(None),
        _ => Answer::not_found(),
    };
    let server = WebServer::start_blocking(site, ServerOptions::default()).unwrap();
    let rule = server.resolve_rule();
    let ask = |site: &str| {
        let fixed = ["--allow-private", "--resolve", &rule, "--agent", "rude", "--url", "/x"];
        webloom().arg("robots").arg(site).args(fixed).output().unwrap()
    };
    for (site, verdict) in [
        ("http://a.example/some/page", "disallowed\t/x\n"),
        ("http://moved.example", "disallowed\t/x\n"),
        ("http://missing.example/", "allowed\t/x\n"),
    ] {
        let output = ask(site);
        assert_eq!(String::from_utf8_lossy(&output.stdout), verdict, "{site}: {}", stderr(&output));
    }
    let output = ask("http://busy.example/");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("nothing may be fetched"), "{}", stderr(&output));
}

#[test]
fn wrong_usage_is_told() {
    let output = webloom().args(["robots", "--agent", "x", "--url", "/a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let output = webloom().args(["robots", "/nowhere/robots.txt", "--url", "/a"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("/nowhere/robots.txt"), "{}", stderr(&output));
}
