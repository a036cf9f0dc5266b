//! What there is, for whoever asks for metrics.
//!
//! It comes from caches, which all replicas have, so that they give the same answers.

use kube::ResourceExt as _;

use super::context::Context;
use super::metrics::{CatalogState, Census, CsvState, Object};
use crate::api::catalog_source::CatalogSource;
use crate::api::cluster_service_version::ClusterServiceVersion;
use crate::api::conditions::ConnectionState;
use crate::resolver::CatalogKey;

/// Counts what there is.
pub(super) fn census(context: &Context) -> Census {
    let caches = &context.caches;
    let catalogs = caches.catalog_sources.all();
    let csvs = caches.csvs.all();
    let originals = csvs.iter().filter(|csv| !csv.is_copied());
    Census {
        subscriptions: caches.subscriptions.all().len(),
        install_plans: caches.install_plans.all().len(),
        catalogs: catalogs.iter().map(|it| state(context, it)).collect(),
        csvs: originals.map(|csv| csv_state(csv)).collect(),
    }
}

fn csv_state(csv: &ClusterServiceVersion) -> CsvState {
    let status = csv.status.clone().unwrap_or_default();
    CsvState {
        object: Object {
            namespace: csv.namespace().unwrap_or_default(),
            name: csv.name_any(),
        },
        // As OLM writes a version that is not given.
        version: match csv.spec.version.as_str() {
            "" => "0.0.0".to_owned(),
            version => version.to_owned(),
        },
        phase: status.phase,
        reason: status.reason,
    }
}

fn state(context: &Context, catalog: &CatalogSource) -> CatalogState {
    let object = Object {
        namespace: catalog.namespace().unwrap_or_default(),
        name: catalog.name_any(),
    };
    let known = context
        .catalogs
        .get(&CatalogKey::new(&object.namespace, &object.name));
    let connection = catalog.status.as_ref();
    let connection = connection.and_then(|status| status.connection_state.as_ref());
    CatalogState {
        object,
        is_ready: connection
            .is_some_and(|connection| connection.last_observed_state == ConnectionState::Ready),
        digest: known.and_then(|known| known.content).map(|it| it.digest),
    }
}
