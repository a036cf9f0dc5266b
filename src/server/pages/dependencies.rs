//! What a version needs, and who needs it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::drawing::DependencyDrawing;
use super::failure::Failure;
use super::frame::{Frame, PackageChoice, Tab};
use super::name::Name;
use super::shell::Shell;
use crate::server::hub::views::DependencyGraph;
use crate::server::hub::{Hub, blocking};

#[derive(Template)]
#[template(path = "dependencies.html")]
struct DependenciesPage {
    shell: Shell,
    frame: Frame,
    graph: DependencyGraph,
    drawing: Option<DependencyDrawing>,
}

pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    Name(package): Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let choice = PackageChoice::parse(query.as_deref());
    let work = move || {
        let frame = Frame::load(&hub, &package, &choice, Tab::Dependencies)?;
        let bundle = frame.version.summary.name.as_str();
        let graph = hub.dependencies(&package, Some(frame.catalog()), Some(bundle))?;
        Ok(DependenciesPage {
            shell: Frame::shell(&hub),
            drawing: DependencyDrawing::of(&graph, frame.number_of_version()),
            frame,
            graph,
        })
    };
    super::html(&blocking(work).await?)
}
