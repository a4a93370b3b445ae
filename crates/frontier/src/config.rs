//! What a frontier can be told: how polite, how patient, how far.

use std::time::Duration;

use webloom_model::FrontierLimits;

/// Politeness, patience and budgets of one crawl.
///
/// A frontier does not store these: a directory may be reopened with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontierConfig {
    /// From the end of a request to a host to the next one, at least.
    pub host_delay: Duration,
    /// The same for all hosts of one pay-level domain together, which then also have at most one
    /// unfinished request between them. Zero leaves the hosts of a domain independent.
    pub domain_delay: Duration,
    /// The same for all hosts at one address together. Zero leaves them independent.
    pub ip_delay: Duration,
    /// A host rests at least so many times as long as its last answer took, unless `host_delay` is zero.
    pub slow_factor: u32,
    /// The longest delay that comes of slow answers, and of the doubling after failures.
    pub slow_delay_max: Duration,
    /// The longest crawl delay that a host's robots.txt may ask for; more is cut to this.
    pub crawl_delay_max: Duration,
    /// The longest that a host or a URL is put off, whether the server or our own doubling wishes it.
    pub retry_after_max: Duration,
    /// Pause after the first failure of a URL. Doubles with each further one.
    pub retry_base: Duration,
    /// How long a lease holds without being settled.
    pub lease_ttl: Duration,
    /// Links followed from a seed, at most.
    pub depth_max: Option<u32>,
    /// Pages of the whole crawl, at most.
    pub pages_max: Option<u64>,
    /// Pages of one host, at most.
    pub pages_per_host_max: Option<u64>,
    /// Pages of one pay-level domain, by how many others link to it.
    pub domain_budget: Option<DomainBudget>,
    /// Queue entries of one host that are held in memory; the rest waits on disk.
    pub heads_per_host: usize,
    /// Hosts that are held in memory and take turns; when there are more, the rest waits on disk.
    pub hosts_active_max: usize,
    /// Leases after which a host makes room for one that waits on disk.
    pub turns_max: u32,
    /// A host that cannot be asked for so long makes room, too.
    pub long_pause: Duration,
    /// How long the connection of a request is kept for the next one to its host. A host whose delay is over by then has up to four pages
    /// in a row before others that wait; after that, or when it is zero, it stands behind them.
    pub warm: Duration,
    /// Known URLs that are held in memory before they are written out.
    pub seen_table_keys: usize,
    /// The filter in front of the known URLs on disk, at its largest.
    pub seen_filter_bytes: usize,
    /// Changes of the queues that are held in memory before they are written out.
    pub queue_table_entries: usize,
    /// When pages are visited again.
    pub recrawl: Recrawl,
}

/// Pages of a pay-level domain: many for one that many others link to, few for one that only links to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DomainBudget {
    /// For every domain.
    pub base: u64,
    /// For each other domain that links to it, in addition.
    pub per_linking_domain: u64,
}

impl DomainBudget {
    /// Pages for a domain that so many others link to.
    pub fn pages(self, linking_domains: u64) -> u64 {
        self.base.saturating_add(self.per_linking_domain.saturating_mul(linking_domains))
    }
}

/// When pages are visited again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recrawl {
    /// Never.
    #[default]
    Off,
    /// This long after each visit.
    Every(Duration),
    /// As often as a page seems to change, within these bounds.
    Adaptive {
        /// Not more often than this.
        least: Duration,
        /// Not less often than this.
        most: Duration,
    },
}

impl Recrawl {
    /// How long after a visit the next one is due. `visits` counts those since the page was first seen, `changes` those that
    /// found it changed, `age` is the time since the first.
    pub(crate) fn pause(self, visits: u32, changes: u32, age: Duration) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Every(pause) => Some(pause),
            Self::Adaptive { least, most } => {
                if visits == 0 {
                    return Some(least);
                }
                // Pages change like clocks tick at random: after n visits that found x changes in a time t, a change comes
                // about every t / (x + 1/2). The half keeps a page that never changed from being forgotten.
                let twice = changes.saturating_mul(2).saturating_add(1);
                let mean = age.saturating_mul(2) / twice;
                Some(mean.clamp(least, most.max(least)))
            }
        }
    }
}

impl Default for FrontierConfig {
    fn default() -> Self {
        Self {
            host_delay: Duration::from_secs(1),
            domain_delay: Duration::from_secs(1),
            ip_delay: Duration::ZERO,
            slow_factor: 2,
            slow_delay_max: Duration::from_secs(60),
            crawl_delay_max: Duration::from_secs(30),
            retry_after_max: Duration::from_secs(60 * 60),
            retry_base: Duration::from_secs(30),
            lease_ttl: Duration::from_secs(10 * 60),
            depth_max: None,
            pages_max: None,
            pages_per_host_max: None,
            domain_budget: None,
            heads_per_host: 64,
            hosts_active_max: 16 * 1024,
            turns_max: 64,
            long_pause: Duration::from_secs(60),
            warm: Duration::from_secs(5),
            // As many as fit the room that a hash map takes for half as many and one more.
            seen_table_keys: (7 << 19) / 8,
            seen_filter_bytes: 128 << 20,
            queue_table_entries: 1 << 20,
            recrawl: Recrawl::Off,
        }
    }
}

impl FrontierConfig {
    /// What of it can be changed while a crawl runs.
    pub fn limits(&self) -> FrontierLimits {
        FrontierLimits {
            host_delay: self.host_delay,
            domain_delay: self.domain_delay,
            ip_delay: self.ip_delay,
            depth_max: self.depth_max,
            pages_max: self.pages_max,
            pages_per_host_max: self.pages_per_host_max,
        }
    }

    /// The same with other limits.
    pub fn with_limits(&self, limits: &FrontierLimits) -> Self {
        let FrontierLimits { host_delay, domain_delay, ip_delay, depth_max, pages_max, pages_per_host_max } =
            *limits;
        Self { host_delay, domain_delay, ip_delay, depth_max, pages_max, pages_per_host_max, ..self.clone() }
    }

    /// The pause before a URL is tried again: `wish`, or one that doubles with each attempt.
    ///
    /// The doubling pause is stretched by up to a quarter, always the same for a URL and attempt, so
    /// that what failed together does not come back together.
    pub(crate) fn retry_pause(&self, url: &str, attempt: u32, wish: Option<Duration>) -> Duration {
        let pause = wish.unwrap_or_else(|| {
            let doubled = self.retry_base.saturating_mul(1_u32.checked_shl(attempt).unwrap_or(u32::MAX));
            let stretch = fnv1a(url.as_bytes(), attempt) % 256;
            // 1024 steps make a whole pause, so 256 of them make a quarter.
            doubled.saturating_add((doubled / 1024).saturating_mul(stretch))
        });
        pause.min(self.retry_after_max)
    }
}

/// FNV-1a, folded to 32 bits: small, and the same on every machine and in every version.
fn fnv1a(bytes: &[u8], salt: u32) -> u32 {
    let hash = bytes.iter().chain(&salt.to_le_bytes()).fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap_and_never_shrink_below_the_base() {
        let config = FrontierConfig::default();
        for attempt in 0..40 {
            let pause = config.retry_pause("http://a.example/", attempt, None);
            let plain = config.retry_base.saturating_mul(1_u32.checked_shl(attempt).unwrap_or(u32::MAX));
            assert!(pause >= plain.min(config.retry_after_max), "attempt {attempt}: {pause:?}");
            assert!(pause <= (plain * 5 / 4).min(config.retry_after_max), "attempt {attempt}: {pause:?}");
            assert_eq!(pause, config.retry_pause("http://a.example/", attempt, None));
        }
    }

    #[test]
    fn pages_that_change_are_visited_oftener() {
        const HOUR: Duration = Duration::from_secs(3600);
        let adaptive = Recrawl::Adaptive { least: HOUR, most: HOUR * 24 * 30 };
        let pause =
            |visits, changes, hours| adaptive.pause(visits, changes, HOUR * hours).unwrap().as_secs() / 3600;
        assert_eq!(pause(0, 0, 0), 1, "a new page is looked at again soon");
        assert_eq!(pause(1, 0, 1), 2, "then after doubling pauses, while it stays the same");
        assert_eq!(pause(2, 0, 3), 6);
        assert_eq!(pause(10, 10, 10), 1, "a page that changes each time stays at the least");
        assert_eq!(pause(20, 2, 1000), 400);
        assert_eq!(pause(9, 0, 100_000), 24 * 30);
        assert_eq!(Recrawl::Off.pause(1, 1, HOUR), None);
        assert_eq!(Recrawl::Every(HOUR).pause(1, 1, HOUR * 9), Some(HOUR));
    }

    #[test]
    fn a_wish_is_capped() {
        let config = FrontierConfig::default();
        let wish = |seconds| config.retry_pause("http://a.example/", 9, Some(Duration::from_secs(seconds)));
        assert_eq!(wish(5), Duration::from_secs(5));
        assert_eq!(wish(u64::MAX), config.retry_after_max);
    }
}
