//! Microformats, both versions, as canonical JSON and as RDF.
//!
//! In: a page. Out: what its `h-*` classes and the older roots (`vcard`, `hentry`, …) describe, by the microformats2
//! parsing specification: [`microformats`] gives the specification's own structure, `read` gives triples (`rdf`,
//! explained in `docs/microformats.md`).
//!
//! One walk over the tree (`parse`) knows which element is an item and which a property (`classes`, `backcompat`), asks
//! `properties` for values and `implied` for what authors leave unsaid. Start at [`microformats`].

mod backcompat;
mod classes;
mod dates;
mod implied;
mod model;
mod parse;
mod properties;
mod rdf;
mod text;
mod vocabulary;

pub use model::{Item, Microformats, RelUrl, Value};
use webloom_model::{DetectedPage, Diagnostic, DocumentKind};

use crate::decode::decode;
use crate::html::{self, ParsedPage};
use crate::{Sink, TransformConfig, xml};
use parse::{Parser, Wanted};

/// The microformats of a page in the structure the specification gives them, and what was wrong with the page.
///
/// Whatever is no XML is read as HTML: who asks for microformats says that there is markup.
pub fn microformats(page: &DetectedPage, config: &TransformConfig) -> (Microformats, Vec<Diagnostic>) {
    let mut sink = Sink::new(&page.page.url, config);
    let text = decode(page, &mut sink);
    let parsed = match page.detection.kind {
        DocumentKind::Image => return (Microformats::default(), sink.finish().diagnostics),
        DocumentKind::Xml | DocumentKind::Svg => {
            let document = xml::parse(&text, sink.limits(), sink.deadline());
            ParsedPage::from_xml(page, document, &mut sink)
        }
        _ => html::parse(page, &text, &mut sink),
    };
    let found = parse(&parsed, Wanted::Everything, &mut sink);
    (found, sink.finish().diagnostics)
}

/// Reads the microformats of a page.
pub(crate) fn read(page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
    let found = parse(page, Wanted::Meant, sink);
    if !found.items.is_empty() {
        sink.begin_block();
        rdf::write(&found.items, page, sink);
    }
}

fn parse(page: &ParsedPage<'_>, wanted: Wanted, sink: &mut Sink<'_>) -> Microformats {
    let mut parser = Parser::new(page, wanted, sink.limits().microformats_bytes_max);
    parser.run();
    let limit = sink.limits().microformats_bytes_max;
    if parser.was_cut() {
        let message = format!("microformats copy more than {limit} bytes of the page; the rest was left out");
        sink.diagnose(Diagnostic::warning("microformats-cut", message));
    }
    if let Some(line) = parser.flattened_line {
        let message = format!(
            "microformats are nested deeper than {}; the deeper ones were taken for part of those around them",
            parse::DEPTH_MAX
        );
        sink.diagnose(Diagnostic::warning("microformats-too-deep", message).at_line(u64::from(line)));
    }
    parser.found
}
