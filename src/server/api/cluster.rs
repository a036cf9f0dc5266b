//! What runs in the cluster, now and as it changes.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde::Serialize;
use utoipa::ToSchema;

use super::error::{ApiError, Code, Problems};
use super::limits::Turns;
use super::request::Asked;
use super::respond;
use crate::server::hub::views::Installation;
use crate::server::hub::{Hub, blocking};
use crate::server::limits::GoesOn;

/// Changes that come together are told together.
const PAUSE: Duration = Duration::from_millis(500);
const HEARTBEAT: Duration = Duration::from_secs(15);

/// What is installed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Installations {
    /// Whether there is a cluster at all.
    is_attached: bool,
    /// What is installed in it.
    installations: Vec<Installation>,
}

impl Installations {
    fn of(hub: &Hub) -> Self {
        let installations = hub.installations();
        Self {
            is_attached: installations.is_some(),
            installations: installations.unwrap_or_default(),
        }
    }
}

/// What is installed in the cluster
#[utoipa::path(
    get, path = "/api/v1/installations", operation_id = "list_installations", tag = "cluster",
    responses((status = 200, body = Installations), Problems),
)]
pub(super) async fn list_installations(
    State(hub): State<Arc<Hub>>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let installations = blocking(move || Ok(Installations::of(&hub))).await?;
    respond::json(&asked.headers, &installations)
}

/// What is installed in the cluster, now and whenever it changes, as server-sent events
#[utoipa::path(
    get, path = "/api/v1/events", operation_id = "watch_installations", tag = "cluster",
    responses((status = 200, body = String, content_type = "text/event-stream"), Problems),
)]
pub(super) async fn watch_installations(
    State(hub): State<Arc<Hub>>,
    State(turns): State<Turns>,
    asked: Asked,
) -> Result<Response, ApiError> {
    asked.only(&[])?;
    let Some(mut changes) = hub.supply().changes() else {
        let error = ApiError::new(Code::NotFound, "there is no cluster to watch");
        return Err(error.hint("only `chandler run` has one"));
    };
    let turn = turns.watcher()?;
    changes.mark_changed();
    let events = stream::unfold(
        (hub, changes, turn),
        |(hub, mut changes, turn)| async move {
            // The sender goes when the process does.
            changes.changed().await.ok()?;
            tokio::time::sleep(PAUSE).await;
            changes.borrow_and_update();
            let of = hub.clone();
            let now = blocking(move || Ok(Installations::of(&of))).await.ok()?;
            let event = Event::default().event("installations");
            let event = event.json_data(&now).ok()?;
            Some((Ok::<_, Infallible>(event), (hub, changes, turn)))
        },
    );
    let alive = KeepAlive::new().interval(HEARTBEAT);
    Ok((Extension(GoesOn), Sse::new(events).keep_alive(alive)).into_response())
}
