//! One page's way through the five phases. New here? Read [`process_page`] first.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use oxrdf::{GraphName, Quad, Triple};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tracing::{debug, warn};
use webloom_detect::{detect, detect_named};
use webloom_extract::{JudgedPage, Novelty, Verdict, WordRuns, extract_links};
use webloom_fetch::Tape;
use webloom_index::{GraphWrite, WriteMode};
use webloom_model::vocab::rdfs;
use webloom_model::{
    DetectedPage, Detection, Diagnostic, DocumentKind, FetchError, FetchOutcome, FetchedPage, HostHint,
    Lease, LinkCandidate, NotFetched, PageGraph, PageUrl, Reservation, Retry, Settlement, SettlementKind,
    Validators,
};
use webloom_transform::rules::Answers;
use webloom_transform::{header_directives, transform_with};

use crate::archive::{Account, Captures, Keeper};
use crate::contexts::{Missing, Tried, Turn};
use crate::counters::{Counters, Gauge, Phase};
use crate::cpu::{Panicked, caught};
use crate::crawl::CrawlError;
use crate::journal::Entry;
use crate::metadata;
use crate::rules::{self, Workers};
use crate::seeds;
use crate::spec::{CrawlSpec, StoredLinks};
use crate::wiring::{Crawl, Following};

/// Longest time that a page waits for its host after robots.txt. A connection is kept that long.
const REST_MAX: Duration = Duration::from_secs(4);

/// Pages that wait so at once. They take next to no room, but some.
const RESTING_MAX: u64 = 4096;

/// Takes one page through the five phases. When it returns, the page's quads, text, metadata and links are
/// durable, and the lease is settled; killed anywhere before, the lease is simply handed out again.
pub async fn process_page(crawl: &Crawl, lease: Lease) -> Result<(), CrawlError> {
    if let Some(unwanted) = no_longer_wanted(crawl, &lease) {
        return crawl.committer.commit(unwanted).await;
    }
    // Bytes are written down as they come, before anyone interprets them.
    let mut tape = crawl.tape();
    let (outcome, robots_read) = fetch(crawl, &lease, &mut tape).await;
    let joins = matches!(outcome, FetchOutcome::Fetched(_)) && seeds::join_site(crawl, &lease)?;
    let sitemaps =
        if robots_read || joins || lease.is_for_links() { sitemaps(crawl, &lease) } else { Vec::new() };
    let account = Account::of(&lease, &outcome, crawl.spec().work.attempts_max);
    let page = match outcome {
        FetchOutcome::Fetched(page) => *page,
        no_page => {
            let keeper = Keeper::new(crawl.archivist.clone(), account);
            let mut settled = without_page(crawl, lease, no_page);
            settled.settlement.links.extend(sitemaps);
            return crawl.commit_archived(settled, keeper, tape).await;
        }
    };
    let mut remains = Remains::of(&page);
    let mut keeper = Keeper::new(crawl.archivist.clone(), account);
    keeper.take(&mut tape);
    let mut woven = match weave_whole(crawl, &lease, page, &mut keeper, &mut remains, &mut tape).await {
        Ok(woven) => {
            // The body has served; what waits for the commit are quads.
            drop(remains);
            woven
        }
        Err(panicked) => {
            warn!(url = %lease.url(), reason = panicked.0, "a page broke a parser; it is kept without quads");
            remains.woven(&crawl.spec(), lease.clone(), &panicked.0)
        }
    };
    if let Some(target) = woven.refresh.take() {
        woven.settlement.links.extend(seeds::refreshed(crawl, &lease, target));
    }
    woven.settlement.links.extend(sitemaps);
    crawl.commit_archived(woven, keeper, tape).await
}

/// Drops the links of a page that says nothing new, on a host that has said nothing new for a while, and says so.
fn drop_stale_links(novelty: &Mutex<Novelty>, counters: &Counters, url: &PageUrl, woven: &mut Woven) {
    let [page, .., metadata] = woven.writes.as_mut_slice() else { return };
    let (Some(text), Some(shape)) = (&page.text, woven.shape.take()) else { return };
    if woven.settlement.links.is_empty() {
        return;
    }
    let page = JudgedPage {
        url,
        title: text.title.as_deref(),
        text: &text.body,
        triples: &page.triples,
        plain_links: &shape.plain_links,
        shown_instead: &shape.shown_instead,
        found_on: shape.found_on.as_ref(),
    };
    let runs = WordRuns::of(&page);
    if novelty.lock().judge(&page, &runs) == Verdict::Exhausted {
        counters.stale_links.fetch_add(woven.settlement.links.len() as u64, Relaxed);
        woven.settlement.links.clear();
        metadata.triples.push(metadata::of_stale(url));
    }
}

/// Weaves a page with all that it needs from elsewhere: services are asked about it first, and what it names and nobody knows is
/// fetched, after which it is woven anew.
async fn weave_whole(
    crawl: &Crawl,
    lease: &Lease,
    page: FetchedPage,
    keeper: &mut Keeper,
    remains: &mut Remains,
    tape: &mut Tape,
) -> Result<Woven, Panicked> {
    let mut answers = None;
    let mut woven = match weave_on_pool(crawl, lease, page, keeper, 1, None).await? {
        Weft::Woven(woven) => *woven,
        Weft::Asks(detected) => {
            answers = Some(ask(crawl, detected, remains).await);
            match weave_on_pool(crawl, lease, remains.0.clone(), keeper, 1, answers.clone()).await? {
                Weft::Woven(woven) => *woven,
                Weft::Asks(_) => return Err(Panicked("a page asks for what it was given".to_owned())),
            }
        }
    };
    let mut tried = Tried::default();
    // What is fetched can name more, which is missed only once it is there.
    while crawl.obtain(&woven.missing, &mut tried, tape).await {
        let answers = answers.clone().or_else(|| Some(Arc::default()));
        match weave_on_pool(crawl, lease, remains.0.clone(), keeper, 0, answers).await? {
            Weft::Woven(again) => woven = *again,
            Weft::Asks(_) => break,
        }
    }
    if !woven.missing.is_empty() {
        // It will not get any better.
        let Following { novelty, stale_links } = crawl.following(lease);
        if !stale_links {
            drop_stale_links(&novelty, &crawl.counters, &remains.0.url, &mut woven);
        }
    }
    Ok(woven)
}

/// Asks the services that a page needs. A large page gives its place among the few in memory to others meanwhile: with the
/// services, what waits is counted by them.
async fn ask(crawl: &Crawl, mut detected: Box<DetectedPage>, remains: &mut Remains) -> Arc<Answers> {
    detected.page.reservation = None;
    remains.0.reservation = None;
    let spec = crawl.spec();
    let workers = Workers::Pool { pool: &crawl.cpu, room: &crawl.host_freed };
    let page = Arc::new(*detected);
    Arc::new(rules::ask(page, &spec.transform, &spec.services, &crawl.counters, workers).await)
}

/// What came of weaving: all of it, or a page that services are to be asked about first.
pub(crate) enum Weft {
    Woven(Box<Woven>),
    Asks(Box<DetectedPage>),
}

/// Detect, transform and extract only compute, and so does packing what was received: they share one trip to the CPU pool. Counts
/// as so many pages.
async fn weave_on_pool(
    crawl: &Crawl,
    lease: &Lease,
    page: FetchedPage,
    keeper: &mut Keeper,
    pages: u64,
    answers: Option<Arc<Answers>>,
) -> Result<Weft, Panicked> {
    let Following { novelty, stale_links } = crawl.following(lease);
    let (spec, counters, lease) = (crawl.spec(), crawl.counters.clone(), lease.clone());
    let mut packer = std::mem::take(keeper);
    let _working = Gauge::new(&crawl.counters.working);
    let work = move || {
        let url = page.url.clone();
        let mut weft = caught(|| weave(&spec, &counters, lease, page, pages, answers.as_deref()));
        match &mut weft {
            Ok(Weft::Woven(woven)) => {
                // With something missing the page may be woven again.
                if !stale_links && woven.missing.is_empty() {
                    drop_stale_links(&novelty, &counters, &url, woven);
                }
                packer.pack(woven.has_data());
            }
            Ok(Weft::Asks(_)) => {}
            // Nothing is known of the page then.
            Err(_) => packer.pack(false),
        }
        (weft, packer)
    };
    let (weft, packer) = crawl.cpu.run(work).await?;
    *keeper = packer;
    weft
}

/// Asks for the page, and tells the frontier the moment the host is free again. Where robots.txt has to come first, the page follows
/// over the same connection as soon as its host may be asked again, if that is soon. True when robots.txt was read.
async fn fetch(crawl: &Crawl, lease: &Lease, tape: &mut Tape) -> (FetchOutcome, bool) {
    if !has_turn_at_address(crawl, lease).await {
        crawl.frontier.request_finished(lease.id, HostHint { untouched: true, ..HostHint::default() });
        crawl.host_freed.notify_one();
        // It comes again, as when robots.txt has to be read.
        return (FetchOutcome::RobotsFirst, false);
    }
    let (outcome, hint) = request(crawl, lease, tape).await;
    crawl.frontier.request_finished(lease.id, hint);
    crawl.host_freed.notify_one();
    if !matches!(outcome, FetchOutcome::RobotsFirst) {
        return (outcome, false);
    }
    let Some(mut turn) = next_turn(crawl, lease.url().host()).await else { return (outcome, true) };
    let (outcome, hint) = request(crawl, lease, tape).await;
    turn.hint = hint;
    (outcome, true)
}

/// Whether the address of a lease's host may be asked now. Which address that is, is only known once the name was looked up, so a host's first lease
/// can come too early.
async fn has_turn_at_address(crawl: &Crawl, lease: &Lease) -> bool {
    if crawl.spec().frontier.ip_delay.is_zero() {
        return true;
    }
    match crawl.fetcher.address_of(lease.url()).await {
        Some(address) => crawl.frontier.resolved(lease.url().host(), address),
        None => true,
    }
}

/// The next turn of a host, if nobody else has it and it is worth waiting for.
async fn next_turn<'a>(crawl: &'a Crawl, host: &str) -> Option<Turn<'a>> {
    if crawl.counters.resting.load(Relaxed) >= RESTING_MAX {
        return None;
    }
    let (mut turn, moment) = Turn::reserve(&*crawl.frontier, &crawl.host_freed, host)?;
    let now = Instant::now();
    if moment > now {
        if moment > now + REST_MAX {
            return None;
        }
        let _resting = Gauge::new(&crawl.counters.resting);
        tokio::time::sleep_until(moment.into()).await;
    }
    // From here on the host may have been asked, whatever becomes of this task.
    turn.hint = HostHint::default();
    Some(turn)
}

/// One request, or none where robots.txt forbids it. What it tells of the host is for the frontier.
async fn request(crawl: &Crawl, lease: &Lease, tape: &mut Tape) -> (FetchOutcome, HostHint) {
    // A closed semaphore would mean the crawl is being torn down; then this task is gone too.
    let _place = crawl.connections.acquire().await;
    let _fetching = Gauge::new(&crawl.counters.fetching);
    let start = Instant::now();
    let (outcome, mut hint) = crawl.fetcher.fetch_taped(lease, tape).await;
    count_answer(&crawl.counters, &outcome, start.elapsed());
    tell_manners(&mut hint, &outcome, start.elapsed());
    if let FetchOutcome::Fetched(page) = &outcome {
        crawl.counters.add(Phase::Fetch, 1, start.elapsed());
        crawl.counters.wire_bytes.fetch_add(page.wire_bytes, Relaxed);
    }
    (outcome, hint)
}

/// What came of a request, in numbers.
fn count_answer(counters: &Counters, outcome: &FetchOutcome, elapsed: Duration) {
    let (status, is_error) = match outcome {
        FetchOutcome::Fetched(page) => (Some(page.status), false),
        FetchOutcome::Redirected(redirect) => (Some(redirect.status), false),
        FetchOutcome::Unchanged(_) => {
            counters.not_modified.fetch_add(1, Relaxed);
            (Some(304), false)
        }
        FetchOutcome::NotFetched(NotFetched::Status { status }) => (Some(*status), true),
        FetchOutcome::NotFetched(NotFetched::Robots) => {
            counters.robots_denied.fetch_add(1, Relaxed);
            return;
        }
        FetchOutcome::NotFetched(_) => (None, true),
        FetchOutcome::Failed(FetchError::Busy { status, .. }) => (Some(*status), true),
        FetchOutcome::Failed(_) => (None, true),
        FetchOutcome::RobotsFirst => return,
    };
    counters.answered(status);
    counters.errors.fetch_add(u64::from(is_error), Relaxed);
    if status.is_some() {
        counters.latency.add(elapsed);
    }
}

/// A URL that was queued under other rules and that the present ones refuse. Starting points stay: no rule brought them.
fn no_longer_wanted(crawl: &Crawl, lease: &Lease) -> Option<Woven> {
    if !crawl.control.rules_changed() {
        return None;
    }
    let refusal = match (lease.candidate.depth, lease.candidate.redirects.is_empty()) {
        (0, true) => return None,
        (0, false) => seeds::admits_redirect(crawl, lease, lease.url()),
        _ => crawl.spec().links.scope.admits_any_extension(lease.url()),
    }
    .err()?;
    crawl.frontier.request_finished(lease.id, HostHint { untouched: true, ..HostHint::default() });
    crawl.host_freed.notify_one();
    crawl.counters.not_a_page(format!("no longer wanted ({refusal})"));
    let settlement =
        Settlement { lease: lease.id, kind: SettlementKind::NoPage, links: Vec::new(), validators: None };
    Some(Woven::new(Vec::new(), settlement))
}

/// Adds to a hint how the server behaved: how long it took, what it answered, whether it failed.
fn tell_manners(hint: &mut HostHint, outcome: &FetchOutcome, elapsed: Duration) {
    let (status, trouble) = match outcome {
        FetchOutcome::Fetched(page) => {
            hint.remote = hint.remote.or(page.remote);
            hint.took = hint.took.or(Some(page.elapsed));
            (Some(page.status), false)
        }
        FetchOutcome::Redirected(redirect) => (Some(redirect.status), false),
        FetchOutcome::Unchanged(_) => (Some(304), false),
        FetchOutcome::NotFetched(NotFetched::Status { status }) => (Some(*status), *status >= 500),
        FetchOutcome::Failed(FetchError::Busy { status, .. }) => (Some(*status), true),
        // A name without an address is nobody's server.
        FetchOutcome::Failed(FetchError::Dns { .. }) => (None, false),
        FetchOutcome::Failed(_) => {
            hint.took = hint.took.or(Some(elapsed));
            (None, true)
        }
        _ => (None, false),
    };
    hint.status = status;
    hint.trouble = trouble && !hint.untouched;
}

/// What is to be made durable of one lease, in one go.
#[derive(Debug)]
pub(crate) struct Woven {
    /// For the index.
    pub(crate) writes: Vec<GraphWrite>,
    /// For the frontier.
    pub(crate) settlement: Settlement,
    /// Where the page refreshes to, if links of it are followed.
    refresh: Option<PageUrl>,
    /// What would have made more of the page.
    missing: Missing,
    /// What the page's links are to it. Nothing where they are all it is there for, as in a sitemap.
    shape: Option<Shape>,
    /// What was made of a large page takes its place in memory until it is on disk.
    pub(crate) reservation: Option<Reservation>,
    /// What to tell those who watch, once it is durable.
    pub(crate) entry: Option<Entry>,
    /// For the archive.
    pub(crate) captures: Captures,
}

/// What the links of a page are to it; see [`PageGraph`].
#[derive(Debug)]
struct Shape {
    plain_links: HashSet<String>,
    shown_instead: Vec<String>,
    /// The page that led to it.
    found_on: Option<PageUrl>,
}

impl Woven {
    /// Of something that takes next to no room.
    fn new(writes: Vec<GraphWrite>, settlement: Settlement) -> Self {
        Self {
            writes,
            settlement,
            refresh: None,
            missing: Missing::default(),
            shape: None,
            reservation: None,
            entry: None,
            captures: Captures::default(),
        }
    }

    /// True when some syntax of the page says something.
    pub(crate) fn has_data(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| !entry.syntaxes.is_empty())
    }

    /// A page that was there before and is not any more leaves an empty graph, and nothing to recognise it by: should it come back, it is to be
    /// read, even if it is the same.
    fn leave_the_index(&mut self, lease: &Lease) {
        if lease.validators.as_ref().is_some_and(|known| known.digest.is_some()) {
            self.writes.insert(0, GraphWrite::replace(lease.url().graph_name(), Vec::new()));
            self.settlement.validators = Some(Validators::default());
        }
    }

    /// With something to tell those who watch.
    fn told(mut self, entry: Entry) -> Self {
        self.entry = Some(entry);
        self
    }
}

/// Detect, transform, extract: from bytes to what is to be stored. No I/O, cannot fail. Without answers, a page that services
/// are to be asked about is only detected.
pub(crate) fn weave(
    spec: &CrawlSpec,
    counters: &Counters,
    lease: Lease,
    page: FetchedPage,
    pages: u64,
    answers: Option<&Answers>,
) -> Weft {
    let validators = validators_of(&page, &spec.transform.robots_agent);
    if is_as_before(&lease, &validators) {
        counters.not_a_page("unchanged");
        return Weft::Woven(Box::new(unchanged(&lease, validators)));
    }
    let digest = digest_of(&page);
    let newly = if answers.is_none() { pages } else { 0 };
    let detected = counters.time(Phase::Detect, newly, || match is_named_as_sitemap(&lease) {
        // A list of URLs is a sitemap where somebody says so, whatever its name.
        true => detect_named(page, "sitemap.txt"),
        false => detect(page),
    });
    let answers = match answers {
        None if rules::asks_outside(&detected, &spec.transform) => return Weft::Asks(Box::new(detected)),
        answers => answers.unwrap_or(const { &Answers(Vec::new()) }),
    };
    let mut graph =
        counters.time(Phase::Transform, pages, || transform_with(&detected, &spec.transform, answers));
    if pages > 0 {
        counters.add_steps(&graph.steps);
    }
    let mut extracted = counters.time(Phase::Extract, pages, || {
        extract_links(&detected.page.url, lease.candidate.depth, &graph, &spec.links)
    });
    counters.links.fetch_add(extracted.links.len() as u64 * pages, Relaxed);

    let mut diagnostics = detected.page.diagnostics.clone();
    diagnostics.append(&mut graph.diagnostics);
    diagnostics.append(&mut extracted.diagnostics);
    let mut woven = store(spec, lease, &detected, &digest, graph, extracted.links, &diagnostics);
    woven.settlement.validators = Some(validators);
    Weft::Woven(Box::new(woven))
}

/// What the page is recognised by when it is fetched again.
fn validators_of(page: &FetchedPage, agent: &str) -> Validators {
    // A header of kilobytes is no name for a page, and would be kept with every URL.
    const FIELD_BYTES_MAX: usize = 512;
    /// What came was not all of it.
    const CUT: [&str; 4] = ["body-ended-early", "body-cut", "broken-compression", "compression-ratio"];
    // A half must not be taken for the whole that its name stands for: the rest would never be asked for.
    let is_whole = !page.diagnostics.iter().any(|diagnostic| CUT.contains(&&*diagnostic.code));
    // What a header forbids it can allow with a 304, and a 304 without the header need not mean that: some servers leave it out there.
    let asked = header_directives(page.header_all("x-robots-tag"), agent);
    let is_named = is_whole && !asked.noindex && !asked.nofollow;
    let field = |name: &str| {
        page.header(name).filter(|value| is_named && value.len() <= FIELD_BYTES_MAX).map(str::to_owned)
    };
    let recognised = Some(recognised_by(page));
    Validators { etag: field("etag"), last_modified: field("last-modified"), digest: recognised }
}

/// What a page that comes whole is recognised by: its bytes, and the headers that say something of their own.
fn recognised_by(page: &FetchedPage) -> [u8; 32] {
    const TELLING: [&str; 2] = ["link", "x-robots-tag"];
    let mut told =
        TELLING.iter().flat_map(|name| page.header_all(name).map(move |value| (name, value))).peekable();
    if told.peek().is_none() {
        return digest_of(page);
    }
    let mut hasher = Sha256::new_with_prefix(digest_of(page));
    for (name, value) in told {
        hasher.update(format!("{name}: {value}\n"));
    }
    hasher.finalize().into()
}

/// True for what a robots.txt names as a sitemap.
fn is_named_as_sitemap(lease: &Lease) -> bool {
    let found_on = lease.candidate.found_on.as_ref();
    found_on.is_some_and(|page| page.path_and_query() == "/robots.txt")
}

/// SHA-256 of the body.
pub fn digest_of(page: &FetchedPage) -> [u8; 32] {
    Sha256::digest(&page.body).into()
}

/// Whether a page that came whole is the one that is in the index.
fn is_as_before(lease: &Lease, validators: &Validators) -> bool {
    let kept = lease.validators.as_ref().and_then(|kept| kept.digest);
    kept.is_some() && kept == validators.digest
}

/// Nothing is written: graph, words and metadata are what they were.
fn unchanged(lease: &Lease, validators: Validators) -> Woven {
    let kind = SettlementKind::Unchanged;
    Woven::new(
        Vec::new(),
        Settlement { lease: lease.id, kind, links: Vec::new(), validators: Some(validators) },
    )
}

/// A page that is what it was, and now asks not to be kept: it leaves the index, as one does that asks so when it comes whole.
fn kept_out(lease: &Lease, at: &jiff::Timestamp) -> Woven {
    let metadata = metadata_write(lease.url(), metadata::of_kept_out(lease, at));
    let kind = SettlementKind::Indexed;
    let settlement = Settlement { lease: lease.id, kind, links: Vec::new(), validators: None };
    let mut woven = Woven::new(vec![metadata], settlement);
    woven.leave_the_index(lease);
    woven.told(entry_without_page(lease, "noindex", Some(304), None))
}

/// Puts a page, its metadata and its settlement together.
fn store(
    spec: &CrawlSpec,
    lease: Lease,
    detected: &DetectedPage,
    digest: &[u8; 32],
    mut graph: PageGraph,
    links: Vec<LinkCandidate>,
    diagnostics: &[Diagnostic],
) -> Woven {
    let url = &detected.page.url;
    let indexed = !graph.robots.noindex;
    let mut metadata = metadata::of_page(&lease, detected, digest, &graph.text, indexed, diagnostics);
    metadata.extend(metadata::of_steps(url, &graph.steps));
    let quads = if indexed { stored_quads(spec.stored_links, url, &mut graph) } else { Vec::new() };
    let page = GraphWrite {
        graph: url.graph_name().into(),
        mode: WriteMode::Replace,
        // A page cannot write into another page's graph: inner named graphs become part of its own.
        triples: quads.into_iter().map(Triple::from).collect(),
        text: indexed.then_some(graph.text),
    };
    let mut entry = Entry::new(url.as_str(), if indexed { "indexed" } else { "noindex" });
    entry.status = Some(detected.page.status);
    entry.media_type = Some(detected.detection.media_type.clone());
    entry.bytes = detected.page.body.len() as u64;
    entry.quads = page.triples.len() as u64;
    entry.syntaxes = detected.detection.syntaxes.iter().map(ToString::to_string).collect();
    entry.milliseconds = u64::try_from(detected.page.elapsed.as_millis()).unwrap_or(u64::MAX);
    entry.diagnostics = diagnostics.len() as u64;
    Woven {
        entry: Some(entry),
        writes: vec![page, metadata_write(url, metadata)],
        settlement: Settlement { lease: lease.id, kind: SettlementKind::Indexed, links, validators: None },
        refresh: graph.refresh.filter(|_| !(graph.robots.nofollow && spec.links.obey_nofollow)),
        missing: Missing { contexts: graph.missing, documents: graph.missing_documents },
        shape: (!graph.lists_links).then_some(Shape {
            plain_links: graph.plain_links,
            shown_instead: graph.shown_instead,
            found_on: lease.candidate.found_on,
        }),
        reservation: detected.page.reservation.clone(),
        captures: Captures::default(),
    }
}

pub(crate) fn metadata_write(url: &PageUrl, triples: Vec<Triple>) -> GraphWrite {
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
    let settle = |kind, links| Settlement { lease: lease.id, kind, links, validators: None };
    match outcome {
        FetchOutcome::Fetched(_) => unreachable!("a page is woven, not settled without one"),
        FetchOutcome::RobotsFirst => Woven::new(Vec::new(), settle(SettlementKind::Returned, Vec::new())),
        FetchOutcome::Unchanged(answer) => {
            let asked = header_directives(
                answer.robots.iter().map(String::as_str),
                &crawl.spec().transform.robots_agent,
            );
            if asked.noindex {
                crawl.counters.not_a_page("noindex");
                return kept_out(&lease, &answer.fetched_at);
            }
            crawl.counters.not_a_page("unchanged");
            unchanged(&lease, answer.validators)
        }
        FetchOutcome::Redirected(redirect) => {
            crawl.counters.not_a_page("redirect");
            let target = lease.redirected(redirect.target.clone());
            let links = match seeds::admits_redirect(crawl, &lease, &target.url) {
                Ok(()) => vec![target],
                Err(refusal) => {
                    debug!(url = %lease.url(), target = %target.url, ?refusal, "redirect leads out of scope");
                    Vec::new()
                }
            };
            let metadata = metadata_write(lease.url(), metadata::of_redirect(&lease, &redirect));
            let mut woven = Woven::new(vec![metadata], settle(SettlementKind::NoPage, links));
            woven.leave_the_index(&lease);
            woven.told(entry_without_page(&lease, "redirect", Some(redirect.status), None))
        }
        FetchOutcome::NotFetched(reason) => {
            crawl.counters.not_a_page(match &reason {
                NotFetched::Status { status } => format!("status {status}"),
                other => other.code().to_owned(),
            });
            debug!(url = %lease.url(), %reason, "no page");
            let status = match &reason {
                NotFetched::Status { status } => Some(*status),
                _ => None,
            };
            let metadata = metadata_write(lease.url(), metadata::of_not_fetched(&lease, &reason));
            let mut woven = Woven::new(vec![metadata], settle(SettlementKind::NoPage, Vec::new()));
            if status.is_some_and(|status| (400..500).contains(&status)) {
                woven.leave_the_index(&lease);
            }
            woven.told(entry_without_page(&lease, reason.code(), status, Some(reason.to_string())))
        }
        FetchOutcome::Failed(error) if lease.attempt + 1 < crawl.spec().work.attempts_max => {
            crawl.counters.not_a_page(format!("{} (tried again)", error.code()));
            debug!(url = %lease.url(), attempt = lease.attempt, %error, "fetch will be tried again");
            let pause = match error.retry() {
                Retry::WithBackoff => None,
                Retry::After(pause) => Some(pause),
            };
            Woven::new(Vec::new(), settle(SettlementKind::Retry(pause), Vec::new())).told(entry_without_page(
                &lease,
                error.code(),
                busy_status(&error),
                Some(error.to_string()),
            ))
        }
        FetchOutcome::Failed(error) => give_up(crawl, lease, &error),
    }
}

/// The sitemaps that the host's robots.txt names, as links of the page it was asked for.
fn sitemaps(crawl: &Crawl, lease: &Lease) -> Vec<LinkCandidate> {
    if !crawl.spec().sitemaps {
        return Vec::new();
    }
    let sitemaps = crawl.fetcher.sitemaps(lease.url()).into_iter();
    sitemaps
        .filter(|sitemap| crawl.spec().links.scope.admits_any_extension(sitemap).is_ok())
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
        Settlement { lease: lease.id, kind: SettlementKind::NoPage, links: Vec::new(), validators: None },
    )
    .told(entry_without_page(&lease, error.code(), busy_status(error), Some(error.to_string())))
}

fn busy_status(error: &FetchError) -> Option<u16> {
    match error {
        FetchError::Busy { status, .. } => Some(*status),
        _ => None,
    }
}

/// What is told of a URL that gave no page.
fn entry_without_page(lease: &Lease, outcome: &str, status: Option<u16>, message: Option<String>) -> Entry {
    Entry { status, message, ..Entry::new(lease.url().as_str(), outcome) }
}

/// Enough of a page to say something of it when a parser panicked.
pub(crate) struct Remains(pub(crate) FetchedPage);

impl Remains {
    pub(crate) fn of(page: &FetchedPage) -> Self {
        // The body is reference-counted; only the header fields are copied.
        Self(page.clone())
    }

    pub(crate) fn woven(self, spec: &CrawlSpec, lease: Lease, reason: &str) -> Woven {
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
        let digest = digest_of(&detected.page);
        store(spec, lease, &detected, &digest, PageGraph::default(), Vec::new(), &[diagnostic])
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use webloom_model::LeaseId;

    use super::*;

    fn page(body: &'static str, headers: &[(&str, &str)]) -> FetchedPage {
        let url = PageUrl::parse("http://a.example/").unwrap();
        let mut page = FetchedPage::local(url, Some("text/html"), Bytes::from_static(body.as_bytes()));
        page.headers.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        page
    }

    #[test]
    fn a_page_that_is_as_before_is_not_written_again() {
        let spec = CrawlSpec::from_toml("").unwrap();
        let counters = Counters::default();
        let candidate = LinkCandidate::seed(PageUrl::parse("http://a.example/").unwrap());
        let woven = |validators: Option<Validators>, page: FetchedPage| {
            let lease = Lease { id: LeaseId(1), candidate: candidate.clone(), attempt: 0, validators };
            match weave(&spec, &counters, lease, page, 1, None) {
                Weft::Woven(woven) => *woven,
                Weft::Asks(_) => panic!("there is no rule"),
            }
        };
        let fields = [("etag", "\"1\""), ("last-modified", "Sun, 15 Nov 2026 12:00:00 GMT")];
        let first = woven(None, page("<p>one", &fields));
        assert_eq!((first.writes.len(), first.settlement.kind), (2, SettlementKind::Indexed));
        let kept = first.settlement.validators;
        assert_eq!(kept.as_ref().unwrap().etag.as_deref(), Some("\"1\""));
        assert!(kept.as_ref().unwrap().last_modified.is_some() && kept.as_ref().unwrap().digest.is_some());

        let again = woven(kept.clone(), page("<p>one", &[("etag", "\"2\"")]));
        assert_eq!((again.writes.len(), again.settlement.kind), (0, SettlementKind::Unchanged));
        assert_eq!(again.settlement.validators.unwrap().etag.as_deref(), Some("\"2\""));
        // Other bytes, or headers that say something of their own, are read, as long as they say something else.
        for page in [page("<p>two", &[]), page("<p>one", &[("x-robots-tag", "noindex")])] {
            assert_eq!(woven(kept.clone(), page).settlement.kind, SettlementKind::Indexed);
        }
        let link = |target: &str| page("<p>one", &[("link", &format!("<{target}>; rel=describedby"))]);
        let linking = woven(None, link("/a")).settlement.validators;
        assert_eq!(woven(linking.clone(), link("/a")).settlement.kind, SettlementKind::Unchanged);
        for other in [link("/b"), page("<p>one", &[])] {
            assert_eq!(woven(linking.clone(), other).settlement.kind, SettlementKind::Indexed);
        }
    }

    #[test]
    fn what_is_gone_leaves_the_index_once_and_is_not_recognised_when_it_comes_back() {
        let candidate = LinkCandidate::seed(PageUrl::parse("http://a.example/").unwrap());
        let known = Validators { digest: Some([7; 32]), ..Validators::default() };
        for (validators, was_there) in
            [(None, false), (Some(known), true), (Some(Validators::default()), false)]
        {
            let lease = Lease { id: LeaseId(1), candidate: candidate.clone(), attempt: 0, validators };
            let kind = SettlementKind::NoPage;
            let settlement = Settlement { lease: lease.id, kind, links: Vec::new(), validators: None };
            let mut woven = Woven::new(vec![metadata_write(lease.url(), Vec::new())], settlement);
            woven.leave_the_index(&lease);
            let graphs: Vec<String> = woven.writes.iter().map(|write| write.graph.to_string()).collect();
            let expected = ["<http://a.example/>", "<urn:webloom:meta:http://a.example/>"];
            assert_eq!(graphs, expected[usize::from(!was_there)..]);
            assert_eq!(woven.settlement.validators, was_there.then(Validators::default));
        }
    }

    #[test]
    fn half_a_page_is_not_taken_for_the_whole() {
        let mut half =
            page("<p>half", &[("etag", "\"1\""), ("last-modified", "Sun, 15 Nov 2026 12:00:00 GMT")]);
        half.diagnostics.push(Diagnostic::warning("body-ended-early", "it broke off"));
        let validators = validators_of(&half, "webloom");
        assert_eq!((validators.etag, validators.last_modified), (None, None));
        assert!(validators.digest.is_some());
    }

    #[test]
    fn what_a_header_forbids_is_asked_for_whole() {
        for (tag, is_named) in [
            ("noindex", false),
            ("none", false),
            ("webloom: nofollow", false),
            ("otherbot: noindex", true),
            ("all", true),
        ] {
            let page = page("<p>one", &[("etag", "\"1\""), ("x-robots-tag", tag)]);
            let validators = validators_of(&page, "webloom");
            assert_eq!((validators.etag.is_some(), validators.digest.is_some()), (is_named, true), "{tag}");
        }
    }

    #[test]
    fn a_page_that_is_not_to_be_kept_any_more_leaves_the_index() {
        let candidate = LinkCandidate::seed(PageUrl::parse("http://a.example/").unwrap());
        let known =
            Validators { etag: Some("\"1\"".to_owned()), digest: Some([7; 32]), ..Validators::default() };
        let lease = Lease { id: LeaseId(1), candidate, attempt: 0, validators: Some(known) };
        let woven = kept_out(&lease, &jiff::Timestamp::UNIX_EPOCH);
        assert!(woven.writes[0].triples.is_empty());
        let graphs: Vec<String> = woven.writes.iter().map(|write| write.graph.to_string()).collect();
        assert_eq!(graphs, ["<http://a.example/>", "<urn:webloom:meta:http://a.example/>"]);
        assert_eq!(woven.settlement.kind, SettlementKind::Indexed);
        assert_eq!(woven.settlement.validators, Some(Validators::default()));
        assert_eq!(woven.entry.unwrap().outcome, "noindex");
    }

    #[test]
    fn long_fields_are_no_validators() {
        let long = "x".repeat(1000);
        assert_eq!(validators_of(&page("", &[("etag", &long)]), "webloom").etag, None);
    }
}
