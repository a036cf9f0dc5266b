//! Certificates are renewed in time, whatever else there is about an operator: its Pods may serve while it
//! waits for something, or has failed.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Action, Course, Decision, InstallOutcome, Situation, checks, group, status};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::ClusterServiceVersionStatus;
use crate::api::conditions::CsvPhase;
use crate::lifecycle::replacement;

/// How soon it is looked at again at the earliest when certificates seem to be overdue and are not, and
/// when they could not be renewed.
const DELAY: Duration = Duration::from_mins(1);

/// Sees to it that certificates are renewed beside what comes next anyway.
pub(super) fn beside(situation: &Situation<'_>, mut course: Course) -> Course {
    if is_due_alone(situation, &course) {
        course.actions.push(Action::Renew);
    }
    let left = situation.rotate_at.map(|rotate_at| {
        let left = rotate_at.0.duration_since(situation.now.0);
        Duration::try_from(left).unwrap_or_default().max(DELAY)
    });
    course.look_again = course.look_again.into_iter().chain(left).min();
    course
}

/// Whether certificates are due or lost, nothing else is to be written, and no phase comes next that would renew
/// them: the operator lacks something, or its group does not suit it. What differs besides waits.
fn is_due_alone(situation: &Situation<'_>, course: &Course) -> bool {
    let phase = situation.phase();
    let stays = course.to.as_ref().is_none_or(|to| to.phase == phase);
    situation.is_renewal_due
        && matches!(phase, CsvPhase::Pending | CsvPhase::Failed)
        && stays
        && course.actions.is_empty()
        && replacement::was_installed(situation.csv)
        && group::member_of(situation).is_ok()
        && checks::content(situation).is_ok()
}

/// Notes when certificates are to be renewed next. The phase stays.
pub(super) fn after(csv: &ClusterServiceVersion, outcome: &InstallOutcome, now: &Time) -> Decision {
    let mut decision = status::decide(csv, Course::stay().look_again(DELAY), now);
    decision.status = with_times(csv, decision.status, outcome, now);
    decision
}

/// A status that says when certificates were made, and when they are to be made anew; those that the
/// version before made are this one's to renew. Nothing if it says so already.
pub(super) fn with_times(
    csv: &ClusterServiceVersion,
    status: Option<ClusterServiceVersionStatus>,
    outcome: &InstallOutcome,
    now: &Time,
) -> Option<ClusterServiceVersionStatus> {
    let InstallOutcome::Done {
        certificates_until: Some(until),
        certificates_made,
    } = outcome
    else {
        return status;
    };
    let before = csv.status.clone().unwrap_or_default();
    if !certificates_made && before.certs_rotate_at.as_ref() == Some(until) {
        return status;
    }
    // Whoever made them did not get to say so.
    let are_others = before.certs_rotate_at.is_some();
    let mut status = status.unwrap_or(before);
    status.certs_rotate_at = Some(until.clone());
    if *certificates_made || are_others {
        status.certs_last_updated = Some(now.clone());
    }
    Some(status)
}
