//! What people and programs beside the crawl ask of the durable frontier, and tell it.
//!
//! Changes of what is queued already (scores, bans) are made in chunks: each chunk is written and told to the scheduler while
//! nobody can lease, and reaches the disk's platter with the last one.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use fjall::PersistMode;
use jiff::Timestamp;
use webloom_model::{
    Ban, Frontier, FrontierError, FrontierLimits, Injection, InjectionReport, LinkCandidate, PageUrl,
    QueueOrder, QueueQuery, QueueState, QueueView, UrlLife, UrlStage, Validators,
};

use super::change::{self, Change, Wish, report_of};
use super::store::store_error;
use super::{Core, FjallFrontier, queue_error};
use crate::log::Logged;
use crate::record::{HostRecord, LifeRecord, StageRecord, damaged, decode, later_key, timestamp};
use crate::schedule::{Place, domain_of};
use crate::seen::{Spot, UrlKey};
use crate::{UrlState, UrlStatus};

/// URLs that are changed in one go.
const CHUNK: usize = 8000;
/// Hosts on disk that one look at the queues goes through.
const HOSTS_LOOKED_AT_MAX: usize = 200_000;

/// A URL that is known, with what became of it.
struct Known<'u> {
    url: &'u PageUrl,
    key: UrlKey,
    depth: u32,
    life: LifeRecord,
}

impl Known<'_> {
    /// Where its entry stands, if it is queued.
    fn place(&self) -> Place {
        Place::new(self.life.score, self.depth, self.life.position)
    }
}

/// A score as scores are; what is no number is none.
fn bounded(score: f32) -> Option<f32> {
    (!score.is_nan()).then(|| score.clamp(-1.0, 1.0))
}

impl FjallFrontier {
    /// The life of a URL so far, in short; nothing when it was never queued.
    pub fn lookup(&self, url: &PageUrl) -> Result<Option<UrlState>, FrontierError> {
        Ok(self.inspect(url)?.map(|life| UrlState {
            status: match life.stage {
                UrlStage::Queued => UrlStatus::Queued,
                UrlStage::Leased => UrlStatus::Leased,
                UrlStage::Waiting { until } => UrlStatus::Waiting { until },
                UrlStage::Indexed { at } => UrlStatus::Indexed { at },
                UrlStage::NoPage { at } | UrlStage::Banned { at } => UrlStatus::NoPage { at },
            },
            depth: life.depth,
            found_on: life.found_on,
            attempts: life.attempts,
        }))
    }

    pub(super) fn inject_all(&self, injections: &[Injection]) -> Result<InjectionReport, FrontierError> {
        let mut report = InjectionReport::default();
        let mut bans = Vec::new();
        let mut known = Vec::new();
        {
            let config = self.config();
            let writer = &mut *self.writer.lock();
            let mut change = self.change(writer, &config)?;
            let candidates: Vec<(LinkCandidate, Option<f32>)> = injections
                .iter()
                .filter(|injection| !injection.blacklisted)
                .map(|injection| {
                    (LinkCandidate::seed(injection.url.clone()), injection.score.and_then(bounded))
                })
                .collect();
            let wishes: Vec<Wish<'_>> =
                candidates.iter().map(|(candidate, score)| Wish { candidate, score: *score }).collect();
            let were_known = change.offer(&wishes)?;
            for ((candidate, score), was_known) in candidates.iter().zip(were_known) {
                if let (Some(score), true) = (score, was_known) {
                    known.push((candidate.url.clone(), *score));
                }
            }
            bans.extend(
                injections
                    .iter()
                    .filter(|injection| injection.blacklisted)
                    .map(|one| Ban::Url(one.url.clone())),
            );
            report += report_of(self.commit(change, PersistMode::SyncData, None)?);
        }
        // Those count by what becomes of their scores.
        report.known -= known.len() as u64;
        report += self.rescore_all(&known)?;
        report += self.ban_all(&bans)?;
        Ok(report)
    }

    pub(super) fn rescore_all(&self, scores: &[(PageUrl, f32)]) -> Result<InjectionReport, FrontierError> {
        let mut report = InjectionReport::default();
        let config = self.config();
        for chunk in scores.chunks(CHUNK) {
            let writer = &mut *self.writer.lock();
            let mut change = self.change(writer, &config)?;
            let found = self.known(&mut change, chunk.iter().map(|(url, _)| url))?;
            let core = &mut *self.core.lock();
            let mut done = HashSet::new();
            // Of several scores for one URL the last one counts.
            for (found, &(_, score)) in found.into_iter().zip(chunk).rev() {
                match found {
                    None => report.unknown += 1,
                    Some(known) if !done.insert(known.key.to_bytes()) => report.known += 1,
                    Some(known) => {
                        let rescored = self.set_score(&mut change, core, known, score)?;
                        report.rescored += u64::from(rescored);
                        report.known += u64::from(!rescored);
                    }
                }
            }
            self.commit(change, PersistMode::Buffer, Some(core))?;
        }
        self.make_durable(scores.is_empty())?;
        Ok(report)
    }

    /// Gives a URL that waits another score. False when it does not wait.
    fn set_score(
        &self,
        change: &mut Change<'_>,
        core: &mut Core,
        mut known: Known<'_>,
        score: f32,
    ) -> Result<bool, FrontierError> {
        let host = known.url.host();
        let before = known.place();
        known.life.score = bounded(score);
        let place = known.place();
        match known.life.stage {
            StageRecord::Queued if !core.scheduler.is_out(host, before) => {
                if place != before {
                    change.dequeue(host, before)?;
                    let attempts = known.life.attempts;
                    change.enqueue(host, place, attempts)?.fresh.push((place, attempts));
                    core.scheduler.take_away(host, before, change.now);
                }
            }
            // It counts when its time has come.
            StageRecord::Waiting { .. } => {}
            _ => return Ok(false),
        }
        change.put_life(known.key, &known.life)?;
        Ok(true)
    }

    pub(super) fn ban_all(&self, bans: &[Ban]) -> Result<InjectionReport, FrontierError> {
        let mut report = InjectionReport::default();
        let config = self.config();
        let urls: Vec<&PageUrl> = bans
            .iter()
            .filter_map(|ban| match ban {
                Ban::Url(url) => Some(url),
                Ban::Host(_) => None,
            })
            .collect();
        for chunk in urls.chunks(CHUNK) {
            let writer = &mut *self.writer.lock();
            let mut change = self.change(writer, &config)?;
            let found = self.known(&mut change, chunk.iter().copied())?;
            let core = &mut *self.core.lock();
            let mut done = HashSet::new();
            for (found, &url) in found.into_iter().zip(chunk) {
                let banned = match found {
                    _ if !done.insert(url) => false,
                    Some(known) => self.ban_known(&mut change, core, known)?,
                    None => {
                        let key = self.store.secret.key(url.as_str());
                        change.ban_unheard(url, key)?;
                        true
                    }
                };
                report.banned += u64::from(banned);
                report.known += u64::from(!banned);
            }
            self.commit(change, PersistMode::Buffer, Some(core))?;
        }
        for ban in bans {
            if let Ban::Host(name) = ban {
                report.banned += self.ban_host(name)?;
            }
        }
        self.make_durable(bans.is_empty())?;
        Ok(report)
    }

    /// Bans a URL that is known. False when it is banned already. One that is out is settled first, and then stays banned.
    fn ban_known(
        &self,
        change: &mut Change<'_>,
        core: &mut Core,
        mut known: Known<'_>,
    ) -> Result<bool, FrontierError> {
        let host = known.url.host();
        let place = known.place();
        let at_ms = self.anchor.to_wall_floor(change.now);
        match known.life.stage {
            StageRecord::Banned { .. } => return Ok(false),
            // Whoever has it will settle it; a retry is all that could come of it then.
            StageRecord::Queued if core.scheduler.is_out(host, place) => {
                let banned = !std::mem::replace(&mut known.life.banned, true);
                change.put_life(known.key, &known.life)?;
                return Ok(banned);
            }
            StageRecord::Queued => {
                change.dequeue(host, place)?;
                core.scheduler.take_away(host, place, change.now);
            }
            StageRecord::Waiting { due_ms } => {
                change.batch.remove(&self.store.later, later_key(due_ms, known.life.position));
                let record = &mut change.changed_host(host)?.record;
                record.waiting = record.waiting.saturating_sub(1);
                core.scheduler.waits_no_more(host, change.now);
            }
            StageRecord::Indexed { .. } => {
                change.unindex(known.url)?;
                core.scheduler.unindex(host, change.now);
            }
            StageRecord::NoPage { .. } => change.no_page -= 1,
        }
        change.no_page += 1;
        known.life.stage = StageRecord::Banned { at_ms };
        change.put_life(known.key, &known.life)?;
        Ok(true)
    }

    /// Bans a host: what is queued there is dropped. Gives how many URLs that were.
    fn ban_host(&self, name: &str) -> Result<u64, FrontierError> {
        let config = self.config();
        let mut dropped = 0;
        loop {
            let writer = &mut *self.writer.lock();
            let mut change = self.change(writer, &config)?;
            let core = &mut *self.core.lock();
            let host = change.changed_host(name)?;
            host.record.blocked = true;
            let number = host.record.number;
            core.scheduler.set_blocked(name, true, change.now);
            let free = |place| !core.scheduler.is_out(name, place);
            let places = self.queue.read(number, Place::FIRST, CHUNK, &free);
            let places = places.map_err(|error| queue_error(&error))?;
            for &(place, _) in &places {
                change.dequeue(name, place)?;
                core.scheduler.take_away(name, place, change.now);
                change.no_page += 1;
            }
            dropped += places.len() as u64;
            self.commit(change, PersistMode::Buffer, Some(core))?;
            if places.len() < CHUNK {
                return Ok(dropped);
            }
        }
    }

    pub(super) fn queue_again(&self, url: &PageUrl) -> Result<bool, FrontierError> {
        let config = self.config();
        let writer = &mut *self.writer.lock();
        let mut change = self.change(writer, &config)?;
        let Some(known) = self.known(&mut change, [url].into_iter())?.pop().flatten() else {
            return Ok(false);
        };
        let core = &mut *self.core.lock();
        let queued = requeue(&mut change, core, known, Some(1.0))?;
        self.commit(change, PersistMode::SyncData, Some(core))?;
        Ok(queued)
    }

    pub(super) fn queue_failed_again(
        &self,
        urls: &[(PageUrl, Option<f32>)],
    ) -> Result<Vec<bool>, FrontierError> {
        let config = self.config();
        let mut queued = Vec::with_capacity(urls.len());
        for chunk in urls.chunks(CHUNK) {
            let writer = &mut *self.writer.lock();
            let mut change = self.change(writer, &config)?;
            let found = self.known(&mut change, chunk.iter().map(|(url, _)| url))?;
            let core = &mut *self.core.lock();
            let mut done = HashSet::new();
            for (known, (_, score)) in found.into_iter().zip(chunk) {
                let failed = known.filter(|known| {
                    matches!(known.life.stage, StageRecord::NoPage { .. })
                        && done.insert(known.key.to_bytes())
                });
                queued.push(match failed {
                    Some(known) => requeue(&mut change, core, known, score.and_then(bounded))?,
                    None => false,
                });
            }
            self.commit(change, PersistMode::Buffer, Some(core))?;
        }
        self.make_durable(!queued.contains(&true))?;
        Ok(queued)
    }

    /// Queues the pages at these depths again, to be read for their links whatever their servers say of them. They are on disk when
    /// it returns; gives how many there are. Goes through all URLs, while others may go on.
    pub fn visit_again(&self, depths: Range<u32>) -> Result<u64, FrontierError> {
        let end = self.writer.lock().counters.log_end;
        let mut queued = 0;
        let mut urls = Vec::new();
        self.log.scan(0, end, |url, position, depth| {
            // Most URLs of a large crawl are no pages, and most of those are told apart here.
            if depths.contains(&depth) && self.store.told_absent.may_have(self.store.secret.key(url)) {
                let url = PageUrl::parse(url);
                urls.push(url.map_err(|problem| damaged(&position.to_be_bytes(), problem.to_string()))?);
                if urls.len() == CHUNK {
                    queued += self.queue_pages_again(&std::mem::take(&mut urls))?;
                }
            }
            Ok(())
        })?;
        queued += self.queue_pages_again(&urls)?;
        self.end_visits(queued)
    }

    /// The same for pages by name. Others are left alone.
    pub fn visit_pages_again(&self, urls: &[PageUrl]) -> Result<u64, FrontierError> {
        let mut queued = 0;
        for chunk in urls.chunks(CHUNK) {
            queued += self.queue_pages_again(chunk)?;
        }
        self.end_visits(queued)
    }

    fn end_visits(&self, queued: u64) -> Result<u64, FrontierError> {
        self.make_durable(queued == 0)?;
        if queued > 0 {
            // What is read again counts as no page meanwhile.
            self.pardon_exhausted()?;
        }
        Ok(queued)
    }

    fn queue_pages_again(&self, urls: &[PageUrl]) -> Result<u64, FrontierError> {
        let config = self.config();
        let writer = &mut *self.writer.lock();
        let mut change = self.change(writer, &config)?;
        let found = self.known(&mut change, urls.iter())?;
        let core = &mut *self.core.lock();
        let mut queued = 0;
        for mut known in found.into_iter().flatten().filter(|known| known.life.visits > 0) {
            known.life.validators = Some(Validators::of_whatever_comes());
            match known.life.stage {
                StageRecord::Indexed { .. } => {
                    // Before anything new: that must not take up the places in budgets that these pages leave meanwhile.
                    queued += u64::from(requeue(&mut change, core, known, Some(1.0))?);
                }
                // Pages that are visited again anyway, or may be: then they are to be read.
                StageRecord::Queued | StageRecord::Waiting { .. } | StageRecord::NoPage { .. } => {
                    change.put_life(known.key, &known.life)?;
                }
                StageRecord::Banned { .. } => {}
            }
        }
        self.commit(change, PersistMode::Buffer, Some(core))?;
        Ok(queued)
    }

    pub(super) fn stages_of(&self, urls: &[PageUrl]) -> Result<Vec<Option<UrlStage>>, FrontierError> {
        let config = self.config();
        let mut stages = Vec::with_capacity(urls.len());
        for chunk in urls.chunks(CHUNK) {
            let writer = &mut *self.writer.lock();
            let mut change = self.change(writer, &config)?;
            for known in self.known(&mut change, chunk.iter())? {
                let Some(known) = known else {
                    stages.push(None);
                    continue;
                };
                let blocked = change.host(known.url.host())?.record.blocked;
                let out = self.core.lock().scheduler.is_out(known.url.host(), known.place());
                let found_at = || Ok(self.log.read(known.life.position)?.found_at_ms);
                stages.push(Some(stage_of(known.life.stage, out, blocked, found_at)?));
            }
        }
        Ok(stages)
    }

    pub(super) fn life_of(&self, url: &PageUrl) -> Result<Option<UrlLife>, FrontierError> {
        let config = self.config();
        // While the writer's lock is held, what a record points to is where it says.
        let writer = &mut *self.writer.lock();
        let mut change = self.change(writer, &config)?;
        let Some(known) = self.known(&mut change, [url].into_iter())?.pop().flatten() else {
            return Ok(None);
        };
        let record = change.host(url.host())?.record;
        let core = self.core.lock();
        let place = known.place();
        let life = known.life;
        let Logged { candidate, found_at_ms } = self.log.read(life.position)?;
        let out = core.scheduler.is_out(url.host(), place);
        let stage = stage_of(life.stage, out, record.blocked, || Ok(found_at_ms))?;
        Ok(Some(UrlLife {
            url: candidate.url,
            stage,
            depth: candidate.depth,
            found_on: candidate.found_on,
            found_at: Some(timestamp(found_at_ms)),
            anchor: candidate.anchor,
            redirects: candidate.redirects,
            score: life.score,
            attempts: life.attempts,
            fetches: life.fetches,
            visits: life.visits,
            changes: life.changes,
            next_visit: life.next_visit_ms.map(timestamp),
            queue: Some(self.view(&core, url.host(), &record, self.clock.now())),
        }))
    }

    pub(super) fn look_at_queues(&self, query: &QueueQuery) -> Result<Vec<QueueView>, FrontierError> {
        let now = self.clock.now();
        let mut views = Vec::new();
        for record in self.store.hosts.iter().take(HOSTS_LOOKED_AT_MAX) {
            let (key, value) = record.into_inner().map_err(|error| store_error(&error))?;
            let name = std::str::from_utf8(&key).map_err(|error| damaged(&key, error.to_string()))?;
            if query.host.as_ref().is_some_and(|part| !name.contains(part.as_str())) {
                continue;
            }
            let record: HostRecord = decode(&key, &value)?;
            let view = self.view(&self.core.lock(), name, &record, now);
            if query.state.is_none_or(|state| state == view.state) {
                views.push(view);
            }
            // Only the first are wanted: the others need not be held.
            if views.len() >= query.max.saturating_mul(2).max(10_000) {
                sort_views(&mut views, query.order);
                views.truncate(query.max);
            }
        }
        sort_views(&mut views, query.order);
        views.truncate(query.max);
        Ok(views)
    }

    /// How a host's queue looks: from memory if it is there, from what is stored otherwise.
    fn view(&self, core: &Core, name: &str, record: &HostRecord, now: Instant) -> QueueView {
        let wall = |moment: Instant| -> Timestamp { timestamp(self.anchor.to_wall(moment)) };
        let domain = domain_of(name).to_owned();
        if let Some(view) = core.scheduler.view(name, now) {
            let facts = view.facts;
            return QueueView {
                domain,
                host: name.to_owned(),
                state: view.state,
                queued: (facts.queued + facts.waiting).saturating_sub(view.leased),
                leased: view.leased,
                fetched: facts.indexed,
                errors: facts.manners.errors,
                delay: view.delay,
                next_at: view.next_at.map(wall),
                ip: facts.manners.address,
            };
        }
        let facts = record.facts(&self.anchor);
        let not_before =
            record.not_before_ms.map(|moment| self.anchor.to_instant(moment)).max(facts.manners.held_until);
        let next_at = not_before.filter(|moment| *moment > now);
        let state = if record.blocked {
            QueueState::Blocked
        } else if record.queued == 0 {
            if record.waiting > 0 { QueueState::Snoozed } else { QueueState::Retired }
        } else if record.exhausted || self.is_spent(core, record, &domain) {
            QueueState::Exhausted
        } else if facts.manners.held_until.is_some_and(|until| until > now) {
            QueueState::Snoozed
        } else if next_at.is_some() {
            QueueState::Waiting
        } else {
            QueueState::Ready
        };
        QueueView {
            domain,
            host: name.to_owned(),
            state,
            queued: record.queued + record.waiting,
            leased: 0,
            fetched: record.indexed,
            errors: record.errors,
            delay: facts.manners.delay(core.scheduler.config()),
            next_at: next_at.map(wall),
            ip: record.address,
        }
    }

    /// True when a host that is not in memory, or its domain, has all the pages it may have.
    fn is_spent(&self, core: &Core, record: &HostRecord, domain: &str) -> bool {
        let config = core.scheduler.config();
        let domain_spent = || {
            config.domain_budget.is_some_and(|budget| {
                change::domain(&self.store, domain)
                    .is_ok_and(|counted| counted.indexed >= budget.pages(counted.linkers.count()))
            })
        };
        config.pages_per_host_max.is_some_and(|pages| record.indexed >= pages) || domain_spent()
    }

    pub(super) fn change_limits(&self, limits: &FrontierLimits) -> Result<(), FrontierError> {
        let config = Arc::new(self.config().with_limits(limits));
        *self.config.write() = config.clone();
        self.core.lock().scheduler.set_config((*config).clone(), self.clock.now());
        self.pardon_exhausted()
    }

    /// What is stored of URLs; nothing for those that are unknown.
    fn known<'u>(
        &self,
        change: &mut Change<'_>,
        urls: impl Iterator<Item = &'u PageUrl>,
    ) -> Result<Vec<Option<Known<'u>>>, FrontierError> {
        let urls: Vec<&PageUrl> = urls.collect();
        let keys = self.store.secret.keys(urls.iter().map(|url| url.as_str()));
        let spots = change.writer.find(&keys)?;
        let mut lives = change::lives(&self.store, &keys, &self.store.lives_absent)?.into_iter();
        let known = |((url, key), spot): ((&'u PageUrl, UrlKey), Option<Spot>)| {
            let life = lives.next().flatten();
            let Spot { position, depth } = spot?;
            Some(Known { url, key, depth, life: life.unwrap_or_else(|| LifeRecord::new(position)) })
        };
        Ok(urls.into_iter().zip(keys).zip(spots).map(known).collect())
    }

    /// Waits for what was written to be on the platter.
    fn make_durable(&self, nothing_written: bool) -> Result<(), FrontierError> {
        if nothing_written {
            return Ok(());
        }
        self.writer.lock().log.flush(true)?;
        self.store.database.persist(PersistMode::SyncData).map_err(|error| store_error(&error))
    }
}

/// Where a URL stands, as others see it: one that is queued may be `out`, or wait on a host that is `blocked`.
fn stage_of(
    stage: StageRecord,
    out: bool,
    blocked: bool,
    found_at_ms: impl FnOnce() -> Result<u64, FrontierError>,
) -> Result<UrlStage, FrontierError> {
    Ok(match stage {
        StageRecord::Queued if out => UrlStage::Leased,
        StageRecord::Queued if blocked => UrlStage::Banned { at: timestamp(found_at_ms()?) },
        StageRecord::Queued => UrlStage::Queued,
        StageRecord::Waiting { due_ms } => UrlStage::Waiting { until: timestamp(due_ms) },
        StageRecord::Indexed { at_ms } => UrlStage::Indexed { at: timestamp(at_ms) },
        StageRecord::NoPage { at_ms } => UrlStage::NoPage { at: timestamp(at_ms) },
        StageRecord::Banned { at_ms } => UrlStage::Banned { at: timestamp(at_ms) },
    })
}

/// Queues a URL that was settled once more. False when it was not, or its host is banned.
fn requeue(
    change: &mut Change<'_>,
    core: &mut Core,
    mut known: Known<'_>,
    score: Option<f32>,
) -> Result<bool, FrontierError> {
    let host = known.url.host();
    if change.host(host)?.record.blocked {
        return Ok(false);
    }
    match known.life.stage {
        StageRecord::Indexed { .. } => {
            change.unindex(known.url)?;
            core.scheduler.unindex(host, change.now);
        }
        StageRecord::NoPage { .. } => change.no_page -= 1,
        _ => return Ok(false),
    }
    known.life.stage = StageRecord::Queued;
    known.life.attempts = 0;
    known.life.score = score;
    known.life.next_visit_ms = None;
    change.put_life(known.key, &known.life)?;
    let place = known.place();
    change.enqueue(host, place, 0)?.fresh.push((place, 0));
    Ok(true)
}

fn sort_views(views: &mut [QueueView], order: QueueOrder) {
    views.sort_by(|a, b| {
        match order {
            QueueOrder::Queued => b.queued.cmp(&a.queued),
            QueueOrder::Fetched => b.fetched.cmp(&a.fetched),
            QueueOrder::Errors => b.errors.cmp(&a.errors),
            QueueOrder::Host => std::cmp::Ordering::Equal,
        }
        .then_with(|| a.host.cmp(&b.host))
    });
}
