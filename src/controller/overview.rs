//! What others may see of the cluster while the controllers run, out of memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::ResourceExt as _;
use tokio::sync::watch;

use super::context::Context;
use super::key::ObjectKey;
use super::words;
use crate::api::catalog_source::CatalogSource;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::subscription::Subscription;
use crate::bundle::Bundle;
use crate::catalog::index::Index;
use crate::resolver::{self, CatalogKey, Listing};
use crate::version::Version;

/// How long the first answers wait for a catalog that cannot be read.
const PATIENCE: Duration = Duration::from_secs(30);

/// What others may see of the cluster.
#[derive(Clone)]
pub struct Overview {
    context: Arc<Context>,
    /// Whether every catalog was looked at once: later ones are not waited for.
    is_complete: Arc<AtomicBool>,
}

/// A catalog of the cluster.
#[derive(Debug, Clone)]
pub struct ListedCatalog {
    /// Its name, its priority, and which packages it offers.
    pub listing: Listing,
    /// Its object.
    pub object: Arc<CatalogSource>,
    /// Whether every namespace may use it.
    pub is_global: bool,
    /// Digest and content, if it could ever be read.
    pub content: Option<(String, Arc<Index>)>,
    /// Why newer content cannot be read, if that is so.
    pub problem: Option<String>,
}

impl Overview {
    pub(super) fn new(context: Arc<Context>) -> Self {
        Self {
            context,
            is_complete: Arc::default(),
        }
    }

    /// The catalogs: by priority, then by name. One whose spec makes no sense is left out.
    pub fn catalogs(&self) -> Vec<ListedCatalog> {
        let context = &self.context;
        let mut all = Vec::new();
        for object in context.caches.catalog_sources.all() {
            let read = resolver::catalogs(std::slice::from_ref(&*object));
            all.extend(read.items.into_iter().map(|listing| {
                let known = context.catalogs.get(&listing.key);
                let read = known.as_ref().and_then(|known| known.content.clone());
                ListedCatalog {
                    is_global: context.settings.is_global(&listing.key.namespace),
                    object: object.clone(),
                    listing,
                    content: read.map(|read| (read.digest, read.index)),
                    problem: match known {
                        None => Some("it was not read yet".to_owned()),
                        Some(known) => known.problem,
                    },
                }
            }));
        }
        all.sort_by(|a, b| {
            let rank = |it: &ListedCatalog| std::cmp::Reverse(it.listing.priority);
            (rank(a), &a.listing.key).cmp(&(rank(b), &b.listing.key))
        });
        all
    }

    /// The same, once every catalog was looked at. The error is what has to be waited for after a start:
    /// half of the catalogs are worse than none, because what is missing looks as if it were gone.
    pub fn complete_catalogs(&self) -> Result<Vec<ListedCatalog>, String> {
        let context = &self.context;
        if !context.caches.catalog_sources.is_listed() {
            return Err("the CatalogSources are not listed yet".to_owned());
        }
        let catalogs = self.catalogs();
        if !self.is_complete.load(Ordering::Acquire) {
            let mut keys = catalogs.iter().map(|it| &it.listing.key);
            let awaited = keys.find(|key| {
                context.catalogs.get(key).is_none() && context.catalogs.awaited_for(key) < PATIENCE
            });
            if let Some(key) = awaited {
                return Err(format!("CatalogSource {key} was not read yet"));
            }
            self.is_complete.store(true, Ordering::Release);
        }
        Ok(catalogs)
    }

    /// All Subscriptions.
    pub fn subscriptions(&self) -> Vec<Arc<Subscription>> {
        self.context.caches.subscriptions.all()
    }

    /// All ClusterServiceVersions but for copies, without their texts and pictures.
    pub fn csvs(&self) -> Vec<Arc<ClusterServiceVersion>> {
        let mut csvs = self.context.caches.csvs.all();
        csvs.retain(|csv| !csv.is_copied());
        csvs
    }

    /// Whether the OperatorGroup of a namespace keeps the global catalogs out.
    pub fn excludes_global(&self, namespace: &str) -> bool {
        let groups = self.context.caches.operator_groups.in_namespace(namespace);
        groups.iter().any(|group| group.excludes_global())
    }

    /// Namespaces whose catalogs every namespace may use.
    pub fn global_namespaces(&self) -> Vec<String> {
        self.context.settings.global_namespaces.clone()
    }

    /// The version of the cluster.
    pub fn kube_version(&self) -> Option<Version> {
        self.context.kube_version()
    }

    /// A number that changes whenever something that is watched does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.context.changes.subscribe()
    }

    /// Reads the image of a bundle, as whoever may read the catalog. The error is for people.
    pub async fn bundle(&self, catalog: &CatalogKey, image: &str) -> Result<Bundle, String> {
        let key = ObjectKey::new(&catalog.namespace, &catalog.name);
        let object = self.context.caches.catalog_sources.get(&key);
        let Some(object) = object else {
            return Err(format!("catalog {catalog} is gone"));
        };
        let namespace = object.namespace().unwrap_or_default();
        let pulled = self
            .context
            .images
            .bundle(image, &namespace, &object.spec.secrets);
        let pulled = pulled.await.map_err(anyhow::Error::new);
        pulled
            .map(|pulled| pulled.bundle)
            .map_err(|error| words::of(&error))
    }
}
