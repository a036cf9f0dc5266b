//! What of an installation belongs to a newer version already.
//!
//! While one version takes over from another, both look after what they consist of, and neither may undo
//! what the other writes. Once the newer one begins to install, every object that it asks for by a name of
//! its own choice is its: Deployments, what goes with serving, APIServices, and CRDs that it converts. That
//! follows from what it asks for alone, so that both come to the same conclusion. The rest stays the older
//! one's until that is gone, above all its webhook configurations: no other version calls them the same.

use std::collections::BTreeSet;

use serde_json::Value;

use super::object::{Key, home};
use super::observe::{self, Seen};
use super::{Desired, conversion, services};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::lifecycle::replacement::{self, Lineage};

/// What newer versions than this one have claimed: those that began to install.
pub fn claimed(csv: &ClusterServiceVersion, lineage: &Lineage<'_>) -> BTreeSet<Key> {
    let newer = lineage.descendants(csv).into_iter();
    let newer = newer.filter(|newer| replacement::has_begun(newer));
    newer.flat_map(asked_for).collect()
}

/// What a version asks for by names of its own choice.
pub(super) fn asked_for(csv: &ClusterServiceVersion) -> Vec<Key> {
    let namespace = home(csv);
    let templates = csv.spec.install.spec.deployments.iter();
    let mut keys: Vec<Key> = templates
        .map(|template| Key::new("Deployment", &namespace, &template.name))
        .collect();
    // One that makes no sense is not installed.
    for served in services::serving(csv).unwrap_or_default() {
        keys.push(Key::new("Service", &namespace, &served.service));
        keys.push(Key::new("Secret", &namespace, &served.secret()));
        keys.extend(services::rbac(csv, &served, &[]).iter().map(Key::of));
    }
    let apis = csv.spec.api_service_definitions.owned.iter();
    keys.extend(apis.map(|api| Key::new("APIService", "", &api.api_service_name())));
    let crds = conversion::crd_names(csv).into_iter();
    keys.extend(crds.map(|name| Key::new("CustomResourceDefinition", "", name)));
    keys
}

impl Desired {
    /// Without what a newer version has claimed. Who still calls this version is told by this version
    /// whom to trust: the newer one leaves them as they are until it can answer.
    #[must_use]
    pub fn without(mut self, claimed: &BTreeSet<Key>, seen: &Seen) -> Self {
        let is_ours = |object: &Value| !claimed.contains(&Key::of(object));
        let is_still_called = |caller: &Value| {
            observe::service_called(caller, seen).is_some_and(|it| !claimed.contains(&it))
        };
        self.services.retain(is_ours);
        self.serving_rbac.retain(is_ours);
        self.secrets.retain(is_ours);
        self.deployments.retain(is_ours);
        self.callers
            .retain(|caller| is_ours(caller) || is_still_called(caller));
        self.leftovers.retain(|key| !claimed.contains(key));
        self
    }
}

#[cfg(test)]
mod tests;
