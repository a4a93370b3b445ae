//! What the processor noticed: as triples of the processor graph where they are wanted, as few diagnostics always.
//!
//! Real pages are full of undeclared prefixes and terms, so diagnostics name each only once and all in one line.

use oxrdf::vocab::rdf;
use oxrdf::{BlankNode, Literal, NamedNode, NamedNodeRef};
use webloom_model::Diagnostic;
use webloom_model::vocab::dcterms;

use super::output::Output;

/// Names listed in one diagnostic.
const NAMES_MAX: usize = 8;
/// Events kept for the processor graph.
const EVENTS_MAX: usize = 10_000;

/// Characters of an event's description.
const MESSAGE_CHARS_MAX: usize = 300;

/// The classes of the processor graph's vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The document cannot be parsed as what it says it is.
    DocumentError,
    /// A CURIE's prefix is not declared.
    UnresolvedCurie,
    /// A term is in no vocabulary.
    UnresolvedTerm,
    /// A prefix got another meaning.
    PrefixRedefinition,
    /// A vocabulary could not be had.
    VocabReferenceError,
    /// Something else that was left out.
    Warning,
}

impl Kind {
    /// The class, and the general one it belongs to.
    fn classes(self) -> (&'static str, &'static str) {
        match self {
            Self::DocumentError => ("DocumentError", "Error"),
            Self::UnresolvedCurie => ("UnresolvedCURIE", "Warning"),
            Self::UnresolvedTerm => ("UnresolvedTerm", "Warning"),
            Self::PrefixRedefinition => ("PrefixRedefinition", "Warning"),
            Self::VocabReferenceError => ("VocabReferenceError", "Warning"),
            Self::Warning => ("Warning", "Warning"),
        }
    }
}

/// Names that are mentioned once.
#[derive(Debug, Default)]
struct Names {
    listed: Vec<String>,
    more: bool,
}

impl Names {
    fn add(&mut self, name: &str) {
        let name: String = name.chars().take(40).collect();
        if self.listed.contains(&name) {
        } else if self.listed.len() < NAMES_MAX {
            self.listed.push(name);
        } else {
            self.more = true;
        }
    }

    fn join(&self) -> Option<String> {
        (!self.listed.is_empty()).then(|| self.listed.join(", ") + if self.more { " and others" } else { "" })
    }
}

/// Collects what is noticed.
#[derive(Debug)]
pub(super) struct Report {
    document: NamedNode,
    wanted: bool,
    events: Vec<(Kind, String)>,
    prefixes: Names,
    terms: Names,
    ignored: Names,
    vocabularies: Names,
    deadline: bool,
}

impl Report {
    pub(super) fn new(document: &str, wanted: bool) -> Self {
        Self {
            document: NamedNode::new_unchecked(document),
            wanted,
            events: Vec::new(),
            prefixes: Names::default(),
            terms: Names::default(),
            ignored: Names::default(),
            vocabularies: Names::default(),
            deadline: false,
        }
    }

    /// Notes something for the processor graph only.
    pub(super) fn event(&mut self, kind: Kind, message: &str) {
        if self.wanted && self.events.len() < EVENTS_MAX {
            self.events.push((kind, message.chars().take(MESSAGE_CHARS_MAX).collect()));
        }
    }

    /// True when events are kept, so that their messages are worth writing.
    pub(super) fn wants_events(&self) -> bool {
        self.wanted
    }

    /// A prefix that nobody declared; what it stands in was taken as an IRI.
    pub(super) fn undeclared(&mut self, prefix: &str, text: &str) {
        // What everybody knows as a scheme is meant as one.
        const SCHEMES: &[&str] =
            &["http", "https", "mailto", "urn", "tag", "tel", "data", "javascript", "file", "ftp", "doi"];
        if SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(prefix)) {
            return;
        }
        self.prefixes.add(prefix);
        if self.wanted {
            let message =
                format!("`{prefix}` in `{text}` is no declared prefix; it was taken as an IRI's scheme");
            self.event(Kind::UnresolvedCurie, &message);
        }
    }

    /// A term that is in no vocabulary.
    pub(super) fn unknown_term(&mut self, term: &str, expected: bool) {
        // `rel` is full of words that mean nothing here, and nobody wants to be told.
        if expected {
            self.terms.add(term);
        }
        if self.wanted {
            self.event(
                Kind::UnresolvedTerm,
                &format!("`{term}` is no term, and there is no vocabulary it could be in"),
            );
        }
    }

    /// A value that is no CURIE or IRI and was left out.
    pub(super) fn ignore(&mut self, kind: Kind, text: &str) {
        self.ignored.add(text);
        if self.wanted {
            self.event(kind, &format!("`{text}` stands for nothing and was ignored"));
        }
    }

    /// A vocabulary that could not be had.
    pub(super) fn missing_vocabulary(&mut self, iri: &str) {
        self.vocabularies.add(iri);
        if self.wanted {
            self.event(Kind::VocabReferenceError, &format!("the vocabulary <{iri}> could not be read"));
        }
    }

    /// The walk stopped at the deadline.
    pub(super) fn out_of_time(&mut self) {
        self.deadline = true;
    }

    /// Writes the processor graph.
    pub(super) fn write_to(&mut self, output: &mut Output) {
        const RDFA: &str = "http://www.w3.org/ns/rdfa#";
        const CONTEXT: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://www.w3.org/ns/rdfa#context");
        for (number, (kind, message)) in self.events.drain(..).enumerate() {
            let event = BlankNode::new_unchecked(format!("event{number}"));
            let (class, general) = kind.classes();
            output.push(event.clone(), rdf::TYPE, NamedNode::new_unchecked(format!("{RDFA}{class}")));
            if class != general {
                output.push(event.clone(), rdf::TYPE, NamedNode::new_unchecked(format!("{RDFA}{general}")));
            }
            output.push(event.clone(), dcterms::DESCRIPTION, Literal::new_simple_literal(message));
            output.push(event, CONTEXT, self.document.clone());
        }
    }

    /// The diagnostics.
    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        let mut diagnostics = Vec::new();
        if let Some(names) = self.prefixes.join() {
            let message =
                format!("RDFa prefixes that are not declared were taken as schemes of IRIs: {names}");
            diagnostics.push(Diagnostic::note("rdfa-undeclared-prefix", message));
        }
        if let Some(names) = self.terms.join() {
            let message = format!("RDFa terms without a vocabulary were ignored: {names}");
            diagnostics.push(Diagnostic::warning("rdfa-unknown-term", message));
        }
        if let Some(names) = self.ignored.join() {
            let message = format!("RDFa values that stand for nothing were ignored: {names}");
            diagnostics.push(Diagnostic::warning("rdfa-ignored-value", message));
        }
        if let Some(names) = self.vocabularies.join() {
            let message = format!("vocabularies could not be read, so nothing was added from them: {names}");
            diagnostics.push(Diagnostic::warning("rdfa-vocabulary", message));
        }
        if self.deadline {
            let message = "reading RDFa took too long; the rest of the page was left out";
            diagnostics.push(Diagnostic::warning("rdfa-cut", message));
        }
        diagnostics
    }
}
