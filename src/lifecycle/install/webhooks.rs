//! Stub.
use serde_json::Value;

use super::Request;

/// Stub.
pub fn configurations(request: &Request<'_>) -> Vec<Value> {
    let _ = request;
    todo!()
}
