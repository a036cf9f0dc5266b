//! Who needs what goes.

use super::fates::Fates;
use super::{Blocker, Reference};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::api::conditions::subscription::STILL_NEEDED;

/// How many of those who need something are told.
const TOLD: usize = 3;

/// Whether the operator runs, as far as anybody knows.
pub(super) fn is_running(csv: &ClusterServiceVersion) -> bool {
    let status = csv.status.as_ref();
    status.is_some_and(|status| status.phase == CsvPhase::Succeeded)
}

/// Operators that could not do without what goes: those who stay, and those who go before it.
pub(super) fn blockers(package: &str, fates: &Fates<'_>) -> Option<Blocker> {
    let users = fates.users();
    if users.is_empty() {
        return None;
    }
    let are_all_going = users.iter().all(|(.., is_going)| *is_going);
    let told = users.iter();
    let told = told.map(|(csv, need, _)| format!("{} needs {need}", Reference::csv(csv)));
    let mut told: Vec<String> = told.collect();
    told.sort();
    let more = told.len().saturating_sub(TOLD);
    told.truncate(TOLD);
    let mut message = told.join("; ");
    if more > 0 {
        message = format!("{message}; and {more} more");
    }
    let message = if are_all_going {
        format!("{message}, which only {package} has, and is being removed before it")
    } else {
        format!("{message}, which only {package} has; remove those who need it first, or keep it")
    };
    Some(Blocker {
        reason: STILL_NEEDED,
        message,
    })
}
