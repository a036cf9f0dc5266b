//! What a ClusterServiceVersion is checked for before it is installed.

use super::{Course, Situation, webhooks};
use crate::api::conditions::CsvReason;
use crate::lifecycle::owner_conflicts;
use crate::lifecycle::requirements::Requirements;

/// Whether the install strategy can be read.
pub(super) fn strategy<'a>(situation: &Situation<'a>) -> Result<&'a Requirements, Course> {
    situation.requirements.as_ref().map_err(|error| {
        let message = format!("install strategy invalid: {error}");
        Course::failed(CsvReason::InvalidInstallStrategy, message)
    })
}

/// Whether the operator may be installed as far as it alone is concerned: webhooks that make sense,
/// and APIs that belong to nobody else.
pub(super) fn content(situation: &Situation<'_>) -> Result<(), Course> {
    let csv = situation.csv;
    if let Err(error) = webhooks::check(&csv.spec.webhook_definitions) {
        let reason = CsvReason::InvalidWebhookDescription;
        return Err(Course::failed(reason, error.to_string()));
    }
    match owner_conflicts::find(csv, situation.lineage, situation.api_services) {
        Some(conflict) => Err(Course::failed(
            CsvReason::OwnerConflict,
            conflict.to_string(),
        )),
        None => Ok(()),
    }
}
