//! What is remembered of a host's robots.txt: on disk as a record, in memory understood.
//!
//! In: how asking ended, with the text. Out: a [`RobotsRecord`] as bytes for a [`RobotsStore`], and the same understood
//! in a cache of bounded size. How long a record is believed depends on how asking ended; the fetcher knows the times.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::rules::RobotsRules;

/// How asking for a robots.txt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobotsClass {
    /// There is one.
    Found,
    /// There is none (4xx, or redirects without end): everything is allowed.
    Missing,
    /// It could not be had (5xx, 429, no connection): nothing is allowed until it can.
    Unreachable,
}

/// What is remembered of the robots.txt of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotsRecord {
    /// How asking ended.
    pub class: RobotsClass,
    /// The HTTP status; 0 when there was no answer.
    pub status: u16,
    /// When that was.
    pub fetched_at: Timestamp,
    /// Why it is unreachable.
    pub reason: String,
    /// The text, at most [`ROBOTS_BYTES_MAX`](super::ROBOTS_BYTES_MAX) and one byte, which tells that it was longer.
    pub body: Bytes,
}

/// First byte of a stored record. A record of another format is as good as none.
const RECORD_FORMAT: u8 = 1;

impl RobotsRecord {
    /// How asking ended, in a few words.
    pub fn summary(&self) -> String {
        match self.class {
            RobotsClass::Found => format!("answered {}, {} bytes", self.status, self.body.len()),
            RobotsClass::Missing => {
                format!("there is none (answered {}), so everything is allowed", self.status)
            }
            RobotsClass::Unreachable => format!("cannot be had: {}", self.reason),
        }
    }

    /// The record as bytes, to be kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let reason = &self.reason.as_bytes()[..self.reason.floor_char_boundary(u16::MAX.into())];
        let mut bytes = Vec::with_capacity(14 + reason.len() + self.body.len());
        bytes.push(RECORD_FORMAT);
        bytes.push(match self.class {
            RobotsClass::Found => 0,
            RobotsClass::Missing => 1,
            RobotsClass::Unreachable => 2,
        });
        bytes.extend(self.status.to_le_bytes());
        bytes.extend(self.fetched_at.as_second().to_le_bytes());
        bytes.extend((reason.len() as u16).to_le_bytes());
        bytes.extend(reason);
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The record that was kept as these bytes, if it was.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&[format, class, s0, s1], rest) = bytes.split_first_chunk()?;
        let (&seconds, rest) = rest.split_first_chunk()?;
        let (&reason_length, rest) = rest.split_first_chunk()?;
        let (reason, body) = rest.split_at_checked(u16::from_le_bytes(reason_length).into())?;
        if format != RECORD_FORMAT {
            return None;
        }
        Some(Self {
            class: match class {
                0 => RobotsClass::Found,
                1 => RobotsClass::Missing,
                2 => RobotsClass::Unreachable,
                _ => return None,
            },
            status: u16::from_le_bytes([s0, s1]),
            fetched_at: Timestamp::from_second(i64::from_le_bytes(seconds)).ok()?,
            reason: String::from_utf8(reason.to_vec()).ok()?,
            body: Bytes::copy_from_slice(body),
        })
    }
}

/// Keeps records of robots.txt files between requests and, on disk, between runs.
///
/// A record is bytes made by [`RobotsRecord::to_bytes`]. Calls come from async tasks and should be quick;
/// a store that fails may forget, which costs a request.
pub trait RobotsStore: Send + Sync + fmt::Debug {
    /// The record of an origin (`https://example.org`).
    fn get(&self, origin: &str) -> Option<Vec<u8>>;
    /// Replaces the record of an origin.
    fn put(&self, origin: &str, record: &[u8]);
}

/// Keeps records until the process ends.
#[derive(Debug, Default)]
pub struct MemoryRobotsStore {
    records: Mutex<HashMap<String, Vec<u8>>>,
}

impl RobotsStore for MemoryRobotsStore {
    fn get(&self, origin: &str) -> Option<Vec<u8>> {
        self.records.lock().get(origin).cloned()
    }

    fn put(&self, origin: &str, record: &[u8]) {
        self.records.lock().insert(origin.to_owned(), record.to_owned());
    }
}

/// A record, understood.
#[derive(Debug)]
pub(crate) struct KnownRobots {
    pub class: RobotsClass,
    pub status: u16,
    pub fetched_at: Timestamp,
    pub reason: String,
    pub rules: RobotsRules,
    /// What it takes in the cache.
    weight: usize,
}

impl KnownRobots {
    pub fn new(record: &RobotsRecord, agent: &str) -> Self {
        let rules = match record.class {
            RobotsClass::Found => RobotsRules::parse(&record.body, agent),
            RobotsClass::Missing | RobotsClass::Unreachable => RobotsRules::allow_all(),
        };
        Self {
            class: record.class,
            status: record.status,
            fetched_at: record.fetched_at,
            reason: record.reason.clone(),
            weight: rules.weight() + 256,
            rules,
        }
    }
}

/// What was understood lately, by origin. Two generations: when the young one is full it becomes the
/// old one and the old one is forgotten, unless asked for in time.
#[derive(Debug)]
pub(crate) struct RobotsCache {
    generations: Mutex<Generations>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<String, Arc<KnownRobots>>,
    young_weight: usize,
    old: HashMap<String, Arc<KnownRobots>>,
}

impl RobotsCache {
    pub fn new(bytes_max: usize) -> Self {
        Self { generations: Mutex::default(), bytes_max }
    }

    pub fn get(&self, origin: &str) -> Option<Arc<KnownRobots>> {
        let mut generations = self.generations.lock();
        if let Some(known) = generations.young.get(origin) {
            return Some(Arc::clone(known));
        }
        let known = generations.old.remove(origin)?;
        generations.insert(origin, Arc::clone(&known), self.bytes_max);
        Some(known)
    }

    pub fn put(&self, origin: &str, known: Arc<KnownRobots>) {
        let mut generations = self.generations.lock();
        generations.old.remove(origin);
        generations.insert(origin, known, self.bytes_max);
    }

    pub fn forget(&self, origin: &str) {
        let mut generations = self.generations.lock();
        generations.old.remove(origin);
        if let Some(known) = generations.young.remove(origin) {
            generations.young_weight = generations.young_weight.saturating_sub(known.weight);
        }
    }
}

impl Generations {
    fn insert(&mut self, origin: &str, known: Arc<KnownRobots>, bytes_max: usize) {
        if self.young_weight + known.weight > bytes_max / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_weight = 0;
        }
        self.young_weight += known.weight;
        if let Some(replaced) = self.young.insert(origin.to_owned(), known) {
            self.young_weight = self.young_weight.saturating_sub(replaced.weight);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn records_come_back_as_they_were_kept() {
        let record = RobotsRecord {
            class: RobotsClass::Unreachable,
            status: 503,
            fetched_at: Timestamp::from_second(1_794_744_000).unwrap(),
            reason: "answered 503".to_owned(),
            body: Bytes::from_static(b"\xff\x00text"),
        };
        let bytes = record.to_bytes();
        assert_eq!(RobotsRecord::from_bytes(&bytes), Some(record));
        for end in 0..26 {
            assert_eq!(RobotsRecord::from_bytes(&bytes[..end]), None, "{end}");
        }
        let mut newer = bytes;
        newer[0] = 2;
        assert_eq!(RobotsRecord::from_bytes(&newer), None);
    }

    #[test]
    fn the_cache_forgets_what_nobody_asks_for() {
        let record = RobotsRecord {
            class: RobotsClass::Found,
            status: 200,
            fetched_at: Timestamp::UNIX_EPOCH,
            reason: String::new(),
            body: Bytes::from(format!("Sitemap: {}", "x".repeat(720))),
        };
        let known = Arc::new(KnownRobots::new(&record, "webloom"));
        let cache = RobotsCache::new(10_000);
        for number in 0..100 {
            cache.put(&format!("http://{number}.example"), Arc::clone(&known));
            assert!(cache.get("http://0.example").is_some(), "forgot after {number}");
        }
        let generations = cache.generations.lock();
        assert!(generations.young.len() + generations.old.len() <= 10);
        assert!(generations.young_weight <= 5_000);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_record_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = RobotsRecord::from_bytes(&bytes);
        }
    }
}
