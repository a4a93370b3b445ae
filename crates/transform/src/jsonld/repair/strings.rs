//! Strings: their escapes, and the question of where they end.
//!
//! A quote inside a string that nobody escaped looks like its end. What follows tells: a string's end is followed by a
//! comma and the next key, by a bracket, by a colon after a key. A quote followed by anything else is part of the
//! text. A string that nobody closed ends before the line on which the next member begins.

use std::fmt::Write;

use super::look::{Quote, is_word};
use super::mends::Mend;
use super::reader::Reader;

/// How far a run of closing brackets is followed.
const CLOSERS_BYTES_MAX: usize = 64;
/// How far the end of a next element is looked for.
const ELEMENT_BYTES_MAX: usize = 256;
/// Longest key that can lack its last quote.
const OPEN_KEY_BYTES_MAX: usize = 64;

/// What a string is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Key,
    /// The value of a member.
    Member,
    /// An element of an array.
    Element,
}

/// How a string ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Closed,
    /// The text ended first.
    Cut,
}

/// What a quote is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The end of the string.
    End,
    /// A part of it.
    Content,
    /// The beginning of the next key: the string should have ended before.
    NextKey,
}

impl Reader<'_, '_> {
    /// Reads a string whose opening quote has been passed, and writes it.
    pub(super) fn read_string(&mut self, quote: Quote, role: Role) -> Ended {
        self.out.push('"');
        self.continue_string(quote, role)
    }

    /// The same, when there is a beginning of it already.
    pub(super) fn continue_string(&mut self, quote: Quote, role: Role) -> Ended {
        if quote != Quote::Double {
            self.mends.add(Mend::OtherQuotes);
        }
        let content = self.out.len();
        let mut inner_quotes = 0_usize;
        let mut typographic_open = 0_i32;
        loop {
            let start = self.at;
            let rest = &self.look.text.as_bytes()[start..];
            let run = rest.iter().position(|byte| is_special(*byte, role)).unwrap_or(rest.len());
            self.out.push_str(&self.look.text[start..start + run]);
            self.at = start + run;
            let Some(byte) = self.look.byte(self.at) else { return Ended::Cut };
            match byte {
                b'\\' => {
                    if self.escape(quote, role) {
                        return self.close_string(content, inner_quotes);
                    }
                    continue;
                }
                b'\n' | b'\r' => {
                    let next = self.look.skip_space(self.at);
                    if self.string_should_have_ended(next, role) {
                        return self.close_early(content);
                    }
                    self.mends.add(Mend::ControlCharacters);
                    self.push_escaped(next);
                    continue;
                }
                0..0x20 => {
                    self.mends.add(Mend::ControlCharacters);
                    self.push_escaped(self.at + 1);
                    continue;
                }
                b'{' | b'<' | b'$' => {
                    // Quotes within a placeholder do not end the string around it.
                    if let Some(end) = self.look.placeholder_end(self.at)
                        && memchr::memchr(b'"', &self.look.text.as_bytes()[self.at..end]).is_some()
                    {
                        self.spoiled = role != Role::Key;
                        self.push_escaped(end);
                        continue;
                    }
                }
                b':' if self.key_should_have_ended(content) => {
                    self.out.push('"');
                    self.mends.add(Mend::UnclosedString);
                    return Ended::Closed;
                }
                _ => {}
            }
            if let Some(length) = self.look.closing_quote(self.at, quote) {
                match self.judge(self.at, length, role, content, inner_quotes) {
                    Verdict::End => {
                        self.at += length;
                        return self.close_string(content, inner_quotes);
                    }
                    Verdict::NextKey => return self.close_early(content),
                    Verdict::Content => {
                        if byte == b'"' {
                            self.mends.add(Mend::InnerQuotes);
                        }
                        inner_quotes += 1;
                    }
                }
                self.push_escaped(self.at + length);
                continue;
            }
            // “ and ” inside a string belong to it, unless one of them has taken the place of a straight one.
            if let Some(length) = self.look.strayed_quote(self.at, quote) {
                if typographic_open == 0 && self.is_strayed_end(self.at + length, role) {
                    self.at += length;
                    self.mends.add(Mend::OtherQuotes);
                    return self.close_string(content, inner_quotes);
                }
                let opens = matches!(self.look.char(self.at), Some('“' | '„' | '«' | '‘' | '‚'));
                typographic_open = if opens { typographic_open + 1 } else { (typographic_open - 1).max(0) };
            }
            let length = self.look.char(self.at).map_or(1, char::len_utf8);
            self.push_escaped(self.at + length);
        }
    }

    fn close_string(&mut self, content: usize, inner_quotes: usize) -> Ended {
        if inner_quotes % 2 == 1 {
            // An odd one: a closing or opening quote written twice, or the sign for inches.
            let written = &self.out[content..];
            if let Some(before) = written.strip_suffix("\\\"") {
                if !before.ends_with(|c: char| c.is_ascii_digit() || c == '\\') {
                    self.out.truncate(self.out.len() - 2);
                }
            } else if inner_quotes == 1 && written.starts_with("\\\"") {
                let unquoted = written[2..].to_owned();
                self.out.truncate(content);
                self.out.push_str(&unquoted);
            }
        }
        self.out.push('"');
        Ended::Closed
    }

    /// Ends a string that has no end of its own.
    fn close_early(&mut self, content: usize) -> Ended {
        let trimmed = self.out[content..].trim_end().trim_end_matches(',').trim_end();
        // A backslash that escapes nothing any more.
        let length = content + trimmed.len();
        self.out.truncate(length);
        self.out.push('"');
        self.mends.add(Mend::UnclosedString);
        Ended::Closed
    }

    /// Copies up to `end`, escaping what JSON wants escaped.
    pub(super) fn push_escaped(&mut self, end: usize) {
        for c in self.look.text[self.at..end].chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c < ' ' => {
                    // Writing to a string cannot fail.
                    let _ = write!(self.out, "\\u{:04x}", u32::from(c));
                }
                c => self.out.push(c),
            }
        }
        self.at = end;
    }

    // --- escapes ---

    /// Writes what a backslash and the next character mean. True when the backslash was the last character of the string.
    fn escape(&mut self, quote: Quote, role: Role) -> bool {
        let bytes = self.look.text.as_bytes();
        let next = bytes.get(self.at + 1).copied();
        match next {
            Some(b'"') if quote == Quote::Double && self.ends_with_backslash(role) => {
                self.out.push_str("\\\\");
                self.at += 2;
                self.mends.add(Mend::Escapes);
                return true;
            }
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.out.push_str(&self.look.text[self.at..self.at + 2]);
                self.at += 2;
            }
            Some(b'u') => self.unicode_escape(),
            Some(b'x') => match self.hex(self.at + 2, 2) {
                Some(code) => {
                    self.mends.add(Mend::Escapes);
                    let _ = write!(self.out, "\\u{code:04x}");
                    self.at += 4;
                }
                None => self.literal_backslash(),
            },
            // A line that goes on.
            Some(b'\n') => self.drop_escape(2),
            Some(b'\r') => self.drop_escape(if bytes.get(self.at + 2) == Some(&b'\n') { 3 } else { 2 }),
            // Something like `C:\Users`.
            Some(byte) if byte.is_ascii_alphanumeric() => self.literal_backslash(),
            // Something like `\'` or `\-`.
            _ => self.drop_escape(1),
        }
        if matches!(next, Some(b'\'' | b'`')) {
            // Escaped, so it is no end, whatever follows.
            self.push_escaped(self.at + 1);
        }
        false
    }

    fn literal_backslash(&mut self) {
        self.mends.add(Mend::Escapes);
        self.out.push_str("\\\\");
        self.at += 1;
    }

    fn drop_escape(&mut self, length: usize) {
        self.mends.add(Mend::Escapes);
        self.at += length;
    }

    fn unicode_escape(&mut self) {
        let Some(code) = self.hex(self.at + 2, 4) else { return self.literal_backslash() };
        let mut length = 6;
        match code {
            0xd800..0xdc00 => {
                let low =
                    self.look.starts_with(self.at + 6, "\\u").then(|| self.hex(self.at + 8, 4)).flatten();
                if low.is_some_and(|low| (0xdc00..0xe000).contains(&low)) {
                    length = 12;
                } else {
                    return self.half_character();
                }
            }
            0xdc00..0xe000 => return self.half_character(),
            _ => {}
        }
        self.out.push_str(&self.look.text[self.at..self.at + length]);
        self.at += length;
    }

    fn half_character(&mut self) {
        self.mends.add(Mend::Surrogates);
        self.out.push_str("\\ufffd");
        self.at += 6;
    }

    fn hex(&self, at: usize, digits: usize) -> Option<u32> {
        let text = self.look.text.get(at..at + digits)?;
        text.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(text, 16).ok())?
    }

    /// True when `\"` is a backslash at the end of a string: only then can the next member come.
    fn ends_with_backslash(&self, role: Role) -> bool {
        if role == Role::Key {
            return false;
        }
        let next = self.look.skip_space(self.at + 2);
        match self.look.byte(next) {
            Some(b',') => self.look.key_ahead(self.look.skip_space(next + 1), false),
            Some(b'}' | b']') => self.closes_everything(next),
            _ => false,
        }
    }

    // --- where strings end ---

    /// What the quote at `at` is, judged by what follows it.
    fn judge(&self, at: usize, length: usize, role: Role, content: usize, inner_quotes: usize) -> Verdict {
        let after = at + length;
        if role == Role::Key {
            return if self.key_ends(after) { Verdict::End } else { Verdict::Content };
        }
        if self.value_ends(after, role) {
            return Verdict::End;
        }
        // Within a pair of inner quotes this is the second of them.
        let comma = self.look.skip_space(after);
        if inner_quotes.is_multiple_of(2)
            && role == Role::Member
            && self.look.byte(comma) == Some(b',')
            && self.element_ahead(self.look.skip_space(comma + 1))
        {
            return Verdict::End;
        }
        let written = &self.out[content..];
        let stands_apart = written.ends_with(|c: char| c.is_whitespace() || c == ',');
        let next_key = stands_apart
            && role == Role::Member
            && self.look.key_end(at, false).is_some_and(|colon| {
                self.look.byte(colon) == Some(b':') && self.look.value_ahead(self.look.skip_space(colon + 1))
            });
        if next_key { Verdict::NextKey } else { Verdict::Content }
    }

    fn key_ends(&self, after: usize) -> bool {
        let next = self.look.skip_space(after);
        match self.look.byte(next) {
            None | Some(b':' | b'=' | b',' | b'}' | b']' | b'{' | b'[') => true,
            Some(b'-' | b'0'..=b'9') => next > after,
            Some(_) => next > after && self.look.opening_quote(next).is_some(),
        }
    }

    fn value_ends(&self, after: usize, role: Role) -> bool {
        let mut next = self.look.skip_space(after);
        // Editors put a `<br />` behind every line.
        for _ in 0..4 {
            match self.look.tag_end(next) {
                Some(end) => next = self.look.skip_space(end),
                None => break,
            }
        }
        let Some(byte) = self.look.byte(next) else { return true };
        let new_line = self.look.has_newline(after, next);
        match byte {
            b',' | b';' => self.comma_ends(next + 1, role),
            b'}' | b']' => self.bracket_ends(next),
            b'/' => matches!(self.look.byte(next + 1), Some(b'/' | b'*')),
            b'<' => self.look.starts_with(next, "<!") || self.look.placeholder_end(next).is_some(),
            b'-' => self.look.starts_with(next, "-->"),
            b'+' => self.look.opening_quote(self.look.skip_space(next + 1)).is_some(),
            b'#' => new_line,
            b'{' if self.look.placeholder_end(next).is_some() => true,
            b'{' | b'[' => new_line || role == Role::Element,
            b'&' if self.look.starts_with(next, "&nbsp;") => true,
            _ if role == Role::Member => self.look.key_ahead(next, new_line || self.bare_keys),
            // Two elements without a comma between them.
            _ => {
                next > after
                    && self.look.opening_quote(next).is_some()
                    && (new_line || self.string_then_delimiter(next))
            }
        }
    }

    /// Whether what follows a comma shows that the string before it has ended.
    fn comma_ends(&self, after: usize, role: Role) -> bool {
        let next = self.look.skip_space(after);
        let new_line = self.look.has_newline(after, next);
        match self.look.byte(next) {
            None | Some(b',' | b';' | b'{') => true,
            Some(b'.') => self.look.starts_with(next, "..."),
            Some(b'}' | b']') => self.bracket_ends(next),
            Some(b'/') => matches!(self.look.byte(next + 1), Some(b'/' | b'*')),
            Some(b'<') => self.look.starts_with(next, "<!") || self.look.tag_end(next).is_some(),
            Some(_) if role == Role::Member => {
                self.look.key_ahead(next, new_line || self.bare_keys) || self.damaged_key_ahead(next)
            }
            Some(_) if self.look.opening_quote(next).is_some() => {
                new_line || self.string_then_delimiter(next) || self.look.key_ahead(next, false)
            }
            Some(_) => self.look.value_ahead(next),
        }
    }

    /// A key that lacks a quote or its colon: `name": …`, `"name: "…`, `"name" "…`, `"@type", "…`.
    fn damaged_key_ahead(&self, at: usize) -> bool {
        let quote = self.look.opening_quote(at).map_or(0, |(_, length)| length);
        let bytes = self.look.text.as_bytes();
        let start = at + quote;
        let window = &bytes[start..bytes.len().min(start + OPEN_KEY_BYTES_MAX)];
        let word = window.iter().position(|byte| !is_word(*byte)).unwrap_or(window.len());
        let rest = &window[word..];
        if quote > 0 && bytes.len() - start <= OPEN_KEY_BYTES_MAX && matches!(rest, [] | [b'"']) {
            // The text is cut in a key or behind it.
            return true;
        }
        if word == 0 {
            return false;
        }
        let opens_value = |rest: &[u8]| matches!(rest.trim_ascii_start(), [b'"' | b'{' | b'[', ..]);
        match rest {
            [b'"', after @ ..] if quote == 0 => after.trim_ascii_start().first() == Some(&b':'),
            [b':', after @ ..] if quote > 0 => opens_value(after),
            [b'"', after @ ..] => {
                let after = after.trim_ascii_start();
                let next = after.first();
                opens_value(after)
                    || next == Some(&b'}')
                    || (next == Some(&b',') && (window[0] == b'@' || self.word_then_key(start + word + 1)))
            }
            _ => false,
        }
    }

    /// True when a comma and then a whole key follow.
    fn word_then_key(&self, after: usize) -> bool {
        let comma = self.look.skip_space(after);
        self.look.byte(comma) == Some(b',') && self.look.key_ahead(self.look.skip_space(comma + 1), false)
    }

    /// Whether what follows a closing bracket shows that it is one.
    fn bracket_ends(&self, at: usize) -> bool {
        if at >= self.last_closing_bracket {
            return true;
        }
        let next = self.look.skip_space(at + 1);
        match self.look.byte(next) {
            None | Some(b'}' | b']' | b';' | b'<' | b'/' | b'-' | b'{' | b')' | b'&') => true,
            Some(b',') => {
                let next = self.look.skip_space(next + 1);
                match self.look.byte(next) {
                    None | Some(b'}' | b']' | b'<' | b'/' | b',') => true,
                    Some(_) => {
                        self.look.value_ahead(next)
                            || self.look.key_ahead(next, self.bare_keys || self.look.has_newline(at, next))
                    }
                }
            }
            Some(_) => self.look.has_newline(at, next) || self.look.key_ahead(next, self.bare_keys),
        }
    }

    /// True when a string begins here, and is followed by what follows an element.
    fn string_then_delimiter(&self, at: usize) -> bool {
        let Some((quote, length)) = self.look.opening_quote(at) else { return false };
        let mut end = at + length;
        let limit = self.look.text.len().min(end + ELEMENT_BYTES_MAX);
        while end < limit {
            match self.look.byte(end) {
                Some(b'\\') => end += 1,
                // It lacks its closing quote, as the one before it.
                Some(b'\n' | b'\r') => return true,
                Some(_) => {
                    if let Some(length) = self.look.closing_quote(end, quote) {
                        let next = self.look.skip_space(end + length);
                        return matches!(
                            self.look.byte(next),
                            None | Some(b',' | b']' | b'}' | b'"' | b'/' | b'<')
                        );
                    }
                }
                None => return true,
            }
            end += self.look.char(end).map_or(1, char::len_utf8);
        }
        // A long one; it will be an element.
        true
    }

    /// True for an address in quotes that is no key: one of several that stand in a row without brackets.
    pub(super) fn element_ahead(&self, at: usize) -> bool {
        let Some((quote, length)) = self.look.opening_quote(at) else { return false };
        let start = at + length;
        let bytes = self.look.text.as_bytes();
        let window = &bytes[start..bytes.len().min(start + ELEMENT_BYTES_MAX)];
        let address = window.iter().take_while(|byte| byte.is_ascii_graphic() && **byte != b'"').count();
        let Some(length) = self.look.closing_quote(start + address, quote) else { return false };
        let next = self.look.skip_space(start + address + length);
        memchr::memmem::find(&window[..address], b"://").is_some()
            && matches!(self.look.byte(next), Some(b',' | b'}' | b']'))
    }

    /// True when the line that begins at `next` can only be outside of the string.
    fn string_should_have_ended(&self, next: usize, role: Role) -> bool {
        match self.look.byte(next) {
            None => false,
            Some(b'}' | b']') => self.closes_everything(next),
            Some(_) => match role {
                Role::Key => false,
                Role::Member => self.look.key_end(next, false).is_some_and(|colon| {
                    let value = self.look.skip_space(colon + 1);
                    self.look.value_ahead(value) || self.look.placeholder_end(value).is_some()
                }),
                Role::Element => {
                    self.look.opening_quote(next).is_some()
                        && self.string_then_delimiter(next)
                        && !self.look.starts_with(next + 1, "\"")
                }
            },
        }
    }

    /// True when nothing but closing brackets is left, or when they are followed by a next member or element.
    fn closes_everything(&self, at: usize) -> bool {
        let mut next = at;
        while next < at + CLOSERS_BYTES_MAX {
            match self.look.byte(next) {
                None | Some(b'<') => return true,
                Some(b'}' | b']' | b';') => next = self.look.skip_space(next + 1),
                Some(b',') => {
                    let follows = self.look.skip_space(next + 1);
                    return self.look.byte(follows) == Some(b'{') || self.look.key_ahead(follows, false);
                }
                Some(_) => return false,
            }
        }
        false
    }

    /// True at a colon in a key that nobody closed: `"name: "Ada"`.
    fn key_should_have_ended(&self, content: usize) -> bool {
        let written = &self.out[content..];
        let next = self.look.skip_space(self.at + 1);
        (1..=OPEN_KEY_BYTES_MAX).contains(&written.len())
            && written.bytes().all(is_word)
            && match self.look.byte(next) {
                Some(b'{' | b'[') => true,
                Some(_) => {
                    self.look.opening_quote(next).is_some()
                        // The quote may be the key's own after all: `"schema:": …`.
                        && !matches!(self.look.byte(self.look.skip_space(next + 1)), Some(b':'))
                }
                None => false,
            }
    }

    /// True when a typographic quote that closes nothing inside the string stands where its end should be.
    fn is_strayed_end(&self, after: usize, role: Role) -> bool {
        let next = self.look.skip_space(after);
        match (role, self.look.byte(next)) {
            (Role::Key, Some(b':')) => true,
            (Role::Member, Some(b',')) => self.look.key_ahead(self.look.skip_space(next + 1), false),
            (Role::Member | Role::Element, Some(b'}' | b']')) => self.closes_everything(next),
            _ => false,
        }
    }
}

/// Bytes at which the copying of a string stops to think. The first bytes of typographic quotes are among them.
fn is_special(byte: u8, role: Role) -> bool {
    match byte {
        b'"' | b'\'' | b'`' | b'\\' | b'&' | b'{' | b'<' | b'$' | 0..0x20 => true,
        0xc2 | 0xe2 | 0xe3 | 0xef => true,
        b':' => role == Role::Key,
        _ => false,
    }
}
