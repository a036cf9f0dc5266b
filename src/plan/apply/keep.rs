//! What stays in an object although the one that is applied does not have it.
//!
//! All plans write by one manager, so that each apply says everything that we want of an object. What
//! an earlier plan wrote for another CSV is repeated, therefore.

use serde_json::Value;

use super::{Writer, adopt};
use crate::api::labels::{
    COMPONENT_PREFIX, INSTALLED_ALONGSIDE_PREFIX, OWNER, OWNER_KIND, OWNER_NAMESPACE,
};

/// Keeps the CSVs that own the live object as owners. Kubernetes drops those that are gone.
pub(super) fn owners(wanted: &mut Value, live: &Value) {
    let kept: Vec<Value> = live
        .pointer("/metadata/ownerReferences")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|owner| owner.get("kind").and_then(Value::as_str) == Some("ClusterServiceVersion"))
        .cloned()
        .collect();
    if kept.is_empty() {
        return;
    }
    let Some(metadata) = wanted.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let owners = metadata
        .entry("ownerReferences")
        .or_insert_with(|| Value::Array(Vec::new()));
    if owners.is_null() {
        *owners = Value::Array(Vec::new());
    }
    let Some(owners) = owners.as_array_mut() else {
        return;
    };
    for owner in kept {
        if !owners.iter().any(|own| own.get("uid") == owner.get("uid")) {
            owners.push(owner);
        }
    }
}

/// Keeps the marks of other packages that brought the live object as well.
///
/// What is in no namespace has labels for an owner, which can name one only, and goes with that. So where
/// several brought it none is named: it goes with the last of them, by its mark.
pub(super) fn marks(wanted: &mut Value, live: &Value) {
    let Some(marks) = live.pointer("/metadata/labels").and_then(Value::as_object) else {
        return;
    };
    let Some(labels) = wanted
        .pointer_mut("/metadata/labels")
        .and_then(Value::as_object_mut)
    else {
        return;
    };
    let of_others = |key: &str| key.starts_with(COMPONENT_PREFIX) && !labels.contains_key(key);
    let others: Vec<(String, Value)> = marks
        .iter()
        .filter(|(key, _)| of_others(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if others.is_empty() {
        return;
    }
    labels.extend(others);
    for key in [OWNER, OWNER_NAMESPACE, OWNER_KIND] {
        labels.shift_remove(key);
    }
}

/// The CSVs that a live CRD says it was installed with, as `namespace/name`.
pub(super) fn installed_alongside(live: &Value) -> Vec<&str> {
    let annotations = live.pointer("/metadata/annotations");
    let annotations = annotations.and_then(Value::as_object);
    annotations
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.starts_with(INSTALLED_ALONGSIDE_PREFIX))
        .filter_map(|(_, value)| value.as_str())
        .collect()
}

/// Whether somebody other than us has a say in the conversion of a live CRD: the lifecycle, once a CSV
/// defines a webhook for it, or OLM's before it.
pub(super) fn conversion_is_taken(live: &Value, manager: &str) -> bool {
    let entries = live.pointer("/metadata/managedFields");
    let entries = entries.and_then(Value::as_array);
    entries.into_iter().flatten().any(|entry| {
        let who = entry.get("manager").and_then(Value::as_str);
        let conversion = entry.pointer("/fieldsV1/f:spec/f:conversion");
        conversion.is_some() && who != Some(manager) && !adopt::is_of_olm(entry, Writer::Plan)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn csvs_stay_owners_and_other_owners_are_their_own_business() {
        let live = json!({"metadata": {"ownerReferences": [
            {"kind": "ClusterServiceVersion", "name": "a.v1", "uid": "1"},
            {"kind": "ClusterServiceVersion", "name": "a.v2", "uid": "2"},
            {"kind": "Deployment", "name": "d", "uid": "3"},
        ]}});
        let mut wanted = json!({"metadata": {"ownerReferences": [
            {"kind": "ClusterServiceVersion", "name": "a.v2", "uid": "2"},
        ]}});
        owners(&mut wanted, &live);
        let uids: Vec<&Value> = wanted["metadata"]["ownerReferences"]
            .as_array()
            .unwrap()
            .iter()
            .map(|owner| &owner["uid"])
            .collect();
        assert_eq!(uids, ["2", "1"]);
        let mut bare = json!({"metadata": {"name": "x"}});
        owners(&mut bare, &json!({"metadata": {}}));
        assert_eq!(bare, json!({"metadata": {"name": "x"}}));
    }

    #[test]
    fn what_several_packages_brought_keeps_their_marks_and_is_of_none_of_them_alone() {
        let mark = |package: &str| format!("{COMPONENT_PREFIX}{package}");
        let object = |package: &str| {
            json!({"metadata": {"labels": {
                mark(package): "", OWNER: format!("{package}.v1"), OWNER_NAMESPACE: "port",
                OWNER_KIND: "ClusterServiceVersion", "olm.managed": "true",
            }}})
        };
        let mut wanted = object("gopher.port");
        marks(&mut wanted, &object("gopher.port"));
        assert_eq!(wanted, object("gopher.port"), "its own is no news");
        marks(&mut wanted, &object("mole.quay"));
        let labels = json!({
            mark("gopher.port"): "", mark("mole.quay"): "", "olm.managed": "true",
        });
        assert_eq!(wanted["metadata"]["labels"], labels);
    }

    #[test]
    fn the_csvs_of_a_crd_are_read_out_of_its_annotations() {
        let live = json!({"metadata": {"annotations": {
            format!("{INSTALLED_ALONGSIDE_PREFIX}1"): "ns/a", "other": "x",
            format!("{INSTALLED_ALONGSIDE_PREFIX}2"): "ns/b",
        }}});
        assert_eq!(installed_alongside(&live), ["ns/a", "ns/b"]);
        assert!(installed_alongside(&json!({})).is_empty());
    }

    #[test]
    fn a_conversion_of_the_lifecycle_is_seen() {
        let live = |manager: &str| {
            json!({"metadata": {"managedFields": [
                {"manager": manager, "fieldsV1": {"f:spec": {"f:conversion": {"f:strategy": {}}}}},
            ]}})
        };
        assert!(conversion_is_taken(
            &live("chandler-lifecycle"),
            "chandler-plan"
        ));
        for ours_or_soon in ["chandler-plan", "catalog"] {
            assert!(!conversion_is_taken(&live(ours_or_soon), "chandler-plan"));
        }
    }
}
