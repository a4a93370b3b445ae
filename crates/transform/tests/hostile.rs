//! Pages that mean harm: nothing may hang, overflow, or exhaust memory, and what was cut is said.

#![expect(clippy::unwrap_used, reason = "the helpers are tests too")]

use std::time::{Duration, Instant};

use bytes::Bytes;
use proptest::prelude::*;
use webloom_detect::{detect, detect_bytes};
use webloom_model::{DetectedPage, DocumentKind, FetchedPage, PageGraph, PageUrl};
use webloom_transform::{Limits, TransformConfig, transform};

fn page(content_type: &str, body: impl Into<Bytes>) -> DetectedPage {
    let url = PageUrl::parse("https://example.org/dir/page").unwrap();
    detect(FetchedPage::local(url, Some(content_type), body.into()))
}

/// Transforms, and asserts that it took no longer than `time_max` would allow even a slow machine.
#[track_caller]
fn run(content_type: &str, body: String) -> (PageGraph, Duration) {
    let page = page(content_type, body);
    let start = Instant::now();
    let graph = transform(&page, &TransformConfig::default());
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(10), "{content_type} took {elapsed:?}");
    (graph, elapsed)
}

fn codes(graph: &PageGraph) -> Vec<&str> {
    graph.diagnostics.iter().map(|diagnostic| diagnostic.code.as_ref()).collect()
}

#[test]
fn nested_elements_are_flattened_and_their_links_kept() {
    for name in ["div", "span", "b", "p", "ul><li", "table><tr><td", "svg", "custom-x", "template"] {
        let body = format!("{}<a href=/deep>Deep</a>", format!("<{name}>").repeat(100_000));
        let (graph, elapsed) = run("text/html", body);
        assert!(elapsed < Duration::from_secs(3), "{name} took {elapsed:?}");
        // Deep tables close each other, and what is in a template is no part of the page.
        if !name.starts_with("table") && name != "template" && name != "p" {
            assert_eq!(codes(&graph), ["html-too-deep"], "{name}");
        }
        if name != "template" {
            assert!(graph.plain_links.contains("https://example.org/deep"), "{name}");
        }
    }
}

#[test]
fn a_megabyte_of_divs_takes_no_time() {
    let (graph, elapsed) = run("text/html", "<div>".repeat(200_000));
    assert_eq!(codes(&graph), ["html-too-deep"]);
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
    let (_, elapsed) = run("text/html", "<div>x</div><p>".repeat(70_000));
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
}

#[test]
fn after_the_depths_the_page_goes_on() {
    let deep = format!("{}{}", "<div>".repeat(5000), "</div>".repeat(5000));
    let (graph, _) = run("text/html", format!("<body>{deep}<ul><li><a href=/a>A</a></li></ul><p>text</p>"));
    assert!(graph.plain_links.contains("https://example.org/a"));
    assert_eq!(graph.text.body, "A text");
}

#[test]
fn misnested_formatting_stays_bounded() {
    let mut bodies = vec![
        "<a><b>".repeat(50_000),
        "<a href=/x><div>".repeat(50_000),
        "<b><p></b>".repeat(50_000),
        "<table><b>".repeat(50_000),
        "<table><tr><td><table>".repeat(20_000),
        "<p><i></p>".repeat(50_000),
        "</p>".repeat(200_000),
        "<select><option>".repeat(50_000),
        "<frameset>".repeat(50_000),
        "<svg><foreignObject><div>".repeat(20_000),
        "<math><annotation-xml encoding=text/html>".repeat(20_000),
        "<html a=1><body b=2>".repeat(50_000),
        "<form><input>".repeat(50_000),
        "<!--".repeat(200_000),
        "<!-->".repeat(100_000),
        "&amp".repeat(200_000),
        "<nobr>".repeat(50_000),
        "<button>".repeat(50_000),
    ];
    let distinct: String = (0..20_000).map(|n| format!("<p><font a={n}>x</p>")).collect();
    bodies.push(distinct);
    let tables: String = (0..20_000).map(|n| format!("<table><font b={n}>x")).collect();
    bodies.push(tables);
    bodies.push(format!("{}{}", "<div>".repeat(500), "<div></div>".repeat(100_000)));
    bodies.push(format!("{}{}", "<b><div>".repeat(200), "</b>".repeat(100_000)));
    for body in bodies {
        let start: String = body.chars().take(24).collect();
        let (_, elapsed) = run("text/html", body);
        assert!(elapsed < Duration::from_secs(4), "{start} took {elapsed:?}");
    }
}

#[test]
fn attributes_without_end_are_cut() {
    let attributes: String = (0..150_000).map(|n| format!(" a{n}")).collect();
    let (graph, elapsed) = run("text/html", format!("<a href=/a{attributes}>A</a><a href=/b>B</a>"));
    assert!(elapsed < Duration::from_secs(4), "{elapsed:?}");
    assert!(
        codes(&graph).contains(&"html-attributes") || codes(&graph).contains(&"html-cut"),
        "{:?}",
        codes(&graph)
    );
    let few: String = (0..300).map(|n| format!(" a{n}")).collect();
    let (graph, _) = run("text/html", format!("<a href=/a{few}>A</a><a href=/b>B</a>"));
    assert_eq!(codes(&graph), ["html-attributes"]);
    assert_eq!(graph.plain_links.len(), 2);
}

#[test]
fn limits_cut_where_they_say() {
    let mut limits = Limits { html_nodes_max: 100, ..Limits::default() };
    let body = "<a href=/a>x</a><p>".to_owned() + &"<i>y</i>".repeat(1000);
    let run_with = |limits: &Limits, content_type: &str, body: &str| {
        let config = TransformConfig { limits: limits.clone(), ..TransformConfig::default() };
        transform(&page(content_type, body.to_owned()), &config)
    };
    let graph = run_with(&limits, "text/html", &body);
    assert_eq!(codes(&graph), ["html-cut"]);
    assert!(graph.plain_links.contains("https://example.org/a"));

    limits = Limits { html_steps_max: 2000, ..Limits::default() };
    assert_eq!(codes(&run_with(&limits, "text/html", &body)), ["html-cut"]);
    limits = Limits { time_max: Duration::ZERO, ..Limits::default() };
    assert_eq!(codes(&run_with(&limits, "text/html", &body)), ["html-cut"]);
    assert_eq!(codes(&run_with(&limits, "application/ld+json", r#"{"@id":"urn:x"}"#)), ["json-ld-cut"]);

    limits = Limits { quads_max: 3, ..Limits::default() };
    let graph = run_with(&limits, "text/turtle", &"<a> <b> <c> . ".repeat(10));
    assert_eq!((graph.quads.len(), codes(&graph)), (3, vec!["quads-cut"]));
    let many: String = (0..10).map(|n| format!(r#"{{"@id":"urn:{n}","urn:p":1}},"#)).collect();
    let graph = run_with(&limits, "application/ld+json", &format!("[{many}{{}}]"));
    assert_eq!((graph.quads.len(), codes(&graph)), (3, vec!["quads-cut"]));
    limits = Limits { graph_bytes_max: 1500, ..Limits::default() };
    let graph = run_with(
        &limits,
        "text/turtle",
        &format!("<a> <b> \"{}\", \"{}\" .", "x".repeat(600), "y".repeat(600)),
    );
    assert_eq!((graph.quads.len(), codes(&graph)), (1, vec!["quads-cut"]));

    limits = Limits { links_max: 5, ..Limits::default() };
    let links: String = (0..10).map(|n| format!("<a href=/{n}>x</a>")).collect();
    let graph = run_with(&limits, "text/html", &links);
    assert_eq!((graph.plain_links.len(), codes(&graph)), (5, vec!["html-links-cut"]));

    limits = Limits { diagnostics_max: 3, ..Limits::default() };
    let graph = run_with(&limits, "text/turtle", &"rubbish .\n".repeat(50));
    assert_eq!(graph.diagnostics.len(), 4);
    assert_eq!(graph.diagnostics[3].code, "more-diagnostics");
}

#[test]
fn json_is_counted_before_it_is_read() {
    for (body, code) in [
        (
            format!("{{\"@id\":\"urn:x\",\"urn:p\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000)),
            "json-ld-too-deep",
        ),
        (
            "{\"@context\":{\"@vocab\":\"urn:\"},\"p\":".to_owned() + &"{\"p\":".repeat(200),
            "json-ld-too-deep",
        ),
        (format!("{{\"@id\":\"{}\"}}", "x".repeat(9 << 20)), "json-ld-too-large"),
    ] {
        let (graph, _) = run("application/ld+json", body);
        assert_eq!(codes(&graph), [code]);
    }
    let wide: String = (0..60_000).map(|n| format!("\"p{n}\":{n},")).collect();
    let (graph, elapsed) = run(
        "application/ld+json",
        format!("{}{{{wide}\"@id\":\"urn:z\"}}{}", "{\"urn:p\":".repeat(97), "}".repeat(97)),
    );
    assert!(codes(&graph).is_empty(), "{:?}", codes(&graph));
    assert!(elapsed < Duration::from_secs(1), "{elapsed:?}");
    // As deep as is allowed, and wide at the bottom.
    let leaves: String = (0..2000).map(|n| format!("\"p{n}\":{n},")).collect();
    let body = format!(
        "{{\"@context\":{{\"@vocab\":\"urn:\"}},\"p\":{}{{{leaves}\"z\":1}}{}}}",
        "{\"p\":".repeat(97),
        "}".repeat(97)
    );
    let (graph, elapsed) = run("application/ld+json", body);
    assert_eq!(graph.quads.len(), 2001 + 98, "{:?}", graph.diagnostics);
    assert!(elapsed < Duration::from_secs(3), "{elapsed:?}");
}

#[test]
fn many_blocks_are_as_cheap_as_one() {
    let block = r#"<script type="application/ld+json">{"@context":"https://schema.org","@type":"Thing","name":"x"}</script>"#;
    let (graph, elapsed) = run("text/html", block.repeat(5000));
    assert!(graph.quads.len() > 1000);
    assert!(elapsed < Duration::from_secs(4), "{elapsed:?}");
}

#[test]
fn entity_bombs_are_refused() {
    let mut bomb = "<!DOCTYPE r [<!ENTITY l0 \"ha\">".to_owned();
    for level in 1..30 {
        bomb.push_str(&format!("<!ENTITY l{level} \"&l{0};&l{0};&l{0};&l{0};\">", level - 1));
    }
    bomb.push_str("]><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='urn:'><rdf:Description><e:p>&l29;</e:p></rdf:Description></rdf:RDF>");
    let (graph, _) = run("application/rdf+xml", bomb);
    assert_eq!(codes(&graph), ["rdf-xml-entities"]);
}

#[test]
fn rdf_of_one_kind_of_token_ends() {
    for body in [
        "[".repeat(100_000),
        "( ".repeat(100_000),
        "<a> <b> [ <c> ".repeat(50_000),
        "@prefix a: <b> . ".repeat(50_000),
        "\"\"\"".repeat(100_000),
        "_:a ".repeat(100_000),
    ] {
        for content_type in
            ["text/turtle", "application/trig", "application/n-triples", "application/n-quads"]
        {
            run(content_type, body.clone());
        }
    }
    let head = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:e='urn:e:'>";
    for body in [
        format!("{head}{}", "<e:a>".repeat(200_000)),
        format!("{head}{}", "<e:a rdf:ID='x' rdf:about='y'/>".repeat(30_000)),
        format!("{head}<e:a><e:p rdf:parseType='Literal'>{}", "<b>".repeat(200_000)),
        format!("{head}{}", (0..20_000).map(|n| format!("<e:a xmlns:n{n}='urn:{n}'>")).collect::<String>()),
        format!("{head}{}", "</e:a>".repeat(1000)),
        format!("{head}{}", "<".repeat(100_000)),
        format!("{head}{}", "<!--".repeat(100_000)),
    ] {
        run("application/rdf+xml", body);
    }
}

/// Every kind read from the same bytes, whatever detection would say of them.
fn transform_as(kind: DocumentKind, body: &[u8]) -> PageGraph {
    let mut detection = detect_bytes(None, None, body);
    detection.kind = kind;
    let url = PageUrl::parse("https://example.org/dir/page").unwrap();
    let page = FetchedPage::local(url, None, Bytes::copy_from_slice(body));
    transform(&DetectedPage { page, detection, unpacked: None }, &TransformConfig::default())
}

fn check_graph(kind: DocumentKind, body: &[u8]) {
    let graph = transform_as(kind, body);
    let again = transform_as(kind, body);
    assert_eq!(graph.quads, again.quads);
    assert_eq!(graph.diagnostics, again.diagnostics);
    for quad in &graph.quads {
        let line = format!("{quad} .\n");
        assert!(!line.trim_end().contains('\n'));
        // What was written must be readable: no invalid IRI or tag has come through.
        let read: Vec<_> = oxttl::NQuadsParser::new().for_slice(&line).collect();
        assert!(matches!(read.as_slice(), [Ok(read)] if read == quad), "{line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        for kind in DocumentKind::ALL {
            check_graph(kind, &body);
        }
    }

    #[test]
    fn random_html_never_panics(
        body in r#"(<(a|b|p|div|table|tr|td|svg|math|template|select|option|script|title|base|meta|link|img|form|frameset|body|html|font|mi|desc)( (href|src|rel|lang|name|content|type|alt)=("[^"]{0,12}"|[a-z:/#?%.]{0,10}))?/?>|</(a|b|p|div|table|svg|template|select|script|body|html|font)>|[a-z &;é<"]{0,6}|<!--|-->|<!\[CDATA\[|\]\]>){0,60}"#,
    ) {
        check_graph(DocumentKind::Html, body.as_bytes());
    }

    #[test]
    fn random_json_ld_never_panics(
        value in json(),
    ) {
        check_graph(DocumentKind::JsonLd, value.as_bytes());
    }

    #[test]
    fn random_turtle_never_panics(
        body in r#"(<[a-z:#/]{0,6}> |"[a-zé\\]{0,4}"(@en|\^\^<a:b>)? |_:[ab] |[.;,\[\](){}] |a |@prefix b: <c:d> \. |b:[x%.]{0,3} |[0-9.e-]{1,4} |true |'''){0,40}"#,
    ) {
        for kind in [DocumentKind::Turtle, DocumentKind::TriG, DocumentKind::NTriples, DocumentKind::NQuads] {
            check_graph(kind, body.as_bytes());
        }
    }

    #[test]
    fn random_rdf_xml_never_panics(
        body in r#"(<!DOCTYPE r \[(<!ENTITY e ("x&#38;"|'y')>){0,2}\]>)?(<rdf:RDF xmlns:rdf="http://www\.w3\.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:">)?((<e:[ab]( rdf:(about|ID|nodeID|resource|parseType|datatype|li)="(x|Literal|Resource|Collection|urn:x|\[)")?( e:c="&e;")?/?>|<rdf:(Description|li|Bag)>|</e:[ab]>|</rdf:(Description|li|Bag|RDF)>|[a-z &;é]{0,4}|&e;|<!--|-->|<!\[CDATA\[|\]\]>|<\?x \?>){0,25})"#,
    ) {
        check_graph(DocumentKind::RdfXml, body.as_bytes());
    }
}

/// JSON of the words JSON-LD gives meaning to, mostly in the wrong places.
fn json() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "@context",
        "@id",
        "@type",
        "@value",
        "@list",
        "@set",
        "@graph",
        "@language",
        "@reverse",
        "@index",
        "@container",
        "@vocab",
        "@base",
        "@included",
        "@nest",
        "@json",
        "@none",
        "@direction",
        "@import",
        "@version",
        "@propagate",
        "@protected",
        "@prefix",
        "name",
        "urn:p",
        "x:y",
        "x",
        "",
    ]);
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("1.1".to_owned()),
        key.clone().prop_map(|key| format!("\"{key}\"")),
        prop::sample::select(vec![
            "\"urn:x\"",
            "\"_:b\"",
            "\"https://schema.org\"",
            "\"en\"",
            "\"é \\u0000\"",
            "\"#a b\""
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key.clone(), inner), 0..5).prop_map(|entries| {
                let entries: Vec<String> =
                    entries.into_iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", entries.join(","))
            }),
        ]
    })
}

#[test]
fn namespaces_do_not_swell_literals() {
    let namespaces: String = (0..900).map(|n| format!("xmlns:n{n}='urn:{n}' ")).collect();
    let rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
    let literal = "<b/>".repeat(1_000_000);
    let body = format!(
        "<r:RDF xmlns:r='{rdf}' {namespaces}><r:Description r:about='urn:a'><r:value r:parseType='Literal'>{literal}</r:value>\
         </r:Description></r:RDF>"
    );
    let (graph, elapsed) = run("application/rdf+xml", body);
    assert_eq!(codes(&graph), ["rdf-xml-namespaces"]);
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
    let deep = "<b xmlns:x='urn:x' x:y='z'>".repeat(50_000) + &"</b>".repeat(50_000);
    let body = format!(
        "<r:RDF xmlns:r='{rdf}'><r:Description r:about='urn:a'><r:value r:parseType='Literal'>{deep}</r:value></r:Description></r:RDF>"
    );
    let (graph, elapsed) = run("application/rdf+xml", body);
    assert_eq!(graph.quads.len(), 1);
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
}
