//! The demo web is sound where it should be, broken where it should be, and worth asking.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use oxrdf::{Dataset, GraphName, Literal, NamedNode, Quad, Triple};
use spareval::{QueryEvaluator, QueryResults};
use webloom_model::PageUrl;
use webloom_testkit::{
    DemoPage, RobotsRules, demo_broken_links, demo_forbidden, demo_pages, demo_queries, demo_seeds, demo_web,
};

/// The host on which things are broken on purpose.
const LANTERN: &str = "broken-lantern.example";

#[test]
fn every_file_is_in_the_table() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo");
    let mut files = BTreeSet::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    files.retain(|file| !file.starts_with("queries/"));
    assert_eq!(files, demo_pages().iter().map(|page| page.file.to_owned()).collect());
}

#[test]
fn hosts_are_fifteen_domains() {
    let hosts: HashSet<&str> = demo_pages().iter().map(|page| page.host).collect();
    let domains: HashSet<&str> =
        hosts.iter().map(|host| webloom_model::url::pay_level_domain(host)).collect();
    assert_eq!((hosts.len(), domains.len()), (15, 15));
    assert!(hosts.iter().all(|host| host.ends_with(".example")), "no name that somebody could own");
}

/// What of a page counts as a link.
#[derive(Clone, Copy, PartialEq)]
enum Links {
    /// What a crawler follows: attributes of HTML, IRIs of RDF.
    Followed,
    /// Every URL, also within scripts and text.
    Mentioned,
}

/// The URLs of demo hosts that a page links to.
fn links(which: Links, url: &PageUrl, content_type: &str, text: &str) -> Vec<PageUrl> {
    let mut found = Vec::new();
    let mut add = |reference: &str| {
        if let Ok(target) = url.join(reference)
            && target.host().ends_with(".example")
        {
            found.push(target);
        }
    };
    let media_type = content_type.split(';').next().unwrap();
    // What stands before a reference, and what of it belongs to the reference. The last is of the page without quotes.
    let before: &[(&str, &str)] = match media_type {
        "text/html" => &[("href=\"", ""), ("src=\"", ""), ("href=/", "/")],
        "application/rdf+xml" => &[("rdf:resource=\"", "")],
        "text/turtle" => &[("</", "/")],
        _ => &[],
    };
    for (start, kept) in before {
        for rest in text.split(start).skip(1) {
            add(&format!("{kept}{}", rest.split(['"', '>']).next().unwrap()));
        }
    }
    if which == Links::Mentioned || media_type != "text/html" {
        for (start, _) in text.match_indices("http://") {
            add(text[start..].split(['"', '>', '<', ' ', '\n']).next().unwrap());
        }
    }
    found
}

/// Follows all links of a kind from the seeds: what was reached, what is not there, what is forbidden.
fn walk(which: Links) -> [BTreeSet<String>; 3] {
    let web = demo_web();
    let (mut reached, mut dangling, mut forbidden) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut queue: Vec<PageUrl> = demo_seeds().iter().map(|seed| PageUrl::parse(seed).unwrap()).collect();
    while let Some(url) = queue.pop() {
        let Some(answer) = web.get(url.as_str()) else {
            dangling.insert(url.to_string());
            continue;
        };
        let rules =
            web.get(&format!("{}/robots.txt", url.origin())).map_or_else(RobotsRules::allow_all, |robots| {
                RobotsRules::from_answer(200, robots.body().unwrap())
            });
        if !rules.allows("webloom", url.path_and_query()) {
            forbidden.insert(url.to_string());
        } else if reached.insert(url.to_string()) {
            queue.extend(answer.header("location").map(|location| url.join(location).unwrap()));
            let content_type = answer.header("content-type").unwrap_or("text/html");
            queue.extend(links(which, &url, content_type, &String::from_utf8_lossy(answer.body().unwrap())));
        }
    }
    [reached, dangling, forbidden]
}

#[test]
fn no_link_dangles_that_should_not() {
    let [_, dangling, forbidden] = walk(Links::Mentioned);
    assert_eq!(dangling, demo_broken_links().iter().map(|link| (*link).to_owned()).collect());
    assert_eq!(forbidden, demo_forbidden().iter().map(|link| (*link).to_owned()).collect());
}

#[test]
fn everything_is_reached_by_following_links() {
    let web = demo_web();
    let [reached, _, forbidden] = walk(Links::Followed);
    // robots.txt, and the sitemap it names, are found without links.
    let unreached: Vec<&str> = web
        .urls()
        .filter(|url| !reached.contains(*url) && !forbidden.contains(*url))
        .filter(|url| !url.ends_with("/robots.txt") && !url.ends_with("/sitemap.xml"))
        .collect();
    assert_eq!(unreached, [""; 0]);
    assert!((100..150).contains(&reached.len()), "{} pages", reached.len());
}

/// What of schema.org's context the demo depends on.
const SCHEMA_ORG: &str = r#"{"@vocab": "http://schema.org/",
    "url": {"@type": "@id"}, "sameAs": {"@type": "@id"}, "availability": {"@type": "@id"},
    "eventStatus": {"@type": "@id"}, "startDate": {"@type": "Date"}, "endDate": {"@type": "Date"},
    "datePublished": {"@type": "Date"}}"#;

fn json_ld(text: &str, base: &str) -> Result<Vec<Triple>, String> {
    let text = text.replace("\"https://schema.org\"", SCHEMA_ORG);
    oxjsonld::JsonLdParser::new()
        .with_base_iri(base)
        .unwrap()
        .for_slice(text.as_bytes())
        .map(|quad| quad.map(Triple::from).map_err(|error| error.to_string()))
        .collect()
}

/// The triples of a page, much as the product would find them.
fn triples(page: &DemoPage) -> Result<Vec<Triple>, String> {
    let url = page.url();
    let text = String::from_utf8_lossy(page.body);
    let told = |error: &dyn std::fmt::Display| format!("{url}: {error}");
    match page.content_type().unwrap_or("text/html").split(';').next().unwrap() {
        "text/turtle" => oxttl::TurtleParser::new()
            .with_base_iri(&url)
            .unwrap()
            .for_slice(page.body)
            .map(|triple| triple.map_err(|error| told(&error)))
            .collect(),
        "application/n-triples" => oxttl::NTriplesParser::new()
            .for_slice(page.body)
            .map(|triple| triple.map_err(|error| told(&error)))
            .collect(),
        "application/n-quads" => oxttl::NQuadsParser::new()
            .for_slice(page.body)
            .map(|quad| quad.map(Triple::from).map_err(|error| told(&error)))
            .collect(),
        "application/trig" => oxttl::TriGParser::new()
            .for_slice(page.body)
            .map(|quad| quad.map(Triple::from).map_err(|error| told(&error)))
            .collect(),
        "application/rdf+xml" => oxrdfxml::RdfXmlParser::new()
            .with_base_iri(&url)
            .unwrap()
            .for_slice(page.body)
            .map(|triple| triple.map_err(|error| told(&error)))
            .collect(),
        "application/ld+json" => json_ld(&text, &url).map_err(|error| told(&error)),
        "text/html" => {
            let mut found = Vec::new();
            for rest in text.split("<script type=\"application/ld+json\">").skip(1) {
                let block = rest.split("</script>").next().unwrap();
                found.extend(json_ld(block, &url).map_err(|error| told(&error))?);
            }
            let between =
                |start: &str, end: &str| Some(text.split_once(start)?.1.split_once(end)?.0.to_owned());
            let subject = NamedNode::new(&url).unwrap();
            for (term, value) in
                [("title", between("<title>", "</title>")), ("language", between("<html lang=\"", "\""))]
            {
                let predicate = NamedNode::new(format!("http://purl.org/dc/terms/{term}")).unwrap();
                found.extend(value.map(|value| {
                    Triple::new(subject.clone(), predicate, Literal::new_simple_literal(value))
                }));
            }
            Ok(found)
        }
        _ => Ok(Vec::new()),
    }
}

#[test]
fn data_parses_everywhere_but_where_it_is_broken_on_purpose() {
    let mut broken = Vec::new();
    let mut counts = 0;
    for page in demo_pages() {
        match triples(page) {
            Ok(triples) => counts += triples.len(),
            Err(_) => broken.push(page.url()),
        }
    }
    assert_eq!(broken, ["beers.ttl", "cellar.rdf", "quiz"].map(|path| format!("http://{LANTERN}/{path}")));
    assert!(counts > 900, "{counts} triples");
}

#[test]
fn the_feeds_and_the_sitemap_list_what_is_there() {
    let web = demo_web();
    for (url, tag) in [
        ("http://tidenotes.example/feed.rss", "<link>"),
        ("http://tidenotes.example/feed.atom", "<link href=\""),
        ("http://inkandspindle.example/sitemap.xml", "<loc>"),
    ] {
        let text = String::from_utf8_lossy(web.get(url).unwrap().body().unwrap()).into_owned();
        let listed: Vec<&str> =
            text.split(tag).skip(1).map(|rest| rest.split(['<', '"']).next().unwrap()).collect();
        assert!(listed.len() > 8, "{url}: {listed:?}");
        assert!(listed.iter().all(|link| web.get(link).is_some()), "{url}: {listed:?}");
    }
}

#[test]
fn the_lantern_is_broken_as_promised() {
    let web = demo_web();
    let get = |path: &str| web.get(&format!("http://{LANTERN}{path}")).unwrap();
    assert_eq!(get("/old-site").header("location"), Some("/older-site"));
    assert_eq!(get("/snug").header("location"), Some("/round-and-round"));
    assert_eq!(get("/photographs").header("content-encoding"), Some("gzip"));
    assert_eq!(get("/cat").header("content-type"), None);
    assert!(std::str::from_utf8(get("/darts").body().unwrap()).is_err());
    assert!(std::str::from_utf8(get("/sign").body().unwrap()).is_err());
    assert!(get("/nothing").body().unwrap().is_empty());
    assert_eq!(String::from_utf8_lossy(get("/stairs").body().unwrap()).matches("<div>").count(), 5000);
}

/// Asks one of the demo's questions of the union of all pages.
#[track_caller]
fn check_query(number: usize, expected: &Expect) {
    let dataset: Dataset = demo_pages()
        .iter()
        .flat_map(|page| triples(page).unwrap_or_default())
        .map(|triple| Quad::new(triple.subject, triple.predicate, triple.object, GraphName::DefaultGraph))
        .collect();
    let query = spargebra::SparqlParser::new().parse_query(demo_queries()[number].sparql).unwrap();
    let evaluator = QueryEvaluator::new();
    let QueryResults::Solutions(solutions) = evaluator.prepare(&query).execute(&dataset).unwrap() else {
        panic!("a SELECT has solutions");
    };
    let rows: String = solutions
        .map(|solution| {
            let solution = solution.unwrap();
            let cells: Vec<&str> = solution
                .values()
                .iter()
                .map(|value| match value.as_ref().unwrap() {
                    oxrdf::Term::NamedNode(node) => node.as_str(),
                    oxrdf::Term::Literal(literal) => literal.value(),
                    other => panic!("{other} is not for people"),
                })
                .collect();
            format!("{}\n", cells.join(" | "))
        })
        .collect();
    expected.assert_eq(&rows);
}

#[test]
fn what_to_read_and_hear() {
    check_query(
        0,
        &expect![[r#"
        Ottilie Marsh | Blue Thread: The Life of Ottilie Marsh | 24.00 | An Evening with Ottilie Marsh | 2027-03-12T19:30
        Benedikta Roe | The River as Warp | 28.00 | Weaving Sunday | 2027-04-04T11:00
        Ansgar Feld | Cut in the Dark: Ansgar Feld’s Prints | 31.50 | Herring Week: First Night | 2027-05-21T21:00
    "#]],
    );
}

#[test]
fn what_to_eat() {
    check_query(
        1,
        &expect![[r#"
        Lemon Barley Loaf | PT3H30M | Loaf and Lemon | Ottilie Marsh | Ottilie Marsh, Malerin aus Quillhaven – Merrow-Wiki
        Plum Dumplings | PT1H10M | Plum Window | Joss Amberley | Joss Amberley, Glaskünstlerin der verschwundenen Fenster – Merrow-Wiki
        Samphire Salt Butter | PT15M | Salt Calendar | Benedikta Roe | Benedikta Roe, die einen Fluss webte – Merrow-Wiki
        Soused Herring with Apple | PT25M | Herring Night | Ansgar Feld | Ansgar Feld, Holzschneider der Heringsnächte – Merrow-Wiki
    "#]],
    );
}

#[test]
fn who_wrote() {
    check_query(
        2,
        &expect![[r#"
        Arvid Holm | Ines Calder | Joss Amberley | Glass in October | http://tidenotes.example/posts/glass-in-october
        Arvid Holm | Ines Calder | Ottilie Marsh | The Blue Loom comes home | http://tidenotes.example/posts/the-blue-loom-comes-home
        Arvid Holm | Yuna Seo | Benedikta Roe | What a loom knows about graphs | http://tidenotes.example/posts/what-a-loom-knows
        Ines Calder | Mirela Dragan | Ansgar Feld | A shelf for Ansgar | http://tidenotes.example/posts/a-shelf-for-ansgar
        Ines Calder | Tomas Brandt | Ottilie Marsh | Baking a painting | http://tidenotes.example/posts/baking-a-painting
        Ines Calder | Tomas Brandt | Ansgar Feld | Notes before Herring Week | http://tidenotes.example/posts/herring-week
        Ines Calder | Yuna Seo | Benedikta Roe | What a loom knows about graphs | http://tidenotes.example/posts/what-a-loom-knows
        Mirela Dragan | Tomas Brandt | Ottilie Marsh | Baking a painting | http://tidenotes.example/posts/baking-a-painting
        Mirela Dragan | Tomas Brandt | Ansgar Feld | Notes before Herring Week | http://tidenotes.example/posts/herring-week
        Mirela Dragan | Yuna Seo | Benedikta Roe | What a loom knows about graphs | http://tidenotes.example/posts/what-a-loom-knows
        Tomas Brandt | Ines Calder | Joss Amberley | Glass in October | http://tidenotes.example/posts/glass-in-october
        Tomas Brandt | Ines Calder | Ottilie Marsh | The Blue Loom comes home | http://tidenotes.example/posts/the-blue-loom-comes-home
        Tomas Brandt | Mirela Dragan | Ansgar Feld | A shelf for Ansgar | http://tidenotes.example/posts/a-shelf-for-ansgar
        Yuna Seo | Ines Calder | Joss Amberley | Glass in October | http://tidenotes.example/posts/glass-in-october
        Yuna Seo | Ines Calder | Ottilie Marsh | The Blue Loom comes home | http://tidenotes.example/posts/the-blue-loom-comes-home
    "#]],
    );
}
