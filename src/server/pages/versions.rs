//! All versions of a package, and how they lead to each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use super::drawing::UpgradeDrawing;
use super::failure::Failure;
use super::frame::{Frame, PackageChoice, Tab};
use super::name::Name;
use super::shell::Shell;
use crate::server::hub::views::{UpgradeGraph, VersionSummary};
use crate::server::hub::{Hub, blocking, listed};

#[derive(Template)]
#[template(path = "versions.html")]
struct VersionsPage {
    shell: Shell,
    frame: Frame,
    drawing: UpgradeDrawing,
    /// Where the chosen version leads, in words.
    direct: String,
    cycles: String,
    is_thinned: bool,
    is_unfolded: bool,
    unfold_link: String,
    fold_link: String,
    from: String,
    to: String,
}

pub(super) async fn page(
    State(hub): State<Arc<Hub>>,
    Name(package): Name,
    RawQuery(query): RawQuery,
) -> Result<Response, Failure> {
    let choice = PackageChoice::parse(query.as_deref());
    let work = move || {
        let frame = Frame::load(&hub, &package, &choice, Tab::Versions)?;
        let graph = hub.upgrade_graph(&package, Some(frame.catalog()), None)?;
        let heads = heads(&frame);
        let drawing = UpgradeDrawing::of(
            &graph,
            &heads,
            &frame.page.card.default_channel,
            &frame.version.summary.name,
            choice.all.is_some(),
        );
        Ok(VersionsPage {
            shell: Frame::shell(&hub),
            direct: direct(&frame, &graph),
            cycles: cycles(&graph),
            is_thinned: graph.is_thinned,
            is_unfolded: choice.all.is_some(),
            unfold_link: format!("{}#graph", frame.link_with("all", "yes")),
            fold_link: format!("{}#graph", frame.link(Tab::Versions)),
            from: older(&frame),
            to: frame.number_of_version().to_owned(),
            frame,
            drawing,
        })
    };
    super::html(&blocking(work).await?)
}

/// The version before the one that is looked at: what to compare it with.
pub(super) fn older(frame: &Frame) -> String {
    let versions = &frame.page.versions;
    let chosen = &frame.version.summary;
    let entry = frame
        .channel
        .entries
        .iter()
        .find(|entry| entry.name == chosen.name);
    let replaced = entry.and_then(|entry| versions.iter().find(|one| one.name == entry.replaces));
    let mut after = versions
        .iter()
        .skip_while(|one| one.name != chosen.name)
        .skip(1);
    let before = replaced.or_else(|| after.next()).unwrap_or(chosen);
    frame.number_of(before).to_owned()
}

/// The channels that each bundle is the head of.
fn heads(frame: &Frame) -> BTreeMap<String, Vec<String>> {
    let versions = frame.page.versions.iter();
    let heads = versions.filter(|version| !version.head_of.is_empty());
    heads
        .map(|version| (version.name.clone(), version.head_of.clone()))
        .collect()
}

/// Where the chosen version leads, and from where it is reached.
fn direct(frame: &Frame, graph: &UpgradeGraph) -> String {
    let number = |bundle: &String| {
        let known = frame
            .page
            .versions
            .iter()
            .find(|version| version.name == *bundle);
        known.map_or_else(
            || bundle.clone(),
            |version| frame.number_of(version).to_owned(),
        )
    };
    let chosen = &frame.version.summary.name;
    let some = |bundles: &[String]| {
        let mut numbers: Vec<String> = bundles.iter().map(number).collect();
        let more = numbers.len().saturating_sub(6);
        numbers.truncate(6);
        if more > 0 {
            numbers.push(format!("{more} more"));
        }
        listed(&numbers)
    };
    let version = frame.number_of_version();
    let onwards = match frame.version.upgrades_to.as_slice() {
        [] if graph.stuck.contains(chosen) => {
            format!("From {version} no upgrade leads to the newest version.")
        }
        [] => nothing_leads_on(frame),
        next => format!("{version} can be upgraded directly to {}.", some(next)),
    };
    let before = match frame.version.upgrades_from.as_slice() {
        [] => "No other version leads to it.".to_owned(),
        before => format!("It is reached directly from {}.", some(before)),
    };
    format!("{onwards} {before}")
}

/// Why no upgrade leads on from the version that is looked at.
fn nothing_leads_on(frame: &Frame) -> String {
    let version = frame.number_of_version();
    let chosen = &frame.version.summary.name;
    let newer = frame.page.versions.iter();
    let newer: Vec<&VersionSummary> = newer.take_while(|one| one.name != *chosen).collect();
    let Some(newest) = newer.first() else {
        return format!("There is nothing newer to upgrade {version} to.");
    };
    let channels = match newest.channels.as_slice() {
        [] => String::new(),
        [one] => format!(" in channel {one}"),
        many => format!(" in channels {}", listed(many)),
    };
    let others = match newer.len() {
        1 => "is a newer version".to_owned(),
        many => format!("and {} others are newer", many - 1),
    };
    format!(
        "No upgrade leads on from {version}: {}{channels} {others}, but whoever has {version} does not get there by upgrades.",
        frame.number_of(newest)
    )
}

fn cycles(graph: &UpgradeGraph) -> String {
    let cycles: Vec<String> = graph.cycles.iter().map(|cycle| listed(cycle)).collect();
    cycles.join("; ")
}
