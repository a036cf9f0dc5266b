//! Succeeded, Replacing, Deleting: one version after the other.

use super::world::{Csv as _, World, csv, running};
use crate::api::conditions::{CsvPhase, CsvReason};

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

#[test]
fn a_csv_waits_while_the_next_is_not_there_yet() {
    let next = csv("csv2", &CsvPhase::Installing).replaces("csv1");
    let world = world([csv("csv1", &CsvPhase::Replacing), next]);
    assert_eq!(
        world.decide("csv1"),
        crate::lifecycle::phase::Decision::default()
    );
}
