#![doc = include_str!("../README.md")]

pub mod address;
mod bandwidth;
mod body;
mod config;
mod connect;
mod cookies;
mod credentials;
pub mod decode;
mod fetcher;
mod headers;
mod hosts;
mod pool;
mod proxy;
mod resolve;
pub mod robots;
mod spill;
mod stats;
mod tape;
mod trust;
mod unwanted;
mod within;

pub use config::{FetchConfig, FetchSetupError, Preference};
pub use credentials::{AuthRule, CredentialError, HeaderRule};
pub use decode::{Decoded, decode_capped};
pub use fetcher::{Fetcher, Followed, Wanted};
pub use headers::redirect_to;
pub use proxy::{Proxy, ProxyError};
pub use resolve::{Resolve, ResolveError, ResolveRule, ResolveRuleError, SystemResolver};
pub use robots::{MemoryRobotsStore, RobotsRecord, RobotsRules, RobotsStore};
pub use stats::FetchStats;
pub use tape::Tape;
pub use trust::{client_tls, tls_reason};
pub use unwanted::{TypePattern, TypePatternError};
