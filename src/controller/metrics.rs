//! What is counted, under the names that OLM gave it.

mod summary;
mod syncs;

use std::fmt;
use std::sync::Mutex;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use self::summary::Summary;
use self::syncs::Syncs;
use crate::api::subscription::Subscription;

/// What the text ends with.
const END: &str = "# EOF\n";

/// An object by its namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Object {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// The content of a catalog by its digest.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Content {
    namespace: String,
    name: String,
    digest: String,
}

/// How things are at the moment when somebody asks. It is counted then and not when something is
/// worked on, because only the replica that leads works.
#[derive(Debug, Default)]
pub(crate) struct Census {
    pub(crate) subscriptions: usize,
    pub(crate) install_plans: usize,
    pub(crate) catalogs: Vec<CatalogState>,
}

/// How a catalog is.
#[derive(Debug)]
pub(crate) struct CatalogState {
    pub(crate) object: Object,
    pub(crate) is_ready: bool,
    /// The digest of what this replica serves.
    pub(crate) digest: Option<String>,
}

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    catalog_source_count: Gauge,
    catalog_source_ready: Family<Object, Gauge>,
    catalog_source_content: Family<Content, Gauge>,
    pub(crate) catalog_source_snapshots: Family<Object, Counter>,
    subscription_count: Gauge,
    subscription_syncs: Syncs,
    install_plan_count: Gauge,
    resolutions: Summary,
    pub(crate) install_plan_warnings: Counter,
    pub(crate) csv_upgrades: Counter,
    pub(crate) leads: Gauge,
    registry: Mutex<Registry>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let metrics = Self::default();
        if let Ok(mut registry) = metrics.registry.lock() {
            let r = &mut *registry;
            r.register(
                "catalog_source_count",
                "Number of catalog sources",
                metrics.catalog_source_count.clone(),
            );
            r.register(
                "catalogsource_ready",
                "State of a catalog source: 1 if it serves current content",
                metrics.catalog_source_ready.clone(),
            );
            r.register(
                "chandler_catalog_source_content",
                "What this replica serves for a catalog source, by digest",
                metrics.catalog_source_content.clone(),
            );
            r.register(
                "catalog_source_snapshots",
                "How often the content of a catalog source was read",
                metrics.catalog_source_snapshots.clone(),
            );
            r.register(
                "subscription_count",
                "Number of subscriptions",
                metrics.subscription_count.clone(),
            );
            r.register(
                "subscription_sync",
                "How often a subscription was looked at",
                metrics.subscription_syncs.counters.clone(),
            );
            r.register(
                "install_plan_count",
                "Number of install plans",
                metrics.install_plan_count.clone(),
            );
            r.register(
                "installplan_warnings",
                "Warnings that the API server gave while plans were carried out",
                metrics.install_plan_warnings.clone(),
            );
            r.register(
                "csv_upgrade_count",
                "How often a ClusterServiceVersion began to be replaced",
                metrics.csv_upgrades.clone(),
            );
            r.register(
                "chandler_leads",
                "1 if this replica is the one that writes",
                metrics.leads.clone(),
            );
        }
        metrics
    }

    /// Takes note of a look at a namespace with these Subscriptions.
    pub(crate) fn synced(&self, namespace: &str, subscriptions: &[Subscription]) {
        self.subscription_syncs.looked_at(namespace, subscriptions);
    }

    /// Takes note of a resolution.
    pub(crate) fn resolved(&self, has_succeeded: bool, took: Duration) {
        let outcome = if has_succeeded { "succeeded" } else { "failed" };
        self.resolutions.observe(outcome, took);
    }

    /// Everything as text.
    pub(crate) fn encode(&self, census: &Census) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(census, &mut text);
        text
    }

    fn write(&self, census: &Census, text: &mut String) -> fmt::Result {
        if let Ok(registry) = self.registry.lock() {
            // Two who ask at once get whole answers: the registry is locked.
            self.take(census);
            encode(text, &registry)?;
        }
        text.truncate(text.trim_end_matches(END).len());
        let help = "How long resolutions took";
        self.resolutions
            .encode("olm_resolution_duration_seconds", help, text)?;
        text.push_str(END);
        Ok(())
    }

    fn take(&self, census: &Census) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.subscription_count.set(number(census.subscriptions));
        self.install_plan_count.set(number(census.install_plans));
        self.catalog_source_count.set(number(census.catalogs.len()));
        self.catalog_source_ready.clear();
        self.catalog_source_content.clear();
        for catalog in &census.catalogs {
            let ready = self.catalog_source_ready.get_or_create(&catalog.object);
            ready.set(i64::from(catalog.is_ready));
            if let Some(digest) = &catalog.digest {
                let content = Content {
                    namespace: catalog.object.namespace.clone(),
                    name: catalog.object.name.clone(),
                    digest: digest.clone(),
                };
                self.catalog_source_content.get_or_create(&content).set(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subscription(namespace: &str, installed: &str) -> Subscription {
        serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "ship", "namespace": namespace},
            "spec": {
                "name": "ship", "channel": "stable", "source": "hub", "sourceNamespace": "olm",
                "installPlanApproval": "Manual",
            },
            "status": {"installedCSV": installed, "lastUpdated": "2026-01-01T00:00:00Z"},
        }))
        .unwrap()
    }

    fn syncs(metrics: &Metrics) -> Vec<String> {
        let text = metrics.encode(&Census::default());
        let lines = text.lines().map(str::to_owned);
        lines
            .filter(|line| line.starts_with("subscription_sync_total"))
            .collect()
    }

    #[test]
    fn every_metric_of_olm_about_catalogs_subscriptions_and_plans_is_told() {
        let metrics = Metrics::new();
        metrics.resolved(true, Duration::from_secs(1));
        metrics.synced("port", &[subscription("port", "ship.v1")]);
        let catalog = Object {
            namespace: "olm".into(),
            name: "hub".into(),
        };
        let snapshots = &metrics.catalog_source_snapshots;
        snapshots.get_or_create(&catalog).inc();
        let text = metrics.encode(&Census {
            subscriptions: 1,
            install_plans: 2,
            catalogs: vec![CatalogState {
                object: catalog,
                is_ready: true,
                digest: None,
            }],
        });
        for line in [
            "install_plan_count 2",
            "subscription_count 1",
            "catalog_source_count 1",
            "catalogsource_ready{namespace=\"olm\",name=\"hub\"} 1",
            "catalog_source_snapshots_total{namespace=\"olm\",name=\"hub\"} 1",
            "subscription_sync_total{name=\"ship\",installed=\"ship.v1\",channel=\"stable\",package=\"ship\",approval=\"Manual\"} 1",
            "olm_resolution_duration_seconds{outcome=\"succeeded\",quantile=\"0.95\"} 1.0",
            "olm_resolution_duration_seconds_count{outcome=\"succeeded\"} 1",
            "installplan_warnings_total 0",
        ] {
            assert!(
                text.lines().any(|it| it == line),
                "{line} is not in\n{text}"
            );
        }
        assert!(text.ends_with("\n# EOF\n"), "{text}");
        assert_eq!(text.matches("# EOF").count(), 1);
    }

    #[test]
    fn a_subscription_has_one_counter_and_none_when_it_is_gone() {
        let metrics = Metrics::new();
        metrics.synced("port", &[subscription("port", "")]);
        metrics.synced("port", &[subscription("port", "ship.v1")]);
        metrics.synced("port", &[subscription("port", "ship.v1")]);
        let [line] = syncs(&metrics).try_into().unwrap();
        assert!(
            line.contains("installed=\"ship.v1\"") && line.ends_with("} 2"),
            "{line}"
        );
        metrics.synced("port", &[]);
        assert_eq!(syncs(&metrics), [""; 0]);
    }

    #[test]
    fn subscriptions_of_one_name_in_two_namespaces_share_a_counter() {
        let metrics = Metrics::new();
        metrics.synced("port", &[subscription("port", "ship.v1")]);
        metrics.synced("dock", &[subscription("dock", "ship.v1")]);
        metrics.synced("dock", &[]);
        let [line] = syncs(&metrics).try_into().unwrap();
        assert!(line.ends_with("} 2"), "{line}");
    }
}
