//! The APIServices by which the API server passes requests on to an operator.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Request;
use super::object::{home, owner_labels, seal};
use super::services;

/// Where the API group stands among others in discovery, as OLM has it.
const GROUP_PRIORITY: i32 = 2000;
/// Where the version stands among those of its group.
const VERSION_PRIORITY: i32 = 15;

/// The APIServices of an installation: one for each group and version, however many kinds it has.
pub fn api_services(request: &Request<'_>) -> Vec<Value> {
    let csv = request.csv;
    let annotations = request.config.map(|config| &config.annotations);
    let mut made: BTreeMap<String, Value> = BTreeMap::new();
    for api in &csv.spec.api_service_definitions.owned {
        let Some(certificate) = request.certificates.get(&api.deployment_name) else {
            continue;
        };
        let name = api.api_service_name();
        made.entry(name.clone()).or_insert_with(|| {
            let mut metadata = json!({ "name": name, "labels": owner_labels(csv) });
            if let (Some(metadata), Some(annotations)) = (metadata.as_object_mut(), annotations) {
                metadata.insert("annotations".to_owned(), json!(annotations));
            }
            seal(json!({
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": metadata,
                "spec": {
                    "group": api.group,
                    "version": api.version,
                    "groupPriorityMinimum": GROUP_PRIORITY,
                    "versionPriority": VERSION_PRIORITY,
                    "caBundle": certificate.bundle(),
                    "service": {
                        "namespace": home(csv),
                        "name": services::service_name(&api.deployment_name),
                        "port": services::api_port(api),
                    },
                },
            }))
        });
    }
    made.into_values().collect()
}
