//! The phases, one after the other over the same pages, then all of them as a crawl.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use oxrdf::Triple;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use webloom_detect::detect;
use webloom_extract::extract_links;
use webloom_fetch::{Fetcher, MemoryRobotsStore, SystemResolver};
use webloom_index::{Batch, GraphWrite, Index, IndexConfig};
use webloom_model::{
    DetectedPage, FetchOutcome, FetchedPage, Lease, LeaseId, LinkCandidate, PageGraph, PageUrl, SystemClock,
};
use webloom_pipeline::process::digest_of;
use webloom_pipeline::{CrawlSpec, DataDir, metadata};
use webloom_transform::transform;

use super::super::super::crawl::{Show, crawl};
use super::super::{ServerProcess, WebArguments, crawl_spec};
use super::Table;
use super::meter::measure;

/// Pages of one commit: a crawl at full speed commits as many as it may, by `work.commit_pages_max`.
pub(super) const COMMIT_PAGES: usize = 500;

/// Hosts that are asked at the same time.
const HOSTS_AT_ONCE: usize = 64;

/// Measures every phase and the whole.
pub(super) fn all(web: &WebArguments) -> anyhow::Result<Table> {
    let server = ServerProcess::start(web)?;
    let spec = crawl_spec(web, &server, "0s", true)?;
    let urls: Vec<String> = web.web().expected_urls().collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut fetch, fetched) = measure(0, 0, || runtime.block_on(fetch_all(&spec, &urls)))?;
    runtime.shutdown_background();
    let bytes: u64 = fetched.iter().map(|page| page.body.len() as u64).sum();
    let pages = fetched.len() as u64;
    (fetch.pages, fetch.bytes) = (pages, bytes);
    let again = fetched.clone();
    let (detecting, detected) =
        measure(pages, bytes, || Ok(again.into_iter().map(detect).collect::<Vec<DetectedPage>>()))?;
    let (transforming, graphs) = measure(pages, bytes, || {
        Ok(detected.iter().map(|page| transform(page, &spec.transform)).collect::<Vec<PageGraph>>())
    })?;
    let (extracting, links) = measure(pages, bytes, || {
        let links = detected
            .iter()
            .zip(&graphs)
            .map(|(page, graph)| extract_links(&page.page.url, 1, graph, &spec.links).links.len() as u64);
        Ok(links.sum::<u64>())
    })?;
    let writes: Vec<Vec<GraphWrite>> =
        detected.iter().zip(graphs).map(|(page, graph)| writes(page, graph)).collect();
    drop(detected);
    let folder = tempfile::tempdir()?;
    let (indexing, (quads, disk)) = measure(pages, bytes, || index_all(folder.path(), writes))?;
    drop(folder);
    let folder = tempfile::tempdir()?;
    let data = DataDir::new(folder.path());
    let (mut whole, report) = measure(pages, bytes, || crawl(&data, spec, Show::Nothing))?;
    whole.pages = report.summary.counts.indexed;
    let per_page = |number: u64| number as f64 / pages.max(1) as f64;
    Ok(Table {
        costs: vec![
            ("fetch", fetch),
            ("detect", detecting),
            ("transform", transforming),
            ("index", indexing),
            ("extract", extracting),
            ("whole", whole),
        ],
        disk_bytes_per_page: per_page(disk),
        quads_per_page: per_page(quads),
        links_per_page: per_page(links),
        growth: Vec::new(),
    })
}

/// A lease as a frontier would give it.
pub(super) fn lease(url: PageUrl) -> Lease {
    Lease { id: LeaseId(1), candidate: LinkCandidate::seed(url), attempt: 0, validators: None }
}

/// Fetches all URLs as a crawl does, robots.txt first, each host's one after the other. Keeps the pages.
async fn fetch_all(spec: &CrawlSpec, urls: &[String]) -> anyhow::Result<Vec<FetchedPage>> {
    let mut hosts: BTreeMap<String, Vec<PageUrl>> = BTreeMap::new();
    for url in urls {
        let url = PageUrl::parse(url)?;
        hosts.entry(url.origin()).or_default().push(url);
    }
    let resolver = Arc::new(SystemResolver::new()?);
    let robots = Arc::new(MemoryRobotsStore::default());
    let fetcher = Arc::new(Fetcher::new(spec.fetch.clone(), resolver, robots, Arc::new(SystemClock))?);
    let hosts = Arc::new(Mutex::new(hosts.into_values()));
    let mut tasks = JoinSet::new();
    for _ in 0..HOSTS_AT_ONCE {
        let (fetcher, hosts) = (fetcher.clone(), hosts.clone());
        tasks.spawn(async move {
            let mut pages = Vec::new();
            loop {
                let Some(urls) = hosts.lock().await.next() else { return pages };
                for url in urls {
                    pages.extend(fetch_one(&fetcher, url).await);
                }
            }
        });
    }
    let mut pages = Vec::with_capacity(urls.len());
    while let Some(some) = tasks.join_next().await {
        pages.append(&mut some.context("a task that fetches ended early")?);
    }
    Ok(pages)
}

async fn fetch_one(fetcher: &Fetcher, url: PageUrl) -> Option<FetchedPage> {
    let lease = lease(url);
    loop {
        match fetcher.fetch(&lease).await.0 {
            FetchOutcome::RobotsFirst => {}
            FetchOutcome::Fetched(mut page) => {
                // It is kept longer than a crawl would, and must not take a crawl's room.
                page.reservation = None;
                return Some(*page);
            }
            _ => return None,
        }
    }
}

/// What a crawl writes of a page.
pub(in super::super) fn writes(page: &DetectedPage, graph: PageGraph) -> Vec<GraphWrite> {
    let url = &page.page.url;
    let about = metadata::of_page(
        &lease(url.clone()),
        page,
        &digest_of(&page.page),
        &graph.text,
        true,
        &graph.diagnostics,
    );
    let triples = graph.quads.into_iter().map(Triple::from).collect();
    vec![
        GraphWrite::replace(url.graph_name(), triples).with_text(graph.text),
        GraphWrite::replace(url.meta_graph_name(), about),
    ]
}

/// Commits in a crawl's portions and merges to the end. Answers how many quads there are, on how many bytes.
pub(super) fn index_all(
    folder: &std::path::Path,
    writes: Vec<Vec<GraphWrite>>,
) -> anyhow::Result<(u64, u64)> {
    let index = Index::open(folder, IndexConfig::default())?;
    let mut writes = writes.into_iter().peekable();
    while writes.peek().is_some() {
        let batch: Vec<GraphWrite> = writes.by_ref().take(COMMIT_PAGES).flatten().collect();
        index.commit(&Batch::from(batch))?;
    }
    index.wait_for_merges();
    let stats = index.snapshot().stats()?;
    index.close()?;
    Ok((stats.quads, stats.bytes.total))
}
