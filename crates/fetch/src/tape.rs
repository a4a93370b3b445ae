//! What crosses the wire, written down for an archive.
//!
//! In: the bytes of HTTP/1 heads as they pass ([`HeadTape`]), and bodies as they come. Out: [`Exchange`]s on a [`Tape`]. HTTP/2 has no
//! bytes that anybody could read as a head, so its fields are written down as they were understood. Names, passwords and
//! whatever else was sent on somebody's behalf stay out of it. Without a tape nothing of this happens.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use webloom_model::{Exchange, Purpose, Truncated};

/// Longest head that is written down; hyper refuses longer ones before.
const HEAD_BYTES_MAX: usize = 1 << 20;

/// Collects exchanges, or nothing when it is off.
#[derive(Debug, Default)]
pub struct Tape {
    is_on: bool,
    exchanges: Vec<Exchange>,
}

impl Tape {
    /// A tape that collects.
    pub fn on() -> Self {
        Self { is_on: true, exchanges: Vec::new() }
    }

    /// A tape that collects nothing and costs nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// True when it collects.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// What was collected, in the order of the requests.
    pub fn into_exchanges(self) -> Vec<Exchange> {
        self.exchanges
    }

    /// What was collected so far. The tape goes on empty.
    pub fn take_exchanges(&mut self) -> Vec<Exchange> {
        std::mem::take(&mut self.exchanges)
    }

    /// The purpose, when it is to be written down.
    pub(crate) fn purpose(&self, purpose: Purpose) -> Option<Purpose> {
        self.is_on.then_some(purpose)
    }

    /// Adds an exchange that was begun, with the body that came.
    pub(crate) fn add(
        &mut self,
        begun: Option<Box<Exchange>>,
        body: Bytes,
        truncated: Option<Truncated>,
        elapsed: Duration,
    ) {
        if let (true, Some(begun)) = (self.is_on, begun) {
            self.exchanges.push(Exchange { body, truncated, elapsed, ..*begun });
        }
    }
}

/// Fields of a head, in the order they were written.
pub(crate) type HeadFields = Vec<(String, Vec<u8>)>;

/// The fields of a head that was never bytes.
pub(crate) fn understood(headers: &HeaderMap) -> HeadFields {
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect()
}

/// First line and fields of a head as it was written. A line that begins with a space belongs to the one before.
pub(crate) fn parse_head(bytes: &[u8]) -> (String, HeadFields) {
    let latin = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect::<String>();
    let mut lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    let first = latin(lines.next().unwrap_or_default());
    let mut fields: HeadFields = Vec::new();
    for line in lines.filter(|line| !line.is_empty()) {
        match (line.first(), fields.last_mut()) {
            (Some(b' ' | b'\t'), Some((_, value))) => {
                value.push(b' ');
                value.extend_from_slice(line.trim_ascii_start());
            }
            _ => {
                let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
                let value = line.get(colon + 1..).unwrap_or_default().trim_ascii();
                fields.push((latin(line[..colon].trim_ascii()), value.to_vec()));
            }
        }
    }
    (first, fields)
}

/// The heads of the exchange that is under way on one HTTP/1 connection.
#[derive(Debug, Default)]
pub(crate) struct HeadTape(Mutex<Heads>);

#[derive(Debug, Default)]
struct Heads {
    sent: Vec<u8>,
    received: Vec<u8>,
    is_complete: bool,
}

impl HeadTape {
    /// Begins with the next exchange.
    pub fn rewind(&self) {
        let mut heads = self.0.lock();
        heads.sent.clear();
        heads.received.clear();
        heads.is_complete = false;
    }

    /// What was sent, and the head that came; nothing when it did not come whole.
    pub fn heads(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let heads = self.0.lock();
        heads.is_complete.then(|| (heads.sent.clone(), heads.received.clone()))
    }

    fn sent(&self, bytes: &[u8]) {
        let mut heads = self.0.lock();
        if !heads.is_complete && heads.sent.len() < HEAD_BYTES_MAX {
            heads.sent.extend_from_slice(bytes);
        }
    }

    fn received(&self, bytes: &[u8]) {
        let mut heads = self.0.lock();
        if heads.is_complete || heads.received.len() >= HEAD_BYTES_MAX {
            return;
        }
        heads.received.extend_from_slice(bytes);
        while let Some(end) = head_end(&heads.received) {
            // "103 Early Hints" and its like come before the answer.
            let is_early =
                heads.received.get(9) == Some(&b'1') && !heads.received.starts_with(b"HTTP/1.1 101");
            if is_early {
                heads.received.drain(..end);
                continue;
            }
            heads.received.truncate(end);
            heads.is_complete = true;
            return;
        }
    }
}

/// Where a head ends, behind its empty line.
fn head_end(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'\n', &bytes[from..]) {
        let next = from + found + 1;
        match &bytes[next..] {
            [b'\n', ..] => return Some(next + 1),
            [b'\r', b'\n', ..] => return Some(next + 2),
            _ => from = next,
        }
    }
    None
}

/// A stream whose heads are written down.
pub(crate) struct Taped<T> {
    pub stream: T,
    pub tape: Option<Arc<HeadTape>>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Taped<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
        if let Some(tape) = &this.tape {
            tape.received(&buffer.filled()[before..]);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Taped<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write(context, bytes))?;
        if let Some(tape) = &this.tape {
            tape.sent(&bytes[..written]);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(Pin::new(&mut this.stream).poll_write_vectored(context, slices))?;
        if let Some(tape) = &this.tape {
            let mut left = written;
            for slice in slices {
                let part = left.min(slice.len());
                tape.sent(&slice[..part]);
                left -= part;
            }
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_however_they_are_cut() {
        let stream = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nX-Odd-CASE : 1\r\nFold: a\r\n b\r\n\r\nbody\r\n\r\n";
        for piece in 1..stream.len() {
            let tape = HeadTape::default();
            tape.sent(b"GET / HTTP/1.1\r\n\r\n");
            stream.chunks(piece).for_each(|bytes| tape.received(bytes));
            let (sent, received) = tape.heads().unwrap();
            assert_eq!(sent, b"GET / HTTP/1.1\r\n\r\n");
            let (first, fields) = parse_head(&received);
            assert_eq!(first, "HTTP/1.1 200 OK");
            let expected = [("X-Odd-CASE", "1"), ("Fold", "a b")];
            let expected = expected.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
            assert_eq!(fields, expected, "in pieces of {piece}");
        }
    }

    #[test]
    fn a_head_that_did_not_come_is_none() {
        let tape = HeadTape::default();
        tape.received(b"HTTP/1.1 200 OK\r\nA: b\r\n");
        assert_eq!(tape.heads(), None);
        tape.received(b"\n");
        assert!(tape.heads().is_some());
        tape.rewind();
        assert_eq!(tape.heads(), None);
    }
}
