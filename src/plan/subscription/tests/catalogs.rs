//! What is said about catalogs.

use super::*;
use SubscriptionConditionType::{CatalogSourcesUnhealthy, Resolved};

#[test]
fn catalogs_are_judged_in_olms_words() {
    let bad = |why: &str| Health::Unhealthy(why.to_owned());
    let stale = |why: &str| Health::Stale(why.to_owned());
    for (catalogs, expected) in [
        (
            vec![catalog("olm", "hub", Health::Healthy)],
            "False AllCatalogSourcesHealthy: all available catalogsources are healthy",
        ),
        (
            vec![],
            "True NoCatalogSourcesFound: \
             dependency resolution requires at least one catalogsource",
        ),
        (
            vec![catalog("port", "hub", Health::Healthy)],
            "True UnhealthyCatalogSourceFound: targeted catalogsource olm/hub missing",
        ),
        (
            vec![
                catalog("olm", "hub", bad("no route")),
                catalog("olm", "other", bad("no route")),
            ],
            "True UnhealthyCatalogSourceFound: targeted catalogsource olm/hub unhealthy",
        ),
        (
            vec![catalog("olm", "hub", stale("no route"))],
            "True UnhealthyCatalogSourceFound: targeted catalogsource olm/hub unhealthy",
        ),
        (
            vec![
                catalog("port", "b", stale("")),
                catalog("olm", "hub", Health::Healthy),
                catalog("port", "a", bad("no route")),
            ],
            "True UnhealthyCatalogSourceFound: catalogsource port/a unhealthy: no route; \
             catalogsource port/b unhealthy, its last good content serves meanwhile",
        ),
    ] {
        let mut case = Case::new();
        case.surroundings.catalogs = catalogs;
        assert_eq!(line(&case.status(), &CatalogSourcesUnhealthy), expected);
    }
}

#[test]
fn a_subscription_that_names_no_catalog_misses_none() {
    let mut case = Case::new();
    case.subscription.spec.source.clear();
    case.subscription.spec.source_namespace.clear();
    assert_eq!(
        short(&case.status(), &CatalogSourcesUnhealthy),
        "False AllCatalogSourcesHealthy"
    );
}

#[test]
fn why_the_own_catalog_is_stale_is_told_beside_what_stays() {
    let mut case = Case::new().solved(keeps("ship.v1"));
    case.surroundings.catalogs = vec![catalog("olm", "hub", Health::Stale("no route".to_owned()))];
    assert_eq!(
        line(&case.status(), &Resolved),
        "True SolutionFound: ship.v1 stays; catalogsource olm/hub unhealthy, its last good content \
         serves meanwhile: no route"
    );
}

#[test]
fn every_catalog_has_one_entry_by_namespace_and_name() {
    let mut case = Case::new();
    case.surroundings.catalogs = vec![
        catalog("port", "a", Health::Healthy),
        catalog("olm", "z", Health::Unhealthy(String::new())),
        catalog("olm", "hub", Health::Healthy),
        catalog("port", "a", Health::Healthy),
    ];
    let health = serde_json::to_value(case.status().catalog_health).unwrap();
    let entry = |namespace: &str, name: &str, healthy: bool| {
        json!({
            "catalogSourceRef": {
                "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
                "namespace": namespace, "name": name, "uid": format!("uid-of-{name}"),
            },
            "healthy": healthy,
            "lastUpdated": "1970-01-01T00:00:01Z",
        })
    };
    assert_eq!(
        health,
        json!([
            entry("olm", "hub", true),
            entry("olm", "z", false),
            entry("port", "a", true)
        ])
    );
}

#[test]
fn an_entry_keeps_its_time_until_its_catalog_changes() {
    let mut case = Case::new();
    case.surroundings
        .catalogs
        .push(catalog("olm", "other", Health::Healthy));
    let mut case = case.go_on();
    case.surroundings.catalogs[1].health = Health::Unhealthy(String::new());
    let times = |status: &SubscriptionStatus| -> Vec<Option<Time>> {
        let entries = status.catalog_health.iter();
        entries.map(|entry| entry.last_updated.clone()).collect()
    };
    assert_eq!(times(&case.status_at(5)), [Some(time(1)), Some(time(5))]);
    // Deleted and made anew: another object of the same name.
    case.surroundings.catalogs[0].uid = "new".to_owned();
    assert_eq!(times(&case.status_at(6)), [Some(time(6)), Some(time(6))]);
}

#[test]
fn an_entry_of_olm_with_a_resource_version_is_not_written_anew() {
    let mut case = Case::new().go_on();
    let status = case.subscription.status.as_mut().unwrap();
    status.catalog_health[0].catalog_source_ref.resource_version = Some("42".to_owned());
    let before = status.clone();
    assert_eq!(case.status(), before);
}
