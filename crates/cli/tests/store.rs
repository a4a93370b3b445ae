//! `load`, `dump`, `stats`, `query` and `detect` through the command.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use support::{stderr, stdout_of, webloom};

#[test]
fn what_is_loaded_is_dumped() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("in.nq");
    let quads = "<http://a.example/s> <http://a.example/p> \"v\"@en <http://a.example/g> .\n\
                 <http://a.example/s> <http://a.example/p> \"01\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n\
                 <http://a.example/s> <http://a.example/p> \"1\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n";
    std::fs::write(&file, quads).unwrap();
    for _ in 0..2 {
        stdout_of(webloom().arg("load").arg(&file).arg("--data").arg(&data));
        let dump = stdout_of(webloom().args(["dump", "--data"]).arg(&data));
        let mut lines: Vec<&str> = dump.lines().collect();
        lines.sort_unstable();
        let mut expected: Vec<&str> = quads.lines().collect();
        expected.sort_unstable();
        assert_eq!(lines, expected);
    }
    let stats: serde_json::Value =
        serde_json::from_str(&stdout_of(webloom().args(["stats", "--json", "--data"]).arg(&data))).unwrap();
    assert_eq!(stats["quads"], 3);

    let bad = folder.path().join("bad.nq");
    std::fs::write(
        &bad,
        "<http://a.example/s> <http://a.example/p> <http://a.example/new> .\n<http://a.example/s> oops .\n",
    )
    .unwrap();
    let output = webloom().arg("load").arg(&bad).arg("--data").arg(&data).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("bad.nq") && said.contains("line 2"), "{said}");
    assert_eq!(
        stdout_of(webloom().args(["dump", "--data"]).arg(&data)).lines().count(),
        3,
        "a broken file changed the store"
    );
}

#[test]
fn compressed_files_and_all_formats_load() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(b"<http://a.example/1> <http://a.example/p> [ <http://a.example/q> 'x' ] .").unwrap();
    let files = [
        ("a.ttl.gz", gz.finish().unwrap()),
        ("b.trig", b"<http://a.example/g> { <http://a.example/2> <http://a.example/p> 2 }".to_vec()),
        ("c.nt", b"<http://a.example/3> <http://a.example/p> \"3\" .\n".to_vec()),
        ("d.jsonld", br#"{"@id": "http://a.example/4", "http://a.example/p": 4}"#.to_vec()),
        (
            "e.rdf",
            br#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="http://a.example/5" rdf:value="5"/></rdf:RDF>"#.to_vec(),
        ),
    ];
    let mut command = webloom();
    command.arg("load").arg("--data").arg(&data);
    for (name, bytes) in files {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        command.arg(file);
    }
    stdout_of(&mut command);
    let count = stdout_of(
        webloom()
            .args(["query", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--results", "csv", "--data"])
            .arg(&data),
    );
    assert_eq!(count.replace('\r', ""), "n\n6\n");
    let output = webloom().args(["load", "what.docx"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn answers_in_every_format_and_errors_that_name_the_thing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("in.ttl");
    std::fs::write(&file, "<http://a.example/s> <http://a.example/p> \"a, \\\"b\\\"\" .").unwrap();
    stdout_of(webloom().arg("load").arg(&file).arg("--data").arg(&data));
    let ask = |format: &str| {
        stdout_of(
            webloom().args(["query", "SELECT ?o { ?s ?p ?o }", "--results", format, "--data"]).arg(&data),
        )
    };
    assert!(ask("json").contains("\"bindings\""));
    assert!(ask("xml").contains("<sparql"));
    assert_eq!(ask("csv").replace('\r', ""), "o\n\"a, \"\"b\"\"\"\n");
    assert!(ask("tsv").starts_with("?o\n"));
    assert!(ask("table").contains("a, \"b\""));
    let construct = stdout_of(webloom().args(["query", "CONSTRUCT WHERE { ?s ?p ?o }", "--data"]).arg(&data));
    assert_eq!(construct.lines().count(), 1);

    let output = webloom().args(["query", "SELECT ?o { ?s ?p", "--data"]).arg(&data).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(!stderr(&output).is_empty());
    let output =
        webloom().args(["query", "ASK {}", "--data"]).arg(folder.path().join("nothing")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("holds no crawl"), "{}", stderr(&output));
}

#[test]
fn detect_tells_what_a_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, "@prefix : <http://a.example/> . :a :b :c .").unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&stdout_of(webloom().arg("detect").arg(&file).args([
            "--content-type",
            "text/plain",
            "--url",
            "http://a.example/data",
        ])))
        .unwrap();
    assert_eq!(json["kind"], "turtle");
}
