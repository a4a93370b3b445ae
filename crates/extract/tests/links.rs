//! Graphs in, links out, through the front door.

#![expect(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "the helpers are tests too")]

use expect_test::{Expect, expect};
use oxrdf::{GraphName, Literal, NamedNode, NamedNodeRef, Quad, Term};
use proptest::prelude::*;
use webloom_extract::{Extracted, LinkQuery, LinkRules, Scope, extract_links, follow_links};
use webloom_model::vocab::{dcterms, foaf, rdf, rdfs, xhv};
use webloom_model::{PageGraph, PageLink, PageLinks, PageUrl, RobotsDirectives};

const PAGE: &str = "https://example.org/page";

fn node(iri: &str) -> NamedNode {
    NamedNode::new(iri).unwrap()
}

fn see_also(target: &str) -> Quad {
    Quad::new(node(PAGE), rdfs::SEE_ALSO, node(target), GraphName::DefaultGraph)
}

fn label(target: &str, text: &str) -> Quad {
    Quad::new(node(target), rdfs::LABEL, Literal::new_simple_literal(text), GraphName::DefaultGraph)
}

fn graph(quads: Vec<Quad>) -> PageGraph {
    PageGraph { quads, ..PageGraph::default() }
}

fn run(graph: &PageGraph, rules: &LinkRules) -> Extracted {
    extract_links(&PageUrl::parse(PAGE).unwrap(), 2, graph, rules)
}

fn show(extracted: &Extracted) -> String {
    let mut lines: Vec<String> = extracted
        .links
        .iter()
        .map(|link| format!("{} {} {:?}", link.depth, link.url, link.anchor.as_deref().unwrap_or_default()))
        .collect();
    lines.extend(extracted.refused.iter().map(|(refusal, count)| format!("{refusal}: {count}")));
    lines.extend(extracted.diagnostics.iter().map(|diagnostic| format!("! {diagnostic}")));
    lines.join("\n")
}

#[track_caller]
fn check(graph: &PageGraph, rules: &LinkRules, expected: Expect) {
    expected.assert_eq(&show(&run(graph, rules)));
}

#[test]
fn links_come_in_the_order_of_the_page_with_their_words() {
    let quads = vec![
        Quad::new(node(PAGE), rdf::TYPE, foaf::DOCUMENT, GraphName::DefaultGraph),
        see_also("https://example.org/z"),
        label("https://example.org/z", "  Zed\n page "),
        see_also("https://example.org/a"),
        see_also("https://example.org/page"),
        see_also("https://example.org/page#top"),
        see_also("https://example.org/m"),
        label("https://example.org/m", "M"),
        label("https://example.org/m", "em"),
        see_also("https://example.org/a#part"),
        label("https://example.org/a#part", "A part"),
        see_also("mailto:a@example.org"),
        see_also("https://example.org/logo.png"),
        Quad::new(
            node("https://other.example/"),
            rdfs::SEE_ALSO,
            node("https://not.example/"),
            GraphName::DefaultGraph,
        ),
    ];
    check(
        &graph(quads),
        &LinkRules::default(),
        expect![[r#"
            3 https://example.org/z "Zed page"
            3 https://example.org/a "A part"
            3 https://example.org/m "M"
            scheme: 1
            extension: 1"#]],
    );
}

#[test]
fn nofollow_is_obeyed_unless_told_otherwise() {
    let mut page = graph(vec![see_also("https://example.org/a"), see_also("https://example.org/b")]);
    page.nofollow.insert("https://example.org/a".to_owned());
    let rules = LinkRules::default();
    check(
        &page,
        &rules,
        expect![[r#"
            3 https://example.org/b ""
            nofollow: 1"#]],
    );
    page.robots = RobotsDirectives { noindex: false, nofollow: true };
    check(&page, &rules, expect!["nofollow: 2"]);
    let rules = LinkRules { obey_nofollow: false, ..rules };
    check(
        &page,
        &rules,
        expect![[r#"
            3 https://example.org/a ""
            3 https://example.org/b """#]],
    );
}

#[test]
fn descriptions_of_a_page_come_before_its_links() {
    let says = |subject: &str, predicate: NamedNodeRef<'_>, object: Term| {
        Quad::new(node(subject), predicate, object, GraphName::DefaultGraph)
    };
    let relates = |relation, target: &str| says(PAGE, relation, node(target).into());
    let format = |target: &str, media_type: &str| {
        says(target, dcterms::FORMAT, Literal::new_simple_literal(media_type).into())
    };
    let mut page = graph(vec![
        see_also("https://example.org/first"),
        relates(xhv::ALTERNATE, "https://example.org/de"),
        format("https://example.org/de", "text/html"),
        relates(xhv::ALTERNATE, "https://example.org/feed"),
        format("https://example.org/feed", "application/rss+xml"),
        relates(xhv::ALTERNATE, "https://example.org/typeless"),
        relates(xhv::ALTERNATE, "https://example.org/foaf.rdf"),
        format("https://example.org/foaf.rdf", "application/rdf+xml"),
        relates(xhv::DESCRIBEDBY, "https://example.org/data#this"),
        relates(xhv::META, "https://example.org/meta"),
        // Something else's description.
        says("https://example.org/first", xhv::DESCRIBEDBY, node("https://example.org/other").into()),
        see_also("https://example.org/data"),
        label("https://example.org/data", "Data"),
    ]);
    let rules = LinkRules::default();
    check(
        &page,
        &rules,
        expect![[r#"
            3 https://example.org/foaf.rdf ""
            3 https://example.org/data "Data"
            3 https://example.org/meta ""
            3 https://example.org/first """#]],
    );
    check(
        &page,
        &LinkRules { descriptions: false, ..rules.clone() },
        expect![[r#"
            3 https://example.org/first ""
            3 https://example.org/data "Data""#]],
    );
    page.robots = RobotsDirectives { noindex: false, nofollow: true };
    check(&page, &rules, expect!["nofollow: 5"]);
}

#[test]
fn scope_and_caps_refuse_with_reasons() {
    let seed = PageUrl::parse("https://example.org/").unwrap();
    let rules = LinkRules { scope: Scope::domains_of([&seed]), links_max: 2, ..LinkRules::default() };
    let targets = [
        "https://a.example.org/",
        "https://b.example.org/",
        "https://c.example.org/",
        "https://example.net/",
    ];
    check(
        &graph(targets.iter().map(|target| see_also(target)).collect()),
        &rules,
        expect![[r#"
            3 https://a.example.org/ ""
            3 https://b.example.org/ ""
            domain: 1
            too-many: 1"#]],
    );
}

/// What is known from tags alone goes the way that what a graph says goes.
#[test]
fn links_without_a_graph_are_judged_alike() {
    let targets = ["/a", "/nofollow", "/picture.jpg", "https://b.example/", "/a?utm_source=x", "/page", "/b"];
    let page = PageUrl::parse(PAGE).unwrap();
    let links: Vec<PageLink> = targets
        .into_iter()
        .map(|target| PageLink {
            target: page.join(target).unwrap(),
            anchor: (target != "/a").then(|| target.to_owned()),
            followed: target != "/nofollow",
        })
        .collect();
    let mut said = graph(links.iter().map(|link| see_also(link.target.as_str())).collect());
    said.quads
        .extend(links.iter().filter_map(|link| Some(label(link.target.as_str(), link.anchor.as_deref()?))));
    said.nofollow.insert(page.join("/nofollow").unwrap().as_str().to_owned());
    for (nofollow, links_max) in [(false, 10), (true, 10), (false, 1)] {
        let rules = LinkRules { links_max, ..LinkRules::default() };
        let robots = RobotsDirectives { noindex: false, nofollow };
        said.robots = robots;
        let links = PageLinks { links: links.clone(), robots };
        assert_eq!(follow_links(&page, 2, links, &rules), run(&said, &rules));
    }
}

#[test]
fn queries_see_all_graphs_the_page_and_texts() {
    let schema = |local: &str| node(&format!("http://schema.org/{local}"));
    let text = |value: &str| Literal::new_simple_literal(value);
    let inner = || GraphName::from(node("urn:inner"));
    let quads = vec![
        see_also("https://example.org/plain"),
        Quad::new(node("urn:item"), schema("url"), text("https://example.org/text"), inner()),
        Quad::new(
            node("urn:item"),
            schema("name"),
            Literal::new_language_tagged_literal("Item", "en").unwrap(),
            inner(),
        ),
        Quad::new(node("urn:item"), schema("url"), text("not a URL"), inner()),
        Quad::new(node(PAGE), schema("about"), node("https://example.org/about"), GraphName::DefaultGraph),
        Quad::new(
            node("urn:x"),
            schema("about"),
            node("https://example.org/not-this"),
            GraphName::DefaultGraph,
        ),
    ];
    let query = |name: &str, text: &str| LinkQuery::parse(name, text).unwrap();
    let rules = |queries: Vec<LinkQuery>| LinkRules { queries, ..LinkRules::default() };
    check(
        &graph(quads.clone()),
        &rules(vec![query(
            "urls",
            "PREFIX s: <http://schema.org/> SELECT ?link ?anchor { ?i s:url ?link OPTIONAL { ?i s:name ?anchor } }",
        )]),
        expect![[r#"
            3 https://example.org/text "Item"
            not-a-url: 1"#]],
    );
    check(
        &graph(quads.clone()),
        &rules(vec![
            query("about", "SELECT ?link { ?page <http://schema.org/about> ?link }"),
            LinkQuery::plain_links(),
        ]),
        expect![[r#"
            3 https://example.org/plain ""
            3 https://example.org/about """#]],
    );
    check(
        &graph(quads.clone()),
        &rules(vec![query(
            "filter",
            "SELECT ?link { ?s <http://schema.org/about> ?link FILTER(?s != ?page) }",
        )]),
        expect![[r#"3 https://example.org/not-this """#]],
    );
    check(
        &graph(quads),
        &rules(vec![query(
            "made",
            "SELECT (IRI(CONCAT(STR(?page), '/next')) AS ?link) { ?page ?p ?o } LIMIT 1",
        )]),
        expect![[r#"3 https://example.org/page/next """#]],
    );
}

#[test]
fn a_query_that_multiplies_the_page_ends() {
    let quads = (0..200).map(|n| see_also(&format!("https://example.org/{n}"))).collect();
    let query =
        LinkQuery::parse("product", "SELECT ?link { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?link }").unwrap();
    let rules = LinkRules { queries: vec![query], rows_max: 50_000, ..LinkRules::default() };
    let extracted = run(&graph(quads), &rules);
    assert_eq!(extracted.diagnostics.len(), 1);
    assert_eq!(extracted.diagnostics[0].code, "link-query");
    assert!(
        extracted.diagnostics[0].message.starts_with("link query `product`: "),
        "{:?}",
        extracted.diagnostics
    );
}

#[test]
fn anchors_are_cut_at_characters() {
    let rules = LinkRules { anchor_chars_max: 5, ..LinkRules::default() };
    for (words, expected) in
        [("abcdefgh", Some("abcde")), ("äöü ß xyz", Some("äöü ß")), ("abcd efgh", Some("abcd")), ("  ", None)]
    {
        let graph = graph(vec![see_also("https://example.org/a"), label("https://example.org/a", words)]);
        assert_eq!(run(&graph, &rules).links[0].anchor.as_deref(), expected, "{words}");
    }
}

#[test]
fn a_large_page_is_quick() {
    let quads = (0..2000)
        .flat_map(|n| {
            let target = format!("https://example.org/{n}");
            [see_also(&target), label(&target, "some words here")]
        })
        .collect();
    let graph = graph(quads);
    let rules = LinkRules::default();
    let start = std::time::Instant::now();
    assert_eq!(run(&graph, &rules).links.len(), 2000);
    let elapsed = start.elapsed();
    assert!(elapsed < std::time::Duration::from_secs(1), "{elapsed:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn links_are_distinct_in_scope_and_the_same_every_time(
        targets in prop::collection::vec("(https?|ftp)://[abc]\\.example(/[xy.]{0,3}(#z)?)?", 0..30),
        hosts in any::<bool>(),
    ) {
        let quads: Vec<Quad> = targets.iter().map(|target| see_also(target)).collect();
        let seed = PageUrl::parse("http://a.example/").unwrap();
        let scope = if hosts { Scope::hosts_of([&seed]) } else { Scope::anywhere() };
        let rules = LinkRules { scope: scope.clone(), ..LinkRules::default() };
        let extracted = run(&graph(quads.clone()), &rules);
        prop_assert_eq!(&extracted, &run(&graph(quads), &rules));
        let mut seen = std::collections::HashSet::new();
        for link in &extracted.links {
            prop_assert!(seen.insert(link.url.clone()));
            prop_assert!(scope.admits(&link.url).is_ok());
        }
    }
}

#[test]
fn items_of_feeds_are_followed_and_nothing_else_of_them() {
    let page = PageUrl::parse("http://example.org/feed").unwrap();
    let rss = |name: &str| NamedNode::new_unchecked(format!("http://purl.org/rss/1.0/{name}"));
    let rdf_type = NamedNode::from(rdf::TYPE);
    let triple = |subject: &NamedNode, predicate: NamedNode, object: Term| {
        Quad::new(subject.clone(), predicate, object, GraphName::DefaultGraph)
    };
    let (feed, one, two) = (page.graph_name(), node("http://example.org/1"), node("urn:two"));
    let quads = vec![
        triple(&feed, rdf_type.clone(), rss("channel").into()),
        triple(&feed, rss("link"), node("http://example.org/home").into()),
        triple(&one, rdf_type.clone(), rss("item").into()),
        triple(&one, rss("link"), one.clone().into()),
        triple(&one, rss("title"), Literal::new_simple_literal("One").into()),
        triple(&one, node("http://schema.org/associatedMedia"), node("http://example.org/a").into()),
        triple(&two, rdf_type, rss("item").into()),
        // RSS 1.0 itself has the address as text.
        triple(&two, rss("link"), Literal::new_simple_literal("http://example.org/2").into()),
    ];
    let graph = PageGraph { quads, ..PageGraph::default() };
    let extracted = extract_links(&page, 0, &graph, &LinkRules::default());
    let links: Vec<_> =
        extracted.links.iter().map(|link| (link.url.as_str(), link.anchor.as_deref())).collect();
    assert_eq!(links, [("http://example.org/1", Some("One")), ("http://example.org/2", None)]);
}

#[test]
fn a_sitemap_gives_more_links_and_packed_sitemaps() {
    let page = PageUrl::parse("http://example.org/sitemap.xml").unwrap();
    let target =
        |text: &str| Quad::new(page.graph_name(), rdfs::SEE_ALSO, node(text), GraphName::DefaultGraph);
    let quads = vec![
        target("http://example.org/1.xml.gz"),
        target("http://example.org/logo.png"),
        target("http://example.org/2"),
        target("http://example.org/3"),
    ];
    let rules = LinkRules { links_max: 1, listed_links_max: 2, ..LinkRules::default() };
    let mut graph = PageGraph { quads, lists_links: true, ..PageGraph::default() };
    let links = |graph: &PageGraph| -> Vec<String> {
        extract_links(&page, 0, graph, &rules).links.into_iter().map(|link| link.url.into()).collect()
    };
    assert_eq!(links(&graph), ["http://example.org/1.xml.gz", "http://example.org/2"]);
    graph.lists_links = false;
    assert_eq!(links(&graph), ["http://example.org/2"]);
}
