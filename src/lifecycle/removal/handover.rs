//! A Subscription that is deleted with a wish: the wish is written on it first, and what it said before is kept
//! beside it. So whoever writes it and does not get to delete it leaves no wish that nobody has any more.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Wish;
use super::facts::names;
use crate::api::labels;
use crate::api::subscription::{RemovalPolicy, Subscription};

/// What a Subscription said about its removal.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Before {
    removal: Option<RemovalPolicy>,
    prune_dependencies: Option<String>,
    delete_crds: Option<String>,
}

impl Before {
    /// What it says, or said before a wish was written on it.
    fn of(subscription: &Subscription) -> Self {
        let annotation = |key: &str| subscription.annotations().get(key).cloned();
        let kept = annotation(labels::BEFORE_REMOVAL);
        if let Some(kept) = kept.and_then(|kept| serde_json::from_str(&kept).ok()) {
            return kept;
        }
        let policy = subscription.spec.policy.as_ref();
        let removal = policy.map(|policy| policy.removal.clone());
        Self {
            removal: removal.filter(|removal| *removal != RemovalPolicy::default()),
            prune_dependencies: annotation(labels::PRUNE_DEPENDENCIES),
            delete_crds: annotation(labels::DELETE_CRDS),
        }
    }
}

/// The wish that a Subscription carries of its own. One that somebody wrote on it who did not get to delete it
/// is nobody's any more: what it said before that counts.
pub fn own_wish(subscription: &Subscription) -> Wish {
    if put_back(subscription).is_none() {
        return Wish::of(subscription);
    }
    let before = Before::of(subscription);
    Wish::read(
        before.removal.unwrap_or(RemovalPolicy::Keep),
        before.prune_dependencies.as_deref(),
        before.delete_crds.as_deref(),
    )
}

/// Writes on a Subscription what is to go with it: a merge patch.
pub fn hand_over(subscription: &Subscription, wish: &Wish) -> Value {
    let is_deleted = subscription.metadata.deletion_timestamp.is_some();
    let mut finalizers = others(subscription);
    let has_ours = finalizers.len() < subscription.finalizers().len();
    // One that is on its way out takes no finalizer any more.
    if has_ours || !is_deleted {
        finalizers.push(labels::REMOVAL_FINALIZER);
    }
    let crds: Vec<&str> = wish.crds.iter().map(String::as_str).collect();
    let or_none = |text: &str| match text {
        "" => Value::Null,
        text => json!(text),
    };
    let before = json!(Before::of(subscription)).to_string();
    json!({
        "metadata": {
            "resourceVersion": subscription.resource_version(),
            "finalizers": finalizers,
            "annotations": {
                labels::PRUNE_DEPENDENCIES: or_none(if wish.dependencies { "true" } else { "" }),
                labels::DELETE_CRDS: or_none(&crds.join(",")),
                labels::BEFORE_REMOVAL: or_none(if is_deleted { "" } else { &before }),
            },
        },
        "spec": {"policy": {"removal": wish.policy}},
    })
}

/// Takes the wish off a Subscription that was not deleted after all: a merge patch, if it has one.
pub fn put_back(subscription: &Subscription) -> Option<Value> {
    let is_deleted = subscription.metadata.deletion_timestamp.is_some();
    let was_handed_over = subscription
        .annotations()
        .contains_key(labels::BEFORE_REMOVAL);
    if is_deleted || !was_handed_over {
        return None;
    }
    let before = Before::of(subscription);
    // Whoever may write an annotation must not have us write a name for them that they may not: a wish adds to
    // what was there, and so all of that is still in it.
    let now = Wish::of(subscription).crds;
    let delete_crds = before.delete_crds.as_deref().map(names);
    let delete_crds = delete_crds.map(|names| names.intersection(&now).cloned().collect());
    let delete_crds = delete_crds.map(|names: Vec<String>| names.join(","));
    let delete_crds = delete_crds.filter(|names| !names.is_empty());
    let mut finalizers = others(subscription);
    let removes = [
        Some(RemovalPolicy::Operator),
        Some(RemovalPolicy::Everything),
    ];
    if removes.contains(&before.removal) {
        finalizers.push(labels::REMOVAL_FINALIZER);
    }
    Some(json!({
        "metadata": {
            "resourceVersion": subscription.resource_version(),
            "finalizers": finalizers,
            "annotations": {
                labels::PRUNE_DEPENDENCIES: before.prune_dependencies,
                labels::DELETE_CRDS: delete_crds,
                labels::BEFORE_REMOVAL: null,
            },
        },
        "spec": {"policy": {"removal": before.removal}},
    }))
}

/// When somebody last wrote to a Subscription, but for its status.
pub fn last_written(subscription: &Subscription) -> Option<&Time> {
    let entries = subscription.managed_fields().iter();
    let entries =
        entries.filter(|entry| entry.subresource.as_deref().unwrap_or_default().is_empty());
    let newest = entries.filter_map(|entry| entry.time.as_ref()).max();
    newest.or(subscription.metadata.creation_timestamp.as_ref())
}

fn others(subscription: &Subscription) -> Vec<&str> {
    let finalizers = subscription.finalizers().iter().map(String::as_str);
    finalizers
        .filter(|it| *it != labels::REMOVAL_FINALIZER)
        .collect()
}
