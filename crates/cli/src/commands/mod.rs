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
pub mod materialize;
pub mod plan;
pub mod query;
pub mod replay;
pub mod robots;
mod rules;
pub mod search;
pub mod serve;
pub mod stats;
pub mod top;
pub mod urls;
pub mod warc;
pub mod why;
pub mod xslt;
