//! What is counted, under the names that OLM gave it.

use std::fmt::Write as _;
use std::sync::Mutex;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// An object by its namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Object {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) catalog_source_count: Gauge,
    pub(crate) catalog_source_ready: Family<Object, Gauge>,
    pub(crate) catalog_source_snapshots: Family<Object, Counter>,
    pub(crate) subscription_count: Gauge,
    pub(crate) install_plan_count: Gauge,
    pub(crate) install_plan_warnings: Counter,
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
                "chandler_leads",
                "1 if this replica is the one that writes",
                metrics.leads.clone(),
            );
        }
        metrics
    }

    /// Everything as text.
    pub(crate) fn encode(&self) -> String {
        let mut text = String::new();
        let written = match self.registry.lock() {
            Ok(registry) => encode(&mut text, &registry),
            Err(_) => write!(text, "# EOF"),
        };
        // Writing to a string does not fail.
        let _ = written;
        text
    }
}
