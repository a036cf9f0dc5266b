use super::*;
use rstest::rstest;
use serde_json::Value;

/// Nobody asks for copies of operators that serve all namespaces.
const NOWHERE: Reach<'static> = Reach::Protected(&BTreeSet::new());

fn csv() -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": "etcd.v1",
            "namespace": "home",
            "uid": "u",
            "finalizers": ["operators.coreos.com/csv-cleanup"],
            "labels": {"operators.coreos.com/etcd.home": "", "mine": "yes"},
            "annotations": {
                "olm.operatorGroup": "g",
                "olm.operatorNamespace": "home",
                "olm.targetNamespaces": "one,two",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "note": "n",
            },
        },
        "spec": {"displayName": "etcd", "version": "1.0.0",
                 "install": {"strategy": "deployment", "spec": {"deployments": []}}},
        "status": {"phase": "Succeeded", "reason": "InstallSucceeded", "message": "fine"},
    }))
    .unwrap()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn named(targets: &[&str]) -> Targets {
    Targets::Named(names(targets).into_iter().collect())
}

fn cluster(namespaces: &[&str]) -> BTreeSet<String> {
    names(namespaces).into_iter().collect()
}

fn with(csv: ClusterServiceVersion, phase: &str, reason: &str) -> ClusterServiceVersion {
    let mut csv = csv;
    csv.status = serde_json::from_value(json!({"phase": phase, "reason": reason})).unwrap();
    csv
}

#[test]
fn a_copy_says_where_the_operator_runs() {
    let copy = copy(&csv(), "one");
    let value: Value = json!(copy);
    assert_eq!(value["metadata"]["namespace"], "one");
    assert_eq!(value["metadata"]["name"], "etcd.v1");
    assert_eq!(
        value["metadata"]["labels"],
        json!({"mine": "yes", "olm.copiedFrom": "home", "olm.managed": "true"})
    );
    assert_eq!(value["status"]["reason"], "Copied");
    assert_eq!(value["status"]["phase"], "Succeeded");
    assert_eq!(
        value["status"]["message"],
        "The operator is running in home but is managing this namespace"
    );
    assert_eq!(copy.spec, csv().spec);
    assert!(copy.is_copied());
}

#[test]
fn a_copy_has_neither_targets_nor_what_belongs_to_the_original_alone() {
    let copy = copy(&csv(), "one");
    let annotations: Vec<&str> = copy.annotations().keys().map(String::as_str).collect();
    let expected = [
        "chandler.copy-hash",
        "note",
        "olm.operatorGroup",
        "olm.operatorNamespace",
    ];
    assert_eq!(annotations, expected);
    assert!(copy.metadata.finalizers.is_none() && copy.metadata.uid.is_none());
}

#[test]
fn each_target_gets_a_copy_but_not_the_operators_own_namespace() {
    let plan = plan(
        &csv(),
        &named(&["home", "one", "two", "gone"]),
        &cluster(&["home", "one", "two", "three"]),
        &[],
        NOWHERE,
    );
    assert_eq!(plan.write, names(&["one", "two"]));
    assert_eq!(plan.write_status, names(&["one", "two"]));
    assert_eq!(plan.delete, names(&[]));
}

#[test]
fn a_copy_that_is_up_to_date_is_left_alone() {
    let seen = [
        Copy::of(&copy(&csv(), "one")),
        Copy::of(&copy(&csv(), "two")),
    ];
    let cluster = cluster(&["home", "one", "two"]);
    let plan = plan(&csv(), &named(&["one", "two"]), &cluster, &seen, NOWHERE);
    assert_eq!(plan, CopyPlan::default());
}

#[test]
fn labels_that_others_put_on_a_copy_do_not_make_it_outdated() {
    let mut labelled = copy(&csv(), "one");
    labelled
        .labels_mut()
        .insert("theirs".to_owned(), String::new());
    let seen = [Copy::of(&labelled)];
    let plan = plan(&csv(), &named(&["one"]), &cluster(&["one"]), &seen, NOWHERE);
    assert_eq!(plan, CopyPlan::default());
}

#[test]
fn what_changed_is_written_and_nothing_else() {
    let seen = [Copy::of(&copy(&csv(), "one"))];
    let failed = with(csv(), "Failed", "ComponentUnhealthy");
    let status_only = plan(
        &failed,
        &named(&["one"]),
        &cluster(&["one"]),
        &seen,
        NOWHERE,
    );
    assert_eq!(status_only.write, names(&[]));
    assert_eq!(status_only.write_status, names(&["one"]));
    let mut renamed = csv();
    "other".clone_into(&mut renamed.spec.display_name);
    let spec_only = plan(
        &renamed,
        &named(&["one"]),
        &cluster(&["one"]),
        &seen,
        NOWHERE,
    );
    assert_eq!(spec_only.write, names(&["one"]));
    assert_eq!(spec_only.write_status, names(&[]));
}

#[test]
fn a_copy_whose_status_was_never_written_gets_it() {
    let mut fresh = copy(&csv(), "one");
    fresh.status = None;
    let seen = [Copy::of(&fresh)];
    let plan = plan(&csv(), &named(&["one"]), &cluster(&["one"]), &seen, NOWHERE);
    assert_eq!(plan.write, names(&[]));
    assert_eq!(plan.write_status, names(&["one"]));
}

#[rstest]
#[case::only_when_asked_for(Reach::Everywhere, &["one", "two"], &[])]
#[case::and_else_those_there_are_go(NOWHERE, &[], &["two"])]
#[case::but_always_where_that_is_protected(
    Reach::Protected(&BTreeSet::from(["one".to_owned()])), &["one"], &["two"]
)]
fn an_operator_for_all_namespaces_is_copied(
    #[case] reach: Reach<'_>,
    #[case] write: &[&str],
    #[case] delete: &[&str],
) {
    let mut outdated = Copy::of(&copy(&csv(), "two"));
    outdated.content = Hash::default();
    let cluster = cluster(&["home", "one", "two"]);
    let plan = plan(&csv(), &Targets::All, &cluster, &[outdated], reach);
    assert_eq!(plan.write, names(write));
    assert_eq!(plan.delete, names(delete));
}

#[test]
fn a_copy_goes_when_its_namespace_is_no_longer_served() {
    let seen = [Copy::of(&copy(&csv(), "two"))];
    let plan = plan(
        &csv(),
        &named(&["one"]),
        &cluster(&["one", "two"]),
        &seen,
        NOWHERE,
    );
    assert_eq!(plan.delete, names(&["two"]));
}

#[rstest]
#[case("InvalidInstallModes")]
#[case("NoTargetNamespaces")]
#[case("UnsupportedOperatorGroup")]
#[case("NoOperatorGroup")]
#[case("TooManyOperatorGroups")]
#[case("InterOperatorGroupOwnerConflict")]
#[case("CannotModifyStaticOperatorGroupProvidedAPIs")]
#[case("Copied")]
fn one_that_is_no_member_of_its_group_is_not_copied(#[case] reason: &str) {
    let csv = with(csv(), "Failed", reason);
    assert!(!is_copyable(&csv));
    let plan = plan(&csv, &named(&["one"]), &cluster(&["one"]), &[], NOWHERE);
    assert_eq!(plan, CopyPlan::default());
}

#[test]
fn copies_go_while_another_group_has_the_apis() {
    let seen = [Copy::of(&copy(&csv(), "one"))];
    let csv = with(csv(), "Failed", "InterOperatorGroupOwnerConflict");
    let plan = plan(&csv, &named(&["one"]), &cluster(&["one"]), &seen, NOWHERE);
    assert_eq!(plan.delete, names(&["one"]));
}

#[test]
fn a_copy_that_does_not_say_where_its_original_is_goes() {
    let mut one = copy(&csv(), "one");
    let mut home_is = |home: Option<&str>| {
        let home = home.map(|it| ("olm.operatorNamespace".to_owned(), it.to_owned()));
        one.metadata.annotations = Some(home.into_iter().collect());
        is_dangling(&Copy::of(&one), &csv())
    };
    assert!(!home_is(Some("home")));
    assert!(home_is(None));
    assert!(home_is(Some("")));
    assert!(home_is(Some("one")));
}

#[test]
fn what_the_group_covers_counts_and_not_what_the_original_was_marked_with_before() {
    // Its annotation names `one` and `two`.
    let seen = [Copy::of(&copy(&csv(), "three"))];
    let cluster = cluster(&["one", "two", "three"]);
    let plan = plan(&csv(), &named(&["three"]), &cluster, &seen, NOWHERE);
    assert_eq!(plan, CopyPlan::default());
}

#[test]
fn one_that_is_not_marked_yet_is_not_copied_without_the_marks() {
    let mut unmarked = csv();
    unmarked.annotations_mut().remove("olm.operatorNamespace");
    let plan = plan(
        &unmarked,
        &named(&["one"]),
        &cluster(&["one"]),
        &[],
        NOWHERE,
    );
    assert_eq!(plan, CopyPlan::default());
}

#[test]
fn one_that_was_not_looked_at_yet_is_not_copied() {
    let mut new = csv();
    new.status = None;
    let plan = plan(&new, &named(&["one"]), &cluster(&["one"]), &[], NOWHERE);
    assert!(plan.is_empty());
}
