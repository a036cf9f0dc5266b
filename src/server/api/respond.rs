//! Answers that can be kept by whoever asked.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use super::error::{ApiError, Code};
use crate::oci::Digest;

/// An answer that holds until something changes.
const REVALIDATE: &str = "no-cache";

/// Data as JSON.
pub(super) fn json(asked: &HeaderMap, value: &impl Serialize) -> Result<Response, ApiError> {
    let body = serde_json::to_vec(value)
        .map_err(|error| ApiError::new(Code::Internal, format!("cannot be written: {error}")))?;
    Ok(bytes(asked, "application/json", REVALIDATE, body))
}

/// Anything else. Whoever has it already, by its `ETag`, is told that it is still the same.
pub(super) fn bytes(
    asked: &HeaderMap,
    content_type: &'static str,
    cache_control: &'static str,
    body: Vec<u8>,
) -> Response {
    let digest = Digest::of(&body);
    // Weak: what is sent may be compressed in several ways.
    let tag = format!("W/\"{}\"", digest.hex().get(..32).unwrap_or_default());
    let mut response = if knows(asked, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Response::new(Body::from(body))
    };
    let is_new = response.status() == StatusCode::OK;
    let headers = response.headers_mut();
    if is_new {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static(cache_control),
    );
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

/// Whether somebody has an answer already, by its tag. Whether that is called weak makes no difference here.
pub(in crate::server) fn knows(asked: &HeaderMap, tag: &str) -> bool {
    let lists = asked.get_all(header::IF_NONE_MATCH).iter();
    let mut tags = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim);
    let bare = |tag| str::strip_prefix(tag, "W/").unwrap_or(tag);
    tags.any(|known| known == "*" || bare(known) == bare(tag))
}
