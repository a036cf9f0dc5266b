//! Connections: how many there may be at once, and for how long one may keep still.
//!
//! Whoever says nothing, or does not read what was asked for, is not waited for: they would take the place
//! of others, of the probes of the kubelet among them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::body::Body;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{Id, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// Connections at once, and how many of them one address may have.
const MOST: usize = 1024;
const MOST_OF_ONE: usize = 256;
/// Requests at once on one connection.
const STREAMS: u32 = 250;
/// How long somebody may take to say what is wanted, the first time and between two requests.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);
/// How long somebody may take to read any of an answer.
const READING: Duration = Duration::from_secs(30);
/// How long to wait when a connection cannot be taken, for instance because there are too many files.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes connections until it is told to stop. Those that are open then get a little time to end.
pub(super) async fn take<W>(
    listener: TcpListener,
    stop: &CancellationToken,
    grace: Duration,
    converse: impl Fn(TcpStream, SocketAddr) -> W,
) where
    W: Future<Output = ()> + Send + 'static,
{
    let mut open = JoinSet::new();
    let mut peers: HashMap<Id, IpAddr> = HashMap::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept(), if open.len() < MOST => accepted,
            Some(ended) = open.join_next_with_id(), if !open.is_empty() => {
                let id = ended.map_or_else(|panicked| panicked.id(), |(id, ())| id);
                peers.remove(&id);
                continue;
            }
            () = stop.cancelled() => break,
        };
        let Ok((stream, peer)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let address = peer.ip().to_canonical();
        if peers.values().filter(|other| **other == address).count() >= MOST_OF_ONE {
            tracing::debug!(%address, "an address has too many connections");
            continue;
        }
        let conversation = open.spawn(converse(stream, peer));
        peers.insert(conversation.id(), address);
    }
    drop(listener);
    let ended = async { while open.join_next().await.is_some() {} };
    // Whoever reads too slowly has to ask again.
    let _ = timeout(grace, ended).await;
}

/// Which versions of HTTP are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Versions {
    /// The first: what is spoken without TLS.
    First,
    /// Both: TLS makes out which.
    Both,
}

/// Answers on one connection until it ends, or until it is told to stop.
pub(super) async fn answer<S>(
    stream: impl AsyncRead + AsyncWrite + Send + 'static,
    versions: Versions,
    service: S,
    stop: &CancellationToken,
) -> Result<(), String>
where
    S: Service<Request<Incoming>, Response = Response<Body>, Error = Infallible> + Send + 'static,
    S::Future: Send + 'static,
{
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS)
        .keep_alive_interval(PATIENCE);
    if versions == Versions::First {
        builder = builder.http1_only();
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(READING));
    let mut connection =
        std::pin::pin!(builder.serve_connection(TokioIo::new(Box::pin(stream)), service));
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    outcome.map_err(|error| error.to_string())
}
