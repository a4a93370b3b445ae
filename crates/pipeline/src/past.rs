//! What became of URLs that were asked for before, and what is done when somebody names them again.
//!
//! In: URLs. Out: those that ended without a page are queued again, with what they redirected to; those that are pages are left
//! alone. Where URLs stand is the frontier's knowledge, where redirects led is in the metadata graphs of the index, whose commits come
//! first: what the frontier calls settled is there. Start at [`Past::try_again`].

use std::collections::HashSet;
use std::sync::Arc;

use oxrdf::{NamedNodeRef, Term};
use webloom_fetch::Fetcher;
use webloom_index::{GraphPattern, Snapshot};
use webloom_model::vocab::wl;
use webloom_model::{Frontier, Injection, InjectionReport, PageUrl, UrlStage};

use crate::crawl::CrawlError;
use crate::seeds;
use crate::spec::CrawlSpec;

/// Redirects that are followed from one URL. More than anybody lets a crawl follow.
const HOPS_MAX: usize = 100;

/// What a crawl knows of URLs that it asked for before.
pub struct Past<'a> {
    /// Where they stand.
    pub frontier: &'a dyn Frontier,
    /// What came of them; nothing when there is no index.
    pub snapshot: Option<Snapshot>,
    /// Remembers robots files, when a crawl runs here.
    pub fetcher: Option<&'a Fetcher>,
    /// What redirects may lead to; anything when that is not known.
    pub spec: Option<Arc<CrawlSpec>>,
}

impl Past<'_> {
    /// Takes URLs from outside: new ones are queued, those that ended without a page are queued again, those that wait get the
    /// new score, blacklisted ones are banned.
    pub fn inject(&self, injections: &[Injection]) -> Result<InjectionReport, CrawlError> {
        let wished = injections.iter().filter(|injection| !injection.blacklisted);
        let wished: Vec<_> = wished.map(|injection| (injection.url.clone(), injection.score)).collect();
        // Before anything is queued: what is queued now and ends at once is not to be tried a second time.
        let ended = self.ended(&wished)?;
        let mut report = self.frontier.inject(injections)?;
        report.tried_again = self.queue_again(&ended)?;
        // To the frontier they were merely known.
        report.known = report.known.saturating_sub(report.tried_again);
        Ok(report)
    }

    /// Queues those of the URLs again that ended without a page, unless they are banned. A redirect has ended so when what it led
    /// to has; then both are tried. Gives how many of the URLs are tried again.
    pub fn try_again(&self, urls: &[(PageUrl, Option<f32>)]) -> Result<u64, CrawlError> {
        self.queue_again(&self.ended(urls)?)
    }

    /// Those of the URLs that ended without a page.
    fn ended(&self, urls: &[(PageUrl, Option<f32>)]) -> Result<Vec<(PageUrl, Option<f32>)>, CrawlError> {
        let names: Vec<PageUrl> = urls.iter().map(|(url, _)| url.clone()).collect();
        let stages = self.frontier.stages(&names)?;
        let ended =
            urls.iter().zip(stages).filter(|(_, stage)| matches!(stage, Some(UrlStage::NoPage { .. })));
        Ok(ended.map(|(url, _)| url.clone()).collect())
    }

    /// Queues URLs again that ended without a page, unless their redirects led to one.
    fn queue_again(&self, ended: &[(PageUrl, Option<f32>)]) -> Result<u64, CrawlError> {
        let mut wishes = Vec::new();
        let mut targets = HashSet::new();
        for (url, score) in ended {
            let chain = self.redirects(url)?;
            if let Some(end) = chain.last()
                && !self.is_without_page(end)?
            {
                continue;
            }
            self.ask_for_robots_again(chain.last().unwrap_or(url))?;
            wishes.push((url.clone(), *score));
            targets.extend(chain.into_iter().filter(|target| self.may_lead_to(target)));
        }
        let named = wishes.len();
        wishes.extend(targets.into_iter().map(|url| (url, None)));
        let queued = self.frontier.try_again(&wishes)?;
        Ok(queued.iter().take(named).filter(|queued| **queued).count() as u64)
    }

    /// Whether a redirect to a URL is followed today; rules may have been others when it was.
    fn may_lead_to(&self, target: &PageUrl) -> bool {
        self.spec.as_ref().is_none_or(|spec| seeds::refusal(spec, target).is_none())
    }

    /// Where redirects led from a URL, hop by hop.
    pub fn redirects(&self, url: &PageUrl) -> Result<Vec<PageUrl>, CrawlError> {
        let mut hops = Vec::new();
        let mut at = url.clone();
        while hops.len() < HOPS_MAX {
            let Some(Term::NamedNode(target)) = self.said(&at, wl::REDIRECTS_TO)? else { break };
            let Ok(target) = PageUrl::parse(target.as_str()) else { break };
            // What is known of the hops may be of different times.
            if target == *url || hops.contains(&target) {
                break;
            }
            hops.push(target.clone());
            at = target;
        }
        Ok(hops)
    }

    /// True when there is no page at a URL, as far as is known: it has none, or was never queued.
    fn is_without_page(&self, url: &PageUrl) -> Result<bool, CrawlError> {
        let stage = self.frontier.stages(std::slice::from_ref(url))?.pop().flatten();
        Ok(matches!(stage, None | Some(UrlStage::NoPage { .. })))
    }

    /// A URL that robots.txt forbade is only tried again if robots.txt is.
    fn ask_for_robots_again(&self, url: &PageUrl) -> Result<(), CrawlError> {
        let Some(Term::Literal(code)) = self.said(url, wl::CODE)? else { return Ok(()) };
        if matches!(code.value(), "robots" | "robots-unreachable") {
            match self.fetcher {
                Some(fetcher) => fetcher.forget_robots(url),
                None => self.frontier.forget_robots(&url.origin())?,
            }
        }
        Ok(())
    }

    /// What the metadata of a URL say.
    pub fn said(&self, url: &PageUrl, predicate: NamedNodeRef<'_>) -> Result<Option<Term>, CrawlError> {
        let Some(snapshot) = &self.snapshot else { return Ok(None) };
        let (page, meta) = (url.graph_name(), url.meta_graph_name());
        let mut quads = snapshot.quads_for_pattern(
            Some(page.as_ref().into()),
            Some(predicate),
            None,
            GraphPattern::One(meta.as_ref().into()),
        )?;
        Ok(quads.next().transpose()?.map(|quad| quad.object))
    }
}

impl std::fmt::Debug for Past<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Past").finish_non_exhaustive()
    }
}
