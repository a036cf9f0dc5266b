//! What a question to the resolver is about: catalogs, Subscriptions and what is installed, from
//! files or from a cluster.

mod catalogs;
mod groups;
mod manifests;

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

pub(super) use self::catalogs::{Named, Open, named_sources, unless_none_can_be_read};

use self::manifests::Manifests;
use super::args::plan::Situation as Args;
use super::args::registry::Registry;
use super::cluster::Cluster;
use super::failure::Failure;
use super::printer;
use super::session::{Session, wait};
use crate::api::catalog_source::CatalogSource;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription as SubscriptionObject;
use crate::publish::Progress as _;
use crate::resolver::{
    self, Catalog, CatalogKey, Contents, Held, Installed, ReadOut, Request, Snapshot, Subscription,
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
    /// The packages of those.
    held: Vec<Held>,
    /// The `OperatorGroup`s of the namespace, as far as they are known.
    groups: Vec<OperatorGroup>,
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
            held: self.held.clone(),
        }
    }

    /// An installed CSV by its name.
    pub(super) fn installed(&self, name: &str) -> Option<&Installed> {
        self.installed.iter().find(|csv| csv.name == name)
    }

    /// Says what is broken in catalogs, as far as it may concern these packages.
    pub(super) fn warn_of_broken_packages(&self, packages: &[&str]) {
        let opened = self.catalogs.iter();
        for (catalog, index) in opened.filter_map(|open| Some((open, open.contents.as_ref().ok()?)))
        {
            let is_there = |package: &&str| index.summary(package).is_some();
            let is_lacking = !packages.iter().all(is_there);
            // They are of no use to the answer, and so not being able to read them is no matter.
            for problem in index.problems().unwrap_or_default() {
                let of = problem.package.as_str();
                // What of no package is broken may be the one that nobody finds.
                if packages.contains(&of) || (of.is_empty() && is_lacking) {
                    let key = &catalog.listing.key;
                    printer::warning(&format!("left out of catalog {key}: {}", problem.message));
                }
            }
        }
    }

    /// Says what cannot be understood, as far as it may concern a question about one package.
    pub(super) fn warn_of_what_is_broken(&self, package: &str) {
        self.warn_of_broken_packages(&[package]);
        for problem in &self.broken {
            printer::warning(&problem.to_string());
        }
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
    groups: Vec<OperatorGroup>,
}

/// Who asks, and so whose Subscriptions count when no file names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// For all Subscriptions: those of the cluster have to be read.
    ForAll,
    /// For a package, and so catalogs are enough.
    ForOne,
}

/// Reads what the arguments name. A cluster is asked only if something is missing without it, and
/// then for all that the arguments do not name.
pub(super) fn read(
    args: &Args,
    subscriptions: Option<&PathBuf>,
    asks: Asks,
    registry: &Registry,
) -> Result<Situation, Failure> {
    let kube_version = args.kube_version.as_deref().map(kube_version).transpose()?;
    manifests::check_standard_input(&[subscriptions, args.installed.as_ref()])?;
    let mut objects = Objects::default();
    if let Some(path) = subscriptions {
        let manifests = Manifests::read(path)?;
        objects.subscriptions = manifests.needed("Subscription")?;
        objects.catalogs = manifests.all("CatalogSource")?;
        objects.groups = manifests.all("OperatorGroup")?;
    }
    if let Some(path) = &args.installed {
        let manifests = Manifests::read(path)?;
        objects.csvs = manifests.needed("ClusterServiceVersion")?;
        groups::add(&mut objects.groups, manifests.all("OperatorGroup")?);
    }
    let session = Session::new(registry)?;
    let is_enough = !args.catalog.is_empty() && (asks == Asks::ForOne || subscriptions.is_some());
    if is_enough {
        let namespace = namespace(args.namespace.as_deref(), &objects)?;
        return wait(of_objects(objects, namespace, kube_version, args, &session));
    }
    wait(async {
        let (kubeconfig, context) = (args.kubeconfig.as_deref(), args.context.as_deref());
        let (cluster, running) = Cluster::connect(kubeconfig, context).await?;
        let asked = args.namespace.as_deref();
        let namespace = match (asked, subscriptions) {
            (None, None) => cluster.namespace.clone(),
            _ => namespace(asked, &objects)?,
        };
        if subscriptions.is_none() {
            objects.subscriptions = cluster.subscriptions(&namespace).await?;
        }
        if args.installed.is_none() {
            objects.csvs = cluster.csvs(&namespace).await?;
        }
        let kube_version = kube_version.or(running);
        if !args.catalog.is_empty() {
            return of_objects(objects, namespace, kube_version, args, &session).await;
        }
        objects.catalogs = cluster.catalogs().await?;
        let catalogs = std::mem::take(&mut objects.catalogs);
        if objects.groups.is_empty() {
            objects.groups = cluster.operator_groups(&namespace).await?;
        }
        let mut situation = of_objects(objects, namespace, kube_version, args, &session).await?;
        situation
            .global_namespaces
            .clone_from(&args.global_namespace);
        situation.catalogs = open_all(&cluster, &catalogs, &situation, &session).await?;
        Ok(situation)
    })
}

/// Opens the catalogs of a cluster that the namespace may use.
async fn open_all(
    cluster: &Cluster,
    objects: &[CatalogSource],
    situation: &Situation,
    session: &Session,
) -> Result<Vec<Open>, Failure> {
    let listings = resolver::catalogs(objects);
    warn(&listings.problems);
    let sources = session.sources()?;
    let mut opened: Vec<Open> = listings
        .problems
        .iter()
        .map(catalogs::offering_nothing)
        .collect();
    for listing in listings.items {
        let own = &listing.key.namespace;
        let is_global = situation.global_namespaces.contains(own) && !situation.exclude_global;
        let key = |object: &&CatalogSource| {
            CatalogKey::new(object.namespace().unwrap_or_default(), object.name_any())
        };
        let object = objects.iter().find(|object| key(object) == listing.key);
        let contents = match object {
            Some(object) if is_global || *own == situation.namespace => {
                session
                    .bars
                    .begins(&format!("reading catalog {}", listing.key));
                cluster.open(object, &sources).await
            }
            _ => Err("it is not for this namespace and was not read".to_owned()),
        };
        opened.push(Open { listing, contents });
    }
    Ok(opened)
}

/// Reads objects, and opens the catalogs of the command line.
async fn of_objects(
    mut objects: Objects,
    namespace: String,
    kube_version: Option<Version>,
    args: &Args,
    session: &Session,
) -> Result<Situation, Failure> {
    keep(&mut objects.subscriptions, &namespace);
    keep(&mut objects.csvs, &namespace);
    keep(&mut objects.groups, &namespace);
    let ReadOut {
        items: mut subscriptions,
        problems: broken,
    } = resolver::subscriptions(&objects.subscriptions);
    // What a file says does not change with the time at which it is read.
    let now = args.installed.is_none().then(|| Time(Timestamp::now()));
    let installed = resolver::installed(&objects.csvs, &objects.subscriptions, now.as_ref());
    let listings = resolver::catalogs(&objects.catalogs);
    warn(&installed.problems);
    warn(&listings.problems);
    let named: Vec<Named> = args.catalog.iter().map(|text| Named::parse(text)).collect();
    let named = catalogs::keys(&named, &subscriptions, &listings.items, &namespace)?;
    let keys: Vec<CatalogKey> = named.iter().map(|(key, _)| key.clone()).collect();
    catalogs::settle(&mut subscriptions, &keys);
    let (sources, bars) = (session.sources()?, session.bars.as_ref());
    let catalogs = catalogs::open(named, &listings, &sources, bars).await?;
    Ok(Situation {
        namespace,
        exclude_global: objects.groups.iter().any(OperatorGroup::excludes_global),
        // What somebody names on the command line is meant for everybody.
        global_namespaces: keys.into_iter().map(|key| key.namespace).collect(),
        kube_version,
        catalogs,
        installed: installed.items,
        subscriptions,
        broken,
        held: resolver::held(&objects.subscriptions),
        groups: objects.groups,
    })
}

fn warn(problems: &[Unreadable]) {
    for problem in problems {
        printer::warning(&problem.to_string());
    }
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
