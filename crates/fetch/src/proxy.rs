//! Requests by way of a proxy: HTTP's own two ways, and SOCKS 5.
//!
//! In: an open connection to the proxy and the host that is meant. Out: the same connection, which leads to that host now
//! (CONNECT, SOCKS), or the knowledge that requests must name their whole URL (plain HTTP). The proxy resolves names, so names are not
//! judged by their addresses here; literal private addresses are refused as without a proxy. Start at [`Proxy`].

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::str::FromStr;

use http::HeaderValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::{Host, Url};

use crate::credentials::basic;

/// Bytes of a proxy's answer to CONNECT.
const ANSWER_BYTES_MAX: usize = 8 << 10;

/// `http://[user:password@]host:port` or `socks5://[user:password@]host:port`.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    kind: Kind,
    host: String,
    port: u16,
    user: Option<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http,
    Socks5,
}

/// Why a text is not a [`Proxy`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; write \"http://host:port\" or \"socks5://host:port\", with user:password@ before the host if need be"
)]
pub struct ProxyError(String);

impl FromStr for Proxy {
    type Err = ProxyError;

    fn from_str(text: &str) -> Result<Self, ProxyError> {
        // The text may hold a password, so it is not repeated.
        let url = Url::parse(text.trim()).map_err(|error| ProxyError(format!("that is no URL: {error}")))?;
        let (kind, default_port) = match url.scheme() {
            "http" => (Kind::Http, 80),
            "socks5" | "socks5h" => (Kind::Socks5, 1080),
            other => return Err(ProxyError(format!("`{other}` is no kind of proxy"))),
        };
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or_else(|| ProxyError("there is no host".to_owned()))?;
        let decoded = |text: &str| {
            percent_decoded(text).ok_or_else(|| ProxyError("user or password is not UTF-8".to_owned()))
        };
        let user = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => Some((decoded(user)?, decoded(password.unwrap_or_default())?)),
        };
        if user.as_ref().is_some_and(|(user, password)| user.len() > 255 || password.len() > 255) {
            return Err(ProxyError("user or password is longer than 255 bytes".to_owned()));
        }
        Ok(Self { kind, host: host.to_owned(), port: url.port().unwrap_or(default_port), user })
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({:?} {}:{})", self.kind, self.host, self.port)
    }
}

impl Proxy {
    /// Where the proxy is.
    pub(crate) fn place(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Whether requests over this connection name their whole URL.
    pub(crate) fn wants_whole_urls(&self, https: bool) -> bool {
        self.kind == Kind::Http && !https
    }

    /// The field that tells an HTTP proxy who asks.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let (user, password) = self.user.as_ref()?;
        (self.kind == Kind::Http).then(|| basic(&format!("{user}:{password}")))
    }

    /// Has the proxy connect through to a host. Plain HTTP needs no such thing.
    pub(crate) async fn lead(
        &self,
        stream: &mut TcpStream,
        https: bool,
        host: &str,
        port: u16,
    ) -> io::Result<()> {
        match self.kind {
            Kind::Http if https => self.connect(stream, host, port).await,
            Kind::Http => Ok(()),
            Kind::Socks5 => self.greet_socks(stream, host, port).await,
        }
    }

    async fn connect(&self, stream: &mut TcpStream, host: &str, port: u16) -> io::Result<()> {
        let mut request = format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n");
        if let Some(value) = self.authorization() {
            request.push_str(&format!("Proxy-Authorization: {}\r\n", value.to_str().unwrap_or_default()));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await?;
        // Byte by byte, because what follows the head belongs to somebody else. It is short, and there is one per connection.
        let mut answer = Vec::with_capacity(256);
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() >= ANSWER_BYTES_MAX {
                return Err(io::Error::other("the proxy's answer has no end"));
            }
            answer.push(stream.read_u8().await?);
        }
        let status = answer.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        if answer.starts_with(b"HTTP/1.") && status.first() == Some(&b'2') && status.len() == 3 {
            return Ok(());
        }
        let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
        Err(io::Error::other(format!(
            "the proxy answered `{}`",
            String::from_utf8_lossy(line).escape_default()
        )))
    }

    /// RFC 1928, and RFC 1929 where there is a password.
    async fn greet_socks(&self, stream: &mut TcpStream, host: &str, port: u16) -> io::Result<()> {
        let refused = |reason: &str| Err(io::Error::other(format!("the SOCKS proxy {reason}")));
        let methods: &[u8] = if self.user.is_some() { &[5, 2, 0, 2] } else { &[5, 1, 0] };
        stream.write_all(methods).await?;
        let mut chosen = [0; 2];
        stream.read_exact(&mut chosen).await?;
        match (chosen, &self.user) {
            ([5, 0], _) => {}
            ([5, 2], Some((user, password))) => {
                // Lengths were checked when the setting was read.
                let mut message = vec![1, user.len() as u8];
                message.extend_from_slice(user.as_bytes());
                message.push(password.len() as u8);
                message.extend_from_slice(password.as_bytes());
                stream.write_all(&message).await?;
                let mut verdict = [0; 2];
                stream.read_exact(&mut verdict).await?;
                if verdict[1] != 0 {
                    return refused("does not know user and password");
                }
            }
            ([5, _], _) => return refused("wants another kind of password"),
            _ => return refused("does not speak SOCKS 5"),
        }
        let mut request = vec![5, 1, 0];
        match Host::parse(host) {
            Ok(Host::Ipv4(address)) => {
                request.push(1);
                request.extend(address.octets());
            }
            Ok(Host::Ipv6(address)) => {
                request.push(4);
                request.extend(address.octets());
            }
            _ => {
                let length =
                    u8::try_from(host.len()).map_err(|_| io::Error::other("the host name is too long"))?;
                request.extend([3, length]);
                request.extend_from_slice(host.as_bytes());
            }
        }
        request.extend(port.to_be_bytes());
        stream.write_all(&request).await?;
        let mut head = [0; 4];
        stream.read_exact(&mut head).await?;
        if head[1] != 0 {
            return refused(match head[1] {
                2 => "forbids it",
                3 => "says that the network cannot be reached",
                4 => "says that the host cannot be reached",
                5 => "says that the connection was refused",
                6 => "says that it took too long",
                _ => "could not connect",
            });
        }
        let rest = match head[3] {
            1 => 4 + 2,
            4 => 16 + 2,
            3 => usize::from(stream.read_u8().await?) + 2,
            _ => return refused("answers with an address of no known kind"),
        };
        stream.read_exact(&mut [0; 257][..rest.min(257)]).await?;
        Ok(())
    }
}

/// The address a host is, when it is one.
pub(crate) fn literal_address(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host).parse().ok()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digit = |index: usize| char::from(*after.get(index)?).to_digit(16);
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings() {
        for (text, expected) in [
            ("http://proxy.example:3128", "Http proxy.example:3128"),
            ("http://proxy.example", "Http proxy.example:80"),
            ("socks5://127.0.0.1", "Socks5 127.0.0.1:1080"),
            ("socks5h://[::1]:9", "Socks5 [::1]:9"),
            ("http://me:pa%3Ass@proxy.example:1", "Http proxy.example:1"),
        ] {
            let proxy: Proxy = text.parse().unwrap();
            assert_eq!(format!("{proxy:?}"), format!("Proxy({expected})"));
        }
        let proxy: Proxy = "http://me:pa%3Ass@proxy.example:1".parse().unwrap();
        assert_eq!(proxy.user, Some(("me".to_owned(), "pa:ss".to_owned())));
        for text in ["", "proxy.example:3128", "ftp://proxy.example", "https://proxy.example", "http://"] {
            assert!(text.parse::<Proxy>().is_err(), "{text}");
        }
    }
}
