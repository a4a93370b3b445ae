//! What is there as a whole: sites, and the vocabulary for completion.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use oxrdf::Term;
use serde_json::{Value, json};

use super::data;
use crate::app::Shared;
use crate::error::ApiError;
use crate::request::Parameters;
use crate::survey::{PREFIXES, namespace};

/// Predicates and classes that are told.
const TERMS_MAX: usize = 2_000;

/// `GET /api/sites`.
pub async fn sites(State(app): State<Shared>, parameters: Parameters) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    let (limit, offset) = data::paging(&parameters, 100, 1_000)?;
    let by_quads = parameters.choice("sort", &["pages", "quads"])? == "quads";
    let shared = app.clone();
    app.read(move || {
        let survey = shared.surveys.of(&slot)?;
        let mut sites: Vec<_> = survey.sites.iter().collect();
        // Sites come by name, so equals keep that order.
        sites.sort_by_key(|site| std::cmp::Reverse(if by_quads { site.quads } else { site.pages }));
        let told: Vec<Value> = sites
            .iter()
            .skip(offset)
            .take(limit)
            .map(|site| {
                json!({
                    "site": site.name,
                    "pages": site.pages,
                    "quads": site.quads,
                    "languages": site.languages,
                    "vocabularies": site.vocabularies,
                    "errors": site.errors,
                })
            })
            .collect();
        Ok(Json(json!({"total": sites.len(), "cut": survey.cut, "sites": told})))
    })
    .await
}

/// `GET /api/vocabulary`.
pub async fn vocabulary(State(app): State<Shared>, parameters: Parameters) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    app.read(move || {
        let snapshot = slot.snapshot()?;
        let name = |id| -> Result<Option<String>, ApiError> {
            Ok(match snapshot.term(id)? {
                Some(Term::NamedNode(node)) => Some(node.into_string()),
                _ => None,
            })
        };
        let mut statistics = snapshot.predicate_statistics();
        statistics.sort_by_key(|predicate| std::cmp::Reverse(predicate.quads));
        let mut predicates = Vec::new();
        let mut namespaces: BTreeMap<String, u64> = BTreeMap::new();
        for predicate in statistics.iter().take(TERMS_MAX) {
            if let Some(iri) = name(predicate.predicate)? {
                *namespaces.entry(namespace(&iri).to_owned()).or_default() += predicate.quads;
                predicates.push(json!({"iri": iri, "count": predicate.quads}));
            }
        }
        let mut classes = Vec::new();
        for class in snapshot.class_statistics()?.iter().take(TERMS_MAX) {
            if let Some(iri) = name(class.class)? {
                *namespaces.entry(namespace(&iri).to_owned()).or_default() += class.quads;
                classes.push(json!({"iri": iri, "count": class.quads}));
            }
        }
        let mut prefixes: Vec<(&str, &str, u64)> = PREFIXES
            .iter()
            .map(|(prefix, namespace)| {
                (*prefix, *namespace, namespaces.get(*namespace).copied().unwrap_or(0))
            })
            .collect();
        prefixes.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
        let prefixes: Vec<Value> = prefixes
            .into_iter()
            .map(|(prefix, namespace, count)| {
                json!({"prefix": prefix, "namespace": namespace, "count": count})
            })
            .collect();
        Ok(Json(json!({"prefixes": prefixes, "predicates": predicates, "classes": classes})))
    })
    .await
}
