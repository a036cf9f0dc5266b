use rstest::rstest;
use serde_json::json;

use super::*;

const IMAGE: &str = "quay.io/harbor/bundle@sha256:0123";

fn contents() -> Contents {
    let csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": { "name": "harbor.v1.0.0", "annotations": { "capabilities": "Full" } },
        "spec": {
            "replaces": "harbor.v0.9.0",
            "install": { "strategy": "deployment", "spec": {
                "clusterPermissions": [{ "serviceAccountName": "harbor", "rules": [] }],
            } },
        },
    });
    let object = |kind: &str, name: &str| json!({ "apiVersion": "v1", "kind": kind, "metadata": { "name": name } });
    let objects = vec![csv, object("Secret", "key"), object("ConfigMap", "chart")];
    Contents::of_objects(objects).unwrap()
}

fn origin(image: Option<&str>) -> Origin<'_> {
    Origin {
        namespace: "port",
        catalog: "hub",
        catalog_namespace: "olm",
        image,
    }
}

fn additions() -> CsvAdditions {
    CsvAdditions {
        replaces: Some("harbor.v0.8.0".to_owned()),
        properties: r#"{"properties":[{"type":"olm.package","value":{"packageName":"harbor","version":"1.0.0"}}]}"#.to_owned(),
    }
}

fn steps(image: Option<&str>) -> Vec<Step> {
    of_bundle(&contents(), &additions(), origin(image)).unwrap()
}

#[test]
fn a_bundle_becomes_its_csv_its_objects_and_its_permissions() {
    let steps = steps(Some(IMAGE));
    let kinds: Vec<&str> = steps
        .iter()
        .map(|step| step.resource.kind.as_str())
        .collect();
    assert_eq!(
        kinds,
        [
            "ClusterServiceVersion",
            "BundleSecret",
            "ConfigMap",
            "ServiceAccount",
            "ClusterRole",
            "ClusterRoleBinding",
        ]
    );
    for step in &steps {
        assert_eq!(step.resolving, "harbor.v1.0.0");
        assert_eq!(step.status, StepStatus::Unknown);
        assert_eq!(step.resource.source_name, "hub");
    }
    assert_eq!(steps[0].resource.group, "operators.coreos.com");
    assert_eq!(steps[0].resource.version, "v1alpha1");
    assert_eq!(
        (
            steps[1].resource.group.as_str(),
            steps[1].resource.version.as_str()
        ),
        ("", "v1")
    );
}

#[test]
fn steps_of_an_image_only_say_where_their_object_is() {
    for step in &steps(Some(IMAGE))[1..] {
        assert!(step.resource.manifest.contains(IMAGE));
        assert!(
            step.resource.manifest.len() < 120,
            "{}",
            step.resource.manifest
        );
    }
}

#[test]
fn the_same_object_comes_back_with_and_without_an_image() {
    let contents = contents();
    for (reference, inline) in steps(Some(IMAGE)).iter().zip(&steps(None)) {
        let found = object_of("port", reference, Some(&contents)).unwrap();
        assert_eq!(found, object_of("port", inline, None).unwrap());
        assert_eq!(found["metadata"]["name"], reference.resource.name);
    }
}

#[test]
fn a_csv_says_what_it_replaces_and_what_its_catalog_says_of_it() {
    let csv = object_of("port", &steps(Some(IMAGE))[0], Some(&contents())).unwrap();
    assert_eq!(csv["spec"]["replaces"], "harbor.v0.8.0");
    assert_eq!(csv["metadata"]["namespace"], "port");
    assert_eq!(
        csv["metadata"]["annotations"][labels::PROPERTIES],
        additions().properties
    );
    assert_eq!(csv["metadata"]["annotations"]["capabilities"], "Full");
}

#[rstest]
#[case(None, json!("harbor.v0.9.0"))]
#[case(Some(""), json!(null))]
#[case(Some("harbor.v0.1.0"), json!("harbor.v0.1.0"))]
fn the_bundles_word_counts_where_nothing_is_known(
    #[case] replaces: Option<&str>,
    #[case] expected: Value,
) {
    let additions = CsvAdditions {
        replaces: replaces.map(str::to_owned),
        properties: String::new(),
    };
    let csv = complete_csv(contents().csv(), "port", &additions);
    assert_eq!(csv["spec"]["replaces"], expected);
}

#[test]
fn the_steps_of_olms_own_plans_are_understood() {
    let contents = contents();
    let reference = r#"{"kind":"ConfigMap","name":"a1","namespace":"olm","catalogSourceName":"hub","catalogSourceNamespace":"olm","replaces":"harbor.v0.8.0","properties":"{}"}"#;
    for (step, inline) in steps(Some(IMAGE)).iter_mut().zip(&steps(None)).skip(1) {
        step.resource.manifest = reference.to_owned();
        let found = object_of("port", step, Some(&contents)).unwrap();
        assert_eq!(found, object_of("port", inline, None).unwrap());
    }
    let mut csv = steps(Some(IMAGE)).remove(0);
    csv.resource.manifest = reference.to_owned();
    let csv = object_of("port", &csv, Some(&contents)).unwrap();
    assert_eq!(csv["spec"]["replaces"], "harbor.v0.8.0");
}

#[test]
fn a_step_that_is_not_in_its_bundle_is_told() {
    let contents = contents();
    let mut step = steps(Some(IMAGE)).remove(2);
    step.resource.name = "map".to_owned();
    let error = object_of("port", &step, Some(&contents)).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("couldn't find unpacked step for ConfigMap map"),
        "{error}"
    );
    let error = object_of("port", &steps(Some(IMAGE))[2], None).unwrap_err();
    assert!(matches!(error, StepError::NoContents { .. }), "{error}");
}

#[rstest]
#[case(Some(IMAGE))]
#[case(None)]
fn a_plan_knows_the_packages_of_its_csvs(#[case] image: Option<&str>) {
    let mut plan = InstallPlan::default();
    plan.status.get_or_insert_default().plan = steps(image);
    assert_eq!(
        package_of(&plan, "harbor.v1.0.0").as_deref(),
        Some("harbor")
    );
    assert_eq!(package_of(&plan, "ship.v1.0.0"), None);
}

#[rstest]
#[case("iam.services.k8s.aws/v1alpha1", "Role", true)]
#[case("aws.mobb.nl/v1alpha1", "Secret", true)]
#[case("rbac.authorization.k8s.io/v1", "Role", false)]
#[case("v1", "Secret", false)]
#[case("v1", "Service", false)]
#[case("iam.services.k8s.aws/v1alpha1", "Policy", false)]
fn what_only_shares_its_kind_with_kubernetes_can_be_done_without(
    #[case] api_version: &str,
    #[case] kind: &str,
    #[case] is_optional: bool,
) {
    let object =
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "example" } });
    let manifest = Manifest::Inline(object.clone());
    let step = of_object("harbor.v1.0.0", &object, &manifest, origin(None));
    assert_eq!(step.optional, is_optional);
}
