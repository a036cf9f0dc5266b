//! `chandler graph`

mod catalogs;
mod dependencies;
mod installed;
mod text;
mod way;

use std::collections::BTreeMap;

use crate::catalog::fbc::Channel;
use crate::catalog::graph::{Graph, Marks};
use crate::cli::args::output::{Output, Picture};
use crate::cli::args::plan::Graph as Args;
use crate::cli::failure::Failure;
use crate::cli::{printer, similar};
use crate::version::Version;

/// What there is of a package.
struct Package {
    channels: Vec<Channel>,
    /// By the names of its bundles.
    versions: BTreeMap<String, Version>,
}

/// A graph, and what there is to say about it.
struct Drawn {
    graph: Graph,
    /// For people, a line each.
    said: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.dependencies {
        return dependencies::run(args);
    }
    let situation = &args.situation;
    let is_about_catalogs = !situation.catalog.is_empty()
        && situation.installed.is_none()
        && args.subscriptions.is_none();
    let drawn = if is_about_catalogs {
        catalogs::draw(args)?
    } else {
        installed::draw(args)?
    };
    let Drawn { graph, said } = drawn;
    if args.output == Picture::Text {
        return printer::data(&text::text(&graph, &said));
    }
    for line in &said {
        printer::say(line);
    }
    match args.output {
        Picture::Dot => printer::data(&graph.to_dot()),
        Picture::Mermaid => printer::data(&graph.to_mermaid()),
        Picture::Yaml => printer::structured(&graph.to_json(), Output::Yaml),
        Picture::Json | Picture::Text => printer::structured(&graph.to_json(), Output::Json),
    }
}

/// The graph of the channels that are asked for.
fn graph(args: &Args, package: &Package, marks: Marks) -> Result<Graph, Failure> {
    let Some(wanted) = &args.channel else {
        let (channels, versions) = (&package.channels, &package.versions);
        return Ok(Graph::marked(&args.package, channels, versions, marks));
    };
    let mut channels = package.channels.iter();
    let Some(channel) = channels.find(|channel| channel.name == *wanted) else {
        let error = anyhow::anyhow!("package `{}` has no channel `{wanted}`", args.package);
        let names = package.channels.iter().map(|channel| channel.name.as_str());
        let names: Vec<&str> = names.collect();
        return Err(Failure::no(error).hint(similar::or_all(wanted, &names)));
    };
    let channel = std::slice::from_ref(channel);
    Ok(Graph::marked(
        &args.package,
        channel,
        &package.versions,
        marks,
    ))
}
