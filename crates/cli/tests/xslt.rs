//! `webloom xslt` as people run it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const XSL: &str = r#"xmlns:xsl="http://www.w3.org/1999/XSL/Transform" version="1.0""#;

fn xslt(folder: &Path, arguments: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_webloom"))
        .arg("xslt")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn files_parameters_imports_and_messages() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("a b.xsl"),
        format!(
            r#"<xsl:stylesheet {XSL}><xsl:import href="part.xsl"/><xsl:output method="text"/><xsl:param name="who"/>
            <xsl:template match="/"><xsl:message>working</xsl:message><xsl:call-template name="greet"/><xsl:value-of select="document('more.xml')/m"/></xsl:template></xsl:stylesheet>"#
        ),
    )
    .unwrap();
    fs::write(
        folder.path().join("part.xsl"),
        format!(r#"<xsl:stylesheet {XSL}><xsl:param name="who"/><xsl:template name="greet">Hello <xsl:value-of select="$who"/>, </xsl:template></xsl:stylesheet>"#),
    )
    .unwrap();
    fs::write(folder.path().join("more.xml"), "<m>more</m>").unwrap();
    let done = xslt(folder.path(), &["a b.xsl", "-", "--param", "who=you"], "<x/>");
    assert_eq!((done.status.code(), text(&done.stdout).as_str()), (Some(0), "Hello you, more"));
    assert_eq!(text(&done.stderr), "working\n");
    let done = xslt(folder.path(), &["a b.xsl", "more.xml", "-o", "out.txt"], "");
    assert_eq!((done.status.code(), done.stdout.len()), (Some(0), 0));
    assert_eq!(fs::read_to_string(folder.path().join("out.txt")).unwrap(), "Hello , more");
}

#[test]
fn the_document_names_its_stylesheet() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("s.xsl"),
        format!(
            r#"<out xsl:version="1.0" {}><xsl:value-of select="/x"/></out>"#,
            XSL.replace(" version=\"1.0\"", "")
        ),
    )
    .unwrap();
    fs::write(folder.path().join("d.xml"), r#"<?xml-stylesheet type="text/xsl" href="s.xsl"?><x>y</x>"#)
        .unwrap();
    let done = xslt(folder.path(), &["--associated", "d.xml"], "");
    assert_eq!(text(&done.stdout), "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<out>y</out>");
}

#[test]
fn errors_say_where_and_nothing_comes_from_the_web() {
    let folder = tempfile::tempdir().unwrap();
    let stylesheet = |body: &str| {
        let text = format!(
            "<xsl:stylesheet {XSL}>\n<xsl:template match=\"/\">\n{body}</xsl:template></xsl:stylesheet>"
        );
        fs::write(folder.path().join("s.xsl"), text).unwrap();
    };
    stylesheet(r#"<xsl:message>first</xsl:message><xsl:message terminate="yes">stop</xsl:message>"#);
    let done = xslt(folder.path(), &["s.xsl", "-"], "<x/>");
    assert_eq!(done.status.code(), Some(1));
    let said = text(&done.stderr);
    assert!(
        said.starts_with("first\n") && said.contains("s.xsl:3:") && said.contains("match=\"/\""),
        "{said}"
    );
    stylesheet(r#"<xsl:copy-of select="document('http://127.0.0.1:9/x')"/>"#);
    let done = xslt(folder.path(), &["s.xsl", "-"], "<x/>");
    assert!(text(&done.stderr).contains("nothing from the web"));
    let done = xslt(folder.path(), &["s.xsl"], "");
    assert_eq!(done.status.code(), Some(2));
    let done = xslt(folder.path(), &["s.xsl", "-"], "<x>");
    assert_eq!(done.status.code(), Some(1));
    assert!(text(&done.stderr).contains("not closed"));
}

#[test]
fn what_does_not_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let endless = [
        r#"<xsl:template match="/"><xsl:call-template name="a"/></xsl:template><xsl:template name="a"><xsl:call-template name="a"/></xsl:template>"#,
        r#"<xsl:template match="/" name="a"><xsl:param name="s" select="'x'"/><xsl:call-template name="a"><xsl:with-param name="s" select="concat($s, $s)"/></xsl:call-template></xsl:template>"#,
        r#"<xsl:template match="/" name="a"><x/><xsl:call-template name="a"/></xsl:template>"#,
    ];
    for templates in endless {
        fs::write(folder.path().join("s.xsl"), format!("<xsl:stylesheet {XSL}>{templates}</xsl:stylesheet>"))
            .unwrap();
        let begun = std::time::Instant::now();
        let done = xslt(folder.path(), &["s.xsl", "-"], "<x/>");
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{said}");
        assert!(
            said.contains("s.xsl:1: ") && said.contains("(limit ") && said.contains("--trusted"),
            "{said}"
        );
        // A minute is what it would have with --trusted.
        assert!(begun.elapsed().as_secs() < 30, "{said}");
    }
}
