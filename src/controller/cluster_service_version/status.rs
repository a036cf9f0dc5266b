//! What is written to a ClusterServiceVersion itself.

use kube::api::Patch;
use kube::runtime::events::EventType;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::Value;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::status::ClusterServiceVersionStatus;
use crate::api::conditions::{CsvPhase, CsvReason};
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::run::patching;
use crate::lifecycle::phase::{self, Decision};

/// What goes wrong beside the phase of a ClusterServiceVersion, and what its status says of that. Phases are decided
/// by messages without it.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    now: Vec<String>,
    told: Option<String>,
}

impl Troubles {
    /// Takes note of something.
    pub(super) fn note(&mut self, trouble: String) {
        if !self.now.contains(&trouble) {
            self.now.push(trouble);
        }
    }

    /// Takes what is told of troubles out of the message, and keeps it in mind.
    pub(super) fn set_apart(&mut self, csv: &mut ClusterServiceVersion) {
        let Some(status) = &mut csv.status else {
            return;
        };
        if let (message, Some(told)) = phase::without_trouble(&status.message) {
            self.told = Some(told.to_owned());
            status.message = message.to_owned();
        }
    }

    fn words(&self) -> Option<String> {
        (!self.now.is_empty()).then(|| self.now.join("; "))
    }
}

/// Writes the status that was decided on, if there is one, and tells of it.
pub(super) async fn write(
    context: &Context,
    csv: ClusterServiceVersion,
    decision: &Decision,
    troubles: &mut Troubles,
) -> Result<ClusterServiceVersion, Error> {
    let Some(status) = &decision.status else {
        return Ok(csv);
    };
    let before = csv.status.as_ref().map(|it| &it.phase);
    let makes_room = status.phase == CsvPhase::Replacing
        && before.is_some_and(|before| *before != CsvPhase::Replacing);
    let csv = put(context, csv, status.clone(), troubles).await?;
    // One that could not be written is decided on again.
    if makes_room {
        context.metrics.csv_upgrades.inc();
    }
    for event in &decision.events {
        let reason = event.reason.as_str();
        tell(context, &csv, event.warning, reason, &event.message).await;
    }
    Ok(csv)
}

/// Writes what goes wrong beside the phase, if the status says something else.
pub(super) async fn write_troubles(
    context: &Context,
    mut csv: ClusterServiceVersion,
    troubles: &mut Troubles,
) -> Result<ClusterServiceVersion, Error> {
    troubles.set_apart(&mut csv);
    let words = troubles.words();
    let Some(mut status) = csv.status.clone().filter(|_| troubles.told != words) else {
        return Ok(csv);
    };
    status.last_update_time = Some(context.now());
    let csv = put(context, csv, status, troubles).await?;
    if let Some(words) = &words {
        let reason = CsvReason::ComponentUnhealthy;
        tell(context, &csv, true, reason.as_str(), words).await;
    }
    Ok(csv)
}

async fn put(
    context: &Context,
    mut csv: ClusterServiceVersion,
    mut status: ClusterServiceVersionStatus,
    troubles: &mut Troubles,
) -> Result<ClusterServiceVersion, Error> {
    let words = troubles.words();
    status.message = phase::with_trouble(&status.message, words.as_deref());
    csv.status = Some(status);
    let mut csv = context.write_status(&csv).await?;
    troubles.told = words;
    troubles.set_apart(&mut csv);
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
