//! What header fields mean: where a redirect points, when to come again, and the fields as text.

use std::time::{Duration, SystemTime};

use http::header::{CONTENT_RANGE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use jiff::Timestamp;
use webloom_model::PageUrl;

/// Pauses longer than this are no pauses. Also keeps sums of time from overflowing in whoever adds them up.
pub(crate) const PAUSE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A field value as text: UTF-8 if it is that, Latin-1 otherwise, as it was defined once.
pub(crate) fn text(value: &HeaderValue) -> String {
    match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.to_owned(),
        Err(_) => value.as_bytes().iter().copied().map(char::from).collect(),
    }
}

/// All fields, names in lower case.
pub(crate) fn all(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

/// All values of one field.
pub(crate) fn values(headers: &HeaderMap, name: &HeaderName) -> Vec<String> {
    headers.get_all(name).iter().map(text).collect()
}

/// Whether what a `206` says it holds is all that there is: `bytes 0-99/100`.
pub(crate) fn is_all_of_it(headers: &HeaderMap) -> bool {
    let range = || {
        let text = headers.get(CONTENT_RANGE)?.to_str().ok()?.trim();
        let (range, total) = text.strip_prefix("bytes")?.trim().split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        Some(number(first)? == 0 && number(last)?.checked_add(1)? == number(total)?)
    };
    range().unwrap_or(false)
}

/// Where a redirect points, or what is wrong with it.
pub(crate) fn redirect_target(url: &PageUrl, headers: &HeaderMap) -> Result<PageUrl, String> {
    redirect_to(url, headers.get_all(LOCATION).iter().map(HeaderValue::as_bytes))
}

/// Where a redirect with these `Location`s points, or what is wrong with it.
pub fn redirect_to<'a>(
    url: &PageUrl,
    mut locations: impl Iterator<Item = &'a [u8]>,
) -> Result<PageUrl, String> {
    let location = locations.next().ok_or_else(|| "there is no Location".to_owned())?;
    if locations.any(|other| other != location) {
        return Err("there are several Locations".to_owned());
    }
    url.join(&reference(location)).map_err(|problem| problem.to_string())
}

/// The bytes of a Location as a URL reference. UTF-8 stays, for names in all scripts; bytes of other
/// encodings are escaped as they are, because that is what their server wants to see again.
fn reference(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut escaped = String::with_capacity(bytes.len() + 16);
    for &byte in bytes {
        if byte.is_ascii() {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// The server's wish when to be asked again: seconds, or a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = text(headers.get(RETRY_AFTER)?);
    let value = value.trim();
    let pause = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a long time, too.
        value.parse().map_or(PAUSE_MAX, Duration::from_secs)
    } else {
        let date = httpdate::parse_http_date(value).ok()?;
        date.duration_since(SystemTime::from(now)).unwrap_or(Duration::ZERO)
    };
    Some(pause.min(PAUSE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &HeaderName, values: &[&[u8]]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), HeaderValue::from_bytes(value).unwrap())).collect()
    }

    #[test]
    fn redirect_targets() {
        let url = PageUrl::parse("http://example.org/dir/page?q=1").unwrap();
        for (locations, expected) in [
            (&[&b"/next"[..]][..], Ok("http://example.org/next")),
            (&[b"next"], Ok("http://example.org/dir/next")),
            (&[b"?q=2"], Ok("http://example.org/dir/page?q=2")),
            (&[b"//other.example/x"], Ok("http://other.example/x")),
            (&[b"https://example.org/dir/page?q=1"], Ok("https://example.org/dir/page?q=1")),
            (&[b"HTTP://Example.ORG:80/A#part"], Ok("http://example.org/A")),
            (&[b"  /with space  "], Ok("http://example.org/with%20space")),
            (&["/caf\u{e9}".as_bytes()], Ok("http://example.org/caf%C3%A9")),
            (&[b"/caf\xe9"], Ok("http://example.org/caf%E9")),
            (&["http://b\u{fc}cher.example/".as_bytes()], Ok("http://xn--bcher-kva.example/")),
            (&[b"\\back\\slash"], Ok("http://example.org/back/slash")),
            (&[b""], Ok("http://example.org/dir/page?q=1")),
            (&[b"/a", b"/a"], Ok("http://example.org/a")),
            (&[b"/a", b"/b"], Err("several Locations")),
            (&[], Err("no Location")),
            (&[b"mailto:a@b.example"], Err("scheme is `mailto`")),
            (&[b"file:///etc/passwd"], Err("scheme is `file`")),
            (&[b"javascript:alert(1)"], Err("scheme is `javascript`")),
            (&[b"http://"], Err("is not a URL")),
            (&[b"http://[::1"], Err("is not a URL")),
        ] {
            let target = redirect_target(&url, &headers(&LOCATION, locations));
            match (target, expected) {
                (Ok(target), Ok(expected)) => assert_eq!(target.as_str(), expected),
                (Err(reason), Err(expected)) => assert!(reason.contains(expected), "{reason}"),
                (target, expected) => panic!("{locations:?}: {target:?} is not {expected:?}"),
            }
        }
    }

    #[test]
    fn retry_after_forms() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (value, expected) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("Sun, 15 Nov 2026 12:01:40 GMT", Some(100)),
            ("Sunday, 15-Nov-26 12:01:40 GMT", Some(100)),
            ("Sun Nov 15 12:01:40 2026", Some(100)),
            ("Sun, 15 Nov 2026 11:00:00 GMT", Some(0)),
            ("99999999999999999999999", Some(PAUSE_MAX.as_secs())),
            ("Sun, 15 Nov 2099 12:00:00 GMT", Some(PAUSE_MAX.as_secs())),
            ("", None),
            ("-5", None),
            ("soon", None),
            ("1.5", None),
        ] {
            let found = retry_after(&headers(&RETRY_AFTER, &[value.as_bytes()]), now);
            assert_eq!(found, expected.map(Duration::from_secs), "{value}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn values_are_text_whatever_their_bytes() {
        assert_eq!(text(&HeaderValue::from_bytes("é".as_bytes()).unwrap()), "é");
        assert_eq!(text(&HeaderValue::from_bytes(b"\xe9").unwrap()), "é");
    }
}
