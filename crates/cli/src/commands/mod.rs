//! One file per subcommand.

pub mod backup;
pub mod bench;
pub mod check;
pub mod crawl;
pub mod demo;
pub mod detect;
pub mod dump;
pub mod extract;
pub mod load;
pub mod query;
pub mod search;
pub mod stats;
