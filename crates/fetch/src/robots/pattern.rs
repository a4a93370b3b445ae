//! Paths, and the patterns of robots.txt that match them.
//!
//! In: the value of an `Allow` or `Disallow`, and a path with its query. Out: whether the one covers the other. A
//! pattern covers every path that begins with it; `*` stands for any bytes, `$` at the end for the end of the path.
//! Matching takes time linear in path and pattern together, whatever stars there are: after each star the earliest place
//! of what follows is as good as any later one. Both sides can be written in two ways, see [`Form`].

use std::borrow::Cow;

use memchr::memmem;

/// How paths and patterns are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Byte by byte, as RFC 9309's reference parser does: in patterns, bytes beyond ASCII count as escaped and escapes as
    /// written in capitals; a URL counts as it is given.
    Literal,
    /// By meaning, as RFC 9309 asks: on both sides, escapes of letters, digits and `-._~` count as these, and what our
    /// URLs escape counts as escaped.
    Normal,
}

impl Form {
    /// A pattern in this form.
    pub fn of_pattern(self, pattern: &[u8]) -> Vec<u8> {
        match self {
            Self::Literal => literal(pattern),
            Self::Normal => normal_pattern(pattern),
        }
    }
}

/// Whether the pattern covers the path. Both must be in the same form.
pub(super) fn covers(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, to_the_end) = match pattern.strip_suffix(b"$") {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split(|byte| *byte == b'*');
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    // The last part has the end of the path to mind, so it is kept back until it is known to be the last.
    let Some(mut held) = parts.next() else {
        return !to_the_end || rest.is_empty();
    };
    for part in parts {
        match memmem::find(rest, held) {
            Some(place) => rest = &rest[place + held.len()..],
            None => return false,
        }
        held = part;
    }
    if to_the_end { rest.ends_with(held) } else { memmem::find(rest, held).is_some() }
}

/// Path and query of a URL that need not be a whole one: `//host/path`, `host/path` and `/path` will do. What has no
/// path has `/`. The fragment does not count.
pub fn path_of_url(url: &str) -> Cow<'_, str> {
    let begins_path = |c: char| matches!(c, '/' | '?' | ';');
    let url = url.strip_prefix("//").unwrap_or(url);
    let authority = match (url.find("://"), url.find(begins_path)) {
        // The colon and slashes are part of a path or query that has begun already.
        (Some(scheme), Some(path)) if path < scheme => url,
        (Some(scheme), _) => &url[scheme + 3..],
        (None, _) => url,
    };
    let before_fragment = &authority[..authority.find('#').unwrap_or(authority.len())];
    match before_fragment.find(begins_path) {
        Some(start) if before_fragment.as_bytes()[start] == b'/' => Cow::Borrowed(&before_fragment[start..]),
        Some(start) => Cow::Owned(format!("/{}", &before_fragment[start..])),
        None => Cow::Borrowed("/"),
    }
}

fn literal(pattern: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, escaped_byte(after)) {
            (b'%', Some(escaped)) => {
                push_escape(&mut written, escaped);
                rest = &after[2..];
            }
            (0x80.., _) => push_escape(&mut written, byte),
            _ => written.push(byte),
        }
    }
    written
}

/// The normal form of a path. Here `*` and `$` are bytes like others, which patterns have to write escaped.
pub(super) fn normal_path(path: &[u8]) -> Vec<u8> {
    normal(path, |byte, _| matches!(byte, b'*' | b'$'))
}

/// The normal form of a pattern. A dollar sign that is not the last byte means itself.
fn normal_pattern(pattern: &[u8]) -> Vec<u8> {
    normal(pattern, |byte, after| byte == b'$' && !after.is_empty())
}

/// The normal form of a text. Escapes of `*` and `$` stay, for bare they may mean something else; which bare ones are escaped is told
/// by the byte and what follows it.
fn normal(text: &[u8], escapes: impl Fn(u8, &[u8]) -> bool) -> Vec<u8> {
    let mut written = Vec::with_capacity(text.len());
    let mut in_query = false;
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        in_query |= byte == b'?';
        match byte {
            b'%' => match escaped_byte(after) {
                Some(escaped) => {
                    if escaped.is_ascii_alphanumeric() || matches!(escaped, b'-' | b'.' | b'_' | b'~') {
                        written.push(escaped);
                    } else {
                        push_escape(&mut written, escaped);
                    }
                    rest = &after[2..];
                }
                None => push_escape(&mut written, byte),
            },
            // What the URL parser and our own normal form escape; `'` in queries only.
            0..=b' '
            | 0x7f..
            | b'"'
            | b'<'
            | b'>'
            | b'\\'
            | b'^'
            | b'`'
            | b'{'
            | b'|'
            | b'}'
            | b'['
            | b']' => {
                push_escape(&mut written, byte);
            }
            b'\'' if in_query => push_escape(&mut written, byte),
            _ if escapes(byte, after) => push_escape(&mut written, byte),
            _ => written.push(byte),
        }
    }
    written
}

/// The byte that two hexadecimal digits stand for.
fn escaped_byte(text: &[u8]) -> Option<u8> {
    let digit = |index: usize| char::from(*text.get(index)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

fn push_escape(text: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns() {
        for (pattern, path, expected) in [
            ("", "/", true),
            ("/", "/a", true),
            ("/fish", "/fish.html", true),
            ("/fish", "/Fish", false),
            ("/fish*", "/fish", true),
            ("/*.php", "/folder/any.php.file.html", true),
            ("/*.php$", "/any.php", true),
            ("/*.php$", "/any.php?x", false),
            ("/*.php$", "/any.php/x.php", true),
            ("/fish*.php", "/fishheads/catfish.php?x", true),
            ("/a$", "/a", true),
            ("/a$", "/ab", false),
            ("/a$b", "/a$bc", true),
            ("/a$b", "/ab", false),
            ("$", "", true),
            ("$", "/", false),
            ("*", "/", true),
            ("*$", "/x", true),
            ("**a**b", "/xaxxb", true),
            ("/a*a", "/a", false),
            ("/a*a$", "/aa", true),
            ("/a*ab$", "/abab", true),
            ("/ab*ab$", "/ab", false),
            ("fish", "/fish", false),
        ] {
            assert_eq!(covers(pattern.as_bytes(), path.as_bytes()), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn paths() {
        for (url, path) in [
            ("", "/"),
            ("http://www.example.com", "/"),
            ("http://www.example.com/", "/"),
            ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
            ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
            ("http://www.example.com#f/a", "/"),
            ("example.com", "/"),
            ("example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
            ("a/b", "/b"),
            ("/a", "/a"),
            ("example.com?a", "/?a"),
            ("example.com/a;b#c", "/a;b"),
            ("//a/b/c", "/b/c"),
            ("/x?u=http://b/", "/x?u=http://b/"),
        ] {
            assert_eq!(path_of_url(url), path, "{url}");
        }
    }

    #[test]
    fn two_forms() {
        for (text, in_literal, in_normal) in [
            ("/a/b", "/a/b", "/a/b"),
            ("/á", "/%C3%A1", "/%C3%A1"),
            ("/%aa", "/%AA", "/%AA"),
            ("/%62%61%7a", "/%62%61%7A", "/baz"),
            ("/a|b^", "/a|b^", "/a%7Cb%5E"),
            ("/100%", "/100%", "/100%25"),
            ("/%2f%2A%24", "/%2F%2A%24", "/%2F%2A%24"),
            ("/it's?'", "/it's?'", "/it's?%27"),
        ] {
            let form = |form: Form| String::from_utf8(form.of_pattern(text.as_bytes())).unwrap();
            assert_eq!((form(Form::Literal), form(Form::Normal)), (in_literal.into(), in_normal.into()));
        }
    }

    #[test]
    fn stars_and_dollars_mean_themselves_when_they_are_escaped() {
        for (pattern, path, expected) in [
            ("/st%2Ar", "/st*r", true),
            ("/st%2ar", "/st%2Ar", true),
            ("/st%2Ar", "/star", false),
            ("/st*r", "/st*r", true),
            ("/e%24", "/e$", true),
            ("/e%24", "/e%24x", true),
            ("/e%24", "/e", false),
            ("/e$", "/e", true),
            ("/e$", "/e$", false),
            ("/a$b", "/a$bc", true),
            ("/a$b", "/a%24bc", true),
            ("/*$", "/any$thing", true),
        ] {
            let pattern = Form::Normal.of_pattern(pattern.as_bytes());
            assert_eq!(covers(&pattern, &normal_path(path.as_bytes())), expected, "{pattern:?} {path}");
        }
    }

    /// What `covers` means, written so that it can be seen to be right, in exponential time.
    fn covers_naively(pattern: &[u8], path: &[u8]) -> bool {
        match (pattern.split_first(), path.split_first()) {
            (None, _) => true,
            (Some((b'$', [])), _) => path.is_empty(),
            (Some((b'*', rest)), _) => (0..=path.len()).any(|skip| covers_naively(rest, &path[skip..])),
            (Some((a, rest)), Some((b, path))) => a == b && covers_naively(rest, path),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn fast_and_naive_agree(pattern in "[ab/*$]{0,9}", path in "/[ab/$]{0,12}") {
            prop_assert_eq!(
                covers(pattern.as_bytes(), path.as_bytes()),
                covers_naively(pattern.as_bytes(), path.as_bytes()),
                "{} {}", pattern, path
            );
        }

        #[test]
        fn normal_forms_stay_as_they_are(text in prop::collection::vec(any::<u8>(), 0..40)) {
            for normal in [normal_path, normal_pattern] {
                let once = normal(&text);
                prop_assert!(once.is_ascii());
                prop_assert_eq!(&normal(&once), &once);
            }
            prop_assert!(literal(&text).is_ascii());
        }

        #[test]
        fn every_text_has_a_path(url in "\\PC{0,40}") {
            prop_assert!(path_of_url(&url).starts_with('/'));
        }
    }

    #[test]
    fn stars_without_end_take_no_time() {
        let pattern = "/*a".repeat(5_000);
        let path = format!("/{}", "a".repeat(2_000));
        assert!(!covers(pattern.as_bytes(), path.as_bytes()));
    }
}
