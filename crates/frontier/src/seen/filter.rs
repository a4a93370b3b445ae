//! A filter that says "certainly new" of most new keys without touching a disk.
//!
//! A split-block Bloom filter: a key belongs to one block of eight words, one cache line, and sets one bit in each word.
//! Its size is fixed when it is made; the more keys it takes, the oftener it says "perhaps" for nothing. Saying "new" of a
//! key it has is impossible, so answers built on it stay exact. One stands before all keys.

use super::key::UrlKey;

const WORDS: usize = 8;
/// Bits per key at which a filter counts as full: 0.06 % of new keys pass for known ones.
const BITS_PER_KEY: u64 = 16;

/// See the module's own words.
#[derive(Debug)]
pub(crate) struct Filter {
    blocks: Vec<[u64; WORDS]>,
}

impl Filter {
    /// An empty filter of about so many bytes.
    pub fn with_bytes(bytes: usize) -> Self {
        Self { blocks: vec![[0; WORDS]; (bytes / (WORDS * 8)).max(1)] }
    }

    /// Keys up to which it is good.
    pub fn capacity(&self) -> u64 {
        self.bytes() as u64 * 8 / BITS_PER_KEY
    }

    /// Memory that it takes.
    pub fn bytes(&self) -> usize {
        self.blocks.len() * WORDS * 8
    }

    pub fn insert(&mut self, key: UrlKey) {
        let block = self.block_of(key);
        let block = &mut self.blocks[block];
        for (number, word) in block.iter_mut().enumerate() {
            *word |= bit(key, number);
        }
    }

    /// False only when the key was never inserted.
    pub fn may_contain(&self, key: UrlKey) -> bool {
        let block = &self.blocks[self.block_of(key)];
        let mut found = true;
        for (number, word) in block.iter().enumerate() {
            found &= word & bit(key, number) != 0;
        }
        found
    }

    /// Touches what an answer for the key is going to need; the number means nothing.
    pub fn look(&self, key: UrlKey) -> u64 {
        self.blocks[self.block_of(key)][0]
    }

    fn block_of(&self, key: UrlKey) -> usize {
        // The product is below the number of blocks times 2³², so the shift leaves a place in the table.
        let (_, low) = key.short();
        ((u64::from(low) * self.blocks.len() as u64) >> 32) as usize
    }
}

/// The bit of a key in the word of that number, by six of its bits each: none that it shares with its site or its block, and none that runs on disk do
/// not know.
fn bit(key: UrlKey, number: usize) -> u64 {
    let (high, low) = key.short();
    let bits = high & ((1 << 40) - 1) | u64::from(low) << 40;
    1 << ((bits >> (number * 6)) & 63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seen::key::Secret;

    #[test]
    fn it_never_forgets_and_seldom_errs() {
        let secret = Secret::new([1, 2]);
        let mut filter = Filter::with_bytes(64 * 1024);
        let keys = filter.capacity();
        let key = |number: u64| secret.key(&format!("http://a.example/{number}"));
        (0..keys).for_each(|number| filter.insert(key(number)));
        assert!((0..keys).all(|number| filter.may_contain(key(number))));
        let wrong = (keys..keys * 2).filter(|&number| filter.may_contain(key(number))).count() as u64;
        assert!(wrong * 500 < keys, "{wrong} of {keys}");
    }
}
