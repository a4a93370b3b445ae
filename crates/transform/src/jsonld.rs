//! JSON-LD 1.1: documents, and `<script type="application/ld+json">` blocks in HTML.
//!
//! In: the text of a block. Out: quads, in a [`Sink`]. A block goes through [`json`] (a table of its values),
//! [`expand`] (every name an IRI, with the help of [`context`]) and [`rdf`] (quads). Every block stands
//! alone, and a mistake costs the property it is in; a block whose context cannot be had is left out, because
//! without it it says something else than its author meant. [`to_rdf`] is the same for those who want errors
//! instead. Start at `read_block`.

mod bundled;
mod canonical;
mod context;
mod error;
mod expand;
mod expanded;
mod json;
mod names;
mod rdf;
mod repair;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use html5ever::local_name;
use oxrdf::Quad;
use webloom_model::{Diagnostic, PageUrl};

use self::context::load::Loader;
use self::context::process::{Contexts, Tolerance};
use self::context::{ActiveContext, Base};
pub use self::error::ErrorCode;
use self::error::{Problem, Result};
use self::expand::{Active, Expander};
use self::expanded::{Expansion, Item};
use self::json::{Document, SyntaxError, Value};
use self::rdf::Writer;
use crate::dom::Dom;
use crate::html::ParsedPage;
use crate::{Limits, Sink, TransformConfig};

/// Nesting that is read, whatever the limits allow: expansion recurses.
const DEPTH_MAX: usize = 128;

/// How the base direction of a text is said in RDF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RdfDirection {
    /// As part of the literal's datatype.
    I18nDatatype,
    /// By a blank node with value, language and direction.
    CompoundLiteral,
}

/// The options of the JSON-LD API that matter for [`to_rdf`].
#[derive(Debug, Clone, Default)]
pub struct JsonLdOptions {
    /// Overrides the document's URL as the base of its references.
    pub base: Option<String>,
    /// A context document to begin with.
    pub expand_context: Option<String>,
    /// Read it by the rules of JSON-LD 1.0.
    pub processing_mode_1_0: bool,
    /// What becomes of base directions. Without this they are dropped.
    pub rdf_direction: Option<RdfDirection>,
}

/// Why a document is not JSON-LD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonLdError {
    /// The specification's name for it.
    pub code: ErrorCode,
    /// A sentence that names the thing.
    pub message: String,
    /// Line in the document, from 1, where it is known.
    pub line: Option<u64>,
}

impl fmt::Display for JsonLdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{} [{}]", self.message, self.code)
    }
}

impl std::error::Error for JsonLdError {}

/// The quads of a document, or the first thing that is wrong with it.
///
/// This is the `toRdf` of the JSON-LD API. Pages are read by [`crate::transform`], which goes on after mistakes.
pub fn to_rdf(
    url: &str,
    text: &str,
    options: &JsonLdOptions,
    config: &TransformConfig,
) -> std::result::Result<Vec<Quad>, JsonLdError> {
    let problem = |code, message: String, line| JsonLdError { code, message, line };
    let limits = &config.limits;
    let document = match Document::parse(text, limits.json_depth_max.min(DEPTH_MAX)) {
        Ok(document) => Arc::new(document),
        Err(error) => {
            let line = newlines(&text[..error.position]) + 1;
            return Err(problem(ErrorCode::LoadingDocumentFailed, error.message, Some(line)));
        }
    };
    let mut processor = Processor {
        document: &document,
        url: Base::parse(url),
        options,
        tolerance: Tolerance::Strict,
        limits,
        deadline: Instant::now() + limits.time_max,
        report: Report::default(),
    };
    processor.run(config).map_err(|found| {
        let line = found.position_in(&document).map(|position| document.lines_before(position) + 1);
        problem(found.code, found.detail, line)
    })
}

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
    let document = match parse(text, line, sink) {
        Ok(document) => Arc::new(document),
        Err(diagnostic) => return sink.diagnose(diagnostic),
    };
    let options = JsonLdOptions::default();
    let mut processor = Processor {
        document: &document,
        url: Base::parse(base.as_str()),
        options: &options,
        tolerance: Tolerance::Lenient,
        limits,
        deadline: sink.deadline(),
        report: Report::default(),
    };
    let result = processor.run(sink.config());
    let report = processor.report;
    report.missing.iter().for_each(|iri| sink.miss(iri));
    let line_of = |problem: &Problem| {
        line + problem.position_in(&document).map_or(0, |position| document.lines_before(position))
    };
    match result {
        Ok(quads) => {
            sink.begin_block();
            for quad in quads {
                if !sink.push(quad) {
                    break;
                }
            }
        }
        Err(problem) => {
            let message = format!("{}, block left out", problem.detail);
            sink.diagnose(Diagnostic::error(problem.code.diagnostic(), message).at_line(line_of(&problem)));
        }
    }
    for problem in &report.problems {
        let diagnostic = Diagnostic::warning(problem.code.diagnostic(), problem.detail.clone());
        sink.diagnose(diagnostic.at_line(line_of(problem)));
    }
    if report.problems_dropped > 0 {
        let message = format!("{} more mistakes", report.problems_dropped);
        sink.diagnose(Diagnostic::warning("json-ld-invalid", message).at_line(line));
    }
    if let Some((first, count)) = report.ill_formed {
        let others = if count > 1 { format!(", nor are {} others", count - 1) } else { String::new() };
        let message = format!("{first} is no IRI or language tag{others}; what it is in was left out");
        sink.diagnose(Diagnostic::note("json-ld-ill-formed", message).at_line(line));
    }
}

/// The document of a text, mended where that is needed and can be done.
fn parse(text: &str, line: u64, sink: &mut Sink<'_>) -> std::result::Result<Document, Diagnostic> {
    let depth_max = sink.limits().json_depth_max.min(DEPTH_MAX);
    let failed = |error: SyntaxError| {
        let at = line + newlines(&text[..error.position]);
        if error.too_deep {
            return Diagnostic::error("json-ld-too-deep", format!("JSON is {}", error.message)).at_line(at);
        }
        let message = format!("broken JSON, block left out: {}", error.message);
        Diagnostic::error("json-ld-syntax", message).at_line(at)
    };
    // A string that holds the JSON is valid, and says nothing.
    let is_string = text.starts_with(['"', '\'']);
    let error = match Document::parse(text, depth_max) {
        Ok(_) if is_string => {
            SyntaxError { message: "a string instead of an object".to_owned(), position: 0, too_deep: false }
        }
        Ok(document) => return Ok(document),
        Err(error) if error.too_deep => return Err(failed(error)),
        Err(error) => error,
    };
    let Some(repaired) = repair::repair(text) else { return Err(failed(error)) };
    if repaired.text.len() > sink.limits().json_bytes_max {
        return Err(failed(error));
    }
    let Ok(document) = Document::parse(&repaired.text, depth_max) else { return Err(failed(error)) };
    let at = line + newlines(&text[..error.position]);
    let message = format!("broken JSON, repaired: {}", repaired.done.join(", "));
    sink.diagnose(Diagnostic::warning("json-ld-repaired", message).at_line(at));
    Ok(document)
}

/// What was found beside quads.
#[derive(Debug, Default)]
struct Report {
    problems: Vec<Problem>,
    problems_dropped: usize,
    /// Contexts that could not be had.
    missing: Vec<String>,
    /// The first thing left out because it is not well-formed, and how many there were.
    ill_formed: Option<(String, usize)>,
}

/// One document on its way to quads.
struct Processor<'p> {
    document: &'p Arc<Document>,
    url: Option<Base>,
    options: &'p JsonLdOptions,
    tolerance: Tolerance,
    limits: &'p Limits,
    deadline: Instant,
    report: Report,
}

impl Processor<'_> {
    fn run(&mut self, config: &TransformConfig) -> Result<Vec<Quad>> {
        let base = match &self.options.base {
            Some(base) => Base::parse(base.as_str()),
            None => self.url.clone(),
        };
        let depth_max = self.limits.json_depth_max.min(DEPTH_MAX);
        let loader = Loader::new(config.contexts.as_ref(), self.limits, depth_max);
        let is_1_0 = self.options.processing_mode_1_0;
        let contexts = Contexts::new(loader, base.clone(), self.tolerance, is_1_0, self.deadline);
        let bytes_left = self.limits.term_bytes_max.saturating_add(self.document.len());
        let mut expander = Expander { contexts, document_base: self.url.clone(), bytes_left };
        let result = self.run_with(&mut expander, base, depth_max);
        self.report.problems = std::mem::take(&mut expander.contexts.problems);
        self.report.problems_dropped = expander.contexts.problems_dropped;
        self.report.missing = std::mem::take(&mut expander.contexts.loader.missing);
        result
    }

    fn run_with(
        &mut self,
        expander: &mut Expander<'_>,
        base: Option<Base>,
        depth_max: usize,
    ) -> Result<Vec<Quad>> {
        let mut context = Arc::new(ActiveContext::initial(base));
        if let Some(text) = &self.options.expand_context {
            let document = match Document::parse(text, depth_max) {
                Ok(document) => Arc::new(document),
                Err(error) => return Err(Problem::new(ErrorCode::InvalidLocalContext, error.message)),
            };
            let root = Value::root(&document);
            let local = root.as_object().and_then(|object| object.get("@context")).unwrap_or(root);
            let url = expander.document_base.clone();
            context = expander.contexts.process(&context, local, url.as_ref())?;
        }
        let root = Value::root(self.document);
        let items = match expander.expand(&context, Active::Top, root, false)? {
            // An object that is only a graph is the default graph.
            Expansion::One(Item::Node(mut node)) if node.id.is_none() && node.is_graph_object() => {
                node.graph.take().unwrap_or_default()
            }
            expansion => expansion.into_items(),
        };
        let mut writer =
            Writer::new(self.options.rdf_direction, self.limits.quads_max, self.limits.term_bytes_max);
        let quads = writer.write(items, || expander.contexts.look())?;
        if let Some(conflict) = writer.conflict.take() {
            expander.contexts.tolerate(conflict)?;
        }
        self.report.ill_formed = writer.ill_formed.take();
        Ok(quads)
    }
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
mod tests;
