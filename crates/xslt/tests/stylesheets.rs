//! The stylesheets that Webloom ships: each turns its example into RDF/XML that says what the file beside it says.
//!
//! The RDF/XML goes through the strict parser, so that what a stylesheet writes is right and not only readable.

#![allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::{Dataset, Quad};
use oxrdfio::{RdfFormat, RdfParser};
use webloom_xslt::{Document, Limits, Loaded, Loader, Purpose, Stylesheet, Value};

/// Stylesheet, example, the address the example was fetched from.
const EXAMPLES: &[(&str, &str, &str)] = &[
    ("xhtml-to-rdf.xsl", "xhtml.xhtml", "http://lighthouse.example/index"),
    ("rss2-to-rdf.xsl", "rss2.xml", "http://harbour.example/feed"),
    ("atom-to-rdf.xsl", "atom.xml", "http://moths.example/feed.atom"),
    (
        "oai-dc-to-rdf.xsl",
        "oai-dc.xml",
        "http://repository.example/oai?verb=ListRecords&metadataPrefix=oai_dc",
    ),
    ("mods-to-rdf.xsl", "mods.xml", "http://sea.example/mods"),
    ("marcxml-to-rdf.xsl", "marc.xml", "http://books.example/marc"),
    ("gpx-to-rdf.xsl", "gpx.xml", "http://walk.example/two-days.gpx"),
    ("kml-to-rdf.xsl", "kml.kml", "http://ferry.example/islands.kml"),
];

const FETCH_TIME: &str = "2026-01-02T03:04:05Z";

/// Loads stylesheets from the folder they are shipped in.
struct Folder;

impl Loader for Folder {
    fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        let bytes = std::fs::read(uri.trim_start_matches("file://")).map_err(|error| error.to_string())?;
        Ok(Loaded { bytes, uri: uri.to_owned() })
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../stylesheets").canonicalize().unwrap()
}

fn compiled(name: &str) -> Stylesheet {
    let path = folder().join(name);
    let base = format!("file://{}", path.display());
    Stylesheet::compile(&std::fs::read(&path).unwrap(), &base, &Folder, &Limits::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The triples a stylesheet makes of a document.
fn transformed(stylesheet: &str, document: &[u8], url: &str, parameters: &[(&str, &str)]) -> Vec<Quad> {
    let limits = Limits::untrusted();
    let document = Document::parse(document, url, &limits).unwrap();
    let parameters: Vec<(String, Value)> = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), Value::String((*value).to_owned())))
        .collect();
    let output = compiled(stylesheet)
        .transform(&document, &parameters, &Folder, &limits)
        .unwrap_or_else(|error| panic!("{stylesheet}: {error}"));
    read(RdfFormat::RdfXml, url, &output.bytes)
}

fn read(format: RdfFormat, base: &str, bytes: &[u8]) -> Vec<Quad> {
    let parser = RdfParser::from_format(format).with_base_iri(base).unwrap();
    parser
        .for_slice(bytes)
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{error} in\n{}", String::from_utf8_lossy(bytes)))
}

fn canonical(quads: &[Quad]) -> BTreeSet<String> {
    let mut dataset: Dataset = quads.iter().collect();
    dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
    dataset.iter().map(|quad| quad.to_string()).collect()
}

#[test]
fn every_example_gives_its_triples() {
    for (stylesheet, example, url) in EXAMPLES {
        let path = folder().join("examples").join(example);
        let parameters = [("page-url", *url), ("fetch-time", FETCH_TIME)];
        let got = canonical(&transformed(stylesheet, &std::fs::read(&path).unwrap(), url, &parameters));
        let wanted = std::fs::read(path.with_extension("nt")).unwrap();
        let wanted = canonical(&read(RdfFormat::NTriples, url, &wanted));
        let missing: Vec<&String> = wanted.difference(&got).collect();
        let surplus: Vec<&String> = got.difference(&wanted).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{stylesheet}: missing {missing:#?}, too much {surplus:#?}"
        );
    }
}

#[test]
fn without_parameters_the_base_of_the_reader_is_the_page() {
    for (stylesheet, example, url) in EXAMPLES {
        let document = std::fs::read(folder().join("examples").join(example)).unwrap();
        let with = transformed(stylesheet, &document, url, &[("page-url", *url)]);
        let without = transformed(stylesheet, &document, url, &[]);
        assert_eq!(canonical(&with), canonical(&without), "{stylesheet}");
    }
}

#[test]
fn empty_and_foreign_documents_give_no_statements_about_things() {
    for (stylesheet, ..) in EXAMPLES {
        for document in ["<x/>", "<html xmlns='http://www.w3.org/1999/xhtml'/>", "<rss/>", "<a>text<b/></a>"]
        {
            let quads = transformed(stylesheet, document.as_bytes(), "http://x.example/", &[]);
            assert!(quads.len() <= 1, "{stylesheet} makes {quads:?} of {document}");
        }
    }
}

#[test]
fn addresses_with_forbidden_characters_are_escaped() {
    let page = br#"<html xmlns="http://www.w3.org/1999/xhtml"><body>
        <a href='a b"&lt;&gt;\^`{|}c'>odd</a><a href="javascript:alert(1)">no</a><a href=" DATA:text/plain,x ">no</a>
        </body></html>"#;
    let quads = transformed("xhtml-to-rdf.xsl", page, "http://x.example/", &[]);
    let objects: Vec<String> = quads
        .iter()
        .filter(|quad| quad.predicate.as_str().ends_with("seeAlso"))
        .map(|quad| quad.object.to_string())
        .collect();
    assert_eq!(objects, ["<http://x.example/a%20b%22%3C%3E%5C%5E%60%7B%7C%7Dc>"]);
}

#[test]
fn dates_of_rss_in_all_their_forms() {
    for (written, wanted) in [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("6 Nov 1994 08:49:37 +0130", "1994-11-06T07:19:37Z"),
        ("Sat, 31 Dec 22 23:30 EST", "2023-01-01T04:30:00Z"),
        ("Tue, 01 MAR 2005 00:00:00 -0800", "2005-03-01T08:00:00Z"),
        ("1994-11-06T08:49:37+01:00", "1994-11-06T07:49:37Z"),
        ("1994-11-06", "1994-11-06"),
        ("Sun, 06 Nov 1994", "Sun, 06 Nov 1994"),
        ("06 Foo 1994 08:49:37 GMT", "06 Foo 1994 08:49:37 GMT"),
        ("now", "now"),
    ] {
        let feed = format!("<rss><channel><pubDate>{written}</pubDate></channel></rss>");
        let quads = transformed("rss2-to-rdf.xsl", feed.as_bytes(), "http://x.example/", &[]);
        let date = quads.iter().find(|quad| quad.predicate.as_str().ends_with("/issued")).unwrap();
        assert!(date.object.to_string().starts_with(&format!("\"{wanted}\"")), "{written}: {date}");
    }
}
