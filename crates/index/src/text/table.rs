//! Words, numbered as they come.
//!
//! In: words as the [`Cutter`](super::words::Cutter) gives them. Out: for each a number, the same for the same word, and at the end the order of
//! their spelling. Most words fit their head, and for those a lookup compares two numbers.

use super::words::{WordBytes, spell};

/// The words of one segment.
pub(super) struct WordTable {
    heads: Vec<u128>,
    /// Where the tail of each word ends; it starts where the one before ends.
    tail_ends: Vec<usize>,
    tails: Vec<u8>,
    /// Half of a hash, and the number plus one; zero is empty. Never more than half full.
    slots: Vec<u64>,
    /// Chosen by chance, so that no page can choose its collisions.
    keys: [u64; 2],
}

const SLOTS_MIN: usize = 1 << 12;

impl WordTable {
    pub(super) fn new() -> Self {
        Self {
            heads: Vec::new(),
            tail_ends: Vec::new(),
            tails: Vec::new(),
            slots: vec![0; SLOTS_MIN],
            keys: [rand::random(), rand::random()],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.heads.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.heads.len() * 48 + self.tails.len() + self.slots.len() * size_of::<u64>()
    }

    pub(super) fn clear(&mut self) {
        self.heads.clear();
        self.tail_ends.clear();
        self.tails.clear();
        self.slots.fill(0);
    }

    fn tail(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.tail_ends[number - 1] };
        &self.tails[start..self.tail_ends[number]]
    }

    fn hash(&self, head: u128, tail: &[u8]) -> u64 {
        let [one, other] = self.keys;
        let mut hash = fold((head >> 64) as u64 ^ one, head as u64 ^ other);
        for piece in tail.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            hash = fold(hash ^ u64::from_le_bytes(bytes), one);
        }
        hash
    }

    /// The number of a word.
    #[inline]
    pub(super) fn number(&mut self, head: u128, tail: &[u8]) -> u32 {
        let hash = self.hash(head, tail);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                return self.add(head, tail, hash, slot);
            }
            if entry >> 32 == hash >> 32 {
                let number = (entry as u32).wrapping_sub(1);
                // A head that is not full is the whole word.
                if self.heads[number as usize] == head && (head as u8 == 0 || self.tail(number) == tail) {
                    return number;
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    fn add(&mut self, head: u128, tail: &[u8], hash: u64, slot: usize) -> u32 {
        let number = self.heads.len() as u32;
        self.heads.push(head);
        self.tails.extend_from_slice(tail);
        self.tail_ends.push(self.tails.len());
        self.slots[slot] = hash >> 32 << 32 | u64::from(number.wrapping_add(1));
        if self.heads.len() * 2 > self.slots.len() {
            self.grow();
        }
        number
    }

    fn grow(&mut self) {
        let mut slots = vec![0; self.slots.len() * 4];
        let mask = slots.len() - 1;
        for number in 0..self.heads.len() as u32 {
            let hash = self.hash(self.heads[number as usize], self.tail(number));
            let mut slot = hash as usize & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = hash >> 32 << 32 | u64::from(number.wrapping_add(1));
        }
        self.slots = slots;
    }

    /// The numbers of all words in the order of their spelling.
    pub(super) fn sorted(&self) -> Vec<u32> {
        let mut order: Vec<(u128, u32)> =
            self.heads.iter().zip(0..).map(|(head, number)| (*head, number)).collect();
        order.sort_unstable_by(|(one, number), (other, another)| {
            one.cmp(other).then_with(|| self.tail(*number).cmp(self.tail(*another)))
        });
        order.into_iter().map(|(_, number)| number).collect()
    }

    pub(super) fn spelling(&self) -> Spelling<'_> {
        Spelling { table: self, bytes: [0; size_of::<WordBytes>()] }
    }
}

/// Spells words.
pub(super) struct Spelling<'a> {
    table: &'a WordTable,
    bytes: WordBytes,
}

impl Spelling<'_> {
    pub(super) fn of(&mut self, number: u32) -> &[u8] {
        let length = spell(self.table.heads[number as usize], self.table.tail(number), &mut self.bytes);
        &self.bytes[..length]
    }
}

/// Both halves of a product, so that every bit of both numbers counts.
fn fold(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::words::HEAD_BYTES;

    fn number(table: &mut WordTable, word: &str) -> u32 {
        let mut head = [0; HEAD_BYTES];
        let length = word.len().min(HEAD_BYTES);
        head[..length].copy_from_slice(&word.as_bytes()[..length]);
        table.number(u128::from_be_bytes(head), word.as_bytes().get(HEAD_BYTES..).unwrap_or_default())
    }

    proptest! {
        #[test]
        fn words_are_numbered_and_sorted(
            words in proptest::collection::vec("[ab]{1,3}|[a-f]{14,18}|a{15,20}|[a-zé]{1,60}", 0..300),
        ) {
            let mut table = WordTable::new();
            for _ in 0..2 {
                let numbers: Vec<u32> = words.iter().map(|word| number(&mut table, word)).collect();
                let mut spelling = table.spelling();
                for (word, number) in words.iter().zip(numbers) {
                    prop_assert_eq!(spelling.of(number), word.as_bytes());
                }
                let sorted: Vec<Vec<u8>> =
                    table.sorted().into_iter().map(|number| spelling.of(number).to_vec()).collect();
                let expected: std::collections::BTreeSet<Vec<u8>> =
                    words.iter().map(|word| word.clone().into_bytes()).collect();
                prop_assert_eq!(sorted, expected.into_iter().collect::<Vec<_>>());
                table.clear();
            }
        }

        #[test]
        fn a_table_grows(words in proptest::collection::hash_set("[a-z]{4,20}", 4_000..6_000)) {
            let mut table = WordTable::new();
            let numbers: Vec<u32> = words.iter().map(|word| number(&mut table, word)).collect();
            prop_assert_eq!(table.len(), words.len());
            for (word, known) in words.iter().zip(numbers) {
                prop_assert_eq!(number(&mut table, word), known);
            }
        }
    }
}
