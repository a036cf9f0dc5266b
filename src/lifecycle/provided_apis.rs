//! The APIs that the operators of an OperatorGroup provide, and what happens when another group
//! that shares a namespace with it provides one of them as well.
//!
//! An API belongs to the group that has it in its annotation `olm.providedAPIs`: who comes later
//! has to wait. If two groups have it, because they came at the same time or began to share a
//! namespace later, the older one keeps it.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;

use super::targets::Targets;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvReason;
use crate::api::gvk::{GroupVersionKind, format_provided_apis, parse_provided_apis};
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;

/// A set of APIs.
pub type Apis = BTreeSet<GroupVersionKind>;

/// What of a group matters to others.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The namespaces it covers, and its own.
    pub targets: Targets,
    /// The APIs it has.
    pub apis: Apis,
    /// Whether a person decides which APIs it has.
    pub is_static: bool,
    /// Since when it exists.
    pub created: Option<Time>,
}

impl Surface {
    /// What matters of a group, by its status and its annotation.
    pub fn of(group: &OperatorGroup) -> Self {
        let namespace = group.namespace().unwrap_or_default();
        let status = group.status.as_ref();
        let covered = status.map(|status| status.namespaces.as_slice());
        let mut targets = Targets::from_status(covered.unwrap_or_default());
        if let Targets::Named(names) = &mut targets
            && !names.is_empty()
        {
            names.insert(namespace.clone());
        }
        Self {
            name: group.name_any(),
            targets,
            apis: annotated(group),
            is_static: group.spec.static_provided_apis,
            created: group.creation_timestamp(),
            namespace,
        }
    }

    fn is(&self, other: &Self) -> bool {
        (&self.namespace, &self.name) == (&other.namespace, &other.name)
    }

    /// Whether another group was there before this one.
    fn is_junior_to(&self, other: &Self) -> bool {
        let age = |group: &Self| {
            let created = group.created.clone();
            (
                created.is_none(),
                created,
                group.namespace.clone(),
                group.name.clone(),
            )
        };
        age(other) < age(self)
    }
}

/// The name of a CRD that is not of the form `plural.group`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "error parsing crd name: {0}: expected the name of a CustomResourceDefinition such as \
     `plural.group` in spec.customresourcedefinitions.owned"
)]
pub struct CrdNameError(pub String);

/// The APIs that an operator provides.
pub fn provided_by(csv: &ClusterServiceVersion) -> Result<Apis, CrdNameError> {
    let mut apis = Apis::new();
    for crd in &csv.spec.custom_resource_definitions.owned {
        if !crd.name.contains('.') {
            return Err(CrdNameError(crd.name.clone()));
        }
        apis.insert(GroupVersionKind::new(crd.group(), &crd.version, &crd.kind));
    }
    let services = csv.spec.api_service_definitions.owned.iter();
    apis.extend(
        services
            .map(|service| GroupVersionKind::new(&service.group, &service.version, &service.kind)),
    );
    // As the annotation of a group tells them: one whose version makes no sense would be missing
    // there for ever, and nobody would get to see what is wrong with it.
    Ok(parse_provided_apis(&format_provided_apis(&apis)))
}

/// The APIs that a group has, by its annotation.
pub fn annotated(group: &OperatorGroup) -> Apis {
    let annotation = group.annotations().get(labels::PROVIDED_APIS);
    parse_provided_apis(annotation.map(String::as_str).unwrap_or_default())
}

/// What a group makes of the APIs of one of its operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The group has them.
    Accepted,
    /// The group does not have all of them yet, and can.
    Add,
    /// The group has them, and so does an older one: it has to give them up.
    Remove,
    /// Another group has some of them.
    Conflict(Vec<Clash>),
    /// The group would have to change, and a person decides which APIs it has.
    Static(Apis),
}

/// An API that another group has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// The API.
    pub api: GroupVersionKind,
    /// The namespace and the name of the group.
    pub group: (String, String),
}

impl Verdict {
    /// Why an operator has to fail, as a ClusterServiceVersion tells it; the first sentence is
    /// OLM's, which clients know. Nothing if it does not have to.
    pub fn failure(&self) -> Option<(CsvReason, String)> {
        match self {
            Self::Accepted | Self::Add | Self::Remove => None,
            Self::Conflict(clashes) => {
                let told: Vec<String> = clashes
                    .iter()
                    .map(|clash| {
                        let (namespace, name) = &clash.group;
                        format!("{} belongs to OperatorGroup {namespace}/{name}", clash.api)
                    })
                    .collect();
                let message = format!(
                    "intersecting operatorgroups provide the same apis: {}; remove the operator \
                     there, or choose namespaces that the groups do not share",
                    told.join(", ")
                );
                Some((CsvReason::InterOperatorGroupOwnerConflict, message))
            }
            Self::Static(apis) => {
                let message = format!(
                    "static provided api operatorgroup cannot be modified by these apis: {}; \
                     change the annotation {} of the OperatorGroup, or set its \
                     spec.staticProvidedAPIs to false",
                    format_provided_apis(apis),
                    labels::PROVIDED_APIS
                );
                Some((
                    CsvReason::CannotModifyStaticOperatorGroupProvidedAPIs,
                    message,
                ))
            }
        }
    }
}

/// What a group makes of these APIs of one of its operators, seeing what others have.
pub fn judge(apis: &Apis, group: &Surface, others: &[Surface]) -> Verdict {
    let has_all = apis.is_subset(&group.apis);
    let in_the_way = others.iter().filter(|other| {
        !other.is(group)
            && other.targets.intersects(&group.targets)
            && (!has_all || group.is_junior_to(other))
    });
    let clashes: Vec<Clash> = in_the_way
        .flat_map(|other| {
            let shared = other.apis.intersection(apis);
            shared.map(|api| Clash {
                api: api.clone(),
                group: (other.namespace.clone(), other.name.clone()),
            })
        })
        .collect();
    match (has_all, clashes.is_empty()) {
        (true, true) => Verdict::Accepted,
        (false, false) => Verdict::Conflict(clashes),
        (true, false) if group.is_static => {
            Verdict::Static(clashes.into_iter().map(|clash| clash.api).collect())
        }
        (true, false) => Verdict::Remove,
        (false, true) if group.is_static => {
            Verdict::Static(apis.difference(&group.apis).cloned().collect())
        }
        (false, true) => Verdict::Add,
    }
}

/// The value that the annotation `olm.providedAPIs` of a group should get, if it has to change.
///
/// Members are all operators of the group's namespace but for copied ones. What no member provides
/// any more goes, what a member provides and no other group has is added.
pub fn annotation(
    group: &OperatorGroup,
    members: &[&ClusterServiceVersion],
    others: &[Surface],
) -> Option<String> {
    if group.spec.static_provided_apis {
        return None;
    }
    let mut members: Vec<(&&ClusterServiceVersion, Apis)> = members
        .iter()
        .filter_map(|csv| Some((csv, provided_by(csv).ok()?)))
        .collect();
    members.sort_by_cached_key(|(csv, _)| (csv.creation_timestamp(), csv.name_any()));
    let provided: Apis = members.iter().flat_map(|(_, apis)| apis.clone()).collect();
    let mut surface = Surface::of(group);
    surface.apis.retain(|api| provided.contains(api));
    for (_, apis) in &members {
        match judge(apis, &surface, others) {
            Verdict::Add => surface.apis.extend(apis.iter().cloned()),
            Verdict::Remove => surface.apis.retain(|api| !apis.contains(api)),
            Verdict::Accepted | Verdict::Conflict(_) | Verdict::Static(_) => {}
        }
    }
    let value = format_provided_apis(&surface.apis);
    let before = group.annotations().get(labels::PROVIDED_APIS);
    (value != before.map(String::as_str).unwrap_or_default()).then_some(value)
}

#[cfg(test)]
mod tests;
