//! RDFa 1.1, in HTML, XHTML, SVG and any other XML.
//!
//! In: a parsed page. Out: the triples its attributes say, by RDFa Core 1.1, HTML+RDFa 1.1 and the Role Attribute; with
//! `processor_graph` also what the processor noticed (in the same graph, as `rdfa:Warning` and the like); with
//! `vocab_expansion` also what the vocabularies in use add.
//!
//! A page without RDFa is left after one look at its attributes. Otherwise one walk over the tree ([`evaluate`], the
//! specification's fourteen steps, with a stack instead of recursion) gathers triples, [`patterns`] copies properties,
//! [`vocabulary`] expands. Vocabularies come from the `ContextSource`; nothing is fetched here. Start at [`read`].

mod attributes;
mod evaluate;
mod initial;
mod iri;
mod lexical;
mod lists;
mod literal;
mod output;
mod patterns;
mod prefixes;
mod properties;
mod report;
mod resolve;
mod vocabulary;

use std::rc::Rc;

use html5ever::local_name;
use oxrdf::Triple;

use crate::dom::{Dom, NodeData};
use crate::html::{Host, ParsedPage};
use crate::{Sink, TransformConfig};
use attributes::says_something;
use evaluate::Evaluator;
use iri::Base;
use output::Output;
use report::{Kind, Report};

/// What the language of a page decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Profile {
    /// HTML's elements mean something: `head` and `body` keep the subject, `base` sets the base, `lang` the language.
    html: bool,
    /// HTML 5's rules hold: `datetime` and `value` are content, a plain `rel` gives way to `property`.
    html5: bool,
    /// XHTML's link relations are terms.
    xhtml_terms: bool,
    /// `xml:base` sets the base.
    xml_base: bool,
    /// Parsed as XML, so that namespaces and `xml:lang` are real.
    xml: bool,
}

impl Profile {
    fn of(page: &ParsedPage<'_>) -> Self {
        match page.host {
            Host::Html => Self { html: true, html5: true, xhtml_terms: false, xml_base: false, xml: false },
            // XHTML 1 tells itself from XHTML 5 by the public identifier of its DOCTYPE.
            Host::Xhtml if page.public_id.as_deref().is_some_and(|id| id.contains("XHTML")) => {
                Self { html: true, html5: false, xhtml_terms: true, xml_base: false, xml: true }
            }
            Host::Xhtml => Self { html: true, html5: true, xhtml_terms: false, xml_base: true, xml: true },
            Host::Svg | Host::Xml => {
                Self { html: false, html5: false, xhtml_terms: false, xml_base: true, xml: true }
            }
        }
    }
}

/// The triples of a document that defines something, a vocabulary or a profile: Turtle, RDF/XML, or HTML with RDFa.
pub(crate) fn triples_of_document(iri: &str, text: &str, config: &TransformConfig) -> Vec<Triple> {
    vocabulary::read(iri, text, config)
}

/// Reads the RDFa of a page.
pub(crate) fn read(page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
    let config = sink.config();
    let profile = Profile::of(page);
    if !config.processor_graph && !says_something(&page.dom, profile) {
        return;
    }
    let Some(document) = Base::parse(page.page.url.as_str()) else {
        return;
    };
    let document = Rc::new(document);
    let mut report = Report::new(document.as_str(), config.processor_graph);
    note_markup_errors(sink, &mut report);
    let output = Output::new(sink.limits(), sink.deadline());
    let base = html_base(page, profile, &document).unwrap_or_else(|| Rc::clone(&document));
    let (mut output, mut report) =
        Evaluator::new(&page.dom, profile, document, base, output, report).run(sink.deadline());
    if output.has_patterns {
        patterns::copy(&mut output);
    }
    if config.vocab_expansion {
        vocabulary::expand(&mut output, &mut report, config);
    }
    report.write_to(&mut output);
    sink.begin_block();
    for diagnostic in report.into_diagnostics() {
        sink.diagnose(diagnostic);
    }
    if let Some(diagnostic) = output.cut() {
        sink.diagnose(diagnostic);
    }
    for triple in output.triples {
        if !sink.push_triple(triple.subject, triple.predicate, triple.object) {
            return;
        }
    }
}

/// What `<base href>` says, by the rules of IRIs: `page.base` is the same for browsers, which add a slash here and there.
fn html_base(page: &ParsedPage<'_>, profile: Profile, document: &Base) -> Option<Rc<Base>> {
    // The parse has seen whether there is one; most pages have none.
    if !profile.html || page.base == page.page.url {
        return None;
    }
    page.dom
        .elements(Dom::ROOT)
        .filter(|(_, element)| element.is_html(&local_name!("base")))
        .find_map(|(_, element)| element.attribute(&local_name!("href")))
        .and_then(|href| document.join(href))
        .map(Rc::new)
}

/// Puts what the parser found wrong into the processor graph. HTML has no errors: every text is a document.
fn note_markup_errors(sink: &Sink<'_>, report: &mut Report) {
    if !sink.config().processor_graph {
        return;
    }
    for diagnostic in &sink.graph.diagnostics {
        if diagnostic.code.starts_with("xml-") || diagnostic.code == "xhtml-syntax" {
            report.event(Kind::DocumentError, &diagnostic.message);
        }
    }
}

/// True when a node is an element.
fn is_element(dom: &Dom, id: crate::dom::NodeId) -> bool {
    matches!(dom.node(id).data, NodeData::Element(_))
}
