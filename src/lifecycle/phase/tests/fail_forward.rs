//! OperatorGroups that fail forward, and those that do not.

use super::world::{Csv as _, World, crashing, csv, running, time, waiting};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};

// One that failed, and one that nobody has looked at.
fn two() -> World {
    let next = csv("csv2", &CsvPhase::Unset).replaces("csv1");
    World::new([csv("csv1", &CsvPhase::Failed), next])
}

// One that is being replaced by one that failed, and one that nobody has looked at.
fn three() -> World {
    let next = csv("csv3", &CsvPhase::Unset).replaces("csv2");
    let failed = csv("csv2", &CsvPhase::Failed).replaces("csv1");
    World::new([csv("csv1", &CsvPhase::Replacing), failed, next])
}

const WORDS: &str = "Fail Forward is enabled, allowing Failed csv to be replaced by csv: ";

// FailForwardEnabled/CSV1/FailedToReplacing
#[test]
fn with_fail_forward_a_failed_csv_makes_room_for_any() {
    let mut world = two().fail_forward();
    world.sync_one("csv1");
    let words = format!("{WORDS}csv2");
    world.expect(
        "csv1",
        &CsvPhase::Replacing,
        &CsvReason::BeingReplaced,
        &words,
    );
}

// FailForwardDisabled/CSV1/FailedToPending
#[test]
fn without_it_a_failed_csv_does_not_make_room_for_one_that_is_not_ready() {
    let mut world = two();
    world.sync_one("csv1");
    world.expect("csv1", &CsvPhase::Pending, &CsvReason::NeedsReinstall, "");
}

// FailForwardEnabled/ReplacementChain/CSV2/FailedToReplacing
#[test]
fn with_fail_forward_a_failed_csv_of_a_chain_makes_room_for_any() {
    let mut world = three().fail_forward();
    world.sync_one("csv1");
    world.sync_one("csv2");
    world.expect_phase("csv1", &CsvPhase::Replacing);
    let words = format!("{WORDS}csv3");
    world.expect(
        "csv2",
        &CsvPhase::Replacing,
        &CsvReason::BeingReplaced,
        &words,
    );
}

// FailForwardDisabled/ReplacementChain/CSV2/FailedToPending
#[test]
fn without_it_a_failed_csv_of_a_chain_does_not_make_room_for_one_that_is_not_ready() {
    let mut world = three();
    world.sync_one("csv1");
    world.sync_one("csv2");
    world.expect_phase("csv1", &CsvPhase::Replacing);
    world.expect("csv2", &CsvPhase::Pending, &CsvReason::NeedsReinstall, "");
}

fn ready(csv: ClusterServiceVersion) -> ClusterServiceVersion {
    csv.because(&CsvReason::AllRequirementsMet)
}

// Where we differ from FailForwardDisabled/CSV1/FailedToPending: the next one is ready.
#[test]
fn a_failed_csv_makes_room_for_one_that_is_ready() {
    let next = ready(csv("csv2", &CsvPhase::Pending).replaces("csv1"));
    let mut world = World::new([csv("csv1", &CsvPhase::Failed), next]);
    world.sync_one("csv1");
    let words = "being replaced by csv: csv2";
    world.expect(
        "csv1",
        &CsvPhase::Replacing,
        &CsvReason::BeingReplaced,
        words,
    );
    world.sync_one("csv2");
    world.expect_phase("csv2", &CsvPhase::InstallReady);
}

// Where we differ from FailForwardDisabled/ReplacementChain/CSV2/FailedToPending: the next one is
// ready.
#[test]
fn a_failed_csv_of_a_chain_makes_room_for_one_that_is_ready() {
    let mut world = three();
    world.csvs[2] = ready(csv("csv3", &CsvPhase::Pending).replaces("csv2"));
    world.sync_one("csv2");
    world.expect_phase("csv2", &CsvPhase::Replacing);
    for _ in 0..10 {
        world.sync();
    }
    world.expect_phase("csv3", &CsvPhase::Succeeded);
    assert_eq!(world.csvs.len(), 1);
}

#[test]
fn with_fail_forward_the_oldest_waits_for_the_last_of_the_chain() {
    let last = csv("csv3", &CsvPhase::Pending).replaces("csv2");
    let middle = csv("csv2", &CsvPhase::Succeeded).replaces("csv1");
    let mut world = World::new([csv("csv1", &CsvPhase::Replacing), middle, last]).fail_forward();
    assert_eq!(world.decide("csv1").status, None);
    world.csvs[2].status.get_or_insert_default().phase = CsvPhase::Succeeded;
    world.sync_one("csv1");
    world.expect_phase("csv1", &CsvPhase::Deleting);
}

#[test]
fn with_fail_forward_a_csv_that_runs_again_says_so_before_it_makes_room() {
    let mut world = two().fail_forward().with_installed("csv1", running());
    world.sync_one("csv1");
    world.expect_phase("csv1", &CsvPhase::Succeeded);
    world.sync_one("csv1");
    world.expect(
        "csv1",
        &CsvPhase::Replacing,
        &CsvReason::BeingReplaced,
        "being replaced by csv: csv2",
    );
}

// One that is being replaced by one that is being installed, and a third one, which is ready.
fn on_its_way() -> World {
    let next = ready(csv("csv3", &CsvPhase::Pending).replaces("csv2"));
    let middle = csv("csv2", &CsvPhase::Installing).replaces("csv1").since(0);
    World::new([csv("csv1", &CsvPhase::Replacing), middle, next])
}

#[test]
fn one_whose_pods_fail_says_so_and_has_its_time_as_long_as_nobody_wants_another_version() {
    let mut world = on_its_way().with_installed("csv2", crashing());
    world.csvs.truncate(2);
    world.sync_one("csv2");
    let (installing, unhealthy) = (CsvPhase::Installing, CsvReason::ComponentUnhealthy);
    let words = "installing: waiting for deployment dep1 to become ready: CrashLoopBackOff";
    world.expect("csv2", &installing, &unhealthy, words);
    world.now = time(301);
    world.sync_one("csv2");
    let reason = CsvReason::InstallCheckFailed;
    world.expect("csv2", &CsvPhase::Failed, &reason, "install timeout");
}

#[test]
fn one_whose_pods_fail_makes_room_at_once_for_one_that_is_ready() {
    let mut world = on_its_way().with_installed("csv2", crashing());
    world.sync_one("csv2");
    let words = "being replaced by csv: csv3, although this one does not work (ComponentUnhealthy)";
    let reason = CsvReason::BeingReplaced;
    world.expect("csv2", &CsvPhase::Replacing, &reason, words);
    world.expect_phase("csv1", &CsvPhase::Replacing);
    for _ in 0..10 {
        world.sync();
    }
    world.expect_phase("csv3", &CsvPhase::Succeeded);
    assert_eq!(world.csvs.len(), 1);
}

#[test]
fn one_whose_pods_fail_makes_no_room_for_one_that_is_not_ready() {
    let mut world = on_its_way().with_installed("csv2", crashing());
    world.csvs[2] = csv("csv3", &CsvPhase::Pending).replaces("csv2");
    world.sync_one("csv2");
    world.expect_phase("csv2", &CsvPhase::Installing);
}

#[test]
fn one_that_only_takes_long_makes_no_room() {
    let mut world = on_its_way().with_installed("csv2", waiting());
    world.sync_one("csv2");
    world.expect_phase("csv2", &CsvPhase::Installing);
}
