//! The web interface: files that were built from `ui/` and are part of this program.
//!
//! Every file is kept compressed and sent so to whoever takes it, which is every browser. Without the interface, the page at `/`
//! says how to get it.

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::error::ApiError;

/// One file of the interface.
#[derive(Debug)]
pub struct File {
    path: &'static str,
    /// Changes with the contents.
    tag: &'static str,
    gzip: &'static [u8],
}

mod files {
    //! Written by the build script.
    use super::File;
    include!(concat!(env!("OUT_DIR"), "/ui_files.rs"));
}

const MISSING: &str = r#"<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Webloom</title></head><body>
<h1>Webloom</h1>
<p>This server was built without its web interface, for which Node.js 20 or newer is needed:
install it and build again with <code>cargo build --release</code>.</p>
<p>Everything else is here: <a href="/search">search</a>, <a href="/sparql">/sparql</a>,
<a href="/api/status">/api/status</a>, <a href="/api/openapi.json">the API's description</a>,
<a href="/metrics">/metrics</a>.</p>
</body></html>
"#;

/// Whether a path is the interface itself, which holds no data and has to be there before anybody can give the token.
pub fn is_public(path: &str) -> bool {
    path == "/" || files::FILES.iter().any(|file| file.path == path)
}

/// Answers whatever no other route answers: a file of the interface, or that there is none.
pub async fn fallback(request: Request) -> Response {
    let path = request.uri().path();
    if path.starts_with("/api/") {
        return ApiError::not_found("there is nothing at this address")
            .hint("GET /api/openapi.json describes what there is")
            .into_response();
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return (
            [(header::ALLOW, "GET, HEAD")],
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "use GET"),
        )
            .into_response();
    }
    let path = if path == "/" { "/index.html" } else { path };
    match files::FILES.iter().find(|file| file.path == path) {
        Some(file) => send(file, request.headers()),
        None if path == "/index.html" => {
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], MISSING).into_response()
        }
        None => ApiError::not_found("there is nothing at this address").into_response(),
    }
}

fn send(file: &File, headers: &HeaderMap) -> Response {
    let known = headers.get(header::IF_NONE_MATCH).and_then(|field| field.to_str().ok());
    // Built files carry their contents' hash in their names, and may be kept for ever; the page itself may not.
    let cache =
        if file.path.starts_with("/assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let common = [
        (header::ETAG, HeaderValue::from_static(file.tag)),
        (header::CACHE_CONTROL, HeaderValue::from_static(cache)),
        (header::VARY, HeaderValue::from_static("Accept-Encoding")),
    ];
    if known.is_some_and(|known| known.split(',').any(|tag| tag.trim() == file.tag)) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let content_type = (header::CONTENT_TYPE, media_type(file.path));
    let takes_gzip = headers
        .get_all(header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|field| field.to_str().ok())
        .any(|field| field.split(',').any(|coding| coding.trim().starts_with("gzip")));
    if takes_gzip {
        let encoding = (header::CONTENT_ENCODING, "gzip");
        return (common, [content_type, encoding], file.gzip).into_response();
    }
    match unpack(file.gzip) {
        Ok(bytes) => (common, [content_type], bytes).into_response(),
        Err(error) => {
            ApiError::internal(format!("a file of the interface is damaged: {error}")).into_response()
        }
    }
}

#[expect(
    clippy::disallowed_types,
    reason = "the build script packed these bytes; nothing hostile is in them"
)]
fn unpack(gzip: &[u8]) -> std::io::Result<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(gzip).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn media_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
