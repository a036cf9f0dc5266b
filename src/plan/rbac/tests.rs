use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn csv(install_spec: &Value) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": { "name": "harbor.v1.0.0" },
        "spec": { "install": { "strategy": "deployment", "spec": install_spec } },
    })
}

/// Fields are not in Go's order, and one list is empty.
fn permission() -> Value {
    json!({
        "rules": [
            { "resources": ["pods"], "apiGroups": [""], "verbs": ["get", "list"] },
            { "nonResourceURLs": ["/a&b"], "verbs": ["get"], "resourceNames": [] },
        ],
        "serviceAccountName": "harbor",
    })
}

fn kinds_and_names(objects: &[Value]) -> Vec<(&str, &str)> {
    objects
        .iter()
        .map(|object| (text_of(object, "/kind"), text_of(object, "/metadata/name")))
        .collect()
}

/// The names were computed by a program in Go.
#[test]
fn names_are_those_that_olm_gives() {
    let csv = csv(&json!({
        "permissions": [permission()],
        "clusterPermissions": [permission()],
    }));
    let objects = derive(&csv, "port").unwrap();
    let role = "harbor.v1.0.0-harbor-b7LlbT9wegq2Rg4Ca2JZm5PCukzRfzht4vM7hT";
    let cluster_role = "harbor.v1.0.0-8qIvL0Sh4iUUriwiK6yN1X8oEhA0gYzB7EpEy3";
    assert_eq!(
        kinds_and_names(&objects),
        [
            ("ServiceAccount", "harbor"),
            ("Role", role),
            ("RoleBinding", role),
            ("ClusterRole", cluster_role),
            ("ClusterRoleBinding", cluster_role),
        ]
    );
    let hash = |at: usize| objects[at]["metadata"]["labels"]["olm.permissions.hash"].clone();
    assert_eq!(hash(1), "334oL5O5wfdS6fS4qjQ87vJrq0RhLYl9zrJxhT");
    assert_eq!(hash(2), "bcfaJuQOZJV2Y1T2z0dm2jRAWOFCYhj25B05Om");
    assert_eq!(hash(3), hash(1));
}

#[test]
fn a_permission_without_rules_has_the_name_that_olm_gives() {
    let csv = csv(&json!({ "permissions": [{ "serviceAccountName": "harbor" }] }));
    let objects = derive(&csv, "port").unwrap();
    let name = "harbor.v1.0.0-harbor-Xf20KGuXupDtSwwvRohwJODEKVfRvQM9P0mF0";
    assert_eq!(objects[1]["metadata"]["name"], name);
    assert_eq!(objects[1]["rules"], json!([]));
}

#[test]
fn a_role_is_bound_to_its_service_account_in_the_namespace() {
    let csv = csv(&json!({ "permissions": [permission()] }));
    let objects = derive(&csv, "port").unwrap();
    let [account, role, binding] = objects.as_slice() else {
        panic!("three objects: {objects:?}");
    };
    assert_eq!(account["metadata"]["namespace"], "port");
    assert_eq!(role["metadata"]["namespace"], "port");
    assert_eq!(role["metadata"]["labels"]["olm.owner"], "harbor.v1.0.0");
    assert_eq!(role["rules"][0]["resources"], json!(["pods"]));
    assert_eq!(binding["roleRef"]["kind"], "Role");
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    assert_eq!(
        binding["subjects"],
        json!([{ "kind": "ServiceAccount", "name": "harbor", "namespace": "port" }])
    );
}

#[test]
fn a_cluster_role_is_in_no_namespace_and_named_after_the_namespace_of_its_operator() {
    let csv = csv(&json!({ "clusterPermissions": [permission()] }));
    let in_port = derive(&csv, "port").unwrap();
    let in_quay = derive(&csv, "quay").unwrap();
    assert_eq!(in_port[1]["metadata"].get("namespace"), None);
    assert_ne!(
        in_port[1]["metadata"]["name"],
        in_quay[1]["metadata"]["name"]
    );
}

// TestNamespaceResolverRBAC
#[test]
fn the_default_service_account_gets_rights_but_is_not_made() {
    let mut permission = permission();
    permission["serviceAccountName"] = json!("default");
    let csv = csv(&json!({ "permissions": [permission] }));
    let objects = derive(&csv, "port").unwrap();
    let kinds: Vec<&str> = objects
        .iter()
        .map(|object| text_of(object, "/kind"))
        .collect();
    assert_eq!(kinds, ["Role", "RoleBinding"]);
}

#[test]
fn a_service_account_with_several_permissions_is_made_once() {
    let mut other = permission();
    other["rules"] = json!([]);
    let csv = csv(&json!({
        "permissions": [permission(), other],
        "clusterPermissions": [permission()],
    }));
    let objects = derive(&csv, "port").unwrap();
    let accounts = objects
        .iter()
        .filter(|object| text_of(object, "/kind") == "ServiceAccount");
    assert_eq!(accounts.count(), 1);
    assert_eq!(objects.len(), 1 + 3 * 2);
}

#[rstest]
#[case(json!({}))]
#[case(json!({ "permissions": null, "clusterPermissions": [] }))]
#[case(json!(null))]
fn an_operator_may_have_no_permissions(#[case] spec: Value) {
    assert_eq!(derive(&csv(&spec), "port").unwrap(), Vec::<Value>::new());
}

#[test]
fn another_strategy_is_refused_in_olms_words() {
    let mut csv = csv(&json!({}));
    csv["spec"]["install"]["strategy"] = json!("helm");
    let error = derive(&csv, "port").unwrap_err().to_string();
    assert!(error.contains("unrecognized install strategy"), "{error}");
    assert!(error.contains("harbor.v1.0.0"), "{error}");
}

#[test]
fn permissions_of_another_form_are_refused_with_their_place() {
    let csv = csv(&json!({ "clusterPermissions": [{ "rules": [{ "verbs": "get" }] }] }));
    let error = derive(&csv, "port").unwrap_err().to_string();
    assert!(
        error.contains("spec.install.spec.clusterPermissions"),
        "{error}"
    );
}

#[rstest]
#[case("myname", json!(["something"]), "myname-5L9sNXi3Y6mcOevFzYY3WOLIukKOeZwz1pfUlT")]
#[case(&"name".repeat(100), json!(["something", "else"]), "namenamenamenamenamename-6XtefCelEzfYlFOD1fARIK5vhWVfWfGHja7H3q")]
fn long_bases_are_cut(#[case] base: &str, #[case] of: Value, #[case] name: &str) {
    assert_eq!(generate_name(base, &of), name);
}

proptest! {
    #[test]
    fn names_stay_short(base: String, of: String) {
        // One more than the limit where base and hash alone would just fit: OLM's count.
        prop_assert!(generate_name(&base, &of).len() <= NAME_LIMIT + 1);
    }
}
