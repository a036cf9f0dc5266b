use std::sync::Arc;

use super::*;
use serde_json::{Value, json};

fn group(namespace: &str, name: &str) -> OperatorGroup {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {},
    }))
    .unwrap()
}

fn value(role: &ClusterRole) -> Value {
    serde_json::to_value(role).unwrap()
}

/// The hashes were computed with Go.
#[test]
fn the_roles_of_a_group_have_the_names_that_olm_gives_them() {
    assert_eq!(
        group_role_names("operators", "global"),
        [
            "olm.og.global.admin-8tYz3SPASiNERpqwgmJaSaaF6Hf7uvHTiAwz4h",
            "olm.og.global.edit-2y1fFfcpBCY7oJOFu52PD7RyfKN2JyLHCuUntc",
            "olm.og.global.view-9eAUpZel17o5V221YbXWYax1C4osLi4HmMtLkS",
        ]
    );
}

#[test]
fn the_name_of_a_role_never_exceeds_the_limit() {
    let long = "g".repeat(253);
    for name in group_role_names("ns", &long) {
        assert_eq!(name.len(), 253, "{name}");
    }
    let labels = group_roles(&group("ns", &long), &Apis::new())[0]
        .labels()
        .clone();
    assert!(labels.values().all(|value| value.len() <= 63), "{labels:?}");
}

#[test]
fn the_roles_of_a_group_collect_its_apis() {
    let apis = Apis::from([
        GroupVersionKind::new("example.com", "v1", "Widget"),
        GroupVersionKind::new("etcd.database.coreos.com", "v1beta2", "EtcdCluster"),
    ]);
    let [admin, edit, view] = group_roles(&group("my-ns", "my-group"), &apis);
    assert_eq!(
        value(&admin),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": "olm.og.my-group.admin-c0Rem6bpuQf2mxGb97Udd7VXowbYvF4uWoypqM",
                "labels": {
                    "olm.managed": "true",
                    "olm.owner": "my-group",
                    "olm.owner.kind": "OperatorGroup",
                    "olm.owner.namespace": "my-ns",
                },
            },
            "aggregationRule": {"clusterRoleSelectors": [
                {"matchLabels":
                    {"olm.opgroup.permissions/aggregate-to-50cc6f60739af19b-admin": "true"}},
                {"matchLabels":
                    {"olm.opgroup.permissions/aggregate-to-c571d720f17289d3-admin": "true"}},
            ]},
        })
    );
    for (role, access) in [(edit, "edit"), (view, "view")] {
        let key = format!("olm.opgroup.permissions/aggregate-to-50cc6f60739af19b-{access}");
        let selectors = value(&role)["aggregationRule"]["clusterRoleSelectors"].clone();
        assert_eq!(selectors[0], json!({"matchLabels": {key: "true"}}));
    }
}

#[test]
fn a_group_without_apis_collects_nothing() {
    for role in group_roles(&group("ns", "group"), &Apis::new()) {
        assert_eq!(role.aggregation_rule, None);
    }
}

#[test]
fn roles_of_groups_that_are_gone_are_orphans_and_all_others_are_not() {
    let [there, gone] = ["there", "gone"].map(|name| group_roles(&group("ns", name), &Apis::new()));
    let mut foreign = gone[0].metadata.clone();
    foreign.name = Some("olm.og.of.somebody".to_owned());
    foreign.labels = None;
    let roles = there
        .iter()
        .chain(&gone)
        .map(|role| &role.metadata)
        .chain([&foreign]);
    let mut expected = group_role_names("ns", "gone");
    expected.sort_unstable();
    assert_eq!(
        orphans(roles, [("ns", "there"), ("elsewhere", "gone")]),
        expected
    );
}

fn csv() -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "csv", "namespace": "ns"},
        "spec": {
            "customresourcedefinitions": {"owned": [
                {"name": "widgets.example.com", "version": "v1", "kind": "Widget"},
            ]},
            "apiservicedefinitions": {"owned": [
                {"name": "gears", "group": "gear.io", "version": "v2", "kind": "Gear"},
            ]},
        },
    }))
    .unwrap()
}

fn definitions() -> [Definition; 2] {
    [
        Definition {
            kind: DefinitionKind::Crd,
            name: "widgets.example.com".to_owned(),
            uid: "1".to_owned(),
        },
        Definition {
            kind: DefinitionKind::ApiService,
            name: "v2.gear.io".to_owned(),
            uid: "2".to_owned(),
        },
    ]
}

#[test]
fn each_provided_api_has_its_roles() {
    let roles = api_roles(&csv(), &definitions());
    let names: Vec<String> = roles.iter().map(kube::ResourceExt::name_any).collect();
    assert_eq!(
        names,
        [
            "widgets.example.com-v1-admin",
            "widgets.example.com-v1-edit",
            "widgets.example.com-v1-view",
            "widgets.example.com-v1-crdview",
            "gears.gear.io-v2-admin",
            "gears.gear.io-v2-edit",
            "gears.gear.io-v2-view",
        ]
    );
    assert_eq!(
        value(&roles[1]),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {
                "name": "widgets.example.com-v1-edit",
                "labels": {
                    "olm.managed": "true",
                    "olm.opgroup.permissions/aggregate-to-50cc6f60739af19b-edit": "true",
                    "rbac.authorization.k8s.io/aggregate-to-edit": "true",
                },
                "ownerReferences": [{
                    "apiVersion": "apiextensions.k8s.io/v1",
                    "kind": "CustomResourceDefinition",
                    "name": "widgets.example.com",
                    "uid": "1",
                    "controller": false,
                    "blockOwnerDeletion": false,
                }],
            },
            "rules": [{
                "verbs": ["create", "update", "patch", "delete"],
                "apiGroups": ["example.com"],
                "resources": ["widgets"],
            }],
        })
    );
    let rule = |role: usize| value(&roles[role])["rules"][0].clone();
    assert_eq!(rule(0)["verbs"], json!(["*"]));
    assert_eq!(rule(2)["verbs"], json!(["get", "list", "watch"]));
    assert_eq!(
        rule(3),
        json!({
            "verbs": ["get"],
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": ["widgets.example.com"],
        })
    );
    assert!(
        roles[3]
            .labels()
            .contains_key("rbac.authorization.k8s.io/aggregate-to-view")
    );
    assert_eq!(rule(4)["resources"], json!(["gears"]));
    assert_eq!(roles[4].owner_references()[0].kind, "APIService");
}

#[test]
fn apis_of_one_name_in_two_groups_have_roles_of_their_own() {
    let mut csv = csv();
    let mut other = csv.spec.api_service_definitions.owned[0].clone();
    other.group = "other.io".to_owned();
    csv.spec.api_service_definitions.owned.push(other);
    let mut definitions = definitions().to_vec();
    definitions.push(Definition {
        kind: DefinitionKind::ApiService,
        name: "v2.other.io".to_owned(),
        uid: "3".to_owned(),
    });
    let roles = api_roles(&csv, &definitions);
    let find = |name: &str| roles.iter().find(|role| role.name_any() == name).cloned();
    assert_eq!(
        without_roles(&csv, |name| find(name).map(Arc::new)),
        [],
        "one has taken a role from the other"
    );
}

#[test]
fn an_api_that_is_not_there_yet_has_no_roles() {
    assert_eq!(api_roles(&csv(), &[]), []);
    assert_eq!(api_roles(&csv(), &definitions()[1..]).len(), 3);
}

#[test]
fn only_what_lacks_a_role_has_to_be_looked_up() {
    let csv = csv();
    let roles = api_roles(&csv, &definitions());
    let without = |missing: &str| {
        without_roles(&csv, |name| {
            let mut roles = roles.iter();
            let found = roles.find(|role| name != missing && role.name_any() == name);
            found.cloned().map(Arc::new)
        })
    };
    assert_eq!(without(""), []);
    let widgets = (DefinitionKind::Crd, "widgets.example.com".to_owned());
    assert_eq!(without("widgets.example.com-v1-crdview"), [widgets]);
    let gears = (DefinitionKind::ApiService, "v2.gear.io".to_owned());
    assert_eq!(without("gears.gear.io-v2-edit"), [gears]);
}

#[test]
fn a_role_that_somebody_changed_has_to_be_looked_up_too() {
    let csv = csv();
    let roles = api_roles(&csv, &definitions());
    let changed = |change: fn(&mut ClusterRole)| {
        without_roles(&csv, |name| {
            let mut role = roles.iter().find(|role| role.name_any() == name)?.clone();
            if name == "gears.gear.io-v2-edit" {
                change(&mut role);
            }
            Some(Arc::new(role))
        })
    };
    let gears = (DefinitionKind::ApiService, "v2.gear.io".to_owned());
    let gears = [gears];
    assert_eq!(changed(|role| role.rules = None), gears);
    assert_eq!(changed(|role| role.labels_mut().clear()), gears);
    let more = |role: &mut ClusterRole| {
        role.labels_mut().insert("mine".into(), "yes".into());
        role.annotations_mut().insert("mine".into(), "yes".into());
    };
    assert_eq!(changed(more), []);
}
