//! How much may be between reading and the commit: records, and bytes of bodies.

use parking_lot::{Condvar, Mutex};

/// Records under way.
const RECORDS_MAX: usize = 2000;
/// Bytes of their bodies.
const BYTES_MAX: u64 = 256 << 20;

#[derive(Debug, Default)]
struct Taken {
    records: usize,
    bytes: u64,
    is_closed: bool,
}

/// Holds the reader back when it is ahead of everybody else.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    taken: Mutex<Taken>,
    given_back: Condvar,
}

impl Budget {
    /// Waits for room for a record with so many bytes. One record always fits. False when the budget was closed.
    pub(crate) fn take(&self, bytes: u64) -> bool {
        let mut taken = self.taken.lock();
        while !taken.is_closed
            && taken.records > 0
            && (taken.records >= RECORDS_MAX || taken.bytes + bytes > BYTES_MAX)
        {
            self.given_back.wait(&mut taken);
        }
        taken.records += 1;
        taken.bytes += bytes;
        !taken.is_closed
    }

    /// Gives back what a record took.
    pub(crate) fn give_back(&self, bytes: u64) {
        let mut taken = self.taken.lock();
        taken.records -= 1;
        taken.bytes -= bytes;
        drop(taken);
        self.given_back.notify_one();
    }

    /// Lets nobody wait any more.
    pub(crate) fn close(&self) {
        self.taken.lock().is_closed = true;
        self.given_back.notify_all();
    }
}
