//! Where the hub has everything from: catalogs that were read, what runs, and bundles.

use std::sync::{Arc, PoisonError, RwLock};

use futures::future::BoxFuture;
use tokio::sync::watch;

use super::views::Installation;
use crate::catalog::index::Index;
use crate::resolver::{CatalogKey, Curation, Held, Installed, Subscription};
use crate::version::Version;

/// A catalog that the hub shows.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Its namespace and name; the former is empty where there is no cluster.
    pub key: CatalogKey,
    /// Its name for people; may be empty.
    pub display_name: String,
    /// Who publishes it; may be empty.
    pub publisher: String,
    /// Catalogs of greater priority come first.
    pub priority: i32,
    /// Which of its packages are offered.
    pub curation: Curation,
    /// What is in it, with its digest; nothing if it could never be read.
    pub content: Option<Content>,
    /// Why newer content cannot be read, if that is so.
    pub problem: Option<String>,
}

/// The content of a catalog.
#[derive(Debug, Clone)]
pub struct Content {
    /// Its digest: changes whenever the content does.
    pub digest: String,
    /// The content.
    pub index: Arc<Index>,
}

impl Catalog {
    /// What tells it from all others: `NAMESPACE/NAME`, or `NAME` where there is no cluster.
    pub fn id(&self) -> String {
        self.key.to_string()
    }

    /// Whether somebody who writes this means it.
    pub fn is_called(&self, text: &str) -> bool {
        self.key.name == text || self.key.to_string() == text
    }
}

/// What a namespace has, for those who ask what would happen in it.
#[derive(Debug, Clone, Default)]
pub struct Situation {
    /// What is installed.
    pub installed: Vec<Installed>,
    /// What is subscribed to.
    pub subscriptions: Vec<Subscription>,
    /// Packages of Subscriptions that cannot be understood.
    pub held: Vec<Held>,
    /// Whether its OperatorGroup keeps the global catalogs out.
    pub exclude_global: bool,
}

/// Where the hub has everything from: a cluster, or catalogs that a command line named.
///
/// Everything but [`Self::bundle`] answers at once, out of memory.
pub trait Supply: Send + Sync + 'static {
    /// The catalogs, in the order in which they are preferred.
    fn catalogs(&self) -> Vec<Catalog>;

    /// What is in the cluster. Nothing if there is none.
    fn installations(&self) -> Option<Vec<Installation>> {
        None
    }

    /// What a namespace of the cluster has.
    fn situation(&self, _namespace: &str) -> Situation {
        Situation::default()
    }

    /// Namespaces whose catalogs every namespace may use.
    fn global_namespaces(&self) -> Vec<String> {
        let catalogs = self.catalogs().into_iter();
        catalogs.map(|catalog| catalog.key.namespace).collect()
    }

    /// The version of the cluster, if that is known.
    fn kube_version(&self) -> Option<Version> {
        None
    }

    /// A number that changes whenever something of the cluster does. Nothing if there is none.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }

    /// Reads a bundle of a catalog. The error is for people.
    fn bundle<'s>(
        &'s self,
        wanted: &'s WantedBundle,
    ) -> BoxFuture<'s, Result<crate::bundle::Bundle, String>>;
}

/// A bundle that the hub wants to look into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedBundle {
    /// The catalog that lists it.
    pub catalog: CatalogKey,
    /// Its package.
    pub package: String,
    /// Its version; may be empty.
    pub version: String,
    /// Its image; may be empty.
    pub image: String,
}

impl WantedBundle {
    /// The registry that has it, as its image names it; empty where there is no image.
    pub(super) fn registry(&self) -> &str {
        self.image.split_once('/').map_or("", |(host, _)| host)
    }
}

/// Catalogs that can be exchanged while they are shown.
#[derive(Debug, Default)]
pub struct Shelf(RwLock<Vec<Catalog>>);

impl Shelf {
    /// A shelf with these catalogs.
    pub fn new(catalogs: Vec<Catalog>) -> Self {
        Self(RwLock::new(catalogs))
    }

    /// The catalogs.
    pub fn catalogs(&self) -> Vec<Catalog> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Puts a catalog in the place of the one of the same name, or at the end.
    pub fn put(&self, catalog: Catalog) {
        let mut catalogs = self.0.write().unwrap_or_else(PoisonError::into_inner);
        match catalogs.iter_mut().find(|known| known.key == catalog.key) {
            Some(known) => *known = catalog,
            None => catalogs.push(catalog),
        }
    }
}
