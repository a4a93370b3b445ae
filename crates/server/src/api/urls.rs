//! URLs one by one: lists injected from outside, pages to be visited again, and the life of a URL.

use axum::Json;
use axum::extract::{Path, State};
use oxrdf::{GraphName, NamedNode};
use serde::Deserialize;
use serde_json::{Value, json};
use webloom_index::{GraphPattern, Snapshot};
use webloom_model::PageUrl;
use webloom_model::frontier::{Injection, InjectionReport, UrlLife, UrlStage};
use webloom_model::vocab::wl;
use webloom_pipeline::CrawlSpec;

use super::crawls::frontier_error;
use super::data;
use crate::app::{Shared, blocking};
use crate::error::ApiError;
use crate::request::{JsonBody, Parameters};

/// URLs of one list.
const URLS_MAX: usize = 500_000;

/// Refused URLs that are told one by one.
const REFUSED_MAX: usize = 1_000;

/// One line of an injected list.
#[derive(Debug, Deserialize)]
pub struct Line {
    url: String,
    #[serde(default)]
    score: Option<f32>,
    #[serde(default)]
    blacklisted: bool,
}

/// `POST /api/crawls/{id}/urls`.
pub async fn inject(
    State(app): State<Shared>,
    Path(id): Path<String>,
    JsonBody(lines): JsonBody<Vec<Line>>,
) -> Result<Json<Value>, ApiError> {
    let slot = app.registry.get(&id)?;
    if lines.len() > URLS_MAX {
        return Err(ApiError::unprocessable(format!("a list has at most {URLS_MAX} URLs; send several")));
    }
    blocking(move || {
        let live = slot.load()?;
        let mut refused = Vec::new();
        let mut refused_total = 0_usize;
        let mut injections = Vec::with_capacity(lines.len());
        let mut refuse = |url: String, reason: String| {
            refused_total += 1;
            if refused.len() < REFUSED_MAX {
                refused.push(json!({"url": url, "reason": reason}));
            }
        };
        for line in lines {
            if line.score.is_some_and(|score| !score.is_finite()) {
                refuse(line.url, "the score is no number".to_owned());
                continue;
            }
            match PageUrl::parse(&line.url) {
                Ok(url) => {
                    injections.push(Injection { url, score: line.score, blacklisted: line.blacklisted });
                }
                Err(problem) => refuse(line.url, problem.to_string()),
            }
        }
        let InjectionReport { queued, rescored, banned, known, refused: over_budget, .. } =
            live.frontier.inject(&injections).map_err(frontier_error)?;
        Ok(Json(json!({
            "added": queued,
            "rescored": rescored,
            "banned": banned,
            "known": known,
            "refused": refused,
            "refused_total": refused_total as u64 + over_budget,
        })))
    })
    .await
}

/// URLs to visit again.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recrawl {
    urls: Vec<String>,
}

/// `POST /api/crawls/{id}/recrawl`.
pub async fn recrawl(
    State(app): State<Shared>,
    Path(id): Path<String>,
    JsonBody(wish): JsonBody<Recrawl>,
) -> Result<Json<Value>, ApiError> {
    let slot = app.registry.get(&id)?;
    if wish.urls.len() > URLS_MAX {
        return Err(ApiError::unprocessable(format!("a list has at most {URLS_MAX} URLs; send several")));
    }
    blocking(move || {
        let live = slot.load()?;
        let mut queued = 0_u64;
        for url in &wish.urls {
            let Ok(url) = PageUrl::parse(url) else { continue };
            queued += u64::from(live.frontier.recrawl_now(&url).map_err(frontier_error)?);
        }
        Ok(Json(json!({"queued": queued})))
    })
    .await
}

/// `GET /api/url`: the life of a URL.
pub async fn life(State(app): State<Shared>, parameters: Parameters) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    let url = PageUrl::parse(parameters.required("url")?)
        .map_err(|problem| ApiError::bad_request(format!("the parameter `url`: {problem}")))?;
    app.read(move || {
        let snapshot = slot.snapshot()?;
        // Without the crawl (another process has it, or there is none) the metadata still tell most of it.
        let live = slot.load().ok();
        let life = match &live {
            Some(live) => live.frontier.inspect(&url).unwrap_or_default(),
            None => None,
        };
        let spec = match &live {
            Some(live) => Some(live.control.spec()),
            None => slot.specification().and_then(|text| CrawlSpec::from_toml(&text).ok()).map(Into::into),
        };
        Ok(Json(tell(&snapshot, &url, life, spec.as_deref())?))
    })
    .await
}

fn tell(
    snapshot: &Snapshot,
    url: &PageUrl,
    life: Option<UrlLife>,
    spec: Option<&CrawlSpec>,
) -> Result<Value, ApiError> {
    let page = url.graph_name();
    let meta = GraphName::from(url.meta_graph_name());
    let about = |predicate| data::literal(snapshot, &page, predicate, meta.as_ref());
    let outcome = about(wl::OUTCOME)?;
    let reason = about(wl::REASON)?;
    let verdict = spec.map(|spec| spec.links.scope.admits(url));
    let filters: Vec<Value> = verdict
        .iter()
        .map(|verdict| match verdict {
            Ok(()) => json!({"name": "scope", "passed": true, "reason": null}),
            Err(refusal) => json!({"name": "scope", "passed": false, "reason": refusal.as_str()}),
        })
        .collect();
    let state = match (&life, outcome.as_deref()) {
        (Some(life), _) => stage_word(&life.stage).to_owned(),
        (None, Some(outcome)) => outcome.to_owned(),
        (None, None) => "unknown".to_owned(),
    };
    let found = match &life {
        Some(life) => json!({
            "on": life.found_on,
            "at": life.found_at.map(|at| at.to_string()),
            "depth": life.depth,
            "anchor": life.anchor,
        }),
        None => json!({
            "on": data::iri(snapshot, &page, wl::FOUND_ON, meta.as_ref())?,
            "at": null,
            "depth": about(wl::DEPTH)?.and_then(|depth| depth.parse::<u64>().ok()),
            "anchor": about(wl::ANCHOR)?,
        }),
    };
    let robots = match about(wl::CODE)?.as_deref() {
        Some("robots") => json!({"verdict": "disallowed", "rule": null}),
        Some("robots-unreachable") => json!({"verdict": "unreachable", "rule": null}),
        _ if outcome.as_deref() == Some("indexed") => json!({"verdict": "allowed", "rule": null}),
        _ => json!({"verdict": "unknown", "rule": null}),
    };
    let quads = count_graph(snapshot, &page)?;
    Ok(json!({
        "url": url.as_str(),
        "state": state,
        "found": found,
        "priority": life.as_ref().and_then(|life| life.score),
        "filters": filters,
        "queue": life.as_ref().and_then(|life| life.queue.clone()),
        "robots": robots,
        "fetches": fetches(snapshot, &page, &meta, life.as_ref())?,
        "extracted": {"quads": quads, "graph": (quads > 0).then(|| page.as_str().to_owned())},
        "refused": reason.or_else(|| {
            let refusal = verdict?.err()?;
            life.is_none().then(|| format!("out of scope: {refusal}"))
        }),
    }))
}

fn stage_word(stage: &UrlStage) -> &'static str {
    match stage {
        UrlStage::Queued => "queued",
        UrlStage::Leased => "leased",
        UrlStage::Waiting { .. } => "waiting",
        UrlStage::Indexed { .. } => "indexed",
        UrlStage::NoPage { .. } => "no-page",
        UrlStage::Banned { .. } => "banned",
    }
}

/// What came of its fetches: as the frontier noted them, or the last one as the metadata have it.
fn fetches(
    snapshot: &Snapshot,
    page: &NamedNode,
    meta: &GraphName,
    life: Option<&UrlLife>,
) -> Result<Vec<Value>, ApiError> {
    let line = data::page_line(snapshot, page.as_str())?;
    let notes = life.map(|life| life.fetches.as_slice()).unwrap_or_default();
    if notes.is_empty() {
        let outcome = data::literal(snapshot, page, wl::OUTCOME, meta.as_ref())?;
        return Ok(outcome
            .map(|outcome| {
                json!({
                    "at": line["at"], "outcome": outcome, "status": line["status"], "bytes": line["bytes"],
                    "milliseconds": null,
                })
            })
            .into_iter()
            .collect());
    }
    let last = notes.len() - 1;
    Ok(notes
        .iter()
        .enumerate()
        .map(|(number, note)| {
            json!({
                "at": note.at().to_string(),
                "outcome": note.kind.as_str(),
                "status": note.status.map(Value::from).unwrap_or_else(|| {
                    if number == last { line["status"].clone() } else { Value::Null }
                }),
                "bytes": if number == last { line["bytes"].clone() } else { Value::Null },
                "milliseconds": note.elapsed_ms,
            })
        })
        .collect())
}

fn count_graph(snapshot: &Snapshot, page: &NamedNode) -> Result<u64, ApiError> {
    let quads = snapshot.quads_for_pattern(None, None, None, GraphPattern::One(page.as_ref().into()))?;
    Ok(quads.take(data::STATEMENTS_COUNTED_MAX).count() as u64)
}
