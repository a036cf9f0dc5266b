use super::*;
use crate::lifecycle::install::fixtures::{
    certificates, csv, empty_cluster, install, install_with,
};

#[test]
fn an_api_service_passes_requests_on_to_the_service() {
    let csv = csv();
    let certificates = certificates(&csv);
    let api = install(&csv, &certificates).callers.swap_remove(0);
    assert_eq!(api["metadata"]["name"], "v1.api.example.com");
    assert_eq!(
        api["spec"],
        json!({
            "group": "api.example.com",
            "version": "v1",
            "groupPriorityMinimum": 2000,
            "versionPriority": 15,
            "caBundle": certificates["op"].bundle(),
            "service": {"namespace": "home", "name": "op-service", "port": 5443},
        })
    );
    assert_eq!(api["metadata"]["labels"]["olm.owner"], "op.v1");
}

#[test]
fn an_api_service_carries_the_annotations_of_the_subscription() {
    let csv = csv();
    let config = serde_json::from_value(json!({"annotations": {"a": "b"}})).unwrap();
    let desired = install_with(&csv, &certificates(&csv), Some(&config), &empty_cluster());
    assert_eq!(desired.callers[0]["metadata"]["annotations"]["a"], "b");
}

#[test]
fn two_kinds_of_one_version_share_an_api_service() {
    let mut csv = csv();
    let mut second = csv.spec.api_service_definitions.owned[0].clone();
    second.kind = "Other".to_owned();
    csv.spec.api_service_definitions.owned.push(second);
    let desired = install(&csv, &certificates(&csv));
    let services = desired
        .callers
        .iter()
        .filter(|caller| caller["kind"] == "APIService");
    assert_eq!(services.count(), 1);
}
