//! `/api/events`: what happens, as it happens, as server-sent events.
//!
//! Every second `status` (the crawl) and `machine`; `state` when the crawl's state changes; `page` for pages as they are settled, at most
//! twenty a second, the newest. A stream ends with the server, or when the client leaves.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::StatusCode;
use serde::Serialize;
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::crawls::entry_json;
use crate::app::{Shared, blocking};
use crate::crawls::Slot;
use crate::error::ApiError;
use crate::request::Parameters;

/// Pages told in a second.
const PAGES_PER_SECOND_MAX: usize = 20;

/// Where one stream stands.
struct Watcher {
    app: Shared,
    slot: Arc<Slot>,
    ticks: watch::Receiver<u64>,
    ending: watch::Receiver<bool>,
    /// Number of the last page told, and when its journal was another one.
    page: u64,
    state: Option<&'static str>,
    waiting: Vec<Event>,
    /// Given back when the stream ends.
    _place: OwnedSemaphorePermit,
}

/// `GET /api/events`.
pub async fn events(State(app): State<Shared>, parameters: Parameters) -> Result<Response, ApiError> {
    let slot = app.slot(&parameters)?;
    let place = app.event_streams.clone().try_acquire_owned().map_err(|_| {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "too many event streams are open")
    })?;
    let page = slot.live().map_or(0, |live| live.counters.journal.newest());
    let mut watcher = Watcher {
        ticks: app.ticks(),
        ending: app.ending(),
        app,
        slot,
        page,
        state: None,
        waiting: Vec::new(),
        _place: place,
    };
    // Whoever comes is told at once.
    watcher.look().await;
    let stream = stream::unfold(watcher, |mut watcher| async move {
        let event = watcher.next().await?;
        Some((Ok::<_, Infallible>(event), watcher))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}

impl Watcher {
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop() {
                return Some(event);
            }
            tokio::select! {
                changed = self.ticks.changed() => changed.ok()?,
                _ = self.ending.changed() => return None,
            }
            if *self.ending.borrow() {
                return None;
            }
            self.look().await;
        }
    }

    /// Gathers what there is to tell; the last of the list goes first.
    async fn look(&mut self) {
        let slot = self.slot.clone();
        let Ok(report) = blocking(move || Ok(slot.report())).await else { return };
        let mut events = Vec::new();
        if self.state != Some(report.brief.state) {
            self.state = Some(report.brief.state);
            events.push(event("state", &report.brief));
        }
        events.push(event("status", &report));
        if let Some(live) = self.slot.live() {
            let journal = &live.counters.journal;
            // A crawl that was opened anew counts from 1 again.
            if journal.newest() < self.page {
                self.page = 0;
            }
            let (entries, newest) = journal.since(self.page, PAGES_PER_SECOND_MAX);
            self.page = newest;
            events.extend(entries.iter().map(|entry| event("page", &entry_json(entry))));
        }
        events.push(event("machine", &self.app.machine()));
        events.reverse();
        self.waiting = events;
    }
}

fn event(name: &str, data: &impl Serialize) -> Event {
    // What is sent are our own structures, which can always be written.
    Event::default().event(name).data(serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned()))
}
