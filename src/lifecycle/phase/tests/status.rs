//! What is written: times, history, events.

use std::collections::BTreeSet;

use super::world::{Csv as _, World, csv, time, waiting};
use crate::api::cluster_service_version::status::{CleanupStatus, CsvCondition, ResourceList};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::phase::{Failure, InstallOutcome, SinceGivenUp};
use crate::lifecycle::replacement;

#[test]
fn the_history_gets_an_entry_for_each_new_phase_or_reason() {
    let mut world = World::new([csv("csv1", &CsvPhase::Unset)]).without_crd();
    world.sync();
    world.now = time(10);
    world.sync();
    let status = world.status("csv1");
    let entry = |reason, message: &str, updated| CsvCondition {
        phase: CsvPhase::Pending,
        reason,
        message: message.to_owned(),
        last_update_time: Some(time(updated)),
        last_transition_time: Some(time(0)),
    };
    let first = "requirements not yet checked";
    assert_eq!(
        status.conditions,
        [
            entry(CsvReason::RequirementsUnknown, first, 0),
            entry(CsvReason::RequirementsNotMet, &status.message, 10),
        ]
    );
    assert_eq!(status.last_transition_time, Some(time(0)));
    assert_eq!(status.last_update_time, Some(time(10)));
}

#[test]
fn another_message_is_written_and_told_without_an_entry_in_the_history() {
    let slow = csv("csv1", &CsvPhase::Installing).since(0);
    let mut world = World::new([slow]).with_installed("csv1", waiting());
    world.sync();
    let history = world.status("csv1").conditions;
    let message = "waiting for deployment dep2 to become ready: 1 of 2".to_owned();
    world.installed.get_mut("csv1").unwrap().installation =
        crate::lifecycle::install::state::Installation::Waiting {
            message,
            is_failing: false,
        };
    world.now = time(1);
    world.sync();
    assert_eq!(world.status("csv1").conditions, history);
    assert_eq!(world.status("csv1").last_update_time, Some(time(1)));
    assert_eq!(world.events.len(), 2);
}

#[test]
fn the_history_keeps_its_last_twenty_entries() {
    let mut full = csv("csv1", &CsvPhase::Unset);
    let entry = |at| CsvCondition {
        message: format!("{at}"),
        phase: CsvPhase::Pending,
        ..CsvCondition::default()
    };
    full.status.get_or_insert_default().conditions = (0..20).map(entry).collect();
    let mut world = World::new([full]);
    world.sync();
    let history = world.status("csv1").conditions;
    assert_eq!(history.len(), 20);
    assert_eq!(history[0].message, "1");
    assert_eq!(history[19].reason, CsvReason::RequirementsUnknown);
}

// By the history it is known later that it may run, and has to be looked after.
#[test]
fn however_often_an_install_fails_the_history_tells_that_one_was_done() {
    let ran = csv("csv1", &CsvPhase::Failed)
        .because(&CsvReason::InstallComponentFailedNoRetry)
        .once(&CsvPhase::Installing)
        .once(&CsvPhase::Succeeded);
    let mut world = World::new([ran]);
    world.since_given_up = SinceGivenUp::Changed;
    world.outcome = InstallOutcome::Failed {
        message: "no".to_owned(),
        failure: Failure::Forbidden,
    };
    for _ in 0..90 {
        world.sync();
    }
    let csv = world.csv("csv1");
    let history = world.status("csv1").conditions;
    assert_eq!(history.len(), 20);
    assert!(replacement::was_installed(csv), "{history:?}");
    let first: Vec<_> = history.iter().take(2).map(|it| &it.phase).collect();
    assert_eq!(first, [&CsvPhase::Installing, &CsvPhase::Succeeded]);
    assert!(world.events.len() >= 80, "it goes round");
}

#[test]
fn requirements_that_change_are_written_without_an_event() {
    let mut world = World::new([csv("csv1", &CsvPhase::Pending)]);
    world.crds.get_mut("c1.g1").unwrap().served = BTreeSet::new();
    world.sync();
    world.events.clear();
    // Somebody else changed what was written.
    world.csvs[0]
        .status
        .as_mut()
        .unwrap()
        .requirement_status
        .clear();
    world.now = time(5);
    world.sync();
    assert_eq!(world.status("csv1").requirement_status.len(), 1);
    assert_eq!(world.status("csv1").last_update_time, Some(time(5)));
    assert_eq!(world.events, []);
}

#[test]
fn what_is_said_about_cleaning_up_is_left_alone() {
    let mut leaving = csv("csv1", &CsvPhase::Unset);
    let cleanup = CleanupStatus {
        pending_deletion: vec![ResourceList::default()],
    };
    leaving.status.get_or_insert_default().cleanup = cleanup.clone();
    let mut world = World::new([leaving]);
    world.sync().expect_phase("csv1", &CsvPhase::Pending);
    assert_eq!(world.status("csv1").cleanup, cleanup);
}
