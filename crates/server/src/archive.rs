//! The archived copy of a page, for a sandboxed frame.
//!
//! In: the URL of a page. Out: HTML with a policy that lets it do nothing: no scripts, no forms, nothing loaded from elsewhere, shown only
//! in a frame of ours. A page without an archived copy is told of in the same frame, in words.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use oxrdf::NamedNode;

use crate::api::data;
use crate::app::Shared;
use crate::error::ApiError;
use crate::guard::ARCHIVE_POLICY;
use crate::html::escape;
use crate::request::Parameters;

/// `GET /archive`.
pub async fn archive(State(app): State<Shared>, parameters: Parameters) -> Result<Response, ApiError> {
    let slot = app.slot(&parameters)?;
    let url = parameters.required("url")?.to_owned();
    let page = NamedNode::new(url.as_str())
        .map_err(|_| ApiError::bad_request("the parameter `url` is not an absolute IRI"))?;
    app.read(move || {
        let known = match data::meta_of(page.as_str()) {
            Some(meta) => slot.snapshot()?.contains_graph(meta.as_ref()),
            None => false,
        };
        let words = if known { "was crawled, but no copy of it was kept" } else { "was not crawled" };
        let html = format!(
            "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>No copy</title></head>\
             <body><p>{} {words}.</p></body></html>",
            escape(&url)
        );
        Ok(sandboxed(StatusCode::NOT_FOUND, "text/html; charset=utf-8", html.into_bytes()))
    })
    .await
}

/// Something that came from elsewhere, or names it, tied up for a frame of ours.
fn sandboxed(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response {
    let fields = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, ARCHIVE_POLICY),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
    ];
    (status, fields, body).into_response()
}
