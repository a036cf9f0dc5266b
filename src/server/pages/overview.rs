//! What a package is and how to install it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::failure::Failure;
use super::frame::{Frame, PackageChoice, Tab};
use super::markdown;
use super::name::Name;
use super::shell::Shell;
use super::words::{self, Choice};
use crate::catalog::text::plain;
use crate::server::hub::views::{InstallCommand, InstallManifests, InstallModeName};
use crate::server::hub::{Hub, InstallQuery, blocking};

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    shell: Shell,
    frame: Frame,
    /// Clean HTML.
    description: String,
    install: Option<InstallManifests>,
    /// Why there is nothing to install it with.
    install_problem: String,
    ways: Vec<Way>,
    notes: Vec<String>,
    modes: Vec<Choice>,
}

/// A tool, and what to do with it.
struct Way {
    tool: String,
    steps: Vec<InstallCommand>,
}

pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    Name(package): Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let choice = PackageChoice::parse(query.as_deref());
    let work = move || {
        let frame = Frame::load(&hub, &package, &choice, Tab::Overview)?;
        let install = hub.install(&package, Some(frame.catalog()), &wish(&frame, &choice));
        let (install, install_problem) = match install {
            Ok(install) => (Some(install), String::new()),
            Err(error) => {
                let said = [error.message.as_str(), error.hint.as_str()];
                (None, said.map(words::sentence).join(" "))
            }
        };
        let modes = modes(&frame, install.as_ref());
        Ok(OverviewPage {
            shell: Frame::shell(&hub),
            description: markdown::to_html(&plain(&frame.version.about.description)),
            ways: install
                .iter()
                .flat_map(|install| ways(&install.commands))
                .collect(),
            notes: install
                .iter()
                .flat_map(|install| &install.notes)
                .map(|note| words::sentence(note))
                .collect(),
            modes,
            frame,
            install,
            install_problem,
        })
    };
    super::html(&blocking(work).await?)
}

fn wish(frame: &Frame, choice: &PackageChoice) -> InstallQuery {
    let named = choice.mode.as_deref();
    let mode = InstallModeName::ALL
        .into_iter()
        .find(|mode| Some(mode.as_str()) == named);
    InstallQuery {
        channel: Some(frame.channel.name.clone()),
        version: Some(frame.version.summary.name.clone()),
        namespace: choice.namespace.clone(),
        // Another version may not support what was chosen for the one before.
        install_mode: mode.filter(|mode| frame.version.summary.install_modes.contains(mode)),
        approval: None,
    }
}

fn modes(frame: &Frame, install: Option<&InstallManifests>) -> Vec<Choice> {
    let chosen = install.map(|install| install.install_mode);
    let supported = &frame.version.summary.install_modes;
    let choices = supported.iter().map(|mode| Choice {
        value: mode.as_str().to_owned(),
        label: words::mode_label(*mode).to_owned(),
        selected: Some(*mode) == chosen,
    });
    choices.collect()
}

/// Commands by tool, in their order.
fn ways(commands: &[InstallCommand]) -> Vec<Way> {
    let mut ways: Vec<Way> = Vec::new();
    for command in commands {
        match ways.iter_mut().find(|way| way.tool == command.tool) {
            Some(way) => way.steps.push(command.clone()),
            None => ways.push(Way {
                tool: command.tool.clone(),
                steps: vec![command.clone()],
            }),
        }
    }
    ways
}
