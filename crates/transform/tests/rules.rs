//! Rules, as far as transform goes: which pages they fit, what stylesheets make of them, what answers of services become.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use webloom_detect::detect;
use webloom_model::{DetectedPage, DocumentKind, FetchedPage, PageGraph, PageUrl};
use webloom_transform::rules::{
    Answer, Answers, CurrentStylesheet, OutsideStep, RootPattern, Rule, Rules, Stage, Step, StylesheetSource,
    StylesheetStep, When,
};
use webloom_transform::{ResultSyntax, Syntax, TransformConfig, transform, transform_with};
use webloom_xslt::{Limits, NoLoader, Stylesheet};

#[derive(Debug)]
struct Fixed(CurrentStylesheet);

impl StylesheetSource for Fixed {
    fn current(&self) -> CurrentStylesheet {
        self.0.clone()
    }
}

fn stylesheet(inside: &str) -> Step {
    let source = format!(
        r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:t="http://t.example/"
            xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:h="http://www.w3.org/1999/xhtml">
            <xsl:param name="page-url"/><xsl:param name="extra"/>{inside}</xsl:stylesheet>"#
    );
    let stylesheet = Stylesheet::compile(source.as_bytes(), "t.xsl", &NoLoader, &Limits::default()).unwrap();
    Step::Stylesheet(StylesheetStep {
        name: "t.xsl".to_owned(),
        source: Arc::new(Fixed(CurrentStylesheet { stylesheet, documents: Arc::new(NoLoader) })),
        parameters: vec![("extra".to_owned(), "more".to_owned())],
    })
}

const TITLE: &str = r#"<xsl:output method="text"/><xsl:template match="/">&lt;#x&gt; &lt;http://t.example/title&gt; "<xsl:value-of select="concat(//h:title | //title, ' ', $extra)"/>" .</xsl:template>"#;

fn service() -> Step {
    Step::Outside(OutsideStep { name: "service s".to_owned(), service: 0 })
}

fn config(steps: Vec<Step>, syntax: Option<ResultSyntax>) -> TransformConfig {
    let when = When { always: true, ..When::default() };
    let rules = Rules::new(vec![Rule { name: "r".to_owned(), when, steps, syntax }]);
    TransformConfig {
        only: Some(BTreeSet::from([Syntax::Xslt])),
        rules: Arc::new(rules),
        ..TransformConfig::default()
    }
}

fn page(content_type: &str, body: &'static [u8]) -> DetectedPage {
    let url = PageUrl::parse("http://a.example/page").unwrap();
    detect(FetchedPage::local(url, Some(content_type), Bytes::from_static(body)))
}

fn said(graph: &PageGraph) -> Vec<String> {
    graph.quads.iter().map(ToString::to_string).collect()
}

fn codes(graph: &PageGraph) -> Vec<&str> {
    graph.diagnostics.iter().map(|diagnostic| &*diagnostic.code).collect()
}

/// What comes of a service's answer.
fn answered(bytes: &'static [u8], media_type: Option<&str>, after: Vec<Step>) -> PageGraph {
    let mut steps = vec![service()];
    steps.extend(after);
    let stage = Stage {
        next: 1,
        bytes: Bytes::from_static(bytes),
        media_type: media_type.map(str::to_owned),
        giver: "the service s".to_owned(),
    };
    let answers = Answers(vec![Answer { rule: 0, outcome: Ok(stage), records: Vec::new() }]);
    transform_with(&page("application/x-thing", b"\x01"), &config(steps, None), &answers)
}

#[test]
fn broken_html_is_xhtml_for_a_stylesheet() {
    let config = config(vec![stylesheet(TITLE)], None);
    for body in [&b"<title>Kiel<p>no end"[..], b"<HTML><TITLE>Kiel</TITLE><br><p a=1 a=2>"] {
        let graph = transform(&page("text/html", body), &config);
        let title = said(&graph).join("\n");
        assert!(
            title.starts_with("<http://a.example/page#x> <http://t.example/title> \"Kiel"),
            "{title} {graph:?}"
        );
    }
    let graph = transform(&page("application/xml", b"<d><title>Kiel</title></d>"), &config);
    assert_eq!(said(&graph), [r#"<http://a.example/page#x> <http://t.example/title> "Kiel more""#]);
    assert_eq!((graph.steps.len(), graph.steps[0].step.as_str()), (1, "stylesheet t.xsl"));
    assert!(
        graph.steps[0].bytes > 20
            && !graph.steps[0].failed
            && graph.steps[0].elapsed < Duration::from_secs(5)
    );
}

#[test]
fn stylesheets_follow_each_other() {
    let first = stylesheet(
        r#"<xsl:template match="/"><d><title><xsl:value-of select="name(/*)"/></title></d></xsl:template>"#,
    );
    let graph =
        transform(&page("application/xml", b"<kiel/>"), &config(vec![first, stylesheet(TITLE)], None));
    assert_eq!(said(&graph), [r#"<http://a.example/page#x> <http://t.example/title> "kiel more""#]);
    assert_eq!(graph.steps.len(), 2);
}

#[test]
fn a_stylesheet_that_fails_costs_the_page_a_diagnostic() {
    let endless =
        stylesheet(r#"<xsl:template match="/" name="t"><xsl:call-template name="t"/><a/></xsl:template>"#);
    let graph = transform(&page("application/xml", b"<d/>"), &config(vec![endless], None));
    assert_eq!((codes(&graph), graph.quads.len(), graph.steps[0].failed), (vec!["xslt"], 0, true));
    let message = &graph.diagnostics[0].message;
    assert!(
        message.starts_with("rule `r`: the stylesheet t.xsl failed")
            && message.contains("template name=\"t\""),
        "{message}"
    );
    // What it may not read is told, and it goes on without.
    let nosy = stylesheet(
        r#"<xsl:output method="text"/><xsl:template match="/">&lt;&gt; &lt;http://t.example/p&gt; "<xsl:value-of select="document('file:///etc/passwd')"/>" .</xsl:template>"#,
    );
    let graph = transform(&page("application/xml", b"<d/>"), &config(vec![nosy], None));
    assert_eq!((codes(&graph), graph.quads.len()), (vec!["xslt-document"], 1));
    // Nor can it read what is no markup.
    let graph = transform(&page("image/png", b"\x89PNG\r\n\x1a\n"), &config(vec![stylesheet(TITLE)], None));
    assert_eq!(codes(&graph), ["xslt-input"]);
}

#[test]
fn services_are_not_asked_here() {
    let config = config(vec![service()], None);
    let page = page("application/x-thing", b"\x01thing");
    assert_eq!(codes(&transform(&page, &config)), ["service-not-asked"]);
    let question = config.rules.question(0, &page, None, &config).unwrap().unwrap();
    assert_eq!((question.step, question.service, &question.bytes[..]), (0, 0, &b"\x01thing"[..]));
    assert_eq!(question.media_type, "application/x-thing");
}

#[test]
fn answers_are_read_by_what_they_are() {
    let expected = [r#"<http://a.example/page> <http://t.example/p> "v""#];
    for (bytes, media_type) in [
        (&b"<> <http://t.example/p> \"v\" ."[..], Some("text/turtle")),
        (b"<> <http://t.example/p> \"v\" .", None),
        (br#"{"@id": "", "http://t.example/p": "v"}"#, Some("application/json")),
        (br#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:t="http://t.example/"><rdf:Description rdf:about=""><t:p>v</t:p></rdf:Description></rdf:RDF>"#, Some("text/xml")),
        (b"<http://a.example/page> <http://t.example/p> \"v\" <http://b.example/g> .", Some("application/n-quads")),
    ] {
        let graph = answered(bytes, media_type, Vec::new());
        let said: Vec<String> = graph
            .quads
            .iter()
            .map(|quad| format!("{} {} {}", quad.subject, quad.predicate, quad.object))
            .collect();
        assert_eq!(said, expected, "{media_type:?} {:?}", graph.diagnostics);
    }
    let graph = answered(b"<d><title>Kiel</title></d>", Some("application/xml"), vec![stylesheet(TITLE)]);
    assert_eq!(said(&graph), [r#"<http://a.example/page#x> <http://t.example/title> "Kiel more""#]);
}

#[test]
fn garbage_is_told_and_nothing_else() {
    for (bytes, media_type, after, code) in [
        (&b"\xff\xd8\xff\xe0\0\0"[..], Some("text/turtle"), None, "result-binary"),
        (b"\0\0\0\0", None, None, "result-binary"),
        (b"<h1>Internal error</h1>", Some("text/html"), None, "result-type"),
        (b"", None, None, "result-empty"),
        (b"not XML", Some("application/xml"), Some(TITLE), "xslt-input"),
        (b"\xff\xd8\xff\xe0\0\0", None, Some(TITLE), "xslt-input"),
    ] {
        let graph = answered(bytes, media_type, after.map(stylesheet).into_iter().collect());
        assert_eq!((codes(&graph), graph.quads.len()), (vec![code], 0), "{media_type:?}");
    }
    let graph = answered(b"this is <no> turtle at all {{{ \" ", Some("text/turtle"), Vec::new());
    assert!(graph.quads.is_empty() && codes(&graph).contains(&"turtle-syntax"));
}

#[test]
fn all_conditions_must_hold() {
    let kml = page("application/xml", br#"<kml xmlns="http://www.opengis.net/kml/2.2"/>"#);
    let root = |text: &str| vec![RootPattern::parse(text).unwrap()];
    for (when, fits) in [
        (When::default(), false),
        (When { kinds: vec![DocumentKind::Xml], ..When::default() }, true),
        (When { kinds: vec![DocumentKind::Html], ..When::default() }, false),
        (When { roots: root("kml"), ..When::default() }, true),
        (When { roots: root("kml"), kinds: vec![DocumentKind::Html], ..When::default() }, false),
        (
            When {
                roots: root("{http://www.opengis.net/kml/*}*"),
                kinds: vec![DocumentKind::Xml],
                ..When::default()
            },
            true,
        ),
        (When { roots: root("{}kml"), ..When::default() }, false),
    ] {
        assert_eq!(when.matches(&kml), fits, "{when:?}");
    }
}
