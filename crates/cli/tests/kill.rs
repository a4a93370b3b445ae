//! A crawl that is killed again and again ends with the same graph as one that was left alone, fetches nothing more
//! often than the kills explain, and stays polite throughout.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use support::{Dice, crawl, stable_dump};
use webloom_testkit::{GeneratedWeb, ServerOptions, WebServer, WebShape};

const KILLS: usize = 25;
const DELAY: Duration = Duration::from_millis(300);

/// A page whose answer was complete this long before a kill must have been made durable: three commit ages and
/// some patience with a loaded machine.
const DURABLE_AFTER: Duration = Duration::from_millis(1500);

/// Waits for the requests that a killed crawl had sent and the server had not looked at yet: they are not the next run's.
fn wait_until_quiet(server: &WebServer) {
    let mut before = server.log().totals();
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let now = server.log().totals();
        if now.requests == before.requests && now.answers == before.answers {
            return;
        }
        before = now;
    }
}

#[test]
fn a_crawl_killed_25_times_ends_like_one_left_alone() {
    let web = GeneratedWeb::new(WebShape { seed: 25, hosts: 25, pages: 2000, ..WebShape::default() });
    let seed = web.seed_url();
    let expected: Vec<String> = web.expected_urls().collect();
    let delay = format!("{}ms", DELAY.as_millis());

    let left_alone = tempfile::tempdir().unwrap();
    let killed = tempfile::tempdir().unwrap();
    // The one that is left alone runs beside the other, against a server of its own.
    let quiet_server = WebServer::start_blocking(web.clone(), ServerOptions::default()).unwrap();
    let mut quiet = crawl(&quiet_server, &seed, left_alone.path(), &delay).spawn().unwrap();

    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let mut dice = Dice(8812);
    let mut killed_at = Vec::new();
    for run in 0..KILLS {
        server.log().mark(format!("run {run}"));
        let mut child = crawl(&server, &seed, killed.path(), &delay).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200 + dice.roll(2300)));
        assert!(child.try_wait().unwrap().is_none(), "the crawl ended before it was killed {KILLS} times");
        child.kill().unwrap();
        child.wait().unwrap();
        killed_at.push(Instant::now());
        wait_until_quiet(&server);
    }
    server.log().mark(format!("run {KILLS}"));
    let last = crawl(&server, &seed, killed.path(), &delay).status().unwrap();
    assert!(last.success());
    assert!(quiet.wait().unwrap().success());

    let (alone, survived) = (stable_dump(left_alone.path()), stable_dump(killed.path()));
    assert!(alone.len() > 10_000, "only {} quads", alone.len());
    let missing: Vec<_> = alone.iter().filter(|line| survived.binary_search(line).is_err()).take(5).collect();
    let surplus: Vec<_> = survived.iter().filter(|line| alone.binary_search(line).is_err()).take(5).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing: {missing:#?}\nsurplus: {surplus:#?}");
    assert_eq!(alone.len(), survived.len(), "a quad is printed twice");

    // Every page an obedient crawl fetches was fetched, in the undisturbed crawl exactly once.
    let log = server.log().requests();
    assert_eq!(quiet_server.log().fetched_more_than_once(), []);
    for server in [&quiet_server, &server] {
        let fetched = server.log().requests().urls();
        let unfetched: Vec<_> =
            expected.iter().filter(|url| !fetched.contains(url.as_str())).take(5).collect();
        assert!(unfetched.is_empty(), "never fetched: {unfetched:?}");
    }

    // Within one run nothing is fetched twice, and what was answered well before a kill is not fetched after it.
    let mut refetched = 0;
    let mut last_answer: HashMap<String, Instant> = HashMap::new();
    for run in 0..=KILLS {
        let section = server.log().section(&format!("run {run}"));
        assert_eq!(section.fetched_more_than_once(), [], "run {run}");
        for request in section.all().iter().filter(|request| !request.is_robots()) {
            if let Some(before) = last_answer.get(&request.url()) {
                let kill = killed_at.iter().find(|kill| *kill > before).unwrap();
                let age = kill.saturating_duration_since(*before);
                assert!(
                    age < DURABLE_AFTER,
                    "{} was answered {age:?} before the kill and fetched again",
                    request.url()
                );
                refetched += 1;
            }
        }
        for request in section.all() {
            last_answer.insert(request.url(), request.ended.unwrap_or(request.started));
        }
    }
    assert!(refetched < log.len() / 4, "{refetched} of {} requests were repeated", log.len());

    let tolerance = Duration::from_millis(2);
    for server in [&quiet_server, &server] {
        let log = server.log();
        let offences: Vec<String> = log
            .hurried(DELAY, DELAY, tolerance)
            .into_iter()
            .chain(log.overlapping())
            .chain(log.robots_violations())
            .map(|violation| violation.to_string())
            .take(5)
            .collect();
        assert!(offences.is_empty(), "{offences:#?}");
    }
}
