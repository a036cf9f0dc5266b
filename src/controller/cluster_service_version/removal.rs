//! What an operator leaves behind goes with it.
//!
//! Kubernetes removes what is owned by a ClusterServiceVersion in its namespace. What is in no
//! namespace, or in another one, carries labels, and is removed here before the finalizer lets go.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};

use super::status;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::controller::context::Context;
use crate::controller::error::Error;
use crate::controller::key::ObjectKey;
use crate::controller::queue::Next;
use crate::controller::run::MANAGER;
use crate::lifecycle::install::conversion;

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
    status::patch(context, &csv, &patch, "adding the finalizer").await
}

/// Removes what it leaves behind, and lets it go.
pub(super) async fn finish(context: &Context, csv: ClusterServiceVersion) -> Result<Next, Error> {
    let finalizers = csv.finalizers();
    if !finalizers
        .iter()
        .any(|it| it == labels::CSV_CLEANUP_FINALIZER)
    {
        return Ok(Next::Wait);
    }
    reset_conversions(context, &csv).await?;
    let selector = format!(
        "{}={},{}={},{}=ClusterServiceVersion",
        labels::OWNER,
        labels::owner_value(&csv.name_any()),
        labels::OWNER_NAMESPACE,
        csv.namespace().unwrap_or_default(),
        labels::OWNER_KIND,
    );
    let mut is_done = true;
    for (api_version, kind, namespace) in KINDS {
        let left = context
            .applier
            .list(api_version, kind, namespace, &selector)
            .await?;
        for object in left {
            is_done = false;
            if object.pointer("/metadata/deletionTimestamp").is_none() {
                context.applier.delete(&object).await?;
            }
        }
    }
    if !is_done {
        return Ok(Next::After(SOON));
    }
    let rest: Vec<&String> = finalizers
        .iter()
        .filter(|it| *it != labels::CSV_CLEANUP_FINALIZER)
        .collect();
    let patch = json!({"metadata": {
        "finalizers": rest, "resourceVersion": csv.resource_version(),
    }});
    status::patch(context, &csv, &patch, "removing the finalizer").await?;
    Ok(Next::Wait)
}

/// A CRD that asks a webhook that is gone cannot be read any more.
async fn reset_conversions(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    let names = conversion::crd_names(csv);
    if names.is_empty() {
        return Ok(());
    }
    let mut crds = Vec::new();
    for name in names {
        crds.extend(context.applier.get(&crd(name)).await?);
    }
    let all = context.caches.csvs.all();
    let heirs: Vec<&ClusterServiceVersion> = all
        .iter()
        .map(|it| &**it)
        .filter(|it| {
            !it.is_copied()
                && it.metadata.deletion_timestamp.is_none()
                && ObjectKey::of(*it) != ObjectKey::of(csv)
        })
        .collect();
    let api = Api::<CustomResourceDefinition>::all(context.client.clone());
    let parameters = PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    };
    for reset in conversion::resets(csv, &heirs, &crds) {
        let name = reset.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        api.patch(name, &parameters, &Patch::Merge(&reset))
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

/// Deletes it: a newer one has taken over.
pub(super) async fn delete(context: &Context, csv: &ClusterServiceVersion) -> Result<(), Error> {
    let asked = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {
            "name": csv.name_any(), "namespace": csv.namespace(), "uid": csv.uid(),
        },
    });
    context.applier.delete(&asked).await?;
    Ok(())
}

/// It is gone: so should be its copies, and what is remembered of it.
pub(super) async fn gone(context: &Context, key: &ObjectKey) -> Result<(), Error> {
    context.attempts.forget(key);
    for copy in context.caches.csvs.all() {
        if copy.name_any() == key.name
            && copy.labels().get(labels::COPIED_FROM) == Some(&key.namespace)
        {
            delete(context, &copy).await?;
        }
    }
    Ok(())
}
