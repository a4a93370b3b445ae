//! Where seeds lead: what a crawl follows from a seed to another site, and what it says of seeds that led nowhere.
//!
//! In: leases of seeds and of what they redirected to. Out: targets that are admitted although they are elsewhere, the sites that join the
//! scope for it, and, when a crawl ends without a page, a reason for each seed.

use std::sync::atomic::Ordering::Relaxed;

use oxrdf::Term;
use webloom_extract::Refusal;
use webloom_model::vocab::{http, wl};
use webloom_model::{FetchKind, Lease, LinkCandidate, PageUrl, UrlStage};

use crate::crawl::CrawlError;
use crate::joined::Joining;
use crate::past::Past;
use crate::spec::CrawlSpec;
use crate::wiring::Crawl;

/// Sites that are told one by one when they join.
const JOINED_TOLD_MAX: u64 = 20;

/// A seed that gave no page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeedEnd {
    /// The seed.
    pub seed: PageUrl,
    /// What became of it, in words.
    pub reason: String,
}

/// Whether a redirect is followed: within the scope, and from a seed wherever it leads.
pub(crate) fn admits_redirect(crawl: &Crawl, lease: &Lease, target: &PageUrl) -> Result<(), Refusal> {
    let scope = &crawl.spec().links.scope;
    match scope.admits(target) {
        Err(Refusal::Host | Refusal::Domain) if crawl.is_led_by_seed(lease) => scope.admits_anywhere(target),
        verdict => verdict,
    }
}

/// What a page that refreshes to another site makes of its lease: from a seed, that is a redirect. Elsewhere, and on the sites of the
/// crawl, it is a link like others.
pub(crate) fn refreshed(crawl: &Crawl, lease: &Lease, target: PageUrl) -> Option<LinkCandidate> {
    let spec = crawl.spec();
    let follows = spec.links.scope.joins_as(&target).is_some()
        && crawl.is_led_by_seed(lease)
        && lease.candidate.redirects.len() < spec.fetch.redirects_max
        && spec.links.scope.admits_anywhere(&target).is_ok();
    follows.then(|| lease.redirected(target))
}

/// Whether a sitemap is followed that the robots.txt of the lease's host names. That of a site which joins with this very lease is.
pub(crate) fn admits_sitemap(crawl: &Crawl, lease: &Lease, sitemap: &PageUrl) -> bool {
    let scope = &crawl.spec().links.scope;
    match scope.admits_any_extension(sitemap) {
        Err(Refusal::Host | Refusal::Domain) => {
            scope.joins_as(sitemap) == scope.joins_as(lease.url())
                && crawl.is_led_by_seed(lease)
                && scope.admits_any_extension_anywhere(sitemap).is_ok()
        }
        verdict => verdict.is_ok(),
    }
}

/// Has the site of a page join the scope when a seed led there, and says so.
pub(crate) fn join_site(crawl: &Crawl, lease: &Lease) -> Result<(), CrawlError> {
    let (spec, target) = (crawl.spec(), lease.url());
    let (Some(name), Some(seed)) = (spec.links.scope.joins_as(target), lease.candidate.redirects.first())
    else {
        return Ok(());
    };
    if !crawl.is_led_by_seed(lease) {
        return Ok(());
    }
    let joining = Joining { seed: seed.clone(), target: target.clone() };
    if tokio::task::block_in_place(|| crawl.joined.join(&spec.links.scope, &joining))? {
        let line = format!("seed {seed} leads to {target}: {name} is crawled, too");
        match crawl.counters.joined.fetch_add(1, Relaxed) {
            0..JOINED_TOLD_MAX => crawl.counters.notices.add(line),
            JOINED_TOLD_MAX => {
                crawl.counters.notices.add(format!("{line}; and so on, `webloom why` tells of each"));
            }
            _ => tracing::info!("{line}"),
        }
    }
    Ok(())
}

impl Crawl {
    /// What became of the seeds that gave no page, of the first `max` of them in the order of the specification.
    pub fn seeds_without_page(&self, max: usize) -> Result<Vec<SeedEnd>, CrawlError> {
        let (spec, past) = (self.spec(), self.past());
        let mut ends = Vec::new();
        for seed in &spec.seeds {
            if ends.len() >= max {
                break;
            }
            if let Some(reason) = reason(&past, &spec, seed)? {
                ends.push(SeedEnd { seed: seed.clone(), reason });
            }
        }
        Ok(ends)
    }
}

/// Why there is no page of a seed; nothing when there is one.
fn reason(past: &Past<'_>, spec: &CrawlSpec, seed: &PageUrl) -> Result<Option<String>, CrawlError> {
    let Some(life) = past.frontier.inspect(seed)? else {
        return Ok(Some("was not queued, for its host is banned".to_owned()));
    };
    Ok(match life.stage {
        UrlStage::Indexed { .. } => None,
        UrlStage::Queued | UrlStage::Leased => Some("has not had its turn yet".to_owned()),
        UrlStage::Waiting { until } => {
            let failed = life.fetches.iter().rfind(|fetch| fetch.kind == FetchKind::Failed);
            let status = failed.and_then(|fetch| fetch.status);
            let what = status.map_or("failed".to_owned(), |status| format!("answered {status}"));
            Some(format!("{what}, and is tried again at {until}"))
        }
        UrlStage::Banned { .. } => Some("is banned".to_owned()),
        UrlStage::NoPage { .. } => {
            let chain = past.redirects(seed)?;
            match chain.last() {
                None => Some(answer(past, seed)?),
                Some(end) => reason_of_redirect(past, spec, end)?,
            }
        }
    })
}

/// The same for a seed that redirects to `end`, where the trail ends.
fn reason_of_redirect(
    past: &Past<'_>,
    spec: &CrawlSpec,
    end: &PageUrl,
) -> Result<Option<String>, CrawlError> {
    let stage = past.frontier.stages(std::slice::from_ref(end))?.pop().flatten();
    Ok(match stage {
        Some(UrlStage::Indexed { .. }) => None,
        Some(UrlStage::NoPage { .. }) => {
            Some(format!("redirects to {end}, and there: {}", answer(past, end)?))
        }
        Some(UrlStage::Banned { .. }) => Some(format!("redirects to {end}, which is banned")),
        Some(_) => Some(format!("redirects to {end}, which has not had its turn yet")),
        None => Some(match refusal(spec, end) {
            Some(refusal) => format!("redirects to {end}, which is out of scope: {refusal}"),
            None => format!("redirects to {end}, which was not queued"),
        }),
    })
}

/// The rule that keeps a crawl from following a redirect of a seed.
fn refusal(spec: &CrawlSpec, target: &PageUrl) -> Option<Refusal> {
    let scope = &spec.links.scope;
    match scope.admits(target).err()? {
        Refusal::Host | Refusal::Domain if spec.follow_seed_redirects => scope.admits_anywhere(target).err(),
        refusal => Some(refusal),
    }
}

/// What came of a URL that gave no page, as its metadata have it.
fn answer(past: &Past<'_>, url: &PageUrl) -> Result<String, CrawlError> {
    let said = |predicate| -> Result<Option<String>, CrawlError> {
        Ok(match past.said(url, predicate)? {
            Some(Term::Literal(literal)) => Some(literal.value().to_owned()),
            _ => None,
        })
    };
    let what = match said(http::STATUS_CODE)? {
        Some(status) => format!("answered {status}"),
        None => said(wl::REASON)?.unwrap_or_else(|| "no page, for reasons that nobody noted".to_owned()),
    };
    Ok(match said(wl::OUTCOME)?.as_deref() {
        Some("failed") => format!("given up: {what}"),
        _ => what,
    })
}
