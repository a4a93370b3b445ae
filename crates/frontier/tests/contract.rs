//! Both frontiers keep the contract; and what only the durable one promises.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tempfile::TempDir;
use webloom_frontier::contract;
use webloom_frontier::{FjallFrontier, FrontierConfig, MemoryFrontier};
use webloom_model::{
    Clock, Frontier, FrontierCounts, FrontierError, HostHint, LeaseAnswer, LeaseId, LinkCandidate,
    OfferSummary, Settlement,
};

/// A durable frontier whose directory goes when it does.
struct InTempDir {
    frontier: FjallFrontier,
    _directory: TempDir,
}

impl Frontier for InTempDir {
    fn offer(&self, candidates: &[LinkCandidate]) -> Result<OfferSummary, FrontierError> {
        self.frontier.offer(candidates)
    }
    fn lease(&self, max: usize) -> Result<LeaseAnswer, FrontierError> {
        self.frontier.lease(max)
    }
    fn request_finished(&self, lease: LeaseId, hint: HostHint) {
        self.frontier.request_finished(lease, hint);
    }
    fn reserve(&self, host: &str) -> Option<Instant> {
        self.frontier.reserve(host)
    }
    fn release(&self, host: &str, hint: HostHint) {
        self.frontier.release(host, hint);
    }
    fn settle(&self, settlements: Vec<Settlement>) -> Result<OfferSummary, FrontierError> {
        self.frontier.settle(settlements)
    }
    fn counts(&self) -> FrontierCounts {
        self.frontier.counts()
    }
}

#[test]
fn memory_keeps_the_contract() {
    contract::check(MemoryFrontier::new);
}

#[test]
fn fjall_keeps_the_contract() {
    contract::check(|config, clock| {
        let directory = tempfile::tempdir().unwrap();
        InTempDir { frontier: open(directory.path(), config, clock), _directory: directory }
    });
}

#[test]
fn fjall_keeps_the_contract_when_closed_and_opened() {
    let directory = tempfile::tempdir().unwrap();
    contract::check_durable(directory.path(), open);
}

fn open(path: &Path, config: FrontierConfig, clock: Arc<dyn Clock>) -> FjallFrontier {
    FjallFrontier::open(path, config, clock).expect("opens")
}
