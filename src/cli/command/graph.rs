//! `chandler graph`

mod dependencies;

use crate::catalog::fbc::PackageBlobs;
use crate::catalog::graph::Graph;
use crate::cli::args::catalog::Graph as Args;
use crate::cli::args::output::{Output, Picture};
use crate::cli::failure::Failure;
use crate::cli::session::{Session, wait};
use crate::cli::situation::{Named, unless_none_can_be_read};
use crate::cli::{printer, similar};
use crate::publish::{Input, Rendered};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.dependencies {
        return dependencies::run(args);
    }
    let sources: Vec<Named> = args.catalog.iter().map(|text| Named::parse(text)).collect();
    let session = Session::new(&args.registry)?;
    let renderer = session.renderer();
    let catalogs: Vec<Rendered> = wait(async {
        let mut all = Vec::new();
        for Named { source, .. } in &sources {
            let read = match Input::parse(source) {
                Ok(input) => renderer.render(&input).await,
                Err(error) => Err(error),
            };
            all.push((source.clone(), read.map_err(Failure::from)));
        }
        let all = unless_none_can_be_read(all)?;
        Ok(all.into_iter().flatten().collect())
    })?;
    let has = |found: &&Rendered| found.catalog.packages.contains_key(&args.package);
    let mut having = catalogs.iter().filter(has);
    let found = having.next();
    let blobs = found.and_then(|found| found.catalog.packages.get(&args.package));
    let Some(blobs) = blobs else {
        let error = anyhow::anyhow!(
            "{} has no package `{}`",
            args.catalog.join(", "),
            args.package
        );
        let names: Vec<&str> = catalogs
            .iter()
            .flat_map(|found| found.catalog.packages.keys().map(String::as_str))
            .collect();
        return Err(Failure::no(error).hint(similar::or_all(&args.package, &names)));
    };
    if having.next().is_some() {
        printer::warning(&format!(
            "several catalogs have package `{}`; this is the first of them",
            args.package
        ));
    }
    let graph = match &args.channel {
        None => Graph::of_package(&args.package, blobs),
        Some(name) => of_channel(args, blobs, name)?,
    };
    match args.output {
        Picture::Dot => printer::data(&graph.to_dot()),
        Picture::Mermaid => printer::data(&graph.to_mermaid()),
        Picture::Json => printer::structured(&graph.to_json(), Output::Json),
        Picture::Yaml => printer::structured(&graph.to_json(), Output::Yaml),
        Picture::Text => printer::data(&text(&graph)),
    }
}

/// A line for each bundle, the newest first, and below it what it can be upgraded to.
fn text(graph: &Graph) -> String {
    let heads = graph.heads();
    let mut lines = Vec::new();
    let nodes: Vec<_> = graph.nodes().collect();
    for node in nodes.into_iter().rev() {
        let channels: Vec<&str> = node.channels.iter().map(String::as_str).collect();
        let place = if channels.is_empty() {
            "not listed".to_owned()
        } else {
            channels.join(", ")
        };
        let is_head = heads.contains(&node.name.as_str());
        let head = if is_head { ", head" } else { "" };
        lines.push(format!("{} ({place}{head})", node.name));
        let steps = graph.upgrades(&node.name);
        let steps = steps.iter();
        lines.extend(steps.map(|step| format!("  {} {}", step.kind.words(), step.to)));
    }
    let shown: Vec<_> = lines.iter().map(|line| printer::visible(line)).collect();
    shown.join("\n") + "\n"
}

fn of_channel(args: &Args, blobs: &PackageBlobs, name: &str) -> Result<Graph, Failure> {
    let Some(channel) = blobs.channel(name) else {
        let error = anyhow::anyhow!("package `{}` has no channel `{name}`", args.package);
        let names: Vec<&str> = blobs.channels.iter().map(|c| c.name.as_str()).collect();
        return Err(Failure::no(error).hint(similar::or_all(name, &names)));
    };
    Ok(Graph::of_channel(channel, &blobs.versions()))
}
