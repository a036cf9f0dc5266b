//! The CRDs whose objects a webhook of the operator converts from one version to another.

#[cfg(test)]
mod tests;

use kube::ResourceExt as _;
use serde_json::{Value, json};
use thiserror::Error;

use super::Request;
use super::object::{Key, home, text};
use super::services;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::install::InstallModeType;
use crate::api::cluster_service_version::webhook::{WebhookDefinition, WebhookType};
use crate::lifecycle::replacement;

const CRD: &str = "CustomResourceDefinition";
/// Where a webhook answers that says nothing about it.
const DEFAULT_PATH: &str = "/";

/// Why a webhook cannot convert. The first sentence of each is OLM's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConversionError {
    /// The operator can be installed for some namespaces, but a CRD is everybody's.
    #[error(
        "unable to manage conversion webhook: CSVs with conversion webhooks must support only \
         AllNamespaces: webhook {webhook} converts the objects of the whole cluster; ask the operator's \
         authors to set the other spec.installModes to false"
    )]
    NotOnlyAllNamespaces {
        /// The webhook.
        webhook: String,
    },
    /// The webhook converts nothing.
    #[error(
        "unable to manager conversion webhook: conversion webhook must have at least one CRD specified: \
         spec.webhookdefinitions[].conversionCRDs of webhook {webhook} is empty; ask the operator's \
         authors to mend it"
    )]
    NoCrd {
        /// The webhook.
        webhook: String,
    },
    /// The CRD is not the operator's.
    #[error(
        "csv {csv} does not own CRD {crd}: webhook {webhook} may only convert what \
         spec.customresourcedefinitions.owned lists; ask the operator's authors to mend it"
    )]
    NotOwned {
        /// The CSV.
        csv: String,
        /// The CRD.
        crd: String,
        /// The webhook.
        webhook: String,
    },
    /// There is no such CRD.
    #[error(
        "unable to get CRD {crd} specified in Conversion Webhook: it is not there; it comes with the \
         operator's InstallPlan"
    )]
    NotThere {
        /// The CRD.
        crd: String,
    },
    /// The CRD takes any field, and no webhook can tell what to do with those it does not know.
    #[error(
        "crd.Spec.PreserveUnknownFields must be false to let API Server call webhook to do the \
         conversion: set spec.preserveUnknownFields of CRD {crd} to false"
    )]
    PreservesUnknownFields {
        /// The CRD.
        crd: String,
    },
}

/// Names of the CRDs that webhooks of a CSV convert: what a controller has to read.
pub fn crd_names(csv: &ClusterServiceVersion) -> Vec<&str> {
    let names = converting(csv).flat_map(|webhook| &webhook.conversion_crds);
    names.map(String::as_str).collect()
}

fn converting(csv: &ClusterServiceVersion) -> impl Iterator<Item = &WebhookDefinition> {
    let webhooks = csv.spec.webhook_definitions.iter();
    webhooks.filter(|webhook| webhook.type_ == WebhookType::Conversion)
}

/// The CRDs that webhooks convert, with nothing but their names and `spec.conversion`: the rest is not
/// whoever runs a CSV's to say.
pub fn crds(request: &Request<'_>) -> Result<Vec<Value>, ConversionError> {
    let mut crds = Vec::new();
    for webhook in converting(request.csv) {
        check(request.csv, webhook)?;
        for name in &webhook.conversion_crds {
            let live = request.seen.get(&Key::new(CRD, "", name));
            let live = live.ok_or_else(|| ConversionError::NotThere { crd: name.clone() })?;
            if live.pointer("/spec/preserveUnknownFields") == Some(&json!(true)) {
                return Err(ConversionError::PreservesUnknownFields { crd: name.clone() });
            }
            let certificate = request.certificates.get(&webhook.deployment_name);
            let conversion = certificate.map(|certificate| {
                json!({
                    "strategy": "Webhook",
                    "webhook": {
                        "clientConfig": {
                            "service": {
                                "namespace": home(request.csv),
                                "name": services::service_name(&webhook.deployment_name),
                                "path": webhook.webhook_path.as_deref().unwrap_or(DEFAULT_PATH),
                                "port": services::webhook_port(webhook),
                            },
                            "caBundle": certificate.bundle(),
                        },
                        "conversionReviewVersions": webhook.admission_review_versions,
                    },
                })
            });
            crds.extend(conversion.map(|conversion| with_conversion(name, &conversion)));
        }
    }
    Ok(crds)
}

fn with_conversion(name: &str, conversion: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": CRD,
        "metadata": { "name": name },
        "spec": { "conversion": conversion },
    })
}

/// What can be told without the CRDs.
fn check(csv: &ClusterServiceVersion, webhook: &WebhookDefinition) -> Result<(), ConversionError> {
    let name = || webhook.generate_name.clone();
    let only_all = csv.spec.install_modes.iter().all(|mode| {
        let is_all = mode.type_ == InstallModeType::AllNamespaces;
        mode.supported == is_all
    });
    if !only_all {
        return Err(ConversionError::NotOnlyAllNamespaces { webhook: name() });
    }
    if webhook.conversion_crds.is_empty() {
        return Err(ConversionError::NoCrd { webhook: name() });
    }
    let owned = &csv.spec.custom_resource_definitions.owned;
    let stranger = webhook
        .conversion_crds
        .iter()
        .find(|crd| !owned.iter().any(|owned| owned.name == **crd));
    match stranger {
        Some(crd) => Err(ConversionError::NotOwned {
            csv: csv.name_any(),
            crd: crd.clone(),
            webhook: name(),
        }),
        None => Ok(()),
    }
}

/// What has to be done about CRDs when a CSV goes: those that still ask its webhooks are told to convert by
/// themselves, unless one of `heirs` (CSVs that stay) answers in its place. To be sent as merge patches, since
/// `webhook` has to go whoever wrote it.
pub fn resets(
    csv: &ClusterServiceVersion,
    heirs: &[&ClusterServiceVersion],
    crds: &[Value],
) -> Vec<Value> {
    let is_inherited = |name: &str, service: &str| {
        let mut heirs = heirs.iter();
        heirs.any(|heir| home(heir) == home(csv) && answers_for(heir, name, service))
    };
    let mut resets = Vec::new();
    for webhook in converting(csv) {
        let service = services::service_name(&webhook.deployment_name);
        for crd in crds {
            let name = text(crd, "/metadata/name");
            let asked = |field: &str| {
                let path = "/spec/conversion/webhook/clientConfig/service";
                text(crd, &format!("{path}/{field}"))
            };
            let asks_us = asked("name") == service && asked("namespace") == home(csv);
            let is_ours = webhook.conversion_crds.iter().any(|ours| ours == name);
            if is_ours && asks_us && !is_inherited(name, &service) {
                let none = json!({ "strategy": "None", "webhook": null });
                resets.push(with_conversion(name, &none));
            }
        }
    }
    resets
}

/// Whether a CSV has begun to install a webhook that converts a CRD behind a Service of its namespace. One that has not
/// may never get there, and one behind another Service tells the CRD so when it can answer.
fn answers_for(heir: &ClusterServiceVersion, crd: &str, service: &str) -> bool {
    let mut webhooks = converting(heir);
    replacement::has_begun(heir)
        && webhooks.any(|webhook| {
            services::service_name(&webhook.deployment_name) == service
                && webhook.conversion_crds.iter().any(|name| name == crd)
        })
}
