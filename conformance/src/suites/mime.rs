//! MIME types: how they are parsed, written, grouped and made one of many names; and what a few bodies are.

use std::path::Path;

use anyhow::Context;
use serde_json::Value;
use webloom_detect::detect_bytes;
use webloom_detect::mime::MimeType;

use crate::Outcome;

/// Runs the folder `wpt/mimesniff`.
pub fn run(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = folder.join("wpt/mimesniff");
    let mut outcomes = Vec::new();
    for (file, group, check) in [
        ("mime-types.json", "mime parsing", check_parsing as fn(&Value) -> Result<(), String>),
        ("generated-mime-types.json", "mime parsing", check_parsing),
        ("mime-types-minimized.json", "mime names", check_minimized),
        ("mime-groups.json", "mime groups", check_groups),
    ] {
        let text = std::fs::read_to_string(folder.join("mime-types/resources").join(file)).context(file)?;
        let cases: Value = serde_json::from_str(&text)?;
        // What is no object is a heading.
        for case in cases.as_array().into_iter().flatten().filter(|case| case.is_object()) {
            let id = format!("{file} {}", case["input"]);
            outcomes.push(Outcome { group: group.to_owned(), id, result: check(case) });
        }
    }
    // The suite has no expectations beside these files. To the standard, binary data in a text is
    // `application/octet-stream`, so that no browser runs it; we run nothing, and name it by its signature.
    for (file, content_type, kind, media_type) in [
        ("resources/binary-data.bin", Some("text/plain"), "unknown", "application/zip"),
        ("resources/png-image.png", Some("text/plain"), "image", "image/png"),
        ("support/html-comment", None, "html", "text/html"),
        ("support/html-comment", Some("text/html"), "html", "text/html"),
    ] {
        let body = std::fs::read(folder.join("sniffing").join(file)).context(file)?;
        let detection = detect_bytes(None, content_type, &body);
        let result = expect(&(kind, media_type), &(detection.kind.as_str(), detection.media_type.as_str()));
        outcomes.push(Outcome {
            group: "mime sniffing".to_owned(),
            id: format!("{file} {content_type:?}"),
            result,
        });
    }
    Ok(outcomes)
}

fn input(case: &Value) -> Option<MimeType> {
    MimeType::parse(case["input"].as_str().unwrap_or_default())
}

fn check_parsing(case: &Value) -> Result<(), String> {
    let mime = input(case);
    let written = mime.as_ref().map(ToString::to_string);
    expect(&case["output"].as_str(), &written.as_deref())?;
    if let Some(expected) = case.get("encoding") {
        let encoding = mime.as_ref().and_then(|mime| Some(mime.encoding()?.name()));
        expect(&expected.as_str(), &encoding)?;
    }
    if let Some(expected) = case.get("minimizedMIMEType").and_then(Value::as_str) {
        expect(&expected, &minimized(mime.as_ref()))?;
    }
    Ok(())
}

/// The one name of a type; empty for what is none, or not known.
fn minimized(mime: Option<&MimeType>) -> &str {
    mime.and_then(MimeType::minimized).unwrap_or_default()
}

fn check_minimized(case: &Value) -> Result<(), String> {
    let mime = input(case);
    expect(&case["output"].as_str().unwrap_or_default(), &minimized(mime.as_ref()))
}

fn check_groups(case: &Value) -> Result<(), String> {
    type Group = (&'static str, fn(&MimeType) -> bool);
    const GROUPS: [Group; 10] = [
        ("image", MimeType::is_image),
        ("audio or video", MimeType::is_audio_or_video),
        ("font", MimeType::is_font),
        ("ZIP-based", MimeType::is_zip),
        ("archive", MimeType::is_archive),
        ("XML", MimeType::is_xml),
        ("HTML", MimeType::is_html),
        ("scriptable", MimeType::is_scriptable),
        ("JavaScript", MimeType::is_javascript),
        ("JSON", MimeType::is_json),
    ];
    let Some(mime) = input(case) else { return Err("is no MIME type".to_owned()) };
    let expected: Vec<&str> =
        case["groups"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for name in &expected {
        if GROUPS.iter().all(|(known, _)| known != name) {
            return Err(format!("`{name}` is no group we know"));
        }
    }
    for (name, is_member) in GROUPS {
        expect(&(name, expected.contains(&name)), &(name, is_member(&mime)))?;
    }
    Ok(())
}

fn expect<T: PartialEq + std::fmt::Debug>(expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("expected {expected:?}, got {got:?}")) }
}
