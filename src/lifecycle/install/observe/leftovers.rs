//! What an operator has and no longer asks for.
//!
//! A CSV that is edited may call its Deployment otherwise, or its webhooks. Until the new Deployment is up
//! and whoever calls was told, the old one goes on answering: it is left over only after that.

use kube::ResourceExt as _;
use serde_json::Value;

use super::{Seen, called, caller_has_to_wait};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::lifecycle::install::object::{Key, home, is_labelled_by};
use crate::lifecycle::install::services::service_name;
use crate::lifecycle::install::{Desired, webhooks};

/// Deployments, APIServices and webhook configurations of a CSV that it no longer asks for, and that
/// nobody needs any more.
pub(in crate::lifecycle::install) fn leftovers(
    csv: &ClusterServiceVersion,
    desired: &Desired,
    seen: &Seen,
) -> Vec<Key> {
    let mut callers = desired.callers.iter();
    let is_handed_over = !callers.any(|caller| caller_has_to_wait(caller, desired, seen));
    let is_left = |key: &Key, object: &Value| match key.kind.as_str() {
        "Deployment" => {
            is_former_deployment(csv, key) && is_owned_by(object, csv) && !is_called(csv, key, seen)
        }
        // Two of one definition would have the webhook asked twice.
        _ => {
            is_second(key, object, desired)
                || (is_former_caller(csv, key, object) && is_handed_over)
        }
    };
    let left = of(csv, seen).filter(|(key, object)| is_left(key, object));
    left.map(|(key, _)| key.clone()).collect()
}

/// Whether something calls a CSV's Deployments, or did, that the CSV no longer asks for.
pub(in crate::lifecycle::install) fn has_former_callers(
    csv: &ClusterServiceVersion,
    seen: &Seen,
) -> bool {
    of(csv, seen).any(|(key, object)| is_former_caller(csv, key, object))
}

/// What the labels say to be a CSV's, and is not on its way out already.
fn of<'a>(
    csv: &'a ClusterServiceVersion,
    seen: &'a Seen,
) -> impl Iterator<Item = (&'a Key, &'a Value)> {
    let objects = seen.objects.iter();
    objects.filter(|(_, object)| {
        is_labelled_by(object, csv) && object.pointer("/metadata/deletionTimestamp").is_none()
    })
}

fn is_former_deployment(csv: &ClusterServiceVersion, key: &Key) -> bool {
    let mut templates = csv.spec.install.spec.deployments.iter();
    !templates.any(|template| template.name == key.name)
}

fn is_former_caller(csv: &ClusterServiceVersion, key: &Key, object: &Value) -> bool {
    match key.kind.as_str() {
        "APIService" => {
            let mut owned = csv.spec.api_service_definitions.owned.iter();
            !owned.any(|api| api.api_service_name() == key.name)
        }
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            let mut definitions = csv.spec.webhook_definitions.iter();
            !definitions.any(|definition| {
                webhooks::kind(definition) == Some(key.kind.as_str())
                    && webhooks::is_of(object, definition)
            })
        }
        _ => false,
    }
}

/// Whether a webhook configuration was made of a definition that another one is wanted for.
fn is_second(key: &Key, object: &Value, desired: &Desired) -> bool {
    let of = |object: &Value| {
        let labels = object.pointer("/metadata/labels");
        let name = labels.and_then(|all| all.get(labels::WEBHOOK_GENERATE_NAME));
        name.cloned()
    };
    let is_configuration = key.kind.ends_with("WebhookConfiguration");
    is_configuration
        && desired.callers.iter().any(|caller| {
            let other = Key::of(caller);
            other.kind == key.kind && other.name != key.name && of(caller) == of(object)
        })
}

/// Whether anybody still calls the Service in front of a Deployment.
fn is_called(csv: &ClusterServiceVersion, deployment: &Key, seen: &Seen) -> bool {
    let (service, namespace) = (service_name(&deployment.name), home(csv));
    let mut calls = seen.objects.values().filter_map(called);
    calls.any(|call| call.service == service && call.namespace == namespace)
}

fn is_owned_by(object: &Value, csv: &ClusterServiceVersion) -> bool {
    let owners = object.pointer("/metadata/ownerReferences");
    let mut owners = owners.and_then(Value::as_array).into_iter().flatten();
    let uid = csv.uid();
    owners.any(|owner| uid.is_some() && owner.get("uid").and_then(Value::as_str) == uid.as_deref())
}
