//! JSON-LD contexts from the web, for blocks that name one which does not come with us; and what GRDDL names, in the same way.
//!
//! In: the IRIs that a transform has missed. Out: a [`ContextCache`] that knows more of them, so that the page can be
//! transformed again. Transform itself opens no socket: to it the cache is a [`ContextSource`]. A cache holds one [`Kind`] of
//! document; the one for contexts stands before the one for GRDDL.
//!
//! A context is asked for once in a crawl, in the host's turn, as politely as a page: robots.txt, the delay, the guard
//! against private addresses. What it said is kept with the URLs, and that it could not be had as well, for a shorter
//! time. Scope does not apply: a context is no page. Start at [`ContextCache::obtain`].

mod links;
mod missing;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Notify;
use tracing::{debug, warn};
use webloom_fetch::{Fetcher, Tape, Wanted};
use webloom_frontier::{Blob, FjallFrontier};
use webloom_model::{
    Clock, FetchOutcome, FetchedPage, Frontier, HostHint, Lease, LeaseId, LinkCandidate, PageUrl,
};
use webloom_transform::ContextSource;

use self::links::linked_context;
pub(crate) use self::missing::{Missing, Tried};

/// Requests for one context: robots files, redirects, and a link to where it really is.
const REQUESTS_MAX: usize = 8;

/// How often a busy host is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(25);

/// What contexts may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextLimits {
    /// Bytes of one context.
    pub bytes_max: u64,
    /// Bytes of all contexts in memory.
    pub bytes_total_max: usize,
    /// Contexts asked for on behalf of one page.
    pub per_page_max: usize,
    /// Contexts asked for in one run.
    pub per_crawl_max: usize,
    /// Time for one context, waiting for its host's turn included.
    pub time_max: Duration,
    /// How long a context is believed.
    pub fresh: Duration,
    /// How long it is believed that a context cannot be had.
    pub refused_fresh: Duration,
}

impl Default for ContextLimits {
    fn default() -> Self {
        const HOUR: Duration = Duration::from_secs(60 * 60);
        Self {
            bytes_max: 1 << 20,
            bytes_total_max: 64 << 20,
            per_page_max: 8,
            per_crawl_max: 1000,
            time_max: Duration::from_secs(60),
            fresh: HOUR * 24 * 7,
            refused_fresh: HOUR,
        }
    }
}

/// Whose turn it is to be asked.
#[derive(Clone, Copy)]
pub enum Turns<'a> {
    /// The frontier's: a context waits for its host like any page.
    Frontier {
        /// Where hosts are reserved.
        frontier: &'a dyn Frontier,
        /// Rung when a host is free again.
        host_freed: &'a Notify,
    },
    /// Nobody else asks; this long a pause between two requests is enough.
    Pause(Duration),
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// JSON-LD contexts.
    Contexts,
    /// What GRDDL names: transformations, what they are put together from, profiles, documents of namespaces.
    Documents,
}

/// What is asked for where GRDDL names a document.
const ACCEPT_DOCUMENTS: &str = "application/xslt+xml, application/rdf+xml, text/turtle, application/xhtml+xml, \
                                application/xml;q=0.9, text/html;q=0.8, */*;q=0.1";

impl Kind {
    fn wanted(self, bytes_max: u64) -> Wanted {
        match self {
            Self::Contexts => Wanted::context(bytes_max),
            Self::Documents => Wanted { accept: ACCEPT_DOCUMENTS, bytes_max, timeout: None },
        }
    }

    /// The text of an answer, or why it is of no use.
    pub(crate) fn document(self, page: &FetchedPage) -> Result<String, String> {
        let text = text(page)?;
        if self == Self::Contexts {
            check_context(text)?;
        }
        Ok(text.to_owned())
    }

    /// Where the document really is, as an answer without one may say.
    pub(crate) fn link(self, page: &FetchedPage) -> Option<PageUrl> {
        match self {
            Self::Contexts => linked_context(page),
            Self::Documents => None,
        }
    }

    /// What keys begin with where both kinds are kept.
    fn key(self, iri: &str) -> String {
        match self {
            Self::Contexts => iri.to_owned(),
            Self::Documents => format!("document {iri}"),
        }
    }
}

/// Contexts that were fetched, and those that could not be.
#[derive(Debug)]
pub struct ContextCache {
    kind: Kind,
    limits: ContextLimits,
    others: Arc<dyn ContextSource>,
    clock: Arc<dyn Clock>,
    store: Option<Store>,
    known: RwLock<HashMap<String, Known>>,
    /// One at a time asks for a context; the others wait for what it finds.
    gates: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    asked: AtomicUsize,
    bytes: AtomicUsize,
}

#[derive(Debug, Clone)]
struct Known {
    /// Nothing when it cannot be had.
    document: Option<Arc<str>>,
    until: Timestamp,
}

impl ContextSource for ContextCache {
    fn context(&self, iri: &str) -> Option<Arc<str>> {
        self.others.context(iri).or_else(|| self.own(Kind::Contexts, iri))
    }

    fn vocabulary(&self, iri: &str) -> Option<Arc<str>> {
        self.others.vocabulary(iri)
    }

    fn document(&self, iri: &str) -> Option<Arc<str>> {
        self.others.document(iri).or_else(|| self.own(Kind::Documents, iri))
    }

    /// Not what was fetched: what a stranger's transformation can read must not depend on what others named.
    fn readable(&self, iri: &str) -> Option<Arc<str>> {
        self.others.readable(iri)
    }
}

impl ContextCache {
    /// An empty cache of contexts beside another source, which is asked first.
    pub fn new(limits: ContextLimits, others: Arc<dyn ContextSource>, clock: Arc<dyn Clock>) -> Self {
        Self::of(Kind::Contexts, limits, others, clock)
    }

    /// The same for any kind.
    pub fn of(
        kind: Kind,
        limits: ContextLimits,
        others: Arc<dyn ContextSource>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            kind,
            limits,
            others,
            clock,
            store: None,
            known: RwLock::default(),
            gates: Mutex::default(),
            asked: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
        }
    }

    /// The same, kept beside the URLs of a crawl, so that a resumed one has it too.
    pub(crate) fn kept_in(mut self, frontier: Arc<FjallFrontier>) -> Self {
        self.store = Some(Store { kind: self.kind, frontier });
        self
    }

    /// Those of the missing contexts that were not tried for this page yet, as many as a page may ask for.
    pub fn untried(&self, missing: &[String], tried: &mut HashSet<String>) -> Vec<String> {
        let room = self.limits.per_page_max.saturating_sub(tried.len());
        let new: Vec<String> =
            missing.iter().filter(|iri| !tried.contains(*iri)).take(room).cloned().collect();
        tried.extend(new.iter().cloned());
        new
    }

    /// Asks for contexts that a page misses. True when at least one of them is known now.
    pub async fn obtain(
        &self,
        missing: &[String],
        fetcher: &Fetcher,
        turns: Turns<'_>,
        tape: &mut Tape,
    ) -> bool {
        let mut gained = false;
        for iri in missing {
            gained |= self.obtain_one(iri, fetcher, turns, tape).await;
        }
        gained
    }

    async fn obtain_one(&self, iri: &str, fetcher: &Fetcher, turns: Turns<'_>, tape: &mut Tape) -> bool {
        if let Some(known) = self.fresh(iri).or_else(|| self.stored(iri)) {
            return known.document.is_some();
        }
        let Ok(url) = PageUrl::parse(iri) else { return false };
        let over_budget = || {
            self.asked.load(Relaxed) >= self.limits.per_crawl_max
                || self.bytes.load(Relaxed) >= self.limits.bytes_total_max
        };
        if over_budget() {
            return false;
        }
        let gate = self.gates.lock().entry(iri.to_owned()).or_default().clone();
        let _alone = gate.lock().await;
        // Another page may have been here while this one waited.
        if let Some(known) = self.fresh(iri) {
            return known.document.is_some();
        }
        if over_budget() {
            return false;
        }
        self.asked.fetch_add(1, Relaxed);
        let answer = tokio::time::timeout(self.limits.time_max, self.follow(url, fetcher, turns, tape))
            .await
            .unwrap_or_else(|_| Err("it took too long".to_owned()));
        self.remember(iri, answer)
    }

    /// Follows redirects and links to the document.
    async fn follow(
        &self,
        url: PageUrl,
        fetcher: &Fetcher,
        turns: Turns<'_>,
        tape: &mut Tape,
    ) -> Result<String, String> {
        // What fails is not tried again by anybody, so every attempt is the last.
        let mut lease = Lease {
            id: LeaseId(0),
            candidate: LinkCandidate::seed(url),
            attempt: u32::MAX,
            validators: None,
        };
        for request in 0..REQUESTS_MAX {
            let mut turn = turns.take(lease.url().host(), request).await;
            // From here on the host may have been asked, whatever becomes of this task.
            turn.hint = HostHint::default();
            let wanted = self.kind.wanted(self.limits.bytes_max);
            let (outcome, hint) = fetcher.fetch_as_taped(&lease, &wanted, tape).await;
            turn.hint = hint;
            drop(turn);
            match outcome {
                FetchOutcome::RobotsFirst => {}
                FetchOutcome::Redirected(redirect) => lease.candidate = lease.redirected(redirect.target),
                FetchOutcome::Unchanged(_) => return Err("answered 304 unasked".to_owned()),
                FetchOutcome::NotFetched(reason) => return Err(reason.to_string()),
                FetchOutcome::Failed(error) => return Err(error.to_string()),
                FetchOutcome::Fetched(page) => match self.kind.document(&page) {
                    Ok(document) => return Ok(document),
                    Err(reason) => match self.kind.link(&page) {
                        Some(target)
                            if !lease.candidate.redirects.contains(&target) && target != page.url =>
                        {
                            lease.candidate = lease.redirected(target);
                        }
                        _ => return Err(reason),
                    },
                },
            }
        }
        Err(format!("it is {REQUESTS_MAX} requests away"))
    }

    /// Notes what came of asking. True when there is a document.
    fn remember(&self, iri: &str, answer: Result<String, String>) -> bool {
        let now = self.clock.wall();
        // An old context is better than none.
        let stale = self.known.read().get(iri).and_then(|known| known.document.clone());
        let (document, fresh) = match answer {
            Ok(document) => (Some(Arc::from(document)), self.limits.fresh),
            Err(reason) => {
                debug!(iri, reason, "a document that a page names cannot be had");
                (stale, self.limits.refused_fresh)
            }
        };
        let known = Known { document, until: after(now, fresh) };
        if let Some(store) = &self.store {
            store.put(iri, now, &known);
        }
        self.insert(iri, known)
    }

    fn insert(&self, iri: &str, known: Known) -> bool {
        let length = |known: &Known| known.document.as_ref().map_or(0, |document| document.len());
        let is_document = known.document.is_some();
        self.bytes.fetch_add(length(&known), Relaxed);
        if let Some(before) = self.known.write().insert(iri.to_owned(), known) {
            self.bytes.fetch_sub(length(&before), Relaxed);
        }
        is_document
    }

    fn own(&self, kind: Kind, iri: &str) -> Option<Arc<str>> {
        if self.kind == kind { self.fresh(iri)?.document } else { None }
    }

    /// What is known of a context, unless it is too old.
    fn fresh(&self, iri: &str) -> Option<Known> {
        self.known.read().get(iri).filter(|known| known.until > self.clock.wall()).cloned()
    }

    fn stored(&self, iri: &str) -> Option<Known> {
        if self.known.read().contains_key(iri) {
            // It has grown old here, and is no younger there.
            return None;
        }
        let (document, at) = self.store.as_ref()?.get(iri)?;
        let fresh = if document.is_some() { self.limits.fresh } else { self.limits.refused_fresh };
        let known = Known { document: document.map(Arc::from), until: after(at, fresh) };
        self.insert(iri, known.clone());
        (known.until > self.clock.wall()).then_some(known)
    }
}

fn after(moment: Timestamp, duration: Duration) -> Timestamp {
    let duration = SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
    moment.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// The whole text of an answer, or why there is none.
fn text(page: &FetchedPage) -> Result<&str, String> {
    if let Some(diagnostic) = page.diagnostics.first() {
        // Half a context would give its terms other meanings.
        return Err(diagnostic.message.clone());
    }
    let bytes = page.body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&page.body);
    std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

fn check_context(text: &str) -> Result<(), String> {
    let json: serde_json::Value =
        serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    if json.get("@context").is_none() {
        return Err("there is no @context in it".to_owned());
    }
    Ok(())
}

/// A host that is reserved until this is dropped.
pub(crate) struct Turn<'a> {
    reserved: Option<(&'a dyn Frontier, &'a Notify, String)>,
    /// What the request told of the host; nobody was asked until it is set.
    pub(crate) hint: HostHint,
}

impl<'a> Turns<'a> {
    /// Waits until the host may be asked. `request` counts those made before for the same context.
    pub(crate) async fn take(self, host: &str, request: usize) -> Turn<'a> {
        match self {
            Self::Pause(pause) => {
                if request > 0 {
                    tokio::time::sleep(pause).await;
                }
                Turn { reserved: None, hint: HostHint::default() }
            }
            Self::Frontier { frontier, host_freed } => loop {
                if let Some((turn, moment)) = Turn::reserve(frontier, host_freed, host) {
                    tokio::time::sleep_until(moment.into()).await;
                    return turn;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
            },
        }
    }
}

impl<'a> Turn<'a> {
    /// Takes a host, unless somebody else has it, and says from when on it may be asked.
    pub(crate) fn reserve(
        frontier: &'a dyn Frontier,
        host_freed: &'a Notify,
        host: &str,
    ) -> Option<(Self, Instant)> {
        let moment = frontier.reserve(host)?;
        // Until a request is made nothing is owed.
        let hint = HostHint { untouched: true, ..HostHint::default() };
        Some((Self { reserved: Some((frontier, host_freed, host.to_owned())), hint }, moment))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some((frontier, host_freed, host)) = &self.reserved {
            frontier.release(host, self.hint);
            host_freed.notify_one();
        }
    }
}

/// Contexts beside the URLs: when it was asked for (milliseconds, eight bytes), whether there was one, the document.
#[derive(Debug)]
struct Store {
    kind: Kind,
    frontier: Arc<FjallFrontier>,
}

impl Store {
    fn get(&self, iri: &str) -> Option<(Option<String>, Timestamp)> {
        let record = self.frontier.get_blob(Blob::Contexts, &self.kind.key(iri)).unwrap_or_else(|error| {
            warn!(iri, %error, "a context cannot be read and will be fetched again");
            None
        })?;
        let (at, rest) = record.split_first_chunk::<8>()?;
        let at = Timestamp::from_millisecond(i64::from_be_bytes(*at)).ok()?;
        match rest {
            [0] => Some((None, at)),
            [1, document @ ..] => Some((Some(String::from_utf8(document.to_vec()).ok()?), at)),
            _ => None,
        }
    }

    fn put(&self, iri: &str, at: Timestamp, known: &Known) {
        let mut record = at.as_millisecond().to_be_bytes().to_vec();
        record.push(u8::from(known.document.is_some()));
        record.extend_from_slice(known.document.as_deref().unwrap_or_default().as_bytes());
        if let Err(error) = self.frontier.put_blob(Blob::Contexts, &self.kind.key(iri), &record) {
            warn!(iri, %error, "a context cannot be kept");
        }
    }
}

impl std::fmt::Debug for Turns<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Frontier { .. } => f.write_str("Frontier"),
            Self::Pause(pause) => f.debug_tuple("Pause").field(pause).finish(),
        }
    }
}
