//! Documents that are RDF already: Turtle, TriG, N-Triples, N-Quads, RDF/XML.
//!
//! The parsers are Oxigraph's, strict and able to go on after a mistake: what parses is kept, what
//! does not is a diagnostic with its line. In N-Triples and N-Quads a mistake costs its line and no other. RDF/XML goes through [`xml_guard`] first, because its
//! parser expands entities without bound and compares every attribute with every other.

mod canonical;
mod nesting;
mod xml_guard;

use std::io::Read;
use std::time::Instant;

use oxrdf::vocab::rdf;
use oxrdf::{GraphName, Literal, Quad, Term, Triple};
use oxrdfxml::{RdfXmlParseError, RdfXmlParser};
use oxttl::{NQuadsParser, NTriplesParser, TriGParser, TurtleParser, TurtleSyntaxError};
use webloom_model::{Diagnostic, PageUrl};

use crate::Sink;
use crate::guard::DeadlineReader;

/// Statements between two looks at the clock.
const STATEMENTS_PER_LOOK: usize = 1024;
/// Mistakes after which a document is given up.
const MISTAKES_MAX: usize = 1000;

/// Reads Turtle.
pub(crate) fn read_turtle(base: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    if let Some(diagnostic) = nesting::refuse(text, "turtle-too-deep") {
        return sink.diagnose(diagnostic);
    }
    let parser = TurtleParser::new().with_base_iri(base.as_str()).unwrap_or_default();
    read_statements(parser.for_slice(text).map(|triple| triple.map(in_default_graph)), "turtle-syntax", sink);
}

/// Reads TriG.
pub(crate) fn read_trig(base: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    if let Some(diagnostic) = nesting::refuse(text, "trig-too-deep") {
        return sink.diagnose(diagnostic);
    }
    let parser = TriGParser::new().with_base_iri(base.as_str()).unwrap_or_default();
    read_statements(parser.for_slice(text), "trig-syntax", sink);
}

/// Reads N-Triples.
pub(crate) fn read_n_triples(text: &str, sink: &mut Sink<'_>) {
    let parse = |text| NTriplesParser::new().for_slice(text).map(|triple| triple.map(in_default_graph));
    read_lines(text, parse, "n-triples-syntax", sink);
}

/// Reads N-Quads.
pub(crate) fn read_n_quads(text: &str, sink: &mut Sink<'_>) {
    read_lines(text, |text| NQuadsParser::new().for_slice(text), "n-quads-syntax", sink);
}

/// Reads statements that are a line each. After a mistake the parser goes on where it believes the next statement to be, which behind a
/// missing quote is nowhere; a new one goes on with the next line.
fn read_lines<'t, I: Iterator<Item = Result<Quad, TurtleSyntaxError>>>(
    text: &'t str,
    parse: impl Fn(&'t str) -> I,
    code: &'static str,
    sink: &mut Sink<'_>,
) {
    sink.begin_block();
    let (mut rest, mut lines_before) = (text, 0);
    for _ in 0..MISTAKES_MAX {
        let Some(error) = read_until_mistake(parse(rest), sink) else { return };
        let start = error.location().start;
        let message = lower_first(error.message());
        sink.diagnose(Diagnostic::warning(code, message).at_line(lines_before + start.line + 1));
        let at = usize::try_from(start.offset).unwrap_or(usize::MAX).min(rest.len());
        let Some(end) = rest.as_bytes()[at..].iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            return;
        };
        // Behind an end of line there is a whole character.
        let (read, after) = rest.split_at(at + end + 1);
        lines_before += newlines(read.as_bytes());
        rest = after;
    }
    give_up(code, sink);
}

/// Reads statements to the end, or as many as there may be, or to the first mistake, which is given.
fn read_until_mistake(
    statements: impl Iterator<Item = Result<Quad, TurtleSyntaxError>>,
    sink: &mut Sink<'_>,
) -> Option<TurtleSyntaxError> {
    for (number, statement) in statements.enumerate() {
        if number % STATEMENTS_PER_LOOK == 0 && is_too_late(sink) {
            return None;
        }
        match statement {
            Ok(quad) => {
                if !sink.push(quad) {
                    return None;
                }
            }
            Err(error) => return Some(error),
        }
    }
    None
}

/// True when there is no time left, and then says so.
fn is_too_late(sink: &mut Sink<'_>) -> bool {
    let is_late = Instant::now() >= sink.deadline();
    if is_late {
        let message = "reading took too long; the rest of the document was left out";
        sink.diagnose(Diagnostic::warning("rdf-cut", message));
    }
    is_late
}

fn in_default_graph(triple: Triple) -> Quad {
    triple.in_graph(GraphName::DefaultGraph)
}

fn read_statements(
    statements: impl Iterator<Item = Result<Quad, TurtleSyntaxError>>,
    code: &'static str,
    sink: &mut Sink<'_>,
) {
    sink.begin_block();
    let mut mistakes = 0;
    for (number, statement) in statements.enumerate() {
        if number % STATEMENTS_PER_LOOK == 0 && is_too_late(sink) {
            return;
        }
        match statement {
            Ok(quad) => {
                if !sink.push(quad) {
                    return;
                }
            }
            Err(error) => {
                mistakes += 1;
                let message = lower_first(error.message());
                sink.diagnose(Diagnostic::warning(code, message).at_line(error.location().start.line + 1));
                if mistakes >= MISTAKES_MAX {
                    return give_up(code, sink);
                }
            }
        }
    }
}

fn give_up(code: &'static str, sink: &mut Sink<'_>) {
    let message = format!("{MISTAKES_MAX} mistakes; the rest was not read");
    sink.diagnose(Diagnostic::error(code, message));
}

/// Reads RDF/XML.
///
/// After a mistake the parser no longer knows where in the document it is, so it is stopped there and
/// a new one goes on behind the mistaken child of the root.
pub(crate) fn read_rdf_xml(base: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    const CODE: &str = "rdf-xml-syntax";
    let text = match xml_guard::prepare(text, sink.limits()) {
        Ok(text) => text,
        Err(diagnostic) => return sink.diagnose(diagnostic),
    };
    sink.begin_block();
    let mut outline = None;
    // A literal with the datatype written out is taken word for word.
    let markup = contains(&text, "parseType") || !contains(&text, "XMLLiteral");
    let mut document = Resumed { text: &text, head: 0, skipped: 0, markup };
    for _ in 0..MISTAKES_MAX {
        let (error, position) = match read_rdf_xml_until_mistake(base, &document, sink) {
            Ok(()) => {
                // The parser takes any end for the end.
                if xml_guard::Outline::of(&text).is_open {
                    let message = "the document ends within an element; what follows is missing";
                    sink.diagnose(Diagnostic::warning(CODE, message).at_line(newlines(text.as_bytes()) + 1));
                }
                return;
            }
            Err(mistake) => mistake,
        };
        let position = document.original(position);
        let line = newlines(&text.as_bytes()[..position]) + 1;
        sink.diagnose(Diagnostic::warning(CODE, lower_first(&error)).at_line(line));
        let outline = outline.get_or_insert_with(|| xml_guard::Outline::of(&text));
        // Broken markup, or a mistake in the root itself, leaves nothing to go on with.
        let Some(end) = outline.child_end(position).filter(|end| *end > document.skipped) else { return };
        document = Resumed { text: &text, head: outline.root_end, skipped: end, markup };
    }
    give_up(CODE, sink);
}

/// A document without what lies between its root's start tag and some later place.
struct Resumed<'a> {
    text: &'a str,
    head: usize,
    skipped: usize,
    /// Its XML literals were written as markup.
    markup: bool,
}

impl Resumed<'_> {
    /// A position as one in the whole text.
    fn original(&self, position: usize) -> usize {
        let position = if position < self.head { position } else { position - self.head + self.skipped };
        position.min(self.text.len())
    }
}

/// Reads until the end, or to the first mistake and its position.
fn read_rdf_xml_until_mistake(
    base: &PageUrl,
    document: &Resumed<'_>,
    sink: &mut Sink<'_>,
) -> Result<(), (String, usize)> {
    let parser = RdfXmlParser::new().with_base_iri(base.as_str()).unwrap_or_default();
    let head = DeadlineReader::new(&document.text[..document.head], sink.deadline());
    let rest = DeadlineReader::new(&document.text[document.skipped.max(document.head)..], sink.deadline());
    let mut parser = parser.for_reader(head.chain(rest));
    while let Some(triple) = parser.next() {
        match triple {
            Ok(mut triple) => {
                if document.markup {
                    canonicalize_literal(&mut triple.object);
                }
                if !sink.push(in_default_graph(triple)) {
                    break;
                }
            }
            Err(RdfXmlParseError::Io(_)) => {
                let message = "reading took too long; the rest of the document was left out";
                sink.diagnose(Diagnostic::warning("rdf-xml-cut", message));
                break;
            }
            Err(RdfXmlParseError::Syntax(error)) => {
                let position = usize::try_from(parser.buffer_position()).unwrap_or(usize::MAX);
                return Err((error.to_string(), position));
            }
        }
    }
    Ok(())
}

/// The value of a literal that was written as markup, as RDF/XML asks for it.
fn canonicalize_literal(object: &mut Term) {
    if let Term::Literal(literal) = object
        && literal.datatype() == rdf::XML_LITERAL
        && memchr::memchr2(b'<', b'&', literal.value().as_bytes()).is_some()
        && let Some(value) = canonical::canonical(literal.value())
    {
        *literal = Literal::new_typed_literal(value, rdf::XML_LITERAL);
    }
}

fn contains(text: &str, word: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some()
}

fn newlines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// The message as part of a sentence, and not a long one.
pub(crate) fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next();
    // An acronym keeps its capitals.
    let acronym = message.chars().nth(1).is_some_and(char::is_uppercase);
    let first = first.map(|first| if acronym { first } else { first.to_ascii_lowercase() });
    first.into_iter().chain(characters).take(300).collect()
}
