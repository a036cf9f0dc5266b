use super::*;
use serde_json::{Value, json};

fn time(second: u8) -> Time {
    serde_json::from_value(json!(format!("2026-01-01T00:00:{second:02}Z"))).unwrap()
}

fn group(spec: &Value) -> OperatorGroup {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {"name": "group", "namespace": "ns"},
        "spec": spec,
    }))
    .unwrap()
}

#[allow(
    clippy::unnecessary_wraps,
    reason = "it stands for an outcome that may be an error"
)]
fn named(names: &[&str]) -> Result<Targets, TargetsError> {
    Ok(Targets::Named(
        names.iter().map(ToString::to_string).collect(),
    ))
}

/// What the status says if every namespace is there.
fn status(
    group: &OperatorGroup,
    siblings: &[&str],
    targets: &Result<Targets, TargetsError>,
    account: &ServiceAccount,
    now: &Time,
) -> OperatorGroupStatus {
    super::status(group, siblings, targets, &[], None, account, now)
}

const NONE: ServiceAccount = ServiceAccount::NotAsked;

fn types(status: &OperatorGroupStatus) -> Vec<&str> {
    let conditions = status.conditions.iter();
    conditions
        .map(|condition| condition.type_.as_str())
        .collect()
}

#[test]
fn the_status_names_the_namespaces_and_when_it_was_written() {
    let group = group(&json!({}));
    let all = status(&group, &[], &Ok(Targets::All), &NONE, &time(1));
    assert_eq!(all.namespaces, [""]);
    assert_eq!(all.last_updated, Some(time(1)));
    assert!(all.conditions.is_empty());
    let two = status(&group, &[], &named(&["b", "a"]), &NONE, &time(1));
    assert_eq!(two.namespaces, ["a", "b"]);
}

#[test]
fn nothing_new_changes_no_time() {
    let mut group = group(&json!({"serviceAccountName": "robot"}));
    let missing = ServiceAccount::Missing;
    let first = status(&group, &["other"], &named(&["a"]), &missing, &time(1));
    group.status = Some(first.clone());
    let second = status(&group, &["other"], &named(&["a"]), &missing, &time(2));
    assert_eq!(second, first);
}

#[test]
fn what_olm_wrote_in_another_order_is_nothing_new() {
    let mut group = group(&json!({}));
    let mut first = status(&group, &[], &named(&["a", "b"]), &NONE, &time(1));
    first.namespaces.reverse();
    group.status = Some(first.clone());
    assert_eq!(
        status(&group, &[], &named(&["a", "b"]), &NONE, &time(2)),
        first
    );
}

#[test]
fn a_status_without_its_required_time_is_written_anew() {
    let mut group = group(&json!({}));
    group.status = Some(OperatorGroupStatus {
        namespaces: vec![String::new()],
        ..OperatorGroupStatus::default()
    });
    let after = status(&group, &[], &Ok(Targets::All), &NONE, &time(1));
    assert_eq!(after.last_updated, Some(time(1)));
}

#[test]
fn several_groups_in_a_namespace_are_a_condition_until_there_is_one() {
    let mut group = group(&json!({}));
    let both = status(&group, &["z", "b"], &Ok(Targets::All), &NONE, &time(1));
    let [condition] = both.conditions.as_slice() else {
        panic!("{both:?}");
    };
    assert_eq!(condition.type_, "MultipleOperatorGroup");
    assert_eq!(condition.status, ConditionStatus::True);
    assert_eq!(condition.reason, "MultipleOperatorGroupsFound");
    let words = "Multiple OperatorGroup found in the same namespace: beside group there is b, z;";
    assert!(condition.message.starts_with(words), "{condition:?}");
    group.status = Some(both);
    let alone = status(&group, &[], &Ok(Targets::All), &NONE, &time(2));
    assert!(alone.conditions.is_empty());
    assert_eq!(alone.last_updated, Some(time(2)));
}

#[test]
fn a_missing_service_account_is_a_condition_until_it_exists() {
    let mut group = group(&json!({"serviceAccountName": "robot"}));
    let missing = status(
        &group,
        &[],
        &Ok(Targets::All),
        &ServiceAccount::Missing,
        &time(1),
    );
    let [condition] = missing.conditions.as_slice() else {
        panic!("{missing:?}");
    };
    assert_eq!(condition.type_, "OperatorGroupServiceAccount");
    assert_eq!(condition.reason, "ServiceAccountNotFound");
    assert!(
        condition
            .message
            .starts_with("ServiceAccount robot not found")
    );
    assert_eq!(missing.service_account_ref, None);
    assert_eq!(
        missing.namespaces,
        [""],
        "the rest of the status does not wait for it"
    );
    group.status = Some(missing);
    let account = ServiceAccount::Found {
        uid: "1234".to_owned(),
    };
    let found = status(&group, &[], &Ok(Targets::All), &account, &time(2));
    assert!(found.conditions.is_empty());
    let reference = json!({"apiVersion": "v1", "kind": "ServiceAccount", "namespace": "ns",
                           "name": "robot", "uid": "1234"});
    assert_eq!(
        serde_json::to_value(&found.service_account_ref).unwrap(),
        reference
    );
}

#[test]
fn a_service_account_that_is_no_longer_asked_for_is_forgotten() {
    let mut asked = group(&json!({"serviceAccountName": "robot"}));
    let account = ServiceAccount::Found {
        uid: "1234".to_owned(),
    };
    let with = status(&asked, &[], &Ok(Targets::All), &account, &time(1));
    asked.spec.service_account_name.clear();
    asked.status = Some(with);
    let without = status(&asked, &[], &Ok(Targets::All), &NONE, &time(2));
    assert_eq!(without.service_account_ref, None);
}

#[test]
fn the_resource_version_that_olm_noted_makes_no_difference_but_another_account_does() {
    let mut group = group(&json!({"serviceAccountName": "robot"}));
    let account = |uid: &str| ServiceAccount::Found {
        uid: uid.to_owned(),
    };
    let mut by_olm = status(&group, &[], &Ok(Targets::All), &account("1"), &time(1));
    if let Some(reference) = &mut by_olm.service_account_ref {
        reference.resource_version = Some("77".to_owned());
    }
    group.status = Some(by_olm.clone());
    let same = status(&group, &[], &Ok(Targets::All), &account("1"), &time(2));
    assert_eq!(same, by_olm);
    let other = status(&group, &[], &Ok(Targets::All), &account("2"), &time(2));
    assert_eq!(other.last_updated, Some(time(2)));
}

#[test]
fn namespaces_that_cannot_be_told_stay_as_they_were_and_the_condition_says_why() {
    let mut group = group(&json!({}));
    group.status = Some(status(&group, &[], &named(&["a"]), &NONE, &time(1)));
    let broken = Err(TargetsError::NamespaceAll(vec!["b".into(), String::new()]));
    let after = status(&group, &[], &broken, &NONE, &time(2));
    assert_eq!(after.namespaces, ["a"]);
    assert_eq!(types(&after), ["OperatorGroupTargetNamespaces"]);
    group.status = Some(after);
    let mended = status(&group, &[], &named(&["b"]), &NONE, &time(3));
    assert_eq!(types(&mended), [""; 0]);
    assert_eq!(mended.namespaces, ["b"]);
}

#[test]
fn a_namespace_that_does_not_exist_is_covered_and_told_until_it_comes() {
    let mut group = group(&json!({"targetNamespaces": ["a", "b"]}));
    let targets = named(&["a", "b"]);
    let missing = ["b".to_owned()];
    let without = super::status(&group, &[], &targets, &missing, None, &NONE, &time(1));
    assert_eq!(without.namespaces, ["a", "b"]);
    let [condition] = without.conditions.as_slice() else {
        panic!("{without:?}");
    };
    assert_eq!(condition.type_, "OperatorGroupTargetNamespaces");
    assert_eq!(condition.reason, "TargetNamespacesNotFound");
    let words = "namespace b does not exist: create it, or correct spec.targetNamespaces";
    assert!(condition.message.starts_with(words), "{condition:?}");
    group.status = Some(without);
    assert!(trouble_with_targets(&group).is_some_and(|told| told.starts_with(words)));
    group.status = Some(status(&group, &[], &targets, &NONE, &time(2)));
    assert_eq!(trouble_with_targets(&group), None);
}

#[test]
fn conditions_of_others_stay_and_a_condition_keeps_its_time() {
    let mut group = group(&json!({}));
    let mut first = status(&group, &["b"], &Ok(Targets::All), &NONE, &time(1));
    first.conditions.insert(
        0,
        Condition {
            type_: "Mine".to_owned(),
            ..Condition::default()
        },
    );
    group.status = Some(first);
    let second = status(&group, &["b", "c"], &Ok(Targets::All), &NONE, &time(2));
    assert_eq!(types(&second), ["Mine", "MultipleOperatorGroup"]);
    assert_eq!(second.conditions[1].last_transition_time, Some(time(1)));
    assert!(second.conditions[1].message.contains("b, c"));
}

#[test]
fn a_namespace_that_cannot_be_labelled_is_told_until_it_can() {
    let mut group = group(&json!({}));
    let targets = named(&["a"]);
    let refused = Some("labelling namespace a: denied by policy");
    group.status = Some(super::status(
        &group,
        &[],
        &targets,
        &[],
        refused,
        &NONE,
        &time(1),
    ));
    let told = trouble_with_targets(&group).unwrap();
    assert!(
        told.starts_with("labelling namespace a: denied by policy; "),
        "{told}"
    );
    assert_eq!(group.status.as_ref().unwrap().namespaces, ["a"]);
    group.status = Some(status(&group, &[], &targets, &NONE, &time(2)));
    assert_eq!(trouble_with_targets(&group), None);
}
