//! A packed file as a stream of unpacked bytes, member by member.
//!
//! In: a file of gzip members, of zstd frames, or of plain bytes. Out: the bytes, in a window of bounded size, together
//! with where in the file each member begins and ends. What a member *means* is the reader's business. Damage is an
//! answer ([`Damage`]): the reader decides where to go on, and [`Source::find_member`] finds the place.

use std::io::{self, Read, Seek, SeekFrom};

use flate2::{Decompress, FlushDecompress, Status};
use memchr::memchr;
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, Operation};

/// Packed bytes read at once.
const RAW_BYTES: usize = 256 << 10;
/// Unpacked bytes kept in the window.
const WINDOW_BYTES: usize = 256 << 10;
/// Longest gzip member header: its extra field can have 64 KiB, names are short.
const GZIP_HEAD_BYTES_MAX: usize = 128 << 10;
/// Longest dictionary of a zstd file.
pub(crate) const DICTIONARY_BYTES_MAX: usize = 64 << 20;
/// Windows of up to 128 MiB, the most that zstd's command line reads without being asked.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// Unpacked to see whether a member is one.
const PROBE_BYTES: usize = 64;

const ZSTD_FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// What begins the frame that holds the dictionary, the first of a file.
pub(crate) const DICTIONARY_FRAME: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// gzip, one member for each record if done well.
    Gzip,
    /// zstd, one frame for each record.
    Zstd,
}

/// Why no more bytes can be had from here.
#[derive(Debug)]
pub(crate) enum Damage {
    /// The bytes are not what they should be.
    Broken(String),
    /// The file cannot be read.
    Io(io::Error),
}

impl From<io::Error> for Damage {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn broken(what: impl Into<String>) -> Damage {
    Damage::Broken(what.into())
}

/// What [`Source::more`] came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    /// There are more bytes in the window.
    Bytes,
    /// The member has ended; for a plain file, the file.
    MemberEnd,
}

/// Bytes between `start` and `end` of a reusable allocation.
#[derive(Debug)]
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Buffer {
    fn new(size: usize) -> Self {
        Self { bytes: vec![0; size], start: 0, end: 0 }
    }

    fn available(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn len(&self) -> usize {
        self.end - self.start
    }

    fn consume(&mut self, amount: usize) {
        self.start += amount.min(self.len());
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    fn clear(&mut self) {
        (self.start, self.end) = (0, 0);
    }

    /// Makes room at the end, by moving what is there or, when all of it is wanted, by growing.
    fn make_room(&mut self) {
        if self.end < self.bytes.len() {
            return;
        }
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        } else {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
    }

    fn fill_from(&mut self, reader: &mut impl Read) -> io::Result<usize> {
        self.make_room();
        loop {
            match reader.read(&mut self.bytes[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(count) => {
                    self.end += count;
                    return Ok(count);
                }
            }
        }
    }
}

enum Unpacker {
    Plain,
    Gzip { inflate: Box<Decompress>, checksum: crc32fast::Hasher, length: u32 },
    Zstd(Box<ZstdDecoder<'static>>),
}

/// The stream.
pub(crate) struct Source<R> {
    file: R,
    /// Packed bytes; not used for plain files, which are read into the window.
    raw: Buffer,
    window: Buffer,
    /// Where in the file the next byte is read from.
    file_offset: u64,
    unpacker: Unpacker,
    in_member: bool,
    member_start: u64,
    /// Something that is wrong and does not end the member.
    pub(crate) remark: Option<String>,
}

impl<R: Read + Seek> Source<R> {
    /// Looks at the first bytes to see how the file is packed, and goes to `offset`.
    pub(crate) fn open(mut file: R, offset: u64) -> Result<Self, Damage> {
        file.seek(SeekFrom::Start(0))?;
        let dictionary = if offset > 0 { dictionary_of(&mut file)? } else { None };
        Self::open_with(file, offset, dictionary)
    }

    /// The same with the dictionary of the file, when what is read is only a part of it.
    pub(crate) fn open_with(mut file: R, offset: u64, dictionary: Option<Vec<u8>>) -> Result<Self, Damage> {
        file.seek(SeekFrom::Start(offset))?;
        let mut source = Self {
            file,
            raw: Buffer::new(RAW_BYTES),
            window: Buffer::new(WINDOW_BYTES),
            file_offset: offset,
            unpacker: Unpacker::Plain,
            in_member: false,
            member_start: offset,
            remark: None,
        };
        source.need_raw(4)?;
        match source.raw.available() {
            [0x1f, 0x8b, ..] => source.unpacker = gzip(),
            start if is_zstd(start) => {
                let dictionary = match dictionary {
                    None if offset == 0 => dictionary_at(source.raw.available(), &mut source.file)?,
                    known => known,
                };
                source.seek(offset)?;
                source.unpacker = Unpacker::Zstd(Box::new(zstd_decoder(dictionary.as_deref())?));
            }
            _ => source.seek(offset)?,
        }
        Ok(source)
    }

    pub(crate) fn packing(&self) -> Packing {
        match self.unpacker {
            Unpacker::Plain => Packing::Plain,
            Unpacker::Gzip { .. } => Packing::Gzip,
            Unpacker::Zstd(_) => Packing::Zstd,
        }
    }

    /// Unpacked bytes that are there.
    pub(crate) fn available(&self) -> &[u8] {
        self.window.available()
    }

    pub(crate) fn consume(&mut self, amount: usize) {
        self.window.consume(amount);
    }

    /// Where the current member begins, or began last.
    pub(crate) fn member_start(&self) -> u64 {
        self.member_start
    }

    /// The place in the file: of the next unpacked byte in a plain file, of the next packed one otherwise.
    pub(crate) fn position(&self) -> u64 {
        let waiting =
            if matches!(self.unpacker, Unpacker::Plain) { self.window.len() } else { self.raw.len() };
        self.file_offset - waiting as u64
    }

    /// Goes to another place, between members.
    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(offset))?;
        self.raw.clear();
        self.window.clear();
        self.file_offset = offset;
        self.in_member = false;
        Ok(())
    }

    /// Length of the file.
    pub(crate) fn length(&mut self) -> io::Result<u64> {
        let length = self.file.seek(SeekFrom::End(0))?;
        self.file.seek(SeekFrom::Start(self.file_offset))?;
        Ok(length)
    }

    /// Begins the next member. False at the end of the file.
    pub(crate) fn begin_member(&mut self) -> Result<bool, Damage> {
        if let Unpacker::Plain = self.unpacker {
            self.member_start = self.position();
            self.in_member = true;
            return Ok(self.more()? == More::Bytes || !self.window.available().is_empty());
        }
        self.member_start = self.position();
        self.need_raw(8)?;
        if self.raw.len() == 0 {
            return Ok(false);
        }
        match &mut self.unpacker {
            Unpacker::Plain => {}
            Unpacker::Gzip { inflate, checksum, length } => {
                inflate.reset(false);
                *checksum = crc32fast::Hasher::new();
                *length = 0;
                self.gzip_head()?;
            }
            Unpacker::Zstd(decoder) => {
                decoder.reinit()?;
                self.skip_skippable_frames()?;
                if self.raw.len() == 0 {
                    return Ok(false);
                }
                self.member_start = self.position();
            }
        }
        self.in_member = true;
        Ok(true)
    }

    /// Unpacks more of the current member into the window.
    pub(crate) fn more(&mut self) -> Result<More, Damage> {
        loop {
            if !self.in_member {
                return Ok(More::MemberEnd);
            }
            self.window.make_room();
            if let Unpacker::Plain = self.unpacker {
                let count = self.window.fill_from(&mut self.file)?;
                self.file_offset += count as u64;
                self.in_member = count > 0;
                return Ok(if count > 0 { More::Bytes } else { More::MemberEnd });
            }
            if self.raw.len() == 0 && !self.fill_raw()? {
                self.in_member = false;
                return Err(broken("the file ends within a member"));
            }
            let (taken, given, ended) = self.unpack()?;
            self.raw.consume(taken);
            let from = self.window.end;
            self.window.end += given;
            if let Unpacker::Gzip { checksum, length, .. } = &mut self.unpacker {
                checksum.update(&self.window.bytes[from..from + given]);
                *length = length.wrapping_add(given as u32);
            }
            if ended {
                self.in_member = false;
                self.gzip_tail()?;
            }
            if given > 0 {
                return Ok(More::Bytes);
            }
        }
    }

    /// One step of the unpacker: bytes taken, bytes given, whether the member has ended.
    fn unpack(&mut self) -> Result<(usize, usize, bool), Damage> {
        let input = self.raw.available();
        let output = &mut self.window.bytes[self.window.end..];
        match &mut self.unpacker {
            Unpacker::Plain => Ok((0, 0, true)),
            Unpacker::Gzip { inflate, .. } => {
                let (before_in, before_out) = (inflate.total_in(), inflate.total_out());
                let status = inflate
                    .decompress(input, output, FlushDecompress::None)
                    .map_err(|_| broken("the compressed data is damaged"))?;
                let taken = (inflate.total_in() - before_in) as usize;
                let given = (inflate.total_out() - before_out) as usize;
                if taken == 0 && given == 0 && status != Status::StreamEnd {
                    return Err(broken("the compressed data is damaged"));
                }
                Ok((taken, given, status == Status::StreamEnd))
            }
            Unpacker::Zstd(decoder) => {
                let status = decoder
                    .run_on_buffers(input, output)
                    .map_err(|error| broken(format!("the compressed data is damaged: {error}")))?;
                if status.bytes_read == 0 && status.bytes_written == 0 {
                    return Err(broken("the compressed data is damaged"));
                }
                Ok((status.bytes_read, status.bytes_written, status.remaining == 0))
            }
        }
    }

    /// Goes to the next place at or after `from` where a member begins whose bytes `look_right`. False when there is none.
    pub(crate) fn find_member(&mut self, from: u64, look_right: fn(&[u8]) -> bool) -> io::Result<bool> {
        let magic: &[u8] = match self.unpacker {
            Unpacker::Plain => return Ok(false),
            Unpacker::Gzip { .. } => &[0x1f, 0x8b, 0x08],
            Unpacker::Zstd(_) => &ZSTD_FRAME,
        };
        let mut from = from;
        loop {
            self.seek(from)?;
            let Some(candidate) = self.find_magic(magic)? else { return Ok(false) };
            if self.probe(candidate).is_ok_and(|start| look_right(&start)) {
                self.seek(candidate)?;
                self.remark = None;
                return Ok(true);
            }
            from = candidate + 1;
        }
    }

    fn find_magic(&mut self, magic: &[u8]) -> io::Result<Option<u64>> {
        loop {
            let bytes = self.raw.available();
            if bytes.len() < magic.len() {
                if self.fill_raw_io()? {
                    continue;
                }
                return Ok(None);
            }
            match memchr(magic[0], bytes) {
                Some(at) if bytes.len() - at < magic.len() => {
                    self.raw.consume(at);
                    if !self.fill_raw_io()? {
                        return Ok(None);
                    }
                }
                Some(at) if bytes[at..].starts_with(magic) => {
                    self.raw.consume(at);
                    return Ok(Some(self.position()));
                }
                Some(at) => self.raw.consume(at + 1),
                None => self.raw.consume(usize::MAX),
            }
        }
    }

    /// The first bytes of the member at a place.
    fn probe(&mut self, offset: u64) -> Result<Vec<u8>, Damage> {
        self.seek(offset)?;
        if !self.begin_member()? {
            return Ok(Vec::new());
        }
        while self.window.len() < PROBE_BYTES && self.more()? == More::Bytes {}
        let start = self.window.available();
        Ok(start[..start.len().min(PROBE_BYTES)].to_vec())
    }

    fn fill_raw(&mut self) -> Result<bool, Damage> {
        Ok(self.fill_raw_io()?)
    }

    fn fill_raw_io(&mut self) -> io::Result<bool> {
        let count = self.raw.fill_from(&mut self.file)?;
        self.file_offset += count as u64;
        Ok(count > 0)
    }

    /// Tries to have so many packed bytes at hand.
    fn need_raw(&mut self, count: usize) -> Result<bool, Damage> {
        while self.raw.len() < count {
            if !self.fill_raw()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn gzip_head(&mut self) -> Result<(), Damage> {
        loop {
            match gzip_head_length(self.raw.available()) {
                Ok(Some(length)) => {
                    self.raw.consume(length);
                    return Ok(());
                }
                Ok(None) if self.raw.len() < GZIP_HEAD_BYTES_MAX && self.fill_raw()? => {}
                Ok(None) => return Err(broken("the file ends within the head of a gzip member")),
                Err(what) => return Err(broken(what)),
            }
        }
    }

    /// Compares the checksum behind a gzip member. A difference is remarked: the bytes may be good all the same.
    fn gzip_tail(&mut self) -> Result<(), Damage> {
        let Unpacker::Gzip { checksum, length, .. } = &self.unpacker else { return Ok(()) };
        let expected = (checksum.clone().finalize(), *length);
        if !self.need_raw(8)? {
            self.raw.clear();
            self.remark = Some("the file ends within the checksum of a gzip member".to_owned());
            return Ok(());
        }
        let bytes = self.raw.available();
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if (word(0), word(4)) != expected {
            self.remark = Some("the checksum of the gzip member does not match its data".to_owned());
        }
        self.raw.consume(8);
        Ok(())
    }

    fn skip_skippable_frames(&mut self) -> Result<(), Damage> {
        while self.need_raw(8)? && is_skippable(self.raw.available()) {
            let bytes = self.raw.available();
            let length = u64::from(u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
            let target = self.position() + 8 + length;
            self.seek(target)?;
        }
        Ok(())
    }
}

fn gzip() -> Unpacker {
    Unpacker::Gzip {
        inflate: Box::new(Decompress::new(false)),
        checksum: crc32fast::Hasher::new(),
        length: 0,
    }
}

/// Length of a gzip member's head; nothing when more of it is needed.
fn gzip_head_length(bytes: &[u8]) -> Result<Option<usize>, &'static str> {
    const NO_MEMBER: &str = "there is no gzip member here";
    let magic = [0x1f, 0x8b, 0x08];
    if bytes.len() < 10 {
        return if magic.starts_with(&bytes[..bytes.len().min(3)]) || bytes.starts_with(&magic) {
            Ok(None)
        } else {
            Err(NO_MEMBER)
        };
    }
    let flags = bytes[3];
    if !bytes.starts_with(&magic) || flags & 0xe0 != 0 {
        return Err(NO_MEMBER);
    }
    let mut at = 10;
    if flags & 4 != 0 {
        let Some(length) = bytes.get(at..at + 2) else { return Ok(None) };
        at += 2 + usize::from(u16::from_le_bytes([length[0], length[1]]));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            let Some(end) = bytes.get(at..).and_then(|rest| memchr(0, rest)) else { return Ok(None) };
            at += end + 1;
        }
    }
    if flags & 2 != 0 {
        at += 2;
    }
    Ok((at <= bytes.len()).then_some(at))
}

fn is_skippable(bytes: &[u8]) -> bool {
    matches!(bytes, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

fn is_zstd(bytes: &[u8]) -> bool {
    bytes.starts_with(&ZSTD_FRAME) || is_skippable(bytes)
}

fn zstd_decoder(dictionary: Option<&[u8]>) -> Result<ZstdDecoder<'static>, Damage> {
    let mut decoder = match dictionary {
        Some(dictionary) => ZstdDecoder::with_dictionary(dictionary)?,
        None => ZstdDecoder::new()?,
    };
    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
    Ok(decoder)
}

/// The dictionary of a `.warc.zst`, which its first frame holds, from a file that stands at its start.
fn dictionary_of(file: &mut impl Read) -> Result<Option<Vec<u8>>, Damage> {
    let mut start = Vec::new();
    file.by_ref().take(8).read_to_end(&mut start)?;
    dictionary_at(&start, file)
}

/// The same, when `start` was read from the file already.
fn dictionary_at(start: &[u8], file: &mut impl Read) -> Result<Option<Vec<u8>>, Damage> {
    let [0x5d, 0x2a, 0x4d, 0x18, a, b, c, d, rest @ ..] = start else { return Ok(None) };
    let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
    if length > DICTIONARY_BYTES_MAX {
        return Err(broken(format!("the zstd dictionary is longer than {DICTIONARY_BYTES_MAX} bytes")));
    }
    let mut dictionary = rest[..rest.len().min(length)].to_vec();
    let missing = (length - dictionary.len()) as u64;
    file.take(missing).read_to_end(&mut dictionary)?;
    if dictionary.len() < length {
        return Err(broken("the file ends within its zstd dictionary"));
    }
    let unpacked = unpack_dictionary(dictionary);
    unpacked.map(Some).map_err(|error| broken(format!("the zstd dictionary is damaged: {error}")))
}

/// The dictionary of a file of which a part is to be read. `read` gives bytes of it: from where, and how many.
pub(crate) fn dictionary_by(
    read: impl Fn(u64, u64) -> io::Result<Vec<u8>>,
) -> Result<Option<Vec<u8>>, Damage> {
    let start = read(0, 8)?;
    let [0x5d, 0x2a, 0x4d, 0x18, a, b, c, d] = start[..] else { return Ok(None) };
    let length = u32::from_le_bytes([a, b, c, d]);
    dictionary_at(&start, &mut &read(8, u64::from(length).min(DICTIONARY_BYTES_MAX as u64))?[..])
}

/// A dictionary, which may itself be packed.
pub(crate) fn unpack_dictionary(dictionary: Vec<u8>) -> io::Result<Vec<u8>> {
    if !dictionary.starts_with(&ZSTD_FRAME) {
        return Ok(dictionary);
    }
    let mut unpacked = Vec::new();
    zstd::stream::read::Decoder::with_buffer(&dictionary[..])?
        .take(DICTIONARY_BYTES_MAX as u64)
        .read_to_end(&mut unpacked)?;
    Ok(unpacked)
}
