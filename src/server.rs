//! What a running Chandler answers: health and metrics.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// What the server asks for its answers.
pub trait Status: Send + Sync + 'static {
    /// Why the process cannot answer questions yet, if that is so.
    fn not_ready(&self) -> Option<String>;
    /// The metrics as text.
    fn metrics(&self) -> String;
}

/// Answers until it is told to stop.
pub async fn serve(
    listener: TcpListener,
    status: std::sync::Arc<dyn Status>,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let ready = status.clone();
    let router = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route(
            "/readyz",
            get(move || {
                let problem = ready.not_ready();
                async move {
                    match problem {
                        None => (StatusCode::OK, "ok".to_owned()),
                        Some(problem) => (StatusCode::SERVICE_UNAVAILABLE, problem),
                    }
                }
            }),
        )
        .route(
            "/metrics",
            get(move || {
                let text = status.metrics();
                async move {
                    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                    ([(header::CONTENT_TYPE, kind)], text).into_response()
                }
            }),
        );
    axum::serve(listener, router)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}
