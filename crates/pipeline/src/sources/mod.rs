//! Linked Data that does not come page by page: dumps, VoID descriptions, SPARQL endpoints, CKAN portals.
//!
//! In: sources named in the specification, and those that other sources name. Out: their triples in the index, each request's
//! worth in a graph of its own name, and the resources they point to as seeds in the frontier. Every request takes its host's turn
//! like a page and obeys its robots.txt. How far a source has come is kept in `sources.json` after every step, so that a
//! crawl that was stopped or killed goes on where it was. Each kind is a file here; start at [`run`].

mod ckan;
mod dump;
mod kept;
mod sparql;
mod void;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use oxrdf::{Quad, Triple};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;
use tracing::{info, warn};
use webloom_detect::detect;
use webloom_fetch::{Tape, Wanted};
use webloom_index::{Batch, GraphWrite};
use webloom_model::{
    FetchError, FetchOutcome, FetchedPage, HostHint, Lease, LeaseId, LinkCandidate, NotFetched, PageUrl,
    Severity,
};
use webloom_transform::transform;

use crate::contexts::Turns;
use crate::crawl::CrawlError;
use crate::metadata;
use crate::spec::CrawlSpec;
use crate::wiring::Crawl;

pub(crate) use kept::Sources;
use kept::{SourceState, Status};

/// Sources that are worked at the same time.
const AT_ONCE: usize = 16;
/// Requests for one step: robots files and redirects.
const REQUESTS_MAX: usize = 10;
/// The pause before a source that failed is tried again; doubles with each attempt.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// The longest such pause.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(10 * 60);
/// Seeds that one step may offer.
const SEEDS_MAX: usize = 10_000;

/// RDF of any kind, the quickest to read first.
const ACCEPT_RDF: &str = "application/n-triples, application/n-quads;q=0.95, text/turtle;q=0.9, application/trig;q=0.8, \
    application/rdf+xml;q=0.7, application/ld+json;q=0.6, */*;q=0.1";

/// A kind of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// A file of RDF, packed or not, of any length.
    Dump,
    /// A description of data sets, which names dumps, endpoints and examples.
    Void,
    /// A SPARQL endpoint, which is read page by page.
    Sparql,
    /// A CKAN portal, whose catalogue names files of RDF.
    Ckan,
}

impl SourceKind {
    /// The name in specifications.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dump => "dump",
            Self::Void => "void",
            Self::Sparql => "sparql",
            Self::Ckan => "ckan",
        }
    }
}

/// One source of a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceSpec {
    /// What it is.
    pub kind: SourceKind,
    /// Where it is.
    pub url: PageUrl,
}

impl SourceSpec {
    /// A source of that kind at that URL, or what is wrong with either.
    pub fn new(kind: &str, url: &str) -> Result<Self, String> {
        let kinds = [SourceKind::Dump, SourceKind::Void, SourceKind::Sparql, SourceKind::Ckan];
        let kind = kinds
            .into_iter()
            .find(|known| known.as_str() == kind.trim())
            .ok_or_else(|| format!("`{kind}` is no kind of source; there are dump, void, sparql and ckan"))?;
        let url = PageUrl::parse(url.trim()).map_err(|problem| problem.to_string())?;
        Ok(Self { kind, url })
    }
}

impl FromStr for SourceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, url) =
            text.split_once('=').ok_or("write KIND=URL, such as sparql=https://example.org/sparql")?;
        Self::new(kind, url)
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kind.as_str(), self.url)
    }
}

/// What one step of a source came to.
#[derive(Debug, Default)]
struct Step {
    /// There is nothing more to do.
    done: bool,
    /// How far it is now.
    offset: u64,
    /// Within which part of an endpoint.
    reading: Option<sparql::Reading>,
    /// How much to ask for next.
    page_size: u64,
    /// Triples that were stored.
    triples: u64,
    /// Sources it names.
    sources: Vec<SourceSpec>,
    /// Resources it names.
    seeds: Vec<PageUrl>,
    /// What could not be had, though it is done.
    remark: Option<String>,
}

/// Why a step came to nothing.
#[derive(Debug)]
enum Trouble {
    /// Try again later, not before this if anything is said. Who never stops saying so may have meant that it does not want to.
    Later { reason: String, pause: Option<Duration>, overloaded: bool, refused: bool },
    /// It will not answer that, but perhaps something else.
    Refused(String),
    /// It will never be otherwise.
    Final(String),
    /// The crawl is being stopped; nothing is wrong with the source.
    Halted,
    /// Nothing can be stored any more.
    Crawl(CrawlError),
}

impl Trouble {
    /// To be tried again, for a reason that says nothing of when.
    fn later(reason: String) -> Self {
        Self::Later { reason, pause: None, overloaded: false, refused: false }
    }
}

impl From<CrawlError> for Trouble {
    fn from(error: CrawlError) -> Self {
        Self::Crawl(error)
    }
}

/// Works all sources that are not done, until none is left or the crawl is stopped.
pub(crate) async fn run(crawl: Arc<Crawl>) -> Result<(), CrawlError> {
    let mut tasks = JoinSet::new();
    loop {
        while tasks.len() < AT_ONCE
            && let Some(number) = crawl.sources.take_waiting()
        {
            let crawl = crawl.clone();
            tasks.spawn(async move { work(&crawl, number).await });
        }
        match tasks.join_next().await {
            Some(Ok(worked)) => worked?,
            Some(Err(panic)) => warn!(%panic, "a source's task panicked"),
            None => break,
        }
    }
    crawl.sources.rest();
    crawl.host_freed.notify_one();
    Ok(())
}

/// Works one source, step by step.
async fn work(crawl: &Crawl, number: usize) -> Result<(), CrawlError> {
    while !crawl.sources.is_halted() {
        let state = crawl.sources.state(number);
        let stepped = match state.kind {
            SourceKind::Dump => dump::step(crawl, &state).await,
            SourceKind::Void => void::step(crawl, &state).await,
            SourceKind::Sparql => sparql::step(crawl, &state).await,
            SourceKind::Ckan => ckan::step(crawl, &state).await,
        };
        match stepped {
            Ok(step) => {
                offer(crawl, &state, &step)?;
                let done = step.done;
                crawl.sources.advance(number, &state.url, step)?;
                if done {
                    let state = crawl.sources.state(number);
                    info!(source = %state.url, kind = state.kind.as_str(), triples = state.triples, "source done");
                    return note(crawl, &state);
                }
            }
            Err(Trouble::Halted) => return Ok(()),
            Err(Trouble::Crawl(error)) => return Err(error),
            Err(Trouble::Final(reason)) => return give_up(crawl, number, reason),
            Err(Trouble::Refused(reason)) => {
                let Some(step) = sparql::ask_for_less(&state).or_else(|| sparql::ask_otherwise(&state))
                else {
                    return give_up(crawl, number, reason);
                };
                warn!(source = %state.url, reason, "source will be asked otherwise");
                crawl.sources.advance(number, &state.url, step)?;
            }
            Err(Trouble::Later { reason, pause, overloaded, refused }) => {
                if state.attempts + 1 >= spec_of(crawl).work.attempts_max
                    && !(overloaded && state.can_shrink())
                {
                    let Some(step) = sparql::ask_otherwise(&state).filter(|_| refused) else {
                        return give_up(crawl, number, reason);
                    };
                    warn!(source = %state.url, reason, "source will be asked otherwise");
                    crawl.sources.advance(number, &state.url, step)?;
                    continue;
                }
                warn!(source = %state.url, reason, "source will be tried again");
                crawl.sources.failed(number, reason, overloaded)?;
                let growing = RETRY_PAUSE.saturating_mul(1 << state.attempts.min(10)).min(RETRY_PAUSE_MAX);
                let politeness = spec_of(crawl).frontier.retry_base.min(growing);
                wait(crawl, pause.unwrap_or(politeness).min(RETRY_PAUSE_MAX)).await;
            }
        }
    }
    Ok(())
}

/// The rules that hold now.
fn spec_of(crawl: &Crawl) -> Arc<CrawlSpec> {
    crawl.spec()
}

/// Waits, unless the crawl is stopped.
async fn wait(crawl: &Crawl, pause: Duration) {
    const LOOK: Duration = Duration::from_millis(200);
    let until = tokio::time::Instant::now() + pause;
    while !crawl.sources.is_halted() && tokio::time::Instant::now() < until {
        tokio::time::sleep_until(until.min(tokio::time::Instant::now() + LOOK)).await;
    }
}

fn give_up(crawl: &Crawl, number: usize, reason: String) -> Result<(), CrawlError> {
    let state = crawl.sources.state(number);
    warn!(source = %state.url, reason, "source given up");
    crawl.counters.not_a_page(format!("{} source given up", state.kind.as_str()));
    crawl.sources.give_up(number, reason)?;
    note(crawl, &crawl.sources.state(number))
}

/// Resources that a step named are seeds: the specification asked for the source that names them.
fn offer(crawl: &Crawl, state: &SourceState, step: &Step) -> Result<(), CrawlError> {
    if step.seeds.is_empty() {
        return Ok(());
    }
    let candidates: Vec<LinkCandidate> = step
        .seeds
        .iter()
        .take(SEEDS_MAX)
        .map(|url| LinkCandidate { found_on: Some(state.url.clone()), ..LinkCandidate::seed(url.clone()) })
        .collect();
    crawl.frontier.offer(&candidates)?;
    crawl.host_freed.notify_one();
    Ok(())
}

/// Stores what is known about a source that is done or given up.
fn note(crawl: &Crawl, state: &SourceState) -> Result<(), CrawlError> {
    let triples = metadata::of_source(
        &state.url,
        state.kind.as_str(),
        state.triples,
        state.found_in.as_ref(),
        state.status == Status::Done,
        state.reason.as_deref(),
    );
    let write = GraphWrite::replace(state.url.meta_graph_name(), triples);
    crawl.index.commit(&Batch { writes: vec![write] })?;
    Ok(())
}

/// Stores what one request gave.
fn store(crawl: &Crawl, url: &PageUrl, triples: Vec<Triple>) -> Result<u64, CrawlError> {
    let count = triples.len() as u64;
    crawl.index.commit(&Batch { writes: vec![GraphWrite::replace(url.graph_name(), triples)] })?;
    crawl.counters.quads.fetch_add(count, Relaxed);
    Ok(count)
}

/// Asks for a URL and keeps what was received, before anything is made of it.
async fn ask(crawl: &Crawl, url: PageUrl, wanted: &Wanted) -> Result<FetchedPage, Trouble> {
    let mut tape = crawl.tape();
    let answered = follow(crawl, url, wanted, &mut tape).await;
    crawl.archive_source(tape, answered.is_ok()).await?;
    answered
}

/// Asks for a URL in its host's turn, robots.txt first, and follows where it leads.
async fn follow(
    crawl: &Crawl,
    url: PageUrl,
    wanted: &Wanted,
    tape: &mut Tape,
) -> Result<FetchedPage, Trouble> {
    let mut lease = Lease {
        id: LeaseId(0),
        candidate: LinkCandidate::seed(url),
        // Whether it is tried again is decided here, so to the fetcher every attempt is the last.
        attempt: u32::MAX,
        validators: None,
    };
    let turns = Turns::Frontier { frontier: &*crawl.frontier, host_freed: &crawl.host_freed };
    for request in 0..REQUESTS_MAX {
        let mut turn = turns.take(lease.url().host(), request).await;
        if crawl.sources.is_halted() {
            return Err(Trouble::Halted);
        }
        // From here on the host may have been asked, whatever becomes of this task.
        turn.hint = HostHint::default();
        let (outcome, hint) = crawl.fetcher.fetch_as_taped(&lease, wanted, tape).await;
        turn.hint = hint;
        drop(turn);
        match outcome {
            FetchOutcome::RobotsFirst => {}
            FetchOutcome::Redirected(redirect) => lease.candidate = lease.redirected(redirect.target),
            FetchOutcome::NotFetched(reason) => {
                return Err(match reason {
                    // These are about what was asked; the others would be the same whatever that is.
                    NotFetched::Status { status: 400 | 413 | 414 | 422 | 501 } => {
                        Trouble::Refused(reason.to_string())
                    }
                    // A host that does not answer may answer later.
                    NotFetched::RobotsUnreachable { .. } => Trouble::later(reason.to_string()),
                    _ => Trouble::Final(reason.to_string()),
                });
            }
            FetchOutcome::Unchanged(_) => return Err(Trouble::Final("answered 304 unasked".to_owned())),
            FetchOutcome::Failed(error) => {
                let (pause, overloaded) = match &error {
                    FetchError::Busy { retry_after, .. } => (*retry_after, true),
                    FetchError::Timeout { step: "headers" | "body", .. } => (None, true),
                    _ => (None, false),
                };
                // Virtuoso says 500 to queries that it does not run.
                let refused = matches!(error, FetchError::Busy { status: 500, .. });
                return Err(Trouble::Later { reason: error.to_string(), pause, overloaded, refused });
            }
            FetchOutcome::Fetched(page) => {
                crawl.counters.wire_bytes.fetch_add(page.wire_bytes, Relaxed);
                // Of a page a half is better than nothing; half a data set would pass for the whole.
                let broken_off =
                    page.diagnostics.iter().find(|diagnostic| diagnostic.code == "body-ended-early");
                return match broken_off {
                    Some(diagnostic) => Err(Trouble::later(diagnostic.message.clone())),
                    None => Ok(*page),
                };
            }
        }
    }
    Err(Trouble::Final(format!("it is more than {REQUESTS_MAX} requests away")))
}

/// The quads of an answer, read like a page's, and what of it could not be read.
async fn read(crawl: &Crawl, page: FetchedPage) -> Result<(Vec<Quad>, Option<String>), Trouble> {
    let spec = spec_of(crawl);
    let read = crawl.cpu.run(move || transform(&detect(page), &spec.transform));
    let graph =
        read.await.map_err(|panicked| Trouble::Final(format!("it broke a reader: {}", panicked.0)))?;
    let problem = graph.diagnostics.iter().find(|diagnostic| diagnostic.severity != Severity::Note);
    Ok((graph.quads, problem.map(ToString::to_string)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_written_as_kind_and_url() {
        for text in ["dump=http://a.example/d.nt.gz", "sparql=https://a.example/sparql?x=y"] {
            assert_eq!(text.parse::<SourceSpec>().unwrap().to_string(), text);
        }
        for text in ["", "dump", "dump=", "dumps=http://a.example/", "void=ftp://a.example/"] {
            assert!(text.parse::<SourceSpec>().is_err(), "{text}");
        }
    }
}
