//! Hashes numbers that we gave out ourselves: nobody else can choose them, so they need no secret.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

/// A map by numbers of ours.
pub(crate) type NumberMap<K, V> = HashMap<K, V, BuildNumber>;

/// Spreads a number over all bits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Number(u64);

impl Hasher for Number {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Builds [`Number`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BuildNumber;

impl BuildHasher for BuildNumber {
    type Hasher = Number;

    fn build_hasher(&self) -> Number {
        Number::default()
    }
}
