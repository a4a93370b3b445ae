//! Generates things on many sites, searches them the way people do, and prints how long that takes, as JSON.
//!
//! `cargo run --release -p webloom-index --example searches -- [LITERALS]`
//!
//! Words are as frequent as in real text: the n-th word is n times rarer than the first. Searches are for one to three words drawn the same
//! way (most people look for words that many others use), for beginnings of words as somebody types them, for phrases, with filters, and
//! with a typing mistake.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::time::Instant;

use oxrdf::{Literal, NamedNode, Triple};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use webloom_index::{Batch, EntityQuery, GraphWrite, Index, IndexConfig, Snapshot};

/// How many different words there are.
const WORDS: usize = 60_000;
const LITERALS_PER_THING: u64 = 5;
const THINGS_PER_PAGE: u64 = 10;
const SITES: u64 = 2_000;
/// Searches of each kind.
const SEARCHES: usize = 300;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let literals: u64 = std::env::args().nth(1).map_or(Ok(5_000_000), |text| text.parse())?;
    let mut random = SmallRng::seed_from_u64(2006);
    let directory = tempfile::tempdir()?;
    let index = Index::open(directory.path(), IndexConfig::default())?;
    let pages = literals / LITERALS_PER_THING / THINGS_PER_PAGE;
    let started = Instant::now();
    for first in (0..pages).step_by(500) {
        let writes: Vec<GraphWrite> =
            (first..(first + 500).min(pages)).map(|number| page(number, &mut random)).collect();
        index.commit(&Batch::from(writes))?;
    }
    index.wait_for_merges();
    let committed = started.elapsed().as_secs_f64();
    let snapshot = index.snapshot();
    let stats = snapshot.stats()?;
    let mut kinds = Vec::new();
    let mut all = Vec::new();
    for (name, make) in KINDS {
        let mut times: Vec<f64> = Vec::with_capacity(SEARCHES);
        let mut found = 0;
        for _ in 0..SEARCHES {
            let query = make(&mut random);
            let (seconds, things) = search(&snapshot, &query)?;
            times.push(seconds * 1e3);
            found += things;
        }
        all.extend_from_slice(&times);
        kinds.push(serde_json::json!({
            "name": name, "searches": SEARCHES, "things_found_on_average": found / SEARCHES as u64,
            "p50_ms": percentile(&mut times, 50), "p99_ms": percentile(&mut times, 99),
        }));
    }
    let report = serde_json::json!({
        "literals": literals, "quads": stats.quads, "documents": stats.text_documents,
        "text_bytes_per_quad": stats.bytes.text as f64 / stats.quads as f64,
        "bytes_per_quad": stats.bytes.total as f64 / stats.quads as f64,
        "committed_seconds": committed,
        "p50_ms": percentile(&mut all, 50), "p99_ms": percentile(&mut all, 99),
        "kinds": kinds,
    });
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}

/// A way to search.
type Kind = (&'static str, fn(&mut SmallRng) -> EntityQuery);

const KINDS: [Kind; 7] = [
    ("one word", |random| EntityQuery::new(word(random))),
    ("two words", |random| EntityQuery::new(words(random, 2))),
    ("three words", |random| EntityQuery::new(words(random, 3))),
    ("as you type", |random| {
        let mut words = words(random, 2);
        words.truncate(words.len() - 1);
        EntityQuery { as_you_type: true, limit: 8, ..EntityQuery::new(words) }
    }),
    ("phrase", |random| EntityQuery::new(format!("\"{}\"", words(random, 2)))),
    ("with filters", |random| EntityQuery {
        types: vec!["Type3".to_owned()],
        sites: vec![format!("site{}.example", random.random_range(0..SITES))],
        ..EntityQuery::new(word(random))
    }),
    ("with a mistake", |random| {
        let mut typed = word(random);
        typed.insert(2.min(typed.len()), 'q');
        EntityQuery::new(typed)
    }),
];

fn search(snapshot: &Snapshot, query: &EntityQuery) -> Result<(f64, u64), Box<dyn std::error::Error>> {
    let started = Instant::now();
    let found = snapshot.search_entities(query)?;
    Ok((started.elapsed().as_secs_f64(), found.total))
}

fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    let place = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(place).map_or(0.0, |time| (time * 1e2).round() / 1e2)
}

/// A word that sounds like one: syllables that spell its rank.
fn word_of(mut rank: usize) -> String {
    const CONSONANTS: &[u8] = b"bdfgklmnprstvz";
    const VOWELS: &[u8] = b"aeiou";
    let mut word = String::new();
    loop {
        word.push(char::from(CONSONANTS[rank % CONSONANTS.len()]));
        rank /= CONSONANTS.len();
        word.push(char::from(VOWELS[rank % VOWELS.len()]));
        rank /= VOWELS.len();
        if rank == 0 {
            return word;
        }
    }
}

/// The n-th word n times as rarely as the first.
fn word(random: &mut SmallRng) -> String {
    let rank = (WORDS as f64).powf(random.random::<f64>()) as usize;
    // Those before are the articles and prepositions of this language, and nobody searches them.
    word_of(rank + 40)
}

fn words(random: &mut SmallRng, count: usize) -> String {
    (0..count).map(|_| word(random)).collect::<Vec<_>>().join(" ")
}

fn page(number: u64, random: &mut SmallRng) -> GraphWrite {
    let node = |text: String| NamedNode::new_unchecked(text);
    let site = number % SITES;
    let url = node(format!("http://www.site{site}.example/{number}"));
    let mut triples = Vec::new();
    for place in 0..THINGS_PER_PAGE {
        // A few things are spoken of by many pages.
        let subject = if random.random_range(0..20) == 0 {
            node(format!("http://things.example/{}", random.random_range(0..10_000)))
        } else {
            node(format!("{}#{place}", url.as_str()))
        };
        triples.push(Triple::new(
            subject.clone(),
            oxrdf::vocab::rdf::TYPE.into_owned(),
            node(format!("http://schema.org/Type{}", (number + place) % 30)),
        ));
        let language = ["en", "de", "fr"][(site % 3) as usize];
        for (property, length) in
            [("name", 3), ("description", 20), ("keywords", 5), ("brand", 1), ("category", 2)]
        {
            let literal = Literal::new_language_tagged_literal_unchecked(words(random, length), language);
            triples.push(Triple::new(
                subject.clone(),
                node(format!("http://schema.org/{property}")),
                literal,
            ));
        }
    }
    GraphWrite::replace(url, triples)
}
