//! From bytes to text: the byte order mark, then the XML declaration, then UTF-8.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::malformed;
use crate::error::Res;

/// Decodes a document.
pub(crate) fn decode(bytes: &[u8]) -> Res<Cow<'_, str>> {
    let encoding = match bytes {
        [0xef, 0xbb, 0xbf, ..] => return utf8(&bytes[3..]),
        [0xff, 0xfe, ..] => return strict(UTF_16LE, &bytes[2..]),
        [0xfe, 0xff, ..] => return strict(UTF_16BE, &bytes[2..]),
        [b'<', 0, ..] => return strict(UTF_16LE, bytes),
        [0, b'<', ..] => return strict(UTF_16BE, bytes),
        _ => declared(bytes),
    };
    let Some(label) = encoding else { return utf8(bytes) };
    let lower = label.to_ascii_lowercase();
    match lower.as_str() {
        "utf-8" | "utf8" => utf8(bytes),
        // The Encoding Standard reads these as windows-1252; in XML they are what they say.
        "iso-8859-1" | "latin1" | "iso_8859-1" | "us-ascii" | "ascii" => {
            Ok(Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()))
        }
        _ => match Encoding::for_label(label.as_bytes()) {
            // Whoever reads the declaration as bytes cannot be looking at UTF-16.
            Some(encoding) if encoding == UTF_16LE || encoding == UTF_16BE || encoding == UTF_8 => {
                utf8(bytes)
            }
            Some(encoding) => strict(encoding, bytes),
            None => Err(malformed(format!("the encoding `{label}` is not known"))),
        },
    }
}

fn utf8(bytes: &[u8]) -> Res<Cow<'_, str>> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() as u32 + 1;
        let mut error = malformed(format!("byte {} is not UTF-8", error.valid_up_to()));
        error.line = Some(line);
        error
    })
}

fn strict<'b>(encoding: &'static Encoding, bytes: &'b [u8]) -> Res<Cow<'b, str>> {
    encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .ok_or_else(|| malformed(format!("the document is not {}, as it says", encoding.name())))
}

/// The encoding that the XML declaration names.
fn declared(bytes: &[u8]) -> Option<String> {
    if !bytes.starts_with(b"<?xml") {
        return None;
    }
    let end = memchr::memmem::find(&bytes[..bytes.len().min(1024)], b"?>")?;
    let declaration = std::str::from_utf8(&bytes[..end]).ok()?;
    let rest = declaration[declaration.find("encoding")? + 8..].trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
    Some(rest[1..].split(quote).next()?.to_owned())
}
