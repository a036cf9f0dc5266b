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
use crate::api::conditions::{CsvPhase, CsvReason};
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

/// A ClusterServiceVersion that runs, or does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Csv {
    namespace: String,
    name: String,
    version: String,
}

/// A ClusterServiceVersion that does not run, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AbnormalCsv {
    namespace: String,
    name: String,
    version: String,
    phase: String,
    reason: String,
}

/// How things are at the moment when somebody asks. It is counted then and not when something is
/// worked on, because only the replica that leads works.
#[derive(Debug, Default)]
pub(crate) struct Census {
    pub(crate) subscriptions: usize,
    pub(crate) install_plans: usize,
    pub(crate) catalogs: Vec<CatalogState>,
    /// Without copied ones.
    pub(crate) csvs: Vec<CsvState>,
}

/// How a catalog is.
#[derive(Debug)]
pub(crate) struct CatalogState {
    pub(crate) object: Object,
    pub(crate) is_ready: bool,
    /// The digest of what this replica serves.
    pub(crate) digest: Option<String>,
}

/// How a ClusterServiceVersion is.
#[derive(Debug)]
pub(crate) struct CsvState {
    pub(crate) object: Object,
    pub(crate) version: String,
    /// Unset as long as nobody has looked at it.
    pub(crate) phase: CsvPhase,
    pub(crate) reason: CsvReason,
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
    csv_count: Gauge,
    csv_succeeded: Family<Csv, Gauge>,
    csv_abnormal: Family<AbnormalCsv, Gauge>,
    /// No counter, although it only grows: the name of a counter would have to end in `_total`.
    pub(crate) csv_upgrades: Gauge,
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
                "csv_count",
                "Number of ClusterServiceVersions, without copied ones",
                metrics.csv_count.clone(),
            );
            r.register(
                "csv_succeeded",
                "1 if a ClusterServiceVersion is installed and runs",
                metrics.csv_succeeded.clone(),
            );
            r.register(
                "csv_abnormal",
                "1 for each ClusterServiceVersion that does not run, by phase and reason",
                metrics.csv_abnormal.clone(),
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
        self.take_csvs(&census.csvs);
    }

    fn take_csvs(&self, csvs: &[CsvState]) {
        self.csv_count.set(number(csvs.len()));
        self.csv_succeeded.clear();
        self.csv_abnormal.clear();
        for csv in csvs.iter().filter(|csv| csv.phase != CsvPhase::Unset) {
            let Object { namespace, name } = csv.object.clone();
            let version = csv.version.clone();
            let succeeded = self.csv_succeeded.get_or_create(&Csv {
                namespace: namespace.clone(),
                name: name.clone(),
                version: version.clone(),
            });
            let is_running = csv.phase == CsvPhase::Succeeded;
            succeeded.set(i64::from(is_running));
            drop(succeeded);
            if !is_running {
                let abnormal = AbnormalCsv {
                    namespace,
                    name,
                    version,
                    phase: csv.phase.to_string(),
                    reason: csv.reason.to_string(),
                };
                self.csv_abnormal.get_or_create(&abnormal).set(1);
            }
        }
    }
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
