//! What is written to a ClusterServiceVersion itself.

use kube::api::Patch;
use kube::runtime::events::EventType;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::Value;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::run::patching;
use crate::lifecycle::phase::Decision;

/// Writes the status that was decided on, if there is one, and tells of it.
pub(super) async fn write(
    context: &Context,
    mut csv: ClusterServiceVersion,
    decision: &Decision,
) -> Result<ClusterServiceVersion, Error> {
    let Some(status) = &decision.status else {
        return Ok(csv);
    };
    if status.phase == CsvPhase::Replacing
        && csv
            .status
            .as_ref()
            .is_some_and(|it| it.phase != CsvPhase::Replacing)
    {
        context.metrics.csv_upgrades.inc();
    }
    csv.status = Some(status.clone());
    let csv = context.write_status(&csv).await?;
    for event in &decision.events {
        let reason = event.reason.as_str();
        tell(context, &csv, event.warning, reason, &event.message).await;
    }
    Ok(csv)
}

/// Tells of it by an Event.
pub(super) async fn tell(
    context: &Context,
    csv: &ClusterServiceVersion,
    is_warning: bool,
    reason: &str,
    message: &str,
) {
    let type_ = if is_warning {
        EventType::Warning
    } else {
        EventType::Normal
    };
    let about = csv.object_ref(&());
    context
        .tell(&about, type_, "Reconcile", reason, message)
        .await;
}

/// Changes something of it that is not the status.
pub(super) async fn patch(
    client: &Client,
    csv: &ClusterServiceVersion,
    patch: &Value,
    what: &str,
) -> Result<ClusterServiceVersion, Error> {
    let namespace = csv.namespace().unwrap_or_default();
    Api::<ClusterServiceVersion>::namespaced(client.clone(), &namespace)
        .patch(&csv.name_any(), &patching(), &Patch::Merge(patch))
        .await
        .map_err(Error::while_(what))
}
