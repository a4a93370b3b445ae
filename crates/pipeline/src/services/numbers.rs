//! What a service has done so far.

use std::sync::atomic::{AtomicBool, AtomicU64};

/// Numbers of one service.
#[derive(Debug)]
pub struct ServiceNumbers {
    /// `service images`.
    pub label: String,
    /// Pages it was to be asked for.
    pub asked: AtomicU64,
    /// Pages it answered for.
    pub answered: AtomicU64,
    /// Pages it gave nothing for: failures, time-outs, refusals.
    pub failed: AtomicU64,
    /// Pages it was not asked for, because a breaker was open or no place to wait was left.
    pub left_out: AtomicU64,
    /// Requests that were made again.
    pub retries: AtomicU64,
    /// Requests that took too long.
    pub timeouts: AtomicU64,
    /// Bytes of answers.
    pub bytes: AtomicU64,
    /// Pages that wait for it or are with it.
    pub waiting: AtomicU64,
    /// Of each address.
    pub addresses: Vec<AddressNumbers>,
}

/// Numbers of one address of a service.
#[derive(Debug)]
pub struct AddressNumbers {
    /// Where it is, without query; or the command's program.
    pub address: String,
    /// Requests made.
    pub requests: AtomicU64,
    /// Requests that failed by its fault.
    pub failures: AtomicU64,
    /// Requests under way.
    pub in_flight: AtomicU64,
    /// Time that requests took, in microseconds.
    pub busy_us: AtomicU64,
    /// It is left alone for a while.
    pub open: AtomicBool,
}

impl ServiceNumbers {
    pub(super) fn new(label: String, addresses: Vec<String>) -> Self {
        let addresses = addresses.into_iter().map(|address| AddressNumbers {
            address,
            requests: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            busy_us: AtomicU64::new(0),
            open: AtomicBool::new(false),
        });
        Self {
            label,
            asked: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            timeouts: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            waiting: AtomicU64::new(0),
            addresses: addresses.collect(),
        }
    }
}
