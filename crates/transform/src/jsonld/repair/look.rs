//! Looks ahead in a text: white space, quotes, keys, placeholders. Nothing is consumed, every look is bounded.

use super::layers::reference_at;

/// Longest key that is recognised ahead.
const KEY_BYTES_MAX: usize = 128;
/// Longest template placeholder.
const PLACEHOLDER_BYTES_MAX: usize = 512;
/// Longest tag that is taken for markup.
const TAG_BYTES_MAX: usize = 256;

/// White space of any script, and the marks that nobody sees.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{ad}')
}

/// Any character somebody has used to quote.
pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`') || is_typographic_double(c) || is_typographic_single(c)
}

fn is_typographic_double(c: char) -> bool {
    matches!(c, '“' | '”' | '„' | '‟' | '″' | '＂' | '«' | '»' | '〝' | '〞')
}

fn is_typographic_single(c: char) -> bool {
    matches!(c, '‘' | '’' | '‚' | '‛' | '′' | '´' | '＇')
}

/// What a string is delimited by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    Double,
    Single,
    Backtick,
    TypographicDouble,
    TypographicSingle,
    /// `&quot;` and its like.
    Reference,
}

/// A text to look around in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'t> {
    pub(super) text: &'t str,
}

impl<'t> Look<'t> {
    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    pub(super) fn char(self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    pub(super) fn starts_with(self, at: usize, word: &str) -> bool {
        self.text.as_bytes()[at.min(self.text.len())..].starts_with(word.as_bytes())
    }

    /// The same, ASCII letters in either case.
    pub(super) fn starts_with_ignoring_case(self, at: usize, word: &str) -> bool {
        let bytes = &self.text.as_bytes()[at.min(self.text.len())..];
        bytes.len() >= word.len() && bytes[..word.len()].eq_ignore_ascii_case(word.as_bytes())
    }

    /// The place behind white space.
    pub(super) fn skip_space(self, mut at: usize) -> usize {
        while let Some(byte) = self.byte(at) {
            if byte.is_ascii_whitespace() {
                at += 1;
            } else if !(0x20..0x80).contains(&byte) {
                match self.char(at).filter(|c| is_space(*c)) {
                    Some(c) => at += c.len_utf8(),
                    None => break,
                }
            } else {
                break;
            }
        }
        at
    }

    pub(super) fn has_newline(self, from: usize, to: usize) -> bool {
        memchr::memchr2(b'\n', b'\r', &self.text.as_bytes()[from..to]).is_some()
    }

    /// The quote that opens a string here, and its length.
    pub(super) fn opening_quote(self, at: usize) -> Option<(Quote, usize)> {
        let c = self.char(at)?;
        let quote = match c {
            '"' => Quote::Double,
            '\'' => Quote::Single,
            '`' => Quote::Backtick,
            '&' => return Some((Quote::Reference, self.quote_reference(at)?)),
            c if is_typographic_double(c) => Quote::TypographicDouble,
            c if is_typographic_single(c) => Quote::TypographicSingle,
            _ => return None,
        };
        Some((quote, c.len_utf8()))
    }

    /// The length of what could close a string that was opened so.
    pub(super) fn closing_quote(self, at: usize, opened: Quote) -> Option<usize> {
        let c = self.char(at)?;
        let closes = match opened {
            Quote::Double => c == '"',
            Quote::Single => c == '\'',
            Quote::Backtick => c == '`',
            Quote::TypographicDouble => c == '"' || is_typographic_double(c),
            Quote::TypographicSingle => c == '\'' || is_typographic_single(c),
            Quote::Reference => return self.quote_reference(at),
        };
        closes.then_some(c.len_utf8())
    }

    /// The length of a typographic quote that may have taken the place of the straight one.
    pub(super) fn strayed_quote(self, at: usize, opened: Quote) -> Option<usize> {
        let c = self.char(at)?;
        let strayed = match opened {
            Quote::Double => is_typographic_double(c),
            Quote::Single => is_typographic_single(c),
            _ => false,
        };
        strayed.then_some(c.len_utf8())
    }

    fn quote_reference(self, at: usize) -> Option<usize> {
        let (decoded, length) = reference_at(self.text.get(at..)?)?;
        let c = decoded.chars().next()?;
        (c == '"' || is_typographic_double(c)).then_some(length)
    }

    /// True when a key and what separates it from its value begin here. Unquoted keys count only where `bare`.
    pub(super) fn key_ahead(self, at: usize, bare: bool) -> bool {
        self.key_end(at, bare).is_some()
    }

    /// The place of the colon behind a key that begins here.
    pub(super) fn key_end(self, at: usize, bare: bool) -> Option<usize> {
        if let Some((quote, length)) = self.opening_quote(at) {
            let start = at + length;
            let limit = self.text.len().min(start + KEY_BYTES_MAX);
            let mut end = start;
            while end < limit {
                match self.byte(end)? {
                    b'\n' | b'\r' | b'{' | b'}' => return None,
                    b'\\' => return None,
                    byte if byte.is_ascii_alphanumeric() => end += 1,
                    _ => {
                        let closed =
                            self.closing_quote(end, quote).or_else(|| self.strayed_quote(end, quote));
                        if let Some(length) = closed {
                            let colon = self.skip_space(end + length);
                            let is_key = end > start && matches!(self.byte(colon), Some(b':' | b'='));
                            return is_key.then_some(colon);
                        }
                        end += self.char(end).map_or(1, char::len_utf8);
                    }
                }
            }
            return None;
        }
        if !bare || !self.byte(at).is_some_and(is_word_start) {
            return None;
        }
        let bytes = self.text.as_bytes();
        let window = &bytes[at..bytes.len().min(at + KEY_BYTES_MAX)];
        let word = window.iter().position(|byte| !is_word(*byte))?;
        let colon = self.skip_space(at + word);
        // `https://…` is no key.
        let is_key = self.byte(colon) == Some(b':') && self.byte(colon + 1) != Some(b'/');
        is_key.then_some(colon)
    }

    /// True when a whole value can begin here.
    pub(super) fn value_ahead(self, at: usize) -> bool {
        match self.byte(at) {
            Some(b'{' | b'[' | b'-' | b'0'..=b'9') => true,
            Some(_) => {
                self.opening_quote(at).is_some()
                    || ["true", "false", "null"].iter().any(|word| {
                        self.starts_with(at, word) && !self.byte(at + word.len()).is_some_and(is_word)
                    })
            }
            None => false,
        }
    }

    /// The end of a template placeholder that begins here: `{{ x }}`, `{% x %}`, `<?php x ?>`, `<%= x %>`, `${x}`.
    pub(super) fn placeholder_end(self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let closer: &[u8] = match bytes.get(at..)? {
            [b'{', b'{', ..] => b"}}",
            [b'{', b'%', ..] => b"%}",
            [b'{', b'#', ..] => b"#}",
            [b'<', b'?', ..] => b"?>",
            [b'<', b'%', ..] => b"%>",
            [b'$', b'{', ..] | [b'#', b'{', ..] => b"}",
            _ => return None,
        };
        let start = at + 2;
        let window = &bytes[start..bytes.len().min(start + PLACEHOLDER_BYTES_MAX)];
        let mut end = start + memchr::memmem::find(window, closer)?;
        if closer == b"}}" {
            // Doubled braces around JSON look alike, but have keys in them.
            let inside = self.skip_space(start);
            if self.key_ahead(inside, false) || inside >= end {
                return None;
            }
            // `{{{ x }}}` is one placeholder too.
            while self.byte(end + 2) == Some(b'}') && bytes[start] == b'{' {
                end += 1;
            }
        }
        Some(end + closer.len())
    }

    /// The end of an HTML tag that begins here.
    pub(super) fn tag_end(self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let name = match bytes.get(at..)? {
            [b'<', b'/', letter, ..] | [b'<', letter, ..] if letter.is_ascii_alphabetic() => at + 1,
            _ => return None,
        };
        let window = &bytes[name..bytes.len().min(name + TAG_BYTES_MAX)];
        memchr::memchr(b'>', window).map(|end| name + end + 1)
    }
}

pub(super) fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | b'@')
}

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'@' | b'-' | b'.')
}
