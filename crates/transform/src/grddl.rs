//! GRDDL: pages that name the stylesheets which turn them into RDF.
//!
//! In: a page that is markup. Out: the quads its transformations give. Four ways to name one, by the W3C's Recommendation of
//! 2007: an attribute on the root of any XML; links in XHTML whose head has the GRDDL profile; the document at the root's namespace;
//! the documents at the head's other profiles. Transformations are code from strangers: this is read only when
//! asked for, everything comes from the caller's [`ContextSource`](crate::ContextSource), and each runs within a stranger's
//! limits. What is not known is told as missing, so that somebody may fetch it.

use html5ever::{local_name, ns};
use oxrdf::{NamedOrBlankNode, Term, Triple};
use webloom_model::{DetectedPage, Diagnostic, DocumentKind, PageUrl};
use webloom_xslt::Document;

use crate::dom::{Dom, Element};
use crate::result::{self, Given};
use crate::sink::HtmlTree;
use crate::stylesheet::{self, Noted, SourceLoader};
use crate::{Sink, TransformConfig, decode, html, rdfa, rules, xml};

const DATA_VIEW: &str = "http://www.w3.org/2003/g/data-view#";
const DATA_VIEW_PROFILE: &str = "http://www.w3.org/2003/g/data-view";
/// Transformations that one page may name.
const TRANSFORMATIONS_MAX: usize = 16;
/// Profiles and namespaces whose documents are looked at.
const DOCUMENTS_MAX: usize = 16;

/// Runs the transformations that a page names.
pub(crate) fn read(page: &DetectedPage, sink: &mut Sink<'_>) {
    if !stylesheet::is_markup(page.detection.kind) {
        return;
    }
    let text = decode::text_of(page);
    let kept = sink.take_tree(page);
    let is_kept = kept.is_some();
    let markup = match kept {
        Some(HtmlTree { dom, base }) => Markup { dom, base, is_html: true },
        None => Markup::parse(page, &text, sink),
    };
    let mut transformations = markup.transformations();
    for (document, property) in markup.documents() {
        match sink.config().contexts.document(&document) {
            Some(text) => {
                transformations.extend(transformations_of(&document, &text, property, sink.config()));
            }
            None => sink.miss_document(&document),
        }
    }
    let mut done: Vec<String> = Vec::new();
    transformations.retain(|iri| {
        let is_new = !done.contains(iri) && done.len() < TRANSFORMATIONS_MAX;
        if is_new {
            done.push(iri.clone());
        }
        is_new
    });
    if !transformations.is_empty() {
        match stylesheet::document_of(page, &text, markup.is_html.then_some(&markup.dom), sink) {
            Ok(document) => {
                for iri in transformations {
                    run(&iri, &document, &markup.base, sink);
                }
            }
            Err(error) => sink.diagnose(Diagnostic::warning("grddl", error.to_string())),
        }
    }
    if is_kept {
        sink.keep_tree(page, HtmlTree { dom: markup.dom, base: markup.base });
    }
}

/// Runs one transformation, if it is known.
fn run(iri: &str, document: &Document, base: &PageUrl, sink: &mut Sink<'_>) {
    let contexts = sink.config().contexts.clone();
    let Some(source) = contexts.document(iri) else {
        sink.miss_document(iri);
        let message = format!("the transformation <{iri}> is not known");
        return sink.diagnose(Diagnostic::note("grddl-missing", message));
    };
    let (compiled, missed) =
        sink.config().compiled.stylesheet(iri, &source, &*contexts, &stylesheet::limits(sink));
    missed.iter().for_each(|module| sink.miss_document(module));
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => {
            let message = format!("the transformation <{iri}> is no stylesheet: {error}");
            return sink.diagnose(Diagnostic::warning("grddl", message));
        }
    };
    let source = SourceLoader::new(&*contexts);
    let loader = Noted::new(&source);
    let ran = compiled.transform(document, &[], &loader, &stylesheet::limits(sink));
    loader.tell(&format!("the transformation <{iri}>"), sink);
    match ran {
        Ok(output) => {
            let media_type = rules::media_type_of(&output);
            let giver = format!("the transformation <{iri}>");
            let media_type = Some(media_type.as_str());
            let given = Given { bytes: &output.bytes, media_type, syntax: None, giver: &giver };
            result::read(given, base, sink);
        }
        Err(error) => {
            let message = format!("the transformation <{iri}> failed: {error}");
            sink.diagnose(Diagnostic::warning("xslt", message));
        }
    }
}

/// What names transformations in a page.
struct Markup {
    dom: Dom,
    /// What references in the page are resolved against, and relative IRIs of the results.
    base: PageUrl,
    is_html: bool,
}

impl Markup {
    fn parse(page: &DetectedPage, text: &str, sink: &Sink<'_>) -> Self {
        let mut quiet = Sink::new(&page.page.url, sink.config());
        if matches!(page.detection.kind, DocumentKind::Html | DocumentKind::Xhtml) {
            let parsed = html::parse(page, text, &mut quiet);
            return Self { base: parsed.base, dom: parsed.dom, is_html: true };
        }
        let dom = xml::parse(text, sink.limits(), sink.deadline()).dom;
        let own = &page.page.url;
        let base =
            root(&dom).and_then(|root| root.attribute_named("xml:base")).and_then(|base| own.join(base).ok());
        Self { base: base.unwrap_or_else(|| own.clone()), dom, is_html: false }
    }

    /// Those that the page names itself.
    fn transformations(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let Some(root) = root(&self.dom) {
            let named = root.attributes.iter().filter(|attribute| {
                let (space, local): (&str, &str) = (&attribute.name.ns, &attribute.name.local);
                // The HTML parser leaves prefixes in the name.
                (space == DATA_VIEW && local == "transformation")
                    || (self.is_html && local == "grddl:transformation")
            });
            for reference in named.flat_map(|attribute| attribute.value.split_ascii_whitespace()) {
                found.extend(self.resolve(reference));
            }
        }
        if self.profiles().iter().any(|profile| is_data_view(profile)) {
            found.extend(self.links("transformation"));
        }
        found
    }

    /// Documents that may name more, each with the property they name them by.
    fn documents(&self) -> Vec<(String, &'static str)> {
        let mut documents: Vec<(String, &'static str)> = self
            .profiles()
            .into_iter()
            .filter(|profile| !is_data_view(profile))
            .map(|profile| (profile, "profileTransformation"))
            .collect();
        if let Some(root) = root(&self.dom) {
            let space: &str = &root.name.ns;
            let is_known = space.is_empty()
                || root.name.ns == ns!(html)
                || space == "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
            if !is_known && PageUrl::parse(space).is_ok() {
                documents.push((space.to_owned(), "namespaceTransformation"));
            }
        }
        documents.truncate(DOCUMENTS_MAX);
        documents
    }

    fn profiles(&self) -> Vec<String> {
        let head = self.dom.elements(Dom::ROOT).find(|(_, element)| element.is_html(&local_name!("head")));
        let profiles = head.and_then(|(_, head)| head.attribute(&local_name!("profile"))).unwrap_or_default();
        profiles.split_ascii_whitespace().filter_map(|profile| self.resolve(profile)).collect()
    }

    /// Targets of links with a relation.
    fn links(&self, relation: &str) -> Vec<String> {
        let is_link = |element: &Element| {
            element.name.ns == ns!(html)
                && matches!(element.name.local, local_name!("link") | local_name!("a") | local_name!("area"))
                && element.attribute(&local_name!("rel")).is_some_and(|rel| {
                    rel.split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case(relation))
                })
        };
        self.dom
            .elements(Dom::ROOT)
            .filter(|(_, element)| is_link(element))
            .filter_map(|(_, element)| self.resolve(element.attribute(&local_name!("href"))?))
            .take(TRANSFORMATIONS_MAX)
            .collect()
    }

    fn resolve(&self, reference: &str) -> Option<String> {
        self.base.join(reference).ok().map(|url| url.as_str().to_owned())
    }
}

fn root(dom: &Dom) -> Option<&Element> {
    dom.elements(Dom::ROOT).next().map(|(_, element)| element)
}

fn is_data_view(profile: &str) -> bool {
    profile.trim_end_matches('#') == DATA_VIEW_PROFILE
}

/// The transformations that the document of a profile or namespace gives for those who use it: as RDF or RDFa, or by links
/// of its own.
fn transformations_of(document: &str, text: &str, property: &str, config: &TransformConfig) -> Vec<String> {
    let predicate = format!("{DATA_VIEW}{property}");
    let is_it = |iri: &str| iri.trim_end_matches(['#', '/']) == document.trim_end_matches(['#', '/']);
    let mut found: Vec<String> = rdfa::triples_of_document(document, text, config)
        .into_iter()
        .filter_map(|Triple { subject, predicate: said, object }| match (subject, object) {
            (NamedOrBlankNode::NamedNode(subject), Term::NamedNode(object))
                if said.as_str() == predicate && is_it(subject.as_str()) =>
            {
                Some(object.into_string())
            }
            _ => None,
        })
        .collect();
    if let Ok(url) = PageUrl::parse(document) {
        let parsed = xml::parse(text, &config.limits, std::time::Instant::now() + config.limits.time_max);
        let markup = Markup { dom: parsed.dom, base: url, is_html: true };
        if markup.profiles().iter().any(|profile| is_data_view(profile)) {
            found.extend(markup.links(property));
        }
    }
    found
}
