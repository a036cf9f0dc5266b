//! What is served without TLS: probes, gophers, the gophers API.

use std::net::SocketAddr;

use anyhow::Context as _;
use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Serves until it is to stop.
pub(crate) async fn serve(
    address: SocketAddr,
    router: Router,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot serve at {address}"))?;
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await?;
    Ok(())
}

/// The answers to the kubelet. Whoever waits for a Lease is ready too: the version before gives it up only
/// when its successor is ready.
pub(crate) fn probes() -> Router {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(async || "ok\n"))
}
