//! SURT keys: URLs turned round and made one of many spellings, so that an index sorted by them keeps a site together.
//!
//! In: any URL an archive may hold. Out: a key such as `org,example)/path?query`, the same that the common indexers
//! write: scheme, `www`, default port, case, session ids and the order of query arguments do not matter.

use url::Host;

/// The key of a URL.
pub fn surt(url: &str) -> String {
    let url: Vec<u8> = url
        .trim_matches(|character: char| character.is_ascii_whitespace() || character == '\u{b}')
        .bytes()
        .filter(|byte| !matches!(byte, b'\n' | b'\r' | b'\t'))
        .collect();
    if url.is_empty() {
        return "-".to_owned();
    }
    if url.starts_with(b"filedesc") {
        return String::from_utf8_lossy(&url).into_owned();
    }
    let parts = Parts::split(&with_one_scheme(url));
    let key = parts.key();
    String::from_utf8(key).unwrap_or_else(|broken| String::from_utf8_lossy(broken.as_bytes()).into_owned())
}

/// Adds `http://` where there is no scheme, and keeps the last of `http://https://`.
fn with_one_scheme(url: Vec<u8>) -> Vec<u8> {
    let mut url = if scheme_length(&url).is_some() { url } else { [b"http://", &url[..]].concat() };
    let mut repeated = 0;
    while let Some(length) = http_length(&url[repeated..]) {
        match http_length(&url[repeated + length..]) {
            Some(_) => repeated += length,
            None => break,
        }
    }
    url.drain(..repeated);
    url
}

fn http_length(url: &[u8]) -> Option<usize> {
    [&b"http://"[..], b"https://"].iter().find(|scheme| url.starts_with(scheme)).map(|scheme| scheme.len())
}

fn scheme_length(url: &[u8]) -> Option<usize> {
    let colon = memchr::memchr(b':', url)?;
    let is_scheme = url[..colon].iter().enumerate().all(|(at, byte)| {
        byte.is_ascii_alphabetic() || at > 0 && (byte.is_ascii_digit() || b"+-.".contains(byte))
    });
    (is_scheme && colon > 0).then_some(colon)
}

#[derive(Debug, Default)]
struct Parts {
    scheme: Vec<u8>,
    host: Option<Vec<u8>>,
    port: Option<u32>,
    path: Vec<u8>,
    query: Option<Vec<u8>>,
}

impl Parts {
    fn split(url: &[u8]) -> Self {
        let colon = scheme_length(url).unwrap_or(0);
        let scheme = url[..colon].to_vec();
        let rest = url.get(colon + 1..).unwrap_or_default();
        let rest = &rest[..memchr::memchr(b'#', rest).unwrap_or(rest.len())];
        let (rest, query) = match memchr::memchr(b'?', rest) {
            Some(at) => (&rest[..at], Some(rest[at + 1..].to_vec())),
            None => (rest, None),
        };
        let query = query.filter(|query| !query.is_empty());
        let mut parts = Self { scheme, query, ..Self::default() };
        let Some(behind) = rest.strip_prefix(b"//") else {
            parts.path = rest.to_vec();
            return parts;
        };
        let slash = memchr::memchr(b'/', behind).unwrap_or(behind.len());
        parts.path = behind[slash..].to_vec();
        parts.take_authority(&behind[..slash]);
        // "http:////example.org/" is meant to have a host all the same.
        if parts.host.is_none() && parts.scheme.starts_with(b"http") && !parts.path.is_empty() {
            let start = parts.path.iter().take_while(|byte| **byte == b'/').count();
            let trimmed = parts.path[start..].to_vec();
            let end = memchr::memchr(b'/', &trimmed).unwrap_or(trimmed.len());
            parts.host = Some(trimmed[..end].to_vec()).filter(|host| !host.is_empty());
            parts.path = [b"/", trimmed.get(end + 1..).unwrap_or_default()].concat();
        }
        parts
    }

    fn take_authority(&mut self, authority: &[u8]) {
        let end = authority.iter().rposition(|byte| *byte != b':').map_or(0, |at| at + 1);
        let authority = &authority[..end];
        let host_port = memchr::memrchr(b'@', authority).map_or(authority, |at| &authority[at + 1..]);
        let (host, port) = match host_port.strip_prefix(b"[") {
            Some(inner) => {
                let end = memchr::memchr(b']', inner).unwrap_or(inner.len());
                let behind = inner.get(end + 1..).unwrap_or_default();
                (&inner[..end], behind.strip_prefix(b":"))
            }
            None => match memchr::memchr(b':', host_port) {
                Some(at) => (&host_port[..at], Some(&host_port[at + 1..])),
                None => (host_port, None),
            },
        };
        self.port =
            port.and_then(|port| std::str::from_utf8(port).ok()?.parse().ok()).filter(|port| *port != 0);
        self.host = Some(host.to_ascii_lowercase()).filter(|host| !host.is_empty());
    }

    fn key(self) -> Vec<u8> {
        let mut key = Vec::new();
        let path = unescape_repeatedly(self.path);
        let path = if self.host.is_some() { normal_path(&path) } else { path };
        let mut path = strip_path_session(escape(&path).to_ascii_lowercase());
        if path.len() > 1 && path.ends_with(b"/") {
            path.pop();
        }
        match self.host {
            None => {
                key.extend_from_slice(&self.scheme);
                key.push(b':');
            }
            Some(host) => {
                let host = normal_host(host);
                let mut labels: Vec<&[u8]> = host.split(|byte| *byte == b'.').collect();
                labels.reverse();
                key.extend_from_slice(&labels.join(&b','));
                let default_port = match self.scheme.to_ascii_lowercase().as_slice() {
                    b"http" => Some(80),
                    b"https" => Some(443),
                    _ => None,
                };
                if let Some(port) = self.port.filter(|port| Some(*port) != default_port) {
                    key.extend_from_slice(format!(":{port}").as_bytes());
                }
                key.push(b')');
            }
        }
        let query = self
            .query
            .map(|query| escape(&unescape_repeatedly(query)))
            .map(|query| ordered(&strip_query_sessions(query).to_ascii_lowercase()))
            .filter(|query| !query.is_empty());
        if path.is_empty() && query.is_some() {
            path.push(b'/');
        }
        key.extend_from_slice(&path);
        if let Some(query) = query {
            key.push(b'?');
            key.extend_from_slice(&query);
        }
        key
    }
}

/// A host in one spelling: names in ASCII, addresses in four numbers, no `www` with or without a number.
fn normal_host(host: Vec<u8>) -> Vec<u8> {
    let mut host = unescape_repeatedly(host);
    if !host.is_ascii() {
        let text: String = String::from_utf8_lossy(&host).chars().filter(|c| *c != '\u{fffd}').collect();
        if let Ok(Host::Domain(name)) = Host::parse(&text) {
            host = name.into_bytes();
        }
    }
    let mut single = Vec::with_capacity(host.len());
    let mut at = 0;
    while at < host.len() {
        single.push(host[at]);
        at += if host[at..].starts_with(b"..") { 2 } else { 1 };
    }
    let first = single.iter().position(|byte| *byte != b'.').unwrap_or(single.len());
    let last = single.iter().rposition(|byte| *byte != b'.').map_or(first, |at| at + 1);
    let host = &single[first..last];
    let host = address(host).unwrap_or_else(|| escape(&host.to_ascii_lowercase()).to_ascii_lowercase());
    match host.strip_prefix(b"www") {
        Some(rest) => {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            rest[digits..].strip_prefix(b".").map(<[u8]>::to_vec).unwrap_or(host)
        }
        None => host,
    }
}

/// Addresses written as one number, or with parts in decimal or octal, as the C library understands them.
fn address(host: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(host).ok()?;
    let dotted = |value: u32| std::net::Ipv4Addr::from(value).to_string().into_bytes();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only the lower four bytes count, however long the number.
        let value = text
            .bytes()
            .fold(0u32, |value, digit| value.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')));
        return Some(dotted(value));
    }
    let parts: Vec<&str> = text.split('.').collect();
    if parts.len() > 4
        || parts.iter().any(|part| part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return None;
    }
    let numbers: Vec<u64> = parts
        .iter()
        .map(|part| match part.strip_prefix('0') {
            Some(octal) if !octal.is_empty() => u64::from_str_radix(octal, 8).ok(),
            _ => part.parse().ok(),
        })
        .collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let room = 8 * (4 - first.len() as u32);
    if first.iter().any(|number| *number > 255) || *last >= 1 << room {
        return None;
    }
    let high = first.iter().enumerate().fold(0u64, |value, (at, number)| value | number << (24 - 8 * at));
    Some(dotted(u32::try_from(high | last).ok()?))
}

/// Without `.`, `..` and doubled slashes.
fn normal_path(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/').skip(1) {
        match part {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            part => kept.push(part),
        }
    }
    let mut normal = vec![b'/'];
    if let Some((last, inner)) = kept.split_last() {
        for part in inner.iter().filter(|part| !part.is_empty()) {
            normal.extend_from_slice(part);
            normal.push(b'/');
        }
        normal.extend_from_slice(last);
    }
    normal
}

fn unescape_repeatedly(mut bytes: Vec<u8>) -> Vec<u8> {
    // Every round makes it shorter, but a hostile URL could want thousands of them; so many nobody means.
    for _ in 0..100 {
        let mut plain = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while at < bytes.len() {
            let digit =
                |offset: usize| bytes.get(at + offset).and_then(|byte| char::from(*byte).to_digit(16));
            if let (b'%', Some(high), Some(low)) = (bytes[at], digit(1), digit(2)) {
                plain.push((high * 16 + low) as u8);
                at += 3;
            } else {
                plain.push(bytes[at]);
                at += 1;
            }
        }
        if plain.len() == bytes.len() {
            break;
        }
        bytes = plain;
    }
    bytes
}

/// Escapes what is not printable ASCII, and `#` and `%`.
fn escape(bytes: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() && byte != b'#' && byte != b'%' {
            escaped.push(byte);
        } else {
            escaped.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    escaped
}

/// Takes out the session ids that ASP.NET puts into paths: `/(S(24 characters))/page.aspx`.
fn strip_path_session(path: Vec<u8>) -> Vec<u8> {
    let is_id = |bytes: &[u8]| bytes.len() >= 24 && bytes[..24].iter().all(u8::is_ascii_alphanumeric);
    let length_of_session = |rest: &[u8]| -> Option<usize> {
        let inner = rest.strip_prefix(b"(")?;
        if is_id(inner) {
            return inner[24..].starts_with(b")/").then_some(27);
        }
        let mut at = 0;
        while inner.get(at).is_some_and(u8::is_ascii_alphabetic)
            && inner.get(at + 1) == Some(&b'(')
            && inner.get(at + 2..).is_some_and(is_id)
            && inner.get(at + 26) == Some(&b')')
        {
            at += 27;
        }
        (at > 0 && inner[at..].starts_with(b")/")).then_some(at + 3)
    };
    let slashes: Vec<usize> = memchr::memchr_iter(b'/', &path).collect();
    for slash in slashes.into_iter().rev() {
        let rest = &path[slash + 1..];
        if let Some(length) = length_of_session(rest) {
            let page = &rest[length..];
            let before_query = &page[..memchr::memchr(b'?', page).unwrap_or(page.len())];
            if memchr::memmem::find(before_query, b".aspx").is_some_and(|at| at > 0) {
                return [&path[..slash + 1], page].concat();
            }
        }
    }
    path
}

/// Takes out the session ids of the common frameworks.
fn strip_query_sessions(query: Vec<u8>) -> Vec<u8> {
    type Length = fn(&[u8]) -> Option<usize>;
    fn run(bytes: &[u8], count: usize, is: fn(&u8) -> bool) -> bool {
        bytes.len() >= count && bytes[..count].iter().all(is)
    }
    fn named(bytes: &[u8], name: &[u8]) -> Option<usize> {
        (bytes.get(..name.len())?.eq_ignore_ascii_case(name)
            && run(&bytes[name.len()..], 32, u8::is_ascii_alphanumeric))
        .then_some(name.len() + 32)
    }
    let kinds: [Length; 5] = [
        |bytes| named(bytes, b"jsessionid="),
        |bytes| named(bytes, b"phpsessid="),
        |bytes| named(bytes, b"sid="),
        |bytes| {
            let is = bytes.get(..12)?.eq_ignore_ascii_case(b"aspsessionid")
                && run(&bytes[12..], 8, u8::is_ascii_alphabetic)
                && bytes.get(20) == Some(&b'=')
                && run(&bytes[21..], 24, u8::is_ascii_alphabetic);
            is.then_some(45)
        },
        |bytes| {
            let value = |bytes: &[u8]| memchr::memchr(b'&', bytes).unwrap_or(bytes.len());
            let first = bytes.get(..5)?.eq_ignore_ascii_case(b"cfid=").then(|| 5 + value(&bytes[5..]))?;
            let token = bytes.get(first + 1..)?;
            let is = first > 5 && token.get(..8)?.eq_ignore_ascii_case(b"cftoken=") && value(&token[8..]) > 0;
            is.then(|| first + 9 + value(&token[8..]))
        },
    ];
    let mut query = query;
    for length_at in kinds {
        let found = (0..query.len()).rev().find_map(|at| {
            let length = length_at(&query[at..])?;
            matches!(query.get(at + length), None | Some(b'&')).then_some((at, length))
        });
        if let Some((at, length)) = found {
            let rest = query.get(at + length + 1..).unwrap_or_default().to_vec();
            query.truncate(at);
            query.extend_from_slice(&rest);
        }
    }
    query
}

/// Arguments in the order of their names, then values.
fn ordered(query: &[u8]) -> Vec<u8> {
    let mut arguments: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|byte| *byte == b'&')
        .map(|argument| match memchr::memchr(b'=', argument) {
            Some(at) => (&argument[..at], Some(&argument[at + 1..])),
            None => (argument, None),
        })
        .collect();
    arguments.sort_unstable();
    let arguments: Vec<Vec<u8>> = arguments
        .into_iter()
        .map(|(name, value)| match value {
            Some(value) => [name, b"=", value].concat(),
            None => name.to_vec(),
        })
        .collect();
    arguments.join(&b'&')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys() {
        for (url, key) in [
            ("http://example.org/", "org,example)/"),
            ("https://www.Example.org", "org,example)/"),
            ("http://www2.example.org:80/A/B/", "org,example)/a/b"),
            ("http://user:pass@example.org:8080/x?b=2&a=1#part", "org,example:8080)/x?a=1&b=2"),
            ("https://example.org:443/?", "org,example)/"),
            ("http://example.org?example=1", "org,example)/?example=1"),
            ("http://example.org/a/./b/../c//d", "org,example)/a/c/d"),
            ("http://example.org/caf%C3%A9?q=%2541", "org,example)/caf%c3%a9?q=a"),
            ("http://example.org/\u{e9} x", "org,example)/%c3%a9%20x"),
            ("http://b\u{fc}cher.example/", "example,xn--bcher-kva)/"),
            ("http://3279880203/blah", "11,0,127,195)/blah"),
            ("http://1.2/", "2,0,0,1)/"),
            ("http://0x7f.1/", "1,0x7f)/"),
            ("http://[::1]:8080/", "::1:8080)/"),
            ("http://https://example.org/", "org,example)/"),
            ("http:////example.org/a", "org,example)/a"),
            ("example.org/a", "org,example)/a"),
            ("dns:www.example.org", "dns:www.example.org"),
            ("urn:X:y", "urn:x:y"),
            (
                "metadata://gnu.org/software/wget/warc/MANIFEST.txt",
                "org,gnu)/software/wget/warc/manifest.txt",
            ),
            ("filedesc://a.arc", "filedesc://a.arc"),
            ("", "-"),
            ("http://a.example/?jsessionid=0123456789abcdefghijklemopqrstuv&x=1", "example,a)/?x=1"),
            ("http://a.example/?x=1&PHPSESSID=0123456789abcdefghijklemopqrstuv", "example,a)/?&x=1"),
            ("http://a.example/(S(4hqa0555fwsecu455xqckv45))/mile.aspx", "example,a)/mile.aspx"),
            ("http://a.example/?CFID=1169580&CFTOKEN=48630702", "example,a)/"),
            ("http://a.example/?cfid=&cftoken=1", "example,a)/?cfid=&cftoken=1"),
        ] {
            assert_eq!(surt(url), key, "{url}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_key(url in "\\PC{0,60}") {
            prop_assert!(!surt(&url).is_empty());
        }

        #[test]
        fn a_key_does_not_depend_on_scheme_or_case(path in "[a-zA-Z0-9/._-]{0,20}", query in "[a-z0-9=&]{0,20}") {
            let key = surt(&format!("http://example.org/{path}?{query}"));
            prop_assert_eq!(&key, &surt(&format!("https://WWW.example.org:443/{path}?{query}")));
        }
    }
}
