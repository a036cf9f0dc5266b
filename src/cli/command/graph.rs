//! `chandler graph`

mod dependencies;

use crate::catalog::fbc::PackageBlobs;
use crate::catalog::graph::Graph;
use crate::cli::args::catalog::Graph as Args;
use crate::cli::args::output::{Output, Picture};
use crate::cli::failure::Failure;
use crate::cli::session::{Session, wait};
use crate::cli::situation::Named;
use crate::cli::{printer, similar};
use crate::publish::{Input, Rendered};

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if args.dependencies {
        return dependencies::run(args);
    }
    let sources: Vec<Named> = args.catalog.iter().map(|text| Named::parse(text)).collect();
    let inputs: Vec<Input> = sources
        .iter()
        .map(|named| Input::parse(&named.source))
        .collect::<Result<_, _>>()?;
    let session = Session::new(&args.registry)?;
    let renderer = session.renderer();
    let rendered: Vec<Rendered> = wait(async {
        let mut all = Vec::new();
        for input in &inputs {
            all.push(renderer.render(input).await?);
        }
        Ok(all)
    })?;
    let has = |found: &&Rendered| found.catalog.packages.contains_key(&args.package);
    let mut having = rendered.iter().filter(has);
    let found = having.next();
    let blobs = found.and_then(|found| found.catalog.packages.get(&args.package));
    let Some(blobs) = blobs else {
        let error = anyhow::anyhow!(
            "{} has no package `{}`",
            args.catalog.join(", "),
            args.package
        );
        let names: Vec<&str> = rendered
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
        Picture::Text => printer::data(&text(&graph)),
    }
}

/// A line for each bundle, the newest first, with what it can be upgraded to.
fn text(graph: &Graph) -> String {
    let heads = graph.heads();
    let nodes: Vec<_> = graph.nodes().collect();
    let lines = nodes.iter().rev().map(|node| {
        let channels: Vec<&str> = node.channels.iter().map(String::as_str).collect();
        let place = if channels.is_empty() {
            "not listed".to_owned()
        } else {
            channels.join(", ")
        };
        let head = if heads.contains(&node.name.as_str()) {
            ", head"
        } else {
            ""
        };
        let steps = graph.upgrades(&node.name);
        let steps: String = steps
            .iter()
            .map(|step| format!("\n  {} {}", step.kind.words(), step.to))
            .collect();
        let line = format!("{} ({place}{head})", node.name);
        let shown: Vec<_> = steps.lines().map(printer::visible).collect();
        format!("{}{}\n", printer::visible(&line), shown.join("\n"))
    });
    lines.collect()
}

fn of_channel(args: &Args, blobs: &PackageBlobs, name: &str) -> Result<Graph, Failure> {
    let Some(channel) = blobs.channel(name) else {
        let error = anyhow::anyhow!("package `{}` has no channel `{name}`", args.package);
        let names: Vec<&str> = blobs.channels.iter().map(|c| c.name.as_str()).collect();
        return Err(Failure::no(error).hint(similar::or_all(name, &names)));
    };
    Ok(Graph::of_channel(channel, &blobs.versions()))
}
