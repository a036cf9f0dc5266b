//! What a version may do in a cluster.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::failure::Failure;
use super::frame::{Frame, PackageChoice, Tab};
use super::name::Name;
use super::rights::{self, Right};
use super::shell::Shell;
use super::words::Tally;
use crate::server::hub::views::{Danger, Knowledge};
use crate::server::hub::{Hub, blocking};

#[derive(Template)]
#[template(path = "permissions.html")]
struct PermissionsPage {
    shell: Shell,
    frame: Frame,
    grave: Vec<Right>,
    /// There may be hundreds of these.
    low: Vec<Right>,
    tally: Vec<Tally>,
    unknown: Option<String>,
}

pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    Name(package): Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let frame = framed(&hub, package, query.as_deref(), Tab::Permissions).await?;
    let (name, bundle) = (&frame.page.card.name, &frame.version.summary.name);
    let permissions = hub
        .permissions(name, Some(frame.catalog()), Some(bundle))
        .await?;
    let rights = Right::all(&permissions.permissions).into_iter();
    let (low, grave) = rights.partition(|right| right.of.danger == Danger::Low);
    super::html(&PermissionsPage {
        shell: Frame::shell(&hub),
        grave,
        low,
        tally: rights::tally(&permissions.permissions),
        unknown: why_unknown(permissions.knowledge),
        frame,
    })
}

/// The frame of a tab that has more to wait for.
pub(super) async fn framed(
    hub: &Arc<Hub>,
    package: String,
    query: Option<&str>,
    tab: Tab,
) -> Result<Frame, Failure> {
    let choice = PackageChoice::parse(query);
    let hub = hub.clone();
    Ok(blocking(move || Frame::load(&hub, &package, &choice, tab)).await?)
}

/// Why not everything is known, if that is so.
pub(super) fn why_unknown(knowledge: Knowledge) -> Option<String> {
    match knowledge {
        Knowledge::Complete => None,
        Knowledge::Partial { why } => Some(why),
    }
}
