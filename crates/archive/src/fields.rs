//! Named fields, as WARC and HTTP write them: `Name: value` lines, order and spelling kept.
//!
//! In: the bytes of a head. Out: [`Fields`], one allocation for the text and one for where things are in it, so that
//! reading millions of records stays cheap. Lines may end in LF alone and may be folded; what is no field is skipped.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// Fields that one head may have; those after them are not looked at.
pub const FIELDS_MAX: usize = 1000;

/// The fields of a head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    text: Vec<u8>,
    spans: Vec<Span>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    name: (u32, u32),
    value: (u32, u32),
}

impl Fields {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads field lines up to the end of `bytes` or the first empty line.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut fields = Self::default();
        fields.parse_again(bytes);
        fields
    }

    /// The same into room that is there already.
    pub(crate) fn parse_again(&mut self, bytes: &[u8]) {
        self.clear();
        self.text.reserve(bytes.len());
        let mut rest = bytes;
        while !rest.is_empty() && self.spans.len() < FIELDS_MAX {
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            rest = rest.get(end + 1..).unwrap_or_default();
            if line.is_empty() {
                break;
            }
            if matches!(line[0], b' ' | b'\t') {
                self.fold(line.trim_ascii());
            } else if let Some(colon) = memchr(b':', line) {
                self.push_bytes(line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
            }
        }
    }

    /// Forgets all fields, keeping the room.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    /// Adds a field at the end.
    pub fn push(&mut self, name: &str, value: &str) {
        self.push_bytes(name.as_bytes(), value.as_bytes());
    }

    /// Adds a field whose value need not be text.
    pub fn push_bytes(&mut self, name: &[u8], value: &[u8]) {
        let name = self.append(name);
        let value = self.append(value);
        self.spans.push(Span { name, value });
    }

    fn append(&mut self, bytes: &[u8]) -> (u32, u32) {
        let start = self.text.len() as u32;
        self.text.extend_from_slice(bytes);
        (start, self.text.len() as u32)
    }

    /// Continues the value of the last field, which always ends the text.
    fn fold(&mut self, more: &[u8]) {
        if let Some(last) = self.spans.last_mut() {
            self.text.push(b' ');
            self.text.extend_from_slice(more);
            last.value.1 = self.text.len() as u32;
        }
    }

    fn slice(&self, (start, end): (u32, u32)) -> &[u8] {
        &self.text[start as usize..end as usize]
    }

    /// The first value of that name, in any case, as bytes.
    pub fn get_bytes(&self, name: &str) -> Option<&[u8]> {
        self.spans
            .iter()
            .find(|span| self.slice(span.name).eq_ignore_ascii_case(name.as_bytes()))
            .map(|span| self.slice(span.value))
    }

    /// The first value of that name as text: UTF-8 if it is that, Latin-1 otherwise.
    pub fn get(&self, name: &str) -> Option<Cow<'_, str>> {
        self.get_bytes(name).map(text)
    }

    /// All fields in order: name and value as bytes.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|span| (self.slice(span.name), self.slice(span.value)))
    }

    /// All values of one name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Writes them as lines, each ending in CRLF. Line breaks inside names and values become spaces, so that no value
    /// can add a field of its own.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|(name, value)| write_field(out, name, value));
    }
}

/// Appends one field as a line.
pub(crate) fn write_field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    extend_flat(out, name);
    out.extend_from_slice(b": ");
    extend_flat(out, value);
    out.extend_from_slice(b"\r\n");
}

/// Appends bytes of one line.
pub(crate) fn extend_flat(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.extend_from_slice(bytes);
    let mut rest = &mut out[start..];
    while let Some(at) = memchr2(b'\r', b'\n', rest) {
        rest[at] = b' ';
        rest = &mut rest[at + 1..];
    }
}

/// Bytes of a head as text: UTF-8 if they are that, Latin-1 otherwise.
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().copied().map(char::from).collect()),
    }
}

/// Where a head ends: the length up to and including its empty line. Lines may end in LF alone.
pub(crate) fn head_length(bytes: &[u8], search_from: usize) -> Option<usize> {
    let mut at = search_from;
    while let Some(found) = memchr(b'\n', bytes.get(at..)?) {
        let next = at + found + 1;
        match bytes.get(next..)? {
            [b'\n', ..] => return Some(next + 1),
            [b'\r', b'\n', ..] => return Some(next + 2),
            _ => at = next,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> Vec<(String, String)> {
        Fields::parse(bytes)
            .iter()
            .map(|(name, value)| (text(name).into_owned(), text(value).into_owned()))
            .collect()
    }

    #[test]
    fn lines_of_all_kinds() {
        for (bytes, expected) in [
            (&b"A: 1\r\nb:2\r\n\r\nC: 3\r\n"[..], &[("A", "1"), ("b", "2")][..]),
            (b"A: 1\nB : x y \n", &[("A", "1"), ("B", "x y")]),
            (b"A: 1\r\n  more\r\n\tand more\r\nB: 2", &[("A", "1 more and more"), ("B", "2")]),
            (b"  begins folded\r\nA: 1", &[("A", "1")]),
            (b"no field\r\nA: b: c\r\n", &[("A", "b: c")]),
            (b"A:\r\nB: caf\xe9", &[("A", ""), ("B", "caf\u{e9}")]),
            (b"", &[]),
        ] {
            let expected: Vec<(String, String)> =
                expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(shown(bytes), expected, "{}", text(bytes));
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        let fields = Fields::parse(b"Content-Type: a\r\ncontent-type: b\r\n");
        assert_eq!(fields.get("CONTENT-TYPE").as_deref(), Some("a"));
        assert_eq!(fields.all("content-type").count(), 2);
        assert_eq!(fields.get("content"), None);
    }

    #[test]
    fn a_value_cannot_add_a_field() {
        let mut fields = Fields::new();
        fields.push("A", "1\r\nB: 2");
        let mut written = Vec::new();
        fields.write_to(&mut written);
        assert_eq!(written, b"A: 1  B: 2\r\n");
    }

    #[test]
    fn where_heads_end() {
        for (bytes, end) in [
            (&b"A: 1\r\n\r\nbody"[..], Some(8)),
            (b"A: 1\n\nbody", Some(6)),
            (b"A: 1\r\n\nbody", Some(7)),
            (b"A: 1\r\n", None),
            (b"A: 1\r\n\r", None),
            (b"", None),
        ] {
            assert_eq!(head_length(bytes, 0), end, "{}", text(bytes));
        }
    }
}
