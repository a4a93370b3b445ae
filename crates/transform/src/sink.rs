//! Where readers put what they find: quads, diagnostics, and the rest of a [`PageGraph`], under limits.

use std::time::Instant;

use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Quad, Term};
use webloom_model::{BlankScope, DetectedPage, Diagnostic, PageGraph, PageUrl, StepRecord};

use crate::dom::Dom;
use crate::maps::HashSet;
use crate::{Limits, Syntax, TransformConfig, room};

/// Quads among which duplicates are looked for. The index drops them anyway, so this is for people who read what is printed.
const DEDUPLICATED_MAX: usize = 100_000;
/// What a quad takes in memory beside its text.
const QUAD_OVERHEAD: usize = 360;
/// Contexts of one page that are told as missing.
const MISSING_MAX: usize = 64;

/// Collects what readers find on one page.
#[derive(Debug)]
pub struct Sink<'a> {
    pub(crate) graph: PageGraph,
    config: &'a TransformConfig,
    blank: BlankScope,
    deadline: Instant,
    graph_bytes: usize,
    full: bool,
    diagnostics_dropped: usize,
    /// The tree of HTML that was read, and of which bytes, when stylesheets may want it.
    tree: Option<(usize, HtmlTree)>,
}

/// Where the bytes of a page are, which tells it from what steps of rules make of it: they are there as long as it is.
fn place_of(page: &DetectedPage) -> usize {
    page.content().as_ptr() as usize
}

/// A page that was parsed as HTML.
#[derive(Debug)]
pub(crate) struct HtmlTree {
    pub(crate) dom: Dom,
    /// What references are resolved against.
    pub(crate) base: PageUrl,
}

impl<'a> Sink<'a> {
    pub(crate) fn new(url: &PageUrl, config: &'a TransformConfig) -> Self {
        Self {
            graph: PageGraph::default(),
            config,
            blank: BlankScope::new(url.as_str()),
            deadline: Instant::now() + config.limits.time_max,
            graph_bytes: 0,
            full: false,
            diagnostics_dropped: 0,
            tree: None,
        }
    }

    /// Keeps the tree of a page for those who come after the syntaxes, if anybody may.
    pub(crate) fn keep_tree(&mut self, page: &DetectedPage, tree: HtmlTree) {
        let has_rules = self.config.wants(Syntax::Xslt) && !self.config.rules.is_empty();
        if has_rules || self.config.wants_grddl(&page.page.url) {
            self.tree = Some((place_of(page), tree));
        }
    }

    /// The tree of a page that was read before.
    pub(crate) fn tree_of(&self, page: &DetectedPage) -> Option<&HtmlTree> {
        self.tree.as_ref().filter(|(place, _)| *place == place_of(page)).map(|(_, tree)| tree)
    }

    /// The same, to have.
    pub(crate) fn take_tree(&mut self, page: &DetectedPage) -> Option<HtmlTree> {
        self.tree.take_if(|(place, _)| *place == place_of(page)).map(|(_, tree)| tree)
    }

    /// The settings.
    pub fn config(&self) -> &'a TransformConfig {
        self.config
    }

    /// The limits among the settings.
    pub fn limits(&self) -> &'a Limits {
        &self.config.limits
    }

    /// When readers must stop.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Begins a document or an embedded block: blank node labels from here on mean new nodes.
    pub fn begin_block(&mut self) {
        self.blank.begin_block();
    }

    /// Takes a quad, its blank nodes named as the block names them. False when the page has had
    /// enough: the reader should stop.
    pub fn push(&mut self, quad: Quad) -> bool {
        if self.full {
            return false;
        }
        let limits = self.limits();
        self.graph_bytes = self.graph_bytes.saturating_add(quad_bytes(&quad));
        if self.graph.quads.len() >= limits.quads_max || self.graph_bytes > limits.graph_bytes_max {
            self.full = true;
            let message = if self.graph_bytes > limits.graph_bytes_max {
                format!(
                    "the page's quads take more than {} bytes; the rest was left out",
                    limits.graph_bytes_max
                )
            } else {
                format!("the page gives more than {} quads; the rest was left out", limits.quads_max)
            };
            self.diagnose(Diagnostic::warning("quads-cut", message));
            return false;
        }
        let quad = self.blank.rename_quad(quad);
        let quads_max = limits.quads_max.min(limits.graph_bytes_max / QUAD_OVERHEAD);
        room::push(&mut self.graph.quads, quad, quads_max);
        true
    }

    /// Takes a triple, for the default graph.
    pub fn push_triple(
        &mut self,
        subject: impl Into<NamedOrBlankNode>,
        predicate: impl Into<NamedNode>,
        object: impl Into<Term>,
    ) -> bool {
        self.push(Quad::new(subject, predicate, object, GraphName::DefaultGraph))
    }

    /// Keeps the first of quads that are equal.
    pub(crate) fn remove_duplicates(&mut self) {
        if self.graph.quads.len() > DEDUPLICATED_MAX {
            return;
        }
        let mut seen = HashSet::with_capacity_and_hasher(self.graph.quads.len(), Default::default());
        let first: Vec<bool> = self.graph.quads.iter().map(|quad| seen.insert(quad)).collect();
        if seen.len() < first.len() {
            let mut first = first.into_iter();
            self.graph.quads.retain(|_| first.next().unwrap_or(true));
        }
    }

    /// True while the page may give more quads.
    pub(crate) fn has_room(&self) -> bool {
        !self.full
    }

    /// Takes a finding; beyond the limit it is only counted.
    pub fn diagnose(&mut self, diagnostic: Diagnostic) {
        if self.graph.diagnostics.len() < self.limits().diagnostics_max {
            self.graph.diagnostics.push(diagnostic);
        } else {
            self.diagnostics_dropped += 1;
        }
    }

    /// Takes note of a JSON-LD context that nobody knew.
    pub fn miss(&mut self, iri: &str) {
        if self.graph.missing.len() < MISSING_MAX && !self.graph.missing.iter().any(|known| known == iri) {
            self.graph.missing.push(iri.to_owned());
        }
    }

    /// Takes note of a document of GRDDL that nobody knew.
    pub(crate) fn miss_document(&mut self, iri: &str) {
        let missing = &mut self.graph.missing_documents;
        if missing.len() < MISSING_MAX && !missing.iter().any(|known| known == iri) {
            missing.push(iri.to_owned());
        }
    }

    /// Takes note of what a step of a rule did.
    pub(crate) fn record(&mut self, step: StepRecord) {
        self.graph.steps.push(step);
    }

    pub(crate) fn finish(mut self) -> PageGraph {
        if self.diagnostics_dropped > 0 {
            let message = format!("{} more findings were left out", self.diagnostics_dropped);
            self.graph.diagnostics.push(Diagnostic::note("more-diagnostics", message));
        }
        self.graph
    }
}

/// What a quad takes in memory, about: its terms, and what the allocator and the vector add to them.
fn quad_bytes(quad: &Quad) -> usize {
    let node = |node: &NamedOrBlankNode| match node {
        NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
        NamedOrBlankNode::BlankNode(_) => 20,
    };
    let object = match &quad.object {
        Term::NamedNode(node) => node.as_str().len(),
        Term::Literal(literal) => literal.value().len() + literal.datatype().as_str().len(),
        #[allow(
            unreachable_patterns,
            reason = "terms of RDF 1.2 appear when a crate in the build asks for them"
        )]
        _ => 20,
    };
    QUAD_OVERHEAD + node(&quad.subject) + quad.predicate.as_str().len() + object
}
