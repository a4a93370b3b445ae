//! What pages say of themselves, and what servers say in `Link`: pages in, N-Quads out.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "the helpers are tests too")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use webloom_detect::detect;
use webloom_model::{FetchedPage, PageGraph, PageUrl};
use webloom_transform::{Syntax, TransformConfig, transform};

const PAGE: &str = "https://example.org/dir/page";

fn run(content_type: &str, links: &[&str], body: &str) -> PageGraph {
    let url = PageUrl::parse(PAGE).unwrap();
    let mut page = FetchedPage::local(url, Some(content_type), Bytes::from(body.to_owned()));
    page.headers.extend(links.iter().map(|link| ("link".to_owned(), (*link).to_owned())));
    let only = Some(BTreeSet::from([Syntax::Meta]));
    transform(&detect(page), &TransformConfig { only, ..TransformConfig::default() })
}

fn show(graph: &PageGraph) -> String {
    let mut lines: Vec<String> = graph.quads.iter().map(|quad| format!("{quad} .")).collect();
    lines.extend(graph.diagnostics.iter().map(|diagnostic| format!("! {diagnostic}")));
    let mut text = lines.join("\n");
    for (namespace, prefix) in [
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:"),
        ("http://www.w3.org/2000/01/rdf-schema#", "rdfs:"),
        ("http://purl.org/dc/terms/", "dct:"),
        ("http://purl.org/dc/elements/1.1/", "dc:"),
        ("http://purl.org/ontology/bibo/", "bibo:"),
        ("http://xmlns.com/foaf/0.1/", "foaf:"),
        ("http://www.w3.org/1999/xhtml/vocab#", "xhv:"),
        ("http://www.w3.org/2001/XMLSchema#", "xsd:"),
        ("http://www.w3.org/2003/01/geo/wgs84_pos#", "geo:"),
        ("http://ogp.me/ns#", "og:"),
        ("http://ogp.me/ns/", "ogp/"),
        ("https://dev.twitter.com/cards#", "twitter:"),
        ("urn:webloom:ns#", "wl:"),
    ] {
        text = text.replace(namespace, prefix);
    }
    text = text.replace(&format!("<{PAGE}>"), "<>").replace("https://example.org", "");
    while let Some(start) = text.find("_:b").filter(|start| text.as_bytes().get(start + 19) == Some(&b'n')) {
        text.replace_range(start + 2..start + 20, "");
    }
    text
}

#[track_caller]
fn check(head: &str, expected: Expect) {
    expected.assert_eq(&show(&run("text/html", &[], head)));
}

#[test]
fn open_graph_and_twitter_cards() {
    check(
        r#"<html lang=en><meta property="og:title" content=" The Rock "><meta property=og:type content=video.movie>
           <meta property="og:description" content=""><meta property="og:locale" content="en_GB"><meta property="og:locale:alternate" content="fr_FR">
           <meta property="og:image:width" content="1"><meta property="og:image" content="/rock.jpg"><meta property="og:image:secure_url" content="https://s.example/rock.jpg">
           <meta property="og:image:width" content="300"><meta property="og:image:alt" content="A rock"><meta property="og:image:url" content="/rock.jpg">
           <meta property="og:image" content="/rock2.jpg"><meta property="og:image:height" content="about 10">
           <meta property="article:published_time" content="2024-05-06T07:08:09+00:00"><meta property="article:author" content="https://a.example/ada"><meta property="article:author" content="Ada">
           <meta property="video:actor" content="/ed"><meta property="video:actor:role" content="Goodspeed"><meta property="fb:app_id" content=12>
           <meta name="twitter:card" content=summary><meta property="twitter:image" content=/card.png><meta name="twitter:image:alt" content=Card>
           <meta name="og:site_name" property="og:site_name" content=IMDb><meta property="og:t itle og:x<y" content=z><meta property="unknown:thing" content=z>"#,
        expect![[r#"
            <> <og:title> "The Rock"@en .
            <> <og:type> "video.movie"@en .
            <> <og:locale> "en_GB"@en .
            <> <og:locale:alternate> "fr_FR"@en .
            <> <og:image:width> "1"^^<xsd:integer> .
            <> <og:image> </rock.jpg> .
            </rock.jpg> <og:image:secure_url> <https://s.example/rock.jpg> .
            </rock.jpg> <og:image:width> "300"^^<xsd:integer> .
            </rock.jpg> <og:image:alt> "A rock"@en .
            <> <og:image> </rock2.jpg> .
            </rock2.jpg> <og:image:height> "about 10"@en .
            <> <ogp/article#published_time> "2024-05-06T07:08:09+00:00"^^<xsd:dateTime> .
            <> <dct:issued> "2024-05-06T07:08:09+00:00"^^<xsd:dateTime> .
            <> <ogp/article#author> <https://a.example/ada> .
            <> <dct:creator> <https://a.example/ada> .
            <> <ogp/article#author> "Ada"@en .
            <> <dct:creator> "Ada" .
            <> <ogp/video#actor> </ed> .
            </ed> <ogp/video#actor:role> "Goodspeed"@en .
            <> <ogp/fb#app_id> "12" .
            <> <twitter:card> "summary"@en .
            <> <twitter:image> </card.png> .
            </card.png> <twitter:image:alt> "Card"@en .
            <> <og:site_name> "IMDb"@en .
            <> <og:t> "z"@en ."#]],
    );
}

#[test]
fn dublin_core_in_every_spelling() {
    check(
        r#"<html lang=en><link rel="schema.DC" href="http://purl.org/dc/elements/1.1/"><link rel="schema.AGLS" href="http://www.agls.gov.au/agls/1.2">
           <meta name="DC.title" content="Title"><meta name="dc.Creator" lang=fr content="Zoé"><meta name="DCTERMS.issued" content="2024-05-06">
           <meta name="DC.date.created" scheme="W3CDTF" content="2001-07-18"><meta name="DC.Creator.Address" content="a@example.org">
           <meta name="DC.identifier" scheme="DCTERMS.URI" content="/id/7"><meta name="DC.language" content=en><meta name="dcterms:modified" content=never>
           <meta name="AGLS.Function" content="Arts"><meta name="DC.nonsense" content=x><meta name="Other.title" content=x>
           <link rel="DCTERMS.license" href="/by"><link rel="DC.relation" href="urn:isbn:1">"#,
        expect![[r#"
            <> <dc:title> "Title"@en .
            <> <dc:creator> "Zoé"@fr .
            <> <dct:issued> "2024-05-06"^^<xsd:date> .
            <> <dct:created> "2001-07-18"^^<dct:W3CDTF> .
            <> <dc:creator> "a@example.org"@en .
            <> <dc:identifier> </id/7> .
            <> <dc:language> "en" .
            <> <dct:modified> "never" .
            <> <http://www.agls.gov.au/agls/1.2/Function> "Arts"@en .
            <> <dct:license> </by> .
            <> <dc:relation> <urn:isbn:1> ."#]],
    );
}

#[test]
fn scholarly_tags() {
    check(
        r#"<meta name="citation_title" content="On Bridges"><meta name="citation_author" content="Marsh, Ida"><meta name="citation_author_institution" content="Harbour College">
           <meta name="citation_author_orcid" content="https://orcid.org/0000-0001-2345-6789"><meta name="citation_author" content="N. N.">
           <meta name="citation_publication_date" content="2019/01/30"><meta name="citation_journal_title" content="Bridges"><meta name="citation_doi" content="10.1/x">
           <meta name="citation_firstpage" content=3><meta name="citation_pdf_url" content="/b.pdf"><meta name="citation_keywords" content="arch; river"><meta name="citation_unknown" content=x>"#,
        expect![[r#"
            <> <dct:title> "On Bridges" .
            <> <dct:creator> "Marsh, Ida" .
            <> <foaf:maker> _:0 .
            _:0 <foaf:name> "Marsh, Ida" .
            _:0 <http://schema.org/affiliation> "Harbour College" .
            _:0 <http://www.w3.org/2002/07/owl#sameAs> <https://orcid.org/0000-0001-2345-6789> .
            <> <dct:creator> "N. N." .
            <> <dct:issued> "2019-01-30"^^<xsd:date> .
            <> <http://prismstandard.org/namespaces/basic/2.0/publicationName> "Bridges" .
            <> <bibo:doi> "10.1/x" .
            <> <bibo:pageStart> "3" .
            <> <dct:hasFormat> </b.pdf> .
            <> <dct:subject> "arch" .
            <> <dct:subject> "river" ."#]],
    );
}

#[test]
fn names_everybody_uses() {
    check(
        r#"<html lang=de><meta name=Author content="Ada"><meta name=keywords content="eins, zwei,,drei; vier"><meta name=description content="Was  es ist"><meta name=description content=zweite>
           <meta name=generator content="WordPress 6"><meta name=application-name content="Loom"><meta name="geo.position" content="48.21;16.37"><meta name="ICBM" content="0, 0"><meta name="geo.placename" content="Wien"><meta name="geo.region" content="AT-9">
           <meta name=date content="2024-05-06"><meta http-equiv=last-modified content="Mon, 06 May 2024 07:08:09 GMT"><meta name=license content="https://cc.example/by"><meta name=copyright content="Ada 2024">
           <meta name=viewport content="width=device-width"><article><time datetime="2024-05-01" pubdate>1. Mai</time></article>"#,
        expect![[r#"
            <> <dct:creator> "Ada" .
            <> <dct:subject> "eins"@de .
            <> <dct:subject> "zwei"@de .
            <> <dct:subject> "drei"@de .
            <> <dct:subject> "vier"@de .
            <> <dct:description> "Was es ist"@de .
            <> <wl:generator> "WordPress 6" .
            <> <wl:applicationName> "Loom" .
            <> <dct:date> "2024-05-06"^^<xsd:date> .
            <> <dct:modified> "Mon, 06 May 2024 07:08:09 GMT" .
            <> <dct:license> <https://cc.example/by> .
            <> <dct:rights> "Ada 2024"@de .
            <> <dct:issued> "2024-05-01"^^<xsd:date> .
            <> <dct:spatial> _:0 .
            _:0 <rdf:type> <geo:Point> .
            _:0 <geo:lat> "48.21"^^<xsd:decimal> .
            _:0 <geo:long> "16.37"^^<xsd:decimal> .
            _:0 <rdfs:label> "Wien"@de .
            _:0 <dct:identifier> "AT-9" ."#]],
    );
}

#[test]
fn links_say_what_their_targets_are() {
    check(
        r#"<html lang=en><link rel=canonical href="/dir/page"><link rel="alternate" hreflang="de_AT" href="/de" title=" Auf Deutsch "><link rel=alternate type="application/rss+xml; charset=utf-8" title=Feed href=/feed>
           <link rel="alternate stylesheet" href=/dark.css><link rel="next amphtml" href="?p=2"><link rel=license href=/by><link rel=icon href=/i.png>
           <body><a rel=prev href="?p=1" type=text/html title=no>Back</a>"#,
        expect![[r#"
            <> <xhv:canonical> <> .
            <> <xhv:alternate> </de> .
            </de> <dct:language> "de-AT" .
            </de> <rdfs:label> "Auf Deutsch"@en .
            <> <xhv:alternate> </feed> .
            </feed> <dct:format> "application/rss+xml" .
            </feed> <rdfs:label> "Feed"@en .
            <> <xhv:next> </dir/page?p=2> .
            <> <xhv:amphtml> </dir/page?p=2> .
            <> <xhv:license> </by> .
            <> <xhv:prev> </dir/page?p=1> .
            </dir/page?p=1> <dct:format> "text/html" ."#]],
    );
}

#[test]
fn link_headers_are_links_too() {
    let headers = [
        r#"</data.ttl>; rel="alternate describedby"; type=text/turtle, <https://b.example/>; rel=License; title="By, \"all\"""#,
        r#"<#me>; rel="author"; title*=UTF-8'fr'Zo%C3%A9; title=Zoe, </up>; rel=up; anchor="/dir/", </v1>; rev=successor-version"#,
        r#"<http://www.w3.org/ns/ldp#Resource>; rel="type", </acl>; rel="http://www.w3.org/ns/auth/acl#accessControl"; hreflang=de; hreflang=en, </x.css>; rel=preload; as=style, <http://[>; rel=next"#,
    ];
    let graph = run("application/pdf", &headers, "%PDF-1.7");
    expect![[r#"
            <> <xhv:alternate> </data.ttl> .
            <> <xhv:describedby> </data.ttl> .
            </data.ttl> <dct:format> "text/turtle" .
            <> <xhv:license> <https://b.example/> .
            <https://b.example/> <rdfs:label> "By, \"all\"" .
            <> <xhv:author> </dir/page#me> .
            </dir/page#me> <rdfs:label> "Zoé"@fr .
            </dir/> <xhv:up> </up> .
            </v1> <xhv:successor-version> <> .
            <> <xhv:type> <http://www.w3.org/ns/ldp#Resource> .
            <> <http://www.w3.org/ns/auth/acl#accessControl> </acl> .
            </acl> <dct:language> "de" .
            </acl> <dct:language> "en" .
            ! note: `http://[` in a Link header is not a usable reference [link-header-bad-reference]"#]]
    .assert_eq(&show(&graph));
    // The same said in the page is the same statement.
    let in_page = run("text/html", &headers, "<link rel=license href='https://b.example/'>");
    assert_eq!(in_page.quads.len(), graph.quads.len());
}

#[test]
fn what_is_said_twice_is_one_statement() {
    let url = PageUrl::parse(PAGE).unwrap();
    let body = "<meta name=description content=x><link rel=next href=/b><link rel=next href=/b>";
    let mut page = FetchedPage::local(url, Some("text/html"), Bytes::from_static(body.as_bytes()));
    page.headers.push(("link".to_owned(), "</b>; rel=next".to_owned()));
    let graph = transform(&detect(page), &TransformConfig::default());
    let lines: BTreeSet<String> = graph.quads.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), graph.quads.len(), "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| line.contains("vocab#next")).count(), 1);
}

#[test]
fn the_language_is_what_the_page_says_or_a_safe_guess() {
    let words = "Der Hafen liegt am Ende der Straße, und wer am Abend dort steht, der sieht die Boote, wie sie langsam \
        zwischen den Bojen heimkehren, während die Sonne hinter den Hügeln verschwindet und die Laternen leuchten.";
    for (head, expected) in [
        ("<html lang=en-GB>", Some("en-GB")),
        ("<html lang=''><meta http-equiv=content-language content=fr>", Some("fr")),
        ("<meta name=Language content=it>", Some("it")),
        ("<meta http-equiv=content-language content='fr, de'>", Some("de")),
        ("", Some("de")),
    ] {
        let graph = run("text/html", &[], &format!("{head}<body><p>{words}{words}"));
        assert_eq!(graph.text.language.as_deref(), expected, "{head}");
    }
    assert_eq!(run("text/html", &[], "<p>Der Hafen").text.language, None);
}

#[test]
fn ten_megabytes_of_meta_are_bounded() {
    let metas = r#"<meta property="og:image:width" content="1"><meta name="keywords" content="a,b,c,d">"#;
    let body = metas.repeat((10 << 20) / metas.len());
    let start = Instant::now();
    let graph = run("text/html", &[], &body);
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(graph.diagnostics.iter().any(|diagnostic| diagnostic.code == "meta-cut"));
    let header = "</a>; rel=next,".repeat(10_000) + &"<".repeat(100_000) + &"\"".repeat(100_001);
    let graph = run("text/html", &[&header], "<p>x");
    assert!(graph.diagnostics.iter().any(|diagnostic| diagnostic.code == "link-header-cut"));
}

proptest! {
    #[test]
    fn any_meta_is_read(
        name in "(og:|article:|twitter:|DC\\.|citation_|geo\\.|schema\\.)?[a-zA-Z:._é<>-]{0,12}",
        content in "[a-z0-9:/;,.<>\"é -]{0,20}",
        attribute in prop::sample::select(vec!["name", "property", "http-equiv", "rel"]),
    ) {
        let content = content.replace('"', "&quot;");
        let body = format!("<meta {attribute}=\"{name}\" content=\"{content}\"><link rel=\"{name}\" href=\"{content}\">");
        let graph = run("text/html", &[&body], &body);
        let again = run("text/html", &[&body], &body);
        prop_assert_eq!(graph.quads, again.quads);
    }
}
