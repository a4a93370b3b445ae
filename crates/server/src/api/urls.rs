//! URLs one by one: lists injected from outside, pages to be visited again, and the life of a URL.

use axum::Json;
use axum::extract::{Path, State};
use oxrdf::{GraphName, NamedNode};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use webloom_index::{GraphPattern, Snapshot};
use webloom_model::PageUrl;
use webloom_model::frontier::{Injection, InjectionReport, UrlLife, UrlStage};
use webloom_model::vocab::wl;
use webloom_pipeline::CrawlSpec;
use webloom_pipeline::entries::{WrongEntry, each_entry, told};

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
#[serde(expecting = "{\"url\": …, \"score\": …, \"blacklisted\": …}")]
pub struct Line {
    url: String,
    #[serde(default)]
    score: Option<f32>,
    #[serde(default)]
    blacklisted: bool,
}

/// An injected list: what is understood of it, and what is wrong with the rest.
#[derive(Debug, Default)]
pub struct List {
    injections: Vec<Injection>,
    entries: u64,
    refused: Vec<Value>,
    refused_total: u64,
}

impl List {
    fn take(&mut self, number: u64, entry: Result<Line, WrongEntry>) {
        self.entries = number;
        let read = entry.and_then(|line| {
            let wrong = |text: &str, reason: String| WrongEntry { text: told(text), reason };
            if line.score.is_some_and(|score| !score.is_finite()) {
                return Err(wrong(&line.url, "the score is no number".to_owned()));
            }
            match PageUrl::parse(&line.url) {
                Ok(url) => Ok(Injection { url, score: line.score, blacklisted: line.blacklisted }),
                Err(problem) => Err(wrong(&line.url, problem.to_string())),
            }
        });
        match read {
            Ok(injection) if number <= URLS_MAX as u64 => self.injections.push(injection),
            // The list is too long, and will be refused.
            Ok(_) => {}
            Err(WrongEntry { text, reason }) => {
                self.refused_total += 1;
                if self.refused.len() < REFUSED_MAX {
                    self.refused.push(json!({"number": number, "url": text, "reason": reason}));
                }
            }
        }
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<Self, D::Error> {
        let mut taken = Self::default();
        each_entry(list, |number, entry| taken.take(number, entry))?;
        Ok(taken)
    }
}

/// `POST /api/crawls/{id}/urls`: takes what it understands, and tells what is wrong with the rest.
pub async fn inject(
    State(app): State<Shared>,
    Path(id): Path<String>,
    JsonBody(list): JsonBody<List>,
) -> Result<Json<Value>, ApiError> {
    let slot = app.registry.get(&id)?;
    if list.entries > URLS_MAX as u64 {
        return Err(ApiError::unprocessable(format!("a list has at most {URLS_MAX} URLs; send several")));
    }
    blocking(move || {
        let live = slot.load()?;
        let InjectionReport { queued, rescored, banned, known, tried_again, refused: over_budget, .. } =
            live.inject(&list.injections)?;
        Ok(Json(json!({
            "added": queued,
            "rescored": rescored,
            "banned": banned,
            "known": known,
            "tried_again": tried_again,
            "refused": list.refused,
            "refused_total": list.refused_total + over_budget,
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
        let (mut queued, mut refused) = (0_u64, Vec::new());
        for (number, text) in (1_u64..).zip(&wish.urls) {
            match PageUrl::parse(text) {
                Ok(url) => queued += u64::from(live.frontier.recrawl_now(&url).map_err(frontier_error)?),
                Err(problem) if refused.len() < REFUSED_MAX => {
                    refused.push(json!({"number": number, "url": told(text), "reason": problem.to_string()}));
                }
                Err(_) => {}
            }
        }
        Ok(Json(json!({"queued": queued, "refused": refused})))
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
            None => slot.specification().and_then(|text| CrawlSpec::from_toml(&text).ok()).map(|spec| {
                spec.rejoin(&slot.data);
                spec.into()
            }),
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
