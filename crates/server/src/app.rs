//! What all handlers share: the crawls, the limits, the machine's pulse, and the way to do blocking work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use webloom_index::QueryOptions;

use crate::config::{Checked, Limits};
use crate::crawls::{Registry, Slot};
use crate::error::ApiError;
use crate::guard::Rates;
use crate::machine::{Machine, Pulse};
use crate::request::Parameters;
use crate::survey::Surveys;

/// The application, as handlers get it.
pub type Shared = Arc<App>;

/// How often series are written to disk.
const SAVE_EVERY_TICKS: u64 = 10;

/// A query that the interface offers as an example.
#[derive(Debug, Clone)]
pub struct Example {
    /// What it asks.
    pub title: String,
    /// The query.
    pub query: String,
}

/// What all handlers share.
#[derive(Debug)]
pub struct App {
    /// Where it listens, who may do what, how much.
    pub checked: Checked,
    /// The crawls.
    pub registry: Arc<Registry>,
    /// How often each address asks.
    pub rates: Rates,
    /// Queries offered as examples, beside those that fit any crawl.
    pub examples: Vec<Example>,
    /// Answers given, by the first digit of their status.
    pub answers: [AtomicU64; 6],
    /// What is known of each store as a whole.
    pub surveys: Surveys,
    /// Places for event streams.
    pub event_streams: Arc<Semaphore>,
    started: Instant,
    machine: Mutex<Machine>,
    pulse: Mutex<Pulse>,
    queries: Arc<Semaphore>,
    ticks: watch::Sender<u64>,
    ending: watch::Sender<bool>,
}

impl App {
    /// Puts it together.
    pub fn new(checked: Checked, registry: Arc<Registry>, examples: Vec<Example>) -> Self {
        let limits = checked.config.limits.clone();
        Self {
            checked,
            registry,
            rates: Rates::default(),
            examples,
            answers: Default::default(),
            surveys: Surveys::default(),
            event_streams: Arc::new(Semaphore::new(limits.event_streams_max)),
            started: Instant::now(),
            machine: Mutex::default(),
            pulse: Mutex::default(),
            queries: Arc::new(Semaphore::new(limits.queries_at_once)),
            ticks: watch::Sender::new(0),
            ending: watch::Sender::new(false),
        }
    }

    /// How much a request may take.
    pub fn limits(&self) -> &Limits {
        &self.checked.config.limits
    }

    /// Since the server began.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// The machine, as of the last second.
    pub fn machine(&self) -> Machine {
        *self.machine.lock()
    }

    /// Rung every second, after the numbers of that second are there.
    pub fn ticks(&self) -> watch::Receiver<u64> {
        self.ticks.subscribe()
    }

    /// Says when the server ends, so that streams without end do too.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    /// Tells everybody that the server ends.
    pub fn end(&self) {
        self.ending.send_replace(true);
    }

    /// The crawl that a request names with `crawl`, or the one that is meant when it names none.
    pub fn slot(&self, parameters: &Parameters) -> Result<Arc<Slot>, ApiError> {
        match parameters.one("crawl")?.filter(|id| !id.is_empty()) {
            Some(id) => self.registry.get(id),
            None => self.registry.default_slot(),
        }
    }

    /// A place among the reads of the index that may go on at once; waits for one, not for ever.
    pub async fn place(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        match tokio::time::timeout(self.limits().queue_time, self.queries.clone().acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            _ => {
                Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many queries are under way")
                    .hint("try again in a moment"))
            }
        }
    }

    /// Runs something that reads the index, on a thread that may block.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let place = self.place().await?;
        blocking(move || {
            let _place = place;
            work()
        })
        .await
    }

    /// Limits and conventions of a query.
    pub fn query_options(&self) -> QueryOptions {
        QueryOptions {
            time_limit: Some(self.limits().query_time),
            memory_limit_bytes: Some(self.limits().query_memory_bytes),
            row_limit: Some(self.limits().query_rows),
            default_graph: self.checked.config.default_graph,
            ..QueryOptions::default()
        }
    }

    /// Beats once a second until the server ends.
    pub async fn heartbeat(self: Arc<Self>) {
        let mut every_second = tokio::time::interval(Duration::from_secs(1));
        every_second.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut ending = self.ending();
        loop {
            tokio::select! {
                _ = every_second.tick() => {}
                _ = ending.changed() => break,
            }
            let app = self.clone();
            if let Err(error) = blocking(move || {
                app.beat();
                Ok(())
            })
            .await
            {
                tracing::error!(error = error.message, "the heartbeat failed");
            }
            for slot in self.registry.all() {
                // Counting may take long; it waits for nobody and nobody for it.
                tokio::task::spawn_blocking(move || slot.look_at_store());
            }
        }
        let slots = self.registry.all();
        let saved = blocking(move || {
            slots.iter().for_each(|slot| slot.save_series());
            Ok(())
        });
        let _ = saved.await;
    }

    fn beat(&self) {
        let machine = self.pulse.lock().beat(&self.registry.place());
        *self.machine.lock() = machine;
        let tick = *self.ticks.borrow();
        for slot in self.registry.all() {
            slot.tick(&machine);
            slot.serve_orders();
            slot.close_idle();
            if tick % SAVE_EVERY_TICKS == SAVE_EVERY_TICKS - 1 {
                slot.save_series();
            }
        }
        self.ticks.send_replace(tick + 1);
    }

    /// Counts an answer.
    pub fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100);
        if let Some(counter) = self.answers.get(class) {
            counter.fetch_add(1, Relaxed);
        }
    }
}

/// Runs something on a thread that may block. A panic is a failure of ours, and the server goes on.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(ApiError::internal("a request failed; the server's log says more")),
    }
}
