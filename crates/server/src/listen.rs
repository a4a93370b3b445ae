//! The socket: accepts connections, speaks HTTP/1.1 on them, ends them when the server ends.
//!
//! In: a bound listener and the application. Out: nothing; runs until `shutdown` completes, then lets requests under way
//! finish for a moment. A client that sends its header fields slowly, or too many of them, is cut off here; what a
//! request may do is decided in [`guard`](crate::guard).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;
use tracing::{debug, warn};

use crate::config::Limits;

/// How long requests under way may take once the server is told to end.
const FAREWELL: Duration = Duration::from_secs(3);

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Serves until `shutdown` completes.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: &Limits,
    shutdown: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let (ending, ended) = watch::channel(());
    let mut shutdown = std::pin::pin!(shutdown);
    loop {
        // A place is taken before a connection is: those who come too many wait in the system's queue.
        let place = tokio::select! {
            place = places.clone().acquire_owned() => place,
            () = &mut shutdown => break,
        };
        let Ok(place) = place else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut shutdown => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, most likely; they come back when connections end.
                warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let connection = connection(stream, peer, router.clone(), limits.clone(), ended.clone());
        tokio::spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(ended);
    drop(listener);
    // Every connection holds a receiver until it is done.
    let _ = ending.send(());
    let _ = tokio::time::timeout(FAREWELL, ending.closed()).await;
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: Limits,
    mut ended: watch::Receiver<()>,
) {
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Peer(peer));
        router.clone().oneshot(Request::from(request.map(axum::body::Body::new)))
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_time)
        .max_buf_size(limits.header_bytes_max.max(8192))
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let result = tokio::select! {
        result = &mut connection => result,
        _ = ended.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = result {
        debug!(%peer, %error, "a connection ended badly");
    }
}
