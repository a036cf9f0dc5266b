//! How an operator is: whether the version of it that should run does. What becomes of an upgrade is another
//! question ([`upgrade`](super::upgrade)): the version before runs on until it is done.

use serde::{Serialize, Serializer};

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::lifecycle::replacement::{self, Lineage};

/// How an operator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// It runs.
    Healthy,
    /// It is installed, and does not run.
    Unhealthy,
    /// Its first version is on its way.
    Installing,
    /// Somebody has to approve its first version.
    WaitsForApproval,
    /// The plan for its first version failed.
    Failed,
    /// It is not known what to install.
    NotResolved,
    /// It is being removed.
    BeingRemoved,
}

impl Health {
    /// In one word or two. Scripts read them.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Unhealthy => "installed, not healthy",
            Self::Installing => "installing",
            Self::WaitsForApproval => "waits for approval",
            Self::Failed => "failed",
            Self::NotResolved => "not resolved",
            Self::BeingRemoved => "being removed",
        }
    }

    /// By the versions that there are: the newest, and those that it replaces.
    pub(super) fn of(newest: &ClusterServiceVersion, lineage: &Lineage<'_>) -> Self {
        let ever_ran = || {
            let older = lineage.predecessors(newest).into_iter();
            let mut versions = std::iter::once(newest).chain(older);
            versions.any(replacement::ever_ran)
        };
        let phase = newest.status.as_ref().map(|status| &status.phase);
        if running(newest, lineage).is_some() {
            Self::Healthy
        } else if phase == Some(&CsvPhase::Failed) || ever_ran() {
            Self::Unhealthy
        } else {
            Self::Installing
        }
    }
}

impl Serialize for Health {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// The version that runs. If something holds the newest or it does not come up, it is one of those that it
/// replaces.
pub(super) fn running<'c>(
    newest: &'c ClusterServiceVersion,
    lineage: &Lineage<'c>,
) -> Option<&'c ClusterServiceVersion> {
    let older = lineage.predecessors(newest);
    let mut versions = std::iter::once(newest).chain(older);
    versions.find(|csv| replacement::has_run(csv))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn csv(name: &str, replaces: &str, status: &Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {"displayName": "", "install": {}, "replaces": replaces},
            "status": status,
        }))
        .unwrap()
    }

    #[rstest]
    #[case::runs(&json!({"phase": "Succeeded"}), Health::Healthy)]
    #[case::failed(&json!({"phase": "Failed"}), Health::Unhealthy)]
    #[case::begins(&json!({"phase": "Pending"}), Health::Installing)]
    #[case::is_not_looked_at(&Value::Null, Health::Installing)]
    #[case::ran_once(&json!({"phase": "Pending", "conditions": [{"phase": "Succeeded"}]}), Health::Unhealthy)]
    fn one_that_is_alone_is_as_it_says(#[case] status: &Value, #[case] health: Health) {
        let only = csv("gopher.v1", "", status);
        assert_eq!(Health::of(&only, &Lineage::new([&only])), health);
    }

    #[rstest]
    #[case::makes_room(&json!({"phase": "Replacing", "conditions": [{"phase": "Succeeded"}]}), Health::Healthy)]
    #[case::still_runs(&json!({"phase": "Succeeded"}), Health::Healthy)]
    #[case::never_ran(&json!({"phase": "Replacing"}), Health::Installing)]
    #[case::ran_and_failed(&json!({"phase": "Failed", "conditions": [{"phase": "Succeeded"}]}), Health::Unhealthy)]
    fn whatever_becomes_of_an_upgrade_the_version_before_decides(
        #[case] status: &Value,
        #[case] health: Health,
    ) {
        let older = csv("gopher.v1", "", status);
        let newer = csv("gopher.v2", "gopher.v1", &json!({"phase": "Pending"}));
        assert_eq!(Health::of(&newer, &Lineage::new([&older, &newer])), health);
    }
}
