//! From the objects of a cluster to the parts of a [`Request`](super::Request).
//!
//! What cannot be read of an object is reported beside what could be, and harms nothing else.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::curation::Curation;
use super::features::Features;
use super::progress::progress;
use super::request::{CatalogKey, Dependencies, Held, Installed, Subscription};
use crate::api::catalog_source::CatalogSource;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::apis::{ApiServiceDescription, CrdDescription};
use crate::api::gvk::GroupVersionKind;
use crate::api::labels;
use crate::api::subscription::{DependencyPolicy, Subscription as SubscriptionObject};
use crate::bundle::property::{GVK, GVK_REQUIRED, PACKAGE};
use crate::version::{UserRange, Version};

/// What could be read of some objects, and what could not.
#[derive(Debug, Clone)]
pub struct ReadOut<T> {
    /// What could be read, in the order of the objects.
    pub items: Vec<T>,
    /// What could not.
    pub problems: Vec<Unreadable>,
}

/// A field of an object that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {object}: {field} cannot be understood: {problem}")]
pub struct Unreadable {
    /// The kind of the object.
    pub kind: &'static str,
    /// Which one.
    pub object: ObjectKey,
    /// The field, as `kubectl explain` names it.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

/// The namespace and the name of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectKey {
    /// Its namespace; empty if it is not known.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectKey {
    fn of(object: &impl kube::ResourceExt) -> Self {
        Self {
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
        }
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return f.write_str(&self.name);
        }
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What a `CatalogSource` says about itself; what is in it has to come from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Which one.
    pub key: CatalogKey,
    /// Catalogs of greater priority are preferred.
    pub priority: i32,
    /// Which of its packages are offered.
    pub curation: Curation,
}

/// The Subscriptions of a namespace. One that cannot be understood is left out, and so is one that
/// is being deleted: it asks for nothing any more.
pub fn subscriptions(objects: &[SubscriptionObject]) -> ReadOut<Subscription> {
    let mut read = ReadOut {
        items: Vec::new(),
        problems: Vec::new(),
    };
    let staying = objects
        .iter()
        .filter(|object| object.metadata.deletion_timestamp.is_none());
    for object in staying {
        match subscription(object) {
            Ok(subscription) => read.items.push(subscription),
            Err(problem) => read.problems.push(problem),
        }
    }
    read
}

/// The packages of those Subscriptions that [`subscriptions`] leaves out because they cannot be understood.
pub fn held(objects: &[SubscriptionObject]) -> Vec<Held> {
    let staying = objects
        .iter()
        .filter(|object| object.metadata.deletion_timestamp.is_none());
    let unreadable = staying.filter(|object| subscription(object).is_err());
    let held = unreadable.map(|object| Held {
        package: object.spec.name.clone(),
        subscription: object.name_any(),
    });
    held.filter(|held| !held.package.is_empty()).collect()
}

fn subscription(object: &SubscriptionObject) -> Result<Subscription, Unreadable> {
    let spec = &object.spec;
    if spec.name.is_empty() {
        return Err(Unreadable {
            kind: "Subscription",
            object: ObjectKey::of(object),
            field: "spec.name".to_owned(),
            problem: "spec.name is empty: write the name of the package that is wanted".to_owned(),
        });
    }
    let version = match spec.version.as_str() {
        "" => None,
        text => Some(UserRange::parse(text).map_err(|error| Unreadable {
            kind: "Subscription",
            object: ObjectKey::of(object),
            field: "spec.version".to_owned(),
            problem: error.to_string(),
        })?),
    };
    let policy = spec.policy.as_ref().map(|policy| &policy.dependencies);
    let dependencies = match policy {
        None | Some(DependencyPolicy::Unset | DependencyPolicy::Install) => Dependencies::Install,
        Some(DependencyPolicy::Require) => Dependencies::Require,
        // Whoever forbids something in words that are not known is not to get it all the same.
        Some(DependencyPolicy::Other(value)) => {
            return Err(Unreadable {
                kind: "Subscription",
                object: ObjectKey::of(object),
                field: "spec.policy.dependencies".to_owned(),
                problem: format!(
                    "`{value}` is not known; write {}",
                    DependencyPolicy::KNOWN.join(" or ")
                ),
            });
        }
    };
    let status = object.status.as_ref();
    Ok(Subscription {
        name: object.name_any(),
        package: spec.name.clone(),
        channel: spec.channel.clone(),
        catalog: CatalogKey::new(&spec.source_namespace, &spec.source),
        starting_csv: spec.starting_csv.clone(),
        installed_csv: status
            .map(|status| status.installed_csv.clone())
            .unwrap_or_default(),
        version,
        dependencies,
    })
}

/// The operators of a namespace: its CSVs but for copied ones. One that is being deleted counts
/// until it is gone, because until then nothing else can have its APIs.
///
/// A CSV that can only be read in part is taken for what could be read: were it left out, it would
/// be installed once more. How far they are depends on the time, for those who want to know:
/// see [`fails_after`](super::fails_after).
pub fn installed(
    csvs: &[ClusterServiceVersion],
    subscriptions: &[SubscriptionObject],
    now: Option<&Time>,
) -> ReadOut<Installed> {
    let mut problems = Vec::new();
    let own: Vec<&ClusterServiceVersion> = csvs.iter().filter(|csv| !csv.is_copied()).collect();
    let mut by_name = HashMap::new();
    for &csv in &own {
        by_name.entry(csv.name_any()).or_insert(csv);
    }
    let items = own
        .iter()
        .map(|&csv| {
            let mut report = |field: String, problem: String| {
                problems.push(Unreadable {
                    kind: "ClusterServiceVersion",
                    object: ObjectKey::of(csv),
                    field,
                    problem,
                });
            };
            let mut operator = operator(csv, subscriptions, now, &mut report);
            replaced(csv, &by_name).clone_into(&mut operator.replaces);
            operator
        })
        .collect();
    ReadOut { items, problems }
}

/// The name of the one that a CSV replaces. Who was there first replaces none of those that came back after it.
fn replaced<'c>(
    csv: &'c ClusterServiceVersion,
    by_name: &HashMap<String, &ClusterServiceVersion>,
) -> &'c str {
    let name = csv.spec.replaces.as_str();
    let get = |name: &str| by_name.get(name).copied();
    let is_cut = get(name).is_some() && csv.predecessor(get).is_none();
    if is_cut { "" } else { name }
}

fn operator(
    csv: &ClusterServiceVersion,
    subscriptions: &[SubscriptionObject],
    now: Option<&Time>,
    report: &mut impl FnMut(String, String),
) -> Installed {
    let version = version(csv, report);
    let annotation = csv.annotations().get(labels::PROPERTIES);
    let annotated = annotation.and_then(|text| match annotated(text) {
        Ok(properties) => Some(properties),
        Err(problem) => {
            report(
                format!("metadata.annotations[{}]", labels::PROPERTIES),
                problem,
            );
            None
        }
    });
    let properties = annotated.unwrap_or_else(|| {
        let mut properties = described(csv, report);
        properties.extend(inferred_package(csv, version.as_ref(), subscriptions));
        properties
    });
    let package = package_of(&properties);
    Installed {
        name: csv.name_any(),
        features: Arc::new(Features::new(
            package.as_deref(),
            version.as_ref(),
            properties,
        )),
        package,
        version,
        replaces: String::new(),
        progress: progress(csv, now),
    }
}

fn version(
    csv: &ClusterServiceVersion,
    report: &mut impl FnMut(String, String),
) -> Option<Version> {
    if csv.spec.version.is_empty() {
        return None;
    }
    Version::parse_tolerant(&csv.spec.version)
        .inspect_err(|error| report("spec.version".to_owned(), error.to_string()))
        .ok()
}

/// The form of the annotation: fields it does not know are passed over.
#[derive(Deserialize)]
struct Annotation {
    #[serde(default, deserialize_with = "or_none")]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    value: Value,
}

fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Property>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// What whoever installed the CSV wrote down about it.
fn annotated(text: &str) -> Result<Vec<(String, String)>, String> {
    let annotation: Annotation = serde_json::from_str(text).map_err(|error| {
        format!(r#"expected {{"properties": [{{"type": …, "value": …}}]}}: {error}"#)
    })?;
    let properties = annotation.properties.into_iter();
    Ok(properties
        .map(|property| (property.kind, property.value.to_string()))
        .collect())
}

/// What the CSV itself says that it owns and requires.
fn described(
    csv: &ClusterServiceVersion,
    report: &mut impl FnMut(String, String),
) -> Vec<(String, String)> {
    let crds = &csv.spec.custom_resource_definitions;
    let services = &csv.spec.api_service_definitions;
    let mut properties = Vec::new();
    let lists = [
        (GVK, "owned", &crds.owned, &services.owned),
        (GVK_REQUIRED, "required", &crds.required, &services.required),
    ];
    for (kind, list, crds, services) in lists {
        let mut apis: BTreeSet<GroupVersionKind> = services.iter().map(of_service).collect();
        for crd in crds {
            match of_crd(crd) {
                Ok(api) => {
                    apis.insert(api);
                }
                Err(problem) => report(format!("spec.customresourcedefinitions.{list}"), problem),
            }
        }
        properties.extend(apis.iter().map(|api| {
            let value = json!({"group": api.group, "kind": api.kind, "version": api.version});
            (kind.to_owned(), value.to_string())
        }));
    }
    properties
}

fn of_service(service: &ApiServiceDescription) -> GroupVersionKind {
    GroupVersionKind::new(&service.group, &service.version, &service.kind)
}

fn of_crd(crd: &CrdDescription) -> Result<GroupVersionKind, String> {
    if crd.group().is_empty() {
        return Err(format!(
            "expected the name of a CustomResourceDefinition such as `plural.group`, found `{}`",
            crd.name
        ));
    }
    Ok(GroupVersionKind::new(crd.group(), &crd.version, &crd.kind))
}

/// The package of the Subscriptions that have this CSV, if they agree.
fn inferred_package(
    csv: &ClusterServiceVersion,
    version: Option<&Version>,
    subscriptions: &[SubscriptionObject],
) -> Option<(String, String)> {
    let name = csv.name_any();
    let has_it = |subscription: &&SubscriptionObject| {
        let status = subscription.status.as_ref();
        status.is_some_and(|status| status.installed_csv == name)
    };
    let packages: BTreeSet<&str> = subscriptions
        .iter()
        .filter(has_it)
        .map(|subscription| subscription.spec.name.as_str())
        .filter(|package| !package.is_empty())
        .collect();
    let (Some(package), 1) = (packages.first(), packages.len()) else {
        return None;
    };
    let version = version.map(ToString::to_string).unwrap_or_default();
    let value = json!({"packageName": package, "version": version});
    Some((PACKAGE.to_owned(), value.to_string()))
}

/// The package that properties name; of several the last, as in OLM.
fn package_of(properties: &[(String, String)]) -> Option<String> {
    let mut values = properties.iter().rev().filter(|(kind, _)| kind == PACKAGE);
    values.find_map(|(_, value)| {
        let value: Value = serde_json::from_str(value).ok()?;
        let name = value.get("packageName")?.as_str()?;
        (!name.is_empty()).then(|| name.to_owned())
    })
}

/// What `CatalogSource`s say about themselves. One with a list of packages that cannot be understood
/// is left out: it is not known what its owner wants to be offered.
pub fn catalogs(objects: &[CatalogSource]) -> ReadOut<Listing> {
    let mut read = ReadOut {
        items: Vec::new(),
        problems: Vec::new(),
    };
    for object in objects {
        let ObjectKey { namespace, name } = ObjectKey::of(object);
        match Curation::new(&object.spec.packages) {
            Ok(curation) => read.items.push(Listing {
                key: CatalogKey { namespace, name },
                priority: saturated(object.spec.priority),
                curation,
            }),
            Err(error) => read.problems.push(Unreadable {
                kind: "CatalogSource",
                object: ObjectKey { namespace, name },
                field: "spec.packages".to_owned(),
                problem: error.to_string(),
            }),
        }
    }
    read
}

fn saturated(priority: i64) -> i32 {
    let edge = if priority < 0 { i32::MIN } else { i32::MAX };
    i32::try_from(priority).unwrap_or(edge)
}
