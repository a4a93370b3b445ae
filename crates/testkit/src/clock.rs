//! A clock that is turned by hand, so that an hour of politeness takes no time at all.
//!
//! In: [`ManualClock::advance`]. Out: [`Clock`]'s two times, which move together and never by themselves.
//! It wakes nobody: whoever waits for a moment asks again after the clock was turned.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use webloom_model::Clock;

/// A clock that stands still until it is advanced. Clones show the same time.
///
/// ```
/// # use std::time::Duration;
/// # use webloom_model::Clock;
/// # use webloom_testkit::ManualClock;
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(3600));
/// assert_eq!(clock.now() - before, Duration::from_secs(3600));
/// assert_eq!(clock.wall().to_string(), "2026-01-01T01:00:00Z");
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock {
    start: Instant,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    elapsed: Duration,
    wall: Timestamp,
}

impl ManualClock {
    /// What [`Self::new`] shows: midnight before the first day of 2026, UTC.
    pub const START_SECONDS: i64 = 1_767_225_600;

    /// A clock that shows the start of 2026, the same in every run.
    pub fn new() -> Self {
        Self::starting_at(Timestamp::constant(Self::START_SECONDS, 0))
    }

    /// A clock that shows `wall`.
    pub fn starting_at(wall: Timestamp) -> Self {
        let state = State { elapsed: Duration::ZERO, wall };
        Self { start: Instant::now(), state: Arc::new(Mutex::new(state)) }
    }

    /// Moves both times forward.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock();
        state.elapsed = state.elapsed.saturating_add(by);
        state.wall = later(state.wall, by);
    }

    /// Moves both times forward to `moment`; does nothing when it is past already.
    pub fn advance_to(&self, moment: Instant) {
        let mut state = self.state.lock();
        let by = moment.saturating_duration_since(self.start + state.elapsed);
        state.elapsed = state.elapsed.saturating_add(by);
        state.wall = later(state.wall, by);
    }

    /// How far the clock was turned since it was made.
    pub fn elapsed(&self) -> Duration {
        self.state.lock().elapsed
    }
}

fn later(wall: Timestamp, by: Duration) -> Timestamp {
    let by = SignedDuration::try_from(by).unwrap_or(SignedDuration::MAX);
    wall.saturating_add(by).unwrap_or(Timestamp::MAX)
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.start + self.state.lock().elapsed
    }

    fn wall(&self) -> Timestamp {
        self.state.lock().wall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stands_still_until_turned_and_clones_share_it() {
        let clock = ManualClock::new();
        let other = clock.clone();
        let start = clock.now();
        assert_eq!(clock.wall().to_string(), "2026-01-01T00:00:00Z");
        assert_eq!(other.now(), start);
        clock.advance(Duration::from_millis(1500));
        assert_eq!(other.now() - start, Duration::from_millis(1500));
        assert_eq!(other.wall().to_string(), "2026-01-01T00:00:01.5Z");
        other.advance_to(start + Duration::from_secs(2));
        assert_eq!(clock.elapsed(), Duration::from_secs(2));
        other.advance_to(start);
        assert_eq!(clock.elapsed(), Duration::from_secs(2), "time never goes backwards");
        clock.advance(Duration::from_secs(u64::from(u32::MAX) * 1000));
        assert_eq!(clock.wall(), Timestamp::MAX);
    }
}
