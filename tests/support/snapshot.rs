//! Everything that an install left, in a form in which two namespaces can be compared.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::{Api, Client};
use regex::Regex;
use serde_json::{Value, json};

const NAMESPACED: [(&str, &str, &str); 13] = [
    ("", "v1", "ConfigMap"),
    ("", "v1", "Secret"),
    ("", "v1", "Service"),
    ("", "v1", "ServiceAccount"),
    ("apps", "v1", "Deployment"),
    ("rbac.authorization.k8s.io", "v1", "Role"),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    ("operators.coreos.com", "v1alpha1", "CatalogSource"),
    ("operators.coreos.com", "v1alpha1", "ClusterServiceVersion"),
    ("operators.coreos.com", "v1alpha1", "InstallPlan"),
    ("operators.coreos.com", "v2", "OperatorCondition"),
    ("operators.coreos.com", "v1", "OperatorGroup"),
    ("operators.coreos.com", "v1alpha1", "Subscription"),
];

const CLUSTER_SCOPED: [(&str, &str, &str); 8] = [
    ("", "v1", "Namespace"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"),
    ("operators.coreos.com", "v1", "Operator"),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
    ),
    ("apiregistration.k8s.io", "v1", "APIService"),
];

/// The objects of a namespace and those for the whole cluster that speak of it, by kind and name:
/// labels, annotations, owners and all that is neither metadata nor status, without what differs
/// from one namespace and one moment to another.
pub async fn of(client: &Client, namespace: &str) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut objects = BTreeMap::new();
    let namespaced = NAMESPACED.map(|kind| (kind, true));
    let all = namespaced
        .into_iter()
        .chain(CLUSTER_SCOPED.map(|kind| (kind, false)));
    for ((group, version, kind), is_namespaced) in all {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let api: Api<DynamicObject> = if is_namespaced {
            Api::namespaced_with(client.clone(), namespace, &resource)
        } else {
            Api::all_with(client.clone(), &resource)
        };
        for object in api.list(&ListParams::default()).await? {
            let text = json!(object).to_string();
            // Kubernetes' own roles collect what all tests bring.
            if text.contains("kubernetes.io/bootstrapping") {
                continue;
            }
            if is_namespaced || text.contains(namespace) {
                let essence = essence(normalised(json!(object), &|text| plain(text, namespace)));
                let name = essence["name"].as_str().unwrap_or_default().to_owned();
                objects.insert(format!("{kind} {name}"), essence);
            }
        }
    }
    Ok(objects)
}

/// All texts and keys of a value, rewritten.
fn normalised(value: Value, rewrite: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(rewrite(&text)),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| normalised(item, rewrite));
            Value::Array(items.collect())
        }
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.map(|(key, value)| (rewrite(&key), normalised(value, rewrite)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

/// What hashes are made of differs from one namespace to another.
static HASHES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        // Keys and certificates, as many as there are.
        ("LS0tLS1CRUdJTi[0-9A-Za-z+/]+=*", "PEM"),
        // Webhook configurations of our operators.
        (r"(\.example\.com)-[0-9a-z]{12}\b", "$1-HASH"),
        // Of images and their contents.
        ("[0-9a-f]{64}", "DIGEST"),
        // The solution that a plan is for.
        ("[0-9a-f]{32}", "SOLUTION"),
        // The contents of a plan, permissions, and the names of roles for the whole cluster.
        ("[0-9A-Za-z]{34,55}", "HASH"),
        // A CSV in a namespace, and an API.
        (
            "(installed-alongside|aggregate-to)-[0-9a-f]{8,16}",
            "$1-HASH",
        ),
        (r"install-[0-9a-z]{10}\b", "install-HASH"),
        (
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "UID",
        ),
    ];
    let compiled = patterns.map(|(pattern, short)| {
        let pattern = Regex::new(pattern).expect("a valid pattern");
        (pattern, short)
    });
    compiled.into()
});

/// Names of namespaces are in names of all kinds, and in hashes.
fn plain(text: &str, namespace: &str) -> String {
    let mut text = text.replace(namespace, "NAMESPACE");
    for (pattern, short) in &*HASHES {
        text = pattern.replace_all(&text, *short).into_owned();
    }
    text
}

fn essence(mut object: Value) -> Value {
    let mut metadata = object["metadata"].take();
    // How often a Deployment was changed is nothing that is left of it.
    if let Some(annotations) = metadata["annotations"].as_object_mut() {
        annotations.remove("deployment.kubernetes.io/revision");
    }
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    let mut owners: Vec<String> = owners
        .map(|owner| format!("{} {}", owner["kind"], owner["name"]))
        .collect();
    owners.sort();
    let mut content = object;
    if let Some(fields) = content.as_object_mut() {
        // What a role collects is Kubernetes' to fill in, in an order that follows from hashes.
        if fields.get("aggregationRule").is_some_and(Value::is_object) {
            fields.remove("rules");
        }
        fields.retain(|key, _| !["metadata", "status", "apiVersion", "kind"].contains(&&**key));
        // Each Service has an address of its own.
        if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
            spec.retain(|key, _| !["clusterIP", "clusterIPs"].contains(&&**key));
        }
    }
    json!({
        "name": metadata["name"],
        "labels": metadata["labels"],
        "annotations": metadata["annotations"],
        "owners": owners,
        "deleted": metadata["deletionTimestamp"].is_string(),
        "content": content,
    })
}

/// What is different in the second one, object by object.
pub fn differences(
    expected: &BTreeMap<String, Value>,
    found: &BTreeMap<String, Value>,
) -> Vec<String> {
    let missing = expected.keys().filter(|key| !found.contains_key(*key));
    let mut differences: Vec<String> = missing.map(|key| format!("{key} is missing")).collect();
    for (key, value) in found {
        match expected.get(key) {
            None => differences.push(format!("{key} is too much")),
            Some(expected) if expected != value => {
                differences.push(format!("{key} is\n  {value}\nand not\n  {expected}"));
            }
            Some(_) => {}
        }
    }
    differences
}
