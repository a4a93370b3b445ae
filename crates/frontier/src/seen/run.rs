//! One sorted, immutable file of keys and the positions they stand for.
//!
//! ```text
//! keys      16 bytes each, little-endian halves, sorted; 64 of them are a block
//! positions 8 bytes each, in the order of the keys
//! sums      4 bytes a block: checksum of its keys and its positions
//! fences    4 bytes a block: the first 32 bits of its first key; held in memory while the run is open
//! trailer   magic, version, from, to, count, checksum of sums, fences and trailer
//! ```
//!
//! Keys are hashes and so are evenly spread: the fence of a key is guessed by a multiplication, its place in the block by another one, and
//! one read of a quarter of a kilobyte around it tells whether the key is there, however large the run. Its position takes another read of 8 bytes, for those who want it. A run covers
//! the log from `from` to `to`; both are in its name too, so that a directory can be put in order without opening the files. A file is
//! complete once it has its final name.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::key::UrlKey;

const KEY_BYTES: usize = 16;
const POSITION_BYTES: usize = 8;
const BLOCK_RECORDS: usize = 64;
/// The keys of a block.
pub(super) const BLOCK_BYTES: usize = BLOCK_RECORDS * KEY_BYTES;
/// Keys that are read around the guessed one: two standard deviations to either side in the middle of a block, more elsewhere. What is read
/// comes from far away in memory once there are many keys, so a second look now and then costs less than a longer one each time.
const WINDOW_RECORDS: usize = 16;
const TRAILER_BYTES: usize = 40;
const MAGIC: [u8; 4] = *b"wlsr";
const VERSION: u32 = 4;
/// Bytes read or written at once when a run is gone through from end to end.
const STREAM_BYTES: usize = 256 * 1024;
/// Bytes after which what was written is sent to the disk, so that nobody else's write waits behind gigabytes of ours.
const SYNC_BYTES: u64 = 32 << 20;

/// An open run.
#[derive(Debug)]
pub(crate) struct Run {
    path: PathBuf,
    file: File,
    fences: Vec<u32>,
    /// Records.
    pub count: u64,
    /// Covers the log from here
    pub from: u64,
    /// to here.
    pub to: u64,
}

/// Where the parts of a run of so many records lie.
struct Layout {
    blocks: u64,
    positions: u64,
    sums: u64,
    trailer: u64,
}

impl Layout {
    /// Nothing when there can be no such file.
    fn of(count: u64) -> Option<Self> {
        let blocks = count.div_ceil(BLOCK_RECORDS as u64);
        let positions = count.checked_mul(KEY_BYTES as u64)?;
        let sums = positions.checked_add(count.checked_mul(POSITION_BYTES as u64)?)?;
        // Sums and fences are of a size.
        Some(Self { blocks, positions, sums, trailer: sums.checked_add(blocks * 8)? })
    }
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
        let file = open_to_look(path)?;
        let length = file.metadata()?.len();
        let broken = |what: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("`{}` is damaged: {what}", path.display()))
        };
        let trailer_at = length.checked_sub(TRAILER_BYTES as u64).ok_or_else(|| broken("it is too short"))?;
        let mut trailer = [0; TRAILER_BYTES];
        read_exact_at(&file, &mut trailer, trailer_at)?;
        if trailer[..4] != MAGIC {
            return Err(broken("its end is missing"));
        }
        let version = number32(&trailer[4..]);
        if version != VERSION {
            let what = format!("`{}` has version {version}, known is {VERSION}", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let (from, to, count) = (number64(&trailer[8..]), number64(&trailer[16..]), number64(&trailer[24..]));
        let layout = Layout::of(count).ok_or_else(|| broken("its count"))?;
        if layout.trailer != trailer_at {
            return Err(broken("its length does not fit its count"));
        }
        let mut tables = vec![0; usize::try_from(layout.blocks * 8).map_err(|_| broken("it is too long"))?];
        read_exact_at(&file, &mut tables, layout.sums)?;
        if number64(&trailer[32..]) != u64::from(checksum(&tables, &trailer[..32])) {
            return Err(broken("its checksum"));
        }
        let fences = tables[tables.len() / 2..].chunks_exact(4).map(number32).collect();
        Ok(Self { path: path.to_owned(), fences, file, count, from, to })
    }

    /// Tells all keys until somebody says no.
    pub fn each_key(&self, mut tell: impl FnMut(UrlKey) -> bool) -> io::Result<()> {
        let mut records = self.records()?;
        while let Some((key, _)) = records.next()? {
            if !tell(key) {
                break;
            }
        }
        Ok(())
    }

    /// The number of a key in the order of the run. `block` is room to read into.
    pub fn find(&self, key: UrlKey, block: &mut [u8; BLOCK_BYTES]) -> io::Result<Option<u64>> {
        let fence = fence_of(key);
        let Some(mut number) = self.block_of(fence) else { return Ok(None) };
        loop {
            let found = self.find_in_block(number, key, block)?;
            // Keys that agree in their first bits can stand on both sides of a fence.
            if found.is_some() || number == 0 || self.fences[number] != fence {
                return Ok(found);
            }
            number -= 1;
        }
    }

    /// The position that a key stands for, by the number that [`Run::find`] gave.
    pub fn position(&self, number: u64) -> io::Result<u64> {
        let mut bytes = [0; POSITION_BYTES];
        read_exact_at(
            &self.file,
            &mut bytes,
            self.count * KEY_BYTES as u64 + number * POSITION_BYTES as u64,
        )?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn find_in_block(
        &self,
        number: usize,
        key: UrlKey,
        block: &mut [u8; BLOCK_BYTES],
    ) -> io::Result<Option<u64>> {
        let count = records_in(self.count, number as u64);
        let begin = self.guess_in_block(number, fence_of(key)).saturating_sub(WINDOW_RECORDS / 2);
        let end = (begin + WINDOW_RECORDS).min(count);
        let begin = end.saturating_sub(WINDOW_RECORDS);
        match self.find_in_window(number, begin..end, key, block)? {
            Ok(found) => Ok(Some(found)),
            // Between two keys of the window, or beyond an end that is the block's own.
            Err(at) if (at > begin || begin == 0) && (at < end || end == count) => Ok(None),
            Err(_) => Ok(self.find_in_window(number, 0..count, key, block)?.ok()),
        }
    }

    /// Which record of its block a key is, about.
    fn guess_in_block(&self, number: usize, fence: u32) -> usize {
        let first = self.fences[number];
        let next = self.fences.get(number + 1).copied().unwrap_or(u32::MAX);
        let width = u64::from(next.saturating_sub(first)).max(1);
        (u64::from(fence.saturating_sub(first)) * BLOCK_RECORDS as u64 / width).min(BLOCK_RECORDS as u64)
            as usize
    }

    /// The number of a key among these records of a block, or else where in the block it would be.
    fn find_in_window(
        &self,
        number: usize,
        window: std::ops::Range<usize>,
        key: UrlKey,
        room: &mut [u8; BLOCK_BYTES],
    ) -> io::Result<Result<u64, usize>> {
        let block = (number * BLOCK_RECORDS) as u64;
        let begin = window.start;
        let keys = &mut room[..window.len() * KEY_BYTES];
        read_exact_at(&self.file, keys, (block + begin as u64) * KEY_BYTES as u64)?;
        let (mut low, mut high) = (0, window.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match key_at(keys, middle).cmp(&key) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(Ok(block + (begin + middle) as u64)),
            }
        }
        Ok(Err(begin + low))
    }

    /// The last block whose fence is not above this one.
    fn block_of(&self, fence: u32) -> Option<usize> {
        let fences = &self.fences;
        let blocks = fences.len();
        if blocks == 0 || fences[0] > fence {
            return None;
        }
        // From the guess outwards in growing steps, then by halves.
        let guess = ((u64::from(fence) * blocks as u64) >> 32) as usize;
        let (mut low, mut step) = (guess, 1);
        while fences[low] > fence {
            low = low.saturating_sub(step);
            step *= 2;
        }
        let (mut end, mut step) = (low + 1, 1);
        while end < blocks && fences[end] <= fence {
            end = (end + step).min(blocks);
            step *= 2;
        }
        let within = fences[low..end].partition_point(|&other| other <= fence);
        Some(low + within - 1)
    }

    /// All records in order.
    pub fn records(&self) -> io::Result<RunRecords> {
        RunRecords::new(&self.file, &self.path, self.count)
    }

    /// Removes the file. What has it open reads on.
    pub fn remove(&self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a run that was merged cannot be removed");
        }
    }
}

/// The first bits of a key.
fn fence_of(key: UrlKey) -> u32 {
    (key.high >> 32) as u32
}

/// Records in the block of that number, of a run of so many.
fn records_in(count: u64, block: u64) -> usize {
    count.saturating_sub(block * BLOCK_RECORDS as u64).min(BLOCK_RECORDS as u64) as usize
}

fn key_at(block: &[u8], number: usize) -> UrlKey {
    let bytes = &block[number * KEY_BYTES..];
    UrlKey { high: number64(bytes), low: number64(&bytes[8..]) }
}

fn number64(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[byte]))
}

fn number32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[byte]))
}

/// The records of a run from first to last, each block checked.
pub(crate) struct RunRecords {
    path: PathBuf,
    count: u64,
    keys: BufReader<Part>,
    positions: BufReader<Part>,
    sums: BufReader<Part>,
    key_block: Vec<u8>,
    position_block: Vec<u8>,
    /// The next block.
    block: u64,
    /// The next record in this one, and how many it has.
    number: usize,
    in_block: usize,
}

/// A file that is read on from somewhere, whoever else reads it.
struct Part {
    file: File,
    at: u64,
}

impl Read for Part {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = read_at(&self.file, bytes, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl RunRecords {
    /// Reads what is open already: while a filter is made from a run, another thread may have merged and removed it.
    fn new(file: &File, path: &Path, count: u64) -> io::Result<Self> {
        let layout = Layout::of(count).ok_or(io::ErrorKind::InvalidData)?;
        let part = |at: u64| -> io::Result<BufReader<Part>> {
            Ok(BufReader::with_capacity(STREAM_BYTES, Part { file: file.try_clone()?, at }))
        };
        Ok(Self {
            path: path.to_owned(),
            count,
            keys: part(0)?,
            positions: part(layout.positions)?,
            sums: part(layout.sums)?,
            key_block: vec![0; BLOCK_BYTES],
            position_block: vec![0; BLOCK_RECORDS * POSITION_BYTES],
            block: 0,
            number: 0,
            in_block: 0,
        })
    }

    /// The next record.
    pub fn next(&mut self) -> io::Result<Option<(UrlKey, u64)>> {
        if self.number == self.in_block {
            self.next_block()?;
            if self.in_block == 0 {
                return Ok(None);
            }
        }
        let position = number64(&self.position_block[self.number * POSITION_BYTES..]);
        let key = key_at(&self.key_block, self.number);
        self.number += 1;
        Ok(Some((key, position)))
    }

    fn next_block(&mut self) -> io::Result<()> {
        (self.number, self.in_block) = (0, records_in(self.count, self.block));
        if self.in_block == 0 {
            return Ok(());
        }
        self.block += 1;
        let keys = &mut self.key_block[..self.in_block * KEY_BYTES];
        let positions = &mut self.position_block[..self.in_block * POSITION_BYTES];
        let mut sum = [0; 4];
        self.keys.read_exact(keys)?;
        self.positions.read_exact(positions)?;
        self.sums.read_exact(&mut sum)?;
        if u32::from_le_bytes(sum) != checksum(keys, positions) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("`{}` is damaged: the checksum of a block is wrong", self.path.display()),
            ));
        }
        Ok(())
    }
}

/// Writes a run under a temporary name, then gives it its own.
pub(crate) struct RunWriter {
    keys: BufWriter<File>,
    positions: BufWriter<File>,
    directory: PathBuf,
    temporary: PathBuf,
    key_block: Vec<u8>,
    position_block: Vec<u8>,
    sums: Vec<u32>,
    fences: Vec<u32>,
    /// Records that were announced, and that came.
    announced: u64,
    count: u64,
    unsynced: u64,
    from: u64,
    to: u64,
}

impl RunWriter {
    /// Begins a run of so many records that covers that part of the log.
    pub fn new(directory: &Path, from: u64, to: u64, count: u64) -> io::Result<Self> {
        let temporary = directory.join(format!("{}.tmp", Run::file_name(from, to)));
        let layout = Layout::of(count).ok_or(io::ErrorKind::InvalidInput)?;
        let keys = File::create(&temporary)?;
        let mut positions = File::options().write(true).open(&temporary)?;
        positions.seek(SeekFrom::Start(layout.positions))?;
        Ok(Self {
            keys: BufWriter::with_capacity(STREAM_BYTES, keys),
            positions: BufWriter::with_capacity(STREAM_BYTES, positions),
            directory: directory.to_owned(),
            temporary,
            key_block: Vec::with_capacity(BLOCK_BYTES),
            position_block: Vec::with_capacity(BLOCK_RECORDS * POSITION_BYTES),
            // Exactly as many as there will be: growing would take thrice the room for a while.
            sums: Vec::with_capacity(usize::try_from(layout.blocks).unwrap_or(0)),
            fences: Vec::with_capacity(usize::try_from(layout.blocks).unwrap_or(0)),
            announced: count,
            count: 0,
            unsynced: 0,
            from,
            to,
        })
    }

    /// Adds a record; they must come in order.
    pub fn push(&mut self, key: UrlKey, position: u64) -> io::Result<()> {
        if self.key_block.is_empty() {
            self.fences.push(fence_of(key));
        }
        self.key_block.extend_from_slice(&key.high.to_le_bytes());
        self.key_block.extend_from_slice(&key.low.to_le_bytes());
        self.position_block.extend_from_slice(&position.to_le_bytes());
        self.count += 1;
        if self.key_block.len() == BLOCK_BYTES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.sums.push(checksum(&self.key_block, &self.position_block));
        self.keys.write_all(&self.key_block)?;
        self.positions.write_all(&self.position_block)?;
        self.unsynced += (self.key_block.len() + self.position_block.len()) as u64;
        self.key_block.clear();
        self.position_block.clear();
        if self.unsynced >= SYNC_BYTES {
            self.unsynced = 0;
            self.keys.get_ref().sync_data()?;
        }
        Ok(())
    }

    /// Makes the run durable and opens it.
    pub fn finish(mut self) -> io::Result<Run> {
        if !self.key_block.is_empty() {
            self.end_block()?;
        }
        if self.count != self.announced {
            let what = format!("{} known URLs came where {} were announced", self.count, self.announced);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let mut sum = crc32fast::Hasher::new();
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.extend_from_slice(&MAGIC);
        trailer.extend_from_slice(&VERSION.to_le_bytes());
        for number in [self.from, self.to, self.count] {
            trailer.extend_from_slice(&number.to_le_bytes());
        }
        self.keys.flush()?;
        // The rest follows the positions.
        for word in self.sums.iter().chain(&self.fences) {
            sum.update(&word.to_le_bytes());
            self.positions.write_all(&word.to_le_bytes())?;
        }
        sum.update(&trailer);
        trailer.extend_from_slice(&u64::from(sum.finalize()).to_le_bytes());
        self.positions.write_all(&trailer)?;
        self.positions.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        let path = self.directory.join(Run::file_name(self.from, self.to));
        std::fs::rename(&self.temporary, &path)?;
        sync_directory(&self.directory)?;
        let file = open_to_look(&path)?;
        Ok(Run { path, file, fences: self.fences, count: self.count, from: self.from, to: self.to })
    }
}

fn checksum(first: &[u8], second: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(first);
    hasher.update(second);
    hasher.finalize()
}

/// Opens a file for very many short reads. The system is asked not to note each of them as a visit, which it grants to owners.
fn open_to_look(path: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let unnoted = rustix::fs::OFlags::NOATIME.bits() as i32;
        if let Ok(file) = File::options().read(true).custom_flags(unnoted).open(path) {
            return Ok(file);
        }
    }
    File::open(path)
}

/// Makes a rename in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    // Elsewhere a directory cannot be opened like a file, and renames need no such help.
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

/// Reads at a place of a file without moving anybody's position in it.
pub(crate) fn read_exact_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let read = read_some_at(file, buffer, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        buffer = &mut buffer[read..];
        at += read as u64;
    }
    Ok(())
}

/// The same as far as the file goes; gives how much that is.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match read_some_at(file, &mut buffer[read..], at + read as u64)? {
            0 => break,
            more => read += more,
        }
    }
    Ok(read)
}

fn read_some_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, buffer, at);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, at);
        match read {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn write(directory: &Path, keys: &[(UrlKey, u64)]) -> Run {
        let mut writer = RunWriter::new(directory, 16, 99, keys.len() as u64).unwrap();
        keys.iter().for_each(|&(key, position)| writer.push(key, position).unwrap());
        writer.finish().unwrap()
    }

    fn read_all(run: &Run) -> Vec<(UrlKey, u64)> {
        let mut records = run.records().unwrap();
        std::iter::from_fn(|| records.next().unwrap()).collect()
    }

    /// One thread makes a filter from a run that another has just merged into a larger one.
    #[test]
    fn a_run_that_was_removed_is_read_on() {
        let directory = tempfile::tempdir().unwrap();
        let keys: Vec<(UrlKey, u64)> =
            (0..500).map(|number| (UrlKey { high: number << 40, low: number }, number)).collect();
        let run = write(directory.path(), &keys);
        run.remove();
        assert_eq!(read_all(&run), keys);
        let mut told = 0;
        run.each_key(|_| {
            told += 1;
            true
        })
        .unwrap();
        assert_eq!(told, keys.len());
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
            let key = |(high, low): (u64, u64)| UrlKey { high: if narrow { (high % 3) << 32 } else { high }, low };
            let mut keys: Vec<(UrlKey, u64)> = numbers.into_iter().map(|(pair, at)| (key(pair), at)).collect();
            keys.sort_unstable();
            keys.dedup_by_key(|(key, _)| *key);
            write(directory.path(), &keys);
            let run = Run::open(&directory.path().join(Run::file_name(16, 99))).unwrap();
            prop_assert_eq!(read_all(&run), keys.clone());
            let mut told = 0;
            run.each_key(|_| { told += 1; true }).unwrap();
            prop_assert_eq!(told, keys.len());
            let mut block = [0; BLOCK_BYTES];
            let mut find = |key| run.find(key, &mut block).unwrap().map(|number| run.position(number).unwrap());
            for &(key, position) in &keys {
                prop_assert_eq!(find(key), Some(position));
            }
            for other in others.into_iter().map(key) {
                let expected = keys.binary_search_by_key(&other, |(key, _)| *key).ok().map(|at| keys[at].1);
                prop_assert_eq!(find(other), expected);
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
        for at in [whole.len() - TRAILER_BYTES - 2, whole.len() - 20] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            assert!(Run::open(&path).is_err(), "a bit at {at}");
        }
        // A damaged block is found when it is gone through, in its keys and in its positions.
        for at in [BLOCK_BYTES + 5, keys.len() * KEY_BYTES + 900] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
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
        // Another version is called by its name.
        let mut older = whole.clone();
        older[whole.len() - TRAILER_BYTES + 4] = 1;
        std::fs::write(&path, older).unwrap();
        let error = Run::open(&path).unwrap_err().to_string();
        assert!(error.ends_with("has version 1, known is 4"), "{error}");
    }

    #[test]
    fn a_run_has_as_many_records_as_were_announced() {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = RunWriter::new(directory.path(), 16, 99, 2).unwrap();
        writer.push(UrlKey { high: 1, low: 1 }, 16).unwrap();
        assert!(writer.finish().is_err());
    }

    #[test]
    fn names_say_what_is_covered() {
        assert_eq!(Run::parse_name(&Run::file_name(16, u64::MAX)), Some((16, u64::MAX)));
        for name in ["", ".run", "1-2", "1-2.run.tmp", "x-2.run", "12.run"] {
            assert_eq!(Run::parse_name(name), None, "{name}");
        }
    }
}
