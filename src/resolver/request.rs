//! What is asked of the resolver.

use std::fmt;
use std::sync::Arc;

use super::curation::Curation;
use super::features::Features;
use super::snapshot::Snapshot;
use crate::version::{UserRange, Version};

/// Everything that decides what a namespace gets: its Subscriptions, what runs in it, and the
/// catalogs of the cluster.
#[derive(Clone)]
pub struct Request<'a> {
    /// The namespace.
    pub namespace: String,
    /// Namespaces whose catalogs every namespace may use.
    pub global_namespaces: Vec<String>,
    /// Whether the `OperatorGroup` keeps the global catalogs out
    /// (`olm.operatorframework.io/exclude-global-namespace-resolution`).
    pub exclude_global: bool,
    /// The version of the cluster; bundles that need a newer one are no candidates. Without it
    /// every bundle can run.
    pub kube_version: Option<Version>,
    /// The catalogs of the cluster, also those this namespace may not use: an explanation names
    /// them.
    pub catalogs: Vec<Catalog<'a>>,
    /// The `ClusterServiceVersion`s of the namespace but for copied ones.
    pub installed: Vec<Installed>,
    /// The Subscriptions of the namespace.
    pub subscriptions: Vec<Subscription>,
    /// Packages whose Subscriptions cannot be understood: nothing new of them is installed for others.
    pub held: Vec<Held>,
}

/// A package whose Subscription cannot be understood. It may forbid what others would have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The package.
    pub package: String,
    /// The name of the Subscription.
    pub subscription: String,
}

/// A catalog's namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct CatalogKey {
    /// The namespace of the `CatalogSource`.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl CatalogKey {
    /// The catalog of this name in this namespace.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// A Subscription that names no catalog takes any.
    pub fn is_empty(&self) -> bool {
        self.namespace.is_empty() && self.name.is_empty()
    }
}

impl fmt::Display for CatalogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A catalog, and what is known of its contents.
#[derive(Clone)]
pub struct Catalog<'a> {
    /// Which one.
    pub key: CatalogKey,
    /// Catalogs of greater priority are preferred.
    pub priority: i32,
    /// What can be read of it.
    pub contents: Contents<'a>,
    /// Which of its packages are offered.
    pub curation: Curation,
}

/// What can be read of a catalog.
#[derive(Clone, Copy)]
pub enum Contents<'a> {
    /// What the catalog has now.
    Current(&'a dyn Snapshot),
    /// What it had when it could last be read, and why that fails now.
    Stale(&'a dyn Snapshot, &'a str),
    /// Nothing, and why.
    Missing(&'a str),
}

impl<'a> Contents<'a> {
    /// The snapshot, if there is one.
    pub fn snapshot(self) -> Option<&'a dyn Snapshot> {
        match self {
            Self::Current(snapshot) | Self::Stale(snapshot, _) => Some(snapshot),
            Self::Missing(_) => None,
        }
    }
}

/// An operator that is in the namespace: a `ClusterServiceVersion`.
#[derive(Debug, Clone)]
pub struct Installed {
    /// The name of the CSV.
    pub name: String,
    /// Its package, where that is known: from the CSV's properties, or from the one Subscription
    /// that installed it.
    pub package: Option<String>,
    /// Its version.
    pub version: Option<Version>,
    /// What it provides, and everything else others can ask for.
    pub features: Arc<Features>,
    /// The CSV it replaces (`spec.replaces`); may be empty.
    pub replaces: String,
    /// How far its installation is.
    pub progress: Progress,
}

/// How far the installation of a CSV is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Neither done nor failed.
    Underway,
    /// It runs.
    Succeeded,
    /// It failed.
    Failed,
}

/// What a Subscription asks for.
#[derive(Debug, Clone, Default)]
pub struct Subscription {
    /// The name of the object.
    pub name: String,
    /// The package it asks for.
    pub package: String,
    /// The channel; empty for any, the default channel first.
    pub channel: String,
    /// The catalog; empty for any.
    pub catalog: CatalogKey,
    /// The only bundle to begin with; may be empty.
    pub starting_csv: String,
    /// The CSV it has installed (`status.installedCSV`); may be empty.
    pub installed_csv: String,
    /// The versions it may have.
    pub version: Option<UserRange>,
    /// What happens with the needs of its bundles.
    pub dependencies: Dependencies,
}

/// What happens with the needs of a Subscription's bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dependencies {
    /// What is missing is installed.
    #[default]
    Install,
    /// They must be met by what is installed or has a Subscription.
    Require,
}
