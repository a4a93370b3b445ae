//! One sorted, immutable file of keys and the positions they stand for.
//!
//! ```text
//! block* fences trailer
//! block   = 170 records (key 16 bytes, position 8 bytes, little-endian), their number and checksum; 4096 bytes
//! fences  = the first half of each block's first key, 8 bytes each: held in memory while the run is open
//! trailer = magic, version, from, to, count, checksum of fences and trailer
//! ```
//!
//! Keys are hashes and so are evenly spread: the fence of a key is guessed by a multiplication, and the block it names is the
//! only thing read. A run covers the log from `from` to `to`; both are in its name too, so that a directory can be put in
//! order without opening the files. A file is complete once it has its final name.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::key::UrlKey;

pub(super) const RECORD_BYTES: usize = 24;
pub(super) const BLOCK_BYTES: usize = 4096;
pub(super) const BLOCK_RECORDS: usize = 170;
const TRAILER_BYTES: usize = 40;
const MAGIC: [u8; 4] = *b"wlsr";
const VERSION: u32 = 1;
/// Bytes read or written at once when a run is gone through from end to end.
const STREAM_BYTES: usize = 64 * BLOCK_BYTES;

/// An open run.
#[derive(Debug)]
pub(crate) struct Run {
    path: PathBuf,
    file: File,
    fences: Vec<u64>,
    /// Records.
    pub count: u64,
    /// Covers the log from here
    pub from: u64,
    /// to here.
    pub to: u64,
}

impl Run {
    /// The name of the run that covers that part of the log.
    pub fn file_name(from: u64, to: u64) -> String {
        format!("{from:016x}-{to:016x}.run")
    }

    /// What a file name says it covers.
    pub fn parse_name(name: &str) -> Option<(u64, u64)> {
        let (from, to) = name.strip_suffix(".run")?.split_once('-')?;
        Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
    }

    /// Opens a finished run, and checks that it is whole.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let broken = |what: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is damaged: {what}", path.display()))
        };
        let trailer_at = length.checked_sub(TRAILER_BYTES as u64).ok_or_else(|| broken("it is too short"))?;
        let mut trailer = [0; TRAILER_BYTES];
        read_exact_at(&file, &mut trailer, trailer_at)?;
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| trailer[at + byte]));
        if trailer[..4] != MAGIC {
            return Err(broken("its end is missing"));
        }
        if trailer[4..8] != VERSION.to_le_bytes() {
            return Err(broken("it has another version"));
        }
        let (from, to, count) = (number(8), number(16), number(24));
        let blocks = count.div_ceil(BLOCK_RECORDS as u64);
        let fences_at = blocks.checked_mul(BLOCK_BYTES as u64).ok_or_else(|| broken("its count"))?;
        if blocks.checked_mul(8).and_then(|bytes| bytes.checked_add(fences_at)) != Some(trailer_at) {
            return Err(broken("its length does not fit its count"));
        }
        let mut bytes = vec![0; usize::try_from(blocks * 8).map_err(|_| broken("it is too long"))?];
        read_exact_at(&file, &mut bytes, fences_at)?;
        if number(32) != u64::from(checksum(&bytes, &trailer[..32])) {
            return Err(broken("its checksum"));
        }
        let fences =
            bytes.chunks_exact(8).map(|fence| u64::from_le_bytes(std::array::from_fn(|byte| fence[byte])));
        Ok(Self { path: path.to_owned(), fences: fences.collect(), file, count, from, to })
    }

    /// The position of a key. `block` is room to read into.
    pub fn find(&self, key: UrlKey, block: &mut [u8; BLOCK_BYTES]) -> io::Result<Option<u64>> {
        let Some(mut number) = self.block_of(key.high) else { return Ok(None) };
        loop {
            let found = self.find_in_block(number, key, block)?;
            // Keys that agree in their first half can stand on both sides of a fence.
            if found.is_some() || number == 0 || self.fences[number] != key.high {
                return Ok(found);
            }
            number -= 1;
        }
    }

    fn find_in_block(
        &self,
        number: usize,
        key: UrlKey,
        block: &mut [u8; BLOCK_BYTES],
    ) -> io::Result<Option<u64>> {
        read_exact_at(&self.file, block, number as u64 * BLOCK_BYTES as u64)?;
        let count = self.records_in(number);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = usize::midpoint(low, high);
            let (found, position) = record(block, middle);
            match found.cmp(&key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Some(position)),
            }
        }
        Ok(None)
    }

    fn records_in(&self, block: usize) -> usize {
        let before = block as u64 * BLOCK_RECORDS as u64;
        (self.count - before).min(BLOCK_RECORDS as u64) as usize
    }

    /// The last block whose fence is not above `high`.
    fn block_of(&self, high: u64) -> Option<usize> {
        let fences = &self.fences;
        let blocks = fences.len();
        if blocks == 0 || fences[0] > high {
            return None;
        }
        // From the guess outwards in growing steps, then by halves.
        let guess = ((u128::from(high) * blocks as u128) >> 64) as usize;
        let (mut low, mut step) = (guess, 1);
        while fences[low] > high {
            low = low.saturating_sub(step);
            step *= 2;
        }
        let (mut end, mut step) = (low + 1, 1);
        while end < blocks && fences[end] <= high {
            end = (end + step).min(blocks);
            step *= 2;
        }
        let within = fences[low..end].partition_point(|&fence| fence <= high);
        Some(low + within - 1)
    }

    /// All records in order.
    pub fn records(&self) -> io::Result<RunRecords> {
        RunRecords::new(&self.path, self.count)
    }

    /// Removes the file. What has it open reads on.
    pub fn remove(&self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a run that was merged cannot be removed");
        }
    }
}

fn record(block: &[u8], number: usize) -> (UrlKey, u64) {
    let bytes = &block[number * RECORD_BYTES..(number + 1) * RECORD_BYTES];
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    (UrlKey { high: word(0), low: word(8) }, word(16))
}

/// The records of a run from first to last, each block checked.
pub(crate) struct RunRecords {
    file: File,
    path: PathBuf,
    left: u64,
    buffer: Vec<u8>,
    at: usize,
    in_block: usize,
    number: usize,
}

impl RunRecords {
    fn new(path: &Path, count: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            left: count,
            buffer: Vec::new(),
            at: 0,
            in_block: 0,
            number: 0,
        })
    }

    /// The next record.
    pub fn next(&mut self) -> io::Result<Option<(UrlKey, u64)>> {
        if self.number == self.in_block {
            if self.left == 0 {
                return Ok(None);
            }
            self.next_block()?;
        }
        let found = record(&self.buffer[self.at..], self.number);
        self.number += 1;
        self.left -= 1;
        Ok(Some(found))
    }

    fn next_block(&mut self) -> io::Result<()> {
        self.at += BLOCK_BYTES;
        if self.at >= self.buffer.len() {
            let blocks = self.left.div_ceil(BLOCK_RECORDS as u64) as usize;
            self.buffer.resize(STREAM_BYTES.min(blocks * BLOCK_BYTES), 0);
            self.file.read_exact(&mut self.buffer)?;
            self.at = 0;
        }
        let block = &self.buffer[self.at..self.at + BLOCK_BYTES];
        let count = self.left.min(BLOCK_RECORDS as u64) as usize;
        let tail = &block[BLOCK_RECORDS * RECORD_BYTES..];
        let sum = u32::from_le_bytes(std::array::from_fn(|byte| tail[byte]));
        if sum != crc32fast::hash(&block[..count * RECORD_BYTES]) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("`{}` is damaged: the checksum of a block is wrong", self.path.display()),
            ));
        }
        self.in_block = count;
        self.number = 0;
        Ok(())
    }
}

/// Writes a run under a temporary name, then gives it its own.
pub(crate) struct RunWriter {
    file: BufWriter<File>,
    directory: PathBuf,
    temporary: PathBuf,
    block: Vec<u8>,
    fences: Vec<u64>,
    count: u64,
    from: u64,
    to: u64,
}

impl RunWriter {
    /// Begins a run that covers that part of the log.
    pub fn new(directory: &Path, from: u64, to: u64) -> io::Result<Self> {
        let temporary = directory.join(format!("{}.tmp", Run::file_name(from, to)));
        let file = BufWriter::with_capacity(STREAM_BYTES, File::create(&temporary)?);
        let block = Vec::with_capacity(BLOCK_BYTES);
        Ok(Self {
            file,
            directory: directory.to_owned(),
            temporary,
            block,
            fences: Vec::new(),
            count: 0,
            from,
            to,
        })
    }

    /// Adds a record; they must come in order.
    pub fn push(&mut self, key: UrlKey, position: u64) -> io::Result<()> {
        if self.block.is_empty() {
            self.fences.push(key.high);
        }
        for word in [key.high, key.low, position] {
            self.block.extend_from_slice(&word.to_le_bytes());
        }
        self.count += 1;
        if self.block.len() == BLOCK_RECORDS * RECORD_BYTES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        let sum = crc32fast::hash(&self.block);
        self.block.resize(BLOCK_RECORDS * RECORD_BYTES, 0);
        self.block.extend_from_slice(&sum.to_le_bytes());
        self.block.resize(BLOCK_BYTES, 0);
        self.file.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }

    /// Makes the run durable and opens it.
    pub fn finish(mut self) -> io::Result<Run> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let fences: Vec<u8> = self.fences.iter().flat_map(|fence| fence.to_le_bytes()).collect();
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.extend_from_slice(&MAGIC);
        trailer.extend_from_slice(&VERSION.to_le_bytes());
        for number in [self.from, self.to, self.count] {
            trailer.extend_from_slice(&number.to_le_bytes());
        }
        trailer.extend_from_slice(&u64::from(checksum(&fences, &trailer)).to_le_bytes());
        self.file.write_all(&fences)?;
        self.file.write_all(&trailer)?;
        self.file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        let path = self.directory.join(Run::file_name(self.from, self.to));
        std::fs::rename(&self.temporary, &path)?;
        sync_directory(&self.directory)?;
        let file = File::open(&path)?;
        Ok(Run { path, file, fences: self.fences, count: self.count, from: self.from, to: self.to })
    }
}

fn checksum(fences: &[u8], trailer: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(fences);
    hasher.update(trailer);
    hasher.finalize()
}

/// Makes a rename in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    // Elsewhere a directory cannot be opened like a file, and renames need no such help.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Reads at a place of a file without moving anybody's position in it.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, at)
}

/// Reads at a place of a file.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer = &mut buffer[read..];
        at += read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn write(directory: &Path, keys: &[(UrlKey, u64)]) -> Run {
        let mut writer = RunWriter::new(directory, 16, 99).unwrap();
        keys.iter().for_each(|&(key, position)| writer.push(key, position).unwrap());
        writer.finish().unwrap()
    }

    fn read_all(run: &Run) -> Vec<(UrlKey, u64)> {
        let mut records = run.records().unwrap();
        std::iter::from_fn(|| records.next().unwrap()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        // First halves from a small range, so that many keys share them, or from all of it.
        #[test]
        fn what_was_written_is_found_and_nothing_else(
            narrow in any::<bool>(),
            numbers in prop::collection::btree_map(any::<(u64, u64)>(), any::<u64>(), 0..1200),
            others in prop::collection::vec(any::<(u64, u64)>(), 0..200),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let key = |(high, low): (u64, u64)| UrlKey { high: if narrow { high % 3 } else { high }, low };
            let mut keys: Vec<(UrlKey, u64)> = numbers.into_iter().map(|(pair, at)| (key(pair), at)).collect();
            keys.sort_unstable();
            keys.dedup_by_key(|(key, _)| *key);
            write(directory.path(), &keys);
            let run = Run::open(&directory.path().join(Run::file_name(16, 99))).unwrap();
            prop_assert_eq!(read_all(&run), keys.clone());
            let mut block = [0; BLOCK_BYTES];
            for &(key, position) in &keys {
                prop_assert_eq!(run.find(key, &mut block).unwrap(), Some(position));
            }
            for other in others.into_iter().map(key) {
                let expected = keys.binary_search_by_key(&other, |(key, _)| *key).ok().map(|at| keys[at].1);
                prop_assert_eq!(run.find(other, &mut block).unwrap(), expected);
            }
        }
    }

    #[test]
    fn a_damaged_run_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let keys: Vec<_> = (0..500).map(|number| (UrlKey { high: number << 50, low: 7 }, number)).collect();
        write(directory.path(), &keys);
        let path = directory.path().join(Run::file_name(16, 99));
        let whole = std::fs::read(&path).unwrap();
        for cut in [0, 10, 4096, whole.len() - 1] {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert!(Run::open(&path).is_err(), "cut at {cut}");
        }
        for at in [3 * BLOCK_BYTES + 2, whole.len() - 20] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert!(Run::open(&path).is_err(), "a bit at {at}");
        }
        // A damaged block is found when it is gone through.
        let mut damaged = whole;
        damaged[BLOCK_BYTES + 5] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let mut records = Run::open(&path).unwrap().records().unwrap();
        let error = loop {
            match records.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("not noticed"),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("checksum of a block"), "{error}");
    }

    #[test]
    fn names_say_what_is_covered() {
        assert_eq!(Run::parse_name(&Run::file_name(16, u64::MAX)), Some((16, u64::MAX)));
        for name in ["", ".run", "1-2", "1-2.run.tmp", "x-2.run", "12.run"] {
            assert_eq!(Run::parse_name(name), None, "{name}");
        }
    }
}
