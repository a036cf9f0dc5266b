//! What all controllers share.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ObjectReference};
use k8s_openapi::api::rbac::v1::ClusterRole;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::core::{NamespaceResourceScope, PartialObjectMeta};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::catalogs::Catalogs;
use super::cluster_service_version::Attempts;
use super::components::Components;
use super::error::Error;
use super::fetches::Fetches;
use super::images::Images;
use super::install_plan::PlansAtWork;
use super::key::ObjectKey;
use super::metrics::Metrics;
use super::proxy::Proxy;
use super::queue::Queue;
use super::run::as_manager;
use super::settings::Settings;
use super::watch::Cache;
use super::words;
use crate::api::catalog_source::CatalogSource;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::install_plan::InstallPlan;
use crate::api::olm_config::OlmConfig;
use crate::api::operator::Operator;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription;
use crate::lifecycle::copied_csvs::Copy;
use crate::plan::apply::Applier;
use crate::resolver::CatalogKey;
use crate::version::Version;

/// What all controllers share.
pub(crate) struct Context {
    pub(crate) client: Client,
    /// Writes the objects of plans.
    pub(crate) applier: Applier,
    pub(crate) settings: Settings,
    pub(crate) caches: Caches,
    pub(crate) components: Arc<Components>,
    pub(crate) queues: Queues,
    pub(crate) catalogs: Catalogs,
    pub(crate) images: Arc<Images>,
    pub(crate) attempts: Attempts,
    /// The plans that are being carried out.
    pub(crate) plans_at_work: PlansAtWork,
    pub(crate) proxy: Proxy,
    /// Bundles that are being fetched to make plans of.
    pub(crate) fetches: Fetches,
    /// Bundles that are being fetched to carry plans out.
    pub(crate) plan_fetches: Fetches,
    pub(crate) events: Recorder,
    pub(crate) metrics: Metrics,
    /// Counts what changed in the cluster, for those who show it.
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) leads: AtomicBool,
    /// The version of the cluster, which may be upgraded while we run.
    pub(crate) kube_version: RwLock<Option<Version>>,
    /// Why this replica can neither lead nor see that another one does, if that is so.
    pub(crate) leaderless: Mutex<Option<String>>,
}

/// What is in the cluster.
pub(crate) struct Caches {
    pub(crate) catalog_sources: Arc<Cache<CatalogSource>>,
    pub(crate) subscriptions: Arc<Cache<Subscription>>,
    pub(crate) install_plans: Arc<Cache<InstallPlan>>,
    pub(crate) csvs: Arc<Cache<ClusterServiceVersion>>,
    /// Copies of ClusterServiceVersions: what tells whether they are as they should be.
    pub(crate) copies: Arc<Cache<Copy>>,
    pub(crate) operator_groups: Arc<Cache<OperatorGroup>>,
    /// The ConfigMaps that are catalogs: names and versions only.
    pub(crate) config_maps: Arc<Cache<PartialObjectMeta<ConfigMap>>>,
    /// Names and labels only.
    pub(crate) namespaces: Arc<Cache<PartialObjectMeta<Namespace>>>,
    pub(crate) operators: Arc<Cache<Operator>>,
    pub(crate) olm_configs: Arc<Cache<OlmConfig>>,
    /// Those that Chandler or OLM made.
    pub(crate) cluster_roles: Arc<Cache<ClusterRole>>,
}

impl Caches {
    pub(crate) fn new(settings: &Settings) -> Self {
        let watches = settings.watched_namespaces.len().max(1);
        let catalog_watches = settings.catalog_namespaces().len().max(1);
        Self {
            catalog_sources: Cache::new(catalog_watches),
            subscriptions: Cache::new(watches),
            install_plans: Cache::new(watches),
            csvs: Cache::new(watches),
            copies: Cache::new(watches),
            operator_groups: Cache::new(watches),
            config_maps: Cache::new(catalog_watches),
            namespaces: Cache::new(1),
            operators: Cache::new(1),
            olm_configs: Cache::new(1),
            cluster_roles: Cache::new(1),
        }
    }

    /// Waits until everything was listed once.
    pub(crate) async fn are_ready(&self) {
        self.catalog_sources.is_ready().await;
        self.subscriptions.is_ready().await;
        self.install_plans.is_ready().await;
        self.csvs.is_ready().await;
        self.copies.is_ready().await;
        self.operator_groups.is_ready().await;
        self.config_maps.is_ready().await;
        self.namespaces.is_ready().await;
        self.operators.is_ready().await;
        self.olm_configs.is_ready().await;
        self.cluster_roles.is_ready().await;
    }

    /// The kinds that were not listed yet.
    pub(crate) fn unlisted(&self) -> Vec<&'static str> {
        let kinds = [
            ("CatalogSources", self.catalog_sources.is_listed()),
            ("Subscriptions", self.subscriptions.is_listed()),
            ("InstallPlans", self.install_plans.is_listed()),
            ("ClusterServiceVersions", self.csvs.is_listed()),
            ("copies of ClusterServiceVersions", self.copies.is_listed()),
            ("OperatorGroups", self.operator_groups.is_listed()),
            ("ConfigMaps", self.config_maps.is_listed()),
            ("Namespaces", self.namespaces.is_listed()),
            ("Operators", self.operators.is_listed()),
            ("OLMConfigs", self.olm_configs.is_listed()),
            ("ClusterRoles", self.cluster_roles.is_listed()),
        ];
        let missing = kinds.into_iter().filter(|(_, is_listed)| !is_listed);
        missing.map(|(kind, _)| kind).collect()
    }
}

/// What has to be looked at.
pub(crate) struct Queues {
    pub(crate) catalog_sources: Queue<ObjectKey>,
    /// Namespaces whose Subscriptions are to be resolved.
    pub(crate) namespaces: Queue<String>,
    pub(crate) install_plans: Queue<ObjectKey>,
    /// Subscriptions that remove something when they are deleted.
    pub(crate) removals: Queue<ObjectKey>,
    pub(crate) csvs: Queue<ObjectKey>,
    /// ClusterServiceVersions whose copies are to be looked at, whether they exist or not.
    pub(crate) copies: Queue<ObjectKey>,
    pub(crate) operator_groups: Queue<ObjectKey>,
    /// Operators by name, whether they exist or not.
    pub(crate) operators: Queue<String>,
    /// Namespaces whose packages' objects are to be marked.
    pub(crate) adoptions: Queue<String>,
    pub(crate) olm_config: Queue<()>,
}

impl Context {
    /// Whether this replica is the one that writes.
    pub(crate) fn leads(&self) -> bool {
        self.leads.load(Ordering::Acquire)
    }

    /// The version of the cluster, if it is known.
    pub(crate) fn kube_version(&self) -> Option<Version> {
        let version = self.kube_version.read();
        version.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes note of the version of the cluster, and says whether it is another one.
    pub(crate) fn set_kube_version(&self, version: Version) -> bool {
        let known = self.kube_version.write();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let before = known.replace(version);
        before != *known
    }

    /// Writes an object with its status, unless somebody wrote to it meanwhile.
    pub(crate) async fn write_status<K>(&self, object: &K) -> Result<K, Error>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + Debug + Serialize + DeserializeOwned,
    {
        let (name, namespace) = (object.name_any(), object.namespace().unwrap_or_default());
        let api = Api::<K>::namespaced(self.client.clone(), &namespace);
        let written = api.replace_status(&name, &as_manager(), object).await;
        let what = format!("writing the status of {} {name}", K::kind(&()));
        written.map_err(Error::while_(what))
    }

    /// Tells of something by an Event. One that gets lost stops nothing.
    pub(crate) async fn tell(
        &self,
        about: &ObjectReference,
        type_: EventType,
        action: &str,
        reason: &str,
        message: &str,
    ) {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(words::note(message)),
            action: action.to_owned(),
            secondary: None,
        };
        if let Err(error) = self.events.publish(&event, about).await {
            let error = words::of_api(&error);
            tracing::warn!(error, message, "an Event could not be written");
        }
    }

    /// The time, for the core, which has no clock.
    #[allow(
        clippy::unused_self,
        reason = "a reconcile gets everything from here, and so will one whose clock is a test's"
    )]
    pub(crate) fn now(&self) -> Time {
        Time(Timestamp::now())
    }

    /// Takes note that something changed.
    pub(crate) fn note_change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// The namespaces with Subscriptions that may use a catalog.
    pub(crate) fn users_of(&self, catalog: &CatalogKey) -> BTreeSet<String> {
        let subscriptions = self.caches.subscriptions.all();
        let namespaces = subscriptions.iter().filter_map(|it| it.namespace());
        let is_global = self.settings.is_global(&catalog.namespace);
        namespaces
            .filter(|namespace| is_global || *namespace == catalog.namespace)
            .collect()
    }

    /// Has everybody look again who may use a catalog.
    pub(crate) fn tell_users_of(&self, catalog: &CatalogKey) {
        self.note_change();
        if self.leads() {
            for namespace in self.users_of(catalog) {
                self.queues.namespaces.add(namespace);
            }
        }
    }
}
