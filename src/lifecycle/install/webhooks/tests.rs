use super::*;
use crate::lifecycle::install::certificates::ServingCertificates;
use crate::lifecycle::install::desired;
use crate::lifecycle::install::fixtures::{
    certificates, cluster_after, csv, empty_cluster, group, group_with, install, install_with,
};
use crate::lifecycle::install::observe::leftovers;

fn of_group(spec: &Value) -> Value {
    let csv = csv();
    let request = Request {
        csv: &csv,
        group: &group_with(spec),
        config: None,
        proxy: &[],
        certificates: &certificates(&csv),
        takes_over: false,
        predecessors: &[],
        seen: &empty_cluster(),
    };
    configurations(&request)[0]["webhooks"][0]["namespaceSelector"].clone()
}

#[test]
fn a_validating_webhook_is_asked_at_its_service() {
    let csv = csv();
    let certificates = certificates(&csv);
    let configuration = install(&csv, &certificates).callers.swap_remove(1);
    assert_eq!(configuration["kind"], "ValidatingWebhookConfiguration");
    assert_eq!(
        configuration["webhooks"],
        json!([{
            "name": "v.example.com",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {"name": "op-service", "namespace": "home", "port": 9443, "path": "/validate"},
                "caBundle": certificates["op"].bundle(),
            },
            "rules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"],
                       "operations": ["CREATE"], "resources": ["bars"]}],
            "failurePolicy": "Fail",
            "namespaceSelector": {},
            "sideEffects": "None",
            "timeoutSeconds": 5,
        }])
    );
}

#[test]
fn a_mutating_webhook_says_whether_it_is_asked_again() {
    let csv = csv();
    let configuration = install(&csv, &certificates(&csv)).callers.swap_remove(2);
    assert_eq!(configuration["kind"], "MutatingWebhookConfiguration");
    assert_eq!(
        configuration["webhooks"][0]["reinvocationPolicy"],
        "IfNeeded"
    );
    assert_eq!(
        configuration["webhooks"][0]["clientConfig"]["service"]["port"],
        443
    );
}

#[test]
fn configurations_are_found_by_olms_labels() {
    let csv = csv();
    let configuration = install(&csv, &certificates(&csv)).callers.swap_remove(1);
    let labels = &configuration["metadata"]["labels"];
    assert_eq!(labels["olm.owner"], "op.v1");
    assert_eq!(labels["olm.owner.namespace"], "home");
    assert_eq!(labels["olm.owner.kind"], "ClusterServiceVersion");
    assert_eq!(labels["olm.managed"], "true");
    assert_eq!(
        labels["olm.webhook-description-generate-name"],
        "v.example.com"
    );
    assert!(labels["olm.webhook-description-hash"].is_string());
}

#[test]
fn a_group_for_all_namespaces_selects_all() {
    assert_eq!(of_group(&json!({})), json!({}));
}

#[test]
fn a_group_with_names_selects_the_namespaces_it_labelled() {
    let selector =
        of_group(&json!({"targetNamespaces": ["one"], "selector": {"matchLabels": {"a": "b"}}}));
    let expected = json!({"matchLabels": {"olm.operatorgroup.uid/group-uid": ""}});
    assert_eq!(selector, expected);
}

#[test]
fn a_group_with_a_selector_selects_by_it() {
    let selector = of_group(&json!({"selector": {"matchLabels": {"a": "b"}}}));
    assert_eq!(selector, json!({"matchLabels": {"a": "b"}}));
}

#[test]
fn a_name_follows_from_csv_and_definition() {
    let name = |csv: &ClusterServiceVersion| {
        let desired = install(csv, &certificates(csv));
        desired.callers[1]["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let csv = csv();
    assert_eq!(name(&csv), name(&csv));
    assert!(name(&csv).starts_with("v.example.com-"));
    let mut next = csv.clone();
    next.metadata.name = Some("op.v2".to_owned());
    assert_ne!(name(&csv), name(&next));
}

#[test]
fn a_configuration_that_olm_made_keeps_its_name_and_a_second_one_goes() {
    let csv = csv();
    let certificates = certificates(&csv);
    let mut theirs = install(&csv, &certificates).callers.swap_remove(1);
    let mut seen = empty_cluster();
    for name in ["v.example.com-x7k2p", "v.example.com-b5zz9"] {
        theirs["metadata"]["name"] = json!(name);
        seen.insert(theirs.clone());
    }
    let desired = install_with(&csv, &certificates, None, &seen);
    assert_eq!(
        desired.callers[1]["metadata"]["name"],
        "v.example.com-b5zz9"
    );
    let left = leftovers(&csv, &desired, &seen);
    let names: Vec<&str> = left.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["v.example.com-x7k2p"]);
}

#[test]
fn a_configuration_whose_definition_is_gone_goes() {
    let mut csv = csv();
    let certificates = certificates(&csv);
    let before = install(&csv, &certificates);
    let seen = cluster_after(&before);
    assert_eq!(leftovers(&csv, &before, &seen), []);
    csv.spec.webhook_definitions.remove(0);
    let after = install_with(&csv, &certificates, None, &seen);
    let left = leftovers(&csv, &after, &seen);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].kind, "ValidatingWebhookConfiguration");
}

#[test]
fn a_lost_certificate_is_no_reason_to_remove_a_configuration() {
    let csv = csv();
    let seen = cluster_after(&install(&csv, &certificates(&csv)));
    let none = ServingCertificates::new();
    let request = Request {
        csv: &csv,
        group: &group(),
        config: None,
        proxy: &[],
        certificates: &none,
        takes_over: false,
        predecessors: &[],
        seen: &seen,
    };
    let desired = desired(&request).unwrap();
    assert_eq!(desired.callers, Vec::<Value>::new());
    assert_eq!(leftovers(&csv, &desired, &seen), []);
}

#[test]
fn a_name_that_is_too_long_for_a_label_is_found_again() {
    let mut csv = csv();
    csv.spec.webhook_definitions[0].generate_name = format!("{}.example.com", "v".repeat(60));
    let certificates = certificates(&csv);
    let first = install(&csv, &certificates);
    let label = first.callers[1]["metadata"]["labels"][labels::WEBHOOK_GENERATE_NAME]
        .as_str()
        .unwrap();
    assert!(label.len() <= 63, "{label}");
    let seen = cluster_after(&first);
    let again = install_with(&csv, &certificates, None, &seen);
    assert_eq!(again.callers[1], first.callers[1]);
    assert_eq!(leftovers(&csv, &again, &seen), []);
}
