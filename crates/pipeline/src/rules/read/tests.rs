//! Rules that are wrong, and what is said of them; rules that are right.

use expect_test::{Expect, expect};

use crate::spec::CrawlSpec;

/// Rules that are wrong, and what is said of them.
#[track_caller]
fn check(rules: &str, expected: Expect) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("broken.xsl"), "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'>\n<xsl:template match='['/></xsl:stylesheet>").unwrap();
    std::fs::write(
        folder.path().join("fine.xsl"),
        "<a xmlns:xsl='http://www.w3.org/1999/XSL/Transform' xsl:version='1.0'/>",
    )
    .unwrap();
    let mut raw = crate::RawSpec::parse(rules).unwrap();
    raw.resolve_paths(folder.path());
    let said = match raw.check() {
        Ok(_) => "fine".to_owned(),
        Err(problems) => problems.to_string(),
    };
    let path = folder.path().canonicalize().unwrap();
    let said =
        said.replace(&*path.to_string_lossy(), "DIR").replace(&*folder.path().to_string_lossy(), "DIR");
    expected.assert_eq(&said.replace("`transform.rules`: ", ""));
}

#[test]
fn every_mistake_is_told_with_the_rules_name() {
    check(
        r#"
        [[transform.rules]]
        name = "none"
        type = "xml"
        [[transform.rules]]
        name = "both"
        type = "xml"
        stylesheet = "fine.xsl"
        service = "http://127.0.0.1:9000/"
        [[transform.rules]]
        name = "absent"
        root = "a:b"
        type = "spreadsheet"
        media_type = "image"
        url = "("
        stylesheet = "absent.xsl"
        [[transform.rules]]
        type = "xml"
        stylesheet = "broken.xsl"
        [[transform.rules]]
        name = "lonely"
        stylesheet = "fine.xsl"
        [[transform.rules]]
        name = "late"
        type = "xml"
        stylesheet = "fine.xsl"
        timeout = "1s"
        [[transform.rules]]
        name = "round"
        type = "xml"
        stylesheet = "fine.xsl"
        then = "round"
        [[transform.rules]]
        name = "nowhere"
        type = "xml"
        stylesheet = "fine.xsl"
        output = "html"
        then = "else"
        [[transform.rules]]
        name = "service"
        type = "image"
        service = ["ftp://a.example/"]
        timeout = "soon"
        in_flight = 0
        sheet = "fine.xsl"
        [[transform.rules]]
        name = "command"
        type = "image"
        command = ["no-such-program-anywhere"]
        "#,
        expect![[r#"
            rule `none`: say what to do: `stylesheet`, `service`, `command` or `grddl = true`
            rule `both`: one rule does one thing; put the other in a rule of its own and name it in `then`
            rule `absent`: `root`: `a:b` is no name of an element; write "kml" or "{http://namespace}kml"
            rule `absent`: `type`: `spreadsheet` is no detected type; known are html, xhtml, xml, rss, atom, rdf-xml, turtle, trig, n-triples, n-quads, json-ld, json-feed, opml, sitemap, svg, wsdl, vcard, icalendar, csv, image, unknown
            rule `absent`: `media_type`: `image` is no media type; write one such as "application/pdf" or "image/*"
            rule `absent`: `url`: `(` is no regular expression: unclosed group
            rule `absent`: cannot read `DIR/absent.xsl`: No such file or directory (os error 2)
            rule `number 4`: file://DIR/broken.xsl:2: cannot read the expression `[`: `[` is not expected
            rule `late`: `timeout` belongs to a service or a command
            rule `nowhere`: `output`: `html` is no syntax of RDF; known are rdf-xml, turtle, n-triples, n-quads, trig, json-ld
            rule `service`: a rule has no field `sheet`; it has name, type, media_type, root, namespace, url, always, stylesheet, params, documents, service, command, grddl, output, then, in_flight, waiting_max, waiting_bytes_max, when_full, timeout, attempts, answer_bytes_max, breaker_failures, breaker_pause
            rule `service`: `ftp://a.example/` is no address of a service; write one such as http://127.0.0.1:9000/
            rule `service`: `timeout`: "soon" is not valid; write a duration such as "500ms", "1s" or "2m"
            rule `service`: `in_flight`: 0 is not valid; write a whole number, 1 or more
            rule `command`: there is no program `no-such-program-anywhere`
            rule `lonely`: no page fits it; give it a `type`, `media_type`, `root`, `namespace` or `url`, write `always = true`, or name it in another rule's `then`
            rule `round`: `then` goes in a circle by `round`
            rule `nowhere`: `then` names `else`, and there is no such rule"#]],
    );
}

#[test]
fn rules_that_are_right() {
    check(
        r#"
        [[transform.rules]]
        name = "chain"
        always = true
        service = ["http://127.0.0.1:9000/a?u={url}", "https://a.example/"]
        in_flight = 2
        timeout = "5s"
        answer_bytes_max = "1 MiB"
        when_full = "wait"
        then = ["step", "named"]
        [[transform.rules]]
        name = "step"
        stylesheet = "fine.xsl"
        documents = ["fine.xsl", "http://a.example/codes=fine.xsl"]
        params = { a = "b", c = 3 }
        [[transform.rules]]
        name = "named"
        grddl = true
        [[transform.rules]]
        name = "shipped"
        root = ["kml", "{http://a.example/}x"]
        stylesheet = "shipped:kml-to-rdf.xsl"
        "#,
        expect!["fine"],
    );
}

#[test]
fn what_was_written_can_be_read_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("a.xsl"),
        "<a xmlns:xsl='http://www.w3.org/1999/XSL/Transform' xsl:version='1.0'/>",
    )
    .unwrap();
    let mut raw =
        crate::RawSpec::parse("[[transform.rules]]\nname = \"a\"\ntype = \"xml\"\nstylesheet = \"a.xsl\"\n")
            .unwrap();
    raw.resolve_paths(folder.path());
    let written = raw.check().unwrap().written();
    assert!(CrawlSpec::from_toml(&written).is_ok(), "{written}");
}
