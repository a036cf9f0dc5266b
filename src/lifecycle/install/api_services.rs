//! Stub.
use serde_json::Value;

use super::Request;

/// Stub.
pub fn api_services(request: &Request<'_>) -> Vec<Value> {
    let _ = request;
    todo!()
}

/// Whether a CSV may take over an APIService with these labels: it is the CSV's own, that of the one it
/// replaces, or that of one that is on its way out. `phase` tells the phase of a CSV by namespace and
/// name, if there is such a CSV.
pub fn is_adoptable(
    csv: &crate::api::cluster_service_version::ClusterServiceVersion,
    labels: &std::collections::BTreeMap<String, String>,
    phase: impl Fn(&str, &str) -> Option<crate::api::conditions::CsvPhase>,
) -> bool {
    let _ = (csv, labels, phase("", ""));
    todo!()
}
