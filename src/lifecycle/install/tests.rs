use super::fixtures::{
    certificates, cluster_after, csv, csv_with, empty_cluster, group, install, install_with, time,
};
use super::state::{Certificates, Installation};
use super::*;
use rstest::rstest;
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
        predecessors: &[],
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

/// What is found out about certificates and what serves with them, as phases see it.
fn found(change: impl FnOnce(&mut Seen), at: &str) -> (Certificates, Installation) {
    let csv = csv();
    let mut seen = cluster_after(&install(&csv, &certificates(&csv)));
    change(&mut seen);
    let outlook = certificates::look(&csv, &seen, &time(at));
    let desired = install_with(&csv, &outlook.in_use, None, &seen);
    (outlook.state, observe(&desired, &seen))
}

fn change(seen: &mut Seen, key: &Key, pointer: &str, value: &str) {
    let mut live = seen.get(key).unwrap().clone();
    *live.pointer_mut(pointer).unwrap() = json!(value);
    seen.insert(live);
}

fn deployment() -> Key {
    Key::new("Deployment", "home", "op")
}

fn secret() -> Key {
    Key::new("Secret", "home", "op-service-cert")
}

const OF_PODS: &str = "/spec/template/metadata/annotations/olmcahash";
const OF_SECRET: &str = "/metadata/annotations/olmcahash";

// SingleCSVSucceededToFailed/APIService/Owned/…: BadCAHash/Deployment, BadCAHash/Secret,
// BadCAHash/DeploymentAndSecret, BadCA. What is in use is good, and something does not say so: OLM fails
// and makes all of it anew, we write what differs.
#[rstest]
#[case::bad_ca_hash_of_deployment(&[(deployment(), OF_PODS)])]
#[case::bad_ca_hash_of_secret(&[(secret(), OF_SECRET)])]
#[case::bad_ca_hash_of_both(&[(deployment(), OF_PODS), (secret(), OF_SECRET)])]
#[case::bad_ca(&[(Key::new("APIService", "", "v1.api.example.com"), "/spec/caBundle")])]
fn what_does_not_know_the_certificate_in_use_differs(#[case] changes: &[(Key, &str)]) {
    let (certificates, installation) = found(
        |seen| {
            for (key, pointer) in changes {
                change(seen, key, pointer, "bad");
            }
        },
        "2026-01-01T00:00:00Z",
    );
    assert_eq!(certificates, Certificates::Fine);
    assert!(
        matches!(installation, Installation::Differs { .. }),
        "{installation:?}"
    );
}

// …/BadServingCert
#[test]
fn a_certificate_that_cannot_be_read_is_none() {
    let bad = |seen: &mut Seen| change(seen, &secret(), "/data/tls.crt", "YmFk");
    let (certificates, _) = found(bad, "2026-01-01T00:00:00Z");
    let Certificates::Missing { message } = certificates else {
        panic!("{certificates:?}");
    };
    let words = "secret op-service-cert does not hold a certificate for deployment op";
    assert!(message.starts_with(words), "{message}");
}

// …/ExpiredCA
#[test]
fn a_certificate_whose_ca_expired_is_due() {
    let (certificates, _) = found(|_| {}, "2030-01-01T00:00:00Z");
    assert_eq!(certificates, Certificates::Due);
}
