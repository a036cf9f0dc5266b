use rstest::rstest;

use super::*;

fn placement(namespaced: bool) -> Placement<'static> {
    Placement {
        namespace: "port",
        csv: "harbor.v1.0.0",
        csv_uid: Some("u1"),
        namespaced,
        package: Some("harbor"),
        converted_crds: &[],
    }
}

fn prepared(object: Value, placement: Placement<'_>) -> Value {
    prepare(object, placement).unwrap().unwrap()
}

fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": name } })
}

fn crd() -> Value {
    let mut crd = object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "ships.harbor.io",
    );
    crd["spec"] = json!({ "conversion": { "strategy": "Webhook" } });
    crd
}

#[test]
fn what_only_a_cluster_may_say_is_taken_away() {
    let mut dirty = object("v1", "Service", "pier");
    for field in OF_THE_CLUSTER {
        dirty["metadata"][field] = json!(null);
    }
    dirty["status"] = json!({ "loadBalancer": {} });
    let placement = Placement {
        csv_uid: None,
        ..placement(true)
    };
    assert_eq!(
        prepared(dirty, placement),
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {
                "name": "pier", "namespace": "port",
                "labels": { "olm.managed": "true", "operators.coreos.com/harbor.port": "" },
            },
        })
    );
}

#[test]
fn an_object_in_a_namespace_belongs_to_its_csv_once_that_exists() {
    let mut service = object("v1", "Service", "pier");
    service["metadata"]["namespace"] = json!("elsewhere");
    let service = prepared(service, placement(true));
    assert_eq!(service["metadata"]["namespace"], "port");
    assert_eq!(
        service["metadata"]["ownerReferences"],
        json!([{
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "name": "harbor.v1.0.0", "uid": "u1",
            "controller": false, "blockOwnerDeletion": false,
        }])
    );
    assert_eq!(service["metadata"]["labels"].get("olm.owner"), None);
}

#[test]
fn an_object_of_the_cluster_says_whose_it_is_by_labels() {
    let mut class = object("scheduling.k8s.io/v1", "PriorityClass", "first");
    class["metadata"]["namespace"] = json!("port");
    let class = prepared(class, placement(false));
    assert_eq!(class["metadata"].get("namespace"), None);
    assert_eq!(class["metadata"].get("ownerReferences"), None);
    let labels = &class["metadata"]["labels"];
    assert_eq!(labels["olm.owner"], "harbor.v1.0.0");
    assert_eq!(labels["olm.owner.namespace"], "port");
    assert_eq!(labels["olm.owner.kind"], "ClusterServiceVersion");
}

#[rstest]
#[case("ClusterServiceVersion")]
#[case("Subscription")]
fn csvs_and_subscriptions_belong_to_nobody(#[case] kind: &str) {
    let object = object("operators.coreos.com/v1alpha1", kind, "harbor");
    let object = prepared(object, placement(true));
    assert_eq!(object["metadata"].get("ownerReferences"), None);
    assert_eq!(object["metadata"]["labels"]["olm.managed"], "true");
}

#[test]
fn the_default_service_account_is_not_touched() {
    let account = object("v1", "ServiceAccount", "default");
    assert_eq!(prepare(account, placement(true)).unwrap(), None);
    let other = object("v1", "ServiceAccount", "harbor");
    assert!(prepare(other, placement(true)).unwrap().is_some());
}

#[test]
fn a_crd_belongs_to_nobody_but_says_what_it_came_with() {
    let crd = prepared(crd(), placement(false));
    assert_eq!(crd["metadata"]["labels"].get("olm.owner"), None);
    let key = labels::installed_alongside("port", "harbor.v1.0.0");
    assert_eq!(crd["metadata"]["annotations"][key], "port/harbor.v1.0.0");
    assert_eq!(crd["spec"]["conversion"]["strategy"], "Webhook");
}

#[test]
fn the_conversion_of_a_crd_is_left_to_the_csv_whose_webhook_does_it() {
    let csv = json!({ "spec": { "webhookdefinitions": [
        { "type": "ConversionWebhook", "conversionCRDs": ["ships.harbor.io"] },
        { "type": "ValidatingAdmissionWebhook", "conversionCRDs": ["ropes.harbor.io"] },
    ] } });
    let converted = converted_crds(&csv);
    assert_eq!(converted, ["ships.harbor.io"]);
    let placement = Placement {
        converted_crds: &converted,
        ..placement(false)
    };
    assert_eq!(prepared(crd(), placement)["spec"].get("conversion"), None);
    assert_eq!(converted_crds(&json!({})), Vec::<String>::new());
}

#[test]
fn an_old_crd_becomes_a_new_one() {
    let mut old = crd();
    old["apiVersion"] = json!("apiextensions.k8s.io/v1beta1");
    old["spec"] = json!({
        "group": "harbor.io", "version": "v1", "scope": "Namespaced",
        "names": { "kind": "Ship", "plural": "ships" },
    });
    let new = prepared(old.clone(), placement(false));
    assert_eq!(new["apiVersion"], "apiextensions.k8s.io/v1");
    assert_eq!(new["spec"]["versions"][0]["name"], "v1");
    assert_eq!(new.get("status"), None);
    old["spec"] = json!({});
    let error = prepare(old, placement(false)).unwrap_err().to_string();
    assert!(
        error.contains("ships.harbor.io") && error.contains("neither spec.version"),
        "{error}"
    );
}

#[test]
fn a_crd_keeps_its_other_companions_as_long_as_they_exist() {
    let (here, gone) = (
        labels::installed_alongside("quay", "tug.v1"),
        labels::installed_alongside("quay", "raft.v1"),
    );
    let live = json!({ "metadata": {
        "annotations": { &here: "quay/tug.v1", &gone: "quay/raft.v1", "note": "x" },
        "labels": { "operators.coreos.com/tug.quay": "", "olm.managed": "true", "team": "a" },
    } });
    let mut crd = prepared(crd(), placement(false));
    keep_companions(&mut crd, &live, |namespace, name| {
        (namespace, name) == ("quay", "tug.v1")
    });
    let annotations = crd["metadata"]["annotations"].as_object().unwrap();
    assert_eq!(annotations.len(), 2);
    assert_eq!(annotations[&here], "quay/tug.v1");
    let labels = crd["metadata"]["labels"].as_object().unwrap();
    let labels: Vec<&String> = labels.keys().collect();
    assert_eq!(
        labels,
        [
            "olm.managed",
            "operators.coreos.com/harbor.port",
            "operators.coreos.com/tug.quay"
        ]
    );
}

#[rstest]
#[case::of_a_user(json!({"labels": {"team": "a"}}), true)]
#[case::of_a_user_and_noted_before(json!({"labels": {"olm.managed": "true"}, "annotations": {"chandler.found": "true"}}), true)]
#[case::of_a_plan(json!({"labels": {"olm.managed": "true"}}), false)]
#[case::of_an_older_olm(json!({"annotations": {"operatorframework.io/installed-alongside-1": "a/b"}}), false)]
fn a_crd_that_was_there_before_any_plan_is_marked_as_such(
    #[case] metadata: Value,
    #[case] was_found: bool,
) {
    let mut crd = prepared(crd(), placement(false));
    keep_companions(&mut crd, &json!({ "metadata": metadata }), |_, _| false);
    let mark = crd.pointer("/metadata/annotations/chandler.found");
    assert_eq!(mark, was_found.then(|| json!("true")).as_ref());
}

#[test]
fn a_csv_has_what_its_schema_requires_even_where_its_authors_left_it_out() {
    let mut csv = object(
        "operators.coreos.com/v1alpha1",
        "ClusterServiceVersion",
        "harbor.v1.0.0",
    );
    csv["spec"] = json!({
        "displayName": "Harbor",
        "miniKubeVersion": "1.20.0",
        "customresourcedefinitions": { "owned": [{
            "name": "ships.harbor.io", "version": "v1", "kind": "Ship",
            "resources": [{ "kind": "Deployment", "version": "v1" }],
        }] },
    });
    let csv = prepared(csv, placement(true));
    assert_eq!(
        csv.pointer("/spec/customresourcedefinitions/owned/0/resources/0"),
        Some(&json!({ "kind": "Deployment", "name": "", "version": "v1" }))
    );
    assert!(csv.pointer("/spec/install/strategy").is_some(), "{csv}");
    assert!(csv.pointer("/spec/miniKubeVersion").is_none(), "{csv}");
    assert_eq!(csv["spec"]["displayName"], "Harbor");
}

#[rstest]
#[case("operators.coreos.com/v1")]
#[case("v1alpha1")]
fn a_csv_of_another_version_is_one_of_the_only_version_there_is(#[case] api_version: &str) {
    let mut csv = object(api_version, "ClusterServiceVersion", "harbor.v1.0.0");
    csv["spec"] = json!({ "displayName": "Harbor" });
    let csv = prepared(csv, placement(true));
    assert_eq!(csv["apiVersion"], "operators.coreos.com/v1alpha1");
}

#[test]
fn a_csv_that_does_not_fit_its_type_is_left_to_the_api_server() {
    let mut csv = object(
        "operators.coreos.com/v1alpha1",
        "ClusterServiceVersion",
        "harbor.v1.0.0",
    );
    csv["spec"] = json!({ "displayName": ["Harbor"] });
    let csv = prepared(csv, placement(true));
    assert_eq!(csv["spec"], json!({ "displayName": ["Harbor"] }));
}

#[test]
fn the_name_of_an_owner_that_fits_no_label_is_hashed() {
    let long = "harbor-".repeat(10);
    let placement = Placement {
        csv: &long,
        ..placement(false)
    };
    let role = object("rbac.authorization.k8s.io/v1", "ClusterRole", "reader");
    let role = prepared(role, placement);
    let owner = role["metadata"]["labels"]["olm.owner"].as_str().unwrap();
    assert_eq!(owner, labels::owner_value(&long));
    assert!(
        owner.len() <= 63 && owner.chars().all(char::is_alphanumeric),
        "{owner}"
    );
}
