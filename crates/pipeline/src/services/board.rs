//! Which address of a service is asked next, and which is left alone.
//!
//! The least busy is the one where the answer is to be expected first: requests under way there, times what an answer takes. What is
//! under way for long counts, so that an address that hangs is known before it has answered. One that is much slower than the
//! quickest gets one request at a time, enough to see whether it recovers. An address that fails so many times in a row is left
//! alone; then one request tries it.

use std::time::{Duration, Instant};

use super::ServiceSettings;

/// An address this many times slower than the quickest gets one request at a time.
const MUCH_SLOWER: u32 = 8;

/// Differences below this are nothing.
const QUICK: Duration = Duration::from_millis(5);

/// What is known of the addresses of one service.
#[derive(Debug)]
pub(super) struct Board {
    addresses: Vec<Address>,
    in_flight_max: usize,
    failures_max: u32,
    pause: Duration,
}

#[derive(Debug, Default)]
struct Address {
    /// When the requests under way began.
    under_way: Vec<Instant>,
    /// What an answer takes, the last ones counting most.
    average: Option<Duration>,
    failures: u32,
    /// Left alone until then.
    open_until: Option<Instant>,
}

/// Which address is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// This one, which has one request more under way now.
    Address(usize),
    /// Those that may be asked have as many requests as they may.
    Full,
    /// All are left alone.
    Open,
}

impl Board {
    pub(super) fn new(addresses: usize, settings: &ServiceSettings) -> Self {
        Self {
            addresses: (0..addresses).map(|_| Address::default()).collect(),
            in_flight_max: settings.in_flight.max(1),
            failures_max: settings.breaker_failures.max(1),
            pause: settings.breaker_pause,
        }
    }

    /// Chooses an address, another one than `before` if it can be.
    pub(super) fn pick(&mut self, now: Instant, before: Option<usize>) -> Pick {
        let usable: Vec<usize> =
            (0..self.addresses.len()).filter(|number| self.addresses[*number].may_be_asked(now)).collect();
        let quickest = usable.iter().map(|number| self.addresses[*number].takes(now)).min();
        let Some(quickest) = quickest else { return Pick::Open };
        let room = |address: &Address| {
            let slow = address.takes(now) > quickest.max(QUICK) * MUCH_SLOWER;
            let tried = address.open_until.is_some();
            if slow || tried { 1 } else { self.in_flight_max }
        };
        let free = usable.into_iter().filter(|number| {
            let address = &self.addresses[*number];
            address.under_way.len() < room(address)
        });
        let chosen = free.min_by_key(|number| {
            let address = &self.addresses[*number];
            let load = u32::try_from(address.under_way.len() + 1).unwrap_or(u32::MAX);
            (Some(*number) == before, address.takes(now).max(QUICK).saturating_mul(load))
        });
        match chosen {
            Some(number) => {
                self.addresses[number].under_way.push(now);
                Pick::Address(number)
            }
            None => Pick::Full,
        }
    }

    /// A request ended: well, by the fault of the service, or for reasons that say nothing of it.
    pub(super) fn ended(&mut self, number: usize, began: Instant, now: Instant, fine: Option<bool>) {
        let Some(address) = self.addresses.get_mut(number) else { return };
        // It was put on the list a moment before it began; among equals any will do.
        if let Some(place) = address.under_way.iter().rposition(|start| *start <= began) {
            address.under_way.swap_remove(place);
            address.under_way.sort_unstable();
        }
        let took = now.saturating_duration_since(began);
        match fine {
            Some(true) => {
                address.failures = 0;
                address.open_until = None;
            }
            Some(false) => {
                address.failures = address.failures.saturating_add(1);
                // One that was only tried is left alone again at once.
                if address.failures >= self.failures_max || address.open_until.is_some() {
                    address.open_until = Some(now + self.pause);
                }
            }
            None => return,
        }
        address.average = Some(address.average.map_or(took, |average| average * 3 / 4 + took / 4));
    }

    /// Whether an address is left alone, or only tried.
    pub(super) fn is_open(&self, number: usize) -> bool {
        self.addresses.get(number).is_some_and(|address| address.open_until.is_some())
    }
}

impl Address {
    fn may_be_asked(&self, now: Instant) -> bool {
        self.open_until.is_none_or(|until| until <= now)
    }

    /// What an answer takes, as far as can be told.
    fn takes(&self, now: Instant) -> Duration {
        let oldest = self.under_way.iter().min().map(|start| now.saturating_duration_since(*start));
        self.average.max(oldest).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn board(addresses: usize) -> (Board, Instant) {
        let settings = ServiceSettings {
            in_flight: 2,
            breaker_failures: 2,
            breaker_pause: SECOND * 10,
            ..ServiceSettings::default()
        };
        (Board::new(addresses, &settings), Instant::now())
    }

    #[test]
    fn requests_spread_and_then_there_is_no_room() {
        let (mut board, now) = board(2);
        let mut count = [0, 0];
        for _ in 0..4 {
            let Pick::Address(number) = board.pick(now, None) else { panic!("there is room") };
            count[number] += 1;
        }
        assert_eq!(count, [2, 2]);
        assert_eq!(board.pick(now, None), Pick::Full);
    }

    #[test]
    fn a_slow_address_gets_one_request_at_a_time() {
        let (mut board, now) = board(2);
        assert_eq!((board.pick(now, None), board.pick(now, None)), (Pick::Address(0), Pick::Address(1)));
        // The second has not answered for a second; the first answers at once.
        let later = now + SECOND;
        board.ended(0, now, now + Duration::from_millis(10), Some(true));
        for _ in 0..2 {
            assert_eq!(board.pick(later, None), Pick::Address(0));
        }
        assert_eq!(board.pick(later, None), Pick::Full);
        board.ended(1, now, later, Some(true));
        assert_eq!(board.pick(later, None), Pick::Address(1));
        assert_eq!(board.pick(later, None), Pick::Full);
    }

    #[test]
    fn a_failing_address_is_left_alone_and_tried_again() {
        let (mut board, now) = board(1);
        for _ in 0..2 {
            assert_eq!(board.pick(now, None), Pick::Address(0));
            board.ended(0, now, now, Some(false));
        }
        assert_eq!(board.pick(now, None), Pick::Open);
        let later = now + SECOND * 10;
        assert_eq!(board.pick(later, None), Pick::Address(0));
        // One request tries it; the others wait for what comes of it.
        assert_eq!(board.pick(later, None), Pick::Full);
        board.ended(0, later, later, Some(false));
        assert_eq!(board.pick(later + SECOND, None), Pick::Open);
        let much_later = later + SECOND * 10;
        assert_eq!(board.pick(much_later, None), Pick::Address(0));
        board.ended(0, much_later, much_later, Some(true));
        assert!(!board.is_open(0));
    }

    #[test]
    fn a_retry_goes_elsewhere_if_it_can() {
        let (mut board, now) = board(2);
        assert_eq!(board.pick(now, Some(0)), Pick::Address(1));
        assert_eq!(board.pick(now, Some(0)), Pick::Address(1));
        assert_eq!(board.pick(now, Some(0)), Pick::Address(0));
    }
}
