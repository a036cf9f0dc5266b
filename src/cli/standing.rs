//! How operators are, for people and for programs.

use kube::ResourceExt as _;
use serde::Serialize;

use super::availability::Availability;
use super::health::{self, Health};
use super::printer::visible;
use super::upgrade::Upgrade;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{ConditionStatus, SubscriptionConditionType};
use crate::api::subscription::{Subscription, SubscriptionStatus};
use crate::lifecycle::phase;
use crate::lifecycle::replacement::Lineage;

/// How a Subscription is, or an operator that has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "programs read each of them by its name"
)]
pub(super) struct Standing {
    pub(super) namespace: String,
    /// Of the Subscription, or of the ClusterServiceVersion if there is none.
    pub(super) name: String,
    pub(super) package: String,
    pub(super) channel: String,
    pub(super) catalog: String,
    /// As OLM calls it.
    pub(super) state: String,
    #[serde(rename = "installedCSV")]
    pub(super) installed_csv: String,
    /// What runs: the version before, as long as the installed one does not.
    #[serde(rename = "runningCSV")]
    pub(super) running_csv: String,
    /// What is on its way, if that is something else.
    #[serde(rename = "currentCSV")]
    pub(super) current_csv: String,
    pub(super) install_plan: String,
    /// Whether a version runs as it should, whatever becomes of an upgrade.
    pub(super) healthy: bool,
    /// The same in words, and if none runs, why.
    pub(super) health: Health,
    /// Whether somebody has to approve the plan.
    pub(super) waits_for_approval: bool,
    /// Whether the plan failed.
    pub(super) failed: bool,
    /// Whether there is no solution for what its Subscription asks for.
    pub(super) unsolved: bool,
    /// Whether it was deleted, and what it installed is being removed.
    #[serde(rename = "removing")]
    pub(super) is_removed: bool,
    /// Whether a Subscription asks for it.
    #[serde(rename = "subscribed")]
    pub(super) is_subscribed: bool,
    /// What it could be upgraded to, and why it is not; whoever knows the operators fills it in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) upgrade: Option<Upgrade>,
    /// What there is to know, the worst first.
    pub(super) messages: Vec<String>,
}

/// What is wrong if it is True, the worst first.
const TROUBLES: [SubscriptionConditionType; 6] = [
    SubscriptionConditionType::Removing,
    SubscriptionConditionType::ResolutionFailed,
    SubscriptionConditionType::BundleUnpackFailed,
    SubscriptionConditionType::InstallPlanFailed,
    SubscriptionConditionType::CatalogSourcesUnhealthy,
    SubscriptionConditionType::Deprecated,
];
/// What is worth knowing as long as it is not True.
const GOALS: [SubscriptionConditionType; 3] = [
    SubscriptionConditionType::Resolved,
    SubscriptionConditionType::Installed,
    SubscriptionConditionType::Healthy,
];

impl Standing {
    /// How a Subscription is, seen with the ClusterServiceVersions of its namespace: which of them runs,
    /// and why a newer one does not. Without them, it is as it says itself.
    pub(super) fn among(subscription: &Subscription, csvs: &[&ClusterServiceVersion]) -> Self {
        let status = subscription.status.clone().unwrap_or_default();
        let pending = status.condition(&SubscriptionConditionType::InstallPlanPending);
        let plan = status
            .install_plan_ref
            .as_ref()
            .and_then(|it| it.name.clone());
        let spec = &subscription.spec;
        let mut standing = Self {
            namespace: subscription.namespace().unwrap_or_default(),
            name: subscription.name_any(),
            package: spec.name.clone(),
            channel: spec.channel.clone(),
            catalog: format!("{}/{}", spec.source_namespace, spec.source),
            state: status.state.to_string(),
            installed_csv: status.installed_csv.clone(),
            running_csv: status.installed_csv.clone(),
            current_csv: status.current_csv.clone(),
            install_plan: plan.unwrap_or_default(),
            healthy: false,
            health: Health::NotResolved,
            waits_for_approval: pending.is_some_and(|it| it.reason == "RequiresApproval"),
            failed: is_true(&status, &SubscriptionConditionType::InstallPlanFailed),
            unsolved: is_true(&status, &SubscriptionConditionType::ResolutionFailed),
            is_removed: subscription.metadata.deletion_timestamp.is_some(),
            is_subscribed: true,
            upgrade: None,
            messages: messages(&status),
        };
        standing.health = standing.first_health(&status);
        standing.look_at(csvs);
        standing.upgrade = Upgrade::of(&status, &standing, csvs);
        standing
    }

    /// How an operator is that no Subscription asks for. The ClusterServiceVersions are those of its namespace.
    pub(super) fn orphan(csv: &ClusterServiceVersion, csvs: &[&ClusterServiceVersion]) -> Self {
        let name = csv.name_any();
        let status = csv.status.clone().unwrap_or_default();
        let mut standing = Self {
            namespace: csv.namespace().unwrap_or_default(),
            name: name.clone(),
            package: String::new(),
            channel: String::new(),
            catalog: String::new(),
            state: String::new(),
            installed_csv: name.clone(),
            running_csv: name.clone(),
            current_csv: name,
            install_plan: String::new(),
            healthy: false,
            health: Health::Installing,
            waits_for_approval: false,
            failed: false,
            unsolved: false,
            is_removed: csv.metadata.deletion_timestamp.is_some(),
            is_subscribed: false,
            upgrade: None,
            messages: Vec::new(),
        };
        standing.look_at(csvs);
        if !standing.healthy && !status.message.is_empty() {
            let message = format!("{}: {}", status.phase, status.message);
            standing.messages.push(message);
        }
        standing.upgrade = Upgrade::of(&SubscriptionStatus::default(), &standing, csvs);
        standing
    }

    /// How it is as far as its Subscription knows.
    fn first_health(&self, status: &SubscriptionStatus) -> Health {
        if self.installed_csv.is_empty() {
            return if self.waits_for_approval {
                Health::WaitsForApproval
            } else if self.failed {
                Health::Failed
            } else if self.current_csv.is_empty() {
                Health::NotResolved
            } else {
                Health::Installing
            };
        }
        let healthy = status.condition(&SubscriptionConditionType::Healthy);
        match healthy.map(|it| &it.status) {
            Some(ConditionStatus::True) => Health::Healthy,
            Some(ConditionStatus::Unknown) => Health::Installing,
            _ => Health::Unhealthy,
        }
    }

    /// What the versions themselves say counts more: a Subscription only knows of the newest. One that is not among
    /// them may have come or gone since somebody looked.
    fn look_at(&mut self, csvs: &[&ClusterServiceVersion]) {
        let lineage = Lineage::new(csvs.iter().copied());
        if let Some(newest) = lineage.get(&self.installed_csv) {
            self.health = Health::of(newest, &lineage);
            if let Some(running) = health::running(newest, &lineage) {
                self.running_csv = running.name_any();
                let remark = running.status.as_ref().and_then(phase::remark);
                if let Some(remark) = remark {
                    tell(&mut self.messages, remark.to_owned());
                }
            }
        }
        self.healthy = self.health == Health::Healthy;
        if self.is_removed {
            self.health = Health::BeingRemoved;
        }
    }

    /// A version that makes room for another counts as one that runs, but nobody checks it any more: what it consists of
    /// tells whether it does.
    pub(super) fn heed(&mut self, csvs: &[&ClusterServiceVersion], availability: &Availability) {
        let mut csvs = csvs.iter();
        let running = csvs.find(|csv| csv.name_any() == self.running_csv);
        let lacking = running.map(|csv| availability.lacking(csv));
        let lacking = lacking.unwrap_or_default();
        if !self.healthy || lacking.is_empty() {
            return;
        }
        self.healthy = false;
        if !self.is_removed {
            self.health = Health::Unhealthy;
        }
        let (subject, verb) = match lacking.as_slice() {
            [_] => ("Deployment", "is"),
            _ => ("Deployments", "are"),
        };
        let names = lacking.join(", ");
        let running = &self.running_csv;
        let message = format!("{subject} {names} of {running} {verb} not available");
        self.messages.insert(0, message);
    }

    /// Whether the version before runs instead of the one that is installed.
    pub(super) fn is_upgrading(&self) -> bool {
        self.running_csv != self.installed_csv
    }

    /// Whether it runs, but something that is asked for beyond that went wrong. A wait that somebody decided did not.
    pub(super) fn has_bad_upgrade(&self) -> bool {
        let is_bad = || self.upgrade.as_ref().is_some_and(Upgrade::is_bad);
        self.health == Health::Healthy && (self.failed || self.unsolved || is_bad())
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![format!("{}: {}", self.name, self.words())];
        let mut line = |label: &str, value: &str| {
            for (at, value) in value.lines().enumerate() {
                let label = if at == 0 { label } else { "" };
                lines.push(format!("  {label:<10} {}", visible(value)));
            }
        };
        line("package", &self.package);
        line("channel", &self.channel);
        line("catalog", &self.catalog);
        if self.is_upgrading() {
            line("running", &self.running_csv);
        }
        line("installed", &self.installed_csv);
        if self.current_csv != self.installed_csv {
            line("next", &self.current_csv);
        }
        line("plan", &self.install_plan);
        let upgrade = self.upgrade.as_ref().map(Upgrade::line);
        let upgrade = upgrade.unwrap_or_default();
        line("upgrade", &upgrade);
        // What the upgrade says is not said again.
        for message in self.messages.iter().filter(|it| !upgrade.contains(*it)) {
            line("", message);
        }
        lines.join("\n") + "\n"
    }

    /// Why it does not run, in one line; empty if it does.
    pub(super) fn why(&self) -> String {
        if self.healthy {
            return String::new();
        }
        self.messages.join("; ")
    }

    /// Its health, and whether somebody asks for it.
    pub(super) fn words(&self) -> String {
        let without = if self.is_subscribed {
            ""
        } else {
            ", without a Subscription"
        };
        format!("{}{without}", self.health.word())
    }
}

fn is_true(status: &SubscriptionStatus, type_: &SubscriptionConditionType) -> bool {
    let condition = status.condition(type_);
    condition.is_some_and(|it| it.status == ConditionStatus::True)
}

/// What there is to know of a Subscription.
fn messages(status: &SubscriptionStatus) -> Vec<String> {
    let troubles = TROUBLES.iter().filter(|type_| is_true(status, type_));
    let goals = GOALS.iter().filter(|type_| !is_true(status, type_));
    let mut messages: Vec<String> = Vec::new();
    for type_ in troubles.chain(goals) {
        let message = status.condition(type_).map(|it| it.message.clone());
        if let Some(message) = message.filter(|it| !it.is_empty()) {
            tell(&mut messages, message);
        }
    }
    messages
}

/// Adds a message. Of two of which one has the other in it, the longer one is enough.
fn tell(messages: &mut Vec<String>, message: String) {
    if messages.iter().any(|told| told.contains(&message)) {
        return;
    }
    match messages.iter_mut().find(|told| message.contains(&**told)) {
        Some(shorter) => *shorter = message,
        None => messages.push(message),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subscription(status: &serde_json::Value) -> Subscription {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "gopher", "namespace": "port"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm", "channel": "stable"},
            "status": status,
        }))
        .unwrap()
    }

    fn alone(subscription: &Subscription) -> Standing {
        Standing::among(subscription, &[])
    }

    #[test]
    fn what_the_upgrade_says_is_told_once() {
        let standing = Standing::among(
            &subscription(&json!({
                "installedCSV": "gopher.v1.0.0", "currentCSV": "gopher.v1.0.0",
                "conditions": [
                    {"type": "Healthy", "status": "True"},
                    {"type": "ResolutionFailed", "status": "True", "message": "no way"},
                ],
            })),
            &[],
        );
        assert!(standing.upgrade.is_some(), "{standing:?}");
        let text = standing.text();
        assert_eq!(text.matches("no way").count(), 1, "{text}");
    }

    #[test]
    fn what_is_wrong_comes_first_and_nothing_twice() {
        let standing = alone(&subscription(&json!({
            "conditions": [
                {"type": "Resolved", "status": "False", "message": "no way"},
                {"type": "ResolutionFailed", "status": "True", "message": "no way"},
                {"type": "Healthy", "status": "Unknown", "message": "nothing is installed yet"},
            ],
        })));
        assert_eq!(standing.messages, ["no way", "nothing is installed yet"]);
        assert_eq!(standing.words(), "not resolved");
        assert!(!standing.healthy);
    }

    #[test]
    fn a_healthy_one_says_so_and_what_it_has() {
        let standing = alone(&subscription(&json!({
            "state": "AtLatestKnown", "installedCSV": "gopher.v1.0.0", "currentCSV": "gopher.v1.0.0",
            "conditions": [{"type": "Healthy", "status": "True", "message": "it runs"}],
        })));
        assert_eq!(standing.words(), "healthy");
        assert!(standing.text().contains("installed  gopher.v1.0.0"));
        assert_eq!(standing.messages, Vec::<String>::new());
    }

    #[test]
    fn what_goes_wrong_beside_one_that_runs_is_told() {
        let gopher = subscription(&json!({
            "state": "AtLatestKnown", "installedCSV": "gopher.v1.0.0", "currentCSV": "gopher.v1.0.0",
            "conditions": [{"type": "Healthy", "status": "True", "message": "it runs"}],
        }));
        let completed = "install strategy completed with no errors";
        for (trouble, told) in [
            (
                "; but ConfigMap a is changed back",
                vec!["but ConfigMap a is changed back"],
            ),
            ("; beside that, no room", vec!["beside that, no room"]),
            ("", vec![]),
        ] {
            let csv: ClusterServiceVersion = serde_json::from_value(json!({
                "metadata": {"name": "gopher.v1.0.0"},
                "spec": {"displayName": "", "install": {}},
                "status": {"phase": "Succeeded", "message": format!("{completed}{trouble}")},
            }))
            .unwrap();
            let standing = Standing::among(&gopher, &[&csv]);
            assert_eq!(standing.words(), "healthy");
            assert_eq!(standing.messages, told);
        }
    }

    #[test]
    fn a_plan_that_failed_is_told_so_and_why_once() {
        let standing = alone(&subscription(&json!({
            "state": "UpgradePending", "currentCSV": "gopher.v1.0.0",
            "installPlanRef": {"name": "install-abc"},
            "conditions": [
                {"type": "InstallPlanFailed", "status": "True", "message": "no room"},
                {"type": "Installed", "status": "False", "message": "InstallPlan port/install-abc failed: no room; make some"},
                {"type": "Healthy", "status": "Unknown", "message": "nothing is installed yet"},
            ],
        })));
        assert_eq!(standing.words(), "failed");
        assert_eq!(
            standing.messages,
            [
                "InstallPlan port/install-abc failed: no room; make some",
                "nothing is installed yet"
            ]
        );
    }

    #[test]
    fn a_plan_that_waits_is_named() {
        let standing = alone(&subscription(&json!({
            "state": "UpgradePending", "currentCSV": "gopher.v1.0.0",
            "installPlanRef": {"name": "install-abc"},
            "conditions": [{"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"}],
        })));
        assert_eq!(standing.words(), "waits for approval");
        assert!(standing.text().contains("install-abc"));
    }

    fn csv(name: &str, replaces: &str, status: &serde_json::Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "port"},
            "spec": {"displayName": "", "install": {}, "replaces": replaces},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn one_that_runs_is_healthy_whatever_its_upgrade_waits_for() {
        let standing = Standing::among(
            &subscription(&json!({
                "state": "UpgradePending", "installedCSV": "gopher.v1", "currentCSV": "gopher.v2",
                "conditions": [
                    {"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"},
                    {"type": "Healthy", "status": "True"},
                ],
            })),
            &[&csv("gopher.v1", "", &json!({"phase": "Succeeded"}))],
        );
        assert_eq!(standing.words(), "healthy");
        assert!(standing.healthy && standing.waits_for_approval);
        assert!(!standing.has_bad_upgrade());
    }

    #[test]
    fn one_that_runs_is_healthy_while_the_next_version_is_held_although_its_subscription_speaks_of_that()
     {
        let standing = Standing::among(
            &subscription(&json!({
                "state": "AtLatestKnown", "installedCSV": "gopher.v2", "currentCSV": "gopher.v2",
                "conditions": [{"type": "Healthy", "status": "Unknown", "message": "it is Pending"}],
            })),
            &[
                &csv(
                    "gopher.v1",
                    "",
                    &json!({"phase": "Replacing", "conditions": [{"phase": "Succeeded"}]}),
                ),
                &csv("gopher.v2", "gopher.v1", &json!({"phase": "Pending"})),
            ],
        );
        assert_eq!(standing.words(), "healthy");
        assert!(standing.text().contains("running    gopher.v1\n"));
    }

    #[test]
    fn what_a_version_says_counts_more_than_what_its_subscription_heard() {
        let status = json!({
            "state": "AtLatestKnown", "installedCSV": "gopher.v1", "currentCSV": "gopher.v1",
            "conditions": [{"type": "Healthy", "status": "True"}],
        });
        let gopher = subscription(&status);
        let failed = csv("gopher.v1", "", &json!({"phase": "Failed"}));
        let standing = Standing::among(&gopher, &[&failed]);
        assert_eq!(standing.words(), "installed, not healthy");
        assert!(!standing.healthy);
        // One that nobody sees may have come or gone a moment ago.
        assert_eq!(Standing::among(&gopher, &[]).words(), "healthy");
    }

    #[test]
    fn an_upgrade_that_waits_does_not_hide_that_there_is_no_solution_any_more() {
        let standing = alone(&subscription(&json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v2",
            "conditions": [
                {"type": "Healthy", "status": "True"},
                {"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"},
                {"type": "ResolutionFailed", "status": "True", "message": "no way"},
            ],
        })));
        assert!(standing.healthy && standing.unsolved && standing.has_bad_upgrade());
        assert!(standing.text().contains("no way"));
    }

    #[test]
    fn one_that_is_being_removed_says_so_whether_it_runs_or_not() {
        let mut gopher = subscription(&json!({"installedCSV": "gopher.v1"}));
        gopher.metadata.deletion_timestamp =
            serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
        let runs = csv("gopher.v1", "", &json!({"phase": "Succeeded"}));
        let standing = Standing::among(&gopher, &[&runs]);
        assert_eq!(standing.words(), "being removed");
        assert!(standing.healthy && standing.is_removed);
    }

    #[test]
    fn one_without_a_subscription_says_so_and_why_it_does_not_run() {
        let status = json!({"phase": "Failed", "message": "no room\nat all"});
        let mole = csv("mole.v1", "", &status);
        let standing = Standing::orphan(&mole, &[&mole]);
        assert_eq!(
            standing.text(),
            "mole.v1: installed, not healthy, without a Subscription\n  \
               installed  mole.v1\n             Failed: no room\n             at all\n"
        );
        assert!(!standing.is_subscribed && !standing.healthy);
        let runs = csv(
            "mole.v1",
            "",
            &json!({"phase": "Succeeded", "message": "all is well"}),
        );
        let standing = Standing::orphan(&runs, &[&runs]);
        assert_eq!(standing.words(), "healthy, without a Subscription");
        assert_eq!(standing.messages, Vec::<String>::new());
    }

    #[test]
    fn of_versions_without_a_subscription_the_one_that_runs_is_told_apart_from_the_next() {
        let older = csv(
            "mole.v1",
            "",
            &json!({"phase": "Replacing", "conditions": [{"phase": "Succeeded"}]}),
        );
        let newer = csv(
            "mole.v2",
            "mole.v1",
            &json!({"phase": "Failed", "message": "no room"}),
        );
        let standing = Standing::orphan(&newer, &[&older, &newer]);
        assert!(standing.healthy && standing.has_bad_upgrade());
        assert_eq!(standing.running_csv, "mole.v1");
        assert_eq!(standing.upgrade.unwrap().line(), "mole.v2: failed: no room");
    }
}
