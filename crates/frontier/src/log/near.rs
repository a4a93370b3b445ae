//! What a reader of the log keeps at hand for its next reads: what lies around the records it read last.
//!
//! What waits side by side in a host's queue was mostly found on one page, and so lies side by side in the log. Each host has a window on
//! the log: what is not in it is read with what follows, and the next leases of the host find theirs there without a look at the disk.

use webloom_model::{FrontierError, PageUrl};

use super::{BESIDE_BYTES, HEADER_BYTES, payload_bytes, payload_of};

/// See the module's own words.
#[derive(Debug, Default)]
pub(crate) struct Near {
    /// By the numbers of those who look through them.
    windows: Vec<Window>,
    /// For what lies alone.
    pub(super) alone: Window,
}

impl Near {
    /// Who has a higher number shares a window with somebody else.
    const WINDOWS_MAX: usize = 1 << 14;

    /// Looks at what is at hand for each position and viewer, and changes nothing. Many windows do not stay near the processor: looked
    /// at together they come from memory side by side.
    pub fn look_at(&self, reads: impl Iterator<Item = (u64, u32)>) {
        let bytes = reads.filter_map(|(position, viewer)| {
            let window = self.windows.get(viewer as usize % Self::WINDOWS_MAX)?;
            window.view.look(position)
        });
        std::hint::black_box(bytes.fold(0, u8::wrapping_add));
    }

    pub(super) fn window(&mut self, viewer: u32) -> &mut Window {
        let number = viewer as usize % Self::WINDOWS_MAX;
        if self.windows.len() <= number {
            self.windows.resize_with(number + 1, Window::default);
        }
        &mut self.windows[number]
    }
}

/// A piece of the log, and the page that its records were found on, as it was last read.
#[derive(Debug, Default)]
pub(super) struct Window {
    pub view: View,
    /// With the position of the record that names it.
    pub page: Option<(u64, PageUrl)>,
}

impl Window {
    /// From the record on that was not there: about a dozen.
    pub const AHEAD_BYTES: usize = 1024;
}

/// A piece of the log.
#[derive(Debug, Default)]
pub(super) struct View {
    begin: u64,
    /// Empty until it is first filled; then as many as fit.
    bytes: Vec<u8>,
}

impl View {
    const BYTES_MAX: usize = BESIDE_BYTES + Window::AHEAD_BYTES;

    /// Takes up to so many bytes from a position on; at the end of the log there are fewer.
    pub fn fill(
        &mut self,
        begin: u64,
        length: usize,
        read: impl FnOnce(&mut [u8]) -> Result<usize, FrontierError>,
    ) -> Result<(), FrontierError> {
        self.bytes.reserve_exact(Self::BYTES_MAX.saturating_sub(self.bytes.len()));
        self.bytes.resize(length, 0);
        let read = read(&mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        self.begin = begin;
        read.map(drop)
    }

    /// The payload of the record at a position. Nothing when it is not here as a whole: what lay behind the end of the log when
    /// this was read may have been written since.
    pub fn record(&self, position: u64) -> Option<&[u8]> {
        let at = usize::try_from(position.checked_sub(self.begin)?).ok()?;
        let rest = self.bytes.get(at..)?;
        let payload = payload_bytes(position, rest.get(..HEADER_BYTES)?).ok()?;
        rest.get(..HEADER_BYTES + payload).filter(|_| payload > 0).and_then(payload_of)
    }

    /// Touches what lies at a position; the number means nothing.
    fn look(&self, position: u64) -> Option<u8> {
        let at = usize::try_from(position.checked_sub(self.begin)?).ok()?;
        let last = self.bytes.get(at + HEADER_BYTES * 8).copied().unwrap_or_default();
        Some(self.bytes.get(at)?.wrapping_add(last))
    }
}
