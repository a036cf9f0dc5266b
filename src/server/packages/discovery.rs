//! What the API offers, for clients that ask before they use it.

use serde_json::{Value, json};

use super::{API_VERSION, GROUP, KIND, RESOURCE, SINGULAR, VERSION};

const VERBS: [&str; 2] = ["get", "list"];

/// `/apis`
pub(super) fn groups() -> Value {
    let mut group = group();
    // Inside of a list, a group does not say what it is.
    if let Some(fields) = group.as_object_mut() {
        fields.retain(|key, _| key != "kind" && key != "apiVersion");
    }
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": [group] })
}

/// `/apis/GROUP`
pub(super) fn group() -> Value {
    let version = json!({ "groupVersion": API_VERSION, "version": VERSION });
    json!({
        "kind": "APIGroup", "apiVersion": "v1", "name": GROUP,
        "versions": [version], "preferredVersion": version,
    })
}

/// `/apis/GROUP/VERSION`
pub(super) fn resources() -> Value {
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": API_VERSION,
        "resources": [
            {
                "name": RESOURCE, "singularName": SINGULAR, "namespaced": true,
                "kind": KIND, "verbs": VERBS,
            },
            {
                "name": format!("{RESOURCE}/icon"), "singularName": "", "namespaced": true,
                "kind": KIND, "verbs": ["get"],
            },
        ],
    })
}

/// `/apis`, for clients that ask for all of discovery at once.
pub(super) fn aggregated(version: &str) -> Value {
    let kind = json!({ "group": GROUP, "version": VERSION, "kind": KIND });
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": [{
            "metadata": { "name": GROUP, "creationTimestamp": null },
            "versions": [{
                "version": VERSION,
                "freshness": "Current",
                "resources": [{
                    "resource": RESOURCE, "responseKind": kind, "scope": "Namespaced",
                    "singularResource": SINGULAR, "verbs": VERBS,
                    "subresources": [{ "subresource": "icon", "responseKind": kind, "verbs": ["get"] }],
                }],
            }],
        }],
    })
}
