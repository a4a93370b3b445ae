#![doc = include_str!("../README.md")]

mod descriptions;
pub mod novelty;
pub mod parameters;
mod query;
pub mod scope;
mod simple;
mod view;

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
pub use novelty::{JudgedPage, Novelty, NoveltyRules, Verdict, WordRuns};
use oxrdf::{Term, TermRef};
pub use parameters::ParameterSet;
pub use query::{LinkQuery, QueryProblem};
pub use scope::{Reach, Refusal, Scope, ScopeFilters, ScopeProblem};
use view::PageView;
use webloom_model::{Diagnostic, LinkCandidate, PageGraph, PageLink, PageLinks, PageUrl};

/// Which links are followed.
#[derive(Debug, Clone)]
pub struct LinkRules {
    /// Where candidates come from. The words of a link are those of the first query that has some.
    pub queries: Vec<LinkQuery>,
    /// Follow what a page names as its description in RDF, before its other links.
    pub descriptions: bool,
    /// What the crawl covers.
    pub scope: Scope,
    /// Parameters that links are followed without.
    pub drop_parameters: ParameterSet,
    /// Obey `nofollow`, of whole pages and of single links.
    pub obey_nofollow: bool,
    /// Links of one page.
    pub links_max: usize,
    /// Links of a page that is there for its links: a sitemap.
    pub listed_links_max: usize,
    /// Characters of a link's words.
    pub anchor_chars_max: usize,
    /// Rows that a query may look at on one page, and rows that it may give.
    pub rows_max: u64,
}

impl Default for LinkRules {
    fn default() -> Self {
        Self {
            queries: vec![LinkQuery::plain_links(), LinkQuery::feed_items()],
            descriptions: true,
            scope: Scope::default(),
            drop_parameters: ParameterSet::default(),
            obey_nofollow: true,
            links_max: 5_000,
            listed_links_max: 50_000,
            anchor_chars_max: 200,
            rows_max: 1_000_000,
        }
    }
}

/// What a page leads to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Distinct targets: descriptions of the page, then others, each in the order the page mentions them.
    pub links: Vec<LinkCandidate>,
    /// Targets that are not followed, by reason.
    pub refused: BTreeMap<Refusal, u64>,
    /// Queries that could not be answered.
    pub diagnostics: Vec<Diagnostic>,
}

/// The words of a link.
struct Words {
    /// The number of the query that found them, then of the term they come from.
    place: (usize, u32),
    text: String,
}

/// Phase 5 for one page: found at `depth`, saying `graph`.
pub fn extract_links(page: &PageUrl, depth: u32, graph: &PageGraph, rules: &LinkRules) -> Extracted {
    let mut extracted = Extracted::default();
    let links_max =
        if graph.lists_links { rules.listed_links_max.max(rules.links_max) } else { rules.links_max };
    let view = PageView::new(page, &graph.quads, rules.rows_max);

    // Targets by their place in the page, and of several words those of the first query, then those that the page
    // has first, so that nothing depends on how a query is evaluated.
    let mut found: BTreeMap<u32, Option<Words>> = BTreeMap::new();
    for (number, query) in rules.queries.iter().enumerate() {
        if let Err(problem) = query.run(&view, |target, anchor| {
            let best = found.entry(target).or_default();
            let Some(anchor) = anchor else { return };
            let place = (number, anchor);
            if best.as_ref().is_none_or(|best| place < best.place)
                && let Some(text) = view.with_term(anchor, |term| words_of(term, rules.anchor_chars_max))
            {
                *best = Some(Words { place, text });
            }
        }) {
            let message = format!("link query `{}`: {problem}", query.name());
            extracted.diagnostics.push(Diagnostic::warning("link-query", message));
        }
    }

    let mut row = Row::new(page, depth, links_max, rules, extracted);
    let descriptions = if rules.descriptions { descriptions::of(&view) } else { Vec::new() };
    let descriptions = descriptions.into_iter().map(|target| (target, None));
    for (target, anchor) in descriptions.chain(found) {
        let anchor = anchor.map(|words| words.text);
        let text = match view.term(target) {
            Some(Term::NamedNode(node)) => node.into_string(),
            // Feeds and structured data give links as text, too.
            Some(Term::Literal(literal)) => literal.destruct().0,
            _ => {
                row.refuse(Refusal::NotAUrl);
                continue;
            }
        };
        match PageUrl::parse(&text) {
            Ok(url) => row.add(url, anchor, graph.lists_links, |url| {
                graph.robots.nofollow
                    || graph.nofollow.contains(&text)
                    || graph.nofollow.contains(url.as_str())
            }),
            Err(problem) => row.refuse(Refusal::from(&problem)),
        }
    }
    row.extracted
}

/// The same for a page of which only the links are known. Link queries are not asked: there is nothing they could be asked about.
pub fn follow_links(page: &PageUrl, depth: u32, links: PageLinks, rules: &LinkRules) -> Extracted {
    let PageLinks { links, robots } = links;
    let mut row = Row::new(page, depth, rules.links_max, rules, Extracted::default());
    for PageLink { target, anchor, followed } in links {
        row.add(target, anchor, false, |_| robots.nofollow || !followed);
    }
    row.extracted
}

/// The links of a page, one after the other.
struct Row<'a> {
    page: &'a PageUrl,
    depth: u32,
    links_max: usize,
    rules: &'a LinkRules,
    /// The places of those that are taken.
    numbers: HashMap<PageUrl, usize, RandomState>,
    extracted: Extracted,
}

impl<'a> Row<'a> {
    fn new(
        page: &'a PageUrl,
        depth: u32,
        links_max: usize,
        rules: &'a LinkRules,
        extracted: Extracted,
    ) -> Self {
        Self { page, depth, links_max, rules, numbers: HashMap::default(), extracted }
    }

    fn refuse(&mut self, refusal: Refusal) {
        *self.extracted.refused.entry(refusal).or_default() += 1;
    }

    /// Takes a link, or counts why not. `listed`: the page is there for its links.
    fn add(
        &mut self,
        url: PageUrl,
        anchor: Option<String>,
        listed: bool,
        nofollow: impl FnOnce(&PageUrl) -> bool,
    ) {
        let url = self.rules.drop_parameters.drop_from(url);
        // A page is not its own link, and one target under two spellings is one.
        if url == *self.page {
            return;
        }
        if let Some(&number) = self.numbers.get(&url) {
            let link: &mut LinkCandidate = &mut self.extracted.links[number];
            if link.anchor.is_none() {
                link.anchor = anchor;
            }
            return;
        }
        if self.rules.obey_nofollow && nofollow(&url) {
            return self.refuse(Refusal::Nofollow);
        }
        if let Err(refusal) = admits(&self.rules.scope, &url, listed) {
            return self.refuse(refusal);
        }
        if self.extracted.links.len() >= self.links_max {
            return self.refuse(Refusal::TooMany);
        }
        self.numbers.insert(url.clone(), self.extracted.links.len());
        self.extracted.links.push(LinkCandidate {
            url,
            depth: self.depth.saturating_add(1),
            found_on: Some(self.page.clone()),
            anchor,
            redirects: Vec::new(),
        });
    }
}

/// Asks the scope. A sitemap may list sitemaps that are packed, though no page ends like that.
fn admits(scope: &Scope, url: &PageUrl, listed: bool) -> Result<(), Refusal> {
    match scope.admits(url) {
        Err(Refusal::Extension) if listed && url.as_url().path().ends_with(".gz") => {
            scope.admits_any_extension(url)
        }
        verdict => verdict,
    }
}

/// The words of a link, white space collapsed, cut to size.
fn words_of(anchor: TermRef<'_>, chars_max: usize) -> Option<String> {
    let TermRef::Literal(literal) = anchor else { return None };
    let mut words = String::new();
    for word in literal.value().split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        // A character takes four bytes at most; what is beyond need not be looked at.
        if words.len() > chars_max * 4 {
            break;
        }
    }
    if let Some((cut, _)) = words.char_indices().nth(chars_max) {
        words.truncate(cut);
        words.truncate(words.trim_end().len());
    }
    (!words.is_empty()).then_some(words)
}
