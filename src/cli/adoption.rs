//! A Subscription that is newer than its operator. Until it gets something itself its status says that nothing is
//! installed, although the resolver takes what is there for what it has.

use std::borrow::Cow;

use kube::ResourceExt as _;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::subscription::NOT_INSTALLED;
use crate::api::conditions::{ConditionStatus, CsvPhase, SubscriptionConditionType};
use crate::api::labels;
use crate::api::subscription::{Subscription, SubscriptionCondition};
use crate::lifecycle::replacement::Lineage;

/// A Subscription with what it has, whoever installed that. The others and the ClusterServiceVersions are those of its
/// namespace.
pub(super) fn with_what_it_has<'s>(
    subscription: &'s Subscription,
    others: impl IntoIterator<Item = &'s Subscription>,
    csvs: &[&ClusterServiceVersion],
) -> Cow<'s, Subscription> {
    let has_something = |it: &Subscription| {
        let status = it.status.as_ref();
        status.is_some_and(|status| !status.installed_csv.is_empty())
    };
    let package = &subscription.spec.name;
    // Of several Subscriptions to a package, who has it is the one whose operator it is.
    let mut rivals = others.into_iter().filter(|it| it.spec.name == *package);
    if has_something(subscription) || rivals.any(has_something) {
        return Cow::Borrowed(subscription);
    }
    match found(subscription, csvs) {
        Some(csv) => Cow::Owned(with(subscription, csv)),
        None => Cow::Borrowed(subscription),
    }
}

/// The newest version of the package that is there and is not what the Subscription is about to get.
fn found<'c>(
    subscription: &Subscription,
    csvs: &[&'c ClusterServiceVersion],
) -> Option<&'c ClusterServiceVersion> {
    let namespace = subscription.namespace().unwrap_or_default();
    let operator = labels::operator_name(&subscription.spec.name, &namespace);
    let mark = labels::component(&operator);
    let status = subscription.status.as_ref();
    let next = status.map(|status| status.current_csv.as_str());
    let is_next = |csv: &ClusterServiceVersion| Some(csv.name_any().as_str()) == next;
    let lineage = Lineage::new(csvs.iter().copied());
    let mut members = lineage.members().iter().rev().copied();
    members.find(|csv| {
        csv.labels().contains_key(&mark)
            && !is_next(csv)
            && lineage.replacement_of(csv).is_none_or(is_next)
    })
}

/// The Subscription as it would be, had it installed this itself.
fn with(subscription: &Subscription, csv: &ClusterServiceVersion) -> Subscription {
    let mut subscription = subscription.clone();
    let status = subscription.status.get_or_insert_default();
    status.installed_csv = csv.name_any();
    let conditions = &mut status.conditions;
    conditions.retain(|it| it.reason != NOT_INSTALLED);
    conditions.push(healthy(csv));
    subscription
}

fn healthy(csv: &ClusterServiceVersion) -> SubscriptionCondition {
    let status = csv.status.clone().unwrap_or_default();
    let (name, phase, message) = (csv.name_any(), &status.phase, &status.message);
    SubscriptionCondition {
        type_: SubscriptionConditionType::Healthy,
        status: match phase {
            CsvPhase::Succeeded => ConditionStatus::True,
            CsvPhase::Failed => ConditionStatus::False,
            _ => ConditionStatus::Unknown,
        },
        message: format!("ClusterServiceVersion {name} is {phase}: {message}"),
        ..SubscriptionCondition::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn subscription(name: &str, status: &Value) -> Subscription {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "port"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
            "status": status,
        }))
        .unwrap()
    }

    fn csv(name: &str, package: &str, replaces: &str) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "namespace": "port",
                "labels": {format!("operators.coreos.com/{package}.port"): ""},
            },
            "spec": {"displayName": "", "install": {}, "replaces": replaces},
            "status": {"phase": "Failed", "message": "no room"},
        }))
        .unwrap()
    }

    fn has(of: &Subscription, others: &[Subscription], csvs: &[ClusterServiceVersion]) -> String {
        let csvs: Vec<_> = csvs.iter().collect();
        let found = with_what_it_has(of, others, &csvs).into_owned();
        found.status.unwrap_or_default().installed_csv
    }

    #[test]
    fn a_new_subscription_has_the_newest_version_of_its_package_that_is_there() {
        let new = subscription("gopher", &json!({"currentCSV": "gopher.v3"}));
        let csvs = [
            csv("gopher.v1", "gopher", ""),
            csv("gopher.v2", "gopher", "gopher.v1"),
            csv("mole.v1", "mole", ""),
        ];
        assert_eq!(has(&new, &[], &csvs), "gopher.v2");
        assert_eq!(has(&new, &[], &csvs[2..]), "");
    }

    #[test]
    fn what_it_is_about_to_get_it_does_not_have() {
        let new = subscription("gopher", &json!({"currentCSV": "gopher.v2"}));
        let csvs = [
            csv("gopher.v1", "gopher", ""),
            csv("gopher.v2", "gopher", "gopher.v1"),
        ];
        assert_eq!(has(&new, &[], &csvs), "gopher.v1");
        assert_eq!(has(&new, &[], &csvs[1..]), "");
    }

    #[test]
    fn what_another_subscription_has_is_left_to_that() {
        let (new, status) = (Value::Null, json!({"installedCSV": "gopher.v1"}));
        let new = subscription("second", &new);
        let first = subscription("first", &status);
        let csvs = [csv("gopher.v1", "gopher", "")];
        assert_eq!(has(&new, &[first, new.clone()], &csvs), "");
    }

    #[test]
    fn nothing_says_any_more_that_nothing_is_installed_but_how_that_is() {
        let conditions = json!([
            {"type": "Resolved", "status": "False", "message": "no way"},
            {"type": "Installed", "status": "False", "reason": "NotInstalled", "message": "nothing"},
            {"type": "Healthy", "status": "Unknown", "reason": "NotInstalled", "message": "nothing"},
        ]);
        let new = subscription("gopher", &json!({"conditions": conditions}));
        let found = with(&new, &csv("gopher.v1", "gopher", ""));
        let status = found.status.unwrap();
        let messages: Vec<_> = status.conditions.iter().map(|it| &it.message).collect();
        let how = "ClusterServiceVersion gopher.v1 is Failed: no room";
        assert_eq!(messages, ["no way", how]);
    }
}
