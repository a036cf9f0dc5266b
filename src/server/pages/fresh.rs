//! Pages that a browser has already: nothing is made anew while catalogs and cluster are the same.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::assets;
use crate::oci::Hasher;
use crate::server::api::knows;
use crate::server::hub::Hub;

/// Answers that nothing changed, if that is so, and else with the page and what to recognise it by.
pub(super) async fn or_unchanged(
    State(hub): State<Arc<Hub>>,
    request: Request,
    next: Next,
) -> Response {
    let mut hasher = Hasher::default();
    hasher.update(hub.version().as_bytes());
    hasher.update(assets::address("").as_bytes());
    hasher.update(&[u8::from(hub.writes().writer.is_some())]);
    hasher.update(request.uri().to_string().as_bytes());
    // Weak: what is sent may be compressed in several ways.
    let tag = format!("W/\"{}\"", &hasher.finish().hex()[..32]);
    let is_known = knows(request.headers(), &tag);
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        next.run(request).await
    };
    let is_good = response.status().is_success() || is_known;
    if is_good && let Ok(tag) = HeaderValue::from_str(&tag) {
        let headers = response.headers_mut();
        headers.insert(header::ETAG, tag);
        let keep = HeaderValue::from_static("private, no-cache");
        headers.entry(header::CACHE_CONTROL).or_insert(keep);
    }
    response
}
