#![doc = include_str!("../README.md")]

mod config;
pub mod contract;
mod fjall_frontier;
mod linkers;
mod log;
pub mod measure;
mod memory_frontier;
mod numbers;
mod queue;
mod record;
mod schedule;
mod seen;
mod threads;
mod url_state;

pub use config::{DomainBudget, FrontierConfig, Recrawl};
pub use fjall_frontier::{Blob, FjallFrontier};
pub use memory_frontier::MemoryFrontier;
pub use url_state::{UrlState, UrlStatus};
