//! GRDDL, each of the ways in which a page names its transformation, and what strangers' stylesheets cannot do.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use webloom_detect::detect;
use webloom_model::{FetchedPage, PageGraph, PageUrl};
use webloom_transform::{ContextSource, Syntax, TransformConfig, transform};

#[derive(Debug, Default)]
struct Web(HashMap<&'static str, &'static str>);

impl ContextSource for Web {
    fn context(&self, _iri: &str) -> Option<Arc<str>> {
        None
    }

    fn document(&self, iri: &str) -> Option<Arc<str>> {
        self.0.get(iri).map(|text| Arc::from(*text))
    }
}

const TITLE: &str = r##"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:h="http://www.w3.org/1999/xhtml" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:dc="http://purl.org/dc/terms/">
  <xsl:template match="/">
    <rdf:RDF><rdf:Description rdf:about=""><dc:title><xsl:value-of select="//h:title | //title"/></dc:title></rdf:Description></rdf:RDF>
  </xsl:template>
</xsl:stylesheet>"##;

fn read(content_type: &str, body: &'static str, web: &[(&'static str, &'static str)]) -> PageGraph {
    let config = TransformConfig {
        only: Some(BTreeSet::from([Syntax::Grddl])),
        contexts: Arc::new(Web(web.iter().copied().collect())),
        ..TransformConfig::default()
    };
    let url = PageUrl::parse("http://a.example/docs/page").unwrap();
    transform(&detect(FetchedPage::local(url, Some(content_type), Bytes::from(body))), &config)
}

#[track_caller]
fn says(graph: &PageGraph, expected: &str) {
    let said: Vec<String> = graph.quads.iter().map(ToString::to_string).collect();
    assert_eq!(said, [expected], "{:?}", graph.diagnostics);
}

const ABOUT_THE_PAGE: &str = "<http://a.example/docs/page> <http://purl.org/dc/terms/title> \"A title\"";

#[test]
fn an_attribute_on_the_root_of_any_xml() {
    let page = r#"<d xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation="../t.xsl"><title>A title</title></d>"#;
    says(&read("application/xml", page, &[("http://a.example/t.xsl", TITLE)]), ABOUT_THE_PAGE);
}

#[test]
fn links_in_a_page_with_the_profile() {
    for (content_type, body) in [
        (
            "application/xhtml+xml",
            r#"<html xmlns="http://www.w3.org/1999/xhtml"><head profile="http://www.w3.org/2003/g/data-view"><title>A title</title><link rel="transformation" href="t.xsl"/></head><body/></html>"#,
        ),
        (
            "text/html",
            r#"<!DOCTYPE html><head profile="http://www.w3.org/2003/g/data-view"><title>A title</title><body><p>broken <a rel="x transformation" href=t.xsl>t</a>"#,
        ),
    ] {
        says(&read(content_type, body, &[("http://a.example/docs/t.xsl", TITLE)]), ABOUT_THE_PAGE);
    }
    let without_profile = r#"<html xmlns="http://www.w3.org/1999/xhtml"><head><title>A title</title><link rel="transformation" href="t.xsl"/></head><body/></html>"#;
    let graph = read("application/xhtml+xml", without_profile, &[("http://a.example/docs/t.xsl", TITLE)]);
    assert!(graph.quads.is_empty());
}

#[test]
fn the_document_of_the_namespace() {
    let page = r#"<d xmlns="http://ns.example/d#"><title xmlns="">A title</title></d>"#;
    let in_rdf = r##"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:g="http://www.w3.org/2003/g/data-view#"><rdf:Description rdf:about="http://ns.example/d#"><g:namespaceTransformation rdf:resource="http://ns.example/t.xsl"/></rdf:Description></rdf:RDF>"##;
    says(
        &read(
            "application/xml",
            page,
            &[("http://ns.example/d#", in_rdf), ("http://ns.example/t.xsl", TITLE)],
        ),
        ABOUT_THE_PAGE,
    );
}

#[test]
fn the_documents_of_profiles() {
    let page = r#"<html xmlns="http://www.w3.org/1999/xhtml"><head profile="http://ns.example/p"><title>A title</title></head><body/></html>"#;
    let profile = r#"<html xmlns="http://www.w3.org/1999/xhtml"><head profile="http://www.w3.org/2003/g/data-view"><title>P</title></head><body><a rel="profileTransformation" href="t.xsl">t</a></body></html>"#;
    says(
        &read(
            "application/xhtml+xml",
            page,
            &[("http://ns.example/p", profile), ("http://ns.example/t.xsl", TITLE)],
        ),
        ABOUT_THE_PAGE,
    );
}

#[test]
fn what_is_not_known_is_told_as_missing() {
    let page = r#"<d xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation="t.xsl"/>"#;
    let graph = read("application/xml", page, &[]);
    assert_eq!(graph.missing_documents, ["http://a.example/docs/t.xsl"]);
}

#[test]
fn strangers_reach_nothing() {
    let page = r#"<d xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation="t.xsl"><title>A title</title></d>"#;
    for body in [
        r#"<xsl:copy-of select="document('file:///etc/passwd')"/>"#,
        r#"<xsl:value-of select="document('http://127.0.0.1/')"/>"#,
        r#"<xsl:call-template name="t"/>"#,
        r#"<xsl:message terminate="yes">no</xsl:message>"#,
        "not a stylesheet <",
    ] {
        let sheet = format!(
            r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/" name="t"><x>{body}<xsl:apply-templates select="/"/></x></xsl:template></xsl:stylesheet>"#
        );
        let graph = read("application/xml", page, &[("http://a.example/docs/t.xsl", sheet.leak())]);
        assert!(graph.quads.is_empty(), "{body}: {:?}", graph.quads);
        assert!(!graph.diagnostics.is_empty(), "{body}");
    }
}

#[test]
fn nobody_is_asked_unless_it_is_wanted() {
    let url = PageUrl::parse("http://a.example/").unwrap();
    let page = r#"<d xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation="t.xsl"><title>A title</title></d>"#;
    let config = TransformConfig {
        contexts: Arc::new(Web(HashMap::from([("http://a.example/t.xsl", TITLE)]))),
        ..TransformConfig::default()
    };
    let graph =
        transform(&detect(FetchedPage::local(url, Some("application/xml"), Bytes::from(page))), &config);
    assert!(!graph.quads.iter().any(|quad| quad.predicate.as_str() == "http://purl.org/dc/terms/title"));
    assert!(graph.missing_documents.is_empty());
}

/// Gives the documents of another web from some moment on.
#[derive(Debug)]
struct ChangingWeb {
    now: Web,
    later: Web,
    is_later: std::sync::atomic::AtomicBool,
}

impl ContextSource for ChangingWeb {
    fn context(&self, _iri: &str) -> Option<Arc<str>> {
        None
    }

    fn document(&self, iri: &str) -> Option<Arc<str>> {
        let is_later = self.is_later.load(std::sync::atomic::Ordering::Relaxed);
        if is_later { self.later.document(iri) } else { self.now.document(iri) }
    }
}

#[test]
fn a_transformation_is_compiled_once_and_again_when_a_module_changes() {
    const MAIN: &str = r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:import href="m.xsl"/></xsl:stylesheet>"#;
    let other: &'static str = TITLE.replace("dc:title", "dc:subject").leak();
    let web =
        |module| Web(HashMap::from([("http://a.example/t.xsl", MAIN), ("http://a.example/m.xsl", module)]));
    let contexts = Arc::new(ChangingWeb { now: web(TITLE), later: web(other), is_later: false.into() });
    let config = TransformConfig {
        only: Some(BTreeSet::from([Syntax::Grddl])),
        contexts: contexts.clone(),
        ..TransformConfig::default()
    };
    let page = r#"<d xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation="t.xsl"><title>A title</title></d>"#;
    let read = || {
        let url = PageUrl::parse("http://a.example/").unwrap();
        let page = FetchedPage::local(url, Some("application/xml"), Bytes::from(page));
        let graph = transform(&detect(page), &config);
        assert_eq!(graph.quads.len(), 1, "{:?}", graph.diagnostics);
        graph.quads[0].predicate.as_str().to_owned()
    };
    for _ in 0..3 {
        assert_eq!(read(), "http://purl.org/dc/terms/title");
        assert_eq!(config.compiled.len(), 1);
    }
    contexts.is_later.store(true, std::sync::atomic::Ordering::Relaxed);
    for _ in 0..2 {
        assert_eq!(read(), "http://purl.org/dc/terms/subject");
        assert_eq!(config.compiled.len(), 1);
    }
}

#[test]
fn no_more_transformations_are_kept_than_there_is_room_for() {
    let addresses: Vec<&'static str> =
        (0..200).map(|number| &*format!("http://a.example/{number}.xsl").leak()).collect();
    let config = TransformConfig {
        only: Some(BTreeSet::from([Syntax::Grddl])),
        contexts: Arc::new(Web(addresses.iter().map(|address| (*address, TITLE)).collect())),
        ..TransformConfig::default()
    };
    for address in addresses {
        let page = format!(
            r#"<d xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation="{address}"><title>A title</title></d>"#
        );
        let url = PageUrl::parse("http://a.example/docs/page").unwrap();
        let page = FetchedPage::local(url, Some("application/xml"), Bytes::from(page));
        says(&transform(&detect(page), &config), ABOUT_THE_PAGE);
    }
    assert!((1..=64).contains(&config.compiled.len()), "{}", config.compiled.len());
}
