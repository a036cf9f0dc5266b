//! The objects that Chandler and its users share: the kinds of OLM v0, and the names in them.
//!
//! One file per kind. The doc comments of the fields are what `kubectl explain` shows. There is no
//! logic here beyond looking things up.
//!
//! | What a user asks for | What follows from it | What can be looked at |
//! |---|---|---|
//! | [`catalog_source`] | | [`package_manifest`] (an aggregated API, no CRD) |
//! | [`operator_group`] | | |
//! | [`subscription`] | [`install_plan`], [`cluster_service_version`] | [`operator`] |
//! | [`olm_config`] | [`operator_condition`] | |
//!
//! [`conditions`] holds every phase and reason, [`labels`] every label, annotation and finalizer,
//! [`gvk`] the names of APIs, and [`pod_part`] what is passed on to Kubernetes unread.
#![allow(
    clippy::doc_markdown,
    reason = "`kubectl explain` shows these comments as plain text, where kinds have no backticks"
)]
#![allow(
    clippy::duplicated_attributes,
    reason = "clippy takes the columns of `#[kube(printcolumn(...))]` for one attribute"
)]

pub mod catalog_source;
pub mod cluster_service_version;
pub mod conditions;
pub mod duration;
pub mod gvk;
pub mod hash;
pub mod install_plan;
pub mod labels;
mod lenient;
pub mod olm_config;
mod open_enum;
pub mod operator;
pub mod operator_condition;
pub mod operator_group;
pub mod package_manifest;
pub mod pod_part;
mod schema;
pub mod subscription;
#[cfg(test)]
mod tests;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

/// API group of the CRDs.
pub const GROUP: &str = "operators.coreos.com";

/// The CRDs of every kind, sorted by name.
///
/// Install these and not what the types themselves return: only here does a CRD have all its
/// versions and exactly OLM's notion of what is required.
pub fn all_crds() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        catalog_source::CatalogSource::crd(),
        cluster_service_version::ClusterServiceVersion::crd(),
        install_plan::InstallPlan::crd(),
        olm_config::OlmConfig::crd(),
        operator::Operator::crd(),
        and_version(
            operator_condition::v1::OperatorCondition::crd(),
            operator_condition::OperatorCondition::crd(),
        ),
        and_version(
            operator_group::OperatorGroup::crd(),
            operator_group::v1alpha2::OperatorGroup::crd(),
        ),
        subscription::Subscription::crd(),
    ];
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds.into_iter().map(schema::finish).collect()
}

/// Adds the versions of one CRD to another. Which one is stored, the kinds say themselves.
fn and_version(
    mut crd: CustomResourceDefinition,
    other: CustomResourceDefinition,
) -> CustomResourceDefinition {
    crd.spec.versions.extend(other.spec.versions);
    crd
}
