use super::*;
use rstest::rstest;
use serde_json::{Value, json};

fn csv(annotations: &Value) -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "csv", "namespace": "ns", "annotations": annotations},
        "spec": {"installModes": [{"type": "OwnNamespace", "supported": true}]},
    }))
    .unwrap()
}

fn group(name: &str, status: &Value) -> OperatorGroup {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {},
        "status": status,
    }))
    .unwrap()
}

fn marks(targets: &str) -> Value {
    json!({
        "olm.operatorGroup": "group",
        "olm.operatorNamespace": "ns",
        "olm.targetNamespaces": targets,
    })
}

#[test]
fn a_csv_that_carries_the_annotations_of_its_group_is_a_member() {
    let group = group("group", &json!({"namespaces": ["b", "a"]}));
    let found = membership(&csv(&marks("a,b")), &[&group]);
    assert_eq!(found, Membership::Member(&group));
}

#[rstest]
#[case::none_of_them(json!({}), 3)]
#[case::of_another_group(json!({"olm.operatorGroup": "old", "olm.operatorNamespace": "ns",
    "olm.targetNamespaces": "a,b"}), 1)]
#[case::other_namespaces(marks("a"), 1)]
fn what_differs_from_its_group_is_to_be_written(#[case] annotations: Value, #[case] count: usize) {
    let group = group("group", &json!({"namespaces": ["b", "a"]}));
    let Membership::Unmarked(found) = membership(&csv(&annotations), &[&group]) else {
        panic!("it carries all of them");
    };
    assert_eq!(found.len(), count);
}

#[test]
fn a_member_of_a_global_group_is_marked_with_an_empty_value() {
    let group = group("group", &json!({"namespaces": [""]}));
    assert_eq!(
        membership(&csv(&marks("")), &[&group]),
        Membership::Member(&group)
    );
}

#[test]
fn one_group_is_needed_and_no_more() {
    let (one, two) = (group("one", &json!({})), group("two", &json!({})));
    assert_eq!(membership(&csv(&json!({})), &[]), Membership::NoGroup);
    let names = vec!["one".to_owned(), "two".to_owned()];
    let found = membership(&csv(&json!({})), &[&two, &one]);
    assert_eq!(found, Membership::SeveralGroups(names));
}

#[test]
fn a_group_that_covers_nothing_is_told_from_one_that_nobody_looked_at() {
    let new = group("group", &json!({}));
    assert_eq!(
        membership(&csv(&marks("ns")), &[&new]),
        Membership::Unsettled
    );
    let empty = group("group", &json!({"lastUpdated": "2026-01-01T00:00:00Z"}));
    let found = membership(&csv(&marks("ns")), &[&empty]);
    assert_eq!(found, Membership::NoTargets(BTreeMap::new()));
}

#[test]
fn the_modes_have_to_suit_the_namespaces_of_the_group() {
    let own = group("group", &json!({"namespaces": ["ns"]}));
    assert_eq!(check(&csv(&json!({})), &own), Ok(()));
    let all = group("group", &json!({"namespaces": [""]}));
    let error = check(&csv(&json!({})), &all).unwrap_err().to_string();
    assert!(
        error.starts_with("AllNamespaces InstallModeType not supported"),
        "{error}"
    );
}
