//! Searching for things by words: JSON for the interface, the same answer for the page without JavaScript.
//!
//! In: words, and filters by type, vocabulary, site and language. Out: one result per thing, as the index finds, ranks and
//! counts them.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use webloom_index::{EntityQuery, EntityResults};

use super::data;
use crate::app::Shared;
use crate::error::ApiError;
use crate::request::Parameters;

/// Names offered while somebody types.
const SUGGESTIONS_MAX: usize = 8;

/// Filters of one kind in one search.
const FILTERS_MAX: usize = 50;

/// Reads the question from a request.
pub fn question(parameters: &Parameters) -> Result<EntityQuery, ApiError> {
    let (limit, offset) = data::paging(parameters, 20, 100)?;
    let filters = |name: &str| {
        let values = parameters.list(name);
        if values.len() > FILTERS_MAX {
            return Err(ApiError::bad_request(format!("`{name}` is given more than {FILTERS_MAX} times")));
        }
        Ok(values)
    };
    Ok(EntityQuery {
        types: filters("type")?,
        vocabularies: filters("vocabulary")?,
        sites: filters("site")?,
        languages: filters("language")?,
        limit,
        offset,
        as_you_type: parameters.choice("typing", &["false", "true"])? == "true",
        ..EntityQuery::new(parameters.one("q")?.unwrap_or_default().trim())
    })
}

/// `GET /api/search`.
pub async fn search(
    State(app): State<Shared>,
    parameters: Parameters,
) -> Result<Json<EntityResults>, ApiError> {
    let slot = app.slot(&parameters)?;
    let question = question(&parameters)?;
    app.read(move || Ok(Json(slot.snapshot()?.search_entities(&question)?))).await
}

/// `GET /api/suggest`.
pub async fn suggest(State(app): State<Shared>, parameters: Parameters) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    let words = parameters.one("q")?.unwrap_or_default().trim().to_owned();
    app.read(move || {
        let suggestions = slot.snapshot()?.suggest(&words, SUGGESTIONS_MAX)?;
        Ok(Json(json!({"suggestions": suggestions})))
    })
    .await
}
