//! A package with what is installed of it, and the way that goes from there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::way::Way;
use super::{Drawn, Package, graph};
use crate::catalog::fbc::Channel;
use crate::catalog::graph::Marks;
use crate::cli::args::plan::Graph as Args;
use crate::cli::command::explain::{read, subscription};
use crate::cli::failure::Failure;
use crate::cli::situation::{self, Asks, Situation};
use crate::cli::{printer, similar};
use crate::resolver::{self, CatalogKey, Install, Subscription};
use crate::version::Version;

/// A package, and the catalog that it is of.
pub(super) struct Found {
    pub(super) catalog: CatalogKey,
    pub(super) package: Arc<resolver::Package>,
}

impl Found {
    /// Whether a step is from here.
    pub(super) fn offers(&self, step: &Install) -> bool {
        self.catalog.name == step.catalog && self.catalog.namespace == step.catalog_namespace
    }
}

pub(super) fn draw(args: &Args) -> Result<Drawn, Failure> {
    let situation = situation::read(
        &args.situation,
        args.subscriptions.as_ref(),
        Asks::ForOne,
        &args.registry,
    )?;
    situation.warn_of_what_is_broken(&args.package);
    let wanted = subscription(&situation, &args.package, args.channel.as_deref());
    let way = Way::find(&situation, &wanted);
    let found = find(&situation, &wanted, &way)?;
    let package = Package::from(&*found.package);
    let marks = Marks {
        installed: present(&situation, &package, &way, &args.package),
        way: way.legs(),
    };
    let said = if marks.is_empty() {
        Vec::new()
    } else {
        way.told(&situation, &wanted, &found)
    };
    Ok(Drawn {
        graph: graph(args, &package, marks)?,
        said,
    })
}

/// The package to draw: of the catalog that the Subscription names, of the one that the next step is from,
/// of one that knows what is installed, or of the first.
fn find(situation: &Situation, wanted: &Subscription, way: &Way) -> Result<Found, Failure> {
    let name = wanted.package.as_str();
    let mut having: Vec<Found> = situation
        .catalogs
        .iter()
        .filter(|catalog| catalog.listing.curation.allows(name))
        .filter_map(|catalog| {
            Some(Found {
                catalog: catalog.listing.key.clone(),
                package: read(catalog, name)?,
            })
        })
        .collect();
    let next = way.course.steps.first();
    having.sort_by_cached_key(|found| {
        let is_named = found.catalog == wanted.catalog;
        let is_next = next.is_some_and(|next| found.offers(next));
        let knows = |csv: &String| found.package.bundle(csv).is_some();
        let knows_it = way.current.as_ref().is_some_and(knows);
        (!is_named, !is_next, !knows_it)
    });
    if let ([first, _, ..], true) = (having.as_slice(), wanted.catalog.is_empty()) {
        printer::warning(&format!(
            "several catalogs have package `{name}`; this is that of {}",
            first.catalog
        ));
    }
    let first = having.into_iter().next();
    first.ok_or_else(|| nobody_has_it(situation, name))
}

/// What to say and to do about a package that is nowhere.
fn nobody_has_it(situation: &Situation, name: &str) -> Failure {
    let mut names: Vec<String> = Vec::new();
    for catalog in &situation.catalogs {
        let key = &catalog.listing.key;
        if let Err(problem) = &catalog.contents {
            printer::warning(&format!("catalog {key} was not read: {problem}"));
        }
        let Some(snapshot) = catalog.snapshot() else {
            continue;
        };
        // What is wrong with it was said before.
        if snapshot.left_out(name).is_some() {
            let error = anyhow::anyhow!("package `{name}` of catalog {key} is broken and left out");
            return Failure::no(error).hint(format!(
                "`chandler graph {name} --catalog SOURCE` alone draws it as it is"
            ));
        }
        names.extend(snapshot.names());
    }
    if situation.catalogs.is_empty() {
        let error = anyhow::anyhow!("there is no catalog that could have package `{name}`");
        return Failure::no(error)
            .hint("name one with `--catalog SOURCE`, or make a CatalogSource");
    }
    let keys = situation.catalogs.iter();
    let keys: Vec<String> = keys.map(|open| open.listing.key.to_string()).collect();
    let keys = keys.join(", ");
    if names.iter().any(|known| known == name) {
        let error = anyhow::anyhow!("package `{name}` is in {keys}, but not offered");
        return Failure::no(error).hint(format!(
            "add it to spec.packages of the CatalogSource, or name the catalog: \
             `chandler graph {name} --catalog SOURCE`"
        ));
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let error = anyhow::anyhow!("{keys} has no package `{name}`");
    Failure::no(error).hint(similar::or_all(name, &names))
}

/// What is installed of the package: CSVs that say so, those that the catalog knows by their name, and the
/// one that the Subscription has, which may be of the package that it followed before.
fn present(
    situation: &Situation,
    package: &Package,
    way: &Way,
    name: &str,
) -> BTreeMap<String, Option<Version>> {
    let entries = package.channels.iter().flat_map(|channel| &channel.entries);
    let named: BTreeSet<&str> = entries
        .flat_map(|entry| entry.skips.iter().chain([&entry.name, &entry.replaces]))
        .map(String::as_str)
        .collect();
    let installed = situation.installed.iter().filter(|csv| {
        csv.package.as_deref() == Some(name)
            || named.contains(csv.name.as_str())
            || way.current.as_ref() == Some(&csv.name)
    });
    installed
        .map(|csv| (csv.name.clone(), csv.version.clone()))
        .collect()
}

impl From<&resolver::Package> for Package {
    fn from(found: &resolver::Package) -> Self {
        let channels = found.channels.iter().map(|channel| Channel {
            package: found.name.clone(),
            name: channel.name().to_owned(),
            entries: channel.entries().to_vec(),
            properties: Vec::new(),
        });
        let bundles = found.bundles.iter();
        Self {
            channels: channels.collect(),
            versions: bundles
                .filter_map(|bundle| Some((bundle.name.clone(), bundle.version.clone()?)))
                .collect(),
        }
    }
}
