//! Which ClusterServiceVersions a change concerns.

use std::time::Duration;

use kube::ResourceExt as _;

use super::{removal, subscriber};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription;
use crate::controller::context::Context;
use crate::controller::key::ObjectKey;
use crate::lifecycle::components::Component;
use crate::lifecycle::copied_csvs::Copy;

/// How long to wait for others of whom only one more look has to be taken.
const MANY: Duration = Duration::from_millis(200);

/// Has all of a namespace looked at: they replace each other, and share an OperatorGroup.
fn look_at_namespace(context: &Context, namespace: &str) {
    for csv in context.caches.csvs.in_namespace(namespace) {
        context.queues.csvs.add(ObjectKey::of(&*csv));
    }
}

/// A ClusterServiceVersion came, changed or went.
pub(in crate::controller) fn tell_of_csv(context: &Context, csv: &ClusterServiceVersion) {
    if !context.leads() {
        return;
    }
    let key = ObjectKey::of(csv);
    look_at_namespace(context, &key.namespace);
    context.queues.copies.add(key.clone());
    context.queues.csvs.add(key);
}

/// A copy came, changed or went. Many do at once, when something happens to their original.
pub(in crate::controller) fn tell_of_copy(context: &Context, copy: &Copy) {
    if context.leads() {
        let original = ObjectKey::new(&copy.copied_from, &copy.name);
        context.queues.copies.add_after(original, MANY);
        context.queues.olm_config.add_after((), MANY);
        if copy.awaits_cleanup {
            let itself = ObjectKey::new(&copy.namespace, &copy.name);
            context.queues.csvs.add(itself);
        }
    }
}

/// An object that may belong to an operator came, changed or went.
pub(in crate::controller) fn tell_of_component(context: &Context, component: &Component) {
    if !context.leads() {
        return;
    }
    let label = |key: &str| component.labels.get(key).filter(|it| !it.is_empty());
    if let (Some(name), Some(namespace)) = (label(labels::OWNER), label(labels::OWNER_NAMESPACE)) {
        let csvs = context.caches.csvs.in_namespace(namespace);
        let mut owners = csvs
            .iter()
            .filter(|csv| labels::owner_value(&csv.name_any()) == *name);
        let owner = owners.next().map_or_else(
            || ObjectKey::new(namespace, name),
            |csv| ObjectKey::of(&**csv),
        );
        // What nobody owns any more is swept up.
        if context.settings.cares_for(namespace)
            && (context.caches.csvs.get(&owner).is_some() || removal::is_left_by(component, &owner))
        {
            context.queues.csvs.add(owner);
        }
    }
    // Rights that were copied, which say whose they are in the namespace that they were copied to.
    if let (Some(name), Some(home)) = (label(labels::OWNER), label(labels::COPIED_FROM)) {
        for csv in context.caches.csvs.in_namespace(home) {
            if labels::owner_value(&csv.name_any()) == *name {
                context.queues.copies.add_after(ObjectKey::of(&*csv), MANY);
            }
        }
    }
    match component.kind.as_str() {
        "CustomResourceDefinition" => {
            for csv in context.caches.csvs.all() {
                let crds = &csv.spec.custom_resource_definitions;
                let mut crds = crds.owned.iter().chain(&crds.required);
                if !csv.is_copied() && crds.any(|crd| crd.name == component.name) {
                    context.queues.csvs.add(ObjectKey::of(&*csv));
                }
            }
        }
        "APIService" => {
            for csv in context.caches.csvs.all() {
                let apis = &csv.spec.api_service_definitions;
                let mut apis = apis.owned.iter().chain(&apis.required);
                if !csv.is_copied() && apis.any(|api| api.api_service_name() == component.name) {
                    context.queues.csvs.add(ObjectKey::of(&*csv));
                }
            }
        }
        "Role" | "RoleBinding" => {
            look_at_namespace(context, &component.namespace);
            for csv in context.caches.csvs.in_namespace(&component.namespace) {
                context.queues.copies.add_after(ObjectKey::of(&*csv), MANY);
            }
        }
        // Older versions trust what a newer one serves with.
        "OperatorCondition" | "ServiceAccount" | "Secret" => {
            look_at_namespace(context, &component.namespace);
        }
        _ => {}
    }
}

/// An OperatorGroup came, changed or went.
pub(in crate::controller) fn tell_of_group(context: &Context, group: &OperatorGroup) {
    if !context.leads() {
        return;
    }
    let namespace = group.namespace().unwrap_or_default();
    look_at_namespace(context, &namespace);
    for csv in context.caches.csvs.in_namespace(&namespace) {
        context.queues.copies.add(ObjectKey::of(&*csv));
    }
    // What one group has, another cannot: who failed for that may go on.
    for csv in context.caches.csvs.all() {
        let status = csv.status.as_ref();
        let is_refused = status.is_some_and(|status| {
            use crate::api::conditions::CsvReason::{
                CannotModifyStaticOperatorGroupProvidedAPIs, InterOperatorGroupOwnerConflict,
            };
            matches!(
                status.reason,
                InterOperatorGroupOwnerConflict | CannotModifyStaticOperatorGroupProvidedAPIs
            )
        });
        if is_refused {
            context.queues.csvs.add(ObjectKey::of(&*csv));
        }
    }
}

/// A Subscription came, changed or went: its configuration is that of its operator.
pub(in crate::controller) fn tell_of_subscription(context: &Context, subscription: &Subscription) {
    if !context.leads() {
        return;
    }
    let namespace = subscription.namespace().unwrap_or_default();
    let named = [
        subscriber::installed(subscription),
        subscriber::current(subscription),
    ];
    for name in named.into_iter().flatten() {
        let csvs = &context.caches.csvs;
        // One that is not there yet is looked at when it comes.
        let Some(csv) = csvs.get(&ObjectKey::new(&namespace, name)) else {
            continue;
        };
        // The version before that is looked after until the newer one begins to install.
        let older = csvs.get(&ObjectKey::new(&namespace, &csv.spec.replaces));
        for csv in older.iter().chain([&csv]) {
            context.queues.csvs.add(ObjectKey::of(&**csv));
        }
    }
}

/// Something changed that concerns how all of them run, such as the proxy of the cluster.
pub(in crate::controller) fn tell_all(context: &Context) {
    if context.leads() {
        for csv in context.caches.csvs.all() {
            context.queues.csvs.add(ObjectKey::of(&*csv));
        }
    }
}

/// Namespaces came or went, or what is copied changed.
pub(in crate::controller) fn look_at_copies(context: &Context) {
    if !context.leads() {
        return;
    }
    for csv in context.caches.csvs.all() {
        context.queues.copies.add_after(ObjectKey::of(&*csv), MANY);
    }
}

/// What happened before this replica led was somebody else's to write.
pub(in crate::controller) fn look_at_everything(context: &Context) {
    for csv in context.caches.csvs.all() {
        context.queues.csvs.add(ObjectKey::of(&*csv));
        context.queues.copies.add(ObjectKey::of(&*csv));
    }
    for copy in context.caches.copies.all() {
        tell_of_copy(context, &copy);
    }
    for left in context.components.filter(|it| {
        let owner = it.labels.get(labels::OWNER);
        let namespace = it.labels.get(labels::OWNER_NAMESPACE);
        let owner = owner.zip(namespace);
        owner.is_some_and(|(name, namespace)| {
            removal::is_left_by(it, &ObjectKey::new(namespace, name))
        })
    }) {
        tell_of_component(context, &left);
    }
}
