//! Rules from the command line: `extract --xslt` and `--spec`, the example services, a crawl that uses them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn webloom(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_webloom")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Python, or nothing where there is none; then there is nothing to try.
fn has_python() -> bool {
    Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the example service; its address.
fn image_service() -> (Running, String) {
    let script = root().join("examples/services/image_metadata.py");
    let mut child =
        Command::new("python3").arg(script).args(["--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (Running(child), address.trim().to_owned())
}

/// The example specification with another address for the service, beside the example programs.
fn example_spec(folder: &Path, address: &str) -> PathBuf {
    let examples = root().join("examples/services").canonicalize().unwrap();
    let spec = std::fs::read_to_string(examples.join("crawl.toml")).unwrap();
    assert!(spec.contains("http://127.0.0.1:9001/"));
    let spec = spec
        .replace("http://127.0.0.1:9001/", address)
        .replace("\"./", &format!("\"{}/", examples.display()))
        .replace("\"core-properties.xsl\"", &format!("\"{}/core-properties.xsl\"", examples.display()));
    let file = folder.join("crawl.toml");
    std::fs::write(&file, spec).unwrap();
    file
}

const PDF: &[u8] = b"%PDF-1.4\n1 0 obj << /Title (A \\(small\\) report) /Author <FEFF004A0061006E> /CreationDate (D:20240506070809+02'00') >> endobj\n3 0 obj << /Type /Page >> endobj";

/// A picture of one pixel.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\0\0\0\x0cIDAT\x08\xd7c\xf8\xcf\xc0\0\0\x03\x01\x01\0\x18\xdd\x8d\xb0\0\0\0\0IEND\xaeB`\x82";

/// An office document with nothing in it but its properties: a stored entry of a ZIP file.
fn docx() -> Vec<u8> {
    const NAME: &[u8] = b"docProps/core.xml";
    let properties = r#"<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Minutes</dc:title><dc:creator></dc:creator></cp:coreProperties>"#;
    let body = properties.as_bytes();
    let length = u32::try_from(body.len()).unwrap().to_le_bytes();
    let name_length = u16::try_from(NAME.len()).unwrap().to_le_bytes();
    let fields = [
        &[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &crc32(body).to_le_bytes(),
        &length,
        &length,
        &name_length,
        &[0, 0],
    ]
    .concat();
    let local = [b"PK\x03\x04", &fields[..], NAME, body].concat();
    let central = [b"PK\x01\x02\x14\0", &fields[..], &[0; 14], NAME].concat();
    let sizes = [
        u32::try_from(central.len()).unwrap().to_le_bytes(),
        u32::try_from(local.len()).unwrap().to_le_bytes(),
    ]
    .concat();
    [&local[..], &central, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &sizes, &[0, 0]].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[test]
fn a_stylesheet_for_one_page() {
    let folder = tempfile::tempdir().unwrap();
    let kml = root().join("stylesheets/examples/kml.kml");
    let output = webloom(&[
        "extract",
        kml.to_str().unwrap(),
        "--xslt",
        "shipped:kml-to-rdf.xsl",
        "--only",
        "xslt",
        "--base",
        "http://sea.example/",
    ]);
    assert!(output.status.success());
    assert!(
        text(&output.stdout).contains("http://www.w3.org/2003/01/geo/wgs84_pos#lat"),
        "{}",
        text(&output.stderr)
    );
    // A stylesheet that is wrong is wrong usage, and named.
    let wrong = folder.path().join("wrong.xsl");
    std::fs::write(&wrong, "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:nonsense/></xsl:stylesheet>").unwrap();
    let output = webloom(&["extract", kml.to_str().unwrap(), "--xslt", wrong.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("rule `--xslt`"), "{}", text(&output.stderr));
}

#[test]
fn the_example_services_answer() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_service, address) = image_service();
    let spec = example_spec(folder.path(), &address);
    for (name, bytes, expected) in [
        ("a.png", PNG.to_vec(), "<http://www.w3.org/2003/12/exif/ns#width> \"1\""),
        ("a.pdf", PDF.to_vec(), "<http://purl.org/dc/terms/title> \"A (small) report\""),
        ("a.docx", docx(), "<http://purl.org/dc/terms/title> \"Minutes\""),
    ] {
        let file = folder.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let base = format!("http://sea.example/{name}");
        let output = webloom(&[
            "extract",
            file.to_str().unwrap(),
            "--spec",
            spec.to_str().unwrap(),
            "--only",
            "xslt",
            "--base",
            &base,
        ]);
        let said = text(&output.stdout);
        assert!(said.contains(&format!("<{base}> {expected}")), "{name}: {said} {}", text(&output.stderr));
    }
    // What is none is refused, and the page is there all the same.
    let file = folder.path().join("b.pdf");
    std::fs::write(&file, b"%PNG- no PDF").unwrap();
    let output = webloom(&[
        "extract",
        file.to_str().unwrap(),
        "--spec",
        spec.to_str().unwrap(),
        "--content-type",
        "application/pdf",
    ]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("it is no PDF [service-refused]"), "{}", text(&output.stderr));
}

fn web(request: &Request) -> Answer {
    match request.path() {
        "/" => {
            Answer::html("<a href=/a.png>picture</a> <a href=/a.pdf>report</a> <a href=/a.docx>minutes</a>")
        }
        "/a.png" => Answer::new("image/png", PNG),
        "/a.pdf" => Answer::new("application/pdf", PDF),
        "/a.docx" => Answer::new("application/octet-stream", docx()),
        _ => Answer::not_found(),
    }
}

#[test]
fn a_crawl_asks_the_example_services() {
    if !has_python() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_service, address) = image_service();
    let spec = example_spec(folder.path(), &address);
    let server = WebServer::start_blocking(web, ServerOptions::default()).unwrap();
    let data = folder.path().join("data");
    let output = webloom(&[
        "crawl",
        "http://sea.example/",
        "--spec",
        spec.to_str().unwrap(),
        "--data",
        data.to_str().unwrap(),
        "--allow-private",
        "--resolve",
        &server.resolve_rule(),
        "--delay",
        "0s",
        "--quiet",
        "--json",
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let services = summary["run"]["services"].as_array().unwrap();
    let answered = |label: &str| {
        let service = services.iter().find(|service| service["service"] == label).unwrap();
        (service["asked"].as_u64().unwrap(), service["answered"].as_u64().unwrap())
    };
    for label in ["service images", "command pdf", "command office"] {
        assert_eq!(answered(label), (1, 1), "{summary:#}");
    }
    let output = webloom(&["dump", "--data", data.to_str().unwrap()]);
    let said = text(&output.stdout);
    for expected in
        ["\"A (small) report\"", "\"Minutes\"", "exif/ns#width", "\"stylesheet core-properties.xsl\""]
    {
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
