//! The operators of some namespaces: those that Subscriptions ask for, and those that nobody asks for.

use std::collections::{BTreeMap, BTreeSet};

use kube::ResourceExt as _;

use super::adoption::with_what_it_has;
use super::availability::Availability;
use super::standing::Standing;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::subscription::Subscription;
use crate::lifecycle::replacement::Lineage;

/// How they are: first those of the Subscriptions in their order, then those without one by namespace and name.
pub(super) fn standings(
    subscriptions: &[Subscription],
    csvs: &[ClusterServiceVersion],
    availability: &Availability,
) -> Vec<Standing> {
    let mut namespaces: BTreeMap<String, Vec<&ClusterServiceVersion>> = BTreeMap::new();
    for csv in csvs.iter().filter(|csv| !csv.is_copied()) {
        let namespace = csv.namespace().unwrap_or_default();
        namespaces.entry(namespace).or_default().push(csv);
    }
    let mut asked_for: BTreeSet<(String, String)> = BTreeSet::new();
    let mut standings = Vec::new();
    for subscription in subscriptions {
        let namespace = subscription.namespace();
        let here = namespaces.get(namespace.as_deref().unwrap_or_default());
        let here = here.map(Vec::as_slice).unwrap_or_default();
        let others = subscriptions.iter();
        let others = others.filter(|it| it.namespace() == namespace);
        let subscription = with_what_it_has(subscription, others, here);
        let mut standing = Standing::among(&subscription, here);
        standing.heed(here, availability);
        let names = [
            &standing.installed_csv,
            &standing.running_csv,
            &standing.current_csv,
        ];
        asked_for.extend(names.map(|name| (standing.namespace.clone(), name.clone())));
        standings.push(standing);
    }
    for (namespace, here) in &namespaces {
        let lineage = Lineage::new(here.iter().copied());
        let mut orphans: Vec<&ClusterServiceVersion> = here.clone();
        // What another replaces is told of with that.
        orphans.retain(|csv| {
            let place = (namespace.clone(), csv.name_any());
            !asked_for.contains(&place) && lineage.replacement_of(csv).is_none()
        });
        orphans.sort_by_key(|csv| csv.name_any());
        for csv in orphans {
            let mut standing = Standing::orphan(csv, here);
            standing.heed(here, availability);
            standings.push(standing);
        }
    }
    standings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::upgrade::Upgrade;
    use super::*;

    fn subscription(namespace: &str, status: &Value) -> Subscription {
        serde_json::from_value(json!({
            "metadata": {"name": "gopher", "namespace": namespace},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
            "status": status,
        }))
        .unwrap()
    }

    fn csv(namespace: &str, name: &str, replaces: &str, status: &Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"displayName": "", "install": {}, "replaces": replaces},
            "status": status,
        }))
        .unwrap()
    }

    fn told(subscriptions: &[Subscription], csvs: &[ClusterServiceVersion]) -> Vec<String> {
        let told = |it: &Standing| format!("{}/{}: {}", it.namespace, it.name, it.words());
        standings(subscriptions, csvs, &Availability::default())
            .iter()
            .map(told)
            .collect()
    }

    #[test]
    fn who_has_no_subscription_comes_last_and_is_told_with_its_health() {
        let gopher = subscription("port", &json!({"installedCSV": "gopher.v1"}));
        let csvs = [
            csv("port", "mole.v1", "", &json!({"phase": "Failed"})),
            csv("port", "gopher.v1", "", &json!({"phase": "Succeeded"})),
            // Of the same name, in a namespace where nobody asks for it.
            csv("dock", "gopher.v1", "", &json!({"phase": "Succeeded"})),
        ];
        assert_eq!(
            told(&[gopher], &csvs),
            [
                "port/gopher: healthy",
                "dock/gopher.v1: healthy, without a Subscription",
                "port/mole.v1: installed, not healthy, without a Subscription",
            ]
        );
    }

    #[test]
    fn copies_and_versions_that_are_being_replaced_are_no_operators_of_their_own() {
        let gopher = subscription("port", &json!({"installedCSV": "gopher.v3"}));
        let replacing = json!({"phase": "Replacing", "conditions": [{"phase": "Succeeded"}]});
        let copied = json!({"phase": "Failed", "reason": "Copied"});
        let csvs = [
            csv("port", "gopher.v1", "", &replacing),
            csv("port", "gopher.v2", "gopher.v1", &replacing),
            csv(
                "port",
                "gopher.v3",
                "gopher.v2",
                &json!({"phase": "Succeeded"}),
            ),
            csv("port", "visitor.v1", "", &copied),
        ];
        assert_eq!(told(&[gopher], &csvs), ["port/gopher: healthy"]);
    }

    #[test]
    fn a_new_subscription_to_an_operator_that_runs_is_told_with_it_and_waits_for_the_upgrade() {
        let waits = subscription(
            "port",
            &json!({
                "currentCSV": "gopher.v2", "state": "UpgradePending",
                "conditions": [
                    {"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"},
                    {"type": "Healthy", "status": "Unknown", "reason": "NotInstalled",
                        "message": "nothing is installed yet"},
                ],
            }),
        );
        let mut runs = csv("port", "gopher.v1", "", &json!({"phase": "Succeeded"}));
        let mark = "operators.coreos.com/gopher.port".to_owned();
        runs.labels_mut().insert(mark, String::new());
        let found = standings(&[waits], &[runs], &Availability::default());
        let [standing] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(standing.words(), "healthy");
        assert_eq!(standing.running_csv, "gopher.v1");
        assert_eq!(standing.messages, Vec::<String>::new());
        let upgrade = standing.upgrade.as_ref().map(Upgrade::line);
        let told = "gopher.v2: waits for approval: `chandler approve gopher -n port`";
        assert_eq!(upgrade.as_deref(), Some(told));
        assert!(!standing.has_bad_upgrade());
    }

    #[test]
    fn a_version_that_made_room_and_stopped_is_not_healthy_whoever_asks_for_it() {
        let deployments = json!({"spec": {"deployments": [{"name": "gopher", "spec": {}}]}});
        let replacing = json!({"phase": "Replacing", "conditions": [{"phase": "Succeeded"}]});
        let mut older = csv("port", "gopher.v1", "", &replacing);
        older.spec.install = serde_json::from_value(deployments).unwrap();
        let waits = json!({"phase": "Installing", "message": "waiting for its Pods"});
        let csvs = [older, csv("port", "gopher.v2", "gopher.v1", &waits)];
        let gopher = subscription("port", &json!({"installedCSV": "gopher.v2"}));
        let mut availability = Availability::default();
        availability.note("port", &[]);
        for subscriptions in [vec![gopher], Vec::new()] {
            let found = standings(&subscriptions, &csvs, &availability);
            let [standing] = found.as_slice() else {
                panic!("{found:?}")
            };
            assert_eq!(standing.health.word(), "installed, not healthy");
            assert!(!standing.healthy);
            assert_eq!(standing.running_csv, "gopher.v1");
            assert!(
                (standing.why()).starts_with("Deployment gopher of gopher.v1 is not available")
            );
            let upgrade = standing.upgrade.as_ref().map(Upgrade::line);
            let told = "gopher.v2: installing: waiting for its Pods";
            assert_eq!(upgrade.as_deref(), Some(told));
        }
        let unknown = standings(&[], &csvs, &Availability::default());
        assert!(unknown[0].healthy);
    }

    #[test]
    fn what_a_subscription_is_about_to_get_has_one() {
        let status = json!({"currentCSV": "gopher.v1"});
        let gopher = subscription("port", &status);
        let csvs = [csv("port", "gopher.v1", "", &json!({"phase": "Pending"}))];
        assert_eq!(told(&[gopher], &csvs), ["port/gopher: installing"]);
    }
}
