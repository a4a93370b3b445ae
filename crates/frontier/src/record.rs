//! Keys and values as they lie on disk.
//!
//! Values are postcard behind one byte that names the version of their shape, so that a later version
//! can tell an old record from a new one. Keys sort the way they are read: a host's queue by depth and
//! order of offering, retries by the moment they are due. Nothing here touches a disk; what does not
//! decode is [`FrontierError::Damaged`], never a panic.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use webloom_model::{Clock, FrontierError, LinkCandidate, PageUrl};

use crate::schedule::{Entry, HostFacts, Place, after};

/// The version of all shapes below, and the first byte of every value.
const SHAPE: u8 = 1;

/// In `urls`: what became of a URL. While it is queued or waits, the rest is told by the entry there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum UrlRecord {
    Queued { depth: u32, seq: u64 },
    Waiting { due_ms: u64, seq: u64 },
    Indexed(SettledRecord),
    NoPage(SettledRecord),
}

/// A URL that is done with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SettledRecord {
    pub depth: u32,
    pub found_on: Option<PageUrl>,
    pub attempts: u32,
    pub at_ms: u64,
}

/// In `queue` and `later`: a candidate and how often it failed. What the key says is not said again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryRecord {
    depth: u32,
    url: PageUrl,
    found_on: Option<PageUrl>,
    anchor: Option<String>,
    redirects: Vec<PageUrl>,
    attempt: u32,
}

/// The same, borrowed: candidates are written far more often than they are read.
#[derive(Serialize)]
struct EntryRecordRef<'a> {
    depth: u32,
    url: &'a str,
    found_on: Option<&'a str>,
    anchor: Option<&'a str>,
    redirects: Vec<&'a str>,
    attempt: u32,
}

/// In `hosts`: what must be known of a host before its queue is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostRecord {
    queued: u64,
    waiting: u64,
    indexed: u64,
    crawl_delay_ms: Option<u64>,
    held_until_ms: Option<u64>,
}

/// In `meta`: sums over all, and the next number to give to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CountersRecord {
    pub known: u64,
    pub indexed: u64,
    pub no_page: u64,
    pub seq_next: u64,
}

pub(crate) fn encode(record: &impl Serialize) -> Result<Vec<u8>, FrontierError> {
    postcard::to_extend(record, vec![SHAPE]).map_err(|error| FrontierError::Store(error.to_string()))
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

pub(crate) fn encode_entry(candidate: &LinkCandidate, attempt: u32) -> Result<Vec<u8>, FrontierError> {
    encode(&EntryRecordRef {
        depth: candidate.depth,
        url: candidate.url.as_str(),
        found_on: candidate.found_on.as_ref().map(PageUrl::as_str),
        anchor: candidate.anchor.as_deref(),
        redirects: candidate.redirects.iter().map(PageUrl::as_str).collect(),
        attempt,
    })
}

pub(crate) fn decode_entry(key: &[u8], value: &[u8]) -> Result<Entry, FrontierError> {
    let EntryRecord { depth, url, found_on, anchor, redirects, attempt } = decode(key, value)?;
    Ok(Entry { candidate: LinkCandidate { url, depth, found_on, anchor, redirects }, attempt })
}

pub(crate) fn damaged(key: &[u8], reason: String) -> FrontierError {
    FrontierError::Damaged { key: key.escape_ascii().to_string(), reason }
}

/// `host \0 depth seq`, both numbers big-endian. A host name holds no zero byte, so no host's entries
/// stand among another's.
pub(crate) fn queue_key(host: &str, place: Place) -> Vec<u8> {
    let mut key = Vec::with_capacity(host.len() + 13);
    key.extend_from_slice(host.as_bytes());
    key.push(0);
    key.extend_from_slice(&place.depth.to_be_bytes());
    key.extend_from_slice(&place.seq.to_be_bytes());
    key
}

/// The place a queue key names.
pub(crate) fn queue_place(key: &[u8]) -> Result<Place, FrontierError> {
    match key.split_last_chunk::<13>() {
        Some((_, &[0, d0, d1, d2, d3, s0, s1, s2, s3, s4, s5, s6, s7])) => Ok(Place {
            depth: u32::from_be_bytes([d0, d1, d2, d3]),
            seq: u64::from_be_bytes([s0, s1, s2, s3, s4, s5, s6, s7]),
        }),
        _ => Err(damaged(key, "not a key of the queue".to_owned())),
    }
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

impl HostRecord {
    pub fn new(facts: &HostFacts, anchor: &Anchor) -> Self {
        Self {
            queued: facts.queued,
            waiting: facts.waiting,
            indexed: facts.indexed,
            crawl_delay_ms: facts.crawl_delay.map(|delay| delay.as_millis() as u64),
            held_until_ms: facts.held_until.map(|until| anchor.to_wall(until)),
        }
    }

    pub fn facts(&self, anchor: &Anchor) -> HostFacts {
        HostFacts {
            queued: self.queued,
            waiting: self.waiting,
            indexed: self.indexed,
            crawl_delay: self.crawl_delay_ms.map(Duration::from_millis),
            held_until: self.held_until_ms.map(|until| anchor.to_instant(until)),
        }
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

    use super::*;

    fn candidate() -> LinkCandidate {
        let url = |text| PageUrl::parse(text).unwrap();
        LinkCandidate {
            url: url("http://a.example/x"),
            depth: 3,
            found_on: Some(url("http://b.example/")),
            anchor: Some("more – here".to_owned()),
            redirects: vec![url("http://a.example/old")],
        }
    }

    #[test]
    fn an_entry_comes_back_as_it_was() {
        for candidate in [candidate(), LinkCandidate::seed(PageUrl::parse("http://[::1]:1/").unwrap())] {
            let value = encode_entry(&candidate, 7).unwrap();
            assert_eq!(decode_entry(b"k", &value).unwrap(), Entry { candidate, attempt: 7 });
        }
    }

    #[test]
    fn records_of_another_shape_are_refused() {
        let mut value = encode_entry(&candidate(), 0).unwrap();
        value[0] = 9;
        let error = decode_entry(b"a.example\0\x01", &value).unwrap_err().to_string();
        assert_eq!(error, r"frontier record `a.example\x00\x01` is damaged: unknown shape 9");
        assert!(decode::<CountersRecord>(b"k", &[]).is_err());
    }

    proptest! {
        #[test]
        fn bytes_that_are_no_record_are_an_error_and_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let shaped: Vec<u8> = [SHAPE].into_iter().chain(bytes.iter().copied()).collect();
            let _ = decode_entry(b"k", &shaped);
            let _ = decode::<UrlRecord>(b"k", &shaped);
            let _ = decode::<HostRecord>(b"k", &shaped);
            let _ = queue_place(&bytes);
            let _ = later_due(&bytes);
        }

        #[test]
        fn a_cut_entry_is_damaged(cut in 0_usize..60) {
            let value = encode_entry(&candidate(), 1).unwrap();
            let end = cut.min(value.len() - 1);
            let is_damaged = matches!(decode_entry(b"k", &value[..end]), Err(FrontierError::Damaged { .. }));
            prop_assert!(is_damaged);
        }

        #[test]
        fn queue_keys_sort_like_places(
            a in (0_u32..400, any::<u64>()),
            b in (0_u32..400, any::<u64>()),
        ) {
            let [a, b] = [a, b].map(|(depth, seq)| Place { depth, seq });
            prop_assert_eq!(queue_key("h", a).cmp(&queue_key("h", b)), a.cmp(&b));
            prop_assert_eq!(queue_place(&queue_key("h", a)).unwrap(), a);
        }

        #[test]
        fn later_keys_sort_by_due(a in any::<(u64, u64)>(), b in any::<(u64, u64)>()) {
            prop_assert_eq!(later_key(a.0, a.1).cmp(&later_key(b.0, b.1)), a.cmp(&b));
            prop_assert_eq!(later_due(&later_key(a.0, a.1)).unwrap(), a.0);
        }
    }
}
