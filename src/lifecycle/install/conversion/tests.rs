use super::*;
use crate::lifecycle::install::fixtures::{certificates, crd, csv, group, install};
use crate::lifecycle::install::observe::Seen;
use rstest::rstest;

fn crds_of(csv: &ClusterServiceVersion, seen: &Seen) -> Result<Vec<Value>, ConversionError> {
    crds(&Request {
        csv,
        group: &group(),
        config: None,
        proxy: &[],
        certificates: &certificates(csv),
        takes_over: false,
        predecessors: &[],
        seen,
    })
}

#[test]
fn a_crd_is_told_to_ask_the_webhook() {
    let csv = csv();
    let certificates = certificates(&csv);
    let crd = install(&csv, &certificates).callers.pop().unwrap();
    assert_eq!(crd["metadata"], json!({"name": "bars.example.com"}));
    assert_eq!(
        crd["spec"],
        json!({"conversion": {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {
                    "service": {"namespace": "home", "name": "op-service", "path": "/convert", "port": 443},
                    "caBundle": certificates["op"].bundle(),
                },
                "conversionReviewVersions": ["v1"],
            },
        }})
    );
}

#[test]
fn a_webhook_without_a_path_is_asked_at_the_root() {
    let mut csv = csv();
    csv.spec.webhook_definitions[2].webhook_path = None;
    let crds = crds_of(&csv, &Seen::new([crd()])).unwrap();
    assert_eq!(
        crds[0]["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"],
        "/"
    );
}

#[rstest]
#[case("SingleNamespace", true)]
#[case("AllNamespaces", false)]
fn only_an_operator_for_all_namespaces_may_convert(#[case] mode: &str, #[case] supported: bool) {
    let mut csv = csv();
    csv.spec.install_modes =
        serde_json::from_value(json!([{"type": mode, "supported": supported}])).unwrap();
    let error = crds_of(&csv, &Seen::new([crd()])).unwrap_err();
    assert!(matches!(
        error,
        ConversionError::NotOnlyAllNamespaces { .. }
    ));
    let olms = "unable to manage conversion webhook: CSVs with conversion webhooks must support only AllNamespaces";
    assert!(error.to_string().starts_with(olms));
}

#[test]
fn a_webhook_that_converts_nothing_is_refused() {
    let mut csv = csv();
    csv.spec.webhook_definitions[2].conversion_crds.clear();
    let error = crds_of(&csv, &Seen::new([crd()])).unwrap_err();
    assert!(matches!(error, ConversionError::NoCrd { .. }));
}

#[test]
fn a_crd_of_somebody_else_is_refused() {
    let mut csv = csv();
    csv.spec.custom_resource_definitions.owned.clear();
    let error = crds_of(&csv, &Seen::new([crd()])).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("csv op.v1 does not own CRD bars.example.com")
    );
}

#[test]
fn a_crd_that_is_not_there_is_named() {
    let error = crds_of(&csv(), &Seen::default()).unwrap_err();
    let crd = "bars.example.com".to_owned();
    assert_eq!(error, ConversionError::NotThere { crd });
}

#[test]
fn a_crd_that_takes_any_field_is_refused() {
    let mut loose = crd();
    loose["spec"]["preserveUnknownFields"] = json!(true);
    let error = crds_of(&csv(), &Seen::new([loose])).unwrap_err();
    assert!(matches!(
        error,
        ConversionError::PreservesUnknownFields { .. }
    ));
}

#[test]
fn a_crd_converts_by_itself_when_its_webhook_goes() {
    let csv = csv();
    let asks_us = install(&csv, &certificates(&csv)).callers.pop().unwrap();
    let resets = resets(&csv, &[], &[asks_us]);
    assert_eq!(resets.len(), 1);
    assert_eq!(resets[0]["metadata"]["name"], "bars.example.com");
    assert_eq!(
        resets[0]["spec"]["conversion"],
        json!({"strategy": "None", "webhook": null})
    );
}

/// Another version of the operator, in a phase.
fn heir(phase: &str) -> ClusterServiceVersion {
    let mut heir = csv();
    heir.metadata.name = Some("op.v2".to_owned());
    heir.status = serde_json::from_value(json!({"phase": phase})).unwrap();
    heir
}

fn elsewhere(mut heir: ClusterServiceVersion) -> ClusterServiceVersion {
    heir.metadata.namespace = Some("far".to_owned());
    heir
}

fn behind_another_service(mut heir: ClusterServiceVersion) -> ClusterServiceVersion {
    for webhook in &mut heir.spec.webhook_definitions {
        webhook.deployment_name = "renamed".to_owned();
    }
    heir
}

fn without_conversion(mut heir: ClusterServiceVersion) -> ClusterServiceVersion {
    heir.spec.webhook_definitions.pop();
    heir
}

#[rstest]
#[case::that_runs(heir("Succeeded"), true)]
#[case::that_begins_to_run(heir("InstallReady"), true)]
#[case::that_has_not_begun(heir("Pending"), false)]
#[case::that_never_began(heir("Failed"), false)]
#[case::of_another_namespace(elsewhere(heir("Succeeded")), false)]
#[case::behind_another_service(behind_another_service(heir("Installing")), false)]
#[case::that_converts_nothing(without_conversion(heir("Succeeded")), false)]
fn a_crd_is_left_to_an_heir(#[case] heir: ClusterServiceVersion, #[case] is_left: bool) {
    let csv = csv();
    let asks_us = install(&csv, &certificates(&csv)).callers.pop().unwrap();
    let resets = resets(&csv, &[&heir], &[asks_us]);
    assert_eq!(resets.is_empty(), is_left, "{resets:?}");
}

#[test]
fn a_crd_that_asks_somebody_else_is_left_alone() {
    let csv = csv();
    let mut asks_another = install(&csv, &certificates(&csv)).callers.pop().unwrap();
    asks_another["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["namespace"] =
        json!("x");
    assert_eq!(
        resets(&csv, &[], &[asks_another, crd()]),
        Vec::<Value>::new()
    );
}
