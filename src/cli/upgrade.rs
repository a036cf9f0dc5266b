//! What an operator could be upgraded to, and why it is not.

use kube::ResourceExt as _;
use serde::Serialize;

use super::standing::Standing;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::{ConditionStatus, CsvPhase, CsvReason, SubscriptionConditionType};
use crate::api::subscription::{SubscriptionCondition, SubscriptionStatus};
use crate::plan::subscription::held_back_in;

/// An upgrade that is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Upgrade {
    /// The ClusterServiceVersion; empty if nobody can tell.
    pub(super) to: String,
    /// How far it is.
    pub(super) state: State,
    /// Why it is not installed.
    pub(super) why_not: String,
}

/// How far an upgrade is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum State {
    /// Somebody wants to be asked.
    WaitsForApproval,
    /// The operator that runs asks for time, or a pin or another operator needs the version that there is.
    Held,
    /// It goes on by itself.
    Installing,
    /// It lacks something, or its Pods fail: it goes on when somebody mends that.
    Stuck,
    /// It failed, or there is no solution.
    Failed,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::WaitsForApproval => "waits for approval",
            Self::Held => "held",
            Self::Installing => "installing",
            Self::Stuck => "stuck",
            Self::Failed => "failed",
        }
    }
}

impl Upgrade {
    /// The upgrade that an operator waits for, if it does. `status` is that of its Subscription, and `csvs` are those
    /// of its namespace.
    pub(super) fn of(
        status: &SubscriptionStatus,
        standing: &Standing,
        csvs: &[&ClusterServiceVersion],
    ) -> Option<Self> {
        if standing.is_removed || standing.installed_csv.is_empty() {
            return None;
        }
        let is_next =
            !standing.current_csv.is_empty() && standing.current_csv != standing.installed_csv;
        if standing.waits_for_approval {
            return Some(Self {
                to: standing.current_csv.clone(),
                state: State::WaitsForApproval,
                why_not: format!(
                    "waits for approval: `chandler approve {} -n {}`",
                    standing.name, standing.namespace
                ),
            });
        }
        if standing.is_upgrading() {
            // What does not come up keeps those after it from being installed.
            return Some(Self::underway(&standing.installed_csv, standing, csvs));
        }
        if standing.failed {
            let to = if is_next { &standing.current_csv } else { "" };
            return Some(Self {
                to: to.to_owned(),
                state: State::Failed,
                why_not: why_the_plan_failed(status),
            });
        }
        if is_next {
            return Some(Self::underway(&standing.current_csv, standing, csvs));
        }
        if let Some(resolved) = status.condition(&SubscriptionConditionType::Resolved)
            && let Some((bundle, why)) = held_back_in(&resolved.message)
        {
            return Some(Self {
                to: bundle.to_owned(),
                state: State::Held,
                why_not: why.to_owned(),
            });
        }
        let troubles = [
            SubscriptionConditionType::ResolutionFailed,
            SubscriptionConditionType::BundleUnpackFailed,
        ];
        let mut troubles = troubles.iter().filter_map(|type_| status.condition(type_));
        let failed = troubles.find(|it| it.status == ConditionStatus::True)?;
        Some(Self {
            to: String::new(),
            state: State::Failed,
            why_not: why_unresolved(status, failed),
        })
    }

    /// One that has begun, in the words of the version that is to come, if it is there already.
    fn underway(to: &str, standing: &Standing, csvs: &[&ClusterServiceVersion]) -> Self {
        let csv = csvs.iter().find(|csv| csv.name_any() == to);
        let why = csv
            .and_then(|csv| told(csv))
            .or_else(|| standing.messages.first().cloned());
        Self {
            to: to.to_owned(),
            state: csv.map_or(State::Installing, |csv| state(csv)),
            why_not: why.unwrap_or_else(|| "it is being installed".to_owned()),
        }
    }

    /// Whether somebody should look after it: it failed, or does not go on by itself. A wait that a person, the operator
    /// or another one asked for is as it should be.
    pub(super) fn is_bad(&self) -> bool {
        matches!(self.state, State::Stuck | State::Failed)
    }

    /// In one line.
    pub(super) fn line(&self) -> String {
        let Self { to, why_not, .. } = self;
        let word = self.state.word();
        if to.is_empty() {
            why_not.clone()
        } else if why_not.starts_with(word) {
            format!("{to}: {why_not}")
        } else {
            format!("{to}: {word}: {why_not}")
        }
    }
}

/// How far the version is that is to come.
fn state(csv: &ClusterServiceVersion) -> State {
    let Some(status) = &csv.status else {
        return State::Installing;
    };
    match (&status.phase, &status.reason) {
        (CsvPhase::Failed, _) => State::Failed,
        (_, CsvReason::OperatorConditionNotUpgradeable) => State::Held,
        (_, CsvReason::RequirementsNotMet | CsvReason::ComponentUnhealthy) => State::Stuck,
        _ => State::Installing,
    }
}

/// What the version that is to come says of itself.
fn told(csv: &ClusterServiceVersion) -> Option<String> {
    let status = csv.status.as_ref()?;
    let is_news = status.phase != CsvPhase::Succeeded && !status.message.is_empty();
    is_news.then(|| status.message.clone())
}

/// Our own condition says it with what to do about it.
fn why_the_plan_failed(status: &SubscriptionStatus) -> String {
    let installed = status.condition(&SubscriptionConditionType::Installed);
    let installed = installed.filter(|it| it.status == ConditionStatus::False);
    let failed = status.condition(&SubscriptionConditionType::InstallPlanFailed);
    let told = installed.or(failed).map(|it| it.message.clone());
    let told = told.filter(|message| !message.is_empty());
    told.unwrap_or_else(|| "its InstallPlan failed".to_owned())
}

/// Our own condition says it with what would help.
fn why_unresolved(status: &SubscriptionStatus, failed: &SubscriptionCondition) -> String {
    let resolved = status.condition(&SubscriptionConditionType::Resolved);
    let resolved = resolved.filter(|it| it.status == ConditionStatus::False);
    let told = resolved.map(|it| &it.message);
    let told = told.filter(|message| message.contains(&failed.message));
    told.unwrap_or(&failed.message).clone()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::api::subscription::Subscription;

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
        assert_eq!(found.state, State::Held);
        assert!(!found.is_bad());
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
        let pending = json!({
            "phase": "Pending", "reason": "OperatorConditionNotUpgradeable",
            "message": "operator is not upgradeable: busy",
        });
        let v3 = csv("gopher.v3", "gopher.v2", &pending);
        let found = standing(&status, &[&v1, &v2, &v3]);
        assert_eq!(found.running_csv, "gopher.v1");
        assert_eq!(found.words(), "healthy");
        let text = found.text();
        assert!(text.contains("running    gopher.v1\n"), "{text}");
        assert_eq!(
            found.upgrade.unwrap().line(),
            "gopher.v3: held: operator is not upgradeable: busy"
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
        let found = upgrade(&status).unwrap();
        assert_eq!(found.line(), "no way");
        assert!(found.is_bad());
    }

    #[test]
    fn without_a_solution_it_is_told_what_would_help() {
        let status = |resolved: &str| {
            json!({
                "installedCSV": "gopher.v1", "currentCSV": "gopher.v1",
                "conditions": [
                    {"type": "ResolutionFailed", "status": "True", "message": "no way"},
                    {"type": "Resolved", "status": "False", "message": resolved},
                ],
            })
        };
        let helps = "no way; what would help: another channel";
        assert_eq!(upgrade(&status(helps)).unwrap().line(), helps);
        // What it says of something else explains nothing.
        assert_eq!(upgrade(&status("wait")).unwrap().line(), "no way");
    }

    #[rstest]
    #[case::is_looked_at("Pending", "RequirementsUnknown", State::Installing)]
    #[case::takes_its_turn("Pending", "AllRequirementsMet", State::Installing)]
    #[case::waits_for_its_pods("Installing", "InstallWaiting", State::Installing)]
    #[case::is_asked_to_wait("Pending", "OperatorConditionNotUpgradeable", State::Held)]
    #[case::lacks_something("Pending", "RequirementsNotMet", State::Stuck)]
    #[case::crashes("Installing", "ComponentUnhealthy", State::Stuck)]
    #[case::failed("Failed", "InstallCheckFailed", State::Failed)]
    fn how_far_an_upgrade_is_depends_on_the_version_that_is_to_come(
        #[case] phase: &str,
        #[case] reason: &str,
        #[case] expected: State,
    ) {
        let status = json!({"installedCSV": "gopher.v2", "currentCSV": "gopher.v2"});
        let v1 = csv(
            "gopher.v1",
            "",
            &json!({"phase": "Replacing", "conditions": [{"phase": "Succeeded"}]}),
        );
        let told = json!({"phase": phase, "reason": reason, "message": "so it is"});
        let v2 = csv("gopher.v2", "gopher.v1", &told);
        let found = standing(&status, &[&v1, &v2]);
        assert!(found.healthy);
        let upgrade = found.upgrade.clone().unwrap();
        assert_eq!(upgrade.state, expected);
        let calls_for_help = matches!(expected, State::Stuck | State::Failed);
        assert_eq!(found.has_bad_upgrade(), calls_for_help);
        assert_eq!(
            upgrade.line(),
            format!("gopher.v2: {}: so it is", expected.word())
        );
    }

    #[test]
    fn an_upgrade_whose_plan_failed_says_why_and_what_to_do() {
        let status = json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v2", "state": "UpgradePending",
            "conditions": [
                {"type": "Healthy", "status": "True"},
                {"type": "InstallPlanFailed", "status": "True", "message": "no room"},
                {"type": "Installed", "status": "False", "message": "the plan failed: no room; make some"},
            ],
        });
        let found = standing(&status, &[]);
        assert!(found.healthy && found.has_bad_upgrade());
        assert_eq!(
            found.upgrade.unwrap().line(),
            "gopher.v2: failed: the plan failed: no room; make some"
        );
    }

    #[test]
    fn an_upgrade_that_cannot_be_fetched_is_told_although_nobody_knows_its_name() {
        let status = json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v1", "state": "AtLatestKnown",
            "conditions": [
                {"type": "Healthy", "status": "True"},
                {"type": "BundleUnpackFailed", "status": "True", "message": "no such image"},
            ],
        });
        let found = standing(&status, &[]);
        assert!(found.healthy && found.has_bad_upgrade());
        assert_eq!(found.upgrade.unwrap().line(), "no such image");
    }

    #[test]
    fn words_that_a_version_says_itself_are_not_said_twice() {
        let upgrade = Upgrade {
            to: "gopher.v2".to_owned(),
            state: State::Installing,
            why_not: "installing: waiting for deployment gopher".to_owned(),
        };
        assert_eq!(
            upgrade.line(),
            "gopher.v2: installing: waiting for deployment gopher"
        );
    }
}
