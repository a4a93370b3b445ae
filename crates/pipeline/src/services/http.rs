//! A service that speaks HTTP: the page is posted, the answer is what it is turned into.
//!
//! Connections are kept between requests. Redirects are not followed: the operator wrote the address.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use webloom_fetch::tls_reason;
use webloom_model::PageUrl;

use super::{ServiceError, ServiceRequest};

/// What is asked for: RDF, then XML for a stylesheet.
const WANTED: &str = "text/turtle, application/n-triples, application/n-quads, application/trig, application/rdf+xml, \
                      application/ld+json;q=0.9, application/xml;q=0.8, */*;q=0.1";

/// The address of the page, in a header field.
const PAGE_URL: HeaderName = HeaderName::from_static("webloom-page-url");

/// When the page was fetched.
const FETCH_TIME: HeaderName = HeaderName::from_static("webloom-fetch-time");

/// What stands for the page's address in a service's, once it is a URL.
const PLACEHOLDER: &str = "%7Burl%7D";

/// Connections that are kept.
const IDLE_MAX: usize = 32;

type Sender = SendRequest<Full<Bytes>>;

/// An address that takes pages.
pub struct HttpAddress {
    url: PageUrl,
    tls: Option<TlsConnector>,
    idle: Mutex<Vec<Sender>>,
}

impl fmt::Debug for HttpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpAddress").field(&self.shown()).finish()
    }
}

impl HttpAddress {
    /// An address, with what its TLS trusts when it has any.
    pub fn new(url: PageUrl, tls: Option<Arc<ClientConfig>>) -> Self {
        Self { url, tls: tls.map(TlsConnector::from), idle: Mutex::default() }
    }

    /// The address as people may see it: without query, which may hold a key.
    pub fn shown(&self) -> String {
        let path = self.url.path_and_query().split('?').next().unwrap_or_default();
        format!("{}{path}", self.url.origin())
    }

    /// Posts a page. The answer and its media type.
    pub(super) async fn post(
        &self,
        request: &ServiceRequest,
        answer_bytes_max: usize,
    ) -> Result<(Bytes, Option<String>), ServiceError> {
        let (mut sender, response) = self.send(request).await?;
        let status = response.status();
        let media_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.map(str::to_owned);
        let body = Limited::new(response.into_body(), answer_bytes_max).collect().await;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                ServiceError::TooLong(answer_bytes_max)
            } else {
                ServiceError::Failed(error.to_string())
            }
        })?;
        if sender.ready().await.is_ok() {
            let mut idle = self.idle.lock();
            if idle.len() < IDLE_MAX {
                idle.push(sender);
            }
        }
        match status.as_u16() {
            204 => Ok((Bytes::new(), None)),
            200..=299 => Ok((body.to_bytes(), media_type)),
            408 | 425 | 429 | 500..=599 => Err(ServiceError::Failed(format!("it answered {status}"))),
            _ => Err(ServiceError::Refused(format!("it answered {status}"))),
        }
    }

    /// Sends over a connection that was kept, or a new one when there is none or it was closed meanwhile.
    async fn send(&self, request: &ServiceRequest) -> Result<(Sender, Response<Incoming>), ServiceError> {
        loop {
            let kept = self.idle.lock().pop();
            let is_kept = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.connect().await?,
            };
            if is_kept && sender.ready().await.is_err() {
                continue;
            }
            match sender.send_request(self.request(request)?).await {
                Ok(response) => return Ok((sender, response)),
                // The other side closed it before it read a word.
                Err(error) if is_kept && (error.is_canceled() || error.is_incomplete_message()) => {}
                Err(error) => return Err(ServiceError::Failed(error.to_string())),
            }
        }
    }

    fn request(&self, request: &ServiceRequest) -> Result<Request<Full<Bytes>>, ServiceError> {
        let failed = |error: &dyn fmt::Display| ServiceError::Failed(error.to_string());
        let mut target = self.url.path_and_query().to_owned();
        if target.contains(PLACEHOLDER) {
            target = target.replace(PLACEHOLDER, &escaped(request.url.as_str()));
        }
        let host = match (self.url.is_https(), self.url.port()) {
            (true, 443) | (false, 80) => self.url.host().to_owned(),
            (_, port) => format!("{}:{port}", self.url.host()),
        };
        let text = |value: &str| HeaderValue::from_str(value).map_err(|error| failed(&error));
        let octets = || HeaderValue::from_static("application/octet-stream");
        let mut builder = Request::builder()
            .method(Method::POST)
            .uri(target)
            .header(HOST, text(&host)?)
            .header(USER_AGENT, concat!("webloom/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, WANTED)
            // What the web said may not be fit for a header field.
            .header(CONTENT_TYPE, HeaderValue::from_str(&request.media_type).unwrap_or_else(|_| octets()))
            .header(PAGE_URL, text(request.url.as_str())?);
        if let Some(fetched_at) = request.fetched_at {
            builder = builder.header(FETCH_TIME, text(&fetched_at.to_string())?);
        }
        builder.body(Full::new(request.body.clone())).map_err(|error| failed(&error))
    }

    async fn connect(&self) -> Result<Sender, ServiceError> {
        let failed = |error: &dyn fmt::Display| ServiceError::Failed(format!("cannot connect: {error}"));
        let host = self.url.host().trim_start_matches('[').trim_end_matches(']');
        let stream = TcpStream::connect((host, self.url.port())).await.map_err(|error| failed(&error))?;
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => speak(stream).await,
            Some(tls) => {
                let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(&error))?;
                speak(tls.connect(name, stream).await.map_err(|error| failed(&tls_reason(&error)))?).await
            }
        }
    }
}

async fn speak<T>(stream: T) -> Result<Sender, ServiceError>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| ServiceError::Failed(format!("cannot connect: {error}")))?;
    tokio::spawn(async move {
        // What goes wrong is told to whoever waits for the answer.
        let _ = connection.await;
    });
    Ok(sender)
}

/// A URL as a value in a query.
fn escaped(url: &str) -> String {
    use std::fmt::Write;
    url.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}
