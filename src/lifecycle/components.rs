//! What belongs to an installed package, as its Operator object shows it.
//!
//! An object belongs to the Operator `etcd.operators` if it has the label
//! `operators.coreos.com/etcd.operators`.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::api::conditions::{ConditionStatus, LegacyCondition};
use crate::api::labels;
use crate::api::operator::{ComponentReference, Components, OperatorStatus};

/// The kind whose state is a phase, not conditions.
const CSV: &str = "ClusterServiceVersion";

/// What has to be kept of an object to tell what it belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Component {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty if it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The uids of its owners.
    pub owners: BTreeSet<String>,
    /// Its state.
    pub conditions: Vec<LegacyCondition>,
}

impl Component {
    /// Keeps of an object what is needed. `status` may be anything.
    pub fn new(api_version: &str, kind: &str, metadata: ObjectMeta, status: &Value) -> Self {
        let owners = metadata.owner_references.unwrap_or_default();
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: metadata.namespace.unwrap_or_default(),
            name: metadata.name.unwrap_or_default(),
            labels: metadata.labels.unwrap_or_default(),
            owners: owners.into_iter().map(|owner| owner.uid).collect(),
            conditions: conditions(kind, status),
        }
    }

    /// A copy of a ClusterServiceVersion only shows that an operator of elsewhere serves a
    /// namespace: it belongs to nothing.
    pub fn is_copied(&self) -> bool {
        self.kind == CSV && self.labels.contains_key(labels::COPIED_FROM)
    }

    /// The names of the Operators that the object belongs to.
    pub fn operators(&self) -> BTreeSet<String> {
        if self.is_copied() {
            return BTreeSet::new();
        }
        operator_names(&self.labels)
    }
}

/// The names of the Operators that labels name. A label may hold more than the name of an object,
/// and what cannot be one is passed over.
pub fn operator_names(labels: &BTreeMap<String, String>) -> BTreeSet<String> {
    let names = labels
        .keys()
        .filter_map(|key| key.strip_prefix(labels::COMPONENT_PREFIX));
    names
        .filter(|name| is_object_name(name))
        .map(ToOwned::to_owned)
        .collect()
}

/// Whether Kubernetes takes this for the name of an object: lower-case letters, digits and hyphens,
/// in parts that dots join and that begin and end with a letter or digit.
fn is_object_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    name.split('.').all(|part| {
        part.starts_with(plain)
            && part.ends_with(plain)
            && part.chars().all(|c| plain(c) || c == '-')
    })
}

fn conditions(kind: &str, status: &Value) -> Vec<LegacyCondition> {
    if kind == CSV {
        return phase(status).into_iter().collect();
    }
    let conditions = status.get("conditions").and_then(Value::as_array);
    let readable = conditions
        .into_iter()
        .flatten()
        .filter_map(|condition| LegacyCondition::deserialize(condition).ok());
    readable.collect()
}

/// The phase of a ClusterServiceVersion as a condition, which is how OLM shows it.
fn phase(status: &Value) -> Option<LegacyCondition> {
    let text = |field: &str| {
        let value = status.get(field).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    let time = |field: &str| {
        let value = status.get(field)?;
        Deserialize::deserialize(value).ok()
    };
    let type_ = text("phase");
    (!type_.is_empty()).then(|| LegacyCondition {
        type_,
        status: ConditionStatus::True,
        reason: text("reason"),
        message: text("message"),
        last_update_time: time("lastUpdateTime"),
        last_transition_time: time("lastTransitionTime"),
    })
}

/// What the status of the Operator of this name should say. Components that belong to another one
/// are passed over; the rest is sorted as OLM sorts it. Of one that is gone nothing is left but plans.
pub fn status<'a>(
    operator: &str,
    components: impl IntoIterator<Item = &'a Component>,
) -> OperatorStatus {
    let key = labels::component(operator);
    let mut members: Vec<&Component> = components
        .into_iter()
        .filter(|component| component.labels.contains_key(&key) && !component.is_copied())
        .collect();
    members.sort_by_key(|component| order(component));
    members.dedup_by_key(|component| order(component));
    // A plan of several operators is there as long as one of them: it alone is nothing of those that are gone.
    if members.iter().all(|it| it.kind == "InstallPlan") {
        members.clear();
    }
    OperatorStatus {
        components: Some(Components {
            label_selector: LabelSelector {
                match_expressions: Some(vec![LabelSelectorRequirement {
                    key,
                    operator: "Exists".to_owned(),
                    values: None,
                }]),
                match_labels: None,
            },
            refs: members.into_iter().map(reference).collect(),
        }),
    }
}

fn order(component: &Component) -> (&str, &str, &str, &str) {
    (
        &component.kind,
        &component.api_version,
        &component.namespace,
        &component.name,
    )
}

fn reference(component: &Component) -> ComponentReference {
    let namespace = &component.namespace;
    ComponentReference {
        reference: ObjectReference {
            api_version: Some(component.api_version.clone()),
            kind: Some(component.kind.clone()),
            namespace: (!namespace.is_empty()).then(|| namespace.clone()),
            name: Some(component.name.clone()),
            ..ObjectReference::default()
        },
        conditions: component.conditions.clone(),
    }
}

/// Whether two statuses say the same, whenever somebody last looked at the components.
pub fn same(left: &OperatorStatus, right: &OperatorStatus) -> bool {
    let timeless = |status: &OperatorStatus| {
        let mut status = status.clone();
        let components = status.components.iter_mut();
        for reference in components.flat_map(|components| &mut components.refs) {
            for condition in &mut reference.conditions {
                condition.last_update_time = None;
            }
        }
        status
    };
    timeless(left) == timeless(right)
}

/// Whether a status shows no component.
pub fn is_empty(status: &OperatorStatus) -> bool {
    let components = status.components.as_ref();
    components.is_none_or(|components| components.refs.is_empty())
}

#[cfg(test)]
mod tests;
