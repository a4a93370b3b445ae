//! What a client is told when something cannot be done: a status, a code for programs, words for people.
//!
//! Every error of the API has this shape:
//! `{"error": {"code": "not-found", "message": "…", "hint": "…"}}`.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use webloom_index::{IndexError, QueryEvaluationError};
use webloom_pipeline::{ChangeError, CrawlError, SpecProblems};

/// Something that cannot be done, as the client is told.
#[derive(Debug)]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// A stable kebab-case name.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// Everything wrong with what was sent, one by one.
    pub problems: Vec<Value>,
}

impl ApiError {
    /// An error without a hint.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), hint: None, problems: Vec::new() }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", message)
    }

    /// 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    /// 409.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// 422, with what is wrong.
    pub fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    /// 500: a failure of ours. Logged, because its reader cannot mend it.
    pub fn internal(message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message);
        tracing::error!(message = error.message, "a request failed");
        error
    }

    /// The body.
    pub fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(hint) = &self.hint {
            error["hint"] = hint.as_str().into();
        }
        let mut body = json!({"error": error});
        if !self.problems.is_empty() {
            body["problems"] = self.problems.clone().into();
        }
        body
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = self.to_json().to_string();
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        let headers = response.headers_mut();
        match self.status {
            StatusCode::UNAUTHORIZED => {
                headers
                    .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"webloom\""));
            }
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}

impl From<IndexError> for ApiError {
    fn from(error: IndexError) -> Self {
        let message = error.to_string();
        match error {
            IndexError::Syntax(_) => Self::new(StatusCode::BAD_REQUEST, "syntax", message),
            IndexError::BaseIri { .. } | IndexError::TextSearch { .. } | IndexError::Federation { .. } => {
                Self::bad_request(message)
            }
            IndexError::TooComplex { .. } => Self::new(StatusCode::BAD_REQUEST, "too-complex", message),
            IndexError::TimeLimit { .. } => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "time-limit", message)
                    .hint("ask for less, or for longer with the header field Webloom-Timeout, up to the server's limit")
            }
            IndexError::MemoryLimit { .. } | IndexError::TermLimit { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "memory-limit", message)
                    .hint("ask for less: a LIMIT, fewer variables, a more selective pattern")
            }
            IndexError::RowLimit { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "row-limit", message).hint("add a LIMIT")
            }
            IndexError::RewriteLimit { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "rewrite-limit", message)
            }
            IndexError::Update { .. } => Self::conflict(message),
            IndexError::Missing { .. } => Self::not_found("there is nothing in the index yet"),
            IndexError::Locked { .. } => in_use(),
            IndexError::Evaluation(error) => error.into(),
            _ => Self::internal(message),
        }
    }
}

impl From<QueryEvaluationError> for ApiError {
    fn from(error: QueryEvaluationError) -> Self {
        match error {
            // Our own errors come back from the evaluator in a box.
            QueryEvaluationError::Dataset(inner) => match inner.downcast::<IndexError>() {
                Ok(error) => (*error).into(),
                Err(inner) => Self::internal(inner.to_string()),
            },
            QueryEvaluationError::Cancelled => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "cancelled", "the query was cancelled")
            }
            other => Self::new(StatusCode::BAD_REQUEST, "evaluation", format!("the query failed: {other}")),
        }
    }
}

impl From<SpecProblems> for ApiError {
    fn from(problems: SpecProblems) -> Self {
        let mut error = Self::unprocessable("the specification has problems");
        error.problems = problems
            .0
            .iter()
            .map(|problem| json!({"key": problem.key, "message": problem.message}))
            .collect();
        error
    }
}

impl From<ChangeError> for ApiError {
    fn from(error: ChangeError) -> Self {
        match error {
            ChangeError::Problems(problems) => problems.into(),
            error @ ChangeError::Write { .. } => Self::internal(error.to_string()),
        }
    }
}

impl From<CrawlError> for ApiError {
    fn from(error: CrawlError) -> Self {
        match error {
            CrawlError::Index(error) => error.into(),
            CrawlError::Frontier(webloom_model::FrontierError::Locked { .. }) => in_use(),
            other => Self::internal(other.to_string()),
        }
    }
}

fn in_use() -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "in-use", "another process has this crawl's data")
        .hint("stop the other process, or control the crawl there")
}

/// Disks and pipes.
impl From<std::io::Error> for ApiError {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_one_shape() {
        let error = ApiError::not_found("no crawl `x`").hint("GET /api/crawls lists them");
        assert_eq!(
            error.to_json().to_string(),
            r#"{"error":{"code":"not-found","hint":"GET /api/crawls lists them","message":"no crawl `x`"}}"#
        );
        let limit: ApiError = IndexError::TimeLimit { limit: std::time::Duration::from_secs(1) }.into();
        assert_eq!((limit.status.as_u16(), limit.code), (503, "time-limit"));
        let rows: ApiError = IndexError::RowLimit { limit: 3 }.into();
        assert_eq!((rows.status.as_u16(), rows.code), (413, "row-limit"));
    }
}
