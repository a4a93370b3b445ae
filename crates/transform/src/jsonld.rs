//! JSON-LD: documents, and `<script type="application/ld+json">` blocks in HTML.
//!
//! The processor is Oxigraph's. It recurses with the nesting of the JSON, copies its contexts, and
//! answers a whole object at once, so nothing reaches it that [`scan`] has not counted first; contexts
//! it asks for come from [`contexts`], pruned to what the block uses. Every block stands alone: a
//! broken one costs only itself.

mod bundled;
mod contexts;
mod repair;
mod scan;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use html5ever::local_name;
use oxjsonld::{JsonLdErrorCode, JsonLdParseError, JsonLdParser, JsonLdRemoteDocument};
use oxrdf::Quad;
use webloom_model::{Diagnostic, PageUrl};

use self::contexts::Contexts;
use self::repair::repair;
use self::scan::Scan;
use crate::Sink;
use crate::dom::Dom;
use crate::guard::DeadlineReader;
use crate::html::ParsedPage;
use crate::rdf::lower_first;

/// Different mistakes of one block that are collected.
const MISTAKES_MAX: usize = 200;

/// Reads a JSON-LD document.
pub(crate) fn read_document(url: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    read_block(url, text, 1, sink);
}

/// Reads the JSON-LD blocks of an HTML page.
pub(crate) fn read_html(page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
    // Pages that put themselves together have their blocks in templates, which are trees of their own.
    let mut trees = vec![Dom::ROOT];
    while let Some(tree) = trees.pop() {
        for (id, element) in page.dom.elements(tree) {
            trees.extend(element.template);
            let is_block = element.name.local == local_name!("script")
                && element.attribute(&local_name!("type")).is_some_and(is_json_ld);
            if is_block {
                let text = page.dom.text(id);
                read_block(&page.base, &text, u64::from(page.dom.node(id).line), sink);
            }
        }
    }
}

/// True for `application/ld+json`, with or without parameters, and for how it is often mistyped.
fn is_json_ld(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default();
    let plain =
        essence.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| byte.to_ascii_lowercase());
    plain.clone().eq(*b"application/ld+json") || plain.eq(*b"application/json+ld")
}

/// Reads one block; `line` is where it begins.
fn read_block(base: &PageUrl, text: &str, line: u64, sink: &mut Sink<'_>) {
    let (text, line) = unwrap(text, line);
    if text.is_empty() {
        return;
    }
    let limits = sink.limits();
    if text.len() > limits.json_bytes_max {
        let message = format!("a block of {} bytes is larger than {}", text.len(), limits.json_bytes_max);
        return sink.diagnose(Diagnostic::error("json-ld-too-large", message).at_line(line));
    }
    // A string that holds the JSON is valid, and says nothing.
    let broken = if text.starts_with(['"', '\'']) {
        Diagnostic::error("json-ld-syntax", "a string instead of an object").at_line(line)
    } else {
        match read_json(base, text, line, sink) {
            Ok(()) => return,
            Err(diagnostic) => diagnostic,
        }
    };
    if broken.code != "json-ld-syntax" {
        return sink.diagnose(broken);
    }
    let Some(repaired) = repair(text) else { return sink.diagnose(broken) };
    let message = format!("broken JSON, repaired: {}", repaired.done.join(", "));
    sink.diagnose(Diagnostic::warning("json-ld-repaired", message).at_line(broken.line.unwrap_or(line)));
    if let Err(diagnostic) = read_json(base, &repaired.text, line, sink) {
        sink.diagnose(diagnostic);
    }
}

/// Reads one block of JSON; nothing of it is kept when it is broken.
fn read_json(base: &PageUrl, text: &str, line: u64, sink: &mut Sink<'_>) -> Result<(), Diagnostic> {
    let limits = sink.limits();
    let mut scan = Scan::of(text, limits.json_depth_max).map_err(|too_deep| {
        let message = format!("JSON is nested deeper than {}", limits.json_depth_max);
        let at = line + newlines(&text[..too_deep.offset]);
        Diagnostic::error("json-ld-too-deep", message).at_line(at)
    })?;
    let contexts = Contexts::collect(&mut scan, base, sink.config());
    if let Some(missing) = contexts.unusable() {
        missing.iter().for_each(|iri| sink.miss(iri));
        let message = format!("the context <{}> is not known, block left out", missing[0]);
        return Err(Diagnostic::error("json-ld-context", message).at_line(line));
    }
    scan.check_cost(base)
        .map_err(|problem| Diagnostic::error("json-ld-too-costly", problem).at_line(line))?;
    let quads = parse(base, text, contexts, line, sink)?;
    sink.begin_block();
    for quad in quads {
        if !sink.push(quad) {
            break;
        }
    }
    Ok(())
}

/// The quads of a block, or what makes all of it unusable. Lesser mistakes go to the sink.
fn parse(
    base: &PageUrl,
    text: &str,
    contexts: Contexts,
    line: u64,
    sink: &mut Sink<'_>,
) -> Result<Vec<Quad>, Diagnostic> {
    let missing: Arc<Mutex<Vec<String>>> = Arc::default();
    let reports = Arc::clone(&missing);
    let parser = JsonLdParser::new()
        .with_base_iri(base.as_str())
        .unwrap_or_default()
        .for_reader(DeadlineReader::new(text, sink.deadline()))
        .with_load_document_callback(move |iri, _| match contexts.document(iri) {
            Some(document) => {
                Ok(JsonLdRemoteDocument { document: document.into_bytes(), document_url: iri.to_owned() })
            }
            None => {
                if let Ok(mut missing) = reports.lock() {
                    missing.push(iri.to_owned());
                }
                Err("not known".into())
            }
        });
    let quads_max = sink.limits().quads_max;
    let mut quads = Vec::new();
    // In the order of the alphabet: the processor goes through contexts in a different order every time.
    let mut mistakes = BTreeSet::new();
    let mut broken_context = None;
    for quad in parser {
        match quad {
            Ok(quad) => {
                // One more than fits, so that the sink says what is missing.
                if quads.len() > quads_max {
                    break;
                }
                quads.push(quad);
            }
            Err(JsonLdParseError::Io(_)) => {
                let message = "reading took too long; the block was left out";
                return Err(Diagnostic::error("json-ld-cut", message).at_line(line));
            }
            Err(JsonLdParseError::Syntax(error)) => {
                if let Some(location) = error.location() {
                    // Half an object is not half the truth, so nothing of broken JSON is kept.
                    let reason = error.to_string();
                    // The parser counts lines from the block's first; ours are the page's.
                    let reason = reason.split_once(": ").map_or(reason.as_str(), |(_, reason)| reason);
                    let message = format!("broken JSON, block left out: {reason}");
                    return Err(
                        Diagnostic::error("json-ld-syntax", message).at_line(line + location.start.line)
                    );
                }
                let mistake = lower_first(&error.to_string());
                if error.code().is_some_and(is_about_contexts) {
                    broken_context.get_or_insert(mistake);
                } else if mistakes.len() < MISTAKES_MAX {
                    mistakes.insert(mistake);
                }
            }
        }
    }
    // Without its context a block says something else than its author meant.
    let missing = missing.lock().map(|missing| missing.clone()).unwrap_or_default();
    missing.iter().for_each(|iri| sink.miss(iri));
    if let Some(iri) = missing.first() {
        let message = format!("the context <{iri}> is not known, block left out");
        return Err(Diagnostic::error("json-ld-context", message).at_line(line));
    }
    if let Some(mistake) = broken_context {
        let message = format!("a context cannot be used, block left out: {mistake}");
        return Err(Diagnostic::error("json-ld-context", message).at_line(line));
    }
    for mistake in mistakes {
        sink.diagnose(Diagnostic::warning("json-ld-invalid", mistake).at_line(line));
    }
    Ok(quads)
}

/// Mistakes that leave a block without the context it was written for.
fn is_about_contexts(code: JsonLdErrorCode) -> bool {
    matches!(
        code,
        JsonLdErrorCode::ContextOverflow
            | JsonLdErrorCode::InvalidRemoteContext
            | JsonLdErrorCode::LoadingDocumentFailed
            | JsonLdErrorCode::LoadingRemoteContextFailed
    )
}

/// Takes off what pages put around their JSON to hide it from old browsers and XML parsers.
fn unwrap(text: &str, line: u64) -> (&str, u64) {
    const OPENERS: &[&str] = &["/*<![CDATA[*/", "//<![CDATA[", "<![CDATA[", "<!--", "//"];
    const CLOSERS: &[&str] = &["/*]]>*/", "//]]>", "]]>", "//-->", "-->", "//"];
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{feff}';
    let mut inner = text;
    loop {
        let trimmed = inner.trim_matches(is_space);
        let opened = OPENERS.iter().find_map(|opener| trimmed.strip_prefix(opener)).unwrap_or(trimmed);
        let closed = CLOSERS.iter().find_map(|closer| opened.strip_suffix(closer)).unwrap_or(opened);
        if closed.len() == inner.len() {
            break;
        }
        inner = closed;
    }
    let before = inner.as_ptr() as usize - text.as_ptr() as usize;
    (inner, line + newlines(&text[..before]))
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappings_come_off() {
        for (given, expected) in [
            ("{}", ("{}", 1)),
            ("\n\n {} \n", ("{}", 3)),
            ("\u{feff}{}", ("{}", 1)),
            ("<!--\n{}\n-->", ("{}", 2)),
            ("//<![CDATA[\n{}\n//]]>", ("{}", 2)),
            ("/*<![CDATA[*/{}/*]]>*/", ("{}", 1)),
            ("<![CDATA[{\"a\":\"//\"}]]>", ("{\"a\":\"//\"}", 1)),
            ("// <!--\n[]\n// -->", ("[]", 2)),
            ("", ("", 1)),
            ("<!---->", ("", 1)),
        ] {
            assert_eq!(unwrap(given, 1), expected, "{given}");
        }
    }
}
