//! Time as a thing that is handed in, so that politeness and back-off can be tested without waiting.

use std::time::Instant;

use jiff::Timestamp;

/// Tells the time twice: a moment for measuring intervals, and the time of day for records.
///
/// Implementations: [`SystemClock`], and the testkit's clock that is turned by hand.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// A moment that never goes backwards. Intervals are measured with this one.
    fn now(&self) -> Instant;
    /// The time of day, for records that outlive the process.
    fn wall(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}
