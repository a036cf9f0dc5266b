//! Which APIs a group may have besides others: the rows of OLM's tables of groups.
//!
//! Kinds are `G`oose, `M`oose, `E`gret, goa`T` and `C`ow. Where two groups have an API, ours is the
//! younger: OLM takes it from both, we from that one.

use rstest::rstest;
use serde_json::json;

use crate::api::conditions::CsvReason;
use crate::api::gvk::{GroupVersionKind, format_provided_apis};
use crate::lifecycle::provided_apis::{Apis, Surface, Verdict, judge};

/// Namespace, namespaces that are covered (`*` for all), kinds that it has.
type Group<'a> = (&'a str, &'a str, &'a str);

const ALL: &str = "*";
const ONE: &str = "ns-1";
const THREE: &str = "ns-1,ns-2,ns-3";

fn apis(kinds: &str) -> Apis {
    let api = |kind: char| GroupVersionKind::new("animals.com", "v1alpha1", kind.to_string());
    kinds.chars().map(api).collect()
}

fn surface((namespace, targets, kinds): Group<'_>, created: &str) -> Surface {
    let targets: Vec<&str> = match targets {
        "" => Vec::new(),
        "*" => vec![""],
        names => names.split(',').collect(),
    };
    let group = serde_json::from_value(json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {
            "name": "g1",
            "namespace": namespace,
            "creationTimestamp": created,
            "annotations": {"olm.providedAPIs": format_provided_apis(&apis(kinds))},
        },
        "spec": {},
        "status": {"namespaces": targets},
    }));
    Surface::of(&group.unwrap())
}

fn verdict(add: &str, group: Group<'_>, others: &[Group<'_>]) -> Verdict {
    let older = |other: &Group<'_>| surface(*other, "2026-01-01T00:00:01Z");
    let others: Vec<Surface> = others.iter().map(older).collect();
    judge(&apis(add), &surface(group, "2026-01-01T00:00:05Z"), &others)
}

#[rstest]
#[case::empty("", ("ns", "ns", ""), &[])]
#[case::no_namespace_shared("G", ("ns", ONE, "G"), &[("ns-2", "ns-3", "G")])]
#[case::namespace_shared("G", ("ns", ONE, "G"), &[("ns-2", ONE, "M")])]
#[case::several_namespaces_shared("G", ("ns", ONE, "G"), &[("ns-2", ONE, "M"), ("ns-2", "ns", "E")])]
#[case::some_namespaces_shared("GM", ("ns", THREE, "GM"), &[
    ("ns-7", "ns-4", "M"), ("ns-8", "ns-5", "G"), ("ns-9", ALL, "T"),
])]
#[case::ours_covers_all("G", ("ns", ALL, "G"), &[("ns-2", ONE, "M")])]
#[case::theirs_covers_all("G", ("ns", ONE, "G"), &[("ns-2", ALL, "M")])]
#[case::both_cover_all("G", ("ns", ALL, "G"), &[("ns-2", ALL, "M")])]
#[case::theirs_has_nothing("G", ("ns", ONE, "G"), &[("ns-2", ONE, "")])]
fn a_group_keeps_an_api_that_nobody_else_has_there(
    #[case] add: &str,
    #[case] group: Group<'_>,
    #[case] others: &[Group<'_>],
) {
    assert_eq!(verdict(add, group, others), Verdict::Accepted);
}

#[rstest]
#[case::namespace_shared(ONE, &[("ns-2", ONE, "G")])]
#[case::ours_covers_all(ALL, &[("ns-2", ONE, "G")])]
#[case::theirs_covers_all(ONE, &[("ns-2", ALL, "G")])]
#[case::both_cover_all(ALL, &[("ns-2", ALL, "G")])]
#[case::one_of_two_has_it(ONE, &[("ns-2", ONE, "M"), ("ns-3", ONE, "GE")])]
#[case::they_cover_where_ours_is(ONE, &[("ns-3", "ns", "GE")])]
fn an_api_that_another_has_there_is_a_conflict(
    #[case] targets: &str,
    #[case] others: &[Group<'_>],
) {
    let verdict = verdict("G", ("ns", targets, ""), others);
    let (reason, _) = verdict.failure().unwrap();
    assert_eq!(reason, CsvReason::InterOperatorGroupOwnerConflict);
}

#[rstest]
#[case::no_namespace_shared("G", ("ns", ONE, ""), &[("ns-2", "ns-2", "G")])]
#[case::namespace_shared("G", ("ns", ONE, ""), &[("ns-2", ONE, "M")])]
#[case::they_cover_where_ours_is("G", ("ns", ONE, ""), &[("ns-2", "ns", "M")])]
#[case::ours_covers_all("G", ("ns", ALL, ""), &[("ns-2", ONE, "M"), ("ns-3", ONE, "TE")])]
#[case::theirs_cover_all("G", ("ns", ONE, ""), &[("ns-2", ALL, "M"), ("ns-3", ALL, "TE")])]
#[case::ours_has_some_of_them("GC", ("ns", ONE, "C"), &[("ns-2", ALL, "M"), ("ns-3", ALL, "TE")])]
fn a_group_gets_an_api_that_nobody_has_there(
    #[case] add: &str,
    #[case] group: Group<'_>,
    #[case] others: &[Group<'_>],
) {
    assert_eq!(verdict(add, group, others), Verdict::Add);
}

#[rstest]
#[case::namespace_shared("G", ("ns", ONE, "G"), &[("ns-2", ONE, "G")])]
#[case::ours_covers_all("G", ("ns", ALL, "G"), &[("ns-2", ONE, "G")])]
#[case::both_cover_all("G", ("ns", ALL, "G"), &[("ns-2", ALL, "G")])]
#[case::two_have_it("G", ("ns", ONE, "G"), &[("ns-2", ONE, "G"), ("ns-2", "ns", "G")])]
#[case::some_namespaces_shared("GM", ("ns", THREE, "GM"), &[
    ("ns-7", "ns-4", "M"), ("ns-8", "ns-5,ns-3", "G"), ("ns-9", ALL, "T"),
])]
fn a_group_gives_up_an_api_that_an_older_one_has_there(
    #[case] add: &str,
    #[case] group: Group<'_>,
    #[case] others: &[Group<'_>],
) {
    assert_eq!(verdict(add, group, others), Verdict::Remove);
}

/// Which of the others share a namespace with a group in `ns`.
#[rstest]
#[case::nothing_is_covered_and_nobody_is_there("", &[], &[])]
#[case::a_namespace_that_both_cover(ONE, &[("ns-2", ONE)], &["ns-2"])]
#[case::the_namespace_of_one(ONE, &[("ns-2", "ns")], &["ns-2"])]
#[case::both_are_in_one_namespace(ONE, &[("ns", "ns-2")], &["ns"])]
#[case::two_others(ONE, &[("ns-2", ONE), ("ns-3", ONE)], &["ns-2", "ns-3"])]
#[case::nothing_in_common(THREE, &[("ns-4", "ns-6,ns-7"), ("ns-5", "ns-6,ns-8")], &[])]
#[case::all_meets_any(ALL, &[("ns-4", "ns-6"), ("ns-5", "ns-9")], &["ns-4", "ns-5"])]
#[case::any_meets_all(THREE, &[("ns-4", ALL), ("ns-5", "ns-9")], &["ns-4"])]
#[case::all_meets_all_and_any(ALL, &[("ns-4", ALL), ("ns-5", "ns-9")], &["ns-4", "ns-5"])]
#[case::all_meets_all(ALL, &[("ns-4", ALL)], &["ns-4"])]
fn groups_meet_where_they_cover_a_namespace_or_are_in_it(
    #[case] targets: &str,
    #[case] others: &[(&str, &str)],
    #[case] met: &[&str],
) {
    let ours = surface(("ns", targets, ""), "2026-01-01T00:00:05Z");
    let meet = |(namespace, targets): &&(&str, &str)| {
        let theirs = surface((namespace, targets, ""), "2026-01-01T00:00:05Z");
        theirs.targets.intersects(&ours.targets)
    };
    let found: Vec<&str> = others
        .iter()
        .filter(meet)
        .map(|(namespace, _)| *namespace)
        .collect();
    assert_eq!(found, met);
}
