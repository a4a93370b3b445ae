#![doc = include_str!("../README.md")]

pub mod cdxj;
pub mod check;
pub mod digest;
pub mod elsewhere;
pub mod fields;
pub mod find;
pub mod http;
pub mod objects;
pub mod read;
pub mod record;
pub mod store;
pub mod surt;
pub mod write;

pub use elsewhere::{Body, Stored};
pub use find::{Archive, Capture, FindError, StoredAnswer, read_answer};
pub use read::{Packing, Problem, ReadError, Reader, Record};
pub use record::{Format, RecordHead, RecordKind};
pub use store::{BodyStore, LocalStore};
pub use write::{
    ArchiveSettings, ArchiveWriter, CaptureMaker, Dictionary, DictionarySource, Notes, PackedCapture, Place,
    WriteError,
};
