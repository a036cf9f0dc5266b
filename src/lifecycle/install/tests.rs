use super::fixtures::{certificates, cluster_after, csv, csv_with, empty_cluster, group, install};
use super::*;
use serde_json::json;

#[test]
fn an_installation_consists_of_all_that_olm_makes() {
    let csv = csv();
    let desired = install(&csv, &certificates(&csv));
    let mut keys: Vec<String> = desired.keys().iter().map(ToString::to_string).collect();
    for key in &mut keys {
        // The ends of these names are hashes.
        if key.contains("WebhookConfiguration") {
            key.truncate(key.rfind('-').unwrap());
        }
    }
    assert_eq!(
        keys,
        [
            "Service home/op-service",
            "Role home/op-service-cert",
            "RoleBinding home/op-service-cert",
            "ClusterRoleBinding home:op-service-system:auth-delegator",
            "RoleBinding kube-system/home:op-service-auth-reader",
            "Secret home/op-service-cert",
            "Deployment home/op",
            "Deployment home/helper",
            "APIService v1.api.example.com",
            "ValidatingWebhookConfiguration v.example.com",
            "MutatingWebhookConfiguration m.example.com",
            "CustomResourceDefinition bars.example.com",
        ]
    );
}

#[test]
fn an_operator_that_nobody_calls_is_its_deployments() {
    let csv = csv_with(&json!({}));
    let desired = install(&csv, &ServingCertificates::new());
    assert_eq!(desired.objects().count(), 2);
}

#[test]
fn the_same_request_always_gives_the_same_objects() {
    let csv = csv();
    let certificates = certificates(&csv);
    assert_eq!(install(&csv, &certificates), install(&csv, &certificates));
}

#[test]
fn an_unknown_strategy_is_refused() {
    let csv = csv_with(&json!({"install": {"strategy": "helm", "spec": {"deployments": []}}}));
    let request = Request {
        csv: &csv,
        group: &group(),
        config: None,
        proxy: &[],
        certificates: &ServingCertificates::new(),
        takes_over: false,
        seen: &empty_cluster(),
    };
    let error = desired(&request).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("unrecognized install strategy \"helm\"")
    );
}

#[test]
fn private_keys_are_not_shown_to_debuggers() {
    let csv = csv();
    let certificates = certificates(&csv);
    let desired = install(&csv, &certificates);
    let seen = cluster_after(&desired);
    let shown = format!("{desired:?} {seen:?} {certificates:?}");
    let key = certificates["op"].key.lines().nth(1).unwrap();
    assert!(!shown.contains(key));
    let encoded = desired.secrets[0]["data"]["tls.key"].as_str().unwrap();
    assert!(!shown.contains(encoded));
}
