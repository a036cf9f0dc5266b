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

use kube::ResourceExt as _;
use serde_json::{Map, Value, json};

use super::object::{Key, home, is_labelled_by, owner_labels, owner_reference, seal, text};
use super::services::{self, Served};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::hash::base36_sha256;
use crate::api::labels;

const API_GROUP: &str = "rbac.authorization.k8s.io";
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";
/// Kubernetes' limit for the name of an object.
const NAME_LIMIT: usize = 253;

/// The Roles and RoleBindings of a CSV that serves all namespaces, as ClusterRoles and
/// ClusterRoleBindings. `rbac` are Roles and RoleBindings of the CSV's namespace, of which those that
/// are its permissions count.
///
/// Beyond what it asks for, the operator may look at namespaces: it has to know what it serves.
pub fn lifted(csv: &ClusterServiceVersion, rbac: &[Value]) -> Vec<Value> {
    let lifted = granted(csv, rbac).into_iter().map(|(object, granted)| {
        let name = text(object, "/metadata/name");
        let mut labels = marks(object);
        labels.extend(owner_labels(csv));
        let metadata = json!({
            "name": lifted_name(csv, name),
            "labels": labels,
            "annotations": { labels::LIFTED_FROM: name },
        });
        seal(match granted {
            Granted::Rules(mut rules) => {
                rules.push(sees_namespaces());
                json!({
                    "apiVersion": API_VERSION, "kind": "ClusterRole",
                    "metadata": metadata, "rules": rules,
                })
            }
            Granted::To(subjects) => json!({
                "apiVersion": API_VERSION, "kind": "ClusterRoleBinding",
                "metadata": metadata, "subjects": subjects,
                "roleRef": {
                    "apiGroup": API_GROUP, "kind": "ClusterRole",
                    "name": lifted_name(csv, text(object, "/roleRef/name")),
                },
            }),
        })
    });
    lifted.collect()
}

/// What a Role or a RoleBinding gives of what a CSV asks for, and no more.
enum Granted {
    /// A Role: these rules.
    Rules(Vec<Value>),
    /// A RoleBinding: to these.
    To(Vec<Value>),
}

/// The Roles and RoleBindings that give a CSV's operator the permissions that the CSV asks for, each with
/// what of it does that: Roles first.
///
/// Whoever may write Roles in the namespace can make some that look like the operator's: labels, owners and names
/// say nothing. What a CSV asks for it says itself, and by the rules and the account a Role is known that gives it,
/// whatever whoever made it called it. What such a Role or RoleBinding says beyond that stays in its namespace.
fn granted<'a>(csv: &ClusterServiceVersion, rbac: &'a [Value]) -> Vec<(&'a Value, Granted)> {
    let of_kind = |kind: &'static str| {
        let owned = rbac.iter().filter(|object| is_labelled_by(object, csv));
        owned.filter(move |object| text(object, "/kind") == kind)
    };
    let asked: Vec<(Value, Vec<Value>)> = csv
        .spec
        .install
        .spec
        .permissions
        .iter()
        .map(|permission| {
            let subject = json!({
                "kind": "ServiceAccount",
                "name": permission.service_account_name,
                "namespace": home(csv),
            });
            let rules = permission.rules.iter();
            (subject, rules.map(|rule| brief(&json!(rule))).collect())
        })
        .collect();
    let (mut roles, mut bindings) = (Vec::new(), Vec::new());
    for role in of_kind("Role") {
        let name = text(role, "/metadata/name");
        let has: Vec<Value> = items(role, "/rules").map(brief).collect();
        let mut given: Vec<Value> = Vec::new();
        let bound = of_kind("RoleBinding")
            .filter(|it| text(it, "/roleRef/kind") == "Role" && text(it, "/roleRef/name") == name);
        for binding in bound {
            let mut subjects: Vec<Value> = Vec::new();
            for (subject, wanted) in &asked {
                let is_bound = items(binding, "/subjects").any(|it| is_same(it, subject));
                let is_given = !wanted.is_empty() && wanted.iter().all(|it| has.contains(it));
                if is_bound && is_given {
                    add(&mut subjects, subject);
                    for rule in wanted {
                        add(&mut given, rule);
                    }
                }
            }
            if !subjects.is_empty() {
                bindings.push((binding, Granted::To(subjects)));
            }
        }
        if !given.is_empty() {
            roles.push((role, Granted::Rules(given)));
        }
    }
    roles.into_iter().chain(bindings).collect()
}

fn add(known: &mut Vec<Value>, one: &Value) {
    if !known.contains(one) {
        known.push(one.clone());
    }
}

fn items<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    let items = object.pointer(pointer).and_then(Value::as_array);
    items.into_iter().flatten()
}

/// A rule without fields that say nothing.
fn brief(rule: &Value) -> Value {
    let fields = rule.as_object().into_iter().flatten();
    let fields = fields.filter(|(_, value)| value.as_array().is_some_and(|it| !it.is_empty()));
    let fields = fields.map(|(key, value)| (key.clone(), value.clone()));
    Value::Object(fields.collect())
}

/// Whether two subjects are the same ServiceAccount.
fn is_same(one: &Value, other: &Value) -> bool {
    let fields = ["/kind", "/name", "/namespace"];
    fields
        .iter()
        .all(|field| text(one, field) == text(other, field))
}

/// The labels of a Role or RoleBinding that its copies have, too. Others may mean something there that they do not
/// mean here: a ClusterRole may be made part of another one by a label.
fn marks(object: &Value) -> Map<String, Value> {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let is_mark =
        |key: &str| key == labels::PERMISSIONS_HASH || key.starts_with(labels::COMPONENT_PREFIX);
    labels
        .filter(|(key, _)| is_mark(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
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
            let is_ours = is_ours(object);
            (is_ours || of_olm.contains(name(object))) && !wanted.contains(&Key::of(object))
        })
        .collect();
    // Without its role, nobody could tell of a binding what it was.
    fallen.sort_by_key(|object| text(object, "/kind") != "ClusterRoleBinding");
    fallen
}

/// Whether something was lifted by us, and not by OLM.
pub fn is_ours(object: &Value) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    annotations.is_some_and(|all| all.get(labels::LIFTED_FROM).is_some())
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
/// the CSV that is there (`copy_uid`). Only what is its permissions is copied, and owned by it.
pub fn copied(
    csv: &ClusterServiceVersion,
    rbac: &[Value],
    namespace: &str,
    copy_uid: &str,
) -> Vec<Value> {
    if namespace == home(csv) {
        return Vec::new();
    }
    let mut reference = owner_reference(csv);
    if let Some(fields) = reference.as_object_mut() {
        fields.insert("uid".to_owned(), json!(copy_uid));
    }
    let owned = granted(csv, rbac).into_iter();
    let owned = owned.filter(|(object, _)| is_owned_by(object, csv));
    let copied = owned.map(|(object, granted)| {
        let mut labels = marks(object);
        labels.extend(owner_labels(csv));
        labels.insert(labels::OWNER_NAMESPACE.to_owned(), json!(namespace));
        labels.insert(labels::COPIED_FROM.to_owned(), json!(home(csv)));
        let metadata = json!({
            "name": text(object, "/metadata/name"),
            "namespace": namespace,
            "ownerReferences": [reference],
            "labels": labels,
        });
        seal(match granted {
            Granted::Rules(rules) => json!({
                "apiVersion": API_VERSION, "kind": "Role", "metadata": metadata, "rules": rules,
            }),
            Granted::To(subjects) => json!({
                "apiVersion": API_VERSION, "kind": "RoleBinding", "metadata": metadata,
                "roleRef": object.get("roleRef"), "subjects": subjects,
            }),
        })
    });
    copied.collect()
}

/// Those of the copies in a namespace (`there`) that are not wanted any more.
pub fn stray<'a>(wanted: &[Value], there: &'a [Value]) -> Vec<&'a Value> {
    let wanted: Vec<Key> = wanted.iter().map(Key::of).collect();
    let there = there.iter();
    there
        .filter(|object| !wanted.contains(&Key::of(object)))
        .collect()
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
