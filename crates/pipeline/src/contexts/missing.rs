//! What a page misses, of both kinds, and how a crawl gets it.

use std::collections::HashSet;

use webloom_fetch::Tape;

use super::{ContextCache, Turns};
use crate::wiring::Crawl;

/// What would have made more of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Missing {
    /// JSON-LD contexts.
    pub(crate) contexts: Vec<String>,
    /// Transformations, profiles and namespace documents of GRDDL.
    pub(crate) documents: Vec<String>,
}

impl Missing {
    /// True when the page has all it needs.
    pub(crate) fn is_empty(&self) -> bool {
        self.contexts.is_empty() && self.documents.is_empty()
    }
}

/// What was asked for on behalf of one page.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    contexts: HashSet<String>,
    documents: HashSet<String>,
}

impl Crawl {
    /// Asks for what a page misses and was not asked for yet. True when there is something new.
    pub(crate) async fn obtain(&self, missing: &Missing, tried: &mut Tried, tape: &mut Tape) -> bool {
        let contexts =
            self.obtain_from(self.contexts.as_deref(), &missing.contexts, &mut tried.contexts, tape).await;
        let documents =
            self.obtain_from(self.documents.as_deref(), &missing.documents, &mut tried.documents, tape).await;
        contexts || documents
    }

    async fn obtain_from(
        &self,
        cache: Option<&ContextCache>,
        missing: &[String],
        tried: &mut HashSet<String>,
        tape: &mut Tape,
    ) -> bool {
        let Some(cache) = cache else { return false };
        let turns = Turns::Frontier { frontier: &*self.frontier, host_freed: &self.host_freed };
        cache.obtain(&cache.untried(missing, tried), &self.fetcher, turns, tape).await
    }
}
