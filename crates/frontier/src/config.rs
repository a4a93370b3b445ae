//! What a frontier can be told: how polite, how patient, how far.

use std::time::Duration;

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
    /// Queue entries of one host that are held in memory; the rest waits on disk.
    pub heads_per_host: usize,
}

impl Default for FrontierConfig {
    fn default() -> Self {
        Self {
            host_delay: Duration::from_secs(1),
            domain_delay: Duration::from_secs(1),
            crawl_delay_max: Duration::from_secs(30),
            retry_after_max: Duration::from_secs(60 * 60),
            retry_base: Duration::from_secs(30),
            lease_ttl: Duration::from_secs(10 * 60),
            depth_max: None,
            pages_max: None,
            pages_per_host_max: None,
            heads_per_host: 64,
        }
    }
}

impl FrontierConfig {
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
    fn a_wish_is_capped() {
        let config = FrontierConfig::default();
        let wish = |seconds| config.retry_pause("http://a.example/", 9, Some(Duration::from_secs(seconds)));
        assert_eq!(wish(5), Duration::from_secs(5));
        assert_eq!(wish(u64::MAX), config.retry_after_max);
    }
}
