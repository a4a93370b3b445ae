//! Looking at crawls: which there are, their numbers now and over time, their queues, recent pages and errors.

use std::collections::{BTreeMap, HashMap};

use axum::Json;
use axum::extract::{Path, State};
use oxrdf::{NamedOrBlankNode, Term};
use serde_json::{Value, json};
use webloom_index::{GraphPattern, Snapshot};
use webloom_model::frontier::{QueueOrder, QueueQuery, QueueState};
use webloom_model::vocab::{http as http_vocab, prov, wl};
use webloom_model::{FrontierError, PageUrl};
use webloom_pipeline::Entry;

use super::data;
use crate::app::{Shared, blocking};
use crate::crawls::CrawlReport;
use crate::crawls::series::Span;
use crate::error::ApiError;
use crate::request::Parameters;

/// URLs without a page that are looked at for the list of errors.
const ERRORS_MAX: usize = 200_000;

/// Hosts told of one kind of error.
const ERROR_HOSTS_MAX: usize = 20;

/// Examples told of one kind of error.
const ERROR_EXAMPLES_MAX: usize = 10;

/// Pages that are looked at for the newest, when the crawl does not run here.
const RECENT_LOOKED_AT_MAX: usize = 200_000;

/// `GET /api/crawls`.
pub async fn list(State(app): State<Shared>) -> Json<Value> {
    let crawls: Vec<_> = app.registry.all().iter().map(|slot| slot.brief()).collect();
    Json(json!({"crawls": crawls}))
}

/// `GET /api/crawls/{id}`.
pub async fn one(State(app): State<Shared>, Path(id): Path<String>) -> Result<Json<CrawlReport>, ApiError> {
    let slot = app.registry.get(&id)?;
    blocking(move || Ok(Json(slot.report()))).await
}

/// `GET /api/crawls/{id}/series`.
pub async fn series(
    State(app): State<Shared>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Json<Value>, ApiError> {
    let slot = app.registry.get(&id)?;
    let word = parameters.choice("span", &["hour", "day", "week"])?;
    let span = Span::ALL.into_iter().find(|span| span.as_str() == word).unwrap_or(Span::Hour);
    let now = u64::try_from(jiff::Timestamp::now().as_second()).unwrap_or(0);
    let series = slot.series.lock().clone();
    Ok(Json(series.to_json(span, now)))
}

/// `GET /api/crawls/{id}/hosts`.
pub async fn hosts(
    State(app): State<Shared>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Json<Value>, ApiError> {
    let slot = app.registry.get(&id)?;
    let (limit, offset) = data::paging(&parameters, 100, 1_000)?;
    let order = match parameters.choice("sort", &["queued", "fetched", "errors", "host"])? {
        "fetched" => QueueOrder::Fetched,
        "errors" => QueueOrder::Errors,
        "host" => QueueOrder::Host,
        _ => QueueOrder::Queued,
    };
    let mut words = vec!["all"];
    words.extend(QueueState::ALL.map(QueueState::as_str));
    let word = parameters.choice("state", &words)?;
    let state = QueueState::ALL.into_iter().find(|state| state.as_str() == word);
    let host = parameters.one("q")?.filter(|text| !text.is_empty()).map(str::to_owned);
    app.read(move || {
        let live = slot.load()?;
        // One more than is shown tells whether there are others; the number of all is what the queues give.
        let query = QueueQuery { state, host, order, max: data::OFFSET_MAX };
        let queues = live.frontier.queues(&query).map_err(frontier_error)?;
        let hosts: Vec<Value> = queues
            .iter()
            .skip(offset)
            .take(limit)
            .map(|queue| {
                let mut host = serde_json::to_value(queue).unwrap_or_default();
                host["robots"] = live.robots_of(&queue.host).unwrap_or("unknown").into();
                host
            })
            .collect();
        Ok(Json(json!({"total": queues.len(), "hosts": hosts})))
    })
    .await
}

/// What a frontier says, as a client is told.
pub fn frontier_error(error: FrontierError) -> ApiError {
    match error {
        FrontierError::Unsupported(_) => {
            ApiError::new(http::StatusCode::CONFLICT, "unsupported", error.to_string())
        }
        other => ApiError::internal(other.to_string()),
    }
}

/// `GET /api/crawls/{id}/recent`.
pub async fn recent(
    State(app): State<Shared>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Result<Json<Value>, ApiError> {
    let slot = app.registry.get(&id)?;
    let limit = parameters.number("limit", 50, 1_000)?;
    app.read(move || {
        let entries = slot.live().map(|live| live.counters.journal.since(0, limit).0).unwrap_or_default();
        let pages: Vec<Value> = if entries.is_empty() {
            newest_pages(&slot.snapshot()?, limit)?
        } else {
            entries.iter().rev().map(entry_json).collect()
        };
        Ok(Json(json!({"pages": pages})))
    })
    .await
}

/// A line of the journal, as the interface shows it.
pub fn entry_json(entry: &Entry) -> Value {
    json!({
        "url": entry.url,
        "at": format!("{:.3}", entry.at),
        "outcome": entry.outcome,
        "message": entry.message,
        "status": entry.status,
        "type": entry.media_type,
        "bytes": entry.bytes,
        "quads": entry.quads,
        "syntaxes": entry.syntaxes,
        "milliseconds": entry.milliseconds,
        "diagnostics": entry.diagnostics,
    })
}

/// The pages that were fetched last, from their metadata.
fn newest_pages(snapshot: &Snapshot, limit: usize) -> Result<Vec<Value>, ApiError> {
    let times = snapshot.quads_for_pattern(None, Some(prov::GENERATED_AT_TIME), None, GraphPattern::Named)?;
    let mut newest: Vec<(String, String)> = Vec::new();
    for quad in times.take(RECENT_LOOKED_AT_MAX) {
        let quad = quad?;
        if let (NamedOrBlankNode::NamedNode(page), Term::Literal(at)) = (quad.subject, quad.object) {
            newest.push((at.value().to_owned(), page.into_string()));
        }
        if newest.len() > limit.max(16) * 8 {
            newest.sort_unstable_by(|a, b| b.cmp(a));
            newest.truncate(limit);
        }
    }
    newest.sort_unstable_by(|a, b| b.cmp(a));
    newest.truncate(limit);
    newest.iter().map(|(_, page)| data::page_line(snapshot, page)).collect()
}

/// What is told of one kind of error.
#[derive(Default)]
struct ErrorKind {
    count: u64,
    hosts: HashMap<String, u64>,
    examples: Vec<Value>,
}

/// `GET /api/crawls/{id}/errors`: from the metadata of URLs that gave no page, so it is there after a restart too.
pub async fn errors(State(app): State<Shared>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let slot = app.registry.get(&id)?;
    app.read(move || {
        let snapshot = slot.snapshot()?;
        let times: HashMap<String, String> = slot
            .live()
            .map(|live| live.counters.journal.since(0, usize::MAX).0)
            .unwrap_or_default()
            .into_iter()
            .map(|entry| (entry.url, format!("{:.3}", entry.at)))
            .collect();
        let mut kinds: BTreeMap<String, ErrorKind> = BTreeMap::new();
        let reasons = snapshot.quads_for_pattern(None, Some(wl::REASON), None, GraphPattern::Named)?;
        for quad in reasons.take(ERRORS_MAX) {
            let quad = quad?;
            let (NamedOrBlankNode::NamedNode(url), Term::Literal(reason)) = (&quad.subject, &quad.object)
            else {
                continue;
            };
            let about = |predicate| data::literal(&snapshot, url, predicate, quad.graph_name.as_ref());
            let code = about(wl::CODE)?.unwrap_or_else(|| "unknown".to_owned());
            let kind = match about(http_vocab::STATUS_CODE)? {
                Some(status) => format!("status {status}"),
                None => code,
            };
            let kind = kinds.entry(kind).or_default();
            kind.count += 1;
            let host = PageUrl::parse(url.as_str()).map(|url| url.host().to_owned()).unwrap_or_default();
            *kind.hosts.entry(host).or_default() += 1;
            if kind.examples.len() < ERROR_EXAMPLES_MAX {
                kind.examples.push(json!({
                    "url": url.as_str(),
                    "at": times.get(url.as_str()),
                    "message": reason.value(),
                }));
            }
        }
        let mut kinds: Vec<(String, ErrorKind)> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, kind)| std::cmp::Reverse(kind.count));
        let kinds: Vec<Value> = kinds.into_iter().map(|(name, kind)| kind_json(&name, kind)).collect();
        Ok(Json(json!({"kinds": kinds})))
    })
    .await
}

fn kind_json(name: &str, kind: ErrorKind) -> Value {
    let mut hosts: Vec<(String, u64)> = kind.hosts.into_iter().collect();
    hosts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let hosts: Vec<Value> = hosts
        .into_iter()
        .take(ERROR_HOSTS_MAX)
        .map(|(host, count)| json!({"host": host, "count": count}))
        .collect();
    json!({"kind": name, "count": kind.count, "hosts": hosts, "examples": kind.examples})
}
