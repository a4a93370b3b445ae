//! Phase 1, Fetch: one lease in, one outcome out, at most one request to the host.
//!
//! In: a [`Lease`]. Out: a [`FetchOutcome`] and a [`HostHint`] for the politeness clock. Everything the
//! crate can do is put together here: robots.txt first, then addresses, a connection, the request, the meaning of the
//! status, the body. When to fetch is the frontier's business; what the bytes are is detection's. Start at
//! [`Fetcher::fetch`].

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_ENCODING, HOST, HeaderMap, HeaderValue, USER_AGENT,
};
use http::{Request, StatusCode, Uri, Version};
use http_body_util::Empty;
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use webloom_model::{
    Clock, FetchError, FetchOutcome, FetchedPage, HostHint, Lease, LeaseId, LinkCandidate, NotFetched,
    PageUrl, Redirect, Reservation,
};

use crate::body::{self, BodyLimits, ReadBody};
use crate::connect::{self, Connection, Connector};
use crate::pool::{Origin, Pool};
use crate::resolve::RuledResolver;
use crate::robots::{KnownRobots, ROBOTS_BYTES_MAX, RobotsCache, RobotsClass, RobotsRecord};
use crate::stats::{Counters, count};
use crate::{FetchConfig, FetchSetupError, FetchStats, Resolve, RobotsStore, address, headers};

/// What we like best is what pages are written in; RDF is as good, but must not be preferred so much that a
/// site's data page is all we see of it.
const ACCEPT_PAGES: &str = "text/html, application/xhtml+xml, text/turtle;q=0.9, application/ld+json;q=0.9, \
    application/rdf+xml;q=0.9, application/trig;q=0.9, application/n-triples;q=0.9, \
    application/n-quads;q=0.9, application/atom+xml;q=0.8, application/rss+xml;q=0.8, \
    application/xml;q=0.8, text/xml;q=0.8, application/json;q=0.7, */*;q=0.5";
const ACCEPT_CONTEXTS: &str = "application/ld+json, application/json;q=0.9, */*;q=0.1";
const ACCEPT_ROBOTS: &str = "text/plain, */*;q=0.5";
const ACCEPT_ENCODINGS: &str = "gzip, br, zstd, deflate";

/// Sitemaps taken from one robots.txt.
const SITEMAPS_MAX: usize = 100;
/// A robots.txt must stay fresh until the page it was fetched for has its turn.
const ROBOTS_FRESH_MIN: Duration = Duration::from_secs(60);

/// Fetches pages politely. Made for many tasks at once; cheap to share in an [`Arc`].
///
/// Politeness needs a partner: at most one call per host at a time, with a pause in between. The frontier
/// sees to that.
pub struct Fetcher {
    config: FetchConfig,
    resolver: RuledResolver,
    robots_store: Arc<dyn RobotsStore>,
    robots_cache: RobotsCache,
    clock: Arc<dyn Clock>,
    connector: Connector,
    pool: Pool,
    large_bodies: Arc<Semaphore>,
    counters: Arc<Counters>,
    page_headers: HeaderMap,
    context_headers: HeaderMap,
    robots_headers: HeaderMap,
}

/// What came of following one URL to its page.
#[derive(Debug)]
pub struct Followed {
    /// The last outcome; never a redirect and never `RobotsFirst`.
    pub outcome: FetchOutcome,
    /// The URL that gave it.
    pub url: PageUrl,
    /// The URLs that led there by redirect, oldest first.
    pub redirects: Vec<PageUrl>,
}

impl Fetcher {
    /// Checks the settings and sets everything up. Opens no connection.
    pub fn new(
        config: FetchConfig,
        resolver: Arc<dyn Resolve>,
        robots_store: Arc<dyn RobotsStore>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, FetchSetupError> {
        if config.large_bodies_max == 0 {
            return Err(FetchSetupError::Setting { setting: "large_bodies_max", value: "0" });
        }
        if config.header_count_max == 0 {
            return Err(FetchSetupError::Setting { setting: "header_count_max", value: "0" });
        }
        if config.robots_agent.trim().is_empty() {
            return Err(FetchSetupError::Setting { setting: "robots_agent", value: "empty" });
        }
        // A robots.txt that is stale when the page's turn comes would be asked for for ever.
        if config.robots_fresh < ROBOTS_FRESH_MIN {
            return Err(FetchSetupError::Setting { setting: "robots_fresh", value: "less than a minute" });
        }
        let counters = Arc::new(Counters::default());
        Ok(Self {
            resolver: RuledResolver { rules: config.resolve.clone(), inner: resolver },
            robots_store,
            robots_cache: RobotsCache::new(config.robots_cache_bytes),
            clock,
            connector: Connector::new(&config, Arc::clone(&counters))?,
            pool: Pool::new(config.pool_idle, config.pool_connections_max),
            large_bodies: Arc::new(Semaphore::new(config.large_bodies_max.min(Semaphore::MAX_PERMITS))),
            counters,
            page_headers: request_headers(&config, ACCEPT_PAGES)?,
            context_headers: request_headers(&config, ACCEPT_CONTEXTS)?,
            robots_headers: request_headers(&config, ACCEPT_ROBOTS)?,
            config,
        })
    }

    /// Fetches what a lease asks for, or the robots.txt that must come first.
    ///
    /// Never panics and always returns within the sum of the configured time limits. Dropping the future abandons the
    /// request and closes its connection.
    pub async fn fetch(&self, lease: &Lease) -> (FetchOutcome, HostHint) {
        self.fetch_wanted(lease, &self.page_headers, self.config.body_bytes_max).await
    }

    /// The same for a JSON-LD context: JSON is asked for, and at most `bytes_max` of it are read.
    pub async fn fetch_context(&self, lease: &Lease, bytes_max: u64) -> (FetchOutcome, HostHint) {
        self.fetch_wanted(lease, &self.context_headers, bytes_max).await
    }

    async fn fetch_wanted(
        &self,
        lease: &Lease,
        headers: &HeaderMap,
        bytes_max: u64,
    ) -> (FetchOutcome, HostHint) {
        let mut hint = HostHint::default();
        if self.config.obey_robots {
            let origin = lease.url().origin();
            let Some(robots) = self.known_robots(&origin) else {
                return self.fetch_robots(lease, &origin).await;
            };
            hint.crawl_delay = robots.rules.crawl_delay();
            if robots.class == RobotsClass::Unreachable {
                hint.untouched = true;
                let error = self.still_unreachable(lease.url(), &robots);
                return (self.without_robots(lease, error), hint);
            }
            if !robots.rules.allows(lease.url()) {
                hint.untouched = true;
                return (FetchOutcome::NotFetched(NotFetched::Robots), hint);
            }
        }
        let outcome = match self.fetch_page(lease, headers, bytes_max, &mut hint).await {
            Ok(outcome) => outcome,
            Err(failure) => {
                hint.untouched = failure.untouched;
                failure.outcome
            }
        };
        (outcome, hint)
    }

    /// Fetches one URL for somebody who waits: robots.txt and redirects are seen to here, with pauses
    /// between the requests. Failures are not tried again.
    pub async fn fetch_once(&self, url: &PageUrl) -> Followed {
        let mut lease = Lease {
            id: LeaseId(0),
            candidate: LinkCandidate::seed(url.clone()),
            attempt: self.config.attempts_max.saturating_sub(1),
        };
        loop {
            let (outcome, hint) = self.fetch(&lease).await;
            match outcome {
                FetchOutcome::Redirected(redirect) => lease.candidate = lease.redirected(redirect.target),
                FetchOutcome::RobotsFirst => {}
                outcome => {
                    let LinkCandidate { url, redirects, .. } = lease.candidate;
                    return Followed { outcome, url, redirects };
                }
            }
            let wished = hint.crawl_delay.unwrap_or_default().max(self.config.follow_delay);
            sleep(wished.min(self.config.follow_delay_max).min(ROBOTS_FRESH_MIN / 2)).await;
        }
    }

    /// What has been done so far.
    pub fn stats(&self) -> FetchStats {
        self.counters.snapshot()
    }

    /// The settings.
    pub fn config(&self) -> &FetchConfig {
        &self.config
    }

    async fn fetch_page(
        &self,
        lease: &Lease,
        headers: &HeaderMap,
        bytes_max: u64,
        hint: &mut HostHint,
    ) -> Result<FetchOutcome, Failure> {
        let url = lease.url();
        let answer = self.request(url, headers).await?;
        let status = answer.status;
        match status.as_u16() {
            200..=299 => {
                let page = self.read_page(url, answer, bytes_max).await?;
                Ok(FetchOutcome::Fetched(Box::new(page)))
            }
            301 | 302 | 303 | 307 | 308 => {
                let fetched_at = answer.fetched_at;
                let target = headers::redirect_target(url, &answer.headers);
                self.discard(url, answer).await;
                Ok(match target.and_then(|target| self.check_redirect(lease, target)) {
                    Ok(target) => {
                        FetchOutcome::Redirected(Redirect { status: status.as_u16(), target, fetched_at })
                    }
                    Err(reason) => FetchOutcome::NotFetched(NotFetched::BadRedirect { reason }),
                })
            }
            code @ (408 | 425 | 429 | 500 | 502 | 503 | 504) => {
                let retry_after = headers::retry_after(&answer.headers, self.clock.wall());
                hint.retry_after = retry_after;
                self.discard(url, answer).await;
                Ok(FetchOutcome::Failed(FetchError::Busy { status: code, retry_after }))
            }
            code => {
                self.discard(url, answer).await;
                Ok(FetchOutcome::NotFetched(NotFetched::Status { status: code }))
            }
        }
    }

    /// The target, unless following it leads in circles or too far.
    fn check_redirect(&self, lease: &Lease, target: PageUrl) -> Result<PageUrl, String> {
        let before = &lease.candidate.redirects;
        if target == *lease.url() {
            return Err("it points to itself".to_owned());
        }
        if before.contains(&target) {
            return Err(format!("it goes round in a circle, back to <{target}>"));
        }
        if before.len() >= self.config.redirects_max {
            return Err(format!("there were {} before it", before.len()));
        }
        Ok(target)
    }

    async fn read_page(&self, url: &PageUrl, answer: Answer, bytes_max: u64) -> Result<FetchedPage, Failure> {
        let wire_bytes_max = if bytes_max < self.config.body_bytes_max {
            self.config.body_wire_bytes_max.min(bytes_max)
        } else {
            self.config.body_wire_bytes_max
        };
        let limits = self.body_limits(wire_bytes_max, bytes_max);
        let Answer { status, version, headers, fetched_at, started, body, connection, .. } = answer;
        let remote = connection.remote.ip();
        let read = self.read_body(url, &headers, body, connection, &limits).await?;
        Ok(FetchedPage {
            url: url.clone(),
            status: status.as_u16(),
            headers: headers::all(&headers),
            body: read.bytes,
            wire_bytes: read.wire_bytes,
            http_version: version_name(version),
            remote: Some(remote),
            fetched_at,
            elapsed: self.clock.now().saturating_duration_since(started),
            diagnostics: read.diagnostics,
            reservation: read.permit.map(|permit| Arc::new(permit) as Reservation),
        })
    }

    // --- robots.txt ---

    /// What is known of the origin's robots.txt, if it is known and fresh.
    fn known_robots(&self, origin: &str) -> Option<Arc<KnownRobots>> {
        let known = self.robots_cache.get(origin).or_else(|| {
            let record = RobotsRecord::from_bytes(&self.robots_store.get(origin)?)?;
            let known = Arc::new(KnownRobots::new(&record, &self.config.robots_agent));
            self.robots_cache.put(origin, Arc::clone(&known));
            Some(known)
        })?;
        self.robots_fresh_for(&known).map(|_| known)
    }

    /// The sitemaps that the robots.txt of the URL's origin names, if it was read.
    pub fn sitemaps(&self, url: &PageUrl) -> Vec<PageUrl> {
        let Some(robots) = self.known_robots(&url.origin()) else { return Vec::new() };
        let sitemaps = robots.rules.sitemaps().filter_map(|sitemap| PageUrl::parse(sitemap).ok());
        sitemaps.take(SITEMAPS_MAX).collect()
    }

    /// How long the record may still be believed; nothing when it is stale.
    fn robots_fresh_for(&self, known: &KnownRobots) -> Option<Duration> {
        let fresh = match known.class {
            RobotsClass::Found | RobotsClass::Missing => self.config.robots_fresh,
            RobotsClass::Unreachable => self.config.robots_unreachable_fresh,
        };
        // A record from the future is one written before somebody set the clock back.
        let age = Duration::try_from(self.clock.wall().duration_since(known.fetched_at)).unwrap_or_default();
        fresh.checked_sub(age).filter(|left| !left.is_zero())
    }

    /// Asks for robots.txt, which is all the host is asked this time.
    async fn fetch_robots(&self, lease: &Lease, origin: &str) -> (FetchOutcome, HostHint) {
        let mut hint = HostHint::default();
        let mut record = RobotsRecord {
            class: RobotsClass::Missing,
            status: 0,
            fetched_at: self.clock.wall(),
            reason: String::new(),
            body: Bytes::new(),
        };
        let asked = self.ask_for_robots(lease.url(), &mut record, &mut hint).await;
        // The record is as old as the answer, not as the question.
        record.fetched_at = self.clock.wall();
        let outcome = match asked {
            Ok(()) => FetchOutcome::RobotsFirst,
            Err(Failure { outcome, untouched: true }) => {
                // Nobody was asked, so there is nothing to remember about the host's robots.txt.
                hint.untouched = true;
                return (outcome, hint);
            }
            Err(Failure { outcome: FetchOutcome::Failed(error), .. }) => {
                record.class = RobotsClass::Unreachable;
                record.reason = error.to_string();
                record.body = Bytes::new();
                self.without_robots(lease, error)
            }
            Err(Failure { outcome, .. }) => outcome,
        };
        let known = Arc::new(KnownRobots::new(&record, &self.config.robots_agent));
        hint.crawl_delay = known.rules.crawl_delay();
        self.robots_store.put(origin, &record.to_bytes());
        self.robots_cache.put(origin, known);
        (outcome, hint)
    }

    /// Follows robots.txt to where it is, and fills in the record.
    async fn ask_for_robots(
        &self,
        url: &PageUrl,
        record: &mut RobotsRecord,
        hint: &mut HostHint,
    ) -> Result<(), Failure> {
        let unreachable = |reason: String| Failure::touched(FetchError::Protocol { reason });
        let mut url = url.join("/robots.txt").map_err(|problem| unreachable(problem.to_string()))?;
        for hop in 0..=self.config.robots_redirects_max {
            if hop > 0 {
                sleep(self.config.robots_hop_delay).await;
            }
            count(&self.counters.robots_requests, 1);
            let answer = match self.request(&url, &self.robots_headers).await {
                // The host itself answered; that it points to nowhere is a fault of its robots.txt.
                Err(failure) if hop > 0 => {
                    return Err(match failure.outcome {
                        FetchOutcome::NotFetched(reason) => unreachable(reason.to_string()),
                        outcome => Failure { outcome, untouched: false },
                    });
                }
                answer => answer?,
            };
            record.status = answer.status.as_u16();
            match record.status {
                200..=299 => {
                    let bytes_max = ROBOTS_BYTES_MAX as u64 + 1;
                    let limits = self.body_limits(bytes_max, bytes_max);
                    let Answer { headers, body, connection, .. } = answer;
                    let read = self.read_body(&url, &headers, body, connection, &limits).await?;
                    // The part that is missing may be the part that forbids.
                    if read.ended_early {
                        return Err(unreachable("robots.txt breaks off".to_owned()));
                    }
                    record.class = RobotsClass::Found;
                    record.body = read.bytes;
                    return Ok(());
                }
                301 | 302 | 303 | 307 | 308 => {
                    let target = headers::redirect_target(&url, &answer.headers);
                    self.discard(&url, answer).await;
                    match target {
                        Ok(target) => url = target,
                        Err(_) => return Ok(()),
                    }
                }
                // 429 is a 4xx by number only: the host has a robots.txt and is busy.
                status @ (408 | 425 | 429 | 500..) => {
                    let retry_after = headers::retry_after(&answer.headers, self.clock.wall());
                    hint.retry_after = retry_after;
                    self.discard(&url, answer).await;
                    return Err(Failure::touched(FetchError::Busy { status, retry_after }));
                }
                _ => {
                    self.discard(&url, answer).await;
                    return Ok(());
                }
            }
        }
        // Redirects without end: RFC 9309 lets this count as missing.
        Ok(())
    }

    /// What to answer while robots.txt cannot be had: to be tried again, or given up.
    fn without_robots(&self, lease: &Lease, error: FetchError) -> FetchOutcome {
        if lease.attempt.saturating_add(1) >= self.config.attempts_max {
            FetchOutcome::NotFetched(NotFetched::RobotsUnreachable { reason: error.to_string() })
        } else {
            FetchOutcome::Failed(error)
        }
    }

    fn still_unreachable(&self, url: &PageUrl, robots: &KnownRobots) -> FetchError {
        if robots.status == 0 || robots.status < 400 {
            let reason = format!("a moment ago: {}", robots.reason);
            FetchError::Connect { host: url.host().to_owned(), reason }
        } else {
            FetchError::Busy { status: robots.status, retry_after: self.robots_fresh_for(robots) }
        }
    }

    // --- requests ---

    /// Sends one request and waits for the head of the answer.
    async fn request(&self, url: &PageUrl, headers: &HeaderMap) -> Result<Answer, Failure> {
        let addresses = self.addresses(url).await?;
        let origin = Origin::of(url);
        let started = self.clock.now();
        let mut connection = match self.pool.take(&origin, &addresses).await {
            Some(connection) => connection,
            None => self.connect(url, &origin, &addresses).await?,
        };
        loop {
            let request = build_request(url, headers, connection.is_http2())?;
            count(&self.counters.requests, 1);
            if connection.reused {
                count(&self.counters.connections_reused, 1);
            }
            let sent = timeout(self.config.headers_timeout, connection.send(request)).await;
            match sent {
                Err(_) => {
                    self.pool.forget(&origin);
                    let limit = self.config.headers_timeout;
                    return Err(Failure::touched(FetchError::Timeout { step: "headers", limit }));
                }
                Ok(Ok(response)) => {
                    let (head, body) = response.into_parts();
                    return Ok(Answer {
                        status: head.status,
                        version: head.version,
                        headers: head.headers,
                        fetched_at: self.clock.wall(),
                        started,
                        body,
                        connection,
                    });
                }
                // A kept connection may have been closed while the request was on its way. The host has not
                // answered, so asking once more is not asking twice.
                Ok(Err(error)) if connection.reused && !error.is_parse() => {
                    count(&self.counters.connections_dead, 1);
                    self.pool.forget(&origin);
                    connection = self.connect(url, &origin, &addresses).await?;
                }
                Ok(Err(error)) => {
                    self.pool.forget(&origin);
                    let reason = connect::reason(&error);
                    return Err(Failure::touched(FetchError::Protocol { reason }));
                }
            }
        }
    }

    async fn connect(
        &self,
        url: &PageUrl,
        origin: &Origin,
        addresses: &[SocketAddr],
    ) -> Result<Connection, Failure> {
        let connection = self.connector.connect(url, addresses).await.map_err(Failure::touched)?;
        if let connect::Sender::Http2(sender) = &connection.sender {
            let sender = connect::Sender::Http2(sender.clone());
            self.pool.put(origin.clone(), Connection { sender, remote: connection.remote, reused: true });
        }
        Ok(connection)
    }

    /// The addresses of the URL's host that may be connected to.
    async fn addresses(&self, url: &PageUrl) -> Result<Vec<SocketAddr>, Failure> {
        let limit = self.config.resolve_timeout;
        let resolved = timeout(limit, self.resolver.resolve(url.host(), url.port()))
            .await
            .map_err(|_| Failure::untouched(FetchError::Timeout { step: "resolve", limit }))?
            .map_err(|error| {
                Failure::untouched(FetchError::Dns { host: url.host().to_owned(), reason: error.reason })
            })?;
        allowed_addresses(&resolved, self.config.allow_private).map_err(|address| Failure {
            outcome: FetchOutcome::NotFetched(NotFetched::PrivateAddress { address }),
            untouched: true,
        })
    }

    fn body_limits(&self, wire_bytes_max: u64, bytes_max: u64) -> BodyLimits {
        BodyLimits {
            wire_bytes_max,
            bytes_max,
            ratio_max: self.config.compression_ratio_max,
            large_bytes: self.config.large_body_bytes,
            idle_timeout: self.config.body_idle_timeout,
            timeout: self.config.body_timeout,
        }
    }

    async fn read_body(
        &self,
        url: &PageUrl,
        headers: &HeaderMap,
        body: Incoming,
        connection: Connection,
        limits: &BodyLimits,
    ) -> Result<ReadBody, Failure> {
        let encodings = headers::values(headers, &CONTENT_ENCODING);
        let read =
            body::read_body(body, &encodings, limits, &self.large_bodies).await.map_err(Failure::touched)?;
        count(&self.counters.wire_bytes, read.wire_bytes);
        count(&self.counters.body_bytes, read.bytes.len() as u64);
        if read.complete {
            self.keep(url, connection);
        }
        Ok(read)
    }

    /// Reads off an answer nobody wants to see, if that is cheaper than a new connection.
    async fn discard(&self, url: &PageUrl, answer: Answer) {
        if body::discard(answer.body).await {
            self.keep(url, answer.connection);
        }
    }

    fn keep(&self, url: &PageUrl, connection: Connection) {
        // HTTP/2 connections are in the pool from the start.
        if !connection.is_http2() {
            self.pool.put(Origin::of(url), connection);
        }
    }
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("config", &self.config)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// The head of an answer, and what its body comes over.
struct Answer {
    status: StatusCode,
    version: Version,
    headers: HeaderMap,
    fetched_at: Timestamp,
    started: Instant,
    body: Incoming,
    connection: Connection,
}

/// Why there is no answer to look at.
struct Failure {
    outcome: FetchOutcome,
    /// No packet was sent to the host.
    untouched: bool,
}

impl Failure {
    fn touched(error: FetchError) -> Self {
        Self { outcome: FetchOutcome::Failed(error), untouched: false }
    }

    fn untouched(error: FetchError) -> Self {
        Self { outcome: FetchOutcome::Failed(error), untouched: true }
    }
}

/// The addresses that may be connected to, IPv4 first, which is what every machine has; or one that may not,
/// when that is all there are.
fn allowed_addresses(resolved: &[SocketAddr], allow_private: bool) -> Result<Vec<SocketAddr>, IpAddr> {
    let may_connect = |socket: &SocketAddr| allow_private || address::is_public(socket.ip());
    let mut allowed: Vec<SocketAddr> = resolved.iter().copied().filter(may_connect).collect();
    allowed.sort_by_key(SocketAddr::is_ipv6);
    match resolved.first() {
        Some(first) if allowed.is_empty() => Err(first.ip()),
        _ => Ok(allowed),
    }
}

/// The fields that are the same in every request.
fn request_headers(config: &FetchConfig, accept: &'static str) -> Result<HeaderMap, FetchSetupError> {
    let checked = |setting: &'static str, value: &str| {
        HeaderValue::from_str(value).map_err(|_| FetchSetupError::Header { setting, value: value.to_owned() })
    };
    let mut headers = HeaderMap::new();
    headers.insert(USER_AGENT, checked("contact", &config.user_agent())?);
    headers.insert(ACCEPT, HeaderValue::from_static(accept));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPT_ENCODINGS));
    if let Some(language) = &config.accept_language {
        headers.insert(ACCEPT_LANGUAGE, checked("accept_language", language)?);
    }
    Ok(headers)
}

fn build_request(
    url: &PageUrl,
    headers: &HeaderMap,
    is_http2: bool,
) -> Result<Request<Empty<Bytes>>, Failure> {
    let unsendable = |error: http::Error| {
        Failure::untouched(FetchError::Protocol { reason: format!("the URL cannot be sent: {error}") })
    };
    // HTTP/2 takes scheme and authority from the URI; HTTP/1 wants the path there and the authority in a field.
    let uri = if is_http2 { url.as_str() } else { url.path_and_query() };
    let uri: Uri = uri.parse().map_err(|error: http::uri::InvalidUri| unsendable(error.into()))?;
    let mut request = Request::get(uri).body(Empty::new()).map_err(unsendable)?;
    *request.headers_mut() = headers.clone();
    if is_http2 {
        *request.version_mut() = Version::HTTP_2;
    } else {
        let host = match url.as_url().port() {
            Some(port) => format!("{}:{port}", url.host()),
            None => url.host().to_owned(),
        };
        let host = HeaderValue::from_str(&host).map_err(|error| unsendable(error.into()))?;
        request.headers_mut().insert(HOST, host);
    }
    Ok(request)
}

fn version_name(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/1.1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_mixed_addresses_only_the_public_are_used() {
        let sockets = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 80)).collect()
        };
        for (resolved, allowed) in [
            (&["8.8.8.8"][..], Ok(&["8.8.8.8"][..])),
            (&["127.0.0.1", "8.8.8.8", "10.0.0.1"], Ok(&["8.8.8.8"])),
            (&["2606:4700::1111", "::1", "8.8.8.8"], Ok(&["8.8.8.8", "2606:4700::1111"])),
            (&["10.0.0.1", "::1"], Err("10.0.0.1")),
            (&["::ffff:10.0.0.1"], Err("::ffff:10.0.0.1")),
        ] {
            assert_eq!(
                allowed_addresses(&sockets(resolved), false),
                allowed.map(sockets).map_err(|text| text.parse().unwrap()),
                "{resolved:?}"
            );
            assert_eq!(allowed_addresses(&sockets(resolved), true).unwrap().len(), resolved.len());
        }
    }

    #[test]
    fn a_fetcher_is_shared_among_tasks() {
        fn shared<T: Send + Sync>() {}
        fn sent<T: Send>(_: impl FnOnce(&'static Fetcher, &'static Lease) -> T) {}
        shared::<Fetcher>();
        sent(Fetcher::fetch);
    }
}
