//! What records have in common, said once at the start of each file: a dictionary for zstd.
//!
//! In: samples of records, or a file with a dictionary that somebody trained. Out: a [`Dictionary`], which packs records into frames
//! of a tenth to a half less than frames on their own, for a record is short and its head is much like that of the one before. A file
//! that uses one begins with it, in a frame that readers without knowledge of it skip, so that the file can be read alone.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use tracing::{info, warn};
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::EncoderDictionary;
use zstd::zstd_safe::CParameter;

use crate::read::{DICTIONARY_BYTES_MAX, DICTIONARY_FRAME, unpack_dictionary};

/// How hard records are packed.
const LEVEL: i32 = 3;
/// How hard a dictionary is, which is done once for a file.
const DICTIONARY_LEVEL: i32 = 19;
/// The length of a trained dictionary, that of zstd's own tool.
const TRAINED_BYTES: usize = 110 << 10;
/// Samples that are trained on; a hundred times the dictionary is what zstd asks for.
const SAMPLES_BYTES: usize = 8 << 20;
/// Of a long record only the start is a sample: one page must not crowd out the others.
const SAMPLE_BYTES_MAX: usize = 32 << 10;
/// What every dictionary that was trained begins with.
const TRAINED_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// Where the dictionary of an archive comes from.
#[derive(Debug, Clone, Default)]
pub enum DictionarySource {
    /// There is none.
    #[default]
    None,
    /// It is trained on the first records, and kept beside the files for those to come.
    Train,
    /// Somebody trained it.
    Given(Arc<Dictionary>),
}

/// A dictionary, ready to be used on any thread.
pub struct Dictionary {
    bytes: Vec<u8>,
    prepared: EncoderDictionary<'static>,
}

impl std::fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dictionary").field("bytes", &self.bytes.len()).finish_non_exhaustive()
    }
}

impl Dictionary {
    /// Takes what was trained by `zstd --train` or here, packed with zstd or not.
    pub fn new(bytes: &[u8]) -> io::Result<Self> {
        let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let bytes = unpack_dictionary(bytes.to_vec())?;
        if !bytes.starts_with(&TRAINED_MAGIC) {
            return Err(invalid("is no zstd dictionary; `zstd --train` makes one"));
        }
        let prepared = EncoderDictionary::try_copy(&bytes, LEVEL)?;
        Ok(Self { bytes, prepared })
    }

    /// Trains one on records; a few hundred and some MB of them should be there.
    pub fn train(records: &[impl AsRef<[u8]>]) -> io::Result<Self> {
        Self::new(&zstd::dict::from_samples(records, TRAINED_BYTES)?)
    }

    /// The same from a file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.take(DICTIONARY_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > DICTIONARY_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "is too long for a zstd dictionary"));
        }
        Self::new(&bytes)
    }

    /// The dictionary itself.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What a file begins with: the dictionary, packed, in a frame that is skipped by whoever does not know it.
    pub(crate) fn frame(&self) -> io::Result<Vec<u8>> {
        let packed = zstd::bulk::compress(&self.bytes, DICTIONARY_LEVEL)?;
        let length = u32::try_from(packed.len()).map_err(io::Error::other)?;
        Ok([&DICTIONARY_FRAME[..], &length.to_le_bytes(), &packed].concat())
    }
}

/// Packs a record into one frame.
pub(crate) fn pack(record: &[u8], dictionary: Option<&Dictionary>) -> io::Result<Vec<u8>> {
    let mut packer = match dictionary {
        Some(dictionary) => Compressor::with_prepared_dictionary(&dictionary.prepared)?,
        None => Compressor::new(LEVEL)?,
    };
    // The length and the checksum belong into the frame: readers and repair tools use both.
    packer.set_parameter(CParameter::ChecksumFlag(true))?;
    packer.compress(record)
}

/// Packs a frame anew, with another dictionary.
pub(crate) fn repack(
    frame: &[u8],
    from: Option<&Dictionary>,
    to: Option<&Dictionary>,
) -> io::Result<Vec<u8>> {
    let mut unpacker = match from {
        Some(dictionary) => Decompressor::with_dictionary(&dictionary.bytes)?,
        None => Decompressor::new()?,
    };
    // We packed it, so its length is in it.
    let length = zstd::zstd_safe::get_frame_content_size(frame)
        .ok()
        .flatten()
        .and_then(|length| usize::try_from(length).ok())
        .ok_or_else(|| io::Error::other("a packed record does not say its length"))?;
    pack(&unpacker.decompress(frame, length)?, to)
}

/// Records that a dictionary is to be trained on.
#[derive(Debug, Default)]
struct Samples {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

/// The dictionary that records are packed with now, or the samples that it will be trained on.
#[derive(Debug, Default)]
pub(crate) struct Dictionaries {
    current: RwLock<Option<Arc<Dictionary>>>,
    /// Nothing when none is to be trained, or any more.
    samples: Mutex<Option<Samples>>,
}

impl Dictionaries {
    /// The dictionary, or samples to be gathered for one.
    pub(crate) fn of(source: &DictionarySource) -> Self {
        let (current, samples) = match source {
            DictionarySource::None => (None, None),
            DictionarySource::Train => (None, Some(Samples::default())),
            DictionarySource::Given(dictionary) => (Some(dictionary.clone()), None),
        };
        Self { current: RwLock::new(current), samples: Mutex::new(samples) }
    }

    pub(crate) fn current(&self) -> Option<Arc<Dictionary>> {
        self.current.read().clone()
    }

    /// Takes a record as a sample. The thread that brings the last one trains.
    pub(crate) fn sample(&self, record: &[u8]) {
        let full = {
            let mut samples = self.samples.lock();
            let Some(gathered) = samples.as_mut() else { return };
            let sample = &record[..record.len().min(SAMPLE_BYTES_MAX)];
            gathered.bytes.extend_from_slice(sample);
            gathered.lengths.push(sample.len());
            if gathered.bytes.len() < SAMPLES_BYTES {
                return;
            }
            samples.take()
        };
        let Some(samples) = full else { return };
        match zstd::dict::from_continuous(&samples.bytes, &samples.lengths, TRAINED_BYTES)
            .and_then(|bytes| Dictionary::new(&bytes))
        {
            Ok(dictionary) => {
                info!(
                    records = samples.lengths.len(),
                    bytes = dictionary.bytes.len(),
                    "a dictionary was trained for the archive"
                );
                *self.current.write() = Some(Arc::new(dictionary));
            }
            Err(error) => warn!(%error, "no dictionary could be trained; the archive is written without"),
        }
    }
}

/// True when both are the same one, or none.
pub(crate) fn is_same(one: Option<&Arc<Dictionary>>, other: Option<&Arc<Dictionary>>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        _ => false,
    }
}
