//! JSON-LD in, N-Quads out: every part of the algorithms, mistakes that cost only themselves, and harm.

#![expect(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "the helpers are tests too")]

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use expect_test::{Expect, expect};
use webloom_detect::detect;
use webloom_model::{FetchedPage, PageGraph, PageUrl};
use webloom_transform::jsonld::{JsonLdOptions, RdfDirection, to_rdf};
use webloom_transform::{ContextSource, TransformConfig, transform};

const PAGE: &str = "https://example.org/dir/page";

/// Contexts by name, under `https://ctx.example/`.
#[derive(Debug, Default)]
struct Known(HashMap<&'static str, Arc<str>>);

impl ContextSource for Known {
    fn context(&self, iri: &str) -> Option<Arc<str>> {
        self.0.get(iri.strip_prefix("https://ctx.example/")?).cloned()
    }
}

fn config(contexts: &[(&'static str, &str)]) -> TransformConfig {
    let known = contexts.iter().map(|(name, text)| (*name, Arc::from(*text))).collect();
    TransformConfig { contexts: Arc::new(Known(known)), ..TransformConfig::default() }
}

fn run(body: &str, config: &TransformConfig) -> PageGraph {
    let url = PageUrl::parse(PAGE).unwrap();
    let page = FetchedPage::local(url, Some("application/ld+json"), Bytes::from(body.to_owned()));
    transform(&detect(page), config)
}

fn shorten(mut text: String) -> String {
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

fn show(graph: &PageGraph) -> String {
    let mut lines: Vec<String> = graph.quads.iter().map(|quad| format!("{quad} .")).collect();
    lines.extend(graph.diagnostics.iter().map(|diagnostic| format!("! {diagnostic}")));
    shorten(lines.join("\n"))
}

#[track_caller]
fn check(body: &str, expected: Expect) {
    expected.assert_eq(&show(&run(body, &TransformConfig::default())));
}

#[test]
fn values_have_types_languages_and_numbers() {
    check(
        r#"{"@context": {"@vocab": "urn:v#", "@language": "en", "d": {"@type": "xsd:date"}, "xsd": "http://www.w3.org/2001/XMLSchema#",
             "n": {"@language": null}, "x": {"@type": "xsd:double"}},
            "@id": "a", "p": ["s", 1, 2.5, -0.0, 1e30, 12345678901234567890, true, null], "d": "2024-01-01", "n": "plain", "x": 3,
            "v": [{"@value": "hallo", "@language": "de"}, {"@value": "typed", "@type": "xsd:token"}, {"@value": null}]}"#,
        expect![[r#"
            <a> <urn:v#p> "s"@en .
            <a> <urn:v#p> "1"^^<xsd:integer> .
            <a> <urn:v#p> "2.5E0"^^<xsd:double> .
            <a> <urn:v#p> "0"^^<xsd:integer> .
            <a> <urn:v#p> "1.0E30"^^<xsd:double> .
            <a> <urn:v#p> "12345678901234567890"^^<xsd:integer> .
            <a> <urn:v#p> "true"^^<xsd:boolean> .
            <a> <urn:v#d> "2024-01-01"^^<xsd:date> .
            <a> <urn:v#n> "plain" .
            <a> <urn:v#x> "3.0E0"^^<xsd:double> .
            <a> <urn:v#v> "hallo"@de .
            <a> <urn:v#v> "typed"^^<xsd:token> ."#]],
    );
}

#[test]
fn lists_sets_and_lists_of_lists() {
    check(
        r#"{"@context": {"@vocab": "urn:v#", "l": {"@container": "@list"}, "s": {"@container": "@set"}},
            "@id": "a", "l": ["x", ["y"], []], "e": {"@list": []}, "s": {"@set": ["z", {"@id": "b"}]}}"#,
        expect![[r#"
            <a> <urn:v#l> _:0 .
            _:0 <rdf:first> "x" .
            _:0 <rdf:rest> _:1 .
            _:1 <rdf:first> _:2 .
            _:2 <rdf:first> "y" .
            _:2 <rdf:rest> <rdf:nil> .
            _:1 <rdf:rest> _:3 .
            _:3 <rdf:first> <rdf:nil> .
            _:3 <rdf:rest> <rdf:nil> .
            <a> <urn:v#e> <rdf:nil> .
            <a> <urn:v#s> "z" .
            <a> <urn:v#s> <b> ."#]],
    );
}

#[test]
fn maps_by_language_index_id_type_and_graph() {
    check(
        r#"{"@context": {"@vocab": "urn:v#", "lang": {"@container": "@language"}, "idx": {"@container": "@index"},
             "prop": {"@container": "@index", "@index": "key"}, "id": {"@container": "@id"}, "type": {"@container": "@type"},
             "graph": {"@container": ["@graph", "@id"]}, "g": {"@container": "@graph"}, "none": "@none"},
            "@id": "a", "lang": {"en": ["one", "two"], "none": "bare"}, "idx": {"x": "by index"}, "prop": {"k": {"@id": "b"}},
            "id": {"c": {"p": 1}}, "type": {"T": {"@id": "d"}}, "graph": {"g1": {"@id": "e", "p": 2}}, "g": {"@id": "f", "p": 3}}"#,
        expect![[r#"
            <a> <urn:v#lang> "one"@en .
            <a> <urn:v#lang> "two"@en .
            <a> <urn:v#lang> "bare" .
            <a> <urn:v#idx> "by index" .
            <a> <urn:v#prop> <b> .
            <a> <urn:v#id> <c> .
            <a> <urn:v#type> <d> .
            <a> <urn:v#graph> <g1> .
            <a> <urn:v#g> _:0 .
            <b> <urn:v#key> "k" .
            <c> <urn:v#p> "1"^^<xsd:integer> .
            <d> <rdf:type> <urn:v#T> .
            <e> <urn:v#p> "2"^^<xsd:integer> <g1> .
            <f> <urn:v#p> "3"^^<xsd:integer> _:0 ."#]],
    );
}

#[test]
fn reverse_nest_included_and_graphs() {
    check(
        r#"{"@context": {"@vocab": "urn:v#", "parent": {"@reverse": "child"}, "labels": "@nest", "name": {"@nest": "labels"}},
            "@id": "a", "parent": {"@id": "b"}, "@reverse": {"knows": [{"@id": "c", "p": 1}]}, "labels": {"name": "A"},
            "@included": [{"@id": "d", "p": 2}], "@graph": [{"@id": "e", "p": 3}, {"@id": "_:x", "p": {"@id": "_:x"}}]}"#,
        expect![[r#"
            <a> <urn:v#name> "A" .
            <b> <urn:v#child> <a> .
            <c> <urn:v#knows> <a> .
            <c> <urn:v#p> "1"^^<xsd:integer> .
            <e> <urn:v#p> "3"^^<xsd:integer> <a> .
            _:0 <urn:v#p> _:0 <a> .
            <d> <urn:v#p> "2"^^<xsd:integer> ."#]],
    );
    check(r#"{"@graph": [{"@id": "a", "urn:p": 1}]}"#, expect![[r#"<a> <urn:p> "1"^^<xsd:integer> ."#]]);
}

#[test]
fn scoped_contexts_reach_as_far_as_they_should() {
    check(
        r#"{"@context": {"@vocab": "urn:v#", "T": {"@context": {"p": "urn:typed"}}, "q": {"@context": {"p": "urn:of-q"}}},
            "@id": "a", "@type": "T", "p": {"@id": "b", "p": "not typed"}, "q": {"@id": "c", "p": {"@id": "d", "p": "still of q"}}}"#,
        expect![[r#"
            <a> <rdf:type> <urn:v#T> .
            <a> <urn:typed> <b> .
            <a> <urn:v#q> <c> .
            <b> <urn:v#p> "not typed" .
            <c> <urn:of-q> <d> .
            <d> <urn:of-q> "still of q" ."#]],
    );
    check(
        r#"{"@context": {"@vocab": "urn:v#", "@propagate": false, "p": "urn:here"}, "@id": "a", "p": {"@id": "b", "p": "x"}}"#,
        expect!["<a> <urn:here> <b> ."],
    );
}

#[test]
fn json_literals_are_canonical() {
    check(
        r#"{"@context": {"@vocab": "urn:v#", "j": {"@type": "@json"}}, "@id": "a", "j": {"b": [1.0, "é\u000f"], "a": null},
            "k": {"@value": [2], "@type": "@json"}}"#,
        expect![[r#"
            <a> <urn:v#j> "{\"a\":null,\"b\":[1,\"é\\u000f\"]}"^^<rdf:JSON> .
            <a> <urn:v#k> "[2]"^^<rdf:JSON> ."#]],
    );
}

#[test]
fn names_are_resolved_or_dropped() {
    check(
        r#"{"@context": {"ex": "urn:ex#", "term": "urn:t", "nothing": null}, "@id": "../up", "ex:a": {"@id": "?q"}, "term": {"@id": "//h/x"},
            "nothing": 1, "unknown": 2, "urn:abs": {"@id": "no good"}, "@type": ["Rel", "ex:T", "_:t"]}"#,
        expect![[r#"
            <https://example.org/up> <rdf:type> <Rel> .
            <https://example.org/up> <rdf:type> <urn:ex#T> .
            <https://example.org/up> <rdf:type> _:0 .
            <https://example.org/up> <urn:ex#a> <page?q> .
            <https://example.org/up> <urn:t> <https://h/x> .
            ! note: line 1: `no good` is no IRI or language tag; what it is in was left out [json-ld-ill-formed]"#]],
    );
    check(
        r##"{"@context": {"@base": "http://b.example/x/", "@vocab": "#"}, "@id": "y", "p": {"@context": {"@base": null}, "@id": "z", "p": 1}, "q": 1}"##,
        expect![[r#"
            <http://b.example/x/y> <http://b.example/x/#q> "1"^^<xsd:integer> .
            ! note: line 1: `z` is no IRI or language tag; what it is in was left out [json-ld-ill-formed]"#]],
    );
}

#[test]
fn equal_quads_come_once() {
    check(
        r#"[{"@id": "a", "urn:p": [1, 1, "x"]}, {"@id": "a", "urn:p": 1, "@type": ["urn:T", "urn:T"]}]"#,
        expect![[r#"
            <a> <urn:p> "1"^^<xsd:integer> .
            <a> <urn:p> "x" .
            <a> <rdf:type> <urn:T> ."#]],
    );
}

#[test]
fn mistakes_cost_what_they_are_in() {
    check(
        r#"{"@context": {"@vocab": "urn:v#", "@language": 5, "bad": 7, "worse": {"@id": "urn:w", "@container": "@no"}},
 "@id": "a",
 "bad": "lost",
 "worse": "lost",
 "p": ["kept", {"@value": ["lost"]}, {"@id": "b", "@type": ["T", 8]}],
 "q": {"@list": [1], "r": 2},
 "s": {"@value": 1, "@language": "en"},
 "t": {"@value": "x", "@language": "not a tag"},
 "@reverse": "lost",
 "u": {"@context": "https://ctx.example/unknown", "v": 1},
 "w": "kept"}"#,
        expect![[r#"
            <a> <urn:v#p> "kept" .
            <a> <urn:v#p> <b> .
            <a> <urn:v#w> "kept" .
            <b> <rdf:type> <urn:v#T> .
            ! warning: line 1: the default language is neither a string nor null [json-ld-invalid-default-language]
            ! warning: line 1: the definition of `bad` is neither a string nor an object [json-ld-invalid-term-definition]
            ! warning: line 1: no such container, or none together with the others [json-ld-invalid-container-mapping]
            ! warning: line 5: an @value is an array or object [json-ld-invalid-value-object-value]
            ! warning: line 5: a type is not a string [json-ld-invalid-type-value]
            ! warning: line 6: an object with @set or @list has other members [json-ld-invalid-set-or-list-object]
            ! warning: line 7: a value with a language is not a string [json-ld-invalid-language-tagged-value]
            ! warning: line 9: an @reverse is not an object [json-ld-invalid-reverse-value]
            ! warning: line 10: the context <https://ctx.example/unknown> is not known [json-ld-context]
            ! note: line 1: `not a tag` is no IRI or language tag; what it is in was left out [json-ld-ill-formed]"#]],
    );
}

#[test]
fn a_block_without_its_context_is_left_out() {
    for context in
        [r#""https://ctx.example/unknown""#, "5", r#"[{"a": "urn:a"}, "https://ctx.example/unknown"]"#]
    {
        let graph = run(
            &format!(r#"{{"@context": {context}, "@id": "a", "urn:p": 1}}"#),
            &TransformConfig::default(),
        );
        assert!(graph.quads.is_empty(), "{context}");
        assert_eq!(graph.diagnostics.len(), 1, "{context}");
    }
    check(
        r#"{"@context": {"@import": "https://ctx.example/unknown"}, "@id": "a", "urn:p": 1}"#,
        expect![[
            r#"! error: line 1: the context <https://ctx.example/unknown> is not known, block left out [json-ld-context]"#
        ]],
    );
}

#[test]
fn contexts_from_elsewhere_are_shared_while_they_stay_the_same() {
    let one = config(&[
        ("a", r#"{"@context": ["b", {"x": {"@id": "v:x", "@type": "@id"}}]}"#),
        ("b", r#"{"@context": {"v": "urn:v#", "@base": "http://ignored/"}}"#),
    ]);
    let two = config(&[("a", r#"{"@context": {"x": "urn:other"}}"#)]);
    let body = r#"{"@context": "https://ctx.example/a", "@id": "s", "x": "o"}"#;
    for _ in 0..3 {
        assert_eq!(show(&run(body, &one)), "<s> <urn:v#x> <o> .");
        assert_eq!(show(&run(body, &two)), "<s> <urn:other> \"o\" .");
    }
    // On top of schema.org's, and below it.
    let body = r#"[{"@context": ["https://schema.org", "https://ctx.example/a"], "@id": "s", "x": "o", "name": "n"},
                   {"@context": ["https://ctx.example/a", "https://schema.org"], "@id": "t", "x": "o", "name": "n"}]"#;
    for _ in 0..2 {
        assert_eq!(
            show(&run(body, &one)),
            "<s> <urn:v#x> <o> .\n<s> <schema:name> \"n\" .\n<t> <urn:v#x> <o> .\n<t> <schema:name> \"n\" ."
        );
    }
}

#[test]
fn schema_org_can_be_imported_and_protected() {
    check(
        r#"{"@context": {"@import": "https://schema.org/", "@protected": true, "label": "schema:name"}, "@id": "a", "label": "L",
            "url": {"@context": {"url": "urn:no"}, "@id": "b", "url": "http://c.example/"}}"#,
        expect![[r#"
            <a> <schema:name> "L" .
            <a> <schema:url> <b> .
            <b> <schema:url> <http://c.example/> .
            ! warning: line 2: `url` is protected and is defined anew [json-ld-protected-term-redefinition]"#]],
    );
    check(
        r#"{"@context": [{"name": {"@id": "urn:mine", "@protected": true}}, "https://schema.org"], "@id": "a", "name": "N", "url": "b"}"#,
        expect![[r#"
            <a> <urn:mine> "N" .
            <a> <schema:url> <b> .
            ! warning: line 1: `name` is protected and means something else [json-ld-protected-term-redefinition]"#]],
    );
}

#[test]
fn the_strict_way_ends_at_the_first_mistake() {
    let config = TransformConfig::default();
    let strict = |text: &str, options: &JsonLdOptions| to_rdf(PAGE, text, options, &config);
    let options = JsonLdOptions::default();
    let error = strict("{\"@id\": \"a\",\n \"urn:p\": {\"@value\": []}}", &options).unwrap_err();
    assert_eq!(error.to_string(), "line 2: an @value is an array or object [invalid value object value]");
    assert_eq!(strict("{", &options).unwrap_err().code.as_str(), "loading document failed");
    let text = r#"{"@id": "a", "urn:p": {"@value": "x", "@direction": "rtl", "@language": "HE"}}"#;
    for (direction, expected) in [
        (None, "<a> <urn:p> \"x\"@he"),
        (Some(RdfDirection::I18nDatatype), "<a> <urn:p> \"x\"^^<https://www.w3.org/ns/i18n#he_rtl>"),
    ] {
        let options = JsonLdOptions { rdf_direction: direction, ..JsonLdOptions::default() };
        assert_eq!(shorten(strict(text, &options).unwrap()[0].to_string()), expected);
    }
    let options =
        JsonLdOptions { rdf_direction: Some(RdfDirection::CompoundLiteral), ..JsonLdOptions::default() };
    assert_eq!(strict(text, &options).unwrap().len(), 4);
    let options = JsonLdOptions {
        expand_context: Some(r#"{"@context": {"p": "urn:p"}}"#.to_owned()),
        base: Some("http://other.example/".to_owned()),
        ..JsonLdOptions::default()
    };
    let quads = strict(r#"{"@id": "a", "p": 1}"#, &options).unwrap();
    assert_eq!(shorten(quads[0].to_string()), "<http://other.example/a> <urn:p> \"1\"^^<xsd:integer>");
    let options = JsonLdOptions { processing_mode_1_0: true, ..JsonLdOptions::default() };
    let error = strict(r#"{"@context": {"@version": 1.1}}"#, &options).unwrap_err();
    assert_eq!(error.code.as_str(), "processing mode conflict");
}

/// Runs something hostile, which may be refused but may not take long.
#[track_caller]
fn survives(what: &str, body: String, config: &TransformConfig) -> PageGraph {
    let start = Instant::now();
    let graph = run(&body, config);
    let elapsed = start.elapsed();
    assert!(elapsed < Duration::from_secs(4), "{what} took {elapsed:?}");
    graph
}

#[test]
fn hostile_contexts_are_bounded() {
    let chain: String = (0..20_000).map(|n| format!("\"t{n}\":\"t{}:x\",", n + 1)).collect();
    let scoped = format!("{}{{}}{}", r#"{"t":{"@id":"urn:t","@context":"#.repeat(40), "}}".repeat(40));
    let terms: String = (0..2000).map(|n| format!("\"u{n}\":\"urn:{n}\",")).collect();
    let layers = (0..40).fold(String::from("1"), |inner, n| {
        let terms: String = (0..20).map(|t| format!("\"k{n}x{t}\":\"urn:k\",")).collect();
        format!("{{\"@context\":{{{terms}\"p\":\"urn:p\"}},\"p\":{inner}}}")
    });
    let none = TransformConfig::default();
    for (what, body) in [
        ("a chain of terms", format!("{{\"@context\":{{{chain}\"z\":\"urn:z\"}},\"z\":1}}")),
        ("a circle of terms", r#"{"@context":{"a":"b:x","b":"c:x","c":"a:x"},"a":1}"#.to_owned()),
        ("contexts in contexts", format!("{{\"@context\":{scoped},\"t\":{{\"t\":{{\"t\":1}}}}}}")),
        (
            "many contexts",
            format!("{{\"@context\":[{}{{}}],\"@id\":\"a\"}}", "{\"a\":\"urn:a\"},".repeat(100_000)),
        ),
        ("nulls", format!("{{\"@context\":[{}null]}}", "null,".repeat(500_000))),
        (
            "a context for every node",
            format!(
                "{{\"@context\":{{{terms}\"p\":\"urn:p\"}},\"@graph\":[{}1]}}",
                r#"{"@context":{"q":"urn:q"},"p":1},"#.repeat(100_000)
            ),
        ),
        ("layers", layers),
        (
            "a long prefix",
            format!("{{\"@context\":{{\"p\":\"urn:{}\"}},{}\"z\":1}}", "x/".repeat(50_000), {
                (0..20_000).map(|n| format!("\"p:{n}\":1,")).collect::<String>()
            }),
        ),
        (
            "a long language",
            format!(
                "{{\"@context\":{{\"@language\":\"x-{}a\",\"p\":\"urn:p\"}},\"p\":[{}1]}}",
                "abcdefgh-".repeat(10_000),
                "\"a\",".repeat(50_000)
            ),
        ),
        ("one key", format!("{{{}\"a\":1}}", "\"a\":1,".repeat(1_000_000))),
        (
            "many keys",
            format!("{{{}\"a\":1}}", (0..300_000).map(|n| format!("\"k{n}\":1,")).collect::<String>()),
        ),
        ("many values", format!("{{\"@id\":\"a\",\"urn:p\":[{}1]}}", "1,".repeat(2_000_000))),
        ("schema.org for everyone", {
            format!(
                "[{}1]",
                r#"{"@context":"http://schema.org","@type":"Person","name":"x"},"#.repeat(60_000)
            )
        }),
        (
            "deep lists",
            format!("{{\"@id\":\"a\",\"urn:p\":{}1{}}}", "{\"@list\":[".repeat(49), "]}".repeat(49)),
        ),
        ("nothing but quotes", "\"".repeat(5_000_000)),
        ("nothing but brackets", "[".repeat(5_000_000)),
        ("nothing but escapes", format!("\"{}\"", "\\u0041".repeat(1_000_000))),
    ] {
        survives(what, body, &none);
    }
}

#[test]
fn hostile_contexts_from_elsewhere_are_bounded() {
    let fan = |next: &str| {
        let terms: Vec<String> = (0..30)
            .map(|n| format!("\"t{n}\":{{\"@id\":\"urn:t{n}\",\"@context\":\"https://ctx.example/{next}\"}}"))
            .collect();
        format!("{{\"@context\":{{{}}}}}", terms.join(","))
    };
    let (a, b, c, d) = (fan("b"), fan("c"), fan("d"), fan("e"));
    let scoped = format!("{}{{}}{}", r#"{"t":{"@id":"urn:t","@context":"#.repeat(38), "}}".repeat(38));
    let deep = format!("{{\"@context\":{scoped}}}");
    let config = config(&[
        ("a", &a),
        ("b", &b),
        ("c", &c),
        ("d", &d),
        ("e", &a),
        ("deep", &deep),
        ("self", r#"{"@context": "https://ctx.example/self"}"#),
        ("own", r#"{"@context": {"t": {"@id": "urn:t", "@context": "https://ctx.example/own"}}}"#),
    ]);
    let graph =
        survives("a fan", r#"{"@context":"https://ctx.example/a","t0":{"t0":{"t0":1}}}"#.to_owned(), &config);
    assert!(!graph.diagnostics.is_empty());
    let body = format!(
        r#"{}{{"@context":"https://ctx.example/deep","t":{{"t":1}}}}{}"#,
        r#"{"urn:p":"#.repeat(97),
        "}".repeat(97)
    );
    let graph = survives("a deep context deep down", body, &config);
    assert_eq!((graph.quads.len(), graph.diagnostics.len()), (99, 0), "{:?}", graph.diagnostics);
    let graph =
        survives("itself", r#"{"@context":"https://ctx.example/self","urn:p":1}"#.to_owned(), &config);
    assert_eq!(graph.diagnostics[0].code, "json-ld-context");
    let graph = survives(
        "its own",
        r#"{"@context":"https://ctx.example/own","t":{"t":{"t":1}}}"#.to_owned(),
        &config,
    );
    assert_eq!((graph.quads.len(), graph.diagnostics.len()), (3, 0), "{:?}", graph.diagnostics);
    let many: Vec<String> = (0..100).map(|n| format!("\"https://ctx.example/{n}\"")).collect();
    let graph = survives("many", format!("{{\"@context\":[{}],\"urn:p\":1}}", many.join(",")), &config);
    assert!(graph.quads.is_empty());
}
