//! The handle by which a running crawl is paused, resumed, stopped, and told other rules.
//!
//! In: orders from a person (the server, the command line). Out: nothing; [`Crawl::run`](crate::Crawl) looks at the
//! orders between two leases, and every page takes the specification that is current when its turn comes. A pause finishes
//! the pages under way and begins no new ones. Changed rules are checked like a specification, because they are one: the written
//! specification with some fields replaced, kept beside the data so that a resumed crawl has them too. How the queues
//! keep changed delays and budgets is the frontier's. Start at [`CrawlControl`].

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;

use crate::crawl::{CrawlEnd, Stop};
use crate::spec::{CrawlSpec, RawSpec, SpecProblems};

/// What a crawl is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CrawlState {
    /// Opened, not running.
    #[default]
    Idle,
    /// Fetching.
    Running,
    /// Told to wait; begins no new pages.
    Paused,
    /// Told to stop; pages under way are being finished.
    Stopping,
    /// It ran to an end.
    Ended(CrawlEnd),
    /// It could not go on; who ran it knows why.
    Failed,
}

/// Why changed rules were not taken.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// They are wrong.
    #[error("{0}")]
    Problems(#[from] SpecProblems),
    /// They cannot be kept beside the data.
    #[error("cannot write `{path}`: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Orders {
    paused: bool,
    stop: Stop,
}

/// Steers one crawl. Cheap to clone; all clones steer the same.
#[derive(Debug, Clone)]
pub struct CrawlControl(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    orders: watch::Sender<Orders>,
    state: watch::Sender<CrawlState>,
    spec: RwLock<Arc<CrawlSpec>>,
    spec_file: PathBuf,
    /// One change at a time, or two could lose one another.
    changing: Mutex<()>,
    /// True once rules were changed: what is queued may no longer be wanted.
    changed: AtomicBool,
}

impl CrawlControl {
    pub(crate) fn new(spec: CrawlSpec, spec_file: PathBuf) -> Self {
        Self(Arc::new(Shared {
            orders: watch::Sender::default(),
            state: watch::Sender::default(),
            spec: RwLock::new(Arc::new(spec)),
            spec_file,
            changing: Mutex::new(()),
            changed: AtomicBool::new(false),
        }))
    }

    /// Begins no new pages until [`resume`](Self::resume).
    pub fn pause(&self) {
        self.0.orders.send_modify(|orders| orders.paused = true);
        self.0.state.send_if_modified(|state| {
            let running = *state == CrawlState::Running;
            if running {
                *state = CrawlState::Paused;
            }
            running
        });
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.0.orders.send_modify(|orders| orders.paused = false);
        self.0.state.send_if_modified(|state| {
            let paused = *state == CrawlState::Paused;
            if paused {
                *state = CrawlState::Running;
            }
            paused
        });
    }

    /// Ends the crawl; it can be run again later. A gentler stop never takes back a harder one.
    pub fn stop(&self, how: Stop) {
        self.0.orders.send_modify(|orders| orders.stop = orders.stop.max(how));
        if how != Stop::No {
            self.0.state.send_if_modified(|state| {
                let under_way = matches!(state, CrawlState::Running | CrawlState::Paused);
                if under_way {
                    *state = CrawlState::Stopping;
                }
                under_way
            });
        }
    }

    /// What the crawl is doing.
    pub fn state(&self) -> CrawlState {
        *self.0.state.borrow()
    }

    /// Tells of every change of state.
    pub fn states(&self) -> watch::Receiver<CrawlState> {
        self.0.state.subscribe()
    }

    /// The specification as it is now.
    pub fn spec(&self) -> Arc<CrawlSpec> {
        self.0.spec.read().clone()
    }

    /// Changes fields of the specification while the crawl runs, all of them or, when one is wrong, none. Scope, filters, link
    /// queries and what is stored of a page hold from the next page on.
    pub fn change(&self, change: impl FnOnce(&mut RawSpec)) -> Result<Arc<CrawlSpec>, ChangeError> {
        let _one_at_a_time = self.0.changing.lock();
        let before = self.spec();
        let mut raw = RawSpec::parse(&before.written())?;
        change(&mut raw);
        let mut spec = raw.check()?;
        // Contexts that were fetched are part of the running crawl, not of what is written.
        spec.transform.contexts = before.transform.contexts.clone();
        // So are the sites that joined,
        spec.links.scope.joined = before.links.scope.joined.clone();
        // and what is known of the services.
        spec.transform.rules = before.transform.rules.clone();
        spec.services = before.services.clone();
        let spec = Arc::new(spec);
        self.keep(&spec)?;
        *self.0.spec.write() = spec.clone();
        self.0.changed.store(true, Relaxed);
        Ok(spec)
    }

    /// Writes the specification beside the data: a new file that takes the old one's place.
    fn keep(&self, spec: &CrawlSpec) -> Result<(), ChangeError> {
        let path = &self.0.spec_file;
        let fresh = path.with_extension("toml.new");
        std::fs::write(&fresh, spec.written())
            .and_then(|()| std::fs::rename(&fresh, path))
            .map_err(|source| ChangeError::Write { path: path.clone(), source })
    }

    /// True when rules were changed since the crawl was opened.
    pub(crate) fn rules_changed(&self) -> bool {
        self.0.changed.load(Relaxed)
    }

    pub(crate) fn paused(&self) -> bool {
        self.0.orders.borrow().paused
    }

    pub(crate) fn stopping(&self) -> Stop {
        self.0.orders.borrow().stop
    }

    pub(crate) fn orders(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut orders = self.0.orders.subscribe();
        async move {
            // The sender lives as long as the crawl that waits here.
            let _ = orders.changed().await;
        }
    }

    pub(crate) fn begin(&self) {
        self.0.orders.send_modify(|orders| orders.stop = Stop::No);
        let paused = self.paused();
        self.0.state.send_replace(if paused { CrawlState::Paused } else { CrawlState::Running });
    }

    pub(crate) fn end(&self, state: CrawlState) {
        self.0.state.send_replace(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(folder: &std::path::Path) -> CrawlControl {
        let spec = CrawlSpec::from_toml("seeds = [\"http://a.example/\"]").unwrap();
        CrawlControl::new(spec, folder.join("crawl.toml"))
    }

    #[test]
    fn a_stop_is_never_softened_and_a_pause_ends() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(folder.path());
        control.pause();
        assert_eq!(control.state(), CrawlState::Idle);
        control.begin();
        assert_eq!(control.state(), CrawlState::Paused);
        control.resume();
        assert_eq!(control.state(), CrawlState::Running);
        control.stop(Stop::Now);
        control.stop(Stop::Gracefully);
        assert_eq!((control.stopping(), control.state()), (Stop::Now, CrawlState::Stopping));
        control.resume();
        assert_eq!(control.state(), CrawlState::Stopping);
    }

    #[test]
    fn changed_rules_are_checked_kept_and_current() {
        let folder = tempfile::tempdir().unwrap();
        let control = control(folder.path());
        let wrong = control.change(|raw| raw.set("scope.exclude", vec!["(".to_owned()])).unwrap_err();
        assert_eq!(wrong.to_string(), "`scope.exclude`: `(` is no regular expression: unclosed group");
        assert!(!control.rules_changed() && !folder.path().join("crawl.toml").exists());
        control.change(|raw| raw.set("scope.exclude", vec!["/trap/".to_owned()])).unwrap();
        assert!(control.rules_changed());
        let trap = webloom_model::PageUrl::parse("http://a.example/trap/1").unwrap();
        assert!(control.spec().links.scope.admits(&trap).is_err());
        let kept = std::fs::read_to_string(folder.path().join("crawl.toml")).unwrap();
        assert!(CrawlSpec::from_toml(&kept).unwrap().links.scope.admits(&trap).is_err());
    }
}
