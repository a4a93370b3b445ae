//! How fast bytes may come: one bucket for the whole crawl, one for each host. The crawl's rate can be changed at any time, and
//! transfers under way heed it.
//!
//! In: bytes that have arrived. Out: how long to wait before more are read, so that on the average no more than the
//! set rate crosses the wire. A reader that waits lets the sender's window fill up, which is what slows it down. Start at
//! [`Bandwidth::lanes`].

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// What may come at once before anybody has to wait, in seconds' worth of the rate.
const BURST: f64 = 0.25;

/// Hosts whose buckets are remembered before those no longer in use are looked for.
const HOSTS_MAX: usize = 4096;

/// The caps of one crawl.
#[derive(Debug)]
pub(crate) struct Bandwidth {
    crawl: Arc<Bucket>,
    host_rate: Option<u64>,
    hosts: Mutex<HashMap<String, Weak<Bucket>>>,
}

impl Bandwidth {
    /// Caps in bytes per second; nothing means none.
    pub fn new(crawl_rate: Option<u64>, host_rate: Option<u64>) -> Self {
        Self { crawl: Arc::new(Bucket::new(crawl_rate)), host_rate, hosts: Mutex::default() }
    }

    /// Puts another cap on the whole crawl, or takes it away.
    pub fn set_crawl_rate(&self, rate: Option<u64>) {
        self.crawl.set_rate(rate);
    }

    /// The buckets that bytes from the host go through.
    pub fn lanes(&self, host: &str) -> Lanes {
        let of_host = self.host_rate.map(|rate| {
            let mut hosts = self.hosts.lock();
            if hosts.len() >= HOSTS_MAX {
                hosts.retain(|_, bucket| bucket.strong_count() > 0);
            }
            hosts.get(host).and_then(Weak::upgrade).unwrap_or_else(|| {
                let bucket = Arc::new(Bucket::new(Some(rate)));
                hosts.insert(host.to_owned(), Arc::downgrade(&bucket));
                bucket
            })
        });
        Lanes([Some(self.crawl.clone()), of_host])
    }
}

/// The buckets of one transfer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lanes([Option<Arc<Bucket>>; 2]);

impl Lanes {
    /// Books bytes that have come; gives how long to wait before reading on.
    pub fn book(&self, bytes: u64) -> Duration {
        let now = Instant::now();
        self.0.iter().flatten().map(|bucket| bucket.book(bytes, now)).max().unwrap_or_default()
    }
}

/// A token bucket that may go into debt: a frame is as long as it is, and whoever took it waits.
#[derive(Debug)]
struct Bucket(Mutex<Level>);

#[derive(Debug)]
struct Level {
    /// Bytes per second; nothing when there is no cap.
    rate: Option<f64>,
    tokens: f64,
    at: Instant,
}

impl Level {
    fn new(rate: Option<u64>) -> Self {
        let rate = rate.map(|rate| (rate as f64).max(1.0));
        Self { rate, tokens: rate.unwrap_or_default() * BURST, at: Instant::now() }
    }
}

impl Bucket {
    fn new(rate: Option<u64>) -> Self {
        Self(Mutex::new(Level::new(rate)))
    }

    /// Debts are forgiven with the rate they were made at.
    fn set_rate(&self, rate: Option<u64>) {
        let mut level = self.0.lock();
        let new = Level::new(rate);
        if level.rate != new.rate {
            *level = new;
        }
    }

    fn book(&self, bytes: u64, now: Instant) -> Duration {
        let level = &mut *self.0.lock();
        let Some(rate) = level.rate else { return Duration::ZERO };
        let earned = now.saturating_duration_since(level.at).as_secs_f64() * rate;
        level.tokens = (level.tokens + earned).min(rate * BURST) - bytes as f64;
        level.at = level.at.max(now);
        if level.tokens >= 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(-level.tokens / rate).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_is_the_rate() {
        let bucket = Bucket::new(Some(1000));
        let start = Instant::now();
        // A burst is free, then every byte has its price.
        assert_eq!(bucket.book(250, start), Duration::ZERO);
        assert!(bucket.book(1000, start) > Duration::from_millis(990));
        // Debts of others are one's own: they share the bucket.
        assert!(bucket.book(1000, start) > Duration::from_millis(1990));
        let later = start + Duration::from_secs(2);
        assert!(bucket.book(0, later) < Duration::from_millis(10));
        // Idle time is not saved up.
        assert!(bucket.book(1250, later + Duration::from_secs(100)) > Duration::from_millis(990));
    }

    #[test]
    fn the_rate_of_the_crawl_changes_under_way() {
        let bandwidth = Bandwidth::new(None, None);
        let lanes = bandwidth.lanes("a");
        assert_eq!(lanes.book(1 << 40), Duration::ZERO);
        bandwidth.set_crawl_rate(Some(100));
        assert!(lanes.book(1000) > Duration::from_secs(5));
        // Setting what is set changes nothing, debts neither.
        bandwidth.set_crawl_rate(Some(100));
        assert!(lanes.book(0) > Duration::from_secs(5));
        bandwidth.set_crawl_rate(None);
        assert_eq!(lanes.book(1 << 40), Duration::ZERO);
    }

    #[test]
    fn hosts_have_lanes_of_their_own() {
        let bandwidth = Bandwidth::new(None, Some(100));
        let (a, b) = (bandwidth.lanes("a"), bandwidth.lanes("b"));
        assert!(a.book(1000) > Duration::from_secs(5));
        assert!(bandwidth.lanes("a").book(0) > Duration::from_secs(5));
        assert_eq!(b.book(1), Duration::ZERO);
        assert_eq!(Bandwidth::new(None, None).lanes("a").book(u64::MAX), Duration::ZERO);
    }

    #[test]
    fn forgotten_hosts_take_no_room() {
        let bandwidth = Bandwidth::new(None, Some(100));
        for number in 0..3 * HOSTS_MAX {
            bandwidth.lanes(&number.to_string());
        }
        assert!(bandwidth.hosts.lock().len() <= HOSTS_MAX);
    }
}
