//! Whole crawls through the command, of webs that are well and webs that are not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashSet;
use std::process::Stdio;
use std::time::Duration;

use support::{crawl, crawl_within, send, stable_dump, stderr, stdout_of, until, webloom};
use webloom_testkit::{
    Answer, Fault, FaultRule, Faulty, GeneratedWeb, Request, ServerOptions, StaticWeb, WebServer, WebShape,
};

#[test]
fn a_generated_web_is_crawled_whole_and_politely() {
    let web = GeneratedWeb::new(WebShape { seed: 3, hosts: 60, pages: 1500, ..WebShape::default() });
    let server = WebServer::start_blocking(web.clone(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let delay = Duration::from_millis(20);
    let json = stdout_of(crawl(&server, &web.seed_url(), data.path(), "20ms").arg("--json"));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();

    let expected = web.expected();
    assert_eq!(report["end"], "complete");
    assert_eq!(report["pages"], expected.pages);
    let log = server.log();
    assert_eq!(log.fetched_more_than_once(), []);
    let fetched = log.requests().urls();
    for url in web.expected_urls() {
        assert!(fetched.contains(&url), "{url} was not fetched");
    }
    let offences: Vec<String> = log
        .hurried(delay, delay, Duration::from_millis(2))
        .into_iter()
        .chain(log.overlapping())
        .chain(log.robots_violations())
        .map(|violation| violation.to_string())
        .take(5)
        .collect();
    assert!(offences.is_empty(), "{offences:#?}");

    // What is done is done: the same command again fetches nothing, and leaves the graph as it is.
    let before = stable_dump(data.path());
    let requests = log.totals().requests;
    stdout_of(crawl(&server, &web.seed_url(), data.path(), "20ms").arg("--json"));
    assert_eq!(log.totals().requests, requests);
    assert_eq!(stable_dump(data.path()), before);
}

#[test]
fn broken_pages_leave_diagnostics_and_the_rest_of_the_web_is_crawled() {
    let nest = format!("<title>Deep</title>{}bottom", "<div>".repeat(100_000));
    let web = StaticWeb::new()
        .html(
            "http://a.example/",
            r#"<title>Start</title> <a href="/gzip">1</a> <a href="/deep">2</a> <a href="/utf8">3</a> <a href="/empty">4</a>
               <a href="/json">5</a> <a href="/loop">6</a> <a href="/hang">7</a> <a href="/garbage">8</a> <a href="/huge">9</a>
               <a href="/gone">10</a> <a href="/busy">11</a> <a href="/good">12</a> <a href="http://10.0.0.1/">private</a>"#,
        )
        .answer("http://a.example/gzip", Answer::html(format!("<title>Cut</title>{}", "word ".repeat(5000))).gzip_keeping(60))
        .html("http://a.example/deep", nest)
        .html("http://a.example/utf8", b"<title>caf\xe9 \xff\xfe</title>".to_vec())
        .html("http://a.example/empty", "")
        .html(
            "http://a.example/json",
            r#"<title>Json</title><script type="application/ld+json">{"@context": {</script>
               <script type="application/ld+json">{"@id": "http://a.example/x", "http://a.example/p": "kept"}</script>"#,
        )
        .redirect("http://a.example/loop", "/loop2")
        .redirect("http://a.example/loop2", "/loop")
        .answer("http://a.example/hang", Answer::hang_up())
        .answer("http://a.example/garbage", Answer::raw("this is not HTTP\r\n\r\n"))
        .answer("http://a.example/huge", Answer::endless("text/html", "<p>more ", 2 << 30))
        .html("http://a.example/good", "<title>Good</title>");
    let web = Faulty::new(web).rule(FaultRule::url("http://a.example/busy", Fault::Busy(None)));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    stdout_of(
        crawl(&server, "http://a.example/", data.path(), "1ms")
            .args(["--set", "politeness.retry_pause=20ms", "--set", "fetch.attempts_max=3"])
            .args(["--set", "fetch.body_bytes_max=1 MiB"]),
    );

    let query = "PREFIX wl: <urn:webloom:ns#>
        SELECT ?page ?outcome ?code { GRAPH ?meta { ?page wl:outcome ?outcome
            OPTIONAL { ?page wl:code ?reason } OPTIONAL { ?page wl:diagnostic/wl:code ?found } } BIND(COALESCE(?reason, ?found, '') AS ?code) }
        ORDER BY ?page ?code";
    let table = stdout_of(webloom().args(["query", query, "--results", "csv", "--data"]).arg(data.path()));
    let rows: Vec<&str> = table.lines().map(str::trim).collect();
    for expected in [
        "http://a.example/,indexed,",
        "http://a.example/gzip,indexed,broken-compression",
        "http://a.example/deep,indexed,html-too-deep",
        "http://a.example/utf8,indexed,invalid-encoding",
        "http://a.example/json,indexed,json-ld",
        "http://a.example/loop,redirect,",
        "http://a.example/loop2,no-page,bad-redirect",
        "http://a.example/hang,failed,",
        "http://a.example/garbage,failed,protocol",
        "http://a.example/huge,indexed,body-cut",
        "http://a.example/gone,no-page,status",
        "http://a.example/busy,failed,busy",
        "http://a.example/good,indexed,",
    ] {
        assert!(
            rows.iter().any(|row| row.starts_with(expected)),
            "no row begins with {expected} in:\n{table}"
        );
    }
    let kept = "ASK { <http://a.example/x> <http://a.example/p> 'kept' }";
    assert_eq!(stdout_of(webloom().args(["query", kept, "--data"]).arg(data.path())), "true\n");
    assert_eq!(server.log().count("http://a.example/busy"), 3);
}

#[test]
fn private_addresses_are_refused_unless_allowed() {
    let web = StaticWeb::new().html("http://a.example/", "<title>Private</title>");
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut command = webloom();
    command
        .args([
            "crawl",
            "http://a.example/",
            "--json",
            "--quiet",
            "--resolve",
            &server.resolve_rule(),
            "--data",
        ])
        .arg(data.path());
    let report: serde_json::Value = serde_json::from_str(&stdout_of(&mut command)).unwrap();
    assert_eq!(report["run"]["no_page"]["private-address"], 1);
    assert_eq!(server.log().totals().requests, 0);
}

#[test]
fn one_interrupt_finishes_the_pages_under_way_and_the_crawl_can_be_resumed() {
    let web = GeneratedWeb::new(WebShape { seed: 9, hosts: 20, pages: 600, ..WebShape::default() });
    let server = WebServer::start_blocking(web.clone(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut child = crawl(&server, &web.seed_url(), data.path(), "100ms").spawn().unwrap();
    assert!(server.log().wait_for_requests(150, Duration::from_secs(30)));
    interrupt(child.id());
    assert!(until(Duration::from_secs(20), "the crawl ends", || child.try_wait().unwrap()).success());
    // Nothing was under way any more when it ended, so nothing is fetched again.
    let mut resume = webloom();
    resume.args(["crawl", "--quiet", "--json", "--data"]).arg(data.path());
    let report: serde_json::Value = serde_json::from_str(&stdout_of(&mut resume)).unwrap();
    assert_eq!(report["end"], "complete");
    assert_eq!(report["pages"], web.expected().pages);
    assert_eq!(server.log().fetched_more_than_once(), []);
}

#[test]
fn two_interrupts_stop_at_once() {
    let web =
        StaticWeb::new().answer("http://a.example/", Answer::html("late").after(Duration::from_secs(60)));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut child = crawl(&server, "http://a.example/", data.path(), "1ms").spawn().unwrap();
    // robots.txt first, then the page that hangs.
    assert!(server.log().wait_for_requests(2, Duration::from_secs(10)));
    interrupt(child.id());
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "the first interrupt must wait for the page");
    interrupt(child.id());
    until(Duration::from_secs(5), "the crawl ends", || child.try_wait().unwrap());
}

/// A page that takes a while, and links to another.
fn slow_web(pause: Duration) -> StaticWeb {
    let slow = Answer::html(r#"<title>Slow</title><a href="/next">next</a>"#).after(pause);
    StaticWeb::new().answer("http://a.example/", slow).html("http://a.example/next", "<title>Next</title>")
}

#[test]
fn every_signal_to_end_finishes_the_pages_under_way_and_sums_up() {
    for signal in ["TERM", "HUP", "INT"] {
        let server =
            WebServer::start_blocking(slow_web(Duration::from_secs(2)), ServerOptions::default()).unwrap();
        let data = tempfile::tempdir().unwrap();
        let mut command = crawl(&server, "http://a.example/", data.path(), "1ms");
        command.args(["--set", "politeness.slow_factor=0"]);
        let child = command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        assert!(server.log().wait_for_requests(2, Duration::from_secs(20)), "{signal}");
        send(child.id(), signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{signal}: {:?}", output.status);
        assert!(stderr(&output).contains("finishing the pages under way"), "{signal}: {}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["end"], &report["pages"]), (&"stopped".into(), &1.into()), "{signal}: {report}");
        assert_eq!(report["queued"], 1, "{signal}: {report}");
        // Nothing was under way any more, so nothing is fetched again.
        stdout_of(webloom().args(["crawl", "--quiet", "--data"]).arg(data.path()));
        assert_eq!(server.log().fetched_more_than_once(), [], "{signal}");
        assert_eq!(server.log().count("http://a.example/next"), 1, "{signal}");
    }
}

#[test]
fn a_second_signal_of_either_kind_stops_at_once() {
    for [first, second] in [["TERM", "TERM"], ["INT", "TERM"], ["TERM", "INT"], ["HUP", "TERM"]] {
        let server =
            WebServer::start_blocking(slow_web(Duration::from_secs(60)), ServerOptions::default()).unwrap();
        let data = tempfile::tempdir().unwrap();
        let mut child = crawl(&server, "http://a.example/", data.path(), "1ms").spawn().unwrap();
        assert!(server.log().wait_for_requests(2, Duration::from_secs(20)));
        send(child.id(), first);
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "{first} must wait for the page");
        send(child.id(), second);
        let ended = until(Duration::from_secs(10), "the end", || child.try_wait().unwrap());
        assert_eq!(ended.code(), Some(0), "{first} {second}: {ended:?}");
    }
}

#[test]
fn a_crawl_whose_terminal_is_gone_ends_well_though_nobody_hears_it() {
    let server =
        WebServer::start_blocking(slow_web(Duration::from_secs(2)), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut command = webloom();
    command.args(["crawl", "http://a.example/", "--allow-private", "--delay", "1ms"]);
    command.args(["--set", "politeness.slow_factor=0"]);
    command.args(["--resolve", &server.resolve_rule(), "--data"]).arg(data.path());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    assert!(server.log().wait_for_requests(2, Duration::from_secs(20)));
    // What is written to stderr fails from here on.
    drop(child.stderr.take());
    send(child.id(), "HUP");
    let ended = until(Duration::from_secs(20), "the end", || child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0), "{ended:?}");
    assert_eq!(server.log().count("http://a.example/next"), 0, "it was told to stop");
    stdout_of(webloom().args(["crawl", "--quiet", "--data"]).arg(data.path()));
    assert_eq!(server.log().fetched_more_than_once(), [], "the page under way was finished");
}

#[test]
fn a_crawl_that_is_to_outlive_its_terminal_does() {
    let server =
        WebServer::start_blocking(slow_web(Duration::from_secs(1)), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let command = crawl(&server, "http://a.example/", data.path(), "1ms");
    // As `nohup` does.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(command.get_program()).args(command.get_args());
    let mut child = shell.stdin(Stdio::null()).spawn().unwrap();
    assert!(server.log().wait_for_requests(2, Duration::from_secs(20)));
    send(child.id(), "HUP");
    assert!(child.wait().unwrap().success());
    assert_eq!(server.log().count("http://a.example/next"), 1);
}

fn interrupt(process: u32) {
    send(process, "INT");
}

#[test]
fn budgets_and_scope_are_kept() {
    let web = GeneratedWeb::new(WebShape { seed: 5, hosts: 30, pages: 900, ..WebShape::default() });
    let server = WebServer::start_blocking(web.clone(), ServerOptions::default()).unwrap();
    let report = |within: &str, arguments: &[&str]| -> serde_json::Value {
        let data = tempfile::tempdir().unwrap();
        let mut command = crawl_within(within, &server, &web.seed_url(), data.path(), "1ms");
        serde_json::from_str(&stdout_of(command.arg("--json").args(arguments))).unwrap()
    };
    let limited = report("anywhere", &["--max-pages", "37"]);
    assert_eq!((&limited["end"], &limited["pages"]), (&"budget spent".into(), &37.into()));

    let near = report("anywhere", &["--max-depth", "1"]);
    let far = report("anywhere", &["--max-depth", "2"]);
    assert!(near["pages"].as_u64() < far["pages"].as_u64(), "{near} {far}");

    server.log().mark("one host");
    report("hosts", &[]);
    let hosts: HashSet<String> =
        server.log().section("one host").all().iter().map(|request| request.host.to_string()).collect();
    assert_eq!(hosts.len(), 1, "{hosts:?}");
}

#[test]
fn a_larger_depth_later_finds_what_was_beyond_the_smaller() {
    // The server knows its pages again, and would rather not send them twice.
    let site = |request: &Request| {
        if request.header("if-none-match").is_some() {
            return Answer::status(304);
        }
        let page = |links: &str| Answer::html(format!("<title>{}</title>{links}", request.path()));
        match request.path() {
            "/" => page("<a href=/1>1</a> <a href=/leaf>leaf</a>").with_header("etag", "\"0\""),
            "/1" => page("<a href=/2>2</a>").with_header("etag", "\"1\""),
            "/2" => page("<a href=/3>3</a>").with_header("etag", "\"2\""),
            "/3" => page("<a href=/4>4</a>"),
            "/4" | "/leaf" | "/late" => page(""),
            "/map.xml" => {
                Answer::new("application/xml", "<urlset><url><loc>http://a.example/late</loc></url></urlset>")
            }
            "/robots.txt" => Answer::text("Sitemap: http://a.example/map.xml"),
            _ => Answer::not_found(),
        }
    };
    let server = WebServer::start_blocking(site, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let depth = |depth: &str| {
        let before = server.log().requests().len();
        let mut command = webloom();
        command.args(["crawl", "http://a.example/", "--allow-private", "--delay", "1ms"]);
        command.args(["--max-depth", depth, "--resolve", &server.resolve_rule(), "--data"]).arg(data.path());
        let output = command.output().unwrap();
        let requests = server.log().requests();
        let asked = requests.all()[before..].iter().filter(|request| !request.is_robots());
        let mut asked: Vec<String> = asked.map(|request| request.path_and_query.to_string()).collect();
        asked.sort();
        (asked.join(" "), stderr(&output))
    };
    assert_eq!(depth("0").0, "/");
    let (asked, said) = depth("1");
    assert_eq!(asked, "/ /1 /leaf /map.xml", "{said}");
    let line = "links are followed to depth 1 now, before to 0: 1 page is visited again for its links\n";
    assert!(said.contains(line), "{said}");
    let (asked, said) = depth("3");
    assert_eq!(asked, "/1 /2 /3 /late /leaf /map.xml", "{said}");
    let line = "links are followed to depth 3 now, before to 1: 3 pages are visited again for their links\n";
    assert!(said.contains(line), "{said}");
    assert!(said.contains("complete: 7 pages"), "{said}");
    for no_larger in ["3", "2"] {
        let (asked, said) = depth(no_larger);
        assert_eq!(asked, "", "{no_larger}: {said}");
        assert!(!said.contains("visited again"), "{said}");
    }
    // What was read while it was smaller might have lost links.
    assert_eq!(depth("3").0, "/2 /late");
    let (asked, said) = depth("9");
    assert_eq!(asked, "/3 /4", "{said}");
    assert!(said.contains("complete: 8 pages"), "{said}");
}

#[test]
fn a_slow_host_does_not_slow_the_others() {
    let web = GeneratedWeb::new(WebShape { seed: 11, hosts: 30, pages: 600, ..WebShape::default() });
    let slow = web.host_name(7);
    let faulty = Faulty::new(web.clone()).rule(FaultRule::host(&slow, Fault::Slow(Duration::from_secs(10))));
    let server = WebServer::start_blocking(faulty, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut child = crawl(&server, &web.seed_url(), data.path(), "1ms").spawn().unwrap();
    // All pages of the other hosts that can be reached without the slow one come long before it has said much.
    let others = until(Duration::from_secs(25), "the other hosts are done", || {
        let requests = server.log().requests();
        let others = requests.all().iter().filter(|request| *request.host != *slow).count();
        let quiet = requests
            .all()
            .iter()
            .filter(|request| *request.host != *slow)
            .map(|request| request.started)
            .max()?;
        (others > 100 && quiet.elapsed() > Duration::from_secs(2)).then_some(others)
    });
    let slow_requests = server.log().requests().all().iter().filter(|request| *request.host == *slow).count();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(others > 400, "only {others} requests to the other hosts");
    assert!(slow_requests <= 4, "{slow_requests} requests to a host that takes ten seconds");
}

#[test]
fn wrong_specifications_name_every_problem_and_exit_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let spec = folder.path().join("crawl.toml");
    std::fs::write(&spec, "seeds = [\"nowhere\"]\n[scope]\nmax_page = 3\nwithin = \"mars\"\n").unwrap();
    let output = webloom()
        .args(["crawl", "--spec"])
        .arg(&spec)
        .arg("--data")
        .arg(folder.path().join("data"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    for part in
        ["`seeds`", "`scope.max_page`", "did you mean `scope.max_pages`?", "`scope.within`", "\"anywhere\""]
    {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
    let output = webloom().args(["crawl", "--data"]).arg(folder.path().join("none")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("nowhere to start"));
    let forgotten = folder.path().join("forgotten.toml");
    std::fs::write(&forgotten, "seeds = [\"http://a.example/\"]").unwrap();
    let output = webloom().arg("crawl").arg(&forgotten).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains(&format!("write `--spec {}`", forgotten.display())));
}

#[test]
fn two_crawls_cannot_write_one_directory() {
    let web =
        StaticWeb::new().answer("http://a.example/", Answer::html("late").after(Duration::from_secs(30)));
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut first = crawl(&server, "http://a.example/", data.path(), "1ms").spawn().unwrap();
    assert!(server.log().wait_for_requests(1, Duration::from_secs(10)));
    let second = crawl(&server, "http://a.example/", data.path(), "1ms").output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains("in use by another process"), "{}", stderr(&second));
}

#[test]
fn feeds_and_the_sitemaps_of_robots_lead_on() {
    let feed = r#"<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title><link>http://a.example/home</link>
        <item><title>One</title><link>/one</link><enclosure url="/sound" type="audio/mpeg" length="1"/></item></channel></rss>"#;
    let site = || {
        StaticWeb::new()
            .robots("http://a.example", "Sitemap: http://a.example/map.xml")
            .page("http://a.example/feed", "application/rss+xml", feed)
            .page(
                "http://a.example/map.xml",
                "application/xml",
                "<urlset><url><loc>http://a.example/two</loc></url></urlset>",
            )
            .html("http://a.example/two", "<title>Two</title>")
            .html("http://a.example/one", "<title>One</title>")
    };
    for (sitemaps, expected) in
        [("true", &["feed", "map.xml", "one", "two"][..]), ("false", &["feed", "one"])]
    {
        let server = WebServer::start_blocking(site(), ServerOptions::default()).unwrap();
        let data = tempfile::tempdir().unwrap();
        let setting = format!("links.sitemaps={sitemaps}");
        stdout_of(crawl(&server, "http://a.example/feed", data.path(), "1ms").args(["--set", &setting]));
        let mut fetched: Vec<String> = server.log().requests().urls().into_iter().collect();
        fetched.sort();
        let expected: Vec<String> = expected.iter().map(|path| format!("http://a.example/{path}")).collect();
        assert_eq!(fetched, expected, "{setting}");
    }
}
