//! Which ClusterServiceVersions a change concerns.

use kube::ResourceExt as _;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;
use crate::api::subscription::Subscription;
use crate::controller::context::Context;
use crate::controller::key::ObjectKey;
use crate::lifecycle::components::Component;

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
    context.queues.csvs.add(ObjectKey::of(csv));
    match csv.labels().get(labels::COPIED_FROM) {
        Some(home) => {
            let original = ObjectKey::new(home, csv.name_any());
            context.queues.csvs.add(original);
        }
        None => look_at_namespace(context, &csv.namespace().unwrap_or_default()),
    }
}

/// An object that may belong to an operator came, changed or went.
pub(in crate::controller) fn tell_of_component(context: &Context, component: &Component) {
    if !context.leads() {
        return;
    }
    let label = |key: &str| component.labels.get(key).filter(|it| !it.is_empty());
    if let (Some(name), Some(namespace)) = (label(labels::OWNER), label(labels::OWNER_NAMESPACE)) {
        for csv in context.caches.csvs.in_namespace(namespace) {
            if labels::owner_value(&csv.name_any()) == *name {
                context.queues.csvs.add(ObjectKey::of(&*csv));
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
        "OperatorCondition" | "ServiceAccount" | "Role" | "RoleBinding" => {
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
    look_at_namespace(context, &group.namespace().unwrap_or_default());
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
    let installed = subscription.status.as_ref().map(|it| &it.installed_csv);
    if let Some(name) = installed.filter(|name| !name.is_empty())
        && context.leads()
    {
        let namespace = subscription.namespace().unwrap_or_default();
        context.queues.csvs.add(ObjectKey::new(namespace, name));
    }
}

/// A namespace came, changed or went: operators may be copied there.
pub(in crate::controller) fn tell_of_namespace(context: &Context) {
    if !context.leads() {
        return;
    }
    for csv in context.caches.csvs.all() {
        if !csv.is_copied() {
            context.queues.csvs.add(ObjectKey::of(&*csv));
        }
    }
}

/// What happened before this replica led was somebody else's to write.
pub(in crate::controller) fn look_at_everything(context: &Context) {
    for csv in context.caches.csvs.all() {
        context.queues.csvs.add(ObjectKey::of(&*csv));
    }
}
