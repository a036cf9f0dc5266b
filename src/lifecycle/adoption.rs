//! Which objects are to be marked as belonging to an installed package.
//!
//! A Subscription marks itself, the ClusterServiceVersion it installed and its latest InstallPlan;
//! a ClusterServiceVersion passes its marks on to what it owns and to its CRDs.

use kube::ResourceExt as _;
use kube::core::ObjectMeta;

use super::components::Component;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::install_plan::InstallPlan;
use crate::api::labels;
use crate::api::subscription::Subscription;

/// A label that an object should get or lose.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// API version of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object; empty if it has none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// The label, whose value is empty.
    pub label: String,
    /// Whether the object should have it.
    pub wanted: bool,
}

const ALPHA: &str = "operators.coreos.com/v1alpha1";
const CSV: &str = "ClusterServiceVersion";

/// What a Subscription marks, among the ClusterServiceVersions and InstallPlans of its namespace.
/// An older InstallPlan loses the mark.
pub fn by_subscription<'a>(
    subscription: &Subscription,
    csvs: impl IntoIterator<Item = &'a ClusterServiceVersion>,
    plans: impl IntoIterator<Item = &'a InstallPlan>,
) -> Vec<Mark> {
    let package = &subscription.spec.name;
    let namespace = subscription.namespace().unwrap_or_default();
    if package.is_empty() || subscription.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let label = labels::component(&labels::operator_name(package, &namespace));
    let mark = |kind: &str, object: &ObjectMeta, wanted: bool| {
        let labels = object.labels.as_ref();
        let marked = labels.is_some_and(|labels| labels.contains_key(&label));
        (marked != wanted).then(|| Mark {
            api_version: ALPHA.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.clone(),
            name: object.name.clone().unwrap_or_default(),
            label: label.clone(),
            wanted,
        })
    };
    let mut marks: Vec<Mark> = mark("Subscription", &subscription.metadata, true)
        .into_iter()
        .collect();
    let Some(status) = &subscription.status else {
        return marks;
    };
    let installed = csvs
        .into_iter()
        .filter(|csv| csv.name_any() == status.installed_csv && !csv.is_copied());
    marks.extend(installed.filter_map(|csv| mark(CSV, &csv.metadata, true)));
    let latest = status
        .install_plan_ref
        .as_ref()
        .and_then(|plan| plan.name.as_deref());
    if let Some(latest) = latest {
        let marked = |plan: &InstallPlan| {
            let is_latest = plan.name_any() == latest;
            mark("InstallPlan", &plan.metadata, is_latest)
        };
        marks.extend(plans.into_iter().filter_map(marked));
    }
    marks
}

/// What a ClusterServiceVersion marks. A copied one passes nothing on and loses its own marks.
pub fn by_csv<'a>(
    csv: &ClusterServiceVersion,
    components: impl IntoIterator<Item = &'a Component>,
) -> Vec<Mark> {
    let own: Vec<&String> = csv
        .labels()
        .keys()
        .filter(|key| key.starts_with(labels::COMPONENT_PREFIX))
        .collect();
    if csv.is_copied() {
        let lose = |label: &&String| Mark {
            api_version: ALPHA.to_owned(),
            kind: CSV.to_owned(),
            namespace: csv.namespace().unwrap_or_default(),
            name: csv.name_any(),
            label: (*label).clone(),
            wanted: false,
        };
        return own.iter().map(lose).collect();
    }
    let mut marks = Vec::new();
    for component in components {
        if !belongs_to(component, csv) {
            continue;
        }
        for label in &own {
            if component.labels.contains_key(*label) {
                continue;
            }
            marks.push(Mark {
                api_version: component.api_version.clone(),
                kind: component.kind.clone(),
                namespace: component.namespace.clone(),
                name: component.name.clone(),
                label: (*label).clone(),
                wanted: true,
            });
        }
    }
    marks
}

/// By owner reference, by the labels that stand for one, or as a CRD that it brings.
fn belongs_to(component: &Component, csv: &ClusterServiceVersion) -> bool {
    let owned_by_reference = csv.uid().is_some_and(|uid| component.owners.contains(&uid));
    let label = |key: &str| component.labels.get(key).map(String::as_str);
    let owned_by_label = label(labels::OWNER_KIND) == Some(CSV)
        && label(labels::OWNER) == Some(labels::owner_value(&csv.name_any()).as_str())
        && label(labels::OWNER_NAMESPACE) == csv.namespace().as_deref();
    let crds = &csv.spec.custom_resource_definitions.owned;
    let brought = component.kind == "CustomResourceDefinition"
        && crds.iter().any(|crd| crd.name == component.name);
    owned_by_reference || owned_by_label || brought
}

#[cfg(test)]
mod tests;
