//! Compressed files: `sitemap.xml.gz`, `data.nt.gz`.
//!
//! In: a body that begins like gzip. Out: what is in it, within caps, or nothing when it is not gzip after all. A body
//! that breaks off or is too large gives what came before, and a diagnostic. Content encodings, which belong to the
//! transfer, are undone by `fetch`; a file that *is* compressed is this module's.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use webloom_model::Diagnostic;

/// Most that is unpacked of one file.
const UNPACKED_BYTES_MAX: u64 = 64 << 20;
/// Most that is unpacked of one byte. Lists of URLs and quads reach 30, and only bombs come near the format's 1030.
const RATIO_MAX: u64 = 300;
/// What any file may unpack to, however small it is.
const UNPACKED_BYTES_FREE: u64 = 1 << 20;

/// True when a body begins like a gzip file.
pub(crate) fn is_packed(body: &[u8]) -> bool {
    body.starts_with(b"\x1f\x8b\x08")
}

/// What is at the beginning of a packed body, at most `bytes_max` bytes of it.
pub(crate) fn head(body: &[u8], bytes_max: usize) -> Vec<u8> {
    let mut head = Vec::new();
    // A broken file shows what it has; the whole of it is judged later.
    let _ = MultiGzDecoder::new(body).take(bytes_max as u64).read_to_end(&mut head);
    head
}

/// How much room the content of a packed body needs, by the length its last member names, so that it is not copied as it
/// grows. A file of several members grows all the same.
fn announced(body: &[u8], bytes_max: u64) -> usize {
    let length = body.last_chunk::<4>().map_or(0, |length| u32::from_le_bytes(*length));
    // One byte more, where the reader sees the end.
    usize::try_from(u64::from(length).min(bytes_max) + 1).unwrap_or_default()
}

/// Everything in a packed body, and what was wrong with it.
pub(crate) fn whole(body: &[u8]) -> (Vec<u8>, Option<Diagnostic>) {
    let bytes_max =
        UNPACKED_BYTES_MAX.min(UNPACKED_BYTES_FREE.max((body.len() as u64).saturating_mul(RATIO_MAX)));
    let mut content = Vec::with_capacity(announced(body, bytes_max));
    let result = MultiGzDecoder::new(body).take(bytes_max + 1).read_to_end(&mut content);
    let diagnostic = if content.len() as u64 > bytes_max {
        content.truncate(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        let message = format!("the compressed file holds more than {bytes_max} bytes; the rest was left out");
        Some(Diagnostic::warning("body-cut", message))
    } else {
        result.err().map(|error| {
            let message = format!("the compressed file is broken after {} bytes: {error}", content.len());
            Diagnostic::warning("broken-compression", message)
        })
    };
    (content, diagnostic)
}
