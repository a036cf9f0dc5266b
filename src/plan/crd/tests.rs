//! CRDs made for tests.

mod beta;
mod compare;
mod hostile;
mod judge;
mod random;
mod validate;

use serde_json::{Value, json};

use super::CustomResourceDefinition;

/// A CRD of one version, v1, whose `spec` has this schema.
fn crd(spec: &Value) -> CustomResourceDefinition {
    of_versions(&[("v1", true, spec.clone())])
}

/// A CRD whose `spec.x` has this schema.
fn crd_with(x: &Value) -> CustomResourceDefinition {
    crd(&json!({"type": "object", "properties": {"x": x}}))
}

/// A CRD of several versions: name, whether it is served, and the schema of its `spec`. The last
/// one is stored.
fn of_versions(versions: &[(&str, bool, Value)]) -> CustomResourceDefinition {
    let last = versions.len() - 1;
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(at, (name, served, spec))| {
            json!({
                "name": name, "served": served, "storage": at == last,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            })
        })
        .collect();
    serde_json::from_value(json!({
        "metadata": {"name": "ships.harbor.io"},
        "spec": {
            "group": "harbor.io", "scope": "Namespaced",
            "names": {"kind": "Ship", "plural": "ships"},
            "versions": versions,
        },
    }))
    .unwrap()
}

/// An object with this `spec`.
fn ship(spec: &Value) -> Value {
    json!({
        "apiVersion": "harbor.io/v1", "kind": "Ship",
        "metadata": {"name": "argo", "namespace": "iolcos"}, "spec": spec,
    })
}
