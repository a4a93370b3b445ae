//! Pages in, N-Quads out, through the front door.

#![expect(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "the helpers are tests too")]

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use expect_test::{Expect, expect};
use webloom_detect::detect;
use webloom_model::{DetectedPage, FetchedPage, PageGraph, PageUrl};
use webloom_transform::{ContextSource, Syntax, TransformConfig, transform};

const PAGE: &str = "https://example.org/dir/page";

fn run(content_type: &str, body: &str, config: &TransformConfig) -> PageGraph {
    let url = PageUrl::parse(PAGE).unwrap();
    let page = detect(FetchedPage::local(url, Some(content_type), Bytes::from(body.to_owned())));
    transform(&page, config)
}

/// Quads in the order they came, then what was wrong, with the page and common namespaces shortened.
fn show(graph: &PageGraph) -> String {
    let mut lines: Vec<String> = graph.quads.iter().map(|quad| format!("{quad} .")).collect();
    lines.extend(graph.diagnostics.iter().map(|diagnostic| format!("! {diagnostic}")));
    let mut text = lines.join("\n");
    for (namespace, prefix) in [
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
        ("http://www.w3.org/2000/01/rdf-schema#", "rdfs:"),
        ("http://purl.org/dc/terms/", "dct:"),
        ("http://xmlns.com/foaf/0.1/", "foaf:"),
        ("http://www.w3.org/1999/xhtml/vocab#", "xhv:"),
        ("http://schema.org/", "schema:"),
        ("http://www.w3.org/2001/XMLSchema#", "xsd:"),
    ] {
        text = text.replace(namespace, prefix);
    }
    text = text.replace(&format!("<{PAGE}>"), "<>");
    // Blank nodes of this page all begin alike.
    while let Some(start) = text.find("_:b").filter(|start| text.as_bytes().get(start + 19) == Some(&b'n')) {
        text.replace_range(start + 2..start + 20, "");
    }
    text
}

#[track_caller]
fn check(content_type: &str, body: &str, expected: Expect) {
    let graph = run(content_type, body, &TransformConfig::default());
    let again = run(content_type, body, &TransformConfig::default());
    assert_eq!(graph.quads, again.quads, "the same page gave two graphs");
    assert_eq!(graph.diagnostics, again.diagnostics, "the same page gave two sets of findings");
    expected.assert_eq(&show(&graph));
}

#[test]
fn plain_html_says_what_it_always_says() {
    check(
        "text/html",
        r#"<!doctype html><html lang="en-GB"><head><title> Home
           page </title><title>second</title><meta name=Description content="What  it is">
           <link rel="license Next stylesheet icon" href="/by"><link rel=canonical href="https://example.org/dir/page">
           </head><body><h1>Hello</h1><a href="a#top">An <b>anchor</b></a><a href='a#bottom'>Again</a> <a href="a">An  anchor</a>
           <a href='#self'>self</a><a href="page">self too</a><a href="http://other.example/x y">Other</a>
           <a href="javascript:void(0)">no</a><a href="mailto:Ada@example.org?subject=Hi">mail</a><a href="tel:1">t</a>
           <img src=/i.png alt=pic><img src="data:image/png;base64,xx"><img src=/i.png>
           <a href=/shop rel="nofollow">Shop</a><a href=/b rel="Next nofollow"><img src=n.gif alt="Next page"></a><a href=/b>b</a>
           <map><area href=/area alt=Area></map><iframe src=/frame title=Frame></iframe></body></html>"#,
        expect![[r#"
            <> <rdf:type> <foaf:Document> .
            <> <dct:title> "Home page"@en-gb .
            <> <dct:description> "What it is"@en-gb .
            <> <dct:language> "en-GB" .
            <> <rdfs:seeAlso> <https://example.org/dir/a> .
            <https://example.org/dir/a> <rdfs:label> "An anchor"@en-gb .
            <https://example.org/dir/a> <rdfs:label> "Again"@en-gb .
            <> <rdfs:seeAlso> <http://other.example/x%20y> .
            <http://other.example/x%20y> <rdfs:label> "Other"@en-gb .
            <> <rdfs:seeAlso> <https://example.org/shop> .
            <https://example.org/shop> <rdfs:label> "Shop"@en-gb .
            <> <rdfs:seeAlso> <https://example.org/b> .
            <https://example.org/b> <rdfs:label> "Next page"@en-gb .
            <https://example.org/b> <rdfs:label> "b"@en-gb .
            <> <rdfs:seeAlso> <https://example.org/area> .
            <https://example.org/area> <rdfs:label> "Area"@en-gb .
            <> <rdfs:seeAlso> <https://example.org/frame> .
            <https://example.org/frame> <rdfs:label> "Frame"@en-gb .
            <> <foaf:depiction> <https://example.org/i.png> .
            <> <foaf:depiction> <https://example.org/dir/n.gif> .
            <> <foaf:mbox> <mailto:Ada@example.org> .
            <> <xhv:license> <https://example.org/by> .
            <> <xhv:next> <https://example.org/by> .
            <> <xhv:canonical> <> .
            <> <xhv:next> <https://example.org/b> ."#]],
    );
}

#[test]
fn words_links_and_wishes_are_kept_apart_from_quads() {
    let body = "<html lang=de><title>T</title><meta name=robots content='noindex, NOFOLLOW'><body>\
        <p>Ein<b>s</b> zwei<p>drei<br>vier<script>var x</script><style>s</style><noscript>n</noscript><template>t</template>\
        <ul><li>fünf<li>sechs</ul><a href=/a rel=ugc>a</a><a href=/b rel=sponsored>b</a><a href=/b>b</a><a href=/c>c</a>";
    let graph = run("text/html", body, &TransformConfig::default());
    assert_eq!(graph.text.title.as_deref(), Some("T"));
    assert_eq!(graph.text.body, "Eins zwei drei vier fünf sechs abbc");
    assert_eq!(graph.text.language.as_deref(), Some("de"));
    assert!(graph.robots.noindex && graph.robots.nofollow);
    let sorted = |set: &std::collections::HashSet<String>| set.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(sorted(&graph.nofollow), BTreeSet::from(["https://example.org/a".to_owned()]));
    assert_eq!(graph.plain_links.len(), 3);

    let only = TransformConfig { only: Some(BTreeSet::from([Syntax::JsonLd])), ..TransformConfig::default() };
    let graph = run("text/html", body, &only);
    assert!(graph.quads.is_empty());
    assert_eq!(graph.text.title.as_deref(), Some("T"));
}

/// A page about `?q=тест` in an encoding that its header or itself names.
fn run_in(label: &str, content_type: &str, body: &str) -> (DetectedPage, PageGraph) {
    let (body, _, _) = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(body);
    let url = PageUrl::parse(PAGE).unwrap();
    let page = detect(FetchedPage::local(url, Some(content_type), Bytes::from(body.into_owned())));
    let graph = transform(&page, &TransformConfig::default());
    (page, graph)
}

#[test]
fn queries_are_in_the_encoding_of_the_page() {
    const UTF_8: &str = "%D1%82%D0%B5%D1%81%D1%82";
    const WINDOWS: &str = "%F2%E5%F1%F2";
    const KOI8: &str = "%D4%C5%D3%D4";
    let [html, xhtml] = ["text/html", "application/xhtml+xml"];
    let meta = |charset: &str| format!("<meta charset={charset}>");
    for (label, content_type, head, query) in [
        ("utf-8", "text/html; charset=utf-8", "", UTF_8),
        ("utf-8", html, &*meta("utf-8"), UTF_8),
        ("windows-1251", "text/html; charset=windows-1251", "", WINDOWS),
        ("windows-1251", html, &meta("cp1251"), WINDOWS),
        ("koi8-r", html, &meta("koi8-r"), KOI8),
        // The server's word outranks the page's, and a mark outranks both.
        ("koi8-r", "text/html; charset=koi8-r", &meta("windows-1251"), KOI8),
        ("utf-8", "text/html; charset=windows-1251", "\u{feff}", UTF_8),
        ("windows-1251", xhtml, "<?xml version='1.0' encoding='windows-1251'?>", WINDOWS),
    ] {
        let body = format!(
            "{head}<html xmlns='http://www.w3.org/1999/xhtml'><head><title>т</title>\
             <link rel='next' href='/next?q=тест'/></head><body>\
             <a href='/тест?q=тест#тест'>тест</a><img src='i?q=тест'/><iframe src='f?q=тест'></iframe></body></html>"
        );
        let (page, graph) = run_in(label, content_type, &body);
        let quads: Vec<String> = graph.quads.iter().map(ToString::to_string).collect();
        for expected in [
            format!("http://www.w3.org/2000/01/rdf-schema#seeAlso> <https://example.org/{UTF_8}?q={query}>"),
            format!("http://xmlns.com/foaf/0.1/depiction> <https://example.org/dir/i?q={query}>"),
            format!("http://www.w3.org/1999/xhtml/vocab#next> <https://example.org/next?q={query}>"),
            format!(
                "<https://example.org/{UTF_8}?q={query}> <http://www.w3.org/2000/01/rdf-schema#label> \"тест\""
            ),
        ] {
            assert!(
                quads.iter().any(|quad| quad.contains(&expected)),
                "{label} {content_type} {head}: {expected} in {quads:#?}"
            );
        }
        // The quads, the links that are followed and the links that are read from the tags name the same.
        let targets = [
            format!("https://example.org/{UTF_8}?q={query}"),
            format!("https://example.org/dir/f?q={query}"),
        ];
        assert_eq!(graph.plain_links, targets.iter().cloned().collect(), "{label} {content_type} {head}");
        if let Some(scanned) = webloom_transform::html::links::links(&page, &TransformConfig::default()) {
            let scanned: Vec<&str> = scanned.links.iter().map(|link| link.target.as_str()).collect();
            assert_eq!(scanned, targets, "{label} {content_type} {head}");
        }
    }
}

#[test]
fn a_base_has_the_encoding_of_the_page_and_data_where_its_specification_says_so() {
    let body = "<meta charset=windows-1251><base href='/?q=тест'><a href=''>same</a><a href='#x'>same</a>\
         <p itemscope itemid='?id=тест#me'><a itemprop='http://v.example/url' href='/тест?q=тест#тест'>m</a></p>\
         <p class=h-card><a class=u-url href='?card=тест'>Ann</a></p>\
         <p about='?rdfa=тест'><a rel='http://v.example/rdfa' href='/тест?q=тест'>r</a></p>\
         <script type='application/ld+json'>{\"@id\": \"?json=тест\", \"http://v.example/json\": 1}</script>";
    let (page, graph) = run_in("windows-1251", "text/html", body);
    let quads: Vec<String> = graph.quads.iter().map(ToString::to_string).collect();
    for expected in [
        "seeAlso> <https://example.org/?q=%F2%E5%F1%F2>",
        "<https://example.org/?id=%F2%E5%F1%F2#me> <http://v.example/url> <https://example.org/%D1%82%D0%B5%D1%81%D1%82?q=%F2%E5%F1%F2#тест>",
        "<https://example.org/?card=%F2%E5%F1%F2>",
        "<https://example.org/?rdfa=тест> <http://v.example/rdfa> <https://example.org/тест?q=тест>",
        "<https://example.org/?json=тест> <http://v.example/json>",
    ] {
        assert!(quads.iter().any(|quad| quad.contains(expected)), "{expected} in {quads:#?}");
    }
    let scanned = webloom_transform::html::links::links(&page, &TransformConfig::default()).unwrap();
    assert_eq!(scanned.links[0].target.as_str(), "https://example.org/?q=%F2%E5%F1%F2");
}

#[test]
fn what_is_shown_instead_of_a_page_is_told() {
    for (body, expected) in [
        ("<a href=/a>A</a><iframe src=/b></iframe>", &[][..]),
        ("<frameset><frame src=/a><frame src=/b><frame src=/a></frameset>", &["/a", "/b"]),
        ("<meta http-equiv=refresh content='0; /a'><p>Moved <a href=/a>there</a>", &["/a"]),
        // To see the same again is to see nothing else.
        ("<meta http-equiv=refresh content='5; /dir/page'>", &[]),
    ] {
        let graph = run("text/html", body, &TransformConfig::default());
        let expected: Vec<String> =
            expected.iter().map(|path| format!("https://example.org{path}")).collect();
        assert_eq!(graph.shown_instead, expected, "{body}");
    }
}

#[test]
fn where_a_page_refreshes_to_is_told() {
    for (body, expected) in [
        ("<meta http-equiv=Refresh content='0; url=/new'><a href=/a>a</a>", Some("https://example.org/new")),
        (
            "<a href=/a>a</a><meta http-equiv=refresh content='9, /b'><meta http-equiv=refresh content='0;/c'>",
            Some("https://example.org/b"),
        ),
        ("<meta http-equiv=refresh content=300><a href=/a>a</a>", None),
        ("<meta http-equiv=refresh content='5; url='><meta name=refresh content='0; url=/no'>", None),
        ("<meta http-equiv=refresh content='0; url=mailto:a@b.example'>", None),
        // What is to be read first, and what browsers do not see.
        ("<meta http-equiv=refresh content='300; url=/next'>", None),
        ("<noscript><meta http-equiv=refresh content='0; url=/no-script'></noscript>", None),
        ("x<noscript><div><meta http-equiv=refresh content='0; url=/no-script'></div></noscript>", None),
    ] {
        let graph = run("text/html", body, &TransformConfig::default());
        assert_eq!(graph.refresh.as_ref().map(PageUrl::as_str), expected, "{body}");
    }
}

#[test]
fn base_language_and_refresh_count() {
    check(
        "text/html",
        "<base target=x><base href='https://cdn.example/a/'><base href=/no><meta http-equiv=Content-Language content=fr>\
         <meta http-equiv=refresh content=\"0; URL='next.html'\"><body><a href=b>B</a><a href='//x.example'>X</a>",
        expect![[r#"
            <> <rdf:type> <foaf:Document> .
            <> <dct:language> "fr" .
            <> <rdfs:seeAlso> <https://cdn.example/a/next.html> .
            <> <rdfs:seeAlso> <https://cdn.example/a/b> .
            <https://cdn.example/a/b> <rdfs:label> "B" .
            <> <rdfs:seeAlso> <https://x.example/> .
            <https://x.example/> <rdfs:label> "X" ."#]],
    );
}

#[test]
fn wild_references_are_made_valid_or_counted() {
    check(
        "text/html",
        "<html lang='not a tag!'><title></title><a href='/a|b?c[]=\"d\"'>x</a><a href='http://exa mple/'>y</a><a href='http://['>z</a>\
         <a href='  /s  p\n'>s</a><a href=''>e</a><a href>f</a><img src=''><a href='mailto:'>m</a><a href='mailto:a b@c'>n</a>\
         <link rel=license href='urn:isbn:1'><link rel=license href='javascript:x'>",
        expect![[r#"
            <> <rdf:type> <foaf:Document> .
            <> <rdfs:seeAlso> <https://example.org/a%7Cb?c%5B%5D=%22d%22> .
            <https://example.org/a%7Cb?c%5B%5D=%22d%22> <rdfs:label> "x" .
            <> <rdfs:seeAlso> <https://example.org/s%20%20p> .
            <https://example.org/s%20%20p> <rdfs:label> "s" .
            <> <xhv:license> <urn:isbn:1> .
            <> <xhv:license> <javascript:x> .
            ! note: line 1: `http://exa mple/` is not a usable reference, nor are 3 others [html-bad-reference]"#]],
    );
}

#[test]
fn json_ld_blocks_stand_alone() {
    check(
        "text/html",
        r#"<title>T</title>
<script type="application/ld+json">{"@context": "https://schema.org", "@type": "Person", "name": "Ada", "image": "/a.png",
  "birthDate": "1815-12-10", "knows": {"@type": ["Person", "Thing"], "jobTitle": "x", "url": "http://c.example/"}}</script>
<script type="application/ld+json">
{"@context": "https://schema.org",
 "name": }</script>
<script type='Application/LD+JSON; charset=utf-8'><!-- [{"@context": {"@vocab": "urn:v:"}, "@id": "_:x", "p": {"@id": "_:y"}}] --></script>
<script type="application/ld+json">{"@context": {"@vocab": "urn:v:"}, "@id": "_:x", "p": [1, 2.5, true, null, {"@list": ["a"]}]}</script>
<script type="application/ld+json">{"@context": "https://unknown.example/context", "name": "lost"}</script>
<script type="application/json">{"@id": "urn:x", "urn:p": "not JSON-LD"}</script>
<script type="application/ld+json"></script>"#,
        expect![[r#"
            <> <rdf:type> <foaf:Document> .
            <> <dct:title> "T" .
            _:0 <rdf:type> <schema:Person> .
            _:0 <schema:name> "Ada" .
            _:0 <schema:image> <https://example.org/a.png> .
            _:0 <schema:birthDate> "1815-12-10"^^<schema:Date> .
            _:0 <schema:knows> _:1 .
            _:1 <rdf:type> <schema:Person> .
            _:1 <rdf:type> <schema:Thing> .
            _:1 <schema:jobTitle> "x" .
            _:1 <schema:url> <http://c.example/> .
            _:2 <urn:v:p> _:3 .
            _:4 <urn:v:p> "1"^^<xsd:integer> .
            _:4 <urn:v:p> "2.5E0"^^<xsd:double> .
            _:4 <urn:v:p> "true"^^<xsd:boolean> .
            _:4 <urn:v:p> _:5 .
            _:5 <rdf:first> "a" .
            _:5 <rdf:rest> <rdf:nil> .
            ! warning: line 6: broken JSON, repaired: left out members without a value [json-ld-repaired]
            ! error: line 9: the context <https://unknown.example/context> is not known, block left out [json-ld-context]"#]],
    );
}

#[test]
fn schema_org_context_means_what_it_means() {
    for context in [
        r#""http://schema.org""#,
        r#""https://schema.org/""#,
        r#""schema.org""#,
        r#"["https://schema.org", {"@language": "en"}, {"@language": null}]"#,
        r#"["https://schema.org", {"@vocab": "urn:other:"}]"#,
        r#"{"@import": "https://schema.org/docs/jsonldcontext.jsonld"}"#,
    ] {
        let body = format!(
            r#"{{"@context": {context}, "id": "x", "type": "Person", "name": "Ada", "sameAs": "https://a.example/", "schema:email": "a"}}"#
        );
        let graph = run("application/ld+json", &body, &TransformConfig::default());
        let expected = expect![[r#"
            <https://example.org/dir/x> <rdf:type> <schema:Person> .
            <https://example.org/dir/x> <schema:name> "Ada" .
            <https://example.org/dir/x> <schema:sameAs> <https://a.example/> .
            <https://example.org/dir/x> <schema:email> "a" ."#]];
        expected.assert_eq(&show(&graph));
    }
}

#[derive(Debug)]
struct Fixed;

impl ContextSource for Fixed {
    fn context(&self, iri: &str) -> Option<Arc<str>> {
        match iri {
            "https://ctx.example/a" => {
                Some(r#"{"@context": ["https://schema.org", {"label": "name"}]}"#.into())
            }
            "https://ctx.example/deep" => Some(format!("{{\"@context\": {}", "[".repeat(5000)).into()),
            "https://ctx.example/loop" => {
                Some(r#"{"@context": ["https://ctx.example/loop", "https://ctx.example/loop"]}"#.into())
            }
            "https://ctx.example/not-json" => Some("<html>".into()),
            _ => None,
        }
    }
}

#[test]
fn contexts_come_from_the_configuration() {
    let config = TransformConfig { contexts: Arc::new(Fixed), ..TransformConfig::default() };
    let mut shown = Vec::new();
    for context in ["a", "deep", "loop", "not-json"] {
        let body = format!(
            r#"{{"@context": "https://ctx.example/{context}", "@id": "x", "label": "L", "urn:p": 1}}"#
        );
        shown.push(show(&run("application/ld+json", &body, &config)));
    }
    expect![[r#"
        <https://example.org/dir/x> <schema:name> "L" .
        <https://example.org/dir/x> <urn:p> "1"^^<xsd:integer> .
        --
        ! error: line 1: the context <https://ctx.example/deep> cannot be read: nested deeper than 100, block left out [json-ld-context]
        --
        ! error: line 1: contexts name each other more than 8 deep, block left out [json-ld-context]
        --
        ! error: line 1: the context <https://ctx.example/not-json> cannot be read: found '<' where a value was expected, block left out [json-ld-context]"#]]
    .assert_eq(&shown.join("\n--\n"));
}

#[test]
fn rdf_documents_keep_what_parses() {
    check(
        "text/turtle",
        "@prefix : <#> .\n:a :b <c>, \"d\"@en, [ :e _:f ] .\n:a :broken broken .\n:g :h _:f .\n:i :j <not an iri> .\n:k :l ( 1 ) .",
        expect![[r#"
            <https://example.org/dir/page#a> <https://example.org/dir/page#b> <https://example.org/dir/c> .
            <https://example.org/dir/page#a> <https://example.org/dir/page#b> "d"@en .
            _:0 <https://example.org/dir/page#e> _:1 .
            <https://example.org/dir/page#a> <https://example.org/dir/page#b> _:0 .
            <https://example.org/dir/page#g> <https://example.org/dir/page#h> _:1 .
            _:2 <rdf:first> "1"^^<xsd:integer> .
            <https://example.org/dir/page#k> <https://example.org/dir/page#l> _:2 .
            _:2 <rdf:rest> <rdf:nil> .
            ! warning: line 3: broken is not a valid RDF object [turtle-syntax]
            ! warning: line 5: invalid IRI code point ' ' [turtle-syntax]"#]],
    );
    check(
        "application/trig",
        "GRAPH <g> { _:x <p> _:y } <s> <p> _:x . _:g { <s> <p> <o> }",
        expect![[r#"
        _:0 <https://example.org/dir/p> _:1 <https://example.org/dir/g> .
        <https://example.org/dir/s> <https://example.org/dir/p> _:0 .
        <https://example.org/dir/s> <https://example.org/dir/p> <https://example.org/dir/o> _:2 ."#]],
    );
    check(
        "application/n-triples",
        "<urn:a> <urn:b> _:c .\nrubbish\n_:c <urn:b> \"\\u00e9\" .\n",
        expect![[r#"
            <urn:a> <urn:b> _:0 .
            _:0 <urn:b> "é" .
            ! warning: line 2: the subject of a triple must be an IRI or a blank node [n-triples-syntax]"#]],
    );
    // A mistake costs its line and no other, even where a quote is missing.
    check(
        "application/n-triples",
        "<urn:a> <urn:b> _:c .\r\n<urn:a> <urn:b> \"no end .\r\n\r\n_:c <urn:b> \"d\" .\n<urn:a> <urn:b> <no .\n<urn:a> <urn:b> <urn:e> .\n\"",
        expect![[r#"
            <urn:a> <urn:b> _:0 .
            _:0 <urn:b> "d" .
            <urn:a> <urn:b> <urn:e> .
            ! warning: line 2: line jumps are not allowed in string literals, use \n [n-triples-syntax]
            ! warning: line 5: invalid IRI code point ' ' [n-triples-syntax]
            ! warning: line 7: unexpected end of file [n-triples-syntax]"#]],
    );
    check(
        "application/n-quads",
        "_:a <urn:b> _:c _:g .\n<urn:a> <urn:b> <urn:c> <urn:g> .",
        expect![[r#"
        _:0 <urn:b> _:1 _:2 .
        <urn:a> <urn:b> <urn:c> <urn:g> ."#]],
    );
}

#[test]
fn rdf_xml_documents_keep_what_parses() {
    check(
        "application/rdf+xml",
        r#"<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE rdf:RDF [
  <!ENTITY ex 'http://ex.example/'>
  <!ENTITY deep "&ex;deep#">
  <!ENTITY quoted 'say "x" &#60; y'>
  <!ENTITY % parameter SYSTEM "file:///etc/passwd">
  <!ENTITY outside SYSTEM "file:///etc/passwd">
]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:ex="&ex;" xml:lang="en">
  <rdf:Description rdf:about="&deep;a" rdf:ID="not-both">
    <ex:p>lost</ex:p>
  </rdf:Description>
  <rdf:Description rdf:about="&deep;b"><ex:p>&quoted; é</ex:p><ex:q rdf:resource="rel"/><ex:r rdf:parseType="Resource"><ex:s/></ex:r></rdf:Description>
  <rdf:Description rdf:nodeID="n"><ex:t rdf:nodeID="n"/></rdf:Description>
</rdf:RDF>"#,
        expect![[r#"
            <http://ex.example/deep#b> <http://ex.example/p> "say \"x\" < y Ã©"@en .
            <http://ex.example/deep#b> <http://ex.example/q> <https://example.org/dir/rel> .
            <http://ex.example/deep#b> <http://ex.example/r> _:0 .
            _:0 <http://ex.example/s> ""@en .
            _:1 <http://ex.example/t> _:1 .
            ! warning: line 10: not both rdf:ID and rdf:resource could be set at the same time [rdf-xml-syntax]"#]],
    );
    // RSS 1.0 is RDF/XML.
    check(
        "application/rss+xml",
        r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><item rdf:about="http://a.example/"><title>A</title></item></rdf:RDF>"#,
        expect![[r#"
            <http://a.example/> <rdf:type> <http://purl.org/rss/1.0/item> .
            <http://a.example/> <http://purl.org/rss/1.0/title> "A" ."#]],
    );
    check(
        "application/rdf+xml",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><a><b></a>",
        expect!["! warning: line 1: XML namespaces are required in RDF/XML [rdf-xml-syntax]"],
    );
}

#[test]
fn kinds_without_a_reader_give_nothing() {
    for (content_type, body) in [("application/xml", "<x/>"), ("image/png", "\u{1}\u{2}"), ("text/html", "")]
    {
        let graph = run(content_type, body, &TransformConfig::default());
        assert!(graph.quads.is_empty() && graph.diagnostics.is_empty(), "{content_type}");
    }
}

#[test]
fn malformed_bytes_are_named() {
    let url = PageUrl::parse(PAGE).unwrap();
    let page = FetchedPage::local(
        url,
        Some("text/html; charset=utf-8"),
        Bytes::from_static(b"<title>caf\xe9</title>"),
    );
    let graph = transform(&detect(page), &TransformConfig::default());
    assert_eq!(graph.text.title.as_deref(), Some("caf\u{fffd}"));
    assert_eq!(graph.diagnostics[0].code, "invalid-encoding");
}

#[test]
fn blank_nodes_are_the_pages_own() {
    let blank = |url: &str| {
        let page = FetchedPage::local(
            PageUrl::parse(url).unwrap(),
            Some("text/turtle"),
            Bytes::from_static(b"[] <urn:p> [] ."),
        );
        transform(&detect(page), &TransformConfig::default()).quads[0].to_string()
    };
    assert_eq!(blank("https://a.example/"), blank("https://a.example/"));
    assert_ne!(blank("https://a.example/"), blank("https://b.example/"));
}
