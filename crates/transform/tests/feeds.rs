//! Feeds, outlines and sitemaps in, N-Triples out, through the front door.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "the helpers are tests too")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use webloom_model::{DetectedPage, Detection, DocumentKind, FetchedPage, PageGraph, PageUrl};
use webloom_transform::{Limits, TransformConfig, transform};

const PAGE: &str = "http://example.org/blog/feed";

fn run(kind: DocumentKind, body: &str) -> PageGraph {
    run_with(kind, body, &TransformConfig::default())
}

fn run_with(kind: DocumentKind, body: &str, config: &TransformConfig) -> PageGraph {
    let url = PageUrl::parse(PAGE).unwrap();
    let page = DetectedPage {
        page: FetchedPage::local(url, None, Bytes::from(body.to_owned())),
        detection: Detection {
            kind,
            media_type: kind.media_type().unwrap_or_default().to_owned(),
            charset: Some("UTF-8"),
            xml_root: None,
            syntaxes: Vec::new(),
        },
        unpacked: None,
    };
    transform(&page, config)
}

/// Triples in order, then the words, then what was wrong; namespaces and the page shortened.
fn show(graph: &PageGraph) -> String {
    let mut text = String::new();
    for quad in &graph.quads {
        writeln!(text, "{quad} .").unwrap();
    }
    for (namespace, prefix) in [
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
        ("http://www.w3.org/2000/01/rdf-schema#", "rdfs:"),
        ("http://purl.org/rss/1.0/modules/content/", "content:"),
        ("http://purl.org/rss/1.0/modules/slash/", "slash:"),
        ("http://purl.org/rss/1.0/", "rss:"),
        ("http://purl.org/dc/elements/1.1/", "dc:"),
        ("http://purl.org/dc/terms/", "dct:"),
        ("http://xmlns.com/foaf/0.1/", "foaf:"),
        ("http://www.w3.org/1999/xhtml/vocab#", "xhv:"),
        ("http://www.w3.org/2004/02/skos/core#", "skos:"),
        ("http://www.w3.org/2003/01/geo/wgs84_pos#", "geo:"),
        ("http://schema.org/", "schema:"),
        ("http://www.w3.org/2001/XMLSchema#", "xsd:"),
        ("urn:webloom:ns#", "wl:"),
    ] {
        text = text.replace(namespace, prefix);
    }
    text = text.replace(&format!("<{PAGE}>"), "<>");
    while let Some(start) = text.find("_:b").filter(|start| text.as_bytes().get(start + 19) == Some(&b'n')) {
        text.replace_range(start + 2..start + 20, "");
    }
    if let Some(title) = &graph.text.title {
        writeln!(text, "# {title}").unwrap();
    }
    if !graph.text.body.is_empty() {
        writeln!(text, "# {}", graph.text.body).unwrap();
    }
    for diagnostic in &graph.diagnostics {
        writeln!(text, "! {diagnostic}").unwrap();
    }
    text
}

#[track_caller]
fn check(kind: DocumentKind, body: &str, expected: Expect) {
    let graph = run(kind, body);
    assert_eq!(graph.quads, run(kind, body).quads, "the same feed gave two graphs");
    expected.assert_eq(&show(&graph));
}

#[test]
fn rss_2_0() {
    check(
        DocumentKind::Rss,
        r#"<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/">
<channel><title>Ink &amp;amp; Spindle</title><link>http://example.org/</link><description>All &lt;b&gt;about&lt;/b&gt; yarn</description>
<language>en-gb</language><pubDate>Thu, 01 Jan 2004 19:48:21 GMT</pubDate>
<item><title>One</title><link><![CDATA[ /blog/1 ]]></link><guid isPermaLink="false">abc</guid>
<dc:creator>Ada (ada@example.org)</dc:creator><category domain="http://example.org/tags">yarn</category>
<content:encoded><![CDATA[<a href="2">next</a>]]></content:encoded>
<enclosure url="/a.mp3" length="100" type="audio/mpeg"/><comments>/blog/1#comments</comments></item>
<item><guid>http://example.org/blog/2</guid><description>Two</description></item>
<item><title>Three</title><link>http://example.org/</link></item>
</channel></rss>"#,
        expect![[r#"
            <> <rdf:type> <rss:channel> .
            <> <dct:conformsTo> <https://www.rssboard.org/rss-specification> .
            <> <rss:title> "Ink & Spindle" .
            <> <rss:link> <http://example.org/> .
            <> <rss:description> "All <b>about</b> yarn"^^<rdf:HTML> .
            <> <dc:language> "en-gb" .
            <> <dct:issued> "2004-01-01T19:48:21Z"^^<xsd:dateTime> .
            <> <dc:date> "2004-01-01T19:48:21Z"^^<xsd:dateTime> .
            <> <rss:items> _:0 .
            _:0 <rdf:type> <rdf:Seq> .
            _:0 <rdf:_1> <http://example.org/blog/1> .
            <http://example.org/blog/1> <rdf:type> <rss:item> .
            <http://example.org/blog/1> <rss:title> "One" .
            <http://example.org/blog/1> <rss:link> <http://example.org/blog/1> .
            <http://example.org/blog/1> <content:encoded> "<a href=\"http://example.org/blog/2\">next</a>"^^<rdf:HTML> .
            <http://example.org/blog/1> <dct:identifier> "abc" .
            <http://example.org/blog/1> <dc:creator> "Ada" .
            <http://example.org/blog/1> <dct:creator> _:1 .
            _:1 <rdf:type> <foaf:Agent> .
            _:1 <foaf:name> "Ada" .
            _:1 <foaf:mbox> <mailto:ada@example.org> .
            <http://example.org/blog/1> <dc:subject> "yarn" .
            <http://example.org/blog/1> <dct:subject> _:2 .
            _:2 <rdf:type> <skos:Concept> .
            _:2 <skos:notation> "yarn" .
            _:2 <skos:inScheme> <http://example.org/tags> .
            <http://example.org/blog/1> <schema:associatedMedia> <http://example.org/a.mp3> .
            <http://example.org/a.mp3> <rdf:type> <schema:AudioObject> .
            <http://example.org/a.mp3> <schema:encodingFormat> "audio/mpeg" .
            <http://example.org/a.mp3> <schema:contentSize> "100" .
            <http://example.org/blog/1> <schema:discussionUrl> <http://example.org/blog/1#comments> .
            _:0 <rdf:_2> <http://example.org/blog/2> .
            <http://example.org/blog/2> <rdf:type> <rss:item> .
            <http://example.org/blog/2> <rss:link> <http://example.org/blog/2> .
            <http://example.org/blog/2> <rss:description> "Two" .
            <http://example.org/blog/2> <dct:identifier> "http://example.org/blog/2" .
            _:0 <rdf:_3> _:3 .
            _:3 <rdf:type> <rss:item> .
            _:3 <rss:title> "Three" .
            _:3 <rss:link> <http://example.org/> .
            # Ink & Spindle
            # All about yarn One next Two Three
        "#]],
    );
}

#[test]
fn atom_1_0() {
    check(
        DocumentKind::Atom,
        r#"<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de" xml:base="http://example.org/b/">
<title type="text">1 &lt; 2</title><id>urn:uuid:60a76c80</id><updated>2003-12-13T18:30:02+01:00</updated>
<link rel="self" href="feed.atom" type="application/atom+xml"/><link href="." hreflang="de"/>
<author><name>Ada</name><email>ada@example.org</email><uri>/ada</uri></author>
<entry xml:lang=""><title type="html">Q&amp;amp;A</title><id>tag:example.org,2003:1</id><link rel="enclosure" href="m.mp4" type="video/mp4" length="7"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">See <a href="x?a=1&amp;b">it</a><br/></div></content>
<source><id>http://other.example/</id><title>Other</title></source></entry>
<entry><title>Two</title><id>http://example.org/2</id><link href="two"/><link rel="via" href="http://v.example/"/><summary>Sum</summary></entry>
</feed>"#,
        expect![[r#"
            <> <rdf:type> <rss:channel> .
            <> <dct:conformsTo> <http://www.w3.org/2005/Atom> .
            <> <rss:title> "1 < 2"@de .
            <> <xhv:self> <http://example.org/b/feed.atom> .
            <http://example.org/b/feed.atom> <dct:format> "application/atom+xml" .
            <> <rss:link> <http://example.org/b/> .
            <http://example.org/b/> <dct:language> "de" .
            <> <dct:identifier> "urn:uuid:60a76c80" .
            <> <dc:language> "de" .
            <> <dct:modified> "2003-12-13T17:30:02Z"^^<xsd:dateTime> .
            <> <dc:date> "2003-12-13T17:30:02Z"^^<xsd:dateTime> .
            <> <dc:creator> "Ada" .
            <> <dct:creator> _:0 .
            _:0 <rdf:type> <foaf:Agent> .
            _:0 <foaf:name> "Ada" .
            _:0 <foaf:mbox> <mailto:ada@example.org> .
            _:0 <foaf:homepage> <http://example.org/ada> .
            <> <rss:items> _:1 .
            _:1 <rdf:type> <rdf:Seq> .
            _:1 <rdf:_1> <tag:example.org,2003:1> .
            <tag:example.org,2003:1> <rdf:type> <rss:item> .
            <tag:example.org,2003:1> <rss:title> "Q&amp;A"^^<rdf:HTML> .
            <tag:example.org,2003:1> <content:encoded> "See <a href=\"http://example.org/b/x?a=1&amp;b\">it</a><br />"^^<rdf:HTML> .
            <tag:example.org,2003:1> <dct:identifier> "tag:example.org,2003:1" .
            <tag:example.org,2003:1> <schema:associatedMedia> <http://example.org/b/m.mp4> .
            <http://example.org/b/m.mp4> <rdf:type> <schema:VideoObject> .
            <http://example.org/b/m.mp4> <schema:encodingFormat> "video/mp4" .
            <http://example.org/b/m.mp4> <schema:contentSize> "7" .
            <tag:example.org,2003:1> <dct:source> <http://other.example/> .
            <http://other.example/> <rdf:type> <rss:channel> .
            <http://other.example/> <rss:title> "Other" .
            <http://other.example/> <dct:identifier> "http://other.example/" .
            _:1 <rdf:_2> <http://example.org/b/two> .
            <http://example.org/b/two> <rdf:type> <rss:item> .
            <http://example.org/b/two> <rss:title> "Two"@de .
            <http://example.org/b/two> <rss:link> <http://example.org/b/two> .
            <http://example.org/b/two> <xhv:via> <http://v.example/> .
            <http://example.org/b/two> <rss:description> "Sum"@de .
            <http://example.org/b/two> <dct:identifier> "http://example.org/2" .
            # 1 < 2
            # Q&A See it Two Sum
        "#]],
    );
}

#[test]
fn json_feed() {
    check(
        DocumentKind::JsonFeed,
        r#"{"version":"https://jsonfeed.org/version/1.1","title":"Mine","home_page_url":"https://example.org/","feed_url":"https://example.org/feed.json",
"authors":[{"name":"Ada","url":"https://example.org/ada","avatar":"https://example.org/ada.png"}],
"items":[{"id":"1","url":"https://example.org/1","title":"One","content_html":"<p><a href=\"x\">x</a></p>","date_published":"2020-01-02T03:04:05-01:00",
"tags":["a","b"],"attachments":[{"url":"a.mp3","mime_type":"audio/mpeg","size_in_bytes":5,"duration_in_seconds":61}]},
{"id":2,"content_text":"Two"},7]}"#,
        expect![[r#"
            <> <rdf:type> <rss:channel> .
            <> <dct:conformsTo> <https://jsonfeed.org/version/1.1> .
            <> <rss:title> "Mine" .
            <> <rss:link> <https://example.org/> .
            <> <xhv:self> <https://example.org/feed.json> .
            <> <dc:creator> "Ada" .
            <> <dct:creator> _:0 .
            _:0 <rdf:type> <foaf:Agent> .
            _:0 <foaf:name> "Ada" .
            _:0 <foaf:homepage> <https://example.org/ada> .
            _:0 <foaf:img> <https://example.org/ada.png> .
            <> <rss:items> _:1 .
            _:1 <rdf:type> <rdf:Seq> .
            _:1 <rdf:_1> <https://example.org/1> .
            <https://example.org/1> <rdf:type> <rss:item> .
            <https://example.org/1> <rss:title> "One" .
            <https://example.org/1> <rss:link> <https://example.org/1> .
            <https://example.org/1> <content:encoded> "<p><a href=\"http://example.org/blog/x\">x</a></p>"^^<rdf:HTML> .
            <https://example.org/1> <dct:identifier> "1" .
            <https://example.org/1> <dct:issued> "2020-01-02T04:04:05Z"^^<xsd:dateTime> .
            <https://example.org/1> <dc:date> "2020-01-02T04:04:05Z"^^<xsd:dateTime> .
            <https://example.org/1> <dc:subject> "a" .
            <https://example.org/1> <dc:subject> "b" .
            <https://example.org/1> <schema:associatedMedia> <http://example.org/blog/a.mp3> .
            <http://example.org/blog/a.mp3> <rdf:type> <schema:AudioObject> .
            <http://example.org/blog/a.mp3> <schema:encodingFormat> "audio/mpeg" .
            <http://example.org/blog/a.mp3> <schema:contentSize> "5" .
            <http://example.org/blog/a.mp3> <schema:duration> "PT1M1S"^^<xsd:duration> .
            _:1 <rdf:_2> _:2 .
            _:2 <rdf:type> <rss:item> .
            _:2 <content:encoded> "Two" .
            _:2 <dct:identifier> "2" .
            # Mine
            # One x Two
        "#]],
    );
    check(
        DocumentKind::JsonFeed,
        "[]",
        expect![[r#"
        ! error: the feed is no JSON object [json-feed-syntax]
    "#]],
    );
    check(
        DocumentKind::JsonFeed,
        "{\"title\":",
        expect![[r#"
        ! error: line 1: EOF while parsing a value at line 1 column 9 [json-feed-syntax]
    "#]],
    );
}

#[test]
fn podcasts_pictures_and_places() {
    check(
        DocumentKind::Rss,
        r#"<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:media="http://search.yahoo.com/mrss/"
 xmlns:georss="http://www.georss.org/georss" xmlns:geo="http://www.w3.org/2003/01/geo/wgs84_pos#" xmlns:podcast="https://podcastindex.org/namespace/1.0">
<channel><title>P</title><itunes:category text="Arts"><itunes:category text="Books"/></itunes:category><itunes:image href="/p.jpg"/>
<itunes:owner><itunes:name>Ada</itunes:name><itunes:email>ada@example.org</itunes:email></itunes:owner><itunes:explicit>false</itunes:explicit>
<item><title>E</title><itunes:duration>1:02:03</itunes:duration><itunes:season>2</itunes:season><itunes:episode>7</itunes:episode>
<podcast:transcript url="/t.vtt" type="text/vtt"/><georss:point>45.256 -71.92</georss:point>
<media:group><media:content url="/v.mp4" type="video/mp4" duration="60" width="640" fileSize="9"><media:title>V</media:title><media:thumbnail url="/v.jpg"/></media:content></media:group></item>
<item><geo:lat>1.5</geo:lat><geo:long>2</geo:long></item>
</channel></rss>"#,
        expect![[r#"
            <> <rdf:type> <rss:channel> .
            <> <dct:conformsTo> <https://www.rssboard.org/rss-specification> .
            <> <rss:title> "P" .
            <> <dc:publisher> "Ada" .
            <> <dct:publisher> _:0 .
            _:0 <rdf:type> <foaf:Agent> .
            _:0 <foaf:name> "Ada" .
            _:0 <foaf:mbox> <mailto:ada@example.org> .
            <> <dc:subject> "Arts" .
            <> <dct:subject> _:1 .
            _:1 <rdf:type> <skos:Concept> .
            _:1 <skos:notation> "Arts" .
            _:1 <skos:inScheme> <http://www.itunes.com/> .
            <> <dc:subject> "Books" .
            <> <dct:subject> _:2 .
            _:2 <rdf:type> <skos:Concept> .
            _:2 <skos:notation> "Books" .
            _:2 <skos:inScheme> <http://www.itunes.com/> .
            <> <foaf:depiction> <http://example.org/p.jpg> .
            <> <schema:isFamilyFriendly> "true"^^<xsd:boolean> .
            <> <rss:items> _:3 .
            _:3 <rdf:type> <rdf:Seq> .
            _:3 <rdf:_1> _:4 .
            _:4 <rdf:type> <rss:item> .
            _:4 <rss:title> "E" .
            _:4 <schema:associatedMedia> <http://example.org/v.mp4> .
            <http://example.org/v.mp4> <rdf:type> <schema:VideoObject> .
            <http://example.org/v.mp4> <schema:encodingFormat> "video/mp4" .
            <http://example.org/v.mp4> <schema:contentSize> "9" .
            <http://example.org/v.mp4> <schema:duration> "PT1M"^^<xsd:duration> .
            <http://example.org/v.mp4> <schema:width> "640"^^<xsd:integer> .
            <http://example.org/v.mp4> <schema:name> "V" .
            <http://example.org/v.mp4> <schema:thumbnailUrl> <http://example.org/v.jpg> .
            _:4 <schema:duration> "PT1H2M3S"^^<xsd:duration> .
            _:4 <schema:transcript> <http://example.org/t.vtt> .
            _:4 <schema:episodeNumber> "7"^^<xsd:integer> .
            _:4 <schema:partOfSeason> _:5 .
            _:5 <rdf:type> <schema:CreativeWorkSeason> .
            _:5 <schema:seasonNumber> "2"^^<xsd:integer> .
            _:4 <geo:location> _:6 .
            _:6 <rdf:type> <geo:Point> .
            _:6 <geo:lat> "45.256"^^<xsd:decimal> .
            _:6 <geo:long> "-71.92"^^<xsd:decimal> .
            _:3 <rdf:_2> _:7 .
            _:7 <rdf:type> <rss:item> .
            _:7 <geo:location> _:8 .
            _:8 <rdf:type> <geo:Point> .
            _:8 <geo:lat> "1.5"^^<xsd:decimal> .
            _:8 <geo:long> "2"^^<xsd:decimal> .
            # P
            # E
        "#]],
    );
}

#[test]
fn rss_1_0_is_rdf_and_broken_rss_1_0_is_still_a_feed() {
    let feed = r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="http://example.org/blog/feed"><title>Channel</title><link>http://example.org/</link></channel>
<item rdf:about="http://example.org/1"><title>One</title><link>http://example.org/1</link><description>&lt;p&gt;Words&lt;/p&gt;</description></item></rdf:RDF>"#;
    check(
        DocumentKind::RdfXml,
        feed,
        expect![[r#"
        <> <rdf:type> <rss:channel> .
        <> <rss:title> "Channel" .
        <> <rss:link> "http://example.org/" .
        <http://example.org/1> <rdf:type> <rss:item> .
        <http://example.org/1> <rss:title> "One" .
        <http://example.org/1> <rss:link> "http://example.org/1" .
        <http://example.org/1> <rss:description> "<p>Words</p>" .
        # Channel
        # One Words
    "#]],
    );
    check(
        DocumentKind::RdfXml,
        &feed.replace("Channel", "Tom & Jerry").replace("</rdf:RDF>", ""),
        expect![[r#"
            <> <rdf:type> <rss:channel> .
            <> <dct:conformsTo> <rss:> .
            <> <rss:title> "Tom & Jerry" .
            <> <rss:link> <http://example.org/> .
            <> <rss:items> _:0 .
            _:0 <rdf:type> <rdf:Seq> .
            _:0 <rdf:_1> <http://example.org/1> .
            <http://example.org/1> <rdf:type> <rss:item> .
            <http://example.org/1> <rss:title> "One" .
            <http://example.org/1> <rss:link> <http://example.org/1> .
            <http://example.org/1> <rss:description> "<p>Words</p>"^^<rdf:HTML> .
            # Tom & Jerry
            # One Words
            ! warning: line 2: error while escaping character at range 4..11: Cannot find ';' after '&' [rdf-xml-syntax]
            ! warning: line 3: the document ends within an element; what follows is missing [rdf-xml-syntax]
            ! warning: line 2: a `&` that begins no reference [xml-syntax]
            ! warning: line 3: the document ends before </rdf:RDF> [xml-syntax]
        "#]],
    );
}

#[test]
fn rss_0_90_is_no_rdf_though_it_looks_it() {
    check(
        DocumentKind::RdfXml,
        r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://my.netscape.com/rdf/simple/0.9/">
<channel><title>C</title><link>http://example.org/</link></channel><image><title>I</title><url>/i.png</url></image>
<item><title>One</title><link>http://example.org/1</link></item></rdf:RDF>"#,
        expect![[r#"
            <> <rdf:type> <rss:channel> .
            <> <dct:conformsTo> <http://my.netscape.com/rdf/simple/0.9/> .
            <> <rss:title> "C" .
            <> <rss:link> <http://example.org/> .
            <> <rss:image> <http://example.org/i.png> .
            <http://example.org/i.png> <rdf:type> <rss:image> .
            <http://example.org/i.png> <rss:url> <http://example.org/i.png> .
            <http://example.org/i.png> <rss:title> "I" .
            <> <rss:items> _:0 .
            _:0 <rdf:type> <rdf:Seq> .
            _:0 <rdf:_1> <http://example.org/1> .
            <http://example.org/1> <rdf:type> <rss:item> .
            <http://example.org/1> <rss:title> "One" .
            <http://example.org/1> <rss:link> <http://example.org/1> .
            # C
            # One
        "#]],
    );
}

#[test]
fn undeclared_prefixes_and_broken_markup_are_read() {
    check(
        DocumentKind::Rss,
        "<rss><channel><title>R&D</title><item><dc:creator>Ada</dc:creator><pubDate>soon</pubDate><link>http://[</link><title>T",
        expect![[r#"
            <> <rdf:type> <rss:channel> .
            <> <rss:title> "R&D" .
            <> <rss:items> _:0 .
            _:0 <rdf:type> <rdf:Seq> .
            _:0 <rdf:_1> _:1 .
            _:1 <rdf:type> <rss:item> .
            _:1 <rss:title> "T" .
            _:1 <dct:issued> "soon" .
            _:1 <dc:date> "soon" .
            _:1 <dc:creator> "Ada" .
            _:1 <dct:creator> _:2 .
            _:2 <rdf:type> <foaf:Agent> .
            _:2 <foaf:name> "Ada" .
            # R&D
            # T
            ! warning: line 1: a `&` that begins no reference [xml-syntax]
            ! warning: line 1: a prefix that is not declared [xml-syntax]
            ! warning: line 1: the document ends before </title> [xml-syntax]
            ! note: line 1: `soon` is not a date that can be read; it is kept as text [feed-date]
            ! note: line 1: `http://[` is not a usable reference [feed-bad-reference]
        "#]],
    );
    check(
        DocumentKind::Atom,
        "<feed version='0.3' xmlns='http://purl.org/pie/'><title>Old</title></feed>",
        expect![[r#"
            <> <rdf:type> <rss:channel> .
            <> <dct:conformsTo> <http://purl.org/atom/ns#> .
            <> <rss:title> "Old" .
            # Old
        "#]],
    );
    check(
        DocumentKind::Rss,
        "no feed at all",
        expect![[r#"
        ! warning: line 1: text outside of the root element [xml-syntax]
        ! warning: line 1: there is no element [xml-syntax]
    "#]],
    );
}

#[test]
fn outlines_keep_their_tree() {
    check(
        DocumentKind::Opml,
        r#"<opml version="2.0"><head><title>Feeds</title><ownerName>Ada</ownerName><dateModified>2020-01-02</dateModified></head><body>
<outline text="News"><outline text="A" type="rss" xmlUrl="http://a.example/feed" htmlUrl="http://a.example/"/></outline>
<outline text="Page" type="link" url="http://p.example/"/></body></opml>"#,
        expect![[r#"
            <> <rdf:type> <wl:Outline> .
            <> <rss:title> "Feeds" .
            <> <dct:modified> "2020-01-02"^^<xsd:date> .
            <> <dc:creator> "Ada" .
            <> <dct:creator> _:0 .
            _:0 <rdf:type> <foaf:Agent> .
            _:0 <foaf:name> "Ada" .
            <> <dct:hasPart> _:1 .
            _:1 <rdfs:label> "News" .
            _:1 <dct:hasPart> <http://a.example/feed> .
            <http://a.example/feed> <rdf:type> <rss:channel> .
            <http://a.example/feed> <rss:title> "A" .
            <http://a.example/feed> <rss:link> <http://a.example/> .
            <> <rdfs:seeAlso> <http://a.example/feed> .
            <http://a.example/feed> <rdfs:label> "A" .
            <> <rdfs:seeAlso> <http://a.example/> .
            <http://a.example/> <rdfs:label> "A" .
            <> <dct:hasPart> <http://p.example/> .
            <> <rdfs:seeAlso> <http://p.example/> .
            <http://p.example/> <rdfs:label> "Page" .
            # Feeds
            # News A Page
        "#]],
    );
}

#[test]
fn sitemaps_give_their_links() {
    check(
        DocumentKind::Sitemap,
        r#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
 xmlns:xhtml="http://www.w3.org/1999/xhtml" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" xmlns:video="http://www.google.com/schemas/sitemap-video/1.1">
<url><loc> http://example.org/a </loc><lastmod>2020-01</lastmod><changefreq>Daily</changefreq><priority>0.8</priority>
<image:image><image:loc>http://example.org/i.png</image:loc><image:caption>I</image:caption></image:image>
<xhtml:link rel="alternate" hreflang="de" href="http://example.org/de/a"/></url>
<url><loc>http://example.org/a</loc></url><url><loc>mailto:x@example.org</loc></url><url/>
<url><loc>http://example.org/n</loc><news:news><news:publication><news:name>N</news:name><news:language>en</news:language></news:publication>
<news:publication_date>2020-01-02</news:publication_date><news:title>T</news:title></news:news>
<video:video><video:content_loc>http://example.org/v.mp4</video:content_loc><video:title>V</video:title><video:duration>61</video:duration></video:video></url></urlset>"#,
        expect![[r#"
            <> <rdf:type> <wl:Sitemap> .
            <> <rdfs:seeAlso> <http://example.org/a> .
            <http://example.org/a> <dct:modified> "2020-01"^^<xsd:gYearMonth> .
            <http://example.org/a> <wl:changeFrequency> "daily" .
            <http://example.org/a> <wl:priority> "0.8"^^<xsd:decimal> .
            <http://example.org/a> <foaf:depiction> <http://example.org/i.png> .
            <http://example.org/i.png> <dct:description> "I" .
            <http://example.org/a> <xhv:alternate> <http://example.org/de/a> .
            <http://example.org/de/a> <dct:language> "de" .
            <> <rdfs:seeAlso> <http://example.org/n> .
            <http://example.org/n> <dct:title> "T" .
            <http://example.org/n> <dct:issued> "2020-01-02"^^<xsd:date> .
            <http://example.org/n> <dc:publisher> "N" .
            <http://example.org/n> <dc:language> "en" .
            <http://example.org/n> <schema:associatedMedia> <http://example.org/v.mp4> .
            <http://example.org/v.mp4> <rdf:type> <schema:VideoObject> .
            <http://example.org/v.mp4> <schema:duration> "PT1M1S"^^<xsd:duration> .
            <http://example.org/v.mp4> <schema:name> "V" .
            ! note: addresses in the sitemap that cannot be used: 1 [sitemap-bad-address]
        "#]],
    );
    check(
        DocumentKind::Sitemap,
        r#"<sitemapindex xmlns="http://www.google.com/schemas/sitemap/0.84"><sitemap><loc>http://example.org/1.xml.gz</loc><lastmod>2020-01-02T03:04:05Z</lastmod></sitemap></sitemapindex>"#,
        expect![[r#"
            <> <rdf:type> <wl:SitemapIndex> .
            <> <rdfs:seeAlso> <http://example.org/1.xml.gz> .
            <http://example.org/1.xml.gz> <dct:modified> "2020-01-02T03:04:05Z"^^<xsd:dateTime> .
        "#]],
    );
    check(
        DocumentKind::Sitemap,
        "http://example.org/a\n\n# b\nhttp://example.org/c\nnonsense http://\n",
        expect![[r#"
            <> <rdf:type> <wl:Sitemap> .
            <> <rdfs:seeAlso> <http://example.org/a> .
            <> <rdfs:seeAlso> <http://example.org/c> .
            ! note: addresses in the sitemap that cannot be used: 1 [sitemap-bad-address]
        "#]],
    );
}

#[test]
fn a_sitemap_has_a_limit_of_its_own() {
    let mut body = "<urlset>".to_owned();
    for number in 0..20 {
        write!(body, "<url><loc>http://example.org/{number}</loc></url>").unwrap();
    }
    let config = TransformConfig {
        limits: Limits { sitemap_links_max: 7, ..Limits::default() },
        ..TransformConfig::default()
    };
    let graph = run_with(DocumentKind::Sitemap, &body, &config);
    assert!(graph.lists_links);
    assert_eq!(graph.plain_links.len(), 7);
    assert_eq!(graph.diagnostics.iter().filter(|it| it.code == "sitemap-links-cut").count(), 1);
}

#[test]
fn hostile_feeds_cost_little() {
    let megabytes = |count: usize, piece: &str| piece.repeat(count * 1_000_000 / piece.len());
    let item = |inner: String| format!("<rss version='2.0'><channel><item>{inner}");
    for (name, kind, body) in [
        ("items", DocumentKind::Rss, format!("<rss><channel>{}", megabytes(3, "<item/>"))),
        ("categories", DocumentKind::Rss, item(megabytes(3, "<category>a</category><category>b</category>"))),
        ("titles", DocumentKind::Rss, item(megabytes(3, "<title>"))),
        (
            "open tags in text",
            DocumentKind::Rss,
            item(format!("<description><![CDATA[{}", megabytes(5, "<a "))),
        ),
        ("references", DocumentKind::Rss, item(format!("<description>{}", megabytes(5, "&amp;amp;")))),
        ("quotes", DocumentKind::Rss, item(format!("<description><![CDATA[{}", megabytes(5, "<a href='")))),
        ("comments", DocumentKind::Rss, item(format!("<description><![CDATA[{}", megabytes(5, "<!--")))),
        ("scripts", DocumentKind::Rss, item(format!("<description><![CDATA[{}", megabytes(5, "<script>")))),
        (
            "end tags",
            DocumentKind::Rss,
            item(format!("<description><![CDATA[<script>{}", megabytes(5, "</"))),
        ),
        ("links", DocumentKind::Atom, format!("<feed><entry>{}", megabytes(3, "<link href='a'/>"))),
        ("bases", DocumentKind::Atom, format!("<feed>{}", megabytes(3, "<entry xml:base='a/'>"))),
        ("sources", DocumentKind::Atom, format!("<feed><entry>{}", megabytes(3, "<source><title>x</title>"))),
        ("positions", DocumentKind::Rss, item(format!("<georss:where>{}", megabytes(3, "<gml:pos>1")))),
        (
            "divs",
            DocumentKind::Atom,
            format!("<feed><title type='xhtml'>{}", megabytes(3, "<div xml:base='a/'>")),
        ),
        ("json", DocumentKind::JsonFeed, format!("{{\"items\":[{}{{}}]}}", megabytes(3, "{},"))),
        ("deep json", DocumentKind::JsonFeed, megabytes(3, "[")),
        (
            "outlines",
            DocumentKind::Opml,
            format!("<opml><body>{}", megabytes(3, "<outline text='a' url='b'>")),
        ),
        ("addresses", DocumentKind::Sitemap, format!("<urlset>{}", megabytes(3, "<url><loc>a</loc></url>"))),
        ("lines", DocumentKind::Sitemap, megabytes(3, "http://a.example/\n")),
    ] {
        let start = Instant::now();
        let graph = run(kind, &body);
        // Tests run unoptimised and beside others; quadratic behaviour would take minutes.
        assert!(start.elapsed() < Duration::from_secs(8), "{name} took {:?}", start.elapsed());
        let terms: usize = graph.quads.iter().map(|quad| quad.to_string().len()).sum();
        assert!(terms < 50 * body.len(), "{name} gave {terms} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_feeds_never_panic(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "<rss>", "<channel>", "<item>", "</item>", "<feed xmlns='http://www.w3.org/2005/Atom'>", "<entry>", "<title>",
                "<title type='xhtml'>", "<title mode='base64'>", "<link href='", "<link>", "'/>", "<guid>", "<source>", "<image>",
                "<url>", "<itunes:category text='a'>", "<media:content url='b'>", "<media:group>", "<georss:where>", "<gml:pos>",
                "<pubDate>", "2003-12-31T10:14:55Z", "</pubDate>", "http://a.example/#b", "&amp;lt;p&amp;gt;", "<p>", "</p>", "é", "<![CDATA[", "]]>",
                "<outline text='x' xmlUrl='y'>", "<loc>", "<urlset>", "xml:base='../'", ">", "QUJD", "1 2", "<dcterms:valid>start=2003;end=",
            ]),
            0..40,
        ),
        kind in prop::sample::select(vec![DocumentKind::Rss, DocumentKind::Atom, DocumentKind::Opml, DocumentKind::Sitemap, DocumentKind::RdfXml, DocumentKind::JsonFeed]),
    ) {
        let body = pieces.concat();
        let graph = run(kind, &body);
        prop_assert_eq!(&graph.quads, &run(kind, &body).quads);
        for quad in &graph.quads {
            if let oxrdf::Term::NamedNode(node) = &quad.object {
                prop_assert!(oxrdf::NamedNode::new(node.as_str()).is_ok(), "{}", node);
            }
        }
    }
}
