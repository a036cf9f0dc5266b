//! What the status of an OperatorGroup should say.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;

use super::condition;
use super::targets::{Targets, TargetsError};
use crate::api::conditions::{Condition, ConditionStatus, operator_group};
use crate::api::operator_group::{OperatorGroup, OperatorGroupStatus};

/// What is known about the ServiceAccount that a group names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServiceAccount {
    /// The group names none.
    NotAsked,
    /// There is no such account.
    Missing,
    /// It exists.
    Found {
        /// Its uid.
        uid: String,
    },
}

/// What the status of a group should say. Equal to what it says, times included, if there is
/// nothing new.
///
/// `siblings` are the names of the other groups of the namespace. While the namespaces of the group
/// cannot be told, those it covered before stay. `missing` are those of its targets that do not exist,
/// `refused` tells what came of labelling one that does.
pub fn status(
    group: &OperatorGroup,
    siblings: &[&str],
    targets: &Result<Targets, TargetsError>,
    missing: &[String],
    refused: Option<&str>,
    account: &ServiceAccount,
    now: &Time,
) -> OperatorGroupStatus {
    let before = group.status.clone().unwrap_or_default();
    let mut conditions = before.conditions.clone();
    let mut state = |type_: &str, problem: Option<(&str, String)>| match problem {
        Some((reason, message)) => {
            let problem = Condition {
                type_: type_.to_owned(),
                status: ConditionStatus::True,
                reason: reason.to_owned(),
                message,
                ..Condition::default()
            };
            condition::set(&mut conditions, problem, now);
        }
        None => condition::remove(&mut conditions, type_),
    };
    state(
        operator_group::MULTIPLE_OPERATOR_GROUP,
        several(group, siblings),
    );
    state(
        operator_group::SERVICE_ACCOUNT,
        (*account == ServiceAccount::Missing).then(|| without_account(group)),
    );
    state(
        operator_group::TARGET_NAMESPACES,
        trouble_with(targets, missing, refused),
    );
    let after = OperatorGroupStatus {
        namespaces: match targets {
            Ok(targets) => targets.to_status(),
            Err(_) => before.namespaces.clone(),
        },
        service_account_ref: reference(group, account),
        last_updated: Some(now.clone()),
        conditions,
    };
    if before.last_updated.is_some() && same(&before, &after) {
        return before;
    }
    after
}

/// Whether two statuses say the same, whenever they were written. The order of the namespaces does
/// not count: OLM keeps none.
pub fn same(left: &OperatorGroupStatus, right: &OperatorGroupStatus) -> bool {
    Targets::from_status(&left.namespaces) == Targets::from_status(&right.namespaces)
        && same_account(
            left.service_account_ref.as_ref(),
            right.service_account_ref.as_ref(),
        )
        && condition::same(&left.conditions, &right.conditions)
}

fn several(group: &OperatorGroup, siblings: &[&str]) -> Option<(&'static str, String)> {
    if siblings.is_empty() {
        return None;
    }
    let mut others = siblings.to_vec();
    others.sort_unstable();
    let message = format!(
        "Multiple OperatorGroup found in the same namespace: beside {} there is {}; operators are \
         installed once there is only one, delete the others",
        group.name_any(),
        others.join(", ")
    );
    Some((operator_group::MULTIPLE_OPERATOR_GROUPS_FOUND, message))
}

fn without_account(group: &OperatorGroup) -> (&'static str, String) {
    let account = &group.spec.service_account_name;
    let message = format!(
        "ServiceAccount {account} not found: create it in namespace {}, or correct \
         spec.serviceAccountName",
        group.namespace().unwrap_or_default()
    );
    (operator_group::SERVICE_ACCOUNT_NOT_FOUND, message)
}

fn trouble_with(
    targets: &Result<Targets, TargetsError>,
    missing: &[String],
    refused: Option<&str>,
) -> Option<(&'static str, String)> {
    if let Err(error) = targets {
        return Some((operator_group::TARGET_NAMESPACES_INVALID, error.to_string()));
    }
    if let Some(refused) = refused {
        let message = format!(
            "{refused}; webhooks of the operators are not asked there until it can be, see which policy \
             or webhook of the cluster refuses it"
        );
        return Some((operator_group::TARGET_NAMESPACES_REFUSED, message));
    }
    let told = match missing {
        [] => return None,
        [one] => format!("namespace {one} does not exist: create it"),
        several => format!(
            "namespaces {} do not exist: create them",
            several.join(", ")
        ),
    };
    let message = format!("{told}, or correct spec.targetNamespaces of the OperatorGroup");
    Some((operator_group::TARGET_NAMESPACES_NOT_FOUND, message))
}

/// What is wrong with the namespaces of a group, in words, if its status says that something is.
pub fn trouble_with_targets(group: &OperatorGroup) -> Option<&str> {
    let conditions = group.status.iter().flat_map(|status| &status.conditions);
    let mut troubles = conditions.filter(|condition| {
        condition.type_ == operator_group::TARGET_NAMESPACES
            && condition.status == ConditionStatus::True
    });
    troubles.next().map(|condition| condition.message.as_str())
}

/// Without a resource version: the status would have to follow whatever happens to the account.
fn reference(group: &OperatorGroup, account: &ServiceAccount) -> Option<ObjectReference> {
    let ServiceAccount::Found { uid } = account else {
        return None;
    };
    Some(ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("ServiceAccount".to_owned()),
        name: Some(group.spec.service_account_name.clone()),
        namespace: group.namespace(),
        uid: Some(uid.clone()),
        ..ObjectReference::default()
    })
}

/// OLM also writes the account's resource version, which says nothing.
fn same_account(left: Option<&ObjectReference>, right: Option<&ObjectReference>) -> bool {
    let identity = |reference: &ObjectReference| {
        let ObjectReference {
            namespace,
            name,
            uid,
            ..
        } = reference.clone();
        (namespace, name, uid)
    };
    left.map(identity) == right.map(identity)
}

#[cfg(test)]
mod tests;
