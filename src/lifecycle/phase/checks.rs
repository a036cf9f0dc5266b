//! What a ClusterServiceVersion is checked for before it is installed.

use super::course::Check;
use super::{Course, Situation, webhooks};
use crate::api::conditions::CsvReason;
use crate::lifecycle::owner_conflicts::{self, OwnerConflict};
use crate::lifecycle::requirements::Requirements;

/// Whether the install strategy can be read.
pub(super) fn strategy<'a>(situation: &Situation<'a>) -> Check<&'a Requirements> {
    situation.requirements.as_ref().map_err(|error| {
        let message = format!("install strategy invalid: {error}");
        Box::new(Course::failed(CsvReason::InvalidInstallStrategy, message))
    })
}

/// Whether the operator may be installed as far as it alone is concerned: webhooks that make sense,
/// and APIs that belong to nobody else.
pub(super) fn content(situation: &Situation<'_>) -> Check<()> {
    let csv = situation.csv;
    if let Err(error) = webhooks::check(&csv.spec.webhook_definitions) {
        let reason = CsvReason::InvalidWebhookDescription;
        return Err(Box::new(Course::failed(reason, error.to_string())));
    }
    no_conflict(owner_conflicts::find(
        csv,
        situation.lineage,
        situation.api_services,
    ))
}

/// Whether the Deployments of an operator that is about to write them belong to nobody else.
pub(super) fn deployments(situation: &Situation<'_>) -> Check<()> {
    let conflict = owner_conflicts::find_deployment(situation.csv, situation.lineage);
    no_conflict(conflict)
}

fn no_conflict(conflict: Option<OwnerConflict>) -> Check<()> {
    conflict.map_or(Ok(()), |conflict| {
        let message = conflict.to_string();
        Err(Box::new(Course::failed(CsvReason::OwnerConflict, message)))
    })
}
