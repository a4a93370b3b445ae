//! The triples of a page while they are gathered, under the page's limits.

use std::time::Instant;

use oxrdf::vocab::rdf;
use oxrdf::{NamedNode, NamedNodeRef, NamedOrBlankNode, Term, Triple};
use webloom_model::Diagnostic;

use crate::Limits;

/// `rdfa:copy`, which takes over the properties of a pattern.
pub(super) const COPY: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://www.w3.org/ns/rdfa#copy");
/// `rdfa:Pattern`, what properties can be copied from.
pub(super) const PATTERN: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://www.w3.org/ns/rdfa#Pattern");

/// Triples between two looks at the clock.
const TRIPLES_PER_LOOK: usize = 4096;

/// Triples in the order they were found.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) triples: Vec<Triple>,
    /// A property is copied somewhere.
    pub(super) has_patterns: bool,
    triples_max: usize,
    bytes: usize,
    bytes_max: usize,
    full: bool,
    deadline: Instant,
}

impl Output {
    pub(super) fn new(limits: &Limits, deadline: Instant) -> Self {
        Self {
            triples: Vec::new(),
            has_patterns: false,
            triples_max: limits.quads_max,
            bytes: 0,
            bytes_max: limits.term_bytes_max,
            full: false,
            deadline,
        }
    }

    /// Takes a triple, while there is room.
    pub(super) fn push(
        &mut self,
        subject: impl Into<NamedOrBlankNode>,
        predicate: impl Into<NamedNode>,
        object: impl Into<Term>,
    ) {
        let triple = Triple::new(subject, predicate, object);
        let late =
            self.triples.len() % TRIPLES_PER_LOOK == TRIPLES_PER_LOOK - 1 && Instant::now() >= self.deadline;
        if late || self.triples.len() >= self.triples_max || !self.take(bytes(&triple)) {
            self.full = true;
            return;
        }
        self.has_patterns |= triple.predicate.as_ref() == COPY;
        self.triples.push(triple);
    }

    /// Takes `bytes` of what is left; false when that is more than is left.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.full |= self.bytes > self.bytes_max;
        !self.full
    }

    /// Bytes that may still be taken.
    pub(super) fn left(&self) -> usize {
        self.bytes_max.saturating_sub(self.bytes)
    }

    /// Nothing more is taken.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Says that something was left out.
    pub(super) fn cut(&self) -> Option<Diagnostic> {
        self.full.then(|| {
            let message = format!(
                "the RDFa of the page gives more than {} triples or {} bytes, or takes too long; the rest was left out",
                self.triples_max, self.bytes_max
            );
            Diagnostic::warning("rdfa-cut", message)
        })
    }

    /// True for the statement that something is a pattern.
    pub(super) fn is_pattern(triple: &Triple) -> bool {
        triple.predicate.as_ref() == rdf::TYPE
            && matches!(&triple.object, Term::NamedNode(class) if class.as_ref() == PATTERN)
    }
}

fn bytes(triple: &Triple) -> usize {
    let subject = match &triple.subject {
        NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
        NamedOrBlankNode::BlankNode(_) => 20,
    };
    // What the allocator and the vector add.
    const OVERHEAD: usize = 100;
    OVERHEAD + subject + triple.predicate.as_str().len() + term_bytes(&triple.object)
}

/// About the memory a term takes.
pub(super) fn term_bytes(term: &Term) -> usize {
    match term {
        Term::NamedNode(node) => node.as_str().len(),
        Term::Literal(literal) => literal.value().len() + 20,
        #[allow(
            unreachable_patterns,
            reason = "terms of RDF 1.2 appear when a crate in the build asks for them"
        )]
        _ => 20,
    }
}
