//! An operator's rights in the namespaces that it serves.
//!
//! The InstallPlan gives an operator Roles and RoleBindings in its own namespace. If it serves all
//! namespaces they are lifted: ClusterRoles and ClusterRoleBindings of the same names. If it serves some,
//! each of those gets copies, owned by the copy of the CSV that is there, so that they go with it.

#[cfg(test)]
mod tests;

use kube::{Resource as _, ResourceExt as _};
use serde_json::{Map, Value, json};

use super::object::{home, is_labelled_by, list, map, owner_reference, seal, text};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;

const API_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// The Roles and RoleBindings of a CSV that serves all namespaces, as ClusterRoles and
/// ClusterRoleBindings. `rbac` are Roles and RoleBindings of the CSV's namespace, of which those that
/// carry its owner labels count.
///
/// Beyond what it asks for, the operator may look at namespaces: it has to know what it serves.
pub fn lifted(csv: &ClusterServiceVersion, rbac: &[Value]) -> Vec<Value> {
    let owned = rbac.iter().filter(|object| is_labelled_by(object, csv));
    let lifted = owned.filter_map(|object| {
        let metadata = json!({
            "name": text(object, "/metadata/name"),
            "labels": object.pointer("/metadata/labels"),
        });
        let mut lifted = content(object)?;
        let fields = lifted.as_object_mut()?;
        fields.insert("metadata".to_owned(), metadata);
        if let Some(role) = fields.get_mut("roleRef").and_then(Value::as_object_mut) {
            role.insert("kind".to_owned(), json!("ClusterRole"));
            fields.insert("kind".to_owned(), json!("ClusterRoleBinding"));
        } else {
            list(fields, "rules").push(json!({
                "verbs": ["get", "list", "watch"],
                "apiGroups": [""],
                "resources": ["namespaces"],
            }));
            fields.insert("kind".to_owned(), json!("ClusterRole"));
        }
        Some(seal(lifted))
    });
    lifted.collect()
}

/// The Roles and RoleBindings of a CSV as they are wanted in a namespace it serves, owned by the copy of
/// the CSV that is there (`copy_uid`). Only what the CSV really owns is copied: anybody can set a label.
pub fn copied(
    csv: &ClusterServiceVersion,
    rbac: &[Value],
    namespace: &str,
    copy_uid: &str,
) -> Vec<Value> {
    if namespace == home(csv) {
        return Vec::new();
    }
    let owned = rbac
        .iter()
        .filter(|object| is_labelled_by(object, csv) && is_owned_by(object, csv));
    let copied = owned.filter_map(|object| {
        let mut copied = content(object)?;
        let fields = copied.as_object_mut()?;
        fields.insert("kind".to_owned(), object.get("kind")?.clone());
        let mut reference = owner_reference(csv);
        reference
            .as_object_mut()?
            .insert("uid".to_owned(), json!(copy_uid));
        let metadata = map(fields, "metadata");
        metadata.insert("name".to_owned(), json!(text(object, "/metadata/name")));
        metadata.insert("namespace".to_owned(), json!(namespace));
        metadata.insert("ownerReferences".to_owned(), json!([reference]));
        let own = object
            .pointer("/metadata/labels")
            .and_then(Value::as_object);
        metadata.insert("labels".to_owned(), json!(own));
        let labels = map(metadata, "labels");
        labels.insert(
            labels::OWNER.to_owned(),
            json!(labels::owner_value(&csv.name_any())),
        );
        labels.insert(labels::OWNER_NAMESPACE.to_owned(), json!(namespace));
        let kind = ClusterServiceVersion::kind(&());
        labels.insert(labels::OWNER_KIND.to_owned(), json!(kind));
        labels.insert(labels::COPIED_FROM.to_owned(), json!(home(csv)));
        labels.insert(labels::MANAGED.to_owned(), json!("true"));
        Some(seal(copied))
    });
    copied.collect()
}

fn is_owned_by(object: &Value, csv: &ClusterServiceVersion) -> bool {
    let owners = object.pointer("/metadata/ownerReferences");
    let owners = owners.and_then(Value::as_array).into_iter().flatten();
    let uid = csv.uid();
    uid.is_some()
        && owners
            .map(|owner| owner.get("uid"))
            .any(|owner| owner.and_then(Value::as_str) == uid.as_deref())
}

/// What a Role or RoleBinding says, without whose it is; nothing for anything else.
fn content(object: &Value) -> Option<Value> {
    let fields: &[&str] = match text(object, "/kind") {
        "Role" => &["rules"],
        "RoleBinding" => &["roleRef", "subjects"],
        _ => return None,
    };
    let mut content = Map::new();
    content.insert("apiVersion".to_owned(), json!(API_VERSION));
    for field in fields {
        let value = object.get(field).filter(|value| !value.is_null());
        content.insert((*field).to_owned(), value.cloned().unwrap_or(json!([])));
    }
    Some(Value::Object(content))
}
