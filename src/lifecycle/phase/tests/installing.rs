//! InstallReady, Installing, and what comes of a Deployment later.

use std::time::Duration;

use rstest::rstest;

use super::world::{
    Csv as _, Installed, World, csv, drifted, nothing, running, stuck, time, unserved, waiting,
};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::phase::{
    Action, DISRUPTION_DELAY, Failure, InstallOutcome, PODS_DELAY, SinceGivenUp,
};

fn world(phase: &CsvPhase, installed: Installed) -> World {
    World::new([csv("csv1", phase)]).with_installed("csv1", installed)
}

// SingleCSVInstallReadyToInstalling
#[test]
fn a_csv_that_is_ready_is_installed() {
    let mut world = World::new([csv("csv1", &CsvPhase::InstallReady)]);
    world.sync();
    let words = "waiting for install components to report healthy";
    world.expect(
        "csv1",
        &CsvPhase::Installing,
        &CsvReason::InstallSucceeded,
        words,
    );
    assert_eq!(world.actions, [Action::Install]);
}

// SingleCSVInstallReadyToInstalling/APIService/Owned
#[test]
fn an_install_that_made_certificates_notes_until_when_they_serve() {
    let serving = csv("csv1", &CsvPhase::InstallReady).owning_api("csv1-dep1");
    let mut world = World::new([serving]).provided("c1.v1.g1,a1Kind.v1.a1");
    world.outcome = InstallOutcome::Done {
        certificates_until: Some(time(900)),
        certificates_made: true,
    };
    world.sync().expect_phase("csv1", &CsvPhase::Installing);
    let status = world.status("csv1");
    assert_eq!(status.certs_last_updated, Some(time(0)));
    assert_eq!(status.certs_rotate_at, Some(time(900)));
}

#[test]
fn an_install_that_found_certificates_notes_until_when_they_serve() {
    let serving = csv("csv1", &CsvPhase::InstallReady).owning_api("csv1-dep1");
    let mut world = World::new([serving]).provided("c1.v1.g1,a1Kind.v1.a1");
    world.outcome = InstallOutcome::Done {
        certificates_until: Some(time(900)),
        certificates_made: false,
    };
    world.sync().expect_phase("csv1", &CsvPhase::Installing);
    let status = world.status("csv1");
    assert_eq!(status.certs_last_updated, None);
    assert_eq!(status.certs_rotate_at, Some(time(900)));
}

#[test]
fn certificates_whose_maker_did_not_get_to_say_so_are_noted_as_made() {
    let serving = csv("csv1", &CsvPhase::InstallReady).owning_api("csv1-dep1");
    let mut world = World::new([serving]).provided("c1.v1.g1,a1Kind.v1.a1");
    world.csvs[0].status.as_mut().unwrap().certs_rotate_at = Some(time(100));
    world.outcome = InstallOutcome::Done {
        certificates_until: Some(time(900)),
        certificates_made: false,
    };
    world.sync();
    let status = world.status("csv1");
    assert_eq!(status.certs_last_updated, Some(time(0)));
    assert_eq!(status.certs_rotate_at, Some(time(900)));
}

// SingleCSVFailedToPending/Deployment
#[test]
fn a_failed_csv_whose_deployment_is_missing_is_installed_again() {
    let mut world = world(&CsvPhase::Failed, nothing());
    world.sync();
    let words = "installing: missing deployment with name=dep1";
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::NeedsReinstall,
        words,
    );
}

// SingleCSVFailedToPending/CRD
#[test]
fn a_failed_csv_whose_crd_is_missing_waits_for_it() {
    let mut world = world(&CsvPhase::Failed, running()).without_crd();
    world.sync();
    let words = "requirements not met";
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::RequirementsNotMet,
        words,
    );
}

// SingleCSVInstallingToSucceeded/UnmanagedDeploymentNotAffected
#[test]
fn a_csv_whose_components_are_ready_succeeded_and_nothing_else_is_touched() {
    let mut world = world(&CsvPhase::Installing, running());
    world.sync();
    let words = "install strategy completed with no errors";
    world.expect(
        "csv1",
        &CsvPhase::Succeeded,
        &CsvReason::InstallSucceeded,
        words,
    );
    assert_eq!(world.actions, []);
}

// SingleCSVInstallingToInstallReady, SingleCSVInstallingToInstallReadyDueToAnnotations
#[rstest]
#[case::another_spec("deployment changed old hash=BadHash, new hash=a")]
#[case::no_annotations("no annotations found on deployment")]
fn a_deployment_that_was_changed_while_installing_is_written_again(#[case] message: &str) {
    let mut changed = drifted();
    let message = message.to_owned();
    let words = format!("installing: {message}");
    changed.installation = crate::lifecycle::install::state::Installation::Differs { message };
    let mut world = world(&CsvPhase::Installing, changed);
    world.sync();
    world.expect(
        "csv1",
        &CsvPhase::InstallReady,
        &CsvReason::InstallWaiting,
        &words,
    );
}

// SingleCSVSucceededToSucceeded/UnmanagedDeploymentInNamespace
#[test]
fn a_csv_that_runs_goes_on_running_and_nothing_else_is_touched() {
    let running_csv = csv("csv1", &CsvPhase::Succeeded).because(&CsvReason::InstallSucceeded);
    let mut world = World::new([running_csv]).with_installed("csv1", running());
    world.sync().expect_phase("csv1", &CsvPhase::Succeeded);
    assert_eq!(world.actions, [Action::EnsureApiRoles]);
}

// SingleCSVSucceededToFailed/CRD
#[test]
fn a_csv_that_lost_its_crd_fails() {
    let mut world = world(&CsvPhase::Succeeded, running()).without_crd();
    world.sync();
    let words = "requirements no longer met";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::RequirementsNotMet,
        words,
    );
    assert_eq!(world.status("csv1").requirement_status.len(), 1);
}

// SingleCSVSucceededToPending/DeploymentSpecChanged: OLM's code goes to InstallReady, whatever the
// row is called.
#[test]
fn a_deployment_that_was_changed_later_is_written_again() {
    let mut world = world(&CsvPhase::Succeeded, drifted());
    world.sync();
    let words = "installing: deployment changed old hash=a, new hash=b";
    world.expect(
        "csv1",
        &CsvPhase::InstallReady,
        &CsvReason::ComponentUnhealthy,
        words,
    );
}

#[test]
fn differences_right_after_an_install_are_put_down_to_caches() {
    let fresh = csv("csv1", &CsvPhase::Installing).since(0);
    let mut world = World::new([fresh]).with_installed("csv1", nothing());
    world.now = time(2);
    let decision = world.decide("csv1");
    assert_eq!(decision.status, None);
    assert_eq!(decision.look_again, Some(Duration::from_secs(3)));
    world.now = time(5);
    world.sync().expect_phase("csv1", &CsvPhase::InstallReady);
}

#[test]
fn components_that_are_not_ready_are_waited_for_until_the_time_is_over() {
    let slow = csv("csv1", &CsvPhase::Installing).since(0);
    let mut world = World::new([slow]).with_installed("csv1", waiting());
    world.now = time(100);
    // Nobody tells of Pods.
    assert_eq!(world.decide("csv1").look_again, Some(PODS_DELAY));
    world.now = time(299);
    let left = Some(Duration::from_secs(1));
    assert_eq!(world.decide("csv1").look_again, left);
    world.sync();
    let words = "installing: waiting for deployment dep1 to become ready: 0 of 1";
    world.expect(
        "csv1",
        &CsvPhase::Installing,
        &CsvReason::InstallWaiting,
        words,
    );
    world.now = time(300);
    world.sync();
    let words = "install timeout";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::InstallCheckFailed,
        words,
    );
}

#[rstest]
#[case(CsvPhase::Installing)]
#[case(CsvPhase::Succeeded)]
#[case(CsvPhase::Failed)]
fn a_deployment_past_its_deadline_fails_it(#[case] phase: CsvPhase) {
    let mut world = world(&phase, stuck());
    world.sync();
    let words = "install failed: deployment dep1 not ready before timeout";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::InstallCheckFailed,
        words,
    );
}

#[test]
fn a_deployment_that_is_no_longer_available_fails_it_and_is_installed_again() {
    let mut world = world(&CsvPhase::Succeeded, waiting());
    world.sync();
    let words = "installing: waiting for deployment dep1";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::ComponentUnhealthy,
        words,
    );
    world.sync();
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::NeedsReinstall,
        words,
    );
}

#[rstest]
#[case(CsvPhase::Installing)]
#[case(CsvPhase::Succeeded)]
#[case(CsvPhase::Failed)]
fn pods_of_an_api_that_are_being_moved_change_nothing(#[case] phase: CsvPhase) {
    let decision = world(&phase, unserved(true)).decide("csv1");
    assert_eq!(
        (decision.status, decision.look_again),
        (None, Some(DISRUPTION_DELAY))
    );
}

#[test]
fn an_api_that_is_not_served_is_waited_for_until_the_time_is_over() {
    let slow = csv("csv1", &CsvPhase::Installing).since(0);
    let mut world = World::new([slow]).with_installed("csv1", unserved(false));
    world.sync();
    let words = "apiServices not installed: v1.a1 is not available";
    world.expect(
        "csv1",
        &CsvPhase::Installing,
        &CsvReason::InstallWaiting,
        words,
    );
    world.now = time(300);
    world.sync();
    let words = "APIService install failed: v1.a1 is not available";
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::APIServiceInstallFailed,
        words,
    );
}

#[rstest]
#[case(Failure::Passing, CsvReason::InstallComponentFailed)]
#[case(Failure::Forbidden, CsvReason::InstallComponentFailedNoRetry)]
fn an_install_that_fails_fails_it(#[case] failure: Failure, #[case] reason: CsvReason) {
    let mut world = World::new([csv("csv1", &CsvPhase::InstallReady)]);
    world.outcome = InstallOutcome::Failed {
        message: "deployments.apps is forbidden".to_owned(),
        failure,
    };
    world.sync();
    let words = "install strategy failed: deployments.apps is forbidden";
    world.expect("csv1", &CsvPhase::Failed, &reason, words);
    assert!(world.events[0].warning);
}

#[test]
fn an_install_that_was_given_up_is_tried_again_when_the_cluster_changed() {
    let given_up =
        csv("csv1", &CsvPhase::Failed).because(&CsvReason::InstallComponentFailedNoRetry);
    let mut world = World::new([given_up]);
    assert_eq!(world.decide("csv1").status, None);
    world.since_given_up = SinceGivenUp::Changed;
    world.sync();
    let words = "Cluster resources changed state";
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::DetectedClusterChange,
        words,
    );
}
