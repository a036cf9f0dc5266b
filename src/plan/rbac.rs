//! What an operator may do: the service accounts and roles that its CSV describes.
//!
//! Names are OLM's, to the last letter: an operator that OLM installed keeps its roles when Chandler
//! takes over. They contain hashes of JSON as Go writes it, which is why the types here have Go's
//! order of fields.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use thiserror::Error;

use super::contents::text_of;
use crate::api::cluster_service_version::install::STRATEGY_DEPLOYMENT;
use crate::api::hash::{base62_sha224, go_json};
use crate::api::labels;

/// How long a name becomes at most before its base is cut.
const NAME_LIMIT: usize = 63;

/// Every namespace has this ServiceAccount; it is not ours to change.
pub(super) const DEFAULT_SERVICE_ACCOUNT: &str = "default";

const API_GROUP: &str = "rbac.authorization.k8s.io";

/// Why the permissions of a CSV cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RbacError {
    /// OLM's words, and ours.
    #[error(
        "unrecognized install strategy {strategy:?} in spec.install.strategy of ClusterServiceVersion {csv}: only `deployment` is known"
    )]
    Strategy {
        /// The CSV.
        csv: String,
        /// What it says.
        strategy: String,
    },
    /// Something has another type than it should.
    #[error(
        "spec.install.spec.{field} of ClusterServiceVersion {csv} cannot be read: {problem}; ask the operator's authors to mend it"
    )]
    Unreadable {
        /// The CSV.
        csv: String,
        /// `permissions` or `clusterPermissions`.
        field: &'static str,
        /// What is wrong.
        problem: String,
    },
}

/// What a ServiceAccount may do, with the fields in Go's order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    #[serde(default, deserialize_with = "null_is_default")]
    service_account_name: String,
    #[serde(default)]
    rules: Option<Vec<Rule>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    #[serde(default)]
    verbs: Option<Vec<String>>,
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    api_groups: Vec<String>,
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    resources: Vec<String>,
    #[serde(
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    resource_names: Vec<String>,
    #[serde(
        rename = "nonResourceURLs",
        default,
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    non_resource_urls: Vec<String>,
}

/// What the name of a role is a hash of.
#[derive(Serialize)]
struct Named<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    permission: &'a Permission,
}

/// The objects that give a CSV's operator its rights in a namespace and in the cluster: for each
/// ServiceAccount itself (but never `default`), its roles and their bindings, its cluster roles and
/// their bindings.
pub fn derive(csv: &Value, namespace: &str) -> Result<Vec<Value>, RbacError> {
    let name = text_of(csv, "/metadata/name");
    let strategy = text_of(csv, "/spec/install/strategy");
    if strategy != STRATEGY_DEPLOYMENT {
        return Err(RbacError::Strategy {
            csv: name.to_owned(),
            strategy: strategy.to_owned(),
        });
    }
    let in_namespace = permissions(csv, "permissions")?;
    let in_cluster = permissions(csv, "clusterPermissions")?;
    let mut accounts: Vec<&str> = Vec::new();
    for permission in in_namespace.iter().chain(&in_cluster) {
        if !accounts.contains(&permission.service_account_name.as_str()) {
            accounts.push(&permission.service_account_name);
        }
    }
    let owner = Owner {
        csv: name,
        namespace,
    };
    let mut objects = Vec::new();
    for account in accounts {
        if account != DEFAULT_SERVICE_ACCOUNT {
            objects.push(service_account(account, namespace));
        }
        let of_account = |permission: &&Permission| permission.service_account_name == account;
        let (roles, bindings): (Vec<Value>, Vec<Value>) = in_namespace
            .iter()
            .filter(of_account)
            .map(|permission| owner.role(permission))
            .unzip();
        let (cluster_roles, cluster_bindings): (Vec<Value>, Vec<Value>) = in_cluster
            .iter()
            .filter(of_account)
            .map(|permission| owner.cluster_role(permission))
            .unzip();
        for more in [roles, bindings, cluster_roles, cluster_bindings] {
            objects.extend(more);
        }
    }
    Ok(objects)
}

fn permissions(csv: &Value, field: &'static str) -> Result<Vec<Permission>, RbacError> {
    let Some(value) = csv.pointer(&format!("/spec/install/spec/{field}")) else {
        return Ok(Vec::new());
    };
    Option::<Vec<Permission>>::deserialize(value)
        .map(Option::unwrap_or_default)
        .map_err(|problem| RbacError::Unreadable {
            csv: text_of(csv, "/metadata/name").to_owned(),
            field,
            problem: problem.to_string(),
        })
}

fn service_account(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": { "name": name, "namespace": namespace },
    })
}

/// The CSV that rights are given to.
struct Owner<'a> {
    csv: &'a str,
    namespace: &'a str,
}

impl Owner<'_> {
    fn role(&self, permission: &Permission) -> (Value, Value) {
        let base = format!("{}-{}", self.csv, permission.service_account_name);
        let named = Named {
            name: self.csv,
            namespace: "",
            permission,
        };
        let name = generate_name(&base, &named);
        self.pair("Role", &name, Some(self.namespace), permission)
    }

    fn cluster_role(&self, permission: &Permission) -> (Value, Value) {
        let named = Named {
            name: self.csv,
            namespace: self.namespace,
            permission,
        };
        let name = generate_name(self.csv, &named);
        self.pair("ClusterRole", &name, None, permission)
    }

    /// A role and its binding, which have the same name.
    fn pair(
        &self,
        kind: &str,
        name: &str,
        namespace: Option<&str>,
        permission: &Permission,
    ) -> (Value, Value) {
        let rules_hash = base62_sha224(go_json(&permission.rules).as_bytes());
        let rules = permission.rules.as_deref().unwrap_or_default();
        let role = json!({
            "apiVersion": format!("{API_GROUP}/v1"),
            "kind": kind,
            "metadata": self.metadata(name, namespace, &rules_hash),
            "rules": rules,
        });
        let role_ref = json!({ "apiGroup": API_GROUP, "kind": kind, "name": name });
        let subjects = json!([{
            "kind": "ServiceAccount",
            "name": permission.service_account_name,
            "namespace": self.namespace,
        }]);
        let bound = json!({ "RoleRef": role_ref, "Subjects": subjects });
        let bound_hash = base62_sha224(go_json(&bound).as_bytes());
        let binding = json!({
            "apiVersion": format!("{API_GROUP}/v1"),
            "kind": format!("{kind}Binding"),
            "metadata": self.metadata(name, namespace, &bound_hash),
            "roleRef": role_ref,
            "subjects": subjects,
        });
        (role, binding)
    }

    fn metadata(&self, name: &str, namespace: Option<&str>, hash: &str) -> Value {
        let mut metadata = json!({
            "name": name,
            "labels": {
                labels::OWNER: labels::owner_value(self.csv),
                labels::OWNER_NAMESPACE: self.namespace,
                labels::OWNER_KIND: "ClusterServiceVersion",
                labels::PERMISSIONS_HASH: hash,
            },
        });
        if let Some(namespace) = namespace {
            super::contents::member(&mut metadata, "namespace", json!(namespace));
        }
        metadata
    }
}

/// A base and a hash, as OLM puts them together: the base is cut unless both fit, and the hyphen
/// between them is not counted when that is found out.
fn generate_name(base: &str, of: &impl Serialize) -> String {
    let hash = base62_sha224(format!("{}\n", go_json(of)).as_bytes());
    if base.len() + hash.len() <= NAME_LIMIT {
        return format!("{base}-{hash}");
    }
    let room = NAME_LIMIT.saturating_sub(hash.len() + 1);
    let cut = (0..=room.min(base.len()))
        .rev()
        .find(|&at| base.is_char_boundary(at));
    let base = cut.and_then(|at| base.get(..at)).unwrap_or_default();
    format!("{base}-{hash}")
}

fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
