//! Phase 1, Fetch: one lease in, one outcome out, at most one request to the host.
//!
//! In: a [`Lease`]. Out: a [`FetchOutcome`] and a [`HostHint`] for the politeness clock. Everything the
//! crate can do is put together here: robots.txt first, then addresses, a connection, the request, the meaning of the
//! status, the body. When to fetch is the frontier's business; what the bytes are is detection's. Start at
//! [`Fetcher::fetch`]; `robots.rs` and `request.rs` hold the parts.

mod hops;
mod request;
mod robots;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, USER_AGENT,
};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use webloom_model::FetchError;
use webloom_model::{
    Clock, Diagnostic, FetchOutcome, FetchedPage, HostHint, Lease, LeaseId, LinkCandidate, NotFetched,
    PageUrl, Purpose, Redirect, Reservation, Unchanged, Validators,
};

use crate::bandwidth::Bandwidth;
use crate::connect::Connector;
use crate::cookies::CookieJar;
use crate::pool::Pool;
use crate::resolve::RuledResolver;
use crate::robots::{RobotsCache, RobotsClass};
use crate::stats::Counters;
use crate::tape::Tape;
use crate::unwanted::UnwantedTypes;
use crate::{FetchConfig, FetchSetupError, FetchStats, Preference, Resolve, RobotsStore, headers};
use hops::HopTurns;
use request::{Answer, Failure, version_name};

/// Data first. Only servers of Linked Data have Turtle or RDF/XML to offer, so nobody else answers otherwise than to a browser.
/// JSON-LD stays below HTML: who serves it in place of a page is more often an API or a social network than a data set, and
/// what such pages say in JSON-LD they mostly carry inside.
const ACCEPT_DATA: &str = "text/turtle, application/n-triples, application/n-quads, application/trig, \
    application/rdf+xml, text/html;q=0.9, application/xhtml+xml;q=0.9, application/ld+json;q=0.8, \
    application/atom+xml;q=0.7, application/rss+xml;q=0.7, application/xml;q=0.7, text/xml;q=0.7, \
    application/json;q=0.6, */*;q=0.5";
/// Pages first; RDF is nearly as good.
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
    hop_turns: HopTurns,
    clock: Arc<dyn Clock>,
    connector: Connector,
    pool: Pool,
    /// Nothing when cookies are not wanted.
    cookies: Option<CookieJar>,
    large_bodies: Arc<Semaphore>,
    counters: Arc<Counters>,
    bandwidth: Bandwidth,
    unwanted: UnwantedTypes,
    page_headers: HeaderMap,
    robots_headers: HeaderMap,
}

/// What is asked for where it is no page of the crawl: a context, a data set, an answer of an API.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// `Accept`.
    pub accept: &'static str,
    /// Bytes of body that are read, as they come and unpacked. May be more than of a page.
    pub bytes_max: u64,
    /// Time for the body, if it may take longer than a page's.
    pub timeout: Option<Duration>,
}

impl Wanted {
    /// A JSON-LD context.
    pub fn context(bytes_max: u64) -> Self {
        Self { accept: ACCEPT_CONTEXTS, bytes_max, timeout: None }
    }
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
        if config.robots_fresh.min(config.robots_missing_fresh) < ROBOTS_FRESH_MIN {
            return Err(FetchSetupError::Setting { setting: "robots_fresh", value: "less than a minute" });
        }
        let counters = Arc::new(Counters::default());
        Ok(Self {
            resolver: RuledResolver { rules: config.resolve.clone(), inner: resolver },
            robots_store,
            robots_cache: RobotsCache::new(config.robots_cache_bytes),
            hop_turns: HopTurns::default(),
            clock,
            connector: Connector::new(&config, Arc::clone(&counters))?,
            pool: Pool::new(config.pool_idle, config.pool_connections_max),
            cookies: config.cookies.then(CookieJar::default),
            large_bodies: Arc::new(Semaphore::new(config.large_bodies_max.min(Semaphore::MAX_PERMITS))),
            counters,
            bandwidth: Bandwidth::new(config.bandwidth, config.host_bandwidth),
            unwanted: UnwantedTypes(config.unwanted_types.clone()),
            page_headers: request_headers(
                &config,
                match config.prefer {
                    Preference::Data => ACCEPT_DATA,
                    Preference::Pages => ACCEPT_PAGES,
                },
            )?,
            robots_headers: request_headers(&config, ACCEPT_ROBOTS)?,
            config,
        })
    }

    /// Puts another cap on the bytes per second of the whole crawl, or takes it away. It holds at once.
    pub fn set_bandwidth(&self, bytes_per_second: Option<u64>) {
        self.bandwidth.set_crawl_rate(bytes_per_second);
    }

    /// Fetches what a lease asks for, or the robots.txt that must come first.
    ///
    /// Never panics and always returns within the sum of the configured time limits. Dropping the future abandons the
    /// request and closes its connection.
    pub async fn fetch(&self, lease: &Lease) -> (FetchOutcome, HostHint) {
        self.fetch_wanted(lease, None, &mut Tape::off()).await
    }

    /// The same, and writes down what crosses the wire, robots.txt included.
    pub async fn fetch_taped(&self, lease: &Lease, tape: &mut Tape) -> (FetchOutcome, HostHint) {
        self.fetch_wanted(lease, None, tape).await
    }

    /// The same for what is no page. It is read whatever its type, and no condition is put: it comes whole.
    pub async fn fetch_as(&self, lease: &Lease, wanted: &Wanted) -> (FetchOutcome, HostHint) {
        self.fetch_wanted(lease, Some(wanted), &mut Tape::off()).await
    }

    /// The same, and writes down what crosses the wire.
    pub async fn fetch_as_taped(
        &self,
        lease: &Lease,
        wanted: &Wanted,
        tape: &mut Tape,
    ) -> (FetchOutcome, HostHint) {
        self.fetch_wanted(lease, Some(wanted), tape).await
    }

    async fn fetch_wanted(
        &self,
        lease: &Lease,
        wanted: Option<&Wanted>,
        tape: &mut Tape,
    ) -> (FetchOutcome, HostHint) {
        let mut hint = HostHint::default();
        if self.config.obey_robots {
            let origin = lease.url().origin();
            let Some(robots) = self.known_robots(&origin) else {
                return self.fetch_robots(lease, &origin, tape).await;
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
        let outcome = match self.fetch_page(lease, wanted, &mut hint, tape).await {
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
            validators: None,
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

    /// The address that a host is likely to be asked at; nothing when that is not known, or somebody else asks for us.
    pub async fn address_of(&self, url: &PageUrl) -> Option<IpAddr> {
        if self.config.proxy.is_some() {
            return None;
        }
        let addresses = self.resolver.resolve(url.host(), url.port()).await.ok()?;
        addresses.first().map(SocketAddr::ip)
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
        wanted: Option<&Wanted>,
        hint: &mut HostHint,
        tape: &mut Tape,
    ) -> Result<FetchOutcome, Failure> {
        let url = lease.url();
        let mut headers = self.page_headers.clone();
        let mut asked_with = None;
        match (wanted, &lease.validators) {
            (Some(wanted), _) => {
                headers.insert(ACCEPT, HeaderValue::from_static(wanted.accept));
            }
            (None, Some(validators)) => {
                asked_with = put_condition(&mut headers, validators).then_some(validators);
            }
            (None, None) => {}
        }
        let purpose = if wanted.is_some() { Purpose::Context } else { Purpose::Page };
        let answer = self.request(url, headers, tape.purpose(purpose)).await?;
        let started = answer.started;
        // A proxy's address says nothing about the host.
        hint.remote = self.config.proxy.is_none().then(|| answer.connection.remote.ip());
        let outcome = self.understand(lease, answer, wanted, asked_with, hint, tape).await;
        hint.took = Some(self.clock.now().saturating_duration_since(started));
        outcome
    }

    /// What an answer means.
    async fn understand(
        &self,
        lease: &Lease,
        answer: Answer,
        wanted: Option<&Wanted>,
        asked_with: Option<&Validators>,
        hint: &mut HostHint,
        tape: &mut Tape,
    ) -> Result<FetchOutcome, Failure> {
        let url = lease.url();
        let status = answer.status;
        match status.as_u16() {
            200..=299 => {
                let page = self.read_page(url, answer, wanted, tape).await?;
                Ok(FetchOutcome::Fetched(Box::new(page)))
            }
            304 if let Some(validators) = asked_with => {
                let fetched_at = answer.fetched_at;
                let validators = renewed(validators, &answer.headers);
                let robots = answer.headers.get_all("x-robots-tag").iter().map(headers::text).collect();
                self.discard(url, answer, tape).await;
                Ok(FetchOutcome::Unchanged(Box::new(Unchanged { fetched_at, validators, robots })))
            }
            301 | 302 | 303 | 307 | 308 => {
                let fetched_at = answer.fetched_at;
                let target = headers::redirect_target(url, &answer.headers);
                self.discard(url, answer, tape).await;
                Ok(match target.and_then(|target| self.check_redirect(lease, target)) {
                    Ok(target) => {
                        FetchOutcome::Redirected(Redirect { status: status.as_u16(), target, fetched_at })
                    }
                    Err(reason) => FetchOutcome::NotFetched(NotFetched::BadRedirect { reason }),
                })
            }
            // 407 is the word of a proxy, not of the host.
            code @ (407 | 408 | 425 | 429 | 500 | 502 | 503 | 504) => {
                let retry_after = headers::retry_after(&answer.headers, self.clock.wall());
                hint.retry_after = retry_after;
                self.discard(url, answer, tape).await;
                Ok(FetchOutcome::Failed(FetchError::Busy { status: code, retry_after }))
            }
            code => {
                self.discard(url, answer, tape).await;
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

    async fn read_page(
        &self,
        url: &PageUrl,
        answer: Answer,
        wanted: Option<&Wanted>,
        tape: &mut Tape,
    ) -> Result<FetchedPage, Failure> {
        let mut limits = self.body_limits(self.config.body_wire_bytes_max, self.config.body_bytes_max);
        limits.keep = tape.is_on();
        if let Some(wanted) = wanted {
            limits.bytes_max = wanted.bytes_max;
            limits.wire_bytes_max = match wanted.bytes_max < self.config.body_bytes_max {
                true => limits.wire_bytes_max.min(wanted.bytes_max),
                false => wanted.bytes_max,
            };
            limits.timeout = limits.timeout.max(wanted.timeout.unwrap_or_default());
        }
        let unwanted = wanted.is_none().then_some(&self.unwanted);
        if let Some(types) = unwanted
            && let Some(declared) = answer.headers.get(CONTENT_TYPE)
            && let Some(media_type) = types.declared(&headers::text(declared))
        {
            // The connection goes with the body: reading on to save it would be the download that is not wanted.
            let failure = Failure::unwanted(media_type);
            self.note(tape, answer.exchange, answer.started, Err(&failure));
            return Err(failure);
        }
        let Answer { status, version, headers, fetched_at, started, body, connection, exchange } = answer;
        let remote = connection.remote.ip();
        let read = self.read_body(url, &headers, body, connection, &limits, unwanted).await;
        self.note(tape, exchange, started, read.as_ref());
        let mut read = read?;
        if status == StatusCode::PARTIAL_CONTENT && !headers::is_all_of_it(&headers) {
            let message = "the server sent a part (206), though all of it was asked for";
            read.diagnostics.push(Diagnostic::warning("body-ended-early", message));
        }
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
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher")
            .field("config", &self.config)
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Asks to be told when nothing has changed. False when there is nothing to ask with.
fn put_condition(headers: &mut HeaderMap, validators: &Validators) -> bool {
    let mut put = |name: HeaderName, text: &Option<String>| {
        let value = text.as_deref().and_then(|text| HeaderValue::from_bytes(text.as_bytes()).ok());
        value.map(|value| headers.insert(name, value));
    };
    put(IF_NONE_MATCH, &validators.etag);
    // A date that cannot be read would be ignored by a good server and misread by a bad one.
    let date = validators.last_modified.as_ref().filter(|date| httpdate::parse_http_date(date).is_ok());
    put(IF_MODIFIED_SINCE, &date.cloned());
    headers.contains_key(IF_NONE_MATCH) || headers.contains_key(IF_MODIFIED_SINCE)
}

/// The validators of a page that has not changed: a 304 may bring newer ones.
fn renewed(validators: &Validators, headers: &HeaderMap) -> Validators {
    let newer =
        |name: HeaderName, old: &Option<String>| headers.get(name).map(headers::text).or_else(|| old.clone());
    Validators {
        etag: newer(ETAG, &validators.etag),
        last_modified: newer(LAST_MODIFIED, &validators.last_modified),
        digest: validators.digest,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetcher_is_shared_among_tasks() {
        fn shared<T: Send + Sync>() {}
        fn sent<T: Send>(_: impl FnOnce(&'static Fetcher, &'static Lease) -> T) {}
        shared::<Fetcher>();
        sent(Fetcher::fetch);
    }
}
