use serde_json::json;

use super::*;

fn csv(install: &Value) -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "gopher.v1", "namespace": "home", "uid": "u1"},
        "spec": {"displayName": "Gopher", "install": {"strategy": "deployment", "spec": install}},
    }))
    .unwrap()
}

fn condition(spec: &Value, status: &Value) -> OperatorCondition {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v2",
        "kind": "OperatorCondition",
        "metadata": {"name": "gopher.v1", "namespace": "home", "uid": "u2", "generation": 3},
        "spec": spec,
        "status": status,
    }))
    .unwrap()
}

fn time() -> Time {
    serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap()
}

#[test]
fn every_account_of_the_strategy_is_named_once() {
    let csv = csv(&json!({
        "clusterPermissions": [{"serviceAccountName": "a", "rules": []}],
        "permissions": [
            {"serviceAccountName": "b", "rules": []},
            {"serviceAccountName": "a", "rules": []},
        ],
        "deployments": [{"name": "one", "spec": {}}, {"name": "two", "spec": {}}],
    }));
    let wanted = wanted(&csv);
    assert_eq!(wanted["spec"]["serviceAccounts"], json!(["a", "b"]));
    assert_eq!(wanted["spec"]["deployments"], json!(["one", "two"]));
    assert_eq!(wanted["metadata"]["ownerReferences"][0]["uid"], "u1");
}

#[test]
fn an_operator_without_rights_runs_as_the_default_account() {
    let wanted = wanted(&csv(&json!({"deployments": []})));
    assert_eq!(wanted["spec"]["serviceAccounts"], json!(["default"]));
}

#[test]
fn the_accounts_may_write_this_object_and_no_other() {
    let condition = condition(&json!({"serviceAccounts": ["a", "b"]}), &json!(null));
    let [role, binding] = rights(&condition);
    assert_eq!(role["rules"][0]["resourceNames"], json!(["gopher.v1"]));
    assert_eq!(role["rules"].as_array().unwrap().len(), 1);
    let subjects = binding["subjects"].as_array().unwrap();
    let names: Vec<&str> = subjects
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
}

#[test]
fn what_the_operator_says_is_noted_with_its_generation() {
    let said = json!({"type": "Upgradeable", "status": "False", "reason": "Busy", "message": "m"});
    let condition = condition(&json!({"conditions": [said]}), &json!(null));
    let status = status(&condition, &time()).unwrap();
    assert_eq!(status.conditions.len(), 1);
    assert_eq!(status.conditions[0].observed_generation, Some(3));
    assert_eq!(status.conditions[0].last_transition_time, Some(time()));
}

#[test]
fn what_was_noted_is_not_noted_again() {
    let said = json!({"type": "Upgradeable", "status": "False", "reason": "Busy", "message": "m"});
    let mut condition = condition(&json!({"conditions": [said]}), &json!(null));
    condition.status = status(&condition, &time());
    assert_eq!(status(&condition, &time()), None);
}
