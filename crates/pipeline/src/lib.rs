#![doc = include_str!("../README.md")]

mod commit;
pub mod contexts;
pub mod counters;
mod cpu;
pub mod crawl;
pub mod metadata;
pub mod process;
pub mod spec;
pub mod wiring;

pub use contexts::{ContextCache, ContextLimits};
pub use counters::{Counters, Phase, PhaseNumbers};
pub use crawl::{CrawlError, CrawlSummary, Stop};
pub use spec::{CrawlSpec, RawSpec, SpecProblem, SpecProblems, StoredLinks};
pub use wiring::{Crawl, DataDir};
