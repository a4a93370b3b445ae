//! A SPARQL endpoint, read page by page.
//!
//! In: the endpoint's URL and how many rows were read. Out: the next page of its triples, in a graph named by the request. Rows
//! are ordered, so that pages do not overlap; a page is as many rows as came, so that an endpoint which gives fewer than it was
//! asked for is still read to its end. An endpoint that is slow is asked for half as much, one that is quick for more.

use std::time::{Duration, Instant};

use oxrdf::Triple;
use webloom_fetch::Wanted;
use webloom_model::PageUrl;

use super::kept::SourceState;
use super::{ACCEPT_RDF, Step, Trouble, ask, read, store};
use crate::wiring::Crawl;

/// Rows of the first page.
const PAGE_SIZE: u64 = 1_000;
/// The most that is asked for at once.
const PAGE_SIZE_MAX: u64 = 10_000;
/// An endpoint that answers within this can give more at once.
const QUICK: Duration = Duration::from_secs(2);
/// Bytes of one page.
const BYTES_MAX: u64 = 64 << 20;
/// Time for one page.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Rows read of one endpoint. Sorting and skipping costs an endpoint more with every page.
const ROWS_MAX: u64 = 100_000_000;

/// Reads the next page.
pub(super) async fn step(crawl: &Crawl, state: &SourceState) -> Result<Step, Trouble> {
    let page_size = if state.page_size == 0 { PAGE_SIZE } else { state.page_size };
    let url = request(&state.url, state.offset, page_size)?;
    let wanted = Wanted { accept: ACCEPT_RDF, bytes_max: BYTES_MAX, timeout: Some(TIMEOUT) };
    let started = Instant::now();
    let answered = ask(crawl, url.clone(), &wanted).await;
    let took = started.elapsed();
    let page = answered?;
    if let Some(diagnostic) = page.diagnostics.first() {
        // Half a page would be counted as a whole one.
        return Err(Trouble::Later { reason: diagnostic.message.clone(), pause: None, overloaded: true });
    }
    let quads = read(crawl, page).await?;
    let rows = quads.len() as u64;
    if rows > 0 {
        store(crawl, &url, quads.into_iter().map(Triple::from).collect())?;
    }
    let offset = state.offset + rows;
    Ok(Step {
        done: rows == 0 || offset >= ROWS_MAX,
        offset,
        page_size: if took < QUICK && rows >= page_size {
            (page_size * 2).min(PAGE_SIZE_MAX)
        } else {
            page_size
        },
        triples: rows,
        ..Step::default()
    })
}

/// The URL of one page.
fn request(endpoint: &PageUrl, offset: u64, page_size: u64) -> Result<PageUrl, Trouble> {
    let query = format!(
        "CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {{ SELECT ?s ?p ?o WHERE {{ ?s ?p ?o }} \
         ORDER BY ?s ?p ?o LIMIT {page_size} OFFSET {offset} }} }}"
    );
    let mut url = endpoint.as_url().clone();
    url.query_pairs_mut().append_pair("query", &query);
    PageUrl::parse(url.as_str()).map_err(|problem| Trouble::Final(problem.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_asked_for_by_url() {
        for (endpoint, start) in [
            ("http://a.example/sparql", "http://a.example/sparql?query=CONSTRUCT+"),
            ("http://a.example/sparql?graph=x", "http://a.example/sparql?graph=x&query=CONSTRUCT+"),
        ] {
            let url = request(&PageUrl::parse(endpoint).unwrap(), 20, 10).unwrap();
            assert!(url.as_str().starts_with(start), "{url}");
            assert!(url.as_str().contains("LIMIT+10+OFFSET+20"), "{url}");
        }
    }
}
