//! From an archived answer to what is to be stored of it: the phases that only compute.
//!
//! In: an [`Archived`] item. Out: a [`Rewoven`] with the same writes that a crawl would have made. Answers that are no pages give the
//! metadata that a crawl leaves of them, by the crawl's own notes where there are any.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use oxrdf::NamedNode;
use webloom_archive::Archive;
use webloom_archive::fields::{Fields, text};
use webloom_archive::http::HttpHead;
use webloom_fetch::{decode_capped, redirect_to};
use webloom_index::GraphWrite;
use webloom_model::{
    Diagnostic, FetchError, FetchedPage, Lease, LeaseId, LinkCandidate, NotFetched, PageUrl, Redirect,
    Severity,
};
use webloom_transform::header_directives;
use webloom_transform::rules::Answers;

use super::Progress;
use super::read::{Archived, Content, Item};
use crate::archive::note;
use crate::counters::Counters;
use crate::cpu::words_of;
use crate::metadata;
use crate::process::{self, Remains, Weft, Woven, metadata_write};
use crate::rules::{self, Workers};
use crate::spec::CrawlSpec;

/// The header by which pages ask something of robots.
const ROBOTS_TAG: &str = "X-Robots-Tag";

/// What became of an [`Archived`] item.
pub(crate) struct Rewoven {
    pub(crate) number: u64,
    pub(crate) file: usize,
    pub(crate) next: u64,
    /// Bytes it took while it was read.
    pub(crate) bytes: u64,
    pub(crate) is_end: bool,
    /// Nothing when there is nothing to store.
    pub(crate) capture: Option<Capture>,
}

/// One capture of a URL, ready to be stored.
pub(crate) struct Capture {
    pub(crate) url: PageUrl,
    pub(crate) at: Timestamp,
    pub(crate) status: Option<u16>,
    pub(crate) file: String,
    pub(crate) offset: u64,
    /// Names the capture.
    pub(crate) record: NamedNode,
    /// The page, then its metadata; nothing when the capture only says that the page has not changed.
    pub(crate) writes: Vec<GraphWrite>,
}

/// Weaves an item anew.
pub(crate) fn weave(
    spec: &CrawlSpec,
    counters: &Counters,
    progress: &Progress,
    archived: Archived,
) -> Rewoven {
    let Archived { number, file, next, item } = archived;
    let is_end = item.is_none();
    let bytes = item.as_ref().map_or(0, |item| item.bytes());
    let capture = item.and_then(|item| weave_item(spec, counters, progress, *item));
    Rewoven { number, file, next, bytes, is_end, capture }
}

fn weave_item(spec: &CrawlSpec, counters: &Counters, progress: &Progress, item: Item) -> Option<Capture> {
    let Item { file_name, folder, head, url, at, content, notes } = item;
    let lease = lease(&url, &notes);
    let (http, body, is_cut) = match content {
        Content::Answer { http, body, is_cut } => (Some(http), Some(body), is_cut),
        Content::Resource { body, is_cut } => {
            let mut http = HttpHead { start_line: "HTTP/1.1 200 OK".to_owned(), fields: Fields::new() };
            if let Some(content_type) = head.content_type() {
                http.fields.push("Content-Type", &content_type);
            }
            (Some(http), Some(body), is_cut)
        }
        Content::Revisit { http } => {
            let max = spec.fetch.body_wire_bytes_max;
            match Archive::open(&folder).payload_of(&head, max).ok().flatten() {
                Some(original) => {
                    let http = match http {
                        Some(http) if http.status() == Some(304) => renewed(original.http, &http),
                        http => http.unwrap_or(original.http),
                    };
                    (Some(http), Some(original.body), original.is_cut)
                }
                None => {
                    progress.skip("revisits without their payload");
                    (http, None, false)
                }
            }
        }
        Content::Told => (None, None, false),
    };
    let status = http.as_ref().and_then(HttpHead::status);
    let writes = match (&http, status) {
        (Some(http), Some(304)) if is_kept_out(http, &spec.transform.robots_agent) => {
            let metadata = metadata_write(&url, metadata::of_kept_out(&lease, &at));
            vec![GraphWrite::replace(url.graph_name(), Vec::new()), metadata]
        }
        (_, Some(304)) => Vec::new(),
        (Some(http), Some(200..=299)) if notes.get(note::OUTCOME).is_none() => match body {
            Some(body) => {
                let is_cut = is_cut || head.fields.get("WARC-Truncated").is_some();
                let page = page_of(spec.fetch.body_bytes_max, &url, at, http, body, is_cut, &notes);
                weave_page(spec, counters, lease, page)
            }
            None => Vec::new(),
        },
        _ => {
            let mut triples = no_page(&lease, at, http.as_ref(), status, &notes)?;
            triples.push(metadata::of_time(&url, &at));
            vec![metadata_write(&url, triples)]
        }
    };
    let id = head.id().map(|id| id.trim_matches(['<', '>']).to_owned());
    let record = id.and_then(|id| NamedNode::new(id).ok()).unwrap_or_else(|| {
        NamedNode::new_unchecked(format!("urn:webloom:capture:{:x}-{}", at.as_millisecond(), head.offset))
    });
    Some(Capture { url, at, status, file: file_name.to_string(), offset: head.offset, record, writes })
}

/// The head of a page that has not changed since, with what it asks of robots now, if it says so.
fn renewed(original: HttpHead, now: &HttpHead) -> HttpHead {
    if now.fields.get(ROBOTS_TAG).is_none() {
        return original;
    }
    let is_tag = |name: &[u8]| name.eq_ignore_ascii_case(ROBOTS_TAG.as_bytes());
    let mut fields = Fields::new();
    let kept = original.fields.iter().filter(|(name, _)| !is_tag(name));
    for (name, value) in kept.chain(now.fields.iter().filter(|(name, _)| is_tag(name))) {
        fields.push_bytes(name, value);
    }
    HttpHead { start_line: original.start_line, fields }
}

fn is_kept_out(http: &HttpHead, agent: &str) -> bool {
    let values: Vec<Cow<'_, str>> = http.fields.all(ROBOTS_TAG).map(text).collect();
    header_directives(values.iter().map(|value| &**value), agent).noindex
}

/// The lease that a crawl had for it, by the notes.
fn lease(url: &PageUrl, notes: &Fields) -> Lease {
    let found_on = notes.get(note::VIA).and_then(|via| PageUrl::parse(&via).ok());
    let redirects = notes.all(note::REDIRECTED_FROM).filter_map(|from| PageUrl::parse(&text(from)).ok());
    let candidate = LinkCandidate {
        depth: notes.get(note::DEPTH).and_then(|depth| depth.parse().ok()).unwrap_or_default(),
        found_on,
        anchor: notes.get(note::ANCHOR).map(Cow::into_owned),
        redirects: redirects.collect(),
        ..LinkCandidate::seed(url.clone())
    };
    Lease { id: LeaseId(0), candidate, attempt: 0, validators: None }
}

/// The page as the fetcher would have given it.
pub(crate) fn page_of(
    bytes_max: u64,
    url: &PageUrl,
    at: Timestamp,
    http: &HttpHead,
    body: Vec<u8>,
    is_cut: bool,
    notes: &Fields,
) -> FetchedPage {
    let wire_bytes = body.len() as u64;
    let mut diagnostics = Vec::new();
    if is_cut {
        let message = format!("the archive has only the first {wire_bytes} bytes of the body");
        diagnostics.push(Diagnostic::warning("body-cut", message));
    }
    let body = match http.content_encoding() {
        None => Bytes::from(body),
        Some(encoding) => {
            let decoded = decode_capped(&encoding, &body, bytes_max);
            diagnostics.extend(decoded.diagnostics);
            Bytes::from(decoded.bytes)
        }
    };
    // What the fetcher noticed is told in its own words.
    if notes.get(note::DEPTH).is_some() {
        diagnostics = notes.all(note::DIAGNOSTIC).filter_map(|line| diagnostic(&text(line))).collect();
    }
    let headers = http.fields.iter();
    FetchedPage {
        url: url.clone(),
        status: http.status().unwrap_or(200),
        headers: headers
            .map(|(name, value)| (text(name).to_ascii_lowercase(), text(value).into_owned()))
            .collect(),
        body,
        wire_bytes,
        http_version: "HTTP/1.1",
        remote: None,
        fetched_at: at,
        elapsed: Duration::ZERO,
        diagnostics,
        reservation: None,
    }
}

/// A diagnostic from its line in the notes.
fn diagnostic(line: &str) -> Option<Diagnostic> {
    let mut words = line.splitn(3, ' ');
    let severity = match words.next()? {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        _ => Severity::Note,
    };
    let (code, message) = (words.next()?.to_owned(), words.next()?.to_owned());
    Some(Diagnostic { severity, code: code.into(), message, line: None })
}

/// Weaves a page; services that its rules name are asked on the way, and this thread waits for them.
fn weave_asking(
    spec: &CrawlSpec,
    counters: &Counters,
    lease: &Lease,
    page: FetchedPage,
    remains: &Remains,
) -> Woven {
    let detected = match process::weave(spec, counters, lease.clone(), page, 1, None) {
        Weft::Woven(woven) => return *woven,
        Weft::Asks(detected) => Arc::new(*detected),
    };
    let answers = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            runtime.block_on(rules::ask(detected, &spec.transform, &spec.services, counters, Workers::Here))
        }
        // Then the page is woven without.
        Err(_) => Answers::default(),
    };
    match process::weave(spec, counters, lease.clone(), remains.0.clone(), 1, Some(&answers)) {
        Weft::Woven(woven) => *woven,
        Weft::Asks(_) => {
            Remains(remains.0.clone()).woven(spec, lease.clone(), "a page asks for what it was given")
        }
    }
}

fn weave_page(spec: &CrawlSpec, counters: &Counters, lease: Lease, page: FetchedPage) -> Vec<GraphWrite> {
    let remains = Remains::of(&page);
    let work = || weave_asking(spec, counters, &lease, page, &remains);
    let woven = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|panic| remains.woven(spec, lease.clone(), &words_of(&*panic)));
    woven.writes
}

/// The metadata of an answer that is no page. Nothing when there is nothing to say.
fn no_page(
    lease: &Lease,
    at: Timestamp,
    http: Option<&HttpHead>,
    status: Option<u16>,
    notes: &Fields,
) -> Option<Vec<oxrdf::Triple>> {
    if let Some(outcome) = notes.get(note::OUTCOME) {
        let (code, reason) = (notes.get(note::CODE), notes.get(note::REASON));
        // A status is told of the answers that are about it.
        let status = status.filter(|_| matches!(code.as_deref(), Some("status" | "busy")));
        return Some(metadata::of_told(lease, &outcome, status, code.as_deref(), reason.as_deref()));
    }
    let status = status?;
    let bad_redirect = |reason| metadata::of_not_fetched(lease, &NotFetched::BadRedirect { reason });
    Some(match status {
        301 | 302 | 303 | 307 | 308 => match redirect_to(lease.url(), http?.fields.all("location")) {
            Ok(target) if target == *lease.url() => bad_redirect("it points to itself".to_owned()),
            Ok(target) => metadata::of_redirect(lease, &Redirect { status, target, fetched_at: at }),
            Err(reason) => bad_redirect(reason),
        },
        408 | 425 | 429 | 500 | 502 | 503 | 504 => {
            metadata::of_failure(lease, &FetchError::Busy { status, retry_after: None })
        }
        status => metadata::of_not_fetched(lease, &NotFetched::Status { status }),
    })
}
