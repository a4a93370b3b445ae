//! RDFa in, triples out, a case for every rule; and RDFa that means harm.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "the helpers are tests too")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use webloom_detect::detect;
use webloom_model::{FetchedPage, PageGraph, PageUrl};
use webloom_transform::{ContextSource, Syntax, TransformConfig, transform};

const PAGE: &str = "http://example.org/dir/page";
const HTML: &str = "text/html";
const XHTML: &str = "application/xhtml+xml";
const XML: &str = "application/xml";
const XHTML_1: &str = r#"<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.1//EN" "x.dtd"><html xmlns="http://www.w3.org/1999/xhtml">"#;
const XHTML_5: &str = r#"<!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">"#;

fn only_rdfa() -> TransformConfig {
    TransformConfig { only: Some(BTreeSet::from([Syntax::Rdfa])), ..TransformConfig::default() }
}

fn run(content_type: &str, body: impl Into<Bytes>, config: &TransformConfig) -> PageGraph {
    let url = PageUrl::parse(PAGE).unwrap();
    transform(&detect(FetchedPage::local(url, Some(content_type), body.into())), config)
}

/// Sorted triples, then findings, with the page and common namespaces shortened.
fn show(graph: &PageGraph) -> String {
    let mut lines: Vec<String> = graph.quads.iter().map(ToString::to_string).collect();
    lines.extend(graph.diagnostics.iter().map(|diagnostic| format!("! {diagnostic}")));
    let mut text = lines.join("\n");
    for (namespace, prefix) in [
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
        ("http://purl.org/dc/terms/", "dct:"),
        ("http://xmlns.com/foaf/0.1/", "foaf:"),
        ("http://www.w3.org/1999/xhtml/vocab#", "xhv:"),
        ("http://schema.org/", "schema:"),
        ("http://www.w3.org/2001/XMLSchema#", "xsd:"),
        ("http://www.w3.org/ns/rdfa#", "rdfa:"),
        ("http://example.org/dir/", ""),
    ] {
        text = text.replace(namespace, prefix);
    }
    text = text.replace("<page>", "<>");
    // Blank nodes of this page all begin alike.
    while let Some(start) = text.find("_:b").filter(|start| text.as_bytes().get(start + 19) == Some(&b'n')) {
        text.replace_range(start + 2..start + 20, "");
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_by_key(|line| line.starts_with('!'));
    lines.join("\n")
}

#[track_caller]
fn check(content_type: &str, body: &str, expected: Expect) {
    let graph = run(content_type, body.to_owned(), &only_rdfa());
    assert_eq!(graph.quads, run(content_type, body.to_owned(), &only_rdfa()).quads, "two runs, two graphs");
    expected.assert_eq(&show(&graph));
}

#[test]
fn property_is_a_literal_about_the_page() {
    check(HTML, r##"<p property="dc:title">A <b>title</b></p>"##, expect![[r#"<> <dct:title> "A title""#]]);
}

#[test]
fn content_wins_over_text() {
    check(HTML, r##"<p property="dc:title" content="">text</p>"##, expect![[r#"<> <dct:title> """#]]);
}

#[test]
fn about_sets_the_subject_for_what_is_within() {
    check(
        HTML,
        r##"<div about="#x"><p property="dc:title">X</p><p about="y" property="dc:title">Y</p></div>"##,
        expect![[r#"
            <page#x> <dct:title> "X"
            <y> <dct:title> "Y""#]],
    );
}

#[test]
fn property_on_a_link_takes_the_link() {
    check(
        HTML,
        r##"<a property="dc:relation" href="/a">A</a><img property="foaf:img" src="i.png"><span property="dc:creator" resource="#me" href="no">Me</span>"##,
        expect![[r#"
            <> <dct:relation> <http://example.org/a>
            <> <foaf:img> <i.png>
            <> <dct:creator> <page#me>"#]],
    );
}

#[test]
fn a_link_is_the_subject_of_what_is_within() {
    check(
        HTML,
        r##"<a href="b"><span property="dc:title">B</span></a>"##,
        expect![[r#"<b> <dct:title> "B""#]],
    );
}

#[test]
fn content_makes_a_link_the_subject() {
    check(
        HTML,
        r##"<a href="b" property="dc:title" content="B">x</a>"##,
        expect![[r#"<b> <dct:title> "B""#]],
    );
}

#[test]
fn typeof_makes_a_node() {
    check(
        HTML,
        r##"<div typeof="foaf:Person foaf:Agent"><p property="foaf:name">Ida</p></div>"##,
        expect![[r#"
            _:0 <rdf:type> <foaf:Person>
            _:0 <rdf:type> <foaf:Agent>
            _:0 <foaf:name> "Ida""#]],
    );
}

#[test]
fn typeof_types_the_resource() {
    check(
        HTML,
        r##"<div resource="#me" typeof="foaf:Person"></div><a href="/you" typeof="foaf:Person"></a><p about="#it" typeof="foaf:Image" resource="no"></p>"##,
        expect![[r#"
            <page#me> <rdf:type> <foaf:Person>
            <http://example.org/you> <rdf:type> <foaf:Person>
            <page#it> <rdf:type> <foaf:Image>"#]],
    );
}

#[test]
fn typeof_with_property_chains() {
    check(
        HTML,
        r##"<div property="foaf:knows" typeof="foaf:Person"><p property="foaf:name">Bo</p></div>"##,
        expect![[r#"
            _:0 <rdf:type> <foaf:Person>
            <> <foaf:knows> _:0
            _:0 <foaf:name> "Bo""#]],
    );
}

#[test]
fn typeof_with_about_and_property_types_the_subject() {
    check(
        HTML,
        r##"<p about="#me" typeof="foaf:Person" property="foaf:name">Ida</p>"##,
        expect![[r#"
        <page#me> <rdf:type> <foaf:Person>
        <page#me> <foaf:name> "Ida""#]],
    );
}

#[test]
fn typeof_with_rel_types_the_object() {
    check(
        HTML,
        r##"<div rel="foaf:knows" typeof="foaf:Person"><p property="foaf:name">Bo</p></div>"##,
        expect![[r#"
            _:0 <rdf:type> <foaf:Person>
            <> <foaf:knows> _:0
            _:0 <foaf:name> "Bo""#]],
    );
}

#[test]
fn an_empty_typeof_still_makes_a_node() {
    check(
        HTML,
        r##"<div typeof=""><p property="foaf:name">?</p></div>"##,
        expect![[r#"_:0 <foaf:name> "?""#]],
    );
}

#[test]
fn rel_and_rev() {
    check(
        HTML,
        r##"<a about="#me" rel="foaf:knows" rev="foaf:maker" href="/you">you</a>"##,
        expect![[r#"
        <page#me> <foaf:knows> <http://example.org/you>
        <http://example.org/you> <foaf:maker> <page#me>"#]],
    );
}

#[test]
fn hanging_rel_waits_for_subjects() {
    check(
        HTML,
        r##"<div rel="foaf:knows" rev="foaf:img"><p about="#a"></p><p><i typeof="foaf:Person"></i></p></div>"##,
        expect![[r#"
            <> <foaf:knows> <page#a>
            <page#a> <foaf:img> <>
            _:0 <rdf:type> <foaf:Person>
            <> <foaf:knows> _:0
            _:0 <foaf:img> <>"#]],
    );
}

#[test]
fn hanging_rel_with_a_property_within_makes_a_node() {
    check(
        HTML,
        r##"<div rel="foaf:knows"><p property="foaf:name">Bo</p><p property="foaf:nick">B</p></div>"##,
        expect![[r#"
            <> <foaf:knows> _:0
            _:0 <foaf:name> "Bo"
            _:0 <foaf:nick> "B""#]],
    );
}

#[test]
fn hanging_rel_without_anything_within_says_nothing() {
    check(HTML, r##"<div rel="foaf:knows"><p>nobody</p></div>"##, expect![[""]]);
}

#[test]
fn an_empty_rel_keeps_the_object_from_being_the_subject() {
    check(
        HTML,
        r##"<div about="" rel="dc:creator"><a rel="" href="m">M</a></div>"##,
        expect!["<> <dct:creator> _:0"],
    );
}

#[test]
fn resource_wins_over_href_over_src() {
    check(
        HTML,
        r##"<a rel="dc:a" resource="1" href="2" src="3"></a><a rel="dc:a" href="2" src="3"></a><a rel="dc:a" src="3"></a>"##,
        expect![[r#"
            <> <dct:a> <1>
            <> <dct:a> <2>
            <> <dct:a> <3>"#]],
    );
}

#[test]
fn empty_safe_curies_are_as_if_not_there() {
    check(
        HTML,
        r##"<a rel="dc:a" resource="[]" href="2"></a><p about="[]" typeof="foaf:Person" property="foaf:name">Alex</p>"##,
        expect![[r#"
            <> <dct:a> <2>
            _:0 <rdf:type> <foaf:Person>
            <> <foaf:name> "Alex""#]],
    );
}

#[test]
fn blank_nodes_have_names() {
    check(
        HTML,
        r##"<p about="_:a" property="dc:title">A</p><p about="[_:a]" rel="dc:b" resource="_:"></p><p about="_:" property="dc:title">empty</p><p property="_:no">no</p>"##,
        expect![[r#"
            _:0 <dct:title> "A"
            _:0 <dct:b> _:1
            _:1 <dct:title> "empty"
            ! warning: RDFa values that stand for nothing were ignored: _:no [rdfa-ignored-value]"#]],
    );
}

#[test]
fn curies() {
    check(
        HTML,
        r##"<p prefix="ex: http://e.example/ EX2: http://f.example/" property="ex:a Ex:b ex2:c :d ex: undeclared:e http://g.example/f">x</p>"##,
        expect![[r#"
            <> <http://e.example/a> "x"
            <> <http://e.example/b> "x"
            <> <http://f.example/c> "x"
            <> <xhv:d> "x"
            <> <http://e.example/> "x"
            <> <undeclared:e> "x"
            <> <http://g.example/f> "x"
            ! note: RDFa prefixes that are not declared were taken as schemes of IRIs: undeclared [rdfa-undeclared-prefix]"#]],
    );
}

#[test]
fn prefixes_end_with_their_element() {
    check(
        HTML,
        r##"<p prefix="ex: http://e.example/"><i prefix="ex: http://f.example/" property="ex:a">1</i><i property="ex:a">2</i></p><p property="ex:a">3</p>"##,
        expect![[r#"
            <> <http://f.example/a> "1"
            <> <http://e.example/a> "2"
            <> <ex:a> "3"
            ! note: RDFa prefixes that are not declared were taken as schemes of IRIs: ex [rdfa-undeclared-prefix]"#]],
    );
}

#[test]
fn prefix_wins_over_xmlns() {
    check(
        HTML,
        r##"<p xmlns:ex="http://e.example/" prefix="ex: http://f.example/" property="ex:a">1</p><p xmlns:EX="http://e.example/" property="ex:a">2</p>"##,
        expect![[r#"
            <> <http://f.example/a> "1"
            <> <http://e.example/a> "2""#]],
    );
}

#[test]
fn broken_prefixes_are_passed_over() {
    check(
        HTML,
        r##"<p prefix="foaf http://no.example/ : http://no.example/ _: http://no.example/ $x: http://no.example/ ex: http://e.example/ end:" property="ex:a :b _:c foaf:d">x</p>"##,
        expect![[r#"
            <> <http://e.example/a> "x"
            <> <xhv:b> "x"
            <> <foaf:d> "x"
            ! warning: RDFa values that stand for nothing were ignored: foaf, http://no.example/, :, $x:, end:, _:c [rdfa-ignored-value]"#]],
    );
}

#[test]
fn relative_prefixes_go_by_the_document() {
    check(
        HTML,
        r##"<base href="http://b.example/"><p prefix="r: rel#" property="r:a">x</p>"##,
        expect![[r#"<http://b.example/> <rel#a> "x""#]],
    );
}

#[test]
fn terms() {
    check(
        HTML,
        r##"<p property="license"></p><a rel="LICENSE next describedby" href="l">x</a><p property="nowhere">x</p>"##,
        expect![[r#"
            <> <xhv:license> ""
            <> <xhv:license> <l>
            <> <http://www.w3.org/2007/05/powder-s#describedby> <l>
            ! warning: RDFa terms without a vocabulary were ignored: nowhere [rdfa-unknown-term]"#]],
    );
}

#[test]
fn vocab_gives_terms_a_home() {
    check(
        HTML,
        r##"<div vocab="http://schema.org/" typeof="Person"><p property="name a/b">Ida</p><p vocab="" property="name license">x</p></div>"##,
        expect![[r#"
            <> <rdfa:usesVocabulary> <schema:>
            _:0 <rdf:type> <schema:Person>
            _:0 <schema:name> "Ida"
            _:0 <schema:a/b> "Ida"
            _:0 <xhv:license> "x"
            ! warning: RDFa terms without a vocabulary were ignored: name [rdfa-unknown-term]"#]],
    );
}

#[test]
fn vocab_may_be_relative() {
    check(
        HTML,
        r##"<p vocab="voc#" property="a">x</p>"##,
        expect![[r#"
        <> <rdfa:usesVocabulary> <voc#>
        <> <voc#a> "x""#]],
    );
}

#[test]
fn xhtml_1_has_more_terms() {
    check(
        XHTML,
        &format!("{XHTML_1}{}", r##"<body><a rel="next" href="n">n</a></body></html>"##),
        expect!["<> <xhv:next> <n>"],
    );
}

#[test]
fn xhtml_5_has_not() {
    check(
        XHTML,
        &format!("{XHTML_5}{}", r##"<body><a rel="next" href="n">n</a></body></html>"##),
        expect![[""]],
    );
}

#[test]
fn datatypes() {
    check(
        HTML,
        r##"<p property="dc:a" datatype="xsd:integer">12</p><p property="dc:a" datatype="xsd:date" content="2020-01-01">x</p><p lang="en" property="dc:a" datatype="">plain</p><p property="dc:a" datatype="no">plain</p><a href="h" property="dc:a" datatype="">of h</a>"##,
        expect![[r#"
            <> <dct:a> "12"^^<xsd:integer>
            <> <dct:a> "2020-01-01"^^<xsd:date>
            <> <dct:a> "plain"@en
            <> <dct:a> "plain"
            <h> <dct:a> "of h"
            ! warning: RDFa terms without a vocabulary were ignored: no [rdfa-unknown-term]"#]],
    );
}

#[test]
fn languages() {
    check(
        HTML,
        r##"<div lang="de"><p property="dc:a">de</p><p lang="" property="dc:a">none</p><p lang="en_GB" property="dc:a">british</p><p lang="?!" property="dc:a">none</p><p xml:lang="fr" property="dc:a">fr</p><p xml:lang="fr" lang="it" property="dc:a">it</p></div>"##,
        expect![[r#"
            <> <dct:a> "de"@de
            <> <dct:a> "none"
            <> <dct:a> "british"@en-gb
            <> <dct:a> "fr"@fr
            <> <dct:a> "it"@it"#]],
    );
}

#[test]
fn languages_in_xhtml() {
    check(
        XHTML,
        &format!(
            "{XHTML_5}{}",
            r##"<body xml:lang="fr" lang="de"><p property="dc:a">fr</p><p lang="it" property="dc:a">it</p></body></html>"##
        ),
        expect![[r#"
            <> <dct:a> "fr"@fr
            <> <dct:a> "it"@it"#]],
    );
}

#[test]
fn languages_in_xml() {
    check(
        XML,
        r##"<r xml:lang="fr"><p lang="de" property="dc:a">fr</p></r>"##,
        expect![[r#"<> <dct:a> "fr"@fr"#]],
    );
}

#[test]
fn times() {
    check(
        HTML,
        r##"<time property="dc:a" datetime="2020-01-02">then</time><time property="dc:a">12:00:00</time><time property="dc:a" datetime="2020" content="c">x</time><time lang="en" property="dc:a">noon</time><time property="dc:a" datatype="xsd:gYear" datetime="2020-01">x</time><ins property="dc:a" datetime="PT1S">x</ins>"##,
        expect![[r#"
            <> <dct:a> "2020-01-02"^^<xsd:date>
            <> <dct:a> "12:00:00"^^<xsd:time>
            <> <dct:a> "c"
            <> <dct:a> "noon"@en
            <> <dct:a> "2020-01"^^<xsd:gYear>
            <> <dct:a> "PT1S"^^<xsd:duration>"#]],
    );
}

#[test]
fn values() {
    check(
        HTML,
        r##"<data property="dc:a" value="3">three</data><data property="dc:a" value="1.5"></data><data property="dc:a" value="x-1">x</data><li property="dc:a" value="2">second</li><p property="dc:a" value="9">nine</p>"##,
        expect![[r#"
            <> <dct:a> "3"^^<xsd:integer>
            <> <dct:a> "1.5"^^<xsd:decimal>
            <> <dct:a> "x-1"
            <> <dct:a> "2"^^<xsd:integer>
            <> <dct:a> "nine""#]],
    );
}

#[test]
fn times_are_html() {
    check(
        XML,
        r##"<r><time property="dc:a" datetime="2020-01-02">then</time></r>"##,
        expect![[r#"<> <dct:a> "then""#]],
    );
}

#[test]
fn plain_rel_gives_way_to_property() {
    check(
        HTML,
        r##"<a property="dc:a" rel="nofollow license" href="x">x</a><a property="dc:a" rel="license dc:b" href="x">x</a>"##,
        expect![[r#"
            <> <dct:a> <x>
            <> <dct:b> <x>
            <> <dct:a> "x""#]],
    );
}

#[test]
fn but_not_in_xhtml_1() {
    check(
        XHTML,
        &format!("{XHTML_1}{}", r##"<body><a property="dc:a" rel="license" href="x">x</a></body></html>"##),
        expect![[r#"
            <> <xhv:license> <x>
            <> <dct:a> "x""#]],
    );
}

#[test]
fn head_and_body_are_about_what_the_document_is() {
    check(
        HTML,
        r##"<html about="#doc"><head typeof="foaf:Document"><title property="dc:title">T</title></head><body property="dc:a" content="b" typeof="foaf:Page"><p property="dc:c">c</p></body></html>"##,
        expect![[r#"
            <page#doc> <rdf:type> <foaf:Document>
            <page#doc> <dct:title> "T"
            <page#doc> <rdf:type> <foaf:Page>
            <page#doc> <dct:a> "b"
            <page#doc> <dct:c> "c""#]],
    );
}

#[test]
fn root_is_about_the_page() {
    check(
        XML,
        r##"<r typeof="foaf:Document" property="dc:a">x</r>"##,
        expect![[r#"
            <> <rdf:type> <foaf:Document>
            <> <dct:a> "x""#]],
    );
}

#[test]
fn base_in_html() {
    check(
        HTML,
        r##"<base href="http://b.example/x/y#z"><p property="dc:a">x</p><p about="#me" rel="dc:b" resource="../q"></p>"##,
        expect![[r#"
            <http://b.example/x/y> <dct:a> "x"
            <http://b.example/x/y#me> <dct:b> <http://b.example/q>"#]],
    );
}

#[test]
fn xml_base_in_xml() {
    check(
        XML,
        r##"<r xml:base="http://b.example/x/"><p xml:base="y/" about="" property="dc:a">x</p><p property="dc:a">r</p></r>"##,
        expect![[r#"
            <http://b.example/x/y/> <dct:a> "x"
            <http://b.example/x/> <dct:a> "r""#]],
    );
}

#[test]
fn xml_base_not_in_html() {
    check(
        HTML,
        r##"<p xml:base="http://b.example/x/" about="" property="dc:a">x</p>"##,
        expect![[r#"<> <dct:a> "x""#]],
    );
}

#[test]
fn lists() {
    check(
        HTML,
        r##"<div about="#x"><p property="dc:l" inlist="">a</p><b><a rel="dc:l" inlist href="b">b</a></b><p property="dc:l">c</p></div>"##,
        expect![[r#"
            <page#x> <dct:l> "c"
            _:0 <rdf:first> <b>
            _:0 <rdf:rest> <rdf:nil>
            _:1 <rdf:first> "a"
            _:1 <rdf:rest> _:0
            <page#x> <dct:l> _:1"#]],
    );
}

#[test]
fn lists_of_hanging_rels() {
    check(
        HTML,
        r##"<div about="#x"><ol rel="dc:l" inlist=""><li><a href="a">A</a></li><li resource="b"></li></ol><p rel="dc:empty" inlist></p></div>"##,
        expect![[r#"
            _:0 <rdf:first> <b>
            _:0 <rdf:rest> <rdf:nil>
            _:1 <rdf:first> <a>
            _:1 <rdf:rest> _:0
            <page#x> <dct:l> _:1
            <page#x> <dct:empty> <rdf:nil>"#]],
    );
}

#[test]
fn lists_belong_to_their_subjects() {
    check(
        HTML,
        r##"<div about="#x"><p property="dc:l" inlist="">a</p><span rel="dc:r" resource="#y"><p property="dc:l" inlist="">b</p></span><span property="dc:s" typeof="dc:T"><p property="dc:l" inlist>c</p></span></div>"##,
        expect![[r#"
            <page#x> <dct:r> <page#y>
            _:0 <rdf:first> "b"
            _:0 <rdf:rest> <rdf:nil>
            <page#y> <dct:l> _:0
            _:1 <rdf:type> <dct:T>
            <page#x> <dct:s> _:1
            _:2 <rdf:first> "c"
            _:2 <rdf:rest> <rdf:nil>
            _:1 <dct:l> _:2
            _:3 <rdf:first> "a"
            _:3 <rdf:rest> <rdf:nil>
            <page#x> <dct:l> _:3"#]],
    );
}

#[test]
fn nested_list_items_keep_their_order() {
    check(
        HTML,
        r##"<p property="dc:l" inlist>a<i property="dc:l" inlist>b</i></p>"##,
        expect![[r#"
        _:0 <rdf:first> "b"
        _:0 <rdf:rest> <rdf:nil>
        _:1 <rdf:first> "ab"
        _:1 <rdf:rest> _:0
        <> <dct:l> _:1"#]],
    );
}

#[test]
fn xml_literals() {
    check(
        XHTML,
        &format!(
            "{XHTML_5}{}",
            r##"<body prefix="ex: http://e.example/"><p property="dc:a" datatype="rdf:XMLLiteral">a &lt; <b title="&quot;t&quot;" class="c">b<br/></b> c &amp; <!-- d --> <svg xmlns="http://www.w3.org/2000/svg"/></p></body></html>"##
        ),
        expect![[
            r#"<> <dct:a> "a &lt; <b class=\"c\" title=\"&quot;t&quot;\" xmlns=\"http://www.w3.org/1999/xhtml\" xmlns:ex=\"http://e.example/\">b<br></br></b> c &amp; <!-- d --> <svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:ex=\"http://e.example/\"></svg>"^^<rdf:XMLLiteral>"#
        ]],
    );
}

#[test]
fn xml_literals_in_html() {
    check(
        HTML,
        r##"<p xmlns:ex="http://e.example/" property="dc:a" datatype="rdf:XMLLiteral">a<br><b>b</b><svg><g/></svg></p>"##,
        expect![[
            r#"<> <dct:a> "a<br xmlns:ex=\"http://e.example/\"></br><b xmlns:ex=\"http://e.example/\">b</b><svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:ex=\"http://e.example/\"><g></g></svg>"^^<rdf:XMLLiteral>"#
        ]],
    );
}

#[test]
fn html_literals() {
    check(
        HTML,
        r##"<p property="dc:a" datatype="rdf:HTML" content="no">a &lt;<br><b title="&quot;">b&nbsp;</b><script>1<2</script></p>"##,
        expect![[
            r#"<> <dct:a> "a &lt;<br><b title=\"&quot;\">b&nbsp;</b><script>1<2</script>"^^<rdf:HTML>"#
        ]],
    );
}

#[test]
fn roles() {
    check(
        HTML,
        r##"<div id="m" role="main search" about="#other"></div><p role="http://r.example/x foaf:y">x</p>"##,
        expect![[r#"
            <page#m> <xhv:role> <xhv:main>
            <page#m> <xhv:role> <xhv:search>
            _:0 <xhv:role> <http://r.example/x>
            _:0 <xhv:role> <foaf:y>"#]],
    );
}

#[test]
fn patterns_are_copied_and_go() {
    check(
        HTML,
        r##"<div vocab="http://schema.org/"><div typeof="Person"><link property="rdfa:copy" href="#p"></div><div resource="#p" typeof="rdfa:Pattern"><p property="name">Ida</p><link property="rdfa:copy" href="#q"></div><div resource="#q" typeof="rdfa:Pattern"><p property="email">i@x</p><link property="rdfa:copy" href="#p"></div><div resource="#unused" typeof="rdfa:Pattern"><p property="name">Bo</p></div></div>"##,
        expect![[r#"
            <> <rdfa:usesVocabulary> <schema:>
            _:0 <rdf:type> <schema:Person>
            <page#unused> <rdf:type> <rdfa:Pattern>
            <page#unused> <schema:name> "Bo"
            _:0 <schema:name> "Ida"
            _:0 <schema:email> "i@x""#]],
    );
}

#[test]
fn copies_of_what_is_no_pattern_stay() {
    check(
        HTML,
        r##"<p about="#a" rel="rdfa:copy" resource="#b"></p>"##,
        expect!["<page#a> <rdfa:copy> <page#b>"],
    );
}

#[test]
fn iris_are_repaired_or_left() {
    check(
        HTML,
        r##"<a property="dc:a" href="a b|c">x</a><a property="dc:a" href="http://a.example:port/">text</a><p property="dc:a<b">x</p><p property="a&quot;b:c">x</p>"##,
        expect![[r#"
            <> <dct:a> <a%20b%7Cc>
            <> <dct:a> "text"
            <> <dct:a%3Cb> "x"
            ! warning: RDFa values that stand for nothing were ignored: http://a.example:port/, a"b:c [rdfa-ignored-value]"#]],
    );
}

#[test]
fn svg() {
    check(
        "image/svg+xml",
        r##"<svg xmlns="http://www.w3.org/2000/svg" xmlns:dc="http://purl.org/dc/terms/"><desc property="dc:description">A <t>square</t></desc></svg>"##,
        expect![[r#"<> <dct:description> "A square""#]],
    );
}

#[test]
fn templates_are_not_the_page() {
    check(
        HTML,
        r##"<p property="dc:a">a<template><i property="dc:a">b</i></template></p>"##,
        expect![[r#"<> <dct:a> "a""#]],
    );
}

#[test]
fn comments_are_not_text() {
    check(HTML, r##"<p property="dc:a">a<!-- no -->b</p>"##, expect![[r#"<> <dct:a> "ab""#]]);
}

#[test]
fn several_properties_share_a_value() {
    check(
        HTML,
        r##"<p property="dc:a dc:b">x</p>"##,
        expect![[r#"
        <> <dct:a> "x"
        <> <dct:b> "x""#]],
    );
}

#[test]
fn an_empty_property_says_nothing() {
    check(HTML, r##"<p property="">x</p>"##, expect![[""]]);
}

#[test]
fn white_space_is_kept_in_literals_and_dropped_in_names() {
    check(
        HTML,
        r##"<p about=" #x " property="
 dc:a	">  x
 y </p>"##,
        expect![[r#"<page#x> <dct:a> "  x\n y ""#]],
    );
}

#[derive(Debug)]
struct Vocabularies;

impl ContextSource for Vocabularies {
    fn context(&self, _iri: &str) -> Option<Arc<str>> {
        None
    }

    fn vocabulary(&self, iri: &str) -> Option<Arc<str>> {
        Some(Arc::from(match iri {
            "http://v.example/turtle" => {
                "@prefix r: <http://www.w3.org/2000/01/rdf-schema#> . @prefix o: <http://www.w3.org/2002/07/owl#> . \
                 <#sub> r:subPropertyOf <#base> . <#base> o:equivalentProperty <#eq> . <#Sub> r:subClassOf <#Base> ."
            }
            "http://v.example/html" => {
                "<!doctype html><p about='#a' rel='rdfs:subPropertyOf' resource='#b'></p>"
            }
            "http://v.example/xml" => {
                "<?xml version='1.0'?><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' \
                 xmlns:rdfs='http://www.w3.org/2000/01/rdf-schema#'><rdf:Description rdf:about='#c'>\
                 <rdfs:subPropertyOf rdf:resource='#d'/></rdf:Description></rdf:RDF>"
            }
            _ => return None,
        }))
    }
}

#[test]
fn vocabularies_are_expanded_when_asked() {
    let body = "<div vocab='http://v.example/turtle#' typeof='Sub'><p property='sub'>x</p></div>\
                <p vocab='http://v.example/html#' property='a'>y</p><p vocab='http://v.example/xml#' property='c'>z</p>\
                <p vocab='http://v.example/nowhere#' property='e'>w</p>";
    let config = TransformConfig { vocab_expansion: true, contexts: Arc::new(Vocabularies), ..only_rdfa() };
    expect![[r#"
        <> <rdfa:usesVocabulary> <http://v.example/turtle#>
        _:0 <rdf:type> <http://v.example/turtle#Sub>
        _:0 <http://v.example/turtle#sub> "x"
        <> <rdfa:usesVocabulary> <http://v.example/html#>
        <> <http://v.example/html#a> "y"
        <> <rdfa:usesVocabulary> <http://v.example/xml#>
        <> <http://v.example/xml#c> "z"
        <> <rdfa:usesVocabulary> <http://v.example/nowhere#>
        <> <http://v.example/nowhere#e> "w"
        _:0 <rdf:type> <http://v.example/turtle#Base>
        _:0 <http://v.example/turtle#base> "x"
        _:0 <http://v.example/turtle#eq> "x"
        <> <http://v.example/html#b> "y"
        <> <http://v.example/xml#d> "z"
        ! warning: vocabularies could not be read, so nothing was added from them: http://v.example/nowhere# [rdfa-vocabulary]"#]].assert_eq(&show(&run(HTML, body, &config)));
}

#[test]
fn the_processor_graph_is_given_when_asked() {
    let config = TransformConfig { processor_graph: true, ..only_rdfa() };
    let body =
        "<p prefix='foaf: http://f.example/' about='[undefined:x]' property='term fb:id dc:title'>x</p>";
    expect![[r#"
        <> <fb:id> "x"
        <> <dct:title> "x"
        _:0 <rdf:type> <rdfa:PrefixRedefinition>
        _:0 <rdf:type> <rdfa:Warning>
        _:0 <dct:description> "the prefix `foaf` stood for <foaf:> and now stands for <http://f.example/>"
        _:0 <rdfa:context> <>
        _:1 <rdf:type> <rdfa:UnresolvedCURIE>
        _:1 <rdf:type> <rdfa:Warning>
        _:1 <dct:description> "`[undefined:x]` stands for nothing and was ignored"
        _:1 <rdfa:context> <>
        _:2 <rdf:type> <rdfa:UnresolvedTerm>
        _:2 <rdf:type> <rdfa:Warning>
        _:2 <dct:description> "`term` is no term, and there is no vocabulary it could be in"
        _:2 <rdfa:context> <>
        _:3 <rdf:type> <rdfa:UnresolvedCURIE>
        _:3 <rdf:type> <rdfa:Warning>
        _:3 <dct:description> "`fb` in `fb:id` is no declared prefix; it was taken as an IRI's scheme"
        _:3 <rdfa:context> <>
        ! note: RDFa prefixes that are not declared were taken as schemes of IRIs: fb [rdfa-undeclared-prefix]
        ! warning: RDFa terms without a vocabulary were ignored: term [rdfa-unknown-term]
        ! warning: RDFa values that stand for nothing were ignored: [undefined:x] [rdfa-ignored-value]"#]]
    .assert_eq(&show(&run(HTML, body, &config)));
    expect![[r#"
        <> <dct:a> "x"
        _:0 <rdf:type> <rdfa:DocumentError>
        _:0 <rdf:type> <rdfa:Error>
        _:0 <dct:description> "</r> does not close the open element"
        _:0 <rdfa:context> <>
        ! warning: line 1: </r> does not close the open element [xml-syntax]"#]]
    .assert_eq(&show(&run(XML, "<r><p property='dc:a'>x</r>", &config)));
    expect![[r#"
        <> <dct:a> "x"
        _:0 <rdf:type> <rdfa:DocumentError>
        _:0 <rdf:type> <rdfa:Error>
        _:0 <dct:description> "XHTML that is not well-formed was read as HTML: </body> does not close the open element"
        _:0 <rdfa:context> <>
        ! warning: line 1: XHTML that is not well-formed was read as HTML: </body> does not close the open element [xhtml-syntax]"#]]
    .assert_eq(&show(&run(XHTML, format!("{XHTML_5}<body><p property='dc:a'>x</body></html>"), &config)));
    expect![[""]].assert_eq(&show(&run(HTML, "<p>nothing", &config)));
}

/// Transforms within the time that a page is given, in a debug build too.
#[track_caller]
/// Time that this thread has had of a processor: a busy machine does not count.
fn thread_time() -> Duration {
    let books = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(
        books.split_whitespace().next().and_then(|time| time.parse().ok()).unwrap_or_default(),
    )
}

fn survive(name: &str, body: String) -> PageGraph {
    let started = thread_time();
    let length = body.len();
    let graph = run(HTML, body, &only_rdfa());
    let elapsed = thread_time() - started;
    assert!(elapsed < Duration::from_secs(20), "{name}: {length} bytes took {elapsed:?}");
    let bytes: usize = graph.quads.iter().map(|quad| quad.object.to_string().len()).sum();
    assert!(bytes < 100 << 20, "{name}: {bytes} bytes of objects");
    graph
}

#[test]
fn storms_blow_over() {
    const N: usize = 20_000;
    let many = |piece: &dyn Fn(usize) -> String| (0..N).map(piece).collect::<String>();
    for (name, body) in [
        ("nested properties", "<p property='dc:a'>text <i>".repeat(N) + &"x".repeat(1 << 20)),
        (
            "nested markup",
            "<div property='dc:a' datatype='rdf:XMLLiteral'>".repeat(400) + &"<b>x</b>".repeat(N),
        ),
        ("nested html", "<div property='dc:a' datatype='rdf:HTML'>".repeat(400) + &"<b>x</b>".repeat(N)),
        (
            "nested prefixes",
            many(&|n| format!("<div prefix='p{n}: http://p.example/{n}#' property='p{n}:x q:y'>")),
        ),
        (
            "many prefixes",
            format!("<p prefix='{}'>", many(&|n| format!("p{n}: http://p.example/ ")))
                + &"<i property='p1:x z:y'>x</i>".repeat(N),
        ),
        (
            "many prefixes in markup",
            format!(
                "<p prefix='{}' property='dc:a' datatype='rdf:XMLLiteral'>{}</p>",
                many(&|n| format!("p{n}: http://p.example/ ")),
                "<b></b>".repeat(N)
            ),
        ),
        (
            "many rels by many subjects",
            format!(
                "<div rel='{}'>{}</div>",
                many(&|n| format!("dc:r{n} ")),
                many(&|n| format!("<p about='#{n}'></p>"))
            ),
        ),
        (
            "many properties",
            format!("<p property='{}'>{}</p>", many(&|n| format!("dc:r{n} ")), "x".repeat(1 << 20)),
        ),
        ("a long list", "<p property='dc:l' inlist>x</p>".repeat(N)),
        ("many lists", many(&|n| format!("<p property='dc:l{n}' inlist>x</p>"))),
        ("nested lists", "<div typeof='' property='dc:l' inlist>".repeat(N)),
        ("nested subjects", many(&|n| format!("<div about='#{n}' rel='dc:a'>"))),
        (
            "long base",
            format!("<base href='http://b.example/{}'>", "x".repeat(2000))
                + &"<p about='#x' property='dc:a'>x</p>".repeat(N),
        ),
        (
            "patterns in a ring",
            many(&|n| {
                format!(
                    "<p about='#{n}' typeof='rdfa:Pattern' rel='rdfa:copy' resource='#{}'></p>",
                    (n + 1) % N
                )
            }) + &many(&|n| format!("<p about='#x{n}' rel='rdfa:copy' resource='#{n}'></p>")),
        ),
        (
            "a pattern for everybody",
            format!(
                "<div resource='#p' typeof='rdfa:Pattern'>{}</div>",
                "<p property='dc:a'>x</p>".repeat(N)
            ) + &many(&|n| format!("<p about='#x{n}' rel='rdfa:copy' resource='#p'></p>")),
        ),
        ("undeclared prefixes", many(&|n| format!("<p property='u{n}:x t{n}'>x</p>"))),
        ("roles", format!("<p role='{}'>", many(&|n| format!("r{n} ")))),
        ("languages", many(&|n| format!("<p lang='{}' property='dc:a'>x", "x-".repeat(n % 100)))),
        ("colons", format!("<p property='{}' about='[{}]'>", ":".repeat(1 << 20), ":".repeat(1 << 20))),
        ("brackets", format!("<a property='dc:a' href='http://[{}'>x</a>", "[".repeat(1 << 20))),
    ] {
        let graph = survive(name, body);
        assert!(graph.diagnostics.len() < 10, "{name}: {:?}", graph.diagnostics);
    }
}

#[test]
fn vocabularies_in_rings_end() {
    #[derive(Debug)]
    struct Ring;
    impl ContextSource for Ring {
        fn context(&self, _iri: &str) -> Option<Arc<str>> {
            let mut text = String::from("@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .\n");
            for n in 0..2000 {
                let _ = writeln!(
                    text,
                    "<#p{n}> r:subPropertyOf <#p{}>, <#p{}> .",
                    (n + 1) % 2000,
                    (n * 7) % 2000
                );
            }
            Some(Arc::from(text))
        }
    }
    let body: String =
        (0..2000).map(|n| format!("<p vocab='http://v.example/#' property='p{n}'>x</p>")).collect();
    let config = TransformConfig { vocab_expansion: true, contexts: Arc::new(Ring), ..only_rdfa() };
    let started = Instant::now();
    let graph = run(HTML, body, &config);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(graph.quads.len() > 2000);
}

/// Markup of attributes that matter, with values that may.
fn markup() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        "[ -~]{0,12}",
        Just("dc:title".to_owned()),
        Just("[_:a]".to_owned()),
        Just("#p".to_owned()),
        Just("rdfa:Pattern".to_owned()),
        Just("rdfa:copy".to_owned()),
        Just("rdf:XMLLiteral".to_owned()),
        Just("http://v.example/#".to_owned()),
        Just("ex: http://e.example/".to_owned()),
        "\\PC{0,6}",
    ];
    let name = prop::sample::select(vec![
        "about", "content", "datatype", "datetime", "href", "id", "inlist", "lang", "prefix", "property",
        "rel", "resource", "rev", "role", "src", "typeof", "value", "vocab", "xml:lang", "xml:base",
        "xmlns:ex",
    ]);
    let attribute =
        (name, value).prop_map(|(name, value)| format!(" {name}='{}'", value.replace(['\'', '&', '<'], "")));
    let element =
        prop::sample::select(vec!["p", "div", "a", "time", "data", "body", "head", "svg", "r", "template"]);
    let tag = prop_oneof![
        4 => (element.clone(), prop::collection::vec(attribute, 0..5))
            .prop_map(|(element, attributes)| format!("<{element}{}>", attributes.concat())),
        2 => element.prop_map(|element| format!("</{element}>")),
        1 => "[a-z ]{0,5}",
    ];
    prop::collection::vec(tag, 0..30).prop_map(|tags| tags.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_markup_gives_valid_triples_and_the_same_again(body in markup()) {
        for (content_type, body) in [
            (HTML, body.clone()),
            (XML, format!("<r>{body}</r>")),
            (XHTML, format!("{XHTML_1}<body>{body}</body></html>")),
        ] {
            let config = TransformConfig { processor_graph: true, vocab_expansion: true, ..only_rdfa() };
            let graph = run(content_type, body.clone(), &config);
            prop_assert_eq!(&graph.quads, &run(content_type, body, &config).quads);
            // What is printed can be read back: every IRI, label and language tag is in order.
            let text: String = graph.quads.iter().map(|quad| format!("{quad} .\n")).collect();
            let read: Result<Vec<_>, _> = oxttl::NQuadsParser::new().for_slice(&text).collect();
            prop_assert!(read.is_ok(), "{:?}\n{}", read, text);
        }
    }
}
