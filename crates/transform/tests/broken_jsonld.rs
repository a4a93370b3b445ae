//! Broken JSON-LD as the web has it, beside what its authors meant.
//!
//! The cases are in `broken_jsonld/*.txt`: a name, the broken block, the intended one. A block passes when it gives the
//! graph of the intended one, and says that it was repaired. `⟦U+0001⟧` stands for a character nobody can see.
//! Kinds of damage were collected from public reports about structured data; the blocks are our own.

#![allow(clippy::unwrap_used, reason = "the helpers are tests too")]

use std::collections::BTreeSet;

use bytes::Bytes;
use oxrdf::Dataset;
use oxrdf::dataset::CanonicalizationAlgorithm;
use webloom_detect::detect;
use webloom_model::{FetchedPage, PageGraph, PageUrl, Severity};
use webloom_transform::{Syntax, TransformConfig, transform};

const FILES: &[(&str, &str)] = &[
    ("commas_and_brackets", include_str!("broken_jsonld/commas_and_brackets.txt")),
    ("strings", include_str!("broken_jsonld/strings.txt")),
    ("values", include_str!("broken_jsonld/values.txt")),
    ("around", include_str!("broken_jsonld/around.txt")),
    ("hopeless", include_str!("broken_jsonld/hopeless.txt")),
];

struct Case {
    name: String,
    broken: String,
    /// Nothing when nobody could tell.
    intended: Option<String>,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (file, text) in FILES {
        let text = with_characters(text);
        for case in text.split("=== ").skip(1) {
            let (name, rest) = case.split_once('\n').unwrap();
            let (broken, intended) = match rest.split_once("\n--- intended\n") {
                Some((broken, intended)) => (broken, Some(intended.trim().to_owned())),
                None => (rest.split_once("\n--- hopeless").unwrap().0, None),
            };
            cases.push(Case { name: format!("{file}: {name}"), broken: broken.to_owned(), intended });
        }
    }
    cases
}

/// Puts in the characters that are written by their number.
fn with_characters(text: &str) -> String {
    let mut parts = text.split("⟦U+");
    let mut result = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('⟧').unwrap();
        result.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        result.push_str(rest);
    }
    result
}

fn run(content_type: &str, body: &str) -> PageGraph {
    let url = PageUrl::parse("https://example.org/page").unwrap();
    let page = detect(FetchedPage::local(url, Some(content_type), Bytes::from(body.to_owned())));
    let only = Some(BTreeSet::from([Syntax::JsonLd]));
    transform(&page, &TransformConfig { only, ..TransformConfig::default() })
}

/// The graph with canonical blank nodes, sorted.
fn canonical(graph: &PageGraph) -> Vec<String> {
    let mut dataset: Dataset = graph.quads.iter().cloned().collect();
    dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
    let mut quads: Vec<String> = dataset.iter().map(|quad| quad.to_string()).collect();
    quads.sort();
    quads
}

fn in_script(block: &str) -> String {
    format!("<!doctype html><title>x</title><script type=\"application/ld+json\">{block}</script>")
}

/// A good block, to see that the broken one cost only itself.
const NEIGHBOUR: &str = "<script type=\"application/ld+json\">\
    {\"@context\":\"https://schema.org\",\"@id\":\"https://example.org/n\",\"name\":\"neighbour\"}</script>";

#[test]
fn broken_blocks_give_the_intended_graph() {
    let mut kinds = 0;
    let mut failures = Vec::new();
    for case in cases() {
        let Some(intended) = &case.intended else { continue };
        kinds += 1;
        let expected = run("application/ld+json", intended);
        assert!(expected.diagnostics.is_empty(), "{}: {:?}", case.name, expected.diagnostics);
        assert!(!expected.quads.is_empty(), "{}", case.name);
        for (content_type, body) in
            [("text/html", in_script(&case.broken)), ("application/ld+json", case.broken.clone())]
        {
            // Alone, markup in front says that this is HTML.
            if content_type != "text/html" && case.broken.trim_start().starts_with('<') {
                continue;
            }
            let graph = run(content_type, &body);
            let repaired = graph.diagnostics.iter().all(|found| found.code == "json-ld-repaired");
            if canonical(&graph) != canonical(&expected) || !repaired || graph.diagnostics.len() > 1 {
                failures.push(format!(
                    "{} ({content_type})\n  {}\n  {:?}",
                    case.name,
                    canonical(&graph).join("\n  "),
                    graph.diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>()
                ));
            }
        }
    }
    assert!(kinds >= 45, "{kinds} kinds of damage");
    assert!(failures.is_empty(), "{} of {kinds} kinds:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn broken_blocks_cost_only_themselves() {
    for case in cases() {
        // A block without an end takes what follows with it, so the good one comes first.
        let graph = run("text/html", &format!("{NEIGHBOUR}{}", in_script(&case.broken)));
        assert!(
            canonical(&graph).iter().any(|quad| quad.contains("\"neighbour\"")),
            "{}: {:?}",
            case.name,
            graph.diagnostics
        );
        if case.intended.is_none() {
            assert_eq!(graph.quads.len(), 1, "{}: {:?}", case.name, graph.quads);
            assert!(
                graph.diagnostics.iter().any(|found| found.severity == Severity::Error),
                "{}: {:?}",
                case.name,
                graph.diagnostics
            );
        }
    }
}

/// The names found in blocks of a page.
fn names(content_type: &str, body: &str) -> Vec<String> {
    let graph = run(content_type, body);
    assert!(
        graph.diagnostics.iter().all(|found| found.severity < Severity::Error),
        "{:?}",
        graph.diagnostics
    );
    canonical(&graph)
        .iter()
        .filter_map(|quad| Some(quad.split_once("/name> \"")?.1.trim_end_matches('"').to_owned()))
        .collect()
}

#[test]
fn script_elements_are_found_everywhere() {
    let block = |kind: &str, name: &str| {
        format!(
            "<script {kind}>{{\"@context\":\"https://schema.org\",\"@id\":\"#{name}\",\"name\":\"{name}\"}}</script>"
        )
    };
    let good = "type=\"application/ld+json\"";
    for kind in [
        "type=application/ld+json",
        "type='application/ld+json; charset=utf-8'",
        "type=\" Application/LD+JSON \"",
        "TYPE=\"application/ld+json;profile=x\" id=y",
        "type=\"application / ld+json\"",
        "type=\"application/json+ld\"",
    ] {
        assert_eq!(names("text/html", &block(kind, "a")), ["a"], "{kind}");
    }
    for kind in
        ["type=application/json", "type=text/javascript", "", "type", "type=''", "type=application/ld+jsonx"]
    {
        assert!(names("text/html", &block(kind, "a")).is_empty(), "{kind}");
    }
    let page = format!(
        "<!doctype html><head>{}<noscript>{}</noscript></head><body><div>{}</div><svg>{}</svg><template>{}</template>\
         <noscript>{}</noscript><table>{}<tr><td>{}</table></body></html>{}",
        block(good, "a-head"),
        block(good, "b-noscript-in-head"),
        block(good, "c-body"),
        block(good, "d-svg"),
        block(good, "e-template"),
        block(good, "f-noscript"),
        block(good, "g-table"),
        block(good, "h-cell"),
        block(good, "i-after-html"),
    );
    assert_eq!(
        names("text/html", &page),
        [
            "a-head",
            "b-noscript-in-head",
            "c-body",
            "d-svg",
            "e-template",
            "f-noscript",
            "g-table",
            "h-cell",
            "i-after-html"
        ]
    );
}

#[test]
fn xhtml_scripts_are_read_as_xml_writes_them() {
    let page = |block: &str| {
        format!(
            "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"><head><title>x</title>\
             <script type=\"application/ld+json\">{block}</script></head><body/></html>"
        )
    };
    for block in [
        "{\"@context\":\"https://schema.org\",\"name\":\"a &amp; b\"}",
        "{&quot;@context&quot;:&quot;https://schema.org&quot;,&quot;name&quot;:&quot;a &amp; b&quot;}",
        "<![CDATA[{\"@context\":\"https://schema.org\",\"name\":\"a & b\"}]]>",
        "//<![CDATA[\n{\"@context\":\"https://schema.org\",\"name\":\"a & b\",}\n//]]>",
    ] {
        assert_eq!(names("application/xhtml+xml", &page(block)), ["a & b"], "{block}");
    }
}
