//! URLs by number, and links made up of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use webloom_model::{FrontierError, LinkCandidate, PageUrl};

use super::books::thread_cpu;
use super::{MeasureOptions, PAGES, ROUNDS, TENTHS};

/// Links on each page.
pub(super) const LINKS: u64 = 100;
/// New ones among a hundred while filling.
const FILL_NEW: u64 = 67;
/// URLs that were new lately and are linked again most.
pub(super) const LATELY: usize = 100_000;
/// URLs of a host that have neighbouring numbers.
const NEIGHBOURS: u64 = 20;
/// Of four links to a known URL so many stay on their page's host, unless it was found lately.
const HOME_IN_FOUR: u64 = 3;
/// This part of all URLs is there before the first tenth begins.
const BEFORE: u64 = 100;

/// Numbers that look like chance.
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

/// URLs by number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Web {
    pub hosts: u64,
}

impl Web {
    pub fn url(self, number: u64) -> Result<PageUrl, FrontierError> {
        let host = self.host_of(number);
        PageUrl::parse(&format!("https://www.site-{host}.example/articles/{number}/index.html"))
            .map_err(|problem| FrontierError::Store(problem.to_string()))
    }

    /// The number of a URL's host. The first of every host is its root; behind them a page's links stay together, as they do.
    pub fn host_of(self, number: u64) -> u64 {
        if number < self.hosts { number } else { number / NEIGHBOURS % self.hosts }
    }

    /// Where a link of a page on that host leads, among so many known URLs: mostly to the same host.
    pub fn linked(self, home: u64, known: u64, dice: &mut Dice) -> u64 {
        if dice.below(4) >= HOME_IN_FOUR {
            return dice.below(known);
        }
        // Numbers go round all hosts, some on each.
        let round = dice.below(known / (NEIGHBOURS * self.hosts));
        let number = (round * self.hosts + home) * NEIGHBOURS + dice.below(NEIGHBOURS);
        if number < self.hosts || number >= known { home } else { number }
    }
}

/// The links of some pages.
pub(super) struct Batch {
    /// The links of each page.
    pub pages: Vec<Vec<LinkCandidate>>,
    /// URLs that are known with them.
    pub known: u64,
    /// True when most are new.
    pub filling: bool,
    /// What is done with it.
    pub mark: Mark,
}

/// How far the way is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    OnTheWay,
    /// What comes before the first tenth is done.
    Begun,
    /// A round of a tenth is done, and more are to come.
    Round,
    /// A tenth is done.
    Tenth,
}

/// Processor time of a thread, told by itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Spent(Arc<AtomicU64>);

impl Spent {
    pub fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Relaxed))
    }
}

/// Makes up links, round by round: first to fill, then as a crawl has them.
pub(super) struct Maker {
    web: Web,
    known: u64,
    urls: u64,
    /// New ones among a hundred links of a crawl.
    crawl_new: u64,
    /// URLs that the crawl's part of a round brings.
    crawl_urls: u64,
    lately: VecDeque<LinkCandidate>,
    dice: Dice,
    pub spent: Spent,
}

impl Maker {
    pub fn new(web: Web, known: u64, options: &MeasureOptions) -> Self {
        let crawl_new = u64::from(100_u32.saturating_sub(options.known_percent)).max(1);
        let rounds = TENTHS * ROUNDS;
        Self {
            web,
            known,
            urls: options.urls,
            crawl_new,
            // At most half a round.
            crawl_urls: (options.links * crawl_new / 100 / ROUNDS).min(options.urls / rounds / 2).max(1),
            lately: VecDeque::new(),
            dice: Dice(1),
            spent: Spent::default(),
        }
    }

    /// Goes on until there are enough URLs, or nobody wants more.
    pub fn run(mut self, mut send: impl FnMut(Result<Batch, FrontierError>) -> bool) {
        let begun = (self.urls / BEFORE).max(self.known + self.urls / BEFORE);
        let end_of = |round| begun + (self.urls - begun) * round / (TENTHS * ROUNDS);
        let rounds: Vec<(u64, Mark)> = (0..=TENTHS * ROUNDS)
            .map(|round| match round {
                0 => (begun, Mark::Begun),
                _ if round.is_multiple_of(ROUNDS) => (end_of(round), Mark::Tenth),
                _ => (end_of(round), Mark::Round),
            })
            .collect();
        for (end, mark) in rounds {
            for (until, filling) in [(end.saturating_sub(self.crawl_urls), true), (end, false)] {
                while self.known < until {
                    let batch = self.batch(until, filling);
                    self.spent.0.store(u64::try_from(thread_cpu().as_nanos()).unwrap_or(0), Relaxed);
                    let ends = |known| if known == end { mark } else { Mark::OnTheWay };
                    if !send(batch.map(|batch| Batch { mark: ends(batch.known), ..batch })) {
                        return;
                    }
                }
            }
        }
    }

    fn batch(&mut self, until: u64, filling: bool) -> Result<Batch, FrontierError> {
        let new_in_hundred = if filling { FILL_NEW } else { self.crawl_new };
        let mut pages = Vec::with_capacity(PAGES);
        while pages.len() < PAGES && self.known < until {
            let mut links = Vec::with_capacity(LINKS as usize);
            let before = self.known;
            let home = self.web.host_of(before);
            for one in 0..LINKS {
                // Spread evenly over the page.
                let new = (one + 1) * new_in_hundred / LINKS > one * new_in_hundred / LINKS;
                let link = if new && self.known < until {
                    self.known += 1;
                    self.fresh(self.known - 1)?
                } else if one % 2 == 0 && !self.lately.is_empty() {
                    let at = self.dice.below(self.lately.len() as u64) as usize;
                    self.lately[at].clone()
                } else {
                    LinkCandidate::seed(self.web.url(self.web.linked(home, before, &mut self.dice))?)
                };
                links.push(link);
            }
            pages.push(links);
        }
        Ok(Batch { pages, known: self.known, filling, mark: Mark::OnTheWay })
    }

    fn fresh(&mut self, number: u64) -> Result<LinkCandidate, FrontierError> {
        let link = LinkCandidate::seed(self.web.url(number)?);
        // A few of them are remembered for being linked again.
        if self.lately.len() == LATELY {
            self.lately.pop_front();
        }
        self.lately.push_back(link.clone());
        Ok(link)
    }
}
