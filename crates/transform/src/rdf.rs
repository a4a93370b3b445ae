//! Documents that are RDF already: Turtle, TriG, N-Triples, N-Quads, RDF/XML.
//!
//! The parsers are Oxigraph's, strict and able to go on after a mistake: what parses is kept, what
//! does not is a diagnostic with its line. RDF/XML goes through [`xml_guard`] first, because its
//! parser expands entities without bound and compares every attribute with every other.

mod xml_guard;

use oxrdf::{GraphName, Quad, Triple};
use oxrdfxml::{RdfXmlParseError, RdfXmlParser};
use oxttl::{NQuadsParser, NTriplesParser, TriGParser, TurtleParser, TurtleSyntaxError};
use webloom_model::{Diagnostic, PageUrl};

use crate::Sink;
use crate::guard::DeadlineReader;

/// Mistakes after which a document is given up.
const MISTAKES_MAX: usize = 1000;

/// Reads Turtle.
pub(crate) fn read_turtle(base: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    let parser = TurtleParser::new().with_base_iri(base.as_str()).unwrap_or_default();
    read_statements(parser.for_slice(text).map(|triple| triple.map(in_default_graph)), "turtle-syntax", sink);
}

/// Reads TriG.
pub(crate) fn read_trig(base: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    let parser = TriGParser::new().with_base_iri(base.as_str()).unwrap_or_default();
    read_statements(parser.for_slice(text), "trig-syntax", sink);
}

/// Reads N-Triples.
pub(crate) fn read_n_triples(text: &str, sink: &mut Sink<'_>) {
    let statements = NTriplesParser::new().for_slice(text).map(|triple| triple.map(in_default_graph));
    read_statements(statements, "n-triples-syntax", sink);
}

/// Reads N-Quads.
pub(crate) fn read_n_quads(text: &str, sink: &mut Sink<'_>) {
    read_statements(NQuadsParser::new().for_slice(text), "n-quads-syntax", sink);
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
    for statement in statements {
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
pub(crate) fn read_rdf_xml(base: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    const CODE: &str = "rdf-xml-syntax";
    let text = match xml_guard::prepare(text, sink.limits()) {
        Ok(text) => text,
        Err(diagnostic) => return sink.diagnose(diagnostic),
    };
    sink.begin_block();
    let parser = RdfXmlParser::new().with_base_iri(base.as_str()).unwrap_or_default();
    let mut parser = parser.for_reader(DeadlineReader::new(&text, sink.deadline()));
    let mut lines = Lines { text: text.as_bytes(), position: 0, line: 1 };
    let mut mistakes = 0;
    let mut last_position = None;
    while let Some(triple) = parser.next() {
        match triple {
            Ok(triple) => {
                if !sink.push(in_default_graph(triple)) {
                    return;
                }
            }
            Err(RdfXmlParseError::Io(_)) => {
                let message = "reading took too long; the rest of the document was left out";
                return sink.diagnose(Diagnostic::warning("rdf-xml-cut", message));
            }
            Err(RdfXmlParseError::Syntax(error)) => {
                mistakes += 1;
                let position = parser.buffer_position();
                let line = lines.at(position);
                sink.diagnose(Diagnostic::warning(CODE, lower_first(&error.to_string())).at_line(line));
                // After broken XML the reader may stand still; two mistakes in one place are its last.
                if last_position == Some(position) {
                    return;
                }
                last_position = Some(position);
                if mistakes >= MISTAKES_MAX {
                    return give_up(CODE, sink);
                }
            }
        }
    }
}

/// Line numbers of growing positions.
struct Lines<'a> {
    text: &'a [u8],
    position: usize,
    line: u64,
}

impl Lines<'_> {
    fn at(&mut self, position: u64) -> u64 {
        let position = usize::try_from(position).unwrap_or(usize::MAX).clamp(self.position, self.text.len());
        self.line += memchr::memchr_iter(b'\n', &self.text[self.position..position]).count() as u64;
        self.position = position;
        self.line
    }
}

fn lower_first(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(characters).take(500).collect()
}
