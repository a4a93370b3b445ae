//! Does the frontier stay as quick and as small as it was, up to a hundred million URLs?
//!
//! In: how many URLs, hosts and questions. Out: a [`Tenth`] for each tenth of the way: rates by the wall and by the processor, memory,
//! disk, and the longest call. It is a crawl without a network: pages are leased, each brings links, and pages and links are settled
//! together, durably. Links are made up ahead by another thread and not counted.
//!
//! A tenth is four rounds, so that no kind of work always meets the same moment of a merge. Most of a round is filling, with two new links
//! in three so that it does not take a day. Then come windows of each kind of work as a crawl has it: pages whose links are known but for a
//! few; pages without links; questions "seen before?" alone, about links as pages have them and about any URL; other scores for queued URLs. Before the first tenth there is a round that is not
//! counted, up to a hundredth of all URLs: each tenth leases what earlier rounds queued and gave scores to. Start at [`measure`].

mod books;
mod report;
mod small_hosts;
mod web;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

pub use books::Part;
use books::{Watch, Yardstick, directory_bytes, process_cpu, resident, written_bytes};
pub use report::Report;
pub use small_hosts::{SmallHosts, small_hosts};
use web::{Batch, Dice, LATELY, LINKS, Maker, Mark, Web};
use webloom_model::{
    Frontier, FrontierError, LeaseAnswer, LinkCandidate, PageUrl, Settlement, SettlementKind, SystemClock,
};

use crate::{FjallFrontier, FrontierConfig};

/// Pages settled at once.
const PAGES: usize = 500;
/// Batches that are made up ahead.
const AHEAD: usize = 2;
/// Questions asked at once when only asking is timed.
const QUESTIONS: u64 = 50_000;
/// Scores changed at once.
const SCORES: usize = 20_000;
const TENTHS: u64 = 10;
/// Rounds of a tenth.
const ROUNDS: u64 = 4;

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct MeasureOptions {
    /// Where the frontier is kept; nothing may be there yet.
    pub data: PathBuf,
    /// URLs at the end.
    pub urls: u64,
    /// Hosts they are spread over.
    pub hosts: u64,
    /// Links of a crawl's pages that are known already, in percent.
    pub known_percent: u32,
    /// Links of such pages that are settled, in each tenth.
    pub links: u64,
    /// Pages without links that are leased and settled, in each tenth.
    pub pages: u64,
    /// Questions "seen before?", in each tenth.
    pub questions: u64,
    /// Scores that are changed, in each tenth.
    pub scores: u64,
}

/// What was measured in one tenth.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tenth {
    /// URLs known at its end.
    pub urls: u64,
    /// Links settled while filling, most of them new.
    pub fill: Part,
    /// Links settled as a crawl has them, most of them known.
    pub links: Part,
    /// Leases given out while filling and settling links.
    pub leases: Part,
    /// Pages without links, leased and settled.
    pub pages: Part,
    /// Questions "seen before?" as links ask them: of the known ones, half were found lately, and three in four of the others are on the host of
    /// the page that asks.
    pub checks: Part,
    /// The same questions about any URLs: nothing lies near anything else.
    pub checks_anywhere: Part,
    /// Scores changed for queued URLs.
    pub scores: Part,
    /// Reads all over a table in memory, always the same: how fast the machine itself was.
    pub yardstick: Part,
    /// The whole tenth by the wall.
    pub wall: Duration,
    /// Processor time of the process in it, threads in the background included, made-up links not.
    pub cpu: Duration,
    /// Bytes in memory, on average over all batches: at a single moment it depends on what is just being merged. What the system has at hand of
    /// mapped files is among them.
    pub resident: u64,
    /// Of these, those that are no files.
    pub anonymous: u64,
    /// Bytes in memory at most.
    pub resident_most: u64,
    /// Bytes on disk.
    pub disk: u64,
    /// Bytes written to disk since the beginning.
    pub written: u64,
    /// Sorted runs of known URLs.
    pub runs: usize,
}

impl Tenth {
    /// Pages with their links, leased and settled: what a crawl does all day.
    pub fn crawl(&self) -> Part {
        let mut crawl = self.leases;
        for links in [&self.fill, &self.links] {
            crawl.join(&Part { count: 0, ..*links });
        }
        crawl
    }

    /// The longest that any call took.
    pub fn worst_call(&self) -> Duration {
        [self.crawl(), self.pages, self.checks, self.checks_anywhere, self.scores]
            .iter()
            .map(|part| part.worst)
            .max()
            .unwrap_or_default()
    }
}

/// The whole measurement.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Ten of them.
    pub tenths: Vec<Tenth>,
    /// How long it took to open the directory again.
    pub reopened: Duration,
}

/// Fills a frontier and measures it at each tenth; `tell` hears of each as it ends.
pub fn measure(options: &MeasureOptions, mut tell: impl FnMut(&Tenth)) -> Result<Measured, FrontierError> {
    let mut run = Run::begin(options)?;
    let (batches, receiver) = sync_channel::<Result<Batch, FrontierError>>(AHEAD);
    let maker = Maker::new(run.web, run.known, options);
    let spent = maker.spent.clone();
    let thread = std::thread::spawn(move || maker.run(|batch| batches.send(batch).is_ok()));
    let mut tenths = Vec::new();
    let mut tenth = Tenth::default();
    let mut begun = (Instant::now(), process_cpu().saturating_sub(spent.get()));
    for batch in receiver {
        let batch = batch?;
        let mark = batch.mark;
        run.settle_links(batch, &mut tenth)?;
        if mark != Mark::OnTheWay {
            run.end_round(&mut tenth)?;
        }
        if mark == Mark::Begun || mark == Mark::Tenth {
            run.end_tenth(&mut tenth);
            let now = (Instant::now(), process_cpu().saturating_sub(spent.get()));
            tenth.wall = now.0 - begun.0;
            tenth.cpu = now.1.saturating_sub(begun.1);
            begun = now;
            let done = std::mem::take(&mut tenth);
            if mark == Mark::Tenth {
                tell(&done);
                tenths.push(done);
            }
        }
    }
    if thread.join().is_err() {
        return Err(FrontierError::Store("the thread that makes up links panicked".to_owned()));
    }
    drop(run);
    let watch = Instant::now();
    drop(open(&options.data)?);
    Ok(Measured { tenths, reopened: watch.elapsed() })
}

/// A measurement under way.
struct Run<'a> {
    options: &'a MeasureOptions,
    frontier: FjallFrontier,
    web: Web,
    known: u64,
    dice: Dice,
    memory: Memory,
    yardstick: Yardstick,
}

/// Looks at the memory of a tenth.
#[derive(Debug, Default)]
struct Memory {
    looks: u64,
    resident: u64,
    anonymous: u64,
    most: u64,
}

impl Memory {
    fn look(&mut self) {
        // The yardstick is no part of what is measured.
        let [all, anonymous] = resident().map(|bytes| bytes.saturating_sub(Yardstick::BYTES));
        self.looks += 1;
        self.resident += all;
        self.anonymous += anonymous;
        self.most = self.most.max(all);
    }

    fn end(&mut self, tenth: &mut Tenth) {
        self.look();
        tenth.resident = self.resident / self.looks;
        tenth.anonymous = self.anonymous / self.looks;
        tenth.resident_most = self.most;
        *self = Self::default();
    }
}

impl<'a> Run<'a> {
    fn begin(options: &'a MeasureOptions) -> Result<Self, FrontierError> {
        let frontier = open(&options.data)?;
        let web = Web { hosts: options.hosts };
        let seeds: Vec<LinkCandidate> = (0..options.hosts.min(options.urls / TENTHS / 2))
            .map(|number| Ok(LinkCandidate::seed(web.url(number)?)))
            .collect::<Result<_, FrontierError>>()?;
        frontier.offer(&seeds)?;
        Ok(Self {
            options,
            frontier,
            web,
            known: seeds.len() as u64,
            dice: Dice(7),
            memory: Memory::default(),
            yardstick: Yardstick::new(),
        })
    }

    fn lease(&self, max: usize, part: &mut Part) -> Result<Vec<webloom_model::Lease>, FrontierError> {
        let watch = Watch::start();
        let answer = self.frontier.lease(max)?;
        match answer {
            LeaseAnswer::Leased(leases) => {
                part.add(leases.len() as u64, &watch);
                Ok(leases)
            }
            other => {
                Err(FrontierError::Store(format!("nothing to lease among {} URLs: {other:?}", self.known)))
            }
        }
    }

    /// Settles pages with the links of a batch.
    fn settle_links(&mut self, batch: Batch, tenth: &mut Tenth) -> Result<(), FrontierError> {
        let mut pages = batch.pages.into_iter();
        while pages.len() > 0 {
            let leases = self.lease(PAGES.min(pages.len()), &mut tenth.leases)?;
            let settlements: Vec<Settlement> = leases
                .iter()
                .zip(pages.by_ref())
                .map(|(lease, mut links)| {
                    for link in &mut links {
                        link.found_on = Some(lease.url().clone());
                        link.depth = lease.candidate.depth + 1;
                    }
                    Settlement { lease: lease.id, kind: SettlementKind::Indexed, links, validators: None }
                })
                .collect();
            let links = settlements.iter().map(|settlement| settlement.links.len() as u64).sum();
            let part = if batch.filling { &mut tenth.fill } else { &mut tenth.links };
            let watch = Watch::start();
            self.frontier.settle(settlements)?;
            part.add(links, &watch);
        }
        self.known = batch.known;
        self.memory.look();
        Ok(())
    }

    /// What is measured at the end of each round.
    fn end_round(&mut self, tenth: &mut Tenth) -> Result<(), FrontierError> {
        tenth.yardstick.join(&self.yardstick.read());
        self.settle_pages(&mut tenth.pages)?;
        self.ask(&mut tenth.checks, true)?;
        self.ask(&mut tenth.checks_anywhere, false)?;
        self.rescore(&mut tenth.scores)?;
        self.memory.look();
        Ok(())
    }

    /// What is looked at when a tenth is done.
    fn end_tenth(&mut self, tenth: &mut Tenth) {
        tenth.urls = self.known;
        self.memory.end(tenth);
        tenth.disk = directory_bytes(&self.options.data);
        tenth.written = written_bytes();
        (tenth.runs, _) = self.frontier.url_store_size();
    }

    /// Times pages without links, from their lease to their end.
    fn settle_pages(&mut self, part: &mut Part) -> Result<(), FrontierError> {
        // A small frontier must not run dry.
        let pages = part.count + self.options.pages.min(self.options.urls / TENTHS / 10) / ROUNDS;
        while part.count < pages {
            let mut leasing = Part::default();
            let leases = self.lease(PAGES, &mut leasing)?;
            let end = |lease: &webloom_model::Lease| Settlement {
                lease: lease.id,
                kind: SettlementKind::Indexed,
                links: Vec::new(),
                validators: None,
            };
            let settlements: Vec<Settlement> = leases.iter().map(end).collect();
            let watch = Watch::start();
            self.frontier.settle(settlements)?;
            part.add(leases.len() as u64, &watch);
            // The pages are counted once, the time of both calls.
            part.wall += leasing.wall;
            part.cpu += leasing.cpu;
            part.worst = part.worst.max(leasing.worst);
        }
        Ok(())
    }

    /// Times questions alone: as the links of pages ask them, or about any URLs.
    fn ask(&mut self, part: &mut Part, as_links: bool) -> Result<(), FrontierError> {
        let urls_in_all = self.options.urls;
        let questions = part.count + self.options.questions / ROUNDS;
        while part.count < questions {
            let mut home = 0;
            let numbers: Vec<u64> = (0..(questions - part.count).min(QUESTIONS))
                .map(|question| {
                    if question.is_multiple_of(LINKS) {
                        home = self.web.host_of(self.dice.below(self.known));
                    }
                    if self.dice.below(100) >= u64::from(self.options.known_percent) {
                        urls_in_all + self.dice.below(urls_in_all)
                    } else if !as_links {
                        self.dice.below(self.known)
                    } else if question.is_multiple_of(2) {
                        self.known - 1 - self.dice.below(self.known.min(LATELY as u64))
                    } else {
                        self.web.linked(home, self.known, &mut self.dice)
                    }
                })
                .collect();
            let urls = self.urls(&numbers)?;
            let watch = Watch::start();
            let answers = self.frontier.are_known(&urls)?;
            part.add(answers.len() as u64, &watch);
            if !numbers.iter().zip(&answers).all(|(number, answer)| (*number < self.known) == *answer) {
                let message = "a URL was taken for known that is not, or the other way round";
                return Err(FrontierError::Store(message.to_owned()));
            }
        }
        Ok(())
    }

    /// Times changes of scores.
    fn rescore(&mut self, part: &mut Part) -> Result<(), FrontierError> {
        let scores_in_all = part.count + self.options.scores / ROUNDS;
        while part.count < scores_in_all {
            let numbers: Vec<u64> = (0..SCORES).map(|_| self.dice.below(self.known)).collect();
            let scores: Vec<(PageUrl, f32)> = self
                .urls(&numbers)?
                .into_iter()
                .map(|url| (url, self.dice.below(1000) as f32 / 1000.0 - 0.5))
                .collect();
            let watch = Watch::start();
            let report = self.frontier.rescore(&scores)?;
            part.add(report.rescored, &watch);
            if report.unknown > 0 || report.rescored == 0 {
                return Err(FrontierError::Store(format!("scores went wrong: {report:?}")));
            }
        }
        Ok(())
    }

    fn urls(&self, numbers: &[u64]) -> Result<Vec<PageUrl>, FrontierError> {
        numbers.iter().map(|number| self.web.url(*number)).collect()
    }
}

fn open(data: &Path) -> Result<FjallFrontier, FrontierError> {
    // Nobody is asked anything here, so nobody is owed a pause.
    let config = FrontierConfig {
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        ..FrontierConfig::default()
    };
    FjallFrontier::open(data, config, Arc::new(SystemClock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_measurement_goes_through_all_parts() {
        let directory = tempfile::tempdir().unwrap();
        let options = MeasureOptions {
            data: directory.path().to_owned(),
            urls: 40_000,
            hosts: 100,
            known_percent: 85,
            links: 5_000,
            pages: 500,
            questions: 1_000,
            scores: 1_000,
        };
        let mut told = 0;
        let measured = measure(&options, |_| told += 1).unwrap();
        assert_eq!((told, measured.tenths.len()), (10, 10));
        assert_eq!(measured.tenths[9].urls, 40_000);
        for tenth in measured.tenths {
            let Tenth { fill, links, leases, pages, checks, checks_anywhere, scores, .. } = tenth;
            let parts = [fill, links, leases, pages, checks, checks_anywhere, scores];
            assert!(parts.iter().all(|part| part.count > 0), "{tenth:?}");
            assert_eq!(tenth.crawl().count, leases.count);
            assert_eq!(tenth.crawl().wall, fill.wall + links.wall + leases.wall);
            assert!(tenth.disk > 0);
        }
    }
}
