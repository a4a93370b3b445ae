//! A URL as the 128 bits it is known by.
//!
//! The bits are SipHash-1-3 under a secret of the directory, so nobody outside can make two URLs meet. The first 24 of them are of the site
//! alone: what lies on one site lies side by side in everything that is sorted by keys, and the links of a page, which mostly stay on its site, are
//! looked for in one place. Runs on disk know the first 96 bits: of ten million URLs of a site the chance that any two share them is about 1
//! in 10⁸ (n² / 2⁷³), and URLs of different sites do not meet sooner.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::{sip::SipHasher13, sip128};

/// Bits of a key that tell the site.
const SITE_BITS: u32 = 24;

/// What keeps the keys of one directory from being foreseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret {
    words: [u64; 2],
    /// False in directories that were begun when keys were all of a URL and nothing of its site.
    by_site: bool,
}

impl Secret {
    /// Made of these words.
    pub fn new(words: [u64; 2]) -> Self {
        Self { words, by_site: true }
    }

    /// A new one, from the randomness that the standard library gives its hash maps.
    pub fn random() -> Self {
        let draw = || RandomState::new().build_hasher().finish();
        Self::new([draw(), draw()])
    }

    /// The key of a URL in normal form.
    pub fn key(self, url: &str) -> UrlKey {
        self.key_on(self.site(authority(url)), url)
    }

    /// The keys of URLs, of which neighbours are mostly on one site.
    pub fn keys<'u>(self, urls: impl Iterator<Item = &'u str>) -> Vec<UrlKey> {
        let mut last = ("", self.site(""));
        let key = |url: &'u str| {
            let authority = authority(url);
            if authority != last.0 {
                last = (authority, self.site(authority));
            }
            self.key_on(last.1, url)
        };
        urls.map(key).collect()
    }

    /// The key of the name of a host or a domain.
    pub fn name_key(self, name: &str) -> UrlKey {
        let hash = sip128::SipHasher13::new_with_keys(self.words[0], self.words[1]).hash(name.as_bytes());
        UrlKey { high: hash.h1, low: hash.h2 }
    }

    fn key_on(self, site: u64, url: &str) -> UrlKey {
        let key = self.name_key(url);
        if self.by_site { UrlKey { high: site | key.high >> SITE_BITS, ..key } } else { key }
    }

    /// The bits of a site, where they stand in a key.
    fn site(self, authority: &str) -> u64 {
        let hash = SipHasher13::new_with_keys(self.words[0], self.words[1]).hash(authority.as_bytes());
        hash >> (u64::BITS - SITE_BITS) << (u64::BITS - SITE_BITS)
    }

    /// The words, and behind them a byte where keys know sites.
    pub fn to_bytes(self) -> Vec<u8> {
        let words = (u128::from(self.words[0]) << 64 | u128::from(self.words[1])).to_be_bytes();
        words.into_iter().chain(self.by_site.then_some(1)).collect()
    }

    /// What [`Secret::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, rest) = bytes.split_first_chunk()?;
        let number = u128::from_be_bytes(*words);
        let by_site = match rest {
            [] => false,
            [1] => true,
            _ => return None,
        };
        Some(Self { words: [(number >> 64) as u64, number as u64], by_site })
    }
}

/// Host and port of a URL in normal form. They are short: a search that is made for long texts takes longer.
fn authority(url: &str) -> &str {
    let start = ["https://", "http://"]
        .iter()
        .find(|scheme| url.starts_with(**scheme))
        .map_or(0, |scheme| scheme.len());
    let rest = &url[start..];
    rest.bytes().position(|byte| byte == b'/').map_or(rest, |slash| &rest[..slash])
}

/// The 128 bits, in the order the runs are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UrlKey {
    pub high: u64,
    pub low: u64,
}

impl UrlKey {
    /// As far as runs on disk know it.
    pub fn short(self) -> (u64, u32) {
        (self.high, (self.low >> 32) as u32)
    }

    /// What is left of a key on disk.
    pub fn from_short(high: u64, low: u32) -> Self {
        Self { high, low: u64::from(low) << 32 }
    }

    /// As a key of the store.
    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.high) << 64 | u128::from(self.low)).to_be_bytes()
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let number = u128::from_be_bytes(bytes);
        Self { high: (number >> 64) as u64, low: number as u64 }
    }
}

/// What is known of a URL besides its key, in one number: where it is in the log, and how deep it was found. With both at hand, its
/// place in a queue is known without a look at the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spot {
    pub position: u64,
    pub depth: u32,
}

const POSITION_BITS: u32 = 48;

impl Spot {
    /// Depths beyond 65,535 count as that; places in queues do not tell them apart either.
    pub fn to_number(self) -> u64 {
        u64::from(self.depth.min(0xffff)) << POSITION_BITS | (self.position & ((1 << POSITION_BITS) - 1))
    }

    pub fn from_number(number: u64) -> Self {
        Self { position: number & ((1 << POSITION_BITS) - 1), depth: (number >> POSITION_BITS) as u32 }
    }
}

impl std::hash::Hash for UrlKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.low);
    }
}

/// Takes a key for the hash that it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Already(u64);

impl Hasher for Already {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// Builds [`Already`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BuildAlready;

impl BuildHasher for BuildAlready {
    type Hasher = Already;
    fn build_hasher(&self) -> Already {
        Already::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_a_site_lie_side_by_side() {
        let secret = Secret::new([1, 2]);
        let urls = [
            "https://a.example/",
            "https://a.example/x/y?z=//b.example/",
            "http://a.example/",
            "https://b.example/",
            "https://a.example:8080/",
        ];
        let keys = secret.keys(urls.into_iter());
        assert_eq!(keys, urls.map(|url| secret.key(url)));
        let site = |key: UrlKey| key.high >> (64 - SITE_BITS);
        assert_eq!((site(keys[1]), site(keys[2])), (site(keys[0]), site(keys[0])));
        assert!(site(keys[3]) != site(keys[0]) && site(keys[4]) != site(keys[0]));
        assert!(keys.iter().all(|key| keys.iter().filter(|other| *other == key).count() == 1));
    }

    #[test]
    fn a_secret_is_kept_with_the_way_its_keys_are_made() {
        let secret = Secret::new([7, 9]);
        assert_eq!(Secret::from_bytes(&secret.to_bytes()), Some(secret));
        let older = Secret::from_bytes(&secret.to_bytes()[..16]).unwrap();
        assert_eq!(older.key("http://a.example/"), older.name_key("http://a.example/"));
        assert_eq!(Secret::from_bytes(&older.to_bytes()), Some(older));
        for broken in [&[][..], &[0; 15], &[0; 17], &[1; 18]] {
            assert_eq!(Secret::from_bytes(broken), None, "{broken:?}");
        }
    }
}
