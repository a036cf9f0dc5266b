use super::*;
use crate::lifecycle::install::fixtures::csv;

fn rbac() -> Vec<Value> {
    let metadata = json!({
        "name": "op.v1-op-x",
        "namespace": "home",
        "uid": "role-uid",
        "labels": {
            "olm.owner": "op.v1", "olm.owner.namespace": "home",
            "olm.owner.kind": "ClusterServiceVersion", "olm.permissions.hash": "h",
        },
        "ownerReferences": [{"uid": "csv-uid"}],
    });
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    let subjects = json!([{"kind": "ServiceAccount", "name": "op-account", "namespace": "home"}]);
    let role = json!({"kind": "Role", "metadata": metadata, "rules": rules});
    let binding = json!({
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "op.v1-op-x"},
        "subjects": subjects,
    });
    vec![role, binding]
}

#[test]
fn for_all_namespaces_roles_are_lifted() {
    let lifted = lifted(&csv(), &rbac());
    let [role, binding] = lifted.as_slice() else {
        panic!("{lifted:?}");
    };
    assert_eq!(role["kind"], "ClusterRole");
    assert_eq!(
        role["rules"],
        json!([
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["namespaces"]},
        ])
    );
    assert_eq!(binding["kind"], "ClusterRoleBinding");
    assert_eq!(binding["roleRef"]["kind"], "ClusterRole");
    assert_eq!(binding["roleRef"]["name"], "op.v1-op-x");
    assert_eq!(binding["subjects"], rbac()[1]["subjects"]);
    for object in &lifted {
        assert_eq!(object["metadata"]["name"], "op.v1-op-x");
        assert_eq!(
            object["metadata"]["labels"],
            rbac()[0]["metadata"]["labels"]
        );
        assert_eq!(object["metadata"].get("namespace"), None);
        assert_eq!(object["metadata"].get("ownerReferences"), None);
    }
}

#[test]
fn for_some_namespaces_each_gets_copies_that_go_with_the_copy_of_the_csv() {
    let copied = copied(&csv(), &rbac(), "target", "copy-uid");
    let kinds: Vec<&Value> = copied.iter().map(|object| &object["kind"]).collect();
    assert_eq!(kinds, ["Role", "RoleBinding"]);
    for object in &copied {
        let metadata = &object["metadata"];
        assert_eq!(metadata["namespace"], "target");
        assert_eq!(metadata["ownerReferences"][0]["uid"], "copy-uid");
        assert_eq!(metadata["labels"]["olm.owner.namespace"], "target");
        assert_eq!(metadata["labels"]["olm.copiedFrom"], "home");
        assert_eq!(metadata["labels"]["olm.permissions.hash"], "h");
        assert_eq!(metadata.get("uid"), None);
    }
    assert_eq!(copied[0]["rules"], rbac()[0]["rules"]);
    assert_eq!(copied[1]["subjects"][0]["namespace"], "home");
}

#[test]
fn roles_of_others_are_neither_lifted_nor_copied() {
    let mut others = rbac();
    for object in &mut others {
        object["metadata"]["labels"]["olm.owner"] = json!("other.v1");
    }
    assert_eq!(lifted(&csv(), &others), Vec::<Value>::new());
    assert_eq!(copied(&csv(), &others, "target", "u"), Vec::<Value>::new());
}

#[test]
fn a_label_alone_does_not_get_a_role_copied() {
    let mut strangers = rbac();
    for object in &mut strangers {
        object["metadata"]["ownerReferences"] = json!([{"uid": "other"}]);
    }
    assert_eq!(
        copied(&csv(), &strangers, "target", "u"),
        Vec::<Value>::new()
    );
}

#[test]
fn the_operators_own_namespace_needs_no_copies() {
    assert_eq!(copied(&csv(), &rbac(), "home", "u"), Vec::<Value>::new());
}
