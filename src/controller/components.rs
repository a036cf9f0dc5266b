//! The objects that may belong to an installed package, trimmed to what tells so.
//!
//! Only what carries `olm.managed=true` is watched: Chandler labels everything it makes, and so did
//! OLM. Kinds that have a cache of their own (Subscriptions, ClusterServiceVersions, InstallPlans,
//! Namespaces, ClusterRoles) are looked up there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock};

use futures::StreamExt as _;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta, PartialObjectMeta};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Resource, ResourceExt as _};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::cluster_service_version;
use super::context::Context;
use super::settings::Settings;
use super::watch::events;
use super::words;
use crate::api::labels;
use crate::api::operator_condition::OperatorCondition;
use crate::lifecycle::components::Component;

/// What is watched.
const MANAGED: &str = "olm.managed=true";
/// Objects per request of a list. CRDs can be large, and it is whole ones that arrive.
const PAGE: u32 = 50;

/// Kind, namespace and name of an object.
type Place = (String, String, String);

/// The objects that may belong to an installed package.
#[derive(Debug)]
pub(crate) struct Components {
    objects: RwLock<BTreeMap<Place, Arc<Component>>>,
    /// How many watches have not listed everything yet.
    missing: watch::Sender<usize>,
}

/// A kind of objects that may belong to a package.
struct Kind {
    resource: ApiResource,
    is_namespaced: bool,
    /// Whether its objects report conditions; of others, not even their content is asked for.
    has_conditions: bool,
}

fn kinds() -> [Kind; 13] {
    [
        kind::<Deployment>(true, true),
        kind::<Service>(true, true),
        kind::<OperatorCondition>(true, true),
        kind::<APIService>(false, true),
        kind::<CustomResourceDefinition>(false, true),
        kind::<ValidatingWebhookConfiguration>(false, false),
        kind::<MutatingWebhookConfiguration>(false, false),
        kind::<Secret>(true, false),
        kind::<ConfigMap>(true, false),
        kind::<ServiceAccount>(true, false),
        kind::<Role>(true, false),
        kind::<RoleBinding>(true, false),
        kind::<ClusterRoleBinding>(false, false),
    ]
}

fn kind<K: Resource<DynamicType = ()>>(is_namespaced: bool, has_conditions: bool) -> Kind {
    Kind {
        resource: ApiResource::erase::<K>(&()),
        is_namespaced,
        has_conditions,
    }
}

impl Components {
    pub(crate) fn new(settings: &Settings) -> Arc<Self> {
        let namespaces = settings.watched_namespaces.len().max(1);
        let watches = |kind: &Kind| if kind.is_namespaced { namespaces } else { 1 };
        let missing = kinds().iter().map(watches).sum();
        Arc::new(Self {
            objects: RwLock::default(),
            missing: watch::Sender::new(missing),
        })
    }

    /// Waits until everything was listed once.
    pub(crate) async fn is_ready(&self) {
        // The sender is part of the store, so that waiting for it cannot fail.
        let _ = self
            .missing
            .subscribe()
            .wait_for(|missing| *missing == 0)
            .await;
    }

    /// Whether everything was listed once.
    pub(crate) fn is_listed(&self) -> bool {
        *self.missing.borrow() == 0
    }

    /// The objects that this is true of.
    pub(crate) fn filter(&self, is_wanted: impl Fn(&Component) -> bool) -> Vec<Arc<Component>> {
        // A thread that panicked with the lock held left a whole map: changes are single calls.
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        let wanted = objects.values().filter(|component| is_wanted(component));
        wanted.cloned().collect()
    }

    fn change<T>(&self, change: impl FnOnce(&mut BTreeMap<Place, Arc<Component>>) -> T) -> T {
        change(&mut self.objects.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Begins to watch all kinds.
pub(crate) fn watch_all(context: &Arc<Context>, stop: &CancellationToken, tasks: &mut JoinSet<()>) {
    let watched = &context.settings.watched_namespaces;
    for kind in kinds() {
        let namespaces: Vec<Option<String>> = if kind.is_namespaced && !watched.is_empty() {
            watched.iter().cloned().map(Some).collect()
        } else {
            vec![None]
        };
        for namespace in namespaces {
            let (context, stop) = (context.clone(), stop.clone());
            let resource = kind.resource.clone();
            if kind.has_conditions {
                tasks.spawn(follow::<Trimmed>(context, resource, namespace, stop));
            } else {
                let follow = follow::<PartialObjectMeta<Trimmed>>;
                tasks.spawn(follow(context, resource, namespace, stop));
            }
        }
    }
}

/// Keeps the store up to date about one kind, in one namespace or in all.
async fn follow<K>(
    context: Arc<Context>,
    resource: ApiResource,
    namespace: Option<String>,
    stop: CancellationToken,
) where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    K: Parts + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let store = &context.components;
    let client = context.client.clone();
    let api: Api<K> = match &namespace {
        // The scope is the caller's to know: it is not in the type.
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let config = watcher::Config::default().labels(MANAGED).page_size(PAGE);
    let events = events(api, config);
    let mut events = std::pin::pin!(events.take_until(stop.cancelled()));
    let mut seen = BTreeSet::new();
    let mut is_first = true;
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => seen.clear(),
            Ok(Event::InitApply(object)) => {
                let component = component(&resource, object);
                seen.insert(place(&component));
                put(&context, component);
            }
            Ok(Event::InitDone) => {
                let is_ours = |place: &Place| {
                    let here = namespace.as_ref().is_none_or(|it| place.1 == *it);
                    place.0 == resource.kind && here && !seen.contains(place)
                };
                let gone: Vec<Arc<Component>> = store.change(|objects| {
                    let gone = objects.extract_if(.., |place, _| is_ours(place));
                    gone.map(|(_, component)| component).collect()
                });
                for component in gone {
                    tell(&context, &component);
                }
                if std::mem::take(&mut is_first) {
                    store.missing.send_modify(|missing| *missing -= 1);
                }
            }
            Ok(Event::Apply(object)) => put(&context, component(&resource, object)),
            Ok(Event::Delete(object)) => {
                let place = place(&component(&resource, object));
                if let Some(gone) = store.change(|objects| objects.remove(&place)) {
                    tell(&context, &gone);
                }
            }
            Err(error) => {
                let kind = &resource.kind;
                tracing::warn!(%kind, error = words::of_watch(&error), "the watch failed and is begun anew");
            }
        }
    }
}

fn put(context: &Context, component: Component) {
    let component = Arc::new(component);
    let before = context
        .components
        .change(|objects| objects.insert(place(&component), component.clone()));
    if before.as_ref() == Some(&component) {
        // What changed in it is not kept here, and may still be what an operator runs by.
        cluster_service_version::tell_of_component(context, &component);
        return;
    }
    if let Some(before) = before {
        tell(context, &before);
    }
    tell(context, &component);
}

/// Has everybody look again whom an object concerns: the Operators it belongs or belonged to, and
/// the ClusterServiceVersions it may belong to.
pub(crate) fn tell(context: &Context, component: &Component) {
    if !context.leads() {
        return;
    }
    cluster_service_version::tell_of_component(context, component);
    for operator in component.operators() {
        context.queues.operators.add(operator);
    }
    if component.kind == "CustomResourceDefinition" {
        for csv in context.caches.csvs.all() {
            let owned = &csv.spec.custom_resource_definitions.owned;
            if owned.iter().any(|crd| crd.name == component.name) {
                let namespace = csv.namespace().unwrap_or_default();
                context.queues.adoptions.add(namespace);
            }
        }
    } else if !component.owners.is_empty() {
        context.queues.adoptions.add(component.namespace.clone());
    }
    if let Some(namespace) = component.labels.get(labels::OWNER_NAMESPACE) {
        context.queues.adoptions.add(namespace.clone());
    }
}

fn place(component: &Component) -> Place {
    (
        component.kind.clone(),
        component.namespace.clone(),
        component.name.clone(),
    )
}

fn component(resource: &ApiResource, object: impl Parts) -> Component {
    let (metadata, status) = object.parts();
    Component::new(&resource.api_version, &resource.kind, metadata, &status)
}

/// What is kept of an object while it is on its way into the store.
trait Parts {
    fn parts(self) -> (ObjectMeta, Value);
}

impl Parts for PartialObjectMeta<Trimmed> {
    fn parts(self) -> (ObjectMeta, Value) {
        (self.metadata, Value::Null)
    }
}

impl Parts for Trimmed {
    fn parts(self) -> (ObjectMeta, Value) {
        (self.metadata, self.status)
    }
}

/// An object of any kind, without its spec.
#[derive(Clone, Debug, Deserialize)]
struct Trimmed {
    #[serde(default)]
    metadata: ObjectMeta,
    #[serde(default)]
    status: Value,
}

impl Resource for Trimmed {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
