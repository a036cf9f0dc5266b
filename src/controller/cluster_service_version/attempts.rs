//! What is remembered of installs: it saves writes, and may be forgotten at any time.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, MutexGuard, PoisonError};

use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::ListParams;
use kube::{Api, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvReason;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::key::ObjectKey;
use crate::lifecycle::install::{Key, Seen};

/// What is remembered of installs.
#[derive(Debug, Default)]
pub(in crate::controller) struct Attempts {
    /// The generation that an object had right after we wrote it.
    generations: Mutex<HashMap<Key, i64>>,
    /// How the rights in the cluster were when an install was given up.
    rights: Mutex<HashMap<ObjectKey, u64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Whoever panicked with it left a map that is at worst incomplete.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Attempts {
    /// Remembers what an object was like right after it was written.
    pub(super) fn wrote(&self, key: Key, generation: i64) {
        lock(&self.generations).insert(key, generation);
    }

    /// Tells which objects are as the API server wanted them when they were written.
    pub(super) fn settled(&self, mut seen: Seen, keys: Vec<Key>) -> Seen {
        let generations = lock(&self.generations);
        for key in keys {
            if let Some(generation) = generations.get(&key) {
                seen = seen.settled(key, *generation);
            }
        }
        seen
    }

    /// Forgets what is gone.
    pub(super) fn forget(&self, key: &ObjectKey) {
        lock(&self.rights).remove(key);
        lock(&self.generations).retain(|object, _| object.namespace != key.namespace);
    }

    /// Whether the rights in the cluster changed since an install was given up; also if that is not
    /// known.
    pub(super) async fn cluster_changed(
        &self,
        context: &Context,
        csv: &ClusterServiceVersion,
    ) -> Result<bool, Error> {
        let status = csv.status.as_ref();
        let key = ObjectKey::of(csv);
        if status.is_none_or(|it| it.reason != CsvReason::InstallComponentFailedNoRetry) {
            lock(&self.rights).remove(&key);
            return Ok(false);
        }
        let now = rights(context, &key.namespace).await?;
        let before = lock(&self.rights).insert(key, now);
        // One that was given up by us a moment ago is remembered by `give_up`.
        Ok(before != Some(now))
    }

    /// Remembers how the rights in the cluster were when an install was given up.
    pub(super) async fn give_up(&self, context: &Context, key: &ObjectKey) -> Result<(), Error> {
        let now = rights(context, &key.namespace).await?;
        lock(&self.rights).insert(key.clone(), now);
        Ok(())
    }
}

/// A number for all roles, bindings and accounts that may decide what an install may do.
async fn rights(context: &Context, namespace: &str) -> Result<u64, Error> {
    let client = || context.client.clone();
    let mut hasher = DefaultHasher::new();
    versions(Api::<Role>::namespaced(client(), namespace), &mut hasher).await?;
    versions(
        Api::<RoleBinding>::namespaced(client(), namespace),
        &mut hasher,
    )
    .await?;
    versions(
        Api::<ServiceAccount>::namespaced(client(), namespace),
        &mut hasher,
    )
    .await?;
    versions(Api::<ClusterRole>::all(client()), &mut hasher).await?;
    versions(Api::<ClusterRoleBinding>::all(client()), &mut hasher).await?;
    for group in context.caches.operator_groups.in_namespace(namespace) {
        group.spec.service_account_name.hash(&mut hasher);
    }
    Ok(hasher.finish())
}

async fn versions<K>(api: Api<K>, hasher: &mut DefaultHasher) -> Result<(), Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let list = api.list_metadata(&ListParams::default()).await;
    let kind = K::kind(&());
    for object in list.map_err(Error::while_(format!("listing {kind}s")))? {
        object.name_any().hash(hasher);
        object.resource_version().hash(hasher);
    }
    Ok(())
}
