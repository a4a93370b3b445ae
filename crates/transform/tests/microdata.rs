//! Microdata in, triples out, rule by rule; and pages that would make items without end.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "the helpers are tests too")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use webloom_detect::detect;
use webloom_model::{FetchedPage, PageGraph, PageUrl, Severity};
use webloom_transform::{Limits, Syntax, TransformConfig, transform};

const PAGE: &str = "https://example.org/dir/page";

fn run_with(content_type: &str, body: &str, limits: Limits) -> PageGraph {
    let url = PageUrl::parse(PAGE).unwrap();
    let page = detect(FetchedPage::local(url, Some(content_type), Bytes::from(body.to_owned())));
    let only = Some(BTreeSet::from([Syntax::Microdata]));
    transform(&page, &TransformConfig { only, limits, ..TransformConfig::default() })
}

fn run(body: &str) -> PageGraph {
    run_with("text/html", body, Limits::default())
}

/// Quads in the order they came, then what was wrong, namespaces shortened, blank nodes by their number.
fn show(graph: &PageGraph) -> String {
    let mut text = String::new();
    for quad in &graph.quads {
        writeln!(text, "{quad}").unwrap();
    }
    for diagnostic in &graph.diagnostics {
        writeln!(text, "! {diagnostic}").unwrap();
    }
    for (namespace, prefix) in [
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
        ("http://schema.org/", "schema:"),
        ("http://www.w3.org/2001/XMLSchema#", "xsd:"),
        ("https://example.org/dir/", ""),
    ] {
        text = text.replace(namespace, prefix);
    }
    while let Some(start) = text.find("_:b").filter(|start| text.as_bytes().get(start + 19) == Some(&b'n')) {
        text.replace_range(start + 2..start + 20, "");
    }
    text
}

#[track_caller]
fn check(body: &str, expected: Expect) {
    let graph = run(body);
    assert_eq!(graph.quads, run(body).quads, "the same page gave two graphs");
    expected.assert_eq(&show(&graph));
}

#[test]
fn a_page_without_items_says_nothing() {
    check("<p itemprop=name>Ann</p><a itemref=x itemtype=http://schema.org/Thing>x</a>", expect![[""]]);
}

#[test]
fn types_choose_the_vocabulary_and_untyped_items_inherit_it() {
    check(
        "<div itemscope itemtype='http://schema.org/Person http://xmlns.com/foaf/0.1/Person no-iri'>
           <b itemprop='name  name http://xmlns.com/foaf/0.1/nick'>Ann</b>
           <div itemscope itemprop=knows><i itemprop=name>Bob</i></div>
           <div itemscope itemprop=owns itemtype=http://purl.org/vocab#Thing><i itemprop=label>Hat</i></div>
         </div>
         <div itemscope itemtype=relative><i itemprop=name>Nobody</i></div>",
        expect![[r#"
            _:0 <rdf:type> <schema:Person>
            _:0 <rdf:type> <http://xmlns.com/foaf/0.1/Person>
            _:0 <schema:name> "Ann"
            _:0 <http://xmlns.com/foaf/0.1/nick> "Ann"
            _:0 <schema:knows> _:1
            _:0 <schema:owns> _:2
            _:1 <schema:name> "Bob"
            _:2 <rdf:type> <http://purl.org/vocab#Thing>
            _:2 <http://purl.org/vocab#label> "Hat"
            _:3 <page#name> "Nobody"
        "#]],
    );
}

#[test]
fn itemid_names_the_item() {
    check(
        "<base href=/other/><div itemscope itemid='#me'><i itemprop=a>1</i></div>
         <div itemscope itemid='urn:isbn:1'><i itemprop=a>2</i></div>
         <div itemscope itemid=''><i itemprop=a>3</i></div>
         <div itemscope itemid='http://[bad'><i itemprop=a>4</i></div>",
        expect![[r#"
            <https://example.org/other/#me> <https://example.org/other/#a> "1"
            <urn:isbn:1> <https://example.org/other/#a> "2"
            _:0 <https://example.org/other/#a> "3"
            _:1 <https://example.org/other/#a> "4"
        "#]],
    );
}

#[test]
fn elements_with_urls_give_resources() {
    check(
        "<div itemscope itemtype=http://schema.org/Thing>
         <a itemprop=p href='../a b#c'>a</a><area itemprop=p href=area><link itemprop=p href=mailto:a@b.c>
         <audio itemprop=p src=audio></audio><embed itemprop=p src=embed><iframe itemprop=p src=iframe></iframe>
         <img itemprop=p src=' img '><video itemprop=p src=video><source itemprop=p src=source><track itemprop=p src=track></video>
         <object itemprop=p data=object></object>
         <a itemprop=words>No link</a><a itemprop=empty href>itself</a></div>",
        expect![[r#"
            _:0 <rdf:type> <schema:Thing>
            _:0 <schema:p> <https://example.org/a%20b#c>
            _:0 <schema:p> <area>
            _:0 <schema:p> <mailto:a@b.c>
            _:0 <schema:p> <audio>
            _:0 <schema:p> <embed>
            _:0 <schema:p> <iframe>
            _:0 <schema:p> <img>
            _:0 <schema:p> <video>
            _:0 <schema:p> <source>
            _:0 <schema:p> <track>
            _:0 <schema:p> <object>
            _:0 <schema:words> "No link"
            _:0 <schema:empty> <page>
        "#]],
    );
}

#[test]
fn values_have_the_type_their_element_gives_them() {
    check(
        "<div itemscope itemtype=http://schema.org/Thing lang=en>
         <data itemprop=p value=5>five</data><data itemprop=p value=5.5></data><data itemprop=p value='5 kg'></data>
         <data itemprop=p>7</data><meter itemprop=p value=.5></meter><meter itemprop=p value=high></meter>
         <time itemprop=p>2011-06-28</time><time itemprop=p datetime=2011>x</time><time itemprop=p datetime=2011-06></time>
         <time itemprop=p datetime=PT2H></time><time itemprop=p datetime=10:30:00></time>
         <time itemprop=p datetime=2011-06-28T10:30:00+02:00></time><time itemprop=p datetime=06-28>28 June</time>
         <meta itemprop=p content=meta><span itemprop=p content=content>shown</span><meta itemprop=p></div>",
        expect![[r#"
            _:0 <rdf:type> <schema:Thing>
            _:0 <schema:p> "5"^^<xsd:integer>
            _:0 <schema:p> "5.5"^^<xsd:double>
            _:0 <schema:p> "5 kg"
            _:0 <schema:p> "7"^^<xsd:integer>
            _:0 <schema:p> ".5"^^<xsd:double>
            _:0 <schema:p> "high"
            _:0 <schema:p> "2011-06-28"^^<xsd:date>
            _:0 <schema:p> "2011"^^<xsd:gYear>
            _:0 <schema:p> "2011-06"^^<xsd:gYearMonth>
            _:0 <schema:p> "PT2H"^^<xsd:duration>
            _:0 <schema:p> "10:30:00"^^<xsd:time>
            _:0 <schema:p> "2011-06-28T10:30:00+02:00"^^<xsd:dateTime>
            _:0 <schema:p> "06-28"@en
            _:0 <schema:p> "meta"@en
            _:0 <schema:p> "content"@en
            _:0 <schema:p> ""@en
        "#]],
    );
}

#[test]
fn words_have_the_language_of_their_element() {
    check(
        "<html lang=en><div itemscope itemtype=http://schema.org/Thing>
         <b itemprop=a>English</b><p lang=de><b itemprop=b>Deutsch</b><b itemprop=c lang=fr>Français</b></p>
         <b itemprop=d lang=''>?</b><b itemprop=e lang='not a tag'>!</b></div>",
        expect![[r#"
            _:0 <rdf:type> <schema:Thing>
            _:0 <schema:a> "English"@en
            _:0 <schema:b> "Deutsch"@de
            _:0 <schema:c> "Français"@fr
            _:0 <schema:d> "?"
            _:0 <schema:e> "!"
        "#]],
    );
}

#[test]
fn itemref_brings_properties_from_elsewhere_in_document_order() {
    check(
        "<div id=a><p itemprop=name>Ann</p><div itemscope itemprop=pet id=pet><i itemprop=name>Rex</i></div></div>
         <div itemscope itemref='b a b missing'><p itemprop=middle>M</p></div>
         <p id=b itemprop=last>B</p>
         <div itemscope itemref=pet></div>",
        expect![[r#"
            _:0 <page#name> "Ann"
            _:0 <page#pet> _:1
            _:0 <page#middle> "M"
            _:0 <page#last> "B"
            _:1 <page#name> "Rex"
            _:2 <page#pet> _:1
        "#]],
    );
}

#[test]
fn itemref_to_what_is_inside_or_around_adds_nothing() {
    check(
        "<div id=out><div itemscope itemref='in out self' id=self><p id=in itemprop=a>1</p></div></div>",
        expect![[r#"
            _:0 <page#a> "1"
        "#]],
    );
}

#[test]
fn an_item_in_itself_is_refused_and_others_stay() {
    check(
        "<div itemscope><i itemprop=name>outer</i><div itemprop=loop itemscope itemref=again id=again></div></div>
         <div itemscope><div id=ref><div itemprop=friend itemscope><div itemprop=friend itemscope itemref=ref></div></div></div></div>
         <div itemscope><i itemprop=name>good</i></div>",
        expect![[r#"
            _:0 <page#name> "outer"
            _:0 <page#loop> _:1
            _:2 <page#name> "good"
            ! error: line 2: itemref recursion: an item is, or contains, a property of itself; 2 more items were refused for the same reason [microdata-recursion]
        "#]],
    );
}

#[test]
fn reverse_properties_point_back() {
    check(
        "<div itemscope itemid=mall itemtype=http://schema.org/Mall>
         <div itemscope itemid=shop itemprop-reverse='containedIn partOf' itemprop=contains></div>
         <a itemprop-reverse=about href=review>R</a><b itemprop-reverse=wrong>literal</b></div>",
        expect![[r#"
            <mall> <rdf:type> <schema:Mall>
            <mall> <schema:contains> <shop>
            <shop> <schema:containedIn> <mall>
            <shop> <schema:partOf> <mall>
            <review> <schema:about> <mall>
            ! warning: line 3: `wrong` is reversed on a text, not on a resource [microdata-bad-reverse]
        "#]],
    );
}

#[test]
fn the_registry_adds_what_a_property_implies() {
    check(
        "<div itemscope itemtype=http://schema.org/Thing><link itemprop=additionalType href=http://a.example/T>
         <meta itemprop=additionalType content=words></div>
         <div itemscope itemtype=http://microformats.org/profile/hcard><i itemprop=fn>Ann</i></div>
         <div itemscope><a itemprop=http://schema.org/additionalType href=x>x</a></div>",
        expect![[r#"
            _:0 <rdf:type> <schema:Thing>
            _:0 <rdf:type> <http://a.example/T>
            _:0 <schema:additionalType> <http://a.example/T>
            _:0 <schema:additionalType> "words"
            _:1 <rdf:type> <http://microformats.org/profile/hcard>
            _:1 <http://microformats.org/profile/hcard#fn> "Ann"
            _:2 <rdf:type> <x>
            _:2 <schema:additionalType> <x>
        "#]],
    );
}

#[test]
fn names_that_make_no_iri_are_told() {
    check(
        "<div itemscope><i itemprop='a&lt;b good {x} :no'>1</i></div><div itemscope itemtype=http://a.example/T>
         <i itemprop='a|b'>2</i></div>",
        expect![[r#"
            _:0 <page#good> "1"
            _:1 <rdf:type> <http://a.example/T>
            ! warning: line 1: `a<b` names no property, nor are 3 others right [microdata-bad-name]
        "#]],
    );
}

#[test]
fn xhtml_has_it_too() {
    let body = r#"<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><body>
        <div itemscope="" itemtype="http://schema.org/Thing"><b itemprop="name">Ann</b><a itemprop="url" href="x">y</a></div>
        </body></html>"#;
    expect![[r#"
        _:0 <rdf:type> <schema:Thing>
        _:0 <schema:name> "Ann"@en
        _:0 <schema:url> <x>
    "#]]
    .assert_eq(&show(&run_with("application/xhtml+xml", body, Limits::default())));
}

#[test]
fn a_web_of_references_stays_bounded() {
    let mut body = String::new();
    for number in 0..2000 {
        write!(body, "<div itemscope itemref='all'></div><div id=x{number}></div>").unwrap();
    }
    body.push_str("<div id=all>");
    for number in 0..2000 {
        write!(body, "<i itemprop=a>{number}</i>").unwrap();
    }
    body.push_str("</div>");
    let start = Instant::now();
    let graph = run_with("text/html", &body, Limits { microdata_nodes_max: 1_000_000, ..Limits::default() });
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert!(graph.diagnostics.iter().any(|diagnostic| diagnostic.code == "microdata-cut"));
    assert!(graph.quads.len() > 1000 && graph.quads.len() < 1_000_000);
}

#[test]
fn long_chains_and_deep_nests_need_no_stack() {
    let mut chain = String::new();
    for number in 0..20_000 {
        write!(chain, "<div itemscope itemprop=next id=n{number} itemref=n{}></div>", number + 1).unwrap();
    }
    chain.push_str("<div itemscope itemref=n0></div>");
    let graph = run(&chain);
    assert_eq!(graph.quads.len(), 20_000);
    let ring = format!("{chain}<div itemscope itemprop=next id=n20000 itemref=n0></div>");
    let graph = run(&ring);
    assert_eq!(graph.quads.len(), 0);
    assert!(graph.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error));
    let deep = "<div itemscope itemprop=a>".repeat(20_000);
    assert!(run(&format!("<div itemscope>{deep}x")).quads.len() > 400);
    let words = format!("<div itemscope>{}{}", "<p itemprop=a><b>".repeat(500), "<i></i>".repeat(100_000));
    let start = Instant::now();
    run(&words);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_items_never_panic_and_always_say_the_same(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        let body = pieces.concat();
        let graph = run(&body);
        prop_assert_eq!(&graph.quads, &run(&body).quads);
    }
}

const PIECES: &[&str] = &[
    "<div itemscope>",
    "<div itemscope itemprop=a>",
    "<div itemscope itemprop=b itemref='x y'>",
    "<div itemscope itemref='y z x' id=x>",
    "<p itemprop='a b' id=y>",
    "<p id=z itemprop-reverse=c>",
    "<a itemprop=u href='#é %'>",
    "<time itemprop=t datetime=２０１１>",
    "<div itemscope itemtype='http://schema.org/T' itemid='::'>",
    "<table itemprop=a><tr itemscope>",
    "</div>",
    "</p>",
    "text é",
    "<meta itemprop=a content=c>",
];
