//! Whether a ClusterServiceVersion is a member of the OperatorGroup of its namespace, and whether
//! it can serve the namespaces of the group.

use std::collections::BTreeMap;

use kube::ResourceExt as _;

use super::targets::{InstallModeError, Targets, check_install_modes};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::labels;
use crate::api::operator_group::OperatorGroup;

/// How a ClusterServiceVersion stands to the OperatorGroups of its namespace.
#[derive(Clone, Debug, PartialEq)]
pub enum Membership<'a> {
    /// There is no group.
    NoGroup,
    /// There is more than one.
    SeveralGroups(Vec<String>),
    /// Nobody has looked yet which namespaces the group covers.
    Unsettled,
    /// The group covers no namespace; these annotations of the group are missing nevertheless.
    NoTargets(BTreeMap<String, String>),
    /// It does not carry these annotations of the group yet.
    Unmarked(BTreeMap<String, String>),
    /// It is a member.
    Member(&'a OperatorGroup),
}

/// How a ClusterServiceVersion stands to the groups of its namespace.
pub fn membership<'a>(csv: &ClusterServiceVersion, groups: &[&'a OperatorGroup]) -> Membership<'a> {
    let group = match groups {
        [] => return Membership::NoGroup,
        [only] => *only,
        several => {
            let mut names: Vec<String> = several.iter().map(|group| group.name_any()).collect();
            names.sort_unstable();
            return Membership::SeveralGroups(names);
        }
    };
    let Some(targets) = targets(group) else {
        return Membership::Unsettled;
    };
    let covers_nothing = matches!(&targets, Targets::Named(names) if names.is_empty());
    let mut marks = annotations(group, &targets);
    if covers_nothing {
        // An empty value would mean all namespaces.
        marks.remove(labels::TARGET_NAMESPACES);
    }
    marks.retain(|key, value| csv.annotations().get(key) != Some(value));
    match (covers_nothing, marks.is_empty()) {
        (true, _) => Membership::NoTargets(marks),
        (false, true) => Membership::Member(group),
        (false, false) => Membership::Unmarked(marks),
    }
}

/// The annotations of a member of a group that covers these namespaces.
pub fn annotations(group: &OperatorGroup, targets: &Targets) -> BTreeMap<String, String> {
    let namespace = group.namespace().unwrap_or_default();
    BTreeMap::from([
        (labels::OPERATOR_GROUP.to_owned(), group.name_any()),
        (labels::OPERATOR_NAMESPACE.to_owned(), namespace),
        (labels::TARGET_NAMESPACES.to_owned(), targets.annotation()),
    ])
}

/// Whether an operator supports the namespaces of its group.
pub fn check(csv: &ClusterServiceVersion, group: &OperatorGroup) -> Result<(), InstallModeError> {
    let namespace = csv.namespace().unwrap_or_default();
    let targets = targets(group).map(|targets| targets.to_status());
    check_install_modes(
        &csv.spec.install_modes,
        &namespace,
        &targets.unwrap_or_default(),
    )
}

/// The namespaces that a group covers, if its status tells.
fn targets(group: &OperatorGroup) -> Option<Targets> {
    let status = group.status.as_ref()?;
    if status.namespaces.is_empty() && status.last_updated.is_none() {
        return None;
    }
    Some(Targets::from_status(&status.namespaces))
}

#[cfg(test)]
mod tests;
