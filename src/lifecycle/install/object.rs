//! What all objects of an installation have in common: what they are called and whose they are.

use std::fmt;

use kube::{Resource as _, ResourceExt as _};
use serde_json::{Map, Value, json};

use crate::api::GROUP;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::hash::base62_sha224;
use crate::api::labels;

/// What an object is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty if it is in none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl Key {
    /// The key of an object.
    pub fn of(object: &Value) -> Self {
        Self {
            kind: text(object, "/kind").to_owned(),
            namespace: text(object, "/metadata/namespace").to_owned(),
            name: text(object, "/metadata/name").to_owned(),
        }
    }

    /// The key of an object of this kind, namespace and name.
    pub fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} {}", self.kind, self.name),
            namespace => write!(f, "{} {namespace}/{}", self.kind, self.name),
        }
    }
}

/// The text at a JSON pointer, or nothing.
pub(super) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// The texts of a map, such as labels.
pub(super) fn texts(object: &Value, pointer: &str) -> impl Iterator<Item = (String, String)> {
    let map = object.pointer(pointer).and_then(Value::as_object);
    let map = map.cloned().unwrap_or_default();
    map.into_iter().filter_map(|(key, value)| match value {
        Value::String(text) => Some((key, text)),
        _ => None,
    })
}

/// A member that is an object, made one if it is not.
pub(super) fn map<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = object.entry(key).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        // It was made one just now.
        _ => unreachable!("{key} is an object"),
    }
}

/// A member that is a list, made one if it is not.
pub(super) fn list<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Vec<Value> {
    let value = object.entry(key).or_insert(Value::Null);
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(list) => list,
        // It was made one just now.
        _ => unreachable!("{key} is a list"),
    }
}

/// The namespace of a ClusterServiceVersion.
pub(super) fn home(csv: &ClusterServiceVersion) -> String {
    csv.namespace().unwrap_or_default()
}

/// A reference by which Kubernetes removes an object after its CSV.
pub(super) fn owner_reference(csv: &ClusterServiceVersion) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"),
        "kind": ClusterServiceVersion::kind(&()),
        "name": csv.name_any(),
        "uid": csv.uid().unwrap_or_default(),
        "controller": false,
        "blockOwnerDeletion": false,
    })
}

/// The labels by which an object of any namespace, or of none, is found to be a CSV's.
pub(super) fn owner_labels(csv: &ClusterServiceVersion) -> Map<String, Value> {
    let mut labels = Map::new();
    let kind = ClusterServiceVersion::kind(&());
    labels.insert(labels::MANAGED.to_owned(), json!("true"));
    let owner = labels::owner_value(&csv.name_any());
    labels.insert(labels::OWNER.to_owned(), json!(owner));
    labels.insert(labels::OWNER_NAMESPACE.to_owned(), json!(home(csv)));
    labels.insert(labels::OWNER_KIND.to_owned(), json!(kind));
    labels
}

/// Whether the labels of an object say that it is a CSV's.
pub(super) fn is_labelled_by(object: &Value, csv: &ClusterServiceVersion) -> bool {
    is_labelled_as(object, &csv.name_any(), &home(csv))
}

/// The same for the CSV of a name and namespace.
pub(super) fn is_labelled_as(object: &Value, csv: &str, namespace: &str) -> bool {
    let label = |key: &str| {
        let labels = object.pointer("/metadata/labels");
        labels.and_then(|labels| labels.get(key)?.as_str())
    };
    label(labels::OWNER) == Some(&labels::owner_value(csv))
        && label(labels::OWNER_NAMESPACE) == Some(namespace)
        && label(labels::OWNER_KIND) == Some(ClusterServiceVersion::kind(&()).as_ref())
}

/// A hash of a value, whatever the order of its fields.
pub(super) fn hash(value: &Value) -> String {
    base62_sha224(sorted(value).to_string().as_bytes())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<_> = map.iter().collect();
            fields.sort_by_key(|(key, _)| *key);
            let fields = fields.into_iter();
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), sorted(value)))
                    .collect(),
            )
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

/// Marks an object with a hash of all of it. What is compared otherwise is only what is asked for:
/// that something is no longer asked for shows in the hash.
pub(super) fn seal(mut object: Value) -> Value {
    let hash = hash(&object);
    if let Some(fields) = object.as_object_mut() {
        let annotations = map(map(fields, "metadata"), "annotations");
        annotations.insert(labels::CONTENT_HASH.to_owned(), json!(hash));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_fields_is_not_part_of_a_hash() {
        let one = json!({"a": {"b": 1, "c": [1, 2]}, "d": 2});
        let same = json!({"d": 2, "a": {"c": [1, 2], "b": 1}});
        let other = json!({"d": 2, "a": {"c": [2, 1], "b": 1}});
        assert_eq!(hash(&one), hash(&same));
        assert_ne!(hash(&one), hash(&other));
    }

    #[test]
    fn a_key_reads_like_what_people_type() {
        let object = json!({"kind": "Role", "metadata": {"name": "a", "namespace": "n"}});
        assert_eq!(Key::of(&object).to_string(), "Role n/a");
        let object = json!({"kind": "ClusterRole", "metadata": {"name": "a"}});
        assert_eq!(Key::of(&object).to_string(), "ClusterRole a");
    }
}
