//! A page as a graph: what transform hands to index and extract.

use std::collections::HashSet;
use std::time::Duration;

use oxrdf::Quad;

use crate::{Diagnostic, PageUrl};

/// Words of a page, for full-text search and language detection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageText {
    /// The page's title.
    pub title: Option<String>,
    /// Visible text, white space collapsed.
    pub body: String,
    /// BCP 47 tag, as the page says or as guessed.
    pub language: Option<String>,
}

/// What a page's author asks of robots, from `<meta name=robots>` and `X-Robots-Tag`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RobotsDirectives {
    /// The page may be fetched, but what it says is not to be kept.
    pub noindex: bool,
    /// Its links are not to be followed.
    pub nofollow: bool,
}

/// Everything a page says, as quads, and what was noticed on the way.
#[derive(Debug, Clone, Default)]
pub struct PageGraph {
    /// Triples of the page in the default graph; inner named graphs (TriG, JSON-LD) keep their names
    /// here and become part of the page's graph when they are stored. Blank nodes are named after the page, so that
    /// the same page gives the same nodes.
    pub quads: Vec<Quad>,
    /// For search.
    pub text: PageText,
    /// What the author asks of robots.
    pub robots: RobotsDirectives,
    /// Link targets every mention of which says `rel=nofollow` (or `sponsored`, `ugc`).
    pub nofollow: HashSet<String>,
    /// Targets of the plain HTML links among the quads (`rdfs:seeAlso`), for the setting that drops them.
    pub plain_links: HashSet<String>,
    /// Where `<meta http-equiv=refresh>` leads, if not to the page itself. It is among the links, too.
    pub refresh: Option<PageUrl>,
    /// Those of them that a browser shows in place of the page: its frames, and where `<meta http-equiv=refresh>` sends on to.
    pub shown_instead: Vec<String>,
    /// The page is there for its links, as a sitemap is: more of them are followed than of other pages.
    pub lists_links: bool,
    /// What was wrong with the page.
    pub diagnostics: Vec<Diagnostic>,
    /// JSON-LD contexts that blocks of the page name and nobody knew, absolute, each once. Whoever can fetch them may
    /// transform the page again.
    pub missing: Vec<String>,
    /// Transformations, profiles and namespace documents of GRDDL that nobody knew; as for `missing`.
    pub missing_documents: Vec<String>,
    /// What the steps of the rules that apply to the page did, in order.
    pub steps: Vec<StepRecord>,
}

/// What one step of a rule did: a stylesheet, a service, a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRecord {
    /// The rule that the step is part of.
    pub rule: String,
    /// Which step: `stylesheet tides.xsl`, `service images`.
    pub step: String,
    /// How long it took, waiting for its turn not counted.
    pub elapsed: Duration,
    /// Bytes that it gave.
    pub bytes: u64,
    /// It gave nothing that could be used; a diagnostic says why.
    pub failed: bool,
}

impl PageGraph {
    /// The quads as they are stored: all in the graph of the page at `url`.
    pub fn into_page_graph(quads: Vec<Quad>, url: &PageUrl) -> Vec<Quad> {
        let graph = url.graph_name();
        quads
            .into_iter()
            .map(|quad| Quad::new(quad.subject, quad.predicate, quad.object, graph.clone()))
            .collect()
    }
}
