use super::*;
use crate::lifecycle::install::certificates::ServingCertificates;
use crate::lifecycle::install::fixtures::{
    certificates, csv, csv_with, empty_cluster, install, install_with,
};

fn first(csv: &ClusterServiceVersion, certificates: &ServingCertificates) -> Value {
    install(csv, certificates).deployments.swap_remove(0)
}

fn bare() -> Value {
    first(&csv_with(&json!({})), &ServingCertificates::new())
}

#[test]
fn a_deployment_belongs_to_its_csv() {
    let metadata = bare()["metadata"].clone();
    assert_eq!(metadata["namespace"], "home");
    let owner = json!([{
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "name": "op.v1",
        "uid": "csv-uid",
        "controller": false,
        "blockOwnerDeletion": false,
    }]);
    assert_eq!(metadata["ownerReferences"], owner);
    let labels = &metadata["labels"];
    assert_eq!(labels["app"], "op");
    assert_eq!(labels["olm.managed"], "true");
    assert_eq!(labels["olm.owner"], "op.v1");
    assert_eq!(labels["olm.owner.namespace"], "home");
    assert_eq!(labels["olm.owner.kind"], "ClusterServiceVersion");
}

#[test]
fn pods_carry_the_annotations_of_the_csv_over_their_own() {
    let annotations = bare()["spec"]["template"]["metadata"]["annotations"].clone();
    assert_eq!(
        annotations,
        json!({
            "own": "1",
            "alm-examples": "[]",
            "olm.operatorGroup": "group",
            "olm.operatorNamespace": "home",
            "olm.targetNamespaces": "",
        })
    );
}

#[test]
fn each_container_knows_its_operator_condition() {
    let pod = bare()["spec"]["template"]["spec"].clone();
    let condition = json!({"name": "OPERATOR_CONDITION_NAME", "value": "op.v1"});
    assert_eq!(pod["containers"][0]["env"][0], condition);
    assert_eq!(pod["containers"][1]["env"], json!([condition]));
    assert_eq!(pod["initContainers"][0].get("env"), None);
}

#[test]
fn one_old_replica_set_is_kept() {
    assert_eq!(bare()["spec"]["revisionHistoryLimit"], 1);
}

#[test]
fn the_hash_follows_the_spec() {
    let hash =
        |deployment: &Value| deployment["metadata"]["labels"]["olm.deployment-spec-hash"].clone();
    let mut csv = csv_with(&json!({}));
    let before = first(&csv, &ServingCertificates::new());
    assert!(hash(&before).is_string());
    csv.annotations_mut()
        .insert("olm.targetNamespaces".to_owned(), "one".to_owned());
    let after = first(&csv, &ServingCertificates::new());
    assert_ne!(hash(&before), hash(&after));
}

#[test]
fn certificates_are_mounted_where_servers_look_for_them() {
    let csv = csv();
    let deployment = first(&csv, &certificates(&csv));
    let pod = &deployment["spec"]["template"]["spec"];
    let items = |certificate: &str, key: &str| {
        json!({
            "secretName": "op-service-cert",
            "items": [{"key": "tls.crt", "path": certificate}, {"key": "tls.key", "path": key}],
        })
    };
    assert_eq!(
        pod["volumes"],
        json!([
            {"name": "apiservice-cert", "secret": items("apiserver.crt", "apiserver.key")},
            {"name": "webhook-cert", "secret": items("tls.crt", "tls.key")},
        ])
    );
    for container in pod["containers"].as_array().unwrap() {
        assert_eq!(
            container["volumeMounts"],
            json!([
                {"name": "apiservice-cert", "mountPath": "/apiserver.local.config/certificates"},
                {"name": "webhook-cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs"},
            ])
        );
    }
    assert_eq!(pod["initContainers"][0].get("volumeMounts"), None);
}

#[test]
fn a_deployment_that_nobody_calls_gets_no_certificate() {
    let csv = csv();
    let helper = install(&csv, &certificates(&csv))
        .deployments
        .swap_remove(1);
    assert_eq!(helper["spec"]["template"]["spec"].get("volumes"), None);
}

#[test]
fn a_volume_of_the_name_gives_way_and_a_mount_of_the_name_stays() {
    let mut mounts = vec![json!({"name": "webhook-cert", "mountPath": "/certs"})];
    mount(
        &mut mounts,
        "webhook-cert",
        "/tmp/k8s-webhook-server/serving-certs",
    );
    assert_eq!(
        mounts,
        [json!({"name": "webhook-cert", "mountPath": "/certs"})]
    );
    let mut mounts =
        vec![json!({"name": "mine", "mountPath": "/tmp/k8s-webhook-server/serving-certs"})];
    mount(
        &mut mounts,
        "webhook-cert",
        "/tmp/k8s-webhook-server/serving-certs",
    );
    assert_eq!(
        mounts,
        [json!({"name": "webhook-cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs"})]
    );
}

#[test]
fn a_new_ca_replaces_pods() {
    let csv = csv();
    let (one, other) = (certificates(&csv), certificates(&csv));
    let hash = |certificates: &ServingCertificates| {
        let deployment = first(&csv, certificates);
        deployment["spec"]["template"]["metadata"]["annotations"]["olmcahash"].clone()
    };
    assert_eq!(hash(&one), json!(one["op"].authority_hash()));
    assert_ne!(hash(&one), hash(&other));
}

#[test]
fn the_operators_variable_wins_over_the_subscriptions() {
    let config = serde_json::from_value(json!({
        "env": [{"name": "OPERATOR_CONDITION_NAME", "value": "theirs"}],
    }))
    .unwrap();
    let csv = csv_with(&json!({}));
    let desired = install_with(
        &csv,
        &ServingCertificates::new(),
        Some(&config),
        &empty_cluster(),
    );
    let container = &desired.deployments[0]["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["env"][0]["value"], "op.v1");
}
