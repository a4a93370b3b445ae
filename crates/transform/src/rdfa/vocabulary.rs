//! Vocabulary expansion: what the vocabularies a page uses say of its properties and classes.
//!
//! In: the page's triples, among them `rdfa:usesVocabulary`. Out: the same and what follows by RDFa's vocabulary
//! entailment (sub-properties, sub-classes, equivalents). Vocabularies come from the `ContextSource` in Turtle, RDF/XML
//! or HTML with RDFa. Their own triples are not added.

use std::rc::Rc;
use std::time::{Duration, Instant};

use oxrdf::vocab::rdf::TYPE;
use oxrdf::vocab::rdfs;
use oxrdf::{NamedNode, NamedNodeRef, NamedOrBlankNode, Term, Triple};
use webloom_model::PageUrl;

use super::evaluate::Evaluator;
use super::iri::Base;
use super::output::Output;
use super::report::Report;
use super::{Profile, attributes};
use crate::html::build::build;
use crate::maps::{HashMap, HashSet};
use crate::{Sink, TransformConfig, rdf};

/// `rdfa:usesVocabulary`, by which a page names its vocabularies.
pub(super) const USES_VOCABULARY: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/ns/rdfa#usesVocabulary");
const EQUIVALENT_PROPERTY: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/2002/07/owl#equivalentProperty");
const EQUIVALENT_CLASS: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/2002/07/owl#equivalentClass");
/// Vocabularies read for one page.
const VOCABULARIES_MAX: usize = 16;
/// Time to read one vocabulary.
const VOCABULARY_TIME_MAX: Duration = Duration::from_secs(1);

/// Adds what follows from the vocabularies the page names.
pub(super) fn expand(output: &mut Output, report: &mut Report, config: &TransformConfig) {
    let mut named: Vec<NamedNode> = Vec::new();
    for triple in &output.triples {
        if triple.predicate.as_ref() == USES_VOCABULARY
            && let Term::NamedNode(iri) = &triple.object
            && !named.contains(iri)
            && named.len() < VOCABULARIES_MAX
        {
            named.push(iri.clone());
        }
    }
    let mut hierarchy = Hierarchy::default();
    hierarchy.learn(&output.triples);
    for iri in named {
        match config.contexts.vocabulary(document_of(iri.as_str())) {
            Some(text) => hierarchy.learn(&read(iri.as_str(), &text, config)),
            None => report.missing_vocabulary(iri.as_str()),
        }
    }
    hierarchy.apply(output);
}

fn document_of(iri: &str) -> &str {
    iri.split('#').next().unwrap_or(iri)
}

/// The triples of a vocabulary, in whatever syntax it is written.
pub(super) fn read(iri: &str, text: &str, config: &TransformConfig) -> Vec<Triple> {
    let iri = document_of(iri);
    let Ok(url) = PageUrl::for_local_document(iri) else {
        return Vec::new();
    };
    let syntax = detect_syntax(text);
    if syntax == VocabularySyntax::Html {
        return read_html(iri, text, config);
    }
    let mut sink = Sink::new(&url, config);
    match syntax {
        VocabularySyntax::RdfXml => rdf::read_rdf_xml(&url, text, &mut sink),
        _ => rdf::read_turtle(&url, text, &mut sink),
    }
    sink.finish().quads.into_iter().map(Triple::from).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VocabularySyntax {
    Turtle,
    RdfXml,
    Html,
}

/// Tells the syntaxes apart by how a text begins: only markup begins with a declaration or a tag.
fn detect_syntax(text: &str) -> VocabularySyntax {
    let head = text.trim_start_matches('\u{feff}').trim_ascii_start();
    let begins = |word: &str| head.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    // The root is near the beginning, behind a DOCTYPE at most.
    let near: String = head.chars().take(16_384).collect();
    if near.contains("<rdf:RDF") {
        VocabularySyntax::RdfXml
    } else if begins("<?xml") || begins("<!") || begins("<html") {
        VocabularySyntax::Html
    } else {
        VocabularySyntax::Turtle
    }
}

/// A vocabulary that is a page with RDFa.
fn read_html(iri: &str, text: &str, config: &TransformConfig) -> Vec<Triple> {
    let deadline = Instant::now() + VOCABULARY_TIME_MAX;
    let built = build(text, &config.limits, deadline);
    let profile = Profile { html: true, html5: true, xhtml_terms: false, xml_base: false, xml: false };
    let Some(document) = Base::parse(iri).filter(|_| attributes::says_something(&built.dom, profile)) else {
        return Vec::new();
    };
    let document = Rc::new(document);
    let report = Report::new(iri, false);
    let output = Output::new(&config.limits, deadline);
    let base = Rc::clone(&document);
    Evaluator::new(&built.dom, profile, document, base, output, report).run(deadline).0.triples
}

/// What implies what.
#[derive(Debug, Default)]
struct Hierarchy {
    properties: HashMap<NamedNode, Vec<NamedNode>>,
    classes: HashMap<NamedNode, Vec<NamedNode>>,
}

impl Hierarchy {
    /// Takes the statements about properties and classes.
    fn learn(&mut self, triples: &[Triple]) {
        for triple in triples {
            let (NamedOrBlankNode::NamedNode(one), Term::NamedNode(other)) =
                (&triple.subject, &triple.object)
            else {
                continue;
            };
            let predicate = triple.predicate.as_ref();
            let both = predicate == EQUIVALENT_PROPERTY || predicate == EQUIVALENT_CLASS;
            let implied = if predicate == rdfs::SUB_PROPERTY_OF || predicate == EQUIVALENT_PROPERTY {
                &mut self.properties
            } else if predicate == rdfs::SUB_CLASS_OF || predicate == EQUIVALENT_CLASS {
                &mut self.classes
            } else {
                continue;
            };
            implied.entry(one.clone()).or_default().push(other.clone());
            if both {
                implied.entry(other.clone()).or_default().push(one.clone());
            }
        }
    }

    /// Adds what follows, each statement once.
    fn apply(&self, output: &mut Output) {
        if self.properties.is_empty() && self.classes.is_empty() {
            return;
        }
        let mut properties: HashMap<NamedNode, Rc<[NamedNode]>> = HashMap::default();
        let mut classes: HashMap<NamedNode, Rc<[NamedNode]>> = HashMap::default();
        let mut known: HashSet<Triple> = output.triples.iter().cloned().collect();
        let mut next = 0;
        // What is added may imply more: a property may have `rdf:type` above it.
        while next < output.triples.len() && !output.is_full() {
            let triple = output.triples[next].clone();
            next += 1;
            let mut added = Vec::new();
            if let Some(implied) = closure(&self.properties, &triple.predicate, &mut properties, output) {
                added.extend(implied.iter().map(|predicate| {
                    Triple::new(triple.subject.clone(), predicate.clone(), triple.object.clone())
                }));
            }
            if triple.predicate.as_ref() == TYPE
                && let Term::NamedNode(class) = &triple.object
                && let Some(implied) = closure(&self.classes, class, &mut classes, output)
            {
                added.extend(
                    implied.iter().map(|class| Triple::new(triple.subject.clone(), TYPE, class.clone())),
                );
            }
            for triple in added {
                // Finding that something is known costs too.
                if !output.take(8) {
                    return;
                }
                if known.insert(triple.clone()) {
                    output.push(triple.subject, triple.predicate, triple.object);
                }
            }
        }
    }
}

/// Everything that a name implies, remembered.
fn closure(
    implied: &HashMap<NamedNode, Vec<NamedNode>>,
    name: &NamedNode,
    closures: &mut HashMap<NamedNode, Rc<[NamedNode]>>,
    output: &mut Output,
) -> Option<Rc<[NamedNode]>> {
    implied.get(name)?;
    if let Some(closure) = closures.get(name) {
        return Some(Rc::clone(closure));
    }
    let mut reached: Vec<NamedNode> = Vec::new();
    let mut seen: HashSet<&NamedNode> = HashSet::from_iter([name]);
    let mut waiting: Vec<&NamedNode> = vec![name];
    while let Some(name) = waiting.pop() {
        for other in implied.get(name).into_iter().flatten() {
            if seen.insert(other) && output.take(other.as_str().len()) {
                reached.push(other.clone());
                waiting.push(other);
            }
        }
    }
    let closure: Rc<[NamedNode]> = reached.into();
    closures.insert(name.clone(), Rc::clone(&closure));
    Some(closure)
}
