//! Microformats in, canonical JSON and triples out, rule by rule; and pages that would copy themselves without end.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "the helpers are tests too")]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, Instant};

use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use webloom_detect::detect;
use webloom_model::{DetectedPage, Diagnostic, FetchedPage, PageGraph, PageUrl};
use webloom_transform::{Limits, Microformats, Syntax, TransformConfig, microformats, transform};

const PAGE: &str = "https://example.org/dir/page";

fn page(body: &str) -> DetectedPage {
    let url = PageUrl::parse(PAGE).unwrap();
    detect(FetchedPage::local(url, Some("text/html"), Bytes::from(body.to_owned())))
}

fn config() -> TransformConfig {
    TransformConfig { only: Some(BTreeSet::from([Syntax::Microformats])), ..TransformConfig::default() }
}

fn parse(body: &str) -> (Microformats, Vec<Diagnostic>) {
    microformats(&page(body), &config())
}

fn triples(body: &str) -> PageGraph {
    transform(&page(body), &config())
}

/// Items, one to a line.
#[track_caller]
fn check(body: &str, expected: Expect) {
    let (found, diagnostics) = parse(body);
    assert_eq!(found, parse(body).0, "the same page gave two results");
    let mut text = String::new();
    for item in &found.items {
        writeln!(text, "{}", serde_json::to_string(&**item).unwrap()).unwrap();
    }
    for diagnostic in diagnostics {
        writeln!(text, "! {diagnostic}").unwrap();
    }
    expected.assert_eq(&text.replace("https://example.org/dir/", ""));
}

/// Triples in their order, namespaces shortened.
#[track_caller]
fn check_rdf(body: &str, expected: Expect) {
    let graph = triples(body);
    assert_eq!(graph.quads, triples(body).quads, "the same page gave two graphs");
    let mut text = String::new();
    for quad in &graph.quads {
        writeln!(text, "{quad}").unwrap();
    }
    for diagnostic in &graph.diagnostics {
        writeln!(text, "! {diagnostic}").unwrap();
    }
    for (namespace, prefix) in [
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
        ("http://www.w3.org/2006/vcard/ns#", "vcard:"),
        ("http://www.w3.org/2003/01/geo/wgs84_pos#", "geo:"),
        ("http://microformats.org/profile/microformats2#", "mf2:"),
        ("http://schema.org/", "schema:"),
        ("http://www.w3.org/2001/XMLSchema#", "xsd:"),
        ("https://example.org/dir/", ""),
    ] {
        text = text.replace(namespace, prefix);
    }
    while let Some(start) = text.find("_:b").filter(|start| text.as_bytes().get(start + 19) == Some(&b'n')) {
        text.replace_range(start + 2..start + 20, "");
    }
    expected.assert_eq(&text);
}

#[test]
fn plain_properties_are_words() {
    check(
        r#"<div class="h-x"><b class="p-a"> a <script>no</script><style>no</style>b<img alt="c"><img src="d"> </b>
           <abbr class="p-b" title=" long ">l</abbr><link class="p-c" title="linked"><data class="p-d" value="v">x</data>
           <input class="p-e" value="w"><img class="p-f" alt="alt" src="s"><area class="p-g" alt="area"><br class="p-h">
           <i class="p-i"><u class="value">1</u> not <u class="value">2</u><img class="value" alt="3"></i>
           <i class="p-j"><u class="value-title" title="t">shown</u></i><i class="p-k p-l p-k">both</i></div>"#,
        expect![[r#"
            {"type":["h-x"],"properties":{"a":["a bc d"],"b":["long"],"c":["linked"],"d":["v"],"e":["w"],"f":["alt"],"g":["area"],"h":[""],"i":["123"],"j":["t"],"k":["both"],"l":["both"],"photo":[{"value":"s","alt":"alt"}]}}
        "#]],
    );
}

#[test]
fn url_properties_are_absolute() {
    check(
        r##"<div class="h-x"><a class="u-a" href="../a b">x</a><area class="u-b" href="?q"><link class="u-c" href="#f">
           <img class="u-d" src="i"><img class="u-e" src="i" alt=""><audio class="u-f" src="s"></audio>
           <video class="u-g" src="s" poster="p"></video><video class="u-h" poster="p"></video>
           <source class="u-i" src="s"><iframe class="u-j" src="s"></iframe><object class="u-k" data="o"></object>
           <abbr class="u-l" title="t">x</abbr><data class="u-m" value="v"></data><p class="u-n"> words </p>
           <p class="u-o"><b class="value">http://a.example</b><b class="value">/b</b></p>
           <a class="u-p" href="HTTP://A.example">kept</a><a class="u-q" href="tel:+1">t</a><a class="u-r">no href</a></div>"##,
        expect![[r#"
            {"type":["h-x"],"properties":{"a":["https://example.org/a%20b"],"b":["page?q"],"c":["page#f"],"d":["i"],"e":[{"value":"i","alt":""}],"f":["s"],"g":["s"],"h":["p"],"i":["s"],"j":["s"],"k":["o"],"l":["t"],"m":["v"],"n":["words"],"o":["http://a.example/b"],"p":["HTTP://A.example"],"q":["tel:+1"],"r":["no%20href"],"name":["x\n           \n           \n           \n           x words \n           http://a.example/b\n           kepttno href"]}}
        "#]],
    );
}

#[test]
fn dates_come_from_attributes_words_or_parts() {
    check(
        r#"<div class="h-event"><time class="dt-a" datetime="2009-06-26T19:00-08:00">x</time><ins class="dt-b" datetime="2009">x</ins>
           <abbr class="dt-c" title="2010-01-01">x</abbr><data class="dt-d" value="2010-02-03"></data><p class="dt-e"> then </p>
           <p class="dt-f"><b class="value">7:05 p.m.</b> on <b class="value">2011-03-04</b> <b class="value">+1:00</b></p>
           <time class="dt-g">8:15pm</time><p class="dt-h"><i class="value-title" title="2012-05-06T07:08Z"></i></p>
           <p class="dt-i"><b class="value">soon</b></p></div>"#,
        expect![[r#"
            {"type":["h-event"],"properties":{"a":["2009-06-26T19:00-08:00"],"b":["2009"],"c":["2010-01-01"],"d":["2010-02-03"],"e":["then"],"f":["2011-03-04 19:05+0100"],"g":["2011-03-04 20:15"],"h":["2012-05-06T07:08Z"],"i":["soon"],"name":["xx\n           x then \n           7:05 p.m. on 2011-03-04 +1:00\n           8:15pm\n           soon"]}}
        "#]],
    );
}

#[test]
fn embedded_markup_keeps_its_tags_with_absolute_urls() {
    check(
        r#"<div class="h-entry"><div class="e-content"> <p title='"&amp;<>'>a &lt;b&gt; &amp;&nbsp;c<br><img src="i.png"></p><a href="?x" data-y="z">l</a>
           <script>if (a < b) {}</script><blockquote cite="c">q</blockquote> </div></div>"#,
        expect![[r#"
            {"type":["h-entry"],"properties":{"content":[{"value":"a <b> & c i.png l\n           q","html":"<p title=\"&quot;&amp;<>\">a &lt;b&gt; &amp;&nbsp;c<br><img src=\"i.png\"></p><a href=\"page?x\" data-y=\"z\">l</a>\n           <script>if (a < b) {}</script><blockquote cite=\"c\">q</blockquote>"}],"url":["page?x"]}}
        "#]],
    );
}

#[test]
fn names_photos_and_urls_are_implied() {
    check(
        r#"<img class="h-card" src="p" alt="Ann"><a class="h-card" href="u">Bob</a><abbr class="h-card" title="Cy">C</abbr>
           <object class="h-card" data="o">Di</object><p class="h-card"><a href="u"><img src="p" alt="Ed"></a></p>
           <p class="h-card"><b><a href="u">Flo</a></b></p><p class="h-card"><a href="1">G</a><a href="2">H</a></p>
           <p class="h-card"> I <img src="p"></p><p class="h-card"><img src="p" alt=""> J</p>
           <p class="h-card"><a class="h-card" href="u">K</a></p><p class="h-card">L <b class="p-note">n</b><a href="u">u</a></p>
           <p class="h-card">M <a class="u-email" href="mailto:m@x">m</a></p><p class="h-card"><time class="dt-bday">2000-01-01</time> N</p>"#,
        expect![[r#"
            {"type":["h-card"],"properties":{"name":["Ann"],"photo":[{"value":"p","alt":"Ann"}]}}
            {"type":["h-card"],"properties":{"name":["Bob"],"url":["u"]}}
            {"type":["h-card"],"properties":{"name":["Cy"]}}
            {"type":["h-card"],"properties":{"name":["Di"],"photo":["o"]}}
            {"type":["h-card"],"properties":{"name":["Ed"],"photo":[{"value":"p","alt":"Ed"}],"url":["u"]}}
            {"type":["h-card"],"properties":{"name":["Flo"],"url":["u"]}}
            {"type":["h-card"],"properties":{"name":["GH"]}}
            {"type":["h-card"],"properties":{"name":["I"],"photo":["p"]}}
            {"type":["h-card"],"properties":{"name":["J"],"photo":[{"value":"p","alt":""}]}}
            {"type":["h-card"],"properties":{},"children":[{"type":["h-card"],"properties":{"name":["K"],"url":["u"]}}]}
            {"type":["h-card"],"properties":{"note":["n"],"url":["u"]}}
            {"type":["h-card"],"properties":{"email":["mailto:m@x"],"name":["M m"]}}
            {"type":["h-card"],"properties":{"bday":["2000-01-01"],"name":["2000-01-01 N"]}}
        "#]],
    );
}

#[test]
fn nested_items_are_properties_or_children() {
    check(
        r#"<div class="h-entry" id="e"><a class="p-author h-card" href="a">Ann</a>
           <div class="u-in-reply-to h-cite"><b class="p-name">Post</b><a class="u-url" href="p">x</a></div>
           <div class="e-content h-x"><b class="p-y">z</b></div><p class="h-y h-a h-y">child</p>
           <div class="p-one u-two h-z"><a href="u">both</a></div><time class="dt-when h-w" datetime="2001">t</time>
           <img class="u-photo h-v" src="s" alt="t"></div>"#,
        expect![[r#"
            {"type":["h-entry"],"properties":{"author":[{"type":["h-card"],"properties":{"name":["Ann"],"url":["a"]},"value":"Ann"}],"in-reply-to":[{"type":["h-cite"],"properties":{"name":["Post"],"url":["p"]},"value":"p"}],"content":[{"type":["h-x"],"properties":{"y":["z"]},"value":"z","html":"<b class=\"p-y\">z</b>"}],"one":[{"type":["h-z"],"properties":{"name":["both"],"url":["u"]},"value":"both"}],"two":[{"type":["h-z"],"properties":{"name":["both"],"url":["u"]},"value":"u"}],"when":[{"type":["h-w"],"properties":{"name":["t"]},"value":"2001"}],"photo":[{"type":["h-v"],"properties":{"name":["t"],"photo":[{"value":"s","alt":"t"}]},"value":"s","alt":"t"}]},"id":"e","children":[{"type":["h-a","h-y"],"properties":{"name":["child"]}}]}
        "#]],
    );
}

#[test]
fn templates_are_not_there() {
    check(
        r#"<template><p class="h-card">no</p></template><div class="h-card"><template class="p-name">no</template>
           <b><template>no</template>Ann</b></div>"#,
        expect![[r#"
            {"type":["h-card"],"properties":{"name":["Ann"]}}
        "#]],
    );
}

#[test]
fn old_names_count_where_there_are_no_new_ones() {
    check(
        r#"<div class="vcard"><b class="fn p-note">Ann</b><a class="url email" href="u">x</a><i class="title">Boss</i>
             <p class="adr"><b class="locality">Rome</b></p><p class="tel"><b class="type">home</b> <b class="value">1</b></p>
             <abbr class="bday" title="2000-01-01">x</abbr></div>
           <div class="vcard h-card"><b class="fn">New</b></div><div class="vcard">nothing implied</div>
           <div class="h-card"><b class="fn">not read</b><p class="vevent"><b class="summary">Party</b>
             <time class="dtstart" datetime="2001-02-03T04:05"></time><b class="location vcard"><i class="fn">Pub</i></b></p></div>"#,
        expect![[r#"
            {"type":["h-card"],"properties":{"name":["Ann"],"url":["u"],"email":["u"],"job-title":["Boss"],"adr":[{"type":["h-adr"],"properties":{"locality":["Rome"]},"value":"Rome"}],"tel":["1"],"bday":["2000-01-01"]}}
            {"type":["h-card"],"properties":{"name":["New"]}}
            {"type":["h-card"],"properties":{}}
            {"type":["h-card"],"properties":{},"children":[{"type":["h-event"],"properties":{"name":["Party"],"start":["2001-02-03T04:05"],"location":[{"type":["h-card"],"properties":{"name":["Pub"]},"value":"Pub"}]}}]}
        "#]],
    );
    check(
        r#"<div class="hfeed"><h1 class="site-title">Feed</h1><div class="hentry" id="p1"><h2 class="entry-title">T</h2>
             <a rel="bookmark" href="p1">#</a><a rel="tag" href="/tags/a%20b/?x">words</a><a class="category" rel="tag" href="/t/c">See</a>
             <span class="author">Ann</span><div class="entry-content"><p>Hi <b class="p-x">there</b></p></div></div>
             <div class="hentry"><span class="author vcard"><a class="fn url" href="ann">Ann</a></span></div></div>"#,
        expect![[r#"
            {"type":["h-feed"],"properties":{"name":["Feed"]},"children":[{"type":["h-entry"],"properties":{"name":["T"],"url":["p1"],"category":["a b","See"],"author":[{"type":["h-card"],"properties":{"name":["Ann"]},"value":"Ann"}],"content":[{"value":"Hi there","html":"<p>Hi <b class=\"p-x\">there</b></p>"}]},"id":"p1"},{"type":["h-entry"],"properties":{"author":[{"type":["h-card"],"properties":{"name":["Ann"],"url":["ann"]},"value":"Ann"}]}}]}
        "#]],
    );
    check(
        r#"<div class="hreview"><p class="item"><img class="photo" src="i"><a class="fn url" href="u">Crepes</a></p>
             <b class="rating">4</b><b class="best">5</b><b class="reviewer">Ann</b><a rel="self bookmark" href="r">r</a></div>
           <div class="hreview"><a class="item fn url" href="u">Crepes</a></div>
           <div class="hreview"><div class="item vcard"><b class="fn">Pub</b></div><p class="description">D</p></div>
           <div class="hreview-aggregate"><b class="item fn">Pub</b><b class="average">4.5</b><b class="count">9</b></div>
           <div class="hproduct"><b class="fn">Hat</b><b class="price">5</b><p class="review hreview-aggregate"><b class="rating">3</b></p></div>
           <div class="hrecipe"><b class="fn">Soup</b><i class="ingredient">Water</i><div class="instructions"><ol><li>Boil</ol></div></div>
           <div class="hresume"><p class="contact">Ann</p><p class="experience vevent"><b class="summary">Job</b></p><i class="skill">Rust</i></div>
           <p class="geo"><abbr class="latitude" title="1.5">N</abbr><b class="longitude">2.5</b></p>"#,
        expect![[r#"
            {"type":["h-review"],"properties":{"item":[{"type":["h-item"],"properties":{"photo":["i"],"name":["Crepes"],"url":["u"]},"value":"Crepes"}],"rating":["4"],"best":["5"],"author":[{"type":["h-card"],"properties":{"name":["Ann"]},"value":"Ann"}],"url":["r"]}}
            {"type":["h-review"],"properties":{"item":[{"type":["h-item"],"properties":{"name":["Crepes"],"url":["u"]},"value":"Crepes"}]}}
            {"type":["h-review"],"properties":{"item":[{"type":["h-card"],"properties":{"name":["Pub"]},"value":"Pub"}],"description":["D"]}}
            {"type":["h-review-aggregate"],"properties":{"item":[{"type":["h-item"],"properties":{"name":["Pub"]},"value":"Pub"}],"average":["4.5"],"count":["9"]}}
            {"type":["h-product"],"properties":{"name":["Hat"],"price":["5"],"review":[{"type":["h-review-aggregate"],"properties":{"rating":["3"]},"value":"3"}]}}
            {"type":["h-recipe"],"properties":{"name":["Soup"],"ingredient":["Water"],"instructions":[{"value":"Boil","html":"<ol><li>Boil</li></ol>"}]}}
            {"type":["h-resume"],"properties":{"contact":[{"type":["h-card"],"properties":{"name":["Ann"]},"value":"Ann"}],"experience":[{"type":["h-event"],"properties":{"name":["Job"]},"value":"Job"}],"skill":["Rust"]}}
            {"type":["h-geo"],"properties":{"latitude":["1.5"],"longitude":["2.5"]}}
        "#]],
    );
}

#[test]
fn rels_are_gathered() {
    let (found, _) = parse(
        r#"<link rel="alternate" type="application/rss+xml" title="Feed" href="f"><a rel="me  me friend" href="a" hreflang="de"> Ann </a>
           <a rel="me" href="a" title="again">other</a><area rel="x" href=""><a rel="" href="b">b</a><a rel="y">no</a>"#,
    );
    expect![[r#"
        {
          "items": [],
          "rels": {
            "alternate": [
              "f"
            ],
            "me": [
              "a"
            ],
            "friend": [
              "a"
            ],
            "x": [
              "page"
            ]
          },
          "rel-urls": {
            "f": {
              "rels": [
                "alternate"
              ],
              "text": "",
              "title": "Feed",
              "type": "application/rss+xml"
            },
            "a": {
              "rels": [
                "me",
                "friend"
              ],
              "text": "Ann",
              "hreflang": "de",
              "title": "again"
            },
            "page": {
              "rels": [
                "x"
              ],
              "text": ""
            }
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&found).unwrap().replace("https://example.org/dir/", ""));
}

#[test]
fn cards_become_vcards() {
    check_rdf(
        r##"<html lang="en"><div class="h-card" id="ann"><b class="p-name">Ann
             Smith</b><a class="u-url" href="/ann">home</a><a class="u-email" href="mailto:ann@example.org">mail</a>
             <b class="p-email">a@b.example</b><b class="p-tel">+1 2</b><a class="u-tel" href="tel:+12">t</a><img class="u-photo" src="a.png" alt="Ann">
             <p class="p-adr h-adr"><b class="p-locality" lang="it">Roma</b><b class="p-country-name">Italy</b></p>
             <p class="p-geo h-geo"><b class="p-latitude">1.5</b></p><a class="p-org h-card" href="o">Org</a><b class="p-org">Words</b>
             <time class="dt-bday">2000-01-01</time><b class="p-x-shoe">42</b></div>
           <p class="h-card" id="ann"><b class="p-name p-org">Acme</b></p>"##,
        expect![[r#"
            <page#ann> <rdf:type> <vcard:Individual>
            <page#ann> <vcard:fn> "Ann Smith"@en
            <page#ann> <vcard:hasURL> <https://example.org/ann>
            <page#ann> <vcard:hasEmail> <mailto:ann@example.org>
            <page#ann> <vcard:hasEmail> <mailto:a@b.example>
            <page#ann> <vcard:tel> "+1 2"
            <page#ann> <vcard:hasTelephone> <tel:+12>
            <page#ann> <vcard:hasPhoto> <a.png>
            <page#ann> <vcard:hasAddress> _:0
            <page#ann> <vcard:hasGeo> _:1
            <page#ann> <vcard:org> _:2
            <page#ann> <vcard:organization-name> "Words"@en
            <page#ann> <vcard:bday> "2000-01-01"^^<xsd:date>
            <page#ann> <mf2:x-shoe> "42"
            _:0 <rdf:type> <vcard:Address>
            _:0 <vcard:locality> "Roma"@it
            _:0 <vcard:country-name> "Italy"@en
            _:1 <rdf:type> <geo:Point>
            _:1 <geo:lat> "1.5"
            _:2 <rdf:type> <vcard:Individual>
            _:2 <vcard:fn> "Org"@en
            _:2 <vcard:hasURL> <o>
            _:3 <rdf:type> <vcard:Organization>
            _:3 <vcard:fn> "Acme"@en
            _:3 <vcard:organization-name> "Acme"@en
        "#]],
    );
}

#[test]
fn everything_else_becomes_schema_org() {
    check_rdf(
        r#"<div class="h-feed"><b class="p-name">Feed</b><div class="h-entry"><a class="p-name u-url" href="1">One</a>
             <div class="e-content"><p>Some <b>words</b></p></div><time class="dt-published" datetime="2001-02-03 04:05+0100"></time>
             <a class="u-in-reply-to h-cite" href="http://a.example/x">x</a><i class="p-category">k</i><i class="p-rsvp">yes</i></div>
             <p class="h-x">noise <b class="h-card">Kid</b></p></div>
           <div class="h-event"><b class="p-name">Party</b><time class="dt-start">2009-06-26</time><i class="dt-end">late</i><b class="p-location h-card">Pub</b></div>
           <div class="h-review"><b class="p-item h-item">Hat</b><b class="p-rating">4</b><b class="p-best">5</b></div>
           <div class="h-product"><b class="p-name">Hat</b><b class="p-price">5</b>
             <p class="p-review h-review-aggregate"><b class="p-rating">4</b><b class="p-count">3</b></p></div>
           <div class="h-recipe"><b class="p-name">Soup</b><b class="p-ingredient">Water</b><time class="dt-duration" datetime="PT5M"></time></div>
           <div class="h-resume"><b class="p-skill">Rust</b></div><p class="h-geo"><b class="p-latitude">1</b></p>"#,
        expect![[r#"
            _:0 <rdf:type> <schema:Blog>
            _:0 <schema:name> "Feed"
            _:0 <schema:blogPost> _:1
            _:1 <rdf:type> <schema:BlogPosting>
            _:1 <schema:name> "One"
            _:1 <schema:url> <1>
            _:1 <schema:articleBody> "Some words"
            _:1 <schema:datePublished> "2001-02-03T04:05:00+01:00"^^<xsd:dateTime>
            _:1 <http://rdfs.org/sioc/ns#reply_of> _:2
            _:1 <schema:keywords> "k"
            _:1 <mf2:rsvp> "yes"
            _:2 <rdf:type> <schema:CreativeWork>
            _:2 <schema:name> "x"
            _:2 <schema:url> <http://a.example/x>
            _:3 <rdf:type> <vcard:Individual>
            _:3 <vcard:fn> "Kid"
            _:4 <rdf:type> <schema:Event>
            _:4 <schema:name> "Party"
            _:4 <schema:startDate> "2009-06-26"^^<xsd:date>
            _:4 <schema:endDate> "late"
            _:4 <schema:location> _:5
            _:5 <rdf:type> <vcard:Individual>
            _:5 <vcard:fn> "Pub"
            _:6 <rdf:type> <schema:Review>
            _:6 <schema:itemReviewed> _:7
            _:6 <schema:reviewRating> _:8
            _:8 <rdf:type> <schema:Rating>
            _:8 <schema:ratingValue> "4"
            _:8 <schema:bestRating> "5"
            _:7 <rdf:type> <schema:Thing>
            _:7 <schema:name> "Hat"
            _:9 <rdf:type> <schema:Product>
            _:9 <schema:name> "Hat"
            _:9 <schema:offers> _:10
            _:10 <rdf:type> <schema:Offer>
            _:10 <schema:price> "5"
            _:9 <schema:review> _:11
            _:11 <rdf:type> <schema:AggregateRating>
            _:11 <schema:ratingValue> "4"
            _:11 <schema:reviewCount> "3"
            _:12 <rdf:type> <schema:Recipe>
            _:12 <schema:name> "Soup"
            _:12 <schema:recipeIngredient> "Water"
            _:12 <schema:totalTime> "PT5M"^^<xsd:duration>
            _:13 <rdf:type> <mf2:h-resume>
            _:13 <mf2:skill> "Rust"
            _:14 <rdf:type> <geo:Point>
            _:14 <geo:lat> "1"
        "#]],
    );
}

#[test]
fn heights_are_no_items() {
    check_rdf(
        r#"<div class="h-full h-screen"><div class="h-card"><div class="h-auto"><b class="p-name">Ann</b></div></div></div>
           <div class="h-100 h-center">a page in a style sheet</div>"#,
        expect![[r#"
            _:0 <rdf:type> <vcard:Individual>
            _:0 <vcard:fn> "Ann"
        "#]],
    );
}

#[test]
fn items_nested_too_deep_are_flattened() {
    let body = format!("{}<b class=p-name>x</b>", "<div class='h-x p-a p-b p-c'>".repeat(200));
    let (found, diagnostics) = parse(&body);
    assert_eq!(diagnostics.len(), 2, "{diagnostics:?}");
    assert!(diagnostics.iter().any(|diagnostic| diagnostic.code == "microformats-too-deep"));
    assert!(diagnostics.iter().any(|diagnostic| diagnostic.code == "microformats-cut"));
    // Three properties at each of forty levels would be 3^40 items.
    assert!(serde_json::to_vec(&found).unwrap().len() < 200 << 20);
}

#[test]
fn what_is_copied_is_bounded() {
    let many: String = (0..100_000).fold(String::new(), |mut many, number| {
        write!(many, "p-{} ", letters(number)).unwrap();
        many
    });
    for body in [
        format!("<div class=h-x>{}{}", "<div class=e-a>".repeat(500), "word ".repeat(200_000)),
        format!(
            "<div class=h-x>{}{}",
            "<div class='p-a u-b dt-c e-d'>".repeat(500),
            "<i></i>".repeat(200_000)
        ),
        format!("<div class=h-x><b class='{many}'>{}</b>", "word ".repeat(10_000)),
        format!(
            "<div class=h-x><div class='h-y {many}'><b class=p-name>{}</b></div>",
            "word ".repeat(10_000)
        ),
        format!("<a rel='{many}' href=x></a>{}", "<a rel=a href=y></a>".repeat(1000)),
        "<div class=hentry><a rel='tag bookmark' href=x class='author vcard'>".repeat(20_000),
    ] {
        let start = Instant::now();
        let (found, _) = parse(&body);
        assert!(serde_json::to_vec(&found).unwrap().len() < 200 << 20);
        triples(&body);
        assert!(start.elapsed() < Duration::from_secs(20), "{:?} for {}", start.elapsed(), &body[..60]);
    }
}

fn letters(mut number: usize) -> String {
    let mut name = String::from("x");
    while number > 0 {
        name.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    name
}

#[test]
fn limits_are_told() {
    let config = TransformConfig {
        limits: Limits { microformats_bytes_max: 3000, ..Limits::default() },
        ..TransformConfig::default()
    };
    let body = "<p class=h-card>Ann and some more words</p>".repeat(100);
    let (found, diagnostics) = microformats(&page(&body), &config);
    assert!((1..100).contains(&found.items.len()), "{}", found.items.len());
    assert_eq!(diagnostics[0].code, "microformats-cut");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_markup_never_panics_and_always_says_the_same(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        let body = pieces.concat();
        prop_assert_eq!(parse(&body).0, parse(&body).0);
        prop_assert_eq!(triples(&body).quads, triples(&body).quads);
    }

    #[test]
    fn any_date_is_read_or_left(text in "[0-9T:+. apmZé-]{0,24}") {
        triples(&format!("<p class=h-event><b class=dt-start><i class=value>{text}</i></b><b class=dt-end>{text}</b></p>"));
    }
}

const PIECES: &[&str] = &[
    "<div class=h-card>",
    "<div class='h-entry p-author u-x'>",
    "<div class='vcard author'>",
    "<div class='hentry vevent'>",
    "<div class='hreview item'>",
    "<p class='p-name e-content dt-start u-url'>",
    "<p class='fn url summary dtstart'>",
    "<b class=value>",
    "<b class=value-title title='2001-02-03'>",
    "<img class='u-photo h-x' src=é alt=a>",
    "<a href='::' rel='tag bookmark me'>",
    "<template class=h-card>",
    "<table class=h-x><tr>",
    "<svg class=h-y>",
    "</div>",
    "</p>",
    "</b>",
    "10:30pm é",
];
