use super::*;
use crate::lifecycle::requirements::ApiServiceOwner;
use rstest::rstest;
use serde_json::json;

fn csv(name: &str, replaces: &str, crds: &[&str]) -> ClusterServiceVersion {
    let owned: Vec<_> = crds
        .iter()
        .map(|name| json!({"name": name, "version": "v1"}))
        .collect();
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {
            "replaces": replaces,
            "customresourcedefinitions": {"owned": owned},
            "apiservicedefinitions": {"owned": [{"group": "g", "version": "v1", "kind": "K"}]},
        },
    }))
    .unwrap()
}

/// One that was made on a day, and got so far.
fn on(day: u32, phase: &str, mut csv: ClusterServiceVersion) -> ClusterServiceVersion {
    let created = json!(format!("2026-01-{day:02}T00:00:00Z"));
    csv.metadata.creation_timestamp = serde_json::from_value(created).unwrap();
    csv.status = serde_json::from_value(json!({"phase": phase})).unwrap();
    csv
}

#[rstest]
#[case::alone(on(1, "Succeeded", csv("other", "", &["b.g"])), None)]
#[case::a_newer_version(on(4, "Pending", csv("newer", "new", &["a.g"])), None)]
#[case::another_heir_of_the_old_one(on(1, "Succeeded", csv("heir", "old", &["a.g"])), None)]
#[case::a_stranger_that_runs(on(4, "Succeeded", csv("other", "", &["b.g", "a.g"])), Some("other"))]
#[case::a_stranger_that_was_there_first(on(1, "Failed", csv("other", "", &["a.g"])), Some("other"))]
#[case::a_stranger_that_came_later(on(4, "Failed", csv("other", "", &["a.g"])), None)]
fn a_crd_belongs_to_one_line_of_versions(
    #[case] other: ClusterServiceVersion,
    #[case] conflict: Option<&str>,
) {
    let csvs = [
        on(2, "Pending", csv("old", "", &["a.g"])),
        on(3, "Pending", csv("new", "old", &["a.g"])),
        other,
    ];
    let found = find(&csvs[1], &Lineage::new(&csvs), &BTreeMap::new());
    let owner = conflict.map(ToOwned::to_owned);
    assert_eq!(
        found,
        owner.map(|owner| OwnerConflict::Crd {
            crd: "a.g".to_owned(),
            owner
        })
    );
}

#[test]
fn who_runs_keeps_its_crd_for_its_next_version_too_whoever_else_was_there_first() {
    let csvs = [
        on(1, "Failed", csv("refused", "", &["a.g"])),
        on(2, "Failed", csv("old", "", &["a.g"])),
        on(3, "Pending", csv("new", "old", &["a.g"])),
    ];
    let mut csvs = csvs;
    csvs[1].status.get_or_insert_default().conditions =
        serde_json::from_value(json!([{"phase": "Succeeded"}, {"phase": "Failed"}])).unwrap();
    let lineage = Lineage::new(&csvs);
    let find = |csv| find(csv, &lineage, &BTreeMap::new());
    assert_eq!(find(&csvs[1]), None);
    assert_eq!(find(&csvs[2]), None);
    assert!(matches!(find(&csvs[0]), Some(OwnerConflict::Crd { owner, .. }) if owner == "old"));
}

/// One with a Deployment, which was installed or not.
fn running(name: &str, created: &str, deployment: &str, phase: &str) -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "ns", "creationTimestamp": created},
        "spec": {"install": {"strategy": "deployment", "spec": {"deployments": [
            {"name": deployment, "spec": {}},
        ]}}},
        "status": {"phase": phase},
    }))
    .unwrap()
}

#[rstest]
#[case::of_another_name("mole", "Succeeded", "Pending", None)]
#[case::that_runs("gopher", "Succeeded", "Pending", Some("first"))]
#[case::that_is_not_installed("gopher", "Pending", "Pending", None)]
#[case::that_both_have("gopher", "Succeeded", "Succeeded", Some("first"))]
fn a_deployment_belongs_to_who_installed_it_first(
    #[case] deployment: &str,
    #[case] first: &str,
    #[case] second: &str,
    #[case] conflict: Option<&str>,
) {
    let csvs = [
        running("first", "2026-01-01T00:00:00Z", deployment, first),
        running("second", "2026-01-02T00:00:00Z", "gopher", second),
    ];
    let lineage = Lineage::new(&csvs);
    let find = |csv| find(csv, &lineage, &BTreeMap::new());
    let owner = conflict.map(ToOwned::to_owned);
    assert_eq!(
        find(&csvs[1]),
        owner.map(|owner| OwnerConflict::Deployment {
            deployment: "gopher".to_owned(),
            owner
        })
    );
    // Who was first is never in conflict for it.
    assert_eq!(find(&csvs[0]), None);
}

fn fact(namespace: &str, name: &str, phase: Option<CsvPhase>) -> ApiServiceFact {
    ApiServiceFact {
        owner: Some(ApiServiceOwner {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            phase,
        }),
        ..ApiServiceFact::default()
    }
}

#[rstest]
#[case::is_its_own(fact("ns", "new", Some(CsvPhase::Pending)), true)]
#[case::is_of_the_one_it_replaces(fact("ns", "old", Some(CsvPhase::Failed)), true)]
#[case::is_of_one_that_is_being_replaced(fact("ns", "x", Some(CsvPhase::Replacing)), true)]
#[case::is_of_one_that_is_being_replaced_elsewhere(
    fact("far", "x", Some(CsvPhase::Replacing)),
    false
)]
#[case::is_of_one_that_leaves(fact("far", "x", Some(CsvPhase::Deleting)), true)]
#[case::was_left_behind(fact("ns", "gone", None), true)]
#[case::is_of_another(fact("ns", "x", Some(CsvPhase::Succeeded)), false)]
#[case::is_of_one_of_that_name_elsewhere(fact("far", "new", Some(CsvPhase::Succeeded)), false)]
#[case::is_of_nobody_we_know(ApiServiceFact::default(), false)]
fn an_api_service_can_be_taken_over_or_not(#[case] fact: ApiServiceFact, #[case] adoptable: bool) {
    let csvs = [csv("new", "old", &[])];
    let facts = BTreeMap::from([("v1.g".to_owned(), fact)]);
    let found = find(&csvs[0], &Lineage::new(&csvs), &facts);
    assert_eq!(found.is_none(), adoptable, "{found:?}");
}
