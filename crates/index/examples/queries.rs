//! Generates a crawl, asks it the questions people ask crawls, and prints what each answer takes, as JSON.
//!
//! `cargo run --release -p webloom-index --example queries -- [PAGES] [--shape] [--compact] [--dump FILE]`
//!
//! Each query runs five times; the best time counts. `--shape` leaves the order of joins to the evaluator's optimiser. `--dump` writes the
//! quads as N-Quads, so that the same queries can be put to another store, and beside them, in the graph without a name, the union of all
//! pages, which is what a pattern outside of `GRAPH` means here. With each result comes a sum over its rows, whatever their order, by which
//! answers can be compared.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use oxrdf::{Literal, NamedNode, Term, Triple};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use webloom_index::{
    Batch, GraphPattern, GraphWrite, Index, IndexConfig, JoinOrder, QueryOptions, QueryResults, Snapshot,
};

const PREFIXES: &str = "PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> \
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX dct: <http://purl.org/dc/terms/> \
    PREFIX foaf: <http://xmlns.com/foaf/0.1/> PREFIX s: <http://schema.org/> PREFIX wl: <urn:webloom:ns#> ";

/// How often each query runs.
const RUNS: usize = 5;

/// Name and text. The page and things they name exist from 100 pages on.
const QUERIES: [(&str, &str); 27] = [
    ("subject", "SELECT ?p ?o { <http://site7.example/7> ?p ?o }"),
    ("object", "SELECT ?s ?p { ?s ?p <http://site7.example/7> }"),
    ("predicate", "SELECT (COUNT(*) AS ?n) { ?s s:price ?o }"),
    ("subject-predicate", "SELECT ?o { <http://site7.example/7> rdfs:seeAlso ?o }"),
    ("predicate-object", "SELECT ?s { ?s s:brand 'brand 3' }"),
    ("page", "SELECT ?s ?p ?o { GRAPH <http://site7.example/7> { ?s ?p ?o } }"),
    ("metadata", "SELECT ?page { GRAPH ?g { ?page wl:status 404 } }"),
    ("graphs-of-a-thing", "SELECT ?g { GRAPH ?g { ?s s:name 'person 11' } }"),
    ("count-all", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"),
    (
        "star-selective",
        "SELECT ?name ?price { ?x s:brand 'brand 3' ; s:name ?name ; s:price ?price ; a s:Product }",
    ),
    ("star-large", "SELECT (COUNT(*) AS ?n) { ?x a s:Product ; s:name ?name ; s:price ?price }"),
    (
        "star-written-badly",
        "SELECT ?page ?o { ?x a s:Product . ?x s:price ?p . ?x s:url ?page . ?x s:brand 'brand 3' . ?page dct:title ?o }",
    ),
    ("chain-2", "SELECT (COUNT(*) AS ?n) { <http://site7.example/7> rdfs:seeAlso ?a . ?a rdfs:seeAlso ?b }"),
    (
        "chain-3",
        "SELECT (COUNT(*) AS ?n) { ?a rdfs:seeAlso ?b . ?b rdfs:seeAlso ?c . ?c s:about ?x . ?x s:name 'person 11' }",
    ),
    (
        "chain-large",
        "SELECT (COUNT(*) AS ?n) { ?page dct:title ?t . ?page rdfs:seeAlso ?to . ?to dct:title ?u }",
    ),
    ("rare-type", "SELECT ?x ?n { ?x s:name ?n . ?x a s:Event . ?p s:about ?x . ?p dct:language 'de' }"),
    ("both-directions", "SELECT (COUNT(*) AS ?n) { ?a rdfs:seeAlso ?b . ?b rdfs:seeAlso ?a }"),
    ("optional", "SELECT ?x ?mail { ?x a s:Person . OPTIONAL { ?x s:email ?mail } }"),
    ("union", "SELECT ?x { { ?x s:brand 'brand 3' } UNION { ?x s:name 'person 11' } }"),
    ("filter", "SELECT (COUNT(*) AS ?n) { ?x s:price ?p FILTER(?p > 9900) }"),
    ("regex", "SELECT ?x { ?x s:name ?n FILTER(REGEX(?n, '^person 1[0-9]$')) }"),
    (
        "not-exists",
        "SELECT (COUNT(*) AS ?n) { ?p dct:language 'de' FILTER NOT EXISTS { ?p s:about ?x . ?x a s:Person } }",
    ),
    ("path", "SELECT (COUNT(*) AS ?n) { <http://site7.example/7> rdfs:seeAlso/rdfs:seeAlso ?b }"),
    ("path-closure", "SELECT (COUNT(DISTINCT ?x) AS ?n) { ?x s:knows+ <http://people.example/11> }"),
    (
        "group",
        "SELECT ?b (COUNT(*) AS ?n) (SUM(?p) AS ?sum) { ?x s:brand ?b ; s:price ?p } GROUP BY ?b ORDER BY DESC(?n) ?b LIMIT 10",
    ),
    ("group-predicates", "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ORDER BY DESC(?n)"),
    ("join-with-metadata", "SELECT ?t { GRAPH ?m { ?page wl:status 404 } ?page dct:title ?t }"),
];

/// Only here: no other store has our text search.
const TEXT_QUERIES: [(&str, &str); 2] = [
    (
        "text",
        "SELECT ?s ?score { SERVICE <urn:webloom:text> { [] wl:query 'river' ; wl:subject ?s ; wl:score ?score ; wl:limit 20 } }",
    ),
    (
        "text-and-graph",
        "SELECT ?s ?price { ?s a s:Product ; s:price ?price . SERVICE <urn:webloom:text> { [] wl:query 'silver river' ; wl:subject ?s ; wl:predicate s:name } }",
    ),
];

const WORDS: [&str; 16] = [
    "graph", "page", "river", "market", "window", "history", "green", "system", "people", "travel", "music",
    "winter", "science", "garden", "letter", "silver",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let pages: u64 = match arguments.iter().find(|argument| argument.parse::<u64>().is_ok()) {
        Some(number) => number.parse()?,
        None => 20_000,
    };
    let directory = tempfile::tempdir()?;
    let index = Index::open(directory.path(), IndexConfig::default())?;
    let mut random = SmallRng::seed_from_u64(2006);
    for first in (0..pages).step_by(500) {
        let batch = (first..(first + 500).min(pages)).flat_map(|page| writes(page, pages, &mut random));
        index.commit(&Batch::from(batch.collect::<Vec<_>>()))?;
    }
    index.wait_for_merges();
    if has("--compact") {
        index.compact()?;
    }
    let snapshot = index.snapshot();
    if let Some(place) = arguments.iter().position(|argument| argument == "--dump") {
        let file = arguments.get(place + 1).ok_or("--dump needs a file")?;
        let mut out = std::io::BufWriter::new(std::fs::File::create(file)?);
        for quad in snapshot.quads()? {
            writeln!(out, "{} .", quad?)?;
        }
        for quad in snapshot.quads_for_pattern(None, None, None, GraphPattern::Union)? {
            let quad = quad?;
            writeln!(out, "{} {} {} .", quad.subject, quad.predicate, quad.object)?;
        }
        out.flush()?;
    }
    let options = QueryOptions {
        time_limit: Some(Duration::from_secs(120)),
        join_order: if has("--shape") { JoinOrder::Shape } else { JoinOrder::Statistics },
        ..QueryOptions::default()
    };
    let mut results = Vec::new();
    for (name, text) in QUERIES.into_iter().chain(TEXT_QUERIES) {
        let query = format!("{PREFIXES}{text}");
        let mut best = f64::INFINITY;
        let mut answer = Ok((0, 0));
        for _ in 0..RUNS {
            let started = Instant::now();
            answer = run(&snapshot, &query, &options);
            best = best.min(started.elapsed().as_secs_f64());
            if best > 10.0 {
                break;
            }
        }
        results.push(match answer {
            Ok((rows, sum)) => serde_json::json!({
                "name": name, "ms": (best * 1e6).round() / 1e3, "rows": rows, "sum": sum, "query": query,
            }),
            Err(error) => serde_json::json!({"name": name, "error": error.to_string(), "query": query}),
        });
    }
    let stats = snapshot.stats()?;
    let report = serde_json::json!({
        "pages": pages, "quads": stats.quads, "segments": stats.segments, "queries": results,
    });
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}

/// The number of rows, and the sum of a checksum of each.
fn run(
    snapshot: &Snapshot,
    query: &str,
    options: &QueryOptions,
) -> Result<(usize, u64), Box<dyn std::error::Error>> {
    let (mut rows, mut sum) = (0, 0);
    match snapshot.query(query, options)? {
        QueryResults::Solutions(solutions) => {
            let mut line = String::new();
            for solution in solutions {
                line.clear();
                for value in solution?.values() {
                    if let Some(term) = value {
                        write!(line, "{term}")?;
                    }
                    line.push('\t');
                }
                rows += 1;
                sum += u64::from(crc32fast::hash(line.as_bytes()));
            }
        }
        QueryResults::Graph(triples) => {
            for triple in triples {
                rows += 1;
                sum += u64::from(crc32fast::hash(triple?.to_string().as_bytes()));
            }
        }
        QueryResults::Boolean(answer) => (rows, sum) = (1, u64::from(answer)),
    }
    Ok((rows, sum))
}

fn node(text: impl Into<String>) -> NamedNode {
    NamedNode::new_unchecked(text)
}

fn schema(local: &str) -> NamedNode {
    node(format!("http://schema.org/{local}"))
}

fn text(value: impl Into<String>) -> Term {
    Literal::new_simple_literal(value).into()
}

fn words(random: &mut SmallRng, count: usize) -> String {
    (0..count).map(|_| WORDS[random.random_range(0..WORDS.len())]).collect::<Vec<_>>().join(" ")
}

fn url(page: u64) -> NamedNode {
    node(format!("http://site{}.example/{page}", page % 97))
}

/// A page and its metadata: links (few pages have many), products, now and then a person or an event.
fn writes(number: u64, pages: u64, random: &mut SmallRng) -> [GraphWrite; 2] {
    let rdf_type = oxrdf::vocab::rdf::TYPE.into_owned();
    let see_also = oxrdf::vocab::rdfs::SEE_ALSO.into_owned();
    let label = oxrdf::vocab::rdfs::LABEL.into_owned();
    let page = url(number);
    let language = if number.is_multiple_of(20) { "de" } else { "en" };
    let mut triples = vec![
        Triple::new(page.clone(), rdf_type.clone(), node("http://xmlns.com/foaf/0.1/Document")),
        Triple::new(
            page.clone(),
            node("http://purl.org/dc/terms/title"),
            text(format!("{} {number}", words(random, 4))),
        ),
        Triple::new(page.clone(), node("http://purl.org/dc/terms/description"), text(words(random, 15))),
        Triple::new(page.clone(), node("http://purl.org/dc/terms/language"), text(language)),
    ];
    for _ in 0..18 {
        // Squared, so that some pages are linked to much more than others.
        let place = random.random::<f64>();
        let target = url((place * place * pages as f64) as u64);
        triples.push(Triple::new(page.clone(), see_also.clone(), target.clone()));
        triples.push(Triple::new(target, label.clone(), text(words(random, 2))));
    }
    for thing in 0..3 {
        let product = node(format!("{}#product{thing}", page.as_str()));
        triples.push(Triple::new(product.clone(), rdf_type.clone(), schema("Product")));
        triples.push(Triple::new(product.clone(), schema("name"), text(words(random, 3))));
        triples.push(Triple::new(
            product.clone(),
            schema("price"),
            Literal::from(random.random_range(1..10_000)),
        ));
        triples.push(Triple::new(
            product.clone(),
            schema("brand"),
            text(format!("brand {}", random.random_range(0..2000))),
        ));
        triples.push(Triple::new(product, schema("url"), page.clone()));
    }
    if number.is_multiple_of(5) {
        let person = |number: u64| node(format!("http://people.example/{number}"));
        let who = number / 5 % 2000;
        triples.push(Triple::new(page.clone(), schema("about"), person(who)));
        triples.push(Triple::new(person(who), rdf_type.clone(), schema("Person")));
        triples.push(Triple::new(person(who), schema("name"), text(format!("person {who}"))));
        triples.push(Triple::new(person(who), schema("knows"), person(random.random_range(0..=who))));
        if who.is_multiple_of(3) {
            triples.push(Triple::new(person(who), schema("email"), text(format!("{who}@people.example"))));
        }
    }
    if number.is_multiple_of(500) {
        let event = node(format!("http://events.example/{number}"));
        triples.push(Triple::new(page.clone(), schema("about"), event.clone()));
        triples.push(Triple::new(event.clone(), rdf_type, schema("Event")));
        triples.push(Triple::new(event, schema("name"), text(words(random, 2))));
    }
    let metadata = node(format!("urn:webloom:meta:{}", page.as_str()));
    let status = if number % 1000 == 1 { 404 } else { 200 };
    let about = vec![
        Triple::new(page.clone(), node("urn:webloom:ns#status"), Literal::from(status)),
        Triple::new(page.clone(), node("urn:webloom:ns#bytes"), Literal::from(number as i64 * 37 % 90_000)),
        Triple::new(page.clone(), node("urn:webloom:ns#mediaType"), text("text/html")),
    ];
    [GraphWrite::replace(page, triples), GraphWrite::replace(metadata, about)]
}
