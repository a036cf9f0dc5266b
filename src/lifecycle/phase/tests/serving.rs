//! Certificates of what an operator serves.

use rstest::rstest;

use super::world::{Csv as _, World, certified, csv, time};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::install::state::Certificates;

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

// SingleCSVSucceededToFailed/APIService/Owned/…: BadCAHash/Deployment, BadCAHash/Secret,
// BadCAHash/DeploymentAndSecret, BadCA, BadServingCert, ExpiredCA. Which of them it is, is found
// out where certificates are looked at; here each is a certificate that is of no use.
#[rstest]
#[case::bad_ca_hash_of_deployment("deployment a1 CA cert hash does not match expected")]
#[case::bad_ca_hash_of_secret("secret a1-service-cert CA cert hash does not match expected")]
#[case::bad_ca_hash_of_both("secret and deployment CA cert hash do not match expected")]
#[case::bad_ca("the CA bundle of APIService v1.a1 cannot be read")]
#[case::bad_serving_certificate("the certificate of secret a1-service-cert cannot be read")]
#[case::expired_ca("the CA of APIService v1.a1 has expired")]
fn certificates_that_are_of_no_use_fail_it_and_are_made_anew(#[case] message: &str) {
    let message = message.to_owned();
    let words = message.clone();
    let mut world = world(&CsvPhase::Succeeded, Certificates::Missing { message });
    world.sync();
    world.expect(
        "csv1",
        &CsvPhase::Failed,
        &CsvReason::APIServiceResourceIssue,
        &words,
    );
    world.sync();
    let reason = CsvReason::APIServiceResourcesNeedReinstall;
    world.expect("csv1", &CsvPhase::Pending, &reason, &words);
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
    world.csvs[0].status.get_or_insert_default().certs_rotate_at = Some(time(7200));
    let again = world.decide("csv1").look_again.unwrap();
    assert_eq!(again.as_secs(), 7200);
}
