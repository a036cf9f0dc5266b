//! OperatorGroups: how many there are, which namespaces they cover, which APIs they have.

use kube::ResourceExt as _;
use rstest::rstest;

use super::world::{Csv as _, NAMESPACE, World, csv, group, rival, running, time};
use crate::api::conditions::{Condition, ConditionStatus, CsvPhase, CsvReason, operator_group};
use crate::api::operator_group::OperatorGroup;
use crate::lifecycle::phase::Action;

const EARLIER: &str = "2026-01-01T00:00:01Z";
const LATER: &str = "2026-01-01T00:00:09Z";

// SingleCSVFailedToPending/InstallModes/Owned/PreviouslyUnsupported, PreviouslyNoOperatorGroups,
// PreviouslyTooManyOperatorGroups
#[rstest]
#[case::previously_unsupported(CsvReason::UnsupportedOperatorGroup)]
#[case::previously_no_group(CsvReason::NoOperatorGroup)]
#[case::previously_too_many(CsvReason::TooManyOperatorGroups)]
#[case::previously_no_namespace(CsvReason::NoTargetNamespaces)]
fn a_csv_is_checked_again_once_its_group_suits_it(#[case] reason: CsvReason) {
    let failed = csv("csv1", &CsvPhase::Failed).because(&reason);
    let mut world = World::new([failed]).with_installed("csv1", running());
    world.sync();
    let words = "InstallModes now support target namespaces";
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::RequirementsUnknown,
        words,
    );
}

// SingleCSVSucceededToFailed/InstallModes/Owned/Unsupported
#[test]
fn a_csv_that_does_not_support_the_namespaces_of_its_group_fails() {
    let mut narrow = csv("csv1", &CsvPhase::Succeeded).because(&CsvReason::InstallSucceeded);
    for mode in &mut narrow.spec.install_modes {
        mode.supported = false;
    }
    let mut world = World::new([narrow]).with_installed("csv1", running());
    world.sync();
    let words =
        "OwnNamespace InstallModeType not supported, cannot configure to watch own namespace";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::UnsupportedOperatorGroup,
        words,
    );
}

// SingleCSVSucceededToFailed/InstallModes/Owned/NoOperatorGroups
#[test]
fn a_csv_without_a_group_fails() {
    let mut world = World::new([csv("csv1", &CsvPhase::Succeeded)]);
    world.groups.clear();
    world.sync();
    let words = "csv in namespace with no operatorgroups";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::NoOperatorGroup,
        words,
    );
}

// SingleCSVSucceededToFailed/InstallModes/Owned/TooManyOperatorGroups
#[test]
fn a_csv_with_two_groups_fails() {
    let mut world = World::new([csv("csv1", &CsvPhase::Succeeded)]);
    world.groups.push(group("default-2", &[NAMESPACE], ""));
    world.sync();
    let words = "csv created in namespace with multiple operatorgroups, can't pick one \
                 automatically: delete all but one of default, default-2";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::TooManyOperatorGroups,
        words,
    );
}

// SingleCSVSucceededToSucceeded/OperatorGroupChanged
#[test]
fn a_csv_takes_over_what_changed_in_its_group_before_anything_else() {
    let happy = csv("csv1", &CsvPhase::Succeeded).because(&CsvReason::InstallSucceeded);
    let mut world = World::new([happy]).with_installed("csv1", running());
    world.groups = vec![group("default", &[NAMESPACE, "new-namespace"], "c1.v1.g1")];
    world.sync();
    world.expect(
        "csv1",
        &CsvPhase::Succeeded,
        &CsvReason::InstallSucceeded,
        "",
    );
    let annotation = &world.csv("csv1").annotations()["olm.targetNamespaces"];
    assert_eq!(annotation, "new-namespace,ns");
}

#[test]
fn a_csv_whose_group_covers_nothing_fails() {
    let mut world = World::new([csv("csv1", &CsvPhase::Pending)]);
    let mut empty = group("other", &[], "");
    empty.status.as_mut().unwrap().last_updated = Some(world.now.clone());
    world.groups = vec![empty];
    world.sync();
    let words = "no targetNamespaces are matched operatorgroups namespace selection";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::NoTargetNamespaces,
        words,
    );
    assert_eq!(
        world.csv("csv1").annotations()["olm.operatorGroup"],
        "other"
    );
}

#[test]
fn nothing_is_said_before_the_group_has_been_looked_at() {
    let mut world = World::new([csv("csv1", &CsvPhase::Unset)]);
    world.groups = vec![group("default", &[], "")];
    assert_eq!(
        world.decide("csv1"),
        crate::lifecycle::phase::Decision::default()
    );
}

#[track_caller]
fn expect_conflict(world: &mut World) {
    world.sync();
    let words = "intersecting operatorgroups provide the same apis";
    let reason = CsvReason::InterOperatorGroupOwnerConflict;
    world.expect("csv1", &CsvPhase::Failed, &reason, words);
    assert_eq!(world.actions, [Action::DeleteDeployments]);
}

// SingleCSVNoneToFailed/InterOperatorGroupOwnerConflict
#[test]
fn an_api_of_a_group_that_shares_a_namespace_fails_it() {
    let mut world = World::new([csv("csv1", &CsvPhase::Unset)]).provided("");
    world.others.push(rival("c1.v1.g1", LATER));
    expect_conflict(&mut world);
}

// SingleCSVFailedToFailed/InterOperatorGroupOwnerConflict/APIConflict
#[test]
fn a_conflict_of_groups_stays_one_and_is_not_told_twice() {
    let reason = CsvReason::InterOperatorGroupOwnerConflict;
    let failed = csv("csv1", &CsvPhase::Failed).because(&reason);
    let mut world = World::new([failed]).provided("");
    world.others.push(rival("c1.v1.g1", LATER));
    expect_conflict(&mut world);
    assert!(!world.sync_one("csv1"));
}

// SingleCSVNoneToNone/AddAPIs
#[test]
fn a_csv_waits_until_its_group_has_its_apis() {
    let mut world = World::new([csv("csv1", &CsvPhase::Unset)]).provided("");
    world.sync().expect_phase("csv1", &CsvPhase::Unset);
    assert_eq!(world.actions, [Action::UpdateGroup]);
    world.sync().expect_phase("csv1", &CsvPhase::Pending);
}

// SingleCSVNoneToNone/RemoveAPIs
#[test]
fn a_csv_waits_until_its_group_has_given_up_what_an_older_one_has() {
    let mut world = World::new([csv("csv1", &CsvPhase::Unset)]);
    world.others.push(rival("c1.v1.g1", EARLIER));
    world.sync().expect_phase("csv1", &CsvPhase::Unset);
    assert_eq!(world.actions, [Action::UpdateGroup]);
    world.sync();
    let reason = CsvReason::InterOperatorGroupOwnerConflict;
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &reason,
        "intersecting operatorgroups",
    );
}

// SingleCSVNoneToFailed/StaticOperatorGroup/AddAPIs and /RemoveAPIs,
// SingleCSVFailedToFailed/StaticOperatorGroup/CannotModifyStaticOperatorGroupProvidedAPIs/AddAPIs
// and /RemoveAPIs
#[rstest]
#[case::new_and_lacking(CsvPhase::Unset, "", None)]
#[case::new_and_too_many(CsvPhase::Unset, "c1.v1.g1", Some(EARLIER))]
#[case::failed_and_lacking(CsvPhase::Failed, "", None)]
#[case::failed_and_too_many(CsvPhase::Failed, "c1.v1.g1", Some(EARLIER))]
fn a_csv_whose_apis_a_static_group_would_have_to_change_for_fails(
    #[case] phase: CsvPhase,
    #[case] apis: &str,
    #[case] rival_since: Option<&str>,
) {
    let mut before = csv("csv1", &phase);
    if phase == CsvPhase::Failed {
        before = before.because(&CsvReason::CannotModifyStaticOperatorGroupProvidedAPIs);
    }
    let mut world = World::new([before]).provided(apis);
    world.groups[0].spec.static_provided_apis = true;
    world
        .others
        .extend(rival_since.map(|since| rival("c1.v1.g1", since)));
    world.sync();
    let reason = CsvReason::CannotModifyStaticOperatorGroupProvidedAPIs;
    let words = "static provided api operatorgroup cannot be modified by these apis";
    world.expect("csv1", &CsvPhase::Failed, &reason, words);
    assert_eq!(world.actions, [Action::DeleteDeployments]);
}

// SingleCSVNoneToPending/StaticOperatorGroup/NoAPIConflict
#[test]
fn a_csv_whose_apis_a_static_group_has_goes_on() {
    let mut world = World::new([csv("csv1", &CsvPhase::Unset)]);
    world.groups[0].spec.static_provided_apis = true;
    world.sync().expect_phase("csv1", &CsvPhase::Pending);
}

// SingleCSVFailedToPending/InterOperatorGroupOwnerConflict/NoAPIConflict,
// SingleCSVFailedToPending/StaticOperatorGroup/CannotModifyStaticOperatorGroupProvidedAPIs/NoAPIConflict
#[rstest]
#[case::no_conflict_any_more(
    CsvReason::InterOperatorGroupOwnerConflict,
    "OperatorGroup no longer intersecting with conflicting owner"
)]
#[case::static_group_has_them_now(
    CsvReason::CannotModifyStaticOperatorGroupProvidedAPIs,
    "static OperatorGroup and intersecting groups now support providedAPIs"
)]
fn a_csv_is_checked_again_once_its_apis_are_its_own(
    #[case] reason: CsvReason,
    #[case] words: &str,
) {
    let failed = csv("csv1", &CsvPhase::Failed).because(&reason);
    let mut world = World::new([failed]);
    world.groups[0].spec.static_provided_apis =
        reason == CsvReason::CannotModifyStaticOperatorGroupProvidedAPIs;
    world.sync();
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::RequirementsUnknown,
        words,
    );
}

/// A group whose status tells of trouble with its namespaces.
fn troubled(targets: &[&str], reason: &str, message: &str) -> OperatorGroup {
    let mut group = group("default", targets, "c1.v1.g1");
    let condition = Condition {
        type_: operator_group::TARGET_NAMESPACES.to_owned(),
        status: ConditionStatus::True,
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..Condition::default()
    };
    let status = group.status.get_or_insert_default();
    status.conditions.push(condition);
    status.last_updated = Some(time(0));
    group
}

#[test]
fn a_selector_that_makes_no_sense_is_told_by_the_csvs_that_it_leaves_without_namespaces() {
    let mut world = World::new([csv("csv1", &CsvPhase::Pending)]);
    let problem = "spec.selector cannot be understood: `In` needs values";
    world.groups = vec![troubled(&[], "TargetNamespacesInvalid", problem)];
    world.sync();
    let words = "no targetNamespaces are matched operatorgroups namespace selection: \
                 spec.selector cannot be understood";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::NoTargetNamespaces,
        words,
    );
}

#[test]
fn a_namespace_that_does_not_exist_is_told_by_an_operator_that_runs_all_the_same() {
    let installing = csv("csv1", &CsvPhase::Installing).because(&CsvReason::InstallSucceeded);
    let mut world = World::new([installing]).with_installed("csv1", running());
    let problem = "namespace b does not exist: create it";
    let trouble = troubled(&[NAMESPACE], "TargetNamespacesNotFound", problem);
    let settled = std::mem::replace(&mut world.groups, vec![trouble]);
    let words = "install strategy completed with no errors; but namespace b does not exist";
    let reason = CsvReason::InstallSucceeded;
    world.sync();
    world.expect("csv1", &CsvPhase::Succeeded, &reason, words);
    world.groups = settled;
    world.sync();
    assert_eq!(
        world.status("csv1").message,
        "install strategy completed with no errors"
    );
}
