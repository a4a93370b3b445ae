//! How a query is answered: the plan, with rows as estimated and as counted.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Value, json};
use webloom_index::{CancellationToken, PlanNode, QueryOptions};

use crate::app::Shared;
use crate::error::ApiError;
use crate::request::{JsonBody, Parameters};
use crate::sparql::stream::CancelOnDrop;

/// A query to be explained.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    query: String,
}

/// `POST /api/explain`. Runs the query and throws its results away.
pub async fn explain(
    State(app): State<Shared>,
    parameters: Parameters,
    JsonBody(explain): JsonBody<Explain>,
) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    let cancellation = CancellationToken::new();
    let _cancel = CancelOnDrop(cancellation.clone());
    let options = QueryOptions { cancellation: Some(cancellation), ..app.query_options() };
    app.read(move || {
        let explanation = slot.snapshot()?.explain(&explain.query, &options)?;
        Ok(Json(json!({
            "plan": plan(&explanation.plan),
            "joins": explanation.joins,
            "results": explanation.results,
            "milliseconds": crate::crawls::report::round(explanation.seconds * 1e3),
            "text": explanation.to_string(),
        })))
    })
    .await
}

/// The tree of operators. As deep as a query may be, which is bounded.
fn plan(node: &PlanNode) -> Value {
    let (operator, detail) = match node.name.split_once('(') {
        Some((operator, rest)) => (operator, rest.strip_suffix(')').unwrap_or(rest)),
        None => (node.name.as_str(), ""),
    };
    json!({
        "operator": operator,
        "detail": detail,
        "estimated_rows": node.estimated_rows.map(f64::round),
        "rows": node.rows,
        "milliseconds": crate::crawls::report::round(node.seconds * 1e3),
        "children": node.children.iter().map(plan).collect::<Vec<_>>(),
    })
}
