#![doc = include_str!("../README.md")]

pub mod address;
mod body;
mod config;
mod connect;
pub mod decode;
mod fetcher;
mod headers;
mod pool;
mod resolve;
pub mod robots;
mod stats;

pub use config::{FetchConfig, FetchSetupError};
pub use decode::{Decoded, decode_capped};
pub use fetcher::{Fetcher, Followed};
pub use resolve::{Resolve, ResolveError, ResolveRule, ResolveRuleError, SystemResolver};
pub use robots::{MemoryRobotsStore, RobotsRecord, RobotsRules, RobotsStore};
pub use stats::FetchStats;
