//! What stays in an object although the one that is applied does not have it.
//!
//! All plans write by one manager, so that each apply says everything that we want of an object. What
//! an earlier plan wrote for another CSV is repeated, therefore.

use serde_json::{Value, json};

use super::{Writer, adopt};
use crate::api::labels::{
    COMPONENT_PREFIX, FOUND, INSTALLED_ALONGSIDE_PREFIX, MANAGED, OWNER, OWNER_KIND,
    OWNER_NAMESPACE,
};

/// Makes a write depend on what was read: what is kept was read in it, and somebody else may add to that.
pub(super) fn version(wanted: &mut Value, live: &Value) {
    if let Some(version) = live.pointer("/metadata/resourceVersion")
        && let Some(metadata) = wanted.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("resourceVersion".to_owned(), version.clone());
    }
}

/// Whether a live object is nobody's who installs operators: it has no mark of a plan, no CSV for an owner, and
/// nothing that OLM or Chandler wrote; or it was noted to be such.
pub(super) fn was_found(live: &Value) -> bool {
    let has = |pointer: &str, is_meant: &dyn Fn(&str) -> bool| {
        let map = live.pointer(pointer).and_then(Value::as_object);
        map.into_iter().flatten().any(|(key, _)| is_meant(key))
    };
    if has("/metadata/annotations", &|key| key == FOUND) {
        return true;
    }
    let is_marked = has("/metadata/labels", &|key| {
        [MANAGED, OWNER].contains(&key) || key.starts_with(COMPONENT_PREFIX)
    });
    let entries = live.pointer("/metadata/managedFields");
    let mut entries = entries.and_then(Value::as_array).into_iter().flatten();
    let is_written = entries.any(|entry| {
        let manager = entry.get("manager").and_then(Value::as_str);
        manager.is_some_and(|manager| manager.starts_with("chandler-"))
            || [Writer::Plan, Writer::Lifecycle]
                .iter()
                .any(|writer| adopt::is_of_olm(entry, *writer))
    });
    !is_marked && !is_written && csvs(live).is_empty()
}

/// Notes that an object was there before any plan brought it. It is no CSV's then, and outlives all of them.
pub(super) fn found(wanted: &mut Value) {
    let Some(metadata) = wanted.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let is_namespaced = metadata.contains_key("namespace");
    metadata.shift_remove("ownerReferences");
    if let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut)
        && !is_namespaced
    {
        for key in [OWNER, OWNER_NAMESPACE, OWNER_KIND] {
            labels.shift_remove(key);
        }
    }
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if !annotations.is_object() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(FOUND.to_owned(), json!("true"));
    }
}

/// The CSVs that own a live object.
fn csvs(live: &Value) -> Vec<&Value> {
    live.pointer("/metadata/ownerReferences")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|owner| owner.get("kind").and_then(Value::as_str) == Some("ClusterServiceVersion"))
        .collect()
}

/// Keeps the CSVs that own the live object as owners. Kubernetes drops those that are gone.
pub(super) fn owners(wanted: &mut Value, live: &Value) {
    let kept: Vec<Value> = csvs(live).into_iter().cloned().collect();
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
    use rstest::rstest;

    use super::*;

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

    #[rstest]
    #[case::of_a_user(json!({"labels": {"team": "a"}, "managedFields": [{"manager": "kubectl"}]}), true)]
    #[case::of_an_operator(json!({"ownerReferences": [{"kind": "Deployment", "uid": "1"}]}), true)]
    #[case::noted_before(json!({"labels": {MANAGED: "true"}, "annotations": {FOUND: "true"}}), true)]
    #[case::of_a_plan(json!({"labels": {MANAGED: "true"}}), false)]
    #[case::of_a_package(json!({"labels": {"operators.coreos.com/gopher.port": ""}}), false)]
    #[case::of_an_older_olm(json!({"labels": {OWNER: "gopher.v1"}}), false)]
    #[case::of_a_csv(json!({"ownerReferences": [{"kind": "ClusterServiceVersion", "uid": "1"}]}), false)]
    #[case::written_by_olm(json!({"managedFields": [{"manager": "catalog"}]}), false)]
    #[case::written_by_us(json!({"managedFields": [{"manager": "chandler-lifecycle"}]}), false)]
    fn what_was_there_before_any_plan_is_told_from_what_plans_brought(
        #[case] metadata: Value,
        #[case] expected: bool,
    ) {
        assert_eq!(was_found(&json!({"metadata": metadata})), expected);
    }

    #[test]
    fn what_was_there_before_is_marked_and_becomes_no_csvs() {
        let owner = json!({"kind": "ClusterServiceVersion", "name": "a.v1", "uid": "1"});
        let mut map = json!({"metadata": {
            "namespace": "port", "ownerReferences": [owner],
            "labels": {MANAGED: "true", "operators.coreos.com/a.port": ""},
        }});
        found(&mut map);
        let expected = json!({"metadata": {
            "namespace": "port", "annotations": {FOUND: "true"},
            "labels": {MANAGED: "true", "operators.coreos.com/a.port": ""},
        }});
        assert_eq!(map, expected);
        let mut class = json!({"metadata": {
            "annotations": {"note": "x"},
            "labels": {
                MANAGED: "true", OWNER: "a.v1", OWNER_NAMESPACE: "port",
                OWNER_KIND: "ClusterServiceVersion",
            },
        }});
        found(&mut class);
        let expected = json!({"metadata": {
            "annotations": {"note": "x", FOUND: "true"}, "labels": {MANAGED: "true"},
        }});
        assert_eq!(class, expected);
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
