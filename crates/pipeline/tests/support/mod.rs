//! A SPARQL endpoint for tests: a real engine over a dataset, with the manners of those on the web.
//!
//! In: a request for `/sparql?query=…`. Out: N-Triples in no particular order, or a refusal. Limits, refusals and labels are set
//! by the fields of [`Endpoint`].

use std::collections::HashMap;

use oxrdf::{BlankNode, Dataset, NamedOrBlankNode, Term, Triple};
use spareval::{QueryEvaluator, QueryResults};
use spargebra::SparqlParser;
use webloom_model::PageUrl;
use webloom_testkit::{Answer, Request};

/// An endpoint.
#[derive(Debug)]
pub struct Endpoint {
    /// What it holds, in the default graph.
    pub dataset: Dataset,
    /// The most rows it gives, whatever it is asked for.
    pub rows_max: usize,
    /// The status with which it refuses a query, given its text; none when it answers.
    pub refuses: fn(&str) -> Option<u16>,
    /// It numbers the blank nodes of each answer from zero.
    pub numbers_blank_nodes: bool,
}

impl Endpoint {
    /// One that answers whatever it is asked.
    pub fn new(dataset: Dataset) -> Self {
        Self { dataset, rows_max: usize::MAX, refuses: |_| None, numbers_blank_nodes: false }
    }

    /// What it says to a request.
    pub fn answer(&self, request: &Request) -> Answer {
        let url = PageUrl::parse(&request.url()).unwrap();
        let query = url.as_url().query_pairs().find(|(name, _)| name == "query").unwrap().1.into_owned();
        if let Some(status) = (self.refuses)(&query) {
            return Answer::status(status);
        }
        let parsed = SparqlParser::new().parse_query(&query).unwrap();
        let results = QueryEvaluator::new().prepare(&parsed).execute(&self.dataset).unwrap();
        let QueryResults::Graph(triples) = results else { panic!("{query} is no CONSTRUCT") };
        let mut triples: Vec<Triple> = triples.take(self.rows_max).map(Result::unwrap).collect();
        if self.numbers_blank_nodes {
            number(&mut triples);
        }
        let mut lines: Vec<String> = triples.iter().map(|triple| format!("{triple} .\n")).collect();
        // A graph has no order, so nobody may count on one.
        lines.sort_by_key(|line| line.chars().rev().collect::<String>());
        Answer::new("application/n-triples", lines.concat())
    }
}

/// Gives labels in the order of appearance.
fn number(triples: &mut [Triple]) {
    let mut labels: HashMap<BlankNode, BlankNode> = HashMap::new();
    let mut label = |node: &BlankNode| {
        let next = BlankNode::new(format!("b{}", labels.len())).unwrap();
        labels.entry(node.clone()).or_insert(next).clone()
    };
    for triple in triples {
        if let NamedOrBlankNode::BlankNode(node) = &mut triple.subject {
            *node = label(node);
        }
        if let Term::BlankNode(node) = &mut triple.object {
            *node = label(node);
        }
    }
}
