//! The body of an answer, read in a stream and under caps.
//!
//! In: hyper's incoming body. Out: the decoded bytes with what was wrong with them, or the reason why there is
//! nothing to show. [`WireBody`] counts, caps and times what crosses the wire; the decoders sit on top of
//! it; [`read_body`] collects what they give, very long bodies on disk. Large bodies queue for permits while their senders
//! wait. A body whose first bytes are of an unwanted type is not read on.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, Incoming};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep, timeout, timeout_at};
use webloom_model::{Diagnostic, FetchError, Truncated};

use crate::bandwidth::Lanes;
use crate::config::RATIO_FREE_BYTES;
use crate::connect::Driver;
use crate::decode::{self, Encoding, Overrun, Reader};
use crate::spill::{CHUNK_BYTES, Spill};
use crate::unwanted::{SNIFF_BYTES, UnwantedTypes};

/// What is read of a body nobody wants, so that its connection can be used again.
const DISCARD_BYTES_MAX: u64 = 64 << 10;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);

/// The same when somebody keeps it all the same.
const KEPT_BYTES_MAX: u64 = 1 << 20;
const KEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// What is kept of a body that is also decoded: it is in memory. Only dumps are longer than this, and the most of an archive they can
/// be is their start.
const KEPT_ENCODED_BYTES_MAX: usize = 256 << 20;

/// Frames taken in a row before other tasks get their turn.
const BURST_MAX: u32 = 32;

/// Shorter pauses are added to the next one; timers are no finer.
const PAUSE_MIN: Duration = Duration::from_millis(2);

/// Room for one read.
const READ_BYTES: usize = 16 << 10;

/// Room that is made for a body before it comes.
const ROOM_BYTES_MAX: usize = 64 << 10;

/// How much of a body is wanted, and how fast.
#[derive(Debug, Clone)]
pub(crate) struct BodyLimits {
    pub wire_bytes_max: u64,
    pub bytes_max: u64,
    pub ratio_max: u64,
    pub large_bytes: usize,
    pub spill_bytes: usize,
    pub idle_timeout: Duration,
    pub timeout: Duration,
    /// Whether the body is wanted as it came, too.
    pub keep: bool,
}

/// A body as it was read.
#[derive(Debug)]
pub(crate) struct ReadBody {
    pub bytes: Bytes,
    pub wire_bytes: u64,
    pub diagnostics: Vec<Diagnostic>,
    /// The transfer came to its proper end, so the connection can be used again.
    pub complete: bool,
    /// The transfer broke off.
    pub ended_early: bool,
    /// The place of a large body among those in memory; to be kept as long as its bytes.
    pub permit: Option<OwnedSemaphorePermit>,
    /// The body as it came, if it was to be kept.
    pub wire: Option<Kept>,
}

/// A body as it came: content encoding kept.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub bytes: Bytes,
    pub truncated: Option<Truncated>,
}

/// What reading a body needs beside the body.
#[derive(Debug)]
pub(crate) struct Means<'a> {
    pub limits: &'a BodyLimits,
    pub large_bodies: &'a Arc<Semaphore>,
    pub lanes: Lanes,
    /// Types that are not read; nothing when the body is wanted whatever it is.
    pub unwanted: Option<&'a UnwantedTypes>,
}

/// Why there is no body.
#[derive(Debug)]
pub(crate) enum NoBody {
    Failed(FetchError),
    /// Its first bytes show a type that is not wanted.
    Unwanted(String),
}

impl From<FetchError> for NoBody {
    fn from(error: FetchError) -> Self {
        Self::Failed(error)
    }
}

/// Reads a body and undoes its encodings.
pub(crate) async fn read_body(
    incoming: Incoming,
    driver: &mut Driver,
    content_encodings: &[String],
    means: &Means<'_>,
) -> Result<ReadBody, NoBody> {
    let limits = means.limits;
    let mut diagnostics = Vec::new();
    let encodings =
        decode::chain_or_diagnostic(content_encodings.iter().map(String::as_str), &mut diagnostics);
    let mut wire = WireBody::new(incoming, driver, limits.wire_bytes_max, limits.idle_timeout);
    wire.lanes = means.lanes.clone();
    // A body without an encoding is the same before and after; it is not held twice.
    wire.kept = (limits.keep && !encodings.is_empty()).then(Vec::new);
    let Collected { mut bytes, spill, stop, permit } =
        collect(&mut wire, &encodings, means, &mut diagnostics).await?;
    let is_empty = bytes.is_empty() && spill.is_none();
    let wire_bytes = wire.bytes();
    let end = match wire.end.take() {
        Some(end) => end,
        // The decoders were content before the transfer ended. What follows does not count any more, but read to its end it
        // makes the connection reusable.
        None => {
            if matches!(stop, Stop::End) {
                wire.discard_rest().await;
            }
            wire.end.take().map_or(WireEnd::Unread, |end| match end {
                WireEnd::Complete => WireEnd::Complete,
                _ => WireEnd::Unread,
            })
        }
    };
    let complete = matches!(end, WireEnd::Complete);
    let is_cut = !complete || encodings.is_empty() && matches!(stop, Stop::Cut);
    let mut ended_early = false;
    match (end, stop) {
        (WireEnd::Idle, Stop::End | Stop::Broken(_)) => {
            return Err(FetchError::Timeout { step: "body", limit: limits.idle_timeout }.into());
        }
        (_, Stop::Unwanted(media_type)) => return Err(NoBody::Unwanted(media_type)),
        (_, Stop::Cut) if spill.is_some() => {
            diagnostics.push(decode::cut_diagnostic("decoded", limits.bytes_max));
        }
        (_, Stop::Cut) => {
            bytes.truncate(usize::try_from(limits.bytes_max).unwrap_or(usize::MAX));
            diagnostics.push(decode::cut_diagnostic("decoded", limits.bytes_max));
        }
        (_, Stop::Ratio) => diagnostics.push(Diagnostic::warning(
            "compression-ratio",
            format!("the body expands more than {} times and was cut", limits.ratio_max),
        )),
        (WireEnd::Cut, _) => {
            diagnostics.push(decode::cut_diagnostic("transferred", limits.wire_bytes_max));
        }
        (WireEnd::Early(reason), _) => {
            if is_empty {
                return Err(FetchError::Protocol { reason: format!("the body breaks off: {reason}") }.into());
            }
            ended_early = true;
            let message = format!("the transfer broke off after {wire_bytes} bytes: {reason}");
            diagnostics.push(Diagnostic::warning("body-ended-early", message));
        }
        (WireEnd::Complete | WireEnd::Unread, Stop::Broken(error)) => {
            diagnostics.push(decode::broken_diagnostic(&error));
        }
        (WireEnd::Complete | WireEnd::Unread, Stop::End) => {}
    }
    if let Some(spill) = spill {
        let kept = async { spill.append(bytes).await?.0.into_bytes(limits.bytes_max) };
        let bytes = kept.await.map_err(|error| unkept(&error))?;
        let wire = limits.keep.then(|| wire.into_kept(&bytes, is_cut, ended_early));
        return Ok(ReadBody { bytes, wire_bytes, diagnostics, complete, ended_early, permit, wire });
    }
    // Growth by doubling may have left as much again unused, and pages wait in queues.
    if bytes.capacity() - bytes.len() > bytes.len() / 4 {
        bytes.shrink_to_fit();
    }
    let bytes = Bytes::from(bytes);
    let wire = limits.keep.then(|| wire.into_kept(&bytes, is_cut, ended_early));
    Ok(ReadBody { bytes, wire_bytes, diagnostics, complete, ended_early, permit, wire })
}

/// The disk is full, or worse; the page is tried again later.
fn unkept(error: &io::Error) -> FetchError {
    FetchError::Protocol { reason: format!("the body cannot be kept on disk: {error}") }
}

/// What the decoders gave.
struct Collected {
    /// The end of the body, or all of it.
    bytes: Vec<u8>,
    /// What came before, of a very long body.
    spill: Option<Spill>,
    stop: Stop,
    /// Held by a large body until nothing made of it is in memory any more. It is the only one a body ever asks for,
    /// so whoever holds one can always go on, and the queue moves.
    permit: Option<OwnedSemaphorePermit>,
}

/// Decodes until the end, a cap, or something broken.
async fn collect(
    wire: &mut WireBody<'_>,
    encodings: &[Encoding],
    means: &Means<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Collected, FetchError> {
    let limits = means.limits;
    let mut collected = Collected { bytes: Vec::new(), spill: None, stop: Stop::End, permit: None };
    let Collected { bytes, spill, stop, permit } = &mut collected;
    let mut unwanted = means.unwanted;
    let held = Arc::clone(&wire.held);
    let overrun = Overrun::default();
    let wire_bytes = Arc::clone(&wire.count);
    let mut deadline = Instant::now() + limits.timeout;
    let out_of_time = |_| FetchError::Timeout { step: "body", limit: limits.timeout };

    // Room for just as much as was announced, and for finding that there is no more; whoever announces much has to send it first.
    if let (true, Some(length)) = (encodings.is_empty(), wire.incoming.size_hint().exact()) {
        bytes.reserve_exact(
            usize::try_from(length).map_or(ROOM_BYTES_MAX, |length| length.min(ROOM_BYTES_MAX)) + 1,
        );
    }
    let open = decode::open(Box::new(wire), encodings, limits.bytes_max, &overrun, diagnostics);
    let mut reader = match timeout_at(deadline, open).await.map_err(out_of_time)? {
        Ok(reader) => reader,
        Err(error) => {
            *stop = if overrun.get() { Stop::Cut } else { Stop::Broken(error) };
            return Ok(collected);
        }
    };
    loop {
        match timeout_at(deadline, read_some(&mut reader, bytes)).await.map_err(out_of_time)? {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => {
                *stop = Stop::Broken(error);
                break;
            }
        }
        // Time that we made the sender wait does not count against it.
        deadline += Duration::from_micros(held.swap(0, Relaxed));
        if let Some(types) = unwanted
            && bytes.len() >= SNIFF_BYTES
        {
            if let Some(media_type) = types.shown(bytes) {
                *stop = Stop::Unwanted(media_type);
                break;
            }
            unwanted = None;
        }
        let spilled = spill.as_ref().map_or(0, Spill::len);
        let length = spilled + bytes.len() as u64;
        if length > limits.bytes_max {
            *stop = Stop::Cut;
            break;
        }
        let expands = !encodings.is_empty() && length > RATIO_FREE_BYTES;
        if expands && length / limits.ratio_max.max(1) > wire_bytes.load(Relaxed) {
            *stop = Stop::Ratio;
            break;
        }
        if permit.is_none() && bytes.len() > limits.large_bytes {
            // The sender is not to blame for our queue, so the wait does not count against it.
            let waiting_since = Instant::now();
            let place = Arc::clone(means.large_bodies).acquire_owned();
            *permit = timeout(limits.timeout, place).await.map_err(out_of_time)?.ok();
            deadline += waiting_since.elapsed();
        }
        let goes_to_disk = if spill.is_some() { CHUNK_BYTES } else { limits.spill_bytes.max(1) };
        if bytes.len() >= goes_to_disk {
            let open = match spill.take() {
                Some(open) => open,
                None => Spill::new().map_err(|error| unkept(&error))?,
            };
            let (open, emptied) = open.append(std::mem::take(bytes)).await.map_err(|error| unkept(&error))?;
            (*spill, *bytes) = (Some(open), emptied);
        }
        tokio::task::consume_budget().await;
    }
    if overrun.get() {
        *stop = Stop::Cut;
    }
    Ok(collected)
}

/// Reads off a short body nobody wants. True when the connection can be used again.
pub(crate) async fn discard(incoming: Incoming, driver: &mut Driver) -> bool {
    if incoming.size_hint().lower() > DISCARD_BYTES_MAX {
        return false;
    }
    let mut wire = WireBody::new(incoming, driver, DISCARD_BYTES_MAX, DISCARD_TIMEOUT);
    wire.discard_rest().await;
    matches!(wire.end, Some(WireEnd::Complete))
}

/// Reads a body that only an archive wants, the start of it when it is long. True when the connection can be used again.
pub(crate) async fn keep(incoming: Incoming, driver: &mut Driver) -> (Kept, bool) {
    let mut wire = WireBody::new(incoming, driver, KEPT_BYTES_MAX, KEPT_TIMEOUT);
    wire.kept = Some(Vec::new());
    wire.read_off(KEPT_TIMEOUT).await;
    let truncated = match &wire.end {
        Some(WireEnd::Complete) => None,
        Some(WireEnd::Cut) => Some(Truncated::Length),
        Some(WireEnd::Early(_)) => Some(Truncated::Disconnect),
        _ => Some(Truncated::Time),
    };
    (Kept { bytes: wire.kept.unwrap_or_default().into(), truncated }, truncated.is_none())
}

/// Why reading stopped.
enum Stop {
    End,
    Cut,
    Ratio,
    Unwanted(String),
    Broken(io::Error),
}

async fn read_some(reader: &mut Reader<'_>, bytes: &mut Vec<u8>) -> io::Result<usize> {
    if bytes.capacity() == bytes.len() {
        bytes.reserve(READ_BYTES);
    }
    reader.read_buf(bytes).await
}

/// How a transfer ended.
#[derive(Debug)]
enum WireEnd {
    /// As announced.
    Complete,
    /// At our cap.
    Cut,
    /// Before it was complete.
    Early(String),
    /// In silence.
    Idle,
    /// Not at all: we stopped reading first.
    Unread,
}

/// The body on the wire as a reader that never fails: however the transfer ends, the reader just ends,
/// and `end` says how it was. So decoders give what they have.
struct WireBody<'a> {
    incoming: Incoming,
    /// Makes it come.
    driver: &'a mut Driver,
    chunk: Bytes,
    left: u64,
    count: Arc<AtomicU64>,
    burst: u32,
    idle_timeout: Duration,
    /// Runs while we wait for the sender.
    idle: Option<Pin<Box<Sleep>>>,
    lanes: Lanes,
    /// Runs while the sender waits for us, because it has been too fast.
    pause: Option<Pin<Box<Sleep>>>,
    /// Microseconds it was made to wait that nobody has accounted for yet.
    held: Arc<AtomicU64>,
    end: Option<WireEnd>,
    /// What came, if it is to be kept.
    kept: Option<Vec<u8>>,
}

impl<'a> WireBody<'a> {
    fn new(incoming: Incoming, driver: &'a mut Driver, bytes_max: u64, idle_timeout: Duration) -> Self {
        Self {
            incoming,
            driver,
            chunk: Bytes::new(),
            left: bytes_max,
            count: Arc::default(),
            burst: 0,
            idle_timeout,
            idle: None,
            lanes: Lanes::default(),
            pause: None,
            held: Arc::default(),
            end: None,
            kept: None,
        }
    }

    fn bytes(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Reads on to the end if that is near.
    async fn discard_rest(&mut self) {
        self.left = self.left.min(DISCARD_BYTES_MAX);
        self.read_off(DISCARD_TIMEOUT).await;
    }

    /// Reads on to the end, for so long.
    async fn read_off(&mut self, limit: Duration) {
        let read_off = async {
            while let Ok(chunk) = self.fill_buf().await
                && !chunk.is_empty()
            {
                let length = chunk.len();
                self.consume(length);
            }
        };
        let _ = timeout(limit, read_off).await;
    }

    /// The body as it came; `bytes` are those that the decoders gave.
    fn into_kept(self, bytes: &Bytes, is_cut: bool, ended_early: bool) -> Kept {
        let is_long = self.kept.as_ref().is_some_and(|kept| kept.len() >= KEPT_ENCODED_BYTES_MAX);
        let truncated = match (is_cut || is_long, ended_early) {
            (false, _) => None,
            (true, true) => Some(Truncated::Disconnect),
            (true, false) => Some(Truncated::Length),
        };
        Kept { bytes: self.kept.map_or_else(|| bytes.clone(), Bytes::from), truncated }
    }

    fn take_frame(&mut self, mut data: Bytes) {
        if data.len() as u64 > self.left {
            data.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
            self.end = Some(WireEnd::Cut);
        }
        self.left -= data.len() as u64;
        self.count.fetch_add(data.len() as u64, Relaxed);
        let pause = self.lanes.book(data.len() as u64);
        if pause >= PAUSE_MIN {
            self.held.fetch_add(u64::try_from(pause.as_micros()).unwrap_or(u64::MAX), Relaxed);
            self.pause = Some(Box::pin(sleep(pause)));
        }
        if let Some(kept) = &mut self.kept {
            let room = KEPT_ENCODED_BYTES_MAX.saturating_sub(kept.len());
            kept.extend_from_slice(&data[..data.len().min(room)]);
        }
        self.chunk = data;
    }

    fn poll_frame(&mut self, context: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = Pin::new(&mut self.incoming).poll_frame(context);
        if frame.is_ready() {
            return frame;
        }
        self.driver.poll(context);
        Pin::new(&mut self.incoming).poll_frame(context)
    }

    /// Pending when the sender is silent, or when others should have a turn.
    fn poll_wire(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.chunk.is_empty() && self.end.is_none() {
            if let Some(pause) = &mut self.pause {
                ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            if self.burst >= BURST_MAX {
                self.burst = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            match self.poll_frame(context) {
                Poll::Ready(frame) => {
                    self.burst += 1;
                    self.idle = None;
                    match frame {
                        Some(Ok(frame)) => {
                            // Trailers are of no use to anybody here.
                            if let Ok(data) = frame.into_data() {
                                self.take_frame(data);
                            }
                        }
                        Some(Err(error)) => self.end = Some(WireEnd::Early(crate::connect::reason(&error))),
                        None => self.end = Some(WireEnd::Complete),
                    }
                }
                Poll::Pending => {
                    self.burst = 0;
                    let idle = self.idle.get_or_insert_with(|| Box::pin(sleep(self.idle_timeout)));
                    ready!(idle.as_mut().poll(context));
                    self.end = Some(WireEnd::Idle);
                }
            }
        }
        Poll::Ready(())
    }
}

impl AsyncBufRead for WireBody<'_> {
    fn poll_fill_buf(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        ready!(this.poll_wire(context));
        Poll::Ready(Ok(&this.chunk))
    }

    fn consume(self: Pin<&mut Self>, amount: usize) {
        self.get_mut().chunk.advance(amount);
    }
}

impl AsyncRead for WireBody<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_wire(context));
        let amount = this.chunk.len().min(buffer.remaining());
        buffer.put_slice(&this.chunk[..amount]);
        this.chunk.advance(amount);
        Poll::Ready(Ok(()))
    }
}
