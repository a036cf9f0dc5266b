//! Objects of a kind in the namespaces that an operator is for, kept up to date.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::discovery::{Scope, pinned_kind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::{Store, reflector, store::Writer};
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tokio::time::sleep;

/// How long is waited before it is asked again whether an API is there.
const PATIENCE: Duration = Duration::from_secs(2);
/// What happens within this time is looked at together.
const TOGETHER: Duration = Duration::from_millis(100);
/// Everything is looked at again after this time, whatever happened: what is outside of the cluster tells nothing.
const AGAIN: Duration = Duration::from_secs(5);

/// The namespaces that an OperatorGroup has an operator care for; none means all.
#[derive(Debug, Clone)]
pub(crate) struct Targets(Vec<String>);

impl Targets {
    /// As the variable says that operators read.
    pub(crate) fn of_environment() -> Self {
        Self::parse(&std::env::var("WATCH_NAMESPACE").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let names = text.split(',').map(str::trim);
        Self(
            names
                .filter(|it| !it.is_empty())
                .map(str::to_owned)
                .collect(),
        )
    }

    /// One API for each namespace, or one for all.
    pub(crate) fn apis<K>(&self, client: &Client) -> Vec<Api<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let one = |namespace: &String| Api::namespaced(client.clone(), namespace);
        match self.0.as_slice() {
            [] => vec![Api::all(client.clone())],
            names => names.iter().map(one).collect(),
        }
    }

    fn dynamic(&self, client: &Client, kind: &Kind) -> Vec<Api<DynamicObject>> {
        let one = |name: &String| Api::namespaced_with(client.clone(), name, &kind.resource);
        match self.0.as_slice() {
            names if !names.is_empty() && kind.is_namespaced => names.iter().map(one).collect(),
            _ => vec![Api::all_with(client.clone(), &kind.resource)],
        }
    }
}

/// A kind, as the cluster serves it.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) resource: ApiResource,
    is_namespaced: bool,
}

impl Kind {
    /// Waits until the cluster serves it.
    pub(crate) async fn served(client: &Client, gvk: &GroupVersionKind) -> Self {
        loop {
            match pinned_kind(client, gvk).await {
                Ok((resource, capabilities)) => {
                    return Self {
                        resource,
                        is_namespaced: capabilities.scope == Scope::Namespaced,
                    };
                }
                Err(error) => tracing::warn!(kind = gvk.kind, "not served yet: {error}"),
            }
            sleep(PATIENCE).await;
        }
    }

    /// The API of one object.
    pub(crate) fn api_of(&self, client: &Client, object: &DynamicObject) -> Api<DynamicObject> {
        match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &self.resource),
            None => Api::all_with(client.clone(), &self.resource),
        }
    }

    /// All objects of this kind.
    pub(crate) async fn objects(
        &self,
        client: &Client,
        targets: &Targets,
        changed: &Arc<Notify>,
    ) -> Objects<DynamicObject> {
        let apis = targets.dynamic(client, self);
        let new = || Writer::new(self.resource.clone());
        Objects::follow(apis, &watcher::Config::default(), changed, new).await
    }
}

/// The objects of a kind, all of them from the beginning: who acted on half of them would undo the rest.
pub(crate) struct Objects<K>
where
    K: Resource + 'static,
    K::DynamicType: Hash + Eq,
{
    stores: Vec<Store<K>>,
}

impl<K> Objects<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Hash + Eq + Clone + Send + Sync,
{
    pub(crate) async fn follow(
        apis: Vec<Api<K>>,
        config: &watcher::Config,
        changed: &Arc<Notify>,
        new: impl Fn() -> Writer<K>,
    ) -> Self {
        let mut stores = Vec::new();
        for api in apis {
            let writer = new();
            stores.push(writer.as_reader());
            let events = reflector(writer, watcher(api, config.clone()).default_backoff());
            let changed = Arc::clone(changed);
            tokio::spawn(events.for_each(move |event| {
                match event {
                    Ok(_) => changed.notify_one(),
                    Err(error) => tracing::warn!("{error}"),
                }
                std::future::ready(())
            }));
        }
        for store in &stores {
            // The watch goes on as long as this program does.
            let _ = store.wait_until_ready().await;
        }
        Self { stores }
    }

    pub(crate) fn all(&self) -> Vec<Arc<K>> {
        self.stores.iter().flat_map(Store::state).collect()
    }
}

/// Waits until there may be something to do.
pub(crate) async fn something(changed: &Notify) {
    if tokio::time::timeout(AGAIN, changed.notified())
        .await
        .is_ok()
    {
        sleep(TOGETHER).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_namespace_means_all() {
        assert!(Targets::parse("").0.is_empty());
        assert_eq!(Targets::parse("a, b,").0, ["a", "b"]);
    }
}
