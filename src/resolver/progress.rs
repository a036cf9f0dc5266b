//! How far the installation of a ClusterServiceVersion is.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::request::Progress;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, CsvReason};

/// How long a version may lack what it requires until it counts as failed. What it lacks may come
/// a moment later, and the next version must not be taken before this one had its turn.
const PATIENCE: Duration = Duration::from_mins(1);

/// How far a version is at this time, or at the time when its status was written.
pub(super) fn progress(csv: &ClusterServiceVersion, now: Option<&Time>) -> Progress {
    let Some(status) = &csv.status else {
        return Progress::Underway;
    };
    match (&status.phase, &status.reason) {
        (CsvPhase::Succeeded, _) => Progress::Succeeded,
        // Where its Pods fail, what comes next may be what mends it.
        (CsvPhase::Failed, _) | (CsvPhase::Installing, CsvReason::ComponentUnhealthy) => {
            Progress::Failed
        }
        // So may it be if this one requires what there is not.
        _ => match now.and_then(|now| lacks_for(csv, now)) {
            Some(time) if time >= PATIENCE => Progress::Failed,
            _ => Progress::Underway,
        },
    }
}

/// After which time the first of some versions counts as failed because it lacks what it requires.
pub fn fails_after(csvs: &[ClusterServiceVersion], now: &Time) -> Option<Duration> {
    let lacking = csvs.iter().filter_map(|csv| lacks_for(csv, now));
    let left = lacking.filter_map(|time| PATIENCE.checked_sub(time));
    left.filter(|left| !left.is_zero()).min()
}

/// How long a version lacks what it requires, if it does.
fn lacks_for(csv: &ClusterServiceVersion, now: &Time) -> Option<Duration> {
    let status = csv.status.as_ref()?;
    let last = status.conditions.last()?;
    let lacks = |phase: &CsvPhase, reason: &CsvReason| {
        *phase == CsvPhase::Pending && *reason == CsvReason::RequirementsNotMet
    };
    if !lacks(&status.phase, &status.reason) || !lacks(&last.phase, &last.reason) {
        return None;
    }
    // The history has an entry when the reason changes, not when the message does.
    let since = last.last_update_time.as_ref()?;
    let time = now.0.duration_since(since.0);
    // A clock that is behind has seen no time pass.
    Some(Duration::try_from(time).unwrap_or_default())
}
