//! The health of the catalogs that a Subscription can be served from.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Resource as _;

use super::conditions::Conditions;
use super::situation::{Catalog, Health};
use super::text;
use crate::api::catalog_source::CatalogSource;
use crate::api::conditions::subscription::{
    ALL_CATALOG_SOURCES_HEALTHY, NO_CATALOG_SOURCES_FOUND, UNHEALTHY_CATALOG_SOURCE_FOUND,
};
use crate::api::conditions::{ConditionStatus, SubscriptionConditionType};
use crate::api::subscription::{CatalogHealth, Subscription, SubscriptionStatus};

/// One entry for each catalog, by namespace and name. An entry that says the same as before stays as
/// it is, with its time and with the resourceVersion that OLM may have noted; we note none, because
/// every poll changes it and would have every Subscription written anew.
pub(super) fn health(
    old: &SubscriptionStatus,
    catalogs: &[Catalog],
    now: &Time,
) -> Vec<CatalogHealth> {
    let entries = sorted(catalogs).into_values().map(|catalog| {
        let healthy = catalog.health == Health::Healthy;
        let before = old.catalog_health.iter().find(|entry| {
            entry.healthy == healthy
                && entry.last_updated.is_some()
                && is_to(&entry.catalog_source_ref, catalog)
        });
        before.cloned().unwrap_or_else(|| CatalogHealth {
            catalog_source_ref: reference(catalog),
            last_updated: Some(now.clone()),
            healthy,
        })
    });
    entries.collect()
}

/// Says whether all catalogs are healthy.
///
/// What OLM says about the Subscription's own catalog is compared as a whole by OLM's tests, hence
/// nothing is added; why it cannot be used is told by `Resolved`.
pub(super) fn condition(
    subscription: &Subscription,
    catalogs: &[Catalog],
    said: &mut Conditions<'_>,
) {
    let spec = &subscription.spec;
    let mut say = |status, reason, message: String| {
        let type_ = SubscriptionConditionType::CatalogSourcesUnhealthy;
        said.say(type_, status, reason, message);
    };
    let catalogs = sorted(catalogs);
    if catalogs.is_empty() {
        let message = "dependency resolution requires at least one catalogsource";
        say(
            ConditionStatus::True,
            NO_CATALOG_SOURCES_FOUND,
            message.to_owned(),
        );
        return;
    }
    let key = (spec.source_namespace.as_str(), spec.source.as_str());
    let targeted = match catalogs.get(&key) {
        None if key == ("", "") => None,
        None => Some("missing"),
        Some(catalog) if catalog.health == Health::Healthy => None,
        Some(_) => Some("unhealthy"),
    };
    if let Some(how) = targeted {
        let message = format!("targeted catalogsource {}/{} {how}", key.0, key.1);
        say(
            ConditionStatus::True,
            UNHEALTHY_CATALOG_SOURCE_FOUND,
            message,
        );
        return;
    }
    let unhealthy: Vec<String> = catalogs.into_values().filter_map(trouble).collect();
    if unhealthy.is_empty() {
        let message = "all available catalogsources are healthy";
        say(
            ConditionStatus::False,
            ALL_CATALOG_SOURCES_HEALTHY,
            message.to_owned(),
        );
    } else {
        let message = unhealthy.join("; ");
        say(
            ConditionStatus::True,
            UNHEALTHY_CATALOG_SOURCE_FOUND,
            message,
        );
    }
}

/// What is wrong with a Subscription's own catalog, for those who have more to say than OLM.
pub(super) fn trouble_with_target(
    subscription: &Subscription,
    catalogs: &[Catalog],
) -> Option<String> {
    let spec = &subscription.spec;
    let target = catalogs
        .iter()
        .find(|catalog| catalog.namespace == spec.source_namespace && catalog.name == spec.source);
    target.and_then(trouble)
}

fn trouble(catalog: &Catalog) -> Option<String> {
    let name = format!("catalogsource {}/{}", catalog.namespace, catalog.name);
    match &catalog.health {
        Health::Healthy => None,
        Health::Unhealthy(why) => Some(text::about(&format!("{name} unhealthy"), why)),
        Health::Stale(why) => Some(text::about(
            &format!("{name} unhealthy, its last good content serves meanwhile"),
            why,
        )),
    }
}

fn sorted(catalogs: &[Catalog]) -> BTreeMap<(&str, &str), &Catalog> {
    let catalogs = catalogs.iter();
    catalogs
        .map(|catalog| ((catalog.namespace.as_str(), catalog.name.as_str()), catalog))
        .collect()
}

fn is_to(reference: &ObjectReference, catalog: &Catalog) -> bool {
    reference.namespace.as_deref() == Some(&catalog.namespace)
        && reference.name.as_deref() == Some(&catalog.name)
        && reference.uid.as_deref() == Some(&catalog.uid)
}

fn reference(catalog: &Catalog) -> ObjectReference {
    ObjectReference {
        api_version: Some(CatalogSource::api_version(&()).into_owned()),
        kind: Some(CatalogSource::kind(&()).into_owned()),
        namespace: Some(catalog.namespace.clone()),
        name: Some(catalog.name.clone()),
        uid: Some(catalog.uid.clone()),
        ..ObjectReference::default()
    }
}
