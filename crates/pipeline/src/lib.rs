#![doc = include_str!("../README.md")]

pub mod archive;
mod commit;
pub mod contexts;
pub mod control;
pub mod counters;
mod cpu;
pub mod crawl;
mod files;
pub mod journal;
pub mod metadata;
pub mod process;
pub mod replay;
pub mod rules;
pub mod services;
pub mod sources;
pub mod spec;
pub mod spool;
pub mod wiring;

pub use archive::{ArchiveSpec, DictionarySetting, Keep};
pub use contexts::{ContextCache, ContextLimits};
pub use control::{ChangeError, CrawlControl, CrawlState};
pub use counters::{Counters, Latency, Phase, PhaseNumbers, StepNumbers};
pub use crawl::{CrawlError, CrawlSummary, Stop};
pub use files::ask_for_all_files;
pub use journal::{Entry, Journal};
pub use replay::{Replay, ReplayError, ReplaySummary};
pub use services::ServiceNumbers;
pub use sources::{SourceKind, SourceSpec};
pub use spec::{CrawlSpec, RawSpec, SpecProblem, SpecProblems, StoredLinks};
pub use spool::{Order, Spool};
pub use wiring::{Crawl, DataDir};
