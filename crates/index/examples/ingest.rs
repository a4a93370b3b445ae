//! Generates a crawl, commits it in batches, and prints what writing and reading cost.
//!
//! `cargo run --release -p webloom-index --example ingest -- [PAGES] [PAGES PER BATCH] [--no-text] [--long] [--replace] [--write-only]`
//! `cargo run --release -p webloom-index --example ingest -- --write-files DIR [QUADS [PARTS]]`
//!
//! With `--long` each page shows a thousand words, of a language of 200,000 of which few are used often. With `--replace` the second half of the commits writes the pages of the first half again. The second form writes the same
//! crawl, and an RDF file of another shape (many properties of many things, in no graph), as N-Quads for `webloom load` and its
//! peers; in several parts, the crawl alone.

#![allow(clippy::print_stdout, reason = "an example talks to whoever runs it")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

use oxrdf::{Literal, NamedNode, NamedOrBlankNode, Term, Triple};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use webloom_index::{Batch, GraphPattern, GraphWrite, Index, IndexConfig, Order, QueryOptions, QueryResults};
use webloom_model::PageText;

const WORDS: [&str; 24] = [
    "graph", "page", "river", "market", "window", "history", "green", "system", "people", "travel", "music",
    "winter", "science", "garden", "letter", "bridge", "coffee", "machine", "island", "theory", "paper",
    "silver", "story", "cloud",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let (with_text, replace, write_only) = (!has("--no-text"), has("--replace"), has("--write-only"));
    let long = has("--long");
    let write_files = has("--write-files");
    arguments.retain(|argument| !argument.starts_with("--"));
    if write_files {
        let directory = std::path::PathBuf::from(arguments.first().map_or(".", String::as_str));
        let quads: u64 = arguments.get(1).map_or(Ok(5_000_000), |text| text.parse())?;
        let parts: u64 = arguments.get(2).map_or(Ok(1), |text| text.parse())?;
        return if parts > 1 {
            write_crawl(quads, parts, |part| directory.join(format!("crawl-{part:02}.nq")))
        } else {
            write_crawl(quads, 1, |_| directory.join("crawl.nq"))?;
            write_things(&directory, quads)
        };
    }
    let pages: u64 = arguments.first().map_or(Ok(17_000), |text| text.parse())?;
    let per_batch: u64 = arguments.get(1).map_or(Ok(200), |text| text.parse())?;

    let directory = tempfile::tempdir()?;
    let config = IndexConfig { index_text: with_text, ..IndexConfig::default() };
    let index = Index::open(directory.path(), config)?;
    let mut random = SmallRng::seed_from_u64(2006);
    let (mut quads, mut generating) = (0, 0.0);
    let (started, cpu_started) = (Instant::now(), cpu_seconds());
    for first in (0..pages).step_by(usize::try_from(per_batch)?) {
        let before = thread_cpu_seconds();
        let mut batch = Batch::new();
        for number in first..(first + per_batch).min(pages) {
            let number = if replace { number % (pages / 2) } else { number };
            let mut page = page(number, &mut random);
            if long && let Some(text) = &mut page.text {
                text.body = language(&mut random, 1_000);
            }
            batch.push(page);
            batch.push(metadata(number));
        }
        generating += thread_cpu_seconds() - before;
        quads += index.commit(&batch)?.quads;
        let before = thread_cpu_seconds();
        drop(batch);
        generating += thread_cpu_seconds() - before;
    }
    let committed = started.elapsed().as_secs_f64();
    index.wait_for_merges();
    let cpu = cpu_seconds() - cpu_started - generating;
    let stats = index.snapshot().stats()?;
    println!("{quads} quads of {pages} pages in batches of {per_batch} pages");
    println!(
        "committed in {committed:.1} s, merged in {:.1} s more",
        started.elapsed().as_secs_f64() - committed
    );
    println!(
        "{:.0} quads, {:.0} pages per CPU-second (text, merges and all; making the pages not counted)",
        quads as f64 / cpu,
        pages as f64 / cpu
    );
    println!("{} segments, {} terms, {} text documents", stats.segments, stats.terms, stats.text_documents);
    let per_quad = |bytes: u64| bytes as f64 / stats.quads as f64;
    println!(
        "bytes per quad: {:.1} = ids {:.1} + texts {:.1} + orders {:.1} + rest {:.1}, and full text {:.1}",
        per_quad(stats.bytes.total - stats.bytes.text),
        per_quad(stats.bytes.term_ids),
        per_quad(stats.bytes.term_texts),
        per_quad(stats.bytes.orders),
        per_quad(stats.bytes.graphs + stats.bytes.statistics + stats.bytes.other),
        per_quad(stats.bytes.text),
    );
    if write_only {
        return Ok(());
    }

    let before = thread_cpu_seconds();
    index.compact()?;
    println!("compacting: {:.0} quads per CPU-second", quads as f64 / (thread_cpu_seconds() - before));
    let snapshot = index.snapshot();
    for order in Order::ALL {
        let before = Instant::now();
        let rows = (0..5).map(|_| snapshot.read_through(order)).sum::<Result<u64, _>>()?;
        println!(
            "rows of {order:?} unpacked: {:.0} per second",
            rows as f64 / before.elapsed().as_secs_f64()
        );
    }
    let before = thread_cpu_seconds();
    let rows = snapshot.scan(None, None, None, None)?.count();
    println!("scan of ids: {:.0} quads per CPU-second", rows as f64 / (thread_cpu_seconds() - before));
    let before = thread_cpu_seconds();
    let rows = snapshot.quads()?.take(200_000).count();
    println!("scan of terms: {:.0} quads per CPU-second", rows as f64 / (thread_cpu_seconds() - before));
    let before = thread_cpu_seconds();
    let lookups = 50_000;
    for number in 0..lookups {
        let subject = NamedNode::new(page_url(number * 7 % pages))?;
        snapshot
            .quads_for_pattern(Some(NamedOrBlankNode::from(subject).as_ref()), None, None, GraphPattern::All)?
            .next();
    }
    println!("lookups by subject: {:.0} per CPU-second", lookups as f64 / (thread_cpu_seconds() - before));
    let query = "SELECT (COUNT(*) AS ?n) { ?page <http://purl.org/dc/terms/title> ?title . ?page <http://www.w3.org/2000/01/rdf-schema#seeAlso> ?to . ?to <http://purl.org/dc/terms/title> ?other }";
    let before = thread_cpu_seconds();
    if let QueryResults::Solutions(mut solutions) = snapshot.query(query, &QueryOptions::default())? {
        let answer = solutions.next().transpose()?;
        println!(
            "join of three patterns: {:?} in {:.2} CPU-seconds",
            answer.and_then(|row| row.get("n").map(ToString::to_string)),
            thread_cpu_seconds() - before
        );
    }
    Ok(())
}

/// Writes `crawl.nq` and `things.nt`.
fn write_crawl(
    quads: u64,
    parts: u64,
    file: impl Fn(u64) -> std::path::PathBuf,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SmallRng::seed_from_u64(2006);
    let mut number = 0;
    let mut written = 0;
    for part in 0..parts {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(file(part))?);
        while written < quads * (part + 1) / parts {
            for write in [page(number, &mut random), metadata(number)] {
                for triple in &write.triples {
                    writeln!(out, "{triple} {} .", write.graph)?;
                    written += 1;
                }
            }
            number += 1;
        }
        out.flush()?;
    }
    Ok(())
}

fn write_things(directory: &std::path::Path, quads: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut random = SmallRng::seed_from_u64(2006);
    let mut out = BufWriter::new(File::create(directory.join("things.nt"))?);
    let mut written = 0;
    for number in 0.. {
        if written >= quads {
            break;
        }
        for triple in thing(number, &mut random) {
            writeln!(out, "{triple} .")?;
            written += 1;
        }
    }
    out.flush()?;
    Ok(())
}

/// One thing of a dataset like those that are published as files: typed, named in two languages, measured, linked.
fn thing(number: u64, random: &mut SmallRng) -> Vec<Triple> {
    let node = |text: &str| NamedNode::new_unchecked(text);
    let subject =
        node(&format!("http://data.example/resource/{}_{number}", WORDS[number as usize % WORDS.len()]));
    let property = |local: &str| node(&format!("http://data.example/ontology/{local}"));
    let name = words(random, 3);
    let mut triples = vec![
        Triple::new(
            subject.clone(),
            oxrdf::vocab::rdf::TYPE.into_owned(),
            property(["Person", "Place", "Work", "Species"][random.random_range(0..4)]),
        ),
        Triple::new(
            subject.clone(),
            oxrdf::vocab::rdfs::LABEL.into_owned(),
            Literal::new_language_tagged_literal_unchecked(name.clone(), "en"),
        ),
        Triple::new(
            subject.clone(),
            oxrdf::vocab::rdfs::LABEL.into_owned(),
            Literal::new_language_tagged_literal_unchecked(format!("{name} {number}"), "de"),
        ),
        Triple::new(
            subject.clone(),
            property("abstract"),
            Literal::new_language_tagged_literal_unchecked(words(random, 20), "en"),
        ),
        Triple::new(
            subject.clone(),
            property("population"),
            Literal::from(random.random_range(1..9_000_000)),
        ),
        Triple::new(
            subject.clone(),
            property("height"),
            Literal::new_typed_literal(
                format!("{}.{:02}", random.random_range(1..900), random.random_range(0..100)),
                oxrdf::vocab::xsd::DECIMAL,
            ),
        ),
    ];
    for place in 0..6 {
        let other = random.random_range(0..400_000u64);
        let target =
            node(&format!("http://data.example/resource/{}_{other}", WORDS[other as usize % WORDS.len()]));
        triples.push(Triple::new(subject.clone(), property(&format!("related{}", place % 3)), target));
    }
    triples
}

fn page_url(number: u64) -> String {
    format!("http://www.site{}.example/articles/{}/{number}.html", number % 97, number % 12)
}

fn words(random: &mut SmallRng, count: usize) -> String {
    (0..count).map(|_| WORDS[random.random_range(0..WORDS.len())]).collect::<Vec<_>>().join(" ")
}

/// Words of a language that nobody speaks, the n-th of them as often as Zipf's law says.
fn language(random: &mut SmallRng, count: usize) -> String {
    const SYLLABLES: [&str; 16] =
        ["ka", "lo", "mi", "ter", "sa", "ne", "ru", "vi", "pon", "da", "el", "or", "shi", "ba", "gro", "in"];
    const WORDS_KNOWN: f64 = 200_000.0;
    let mut text = String::new();
    for _ in 0..count {
        let mut rank = WORDS_KNOWN.powf(random.random::<f64>()) as usize;
        while rank > 0 {
            text.push_str(SYLLABLES[rank % SYLLABLES.len()]);
            rank /= SYLLABLES.len();
        }
        text.push(' ');
    }
    text
}

/// A page much like others: a title, links with anchor texts, a few described things.
fn page(number: u64, random: &mut SmallRng) -> GraphWrite {
    let node = |text: &str| NamedNode::new_unchecked(text);
    let url = page_url(number);
    let this = node(&url);
    let mut triples = vec![
        Triple::new(
            this.clone(),
            oxrdf::vocab::rdf::TYPE.into_owned(),
            node("http://xmlns.com/foaf/0.1/Document"),
        ),
        Triple::new(
            this.clone(),
            node("http://purl.org/dc/terms/title"),
            Literal::new_simple_literal(format!("{} {number}", words(random, 4))),
        ),
        Triple::new(
            this.clone(),
            node("http://purl.org/dc/terms/description"),
            Literal::new_simple_literal(words(random, 15)),
        ),
        Triple::new(
            this.clone(),
            node("http://purl.org/dc/terms/language"),
            Literal::new_simple_literal("en"),
        ),
    ];
    for _ in 0..18 {
        let target = node(&page_url(random.random_range(0..40_000)));
        triples.push(Triple::new(this.clone(), oxrdf::vocab::rdfs::SEE_ALSO.into_owned(), target.clone()));
        triples.push(Triple::new(
            target,
            oxrdf::vocab::rdfs::LABEL.into_owned(),
            Literal::new_simple_literal(words(random, 2)),
        ));
    }
    for thing in 0..3u32 {
        let subject = oxrdf::BlankNode::new_unchecked(format!("p{number}t{thing}"));
        let property = |local: &str| node(&format!("http://schema.org/{local}"));
        triples.push(Triple::new(subject.clone(), oxrdf::vocab::rdf::TYPE.into_owned(), property("Product")));
        for (local, value) in [
            ("name", Term::from(Literal::new_simple_literal(words(random, 3)))),
            ("price", Literal::from(random.random_range(1..10_000)).into()),
            ("url", node(&format!("{url}#{thing}")).into()),
            ("image", node(&format!("{url}/image{thing}.jpg")).into()),
        ] {
            triples.push(Triple::new(subject.clone(), property(local), value));
        }
    }
    let text = PageText { title: None, body: words(random, 150), language: Some("en".to_owned()) };
    GraphWrite::replace(this, triples).with_text(text)
}

fn metadata(number: u64) -> GraphWrite {
    let url = page_url(number);
    let subject = NamedNode::new_unchecked(url.as_str());
    let property = |local: &str| NamedNode::new_unchecked(format!("urn:webloom:ns#{local}"));
    let triples = vec![
        Triple::new(subject.clone(), property("status"), Literal::from(200)),
        Triple::new(subject.clone(), property("bytes"), Literal::from(number as i64 * 37 % 90_000)),
        Triple::new(subject.clone(), property("mediaType"), Literal::new_simple_literal("text/html")),
        Triple::new(
            subject,
            property("sha256"),
            Literal::new_simple_literal(format!(
                "{:064x}",
                u128::from(number) * 0x9E37_79B9_7F4A_7C15_F39C_C060
            )),
        ),
    ];
    GraphWrite::replace(NamedNode::new_unchecked(format!("urn:webloom:meta:{url}")), triples)
}

/// CPU time of all threads of this process, those that ended included.
fn cpu_seconds() -> f64 {
    ticks("/proc/self/stat")
}

/// CPU time of the calling thread.
fn thread_cpu_seconds() -> f64 {
    ticks("/proc/thread-self/stat")
}

/// User and system time from a Linux `stat` file, in its ticks of 10 ms; zero elsewhere.
fn ticks(path: &str) -> f64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let after_name = text.rsplit(") ").next().unwrap_or_default();
    let fields: Vec<&str> = after_name.split(' ').collect();
    let field =
        |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok()).unwrap_or_default();
    (field(11) + field(12)) / 100.0
}
