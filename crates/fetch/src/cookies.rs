//! Cookies, for the crawls that want them: what hosts set is sent back to them (RFC 6265), for as long as the process runs.
//!
//! In: the `Set-Cookie` fields of answers. Out: the `Cookie` field of later requests. A cookie goes to no host outside of the pay-level
//! domain that set it. Nothing is written to disk, and the jar is bounded: so many domains, so many cookies of each, so long ones.
//! Start at [`CookieJar`].

use std::collections::HashMap;
use std::time::Duration;

use http::header::{COOKIE, HeaderMap, HeaderValue, SET_COOKIE};
use jiff::Timestamp;
use parking_lot::Mutex;
use webloom_model::PageUrl;
use webloom_model::url::pay_level_domain;

/// Domains whose cookies are kept. Beyond, half of them are forgotten.
const DOMAINS_MAX: usize = 20_000;
/// Cookies of one domain; the oldest makes room.
const COOKIES_MAX: usize = 50;
/// Bytes of a cookie's name and value.
const COOKIE_BYTES_MAX: usize = 4096;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    domain: String,
    /// For that very host, and none below it.
    host_only: bool,
    path: String,
    https_only: bool,
    until: Option<Timestamp>,
}

/// What hosts set, by pay-level domain.
#[derive(Debug, Default)]
pub(crate) struct CookieJar {
    domains: Mutex<HashMap<String, Vec<Cookie>>>,
}

impl CookieJar {
    /// Keeps what an answer sets.
    pub fn learn(&self, url: &PageUrl, headers: &HeaderMap, now: Timestamp) {
        let fields = headers.get_all(SET_COOKIE).iter();
        for cookie in
            fields.filter_map(|field| Cookie::parse(url, &String::from_utf8_lossy(field.as_bytes()), now))
        {
            self.keep(owner_of(url.host()), cookie, now);
        }
    }

    fn keep(&self, domain: &str, cookie: Cookie, now: Timestamp) {
        let mut domains = self.domains.lock();
        if domains.len() >= DOMAINS_MAX && !domains.contains_key(domain) {
            let mut keeps = false;
            domains.retain(|_, _| {
                keeps = !keeps;
                keeps
            });
        }
        let cookies = domains.entry(domain.to_owned()).or_default();
        cookies.retain(|known| !known.is_replaced_by(&cookie) && known.is_fresh(now));
        // A cookie that is over already is how one is taken back.
        if cookie.is_fresh(now) {
            if cookies.len() >= COOKIES_MAX {
                cookies.remove(0);
            }
            cookies.push(cookie);
        }
        if cookies.is_empty() {
            domains.remove(domain);
        }
    }

    /// Adds what the host is to be sent, unless the request says something of its own.
    pub fn add(&self, url: &PageUrl, headers: &mut HeaderMap, now: Timestamp) {
        if headers.contains_key(COOKIE) {
            return;
        }
        let domains = self.domains.lock();
        let Some(cookies) = domains.get(owner_of(url.host())) else { return };
        let mut sent: Vec<&Cookie> =
            cookies.iter().filter(|cookie| cookie.is_fresh(now) && cookie.is_for(url)).collect();
        // Those of longer paths first; among equals those set earlier.
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> =
            sent.iter().map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        if let (false, Ok(mut value)) = (pairs.is_empty(), HeaderValue::from_str(&pairs.join("; "))) {
            value.set_sensitive(true);
            headers.insert(COOKIE, value);
        }
    }
}

impl Cookie {
    /// Reads a `Set-Cookie` field. Nothing when it is none, or when it is for somebody else.
    fn parse(url: &PageUrl, field: &str, now: Timestamp) -> Option<Self> {
        let mut parts = field.split(';');
        let (name, value) = parts.next()?.split_once('=')?;
        let (name, value) = (name.trim(), value.trim());
        let is_sendable = |text: &str| text.bytes().all(|byte| byte == b'\t' || (b' '..0x7f).contains(&byte));
        if name.is_empty()
            || name.len() + value.len() > COOKIE_BYTES_MAX
            || !is_sendable(name)
            || !is_sendable(value)
        {
            return None;
        }
        let host = url.host();
        let path = url.path_and_query().split('?').next().unwrap_or("/");
        let mut cookie = Self {
            name: name.to_owned(),
            value: value.to_owned(),
            domain: host.to_owned(),
            host_only: true,
            path: path.rfind('/').filter(|&end| end > 0).map_or("/", |end| &path[..end]).to_owned(),
            https_only: false,
            until: None,
        };
        let mut has_age = false;
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let value = value.trim();
            match name.trim().to_ascii_lowercase().as_str() {
                "domain" if !value.is_empty() => {
                    let domain = value.trim_start_matches('.').to_ascii_lowercase();
                    let owner = owner_of(host);
                    if !is_below(host, &domain) || domain.len() < owner.len() {
                        return None;
                    }
                    cookie.host_only = is_address(host);
                    cookie.domain = domain;
                }
                "path" if value.starts_with('/') => value.clone_into(&mut cookie.path),
                "secure" => cookie.https_only = true,
                // An age outranks a date, wherever they stand.
                "max-age" => {
                    if let Ok(seconds) = value.parse::<i64>() {
                        has_age = true;
                        let age = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
                        cookie.until = Some(now.checked_add(age).unwrap_or(Timestamp::MAX));
                    }
                }
                "expires" if !has_age => cookie.until = date(value).or(cookie.until),
                _ => {}
            }
        }
        Some(cookie)
    }

    fn is_replaced_by(&self, other: &Self) -> bool {
        self.name == other.name && self.domain == other.domain && self.path == other.path
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        self.until.is_none_or(|until| until > now)
    }

    fn is_for(&self, url: &PageUrl) -> bool {
        let host = url.host();
        let path = url.path_and_query().split('?').next().unwrap_or("/");
        let is_of_host = if self.host_only { host == self.domain } else { is_below(host, &self.domain) };
        let is_of_path = path
            .strip_prefix(self.path.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || self.path.ends_with('/'));
        is_of_host && is_of_path && (url.is_https() || !self.https_only)
    }
}

/// All that may share cookies with a host: its pay-level domain, or an address alone.
fn owner_of(host: &str) -> &str {
    if is_address(host) { host } else { pay_level_domain(host) }
}

fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<std::net::Ipv4Addr>().is_ok()
}

/// Whether a host is that domain or within it.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// A date as servers write it, hyphens included.
fn date(text: &str) -> Option<Timestamp> {
    let parsed =
        httpdate::parse_http_date(text).or_else(|_| httpdate::parse_http_date(&text.replace('-', " ")));
    Timestamp::try_from(parsed.ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> PageUrl {
        PageUrl::parse(text).unwrap()
    }

    fn now() -> Timestamp {
        "2026-11-17T12:00:00Z".parse().unwrap()
    }

    /// What is sent to `asked` after `set` answered with those fields.
    fn sent(set: &str, fields: &[&str], asked: &str) -> String {
        let jar = CookieJar::default();
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(SET_COOKIE, HeaderValue::from_str(field).unwrap());
        }
        jar.learn(&url(set), &headers, now());
        let mut headers = HeaderMap::new();
        jar.add(&url(asked), &mut headers, now());
        headers.get(COOKIE).map_or(String::new(), |value| value.to_str().unwrap().to_owned())
    }

    #[test]
    fn cookies_go_back_where_they_belong() {
        for (set, field, asked, expected) in [
            ("https://a.example/", "id=1", "https://a.example/x?y", "id=1"),
            ("https://a.example/", "id=1", "https://b.a.example/", ""),
            ("https://www.a.example/", "id=1; Domain=.A.example", "https://b.a.example/", "id=1"),
            ("https://www.a.example/", "id=1; domain=a.example", "https://b.example/", ""),
            ("https://www.a.example/", "id=1; domain=b.example", "https://b.example/", ""),
            ("https://www.a.co.uk/", "id=1; domain=co.uk", "https://www.a.co.uk/", ""),
            ("https://xa.example/", "id=1; domain=a.example", "https://a.example/", ""),
            ("https://a.example/", "id=1; Secure", "http://a.example/", ""),
            ("https://a.example/", "id=1; Secure; HttpOnly; SameSite=Lax", "https://a.example/", "id=1"),
            ("https://a.example/shop/cart", "id=1", "https://a.example/shop/x", "id=1"),
            ("https://a.example/shop/cart", "id=1", "https://a.example/shopping", ""),
            ("https://a.example/shop/cart", "id=1; Path=/", "https://a.example/shopping", "id=1"),
            ("https://a.example/", "id=1; Path=nowhere", "https://a.example/x", "id=1"),
            ("https://a.example/", "id=1; Max-Age=0", "https://a.example/", ""),
            (
                "https://a.example/",
                "id=1; Max-Age=-5; Expires=Wed, 18 Nov 2026 12:00:00 GMT",
                "https://a.example/",
                "",
            ),
            (
                "https://a.example/",
                "id=1; Max-Age=60; Expires=Wed, 18 Nov 2015 12:00:00 GMT",
                "https://a.example/",
                "id=1",
            ),
            (
                "https://a.example/",
                "id=1; expires=Wed, 18-Nov-2026 12:00:00 GMT",
                "https://a.example/",
                "id=1",
            ),
            ("https://a.example/", "id=1; expires=Mon, 16-Nov-2026 12:00:00 GMT", "https://a.example/", ""),
            ("https://a.example/", "id=1; expires=soon", "https://a.example/", "id=1"),
            ("https://a.example/", "id = \"a b\" ", "https://a.example/", "id=\"a b\""),
            ("https://a.example/", "=1", "https://a.example/", ""),
            ("https://a.example/", "nothing", "https://a.example/", ""),
            ("http://127.0.0.1/", "id=1; Domain=127.0.0.1", "http://127.0.0.1/", "id=1"),
            ("http://127.0.0.1/", "id=1; Domain=0.0.1", "http://1.0.0.1/", ""),
        ] {
            assert_eq!(sent(set, &[field], asked), expected, "{field} from {set} for {asked}");
        }
    }

    #[test]
    fn later_cookies_replace_and_take_back_earlier_ones() {
        let home = "https://a.example/";
        assert_eq!(sent(home, &["id=1", "id=2", "b=3"], home), "id=2; b=3");
        assert_eq!(sent(home, &["id=1", "b=3", "id=; Max-Age=0"], home), "b=3");
        assert_eq!(sent(home, &["a=1", "b=2; Path=/x"], "https://a.example/x/y"), "b=2; a=1");
    }

    #[test]
    fn the_jar_is_bounded() {
        let jar = CookieJar::default();
        let cookie =
            |name: usize| Cookie::parse(&url("https://a.example/"), &format!("c{name}=1"), now()).unwrap();
        for number in 0..DOMAINS_MAX * 2 {
            jar.keep(&format!("d{number}.example"), cookie(0), now());
        }
        for number in 0..COOKIES_MAX * 2 {
            jar.keep("a.example", cookie(number), now());
        }
        let domains = jar.domains.lock();
        assert!(domains.len() <= DOMAINS_MAX && domains["a.example"].len() == COOKIES_MAX);
        let long = format!("c={}", "x".repeat(COOKIE_BYTES_MAX));
        assert_eq!(Cookie::parse(&url("https://a.example/"), &long, now()), None);
    }

    #[test]
    fn what_the_request_says_itself_stays() {
        let jar = CookieJar::default();
        jar.keep("a.example", Cookie::parse(&url("https://a.example/"), "id=1", now()).unwrap(), now());
        let mut headers = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("mine=1"))]);
        jar.add(&url("https://a.example/"), &mut headers, now());
        assert_eq!(headers[COOKIE], "mine=1");
    }
}
