//! Succeeded, Replacing, Deleting: one version after the other.

use std::time::Duration;

use kube::ResourceExt as _;
use rstest::rstest;

use super::world::{
    Csv as _, Installed, NAMESPACE, World, certified, csv, drifted, group, nothing, running, time,
    waiting,
};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::install::state::Certificates;
use crate::lifecycle::phase::{Action, Decision, Failure, InstallOutcome};

const RUNNING: CsvPhase = CsvPhase::Succeeded;

fn world<const N: usize>(
    csvs: [crate::api::cluster_service_version::ClusterServiceVersion; N],
) -> World {
    let mut world = World::new(csvs);
    for name in ["csv1", "csv2", "csv3"] {
        world = world.with_installed(name, running());
    }
    world
}

// CSVSucceededToReplacing
#[test]
fn a_csv_that_runs_makes_room_for_the_next_at_once() {
    let next = csv("csv2", &CsvPhase::Unset).replaces("csv1");
    let mut world = world([csv("csv1", &RUNNING), next]);
    world.sync();
    let words = "being replaced by csv: csv2";
    world.expect(
        "csv1",
        &CsvPhase::Replacing,
        &CsvReason::BeingReplaced,
        words,
    );
    world.expect_phase("csv2", &CsvPhase::Pending);
}

// CSVReplacingToDeleted
#[test]
fn a_csv_goes_once_the_next_runs() {
    let next = csv("csv2", &RUNNING).replaces("csv1");
    let mut world = world([csv("csv1", &CsvPhase::Replacing), next]);
    world.sync();
    let words = "has been replaced by a newer ClusterServiceVersion that has successfully \
                 installed.";
    world.expect("csv1", &CsvPhase::Deleting, &CsvReason::Replaced, words);
    world.expect_phase("csv2", &RUNNING);
}

// CSVDeletedToGone
#[test]
fn a_csv_that_was_replaced_is_deleted() {
    let next = csv("csv2", &RUNNING).replaces("csv1");
    let mut world = world([csv("csv1", &CsvPhase::Deleting), next]);
    world.sync().expect_phase("csv2", &RUNNING);
    assert!(!world.exists("csv1"));
}

// CSVMultipleReplacingToDeleted: the one in the middle stays, so that the chain is not broken. We
// let the oldest go; OLM waits for the one in the middle to be Succeeded, which it never is again.
#[test]
fn of_a_chain_only_the_oldest_goes() {
    let last = csv("csv3", &RUNNING).replaces("csv2");
    let middle = csv("csv2", &CsvPhase::Replacing).replaces("csv1");
    let mut world = world([last, csv("csv1", &CsvPhase::Replacing), middle]);
    world.sync().expect_phase("csv1", &CsvPhase::Deleting);
    world
        .expect_phase("csv2", &CsvPhase::Replacing)
        .expect_phase("csv3", &RUNNING);
}

// CSVMultipleDeletedToGone
#[test]
fn the_next_of_a_chain_goes_once_the_oldest_is_gone() {
    let last = csv("csv3", &RUNNING).replaces("csv2");
    let middle = csv("csv2", &CsvPhase::Replacing).replaces("csv1");
    let mut world = world([last, csv("csv1", &CsvPhase::Deleting), middle]);
    world
        .sync()
        .expect_phase("csv2", &CsvPhase::Deleting)
        .expect_phase("csv3", &RUNNING);
    assert!(!world.exists("csv1"));
}

// CSVMultipleDeletedToGone/AfterOneDeleted
#[test]
fn a_csv_whose_predecessor_is_gone_is_the_oldest() {
    let last = csv("csv3", &RUNNING).replaces("csv2");
    let mut world = world([csv("csv2", &CsvPhase::Replacing).replaces("csv1"), last]);
    world
        .sync()
        .expect_phase("csv2", &CsvPhase::Deleting)
        .expect_phase("csv3", &RUNNING);
}

// CSVMultipleDeletedToGone/AfterTwoDeleted
#[test]
fn at_the_end_of_a_chain_only_the_last_is_left() {
    let last = csv("csv3", &RUNNING).replaces("csv2");
    let mut world = world([csv("csv2", &CsvPhase::Deleting).replaces("csv1"), last]);
    world.sync().expect_phase("csv3", &RUNNING);
    assert!(!world.exists("csv2"));
}

// It was replaced at once, and what replaces it is held: it ran nevertheless, and the oldest goes.
#[test]
fn a_csv_goes_once_the_next_ran_also_if_that_makes_room_already() {
    let last = csv("csv3", &CsvPhase::Pending).replaces("csv2");
    let middle = csv("csv2", &CsvPhase::Replacing).replaces("csv1");
    let oldest = csv("csv1", &CsvPhase::Replacing).once(&RUNNING);
    let never_ran = world([oldest.clone(), middle.clone(), last.clone()]);
    assert_eq!(never_ran.decide("csv1"), Decision::default());
    let mut world = world([oldest, middle.once(&RUNNING), last]);
    world.sync_one("csv1");
    world.expect_phase("csv1", &CsvPhase::Deleting);
    world.sync_one("csv2");
    world.expect_phase("csv2", &CsvPhase::Replacing);
    let mut fails_forward = world.clone().fail_forward();
    fails_forward.csvs[0].status.as_mut().unwrap().phase = CsvPhase::Replacing;
    assert_eq!(fails_forward.decide("csv1").status, None);
}

/// A version that was deleted.
fn deleted(
    mut csv: crate::api::cluster_service_version::ClusterServiceVersion,
) -> crate::api::cluster_service_version::ClusterServiceVersion {
    csv.metadata.deletion_timestamp = Some(time(0));
    csv
}

// In OLM both go.
#[rstest]
#[case::that_runs(deleted(csv("csv2", &RUNNING)))]
#[case::that_ran(csv("csv2", &CsvPhase::Failed).once(&RUNNING))]
fn a_csv_stays_if_the_next_no_longer_takes_its_place(
    #[case] next: crate::api::cluster_service_version::ClusterServiceVersion,
) {
    let next = next.replaces("csv1");
    let replaced = csv("csv1", &CsvPhase::Replacing).once(&RUNNING);
    let staying = world([replaced, next.clone()]);
    assert_eq!(staying.decide("csv1"), Decision::default());
    // Also if it was about to go.
    let mut going = world([csv("csv1", &CsvPhase::Deleting).once(&RUNNING), next]);
    going.sync_one("csv1");
    let words = "being replaced by csv: csv2";
    let reason = CsvReason::BeingReplaced;
    going.expect("csv1", &CsvPhase::Replacing, &reason, words);
    assert_eq!(going.actions, []);
    going.csvs.pop();
    going.sync_one("csv1");
    going.expect_phase("csv1", &CsvPhase::Pending);
}

#[test]
fn a_csv_goes_also_if_the_next_was_deleted_and_the_one_after_that_runs() {
    let next = deleted(csv("csv2", &CsvPhase::Replacing).replaces("csv1"));
    let last = csv("csv3", &RUNNING).replaces("csv2");
    for fails_forward in [false, true] {
        let mut world = world([
            csv("csv1", &CsvPhase::Replacing),
            next.clone(),
            last.clone(),
        ]);
        if fails_forward {
            world = world.fail_forward();
        }
        world.sync_one("csv1");
        world.expect_phase("csv1", &CsvPhase::Deleting);
    }
}

#[test]
fn a_csv_waits_while_the_next_is_not_there_yet() {
    let next = csv("csv2", &CsvPhase::Installing).replaces("csv1");
    let world = world([csv("csv1", &CsvPhase::Replacing).once(&RUNNING), next]);
    assert_eq!(world.decide("csv1"), Decision::default());
}

/// A version in Replacing that ran, with this installed, and the next one in a phase.
fn held(installed: Installed, next: &CsvPhase) -> World {
    let next = csv("csv2", next).replaces("csv1");
    let ran = csv("csv1", &CsvPhase::Replacing).once(&RUNNING);
    World::new([ran, next]).with_installed("csv1", installed)
}

// OLM leaves it as it is.
#[rstest]
#[case::changed(drifted())]
#[case::gone(nothing())]
#[case::expiring(certified(Certificates::Due))]
#[case::lost(certified(Certificates::Missing { message: "no secret".to_owned() }))]
fn a_csv_is_looked_after_until_the_next_runs(#[case] installed: Installed) {
    for phase in [
        CsvPhase::Unset,
        CsvPhase::Pending,
        CsvPhase::Failed,
        CsvPhase::InstallReady,
        CsvPhase::Installing,
    ] {
        let mut world = held(installed.clone(), &phase);
        let until = time(1_000_000);
        world.outcome = InstallOutcome::Done {
            certificates_until: Some(until.clone()),
            certificates_made: true,
        };
        let before = world.status("csv1");
        world.sync_one("csv1");
        assert_eq!(world.actions, [Action::Install], "{phase:?}");
        // Whoever watches sees nothing of it but when certificates are due next.
        let after = world.status("csv1");
        assert_eq!(after.phase, before.phase);
        assert_eq!(
            (&after.reason, &after.message),
            (&before.reason, &before.message)
        );
        assert_eq!(after.conditions, before.conditions);
        assert_eq!(after.certs_rotate_at, Some(until));
        assert_eq!(world.decide("csv1").actions, []);
    }
}

// What never ran because something was wrong with it is not installed on its way out.
#[rstest]
#[case::never(csv("csv1", &CsvPhase::Failed))]
#[case::begun(csv("csv1", &CsvPhase::Failed).once(&CsvPhase::InstallReady))]
fn a_csv_that_failed_and_gives_way_stays_as_it_is(
    #[case] failed: crate::api::cluster_service_version::ClusterServiceVersion,
) {
    let reason = CsvReason::InstallComponentFailedNoRetry;
    let next = csv("csv2", &CsvPhase::Pending)
        .because(&CsvReason::AllRequirementsMet)
        .replaces("csv1");
    let mut world = World::new([failed.because(&reason), next]);
    world.sync_one("csv1");
    world.expect_phase("csv1", &CsvPhase::Replacing);
    assert_eq!(world.decide("csv1"), Decision::default());
}

#[test]
fn a_csv_that_is_refused_now_is_not_written_again_while_it_is_replaced() {
    let mut world = held(drifted(), &CsvPhase::Pending);
    world.csvs[0].spec.webhook_definitions = serde_json::from_value(serde_json::json!([
        {"generateName": "all", "type": "ValidatingAdmissionWebhook", "deploymentName": "csv1-dep1",
         "sideEffects": "None", "admissionReviewVersions": ["v1"],
         "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]},
    ]))
    .unwrap();
    assert_eq!(world.decide("csv1"), Decision::default());
}

// The group changes while an upgrade is held. OLM notes that in every phase.
#[test]
fn a_csv_that_is_being_replaced_takes_over_what_changed_in_its_group_and_is_looked_after() {
    let mut world = held(drifted(), &CsvPhase::Pending);
    world.groups = vec![group("default", &[NAMESPACE, "new-namespace"], "")];
    world.sync_one("csv1");
    let annotation = &world.csv("csv1").annotations()["olm.targetNamespaces"];
    assert_eq!(annotation, "new-namespace,ns");
    world.sync_one("csv1");
    world.sync_one("csv1");
    assert_eq!(
        world.actions[1..],
        [Action::UpdateGroup, Action::Install],
        "{:?}",
        world.actions
    );
    world.expect_phase("csv1", &CsvPhase::Replacing);
}

#[test]
fn a_csv_that_waits_for_its_pods_or_has_no_group_is_left_alone_while_it_is_replaced() {
    let pending = CsvPhase::Pending;
    assert_eq!(held(waiting(), &pending).decide("csv1").actions, []);
    let mut outside = held(drifted(), &pending);
    outside.groups.clear();
    assert_eq!(outside.decide("csv1").actions, []);
}

// The newer version brought a CRD that no longer serves what this one needs, and is held.
#[rstest]
#[case::changed(drifted())]
#[case::expiring(certified(Certificates::Due))]
#[case::lost(certified(Certificates::Missing { message: "no secret".to_owned() }))]
fn a_csv_that_lacks_something_is_looked_after_while_it_is_replaced(#[case] installed: Installed) {
    let lacking = held(installed, &CsvPhase::Pending).without_crd();
    assert_eq!(lacking.decide("csv1").actions, [Action::Install]);
}

#[test]
fn a_csv_that_is_being_replaced_is_looked_at_when_its_certificates_are_due() {
    let mut world = held(certified(Certificates::Fine), &CsvPhase::Pending);
    world.rotate_at = Some(time(3600));
    let decision = world.decide("csv1");
    assert_eq!(decision.look_again, Some(Duration::from_hours(1)));
    assert_eq!((decision.status, decision.actions), (None, vec![]));
}

#[test]
fn that_a_csv_could_not_be_looked_after_is_told_beside_its_phase() {
    let mut world = held(drifted(), &CsvPhase::Pending);
    world.outcome = InstallOutcome::Failed {
        message: "deployments.apps is forbidden".to_owned(),
        failure: Failure::Forbidden,
    };
    let status = world.csvs[0].status.as_mut().unwrap();
    status.reason = CsvReason::BeingReplaced;
    status.message = "being replaced by csv: csv2".to_owned();
    let before = world.status("csv1");
    for _ in 0..3 {
        world.sync_one("csv1");
    }
    let reason = CsvReason::BeingReplaced;
    world.expect("csv1", &CsvPhase::Replacing, &reason, &before.message);
    let message = world.status("csv1").message;
    assert!(
        message.ends_with("deployments.apps is forbidden"),
        "{message}"
    );
    assert_eq!(world.events.len(), 1);
    world.outcome = InstallOutcome::Done {
        certificates_until: None,
        certificates_made: false,
    };
    world.sync_one("csv1");
    assert_eq!(world.status("csv1").message, before.message);
}
