//! What a reader of the log keeps at hand for its next reads: what lies around the records it read last, and where those were found.
//!
//! What waits side by side in a host's queue was mostly found on one page, and so lies side by side in the log. Each host has a window on
//! the log: what is not in it is read with what follows, and the next leases of the host find theirs there without a look at the disk.

use webloom_model::{FrontierError, PageUrl};

use super::{HEADER_BYTES, checksum_fits, payload_bytes};

/// See the module's own words.
#[derive(Debug)]
pub(crate) struct Near {
    pub(super) windows: Windows,
    pub(super) pages: Pages,
}

impl Near {
    pub fn new() -> Self {
        Self { windows: Windows::default(), pages: Pages { slots: vec![None; Pages::SLOTS] } }
    }

    /// Looks at what is at hand for each position and viewer, and changes nothing. Many windows do not stay near the processor: looked
    /// at together they come from memory side by side.
    pub fn look_at(&self, reads: impl Iterator<Item = (u64, u32)>) {
        let bytes = reads.filter_map(|(position, viewer)| self.windows.byte(position, viewer));
        std::hint::black_box(bytes.fold(0, u8::wrapping_add));
    }

    /// Keeps nothing.
    pub(super) fn none() -> Self {
        Self { windows: Windows::default(), pages: Pages { slots: Vec::new() } }
    }
}

/// Windows by the numbers of those who look through them.
#[derive(Debug, Default)]
pub(super) struct Windows {
    windows: Vec<Window>,
}

impl Windows {
    /// Who has a higher number shares one with somebody else.
    const MAX: usize = 1 << 14;

    /// A byte of what a viewer has at a position.
    fn byte(&self, position: u64, viewer: u32) -> Option<u8> {
        let window = self.windows.get(viewer as usize % Self::MAX)?;
        let at = usize::try_from(position.checked_sub(window.begin)?).ok()?;
        let last = window.bytes.get(at + HEADER_BYTES * 8).copied().unwrap_or_default();
        Some(window.bytes.get(at)?.wrapping_add(last))
    }

    pub fn of(&mut self, viewer: u32) -> &mut Window {
        let number = viewer as usize % Self::MAX;
        while self.windows.len() <= number {
            self.windows.push(Window { begin: 0, length: 0, bytes: Box::new([0; Window::BYTES]) });
        }
        &mut self.windows[number]
    }
}

/// A piece of the log.
#[derive(Debug)]
pub(super) struct Window {
    pub begin: u64,
    /// Bytes that were read; at the end of the log there are fewer.
    pub length: usize,
    pub bytes: Box<[u8; Window::BYTES]>,
}

impl Window {
    /// About a dozen records.
    pub const BYTES: usize = 1024;

    /// Header and payload of the record at a position. Nothing when it is not here as a whole: what lay behind the end of the log when
    /// this was read may have been written since.
    pub fn record(&self, position: u64) -> Option<&[u8]> {
        let at = usize::try_from(position.checked_sub(self.begin)?).ok()?;
        let rest = self.bytes.get(..self.length)?.get(at..)?;
        let whole = HEADER_BYTES + payload_bytes(position, rest.get(..HEADER_BYTES)?).ok()?;
        rest.get(..whole).filter(|record| whole > HEADER_BYTES && checksum_fits(record))
    }
}

/// URLs of pages on which others were found, as they were last read.
#[derive(Debug)]
pub(super) struct Pages {
    /// Each by its position, in the only slot it can be in.
    slots: Vec<Option<(u64, PageUrl)>>,
}

impl Pages {
    const SLOTS: usize = 1 << 16;

    /// The URL at a position, read if need be.
    pub fn get(
        &mut self,
        position: u64,
        read: impl FnOnce() -> Result<PageUrl, FrontierError>,
    ) -> Result<PageUrl, FrontierError> {
        let at = (position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let Some(slot) = self.slots.get_mut(at % Self::SLOTS) else { return read() };
        match slot {
            Some((known, url)) if *known == position => Ok(url.clone()),
            _ => {
                let url = read()?;
                *slot = Some((position, url.clone()));
                Ok(url)
            }
        }
    }
}
