//! InstallReady and Installing: what the strategy asks for is written, and watched until it is
//! ready.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{
    Action, Course, DISRUPTION_DELAY, Decision, Failure, INSTALL_TIMEOUT, InstallOutcome,
    PODS_DELAY, SETTLE_TIME, Situation, checks, renewal, replacing, status,
};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::lifecycle::install::state::{ApiServices, Installation};
use crate::lifecycle::{group_status, replacement};

pub(super) const COMPLETED: &str = "install strategy completed with no errors";

/// How the components of an operator are, as phases see it.
pub(super) enum Health {
    /// All is as it should be.
    Good,
    /// Something has to be written again.
    Differs(String),
    /// Waiting will not help.
    Stuck(String),
    /// Pods of an API are being moved; nothing is wrong.
    Disrupted,
    /// Deployments are not ready.
    Waiting(String),
    /// Deployments are not ready, because their Pods fail.
    Failing(String),
    /// All is ready, but an API is not served.
    Unserved(String),
}

impl Health {
    pub(super) fn of(situation: &Situation<'_>) -> Self {
        match (situation.installation, situation.served_apis) {
            (Installation::Stuck { message }, _) => Self::Stuck(message.clone()),
            (Installation::Differs { message }, _) => Self::Differs(message.clone()),
            (
                _,
                ApiServices::Unavailable {
                    since_disruption: true,
                    ..
                },
            ) => Self::Disrupted,
            (
                Installation::Waiting {
                    message,
                    is_failing: true,
                },
                _,
            ) => Self::Failing(message.clone()),
            (Installation::Waiting { message, .. }, _) => Self::Waiting(message.clone()),
            (Installation::Ready, ApiServices::Unavailable { message, .. }) => {
                Self::Unserved(message.clone())
            }
            (Installation::Ready, ApiServices::Fine) => Self::Good,
        }
    }
}

/// A Deployment that is stuck; the same in all phases.
pub(super) fn stuck(message: &str) -> Course {
    let message = format!("install failed: {message}");
    Course::failed(CsvReason::InstallCheckFailed, message)
}

/// All is ready. What the operator may still wonder about is told beside it.
pub(super) fn succeeded(situation: &Situation<'_>) -> Course {
    let mut groups = situation.groups.iter();
    let trouble = groups.find_map(|group| group_status::trouble_with_targets(group));
    let contested = situation.contested.map(|it| it.message.as_str());
    let troubles = trouble.into_iter().chain(contested);
    let message = troubles.fold(COMPLETED.to_owned(), |message, trouble| {
        format!("{message}; but {trouble}")
    });
    Course {
        look_again: situation.contested.map(|it| it.rest),
        ..Course::to(CsvPhase::Succeeded, CsvReason::InstallSucceeded, message)
    }
}

pub(super) fn unserved(message: &str) -> String {
    format!("apiServices not installed: {message}")
}

/// InstallReady: there is nothing to wait for.
pub(super) fn ready(situation: &Situation<'_>) -> Course {
    match checks::strategy(situation).and_then(|_| checks::deployments(situation)) {
        Ok(()) => Course::stay().and(Action::Install),
        Err(course) => *course,
    }
}

pub(super) fn after_install(
    csv: &ClusterServiceVersion,
    outcome: &InstallOutcome,
    now: &Time,
) -> Decision {
    let is_replaced = replacement::phase(csv) == CsvPhase::Replacing;
    let course = match outcome {
        InstallOutcome::Failed { message, .. } if is_replaced => {
            replacing::not_put_right(csv, message)
        }
        InstallOutcome::Failed { message, failure } => failed(message, *failure),
        InstallOutcome::Done { .. } if is_replaced => {
            replacing::put_right(csv).look_again(SETTLE_TIME)
        }
        InstallOutcome::Done { .. } => Course::to(
            CsvPhase::Installing,
            CsvReason::InstallSucceeded,
            "waiting for install components to report healthy",
        )
        .look_again(SETTLE_TIME),
    };
    let mut decision = status::decide(csv, course, now);
    decision.status = renewal::with_times(csv, decision.status, outcome, now);
    decision
}

/// Says what went wrong, and what has to change before it is tried again.
fn failed(message: &str, failure: Failure) -> Course {
    let message = format!("install strategy failed: {message}");
    let again = match failure {
        Failure::Passing => return Course::failed(CsvReason::InstallComponentFailed, message),
        Failure::Forbidden => {
            "it is tried again when the ServiceAccount of the OperatorGroup, or what that may do, \
             changes, and from time to time"
        }
        Failure::Refused => {
            "mend the object in the ClusterServiceVersion or in spec.config of the Subscription, or \
             the policy or webhook of the cluster that refuses it; it is tried again when one of the \
             first two or a CRD of the operator changes, and from time to time"
        }
        Failure::Senseless => {
            "it is tried again when the ClusterServiceVersion, spec.config of the Subscription or a \
             CRD of the operator changes"
        }
    };
    let message = format!("{message}; {again}");
    Course::failed(CsvReason::InstallComponentFailedNoRetry, message)
}

pub(super) fn step(situation: &Situation<'_>) -> Course {
    if let Err(course) = checks::strategy(situation) {
        return *course;
    }
    let elapsed = elapsed(situation);
    let left = INSTALL_TIMEOUT.saturating_sub(elapsed.unwrap_or_default());
    let waiting = |reason: CsvReason, message: String| {
        Course::to(CsvPhase::Installing, reason, message).look_again(PODS_DELAY.min(left))
    };
    match Health::of(situation) {
        Health::Good => succeeded(situation),
        Health::Stuck(message) => stuck(&message),
        Health::Differs(message) => match elapsed.and_then(|it| SETTLE_TIME.checked_sub(it)) {
            Some(rest) if !rest.is_zero() => Course::stay().look_again(rest),
            _ => {
                let message = format!("installing: {message}");
                Course::to(CsvPhase::InstallReady, CsvReason::InstallWaiting, message)
            }
        },
        Health::Disrupted if left.is_zero() => Course::failed(
            CsvReason::InstallCheckFailed,
            timeout("Pods were being moved"),
        ),
        Health::Disrupted => Course::stay().look_again(DISRUPTION_DELAY.min(left)),
        Health::Waiting(message) | Health::Failing(message) if left.is_zero() => {
            Course::failed(CsvReason::InstallCheckFailed, timeout(&message))
        }
        Health::Waiting(message) => {
            waiting(CsvReason::InstallWaiting, format!("installing: {message}"))
        }
        Health::Failing(message) => waiting(
            CsvReason::ComponentUnhealthy,
            format!("installing: {message}"),
        ),
        Health::Unserved(message) if left.is_zero() => Course::failed(
            CsvReason::APIServiceInstallFailed,
            format!("APIService install failed: {message}"),
        ),
        Health::Unserved(message) => waiting(CsvReason::InstallWaiting, unserved(&message)),
    }
}

fn timeout(message: &str) -> String {
    format!(
        "install timeout: {message}; look at the Pods of the Deployment and at their logs, it goes \
         on by itself once they are ready"
    )
}

/// For how long it has been installing, if that is known.
fn elapsed(situation: &Situation<'_>) -> Option<Duration> {
    let since = situation.status()?.last_transition_time.as_ref()?;
    let elapsed = situation.now.0.duration_since(since.0);
    Some(Duration::try_from(elapsed).unwrap_or_default())
}
