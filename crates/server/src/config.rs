//! What a server is told: where to listen, who may do what, how much a request may take.
//!
//! In: a [`ServerConfig`]. Out: the same, checked by [`ServerConfig::check`], which refuses to listen beyond this machine
//! without a token and makes up a token where nobody gave one.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use webloom_index::DefaultGraph;

use crate::token::{Token, TokenProblem};

/// What a server is told.
#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What control and updates need. Made up when there is none and only this machine is listened to.
    pub token: Option<Token>,
    /// Whether reading needs no token even when others than this machine can ask.
    pub open_reading: bool,
    /// Names this server is known by, beside addresses and `localhost`. A request for another name is refused, or a page
    /// somewhere could have its own name resolve to this machine and read through the browser.
    pub host_names: Vec<String>,
    /// Whose pages may ask `/sparql` and `/store` from a browser.
    pub cross_origin: CrossOrigin,
    /// What patterns outside of `GRAPH` are about.
    pub default_graph: DefaultGraph,
    /// How much a request may take.
    pub limits: Limits,
}

/// Whose pages may ask from a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CrossOrigin {
    /// Anybody's. They read what everybody may read; tokens are not sent along.
    Any,
    /// These, such as `https://yasgui.example`.
    These(Vec<String>),
    /// Only our own.
    Nobody,
}

/// How much a request may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Time for a query, results included, unless it asks for less.
    pub query_time: Duration,
    /// Bytes of intermediate results of a query.
    pub query_memory_bytes: u64,
    /// Results of a query.
    pub query_rows: u64,
    /// Queries, searches and other reads of the index at once; more wait.
    pub queries_at_once: usize,
    /// How long they wait.
    pub queue_time: Duration,
    /// Bytes of a request's body without the token.
    pub body_bytes_max: usize,
    /// Bytes of a request's body with the token: updates and graphs.
    pub upload_bytes_max: usize,
    /// Time for a request's header fields.
    pub header_time: Duration,
    /// Time for a request's body.
    pub body_time: Duration,
    /// Bytes of a request's header fields.
    pub header_bytes_max: usize,
    /// Requests per second from one address, on average.
    pub requests_per_second: f64,
    /// Requests from one address in a burst.
    pub requests_burst: f64,
    /// Connections at once.
    pub connections_max: usize,
    /// Event streams at once.
    pub event_streams_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            query_time: Duration::from_secs(60),
            query_memory_bytes: 1 << 30,
            query_rows: 10_000_000,
            queries_at_once: std::thread::available_parallelism().map_or(4, usize::from).max(2) * 2,
            queue_time: Duration::from_secs(10),
            body_bytes_max: 1 << 20,
            upload_bytes_max: 256 << 20,
            header_time: Duration::from_secs(15),
            body_time: Duration::from_secs(120),
            header_bytes_max: 32 << 10,
            requests_per_second: 1_000.0,
            requests_burst: 4_000.0,
            connections_max: 1_024,
            event_streams_max: 64,
        }
    }
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7890)),
            token: None,
            open_reading: false,
            host_names: Vec::new(),
            cross_origin: CrossOrigin::Any,
            default_graph: DefaultGraph::Union,
            limits: Limits::default(),
        }
    }
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigProblem {
    /// Others could control the crawl.
    #[error(
        "listening on {listen} lets other machines in, which needs a token: give one with --token or WEBLOOM_TOKEN, \
         or listen on 127.0.0.1"
    )]
    TokenNeeded {
        /// Where it was to listen.
        listen: SocketAddr,
    },
    /// The token is too weak or cannot be sent.
    #[error(transparent)]
    Token(#[from] TokenProblem),
}

impl ServerConfig {
    /// Refuses what is not safe, and makes up a token where none is given.
    pub fn check(mut self) -> Result<Checked, ConfigProblem> {
        let local = is_this_machine(self.listen.ip());
        let token = match self.token.take() {
            Some(token) => token,
            None if local => Token::generate(),
            None => return Err(ConfigProblem::TokenNeeded { listen: self.listen }),
        };
        let reading_needs_token = !local && !self.open_reading;
        for name in &mut self.host_names {
            *name = name.trim_end_matches('.').to_ascii_lowercase();
        }
        Ok(Checked { token, reading_needs_token, config: self })
    }
}

/// A configuration that is safe to use.
#[derive(Debug, Clone)]
pub struct Checked {
    /// What control and updates need.
    pub token: Token,
    /// Whether reading needs it too.
    pub reading_needs_token: bool,
    /// The rest.
    pub config: ServerConfig,
}

/// True for addresses that only this machine can reach.
fn is_this_machine(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_goes_without_a_token() {
        for (listen, fine) in [
            ("127.0.0.1:0", true),
            ("127.9.9.9:80", true),
            ("[::1]:80", true),
            ("[::ffff:127.0.0.1]:80", true),
            ("0.0.0.0:80", false),
            ("[::]:80", false),
            ("192.168.1.2:80", false),
            ("[::ffff:10.0.0.1]:80", false),
        ] {
            let config = ServerConfig { listen: listen.parse().unwrap(), ..ServerConfig::default() };
            assert_eq!(config.clone().check().is_ok(), fine, "{listen}");
            let token = Some(Token::new("0123456789abcdef0123").unwrap());
            let checked = ServerConfig { token, ..config }.check().unwrap();
            assert_eq!(checked.reading_needs_token, !fine, "{listen}");
        }
    }
}
