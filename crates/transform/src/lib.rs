#![doc = include_str!("../README.md")]

mod compiled;
mod config;
mod decode;
pub mod dom;
mod feed;
mod file;
mod grddl;
mod guard;
pub mod html;
pub mod jsonld;
mod link_header;
mod maps;
mod meta;
mod microdata;
mod microformats;
mod rdf;
mod rdfa;
mod relation;
mod result;
mod robots;
mod room;
pub mod rules;
mod sink;
mod stylesheet;
pub mod xml;

pub use compiled::Compiled;
pub use config::{
    BundledContexts, ContextSource, GrddlSites, Limits, Syntax, TransformConfig, UnknownSyntax,
};
use decode::decode;
pub use microformats::{Item, Microformats, RelUrl, Value, microformats};
pub use result::ResultSyntax;
pub use robots::header_directives;
pub use sink::Sink;
use webloom_model::{DetectedPage, DocumentKind, PageGraph};

use crate::rules::Answers;

/// Phase 3 for one page: everything it says, as quads, and what was wrong with it.
///
/// Rules that ask services are left out; see [`transform_with`].
pub fn transform(page: &DetectedPage, config: &TransformConfig) -> PageGraph {
    transform_with(page, config, &Answers::default())
}

/// The same for a page of which services and commands were asked before, as [`rules`] explains.
pub fn transform_with(page: &DetectedPage, config: &TransformConfig, answers: &Answers) -> PageGraph {
    let mut sink = Sink::new(&page.page.url, config);
    robots::from_headers(&page.page, &config.robots_agent, &mut sink.graph.robots);
    match page.detection.kind {
        DocumentKind::Html | DocumentKind::Xhtml => html::read(page, &decode(page, &mut sink), &mut sink),
        DocumentKind::JsonLd if config.wants(Syntax::JsonLd) => {
            jsonld::read_document(&page.page.url, &decode(page, &mut sink), &mut sink);
        }
        DocumentKind::Turtle if config.wants(Syntax::Rdf) => {
            rdf::read_turtle(&page.page.url, &decode(page, &mut sink), &mut sink);
        }
        DocumentKind::TriG if config.wants(Syntax::Rdf) => {
            rdf::read_trig(&page.page.url, &decode(page, &mut sink), &mut sink);
        }
        DocumentKind::NTriples if config.wants(Syntax::Rdf) => {
            rdf::read_n_triples(&decode(page, &mut sink), &mut sink);
        }
        DocumentKind::NQuads if config.wants(Syntax::Rdf) => {
            rdf::read_n_quads(&decode(page, &mut sink), &mut sink);
        }
        // RSS 1.0 is both.
        DocumentKind::RdfXml if config.wants(Syntax::Rdf) || config.wants(Syntax::Feed) => {
            feed::read_rdf(page, &decode(page, &mut sink), &mut sink);
        }
        // Not wanted by `only`.
        DocumentKind::JsonLd
        | DocumentKind::Turtle
        | DocumentKind::TriG
        | DocumentKind::NTriples
        | DocumentKind::NQuads
        | DocumentKind::RdfXml => {}
        DocumentKind::Rss
        | DocumentKind::Atom
        | DocumentKind::JsonFeed
        | DocumentKind::Opml
        | DocumentKind::Sitemap => feed::read(page, &decode(page, &mut sink), &mut sink),
        // Any XML may carry RDFa. A stylesheet, chosen by a rule, turns the rest of it into RDF.
        DocumentKind::Xml | DocumentKind::Svg | DocumentKind::Wsdl => {
            html::read_xml(page, &decode(page, &mut sink), &mut sink);
        }
        DocumentKind::VCard | DocumentKind::ICalendar | DocumentKind::Csv => {
            file::read_text(page, &decode(page, &mut sink), &mut sink);
        }
        DocumentKind::Image => file::read_image(page, &mut sink),
        // Nothing here reads it; a service may, by a rule.
        DocumentKind::Unknown => {}
    }
    if config.wants_grddl(&page.page.url) {
        grddl::read(page, &mut sink);
    }
    let ruled = config.wants(Syntax::Xslt) && rules::read(page, answers, &mut sink);
    if config.wants(Syntax::Meta) {
        link_header::read(&page.page, &mut sink);
    }
    // What a page says in two syntaxes is one statement. Documents that are RDF are left as they are.
    if ruled || matches!(page.detection.kind, DocumentKind::Html | DocumentKind::Xhtml) {
        sink.remove_duplicates();
    }
    sink.finish()
}
