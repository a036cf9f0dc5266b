//! What is installed although no InstallPlan tells of it: it was adopted, or its plan is gone.

use kube::ResourceExt as _;

use super::{Entry, time};
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::api::subscription::Subscription;

/// The installed version as it tells of itself, if none of the entries does.
pub(super) fn untold(
    subscription: &Subscription,
    csvs: &[ClusterServiceVersion],
    entries: &[Entry],
) -> Option<Entry> {
    let name = &subscription.status.as_ref()?.installed_csv;
    let is_told = |entry: &Entry| entry.cluster_service_versions.contains(name);
    if name.is_empty() || entries.iter().any(is_told) {
        return None;
    }
    let mut csvs = csvs.iter().filter(|csv| !csv.is_copied());
    let csv = csvs.find(|csv| csv.name_any() == *name)?;
    let status = csv.status.clone().unwrap_or_default();
    let mut history = status.conditions.iter();
    let ran = history.find(|then| then.phase == CsvPhase::Succeeded);
    let ran = ran.and_then(|then| then.last_transition_time.clone());
    let ran_at = ran
        .as_ref()
        .map(|ran| format!("ran at {} and ", time(Some(ran))));
    let since = status.last_transition_time.as_ref();
    let since = since.map(|since| format!(" since {}", time(Some(since))));
    let message = format!(
        "no InstallPlan that is left tells of it; by its ClusterServiceVersion it {}is {}{}",
        ran_at.unwrap_or_default(),
        status.phase,
        since.unwrap_or_default()
    );
    Some(Entry {
        install_plan: String::new(),
        generation: 0,
        made: csv.creation_timestamp(),
        ended: ran,
        cluster_service_versions: vec![name.clone()],
        asked_by: vec![subscription.name_any()],
        approval: String::new(),
        outcome: outcome(&status.phase).to_owned(),
        message,
        older_may_be_missing: false,
    })
}

fn outcome(phase: &CsvPhase) -> &'static str {
    match phase {
        CsvPhase::Succeeded | CsvPhase::Replacing => "done",
        CsvPhase::Failed => "failed",
        _ => "under way",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn subscription() -> Subscription {
        serde_json::from_value(json!({
            "metadata": {"name": "gopher", "namespace": "port"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
            "status": {"installedCSV": "gopher.v1"},
        }))
        .unwrap()
    }

    fn csv(status: &Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {
                "name": "gopher.v1", "namespace": "port", "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"displayName": "", "install": {}},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn what_is_installed_without_a_plan_tells_itself_since_when() {
        let csv = csv(&json!({
            "phase": "Failed", "lastTransitionTime": "2026-03-03T00:00:00Z",
            "conditions": [
                {"phase": "Pending", "lastTransitionTime": "2026-01-01T00:00:01Z"},
                {"phase": "Succeeded", "lastTransitionTime": "2026-01-01T00:00:05Z"},
                {"phase": "Failed", "lastTransitionTime": "2026-03-03T00:00:00Z"},
            ],
        }));
        let entry = untold(&subscription(), &[csv], &[]).unwrap();
        assert_eq!(time(entry.made.as_ref()), "2026-01-01 00:00:00Z");
        assert_eq!(time(entry.ended.as_ref()), "2026-01-01 00:00:05Z");
        assert_eq!(entry.outcome, "failed");
        assert_eq!(
            entry.message,
            "no InstallPlan that is left tells of it; by its ClusterServiceVersion it ran at \
             2026-01-01 00:00:05Z and is Failed since 2026-03-03 00:00:00Z"
        );
    }

    #[test]
    fn what_a_plan_tells_of_or_is_gone_is_not_told_again() {
        let csvs = [csv(&json!({"phase": "Succeeded"}))];
        let told = untold(&subscription(), &csvs, &[]).unwrap();
        assert_eq!(
            told.message,
            "no InstallPlan that is left tells of it; by its ClusterServiceVersion it is Succeeded"
        );
        assert!(untold(&subscription(), &csvs, &[told]).is_none());
        assert!(untold(&subscription(), &[], &[]).is_none());
    }
}
