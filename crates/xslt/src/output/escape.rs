//! Escaping of text and attributes.

use super::Encoding;

fn reference(out: &mut String, character: char) {
    use std::fmt::Write;
    // Writing to a string does not fail.
    let _ = write!(out, "&#{};", character as u32);
}

/// Bytes that are looked at together; the compiler makes few instructions of it.
const BLOCK: usize = 32;

/// How many bytes at the start of `bytes` need no look: whole blocks in which nothing is special.
#[inline]
fn plain_blocks(bytes: &[u8], is_special: impl Fn(u8) -> bool) -> usize {
    let blocks = bytes.chunks_exact(BLOCK);
    blocks.take_while(|block| !block.iter().fold(false, |any, byte| any | is_special(*byte))).count() * BLOCK
}

/// Writes `text` with what `special` gives for a byte in its place; characters the encoding lacks become references.
#[inline]
fn escape(
    out: &mut String,
    text: &str,
    encoding: Encoding,
    special: impl Fn(u8) -> Option<&'static str> + Copy,
) {
    let bytes = text.as_bytes();
    let mut start = 0;
    let complete = encoding.is_complete();
    let is_special = |byte: u8| special(byte).is_some() | (!complete & (byte >= 0x80));
    let mut at = plain_blocks(bytes, is_special);
    while at < bytes.len() {
        let byte = bytes[at];
        if byte < 0x80 {
            at += 1;
            if let Some(replacement) = special(byte) {
                out.push_str(&text[start..at - 1]);
                out.push_str(replacement);
                start = at;
                at += plain_blocks(&bytes[at..], is_special);
            }
        } else if complete {
            at += 1;
        } else {
            let Some(character) = text[at..].chars().next() else { break };
            if !encoding.has(character) {
                out.push_str(&text[start..at]);
                reference(out, character);
                start = at + character.len_utf8();
            }
            at += character.len_utf8();
        }
    }
    out.push_str(&text[start..]);
}

pub(super) fn text(out: &mut String, text: &str, encoding: Encoding) {
    escape(out, text, encoding, |byte| match byte {
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'&' => Some("&amp;"),
        b'\r' => Some("&#13;"),
        _ => None,
    });
}

pub(super) fn attribute(out: &mut String, text: &str, encoding: Encoding) {
    escape(out, text, encoding, |byte| match byte {
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'&' => Some("&amp;"),
        b'"' => Some("&quot;"),
        b'\n' => Some("&#10;"),
        b'\r' => Some("&#13;"),
        b'\t' => Some("&#9;"),
        _ => None,
    });
}

/// Text in HTML.
pub(super) fn html_text(out: &mut String, text: &str, encoding: Encoding) {
    escape(out, text, encoding, |byte| match byte {
        b'<' => Some("&lt;"),
        b'>' => Some("&gt;"),
        b'&' => Some("&amp;"),
        _ => None,
    });
}

/// An attribute in HTML: `<` stays, and so does `&` before `{`.
pub(super) fn html_attribute(out: &mut String, text: &str, encoding: Encoding) {
    let mut rest = text;
    while let Some(at) = rest.find("&{") {
        html_attribute_part(out, &rest[..at], encoding);
        out.push_str("&{");
        rest = &rest[at + 2..];
    }
    html_attribute_part(out, rest, encoding);
}

fn html_attribute_part(out: &mut String, text: &str, encoding: Encoding) {
    escape(out, text, encoding, |byte| match byte {
        b'&' => Some("&amp;"),
        b'"' => Some("&quot;"),
        _ => None,
    });
}

/// An address in HTML: characters beyond ASCII become percent escapes of their UTF-8 bytes.
pub(super) fn uri(text: &str) -> String {
    use std::fmt::Write;
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if (0x20..0x7f).contains(&byte) && byte != b' ' {
            escaped.push(char::from(byte));
        } else {
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    escaped
}

/// Text that is written as it is; references only where the encoding has no such character.
pub(super) fn raw(out: &mut String, text: &str, encoding: Encoding) {
    escape(out, text, encoding, |_| None);
}

/// Text as CDATA sections: `]]>` is split, and characters the encoding lacks stand between sections.
pub(super) fn cdata(out: &mut String, text: &str, encoding: Encoding) {
    if text.is_empty() {
        return;
    }
    out.push_str("<![CDATA[");
    let mut rest = text;
    while let Some(at) = rest.find("]]>") {
        cdata_part(out, &rest[..at + 2], encoding);
        out.push_str("]]><![CDATA[");
        rest = &rest[at + 2..];
    }
    cdata_part(out, rest, encoding);
    out.push_str("]]>");
}

fn cdata_part(out: &mut String, text: &str, encoding: Encoding) {
    if encoding.is_complete() {
        out.push_str(text);
        return;
    }
    for character in text.chars() {
        if encoding.has(character) {
            out.push(character);
        } else {
            out.push_str("]]>");
            reference(out, character);
            out.push_str("<![CDATA[");
        }
    }
}
