//! The archived copy of a page, for a sandboxed frame.
//!
//! In: the URL of a page, and a moment if it is not the latest copy that is wanted. Out: the bytes as they were received, content coding undone,
//! with a policy that lets them do nothing: no scripts, no forms, nothing loaded from elsewhere, shown only in a frame of ours. Only HTML and plain
//! images keep their type; what else is text is shown as text. `view=head` shows the heads of the record and of the answer instead. A
//! page without an archived copy is told of in the same frame, in words.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use oxrdf::NamedNode;
use webloom_model::PageUrl;
use webloom_pipeline::replay::{ArchivedCopy, find_copy};

use crate::api::data;
use crate::app::Shared;
use crate::error::ApiError;
use crate::guard::ARCHIVE_POLICY;
use crate::html::escape;
use crate::request::Parameters;

/// Bytes of a copy that are shown.
const BODY_BYTES_MAX: u64 = 64 << 20;

const PLAIN: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// `GET /archive`.
pub async fn archive(State(app): State<Shared>, parameters: Parameters) -> Result<Response, ApiError> {
    let slot = app.slot(&parameters)?;
    let url = parameters.required("url")?.to_owned();
    let shows_head = parameters.one("view")? == Some("head");
    let near = match parameters.one("time")?.filter(|time| !time.is_empty()) {
        Some(time) => Some(webloom_pipeline::replay::parse_time(time).ok_or_else(|| {
            ApiError::bad_request(
                "the parameter `time` is no time; write 2026-11-16T12:00:00Z or 20261116120000",
            )
        })?),
        None => None,
    };
    let page = NamedNode::new(url.as_str())
        .map_err(|_| ApiError::bad_request("the parameter `url` is not an absolute IRI"))?;
    app.read(move || {
        let snapshot = slot.snapshot()?;
        let copy = match PageUrl::parse(&url) {
            Ok(url) => find_copy(&slot.data, Some(&snapshot), &url, near, BODY_BYTES_MAX),
            // No page has such a name, so there is no copy of it.
            Err(_) => Ok(None),
        };
        match copy {
            Ok(Some(copy)) if shows_head => Ok(sandboxed(StatusCode::OK, PLAIN, head_of(&copy).into_bytes())),
            Ok(Some(copy)) => Ok(show(&copy)),
            Ok(None) => {
                let known = match data::meta_of(page.as_str()) {
                    Some(meta) => snapshot.contains_graph(meta.as_ref()),
                    None => false,
                };
                let words = if known { "was crawled, but no copy of it was kept" } else { "was not crawled" };
                Ok(in_words(StatusCode::NOT_FOUND, &format!("{url} {words}.")))
            }
            Err(error) => {
                Ok(in_words(StatusCode::NOT_FOUND, &format!("The copy of {url} cannot be read: {error}.")))
            }
        }
    })
    .await
}

/// The copy itself, as what it may be shown as.
fn show(copy: &ArchivedCopy) -> Response {
    let declared = copy.answer.http.get("content-type").unwrap_or_default().to_ascii_lowercase();
    let media_type = declared.split(';').next().unwrap_or_default().trim().to_owned();
    let body = copy.body(BODY_BYTES_MAX);
    let mut response = match media_type.as_str() {
        "text/html" | "application/xhtml+xml" => {
            let charset: Option<String> = declared.split("charset=").nth(1).map(|rest| {
                let is_name = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
                rest.trim_matches(['"', '\'', ' ']).chars().take_while(is_name).collect()
            });
            let content_type = match charset.filter(|name| !name.is_empty()) {
                Some(charset) => format!("text/html; charset={charset}"),
                None => "text/html".to_owned(),
            };
            let mut response = sandboxed(StatusCode::OK, HTML, body);
            if let Ok(value) = HeaderValue::from_str(&content_type) {
                response.headers_mut().insert(header::CONTENT_TYPE, value);
            }
            response
        }
        "image/png" => sandboxed(StatusCode::OK, "image/png", body),
        "image/jpeg" => sandboxed(StatusCode::OK, "image/jpeg", body),
        "image/gif" => sandboxed(StatusCode::OK, "image/gif", body),
        "image/webp" => sandboxed(StatusCode::OK, "image/webp", body),
        _ if std::str::from_utf8(&body).is_ok() => sandboxed(StatusCode::OK, PLAIN, body),
        _ => {
            let words = format!(
                "The copy is {} bytes of the type {media_type}, which are not shown here.",
                body.len()
            );
            in_words(StatusCode::OK, &words)
        }
    };
    // RFC 7089: when this was had.
    if let Some(at) = copy.answer.at()
        && let Ok(value) = HeaderValue::from_str(&http_date(at))
    {
        response.headers_mut().insert("memento-datetime", value);
    }
    response
}

/// Where the copy is, and the heads of the record and of the answer.
fn head_of(copy: &ArchivedCopy) -> String {
    let lines = |fields: &webloom_archive::fields::Fields| {
        let mut bytes = Vec::new();
        fields.write_to(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let answer = &copy.answer;
    format!(
        "{} at offset {}\r\n\r\n{}\r\n{}\r\n{}\r\n{}",
        copy.file,
        copy.offset,
        answer.head.version,
        lines(&answer.head.fields),
        answer.http.start_line,
        lines(&answer.http.fields),
    )
}

/// `Mon, 16 Nov 2026 12:00:00 GMT`.
fn http_date(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn in_words(status: StatusCode, words: &str) -> Response {
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Archived copy</title></head>\
         <body><p>{}</p></body></html>",
        escape(words)
    );
    sandboxed(status, HTML, html.into_bytes())
}

/// Something that came from elsewhere, or names it, tied up for a frame of ours.
fn sandboxed(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response {
    let fields = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_SECURITY_POLICY, ARCHIVE_POLICY),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, fields, body).into_response()
}
