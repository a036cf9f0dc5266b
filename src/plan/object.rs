//! An object made ready to be applied: where it goes, whose it is, and without what only a cluster
//! may say.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::contents::{fields, member, text_of};
use super::crd::{NotUpgradable, upgrade_v1beta1};
use super::rbac::DEFAULT_SERVICE_ACCOUNT;
use super::step::CSV_KIND;
use crate::api::GROUP;
use crate::api::cluster_service_version::ClusterServiceVersionSpec;
use crate::api::cluster_service_version::webhook::WebhookType;
use crate::api::labels;

/// What only a cluster may say of an object.
const OF_THE_CLUSTER: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Where an object goes, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Placement<'a> {
    /// The namespace of the plan.
    pub namespace: &'a str,
    /// Name of the CSV that needs the object (the step's `resolving`). Steps of plans that people made
    /// by hand may have none: then the object belongs to nobody.
    pub csv: &'a str,
    /// Uid of that CSV once it exists: then it owns what is in its namespace.
    pub csv_uid: Option<&'a str>,
    /// Whether objects of this kind are in namespaces.
    pub namespaced: bool,
    /// The package of the CSV, if it is known: see [`package_of`](super::step::package_of).
    pub package: Option<&'a str>,
    /// Names of the CRDs that the CSV's webhooks convert: see [`converted_crds`].
    pub converted_crds: &'a [String],
}

/// Why an object cannot be applied; trying again does not help.
#[derive(Debug, Error)]
pub enum ObjectError {
    /// An old CRD cannot be made a new one.
    #[error(
        "CustomResourceDefinition {name} is of version v1beta1, which Kubernetes no longer takes, and cannot be made one of v1: {source}"
    )]
    Crd {
        /// The CRD.
        name: String,
        /// Why.
        #[source]
        source: NotUpgradable,
    },
}

/// Makes an object ready to be applied, or says that it is not to be touched.
pub fn prepare(object: Value, placement: Placement<'_>) -> Result<Option<Value>, ObjectError> {
    if is_default_service_account(&object) {
        return Ok(None);
    }
    let is_crd = is_crd(&object);
    let is_olms = is_olms(&object);
    let mut object = match text_of(&object, "/kind") {
        _ if is_crd => newest_crd(object)?,
        CSV_KIND if is_olms => typed_csv(object),
        _ => object,
    };
    let name = text_of(&object, "/metadata/name").to_owned();
    let Some(all) = object.as_object_mut() else {
        return Ok(Some(object));
    };
    all.shift_remove("status");
    let metadata = fields(all, "metadata");
    for field in OF_THE_CLUSTER {
        metadata.shift_remove(field);
    }
    if placement.namespaced {
        metadata.insert("namespace".to_owned(), json!(placement.namespace));
    } else {
        metadata.shift_remove("namespace");
    }
    label(metadata, labels::MANAGED, "true");
    if let Some(package) = placement.package {
        let operator = labels::operator_name(package, placement.namespace);
        label(metadata, &labels::component(&operator), "");
    }
    if is_crd {
        if !placement.csv.is_empty() {
            let key = labels::installed_alongside(placement.namespace, placement.csv);
            let csv = format!("{}/{}", placement.namespace, placement.csv);
            fields(metadata, "annotations").insert(key, json!(csv));
        }
        if placement.converted_crds.contains(&name) {
            // The webhook's certificate and service are only known to whoever runs the CSV.
            fields(all, "spec").shift_remove("conversion");
        }
    } else if !is_olms && !placement.csv.is_empty() {
        belong(metadata, placement);
    }
    Ok(Some(object))
}

/// Names of the CRDs that webhooks of a CSV convert.
pub fn converted_crds(csv: &Value) -> Vec<String> {
    let webhooks = csv
        .pointer("/spec/webhookdefinitions")
        .and_then(Value::as_array);
    let converting = webhooks
        .into_iter()
        .flatten()
        .filter(|webhook| text_of(webhook, "/type") == WebhookType::Conversion.as_str());
    let names = converting
        .filter_map(|webhook| webhook.get("conversionCRDs")?.as_array())
        .flatten();
    names
        .filter_map(|name| Some(name.as_str()?.to_owned()))
        .collect()
}

/// Keeps on a CRD what other operators left on the one in the cluster: whose CRD it is beside, as
/// long as `exists` finds the CSV of that namespace and name, and whose component it is. One that was
/// there before any plan brought it is marked: it outlives its operators.
///
/// A CRD is applied as a whole, and what is not in it is taken away.
pub fn keep_companions(crd: &mut Value, live: &Value, exists: impl Fn(&str, &str) -> bool) {
    let Some(metadata) = crd.as_object_mut().map(|crd| fields(crd, "metadata")) else {
        return;
    };
    let texts = |pointer: &str| {
        let map = live.pointer(pointer).and_then(Value::as_object);
        let texts = map.into_iter().flatten();
        texts.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
    };
    for (key, csv) in texts("/metadata/annotations") {
        let is_there = || {
            csv.split_once('/')
                .is_some_and(|(namespace, name)| exists(namespace, name))
        };
        if key.starts_with(labels::INSTALLED_ALONGSIDE_PREFIX) && is_there() {
            fields(metadata, "annotations")
                .entry(key)
                .or_insert(json!(csv));
        }
    }
    if was_found(live) {
        fields(metadata, "annotations").insert(labels::FOUND.to_owned(), json!("true"));
    }
    for (key, value) in texts("/metadata/labels") {
        if key.starts_with(labels::COMPONENT_PREFIX) {
            fields(metadata, "labels")
                .entry(key)
                .or_insert(json!(value));
        }
    }
}

/// Whether a live CRD is nobody's who installs operators: it has no mark of a plan, be it ours or OLM's,
/// or was noted to have had none.
fn was_found(live: &Value) -> bool {
    let annotations = live
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let has = |is_meant: &dyn Fn(&str) -> bool| {
        let mut keys = annotations.into_iter().flatten();
        keys.any(|(key, _)| is_meant(key))
    };
    let labels = live.pointer("/metadata/labels");
    let is_managed = labels.is_some_and(|labels| labels.get(labels::MANAGED).is_some());
    has(&|key| key == labels::FOUND)
        || !(is_managed || has(&|key| key.starts_with(labels::INSTALLED_ALONGSIDE_PREFIX)))
}

fn is_default_service_account(object: &Value) -> bool {
    text_of(object, "/apiVersion") == "v1"
        && text_of(object, "/kind") == "ServiceAccount"
        && text_of(object, "/metadata/name") == DEFAULT_SERVICE_ACCOUNT
}

fn is_crd(object: &Value) -> bool {
    text_of(object, "/kind") == "CustomResourceDefinition"
        && text_of(object, "/apiVersion").starts_with("apiextensions.k8s.io/")
}

/// Whether it is a CSV or a Subscription: those belong to nobody but the user. Real CSVs leave out
/// their group.
fn is_olms(object: &Value) -> bool {
    let group = text_of(object, "/apiVersion").rsplit_once('/');
    matches!(
        (group.map(|(group, _)| group), text_of(object, "/kind")),
        (Some(GROUP), CSV_KIND | "Subscription") | (None, CSV_KIND)
    )
}

/// A CSV as OLM's types write it: what its schema requires is there, if need be empty; what they do
/// not know is not; and its version is the only one that there is. Real bundles count on all three.
fn typed_csv(mut csv: Value) -> Value {
    member(&mut csv, "apiVersion", json!(format!("{GROUP}/v1alpha1")));
    let spec = csv.get("spec").cloned().unwrap_or_default();
    let typed = serde_json::from_value::<ClusterServiceVersionSpec>(spec);
    // What does not fit the types is left to the API server, which refuses it and says where.
    if let Ok(spec) = typed.and_then(serde_json::to_value) {
        member(&mut csv, "spec", spec);
    }
    csv
}

fn newest_crd(object: Value) -> Result<Value, ObjectError> {
    if text_of(&object, "/apiVersion") != "apiextensions.k8s.io/v1beta1" {
        return Ok(object);
    }
    let name = text_of(&object, "/metadata/name").to_owned();
    let error = |source| ObjectError::Crd {
        name: name.clone(),
        source,
    };
    let upgraded = upgrade_v1beta1(object).map_err(error)?;
    serde_json::to_value(&upgraded.crd).map_err(|problem| error(NotUpgradable::Unreadable(problem)))
}

/// Ties an object to its CSV: by an owner reference in a namespace, by labels elsewhere.
fn belong(metadata: &mut Map<String, Value>, placement: Placement<'_>) {
    if !placement.namespaced {
        label(metadata, labels::OWNER, &labels::owner_value(placement.csv));
        label(metadata, labels::OWNER_NAMESPACE, placement.namespace);
        label(metadata, labels::OWNER_KIND, CSV_KIND);
        return;
    }
    if let Some(uid) = placement.csv_uid {
        let owner = json!({
            "apiVersion": format!("{GROUP}/v1alpha1"),
            "kind": CSV_KIND,
            "name": placement.csv,
            "uid": uid,
            "controller": false,
            "blockOwnerDeletion": false,
        });
        metadata.insert("ownerReferences".to_owned(), json!([owner]));
    }
}

fn label(metadata: &mut Map<String, Value>, key: &str, value: &str) {
    fields(metadata, "labels").insert(key.to_owned(), json!(value));
}
