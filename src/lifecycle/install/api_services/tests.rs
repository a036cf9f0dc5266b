use super::*;
use crate::lifecycle::install::fixtures::{
    certificates, csv, empty_cluster, install, install_with,
};
use rstest::rstest;

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

#[rstest]
#[case::its_own("home", "op.v1", None, true)]
#[case::of_the_one_it_replaces("home", "op.v0", Some(CsvPhase::Succeeded), true)]
#[case::of_one_it_replaces_that_is_gone("home", "op.v0", None, false)]
#[case::of_one_that_is_replaced("other", "x", Some(CsvPhase::Replacing), true)]
#[case::of_one_that_goes("other", "x", Some(CsvPhase::Deleting), true)]
#[case::of_one_that_stays("other", "x", Some(CsvPhase::Succeeded), false)]
#[case::of_nobody("", "", None, false)]
fn an_api_service_is_taken_over(
    #[case] namespace: &str,
    #[case] name: &str,
    #[case] phase: Option<CsvPhase>,
    #[case] expected: bool,
) {
    let mut csv = csv();
    csv.spec.replaces = "op.v0".to_owned();
    let labels = BTreeMap::from([
        (
            "olm.owner.kind".to_owned(),
            "ClusterServiceVersion".to_owned(),
        ),
        ("olm.owner.namespace".to_owned(), namespace.to_owned()),
        ("olm.owner".to_owned(), name.to_owned()),
    ]);
    assert_eq!(is_adoptable(&csv, &labels, |_, _| phase.clone()), expected);
    assert!(!is_adoptable(&csv, &BTreeMap::new(), |_, _| phase.clone()));
}
