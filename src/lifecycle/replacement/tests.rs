use super::*;
use rstest::rstest;
use serde_json::json;

fn csv(name: &str, replaces: &str, phase: &str) -> ClusterServiceVersion {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"replaces": replaces},
        "status": {"phase": phase},
    }))
    .unwrap()
}

/// Names and what they replace.
fn csvs(links: &[(&str, &str)]) -> Vec<ClusterServiceVersion> {
    links
        .iter()
        .map(|(name, replaces)| csv(name, replaces, "Pending"))
        .collect()
}

fn names(csvs: &[&ClusterServiceVersion]) -> Vec<String> {
    csvs.iter().map(|csv| csv.name_any()).collect()
}

#[rstest]
#[case::itself(&[("itself", "itself")], &["itself"])]
#[case::each_other(&[("a", "b"), ("b", "a")], &["a", "b"])]
#[case::from_the_head(&[("a", "b"), ("b", "c"), ("c", "")], &["a", "b", "c"])]
#[case::from_the_middle(&[("b", "c"), ("a", "b"), ("c", "")], &["a", "b", "c"])]
#[case::without_strangers(&[("a", "gone"), ("x", "y"), ("y", "")], &["a"])]
fn a_chain_has_all_that_hang_together(#[case] links: &[(&str, &str)], #[case] chain: &[&str]) {
    let csvs = csvs(links);
    let found = Lineage::new(&csvs).chain(&csvs[0]);
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), chain);
}

#[test]
fn each_has_one_before_and_those_after_it() {
    let csvs = csvs(&[("a", ""), ("b", "a"), ("c", "b")]);
    let lineage = Lineage::new(&csvs);
    assert_eq!(lineage.replaced_by(&csvs[1]), Some(&csvs[0]));
    assert_eq!(lineage.replacement_of(&csvs[1]), Some(&csvs[2]));
    assert_eq!(names(&lineage.successors(&csvs[0])), ["b", "c"]);
    assert_eq!(lineage.replaced_by(&csvs[0]), None);
    assert_eq!(lineage.replacement_of(&csvs[2]), None);
}

/// As [`csvs`], each made a day after the one before it.
fn in_order(links: &[(&str, &str)]) -> Vec<ClusterServiceVersion> {
    let mut csvs = csvs(links);
    for (day, csv) in (1..).zip(&mut csvs) {
        let created = json!(format!("2026-01-{day:02}T00:00:00Z"));
        csv.metadata.creation_timestamp = serde_json::from_value(created).unwrap();
    }
    csvs
}

#[rstest]
#[case::itself(&[("a", "a")], &["a"])]
#[case::one_step_back(&[("v2", "v1"), ("v1", "v2")], &["v2", "v1"])]
#[case::and_on_again(&[("v1", "v2"), ("v2", "v1")], &["v1", "v2"])]
#[case::two_steps_back_and_on_again(&[("v3", "v2"), ("v1", "v3"), ("v2", "v1")], &["v3", "v1", "v2"])]
#[case::what_follows_a_circle(&[("a", "b"), ("b", "a"), ("c", "b")], &["a", "b", "c"])]
fn in_a_circle_whoever_came_last_is_the_newest(
    #[case] links: &[(&str, &str)],
    #[case] chain: &[&str],
) {
    let csvs = in_order(links);
    let lineage = Lineage::new(&csvs);
    let mut all = vec![csvs[0].name_any()];
    all.extend(names(&lineage.successors(&csvs[0])));
    assert_eq!(all, chain);
    assert_eq!(names(&lineage.descendants(&csvs[0])), chain[1..]);
    assert_eq!(lineage.replaced_by(&csvs[0]), None);
    for (older, newer) in csvs.iter().zip(&csvs[1..]) {
        assert_eq!(lineage.replaced_by(newer), Some(older));
    }
    let last = csvs.last().unwrap();
    assert_eq!(lineage.replacement_of(last), None);
    assert_eq!(lineage.predecessors(last).len(), csvs.len() - 1);
}

#[test]
fn what_leads_to_a_circle_is_no_part_of_it() {
    let csvs = in_order(&[("c", "b"), ("a", "b"), ("b", "a")]);
    let lineage = Lineage::new(&csvs);
    assert_eq!(lineage.replaced_by(&csvs[0]), Some(&csvs[2]));
    assert_eq!(names(&lineage.successors(&csvs[1])), ["b", "c"]);
}

#[test]
fn of_several_that_want_to_replace_one_that_runs_comes_first() {
    let mut csvs = csvs(&[("a", ""), ("b", "a"), ("c", "a")]);
    assert_eq!(
        Lineage::new(&csvs)
            .replacement_of(&csvs[0])
            .unwrap()
            .name_any(),
        "b"
    );
    csvs[2].status.get_or_insert_default().phase = CsvPhase::Succeeded;
    assert_eq!(
        Lineage::new(&csvs)
            .replacement_of(&csvs[0])
            .unwrap()
            .name_any(),
        "c"
    );
}

#[test]
fn copies_replace_nothing() {
    let mut csvs = csvs(&[("a", ""), ("b", "a")]);
    csvs[1].status.get_or_insert_default().reason = CsvReason::Copied;
    assert_eq!(Lineage::new(&csvs).replacement_of(&csvs[0]), None);
}

#[rstest]
#[case("", "", false)]
#[case("Pending", "RequirementsNotMet", false)]
#[case("Pending", "AllRequirementsMet", true)]
#[case("InstallReady", "AllRequirementsMet", true)]
#[case("Installing", "InstallWaiting", true)]
#[case("Succeeded", "InstallSucceeded", true)]
#[case("Failed", "AllRequirementsMet", false)]
fn one_that_is_ready_can_take_over(
    #[case] phase: &str,
    #[case] reason: &str,
    #[case] is_ready: bool,
) {
    let mut csv = csv("a", "", phase);
    csv.status.get_or_insert_default().reason = CsvReason::from(reason);
    assert_eq!(is_ready_to_take_over(&csv), is_ready);
}

#[rstest]
#[case::new("", &[], false)]
#[case::waits("Pending", &["Pending", "Failed"], false)]
#[case::made_room_without_ever_having_begun("Replacing", &["Pending", "Failed", "Replacing"], false)]
#[case::installs("InstallReady", &[], true)]
#[case::runs("Succeeded", &[], true)]
#[case::went_back("Pending", &["InstallReady", "Failed"], true)]
fn what_began_to_install_is_known_by_its_phase_and_its_history(
    #[case] phase: &str,
    #[case] history: &[&str],
    #[case] has_begun: bool,
) {
    let mut csv = csv("a", "", phase);
    csv.status.get_or_insert_default().conditions = serde_json::from_value(json!(
        history
            .iter()
            .map(|it| json!({"phase": it}))
            .collect::<Vec<_>>()
    ))
    .unwrap();
    assert_eq!(super::has_begun(&csv), has_begun);
}

#[test]
fn descendants_are_all_that_come_after_also_beside_each_other() {
    let csvs = csvs(&[("a", ""), ("b", "a"), ("c", "a"), ("d", "c"), ("x", "")]);
    let lineage = Lineage::new(&csvs);
    assert_eq!(names(&lineage.descendants(&csvs[0])), ["b", "c", "d"]);
    assert_eq!(names(&lineage.descendants(&csvs[2])), ["d"]);
}
