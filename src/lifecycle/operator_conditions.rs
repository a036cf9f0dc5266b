//! OperatorConditions: one for each ClusterServiceVersion, by which its operator says whether it may
//! be upgraded, with the right to say so.

#[cfg(test)]
mod tests;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{Resource as _, ResourceExt as _};
use serde_json::{Value, json};

use super::condition;
use crate::api::GROUP;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::api::operator_condition::{OperatorCondition, OperatorConditionStatus};

/// The ServiceAccount of pods that name none.
const DEFAULT_ACCOUNT: &str = "default";

/// The OperatorCondition of an operator: only what we say in it. Overrides are the administrator's,
/// conditions the operator's.
pub fn wanted(csv: &ClusterServiceVersion) -> Value {
    let strategy = &csv.spec.install.spec;
    let rights = strategy
        .cluster_permissions
        .iter()
        .chain(&strategy.permissions);
    let mut accounts: Vec<&str> = Vec::new();
    for right in rights {
        let account = right.service_account_name.as_str();
        if !account.is_empty() && !accounts.contains(&account) {
            accounts.push(account);
        }
    }
    if accounts.is_empty() {
        accounts.push(DEFAULT_ACCOUNT);
    }
    let deployments: Vec<&str> = strategy
        .deployments
        .iter()
        .map(|deployment| deployment.name.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    json!({
        "apiVersion": format!("{GROUP}/v2"),
        "kind": OperatorCondition::kind(&()),
        "metadata": {
            "name": csv.name_any(),
            "namespace": csv.namespace().unwrap_or_default(),
            "labels": {labels::MANAGED: "true"},
            "ownerReferences": [{
                "apiVersion": format!("{GROUP}/v1alpha1"),
                "kind": ClusterServiceVersion::kind(&()),
                "name": csv.name_any(),
                "uid": csv.uid().unwrap_or_default(),
                "controller": true,
                "blockOwnerDeletion": false,
            }],
        },
        "spec": {"serviceAccounts": accounts, "deployments": deployments},
    })
}

/// The Role and the RoleBinding by which an operator may write its OperatorCondition.
pub fn rights(condition: &OperatorCondition) -> [Value; 2] {
    let name = condition.name_any();
    let metadata = json!({
        "name": name,
        "namespace": condition.namespace().unwrap_or_default(),
        "labels": {labels::MANAGED: "true"},
        "ownerReferences": [{
            "apiVersion": format!("{GROUP}/v2"),
            "kind": OperatorCondition::kind(&()),
            "name": name,
            "uid": condition.uid().unwrap_or_default(),
            "controller": true,
            "blockOwnerDeletion": false,
        }],
    });
    let accounts = condition.spec.service_accounts.iter();
    let namespace = condition.namespace().unwrap_or_default();
    let subjects: Vec<Value> = accounts
        .map(|account| json!({"kind": "ServiceAccount", "name": account, "namespace": namespace}))
        .collect();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": metadata,
        "rules": [{
            "apiGroups": [GROUP],
            "resources": ["operatorconditions"],
            "resourceNames": [name],
            "verbs": ["get", "update", "patch"],
        }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
    });
    [role, binding]
}

/// What the status should say: what the operator says, and of which generation. Nothing if it does.
pub fn status(condition: &OperatorCondition, now: &Time) -> Option<OperatorConditionStatus> {
    let before = condition.status.clone().unwrap_or_default();
    let generation = condition.metadata.generation.unwrap_or_default();
    let mut after = before.clone();
    for said in &condition.spec.conditions {
        let noted = after.conditions.iter().find(|it| it.type_ == said.type_);
        if noted.is_some_and(|it| {
            it.status == said.status && it.observed_generation == Some(generation)
        }) {
            continue;
        }
        let mut said = said.clone();
        said.observed_generation = Some(generation);
        condition::set(&mut after.conditions, said, now);
    }
    (before != after).then_some(after)
}
