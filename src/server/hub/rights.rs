//! What an operator may do, in plain words, the most dangerous first.

mod danger;
mod words;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::bundles::Contents;
use super::views::{Danger, Permission, Permissions, Reach};
use crate::api::cluster_service_version::install::Permissions as Granted;

/// How many rights are told. The most that a real operator has are a few hundred.
const MOST: usize = 2_000;

/// What a version may do.
pub(super) fn permissions(contents: &Contents) -> Permissions {
    let permissions = of(contents);
    Permissions {
        knowledge: contents.knowledge.clone(),
        danger: permissions
            .iter()
            .map(|permission| permission.danger)
            .min()
            .unwrap_or_default(),
        permissions,
    }
}

/// What a version may do, the most dangerous first.
pub(super) fn of(contents: &Contents) -> Vec<Permission> {
    let own_groups = own_groups(contents);
    let mut rights: BTreeMap<Thing, BTreeSet<String>> = BTreeMap::new();
    for (reach, account, rules) in granted(&contents.manifests) {
        for rule in rules {
            for thing in things(reach, &account, &rule) {
                if rights.len() < MOST || rights.contains_key(&thing) {
                    let verbs = rights.entry(thing).or_default();
                    verbs.extend(rule.verbs.iter().map(|verb| verb.to_lowercase()));
                }
            }
        }
    }
    let mut all: Vec<Permission> = rights
        .into_iter()
        .map(|(thing, verbs)| thing.permission(&verbs, &own_groups))
        .collect();
    all.sort();
    all
}

/// What a right is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Thing {
    reach: Reach,
    account: String,
    group: String,
    resource: String,
    names: Vec<String>,
    urls: Vec<String>,
}

impl Thing {
    fn permission(self, verbs: &BTreeSet<String>, own_groups: &BTreeSet<String>) -> Permission {
        let (danger, because) = danger::judge(&self, verbs, own_groups);
        Permission {
            danger,
            words: words::of(&self, verbs),
            because: because.to_owned(),
            reach: self.reach,
            service_account: self.account,
            verbs: verbs.iter().cloned().collect(),
            group: self.group,
            resource: self.resource,
            names: self.names,
            urls: self.urls,
        }
    }
}

/// A rule is about every resource of every group that it names.
fn things(reach: Reach, account: &str, rule: &PolicyRule) -> Vec<Thing> {
    let list = |list: &Option<Vec<String>>| list.clone().unwrap_or_default();
    let (groups, resources) = (list(&rule.api_groups), list(&rule.resources));
    let (names, urls) = (list(&rule.resource_names), list(&rule.non_resource_urls));
    let mut all = Vec::new();
    for group in &groups {
        for resource in &resources {
            all.push(Thing {
                reach,
                account: account.to_owned(),
                group: group.clone(),
                resource: resource.clone(),
                names: names.clone(),
                urls: Vec::new(),
            });
            if all.len() >= MOST {
                return all;
            }
        }
    }
    if !urls.is_empty() {
        all.push(Thing {
            reach,
            account: account.to_owned(),
            group: String::new(),
            resource: String::new(),
            names: Vec::new(),
            urls,
        });
    }
    all
}

/// All rules: those of the CSV, and those of roles that the bundle binds itself.
fn granted(manifests: &[Value]) -> Vec<(Reach, String, Vec<PolicyRule>)> {
    let mut all = Vec::new();
    for csv in manifests
        .iter()
        .filter(|it| kind(it) == "ClusterServiceVersion")
    {
        let places = [
            ("/spec/install/spec/clusterPermissions", Reach::Cluster),
            ("/spec/install/spec/permissions", Reach::Namespaces),
        ];
        for (path, reach) in places {
            let granted = csv.pointer(path).cloned().unwrap_or_default();
            let granted: Vec<Granted> = serde_json::from_value(granted).unwrap_or_default();
            let rules = granted.into_iter();
            all.extend(rules.map(|it| (reach, it.service_account_name, it.rules)));
        }
    }
    for binding in manifests {
        let reach = match kind(binding) {
            "ClusterRoleBinding" => Reach::Cluster,
            "RoleBinding" => Reach::Namespaces,
            _ => continue,
        };
        let role = |it: &&Value| {
            kind(it) == text(binding, "/roleRef/kind")
                && text(it, "/metadata/name") == text(binding, "/roleRef/name")
        };
        let Some(role) = manifests.iter().find(role) else {
            continue;
        };
        let rules = role.get("rules").cloned().unwrap_or_default();
        let rules: Vec<PolicyRule> = serde_json::from_value(rules).unwrap_or_default();
        let subjects = binding.get("subjects").and_then(Value::as_array);
        for subject in subjects.into_iter().flatten() {
            all.push((reach, text(subject, "/name").to_owned(), rules.clone()));
        }
    }
    all
}

/// The groups of the APIs that the operator brings itself.
fn own_groups(contents: &Contents) -> BTreeSet<String> {
    let owned = contents.facts.crds().owned;
    owned.iter().map(|crd| crd.group().to_owned()).collect()
}

fn kind(object: &Value) -> &str {
    text(object, "/kind")
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    let text = value.pointer(path).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// Whether verbs let change something.
fn writes(verbs: &BTreeSet<String>) -> bool {
    const WRITES: [&str; 6] = [
        "*",
        "create",
        "update",
        "patch",
        "delete",
        "deletecollection",
    ];
    WRITES.iter().any(|verb| verbs.contains(*verb))
}

/// Whether verbs let do one of these, or anything.
fn allows(verbs: &BTreeSet<String>, wanted: &[&str]) -> bool {
    verbs.contains("*") || wanted.iter().any(|verb| verbs.contains(*verb))
}

impl Danger {
    /// One less.
    fn less(self) -> Self {
        match self {
            Self::Critical => Self::High,
            Self::High => Self::Medium,
            Self::Medium | Self::Low => Self::Low,
        }
    }
}
