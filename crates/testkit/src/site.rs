//! What is asked and what is answered: the words between a site and the server that speaks for it.
//!
//! In: a [`Request`], already told apart by host. Out: an [`Answer`], which may be a page or anything a real
//! web server has ever done instead: be slow, hang up, lie about its length, never stop. A [`Site`] is a
//! plain function of the request; sockets and time are the server's. Start at [`Site`].

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// One request, as a site sees it.
#[derive(Debug, Clone)]
pub struct Request {
    /// Host name from the `Host` header or `:authority`, lower case, without port.
    pub host: String,
    /// The port of the URL: from the `Host` header, or the scheme's own. Not the port of the socket.
    pub port: u16,
    /// True when it came over TLS.
    pub https: bool,
    /// As in the request line.
    pub path_and_query: String,
    /// `GET`, mostly.
    pub method: Method,
    /// All header fields.
    pub headers: HeaderMap,
    /// How often this URL was asked for before, zero the first time. Always zero where the log keeps
    /// [`Totals`](crate::LogDetail::Totals) only.
    pub number: u64,
}

impl Request {
    /// A first `GET` of a URL, for asking a site without a server.
    ///
    /// # Panics
    /// When `url` is not the URL of a page.
    pub fn get(url: &str) -> Self {
        let url = webloom_model::PageUrl::parse(url).unwrap_or_else(|problem| panic!("{problem}"));
        Self {
            host: url.host().to_owned(),
            port: url.port(),
            https: url.is_https(),
            path_and_query: url.path_and_query().to_owned(),
            method: Method::GET,
            headers: HeaderMap::new(),
            number: 0,
        }
    }

    /// The URL that was asked for, default port left out.
    pub fn url(&self) -> String {
        url_text(self.https, &self.host, self.port, &self.path_and_query)
    }

    /// The path, without query.
    pub fn path(&self) -> &str {
        self.path_and_query.split('?').next().unwrap_or_default()
    }

    /// The header field of that name, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// The URL of these parts, default port left out.
pub(crate) fn url_text(https: bool, host: &str, port: u16, path_and_query: &str) -> String {
    let (scheme, default_port) = if https { ("https", 443) } else { ("http", 80) };
    if port == default_port {
        format!("{scheme}://{host}{path_and_query}")
    } else {
        format!("{scheme}://{host}:{port}{path_and_query}")
    }
}

/// Some hosts and what they say. Any `Fn(&Request) -> Answer` is one.
///
/// An answer should depend on the request alone (its `number` included), so that a run can be repeated.
/// A host that the site does not know is best answered by [`Answer::not_found`].
pub trait Site: Send + Sync {
    /// What to do about this request.
    fn answer(&self, request: &Request) -> Answer;
}

impl<F> Site for F
where
    F: Fn(&Request) -> Answer + Send + Sync,
{
    fn answer(&self, request: &Request) -> Answer {
        self(request)
    }
}

impl<S: Site + ?Sized> Site for Arc<S> {
    fn answer(&self, request: &Request) -> Answer {
        (**self).answer(request)
    }
}

/// What the server does on the wire. Made by one of the constructors, bent by the methods after it:
///
/// ```
/// # use std::time::Duration;
/// # use webloom_testkit::Answer;
/// Answer::html("<p>slow, then cut off").after(Duration::from_millis(50)).cut_after(7);
/// ```
#[derive(Debug, Clone)]
pub struct Answer {
    pub(crate) reply: Reply,
    pub(crate) delay: Duration,
}

/// What comes after the delay.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Http(Box<HttpReply>),
    /// These bytes, whatever they are, then the end of the connection.
    Raw(Bytes),
    /// The end of the connection.
    HangUp,
    /// The end of the connection, in anger (TCP RST).
    Reset,
}

#[derive(Debug, Clone)]
pub(crate) struct HttpReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    /// Bytes at a time, and the pause between them.
    pub(crate) pace: Option<(usize, Duration)>,
    /// Break off after so many bytes of body.
    pub(crate) cut_after: Option<u64>,
    /// `Content-Length` as claimed, right or wrong.
    pub(crate) claimed_length: Option<u64>,
}

/// The body of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    Whole(Bytes),
    /// `pattern` over and over until `length` bytes are sent, made as they go out.
    Repeated {
        pattern: Bytes,
        length: u64,
    },
}

impl Body {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Repeated { length, .. } => *length,
        }
    }
}

impl Answer {
    /// A body of any type, with status 200.
    ///
    /// # Panics
    /// When the content type cannot stand in a header field.
    pub fn new(content_type: &str, body: impl Into<Bytes>) -> Self {
        let value = HeaderValue::from_str(content_type)
            .unwrap_or_else(|_| panic!("{content_type:?} cannot stand in a header field"));
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, value);
        Self::http(StatusCode::OK, headers, Body::Whole(body.into()))
    }

    /// An HTML page in UTF-8.
    pub fn html(body: impl Into<Bytes>) -> Self {
        Self::new_static("text/html; charset=utf-8", body)
    }

    /// Plain text in UTF-8.
    pub fn text(body: impl Into<Bytes>) -> Self {
        Self::new_static("text/plain; charset=utf-8", body)
    }

    pub(crate) fn new_static(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::with_capacity(4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Self::http(StatusCode::OK, headers, Body::Whole(body.into()))
    }

    /// A status with a short text that names it.
    ///
    /// # Panics
    /// When `status` is not between 100 and 999.
    pub fn status(status: u16) -> Self {
        let status =
            StatusCode::from_u16(status).unwrap_or_else(|_| panic!("{status} is not an HTTP status"));
        if status == StatusCode::NOT_MODIFIED || status == StatusCode::NO_CONTENT {
            return Self::http(status, HeaderMap::new(), Body::Whole(Bytes::new()));
        }
        Self::text(format!("{status}\n")).with_status(status)
    }

    /// 404.
    pub fn not_found() -> Self {
        Self::status(404)
    }

    /// 503, and when to come again.
    pub fn busy(retry_after: Option<Duration>) -> Self {
        let mut answer = Self::status(503);
        if let (Some(after), Reply::Http(reply)) = (retry_after, &mut answer.reply) {
            reply.headers.insert(RETRY_AFTER, HeaderValue::from(after.as_secs()));
        }
        answer
    }

    /// A redirect; `location` is sent as it is, so it may be relative, or nonsense.
    ///
    /// # Panics
    /// When the status is none, or the location cannot stand in a header field.
    pub fn redirect(status: u16, location: &str) -> Self {
        let value = HeaderValue::from_bytes(location.as_bytes())
            .unwrap_or_else(|_| panic!("{location:?} cannot stand in a header field"));
        let mut answer = Self::status(status);
        if let Reply::Http(reply) = &mut answer.reply {
            reply.headers.insert(LOCATION, value);
        }
        answer
    }

    /// A body of `length` bytes, made as it is sent: `pattern` over and over. Memory stays small however
    /// long it is. Sent in chunks, without a length, unless [`Self::claiming_length`] says one.
    ///
    /// # Panics
    /// When the content type cannot stand in a header field, or the pattern is empty.
    pub fn endless(content_type: &str, pattern: &str, length: u64) -> Self {
        assert!(!pattern.is_empty(), "nothing, repeated, has no length");
        // Few, large frames: the pattern is laid out once up to about 64 KiB.
        let pattern = Bytes::from(pattern.repeat((64 * 1024 / pattern.len()).max(1)));
        let mut answer = Self::new(content_type, Bytes::new());
        if let Reply::Http(reply) = &mut answer.reply {
            reply.body = Body::Repeated { pattern, length };
        }
        answer
    }

    /// These bytes instead of HTTP, then the end of the connection. Over HTTP/2 the stream is reset instead.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self { reply: Reply::Raw(bytes.into()), delay: Duration::ZERO }
    }

    /// The connection ends without a word.
    pub fn hang_up() -> Self {
        Self { reply: Reply::HangUp, delay: Duration::ZERO }
    }

    /// The connection is reset (TCP RST).
    pub fn reset() -> Self {
        Self { reply: Reply::Reset, delay: Duration::ZERO }
    }

    fn http(status: StatusCode, headers: HeaderMap, body: Body) -> Self {
        let reply = HttpReply { status, headers, body, pace: None, cut_after: None, claimed_length: None };
        Self { reply: Reply::Http(Box::new(reply)), delay: Duration::ZERO }
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        if let Reply::Http(reply) = &mut self.reply {
            reply.status = status;
        }
        self
    }

    /// The same with one more header field (or another value for one that has it already).
    ///
    /// # Panics
    /// When name or value cannot stand in a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        if let Reply::Http(reply) = &mut self.reply {
            let field = HeaderName::from_bytes(name.as_bytes())
                .unwrap_or_else(|_| panic!("{name:?} is not a header name"));
            let content = HeaderValue::from_bytes(value.as_bytes())
                .unwrap_or_else(|_| panic!("{value:?} cannot stand in a header field"));
            reply.headers.insert(field, content);
        }
        self
    }

    /// The same with another content type, right or wrong.
    ///
    /// # Panics
    /// When it cannot stand in a header field.
    #[must_use]
    pub fn with_content_type(self, content_type: &str) -> Self {
        self.with_header("content-type", content_type)
    }

    /// The same without content type.
    #[must_use]
    pub fn without_content_type(mut self) -> Self {
        if let Reply::Http(reply) = &mut self.reply {
            reply.headers.remove(CONTENT_TYPE);
        }
        self
    }

    /// The same, but nothing is sent before this time has passed.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The body comes in dribs of so many bytes, with a pause between them.
    #[must_use]
    pub fn trickle(mut self, bytes: usize, every: Duration) -> Self {
        if let Reply::Http(reply) = &mut self.reply {
            reply.pace = Some((bytes.max(1), every));
        }
        self
    }

    /// The connection ends after so many bytes of body, although the header promised them all.
    #[must_use]
    pub fn cut_after(mut self, bytes: u64) -> Self {
        if let Reply::Http(reply) = &mut self.reply {
            reply.cut_after = Some(bytes);
        }
        self
    }

    /// `Content-Length` says this, whatever the body's length. The connection ends with the body.
    #[must_use]
    pub fn claiming_length(mut self, length: u64) -> Self {
        if let Reply::Http(reply) = &mut self.reply {
            reply.claimed_length = Some(length);
        }
        self
    }

    /// The body compressed, and labelled so.
    #[must_use]
    pub fn gzip(self) -> Self {
        self.gzip_keeping(usize::MAX)
    }

    /// The body compressed, labelled so, and only the first `keep` compressed bytes of it sent, as if that
    /// were all: the HTTP is sound, the gzip stream is not.
    #[must_use]
    pub fn gzip_keeping(mut self, keep: usize) -> Self {
        if let Reply::Http(reply) = &mut self.reply
            && let Body::Whole(bytes) = &reply.body
        {
            let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::fast());
            // A Vec takes whatever it is given.
            let _ = encoder.write_all(bytes);
            let mut packed = encoder.finish().unwrap_or_default();
            packed.truncate(keep);
            reply.body = Body::Whole(packed.into());
            reply.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        self
    }

    /// The HTTP status, where the answer is HTTP at all.
    pub fn status_code(&self) -> Option<u16> {
        match &self.reply {
            Reply::Http(reply) => Some(reply.status.as_u16()),
            Reply::Raw(_) | Reply::HangUp | Reply::Reset => None,
        }
    }

    /// The body, where it is held whole, content encoding and all.
    pub fn body(&self) -> Option<&Bytes> {
        match &self.reply {
            Reply::Http(reply) => match &reply.body {
                Body::Whole(bytes) => Some(bytes),
                Body::Repeated { .. } => None,
            },
            Reply::Raw(_) | Reply::HangUp | Reply::Reset => None,
        }
    }

    /// The header field of that name, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        match &self.reply {
            Reply::Http(reply) => reply.headers.get(name)?.to_str().ok(),
            Reply::Raw(_) | Reply::HangUp | Reply::Reset => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_leave_out_the_default_port_only() {
        for url in [
            "http://a.example/",
            "https://a.example/b?c=d",
            "http://a.example:8080/",
            "https://a.example:80/x",
        ] {
            assert_eq!(Request::get(url).url(), url);
        }
    }

    #[test]
    fn answers_are_bent_one_step_at_a_time() {
        let answer =
            Answer::html("x".repeat(1000)).gzip_keeping(10).with_header("x-a", "b").after(Duration::ZERO);
        assert_eq!(answer.body().map(Bytes::len), Some(10));
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        assert_eq!(answer.header("x-a"), Some("b"));
        assert_eq!(Answer::redirect(301, "/y").header("location"), Some("/y"));
        assert_eq!(Answer::busy(Some(Duration::from_secs(3))).header("retry-after"), Some("3"));
        assert_eq!(Answer::raw("hello").status_code(), None);
        assert!(Answer::endless("text/plain", "ab", 5).body().is_none());
    }
}
