//! Which character encoding a body is in.
//!
//! The order is the WHATWG's, for every kind of text: byte order mark, the server's `charset`, what the
//! document declares (XML declaration, HTML `meta`), UTF-8 where the bytes are, and a guess by
//! frequencies. Start at [`choose`].

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use webloom_model::DocumentKind;

/// How far a declaration is looked for. Browsers stop at 1024; pages with long comments above it exist.
const PRESCAN_BYTES_MAX: usize = 4096;
/// How much the frequency detector sees.
const GUESS_BYTES_MAX: usize = 256 * 1024;

/// What the very first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signature {
    /// Nothing.
    None,
    /// A byte order mark, or the zero bytes around an ASCII `<?`.
    Unicode(&'static Encoding),
    /// A byte order mark of four bytes.
    Utf32,
}

pub(crate) fn unicode_signature(body: &[u8]) -> Signature {
    if body.starts_with(b"\xff\xfe\0\0") || body.starts_with(b"\0\0\xfe\xff") {
        return Signature::Utf32;
    }
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return Signature::Unicode(encoding);
    }
    if body.starts_with(b"<\0?\0x\0") || body.starts_with(b"<\0!\0") || body.starts_with(b"<\0h\0") {
        Signature::Unicode(UTF_16LE)
    } else if body.starts_with(b"\0<\0?\0x") || body.starts_with(b"\0<\0!") || body.starts_with(b"\0<\0h") {
        Signature::Unicode(UTF_16BE)
    } else {
        Signature::None
    }
}

/// The beginning of the body, as text good enough to see its markup in.
pub(crate) fn head_as_text<'a>(
    body: &'a [u8],
    signature: Signature,
    declared: Option<&'static Encoding>,
    bytes_max: usize,
) -> Cow<'a, str> {
    let head = &body[..body.len().min(bytes_max)];
    let encoding = match signature {
        Signature::Unicode(encoding) => encoding,
        _ => declared.unwrap_or(UTF_8),
    };
    if encoding == UTF_16LE || encoding == UTF_16BE {
        encoding.decode_with_bom_removal(head).0
    } else {
        // Every other encoding has its markup in ASCII, whatever stands between.
        lossy(head)
    }
}

/// UTF-8 as text, what is malformed replaced. Most pages are well-formed, and checking is many times faster than looking
/// for what to replace; the cut may have gone through a character.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(error) if error.error_len().is_none() => {
            // Only the last character lacks something, and has no markup in it.
            Cow::Borrowed(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default())
        }
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// The WHATWG name of the encoding.
pub(crate) fn choose(
    kind: DocumentKind,
    body: &[u8],
    signature: Signature,
    declared: Option<&'static Encoding>,
    url: Option<&str>,
) -> &'static str {
    if let Signature::Unicode(encoding) = signature {
        return encoding.name();
    }
    if let Some(encoding) = declared {
        return encoding.name();
    }
    let prescan = &body[..body.len().min(PRESCAN_BYTES_MAX)];
    let said = match kind {
        DocumentKind::Html => meta_charset(prescan).or_else(|| xml_declaration_charset(prescan)),
        DocumentKind::Xhtml => xml_declaration_charset(prescan).or_else(|| meta_charset(prescan)),
        kind if is_xml(kind) => xml_declaration_charset(prescan),
        _ => None,
    };
    if let Some(encoding) = said {
        return encoding.name();
    }
    match std::str::from_utf8(body) {
        Ok(_) => return UTF_8.name(),
        // A body cut at the cap may end within a character.
        Err(error) if error.error_len().is_none() => return UTF_8.name(),
        Err(_) => {}
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(&body[..body.len().min(GUESS_BYTES_MAX)], body.len() <= GUESS_BYTES_MAX);
    let domain = url.and_then(top_level_domain);
    detector.guess(domain.as_deref().map(str::as_bytes), Utf8Detection::Deny).name()
}

/// The kinds that may have an XML declaration, XHTML aside.
pub(crate) fn is_xml(kind: DocumentKind) -> bool {
    matches!(
        kind,
        DocumentKind::Xml
            | DocumentKind::Rss
            | DocumentKind::Atom
            | DocumentKind::RdfXml
            | DocumentKind::Opml
            | DocumentKind::Sitemap
            | DocumentKind::Svg
            | DocumentKind::Wsdl
    )
}

/// The detector takes the last label of the host as a hint, in lower case and without dots.
fn top_level_domain(url: &str) -> Option<String> {
    let host = url.split_once("://")?.1.split(['/', '?', '#', ':']).next()?;
    let label = host.rsplit('.').next()?.to_ascii_lowercase();
    (!label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphabetic())).then_some(label)
}

/// An encoding found in the bytes of a document cannot be one in which those bytes would not be ASCII.
fn from_ascii_document(label: &[u8]) -> Option<&'static Encoding> {
    let encoding = Encoding::for_label(label)?;
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    })
}

fn xml_declaration_charset(head: &[u8]) -> Option<&'static Encoding> {
    let head = head.trim_ascii_start();
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let position = memchr::memmem::find(declaration, b"encoding")?;
    let after = declaration[position + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *after.first()?;
    if quote != b'"' && quote != b'\'' {
        return None;
    }
    let end = memchr::memchr(quote, &after[1..])?;
    from_ascii_document(&after[1..=end])
}

/// The WHATWG's "prescan a byte stream to determine its encoding".
fn meta_charset(head: &[u8]) -> Option<&'static Encoding> {
    let mut position = 0;
    while position < head.len() {
        let rest = &head[position..];
        if rest.starts_with(b"<!--") {
            // The dashes that open may be the dashes that close.
            position += 2 + memchr::memmem::find(&rest[2..], b"-->")? + 2;
        } else if rest.len() > 5
            && rest[..5].eq_ignore_ascii_case(b"<meta")
            && (rest[5].is_ascii_whitespace() || rest[5] == b'/')
        {
            position += 5;
            let mut got_pragma = false;
            let mut need_pragma = None;
            let mut charset = None;
            let mut seen: Vec<Vec<u8>> = Vec::new();
            while let Some((name, value)) = attribute(head, &mut position) {
                if seen.contains(&name) {
                    continue;
                }
                match name.as_slice() {
                    b"http-equiv" if value == b"content-type" => got_pragma = true,
                    b"content" if charset.is_none() => {
                        if let Some(encoding) = charset_in_content(&value) {
                            charset = Some(encoding);
                            need_pragma = Some(true);
                        }
                    }
                    b"charset" => {
                        charset = from_ascii_document(&value);
                        need_pragma = Some(false);
                    }
                    _ => {}
                }
                seen.push(name);
            }
            match (need_pragma, charset) {
                (Some(true), _) if !got_pragma => {}
                (Some(_), Some(encoding)) => return Some(encoding),
                _ => {}
            }
        } else if rest[0] == b'<'
            && rest.get(1).is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'/')
        {
            position += rest
                .iter()
                .position(|&byte| byte.is_ascii_whitespace() || byte == b'>')
                .unwrap_or(rest.len());
            while attribute(head, &mut position).is_some() {}
        } else if rest[0] == b'<' && matches!(rest.get(1), Some(b'!' | b'?' | b'/')) {
            position += memchr::memchr(b'>', rest).unwrap_or(rest.len());
        }
        position += 1;
        match memchr::memchr(b'<', head.get(position..).unwrap_or_default()) {
            Some(next) => position += next,
            None => break,
        }
    }
    None
}

/// The WHATWG's "get an attribute": name and value in lower case, or nothing at the end of the tag.
fn attribute(head: &[u8], position: &mut usize) -> Option<(Vec<u8>, Vec<u8>)> {
    while head.get(*position).is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'/') {
        *position += 1;
    }
    if *head.get(*position)? == b'>' {
        return None;
    }
    let mut name = Vec::new();
    loop {
        match head.get(*position)? {
            b'=' if !name.is_empty() => break,
            byte if byte.is_ascii_whitespace() => {
                while head.get(*position).is_some_and(u8::is_ascii_whitespace) {
                    *position += 1;
                }
                if head.get(*position) != Some(&b'=') {
                    return Some((name, Vec::new()));
                }
                break;
            }
            b'/' | b'>' => return Some((name, Vec::new())),
            byte => name.push(byte.to_ascii_lowercase()),
        }
        *position += 1;
    }
    *position += 1;
    while head.get(*position).is_some_and(u8::is_ascii_whitespace) {
        *position += 1;
    }
    let mut value = Vec::new();
    match *head.get(*position)? {
        quote @ (b'"' | b'\'') => {
            *position += 1;
            loop {
                let byte = *head.get(*position)?;
                *position += 1;
                if byte == quote {
                    return Some((name, value));
                }
                value.push(byte.to_ascii_lowercase());
            }
        }
        b'>' => return Some((name, value)),
        _ => {}
    }
    while let Some(&byte) = head.get(*position) {
        if byte.is_ascii_whitespace() || byte == b'>' {
            return Some((name, value));
        }
        value.push(byte.to_ascii_lowercase());
        *position += 1;
    }
    None
}

/// The WHATWG's "extract a character encoding from a meta element"; `content` is in lower case.
fn charset_in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        let position = memchr::memmem::find(rest, b"charset")?;
        rest = rest[position + 7..].trim_ascii_start();
        let Some(value) = rest.strip_prefix(b"=") else { continue };
        let value = value.trim_ascii_start();
        return match value.first()? {
            quote @ (b'"' | b'\'') => {
                let end = memchr::memchr(*quote, &value[1..])?;
                from_ascii_document(&value[1..=end])
            }
            _ => {
                let end = value
                    .iter()
                    .position(|byte| byte.is_ascii_whitespace() || *byte == b';')
                    .unwrap_or(value.len());
                from_ascii_document(&value[..end])
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_had_of_any_bytes() {
        for (bytes, text) in [
            (&b"plain"[..], "plain"),
            ("caf\u{e9}".as_bytes(), "caf\u{e9}"),
            (b"cut \xe2\x82", "cut "),
            (b"latin caf\xe9 <p>", "latin caf\u{fffd} <p>"),
            (b"\xff", "\u{fffd}"),
            (b"", ""),
        ] {
            assert_eq!(lossy(bytes), text, "{bytes:?}");
        }
    }
}
