//! A link query: a SPARQL `SELECT` that binds `?link`, and `?anchor` if it likes.
//!
//! Parsed once, when the configuration is read, with an error that names the query. `?page` is the
//! page's URL wherever a query mentions it: the text gets a `VALUES` clause for it, with a stand-in
//! IRI that [`PageView`] knows as the page.

use std::collections::BTreeSet;

use spareval::{QueryEvaluator, QueryResults};
use spargebra::algebra::GraphPattern;
use spargebra::{Query, SparqlParser};

use crate::simple::Simple;
use crate::view::{PAGE_STAND_IN, PageView};

/// The default: what plain HTML gives.
const PLAIN_LINKS: &str = "SELECT ?link ?anchor WHERE {
    ?page <http://www.w3.org/2000/01/rdf-schema#seeAlso> ?link
    OPTIONAL { ?link <http://www.w3.org/2000/01/rdf-schema#label> ?anchor }
}";

/// The items of feeds, RSS 1.0's own among them, which write the address as text.
const FEED_ITEMS: &str = "SELECT ?link ?anchor WHERE {
    ?item a <http://purl.org/rss/1.0/item> ; <http://purl.org/rss/1.0/link> ?link
    OPTIONAL { ?item <http://purl.org/rss/1.0/title> ?anchor }
}";

/// A query that finds links in a page's graph.
#[derive(Debug, Clone)]
pub struct LinkQuery {
    name: String,
    text: String,
    query: Query,
    /// The same, if it is of the common shape.
    simple: Option<Simple>,
}

/// Why a text is no link query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryProblem {
    /// Not SPARQL.
    #[error("link query `{name}`: {reason}")]
    Syntax {
        /// The query's name.
        name: String,
        /// What the parser said.
        reason: String,
    },
    /// `ASK`, `CONSTRUCT` or `DESCRIBE`.
    #[error("link query `{name}` must be a SELECT")]
    NotSelect {
        /// The query's name.
        name: String,
    },
    /// `?link` is not selected.
    #[error("link query `{name}` must select ?link")]
    NoLink {
        /// The query's name.
        name: String,
    },
    /// `SERVICE` would leave the page.
    #[error("link query `{name}` may not use SERVICE")]
    Service {
        /// The query's name.
        name: String,
    },
    /// `?page` is used where it cannot be given.
    #[error(
        "link query `{name}` uses ?page, but its WHERE is nothing but a subquery: put another pair of braces around that"
    )]
    Page {
        /// The query's name.
        name: String,
    },
}

impl LinkQuery {
    /// Parses a query; `name` is for messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, QueryProblem> {
        let owned = || name.to_owned();
        let syntax = |error: spargebra::SparqlSyntaxError| QueryProblem::Syntax {
            name: owned(),
            reason: error.to_string(),
        };
        let mut query = SparqlParser::new().parse_query(text).map_err(syntax)?;
        if let Some(with_page) = give_page(text) {
            query = SparqlParser::new()
                .parse_query(&with_page)
                .map_err(|_| QueryProblem::Page { name: owned() })?;
        }
        let Query::Select { pattern, .. } = &query else {
            return Err(QueryProblem::NotSelect { name: owned() });
        };
        if !selects_link(pattern) {
            return Err(QueryProblem::NoLink { name: owned() });
        }
        if words(text).any(|(_, word)| word.eq_ignore_ascii_case("service")) {
            return Err(QueryProblem::Service { name: owned() });
        }
        let simple = Simple::of(&query);
        Ok(Self { name: owned(), text: text.to_owned(), query, simple })
    }

    /// The links of plain HTML: `rdfs:seeAlso`, with the target's label as anchor.
    pub fn plain_links() -> Self {
        Self::parse("plain links", PLAIN_LINKS).unwrap_or_else(|problem| unreachable!("{problem}"))
    }

    /// The links of a feed's items, with the item's title as anchor.
    pub fn feed_items() -> Self {
        Self::parse("feed items", FEED_ITEMS).unwrap_or_else(|problem| unreachable!("{problem}"))
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text as given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Hands each row's link and anchor, by their numbers in the view, to `row`. What was found before a problem stays found.
    pub(crate) fn run(&self, view: &PageView<'_>, row: impl FnMut(u32, Option<u32>)) -> Result<(), String> {
        match &self.simple {
            Some(simple) => simple.run(view, row),
            None => self.evaluate(view, row),
        }
    }

    fn evaluate(&self, view: &PageView<'_>, mut row: impl FnMut(u32, Option<u32>)) -> Result<(), String> {
        let evaluator = QueryEvaluator::new();
        let mut prepared = evaluator.prepare(&self.query);
        // Inner graphs are part of what the page says; the view has them all in one.
        prepared.dataset_mut().set_default_graph(vec![oxrdf::GraphName::DefaultGraph]);
        let results = prepared.execute(view.clone()).map_err(|error| error.to_string())?;
        let QueryResults::Solutions(solutions) = results else { return Ok(()) };
        for (count, solution) in solutions.enumerate() {
            let solution = solution.map_err(|error| error.to_string())?;
            // Patterns that share no variable multiply within the evaluator, where the view cannot count.
            if count as u64 >= view.rows_max() {
                return Err(format!("gave more than {} rows, which is the limit", view.rows_max()));
            }
            if let Some(link) = solution.get("link") {
                row(view.number(link), solution.get("anchor").map(|anchor| view.number(anchor)));
            }
        }
        Ok(())
    }
}

/// True when the outermost projection has `?link`.
fn selects_link(mut pattern: &GraphPattern) -> bool {
    loop {
        match pattern {
            GraphPattern::Project { variables, .. } => {
                return variables.iter().any(|variable| variable.as_str() == "link");
            }
            GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. } => {
                pattern = inner;
            }
            _ => return false,
        }
    }
}

/// The query with `?page` bound at the beginning of its outermost group, if it mentions it.
fn give_page(text: &str) -> Option<String> {
    let mentions: BTreeSet<&str> = words(text).map(|(_, word)| word).collect();
    if !mentions.contains("?page") && !mentions.contains("$page") {
        return None;
    }
    let brace = words(text).find(|(_, word)| *word == "{").map(|(offset, _)| offset + 1)?;
    Some(format!("{} VALUES ?page {{ <{PAGE_STAND_IN}> }} {}", &text[..brace], &text[brace..]))
}

/// The words, variables and braces of a query with their offsets, without what is in strings, IRIs and comments.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let mut index = 0;
    std::iter::from_fn(move || {
        while index < bytes.len() {
            let start = index;
            match bytes[index] {
                b'#' => index += text[index..].find('\n').unwrap_or(bytes.len() - index),
                b'"' | b'\'' => index = string_end(text, index),
                b'<' => {
                    // `<` opens an IRI only if one follows; otherwise it compares.
                    let end = text[index + 1..].find(['>', ' ', '\n', '"', '{', '<']);
                    index += match end {
                        Some(end) if bytes[index + 1 + end] == b'>' => end + 2,
                        _ => 1,
                    };
                }
                b'{' | b'}' => {
                    index += 1;
                    return Some((start, &text[start..index]));
                }
                byte if is_word(byte) || matches!(byte, b'?' | b'$') => {
                    index += 1;
                    while index < bytes.len() && is_word(bytes[index]) {
                        index += 1;
                    }
                    return Some((start, &text[start..index]));
                }
                _ => index += 1,
            }
        }
        None
    })
}

/// The offset after a string that begins at `start`.
fn string_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let quote = &bytes[start..=start];
    let long = bytes[start..].starts_with(&quote.repeat(3));
    let delimiter = quote.repeat(if long { 3 } else { 1 });
    let mut index = start + delimiter.len();
    while index < bytes.len() && !bytes[index..].starts_with(&delimiter) {
        index += if bytes[index] == b'\\' { 2 } else { 1 };
    }
    (index + delimiter.len()).min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_found_where_it_is_meant() {
        for (text, expected) in [
            ("SELECT ?link { ?page ?p ?link }", true),
            ("SELECT ?link { $page ?p ?link }", true),
            ("SELECT ?link { ?pages ?p ?link }", false),
            ("SELECT ?link { ?s ?p ?link FILTER(?link != \"?page\") }", false),
            ("SELECT ?link { ?s <urn:x#?page> ?link }", false),
            ("SELECT ?link { ?s ?p ?link } # ?page", false),
            ("SELECT ?link { ?s ?p ?link FILTER(?a<?b && ?page != ?link) }", true),
            ("SELECT ?link { ?s ?p ?link FILTER(?a != '''?page \\''' x''') }", false),
        ] {
            assert_eq!(give_page(text).is_some(), expected, "{text}");
        }
    }

    #[test]
    fn problems_name_the_query() {
        for (text, expected) in [
            ("SELECT ?link WHERE {", "link query `mine`: "),
            ("ASK { ?s ?p ?o }", "link query `mine` must be a SELECT"),
            ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "link query `mine` must be a SELECT"),
            ("SELECT ?s { ?s ?p ?o }", "link query `mine` must select ?link"),
            (
                "SELECT ?link { SERVICE <http://x.example/> { ?s ?p ?link } }",
                "link query `mine` may not use SERVICE",
            ),
            ("SELECT ?link { SELECT ?link { ?page ?p ?link } }", "link query `mine` uses ?page, but"),
        ] {
            let problem = LinkQuery::parse("mine", text).unwrap_err().to_string();
            assert!(problem.starts_with(expected), "{text}: {problem}");
        }
        for text in [
            "SELECT * { ?s ?p ?link }",
            "SELECT DISTINCT ?link { ?page ?p ?link } ORDER BY ?link LIMIT 10",
            "PREFIX s: <http://schema.org/> SELECT (?url AS ?link) ?anchor WHERE { ?page s:url ?url OPTIONAL { ?url s:name ?anchor } }",
        ] {
            LinkQuery::parse("mine", text).unwrap();
        }
    }

    /// Queries of the common shape find the same rows by both ways, on pages of all kinds.
    #[test]
    fn the_short_way_agrees_with_the_evaluator() {
        use std::collections::BTreeSet;

        use oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term};
        use webloom_model::PageUrl;

        let page = PageUrl::parse("http://p.example/").unwrap();
        let node = |number: u64| match number {
            0 => page.graph_name(),
            _ => NamedNode::new_unchecked(format!("http://p.example/{number}")),
        };
        let queries = [
            PLAIN_LINKS,
            FEED_ITEMS,
            "SELECT ?link { ?page ?p ?link }",
            "SELECT DISTINCT ?link ?anchor { ?link ?p ?anchor . ?page ?p ?x }",
            "SELECT ?link { ?link ?p ?link }",
            "SELECT ?link ?anchor { ?s ?p ?link OPTIONAL { ?link ?q ?anchor . ?anchor ?r ?page } OPTIONAL { ?s ?r ?anchor } }",
            "SELECT ?link ?anchor { OPTIONAL { ?page <http://p.example/1> ?link } OPTIONAL { ?link ?p ?anchor } }",
            "SELECT ?link ?anchor { ?s ?p _:a . _:a ?q ?link OPTIONAL { ?link <http://p.example/2> ?anchor } }",
            "SELECT ?link { ?s ?p 'text' ; <http://p.example/1> ?link }",
            "SELECT ?link ?anchor { ?s <http://p.example/nowhere> ?link OPTIONAL { ?link ?p ?anchor } }",
            "SELECT ?link ?anchor { ?s <http://p.example/1> ?link OPTIONAL { ?link <http://p.example/nowhere> ?anchor } }",
        ];
        for seed in 0..60_u64 {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut below = |limit: u64| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                state % limit
            };
            let quads: Vec<Quad> = (0..below(25))
                .map(|_| {
                    let subject: NamedOrBlankNode = match below(4) {
                        0 => BlankNode::new_unchecked("b").into(),
                        _ => node(below(4)).into(),
                    };
                    let object: Term = match below(5) {
                        0 => Literal::from("text").into(),
                        1 => BlankNode::new_unchecked("b").into(),
                        _ => node(below(4)).into(),
                    };
                    Quad::new(subject, node(below(4)), object, GraphName::DefaultGraph)
                })
                .collect();
            for text in queries {
                let query = LinkQuery::parse("mine", text).unwrap();
                let view = PageView::new(&page, &quads, 1_000_000);
                let simple = query.simple.as_ref().unwrap_or_else(|| panic!("{text} has the shape"));
                let (mut short, mut long) = (BTreeSet::new(), BTreeSet::new());
                let found = |rows: &mut BTreeSet<_>, link, anchor| {
                    rows.insert((link, anchor));
                };
                simple.run(&view, |link, anchor| found(&mut short, link, anchor)).unwrap();
                query.evaluate(&view, |link, anchor| found(&mut long, link, anchor)).unwrap();
                assert_eq!(short, long, "{text} on {quads:?}");
            }
        }
    }

    #[test]
    fn other_shapes_are_left_to_the_evaluator() {
        for text in [
            "SELECT ?link { ?s ?p ?link FILTER(isIRI(?link)) }",
            "SELECT ?link { ?s <http://p.example/1>+ ?link }",
            "SELECT ?link { { ?s ?p ?link } UNION { ?link ?p ?o } }",
            "SELECT ?link { ?s ?p ?link OPTIONAL { ?link ?q ?o FILTER(?o != ?p) } }",
            "SELECT ?link { GRAPH ?g { ?s ?p ?link } }",
            "SELECT ?link FROM <http://p.example/g> { ?s ?p ?link }",
            "SELECT (?o AS ?link) { ?s ?p ?o }",
            "SELECT ?link { ?s ?p ?link } LIMIT 1",
            "SELECT ?link { VALUES ?p { <http://p.example/1> } ?s ?p ?link }",
        ] {
            assert!(LinkQuery::parse("mine", text).unwrap().simple.is_none(), "{text}");
        }
    }
}
