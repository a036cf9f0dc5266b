use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::plan::approval::decide;
use crate::plan::name::open_plan;
use crate::plan::step::object_of;

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn contents(name: &str) -> Contents {
    let csv = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": { "name": name },
        "spec": { "install": { "strategy": "deployment", "spec": {
            "permissions": [{ "serviceAccountName": "sailor", "rules": [] }],
        } } },
    });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{name}.harbor.io") },
    });
    Contents::of_objects(vec![crd, csv]).unwrap()
}

fn install(bundle: &str, requested_by: &str) -> Install {
    Install {
        bundle: bundle.to_owned(),
        package: bundle.to_owned(),
        version: "1.0.0".to_owned(),
        catalog: "hub".to_owned(),
        catalog_namespace: "olm".to_owned(),
        channel: "stable".to_owned(),
        image: String::new(),
        replaces: String::new(),
        requested_by: vec![requested_by.to_owned()],
    }
}

fn generated(name: &str, csv: &str) -> GeneratedSubscription {
    GeneratedSubscription {
        name: name.to_owned(),
        package: csv.to_owned(),
        channel: "stable".to_owned(),
        catalog: "hub".to_owned(),
        catalog_namespace: "olm".to_owned(),
        starting_csv: csv.to_owned(),
    }
}

fn subscription(name: &str, approval: Approval) -> Subscription {
    let mut subscription = Subscription::default();
    subscription.metadata.name = Some(name.to_owned());
    subscription.metadata.uid = Some(format!("uid-{name}"));
    subscription.spec.install_plan_approval = approval;
    subscription
}

/// `ship` needs `rope`, for which nobody has a Subscription. `tug` has nothing to do with them.
struct Scene {
    solution: Solution,
    bundles: BTreeMap<String, BundleInput>,
    subscriptions: Vec<Subscription>,
    existing: Vec<InstallPlan>,
}

impl Scene {
    fn new(approval: Approval) -> Self {
        let bundle = |name: &str, source| {
            let properties = vec![
                (
                    "olm.package".to_owned(),
                    json!({ "packageName": name, "version": "1.0.0" }).to_string(),
                ),
                (
                    BUNDLE_OBJECT.to_owned(),
                    "{\"data\":\"bWFueSBieXRlcw==\"}".to_owned(),
                ),
            ];
            let contents = contents(name);
            (
                name.to_owned(),
                BundleInput {
                    contents,
                    source,
                    properties,
                },
            )
        };
        let image = Source::Image(format!("quay.io/ship@{DIGEST}"));
        Self {
            solution: Solution {
                requests: vec!["ship".to_owned()],
                install: vec![install("rope.v1", "ship.v1"), install("ship.v1", "ship")],
                subscriptions: vec![generated("rope-stable-hub-olm", "rope.v1")],
                ..Solution::default()
            },
            bundles: BTreeMap::from([bundle("rope.v1", Source::Inline), bundle("ship.v1", image)]),
            subscriptions: vec![
                subscription("tug", Approval::Automatic),
                subscription("ship", approval),
            ],
            existing: Vec::new(),
        }
    }

    fn build(&self) -> Result<InstallPlan, BuildError> {
        let subscriptions: Vec<&Subscription> = self.subscriptions.iter().collect();
        let existing: Vec<&InstallPlan> = self.existing.iter().collect();
        let approvals = decide(&self.solution, &subscriptions, &BTreeMap::new());
        build(Input {
            namespace: "port",
            solution: &self.solution,
            bundles: &self.bundles,
            subscriptions: &subscriptions,
            existing: &existing,
            approvals: &approvals,
        })
    }
}

fn subscription_in(plan: &InstallPlan) -> Value {
    let steps = &plan.status.as_ref().unwrap().plan;
    let step = steps
        .iter()
        .find(|step| step.resource.kind == "Subscription")
        .unwrap();
    object_of("port", step, None).unwrap()
}

#[test]
fn a_plan_says_what_is_installed_for_whom() {
    let plan = Scene::new(Approval::Automatic).build().unwrap();
    assert_eq!(plan.namespace().as_deref(), Some("port"));
    assert_eq!(
        plan.spec.cluster_service_version_names,
        ["rope.v1", "ship.v1"]
    );
    assert_eq!(
        (&plan.spec.approval, plan.spec.approved),
        (&Approval::Automatic, true)
    );
    assert_eq!(plan.spec.generation, 1);
    let owners: Vec<&str> = plan
        .owner_references()
        .iter()
        .map(|owner| owner.uid.as_str())
        .collect();
    assert_eq!(owners, ["uid-ship"]);
    let status = plan.status.as_ref().unwrap();
    assert_eq!(status.phase, InstallPlanPhase::Installing);
    assert_eq!(status.catalog_sources, ["hub"]);
    let kinds: Vec<(&str, &str)> = status
        .plan
        .iter()
        .map(|step| (step.resolving.as_str(), step.resource.kind.as_str()))
        .collect();
    let of_bundle = |csv| {
        [
            "ClusterServiceVersion",
            "CustomResourceDefinition",
            "ServiceAccount",
            "Role",
            "RoleBinding",
        ]
        .map(|kind| (csv, kind))
    };
    let mut expected = of_bundle("rope.v1").to_vec();
    expected.push(("rope.v1", "Subscription"));
    expected.extend(of_bundle("ship.v1"));
    assert_eq!(kinds, expected);
}

#[test]
fn a_plan_that_has_to_be_approved_says_so_and_how() {
    let plan = Scene::new(Approval::Manual).build().unwrap();
    assert_eq!(
        (&plan.spec.approval, plan.spec.approved),
        (&Approval::Manual, false)
    );
    let status = plan.status.as_ref().unwrap();
    assert_eq!(status.phase, InstallPlanPhase::RequiresApproval);
    let command = format!("kubectl patch installplan {} -n port", plan.name_any());
    assert!(
        status
            .message
            .contains("Subscription ship has approval Manual"),
        "{}",
        status.message
    );
    assert!(status.message.contains(&command), "{}", status.message);
}

#[test]
fn a_plan_that_etcd_would_not_take_is_refused_with_the_bundle_that_is_too_large() {
    let mut scene = Scene::new(Approval::Automatic);
    let big = |scene: &mut Scene, name: &str| {
        let description = "long ".repeat(300_000);
        let mut contents = contents(name).objects().to_vec();
        contents.push(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": { "name": name },
            "spec": { "description": description, "install": { "strategy": "deployment" } },
        }));
        let bundle = scene.bundles.get_mut(name).unwrap();
        bundle.contents = Contents::of_objects(contents).unwrap();
    };
    // In an image, it may be as large as it likes.
    big(&mut scene, "ship.v1");
    scene.build().unwrap();
    big(&mut scene, "rope.v1");
    let error = scene.build().unwrap_err();
    assert!(
        matches!(&error, BuildError::TooLarge { largest, catalog, .. }
            if largest == "rope.v1" && catalog == "hub"),
        "{error}"
    );
}

#[rstest]
#[case(Approval::Automatic)]
#[case(Approval::Manual)]
fn a_generated_subscription_names_its_plan_and_inherits_its_approval(#[case] approval: Approval) {
    let plan = Scene::new(approval.clone()).build().unwrap();
    let generated = subscription_in(&plan);
    let typed: Subscription = serde_json::from_value(generated).unwrap();
    assert_eq!(typed.name_any(), "rope-stable-hub-olm");
    assert_eq!(typed.annotations()[labels::GENERATED_BY], plan.name_any());
    assert_eq!(typed.spec.starting_csv, "rope.v1");
    assert_eq!(typed.spec.install_plan_approval, approval);
    assert_eq!(typed.spec.policy, None);
}

#[test]
fn manifests_of_the_catalog_do_not_end_up_in_the_csv() {
    let plan = Scene::new(Approval::Automatic).build().unwrap();
    let csv = object_of("port", &plan.status.unwrap().plan[0], None).unwrap();
    assert_eq!(
        csv["metadata"]["annotations"][labels::PROPERTIES],
        r#"{"properties":[{"type":"olm.package","value":{"packageName":"rope.v1","version":"1.0.0"}}]}"#
    );
}

#[test]
fn the_next_plan_has_another_name_and_the_same_content() {
    let mut scene = Scene::new(Approval::Automatic);
    let first = scene.build().unwrap();
    scene.existing = vec![first.clone()];
    let second = scene.build().unwrap();
    assert_eq!(second.spec.generation, 2);
    assert_ne!(second.name_any(), first.name_any());
    let hash = |plan: &InstallPlan| plan.labels()[labels::PLAN_CONTENT_HASH].clone();
    assert_eq!(hash(&second), hash(&first));
    let found = open_plan(&[&first], &hash(&second)).unwrap();
    assert_eq!(found.name_any(), first.name_any());
    assert_eq!(
        content_hash(&first.status.as_ref().unwrap().plan),
        hash(&first)
    );
}

#[test]
fn another_digest_is_another_content() {
    let mut scene = Scene::new(Approval::Automatic);
    let first = scene.build().unwrap();
    scene.bundles.get_mut("ship.v1").unwrap().source =
        Source::Image(format!("quay.io/ship@sha256:{}", "0".repeat(64)));
    assert_ne!(scene.build().unwrap().labels(), first.labels());
}

#[test]
fn a_bundle_that_was_not_read_is_told() {
    let mut scene = Scene::new(Approval::Automatic);
    scene.bundles.remove("rope.v1");
    let bundle = "rope.v1".to_owned();
    assert_eq!(scene.build(), Err(BuildError::MissingBundle { bundle }));
}

#[test]
fn a_bundle_of_another_name_is_told() {
    let mut scene = Scene::new(Approval::Automatic);
    scene.bundles.get_mut("rope.v1").unwrap().contents = contents("string.v1");
    let error = scene.build().unwrap_err().to_string();
    assert!(
        error.contains("calls rope.v1") && error.contains("string.v1"),
        "{error}"
    );
}

#[rstest]
#[case("quay.io/ship:latest")]
#[case("quay.io/ship@sha256:short")]
fn an_image_that_may_change_is_refused(#[case] image: &str) {
    let mut scene = Scene::new(Approval::Automatic);
    scene.bundles.get_mut("ship.v1").unwrap().source = Source::Image(image.to_owned());
    let error = scene.build().unwrap_err();
    assert!(matches!(error, BuildError::NotPinned { .. }), "{error}");
}

#[test]
fn a_property_that_is_no_json_is_told() {
    let mut scene = Scene::new(Approval::Automatic);
    let properties = &mut scene.bundles.get_mut("ship.v1").unwrap().properties;
    properties.push(("mine".to_owned(), "]".to_owned()));
    let error = scene.build().unwrap_err().to_string();
    assert!(error.contains("property mine of bundle ship.v1"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn the_order_of_what_is_handed_in_does_not_matter(
        subscriptions in Just(["ship", "tug", "raft", "punt"]).prop_shuffle(),
        existing in Just([3_i64, 1, 4, 1]).prop_shuffle(),
        generated_first: bool,
    ) {
        let mut scene = Scene::new(Approval::Automatic);
        scene.solution.requests = vec!["ship".to_owned(), "raft".to_owned()];
        scene.solution.subscriptions.push(generated("rope-beta-hub-olm", "rope.v1"));
        scene.subscriptions = ["ship", "tug", "raft", "punt"]
            .map(|name| subscription(name, Approval::Automatic)).to_vec();
        let plan_of = |generation| {
            let mut plan = InstallPlan::default();
            plan.spec.generation = generation;
            plan
        };
        scene.existing = [3, 1, 4, 1].map(plan_of).to_vec();
        let one = serde_json::to_string(&scene.build().unwrap()).unwrap();
        scene.subscriptions = subscriptions.map(|name| subscription(name, Approval::Automatic)).to_vec();
        scene.existing = existing.map(plan_of).to_vec();
        if generated_first {
            scene.solution.subscriptions.reverse();
        }
        let other = serde_json::to_string(&scene.build().unwrap()).unwrap();
        prop_assert_eq!(one, other);
    }
}
