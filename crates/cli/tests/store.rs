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

#[test]
fn many_files_and_directories_load_and_a_bad_one_stops_there() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let files = folder.path().join("files/deep");
    std::fs::create_dir_all(&files).unwrap();
    for number in 0..5 {
        let text = format!("<http://a.example/{number}> <http://a.example/p> _:b .\n");
        std::fs::write(files.join(format!("{number}.nt")), text).unwrap();
    }
    std::fs::write(files.join("notes.txt"), "not RDF").unwrap();
    stdout_of(
        webloom()
            .arg("load")
            .arg(folder.path().join("files"))
            .arg("--data")
            .arg(&data)
            .args(["--graph", "http://a.example/graph"]),
    );
    let dump = || stdout_of(webloom().args(["dump", "--data"]).arg(&data));
    assert_eq!(dump().lines().count(), 5);
    assert!(dump().lines().all(|line| line.ends_with("<http://a.example/graph> .")), "{}", dump());
    // The label is the same in all files, the node is not.
    let count = stdout_of(
        webloom()
            .args(["query", "SELECT (COUNT(DISTINCT ?o) AS ?n) { ?s ?p ?o }", "--results", "csv", "--data"])
            .arg(&data),
    );
    assert_eq!(count.replace('\r', ""), "n\n5\n");

    let good = "<http://a.example/s> <http://a.example/p> \"1\" .\n";
    let [first, bad, never] = ["1.nt", "2.nt", "3.nt"].map(|name| folder.path().join(name));
    std::fs::write(&first, good).unwrap();
    std::fs::write(&bad, good.replace('1', "2") + "oops\n" + &good.replace('1', "3")).unwrap();
    std::fs::write(&never, good.replace('1', "4")).unwrap();
    let output =
        webloom().arg("load").args([&first, &bad, &never]).arg("--data").arg(&data).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("2.nt: line 2: "), "{said}");
    assert!(dump().contains("\"1\"") && !dump().contains("\"2\"") && !dump().contains("\"4\""), "{}", dump());

    let output = webloom().args(["load", "--lenient"]).arg(&bad).arg("--data").arg(&data).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("2 quads, 1 errors skipped"), "{}", stderr(&output));
    assert!(dump().contains("\"2\"") && dump().contains("\"3\""), "{}", dump());
    let output = webloom().args(["load", "--graph", "no iri"]).arg(&bad).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_store_is_backed_up_restored_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let [data, copy, back] = ["data", "copy", "back"].map(|name| folder.path().join(name));
    let file = folder.path().join("in.nt");
    std::fs::write(&file, "<http://a.example/s> <http://a.example/p> \"blue harbour\" .\n").unwrap();
    stdout_of(webloom().arg("load").arg(&file).arg("--data").arg(&data));
    stdout_of(webloom().arg("backup").arg(&data).arg(&copy));
    stdout_of(webloom().arg("restore").arg(&copy).arg(&back));
    let output = webloom().arg("restore").arg(&copy).arg(&back).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    for directory in [&data, &copy, &back] {
        stdout_of(webloom().args(["check", "--data"]).arg(directory));
        assert!(
            stdout_of(webloom().args(["search", "harbour", "--data"]).arg(directory)).contains("a.example/s")
        );
    }
    let segment = std::fs::read_dir(back.join("index/segments")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::remove_file(&segment).unwrap();
    std::fs::write(&segment, bytes).unwrap();
    let output = webloom().args(["check", "--data"]).arg(&back).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("seg") || String::from_utf8_lossy(&output.stdout).contains("seg"));
    stdout_of(webloom().args(["check", "--data"]).arg(&copy));

    let stats: serde_json::Value = serde_json::from_str(&stdout_of(
        webloom().args(["stats", "--json", "--vocabulary", "--data"]).arg(&data),
    ))
    .unwrap();
    assert_eq!(stats["predicates"][0]["predicate"], "http://a.example/p");
    assert_eq!(stats["predicates"][0]["subjects"], 1);
    assert!(stats["bytes_by_order"]["spoc"].as_u64().unwrap() > 0);
}
