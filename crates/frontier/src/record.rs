//! Keys and values as they lie on disk.
//!
//! Values are postcard behind one byte that names the version of their shape, so that a later version
//! can tell an old record from a new one. Keys sort the way they are read: retries by the moment they are due. Nothing here touches a disk; what does not
//! decode is [`FrontierError::Damaged`], never a panic.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use webloom_model::{Clock, FetchNote, FrontierError, Validators};

use crate::linkers::Linkers;
use crate::schedule::{HostFacts, Manners, after};

/// The version of all shapes below, and the first byte of every value.
const SHAPE: u8 = 1;

/// In `lives`: what became of a URL since it was first heard of. A URL that only waits has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LifeRecord {
    /// Its place in the log, which tells the rest.
    pub position: u64,
    pub stage: StageRecord,
    pub attempts: u32,
    pub score: Option<f32>,
    /// True when it was banned while it was out: it stays so once it is settled.
    pub banned: bool,
    /// The latest fetches, oldest first.
    pub fetches: Vec<FetchNote>,
    /// Pages fetched here.
    pub visits: u32,
    /// Those that were not as the one before.
    pub changes: u32,
    /// When the first was fetched.
    pub first_visit_ms: u64,
    pub next_visit_ms: Option<u64>,
    pub validators: Option<Validators>,
}

/// Where a URL stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StageRecord {
    Queued,
    Waiting { due_ms: u64 },
    Indexed { at_ms: u64 },
    NoPage { at_ms: u64 },
    Banned { at_ms: u64 },
}

/// Fetches of a URL that are remembered.
const FETCHES_MAX: usize = 8;

impl LifeRecord {
    pub fn new(position: u64) -> Self {
        Self {
            position,
            stage: StageRecord::Queued,
            attempts: 0,
            score: None,
            banned: false,
            fetches: Vec::new(),
            visits: 0,
            changes: 0,
            first_visit_ms: 0,
            next_visit_ms: None,
            validators: None,
        }
    }

    /// False when it could be told anew from the log and a score.
    pub fn tells_more_than_a_score(&self) -> bool {
        *self != Self { score: self.score, ..Self::new(self.position) }
    }

    /// Remembers a fetch.
    pub fn note(&mut self, note: FetchNote) {
        if self.fetches.len() >= FETCHES_MAX {
            self.fetches.remove(0);
        }
        self.fetches.push(note);
    }

    /// Remembers that a page was fetched, and whether it had changed.
    pub fn visited(&mut self, changed: bool, at_ms: u64) {
        if self.visits == 0 {
            self.first_visit_ms = at_ms;
        } else {
            self.changes += u32::from(changed);
        }
        self.visits = self.visits.saturating_add(1);
    }
}

/// In `later`: a URL that is to be queued at its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LaterRecord {
    pub attempt: u32,
    /// True when a page is visited again, false when a fetch is tried again.
    pub revisit: bool,
}

/// In `hosts`: what must be known of a host before its queue is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct HostRecord {
    /// Its number in the keys of `queue`.
    pub number: u32,
    pub queued: u64,
    pub waiting: u64,
    pub indexed: u64,
    pub errors: u64,
    pub crawl_delay_ms: Option<u64>,
    pub held_until_ms: Option<u64>,
    pub not_before_ms: Option<u64>,
    pub elapsed_ms: u64,
    pub trouble: u8,
    pub address: Option<IpAddr>,
    /// Its number in `rota`, while something is queued and may be fetched.
    pub rota: Option<u64>,
    pub exhausted: bool,
    pub blocked: bool,
}

/// In `domains`, when there is a budget per domain: what is counted for it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct DomainRecord {
    pub indexed: u64,
    pub linkers: Linkers,
}

/// In `meta`: sums over all, and the next numbers to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CountersRecord {
    pub known: u64,
    pub indexed: u64,
    pub no_page: u64,
    /// Hosts with something queued or waiting.
    pub hosts: u64,
    pub host_next: u32,
    pub rota_next: u64,
    /// The end of the log that counts.
    pub log_end: u64,
}

pub(crate) fn encode(record: &impl Serialize) -> Result<Vec<u8>, FrontierError> {
    // Most records are shorter.
    let mut bytes = Vec::with_capacity(64);
    bytes.push(SHAPE);
    postcard::to_extend(record, bytes).map_err(|error| FrontierError::Store(error.to_string()))
}

pub(crate) fn decode<T: DeserializeOwned>(key: &[u8], value: &[u8]) -> Result<T, FrontierError> {
    match value.split_first() {
        Some((&SHAPE, rest)) => match postcard::take_from_bytes(rest) {
            Ok((record, [])) => Ok(record),
            Ok((_, trailing)) => Err(damaged(key, format!("{} bytes too many", trailing.len()))),
            Err(error) => Err(damaged(key, error.to_string())),
        },
        Some((shape, _)) => Err(damaged(key, format!("unknown shape {shape}"))),
        None => Err(damaged(key, "empty".to_owned())),
    }
}

pub(crate) fn damaged(key: &[u8], reason: String) -> FrontierError {
    FrontierError::Damaged { key: key.escape_ascii().to_string(), reason }
}

/// `due seq`, both big-endian.
pub(crate) fn later_key(due_ms: u64, seq: u64) -> [u8; 16] {
    (u128::from(due_ms) << 64 | u128::from(seq)).to_be_bytes()
}

/// When the retry with that key is due.
pub(crate) fn later_due(key: &[u8]) -> Result<u64, FrontierError> {
    match <[u8; 16]>::try_from(key) {
        Ok(bytes) => Ok((u128::from_be_bytes(bytes) >> 64) as u64),
        Err(_) => Err(damaged(key, "not a key of the retries".to_owned())),
    }
}

/// What a `later` key names: when it is due, and the position in the log.
pub(crate) fn later_position(key: &[u8]) -> Result<u64, FrontierError> {
    match <[u8; 16]>::try_from(key) {
        Ok(bytes) => Ok(u128::from_be_bytes(bytes) as u64),
        Err(_) => Err(damaged(key, "not a key of the retries".to_owned())),
    }
}

impl HostRecord {
    /// Takes over what a host taught us.
    pub fn set_manners(&mut self, manners: &Manners, anchor: &Anchor) {
        self.crawl_delay_ms = manners.crawl_delay.map(|delay| delay.as_millis() as u64);
        self.held_until_ms = manners.held_until.map(|until| anchor.to_wall(until));
        self.elapsed_ms = manners.elapsed.as_millis() as u64;
        self.trouble = manners.trouble;
        self.errors = manners.errors;
        self.address = manners.address;
    }

    pub fn facts(&self, anchor: &Anchor) -> HostFacts {
        HostFacts {
            queued: self.queued,
            waiting: self.waiting,
            indexed: self.indexed,
            manners: Manners {
                crawl_delay: self.crawl_delay_ms.map(Duration::from_millis),
                held_until: self.held_until_ms.map(|until| anchor.to_instant(until)),
                elapsed: Duration::from_millis(self.elapsed_ms),
                trouble: self.trouble,
                errors: self.errors,
                address: self.address,
            },
            blocked: self.blocked,
        }
    }

    /// True when it counts as a host with something queued.
    pub fn counts(&self) -> bool {
        self.queued > 0 || self.waiting > 0
    }
}

/// Ties the clock that measures to the clock that is written down, once per run: what happens to the
/// time of day meanwhile moves no deadline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Anchor {
    instant: Instant,
    wall_ms: u64,
}

impl Anchor {
    pub fn new(clock: &dyn Clock) -> Self {
        let wall_ms = u64::try_from(clock.wall().as_millisecond()).unwrap_or(0);
        Self { instant: clock.now(), wall_ms }
    }

    /// The moment in milliseconds of the time of day, rounded up, so that nothing becomes due early.
    pub fn to_wall(self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.instant);
        self.wall_ms.saturating_add(since.as_micros().div_ceil(1000) as u64)
    }

    /// The same, rounded down, for asking what is due.
    pub fn to_wall_floor(self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.instant);
        self.wall_ms.saturating_add(since.as_millis() as u64)
    }

    pub fn to_instant(self, wall_ms: u64) -> Instant {
        after(self.instant, Duration::from_millis(wall_ms.saturating_sub(self.wall_ms)))
    }
}

/// Milliseconds as a time of day, for people.
pub(crate) fn timestamp(wall_ms: u64) -> Timestamp {
    i64::try_from(wall_ms)
        .ok()
        .and_then(|millisecond| Timestamp::from_millisecond(millisecond).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use webloom_model::FetchKind;

    use super::*;

    fn life() -> LifeRecord {
        let mut life = LifeRecord::new(77);
        for at_ms in 0..20 {
            life.note(FetchNote { at_ms, kind: FetchKind::Failed, status: Some(503), elapsed_ms: None });
        }
        life
    }

    #[test]
    fn a_life_comes_back_as_it_was_and_remembers_its_end() {
        let life = life();
        assert_eq!(
            life.fetches.iter().map(|note| note.at_ms).collect::<Vec<_>>(),
            (12..20).collect::<Vec<_>>()
        );
        assert_eq!(decode::<LifeRecord>(b"k", &encode(&life).unwrap()).unwrap(), life);
    }

    #[test]
    fn records_of_another_shape_are_refused() {
        let mut value = encode(&life()).unwrap();
        value[0] = 9;
        let error = decode::<LifeRecord>(b"a.example\0\x01", &value).unwrap_err().to_string();
        assert_eq!(error, r"frontier record `a.example\x00\x01` is damaged: unknown shape 9");
        assert!(decode::<CountersRecord>(b"k", &[]).is_err());
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_record_are_an_error_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let shaped: Vec<u8> = [SHAPE].into_iter().chain(bytes.iter().copied()).collect();
            let _ = decode::<LifeRecord>(b"k", &shaped);
            let _ = decode::<HostRecord>(b"k", &shaped);
            let _ = later_due(&bytes);
            let _ = later_position(&bytes);
        }

        #[test]
        fn a_cut_record_is_damaged(cut in 0_usize..60) {
            let value = encode(&life()).unwrap();
            let end = cut.min(value.len() - 1);
            let is_damaged = matches!(decode::<LifeRecord>(b"k", &value[..end]), Err(FrontierError::Damaged { .. }));
            prop_assert!(is_damaged);
        }

        #[test]
        fn later_keys_sort_by_due(a in any::<(u64, u64)>(), b in any::<(u64, u64)>()) {
            prop_assert_eq!(later_key(a.0, a.1).cmp(&later_key(b.0, b.1)), a.cmp(&b));
            prop_assert_eq!(later_due(&later_key(a.0, a.1)).unwrap(), a.0);
            prop_assert_eq!(later_position(&later_key(a.0, a.1)).unwrap(), a.1);
        }
    }
}
