//! `webloom extract` against an independent reader, and against input nobody should have to read.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{stderr, stdout_of, webloom};

/// rdflib in a Python that `cargo xtask test` sets up; nothing when the tests are run without it.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("WEBLOOM_PYTHON").map(PathBuf::from);
    if python.is_none() {
        eprintln!("WEBLOOM_PYTHON is not set: not compared with rdflib. `cargo xtask test` sets it.");
    }
    python
}

/// True when rdflib reads `file` as the same graph that `nquads` says, up to the names of blank nodes.
fn rdflib_agrees(python: &Path, file: &Path, format: &str, base: &str, nquads: &str) -> Result<(), String> {
    const SCRIPT: &str = r#"
import sys, re, html
from rdflib import Graph
from rdflib.compare import to_isomorphic, graph_diff
file, format, base = sys.argv[1:4]
theirs, ours = Graph(), Graph()
if format == "jsonld-in-html":
    text = open(file, encoding="utf-8").read()
    for block in re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.S):
        theirs.parse(data=block, format="json-ld", publicID=base)
else:
    theirs.parse(file, format=format, publicID=base)
ours.parse(data=sys.stdin.read(), format="nt")
a, b = to_isomorphic(theirs), to_isomorphic(ours)
if a != b:
    _, only_theirs, only_ours = graph_diff(a, b)
    print("only rdflib:\n" + only_theirs.serialize(format="nt") + "\nonly webloom:\n" + only_ours.serialize(format="nt"))
    sys.exit(1)
if len(a) == 0:
    print("both graphs are empty"); sys.exit(1)
"#;
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .arg(file)
        .args([format, base])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(nquads.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output)))
}

const BASE: &str = "http://museum.example/works/";

#[test]
fn turtle_rdf_xml_and_json_ld_in_html_are_read_as_rdflib_reads_them() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        (
            "work.ttl",
            "turtle",
            "",
            r#"@prefix dcterms: <http://purl.org/dc/terms/> . @prefix : <#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
               <7> dcterms:title "Harbour at Dusk"@en, "Hafen in der Dämmerung"@de ; dcterms:created "1911"^^xsd:gYear ;
                 :height 1.20 ; :weight 3e1 ; :shown true ; :parts ( <7a> <7b> "frame" ) ; :by [ a :Painter ; :name '''Ida
               Marsh''' ; :pupil [ :name "N. N." ] ] ; dcterms:relation <../shows/1>, <?x=1>, <> ."#,
        ),
        (
            "work.rdf",
            "xml",
            "",
            r##"<?xml version="1.0"?>
               <!DOCTYPE rdf:RDF [ <!ENTITY dct "http://purl.org/dc/terms/"> ]>
               <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dcterms="&dct;" xmlns:ex="http://museum.example/ns#" xml:base="http://museum.example/works/">
                 <ex:Painting rdf:about="7" dcterms:title="Harbour &amp; Dusk" xml:lang="en">
                   <dcterms:creator><ex:Painter rdf:ID="ida"><ex:name>Ida Marsh</ex:name></ex:Painter></dcterms:creator>
                   <ex:height rdf:datatype="http://www.w3.org/2001/XMLSchema#decimal">1.20</ex:height>
                   <ex:parts rdf:parseType="Collection"><rdf:Description rdf:about="7a"/><rdf:Description rdf:about="7b"/></ex:parts>
                   <ex:frame rdf:parseType="Resource"><ex:wood>oak</ex:wood></ex:frame>
                   <ex:seen rdf:nodeID="n1"/>
                 </ex:Painting>
                 <rdf:Bag rdf:nodeID="n1"><rdf:li>one</rdf:li><rdf:li rdf:resource="two"/></rdf:Bag>
               </rdf:RDF>"##,
        ),
        (
            "work.html",
            "jsonld-in-html",
            "jsonld",
            r#"<!doctype html><title>Work</title><script type="application/ld+json">
               {"@context": {"dct": "http://purl.org/dc/terms/", "ex": "http://museum.example/ns#", "xsd": "http://www.w3.org/2001/XMLSchema#",
                 "title": {"@id": "dct:title", "@container": "@language"}, "made": {"@id": "dct:created", "@type": "xsd:gYear"},
                 "parts": {"@id": "ex:parts", "@container": "@list", "@type": "@id"}},
                "@id": "7", "@type": "ex:Painting", "title": {"en": "Harbour at Dusk", "de": "Hafen"}, "made": "1911",
                "parts": ["7a", "7b"], "ex:height": 1.5, "ex:count": 3, "ex:shown": true,
                "ex:by": {"@type": "ex:Painter", "ex:name": "Ida Marsh", "ex:knows": [{"@id": "_:x"}, {"ex:name": "N. N."}]}}
               </script><p>and</p><script type="application/ld+json">[{"@id": "8", "http://purl.org/dc/terms/title": "Second"}]</script>"#,
        ),
    ];
    for (name, format, only, text) in cases {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        let mut command = webloom();
        command.arg("extract").arg(&file).args(["--base", BASE]);
        if !only.is_empty() {
            command.args(["--only", only]);
        }
        let nquads = stdout_of(&mut command);
        if let Err(difference) = rdflib_agrees(&python, &file, format, BASE, &nquads) {
            panic!("{name}:\n{difference}\nwebloom said:\n{nquads}");
        }
    }
}

/// Runs `extract` on bytes; gives stdout and stderr of a run that must end well.
#[track_caller]
fn extract(bytes: &[u8], name: &str, arguments: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, bytes).unwrap();
    let output = webloom().arg("extract").arg(&file).args(["--base", BASE]).args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    (String::from_utf8(output.stdout.clone()).unwrap(), stderr(&output))
}

#[test]
fn bad_input_gives_diagnostics_not_crashes() {
    let page = format!("<title>Cut</title>{}", "word ".repeat(20_000));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(page.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();

    let (out, diagnostics) = extract(&packed[..packed.len() / 2], "cut.html.gz", &[]);
    assert!(diagnostics.contains("broken-compression"), "{diagnostics}");
    assert!(out.contains("\"Cut\""), "{out}");

    let (out, diagnostics) = extract("<div>".repeat(100_000).as_bytes(), "deep.html", &[]);
    assert!(diagnostics.contains("html-too-deep"), "{diagnostics}");
    assert!(out.contains("Document"), "{out}");

    let (out, diagnostics) = extract(b"<title>caf\xe9\xff</title><meta charset=utf-8>", "latin.html", &[]);
    assert!(diagnostics.contains("invalid-encoding"), "{diagnostics}");
    assert!(out.contains("caf\u{fffd}"), "{out}");

    for name in ["empty.html", "empty.ttl", "empty.rdf", "empty.jsonld", "empty"] {
        extract(b"", name, &[]);
    }
    let (_, diagnostics) = extract(b"<a> <b> \"unfinished", "bad.ttl", &[]);
    assert!(diagnostics.contains("line 1"), "{diagnostics}");
    let ten = |entity: &str| format!("&{entity};").repeat(10);
    let laughs = format!(
        r#"<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "haha"><!ENTITY b "{}"><!ENTITY c "{}"><!ENTITY d "{}"><!ENTITY e "{}">]>
        <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="x"><rdf:value>&e;</rdf:value></rdf:Description></rdf:RDF>"#,
        ten("a"),
        ten("b"),
        ten("c"),
        ten("d"),
    );
    let (_, diagnostics) = extract(laughs.as_bytes(), "laughs.rdf", &[]);
    assert!(diagnostics.contains("rdf-xml-entities"), "{diagnostics}");
    let deep = format!("{}1{}", "{\"http://a.example/p\":".repeat(5000), "}".repeat(5000));
    let (_, diagnostics) = extract(deep.as_bytes(), "deep.jsonld", &[]);
    assert!(diagnostics.contains("json-ld-too-deep"), "{diagnostics}");
}

#[test]
fn a_body_of_two_gigabytes_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("huge.html");
    // Sparse: it takes no room on disk.
    let handle = std::fs::File::create(&file).unwrap();
    (&handle).write_all(b"<title>Huge</title>").unwrap();
    handle.set_len(2 << 30).unwrap();
    let output = webloom()
        .arg("extract")
        .arg(&file)
        .args(["--base", BASE, "--content-type", "text/html"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("body-cut"), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\"Huge\""));
}

#[test]
fn formats_and_graphs() {
    let page = br#"<html lang=en><title>Works</title><a href="7">Harbour</a>"#;
    let (nquads, _) = extract(page, "works.html", &[]);
    assert!(nquads.contains("<http://museum.example/works/> <http://www.w3.org/2000/01/rdf-schema#seeAlso> <http://museum.example/works/7> ."), "{nquads}");
    let (with_graph, _) = extract(page, "works.html", &["--context-graph"]);
    assert!(
        with_graph.lines().all(|line| line.ends_with("<http://museum.example/works/> .")),
        "{with_graph}"
    );
    for (format, part) in
        [("turtle", "dcterms:title"), ("trig", "dcterms:title"), ("jsonld", "\"@id\""), ("json", "\"quads\"")]
    {
        let (out, _) = extract(page, "works.html", &["--format", format]);
        assert!(out.contains(part), "{format}: {out}");
    }
    let (only, _) = extract(page, "works.html", &["--only", "jsonld"]);
    assert_eq!(only, "");
    let output = webloom().args(["extract", "-", "--only", "rdfx"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = webloom().args(["extract", "/no/such/file"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("/no/such/file"));
}

#[test]
fn microformats_print_as_their_canonical_json() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("card.html");
    std::fs::write(&file, r#"<a class="h-card" rel="me" href="/me">Ann</a>"#).unwrap();
    let base = ["--base", "https://example.org/"];
    let json = stdout_of(webloom().arg("extract").arg(&file).args(["--format", "mf2"]).args(base));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json,
        serde_json::json!({
            "items": [{"type": ["h-card"], "properties": {"name": ["Ann"], "url": ["https://example.org/me"]}}],
            "rels": {"me": ["https://example.org/me"]},
            "rel-urls": {"https://example.org/me": {"rels": ["me"], "text": "Ann"}},
        })
    );
    let quads = stdout_of(webloom().arg("extract").arg(&file).args(["--only", "microformats"]).args(base));
    assert!(quads.contains("<http://www.w3.org/2006/vcard/ns#fn> \"Ann\""), "{quads}");
}

#[test]
fn a_page_and_its_transformation_come_from_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("page.html"),
        r#"<html xmlns="http://www.w3.org/1999/xhtml"><head profile="http://www.w3.org/2003/g/data-view"><title>T</title>
        <link rel="transformation" href="t.xsl"/></head><body/></html>"#,
    )
    .unwrap();
    std::fs::write(
        folder.path().join("t.xsl"),
        r#"<rdf:RDF xsl:version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" xmlns:h="http://www.w3.org/1999/xhtml"
        xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"
        ><rdf:Description rdf:about=""><dc:title><xsl:value-of select="//h:title"/></dc:title></rdf:Description></rdf:RDF>"#,
    )
    .unwrap();
    let map = format!("http://a.example/?b=c/={}", folder.path().display());
    let simple = format!("http://a.example/={}", folder.path().display());
    for (map, page) in [(simple, "http://a.example/page.html"), (map, "http://a.example/?b=c/page.html")] {
        let quads = stdout_of(webloom().args(["extract", page, "--map", &map, "--only", "html"]));
        assert!(quads.contains(&format!("<{page}> <http://purl.org/dc/terms/title> \"T\"")), "{quads}");
    }
    let map = format!("http://a.example/={}", folder.path().display());
    let quads = stdout_of(webloom().args([
        "extract",
        "http://a.example/page.html",
        "--map",
        &map,
        "--only",
        "grddl",
    ]));
    assert_eq!(quads, "<http://a.example/page.html> <http://purl.org/dc/elements/1.1/title> \"T\" .\n");
}
