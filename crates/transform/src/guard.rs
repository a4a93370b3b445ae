//! A reader that stops at a deadline, so that parsers which cannot be interrupted can be starved.

use std::io::{self, Read};
use std::time::Instant;

/// How much a parser gets at once: the work between two looks at the clock.
const PIECE_BYTES: usize = 8 * 1024;

/// Hands out a text in pieces until the deadline.
#[derive(Debug)]
pub(crate) struct DeadlineReader<'a> {
    rest: &'a [u8],
    deadline: Instant,
}

impl<'a> DeadlineReader<'a> {
    pub(crate) fn new(text: &'a str, deadline: Instant) -> Self {
        Self { rest: text.as_bytes(), deadline }
    }
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let count = buffer.len().min(self.rest.len()).min(PIECE_BYTES);
        let (piece, rest) = self.rest.split_at(count);
        buffer[..count].copy_from_slice(piece);
        self.rest = rest;
        Ok(count)
    }
}
