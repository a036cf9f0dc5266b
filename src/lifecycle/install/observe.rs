//! Whether an installation is there as it is asked for, and what to write if not.
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::object::Key;
use super::state::{ApiServices, Installation};
use super::Desired;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::gvk::GroupVersionKind;

/// Objects of the cluster, as far as they were read.
#[derive(Clone, Default)]
pub struct Seen {
    objects: BTreeMap<Key, Value>,
    settled: BTreeMap<Key, i64>,
}

/// Names only: Secrets are among the objects.
impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.objects.keys()).finish()
    }
}

impl Seen {
    /// Takes in objects, with their kinds.
    pub fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        let objects = objects.into_iter();
        Self {
            objects: objects.map(|object| (Key::of(&object), object)).collect(),
            settled: BTreeMap::new(),
        }
    }

    /// Tells the `metadata.generation` that an object had right after we last applied it. As long as it
    /// has that, it is as the API server and its admission want it: what differs then is not drift,
    /// and writing it again would change nothing.
    #[must_use]
    pub fn settled(mut self, key: Key, generation: i64) -> Self {
        self.settled.insert(key, generation);
        self
    }

    /// An object, if there is one.
    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.objects.get(key)
    }
}

/// How an installation stands.
pub fn observe(desired: &Desired, seen: &Seen) -> Installation {
    let _ = (desired, seen);
    todo!()
}

/// What has to be applied, in this order, and nothing that is there already.
pub fn writes<'a>(desired: &'a Desired, seen: &Seen) -> Vec<&'a Value> {
    let _ = (desired, seen);
    todo!()
}

/// Deployments and webhook configurations of a CSV that it no longer asks for.
pub fn leftovers(csv: &ClusterServiceVersion, desired: &Desired, seen: &Seen) -> Vec<Key> {
    let _ = (csv, desired, seen);
    todo!()
}

/// How the owned APIServices of a CSV stand. `is_served` tells whether discovery has a kind; `pods` are
/// those of the namespace.
pub fn api_services(
    csv: &ClusterServiceVersion,
    seen: &Seen,
    is_served: impl Fn(&GroupVersionKind) -> bool,
    pods: &[Pod],
    now: &Time,
) -> ApiServices {
    let _ = (csv, seen, is_served(&GroupVersionKind::default()), pods, now);
    todo!()
}
