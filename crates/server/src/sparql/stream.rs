//! Sending results while they are found.
//!
//! In: a job that writes, on a thread that may block. Out: a response whose body is what the job writes. The status is decided when
//! the first bytes are there, so a query that fails at once gets its error; one that fails later has its body cut off, which
//! every HTTP client notices. When the client leaves, the job's next write fails and its cancellation token is set. A
//! client that takes nothing for a while is taken for one that left.

use std::io::{self, Write};
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::header;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use webloom_index::CancellationToken;

use crate::app::App;
use crate::error::ApiError;

/// Bytes that are sent together.
const CHUNK_BYTES: usize = 32 << 10;

/// Chunks that wait for the client.
const CHUNKS_WAITING: usize = 4;

/// How long a client may take for a chunk.
const CLIENT_PATIENCE: Duration = Duration::from_secs(60);

/// Stops a query when nobody waits for it any more.
pub struct CancelOnDrop(pub CancellationToken);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What the job writes to.
pub struct ChunkWriter {
    sender: mpsc::Sender<Result<Bytes, ApiError>>,
    buffer: Vec<u8>,
    runtime: Handle,
}

impl ChunkWriter {
    fn send(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = Bytes::from(std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_BYTES)));
        match self.sender.try_send(Ok(chunk)) {
            Ok(()) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(gone()),
            Err(mpsc::error::TrySendError::Full(chunk)) => {
                let sent =
                    self.runtime.block_on(tokio::time::timeout(CLIENT_PATIENCE, self.sender.send(chunk)));
                match sent {
                    Ok(Ok(())) => Ok(()),
                    _ => Err(gone()),
                }
            }
        }
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the client has left")
}

impl Write for ChunkWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.send()?;
        }
        Ok(bytes.len())
    }

    /// Does not send: serializers flush after every row, and a packet per row helps nobody.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs `job` and answers with what it writes.
pub async fn respond(
    app: &App,
    content_type: String,
    cancellation: CancellationToken,
    job: impl FnOnce(&mut ChunkWriter) -> Result<(), ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let place = app.place().await?;
    let cancel = CancelOnDrop(cancellation);
    let (sender, mut chunks) = mpsc::channel(CHUNKS_WAITING);
    let runtime = Handle::current();
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let mut writer = ChunkWriter { sender, buffer: Vec::with_capacity(CHUNK_BYTES), runtime };
        let done = job(&mut writer).and_then(|()| writer.send().map_err(ApiError::from));
        if let Err(error) = done {
            // Nobody is there to hear it when the client has left.
            let _ = writer.runtime.block_on(writer.sender.send(Err(error)));
        }
    });
    let first = match chunks.recv().await {
        Some(Err(error)) => return Err(error),
        Some(Ok(chunk)) => chunk,
        None => Bytes::new(),
    };
    let rest = stream::unfold((chunks, cancel), |(mut chunks, cancel)| async move {
        let chunk = chunks.recv().await?;
        // An error here ends the connection before the body does.
        let chunk = chunk.map_err(|error| io::Error::other(error.message));
        Some((chunk, (chunks, cancel)))
    });
    let body = futures_util::StreamExt::chain(stream::once(async { Ok(first) }), rest);
    Ok(([(header::CONTENT_TYPE, content_type)], Body::from_stream(body)).into_response())
}
