//! Whether a text is JSON, and whether that JSON speaks JSON-LD or is a JSON Feed.
//!
//! Looks at the beginning only and never recurses. Broken JSON with a JSON-LD key in it still counts:
//! whoever reads it will say what is broken.

/// What a text looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// JSON with `@context`, `@graph`, `@id` or `@type` near the top.
    Linked,
    /// JSON whose `version` is one of JSON Feed's.
    Feed,
    /// JSON.
    Json,
    /// Something else.
    Other,
}

/// Keys are looked for this deep: `[{"@id": …}]` and `{"@graph": [{…}]}` have theirs within two.
const DEPTH_MAX: u32 = 3;
/// And among this many.
const KEYS_MAX: usize = 256;

pub(crate) fn shape(text: &str) -> Shape {
    let bytes = text.trim_start_matches('\u{feff}').trim_ascii_start().as_bytes();
    let Some(&first) = bytes.first() else { return Shape::Other };
    let second = bytes[1..].iter().copied().find(|byte| !byte.is_ascii_whitespace());
    let plausible = match (first, second) {
        (b'{', Some(b'"' | b'}')) => true,
        // `[] a :Thing` is Turtle, so an empty array must be all there is.
        (b'[', Some(b']')) => bytes.iter().filter(|byte| !byte.is_ascii_whitespace()).count() == 2,
        (b'[', Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9')) => true,
        // `[ true, …` against Turtle's `[ title "…" ]`: rare enough to ask for the whole word.
        (b'[', Some(b't' | b'f' | b'n')) => {
            let rest = bytes[1..].trim_ascii_start();
            [&b"true"[..], b"false", b"null"].iter().any(|word| {
                rest.strip_prefix(*word)
                    .is_some_and(|rest| matches!(rest.trim_ascii_start().first(), Some(b',' | b']')))
            })
        }
        _ => false,
    };
    if !plausible {
        return Shape::Other;
    }

    let mut depth = 0_u32;
    let mut keys = 0;
    let mut index = 0;
    while index < bytes.len() && keys < KEYS_MAX {
        match bytes[index] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let start = index + 1;
                index = start;
                while index < bytes.len() && bytes[index] != b'"' {
                    index += if bytes[index] == b'\\' { 2 } else { 1 };
                }
                let name = bytes.get(start..index.min(bytes.len())).unwrap_or_default();
                let after = bytes.get(index + 1..).unwrap_or_default();
                let is_key = after.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                if is_key && depth <= DEPTH_MAX {
                    keys += 1;
                    if matches!(name, b"@context" | b"@graph" | b"@id" | b"@type") {
                        return Shape::Linked;
                    }
                    if depth == 1 && name == b"version" && is_feed_version(after) {
                        return Shape::Feed;
                    }
                }
            }
            _ => {}
        }
        index += 1;
    }
    Shape::Json
}

/// True for `: "https://jsonfeed.org/version/…"`.
fn is_feed_version(after_key: &[u8]) -> bool {
    let value = after_key.trim_ascii_start().strip_prefix(b":").unwrap_or_default().trim_ascii_start();
    let value = value.strip_prefix(b"\"http").unwrap_or_default();
    let value = value.strip_prefix(b"s").unwrap_or(value);
    // Some writers escape every solidus.
    [&b"://jsonfeed.org/version/"[..], b":\\/\\/jsonfeed.org\\/version\\/", b"://www.jsonfeed.org/version/"]
        .iter()
        .any(|start| value.starts_with(start))
}
