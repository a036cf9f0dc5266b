//! Succeeded: the operator runs, and is watched.

use kube::ResourceExt as _;

use super::installing::{self, Health};
use super::{Action, Course, DISRUPTION_DELAY, Situation, checks};
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::install::state::Certificates;

pub(super) fn step(situation: &Situation<'_>) -> Course {
    if let Some(newer) = situation.lineage.replacement_of(situation.csv) {
        let message = format!("being replaced by csv: {}", newer.name_any());
        return Course::to(CsvPhase::Replacing, CsvReason::BeingReplaced, message);
    }
    let requirements = match checks::strategy(situation) {
        Ok(requirements) => requirements,
        Err(course) => return *course,
    };
    match situation.certificates {
        Certificates::Missing { message } => {
            return Course::failed(CsvReason::APIServiceResourceIssue, message);
        }
        Certificates::Due => {
            return Course::pending(
                CsvReason::NeedsCertRotation,
                "CSV owns resources that require a cert refresh",
            );
        }
        Certificates::Unneeded | Certificates::Fine => {}
    }
    if !requirements.met {
        let message = format!("requirements no longer met: {}", requirements.missing);
        return Course::failed(CsvReason::RequirementsNotMet, message).telling(requirements);
    }
    let unhealthy = |message: String| Course::failed(CsvReason::ComponentUnhealthy, message);
    match Health::of(situation) {
        Health::Good => installing::succeeded(situation).and(Action::EnsureApiRoles),
        Health::Stuck(message) => installing::stuck(&message),
        Health::Differs(message) => Course::to(
            CsvPhase::InstallReady,
            CsvReason::ComponentUnhealthy,
            format!("installing: {message}"),
        ),
        Health::Disrupted => Course::stay().look_again(DISRUPTION_DELAY),
        Health::Waiting(message) | Health::Failing(message) => {
            unhealthy(format!("installing: {message}"))
        }
        Health::Unserved(message) => unhealthy(installing::unserved(&message)),
    }
}
