//! What a question to the resolver is about: catalogs, Subscriptions and what is installed, from
//! files or from a cluster.

mod catalogs;
mod manifests;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use kube::ResourceExt;

pub(super) use self::catalogs::{Named, Open};

use self::manifests::Manifests;
use super::args::plan::Situation as Args;
use super::args::registry::Registry;
use super::failure::Failure;
use super::printer;
use super::session::{Session, wait};
use crate::api::catalog_source::CatalogSource;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::subscription::Subscription as SubscriptionObject;
use crate::resolver::{
    self, Catalog, CatalogKey, Contents, Installed, ReadOut, Request, Snapshot, Subscription,
    Unreadable,
};
use crate::version::Version;

/// Where objects without a namespace are, when nobody says otherwise.
const DEFAULT_NAMESPACE: &str = "default";

/// All that decides what a namespace gets.
pub(super) struct Situation {
    pub(super) namespace: String,
    pub(super) exclude_global: bool,
    pub(super) global_namespaces: Vec<String>,
    pub(super) kube_version: Option<Version>,
    pub(super) catalogs: Vec<Open>,
    pub(super) installed: Vec<Installed>,
    pub(super) subscriptions: Vec<Subscription>,
    /// Subscriptions that cannot be understood.
    pub(super) broken: Vec<Unreadable>,
}

impl Situation {
    /// The question what these Subscriptions get.
    pub(super) fn request(&self, subscriptions: Vec<Subscription>) -> Request<'_> {
        let catalogs = self.catalogs.iter().map(|catalog| Catalog {
            key: catalog.listing.key.clone(),
            priority: catalog.listing.priority,
            contents: match &catalog.contents {
                Ok(index) => Contents::Current(index),
                Err(problem) => Contents::Missing(problem),
            },
            curation: catalog.listing.curation.clone(),
        });
        Request {
            namespace: self.namespace.clone(),
            global_namespaces: self.global_namespaces.clone(),
            exclude_global: self.exclude_global,
            kube_version: self.kube_version.clone(),
            catalogs: catalogs.collect(),
            installed: self.installed.clone(),
            subscriptions,
        }
    }

    /// An installed CSV by its name.
    pub(super) fn installed(&self, name: &str) -> Option<&Installed> {
        self.installed.iter().find(|csv| csv.name == name)
    }

    /// The catalog of this name and namespace.
    pub(super) fn catalog(&self, key: &CatalogKey) -> Option<&Open> {
        let mut catalogs = self.catalogs.iter();
        catalogs.find(|catalog| catalog.listing.key == *key)
    }
}

impl Open {
    /// What the resolver reads of it.
    pub(super) fn snapshot(&self) -> Option<&dyn Snapshot> {
        let index = self.contents.as_ref().ok();
        index.map(|index| index as &dyn Snapshot)
    }
}

/// The objects that were found.
#[derive(Default)]
struct Objects {
    subscriptions: Vec<SubscriptionObject>,
    csvs: Vec<ClusterServiceVersion>,
    catalogs: Vec<CatalogSource>,
}

/// Reads what the arguments name.
pub(super) fn read(
    args: &Args,
    subscriptions: Option<&PathBuf>,
    registry: &Registry,
) -> Result<Situation, Failure> {
    let kube_version = args.kube_version.as_deref().map(kube_version).transpose()?;
    manifests::check_standard_input(&[subscriptions, args.installed.as_ref()])?;
    let mut objects = Objects::default();
    if let Some(path) = subscriptions {
        let manifests = Manifests::read(path)?;
        objects.subscriptions = manifests.needed("Subscription")?;
        objects.catalogs = manifests.all("CatalogSource")?;
    }
    if let Some(path) = &args.installed {
        objects.csvs = Manifests::read(path)?.needed("ClusterServiceVersion")?;
    }
    let session = Session::new(registry)?;
    let namespace = namespace(args.namespace.as_deref(), &objects)?;
    keep(&mut objects.subscriptions, &namespace);
    keep(&mut objects.csvs, &namespace);
    let ReadOut {
        items: mut subscriptions,
        problems: broken,
    } = resolver::subscriptions(&objects.subscriptions);
    let installed = resolver::installed(&objects.csvs, &objects.subscriptions);
    let listings = resolver::catalogs(&objects.catalogs);
    for problem in installed.problems.iter().chain(&listings.problems) {
        printer::warning(&problem.to_string());
    }
    let named: Vec<Named> = args.catalog.iter().map(|text| Named::parse(text)).collect();
    let named = catalogs::keys(&named, &subscriptions, &namespace)?;
    let keys: Vec<CatalogKey> = named.iter().map(|(key, _)| key.clone()).collect();
    catalogs::settle(&mut subscriptions, &keys);
    let sources = session.sources()?;
    let bars = session.bars.as_ref();
    let catalogs = wait(catalogs::open(named, &listings.items, &sources, bars))?;
    Ok(Situation {
        namespace,
        exclude_global: false,
        // What somebody names on the command line is meant for everybody.
        global_namespaces: keys.into_iter().map(|key| key.namespace).collect(),
        kube_version,
        catalogs,
        installed: installed.items,
        subscriptions,
        broken,
    })
}

fn kube_version(text: &str) -> Result<Version, Failure> {
    Version::parse_tolerant(text)
        .with_context(|| format!("`{text}` is no version of Kubernetes"))
        .map_err(|error| Failure::usage(error).hint("write it as in `--kube-version 1.33`"))
}

/// The namespace that was asked for, or the only one there is.
fn namespace(asked: Option<&str>, objects: &Objects) -> Result<String, Failure> {
    if let Some(asked) = asked {
        return Ok(asked.to_owned());
    }
    let mut namespaces = namespaces_of(&objects.subscriptions);
    if namespaces.is_empty() {
        let own: Vec<_> = objects.csvs.iter().filter(|csv| !csv.is_copied()).collect();
        namespaces = own.iter().filter_map(|csv| csv.namespace()).collect();
    }
    if namespaces.len() > 1 {
        let all: Vec<String> = namespaces.into_iter().collect();
        let error = anyhow!(
            "there are objects of several namespaces: {}",
            all.join(", ")
        );
        return Err(Failure::usage(error).hint("choose one with `--namespace NAMESPACE`"));
    }
    let only = namespaces.pop_first();
    Ok(only.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()))
}

fn namespaces_of<T: ResourceExt>(objects: &[T]) -> BTreeSet<String> {
    objects.iter().filter_map(ResourceExt::namespace).collect()
}

/// Keeps those of a namespace; those without one are of whichever is chosen.
fn keep<T: ResourceExt>(objects: &mut Vec<T>, namespace: &str) {
    objects.retain(|object| object.namespace().is_none_or(|own| own == namespace));
}
