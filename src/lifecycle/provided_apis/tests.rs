use super::*;
use rstest::rstest;
use serde_json::json;

/// `A.v1.g` for each letter.
fn apis(kinds: &str) -> Apis {
    let api = |kind: char| GroupVersionKind::new("g", "v1", kind.to_string());
    kinds.chars().map(api).collect()
}

fn text(kinds: &str) -> String {
    format_provided_apis(&apis(kinds))
}

fn group(namespace: &str, created: u8, targets: &[&str], kinds: &str) -> OperatorGroup {
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {
            "name": "group",
            "namespace": namespace,
            "creationTimestamp": format!("2026-01-01T00:00:{created:02}Z"),
            "annotations": {"olm.providedAPIs": text(kinds)},
        },
        "spec": {},
        "status": {"namespaces": targets},
    }))
    .unwrap()
}

fn surface(namespace: &str, created: u8, targets: &[&str], kinds: &str) -> Surface {
    Surface::of(&group(namespace, created, targets, kinds))
}

fn csv(name: &str, kinds: &str) -> ClusterServiceVersion {
    let crd = |kind: char| json!({"name": format!("{kind}s.g"), "version": "v1", "kind": kind});
    let owned: Vec<_> = kinds.chars().map(crd).collect();
    serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": name, "namespace": "mine"},
        "spec": {"customresourcedefinitions": {"owned": owned}},
    }))
    .unwrap()
}

#[test]
fn an_operator_provides_its_crds_and_its_aggregated_apis() {
    let mut csv = csv("csv", "A");
    csv.spec.api_service_definitions.owned = serde_json::from_value(json!([
        {"name": "bs", "group": "h", "version": "v2", "kind": "B"}
    ]))
    .unwrap();
    let provided = provided_by(&csv).unwrap();
    assert_eq!(format_provided_apis(&provided), "A.v1.g,B.v2.h");
}

#[test]
fn a_version_that_makes_no_sense_leaves_nothing_to_be_added_to_a_group_for_ever() {
    let mut csv = csv("csv", "A");
    csv.spec.custom_resource_definitions.owned[0].version = "apiextensions.k8s.io/v1".to_owned();
    let mut group = group("mine", 1, &["mine"], "");
    let value = annotation(&group, &[&csv], &[]).unwrap();
    group
        .annotations_mut()
        .insert(labels::PROVIDED_APIS.to_owned(), value);
    let apis = provided_by(&csv).unwrap();
    assert_eq!(judge(&apis, &Surface::of(&group), &[]), Verdict::Accepted);
    assert_eq!(annotation(&group, &[&csv], &[]), None);
}

#[test]
fn an_operator_with_a_crd_of_no_group_provides_nothing_that_could_be_told() {
    let mut csv = csv("csv", "A");
    csv.spec.custom_resource_definitions.owned[0].name = "as".to_owned();
    assert_eq!(provided_by(&csv), Err(CrdNameError("as".to_owned())));
}

#[rstest]
#[case::own_namespace_counts(&["other"], "mine", true)]
#[case::targets_count(&["other"], "other", true)]
#[case::nothing_else_counts(&["other"], "third", false)]
#[case::all_count(&[""], "third", true)]
#[case::a_group_that_covers_nothing_has_no_own_namespace_either(&[], "mine", false)]
fn a_surface_covers_targets_and_own_namespace(
    #[case] targets: &[&str],
    #[case] namespace: &str,
    #[case] covered: bool,
) {
    let surface = surface("mine", 1, targets, "");
    assert_eq!(surface.targets.contains(namespace), covered);
}

/// Our group is `mine`, covers `shared`, and was made at second 5.
#[rstest]
#[case::has_it_alone("A", "A", vec![], Verdict::Accepted)]
#[case::has_nothing_to_provide("", "", vec![surface("other", 1, &[""], "A")], Verdict::Accepted)]
#[case::can_have_it("A", "", vec![surface("other", 1, &[""], "B")], Verdict::Add)]
#[case::can_have_what_is_far_away("A", "", vec![surface("other", 1, &["far"], "A")], Verdict::Add)]
#[case::gives_way_to_the_older("A", "A", vec![surface("other", 1, &["shared"], "A")], Verdict::Remove)]
#[case::keeps_it_before_the_younger("A", "A", vec![surface("other", 9, &["shared"], "A")], Verdict::Accepted)]
#[case::of_the_same_age_the_first_by_name_keeps_it("A", "A", vec![surface("other", 5, &[""], "A")], Verdict::Accepted)]
#[case::of_the_same_age_the_second_by_name_gives_way("A", "A", vec![surface("also", 5, &[""], "A")], Verdict::Remove)]
#[case::its_own_entry_does_not_count("A", "", vec![surface("mine", 1, &["shared"], "A")], Verdict::Add)]
fn an_api_belongs_to_one_of_the_groups_that_share_a_namespace(
    #[case] provided: &str,
    #[case] has: &str,
    #[case] others: Vec<Surface>,
    #[case] verdict: Verdict,
) {
    let group = surface("mine", 5, &["shared"], has);
    assert_eq!(judge(&apis(provided), &group, &others), verdict);
}

#[rstest]
#[case::older(1)]
#[case::younger(9)]
fn who_has_an_api_first_keeps_it_from_those_who_do_not(#[case] age: u8) {
    let group = surface("mine", 5, &["shared"], "B");
    let verdict = judge(
        &apis("AB"),
        &group,
        &[surface("other", age, &["shared"], "AC")],
    );
    let clash = Clash {
        api: GroupVersionKind::new("g", "v1", "A"),
        group: ("other".to_owned(), "group".to_owned()),
    };
    assert_eq!(verdict, Verdict::Conflict(vec![clash]));
    let (reason, message) = verdict.failure().unwrap();
    assert_eq!(reason, CsvReason::InterOperatorGroupOwnerConflict);
    let words = "intersecting operatorgroups provide the same apis: A.v1.g belongs to \
                 OperatorGroup other/group;";
    assert!(message.starts_with(words), "{message}");
}

#[rstest]
#[case::lacks_it("", vec![])]
#[case::would_have_to_give_it_up("A", vec![surface("other", 1, &[""], "A")])]
fn a_static_group_fails_its_operator_instead_of_changing(
    #[case] has: &str,
    #[case] others: Vec<Surface>,
) {
    let mut group = surface("mine", 5, &["shared"], has);
    group.is_static = true;
    let verdict = judge(&apis("A"), &group, &others);
    let (reason, message) = verdict.failure().unwrap();
    assert_eq!(
        reason,
        CsvReason::CannotModifyStaticOperatorGroupProvidedAPIs
    );
    let words = "static provided api operatorgroup cannot be modified by these apis: A.v1.g;";
    assert!(message.starts_with(words), "{message}");
}

#[rstest]
#[case::added("", &["A", "B"], vec![], Some("AB"))]
#[case::nothing_new("AB", &["B", "A"], vec![], None)]
#[case::pruned("AB", &["A"], vec![], Some("A"))]
#[case::emptied("A", &[], vec![], Some(""))]
#[case::an_upgrade_swaps("A", &["B"], vec![], Some("B"))]
#[case::what_another_has_is_left_to_it("", &["A", "B"], vec![surface("other", 9, &[""], "A")], Some("B"))]
#[case::what_an_older_one_has_too_is_given_up("A", &["A"], vec![surface("other", 1, &[""], "A")], Some(""))]
fn the_annotation_follows_the_members(
    #[case] has: &str,
    #[case] members: &[&str],
    #[case] others: Vec<Surface>,
    #[case] expected: Option<&str>,
) {
    let group = group("mine", 5, &["shared"], has);
    let csvs: Vec<_> = members.iter().map(|kinds| csv(kinds, kinds)).collect();
    let members: Vec<_> = csvs.iter().collect();
    assert_eq!(annotation(&group, &members, &others), expected.map(text));
}

#[test]
fn the_annotation_settles_after_one_change() {
    let mut group = group("mine", 5, &["shared"], "Z");
    let (one, two) = (csv("one", "AB"), csv("two", "BC"));
    let others = [surface("other", 1, &["shared"], "C")];
    let first = annotation(&group, &[&one, &two], &others).unwrap();
    assert_eq!(first, text("AB"));
    let annotations = group.annotations_mut();
    annotations.insert(labels::PROVIDED_APIS.to_owned(), first);
    assert_eq!(annotation(&group, &[&two, &one], &others), None);
}

#[test]
fn the_annotation_of_a_static_group_is_left_alone() {
    let mut group = group("mine", 5, &["shared"], "AB");
    group.spec.static_provided_apis = true;
    assert_eq!(annotation(&group, &[&csv("csv", "C")], &[]), None);
}

#[test]
fn a_group_without_members_gets_no_empty_annotation() {
    let mut group = group("mine", 5, &[""], "");
    group.metadata.annotations = None;
    assert_eq!(annotation(&group, &[], &[]), None);
}

#[rstest]
#[case::one_bad_among_good("A.v1.g,nonsense,B.v1.g", "AB")]
#[case::all_bad("nonsense,A.v1", "")]
fn entries_that_cannot_be_read_count_for_nobody_and_cost_nobody_anything(
    #[case] written: &str,
    #[case] read: &str,
) {
    let mut other = group("other", 0, &[""], "");
    let annotations = other.metadata.annotations.get_or_insert_default();
    annotations.insert(labels::PROVIDED_APIS.to_owned(), written.to_owned());
    let other = Surface::of(&other);
    assert_eq!(other.apis, apis(read));
    // Of another group: whoever provides what can be read is in the way, and nobody else.
    let own = group("mine", 1, &[""], "");
    let verdict = |kinds: &str| {
        judge(
            &apis(kinds),
            &Surface::of(&own),
            std::slice::from_ref(&other),
        )
    };
    assert_eq!(verdict("C"), Verdict::Add);
    assert_eq!(verdict("A") == Verdict::Add, read.is_empty());
    // Of one's own: they go, and what the operators provide stays or comes.
    let mut own = own;
    let annotations = own.metadata.annotations.get_or_insert_default();
    annotations.insert(labels::PROVIDED_APIS.to_owned(), written.to_owned());
    let csv = csv("csv", "AB");
    assert_eq!(annotation(&own, &[&csv], &[]), Some(text("AB")));
}
