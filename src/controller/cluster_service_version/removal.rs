//! What an operator leaves behind goes with it.
//!
//! Kubernetes removes what is owned by a ClusterServiceVersion in its namespace. What is in no
//! namespace, or in another one, carries labels, and is removed here before the finalizer lets go.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, Patch};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use super::status;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::InstallPlanPhase;
use crate::api::labels;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::key::ObjectKey;
use crate::controller::queue::Next;
use crate::controller::run::patching;
use crate::lifecycle::components::Component;
use crate::lifecycle::install::conversion;
use crate::plan::apply::Applier;

/// How soon is looked whether everything is gone.
const SOON: Duration = Duration::from_millis(200);

/// What may carry the labels of an operator without being owned by it. The aggregated roles of its
/// APIs are not among them: those belong to the APIs.
const KINDS: [(&str, &str, Option<&str>); 6] = [
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", None),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", None),
    (
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        None,
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        None,
    ),
    ("apiregistration.k8s.io/v1", "APIService", None),
    // By which servers of APIs learn whose certificates to trust.
    (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        Some("kube-system"),
    ),
];

/// Makes sure that it cannot go without us.
pub(super) async fn with_finalizer(
    context: &Context,
    csv: ClusterServiceVersion,
) -> Result<ClusterServiceVersion, Error> {
    let finalizers = csv.finalizers();
    if finalizers
        .iter()
        .any(|it| it == labels::CSV_CLEANUP_FINALIZER)
    {
        return Ok(csv);
    }
    let mut finalizers = finalizers.to_vec();
    finalizers.push(labels::CSV_CLEANUP_FINALIZER.to_owned());
    let patch = json!({"metadata": {
        "finalizers": finalizers, "resourceVersion": csv.resource_version(),
    }});
    status::patch(&context.client, &csv, &patch, "adding the finalizer").await
}

/// Removes what it leaves behind, and lets it go.
pub(super) async fn finish(context: &Context, csv: ClusterServiceVersion) -> Result<Next, Error> {
    let all = context.caches.csvs.all();
    let others: Vec<&ClusterServiceVersion> = all.iter().map(|it| &**it).collect();
    let is_done = clean_up(&context.client, &context.applier, &csv, &others).await?;
    Ok(if is_done {
        Next::Wait
    } else {
        Next::After(SOON)
    })
}

/// Removes what a ClusterServiceVersion that was deleted leaves behind, and lets it go when there is
/// nothing more. Tells whether that is so.
pub(crate) async fn clean_up(
    client: &Client,
    applier: &Applier,
    csv: &ClusterServiceVersion,
    all: &[&ClusterServiceVersion],
) -> Result<bool, Error> {
    let finalizers = csv.finalizers();
    if !finalizers
        .iter()
        .any(|it| it == labels::CSV_CLEANUP_FINALIZER)
    {
        return Ok(true);
    }
    reset_conversions(client, applier, csv, all).await?;
    if !remove_labelled(applier, &ObjectKey::of(csv)).await? {
        return Ok(false);
    }
    let rest: Vec<&String> = finalizers
        .iter()
        .filter(|it| *it != labels::CSV_CLEANUP_FINALIZER)
        .collect();
    let patch = json!({"metadata": {
        "finalizers": rest, "resourceVersion": csv.resource_version(),
    }});
    status::patch(client, csv, &patch, "removing the finalizer").await?;
    Ok(true)
}

/// Removes what one left behind that went without us: somebody took its finalizer away, or nobody ran
/// when it was deleted.
pub(super) async fn sweep(context: &Context, key: &ObjectKey) -> Result<Next, Error> {
    let left = context.components.filter(|it| is_left_by(it, key));
    if left.is_empty() {
        return Ok(Next::Wait);
    }
    if is_coming(context, key) {
        return Ok(Next::Wait);
    }
    // What is left tells the value of a label, which stands for a name that may be longer.
    let api = Api::<ClusterServiceVersion>::namespaced(context.client.clone(), &key.namespace);
    let present = api.list_metadata(&ListParams::default()).await;
    let present = present.map_err(Error::while_("listing the ClusterServiceVersions"))?;
    let owner = labels::owner_value(&key.name);
    let mut names = present
        .iter()
        .map(|csv| labels::owner_value(&csv.name_any()));
    if names.any(|name| name == owner) || remove_labelled(&context.applier, key).await? {
        return Ok(Next::Wait);
    }
    Ok(Next::After(SOON))
}

/// Whether an InstallPlan is to bring it: what it needs comes first, and is not what it left behind. One
/// that failed may go on.
fn is_coming(context: &Context, key: &ObjectKey) -> bool {
    let owner = labels::owner_value(&key.name);
    let plans = context.caches.install_plans.in_namespace(&key.namespace);
    plans.iter().any(|plan| {
        let phase = plan.status.as_ref().map(|status| &status.phase);
        let mut names = plan.spec.cluster_service_version_names.iter();
        phase != Some(&InstallPlanPhase::Complete)
            && names.any(|name| labels::owner_value(name) == owner)
    })
}

/// Whether an object says that it is a ClusterServiceVersion's, and is not removed after it by Kubernetes.
pub(super) fn is_left_by(component: &Component, key: &ObjectKey) -> bool {
    let label = |name: &str| component.labels.get(name).map(String::as_str);
    let mut kinds = KINDS.iter();
    label(labels::OWNER) == Some(labels::owner_value(&key.name).as_str())
        && label(labels::OWNER_NAMESPACE) == Some(key.namespace.as_str())
        && label(labels::OWNER_KIND) == Some(ClusterServiceVersion::kind(&()).as_ref())
        && kinds.any(|(_, kind, namespace)| {
            *kind == component.kind && namespace.unwrap_or_default() == component.namespace
        })
}

/// Removes what carries the labels of an operator; whether nothing is left of it.
async fn remove_labelled(applier: &Applier, key: &ObjectKey) -> Result<bool, Error> {
    let selector = format!(
        "{}={},{}={},{}=ClusterServiceVersion",
        labels::OWNER,
        labels::owner_value(&key.name),
        labels::OWNER_NAMESPACE,
        key.namespace,
        labels::OWNER_KIND,
    );
    let mut is_done = true;
    for (api_version, kind, namespace) in KINDS {
        let left = applier
            .list(api_version, kind, namespace, &selector)
            .await?;
        for object in left {
            is_done = false;
            if object.pointer("/metadata/deletionTimestamp").is_none() {
                applier.delete(&object).await?;
            }
        }
    }
    Ok(is_done)
}

/// A CRD that asks a webhook that is gone cannot be read any more.
async fn reset_conversions(
    client: &Client,
    applier: &Applier,
    csv: &ClusterServiceVersion,
    all: &[&ClusterServiceVersion],
) -> Result<(), Error> {
    let names = conversion::crd_names(csv);
    if names.is_empty() {
        return Ok(());
    }
    let mut crds = Vec::new();
    for name in names {
        crds.extend(applier.get(&crd(name)).await?);
    }
    let heirs: Vec<&ClusterServiceVersion> = all
        .iter()
        .copied()
        .filter(|it| {
            !it.is_copied()
                && it.metadata.deletion_timestamp.is_none()
                && ObjectKey::of(*it) != ObjectKey::of(csv)
        })
        .collect();
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for reset in conversion::resets(csv, &heirs, &crds) {
        let name = reset.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        api.patch(name, &patching(), &Patch::Merge(&reset))
            .await
            .map_err(Error::while_(format!(
                "resetting the conversion of CRD {name}"
            )))?;
    }
    Ok(())
}

/// A CRD by name, as one asks for it.
pub(super) fn crd(name: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
    })
}

/// Deletes a ClusterServiceVersion or a copy, and nothing else of that name.
pub(super) async fn delete(context: &Context, key: &ObjectKey, uid: &str) -> Result<(), Error> {
    let asked = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid},
    });
    context.applier.delete(&asked).await?;
    Ok(())
}
