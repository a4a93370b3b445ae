//! A link on its way to being a page: first a candidate, then, when its turn comes, a lease.

use serde::{Deserialize, Serialize};

use crate::{PageUrl, RobotsDirectives};

/// A URL somebody would like to see crawled: a seed, a link found on a page, the target of a redirect.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCandidate {
    /// What to fetch.
    pub url: PageUrl,
    /// Links followed from a seed; redirects do not count.
    pub depth: u32,
    /// The page that carried the link; nothing for a seed.
    pub found_on: Option<PageUrl>,
    /// The words of the link.
    pub anchor: Option<String>,
    /// URLs that led here by redirect, oldest first.
    pub redirects: Vec<PageUrl>,
}

impl LinkCandidate {
    /// A starting point.
    pub fn seed(url: PageUrl) -> Self {
        Self { url, depth: 0, found_on: None, anchor: None, redirects: Vec::new() }
    }
}

/// Where a page leads by its markup alone: what is followed when nobody wants to know what the page says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageLinks {
    /// Distinct targets, in the order the page mentions them, the page itself not among them.
    pub links: Vec<PageLink>,
    /// What the author asks of robots.
    pub robots: RobotsDirectives,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// Where it leads.
    pub target: PageUrl,
    /// The words of the first mention that has some.
    pub anchor: Option<String>,
    /// Some mention of it does not say `rel=nofollow` (or `sponsored`, `ugc`).
    pub followed: bool,
}

/// Names one lease within one run of a frontier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub u64);

/// What a server said to recognise a page by, so that the next request can ask whether the page has changed. Kept with the
/// URL by whoever keeps URLs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Validators {
    /// `ETag`, with its quotes and, where it has one, its `W/`.
    pub etag: Option<String>,
    /// `Last-Modified`, as it was sent.
    pub last_modified: Option<String>,
    /// SHA-256 of the body, content encoding undone, and of headers that say something of their own: a page that came again whole and is the
    /// same is known by it.
    pub digest: Option<[u8; 32]>,
}

impl Validators {
    /// Of a page that is to be read when it is next fetched, whatever it is: nothing to ask on condition with, and a digest that no
    /// page has. That there was a page it tells all the same.
    pub fn of_whatever_comes() -> Self {
        Self { digest: Some([0; 32]), ..Self::default() }
    }

    /// True for those.
    pub fn are_of_whatever_comes(&self) -> bool {
        *self == Self::of_whatever_comes()
    }

    /// True when there is nothing to ask with and nothing to compare.
    pub fn is_empty(&self) -> bool {
        self.etag.is_none() && self.last_modified.is_none() && self.digest.is_none()
    }
}

/// The right, and the duty, to fetch one URL now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Names this lease when it is settled.
    pub id: LeaseId,
    /// What to fetch, and how it was found.
    pub candidate: LinkCandidate,
    /// How many fetches of this URL failed before, in a way that may pass.
    pub attempt: u32,
    /// What was kept of the last time the page was fetched; nothing for a URL that is new.
    pub validators: Option<Validators>,
}

impl Lease {
    /// What to fetch.
    pub fn url(&self) -> &PageUrl {
        &self.candidate.url
    }

    /// True when the page was read before and is read again for its links.
    pub fn is_for_links(&self) -> bool {
        self.validators.as_ref().is_some_and(Validators::are_of_whatever_comes)
    }

    /// The candidate that a redirect to `target` makes of this lease.
    pub fn redirected(&self, target: PageUrl) -> LinkCandidate {
        let mut redirects = self.candidate.redirects.clone();
        redirects.push(self.candidate.url.clone());
        LinkCandidate { url: target, redirects, ..self.candidate.clone() }
    }
}
