//! From the bytes of a robots.txt to its directives.
//!
//! In: bytes, in whatever encoding and with whatever line ends. Out: the lines that say something, as a key, a value and a
//! line number. What is forgiven is what RFC 9309's reference parser forgives: a byte order mark or half of one, a missing
//! colon, misspelt keys, lines that are too long. What the directives mean together is `rules.rs`'s business.

/// Longest line that is read, in bytes; the rest of a longer one says nothing. Eight times the longest URL old
/// browsers took, for that is what percent-encoding and comments may make of it.
const LINE_BYTES_MAX: usize = 8 * 2083 - 1;

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    RequestRate,
    Sitemap,
}

/// Keys by how they begin, in lower case, with the ways people misspell them.
const SPELLINGS: [(&str, Key); 14] = [
    ("user-agent", Key::UserAgent),
    ("useragent", Key::UserAgent),
    ("user agent", Key::UserAgent),
    ("allow", Key::Allow),
    ("disallow", Key::Disallow),
    ("dissallow", Key::Disallow),
    ("dissalow", Key::Disallow),
    ("disalow", Key::Disallow),
    ("diasllow", Key::Disallow),
    ("disallaw", Key::Disallow),
    ("crawl-delay", Key::CrawlDelay),
    ("request-rate", Key::RequestRate),
    ("sitemap", Key::Sitemap),
    ("site-map", Key::Sitemap),
];

impl Key {
    fn read(text: &[u8]) -> Option<Self> {
        let starts =
            |begin: &str| text.get(..begin.len()).is_some_and(|s| s.eq_ignore_ascii_case(begin.as_bytes()));
        SPELLINGS.iter().find(|(begin, _)| starts(begin)).map(|&(_, key)| key)
    }
}

/// One line that says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Directive<'t> {
    pub key: Key,
    /// Without white space around it.
    pub value: &'t [u8],
    /// From 1.
    pub line: u32,
}

/// The directives of a robots.txt, in order.
pub(super) fn directives(text: &[u8]) -> impl Iterator<Item = Directive<'_>> {
    let mut rest = Some(without_byte_order_mark(text));
    let mut number = 0;
    std::iter::from_fn(move || {
        let text = rest?;
        number += 1;
        let (line, after) = match memchr::memchr2(b'\n', b'\r', text) {
            // A carriage return and a line feed are one end of one line.
            Some(end) if text[end] == b'\r' && text.get(end + 1) == Some(&b'\n') => {
                (&text[..end], Some(&text[end + 2..]))
            }
            Some(end) => (&text[..end], Some(&text[end + 1..])),
            None => (text, None),
        };
        rest = after;
        Some((number, line))
    })
    .filter_map(|(number, line)| directive(line, number))
}

/// The text behind a byte order mark, or behind the part of one that an editor has left.
fn without_byte_order_mark(text: &[u8]) -> &[u8] {
    let mark = b"\xef\xbb\xbf";
    let length = mark.iter().zip(text).take_while(|(mark, byte)| mark == byte).count();
    &text[length..]
}

fn directive(line: &[u8], number: u32) -> Option<Directive<'_>> {
    let line = &line[..line.len().min(LINE_BYTES_MAX)];
    // A NUL ends a line as it ends a text in C, which is what files are checked with.
    let end = memchr::memchr2(b'#', 0, line).unwrap_or(line.len());
    let line = trim(&line[..end]);
    let (key, value) = match memchr::memchr(b':', line) {
        Some(colon) => (trim(&line[..colon]), trim(&line[colon + 1..])),
        None => without_colon(line)?,
    };
    Some(Directive { key: Key::read(key)?, value, line: number })
}

/// A line of two words, where the colon was forgotten. More words are prose, unless the first two are `user agent`.
fn without_colon(line: &[u8]) -> Option<(&[u8], &[u8])> {
    const SPACED: &[u8] = b"user agent";
    if let Some((key, value)) = line.split_at_checked(SPACED.len())
        && key.eq_ignore_ascii_case(SPACED)
        && value.first().is_some_and(|byte| is_blank(*byte))
    {
        return Some((key, trim(value)));
    }
    let gap = line.iter().position(|byte| is_blank(*byte))?;
    let value = trim(&line[gap..]);
    (!value.iter().any(|byte| is_blank(*byte))).then_some((&line[..gap], value))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn trim(text: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | 0x0b | 0x0c | b'\r' | b'\n');
    let start = text.iter().position(|byte| !is_space(byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_space(byte)).map_or(start, |last| last + 1);
    &text[start..end]
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: Expect) {
        let lines: Vec<String> = directives(text)
            .map(|d| format!("{} {:?} {}", d.line, d.key, String::from_utf8_lossy(d.value)))
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn line_ends_of_all_kinds_are_counted_alike() {
        for text in [
            "User-Agent: foo\nAllow: /some/path\nUser-Agent: bar\n\n\nDisallow: /\n",
            "User-Agent: foo\r\nAllow: /some/path\r\nUser-Agent: bar\r\n\r\n\r\nDisallow: /\r\n",
            "User-Agent: foo\rAllow: /some/path\rUser-Agent: bar\r\r\rDisallow: /\r",
            "User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /",
        ] {
            check(
                text.as_bytes(),
                expect![[r#"
                    1 UserAgent foo
                    2 Allow /some/path
                    3 UserAgent bar
                    6 Disallow /"#]],
            );
        }
    }

    #[test]
    fn what_people_write_is_understood() {
        check(
            b"\xef\xbbuser-agent foo\nUSERAGENT:\tbar # us\nuser agent harry potter\nDisalow : /x\nallow-all: /y\n\
              Disallow /two words\nSite-Map:http://a.example/s.xml\nCrawl-delay: 3\nfoo: bar\n: /\nDisallow:\n\xef\xbb\xbfAllow: /no",
            expect![[r#"
                1 UserAgent foo
                2 UserAgent bar
                3 UserAgent harry potter
                4 Disallow /x
                5 Allow /y
                7 Sitemap http://a.example/s.xml
                8 CrawlDelay 3
                11 Disallow "#]],
        );
        check(b"Disallow: /a\0/b\n#\0\nAllow: /c", expect!["1 Disallow /a\n3 Allow /c"]);
    }

    #[test]
    fn the_end_of_a_long_line_is_not_read() {
        let text = format!("Disallow: /{}", "x".repeat(LINE_BYTES_MAX));
        let found = directives(text.as_bytes()).next().unwrap();
        assert_eq!(found.value.len(), LINE_BYTES_MAX - "Disallow: ".len());
    }
}
