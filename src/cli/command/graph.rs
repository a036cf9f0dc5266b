//! `chandler graph`

use crate::catalog::fbc::PackageBlobs;
use crate::catalog::graph::Graph;
use crate::cli::args::catalog::Graph as Args;
use crate::cli::args::output::{Output, Picture};
use crate::cli::failure::Failure;
use crate::cli::printer;
use crate::cli::session::{Session, wait};
use crate::publish::Input;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let input = Input::parse(&args.catalog)?;
    let session = Session::new(&args.registry)?;
    let renderer = session.renderer();
    let found = wait(async { Ok(renderer.render(&input).await?) })?;
    let Some(blobs) = found.catalog.packages.get(&args.package) else {
        let error = anyhow::anyhow!("{} has no package `{}`", args.catalog, args.package);
        let names: Vec<&str> = found.catalog.packages.keys().map(String::as_str).collect();
        return Err(Failure::no(error).hint(similar(&args.package, &names)));
    };
    let graph = match &args.channel {
        None => Graph::of_package(&args.package, blobs),
        Some(name) => of_channel(args, blobs, name)?,
    };
    match args.output {
        Picture::Dot => printer::data(&graph.to_dot()),
        Picture::Mermaid => printer::data(&graph.to_mermaid()),
        Picture::Json => printer::structured(&graph.to_json(), Output::Json),
    }
}

fn of_channel(args: &Args, blobs: &PackageBlobs, name: &str) -> Result<Graph, Failure> {
    let Some(channel) = blobs.channel(name) else {
        let error = anyhow::anyhow!("package `{}` has no channel `{name}`", args.package);
        let names: Vec<&str> = blobs.channels.iter().map(|c| c.name.as_str()).collect();
        return Err(Failure::no(error).hint(similar(name, &names)));
    };
    Ok(Graph::of_channel(channel, &blobs.versions()))
}

/// What somebody may have meant.
fn similar(wanted: &str, names: &[&str]) -> String {
    const MANY: usize = 10;
    let near: Vec<&str> = names
        .iter()
        .filter(|name| name.contains(wanted) || wanted.contains(**name))
        .copied()
        .collect();
    let shown = if near.is_empty() { names } else { &near };
    let more = shown.len().saturating_sub(MANY);
    let shown: Vec<String> = shown.iter().take(MANY).map(|n| format!("`{n}`")).collect();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("there are {}{more}", shown.join(", "))
}
