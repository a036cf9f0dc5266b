use super::*;
use crate::lifecycle::install::fixtures;

/// An operator that asks for what [`rbac`] gives it.
fn csv() -> ClusterServiceVersion {
    let mut csv = fixtures::csv();
    let permissions = json!([{
        "serviceAccountName": "op-account",
        "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
    }]);
    csv.spec.install.spec.permissions = serde_json::from_value(permissions).unwrap();
    csv
}

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
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    assert_eq!(binding["subjects"], rbac()[1]["subjects"]);
    for object in &lifted {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap();
        assert!(name.starts_with("op.v1-op-x-"), "{name}");
        assert_eq!(
            metadata["annotations"]["chandler.lifted-from"],
            "op.v1-op-x"
        );
        let labels = rbac()[0]["metadata"]["labels"].clone();
        for (key, value) in labels.as_object().unwrap() {
            assert_eq!(&metadata["labels"][key], value);
        }
        // By this one is told when somebody changes it.
        assert_eq!(metadata["labels"]["olm.managed"], "true");
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

fn none() -> Vec<Value> {
    Vec::new()
}

/// What somebody made who may write RoleBindings in the operator's namespace, and wants to have more.
fn forged(change: impl Fn(&mut Value)) -> Vec<Value> {
    let mut forged = rbac();
    for object in &mut forged {
        object["metadata"]["name"] = json!("evil");
    }
    forged[1]["roleRef"]["name"] = json!("evil");
    change(&mut forged[1]);
    forged
}

#[test]
fn a_cluster_role_that_the_csv_did_not_ask_for_is_never_bound_elsewhere() {
    let admin = json!({"apiGroup": API_GROUP, "kind": "ClusterRole", "name": "admin"});
    let me = json!([{"kind": "User", "apiGroup": API_GROUP, "name": "me"}]);
    let forged = forged(|binding| {
        binding["roleRef"] = admin.clone();
        binding["subjects"] = me.clone();
    });
    assert_eq!(lifted(&csv(), &forged), none());
    assert_eq!(copied(&csv(), &forged, "target", "u"), none());
    // Nor to the operator itself.
    let mut rbac = rbac();
    rbac[1]["roleRef"] = admin;
    assert_eq!(lifted(&csv(), &rbac), none());
}

#[test]
fn nobody_but_the_operators_account_gets_its_rights_elsewhere() {
    let me = json!({"kind": "User", "apiGroup": API_GROUP, "name": "me"});
    let alone = forged(|binding| binding["subjects"] = json!([me]));
    assert_eq!(lifted(&csv(), &alone), none());
    assert_eq!(copied(&csv(), &alone, "target", "u"), none());
    let other_namespace = forged(|binding| binding["subjects"][0]["namespace"] = json!("mine"));
    assert_eq!(lifted(&csv(), &other_namespace), none());
    // Beside it they get nothing.
    let mut beside = rbac();
    beside[1]["subjects"].as_array_mut().unwrap().push(me);
    assert_eq!(lifted(&csv(), &beside), lifted(&csv(), &rbac()));
    let copies = |rbac: &[Value]| copied(&csv(), rbac, "target", "u");
    assert_eq!(copies(&beside), copies(&rbac()));
}

#[test]
fn rules_that_the_csv_did_not_ask_for_stay_where_they_are() {
    let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
    let mut other = rbac();
    other[0]["rules"] = json!([all]);
    assert_eq!(lifted(&csv(), &other), none());
    assert_eq!(copied(&csv(), &other, "target", "u"), none());
    let mut more = rbac();
    more[0]["rules"].as_array_mut().unwrap().push(all);
    assert_eq!(lifted(&csv(), &more), lifted(&csv(), &rbac()));
    let copies = |rbac: &[Value]| copied(&csv(), rbac, "target", "u");
    assert_eq!(copies(&more), copies(&rbac()));
}

#[test]
fn what_was_lifted_and_is_not_asked_for_any_more_falls() {
    let rbac = rbac();
    let cluster = lifted(&csv(), &rbac);
    let mut modest = csv();
    modest.spec.install.spec.permissions.clear();
    let wanted = lifted(&modest, &rbac);
    assert_eq!(wanted, none());
    let gone = fallen(&modest, &rbac, &wanted, &cluster);
    assert_eq!(gone, [&cluster[1], &cluster[0]]);
    let copies = copied(&csv(), &rbac, "target", "u");
    assert_eq!(stray(&copies, &copies), Vec::<&Value>::new());
    assert_eq!(stray(&[], &copies), [&copies[0], &copies[1]]);
}

#[test]
fn a_label_that_would_make_a_lifted_role_part_of_another_stays_behind() {
    let mut labelled = rbac();
    let aggregate = "rbac.authorization.k8s.io/aggregate-to-admin";
    labelled[0]["metadata"]["labels"][aggregate] = json!("true");
    assert_eq!(lifted(&csv(), &labelled), lifted(&csv(), &rbac()));
}

#[test]
fn the_name_that_somebody_gave_a_role_does_not_matter() {
    let mut adopted = rbac();
    for object in &mut adopted {
        object["metadata"]["name"] = json!("op.v1-abc12");
    }
    adopted[1]["roleRef"]["name"] = json!("op.v1-abc12");
    assert_eq!(lifted(&csv(), &adopted).len(), 2);
    assert_eq!(copied(&csv(), &adopted, "target", "u").len(), 2);
}

#[test]
fn the_operators_own_namespace_needs_no_copies() {
    assert_eq!(copied(&csv(), &rbac(), "home", "u"), Vec::<Value>::new());
}

/// The same operator in another namespace.
fn elsewhere() -> (ClusterServiceVersion, Vec<Value>) {
    let mut csv = csv();
    csv.metadata.namespace = Some("elsewhere".to_owned());
    let mut rbac = rbac();
    for object in &mut rbac {
        object["metadata"]["namespace"] = json!("elsewhere");
        object["metadata"]["labels"]["olm.owner.namespace"] = json!("elsewhere");
    }
    rbac[1]["subjects"][0]["namespace"] = json!("elsewhere");
    (csv, rbac)
}

#[test]
fn an_operator_in_two_namespaces_has_rights_of_its_own_in_each() {
    let (other, rights) = elsewhere();
    let names = |lifted: Vec<Value>| lifted.iter().map(Key::of).collect::<Vec<_>>();
    let here = names(lifted(&csv(), &rbac()));
    let there = names(lifted(&other, &rights));
    assert!(here.iter().all(|key| !there.contains(key)), "{here:?}");
}

#[test]
fn a_name_that_is_too_long_is_cut() {
    let name = lifted_name(&csv(), &"ä".repeat(200));
    assert!(name.len() <= 253 && name.starts_with("ää"), "{name}");
}

#[test]
fn what_lets_a_server_read_its_certificate_is_not_lifted() {
    let mut rbac = rbac();
    for object in &mut rbac {
        object["metadata"]["name"] = json!("op-service-cert");
    }
    rbac[1]["roleRef"]["name"] = json!("op-service-cert");
    rbac[0]["rules"] = json!([{
        "verbs": ["get"], "apiGroups": [""], "resources": ["secrets"],
        "resourceNames": ["op-service-cert"],
    }]);
    assert_eq!(lifted(&csv(), &rbac), Vec::<Value>::new());
}

/// A right in the whole cluster that the CSV asks for as such.
fn permission() -> Value {
    json!({
        "kind": "ClusterRole",
        "metadata": {"name": "op.v1-y", "labels": rbac()[0]["metadata"]["labels"]},
        "rules": [sees_namespaces()],
    })
}

#[test]
fn for_some_namespaces_only_what_was_lifted_goes_bindings_first() {
    let wanted = lifted(&csv(), &rbac());
    let mut cluster = wanted.clone();
    cluster.push(permission());
    assert_eq!(
        fallen(&csv(), &rbac(), &wanted, &cluster),
        Vec::<&Value>::new()
    );
    let gone = fallen(&csv(), &rbac(), &[], &cluster);
    assert_eq!(gone, [&wanted[1], &wanted[0]]);
    // Also if the Roles went first.
    assert_eq!(fallen(&csv(), &[], &[], &cluster), gone);
    let (other, rights) = elsewhere();
    let none = Vec::<&Value>::new();
    assert_eq!(fallen(&other, &rights, &[], &cluster), none);
}

#[test]
fn what_olm_lifted_goes_once_ours_is_there() {
    let ours = lifted(&csv(), &rbac());
    let mut cluster = ours.clone();
    for object in &ours {
        let mut olms = object.clone();
        olms["metadata"]["name"] = json!("op.v1-op-x");
        olms["metadata"]
            .as_object_mut()
            .unwrap()
            .shift_remove("annotations");
        cluster.push(olms);
    }
    let mut by_hand = cluster[2].clone();
    let gone = fallen(&csv(), &rbac(), &ours, &cluster);
    assert_eq!(gone, [&cluster[3], &cluster[2]]);
    // Of the same name may be one that somebody else made.
    by_hand["rules"] = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]}]);
    assert_eq!(
        fallen(&csv(), &rbac(), &ours, &[by_hand]),
        Vec::<&Value>::new()
    );
}
