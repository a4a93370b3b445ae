//! Sorting more rows than fit in memory.
//!
//! In: rows of texts, in any order. Out: the same rows, sorted by their first text, then the second, and so on. Rows are
//! gathered up to a budget, sorted, and written to a temporary file; the files are merged at the end, a limited
//! number at a time. The files have no names, so that nothing stays behind however the program ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Texts in a row.
pub const FIELDS: usize = 8;
/// A row: each text is UTF-8, and nothing where it is empty.
pub type Row = [String; FIELDS];

/// Bytes gathered before they are sorted and written out.
pub const BUDGET_BYTES: usize = 192 << 20;
/// Files merged at a time.
const MERGE_MAX: usize = 48;

/// Takes rows, and gives them back sorted.
pub struct Sorter {
    directory: PathBuf,
    budget_bytes: usize,
    rows: Vec<Row>,
    bytes: usize,
    runs: Vec<File>,
}

impl Sorter {
    /// Sorts with files in `directory`.
    pub fn new(directory: PathBuf, budget_bytes: usize) -> Self {
        Self { directory, budget_bytes, rows: Vec::new(), bytes: 0, runs: Vec::new() }
    }

    /// One more row.
    pub fn push(&mut self, row: Row) -> io::Result<()> {
        // Each text is an allocation: 24 bytes for itself and about 16 for the allocator.
        self.bytes += row.iter().map(|text| text.len() + 40).sum::<usize>();
        self.rows.push(row);
        if self.bytes >= self.budget_bytes { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        self.rows.sort_unstable();
        let mut writer = RunWriter::new(&self.directory)?;
        for row in self.rows.drain(..) {
            writer.push(&row)?;
        }
        self.bytes = 0;
        self.runs.push(writer.finish()?);
        if self.runs.len() >= MERGE_MAX {
            let mut writer = RunWriter::new(&self.directory)?;
            merge(std::mem::take(&mut self.runs), |row| writer.push(&row))?;
            self.runs.push(writer.finish()?);
        }
        Ok(())
    }

    /// Gives all rows, sorted.
    pub fn finish<E: From<io::Error>>(mut self, mut take: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        if self.runs.is_empty() {
            self.rows.sort_unstable();
            return self.rows.into_iter().try_for_each(take);
        }
        self.spill()?;
        self.rows = Vec::new();
        merge(self.runs, &mut take)
    }
}

/// Gives the rows of all files, sorted.
fn merge<E: From<io::Error>>(runs: Vec<File>, mut take: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
    let mut readers = runs.into_iter().map(RunReader::new).collect::<io::Result<Vec<_>>>()?;
    let mut heads = BinaryHeap::new();
    for (number, reader) in readers.iter_mut().enumerate() {
        heads.extend(reader.next()?.map(|row| Reverse((row, number))));
    }
    while let Some(Reverse((row, number))) = heads.pop() {
        heads.extend(readers[number].next()?.map(|row| Reverse((row, number))));
        take(row)?;
    }
    Ok(())
}

struct RunWriter(zstd::Encoder<'static, BufWriter<File>>);

impl RunWriter {
    fn new(directory: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(directory)?;
        Ok(Self(zstd::Encoder::new(BufWriter::with_capacity(1 << 18, file), 1)?))
    }

    fn push(&mut self, row: &Row) -> io::Result<()> {
        for text in row {
            self.0.write_all(&(text.len() as u64).to_le_bytes())?;
            self.0.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    fn finish(self) -> io::Result<File> {
        let mut file = self.0.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        Ok(file)
    }
}

struct RunReader(BufReader<zstd::Decoder<'static, BufReader<File>>>);

impl RunReader {
    fn new(file: File) -> io::Result<Self> {
        Ok(Self(BufReader::with_capacity(1 << 16, zstd::Decoder::new(file)?)))
    }

    fn next(&mut self) -> io::Result<Option<Row>> {
        use std::io::BufRead;
        if self.0.fill_buf()?.is_empty() {
            return Ok(None);
        }
        let mut row = Row::default();
        for text in &mut row {
            let mut length = [0; 8];
            self.0.read_exact(&mut length)?;
            let mut bytes = vec![0; u64::from_le_bytes(length) as usize];
            self.0.read_exact(&mut bytes)?;
            *text = String::from_utf8(bytes).map_err(io::Error::other)?;
        }
        Ok(Some(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_sorted_whatever_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let row = |number: u64| -> Row {
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            std::array::from_fn(|field| match field {
                0 => String::new(),
                1 => (mixed % 7).to_string(),
                2 => format!("ü\0{mixed}"),
                _ => "x".repeat((mixed % 5) as usize),
            })
        };
        let mut expected: Vec<Row> = (0..3_000).map(row).collect();
        expected.sort();
        // All in memory; a few files; so many that files are merged before the end.
        for budget in [usize::MAX, 100_000, 8_000] {
            let mut sorter = Sorter::new(folder.path().to_owned(), budget);
            for number in 0..3_000 {
                sorter.push(row(number)).unwrap();
            }
            let mut found = Vec::new();
            sorter
                .finish(|row| -> io::Result<()> {
                    found.push(row);
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, expected, "{budget}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files stay behind");
    }
}
