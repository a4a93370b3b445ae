//! How deep lists and anonymous nodes of Turtle and TriG are nested, told before they are parsed.
//!
//! The parser keeps a frame for every one that is open, and a file of nothing but `(` would fill the memory with them.

use memchr::{memchr, memchr_iter, memchr2};
use webloom_model::Diagnostic;

/// Deeper than anybody nests by hand or by program.
const DEPTH_MAX: usize = 2000;

/// Why a document is not read, if it is too deep.
pub(super) fn refuse(text: &str, code: &'static str) -> Option<Diagnostic> {
    let position = too_deep(text.as_bytes())?;
    let line = memchr_iter(b'\n', &text.as_bytes()[..position]).count() as u64 + 1;
    let message =
        format!("lists and anonymous nodes are nested deeper than {DEPTH_MAX}; the document was not read");
    Some(Diagnostic::error(code, message).at_line(line))
}

/// Where the nesting becomes too deep.
fn too_deep(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest[0] {
            b'(' | b'[' => {
                depth += 1;
                if depth > DEPTH_MAX {
                    return Some(at);
                }
                1
            }
            b')' | b']' => {
                depth = depth.saturating_sub(1);
                1
            }
            // Brackets in comments, names and strings are characters.
            b'#' => memchr(b'\n', rest).unwrap_or(rest.len()),
            b'<' => memchr2(b'>', b'\n', rest).unwrap_or(rest.len()),
            b'\\' => 2,
            quote @ (b'"' | b'\'') => string_length(rest, quote),
            _ => 1,
        };
    }
    None
}

/// The length of the string at the front, quotes included.
fn string_length(bytes: &[u8], quote: u8) -> usize {
    let fence = [quote; 3];
    let long = bytes.starts_with(&fence);
    let mut at = if long { 3 } else { 1 };
    while let Some(next) = memchr2(quote, b'\\', &bytes[at..]) {
        at += next;
        if bytes[at] == b'\\' {
            at = (at + 2).min(bytes.len());
        } else if !long {
            return at + 1;
        } else if bytes[at..].starts_with(&fence) {
            return at + 3;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brackets_that_nest_count() {
        let many = DEPTH_MAX + 1;
        for (text, deep) in [
            ("[ ".repeat(many), true),
            ("( ".repeat(many), true),
            ("() [] ".repeat(many), false),
            (format!("<a> <b> \"{}\" .", "(".repeat(many)), false),
            (format!("<a> <b> '''{}''' .", "'(".repeat(many)), false),
            (format!("<a> <b> \"\\\"{}\" .", "(".repeat(many)), false),
            (format!("# {}\n<a> <b> <c> .", "(".repeat(many)), false),
            (format!("<http://x/{}> <b> <c> .", "(".repeat(many)), false),
            (format!("<a> <b> \"x\", {}", "(".repeat(many)), true),
            ("\"".to_owned(), false),
            ("'''".to_owned(), false),
            ("\\".to_owned(), false),
            ("é(".repeat(10), false),
        ] {
            let beginning: String = text.chars().take(30).collect();
            assert_eq!(too_deep(text.as_bytes()).is_some(), deep, "{beginning}");
        }
    }
}
