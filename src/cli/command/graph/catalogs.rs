//! A package as catalogs have it, also if it is broken: what nothing is installed of has no other graph.

use super::{Drawn, Package, graph};
use crate::catalog::graph::Marks;
use crate::cli::args::plan::Graph as Args;
use crate::cli::failure::Failure;
use crate::cli::session::{Session, wait};
use crate::cli::situation::{Named, unless_none_can_be_read};
use crate::cli::{printer, similar};
use crate::publish::{Input, Rendered};

pub(super) fn draw(args: &Args) -> Result<Drawn, Failure> {
    let catalogs = read(args)?;
    let has = |found: &&Rendered| found.catalog.packages.contains_key(&args.package);
    let mut having = catalogs.iter().filter(has);
    let found = having.next();
    let blobs = found.and_then(|found| found.catalog.packages.get(&args.package));
    let Some(blobs) = blobs else {
        let names = args.situation.catalog.join(", ");
        let error = anyhow::anyhow!("{names} has no package `{}`", args.package);
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
    let package = Package {
        channels: blobs.channels.clone(),
        versions: blobs.versions(),
    };
    Ok(Drawn {
        graph: graph(args, &package, Marks::default())?,
        said: Vec::new(),
    })
}

fn read(args: &Args) -> Result<Vec<Rendered>, Failure> {
    let sources = args.situation.catalog.iter();
    let sources: Vec<Named> = sources.map(|text| Named::parse(text)).collect();
    let session = Session::new(&args.registry)?;
    let renderer = session.renderer();
    wait(async {
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
    })
}
