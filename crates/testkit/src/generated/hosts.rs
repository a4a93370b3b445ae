//! How pages are spread over hosts, and how long each host takes to answer.
//!
//! Evenly, which needs no memory; or as on the real web: many hosts with a page or two, few with very many, which takes eight bytes a host.

use std::sync::Arc;
use std::time::Duration;

use super::PageId;
use super::random::Random;

/// The power by which the number of hosts falls with their size, as the size of the k-th host falls with k. Sites of more than n pages are
/// n^-0.8 as many, in crawls of 1997 (Huberman and Adamic, Nature 401, 1999, give 1.65 to 1.85 for the density).
const RANK_POWER: f64 = 1.25;

/// How many pages hosts have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostSizes {
    /// All as many.
    #[default]
    Even,
    /// By a power law; every host has one page at least, and the first ones most.
    PowerLaw,
}

/// Which pages are on which host.
#[derive(Debug, Clone)]
pub(super) enum Layout {
    Even {
        hosts: u64,
        pages: u64,
    },
    /// How many pages the hosts before a host have; one more entry than hosts.
    Skewed(Arc<[u64]>),
}

impl Layout {
    pub(super) fn new(sizes: HostSizes, hosts: u64, pages: u64) -> Self {
        if sizes == HostSizes::Even {
            return Self::Even { hosts, pages };
        }
        let weight = |host: u64| ((host + 1) as f64).powf(-RANK_POWER);
        let all: f64 = (0..hosts).map(weight).sum();
        let spare = (pages - hosts) as f64;
        let mut starts = Vec::with_capacity(hosts as usize + 1);
        let mut start = 0_u64;
        for host in 0..hosts {
            starts.push(start);
            start += 1 + (spare * weight(host) / all) as u64;
        }
        // What was rounded away goes to the last host, which is small, so that nothing else moves.
        starts.push(start.max(pages));
        Self::Skewed(starts.into())
    }

    pub(super) fn hosts(&self) -> u64 {
        match self {
            Self::Even { hosts, .. } => *hosts,
            Self::Skewed(starts) => starts.len() as u64 - 1,
        }
    }

    pub(super) fn pages(&self) -> u64 {
        match self {
            Self::Even { pages, .. } => *pages,
            Self::Skewed(starts) => starts.last().copied().unwrap_or_default(),
        }
    }

    pub(super) fn pages_on(&self, host: u64) -> u64 {
        match self {
            Self::Even { hosts, pages } => (pages - host).div_ceil(*hosts),
            Self::Skewed(starts) => starts[host as usize + 1] - starts[host as usize],
        }
    }

    /// One page of all, by its place among them.
    pub(super) fn page(&self, place: u64) -> PageId {
        match self {
            Self::Even { hosts, .. } => PageId { host: place % hosts, number: place / hosts },
            Self::Skewed(starts) => {
                let host = starts.partition_point(|start| *start <= place) - 1;
                PageId { host: host as u64, number: place - starts[host] }
            }
        }
    }
}

/// How long a host takes for an answer: about `middle`, a quarter of the hosts less than half of that, a quarter more than twice, one in twenty
/// more than five times.
pub(super) fn latency(middle: Duration, random: &mut Random) -> Duration {
    // The sum of twelve even draws is nearly normal.
    let normal = (0..12).map(|_| random.below(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
    middle.mul_f64(normal.exp().min(30.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_its_place() {
        for sizes in [HostSizes::Even, HostSizes::PowerLaw] {
            for (hosts, pages) in [(1, 1), (1, 50), (7, 7), (10, 1_003), (1_000, 50_000)] {
                let layout = Layout::new(sizes, hosts, pages);
                assert_eq!((layout.hosts(), layout.pages()), (hosts, pages), "{sizes:?}");
                let counted: u64 = (0..hosts).map(|host| layout.pages_on(host)).sum();
                assert_eq!(counted, pages);
                assert!((0..hosts).all(|host| layout.pages_on(host) > 0));
                for place in 0..pages {
                    let page = layout.page(place);
                    assert!(page.number < layout.pages_on(page.host), "{sizes:?} {place} {page:?}");
                }
            }
        }
    }

    #[test]
    fn few_hosts_have_most_pages() {
        let layout = Layout::new(HostSizes::PowerLaw, 10_000, 500_000);
        let first: u64 = (0..100).map(|host| layout.pages_on(host)).sum();
        assert!(first > 250_000, "{first}");
        let small = (0..10_000).filter(|host| layout.pages_on(*host) <= 10).count();
        assert!(small > 5_000, "{small}");
    }

    #[test]
    fn latencies_spread_around_the_middle() {
        let middle = Duration::from_millis(100);
        let mut drawn: Vec<Duration> =
            (0..10_001).map(|host| latency(middle, &mut Random::of(&[host]))).collect();
        drawn.sort_unstable();
        let near = |place: usize, wanted: f64| {
            let ratio = drawn[place].as_secs_f64() / wanted;
            assert!((0.85..1.15).contains(&ratio), "{place}: {:?}", drawn[place]);
        };
        near(5_000, 0.1);
        near(2_500, 0.051);
        near(9_500, 0.518);
    }
}
