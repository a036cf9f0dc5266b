//! What OLM does not do.

use std::time::Duration;

use rstest::rstest;
use serde_json::json;

use super::world::{Csv as _, World, csv, drifted, nothing, running, time, waiting};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::phase::{
    Action, Contested, Decision, Failure, InstallOutcome, SinceGivenUp, remark, rest, with_trouble,
    without_trouble,
};

/// A version that owns another version of the CRD.
fn owning_v2(mut csv: ClusterServiceVersion) -> ClusterServiceVersion {
    csv.spec.custom_resource_definitions.owned[0].version = "v2".to_owned();
    csv
}

#[test]
fn a_version_whose_crd_version_is_no_longer_served_is_replaced() {
    let mut world = World::new([csv("csv1", &CsvPhase::Succeeded)])
        .provided("c1.v1.g1,c1.v2.g1")
        .with_installed("csv1", running());
    world.crds.get_mut("c1.g1").unwrap().served = ["v2".to_owned()].into();
    for _ in 0..3 {
        world.sync();
    }
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::RequirementsNotMet,
        "one or more",
    );
    world
        .csvs
        .push(owning_v2(csv("csv2", &CsvPhase::Unset).replaces("csv1")));
    for _ in 0..10 {
        world.sync();
    }
    assert!(!world.exists("csv1"));
    world.expect_phase("csv2", &CsvPhase::Succeeded);
}

#[rstest]
#[case(CsvReason::OwnerConflict)]
#[case(CsvReason::InstallCheckFailed)]
#[case(CsvReason::InstallComponentFailed)]
#[case(CsvReason::InstallComponentFailedNoRetry)]
#[case(CsvReason::UnsupportedOperatorGroup)]
fn whatever_a_csv_failed_for_one_that_is_ready_replaces_it(#[case] reason: CsvReason) {
    let failed = csv("csv1", &CsvPhase::Failed).because(&reason);
    let next = csv("csv2", &CsvPhase::Pending).replaces("csv1");
    let mut world = World::new([failed, next]).with_installed("csv1", waiting());
    if reason == CsvReason::UnsupportedOperatorGroup {
        world.csvs[0].spec.install_modes.clear();
    }
    for _ in 0..10 {
        world.sync();
    }
    assert!(!world.exists("csv1"));
    world.expect_phase("csv2", &CsvPhase::Succeeded);
}

#[test]
fn a_csv_that_fails_is_not_replaced_by_one_that_lacks_something() {
    let next = csv("csv2", &CsvPhase::Pending).replaces("csv1");
    let failed = csv("csv1", &CsvPhase::Failed).because(&CsvReason::InstallCheckFailed);
    let mut world = World::new([failed, next]).with_installed("csv1", waiting());
    world.csvs[1].spec.native_apis =
        serde_json::from_value(json!([{"group": "g", "version": "v1", "kind": "K"}])).unwrap();
    for _ in 0..10 {
        world.sync();
    }
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::InstallCheckFailed,
        "",
    );
    let words = "one or more requirements couldn't be found: K v1.g: Native API does not exist";
    world.expect(
        "csv2",
        &CsvPhase::Pending,
        &CsvReason::RequirementsNotMet,
        words,
    );
}

#[test]
fn a_csv_that_waits_for_its_predecessor_says_so() {
    let next = csv("csv2", &CsvPhase::Pending).replaces("csv1");
    let mut world = World::new([csv("csv1", &CsvPhase::Installing), next]);
    world.sync_one("csv2");
    let words = "all requirements found, waiting for csv csv1 to be replaced, which is in phase \
                 Installing";
    world.expect(
        "csv2",
        &CsvPhase::Pending,
        &CsvReason::AllRequirementsMet,
        words,
    );
}

#[rstest]
#[case::refused(json!({"metadata": {"name": "csv1", "generation": 1}, "status": {"conditions": [
    {"type": "Upgradeable", "status": "False", "observedGeneration": 1, "message": "busy"}]}}), true)]
#[case::overridden(json!({"metadata": {"name": "csv1", "generation": 1}, "spec": {"overrides": [
    {"type": "Upgradeable", "status": "True"}]}, "status": {"conditions": [
    {"type": "Upgradeable", "status": "False", "observedGeneration": 1, "message": "busy"}]}}), false)]
fn an_operator_holds_its_upgrade(#[case] condition: serde_json::Value, #[case] held: bool) {
    let next = csv("csv2", &CsvPhase::Pending).replaces("csv1");
    let mut world = World::new([csv("csv1", &CsvPhase::Replacing), next]);
    world
        .conditions
        .push(serde_json::from_value(condition).unwrap());
    world.sync_one("csv2");
    if held {
        let words = "operator is not upgradeable: the operator is not upgradeable: busy";
        let reason = CsvReason::OperatorConditionNotUpgradeable;
        world.expect("csv2", &CsvPhase::Pending, &reason, words);
    } else {
        world.expect_phase("csv2", &CsvPhase::InstallReady);
    }
}

#[test]
fn an_operator_holds_its_upgrade_also_over_a_version_that_never_began_to_install() {
    let busy = json!({"metadata": {"name": "csv1", "generation": 1}, "status": {"conditions": [
        {"type": "Upgradeable", "status": "False", "observedGeneration": 1, "message": "busy"}]}});
    let world = |between: &CsvPhase| {
        let mut world = World::new([
            csv("csv1", &CsvPhase::Replacing),
            csv("csv2", between).replaces("csv1"),
            csv("csv3", &CsvPhase::Pending).replaces("csv2"),
        ]);
        let busy = serde_json::from_value(busy.clone()).unwrap();
        world.conditions.push(busy);
        world.sync_one("csv3");
        world.status("csv3").reason
    };
    let held = CsvReason::OperatorConditionNotUpgradeable;
    assert_eq!(world(&CsvPhase::Failed), held);
    // One that began to install was let through: what it took over is not asked again.
    assert_eq!(world(&CsvPhase::Installing), CsvReason::AllRequirementsMet);
}

#[test]
fn words_of_an_operator_that_set_troubles_apart_are_told_once_and_stay() {
    let busy = json!({"metadata": {"name": "csv1", "generation": 1}, "status": {"conditions": [
        {"type": "Upgradeable", "status": "False", "observedGeneration": 1,
         "message": "digging; beside that, sleeping"}]}});
    let next = csv("csv2", &CsvPhase::Pending).replaces("csv1");
    let mut world = World::new([csv("csv1", &CsvPhase::Replacing), next]);
    world.conditions.push(serde_json::from_value(busy).unwrap());
    world.sync_one("csv2");
    let status = world.status("csv2");
    assert!(status.message.contains("digging; sleeping"), "{status:?}");
    let (message, trouble) = without_trouble(&status.message);
    assert_eq!((message, trouble), (status.message.as_str(), None));
    assert!(!world.sync_one("csv2"), "it is told again");
}

#[test]
fn what_goes_wrong_with_a_version_that_waits_to_be_replaced_is_remarked() {
    let next = csv("csv2", &CsvPhase::Pending).replaces("csv1");
    let old = csv("csv1", &CsvPhase::Replacing);
    let mut world = World::new([old, next]).with_installed("csv1", nothing());
    world.csvs[0].status.as_mut().unwrap().conditions.push(
        serde_json::from_value(json!({"phase": "Succeeded", "reason": "InstallSucceeded"}))
            .unwrap(),
    );
    assert_eq!(remark(&world.status("csv1")), None);
    world.outcome = InstallOutcome::Failed {
        message: "no room".to_owned(),
        failure: Failure::Passing,
    };
    world.sync_one("csv1");
    assert_eq!(remark(&world.status("csv1")), Some("no room"));
    let mut status = world.status("csv1");
    status.message = with_trouble("being replaced", Some("no condition"));
    assert_eq!(remark(&status), Some("no condition"));
}

#[test]
fn a_csv_whose_replacement_was_taken_away_takes_its_place_again() {
    let mut world =
        World::new([csv("csv1", &CsvPhase::Replacing)]).with_installed("csv1", nothing());
    world.sync();
    let words = "marked as replacement, but no replacement CSV found in cluster";
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::RequirementsUnknown,
        words,
    );
    for _ in 0..4 {
        world.sync();
    }
    world.expect_phase("csv1", &CsvPhase::Succeeded);
}

#[test]
fn a_csv_that_was_about_to_go_stays_if_its_replacement_was_taken_away() {
    let mut world =
        World::new([csv("csv1", &CsvPhase::Deleting)]).with_installed("csv1", running());
    for _ in 0..6 {
        world.sync();
    }
    assert!(world.exists("csv1"), "nothing is left");
    world.expect_phase("csv1", &CsvPhase::Succeeded);
}

#[test]
fn an_install_that_keeps_failing_is_tried_again_without_going_round() {
    let mut world = World::new([csv("csv1", &CsvPhase::InstallReady)]);
    let message = "connection refused".to_owned();
    world.outcome = InstallOutcome::Failed {
        message,
        failure: Failure::Passing,
    };
    world.sync();
    let failed = world.status("csv1");
    world.now = time(60);
    world.sync();
    assert_eq!(world.status("csv1"), failed);
    assert_eq!(world.actions, [Action::Install, Action::Install]);
    world.outcome = InstallOutcome::Done {
        certificates_until: None,
        certificates_made: false,
    };
    world.sync().expect_phase("csv1", &CsvPhase::Installing);
}

/// One whose install was given up.
fn given_up() -> World {
    let failed = csv("csv1", &CsvPhase::Failed);
    World::new([failed.because(&CsvReason::InstallComponentFailedNoRetry)])
}

#[test]
fn an_install_that_was_given_up_is_tried_again_when_it_has_rested() {
    let mut world = given_up();
    let left = Duration::from_secs(40);
    world.since_given_up = SinceGivenUp::Same { rest: left };
    let decision = world.decide("csv1");
    assert_eq!(
        (decision.actions, decision.look_again),
        (vec![], Some(left))
    );

    let rested = SinceGivenUp::Same {
        rest: Duration::ZERO,
    };
    world.since_given_up = rested;
    world.outcome = InstallOutcome::Failed {
        message: "admission webhook denied the request".to_owned(),
        failure: Failure::Refused,
    };
    world.sync();
    let failed = world.status("csv1");
    world.now = time(60);
    world.sync();
    // Nothing is told twice.
    assert_eq!(world.status("csv1"), failed);
    assert_eq!(world.actions, [Action::Install, Action::Install]);

    world.outcome = InstallOutcome::Done {
        certificates_until: None,
        certificates_made: false,
    };
    world.sync().expect_phase("csv1", &CsvPhase::Installing);
}

#[test]
fn an_install_that_was_given_up_rests_longer_each_time_and_never_for_long() {
    let rests: Vec<u64> = (0..8).map(|tries| rest(tries).as_secs()).collect();
    assert_eq!(rests, [10, 20, 40, 80, 160, 320, 600, 600]);
    assert_eq!(rest(u32::MAX), Duration::from_mins(10));
}

#[rstest]
#[case(
    Failure::Forbidden,
    "the ServiceAccount of the OperatorGroup, or what that may do"
)]
#[case(Failure::Refused, "policy or webhook of the cluster")]
#[case(
    Failure::Senseless,
    "when the ClusterServiceVersion, spec.config of the Subscription"
)]
fn an_install_that_was_given_up_says_what_has_to_change(
    #[case] failure: Failure,
    #[case] words: &str,
) {
    let mut world = World::new([csv("csv1", &CsvPhase::InstallReady)]);
    world.outcome = InstallOutcome::Failed {
        message: "no".to_owned(),
        failure,
    };
    world.sync();
    let reason = CsvReason::InstallComponentFailedNoRetry;
    let told = "install strategy failed: no; ";
    world.expect("csv1", &CsvPhase::Failed, &reason, told);
    let message = world.status("csv1").message;
    assert!(message.contains(words), "{message}");
}

#[test]
fn a_csv_that_timed_out_stays_failed_until_its_components_are_ready() {
    let failed = csv("csv1", &CsvPhase::Failed).because(&CsvReason::InstallCheckFailed);
    let mut world = World::new([failed]).with_installed("csv1", waiting());
    assert!(!world.sync_one("csv1"));
    world.installed.insert("csv1".to_owned(), running());
    world.sync().expect_phase("csv1", &CsvPhase::Succeeded);
}

/// One that was made at a time.
fn made(seconds: i64, mut csv: ClusterServiceVersion) -> ClusterServiceVersion {
    csv.metadata.creation_timestamp = Some(time(seconds));
    csv
}

#[test]
fn of_versions_that_replace_each_other_the_one_that_came_last_stays() {
    let newer = made(1, csv("csv2", &CsvPhase::Succeeded).replaces("csv1"));
    let mut world = World::new([newer]).with_installed("csv2", running());
    let mut expected = ["csv1", "csv2"];
    // There, and back again.
    for round in 2..4 {
        let [name, before] = expected;
        let back = csv(name, &CsvPhase::Unset).replaces(before);
        world.csvs.push(made(round, back));
        for _ in 0..10 {
            world.sync();
        }
        assert!(!world.exists(before), "{before} stays beside {name}");
        world.expect_phase(name, &CsvPhase::Succeeded);
        expected.reverse();
    }
}

#[test]
fn a_version_that_says_it_replaces_itself_replaces_nobody() {
    let mut world = World::new([csv("csv1", &CsvPhase::Unset).replaces("csv1")]);
    for _ in 0..6 {
        world.sync();
    }
    world.expect_phase("csv1", &CsvPhase::Succeeded);
}

#[test]
fn an_operator_that_was_refused_is_in_the_way_of_neither_the_one_that_runs_nor_its_next_version() {
    let rightful = made(1, csv("rightful.v1", &CsvPhase::Succeeded));
    let intruder = made(2, csv("intruder", &CsvPhase::Unset));
    let mut world = World::new([rightful, intruder]).with_installed("rightful.v1", running());
    for _ in 0..4 {
        world.sync();
    }
    let refused = |world: &World| {
        let words = "conflicting CRD owner in namespace";
        let reason = CsvReason::OwnerConflict;
        world.expect("intruder", &CsvPhase::Failed, &reason, words);
    };
    refused(&world);

    // Its Pods are gone for a moment.
    world.installed.insert("rightful.v1".to_owned(), waiting());
    world.sync().expect_phase("rightful.v1", &CsvPhase::Failed);
    for _ in 0..6 {
        world.sync();
    }
    world.expect_phase("rightful.v1", &CsvPhase::Succeeded);
    refused(&world);

    let next = csv("rightful.v2", &CsvPhase::Unset).replaces("rightful.v1");
    world.csvs.push(made(3, next));
    for _ in 0..10 {
        world.sync();
    }
    assert!(!world.exists("rightful.v1"));
    world.expect_phase("rightful.v2", &CsvPhase::Succeeded);
    refused(&world);
}

#[test]
fn a_csv_that_is_being_deleted_is_left_to_that() {
    let mut leaving = csv("csv1", &CsvPhase::Pending);
    leaving.metadata.deletion_timestamp = Some(time(0));
    assert_eq!(World::new([leaving]).decide("csv1"), Decision::default());
}

#[rstest]
#[case(CsvPhase::Unknown)]
#[case(CsvPhase::Other("Hibernating".to_owned()))]
fn a_phase_that_means_nothing_is_a_new_beginning(#[case] phase: CsvPhase) {
    let mut world = World::new([csv("csv1", &phase)]);
    world.sync();
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::RequirementsUnknown,
        "",
    );
}

#[test]
fn what_somebody_changes_back_is_told_beside_the_phase_and_looked_at_later() {
    let mut world =
        World::new([csv("csv1", &CsvPhase::Succeeded)]).with_installed("csv1", running());
    world.contested = Some(Contested {
        message: "Service a is changed back by cainjector".to_owned(),
        rest: Duration::from_secs(20),
    });
    world.sync();
    let reason = CsvReason::InstallSucceeded;
    let words =
        "install strategy completed with no errors; but Service a is changed back by cainjector";
    world.expect("csv1", &CsvPhase::Succeeded, &reason, words);
    let decision = world.decide("csv1");
    assert_eq!(decision.look_again, Some(Duration::from_secs(20)));
    assert_eq!(decision.status, None);
}

/// One whose Deployment is called like that of others.
fn with_manager(name: &str, phase: &CsvPhase) -> ClusterServiceVersion {
    let mut csv = csv(name, phase);
    csv.spec.install.spec.deployments[0].name = "manager".to_owned();
    csv
}

#[test]
fn a_version_that_began_to_install_is_not_held_by_the_one_it_took_over_from() {
    let busy = json!({"metadata": {"name": "csv1", "generation": 1}, "status": {"conditions": [
        {"type": "Upgradeable", "status": "False", "observedGeneration": 1, "message": "busy"}]}});
    let newer = csv("csv2", &CsvPhase::Failed)
        .replaces("csv1")
        .because(&CsvReason::InstallCheckFailed)
        .once(&CsvPhase::InstallReady)
        .once(&CsvPhase::Installing);
    let older = csv("csv1", &CsvPhase::Replacing).once(&CsvPhase::Succeeded);
    // The Deployment of both was deleted, and the older one leaves it to the newer one.
    let mut world = World::new([older, newer])
        .with_installed("csv2", nothing())
        .with_installed("csv1", running());
    world.conditions.push(serde_json::from_value(busy).unwrap());
    for _ in 0..4 {
        world.sync();
    }
    assert!(
        world.actions.contains(&Action::Install),
        "nobody installs it"
    );
}

#[test]
fn of_two_operators_that_have_one_deployment_already_the_younger_leaves_it() {
    let [mut older, mut younger] =
        ["older", "younger"].map(|name| with_manager(name, &CsvPhase::Succeeded).without_crds());
    older.metadata.creation_timestamp = Some(time(-200));
    younger.metadata.creation_timestamp = Some(time(-100));
    // Whoever wrote it last, the other one finds it changed.
    let mut world = World::new([older, younger])
        .provided("")
        .with_installed("older", drifted())
        .with_installed("younger", drifted());
    for _ in 0..2 {
        world.sync_one("younger");
    }
    assert_eq!(world.status("younger").reason, CsvReason::OwnerConflict);
    assert!(!world.actions.contains(&Action::Install));
    for _ in 0..2 {
        world.sync_one("older");
    }
    assert!(world.actions.contains(&Action::Install), "nobody keeps it");
}

#[test]
fn a_version_that_comes_back_after_it_was_replaced_is_not_installed_again() {
    let newer = with_manager("csv2", &CsvPhase::Succeeded)
        .replaces("csv1")
        .once(&CsvPhase::InstallReady);
    let mut world = World::new([with_manager("csv1", &CsvPhase::Unset), newer])
        .with_installed("csv2", running())
        .with_installed("csv1", nothing());
    for _ in 0..2 {
        world.sync_one("csv1");
    }
    assert_eq!(world.status("csv1").phase, CsvPhase::Replacing);
    while world.exists("csv1") && !world.actions.contains(&Action::Delete) {
        world.sync_one("csv1");
    }
    assert!(
        !world.actions.contains(&Action::Install),
        "it is installed over the newer one"
    );
}
