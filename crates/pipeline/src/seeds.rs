//! Where seeds lead: what a crawl follows from a seed to another site, and what it says of seeds that led nowhere.
//!
//! In: leases of seeds and of what they redirected to. Out: targets that are admitted although they are elsewhere, the sites that join the
//! scope for it, and, when a crawl ends without a page, a reason for each seed. A site joins only where a seed has moved for good: what it leads to for
//! now may be a login, a consent form or a shop for domains, of which the one page is enough.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use oxrdf::Term;
use webloom_extract::Refusal;
use webloom_frontier::FjallFrontier;
use webloom_model::vocab::{http, wl};
use webloom_model::{FetchKind, FrontierError, Lease, LinkCandidate, PageUrl, UrlStage};

use crate::crawl::{CrawlError, SEEDS_AT_ONCE};
use crate::joined::Joining;
use crate::past::Past;
use crate::spec::CrawlSpec;
use crate::wiring::{Crawl, DataDir};

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

/// Has the site of a page join the scope when a seed has moved there, and says so. True when it joined.
pub(crate) fn join_site(crawl: &Crawl, lease: &Lease) -> Result<bool, CrawlError> {
    let (spec, target) = (crawl.spec(), lease.url());
    let (Some(name), Some(seed)) = (spec.links.scope.joins_as(target), lease.candidate.redirects.first())
    else {
        return Ok(false);
    };
    if !crawl.is_led_by_seed(lease) {
        return Ok(false);
    }
    if let Some(reason) = tokio::task::block_in_place(|| stays_out(crawl, lease))? {
        tell(
            crawl,
            format!(
                "seed {seed} leads to {target}, {reason}: only that page is fetched; name it as a seed to crawl {name}"
            ),
        );
        return Ok(false);
    }
    let joining = Joining { seed: seed.clone(), target: target.clone() };
    let joined = tokio::task::block_in_place(|| crawl.joined.join(&spec.links.scope, &joining))?;
    if joined {
        tell(crawl, format!("seed {seed} leads to {target}: {name} is crawled, too"));
    }
    Ok(joined)
}

/// Why the site of a page that a seed led to does not join; nothing when it does.
fn stays_out(crawl: &Crawl, lease: &Lease) -> Result<Option<String>, CrawlError> {
    let scope = &crawl.spec().links.scope;
    let past = crawl.past();
    let hops = &lease.candidate.redirects;
    for (hop, next) in hops.iter().zip(hops.iter().skip(1).chain([lease.url()])) {
        if scope.site_of(hop) == scope.site_of(next) {
            continue;
        }
        // A redirect is in the index before its target is queued. A page that refreshes has another status than these.
        if let Some(Term::Literal(status)) = past.said(hop, http::STATUS_CODE)?
            && matches!(status.value(), "302" | "303" | "307")
        {
            return Ok(Some(format!("but not for good ({} at {hop})", status.value())));
        }
    }
    let whole = lease.url().is_public_suffix() && scope.site_of(lease.url()).is_some();
    Ok(whole.then(|| "where anybody may have a site".to_owned()))
}

/// Pages of earlier runs that are named as seeds for the first time are visited again for their links, which may have led out of scope until now. To
/// be asked while the specification in the directory is still that of the last run.
pub(crate) fn visit_new_seeds(
    frontier: &FjallFrontier,
    data: &DataDir,
    seeds: &[PageUrl],
) -> Result<(), FrontierError> {
    let Some(named) = written_seeds(data) else { return Ok(()) };
    let new: Vec<PageUrl> = seeds.iter().filter(|seed| !named.contains(*seed)).cloned().collect();
    frontier.visit_pages_again(&new).map(drop)
}

/// The seeds of the specification in a directory; nothing when there is none.
fn written_seeds(data: &DataDir) -> Option<HashSet<PageUrl>> {
    let table = data.written_spec()?;
    let seeds = table.get("seeds")?.as_array()?.iter();
    Some(seeds.filter_map(|seed| PageUrl::parse(seed.as_str()?).ok()).collect())
}

/// Says what became of a seed's redirect, as long as there are not too many.
fn tell(crawl: &Crawl, line: String) {
    match crawl.counters.joined.fetch_add(1, Relaxed) {
        0..JOINED_TOLD_MAX => crawl.counters.notices.add(line),
        JOINED_TOLD_MAX => {
            crawl.counters.notices.add(format!("{line}; and so on, `webloom why` tells of each"));
        }
        _ => tracing::info!("{line}"),
    }
}

impl Crawl {
    /// What became of the seeds that gave no page, of the first `max` of them in the order of the specification, and how many more there are.
    /// Those that only wait for their turn are among them if there is no page at all.
    pub fn seeds_without_page(&self, max: usize) -> Result<(Vec<SeedEnd>, usize), CrawlError> {
        let (spec, past) = (self.spec(), self.past());
        let has_pages = self.frontier.counts().indexed > 0;
        let (mut ends, mut more) = (Vec::new(), 0);
        for seeds in spec.seeds.chunks(SEEDS_AT_ONCE) {
            for (seed, stage) in seeds.iter().zip(self.frontier.stages(seeds)?) {
                let has_ended = match stage {
                    Some(UrlStage::Indexed { .. }) => continue,
                    Some(UrlStage::Queued | UrlStage::Leased) => false,
                    _ => true,
                };
                if !has_ended && has_pages {
                    continue;
                }
                let Some(reason) = reason(&past, &spec, seed)? else { continue };
                if ends.len() < max {
                    ends.push(SeedEnd { seed: seed.clone(), reason });
                } else {
                    more += 1;
                }
            }
        }
        Ok((ends, more))
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
pub(crate) fn refusal(spec: &CrawlSpec, target: &PageUrl) -> Option<Refusal> {
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
