//! Blocks of rows, bit-packed.
//!
//! In: up to [`BLOCK_ROWS`] rows of four numbers. Out: bytes, from which every single value can be had
//! by itself ([`Block::row`], [`Block::compare`]), so a point lookup unpacks nothing but what it looks at.
//!
//! Each column is stored as the distance from its minimum, in as many bits as the largest distance
//! needs. Numbers are ranks of hashes, so a column with few distinct values still spans a wide range
//! (predicates do this all the time): such a column is stored as a small dictionary and indexes into it
//! when that is smaller. Layout of a block: four column headers of eight bytes (minimum `u32`, bits per
//! stored value `u8`, bits per dictionary entry `u8`, dictionary entries `u16`), then per column the
//! packed dictionary and the packed values, each padded to a byte.

use std::cmp::Ordering;

/// Rows in a full block. Only the last block of an order may have fewer.
pub(crate) const BLOCK_ROWS: usize = 256;

/// Bytes that must follow the last block, because values are read eight bytes at a time.
pub(crate) const PADDING: usize = 8;

const HEADER_BYTES: usize = 32;
/// A dictionary with more entries than this saves nothing over 256 rows.
const DICTIONARY_ENTRIES_MAX: usize = 128;
const TABLE_SLOTS: usize = 512;
const EMPTY: u32 = u32::MAX;

/// A row of an order: local term numbers in key order.
pub(crate) type Row = [u32; 4];

fn bits_for(value: u32) -> u32 {
    32 - value.leading_zeros()
}

fn packed_bytes(values: usize, width: u32) -> usize {
    (values * width as usize).div_ceil(8)
}

/// Packs blocks; keeps its scratch space between them.
pub(crate) struct Packer {
    column: Vec<u32>,
    dictionary: Vec<u32>,
    slots: Box<[u32; TABLE_SLOTS]>,
    indexes: Box<[u32; TABLE_SLOTS]>,
}

impl Packer {
    pub(crate) fn new() -> Self {
        Self {
            column: Vec::with_capacity(BLOCK_ROWS),
            dictionary: Vec::with_capacity(DICTIONARY_ENTRIES_MAX),
            slots: Box::new([EMPTY; TABLE_SLOTS]),
            indexes: Box::new([0; TABLE_SLOTS]),
        }
    }

    /// Appends the block of these rows (at least one, at most [`BLOCK_ROWS`]).
    pub(crate) fn pack(&mut self, rows: &[Row], out: &mut Vec<u8>) {
        debug_assert!(!rows.is_empty() && rows.len() <= BLOCK_ROWS, "a block has 1 to {BLOCK_ROWS} rows");
        let header = out.len();
        out.resize(header + HEADER_BYTES, 0);
        for column in 0..4 {
            let (mut minimum, mut maximum) = (u32::MAX, 0);
            self.column.clear();
            for row in rows {
                minimum = minimum.min(row[column]);
                maximum = maximum.max(row[column]);
                self.column.push(row[column]);
            }
            let plain_width = bits_for(maximum - minimum);
            let (mut width, mut entry_width, mut entries) = (plain_width, 0, 0);
            if plain_width > 2 && self.collect_dictionary() {
                let index_width = bits_for(self.dictionary.len() as u32 - 1);
                let with_dictionary =
                    packed_bytes(self.dictionary.len(), plain_width) + packed_bytes(rows.len(), index_width);
                if with_dictionary < packed_bytes(rows.len(), plain_width) {
                    (width, entry_width, entries) = (index_width, plain_width, self.dictionary.len());
                }
            }
            if entries > 0 {
                pack_values(self.dictionary.iter().map(|value| value - minimum), entry_width, out);
                let (slots, indexes) = (&self.slots, &self.indexes);
                pack_values(self.column.iter().map(|&value| indexes[find_slot(slots, value)]), width, out);
            } else {
                pack_values(self.column.iter().map(|value| value - minimum), width, out);
            }
            let at = header + column * 8;
            out[at..at + 4].copy_from_slice(&minimum.to_le_bytes());
            out[at + 4] = width as u8;
            out[at + 5] = entry_width as u8;
            out[at + 6..at + 8].copy_from_slice(&(entries as u16).to_le_bytes());
        }
    }

    /// Gathers the distinct values of the column, sorted, and where each is; false when there are too many.
    fn collect_dictionary(&mut self) -> bool {
        self.slots.fill(EMPTY);
        self.dictionary.clear();
        for &value in &self.column {
            // The one number that marks an empty slot; no segment is large enough to use it.
            if value == EMPTY {
                return false;
            }
            let slot = find_slot(&self.slots, value);
            if self.slots[slot] == EMPTY {
                if self.dictionary.len() == DICTIONARY_ENTRIES_MAX {
                    return false;
                }
                self.slots[slot] = value;
                self.dictionary.push(value);
            }
        }
        self.dictionary.sort_unstable();
        for (index, &value) in self.dictionary.iter().enumerate() {
            self.indexes[find_slot(&self.slots, value)] = index as u32;
        }
        true
    }
}

/// The slot that holds the value, or the empty one where it belongs. The table is never more than a quarter full.
fn find_slot(slots: &[u32; TABLE_SLOTS], value: u32) -> usize {
    let mut slot = (value.wrapping_mul(0x9E37_79B1) >> 23) as usize % TABLE_SLOTS;
    while slots[slot] != EMPTY && slots[slot] != value {
        slot = (slot + 1) % TABLE_SLOTS;
    }
    slot
}

fn pack_values(values: impl Iterator<Item = u32>, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let (mut pending, mut filled) = (0u64, 0u32);
    for value in values {
        pending |= u64::from(value) << filled;
        filled += width;
        while filled >= 32 {
            out.extend_from_slice(&(pending as u32).to_le_bytes());
            pending >>= 32;
            filled -= 32;
        }
    }
    out.extend_from_slice(&pending.to_le_bytes()[..filled.div_ceil(8) as usize]);
}

#[derive(Debug, Clone, Copy, Default)]
struct Column {
    minimum: u32,
    width: u32,
    entry_width: u32,
    entries: u32,
    dictionary_at: usize,
    values_at: usize,
}

/// Where everything is in one packed block. Holds no bytes itself: they are passed in, so that a cursor can keep it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    rows: usize,
    columns: [Column; 4],
}

impl Block {
    /// Reads the headers of the block of `rows` rows that starts at `start`. Nothing when it cannot be one.
    pub(crate) fn parse(bytes: &[u8], start: usize, rows: usize) -> Option<Self> {
        let header: &[u8; HEADER_BYTES] = bytes.get(start..)?.first_chunk()?;
        let mut at = start + HEADER_BYTES;
        let mut columns = [Column::default(); 4];
        for (column, header) in columns.iter_mut().zip(header.chunks_exact(8)) {
            column.minimum = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
            column.width = u32::from(header[4]);
            column.entry_width = u32::from(header[5]);
            column.entries = u32::from(u16::from_le_bytes([header[6], header[7]]));
            if column.width > 32 || column.entry_width > 32 {
                return None;
            }
            column.dictionary_at = at;
            at += packed_bytes(column.entries as usize, column.entry_width);
            column.values_at = at;
            at += packed_bytes(rows, column.width);
        }
        (at + PADDING <= bytes.len()).then_some(Self { rows, columns })
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    fn value(&self, bytes: &[u8], column: usize, row: usize) -> u32 {
        let column = &self.columns[column];
        let stored = packed_value(bytes, column.values_at, column.width, row);
        if column.entries == 0 {
            column.minimum.wrapping_add(stored)
        } else {
            let entry = packed_value(bytes, column.dictionary_at, column.entry_width, stored as usize);
            column.minimum.wrapping_add(entry)
        }
    }

    /// One row.
    pub(crate) fn row(&self, bytes: &[u8], row: usize) -> Row {
        [0, 1, 2, 3].map(|column| self.value(bytes, column, row))
    }

    /// How the first columns of a row compare with a prefix; looks at no more columns than it must.
    pub(crate) fn compare(&self, bytes: &[u8], row: usize, prefix: &[u32]) -> Ordering {
        for (column, wanted) in prefix.iter().enumerate() {
            match self.value(bytes, column, row).cmp(wanted) {
                Ordering::Equal => {}
                other => return other,
            }
        }
        Ordering::Equal
    }
}

/// Reads one packed value. [`Block::parse`] made sure that a value of the block is inside the bytes; a damaged
/// dictionary index may still point outside, and then reads as zero.
fn packed_value(bytes: &[u8], start: usize, width: u32, index: usize) -> u32 {
    if width == 0 {
        return 0;
    }
    let bit = index * width as usize;
    let at = start + bit / 8;
    let word = match bytes.get(at..at + 8) {
        Some(word) => u64::from_le_bytes(word.try_into().unwrap_or_default()),
        None => 0,
    };
    ((word >> (bit % 8)) & ((1u64 << width) - 1)) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(rows: &[Row]) -> usize {
        let mut bytes = vec![0xAA; 3];
        Packer::new().pack(rows, &mut bytes);
        let length = bytes.len() - 3;
        bytes.extend_from_slice(&[0; PADDING]);
        let block = Block::parse(&bytes, 3, rows.len()).expect("what was packed can be parsed");
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(block.row(&bytes, index), *row);
            for length in 0..=4 {
                assert_eq!(block.compare(&bytes, index, &row[..length]), Ordering::Equal);
            }
        }
        length
    }

    #[test]
    fn extremes() {
        assert_eq!(check(&[[7, 7, 7, 7]]), HEADER_BYTES);
        check(&[[0, u32::MAX, 0, u32::MAX], [u32::MAX, 0, 1, 2]]);
        check(&vec![[1, 2, 3, 4]; BLOCK_ROWS]);
    }

    #[test]
    fn few_distinct_values_are_small_however_far_apart() {
        let rows: Vec<Row> = (0..256).map(|row| [row, (row % 4) * 1_000_000_000, 5, 5]).collect();
        // 256 rows of 8 bits, and of 2 bits with a dictionary of 4 entries of 32 bits.
        assert_eq!(check(&rows), HEADER_BYTES + 256 + 64 + 16);
    }

    proptest! {
        #[test]
        fn every_block_comes_back(
            rows in proptest::collection::vec(
                (0..10u32, any::<u32>(), 0..5u32, 100..1000u32).prop_map(|(a, b, c, d)| [a, b, c * 99_999, d]),
                1..=BLOCK_ROWS)
        ) {
            check(&rows);
        }

        #[test]
        fn damaged_bytes_are_read_without_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..400), rows in 1..=BLOCK_ROWS
        ) {
            // Widths that pass for real make the reader go further.
            for at in [4, 5, 12, 13, 20, 21, 28, 29] {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte %= 8;
                }
            }
            if let Some(block) = Block::parse(&bytes, 0, rows) {
                for row in 0..rows {
                    block.row(&bytes, row);
                }
            }
        }
    }
}
