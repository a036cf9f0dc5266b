//! ClusterRoles by which users get at the APIs of operators.
//!
//! Each provided API has ClusterRoles of its own, which Kubernetes' `admin`, `edit` and `view`
//! collect for the users of every namespace. Each OperatorGroup has an `admin`, an `edit` and a
//! `view` ClusterRole that collect only the APIs of the group, for those who should not have more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{AggregationRule, ClusterRole, PolicyRule};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use kube::ResourceExt as _;
use kube::core::ObjectMeta;

use super::provided_apis::Apis;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::gvk::GroupVersionKind;
use crate::api::hash::base62_sha224;
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;

/// The kinds of access, with the verbs of each.
const ACCESS: [(&str, &[&str]); 3] = [
    ("admin", &["*"]),
    ("edit", &["create", "update", "patch", "delete"]),
    (VIEW, &["get", "list", "watch"]),
];
const VIEW: &str = "view";

/// Kubernetes' limit for the name of an object.
const NAME_LIMIT: usize = 253;

/// What the labels of a role say about the kind of its owner.
pub const OWNER_KIND: &str = "OperatorGroup";

/// The names of the roles of a group.
pub fn group_role_names(namespace: &str, group: &str) -> [String; 3] {
    ACCESS.map(|(access, _)| group_role_name(namespace, group, access))
}

/// OLM's name, so that bindings that were made for OLM stay good. A name that is too long is cut,
/// which the hash makes good for.
fn group_role_name(namespace: &str, group: &str, access: &str) -> String {
    let hash = base62_sha224(format!("{namespace}/{group}/{access}").as_bytes());
    let around = "olm.og..-".len() + access.len() + hash.len();
    let room = NAME_LIMIT.saturating_sub(around);
    let end = group.floor_char_boundary(room);
    format!("olm.og.{}.{access}-{hash}", &group[..end])
}

/// The roles of a group that has these APIs. Kubernetes fills in their rules.
pub fn group_roles(group: &OperatorGroup, apis: &Apis) -> [ClusterRole; 3] {
    let (namespace, name) = (group.namespace().unwrap_or_default(), group.name_any());
    ACCESS.map(|(access, _)| ClusterRole {
        metadata: ObjectMeta {
            name: Some(group_role_name(&namespace, &name, access)),
            labels: Some(group_role_labels(&namespace, &name)),
            ..ObjectMeta::default()
        },
        aggregation_rule: aggregation(apis, access),
        rules: None,
    })
}

/// The owner's name is shown where it fits; what belongs to whom is told by the names of the roles.
fn group_role_labels(namespace: &str, group: &str) -> BTreeMap<String, String> {
    let owner = labels::owner_value(group);
    BTreeMap::from([
        (labels::MANAGED.to_owned(), "true".to_owned()),
        (labels::OWNER.to_owned(), owner),
        (labels::OWNER_NAMESPACE.to_owned(), namespace.to_owned()),
        (labels::OWNER_KIND.to_owned(), OWNER_KIND.to_owned()),
    ])
}

/// Sorted, so that the same APIs are written in the same way.
fn aggregation(apis: &Apis, access: &str) -> Option<AggregationRule> {
    let keys: BTreeSet<String> = apis
        .iter()
        .map(|api| labels::aggregate_to_operator_group(api, access))
        .collect();
    let selector = |key: String| LabelSelector {
        match_labels: Some(BTreeMap::from([(key, "true".to_owned())])),
        ..LabelSelector::default()
    };
    (!keys.is_empty()).then(|| AggregationRule {
        cluster_role_selectors: Some(keys.into_iter().map(selector).collect()),
    })
}

/// Which of these ClusterRoles belong to a group that is no more.
pub fn orphans<'a>(
    roles: impl IntoIterator<Item = &'a ObjectMeta>,
    groups: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Vec<String> {
    let wanted: BTreeSet<String> = groups
        .into_iter()
        .flat_map(|(namespace, name)| group_role_names(namespace, name))
        .collect();
    let mut orphans: Vec<String> = roles
        .into_iter()
        .filter(|role| is_of_a_group(role))
        .filter_map(|role| role.name.clone())
        .filter(|name| !wanted.contains(name))
        .collect();
    orphans.sort_unstable();
    orphans
}

fn is_of_a_group(role: &ObjectMeta) -> bool {
    let kind = role
        .labels
        .as_ref()
        .and_then(|labels| labels.get(labels::OWNER_KIND));
    let name = role.name.as_deref().unwrap_or_default();
    kind.is_some_and(|kind| kind == OWNER_KIND) && name.starts_with("olm.og.")
}

/// An object in the cluster that a role goes with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// `CustomResourceDefinition` or `APIService`.
    pub kind: DefinitionKind,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// The kinds of objects that define an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefinitionKind {
    /// A CustomResourceDefinition.
    Crd,
    /// An APIService.
    ApiService,
}

/// The roles for the APIs that an operator provides, as far as the objects that define them are
/// there. They are owned by those objects and so go with them.
pub fn api_roles(csv: &ClusterServiceVersion, definitions: &[Definition]) -> Vec<ClusterRole> {
    let mut roles = Vec::new();
    let find = |kind: DefinitionKind, name: &str| {
        let mut all = definitions.iter();
        all.find(|definition| definition.kind == kind && definition.name == name)
    };
    for owned in &csv.spec.custom_resource_definitions.owned {
        let Some(crd) = find(DefinitionKind::Crd, &owned.name) else {
            continue;
        };
        let api = GroupVersionKind::new(owned.group(), &owned.version, &owned.kind);
        let prefix = format!("{}-{}-", owned.name, owned.version);
        roles.extend(access_roles(&prefix, owned.plural(), &api, crd));
        let rule = PolicyRule {
            verbs: vec!["get".to_owned()],
            api_groups: Some(vec!["apiextensions.k8s.io".to_owned()]),
            resources: Some(vec!["customresourcedefinitions".to_owned()]),
            resource_names: Some(vec![owned.name.clone()]),
            ..PolicyRule::default()
        };
        roles.push(api_role(format!("{prefix}crdview"), VIEW, rule, &api, crd));
    }
    for owned in &csv.spec.api_service_definitions.owned {
        let Some(service) = find(DefinitionKind::ApiService, &owned.api_service_name()) else {
            continue;
        };
        let api = GroupVersionKind::new(&owned.group, &owned.version, &owned.kind);
        // OLM leaves the group out, and two APIs of one name then take the roles from each other for
        // ever.
        let prefix = format!("{}.{}-{}-", owned.name, owned.group, owned.version);
        roles.extend(access_roles(&prefix, &owned.name, &api, service));
    }
    roles
}

/// The objects that define APIs of an operator of which a role is missing, or not as it should be:
/// only these have to be looked up.
pub fn without_roles(
    csv: &ClusterServiceVersion,
    present: impl Fn(&str) -> Option<Arc<ClusterRole>>,
) -> Vec<(DefinitionKind, String)> {
    let crds = &csv.spec.custom_resource_definitions.owned;
    let crds = crds
        .iter()
        .map(|owned| (DefinitionKind::Crd, owned.name.clone()));
    let services = &csv.spec.api_service_definitions.owned;
    let services = services
        .iter()
        .map(|owned| (DefinitionKind::ApiService, owned.api_service_name()));
    let lacks = |(kind, name): &(DefinitionKind, String)| {
        let definition = Definition {
            kind: *kind,
            name: name.clone(),
            // Whose it is tells the API server's garbage collector, which nobody can deceive for
            // long: another owner is gone, and the role with it.
            uid: String::new(),
        };
        let wanted = api_roles(csv, std::slice::from_ref(&definition));
        let mut wanted = wanted.iter();
        wanted.any(|role| present(&role.name_any()).is_none_or(|found| !is_as(&found, role)))
    };
    let mut missing: Vec<(DefinitionKind, String)> = crds.chain(services).filter(lacks).collect();
    missing.dedup();
    missing
}

/// Whether a role allows what it should, and says so by its labels. It may have others.
fn is_as(found: &ClusterRole, wanted: &ClusterRole) -> bool {
    let labels = found.labels();
    let mut wanted_labels = wanted.labels().iter();
    found.rules == wanted.rules
        && found.aggregation_rule == wanted.aggregation_rule
        && wanted_labels.all(|(key, value)| labels.get(key) == Some(value))
}

fn access_roles(
    prefix: &str,
    resource: &str,
    api: &GroupVersionKind,
    owner: &Definition,
) -> [ClusterRole; 3] {
    ACCESS.map(|(access, verbs)| {
        let rule = PolicyRule {
            verbs: verbs.iter().map(ToString::to_string).collect(),
            api_groups: Some(vec![api.group.clone()]),
            resources: Some(vec![resource.to_owned()]),
            ..PolicyRule::default()
        };
        api_role(format!("{prefix}{access}"), access, rule, api, owner)
    })
}

fn api_role(
    name: String,
    access: &str,
    rule: PolicyRule,
    api: &GroupVersionKind,
    owner: &Definition,
) -> ClusterRole {
    let (api_version, kind) = match owner.kind {
        DefinitionKind::Crd => ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        DefinitionKind::ApiService => ("apiregistration.k8s.io/v1", "APIService"),
    };
    let yes = "true".to_owned();
    ClusterRole {
        metadata: ObjectMeta {
            name: Some(name),
            labels: Some(BTreeMap::from([
                (labels::MANAGED.to_owned(), yes.clone()),
                (labels::aggregate_to_cluster(access), yes.clone()),
                (labels::aggregate_to_operator_group(api, access), yes),
            ])),
            owner_references: Some(vec![OwnerReference {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
                name: owner.name.clone(),
                uid: owner.uid.clone(),
                controller: Some(false),
                block_owner_deletion: Some(false),
            }]),
            ..ObjectMeta::default()
        },
        rules: Some(vec![rule]),
        aggregation_rule: None,
    }
}

#[cfg(test)]
mod tests;
