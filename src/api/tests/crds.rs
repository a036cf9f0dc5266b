//! What `all_crds` returns, compared with OLM's CRDs.
use super::*;

fn crd(plural: &str) -> CustomResourceDefinition {
    all_crds()
        .into_iter()
        .find(|crd| crd.spec.names.plural == plural)
        .unwrap()
}

/// The schema of a version as JSON.
fn schema(crd: &CustomResourceDefinition, version: &str) -> Value {
    let version = crd
        .spec
        .versions
        .iter()
        .find(|it| it.name == version)
        .unwrap();
    serde_json::to_value(
        version
            .schema
            .as_ref()
            .unwrap()
            .open_api_v3_schema
            .as_ref()
            .unwrap(),
    )
    .unwrap()
}

/// Calls `check` with a schema and every schema inside it, and the path to each.
fn walk(schema: &Value, path: &str, check: &mut impl FnMut(&str, &Value)) {
    check(path, schema);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), check);
    }
    if let Some(items) = schema.get("items") {
        walk(items, &format!("{path}[]"), check);
    }
    if let Some(values) = schema.get("additionalProperties") {
        walk(values, &format!("{path}{{}}"), check);
    }
}

/// Calls `check` with every schema of every version of every CRD, and the path to it.
fn each_schema(mut check: impl FnMut(&str, &Value)) {
    for crd in all_crds() {
        for version in &crd.spec.versions {
            let path = format!("{}/{} ", crd.spec.names.plural, version.name);
            walk(&schema(&crd, &version.name), &path, &mut check);
        }
    }
}

#[test]
fn there_is_one_crd_per_kind_sorted_by_name() {
    let names: Vec<_> = all_crds()
        .into_iter()
        .map(|crd| crd.metadata.name.unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "catalogsources.operators.coreos.com",
            "clusterserviceversions.operators.coreos.com",
            "installplans.operators.coreos.com",
            "olmconfigs.operators.coreos.com",
            "operatorconditions.operators.coreos.com",
            "operatorgroups.operators.coreos.com",
            "operators.operators.coreos.com",
            "subscriptions.operators.coreos.com",
        ]
    );
}

#[test]
fn every_crd_is_in_category_olm_and_has_a_status_subresource() {
    for crd in all_crds() {
        assert_eq!(crd.spec.group, GROUP);
        assert_eq!(crd.spec.names.categories, Some(vec!["olm".to_owned()]));
        assert!(
            crd.spec.conversion.is_none(),
            "OLM has no conversion webhooks"
        );
        for version in crd.spec.versions {
            assert!(version.served);
            assert!(
                version.subresources.unwrap().status.is_some(),
                "{}",
                crd.spec.names.plural
            );
        }
    }
}

#[rstest]
#[case("catalogsources", "CatalogSource", "catalogsource", &["catsrc"], "Namespaced")]
#[case("subscriptions", "Subscription", "subscription", &["sub", "subs"], "Namespaced")]
#[case("installplans", "InstallPlan", "installplan", &["ip"], "Namespaced")]
#[case(
    "clusterserviceversions",
    "ClusterServiceVersion",
    "clusterserviceversion",
    &["csv", "csvs"],
    "Namespaced"
)]
#[case("operatorgroups", "OperatorGroup", "operatorgroup", &["og"], "Namespaced")]
#[case("operatorconditions", "OperatorCondition", "operatorcondition", &["condition"], "Namespaced")]
#[case("operators", "Operator", "operator", &[], "Cluster")]
#[case("olmconfigs", "OLMConfig", "olmconfig", &[], "Cluster")]
fn names_and_scope_are_those_of_olm(
    #[case] plural: &str,
    #[case] kind: &str,
    #[case] singular: &str,
    #[case] short: &[&str],
    #[case] scope: &str,
) {
    let crd = crd(plural);
    assert_eq!(crd.spec.names.kind, kind);
    assert_eq!(crd.spec.names.list_kind, Some(format!("{kind}List")));
    assert_eq!(crd.spec.names.singular.as_deref(), Some(singular));
    assert_eq!(crd.spec.names.short_names.unwrap_or_default(), short);
    assert_eq!(crd.spec.scope, scope);
}

#[rstest]
#[case("catalogsources", &[("v1alpha1", true)])]
#[case("subscriptions", &[("v1alpha1", true)])]
#[case("installplans", &[("v1alpha1", true)])]
#[case("clusterserviceversions", &[("v1alpha1", true)])]
#[case("operatorgroups", &[("v1", true), ("v1alpha2", false)])]
#[case("operatorconditions", &[("v1", false), ("v2", true)])]
#[case("operators", &[("v1", true)])]
#[case("olmconfigs", &[("v1", true)])]
fn versions_and_the_stored_one_are_those_of_olm(
    #[case] plural: &str,
    #[case] versions: &[(&str, bool)],
) {
    let crd = crd(plural);
    let actual: Vec<_> = crd
        .spec
        .versions
        .iter()
        .map(|it| (it.name.as_str(), it.storage))
        .collect();
    assert_eq!(actual, versions);
}

#[rstest]
#[case("catalogsources", &[
    ("Display", "string", ".spec.displayName"),
    ("Type", "string", ".spec.sourceType"),
    ("Publisher", "string", ".spec.publisher"),
    ("Age", "date", ".metadata.creationTimestamp"),
])]
#[case("subscriptions", &[
    ("Package", "string", ".spec.name"),
    ("Source", "string", ".spec.source"),
    ("Channel", "string", ".spec.channel"),
])]
#[case("installplans", &[
    ("CSV", "string", ".spec.clusterServiceVersionNames[0]"),
    ("Approval", "string", ".spec.approval"),
    ("Approved", "boolean", ".spec.approved"),
])]
#[case("clusterserviceversions", &[
    ("Display", "string", ".spec.displayName"),
    ("Version", "string", ".spec.version"),
    ("Release", "string", ".spec.release"),
    ("Replaces", "string", ".spec.replaces"),
    ("Phase", "string", ".status.phase"),
])]
#[case("operatorgroups", &[])]
#[case("operatorconditions", &[])]
#[case("operators", &[])]
#[case("olmconfigs", &[])]
fn printer_columns_are_those_of_olm(#[case] plural: &str, #[case] columns: &[(&str, &str, &str)]) {
    for version in crd(plural).spec.versions {
        let actual = version.additional_printer_columns.unwrap_or_default();
        let actual: Vec<_> = actual
            .iter()
            .map(|it| (it.name.as_str(), it.type_.as_str(), it.json_path.as_str()))
            .collect();
        assert_eq!(actual, columns);
    }
}

#[rstest]
#[case("catalogsources", "v1alpha1", "/properties/spec", &["sourceType"])]
#[case("catalogsources", "v1alpha1", "", &["spec"])]
#[case("subscriptions", "v1alpha1", "/properties/spec", &["name", "source", "sourceNamespace"])]
#[case("subscriptions", "v1alpha1", "/properties/status", &["lastUpdated"])]
#[case(
    "installplans",
    "v1alpha1",
    "/properties/spec",
    &["approval", "approved", "clusterServiceVersionNames"]
)]
#[case("installplans", "v1alpha1", "/properties/status", &["catalogSources", "phase"])]
#[case("clusterserviceversions", "v1alpha1", "/properties/spec", &["displayName", "install"])]
#[case("operatorgroups", "v1", "/properties/status", &["lastUpdated"])]
#[case("operatorgroups", "v1", "", &[])]
#[case("operatorgroups", "v1alpha2", "", &[])]
#[case("operatorconditions", "v2", "", &[])]
#[case(
    "operatorconditions",
    "v2",
    "/properties/spec/properties/overrides/items",
    &["message", "reason", "status", "type"]
)]
#[case(
    "operatorconditions",
    "v2",
    "/properties/spec/properties/conditions/items",
    &["lastTransitionTime", "message", "reason", "status", "type"]
)]
#[case("operators", "v1", "", &[])]
#[case("olmconfigs", "v1", "", &[])]
fn required_fields_are_those_of_olm(
    #[case] plural: &str,
    #[case] version: &str,
    #[case] path: &str,
    #[case] required: &[&str],
) {
    let schema = schema(&crd(plural), version);
    let actual = schema
        .pointer(path)
        .unwrap()
        .get("required")
        .cloned()
        .unwrap_or(json!([]));
    let mut actual: Vec<String> = serde_json::from_value(actual).unwrap();
    actual.sort();
    assert_eq!(actual, required);
}

#[test]
fn defaults_are_those_of_olm_and_no_others() {
    let mut defaults = Vec::new();
    each_schema(|path, schema| {
        if let Some(default) = schema.get("default") {
            defaults.push((path.to_owned(), default.clone()));
        }
    });
    let port = "clusterserviceversions/v1alpha1 .spec.webhookdefinitions[].containerPort";
    assert_eq!(
        defaults,
        [
            (port.to_owned(), json!(443)),
            (
                "operatorgroups/v1 .spec".to_owned(),
                json!({ "upgradeStrategy": "Default" })
            ),
            (
                "operatorgroups/v1 .spec.upgradeStrategy".to_owned(),
                json!("Default")
            ),
        ]
    );
}

#[rstest]
#[case(
    "catalogsources",
    "/properties/spec/properties/grpcPodConfig/properties/securityContextConfig",
    &["legacy", "restricted"]
)]
#[case(
    "clusterserviceversions",
    "/properties/spec/properties/webhookdefinitions/items/properties/type",
    &["ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook"]
)]
#[case(
    "operatorgroups",
    "/properties/spec/properties/upgradeStrategy",
    &["Default", "TechPreviewUnsafeFailForward"]
)]
#[case(
    "olmconfigs",
    "/properties/status/properties/conditions/items/properties/status",
    &["True", "False", "Unknown"]
)]
// Ours, and beside OLM's.
#[case(
    "subscriptions",
    "/properties/spec/properties/policy/properties/dependencies",
    &["Install", "Require"]
)]
fn closed_sets_of_values_are_those_of_olm(
    #[case] plural: &str,
    #[case] path: &str,
    #[case] values: &[&str],
) {
    let crd = crd(plural);
    let schema = schema(&crd, &crd.spec.versions[0].name);
    assert_eq!(schema.pointer(path).unwrap()["enum"], json!(values));
}

#[test]
fn every_crd_fits_the_annotation_of_kubectl_apply() {
    // `kubectl apply` keeps the whole object in an annotation, and the annotations of an object may
    // not exceed 256 KiB. OLM's own CRDs are too large for it.
    for crd in all_crds() {
        let size = serde_json::to_string(&crd).unwrap().len();
        assert!(
            size < 200 * 1024,
            "{} has {size} bytes",
            crd.spec.names.plural
        );
    }
}

#[test]
fn every_schema_is_structural() {
    each_schema(|path, schema| {
        for keyword in [
            "$ref",
            "definitions",
            "nullable",
            "uniqueItems",
            "title",
            "oneOf",
            "anyOf",
        ] {
            assert!(schema.get(keyword).is_none(), "{path} has {keyword}");
        }
        if schema.get("type").is_none() {
            assert_eq!(
                schema["x-kubernetes-int-or-string"], true,
                "{path} has no type"
            );
        }
        if schema.get("properties").is_some() {
            assert!(
                schema.get("additionalProperties").is_none(),
                "{path} has both"
            );
        }
    });
}

#[test]
fn every_field_explains_itself() {
    each_schema(|path, schema| {
        let explained = schema["description"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
        assert!(
            explained || path.ends_with("[]") || path.ends_with("{}"),
            "{path}"
        );
    });
}
