#![doc = include_str!("../README.md")]

pub mod blank;
pub mod clock;
pub mod detection;
pub mod diagnostic;
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
pub use fetched::{
    FetchError, FetchOutcome, FetchedPage, HostHint, NotFetched, Redirect, Reservation, Retry,
};
pub use frontier::{
    Frontier, FrontierCounts, FrontierError, LeaseAnswer, OfferSummary, Settlement, SettlementKind,
};
pub use graph::{PageGraph, PageText, RobotsDirectives};
pub use link::{Lease, LeaseId, LinkCandidate};
pub use url::{PageUrl, UrlProblem};
