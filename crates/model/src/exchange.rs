//! One request and its answer as they crossed the wire, for whoever keeps them.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use crate::PageUrl;

/// One request and its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// What was asked for.
    pub url: PageUrl,
    /// What for.
    pub purpose: Purpose,
    /// Fields of the request, in the order they were sent.
    pub request: Vec<(String, Vec<u8>)>,
    /// `HTTP/1.1`, `HTTP/2.0`.
    pub http_version: &'static str,
    /// HTTP status.
    pub status: u16,
    /// The words behind the status; empty when there were none.
    pub reason: String,
    /// Fields of the answer, in the order they came.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body: transfer coding undone, content coding kept.
    pub body: Bytes,
    /// Why the body is not all there, if it is not.
    pub truncated: Option<Truncated>,
    /// The address that answered.
    pub remote: Option<IpAddr>,
    /// `tls/1.3` and the like; nothing when it came in the clear.
    pub tls: Option<&'static str>,
    /// When the answer began.
    pub at: Timestamp,
    /// From the request to the last byte.
    pub elapsed: Duration,
}

/// What a request was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A page of the crawl.
    Page,
    /// A host's robots.txt.
    Robots,
    /// A JSON-LD context.
    Context,
    /// Linked Data that does not come page by page: a dump, an endpoint, a catalogue.
    Source,
}

impl Purpose {
    /// A stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Robots => "robots",
            Self::Context => "context",
            Self::Source => "source",
        }
    }
}

/// Why a body is not all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truncated {
    /// It was longer than it may be.
    Length,
    /// It took longer than it may.
    Time,
    /// The connection ended first.
    Disconnect,
    /// For another reason.
    Unspecified,
}

impl Truncated {
    /// The word that WARC has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}
