//! One request and its answer: addresses, a connection, the head, the body.
//!
//! In: a URL and header fields. Out: an [`Answer`] whose body has not been read, or a [`Failure`] that says whether the host
//! was troubled at all. A kept connection that turns out dead is replaced once. What an answer means is the caller's
//! business.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHORIZATION};
use http::{Request, StatusCode, Uri, Version};
use http_body_util::Empty;
use hyper::body::Incoming;
use jiff::Timestamp;
use tokio::time::timeout;
use webloom_model::{Exchange, FetchError, FetchOutcome, NotFetched, PageUrl, Purpose, Truncated};

use super::Fetcher;
use crate::body::{self, BodyLimits, Means, NoBody, ReadBody};
use crate::connect::{self, Connection, Driver};
use crate::pool::Origin;
use crate::proxy::literal_address;
use crate::stats::count;
use crate::tape::{self, HeadFields, Tape};
use crate::unwanted::UnwantedTypes;
use crate::within::within;
use crate::{address, credentials, headers};

impl Fetcher {
    /// Sends one request and waits for the head of the answer. `purpose` is given when the exchange is to be written down.
    pub(super) async fn request(
        &self,
        url: &PageUrl,
        mut headers: HeaderMap,
        purpose: Option<Purpose>,
    ) -> Result<Answer, Failure> {
        let usual = purpose.map(|_| headers.clone());
        credentials::add(&mut headers, url.host(), &self.config.headers, &self.config.auth);
        if let Some(cookies) = &self.cookies {
            cookies.add(url, &mut headers, self.clock.wall());
        }
        let whole_url =
            self.config.proxy.as_ref().is_some_and(|proxy| proxy.wants_whole_urls(url.is_https()));
        if let (true, Some(proxy)) = (whole_url, &self.config.proxy) {
            headers.extend(proxy.authorization().map(|value| (PROXY_AUTHORIZATION, value)));
        }
        let secret = usual.map(|usual| changed(&usual, &headers)).unwrap_or_default();
        let addresses = self.addresses(url).await?;
        let origin = Origin::of(url);
        let started = self.clock.now();
        let mut connection = match self.pool.take(&origin, &addresses).await {
            Some(connection) => connection,
            None => self.connect(url, &origin, &addresses).await?,
        };
        loop {
            let request = build_request(url, &headers, connection.is_http2(), whole_url)?;
            let asked = purpose.map(|_| tape::understood(request.headers()));
            count(&self.counters.requests, 1);
            if connection.reused {
                count(&self.counters.connections_reused, 1);
            }
            let sent = timeout(self.config.headers_timeout, connection.send(request)).await;
            match sent {
                Err(_) => {
                    self.pool.forget(&origin);
                    let limit = self.config.headers_timeout;
                    return Err(Failure::touched(FetchError::Timeout { step: "headers", limit }));
                }
                Ok(Ok(response)) => {
                    let (head, body) = response.into_parts();
                    if let Some(cookies) = &self.cookies {
                        cookies.learn(url, &head.headers, self.clock.wall());
                    }
                    let exchange = purpose.map(|purpose| {
                        let (request, reason, fields) =
                            heads(&connection, asked.unwrap_or_default(), &head.headers, &secret);
                        Box::new(Exchange {
                            url: url.clone(),
                            purpose,
                            request,
                            http_version: version_name(head.version),
                            status: head.status.as_u16(),
                            reason,
                            headers: fields,
                            body: Bytes::new(),
                            truncated: None,
                            // A proxy's address says nothing about the host.
                            remote: self.config.proxy.is_none().then(|| connection.remote.ip()),
                            tls: connection.line.tls,
                            at: self.clock.wall(),
                            elapsed: Duration::ZERO,
                        })
                    });
                    return Ok(Answer {
                        exchange,
                        status: head.status,
                        version: head.version,
                        headers: head.headers,
                        fetched_at: self.clock.wall(),
                        started,
                        body,
                        connection,
                    });
                }
                // A kept connection may have been closed while the request was on its way. The host has not
                // answered, so asking once more is not asking twice.
                Ok(Err(error)) if connection.reused && !error.is_parse() => {
                    count(&self.counters.connections_dead, 1);
                    self.pool.forget(&origin);
                    connection = self.connect(url, &origin, &addresses).await?;
                }
                Ok(Err(error)) => {
                    self.pool.forget(&origin);
                    let reason = connect::reason(&error);
                    return Err(Failure::touched(FetchError::Protocol { reason }));
                }
            }
        }
    }

    async fn connect(
        &self,
        url: &PageUrl,
        origin: &Origin,
        addresses: &[SocketAddr],
    ) -> Result<Connection, Failure> {
        let connection = self.connector.connect(url, addresses).await.map_err(Failure::touched)?;
        if let connect::Sender::Http2(sender) = &connection.sender {
            let sender = connect::Sender::Http2(sender.clone());
            let line = connection.line.clone();
            let (driver, remote) = (Driver::NONE, connection.remote);
            self.pool.put(origin.clone(), Connection { sender, driver, remote, reused: true, line });
        }
        Ok(connection)
    }

    /// The addresses of the URL's host that may be connected to.
    async fn addresses(&self, url: &PageUrl) -> Result<Vec<SocketAddr>, Failure> {
        let limit = self.config.resolve_timeout;
        let private = |address| Failure {
            outcome: FetchOutcome::NotFetched(NotFetched::PrivateAddress { address }),
            untouched: true,
        };
        let resolve = async {
            match &self.config.proxy {
                // The proxy knows where hosts are. It is ours, so it may be anywhere.
                Some(proxy) => match (proxy.place(), literal_address(proxy.place().0)) {
                    ((_, port), Some(address)) => Ok(vec![SocketAddr::new(address, port)]),
                    ((host, port), None) => self.resolver.inner.resolve(host, port).await,
                },
                None => self.resolver.resolve(url.host(), url.port()).await,
            }
        };
        let resolved = within(limit, resolve)
            .await
            .map_err(|_| Failure::untouched(FetchError::Timeout { step: "resolve", limit }))?
            .map_err(|error| {
                Failure::untouched(FetchError::Dns { host: url.host().to_owned(), reason: error.reason })
            })?;
        let allow_private = self.config.allow_private;
        if self.config.proxy.is_some() {
            return match literal_address(url.host()) {
                Some(literal) if !allow_private && !address::is_public(literal) => Err(private(literal)),
                _ => Ok(resolved),
            };
        }
        allowed_addresses(&resolved, allow_private).map_err(private)
    }

    pub(super) fn body_limits(&self, wire_bytes_max: u64, bytes_max: u64) -> BodyLimits {
        BodyLimits {
            wire_bytes_max,
            bytes_max,
            ratio_max: self.config.compression_ratio_max,
            large_bytes: self.config.large_body_bytes,
            spill_bytes: self.config.spill_body_bytes,
            idle_timeout: self.config.body_idle_timeout,
            timeout: self.config.body_timeout,
            keep: false,
        }
    }

    pub(super) async fn read_body(
        &self,
        url: &PageUrl,
        headers: &HeaderMap,
        body: Incoming,
        mut connection: Connection,
        limits: &BodyLimits,
        unwanted: Option<&UnwantedTypes>,
    ) -> Result<ReadBody, Failure> {
        let encodings = headers::values(headers, &CONTENT_ENCODING);
        let lanes = self.bandwidth.lanes(url.host());
        let means = Means { limits, large_bodies: &self.large_bodies, lanes, unwanted };
        let read = body::read_body(body, &mut connection.driver, &encodings, &means).await;
        let read = read.map_err(|no_body| match no_body {
            NoBody::Failed(error) => Failure::touched(error),
            NoBody::Unwanted(media_type) => Failure::unwanted(media_type),
        })?;
        count(&self.counters.wire_bytes, read.wire_bytes);
        count(&self.counters.body_bytes, read.bytes.len() as u64);
        if read.complete {
            self.keep(url, connection).await;
        }
        Ok(read)
    }

    /// Writes an exchange down whose body was read, or could not be.
    pub(super) fn note(
        &self,
        tape: &mut Tape,
        exchange: Option<Box<Exchange>>,
        started: Instant,
        read: Result<&ReadBody, &Failure>,
    ) {
        let elapsed = self.clock.now().saturating_duration_since(started);
        let (body, truncated) = match read {
            Ok(read) => match &read.wire {
                Some(kept) => (kept.bytes.clone(), kept.truncated),
                None => return,
            },
            Err(failure) => (Bytes::new(), Some(failure.truncated())),
        };
        tape.add(exchange, body, truncated, elapsed);
    }

    /// Reads off an answer nobody wants to see, if that is cheaper than a new connection, or if an archive wants it.
    pub(super) async fn discard(&self, url: &PageUrl, mut answer: Answer, tape: &mut Tape) {
        let driver = &mut answer.connection.driver;
        if tape.is_on() {
            let (kept, is_reusable) = body::keep(answer.body, driver).await;
            let elapsed = self.clock.now().saturating_duration_since(answer.started);
            tape.add(answer.exchange, kept.bytes, kept.truncated, elapsed);
            if is_reusable {
                self.keep(url, answer.connection).await;
            }
            return;
        }
        if body::discard(answer.body, driver).await {
            self.keep(url, answer.connection).await;
        }
    }

    async fn keep(&self, url: &PageUrl, mut connection: Connection) {
        // HTTP/2 connections are in the pool from the start.
        if !connection.is_http2() {
            connection.driver.rest().await;
            self.pool.put(Origin::of(url), connection);
        }
    }
}

/// The head of an answer, and what its body comes over.
pub(super) struct Answer {
    pub status: StatusCode,
    pub version: Version,
    pub headers: HeaderMap,
    pub fetched_at: Timestamp,
    pub started: Instant,
    pub body: Incoming,
    pub connection: Connection,
    /// The exchange as far as it has come, if it is written down.
    pub exchange: Option<Box<Exchange>>,
}

/// Why there is no answer to look at.
pub(super) struct Failure {
    pub outcome: FetchOutcome,
    /// No packet was sent to the host.
    pub untouched: bool,
}

impl Failure {
    pub fn touched(error: FetchError) -> Self {
        Self { outcome: FetchOutcome::Failed(error), untouched: false }
    }

    /// A body that is not wanted, broken off.
    pub fn unwanted(media_type: String) -> Self {
        Self { outcome: FetchOutcome::NotFetched(NotFetched::UnwantedType { media_type }), untouched: false }
    }

    /// Why there is nothing of the body.
    fn truncated(&self) -> Truncated {
        match &self.outcome {
            FetchOutcome::Failed(FetchError::Timeout { .. }) => Truncated::Time,
            FetchOutcome::Failed(FetchError::Protocol { .. }) => Truncated::Disconnect,
            _ => Truncated::Unspecified,
        }
    }

    fn untouched(error: FetchError) -> Self {
        Self { outcome: FetchOutcome::Failed(error), untouched: true }
    }
}

/// The addresses that may be connected to, in the order they are tried: the families take turns, beginning with IPv4, which is
/// what every machine has. Or one that may not, when that is all there are.
fn allowed_addresses(resolved: &[SocketAddr], allow_private: bool) -> Result<Vec<SocketAddr>, IpAddr> {
    let may_connect = |socket: &SocketAddr| allow_private || address::is_public(socket.ip());
    let allowed = resolved.iter().copied().filter(may_connect);
    let (newer, older): (Vec<_>, Vec<_>) = allowed.partition(SocketAddr::is_ipv6);
    let mut ordered = Vec::with_capacity(newer.len() + older.len());
    let (mut newer, mut older) = (newer.into_iter(), older.into_iter());
    loop {
        let round = [older.next(), newer.next()];
        if round == [None, None] {
            break;
        }
        ordered.extend(round.into_iter().flatten());
    }
    match resolved.first() {
        Some(first) if ordered.is_empty() => Err(first.ip()),
        _ => Ok(ordered),
    }
}

/// The names of fields that were added on somebody's behalf.
fn changed(usual: &HeaderMap, headers: &HeaderMap) -> Vec<HeaderName> {
    headers.keys().filter(|name| usual.get(*name) != headers.get(*name)).cloned().collect()
}

/// What was asked, and what was answered: the words behind the status and the fields. As it crossed the wire where that is known.
fn heads(
    connection: &Connection,
    asked: HeadFields,
    answered: &HeaderMap,
    secret: &[HeaderName],
) -> (HeadFields, String, HeadFields) {
    let (mut asked, reason, fields) = match connection.line.tape.as_ref().and_then(|tape| tape.heads()) {
        Some((sent, received)) => {
            let (status_line, fields) = tape::parse_head(&received);
            let reason = status_line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned();
            (tape::parse_head(&sent).1, reason, fields)
        }
        None => (asked, String::new(), tape::understood(answered)),
    };
    asked.retain(|(name, _)| !secret.iter().any(|secret| name.eq_ignore_ascii_case(secret.as_str())));
    (asked, reason, fields)
}

fn build_request(
    url: &PageUrl,
    headers: &HeaderMap,
    is_http2: bool,
    whole_url: bool,
) -> Result<Request<Empty<Bytes>>, Failure> {
    let unsendable = |error: http::Error| {
        Failure::untouched(FetchError::Protocol { reason: format!("the URL cannot be sent: {error}") })
    };
    // HTTP/2 takes scheme and authority from the URI; HTTP/1 wants the path there and the authority in a field.
    let uri = if is_http2 || whole_url { url.as_str() } else { url.path_and_query() };
    let uri: Uri = uri.parse().map_err(|error: http::uri::InvalidUri| unsendable(error.into()))?;
    let mut request = Request::get(uri).body(Empty::new()).map_err(unsendable)?;
    *request.headers_mut() = headers.clone();
    if is_http2 {
        *request.version_mut() = Version::HTTP_2;
    } else {
        let host = match url.as_url().port() {
            Some(port) => format!("{}:{port}", url.host()),
            None => url.host().to_owned(),
        };
        let host = HeaderValue::from_str(&host).map_err(|error| unsendable(error.into()))?;
        request.headers_mut().insert(HOST, host);
    }
    Ok(request)
}

pub(super) fn version_name(version: Version) -> &'static str {
    match version {
        Version::HTTP_09 => "HTTP/0.9",
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/1.1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_mixed_addresses_only_the_public_are_used() {
        let sockets = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|text| SocketAddr::new(text.parse().unwrap(), 80)).collect()
        };
        for (resolved, allowed) in [
            (&["8.8.8.8"][..], Ok(&["8.8.8.8"][..])),
            (&["127.0.0.1", "8.8.8.8", "10.0.0.1"], Ok(&["8.8.8.8"])),
            (&["2606:4700::1111", "::1", "8.8.8.8"], Ok(&["8.8.8.8", "2606:4700::1111"])),
            (
                &["2606:4700::1111", "2606:4700::1112", "8.8.8.8"],
                Ok(&["8.8.8.8", "2606:4700::1111", "2606:4700::1112"]),
            ),
            (&["10.0.0.1", "::1"], Err("10.0.0.1")),
            (&["::ffff:10.0.0.1"], Err("::ffff:10.0.0.1")),
        ] {
            assert_eq!(
                allowed_addresses(&sockets(resolved), false),
                allowed.map(sockets).map_err(|text| text.parse().unwrap()),
                "{resolved:?}"
            );
            assert_eq!(allowed_addresses(&sockets(resolved), true).unwrap().len(), resolved.len());
        }
    }
}
