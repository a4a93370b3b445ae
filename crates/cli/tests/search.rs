//! `search` through the command: for people, as JSON, narrowed, literal by literal.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use support::{stderr, stdout_of, webloom};

const QUADS: &str = "\
<http://a.example/#ann> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://schema.org/Person> <http://www.a.example/1> .
<http://a.example/#ann> <http://schema.org/name> \"Ann Harbour\" <http://www.a.example/1> .
<http://a.example/#ann> <http://schema.org/description> \"paints the old \\u001B[31mharbour\"@en <http://www.a.example/1> .
<http://b.example/#cafe> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://schema.org/Cafe> <http://b.example/x> .
<http://b.example/#cafe> <http://schema.org/name> \"Blue Harbour\" <http://b.example/x> .
<http://b.example/#cafe> <http://schema.org/description> \"Kaffee am Hafen\"@de <http://b.example/x> .
";

#[test]
fn things_are_searched_narrowed_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("in.nq"));
    std::fs::write(&file, QUADS).unwrap();
    stdout_of(webloom().arg("load").arg(&file).arg("--data").arg(&data));
    let search =
        |arguments: &[&str]| stdout_of(webloom().arg("search").args(arguments).arg("--data").arg(&data));

    let shown = search(&["harbour"]);
    for expected in [
        "Ann Harbour",
        "http://b.example/#cafe",
        "on http://www.a.example/1",
        "1 to 2 of 2 things",
        "a.example 1",
    ] {
        assert!(shown.contains(expected), "{expected} is not in\n{shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");

    for (arguments, expected) in [
        (&["harbour", "--type", "person"][..], "http://a.example/#ann"),
        (&["harbour", "--type", "schema:Cafe"], "http://b.example/#cafe"),
        (&["harbour", "--site", "b.example"], "http://b.example/#cafe"),
        (&["harbour", "--language", "de"], "http://b.example/#cafe"),
        (&["blue", "harb", "--prefix"], "http://b.example/#cafe"),
        (
            &["harbour", "--vocabulary", "schema", "--limit", "1", "--offset", "0", "--type", "Cafe"],
            "http://b.example/#cafe",
        ),
    ] {
        let mut arguments = arguments.to_vec();
        arguments.push("--json");
        let found: serde_json::Value = serde_json::from_str(&search(&arguments)).unwrap();
        assert_eq!(found["results"].as_array().unwrap().len(), 1, "{arguments:?}: {found}");
        assert_eq!(found["results"][0]["iri"], expected, "{arguments:?}");
        for key in ["query", "total", "total_is_exact", "milliseconds", "suggestion", "facets"] {
            assert!(!found[key].is_null() || key == "suggestion", "{key} is missing");
        }
    }

    let literals = search(&["hafen", "--literals"]);
    assert!(
        literals.contains("Kaffee am Hafen") && literals.contains("http://schema.org/description"),
        "{literals}"
    );

    let output = webloom().args(["search", "harbuor", "--data"]).arg(&data).output().unwrap();
    assert!(stderr(&output).contains("harbour"), "{}", stderr(&output));
    let output = webloom().args(["search", "xylophone", "--data"]).arg(&data).output().unwrap();
    assert!(output.status.success());
    assert!(output.stdout.is_empty());
    assert!(stderr(&output).contains("nothing found"));
}
