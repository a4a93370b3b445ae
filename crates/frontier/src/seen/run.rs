//! One sorted, immutable file of keys and the positions they stand for.
//!
//! ```text
//! keys      12 bytes each, the first 96 bits of a key: 64 and 32, little-endian; sorted; 64 of them are a block
//! positions 8 bytes each, in the order of the keys
//! sums      4 bytes a block: checksum of its keys and its positions
//! fences    8 bytes a block: the first 64 bits of its first key
//! trailer   magic, version, from, to, count, checksum of sums, fences and trailer
//! ```
//!
//! Keys and fences are mapped, so that a run takes next to no memory but the system's own for files, which it can have back at any time. Keys are asked
//! for in order, many at a time: their blocks are found by a table of first bits and a short search among fences, and what they need is touched together, so
//! that it comes from memory side by side. Those of one site lie near each other. Within a site keys are evenly
//! spread: the place of a key in its block is guessed by a multiplication, and mostly one look tells whether it is there, however large the
//! run. Its position takes a read of 8 bytes, for those who want it. A run covers
//! the log from `from` to `to`; both are in its name too, so that a directory can be put in order without opening the files. A file is
//! complete once it has its final name.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::key::UrlKey;

/// A key that somebody asks for, with his number.
pub(super) type Sought = (UrlKey, u32);

const KEY_BYTES: usize = 12;
const POSITION_BYTES: usize = 8;
const BLOCK_RECORDS: usize = 64;
/// The keys of a block.
const BLOCK_BYTES: usize = BLOCK_RECORDS * KEY_BYTES;
const FENCE_BYTES: usize = 8;
const SUM_BYTES: usize = 4;
/// Keys that are looked at ahead of being searched for.
const LOOK_AHEAD: usize = 64;
/// How far from where it is guessed a key mostly is.
const NEAR: usize = 3;
const TRAILER_BYTES: usize = 40;
const MAGIC: [u8; 4] = *b"wlsr";
const VERSION: u32 = 5;
/// Bytes read or written at once when a run is gone through from end to end.
const STREAM_BYTES: usize = 256 * 1024;
/// Bytes after which what was written is sent to the disk, so that nobody else's write waits behind gigabytes of ours.
const SYNC_BYTES: u64 = 32 << 20;

/// An open run.
#[derive(Debug)]
pub(crate) struct Run {
    path: PathBuf,
    file: File,
    keys: Mapped,
    fences: Mapped,
    top: Top,
    /// Records.
    pub count: u64,
    /// Covers the log from here
    pub from: u64,
    /// to here.
    pub to: u64,
}

/// Where the parts of a run of so many records lie.
#[derive(Debug, Clone, Copy)]
struct Layout {
    positions: u64,
    sums: u64,
    fences: u64,
    trailer: u64,
}

impl Layout {
    /// Nothing when there can be no such file.
    fn of(count: u64) -> Option<Self> {
        let blocks = count.div_ceil(BLOCK_RECORDS as u64);
        let positions = count.checked_mul(KEY_BYTES as u64)?;
        let sums = positions.checked_add(count.checked_mul(POSITION_BYTES as u64)?)?;
        let fences = sums.checked_add(blocks * SUM_BYTES as u64)?;
        Some(Self { positions, sums, fences, trailer: fences.checked_add(blocks * FENCE_BYTES as u64)? })
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
        let mut sum = crc32fast::Hasher::new();
        let mut tables =
            BufReader::with_capacity(STREAM_BYTES, Part { file: file.try_clone()?, at: layout.sums })
                .take(trailer_at - layout.sums);
        loop {
            let some = tables.fill_buf()?;
            if some.is_empty() {
                break;
            }
            sum.update(some);
            let length = some.len();
            tables.consume(length);
        }
        sum.update(&trailer[..32]);
        if number64(&trailer[32..]) != u64::from(sum.finalize()) {
            return Err(broken("its checksum"));
        }
        Self::map(path.to_owned(), file, layout, count, from, to)
    }

    fn map(path: PathBuf, file: File, layout: Layout, count: u64, from: u64, to: u64) -> io::Result<Self> {
        let keys = Mapped::new(&file, 0..layout.positions)?;
        let fences = Mapped::new(&file, layout.fences..layout.trailer)?;
        let top = Top::of(fences.records())?;
        Ok(Self { path, file, keys, fences, top, count, from, to })
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

    /// Looks for keys that come in order. Those that are here are told with their numbers in the order of the run, the others left in `missing`.
    pub fn find_all(
        &self,
        sought: &[Sought],
        missing: &mut Vec<Sought>,
        mut tell: impl FnMut(Sought, u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let (keys, fences) = (self.keys.records(), self.fences.records());
        // Most of the run is far from the processor. What many keys need is looked at together before the first of them is searched for, so that it
        // comes from there side by side: first the fences, then the keys.
        let mut blocks: [Range<usize>; LOOK_AHEAD] = std::array::from_fn(|_| 0..0);
        let mut guesses = [0; LOOK_AHEAD];
        for some in sought.chunks(LOOK_AHEAD) {
            let mut looks = 0;
            for (blocks, (key, _)) in blocks.iter_mut().zip(some) {
                *blocks = self.top.blocks_like(key.high);
                looks ^= first_byte(fences, usize::midpoint(blocks.start, blocks.end));
            }
            for ((guess, blocks), (key, _)) in guesses.iter_mut().zip(&blocks).zip(some) {
                *guess = self.guess(block_of(fences, blocks, key.high), key.high);
            }
            for &guess in &guesses[..some.len()] {
                looks ^= first_byte(keys, guess.saturating_sub(NEAR)) ^ first_byte(keys, guess + NEAR);
            }
            std::hint::black_box(looks);
            for (&guess, &(key, asker)) in guesses.iter().zip(some) {
                let number = lower_bound(keys, key.short(), guess);
                match keys.get(number) {
                    Some(found) if short(found) == key.short() => tell((key, asker), number as u64)?,
                    _ => missing.push((key, asker)),
                }
            }
        }
        Ok(())
    }

    /// The position that a key stands for, by the number that [`Run::find_all`] told.
    pub fn position(&self, number: u64) -> io::Result<u64> {
        let mut bytes = [0; POSITION_BYTES];
        read_exact_at(
            &self.file,
            &mut bytes,
            self.count * KEY_BYTES as u64 + number * POSITION_BYTES as u64,
        )?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Which record a key is, about.
    fn guess(&self, block: usize, high: u64) -> usize {
        let fence = |block: usize| self.fences.records().get(block).map(|fence| u64::from_le_bytes(*fence));
        let (first, next) = (fence(block).unwrap_or(0), fence(block + 1).unwrap_or(u64::MAX));
        // Sixteen bits less, so that the product fits.
        let (far, width) = (high.saturating_sub(first) >> 16, (next.saturating_sub(first) >> 16).max(1));
        block * BLOCK_RECORDS + (far * BLOCK_RECORDS as u64 / width).min(BLOCK_RECORDS as u64) as usize
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

/// Records in the block of that number, of a run of so many.
fn records_in(count: u64, block: u64) -> usize {
    count.saturating_sub(block * BLOCK_RECORDS as u64).min(BLOCK_RECORDS as u64) as usize
}

/// Where the fences lie that begin with some bits: else all of them would have to be searched. Half a byte a block, made when a run is opened.
#[derive(Debug)]
struct Top {
    /// Bits of a key that do not count here.
    shift: u32,
    /// How many fences begin with less than this number, and behind the last one all of them.
    starts: Vec<u32>,
}

impl Top {
    const BLOCKS_PER_ENTRY: usize = 8;

    fn of(fences: &[[u8; FENCE_BYTES]]) -> io::Result<Self> {
        let blocks = u32::try_from(fences.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        // One bit at least, for nothing can be shifted by all of its own.
        let bits = (fences.len() / Self::BLOCKS_PER_ENTRY).max(2).ilog2();
        let shift = u64::BITS - bits;
        let mut starts = Vec::with_capacity((1 << bits) + 1);
        for (number, fence) in (0..blocks).zip(fences) {
            let prefix = (u64::from_le_bytes(*fence) >> shift) as usize;
            if starts.len() <= prefix {
                starts.resize(prefix + 1, number);
            }
        }
        starts.resize((1 << bits) + 1, blocks);
        Ok(Self { shift, starts })
    }

    /// The blocks whose fences begin like a key.
    fn blocks_like(&self, high: u64) -> Range<usize> {
        let prefix = (high >> self.shift) as usize;
        self.starts[prefix] as usize..self.starts[prefix + 1] as usize
    }
}

/// The last block whose fence is not above a key, or the first of all, by those whose fences begin like it.
fn block_of(fences: &[[u8; FENCE_BYTES]], alike: &Range<usize>, high: u64) -> usize {
    let before = fences[alike.clone()].partition_point(|fence| u64::from_le_bytes(*fence) <= high);
    (alike.start + before).saturating_sub(1)
}

/// The first byte of a record, for who only wants it near; nothing behind the end.
fn first_byte<const BYTES: usize>(records: &[[u8; BYTES]], number: usize) -> u8 {
    records.get(number).map_or(0, |record| record[0])
}

/// A key as it is written.
type KeyBytes = [u8; KEY_BYTES];

fn short(key: &KeyBytes) -> (u64, u32) {
    (number64(key), number32(&key[8..]))
}

/// How many of these keys stand before one; looked for from a guess outwards.
fn lower_bound(keys: &[KeyBytes], key: (u64, u32), guess: usize) -> usize {
    gallop(keys.len(), guess, |number| short(&keys[number]) < key)
}

/// Of so many things in a row, of which some are said to be before something and all that follow are not, how many those are. They are looked for from a
/// guess outwards, in growing steps, then by halves.
fn gallop(count: usize, guess: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    let (mut at, mut step) = (guess.min(count.saturating_sub(1)), 1);
    if at < count && is_before(at) {
        low = at + 1;
        while low < high {
            at = (low + step - 1).min(high - 1);
            if !is_before(at) {
                high = at;
                break;
            }
            low = at + 1;
            step *= 2;
        }
    } else {
        high = at;
        while low < high {
            at = high.saturating_sub(step).max(low);
            if is_before(at) {
                low = at + 1;
                break;
            }
            high = at;
            step *= 2;
        }
    }
    while low < high {
        let middle = usize::midpoint(low, high);
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
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
        let key = self.key_block.as_chunks().0.get(self.number).map(short);
        self.number += 1;
        Ok(key.map(|(high, low)| (UrlKey::from_short(high, low), position)))
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
    /// The parts of the file, each written on from where it begins.
    keys: BufWriter<File>,
    positions: BufWriter<File>,
    sums: Summed,
    fences: Summed,
    directory: PathBuf,
    temporary: PathBuf,
    layout: Layout,
    key_block: Vec<u8>,
    position_block: Vec<u8>,
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
        let part = |at: u64| -> io::Result<BufWriter<File>> {
            let mut file = File::options().write(true).open(&temporary)?;
            file.seek(SeekFrom::Start(at))?;
            Ok(BufWriter::with_capacity(STREAM_BYTES, file))
        };
        Ok(Self {
            keys: BufWriter::with_capacity(STREAM_BYTES, keys),
            positions: part(layout.positions)?,
            sums: Summed::new(part(layout.sums)?),
            fences: Summed::new(part(layout.fences)?),
            directory: directory.to_owned(),
            temporary,
            layout,
            key_block: Vec::with_capacity(BLOCK_BYTES),
            position_block: Vec::with_capacity(BLOCK_RECORDS * POSITION_BYTES),
            announced: count,
            count: 0,
            unsynced: 0,
            from,
            to,
        })
    }

    /// Adds a record; they must come in order.
    pub fn push(&mut self, key: UrlKey, position: u64) -> io::Result<()> {
        let (high, low) = key.short();
        if self.key_block.is_empty() {
            self.fences.write(&high.to_le_bytes())?;
        }
        self.key_block.extend_from_slice(&high.to_le_bytes());
        self.key_block.extend_from_slice(&low.to_le_bytes());
        self.position_block.extend_from_slice(&position.to_le_bytes());
        self.count += 1;
        if self.key_block.len() == BLOCK_BYTES { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.sums.write(&checksum(&self.key_block, &self.position_block).to_le_bytes())?;
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
        let mut trailer = Vec::with_capacity(TRAILER_BYTES);
        trailer.extend_from_slice(&MAGIC);
        trailer.extend_from_slice(&VERSION.to_le_bytes());
        for number in [self.from, self.to, self.count] {
            trailer.extend_from_slice(&number.to_le_bytes());
        }
        let mut sum = self.sums.sum;
        sum.combine(&self.fences.sum);
        sum.update(&trailer);
        trailer.extend_from_slice(&u64::from(sum.finalize()).to_le_bytes());
        self.keys.flush()?;
        self.positions.flush()?;
        self.sums.out.flush()?;
        // It follows the fences.
        self.fences.out.write_all(&trailer)?;
        self.fences.out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()?;
        let path = self.directory.join(Run::file_name(self.from, self.to));
        std::fs::rename(&self.temporary, &path)?;
        sync_directory(&self.directory)?;
        let file = open_to_look(&path)?;
        Run::map(path, file, self.layout, self.count, self.from, self.to)
    }
}

/// A part of the file that the checksum at its end covers.
struct Summed {
    out: BufWriter<File>,
    sum: crc32fast::Hasher,
}

impl Summed {
    fn new(out: BufWriter<File>) -> Self {
        Self { out, sum: crc32fast::Hasher::new() }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.out.write_all(bytes)
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

/// A part of a finished run, mapped; nothing when it is empty.
#[derive(Debug)]
struct Mapped(Option<Mmap>);

impl Mapped {
    #[expect(
        unsafe_code,
        reason = "mapping a file is unsafe because another process could change it; nobody changes a run that has its final name"
    )]
    fn new(file: &File, part: Range<u64>) -> io::Result<Self> {
        let length = usize::try_from(part.end - part.start).map_err(|_| io::ErrorKind::OutOfMemory)?;
        if length == 0 {
            return Ok(Self(None));
        }
        // SAFETY: a run is written under another name, and only ever removed once it has its own.
        let map = unsafe { memmap2::MmapOptions::new().offset(part.start).len(length).map(file) }?;
        // What lies around a key is of no use to the next one, unless it is there already.
        #[cfg(unix)]
        map.advise(memmap2::Advice::Random)?;
        Ok(Self(Some(map)))
    }

    fn records<const BYTES: usize>(&self) -> &[[u8; BYTES]] {
        self.0.as_deref().map_or(&[], |bytes| bytes.as_chunks().0)
    }
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
    use std::collections::BTreeMap;

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
            (0..500).map(|number| (UrlKey { high: number << 40, low: number << 32 }, number)).collect();
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
            numbers in prop::collection::btree_map(any::<(u64, u32)>(), any::<u64>(), 0..3000),
            others in prop::collection::vec(any::<(u64, u32)>(), 0..200),
            step in 1_usize..400,
        ) {
            let directory = tempfile::tempdir().unwrap();
            let key = |(high, low)| UrlKey::from_short(if narrow { (high % 3) << 32 } else { high }, low);
            let mut keys: Vec<(UrlKey, u64)> = numbers.into_iter().map(|(pair, at)| (key(pair), at)).collect();
            keys.sort_unstable();
            keys.dedup_by_key(|(key, _)| *key);
            write(directory.path(), &keys);
            let run = Run::open(&directory.path().join(Run::file_name(16, 99))).unwrap();
            prop_assert_eq!(read_all(&run), keys.clone());
            let mut told = 0;
            run.each_key(|_| { told += 1; true }).unwrap();
            prop_assert_eq!(told, keys.len());
            let find = |sought: &[UrlKey]| -> BTreeMap<UrlKey, Option<u64>> {
                let sought: Vec<Sought> = sought.iter().copied().zip(0..).collect();
                let (mut missing, mut found) = (Vec::new(), BTreeMap::new());
                run.find_all(&sought, &mut missing, |(key, _), number| {
                    found.insert(key, Some(run.position(number)?));
                    Ok(())
                })
                .unwrap();
                found.extend(missing.into_iter().map(|(key, _)| (key, None)));
                found
            };
            let mut asked: Vec<UrlKey> = keys.iter().map(|(key, _)| *key).chain(others.into_iter().map(key)).collect();
            asked.sort_unstable();
            asked.dedup();
            let known: BTreeMap<UrlKey, u64> = keys.into_iter().collect();
            let expected: BTreeMap<UrlKey, Option<u64>> = asked.iter().map(|key| (*key, known.get(key).copied())).collect();
            // All together, some, and each by itself.
            prop_assert_eq!(find(&asked), expected.clone());
            let some: Vec<UrlKey> = asked.iter().copied().step_by(step).collect();
            prop_assert!(find(&some).iter().all(|(key, position)| expected[key] == *position));
            for key in asked {
                prop_assert_eq!(find(&[key])[&key], expected[&key]);
            }
        }
    }

    #[test]
    fn a_damaged_run_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let keys: Vec<_> =
            (0..500).map(|number| (UrlKey { high: number << 50, low: 7 << 32 }, number)).collect();
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
        assert!(error.ends_with("has version 1, known is 5"), "{error}");
    }

    #[test]
    fn the_top_leads_to_the_block_that_a_search_through_all_fences_finds() {
        for (count, step) in [
            (0, 0),
            (1, 0),
            (1, u64::MAX),
            (15, 1 << 60),
            (16, 1 << 59),
            (1000, 1 << 30),
            (1000, u64::MAX / 999),
            (5000, 0),
        ] {
            let fences: Vec<[u8; FENCE_BYTES]> =
                (0..count).map(|number: u64| (number * step).to_le_bytes()).collect();
            let top = Top::of(&fences).unwrap();
            let near = |number: u64| [number.saturating_sub(1), number, number.saturating_add(1)];
            let asked = (0..count).map(|number| number * step).chain([0, 1 << 63, u64::MAX]);
            for high in asked.flat_map(near) {
                let before = fences.partition_point(|fence| u64::from_le_bytes(*fence) <= high);
                let block = block_of(&fences, &top.blocks_like(high), high);
                assert_eq!(block, before.saturating_sub(1), "{count} fences, {step} apart, {high}");
            }
        }
    }

    #[test]
    fn a_gallop_ends_where_a_search_by_halves_does() {
        for count in 0..40 {
            for before in 0..=count {
                for guess in 0..count + 3 {
                    assert_eq!(gallop(count, guess, |at| at < before), before, "{count} {before} {guess}");
                }
            }
        }
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
