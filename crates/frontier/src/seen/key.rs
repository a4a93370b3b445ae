//! A URL as the 128 bits it is known by.
//!
//! The bits are SipHash-1-3 under a secret of the directory, so nobody outside can make two URLs meet. Among a billion
//! URLs the chance that any two share their bits is about 1 in 10²¹ (n² / 2¹²⁹): a URL taken for another one is less
//! likely than a disk that lies.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip128::SipHasher13;

/// What keeps the keys of one directory from being foreseen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Secret(pub [u64; 2]);

impl Secret {
    /// A new one, from the randomness that the standard library gives its hash maps.
    pub fn random() -> Self {
        let draw = || RandomState::new().build_hasher().finish();
        Self([draw(), draw()])
    }

    /// The key of a URL.
    pub fn key(self, url: &str) -> UrlKey {
        let hash = SipHasher13::new_with_keys(self.0[0], self.0[1]).hash(url.as_bytes());
        UrlKey { high: hash.h1, low: hash.h2 }
    }

    pub fn to_bytes(self) -> [u8; 16] {
        (u128::from(self.0[0]) << 64 | u128::from(self.0[1])).to_be_bytes()
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let number = u128::from_be_bytes(bytes);
        Self([(number >> 64) as u64, number as u64])
    }
}

/// The 128 bits, in the order the runs are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UrlKey {
    pub high: u64,
    pub low: u64,
}

impl UrlKey {
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
