//! The steps of a bundle, and the way back from a step to its object.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::contents::{Contents, fields, text_of};
use super::rbac::{self, RbacError};
use super::reference::{BundleReference, CsvAdditions, Manifest, ManifestError, Part};
use crate::api::conditions::StepStatus;
use crate::api::install_plan::{InstallPlan, Step, StepResource};
use crate::api::labels;
use crate::bundle::property::PACKAGE;

/// The kind of a step for a Secret out of a bundle. OLM calls them so, because to it a step of kind
/// Secret is a pull secret.
pub const BUNDLE_SECRET: &str = "BundleSecret";

const SECRET: &str = "Secret";
pub(super) const CSV_KIND: &str = "ClusterServiceVersion";

/// Where the steps of a bundle come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Origin<'a> {
    pub(super) namespace: &'a str,
    pub(super) catalog: &'a str,
    pub(super) catalog_namespace: &'a str,
    /// The image by digest, or nothing if steps have to hold their objects.
    pub(super) image: Option<&'a str>,
}

/// Why the object of a step cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StepError {
    /// The manifest makes no sense.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The CSV's permissions make no sense.
    #[error(transparent)]
    Rbac(#[from] RbacError),
    /// The step refers to a bundle, and there is none.
    #[error("step {kind} {name} refers to a bundle that was not read")]
    NoContents {
        /// The kind of the step.
        kind: String,
        /// Its name.
        name: String,
    },
    /// The bundle has no such object.
    #[error(
        "couldn't find unpacked step for {kind} {name}: the bundle {bundle} has no such object; delete the InstallPlan, and a new one will be made"
    )]
    NotInBundle {
        /// The kind of the step.
        kind: String,
        /// Its name.
        name: String,
        /// The CSV of the bundle.
        bundle: String,
    },
}

/// The steps of a bundle: its CSV, its other objects, and what follows from the CSV's permissions.
pub(super) fn of_bundle(
    contents: &Contents,
    additions: &CsvAdditions,
    origin: Origin<'_>,
) -> Result<Vec<Step>, RbacError> {
    let csv = complete_csv(contents.csv(), origin.namespace, additions);
    let new = |object: &Value, part: Part| {
        let manifest = match origin.image {
            None => Manifest::Inline(object.clone()),
            Some(image) => Manifest::Bundle(BundleReference {
                image: image.to_owned(),
                part,
            }),
        };
        of_object(contents.name(), object, &manifest, origin)
    };
    let derived = rbac::derive(&csv, origin.namespace)?;
    let mut steps = vec![new(&csv, Part::Csv(additions.clone()))];
    let objects = contents.objects().iter().enumerate();
    steps.extend(objects.map(|(at, object)| new(object, Part::Object(at))));
    steps.extend(derived.iter().map(|object| new(object, Part::Rbac)));
    Ok(steps)
}

/// A step for an object that is needed because of a CSV.
pub(super) fn of_object(
    csv: &str,
    object: &Value,
    manifest: &Manifest,
    origin: Origin<'_>,
) -> Step {
    let (group, version) = group_and_version(text_of(object, "/apiVersion"));
    let kind = match text_of(object, "/kind") {
        SECRET if group.is_empty() => BUNDLE_SECRET,
        kind => kind,
    };
    Step {
        resolving: csv.to_owned(),
        resource: StepResource {
            source_name: origin.catalog.to_owned(),
            source_namespace: origin.catalog_namespace.to_owned(),
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            name: text_of(object, "/metadata/name").to_owned(),
            manifest: manifest.write(),
        },
        optional: is_mistaken_for_ours(group, kind),
        status: StepStatus::Unknown,
    }
}

/// Whether OLM takes the object for one of Kubernetes' own, by its kind alone, and makes something of
/// it that has nothing to do with it. An operator cannot depend on that: where the API server refuses
/// such an object, mostly an example of a custom resource, an operator that OLM could install has to do
/// without it.
fn is_mistaken_for_ours(group: &str, kind: &str) -> bool {
    let own = match kind {
        "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding" => {
            "rbac.authorization.k8s.io"
        }
        "ServiceAccount" | "Service" | "ConfigMap" | SECRET => "",
        _ => return false,
    };
    group != own
}

/// Whether a step stands for a pull secret of its catalog, by name and without a manifest, as OLM writes it. To carry
/// it out is to copy that secret.
pub fn is_pull_secret(step: &Step) -> bool {
    let resource = &step.resource;
    resource.kind == SECRET && resource.group.is_empty() && resource.manifest.trim().is_empty()
}

/// The object of a step, as it was when the plan was made. `contents` are those of the bundle that
/// the step refers to; a step that holds its object needs none.
pub fn object_of(
    namespace: &str,
    step: &Step,
    contents: Option<&Contents>,
) -> Result<Value, StepError> {
    let manifest = Manifest::of(step)?;
    let resource = &step.resource;
    if let Manifest::Inline(object) = manifest {
        return Ok(object);
    }
    let contents = contents.ok_or_else(|| StepError::NoContents {
        kind: resource.kind.clone(),
        name: resource.name.clone(),
    })?;
    let found = match manifest {
        Manifest::Inline(object) => Some(object),
        Manifest::Bundle(reference) => match reference.part {
            Part::Csv(additions) => Some(complete_csv(contents.csv(), namespace, &additions)),
            Part::Object(at) => contents.objects().get(at).cloned(),
            Part::Rbac => derived(step, contents, namespace)?,
        },
        Manifest::ConfigMap(reference) => {
            let additions = CsvAdditions {
                replaces: Some(reference.replaces),
                properties: reference.properties,
            };
            let csv = complete_csv(contents.csv(), namespace, &additions);
            let objects = std::iter::once(&csv).chain(contents.objects());
            match objects.into_iter().find(|object| is_of(step, object)) {
                Some(object) => Some(object.clone()),
                None => derived(step, contents, namespace)?,
            }
        }
    };
    found
        .filter(|object| is_of(step, object))
        .ok_or_else(|| StepError::NotInBundle {
            kind: resource.kind.clone(),
            name: resource.name.clone(),
            bundle: contents.name().to_owned(),
        })
}

/// The package of a CSV of a plan, by the properties that its step has.
pub fn package_of(plan: &InstallPlan, csv: &str) -> Option<String> {
    let steps = &plan.status.as_ref()?.plan;
    let step = steps
        .iter()
        .find(|step| step.resource.kind == CSV_KIND && step.resource.name == csv)?;
    let properties = match Manifest::of(step).ok()? {
        Manifest::Bundle(BundleReference {
            part: Part::Csv(additions),
            ..
        }) => additions.properties,
        Manifest::Bundle(_) => return None,
        Manifest::ConfigMap(reference) => reference.properties,
        Manifest::Inline(csv) => {
            let annotations = csv.pointer("/metadata/annotations")?;
            annotations.get(labels::PROPERTIES)?.as_str()?.to_owned()
        }
    };
    let listed: Properties = serde_json::from_str(&properties).ok()?;
    let package = listed
        .properties
        .iter()
        .rev()
        .find(|property| property.kind == PACKAGE)?;
    let name = package.value.get("packageName")?.as_str()?;
    Some(name.to_owned())
}

/// The value of the annotation `operatorframework.io/properties`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Properties {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) properties: Vec<crate::bundle::Property>,
}

/// A CSV with what is known of it beside its bundle.
fn complete_csv(csv: &Value, namespace: &str, additions: &CsvAdditions) -> Value {
    let mut csv = csv.clone();
    let Some(object) = csv.as_object_mut() else {
        return csv;
    };
    let metadata = fields(object, "metadata");
    metadata.insert("namespace".to_owned(), json!(namespace));
    if !additions.properties.is_empty() {
        let annotations = fields(metadata, "annotations");
        annotations.insert(labels::PROPERTIES.to_owned(), json!(additions.properties));
    }
    match additions.replaces.as_deref() {
        Some("") => {
            fields(object, "spec").shift_remove("replaces");
        }
        Some(replaces) => {
            fields(object, "spec").insert("replaces".to_owned(), json!(replaces));
        }
        None => {}
    }
    csv
}

fn derived(step: &Step, contents: &Contents, namespace: &str) -> Result<Option<Value>, RbacError> {
    let objects = rbac::derive(contents.csv(), namespace)?;
    Ok(objects.into_iter().find(|object| is_of(step, object)))
}

fn is_of(step: &Step, object: &Value) -> bool {
    let resource = &step.resource;
    let (group, version) = group_and_version(text_of(object, "/apiVersion"));
    let kind = match resource.kind.as_str() {
        BUNDLE_SECRET => SECRET,
        kind => kind,
    };
    text_of(object, "/kind") == kind
        && text_of(object, "/metadata/name") == resource.name
        && (group, version) == (resource.group.as_str(), resource.version.as_str())
}

fn group_and_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}
