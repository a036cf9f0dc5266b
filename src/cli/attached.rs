//! The hub of a cluster: its catalogs, and what is installed in it.

use std::collections::{BTreeSet, HashMap};

use futures::future::BoxFuture;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use tokio::sync::watch;

use super::adoption::with_what_it_has;
use super::health;
use super::standing::Standing;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::subscription::Subscription;
use crate::bundle::Bundle;
use crate::controller::Overview;
use crate::resolver;
use crate::server::hub::views::{Health, Installation};
use crate::server::hub::{Catalog, Content, Situation, Supply, WantedBundle};
use crate::version::Version;

/// A cluster that the controllers look after.
pub(super) struct Attached(pub(super) Overview);

impl Supply for Attached {
    fn catalogs(&self) -> Vec<Catalog> {
        let catalogs = self.0.catalogs().into_iter();
        catalogs
            .map(|listed| Catalog {
                key: listed.listing.key,
                display_name: listed.object.spec.display_name.clone(),
                publisher: listed.object.spec.publisher.clone(),
                priority: listed.listing.priority,
                curation: listed.listing.curation,
                content: listed
                    .content
                    .map(|(digest, index)| Content { digest, index }),
                problem: listed.problem,
            })
            .collect()
    }

    fn installations(&self) -> Option<Vec<Installation>> {
        let (subscriptions, csvs) = (self.0.subscriptions(), self.0.csvs());
        let place = |csv: &ClusterServiceVersion| {
            let namespace = csv.metadata.namespace.clone().unwrap_or_default();
            (namespace, csv.name_any())
        };
        let by_place: HashMap<_, _> = csvs.iter().map(|csv| (place(csv), csv)).collect();
        let csv = |namespace: &str, name: &str| {
            let place = (namespace.to_owned(), name.to_owned());
            by_place.get(&place).copied()
        };
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for subscription in &subscriptions {
            let namespace = subscription.namespace();
            let here = csvs.iter().filter(|csv| csv.namespace() == namespace);
            let here: Vec<&ClusterServiceVersion> = here.map(|it| &**it).collect();
            let others = subscriptions.iter().map(|it| &**it);
            let others = others.filter(|it| it.namespace() == namespace);
            let subscription = with_what_it_has(subscription, others, &here);
            let standing = Standing::among(&subscription, &here);
            let own = csv(&standing.namespace, &standing.running_csv);
            seen.insert((standing.namespace.clone(), standing.installed_csv.clone()));
            seen.insert((standing.namespace.clone(), standing.running_csv.clone()));
            all.push(subscribed(standing, own.map(|own| &**own)));
        }
        for csv in &csvs {
            if !seen.contains(&place(csv)) {
                all.push(orphan(csv));
            }
        }
        Some(all)
    }

    fn situation(&self, namespace: &str) -> Situation {
        let is_here = |own: Option<String>| own.as_deref() == Some(namespace);
        let subscriptions = self.0.subscriptions().into_iter();
        let subscriptions: Vec<Subscription> = subscriptions
            .filter(|it| is_here(it.namespace()))
            .map(|it| Subscription::clone(&it))
            .collect();
        let csvs = self.0.csvs().into_iter();
        let csvs: Vec<ClusterServiceVersion> = csvs
            .filter(|it| is_here(it.namespace()))
            .map(|it| ClusterServiceVersion::clone(&it))
            .collect();
        Situation {
            installed: resolver::installed(&csvs, &subscriptions, Some(&Time(Timestamp::now())))
                .items,
            subscriptions: resolver::subscriptions(&subscriptions).items,
            held: resolver::held(&subscriptions),
            exclude_global: self.0.excludes_global(namespace),
        }
    }

    fn global_namespaces(&self) -> Vec<String> {
        self.0.global_namespaces()
    }

    fn kube_version(&self) -> Option<Version> {
        self.0.kube_version()
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.0.changes())
    }

    fn bundle<'s>(&'s self, wanted: &'s WantedBundle) -> BoxFuture<'s, Result<Bundle, String>> {
        Box::pin(async move {
            if wanted.image.is_empty() {
                return Err("the catalog names no image of the bundle".to_owned());
            }
            self.0.bundle(&wanted.catalog, &wanted.image).await
        })
    }
}

fn subscribed(standing: Standing, csv: Option<&ClusterServiceVersion>) -> Installation {
    let health = match standing.health {
        health::Health::Healthy => Health::Healthy,
        health::Health::Failed => Health::Failed,
        _ if phase(csv) == "Failed" => Health::Failed,
        _ => Health::Pending,
    };
    let message = standing.messages.join("; ");
    let (next, why_not) = match standing.upgrade {
        Some(upgrade) => (upgrade.to, upgrade.why_not),
        None if standing.installed_csv.is_empty() => (standing.current_csv, message.clone()),
        None => (String::new(), String::new()),
    };
    let (waits_because, plan_to_approve) = if standing.waits_for_approval {
        let plan = standing.install_plan.clone();
        let because = format!("somebody has to approve InstallPlan {plan}");
        (because, plan)
    } else {
        (why_not, String::new())
    };
    Installation {
        package: standing.package,
        namespace: standing.namespace,
        subscription: standing.name,
        catalog: standing.catalog,
        channel: standing.channel,
        csv: standing.running_csv,
        version: csv.map(|csv| csv.spec.version.clone()).unwrap_or_default(),
        phase: phase(csv),
        health,
        message,
        next,
        waits_because,
        plan_to_approve,
    }
}

/// A ClusterServiceVersion that nobody subscribed to.
fn orphan(csv: &ClusterServiceVersion) -> Installation {
    let known = resolver::installed(std::slice::from_ref(csv), &[], None).items;
    let package = known.into_iter().find_map(|installed| installed.package);
    let status = csv.status.as_ref();
    let phase = phase(Some(csv));
    Installation {
        package: package.unwrap_or_default(),
        namespace: csv.namespace().unwrap_or_default(),
        subscription: String::new(),
        catalog: String::new(),
        channel: String::new(),
        csv: csv.name_any(),
        version: csv.spec.version.clone(),
        health: match phase.as_str() {
            "Succeeded" => Health::Healthy,
            "Failed" => Health::Failed,
            "" | "Unknown" => Health::Unknown,
            _ => Health::Pending,
        },
        phase,
        message: status
            .map(|status| status.message.clone())
            .unwrap_or_default(),
        next: String::new(),
        waits_because: String::new(),
        plan_to_approve: String::new(),
    }
}

fn phase(csv: Option<&ClusterServiceVersion>) -> String {
    let status = csv.and_then(|csv| csv.status.as_ref());
    status
        .map(|status| status.phase.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn installation(status: &Value) -> Installation {
        let subscription: Subscription = serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "gopher", "namespace": "ns"},
            "spec": {"name": "gopher", "source": "hub", "sourceNamespace": "olm"},
            "status": status,
        }))
        .unwrap();
        subscribed(Standing::among(&subscription, &[]), None)
    }

    #[test]
    fn an_upgrade_that_is_held_back_is_no_less_news_than_one_that_is_underway() {
        let held = installation(&json!({
            "installedCSV": "gopher.v1", "currentCSV": "gopher.v1",
            "conditions": [{"type": "Resolved", "status": "True", "reason": "Solved",
                "message": "gopher.v1 stays; held back: gopher.v2: it needs API Burrow: nobody has it"}],
        }));
        assert_eq!(held.next, "gopher.v2");
        assert_eq!(held.waits_because, "it needs API Burrow: nobody has it");
        let newest = installation(&json!({"installedCSV": "gopher.v1", "currentCSV": "gopher.v1"}));
        assert_eq!((newest.next, newest.waits_because), Default::default());
        let first = installation(&json!({"currentCSV": "gopher.v1"}));
        assert_eq!(first.next, "gopher.v1");
    }
}
