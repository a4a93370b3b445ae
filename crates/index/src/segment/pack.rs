//! Blocks of rows, bit-packed.
//!
//! In: up to [`BLOCK_ROWS`] rows of four numbers. Out: bytes, from which every single value can be had by itself
//! ([`Block::row`], [`Block::compare`]: a point lookup unpacks nothing but what it looks at) or all of a column at once
//! ([`Block::column`]: a scan).
//!
//! Numbers are stored as the distance from the column's minimum, in as many bits as the largest distance needs. Each column
//! chooses for itself, block by block: one number per row, or one number per run of equal ones where that is smaller.
//! Layout of a block: four column headers of eight bytes (minimum `u32`, bits per number `u8`, zero `u8`, number of runs
//! `u16`, zero for one number per row), then per column the last row of each run, a byte each, if it has runs, and the packed
//! numbers, padded to a byte.

use std::cmp::Ordering;

/// Rows in a full block. Only the last block of an order may have fewer. A place in a block fits a byte.
pub(crate) const BLOCK_ROWS: usize = 256;

/// Bytes that must follow the last block, because values are read eight bytes at a time.
pub(crate) const PADDING: usize = 8;

const HEADER_BYTES: usize = 32;

/// A row of an order: numbers in key order.
pub(crate) type Row = [u32; 4];

/// One column of a block, unpacked.
pub(crate) type ColumnValues = [u32; BLOCK_ROWS];

fn bits_for(value: u32) -> u32 {
    32 - value.leading_zeros()
}

fn packed_bytes(values: usize, width: u32) -> usize {
    (values * width as usize).div_ceil(8)
}

/// Packs blocks; keeps its scratch space between them.
pub(crate) struct Packer {
    column: Box<ColumnValues>,
    runs: Box<ColumnValues>,
    ends: Box<[u8; BLOCK_ROWS]>,
}

impl Packer {
    pub(crate) fn new() -> Self {
        Self {
            column: Box::new([0; BLOCK_ROWS]),
            runs: Box::new([0; BLOCK_ROWS]),
            ends: Box::new([0; BLOCK_ROWS]),
        }
    }

    /// Appends the block of these rows (at least one, at most [`BLOCK_ROWS`]). Column `k` of the block is `columns[k]` of the
    /// rows.
    pub(crate) fn pack(&mut self, rows: &[Row], columns: [usize; 4], out: &mut Vec<u8>) {
        debug_assert!(!rows.is_empty() && rows.len() <= BLOCK_ROWS, "a block has 1 to {BLOCK_ROWS} rows");
        let header = out.len();
        out.resize(header + HEADER_BYTES, 0);
        for (place, part) in columns.into_iter().enumerate() {
            let column = &mut self.column[..rows.len()];
            for (value, row) in column.iter_mut().zip(rows) {
                *value = row[part % 4];
            }
            let (mut minimum, mut maximum) = (u32::MAX, 0);
            for &value in &*column {
                minimum = minimum.min(value);
                maximum = maximum.max(value);
            }
            let changes: usize = column.windows(2).map(|pair| usize::from(pair[0] != pair[1])).sum();
            let width = bits_for(maximum - minimum);
            let runs = changes + 1;
            let with_runs = runs + packed_bytes(runs, width);
            let mut stored_runs = 0;
            if with_runs < packed_bytes(rows.len(), width) {
                let mut run = 0;
                for (at, &value) in column.iter().enumerate() {
                    // The last write for each run is the one of its end.
                    self.runs[run] = value;
                    self.ends[run] = at as u8;
                    run += usize::from(column.get(at + 1).is_some_and(|next| *next != value));
                }
                out.extend_from_slice(&self.ends[..runs]);
                pack_values(&self.runs[..runs], minimum, width, out);
                stored_runs = runs;
            } else {
                pack_values(column, minimum, width, out);
            }
            let at = header + place * 8;
            out[at..at + 4].copy_from_slice(&minimum.to_le_bytes());
            out[at + 4] = width as u8;
            out[at + 6..at + 8].copy_from_slice(&(stored_runs as u16).to_le_bytes());
        }
    }
}

fn pack_values(values: &[u32], minimum: u32, width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    let start = out.len();
    let length = packed_bytes(values.len(), width);
    // Whole words are written, so there is room for one more than is needed; it is cut off again.
    out.resize(start + length + 8, 0);
    let (mut pending, mut filled, mut at) = (0u64, 0u32, start);
    for value in values {
        pending |= u64::from(value - minimum) << filled;
        filled += width;
        if let Some(word) = out.get_mut(at..at + 8) {
            word.copy_from_slice(&pending.to_le_bytes());
        }
        let whole = filled / 8;
        at += whole as usize;
        pending >>= whole * 8;
        filled %= 8;
    }
    out.truncate(start + length);
}

#[derive(Debug, Clone, Copy, Default)]
struct Column {
    minimum: u32,
    width: u32,
    /// Zero when every row has a number of its own.
    runs: u32,
    /// Where the runs' ends begin; the numbers follow.
    at: usize,
}

impl Column {
    fn values_at(&self) -> usize {
        self.at + self.runs as usize
    }
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
            column.runs = u32::from(u16::from_le_bytes([header[6], header[7]]));
            if column.width > 32 || column.runs as usize > rows {
                return None;
            }
            column.at = at;
            let values = if column.runs == 0 { rows } else { column.runs as usize };
            at = column.values_at() + packed_bytes(values, column.width);
        }
        (rows <= BLOCK_ROWS && at + PADDING <= bytes.len()).then_some(Self { rows, columns })
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    fn value(&self, bytes: &[u8], column: usize, row: usize) -> u32 {
        let column = &self.columns[column];
        let index = if column.runs == 0 {
            row
        } else {
            let ends = bytes.get(column.at..column.values_at()).unwrap_or_default();
            ends.partition_point(|end| usize::from(*end) < row)
        };
        column.minimum.wrapping_add(packed_value(bytes, column.values_at(), column.width, index))
    }

    /// One row.
    pub(crate) fn row(&self, bytes: &[u8], row: usize) -> Row {
        [0, 1, 2, 3].map(|column| self.value(bytes, column, row))
    }

    /// All values of one column; what is behind the last row means nothing.
    pub(crate) fn column(&self, bytes: &[u8], column: usize, values: &mut ColumnValues) {
        let Column { minimum, width, runs, at } = self.columns[column];
        let values_at = at + runs as usize;
        if runs == 0 {
            unpack(bytes.get(values_at..).unwrap_or_default(), width, minimum, &mut values[..self.rows]);
            return;
        }
        let ends = bytes.get(at..values_at).unwrap_or_default();
        let mut from = 0;
        for (index, &end) in ends.iter().enumerate() {
            let value = minimum.wrapping_add(packed_value(bytes, values_at, width, index));
            // Ends only grow, unless the file is damaged.
            let until = usize::from(end) + 1;
            if let Some(run) = values.get_mut(from..until) {
                run.fill(value);
            }
            from = until;
        }
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

/// Unpacks as many values as there is room for.
fn unpack(bytes: &[u8], width: u32, minimum: u32, values: &mut [u32]) {
    if width == 0 {
        values.fill(minimum);
        return;
    }
    let mask = (1u64 << width) - 1;
    // [`Block::parse`] made sure of the bytes; taking just as many as are needed spares a check for each value.
    let Some(bytes) = bytes.get(..packed_bytes(values.len(), width) + PADDING) else {
        values.fill(minimum);
        return;
    };
    let mut bit = 0;
    for value in values {
        let at = bit / 8;
        let word = match bytes.get(at..at + 8) {
            Some(word) => u64::from_le_bytes(word.try_into().unwrap_or_default()),
            None => 0,
        };
        *value = minimum.wrapping_add(((word >> (bit % 8)) & mask) as u32);
        bit += width as usize;
    }
}

/// Reads one packed value. [`Block::parse`] made sure that a value of the block is inside the bytes; where a damaged
/// file leads elsewhere it reads as zero.
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
        Packer::new().pack(rows, [0, 1, 2, 3], &mut bytes);
        let length = bytes.len() - 3;
        bytes.extend_from_slice(&[0; PADDING]);
        let block = Block::parse(&bytes, 3, rows.len()).expect("what was packed can be parsed");
        let mut columns = [[0; BLOCK_ROWS]; 4];
        for (column, values) in columns.iter_mut().enumerate() {
            block.column(&bytes, column, values);
        }
        for (index, row) in rows.iter().enumerate() {
            assert_eq!(block.row(&bytes, index), *row);
            assert_eq!(columns.map(|values| values[index]), *row);
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
    fn runs_are_small_however_far_apart() {
        let rows: Vec<Row> = (0..256).map(|row| [row, (row / 64) * 1_000_000_000, 5, 5]).collect();
        // 256 rows of 8 bits, and four runs with a byte for their end and 32 bits for their number.
        assert_eq!(check(&rows), HEADER_BYTES + 256 + 4 + 16);
    }

    #[test]
    fn columns_are_taken_in_the_order_asked_for() {
        let rows = [[1, 2, 3, 4], [1, 2, 3, 9]];
        let mut bytes = Vec::new();
        Packer::new().pack(&rows, [3, 0, 1, 2], &mut bytes);
        bytes.extend_from_slice(&[0; PADDING]);
        let block = Block::parse(&bytes, 0, 2).expect("what was packed can be parsed");
        assert_eq!([block.row(&bytes, 0), block.row(&bytes, 1)], [[4, 1, 2, 3], [9, 1, 2, 3]]);
    }

    proptest! {
        #[test]
        fn every_block_comes_back(
            rows in proptest::collection::vec(
                (0..10u32, any::<u32>(), 0..3u32, 100..1000u32).prop_map(|(a, b, c, d)| [a / 9, b, c / 2 * 99_999, d]),
                1..=BLOCK_ROWS)
        ) {
            check(&rows);
        }

        #[test]
        fn damaged_bytes_are_read_without_panic(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..400), rows in 1..=BLOCK_ROWS
        ) {
            // Widths that pass for real make the reader go further.
            for at in [4, 7, 12, 15, 20, 23, 28, 31] {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte %= if at % 8 == 7 { 1 } else { 8 };
                }
            }
            if let Some(block) = Block::parse(&bytes, 0, rows) {
                for row in 0..rows {
                    block.row(&bytes, row);
                }
                for column in 0..4 {
                    block.column(&bytes, column, &mut [0; BLOCK_ROWS]);
                }
            }
        }
    }
}
