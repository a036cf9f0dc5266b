//! What a Subscription adjusts about the Deployments of its operator (`spec.config`).
//!
//! The rules are OLM's, with four exceptions: `selector` has an effect, an empty `podAntiAffinity` removes
//! the Pods' anti-affinity and not all of their affinity, several mounts of one volume do not overwrite
//! each other, and merging twice is the same as merging once.

#[cfg(test)]
mod tests;

use kube::core::{Selector, SelectorExt as _};
use serde_json::{Map, Value, json};

use super::error::InstallError;
use super::object::{list, map, texts};
use super::pod;
use crate::api::pod_part::PodPart;
use crate::api::subscription::SubscriptionConfig;

/// The variables that tell a program about the proxy. A Subscription that sets one of them sets the
/// proxy, and the cluster's is not mixed in.
pub const PROXY_VARIABLES: [&str; 3] = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/// Merges what a Subscription adjusts into a Deployment, and the cluster's proxy variables.
pub fn merge(
    deployment: &mut Value,
    config: Option<&SubscriptionConfig>,
    proxy: &[(String, String)],
) -> Result<(), InstallError> {
    let config = match config {
        Some(config) if applies(config, deployment)? => config,
        _ => &SubscriptionConfig::default(),
    };
    let Some(deployment) = deployment.as_object_mut() else {
        return Ok(());
    };
    let variables = variables(config, proxy);
    let pod = pod::pod_spec(map(deployment, "spec"));
    merge_volumes(pod, &config.volumes);
    append_new(pod, "tolerations", &config.tolerations);
    if let Some(node_selector) = &config.node_selector {
        pod.insert("nodeSelector".to_owned(), json!(node_selector));
    }
    if let Some(affinity) = &config.affinity {
        merge_affinity(pod, affinity);
    }
    for container in pod::containers(pod) {
        pod::set_env(container, &variables);
        append_new(container, "envFrom", &config.env_from);
        merge_mounts(container, &config.volume_mounts);
        if let Some(resources) = &config.resources {
            container.insert("resources".to_owned(), json!(resources));
        }
    }
    if !config.annotations.is_empty() {
        add_annotations(map(map(deployment, "metadata"), "annotations"), config);
        add_annotations(pod::pod_annotations(map(deployment, "spec")), config);
    }
    Ok(())
}

/// Whether a configuration is meant for a Deployment, by the labels of its Pods.
fn applies(config: &SubscriptionConfig, deployment: &Value) -> Result<bool, InstallError> {
    let Some(selector) = &config.selector else {
        return Ok(true);
    };
    let selector = Selector::try_from(selector.clone()).map_err(|error| {
        let problem = error.to_string();
        InstallError::ConfigSelector { problem }
    })?;
    let labels = texts(deployment, "/spec/template/metadata/labels").collect();
    Ok(selector.matches(&labels))
}

fn variables(config: &SubscriptionConfig, proxy: &[(String, String)]) -> Vec<Value> {
    let sets_proxy = config.env.iter().any(|variable| {
        let name = variable.get("name").and_then(Value::as_str);
        name.is_some_and(|name| PROXY_VARIABLES.contains(&name))
    });
    let proxy = proxy
        .iter()
        .filter(|(_, value)| !sets_proxy && !value.is_empty())
        .map(|(name, value)| json!({ "name": name, "value": value }));
    config
        .env
        .iter()
        .map(|variable| json!(variable))
        .chain(proxy)
        .collect()
}

/// A volume takes the place of the one of its name.
fn merge_volumes(pod: &mut Map<String, Value>, volumes: &[PodPart]) {
    for volume in volumes {
        let name = volume.get("name");
        pod::put(list(pod, "volumes"), json!(volume), |other| {
            other.get("name") == name
        });
    }
}

/// A mount takes the place of the one at its path, or else of one of its volume that is not itself
/// asked for.
fn merge_mounts(container: &mut Map<String, Value>, mounts: &[PodPart]) {
    let is_asked_for = |other: &Value| {
        let mut mounts = mounts.iter();
        mounts.any(|mount| mount.get("mountPath") == other.get("mountPath"))
    };
    for mount in mounts {
        let (name, path) = (mount.get("name"), mount.get("mountPath"));
        let items = list(container, "volumeMounts");
        if items.iter().any(|other| other.get("mountPath") == path) {
            pod::put(items, json!(mount), |other| other.get("mountPath") == path);
        } else {
            pod::put(items, json!(mount), |other| {
                other.get("name") == name && !is_asked_for(other)
            });
        }
    }
}

/// What is there already is not added again.
fn append_new(object: &mut Map<String, Value>, key: &str, parts: &[PodPart]) {
    for part in parts {
        let part = json!(part);
        let items = list(object, key);
        if !items
            .iter()
            .any(|other| without_nothing(other) == without_nothing(&part))
        {
            items.push(part);
        }
    }
}

/// Each part that is given replaces that of the Pods; an empty one removes it, and an affinity without
/// parts removes all.
fn merge_affinity(pod: &mut Map<String, Value>, affinity: &PodPart) {
    let parts: Vec<_> = affinity
        .iter()
        .filter(|(_, part)| !part.is_null())
        .collect();
    let own = map(pod, "affinity");
    if parts.is_empty() {
        own.clear();
    }
    for (name, part) in parts {
        if without_nothing(part) == json!({}) {
            own.shift_remove(name);
        } else {
            own.insert(name.clone(), part.clone());
        }
    }
    own.retain(|_, part| !part.is_null());
    if own.is_empty() {
        pod.shift_remove("affinity");
    }
}

/// Annotations that are there stay as they are.
fn add_annotations(annotations: &mut Map<String, Value>, config: &SubscriptionConfig) {
    for (key, value) in &config.annotations {
        annotations.entry(key.clone()).or_insert(json!(value));
    }
}

/// A value without what means nothing: `null` and empty texts.
fn without_nothing(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter(|(_, value)| !value.is_null() && *value != "");
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), without_nothing(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nothing).collect()),
        other => other.clone(),
    }
}
