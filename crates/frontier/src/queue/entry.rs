//! One entry of a queue in 16 bytes: host, rank, position, and what is to be said of it.
//!
//! Written as one number, most important first, so that entries sort by the order in which a host's URLs are fetched. The lowest 16
//! bits are no part of the place: they tell how often the URL failed, or that it is no longer queued there.

use crate::schedule::Place;

/// Bits of a position; the log would have to be 256 TiB long to need more.
const POSITION_BITS: u32 = 48;
const POSITION_MAX: u64 = (1 << POSITION_BITS) - 1;
const NOTE_BITS: u32 = 16;
/// The note of an entry that was taken out.
const REMOVED: u16 = u16::MAX;

/// See the module's own words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry(pub u128);

impl Entry {
    /// Bytes on disk.
    pub const BYTES: usize = 16;

    /// An entry that is queued, after so many failures.
    pub fn queued(host: u32, place: Place, attempt: u32) -> Self {
        let note = u16::try_from(attempt).unwrap_or(u16::MAX).min(REMOVED - 1);
        Self(place_bits(host, place) | u128::from(note))
    }

    /// Says that nothing is queued there any more.
    pub fn removed(host: u32, place: Place) -> Self {
        Self(place_bits(host, place) | u128::from(REMOVED))
    }

    /// The least entry at that place or behind it.
    pub fn first_at(host: u32, place: Place) -> Self {
        Self(place_bits(host, place))
    }

    /// Where it stands, whatever is said of it.
    pub fn spot(self) -> u128 {
        self.0 >> NOTE_BITS
    }

    #[cfg(test)]
    pub fn host(self) -> u32 {
        (self.0 >> 96) as u32
    }

    pub fn place(self) -> Place {
        Place { rank: (self.0 >> 64) as u32, position: self.spot() as u64 & POSITION_MAX }
    }

    pub fn is_removed(self) -> bool {
        self.0 as u16 == REMOVED
    }

    /// How often the URL failed.
    pub fn attempt(self) -> u32 {
        u32::from(self.0 as u16)
    }

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        self.0.to_le_bytes()
    }

    /// The entry of that number in bytes that hold nothing but entries.
    pub fn parse_at(bytes: &[u8], number: usize) -> Option<Self> {
        let at = number * Self::BYTES;
        let bytes = bytes.get(at..at + Self::BYTES)?;
        Some(Self(u128::from_le_bytes(bytes.try_into().ok()?)))
    }

    /// All of them.
    pub fn parse_all(bytes: &[u8]) -> impl Iterator<Item = Self> + '_ {
        (0..bytes.len() / Self::BYTES).filter_map(|number| Self::parse_at(bytes, number))
    }
}

fn place_bits(host: u32, place: Place) -> u128 {
    let position = place.position.min(POSITION_MAX);
    u128::from(host) << 96 | u128::from(place.rank) << 64 | u128::from(position) << NOTE_BITS
}

/// Sorts what happened, in the order it happened, by place; of several words on a place the last one counts.
pub(crate) fn in_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by_key(|entry| entry.spot());
    // The later one of two neighbours is the one to be dropped, so the earlier one takes over its words.
    entries.dedup_by(|later, earlier| {
        let same = later.spot() == earlier.spot();
        if same {
            *earlier = *later;
        }
        same
    });
    entries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_come_back_and_sort_like_places(
            a in (any::<u32>(), 0..=POSITION_MAX, 0_u32..60_000),
            b in (any::<u32>(), 0..=POSITION_MAX),
            hosts in any::<(u32, u32)>(),
        ) {
            let place = Place { rank: a.0, position: a.1 };
            let other = Place { rank: b.0, position: b.1 };
            let entry = Entry::queued(hosts.0, place, a.2);
            prop_assert_eq!((entry.host(), entry.place(), entry.attempt()), (hosts.0, place, a.2));
            prop_assert!(!entry.is_removed() && Entry::removed(hosts.0, place).is_removed());
            prop_assert_eq!(Entry::parse_all(&entry.to_bytes()).next(), Some(entry));
            let (entry, other_entry) = (Entry::first_at(hosts.0, place), Entry::first_at(hosts.1, other));
            prop_assert_eq!(entry.cmp(&other_entry), (hosts.0, place).cmp(&(hosts.1, other)));
        }
    }

    #[test]
    fn the_last_word_counts() {
        let place = |position| Place { rank: 1, position };
        let words = vec![
            Entry::queued(1, place(9), 0),
            Entry::removed(1, place(5)),
            Entry::queued(1, place(5), 2),
            Entry::removed(1, place(9)),
            Entry::queued(0, place(7), 0),
        ];
        let expected =
            vec![Entry::queued(0, place(7), 0), Entry::queued(1, place(5), 2), Entry::removed(1, place(9))];
        assert_eq!(in_order(words), expected);
        assert_eq!(Entry::queued(1, place(1), u32::MAX).attempt(), u32::from(REMOVED) - 1);
        assert!(Entry::first_at(1, Place::LAST) < Entry::first_at(2, Place::FIRST));
    }
}
