//! What an operator leaves behind goes with it.
//!
//! Kubernetes removes what is owned by a ClusterServiceVersion in its namespace. What is in no
//! namespace, or in another one, carries labels, and is removed here before the finalizer lets go.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::jiff::Timestamp;
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
use crate::lifecycle::removal::{LABELLED, cleanup};
use crate::plan::apply::Applier;

/// How soon is looked whether everything is gone.
const SOON: Duration = Duration::from_millis(200);
/// How long it takes until something is said about what is waited for: most of it is gone in a moment.
const QUIET: Duration = Duration::from_secs(10);
/// How long Pods may take to go, beyond the time that they have for it: one whose node is gone never does.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long Kubernetes gives Pods that say nothing about it.
const GRACE: i64 = 30;

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

/// Removes what it leaves behind, and lets it go. Tells what is in the way, if that takes long.
pub(super) async fn finish(context: &Context, csv: ClusterServiceVersion) -> Result<Next, Error> {
    let all = context.caches.csvs.all();
    let others: Vec<&ClusterServiceVersion> = all.iter().map(|it| &**it).collect();
    let now = context.now();
    let deleted = csv.metadata.deletion_timestamp.as_ref().map(|it| it.0);
    let waited = waited(deleted, now.0);
    let (news, is_held) =
        match clean_up(&context.client, &context.applier, &csv, &others, now.0).await {
            Ok(left) if left.is_empty() => return Ok(Next::Wait),
            Ok(_) if waited < QUIET => (None, false),
            Ok(left) => (cleanup::status(&csv, &left, &now), cleanup::is_held(&left)),
            Err(error) if error.is_lasting() => {
                (cleanup::refused(&csv, &error.to_string(), &now), true)
            }
            Err(error) => return Err(error),
        };
    if let Some(news) = news {
        let (reason, message) = (news.reason.clone(), news.message.clone());
        let csv = ClusterServiceVersion {
            status: Some(news),
            ..csv
        };
        context.write_status(&csv).await?;
        status::tell(context, &csv, is_held, reason.as_str(), &message).await;
    }
    Ok(Next::patiently(waited, SOON))
}

/// How long something is on its way out.
fn waited(since: Option<Timestamp>, now: Timestamp) -> Duration {
    let age = since.map(|since| now.duration_since(since));
    // By another clock it may begin only later.
    let age = age.and_then(|age| Duration::try_from(age).ok());
    age.unwrap_or_default()
}

/// Removes what a ClusterServiceVersion that was deleted leaves behind, and lets it go when there is
/// nothing more. Tells what there is.
///
/// Its rights go first. Where it converts objects, its Pods go next, and only then nobody converts any more: an
/// operator that still runs would read objects of the old version with fields missing, and write that back.
pub(crate) async fn clean_up(
    client: &Client,
    applier: &Applier,
    csv: &ClusterServiceVersion,
    all: &[&ClusterServiceVersion],
    now: Timestamp,
) -> Result<Vec<Value>, Error> {
    let finalizers = csv.finalizers();
    if !finalizers
        .iter()
        .any(|it| it == labels::CSV_CLEANUP_FINALIZER)
    {
        return Ok(Vec::new());
    }
    let left = remove_labelled(applier, &ObjectKey::of(csv)).await?;
    if !left.is_empty() {
        return Ok(left);
    }
    let resets = conversion_resets(applier, csv, all).await?;
    if !resets.is_empty() {
        let left = stop(applier, csv, now).await?;
        if !left.is_empty() {
            return Ok(left);
        }
    }
    reset_conversions(client, &resets).await?;
    let rest: Vec<&String> = finalizers
        .iter()
        .filter(|it| *it != labels::CSV_CLEANUP_FINALIZER)
        .collect();
    let patch = json!({"metadata": {
        "finalizers": rest, "resourceVersion": csv.resource_version(),
    }});
    status::patch(client, csv, &patch, "removing the finalizer").await?;
    Ok(Vec::new())
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
    if names.any(|name| name == owner) {
        return Ok(Next::Wait);
    }
    let left = remove_labelled(&context.applier, key).await?;
    if left.is_empty() {
        return Ok(Next::Wait);
    }
    let waited = waited(cleanup::since(&left), context.now().0);
    Ok(Next::patiently(waited, SOON))
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
    let mut kinds = LABELLED.iter();
    label(labels::OWNER) == Some(labels::owner_value(&key.name).as_str())
        && label(labels::OWNER_NAMESPACE) == Some(key.namespace.as_str())
        && label(labels::OWNER_KIND) == Some(ClusterServiceVersion::kind(&()).as_ref())
        && kinds.any(|(_, kind, namespace)| {
            *kind == component.kind && namespace.unwrap_or_default() == component.namespace
        })
}

/// Removes what carries the labels of an operator, and tells what was there.
async fn remove_labelled(applier: &Applier, key: &ObjectKey) -> Result<Vec<Value>, Error> {
    let selector = format!(
        "{}={},{}={},{}=ClusterServiceVersion",
        labels::OWNER,
        labels::owner_value(&key.name),
        labels::OWNER_NAMESPACE,
        key.namespace,
        labels::OWNER_KIND,
    );
    let mut left = Vec::new();
    for (api_version, kind, namespace) in LABELLED {
        let found = applier
            .list(api_version, kind, namespace, &selector)
            .await?;
        for object in found {
            if object.pointer("/metadata/deletionTimestamp").is_none() {
                applier.delete(&object).await?;
            }
            left.push(object);
        }
    }
    Ok(left)
}

/// Deletes the Deployments of an operator, each of which stays until its Pods are gone. Tells those that are still
/// there, and have not had their time.
async fn stop(
    applier: &Applier,
    csv: &ClusterServiceVersion,
    now: Timestamp,
) -> Result<Vec<Value>, Error> {
    let namespace = csv.namespace().unwrap_or_default();
    let mut left = Vec::new();
    for deployment in &csv.spec.install.spec.deployments {
        let asked = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": deployment.name, "namespace": namespace},
        });
        let Some(live) = applier.get(&asked).await? else {
            continue;
        };
        // Of the same name may be one that is another's, such as the version after it.
        if !is_of_alone(&live, csv) {
            continue;
        }
        if live.pointer("/metadata/deletionTimestamp").is_none() {
            applier.delete_last(&live).await?;
        } else if has_had_its_time(&live, now) {
            continue;
        }
        left.push(live);
    }
    Ok(left)
}

/// Whether an object is a ClusterServiceVersion's, and no other one's.
fn is_of_alone(live: &Value, csv: &ClusterServiceVersion) -> bool {
    let owners = live.pointer("/metadata/ownerReferences");
    let owners = owners.and_then(Value::as_array).into_iter().flatten();
    let csvs = owners.filter(|owner| owner["kind"] == "ClusterServiceVersion");
    let mut uids = csvs.map(|owner| owner["uid"].as_str()).peekable();
    uids.peek().is_some() && uids.all(|uid| uid == csv.uid().as_deref())
}

/// Whether the Pods of a Deployment that is on its way out should have been gone for long.
fn has_had_its_time(deployment: &Value, now: Timestamp) -> bool {
    let since = deployment.pointer("/metadata/deletionTimestamp");
    let since = since.and_then(Value::as_str).and_then(|it| it.parse().ok());
    let grace = deployment.pointer("/spec/template/spec/terminationGracePeriodSeconds");
    let grace = grace.and_then(Value::as_i64).unwrap_or(GRACE);
    let grace = Duration::from_secs(u64::try_from(grace).unwrap_or_default());
    // Whatever cannot be read is not waited for.
    since.is_none_or(|since: Timestamp| {
        let age = now.duration_since(since);
        !age.is_negative() && age.unsigned_abs() > grace + PATIENCE
    })
}

/// What has to change so that no CRD asks a webhook that is gone: then nobody could read its objects any more.
async fn conversion_resets(
    applier: &Applier,
    csv: &ClusterServiceVersion,
    all: &[&ClusterServiceVersion],
) -> Result<Vec<Value>, Error> {
    let mut crds = Vec::new();
    for name in conversion::crd_names(csv) {
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
    Ok(conversion::resets(csv, &heirs, &crds))
}

async fn reset_conversions(client: &Client, resets: &[Value]) -> Result<(), Error> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for reset in resets {
        let name = reset.pointer("/metadata/name").and_then(Value::as_str);
        let name = name.unwrap_or_default();
        api.patch(name, &patching(), &Patch::Merge(reset))
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::just_now("2026-01-01T00:00:00Z", json!(null), false)]
    #[case::within_its_grace("2025-12-31T23:58:40Z", json!(null), false)]
    #[case::for_long("2025-12-31T23:58:20Z", json!(null), true)]
    #[case::with_more_grace("2025-12-31T23:58:20Z", json!(600), false)]
    #[case::by_a_clock_ahead("2026-01-01T00:01:00Z", json!(0), false)]
    fn pods_are_waited_for_as_long_as_they_have_and_a_minute_more(
        #[case] since: &str,
        #[case] grace: Value,
        #[case] expected: bool,
    ) {
        let deployment = json!({
            "metadata": {"deletionTimestamp": since},
            "spec": {"template": {"spec": {"terminationGracePeriodSeconds": grace}}},
        });
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        assert_eq!(has_had_its_time(&deployment, now), expected);
    }

    #[test]
    fn a_deployment_of_the_version_after_it_is_not_its_own() {
        let csv: ClusterServiceVersion = serde_json::from_value(json!({
            "metadata": {"name": "gopher.v1", "uid": "1"}, "spec": {},
        }))
        .unwrap();
        let of = |uids: &[&str]| {
            let owners: Vec<Value> = uids
                .iter()
                .map(|uid| json!({"kind": "ClusterServiceVersion", "uid": uid}))
                .collect();
            json!({"metadata": {"ownerReferences": owners}})
        };
        assert!(is_of_alone(&of(&["1"]), &csv));
        assert!(!is_of_alone(&of(&["1", "2"]), &csv));
        assert!(!is_of_alone(&of(&["2"]), &csv));
        assert!(!is_of_alone(&of(&[]), &csv));
    }
}
