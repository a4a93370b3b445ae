//! The generated web, walked by a crawler of forty lines that obeys, against what it says of itself.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use webloom_model::PageUrl;
use webloom_testkit::{Answer, GeneratedWeb, HostSizes, Mix, Request, RobotsRules, Site, WebShape};

/// What the walk found.
#[derive(Debug, Default)]
struct Walk {
    fetched: HashSet<String>,
    forbidden: HashSet<String>,
    shunned: HashSet<String>,
    indexed: HashSet<String>,
    statuses: HashMap<u16, u64>,
}

/// Follows every link that may be followed from the seed.
fn walk(web: &GeneratedWeb) -> Walk {
    let mut walk = Walk::default();
    let mut robots: HashMap<String, RobotsRules> = HashMap::new();
    let mut queue = vec![web.seed_url()];
    while let Some(url) = queue.pop() {
        let page = PageUrl::parse(&url).unwrap();
        assert_eq!(page.as_str(), url, "links are in normal form");
        let rules = robots.entry(page.origin()).or_insert_with(|| {
            let answer = web.answer(&Request::get(&format!("{}/robots.txt", page.origin())));
            RobotsRules::from_answer(answer.status_code().unwrap(), answer.body().unwrap())
        });
        if !rules.allows("webloom", page.path_and_query()) {
            walk.forbidden.insert(url);
            continue;
        }
        if !walk.fetched.insert(url.clone()) {
            continue;
        }
        let answer = web.answer(&Request::get(&url));
        *walk.statuses.entry(answer.status_code().unwrap()).or_default() += 1;
        if let Some(location) = answer.header("location") {
            queue.push(page.join(location).unwrap().into());
        }
        if answer.status_code() == Some(200) {
            let text = std::str::from_utf8(answer.body().unwrap()).unwrap();
            let (links, nofollow) = links(&page, &answer, text);
            queue.extend(links);
            walk.shunned.extend(nofollow);
            let noindex =
                text.contains("content=\"noindex") || answer.header("x-robots-tag") == Some("noindex");
            if !noindex {
                walk.indexed.insert(url);
            }
        }
    }
    walk
}

/// The links of a page that may be followed, and those that may not.
fn links(page: &PageUrl, answer: &Answer, text: &str) -> (Vec<String>, Vec<String>) {
    let (mut follow, mut nofollow) = (Vec::new(), Vec::new());
    if answer.header("content-type").unwrap().starts_with("text/html") {
        if text.contains("content=\"nofollow\"") || text.contains(", nofollow\"") {
            return (follow, nofollow);
        }
        for anchor in text.split("<a href=\"").skip(1) {
            let (target, rest) = anchor.split_once('"').unwrap();
            let target = page.join(target).unwrap().into();
            if rest.starts_with(" rel=\"nofollow\"") { nofollow.push(target) } else { follow.push(target) }
        }
    }
    // Whatever else is a URL of this web, wherever it stands.
    for start in text.match_indices("http").map(|(at, _)| at) {
        let url = text[start..].split(['"', '>', '<', ' ']).next().unwrap();
        if let Ok(url) = PageUrl::parse(url)
            && (url.host().ends_with(".example") || url.host().ends_with(".test"))
            && !nofollow.contains(&url.to_string())
        {
            follow.push(url.into());
        }
    }
    (follow, nofollow)
}

fn check(shape: WebShape) {
    let web = GeneratedWeb::new(shape);
    let (walk, expected) = (walk(&web), web.expected());
    let urls: HashSet<String> = web.expected_urls().collect();
    let unreached: Vec<_> = urls.difference(&walk.fetched).take(5).collect();
    let unforeseen: Vec<_> = walk.fetched.difference(&urls).take(5).collect();
    assert!(
        unreached.is_empty() && unforeseen.is_empty(),
        "not reached {unreached:?}, not foreseen {unforeseen:?}"
    );
    assert_eq!(expected.fetches(), urls.len() as u64, "no URL is foreseen twice");
    assert_eq!(walk.forbidden, web.forbidden_urls().collect());
    assert_eq!(walk.shunned, web.shunned_urls().collect());
    assert_eq!(walk.indexed, web.indexed_urls().collect());
    assert_eq!(expected.forbidden, walk.forbidden.len() as u64);
    assert_eq!(expected.shunned, walk.shunned.len() as u64);
    assert_eq!(expected.indexed(), walk.indexed.len() as u64);
    let status = |range: std::ops::Range<u16>| -> u64 {
        walk.statuses.iter().filter(|(status, _)| range.contains(status)).map(|(_, count)| count).sum()
    };
    assert_eq!(
        (status(200..300), status(300..400), status(400..500)),
        (expected.pages, expected.redirects, expected.missing)
    );
    // The temptations are real: whoever gives in gets a page.
    for url in web.forbidden_urls().chain(web.shunned_urls()).take(20) {
        assert_eq!(web.answer(&Request::get(&url)).status_code(), Some(200), "{url}");
    }
}

#[test]
fn an_obedient_walk_finds_exactly_what_is_expected() {
    check(WebShape { pages: 3000, hosts: 60, page_bytes: 800, ..WebShape::default() });
    check(WebShape { pages: 500, hosts: 1, page_bytes: 500, https: true, ..WebShape::default() });
    check(WebShape { pages: 0, hosts: 0, ..WebShape::default() });
    check(WebShape { links_per_page: 0, mix: Mix::plain(), ..WebShape::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn any_shape_keeps_its_promises(
        seed: u64,
        hosts in 1_u32..40,
        pages in 1_u64..300,
        links_per_page in 0_u32..6,
        share in 0_u16..1000,
    ) {
        let mix = Mix {
            turtle: share / 5,
            rdf_xml: share / 5,
            n_triples: share / 5,
            json_ld: share / 5,
            noindex: share,
            nofollow: share,
            redirects: share,
            missing: share,
            private: share,
            nofollow_links: share,
            hosts_without_robots: share,
            ..Mix::default()
        };
        let host_sizes = if seed % 3 == 0 { HostSizes::PowerLaw } else { HostSizes::Even };
        check(WebShape {
            seed, hosts, pages, host_sizes, latency: None, links_per_page, page_bytes: 300, https: seed % 2 == 0, mix,
        });
    }
}

#[test]
fn the_same_seed_gives_the_same_web_and_another_another() {
    let shape = WebShape { pages: 300, ..WebShape::default() };
    let bodies = |seed: u64| -> Vec<_> {
        let web = GeneratedWeb::new(WebShape { seed, ..shape.clone() });
        web.expected_urls().map(|url| web.answer(&Request::get(&url)).body().unwrap().clone()).collect()
    };
    assert_eq!(bodies(7), bodies(7));
    assert_ne!(bodies(7), bodies(8));
    // A fixed point, so that recorded measurements stay comparable: change it knowingly.
    let sum = bodies(1).iter().flatten().fold(0_u64, |sum, byte| sum.rotate_left(5) ^ u64::from(*byte));
    expect_test::expect!["47f248ebf6612bc4"].assert_eq(&format!("{sum:x}"));
}

#[test]
fn hosts_spread_over_domains() {
    let web = GeneratedWeb::new(WebShape { hosts: 80, ..WebShape::default() });
    let names: Vec<String> = (0..80).map(|host| web.host_name(host)).collect();
    let domains: HashSet<&str> =
        names.iter().map(|name| webloom_model::url::pay_level_domain(name)).collect();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), 80);
    assert_eq!(domains.len(), 70, "one host in eight shares the domain of the one before");
    assert_eq!(
        names[..8].join(" "),
        "site0.example site1.example site2.example news.site2.example site4.example shop5.test www.blog6.example site7.example"
    );
    for unknown in ["site80.example", "site5.example", "news.site3.example", "x.example", ""] {
        let request = Request { host: unknown.to_owned(), ..Request::get("http://x.example/") };
        assert_eq!(web.answer(&request).status_code(), Some(404), "{unknown}");
    }
}

#[test]
fn sizes_have_a_middle_and_a_tail() {
    let web = GeneratedWeb::new(WebShape { pages: 2000, page_bytes: 2000, ..WebShape::default() });
    let mut sizes: Vec<usize> =
        web.indexed_urls().map(|url| web.answer(&Request::get(&url)).body().unwrap().len()).collect();
    sizes.sort_unstable();
    let middle = sizes[sizes.len() / 2];
    assert!((1500..4000).contains(&middle), "{middle}");
    assert!(*sizes.last().unwrap() > 20_000);
}

#[test]
fn an_unchanged_page_need_not_be_sent_again() {
    let web = GeneratedWeb::new(WebShape::default());
    let mut request = Request::get(&web.seed_url());
    let etag = web.answer(&request).header("etag").unwrap().to_owned();
    request.headers.insert("if-none-match", etag.parse().unwrap());
    let answer = web.answer(&request);
    assert_eq!((answer.status_code(), answer.body().unwrap().len()), (Some(304), 0));
}

#[test]
fn some_hosts_ask_for_a_delay() {
    let mix = Mix { hosts_with_crawl_delay: 1000, hosts_without_robots: 0, ..Mix::default() };
    let web = GeneratedWeb::new(WebShape { mix, ..WebShape::default() });
    let answer = web.answer(&Request::get("http://site0.example/robots.txt"));
    let rules = RobotsRules::from_answer(200, answer.body().unwrap());
    assert_eq!(rules.crawl_delay("webloom"), Some(Duration::from_millis(200)));
}

#[test]
fn data_pages_and_blocks_parse() {
    let web = GeneratedWeb::new(WebShape { pages: 2000, page_bytes: 600, ..WebShape::default() });
    let mut counts: HashMap<String, (u64, u64)> = HashMap::new();
    for url in web.indexed_urls() {
        let answer = web.answer(&Request::get(&url));
        let body = answer.body().unwrap();
        let kind = answer.header("content-type").unwrap();
        let triples = match kind {
            "text/turtle" => oxttl::TurtleParser::new()
                .with_base_iri(&url)
                .unwrap()
                .for_slice(body)
                .map(Result::unwrap)
                .count(),
            "application/n-triples" => {
                oxttl::NTriplesParser::new().for_slice(body).map(Result::unwrap).count()
            }
            "application/rdf+xml" => oxrdfxml::RdfXmlParser::new()
                .with_base_iri(&url)
                .unwrap()
                .for_slice(body)
                .map(Result::unwrap)
                .count(),
            "application/ld+json" => oxjsonld::JsonLdParser::new()
                .with_base_iri(&url)
                .unwrap()
                .for_slice(body)
                .map(Result::unwrap)
                .count(),
            _ => {
                let text = std::str::from_utf8(body).unwrap();
                text.split("<script type=\"application/ld+json\">")
                    .skip(1)
                    .map(|rest| {
                        let block = rest.split("</script>").next().unwrap();
                        // The context on the web is replaced by what matters of it here.
                        let block =
                            block.replace("\"https://schema.org\"", "{\"@vocab\": \"http://schema.org/\"}");
                        oxjsonld::JsonLdParser::new().for_slice(block.as_bytes()).map(Result::unwrap).count()
                    })
                    .sum()
            }
        };
        let count = counts.entry(kind.to_owned()).or_default();
        count.0 += 1;
        count.1 += triples as u64;
    }
    assert_eq!(counts.len(), 5, "{counts:?}");
    assert!(counts.values().all(|(pages, triples)| triples > pages), "{counts:?}");
}
