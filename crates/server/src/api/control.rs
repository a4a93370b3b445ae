//! Steering crawls: make, start, pause, resume, stop, delete; filters and limits while they run.

use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use webloom_pipeline::{CrawlSpec, RawSpec, Stop};

use crate::app::{Shared, blocking};
use crate::crawls::{CrawlBrief, LiveCrawl};
use crate::error::ApiError;
use crate::request::{JsonBody, Parameters};

/// How long a crawl that is deleted may take to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(20);

/// Filters that one crawl may have.
const FILTERS_MAX: usize = 1_000;

/// A crawl to be made.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewCrawl {
    id: Option<String>,
    specification: String,
    #[serde(default)]
    start: bool,
}

/// `POST /api/crawls`.
pub async fn create(
    State(app): State<Shared>,
    JsonBody(new): JsonBody<NewCrawl>,
) -> Result<(StatusCode, Json<CrawlBrief>), ApiError> {
    let runtime = tokio::runtime::Handle::current();
    blocking(move || {
        let slot = app.registry.create(new.id.as_deref(), &new.specification)?;
        if new.start {
            slot.start(&runtime)?;
        }
        Ok((StatusCode::CREATED, Json(slot.brief())))
    })
    .await
}

/// `POST /api/crawls/{id}/start`.
pub async fn start(State(app): State<Shared>, Path(id): Path<String>) -> Result<Response, ApiError> {
    let slot = app.registry.get(&id)?;
    let runtime = tokio::runtime::Handle::current();
    blocking(move || {
        slot.start(&runtime)?;
        Ok((StatusCode::ACCEPTED, Json(slot.brief())).into_response())
    })
    .await
}

/// `POST /api/crawls/{id}/pause`.
pub async fn pause(State(app): State<Shared>, Path(id): Path<String>) -> Result<Response, ApiError> {
    steer(app, id, |live| live.control.pause()).await
}

/// `POST /api/crawls/{id}/resume`.
pub async fn resume(State(app): State<Shared>, Path(id): Path<String>) -> Result<Response, ApiError> {
    steer(app, id, |live| live.control.resume()).await
}

/// `POST /api/crawls/{id}/stop`.
pub async fn stop(State(app): State<Shared>, Path(id): Path<String>) -> Result<Response, ApiError> {
    steer(app, id, |live| live.control.stop(Stop::Gracefully)).await
}

async fn steer(app: Shared, id: String, order: impl FnOnce(&LiveCrawl)) -> Result<Response, ApiError> {
    let slot = app.registry.get(&id)?;
    let Some(live) = slot.live().filter(|live| live.is_under_way()) else {
        return Err(match slot.is_elsewhere() {
            true => ApiError::conflict("another process runs this crawl").hint("control it there"),
            false => ApiError::conflict(format!("the crawl `{id}` is not running"))
                .hint("POST /api/crawls/{id}/start starts it"),
        });
    };
    order(&live);
    Ok((StatusCode::ACCEPTED, Json(slot.brief())).into_response())
}

/// `DELETE /api/crawls/{id}`: stops it, forgets it, and with `data=true` deletes what it found.
pub async fn delete(
    State(app): State<Shared>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<StatusCode, ApiError> {
    let with_data = parameters.choice("data", &["false", "true"])? == "true";
    let slot = app.registry.get(&id)?;
    if id == crate::crawls::registry::MAIN {
        // Refused before anything is stopped.
        app.registry.remove(&slot, false)?;
    }
    if let Some(live) = slot.live() {
        live.control.stop(Stop::Now);
        let mut states = live.control.states();
        let ended = async {
            while live.is_under_way() {
                if states.changed().await.is_err() {
                    break;
                }
            }
        };
        if tokio::time::timeout(STOP_PATIENCE, ended).await.is_err() {
            return Err(ApiError::conflict("the crawl did not stop in time").hint("try again"));
        }
    }
    blocking(move || {
        slot.unload();
        app.registry.remove(&slot, with_data)?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

/// Regular expressions over URLs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filters {
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
}

/// `GET /api/crawls/{id}/filters`.
pub async fn filters(State(app): State<Shared>, Path(id): Path<String>) -> Result<Json<Filters>, ApiError> {
    let slot = app.registry.get(&id)?;
    let raw = raw_of(&slot.specification().unwrap_or_default())?;
    let list = |key: &str| raw.texts(key);
    Ok(Json(Filters { include: list("scope.include"), exclude: list("scope.exclude") }))
}

/// `PUT /api/crawls/{id}/filters`: holds from the next page on, for URLs already queued too.
pub async fn put_filters(
    State(app): State<Shared>,
    Path(id): Path<String>,
    JsonBody(filters): JsonBody<Filters>,
) -> Result<Json<Filters>, ApiError> {
    let slot = app.registry.get(&id)?;
    if filters.include.len() + filters.exclude.len() > FILTERS_MAX {
        return Err(ApiError::unprocessable(format!("there may be {FILTERS_MAX} filters")));
    }
    blocking(move || {
        let live = slot.load()?;
        live.control.change(|raw| {
            raw.set("scope.include", filters.include.clone());
            raw.set("scope.exclude", filters.exclude.clone());
        })?;
        Ok(Json(filters))
    })
    .await
}

/// Delays and budgets. Nothing means none.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CrawlLimits {
    delay_ms: Option<u64>,
    domain_delay_ms: Option<u64>,
    max_pages: Option<u64>,
    max_depth: Option<u64>,
    max_pages_per_host: Option<u64>,
    bandwidth_bytes_per_second: Option<u64>,
}

/// `GET /api/crawls/{id}/limits`.
pub async fn limits(
    State(app): State<Shared>,
    Path(id): Path<String>,
) -> Result<Json<CrawlLimits>, ApiError> {
    let slot = app.registry.get(&id)?;
    let spec = match slot.live() {
        Some(live) => live.control.spec(),
        None => raw_of(&slot.specification().unwrap_or_default())?.check()?.into(),
    };
    Ok(Json(limits_of(&spec)))
}

fn limits_of(spec: &CrawlSpec) -> CrawlLimits {
    let milliseconds = |delay: Duration| u64::try_from(delay.as_millis()).ok();
    CrawlLimits {
        delay_ms: milliseconds(spec.frontier.host_delay),
        domain_delay_ms: milliseconds(spec.frontier.domain_delay),
        max_pages: spec.frontier.pages_max,
        max_depth: spec.frontier.depth_max.map(u64::from),
        max_pages_per_host: spec.frontier.pages_per_host_max,
        bandwidth_bytes_per_second: spec.fetch.bandwidth,
    }
}

/// `PUT /api/crawls/{id}/limits`: holds at once (the bandwidth within half a second), and is kept for the next run. A field
/// that is not sent stays as it is; one that is null is taken away.
pub async fn put_limits(
    State(app): State<Shared>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Value>,
) -> Result<Json<CrawlLimits>, ApiError> {
    let slot = app.registry.get(&id)?;
    let limits: CrawlLimits = serde_json::from_value(body.clone())
        .map_err(|error| ApiError::unprocessable(format!("the limits are not as expected: {error}")))?;
    blocking(move || {
        let live = slot.load()?;
        let sent = |name: &str| body.get(name).is_some();
        let spec = live.control.change(|raw| {
            let duration = |delay: Option<u64>| format!("{}ms", delay.unwrap_or(0));
            if sent("delay_ms") {
                raw.set("politeness.delay", duration(limits.delay_ms));
            }
            if sent("domain_delay_ms") {
                raw.set("politeness.domain_delay", duration(limits.domain_delay_ms));
            }
            for (name, key, value) in [
                ("max_pages", "scope.max_pages", limits.max_pages),
                ("max_depth", "scope.max_depth", limits.max_depth),
                ("max_pages_per_host", "scope.max_pages_per_host", limits.max_pages_per_host),
                ("bandwidth_bytes_per_second", "fetch.bandwidth", limits.bandwidth_bytes_per_second),
            ] {
                match value {
                    Some(value) => raw.set(key, i64::try_from(value).unwrap_or(i64::MAX)),
                    None if sent(name) => raw.unset(key),
                    None => {}
                }
            }
        })?;
        let mut in_force = live.frontier.limits();
        in_force.host_delay = spec.frontier.host_delay;
        in_force.domain_delay = spec.frontier.domain_delay;
        in_force.depth_max = spec.frontier.depth_max;
        in_force.pages_max = spec.frontier.pages_max;
        in_force.pages_per_host_max = spec.frontier.pages_per_host_max;
        live.set_limits(&in_force)?;
        Ok(Json(limits_of(&spec)))
    })
    .await
}

fn raw_of(specification: &str) -> Result<RawSpec, ApiError> {
    Ok(RawSpec::parse(specification)?)
}
