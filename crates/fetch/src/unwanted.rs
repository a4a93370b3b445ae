//! Bodies nobody wants: known by their header, or by their first bytes when the header lies.
//!
//! In: a `Content-Type`, or the beginning of a body. Out: the media type that is on the list of unwanted ones, so that the
//! transfer can be broken off. Only what a few bytes say for sure is known here; what a body is, in full, is
//! detection's to say. Start at [`UnwantedTypes`].

use std::fmt;
use std::str::FromStr;

/// Bytes of a body that are looked at before it is read on.
pub(crate) const SNIFF_BYTES: usize = 16;

/// Media types that are not downloaded: `video/*`, `application/zip`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypePattern {
    /// `video/` of `video/*`, or a whole type.
    text: String,
    is_prefix: bool,
}

/// Why a text is not a [`TypePattern`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a media type; write \"video/*\" or \"application/zip\"")]
pub struct TypePatternError(String);

impl FromStr for TypePattern {
    type Err = TypePatternError;

    fn from_str(text: &str) -> Result<Self, TypePatternError> {
        let lower = text.trim().to_ascii_lowercase();
        let is_token = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte))
        };
        match lower.split_once('/') {
            Some((kind, "*")) if is_token(kind) => Ok(Self { text: format!("{kind}/"), is_prefix: true }),
            Some((kind, subtype)) if is_token(kind) && is_token(subtype) => {
                Ok(Self { text: lower, is_prefix: false })
            }
            _ => Err(TypePatternError(text.to_owned())),
        }
    }
}

impl fmt::Display for TypePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.text, if self.is_prefix { "*" } else { "" })
    }
}

/// The list.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnwantedTypes(pub Vec<TypePattern>);

impl UnwantedTypes {
    /// The type a `Content-Type` declares, if it is unwanted.
    pub fn declared(&self, content_type: &str) -> Option<String> {
        let essence = content_type.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase();
        self.holds(&essence).then_some(essence)
    }

    /// The type the first bytes of a body show, if it is unwanted.
    pub fn shown(&self, start: &[u8]) -> Option<String> {
        let shown = signature(start)?;
        self.holds(shown).then(|| shown.to_owned())
    }

    fn holds(&self, essence: &str) -> bool {
        self.0.iter().any(|pattern| match pattern.is_prefix {
            true => essence.starts_with(&pattern.text),
            false => essence == pattern.text,
        })
    }
}

/// Files that begin with the same bytes, always.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"),
    (b"FLV\x01", "video/x-flv"),
    (b"ID3", "audio/mpeg"),
    (b"OggS\x00", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"\x00\x01\x00\x00\x00", "font/ttf"),
    (b"OTTO\x00", "font/otf"),
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-elf"),
    (b"\x00asm", "application/wasm"),
];

/// What the first bytes show beyond doubt.
fn signature(start: &[u8]) -> Option<&'static str> {
    if let Some((_, media_type)) = SIGNATURES.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(media_type);
    }
    // Containers name their contents behind a length.
    match (start.get(..4), start.get(4..8), start.get(8..12)) {
        (_, Some(b"ftyp"), Some(b"avif" | b"heic")) => Some("image/avif"),
        (_, Some(b"ftyp"), Some(b"M4A ")) => Some("audio/mp4"),
        (_, Some(b"ftyp"), _) => Some("video/mp4"),
        (Some(b"RIFF"), _, Some(b"AVI ")) => Some("video/avi"),
        (Some(b"RIFF"), _, Some(b"WAVE")) => Some("audio/wav"),
        (Some(b"RIFF"), _, Some(b"WEBP")) => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(patterns: &[&str]) -> UnwantedTypes {
        UnwantedTypes(patterns.iter().map(|pattern| pattern.parse().unwrap()).collect())
    }

    #[test]
    fn types_are_unwanted_by_name_and_by_kind() {
        let unwanted = list(&["video/*", "Application/ZIP"]);
        for (content_type, expected) in [
            ("video/mp4", Some("video/mp4")),
            ("Video/MP4; codecs=x", Some("video/mp4")),
            (" application/zip", Some("application/zip")),
            ("application/zipped", None),
            ("text/html", None),
            ("", None),
            ("video", None),
        ] {
            assert_eq!(unwanted.declared(content_type).as_deref(), expected, "{content_type}");
        }
        assert_eq!(list(&[]).declared("video/mp4"), None);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "*", "*/*", "video", "video/", "/x", "a b/c", "text/html; charset=utf-8"] {
            assert!(text.parse::<TypePattern>().is_err(), "{text}");
        }
        for text in ["video/*", "application/vnd.ms-excel", "image/svg+xml"] {
            assert_eq!(text.parse::<TypePattern>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bodies_show_what_they_are() {
        let unwanted = list(&["video/*", "audio/*", "image/*", "font/*"]);
        for (start, expected) in [
            (&b"\0\0\0\x20ftypisom\0\0"[..], Some("video/mp4")),
            (b"\0\0\0\x20ftypM4A \0\0", Some("audio/mp4")),
            (b"RIFF\x10\0\0\0WAVEfmt ", Some("audio/wav")),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some("image/webp")),
            (b"\x1a\x45\xdf\xa3....", Some("video/webm")),
            (b"<!doctype html>", None),
            (b"@prefix a: <b> .", None),
            (b"PK\x03\x04", None),
            (b"", None),
            (b"RIFF", None),
        ] {
            assert_eq!(unwanted.shown(start).as_deref(), expected, "{start:?}");
        }
    }
}
