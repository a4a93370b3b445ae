//! Content encodings, undone under caps.
//!
//! In: bytes and the values of `Content-Encoding`. Out: the bytes before encoding, as many as could be
//! decoded and no more than the cap. Decoders are chained over any buffered reader and work in a stream; each
//! stage between two decoders is capped as well, because a small body can expand in the first stage
//! and vanish in the second. What servers mislabel is forgiven where a browser would forgive it. The reading loop over
//! the network is in `body`; [`decode_capped`] is the same for bytes at hand.

use std::io::{self, Cursor};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};

use async_compression::tokio::bufread;
use async_compression::zstd::DParameter;
use futures_util::FutureExt;
use tokio::io::{AsyncBufRead, AsyncRead, AsyncReadExt, BufReader, ReadBuf};
use webloom_model::Diagnostic;

/// Encodings one body may be wrapped in.
const CHAIN_MAX: usize = 3;

/// Windows of up to 8 MiB, what RFC 9659 lets an HTTP sender use. The library's own limit is 128 MiB.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// A content encoding that can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// `gzip`, `x-gzip`.
    Gzip,
    /// `deflate`: zlib as the standard says, or raw as some servers send.
    Deflate,
    /// `br`.
    Brotli,
    /// `zstd`.
    Zstd,
}

impl Encoding {
    /// The encoding of that name, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        const NAMES: [(&str, Encoding); 6] = [
            ("gzip", Encoding::Gzip),
            ("x-gzip", Encoding::Gzip),
            ("deflate", Encoding::Deflate),
            ("x-deflate", Encoding::Deflate),
            ("br", Encoding::Brotli),
            ("zstd", Encoding::Zstd),
        ];
        NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|&(_, encoding)| encoding)
    }

    /// The registered name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// What became of encoded bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// What could be decoded, cut at the cap.
    pub bytes: Vec<u8>,
    /// What was wrong with the encoding.
    pub diagnostics: Vec<Diagnostic>,
}

/// Undoes `encoding` (a `Content-Encoding` value such as `gzip` or `gzip, br`), giving at most `bytes_max` bytes.
///
/// Never fails: an unknown encoding leaves the bytes as they are, a broken one gives what could be decoded,
/// and a diagnostic says so.
pub fn decode_capped(encoding: &str, bytes: &[u8], bytes_max: u64) -> Decoded {
    let mut diagnostics = Vec::new();
    let encodings = chain_or_diagnostic([encoding].into_iter(), &mut diagnostics);
    let overrun = Overrun::default();
    let decode = async {
        let mut decoded = Vec::new();
        let reader = open(Box::new(bytes), &encodings, bytes_max, &overrun, &mut diagnostics).await;
        let result = match reader {
            Ok(reader) => reader.take(bytes_max.saturating_add(1)).read_to_end(&mut decoded).await.map(drop),
            Err(error) => Err(error),
        };
        (decoded, result)
    };
    // Bytes at hand are always ready, so one poll goes all the way.
    let (mut decoded, result) = decode
        .now_or_never()
        .unwrap_or_else(|| (Vec::new(), Err(io::Error::other("the decoder stopped half-way"))));
    if decoded.len() as u64 > bytes_max || overrun.get() {
        decoded.truncate(usize::try_from(bytes_max).unwrap_or(usize::MAX));
        diagnostics.push(cut_diagnostic("decoded", bytes_max));
    } else if let Err(error) = result {
        diagnostics.push(broken_diagnostic(&error));
    }
    Decoded { bytes: decoded, diagnostics }
}

/// The encodings in the order they were applied. What cannot be undone is an empty chain and a diagnostic.
pub(crate) fn chain_or_diagnostic<'a>(
    values: impl Iterator<Item = &'a str>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Encoding> {
    let mut chain = Vec::new();
    for name in values.flat_map(|value| value.split(',')).map(str::trim) {
        if name.is_empty() || name.eq_ignore_ascii_case("identity") {
            continue;
        }
        let Some(encoding) = Encoding::from_name(name) else {
            let name = name.escape_debug();
            diagnostics.push(Diagnostic::warning(
                "unknown-encoding",
                format!("content encoding `{name}` is unknown; the body is kept as it came"),
            ));
            return Vec::new();
        };
        chain.push(encoding);
    }
    if chain.len() > CHAIN_MAX {
        diagnostics.push(Diagnostic::warning(
            "unknown-encoding",
            format!("more than {CHAIN_MAX} content encodings; the body is kept as it came"),
        ));
        return Vec::new();
    }
    chain
}

pub(crate) fn cut_diagnostic(what: &str, bytes_max: u64) -> Diagnostic {
    Diagnostic::warning("body-cut", format!("the {what} body is longer than {bytes_max} bytes and was cut"))
}

pub(crate) fn broken_diagnostic(error: &io::Error) -> Diagnostic {
    let reason = if error.kind() == io::ErrorKind::UnexpectedEof {
        "it ends too early".to_owned()
    } else {
        error.to_string()
    };
    Diagnostic::warning("broken-compression", format!("the compressed body is broken: {reason}"))
}

/// Something to decode from.
pub(crate) type Reader<'a> = Box<dyn AsyncBufRead + Send + Unpin + 'a>;

/// Set when a stage between two decoders reached its cap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrun(Arc<AtomicBool>);

impl Overrun {
    pub fn get(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Puts the decoders for `encodings` (in the order they were applied) on top of `reader`.
///
/// Reads the first bytes of every stage, so it waits and fails like a read.
pub(crate) async fn open<'a>(
    mut reader: Reader<'a>,
    encodings: &[Encoding],
    stage_bytes_max: u64,
    overrun: &Overrun,
    diagnostics: &mut Vec<Diagnostic>,
) -> io::Result<Reader<'a>> {
    for (stage, encoding) in encodings.iter().rev().enumerate() {
        if stage > 0 {
            reader = Box::new(StageCap { reader, left: stage_bytes_max, overrun: overrun.clone() });
        }
        let mut start = Vec::with_capacity(4);
        (&mut reader).take(4).read_to_end(&mut start).await?;
        // A body of no bytes (204, say) is no broken compression.
        if start.is_empty() {
            return Ok(reader);
        }
        // Chrome, too, shows a page whose server says gzip and sends none.
        let mislabelled = match encoding {
            Encoding::Gzip => !b"\x1f\x8b".starts_with(&start[..start.len().min(2)]),
            Encoding::Zstd => !is_zstd(&start),
            Encoding::Deflate | Encoding::Brotli => false,
        };
        let is_zlib = is_zlib(&start);
        reader = Box::new(Cursor::new(start).chain(reader));
        if mislabelled {
            diagnostics.push(Diagnostic::note(
                "not-compressed",
                format!("the body is said to be {} but is not", encoding.as_str()),
            ));
            continue;
        }
        reader = match encoding {
            Encoding::Gzip => {
                let mut decoder = bufread::GzipDecoder::new(reader);
                decoder.multiple_members(true);
                Box::new(BufReader::new(decoder))
            }
            Encoding::Deflate if is_zlib => Box::new(BufReader::new(bufread::ZlibDecoder::new(reader))),
            Encoding::Deflate => Box::new(BufReader::new(bufread::DeflateDecoder::new(reader))),
            Encoding::Brotli => Box::new(BufReader::new(bufread::BrotliDecoder::new(reader))),
            Encoding::Zstd => {
                let parameters = [DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX)];
                let mut decoder = bufread::ZstdDecoder::with_params(reader, &parameters);
                decoder.multiple_members(true);
                Box::new(BufReader::new(decoder))
            }
        };
    }
    Ok(reader)
}

/// RFC 1950: method 8, a window of at most 32 KiB, and a checksum over the two bytes.
fn is_zlib(start: &[u8]) -> bool {
    match start {
        [method, flags, ..] => {
            method & 0x0f == 8
                && method >> 4 <= 7
                && (u16::from(*method) << 8 | u16::from(*flags)).is_multiple_of(31)
        }
        _ => false,
    }
}

/// RFC 8878: a frame, or one of the sixteen skippable frames.
fn is_zstd(start: &[u8]) -> bool {
    const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    FRAME.starts_with(start) || matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

/// Ends a stage at its cap, and remembers that it did.
struct StageCap<R> {
    reader: R,
    left: u64,
    overrun: Overrun,
}

impl<R: AsyncBufRead + Unpin> AsyncBufRead for StageCap<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        let left = usize::try_from(this.left).unwrap_or(usize::MAX);
        let filled = ready!(Pin::new(&mut this.reader).poll_fill_buf(context))?;
        if left == 0 && !filled.is_empty() {
            this.overrun.0.store(true, Relaxed);
        }
        Poll::Ready(Ok(&filled[..filled.len().min(left)]))
    }

    fn consume(self: Pin<&mut Self>, amount: usize) {
        let this = self.get_mut();
        this.left = this.left.saturating_sub(amount as u64);
        Pin::new(&mut this.reader).consume(amount);
    }
}

impl<R: AsyncBufRead + Unpin> AsyncRead for StageCap<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = ready!(self.as_mut().poll_fill_buf(context))?;
        let amount = filled.len().min(buffer.remaining());
        buffer.put_slice(&filled[..amount]);
        self.consume(amount);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use async_compression::tokio::bufread::{
        BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder,
    };
    use proptest::prelude::*;

    use super::*;

    fn encode(name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut encoded = Vec::new();
        let reader: Reader<'_> = match name {
            "gzip" => Box::new(BufReader::new(GzipEncoder::new(bytes))),
            "zlib" => Box::new(BufReader::new(ZlibEncoder::new(bytes))),
            "raw" => Box::new(BufReader::new(DeflateEncoder::new(bytes))),
            "br" => Box::new(BufReader::new(BrotliEncoder::new(bytes))),
            "zstd" => Box::new(BufReader::new(ZstdEncoder::new(bytes))),
            other => unreachable!("{other}"),
        };
        let mut reader = reader;
        reader.read_to_end(&mut encoded).now_or_never().unwrap().unwrap();
        encoded
    }

    fn codes(decoded: &Decoded) -> Vec<&str> {
        decoded.diagnostics.iter().map(|diagnostic| diagnostic.code.as_ref()).collect()
    }

    const TEXT: &[u8] = b"<p>Plain text, a little repetitive, a little repetitive.</p>";

    #[test]
    fn every_encoding_is_undone() {
        for (header, encoders) in [
            ("gzip", &["gzip"][..]),
            ("X-GZip", &["gzip"]),
            ("deflate", &["zlib"]),
            ("deflate", &["raw"]),
            ("br", &["br"]),
            ("zstd", &["zstd"]),
            ("identity", &[]),
            ("", &[]),
            ("gzip, br", &["gzip", "br"]),
            ("br,gzip", &["br", "gzip"]),
            ("identity, zstd ,, gzip", &["zstd", "gzip"]),
            ("deflate, zstd, br", &["zlib", "zstd", "br"]),
        ] {
            let encoded = encoders.iter().fold(TEXT.to_vec(), |bytes, name| encode(name, &bytes));
            let decoded = decode_capped(header, &encoded, 1000);
            assert_eq!(decoded.bytes, TEXT, "{header}");
            assert_eq!(decoded.diagnostics, [], "{header}");
        }
    }

    #[test]
    fn what_cannot_be_undone_is_kept() {
        for header in ["compress", "gzip, aws-chunked", "utf-8", "gzip, gzip, gzip, gzip", "\u{7f}"] {
            let decoded = decode_capped(header, TEXT, 1000);
            assert_eq!(decoded.bytes, TEXT, "{header}");
            assert_eq!(codes(&decoded), ["unknown-encoding"], "{header}");
        }
        for header in ["gzip", "zstd"] {
            let decoded = decode_capped(header, TEXT, 1000);
            assert_eq!(decoded.bytes, TEXT, "{header}");
            assert_eq!(codes(&decoded), ["not-compressed"], "{header}");
        }
    }

    #[test]
    fn empty_bodies_are_fine() {
        for header in ["gzip", "deflate", "br", "zstd", "gzip, br"] {
            assert_eq!(
                decode_capped(header, b"", 10),
                Decoded { bytes: Vec::new(), diagnostics: Vec::new() }
            );
        }
    }

    #[test]
    fn several_members_are_one_body() {
        let members = [encode("gzip", b"one "), encode("gzip", b""), encode("gzip", b"two")].concat();
        assert_eq!(decode_capped("gzip", &members, 100).bytes, b"one two");
        let frames = [encode("zstd", b"one "), encode("zstd", b"two")].concat();
        assert_eq!(decode_capped("zstd", &frames, 100).bytes, b"one two");
    }

    #[test]
    fn truncated_bodies_give_what_is_there() {
        let text: Vec<u8> = (0..100_000_u32).flat_map(|n| format!("{n} ").into_bytes()).collect();
        for (header, encoder) in [("gzip", "gzip"), ("deflate", "zlib"), ("deflate", "raw"), ("zstd", "zstd")]
        {
            let encoded = encode(encoder, &text);
            let decoded = decode_capped(header, &encoded[..encoded.len() * 9 / 10], 1 << 20);
            assert!(decoded.bytes.len() > text.len() / 2, "{encoder}: {}", decoded.bytes.len());
            assert!(text.starts_with(&decoded.bytes), "{encoder}");
            assert_eq!(codes(&decoded), ["broken-compression"], "{encoder}");
        }
    }

    #[test]
    fn bombs_are_cut() {
        let zeros = vec![0; 30 << 20];
        for encoder in ["gzip", "br", "zstd"] {
            let bomb = encode(encoder, &zeros);
            let decoded = decode_capped(encoder, &bomb, 1 << 20);
            assert_eq!(decoded.bytes.len(), 1 << 20, "{encoder}");
            assert_eq!(codes(&decoded), ["body-cut"], "{encoder}");
        }
    }

    #[test]
    fn a_bomb_that_vanishes_in_the_next_stage_is_cut() {
        // Empty gzip members decode to nothing, however many of them the outer stage unfolds.
        let nothing = encode("gzip", b"").repeat(200_000);
        let bomb = encode("zstd", &nothing);
        assert!(bomb.len() < 10_000, "{}", bomb.len());
        let decoded = decode_capped("gzip, zstd", &bomb, 100_000);
        assert_eq!(decoded.bytes, b"");
        assert_eq!(codes(&decoded), ["body-cut"]);
    }

    #[test]
    fn the_cap_is_exact() {
        let encoded = encode("gzip", &[b'a'; 100]);
        assert_eq!(codes(&decode_capped("gzip", &encoded, 100)), [""; 0]);
        assert_eq!(codes(&decode_capped("gzip", &encoded, 99)), ["body-cut"]);
        assert_eq!(decode_capped("", b"abc", 2).bytes, b"ab");
    }

    proptest! {
        #[test]
        fn garbage_never_panics_and_keeps_the_cap(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            header in prop::sample::select(vec!["gzip", "deflate", "br", "zstd", "br, gzip", "zstd, deflate"]),
            magic in any::<bool>(),
        ) {
            let mut input = match (magic, header) {
                (true, "gzip" | "br, gzip") => vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
                (true, "zstd") => vec![0x28, 0xb5, 0x2f, 0xfd],
                _ => Vec::new(),
            };
            input.extend(bytes);
            prop_assert!(decode_capped(header, &input, 1000).bytes.len() <= 1000);
        }
    }
}
