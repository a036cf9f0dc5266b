//! What is decided when the process starts.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::oci::client;
use crate::version::Version;

/// What is decided when the process starts.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Chandler's own namespace: its Lease is there.
    pub namespace: String,
    /// The name of the Lease.
    pub lease: String,
    /// Who this replica is: no two may have the same.
    pub identity: String,
    /// Namespaces whose catalogs every namespace may use.
    pub global_namespaces: Vec<String>,
    /// The namespaces that are cared for; all if there are none.
    pub watched_namespaces: Vec<String>,
    /// Namespaces that have copies of operators for all namespaces also where the OLMConfig wants none.
    pub protected_copies: BTreeSet<String>,
    /// Where images and indexes are kept. May be deleted at any time.
    pub cache: PathBuf,
    /// How long what nobody needs stays in the cache, and how often is looked for it.
    pub cache_rest: Duration,
    /// After which time what nobody tells of is looked for: each ClusterServiceVersion and its copies are
    /// looked at again after at least this time, and at most twice of it.
    pub rest: Duration,
    /// How registries are spoken to.
    pub registries: client::Settings,
    /// The name of OpenShift's object about the cluster's proxy.
    pub proxy: String,
    /// Whether the API of packages is registered: somebody serves it beside the controllers.
    pub package_api: bool,
    /// How often the version of the cluster is asked for.
    pub version_rest: Duration,
    /// The version of the cluster when the process started.
    pub kube_version: Option<Version>,
}

impl Settings {
    /// Whether the objects of a namespace are cared for.
    pub(crate) fn cares_for(&self, namespace: &str) -> bool {
        self.watched_namespaces.is_empty()
            || self.watched_namespaces.iter().any(|it| it == namespace)
    }

    /// Whether every namespace may use the catalogs of this one.
    pub(crate) fn is_global(&self, namespace: &str) -> bool {
        self.global_namespaces.iter().any(|it| it == namespace)
    }

    /// The namespaces whose catalogs are read; all if there are none.
    pub(crate) fn catalog_namespaces(&self) -> Vec<String> {
        if self.watched_namespaces.is_empty() {
            return Vec::new();
        }
        let mut namespaces = self.watched_namespaces.clone();
        namespaces.extend(self.global_namespaces.iter().cloned());
        namespaces.sort();
        namespaces.dedup();
        namespaces
    }
}
