//! The line format that vCard and iCalendar share: `group.NAME;PARAMETER=value:value`, long lines folded.
//!
//! Lines come out whole, with the name in capitals and nothing unescaped: what a comma means depends on the property. A line
//! without a colon is no content line and is counted by the caller.

use std::borrow::Cow;

/// A content line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ContentLine<'a> {
    /// The property, in capitals, without its group.
    pub(super) name: String,
    /// Parameters, names in capitals, values without quotes. Version 2.1's bare values are under `TYPE`.
    pub(super) parameters: Vec<(String, String)>,
    /// The value as written.
    pub(super) value: Cow<'a, str>,
    /// Where it begins, from 1.
    pub(super) line: u64,
}

impl ContentLine<'_> {
    /// The first value of a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All values of a parameter, lists taken apart, in lower case.
    pub(super) fn kinds(&self, name: &str) -> Vec<String> {
        self.parameters
            .iter()
            .filter(|(known, _)| known == name)
            .flat_map(|(_, value)| value.split(','))
            .map(|value| value.trim().to_ascii_lowercase())
            .collect()
    }

    /// The value as text: escapes undone.
    pub(super) fn text(&self) -> String {
        unescape(&self.value)
    }

    /// The parts of a structured value, such as a name or an address, escapes undone.
    pub(super) fn parts(&self, separator: char) -> Vec<String> {
        let mut parts = vec![String::new()];
        let mut escaped = false;
        for character in self.value.chars() {
            if character == separator && !escaped {
                parts.push(String::new());
            } else if let Some(part) = parts.last_mut() {
                part.push(character);
            }
            escaped = character == '\\' && !escaped;
        }
        parts.iter().map(|part| unescape(part).trim().to_owned()).collect()
    }
}

/// Content lines in order, and the lines that are none.
pub(super) fn content_lines(text: &str) -> impl Iterator<Item = Result<ContentLine<'_>, u64>> {
    Unfold { text, line: 1 }
        .filter_map(|(line, at)| if line.trim().is_empty() { None } else { Some(parse(line, at).ok_or(at)) })
}

/// Joins lines that were folded.
struct Unfold<'a> {
    text: &'a str,
    line: u64,
}

impl<'a> Iterator for Unfold<'a> {
    type Item = (Cow<'a, str>, u64);

    fn next(&mut self) -> Option<Self::Item> {
        if self.text.is_empty() {
            return None;
        }
        let at = self.line;
        let mut whole = Cow::Borrowed(self.take_line());
        loop {
            // In version 2.1 a quoted-printable value goes on after a `=` at the end of the line.
            let soft = whole.ends_with('=') && whole.to_ascii_uppercase().contains("QUOTED-PRINTABLE");
            if soft {
                let whole = whole.to_mut();
                whole.pop();
                whole.push_str(self.take_line());
                if self.text.is_empty() {
                    break;
                }
            } else if self.text.starts_with([' ', '\t']) {
                let next = self.take_line();
                whole.to_mut().push_str(&next[1..]);
            } else {
                break;
            }
        }
        Some((whole, at))
    }
}

impl<'a> Unfold<'a> {
    fn take_line(&mut self) -> &'a str {
        let end = memchr::memchr(b'\n', self.text.as_bytes());
        let line = &self.text[..end.unwrap_or(self.text.len())];
        self.text = end.map_or("", |end| &self.text[end + 1..]);
        self.line += 1;
        line.strip_suffix('\r').unwrap_or(line)
    }
}

fn parse(line: Cow<'_, str>, at: u64) -> Option<ContentLine<'_>> {
    // The colon that ends the name and its parameters: not one in quotes.
    let mut quoted = false;
    let colon = line.bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b':' && !quoted
    })?;
    let mut words = split_unquoted(&line[..colon], ';').into_iter();
    let name = words.next()?.trim();
    let name = name.rsplit('.').next().unwrap_or(name).to_ascii_uppercase();
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    {
        return None;
    }
    let parameters: Vec<(String, String)> = words
        .map(|word| match word.split_once('=') {
            Some((name, value)) => {
                let value = if value.contains('"') { value.replace('"', "") } else { value.to_owned() };
                (name.trim().to_ascii_uppercase(), value)
            }
            None => ("TYPE".to_owned(), word.trim().to_owned()),
        })
        .collect();
    let is_quoted_printable = parameters.iter().any(|(name, value)| {
        value.eq_ignore_ascii_case("quoted-printable") && (name == "ENCODING" || name == "TYPE")
    });
    let value = match line {
        Cow::Borrowed(line) => Cow::Borrowed(&line[colon + 1..]),
        Cow::Owned(line) => Cow::Owned(line[colon + 1..].to_owned()),
    };
    let value = if is_quoted_printable { Cow::Owned(quoted_printable(&value)) } else { value };
    Some(ContentLine { name, parameters, value, line: at })
}

fn split_unquoted(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(|character| {
        quoted ^= character == '"';
        character == separator && !quoted
    })
    .collect()
}

fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 'N') => out.push('\n'),
                Some(other @ (',' | ';' | ':' | '\\' | '"')) => out.push(other),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            other => out.push(other),
        }
    }
    out
}

fn quoted_printable(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'=')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Taken = (String, Vec<(String, String)>, String);

    fn lines(text: &str) -> Vec<Taken> {
        content_lines(text)
            .filter_map(Result::ok)
            .map(|line| (line.name.clone(), line.parameters.clone(), line.text()))
            .collect()
    }

    #[test]
    fn lines_are_unfolded_and_taken_apart() {
        let none = Vec::new;
        let one = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        for (given, expected) in [
            ("FN:Ann", vec![("FN".to_owned(), none(), "Ann".to_owned())]),
            ("item1.fn:Ann\r\n", vec![("FN".to_owned(), none(), "Ann".to_owned())]),
            ("NOTE:one\r\n  two\r\n\tthree", vec![("NOTE".to_owned(), none(), "one twothree".to_owned())]),
            ("TEL;HOME:1", vec![("TEL".to_owned(), one("TYPE", "HOME"), "1".to_owned())]),
            ("X;P=\"a:b;c\":v", vec![("X".to_owned(), one("P", "a:b;c"), "v".to_owned())]),
            ("NOTE:a\\, b\\n\\\\c\\x", vec![("NOTE".to_owned(), none(), "a, b\n\\c\\x".to_owned())]),
            (
                "FN;ENCODING=QUOTED-PRINTABLE:J=C3=B6=\r\nrg=Z",
                vec![("FN".to_owned(), one("ENCODING", "QUOTED-PRINTABLE"), "Jörg=Z".to_owned())],
            ),
            ("no content line", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(lines(given), expected, "{given}");
        }
    }

    #[test]
    fn structured_values_keep_escaped_separators() {
        let line =
            content_lines("N:Miller\\; Sons;Ann;;Dr\\,;").next().expect("a line").expect("well-formed");
        assert_eq!(line.parts(';'), ["Miller; Sons", "Ann", "", "Dr,", ""]);
    }
}
