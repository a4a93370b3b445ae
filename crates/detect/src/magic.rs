//! Signatures of binary formats, for the media type of what nobody here will read.

/// Offset, bytes, media type. The first match counts. The standard's tables, and formats it leaves out.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBPVP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (8, b"AIFF", "audio/aiff"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftypheic", "image/heic"),
    (4, b"ftypM4A", "audio/mp4"),
    (4, b"ftyp", "video/mp4"),
    (0, b"OggS\0", "application/ogg"),
    (0, b"MThd\0\0\0\x06", "audio/midi"),
    (0, b".snd", "audio/basic"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"\0\0\x01\0", "image/x-icon"),
    (0, b"\0\0\x02\0", "image/x-icon"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"%!PS-Adobe-", "application/postscript"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b\x08", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (0, b"wOFF", "font/woff"),
    (0, b"wOF2", "font/woff2"),
    (0, b"OTTO", "font/otf"),
    (0, b"ttcf", "font/collection"),
    (0, b"\0\x01\0\0", "font/ttf"),
    (34, b"LP", "application/vnd.ms-fontobject"),
    (0, b"\0asm", "application/wasm"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
];

/// Files that hold other formats, and how they begin.
const CONTAINERS: &[(&[u8], &[&str])] =
    &[(b"RIFF", &["image/webp", "audio/wav", "video/x-msvideo"]), (b"FORM", &["audio/aiff"])];

/// The media type of a body that begins with a known signature.
pub(crate) fn media_type(body: &[u8]) -> Option<&'static str> {
    let found = SIGNATURES.iter().find(|&&(offset, bytes, media_type)| {
        let container = CONTAINERS.iter().find(|(_, members)| members.contains(&media_type));
        body.get(offset..).is_some_and(|rest| rest.starts_with(bytes))
            && container.is_none_or(|(start, _)| body.starts_with(start))
            // Signatures of letters only could begin a text, so they must be followed by what no text holds.
            && (!bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
                || media_type == "application/pdf"
                || media_type == "application/postscript"
                || has_binary_bytes(body))
    });
    match found {
        Some(&(_, _, media_type)) => Some(media_type),
        None => matroska(body).or_else(|| is_mp3(body).then_some("audio/mpeg")),
    }
}

/// WebM and Matroska are EBML with a name of their own a little further on.
fn matroska(body: &[u8]) -> Option<&'static str> {
    let head = body.strip_prefix(b"\x1a\x45\xdf\xa3")?;
    let head = &head[..head.len().min(64)];
    let position = memchr::memmem::find(head, b"\x42\x82")?;
    // The length of the name, in as many bytes as its first one says.
    let length = head.get(position + 2)?.leading_zeros() as usize + 1;
    let name = head.get(position + 2 + length..)?;
    if name.starts_with(b"webm") {
        Some("video/webm")
    } else if name.starts_with(b"matroska") {
        Some("video/x-matroska")
    } else {
        None
    }
}

/// MP3 without a tag before it: two frames in a row, by the standard's arithmetic.
fn is_mp3(body: &[u8]) -> bool {
    let Some(length) = mp3_frame_bytes(body) else { return false };
    body.get(length..).is_some_and(|rest| mp3_frame_bytes(rest).is_some())
}

fn mp3_frame_bytes(frame: &[u8]) -> Option<usize> {
    const RATES: [[usize; 15]; 2] = [
        [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
        [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    ];
    let &[sync, second, third, _] = frame.first_chunk::<4>()?;
    if sync != 0xff || second & 0xe0 != 0xe0 {
        return None;
    }
    let version = second >> 3 & 3;
    // Layer 3 only, and a version that is not reserved.
    if second >> 1 & 3 != 1 || version == 1 {
        return None;
    }
    let is_first_version = version == 3;
    let kilobits =
        *RATES[usize::from(!is_first_version)].get(usize::from(third >> 4)).filter(|rate| **rate > 0)?;
    let hertz = *[44_100_usize, 48_000, 32_000].get(usize::from(third >> 2 & 3))?
        / match version {
            3 => 1,
            2 => 2,
            _ => 4,
        };
    let scale = if is_first_version { 144 } else { 72 };
    let length = kilobits * 1000 * scale / hertz + usize::from(third >> 1 & 1);
    (length > 4).then_some(length)
}

/// True when the first bytes hold one that no text holds, by the WHATWG's table of binary data bytes.
pub(crate) fn has_binary_bytes(body: &[u8]) -> bool {
    body.iter().take(1445).any(|byte| matches!(byte, 0x00..=0x08 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f))
}

/// The pictures that have a reader.
pub(crate) fn is_readable_image(media_type: &str) -> bool {
    matches!(media_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "image/tiff")
}
