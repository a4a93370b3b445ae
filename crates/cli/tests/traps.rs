//! A web full of traps and sixty honest sites: the sites are crawled whole, and little is spent on the traps.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::atomic::{AtomicU64, Ordering};

use support::{crawl, stdout_of, webloom};
use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

const HONEST: u64 = 60;
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

/// A page whose links have no words, or the same.
fn few_words(title: &str, text: &str, links: &[String]) -> Answer {
    let links: String = links.iter().map(|link| format!("<a href=\"{link}\">more</a> ")).collect();
    Answer::html(format!("<title>{title}</title><p>{text}</p>{links}"))
}

/// Links of a page to ever new ones.
fn onward(number: Option<u64>) -> Vec<String> {
    let number = number.unwrap_or(1);
    (0..3).map(|link| format!("/{}", number * 3 + link)).collect()
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
            links.extend(["tarpit", "lost", "tiny"].map(|host| format!("http://{host}.example/1")));
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
        // Whatever is asked for is not there, and names are named.
        "lost" => few_words("Not found", &format!("The page {path} was not found."), &onward(number)),
        // Whatever is asked for is fine.
        "tiny" => few_words("OK", "OK", &onward(number)),
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
    let traps =
        ["calendar.example", "shop.example", "tarpit.example", "lost.example", "tiny.example", "mirror"];
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

/// Pages of a site with few words. Each leads to the next one only.
const CHAIN: u64 = 60;
/// Folders of a site, each with two files of the same names.
const FOLDERS: u64 = 40;

/// Sites whose pages have next to no words: some that go on for ever, and some that are as long as they are.
fn wordless(request: &Request) -> Answer {
    let host = request.host.strip_suffix(".example").unwrap_or_default();
    let path = request.path_and_query.as_str();
    let number = path.rsplit('/').next().and_then(|name| {
        let digits = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        digits.split('.').next()?.parse::<u64>().ok()
    });
    let next = |pattern: &str| match number.map_or(0, |number| number + 1) {
        number if number < CHAIN => vec![pattern.replace('#', &number.to_string())],
        _ => Vec::new(),
    };
    match host {
        _ if path == "/robots.txt" => Answer::not_found(),
        "start" => {
            let seeds = WITHOUT_END
                .iter()
                .chain(WITH_AN_END)
                .map(|(host, first)| format!("http://{host}.example{first}"));
            page("Start", "Everything there is", &seeds.collect::<Vec<_>>())
        }
        // Relative links that lead ever deeper, and a logo that is found wherever one is.
        "lost" => few_words(
            "Not found",
            &format!("Sorry, http://lost.example{path} is not here. <img src='img/logo.png'>"),
            &["a", "b", "c"].map(|name| format!("{name}{}/", path.len())),
        ),
        "named" => few_words("Not found", &format!("The page {path} was not found."), &onward(number)),
        "tiny" => few_words("OK", "OK", &onward(number)),
        "empty" => Answer::html(
            onward(number).iter().map(|link| format!("<a href='{link}'></a>")).collect::<String>(),
        ),
        "gallery" => {
            let image = number.map(|number| format!("<img src='/large/{number}.jpg'>")).unwrap_or_default();
            few_words("Gallery", &image, &next("/view/#"))
        }
        "album" => {
            let name = format!("Sunset number {} at sea", number.unwrap_or(0));
            let menu = "Home Gallery About Contact Imprint all pictures by Ida since 1999";
            few_words(&name, &format!("{menu} {name}"), &next("/sunset-at-sea-#"))
        }
        "dictionary" => {
            let word = prose(number.unwrap_or(0), 1);
            few_words("Dictionary", &word, &next("/entry/#"))
        }
        "words" => {
            let word = path.trim_start_matches('/');
            few_words(&format!("{word} - Dictionary"), word, &next("/word#"))
        }
        "shell" => {
            few_words(&format!("Chapter {}", number.unwrap_or(0)), "<div id=app></div>", &next("/chapter/#"))
        }
        "turtle" => {
            let triples: String = next("</data/#.ttl>")
                .iter()
                .map(|next| format!("<> <http://www.w3.org/2000/01/rdf-schema#seeAlso> {next} ."))
                .collect();
            Answer::new("text/turtle", triples)
        }
        "folders" | "files" => {
            let about = if host == "files" {
                "Everything that we have measured since 1999 is here, station by station"
            } else {
                ""
            };
            let listing = |names: &[String]| {
                let links: String =
                    names.iter().map(|name| format!("<li><a href='{name}'>{name}</a></li>")).collect();
                let title = format!("Index of {path}");
                Answer::html(format!("<title>{title}</title><h1>{title}</h1>{about}<ul>{links}</ul>"))
            };
            if path == "/" {
                listing(&(0..FOLDERS).map(|number| format!("station{number}/")).collect::<Vec<_>>())
            } else if path.ends_with('/') {
                listing(&["readings.html", "data.ttl"].map(str::to_owned))
            } else {
                page("Readings", &prose(path.len() as u64 * 1000 + number.unwrap_or(0), 70), &[])
            }
        }
        "maps" => {
            let entries = next("<sitemap><loc>http://maps.example/sitemap#.xml</loc></sitemap>").concat();
            let namespace = "http://www.sitemaps.org/schemas/sitemap/0.9";
            Answer::new("text/xml", format!("<sitemapindex xmlns='{namespace}'>{entries}</sitemapindex>"))
        }
        _ => Answer::not_found(),
    }
}

const WITHOUT_END: &[(&str, &str)] = &[("lost", "/"), ("named", "/1"), ("tiny", "/1"), ("empty", "/1")];
const WITH_AN_END: &[(&str, &str)] = &[
    ("gallery", "/view/0"),
    ("album", "/sunset-at-sea-0"),
    ("dictionary", "/entry/0"),
    ("words", "/word0"),
    ("shell", "/chapter/0"),
    ("turtle", "/data/0.ttl"),
    ("maps", "/sitemap0.xml"),
    ("folders", "/"),
    ("files", "/"),
];

#[test]
fn of_pages_with_few_words_those_that_are_alike_are_left() {
    let server = WebServer::start_blocking(wordless, ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    stdout_of(crawl(&server, "http://start.example/", data.path(), "1ms").args(["--max-pages", "2000"]));
    let fetched = server.log().requests().urls();
    let pages = |host: &str| {
        let start = format!("http://{host}.example/");
        fetched.iter().filter(|url| url.starts_with(&start) && !url.ends_with("/robots.txt")).count() as u64
    };
    for (host, _) in WITHOUT_END {
        assert!(pages(host) < 100, "{} pages of `{host}`, which has no end", pages(host));
    }
    for (host, _) in WITH_AN_END {
        let expected = if matches!(*host, "folders" | "files") { 1 + 3 * FOLDERS } else { CHAIN };
        assert_eq!(pages(host), expected, "pages of `{host}`");
    }
}
