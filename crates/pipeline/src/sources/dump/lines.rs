//! Statements that are a line each, some lines at a time.
//!
//! In: a stream of N-Triples or N-Quads. Out: its statements, and an error for each line that is none. Pieces of whole lines are parsed
//! at once; one with a mistake in it is parsed line by line, because behind a missing quote or a broken character the parser finds nothing
//! more.

use std::collections::VecDeque;
use std::io::{self, Read};

use oxrdf::Quad;
use oxrdfio::{RdfFormat, RdfParseError, RdfParser};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 256 << 10;
/// Longest line.
const LINE_BYTES_MAX: usize = 64 << 20;

/// See the module's own words.
pub(super) struct Lines<R> {
    stream: R,
    format: RdfFormat,
    /// What was read and not parsed: the beginning of a line.
    held: Vec<u8>,
    parsed: VecDeque<Result<Quad, RdfParseError>>,
    has_begun: bool,
    is_over: bool,
}

/// Editors of one system put it in front of text. It is no part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl<R: Read> Lines<R> {
    pub fn new(stream: R, format: RdfFormat) -> Self {
        Self { stream, format, held: Vec::new(), parsed: VecDeque::new(), has_begun: false, is_over: false }
    }

    /// Reads on, and parses all whole lines that are there.
    fn read_on(&mut self) -> io::Result<()> {
        if self.held.len() > LINE_BYTES_MAX {
            return Err(io::Error::other("a line is too long; the rest was left out"));
        }
        let before = self.held.len();
        self.held.resize(before + PIECE_BYTES, 0);
        let read = self.stream.read(&mut self.held[before..]);
        self.held.truncate(before + *read.as_ref().unwrap_or(&0));
        self.is_over = read? == 0;
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let lines = match self.held[before..].iter().rposition(is_end) {
            Some(end) => before + end + 1,
            None if self.is_over => self.held.len(),
            None => return Ok(()),
        };
        let rest = self.held.split_off(lines);
        let lines = std::mem::replace(&mut self.held, rest);
        let mark = if self.has_begun { None } else { lines.strip_prefix(BYTE_ORDER_MARK) };
        let lines = mark.unwrap_or(&lines);
        self.has_begun = true;
        match self.parse(lines) {
            Ok(quads) => self.parsed.extend(quads.into_iter().map(Ok)),
            Err(_) => {
                for line in lines.split(is_end) {
                    match self.parse(line) {
                        Ok(quads) => self.parsed.extend(quads.into_iter().map(Ok)),
                        Err(error) => self.parsed.push_back(Err(error)),
                    }
                }
            }
        }
        Ok(())
    }

    /// The statements of some lines, or the first mistake.
    fn parse(&self, lines: &[u8]) -> Result<Vec<Quad>, RdfParseError> {
        RdfParser::from_format(self.format)
            .for_slice(lines)
            .map(|quad| quad.map_err(RdfParseError::Syntax))
            .collect()
    }
}

impl<R: Read> Iterator for Lines<R> {
    type Item = Result<Quad, RdfParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(parsed) = self.parsed.pop_front() {
                return Some(parsed);
            }
            if self.is_over {
                return None;
            }
            if let Err(error) = self.read_on() {
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                self.is_over = true;
                return Some(Err(RdfParseError::Io(error)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Slowly<'a>(&'a [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn line(number: usize) -> Vec<u8> {
        match number % 7 {
            3 => b"<http://a.example/s> <http://a.example/p> \"no end .\n".to_vec(),
            5 => b"<http://a.example/s> <http://a.example/p> \"\xff\xfe\" .\r\n".to_vec(),
            6 => b"# words\n\n".to_vec(),
            _ => format!("<http://a.example/{number}> <http://a.example/p> \"x\" .\n").into_bytes(),
        }
    }

    #[test]
    fn a_mistake_costs_its_line() {
        for (lines, bytes) in (0..60).flat_map(|lines| [1, 7, 50, 10_000].map(|bytes| (lines, bytes))) {
            let mark = if lines % 2 == 0 { BYTE_ORDER_MARK } else { b"" };
            let text: Vec<u8> = mark.iter().copied().chain((0..lines).flat_map(line)).collect();
            let read: Vec<_> = Lines::new(Slowly(&text, bytes), RdfFormat::NTriples).collect();
            let of = |kinds: &[usize]| (0..lines).filter(|number| kinds.contains(&(number % 7))).count();
            let count =
                |is: fn(&Result<Quad, RdfParseError>) -> bool| read.iter().filter(|one| is(one)).count();
            assert_eq!((count(Result::is_ok), count(Result::is_err)), (of(&[0, 1, 2, 4]), of(&[3, 5])));
        }
    }
}
