//! The crawls a server serves: which there are, what each is doing, and its numbers.
//!
//! A [`Slot`] is one crawl's directory with whatever is open of it; the [`Registry`] knows them all. Reading needs
//! nothing but the directory. Control opens the crawl, which then belongs to this process.

pub mod registry;
pub mod report;
pub mod series;
pub mod slot;

pub use registry::Registry;
pub use report::{CrawlBrief, CrawlReport};
pub use slot::{LiveCrawl, Slot, StoreNumbers};
