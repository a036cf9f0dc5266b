//! Back to a version that is still there, because the one after it never took over.

use kube::ResourceExt as _;
use serde_json::{Value, json};

use super::Execution;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::lifecycle::replacement::Lineage;
use crate::plan::apply::Error as ApplyError;

impl Execution<'_> {
    /// Whether newer versions are still in the way of a CSV that is there already and is to replace them. It cannot, because
    /// they were to replace it: they are deleted, and then it takes its place again.
    pub(super) async fn waits_for_newer(
        &self,
        asked: &Value,
        live: &Value,
    ) -> Result<bool, ApplyError> {
        let csvs = self.context.caches.csvs.in_namespace(self.namespace);
        let lineage = Lineage::new(csvs.iter().map(|csv| &**csv));
        let newer = newer(&lineage, asked, live);
        for csv in &newer {
            if csv.metadata.deletion_timestamp.is_some() {
                continue;
            }
            tracing::info!(csv = csv.name_any(), "it gives its place back");
            let asked = json!({
                "apiVersion": asked["apiVersion"], "kind": asked["kind"],
                "metadata": {"name": csv.name_any(), "namespace": self.namespace, "uid": csv.uid()},
            });
            self.context.applier.delete(&asked).await?;
        }
        Ok(!newer.is_empty())
    }
}

/// The versions from the one that a CSV is to replace back to that CSV itself, if that is how they follow each other.
fn newer<'a>(lineage: &Lineage<'a>, asked: &Value, live: &Value) -> Vec<&'a ClusterServiceVersion> {
    let uid = live.pointer("/metadata/uid").and_then(Value::as_str);
    let replaced = asked.pointer("/spec/replaces").and_then(Value::as_str);
    let Some(last) = replaced.and_then(|name| lineage.get(name)) else {
        return Vec::new();
    };
    let mut chain = vec![last];
    chain.extend(lineage.predecessors(last));
    let own = chain.iter().position(|csv| csv.uid().as_deref() == uid);
    chain.truncate(own.unwrap_or_default());
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(day: u32, name: &str, replaces: &str) -> ClusterServiceVersion {
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "uid": format!("{name}-uid"),
                "creationTimestamp": format!("2026-01-{day:02}T00:00:00Z"),
            },
            "spec": {"replaces": replaces},
        }))
        .unwrap()
    }

    #[test]
    fn only_what_was_to_replace_a_version_gives_its_place_back() {
        let csvs = [csv(1, "v1", ""), csv(2, "v2", "v1"), csv(3, "v3", "v2")];
        let lineage = Lineage::new(&csvs);
        let names = |csv: &str, replaces: &str| {
            let asked = json!({"spec": {"replaces": replaces}});
            let live = json!({"metadata": {"uid": format!("{csv}-uid")}});
            let newer = newer(&lineage, &asked, &live).into_iter();
            newer.map(kube::ResourceExt::name_any).collect::<Vec<_>>()
        };
        assert_eq!(names("v1", "v3"), ["v3", "v2"]);
        assert_eq!(names("v2", "v3"), ["v3"]);
        // A plan that is carried out again.
        let none: [&str; 0] = [];
        assert_eq!(names("v3", "v2"), none);
        assert_eq!(names("v1", ""), none);
        assert_eq!(names("v1", "gone"), none);
        // One of that name that nobody has heard of yet.
        assert_eq!(names("another", "v3"), none);
    }

    #[test]
    fn a_version_that_came_back_replaces_the_newer_one_in_the_usual_way() {
        let csvs = [csv(1, "v2", "v1"), csv(2, "v1", "v2")];
        let lineage = Lineage::new(&csvs);
        let found = |csv: usize, replaces: &str| {
            let asked = json!({"spec": {"replaces": replaces}});
            let found = newer(&lineage, &asked, &json!(csvs[csv]));
            found.first().map(|csv| csv.name_any())
        };
        assert_eq!(found(1, "v2"), None);
        // And if that comes to nothing, the newer one is still there.
        assert_eq!(found(0, "v1"), Some("v1".to_owned()));
    }
}
