//! What is in a namespace, and what it may use, at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::{Api, ResourceExt as _};

use crate::api::catalog_source::CatalogSource;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::install_plan::InstallPlan;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription;
use crate::controller::catalogs::Known;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::fetches::Moment;
use crate::plan::Patience;
use crate::plan::subscription::{Catalog, Csv, Groups, Health, Plan, Surroundings};
use crate::resolver::CatalogKey;

/// What is in a namespace, and what it may use.
pub(super) struct World {
    pub(super) namespace: String,
    /// Without those that are being deleted.
    pub(super) subscriptions: Vec<Subscription>,
    pub(super) csvs: Vec<ClusterServiceVersion>,
    pub(super) plans: BTreeMap<String, Arc<InstallPlan>>,
    /// Plans that Subscriptions name and nobody can read, and why.
    pub(super) unreadable_plans: BTreeMap<String, String>,
    pub(super) groups: Vec<Arc<OperatorGroup>>,
    /// All catalogs of the cluster with what is known of them: an explanation may name one that
    /// this namespace may not use.
    pub(super) catalogs: Vec<(CatalogSource, Option<Known>)>,
    /// How long bundles are waited for before it is said that they are on their way.
    pub(super) moment: Moment,
}

impl World {
    pub(super) async fn read(context: &Context, namespace: &str) -> Result<Self, Error> {
        let caches = &context.caches;
        let subscriptions = caches.subscriptions.in_namespace(namespace);
        let subscriptions = subscriptions.iter().map(|it| Subscription::clone(it));
        let csvs = caches.csvs.in_namespace(namespace);
        let plans = caches.install_plans.in_namespace(namespace).into_iter();
        let catalogs = caches.catalog_sources.all().into_iter().map(|object| {
            let key = CatalogKey::new(object.namespace().unwrap_or_default(), object.name_any());
            let known = context.catalogs.get(&key);
            (CatalogSource::clone(&object), known)
        });
        let mut world = Self {
            namespace: namespace.to_owned(),
            subscriptions: subscriptions
                .filter(|it| it.metadata.deletion_timestamp.is_none())
                .collect(),
            csvs: csvs
                .iter()
                .map(|it| ClusterServiceVersion::clone(it))
                .collect(),
            plans: plans.map(|plan| (plan.name_any(), plan)).collect(),
            unreadable_plans: BTreeMap::new(),
            groups: caches.operator_groups.in_namespace(namespace),
            catalogs: catalogs.collect(),
            moment: Moment::default(),
        };
        world.read_missing_plans(context).await?;
        Ok(world)
    }

    /// A plan that was made a moment ago may not be in the cache yet. Taken for deleted, it would
    /// be made anew.
    async fn read_missing_plans(&mut self, context: &Context) -> Result<(), Error> {
        let api = Api::<InstallPlan>::namespaced(context.client.clone(), &self.namespace);
        let named = self.subscriptions.iter().filter_map(|it| {
            let reference = it.status.as_ref()?.install_plan_ref.as_ref()?;
            reference.name.clone()
        });
        let missing: Vec<String> = named
            .filter(|name| !self.plans.contains_key(name))
            .collect();
        for name in missing {
            match api.get_opt(&name).await {
                Ok(Some(plan)) => {
                    self.plans.insert(name, Arc::new(plan));
                }
                Ok(None) => {}
                Err(kube::Error::SerdeError(error)) => {
                    self.unreadable_plans.insert(name, error.to_string());
                }
                Err(error) => {
                    return Err(Error::while_(format!("reading InstallPlan {name}"))(error));
                }
            }
        }
        Ok(())
    }

    /// Whether the `OperatorGroup` keeps the global catalogs out.
    pub(super) fn excludes_global(&self) -> bool {
        self.groups.iter().any(|group| group.excludes_global())
    }

    /// How long bundles may take. Where a group makes no sense, none is fetched.
    pub(super) fn patience(&self) -> Patience {
        let group = self.groups.first();
        let said = group.and_then(|group| Patience::of(group).ok());
        said.unwrap_or_default()
    }

    /// The catalogs that the namespace may use.
    fn visible(&self, context: &Context) -> Vec<&(CatalogSource, Option<Known>)> {
        let excludes_global = self.excludes_global();
        let may_use = |namespace: &str| {
            namespace == self.namespace
                || (!excludes_global && context.settings.is_global(namespace))
        };
        let all = self.catalogs.iter();
        all.filter(|(object, _)| may_use(&object.namespace().unwrap_or_default()))
            .collect()
    }

    /// A catalog that the namespace may use and that nobody has looked at so far, unless that takes
    /// too long already.
    pub(super) fn unread(&self, context: &Context) -> Option<CatalogKey> {
        let visible = self.visible(context).into_iter();
        let unread = visible.filter(|(_, known)| known.is_none());
        let keys = unread.map(|(object, _)| {
            CatalogKey::new(object.namespace().unwrap_or_default(), object.name_any())
        });
        // All of them, so that the time of each runs from now on and not one after the other.
        let awaited = keys.filter(|key| context.catalogs.awaited_for(key) < super::PATIENCE);
        awaited.collect::<Vec<_>>().into_iter().next()
    }

    /// What the statuses of all Subscriptions depend on.
    pub(super) fn surroundings(&self, context: &Context) -> Surroundings {
        let visible = self.visible(context).into_iter();
        Surroundings {
            groups: Groups::of(self.groups.iter().map(|group| &**group)),
            catalogs: visible
                .map(|(object, known)| Catalog::of(object, health(known.as_ref())))
                .collect(),
            csvs: self
                .csvs
                .iter()
                .filter(|csv| !csv.is_copied())
                .map(|csv| (csv.name_any(), Csv::of(csv)))
                .collect(),
            plans: self
                .plans
                .iter()
                .map(|(name, plan)| (name.clone(), Plan::of(plan)))
                .collect(),
        }
    }
}

fn health(known: Option<&Known>) -> Health {
    match known {
        None => Health::Unhealthy("it was not read yet".to_owned()),
        Some(Known { problem: None, .. }) => Health::Healthy,
        Some(Known {
            problem: Some(problem),
            content: Some(_),
            ..
        }) => Health::Stale(problem.clone()),
        Some(Known {
            problem: Some(problem),
            ..
        }) => Health::Unhealthy(problem.clone()),
    }
}
