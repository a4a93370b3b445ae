//! One page's way through the five phases. New here? Read [`process_page`] first.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use oxrdf::{GraphName, Quad, Triple};
use tracing::{debug, warn};
use webloom_detect::detect;
use webloom_extract::extract_links;
use webloom_index::{GraphWrite, WriteMode};
use webloom_model::vocab::rdfs;
use webloom_model::{
    DetectedPage, Detection, Diagnostic, DocumentKind, FetchError, FetchOutcome, FetchedPage, Lease,
    LinkCandidate, PageGraph, PageUrl, Reservation, Retry, Settlement, SettlementKind,
};
use webloom_transform::transform;

use crate::contexts::Turns;
use crate::counters::{Counters, Gauge, Phase};
use crate::cpu::Panicked;
use crate::crawl::CrawlError;
use crate::metadata;
use crate::spec::{CrawlSpec, StoredLinks};
use crate::wiring::Crawl;

/// Takes one page through the five phases. When it returns, the page's quads, text, metadata and links are
/// durable, and the lease is settled; killed anywhere before, the lease is simply handed out again.
pub async fn process_page(crawl: &Crawl, lease: Lease) -> Result<(), CrawlError> {
    let page = match fetch(crawl, &lease).await {
        FetchOutcome::Fetched(page) => *page,
        no_page => return crawl.committer.commit(without_page(crawl, lease, no_page)).await,
    };
    let remains = Remains::of(&page);
    let woven = match weave_with_contexts(crawl, &lease, page, &remains).await {
        Ok(woven) => {
            // The body has served; what waits for the commit are quads.
            drop(remains);
            woven
        }
        Err(panicked) => {
            warn!(url = %lease.url(), reason = panicked.0, "a page broke a parser; it is kept without quads");
            remains.woven(&crawl.spec, lease, &panicked.0)
        }
    };
    crawl.committer.commit(woven).await
}

/// Weaves a page; when its JSON-LD names contexts that nobody knows, fetches them and weaves it anew.
async fn weave_with_contexts(
    crawl: &Crawl,
    lease: &Lease,
    page: FetchedPage,
    remains: &Remains,
) -> Result<Woven, Panicked> {
    let mut woven = weave_on_pool(crawl, lease, page, 1).await?;
    let Some(contexts) = &crawl.contexts else { return Ok(woven) };
    let mut tried = HashSet::new();
    let turns = Turns::Frontier { frontier: &*crawl.frontier, host_freed: &crawl.host_freed };
    // A context can name others, which are missed only once it is there.
    loop {
        let missing = contexts.untried(&woven.missing, &mut tried);
        if !contexts.obtain(&missing, &crawl.fetcher, turns).await {
            return Ok(woven);
        }
        woven = weave_on_pool(crawl, lease, remains.0.clone(), 0).await?;
    }
}

/// Detect, transform and extract only compute: they share one trip to the CPU pool. Counts as so many pages.
async fn weave_on_pool(
    crawl: &Crawl,
    lease: &Lease,
    page: FetchedPage,
    pages: u64,
) -> Result<Woven, Panicked> {
    let (spec, counters, lease) = (crawl.spec.clone(), crawl.counters.clone(), lease.clone());
    let _working = Gauge::new(&crawl.counters.working);
    crawl.cpu.run(move || weave(&spec, &counters, lease, page, pages)).await
}

/// Asks for the page, and tells the frontier the moment the host is free again.
async fn fetch(crawl: &Crawl, lease: &Lease) -> FetchOutcome {
    // A closed semaphore would mean the crawl is being torn down; then this task is gone too.
    let _place = crawl.connections.acquire().await;
    let _fetching = Gauge::new(&crawl.counters.fetching);
    let start = Instant::now();
    let (outcome, hint) = crawl.fetcher.fetch(lease).await;
    crawl.frontier.request_finished(lease.id, hint);
    crawl.host_freed.notify_one();
    if let FetchOutcome::Fetched(page) = &outcome {
        crawl.counters.add(Phase::Fetch, 1, start.elapsed());
        crawl.counters.wire_bytes.fetch_add(page.wire_bytes, Relaxed);
    }
    outcome
}

/// What is to be made durable of one lease, in one go.
#[derive(Debug)]
pub(crate) struct Woven {
    /// For the index.
    pub(crate) writes: Vec<GraphWrite>,
    /// For the frontier.
    pub(crate) settlement: Settlement,
    /// Contexts that would have made more of the page.
    missing: Vec<String>,
    /// What was made of a large page takes its place in memory until it is on disk.
    pub(crate) reservation: Option<Reservation>,
}

impl Woven {
    /// Of something that takes next to no room.
    fn new(writes: Vec<GraphWrite>, settlement: Settlement) -> Self {
        Self { writes, settlement, missing: Vec::new(), reservation: None }
    }
}

/// Detect, transform, extract: from bytes to what is to be stored. No I/O, cannot fail.
fn weave(spec: &CrawlSpec, counters: &Counters, lease: Lease, page: FetchedPage, pages: u64) -> Woven {
    let detected = counters.time(Phase::Detect, pages, || detect(page));
    let mut graph = counters.time(Phase::Transform, pages, || transform(&detected, &spec.transform));
    let mut extracted = counters.time(Phase::Extract, pages, || {
        extract_links(&detected.page.url, lease.candidate.depth, &graph, &spec.links)
    });
    counters.links.fetch_add(extracted.links.len() as u64 * pages, Relaxed);

    let mut diagnostics = detected.page.diagnostics.clone();
    diagnostics.append(&mut graph.diagnostics);
    diagnostics.append(&mut extracted.diagnostics);
    store(spec, lease, &detected, graph, extracted.links, &diagnostics)
}

/// Puts a page, its metadata and its settlement together.
fn store(
    spec: &CrawlSpec,
    lease: Lease,
    detected: &DetectedPage,
    mut graph: PageGraph,
    links: Vec<LinkCandidate>,
    diagnostics: &[Diagnostic],
) -> Woven {
    let url = &detected.page.url;
    let indexed = !graph.robots.noindex;
    let metadata = metadata::of_page(&lease, detected, &graph.text, indexed, diagnostics);
    let quads = if indexed { stored_quads(spec.stored_links, url, &mut graph) } else { Vec::new() };
    let page = GraphWrite {
        graph: url.graph_name().into(),
        mode: WriteMode::Replace,
        // A page cannot write into another page's graph: inner named graphs become part of its own.
        triples: quads.into_iter().map(Triple::from).collect(),
        text: indexed.then_some(graph.text),
    };
    Woven {
        writes: vec![page, metadata_write(url, metadata)],
        settlement: Settlement { lease: lease.id, kind: SettlementKind::Indexed, links },
        missing: graph.missing,
        reservation: detected.page.reservation.clone(),
    }
}

fn metadata_write(url: &PageUrl, triples: Vec<Triple>) -> GraphWrite {
    GraphWrite {
        graph: GraphName::from(url.meta_graph_name()),
        mode: WriteMode::Replace,
        triples,
        text: None,
    }
}

/// The quads to keep: all but the plain links that the specification does not want.
fn stored_quads(stored_links: StoredLinks, page: &PageUrl, graph: &mut PageGraph) -> Vec<Quad> {
    let mut quads = std::mem::take(&mut graph.quads);
    if stored_links == StoredLinks::All {
        return quads;
    }
    let unwanted = |target: &str| {
        graph.plain_links.contains(target)
            && (stored_links == StoredLinks::None
                || PageUrl::parse(target).is_ok_and(|target| target.host() == page.host()))
    };
    quads.retain(|quad| {
        if quad.predicate == rdfs::SEE_ALSO {
            !matches!(&quad.object, oxrdf::Term::NamedNode(target) if unwanted(target.as_str()))
        } else if quad.predicate == rdfs::LABEL {
            !matches!(&quad.subject, oxrdf::NamedOrBlankNode::NamedNode(target) if unwanted(target.as_str()))
        } else {
            true
        }
    });
    quads
}

/// What is to be made durable when a fetch gave no page.
fn without_page(crawl: &Crawl, lease: Lease, outcome: FetchOutcome) -> Woven {
    let settle = |kind, links| Settlement { lease: lease.id, kind, links };
    match outcome {
        FetchOutcome::Fetched(_) => unreachable!("a page is woven, not settled without one"),
        FetchOutcome::RobotsFirst => {
            Woven::new(Vec::new(), settle(SettlementKind::Returned, sitemaps(crawl, &lease)))
        }
        FetchOutcome::Redirected(redirect) => {
            crawl.counters.not_a_page("redirect");
            let target = lease.redirected(redirect.target.clone());
            let links = match crawl.spec.links.scope.admits(&target.url) {
                Ok(()) => vec![target],
                Err(refusal) => {
                    debug!(url = %lease.url(), target = %target.url, ?refusal, "redirect leads out of scope");
                    Vec::new()
                }
            };
            Woven::new(
                vec![metadata_write(lease.url(), metadata::of_redirect(&lease, &redirect))],
                settle(SettlementKind::NoPage, links),
            )
        }
        FetchOutcome::NotFetched(reason) => {
            crawl.counters.not_a_page(match &reason {
                webloom_model::NotFetched::Status { status } => format!("status {status}"),
                other => other.code().to_owned(),
            });
            debug!(url = %lease.url(), %reason, "no page");
            Woven::new(
                vec![metadata_write(lease.url(), metadata::of_not_fetched(&lease, &reason))],
                settle(SettlementKind::NoPage, Vec::new()),
            )
        }
        FetchOutcome::Failed(error) if lease.attempt + 1 < crawl.spec.work.attempts_max => {
            crawl.counters.not_a_page(format!("{} (tried again)", error.code()));
            debug!(url = %lease.url(), attempt = lease.attempt, %error, "fetch will be tried again");
            let pause = match error.retry() {
                Retry::WithBackoff => None,
                Retry::After(pause) => Some(pause),
            };
            Woven::new(Vec::new(), settle(SettlementKind::Retry(pause), Vec::new()))
        }
        FetchOutcome::Failed(error) => give_up(crawl, lease, &error),
    }
}

/// The sitemaps that the host's robots.txt names, as links of the page it was asked for.
fn sitemaps(crawl: &Crawl, lease: &Lease) -> Vec<LinkCandidate> {
    if !crawl.spec.sitemaps {
        return Vec::new();
    }
    let sitemaps = crawl.fetcher.sitemaps(lease.url()).into_iter();
    sitemaps
        .filter(|sitemap| crawl.spec.links.scope.admits_any_extension(sitemap).is_ok())
        .map(|url| LinkCandidate {
            url,
            depth: lease.candidate.depth.saturating_add(1),
            found_on: lease.url().join("/robots.txt").ok(),
            anchor: None,
            redirects: Vec::new(),
        })
        .collect()
}

fn give_up(crawl: &Crawl, lease: Lease, error: &FetchError) -> Woven {
    crawl.counters.not_a_page(error.code());
    debug!(url = %lease.url(), %error, "fetch given up");
    Woven::new(
        vec![metadata_write(lease.url(), metadata::of_failure(&lease, error))],
        Settlement { lease: lease.id, kind: SettlementKind::NoPage, links: Vec::new() },
    )
}

/// Enough of a page to say something of it when a parser panicked.
struct Remains(FetchedPage);

impl Remains {
    fn of(page: &FetchedPage) -> Self {
        // The body is reference-counted; only the header fields are copied.
        Self(page.clone())
    }

    fn woven(self, spec: &Arc<CrawlSpec>, lease: Lease, reason: &str) -> Woven {
        let detected = DetectedPage {
            detection: Detection {
                kind: DocumentKind::Unknown,
                media_type: self.0.header("content-type").unwrap_or("application/octet-stream").to_owned(),
                charset: None,
                xml_root: None,
                syntaxes: Vec::new(),
            },
            page: self.0,
            unpacked: None,
        };
        let diagnostic =
            Diagnostic::error("reader-panicked", format!("a reader gave up on this page: {reason}"));
        store(spec, lease, &detected, PageGraph::default(), Vec::new(), &[diagnostic])
    }
}
