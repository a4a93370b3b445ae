//! Encodings of a whole block: HTML character references, and JSON as a string within JSON.
//!
//! In a `<script>` neither is undone by the HTML parser, so a block that was escaped "to be safe" arrives
//! as `{&quot;@context&quot;:…`. A reference inside the strings of a block that is *not* encoded is left alone:
//! nobody can tell whether its author meant `&amp;` or `&`.

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};

use super::look::{self, is_space};
use super::mends::{Mend, Mends};

/// Longest name of a character reference.
const REFERENCE_BYTES_MAX: usize = 34;

/// The text within one layer of encoding, when the whole text is encoded.
pub(super) fn take_off(text: &str, mends: &mut Mends) -> Option<String> {
    let start = text.trim_start_matches(is_space);
    if is_made_of_references(start) {
        mends.add(Mend::Entities);
        return Some(decode_references(start));
    }
    // There may be something before it, as in `JSON.parse("{\"…`.
    let json = &start[start.find(['{', '[']).unwrap_or(0)..];
    if after_brackets(json).starts_with("\\\"") {
        mends.add(Mend::Escaped);
        return Some(unescape(json));
    }
    // A JSON string that holds JSON.
    let quote = start.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = &start[1..];
    if !inner.trim_start_matches(is_space).starts_with(['{', '[']) {
        return None;
    }
    mends.add(Mend::Escaped);
    let inner = inner.trim_end_matches(|c: char| is_space(c) || c == ';');
    Some(unescape(inner.strip_suffix(quote).unwrap_or(inner)))
}

/// What follows the opening brackets.
fn after_brackets(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| is_space(c) || matches!(c, '{' | '['));
        // White space may be escaped too.
        match ["\\n", "\\r", "\\t"].iter().find_map(|space| rest.strip_prefix(space)) {
            Some(after) => rest = after,
            None => return rest,
        }
    }
}

/// True when the block's brackets or its first quote are character references.
fn is_made_of_references(text: &str) -> bool {
    let first = |text: &str| reference_at(text).and_then(|(decoded, _)| decoded.chars().next());
    // Encoded twice: `&amp;quot;`.
    let twice = |text: &str| {
        text.strip_prefix("&amp;")
            .is_some_and(|rest| ["quot;", "#34;", "#034;", "#x22;"].iter().any(|name| rest.starts_with(name)))
    };
    let inside = after_brackets(text);
    matches!(first(text), Some('{' | '['))
        || twice(inside)
        || (inside.len() < text.len() && first(inside).is_some_and(look::is_quote))
}

/// Decodes every character reference, as an HTML parser does outside of scripts.
fn decode_references(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        match reference_at(rest) {
            Some((characters, length)) => {
                decoded.push_str(&characters);
                rest = &rest[length..];
            }
            None => {
                decoded.push('&');
                rest = &rest[1..];
            }
        }
    }
    decoded.push_str(rest);
    decoded
}

/// The characters that a reference at the start of the text stands for, and its length.
pub(super) fn reference_at(text: &str) -> Option<(String, usize)> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'&') {
        return None;
    }
    let window = &bytes[1..bytes.len().min(REFERENCE_BYTES_MAX)];
    let end = memchr::memchr(b';', window)?;
    let name = text.get(1..=end)?;
    let decoded = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            String::from(character(code))
        }
        None => {
            let (first, second) = *NAMED_ENTITIES.get(&text[1..end + 2])?;
            [first, second].into_iter().filter(|code| *code != 0).map(character).collect()
        }
    };
    (!decoded.is_empty()).then_some((decoded, end + 2))
}

/// The character of a numeric reference, as HTML has it.
fn character(code: u32) -> char {
    let windows_1252 = code.checked_sub(0x80).and_then(|at| *C1_REPLACEMENTS.get(at as usize)?);
    windows_1252.or_else(|| char::from_u32(code)).filter(|c| *c != '\0').unwrap_or('\u{fffd}')
}

/// Takes one level of backslashes off. Escapes by number are left for the next level.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut characters = rest.chars();
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('r') => plain.push('\r'),
            Some('t') => plain.push('\t'),
            Some('u') => match rest.get(1..5).and_then(|hex| u32::from_str_radix(hex, 16).ok()) {
                // A quote by number is a quote of the JSON inside; other characters may stay as they are.
                Some(0x22) => {
                    plain.push('"');
                    rest = &rest[5..];
                    continue;
                }
                _ => plain.push_str("\\u"),
            },
            Some(other) => plain.push(other),
            None => {}
        }
        rest = characters.as_str();
    }
    plain.push_str(rest);
    plain
}
