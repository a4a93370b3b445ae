#![doc = include_str!("../README.md")]

pub mod blank;
pub mod clock;
pub mod detection;
pub mod diagnostic;
pub mod exchange;
pub mod fetched;
pub mod frontier;
pub mod graph;
pub mod link;
pub mod url;
pub mod vocab;

pub use blank::BlankScope;
pub use clock::{Clock, SystemClock};
pub use detection::{DetectedPage, Detection, DocumentKind, XmlName};
pub use diagnostic::{Diagnostic, Severity};
pub use exchange::{Exchange, Purpose, Truncated};
pub use fetched::{
    FetchError, FetchOutcome, FetchedPage, HostHint, NotFetched, Redirect, Reservation, Retry, Unchanged,
};
pub use frontier::{
    Ban, FetchKind, FetchNote, Frontier, FrontierCounts, FrontierError, FrontierLimits, Injection,
    InjectionReport, LeaseAnswer, OfferSummary, QueueOrder, QueueQuery, QueueState, QueueView, Settlement,
    SettlementKind, UrlLife, UrlStage,
};
pub use graph::{PageGraph, PageText, RobotsDirectives, StepRecord};
pub use link::{Lease, LeaseId, LinkCandidate, PageLink, PageLinks, Validators};
pub use url::{PageUrl, URL_BYTES_MAX, UrlProblem};
