//! How a Subscription is, for people and for programs.

use kube::ResourceExt as _;
use serde::Serialize;

use super::upgrade::Upgrade;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{ConditionStatus, SubscriptionConditionType};
use crate::api::subscription::Subscription;
use crate::lifecycle::phase;
use crate::lifecycle::replacement::{self, Lineage};

/// How a Subscription is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "programs read each of them by its name"
)]
pub(super) struct Standing {
    pub(super) namespace: String,
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
    pub(super) healthy: bool,
    /// Whether somebody has to approve the plan.
    pub(super) waits_for_approval: bool,
    /// Whether the plan failed.
    pub(super) failed: bool,
    /// Whether it was deleted, and what it installed is being removed.
    #[serde(rename = "removing")]
    pub(super) is_removed: bool,
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
    pub(super) fn of(subscription: &Subscription) -> Self {
        let status = subscription.status.clone().unwrap_or_default();
        let condition = |type_: &SubscriptionConditionType| {
            let found = status.condition(type_)?;
            Some((
                found.status.clone(),
                found.reason.clone(),
                found.message.clone(),
            ))
        };
        let is_true = |type_: &SubscriptionConditionType| {
            condition(type_).is_some_and(|(status, ..)| status == ConditionStatus::True)
        };
        let troubles = TROUBLES.iter().filter(|type_| is_true(type_));
        let goals = GOALS.iter().filter(|type_| !is_true(type_));
        let mut messages: Vec<String> = Vec::new();
        for type_ in troubles.chain(goals) {
            if let Some((_, _, message)) = condition(type_)
                && !message.is_empty()
            {
                tell(&mut messages, message);
            }
        }
        let pending = condition(&SubscriptionConditionType::InstallPlanPending);
        let plan = status
            .install_plan_ref
            .as_ref()
            .and_then(|it| it.name.clone());
        let spec = &subscription.spec;
        Self {
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
            healthy: is_true(&SubscriptionConditionType::Healthy),
            waits_for_approval: pending.is_some_and(|(_, reason, _)| reason == "RequiresApproval"),
            failed: is_true(&SubscriptionConditionType::InstallPlanFailed),
            is_removed: subscription.metadata.deletion_timestamp.is_some(),
            upgrade: None,
            messages,
        }
    }

    /// How a Subscription is, seen with the ClusterServiceVersions of its namespace: which of them runs,
    /// and why a newer one does not.
    pub(super) fn among(subscription: &Subscription, csvs: &[&ClusterServiceVersion]) -> Self {
        let mut standing = Self::of(subscription);
        if let Some(running) = running(&standing.installed_csv, csvs) {
            standing.running_csv = running.name_any();
            let remark = running.status.as_ref().and_then(phase::remark);
            if let Some(remark) = remark {
                tell(&mut standing.messages, remark.to_owned());
            }
        }
        standing.upgrade = Upgrade::of(subscription, &standing, csvs);
        standing
    }

    /// Whether the version before runs instead of the one that is installed.
    pub(super) fn is_upgrading(&self) -> bool {
        self.running_csv != self.installed_csv
    }

    /// In one word.
    pub(super) fn word(&self) -> &'static str {
        if self.is_removed {
            "being removed"
        } else if self.waits_for_approval {
            "waits for approval"
        } else if self.failed {
            "failed"
        } else if self.healthy && self.state == "AtLatestKnown" {
            "healthy"
        } else if self.installed_csv.is_empty() && self.current_csv.is_empty() {
            "not resolved"
        } else if self.installed_csv != self.current_csv || self.is_upgrading() {
            "installing"
        } else {
            "installed, not healthy"
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![format!("{}: {}", self.name, self.word())];
        let mut line = |label: &str, value: &str| {
            if !value.is_empty() {
                lines.push(format!("  {label:<10} {value}"));
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
        if let Some(upgrade) = &self.upgrade {
            line("upgrade", &upgrade.line());
        }
        for message in &self.messages {
            line("", message);
        }
        lines.join("\n") + "\n"
    }
}

/// The version that runs. A Subscription names the newest that there is, also if something holds it or it
/// does not come up: then it is one of those that it replaces.
fn running<'c>(
    installed: &str,
    csvs: &[&'c ClusterServiceVersion],
) -> Option<&'c ClusterServiceVersion> {
    let lineage = Lineage::new(csvs.iter().copied());
    let newest = lineage.get(installed)?;
    let older = lineage.predecessors(newest);
    let mut versions = std::iter::once(newest).chain(older);
    versions.find(|csv| replacement::has_run(csv))
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

    #[test]
    fn what_is_wrong_comes_first_and_nothing_twice() {
        let standing = Standing::of(&subscription(&json!({
            "conditions": [
                {"type": "Resolved", "status": "False", "message": "no way"},
                {"type": "ResolutionFailed", "status": "True", "message": "no way"},
                {"type": "Healthy", "status": "Unknown", "message": "nothing is installed yet"},
            ],
        })));
        assert_eq!(standing.messages, ["no way", "nothing is installed yet"]);
        assert_eq!(standing.word(), "not resolved");
        assert!(!standing.healthy);
    }

    #[test]
    fn a_healthy_one_says_so_and_what_it_has() {
        let standing = Standing::of(&subscription(&json!({
            "state": "AtLatestKnown", "installedCSV": "gopher.v1.0.0", "currentCSV": "gopher.v1.0.0",
            "conditions": [{"type": "Healthy", "status": "True", "message": "it runs"}],
        })));
        assert_eq!(standing.word(), "healthy");
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
            assert_eq!(standing.word(), "healthy");
            assert_eq!(standing.messages, told);
        }
    }

    #[test]
    fn a_plan_that_failed_is_told_so_and_why_once() {
        let standing = Standing::of(&subscription(&json!({
            "state": "UpgradePending", "currentCSV": "gopher.v1.0.0",
            "installPlanRef": {"name": "install-abc"},
            "conditions": [
                {"type": "InstallPlanFailed", "status": "True", "message": "no room"},
                {"type": "Installed", "status": "False", "message": "InstallPlan port/install-abc failed: no room; make some"},
                {"type": "Healthy", "status": "Unknown", "message": "nothing is installed yet"},
            ],
        })));
        assert_eq!(standing.word(), "failed");
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
        let standing = Standing::of(&subscription(&json!({
            "state": "UpgradePending", "currentCSV": "gopher.v1.0.0",
            "installPlanRef": {"name": "install-abc"},
            "conditions": [{"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"}],
        })));
        assert_eq!(standing.word(), "waits for approval");
        assert!(standing.text().contains("install-abc"));
    }
}
