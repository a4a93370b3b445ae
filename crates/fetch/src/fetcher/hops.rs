//! Who asks a host for a robots.txt that another host's redirects lead to: one at a time, whatever the number of hosts that redirect there.
//!
//! The crawl's own requests have their turns from the frontier, which knows nothing of these. Those who wait find, mostly, that the first of them
//! has brought what they want.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// See the module's own words.
#[derive(Debug, Default)]
pub(super) struct HopTurns(Mutex<HashMap<String, Weak<AsyncMutex<()>>>>);

/// Hosts that are remembered before those are forgotten that nobody waits for.
const HOSTS_MAX: usize = 1024;

impl HopTurns {
    /// Waits for the host to be free. It is the caller's until what is returned is dropped.
    pub async fn take(&self, host: &str) -> OwnedMutexGuard<()> {
        self.of(host).lock_owned().await
    }

    fn of(&self, host: &str) -> Arc<AsyncMutex<()>> {
        let mut hosts = self.0.lock();
        if let Some(turn) = hosts.get(host).and_then(Weak::upgrade) {
            return turn;
        }
        if hosts.len() >= HOSTS_MAX {
            hosts.retain(|_, turn| turn.strong_count() > 0);
        }
        let turn = Arc::default();
        hosts.insert(host.to_owned(), Arc::downgrade(&turn));
        turn
    }
}
