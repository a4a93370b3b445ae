//! The last pages of a crawl, one by one, for people who watch.
//!
//! In: an [`Entry`] for every URL that was asked for, once it is settled. Out: the newest of them, and everything since a
//! number the reader remembers. Bounded: what nobody read in time is forgotten. Lasting records are in the metadata graphs.

use std::collections::VecDeque;

use jiff::Timestamp;
use parking_lot::Mutex;

/// Entries that are remembered.
const ENTRIES_MAX: usize = 1_000;

/// What came of one URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The URL.
    pub url: String,
    /// When it was settled.
    pub at: Timestamp,
    /// `indexed`, `redirect`, or the reason why there is no page, such as `timeout`.
    pub outcome: String,
    /// What went wrong, in words; nothing for pages and redirects.
    pub message: Option<String>,
    /// The HTTP status, when there was an answer.
    pub status: Option<u16>,
    /// Media type as detected.
    pub media_type: Option<String>,
    /// Bytes of the body.
    pub bytes: u64,
    /// Quads stored.
    pub quads: u64,
    /// Syntaxes that were found in it.
    pub syntaxes: Vec<String>,
    /// From the request to the last byte.
    pub milliseconds: u64,
    /// Diagnostics.
    pub diagnostics: u64,
}

impl Entry {
    /// Of a URL of which nothing is known yet.
    pub fn new(url: impl Into<String>, outcome: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            at: Timestamp::UNIX_EPOCH,
            outcome: outcome.into(),
            message: None,
            status: None,
            media_type: None,
            bytes: 0,
            quads: 0,
            syntaxes: Vec::new(),
            milliseconds: 0,
            diagnostics: 0,
        }
    }
}

/// A bounded list of entries, numbered from 1.
#[derive(Debug, Default)]
pub struct Journal(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    /// Number of the newest.
    newest: u64,
    entries: VecDeque<Entry>,
}

impl Journal {
    /// Adds an entry, settled now.
    pub fn add(&self, mut entry: Entry) {
        entry.at = Timestamp::now();
        let mut entries = self.0.lock();
        if entries.entries.len() == ENTRIES_MAX {
            entries.entries.pop_front();
        }
        entries.entries.push_back(entry);
        entries.newest += 1;
    }

    /// Number of the newest entry; 0 when there was none.
    pub fn newest(&self) -> u64 {
        self.0.lock().newest
    }

    /// The newest `max` entries after the one of that number, oldest first, and the number of the newest.
    pub fn since(&self, number: u64, max: usize) -> (Vec<Entry>, u64) {
        let entries = self.0.lock();
        let fresh = usize::try_from(entries.newest.saturating_sub(number)).unwrap_or(usize::MAX);
        let count = fresh.min(max).min(entries.entries.len());
        let from = entries.entries.len() - count;
        (entries.entries.iter().skip(from).cloned().collect(), entries.newest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_get_what_is_new_and_never_more_than_is_kept() {
        let journal = Journal::default();
        assert_eq!(journal.since(0, 10), (Vec::new(), 0));
        for number in 1..=3 {
            journal.add(Entry::new(format!("http://a.example/{number}"), "indexed"));
        }
        let urls = |number, max| -> Vec<String> {
            journal.since(number, max).0.into_iter().map(|entry| entry.url).collect()
        };
        assert_eq!(urls(1, 10), ["http://a.example/2", "http://a.example/3"]);
        assert_eq!(urls(0, 1), ["http://a.example/3"]);
        assert!(urls(3, 10).is_empty() && urls(99, 10).is_empty());
        for _ in 0..ENTRIES_MAX {
            journal.add(Entry::new("http://a.example/more", "indexed"));
        }
        assert_eq!(journal.since(0, usize::MAX).0.len(), ENTRIES_MAX);
    }
}
