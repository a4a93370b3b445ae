//! The HTTP message inside a record: its head, and the body behind the transfer coding.
//!
//! In: bytes as they crossed the wire, or as some crawler wrote them down. Out: a [`HttpHead`], and [`dechunk`]ed
//! bodies. Content codings (gzip and so on) are left to whoever fetches, who has the caps for them.

use std::borrow::Cow;

use memchr::memchr;

use crate::fields::{Fields, text};

/// Start line and fields of a request or an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpHead {
    /// The first line, as it came.
    pub start_line: String,
    /// The fields.
    pub fields: Fields,
}

impl HttpHead {
    /// Parses a head. Nothing when the first line is neither a status line nor a request line.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let end = memchr(b'\n', bytes).unwrap_or(bytes.len());
        let start_line = text(bytes[..end].trim_ascii());
        if !is_status_line(&start_line) && !is_request_line(&start_line) {
            return None;
        }
        let start_line = start_line.into_owned();
        Some(Self { start_line, fields: Fields::parse(bytes.get(end + 1..).unwrap_or_default()) })
    }

    /// The status of an answer. Nothing for a request, or for what is no number.
    pub fn status(&self) -> Option<u16> {
        let status = self.start_line.strip_prefix("HTTP/")?.split_ascii_whitespace().nth(1)?;
        status.parse().ok().filter(|status| (100..1000).contains(status))
    }

    /// A field's value.
    pub fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.fields.get(name)
    }

    /// True when the body comes in chunks, by its own word.
    pub fn is_chunked(&self) -> bool {
        self.fields.all("transfer-encoding").any(|value| {
            value
                .rsplit(|&byte| byte == b',')
                .next()
                .is_some_and(|last| last.trim_ascii().eq_ignore_ascii_case(b"chunked"))
        })
    }

    /// All content codings in the order they were applied, as one value.
    pub fn content_encoding(&self) -> Option<String> {
        let values: Vec<_> = self.fields.all("content-encoding").map(text).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }
}

fn is_status_line(line: &str) -> bool {
    line.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("http/"))
}

fn is_request_line(line: &str) -> bool {
    let mut words = line.split(' ');
    let is_method = words.next().is_some_and(|word| {
        !word.is_empty()
            && word.len() <= 20
            && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
    });
    is_method && words.next_back().is_some_and(is_status_line)
}

/// Undoes the chunks of a body. Bodies that are not in chunks although they say so come back as they are, and a body
/// that breaks off gives what is there, as readers of archives have always done.
pub fn dechunk(body: &[u8]) -> Cow<'_, [u8]> {
    let mut whole = Vec::new();
    let mut rest = body;
    loop {
        let Some((size, after)) = chunk_size(rest) else {
            if whole.is_empty() && rest.len() == body.len() {
                return Cow::Borrowed(body);
            }
            // What follows a broken chunk is kept: some servers stop counting half-way.
            whole.extend_from_slice(rest);
            return Cow::Owned(whole);
        };
        if size == 0 {
            return Cow::Owned(whole);
        }
        let Some(chunk) = after.get(..size) else {
            whole.extend_from_slice(after);
            return Cow::Owned(whole);
        };
        whole.extend_from_slice(chunk);
        rest = &after[size..];
        rest = rest.strip_prefix(b"\r\n").or_else(|| rest.strip_prefix(b"\n")).unwrap_or(rest);
        if rest.is_empty() {
            return Cow::Owned(whole);
        }
    }
}

/// The size at the start of a chunk, and what follows its line.
fn chunk_size(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let window = &bytes[..bytes.len().min(4096)];
    let end = memchr(b'\n', window)?;
    let line = window[..end].split(|&byte| byte == b';').next()?.trim_ascii();
    let digits = std::str::from_utf8(line).ok()?;
    if digits.is_empty() || digits.len() > 15 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some((usize::from_str_radix(digits, 16).ok()?, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        let head = HttpHead::parse(b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n").unwrap();
        assert_eq!((head.status(), head.get("content-type").as_deref()), (Some(404), Some("text/html")));
        let head = HttpHead::parse(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
        assert_eq!((head.status(), head.get("host").as_deref()), (None, Some("a")));
        assert_eq!(HttpHead::parse(b"HTTP/2 200\r\n\r\n").unwrap().status(), Some(200));
        for bytes in [&b""[..], b"\r\n\r\n", b"<html>", b"GET /", b"20 text/gemini\r\n"] {
            assert_eq!(HttpHead::parse(bytes), None);
        }
    }

    #[test]
    fn chunks() {
        for (body, expected) in [
            (&b"4\r\nWiki\r\n5\r\npedia\r\n0\r\n\r\n"[..], &b"Wikipedia"[..]),
            (b"4;name=value\r\nWiki\r\n0\r\nTrailer: 1\r\n\r\n", b"Wiki"),
            (b"4\nWiki\n0\n\n", b"Wiki"),
            (b"a\r\nshort", b"short"),
            (b"4\r\nWiki", b"Wiki"),
            (b"4\r\nWiki\r\nbroken", b"Wikibroken"),
            (b"<html>no chunks</html>", b"<html>no chunks</html>"),
            (b"fffffffffffffffffff\r\nx", b"fffffffffffffffffff\r\nx"),
            (b"0\r\n\r\n", b""),
            (b"", b""),
        ] {
            assert_eq!(dechunk(body), expected, "{}", text(body));
        }
    }

    #[test]
    fn who_says_chunked() {
        for (value, is) in
            [("chunked", true), ("gzip, Chunked", true), ("chunked, gzip", false), ("identity", false)]
        {
            let head =
                HttpHead::parse(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {value}\r\n").as_bytes());
            assert_eq!(head.unwrap().is_chunked(), is, "{value}");
        }
    }
}
