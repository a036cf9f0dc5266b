//! What is written to a ClusterServiceVersion itself.

use kube::api::{Patch, PatchParams};
use kube::runtime::events::{Event, EventType};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::Value;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::run::{MANAGER, as_manager};
use crate::controller::words;
use crate::lifecycle::phase::Decision;

fn api(client: &Client, csv: &ClusterServiceVersion) -> Api<ClusterServiceVersion> {
    let namespace = csv.namespace().unwrap_or_default();
    Api::namespaced(client.clone(), &namespace)
}

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
    let written = api(&context.client, &csv)
        .replace_status(&csv.name_any(), &as_manager(), &csv)
        .await;
    let csv = written.map_err(Error::while_("writing the status"))?;
    for event in &decision.events {
        let reason = event.reason.as_str();
        tell(context, &csv, event.warning, reason, &event.message).await;
    }
    Ok(csv)
}

/// Tells of it by an Event. One that gets lost stops nothing.
pub(super) async fn tell(
    context: &Context,
    csv: &ClusterServiceVersion,
    is_warning: bool,
    reason: &str,
    message: &str,
) {
    let event = Event {
        type_: if is_warning {
            EventType::Warning
        } else {
            EventType::Normal
        },
        reason: reason.to_owned(),
        note: Some(words::note(message)),
        action: "Reconcile".to_owned(),
        secondary: None,
    };
    if let Err(error) = context.events.publish(&event, &csv.object_ref(&())).await {
        tracing::warn!(%error, "an Event could not be written");
    }
}

/// Changes something of it that is not the status.
pub(super) async fn patch(
    client: &Client,
    csv: &ClusterServiceVersion,
    patch: &Value,
    what: &str,
) -> Result<ClusterServiceVersion, Error> {
    let parameters = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    api(client, csv)
        .patch(&csv.name_any(), &parameters, &Patch::Merge(patch))
        .await
        .map_err(Error::while_(what))
}
