//! What a running Chandler answers: health, metrics, the hub with its API, and the API of packages.
//!
//! ```text
//! site ─┬─ health and metrics      out of a Status
//!       └─ api ─▶ hub ─▶ catalogs, cluster, bundles   out of a Supply
//! ```

pub mod api;
mod connections;
pub mod hub;
mod limits;
pub mod packages;
pub mod pages;
pub mod writes;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode, header};
use axum::response::IntoResponse as _;
use axum::routing::get;
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use self::connections::Versions;
use self::hub::Hub;

/// How long answers that are under way may take when the server stops. Some never end by themselves.
const GRACE: Duration = Duration::from_secs(3);

/// What the server asks for its answers.
pub trait Status: Send + Sync + 'static {
    /// Why the process cannot answer questions yet, if that is so.
    fn not_ready(&self) -> Option<String>;
    /// The metrics as text.
    fn metrics(&self) -> String;
}

/// Health and metrics.
pub fn health(status: Arc<dyn Status>) -> Router {
    let ready = status.clone();
    Router::new()
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
        )
}

/// The hub: its API for programs, and its pages for people.
pub fn site(hub: Arc<Hub>) -> Router {
    api::router(hub.clone()).merge(pages::router(hub))
}

/// Answers until it is told to stop.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let converse = |stream: TcpStream, peer: SocketAddr| {
        let (router, stop) = (router.clone(), stop.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer));
            router.clone().oneshot(request)
        });
        async move {
            let answered = connections::answer(stream, Versions::First, service, &stop).await;
            if let Err(error) = answered {
                tracing::debug!(error, "a connection failed");
            }
        }
    };
    connections::take(listener, &stop, GRACE, converse).await;
}
