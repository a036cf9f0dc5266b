//! Failed: whether what was wrong still is.

use super::installing::{self, Health};
use super::{Action, Course, DISRUPTION_DELAY, SinceGivenUp, Situation, checks, group};
use crate::api::conditions::CsvReason;
use crate::lifecycle::install::state::Certificates;

pub(super) fn step(situation: &Situation<'_>) -> Course {
    let reason = situation.reason();
    if reason == CsvReason::InstallComponentFailedNoRetry {
        return given_up(situation);
    }
    let requirements = match checks::strategy(situation) {
        Ok(requirements) => requirements,
        Err(course) => return *course,
    };
    if let Some(message) = group::recovered_from(&reason) {
        return Course::pending(CsvReason::RequirementsUnknown, message);
    }
    if !requirements.met {
        let message = format!("requirements not met: {}", requirements.missing);
        return Course::pending(CsvReason::RequirementsNotMet, message).telling(requirements);
    }
    if let Err(course) = checks::content(situation) {
        return *course;
    }
    let health = Health::of(situation);
    let is_good = matches!(health, Health::Good)
        && matches!(
            situation.certificates,
            Certificates::Unneeded | Certificates::Fine
        );
    if reason == CsvReason::InstallComponentFailed && !is_good {
        return Course::stay().and(Action::Install);
    }
    match situation.certificates {
        Certificates::Missing { message } => {
            return Course::pending(CsvReason::APIServiceResourcesNeedReinstall, message);
        }
        Certificates::Due => {
            let message = "owned APIServices need cert refresh";
            return Course::pending(CsvReason::NeedsCertRotation, message);
        }
        Certificates::Unneeded | Certificates::Fine => {}
    }
    // It was installed again, and nothing came of it: once more would change nothing.
    let in_vain = matches!(
        reason,
        CsvReason::InstallCheckFailed | CsvReason::APIServiceInstallFailed
    );
    let reinstall = |message: String| Course::pending(CsvReason::NeedsReinstall, message);
    match health {
        Health::Good => installing::succeeded(situation),
        Health::Stuck(message) => installing::stuck(&message),
        Health::Disrupted => Course::stay().look_again(DISRUPTION_DELAY),
        Health::Waiting(_) | Health::Failing(_) | Health::Unserved(_) if in_vain => Course::stay(),
        Health::Differs(message) | Health::Waiting(message) | Health::Failing(message) => {
            reinstall(format!("installing: {message}"))
        }
        Health::Unserved(message) => reinstall(installing::unserved(&message)),
    }
}

/// An install that was given up begins anew when what it depends on is another, and is tried as it is
/// from time to time.
fn given_up(situation: &Situation<'_>) -> Course {
    match situation.since_given_up {
        SinceGivenUp::Changed => {
            let message = "Cluster resources changed state";
            Course::pending(CsvReason::DetectedClusterChange, message)
        }
        SinceGivenUp::Same { rest } if rest.is_zero() => Course::stay().and(Action::Install),
        SinceGivenUp::Same { rest } => Course::stay().look_again(rest),
    }
}
