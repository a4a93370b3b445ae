//! From a checked address to a connection that takes requests.
//!
//! In: a URL and addresses that passed the guard. Out: a [`Connection`] that speaks HTTP/1.1 or HTTP/2, whichever
//! was agreed on in the TLS handshake. Names are not looked up here, and nothing but the
//! given addresses is dialled. Each step has its own time limit. Start at [`Connector::connect`].

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{Request, Response};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::{HandshakeKind, ProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use webloom_model::{FetchError, PageUrl};

use crate::stats::{Counters, OpenConnection, count};
use crate::tape::{HeadTape, Taped};
use crate::trust::{client_tls, tls_reason};
use crate::{FetchConfig, FetchSetupError, Proxy};

/// Addresses of one host that are tried before giving up.
const ADDRESSES_MAX: usize = 4;

/// How long an address is waited for before the next is tried beside it.
const HEAD_START: Duration = Duration::from_millis(250);

/// How long a connection may take to say goodbye.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);

/// The smallest buffer hyper works with.
const HEADER_BYTES_MIN: u32 = 8 << 10;

/// Bytes a server may send ahead over HTTP/2: enough to keep a transfer flowing, little enough to
/// hold a thousand times.
const H2_STREAM_WINDOW: u32 = 256 << 10;
const H2_CONNECTION_WINDOW: u32 = 512 << 10;

/// The request's body, which no request of ours has.
type NoBody = Empty<Bytes>;

/// One end of a connection, ready for requests. Dropping the last sender closes it.
#[derive(Debug)]
pub(crate) enum Sender {
    Http1(http1::SendRequest<NoBody>),
    Http2(http2::SendRequest<NoBody>),
}

/// What moves the bytes of an HTTP/1 connection. It has one request at a time, so whoever waits for an answer does this too, and
/// no task of its own need be woken; while a connection waits in the pool, nothing moves. Dropping it closes the connection.
pub(crate) struct Driver {
    connection: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Whether to say goodbye before it is closed, as TLS wants it.
    takes_leave: bool,
}

impl Driver {
    /// For connections that are driven by a task of their own.
    pub const NONE: Self = Self { connection: None, takes_leave: false };

    fn new(connection: impl Future<Output = ()> + Send + 'static, takes_leave: bool) -> Self {
        Self { connection: Some(Box::pin(connection)), takes_leave }
    }

    /// Moves what can be moved now.
    pub fn poll(&mut self, context: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && connection.as_mut().poll(context).is_ready()
        {
            self.connection = None;
        }
    }

    /// Waits for something that comes over the connection.
    pub async fn until<T>(&mut self, wanted: impl Future<Output = T>) -> T {
        let mut wanted = std::pin::pin!(wanted);
        poll_fn(|context| {
            if let Poll::Ready(value) = wanted.as_mut().poll(context) {
                return Poll::Ready(value);
            }
            self.poll(context);
            wanted.as_mut().poll(context)
        })
        .await
    }

    /// Lets the connection notice that its answer was read, and whether it stays open.
    pub async fn rest(&mut self) {
        poll_fn(|context| {
            self.poll(context);
            Poll::Ready(())
        })
        .await;
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("open", &self.connection.is_some()).finish_non_exhaustive()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The connection ends by itself when its sender is gone, which goes with it; a server that does not listen is not waited for.
        if self.takes_leave
            && let Some(connection) = self.connection.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(timeout(LEAVE_TIMEOUT, connection));
        }
    }
}

/// A connection and whom it leads to.
#[derive(Debug)]
pub(crate) struct Connection {
    pub sender: Sender,
    pub driver: Driver,
    pub remote: SocketAddr,
    /// Whether it has carried a request before.
    pub reused: bool,
    pub line: Line,
}

/// What is known of the line beside the address at its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    /// `tls/1.3` and the like; nothing when it is in the clear.
    pub tls: Option<&'static str>,
    /// Where heads are written down, if they are. HTTP/2 has none.
    pub tape: Option<Arc<HeadTape>>,
}

impl Connection {
    pub fn is_http2(&self) -> bool {
        matches!(self.sender, Sender::Http2(_))
    }

    pub async fn send(&mut self, request: Request<NoBody>) -> Result<Response<Incoming>, hyper::Error> {
        if let Some(tape) = &self.line.tape {
            tape.rewind();
        }
        match &mut self.sender {
            Sender::Http1(sender) => self.driver.until(sender.send_request(request)).await,
            Sender::Http2(sender) => sender.send_request(request).await,
        }
    }
}

/// Makes connections.
pub(crate) struct Connector {
    tls: TlsConnector,
    http1: http1::Builder,
    http2: http2::Builder<TokioExecutor>,
    connect_timeout: Duration,
    tls_timeout: Duration,
    proxy: Option<Proxy>,
    /// Whether heads are written down.
    record: bool,
    counters: Arc<Counters>,
}

impl Connector {
    pub fn new(config: &FetchConfig, counters: Arc<Counters>) -> Result<Self, FetchSetupError> {
        let header_bytes_max = config.header_bytes_max.max(HEADER_BYTES_MIN);
        let header_bytes = usize::try_from(header_bytes_max).unwrap_or(usize::MAX);
        let mut http1 = http1::Builder::new();
        // The web is older than its grammar: what browsers overlook in a head, we overlook.
        http1
            .max_buf_size(header_bytes)
            .max_header_size(header_bytes)
            .max_headers(config.header_count_max)
            .ignore_invalid_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true);
        let mut http2 = http2::Builder::new(TokioExecutor::new());
        http2
            .max_header_list_size(header_bytes_max)
            .initial_stream_window_size(H2_STREAM_WINDOW)
            .initial_connection_window_size(H2_CONNECTION_WINDOW);
        Ok(Self {
            tls: TlsConnector::from(Arc::new(client_tls(config)?)),
            http1,
            http2,
            connect_timeout: config.connect_timeout,
            tls_timeout: config.tls_timeout,
            proxy: config.proxy.clone(),
            record: config.record,
            counters,
        })
    }

    /// Connects to the first of the addresses that answers.
    pub async fn connect(&self, url: &PageUrl, addresses: &[SocketAddr]) -> Result<Connection, FetchError> {
        let (mut stream, remote) = self.dial(url, addresses).await?;
        // Requests are one small write; waiting for a fuller packet gains nothing.
        let _ = stream.set_nodelay(true);
        let open = OpenConnection::new(&self.counters);
        let failed = |error: &(dyn std::error::Error + 'static)| FetchError::Connect {
            host: url.host().to_owned(),
            reason: reason(error),
        };
        if let Some(proxy) = &self.proxy {
            let led = proxy.lead(&mut stream, url.is_https(), url.host(), url.port());
            timeout(self.connect_timeout, led)
                .await
                .map_err(|_| FetchError::Timeout { step: "proxy", limit: self.connect_timeout })?
                .map_err(|error| failed(&error))?;
        }
        let mut line = Line { tls: None, tape: self.record.then(Arc::default) };
        let (sender, driver) = if url.is_https() {
            let bare = url.host().trim_start_matches('[').trim_end_matches(']');
            let name = ServerName::try_from(bare.to_owned()).map_err(|error| failed(&error))?;
            let secured = timeout(self.tls_timeout, async {
                let stream = self.tls.connect(name, stream).await.map_err(|error| FetchError::Connect {
                    host: url.host().to_owned(),
                    reason: tls_reason(&error),
                })?;
                if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) {
                    count(&self.counters.tls_resumed, 1);
                }
                line.tls = stream.get_ref().1.protocol_version().and_then(tls_name);
                if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                    line.tape = None;
                    let sender = self.speak_http2(stream, open).await.map_err(|error| failed(&error))?;
                    Ok((sender, Driver::NONE))
                } else {
                    self.speak_http1(stream, open, &line).await.map_err(|error| failed(&error))
                }
            });
            secured.await.map_err(|_| FetchError::Timeout { step: "tls", limit: self.tls_timeout })??
        } else {
            self.speak_http1(stream, open, &line).await.map_err(|error| failed(&error))?
        };
        Ok(Connection { sender, driver, remote, reused: false, line })
    }

    /// Opens a TCP connection to whichever address answers first. Each gets a head start over the next, unless it
    /// fails before (RFC 8305, "Happy Eyeballs").
    async fn dial(
        &self,
        url: &PageUrl,
        addresses: &[SocketAddr],
    ) -> Result<(TcpStream, SocketAddr), FetchError> {
        let mut reason = "there is no address to try".to_owned();
        let race = async {
            // Most hosts have one address, and nobody to race against.
            if let &[address] = addresses {
                return match TcpStream::connect(address).await {
                    Ok(stream) => Some((stream, address)),
                    Err(error) => {
                        reason = format!("{address}: {}", io_reason(&error));
                        None
                    }
                };
            }
            let attempt = |address| async move { (address, TcpStream::connect(address).await) };
            let mut waiting = addresses.iter().copied().take(ADDRESSES_MAX);
            let mut attempts = FuturesUnordered::new();
            loop {
                if attempts.is_empty() {
                    match waiting.next() {
                        Some(address) => attempts.push(attempt(address)),
                        None => return None,
                    }
                }
                tokio::select! {
                    Some((address, outcome)) = attempts.next() => match outcome {
                        Ok(stream) => return Some((stream, address)),
                        Err(error) => {
                            reason = format!("{address}: {}", io_reason(&error));
                            attempts.extend(waiting.next().map(attempt));
                        }
                    },
                    () = sleep(HEAD_START), if waiting.len() > 0 => {
                        attempts.extend(waiting.next().map(attempt));
                    }
                }
            }
        };
        match timeout(self.connect_timeout, race).await {
            Ok(Some(connected)) => Ok(connected),
            Ok(None) => Err(FetchError::Connect { host: url.host().to_owned(), reason }),
            Err(_) => Err(FetchError::Timeout { step: "connect", limit: self.connect_timeout }),
        }
    }

    async fn speak_http1<T>(
        &self,
        stream: T,
        open: OpenConnection,
        line: &Line,
    ) -> Result<(Sender, Driver), hyper::Error>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = Taped { stream, tape: line.tape.clone() };
        let (sender, connection) = self.http1.handshake(TokioIo::new(stream)).await?;
        let moved = async move {
            // What goes wrong is told to whoever waits for the answer.
            let _ = connection.await;
            drop(open);
        };
        Ok((Sender::Http1(sender), Driver::new(moved, line.tls.is_some())))
    }

    async fn speak_http2<T>(&self, stream: T, open: OpenConnection) -> Result<Sender, hyper::Error>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, connection) = self.http2.handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            let _ = connection.await;
            drop(open);
        });
        Ok(Sender::Http2(sender))
    }
}

/// A version of TLS as archives name it.
fn tls_name(version: ProtocolVersion) -> Option<&'static str> {
    match version {
        ProtocolVersion::TLSv1_2 => Some("tls/1.2"),
        ProtocolVersion::TLSv1_3 => Some("tls/1.3"),
        _ => None,
    }
}

/// An error and its causes, in one line, none of them twice.
pub(crate) fn reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}

/// What the system said, without its error number.
fn io_reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
