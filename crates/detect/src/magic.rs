//! Signatures of binary formats, for the media type of what nobody here will read.

/// Offset, bytes, media type. The first match counts.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\x01\0", "image/x-icon"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"%!PS-Adobe-", "application/postscript"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"OTTO", "font/otf"),
    (0, b"\0\x01\0\0", "font/ttf"),
    (0, b"\0asm", "application/wasm"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
];

/// The media type of a body that begins with a known signature.
pub(crate) fn media_type(body: &[u8]) -> Option<&'static str> {
    SIGNATURES
        .iter()
        .find(|&&(offset, bytes, media_type)| {
            body.get(offset..).is_some_and(|rest| rest.starts_with(bytes))
                // Signatures of letters only could begin a text, so they must be followed by what no text holds.
                && (!bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
                    || media_type == "application/pdf"
                    || media_type == "application/postscript"
                    || has_binary_bytes(body))
        })
        .map(|&(_, _, media_type)| media_type)
}

/// True when the first bytes hold one that no text holds, by the WHATWG's table of binary data bytes.
pub(crate) fn has_binary_bytes(body: &[u8]) -> bool {
    body.iter().take(1445).any(|byte| matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

/// The pictures that have a reader.
pub(crate) fn is_readable_image(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/tiff")
}
