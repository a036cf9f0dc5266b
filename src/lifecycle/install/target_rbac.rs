//! An operator's rights in the namespaces that it serves.
//!
//! The InstallPlan gives an operator Roles and RoleBindings in its own namespace. If it serves all
//! namespaces they are lifted to ClusterRoles and ClusterRoleBindings. If it serves some, each of those gets
//! copies, owned by the copy of the CSV that is there, so that they go with it.
//!
//! OLM calls what it lifts as the Role is called, whose name does not depend on the namespace: of one
//! operator in two namespaces, the second finds the rights of the first and goes without. Ours have the
//! namespace in their names, and what OLM lifted is removed once ours are there.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use kube::{Resource as _, ResourceExt as _};
use serde_json::{Map, Value, json};

use super::object::{
    Key, home, is_labelled_by, list, map, owner_labels, owner_reference, seal, text,
};
use super::services::{self, Served};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::hash::base36_sha256;
use crate::api::labels;

const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
/// Kubernetes' limit for the name of an object.
const NAME_LIMIT: usize = 253;

/// The Roles and RoleBindings of a CSV that serves all namespaces, as ClusterRoles and
/// ClusterRoleBindings. `rbac` are Roles and RoleBindings of the CSV's namespace, of which those that
/// carry its owner labels count.
///
/// Beyond what it asks for, the operator may look at namespaces: it has to know what it serves.
pub fn lifted(csv: &ClusterServiceVersion, rbac: &[Value]) -> Vec<Value> {
    let names = liftable(csv, rbac);
    let owned = rbac.iter().filter(|object| is_labelled_by(object, csv));
    let lifted = owned.filter_map(|object| {
        let name = text(object, "/metadata/name");
        let is_permission = names.contains(name);
        let mut labels = object.pointer("/metadata/labels")?.as_object()?.clone();
        labels.extend(owner_labels(csv));
        let metadata = json!({
            "name": lifted_name(csv, name),
            "labels": labels,
            "annotations": { labels::LIFTED_FROM: name },
        });
        let mut lifted = content(object).filter(|_| is_permission)?;
        let fields = lifted.as_object_mut()?;
        fields.insert("metadata".to_owned(), metadata);
        if let Some(role) = fields.get_mut("roleRef").and_then(Value::as_object_mut) {
            // A role of the cluster can be bound as it is.
            if role.get("kind").and_then(Value::as_str) == Some("Role") {
                let of = role.get("name").and_then(Value::as_str).unwrap_or_default();
                let of = lifted_name(csv, of);
                role.insert("name".to_owned(), json!(of));
                role.insert("kind".to_owned(), json!("ClusterRole"));
            }
            fields.insert("kind".to_owned(), json!("ClusterRoleBinding"));
        } else {
            list(fields, "rules").push(sees_namespaces());
            fields.insert("kind".to_owned(), json!("ClusterRole"));
        }
        Some(seal(lifted))
    });
    lifted.collect()
}

/// Those of a CSV's rights in the whole cluster (`cluster`) that were lifted, by us or by OLM, and are
/// not wanted any more: the operator serves some namespaces only, or the Role is gone.
pub fn fallen<'a>(
    csv: &ClusterServiceVersion,
    rbac: &[Value],
    wanted: &[Value],
    cluster: &'a [Value],
) -> Vec<&'a Value> {
    let name = |object: &'a Value| text(object, "/metadata/name");
    let of_csv = || cluster.iter().filter(|object| is_labelled_by(object, csv));
    let names = liftable(csv, rbac);
    // What OLM lifted is known by its name, and by what it adds.
    let of_olm: BTreeSet<&str> = of_csv()
        .filter(|object| {
            let rules = object.get("rules").and_then(Value::as_array);
            let last = rules.and_then(|rules| rules.last());
            names.contains(name(object)) && last == Some(&sees_namespaces())
        })
        .map(name)
        .collect();
    let wanted: Vec<Key> = wanted.iter().map(Key::of).collect();
    let mut fallen: Vec<&Value> = of_csv()
        .filter(|object| {
            let annotations = object.pointer("/metadata/annotations");
            let is_ours = annotations.is_some_and(|all| all.get(labels::LIFTED_FROM).is_some());
            (is_ours || of_olm.contains(name(object))) && !wanted.contains(&Key::of(object))
        })
        .collect();
    // Without its role, nobody could tell of a binding what it was.
    fallen.sort_by_key(|object| text(object, "/kind") != "ClusterRoleBinding");
    fallen
}

/// The right to know which namespaces there are.
fn sees_namespaces() -> Value {
    json!({
        "verbs": ["get", "list", "watch"],
        "apiGroups": [""],
        "resources": ["namespaces"],
    })
}

/// The names of the Roles of a CSV that are its permissions, and not by what it serves with a certificate.
fn liftable<'a>(csv: &ClusterServiceVersion, rbac: &'a [Value]) -> BTreeSet<&'a str> {
    let serving = services::serving(csv).unwrap_or_default();
    let of_certificates: Vec<String> = serving.iter().map(Served::secret).collect();
    let owned = rbac.iter().filter(|object| is_labelled_by(object, csv));
    let names = owned.map(|object| text(object, "/metadata/name"));
    names
        .filter(|name| !of_certificates.iter().any(|secret| secret == name))
        .collect()
}

/// What a Role is called when it is lifted.
fn lifted_name(csv: &ClusterServiceVersion, role: &str) -> String {
    let hash = base36_sha256(home(csv).as_bytes());
    let hash: String = hash.chars().take(8).collect();
    let room = NAME_LIMIT - hash.len() - 1;
    format!("{}-{hash}", &role[..role.floor_char_boundary(room)])
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
