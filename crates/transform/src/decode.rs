//! From bytes to text, by the charset that detection found. Malformed sequences become U+FFFD and a diagnostic.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use webloom_model::{DetectedPage, Diagnostic};

use crate::Sink;

/// The text of a page, without byte order mark; UTF-8 where no charset was found.
pub(crate) fn decode<'a>(page: &'a DetectedPage, sink: &mut Sink<'_>) -> Cow<'a, str> {
    let (text, diagnostic) = decode_bytes(page.content(), page.detection.charset);
    if let Some(diagnostic) = diagnostic {
        sink.diagnose(diagnostic);
    }
    text
}

/// The same, when what is wrong with it has been said already.
pub(crate) fn text_of(page: &DetectedPage) -> Cow<'_, str> {
    decode_bytes(page.content(), page.detection.charset).0
}

fn decode_bytes<'a>(body: &'a [u8], charset: Option<&str>) -> (Cow<'a, str>, Option<Diagnostic>) {
    let encoding = charset.and_then(|name| Encoding::for_label(name.as_bytes())).unwrap_or(UTF_8);
    // A mark outranks the name, as everywhere on the web.
    let (text, encoding, malformed) = encoding.decode(body);
    let diagnostic = malformed.then(|| {
        let message = format!("some bytes are not {}; they were replaced", encoding.name());
        Diagnostic::warning("invalid-encoding", message)
    });
    (text, diagnostic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_malformed_bytes_are_told() {
        for (body, charset, text, told) in [
            (&b"\xef\xbb\xbf\xc3\xa9"[..], Some("UTF-8"), "é", false),
            (b"caf\xe9", Some("UTF-8"), "caf\u{fffd}", true),
            (b"caf\xe9", Some("windows-1252"), "café", false),
            (b"\xff\xfe\xe9\x00", Some("UTF-16LE"), "é", false),
            (b"plain", None, "plain", false),
            (b"plain", Some("no-such-charset"), "plain", false),
        ] {
            let (decoded, diagnostic) = decode_bytes(body, charset);
            assert_eq!((&*decoded, diagnostic.is_some()), (text, told), "{body:?} as {charset:?}");
        }
    }
}
