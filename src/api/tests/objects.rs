//! Decoding and encoding of objects.
use super::*;

/// An object of a kind with this spec.
fn object(kind: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "x/v1", "kind": kind, "metadata": { "name": "x" }, "spec": spec })
}

fn csv(spec: &Value, status: &Value) -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "metadata": { "name": "etcd.v1.0.0", "namespace": "ns" },
        "spec": spec,
        "status": status,
    }))
    .unwrap()
}

#[test]
fn null_reads_as_absent_in_every_kind_of_field() {
    let csv = csv(
        &json!({
            "displayName": null,
            "version": null,
            "keywords": null,
            "labels": null,
            "provider": null,
            "selector": null,
            "installModes": null,
            "customresourcedefinitions": { "owned": null, "required": [{ "name": "a.b" }] },
            "webhookdefinitions": [{ "rules": null, "admissionReviewVersions": null }],
            "install": {
                "strategy": "deployment",
                "spec": {
                    "deployments": [{ "name": "d", "spec": null, "label": null }],
                    "permissions": [{ "serviceAccountName": "sa", "rules": null }],
                    "clusterPermissions": [{ "rules": [{ "apiGroups": null, "verbs": null }] }],
                },
            },
        }),
        &json!(null),
    );
    assert_eq!(csv.spec.display_name, "");
    assert!(csv.spec.custom_resource_definitions.owned.is_empty());
    assert!(csv.spec.install.spec.deployments[0].spec.is_empty());
    assert!(
        csv.spec.install.spec.cluster_permissions[0].rules[0]
            .verbs
            .is_empty()
    );
    assert_eq!(csv.spec.webhook_definitions[0].service_port(), 443);
    assert_eq!(csv.status, None);
}

#[test]
fn a_spec_that_is_optional_may_be_absent_or_null() {
    for object in [
        json!({ "metadata": {} }),
        json!({ "metadata": {}, "spec": null }),
    ] {
        assert!(serde_json::from_value::<OlmConfig>(object.clone()).is_ok());
        assert!(serde_json::from_value::<Operator>(object.clone()).is_ok());
        assert!(serde_json::from_value::<OperatorCondition>(object).is_ok());
    }
    let group: OperatorGroup = serde_json::from_value(json!({ "metadata": {} })).unwrap();
    assert_eq!(group.spec, OperatorGroupSpec::default());
    let package: PackageManifest = serde_json::from_value(json!({ "metadata": {} })).unwrap();
    assert_eq!(serde_json::to_value(package).unwrap()["spec"], json!({}));
}

#[test]
fn an_optional_spec_that_is_present_is_read() {
    let spec =
        json!({ "targetNamespaces": ["a"], "upgradeStrategy": "TechPreviewUnsafeFailForward" });
    let group: OperatorGroup = serde_json::from_value(object("OperatorGroup", &spec)).unwrap();
    assert_eq!(group.spec.target_namespaces, ["a"]);
    assert!(group.spec.fails_forward());
    assert_eq!(serde_json::to_value(group).unwrap()["spec"], spec);
}

#[test]
fn a_phase_of_another_release_decodes_and_is_kept() {
    let status = json!({ "phase": "Meditating", "reason": "Om" });
    let csv = csv(&json!({}), &status);
    let read = csv.status.as_ref().unwrap();
    assert_eq!(read.phase, CsvPhase::Other("Meditating".to_owned()));
    assert_eq!(read.reason, CsvReason::Other("Om".to_owned()));
    assert_eq!(serde_json::to_value(&csv).unwrap()["status"], status);
}

#[test]
fn absent_values_are_not_written() {
    let spec = json!({ "source": "hub", "sourceNamespace": "olm", "name": "etcd" });
    let subscription = round_trip::<Subscription>(&object("Subscription", &spec));
    assert_eq!(subscription["spec"], spec);
    assert_eq!(subscription["apiVersion"], "operators.coreos.com/v1alpha1");
    assert_eq!(subscription.get("status"), None);
}

#[test]
fn fields_that_olm_does_not_have_are_kept_and_optional() {
    let spec = json!({
        "source": "hub", "sourceNamespace": "olm", "name": "etcd",
        "version": ">=1.2 <2", "policy": { "dependencies": "Require" },
    });
    let subscription = round_trip::<Subscription>(&object("Subscription", &spec));
    assert_eq!(subscription["spec"], spec);

    let spec = json!({ "sourceType": "grpc", "packages": ["harbor-*", "cert-manager"] });
    let catalog = round_trip::<CatalogSource>(&object("CatalogSource", &spec));
    assert_eq!(catalog["spec"], spec);

    let spec = json!({ "sourceType": "grpc" });
    let catalog = round_trip::<CatalogSource>(&object("CatalogSource", &spec));
    assert_eq!(catalog["spec"], spec);
}

#[test]
fn values_that_the_schema_requires_are_written_even_if_empty() {
    let plan = InstallPlan {
        spec: InstallPlanSpec::default(),
        status: Some(InstallPlanStatus::default()),
        ..InstallPlan::default()
    };
    let plan = serde_json::to_value(plan).unwrap();
    assert_eq!(
        plan["spec"],
        json!({ "clusterServiceVersionNames": [], "approval": "", "approved": false })
    );
    assert_eq!(plan["status"], json!({ "phase": "", "catalogSources": [] }));
}

#[test]
fn a_status_of_a_subscription_survives_a_round_trip() {
    let status = json!({
        "currentCSV": "etcd.v2",
        "installedCSV": "etcd.v1",
        "installplan": {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "InstallPlan",
            "name": "install-abcde",
            "uuid": "0b9c",
        },
        "installPlanRef": { "kind": "InstallPlan", "name": "install-abcde", "uid": "0b9c" },
        "installPlanGeneration": 3,
        "state": "UpgradePending",
        "catalogHealth": [{
            "catalogSourceRef": { "name": "hub" },
            "lastUpdated": "2026-01-02T03:04:05Z",
            "healthy": false,
        }],
        "conditions": [{
            "type": "CatalogSourcesUnhealthy",
            "status": "False",
            "reason": "AllCatalogSourcesHealthy",
            "message": "all available catalogsources are healthy",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
        }],
        "lastUpdated": "2026-01-02T03:04:05Z",
    });
    let mut whole = object("Subscription", &json!({}));
    whole["status"] = status.clone();
    assert_eq!(round_trip::<Subscription>(&whole)["status"], status);

    let subscription: Subscription = serde_json::from_value(whole).unwrap();
    let read = subscription.status.unwrap();
    let unhealthy = read
        .condition(&SubscriptionConditionType::CatalogSourcesUnhealthy)
        .unwrap();
    assert_eq!(unhealthy.status, ConditionStatus::False);
    assert_eq!(read.condition(&SubscriptionConditionType::Deprecated), None);
}

#[test]
fn pod_settings_pass_through_untouched() {
    // The number, the null and the field that no Kubernetes release knows are all kept.
    let config = json!({
        "nodeSelector": {},
        "resources": { "limits": { "cpu": 1.0 } },
        "env": [{ "name": "A", "valueFrom": { "fileKeyRef": { "path": "p" } } }],
        "volumes": [{ "name": "v", "fromTheFuture": { "x": null } }],
        "affinity": { "podAffinity": {} },
    });
    let spec = json!({ "source": "", "sourceNamespace": "", "name": "", "config": config });
    let subscription = round_trip::<Subscription>(&object("Subscription", &spec));
    assert_eq!(subscription["spec"]["config"], config);
}

#[test]
fn an_override_needs_no_time() {
    let spec = json!({
        "overrides": [{ "type": "Upgradeable", "status": "True", "reason": "r", "message": "" }],
    });
    let written = round_trip::<OperatorCondition>(&object("OperatorCondition", &spec));
    assert_eq!(written["spec"], spec);
}

#[test]
fn a_component_of_an_operator_is_a_reference_with_conditions() {
    let mut operator = object("Operator", &json!({}));
    operator["status"] = json!({ "components": {
        "labelSelector": { "matchExpressions": [
            { "key": "operators.coreos.com/etcd.ns", "operator": "Exists" },
        ] },
        "refs": [{
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "etcd",
            "namespace": "ns",
            "conditions": [{ "type": "Available", "status": "True" }],
        }],
    } });
    assert_eq!(
        round_trip::<Operator>(&operator)["status"],
        operator["status"]
    );
}

#[test]
fn a_catalog_source_knows_the_address_of_its_service() {
    let mut catalog = object(
        "CatalogSource",
        &json!({ "sourceType": "grpc", "image": "i" }),
    );
    catalog["status"] = json!({
        "registryService": { "serviceName": "hub", "serviceNamespace": "olm", "port": "50051" },
        "connectionState": { "lastObservedState": "READY" },
    });
    let read: CatalogSource = serde_json::from_value(catalog).unwrap();
    let service = read.status.unwrap().registry_service.unwrap();
    assert_eq!(service.address(), "hub.olm.svc:50051");
}

#[rstest]
#[case(json!({}), json!({}), json!({}), false)]
#[case(json!({}), json!({ "olm.operatorNamespace": "ns" }), json!({}), false)]
#[case(json!({}), json!({ "olm.operatorNamespace": "elsewhere" }), json!({}), true)]
#[case(json!({ "olm.copiedFrom": "elsewhere" }), json!({}), json!({}), true)]
#[case(json!({}), json!({}), json!({ "reason": "Copied" }), true)]
fn a_copy_shows_by_its_reason_its_annotation_or_its_label(
    #[case] labels: Value,
    #[case] annotations: Value,
    #[case] status: Value,
    #[case] copied: bool,
) {
    let csv: ClusterServiceVersion = serde_json::from_value(json!({
        "metadata": { "namespace": "ns", "labels": labels, "annotations": annotations },
        "spec": {},
        "status": status,
    }))
    .unwrap();
    assert_eq!(csv.is_copied(), copied);
}

#[rstest]
#[case("BeingReplaced", true)]
#[case("Replaced", true)]
#[case("InstallSucceeded", false)]
fn a_csv_is_obsolete_once_its_history_says_so(#[case] reason: &str, #[case] obsolete: bool) {
    let history = json!({ "conditions": [{ "reason": reason }, { "reason": "Copied" }] });
    assert_eq!(csv(&json!({}), &history).is_obsolete(), obsolete);
    assert!(!csv(&json!({}), &json!({ "reason": reason })).is_obsolete());
}

#[test]
fn an_install_mode_that_is_not_listed_is_not_supported() {
    let csv = csv(
        &json!({ "installModes": [
            { "type": "OwnNamespace", "supported": true },
            { "type": "MultiNamespace", "supported": false },
        ] }),
        &json!({}),
    );
    assert!(csv.spec.supports(&InstallModeType::OwnNamespace));
    assert!(!csv.spec.supports(&InstallModeType::MultiNamespace));
    assert!(!csv.spec.supports(&InstallModeType::AllNamespaces));
}

#[rstest]
#[case("Manual", json!(null), ApprovalPolicy::Manual)]
#[case("Automatic", json!(null), ApprovalPolicy::Automatic)]
#[case("", json!(null), ApprovalPolicy::Automatic)]
#[case("manual", json!(null), ApprovalPolicy::Automatic)]
#[case("Manual", json!({ "dependencies": "Install" }), ApprovalPolicy::Manual)]
#[case("Manual", json!({ "approval": "Automatic" }), ApprovalPolicy::Automatic)]
#[case("Automatic", json!({ "approval": "Patch" }), ApprovalPolicy::Patch)]
#[case("", json!({ "approval": "Manual" }), ApprovalPolicy::Manual)]
fn the_policy_on_approval_beats_the_older_word(
    #[case] older: &str,
    #[case] policy: Value,
    #[case] approval: ApprovalPolicy,
) {
    let spec = json!({ "installPlanApproval": older, "policy": policy });
    let subscription: Subscription = serde_json::from_value(object("Subscription", &spec)).unwrap();
    assert_eq!(subscription.spec.approval(), approval);
}

#[test]
fn csvs_are_copied_only_if_the_configuration_asks_for_it() {
    let copies = |spec: Value| {
        let config: OlmConfig = serde_json::from_value(object("OLMConfig", &spec)).unwrap();
        config.spec.copies_csvs()
    };
    assert!(!copies(json!({})));
    assert!(!copies(json!({ "features": {} })));
    assert!(copies(
        json!({ "features": { "disableCopiedCSVs": false } })
    ));
    assert!(!copies(
        json!({ "features": { "disableCopiedCSVs": true } })
    ));
}

#[test]
fn the_default_channel_is_the_declared_one_or_the_only_one() {
    let default_channel = |status: Value| {
        let package: PackageManifest =
            serde_json::from_value(json!({ "metadata": {}, "status": status })).unwrap();
        package
            .status
            .unwrap()
            .default_channel()
            .map(|channel| channel.name.clone())
    };
    let two = json!([{ "name": "alpha" }, { "name": "stable" }]);
    assert_eq!(
        default_channel(json!({ "defaultChannel": "stable", "channels": two })),
        Some("stable".to_owned())
    );
    assert_eq!(default_channel(json!({ "channels": two })), None);
    assert_eq!(
        default_channel(json!({ "channels": [{ "name": "alpha" }] })),
        Some("alpha".to_owned())
    );
}

#[test]
fn enums_keep_the_words_of_olm() {
    assert_eq!(Approval::KNOWN, ["Automatic", "Manual"]);
    assert_eq!(InstallPlanPhase::KNOWN[1], "RequiresApproval");
    assert_eq!(CsvPhase::KNOWN.len(), 8);
    assert_eq!(CsvReason::KNOWN.len(), 30);
    // Eleven of OLM, and four of ours.
    assert_eq!(SubscriptionConditionType::KNOWN.len(), 15);
}
