//! A web full of traps and fifty honest sites: the sites are crawled whole, and little is spent on the traps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::atomic::{AtomicU64, Ordering};

use support::{crawl, stdout_of, webloom};
use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

const HONEST: u64 = 50;
const PAGES: u64 = 45;
const MIRRORS: u64 = 4;

/// Words that look like prose, the same for the same number.
fn prose(number: u64, words: u64) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    for _ in 0..words {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(&format!("w{} ", (state >> 33) % 4000));
    }
    text
}

fn page(title: &str, text: &str, links: &[String]) -> Answer {
    let links: String = links.iter().map(|link| format!("<li><a href=\"{link}\">{link}</a></li>")).collect();
    Answer::html(format!("<title>{title}</title><p>{text}</p><ul>{links}</ul>"))
}

fn honest_url(site: u64, page: u64) -> String {
    format!("http://honest{site}.example/{page}")
}

/// What the hosts of this web say.
fn answer(request: &Request) -> Answer {
    static SESSION: AtomicU64 = AtomicU64::new(0);
    let host = request.host.strip_suffix(".example").unwrap_or_default();
    let path = request.path_and_query.as_str();
    if path == "/robots.txt" {
        return Answer::not_found();
    }
    let number = path.trim_start_matches('/').parse::<u64>().ok();
    match host {
        "start" => {
            let mut links: Vec<String> = (0..HONEST).map(|site| honest_url(site, 0)).collect();
            links.extend((0..MIRRORS).map(|mirror| format!("http://mirror{mirror}.example/0")));
            links.extend(["http://calendar.example/2026/1".to_owned(), "http://shop.example/".to_owned()]);
            links.push("http://tarpit.example/1".to_owned());
            page("Start", "Everything there is", &links)
        }
        "calendar" => {
            let mut parts = path.trim_matches('/').split('/').map(|part| part.parse::<u64>().unwrap_or(1));
            let (year, month) = (parts.next().unwrap_or(2026), parts.next().unwrap_or(1));
            let (before, after) = match month {
                1 => ((year - 1, 12), (year, 2)),
                12 => ((year, 11), (year + 1, 1)),
                _ => ((year, month - 1), (year, month + 1)),
            };
            let links = [before, after, (year - 1, month), (year + 1, month)]
                .map(|(year, month)| format!("/{year}/{month}"));
            page(
                "Calendar",
                &format!("Month {month} of {year}: no events are planned. Mo Tu We Th Fr Sa Su"),
                &links,
            )
        }
        "shop" => {
            // Every link is a new session of the same few pages.
            let links: Vec<String> = (0..5)
                .map(|item| format!("/item{item}?visit={}", SESSION.fetch_add(1, Ordering::Relaxed)))
                .collect();
            page("Shop", &prose(path.len() as u64 % 5, 60), &links)
        }
        "tarpit" => {
            let number = number.unwrap_or(1);
            let links: Vec<String> = (0..4).map(|link| format!("/{}", number * 4 + link)).collect();
            page("Babble", &prose(number + 1_000_000, 80), &links)
        }
        _ => {
            let (site, kind) = match (host.strip_prefix("honest"), host.strip_prefix("mirror")) {
                (Some(site), _) => (site.parse::<u64>().unwrap_or(0), "honest"),
                (_, Some(_)) => (0, "mirror"),
                _ => return Answer::not_found(),
            };
            let Some(number) = number.filter(|number| *number < PAGES) else { return Answer::not_found() };
            let mut links: Vec<String> = [number * 2 + 1, number * 2 + 2]
                .iter()
                .filter(|next| **next < PAGES)
                .map(|next| format!("/{next}"))
                .collect();
            if kind == "honest" && number == 0 {
                links.extend([1, 7, 11, 23].map(|step| honest_url((site + step) % HONEST, 0)));
            }
            page("Honest", &prose(site * 1000 + number, 70), &links)
        }
    }
}

#[test]
fn honest_sites_are_crawled_and_traps_are_not() {
    let server = WebServer::start_blocking(answer, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let json = stdout_of(crawl(&server, "http://start.example/", data.path(), "1ms").args([
        "--set",
        "budget.base=5",
        "--set",
        "budget.per_linking_domain=10",
        "--json",
    ]));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    let fetched = server.log().requests().urls();
    let honest = (0..HONEST)
        .flat_map(|site| (0..PAGES).map(move |page| honest_url(site, page)))
        .filter(|url| fetched.contains(url.as_str()))
        .count() as u64;
    let traps = ["calendar.example", "shop.example", "tarpit.example", "mirror"];
    let wasted = fetched
        .iter()
        .filter(|url| !url.ends_with("/robots.txt") && traps.iter().any(|trap| url.contains(trap)))
        .count() as u64;
    assert!(honest * 100 >= HONEST * PAGES * 99, "{honest} of {} honest pages; {report}", HONEST * PAGES);
    assert!(wasted * 20 <= honest + wasted, "{wasted} of {} fetches wasted", honest + wasted);
    // The tarpit is left because its budget is spent, and that can be asked for.
    let why =
        stdout_of(webloom().args(["why", "--json", "http://tarpit.example/1", "--data"]).arg(data.path()));
    let why: serde_json::Value = serde_json::from_str(&why).unwrap();
    assert_eq!(why["life"]["queue"]["state"], "exhausted", "{why}");
}
