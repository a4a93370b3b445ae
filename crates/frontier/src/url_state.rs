//! What the frontier knows about one URL, for people who ask.

use jiff::Timestamp;
use webloom_model::PageUrl;

/// The life of a URL so far, as the frontier saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlState {
    /// Where it stands.
    pub status: UrlStatus,
    /// Links followed from a seed.
    pub depth: u32,
    /// The page that carried the link; nothing for a seed.
    pub found_on: Option<PageUrl>,
    /// Fetches that failed in a way that may pass.
    pub attempts: u32,
}

/// Where a URL stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlStatus {
    /// Waits for its turn.
    Queued,
    /// Out with a worker.
    Leased,
    /// Failed, and waits to be tried again.
    Waiting {
        /// Not before this.
        until: Timestamp,
    },
    /// Its page is in the index.
    Indexed {
        /// Since when.
        at: Timestamp,
    },
    /// There is no page here.
    NoPage {
        /// Since when this is known.
        at: Timestamp,
    },
}
