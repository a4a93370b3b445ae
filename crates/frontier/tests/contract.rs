//! Both frontiers keep the contract; and what only the durable one promises.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tempfile::TempDir;
use webloom_frontier::contract;
use webloom_frontier::{FjallFrontier, FrontierConfig, MemoryFrontier};
use webloom_model::{
    Ban, Clock, Frontier, FrontierCounts, FrontierError, FrontierLimits, HostHint, Injection,
    InjectionReport, LeaseAnswer, LeaseId, LinkCandidate, OfferSummary, PageUrl, QueueQuery, QueueView,
    Settlement, UrlLife, UrlStage,
};

/// A durable frontier whose directory goes when it does.
struct InTempDir {
    frontier: FjallFrontier,
    _directory: TempDir,
}

/// Hands every call on.
macro_rules! delegate {
    ($(fn $name:ident(&self $(, $argument:ident: $type:ty)*) $(-> $answer:ty)?;)*) => {
        $(fn $name(&self $(, $argument: $type)*) $(-> $answer)? { self.frontier.$name($($argument),*) })*
    };
}

impl Frontier for InTempDir {
    delegate! {
        fn offer(&self, candidates: &[LinkCandidate]) -> Result<OfferSummary, FrontierError>;
        fn lease(&self, max: usize) -> Result<LeaseAnswer, FrontierError>;
        fn request_finished(&self, lease: LeaseId, hint: HostHint);
        fn reserve(&self, host: &str) -> Option<Instant>;
        fn release(&self, host: &str, hint: HostHint);
        fn settle(&self, settlements: Vec<Settlement>) -> Result<OfferSummary, FrontierError>;
        fn counts(&self) -> FrontierCounts;
        fn resolved(&self, host: &str, address: IpAddr) -> bool;
        fn inject(&self, injections: &[Injection]) -> Result<InjectionReport, FrontierError>;
        fn rescore(&self, scores: &[(PageUrl, f32)]) -> Result<InjectionReport, FrontierError>;
        fn ban(&self, bans: &[Ban]) -> Result<InjectionReport, FrontierError>;
        fn recrawl_now(&self, url: &PageUrl) -> Result<bool, FrontierError>;
        fn try_again(&self, urls: &[(PageUrl, Option<f32>)]) -> Result<Vec<bool>, FrontierError>;
        fn stages(&self, urls: &[PageUrl]) -> Result<Vec<Option<UrlStage>>, FrontierError>;
        fn inspect(&self, url: &PageUrl) -> Result<Option<UrlLife>, FrontierError>;
        fn queues(&self, query: &QueueQuery) -> Result<Vec<QueueView>, FrontierError>;
        fn limits(&self) -> FrontierLimits;
        fn set_limits(&self, limits: &FrontierLimits) -> Result<(), FrontierError>;
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
