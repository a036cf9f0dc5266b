//! Stub.
use serde_json::Value;

use super::Request;
use crate::api::cluster_service_version::ClusterServiceVersion;

/// Why a conversion webhook cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConversionError {
    /// Stub.
    #[error("")]
    NotOwned {},
}

/// The CRDs that webhooks convert, with nothing but their names and `spec.conversion`.
pub fn crds(request: &Request<'_>) -> Result<Vec<Value>, ConversionError> {
    let _ = request;
    todo!()
}

/// The CRDs (of those seen) whose conversion a CSV that goes leaves behind, each with nothing but its name
/// and `spec.conversion` set to None. Empty when `heir` (a CSV that replaces it) converts them.
pub fn resets(csv: &ClusterServiceVersion, heirs: &[&ClusterServiceVersion], crds: &[Value]) -> Vec<Value> {
    let _ = (csv, heirs, crds);
    todo!()
}
