//! robots.txt: what it says, how long it is believed, and where it is kept.
//!
//! In: the bytes of a robots.txt, or how asking for one ended. Out: [`RobotsRules`] that say whether a URL may be
//! fetched and how slowly; a [`RobotsRecord`] that can be kept on disk by a [`RobotsStore`]. Lines and groups are read
//! in `rules.rs`, paths are compared in `pattern.rs`, what is remembered of a host is in `kept.rs`. Asking is
//! the fetcher's part. Start at [`RobotsRules::parse`].

mod kept;
mod lines;
mod pattern;
mod rules;

pub(crate) use kept::{KnownRobots, RobotsCache};
pub use kept::{MemoryRobotsStore, RobotsClass, RobotsRecord, RobotsStore};
pub use pattern::path_of_url;
pub use rules::{Decision, ROBOTS_BYTES_MAX, RobotsRules};
