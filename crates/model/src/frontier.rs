//! The contract between the crawl and whatever keeps its URLs.
//!
//! [`Frontier`] is the trait; the first half of it is the crawl's own way (offer, lease, settle), the second half is for
//! people and programs beside the crawl, and its types are in [`control`].

mod control;

use std::net::IpAddr;
use std::time::{Duration, Instant};

pub use control::{
    Ban, FetchKind, FetchNote, FrontierLimits, Injection, InjectionReport, QueueOrder, QueueQuery,
    QueueState, QueueView, UrlLife, UrlStage,
};

use crate::{HostHint, Lease, LeaseId, LinkCandidate, PageUrl, Validators};

/// Hands out URLs that may be fetched now, and remembers which were already seen.
///
/// `contract::check` in the frontier crate holds every implementation to this:
/// * a URL is queued once, however often and from wherever it is offered;
/// * one URL is leased to one worker at a time, and one host has at most one lease whose request has
///   not finished;
/// * between the end of a request to a host and the next lease for it lies at least the host's delay,
///   and between requests to hosts of one pay-level domain at least the domain's;
/// * within a host, URLs come in breadth-first order: by depth, then in the order they were offered;
/// * hosts take turns: a host with many URLs does not hold up one with few;
/// * a host that is reserved counts as one whose request has not finished, and is reserved only when it has none;
/// * a lease that is not settled by its deadline becomes available again;
/// * what `settle` and `offer` have returned from survives a kill; an unsettled lease is handed out
///   again after reopening, and no host is asked sooner than its delay after reopening.
///
/// Calls block and are made in batches: a call is worth a write to disk.
pub trait Frontier: Send + Sync {
    /// Queues the candidates that are new and within the depth budget.
    fn offer(&self, candidates: &[LinkCandidate]) -> Result<OfferSummary, FrontierError>;

    /// Up to `max` URLs that may be fetched now, or when to ask again.
    fn lease(&self, max: usize) -> Result<LeaseAnswer, FrontierError>;

    /// Tells that the request of a lease has ended: the host's delay counts from now. Cheap, in
    /// memory, and earlier than `settle`, which waits for the page to be durable.
    fn request_finished(&self, lease: LeaseId, hint: HostHint);

    /// Takes a host for one request that is no page of the crawl, such as a JSON-LD context: until `release` nothing is
    /// leased there. Gives the moment from which the request may be made, or nothing while another one is under way.
    fn reserve(&self, host: &str) -> Option<Instant>;

    /// Ends what `reserve` began: the host's delay counts from now.
    fn release(&self, host: &str, hint: HostHint);

    /// Ends leases, together with the links their pages gave: all of it or nothing is durable.
    fn settle(&self, settlements: Vec<Settlement>) -> Result<OfferSummary, FrontierError>;

    /// Where the crawl stands.
    fn counts(&self) -> FrontierCounts;

    /// Tells which address a host is at: hosts that share one share its clock, when there is a delay per address. False when the request
    /// under way to the host must not be made yet, for another one to the address is being made, or its pause is not over: it is to
    /// be ended untouched then, and comes again in its turn.
    fn resolved(&self, _host: &str, _address: IpAddr) -> bool {
        true
    }

    /// Takes a list of URLs from outside while the crawl runs: new ones are queued, known ones that still wait get the
    /// new score, blacklisted ones are banned. Hundreds of thousands at a time are fine.
    fn inject(&self, _injections: &[Injection]) -> Result<InjectionReport, FrontierError> {
        Err(FrontierError::Unsupported("inject"))
    }

    /// Changes the scores of URLs that wait, in place. Unknown URLs are left alone.
    fn rescore(&self, _scores: &[(PageUrl, f32)]) -> Result<InjectionReport, FrontierError> {
        Err(FrontierError::Unsupported("rescore"))
    }

    /// Bans URLs or whole hosts, for good: what waits is dropped, what comes later is not queued.
    fn ban(&self, _bans: &[Ban]) -> Result<InjectionReport, FrontierError> {
        Err(FrontierError::Unsupported("ban"))
    }

    /// Queues a URL that was settled once more, ahead of its host's other URLs. False when it was never known or waits
    /// already.
    fn recrawl_now(&self, _url: &PageUrl) -> Result<bool, FrontierError> {
        Err(FrontierError::Unsupported("recrawl_now"))
    }

    /// Queues those of the URLs again that ended without a page, with these scores, as if nobody had asked for them yet. All
    /// others stay as they are, those that are banned or on a banned host among them. Tells of each whether it was queued; a
    /// list of any length is fine.
    fn try_again(&self, _urls: &[(PageUrl, Option<f32>)]) -> Result<Vec<bool>, FrontierError> {
        Err(FrontierError::Unsupported("try_again"))
    }

    /// Where each of the URLs stands; nothing for those that were never queued.
    fn stages(&self, urls: &[PageUrl]) -> Result<Vec<Option<UrlStage>>, FrontierError> {
        urls.iter().map(|url| Ok(self.inspect(url)?.map(|life| life.stage))).collect()
    }

    /// The life of a URL so far; nothing when it was never queued.
    fn inspect(&self, _url: &PageUrl) -> Result<Option<UrlLife>, FrontierError> {
        Err(FrontierError::Unsupported("inspect"))
    }

    /// What is kept of the robots.txt of an origin, as whoever fetched it wrote it down.
    fn kept_robots(&self, _origin: &str) -> Result<Option<Vec<u8>>, FrontierError> {
        Ok(None)
    }

    /// Has the robots.txt of an origin asked for again before its next page.
    fn forget_robots(&self, _origin: &str) -> Result<(), FrontierError> {
        Ok(())
    }

    /// The queues of hosts, for looking at.
    fn queues(&self, _query: &QueueQuery) -> Result<Vec<QueueView>, FrontierError> {
        Err(FrontierError::Unsupported("queues"))
    }

    /// The delays and budgets in force.
    fn limits(&self) -> FrontierLimits {
        FrontierLimits::default()
    }

    /// Puts other delays and budgets in force, at once. They are not stored.
    fn set_limits(&self, _limits: &FrontierLimits) -> Result<(), FrontierError> {
        Err(FrontierError::Unsupported("set_limits"))
    }
}

/// Answer to a request for leases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseAnswer {
    /// Fetch these.
    Leased(Vec<Lease>),
    /// Nothing may be fetched before this moment, or before a lease is settled, whichever comes first.
    Wait(Instant),
    /// Nothing is queued, but leases are out and may bring links.
    Busy,
    /// Nothing is queued, nothing is out: the crawl has ended. `budget_spent` says whether URLs remain
    /// that the page budget forbids.
    Finished {
        /// True when the page budget ended the crawl.
        budget_spent: bool,
    },
}

/// How one lease ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Which lease.
    pub lease: LeaseId,
    /// How it ended.
    pub kind: SettlementKind,
    /// Links found, to be offered in the same write.
    pub links: Vec<LinkCandidate>,
    /// What to recognise the page by when it is fetched again; comes back in its next lease. Nothing leaves what is kept as
    /// it is.
    pub validators: Option<Validators>,
}

/// The ways a lease can end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettlementKind {
    /// The page is in the index. Counts against the page budget.
    Indexed,
    /// The page is in the index already and has not changed since. Counts as no further page.
    Unchanged,
    /// There is no page here: a redirect, a 404, a robots denial, or given up.
    NoPage,
    /// To be tried again after a pause: the given one, or one that doubles with each attempt.
    Retry(Option<Duration>),
    /// Handed back untried; goes to the front of its host's queue.
    Returned,
}

/// What became of offered candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OfferSummary {
    /// Queued.
    pub new: u64,
    /// Seen before.
    pub seen: u64,
    /// Beyond the depth budget.
    pub too_deep: u64,
    /// Refused: the host is banned, or its domain is over its budget.
    pub refused: u64,
}

impl std::ops::AddAssign for OfferSummary {
    fn add_assign(&mut self, other: Self) {
        self.new += other.new;
        self.seen += other.seen;
        self.too_deep += other.too_deep;
        self.refused += other.refused;
    }
}

/// Where a crawl stands. All but `leased` and `hosts_ready` survive reopening.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrontierCounts {
    /// URLs ever queued.
    pub known: u64,
    /// Waiting, retries included.
    pub queued: u64,
    /// Out with a worker.
    pub leased: u64,
    /// Settled as pages.
    pub indexed: u64,
    /// Settled without a page.
    pub no_page: u64,
    /// Hosts with something queued.
    pub hosts: u64,
}

/// The frontier could not do its job. All of these end the crawl.
#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    /// The store failed.
    #[error("frontier store: {0}")]
    Store(String),
    /// What is stored cannot be understood.
    #[error("frontier record `{key}` is damaged: {reason}")]
    Damaged {
        /// Its key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// This frontier cannot do that.
    #[error("this frontier has no `{0}`")]
    Unsupported(&'static str),
    /// Another process has the data directory.
    #[error("`{path}` is in use by another process; stop it first or choose another --data directory")]
    Locked {
        /// The directory.
        path: String,
    },
    /// Written by a version that this one cannot read.
    #[error("`{path}` has frontier format {found}, this version reads {known}")]
    Format {
        /// The directory.
        path: String,
        /// The format found.
        found: u32,
        /// The format known.
        known: u32,
    },
}
