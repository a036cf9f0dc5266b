use super::*;
use crate::lifecycle::install::fixtures::{csv, csv_with};
use crate::lifecycle::install::object::Key;
use rstest::rstest;

#[rstest]
#[case("op", "op-service")]
#[case::dots("op.example.com", "op-example-com-service")]
fn a_service_is_named_after_its_deployment(#[case] deployment: &str, #[case] service: &str) {
    assert_eq!(service_name(deployment), service);
}

#[test]
fn a_long_name_is_cut_and_still_its_own() {
    let (one, other) = (
        format!("{}1", "a".repeat(60)),
        format!("{}2", "a".repeat(60)),
    );
    let names = [service_name(&one), service_name(&other)];
    assert!(
        names
            .iter()
            .all(|name| name.len() <= 63 && name.ends_with("-service"))
    );
    assert_ne!(names[0], names[1]);
}

#[test]
fn all_that_calls_a_deployment_calls_one_service() {
    let serving = serving(&csv()).unwrap();
    let [served] = serving.as_slice() else {
        panic!("{serving:?}");
    };
    assert_eq!(
        json!(served.ports),
        json!([
            {"name": "5443", "port": 5443, "protocol": "TCP", "targetPort": 5443},
            {"name": "9443", "port": 9443, "protocol": "TCP", "targetPort": "hooks"},
            {"name": "443", "port": 443, "protocol": "TCP", "targetPort": 443},
        ])
    );
    assert_eq!(served.service_account, "op-account");
}

#[test]
fn the_service_selects_the_pods_of_its_deployment() {
    let csv = csv();
    let service = service(&csv, &serving(&csv).unwrap()[0]).unwrap();
    assert_eq!(service["spec"]["selector"], json!({"name": "op"}));
    assert_eq!(service["metadata"]["labels"]["olm.managed"], "true");
    assert_eq!(service["metadata"]["ownerReferences"][0]["uid"], "csv-uid");
}

#[test]
fn a_webhook_of_an_unknown_deployment_is_refused() {
    let csv = csv_with(&json!({"webhookdefinitions": [
        {"generateName": "w", "type": "ValidatingAdmissionWebhook", "deploymentName": "other"},
    ]}));
    let error = serving(&csv).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "strategyDetailsDeployment is missing deployment other for WebhookDescription w:"
        ),
        "{error}"
    );
}

#[test]
fn a_deployment_without_labels_to_select_by_cannot_be_called() {
    let mut csv = csv();
    csv.spec.install.spec.deployments[0]
        .spec
        .insert("selector".to_owned(), json!({}));
    let error = service(&csv, &serving(&csv).unwrap()[0]).unwrap_err();
    assert_eq!(
        error,
        InstallError::NoSelector {
            deployment: "op".to_owned()
        }
    );
}

#[test]
fn pods_without_an_account_run_as_the_default_one() {
    let csv = csv();
    assert_eq!(
        service_account(&csv.spec.install.spec.deployments[1]),
        "default"
    );
}

#[test]
fn a_server_may_read_its_secret_and_ask_who_calls() {
    let csv = csv();
    let rbac = rbac(&csv, &serving(&csv).unwrap()[0], &[]);
    let account = json!([{"kind": "ServiceAccount", "name": "op-account", "namespace": "home"}]);
    assert_eq!(
        rbac[0]["rules"],
        json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"],
                "resourceNames": ["op-service-cert"]}])
    );
    let roles: Vec<&str> = rbac[1..]
        .iter()
        .filter_map(|object| object["roleRef"]["name"].as_str())
        .collect();
    let expected = [
        "op-service-cert",
        "system:auth-delegator",
        "extension-apiserver-authentication-reader",
    ];
    assert_eq!(roles, expected);
    assert!(
        rbac[1..]
            .iter()
            .all(|binding| binding["subjects"] == account)
    );
    assert!(
        rbac.iter()
            .all(|object| object["metadata"]["labels"]["olm.owner"] == "op.v1")
    );
}

#[test]
fn what_is_in_no_namespace_or_another_has_no_owner_reference() {
    let csv = csv();
    let rbac = rbac(&csv, &serving(&csv).unwrap()[0], &[]);
    assert_eq!(rbac[2]["metadata"].get("ownerReferences"), None);
    assert_eq!(rbac[2]["metadata"].get("namespace"), None);
    assert_eq!(rbac[3]["metadata"].get("ownerReferences"), None);
    assert_eq!(rbac[3]["metadata"]["namespace"], "kube-system");
}

#[test]
fn operators_of_two_namespaces_share_nothing_although_their_deployments_are_called_the_same() {
    let one = csv();
    let mut other = csv();
    other.metadata.namespace = Some("elsewhere".to_owned());
    let names = |csv: &ClusterServiceVersion| {
        let rbac = rbac(csv, &serving(csv).unwrap()[0], &[]);
        rbac.iter().map(Key::of).collect::<Vec<_>>()
    };
    let shared = names(&one)
        .into_iter()
        .find(|key| names(&other).contains(key));
    assert_eq!(shared, None);
}

#[test]
fn a_service_is_known_by_three_names() {
    let names = ["s.n", "s.n.svc", "s.n.svc.cluster.local"];
    assert_eq!(hosts("s", "n"), names);
}
