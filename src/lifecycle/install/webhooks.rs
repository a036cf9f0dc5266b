//! The configurations by which the API server asks an operator's admission webhooks.
//!
//! There is one configuration for each definition, as OLM makes them and with OLM's labels, by which tools
//! find them. Only the names differ: OLM has the API server make them up (`generateName`), so that being
//! killed after the first write makes a second configuration, and the webhook is asked twice. Ours follow
//! from the CSV and the definition. A configuration that OLM made keeps its name, so that the webhook is
//! asked without a gap when Chandler takes over.

#[cfg(test)]
mod tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::Request;
use super::object::{hash, home, is_labelled_by, owner_labels, seal};
use super::observe::Seen;
use super::services;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::webhook::{WebhookDefinition, WebhookType};
use crate::api::hash::base36_sha256;
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;

/// Kubernetes' limit for the name of an object.
const NAME_LIMIT: usize = 253;

/// The webhook configurations of an installation.
pub fn configurations(request: &Request<'_>) -> Vec<Value> {
    let definitions = request.csv.spec.webhook_definitions.iter();
    definitions
        .filter_map(|definition| configuration(request, definition))
        .collect()
}

/// The kind of configuration of a definition; conversion webhooks have none.
pub(super) fn kind(definition: &WebhookDefinition) -> Option<&'static str> {
    match definition.type_ {
        WebhookType::Validating => Some("ValidatingWebhookConfiguration"),
        WebhookType::Mutating => Some("MutatingWebhookConfiguration"),
        _ => None,
    }
}

/// Selects the namespaces of an OperatorGroup; without one, all.
pub fn namespace_selector(group: &OperatorGroup) -> LabelSelector {
    if group.spec.target_namespaces.is_empty() {
        return group.spec.selector.clone().unwrap_or_default();
    }
    let label = labels::operator_group_member(&group.uid().unwrap_or_default());
    LabelSelector {
        match_labels: Some([(label, String::new())].into()),
        ..LabelSelector::default()
    }
}

fn configuration(request: &Request<'_>, definition: &WebhookDefinition) -> Option<Value> {
    let csv = request.csv;
    let kind = kind(definition)?;
    let certificate = request.certificates.get(&definition.deployment_name)?;
    let mut labels = owner_labels(csv);
    let generate_name = &definition.generate_name;
    labels.insert(
        labels::WEBHOOK_GENERATE_NAME.to_owned(),
        json!(labels::owner_value(generate_name)),
    );
    labels.insert(
        labels::WEBHOOK_HASH.to_owned(),
        json!(hash(&json!(definition))),
    );
    let mut service = json!({
        "name": services::service_name(&definition.deployment_name),
        "namespace": home(csv),
        "port": services::webhook_port(definition),
    });
    if let (Some(service), Some(path)) = (service.as_object_mut(), &definition.webhook_path) {
        service.insert("path".to_owned(), json!(path));
    }
    let mut webhook = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            webhook.insert(key.to_owned(), value);
        }
    };
    put("name", json!(generate_name));
    put(
        "admissionReviewVersions",
        json!(definition.admission_review_versions),
    );
    put(
        "clientConfig",
        json!({ "service": service, "caBundle": certificate.bundle() }),
    );
    put("rules", json!(definition.rules));
    put("failurePolicy", json!(definition.failure_policy));
    put("matchPolicy", json!(definition.match_policy));
    put(
        "namespaceSelector",
        json!(namespace_selector(request.group)),
    );
    put("objectSelector", json!(definition.object_selector));
    put("sideEffects", json!(definition.side_effects));
    put("timeoutSeconds", json!(definition.timeout_seconds));
    if definition.type_ == WebhookType::Mutating {
        put("reinvocationPolicy", json!(definition.reinvocation_policy));
    }
    Some(seal(json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": name(csv, definition, kind, request.seen), "labels": labels },
        "webhooks": [webhook],
    })))
}

/// The name that a configuration has already, or one that follows from the CSV and the definition.
fn name(
    csv: &ClusterServiceVersion,
    definition: &WebhookDefinition,
    kind: &str,
    seen: &Seen,
) -> String {
    let generate_name = &definition.generate_name;
    let of = format!("{}/{}/{kind}/{generate_name}", home(csv), csv.name_any());
    let hash: String = base36_sha256(of.as_bytes()).chars().take(12).collect();
    let room = NAME_LIMIT - hash.len() - 1;
    let start = &generate_name[..generate_name.floor_char_boundary(room)];
    let wanted = format!("{start}-{hash}");
    let mut names: Vec<&str> = seen
        .of_kind(kind)
        .filter(|(_, object)| is_labelled_by(object, csv) && is_of(object, definition))
        .map(|(key, _)| key.name.as_str())
        .collect();
    names.sort_unstable();
    match names.first() {
        Some(name) if !names.contains(&wanted.as_str()) => (*name).to_owned(),
        _ => wanted,
    }
}

/// Whether a configuration was made from a definition.
pub(super) fn is_of(configuration: &Value, definition: &WebhookDefinition) -> bool {
    let labels = configuration.pointer("/metadata/labels");
    let label = labels.and_then(|labels| labels.get(labels::WEBHOOK_GENERATE_NAME));
    label.and_then(Value::as_str) == Some(&labels::owner_value(&definition.generate_name))
}
