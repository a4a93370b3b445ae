//! Tables by names and strings of documents: quick to look up, and with a seed that no document can know.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A table of this crate.
pub(crate) type Table<K, V> = HashMap<K, V, Seeded>;

/// Makes hashers that start from the seed of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        Self(*SEED.get_or_init(|| RandomState::new().hash_one(0)))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    #[inline]
    fn build_hasher(&self) -> Folding {
        Folding(self.0)
    }
}

/// Multiplies eight bytes at a time, and folds the upper half of the product into the lower one.
pub(crate) struct Folding(u64);

impl Folding {
    #[inline]
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for Folding {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        // The length tells strings apart that end in zeros.
        let last = rest.iter().fold(bytes.len() as u64, |last, byte| (last << 8) | u64::from(*byte));
        self.fold(last);
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.fold(u64::from(number));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.fold(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.fold(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
