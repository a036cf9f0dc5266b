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
    install_plan_count: Gauge,
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

    /// Everything as text.
    pub(crate) fn encode(&self, census: &Census) -> String {
        let mut text = String::new();
        let written = match self.registry.lock() {
            Ok(registry) => {
                // Two who ask at once get whole answers: the registry is locked.
                self.take(census);
                encode(&mut text, &registry)
            }
            Err(_) => write!(text, "# EOF"),
        };
        // Writing to a string does not fail.
        let _ = written;
        text
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
