//! The Subscription that a ClusterServiceVersion is for: what it adjusts counts from the first Deployment on.

use std::sync::Arc;

use kube::ResourceExt as _;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::install_plan::InstallPlan;
use crate::api::subscription::{Subscription, SubscriptionConfig};
use crate::controller::context::Context;
use crate::lifecycle::replacement::Lineage;
use crate::plan::step::package_of;

/// What the Subscription adjusts that a ClusterServiceVersion is for.
pub(super) fn config(
    context: &Context,
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
) -> Option<SubscriptionConfig> {
    let namespace = csv.namespace().unwrap_or_default();
    let subscriptions = context.caches.subscriptions.in_namespace(&namespace);
    let plans = context.caches.install_plans.in_namespace(&namespace);
    let subscriber = subscriber(csv, lineage, &subscriptions, &plans)?;
    subscriber.spec.config.clone()
}

/// The Subscription that names a ClusterServiceVersion, or one that comes after it: once there is a newer version, the
/// Subscription names that one, and this is still its own. A new one may be here before any status names it, but not before
/// the plan that brings it.
fn subscriber<'s>(
    csv: &ClusterServiceVersion,
    lineage: &Lineage<'_>,
    subscriptions: &'s [Arc<Subscription>],
    plans: &[Arc<InstallPlan>],
) -> Option<&'s Subscription> {
    let naming = |csv: &ClusterServiceVersion| {
        let name = csv.name_any();
        let by = |named: fn(&Subscription) -> Option<&str>| {
            let mut all = subscriptions.iter().map(|it| &**it);
            all.find(|it| named(it) == Some(&name))
        };
        by(installed).or_else(|| by(current))
    };
    let newer = lineage.successors(csv);
    naming(csv)
        .or_else(|| newer.into_iter().find_map(naming))
        .or_else(|| planned(&csv.name_any(), subscriptions, plans))
}

/// The ClusterServiceVersion that a Subscription has.
pub(super) fn installed(subscription: &Subscription) -> Option<&str> {
    let status = subscription.status.as_ref();
    status.map(|status| status.installed_csv.as_str())
}

/// The one that it is to have.
pub(super) fn current(subscription: &Subscription) -> Option<&str> {
    let status = subscription.status.as_ref();
    status.map(|status| status.current_csv.as_str())
}

/// The Subscription for whose package a plan brings a ClusterServiceVersion. It owns the plan.
fn planned<'s>(
    csv: &str,
    subscriptions: &'s [Arc<Subscription>],
    plans: &[Arc<InstallPlan>],
) -> Option<&'s Subscription> {
    let mut plans = plans.iter().filter(|plan| {
        let mut names = plan.spec.cluster_service_version_names.iter();
        names.any(|name| name == csv)
    });
    plans.find_map(|plan| {
        let package = package_of(plan, csv)?;
        let mut all = subscriptions.iter().map(|it| &**it);
        all.find(|it| {
            let mut owners = plan.owner_references().iter();
            it.spec.name == package && owners.any(|owner| Some(&owner.uid) == it.uid().as_ref())
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn subscription(name: &str, package: &str, status: &Value) -> Arc<Subscription> {
        let subscription = serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "home", "uid": format!("{name}-uid")},
            "spec": {"name": package, "source": "hub", "sourceNamespace": "olm"},
            "status": status,
        }));
        Arc::new(subscription.unwrap())
    }

    fn csv(name: &str, replaces: &str) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "home"}, "spec": {"replaces": replaces},
        }))
        .unwrap()
    }

    /// A plan of a Subscription that brings a version of a package.
    fn plan(owner: &str, csv: &str, package: &str) -> Arc<InstallPlan> {
        let properties = json!({"properties": [
            {"type": "olm.package", "value": {"packageName": package, "version": "1.0.0"}},
        ]});
        let object = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": csv, "annotations": {
                "operatorframework.io/properties": properties.to_string(),
            }},
        });
        let plan = serde_json::from_value(json!({
            "metadata": {"name": format!("install-{csv}"), "namespace": "home", "ownerReferences": [{
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
                "name": owner, "uid": format!("{owner}-uid"),
            }]},
            "spec": {"approval": "Automatic", "approved": true, "clusterServiceVersionNames": [csv]},
            "status": {"phase": "Installing", "catalogSources": [], "plan": [{
                "resolving": csv, "status": "Unknown", "resource": {
                    "group": "operators.coreos.com", "version": "v1alpha1",
                    "kind": "ClusterServiceVersion", "name": csv, "manifest": object.to_string(),
                    "sourceName": "hub", "sourceNamespace": "olm",
                },
            }]},
        }));
        Arc::new(plan.unwrap())
    }

    #[test]
    fn a_version_is_for_the_subscription_that_names_it_or_one_after_it() {
        let csvs = [
            csv("gopher.v1", ""),
            csv("gopher.v2", "gopher.v1"),
            csv("mole.v1", ""),
        ];
        let lineage = Lineage::new(&csvs);
        let of = |status: Value| {
            let all = [subscription("mine", "gopher", &status)];
            let found = csvs
                .iter()
                .filter(|csv| subscriber(csv, &lineage, &all, &[]).is_some());
            found.map(kube::ResourceExt::name_any).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(of(json!(null)), none);
        assert_eq!(of(json!({"installedCSV": "gopher.v1"})), ["gopher.v1"]);
        let upgrading = json!({"installedCSV": "gopher.v1", "currentCSV": "gopher.v2"});
        assert_eq!(of(upgrading), ["gopher.v1", "gopher.v2"]);
        assert_eq!(
            of(json!({"installedCSV": "gopher.v2"})),
            ["gopher.v1", "gopher.v2"]
        );
    }

    #[test]
    fn who_has_a_version_comes_before_who_is_to_have_it() {
        let csvs = [csv("gopher.v1", "")];
        let all = [
            subscription("wants", "gopher", &json!({"currentCSV": "gopher.v1"})),
            subscription("has", "gopher", &json!({"installedCSV": "gopher.v1"})),
        ];
        let found = subscriber(&csvs[0], &Lineage::new(&csvs), &all, &[]);
        assert_eq!(
            found.map(kube::ResourceExt::name_any),
            Some("has".to_owned())
        );
    }

    #[test]
    fn a_version_that_no_status_names_yet_is_for_the_subscription_whose_plan_brings_it() {
        let csvs = [csv("gopher.v1", "")];
        let lineage = Lineage::new(&csvs);
        let all = [
            subscription("another", "gopher", &json!(null)),
            subscription("mine", "gopher", &json!(null)),
        ];
        let find = |plan: Arc<InstallPlan>| {
            let found = subscriber(&csvs[0], &lineage, &all, &[plan]);
            found.map(kube::ResourceExt::name_any)
        };
        assert_eq!(
            find(plan("mine", "gopher.v1", "gopher")),
            Some("mine".to_owned())
        );
        // A dependency that the plan brings as well is not what it was asked for.
        assert_eq!(find(plan("mine", "gopher.v1", "burrow")), None);
        assert_eq!(find(plan("mine", "gopher.v2", "gopher")), None);
        assert_eq!(find(plan("nobody", "gopher.v1", "gopher")), None);
    }
}
