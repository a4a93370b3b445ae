//! A web server on loopback that speaks for every host there is.
//!
//! In: a [`Site`] and [`ServerOptions`]. Out: a port that answers for it, HTTP and HTTPS alike (the first
//! byte of a connection tells which), and a [`RequestLog`]. Hosts are told apart by the `Host` header, as on
//! any shared server; a crawler is led here by [`WebServer::resolve_rule`]. What to say is the site's
//! business; how it goes over the wire, faults included, is ours. Start at [`WebServer::start`].

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime;
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::body::AnswerBody;
use crate::log::{LogDetail, RequestLog};
use crate::site::{Body, HttpReply, Reply, Request, Site};
use crate::tls::Authority;

/// How a server is set up.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The port; zero lets the system choose.
    pub port: u16,
    /// On how many loopback addresses to listen, all with the same port: 127.0.0.1, 127.0.0.2 and so on.
    /// Those that cannot be bound are left out (only Linux has them all), but for the first.
    pub addresses: u16,
    /// Answer TLS too.
    pub tls: bool,
    /// How much the log remembers.
    pub log: LogDetail,
    /// Threads of the runtime that [`WebServer::start_blocking`] makes.
    pub threads: usize,
}

impl Default for ServerOptions {
    /// Any port, four addresses, TLS, a log of everything, one thread.
    fn default() -> Self {
        Self { port: 0, addresses: 4, tls: true, log: LogDetail::default(), threads: 1 }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port is taken, or the system has no loopback.
    #[error("cannot listen on {address}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// No thread or no runtime.
    #[error("cannot start a runtime")]
    Runtime(#[source] io::Error),
    /// No certificate could be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// No TLS could be set up.
    #[error("cannot set up TLS")]
    Tls(#[from] rustls::Error),
}

/// A running server. Dropping it ends it at once, open connections included.
#[derive(Debug)]
pub struct WebServer {
    addresses: Vec<SocketAddr>,
    authority: Option<Arc<Authority>>,
    log: RequestLog,
    running: Running,
}

#[derive(Debug)]
enum Running {
    /// Tasks of the caller's runtime.
    Tasks(Tasks),
    /// A thread with a runtime of its own.
    Thread(OwnThread),
}

#[derive(Debug)]
struct OwnThread {
    stop: Option<oneshot::Sender<Duration>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Joined, so that the port is free when the server is gone. A panic in it was printed already.
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
struct Tasks {
    stop: watch::Sender<bool>,
    listeners: Vec<JoinHandle<()>>,
}

impl Tasks {
    async fn shut_down(mut self, patience: Duration) {
        self.stop.send_replace(true);
        let listeners = std::mem::take(&mut self.listeners);
        let aborts: Vec<_> = listeners.iter().map(JoinHandle::abort_handle).collect();
        let all = async {
            for listener in listeners {
                // A listener that panicked has nothing left to wait for.
                let _ = listener.await;
            }
        };
        if timeout(patience, all).await.is_err() {
            aborts.iter().for_each(tokio::task::AbortHandle::abort);
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        self.listeners.iter().for_each(JoinHandle::abort);
    }
}

/// What every connection needs.
struct Shared {
    site: Box<dyn Site>,
    log: RequestLog,
    tls: Option<TlsAcceptor>,
}

impl WebServer {
    /// Starts a server on the runtime of the caller.
    pub async fn start(site: impl Site + 'static, options: ServerOptions) -> Result<Self, ServerError> {
        let (server, tasks) = Started::new(Box::new(site), &options).await?;
        Ok(server.running(Running::Tasks(tasks)))
    }

    /// Starts a server on a thread of its own, for callers that have no runtime.
    pub fn start_blocking(site: impl Site + 'static, options: ServerOptions) -> Result<Self, ServerError> {
        let runtime = if options.threads > 1 {
            runtime::Builder::new_multi_thread().worker_threads(options.threads).enable_all().build()
        } else {
            runtime::Builder::new_current_thread().enable_all().build()
        }
        .map_err(ServerError::Runtime)?;
        let (stop, stopped) = oneshot::channel();
        let (started, start) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("web server".to_owned())
            .spawn(move || {
                let tasks = match runtime.block_on(Started::new(Box::new(site), &options)) {
                    Ok((server, tasks)) => {
                        // The caller waits for this, so it is there to hear.
                        let _ = started.send(Ok(server));
                        tasks
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                        return;
                    }
                };
                // An error means that the server was dropped: no patience at all.
                match runtime.block_on(stopped) {
                    Ok(patience) => runtime.block_on(tasks.shut_down(patience)),
                    Err(_) => drop(tasks),
                }
                runtime.shutdown_background();
            })
            .map_err(ServerError::Runtime)?;
        let server = start.recv().map_err(|_| {
            ServerError::Runtime(io::Error::other("the server's thread ended before it had started"))
        })??;
        Ok(server.running(Running::Thread(OwnThread { stop: Some(stop), thread: Some(thread) })))
    }

    /// Stops listening, lets the answers under way finish for at most `patience`, then ends.
    pub async fn shut_down(self, patience: Duration) {
        match self.running {
            Running::Tasks(tasks) => tasks.shut_down(patience).await,
            Running::Thread(mut thread) => {
                if let Some(stop) = thread.stop.take() {
                    // The thread waits for nothing else, so it is there to hear.
                    let _ = stop.send(patience);
                }
                // Dropping joins, which blocks.
                let _ = tokio::task::spawn_blocking(move || drop(thread)).await;
            }
        }
    }

    /// The port, the same on all addresses, for HTTP and HTTPS.
    pub fn port(&self) -> u16 {
        self.addresses[0].port()
    }

    /// Where it listens; the first is 127.0.0.1.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The rule that leads a crawler's every request here: `*=127.0.0.1:PORT`.
    pub fn resolve_rule(&self) -> String {
        self.resolve_rule_for("*", 0)
    }

    /// The rule that leads requests to the hosts of `pattern` to one of the addresses, counted around.
    pub fn resolve_rule_for(&self, pattern: &str, address: usize) -> String {
        format!("{pattern}={}", self.addresses[address % self.addresses.len()])
    }

    /// The certificate of the authority that vouches for all hosts; nothing without TLS.
    pub fn ca_pem(&self) -> Option<&str> {
        self.authority.as_deref().map(|authority| authority.pem.as_str())
    }

    /// What was asked so far.
    pub fn log(&self) -> &RequestLog {
        &self.log
    }
}

/// A server that is up, without what keeps it up.
struct Started {
    addresses: Vec<SocketAddr>,
    authority: Option<Arc<Authority>>,
    log: RequestLog,
}

impl Started {
    async fn new(site: Box<dyn Site>, options: &ServerOptions) -> Result<(Self, Tasks), ServerError> {
        let listeners = listen(options).await?;
        let mut addresses = Vec::with_capacity(listeners.len());
        for listener in &listeners {
            addresses.push(listener.local_addr().map_err(ServerError::Runtime)?);
        }
        let authority = options.tls.then(|| Authority::new().map(Arc::new)).transpose()?;
        let tls = authority.as_ref().map(Authority::server_config).transpose()?;
        let log = RequestLog::new(options.log);
        let shared = Arc::new(Shared {
            site,
            log: log.clone(),
            tls: tls.map(|config| TlsAcceptor::from(Arc::new(config))),
        });
        let (stop, stopped) = watch::channel(false);
        let listeners = listeners
            .into_iter()
            .map(|listener| tokio::spawn(accept(listener, shared.clone(), stopped.clone())))
            .collect();
        Ok((Self { addresses, authority, log }, Tasks { stop, listeners }))
    }

    fn running(self, running: Running) -> WebServer {
        WebServer { addresses: self.addresses, authority: self.authority, log: self.log, running }
    }
}

async fn listen(options: &ServerOptions) -> Result<Vec<TcpListener>, ServerError> {
    let first = SocketAddr::new(loopback(0), options.port);
    let first =
        TcpListener::bind(first).await.map_err(|source| ServerError::Listen { address: first, source })?;
    let port = first.local_addr().map_err(ServerError::Runtime)?.port();
    let mut listeners = vec![first];
    for number in 1..options.addresses {
        if let Ok(listener) = TcpListener::bind(SocketAddr::new(loopback(number), port)).await {
            listeners.push(listener);
        }
    }
    Ok(listeners)
}

/// Waits until the server is to end.
async fn told(stop: &mut watch::Receiver<bool>) {
    // The sender is gone only with the server itself.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// 127.0.0.1, 127.0.0.2, …, 127.0.0.250, 127.0.1.1, …
fn loopback(number: u16) -> IpAddr {
    let [third, fourth] = [number / 250, number % 250 + 1].map(|byte| u8::try_from(byte).unwrap_or(u8::MAX));
    Ipv4Addr::new(127, 0, third, fourth).into()
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: watch::Receiver<bool>) {
    let mut stopped = stop.clone();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(converse(stream, shared.clone(), stop.clone()));
                }
                // Out of file descriptors, most likely: those who have one finish soon.
                Err(_) => sleep(Duration::from_millis(10)).await,
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            _ = told(&mut stopped) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn converse(stream: TcpStream, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    // Small answers must not wait for each other.
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    let peeked = tokio::select! {
        peeked = stream.peek(&mut first) => peeked,
        _ = told(&mut stop) => return,
    };
    if !matches!(peeked, Ok(1)) {
        return;
    }
    const TLS_HANDSHAKE: u8 = 0x16;
    match &shared.tls {
        Some(tls) if first[0] == TLS_HANDSHAKE => {
            let Ok(stream) = tls.accept(stream).await else { return };
            if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                converse_http2(stream, shared, stop).await;
            } else {
                converse_http1(stream, shared, true, stop).await;
            }
        }
        _ => converse_http1(stream, shared, false, stop).await,
    }
}

/// What to do with a connection on which no HTTP answer is to be given.
enum Instead {
    Raw(Bytes),
    HangUp,
    Reset,
}

/// The service gives up, because [`Instead`] says so.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP answer is to be given")]
struct NoAnswer;

trait Connection: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    fn socket(&self) -> &TcpStream;
}

impl Connection for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Connection for TlsStream<TcpStream> {
    fn socket(&self) -> &TcpStream {
        self.get_ref().0
    }
}

async fn converse_http1(
    stream: impl Connection,
    shared: Arc<Shared>,
    https: bool,
    mut stop: watch::Receiver<bool>,
) {
    let instead = Arc::new(Mutex::new(None));
    let service = {
        let instead = instead.clone();
        service_fn(move |request| Box::pin(respond(shared.clone(), https, Some(instead.clone()), request)))
    };
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    let mut stopping = false;
    loop {
        tokio::select! {
            // Faults end the conversation with an error; how, is written in `instead`.
            _ = poll_fn(|context| connection.poll_without_shutdown(context)) => break,
            _ = told(&mut stop), if !stopping => {
                stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    }
    let mut stream = connection.into_parts().io.into_inner();
    // The client may be gone at any of these; then there is nobody to tell.
    let instead = instead.lock().take();
    match instead {
        Some(Instead::Raw(bytes)) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Some(Instead::Reset) => {
            let _ = stream.socket().set_zero_linger();
        }
        Some(Instead::HangUp) => {}
        None => {
            let _ = stream.shutdown().await;
        }
    }
}

async fn converse_http2(stream: TlsStream<TcpStream>, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let service = service_fn(move |request| respond(shared.clone(), true, None, request));
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .auto_date_header(false)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut stopping = false;
    loop {
        tokio::select! {
            _ = &mut connection => break,
            _ = told(&mut stop), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// Asks the site and turns its answer into HTTP, or into a reason not to.
async fn respond(
    shared: Arc<Shared>,
    https: bool,
    instead: Option<Arc<Mutex<Option<Instead>>>>,
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<AnswerBody>, NoAnswer> {
    let mut request = understand(https, request);
    let mut ticket = shared.log.begin(&mut request);
    let answer = shared.site.answer(&request);
    ticket.answered(&answer);
    if !answer.delay.is_zero() {
        sleep(answer.delay).await;
    }
    let refuse = |what| {
        if let Some(instead) = &instead {
            *instead.lock() = Some(what);
        }
        Err(NoAnswer)
    };
    let reply = match answer.reply {
        Reply::Http(reply) => reply,
        Reply::Raw(bytes) => return refuse(Instead::Raw(bytes)),
        Reply::HangUp => return refuse(Instead::HangUp),
        Reply::Reset => return refuse(Instead::Reset),
    };
    // hyper would keep back what is beyond the length, so that lie has to be told without it.
    if let (Some(claimed), Body::Whole(bytes)) = (reply.claimed_length, &reply.body)
        && claimed < bytes.len() as u64
        && instead.is_some()
    {
        ticket.body_bytes = bytes.len() as u64;
        return refuse(Instead::Raw(by_hand(&reply, claimed, bytes)));
    }
    let body = AnswerBody::new(&reply, ticket);
    let HttpReply { status, headers, .. } = *reply;
    let mut response = hyper::Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

/// The answer as text, with a length of our choosing.
fn by_hand(reply: &HttpReply, claimed_length: u64, body: &[u8]) -> Bytes {
    let mut text = format!("HTTP/1.1 {}\r\ncontent-length: {claimed_length}\r\n", reply.status).into_bytes();
    for (name, value) in &reply.headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    text.extend_from_slice(body);
    text.into()
}

fn understand(https: bool, request: hyper::Request<Incoming>) -> Request {
    let (parts, _) = request.into_parts();
    let default_port = if https { 443 } else { 80 };
    let authority = match parts.uri.authority() {
        Some(authority) => authority.as_str(),
        None => parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default(),
    };
    // The colon of a port comes after the bracket of an IPv6 address.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().unwrap_or(default_port)),
        _ => (authority, default_port),
    };
    Request {
        host: host.to_ascii_lowercase(),
        port,
        https,
        path_and_query: parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        method: parts.method,
        headers: parts.headers,
        number: 0,
    }
}
