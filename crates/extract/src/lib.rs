#![doc = include_str!("../README.md")]

pub mod novelty;
pub mod parameters;
mod query;
pub mod scope;
mod simple;
mod view;

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
pub use novelty::{Novelty, NoveltyRules, Verdict, WordRuns};
use oxrdf::{Term, TermRef};
pub use parameters::ParameterSet;
pub use query::{LinkQuery, QueryProblem};
pub use scope::{Reach, Refusal, Scope, ScopeFilters, ScopeProblem};
use view::PageView;
use webloom_model::{Diagnostic, LinkCandidate, PageGraph, PageUrl};

/// Which links are followed.
#[derive(Debug, Clone)]
pub struct LinkRules {
    /// Where candidates come from. The words of a link are those of the first query that has some.
    pub queries: Vec<LinkQuery>,
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
    /// Distinct targets, in the order the page mentions them.
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

    let mut numbers: HashMap<PageUrl, usize, RandomState> = HashMap::default();
    for (target, anchor) in found {
        let anchor = anchor.map(|words| words.text);
        let refuse = |refusal: Refusal, extracted: &mut Extracted| {
            *extracted.refused.entry(refusal).or_default() += 1;
        };
        let text = match view.term(target) {
            Some(Term::NamedNode(node)) => node.into_string(),
            // Feeds and structured data give links as text, too.
            Some(Term::Literal(literal)) => literal.destruct().0,
            _ => {
                refuse(Refusal::NotAUrl, &mut extracted);
                continue;
            }
        };
        let url = match PageUrl::parse(&text) {
            Ok(url) => rules.drop_parameters.drop_from(url),
            Err(problem) => {
                refuse(Refusal::from(&problem), &mut extracted);
                continue;
            }
        };
        // A page is not its own link, and one target under two spellings is one.
        if url == *page {
            continue;
        }
        if let Some(&number) = numbers.get(&url) {
            let link: &mut LinkCandidate = &mut extracted.links[number];
            if link.anchor.is_none() {
                link.anchor = anchor;
            }
            continue;
        }
        if rules.obey_nofollow
            && (graph.robots.nofollow
                || graph.nofollow.contains(&text)
                || graph.nofollow.contains(url.as_str()))
        {
            refuse(Refusal::Nofollow, &mut extracted);
            continue;
        }
        if let Err(refusal) = admits(&rules.scope, &url, graph) {
            refuse(refusal, &mut extracted);
            continue;
        }
        if extracted.links.len() >= links_max {
            refuse(Refusal::TooMany, &mut extracted);
            continue;
        }
        numbers.insert(url.clone(), extracted.links.len());
        extracted.links.push(LinkCandidate {
            url,
            depth: depth.saturating_add(1),
            found_on: Some(page.clone()),
            anchor,
            redirects: Vec::new(),
        });
    }
    extracted
}

/// Asks the scope. A sitemap may list sitemaps that are packed, though no page ends like that.
fn admits(scope: &Scope, url: &PageUrl, graph: &PageGraph) -> Result<(), Refusal> {
    match scope.admits(url) {
        Err(Refusal::Extension) if graph.lists_links && url.as_url().path().ends_with(".gz") => {
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
