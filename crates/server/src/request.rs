//! Reading what a client sent: parameters of the query string, bodies of bounded size, JSON.
//!
//! Everything here answers wrong input with an [`ApiError`] that names the parameter and says what is expected.

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::Bytes;
use http::header;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use serde::de::DeserializeOwned;

use crate::app::Shared;
use crate::error::ApiError;

/// The decoded parameters of a query string or a form, in order.
#[derive(Debug, Clone, Default)]
pub struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Decodes `application/x-www-form-urlencoded` text. What is not UTF-8 once decoded is refused.
    pub fn parse(text: &[u8]) -> Result<Self, ApiError> {
        let mut parameters = Vec::new();
        for piece in text.split(|byte| *byte == b'&').filter(|piece| !piece.is_empty()) {
            let mut halves = piece.splitn(2, |byte| *byte == b'=');
            let name = decode(halves.next().unwrap_or_default())?;
            parameters.push((name, decode(halves.next().unwrap_or_default())?));
        }
        Ok(Self(parameters))
    }

    /// Adds those of a form.
    pub fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// The parameter, when it is there once. More than once is a mistake.
    pub fn one(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        let first = values.next().map(|(_, value)| value.as_str());
        if values.next().is_some() {
            return Err(ApiError::bad_request(format!("the parameter `{name}` is given more than once")));
        }
        Ok(first)
    }

    /// The parameter, which must be there, once, and not be empty.
    pub fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.one(name)?
            .filter(|value| !value.is_empty())
            .ok_or_else(|| ApiError::bad_request(format!("the parameter `{name}` is missing")))
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter that say something.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.all(name).filter(|value| !value.is_empty()).map(str::to_owned).collect()
    }

    /// True when the parameter is there, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// A whole number up to `max`, or `default` when it is not there.
    pub fn number(&self, name: &str, default: usize, max: usize) -> Result<usize, ApiError> {
        let Some(text) = self.one(name)?.filter(|text| !text.is_empty()) else { return Ok(default) };
        text.parse::<usize>().ok().filter(|number| *number <= max).ok_or_else(|| {
            ApiError::bad_request(format!("the parameter `{name}` is a whole number from 0 to {max}"))
        })
    }

    /// One of some words, or the first of them when it is not there.
    pub fn choice<'a>(&self, name: &str, choices: &[&'a str]) -> Result<&'a str, ApiError> {
        let first = choices.first().copied().unwrap_or_default();
        let Some(text) = self.one(name)?.filter(|text| !text.is_empty()) else { return Ok(first) };
        choices.iter().copied().find(|choice| *choice == text).ok_or_else(|| {
            ApiError::bad_request(format!("the parameter `{name}` is one of {}", choices.join(", ")))
        })
    }
}

/// Undoes percent-encoding, and `+` for a space.
fn decode(text: &[u8]) -> Result<String, ApiError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => match (tail.first().and_then(hex), tail.get(1).and_then(hex)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = &tail[2..];
                }
                // A lone percent sign stands for itself, as browsers have it.
                _ => bytes.push(b'%'),
            },
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).map_err(|_| ApiError::bad_request("a parameter is not UTF-8"))
}

fn hex(digit: &u8) -> Option<u8> {
    char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::parse(parts.uri.query().unwrap_or_default().as_bytes())
    }
}

/// A media type and its charset, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentType {
    /// Such as `text/turtle`.
    pub media_type: String,
    /// Such as `utf-8`.
    pub charset: Option<String>,
}

impl ContentType {
    /// What the request says its body is.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        Self::parse(headers.get(header::CONTENT_TYPE)?.to_str().ok()?)
    }

    /// Reads `text/turtle; charset=utf-8`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut pieces = text.split(';').map(str::trim);
        let media_type = pieces.next().filter(|text| text.contains('/'))?.to_ascii_lowercase();
        let charset = pieces
            .filter_map(|piece| piece.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
            .map(|(_, value)| value.trim().trim_matches('"').to_ascii_lowercase());
        Some(Self { media_type, charset })
    }

    /// True when the body is UTF-8, which is also what is meant when nothing is said.
    pub fn is_utf8(&self) -> bool {
        self.charset.as_deref().is_none_or(|charset| matches!(charset, "utf-8" | "utf8" | "us-ascii"))
    }
}

/// Reads a body of at most `bytes_max`, in the time the limits give it.
pub async fn read_body(app: &Shared, body: Body, bytes_max: usize) -> Result<Bytes, ApiError> {
    let limited = http_body_util::Limited::new(body, bytes_max);
    let read = tokio::time::timeout(app.limits().body_time, limited.collect());
    match read.await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body-too-large",
            format!("the body is larger than {bytes_max} bytes"),
        )),
        Ok(Err(error)) => Err(ApiError::bad_request(format!("the body cannot be read: {error}"))),
        Err(_) => Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            "body-too-slow",
            format!("the body did not come within {:?}", app.limits().body_time),
        )),
    }
}

/// A body of JSON. It must say that it is: a form of another site cannot.
#[derive(Debug)]
pub struct JsonBody<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Shared> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, ApiError> {
        let content_type = ContentType::of(request.headers());
        if content_type.is_none_or(|known| known.media_type != "application/json") {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "the body must be sent as application/json",
            ));
        }
        let bytes_max = app.limits().upload_bytes_max.min(64 << 20);
        let bytes = read_body(app, request.into_body(), bytes_max).await?;
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| ApiError::unprocessable(format!("the body is not as expected: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_once_and_counted() {
        let parameters = Parameters::parse(b"q=a+b%20%C3%A9&x&limit=7&type=1&type=2&odd=100%").unwrap();
        assert_eq!(parameters.one("q").unwrap(), Some("a b é"));
        assert_eq!(parameters.one("odd").unwrap(), Some("100%"));
        assert!(parameters.has("x") && !parameters.has("y"));
        assert_eq!(parameters.number("limit", 1, 10).unwrap(), 7);
        assert!(parameters.number("limit", 1, 5).is_err() && parameters.number("q", 1, 5).is_err());
        assert_eq!(parameters.list("type"), ["1", "2"]);
        assert!(parameters.one("type").is_err());
        assert!(Parameters::parse(b"q=%FF").is_err());
        assert_eq!(parameters.choice("z", &["a", "b"]).unwrap(), "a");
    }

    #[test]
    fn content_types_are_read_without_regard_to_case() {
        let turtle = ContentType::parse("Text/Turtle; Charset=\"UTF-8\"").unwrap();
        assert_eq!((turtle.media_type.as_str(), turtle.is_utf8()), ("text/turtle", true));
        assert!(!ContentType::parse("application/sparql-query; charset=UTF-16").unwrap().is_utf8());
        assert_eq!(ContentType::parse("nonsense"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_query_string_breaks_the_reader(text: Vec<u8>) {
            let _ = Parameters::parse(&text);
        }
    }
}
