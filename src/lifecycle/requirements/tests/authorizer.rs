//! What a ServiceAccount may do.

use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding};
use rstest::rstest;
use serde_json::{Value, json};

use super::csv;
use crate::lifecycle::requirements::{Authorizer, Rbac};

fn rule(rule: &Value) -> PolicyRule {
    serde_json::from_value(rule.clone()).unwrap()
}

fn resource(verb: &str, group: &str, resource: &str) -> Value {
    json!({"verbs": [verb], "apiGroups": [group], "resources": [resource]})
}

fn named(verb: &str, of: &str, name: &str) -> Value {
    json!({"verbs": [verb], "apiGroups": [""], "resources": [of], "resourceNames": [name]})
}

fn url(verb: &str, path: &str) -> Value {
    json!({"verbs": [verb], "nonResourceURLs": [path]})
}

fn me() -> Value {
    json!({"kind": "ServiceAccount", "name": "sa", "namespace": "ns"})
}

fn role_binding(namespace: &str, kind: &str, subject: &Value) -> RoleBinding {
    serde_json::from_value(json!({
        "metadata": {"name": "binding", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "role"},
        "subjects": [subject],
    }))
    .unwrap()
}

fn cluster_binding(subject: &Value) -> ClusterRoleBinding {
    serde_json::from_value(json!({
        "metadata": {"name": "binding"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "role"},
        "subjects": [subject],
    }))
    .unwrap()
}

fn cluster_role(granted: &Value) -> ClusterRole {
    serde_json::from_value(json!({"metadata": {"name": "role"}, "rules": [granted]})).unwrap()
}

#[rstest]
#[case::the_same(resource("get", "", "pods"), resource("get", "", "pods"), true)]
#[case::another_verb(resource("get", "", "pods"), resource("list", "", "pods"), false)]
#[case::any_verb(resource("*", "", "pods"), resource("list", "", "pods"), true)]
#[case::asks_for_any_verb(resource("get", "", "pods"), resource("*", "", "pods"), false)]
#[case::another_group(resource("get", "", "pods"), resource("get", "apps", "pods"), false)]
#[case::any_group(resource("get", "*", "pods"), resource("get", "apps", "pods"), true)]
#[case::any_resource(resource("get", "", "*"), resource("get", "", "pods/log"), true)]
#[case::asks_for_any_resource(resource("get", "", "pods"), resource("get", "", "*"), false)]
#[case::not_its_subresource(resource("get", "", "pods"), resource("get", "", "pods/log"), false)]
#[case::that_subresource(resource("get", "", "pods/log"), resource("get", "", "pods/log"), true)]
#[case::that_subresource_of_any(
    resource("get", "", "*/log"),
    resource("get", "", "pods/log"),
    true
)]
#[case::another_subresource_of_any(
    resource("get", "", "*/log"),
    resource("get", "", "pods/status"),
    false
)]
#[case::only_some_names(named("get", "pods", "a"), resource("get", "", "pods"), false)]
#[case::that_name(named("get", "pods", "a"), named("get", "pods", "a"), true)]
#[case::another_name(named("get", "pods", "a"), named("get", "pods", "b"), false)]
#[case::any_name(resource("get", "", "pods"), named("get", "pods", "b"), true)]
#[case::that_path(url("get", "/osb"), url("get", "/osb"), true)]
#[case::another_path(url("get", "/osb"), url("get", "/healthz"), false)]
#[case::a_path_below(url("get", "/osb/*"), url("get", "/osb/v2"), true)]
#[case::any_path(url("get", "*"), url("get", "/osb/v2"), true)]
#[case::a_path_by_another_verb(url("get", "/osb"), url("post", "/osb"), false)]
#[case::a_path_is_no_resource(url("*", "*"), resource("get", "", "pods"), false)]
#[case::a_resource_is_no_path(resource("*", "*", "*"), url("get", "/osb"), false)]
fn a_rule_is_satisfied_by_one_that_grants_as_much(
    #[case] granted: Value,
    #[case] wanted: Value,
    #[case] satisfied: bool,
) {
    let (role, binding) = (cluster_role(&granted), cluster_binding(&me()));
    let rbac = Rbac {
        cluster_roles: vec![&role],
        cluster_role_bindings: vec![&binding],
        ..Rbac::default()
    };
    let authorizer = Authorizer::for_account(&rbac, &csv(&json!({})), "ns", "sa", None);
    assert_eq!(authorizer.satisfies(&rule(&wanted)), satisfied);
}

#[test]
fn a_rule_may_be_satisfied_by_several_together() {
    let role: Role = serde_json::from_value(json!({
        "metadata": {"name": "role", "namespace": "ns"},
        "rules": [resource("get", "", "pods"), resource("list", "", "pods")],
    }))
    .unwrap();
    let binding = role_binding("ns", "Role", &me());
    let rbac = Rbac {
        roles: vec![&role],
        role_bindings: vec![&binding],
        ..Rbac::default()
    };
    let authorizer = Authorizer::for_account(&rbac, &csv(&json!({})), "ns", "sa", Some("ns"));
    let both = json!({"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]});
    assert!(authorizer.satisfies(&rule(&both)));
    let more = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "secrets"]});
    assert!(!authorizer.satisfies(&rule(&more)));
}

#[rstest]
#[case::itself(me(), true)]
#[case::itself_without_its_namespace(json!({"kind": "ServiceAccount", "name": "sa"}), true)]
#[case::one_of_that_name_elsewhere(json!({"kind": "ServiceAccount", "name": "sa", "namespace": "far"}), false)]
#[case::another(json!({"kind": "ServiceAccount", "name": "other", "namespace": "ns"}), false)]
#[case::its_user(json!({"kind": "User", "name": "system:serviceaccount:ns:sa"}), true)]
#[case::all_accounts(json!({"kind": "Group", "name": "system:serviceaccounts"}), true)]
#[case::all_of_its_namespace(json!({"kind": "Group", "name": "system:serviceaccounts:ns"}), true)]
#[case::all_of_another(json!({"kind": "Group", "name": "system:serviceaccounts:far"}), false)]
#[case::everybody(json!({"kind": "Group", "name": "system:authenticated"}), true)]
#[case::some_group(json!({"kind": "Group", "name": "admins"}), false)]
fn a_binding_is_for_the_account_or_a_group_of_it(#[case] subject: Value, #[case] bound: bool) {
    let granted = resource("get", "", "pods");
    let (role, binding) = (
        cluster_role(&granted),
        role_binding("ns", "ClusterRole", &subject),
    );
    let rbac = Rbac {
        cluster_roles: vec![&role],
        role_bindings: vec![&binding],
        ..Rbac::default()
    };
    let authorizer = Authorizer::for_account(&rbac, &csv(&json!({})), "ns", "sa", Some("ns"));
    assert_eq!(authorizer.satisfies(&rule(&granted)), bound);
}

#[rstest]
#[case::here("ns", Some("ns"), true)]
#[case::in_another_namespace("far", Some("ns"), false)]
#[case::not_in_the_whole_cluster("ns", None, false)]
fn a_role_binding_counts_in_its_namespace(
    #[case] namespace: &str,
    #[case] asked: Option<&str>,
    #[case] counts: bool,
) {
    let granted = resource("get", "", "pods");
    let (role, binding) = (
        cluster_role(&granted),
        role_binding(namespace, "ClusterRole", &me()),
    );
    let rbac = Rbac {
        cluster_roles: vec![&role],
        role_bindings: vec![&binding],
        ..Rbac::default()
    };
    let authorizer = Authorizer::for_account(&rbac, &csv(&json!({})), "ns", "sa", asked);
    assert_eq!(authorizer.satisfies(&rule(&granted)), counts);
}

#[test]
fn a_path_is_not_granted_by_the_binding_of_a_namespace() {
    let granted = url("get", "/osb");
    let (role, binding) = (
        cluster_role(&granted),
        role_binding("ns", "ClusterRole", &me()),
    );
    let rbac = Rbac {
        cluster_roles: vec![&role],
        role_bindings: vec![&binding],
        ..Rbac::default()
    };
    let authorizer = Authorizer::for_account(&rbac, &csv(&json!({})), "ns", "sa", Some("ns"));
    assert!(!authorizer.satisfies(&rule(&granted)));
}

#[rstest]
#[case::its_own("csv-uid", true)]
#[case::of_another("other-uid", false)]
fn what_another_operator_brought_does_not_count(#[case] owner: &str, #[case] counts: bool) {
    let granted = resource("get", "", "pods");
    let mut role = cluster_role(&granted);
    role.metadata.owner_references = serde_json::from_value(json!([
        {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "name": "x", "uid": owner}
    ]))
    .unwrap();
    let binding = cluster_binding(&me());
    let rbac = Rbac {
        cluster_roles: vec![&role],
        cluster_role_bindings: vec![&binding],
        ..Rbac::default()
    };
    let authorizer = Authorizer::for_account(&rbac, &csv(&json!({})), "ns", "sa", None);
    assert_eq!(authorizer.satisfies(&rule(&granted)), counts);
}
