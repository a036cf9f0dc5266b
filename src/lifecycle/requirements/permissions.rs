//! The ServiceAccounts of an operator, and whether they may do what it asks for.

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::ResourceExt as _;
use serde::Serialize;

use super::InvalidStrategy;
use super::authorizer::Authorizer;
use super::facts::{Facts, belongs_to_another};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::install::{InstallSpec, Permissions};
use crate::api::cluster_service_version::status::{DependentStatus, RequirementStatus};
use crate::api::conditions::RequirementState;
use crate::api::hash::go_json;

/// Where a rule has to hold.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Namespaced,
    Cluster,
}

/// Refuses rules that could not be part of any role.
pub(super) fn validate(spec: &InstallSpec) -> Result<(), InvalidStrategy> {
    for permission in spec.permissions.iter().chain(&spec.cluster_permissions) {
        let account = || permission.service_account_name.clone();
        for rule in &permission.rules {
            let some =
                |list: &Option<Vec<String>>| list.as_ref().is_some_and(|list| !list.is_empty());
            if rule.verbs.is_empty() {
                return Err(InvalidStrategy::NoVerb { account: account() });
            }
            let for_resources =
                some(&rule.api_groups) || some(&rule.resources) || some(&rule.resource_names);
            if for_resources && some(&rule.non_resource_urls) {
                return Err(InvalidStrategy::ResourcesAndUrls { account: account() });
            }
        }
    }
    Ok(())
}

/// Each ServiceAccount once, in the order in which they are named.
pub(super) fn statuses(csv: &ClusterServiceVersion, facts: &Facts<'_>) -> Vec<RequirementStatus> {
    let spec = &csv.spec.install.spec;
    let namespaced = spec
        .permissions
        .iter()
        .map(|entry| (entry, Scope::Namespaced));
    let cluster = spec
        .cluster_permissions
        .iter()
        .map(|entry| (entry, Scope::Cluster));
    let mut statuses: Vec<RequirementStatus> = Vec::new();
    for (permission, scope) in namespaced.chain(cluster) {
        let name = &permission.service_account_name;
        let at = statuses.iter().position(|status| status.name == *name);
        let mut status = at.map_or_else(|| account(csv, name, facts), |at| statuses.remove(at));
        if !is_unusable(&status) {
            add_rules(&mut status, csv, permission, scope, facts);
        }
        statuses.insert(at.unwrap_or(statuses.len()), status);
    }
    statuses
}

fn account(csv: &ClusterServiceVersion, name: &str, facts: &Facts<'_>) -> RequirementStatus {
    let (status, message) = match facts.accounts.get(name) {
        None => (
            RequirementState::NotPresent,
            "Service account does not exist",
        ),
        Some(account) if belongs_to_another(csv, &account.owners) => (
            RequirementState::PresentNotSatisfied,
            "Service account is owned by another ClusterServiceVersion",
        ),
        Some(_) => (RequirementState::Present, ""),
    };
    RequirementStatus {
        version: "v1".to_owned(),
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        status,
        message: message.to_owned(),
        ..RequirementStatus::default()
    }
}

/// Whether the account itself is the trouble, so that its rules do not matter.
fn is_unusable(status: &RequirementStatus) -> bool {
    status.status != RequirementState::Present && status.dependents.is_empty()
}

fn add_rules(
    status: &mut RequirementStatus,
    csv: &ClusterServiceVersion,
    permission: &Permissions,
    scope: Scope,
    facts: &Facts<'_>,
) {
    let home = csv.namespace().unwrap_or_default();
    let namespace = (scope == Scope::Namespaced).then_some(home.as_str());
    let account = permission.service_account_name.as_str();
    let authorizer = Authorizer::for_account(&facts.rbac, csv, &home, account, namespace);
    for rule in &permission.rules {
        let satisfied = authorizer.satisfies(rule);
        if !satisfied {
            status.status = RequirementState::PresentNotSatisfied;
            "Policy rule not satisfied for service account".clone_into(&mut status.message);
        }
        status.dependents.push(dependent(rule, scope, satisfied));
    }
}

fn dependent(rule: &PolicyRule, scope: Scope, satisfied: bool) -> DependentStatus {
    let scope = match scope {
        Scope::Namespaced => "namespaced",
        Scope::Cluster => "cluster",
    };
    DependentStatus {
        group: "rbac.authorization.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: "PolicyRule".to_owned(),
        status: if satisfied {
            RequirementState::Satisfied
        } else {
            RequirementState::NotSatisfied
        },
        message: format!("{scope} rule:{}", go_json(&GoRule::of(rule))),
        ..DependentStatus::default()
    }
}

/// A rule with the fields in the order in which Go writes them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GoRule<'a> {
    verbs: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    api_groups: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    resources: &'a [String],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    resource_names: &'a [String],
    #[serde(
        rename = "nonResourceURLs",
        skip_serializing_if = "<[String]>::is_empty"
    )]
    non_resource_urls: &'a [String],
}

impl<'a> GoRule<'a> {
    fn of(rule: &'a PolicyRule) -> Self {
        Self {
            verbs: &rule.verbs,
            api_groups: rule.api_groups.as_deref().unwrap_or_default(),
            resources: rule.resources.as_deref().unwrap_or_default(),
            resource_names: rule.resource_names.as_deref().unwrap_or_default(),
            non_resource_urls: rule.non_resource_urls.as_deref().unwrap_or_default(),
        }
    }
}
