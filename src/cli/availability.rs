//! Whether what a version consists of runs on while a newer one takes its place: nobody checks a version then.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;

use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::CsvPhase;
use crate::lifecycle::replacement;

/// The Deployments that are available, in the namespaces that somebody looked at.
#[derive(Debug, Default)]
pub(super) struct Availability {
    namespaces: BTreeMap<String, BTreeSet<String>>,
}

impl Availability {
    /// Notes the Deployments of a namespace.
    pub(super) fn note(&mut self, namespace: &str, deployments: &[Deployment]) {
        let available = deployments.iter().filter(|it| is_available(it));
        let names = available.map(ResourceExt::name_any).collect();
        self.namespaces.insert(namespace.to_owned(), names);
    }

    /// The Deployments that a version cannot do without and that are not available, as far as anybody looked.
    pub(super) fn lacking<'c>(&self, csv: &'c ClusterServiceVersion) -> Vec<&'c str> {
        let namespace = csv.namespace().unwrap_or_default();
        let Some(available) = self.namespaces.get(&namespace) else {
            return Vec::new();
        };
        if !is_unchecked(csv) {
            return Vec::new();
        }
        let templates = csv.spec.install.spec.deployments.iter();
        let names = templates.map(|template| template.name.as_str());
        names.filter(|name| !available.contains(*name)).collect()
    }
}

/// The namespaces in which a version may have stopped without saying so.
pub(super) fn in_doubt(csvs: &[ClusterServiceVersion]) -> BTreeSet<String> {
    let unchecked = csvs
        .iter()
        .filter(|csv| !csv.is_copied() && is_unchecked(csv));
    unchecked.filter_map(ResourceExt::namespace).collect()
}

/// Whether a version counts as one that runs because it did until it made room.
fn is_unchecked(csv: &ClusterServiceVersion) -> bool {
    let status = csv.status.as_ref();
    status.is_some_and(|status| status.phase == CsvPhase::Replacing) && replacement::has_run(csv)
}

/// Whether some of its Pods serve, or none are wanted. A newer version may own it by now: Pods of the older one serve
/// until those of the newer one do.
fn is_available(deployment: &Deployment) -> bool {
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
    let status = deployment.status.as_ref();
    let available = status.and_then(|status| status.available_replicas);
    wanted == Some(0) || available.unwrap_or_default() > 0
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn csv(status: &Value) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {"name": "gopher.v1", "namespace": "port"},
            "spec": {"displayName": "", "install": {"strategy": "deployment", "spec": {
                "deployments": [{"name": "gopher", "spec": {}}, {"name": "digger", "spec": {}}],
            }}},
            "status": status,
        }))
        .unwrap()
    }

    fn makes_room() -> Value {
        json!({"phase": "Replacing", "conditions": [{"phase": "Succeeded"}]})
    }

    fn deployment(name: &str, replicas: i32, available: Option<i32>) -> Deployment {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "port"},
            "spec": {"replicas": replicas, "selector": {}, "template": {}},
            "status": {"availableReplicas": available},
        }))
        .unwrap()
    }

    #[rstest]
    #[case::all_run(&[("gopher", 1, Some(1)), ("digger", 2, Some(1))], &[])]
    #[case::one_has_no_pods(&[("gopher", 1, None), ("digger", 1, Some(1))], &["gopher"])]
    #[case::one_is_gone(&[("gopher", 1, Some(1))], &["digger"])]
    #[case::one_wants_no_pods(&[("gopher", 0, None), ("digger", 1, Some(1))], &[])]
    fn a_version_that_makes_room_lacks_what_is_not_available(
        #[case] deployments: &[(&str, i32, Option<i32>)],
        #[case] lacking: &[&str],
    ) {
        let deployments = deployments.iter();
        let deployments: Vec<_> = deployments.map(|(a, b, c)| deployment(a, *b, *c)).collect();
        let mut availability = Availability::default();
        availability.note("port", &deployments);
        assert_eq!(availability.lacking(&csv(&makes_room())), lacking);
    }

    #[test]
    fn where_nobody_looked_nothing_is_known_to_be_lacking() {
        let mut availability = Availability::default();
        availability.note("dock", &[]);
        let lacking = csv(&makes_room());
        assert_eq!(availability.lacking(&lacking), Vec::<&str>::new());
    }

    #[rstest]
    #[case::makes_room(&makes_room(), true)]
    #[case::never_ran(&json!({"phase": "Replacing"}), false)]
    #[case::is_checked_by_its_phase(&json!({"phase": "Succeeded"}), false)]
    #[case::copied(&json!({"phase": "Replacing", "reason": "Copied", "conditions": [{"phase": "Succeeded"}]}), false)]
    fn only_where_a_version_makes_room_is_there_something_to_look_at(
        #[case] status: &Value,
        #[case] expected: bool,
    ) {
        let namespaces = in_doubt(&[csv(status)]);
        assert_eq!(namespaces.contains("port"), expected);
    }
}
