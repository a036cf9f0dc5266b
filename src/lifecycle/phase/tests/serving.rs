//! Certificates of what an operator serves.

use rstest::rstest;

use super::world::{Csv as _, Installed, World, certified, csv, drifted, nothing, time};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::install::state::Certificates;
use crate::lifecycle::phase::{Action, InstallOutcome};

fn world(phase: &CsvPhase, certificates: Certificates) -> World {
    let serving = csv("csv1", phase).owning_api("csv1-dep1");
    World::new([serving])
        .provided("c1.v1.g1,a1Kind.v1.a1")
        .with_installed("csv1", certified(certificates))
}

// SingleCSVSucceededToPending/APIService/Owned/CertRotation
#[test]
fn certificates_that_are_due_are_renewed() {
    let mut world = world(&CsvPhase::Succeeded, Certificates::Due);
    world.sync();
    let words = "CSV owns resources that require a cert refresh";
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::NeedsCertRotation,
        words,
    );
}

// SingleCSVSucceededToFailed/APIService/Owned/BadServingCert; `install` has the other rows, and what is found
// out about each.
#[test]
fn a_certificate_that_is_not_there_fails_it_and_is_made_anew() {
    let words = "secret a1-service-cert does not hold a certificate for deployment a1";
    let message = words.to_owned();
    let mut world = world(&CsvPhase::Succeeded, Certificates::Missing { message });
    world.sync();
    let reason = CsvReason::APIServiceResourceIssue;
    world.expect("csv1", &CsvPhase::Failed, &reason, words);
    world.sync();
    let reason = CsvReason::APIServiceResourcesNeedReinstall;
    world.expect("csv1", &CsvPhase::Pending, &reason, words);
}

// SingleCSVFailedToPending/APIService/Owned/ExpiredCA
#[test]
fn certificates_of_a_failed_csv_that_are_due_are_renewed() {
    let mut world = world(&CsvPhase::Failed, Certificates::Due);
    world.sync();
    let words = "owned APIServices need cert refresh";
    world.expect(
        "csv1",
        &CsvPhase::Pending,
        &CsvReason::NeedsCertRotation,
        words,
    );
}

#[test]
fn a_csv_with_certificates_is_looked_at_again_when_they_are_to_be_renewed() {
    let mut world = world(&CsvPhase::Succeeded, Certificates::Fine);
    // Whatever the status says: somebody may have written another Secret since.
    world.csvs[0].status.get_or_insert_default().certs_rotate_at = Some(time(90_000));
    world.rotate_at = Some(time(7200));
    let again = world.decide("csv1").look_again.unwrap();
    assert_eq!(again.as_secs(), 7200);
}

// OLM looks at certificates only while all is well.
#[rstest]
#[case::lacks_something(&CsvPhase::Pending, CsvReason::RequirementsNotMet)]
#[case::does_not_suit_its_group(&CsvPhase::Failed, CsvReason::UnsupportedOperatorGroup)]
#[case::came_to_nothing(&CsvPhase::Failed, CsvReason::InstallComponentFailedNoRetry)]
fn certificates_of_what_waits_or_failed_are_renewed_in_time(
    #[case] phase: &CsvPhase,
    #[case] reason: CsvReason,
) {
    let mut world = world(phase, Certificates::Fine);
    match reason {
        CsvReason::RequirementsNotMet => world.crds.clear(),
        CsvReason::UnsupportedOperatorGroup => world.csvs[0].spec.install_modes.clear(),
        _ => {}
    }
    world.csvs[0] = world.csvs[0]
        .clone()
        .because(&reason)
        .once(&CsvPhase::Succeeded);
    world.rotate_at = Some(time(3600));
    world.sync();
    assert_eq!(world.actions, []);
    let again = world.decide("csv1").look_again.unwrap();
    assert!(again.as_secs() <= 3600, "{again:?}");
    let before = world.status("csv1");
    let installed = certified(Certificates::Due);
    world = world.with_installed("csv1", installed);
    world.outcome = InstallOutcome::Done {
        certificates_until: Some(time(9000)),
        certificates_made: true,
    };
    world.sync();
    assert_eq!(world.actions, [Action::Renew]);
    let after = world.status("csv1");
    assert_eq!(
        (&after.phase, &after.reason, &after.conditions),
        (&before.phase, &before.reason, &before.conditions)
    );
    assert_eq!(after.certs_rotate_at, Some(time(9000)));
    world.sync();
    assert_eq!(world.actions.len(), 1);
}

// The ClusterServiceVersion was edited while it lacks something, or the Secret is gone, with which everything differs.
#[rstest]
#[case::edited(Certificates::Due, drifted())]
#[case::lost(Certificates::Missing { message: "no secret".to_owned() }, drifted())]
#[case::lost_with_more(Certificates::Missing { message: "no secret".to_owned() }, nothing())]
fn certificates_of_what_waits_are_made_anew_whatever_else_differs(
    #[case] certificates: Certificates,
    #[case] differing: Installed,
) {
    let mut world = world(&CsvPhase::Pending, Certificates::Fine).without_crd();
    world.csvs[0] = world.csvs[0].clone().once(&CsvPhase::Succeeded);
    let installed = Installed {
        certificates,
        ..differing
    };
    world = world.with_installed("csv1", installed);
    world.sync();
    world.sync();
    world.expect_phase("csv1", &CsvPhase::Pending);
    // It is not installed: what it asks for now waits for what it lacks.
    assert_eq!(world.actions, [Action::Renew]);
}

#[test]
fn certificates_of_what_never_ran_are_not_renewed() {
    let mut world = world(&CsvPhase::Pending, Certificates::Due).without_crd();
    world.sync();
    assert_eq!(world.actions, []);
}
