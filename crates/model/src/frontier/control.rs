//! What can be asked of a frontier, and told to it, from beside the crawl.
//!
//! Plain data: lists of URLs with scores (the injection format of ARCOMEM), the life of one URL, the state of queues,
//! delays and budgets. All of it serialises to JSON the way people should see it: times as RFC 3339, durations in
//! milliseconds. What it means is written at [`Frontier`](super::Frontier).

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::PageUrl;

/// One line of an injected list: `{"url": …, "score": 0.3}` or `{"url": …, "blacklisted": true}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{\"url\": …, \"score\": …, \"blacklisted\": …}")]
pub struct Injection {
    /// The URL.
    pub url: PageUrl,
    /// How urgent it is, from -1 to 1. URLs found by following links stand at 0; what is higher comes first.
    #[serde(default)]
    pub score: Option<f32>,
    /// True when it must never be fetched.
    #[serde(default)]
    pub blacklisted: bool,
}

impl Injection {
    /// A URL to crawl, as urgent as any other.
    pub fn new(url: PageUrl) -> Self {
        Self { url, score: None, blacklisted: false }
    }
}

/// What became of an injected list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct InjectionReport {
    /// Newly queued.
    pub queued: u64,
    /// Were waiting and have a new score now.
    pub rescored: u64,
    /// Banned now.
    pub banned: u64,
    /// Known and left as they were: under way, done, or with that score already.
    pub known: u64,
    /// Had ended without a page, and are queued again.
    pub tried_again: u64,
    /// Not queued: banned before, or over a budget.
    pub refused: u64,
    /// Never heard of, where only known URLs were asked for.
    pub unknown: u64,
}

impl std::ops::AddAssign for InjectionReport {
    fn add_assign(&mut self, other: Self) {
        self.queued += other.queued;
        self.rescored += other.rescored;
        self.banned += other.banned;
        self.known += other.known;
        self.tried_again += other.tried_again;
        self.refused += other.refused;
        self.unknown += other.unknown;
    }
}

/// What is never to be fetched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Ban {
    /// One URL.
    Url(PageUrl),
    /// Everything on a host.
    Host(String),
}

/// The life of a URL so far, as the frontier saw it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UrlLife {
    /// The URL in its normal form.
    pub url: PageUrl,
    /// Where it stands.
    pub stage: UrlStage,
    /// Links followed from a seed.
    pub depth: u32,
    /// The page that carried the link; nothing for a seed.
    pub found_on: Option<PageUrl>,
    /// When it was first heard of.
    #[serde(serialize_with = "rfc3339_optional")]
    pub found_at: Option<Timestamp>,
    /// The words of the link.
    pub anchor: Option<String>,
    /// URLs that led here by redirect, oldest first.
    pub redirects: Vec<PageUrl>,
    /// The score somebody gave it.
    pub score: Option<f32>,
    /// Fetches that failed in a way that may pass.
    pub attempts: u32,
    /// What came of its fetches, oldest first; only the latest are kept.
    pub fetches: Vec<FetchNote>,
    /// Fetches in all, and those that found the page changed, for pages that are visited again.
    pub visits: u32,
    /// See `visits`.
    pub changes: u32,
    /// When it will be visited again.
    #[serde(serialize_with = "rfc3339_optional")]
    pub next_visit: Option<Timestamp>,
    /// The queue of its host.
    pub queue: Option<QueueView>,
}

/// Where a URL stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "name")]
pub enum UrlStage {
    /// Waits for its turn.
    Queued,
    /// Out with a worker.
    Leased,
    /// Failed, and waits to be tried again.
    Waiting {
        /// Not before this.
        #[serde(serialize_with = "rfc3339")]
        until: Timestamp,
    },
    /// Its page is in the index.
    Indexed {
        /// Since when.
        #[serde(serialize_with = "rfc3339")]
        at: Timestamp,
    },
    /// There is no page here.
    NoPage {
        /// Since when this is known.
        #[serde(serialize_with = "rfc3339")]
        at: Timestamp,
    },
    /// Somebody banned it.
    Banned {
        /// Since when.
        #[serde(serialize_with = "rfc3339")]
        at: Timestamp,
    },
}

/// What came of one fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FetchNote {
    /// When it was settled, in milliseconds since 1970.
    #[serde(rename = "at_ms")]
    pub at_ms: u64,
    /// How it ended.
    pub kind: FetchKind,
    /// The HTTP status, when there was an answer and somebody told.
    pub status: Option<u16>,
    /// How long the answer took.
    pub elapsed_ms: Option<u32>,
}

impl FetchNote {
    /// When it was settled.
    pub fn at(&self) -> Timestamp {
        i64::try_from(self.at_ms)
            .ok()
            .and_then(|millisecond| Timestamp::from_millisecond(millisecond).ok())
            .unwrap_or(Timestamp::MAX)
    }
}

/// The ways a fetch can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FetchKind {
    /// A page, indexed.
    Indexed,
    /// The page of before, not indexed again.
    Unchanged,
    /// An answer that is no page, or given up.
    NoPage,
    /// A failure that may pass.
    Failed,
}

impl FetchKind {
    /// A stable kebab-case name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Indexed => "indexed",
            Self::Unchanged => "unchanged",
            Self::NoPage => "no-page",
            Self::Failed => "failed",
        }
    }
}

/// The queue of one host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QueueView {
    /// Its pay-level domain.
    pub domain: String,
    /// The host.
    pub host: String,
    /// What it does now.
    pub state: QueueState,
    /// URLs that wait, retries included.
    pub queued: u64,
    /// URLs out with workers.
    pub leased: u64,
    /// Pages in the index.
    pub fetched: u64,
    /// Fetches that failed in a way that may pass, in all.
    pub errors: u64,
    /// The pause it gets now between two requests.
    #[serde(rename = "delay_ms", serialize_with = "milliseconds")]
    pub delay: Duration,
    /// When it may be asked again, if that is in the future.
    #[serde(serialize_with = "rfc3339_optional")]
    pub next_at: Option<Timestamp>,
    /// Its address, if known.
    pub ip: Option<IpAddr>,
}

/// What a queue does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueState {
    /// May be asked now.
    Ready,
    /// Rests between two requests, or is being asked.
    Waiting,
    /// The host, or the failures of its URLs, wish for a longer pause.
    Snoozed,
    /// Nothing is left.
    Retired,
    /// URLs are left, but the budget is spent.
    Exhausted,
    /// Banned.
    Blocked,
}

impl QueueState {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Ready, Self::Waiting, Self::Snoozed, Self::Retired, Self::Exhausted, Self::Blocked];

    /// A stable kebab-case name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Waiting => "waiting",
            Self::Snoozed => "snoozed",
            Self::Retired => "retired",
            Self::Exhausted => "exhausted",
            Self::Blocked => "blocked",
        }
    }
}

/// Which queues to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueQuery {
    /// Only those in this state.
    pub state: Option<QueueState>,
    /// Only hosts whose name contains this.
    pub host: Option<String>,
    /// In which order.
    pub order: QueueOrder,
    /// So many of them.
    pub max: usize,
}

impl Default for QueueQuery {
    fn default() -> Self {
        Self { state: None, host: None, order: QueueOrder::Queued, max: 100 }
    }
}

/// An order of queues; the largest or latest come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueOrder {
    /// By URLs that wait.
    #[default]
    Queued,
    /// By pages in the index.
    Fetched,
    /// By failures.
    Errors,
    /// By host name, from A.
    Host,
}

/// Delays and budgets, as they can be changed while a crawl runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct FrontierLimits {
    /// From the end of a request to a host to the next one, at least.
    #[serde(rename = "host_delay_ms", serialize_with = "milliseconds")]
    pub host_delay: Duration,
    /// The same for all hosts of a pay-level domain together.
    #[serde(rename = "domain_delay_ms", serialize_with = "milliseconds")]
    pub domain_delay: Duration,
    /// The same for all hosts at one address.
    #[serde(rename = "ip_delay_ms", serialize_with = "milliseconds")]
    pub ip_delay: Duration,
    /// Links followed from a seed, at most.
    pub depth_max: Option<u32>,
    /// Pages of the whole crawl, at most.
    pub pages_max: Option<u64>,
    /// Pages of one host, at most.
    pub pages_per_host_max: Option<u64>,
}

fn rfc3339<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

fn rfc3339_optional<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => serializer.collect_str(at),
        None => serializer.serialize_none(),
    }
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}
