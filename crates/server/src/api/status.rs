//! The server as a whole: its status, its settings, the examples it offers, and the session cookie.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Value, json};
use webloom_index::DefaultGraph;

use crate::app::Shared;
use crate::crawls::StoreNumbers;
use crate::guard::COOKIE;

/// `GET /api/status`.
pub async fn status(State(app): State<Shared>) -> Json<Value> {
    let slots = app.registry.all();
    // One server, one store or several: the numbers of all of them together.
    let store =
        slots.iter().map(|slot| slot.store()).fold(StoreNumbers::default(), |all, one| StoreNumbers {
            pages: all.pages + one.pages,
            graphs: all.graphs + one.graphs,
            quads: all.quads + one.quads,
            terms: all.terms + one.terms,
            bytes: all.bytes + one.bytes,
            segments: all.segments + one.segments,
            generation: all.generation + one.generation,
        });
    let read_only = !slots.is_empty() && slots.iter().all(|slot| slot.is_elsewhere());
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "data": app.registry.place(),
        "uptime_seconds": crate::crawls::report::round(app.uptime().as_secs_f64()),
        "read_only": read_only,
        "token_required": app.checked.reading_needs_token,
        "crawls": slots.iter().map(|slot| slot.brief()).collect::<Vec<_>>(),
        "store": store,
        "machine": app.machine(),
    }))
}

/// `GET /api/settings`.
pub async fn settings(State(app): State<Shared>) -> Json<Value> {
    let limits = app.limits();
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "commit": option_env!("WEBLOOM_COMMIT"),
        "listen": app.checked.config.listen.to_string(),
        "default_graph": match app.checked.config.default_graph {
            DefaultGraph::Union => "union",
            DefaultGraph::Unnamed => "unnamed",
        },
        "limits": {
            "query_seconds": limits.query_time.as_secs_f64(),
            "query_rows": limits.query_rows,
            "query_bytes": limits.query_memory_bytes,
            "queries_at_once": limits.queries_at_once,
            "body_bytes": limits.body_bytes_max,
            "upload_bytes": limits.upload_bytes_max,
            "requests_per_second": limits.requests_per_second,
            "connections": limits.connections_max,
        },
    }))
}

/// `POST /api/session`: with the token, sets a cookie for what cannot send a header field. Good for reading; to change
/// something, a request with the cookie needs the field `X-Webloom` too.
pub async fn session(State(app): State<Shared>) -> Response {
    let cookie =
        format!("{COOKIE}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=86400", app.checked.token.secret());
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
}

/// `GET /api/examples`.
pub async fn examples(State(app): State<Shared>) -> Json<Value> {
    let special = app.examples.iter().map(|example| json!({"title": example.title, "query": example.query}));
    let general = GENERAL.iter().map(|(title, query)| json!({"title": title, "query": query}));
    Json(json!({"examples": special.chain(general).collect::<Vec<_>>()}))
}

/// Queries that fit any crawl.
const GENERAL: &[(&str, &str)] = &[
    (
        "What kinds of things are there?",
        "SELECT ?type (COUNT(*) AS ?things) {\n  ?thing a ?type\n}\nGROUP BY ?type\nORDER BY DESC(?things)\nLIMIT 50",
    ),
    (
        "Which properties are used most?",
        "SELECT ?property (COUNT(*) AS ?uses) {\n  ?thing ?property ?value\n}\nGROUP BY ?property\nORDER BY DESC(?uses)\nLIMIT 50",
    ),
    (
        "Titles of pages",
        "PREFIX dcterms: <http://purl.org/dc/terms/>\nPREFIX foaf: <http://xmlns.com/foaf/0.1/>\n\nSELECT ?page ?title {\n  ?page a foaf:Document ; dcterms:title ?title\n}\nLIMIT 100",
    ),
    (
        "Which pages say the most?",
        "SELECT ?page (COUNT(*) AS ?statements) {\n  GRAPH ?page { ?thing ?property ?value }\n  FILTER(!STRSTARTS(STR(?page), \"urn:webloom:\"))\n}\nGROUP BY ?page\nORDER BY DESC(?statements)\nLIMIT 20",
    ),
    (
        "URLs that gave no page, and why",
        "PREFIX wl: <urn:webloom:ns#>\n\nSELECT ?url ?reason {\n  GRAPH ?meta { ?url wl:reason ?reason }\n}\nLIMIT 100",
    ),
    (
        "Find things by words",
        "PREFIX wl: <urn:webloom:ns#>\n\nSELECT ?thing ?name ?score {\n  SERVICE <urn:webloom:text> {\n    [] wl:query \"museum\" ; wl:subject ?thing ; wl:label ?name ; wl:score ?score\n  }\n}\nORDER BY DESC(?score)\nLIMIT 20",
    ),
];
