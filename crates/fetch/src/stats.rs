//! What a fetcher has done so far, in numbers that only ever grow (but for the open connections).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A look at the counters of a [`Fetcher`](crate::Fetcher).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FetchStats {
    /// Requests sent, robots.txt included.
    pub requests: u64,
    /// Of these, for robots.txt.
    pub robots_requests: u64,
    /// Bytes on the wire of the bodies that were kept.
    pub wire_bytes: u64,
    /// Bytes of these after decompression.
    pub body_bytes: u64,
    /// Connections made.
    pub connections_made: u64,
    /// Of these, secured by taking up an earlier TLS session.
    pub tls_resumed: u64,
    /// Connections open now.
    pub connections_open: u64,
    /// Requests that went over a connection that had been used before.
    pub connections_reused: u64,
    /// Reused connections that turned out dead, so that a new one was made.
    pub connections_dead: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub requests: AtomicU64,
    pub robots_requests: AtomicU64,
    pub wire_bytes: AtomicU64,
    pub body_bytes: AtomicU64,
    pub connections_made: AtomicU64,
    pub tls_resumed: AtomicU64,
    pub connections_open: AtomicU64,
    pub connections_reused: AtomicU64,
    pub connections_dead: AtomicU64,
}

impl Counters {
    pub fn snapshot(&self) -> FetchStats {
        FetchStats {
            requests: self.requests.load(Relaxed),
            robots_requests: self.robots_requests.load(Relaxed),
            wire_bytes: self.wire_bytes.load(Relaxed),
            body_bytes: self.body_bytes.load(Relaxed),
            connections_made: self.connections_made.load(Relaxed),
            tls_resumed: self.tls_resumed.load(Relaxed),
            connections_open: self.connections_open.load(Relaxed),
            connections_reused: self.connections_reused.load(Relaxed),
            connections_dead: self.connections_dead.load(Relaxed),
        }
    }
}

/// Adds to a counter.
pub(crate) fn count(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Relaxed);
}

/// Counts a connection as open for as long as it lives.
#[derive(Debug)]
pub(crate) struct OpenConnection(Arc<Counters>);

impl OpenConnection {
    pub fn new(counters: &Arc<Counters>) -> Self {
        count(&counters.connections_made, 1);
        count(&counters.connections_open, 1);
        Self(Arc::clone(counters))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections_open.fetch_sub(1, Relaxed);
    }
}
