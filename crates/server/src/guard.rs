//! Who may ask for what: the checks that every request passes before its handler sees it.
//!
//! In order: how often an address asks; which name it asks for (a page that makes its own name resolve to this machine is
//! refused); whether reading needs the token; for control also where the request comes from and the token itself. On the way
//! out, every answer gets the header fields that keep browsers from doing more with it than meant. Start at [`guard`];
//! control routes add [`require_token`].

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use parking_lot::Mutex;

use crate::app::Shared;
use crate::config::CrossOrigin;
use crate::error::ApiError;
use crate::listen::Peer;
use crate::ui;

/// What our own pages may do: load from here, nothing else.
pub const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; frame-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; \
    frame-ancestors 'none'";

/// What an archived page may do: be shown in our own frame, without scripts, forms, or anything from elsewhere.
pub const ARCHIVE_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// The cookie that carries the token for what cannot send a header field: event streams and frames.
pub const COOKIE: &str = "webloom-token";

/// The header field that a request with the cookie needs to change something: a form of another site cannot send it.
pub const CUSTOM_HEADER: &str = "x-webloom";

/// Addresses that are remembered for their rate.
const ADDRESSES_MAX: usize = 10_000;

/// The first check, around everything.
pub async fn guard(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let cross_origin = is_cross_origin_path(&path).then(|| allowed_origin(&app, request.headers())).flatten();
    let preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match admit(&app, &request) {
        Err(refused) => refused.into_response(),
        Ok(()) if preflight && cross_origin.is_some() => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => next.run(request).await,
    };
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(header::CACHE_CONTROL, "no-store");
    if let Some(origin) = cross_origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
        for (name, value) in [
            (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, HEAD, POST, PUT, DELETE, OPTIONS"),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, "Accept, Authorization, Content-Type, Webloom-Timeout"),
            (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Content-Type, Location"),
            (header::ACCESS_CONTROL_MAX_AGE, "3600"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    } else {
        headers.insert(
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        );
    }
    response
}

fn admit(app: &Shared, request: &Request) -> Result<(), ApiError> {
    if let Some(Peer(peer)) = request.extensions().get::<Peer>()
        && !app.rates.admits(peer.ip(), app.limits().requests_per_second, app.limits().requests_burst)
    {
        return Err(ApiError::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too-many-requests",
            "too many requests from this address",
        ));
    }
    check_host(app, request)?;
    let path = request.uri().path();
    if app.checked.reading_needs_token && path != "/api/session" && !ui::is_public(path) {
        authenticate(app, request.headers(), false)?;
    }
    Ok(())
}

/// The check around what changes something.
pub async fn require_token(State(app): State<Shared>, request: Request, next: Next) -> Response {
    match may_control(&app, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused.into_response(),
    }
}

/// Whether a request may change something: the token, and not from a page of somebody else's.
pub fn may_control(app: &Shared, headers: &HeaderMap) -> Result<(), ApiError> {
    check_origin(headers)?;
    authenticate(app, headers, true)
}

/// Looks for the token: in the `Authorization` field, or in our cookie. To change something, the cookie alone is not enough.
fn authenticate(app: &Shared, headers: &HeaderMap, change: bool) -> Result<(), ApiError> {
    let token = &app.checked.token;
    let unauthorized = |message: &str| {
        ApiError::new(StatusCode::UNAUTHORIZED, "token-needed", message)
            .hint("send `Authorization: Bearer TOKEN`; the server printed the token when it started")
    };
    if let Some(field) = headers.get(header::AUTHORIZATION) {
        let given = field.to_str().ok().and_then(|text| {
            let (scheme, rest) = text.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| rest.trim())
        });
        return match given {
            Some(given) if token.matches(given) => Ok(()),
            Some(_) => Err(unauthorized("this is not the token")),
            None => Err(unauthorized("the Authorization field is not `Bearer TOKEN`")),
        };
    }
    let cookie = headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|field| field.to_str().ok())
        .flat_map(|field| field.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .any(|(name, value)| name == COOKIE && token.matches(value));
    match cookie {
        true if !change || headers.contains_key(CUSTOM_HEADER) => Ok(()),
        true => Err(unauthorized("a request with the cookie also needs the header field X-Webloom")),
        false => Err(unauthorized("this needs the token")),
    }
}

/// A browser says from whose page a request comes. Another's must not control us.
fn check_origin(headers: &HeaderMap) -> Result<(), ApiError> {
    let refused = || {
        ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign-origin",
            "a page of another site must not control this server",
        )
    };
    if headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site") {
        return Err(refused());
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let origin = origin.to_str().unwrap_or_default();
    let same = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"))
        .is_some_and(|authority| authority.eq_ignore_ascii_case(host));
    if same { Ok(()) } else { Err(refused()) }
}

/// The name that is asked for must be one of ours.
fn check_host(app: &Shared, request: &Request) -> Result<(), ApiError> {
    let refused = |host: &str| {
        ApiError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "unknown-host",
            format!("this server is not known as `{}`", host.chars().take(100).collect::<String>()),
        )
        .hint("ask by address, or start the server with --host-name NAME")
    };
    let mut fields = request.headers().get_all(header::HOST).iter();
    let field = match (fields.next(), fields.next()) {
        (Some(field), None) => field.to_str().unwrap_or_default(),
        (None, None) => request.uri().authority().map(http::uri::Authority::as_str).unwrap_or_default(),
        _ => return Err(ApiError::bad_request("more than one Host field")),
    };
    if is_our_name(field, &app.checked.config.host_names) { Ok(()) } else { Err(refused(field)) }
}

/// Addresses are always ours: whoever resolves a name cannot make a browser ask for an address under it.
fn is_our_name(authority: &str, names: &[String]) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => {
            let Some((address, port)) = rest.split_once(']') else { return false };
            return address.parse::<std::net::Ipv6Addr>().is_ok() && is_port(port);
        }
        None => match authority.split_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            Some(_) => return false,
            None => authority,
        },
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host.parse::<std::net::Ipv4Addr>().is_ok()
        || host == "localhost"
        || host.ends_with(".localhost")
        || (!host.is_empty() && names.contains(&host))
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// What other sites' pages may ask, where that is allowed at all.
fn is_cross_origin_path(path: &str) -> bool {
    ["/sparql", "/store"]
        .iter()
        .any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// What to answer in `Access-Control-Allow-Origin`.
fn allowed_origin(app: &Shared, headers: &HeaderMap) -> Option<HeaderValue> {
    match &app.checked.config.cross_origin {
        CrossOrigin::Any => Some(HeaderValue::from_static("*")),
        CrossOrigin::Nobody => None,
        CrossOrigin::These(origins) => {
            let origin = headers.get(header::ORIGIN)?;
            origins.iter().any(|known| known.as_bytes() == origin.as_bytes()).then(|| origin.clone())
        }
    }
}

/// How often each address asks: a bucket that fills with time and is emptied by requests.
#[derive(Debug, Default)]
pub struct Rates(Mutex<HashMap<IpAddr, (f64, Instant)>>);

impl Rates {
    /// Counts a request, or refuses it.
    pub fn admits(&self, address: IpAddr, per_second: f64, burst: f64) -> bool {
        self.admits_at(address, per_second, burst, Instant::now())
    }

    fn admits_at(&self, address: IpAddr, per_second: f64, burst: f64, now: Instant) -> bool {
        let mut buckets = self.0.lock();
        if buckets.len() >= ADDRESSES_MAX && !buckets.contains_key(&address) {
            // Those that have been quiet long enough to be full again need not be remembered.
            buckets.retain(|_, (level, then)| {
                *level + now.duration_since(*then).as_secs_f64() * per_second < burst
            });
            if buckets.len() >= ADDRESSES_MAX {
                return false;
            }
        }
        let (level, then) = buckets.entry(address).or_insert((burst, now));
        *level = (*level + now.duration_since(*then).as_secs_f64() * per_second).min(burst);
        *then = now;
        let admitted = *level >= 1.0;
        if admitted {
            *level -= 1.0;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn only_addresses_localhost_and_known_names_are_ours() {
        let names = ["crawl.example".to_owned()];
        for (authority, ours) in [
            ("127.0.0.1:7890", true),
            ("127.0.0.1", true),
            ("[::1]:7890", true),
            ("[::1]", true),
            ("localhost:1", true),
            ("LOCALHOST.", true),
            ("demo.localhost:80", true),
            ("crawl.example:443", true),
            ("Crawl.Example", true),
            ("", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("127.0.0.1:80@evil.example", false),
            ("[::1", false),
            ("[evil.example]", false),
            ("[::1]evil", false),
            ("localhost:80:80", false),
        ] {
            assert_eq!(is_our_name(authority, &names), ours, "{authority}");
        }
    }

    #[test]
    fn pages_of_others_must_not_control() {
        let headers = |fields: &[(&'static str, &'static str)]| {
            let fields = fields
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
            fields.collect::<HeaderMap>()
        };
        let host = ("host", "127.0.0.1:7890");
        assert!(check_origin(&headers(&[host])).is_ok());
        assert!(check_origin(&headers(&[host, ("origin", "http://127.0.0.1:7890")])).is_ok());
        assert!(check_origin(&headers(&[host, ("origin", "http://127.0.0.1:9999")])).is_err());
        assert!(check_origin(&headers(&[host, ("origin", "http://evil.example")])).is_err());
        assert!(check_origin(&headers(&[host, ("origin", "null")])).is_err());
        assert!(check_origin(&headers(&[host, ("sec-fetch-site", "cross-site")])).is_err());
        assert!(check_origin(&headers(&[host, ("sec-fetch-site", "same-origin")])).is_ok());
    }

    #[test]
    fn an_address_has_a_burst_and_then_a_rate() {
        let rates = Rates::default();
        let address = IpAddr::from([127, 0, 0, 1]);
        let start = Instant::now();
        let admitted = (0..20).filter(|_| rates.admits_at(address, 2.0, 10.0, start)).count();
        assert_eq!(admitted, 10);
        assert!(rates.admits_at(address, 2.0, 10.0, start + Duration::from_secs(1)));
        assert!(rates.admits_at(IpAddr::from([127, 0, 0, 2]), 2.0, 10.0, start));
    }

    #[test]
    fn only_the_protocol_is_open_to_other_origins() {
        for (path, open) in [
            ("/sparql", true),
            ("/sparql/", true),
            ("/store/a", true),
            ("/sparqlx", false),
            ("/api/status", false),
        ] {
            assert_eq!(is_cross_origin_path(path), open, "{path}");
        }
    }
}
