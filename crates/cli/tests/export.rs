//! `dump` into every format and selection, `materialize`, and `query --entail`, through the command.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use support::{stderr, stdout_of, webloom};
use tempfile::TempDir;

const A: &str = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// Two sites, metadata, a blank node, all kinds of literals, and the default graph.
fn quads() -> Vec<String> {
    [
        format!("<http://a.example/x> {A} <http://v.example/Book> <http://a.example/1> ."),
        "<http://a.example/x> <http://v.example/title> \"Ein \\\"Buch\\\"\"@de <http://a.example/1> .".to_owned(),
        format!("<http://a.example/x> <http://v.example/pages> \"12\"^^<{XSD}integer> <http://a.example/1> ."),
        format!("<http://a.example/x> <http://v.example/on> \"2006-11-05T09:30:00Z\"^^<{XSD}dateTime> <http://a.example/1> ."),
        "<http://a.example/x> <http://v.example/by> _:b <http://a.example/1> .".to_owned(),
        "<http://a.example/x> <http://v.example/seen> \"plain\" <http://sub.b.example/2> .".to_owned(),
        format!("<http://b.example/y> {A} <http://v.example/Film> <http://b.example/2> ."),
        "<http://a.example/1> <urn:webloom:ns#depth> \"0\" <urn:webloom:meta:http://a.example/1> .".to_owned(),
        "<http://v.example/Book> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://v.example/Work> .".to_owned(),
    ]
    .into()
}

fn store() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let file = folder.path().join("in.nq");
    std::fs::write(&file, quads().join("\n")).unwrap();
    stdout_of(webloom().arg("load").arg(&file).arg("--data").arg(&data));
    (folder, data)
}

fn dump(data: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let text = stdout_of(webloom().args(["dump", "--data"]).arg(data).args(arguments));
    text.lines().map(str::to_owned).collect()
}

fn rows(file: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn text(row: &Row, column: &str) -> Option<String> {
    match row.get_column_iter().find(|(name, _)| *name == column).unwrap().1 {
        Field::Str(text) => Some(text.clone()),
        Field::Null => None,
        other => Some(other.to_string()),
    }
}

/// The row as N-Quads, to compare with what was loaded.
fn as_quad(row: &Row) -> String {
    let node = |text: String| if text.starts_with("_:") { text } else { format!("<{text}>") };
    let get = |column: &str| text(row, column);
    let object = get("object").unwrap();
    let object = match get("object_kind").unwrap().as_str() {
        "literal" => {
            let value = format!("\"{}\"", object.replace('"', "\\\""));
            match (get("language"), get("datatype").unwrap()) {
                (Some(language), _) => format!("{value}@{language}"),
                (None, datatype) if datatype == format!("{XSD}string") => value,
                (None, datatype) => format!("{value}^^<{datatype}>"),
            }
        }
        _ => node(object),
    };
    let graph = get("graph").map(|graph| format!(" <{graph}>")).unwrap_or_default();
    format!("{} <{}> {object}{graph} .", node(get("subject").unwrap()), get("predicate").unwrap())
}

#[test]
fn selections() {
    let (_folder, data) = store();
    let all = dump(&data, &[]);
    assert_eq!(all.len(), quads().len());
    let having = |wanted: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        all.iter().filter(|line| wanted(line)).cloned().collect()
    };
    assert_eq!(
        dump(&data, &["--graph", "http://a.example/1"]),
        having(&|line| line.ends_with("<http://a.example/1> .") && !line.contains("meta"))
    );
    assert_eq!(dump(&data, &["--site", "B.example"]), having(&|line| line.contains("b.example/2> .")));
    assert_eq!(dump(&data, &["--site", "a.example"]), having(&|line| line.contains("a.example/1> .")));
    assert_eq!(dump(&data, &["--site", "example"]).len(), all.len() - 1, "all but the default graph");
    assert!(dump(&data, &["--site", "xample"]).is_empty());
    let books = ["--type", "http://v.example/Book", "--type", "http://v.example/Film"];
    assert_eq!(dump(&data, &books[..2]), having(&|line| line.starts_with("<http://a.example/x>")));
    assert_eq!(dump(&data, &books).len(), 7);
    assert_eq!(dump(&data, &[books[0], books[1], "--site", "b.example"]).len(), 1);
    assert_eq!(dump(&data, &["--no-metadata"]).len(), all.len() - 1);
    assert_eq!(dump(&data, &["--stable"]).len(), all.len() - 1);
    let triples = dump(&data, &["--query", "CONSTRUCT WHERE { ?s <http://v.example/pages> ?o }"]);
    assert_eq!(
        triples,
        [format!("<http://a.example/x> <http://v.example/pages> \"12\"^^<{XSD}integer> .")].into()
    );
    let turtle = dump(&data, &["--graph", "http://b.example/2", "--format", "turtle"]);
    assert_eq!(turtle.len(), 1);

    for wrong in [
        &["--format", "turtle"][..],
        &["--format", "parquet"],
        &["--partition", "site", "--format", "nquads"],
        &["--graph", "not an iri"],
        &["--query", "ASK {}"],
        &["--output", "what.docx"],
        &["--output", "a.parquet.gz"],
    ] {
        let output = webloom().args(["dump", "--data"]).arg(&data).args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", stderr(&output));
    }
}

#[test]
fn files_come_back_as_they_were() {
    let (folder, data) = store();
    let all = dump(&data, &[]);
    for name in ["out.nq", "out.nq.gz", "out.trig.zst", "out.trig"] {
        let file = folder.path().join(name);
        stdout_of(webloom().args(["dump", "--data"]).arg(&data).arg("--output").arg(&file));
        let again = folder.path().join(format!("again-{name}"));
        stdout_of(webloom().arg("load").arg(&file).arg("--data").arg(&again));
        let nameless = |line: &String| !line.contains("_:");
        let found: BTreeSet<String> = dump(&again, &[]).into_iter().filter(nameless).collect();
        assert_eq!(found, all.iter().filter(|line| nameless(line)).cloned().collect(), "{name}");
        assert!(!folder.path().join(format!("{name}.partial")).exists());
    }
}

#[test]
fn parquet_holds_every_quad_sorted_and_typed() {
    let (folder, data) = store();
    let file = folder.path().join("out.parquet");
    stdout_of(webloom().args(["dump", "--data"]).arg(&data).arg("--output").arg(&file));
    let rows = rows(&file);
    let found: BTreeSet<String> = rows.iter().map(as_quad).collect();
    assert_eq!(found, dump(&data, &[]));
    let order: Vec<_> = rows.iter().map(|row| (text(row, "predicate"), text(row, "subject"))).collect();
    assert!(order.is_sorted(), "{order:?}");
    let with = |predicate: &str| {
        rows.iter()
            .find(|row| text(row, "predicate").unwrap() == format!("http://v.example/{predicate}"))
            .unwrap()
    };
    assert_eq!(text(with("pages"), "object_number").unwrap(), "12.0");
    assert!(text(with("on"), "object_time").unwrap().starts_with("2006-11-05 09:30:00"));
    assert_eq!(text(with("title"), "object_number"), None);

    let reader = SerializedFileReader::new(File::open(&file).unwrap()).unwrap();
    let group = reader.metadata().row_group(0);
    assert_eq!(group.sorting_columns().unwrap()[0].column_idx, 1);
    let statistics = group.column(1).statistics().unwrap();
    assert_eq!(statistics.min_bytes_opt().unwrap(), b"http://v.example/by");
}

#[test]
fn parquet_by_site() {
    let (folder, data) = store();
    let output = folder.path().join("sites");
    let run = || {
        let mut command = webloom();
        command.args(["dump", "--partition", "site", "--data"]).arg(&data).arg("--output").arg(&output);
        command
    };
    stdout_of(&mut run());
    let mut found = BTreeSet::new();
    let mut sites = BTreeSet::new();
    for entry in std::fs::read_dir(&output).unwrap() {
        let folder = entry.unwrap().path();
        sites.insert(folder.file_name().unwrap().to_string_lossy().into_owned());
        found.extend(rows(&folder.join("part-0.parquet")).iter().map(as_quad));
    }
    assert_eq!(found, dump(&data, &[]));
    let expected =
        ["host=__HIVE_DEFAULT_PARTITION__", "host=a.example", "host=b.example", "host=sub.b.example"];
    assert_eq!(sites, expected.map(str::to_owned).into());
    let output = run().output().unwrap();
    assert_eq!(output.status.code(), Some(2), "an export was mixed with an older one: {}", stderr(&output));
}

#[test]
fn what_follows_is_kept_apart() {
    let (_folder, data) = store();
    let works = |arguments: &[&str]| {
        let query = "SELECT ?x { ?x a <http://v.example/Work> }";
        let answer = stdout_of(
            webloom().args(["query", query, "--results", "csv", "--data"]).arg(&data).args(arguments),
        );
        answer.lines().count() - 1
    };
    assert_eq!(works(&[]), 0);
    assert_eq!(works(&["--entail", "rdfs"]), 1);
    let output = webloom()
        .args(["query", "ASK {}", "--entail", "rdfs", "--materialized", "--data"])
        .arg(&data)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    for _ in 0..2 {
        stdout_of(webloom().args(["materialize", "--rules", "rdfs", "--data"]).arg(&data));
    }
    assert_eq!(works(&[]), 0);
    assert_eq!(works(&["--entail", "rdfs", "--materialized"]), 1);
    let kept = dump(&data, &["--graph", "urn:webloom:inferred:rdfs"]);
    assert_eq!(
        kept,
        [format!("<http://a.example/x> {A} <http://v.example/Work> <urn:webloom:inferred:rdfs> .")].into()
    );
    assert_eq!(dump(&data, &["--no-inferred", "--no-metadata"]).len(), quads().len() - 1);
    stdout_of(webloom().args(["materialize", "--rules", "rdfs", "--remove", "--data"]).arg(&data));
    assert_eq!(dump(&data, &[]).len(), quads().len());
    let output = webloom().args(["materialize", "--rules", "magic", "--data"]).arg(&data).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}
