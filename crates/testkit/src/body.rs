//! The body of an answer on its way out: whole, in dribs, without end, or breaking off.
//!
//! In: what the site wants sent. Out: frames, made when hyper asks for them, so that two gigabytes take no
//! more memory than two kilobytes. Carries the log's ticket, so that a request ends when its body does.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::log::Ticket;
use crate::site::{Body, HttpReply};

/// How long the bytes before a cut may take to leave.
const FLUSH_PAUSE: Duration = Duration::from_millis(10);

/// The site wants the connection to break off here.
#[derive(Debug)]
pub(crate) struct CutOff;

impl fmt::Display for CutOff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the answer is cut off here on purpose")
    }
}

impl std::error::Error for CutOff {}

#[derive(Debug)]
pub(crate) struct AnswerBody {
    source: Body,
    /// Bytes until the end, or until the cut.
    left: u64,
    /// Where in the pattern the next byte is.
    offset: usize,
    /// What `Content-Length` is to say; nothing to send in chunks.
    announced: Option<u64>,
    ends_in_cut: bool,
    pace: Option<(usize, Duration)>,
    wait: Option<Pin<Box<Sleep>>>,
    flushed: bool,
    ticket: Ticket,
}

impl AnswerBody {
    pub(crate) fn new(reply: &HttpReply, ticket: Ticket) -> Self {
        let length = reply.body.len();
        let announced = match (&reply.body, reply.claimed_length) {
            (_, Some(claimed)) => Some(claimed),
            (Body::Whole(_), None) => Some(length),
            (Body::Repeated { .. }, None) => None,
        };
        let falls_short = announced.is_some_and(|announced| announced > length);
        let left = length.min(reply.cut_after.unwrap_or(u64::MAX));
        Self {
            source: reply.body.clone(),
            left,
            offset: 0,
            announced,
            ends_in_cut: falls_short || reply.cut_after.is_some_and(|cut| cut < length),
            pace: reply.pace,
            wait: None,
            flushed: false,
            ticket,
        }
    }

    fn next_piece(&mut self) -> Bytes {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX);
        let most = self.pace.map_or(most, |(bytes, _)| most.min(bytes));
        let piece = match &mut self.source {
            Body::Whole(bytes) => bytes.split_to(most.min(bytes.len())),
            Body::Repeated { pattern, .. } => {
                let end = pattern.len().min(self.offset.saturating_add(most));
                let piece = pattern.slice(self.offset..end);
                self.offset = if end == pattern.len() { 0 } else { end };
                piece
            }
        };
        self.left -= piece.len() as u64;
        self.ticket.body_bytes += piece.len() as u64;
        piece
    }

    fn poll_wait(&mut self, context: &mut Context<'_>, pause: Duration) -> Poll<()> {
        let wait = self.wait.get_or_insert_with(|| Box::pin(sleep(pause)));
        ready!(wait.as_mut().poll(context));
        self.wait = None;
        Poll::Ready(())
    }
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = CutOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, CutOff>>> {
        if self.left == 0 {
            if !self.ends_in_cut {
                return Poll::Ready(None);
            }
            // hyper drops what it has not yet written when a body fails; the pause lets it write.
            if !self.flushed {
                ready!(self.poll_wait(context, FLUSH_PAUSE));
                self.flushed = true;
            }
            return Poll::Ready(Some(Err(CutOff)));
        }
        if let Some((_, pause)) = self.pace
            && self.ticket.body_bytes > 0
        {
            ready!(self.poll_wait(context, pause));
        }
        let piece = self.next_piece();
        self.ticket.complete = self.left == 0 && !self.ends_in_cut;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0 && !self.ends_in_cut
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map_or_else(SizeHint::default, |length| {
            SizeHint::with_exact(length.saturating_sub(self.ticket.body_bytes))
        })
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        // A body without bytes is complete although nobody asks for them.
        if self.left == 0 && !self.ends_in_cut {
            self.ticket.complete = true;
        }
    }
}
