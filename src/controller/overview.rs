//! What others may see of the cluster, out of memory.

use std::sync::Arc;

use kube::ResourceExt as _;
use tokio::sync::watch;

use super::context::Context;
use super::key::ObjectKey;
use super::words;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::subscription::Subscription;
use crate::bundle::Bundle;
use crate::catalog::index::Index;
use crate::resolver::{self, CatalogKey, Listing};
use crate::version::Version;

/// What others may see of the cluster.
#[derive(Clone)]
pub struct Overview(pub(super) Arc<Context>);

/// A catalog of the cluster.
#[derive(Debug, Clone)]
pub struct ListedCatalog {
    /// Its name, its priority, and which packages it offers.
    pub listing: Listing,
    /// Its name for people; may be empty.
    pub display_name: String,
    /// Who publishes it; may be empty.
    pub publisher: String,
    /// Digest and content, if it could ever be read.
    pub content: Option<(String, Arc<Index>)>,
    /// Why newer content cannot be read, if that is so.
    pub problem: Option<String>,
}

impl Overview {
    /// The catalogs: by priority, then by name. One whose spec makes no sense is left out.
    pub fn catalogs(&self) -> Vec<ListedCatalog> {
        let context = &self.0;
        let mut all = Vec::new();
        for object in context.caches.catalog_sources.all() {
            let read = resolver::catalogs(std::slice::from_ref(&*object));
            all.extend(read.items.into_iter().map(|listing| {
                let known = context.catalogs.get(&listing.key);
                let read = known.as_ref().and_then(|known| known.content.clone());
                ListedCatalog {
                    listing,
                    display_name: object.spec.display_name.clone(),
                    publisher: object.spec.publisher.clone(),
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

    /// All Subscriptions.
    pub fn subscriptions(&self) -> Vec<Arc<Subscription>> {
        self.0.caches.subscriptions.all()
    }

    /// All ClusterServiceVersions but for copies, without their texts and pictures.
    pub fn csvs(&self) -> Vec<Arc<ClusterServiceVersion>> {
        let mut csvs = self.0.caches.csvs.all();
        csvs.retain(|csv| !csv.is_copied());
        csvs
    }

    /// Whether the OperatorGroup of a namespace keeps the global catalogs out.
    pub fn excludes_global(&self, namespace: &str) -> bool {
        let groups = self.0.caches.operator_groups.in_namespace(namespace);
        groups.iter().any(|group| group.excludes_global())
    }

    /// Namespaces whose catalogs every namespace may use.
    pub fn global_namespaces(&self) -> Vec<String> {
        self.0.settings.global_namespaces.clone()
    }

    /// The version of the cluster.
    pub fn kube_version(&self) -> Option<Version> {
        self.0.settings.kube_version.clone()
    }

    /// A number that changes whenever something that is watched does.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Reads the image of a bundle, as whoever may read the catalog. The error is for people.
    pub async fn bundle(&self, catalog: &CatalogKey, image: &str) -> Result<Bundle, String> {
        let key = ObjectKey::new(&catalog.namespace, &catalog.name);
        let object = self.0.caches.catalog_sources.get(&key);
        let Some(object) = object else {
            return Err(format!("catalog {catalog} is gone"));
        };
        let namespace = object.namespace().unwrap_or_default();
        let pulled = self
            .0
            .images
            .bundle(image, &namespace, &object.spec.secrets);
        let pulled = pulled.await.map_err(anyhow::Error::new);
        pulled
            .map(|pulled| pulled.bundle)
            .map_err(|error| words::of(&error))
    }
}
