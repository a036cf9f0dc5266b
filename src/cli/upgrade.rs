//! What a Subscription could be upgraded to, and why it is not.

use kube::ResourceExt as _;
use serde::Serialize;

use super::standing::Standing;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{CsvPhase, SubscriptionConditionType};
use crate::api::subscription::Subscription;
use crate::plan::subscription::held_back_in;

/// An upgrade that is not done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Upgrade {
    /// The ClusterServiceVersion; empty if nobody can tell.
    pub(super) to: String,
    /// Why it is not installed.
    pub(super) why_not: String,
}

impl Upgrade {
    /// The upgrade that a Subscription waits for, if it does. `csvs` are those of its namespace.
    pub(super) fn of(
        subscription: &Subscription,
        standing: &Standing,
        csvs: &[&ClusterServiceVersion],
    ) -> Option<Self> {
        if standing.is_removed || standing.installed_csv.is_empty() {
            return None;
        }
        let is_underway = (!standing.current_csv.is_empty()
            && standing.current_csv != standing.installed_csv)
            || standing.is_upgrading();
        if standing.waits_for_approval {
            return Some(Self {
                to: standing.current_csv.clone(),
                why_not: format!(
                    "waits for approval: `chandler approve {} -n {}`",
                    standing.name, standing.namespace
                ),
            });
        }
        if is_underway {
            // What does not come up keeps those after it from being installed.
            let to = if standing.is_upgrading() {
                &standing.installed_csv
            } else {
                &standing.current_csv
            };
            let csv = csvs.iter().find(|csv| csv.name_any() == *to);
            let why = csv
                .and_then(|csv| told(csv))
                .or_else(|| standing.messages.first().cloned());
            return Some(Self {
                to: to.clone(),
                why_not: why.unwrap_or_else(|| "it is being installed".to_owned()),
            });
        }
        let status = subscription.status.as_ref()?;
        if let Some(resolved) = status.condition(&SubscriptionConditionType::Resolved)
            && let Some((bundle, why)) = held_back_in(&resolved.message)
        {
            return Some(Self {
                to: bundle.to_owned(),
                why_not: why.to_owned(),
            });
        }
        let failed = status.condition(&SubscriptionConditionType::ResolutionFailed)?;
        (failed.status == crate::api::conditions::ConditionStatus::True).then(|| Self {
            to: String::new(),
            why_not: failed.message.clone(),
        })
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        if self.to.is_empty() {
            return self.why_not.clone();
        }
        format!("{}: {}", self.to, self.why_not)
    }
}

/// What the version that is to come says of itself.
fn told(csv: &ClusterServiceVersion) -> Option<String> {
    let status = csv.status.as_ref()?;
    let is_news = status.phase != CsvPhase::Succeeded && !status.message.is_empty();
    is_news.then(|| format!("{}: {}", status.phase, status.message))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn csv(name: &str, replaces: &str, status: &Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": name},
            "spec": {"displayName": "", "install": {}, "replaces": replaces},
            "status": status,
        }))
        .unwrap()
    }

    fn standing(status: &Value, csvs: &[&ClusterServiceVersion]) -> Standing {
        let subscription: Subscription = serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "gopher", "namespace": "port"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
            "status": status,
        }))
        .unwrap();
        Standing::among(&subscription, csvs)
    }

    fn upgrade(status: &Value) -> Option<Upgrade> {
        standing(status, &[]).upgrade
    }

    #[test]
    fn who_has_the_newest_waits_for_nothing() {
        let status = json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v1", "state": "AtLatestKnown",
            "conditions": [{"type": "Resolved", "status": "True", "message": "gopher.v1 stays"}],
        });
        assert_eq!(upgrade(&status), None);
    }

    #[test]
    fn an_upgrade_that_is_held_back_is_named_with_the_reason() {
        let status = json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v1",
            "conditions": [{"type": "Resolved", "status": "True",
                "message": "gopher.v1 stays; held back: gopher.v2: it needs API Burrow: nobody has it"}],
        });
        let found = upgrade(&status).unwrap();
        assert_eq!(found.to, "gopher.v2");
        assert_eq!(found.why_not, "it needs API Burrow: nobody has it");
    }

    #[test]
    fn an_upgrade_that_waits_for_approval_names_the_command() {
        let status = json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v2",
            "conditions": [{"type": "InstallPlanPending", "status": "True", "reason": "RequiresApproval"}],
        });
        let found = upgrade(&status).unwrap();
        assert_eq!(found.to, "gopher.v2");
        assert!(
            found.why_not.contains("chandler approve gopher -n port"),
            "{found:?}"
        );
    }

    #[test]
    fn a_version_that_does_not_come_up_tells_why_itself_and_the_one_before_runs() {
        // As soon as there is a newer version, a Subscription says that it is the installed one.
        let status = json!({
            "installedCSV": "gopher.v3", "currentCSV": "gopher.v3", "state": "AtLatestKnown",
            "conditions": [{"type": "Healthy", "status": "False", "message": "not yet"}],
        });
        let v1 = csv(
            "gopher.v1",
            "",
            &json!({"phase": "Replacing", "conditions": [{"phase": "Succeeded"}]}),
        );
        let v2 = csv("gopher.v2", "gopher.v1", &json!({"phase": "Replacing"}));
        let pending = json!({"phase": "Pending", "message": "operator is not upgradeable: busy"});
        let v3 = csv("gopher.v3", "gopher.v2", &pending);
        let found = standing(&status, &[&v1, &v2, &v3]);
        assert_eq!(found.running_csv, "gopher.v1");
        assert_eq!(found.word(), "installing");
        let text = found.text();
        assert!(text.contains("running    gopher.v1\n"), "{text}");
        assert_eq!(
            found.upgrade.unwrap().line(),
            "gopher.v3: Pending: operator is not upgradeable: busy"
        );
        let runs = csv("gopher.v3", "gopher.v2", &json!({"phase": "Succeeded"}));
        let found = standing(&status, &[&v1, &v2, &runs]);
        assert_eq!(found.running_csv, "gopher.v3");
        assert_eq!(found.upgrade, None);
    }

    #[test]
    fn a_first_version_that_does_not_come_up_is_no_upgrade() {
        let status = json!({"installedCSV": "gopher.v1", "currentCSV": "gopher.v1"});
        let failed = csv(
            "gopher.v1",
            "",
            &json!({"phase": "Failed", "message": "no room"}),
        );
        let found = standing(&status, &[&failed]);
        assert_eq!(found.running_csv, "gopher.v1");
        assert_eq!(found.upgrade, None);
    }

    #[test]
    fn without_a_solution_nobody_can_tell_what_comes_next() {
        let status = json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v1",
            "conditions": [{"type": "ResolutionFailed", "status": "True", "message": "no way"}],
        });
        assert_eq!(upgrade(&status).unwrap().line(), "no way");
    }
}
