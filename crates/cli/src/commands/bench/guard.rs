//! `webloom bench guard`: small pieces of hot work, each the same to the instruction in every run, for `cargo xtask guard` to count.
//!
//! A piece is prepared first and then done so many times as asked; what one time costs is the difference between two runs. Nothing is timed
//! here.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;

use anyhow::{Context, bail};
use bytes::Bytes;
use clap::Args;
use webloom_detect::detect;
use webloom_extract::extract_links;
use webloom_frontier::{FjallFrontier, FrontierConfig};
use webloom_index::{Batch, GraphWrite, Index, IndexConfig};
use webloom_model::{
    DetectedPage, FetchedPage, Frontier, LeaseAnswer, LinkCandidate, PageUrl, Settlement, SettlementKind,
    SystemClock,
};
use webloom_pipeline::RawSpec;
use webloom_testkit::realistic_page;
use webloom_transform::{Syntax, TransformConfig, transform};

use super::phases::writes;

/// Do a small piece of hot work for an instruction counter to watch; without a name, list the pieces.
#[derive(Debug, Args)]
pub(super) struct BenchGuard {
    /// What to do.
    name: Option<String>,
    /// How often; not at all does everything but the work.
    #[arg(long, default_value_t = 1)]
    times: u32,
}

/// Work that can be done once more.
type Work = Box<dyn FnMut() -> anyhow::Result<()>>;

/// Makes everything ready for a piece of work.
type Prepare = fn() -> anyhow::Result<Work>;

const PIECES: [(&str, Prepare); 14] = [
    ("detect", || over_pages(|page| drop(black_box(detect(page.page.clone()))))),
    ("html", || only(Syntax::Html)),
    ("rdfa", || only(Syntax::Rdfa)),
    ("microdata", || only(Syntax::Microdata)),
    ("json-ld", || only(Syntax::JsonLd)),
    ("microformats", || only(Syntax::Microformats)),
    ("meta", || only(Syntax::Meta)),
    ("all-syntaxes", || {
        let config = TransformConfig::default();
        over_pages(move |page| drop(black_box(transform(page, &config))))
    }),
    ("feed", || document("feed", "application/rss+xml", &feed())),
    ("turtle", || document("data.ttl", "text/turtle", &turtle())),
    ("link-query", link_query),
    ("ingest", ingest),
    ("seen-check", seen_check),
    ("lease-settle", lease_settle),
];

impl BenchGuard {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let Some(name) = self.name else {
            let mut out = std::io::stdout().lock();
            for (name, _) in PIECES {
                writeln!(out, "{name}")?;
            }
            return Ok(());
        };
        let Some((_, prepare)) = PIECES.iter().find(|(known, _)| *known == name) else {
            bail!("there is no piece `{name}`; `webloom bench guard` lists them");
        };
        let mut work = prepare()?;
        for _ in 0..self.times {
            work()?;
        }
        // What is left to tidy up is no part of the work.
        std::process::exit(0);
    }
}

/// Some pages as they are on the web, small enough for an instruction counter.
fn pages() -> anyhow::Result<Vec<DetectedPage>> {
    (0..8)
        .map(|number| {
            let url = PageUrl::parse(&format!("https://www.example.org/articles/{number}"))?;
            let text = Bytes::from(realistic_page(7, number));
            Ok(detect(FetchedPage::local(url, Some("text/html; charset=utf-8"), text)))
        })
        .collect()
}

fn over_pages(each: impl Fn(&DetectedPage) + 'static) -> anyhow::Result<Work> {
    let pages = pages()?;
    // Tables that are made at their first use are not the work.
    pages.iter().for_each(&each);
    Ok(Box::new(move || {
        pages.iter().for_each(&each);
        Ok(())
    }))
}

fn only(syntax: Syntax) -> anyhow::Result<Work> {
    let config = TransformConfig { only: Some(BTreeSet::from([syntax])), ..TransformConfig::default() };
    over_pages(move |page| drop(black_box(transform(page, &config))))
}

fn document(path: &str, media_type: &str, text: &str) -> anyhow::Result<Work> {
    let url = PageUrl::parse(&format!("https://www.example.org/{path}"))?;
    let page = detect(FetchedPage::local(url, Some(media_type), Bytes::from(text.to_owned())));
    let config = TransformConfig::default();
    black_box(transform(&page, &config));
    Ok(Box::new(move || {
        black_box(transform(&page, &config));
        Ok(())
    }))
}

fn feed() -> String {
    let item = |number: u32| {
        format!(
            "<item><title>Item {number}</title><link>https://www.example.org/{number}</link>\
             <description>What happened on day {number}, in some words.</description>\
             <pubDate>Mon, 16 Nov 2026 10:00:00 GMT</pubDate><guid>urn:item:{number}</guid></item>"
        )
    };
    let items: String = (0..100).map(item).collect();
    format!(
        "<rss version=\"2.0\"><channel><title>News</title><link>https://www.example.org/</link>{items}</channel></rss>"
    )
}

fn turtle() -> String {
    let thing = |number: u32| {
        format!("<#{number}> a ex:Thing ; ex:name \"Thing {number}\"@en ; ex:next <#{}> .\n", number + 1)
    };
    "@prefix ex: <http://example.org/ns#> .\n".to_owned() + &(0..1_000).map(thing).collect::<String>()
}

fn link_query() -> anyhow::Result<Work> {
    let mut raw = RawSpec::default();
    raw.set("seeds", vec!["https://www.example.org/".to_owned()]);
    raw.set("scope.within", "anywhere");
    let rules = raw.check()?.links;
    let config = TransformConfig::default();
    let graphs: Vec<_> =
        pages()?.into_iter().map(|page| (transform(&page, &config), page.page.url)).collect();
    let work = move || {
        for (graph, url) in &graphs {
            black_box(extract_links(url, 1, graph, &rules));
        }
    };
    work();
    Ok(Box::new(move || {
        work();
        Ok(())
    }))
}

/// Commits the same pages again and again: each commit replaces them. Without words, whose writer has threads of its own and is never the same
/// twice.
fn ingest() -> anyhow::Result<Work> {
    let folder = tempfile::tempdir()?;
    let settings = IndexConfig { merge_in_background: false, index_text: false, ..IndexConfig::default() };
    let index = Index::open(folder.path(), settings)?;
    let config = TransformConfig::default();
    let batch: Vec<GraphWrite> = pages()?
        .into_iter()
        .flat_map(|page| {
            let graph = transform(&page, &config);
            writes(&page, graph)
        })
        .collect();
    let batch = Batch::from(batch);
    index.commit(&batch)?;
    Ok(Box::new(move || {
        let _kept = &folder;
        index.commit(&batch)?;
        Ok(())
    }))
}

/// Links to 4,000 URLs on 100 hosts.
fn links() -> anyhow::Result<Vec<LinkCandidate>> {
    (0..4_000)
        .map(|number| {
            let url = PageUrl::parse(&format!("https://site{}.example/page/{number}", number % 100))?;
            Ok(LinkCandidate { depth: 1, ..LinkCandidate::seed(url) })
        })
        .collect()
}

fn frontier(folder: &tempfile::TempDir) -> anyhow::Result<FjallFrontier> {
    let config = FrontierConfig {
        host_delay: std::time::Duration::ZERO,
        domain_delay: std::time::Duration::ZERO,
        ..FrontierConfig::default()
    };
    FjallFrontier::open(folder.path(), config, Arc::new(SystemClock)).context("cannot open a frontier")
}

fn seen_check() -> anyhow::Result<Work> {
    let folder = tempfile::tempdir()?;
    let (frontier, links) = (frontier(&folder)?, links()?);
    frontier.offer(&links)?;
    Ok(Box::new(move || {
        let _kept = &folder;
        frontier.offer(&links)?;
        Ok(())
    }))
}

fn lease_settle() -> anyhow::Result<Work> {
    let folder = tempfile::tempdir()?;
    let (frontier, links) = (frontier(&folder)?, links()?);
    frontier.offer(&links)?;
    Ok(Box::new(move || {
        let _kept = &folder;
        let mut leased = 0;
        while leased < 500 {
            let LeaseAnswer::Leased(leases) = frontier.lease(64)? else { bail!("nothing to lease") };
            leased += leases.len();
            let settlements = leases
                .into_iter()
                .map(|lease| {
                    frontier.request_finished(lease.id, Default::default());
                    Settlement {
                        lease: lease.id,
                        kind: SettlementKind::Indexed,
                        links: Vec::new(),
                        validators: None,
                    }
                })
                .collect();
            frontier.settle(settlements)?;
        }
        Ok(())
    }))
}
