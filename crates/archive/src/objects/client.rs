//! The HTTP client that requests to S3 go through: hyper and rustls, with the certificates that the system trusts.

use std::error::Error;
use std::io;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::client::{
    ClientConfigKey, ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest,
    HttpRequestBody, HttpResponse, HttpResponseBody, HttpService,
};

/// How long connecting may take.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);
/// How long a request may take until its answer begins; the body of an upload's part is in it.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(180);

/// Makes clients.
#[derive(Debug)]
pub(super) struct Connector;

#[derive(Debug)]
struct Hyper(Client<HttpsConnector<TcpConnector>, HttpRequestBody>);

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let failed =
            |source: io::Error| object_store::Error::Generic { store: "S3", source: Box::new(source) };
        let mut tcp = TcpConnector::new();
        tcp.set_connect_timeout(Some(CONNECT_TIME_MAX));
        tcp.enforce_http(false);
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp).as_deref() == Some("true");
        let builder = HttpsConnectorBuilder::new().with_native_roots().map_err(failed)?;
        let builder = if allows_http { builder.https_or_http() } else { builder.https_only() };
        let connector = builder.enable_http1().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector);
        Ok(HttpClient::new(Hyper(client)))
    }
}

#[async_trait::async_trait]
impl HttpService for Hyper {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answered = tokio::time::timeout(ANSWER_TIME_MAX, self.0.request(request)).await;
        let answer =
            answered.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late))?.map_err(|error| {
                let kind = if error.is_connect() { HttpErrorKind::Connect } else { HttpErrorKind::Request };
                HttpError::new(kind, WithCause(error))
            })?;
        let broken = |error: hyper::Error| HttpError::new(HttpErrorKind::Interrupted, error);
        Ok(answer.map(|body| HttpResponseBody::new(body.map_err(broken))))
    }
}

/// An error that says its causes: hyper's alone is "client error (Connect)".
#[derive(Debug)]
struct WithCause(hyper_util::client::legacy::Error);

impl std::fmt::Display for WithCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl Error for WithCause {}
