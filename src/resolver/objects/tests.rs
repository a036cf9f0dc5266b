use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::resolver::fails_after;
use crate::resolver::request::Progress;

fn csv(value: Value) -> ClusterServiceVersion {
    let mut object = json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"displayName": "A", "install": {"strategy": "deployment"}},
    });
    merge(&mut object, value);
    serde_json::from_value(object).unwrap()
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn sub(package: &str, installed: &str) -> SubscriptionObject {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": {"name": format!("{package}-sub"), "namespace": "ns"},
        "spec": {"name": package, "source": "name", "sourceNamespace": "namespace"},
        "status": {"installedCSV": installed},
    }))
    .unwrap()
}

fn now() -> Time {
    at("2026-05-01T12:00:00Z")
}

fn at(time: &str) -> Time {
    Time(time.parse().unwrap())
}

fn one(read: ReadOut<Installed>) -> Installed {
    assert_eq!(read.problems, []);
    assert_eq!(read.items.len(), 1);
    read.items.into_iter().next().unwrap()
}

fn properties(installed: &Installed) -> Vec<(&str, &str)> {
    installed.features.properties().collect()
}

#[rstest]
#[case::nobody_subscribes(&[], None)]
#[case::somebody_has_another(&[("x", "b")], None)]
#[case::a_subscription_without_a_package(&[("", "a")], None)]
#[case::two_packages_claim_it(&[("x", "a"), ("y", "a")], None)]
#[case::one_has_it(&[("x", "a")], Some("x"))]
#[case::two_of_the_same_package(&[("x", "a"), ("x", "a")], Some("x"))]
fn the_package_is_that_of_the_one_subscription_that_has_the_csv(
    #[case] subscriptions: &[(&str, &str)],
    #[case] package: Option<&str>,
) {
    let subscriptions: Vec<_> = subscriptions.iter().map(|(p, i)| sub(p, i)).collect();
    let csv = csv(json!({"spec": {"version": "1.2.3"}}));
    let installed = one(installed(&[csv], &subscriptions, Some(&now())));
    assert_eq!(installed.package.as_deref(), package);
    let expected: Vec<(&str, &str)> = package
        .map(|_| (PACKAGE, r#"{"packageName":"x","version":"1.2.3"}"#))
        .into_iter()
        .collect();
    assert_eq!(properties(&installed), expected);
}

#[test]
fn the_catalog_of_the_subscription_does_not_matter() {
    let mut subscription = sub("x", "a");
    subscription.spec.source_namespace = "other-namespace".to_owned();
    let installed = one(installed(&[csv(json!({}))], &[subscription], Some(&now())));
    assert_eq!(installed.package.as_deref(), Some("x"));
}

#[test]
fn a_csv_without_a_version_is_of_its_package_all_the_same() {
    let installed = one(installed(&[csv(json!({}))], &[sub("x", "a")], Some(&now())));
    assert_eq!(installed.version, None);
    assert_eq!(
        properties(&installed),
        [(PACKAGE, r#"{"packageName":"x","version":""}"#)]
    );
}

fn apis(group: &str, kind: &str) -> (Value, Value) {
    let crd =
        json!([{"name": format!("crds.{group}"), "version": "v1", "kind": format!("Crd{kind}")}]);
    let service = json!([
        {"name": "apis", "group": group, "version": "v1", "kind": format!("Api{kind}")}
    ]);
    (crd, service)
}

#[rstest]
#[case::neither(false, false, &[])]
#[case::provided(true, false, &[
    ("olm.gvk", r#"{"group":"g","kind":"ApiOwned","version":"v1"}"#),
    ("olm.gvk", r#"{"group":"g","kind":"CrdOwned","version":"v1"}"#),
])]
#[case::required(false, true, &[
    ("olm.gvk.required", r#"{"group":"g2","kind":"ApiNeeded","version":"v1"}"#),
    ("olm.gvk.required", r#"{"group":"g2","kind":"CrdNeeded","version":"v1"}"#),
])]
#[case::both(true, true, &[
    ("olm.gvk", r#"{"group":"g","kind":"ApiOwned","version":"v1"}"#),
    ("olm.gvk", r#"{"group":"g","kind":"CrdOwned","version":"v1"}"#),
    ("olm.gvk.required", r#"{"group":"g2","kind":"ApiNeeded","version":"v1"}"#),
    ("olm.gvk.required", r#"{"group":"g2","kind":"CrdNeeded","version":"v1"}"#),
])]
fn without_an_annotation_a_csv_has_the_apis_it_describes(
    #[case] provides: bool,
    #[case] requires: bool,
    #[case] expected: &[(&str, &str)],
) {
    let mut spec = json!({"version": "0.1.0-abc"});
    if provides {
        let (crds, services) = apis("g", "Owned");
        merge(
            &mut spec,
            json!({
                "customresourcedefinitions": {"owned": crds},
                "apiservicedefinitions": {"owned": services},
            }),
        );
    }
    if requires {
        let (crds, services) = apis("g2", "Needed");
        merge(
            &mut spec,
            json!({
                "customresourcedefinitions": {"required": crds},
                "apiservicedefinitions": {"required": services},
            }),
        );
    }
    let installed = one(installed(&[csv(json!({"spec": spec}))], &[], Some(&now())));
    assert_eq!(properties(&installed), expected);
    assert_eq!(
        installed.features.apis().len(),
        if provides { 2 } else { 0 }
    );
    assert_eq!(installed.version, Version::parse("0.1.0-abc").ok());
}

#[test]
fn the_annotation_is_all_that_counts_where_there_is_one() {
    let (crds, _) = apis("g", "Owned");
    let annotation = r#"{"properties":[{"type":"test-type","value":{"test":"value"}}],"more":1}"#;
    let csv = csv(json!({
        "metadata": {"annotations": {"operatorframework.io/properties": annotation}},
        "spec": {"customresourcedefinitions": {"owned": crds}},
    }));
    let installed = one(installed(&[csv], &[sub("x", "a")], Some(&now())));
    assert_eq!(
        properties(&installed),
        [("test-type", r#"{"test":"value"}"#)]
    );
    assert_eq!(installed.package, None);
}

#[test]
fn the_annotation_names_the_package() {
    let annotation = r#"{"properties":[
        {"type":"olm.package","value":{"packageName":"first","version":"1.0.0"}},
        {"type":"olm.package","value":{"packageName":"last","version":"1.0.0"}}]}"#;
    let csv =
        csv(json!({"metadata": {"annotations": {"operatorframework.io/properties": annotation}}}));
    let installed = one(installed(&[csv], &[], Some(&now())));
    assert_eq!(installed.package.as_deref(), Some("last"));
}

#[rstest]
#[case("{}")]
#[case(r#"{"properties":null}"#)]
fn an_annotation_without_properties_says_that_there_are_none(#[case] annotation: &str) {
    let csv =
        csv(json!({"metadata": {"annotations": {"operatorframework.io/properties": annotation}}}));
    assert_eq!(properties(&one(installed(&[csv], &[], Some(&now())))), []);
}

#[rstest]
#[case::annotation(json!({"metadata": {"annotations": {"operatorframework.io/properties": "{"}}}), "metadata.annotations[operatorframework.io/properties]")]
#[case::list(json!({"metadata": {"annotations": {"operatorframework.io/properties": "[1]"}}}), "metadata.annotations[operatorframework.io/properties]")]
#[case::version(json!({"spec": {"version": "banana"}}), "spec.version")]
#[case::crd(json!({"spec": {"customresourcedefinitions": {"owned": [{"name": "nodot", "kind": "K", "version": "v1"}]}}}), "spec.customresourcedefinitions.owned")]
fn what_cannot_be_read_of_a_csv_is_reported_and_the_csv_still_counts(
    #[case] broken: Value,
    #[case] field: &str,
) {
    let (crds, _) = apis("g", "Owned");
    let mut good = json!({"spec": {"customresourcedefinitions": {"owned": crds}}});
    merge(&mut good, broken);
    let other = csv(json!({"metadata": {"name": "b"}, "spec": {"version": "1.0.0"}}));
    let read = installed(&[csv(good), other], &[sub("x", "a")], Some(&now()));
    let [problem] = read.problems.as_slice() else {
        panic!("{:?}", read.problems);
    };
    assert_eq!(problem.field, field);
    let said = problem.to_string();
    assert!(said.starts_with("ClusterServiceVersion ns/a: "), "{said}");
    let names: Vec<&str> = read.items.iter().map(|csv| csv.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(read.items[0].package.as_deref(), Some("x"));
}

#[rstest]
#[case("Succeeded", Progress::Succeeded)]
#[case("Failed", Progress::Failed)]
#[case("Replacing", Progress::Underway)]
#[case("Pending", Progress::Underway)]
#[case("", Progress::Underway)]
fn the_phase_tells_how_far_it_is(#[case] phase: &str, #[case] progress: Progress) {
    let csv = csv(json!({"spec": {"replaces": "old"}, "status": {"phase": phase}}));
    let installed = one(installed(&[csv], &[], Some(&now())));
    assert_eq!(installed.progress, progress);
    assert_eq!(installed.replaces, "old");
}

#[test]
fn an_install_whose_pods_fail_counts_as_failed() {
    let status = json!({"phase": "Installing", "reason": "ComponentUnhealthy"});
    let failing = csv(json!({"status": status}));
    assert_eq!(
        one(installed(&[failing], &[], Some(&now()))).progress,
        Progress::Failed
    );
    let status = json!({"phase": "Installing", "reason": "InstallWaiting"});
    let waiting = csv(json!({"status": status}));
    assert_eq!(
        one(installed(&[waiting], &[], Some(&now()))).progress,
        Progress::Underway
    );
}

#[rstest]
#[case::just_now("2026-05-01T12:00:00Z", Progress::Underway, Some(60))]
#[case::for_a_while("2026-05-01T11:59:10Z", Progress::Underway, Some(10))]
#[case::for_too_long("2026-05-01T11:59:00Z", Progress::Failed, None)]
#[case::by_a_clock_that_is_ahead("2026-05-01T13:00:00Z", Progress::Underway, Some(60))]
fn who_lacks_what_it_requires_for_a_minute_counts_as_failed(
    #[case] since: &str,
    #[case] progress: Progress,
    #[case] fails: Option<u64>,
) {
    // When it was pending for another reason does not matter.
    let lacking = |since: &str| {
        let begun = json!({
            "phase": "Pending", "reason": "RequirementsUnknown",
            "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        let lacks = json!({
            "phase": "Pending", "reason": "RequirementsNotMet",
            "lastUpdateTime": since, "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        csv(json!({"status": {
            "phase": "Pending", "reason": "RequirementsNotMet", "conditions": [begun, lacks],
        }}))
    };
    let csvs = [lacking(since)];
    assert_eq!(one(installed(&csvs, &[], Some(&now()))).progress, progress);
    let fails = fails.map(std::time::Duration::from_secs);
    assert_eq!(fails_after(&csvs, &now()), fails);
    // The first of several decides when to look again.
    let two = [lacking("2026-05-01T11:59:55Z"), lacking(since)];
    let first = fails.unwrap_or(std::time::Duration::from_secs(55));
    let first = first.min(std::time::Duration::from_secs(55));
    assert_eq!(fails_after(&two, &now()), Some(first));
}

#[test]
fn who_waits_for_another_reason_does_not_fail_by_the_time() {
    let held = json!({
        "phase": "Pending", "reason": "OperatorConditionNotUpgradeable",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
    });
    let mut status = held.clone();
    status["conditions"] = json!([held]);
    let csvs = [csv(json!({"status": status}))];
    assert_eq!(
        one(installed(&csvs, &[], Some(&now()))).progress,
        Progress::Underway
    );
    assert_eq!(fails_after(&csvs, &now()), None);
}

#[test]
fn copies_are_left_out_and_what_is_being_deleted_counts() {
    let copy = csv(json!({"metadata": {"labels": {"olm.copiedFrom": "other"}}}));
    let going = csv(json!({"metadata": {
        "name": "going", "deletionTimestamp": "2026-01-01T00:00:00Z"
    }}));
    let installed = one(installed(&[copy, going], &[], Some(&now())));
    assert_eq!(installed.name, "going");
}

#[test]
fn a_subscription_says_what_it_wants() {
    let mut object = sub("x", "a");
    object.spec.version = "^1.2".to_owned();
    object.spec.channel = "stable".to_owned();
    object.spec.starting_csv = "x.v1".to_owned();
    object.spec.policy = serde_json::from_value(json!({"dependencies": "Require"})).unwrap();
    let read = subscriptions(&[object]);
    assert_eq!(read.problems, []);
    let [subscription] = read.items.as_slice() else {
        panic!("{:?}", read.items);
    };
    assert_eq!(subscription.name, "x-sub");
    assert_eq!(subscription.package, "x");
    assert_eq!(subscription.channel, "stable");
    assert_eq!(subscription.catalog, CatalogKey::new("namespace", "name"));
    assert_eq!(subscription.starting_csv, "x.v1");
    assert_eq!(subscription.installed_csv, "a");
    assert_eq!(subscription.dependencies, Dependencies::Require);
    assert_eq!(subscription.version.as_ref().unwrap().as_str(), "^1.2");
}

#[rstest]
#[case::no_policy(json!(null), Dependencies::Install)]
#[case::nothing_said(json!({}), Dependencies::Install)]
#[case::install(json!({"dependencies": "Install"}), Dependencies::Install)]
#[case::require(json!({"dependencies": "Require"}), Dependencies::Require)]
fn dependencies_are_installed_unless_they_are_only_required(
    #[case] policy: Value,
    #[case] expected: Dependencies,
) {
    let mut object = sub("x", "");
    object.spec.policy = serde_json::from_value(policy).unwrap();
    assert_eq!(subscriptions(&[object]).items[0].dependencies, expected);
}

#[test]
fn what_to_do_about_dependencies_is_not_guessed_from_an_unknown_word() {
    let mut bad = sub("x", "");
    bad.spec.policy = serde_json::from_value(json!({"dependencies": "Forbid"})).unwrap();
    let read = subscriptions(&[bad, sub("y", "")]);
    assert_eq!(read.items.len(), 1);
    assert_eq!(
        read.problems[0].to_string(),
        "Subscription ns/x-sub: spec.policy.dependencies cannot be understood: `Forbid` is not known; write Install or Require"
    );
}

#[test]
fn a_subscription_without_a_package_says_so() {
    let mut nameless = sub("x", "");
    nameless.spec.name.clear();
    let read = subscriptions(&[nameless, sub("y", "")]);
    assert_eq!(read.items.len(), 1);
    let said = read.problems[0].to_string();
    assert!(
        said.contains("Subscription ns/x-sub") && said.contains("spec.name is empty"),
        "{said}"
    );
}

#[test]
fn a_range_that_is_none_is_reported_with_subscription_and_field_and_the_rest_goes_on() {
    let mut bad = sub("x", "");
    bad.spec.version = ">>1".to_owned();
    let mut leaving = sub("z", "");
    leaving.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    let read = subscriptions(&[bad, sub("y", ""), leaving]);
    let names: Vec<&str> = read.items.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["y-sub"]);
    let [problem] = read.problems.as_slice() else {
        panic!("{:?}", read.problems);
    };
    let said = problem.to_string();
    assert!(
        said.starts_with("Subscription ns/x-sub: spec.version "),
        "{said}"
    );
}

#[test]
fn a_catalog_says_its_rank_and_what_it_offers() {
    let object = |name: &str, spec: Value| -> CatalogSource {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": name, "namespace": "olm"}, "spec": spec,
        }))
        .unwrap()
    };
    let read = catalogs(&[
        object(
            "hub",
            json!({"sourceType": "grpc", "priority": -3, "packages": ["etcd*"]}),
        ),
        object(
            "huge",
            json!({"sourceType": "grpc", "priority": 99_999_999_999_i64}),
        ),
        object("bad", json!({"sourceType": "grpc", "packages": ["[a"]})),
    ]);
    let listed: Vec<_> = read
        .items
        .iter()
        .map(|l| (l.key.to_string(), l.priority))
        .collect();
    assert_eq!(
        listed,
        [
            ("olm/hub".to_owned(), -3),
            ("olm/huge".to_owned(), i32::MAX)
        ]
    );
    assert!(read.items[0].curation.allows("etcd-operator"));
    assert!(!read.items[0].curation.allows("vault"));
    let said = read.problems[0].to_string();
    assert!(
        said.starts_with("CatalogSource olm/bad: spec.packages "),
        "{said}"
    );
}
