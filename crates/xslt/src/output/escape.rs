//! Escaping of text and attributes.

use super::Encoding;

fn reference(out: &mut String, character: char) {
    use std::fmt::Write;
    // Writing to a string does not fail.
    let _ = write!(out, "&#{};", character as u32);
}

/// Bytes that are looked at together; the compiler makes few instructions of it.
const BLOCK: usize = 16;

/// How many bytes at the start of `bytes` need no look: whole blocks in which no byte is a control character, a quote,
/// `&`, `<` or `>`, which are all that are ever replaced.
#[inline]
fn plain_blocks(bytes: &[u8], complete: bool) -> usize {
    let beyond = if complete { 0 } else { 0x80 };
    let is_plain = |block: &&[u8; BLOCK]| {
        let found = block.iter().fold(0, |found, byte| {
            // `"` and `&` differ in one bit, and so do `<` and `>`.
            let marks = u8::from(byte & !4 == b'"') | u8::from(byte & !2 == b'<');
            found | (byte & beyond) | marks | u8::from(*byte < b' ')
        });
        found == 0
    };
    bytes.as_chunks::<BLOCK>().0.iter().take_while(is_plain).count() * BLOCK
}

/// For each byte 0, or 1 and more for those that have a replacement.
const fn table<const N: usize>(special: &[(u8, &str); N]) -> [u8; 256] {
    let mut table = [0; 256];
    let mut number = 0;
    while number < N {
        table[special[number].0 as usize] = number as u8 + 1;
        number += 1;
    }
    table
}

/// Writes `text` with what `special` has for a byte in its place; characters the encoding lacks become references.
#[inline]
fn escape<const N: usize>(
    out: &mut String,
    text: &str,
    encoding: Encoding,
    special: &[(u8, &str); N],
    table: &[u8; 256],
) {
    let bytes = text.as_bytes();
    let mut start = 0;
    let complete = encoding.is_complete();
    let mut at = plain_blocks(bytes, complete);
    while let Some(byte) = bytes.get(at) {
        match table[usize::from(*byte)] {
            0 if complete || *byte < 0x80 => at += 1,
            0 => {
                let Some(character) = text[at..].chars().next() else { break };
                if !encoding.has(character) {
                    out.push_str(&text[start..at]);
                    reference(out, character);
                    start = at + character.len_utf8();
                }
                at += character.len_utf8();
            }
            number => {
                out.push_str(&text[start..at]);
                out.push_str(special[usize::from(number) - 1].1);
                at += 1;
                start = at;
                at += plain_blocks(&bytes[at..], complete);
            }
        }
    }
    out.push_str(&text[start..]);
}

pub(super) fn text(out: &mut String, text: &str, encoding: Encoding) {
    const SPECIAL: [(u8, &str); 4] = [(b'<', "&lt;"), (b'>', "&gt;"), (b'&', "&amp;"), (b'\r', "&#13;")];
    const TABLE: [u8; 256] = table(&SPECIAL);
    let bytes = text.as_bytes();
    // Long texts are searched, which is quicker than looking at them.
    if bytes.len() < BLOCK || !encoding.is_complete() || memchr::memchr(b'\r', bytes).is_some() {
        return escape(out, text, encoding, &SPECIAL, &TABLE);
    }
    let mut start = 0;
    for at in memchr::memchr3_iter(b'<', b'>', b'&', bytes) {
        out.push_str(&text[start..at]);
        out.push_str(SPECIAL[usize::from(TABLE[usize::from(bytes[at])]) - 1].1);
        start = at + 1;
    }
    out.push_str(&text[start..]);
}

/// The start of an attribute in a tag, with its value where that is known: ` name="value"` or ` name="`.
pub(crate) fn attribute_start(name: &str, value: Option<&str>) -> String {
    let mut written = format!(" {name}=\"");
    if let Some(value) = value {
        attribute(&mut written, value, Encoding::Utf8);
        written.push('"');
    }
    written
}

pub(super) fn attribute(out: &mut String, text: &str, encoding: Encoding) {
    const SPECIAL: [(u8, &str); 7] = [
        (b'<', "&lt;"),
        (b'>', "&gt;"),
        (b'&', "&amp;"),
        (b'"', "&quot;"),
        (b'\n', "&#10;"),
        (b'\r', "&#13;"),
        (b'\t', "&#9;"),
    ];
    const TABLE: [u8; 256] = table(&SPECIAL);
    escape(out, text, encoding, &SPECIAL, &TABLE);
}

/// Text in HTML.
pub(super) fn html_text(out: &mut String, text: &str, encoding: Encoding) {
    const SPECIAL: [(u8, &str); 3] = [(b'<', "&lt;"), (b'>', "&gt;"), (b'&', "&amp;")];
    const TABLE: [u8; 256] = table(&SPECIAL);
    escape(out, text, encoding, &SPECIAL, &TABLE);
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
    const SPECIAL: [(u8, &str); 2] = [(b'&', "&amp;"), (b'"', "&quot;")];
    const TABLE: [u8; 256] = table(&SPECIAL);
    escape(out, text, encoding, &SPECIAL, &TABLE);
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
    escape(out, text, encoding, &[], &[0; 256]);
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
