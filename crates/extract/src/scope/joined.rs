//! The rule "where seeds turned out to lead": hosts or domains that join the reach while a crawl runs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::RwLock;

use super::domains::{is_within, without_root};

/// Names that joined. Clones share them, so that whoever has a scope knows what joined since.
#[derive(Debug, Clone, Default)]
pub struct Joined(Arc<Names>);

#[derive(Debug, Default)]
struct Names {
    /// False while nothing joined, so that links to elsewhere, which are many, need no lock.
    any: AtomicBool,
    names: RwLock<BTreeSet<String>>,
}

impl Joined {
    /// Adds a name. False when it was there.
    pub(super) fn insert(&self, name: &str) -> bool {
        let new = self.0.names.write().insert(without_root(name).to_ascii_lowercase());
        self.0.any.store(true, Relaxed);
        new
    }

    pub(super) fn has_host(&self, host: &str) -> bool {
        self.0.any.load(Relaxed) && self.0.names.read().contains(without_root(host))
    }

    pub(super) fn has_domain_of(&self, host: &str) -> bool {
        self.0.any.load(Relaxed) && {
            let names = self.0.names.read();
            is_within(host, |name| names.contains(name))
        }
    }
}
