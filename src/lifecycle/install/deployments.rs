//! Stub.
use serde_json::Value;

use super::Request;
use super::error::InstallError;

/// The Deployments of the strategy.
pub fn deployments(request: &Request<'_>) -> Result<Vec<Value>, InstallError> {
    let _ = request;
    todo!()
}
