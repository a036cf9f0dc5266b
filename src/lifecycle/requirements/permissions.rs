//! The ServiceAccounts of an operator, and whether they may do what it asks for.

use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::ResourceExt as _;
use serde::Serialize;

use super::InvalidStrategy;
use super::authorizer::Authorizer;
use super::facts::{Facts, belongs_to_another};
use super::requirement::Requirement;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::cluster_service_version::install::{InstallSpec, Permissions};
use crate::api::cluster_service_version::status::{DependentStatus, RequirementStatus};
use crate::api::conditions::RequirementState;
use crate::api::hash::go_json;
use crate::lifecycle::text::{bounded, few};

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

/// A ServiceAccount, and what it lacks.
struct Account {
    requirement: Requirement,
    /// In the namespace, and in the whole cluster.
    lacks: [Lacks; 2],
}

/// What is not granted.
#[derive(Default)]
struct Lacks {
    /// Verbs and what they are for.
    told: Vec<String>,
    /// Whether there may be others.
    is_cut: bool,
}

/// How many objects of one rule are looked for that are not granted: more than fit into a message.
const LOOKED_FOR: usize = 20;
/// How long one of them may be in the message, in characters.
const LONGEST: usize = 100;

/// Each ServiceAccount once, in the order in which they are named.
pub(super) fn requirements(csv: &ClusterServiceVersion, facts: &Facts<'_>) -> Vec<Requirement> {
    let spec = &csv.spec.install.spec;
    let namespaced = spec
        .permissions
        .iter()
        .map(|entry| (entry, Scope::Namespaced));
    let cluster = spec
        .cluster_permissions
        .iter()
        .map(|entry| (entry, Scope::Cluster));
    let mut accounts: Vec<Account> = Vec::new();
    for (permission, scope) in namespaced.chain(cluster) {
        let name = &permission.service_account_name;
        let at = accounts
            .iter()
            .position(|account| account.requirement.status.name == *name);
        let mut account = at.map_or_else(|| account(csv, name, facts), |at| accounts.remove(at));
        if !is_unusable(&account.requirement.status) {
            add_rules(&mut account, csv, permission, scope, facts);
        }
        accounts.insert(at.unwrap_or(accounts.len()), account);
    }
    let advised = accounts.into_iter().map(|account| advised(csv, account));
    advised.collect()
}

fn account(csv: &ClusterServiceVersion, name: &str, facts: &Facts<'_>) -> Account {
    let home = csv.namespace().unwrap_or_default();
    let (status, message, advice) = match facts.accounts.get(name) {
        None => (
            RequirementState::NotPresent,
            "Service account does not exist",
            format!(
                "create ServiceAccount {name} in namespace {home} with the rights that the \
                 ClusterServiceVersion asks for, or delete ClusterServiceVersion {home}/{}, if a Subscription asks \
                 for that, to have all installed anew",
                csv.name_any()
            ),
        ),
        Some(account) if belongs_to_another(csv, &account.owners) => (
            RequirementState::PresentNotSatisfied,
            "Service account is owned by another ClusterServiceVersion",
            format!(
                "ServiceAccount {name} in namespace {home} belongs to {}, and goes with it: name another one \
                 in the ClusterServiceVersion",
                few(account.owners.iter().map(|owner| &owner.name))
            ),
        ),
        Some(_) => (RequirementState::Present, "", String::new()),
    };
    let status = RequirementStatus {
        version: "v1".to_owned(),
        kind: "ServiceAccount".to_owned(),
        name: name.to_owned(),
        status,
        message: message.to_owned(),
        ..RequirementStatus::default()
    };
    Account {
        requirement: Requirement { status, advice },
        lacks: Default::default(),
    }
}

/// Whether the account itself is the trouble, so that its rules do not matter.
fn is_unusable(status: &RequirementStatus) -> bool {
    status.status != RequirementState::Present && status.dependents.is_empty()
}

fn add_rules(
    account: &mut Account,
    csv: &ClusterServiceVersion,
    permission: &Permissions,
    scope: Scope,
    facts: &Facts<'_>,
) {
    let home = csv.namespace().unwrap_or_default();
    let namespace = (scope == Scope::Namespaced).then_some(home.as_str());
    let name = permission.service_account_name.as_str();
    let authorizer = Authorizer::for_account(&facts.rbac, csv, &home, name, namespace);
    let [here, everywhere] = &mut account.lacks;
    let lacks = match scope {
        Scope::Namespaced => here,
        Scope::Cluster => everywhere,
    };
    let status = &mut account.requirement.status;
    for rule in &permission.rules {
        let lacking = authorizer.lacking(rule, LOOKED_FOR);
        if !lacking.is_empty() {
            status.status = RequirementState::PresentNotSatisfied;
            "Policy rule not satisfied for service account".clone_into(&mut status.message);
        }
        lacks.is_cut |= lacking.len() == LOOKED_FOR;
        let told = lacking.iter().map(|(object, verbs)| {
            let told = format!("{} {object}", verbs.join("/"));
            bounded(&told, LONGEST)
        });
        lacks.told.extend(told);
        let satisfied = lacking.is_empty();
        status.dependents.push(dependent(rule, scope, satisfied));
    }
}

/// With what has to be granted, and by what.
fn advised(csv: &ClusterServiceVersion, account: Account) -> Requirement {
    let Account {
        mut requirement,
        lacks: [here, everywhere],
    } = account;
    let home = csv.namespace().unwrap_or_default();
    let name = &requirement.status.name;
    let in_namespace = here
        .words()
        .map(|lacks| format!("{lacks} in namespace {home}, by a Role and a RoleBinding"));
    let in_cluster = everywhere.words().map(|lacks| {
        format!("{lacks} in the whole cluster, by a ClusterRole and a ClusterRoleBinding")
    });
    let parts: Vec<String> = in_namespace.into_iter().chain(in_cluster).collect();
    if !parts.is_empty() {
        requirement.advice = format!(
            "ServiceAccount {home}/{name} may not do all that it has to: grant it {}",
            parts.join("; and ")
        );
    }
    requirement
}

impl Lacks {
    /// In words, if there is something.
    fn words(&self) -> Option<String> {
        let told = few(&self.told);
        match (self.told.is_empty(), self.is_cut) {
            (true, _) => None,
            (false, false) => Some(told),
            (false, true) => Some(format!("{told} and others, see status.requirementStatus,")),
        }
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
