//! What comes back from the network: a page, a redirect, an answer that is no page, or a failure.
//!
//! A 404 or a robots denial is an *answer* ([`NotFetched`]): the job is done. A time-out is a
//! *failure* ([`FetchError`]): it says what the frontier should do with the URL.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use crate::{Diagnostic, PageUrl, Validators};

/// Bytes and headers as received, content encoding undone.
#[derive(Debug, Clone)]
pub struct FetchedPage {
    /// The URL these bytes came from: the page's name in the graph.
    pub url: PageUrl,
    /// HTTP status, 200 to 299.
    pub status: u16,
    /// Header fields in the order they came; names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, content encoding undone, cut at the cap.
    pub body: Bytes,
    /// Bytes of body that crossed the wire.
    pub wire_bytes: u64,
    /// `HTTP/1.1`, `HTTP/2.0`.
    pub http_version: &'static str,
    /// The address that answered.
    pub remote: Option<IpAddr>,
    /// When the answer began.
    pub fetched_at: Timestamp,
    /// From the request to the last byte.
    pub elapsed: Duration,
    /// What was wrong with the transfer: cut at a cap, broken compression, a body that ended early.
    pub diagnostics: Vec<Diagnostic>,
    /// For a large body, its place among the few that may be in memory at once. Kept by whoever keeps what was made of
    /// the page; the place is free again when the last of them lets go.
    pub reservation: Option<Reservation>,
}

/// Something that gives back what it stands for when it is dropped.
pub type Reservation = Arc<dyn Any + Send + Sync>;

impl FetchedPage {
    /// The first header field of that (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// All header fields of that (lower-case) name, in order.
    pub fn header_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(field, _)| field == name).map(|(_, value)| value.as_str())
    }

    /// A page that did not come from the network: a file, standard input, a test.
    pub fn local(url: PageUrl, content_type: Option<&str>, body: Bytes) -> Self {
        Self {
            url,
            status: 200,
            headers: content_type
                .map(|value| ("content-type".to_owned(), value.to_owned()))
                .into_iter()
                .collect(),
            wire_bytes: body.len() as u64,
            body,
            http_version: "HTTP/1.1",
            remote: None,
            fetched_at: Timestamp::UNIX_EPOCH,
            elapsed: Duration::ZERO,
            diagnostics: Vec::new(),
            reservation: None,
        }
    }
}

/// What a request told about its host, for the politeness clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostHint {
    /// The host's own wish from robots.txt; the frontier caps it.
    pub crawl_delay: Option<Duration>,
    /// `Retry-After` of a 429 or 503; the frontier caps it.
    pub retry_after: Option<Duration>,
    /// The address that was asked: hosts that share one share its patience.
    pub remote: Option<IpAddr>,
    /// From the request to the end of the answer; nothing when there was no answer.
    pub took: Option<Duration>,
    /// True when no request reached the host at all, so no delay is owed.
    pub untouched: bool,
    /// True when the server failed: 429, 5xx, a time-out, a broken connection. It is asked less until it recovers.
    pub trouble: bool,
    /// The HTTP status, for the URL's record.
    pub status: Option<u16>,
}

/// Where a redirect points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// The absolute target.
    pub target: PageUrl,
    /// When the answer came.
    pub fetched_at: Timestamp,
}

/// An answer that is no page. Final: the URL is settled by it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotFetched {
    /// A status that is neither a page, nor a redirect, nor a reason to come again.
    #[error("answered {status}")]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// robots.txt forbids it.
    #[error("robots.txt forbids it")]
    Robots,
    /// robots.txt could not be had (5xx or unreachable), so nothing on the host may be fetched.
    #[error("robots.txt is unreachable: {reason}")]
    RobotsUnreachable {
        /// Why.
        reason: String,
    },
    /// The host's address is private and the crawl does not allow those.
    #[error("{address} is a private address (allow it with --allow-private)")]
    PrivateAddress {
        /// The address.
        address: IpAddr,
    },
    /// Its body is of a kind that the crawl does not download.
    #[error("it is of the unwanted type {media_type}")]
    UnwantedType {
        /// The media type, as declared or as the first bytes show.
        media_type: String,
    },
    /// A redirect without a target, to what is no page, or after too many others.
    #[error("redirect not followed: {reason}")]
    BadRedirect {
        /// What is wrong with it.
        reason: String,
    },
}

impl NotFetched {
    /// A stable kebab-case name, for counting and for the graph.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Robots => "robots",
            Self::RobotsUnreachable { .. } => "robots-unreachable",
            Self::PrivateAddress { .. } => "private-address",
            Self::UnwantedType { .. } => "unwanted-type",
            Self::BadRedirect { .. } => "bad-redirect",
        }
    }
}

/// We tried and could not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The name has no address.
    #[error("cannot resolve host `{host}`: {reason}")]
    Dns {
        /// The name.
        host: String,
        /// What the resolver said.
        reason: String,
    },
    /// No connection: refused, reset, unreachable, TLS.
    #[error("cannot connect to `{host}`: {reason}")]
    Connect {
        /// The host.
        host: String,
        /// What went wrong.
        reason: String,
    },
    /// A step took longer than it may.
    #[error("{step} took longer than {limit:?}")]
    Timeout {
        /// `resolve`, `connect`, `tls`, `headers` or `body`.
        step: &'static str,
        /// What it may take.
        limit: Duration,
    },
    /// The answer is not HTTP, or breaks off.
    #[error("broken answer: {reason}")]
    Protocol {
        /// What is wrong with it.
        reason: String,
    },
    /// 429, 500, 502, 503, 504: come again.
    #[error("answered {status}, to be tried again")]
    Busy {
        /// The HTTP status.
        status: u16,
        /// The server's wish.
        retry_after: Option<Duration>,
    },
}

/// What the frontier should do with a URL that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Try again after a growing pause.
    WithBackoff,
    /// Try again, not before this.
    After(Duration),
}

impl FetchError {
    /// What the frontier should do with this URL.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Busy { retry_after: Some(delay), .. } => Retry::After(*delay),
            Self::Dns { .. }
            | Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Protocol { .. }
            | Self::Busy { .. } => Retry::WithBackoff,
        }
    }

    /// A stable kebab-case name, for counting and for the graph.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Dns { .. } => "dns",
            Self::Connect { .. } => "connect",
            Self::Timeout { .. } => "timeout",
            Self::Protocol { .. } => "protocol",
            Self::Busy { .. } => "busy",
        }
    }
}

/// The answer of a server that was asked whether a page has changed, and said no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unchanged {
    /// When the answer came.
    pub fetched_at: Timestamp,
    /// What to recognise the page by next time: what was asked with, renewed by what the answer says.
    pub validators: Validators,
    /// What it asks of robots now: the values of its `X-Robots-Tag` fields.
    pub robots: Vec<String>,
}

/// All that can come of one lease.
#[derive(Debug, Clone)]
pub enum FetchOutcome {
    /// A page.
    Fetched(Box<FetchedPage>),
    /// The page is what it was when it was last fetched.
    Unchanged(Box<Unchanged>),
    /// Another URL holds the page; the frontier hears of it like of any link.
    Redirected(Redirect),
    /// An answer that is no page.
    NotFetched(NotFetched),
    /// No answer.
    Failed(FetchError),
    /// The host's robots.txt had to be fetched first, and was. That was a request like any other, so
    /// the URL goes back and the host is left alone for its delay.
    RobotsFirst,
}
