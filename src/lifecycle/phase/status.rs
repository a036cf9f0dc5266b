//! From what should be so to the status that says it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Course, Decision, Event, Standing, trouble};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::{ClusterServiceVersionStatus, CsvCondition};
use crate::api::conditions::CsvPhase;

/// How many entries the history has at most; the oldest go first, but for [`MILESTONES`].
pub(super) const HISTORY_LIMIT: usize = 20;

/// The phases of which the history keeps the newest entry, however old it is: whether an operator was ever
/// installed is known from nothing else ([`replacement`](crate::lifecycle::replacement)).
const MILESTONES: [CsvPhase; 3] = [
    CsvPhase::InstallReady,
    CsvPhase::Installing,
    CsvPhase::Succeeded,
];

/// The decision that a course amounts to. A status that would say the same again is not written.
pub(super) fn decide(csv: &ClusterServiceVersion, course: Course, now: &Time) -> Decision {
    let before = csv.status.clone().unwrap_or_default();
    let mut after = before.clone();
    if let Some(requirements) = course.requirements {
        after.requirement_status = requirements.statuses;
    }
    let to = course.to.map(|to| Standing {
        message: trouble::cleared(to.message),
        ..to
    });
    let moved = to.filter(|to| !stands(&before, to));
    let told_anew = moved.is_some() || after.requirement_status != before.requirement_status;
    let event = moved.as_ref().map(event);
    if let Some(to) = moved {
        set(&mut after, to, now);
    }
    if told_anew {
        after.last_update_time = Some(now.clone());
    }
    Decision {
        status: told_anew.then_some(after),
        actions: course.actions,
        events: event.into_iter().collect(),
        look_again: course.look_again,
    }
}

fn stands(status: &ClusterServiceVersionStatus, to: &Standing) -> bool {
    status.phase == to.phase && status.reason == to.reason && status.message == to.message
}

fn event(to: &Standing) -> Event {
    Event {
        warning: to.phase == CsvPhase::Failed,
        reason: to.reason.clone(),
        message: to.message.clone(),
    }
}

/// Writes a standing into a status. The time of transition is that of the phase; the history gets
/// an entry when the phase or the reason is another than that of its last one.
fn set(status: &mut ClusterServiceVersionStatus, to: Standing, now: &Time) {
    status.last_update_time = Some(now.clone());
    if status.phase != to.phase {
        status.last_transition_time = Some(now.clone());
    }
    status.phase = to.phase;
    status.reason = to.reason;
    status.message = to.message;
    let last = status.conditions.last();
    if last.is_none_or(|last| last.phase != status.phase || last.reason != status.reason) {
        status.conditions.push(CsvCondition {
            phase: status.phase.clone(),
            reason: status.reason.clone(),
            message: status.message.clone(),
            last_update_time: status.last_update_time.clone(),
            last_transition_time: status.last_transition_time.clone(),
        });
    }
    trim(&mut status.conditions);
}

/// Lets the oldest entries go that are too many.
fn trim(history: &mut Vec<CsvCondition>) {
    while history.len() > HISTORY_LIMIT {
        let phases: Vec<&CsvPhase> = history.iter().map(|then| &then.phase).collect();
        let can_go = |at: usize, phase: &CsvPhase| {
            !MILESTONES.contains(phase) || phases.iter().skip(at + 1).any(|it| *it == phase)
        };
        // There is always one: milestones are fewer than there is room.
        let oldest = phases
            .iter()
            .enumerate()
            .position(|(at, phase)| can_go(at, phase));
        history.remove(oldest.unwrap_or_default());
    }
}
