//! Entries from several sorted places as one row, in which the newest word on each spot counts.

use std::io;

use super::entry::Entry;
use super::run::RunEntries;

/// One of the places.
pub(super) enum Source<'a> {
    Memory(&'a [Entry]),
    Disk(RunEntries<'a>),
}

impl<'a> Source<'a> {
    /// What a sorted part of the memory holds from an entry on.
    pub fn from_memory(part: &'a [Entry], first: Entry) -> Self {
        Self::Memory(&part[part.partition_point(|entry| *entry < first)..])
    }

    fn head(&self) -> Option<Entry> {
        match self {
            Self::Memory(rest) => rest.first().copied(),
            Self::Disk(entries) => entries.head(),
        }
    }

    fn advance(&mut self) -> io::Result<()> {
        match self {
            Self::Memory(rest) => {
                *rest = rest.get(1..).unwrap_or_default();
                Ok(())
            }
            Self::Disk(entries) => entries.advance(),
        }
    }
}

/// See the module's own words.
pub(super) struct Merge<'a> {
    /// Newest first, with the next entry of each.
    sources: Vec<(Entry, Source<'a>)>,
}

impl<'a> Merge<'a> {
    /// Sources come newest first. What has nothing below `end` is left out.
    pub fn new(sources: impl IntoIterator<Item = Source<'a>>, end: Option<Entry>) -> Self {
        let wanted = |head: &Entry| end.is_none_or(|end| *head < end);
        let with_head = |source: Source<'a>| Some((source.head().filter(wanted)?, source));
        Self { sources: sources.into_iter().filter_map(with_head).collect() }
    }

    /// The next entry; those that were taken out are told, too.
    pub fn next(&mut self) -> io::Result<Option<Entry>> {
        // There are few sources: looking at all heads is quicker than keeping them in order. Of equal spots the first is the newest.
        let Some(least) = self.sources.iter().map(|(head, _)| head.spot()).min() else { return Ok(None) };
        let mut newest = None;
        let mut number = 0;
        while let Some((head, source)) = self.sources.get_mut(number) {
            if head.spot() == least {
                newest = newest.or(Some(*head));
                source.advance()?;
                match source.head() {
                    Some(next) => *head = next,
                    None => {
                        self.sources.remove(number);
                        continue;
                    }
                }
            }
            number += 1;
        }
        Ok(newest)
    }
}

/// Two sorted rows as one, behind what `merged` has; the newer one's word counts.
pub(super) fn merge_two(older: &[Entry], newer: &[Entry], merged: &mut Vec<Entry>) {
    let (mut old, mut new) = (0, 0);
    while let (Some(&first), Some(&second)) = (older.get(old), newer.get(new)) {
        let order = first.spot().cmp(&second.spot());
        old += usize::from(order.is_le());
        if order.is_lt() {
            merged.push(first);
        } else {
            merged.push(second);
            new += 1;
        }
    }
    merged.extend_from_slice(&older[old..]);
    merged.extend_from_slice(&newer[new..]);
}
