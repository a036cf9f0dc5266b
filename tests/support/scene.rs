//! A namespace with an OperatorGroup, and controllers that care for it alone.

use std::fmt::Debug;

use anyhow::Context as _;
use chandler::api::catalog_source::CatalogSource;
use chandler::api::cluster_service_version::ClusterServiceVersion;
use chandler::api::conditions::{
    ConditionStatus, ConnectionState, InstallPlanPhase, SubscriptionConditionType,
    SubscriptionState,
};
use chandler::api::install_plan::InstallPlan;
use chandler::api::subscription::{Subscription, SubscriptionCondition};
use chandler::controller::Settings;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Resource, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::case::Case;
use super::controllers::Running;
use super::wares::{Channel, Operator, Shop, config_map_data};

/// What a test of controllers has at hand.
pub struct Scene<'c> {
    pub case: &'c Case,
    pub namespace: String,
    /// Controllers, until somebody stops them.
    pub running: Option<Running>,
}

impl<'c> Scene<'c> {
    /// A namespace with an OperatorGroup, cared for.
    pub async fn new(case: &'c Case) -> anyhow::Result<Self> {
        let scene = Self::without_group(case).await?;
        scene.group("own").await?;
        Ok(scene)
    }

    /// A namespace that is cared for.
    pub async fn without_group(case: &'c Case) -> anyhow::Result<Self> {
        Self::with(case, |_| {}).await
    }

    /// A namespace that is cared for by controllers whose settings differ in something.
    pub async fn with(case: &'c Case, differ: impl FnOnce(&mut Settings)) -> anyhow::Result<Self> {
        let namespace = case.simulated_namespace().await?;
        let running = Running::start_with(case, &[&namespace], differ).await?;
        Ok(Self {
            case,
            namespace,
            running: Some(running),
        })
    }

    /// A namespace with an OperatorGroup that nobody cares for yet.
    pub async fn uncared(case: &'c Case) -> anyhow::Result<Self> {
        let scene = Self {
            case,
            namespace: case.simulated_namespace().await?,
            running: None,
        };
        scene.group("own").await?;
        Ok(scene)
    }

    /// A namespace with an OperatorGroup for all namespaces that nobody cares for yet.
    pub async fn for_all(case: &'c Case) -> anyhow::Result<Self> {
        let scene = Self {
            case,
            namespace: case.simulated_namespace().await?,
            running: None,
        };
        scene
            .create(json!({
                "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
                "metadata": {"name": "all"}, "spec": {},
            }))
            .await?;
        Ok(scene)
    }

    /// An OperatorGroup for the namespace itself.
    pub async fn group(&self, name: &str) -> anyhow::Result<()> {
        self.create(json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": name}, "spec": {"targetNamespaces": [self.namespace]},
        }))
        .await
    }

    /// One version of an operator, with APIs that no other test has.
    pub fn operator(&self, package: &str, version: &str) -> Operator {
        Operator::new(&format!("{}.example.com", self.namespace), package, version)
    }

    /// Where images of this test are pushed to.
    pub fn shop(&self) -> Shop {
        Shop {
            registry: self
                .case
                .cluster
                .registry
                .clone()
                .expect("a cluster with a registry"),
            prefix: self.namespace.clone(),
            login: None,
        }
    }

    /// Creates an object in the namespace.
    pub async fn create(&self, object: Value) -> anyhow::Result<()> {
        self.create_in(&self.namespace, object).await
    }

    pub async fn create_in(&self, namespace: &str, object: Value) -> anyhow::Result<()> {
        let object: DynamicObject = serde_json::from_value(object)?;
        let api = self.dynamic(namespace, &object);
        api.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    fn dynamic(&self, namespace: &str, object: &DynamicObject) -> Api<DynamicObject> {
        let types = object.types.clone().unwrap_or_default();
        let (group, version) = types
            .api_version
            .split_once('/')
            .unwrap_or(("", &types.api_version));
        let gvk = GroupVersionKind::gvk(group, version, &types.kind);
        Api::namespaced_with(
            self.case.client.clone(),
            namespace,
            &ApiResource::from_gvk(&gvk),
        )
    }

    /// The objects of a kind in the namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.case.client.clone(), &self.namespace)
    }

    /// Changes an object by a merge patch.
    pub async fn patch<K>(&self, name: &str, patch: Value) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api = self.api::<K>();
        api.patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// A catalog in a ConfigMap of the same name.
    pub async fn config_map_catalog(&self, name: &str, channels: &[Channel]) -> anyhow::Result<()> {
        self.config_map_catalog_in(&self.namespace, name, channels)
            .await
    }

    /// The same in another namespace.
    pub async fn config_map_catalog_in(
        &self,
        namespace: &str,
        name: &str,
        channels: &[Channel],
    ) -> anyhow::Result<()> {
        let data = config_map_data(channels);
        self.create_in(
            namespace,
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data,
            }),
        )
        .await?;
        self.create_in(
            namespace,
            json!({
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "metadata": {"name": name},
                "spec": {"sourceType": "internal", "configMap": name},
            }),
        )
        .await
    }

    /// Other content for a catalog in a ConfigMap.
    pub async fn restock(&self, name: &str, channels: &[Channel]) -> anyhow::Result<()> {
        let data = config_map_data(channels);
        self.patch::<ConfigMap>(name, json!({"data": data})).await
    }

    /// A CatalogSource for a registry that speaks gRPC, which is looked at every second.
    pub async fn catalog_at(&self, name: &str, address: &str) -> anyhow::Result<()> {
        self.create(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": name},
            "spec": {
                "sourceType": "grpc", "address": address,
                "updateStrategy": {"registryPoll": {"interval": "1s"}},
            },
        }))
        .await
    }

    /// A catalog in an image, with its bundles in images.
    pub async fn image_catalog(&self, name: &str, channels: &[Channel]) -> anyhow::Result<()> {
        let image = self.shop().push_catalog(name, channels).await?;
        self.catalog_of(name, &image, json!({})).await
    }

    /// A CatalogSource for an image, which is looked at every second.
    pub async fn catalog_of(&self, name: &str, image: &str, more: Value) -> anyhow::Result<()> {
        let mut spec = json!({
            "sourceType": "grpc", "image": image,
            "updateStrategy": {"registryPoll": {"interval": "1s"}},
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        self.create(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": name}, "spec": spec,
        }))
        .await
    }

    /// A Subscription that is called after its package.
    pub async fn subscribe(&self, package: &str, source: &str, more: Value) -> anyhow::Result<()> {
        let mut spec = json!({
            "name": package, "source": source, "sourceNamespace": self.namespace,
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        self.create(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": package}, "spec": spec,
        }))
        .await
    }

    /// Waits until an object is as it should be, and gives it.
    pub async fn until<K>(
        &self,
        name: &str,
        what: &str,
        holds: impl Fn(&K) -> bool,
    ) -> anyhow::Result<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Send
            + Serialize
            + DeserializeOwned
            + 'static,
    {
        let api = self.api::<K>();
        let condition = |object: Option<&K>| object.is_some_and(&holds);
        let met = self.case.wait_for(&api, name, what, condition).await?;
        met.with_context(|| format!("{name} was {what} and is nothing"))
    }

    pub async fn ready_catalog(&self, name: &str) -> anyhow::Result<CatalogSource> {
        self.until(name, "READY", |catalog: &CatalogSource| {
            state(catalog) == Some(ConnectionState::Ready)
        })
        .await
    }

    /// Waits until a Subscription has a CSV and wants nothing else.
    pub async fn at_latest(&self, name: &str, csv: &str) -> anyhow::Result<Subscription> {
        self.until(
            name,
            &format!("AtLatestKnown with {csv}"),
            |it: &Subscription| {
                it.status.as_ref().is_some_and(|status| {
                    status.state == SubscriptionState::AtLatestKnown && status.installed_csv == csv
                })
            },
        )
        .await
    }

    /// Waits until a condition of a Subscription is True, and gives it.
    pub async fn said(
        &self,
        name: &str,
        type_: SubscriptionConditionType,
    ) -> anyhow::Result<SubscriptionCondition> {
        let subscription = self
            .until(name, &format!("{type_}"), |it: &Subscription| {
                condition(it, &type_).is_some()
            })
            .await?;
        Ok(condition(&subscription, &type_).expect("it was there"))
    }

    /// Waits until a condition of a Subscription is not True any more.
    pub async fn unsaid(&self, name: &str, type_: SubscriptionConditionType) -> anyhow::Result<()> {
        self.until(name, &format!("without {type_}"), |it: &Subscription| {
            condition(it, &type_).is_none()
        })
        .await?;
        Ok(())
    }

    /// Waits until the plan that a Subscription names is in a phase, and gives it.
    pub async fn plan_of(
        &self,
        subscription: &str,
        phase: InstallPlanPhase,
    ) -> anyhow::Result<InstallPlan> {
        let named = self
            .until(subscription, "with a plan", |it: &Subscription| {
                plan_name(it).is_some()
            })
            .await?;
        let name = plan_name(&named).expect("it was there");
        self.until(&name, &phase.to_string(), |plan: &InstallPlan| {
            plan.status
                .as_ref()
                .is_some_and(|status| status.phase == phase)
        })
        .await
    }

    /// Waits until a Subscription names another plan than this one that is done, and gives it.
    pub async fn next_plan(
        &self,
        subscription: &str,
        before: &InstallPlan,
    ) -> anyhow::Result<InstallPlan> {
        let before = before.name_any();
        self.until(subscription, "with another plan", |it: &Subscription| {
            plan_name(it).is_some_and(|name| name != before)
        })
        .await?;
        self.plan_of(subscription, InstallPlanPhase::Complete).await
    }

    /// Deletes an object.
    pub async fn delete<K>(&self, name: &str) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api = self.api::<K>();
        api.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Waits until an object is gone.
    pub async fn gone<K>(&self, name: &str) -> anyhow::Result<()>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + Send
            + Serialize
            + DeserializeOwned
            + 'static,
    {
        let is_gone = |object: Option<&K>| object.is_none();
        self.case
            .wait(&self.api::<K>(), name, "gone", is_gone)
            .await
    }

    /// Approves a plan.
    pub async fn approve(&self, plan: &InstallPlan) -> anyhow::Result<()> {
        let name = plan.name_any();
        self.patch::<InstallPlan>(&name, json!({"spec": {"approved": true}}))
            .await
    }

    /// The names of the CSVs in the namespace.
    pub async fn csvs(&self) -> anyhow::Result<Vec<String>> {
        self.names::<ClusterServiceVersion>().await
    }

    /// The names of the objects of a kind in the namespace.
    pub async fn names<K>(&self) -> anyhow::Result<Vec<String>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let objects = self.api::<K>().list(&ListParams::default()).await?;
        Ok(objects
            .items
            .iter()
            .map(kube::ResourceExt::name_any)
            .collect())
    }

    /// Stops the controllers as a kill would, but for the Lease.
    pub async fn stop(&mut self) -> anyhow::Result<()> {
        match self.running.take() {
            Some(running) => running.stop().await,
            None => Ok(()),
        }
    }
}

/// What a Subscription says that wants to be asked.
pub fn manual() -> Value {
    json!({"installPlanApproval": "Manual"})
}

/// The state of a catalog's connection.
pub fn state(catalog: &CatalogSource) -> Option<ConnectionState> {
    let connection = catalog.status.as_ref()?.connection_state.as_ref()?;
    Some(connection.last_observed_state.clone())
}

/// A condition of a Subscription, if it is True.
pub fn condition(
    subscription: &Subscription,
    type_: &SubscriptionConditionType,
) -> Option<SubscriptionCondition> {
    let condition = subscription.status.as_ref()?.condition(type_)?;
    (condition.status == ConditionStatus::True).then(|| condition.clone())
}

/// The plan that a Subscription names.
pub fn plan_name(subscription: &Subscription) -> Option<String> {
    subscription
        .status
        .as_ref()?
        .install_plan_ref
        .as_ref()?
        .name
        .clone()
}
