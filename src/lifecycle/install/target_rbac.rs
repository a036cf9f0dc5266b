//! Stub.
use serde_json::Value;

use crate::api::cluster_service_version::ClusterServiceVersion;

/// The Roles and RoleBindings of a CSV that serves all namespaces, as ClusterRoles and ClusterRoleBindings.
/// `rbac` are the Roles and RoleBindings of the CSV's namespace that carry its owner labels.
pub fn lifted(csv: &ClusterServiceVersion, rbac: &[Value]) -> Vec<Value> {
    let _ = (csv, rbac);
    todo!()
}

/// The Roles and RoleBindings of a CSV as they are wanted in a namespace it serves, owned by the copy of
/// the CSV that is there (`copy_uid`).
pub fn copied(csv: &ClusterServiceVersion, rbac: &[Value], namespace: &str, copy_uid: &str) -> Vec<Value> {
    let _ = (csv, rbac, namespace, copy_uid);
    todo!()
}
