//! From a host name to addresses.
//!
//! In: host and port of a URL. Out: the socket addresses to try, in order. [`SystemResolver`] asks the
//! name servers of the machine, so many questions at once and no more, and remembers what they said for as long as they said;
//! that a name is not there is remembered too. Where no name server answers, the system is asked its own way. [`ResolveRule`]s
//! answer for chosen names without asking, and may send a connection to another port. Nobody here judges addresses: the
//! fetcher does, whoever gave them. Start at [`Resolve`].

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;

use tokio::sync::Semaphore;

use crate::FetchSetupError;
use crate::hosts::HostPattern;

/// Finds the addresses of a host.
///
/// `host` is a name in ASCII form, never a literal address. An answer without addresses counts as a failure.
/// The caller bounds the time.
pub trait Resolve: Send + Sync + fmt::Debug {
    /// The addresses to try, in order.
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, Result<Vec<SocketAddr>, ResolveError>>;
}

/// The name has no address, or nobody could be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ResolveError {
    /// What the resolver said.
    pub reason: String,
}

/// Asks the machine's name servers, with a cache. Knows `localhost` and the hosts file.
#[derive(Clone)]
pub struct SystemResolver {
    resolver: TokioResolver,
    /// Places for questions to the name servers.
    places: Arc<Semaphore>,
}

/// However short a name server wants an answer to be remembered, a crawl asks once a minute at most.
const POSITIVE_TTL_MIN: Duration = Duration::from_secs(60);
const POSITIVE_TTL_MAX: Duration = Duration::from_secs(24 * 60 * 60);
const NEGATIVE_TTL_MAX: Duration = Duration::from_secs(5 * 60);
const CACHE_ENTRIES: u64 = 32_768;
/// Questions to the name servers at once. A home router gives up at a few hundred.
const QUESTIONS_MAX: usize = 64;
/// How long the system may take where the name servers failed.
const SYSTEM_TIMEOUT: Duration = Duration::from_secs(5);

impl SystemResolver {
    /// Reads the machine's configuration. Without one, only the hosts file and `localhost` resolve.
    pub fn new() -> Result<Self, FetchSetupError> {
        let mut builder = match TokioResolver::builder_tokio() {
            Ok(builder) => builder,
            Err(error) => {
                tracing::warn!(%error, "no name servers are configured; only the hosts file will be used");
                let none = ResolverConfig::from_name_servers(Vec::new());
                TokioResolver::builder_with_config(none, TokioRuntimeProvider::default())
            }
        };
        let options = builder.options_mut();
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.cache_size = CACHE_ENTRIES;
        options.positive_min_ttl = Some(POSITIVE_TTL_MIN);
        options.positive_max_ttl = Some(POSITIVE_TTL_MAX);
        options.negative_max_ttl = Some(NEGATIVE_TTL_MAX);
        options.try_tcp_on_error = true;
        let resolver = builder.build().map_err(|error| FetchSetupError::Resolver(error.to_string()))?;
        Ok(Self { resolver, places: Arc::new(Semaphore::new(QUESTIONS_MAX)) })
    }

    async fn lookup(&self, host: &str) -> Result<Vec<IpAddr>, ResolveError> {
        // Label by label, because names with underscores and leading hyphens are no host names by the book
        // and websites by the thousand.
        let bare = host.strip_suffix('.').unwrap_or(host);
        let mut name = Name::from_labels(bare.split('.').map(str::as_bytes))
            .map_err(|error| ResolveError { reason: error.to_string() })?;
        // A name with dots is meant as it stands. Search domains would turn a dead link into a
        // question about the local network, and a wildcard there into an answer.
        name.set_fqdn(host.contains('.'));
        let problem = match self.resolver.lookup_ip(name).await {
            Ok(found) => return Ok(found.iter().collect()),
            Err(error) if error.is_nx_domain() => "there is no such name".to_owned(),
            Err(error) if error.is_no_records_found() => "the name has no address".to_owned(),
            Err(error) => {
                if let Some(found) = ask_the_system(host).await {
                    return Ok(found);
                }
                error.to_string()
            }
        };
        Err(ResolveError { reason: problem })
    }
}

/// What the system's own resolver says, which may know ways that are not in its list of name servers.
async fn ask_the_system(host: &str) -> Option<Vec<IpAddr>> {
    let found = tokio::time::timeout(SYSTEM_TIMEOUT, tokio::net::lookup_host((host, 0))).await;
    let addresses: Vec<IpAddr> = found.ok()?.ok()?.map(|address| address.ip()).collect();
    (!addresses.is_empty()).then_some(addresses)
}

impl fmt::Debug for SystemResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SystemResolver").finish_non_exhaustive()
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, Result<Vec<SocketAddr>, ResolveError>> {
        async move {
            // Nobody closes it, so there is always a place to come.
            let _place = self.places.acquire().await;
            let found = self.lookup(host).await?;
            Ok(found.into_iter().map(|address| SocketAddr::new(address, port)).collect())
        }
        .boxed()
    }
}

/// `PATTERN=ADDRESS[:PORT]`: hosts that match are at that address, and at that port if one is given.
///
/// A pattern is a host as it stands in URLs, `*.suffix` for every name below the suffix, or `*` for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolveRule {
    pattern: HostPattern,
    address: IpAddr,
    port: Option<u16>,
}

/// Why a text is not a [`ResolveRule`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a resolve rule: {reason}; write PATTERN=ADDRESS or PATTERN=ADDRESS:PORT")]
pub struct ResolveRuleError {
    /// What was given.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

impl ResolveRule {
    /// Where the rule sends connections to `host` (in the form it has in a normalised URL).
    pub fn apply(&self, host: &str, port: u16) -> Option<SocketAddr> {
        let matches = self.pattern.matches(host);
        matches.then(|| SocketAddr::new(self.address, self.port.unwrap_or(port)))
    }
}

impl FromStr for ResolveRule {
    type Err = ResolveRuleError;

    fn from_str(text: &str) -> Result<Self, ResolveRuleError> {
        let problem = |reason: String| ResolveRuleError { text: text.to_owned(), reason };
        let (pattern, target) = text.split_once('=').ok_or_else(|| problem("there is no `=`".to_owned()))?;
        let pattern = pattern.parse().map_err(problem)?;
        let target = target.trim();
        let (address, port) = if let Ok(socket) = target.parse::<SocketAddr>() {
            (socket.ip(), Some(socket.port()))
        } else {
            let bare = target.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(target);
            let address = bare.parse().map_err(|_| problem(format!("`{target}` is not an address")))?;
            (address, None)
        };
        if port == Some(0) {
            return Err(problem("port 0 cannot be connected to".to_owned()));
        }
        Ok(Self { pattern, address, port })
    }
}

impl fmt::Display for ResolveRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}=", self.pattern)?;
        match self.port {
            Some(port) => write!(f, "{}", SocketAddr::new(self.address, port)),
            None => write!(f, "{}", self.address),
        }
    }
}

/// Rules first, then literal addresses, then the resolver.
#[derive(Debug)]
pub(crate) struct RuledResolver {
    pub rules: Vec<ResolveRule>,
    pub inner: Arc<dyn Resolve>,
}

impl RuledResolver {
    /// The addresses of a URL's host, none of them judged yet.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
        if let Some(address) = self.rules.iter().find_map(|rule| rule.apply(host, port)) {
            return Ok(vec![address]);
        }
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = bare.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(address, port)]);
        }
        let addresses = self.inner.resolve(host, port).await?;
        if addresses.is_empty() {
            return Err(ResolveError { reason: "the name has no address".to_owned() });
        }
        Ok(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_say_where_a_host_is() {
        for (rule, host, expected) in [
            ("a.example=10.0.0.1", "a.example", Some("10.0.0.1:80")),
            ("a.example=10.0.0.1", "b.a.example", None),
            ("a.example=10.0.0.1", "a.example.", Some("10.0.0.1:80")),
            ("A.Example.=10.0.0.1:8080", "a.example", Some("10.0.0.1:8080")),
            ("bücher.example=10.0.0.1", "xn--bcher-kva.example", Some("10.0.0.1:80")),
            ("*.example=10.0.0.1:81", "x.y.example", Some("10.0.0.1:81")),
            ("*.example=10.0.0.1:81", "example", None),
            ("*.example=10.0.0.1:81", "notexample", None),
            ("*=::1", "anything", Some("[::1]:80")),
            ("*=[::1]:8080", "anything", Some("[::1]:8080")),
            ("*=[::1]", "anything", Some("[::1]:80")),
            ("*=127.0.0.1:9", "8.8.8.8", Some("127.0.0.1:9")),
            ("[::1]=127.0.0.1", "[::1]", Some("127.0.0.1:80")),
        ] {
            let parsed: ResolveRule = rule.parse().unwrap();
            let expected = expected.map(|text| text.parse::<SocketAddr>().unwrap());
            assert_eq!(parsed.apply(host, 80), expected, "{rule} for {host}");
            assert_eq!(parsed.to_string().parse::<ResolveRule>().unwrap(), parsed, "{rule}");
        }
    }

    #[test]
    fn what_is_no_rule_says_why() {
        for (text, expected) in [
            ("", "there is no `=`"),
            ("a.example", "there is no `=`"),
            ("a.example=", "`` is not an address"),
            ("a.example=b.example", "`b.example` is not an address"),
            ("a.example=1.2.3.4:", "is not an address"),
            ("a.example=1.2.3.4:99999", "is not an address"),
            ("a.example=1.2.3.4:0", "port 0"),
            ("=1.2.3.4", "is not a host"),
            ("a b=1.2.3.4", "is not a host"),
        ] {
            let problem = text.parse::<ResolveRule>().unwrap_err().to_string();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[tokio::test]
    async fn localhost_needs_no_name_server() {
        let addresses = SystemResolver::new().unwrap().resolve("localhost", 81).await.unwrap();
        assert!(addresses.iter().any(|address| address.to_string() == "127.0.0.1:81"), "{addresses:?}");
        assert!(addresses.iter().all(|address| address.ip().is_loopback()), "{addresses:?}");
    }

    #[tokio::test]
    async fn unusual_names_are_asked_about() {
        let resolver = SystemResolver::new().unwrap();
        // Nobody answers for `.invalid`, but all of them get as far as being asked about.
        for host in ["my_shop.invalid", "_.invalid", "-dash-.invalid", "nowhere.invalid."] {
            let reason = resolver.resolve(host, 80).await.unwrap_err().reason;
            assert_eq!(reason, "there is no such name", "{host}");
        }
        for host in ["", ".", "a..invalid", &format!("{}.invalid", "a".repeat(64))] {
            assert!(resolver.resolve(host, 80).await.is_err(), "{host}");
        }
    }

    #[tokio::test]
    async fn literal_addresses_are_not_asked_about() {
        #[derive(Debug)]
        struct Never;
        impl Resolve for Never {
            fn resolve<'a>(
                &'a self,
                host: &'a str,
                _: u16,
            ) -> BoxFuture<'a, Result<Vec<SocketAddr>, ResolveError>> {
                unreachable!("asked for {host}")
            }
        }
        let resolver = RuledResolver { rules: Vec::new(), inner: Arc::new(Never) };
        for (host, expected) in [("192.0.2.1", "192.0.2.1:80"), ("[2001:db8::1]", "[2001:db8::1]:80")] {
            assert_eq!(resolver.resolve(host, 80).await.unwrap(), [expected.parse::<SocketAddr>().unwrap()]);
        }
    }
}
